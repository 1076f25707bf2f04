//! The lists that several parts of the page follow: the bands, and the pods of a band. Each part draws something else for
//! the same list. The code that keeps a list in order is generated per kind of list, so there is one of each here.

use leptos::either::{EitherOf3, EitherOf4};
use leptos::prelude::*;

use super::score::{BandBars, BandHeads, Beside, Head, PodBars};
use super::table::{BandRows, PodRow};
use crate::board::{BandKey, Board};

/// A part of the page that follows the lists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The words in the gutter.
    Gutter,
    /// The bars in the picture.
    Bars,
    /// The heads right of the now line.
    Heads,
    /// The table twin.
    Table,
}

/// Every band, in order, as one part draws it.
#[component]
pub fn Bands(
    /// The page's state.
    board: Board,
    /// Who draws.
    part: Part,
) -> impl IntoView {
    let order = board.order.clone();
    let draw = move |key: BandKey| {
        let board = board.clone();
        match part {
            Part::Gutter => EitherOf4::A(view! { <Beside board key/> }),
            Part::Bars => EitherOf4::B(view! { <BandBars board key/> }),
            Part::Heads => EitherOf4::C(view! { <BandHeads board key/> }),
            Part::Table => EitherOf4::D(view! { <BandRows board key/> }),
        }
    };
    view! { <For each=move || order.get() key=|key| *key children=draw/> }
}

/// Every pod of a band, in order, as one part draws it.
#[component]
pub fn Pods(
    /// The page's state.
    board: Board,
    /// Whose pods.
    key: BandKey,
    /// Who draws; the gutter draws no pods.
    part: Part,
) -> impl IntoView {
    let band = board.band(key)?.band;
    let uids = move || band.with(|band| band.pods.iter().map(|(uid, _)| *uid).collect::<Vec<_>>());
    let draw = move |uid| {
        let board = board.clone();
        match part {
            Part::Bars => EitherOf3::A(view! { <PodBars board key uid/> }),
            Part::Table => EitherOf3::B(view! { <PodRow board key uid/> }),
            Part::Heads | Part::Gutter => EitherOf3::C(view! { <Head board key uid/> }),
        }
    };
    Some(view! { <For each=uids key=|uid| *uid children=draw/> })
}
