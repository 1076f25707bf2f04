//! Limits how many lists and hubs each client follows, so that one client does not use up the places of the others.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

use super::Subjects;

/// What of an IPv6 address tells one from another where they are counted: whoever has a network has all addresses of it, and networks
/// are not smaller than this.
const CLIENT_NETWORK: u128 = u128::MAX << 64;

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
        Self::At(client_key(address))
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

/// The address under which the connections of a client are counted: one IPv4 address, or a network of IPv6 addresses.
pub(crate) fn client_key(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() & CLIENT_NETWORK).into()),
        address => address,
    }
}

/// What each client follows.
pub(crate) struct Followers<T> {
    /// Different ones of one client at once, and of all links of one maker together.
    most_of_one: usize,
    most_of_links: usize,
    /// Which, and how often.
    each: HashMap<Follower, HashMap<T, usize>>,
    /// How many the links of each maker follow together.
    of_links: HashMap<Arc<Subjects>, usize>,
}

impl<T: Clone + Eq + Hash> Followers<T> {
    /// Nobody follows anything; each may follow so many, and the links of one maker so many together.
    pub(crate) fn at_most(most_of_one: usize, most_of_links: usize) -> Self {
        Self { most_of_one, most_of_links, each: HashMap::new(), of_links: HashMap::new() }
    }

    /// They follow one more; `false` where that is one too many.
    pub(crate) fn enter(&mut self, follower: &Follower, followed: &T) -> bool {
        if let Some(times) = self.each.get_mut(follower).and_then(|all| all.get_mut(followed)) {
            *times += 1;
            return true;
        }
        let is_full =
            self.each.get(follower).is_some_and(|all| all.len() >= self.most_of_one) && *follower != Follower::Many;
        let maker = follower.maker();
        let of_links = maker.and_then(|maker| self.of_links.get(maker)).copied().unwrap_or_default();
        if is_full || of_links >= self.most_of_links {
            return false;
        }
        if let Some(maker) = maker {
            self.of_links.insert(maker.clone(), of_links + 1);
        }
        self.each.entry(follower.clone()).or_default().insert(followed.clone(), 1);
        true
    }

    /// They follow it once less.
    pub(crate) fn leave(&mut self, follower: &Follower, followed: &T) {
        let Some(all) = self.each.get_mut(follower) else { return };
        let Some(times) = all.get_mut(followed) else { return };
        *times -= 1;
        if *times > 0 {
            return;
        }
        all.remove(followed);
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
    pub(crate) fn count(&self) -> usize {
        self.each.len() + self.of_links.len()
    }
}
