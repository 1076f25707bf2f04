//! Listeners on the window, and classification of keys and clicks.

use leptos::ev;
use leptos::leptos_dom::helpers::WindowListenerHandle;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, MouseEvent, MouseEventInit};

/// Listens on the window until the surrounding component is disposed.
pub fn on_window<E: ev::EventDescriptor + 'static>(event: E, run: impl Fn(E::EventType) + 'static)
where
    E::EventType: JsCast,
{
    let handle = window_event_listener(event, run);
    on_cleanup(move || handle.remove());
}

/// Listens on the window for keys that nothing else handled, until the surrounding component is disposed. Ignores keys with a modifier and
/// keys typed into a field. `handle` returns whether it handled the key.
pub fn on_key(handle: impl Fn(&ev::KeyboardEvent) -> bool + 'static) {
    on_window(ev::keydown, move |event| {
        let is_meant = is_key(&event) && !event.default_prevented() && !is_writing(&event);
        if is_meant && handle(&event) {
            event.prevent_default();
        }
    });
}

/// Listens on the window for an event by its name, until the handle is removed.
#[must_use]
pub fn listen(event: &str, run: impl Fn(Event) + 'static) -> WindowListenerHandle {
    window_event_listener_untyped(event, run)
}

/// Returns whether a click is not meant to open another tab or window, so that the page may handle it.
pub fn is_plain(event: &ev::MouseEvent) -> bool {
    event.button() == 0 && !event.ctrl_key() && !event.meta_key() && !event.shift_key() && !event.alt_key()
}

/// Returns whether an event is of a key without modifiers. Browsers that fill in forms send key events without a key.
pub fn is_key(event: &ev::KeyboardEvent) -> bool {
    event.is_instance_of::<ev::KeyboardEvent>() && !has_modifier(event)
}

/// Returns whether a modifier is pressed: the page's keys have none. Many keyboards of Macs have brackets only together with Option, which
/// is Alt.
pub fn has_modifier(event: &ev::KeyboardEvent) -> bool {
    let is_bracket = || matches!(event.key().as_str(), "[" | "]");
    event.ctrl_key() || event.meta_key() || (event.alt_key() && !is_bracket())
}

/// Returns whether an event is on an element that a selector names.
pub fn is_on(event: &Event, selector: &str) -> bool {
    target(event).is_some_and(|on| on.matches(selector).unwrap_or(false)) // selectors in this program are valid
}

/// Returns the element at or around an event's target that a selector names.
pub fn closest(event: &Event, selector: &str) -> Option<Element> {
    target(event)?.closest(selector).ok().flatten() // selectors in this program are valid
}

fn target(event: &Event) -> Option<Element> {
    event.target()?.dyn_into().ok()
}

/// Clicks an element, if it is still there.
pub fn click(element: &Element) {
    let click = MouseEventInit::new();
    click.set_bubbles(true);
    if let Ok(click) = MouseEvent::new_with_mouse_event_init_dict("click", &click)
        && element.is_connected()
    {
        let _ = element.dispatch_event(&click); // fails only for events that are being dispatched
    }
}

/// Returns whether the key was pressed in an element in which the viewer types or chooses. On a slider or a checkbox the page's keys work
/// as elsewhere.
fn is_writing(event: &ev::KeyboardEvent) -> bool {
    is_on(event, "input:not([type=range], [type=checkbox]), select, textarea")
}
