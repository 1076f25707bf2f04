//! How live the page is, in words: a chip in the header, and bars when something is wrong. The last good picture stays.

use leptos::prelude::*;
use timeline::wire::ConnectionState;

use crate::components::banner::Banner;
use crate::connection::{forbidden, state_words, unwritten};
use crate::rollout::board::Board;
use crate::zone::Zone;

/// The chip: live, stale, or as it was.
#[component]
pub fn Chip(
    /// What it follows.
    board: Board,
) -> impl IntoView {
    let zone = Zone::of_page();
    let class = move || match (board.is_stale(), board.time.get().tenths) {
        (true, _) => "chip stale",
        (false, Some(_)) => "chip past",
        (false, None) => "chip live",
    };
    let words = move || match (board.link.get().is_lost(), board.time.get().tenths) {
        (true, _) => "Reconnecting".to_owned(),
        (_, Some(tenths)) => format!("As it was at {}", zone.stamp(tenths * 100)),
        _ if board.is_over => "Recording".to_owned(),
        _ => state_words(&board.connection.read(), zone),
    };
    view! { <span id="chip" class=class role="status" data-testid="live">{words}</span> }
}

/// The bars below the header: no word from the server or the cluster, and what may not be read.
#[component]
pub fn ConnectionBars(
    /// What they follow.
    board: Board,
) -> impl IntoView {
    let zone = Zone::of_page();
    view! {
        <Banner test_id="banner" words=Signal::derive(move || trouble(board, zone).unwrap_or_default())/>
        <Banner test_id="forbidden" words=Signal::derive(move || forbidden(&board.connection.read()))/>
        <Banner test_id="unwritten" words=Signal::derive(move || unkept(board, zone).unwrap_or_default())/>
    }
}

fn unkept(board: Board, zone: Zone) -> Option<String> {
    let said = unwritten(&board.connection.read(), |at_millis| zone.stamp(at_millis))?;
    Some(format!("{said} What happens is still shown."))
}

fn trouble(board: Board, zone: Zone) -> Option<String> {
    let shown = || zone.stamp(board.now_millis());
    if board.link.get().is_lost() {
        let since = shown();
        return Some(format!("No word from Rollcast since {since}. Trying again. What you see is from then."));
    }
    let cluster = board.workload.with(|workload| workload.cluster.clone());
    match &board.connection.read().state {
        ConnectionState::Stale { since_millis, why, .. } => Some(format!(
            "No word from {cluster} since {}: {}. Trying again. What you see is from then.",
            zone.stamp(*since_millis),
            timeline::words::safe(why.trim_end_matches('.'))
        )),
        ConnectionState::Unknown => {
            Some(format!("{} What you see is from {}.", timeline::words::not_watched(&cluster), shown()))
        }
        ConnectionState::Connecting | ConnectionState::Live | ConnectionState::Replay { .. } => None,
    }
}
