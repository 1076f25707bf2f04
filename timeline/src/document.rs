//! The timeline document `rollcast.timeline/1`: what was seen, as data, without judgement.
//!
//! All times are milliseconds since the epoch. `null` = has not happened, or is not known.

use serde::Serialize;

use crate::model::fact::Image;
use crate::model::{
    Deployment, EndReason, Event, KubectlVerdict, MarkKind, Model, Pod, PodState, RemovedBecause, ReplicaSet, Rollout,
    Scale, ScaleCause, Trigger,
};
use crate::rules::rollout::{self, Outcome};
use crate::{Millis, Uid};

/// Name and version of the format.
pub const FORMAT: &str = "rollcast.timeline/1";

/// The whole document.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    format: &'static str,
    observed_from_millis: Option<Millis>,
    observed_to_millis: Option<Millis>,
    deployments: Vec<DeploymentDocument>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DeploymentDocument {
    namespace: String,
    name: String,
    uid: Uid,
    created_at_millis: Millis,
    first_seen_millis: Millis,
    deleted_millis: Option<Millis>,
    rollouts: Vec<RolloutDocument>,
    replica_sets: Vec<ReplicaSetDocument>,
    scales: Vec<ScaleDocument>,
    pods: Vec<PodDocument>,
    marks: Vec<MarkDocument>,
    verdicts: Vec<VerdictDocument>,
    gaps: Vec<GapDocument>,
    events: Vec<EventDocument>,
    kept_since_millis: Option<Millis>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RolloutDocument {
    revision: u64,
    started_millis: Option<Millis>,
    replica_set: Option<Uid>,
    trigger: Trigger,
    images: Vec<String>,
    max_surge: u32,
    max_unavailable: u32,
    completed_millis: Option<Millis>,
    superseded_millis: Option<Millis>,
    deadline_exceeded_millis: Option<Millis>,
    outcome: Outcome,
    min_available: u32,
    peak_pods: u32,
    peak_terminating: u32,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReplicaSetDocument {
    uid: Uid,
    name: String,
    created_at_millis: Millis,
    first_seen_millis: Millis,
    removed_millis: Option<Millis>,
    removed_because: Option<RemovedBecause>,
    images: Vec<String>,
    revisions: Vec<(u64, Option<Millis>)>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ScaleDocument {
    at_millis: Millis,
    replica_set: Uid,
    from: u32,
    to: u32,
    cause: ScaleCause,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PodDocument {
    uid: Uid,
    name: String,
    replica_set: Option<Uid>,
    node: Option<String>,
    created_at_millis: Millis,
    states: Vec<(PodState, Millis)>,
    restarts: u32,
    released_millis: Option<Millis>,
    adopted_millis: Option<Millis>,
    end_reason: Option<EndReason>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct MarkDocument {
    at_millis: Millis,
    kind: &'static str,
    detail: Option<(u32, u32)>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct VerdictDocument {
    at_millis: Millis,
    verdict: KubectlVerdict,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct GapDocument {
    from_millis: Millis,
    to_millis: Millis,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EventDocument {
    at_millis: Millis,
    kind: String,
    name: String,
    reason: String,
    message: String,
    count: u32,
}

/// Writes the document of everything in the model, observed from and to the given times.
pub fn document(model: &Model, from: Option<Millis>, to: Option<Millis>) -> Document {
    let mut deployments: Vec<&Deployment> = model.deployments.values().collect();
    deployments.sort_by_key(|d| (&d.namespace, &d.name, d.first_seen_millis, d.uid));
    Document {
        format: FORMAT,
        observed_from_millis: from,
        observed_to_millis: to,
        deployments: deployments.into_iter().map(|deployment| of_deployment(model, deployment)).collect(),
    }
}

fn of_deployment(model: &Model, deployment: &Deployment) -> DeploymentDocument {
    let rollouts = deployment.rollouts.iter().enumerate();
    DeploymentDocument {
        namespace: deployment.namespace.clone(),
        name: deployment.name.clone(),
        uid: deployment.uid,
        created_at_millis: deployment.created_at_millis,
        first_seen_millis: deployment.first_seen_millis,
        deleted_millis: deployment.deleted_millis,
        rollouts: rollouts.map(|(index, rollout)| of_rollout(model, deployment, index, rollout)).collect(),
        replica_sets: model.sets_of(deployment.uid).map(of_replica_set).collect(),
        scales: model.scales_of(deployment.uid).into_iter().map(of_scale).collect(),
        pods: model.pods_of_deployment(deployment.uid).into_iter().map(of_pod).collect(),
        marks: deployment
            .marks
            .iter()
            .map(|mark| {
                let (kind, detail) = match &mark.kind {
                    MarkKind::Paused => ("paused", None),
                    MarkKind::Resumed => ("resumed", None),
                    MarkKind::Replicas { from, to } => ("replicas", Some((*from, *to))),
                    MarkKind::Deleting => ("deleting", None),
                };
                MarkDocument { at_millis: mark.at_millis, kind, detail }
            })
            .collect(),
        verdicts: deployment
            .verdicts
            .iter()
            .map(|(at_millis, verdict)| VerdictDocument { at_millis: *at_millis, verdict: *verdict })
            .collect(),
        gaps: deployment
            .gaps
            .iter()
            .map(|gap| GapDocument { from_millis: gap.from_millis, to_millis: gap.to_millis })
            .collect(),
        events: deployment.events.iter().filter(|event| event.is_warning).map(of_event).collect(),
        kept_since_millis: deployment.kept_since_millis,
    }
}

fn of_rollout(model: &Model, deployment: &Deployment, index: usize, rollout: &Rollout) -> RolloutDocument {
    RolloutDocument {
        revision: rollout.revision,
        started_millis: rollout.started_millis,
        replica_set: rollout::set_of_rollout(model, deployment, rollout).map(|set| set.uid),
        trigger: rollout::trigger(model, deployment, index),
        images: names(&rollout.images),
        max_surge: rollout.max_surge,
        max_unavailable: rollout.max_unavailable,
        completed_millis: rollout.completed_millis,
        superseded_millis: rollout.superseded_millis,
        deadline_exceeded_millis: rollout.deadline_exceeded_millis,
        outcome: match rollout::outcome(deployment, rollout) {
            Outcome::ScaledToZero => Outcome::Complete, // as for Kubernetes
            outcome => outcome,
        },
        min_available: rollout.min_available,
        peak_pods: rollout.peak_pods,
        peak_terminating: rollout.peak_terminating,
    }
}

fn of_replica_set(set: &ReplicaSet) -> ReplicaSetDocument {
    ReplicaSetDocument {
        uid: set.uid,
        name: set.name.clone(),
        created_at_millis: set.created_at_millis,
        first_seen_millis: set.first_seen_millis,
        removed_millis: set.removed_millis,
        removed_because: set.removed_because,
        images: names(&set.images),
        revisions: set.revisions.clone(),
    }
}

fn of_scale((set, scale): (Uid, &Scale)) -> ScaleDocument {
    let Scale { at_millis, from, to, cause, .. } = *scale;
    ScaleDocument { at_millis, replica_set: set, from, to, cause }
}

fn of_pod(pod: &Pod) -> PodDocument {
    PodDocument {
        uid: pod.uid,
        name: pod.name.clone(),
        replica_set: pod.replica_set(),
        node: pod.now.node.clone(),
        created_at_millis: pod.created_at_millis,
        states: pod.states.clone(),
        restarts: pod.now.most_restarts,
        released_millis: pod.released_millis(),
        adopted_millis: pod.adopted_millis(),
        end_reason: pod.end_reason,
    }
}

fn of_event(event: &Event) -> EventDocument {
    let (kind, name) = event.about.clone();
    EventDocument {
        at_millis: event.at_millis,
        kind,
        name,
        reason: event.reason.clone(),
        message: event.message.clone(),
        count: event.count,
    }
}

fn names(images: &[Image]) -> Vec<String> {
    images.iter().map(|image| image.image.clone()).collect()
}
