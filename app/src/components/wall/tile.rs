//! A tile: one Deployment, read from across a room.

use leptos::prelude::*;
use timeline::view::{Command, Tone, View};
use timeline::words::safe;

use super::lines::Lines;
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
    let said = move |read: fn(&View) -> &String| zone.said(&board.said(|view| read(view).clone()), board.now_millis());
    let moving = Moving::at(Frame::unmeasured(0, 60_000.0, 0), 0.0);
    let size = move || {
        let texts = |view: &View| {
            let said = [&view.verdict.sentence, &view.verdict.why, &view.next].map(|text| text.chars().count());
            let command = typed(view).map_or(0, |remedy| remedy.what.chars().count() + remedy.command.chars().count());
            said.iter().sum::<usize>() + command
        };
        wall::size(board.said(texts))
    };
    let remedy = move || {
        board.said(|view| typed(view).cloned()).map(|remedy| view! { <span class="remedy-words" data-testid="tile-remedy">" "{remedy.what}": "<code>{remedy.command}</code></span> })
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
                <span>{move || said(|view| &view.verdict.sentence)}</span>" "
                <span class="muted">{move || said(|view| &view.verdict.why)}</span>" "
                <span class="muted" data-testid="tile-next">{move || said(|view| &view.next)}</span>
                {remedy}
            </p>
            <div class="room" inert=true><Score board picture moving/></div>
            <Lines picture/>
        </section>
    }
}

/// What to type, where something is wrong: what goes on by itself needs nobody.
fn typed(view: &View) -> Option<&Command> {
    view.remedy.as_ref().filter(|_| view.verdict.tone == Tone::Bad)
}
