//! How live the page is, in words: a chip in the header, and a bar when something is wrong. The last good picture stays.

use leptos::prelude::*;
use timeline::frame::{Connection, ConnectionState, Forbidden};

use super::text;
use crate::board::Board;
use crate::live::link::LinkState;
use timeline::words::clock;

/// The state of a cluster's connection in a word or two.
#[must_use]
pub fn state_words(state: &ConnectionState) -> String {
    match state {
        ConnectionState::Connecting => "Connecting".to_owned(),
        ConnectionState::Live => "Live".to_owned(),
        ConnectionState::Stale { since_millis, .. } => format!("Stale since {} UTC", clock(*since_millis)),
        ConnectionState::Replay { speed_percent: 0, .. } => "Recording, held".to_owned(),
        ConnectionState::Replay { speed_percent: 100, .. } => "Recording".to_owned(),
        ConnectionState::Replay { speed_percent, .. } => format!("Recording at {speed_percent} %"),
    }
}

/// The chip in the header.
#[component]
pub fn LiveChip(
    /// The page's state.
    board: Board,
) -> impl IntoView {
    let is_stale = {
        let board = board.clone();
        let class = move || match (board.is_stale(), board.time.get().tenths) {
            (true, _) => "chip stale",
            (false, Some(_)) => "chip past",
            (false, None) => "chip live",
        };
        text(move || class().to_owned())
    };
    let words = text(move || match (board.link.get(), board.time.get().tenths) {
        (LinkState::Waiting { .. } | LinkState::Lost { .. }, _) => "Reconnecting".to_owned(),
        (_, Some(tenths)) => format!("As it was at {} UTC", clock(tenths * 100)),
        _ => board.connection.with(|connection| state_words(&connection.state)),
    });
    view! { <span class=is_stale role="status" data-testid="live">{words}</span> }
}

/// The bar that says what is wrong; nothing when all is well.
#[component]
pub fn ConnectionBar(
    /// The page's state.
    board: Board,
) -> impl IntoView {
    let connection = board.connection.clone();
    let missing = text(move || connection.with(forbidden));
    let words = text(move || trouble(&board).unwrap_or_default());
    view! {
        <Banner words id="banner"/>
        <Banner words=missing id="forbidden"/>
    }
}

/// A bar that says something; not there while there is nothing to say.
#[component]
pub fn Banner(
    /// What it says.
    words: Signal<String>,
    /// Name for tests.
    id: &'static str,
) -> impl IntoView {
    let class = text(move || if words.with(String::is_empty) { "unused" } else { "banner" }.to_owned());
    view! { <div class=class role="status" data-testid=id>{words}</div> }
}

/// What Rollcast may not read, and what to ask for; empty when it may read everything.
#[must_use]
pub fn forbidden(connection: &Connection) -> String {
    connection.forbidden.iter().map(may_not).collect::<Vec<_>>().join(" ")
}

fn may_not(missing: &Forbidden) -> String {
    let place = missing
        .namespace
        .as_ref()
        .map_or_else(|| "all namespaces".to_owned(), |namespace| format!("namespace {namespace}"));
    let hint = if missing.namespace.is_none() { " Or name the namespaces you may read with --namespace." } else { "" };
    format!(
        "Rollcast may not {} {} in {place}. Ask for: get, list, watch on {}.{hint}",
        missing.verb, missing.resource, missing.resource
    )
}

fn trouble(board: &Board) -> Option<String> {
    let second = board.second.get();
    match board.link.get() {
        LinkState::Waiting { .. } | LinkState::Lost { .. } => {
            return Some(format!(
                "No word from Rollcast since {} UTC. Trying again. What you see is from then.",
                clock(second * 1000)
            ));
        }
        LinkState::Connecting { .. } | LinkState::Live { .. } => {}
    }
    board.connection.with(|connection| match &connection.state {
        ConnectionState::Stale { since_millis, why, .. } => Some(format!(
            "No word from {} since {} UTC: {}. Trying again. What you see is from then.",
            board.place.cluster,
            clock(*since_millis),
            timeline::words::safe(why.trim_end_matches('.'))
        )),
        _ => None,
    })
}
