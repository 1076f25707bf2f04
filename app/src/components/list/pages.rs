//! The list page by page, for browsers without scripts; hidden once the page is alive.

use leptos::prelude::*;
use timeline::list::{Query, Window};

use timeline::address;

/// Ways to the rows before and after those that were rendered.
#[component]
pub fn Pages(
    /// Which Deployments the list shows.
    query: Query,
    /// The numbers of the rows that were rendered.
    window: Window,
    /// Number of rows of the whole list.
    rows: u32,
) -> impl IntoView {
    let address = address::list(&query);
    let sign = if address.contains('?') { '&' } else { '?' };
    let step =
        move |from: u32, words: &'static str| view! { <a href=format!("{address}{sign}from={from}")>{words}</a> };
    let length = window.to - window.from;
    let earlier = (window.from > 0).then(|| step(window.from.saturating_sub(length), "Lines before"));
    let later = (rows > window.to).then(|| step(window.to, "More lines"));
    view! { <p class="pages">{earlier}" "{later}</p> }
}
