//! The table twin of the score: every pod in view as text, for screen readers.

use leptos::prelude::*;
use timeline::words::safe;

use crate::board::{Board, BandKey};
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
    let revision = Memo::new(move |_| band.with(|band| band.revision.map_or_else(|| "out of rotation".to_owned(), |r| r.to_string())));
    Some(view! {
        <tbody>
            <For each=pods key=|uid| *uid let:uid>
                {board.row(uid).map(|row| {
                    let (name, state, since, reason) = (row.pod.clone(), row.pod.clone(), row.pod.clone(), row.pod);
                    view! {
                        <tr>
                            <td>{name.with_untracked(|pod| pod.name.clone())}</td>
                            <td>{move || revision.get()}</td>
                            <td>{move || state.with(|pod| pod.state().label())}</td>
                            <td>{move || since.with(|pod| clock(pod.since_millis()))}</td>
                            <td>{move || reason.with(|pod| safe(&pod.now.reason))}</td>
                        </tr>
                    }
                })}
            </For>
        </tbody>
    })
}
