//! The score: time runs to the right, now is the line at the right edge, one band per ReplicaSet, one bar per pod.
//!
//! What is in it are lists ([`crate::scene`]). Bars are drawn once, in seconds from the board's base; every frame moves only
//! the picture's view box. A bar that has not ended reaches far beyond the right edge, where the view box cuts it off.

use leptos::prelude::*;

use super::text;
use crate::board::Board;
use crate::numbers::{fixed, thousandths};
use crate::rows::rendered;
use crate::scene::budget::HEIGHT;

/// The picture, the table twin of it, and the story beside it.
#[component]
pub fn Score(
    /// The page's state.
    board: Board,
) -> impl IntoView {
    let view = board.view.clone();
    let label =
        text(move || view.with(|view| view.as_ref().map(|view| view.verdict.sentence.clone()).unwrap_or_default()));
    let first = board.first.clone();
    let strip = ArcRwSignal::new(HEIGHT);
    let strip_box = view_box(&board, strip);
    let placed = {
        let first = first.clone();
        rendered(move || styles(&first.placed))
    };
    view! {
        <div class="unused" inner_html=placed></div>
        <div class="score" role="group" aria-label=label data-testid="score">
            <div class="axis">
                <div id="ticks" inner_html=first.list("ticks")></div>
                <div id="marks" inner_html=first.list("marks")></div>
            </div>
            <div class="strip" data-testid="budget">
                <div class="gutter" id="limits" inner_html=first.list("limits")></div>
                <div class="canvas">
                    <svg class="bars" viewBox=strip_box preserveAspectRatio="none" aria-hidden="true">
                        <g id="areas" inner_html=first.list("areas")></g>
                    </svg>
                </div>
                <div class="labels" id="labels" inner_html=first.list("labels")></div>
            </div>
            <div class="picture" id="picture">
                <div class="gutter" id="gutter" inner_html=first.list("gutter")></div>
                <div class="canvas" id="canvas">
                    <canvas class="bars" id="paint" aria-hidden="true"></canvas>
                    <Bars board=board.clone()/>
                    <div class="gaps" id="gaps" inner_html=first.list("gaps")></div>
                </div>
                <div class="now-line"></div>
                <svg class="tokens" role="group" aria-label="Pods"><g id="heads" inner_html=first.list("heads")></g></svg>
            </div>
        </div>
        <aside class="rail" aria-label="Story">
            <h2>"What the controllers did"</h2>
            <ol class="story" tabindex="0" data-testid="story" id="story" inner_html=first.list("story")></ol>
            <section id="detail" class="panel" tabindex="-1" aria-label="Details"></section>
        </aside>
        <div class="twin" data-testid="twin">
            <table data-testid="pod-table">
                <caption>"Pods in view"</caption>
                <thead inner_html=rendered(|| COLUMNS.to_owned())></thead>
                <tbody id="table" inner_html=first.list("table")></tbody>
            </table>
        </div>
    }
}

/// Where everything is until the page's program takes over: a style sheet, because the content security policy allows no
/// style attributes.
#[cfg(feature = "ssr")]
fn styles(placed: &str) -> String {
    let nonce = leptos::nonce::use_nonce().map(|nonce| nonce.to_string()).unwrap_or_default();
    format!("<style id=\"placed\" nonce=\"{nonce}\">{placed}</style>")
}

#[cfg(not(feature = "ssr"))]
fn styles(_: &str) -> String {
    String::new()
}

const COLUMNS: &str = "<tr><th>Pod</th><th>Revision</th><th>State</th><th>Since (UTC)</th><th>Reason</th></tr>";

/// Patterns of the states, drawn in pixels: `turned` undoes the stretch of the view box.
const PATTERNS: &str = r#"<pattern id="stripes-terminating" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" class="soft"/><rect width="2.2" height="6"/></pattern>
<pattern id="hatch-starting" width="5" height="5" patternUnits="userSpaceOnUse"><rect width="1.6" height="5"/></pattern>
<pattern id="dots-ready" width="5" height="5" patternUnits="userSpaceOnUse"><rect width="5" height="5" class="soft"/><circle cx="2.5" cy="2.5" r="1"/></pattern>"#;

/// All bars, in a view box of seconds by pixels.
#[component]
fn Bars(board: Board) -> impl IntoView {
    let view_box = view_box(&board, board.total.clone());
    let turned = |degrees: i32| {
        let axis = board.axis.clone();
        text(move || {
            let axis = axis.get();
            format!("scale({} 1) rotate({degrees})", thousandths(axis.window_millis / 1000.0 / axis.width))
        })
    };
    view! {
        <svg class="bars" viewBox=view_box preserveAspectRatio="none" aria-hidden="true">
            <defs inner_html=rendered(|| PATTERNS.to_owned())></defs>
            <defs>
                <pattern id="stripes" href="#stripes-terminating" patternTransform=turned(45)></pattern>
                <pattern id="hatch" href="#hatch-starting" patternTransform=turned(-45)></pattern>
                <pattern id="dots" href="#dots-ready" patternTransform=turned(0)></pattern>
            </defs>
            <g id="bars" inner_html=board.first.list("bars")></g>
        </svg>
    }
}

/// Seconds by pixels: the window of time, and that height.
fn view_box(board: &Board, height: ArcRwSignal<f64>) -> Signal<String> {
    let (axis, base) = (board.axis.clone(), board.base_millis);
    text(move || {
        let axis = axis.get();
        let (now, window) = ((axis.now_millis - base) as f64 / 1000.0, axis.window_millis / 1000.0);
        format!("{} 0 {} {}", thousandths(now - window), thousandths(window), fixed(height.get()))
    })
}
