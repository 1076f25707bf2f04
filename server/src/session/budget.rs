//! How much a viewer may ask for on one stream.

use std::time::Duration;

use tokio::time::Instant;

/// So many things may be asked at once, and so many in a second; what is more waits.
const AT_ONCE: f64 = 20.0;
const PER_SECOND: f64 = 10.0;

/// What a viewer may ask for.
pub(super) struct Budget {
    left: f64,
    at: Instant,
}

impl Budget {
    pub(super) fn full() -> Self {
        Self { left: AT_ONCE, at: Instant::now() }
    }

    /// Waits until something may be asked.
    pub(super) async fn ready(&self) {
        let earned = self.left + self.at.elapsed().as_secs_f64() * PER_SECOND;
        if earned < 1.0 {
            tokio::time::sleep(Duration::from_secs_f64((1.0 - earned) / PER_SECOND)).await;
        }
    }

    /// Something was asked; `true` where the next question has to wait.
    pub(super) fn spend(&mut self) -> bool {
        let earned = (self.left + self.at.elapsed().as_secs_f64() * PER_SECOND).min(AT_ONCE);
        *self = Self { left: earned - 1.0, at: Instant::now() };
        self.left < 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_asks_without_end_is_heard_ten_times_a_second() {
        let (began, mut budget, mut asked) = (Instant::now(), Budget::full(), 0);
        while began.elapsed() < Duration::from_secs(10) {
            budget.ready().await;
            let _ = budget.spend();
            asked += 1;
        }
        assert!((118..=122).contains(&asked), "{asked}");
        tokio::time::advance(Duration::from_secs(60)).await;
        let now = Instant::now();
        for last in (0..AT_ONCE as usize).rev() {
            budget.ready().await;
            assert_eq!(budget.spend(), last == 0, "the one after the last has to wait");
        }
        assert_eq!(now.elapsed(), Duration::ZERO, "somebody who waited may ask at once again");
    }
}
