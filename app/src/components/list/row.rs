//! A Deployment's row: what it is called, its pods, what is said of it, and ways to its pages.

use leptos::prelude::*;
use timeline::view::Tone;

use super::tiny_score::TinyScore;
use crate::list::board::ListBoard;
use crate::list::keys;
use crate::list::row::RowText;
use crate::zone::Zone;

/// A Deployment's row of the list.
#[component]
pub fn Row(
    /// The state of the list's page, for keys that go from row to row.
    board: ListBoard,
    /// The key of the row in the list.
    key: u128,
    /// What the row says; each part of it is followed by itself.
    row: ArcRwSignal<RowText>,
) -> impl IntoView {
    let zone = Zone::of_page();
    let row: ReadSignal<RowText> = row.read_only().into();
    let text = move |read: fn(&RowText) -> &String| move || read(&row.read()).clone();
    let said = move |read: fn(&RowText) -> &String| {
        move || {
            let row = row.read();
            zone.said(read(&row), row.near_millis)
        }
    };
    let class = move || if matches!(row.read().tone, Tone::Bad | Tone::Busy) { "row" } else { "row stable" };
    let rollouts = move || format!("{}/rollouts", row.read().address);
    let tiny = Signal::derive(move || row.read().tiny.clone());
    view! {
        <div class="line" on:keydown=move |event| keys::pressed_on_row(&event, board, key)>
            <a class=class node_ref=board.links.of(key) href=text(|row| &row.address) data-testid="deployment">
                <span class="name">
                    <b>{text(|row| &row.name)}</b>
                    <span class="muted"><i class=move || format!("accent accent-{}", row.read().accent)></i>{text(|row| &row.place)}</span>
                </span>
                <span class="pods"><TinyScore tiny/></span>
                <span class="says">
                    <span class=move || format!("sentence {}", row.read().tone.name())>{said(|row| &row.sentence)}</span>
                    <span class="muted why" title=said(|row| &row.why)>{said(|row| &row.why)}</span>
                </span>
                <span class="image"><b>{text(|row| &row.revision)}</b>" "<span class="mono">{text(|row| &row.images)}</span></span>
                <span class="muted since">{text(|row| &row.since)}" ago"</span>
            </a>
            <a class="past" href=rollouts aria-label=move || format!("Rollouts of {}", row.read().name)>"Rollouts"</a>
        </div>
    }
}
