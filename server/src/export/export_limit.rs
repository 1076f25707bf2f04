//! Limits exports: two at a time, and one for each client until it was sent, so that no client delays the others or
//! fills the memory.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::access::clients::ClientKey;

/// Files that are made at once.
const MOST: usize = 2;

/// Files that are being made.
pub struct ExportLimit {
    places: Arc<Semaphore>,
    whose: Mutex<HashSet<ClientKey>>,
}

/// A file is being made for as long as this lives. What cannot be called off keeps it: whoever asked may have left.
pub struct ExportJob {
    _place: OwnedSemaphorePermit,
    turn: ClientTurn,
}

/// A client's turn, until its file was sent.
pub struct ClientTurn {
    exports: Arc<ExportLimit>,
    whose: ClientKey,
}

impl ExportJob {
    /// The file is made and has to be sent: another client's may be made.
    #[must_use]
    pub fn made(self) -> ClientTurn {
        self.turn
    }
}

impl Default for ExportLimit {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(MOST)), whose: Mutex::default() }
    }
}

impl ExportLimit {
    /// Begins one; `None` where too many are being made, or another one of the same client. Who came by a link is one with all who came by
    /// links of its maker.
    pub fn begin(self: &Arc<Self>, whose: ClientKey) -> Option<ExportJob> {
        let whose = whose.of_any_link();
        let place = self.places.clone().try_acquire_owned().ok()?;
        let is_first = whose == ClientKey::Shared || self.known().insert(whose.clone());
        is_first.then(|| ExportJob { _place: place, turn: ClientTurn { exports: self.clone(), whose } })
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashSet<ClientKey>> {
        self.whose.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ClientTurn {
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
        let exports = Arc::new(ExportLimit::default());
        let at = |last| ClientKey::of_address([10, 0, 0, last].into());
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
        let sent = exports.begin(at(1)).map(ExportJob::made);
        assert!(exports.begin(at(1)).is_none(), "it is not sent yet");
        assert!(exports.begin(at(2)).is_some() && exports.begin(at(3)).is_some(), "and holds up no others");
        drop(sent);
        assert!(exports.begin(at(1)).is_some());
        let maker = Arc::new(Subjects::Each(BTreeMap::new()));
        let by = |link: &str| ClientKey::Subjects(maker.clone(), Some(link.to_owned()));
        let first = exports.begin(by("a"));
        assert!(first.is_some() && exports.begin(by("b")).is_none(), "another link of the same maker");
        drop(first);
        let many = [exports.begin(ClientKey::Shared), exports.begin(ClientKey::Shared)];
        assert!(many.iter().all(Option::is_some), "behind these may be many");
    }
}
