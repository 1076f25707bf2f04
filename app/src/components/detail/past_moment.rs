//! Details of a past moment: their times have their date, and nothing in them changes what is there today.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use timeline::Millis;

use crate::rollout::board::Board;

/// Returns whether the page around this component shows a past moment. Follows it.
pub fn is_past() -> Signal<bool> {
    if let Some(board) = Board::of_page() {
        return Signal::derive(move || board.is_past());
    }
    let query = use_query_map();
    Signal::derive(move || ["at", "rollout"].iter().any(|name| query.read().get_str(name).is_some()))
}

/// The present as times of a detail are compared with it: those that are far from it have their date.
pub fn present(now_millis: impl Into<Signal<Millis>>) -> Signal<Millis> {
    let (board, is_past, now_millis) = (Board::of_page(), is_past(), now_millis.into());
    Signal::derive(move || match board {
        _ if !is_past.get() => now_millis.get(),
        Some(board) => board.present(),
        None => Millis::MAX,
    })
}
