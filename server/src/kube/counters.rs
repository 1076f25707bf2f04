//! Counters of the sources of one cluster, in total and by kind; shown under `/metrics` and on the status page.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use timeline::Millis;
use timeline::fact::Kind;
use tokio::time::Instant;

use crate::telemetry::panics::locked;

/// Counters of the sources of one cluster.
#[derive(Debug, Default)]
pub struct Counters {
    /// Lists started.
    pub lists: AtomicU64,
    /// Watches started.
    pub watches: AtomicU64,
    /// Requests that failed.
    pub failures: AtomicU64,
    /// Start of the sources, in milliseconds of the cluster's time; 0 if nothing is watched.
    started_millis: AtomicI64,
    /// Last response of the cluster; 0 before the first one.
    heard_millis: AtomicI64,
    /// Arrival of the last piece of a list, which proves that the cluster responds: by this machine's and by the cluster's clock.
    piece: Mutex<Option<(Instant, Millis)>>,
    kinds: ByKind<KindCounters>,
}

/// One value for each kind.
#[derive(Debug, Default)]
pub struct ByKind<T>([T; 4]);

impl<T> ByKind<T> {
    /// Returns the value of one kind.
    pub const fn get(&self, kind: Kind) -> &T {
        let [deployments, replica_sets, pods, events] = &self.0;
        match kind {
            Kind::Deployment => deployments,
            Kind::ReplicaSet => replica_sets,
            Kind::Pod => pods,
            Kind::Event => events,
        }
    }
}

/// Counters of the watches of one kind, in all namespaces together.
#[derive(Debug, Default)]
pub struct KindCounters {
    /// Watch events received.
    pub events: AtomicU64,
    /// Objects that could not be decoded and were skipped.
    pub malformed: AtomicU64,
    /// Watches started again because the one before failed or its connection was lost.
    pub restarts: AtomicU64,
    /// Arrival of the last watch event, in milliseconds of the cluster's time; 0 before the first one.
    last_event_millis: AtomicI64,
    relists: [AtomicU64; RelistReason::ALL.len()],
}

/// Reason for a new list of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelistReason {
    /// The API server no longer had the resource version of the watch.
    Expired,
    /// Watches failed several times in a row, or were refused.
    Failed,
    /// Watches ended without an event or a bookmark.
    Mute,
    /// The history restarts and needs every existing object.
    Requested,
    /// The cluster has another address or another certificate authority.
    Moved,
}

impl RelistReason {
    /// Every reason, with its name in the metrics.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Expired, "expired"),
        (Self::Failed, "failed"),
        (Self::Mute, "mute"),
        (Self::Requested, "requested"),
        (Self::Moved, "moved"),
    ];
}

impl Counters {
    pub(super) fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the counters of one kind.
    pub const fn kind(&self, kind: Kind) -> &KindCounters {
        self.kinds.get(kind)
    }

    /// Records the start of the sources.
    pub fn note_start(&self, at_millis: Millis) {
        let _ = self.started_millis.compare_exchange(0, at_millis, Ordering::Relaxed, Ordering::Relaxed); // only the first start counts
    }

    pub(super) fn note_response(&self, at_millis: Millis) {
        self.heard_millis.store(at_millis, Ordering::Relaxed);
    }

    pub(super) fn note_piece(&self, at_millis: Millis) {
        self.note_response(at_millis);
        *locked(&self.piece) = Some((Instant::now(), at_millis));
    }

    pub(super) fn last_piece(&self) -> Option<(Instant, Millis)> {
        *locked(&self.piece)
    }

    /// Returns the start of the sources; `None` if nothing is watched.
    pub fn started_millis(&self) -> Option<Millis> {
        Some(self.started_millis.load(Ordering::Relaxed)).filter(|at_millis| *at_millis != 0)
    }

    /// Returns the time of the cluster's last response; `None` before the first one.
    pub fn heard_millis(&self) -> Option<Millis> {
        Some(self.heard_millis.load(Ordering::Relaxed)).filter(|at_millis| *at_millis != 0)
    }
}

impl KindCounters {
    pub(super) fn note_event(&self, at_millis: Millis) {
        Counters::add(&self.events);
        self.last_event_millis.store(at_millis, Ordering::Relaxed);
    }

    pub(super) fn note_relist(&self, reason: RelistReason) {
        if let Some(count) = self.relists.get(reason as usize) {
            Counters::add(count);
        }
    }

    /// Returns the arrival of the last watch event; `None` before the first one.
    pub fn last_event_millis(&self) -> Option<Millis> {
        Some(self.last_event_millis.load(Ordering::Relaxed)).filter(|at_millis| *at_millis != 0)
    }

    /// Returns the number of new lists of the kind for that reason.
    pub fn relists(&self, reason: RelistReason) -> u64 {
        self.relists.get(reason as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }
}
