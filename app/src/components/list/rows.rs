//! The rows of the list: those in view and a few more, with room for the others before and after.

use leptos::either::{Either, EitherOf3};
use leptos::prelude::*;

use super::row::Row;
use crate::browser::placed;
use crate::list::board::{ListBoard, Slot};
use crate::list::row::Heading;
use crate::numbers::fixed;
use crate::scoped::ScopedFor;

/// The headings and rows that are made, between room for those that are not.
#[component]
pub fn ListRows(
    /// The state of the list's page, which this follows.
    board: ListBoard,
) -> impl IntoView {
    let room = |px: RwSignal<f64>| Signal::derive(move || format!("height:{}px", fixed(px.get())));
    let (before, after) = (room(board.before_px), room(board.after_px));
    let row = move |slot: Slot| match slot {
        Slot::Head(index) => EitherOf3::A(board.heads.row(index as u128).map(|heading| view! { <Head heading/> })),
        Slot::Row(key) => EitherOf3::B(board.rows.row(key).map(|row| view! { <Row board key row/> })),
        Slot::Coming(_) => EitherOf3::C(view! { <div class="line"></div> }),
    };
    view! {
        <div class="rows" id="rows" node_ref=board.element>
            <div class="room" aria-hidden="true" use:placed=before></div>
            <ScopedFor each=move || board.slots.get() key=|slot| *slot children=row/>
            <div class="room" aria-hidden="true" use:placed=after></div>
        </div>
    }
}

/// A heading between the rows of the list, and how many rows follow it.
#[component]
fn Head(heading: ArcRwSignal<Heading>) -> impl IntoView {
    let heading: ReadSignal<Heading> = heading.read_only().into();
    let words = move || {
        let Heading { words, address, .. } = heading.get();
        match address {
            Some(address) => Either::Left(view! { <a href=address>{words}</a> }),
            None => Either::Right(words),
        }
    };
    view! {
        <h2 class="group" data-testid="head"><b>{words}</b>" "{move || heading.read().rows}</h2>
    }
}
