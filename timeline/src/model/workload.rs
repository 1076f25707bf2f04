//! Identifies a workload: by cluster, kind, namespace and name, and by UID if several workloads had that name.

use serde::{Deserialize, Serialize};

use crate::model::Deployment;
use crate::model::names::names;
use crate::{Model, Uid};

/// A kind of object that rolls out revisions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum WorkloadKind {
    /// `apps/v1` Deployment.
    #[default]
    Deployment,
}

names! {
    /// The kind as Kubernetes spells it.
    WorkloadKind {
        Deployment => "Deployment",
    }
}

impl WorkloadKind {
    /// Returns the resource: its name in the paths of Kubernetes' API and of this server.
    pub const fn resource(self) -> &'static str {
        match self {
            Self::Deployment => "deployments",
        }
    }

    /// Returns the kind of a resource.
    pub fn of_resource(resource: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.resource() == resource)
    }
}

/// A workload of one of several clusters.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Workload {
    /// Name of the cluster.
    pub cluster: String,
    /// Its kind.
    pub kind: WorkloadKind,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// UID; `None` for the present or last workload of that name.
    pub uid: Option<Uid>,
    /// Index of one of its rollouts, in the order of observation, to select an ended one; `None` for the present state.
    pub rollout: Option<u32>,
}

impl Workload {
    /// Returns the Deployment that has this name now, or was the last with it.
    pub fn deployment(cluster: impl Into<String>, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        let (cluster, namespace, name) = (cluster.into(), namespace.into(), name.into());
        Self { cluster, kind: WorkloadKind::Deployment, namespace, name, uid: None, rollout: None }
    }

    /// Selects the workload with that UID among those that had the name.
    #[must_use]
    pub fn with_uid(self, uid: Option<Uid>) -> Self {
        Self { uid, ..self }
    }

    /// Finds it in the model of its cluster.
    pub fn find<'m>(&self, model: &'m Model) -> Option<&'m Deployment> {
        match (self.kind, self.uid) {
            (WorkloadKind::Deployment, None) => model.find(&self.namespace, &self.name),
            (WorkloadKind::Deployment, Some(uid)) => {
                let known = model.deployments.get(&uid)?;
                (known.name == self.name && known.namespace == self.namespace).then_some(known)
            }
        }
    }
}
