//! The list that one viewer follows, and the place that it takes among those of its client.

use std::sync::Arc;

use tokio::sync::watch as signal;

use super::{Chosen, Listings, Question};
use crate::access::followers::Follower;

/// A list as it is chosen for one who follows it.
pub struct Choice {
    /// The lines, now and whenever they change. It ends at once where too many lists are followed.
    pub chosen: signal::Receiver<Arc<Chosen>>,
    pub(super) place: Option<Place>,
}

impl Choice {
    /// It is followed no more, and may be followed anew.
    pub fn leave(&mut self) {
        self.place = None;
    }
}

/// A list of one who follows it counts for as long as this lives.
pub(super) struct Place {
    pub(super) listings: Arc<Listings>,
    pub(super) follower: Follower,
    pub(super) question: Question,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.listings.followed().by.leave(&self.follower, &self.question);
    }
}
