//! Events: who listens to the window, and what keys and clicks are meant for.

use leptos::ev;
use leptos::leptos_dom::helpers::WindowListenerHandle;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, MouseEvent, MouseEventInit};

/// Listens to the whole window until the component around it is gone.
pub fn on_window<E: ev::EventDescriptor + 'static>(event: E, run: impl Fn(E::EventType) + 'static)
where
    E::EventType: JsCast,
{
    let handle = window_event_listener(event, run);
    on_cleanup(move || handle.remove());
}

/// Listens to the whole window for keys that nothing else took, until the component around it is gone: none that is pressed together with
/// one that makes another thing of it, and none that writes. `handle` returns whether the key meant something.
pub fn on_key(handle: impl Fn(&ev::KeyboardEvent) -> bool + 'static) {
    on_window(ev::keydown, move |event| {
        let is_meant = is_key(&event) && !event.default_prevented() && !is_writing(&event);
        if is_meant && handle(&event) {
            event.prevent_default();
        }
    });
}

/// Listens to the whole window for an event by its name, until the handle is removed.
#[must_use]
pub fn listen(event: &str, run: impl Fn(Event) + 'static) -> WindowListenerHandle {
    window_event_listener_untyped(event, run)
}

/// A click that is not meant to open another tab or window: what the page does by itself may take its place.
pub fn is_plain(event: &ev::MouseEvent) -> bool {
    event.button() == 0 && !event.ctrl_key() && !event.meta_key() && !event.shift_key() && !event.alt_key()
}

/// Returns whether an event is of a key that is pressed without those that make another thing of it. Browsers that fill in forms tell of
/// keys that are none.
pub fn is_key(event: &ev::KeyboardEvent) -> bool {
    event.is_instance_of::<ev::KeyboardEvent>() && !has_modifier(event)
}

/// A key that is pressed together with one that makes another thing of it: what the page does with keys is meant without. Many
/// keyboards of Macs have brackets only together with Option, which is Alt.
pub fn has_modifier(event: &ev::KeyboardEvent) -> bool {
    let is_bracket = || matches!(event.key().as_str(), "[" | "]");
    event.ctrl_key() || event.meta_key() || (event.alt_key() && !is_bracket())
}

/// Returns whether an event is on an element that a selector names.
pub fn is_on(event: &Event, selector: &str) -> bool {
    target(event).is_some_and(|on| on.matches(selector).unwrap_or(false)) // selectors are ours
}

/// Returns the element at or around an event's target that a selector names.
pub fn closest(event: &Event, selector: &str) -> Option<Element> {
    target(event)?.closest(selector).ok().flatten() // selectors are ours
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

/// Something is being written or chosen where a key was pressed; on a slider or a checkbox the page's keys do what they do elsewhere.
fn is_writing(event: &ev::KeyboardEvent) -> bool {
    is_on(event, "input:not([type=range], [type=checkbox]), select, textarea")
}
