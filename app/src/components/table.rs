//! The table twin of the score: every pod in view as text, for screen readers.

use leptos::prelude::*;
use timeline::model::Pod;
use timeline::words::safe;

use super::text;
use crate::board::{BandKey, Board};
use crate::score::scale::clock;

/// The table.
#[component]
pub fn PodTable(
    /// The page's state.
    board: Board,
) -> impl IntoView {
    let order = board.order.clone();
    view! {
        <table class="twin" data-testid="pod-table">
            <caption>"Pods in view"</caption>
            <thead><tr><th>"Pod"</th><th>"Revision"</th><th>"State"</th><th>"Since (UTC)"</th><th>"Reason"</th></tr></thead>
            <For each=move || order.get() key=|key| *key let:key>
                <BandRows board=board.clone() key/>
            </For>
        </table>
    }
}

#[component]
fn BandRows(board: Board, key: BandKey) -> impl IntoView {
    let band = board.band(key)?.band;
    let pods = {
        let band = band.clone();
        move || band.with(|band| band.pods.iter().map(|(uid, _)| *uid).collect::<Vec<_>>())
    };
    let revision = text(move || {
        band.with(|band| {
            band.revision
                .map_or_else(|| "out of rotation".to_owned(), |r| r.to_string())
        })
    });
    Some(view! {
        <tbody>
            <For each=pods key=|uid| *uid let:uid>
                {board.row(uid).map(|row| {
                    let cell = |read: fn(&Pod) -> String| {
                        let pod = row.pod.clone();
                        text(move || pod.with(read))
                    };
                    view! {
                        <tr>
                            <td>{cell(|pod| safe(&pod.name))}</td>
                            <td>{revision}</td>
                            <td>{cell(|pod| pod.state().label().to_owned())}</td>
                            <td>{cell(|pod| clock(pod.since_millis()))}</td>
                            <td>{cell(|pod| safe(&pod.now.reason))}</td>
                        </tr>
                    }
                })}
            </For>
        </tbody>
    })
}
