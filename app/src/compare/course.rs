//! The course of one rollout.

use timeline::episodes::course::{available_counts, pods, replicas};
use timeline::model::Model;
use timeline::rollout::{Outcome, began_millis, is_part_unseen, outcome};
use timeline::view::Now;
use timeline::words::images;
use timeline::{Millis, Uid};

use super::startup::Startup;

/// The course of one rollout.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// The revision that was rolled out.
    pub revision: u64,
    /// Images of its template, joined.
    pub images: String,
    /// When it began, or was first observed.
    pub started_millis: Millis,
    /// Duration until it was complete; `None` if it was not complete, or its beginning or end was not observed.
    pub took_millis: Option<Millis>,
    /// Whether it was complete.
    pub is_complete: bool,
    /// Whether it is still in progress.
    pub is_going_on: bool,
    /// Number of desired replicas.
    pub replicas: u32,
    /// Number of available pods, by time since its beginning.
    pub available: Vec<(Millis, u32)>,
    /// Time from its beginning to its end, or to the present.
    pub span_millis: Millis,
    /// Startup of its pods.
    pub startup: Option<Startup>,
}

impl Course {
    /// Collects the course of the last rollout of a revision; `None` if there is none.
    pub fn from_model(model: &Model, deployment: Uid, revision: u64, now: Now) -> Option<Self> {
        let deployment = model.deployments.get(&deployment)?;
        let index = deployment.rollouts.iter().rposition(|rollout| rollout.revision == revision)?;
        let rollout = deployment.rollouts.get(index)?;
        let started_millis = began_millis(model, deployment, rollout).unwrap_or(deployment.first_seen_millis);
        let until = rollout.ended_millis().unwrap_or(now.millis);
        let completed_millis = rollout.completed_millis.filter(|_| !rollout.was_scaled_to_zero);
        let took = rollout.started_millis.and(completed_millis).map(|to| to - started_millis);
        Some(Self {
            revision,
            images: images(&rollout.images),
            started_millis,
            took_millis: took.filter(|_| !is_part_unseen(model, deployment, rollout)),
            is_complete: completed_millis.is_some(),
            is_going_on: outcome(deployment, rollout) == Outcome::Progressing,
            replicas: replicas(deployment, index),
            available: available_counts(model, deployment, index, (started_millis, until)),
            span_millis: until - started_millis,
            startup: Startup::from_pods(pods(model, deployment, rollout), now),
        })
    }
}
