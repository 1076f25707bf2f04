//! The one large line that is shown when nothing goes on.

use leptos::prelude::*;

use crate::wall;
use crate::wall::board::WallBoard;
use crate::zone::Zone;

/// One large line for when nothing goes on; it is hidden while something does.
#[component]
pub fn StableLine(
    /// The state of the wall, which this follows.
    board: WallBoard,
) -> impl IntoView {
    let zone = Zone::of_page();
    let class = move || match (board.is_stable.get(), wall::unseen(&board.overall.read()).next().is_some()) {
        (false, _) => "unused",
        (true, false) => "stable-line",
        (true, true) => "stable-line unseen",
    };
    let words = move || {
        if !board.is_stable.get() {
            return String::new();
        }
        wall::stable(&board.overall.read(), &board.last.read(), |at_millis| zone.stamp(at_millis))
    };
    view! { <p id="stable" class=class data-testid="stable">{words}</p> }
}
