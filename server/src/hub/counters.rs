//! What a hub counts.

use std::sync::atomic::{AtomicI64, AtomicU64};

use super::lag::Lag;
use super::tally::Tally;
use crate::kube::ByKind;

/// What a hub counts; shown under `/metrics`.
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
    /// Time between the arrival of events and their being applied.
    pub lags: ByKind<Lag>,
    /// Rollouts that ended.
    pub rollouts: Tally,
    /// When the connection entered its state, in milliseconds of the cluster's time.
    pub(super) state_since_millis: AtomicI64,
}
