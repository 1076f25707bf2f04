//! Counters of limits, which the metrics show. The response tells a client which limit it reached. Without a response,
//! its connection is closed (late headers) or delayed (too many requests on a stream). Limits on sizes, links and
//! caches are not counted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Requests of a stream: a burst, and the interval after it. Expensive requests of one client, on all of its streams
/// together, have the same limit.
pub(crate) const QUESTIONS_AT_ONCE: u32 = 20;
pub(crate) const QUESTION_EVERY: Duration = Duration::from_millis(100);

/// A limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Timeout for the head of a request.
    Headers,
    /// Connections of one address, and of all.
    Connections,
    /// Requests and streams of one client of a proxy.
    Clients,
    /// Viewers whose permissions are cached.
    Viewers,
    /// Requests of a stream.
    Questions,
    /// Words and labels of a search.
    Search,
    /// Different lists that are followed.
    Lists,
    /// Different lists that one client follows.
    ClientLists,
    /// Previews that wait to be drawn.
    Previews,
    /// Files of rollouts that are made.
    Exports,
    /// Rejected tokens of one client.
    SignIns,
    /// Bytes of responses that wait to be sent.
    Unsent,
    /// Past rollouts that are open.
    Rollouts,
}

impl Limit {
    /// All limits, with their names in the metrics.
    pub const ALL: [(Self, &'static str); 13] = [
        (Self::Headers, "headers"),
        (Self::Connections, "connections"),
        (Self::Clients, "clients"),
        (Self::Viewers, "viewers"),
        (Self::Questions, "questions"),
        (Self::Search, "search"),
        (Self::Lists, "lists"),
        (Self::ClientLists, "client_lists"),
        (Self::Previews, "previews"),
        (Self::Exports, "exports"),
        (Self::SignIns, "sign_ins"),
        (Self::Unsent, "unsent"),
        (Self::Rollouts, "rollouts"),
    ];
}

/// Number of times that each limit was reached.
#[derive(Debug, Default)]
pub struct LimitCounters([AtomicU64; Limit::ALL.len()]);

impl LimitCounters {
    /// Counts that a limit was reached.
    pub fn count_hit(&self, limit: Limit) {
        if let Some(count) = self.0.get(limit as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns what a limit granted, and counts a refusal.
    pub fn count_refusal<T>(&self, limit: Limit, granted: Option<T>) -> Option<T> {
        if granted.is_none() {
            self.count_hit(limit);
        }
        granted
    }

    /// Returns the number of times that a limit was reached.
    pub fn count(&self, limit: Limit) -> u64 {
        self.0.get(limit as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }
}
