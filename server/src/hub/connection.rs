//! Combines the states of a cluster's watches and its liveness into one connection state. Pure.

use std::collections::{BTreeMap, BTreeSet};

use timeline::Millis;
use timeline::fact::Kind;
use timeline::wire::{Connection, ConnectionState, Forbidden, Listing};

use crate::kube::Health;

#[derive(Debug, Default)]
pub(super) struct Watches {
    pub(super) health: BTreeMap<(Kind, Option<String>), Health>,
    /// Time of the last response and the error, while the cluster does not respond.
    pub(super) silent: Option<(Millis, String)>,
    /// Name of the recording that is played, if nothing is watched.
    pub(super) recording: Option<String>,
}

impl Watches {
    pub(super) fn note(&mut self, kind: Kind, namespace: Option<String>, health: Health) {
        self.health.insert((kind, namespace), health);
    }

    pub(super) fn forbidden_lists(&self) -> impl Iterator<Item = &(Kind, Option<String>)> {
        let unlisted = |health: &Health| *health == Health::Forbidden { verb: "list" };
        self.health.iter().filter(move |(_, health)| unlisted(health)).map(|(watch, _)| watch)
    }

    /// Returns the connection state of the cluster: the worst state of its watches. A forbidden kind does not make the
    /// others worse.
    pub(super) fn connection(&self) -> Connection {
        if let Some(name) = &self.recording {
            return Connection { state: ConnectionState::Replay { name: name.clone() }, ..Connection::default() };
        }
        let forbidden = self.health.iter().filter_map(|((kind, namespace), health)| match health {
            Health::Forbidden { verb } => Some(Forbidden {
                verb: (*verb).to_owned(),
                resource: kind.resource().to_owned(),
                namespace: namespace.clone(),
            }),
            _ => None,
        });
        let stale = self.health.values().filter_map(|health| match health {
            Health::Stale { since_millis, retry_at_millis, why } => {
                Some((*since_millis, *retry_at_millis, why.clone()))
            }
            _ => None,
        });
        let stale = stale.min_by_key(|(since, ..)| *since);
        // While nothing responds, only the liveness probe sends requests: no watch retries at the time that it last reported.
        let worst = match (self.silent.clone(), stale) {
            (Some((since, why)), stale) => Some((stale.map_or(since, |(stale, ..)| stale.min(since)), None, why)),
            (None, stale) => stale,
        };
        let is_connecting = |health: &Health| matches!(health, Health::Connecting { .. });
        let state = match worst {
            Some((since_millis, retry_at_millis, why)) => ConnectionState::Stale { since_millis, retry_at_millis, why },
            None if self.health.is_empty() || self.health.values().any(is_connecting) => ConnectionState::Connecting,
            None => ConnectionState::Live,
        };
        let listing = self.listing().filter(|_| state == ConnectionState::Connecting);
        let stale_kinds = self.stale_kinds();
        Connection { state, stale_kinds, forbidden: forbidden.collect(), listing, ..Connection::default() }
    }

    /// Returns the stale kinds while the API server responds and each other kind is live; empty if a kind is live in
    /// one namespace and stale in another.
    fn stale_kinds(&self) -> Vec<String> {
        let kinds = |of: fn(&Health) -> bool| -> BTreeSet<Kind> {
            self.health.iter().filter(|(_, health)| of(health)).map(|((kind, _), _)| *kind).collect()
        };
        let (stale, live) =
            (kinds(|health| matches!(health, Health::Stale { .. })), kinds(|health| *health == Health::Live));
        if self.silent.is_some() || live.is_empty() || !stale.is_disjoint(&live) {
            return Vec::new();
        }
        stale.into_iter().map(|kind| kind.plural().to_owned()).collect()
    }

    /// Returns the kind whose first lists hold the most objects so far, in all namespaces; `None` until one of them
    /// takes long enough to show.
    fn listing(&self) -> Option<Listing> {
        let mut listed: BTreeMap<Kind, u64> = BTreeMap::new();
        for ((kind, _), health) in &self.health {
            if let Health::Connecting { listed: objects } = health {
                *listed.entry(*kind).or_default() += *objects as u64;
            }
        }
        let (kind, objects) = listed.into_iter().max_by_key(|(_, objects)| *objects)?;
        (objects > 0).then(|| Listing { resource: kind.plural().to_owned(), objects })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stale(since_millis: Millis) -> Health {
        Health::Stale { since_millis, retry_at_millis: Some(since_millis + 5), why: "refused".into() }
    }

    #[test]
    fn the_longest_first_list_tells_how_far_it_is() {
        let mut watches = Watches::default();
        let listing =
            |watches: &Watches| watches.connection().listing.map(|listing| (listing.resource, listing.objects));
        let namespace = |name: &str| Some(name.to_owned());
        watches.note(Kind::Deployment, None, Health::Connecting { listed: 0 });
        assert_eq!(listing(&watches), None);
        watches.note(Kind::Pod, namespace("a"), Health::Connecting { listed: 1_000 });
        watches.note(Kind::Pod, namespace("b"), Health::Connecting { listed: 500 });
        watches.note(Kind::Event, None, Health::Connecting { listed: 1_200 });
        assert_eq!(listing(&watches), Some(("pods".to_owned(), 1_500)));
        watches.note(Kind::Event, None, stale(20));
        assert_eq!(listing(&watches), None, "what is stale is said instead");
    }

    #[test]
    fn the_oldest_staleness_wins_and_forbidden_kinds_do_not_spoil_the_rest() {
        let mut watches = Watches::default();
        assert_eq!(watches.connection().state, ConnectionState::Connecting);
        watches.note(Kind::Pod, None, Health::Live);
        watches.note(Kind::Event, None, Health::Forbidden { verb: "list" });
        let connection = watches.connection();
        assert_eq!(connection.state, ConnectionState::Live);
        assert_eq!(
            connection.forbidden,
            [Forbidden { verb: "list".into(), resource: "events".into(), namespace: None }]
        );
        watches.note(Kind::Pod, None, stale(20));
        watches.silent = Some((10, "silent".into()));
        assert_eq!(
            watches.connection().state,
            ConnectionState::Stale { since_millis: 10, retry_at_millis: None, why: "silent".into() }
        );
        // The watch reported the time of a retry; while nothing responds there is none.
        watches.note(Kind::Pod, None, stale(5));
        assert_eq!(
            watches.connection().state,
            ConnectionState::Stale { since_millis: 5, retry_at_millis: None, why: "silent".into() }
        );
        watches.note(Kind::Pod, None, stale(20));
        watches.silent = None;
        assert_eq!(watches.connection().stale_kinds, <[&str; 0]>::default(), "nothing is live");
        watches.note(Kind::Deployment, None, Health::Live);
        assert_eq!(watches.connection().stale_kinds, ["pods"]);
        watches.note(Kind::Pod, Some("a".to_owned()), Health::Live);
        assert_eq!(watches.connection().stale_kinds, <[&str; 0]>::default(), "pods of another namespace are live");
        assert!(matches!(watches.connection().state, ConnectionState::Stale { since_millis: 20, .. }));
    }
}
