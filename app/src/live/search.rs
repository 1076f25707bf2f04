//! Hands on the list: search, filter, and keys from row to row. What is searched stands in the address.

use wasm_bindgen::prelude::*;
use web_sys::{Element, HtmlInputElement, KeyboardEvent};

use super::hands::{find_element, listen, target};
use super::{element, focus};

/// Listens for as long as the page lives; `seek` is told what to look for: words, and labels.
pub(crate) fn attach(seek: impl Fn(String, String) + Clone + 'static) {
    let typed = seek.clone();
    listen("input", move |_| typed(written("q"), written("labels")));
    listen("submit", move |event| {
        event.prevent_default();
        seek(written("q"), written("labels"));
    });
    listen("keydown", |event| {
        if let Some(event) = event.dyn_ref::<KeyboardEvent>()
            && pressed(event)
        {
            event.prevent_default();
        }
    });
}

fn written(id: &str) -> String {
    element(id).and_then(|input| Some(input.dyn_into::<HtmlInputElement>().ok()?.value())).unwrap_or_default()
}

/// What is searched stands in the address.
pub(crate) fn note(address: &str) {
    if let Some(history) = web_sys::window().and_then(|window| window.history().ok()) {
        let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(address)); // the search works without it
    }
}

fn pressed(event: &KeyboardEvent) -> bool {
    let on = target::<Element>(event);
    let is_writing = on.as_ref().is_some_and(|on| matches!(on.id().as_str(), "q" | "labels"));
    match event.key().as_str() {
        "Escape" if is_writing => find_element("a.row").is_some_and(|row| focus(&row)),
        _ if is_writing => false,
        "/" => element("q").is_some_and(|q| focus(&q)),
        "j" => step(on, true),
        "k" => step(on, false),
        _ => false,
    }
}

/// From row to row.
fn step(on: Option<Element>, is_next: bool) -> bool {
    let Some(document) = web_sys::window().and_then(|window| window.document()) else { return false };
    let rows = document.get_elements_by_class_name("row");
    let at = (0..rows.length()).find(|index| rows.item(*index) == on);
    let to = match (at, is_next) {
        (None, _) => 0,
        (Some(at), true) => at + 1,
        (Some(at), false) => at.saturating_sub(1),
    };
    rows.item(to).is_some_and(|row| focus(&row))
}
