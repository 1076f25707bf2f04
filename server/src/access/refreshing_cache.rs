//! A cache of the responses of one server, which are refreshed before they expire. After a failure no request is sent
//! for a while.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// Times of a cache.
#[derive(Debug, Clone, Copy)]
pub struct RefreshPolicy {
    /// A response is refreshed after this time.
    pub refresh_after: Duration,
    /// A response that was not refreshed expires after this time.
    pub expire_after: Duration,
    /// Time without requests after a failed one.
    pub retry_after: Duration,
}

/// Responses of one server, by request.
#[derive(Debug, Clone)]
pub(crate) struct RefreshingCache<K, V> {
    policy: RefreshPolicy,
    /// Each with the time of its request: the response may be older than its arrival.
    entries: BTreeMap<K, (Instant, V)>,
    /// Time of the last failure; `None` after a success.
    failed_at: Option<Instant>,
}

impl<K: Ord, V> RefreshingCache<K, V> {
    pub(crate) const fn new(policy: RefreshPolicy) -> Self {
        Self { policy, entries: BTreeMap::new(), failed_at: None }
    }

    /// Returns a response that has not expired.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key).filter(|(at, _)| at.elapsed() < self.policy.expire_after).map(|(_, value)| value)
    }

    /// Returns a response of any age.
    pub(crate) fn latest(&self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(_, value)| value)
    }

    pub(crate) fn unexpired(&self) -> impl Iterator<Item = (&K, &V)> {
        let unexpired = self.entries.iter().filter(|(_, (at, _))| at.elapsed() < self.policy.expire_after);
        unexpired.map(|(key, (_, value))| (key, value))
    }

    /// Returns whether a request should be sent now.
    pub(crate) fn is_due(&self, key: &K) -> bool {
        !self.is_backing_off() && self.entries.get(key).is_none_or(|(at, _)| at.elapsed() >= self.policy.refresh_after)
    }

    /// Returns whether no request should be sent, because the last one failed a moment ago.
    pub(crate) fn is_backing_off(&self) -> bool {
        self.failed_at.is_some_and(|at| at.elapsed() < self.policy.retry_after)
    }

    pub(crate) const fn has_failed(&self) -> bool {
        self.failed_at.is_some()
    }

    /// Returns the time of the request that has the cached response.
    pub(crate) fn requested_at(&self, key: &K) -> Option<Instant> {
        self.entries.get(key).map(|(at, _)| *at)
    }

    /// Returns when the last request that succeeded was sent, or when the last one failed, whichever is later.
    pub(crate) fn last_attempt(&self) -> Option<Instant> {
        self.entries.values().map(|(at, _)| *at).max().max(self.failed_at)
    }

    /// Stores the response to a request that was sent at that time.
    pub(crate) fn insert(&mut self, key: K, requested_at: Instant, value: V) {
        self.entries.insert(key, (requested_at, value));
        self.failed_at = None;
    }

    /// Records that the last request failed at that time.
    pub(crate) const fn record_failure(&mut self, at: Instant) {
        self.failed_at = Some(at);
    }

    /// Records that the last request did not fail.
    pub(crate) const fn clear_failure(&mut self) {
        self.failed_at = None;
    }

    /// Removes the responses to all other requests.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&K) -> bool) {
        self.entries.retain(|key, _| is_kept(key));
    }

    pub(crate) fn remove_expired(&mut self) {
        let expire_after = self.policy.expire_after;
        self.entries.retain(|_, (at, _)| at.elapsed() < expire_after);
    }
}
