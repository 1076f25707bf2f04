//! The controls of time: stop, step, slide, speed, back to the present, a link to the moment.

use leptos::prelude::*;
use timeline::words::clock;

use super::text;
use crate::board::{Board, Time};
use crate::rows::rendered;

/// The controls. Without a script there is only the present: the style sheet hides them.
#[component]
pub fn Transport(
    /// The page's state.
    board: Board,
) -> impl IntoView {
    let with = |read: fn(Time) -> String| {
        let time = board.time.clone();
        text(move || read(time.get()))
    };
    let second = board.second.clone();
    let now = text(move || format!("{} UTC", clock(second.get() * 1000)));
    view! {
        <div class="transport" role="group" aria-label="Time" data-testid="transport">
            <button data-do="back" title="Previous change (left arrow)" aria-label="Previous change">"\u{2039}"</button>
            <button class="play" data-do="play" title="Play or pause (space)">{with(|time| if time.tenths.is_none() { "Pause" } else if time.is_playing { "Stop" } else { "Play" }.to_owned())}</button>
            <button data-do="forward" title="Next change (right arrow)" aria-label="Next change">"\u{203a}"</button>
            <input type="range" id="slider" min="0" max="10000" value="10000" aria-label="Moment" aria-valuetext=now/>
            <output data-testid="moment">{now}</output>
            <span inner_html=rendered(|| SPEED.to_owned())></span>
            <button class=with(|time| if time.tenths.is_none() { "live on" } else { "live" }.to_owned()) data-do="live" title="Back to live (L)" data-testid="back-to-live">{with(|time| if time.tenths.is_none() { "Live".to_owned() } else if time.news == 0 { "Back to live".to_owned() } else { format!("Back to live, {} new", time.news) })}</button>
            <button id="link" data-do="link" title="Copy a link to this moment (C)">"Copy link"</button>
            <details id="keys" inner_html=rendered(|| KEYS.to_owned())></details>
        </div>
    }
}

const SPEED: &str = r#"<select aria-label="Speed"><option value="25">¼ ×</option><option value="100" selected>1 ×</option><option value="200">2 ×</option><option value="500">5 ×</option><option value="2000">20 ×</option></select>"#;

const KEYS: &str = r#"<summary title="Keys (?)">Keys</summary><dl>
<dt>space</dt><dd>play, pause</dd><dt>← →</dt><dd>previous, next change</dd><dt>shift ← →</dt><dd>one second</dd>
<dt>[ ]</dt><dd>previous, next rollout</dd><dt>L</dt><dd>back to live</dd><dt>C</dt><dd>copy link to this moment</dd>
<dt>T</dt><dd>pods as a table</dd><dt>↑ ↓</dt><dd>from pod to pod</dd><dt>Enter</dt><dd>open a pod or revision</dd><dt>Esc</dt><dd>close</dd><dt>/</dt><dd>all Deployments</dd></dl>"#;
