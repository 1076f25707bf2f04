//! A Deployment's row: what it is called, its pods, what is said of it, and ways to its pages.

use leptos::prelude::*;
use timeline::view::Tone;

use super::tiny_score::TinyScore;
use crate::list::board::ListBoard;
use crate::list::keys;
use crate::list::line::RowText;
use crate::zone::Zone;

/// The row.
#[component]
pub fn Row(
    /// The list that it is in.
    board: ListBoard,
    /// Its key there.
    key: u128,
    /// What it says.
    line: ArcRwSignal<RowText>,
) -> impl IntoView {
    let zone = Zone::of_page();
    let line: ReadSignal<RowText> = line.read_only().into();
    let text = move |read: fn(&RowText) -> &String| move || read(&line.read()).clone();
    let said = move |read: fn(&RowText) -> &String| {
        move || {
            let line = line.read();
            zone.said(read(&line), line.near_millis)
        }
    };
    let class = move || if matches!(line.read().tone, Tone::Bad | Tone::Busy) { "row" } else { "row calm" };
    let rollouts = move || format!("{}/rollouts", line.read().address);
    let tiny = Signal::derive(move || line.read().tiny.clone());
    view! {
        <div class="line" on:keydown=move |event| keys::pressed_on_row(&event, board, key)>
            <a class=class node_ref=board.links.of(key) href=text(|line| &line.address) data-testid="deployment">
                <span class="name">
                    <b>{text(|line| &line.name)}</b>
                    <span class="muted"><i class=move || format!("accent accent-{}", line.read().accent)></i>{text(|line| &line.place)}</span>
                </span>
                <span class="pods"><TinyScore tiny/></span>
                <span class="says">
                    <span class=move || format!("sentence {}", line.read().tone.name())>{said(|line| &line.sentence)}</span>
                    <span class="muted why" title=said(|line| &line.why)>{said(|line| &line.why)}</span>
                </span>
                <span class="image"><b>{text(|line| &line.revision)}</b>" "<span class="mono">{text(|line| &line.images)}</span></span>
                <span class="muted since">{text(|line| &line.since)}" ago"</span>
            </a>
            <a class="past" href=rollouts aria-label=move || format!("Rollouts of {}", line.read().name)>"Rollouts"</a>
        </div>
    }
}
