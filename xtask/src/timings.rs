//! How long each part of a run took, as a table at its end.

use std::time::{Duration, Instant};

use anyhow::Result;

/// Parts in the order in which they ended. Dropping it prints them, also after a failure.
#[derive(Default)]
pub struct Timings(Vec<(&'static str, Duration)>);

impl Timings {
    /// Runs a part and notes how long it took, whether it failed or not.
    pub fn measure<T>(&mut self, part: &'static str, run: impl FnOnce() -> Result<T>) -> Result<T> {
        let began = Instant::now();
        let result = run();
        self.0.push((part, began.elapsed()));
        result
    }
}

impl Drop for Timings {
    fn drop(&mut self) {
        let all = self.0.iter().map(|(_, time)| *time).sum();
        for (part, time) in self.0.iter().copied().chain([("all parts", all)]) {
            let seconds = time.as_secs();
            eprintln!("  {:>3}:{:02}  {part}", seconds / 60, seconds % 60);
        }
    }
}
