//! Pods of a Deployment counted by what they do for it, as they are seen or, where they are not, as ReplicaSets report them.

use serde::{Deserialize, Serialize};

use crate::model::fact::DeploymentStatus;
use crate::model::{Deployment, Pod, PodState, ReplicaSet};
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
pub(super) fn count_pods(model: &Model, deployment: &Deployment, new: Option<&ReplicaSet>, desired: u32) -> Counts {
    let mut counts = Counts { desired, ..Counts::default() };
    for set in model.sets_of(deployment.uid).filter(|set| set.owner == Some(deployment.uid)) {
        for pod in model.pods_of(set.uid) {
            match pod.state() {
                PodState::Gone | PodState::Finished => {}
                _ if pod.is_leftover() => counts.failed += u32::from(pod.owner == Some(set.uid)),
                // One that was released counts where it was last.
                _ if pod.is_out_of_rotation() && pod.owners.last() == Some(&set.uid) => counts.out_of_rotation += 1,
                _ if pod.owner != Some(set.uid) => {}
                PodState::Terminating => counts.terminating += 1,
                PodState::Available => {
                    counts.available += 1;
                    counts.new_available += u32::from(new.is_some_and(|new| new.uid == set.uid));
                }
                PodState::Scheduling | PodState::Starting | PodState::Unready | PodState::Ready | PodState::Failing => {
                    counts.not_yet += 1
                }
            }
        }
    }
    counts
}

/// Of the pods that are not available yet those that fail, as far as pods are seen.
#[must_use]
pub fn count_failing(model: &Model, deployment: &Deployment) -> u32 {
    let is_failing = |pod: &Pod, uid| pod.owner == Some(uid) && pod.state() == PodState::Failing && !pod.is_leftover();
    let of = |set: &ReplicaSet| model.pods_of(set.uid).filter(|pod| is_failing(pod, set.uid)).count() as u32;
    model.sets_of(deployment.uid).filter(|set| set.owner == Some(deployment.uid)).map(of).sum()
}

/// Counts the pods that ReplicaSets report, where pods are not seen.
pub(super) fn count_reported_by_sets(
    model: &Model,
    deployment: &Deployment,
    new: Option<&ReplicaSet>,
    desired: u32,
) -> Counts {
    let mut counts = Counts { desired, ..Counts::default() };
    for set in model.owned_sets(deployment.uid) {
        let said = set.now.counts;
        counts.available += said.available;
        counts.not_yet += said.replicas.saturating_sub(said.available);
        if new.is_some_and(|new| new.uid == set.uid) {
            counts.new_available = said.available;
        }
    }
    counts
}

/// Counts the pods that a Deployment reports, where its ReplicaSets are not seen.
pub(super) fn count_reported_by_deployment(status: &DeploymentStatus) -> Counts {
    Counts {
        available: status.available,
        not_yet: status.replicas.saturating_sub(status.available),
        new_available: status.available.min(status.updated),
        desired: status.replicas,
        ..Counts::default()
    }
}

/// The ReplicaSets that a Deployment controls, counted; one that was deleted has what is left of its pods.
#[must_use]
pub fn count_sets(model: &Model, deployment: &Deployment, sees_pods: bool) -> Vec<SetCounts> {
    let mine = model.sets_of(deployment.uid).filter(|set| set.owner == Some(deployment.uid));
    let counted = mine.map(|set| {
        let is_available = |pod: &&Pod| pod.owner == Some(set.uid) && pod.state() == PodState::Available;
        let available = match set.removed_millis {
            None if !sees_pods => set.now.counts.available,
            _ => model.pods_of(set.uid).filter(is_available).count() as u32,
        };
        let desired = if set.removed_millis.is_some() { 0 } else { set.now.counts.desired };
        SetCounts { uid: set.uid, desired, available }
    });
    counted.filter(|counts| counts.desired + counts.available > 0).collect()
}

/// Pods that the ReplicaSet controller is yet to make, and to remove, so that there are as many as `spec.replicas` of the ReplicaSets.
pub(super) fn count_owed(model: &Model, deployment: &Deployment) -> (u32, u32) {
    model.owned_sets(deployment.uid).fold((0, 0), |(make, remove), set| {
        let is_counted = |pod: &&Pod| pod.owner == Some(set.uid) && pod.is_active();
        let (there, desired) = (model.pods_of(set.uid).filter(is_counted).count() as u32, set.now.counts.desired);
        (make + desired.saturating_sub(there), remove + there.saturating_sub(desired))
    })
}
