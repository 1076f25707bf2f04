//! Events: who listens to the window, and what keys and clicks are meant for.

use leptos::ev;
use leptos::leptos_dom::helpers::WindowListenerHandle;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlInputElement};

/// Listens to the whole window until the component around it is gone.
pub fn on_window<E: ev::EventDescriptor + 'static>(event: E, run: impl Fn(E::EventType) + 'static)
where
    E::EventType: JsCast,
{
    let handle = window_event_listener(event, run);
    on_cleanup(move || handle.remove());
}

/// Something that listens to the whole window, until it is dropped.
pub struct EventListener(Option<WindowListenerHandle>);

impl Drop for EventListener {
    fn drop(&mut self) {
        if let Some(handle) = self.0.take() {
            handle.remove();
        }
    }
}

/// Listens to the whole window for an event by its name.
#[must_use]
pub fn listen(event: &str, run: impl Fn(Event) + 'static) -> EventListener {
    EventListener(Some(window_event_listener_untyped(event, run)))
}

/// A click that is not meant to open another tab or window: what the page does by itself may take its place.
pub fn is_plain(event: &ev::MouseEvent) -> bool {
    event.button() == 0 && !event.ctrl_key() && !event.meta_key() && !event.shift_key() && !event.alt_key()
}

/// A key that is pressed together with one that makes another thing of it: what the page does with keys is meant without.
pub fn has_modifier(event: &ev::KeyboardEvent) -> bool {
    event.ctrl_key() || event.meta_key() || event.alt_key()
}

/// Name of the element that a key was pressed on, in small letters; empty where that is none.
pub fn tag(event: &ev::KeyboardEvent) -> String {
    let on = event.target().and_then(|on| on.dyn_into::<Element>().ok());
    on.map(|on| on.tag_name().to_ascii_lowercase()).unwrap_or_default()
}

/// Something is being written or chosen where a key was pressed; on a slider or a checkbox the page's keys do what they do elsewhere.
pub fn is_writing(event: &ev::KeyboardEvent) -> bool {
    let on = event.target().and_then(|on| on.dyn_into::<HtmlInputElement>().ok());
    matches!(tag(event).as_str(), "input" | "select" | "textarea")
        && on.is_none_or(|input| !matches!(input.type_().as_str(), "range" | "checkbox"))
}
