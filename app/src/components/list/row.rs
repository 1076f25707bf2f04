//! A Deployment's row: what it is called, its pods, what is said of it, and ways to its pages.

use leptos::prelude::*;
use timeline::view::Tone;

use crate::components::image::ImageName;
use crate::debounce::debounce;
use crate::list::board::ListBoard;
use crate::list::keys;
use crate::list::row::RowText;
use crate::list::tiny_score::{CLASSES, HIGH, TinyPicture, WIDE};
use crate::zone::Zone;

/// Texts and the picture of a Deployment, all of them of one moment.
#[derive(Debug, Clone, Default, PartialEq)]
struct RowContent {
    /// Class names of the sentence.
    class: String,
    sentence: String,
    why: String,
    tiny: TinyPicture,
}

impl RowContent {
    fn of(row: &RowText) -> Self {
        Self {
            class: format!("sentence {}", row.tone.name()),
            sentence: row.sentence.clone(),
            why: row.why.clone(),
            tiny: row.tiny.clone(),
        }
    }
}

/// A Deployment's row of the list.
#[component]
pub fn Row(
    /// The state of the list's page, for keys that go from row to row.
    board: ListBoard,
    /// The key of the row in the list.
    key: u128,
    /// Content of the row; each part of it is followed by itself.
    row: ArcRwSignal<RowText>,
) -> impl IntoView {
    let zone = Zone::of_page();
    let row: ReadSignal<RowText> = row.read_only().into();
    let text = move |read: fn(&RowText) -> &String| move || read(&row.read()).clone();
    let words = debounce(Signal::derive(move || RowContent::of(&row.read())), Signal::stored(false));
    let said = move |read: fn(&RowContent) -> &String| move || zone.said(read(&words.read()), row.read().near_millis);
    let class = move || if matches!(row.read().tone, Tone::Bad | Tone::Busy) { "row" } else { "row stable" };
    let rollouts = move || format!("{}/rollouts", row.read().address);
    let images = Signal::derive(move || row.read().images.clone());
    let tiny = Signal::derive(move || words.read().tiny.clone());
    let named = move || row.with(|row| [&*row.name, &row.place].join(", "));
    let all = move || words.with(|words| zone.said(&[&*words.sentence, &words.why].join(" "), row.read().near_millis));
    view! {
        <div class="line" on:keydown=move |event| keys::pressed_on_row(&event, board, key)>
            <a class=class node_ref=board.links.of(key) on:click=move |_| board.at.set_value(Some(key)) href=text(|row| &row.address) data-testid="deployment">
                <span class="name" title=named>
                    <b>{text(|row| &row.name)}</b>
                    <span class="muted"><i class=move || format!("accent accent-{}", row.read().accent)></i><bdi>{text(|row| &row.place)}</bdi></span>
                </span>
                <span class="pods"><TinyScore tiny/></span>
                <span class="says" title=all>
                    <span class=move || words.read().class.clone()>{said(|words| &words.sentence)}</span>
                    <span class="muted why">{said(|words| &words.why)}</span>
                </span>
                <span class="image"><b>{text(|row| &row.revision)}</b>" "<ImageName text=images/></span>
                <span class="muted since">{text(|row| &row.since)}" ago"</span>
            </a>
            <a class="past" href=rollouts aria-label=move || format!("Rollouts of {}", row.read().name)>"Rollouts"</a>
        </div>
    }
}

/// A row's picture of the last minute, with the number of available pods beside it.
#[component]
fn TinyScore(tiny: Signal<TinyPicture>) -> impl IntoView {
    let layer = move |(layer, class): (usize, &'static str)| {
        let path = move || tiny.read().layers.get(layer).cloned().unwrap_or_default();
        view! { <path class=class d=path></path> }
    };
    view! {
        <svg class="tiny" viewBox=format!("0 0 {WIDE} {HIGH}") preserveAspectRatio="none" aria-hidden="true">
            {CLASSES.into_iter().enumerate().map(layer).collect_view()}
            <path class="desired" d=move || tiny.read().desired.clone()></path>
        </svg>
        <span class=move || if tiny.read().is_short { "counted short" } else { "counted" }>
            {move || tiny.read().counted.clone()}
            <small class=move || if tiny.read().is_new { "" } else { "aside" }>" new"</small>
            <span class="aside">" available"</span>
        </span>
    }
}
