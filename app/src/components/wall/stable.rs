//! The one large line that is shown when nothing goes on.

use leptos::prelude::*;

use crate::wall;
use crate::wall::board::WallBoard;
use crate::zone::Zone;

/// The line.
#[component]
pub fn CalmLine(
    /// What it follows.
    board: WallBoard,
) -> impl IntoView {
    let zone = Zone::of_page();
    let class = move || match (board.is_calm.get(), wall::unseen(&board.overall.read()).next().is_some()) {
        (false, _) => "unused",
        (true, false) => "calm-line",
        (true, true) => "calm-line unseen",
    };
    let words = move || {
        if !board.is_calm.get() {
            return String::new();
        }
        wall::calm(&board.overall.read(), &board.last.read(), |at_millis| zone.stamp(at_millis))
    };
    view! { <p id="calm" class=class data-testid="calm">{words}</p> }
}
