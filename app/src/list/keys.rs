//! Keys of the list: to the search, between rows, and back. For browsers only, from event handlers.

use leptos::ev::KeyboardEvent;
use leptos::html;
use leptos::prelude::*;

use super::board::{ListBoard, Slot};
use crate::browser::{self, is_key};
use crate::elements::{Neighbour, neighbour_key};

pub const KEYS: [(&str, &str); 4] =
    [("/", "search"), ("j k", "next, previous row"), ("Enter", "open"), ("Esc", "from the search to the rows")];

/// Handles a key that nothing else handled; true if it has a meaning here.
pub fn handle_key(event: &KeyboardEvent, search: NodeRef<html::Input>, board: ListBoard) -> bool {
    match event.key().as_str() {
        "/" => search.get_untracked().is_some_and(|search| browser::focus(&search)),
        "j" | "k" => board.focus_first(),
        _ => false,
    }
}

/// Handles a key in a filter field.
pub fn handle_field_key(event: &KeyboardEvent, board: ListBoard) {
    if is_key(event) && event.key() == "Escape" && board.focus_first() {
        event.prevent_default();
    }
}

/// Handles a key on a Deployment's row.
pub fn handle_row_key(event: &KeyboardEvent, board: ListBoard, key: u128) {
    if is_key(event) && matches!(event.key().as_str(), "j" | "k") {
        let neighbour = if event.key() == "j" { Neighbour::Next } else { Neighbour::Previous };
        board.focus_beside(key, neighbour); // the last row keeps the focus
        event.prevent_default();
    }
}

impl ListBoard {
    /// Focuses the first row in view; false if there is none.
    fn focus_first(self) -> bool {
        // Rows above the view are rendered too.
        let mut links = self.order().into_iter().filter_map(|key| self.links.get(key));
        let first = links.find(|link| link.get_bounding_client_rect().bottom() > 0.0);
        first.is_some_and(|link| browser::focus(&link))
    }

    /// Focuses the row before or after another one, if it exists.
    fn focus_beside(self, key: u128, neighbour: Neighbour) -> bool {
        neighbour_key(&self.order(), key, neighbour).is_some_and(|key| self.links.focus(key))
    }

    /// Returns the keys of the rendered rows with data, in order.
    fn order(self) -> Vec<u128> {
        self.slots.with_untracked(|slots| slots.iter().filter_map(Slot::deployment).collect())
    }
}
