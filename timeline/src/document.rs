//! The timeline document `rollcast.timeline/1`: what was seen, as data, without judgement.
//!
//! All times are milliseconds since the epoch. `null` = has not happened, or is not known.

use serde::Serialize;

use crate::model::fact::Image;
use crate::model::{
    Deployment, EndReason, Event, Gap, KubectlVerdict, Mark, MarkKind, Model, Pod, PodState, RemovedBecause,
    ReplicaSet, Rollout, Scale, ScaleCause, Trigger,
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

/// Declares a part of the document, and `of`, which makes it: each field has its type and its value in one place.
macro_rules! document_part {
    ($name:ident($($argument:ident: $of:ty),*) { $($field:ident: $type:ty = $value:expr,)* }) => {
        #[derive(Debug, Serialize)]
        #[serde(rename_all = "camelCase")]
        struct $name {
            $($field: $type,)*
        }

        impl $name {
            fn of($($argument: $of),*) -> Self {
                Self { $($field: $value,)* }
            }
        }
    };
}

/// Writes the document of everything in the model, observed from and to the given times.
pub fn document(model: &Model, from: Option<Millis>, to: Option<Millis>) -> Document {
    let mut deployments: Vec<&Deployment> = model.deployments.values().collect();
    deployments.sort_by_key(|d| (&d.namespace, &d.name, d.first_seen_millis, d.uid));
    Document {
        format: FORMAT,
        observed_from_millis: from,
        observed_to_millis: to,
        deployments: deployments.into_iter().map(|known| DeploymentDocument::of(model, known)).collect(),
    }
}

document_part! {
    DeploymentDocument(model: &Model, known: &Deployment) {
        namespace: String = known.namespace.clone(),
        name: String = known.name.clone(),
        uid: Uid = known.uid,
        created_at_millis: Millis = known.created_at_millis,
        first_seen_millis: Millis = known.first_seen_millis,
        deleted_millis: Option<Millis> = known.deleted_millis,
        rollouts: Vec<RolloutDocument> = {
            let rollouts = known.rollouts.iter().enumerate();
            rollouts.map(|(index, rollout)| RolloutDocument::of(model, known, index, rollout)).collect()
        },
        replica_sets: Vec<ReplicaSetDocument> = model.sets_of(known.uid).map(ReplicaSetDocument::of).collect(),
        scales: Vec<ScaleDocument> = {
            let scales = model.scales_of(known.uid).into_iter();
            scales.map(|(set, scale)| ScaleDocument::of(set, scale)).collect()
        },
        pods: Vec<PodDocument> = model.pods_of_deployment(known.uid).into_iter().map(PodDocument::of).collect(),
        marks: Vec<MarkDocument> = known.marks.iter().map(MarkDocument::of).collect(),
        verdicts: Vec<VerdictDocument> = known.verdicts.iter().map(VerdictDocument::of).collect(),
        gaps: Vec<GapDocument> = known.gaps.iter().map(GapDocument::of).collect(),
        events: Vec<EventDocument> = {
            let warnings = known.events.iter().filter(|event| event.is_warning);
            warnings.map(EventDocument::of).collect()
        },
        kept_since_millis: Option<Millis> = known.kept_since_millis,
    }
}

document_part! {
    RolloutDocument(model: &Model, deployment: &Deployment, index: usize, rollout: &Rollout) {
        revision: u64 = rollout.revision,
        started_millis: Option<Millis> = rollout.started_millis,
        replica_set: Option<Uid> = rollout::set_of_rollout(model, deployment, rollout).map(|set| set.uid),
        trigger: Trigger = rollout::trigger(model, deployment, index),
        images: Vec<String> = names(&rollout.images),
        max_surge: u32 = rollout.max_surge,
        max_unavailable: u32 = rollout.max_unavailable,
        completed_millis: Option<Millis> = rollout.completed_millis,
        superseded_millis: Option<Millis> = rollout.superseded_millis,
        deadline_exceeded_millis: Option<Millis> = rollout.deadline_exceeded_millis,
        outcome: Outcome = match rollout::outcome(deployment, rollout) {
            Outcome::ScaledToZero => Outcome::Complete, // as for Kubernetes
            outcome => outcome,
        },
        min_available: u32 = rollout.min_available,
        peak_pods: u32 = rollout.peak_pods,
        peak_terminating: u32 = rollout.peak_terminating,
    }
}

document_part! {
    ReplicaSetDocument(set: &ReplicaSet) {
        uid: Uid = set.uid,
        name: String = set.name.clone(),
        created_at_millis: Millis = set.created_at_millis,
        first_seen_millis: Millis = set.first_seen_millis,
        removed_millis: Option<Millis> = set.removed_millis,
        removed_because: Option<RemovedBecause> = set.removed_because,
        images: Vec<String> = names(&set.images),
        revisions: Vec<(u64, Option<Millis>)> = set.revisions.clone(),
    }
}

document_part! {
    ScaleDocument(set: Uid, scale: &Scale) {
        at_millis: Millis = scale.at_millis,
        replica_set: Uid = set,
        from: u32 = scale.from,
        to: u32 = scale.to,
        cause: ScaleCause = scale.cause,
    }
}

document_part! {
    PodDocument(pod: &Pod) {
        uid: Uid = pod.uid,
        name: String = pod.name.clone(),
        replica_set: Option<Uid> = pod.replica_set(),
        node: Option<String> = pod.now.node.clone(),
        created_at_millis: Millis = pod.created_at_millis,
        states: Vec<(PodState, Millis)> = pod.states.clone(),
        restarts: u32 = pod.now.most_restarts,
        released_millis: Option<Millis> = pod.released_millis(),
        adopted_millis: Option<Millis> = pod.adopted_millis(),
        end_reason: Option<EndReason> = pod.end_reason,
    }
}

document_part! {
    MarkDocument(mark: &Mark) {
        at_millis: Millis = mark.at_millis,
        kind: &'static str = match mark.kind {
            MarkKind::Paused => "paused",
            MarkKind::Resumed => "resumed",
            MarkKind::Replicas { .. } => "replicas",
            MarkKind::Deleting => "deleting",
        },
        detail: Option<(u32, u32)> = match mark.kind {
            MarkKind::Replicas { from, to } => Some((from, to)),
            _ => None,
        },
    }
}

document_part! {
    VerdictDocument(changed: &(Millis, KubectlVerdict)) {
        at_millis: Millis = changed.0,
        verdict: KubectlVerdict = changed.1,
    }
}

document_part! {
    GapDocument(gap: &Gap) {
        from_millis: Millis = gap.from_millis,
        to_millis: Millis = gap.to_millis,
    }
}

document_part! {
    EventDocument(event: &Event) {
        at_millis: Millis = event.at_millis,
        kind: String = event.about.0.clone(),
        name: String = event.about.1.clone(),
        reason: String = event.reason.clone(),
        message: String = event.message.clone(),
        count: u32 = event.count,
    }
}

fn names(images: &[Image]) -> Vec<String> {
    images.iter().map(|image| image.image.clone()).collect()
}
