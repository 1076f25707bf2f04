//! What many want and takes long to make, made once: the first who wants it begins, the others wait for the same. Each thing is made by
//! itself, so that one which takes long keeps nobody waiting for another; so many are made at once, and one that nobody waits for any
//! more is not made to its end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, WeakShared};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What is being made, by what it is.
pub(crate) struct Flights<K, V> {
    going: Mutex<BTreeMap<K, WeakShared<BoxFuture<'static, V>>>>,
    turns: Arc<Semaphore>,
}

/// A turn to make something: it lasts until that is made, and for as long as this lives. What cannot be called off keeps it.
pub(crate) type Turn = Arc<Option<OwnedSemaphorePermit>>;

impl<K: Ord + Clone, V: Clone + Send + Sync + 'static> Flights<K, V> {
    /// So many things are made at once.
    pub(crate) fn at_most(most: usize) -> Self {
        Self { going: Mutex::default(), turns: Arc::new(Semaphore::new(most)) }
    }

    /// Waits for it, which whoever wanted it first began to make. That ends as soon as everybody is gone who waits.
    pub(crate) async fn join<F: Future<Output = V> + Send + 'static>(
        &self,
        what: &K,
        make: impl FnOnce(Turn) -> F + Send + 'static,
    ) -> V {
        let made = {
            let mut going = self.going.lock().unwrap_or_else(PoisonError::into_inner);
            going.retain(|_, one| one.upgrade().is_some());
            match going.get(what).and_then(WeakShared::upgrade) {
                Some(made) => made,
                None => {
                    let turns = self.turns.clone();
                    let made = async move {
                        let turn = Arc::new(turns.acquire_owned().await.ok()); // they never end
                        make(turn.clone()).await
                    };
                    let made = made.boxed().shared();
                    going.extend(made.downgrade().map(|weak| (what.clone(), weak)));
                    made
                }
            }
        };
        made.await
    }

    /// Somebody waits for it already.
    pub(crate) fn is_going(&self, what: &K) -> bool {
        let going = self.going.lock().unwrap_or_else(PoisonError::into_inner);
        going.get(what).and_then(WeakShared::upgrade).is_some()
    }

    /// How many things are being made, or wait for their turn.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        let going = self.going.lock().unwrap_or_else(PoisonError::into_inner);
        going.values().filter(|one| one.upgrade().is_some()).count()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;
    use tokio::sync::Notify;

    use super::*;

    type Numbers = Arc<Flights<&'static str, usize>>;

    fn numbers() -> (Numbers, Arc<AtomicUsize>, Arc<Notify>) {
        (Arc::new(Flights::at_most(2)), Arc::default(), Arc::default())
    }

    /// Somebody who waits for a number that is made as soon as `let_go` says so; how many were begun is counted.
    fn wait(
        (numbers, begun, let_go): &(Numbers, Arc<AtomicUsize>, Arc<Notify>),
        what: &'static str,
    ) -> tokio::task::JoinHandle<usize> {
        let (numbers, begun, let_go) = (numbers.clone(), begun.clone(), let_go.clone());
        tokio::spawn(async move {
            let make = |_turn| async move {
                let number = begun.fetch_add(1, Ordering::SeqCst);
                let_go.notified().await;
                number
            };
            numbers.join(&what, make).await
        })
    }

    async fn settle() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn many_who_want_the_same_have_it_made_once_though_the_first_leaves() {
        let all = numbers();
        let first = wait(&all, "a");
        settle().await;
        let others: Vec<_> = (0..10).map(|_| wait(&all, "a")).collect();
        settle().await;
        first.abort();
        settle().await;
        assert_eq!((all.0.count(), all.1.load(Ordering::SeqCst)), (1, 1));
        all.2.notify_waiters();
        assert!(join_all(others).await.into_iter().all(|number| number.is_ok_and(|number| number == 0)));
        assert_eq!(all.0.count(), 0);
        let again = wait(&all, "a");
        settle().await;
        all.2.notify_waiters();
        assert_eq!(again.await.unwrap(), 1, "what was made before is nobody's business here");
    }

    #[tokio::test]
    async fn what_nobody_waits_for_any_more_is_not_made() {
        let all = numbers();
        let waiting: Vec<_> = ["a", "a", "b"].into_iter().map(|what| wait(&all, what)).collect();
        settle().await;
        assert_eq!((all.0.count(), all.1.load(Ordering::SeqCst)), (2, 2));
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        settle().await;
        assert_eq!((all.0.count(), all.0.turns.available_permits()), (0, 2), "its turn is free as well");
    }

    #[tokio::test]
    async fn so_many_are_made_at_once_and_the_next_ones_after_them() {
        let all = numbers();
        let waiting: Vec<_> = ["a", "b", "c"].into_iter().map(|what| wait(&all, what)).collect();
        settle().await;
        assert_eq!((all.0.count(), all.1.load(Ordering::SeqCst)), (3, 2));
        all.2.notify_waiters();
        settle().await;
        all.2.notify_waiters();
        assert!(join_all(waiting).await.into_iter().all(|number| number.is_ok()));
        assert_eq!((all.0.count(), all.1.load(Ordering::SeqCst)), (0, 3));
    }
}
