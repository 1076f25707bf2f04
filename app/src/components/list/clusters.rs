//! The clusters, how each is reached, and a way to its own list.

use leptos::prelude::*;
use timeline::wire::{Connection, ConnectionState};
use timeline::words::safe;

use crate::address;
use crate::connection::state_words;
use crate::list::board::ListBoard;
use crate::zone::Zone;

/// A chip for each cluster: how it is reached, and a link to its own list.
#[component]
pub fn Clusters(
    /// The state of the list's page, which this follows.
    board: ListBoard,
) -> impl IntoView {
    // A server that was started again may watch other clusters.
    let names = Memo::new(move |_| {
        let overall = board.overall.read();
        overall.clusters.iter().map(|cluster| (cluster.name.clone(), cluster.accent)).collect::<Vec<_>>()
    });
    view! {
        <nav class="clusters" aria-label="Clusters">
            <For each=move || names.get() key=Clone::clone let((name, accent))>
                <ClusterChip board name accent/>
            </For>
        </nav>
    }
}

/// The chip of one cluster.
#[component]
fn ClusterChip(
    board: ListBoard,
    /// The cluster's name, as addresses have it.
    name: String,
    /// The number of the cluster's accent colour; 0 for none.
    accent: u8,
) -> impl IntoView {
    let zone = Zone::of_page();
    let known = name.clone();
    let connection = Memo::new(move |_| {
        let overall = board.overall.read();
        overall.clusters.iter().find(|cluster| cluster.name == known).map(|cluster| cluster.connection.clone())
    });
    let class = move || match connection.read().as_ref().map(|connection: &Connection| &connection.state) {
        Some(state) if state.is_live() => "chip live",
        Some(ConnectionState::Connecting) => "chip past",
        Some(_) => "chip stale",
        None => "unused",
    };
    let state = move || connection.read().as_ref().map(|connection| state_words(connection, zone)).unwrap_or_default();
    let asked = name.clone();
    let is_chosen = move || (board.query.read().cluster.as_ref() == Some(&asked)).then_some("true");
    view! {
        <a class=class href=address::cluster(&name) aria-current=is_chosen data-testid="cluster">
            <i class=format!("accent accent-{accent}")></i><span>{safe(&name)}</span>" "<span class="muted">{state}</span>
        </a>
    }
}
