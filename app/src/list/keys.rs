//! Keys on the list: to the search, from row to row, and back. For browsers only, from event handlers.

use leptos::html;
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, KeyboardEvent};

use crate::browser::focus;

/// Rows that keys go to.
const ROW: &str = "a.row";

/// A key was pressed somewhere on the page; true when it meant something here.
pub fn pressed(
    event: &KeyboardEvent,
    search: NodeRef<html::Input>,
    labels: NodeRef<html::Input>,
    rows: NodeRef<html::Div>,
) -> bool {
    // Browsers that fill in forms tell of keys that are none.
    if !event.is_instance_of::<KeyboardEvent>() || event.ctrl_key() || event.meta_key() || event.alt_key() {
        return false;
    }
    let Some(rows) = rows.get_untracked() else { return false };
    let on = document().active_element();
    let is_on = |input: NodeRef<html::Input>| {
        let input = input.get_untracked();
        on.as_ref().is_some_and(|on| input.is_some_and(|input| **on == ***input))
    };
    let is_writing = is_on(search) || is_on(labels);
    match event.key().as_str() {
        "Escape" if is_writing => rows.query_selector(ROW).ok().flatten().is_some_and(|row| focus(&row)),
        _ if is_writing => false,
        "/" => search.get_untracked().is_some_and(|search| focus(&search)),
        "j" => step(&rows, on.as_ref(), Element::next_element_sibling),
        "k" => step(&rows, on.as_ref(), Element::previous_element_sibling),
        _ => false,
    }
}

/// From the row that has the focus to the next one in a direction; to the first one where none has it.
fn step(rows: &Element, on: Option<&Element>, next: impl Fn(&Element) -> Option<Element>) -> bool {
    let line = on.filter(|on| rows.contains(Some(on))).and_then(|on| on.closest(".line").ok().flatten());
    let Some(line) = line else {
        return rows.query_selector(ROW).ok().flatten().is_some_and(|row| focus(&row));
    };
    let mut at = next(&line);
    while let Some(element) = at {
        if let Ok(Some(row)) = element.query_selector(ROW) {
            return focus(&row);
        }
        at = next(&element);
    }
    true // the last one keeps it
}
