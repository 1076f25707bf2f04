//! The same question of many at once, asked once: the first one asks, and the others wait for their turn to find it answered.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;

/// Whose turn it is to ask, for each question.
pub(super) struct Once<K>(Mutex<HashMap<K, Arc<tokio::sync::Mutex<()>>>>);

impl<K> Default for Once<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// A turn; it ends when this is dropped.
pub(super) struct Turn<'o, K: Hash + Eq> {
    of: &'o Once<K>,
    question: K,
    held: Option<OwnedMutexGuard<()>>,
}

impl<K: Hash + Eq + Clone> Once<K> {
    /// Waits until nobody else asks that.
    pub(super) async fn turn(&self, question: &K) -> Turn<'_, K> {
        let turn = self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(question.clone()).or_default().clone();
        // From here on it is taken away again, even by who is gone before their turn comes.
        let mut own = Turn { of: self, question: question.clone(), held: None };
        own.held = Some(turn.lock_owned().await);
        own
    }
}

impl<K: Hash + Eq> Drop for Turn<'_, K> {
    fn drop(&mut self) {
        self.held = None;
        let mut all = self.of.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Those who wait hold it as well.
        if all.get(&self.question).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            all.remove(&self.question);
        }
    }
}
