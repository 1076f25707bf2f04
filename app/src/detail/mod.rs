//! What is told of one pod, of one revision, of all rollouts, and links to share: as data, made by the server and shown beside the
//! picture or as a page of its own ([`crate::components::detail`]). Times are numbers, so that each viewer reads them in a zone of
//! their own; everything else is words.

pub mod history;
pub mod lines;
pub mod pod;
pub mod revision;
pub mod rollouts;
pub mod share;

use serde::{Deserialize, Serialize};
use timeline::words::count;
use timeline::{Millis, Uid};

pub use self::lines::{Fact, Value};
pub use self::pod::PodDetail;
pub use self::revision::RevisionDetail;
pub use self::rollouts::RolloutsDetail;
pub use self::share::ShareDetail;
use crate::{address, payload};

/// Where a detail belongs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Home {
    /// Name of the cluster.
    pub cluster: String,
    /// Namespace.
    pub namespace: String,
    /// Name of the Deployment.
    pub name: String,
    /// Which one of that name, where the link says it.
    pub uid: Option<Uid>,
}

impl Home {
    /// The page of the Deployment.
    #[must_use]
    pub fn page(&self) -> String {
        match self.uid {
            Some(uid) => address::permanent(&self.cluster, &self.namespace, &self.name, uid, None),
            None => address::deployment(&self.cluster, &self.namespace, &self.name),
        }
    }

    /// The page of something below that of the Deployment, such as [`address::pod`].
    #[must_use]
    pub fn below(&self, path: &str) -> String {
        let page = address::deployment(&self.cluster, &self.namespace, &self.name);
        match self.uid {
            Some(uid) => format!("{page}/{path}?uid={uid}"),
            None => format!("{page}/{path}"),
        }
    }

    /// The page of a moment of the Deployment, which has that UID.
    #[must_use]
    pub fn moment(&self, uid: Uid, at_millis: Millis) -> String {
        let page = address::permanent(&self.cluster, &self.namespace, &self.name, uid, None);
        format!("{page}&at={at_millis}")
    }
}

/// Something about a Deployment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Detail {
    /// A pod.
    Pod(Box<PodDetail>),
    /// A revision.
    Revision(Box<RevisionDetail>),
    /// All its rollouts.
    Rollouts(RolloutsDetail),
    /// Links to it.
    Share(ShareDetail),
}

/// What a detail is about. While this stays the same, only what is said of it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The pod with that UID.
    Pod(Uid),
    /// The revision with that number.
    Revision(u64),
    /// All rollouts.
    Rollouts,
    /// The links.
    Share,
}

impl Detail {
    /// What it is about.
    #[must_use]
    pub fn subject(&self) -> Subject {
        match self {
            Self::Pod(pod) => Subject::Pod(pod.uid),
            Self::Revision(revision) => Subject::Revision(revision.revision),
            Self::Rollouts(_) => Subject::Rollouts,
            Self::Share(_) => Subject::Share,
        }
    }

    /// Its heading.
    #[must_use]
    pub fn title(&self) -> String {
        match self {
            Self::Pod(pod) => pod.name.clone(),
            Self::Revision(revision) => format!("Revision {}", revision.revision),
            Self::Rollouts(all) => format!("{} of {}", count(all.rollouts.len() as u32, "rollout"), all.name),
            Self::Share(_) => "Share".to_owned(),
        }
    }

    /// The title of its page.
    #[must_use]
    pub fn page_title(&self, home: &Home) -> String {
        payload::title(&self.title(), &home.namespace, &home.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_a_page_keeps_which_deployment_is_meant() {
        let uid: Uid = "00000000-0000-4000-8000-000000000001".parse().unwrap();
        let home = |uid| Home { cluster: "c".into(), namespace: "n".into(), name: "web".into(), uid };
        let page = "/clusters/c/namespaces/n/deployments/web";
        assert_eq!(home(None).below("revisions/2"), format!("{page}/revisions/2"));
        assert_eq!(home(Some(uid)).below("revisions/2"), format!("{page}/revisions/2?uid={uid}"));
        assert_eq!(home(None).moment(uid, 7), format!("{page}?uid={uid}&at=7"));
    }
}
