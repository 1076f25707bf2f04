//! Sound of the wall: a low tone when a Deployment gets stuck, two rising tones when it is complete. [`crate::news`] decides when to
//! announce; [`crate::browser::Sound`] plays. Renders nothing.

use std::time::Duration;

use leptos::prelude::*;
use timeline::Workload;
use timeline::view::Tone;

use crate::browser::{self, page_millis};
use crate::news::{DeploymentState, News};
use crate::wall::SeatState;
use crate::wall::board::{Seat, WallBoard};

const LOOK: Duration = Duration::from_secs(1);

/// Plays tones for changes of the Deployments on the seats.
#[component]
pub fn Sound(board: WallBoard) -> impl IntoView {
    // `None` if the browser has no sound. Dropped with this component.
    let sound: StoredValue<Option<browser::Sound>> = StoredValue::new(None);
    Effect::new(move |_| {
        sound.set_value(browser::Sound::new());
        browser::on_window(leptos::ev::click, move |_| {
            sound.try_with_value(|sound| sound.iter().for_each(browser::Sound::allow));
        });
    });
    let play = move |told: Option<Tone>| {
        sound.try_with_value(|sound| sound.iter().zip(told).for_each(|(sound, told)| sound.play(tones(told))));
    };
    // The announcements about the Deployment on each seat.
    let news = board.seats.map(|_| StoredValue::new((Workload::default(), News::default())));
    for (seat, news) in board.seats.into_iter().zip(news) {
        Effect::new(move |_| {
            let (workload, heard) = (seat.board.workload.get(), deployment_state(seat));
            let told = news.try_update_value(|(of, news)| {
                if *of != workload {
                    (*of, *news) = (workload, News::default());
                }
                news.observe(heard, seat.has_new_trouble.get_value(), page_millis())
            });
            play(told.flatten());
        });
    }
    Effect::new(move |_| {
        browser::run_every(LOOK, move || {
            for news in &news {
                play(news.try_update_value(|(_, news)| news.due_announcement(page_millis())).flatten());
            }
        });
    });
}

/// Returns the tones of an announcement: frequency in hertz, and seconds until it begins.
const fn tones(told: Tone) -> &'static [(f32, f64)] {
    match told {
        Tone::Bad => &[(196.0, 0.0)],
        Tone::Ok => &[(523.0, 0.0), (784.0, 0.18)],
        Tone::Busy | Tone::Quiet => &[],
    }
}

/// Returns the status of the Deployment on a seat; `None` while the seat is not active.
fn deployment_state(seat: Seat) -> Option<DeploymentState> {
    let is_on_stage = seat.look.get() == SeatState::OnStage;
    let standing = seat.board.view.with(|view| view.as_ref().map(|view| (view.verdict.tone, view.revision)));
    standing.filter(|_| is_on_stage)
}
