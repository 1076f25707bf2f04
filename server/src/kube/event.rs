//! Events of a source, as they arrive in the queue of the hub.

use timeline::fact::{Kind, Seen};
use timeline::wire::Unwritten;
use timeline::{Millis, Uid};
use tokio::sync::OwnedSemaphorePermit;

use super::observed::{InitialState, Observed};
use super::translate::Object;
use crate::telemetry::clock::OwnClock;

/// Capacity of the queue from a cluster's sources to its hub, in events.
pub const QUEUE: usize = 1024;

/// An event of a source. Not `Clone`, because decoded objects are large.
#[derive(Debug)]
pub enum SourceEvent {
    /// A page of a list, not the last one.
    Page {
        /// The kind that is listed.
        kind: Kind,
        /// The namespace that the list is limited to.
        namespace: Option<String>,
        /// The objects of the page, in the server's order.
        objects: Vec<Object>,
        /// Arrival, in milliseconds of the cluster's time.
        at_millis: Millis,
        /// Limits the pages in queues: dropped when the event is applied.
        permit: OwnedSemaphorePermit,
    },
    /// A list is complete; known objects of that kind that it lacks are gone.
    Reset {
        /// The kind that it watches.
        kind: Kind,
        /// The namespace it was limited to.
        namespace: Option<String>,
        /// UIDs of the pages before this one.
        earlier: Vec<Uid>,
        /// The objects of its last page, in the server's order.
        objects: Vec<Object>,
        /// For a list after the first: time of the last response before it. Events since then were not observed.
        gap_since_millis: Option<Millis>,
        /// Arrival, in milliseconds of the cluster's time.
        at_millis: Millis,
    },
    /// One object from a watch.
    Object {
        /// The decoded object.
        object: Object,
        /// The watch event: added, modified or deleted.
        seen: Seen,
        /// Arrival, in milliseconds of the cluster's time.
        at_millis: Millis,
    },
    /// The state of one watch changed.
    Health {
        /// The kind that it watches.
        kind: Kind,
        /// The namespace that it is limited to; `None` for all.
        namespace: Option<String>,
        /// The new state.
        health: Health,
    },
    /// The cluster started or stopped responding.
    Answers {
        /// `None` if it responds; otherwise the time of its last response and the error.
        silent: Option<(Millis, String)>,
    },
    /// Another timeline begins: all earlier state is dropped.
    Begins(Box<InitialState>),
    /// Playback of a recording begins, and time follows its clock from now on. Its observations have their own times.
    Played {
        /// Name of the recording.
        name: String,
        /// The time of the recording.
        clock: OwnClock,
    },
    /// An observation of a recording.
    Recorded {
        /// The fact and its arrival.
        observed: Box<Observed>,
        /// Its line, if the recording is stored.
        line: Option<String>,
    },
    /// The source's time follows this clock from now on; arrivals are in its time.
    Paced(OwnClock),
    /// Observations are not stored: start and reason; `None` once they are stored again.
    Unwritten(Option<Unwritten>),
    /// The clock of this machine was set.
    ClockSet {
        /// Milliseconds forward; negative for backward.
        by_millis: Millis,
    },
}

/// The state of one watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// The first list is in progress.
    Connecting {
        /// Objects of its pages so far, reported if the list takes long.
        listed: usize,
    },
    /// Listed and watching.
    Live,
    /// The API server does not respond, rejects requests, or is unreachable.
    Stale {
        /// Time of its last response, in milliseconds of the cluster's time.
        since_millis: Millis,
        /// Time of the next attempt, in milliseconds of the cluster's time; `None` while one is in progress.
        retry_at_millis: Option<Millis>,
        /// The error, in a sentence.
        why: String,
    },
    /// RBAC does not allow it.
    Forbidden {
        /// The refused verb: "list" or "watch".
        verb: &'static str,
    },
}
