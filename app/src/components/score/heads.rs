//! The heads: right of the now line, each pod as it is now, a token and the end of its name.

use leptos::prelude::*;
use timeline::model::Pod;
use timeline::{Uid, words};

use crate::board::{BandKey, Board};
use crate::components::lists::{Bands, Part, Pods};
use crate::components::token::Token;
use crate::components::{fixed, text};
use crate::score::scale::clock;

/// In rows lower than this names are left out, and tokens become squares.
const NAME_ROW: f64 = 14.0;
const TOKEN_ROW: f64 = 12.0;
/// A pod first seen this long before the page's last look is not announced as born.
const NEWBORN_MILLIS: i64 = 3_000;

/// All heads.
#[component]
pub fn Heads(board: Board) -> impl IntoView {
    view! {
        <svg class="tokens" aria-hidden="true">
            <Bands board part=Part::Heads/>
        </svg>
    }
}

/// The heads of one band.
#[component]
pub(in crate::components) fn BandHeads(board: Board, key: BandKey) -> impl IntoView {
    let row = board.band(key)?;
    let band = row.band.clone();
    let revision =
        text(move || band.with(|band| band.revision.map_or_else(|| "out".to_owned(), |revision| revision.to_string())));
    Some(view! {
        <g class="band-heads" data-revision=revision transform=super::top_of(&row)>
            <Pods board key part=Part::Heads/>
        </g>
    })
}

/// The head of one pod.
#[component]
pub(in crate::components) fn Head(board: Board, key: BandKey, uid: Uid) -> impl IntoView {
    let (row, pod) = (board.band(key)?, board.row(uid)?.pod);
    let y = super::bars::slot_y(&row, uid);
    let now = board.axis.with_untracked(|axis| axis.now_millis);
    let is_out_band = key.is_none();
    let (name, born) = pod.with_untracked(|pod| (pod.name.clone(), now - pod.first_seen_millis() < NEWBORN_MILLIS));
    let short = words::safe(words::short(&name));
    let state = Signal::derive({
        let pod = pod.clone();
        move || pod.with(Pod::state)
    });
    let place = row.place.clone();
    let row_height = Memo::new(move |_| place.with(|place| place.row));
    let class = text({
        let pod = pod.clone();
        move || {
            let mut class = format!("head {}", state.get().name());
            let height = row_height.get();
            // A pod that was released has its head in the other band.
            let is_elsewhere = pod.with(Pod::is_out_of_rotation) != is_out_band;
            for (holds, word) in [
                (born, " born"),
                (is_elsewhere, " elsewhere"),
                (is_out_band, " out"),
                (height < TOKEN_ROW, " small"),
                (height < NAME_ROW, " nameless"),
            ] {
                if holds {
                    class.push_str(word);
                }
            }
            class
        }
    });
    let scale = text(move || format!("scale({})", fixed((row_height.get() / 2.0 - 2.0).clamp(3.0, 8.0) / 8.0)));
    let square = text(move || {
        let row = row_height.get();
        format!("M4 {}h10v{}h-10z", fixed(-row / 2.0), fixed(row))
    });
    let title = text(move || {
        pod.with(|pod| {
            let reason = words::safe(&pod.now.reason);
            let comma = if reason.is_empty() { "" } else { ": " };
            format!(
                "{} {}{comma}{reason} since {} UTC",
                words::safe(&pod.name),
                pod.state().label(),
                clock(pod.since_millis())
            )
        })
    });
    Some(view! {
        <g
            class=class
            transform=text(move || format!("translate(0 {})", fixed(y.get())))
            data-testid="pod"
            data-pod=name
            data-state=text(move || state.get().name().to_owned())
            data-title=title
        >
            <path class="square" d=square/>
            <g class="move"><g transform="translate(14 0)"><g transform=scale>
                <Token state/>
                <circle r="10.5" class="outer"/>
            </g></g></g>
            <text x="28" y="4">{short}</text>
        </g>
    })
}
