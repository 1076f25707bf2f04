//! The score: time runs to the right, now is the line at the right edge, one band per ReplicaSet, one bar per pod.
//!
//! Bars are drawn once, in seconds from the board's base; every frame moves only the picture's view box. A bar that has
//! not ended reaches far beyond the right edge, where the view box cuts it off.

mod bars;
mod gutter;
mod heads;

use leptos::prelude::*;

use crate::board::{Board, BandKey};
use crate::score::scale::clock;

/// The picture.
#[component]
pub fn Score(
    /// The page's state.
    board: Board,
) -> impl IntoView {
    let height = total_height(&board);
    let label = {
        let view = board.view.clone();
        move || view.with(|view| view.as_ref().map(|view| view.verdict.sentence.clone()).unwrap_or_default())
    };
    let style = {
        let axis = board.axis.clone();
        let base = board.base_millis;
        move || {
            let axis = axis.get();
            format!("--now:{:.3};--window:{:.3}", (axis.now_millis - base) as f64 / 1000.0, axis.window_millis / 1000.0)
        }
    };
    let ticks = board.ticks.clone();
    let base = board.base_millis;
    view! {
        <div class="score" role="img" aria-label=label style=style data-testid="score">
            <div class="axis">
                <For each=move || ticks.get() key=|at| *at let:at>
                    <span class="tick" style=format!("--at:{}", (at - base) as f64 / 1000.0)>{clock(at)}</span>
                </For>
            </div>
            <div class="picture" style=move || format!("height:{:.0}px", height.get())>
                <div class="gutter"><Bands board=board.clone() part=gutter::part/></div>
                <div class="canvas" id="bands">
                    <bars::Bars board=board.clone()/>
                </div>
                <div class="now-line"></div>
                <div class="heads"><heads::Heads board/></div>
            </div>
        </div>
    }
}

/// Height of all bands, in pixels.
fn total_height(board: &Board) -> Memo<f64> {
    let (board, order, height) = (board.clone(), board.order.clone(), board.height.clone());
    Memo::new(move |_| {
        let last = order.with(|order| order.last().copied()).and_then(|key| board.band(key));
        let bottom = last.map_or(0.0, |row| row.place.with(|place| place.top + place.height));
        bottom.max(height.get())
    })
}

/// One part of every band, in order.
#[component]
fn Bands<F, V>(board: Board, part: F) -> impl IntoView
where
    F: Fn(Board, BandKey) -> V + Clone + Send + Sync + 'static,
    V: IntoView + 'static,
{
    let order = board.order.clone();
    view! {
        <For each=move || order.get() key=|key| *key let:key>
            {part(board.clone(), key)}
        </For>
    }
}
