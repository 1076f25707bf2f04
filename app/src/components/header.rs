//! The top line: brand, where this is, how live it is.

use leptos::prelude::*;

use super::connection::LiveChip;
use crate::board::Board;

/// The name, a link to the list.
#[component]
pub fn Brand() -> impl IntoView {
    view! { <a class="brand" href="/">"Rollcast"</a> }
}

/// The top line of a Deployment's page.
#[component]
pub fn Header(
    /// The page's state.
    board: Board,
) -> impl IntoView {
    let place = board.place.clone();
    view! {
        <header class="top">
            <Brand/>
            <nav class="crumb" aria-label="Where this is">
                <a class="above" href="/">{place.cluster.clone()}</a>
                <span class="above">" / "{place.namespace.clone()}" / "</span>
                <b>{place.name.clone()}</b>
            </nav>
            <span class="spread"></span>
            <LiveChip board/>
        </header>
    }
}
