//! Changes: what one fact altered, small enough to send, and the only way a [`Model`] is ever altered.
//!
//! `snapshot(a)` and the changes from a to b give `snapshot(b)`, because the server itself gets from a to b by them.

use serde::{Deserialize, Serialize};

use crate::model::{
    Deployment, DeploymentNow, EndReason, Mark, Model, Pod, PodNow, RemovedBecause, ReplicaSet, ReplicaSetNow, Rollout,
    Scale,
};
use crate::phase::PodState;
use crate::verdict::KubectlVerdict;
use crate::{Millis, Uid};

/// One alteration of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// A Deployment appeared, or is sent whole.
    Deployment(Box<Deployment>),
    /// Its spec or status changed.
    DeploymentNow(Uid, Box<DeploymentNow>),
    /// The rollout at this index started or changed.
    Rollout(Uid, u32, Box<Rollout>),
    /// A mark was made.
    Mark(Uid, Mark),
    /// The kubectl verdict changed.
    Verdict(Uid, Millis, KubectlVerdict),
    /// It was deleted.
    DeploymentDeleted(Uid, Millis),
    /// A ReplicaSet appeared, or is sent whole.
    ReplicaSet(Box<ReplicaSet>),
    /// Its spec or status changed.
    ReplicaSetNow(Uid, ReplicaSetNow),
    /// Another Deployment controls it, or none.
    ReplicaSetOwner(Uid, Option<Uid>),
    /// It carries another revision.
    ReplicaSetRevision(Uid, u64, Option<Millis>),
    /// Its `spec.replicas` changed.
    Scale(Uid, Scale),
    /// It was deleted.
    ReplicaSetRemoved(Uid, Millis, RemovedBecause),
    /// A Pod appeared, or is sent whole.
    Pod(Box<Pod>),
    /// It entered a state.
    PodState(Uid, PodState, Millis),
    /// Node, reason, restarts or deletion time changed.
    PodNow(Uid, Box<PodNow>),
    /// Its ReplicaSet let go of it.
    PodReleased(Uid, Millis),
    /// A ReplicaSet took it up again.
    PodAdopted(Uid, Uid, Millis),
    /// Why it goes or went.
    PodEnds(Uid, EndReason),
}

/// The object that a change is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A Deployment.
    Deployment(Uid),
    /// A ReplicaSet.
    ReplicaSet(Uid),
    /// A Pod.
    Pod(Uid),
}

impl Change {
    /// The object that it is about.
    #[must_use]
    pub fn subject(&self) -> Subject {
        match self {
            Self::Deployment(d) => Subject::Deployment(d.uid),
            Self::DeploymentNow(uid, _)
            | Self::Rollout(uid, ..)
            | Self::Mark(uid, _)
            | Self::Verdict(uid, ..)
            | Self::DeploymentDeleted(uid, _) => Subject::Deployment(*uid),
            Self::ReplicaSet(set) => Subject::ReplicaSet(set.uid),
            Self::ReplicaSetNow(uid, _)
            | Self::ReplicaSetOwner(uid, _)
            | Self::ReplicaSetRevision(uid, ..)
            | Self::Scale(uid, _)
            | Self::ReplicaSetRemoved(uid, ..) => Subject::ReplicaSet(*uid),
            Self::Pod(pod) => Subject::Pod(pod.uid),
            Self::PodState(uid, ..)
            | Self::PodNow(uid, _)
            | Self::PodReleased(uid, _)
            | Self::PodAdopted(uid, ..)
            | Self::PodEnds(uid, _) => Subject::Pod(*uid),
        }
    }
}

impl Model {
    /// Applies one change. A change about an object that the model does not hold changes nothing.
    pub fn apply_change(&mut self, change: &Change) {
        match change.subject() {
            Subject::Deployment(uid) => {
                if let Change::Deployment(whole) = change {
                    self.deployments.insert(uid, (**whole).clone());
                } else if let Some(deployment) = self.deployments.get_mut(&uid) {
                    change_deployment(deployment, change);
                }
            }
            Subject::ReplicaSet(uid) => {
                if let Change::ReplicaSet(whole) = change {
                    for owner in &whole.owners {
                        self.note_set(*owner, uid);
                    }
                    self.replica_sets.insert(uid, (**whole).clone());
                } else if let Some(set) = self.replica_sets.get_mut(&uid) {
                    change_replica_set(set, change);
                    if let Some(owner) = set.owner {
                        self.note_set(owner, uid);
                    }
                }
            }
            Subject::Pod(uid) => {
                if let Change::Pod(whole) = change {
                    self.pods.insert(uid, (**whole).clone());
                    for owner in &whole.owners {
                        self.note_pod(*owner, uid);
                    }
                } else if let Some(pod) = self.pods.get_mut(&uid) {
                    change_pod(pod, change);
                }
                if let Some(owner) = self.pods.get(&uid).and_then(|pod| pod.owner) {
                    self.note_pod(owner, uid);
                }
            }
        }
    }
}

fn change_deployment(deployment: &mut Deployment, change: &Change) {
    match change {
        Change::DeploymentNow(_, now) => deployment.now = (**now).clone(),
        Change::Rollout(_, index, rollout) => match deployment.rollouts.get_mut(*index as usize) {
            Some(known) => *known = (**rollout).clone(),
            None => deployment.rollouts.push((**rollout).clone()),
        },
        Change::Mark(_, mark) => deployment.marks.push(mark.clone()),
        Change::Verdict(_, at, verdict) => deployment.verdicts.push((*at, *verdict)),
        Change::DeploymentDeleted(_, at) => deployment.deleted_millis = Some(*at),
        _ => {}
    }
}

fn change_replica_set(set: &mut ReplicaSet, change: &Change) {
    match change {
        Change::ReplicaSetNow(_, now) => set.now = *now,
        Change::ReplicaSetOwner(_, owner) => {
            set.owner = *owner;
            set.owners.extend(owner.filter(|owner| !set.owners.contains(owner)));
        }
        Change::ReplicaSetRevision(_, revision, at) => set.revisions.push((*revision, *at)),
        Change::Scale(_, scale) => set.scales.push(scale.clone()),
        Change::ReplicaSetRemoved(_, at, because) => {
            set.removed_millis = Some(*at);
            set.removed_because = Some(*because);
        }
        _ => {}
    }
}

fn change_pod(pod: &mut Pod, change: &Change) {
    match change {
        Change::PodState(_, state, at) => pod.states.push((*state, *at)),
        Change::PodNow(_, now) => pod.now = (**now).clone(),
        Change::PodReleased(_, at) => {
            pod.owner = None;
            pod.released_millis = pod.released_millis.or(Some(*at));
        }
        Change::PodAdopted(_, owner, at) => {
            pod.owner = Some(*owner);
            if !pod.owners.contains(owner) {
                pod.owners.push(*owner);
            }
            pod.adopted_millis = Some(*at);
        }
        Change::PodEnds(_, reason) => pod.end_reason = Some(*reason),
        _ => {}
    }
}
