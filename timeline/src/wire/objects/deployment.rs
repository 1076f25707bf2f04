//! Deployments and their rollouts as they travel.

#![expect(missing_docs, reason = "a field is what the model's field of the same name is")]

use serde::{Deserialize, Serialize};

use crate::budget::Limits;
use crate::fact::Image;
use crate::model::{self, Gap};
use crate::{Millis, Uid};

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
    pub(in crate::wire) fn of(known: &model::Deployment) -> Self {
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
    pub(in crate::wire) fn of(known: &model::DeploymentNow) -> Self {
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
    pub(in crate::wire) fn of(known: &model::Rollout) -> Self {
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
