//! Counters of a hub.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use prometheus_client::metrics::histogram::Histogram;
use timeline::Millis;

use super::rollout_durations::RolloutDurations;
use crate::kube::ByKind;

/// Upper bounds of the lags that are counted together, in seconds.
const BOUNDS: [f64; 9] = [0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 20.0, 60.0];

/// Counters of a hub, shown under `/metrics`.
#[derive(Debug, Default)]
pub struct HubCounters {
    /// Facts applied.
    pub facts: AtomicU64,
    /// Objects with missing or contradictory fields that were used as far as they go.
    pub odd: AtomicU64,
    /// Changes published.
    pub changes: AtomicU64,
    /// Frames encoded.
    pub frames: AtomicU64,
    /// Frames that viewers who fell behind did not receive; they got a new snapshot.
    pub dropped: AtomicU64,
    /// Lists that ended a stretch of time in which their kind, Events apart, was not observed.
    pub gaps: AtomicU64,
    /// Lags of events.
    pub lags: ByKind<Lag>,
    /// Rollouts that ended.
    pub rollouts: RolloutDurations,
    /// When the connection entered its state, in milliseconds of the cluster's time.
    pub(super) state_since_millis: AtomicI64,
}

/// Time between the arrival of the events of one kind and their application. Frames are sent after that, at once or 50 ms later.
#[derive(Debug)]
pub struct Lag {
    /// Lag of the last event; negative before the first one.
    last_millis: AtomicI64,
    /// Lags of all events, in seconds.
    pub histogram: Histogram,
}

impl Default for Lag {
    fn default() -> Self {
        Self { last_millis: AtomicI64::new(-1), histogram: Histogram::new(BOUNDS) }
    }
}

impl Lag {
    /// Records the lag of an event that was just applied.
    pub(super) fn note(&self, arrived_millis: Millis, now_millis: Millis) {
        let lag_millis = (now_millis - arrived_millis).max(0); // the clock may have been set back
        self.last_millis.store(lag_millis, Ordering::Relaxed);
        self.histogram.observe(lag_millis as f64 / 1_000.0);
    }

    /// Returns the lag of the last event; `None` before the first one.
    pub fn last_millis(&self) -> Option<Millis> {
        Some(self.last_millis.load(Ordering::Relaxed)).filter(|lag_millis| *lag_millis >= 0)
    }
}
