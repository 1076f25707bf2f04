//! The score: time runs to the right, now is the line at the right edge, one band per ReplicaSet, one bar per pod.
//!
//! Bars are drawn once, in seconds from the board's base; every frame moves only the picture's view box. A bar that has
//! not ended reaches far beyond the right edge, where the view box cuts it off.

mod bars;
mod gutter;
mod heads;

pub(super) use bars::*;
pub(super) use gutter::*;
pub(super) use heads::*;

use leptos::prelude::*;

use super::lists::{Bands, Part};
use super::{fixed, text, thousandths};
use crate::board::{BandRow, Board};
use crate::score::scale::clock;
use timeline::model::Gap;

/// The picture.
#[component]
pub fn Score(
    /// The page's state.
    board: Board,
) -> impl IntoView {
    let height = total_height(&board);
    let view = board.view.clone();
    let label =
        text(move || view.with(|view| view.as_ref().map(|view| view.verdict.sentence.clone()).unwrap_or_default()));
    let (axis, base) = (board.axis.clone(), board.base_millis);
    let style = text(move || {
        let axis = axis.get();
        format!(
            "--now:{};--window:{}",
            thousandths((axis.now_millis - base) as f64 / 1000.0),
            thousandths(axis.window_millis / 1000.0)
        )
    });
    let ticks = board.ticks.clone();
    let seconds = move |at: i64| thousandths((at - base) as f64 / 1000.0);
    let tick = move |at: i64| view! { <span class="tick" style=format!("--at:{}", seconds(at))>{clock(at)}</span> };
    let gaps = board.gaps.clone();
    let gap = move |(gap, words): (Gap, &'static str)| view! { <span class="gap" style=format!("--at:{};--to:{}", seconds(gap.from_millis), seconds(gap.to_millis)) data-testid="gap">{words}</span> };
    view! {
        <div class="score" role="img" aria-label=label style=style data-testid="score">
            <div class="axis">{move || ticks.get().into_iter().map(tick).collect_view()}</div>
            <div class="picture" style=text(move || format!("height:{}px", fixed(height.get())))>
                <div class="gutter">
                    <Bands board=board.clone() part=Part::Gutter/>
                </div>
                <div class="canvas" id="bands"><bars::Bars board=board.clone()/>{move || gaps.get().into_iter().map(gap).collect_view()}</div>
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

/// Moves a band's group to the band's upper edge. An attribute, not a style: while a style sheet moves a group of the
/// stretched picture, browsers draw it once in the picture's coarse units and blow that up.
fn top_of(row: &BandRow) -> Signal<String> {
    let place = row.place.clone();
    text(move || place.with(|place| format!("translate(0 {})", fixed(place.top))))
}
