//! Pods of a Deployment counted by what they do for it, as they are seen or, where they are not, as ReplicaSets report them.

use serde::{Deserialize, Serialize};

use crate::model::fact::DeploymentStatus;
use crate::model::{Deployment, PodCounts, ReplicaSet};
use crate::{Model, Uid};

/// Pods of a Deployment, counted by what they do for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Available, of any revision.
    pub available: u32,
    /// On their way, or failing.
    pub not_yet: u32,
    /// Failed for good, and not cleaned up yet; no controller counts them.
    pub failed: u32,
    /// Draining; counted nowhere in the budget.
    pub terminating: u32,
    /// Released and still running.
    pub out_of_rotation: u32,
    /// Available, of the current revision; none while the ReplicaSet of an edited template is awaited.
    pub new_available: u32,
    /// Sum of the ReplicaSets' `spec.replicas`: how many pods the controllers are to keep.
    pub desired: u32,
}

/// A ReplicaSet in figures, said in the same moment as everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetCounts {
    /// The ReplicaSet.
    pub uid: Uid,
    /// `spec.replicas`.
    pub desired: u32,
    /// Its pods that are available.
    pub available: u32,
}

/// Pods as they are seen.
pub(super) fn count_pods(model: &Model, deployment: &Deployment, new: Option<&ReplicaSet>) -> Counts {
    let sets = model.controlled_sets(deployment.uid);
    let all = sets.fold(PodCounts::default(), |sum, set| sum + model.pod_counts(set.uid));
    Counts {
        available: all.available,
        not_yet: all.not_yet,
        failed: all.failed,
        terminating: all.terminating,
        out_of_rotation: all.out_of_rotation,
        new_available: new.map_or(0, |set| model.pod_counts(set.uid).available),
        ..Counts::default()
    }
}

/// Counts the failing pods among those that are not available yet, as far as pods are seen.
pub fn count_failing(model: &Model, deployment: &Deployment) -> u32 {
    model.controlled_sets(deployment.uid).map(|set| model.pod_counts(set.uid).failing).sum()
}

/// Counts the pods that ReplicaSets report, where pods are not seen.
pub(super) fn count_reported_by_sets(model: &Model, deployment: &Deployment, new: Option<&ReplicaSet>) -> Counts {
    let told = || model.owned_sets(deployment.uid).map(|set| set.now.counts);
    Counts {
        available: told().map(|told| told.available).sum(),
        not_yet: told().map(|told| told.replicas.saturating_sub(told.available)).sum(),
        new_available: new.map_or(0, |set| set.now.counts.available),
        ..Counts::default()
    }
}

/// Counts the pods that a Deployment reports, where its ReplicaSets are not seen.
pub(super) fn count_reported_by_deployment(status: &DeploymentStatus) -> Counts {
    Counts {
        available: status.available,
        not_yet: status.replicas.saturating_sub(status.available),
        new_available: status.available.min(status.updated),
        ..Counts::default()
    }
}

/// Counts the pods of each ReplicaSet that a Deployment controls; a deleted one has what is left of its pods.
pub fn count_sets(model: &Model, deployment: &Deployment, sees_pods: bool) -> Vec<SetCounts> {
    let mine = model.sets_of(deployment.uid).filter(|set| set.owner == Some(deployment.uid));
    let counted = mine.map(|set| {
        let available = match set.removed_millis {
            None if !sees_pods => set.now.counts.available,
            _ => model.pod_counts(set.uid).available,
        };
        let desired = if set.removed_millis.is_some() { 0 } else { set.now.counts.desired };
        SetCounts { uid: set.uid, desired, available }
    });
    counted.filter(|counts| counts.desired + counts.available > 0).collect()
}

/// Pods that the ReplicaSet controller is yet to make, and to remove, so that there are as many as `spec.replicas` of the ReplicaSets.
pub(super) fn count_owed(model: &Model, deployment: &Deployment) -> (u32, u32) {
    model.owned_sets(deployment.uid).fold((0, 0), |(make, remove), set| {
        let (there, desired) = (model.pod_counts(set.uid).active, set.now.counts.desired);
        (make + desired.saturating_sub(there), remove + there.saturating_sub(desired))
    })
}
