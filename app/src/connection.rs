//! How a connection to a cluster is told, in words.

use timeline::Millis;
use timeline::wire::{Connection, ConnectionState, Forbidden};
use timeline::words::safe;

use crate::zone::Zone;

/// The state of a cluster's connection in a word or two.
#[must_use]
pub fn state_words(connection: &Connection, zone: Zone) -> String {
    let at_speed = |words: &str| match connection.speed_percent {
        0 => format!("{words}, held"),
        100 => words.to_owned(),
        percent => format!("{words} at {percent} %"),
    };
    match &connection.state {
        ConnectionState::Connecting => "Connecting".to_owned(),
        ConnectionState::Live => at_speed("Live"),
        ConnectionState::Stale { since_millis, .. } => format!("Stale since {}", zone.stamp(*since_millis)),
        ConnectionState::Replay { .. } => at_speed("Recording"),
        ConnectionState::Unknown => "Not watched".to_owned(),
    }
}

/// What Rollcast may not read, and what to ask for; empty when it may read everything.
#[must_use]
pub fn forbidden(connection: &Connection) -> String {
    connection.forbidden.iter().map(may_not).collect::<Vec<_>>().join(" ")
}

/// That what is observed is not written down at present; `None` while it is.
#[must_use]
pub fn unwritten(connection: &Connection, stamp: impl FnOnce(Millis) -> String) -> Option<String> {
    let unwritten = connection.unwritten.as_ref()?;
    let why = safe(unwritten.why.trim_end_matches('.'));
    Some(format!("History is not written since {}: {why}.", stamp(unwritten.since_millis)))
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
