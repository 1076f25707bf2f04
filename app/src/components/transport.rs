//! The controls of time: stop, step, slide, speed, back to the present, a link to the moment.

use leptos::prelude::*;
use timeline::words::clock;

use super::slots::Slots;
use crate::board::{Board, Time};

/// What the controls say.
pub fn slots(board: &Board, slots: &mut Slots) {
    for (id, attribute) in [("moment", ""), ("slider", "aria-valuetext")] {
        let second = board.second.clone();
        slots.attribute(id, attribute, move || format!("{} UTC", clock(second.get() * 1000)));
    }
    let mut with = |id, attribute, read: fn(Time) -> String| {
        let time = board.time.clone();
        slots.attribute(id, attribute, move || read(time.get()));
    };
    with("play", "", |time| {
        let word = match (time.tenths.is_some(), time.is_playing) {
            (false, _) => "Pause",
            (true, true) => "Stop",
            (true, false) => "Play",
        };
        word.to_owned()
    });
    with("live", "class", |time| if time.tenths.is_none() { "live on" } else { "live" }.to_owned());
    with("live", "", |time| match (time.tenths, time.news) {
        (None, _) => "Live".to_owned(),
        (Some(_), 0) => "Back to live".to_owned(),
        (Some(_), news) => format!("Back to live, {news} new"),
    });
}

/// The controls. Without a script there is only the present: the style sheet hides them.
#[cfg(feature = "ssr")]
pub fn transport(slots: &Slots) -> impl IntoView + use<> {
    view! {
        <div class="transport" role="group" aria-label="Time" data-testid="transport">
            <button data-do="back" title="Previous change (left arrow)" aria-label="Previous change">"\u{2039}"</button>
            <button id="play" class="play" data-do="play" title="Play or pause (space)">{slots.now("play")}</button>
            <button data-do="forward" title="Next change (right arrow)" aria-label="Next change">"\u{203a}"</button>
            <input type="range" id="slider" min="0" max="10000" value="10000" aria-label="Moment" aria-valuetext=slots.attribute_now("slider", "aria-valuetext")/>
            <output id="moment" data-testid="moment">{slots.now("moment")}</output>
            <span inner_html=SPEED></span>
            <button id="live" class=slots.attribute_now("live", "class") data-do="live" title="Back to live (L)" data-testid="back-to-live">{slots.now("live")}</button>
            <button id="link" data-do="link" title="Copy a link to this revision, or to the moment shown (C)">"Copy link"</button>
            <details id="keys" inner_html=KEYS></details>
        </div>
    }
}

#[cfg(feature = "ssr")]
const SPEED: &str = r#"<select aria-label="Speed"><option value="25">¼ ×</option><option value="100" selected>1 ×</option><option value="200">2 ×</option><option value="500">5 ×</option><option value="2000">20 ×</option></select>"#;

#[cfg(feature = "ssr")]
const KEYS: &str = r#"<summary title="Keys (?)">Keys</summary><dl>
<dt>space</dt><dd>play, pause</dd><dt>← →</dt><dd>previous, next change</dd><dt>shift ← →</dt><dd>one second</dd>
<dt>+ − 0</dt><dd>less time, more, all of the rollout</dd><dt>[ ]</dt><dd>previous, next rollout</dd><dt>L</dt><dd>back to live</dd><dt>C</dt><dd>copy link</dd>
<dt>T</dt><dd>pods as a table</dd><dt>↑ ↓</dt><dd>from pod to pod</dd><dt>Enter</dt><dd>open a pod or revision</dd><dt>Esc</dt><dd>close</dd><dt>/</dt><dd>all Deployments</dd></dl>"#;
