//! Sound: what happens on the seats can be heard. Nothing of it is seen.

use leptos::prelude::*;
use send_wrapper::SendWrapper;
use web_sys::AudioContext;

use crate::wall::Look;
use crate::wall::board::{Seat, WallBoard};
use crate::wall::tones::{SeatState, play, tones};

/// The sound of all seats.
#[component]
pub fn Sound(
    /// What it follows.
    board: WallBoard,
) -> impl IntoView {
    // Where a browser has no sound there is none.
    let audio: StoredValue<Option<SendWrapper<AudioContext>>> = StoredValue::new(None);
    Effect::new(move |_| audio.set_value(AudioContext::new().ok().map(SendWrapper::new)));
    on_cleanup(move || {
        if let Some(audio) = audio.try_update_value(Option::take).flatten() {
            let _ = audio.close(); // it makes no sound any more, closed or not
        }
    });
    for seat in board.seats {
        Effect::new(move |before: Option<SeatState>| {
            let now = heard(seat);
            if let Some(before) = before {
                audio.with_value(|audio| {
                    if let Some(audio) = audio {
                        play(audio, tones(&before, &now));
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
