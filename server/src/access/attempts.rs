//! How often somebody may show a token that no cluster takes: clusters are asked about each, so that one client must not have them asked
//! without end. Who shows good ones, or the same one again, is not counted.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::followers::client_key;
use crate::access::allowance::Allowance;

/// So many tokens of one client may be refused at once, and so many in a second; then none of it is asked about.
const AT_ONCE: f64 = 20.0;
const PER_SECOND: f64 = 0.5;
/// Clients of whom that is known.
const MOST: usize = 4_096;

/// How often tokens of clients were refused lately; all IPv6 addresses of a network are one client.
#[derive(Debug, Default)]
pub(super) struct Attempts(Mutex<HashMap<IpAddr, Allowance>>);

impl Attempts {
    /// Clusters may be asked about a token of that client, which takes one of what it has left; `None` where it has none. One that is not
    /// known by an address is not limited.
    pub(super) fn begin(&self, client: Option<IpAddr>) -> Option<Attempt<'_>> {
        let client = client.map(client_key);
        // Made only where it is one: dropped, it would be given back.
        client.is_none_or(|client| self.take(client)).then(|| Attempt { attempts: self, client })
    }

    fn take(&self, client: IpAddr) -> bool {
        let mut all = self.all();
        if all.len() >= MOST {
            all.retain(|_, left| !left.is_full());
        }
        let mut left = all.get(&client).copied().unwrap_or_else(|| Allowance::full(AT_ONCE, PER_SECOND));
        let has_some = left.has_some();
        if has_some && (all.len() < MOST || all.contains_key(&client)) {
            left.take();
            all.insert(client, left);
        }
        has_some
    }

    fn all(&self) -> MutexGuard<'_, HashMap<IpAddr, Allowance>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A token that clusters are asked about. It counts only if they refuse it.
pub(super) struct Attempt<'a> {
    attempts: &'a Attempts,
    client: Option<IpAddr>,
}

impl Attempt<'_> {
    /// No cluster takes it.
    pub(super) fn refused(mut self) {
        self.client = None;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let Some(client) = self.client else { return };
        if let Some(left) = self.attempts.all().get_mut(&client) {
            left.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_whose_tokens_are_refused_waits_and_no_other_does() {
        let (attempts, one, other) = (Attempts::default(), "2001:db8::1".parse().ok(), "10.0.0.1".parse().ok());
        for count in 0..AT_ONCE as usize {
            drop(attempts.begin(one)); // one that is taken does not count
            attempts.begin(one).unwrap_or_else(|| panic!("{count}")).refused();
        }
        let is_left = |client| attempts.begin(client).is_some();
        assert!(!is_left(one) && !is_left("2001:db8::2".parse().ok()), "its network is the client");
        assert!(is_left(other) && is_left(None));
        tokio::time::advance(Duration::from_secs(2)).await;
        attempts.begin(one).unwrap().refused();
        assert!(!is_left(one));
        tokio::time::advance(Duration::from_secs(3_600)).await;
        for _ in 0..AT_ONCE as usize {
            attempts.begin(one).unwrap().refused();
        }
        assert!(!is_left(one), "no more than at the start, however long it waited");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_known_of_clients_is_bounded() {
        let attempts = Attempts::default();
        for number in 0..MOST as u32 + 100 {
            attempts.begin(Some(IpAddr::V4((0x0a00_0000 + number).into()))).unwrap().refused();
        }
        assert_eq!(attempts.all().len(), MOST);
        tokio::time::advance(Duration::from_secs(60)).await;
        attempts.begin("10.9.9.9".parse().ok()).unwrap().refused();
        assert_eq!(attempts.all().len(), 1, "who waited is forgotten");
    }
}
