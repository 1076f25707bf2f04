//! So many things at once, and so many in a second: what somebody may still ask for.

use std::time::Duration;

use tokio::time::Instant;

/// What is left of it, which may be less than nothing for those who wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowance {
    left: f64,
    at: Instant,
    at_once: f64,
    per_second: f64,
}

impl Allowance {
    pub(crate) fn full(at_once: f64, per_second: f64) -> Self {
        Self { left: at_once, at: Instant::now(), at_once, per_second }
    }

    /// There is some for one more.
    pub(crate) fn has_some(&self) -> bool {
        self.left() >= 1.0
    }

    /// As much may be asked at once as ever.
    pub(crate) fn is_full(&self) -> bool {
        self.left() >= self.at_once
    }

    pub(crate) fn take(&mut self) {
        self.add(-1.0);
    }

    /// Nothing came of what was taken for.
    pub(crate) fn give_back(&mut self) {
        self.add(1.0);
    }

    /// How long it takes until so much is left.
    pub(crate) fn until(&self, left: f64) -> Duration {
        Duration::from_secs_f64(((left - self.left()) / self.per_second).max(0.0))
    }

    fn add(&mut self, much: f64) {
        (self.left, self.at) = ((self.left() + much).min(self.at_once), Instant::now());
    }

    fn left(&self) -> f64 {
        (self.left + self.at.elapsed().as_secs_f64() * self.per_second).min(self.at_once)
    }
}
