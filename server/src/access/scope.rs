//! The scope of a share link. Pure.

use serde::{Deserialize, Serialize};
use timeline::address::{self, Parameters};
use timeline::words::{clock, safe};
use timeline::{Millis, Uid, Workload, WorkloadKind};

/// The part of the server that a link opens: never more than its maker may see.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum LinkScope {
    /// The workload of that name.
    Workload(WorkloadName),
    /// One of its rollouts and nothing else: live while its revision is the current one, later as it was at its end.
    Rollout {
        /// The workload.
        #[serde(flatten)]
        of: WorkloadName,
        /// Its UID.
        uid: Uid,
        /// The revision that it rolls out, by which the history knows it too.
        revision: u64,
    },
    /// One of its moments, and nothing else.
    #[serde(rename_all = "camelCase")]
    Moment {
        /// The workload.
        #[serde(flatten)]
        of: WorkloadName,
        /// Its UID.
        uid: Uid,
        /// The moment.
        at_millis: Millis,
    },
    /// A wall, with everything that it leads to.
    Wall {
        /// Its cluster; all without one.
        cluster: Option<String>,
        /// Its namespace; all without one.
        namespace: Option<String>,
    },
}

/// A workload by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkloadName {
    /// Its cluster.
    pub cluster: String,
    /// Its kind; links that were made before there were several are of Deployments.
    #[serde(default, rename = "workload")]
    pub kind: WorkloadKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl WorkloadName {
    /// Returns the name of a workload.
    pub fn of(workload: &Workload) -> Self {
        let Workload { cluster, kind, namespace, name, uid: _, rollout: _ } = workload.clone();
        Self { cluster, kind, namespace, name }
    }

    /// Returns the workload of that name, or the one with that UID.
    pub fn workload(&self, uid: Option<Uid>) -> Workload {
        let Self { cluster, kind, namespace, name } = self.clone();
        Workload { cluster, kind, namespace, name, uid, rollout: None }
    }

    fn words(&self) -> String {
        format!("{} {} / {} in {}", self.kind.name(), safe(&self.namespace), safe(&self.name), safe(&self.cluster))
    }
}

impl LinkScope {
    /// Returns the kind of the scope, for programs.
    pub const fn sort(&self) -> &'static str {
        match self {
            Self::Workload(_) => "workload",
            Self::Rollout { .. } => "rollout",
            Self::Moment { .. } => "moment",
            Self::Wall { .. } => "wall",
        }
    }

    /// Returns the workload that the link opens, or of which it opens a part.
    pub fn workload(&self) -> Option<Workload> {
        match self {
            Self::Workload(of) => Some(of.workload(None)),
            Self::Rollout { of, uid, .. } | Self::Moment { of, uid, .. } => Some(of.workload(Some(*uid))),
            Self::Wall { .. } => None,
        }
    }

    /// Returns the cluster of the scope; `None` for all clusters.
    pub fn cluster(&self) -> Option<&String> {
        match self {
            Self::Workload(of) | Self::Rollout { of, .. } | Self::Moment { of, .. } => Some(&of.cluster),
            Self::Wall { cluster, .. } => cluster.as_ref(),
        }
    }

    /// Returns the workload and its UID if the link opens one rollout or one moment of it.
    pub const fn part(&self) -> Option<(&WorkloadName, Uid)> {
        match self {
            Self::Rollout { of, uid, .. } | Self::Moment { of, uid, .. } => Some((of, *uid)),
            Self::Workload(_) | Self::Wall { .. } => None,
        }
    }

    /// Returns whether the link opens a part of that workload; `false` for a workload that names another rollout.
    pub fn is_part_of(&self, workload: &Workload) -> bool {
        self.part().is_some_and(|(of, uid)| {
            *of == WorkloadName::of(workload)
                && workload.uid.is_none_or(|named| named == uid)
                && workload.rollout.is_none()
        })
    }

    /// Returns whether something of a namespace may be within the scope.
    pub fn has_some_of(&self, of: &str, namespace: &str) -> bool {
        match self {
            Self::Workload(own) | Self::Rollout { of: own, .. } | Self::Moment { of: own, .. } => {
                own.cluster == of && own.namespace == namespace
            }
            Self::Wall { cluster, namespace: own } => {
                cluster.as_ref().is_none_or(|cluster| cluster == of) && own.as_ref().is_none_or(|own| own == namespace)
            }
        }
    }

    /// Returns the address of a rollout or a moment; `None` for wider scopes, within which any address is valid.
    pub fn address(&self) -> Option<String> {
        match self {
            Self::Rollout { of, uid, revision } => Some(address::permanent(&of.workload(None), *uid, Some(*revision))),
            Self::Moment { of, uid, at_millis } => Some(address::moment(&of.workload(None), *uid, *at_millis)),
            Self::Workload(_) | Self::Wall { .. } => None,
        }
    }

    /// Describes the scope; `to` is an address within it.
    pub fn words(&self, to: &str) -> String {
        match self {
            Self::Workload(of) => {
                let parameters = Parameters::parse(to.split_once('?').map_or("", |(_, query)| query));
                let has = |name| parameters.has(name);
                match () {
                    () if has("at") => format!("{}, at one of its moments", of.words()),
                    () if has("rollout") || has("revision") => format!("{}, at one of its rollouts", of.words()),
                    () => of.words(),
                }
            }
            Self::Rollout { of, revision, .. } => format!("The rollout of revision {revision} of {}", of.words()),
            Self::Moment { of, at_millis, .. } => {
                let day = crate::telemetry::clock::day(*at_millis);
                format!("{} as it was on {day} at {} UTC", of.words(), clock(*at_millis))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn web() -> WorkloadName {
        WorkloadName::of(&Workload::deployment("prod/eu", "shop", "web"))
    }

    #[test]
    fn a_rollout_and_a_moment_lead_to_addresses_of_their_own() {
        let uid = Uid::from_bits(7);
        let rollout = LinkScope::Rollout { of: web(), uid, revision: 3 };
        let moment = LinkScope::Moment { of: web(), uid, at_millis: 86_399_000 };
        let page = "/clusters/prod%2Feu/namespaces/shop/deployments/web";
        assert_eq!(rollout.address(), Some(format!("{page}?uid={uid}&revision=3")));
        assert_eq!(moment.address(), Some(format!("{page}?uid={uid}&at=86399000")));
        assert_eq!(rollout.words(""), "The rollout of revision 3 of Deployment shop / web in prod/eu");
        assert_eq!(moment.words(""), "Deployment shop / web in prod/eu as it was on 1 Jan 1970 at 23:59:59 UTC");
        let meant = |uid| web().workload(uid);
        assert!(rollout.is_part_of(&meant(None)) && rollout.is_part_of(&meant(Some(uid))));
        let others = [
            meant(Some(Uid::from_bits(8))),
            Workload { rollout: Some(0), ..meant(Some(uid)) },
            Workload { name: "other".into(), ..meant(None) },
        ];
        for other in others {
            assert!(!rollout.is_part_of(&other) && !moment.is_part_of(&other), "{other:?}");
        }
        assert!(!LinkScope::Workload(web()).is_part_of(&meant(None)), "it opens all of it");
    }

    #[test]
    fn what_was_written_down_is_read_again_also_by_links_from_before_there_were_kinds() {
        let uid = Uid::from_bits(7);
        for scope in [
            LinkScope::Workload(web()),
            LinkScope::Rollout { of: web(), uid, revision: 3 },
            LinkScope::Moment { of: web(), uid, at_millis: 5 },
            LinkScope::Wall { cluster: None, namespace: Some("shop".into()) },
        ] {
            let text = serde_json::to_string(&scope).unwrap();
            assert_eq!(serde_json::from_str::<LinkScope>(&text).unwrap(), scope, "{text}");
        }
        let old = r#"{"kind":"workload","cluster":"prod/eu","namespace":"shop","name":"web"}"#;
        assert_eq!(serde_json::from_str::<LinkScope>(old).unwrap(), LinkScope::Workload(web()));
    }
}
