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
/// The same of all links of one maker together.
pub(super) const MOST_OF_LINKS: usize = 4 * MOST_OF_ONE;

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

    /// The same for whichever link of its maker they came by.
    #[must_use]
    pub fn by_any_link(self) -> Self {
        match self {
            Self::Known(maker, Some(_)) => Self::Known(maker, Some(String::new())),
            other => other,
        }
    }

    /// Whose link they came by.
    const fn maker(&self) -> Option<&Arc<Subjects>> {
        match self {
            Self::Known(maker, Some(_)) => Some(maker),
            Self::Known(_, None) | Self::At(_) | Self::Many => None,
        }
    }
}

/// The lists that each client follows.
#[derive(Default)]
pub(super) struct Followers {
    /// Which, and how often.
    each: HashMap<Follower, HashMap<Question, usize>>,
    /// How many the links of each maker follow together.
    of_links: HashMap<Arc<Subjects>, usize>,
}

impl Followers {
    /// They follow one more; `false` where that is one too many.
    pub(super) fn enter(&mut self, follower: &Follower, question: &Question) -> bool {
        if let Some(times) = self.each.get_mut(follower).and_then(|all| all.get_mut(question)) {
            *times += 1;
            return true;
        }
        let is_full =
            self.each.get(follower).is_some_and(|all| all.len() >= MOST_OF_ONE) && *follower != Follower::Many;
        let maker = follower.maker();
        let of_links = maker.and_then(|maker| self.of_links.get(maker)).copied().unwrap_or_default();
        if is_full || of_links >= MOST_OF_LINKS {
            return false;
        }
        if let Some(maker) = maker {
            self.of_links.insert(maker.clone(), of_links + 1);
        }
        self.each.entry(follower.clone()).or_default().insert(question.clone(), 1);
        true
    }

    fn leave(&mut self, follower: &Follower, question: &Question) {
        let Some(all) = self.each.get_mut(follower) else { return };
        let Some(times) = all.get_mut(question) else { return };
        *times -= 1;
        if *times > 0 {
            return;
        }
        all.remove(question);
        if all.is_empty() {
            self.each.remove(follower);
        }
        let Some(maker) = follower.maker() else { return };
        if let Some(count) = self.of_links.get_mut(maker) {
            *count -= 1;
            if *count == 0 {
                self.of_links.remove(maker);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.each.len() + self.of_links.len()
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
