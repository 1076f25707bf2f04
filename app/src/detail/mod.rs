//! What is told of one pod, of one revision, of all rollouts, and links to share: as data, made by the server and shown beside the
//! picture or as a page of its own ([`crate::components::detail`]).

use serde::{Deserialize, Serialize};
use timeline::Uid;

use crate::address;

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
}

/// Something about a Deployment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Detail {
    /// Links to it.
    Share,
}

impl Detail {
    /// Its heading.
    #[must_use]
    pub fn title(&self) -> String {
        match self {
            Self::Share => "Share".to_owned(),
        }
    }
}
