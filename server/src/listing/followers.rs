//! How many different lists each client follows: one of them does not take the places of the others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use tokio::sync::watch as signal;

use super::{Chosen, Listings, Question};
use crate::auth::Subjects;
use crate::connections::whose;

/// Different lists of one client at once.
pub(super) const MOST_OF_ONE: usize = 64;

/// Who follows a list, as far as lists are counted by who follows them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Follower {
    /// Somebody whom clusters know, from wherever; or who came by that link of theirs.
    Known(Arc<Subjects>, Option<String>),
    /// Whoever has an address, or one of its network.
    At(IpAddr),
    /// This machine, or a proxy that does not say from whom it has a request: behind these may be many.
    Many,
}

impl Follower {
    /// Somebody who is known by their address alone.
    #[must_use]
    pub fn at(address: IpAddr) -> Self {
        Self::At(whose(address))
    }
}

/// The lists that each client follows, and how often.
#[derive(Default)]
pub(super) struct Followers(HashMap<Follower, HashMap<Question, usize>>);

impl Followers {
    /// They follow one more; `false` where that is one too many.
    pub(super) fn enter(&mut self, follower: &Follower, question: &Question) -> bool {
        let all = self.0.entry(follower.clone()).or_default();
        let is_full = all.len() >= MOST_OF_ONE && *follower != Follower::Many;
        if is_full && !all.contains_key(question) {
            return false;
        }
        *all.entry(question.clone()).or_default() += 1;
        true
    }

    fn leave(&mut self, follower: &Follower, question: &Question) {
        let Some(all) = self.0.get_mut(follower) else { return };
        if let Some(times) = all.get_mut(question) {
            *times -= 1;
            if *times == 0 {
                all.remove(question);
            }
        }
        if all.is_empty() {
            self.0.remove(follower);
        }
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

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
