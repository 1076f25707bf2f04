//! The controls of time: stop, step, slider, speed, return to the present, link to the moment. Without the page's program only
//! the present is available: the style sheet hides the controls.

use leptos::prelude::*;
use timeline::episodes::StatusMark;

use super::keys::keys;
use crate::components::copy::copy_result;
use crate::components::page_keys::KeyHelp;
use crate::elements::Neighbour;
use crate::rollout::board::{Board, SLIDER, SLIDER_PARTS, SliderMarks, Time};
use crate::rollout::controls::Controls;
use crate::rollout::screen::RolloutScreen;

/// Speeds in percent, with their labels.
const SPEEDS: [(u32, &str); 5] = [(25, "¼ ×"), (100, "1 ×"), (200, "2 ×"), (500, "5 ×"), (2_000, "20 ×")];

#[component]
pub fn Transport(board: Board, controls: Controls) -> impl IntoView {
    let act = move |act: fn(&RolloutScreen)| move |_| controls.act(act);
    let moment = move || board.dated(board.now_millis());
    let play = move || match (board.time.get(), board.is_over) {
        (Time { tenths: None, .. }, false) if !board.is_held() => "Pause",
        (Time { playing_from: Some(_), .. }, _) => "Stop",
        (_, _) => "Play",
    };
    // Name of the latest time, and the label of the button that returns to it.
    let latest = move || match (board.is_over, board.is_recorded()) {
        (true, _) => ("End", "To the end"),
        (false, true) => ("Latest", "To the latest"),
        (false, false) => ("Live", "Back to live"),
    };
    let live = move || {
        let (now, back) = latest();
        let time = board.time.get();
        match (time.tenths, time.news) {
            (None, _) if board.is_stale() => format!("Last seen {}", board.moment(board.now_millis())),
            (None, _) => now.to_owned(),
            (Some(_), 0) => back.to_owned(),
            (Some(_), news) => format!("{back}, {news} new"),
        }
    };
    let live_title = move || format!("{} (L)", latest().1);
    let live_class = move || match (board.time.read().tenths.is_none(), board.is_recorded()) {
        (true, _) if board.is_stale() => "live stale",
        (true, false) => "live on",
        (true, true) => "live latest",
        (false, _) => "live",
    };
    view! {
        <div class="transport" role="group" aria-label="Time" data-testid="transport">
            <button type="button" title="Previous change (left arrow)" aria-label="Previous change" on:click=act(|screen| screen.step(Neighbour::Previous))>"\u{2039}"</button>
            <button type="button" class="play" title="Play or pause (space)" on:click=act(RolloutScreen::toggle)>{play}</button>
            <button type="button" title="Next change (right arrow)" aria-label="Next change" on:click=act(|screen| screen.step(Neighbour::Next))>"\u{203a}"</button>
            <div class="overview-track">
                <KeptMarks board/>
                <Slider board controls/>
            </div>
            <button type="button" class="zoom" title="More time (−)" aria-label="More time" on:click=act(|screen| screen.zoom(Some(2.0)))>"\u{2212}"</button>
            <button type="button" class="zoom" title="Less time (+)" aria-label="Less time" on:click=act(|screen| screen.zoom(Some(0.5)))>"+"</button>
            <output aria-live="off" data-testid="moment">{moment}</output>
            <Speed controls/>
            <button type="button" class=live_class title=live_title data-testid="back-to-live" on:click=act(RolloutScreen::live)>{live}</button>
            {(!board.is_file).then(|| view! {
                <button type="button" id="link" title="Copy a link to this revision, or to the moment shown (C)" aria-live="polite" data-copied=controls.copied on:click=move |_| controls.copy_link()>
                    <svg viewBox="0 0 24 24" aria-hidden="true"><path d="M9 15l6-6M11 6l2-2a4.2 4.2 0 0 1 6 6l-2 2M13 18l-2 2a4.2 4.2 0 0 1-6-6l2-2"></path></svg>
                    "Copy link"{copy_result(controls.copied)}
                </button>
            })}
            <KeyHelp keys=keys(board.is_file)/>
        </div>
    }
}

/// The marks of rollouts in drawing order.
const MARKS: [StatusMark; 5] = [StatusMark::Quiet, StatusMark::Ok, StatusMark::Late, StatusMark::Busy, StatusMark::Bad];

/// Renders the track of the slider: the rollouts as blocks, in the colours of their results, and a frame around the shown window.
#[component]
fn KeptMarks(board: Board) -> impl IntoView {
    let block = |from: i64, to: i64| format!("M{from} 0H{to}V1H{from}z");
    let rollouts = move |mark: StatusMark| {
        let shape = Memo::new(move |_| {
            let SliderMarks { rollouts, .. } = &*board.slider_marks.read();
            rollouts.iter().filter(|(of, ..)| *of == mark).map(|(_, from, to)| block(*from, *to)).collect::<String>()
        });
        view! { <path class=mark.name() d=shape></path> }
    };
    let window = Memo::new(move |_| {
        let (from, to) = board.slider_marks.read().window;
        block(from, to)
    });
    view! {
        <svg viewBox=format!("0 0 {SLIDER_PARTS} 1") preserveAspectRatio="none" aria-hidden="true" data-testid="overview-track">
            {MARKS.map(rollouts).into_iter().collect_view()}
            <path class="window" d=window></path>
        </svg>
    }
}

/// Renders the slider over all stored times.
#[component]
fn Slider(board: Board, controls: Controls) -> impl IntoView {
    // Screen readers announce each change of this text: it does not change while time advances by itself.
    let moment = move || match board.time.get() {
        Time { playing_from: Some(at), .. } => board.dated(at),
        Time { tenths: None, .. } if !board.is_held() => "now".to_owned(),
        _ => board.dated(board.now_millis()),
    };
    let slide = move |event: web_sys::Event| {
        let value = event_target_value(&event).parse::<f64>().unwrap_or_default();
        controls.act(|screen| screen.slide(value));
    };
    view! {
        <input
            type="range"
            id="slider"
            min="0"
            max=SLIDER.to_string()
            value=SLIDER.to_string()
            prop:value=move || board.slider_position.get().to_string()
            aria-label="Moment"
            aria-valuetext=moment
            on:input=slide
        />
    }
}

/// Renders the choice of the playback speed.
#[component]
fn Speed(controls: Controls) -> impl IntoView {
    let choose = move |event: web_sys::Event| {
        let percent = event_target_value(&event).parse::<u32>().unwrap_or(100);
        controls.act(|screen| screen.pace(f64::from(percent) / 100.0));
    };
    let speed = |(percent, words): (u32, &'static str)| {
        view! { <option value=percent.to_string() selected=percent == 100>{words}</option> }
    };
    view! { <select aria-label="Speed" on:change=choose>{SPEEDS.map(speed).into_iter().collect_view()}</select> }
}
