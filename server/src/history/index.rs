//! The index of rollouts: of each what a list tells, so that lists need no lines.

use timeline::past::course::{self, limits, moment, replicas};
use timeline::past::{PastRollout, UNKNOWN_CAUSE};
use timeline::rollout::{self, Outcome};
use timeline::view::{self, Now, Tone};
use timeline::words::images;
use timeline::{Millis, Model, Uid, WorkloadKind};

/// Rollouts of a Deployment that may still change: the last one, and those that it took the place of.
pub const LAST: usize = 3;

/// The last rollouts of a Deployment, in order, as far as anybody saw something of them.
#[must_use]
pub fn rollouts(cluster: &str, model: &Model, uid: Uid, now: Now, most: usize) -> Vec<PastRollout> {
    let Some(deployment) = model.deployments.get(&uid) else { return Vec::new() };
    let first = deployment.rollouts.len().saturating_sub(most);
    let cause = || {
        let view = view::view(model, uid, now).filter(|view| matches!(view.verdict.tone, Tone::Bad))?;
        let is_known = view.reasons.iter().any(|reason| reason.is_fault);
        Some(if is_known { view.verdict.sentence } else { UNKNOWN_CAUSE.to_owned() })
    };
    let last = deployment.rollouts.len().saturating_sub(1);
    let known = deployment.rollouts.iter().enumerate().skip(first);
    // One that went on when watching began was told while it was open, and is told once more when it is over.
    let is_over_since = |over: Option<Millis>| over.is_some_and(|over| over > deployment.first_seen_millis);
    let seen = known.filter(|(_, rollout)| {
        rollout.started_millis.is_some()
            || rollout.is_open()
            || is_over_since(rollout.completed_millis.or(rollout.superseded_millis))
    });
    seen.map(|(index, rollout)| {
        let outcome = rollout::outcome(deployment, rollout);
        let set = rollout::replica_set(model, deployment, rollout).map(|set| &set.now);
        let is_stuck = index == last && outcome != Outcome::Complete;
        let (ceiling, floor) = limits(deployment, index);
        PastRollout {
            cluster: cluster.to_owned(),
            kind: WorkloadKind::Deployment,
            namespace: deployment.namespace.clone(),
            name: deployment.name.clone(),
            uid,
            number: 0, // the store knows those before
            revision: rollout.revision,
            trigger: rollout::trigger(model, deployment, index),
            started_millis: rollout.started_millis.unwrap_or(deployment.first_seen_millis),
            ended_millis: rollout.completed_millis.or(rollout.superseded_millis),
            outcome,
            cause: Some(()).filter(|()| is_stuck).and_then(|()| cause()).unwrap_or_default(),
            deadline_millis: rollout.deadline_exceeded_millis,
            images: images(&rollout.images),
            images_before: String::new(), // the store knows that, too
            replicas: replicas(deployment, index),
            available_millis: rollout.available_millis,
            first_available_millis: course::first_available(model, deployment, rollout),
            restarts: Some(course::restarts(model, deployment, rollout)),
            peak_pods: rollout.peak_active,
            min_available: rollout.min_available,
            ceiling: Some(ceiling),
            floor: Some(floor),
            change_cause: set.and_then(|set| set.change_cause.clone()),
            managed_by: set.map(|set| set.managed_by.clone()).unwrap_or_default(),
            moment_millis: moment(model, deployment, index).or(deployment.deleted_millis),
            last_millis: rollout::last_moment_millis(model, deployment, index),
            is_deleted: deployment.deleted_millis.is_some(),
            is_kept: true,
        }
    })
    .collect()
}
