//! How much a viewer may ask for on one stream, and of what takes longer on all of their streams together.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::access::allowance::Allowance;
use crate::access::followers::Follower;

/// So many things may be asked at once, and so many in a second; what is more waits.
const AT_ONCE: f64 = 20.0;
const PER_SECOND: f64 = 10.0;

/// What a viewer may ask for.
pub(crate) struct Budget(Allowance);

impl Budget {
    pub(crate) fn full() -> Self {
        Self(Allowance::full(AT_ONCE, PER_SECOND))
    }

    /// Waits until something may be asked.
    pub(crate) async fn ready(&self) {
        let wait = self.0.until(1.0);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Something was asked; `true` where the next question has to wait.
    pub(crate) fn spend(&mut self) -> bool {
        self.0.take();
        !self.0.has_some()
    }
}

/// What clients may have made for them, however many streams each of them has. Who is not told from others is not held back.
#[derive(Default)]
pub struct Budgets(Mutex<HashMap<Follower, Allowance>>);

impl Budgets {
    /// Waits until something may be made for a client.
    pub(crate) async fn ready(&self, follower: &Follower) {
        if *follower == Follower::Many {
            return;
        }
        let behind = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|_, budget| !budget.is_full());
            let own = all.entry(follower.clone());
            let own = own.or_insert_with(|| Allowance::full(AT_ONCE, PER_SECOND));
            own.take();
            own.until(0.0)
        };
        if !behind.is_zero() {
            let mut waiting = Waiting { budgets: self, whose: Some(follower.clone()) };
            tokio::time::sleep(behind).await;
            waiting.whose = None;
        }
    }
}

/// Somebody waits; who leaves before it is their turn has had nothing made.
struct Waiting<'b> {
    budgets: &'b Budgets,
    whose: Option<Follower>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(whose) = &self.whose else { return };
        if let Some(own) = self.budgets.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(whose) {
            own.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

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

    #[tokio::test(start_paused = true)]
    async fn a_client_has_ten_things_made_a_second_on_however_many_streams_and_holds_up_no_other() {
        let (budgets, began) = (Budgets::default(), Instant::now());
        let at = |last| Follower::at([10, 0, 0, last].into());
        let (greedy, other) = (at(1), at(2));
        futures::future::join_all((0..120).map(|_| budgets.ready(&greedy))).await;
        assert_eq!(began.elapsed().as_secs(), 10);
        let now = Instant::now();
        budgets.ready(&other).await;
        futures::future::join_all((0..120).map(|_| budgets.ready(&Follower::Many))).await;
        assert_eq!(now.elapsed(), Duration::ZERO);
        // Who leaves while they wait has used nothing up.
        let now = Instant::now();
        futures::future::join_all((0..19).map(|_| budgets.ready(&other))).await;
        for _ in 0..1_000 {
            let waits = tokio::time::timeout(Duration::ZERO, budgets.ready(&other)).await;
            assert!(waits.is_err(), "it has to wait");
        }
        budgets.ready(&other).await;
        assert!(now.elapsed() < Duration::from_secs(1), "{:?}", now.elapsed());
        tokio::time::advance(Duration::from_secs(60)).await;
        budgets.ready(&other).await;
        assert_eq!(budgets.0.lock().unwrap().len(), 1, "who asks nothing is not remembered");
    }
}
