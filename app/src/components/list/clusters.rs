//! The clusters, the state of each connection, and a link to the list of each. Many clusters are in a menu, except for some that are in
//! trouble.

use leptos::prelude::*;
use timeline::address;
use timeline::address::at;
use timeline::wire::{Connection, ConnectionState};
use timeline::words::safe;

use crate::connection::{RECONNECTING, state_words};
use crate::list::board::ListBoard;
use crate::scoped::ScopedFor;
use crate::zone::Zone;

/// Maximum number of clusters with a chip each in the header; more are in a menu.
const FEW: usize = 3;
/// Maximum number of clusters in trouble that have a chip beside the menu.
const MOST_TROUBLED: usize = 2;

/// A chip for each cluster: the state of its connection, and a link to its list.
#[component]
pub fn Clusters(board: ListBoard) -> impl IntoView {
    // A server that was restarted may watch other clusters.
    let names = Memo::new(move |_| {
        let overall = board.overall.read();
        overall.clusters.iter().map(|cluster| (cluster.name.clone(), cluster.accent)).collect::<Vec<_>>()
    });
    let is_many = Memo::new(move |_| names.read().len() > FEW);
    let troubled = Memo::new(move |_| {
        let overall = board.overall.read();
        let bad = overall.clusters.iter().filter(|cluster| !cluster.connection.state.is_live() && is_many.get());
        bad.take(MOST_TROUBLED).map(|cluster| (cluster.name.clone(), cluster.accent)).collect::<Vec<_>>()
    });
    let states = Memo::new(move |_| {
        let (overall, is_linked) = (board.overall.read(), board.is_linked.get());
        let well = overall.clusters.iter().filter(|cluster| is_linked && cluster.connection.state.is_live()).count();
        let first = overall.clusters.first().map(|cluster| &cluster.connection.state);
        (overall.clusters.len(), well, matches!(first, Some(ConnectionState::Replay { .. })))
    });
    let menu = move || {
        let (all, well, is_recorded) = states.get();
        let (class, words) = match (all - well, is_recorded) {
            (0, true) => ("chip recorded", format!("{all} recordings")),
            (0, false) => ("chip live", format!("{all} clusters, all live")),
            (other, _) => ("chip stale", format!("{all} clusters, {other} not live")),
        };
        view! { <button type="button" class=class popovertarget="clusters" data-testid="clusters">{words}</button> }
    };
    let chip = move |(name, accent): (String, u8)| view! { <ClusterChip board name accent/> };
    view! {
        <nav class="clusters" aria-label="Clusters">
            <ScopedFor each=move || troubled.get() children=chip/>
            {move || is_many.get().then(menu)}
            <div id="clusters" class="chips" popover=move || is_many.get().then_some("auto")>
                <ScopedFor each=move || names.get() children=chip/>
                {move || is_many.get().then(|| view! { <a class="chip past" href=at("/status") rel="external">"Status of all clusters"</a> })}
            </div>
        </nav>
    }
}

/// The chip of one cluster; `accent` is the number of its colour, 0 for none.
#[component]
fn ClusterChip(board: ListBoard, name: String, accent: u8) -> impl IntoView {
    let zone = Zone::of_page();
    let known = name.clone();
    let connection = Memo::new(move |_| {
        let overall = board.overall.read();
        overall.clusters.iter().find(|cluster| cluster.name == known).map(|cluster| cluster.connection.clone())
    });
    let class = move || match connection.read().as_ref().map(|connection: &Connection| &connection.state) {
        Some(_) if !board.is_linked.get() => "chip stale",
        Some(ConnectionState::Replay { .. }) => "chip recorded",
        Some(state) if state.is_live() => "chip live",
        Some(ConnectionState::Connecting) => "chip past",
        Some(_) => "chip stale",
        None => "unused",
    };
    let state = move || match connection.read().as_ref() {
        Some(_) if !board.is_linked.get() => RECONNECTING.to_owned(),
        Some(connection) => state_words(connection, &|at| zone.stamp(at)),
        None => String::new(),
    };
    let asked = name.clone();
    let is_chosen = move || (board.query.read().cluster.as_ref() == Some(&asked)).then_some("true");
    view! {
        <a class=class href=address::cluster(&name) aria-current=is_chosen title=safe(&name) data-testid="cluster">
            <i class=format!("accent accent-{accent}")></i><span class="cluster-name">{safe(&name)}</span>" "<span class="muted">{state}</span>
        </a>
    }
}
