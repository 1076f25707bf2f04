//! The state of the writer, for pages and metrics.

use std::sync::atomic::AtomicU64;

use timeline::Millis;

/// How the writing of history gets on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WriteStatus {
    /// Everything observed is written.
    #[default]
    Healthy,
    /// What is observed cannot be written.
    Failing {
        /// What arrived since then is not written yet.
        since_millis: Millis,
        /// Why, in words for people.
        why: String,
    },
}

/// What the writer counts; shown under `/metrics`.
#[derive(Debug, Default)]
pub struct Counters {
    /// Commits.
    pub commits: AtomicU64,
    /// Commits that failed, and stores that could not be opened.
    pub failures: AtomicU64,
    /// Bytes of lines that were written, compressed.
    pub bytes: AtomicU64,
    /// Times that steps were left out because nothing could be written for long.
    pub missed: AtomicU64,
}
