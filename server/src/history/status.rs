//! The state of the writer, for pages and metrics.

use std::sync::atomic::AtomicU64;

use timeline::Millis;

/// The state of the writer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WriteStatus {
    /// Everything observed is written.
    #[default]
    Healthy,
    /// Writing fails, and is tried again.
    Failing {
        /// Observations since then are not written yet.
        since_millis: Millis,
        /// The error, in words for people.
        why: String,
    },
}

/// The writer's counters under `/metrics`.
#[derive(Debug, Default)]
pub struct HistoryCounters {
    /// Commits.
    pub commits: AtomicU64,
    /// Commits that failed, and stores that could not be opened.
    pub failures: AtomicU64,
    /// Compressed bytes of lines that were written.
    pub bytes: AtomicU64,
    /// Gaps in the history because nothing could be written for long.
    pub missed: AtomicU64,
}
