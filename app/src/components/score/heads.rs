//! The heads: right of the now line, each pod as it is now, a token and the end of its name.

use leptos::prelude::*;
use timeline::phase::PodState;
use timeline::{Uid, words};

use crate::board::{Board, BandKey};
use crate::components::token::Token;
use crate::score::scale::clock;

/// Names are shown in rows at least this high, tokens in rows at least that high; else a square.
const NAME_ROW: f64 = 14.0;
const TOKEN_ROW: f64 = 12.0;
/// A pod first seen this long before the page's last look is not announced as born.
const NEWBORN_MILLIS: i64 = 3_000;

/// All heads.
#[component]
pub fn Heads(board: Board) -> impl IntoView {
    let order = board.order.clone();
    view! {
        <svg class="tokens" aria-hidden="true">
            <For each=move || order.get() key=|key| *key let:key>
                <BandHeads board=board.clone() key/>
            </For>
        </svg>
    }
}

#[component]
fn BandHeads(board: Board, key: BandKey) -> impl IntoView {
    let row = board.band(key)?;
    let (band, place) = (row.band.clone(), row.place.clone());
    let revision = Memo::new({
        let band = band.clone();
        move |_| band.with(|band| band.revision.map_or_else(|| "out".to_owned(), |revision| revision.to_string()))
    });
    let pods = move || band.with(|band| band.pods.iter().map(|(uid, _)| *uid).collect::<Vec<_>>());
    Some(view! {
        <g class="band-heads" data-revision=move || revision.get() style=move || place.with(|place| format!("transform:translateY({:.1}px)", place.top))>
            <For each=pods key=|uid| *uid let:uid>
                <Head board=board.clone() key uid/>
            </For>
        </g>
    })
}

#[component]
fn Head(board: Board, key: BandKey, uid: Uid) -> impl IntoView {
    let (row, pod) = (board.band(key)?, board.row(uid)?.pod);
    let y = super::bars::slot_y(&row, uid);
    let now = board.axis.with_untracked(|axis| axis.now_millis);
    let is_out_band = key.is_none();
    let (name, born) = pod.with_untracked(|pod| (pod.name.clone(), now - pod.first_seen_millis() < NEWBORN_MILLIS));
    let short = words::safe(words::short(&name));
    let state = Memo::new({
        let pod = pod.clone();
        move |_| pod.with(timeline::model::Pod::state)
    });
    // A pod that was released has its head in the other band.
    let is_elsewhere = Memo::new({
        let pod = pod.clone();
        move |_| pod.with(|pod| pod.is_out_of_rotation() != is_out_band)
    });
    let place = row.place.clone();
    let row_height = Memo::new(move |_| place.with(|place| place.row));
    let class = move || {
        let mut class = format!("head {}", state.get().name());
        if born {
            class.push_str(" born");
        }
        if is_elsewhere.get() {
            class.push_str(" elsewhere");
        }
        if is_out_band {
            class.push_str(" out");
        }
        class
    };
    let scale = move || format!("scale({:.2})", (row_height.get() / 2.0 - 2.0).clamp(3.0, 8.0) / 8.0);
    let title = move || pod.with(|pod| {
        let reason = words::safe(&pod.now.reason);
        let comma = if reason.is_empty() { "" } else { ": " };
        format!("{} {}{comma}{reason} since {} UTC", words::safe(&pod.name), pod.state().label(), clock(pod.since_millis()))
    });
    Some(view! {
        <g
            class=class
            style=move || format!("transform:translateY({:.2}px)", y.get())
            data-testid="pod"
            data-pod=name
            data-state=move || state.get().name()
            data-title=title
        >
            <Show
                when=move || { row_height.get() >= TOKEN_ROW }
                fallback=move || view! { <rect class=move || format!("square {}", state.get().name()) x="4" width="10" y=move || -row_height.get() / 2.0 height=move || row_height.get()/> }
            >
                <g class="move"><g transform="translate(14 0)"><g transform=scale>
                    <Token state=state/>
                    {is_out_band.then(|| view! { <circle r="10.5" class="outer"/> })}
                </g></g></g>
            </Show>
            <Show when=move || { row_height.get() >= NAME_ROW && state.get() != PodState::Gone }>
                <text x="28" y="4">{short.clone()}</text>
            </Show>
        </g>
    })
}
