//! The tiny score of a row: its pods over the last minute, and how many are available now.

use leptos::prelude::*;

use crate::list::tiny_score::{CLASSES, HIGH, TinyPicture, WIDE};

/// A row's picture of the last minute, with the number of available pods beside it.
#[component]
pub fn TinyScore(
    /// The layers of the picture, and the number.
    tiny: Signal<TinyPicture>,
) -> impl IntoView {
    let layer = move |(layer, class): (usize, &'static str)| {
        let path = move || tiny.read().layers.get(layer).cloned().unwrap_or_default();
        view! { <path class=class d=path></path> }
    };
    view! {
        <svg class="tiny" viewBox=format!("0 0 {WIDE} {HIGH}") preserveAspectRatio="none" aria-hidden="true">
            {CLASSES.into_iter().enumerate().map(layer).collect_view()}
            <path class="desired" d=move || tiny.read().desired.clone()></path>
        </svg>
        <span class=move || if tiny.read().is_short { "counted short" } else { "counted" }>
            {move || tiny.read().counted.clone()}
            <small class=move || if tiny.read().is_new { "" } else { "aside" }>" new"</small>
            <span class="aside">" available"</span>
        </span>
    }
}
