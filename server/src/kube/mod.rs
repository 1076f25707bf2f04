//! Lists and watches a cluster through the API of Kubernetes, and translates its objects to facts.
//! Owns credentials, connections to API servers, liveness, decoding, and reviews of permissions.
//! Must not know the hub, the history or the web: it puts events into a queue and does not know who takes them.
//!
//! Where observations come from: a cluster (list, watch, liveness), a simulated one, or a recording. Everything arrives at the
//! hub in one bounded queue, as [`SourceEvent`]s. Where history is stored, a tap stands between the two (`history/tap.rs`).
//!
//! ```text
//!   one task per kind and namespace          one task per cluster
//!   list ─► watch ─► (410, failures) ─► list      liveness probe      (all ask through one `Access`: client and credentials)
//!      └──────────────┴──────────┬───────────────────┘
//!                                ▼
//!                      mpsc "source" (bounded: a slow hub slows the watches down, nothing is dropped)
//! ```

pub mod access;
pub mod backoff;
pub mod check;
pub mod credentials;
pub mod decode;
pub mod kubeconfig;
mod list;
mod liveness;
pub mod loopback;
mod observed;
pub mod odd;
mod plugin;
mod reason;
pub mod request;
pub mod review;
mod stream;
pub mod translate;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use timeline::Millis;
use timeline::fact::{Kind, Seen};
use timeline::wire::Unwritten;
use tokio::sync::{mpsc, watch as signal};
use tracing::Instrument;

use self::access::Access;
use self::liveness::Life;
pub use self::observed::{InitialState, Observed};
use crate::kube::translate::Object;
use crate::telemetry::clock::{Clock, OwnClock};
use crate::telemetry::viewers::Viewers;

/// Capacity of the queue from a cluster's sources to its hub, in events.
pub const QUEUE: usize = 1024;

/// What a source tells the hub. It has no copies: decoded objects are large.
#[derive(Debug)]
pub enum SourceEvent {
    /// A list is complete; known objects of that kind that it lacks are gone.
    Reset {
        /// The kind that it watches.
        kind: Kind,
        /// The namespace it was limited to.
        namespace: Option<String>,
        /// Everything it held, in the server's order.
        objects: Vec<Object>,
        /// For a list after the first: the last word before it. What happened since then was not seen.
        gap_since_millis: Option<Millis>,
        /// When it arrived, in milliseconds of the cluster's time.
        at_millis: Millis,
    },
    /// One object from a watch.
    Object {
        /// The object as it was sent, decoded.
        object: Object,
        /// Whether the watch says that it was added, modified or deleted.
        seen: Seen,
        /// When it arrived, in milliseconds of the cluster's time.
        at_millis: Millis,
    },
    /// One watch is in another state.
    Health {
        /// The kind that it watches.
        kind: Kind,
        /// The namespace that it is limited to; `None` for all.
        namespace: Option<String>,
        /// The state that it is in.
        health: Health,
    },
    /// Whether the cluster answers at all.
    Answers {
        /// `None` while it does; else the time of its last answer and what went wrong.
        silent: Option<(Millis, String)>,
    },
    /// Another timeline begins: nothing of what was known before holds.
    Begins(Box<InitialState>),
    /// A recording is played, and its time passes so from here on. Its observations have their own times.
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
        /// Its line, where the recording is to be kept.
        line: Option<String>,
    },
    /// The source's time passes so from here on, and arrivals are told in it.
    Paced(OwnClock),
    /// Observations are not stored, since when and why; `None` once they are again.
    Unwritten(Option<Unwritten>),
    /// The clock of this machine was set.
    ClockSet {
        /// Forward by so many milliseconds; backward where it is less than nothing.
        by_millis: Millis,
    },
}

/// The state of one watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// The first list is under way.
    Connecting {
        /// Objects that its pages held so far, told once it takes a while.
        listed: usize,
    },
    /// Listed and watching.
    Live,
    /// The API server is silent, refuses, or cannot be reached.
    Stale {
        /// When it last said something, in milliseconds of the cluster's time.
        since_millis: Millis,
        /// When it is tried again, in milliseconds of the cluster's time.
        retry_at_millis: Millis,
        /// What went wrong, in a sentence.
        why: String,
    },
    /// RBAC does not allow it.
    Forbidden {
        /// The verb that is refused: "list" or "watch".
        verb: &'static str,
    },
}

/// What a source counts; shown under `/metrics`.
#[derive(Debug, Default)]
pub struct Counters {
    /// Lists started.
    pub lists: AtomicU64,
    /// Pieces of lists that were read: signs of life.
    pub pieces: AtomicU64,
    /// Watches started.
    pub watches: AtomicU64,
    /// Requests that failed.
    pub failures: AtomicU64,
    /// Objects that could not be decoded and were skipped.
    pub malformed: AtomicU64,
    /// Watch events received.
    pub events: AtomicU64,
}

impl Counters {
    fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Settings of the watch loop. Tests shorten the times.
#[derive(Debug, Clone)]
pub struct Pace {
    /// Objects per page of a list.
    pub page_size: u32,
    /// A watch that ends sooner counts as a failure.
    pub min_watch_lifetime: Duration,
    /// Longest back-off while someone is looking, and otherwise.
    pub max_backoff: [Duration; 2],
    /// First back-off; doubled with every failure.
    pub first_backoff: Duration,
    /// Failures in a row after which the position is given up and everything is listed again.
    pub failures_before_relist: u32,
    /// Requests of one watch that may bring nothing and come at once. A page of a list that brings objects is none of them.
    pub burst: u32,
    /// Time in which one more of those is earned.
    pub earn: Duration,
    /// Time between two liveness probes, also the time that one may take.
    pub probe: Duration,
    /// Silence after which a cluster is stale. Told at the latest one probe later, which together must stay within ten seconds.
    pub silence: Duration,
    /// After this long the server ends a watch. With the margin this is the longest that a connection which died without a word goes
    /// unnoticed while others live.
    pub watch_seconds: u32,
    /// With many namespaces watches last longer, so that all of a cluster together begin at most one a second, but not longer than this.
    pub most_watch_seconds: u32,
    /// Watches that live this long together are told how far they are at least once: API servers do so once a minute, and before they
    /// end a watch.
    pub bookmark: Duration,
    /// A watch that has not ended this long after it should is dead, and is ended on our side.
    pub watch_margin: Duration,
    /// Longest wait for an answer to begin, and for some more of it to come.
    pub answer: Duration,
    /// Longest that one page of a list may take from the request to its last byte.
    pub page: Duration,
    /// Longest that a command which fetches credentials may take, and what else of that may hang.
    pub credentials: Duration,
    /// The same where it asks people.
    pub credentials_interactive: Duration,
    /// First wait after credentials were fetched anew, doubled with every time, and the longest.
    pub renewal: [Duration; 2],
    /// Credentials that take longer than this to get at the start are told as silence.
    pub patience: Duration,
    /// Credentials that could not be had at the start are asked for again after this long.
    pub again: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            page_size: 500,
            min_watch_lifetime: Duration::from_secs(1),
            max_backoff: [Duration::from_secs(5), Duration::from_secs(30)],
            first_backoff: Duration::from_millis(400),
            failures_before_relist: 3,
            // At most 8 + 60/1.2 = 58 requests that bring nothing in any minute: under one a second whatever the server does.
            burst: 8,
            earn: Duration::from_millis(1200),
            probe: Duration::from_secs(3),
            silence: Duration::from_secs(7),
            watch_seconds: 20,
            most_watch_seconds: 110,
            bookmark: Duration::from_secs(90),
            watch_margin: Duration::from_secs(5),
            // An API server gives up a list of its own after 60 s; one that has not begun after half of that is not well.
            answer: Duration::from_secs(30),
            page: Duration::from_secs(120),
            credentials: Duration::from_secs(30),
            credentials_interactive: Duration::from_secs(180),
            renewal: [Duration::from_secs(2), Duration::from_secs(60)],
            patience: Duration::from_secs(8),
            again: Duration::from_secs(20),
        }
    }
}

/// Whether the texts that people and programs of a cluster write are taken from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Texts {
    /// Texts are taken.
    #[default]
    Taken,
    /// Texts are left out before anything else happens to an object: they are on no page, in no history and in no recording.
    LeftOut,
}

impl Texts {
    fn of(self, object: Object) -> Object {
        match self {
            Self::Taken => object,
            Self::LeftOut => object.without_texts(),
        }
    }
}

/// Everything that the sources of one cluster share.
#[derive(Clone)]
pub struct Cluster {
    /// Name of the cluster, for logs.
    pub name: Arc<str>,
    /// The way to its API, with the credentials.
    pub access: Access,
    /// Where events go.
    pub events: mpsc::Sender<SourceEvent>,
    /// How many viewers look at this server.
    pub viewers: Viewers,
    /// What the sources count.
    pub counters: Arc<Counters>,
    /// Times and limits of the watch loop.
    pub pace: Arc<Pace>,
    /// Whether texts that people and programs write are taken.
    pub texts: Texts,
    /// The cluster's time, in which arrivals are told.
    pub clock: signal::Receiver<Clock>,
    /// How often everything that exists was asked for once more; each time it is listed anew.
    pub anew: signal::Receiver<u64>,
}

impl Cluster {
    fn now_millis(&self) -> Millis {
        self.clock.borrow().now_millis()
    }

    /// The same with watches that last as long as so many of them should.
    fn with_watches(&self, watches: usize) -> Self {
        let Pace { watch_seconds, most_watch_seconds, .. } = *self.pace;
        let many = u32::try_from(watches).unwrap_or(u32::MAX).min(most_watch_seconds);
        let pace = Arc::new(Pace { watch_seconds: watch_seconds.max(many), ..(*self.pace).clone() });
        Self { pace, ..self.clone() }
    }
}

/// Starts the watches of a cluster: one task per kind and namespace, and the liveness probe. They end when the hub does.
///
/// All of them are said to be connecting before the first one asks: a cluster is live once the last of them is.
pub fn start(cluster: &Cluster, kinds: &[Kind], namespaces: &[String]) {
    let (life, is_alive) = signal::channel(Life::default());
    let span = tracing::info_span!("cluster", cluster.name = %cluster.name);
    tokio::spawn(liveness::run(cluster.clone(), life).instrument(span.clone()));
    let scopes: Vec<Option<String>> =
        if namespaces.is_empty() { vec![None] } else { namespaces.iter().cloned().map(Some).collect() };
    let cluster = cluster.with_watches(kinds.len() * scopes.len());
    let mut watches = Vec::new();
    for kind in kinds {
        for namespace in &scopes {
            let span = tracing::info_span!(parent: &span, "watch", k8s.kind = kind.name(), k8s.namespace = namespace.as_deref());
            watches.push((watch::Watch::new(cluster.clone(), *kind, namespace.clone(), is_alive.clone()), span));
        }
    }
    tokio::spawn(async move {
        for (watch, _) in &mut watches {
            if watch.connecting().await.is_err() {
                return; // the hub is gone
            }
        }
        for (watch, span) in watches {
            tokio::spawn(watch.run().instrument(span));
        }
    });
}
