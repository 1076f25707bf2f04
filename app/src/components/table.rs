//! The table twin of the score: every pod in view as text, for screen readers.

use leptos::prelude::*;
use timeline::Uid;
use timeline::model::Pod;
use timeline::words::safe;

use super::lists::{Bands, Part, Pods};
use super::text;
use crate::board::{BandKey, Board};
use crate::score::scale::clock;

/// The table.
#[component]
pub fn PodTable(
    /// The page's state.
    board: Board,
) -> impl IntoView {
    view! {
        <table class="twin" data-testid="pod-table">
            <caption>"Pods in view"</caption>
            <thead><tr><th>"Pod"</th><th>"Revision"</th><th>"State"</th><th>"Since (UTC)"</th><th>"Reason"</th></tr></thead>
            <Bands board part=Part::Table/>
        </table>
    }
}

/// The rows of one band.
#[component]
pub(super) fn BandRows(board: Board, key: BandKey) -> impl IntoView {
    view! { <tbody><Pods board key part=Part::Table/></tbody> }
}

/// The row of one pod.
#[component]
pub(super) fn PodRow(board: Board, key: BandKey, uid: Uid) -> impl IntoView {
    let (band, row) = (board.band(key)?.band, board.row(uid)?);
    let revision =
        text(move || band.with(|band| band.revision.map_or_else(|| "out of rotation".to_owned(), |r| r.to_string())));
    let cell = |read: fn(&Pod) -> String| {
        let pod = row.pod.clone();
        text(move || pod.with(read))
    };
    Some(view! {
        <tr>
            <td>{cell(|pod| safe(&pod.name))}</td>
            <td>{revision}</td>
            <td>{cell(|pod| pod.state().label().to_owned())}</td>
            <td>{cell(|pod| clock(pod.since_millis()))}</td>
            <td>{cell(|pod| safe(&pod.now.reason))}</td>
        </tr>
    })
}
