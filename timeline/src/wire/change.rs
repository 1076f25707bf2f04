//! Changes as they travel.

use serde::{Deserialize, Serialize};

use super::{Deployment, DeploymentNow, Pod, PodNow, ReplicaSet, ReplicaSetNow, Rollout};
use crate::model::change::{self, Pruned};
use crate::model::{EndReason, Gap, Limits, PodState, RemovedBecause, Scale};
use crate::{Millis, Uid};

/// A [`crate::Change`] that alters what viewers hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// A Deployment appeared, or is sent whole.
    Deployment(Box<Deployment>),
    /// It was modified.
    DeploymentNow(Uid, DeploymentNow),
    /// The rollout at this index started or changed; pruned ones count.
    Rollout(Uid, u32, Box<Rollout>),
    /// Nobody looked for a while.
    Gap(Uid, Gap),
    /// The limits of its strategy changed.
    Limits(Uid, Millis, Limits),
    /// It was deleted.
    DeploymentDeleted(Uid, Millis),
    /// A ReplicaSet appeared, or is sent whole.
    ReplicaSet(Box<ReplicaSet>),
    /// Its spec or status changed.
    ReplicaSetNow(Uid, ReplicaSetNow),
    /// Another Deployment controls it, or none, from then on.
    ReplicaSetOwner(Uid, Option<Uid>, Millis),
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
    /// Old history is let go of; of the named Deployment, or of what belongs to none.
    Pruned(Option<Uid>, Box<Pruned>),
}

impl Change {
    /// The part of a change that travels; `None` when it alters only the data of sentences.
    #[must_use]
    pub fn of(change: &change::Change) -> Option<Self> {
        use change::Change as Made;
        Some(match change {
            Made::Deployment(deployment) => Self::Deployment(Box::new((&**deployment).into())),
            Made::DeploymentNow(uid, now) => Self::DeploymentNow(*uid, (&**now).into()),
            Made::Rollout(uid, index, rollout) => Self::Rollout(*uid, *index, Box::new((&**rollout).into())),
            Made::Gap(uid, gap) => Self::Gap(*uid, *gap),
            Made::Limits(uid, at, limits) => Self::Limits(*uid, *at, *limits),
            Made::DeploymentDeleted(uid, at) => Self::DeploymentDeleted(*uid, *at),
            Made::ReplicaSet(set) => Self::ReplicaSet(Box::new((&**set).into())),
            Made::ReplicaSetNow(uid, now) => Self::ReplicaSetNow(*uid, (&**now).into()),
            Made::ReplicaSetOwner(uid, owner, at) => Self::ReplicaSetOwner(*uid, *owner, *at),
            Made::ReplicaSetRevision(uid, revision, at) => Self::ReplicaSetRevision(*uid, *revision, *at),
            Made::Scale(uid, scale) => Self::Scale(*uid, scale.clone()),
            Made::ReplicaSetRemoved(uid, at, because) => Self::ReplicaSetRemoved(*uid, *at, *because),
            Made::Pod(pod) => Self::Pod(Box::new((&**pod).into())),
            Made::PodState(uid, state, at) => Self::PodState(*uid, *state, *at),
            Made::PodNow(uid, now) => Self::PodNow(*uid, Box::new((&**now).into())),
            Made::PodReleased(uid, at) => Self::PodReleased(*uid, *at),
            Made::PodAdopted(uid, owner, at) => Self::PodAdopted(*uid, *owner, *at),
            Made::PodEnds(uid, reason) => Self::PodEnds(*uid, *reason),
            Made::Pruned(deployment, what) => Self::Pruned(*deployment, what.clone()),
            Made::Mark(..)
            | Made::Story(..)
            | Made::StoryTaken(..)
            | Made::Verdict(..)
            | Made::Event(..)
            | Made::Unseen(..) => return None,
        })
    }
}

impl From<Change> for change::Change {
    fn from(change: Change) -> Self {
        match change {
            Change::Deployment(deployment) => Self::Deployment(Box::new((*deployment).into())),
            Change::DeploymentNow(uid, now) => Self::DeploymentNow(uid, Box::new(now.into())),
            Change::Rollout(uid, index, rollout) => Self::Rollout(uid, index, Box::new((*rollout).into())),
            Change::Gap(uid, gap) => Self::Gap(uid, gap),
            Change::Limits(uid, at, limits) => Self::Limits(uid, at, limits),
            Change::DeploymentDeleted(uid, at) => Self::DeploymentDeleted(uid, at),
            Change::ReplicaSet(set) => Self::ReplicaSet(Box::new((*set).into())),
            Change::ReplicaSetNow(uid, now) => Self::ReplicaSetNow(uid, Box::new(now.into())),
            Change::ReplicaSetOwner(uid, owner, at) => Self::ReplicaSetOwner(uid, owner, at),
            Change::ReplicaSetRevision(uid, revision, at) => Self::ReplicaSetRevision(uid, revision, at),
            Change::Scale(uid, scale) => Self::Scale(uid, scale),
            Change::ReplicaSetRemoved(uid, at, because) => Self::ReplicaSetRemoved(uid, at, because),
            Change::Pod(pod) => Self::Pod(Box::new((*pod).into())),
            Change::PodState(uid, state, at) => Self::PodState(uid, state, at),
            Change::PodNow(uid, now) => Self::PodNow(uid, Box::new((*now).into())),
            Change::PodReleased(uid, at) => Self::PodReleased(uid, at),
            Change::PodAdopted(uid, owner, at) => Self::PodAdopted(uid, owner, at),
            Change::PodEnds(uid, reason) => Self::PodEnds(uid, reason),
            Change::Pruned(deployment, what) => Self::Pruned(deployment, what),
        }
    }
}
