//! The clusters and namespaces that a viewer may see. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use timeline::WorkloadKind;
use timeline::view::Summary;
use timeline::wire::{Connection, ConnectionState};

use crate::access::scope::{LinkScope, WorkloadName};
use crate::hub::List;

/// Why a cluster is stale, or its history is not written, in words for viewers who do not see all of the cluster.
const NO_WORD: &str = "the cluster does not respond";
pub(crate) const UNWRITTEN: &str = "it cannot be written right now";

/// The permissions of a viewer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Permissions {
    /// Everything.
    All,
    /// These clusters, as far as given; all others are hidden.
    Part {
        /// By name.
        clusters: BTreeMap<String, ClusterPermissions>,
        /// A cluster does not respond to reviews.
        is_silent: bool,
    },
}

/// The permissions of a viewer in a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ClusterPermissions {
    /// All of it.
    All,
    /// All of its workloads, by a link: without figures of the whole cluster and texts for operators.
    AllByLink,
    /// These namespaces.
    Namespaces(BTreeSet<String>),
    /// One workload.
    Workload(WorkloadName),
}

impl ClusterPermissions {
    /// Returns whether a workload of that name would be visible.
    pub fn has(&self, kind: WorkloadKind, namespace: &str, name: &str) -> bool {
        self.has_all_of(namespace)
            || matches!(self, Self::Workload(of) if of.kind == kind && of.namespace == namespace && of.name == name)
    }

    /// Returns the visible Deployments of a list.
    pub fn visible(&self, list: List) -> List {
        if matches!(self, Self::All | Self::AllByLink) {
            return list;
        }
        let is_visible = |summary: &Summary| self.has(WorkloadKind::Deployment, &summary.namespace, &summary.name);
        Arc::new(list.iter().filter(|listed| is_visible(&listed.summary)).cloned().collect())
    }

    /// Returns whether all of a namespace is visible.
    pub fn has_all_of(&self, namespace: &str) -> bool {
        match self {
            Self::All | Self::AllByLink => true,
            Self::Namespaces(all) => all.contains(namespace),
            Self::Workload(_) => false,
        }
    }

    /// Returns whether something of a namespace is visible.
    pub fn has_some_of(&self, namespace: &str) -> bool {
        self.has_all_of(namespace) || matches!(self, Self::Workload(of) if of.namespace == namespace)
    }

    /// Returns the connection state without details of other namespaces. Reasons are for viewers who see the whole
    /// cluster: errors name databases, folders, kubeconfigs, and certificate contents.
    pub fn of_connection(&self, mut connection: Connection) -> Connection {
        connection
            .forbidden
            .retain(|forbidden| forbidden.namespace.as_ref().is_none_or(|namespace| self.has_some_of(namespace)));
        if *self != Self::All {
            connection.listing = None; // it counts objects in all namespaces
            if let ConnectionState::Stale { why, .. } = &mut connection.state {
                NO_WORD.clone_into(why);
            }
            if let Some(unwritten) = &mut connection.unwritten {
                UNWRITTEN.clone_into(&mut unwritten.why);
            }
        }
        connection
    }
}

impl Permissions {
    /// Returns permissions to see nothing.
    pub const fn none() -> Self {
        Self::Part { clusters: BTreeMap::new(), is_silent: false }
    }

    /// Returns the permissions in a cluster; `None` if there are none.
    pub fn of(&self, cluster: &str) -> Option<&ClusterPermissions> {
        match self {
            Self::All => Some(&ClusterPermissions::All),
            Self::Part { clusters, .. } => clusters.get(cluster),
        }
    }

    /// Returns whether a workload of that name would be visible.
    pub fn has(&self, cluster: &str, kind: WorkloadKind, namespace: &str, name: &str) -> bool {
        self.of(cluster).is_some_and(|seen| seen.has(kind, namespace, name))
    }

    /// Reduces the permissions to the scope of a link.
    pub fn limited_to(&self, scope: &LinkScope) -> Self {
        let is_silent = self.is_silent();
        let of = |clusters: BTreeMap<String, ClusterPermissions>| Self::Part { clusters, is_silent };
        match scope {
            LinkScope::Workload(of) | LinkScope::Rollout { of, .. } | LinkScope::Moment { of, .. } => {
                let is_there = self.has(&of.cluster, of.kind, &of.namespace, &of.name);
                let only = is_there.then(|| (of.cluster.clone(), ClusterPermissions::Workload(of.clone())));
                let clusters = only.into_iter().collect();
                // Other clusters do not concern the viewer of this link.
                Self::Part { clusters, is_silent: is_silent && !is_there }
            }
            LinkScope::Wall { cluster, namespace } => {
                let Self::Part { clusters, .. } = self else { return of(BTreeMap::new()) }; // no sign-in, no links
                let named = clusters.iter().filter(|(name, _)| cluster.as_ref().is_none_or(|only| only == *name));
                let narrow = |(name, seen): (&String, &ClusterPermissions)| {
                    let seen = match namespace {
                        None if *seen == ClusterPermissions::All => ClusterPermissions::AllByLink,
                        None => seen.clone(),
                        Some(only) if seen.has_some_of(only) => {
                            ClusterPermissions::Namespaces(BTreeSet::from([only.clone()]))
                        }
                        Some(_) => return None,
                    };
                    Some((name.clone(), seen))
                };
                of(named.filter_map(narrow).collect())
            }
        }
    }

    /// Adds a namespace.
    pub fn and(&self, cluster: &str, namespace: &str) -> Self {
        let mut more = self.clone();
        if let Self::Part { clusters, .. } = &mut more {
            let seen =
                clusters.entry(cluster.to_owned()).or_insert_with(|| ClusterPermissions::Namespaces(BTreeSet::new()));
            if let ClusterPermissions::Namespaces(all) = seen {
                all.insert(namespace.to_owned());
            }
        }
        more
    }

    /// Returns whether a cluster does not respond to reviews. Which one stays secret: its existence may be hidden.
    pub const fn is_silent(&self) -> bool {
        matches!(self, Self::Part { is_silent: true, .. })
    }

    /// Returns a sentence about a cluster that does not respond to reviews; empty if all do.
    pub const fn trouble(&self) -> &'static str {
        if self.is_silent() {
            "Cannot check your permissions on a cluster right now. Its workloads are hidden. If this lasts, see Rollcast's log: its account may lack create on subjectaccessreviews.authorization.k8s.io or tokenreviews.authentication.k8s.io."
        } else {
            ""
        }
    }
}

#[cfg(test)]
mod tests {
    use timeline::Workload;
    use timeline::wire::Unwritten;

    use super::*;

    fn workload(cluster: &str, namespace: &str, name: &str) -> LinkScope {
        LinkScope::Workload(WorkloadName::of(&Workload::deployment(cluster, namespace, name)))
    }

    fn names(all: &[&str]) -> ClusterPermissions {
        ClusterPermissions::Namespaces(all.iter().map(|name| (*name).to_owned()).collect())
    }

    fn part(clusters: &[(&str, ClusterPermissions)]) -> Permissions {
        let clusters = clusters.iter().map(|(name, seen)| ((*name).to_owned(), seen.clone())).collect();
        Permissions::Part { clusters, is_silent: false }
    }

    #[test]
    fn a_link_opens_no_more_than_its_maker_sees() {
        let maker = part(&[("prod", names(&["shop", "pay"])), ("dev", ClusterPermissions::All)]);
        let web = maker.limited_to(&workload("prod", "shop", "web"));
        let has = |cluster, namespace, name| web.has(cluster, WorkloadKind::Deployment, namespace, name);
        assert!(has("prod", "shop", "web"));
        for (cluster, namespace, name) in
            [("prod", "shop", "other"), ("prod", "pay", "web"), ("dev", "shop", "web"), ("prod", "shop", "")]
        {
            assert!(!has(cluster, namespace, name), "{cluster} {namespace} {name}");
        }
        assert_eq!(maker.limited_to(&workload("prod", "secret", "web")), part(&[]));
        assert_eq!(maker.limited_to(&workload("gone", "shop", "web")), part(&[]));
        let wall = |cluster: Option<&str>, namespace: Option<&str>| {
            maker.limited_to(&LinkScope::Wall {
                cluster: cluster.map(str::to_owned),
                namespace: namespace.map(str::to_owned),
            })
        };
        assert_eq!(
            wall(None, None),
            part(&[("prod", names(&["shop", "pay"])), ("dev", ClusterPermissions::AllByLink)])
        );
        assert_eq!(wall(Some("prod"), None), part(&[("prod", names(&["shop", "pay"]))]));
        assert_eq!(wall(None, Some("pay")), part(&[("dev", names(&["pay"])), ("prod", names(&["pay"]))]));
        assert_eq!(wall(Some("prod"), Some("secret")), part(&[]));
        assert_eq!(wall(Some("gone"), None), part(&[]));
    }

    #[test]
    fn why_something_is_wrong_is_told_to_those_who_see_all_of_a_cluster() {
        let why = "cannot read /etc/operators/kubeconfig".to_owned();
        let state = ConnectionState::Stale { since_millis: 1, retry_at_millis: Some(2), why: why.clone() };
        let unwritten = Some(Unwritten { since_millis: 3, why });
        let whole = Connection { state, unwritten, ..Connection::default() };
        assert_eq!(ClusterPermissions::All.of_connection(whole.clone()), whole);
        for seen in [ClusterPermissions::AllByLink, names(&["shop"])] {
            let told = seen.of_connection(whole.clone());
            let state = ConnectionState::Stale { since_millis: 1, retry_at_millis: Some(2), why: NO_WORD.to_owned() };
            let unwritten = Some(Unwritten { since_millis: 3, why: UNWRITTEN.to_owned() });
            assert_eq!(told, Connection { state, unwritten, ..Connection::default() }, "{seen:?}");
        }
    }
}
