//! A subscription of a list, counted for its client.

use std::sync::Arc;

use tokio::sync::watch as signal;

use super::{ListKey, ListResult, Listings};
use crate::access::clients::ClientKey;

/// A list as it is chosen for one who follows it.
pub struct ListSubscription {
    /// The lines, now and whenever they change. It ends at once where too many lists are followed.
    pub chosen: signal::Receiver<Arc<ListResult>>,
    pub(super) place: Option<SubscriptionGuard>,
}

impl ListSubscription {
    /// It is followed no more, and may be followed anew.
    pub fn leave(&mut self) {
        self.place = None;
    }
}

/// A list of one who follows it counts for as long as this lives.
pub(super) struct SubscriptionGuard {
    pub(super) listings: Arc<Listings>,
    pub(super) follower: ClientKey,
    pub(super) key: ListKey,
}

impl Drop for SubscriptionGuard {
    fn drop(&mut self) {
        self.listings.followed().by.leave(&self.follower, &self.key);
    }
}
