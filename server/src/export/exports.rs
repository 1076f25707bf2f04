//! Whose turn it is to have a file or a recording of a rollout made: so many are made at once, and of those who are told apart each has
//! one until it was sent, so that nobody's files keep everybody else waiting or fill the memory.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::access::followers::Follower;

/// Files that are made at once.
const MOST: usize = 2;

/// Files that are being made.
pub struct Exports {
    places: Arc<Semaphore>,
    whose: Mutex<HashSet<Follower>>,
}

/// A file is being made for as long as this lives. What cannot be called off keeps it: whoever asked may have left.
pub struct Making {
    _place: OwnedSemaphorePermit,
    turn: Turn,
}

/// A client's turn, until its file was sent.
pub struct Turn {
    exports: Arc<Exports>,
    whose: Follower,
}

impl Making {
    /// The file is made and has to be sent: another client's may be made.
    #[must_use]
    pub fn made(self) -> Turn {
        self.turn
    }
}

impl Default for Exports {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(MOST)), whose: Mutex::default() }
    }
}

impl Exports {
    /// Begins one; `None` where too many are being made, or another one of the same client. Who came by a link is one with all who came by
    /// links of its maker.
    pub fn begin(self: &Arc<Self>, whose: Follower) -> Option<Making> {
        let whose = whose.by_any_link();
        let place = self.places.clone().try_acquire_owned().ok()?;
        let is_first = whose == Follower::Many || self.known().insert(whose.clone());
        is_first.then(|| Making { _place: place, turn: Turn { exports: self.clone(), whose } })
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashSet<Follower>> {
        self.whose.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.exports.known().remove(&self.whose);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::access::Subjects;

    #[test]
    fn nobody_has_two_made_at_once_and_no_more_than_two_are() {
        let exports = Arc::new(Exports::default());
        let at = |last| Follower::at([10, 0, 0, last].into());
        let first = exports.begin(at(1));
        assert!(first.is_some());
        assert!(exports.begin(at(1)).is_none(), "another one of the same");
        let second = exports.begin(at(2));
        assert!(second.is_some());
        assert!(exports.begin(at(3)).is_none(), "one too many");
        drop(first);
        assert!(exports.begin(at(2)).is_none(), "it has one still");
        assert!(exports.begin(at(1)).is_some());
        drop(second);
        let sent = exports.begin(at(1)).map(Making::made);
        assert!(exports.begin(at(1)).is_none(), "it is not sent yet");
        assert!(exports.begin(at(2)).is_some() && exports.begin(at(3)).is_some(), "and holds up no others");
        drop(sent);
        assert!(exports.begin(at(1)).is_some());
        let maker = Arc::new(Subjects::Each(BTreeMap::new()));
        let by = |link: &str| Follower::Known(maker.clone(), Some(link.to_owned()));
        let first = exports.begin(by("a"));
        assert!(first.is_some() && exports.begin(by("b")).is_none(), "another link of the same maker");
        drop(first);
        let many = [exports.begin(Follower::Many), exports.begin(Follower::Many)];
        assert!(many.iter().all(Option::is_some), "behind these may be many");
    }
}
