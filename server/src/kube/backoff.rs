//! Computes the wait before the next attempt: back-off with full jitter. Pure: the random number is an argument.

use std::time::Duration;

/// Back-off with full jitter: a random time from zero to a limit that doubles with every consecutive failure.
#[derive(Debug, Clone, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Returns the number of consecutive failures.
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// Restarts with the shortest limit, after a success.
    pub const fn reset(&mut self) {
        self.failures = 0;
    }

    /// Counts a failure and returns the time to wait. `chance` is a random number in 0..1.
    pub fn fail(&mut self, first: Duration, max: Duration, chance: f64) -> Duration {
        let limit = first.saturating_mul(1 << self.failures.min(16)).min(max);
        self.failures = self.failures.saturating_add(1);
        limit.mul_f64(chance.clamp(0.0, 1.0))
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
}
