//! Connection of the page in words: a chip in the header, and notices for problems. The last picture stays visible.

use leptos::prelude::*;
use timeline::address::at;
use timeline::wire::ConnectionState;

use crate::components::banner::Banner;
use crate::components::copy::CopyButton;
use crate::connection::{
    RECONNECTING, as_it_was, cluster_unreachable, forbidden, loading, next_try, progress, server_unreachable,
    state_words, unwritten,
};
use crate::live::client::Live;
use crate::rollout::board::Board;

/// The chip: live, stale, or as it was at a past moment. It links to the status page.
#[component]
pub fn Chip(board: Board) -> impl IntoView {
    let class = move || match (board.is_stale(), board.time.get().tenths) {
        (true, _) => "chip stale",
        (false, Some(_)) => "chip past",
        (false, None) if board.is_recorded() => "chip recorded",
        (false, None) => "chip live",
    };
    let words = move || match (board.is_linked.get(), board.time.get().tenths) {
        (false, _) => RECONNECTING.to_owned(),
        (_, Some(tenths)) => as_it_was(&board.dated(tenths * 100)),
        _ if board.is_over => "Recording".to_owned(),
        _ => state_words(&board.connection.read(), &|at_millis| board.dated(at_millis)),
    };
    // Screen readers do not announce progress, neither of a replay nor of a first list.
    let is_moving = move || board.time.read().tenths.is_some() || board.connection.read().listing.is_some();
    let is_told = move || if is_moving() { "off" } else { "polite" };
    // A file has no server, so its chip has no link.
    let href = (!board.is_file).then(|| at("/status"));
    view! {
        <a id="chip" class=class href=href rel="external"><span role="status" aria-live=is_told data-testid="live">{words}</span></a>
    }
}

/// The notices below the header: server or cluster not reachable, and missing permissions with a role that grants them.
#[component]
pub fn ConnectionBars(board: Board) -> impl IntoView {
    let retry_seconds = Live::of_app().retry_seconds;
    let next = move || {
        if !board.is_linked.get() {
            return next_try(retry_seconds.get());
        }
        progress(&board.connection.read(), &|at_millis| board.dated(at_millis))
    };
    let unwritten = move || {
        let said = unwritten(&board.connection.read(), &|at_millis| board.dated(at_millis));
        said.map(|said| format!("{said} Live data is still shown.")).unwrap_or_default()
    };
    view! {
        <Banner test_id="banner" words=move || trouble(board).unwrap_or_default() countdown=next/>
        <Banner test_id="forbidden" words=move || forbidden(&board.connection.read())/>
        <Banner test_id="unwritten" words=unwritten/>
        <Role board/>
    }
}

fn trouble(board: Board) -> Option<String> {
    let heard = || board.dated(board.heard_millis.get());
    // Without any earlier data no picture is shown.
    let has_data = board.view.read().is_some();
    if !board.is_linked.get() {
        return Some(server_unreachable(Some(&heard()), has_data));
    }
    let cluster = board.workload.with(|workload| workload.cluster.clone());
    let connection = board.connection.read();
    match &connection.state {
        ConnectionState::Unknown => {
            Some(format!("{} Showing last known data, of {}.", timeline::words::not_watched(&cluster), heard()))
        }
        ConnectionState::OtherNamespaces => {
            let namespace = board.workload.with(|workload| timeline::words::safe(&workload.namespace));
            Some(format!("Rollcast does not watch namespace {namespace}. Showing last known data, of {}.", heard()))
        }
        _ => cluster_unreachable(&cluster, &connection, has_data, &|at_millis| board.dated(at_millis))
            .or_else(|| loading(&cluster, &connection)),
    }
}

const ROLE: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: rollcast
rules:
- apiGroups: [apps]
  resources: [deployments, replicasets]
  verbs: [list, watch]
- apiGroups: [\"\"]
  resources: [pods, events]
  verbs: [list, watch]
";

/// A role that grants everything that Rollcast reads, ready to apply; shown while a permission is missing.
#[component]
fn Role(board: Board) -> impl IntoView {
    let class = move || if board.connection.read().forbidden.is_empty() { "unused" } else { "banner" };
    view! {
        <div id="role" class=class>
            <details>
                <summary>"A role that grants all that Rollcast reads"</summary>
                <pre>{ROLE}</pre>
                <CopyButton text=ROLE/>
            </details>
        </div>
    }
}
