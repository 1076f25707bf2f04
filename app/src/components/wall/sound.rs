//! Sound: what happens on the seats can be heard. Nothing of it is seen.

use leptos::prelude::*;

use crate::browser;
use crate::wall::Look;
use crate::wall::board::{Seat, WallBoard};
use crate::wall::tones::{SeatState, tones};

/// The sound of the wall: tones for what happens on its seats.
#[component]
pub fn Sound(
    /// The state of the wall, which this follows.
    board: WallBoard,
) -> impl IntoView {
    // Where a browser has no sound there is none; it ends with this component.
    let sound: StoredValue<Option<browser::Sound>> = StoredValue::new(None);
    Effect::new(move |_| sound.set_value(browser::Sound::new()));
    for seat in board.seats {
        Effect::new(move |before: Option<SeatState>| {
            let now = heard(seat);
            if let Some(before) = before {
                sound.with_value(|sound| {
                    if let Some(sound) = sound {
                        sound.play(tones(&before, &now));
                    }
                });
            }
            now
        });
    }
}

fn heard(seat: Seat) -> SeatState {
    let is_on_stage = seat.look.get() == Look::OnStage;
    let tone = seat.board.view.with(|view| view.as_ref().map(|view| view.verdict.tone));
    SeatState { name: seat.board.workload.with(|workload| workload.name.clone()), tone: tone.filter(|_| is_on_stage) }
}
