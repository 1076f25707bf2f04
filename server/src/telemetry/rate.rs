//! Rate limits: so many at once, then one after each period. On tokio's clock, which tests can stop.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::panics::locked;

/// Number of keys from which full ones are removed.
const FEW: usize = 1_024;

#[derive(Debug)]
pub(crate) struct RateLimit<K> {
    burst: u32,
    period: Duration,
    keys: Mutex<Keys<K>>,
}

#[derive(Debug)]
struct Keys<K> {
    /// Time at which a key that used permits has all of them again.
    full_at: HashMap<K, Instant>,
    /// Number of keys at the next scan: twice those that the last one left, so that scans cost each new key little.
    scan_at: usize,
}

impl<K: Hash + Eq + Clone> RateLimit<K> {
    /// Allows a burst at once (at least one), and one more after each period.
    pub(crate) fn new(burst: u32, period: Duration) -> Self {
        let keys = Mutex::new(Keys { full_at: HashMap::new(), scan_at: FEW });
        Self { burst: burst.max(1), period, keys }
    }

    /// Takes a permit, or returns the time until the next one.
    pub(crate) fn take(&self, key: &K) -> Result<(), Duration> {
        let now = Instant::now();
        let Keys { full_at, scan_at } = &mut *locked(&self.keys);
        if full_at.len() >= *scan_at {
            full_at.retain(|_, full_at| *full_at > now);
            *scan_at = FEW.max(2 * full_at.len());
        }
        let then = full_at.get(key).map_or(now, |full_at| now.max(*full_at)) + self.period;
        let wait = then.duration_since(now).saturating_sub(self.period.saturating_mul(self.burst));
        if !wait.is_zero() {
            return Err(wait);
        }
        full_at.insert(key.clone(), then);
        Ok(())
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
        // A removed key has all permits.
        if let Some(full_at) = locked(&self.keys).full_at.get_mut(key) {
            *full_at -= self.period;
        }
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
        // A request that is cancelled while it waits uses no permit.
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
        assert_eq!((limit.take(&FEW), locked(&limit.keys).full_at.len()), (Ok(()), 1));
        // Keys that wait stay, and are not scanned for each new key: only at 1,024 and at 2,048.
        (0..4 * FEW).for_each(|key| assert_eq!(limit.take(&key), Ok(())));
        let keys = locked(&limit.keys);
        assert_eq!((keys.full_at.len(), keys.scan_at), (4 * FEW, 4 * FEW));
    }
}
