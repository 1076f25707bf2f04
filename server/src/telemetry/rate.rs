//! Rate limits: so many at once, then one after each period. On tokio's clock, which tests can stop.

use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::state::keyed::{HashMapStateStore, ShrinkableKeyedStateStore};
use governor::{Quota, RateLimiter};
use tokio::time::{Instant, sleep};

/// Number of keys from which full ones are removed.
const FEW: usize = 1_024;

/// The time since a limit was made.
#[derive(Debug, Clone)]
struct SinceStart(Instant);

impl Clock for SinceStart {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The store of a limiter, shared with it, so that permits can be given back.
#[derive(Debug, Clone)]
struct Store<K>(Arc<HashMapStateStore<K>>);

impl<K: Hash + Eq + Clone> StateStore for Store<K> {
    type Key = K;

    fn measure_and_replace<T, F, E>(&self, key: &K, replace: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        self.0.measure_and_replace(key, replace)
    }
}

#[derive(Debug)]
pub(crate) struct RateLimit<K: Hash + Eq + Clone> {
    limiter: RateLimiter<K, Store<K>, SinceStart, NoOpMiddleware<Duration>>,
    store: Store<K>,
    period: Duration,
    /// Number of keys at the next scan: twice those that the last one left, so that scans cost each new key little.
    scan_at: AtomicUsize,
}

impl<K: Hash + Eq + Clone> RateLimit<K> {
    /// Allows a burst at once (at least one), and one more after each period.
    pub(crate) fn new(burst: u32, period: Duration) -> Self {
        let quota = Quota::with_period(period).unwrap_or(Quota::per_second(NonZeroU32::MAX));
        let quota = quota.allow_burst(NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN));
        let (store, clock) = (Store(Arc::default()), SinceStart(Instant::now()));
        let scan_at = AtomicUsize::new(FEW);
        Self { limiter: RateLimiter::new(quota, store.clone(), clock), store, period, scan_at }
    }

    /// Takes a permit, or returns the time until the next one.
    pub(crate) fn take(&self, key: &K) -> Result<(), Duration> {
        let now = self.limiter.clock().now();
        if self.store.0.len() >= self.scan_at.load(Ordering::Relaxed) {
            self.store.0.retain_recent(now.saturating_sub(self.period).into());
            self.scan_at.store(FEW.max(2 * self.store.0.len()), Ordering::Relaxed);
        }
        self.limiter.check_key(key).map_err(|not_until| not_until.wait_time_from(now))
    }

    /// Takes a permit as soon as there is one. Returns `true` if it had to wait.
    pub(crate) async fn ready(&self, key: &K) -> bool {
        let mut has_waited = false;
        while let Err(wait) = self.take(key) {
            has_waited = true;
            sleep(wait).await;
        }
        has_waited
    }

    pub(crate) fn give_back(&self, key: &K) {
        let period = self.period.into();
        let _ = self.store.measure_and_replace(key, |full_at| {
            full_at.map(|full_at| ((), full_at.saturating_sub(period))).ok_or(()) // a removed key has all permits
        });
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;

    use super::*;

    fn limit() -> RateLimit<usize> {
        RateLimit::new(20, Duration::from_millis(100))
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_without_end_is_heard_ten_times_a_second_and_holds_up_no_other() {
        let (limit, began) = (limit(), Instant::now());
        let waited = join_all((0..120).map(|_| limit.ready(&1))).await;
        assert_eq!((began.elapsed().as_secs(), waited.into_iter().filter(|has_waited| *has_waited).count()), (10, 100));
        let now = Instant::now();
        assert!(!limit.ready(&2).await, "somebody else");
        tokio::time::advance(Duration::from_secs(60)).await;
        let waited = join_all((0..20).map(|_| limit.ready(&1))).await;
        assert!(waited.iter().all(|has_waited| !has_waited), "somebody who waited may ask at once again");
        assert_eq!((now.elapsed().as_secs(), limit.take(&1)), (60, Err(Duration::from_millis(100))));
        // Who leaves while they wait has used nothing up.
        for _ in 0..1_000 {
            assert!(tokio::time::timeout(Duration::ZERO, limit.ready(&1)).await.is_err(), "it has to wait");
        }
        limit.ready(&1).await;
        assert!(now.elapsed() < Duration::from_secs(61), "{:?}", now.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_given_back_may_be_taken_again_and_is_no_more_than_the_burst() {
        let limit = limit();
        limit.give_back(&1);
        (0..20).for_each(|_| assert_eq!(limit.take(&1), Ok(())));
        limit.give_back(&1);
        assert!(limit.take(&1).is_ok() && limit.take(&1).is_err());
        tokio::time::advance(Duration::from_secs(60)).await;
        limit.give_back(&1);
        assert_eq!((0..40).filter(|_| limit.take(&1).is_ok()).count(), 20);
    }

    #[tokio::test(start_paused = true)]
    async fn keys_are_forgotten_that_wait_for_nothing() {
        let limit = limit();
        (0..FEW).for_each(|key| assert_eq!(limit.take(&key), Ok(())));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!((limit.take(&FEW), limit.store.0.len()), (Ok(()), 1));
        // Those that wait stay, and are not looked at again for each one that comes: at 1,024 and at 2,048.
        (0..4 * FEW).for_each(|key| assert_eq!(limit.take(&key), Ok(())));
        assert_eq!((limit.store.0.len(), limit.scan_at.into_inner()), (4 * FEW, 4 * FEW));
    }
}
