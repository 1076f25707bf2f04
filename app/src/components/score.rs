//! The score: time runs to the right, now is the line at the right edge, one band per ReplicaSet, one bar per pod.
//!
//! What is in it are lists ([`crate::scene`]). Bars are drawn once, in seconds from the board's base; every frame moves only
//! the picture's view box. A bar that has not ended reaches far beyond the right edge, where the view box cuts it off.

use leptos::prelude::*;

use super::slots::Slots;
use crate::board::Board;
use crate::numbers::{fixed, thousandths};
use crate::scene::Frame;
use crate::scene::budget::HEIGHT;

/// What the score is called.
pub fn slots(board: &Board, slots: &mut Slots) {
    let view = board.view.clone();
    slots.attribute("score", "aria-label", move || {
        view.with(|view| view.as_ref().map(|view| view.verdict.sentence.clone()).unwrap_or_default())
    });
}

/// What changes in the pictures with every frame: (id of the element, attribute).
pub const MOVING: [(&str, &str); 5] = [
    ("strip", "viewBox"),
    ("picture-box", "viewBox"),
    ("stripes", "patternTransform"),
    ("hatch", "patternTransform"),
    ("dots", "patternTransform"),
];

/// The values of [`MOVING`].
#[must_use]
pub fn moving(frame: Frame, total: f64) -> [String; 5] {
    let (now, window) = (frame.x(frame.now_millis), frame.window_millis / 1000.0);
    let view_box = |height| format!("{} 0 {} {}", thousandths(now - window), thousandths(window), fixed(height));
    // The turned patterns undo the stretch of the view box.
    let turned = |degrees: i32| format!("scale({} 1) rotate({degrees})", thousandths(window / frame.width));
    [view_box(HEIGHT), view_box(total), turned(45), turned(-45), turned(0)]
}

#[cfg(feature = "ssr")]
pub use markup::{PATTERNS, score};

#[cfg(feature = "ssr")]
mod markup {
    use leptos::prelude::*;

    use super::moving;
    use crate::components::slots::Slots;
    use crate::scene::first::First;

    /// The picture, the table twin of it, and the story beside it.
    pub fn score(first: &First, slots: &Slots) -> impl IntoView + use<> {
        let [strip, picture, stripes, hatch, dots] = moving(first.frame, first.total);
        view! {
            <div class="unused" inner_html=styles(&first.placed)></div>
            <div class="score" role="group" id="score" aria-label=slots.attribute_now("score", "aria-label") data-testid="score">
                <div class="axis">
                    <div id="ticks" inner_html=first.list("ticks")></div>
                    <div id="marks" inner_html=first.list("marks")></div>
                </div>
                <div class="strip" data-testid="budget">
                    <div class="gutter" id="limits" inner_html=first.list("limits")></div>
                    <div class="canvas">
                        <svg class="bars" id="strip" viewBox=strip preserveAspectRatio="none" aria-hidden="true">
                            <g id="areas" inner_html=first.list("areas")></g>
                        </svg>
                    </div>
                    <div class="labels" id="labels" inner_html=first.list("labels")></div>
                </div>
                <div class="scroller" id="scroller" tabindex="0" role="region" aria-label="Revisions and their pods">
                    <div class="picture" id="picture">
                        <div class="gutter" id="gutter" inner_html=first.list("gutter")></div>
                        <div class="canvas" id="canvas">
                            <svg class="bars" id="picture-box" viewBox=picture preserveAspectRatio="none" aria-hidden="true">
                                <defs inner_html=PATTERNS></defs>
                                <defs>
                                    <pattern id="stripes" href="#stripes-terminating" patternTransform=stripes></pattern>
                                    <pattern id="hatch" href="#hatch-starting" patternTransform=hatch></pattern>
                                    <pattern id="dots" href="#dots-ready" patternTransform=dots></pattern>
                                </defs>
                                <g id="bars" inner_html=first.list("bars")></g>
                            </svg>
                            // Many bars are painted, on the grounds of their bands.
                            <canvas class="bars" id="paint" aria-hidden="true"></canvas>
                            <div class="gaps" id="gaps" inner_html=first.list("gaps")></div>
                        </div>
                        <svg class="tokens" role="group" aria-label="Pods"><g id="heads" inner_html=first.list("heads")></g></svg>
                    </div>
                </div>
                <div class="now-line"></div>
            </div>
            <aside class="rail" aria-label="Story">
                <h2>"What the controllers did"</h2>
                <ol class="story" tabindex="0" data-testid="story" id="story" inner_html=first.list("story")></ol>
                <section id="detail" class="panel" tabindex="-1" aria-label="Details"></section>
            </aside>
            <div class="twin" data-testid="twin">
                <table data-testid="pod-table">
                    <caption>"Pods in view"</caption>
                    <thead inner_html=COLUMNS></thead>
                    <tbody id="table" inner_html=first.list("table")></tbody>
                </table>
            </div>
        }
    }

    /// Where everything is until the page's program takes over: a style sheet, because the content security policy allows
    /// no style attributes.
    fn styles(placed: &str) -> String {
        let nonce = leptos::nonce::use_nonce().map(|nonce| nonce.to_string()).unwrap_or_default();
        format!("<style id=\"placed\" nonce=\"{nonce}\">{placed}</style>")
    }

    const COLUMNS: &str = "<tr><th>Pod</th><th>Revision</th><th>State</th><th>Since (UTC)</th><th>Reason</th></tr>";

    /// Patterns of the states, drawn in pixels.
    pub const PATTERNS: &str = r#"<pattern id="stripes-terminating" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" class="soft"/><rect width="2.2" height="6"/></pattern>
<pattern id="hatch-starting" width="5" height="5" patternUnits="userSpaceOnUse"><rect width="5" height="5" class="faint"/><rect width="1.6" height="5"/></pattern>
<pattern id="dots-ready" width="5" height="5" patternUnits="userSpaceOnUse"><rect width="5" height="5" class="soft"/><circle cx="2.5" cy="2.5" r="1"/></pattern>"#;
}
