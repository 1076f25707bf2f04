//! The table twin of the score: every pod in view as text, for screen readers and whoever prefers it.

use leptos::prelude::*;
use timeline::words::safe;

use crate::address;
use crate::exported::Exported;
use crate::lasting::LastingFor;
use crate::rollout::board::Board;
use crate::rollout::controls::Controls;
use crate::rollout::picture::Picture;
use crate::score::scene::{Listed, TableRow};
use crate::zone::Zone;

/// The pods in view as a table.
#[component]
pub fn PodTable(
    /// The state of the page, for its time and for links.
    board: Board,
    /// The picture whose pods are listed.
    picture: Picture,
) -> impl IntoView {
    let zone = Zone::of_page();
    let caption = move || match picture.listed.get() {
        Listed::All => "Pods in view".to_owned(),
        Listed::NotAvailable { more: 0 } => "Pods in view that are not available".to_owned(),
        Listed::NotAvailable { more } => format!("Pods in view that are not available; {more} more are not listed"),
    };
    let base = board.workload.with_untracked(|workload| address::segment(&workload.name));
    let row = move |key: u128| {
        let base = base.clone();
        picture.table.row(key).map(|row| view! { <PodRow row base/> })
    };
    view! {
        <div class="twin" data-testid="twin">
            <table data-testid="pod-table">
                <caption data-testid="listed">{caption}</caption>
                <thead>
                    <tr><th>"Pod"</th><th>"Revision"</th><th>"State"</th><th>{move || format!("Since ({})", zone.name(board.now_millis()))}</th><th>"Reason"</th></tr>
                </thead>
                <tbody>
                    <LastingFor each=move || picture.table.order() key=|key| *key children=row/>
                </tbody>
            </table>
        </div>
    }
}

/// One pod as a row of the table.
#[component]
fn PodRow(
    /// What the row says of the pod.
    row: ArcRwSignal<TableRow>,
    /// The page of its Deployment, as links beside it see it.
    base: String,
) -> impl IntoView {
    let (zone, controls) = (Zone::of_page(), Controls::of_page());
    let (uid, name) = row.with_untracked(|row| (row.uid, safe(&row.name)));
    let href = if Exported::of_app().is_some() { "#".to_owned() } else { format!("{base}/{}", address::pod(uid)) };
    let open = move |event: web_sys::MouseEvent| {
        if let Some(controls) = controls {
            controls.open_link(&event, address::pod(uid));
        }
    };
    let with = |read: fn(&TableRow) -> String| {
        let row = row.clone();
        move || row.with(read)
    };
    let of = row.clone();
    let since = move || zone.clock(of.read().since_millis);
    view! {
        <tr>
            <td><a href=href on:click=open>{name}</a></td>
            <td>{with(|row| row.revision.clone())}</td>
            <td>{with(|row| row.state.label().to_owned())}</td>
            <td>{since}</td>
            <td>{with(|row| safe(&row.reason))}</td>
        </tr>
    }
}
