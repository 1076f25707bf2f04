//! Objects as they travel: of each the fields that viewers show. What stays at home is named in the conversions.

mod deployment;
mod pod;
mod replica_set;

use serde::{Deserialize, Serialize};

pub use deployment::{Deployment, DeploymentNow, Rollout};
pub use pod::{Pod, PodNow};
pub use replica_set::{ReplicaSet, ReplicaSetNow};

use crate::Uid;
use crate::model::Model;

/// One Deployment with all that belongs to it; nothing when there is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Objects {
    /// The Deployment.
    pub deployments: Vec<Deployment>,
    /// ReplicaSets that it controls or ever controlled, by arrival.
    pub replica_sets: Vec<ReplicaSet>,
    /// Pods that any of these controls or ever controlled, by arrival.
    pub pods: Vec<Pod>,
}

impl Objects {
    /// What a viewer of `deployment` needs.
    #[must_use]
    pub fn of(model: &Model, deployment: Uid) -> Self {
        Self {
            deployments: model.deployments.get(&deployment).map(Deployment::of).into_iter().collect(),
            replica_sets: model.sets_of(deployment).map(ReplicaSet::of).collect(),
            pods: model.pods_of_deployment(deployment).into_iter().map(Pod::of).collect(),
        }
    }
}

impl From<Objects> for Model {
    fn from(objects: Objects) -> Self {
        let mut model = Self::default();
        objects
            .deployments
            .into_iter()
            .for_each(|deployment| model.deployments.insert(deployment.uid, deployment.into()));
        objects.replica_sets.into_iter().for_each(|set| model.replica_sets.insert(set.uid, set.into()));
        objects.pods.into_iter().for_each(|pod| model.pods.insert(pod.uid, pod.into()));
        model.index();
        model
    }
}
