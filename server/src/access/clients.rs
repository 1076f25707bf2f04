//! Limits how many lists and hubs each client follows, so that one client does not use up the places of the others.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

use super::Subjects;
use crate::telemetry::panics::locked;

/// Mask of the part of an IPv6 address that identifies a client: one network has one owner, and networks are not
/// smaller.
const CLIENT_NETWORK: u128 = u128::MAX << 64;

/// A client, as limits count it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ClientKey {
    /// A signed-in viewer, from any address; or a viewer of that link of theirs.
    Subjects(Arc<Subjects>, Option<String>),
    /// All clients with an address, or in its network.
    Address(IpAddr),
    /// This machine, or a proxy that does not name its clients: many viewers may share it.
    Shared,
}

impl ClientKey {
    /// Returns the key of a client that is known by its address alone.
    pub fn of_address(address: IpAddr) -> Self {
        Self::Address(client_network(address))
    }

    /// Returns the key that all links of one maker share.
    #[must_use]
    pub fn of_any_link(self) -> Self {
        match self {
            Self::Subjects(maker, Some(_)) => Self::Subjects(maker, Some(String::new())),
            other => other,
        }
    }
}

/// Returns the address under which the connections of a client are counted: one IPv4 address, or a network of IPv6
/// addresses.
pub(crate) fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() & CLIENT_NETWORK).into()),
        address => address,
    }
}

/// The places of a subscription in both limits.
type SubscriptionGuards = [UsageGuard<ClientKey>; 2];

pub(crate) struct SubscriptionLimit<T> {
    /// Most different subscriptions of one client at once, and of all links of one maker together.
    most_of_one: usize,
    most_of_links: usize,
    /// The subscriptions, each with the number of its uses.
    uses: Mutex<HashMap<(ClientKey, T), (usize, SubscriptionGuards)>>,
    of_each: Arc<Usage<ClientKey>>,
    of_links: Arc<Usage<ClientKey>>,
}

/// A subscription until this is dropped.
pub(crate) struct SubscriptionGuard<T: Eq + Hash> {
    limit: Arc<SubscriptionLimit<T>>,
    subscription: (ClientKey, T),
}

impl<T: Clone + Eq + Hash> SubscriptionLimit<T> {
    /// Creates a limit on the subscriptions of each client, and of all links of one maker together.
    pub(crate) fn new(most_of_one: usize, most_of_links: usize) -> Arc<Self> {
        let uses = Mutex::new(HashMap::new());
        Arc::new(Self { most_of_one, most_of_links, uses, of_each: Arc::default(), of_links: Arc::default() })
    }

    /// Adds a subscription; `None` if the client has too many.
    pub(crate) fn enter(self: &Arc<Self>, follower: &ClientKey, followed: T) -> Option<SubscriptionGuard<T>> {
        let subscription = (follower.clone(), followed);
        let mut uses = locked(&self.uses);
        if let Some((times, _)) = uses.get_mut(&subscription) {
            *times += 1;
        } else {
            let is_shared = *follower == ClientKey::Shared;
            let is_link = matches!(follower, ClientKey::Subjects(_, Some(_)));
            let own = self.of_each.enter(follower.clone(), 1, |_, own| own < self.most_of_one || is_shared)?;
            let any_link = follower.clone().of_any_link();
            let of_links = self.of_links.enter(any_link, 1, |_, all| all < self.most_of_links || !is_link)?;
            uses.insert(subscription.clone(), (1, [own, of_links]));
        }
        Some(SubscriptionGuard { limit: self.clone(), subscription })
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        locked(&self.uses).len() + self.of_each.total() + self.of_links.total()
    }
}

impl<T: Eq + Hash> Drop for SubscriptionGuard<T> {
    fn drop(&mut self) {
        let mut uses = locked(&self.limit.uses);
        if let Some((times, _)) = uses.get_mut(&self.subscription) {
            *times -= 1;
            if *times == 0 {
                uses.remove(&self.subscription);
            }
        }
    }
}

/// Amounts in use, in all and by each client.
#[derive(Debug)]
pub struct Usage<K>(Mutex<Amounts<K>>);

#[derive(Debug)]
struct Amounts<K> {
    total: usize,
    of_each: HashMap<K, usize>,
}

/// An amount in use until this is dropped.
#[derive(Debug)]
pub struct UsageGuard<K: Eq + Hash> {
    usage: Arc<Usage<K>>,
    key: K,
    amount: usize,
}

impl<K> Default for Usage<K> {
    fn default() -> Self {
        Self(Mutex::new(Amounts { total: 0, of_each: HashMap::new() }))
    }
}

impl<K> Usage<K> {
    /// Returns the amount in use by all clients.
    pub(crate) fn total(&self) -> usize {
        locked(&self.0).total
    }
}

impl<K: Clone + Eq + Hash> Usage<K> {
    /// Adds an amount for a client; `None` unless `fits`, which is called with the amounts in use by all and by this client.
    pub(crate) fn enter(
        self: &Arc<Self>,
        key: K,
        amount: usize,
        fits: impl FnOnce(usize, usize) -> bool,
    ) -> Option<UsageGuard<K>> {
        let mut amounts = locked(&self.0);
        let own = amounts.of_each.get(&key).copied().unwrap_or_default();
        if !fits(amounts.total, own) {
            return None;
        }
        if amount > 0 {
            amounts.total += amount;
            amounts.of_each.insert(key.clone(), own + amount);
        }
        Some(UsageGuard { usage: self.clone(), key, amount })
    }
}

impl<K: Eq + Hash> Drop for UsageGuard<K> {
    fn drop(&mut self) {
        let mut amounts = locked(&self.usage.0);
        amounts.total -= self.amount;
        if let Some(own) = amounts.of_each.get_mut(&self.key) {
            *own -= self.amount;
            if *own == 0 {
                amounts.of_each.remove(&self.key);
            }
        }
    }
}

/// Turns of each client for expensive requests: those of one client wait for each other, but not for those of others.
#[derive(Debug, Default)]
pub(crate) struct ClientTurns(Mutex<HashMap<ClientKey, Arc<Turn<()>>>>);

impl ClientTurns {
    /// Waits for the turn of a client, which lasts until the guard is dropped. Clients behind a shared address do not
    /// queue.
    pub(crate) async fn take(&self, client: &ClientKey) -> Option<OwnedMutexGuard<()>> {
        if *client == ClientKey::Shared {
            return None;
        }
        let turn = {
            let mut turns = locked(&self.0);
            turns.retain(|_, turn| Arc::strong_count(turn) > 1); // a request holds it or waits for it
            turns.entry(client.clone()).or_default().clone()
        };
        Some(turn.lock_owned().await)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;
    use crate::kube::review::Subject;

    #[test]
    fn one_client_and_the_links_of_one_maker_leave_room_for_others() {
        let limit = SubscriptionLimit::new(2, 3);
        let at = |address: &str| ClientKey::of_address(address.parse().unwrap());
        let (greedy, other) = (at("2001:db8::1"), at("2001:db8:0:1::1"));
        let (first, second) = (limit.enter(&greedy, 1).unwrap(), limit.enter(&greedy, 2).unwrap());
        assert!(limit.enter(&at("2001:db8::2"), 3).is_none(), "an address of the same network");
        let shared = limit.enter(&other, 3);
        assert!(shared.is_some(), "somebody else");
        assert!(limit.enter(&greedy, 3).is_none(), "also where another one follows it");
        // A second use of the same subscription does not count again; it counts until both have ended.
        let again = limit.enter(&greedy, 2);
        assert!(again.is_some());
        drop(second);
        assert!(limit.enter(&greedy, 3).is_none());
        drop(again);
        assert!(limit.enter(&greedy, 3).is_some(), "there is room");
        let local: Vec<_> = (0..9).map(|followed| limit.enter(&ClientKey::Shared, followed)).collect();
        assert!(local.iter().all(Option::is_some), "many may be behind them");

        let by = |maker: &str, link: Option<usize>| {
            let subject = Subject { user: maker.to_owned(), ..Subject::default() };
            ClientKey::Subjects(Arc::new(Subjects::Same(subject)), link.map(|link| link.to_string()))
        };
        let of_links: Vec<_> = (0..3).map(|link| limit.enter(&by("ann", Some(link)), link).unwrap()).collect();
        assert!(limit.enter(&by("ann", Some(3)), 3).is_none(), "another link");
        assert!(limit.enter(&by("ann", Some(0)), 0).is_some(), "which it follows already");
        assert!(limit.enter(&by("bob", Some(0)), 3).is_some(), "somebody else's");
        assert!(limit.enter(&by("ann", None), 3).is_some(), "the maker's own");
        drop(of_links);
        assert!(limit.enter(&by("ann", Some(3)), 3).is_some(), "there is room");
        drop((first, shared, local));
        assert_eq!(limit.count(), 0, "nobody is remembered");
    }

    #[tokio::test]
    async fn who_has_several_requests_waits_for_their_own_and_nobody_else_does() {
        let turns = ClientTurns::default();
        let at = |last: u8| ClientKey::of_address([10, 0, 0, last].into());
        let (one, other) = (at(1), at(2));
        let first = turns.take(&one).await;
        let mut second = Box::pin(turns.take(&one));
        assert!(second.as_mut().now_or_never().is_none(), "one at a time");
        assert!(turns.take(&other).now_or_never().flatten().is_some(), "somebody else");
        assert!(turns.take(&ClientKey::Shared).now_or_never().is_some(), "behind these may be many");
        drop(first);
        assert!(second.await.is_some());
        let _last = turns.take(&other).await;
        assert_eq!(locked(&turns.0).len(), 1, "those that nobody has are forgotten");
    }
}
