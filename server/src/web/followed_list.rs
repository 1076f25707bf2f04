//! A list that a viewer follows: the rows that were sent, and the next changes.

use std::time::Duration;

use bytes::Bytes;
use timeline::list::{Query, SentRows, Window};
use timeline::wire::{self, Scope, ServerFrame};
use tokio::sync::watch::error::RecvError;
use tokio::time::Instant;

use crate::web::listing::{ListResult, ListSubscription, ListedRow};

/// Maximum rate of a list's changes, in bytes per second: more changes are combined and sent later.
const LIST_BYTES_PER_SECOND: f64 = 8_000.0;

pub(super) struct FollowedList {
    pub(super) query: Query,
    pub(super) window: Window,
    pub(super) choice: ListSubscription,
    sent: SentRows<ListedRow>,
    /// Nothing is sent before this time.
    pub(super) not_before: Instant,
}

impl FollowedList {
    pub(super) fn new(query: Query, window: Window, choice: ListSubscription) -> Self {
        Self { query, window, choice, sent: SentRows::default(), not_before: Instant::now() }
    }

    /// Returns the scope that follows the same lines again.
    pub(super) fn scope(&self) -> Scope {
        Scope::List { query: self.query.clone(), window: self.window }
    }

    /// Waits for a change of the list, forever if no task chooses it. Fails once its task has ended.
    pub(super) async fn changed(&mut self) -> Result<(), RecvError> {
        match self.choice.chosen.changed().await {
            Err(_) if self.choice.is_turned_away() => std::future::pending().await,
            changed => changed,
        }
    }

    /// Returns the encoded changes since the last call.
    pub(super) fn delta(&mut self) -> Option<Bytes> {
        let chosen = self.choice.chosen.borrow_and_update().clone();
        let delta = self.sent.delta(&chosen.overall, &chosen.lines, self.window, ListResult::line)?;
        let bytes = Bytes::from(wire::encode(&ServerFrame::List(Box::new(delta))).ok()?);
        self.not_before = Instant::now() + Duration::from_secs_f64(bytes.len() as f64 / LIST_BYTES_PER_SECOND);
        Some(bytes)
    }
}
