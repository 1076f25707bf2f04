//! What somebody may see: which clusters, and which of their namespaces. Pure.

use std::collections::{BTreeMap, BTreeSet};

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use timeline::wire::Connection;
use timeline::words::safe;

/// What a viewer may see.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Sight {
    /// Everything.
    All,
    /// These clusters, as far as said; the others are not there.
    Part {
        /// By name.
        clusters: BTreeMap<String, Seen>,
        /// A cluster does not say what may be seen of it.
        is_silent: bool,
    },
}

/// What may be seen of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Seen {
    /// All of it.
    All,
    /// These namespaces.
    Namespaces(BTreeSet<String>),
    /// One workload.
    Workload {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// What a link opens, whoever has it: no more of what its maker may see.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Scope {
    /// The workload of that name.
    Workload {
        /// Its cluster.
        cluster: String,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// A wall, with everything that it leads to.
    Wall {
        /// Of one cluster; of all where none is named.
        cluster: Option<String>,
        /// Of one namespace; of all where none is named.
        namespace: Option<String>,
    },
}

impl Seen {
    /// A workload of that name is among it, if there is one.
    #[must_use]
    pub fn has(&self, namespace: &str, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Namespaces(all) => all.contains(namespace),
            Self::Workload { namespace: of, name: only } => of == namespace && only == name,
        }
    }

    /// Something of a namespace is among it.
    #[must_use]
    pub fn has_some_of(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Namespaces(all) => all.contains(namespace),
            Self::Workload { namespace: of, .. } => of == namespace,
        }
    }

    /// How the server gets on with the cluster, without what tells of other namespaces.
    #[must_use]
    pub fn of_connection(&self, mut connection: Connection) -> Connection {
        connection
            .forbidden
            .retain(|forbidden| forbidden.namespace.as_ref().is_none_or(|namespace| self.has_some_of(namespace)));
        connection
    }
}

impl Scope {
    /// What a link to an address of this server would open; `None` where there are no links to that.
    #[must_use]
    pub fn of_address(to: &str) -> Option<Self> {
        let (path, query) = to.split_once('?').unwrap_or((to, ""));
        let decoded = |part: &str| percent_decode_str(part).decode_utf8().ok().map(|text| text.into_owned());
        let parts: Vec<String> = path.trim_start_matches('/').split('/').map(decoded).collect::<Option<_>>()?;
        match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["wall"] => {
                let named = |name: &str| {
                    let all = form_urlencoded::parse(query.as_bytes()).filter(|(known, _)| known == name);
                    all.last().map(|(_, value)| value.into_owned()).filter(|value| !value.is_empty())
                };
                // What is searched for is no limit: a link to it would open more than it seems to.
                let is_searched = ["q", "labels", "show"].iter().any(|name| named(name).is_some());
                (!is_searched).then(|| Self::Wall { cluster: named("cluster"), namespace: named("namespace") })
            }
            ["clusters", cluster, "namespaces", namespace, "deployments", name, ..] => Some(Self::Workload {
                cluster: (*cluster).to_owned(),
                namespace: (*namespace).to_owned(),
                name: (*name).to_owned(),
            }),
            _ => None,
        }
    }

    /// The cluster that it is of; `None` where it is of all.
    #[must_use]
    pub fn cluster(&self) -> Option<&String> {
        match self {
            Self::Workload { cluster, .. } => Some(cluster),
            Self::Wall { cluster, .. } => cluster.as_ref(),
        }
    }

    /// Something of a namespace may be within it.
    #[must_use]
    pub fn has_some_of(&self, of: &str, namespace: &str) -> bool {
        match self {
            Self::Workload { cluster, namespace: own, .. } => cluster == of && own == namespace,
            Self::Wall { cluster, namespace: own } => {
                cluster.as_ref().is_none_or(|cluster| cluster == of) && own.as_ref().is_none_or(|own| own == namespace)
            }
        }
    }

    /// What a link opens that leads to an address within it.
    #[must_use]
    pub fn words(&self, to: &str) -> String {
        match self {
            Self::Workload { cluster, namespace, name } => {
                let of = format!("Deployment {} / {} in {}", safe(namespace), safe(name), safe(cluster));
                let query = to.split_once('?').map_or("", |(_, query)| query);
                let has = |name| form_urlencoded::parse(query.as_bytes()).any(|(known, _)| known == name);
                match () {
                    () if has("at") => format!("{of}, at one of its moments"),
                    () if has("rollout") || has("revision") => format!("{of}, at one of its rollouts"),
                    () => of,
                }
            }
            Self::Wall { cluster, namespace } => match (cluster, namespace) {
                (None, None) => "The wall".to_owned(),
                (Some(cluster), None) => format!("The wall of {}", safe(cluster)),
                (None, Some(namespace)) => format!("The wall of namespace {}", safe(namespace)),
                (Some(cluster), Some(namespace)) => {
                    format!("The wall of namespace {} in {}", safe(namespace), safe(cluster))
                }
            },
        }
    }
}

impl Sight {
    /// What may be seen of a cluster; `None` where that is nothing.
    #[must_use]
    pub fn of(&self, cluster: &str) -> Option<&Seen> {
        match self {
            Self::All => Some(&Seen::All),
            Self::Part { clusters, .. } => clusters.get(cluster),
        }
    }

    /// A workload of that name may be seen, if there is one.
    #[must_use]
    pub fn has(&self, cluster: &str, namespace: &str, name: &str) -> bool {
        self.of(cluster).is_some_and(|seen| seen.has(namespace, name))
    }

    /// What is left of it for whoever has a link to something.
    #[must_use]
    pub fn within(&self, scope: &Scope) -> Self {
        let is_silent = self.is_silent();
        let of = |clusters: BTreeMap<String, Seen>| Self::Part { clusters, is_silent };
        match scope {
            Scope::Workload { cluster, namespace, name } => {
                let only = Seen::Workload { namespace: namespace.clone(), name: name.clone() };
                let is_there = self.has(cluster, namespace, name);
                let clusters = is_there.then(|| (cluster.clone(), only)).into_iter().collect();
                // Other clusters are no business of who has this link.
                Self::Part { clusters, is_silent: is_silent && !is_there }
            }
            Scope::Wall { cluster: None, namespace: None } => self.clone(),
            Scope::Wall { cluster, namespace } => {
                let Self::Part { clusters, .. } = self else { return of(BTreeMap::new()) }; // where nobody signs in there are no links
                let named = clusters.iter().filter(|(name, _)| cluster.as_ref().is_none_or(|only| only == *name));
                let narrow = |(name, seen): (&String, &Seen)| {
                    let seen = match namespace {
                        None => seen.clone(),
                        Some(only) if seen.has_some_of(only) => Seen::Namespaces(BTreeSet::from([only.clone()])),
                        Some(_) => return None,
                    };
                    Some((name.clone(), seen))
                };
                of(named.filter_map(narrow).collect())
            }
        }
    }

    /// The same, and that namespace.
    #[must_use]
    pub fn and(&self, cluster: &str, namespace: &str) -> Self {
        let mut more = self.clone();
        if let Self::Part { clusters, .. } = &mut more {
            let seen = clusters.entry(cluster.to_owned()).or_insert_with(|| Seen::Namespaces(BTreeSet::new()));
            if let Seen::Namespaces(all) = seen {
                all.insert(namespace.to_owned());
            }
        }
        more
    }

    /// A cluster does not say what may be seen of it. Which one is not told: that it is there may be all that is hidden.
    #[must_use]
    pub const fn is_silent(&self) -> bool {
        matches!(self, Self::Part { is_silent: true, .. })
    }

    /// A sentence about a cluster that does not say what may be seen; empty when all do.
    #[must_use]
    pub const fn trouble(&self) -> &'static str {
        if self.is_silent() {
            "A cluster does not say at present what you may see of it: nothing of it is shown."
        } else {
            ""
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(cluster: &str, namespace: &str, name: &str) -> Scope {
        Scope::Workload { cluster: cluster.into(), namespace: namespace.into(), name: name.into() }
    }

    fn names(all: &[&str]) -> Seen {
        Seen::Namespaces(all.iter().map(|name| (*name).to_owned()).collect())
    }

    fn part(clusters: &[(&str, Seen)]) -> Sight {
        let clusters = clusters.iter().map(|(name, seen)| ((*name).to_owned(), seen.clone())).collect();
        Sight::Part { clusters, is_silent: false }
    }

    #[test]
    fn links_lead_to_workloads_and_walls_only() {
        let web = Some(workload("prod/eu", "shop", "web"));
        for to in [
            "/clusters/prod%2Feu/namespaces/shop/deployments/web",
            "/clusters/prod%2Feu/namespaces/shop/deployments/web?at=5",
            "/clusters/prod%2Feu/namespaces/shop/deployments/web/pods/x",
        ] {
            assert_eq!(Scope::of_address(to), web, "{to}");
        }
        let wall = Scope::Wall { cluster: Some("b".into()), namespace: None };
        assert_eq!(Scope::of_address("/wall?cluster=a&cluster=b&namespace="), Some(wall));
        for to in [
            "/",
            "",
            "/history",
            "/clusters/prod",
            "/clusters/prod/namespaces/shop",
            "/metrics",
            "/wall/x",
            "/%ff",
            "/wall?q=web",
            "/wall?labels=a%3Db",
        ] {
            assert_eq!(Scope::of_address(to), None, "{to}");
        }
    }

    #[test]
    fn a_link_opens_no_more_than_its_maker_sees() {
        let maker = part(&[("prod", names(&["shop", "pay"])), ("dev", Seen::All)]);
        let web = maker.within(&workload("prod", "shop", "web"));
        assert!(web.has("prod", "shop", "web"));
        for (cluster, namespace, name) in
            [("prod", "shop", "other"), ("prod", "pay", "web"), ("dev", "shop", "web"), ("prod", "shop", "")]
        {
            assert!(!web.has(cluster, namespace, name), "{cluster} {namespace} {name}");
        }
        assert_eq!(maker.within(&workload("prod", "secret", "web")), part(&[]));
        assert_eq!(maker.within(&workload("gone", "shop", "web")), part(&[]));
        let wall = |cluster: Option<&str>, namespace: Option<&str>| {
            maker.within(&Scope::Wall { cluster: cluster.map(str::to_owned), namespace: namespace.map(str::to_owned) })
        };
        assert_eq!(wall(None, None), maker);
        assert_eq!(wall(Some("prod"), None), part(&[("prod", names(&["shop", "pay"]))]));
        assert_eq!(wall(None, Some("pay")), part(&[("dev", names(&["pay"])), ("prod", names(&["pay"]))]));
        assert_eq!(wall(Some("prod"), Some("secret")), part(&[]));
        assert_eq!(wall(Some("gone"), None), part(&[]));
    }
}
