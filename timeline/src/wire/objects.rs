//! Objects as they travel: of each the fields that viewers show. What stays at home is named in the conversions.

#![expect(missing_docs, reason = "a field is what the model's field of the same name is")]

use serde::{Deserialize, Serialize};

use crate::budget::Limits;
use crate::fact::{Image, ReplicaSetCounts};
use crate::model::{self, EndReason, Gap, Model, RemovedBecause, Scale};
use crate::phase::PodState;
use crate::{Millis, Uid};

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

/// A Deployment and its story: [`model::Deployment`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Deployment {
    pub uid: Uid,
    pub namespace: String,
    pub name: String,
    pub created_at_millis: Millis,
    pub first_seen_millis: Millis,
    pub from_first_list: bool,
    pub deleted_millis: Option<Millis>,
    pub now: DeploymentNow,
    pub rollouts: Vec<Rollout>,
    pub limits: Vec<(Millis, Limits)>,
    pub gaps: Vec<Gap>,
    pub kept_since_millis: Option<Millis>,
    pub rollouts_forgotten: u32,
}

impl Deployment {
    pub(super) fn of(known: &model::Deployment) -> Self {
        let model::Deployment {
            uid,
            namespace,
            name,
            created_at_millis,
            first_seen_millis,
            from_first_list,
            deleted_millis,
            now,
            rollouts,
            marks: _,
            limits,
            story: _,
            verdicts: _,
            gaps,
            events: _,
            kept_since_millis,
            rollouts_forgotten,
        } = known;
        Self {
            uid: *uid,
            namespace: namespace.clone(),
            name: name.clone(),
            created_at_millis: *created_at_millis,
            first_seen_millis: *first_seen_millis,
            from_first_list: *from_first_list,
            deleted_millis: *deleted_millis,
            now: DeploymentNow::of(now),
            rollouts: rollouts.iter().map(Rollout::of).collect(),
            limits: limits.clone(),
            gaps: gaps.clone(),
            kept_since_millis: *kept_since_millis,
            rollouts_forgotten: *rollouts_forgotten,
        }
    }
}

impl From<Deployment> for model::Deployment {
    fn from(sent: Deployment) -> Self {
        let Deployment {
            uid,
            namespace,
            name,
            created_at_millis,
            first_seen_millis,
            from_first_list,
            deleted_millis,
            now,
            rollouts,
            limits,
            gaps,
            kept_since_millis,
            rollouts_forgotten,
        } = sent;
        Self {
            uid,
            namespace,
            name,
            created_at_millis,
            first_seen_millis,
            from_first_list,
            deleted_millis,
            now: now.into(),
            rollouts: rollouts.into_iter().map(Into::into).collect(),
            marks: Default::default(),
            limits,
            story: Default::default(),
            verdicts: Default::default(),
            gaps,
            events: Default::default(),
            kept_since_millis,
            rollouts_forgotten,
        }
    }
}

/// A Deployment as last observed: [`model::DeploymentNow`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeploymentNow {
    pub deleting: bool,
    pub revision: Option<u64>,
}

impl DeploymentNow {
    pub(super) fn of(known: &model::DeploymentNow) -> Self {
        let model::DeploymentNow { labels: _, generation: _, deleting, revision, restarted_at: _, spec: _, status: _ } =
            known;
        Self { deleting: *deleting, revision: *revision }
    }
}

impl From<DeploymentNow> for model::DeploymentNow {
    fn from(sent: DeploymentNow) -> Self {
        let DeploymentNow { deleting, revision } = sent;
        Self {
            labels: Default::default(),
            generation: Default::default(),
            deleting,
            revision,
            restarted_at: Default::default(),
            spec: Default::default(),
            status: Default::default(),
        }
    }
}

/// One rollout: [`model::Rollout`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rollout {
    pub revision: u64,
    pub started_millis: Option<Millis>,
    pub images: Vec<Image>,
    pub max_surge: u32,
    pub max_unavailable: u32,
    pub completed_millis: Option<Millis>,
    pub available_millis: Option<Millis>,
    pub superseded_millis: Option<Millis>,
    pub deadline_exceeded_millis: Option<Millis>,
    pub min_available: u32,
    pub peak_pods: u32,
    pub peak_terminating: u32,
}

impl Rollout {
    pub(super) fn of(known: &model::Rollout) -> Self {
        let model::Rollout {
            revision,
            started_millis,
            images,
            restarted_at: _,
            is_first: _,
            is_restart: _,
            max_surge,
            max_unavailable,
            completed_millis,
            available_millis,
            available_of: _,
            was_start_seen: _,
            passed_before: _,
            superseded_millis,
            deadline_exceeded_millis,
            min_available,
            peak_pods,
            peak_terminating,
        } = known;
        Self {
            revision: *revision,
            started_millis: *started_millis,
            images: images.clone(),
            max_surge: *max_surge,
            max_unavailable: *max_unavailable,
            completed_millis: *completed_millis,
            available_millis: *available_millis,
            superseded_millis: *superseded_millis,
            deadline_exceeded_millis: *deadline_exceeded_millis,
            min_available: *min_available,
            peak_pods: *peak_pods,
            peak_terminating: *peak_terminating,
        }
    }
}

impl From<Rollout> for model::Rollout {
    fn from(sent: Rollout) -> Self {
        let Rollout {
            revision,
            started_millis,
            images,
            max_surge,
            max_unavailable,
            completed_millis,
            available_millis,
            superseded_millis,
            deadline_exceeded_millis,
            min_available,
            peak_pods,
            peak_terminating,
        } = sent;
        Self {
            revision,
            started_millis,
            images,
            restarted_at: Default::default(),
            is_first: Default::default(),
            is_restart: Default::default(),
            max_surge,
            max_unavailable,
            completed_millis,
            available_millis,
            available_of: Default::default(),
            was_start_seen: Default::default(),
            passed_before: Default::default(),
            superseded_millis,
            deadline_exceeded_millis,
            min_available,
            peak_pods,
            peak_terminating,
        }
    }
}

/// A ReplicaSet and its story: [`model::ReplicaSet`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplicaSet {
    pub uid: Uid,
    pub namespace: String,
    pub name: String,
    pub created_at_millis: Millis,
    pub first_seen_millis: Millis,
    pub removed_millis: Option<Millis>,
    pub removed_because: Option<RemovedBecause>,
    pub template_hash: String,
    pub images: Vec<Image>,
    pub owner: Option<Uid>,
    pub owners: Vec<Uid>,
    pub revisions: Vec<(u64, Option<Millis>)>,
    pub scales: Vec<Scale>,
    pub now: ReplicaSetNow,
}

impl ReplicaSet {
    pub(super) fn of(known: &model::ReplicaSet) -> Self {
        let model::ReplicaSet {
            uid,
            namespace,
            name,
            created_at_millis,
            first_seen_millis,
            removed_millis,
            removed_because,
            template_hash,
            images,
            restarted_at: _,
            owner,
            owners,
            revisions,
            scales,
            now,
        } = known;
        Self {
            uid: *uid,
            namespace: namespace.clone(),
            name: name.clone(),
            created_at_millis: *created_at_millis,
            first_seen_millis: *first_seen_millis,
            removed_millis: *removed_millis,
            removed_because: *removed_because,
            template_hash: template_hash.clone(),
            images: images.clone(),
            owner: *owner,
            owners: owners.clone(),
            revisions: revisions.clone(),
            scales: scales.clone(),
            now: ReplicaSetNow::of(now),
        }
    }
}

impl From<ReplicaSet> for model::ReplicaSet {
    fn from(sent: ReplicaSet) -> Self {
        let ReplicaSet {
            uid,
            namespace,
            name,
            created_at_millis,
            first_seen_millis,
            removed_millis,
            removed_because,
            template_hash,
            images,
            owner,
            owners,
            revisions,
            scales,
            now,
        } = sent;
        Self {
            uid,
            namespace,
            name,
            created_at_millis,
            first_seen_millis,
            removed_millis,
            removed_because,
            template_hash,
            images,
            restarted_at: Default::default(),
            owner,
            owners,
            revisions,
            scales,
            now: now.into(),
        }
    }
}

/// A ReplicaSet as last observed: [`model::ReplicaSetNow`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplicaSetNow {
    pub counts: ReplicaSetCounts,
    pub min_ready_seconds: u32,
    pub deleting: bool,
    pub desired_replicas: Option<u32>,
}

impl ReplicaSetNow {
    pub(super) fn of(known: &model::ReplicaSetNow) -> Self {
        let model::ReplicaSetNow {
            counts,
            min_ready_seconds,
            deleting,
            desired_replicas,
            max_replicas: _,
            change_cause: _,
            version: _,
        } = known;
        Self {
            counts: *counts,
            min_ready_seconds: *min_ready_seconds,
            deleting: *deleting,
            desired_replicas: *desired_replicas,
        }
    }
}

impl From<ReplicaSetNow> for model::ReplicaSetNow {
    fn from(sent: ReplicaSetNow) -> Self {
        let ReplicaSetNow { counts, min_ready_seconds, deleting, desired_replicas } = sent;
        Self {
            counts,
            min_ready_seconds,
            deleting,
            desired_replicas,
            max_replicas: Default::default(),
            change_cause: Default::default(),
            version: Default::default(),
        }
    }
}

/// A Pod and its life: [`model::Pod`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pod {
    pub uid: Uid,
    pub namespace: String,
    pub name: String,
    pub created_at_millis: Millis,
    pub owners: Vec<Uid>,
    pub owner: Option<Uid>,
    pub states: Vec<(PodState, Millis)>,
    pub released_millis: Option<Millis>,
    pub last_released_millis: Option<Millis>,
    pub adopted_millis: Option<Millis>,
    pub end_reason: Option<EndReason>,
    pub now: PodNow,
}

impl Pod {
    pub(super) fn of(known: &model::Pod) -> Self {
        let model::Pod {
            uid,
            namespace,
            name,
            created_at_millis,
            owners,
            owner,
            states,
            released_millis,
            last_released_millis,
            adopted_millis,
            end_reason,
            now,
        } = known;
        Self {
            uid: *uid,
            namespace: namespace.clone(),
            name: name.clone(),
            created_at_millis: *created_at_millis,
            owners: owners.clone(),
            owner: *owner,
            states: states.clone(),
            released_millis: *released_millis,
            last_released_millis: *last_released_millis,
            adopted_millis: *adopted_millis,
            end_reason: *end_reason,
            now: PodNow::of(now),
        }
    }
}

impl From<Pod> for model::Pod {
    fn from(sent: Pod) -> Self {
        let Pod {
            uid,
            namespace,
            name,
            created_at_millis,
            owners,
            owner,
            states,
            released_millis,
            last_released_millis,
            adopted_millis,
            end_reason,
            now,
        } = sent;
        Self {
            uid,
            namespace,
            name,
            created_at_millis,
            owners,
            owner,
            states,
            released_millis,
            last_released_millis,
            adopted_millis,
            end_reason,
            now: now.into(),
        }
    }
}

/// A Pod as last observed: [`model::PodNow`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PodNow {
    pub node: Option<String>,
    pub reason: String,
    pub message: String,
    pub restarts: u32,
    pub available_at_millis: Option<Millis>,
    pub deletion_at_millis: Option<Millis>,
    pub terminal_millis: Option<Millis>,
}

impl PodNow {
    pub(super) fn of(known: &model::PodNow) -> Self {
        let model::PodNow {
            node,
            reason,
            message,
            restarts,
            first_restarts: _,
            last_exit: _,
            available_at_millis,
            deletion_at_millis,
            terminal_millis,
            listed_millis: _,
            ready_since_millis: _,
            deletion_cost: _,
            containers: _,
            conditions: _,
        } = known;
        Self {
            node: node.clone(),
            reason: reason.clone(),
            message: message.clone(),
            restarts: *restarts,
            available_at_millis: *available_at_millis,
            deletion_at_millis: *deletion_at_millis,
            terminal_millis: *terminal_millis,
        }
    }
}

impl From<PodNow> for model::PodNow {
    fn from(sent: PodNow) -> Self {
        let PodNow { node, reason, message, restarts, available_at_millis, deletion_at_millis, terminal_millis } = sent;
        Self {
            node,
            reason,
            message,
            restarts,
            first_restarts: Default::default(),
            last_exit: Default::default(),
            available_at_millis,
            deletion_at_millis,
            terminal_millis,
            listed_millis: Default::default(),
            ready_since_millis: Default::default(),
            deletion_cost: Default::default(),
            containers: Default::default(),
            conditions: Default::default(),
        }
    }
}
