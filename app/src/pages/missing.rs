//! The page for an address that does not exist: says so, and where to go.

use leptos::prelude::*;

use crate::components::brand::Brand;

/// Nothing is here.
#[component]
pub fn Missing(
    /// What was asked for.
    path: String,
    /// Why there is nothing.
    why: String,
    /// Where to go instead: (address, words).
    instead: Vec<(String, String)>,
) -> impl IntoView {
    view! {
        <header class="top"><Brand/></header>
        <main class="message">
            <h1>"There is no such page"</h1>
            <p class="mono">{path}</p>
            <p>{why}</p>
            <ul>
                {instead.into_iter().map(|(address, words)| view! { <li><a href=address>{words}</a></li> }).collect_view()}
            </ul>
        </main>
    }
}
