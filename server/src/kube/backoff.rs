//! When to ask again: full-jitter back-off and a token bucket. Pure: time and chance are arguments.

use std::time::Duration;

/// Back-off with full jitter: anywhere between nothing and a limit that doubles with every failure in a row.
#[derive(Debug, Clone, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Failures in a row.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// Begins anew with the shortest wait, after something worked.
    pub const fn reset(&mut self) {
        self.failures = 0;
    }

    /// It failed: how long to wait. `chance` is in 0..1.
    #[must_use]
    pub fn fail(&mut self, first: Duration, max: Duration, chance: f64) -> Duration {
        let limit = first.saturating_mul(1 << self.failures.min(16)).min(max);
        self.failures = self.failures.saturating_add(1);
        limit.mul_f64(chance.clamp(0.0, 1.0))
    }
}

/// A token bucket: a burst, then one request in every `earn`.
#[derive(Debug, Clone)]
pub struct Bucket {
    burst: u32,
    earn: Duration,
    /// When the bucket would be full again, as time since start.
    full_at: Duration,
}

impl Bucket {
    /// A full bucket.
    #[must_use]
    pub const fn new(burst: u32, earn: Duration) -> Self {
        Self { burst, earn, full_at: Duration::ZERO }
    }

    /// Takes a token at `now` (time since start) and returns how long to wait for it.
    #[must_use]
    pub fn take(&mut self, now: Duration) -> Duration {
        let full_at = self.full_at.max(now) + self.earn;
        self.full_at = full_at;
        full_at.saturating_sub(now).saturating_sub(self.earn * self.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_doubles_up_to_its_limit_and_starts_over() {
        let (first, max) = (Duration::from_millis(400), Duration::from_secs(5));
        let mut backoff = Backoff::default();
        let waits: Vec<_> = (0..6).map(|_| backoff.fail(first, max, 1.0).as_millis()).collect();
        assert_eq!(waits, [400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(backoff.fail(first, max, 0.0), Duration::ZERO);
        backoff.reset();
        assert_eq!(backoff.fail(first, max, 0.5), Duration::from_millis(200));
    }

    #[test]
    fn bucket_allows_less_than_one_request_a_second_over_any_minute() {
        let mut bucket = Bucket::new(8, Duration::from_millis(1200));
        let mut now = Duration::ZERO;
        let mut requests = 0;
        loop {
            now += bucket.take(now);
            if now > Duration::from_secs(60) {
                break;
            }
            requests += 1;
        }
        assert!((50..=60).contains(&requests), "{requests}");
    }
}
