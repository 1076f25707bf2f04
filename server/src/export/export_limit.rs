//! Limits exports: two at a time, and one for each client until it was sent, so that no client delays the others or fills the
//! memory.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::access::clients::{ClientKey, Usage, UsageGuard};

/// Exports that are made at once.
const EXPORTS_AT_ONCE: usize = 2;

/// Exports in progress.
pub struct ExportLimit {
    permits: Arc<Semaphore>,
    clients: Arc<Usage<ClientKey>>,
}

/// An export in progress. Work that cannot be cancelled holds it, although its client may have left.
pub struct ExportJob {
    _permit: OwnedSemaphorePermit,
    turn: UsageGuard<ClientKey>,
}

impl ExportJob {
    /// Lets the next export begin; the client's turn lasts until its file was sent.
    #[must_use]
    pub fn finish(self) -> UsageGuard<ClientKey> {
        self.turn
    }
}

impl Default for ExportLimit {
    fn default() -> Self {
        Self { permits: Arc::new(Semaphore::new(EXPORTS_AT_ONCE)), clients: Arc::default() }
    }
}

impl ExportLimit {
    /// Begins an export; `None` if too many are in progress, or one of the same client. All links of one maker count as one client.
    pub fn begin(&self, client: ClientKey) -> Option<ExportJob> {
        let permit = self.permits.clone().try_acquire_owned().ok()?;
        let (is_shared, client) = (client == ClientKey::Shared, client.of_any_link());
        let turn = self.clients.enter(client, 1, |_, own| is_shared || own == 0)?;
        Some(ExportJob { _permit: permit, turn })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::access::Subjects;

    #[test]
    fn nobody_has_two_made_at_once_and_no_more_than_two_are() {
        let exports = ExportLimit::default();
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
        let sent = exports.begin(at(1)).map(ExportJob::finish);
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
