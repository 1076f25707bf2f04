//! How live the page is, in words: a chip in the header, and a bar when something is wrong. The last good picture stays.

use leptos::prelude::*;
use timeline::frame::{Connection, ConnectionState, Forbidden};

use super::slots::Slots;
use crate::address;
use crate::board::{Board, Place};
use crate::live::link::LinkState;
use timeline::words::clock;

/// The state of a cluster's connection in a word or two.
#[must_use]
pub fn state_words(connection: &Connection) -> String {
    let at_speed = |words: &str| match connection.speed_percent {
        0 => format!("{words}, held"),
        100 => words.to_owned(),
        percent => format!("{words} at {percent} %"),
    };
    match &connection.state {
        ConnectionState::Connecting => "Connecting".to_owned(),
        ConnectionState::Live => at_speed("Live"),
        ConnectionState::Stale { since_millis, .. } => format!("Stale since {} UTC", clock(*since_millis)),
        ConnectionState::Replay { .. } => at_speed("Recording"),
        ConnectionState::Unknown => "Not watched".to_owned(),
    }
}

/// What the chip in the header and the bars below it say.
pub fn slots(board: &Board, slots: &mut Slots) {
    let of = board.clone();
    slots.attribute("chip", "class", move || {
        let class = match (of.is_stale(), of.time.get().tenths) {
            (true, _) => "chip stale",
            (false, Some(_)) => "chip past",
            (false, None) => "chip live",
        };
        class.to_owned()
    });
    let of = board.clone();
    slots.text("chip", move || match (of.link.get(), of.time.get().tenths) {
        (LinkState::Waiting { .. } | LinkState::Lost { .. }, _) => "Reconnecting".to_owned(),
        (_, Some(tenths)) => format!("As it was at {} UTC", clock(tenths * 100)),
        _ => of.connection.with(state_words),
    });
    let of = board.clone();
    banner(slots, "banner", move || trouble(&of).unwrap_or_default());
    let connection = board.connection.clone();
    banner(slots, "forbidden", move || connection.with(forbidden));
    let connection = board.connection.clone();
    slots.attribute("role", "class", move || {
        if connection.with(|known| known.forbidden.is_empty()) { "unused" } else { "banner" }.to_owned()
    });
    linked(board, slots);
    let view = board.view.clone();
    banner(slots, "notice", move || {
        view.with(|view| view.as_ref().map(|view| view.notice.clone()).unwrap_or_default())
    });
}

/// What a link to a revision says once that is not the current one any more.
fn linked(board: &Board, slots: &mut Slots) {
    let of = board.clone();
    let words = move || {
        let (wanted, current) = (of.place.revision?, of.current.get()?);
        let shown = of.view.with(|view| view.as_ref().and_then(|view| view.revision));
        let is_there = shown == Some(wanted);
        let words = match (wanted == current, is_there, of.time.get().tenths) {
            (true, ..) => return None,
            (false, true, Some(tenths)) => {
                format!(
                    "You are looking at revision {wanted}, as it was at {} UTC. Revision {current} is live now.",
                    clock(tenths * 100)
                )
            }
            _ => format!("This link is to revision {wanted}. Revision {current} is live now."),
        };
        Some(words)
    };
    let says = words.clone();
    slots.attribute("linked", "class", move || if says().is_some() { "banner quiet" } else { "unused" }.to_owned());
    slots.text("linked-words", move || words().unwrap_or_default());
    let of = board.clone();
    slots.text("linked-to", move || {
        let is_past = of.time.get().tenths.is_some();
        match (is_past, of.place.revision, of.current.get()) {
            (true, _, Some(current)) => format!("Look at revision {current}"),
            (false, Some(wanted), _) => format!("Look at revision {wanted}"),
            _ => String::new(),
        }
    });
    let of = board.clone();
    slots.attribute("linked-to", "href", move || {
        let Place { cluster, namespace, name, uid, revision } = &*of.place;
        let page = address::deployment(cluster, namespace, name);
        let uid = uid.map(|uid| format!("uid={uid}&")).unwrap_or_default();
        match (of.time.get().tenths, revision) {
            (None, Some(revision)) => format!("{page}?{uid}revision={revision}"),
            _ => format!("{page}?{}", uid.trim_end_matches('&')),
        }
    });
    let view = board.view.clone();
    let is_succeeded = move || view.with(|view| view.as_ref().is_some_and(|view| view.is_succeeded));
    slots.attribute("successor", "class", move || if is_succeeded() { "banner quiet" } else { "unused" }.to_owned());
}

/// The bars that say what became of a link, each with where to go.
#[cfg(feature = "ssr")]
pub fn link_bars(board: &Board, slots: &Slots) -> impl IntoView + use<> {
    let Place { cluster, namespace, name, .. } = &*board.place;
    view! {
        <div id="linked" class=slots.attribute_now("linked", "class") role="status" data-testid="linked">
            <span id="linked-words">{slots.now("linked-words")}</span>" "
            <a id="linked-to" href=slots.attribute_now("linked-to", "href")>{slots.now("linked-to")}</a>
        </div>
        {bar(slots, "notice", "notice")}
        <div id="successor" class=slots.attribute_now("successor", "class")>
            <a href=address::deployment(cluster, namespace, name) data-testid="successor">"Look at the one that has the name now"</a>
        </div>
    }
}

/// What grants all that Rollcast reads, ready to apply.
#[cfg(feature = "ssr")]
const ROLE: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: rollcast
rules:
- apiGroups: [apps]
  resources: [deployments, replicasets]
  verbs: [get, list, watch]
- apiGroups: [\"\"]
  resources: [pods, events]
  verbs: [get, list, watch]
";

/// The button that copies the role, shown while something is forbidden.
#[cfg(feature = "ssr")]
pub fn role(slots: &Slots) -> impl IntoView + use<> {
    view! {
        <div id="role" class=slots.attribute_now("role", "class")>
            <details><summary>"A role that grants all that Rollcast reads"</summary><pre>{ROLE}</pre><button data-copy=ROLE>"Copy"</button></details>
        </div>
    }
}

/// A bar that says something; not there while there is nothing to say.
pub fn banner(slots: &mut Slots, id: &str, words: impl Fn() -> String + Clone + Send + Sync + 'static) {
    let says = words.clone();
    slots.attribute(id, "class", move || if says().is_empty() { "unused" } else { "banner" }.to_owned());
    slots.text(id, words);
}

/// A bar.
#[cfg(feature = "ssr")]
pub fn bar(slots: &Slots, id: &str, test_id: &'static str) -> impl IntoView + use<> {
    let class = slots.attribute_now(id, "class");
    view! { <div id=id.to_owned() class=class role="status" data-testid=test_id>{slots.now(id)}</div> }
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
        ConnectionState::Unknown => Some(format!(
            "{} What you see is from {} UTC.",
            timeline::words::not_watched(&board.place.cluster),
            clock(second * 1000)
        )),
        ConnectionState::Connecting | ConnectionState::Live | ConnectionState::Replay { .. } => None,
    })
}
