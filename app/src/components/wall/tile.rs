//! A tile: one Deployment, read from across a room.

use leptos::prelude::*;
use timeline::view::{Command, Tone, View};
use timeline::words::safe;

use super::lines::Lines;
use crate::calm::calm;
use crate::components::rollout::score::Score;
use crate::rollout::picture::Moving;
use crate::score::frame::Frame;
use crate::wall;
use crate::wall::board::Seat;
use crate::zone::Zone;

/// The tile of a seat: who sits there, what is said, and the picture.
#[component]
pub fn Tile(
    /// The seat, which the tile follows.
    seat: Seat,
) -> impl IntoView {
    let Seat { prefix, board, picture, age, .. } = seat;
    let zone = Zone::of_page();
    // What is read from across a room stays for a moment.
    let words = calm(Signal::derive(move || board.said(Words::of)), Signal::stored(false));
    let said = move |read: fn(&Words) -> &String| zone.said(read(&words.read()), board.now_millis());
    let moving = Moving::at(Frame::unmeasured(0, 60_000.0, 0), 0.0);
    let size = move || wall::size(words.read().length());
    let remedy = move || {
        words.read().remedy.clone().map(|remedy| view! { <span class="remedy-words" data-testid="tile-remedy">" "{remedy.what}": "<code>{remedy.command}</code></span> })
    };
    let place =
        move || board.workload.with(|workload| format!("{} / {}", safe(&workload.cluster), safe(&workload.namespace)));
    let figure = move || board.said(|view| format!("{} of {}", view.counts.new_available, view.desired));
    view! {
        <section id=format!("{prefix}tile") class=move || seat.class() data-testid="tile">
            <div class="who">
                <h2>{move || board.workload.with(|workload| safe(&workload.name))}</h2>
                <b>{figure}" "<small>"new available"</small></b>
            </div>
            <p class="where"><span>{place}</span>" "<span class="age" data-testid="age">{move || age.read().words(zone)}</span></p>
            <p class=size>
                <span>{move || said(|words| &words.sentence)}</span>" "
                <span class="muted">{move || said(|words| &words.why)}</span>" "
                <span class="muted" data-testid="tile-next">{move || said(|words| &words.next)}</span>
                {remedy}
            </p>
            <div class="room" inert=true><Score board picture moving/></div>
            <Lines picture/>
        </section>
    }
}

/// What is said on a tile, all of it of one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Words {
    sentence: String,
    why: String,
    next: String,
    /// What to type, where something is wrong: what goes on by itself needs nobody.
    remedy: Option<Command>,
}

impl Words {
    fn of(view: &View) -> Self {
        Self {
            sentence: view.verdict.sentence.clone(),
            why: view.verdict.why.clone(),
            next: view.next.clone(),
            remedy: view.remedy.clone().filter(|_| view.verdict.tone == Tone::Bad),
        }
    }

    /// How much text that is, in characters.
    fn length(&self) -> usize {
        let command = self.remedy.as_ref().map_or("", |remedy| &remedy.command);
        let what = self.remedy.as_ref().map_or("", |remedy| &remedy.what);
        [&self.sentence, &self.why, &self.next, command, what].iter().map(|text| text.chars().count()).sum()
    }
}
