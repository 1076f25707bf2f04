//! The one large line that is shown when nothing goes on.

use leptos::prelude::*;
use timeline::list::Query;

use crate::wall;
use crate::wall::board::WallBoard;

/// One large line for when nothing goes on; it is hidden while something does.
#[component]
pub fn StableLine(
    /// The state of the wall, which this follows.
    board: WallBoard,
    /// Which Deployments the wall shows.
    query: Query,
) -> impl IntoView {
    let class = move || match (board.is_stable.get(), wall::unseen(&board.overall.read()).next().is_some()) {
        (false, _) => "unused",
        (true, false) => "stable-line",
        (true, true) => "stable-line unseen",
    };
    let words = Memo::new(move |_| {
        if !board.is_stable.get() {
            return String::new();
        }
        wall::stable(&board.overall.read(), &query, &board.last.read())
    });
    view! { <p id="stable" class=class title=words data-testid="stable">{words}</p> }
}
