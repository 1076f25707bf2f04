//! A cause in words. [`super::pod_causes`] and [`super::start_causes`] have those that pods show. [`super::excerpt`] takes what
//! decides out of messages that say it at length.

use super::excerpt::{Quota, quota, refusal};
use super::pod_causes::{
    NamedPods, crash_cause, failed_pods_cause, image_cause, lost_pods_cause, tail, unschedulable_cause,
};
use super::start_causes::{
    bad_container, flapping, gate, gated, held_at_start, init, min_ready, node_silent, not_ready, not_started, pulling,
    starting, unplaced,
};
use crate::Millis;
use crate::assess::{Assessment, Cause, CauseKind, Obstacle, Refused};
use crate::rules::messages::StartHold;
use crate::words::{count, duration, images, is_are, moment};

/// Why no pod is created and no refusal is known: in a namespace that is being deleted the API server refuses pods, and
/// Events too.
const NONE_CREATED: &str = "the namespace is being deleted, or the ReplicaSet controller cannot create pods.";

/// A cause in one sentence.
pub fn cause(cause: &Cause, assessment: &Assessment<'_>) -> String {
    let named = NamedPods::new(cause, assessment);
    match &cause.kind {
        CauseKind::ControllerSilent => controller_silent(cause, assessment),
        CauseKind::Paused { is_edited } => paused(*is_edited, assessment),
        CauseKind::Refused { what, older } => refused_old_or_new(cause, assessment, *what, *older),
        CauseKind::SetMissing => format!(
            "No pod is left, and the Deployment controller has not made the next ReplicaSet for {}.",
            named.since
        ),
        CauseKind::ScalingStuck { replicas } => scaling_stuck(assessment, *replicas),
        CauseKind::Image { image, container } => image_cause(cause, assessment, (image, container), &named),
        CauseKind::BadContainer { container } => bad_container(cause, container, &named),
        CauseKind::NotStarted { container } => not_started(cause, container, &named),
        CauseKind::Crash(crash) => crash_cause(cause, assessment, crash, &named),
        CauseKind::PodsFailed { node: Some(node), .. } => lost_pods_cause(cause, node, &named),
        CauseKind::PodsFailed { exit, .. } => failed_pods_cause(cause, exit.as_ref(), &named),
        CauseKind::Unschedulable { node } => unschedulable_cause(cause, assessment, node.as_ref(), &named),
        CauseKind::SchedulingGated => gated(cause, &named),
        CauseKind::NoScheduler { nominated } => unplaced(cause, nominated.as_deref(), &named),
        CauseKind::Starting { hold: StartHold::Unknown, after, time } => {
            starting(cause, assessment, *after, time, &named)
        }
        CauseKind::Starting { hold: StartHold::Pull, .. } => pulling(cause, &named),
        CauseKind::Starting { hold, .. } => held_at_start(cause, *hold, &named),
        CauseKind::Init { is_running, is_sidecar, time } => {
            init(cause, assessment, (*is_running, *is_sidecar), time, &named)
        }
        CauseKind::NotReady { is_startup, was_ready, time, saw } => {
            not_ready(cause, assessment, (*is_startup, *was_ready), time, saw.as_deref(), &named)
        }
        CauseKind::Flapping { losses, is_over, .. } => flapping(cause, *losses, *is_over, &named),
        CauseKind::NodeSilent { node } => node_silent(cause, node, &named),
        CauseKind::Gate { gate: name, time } => gate(cause, name.as_deref(), time, &named),
        CauseKind::Deadlock { obstacle } => deadlock(assessment, *obstacle),
        CauseKind::OldNotGoing => old_not_going(cause, &named),
        CauseKind::PodsMissing { desired, there } => missing_pods(assessment, *desired, *there, &named),
        CauseKind::PodsDeleted => deleted_pods(cause, assessment),
        CauseKind::MinReady { left_millis, seconds, is_first } => min_ready(cause, *left_millis, *seconds, *is_first),
        CauseKind::OldTroubles { revision, trouble } => old_troubles(assessment, *revision, trouble),
    }
}

fn controller_silent(cause: &Cause, assessment: &Assessment<'_>) -> String {
    let evidence = &cause.evidence;
    // Whole seconds: a sentence that changes more often cannot be read.
    let since = evidence.since_millis.map(|since| (assessment.now.millis - since).div_euclid(1_000) * 1_000);
    let least = if evidence.is_least { "at least " } else { "" };
    format!("The Deployment controller has not reacted for {least}{}.", since.map(duration).unwrap_or_default())
}

fn paused(is_edited: bool, assessment: &Assessment<'_>) -> String {
    let spec = &assessment.deployment.now.spec;
    match is_edited {
        // Which template the last one had is not known any more: it comes back, or an edit does.
        _ if assessment.has_lost_all_sets() => format!(
            "No ReplicaSet is left, and the Deployment controller creates none while the Deployment is paused: image {} is waiting.",
            images(&spec.images)
        ),
        true if assessment.awaits_first_revision() => {
            format!("The first revision is waiting: image {}.", images(&spec.images))
        }
        true if assessment.current.is_some_and(|set| set.images == spec.images) => {
            "A change of the template is waiting; its images are the same.".to_owned()
        }
        true => format!("A change of the template is waiting: image {}.", images(&spec.images)),
        false if assessment.replaces_nothing() => "No change of the template is waiting.".to_owned(),
        false => "The rollout is paused before it is complete.".to_owned(),
    }
}

fn scaling_stuck(assessment: &Assessment<'_>, replicas: u32) -> String {
    let desired = assessment.deployment.now.spec.replicas;
    format!(
        "{} {} desired instead of {replicas}: before the rollout goes on, the Deployment controller has to scale, and with Recreate it \
         cannot scale several ReplicaSets. Scale back to {replicas}, and to {desired} once the rollout is complete.",
        count(desired, "replica"),
        is_are(desired)
    )
}

fn deadlock(assessment: &Assessment<'_>, obstacle: Obstacle) -> String {
    let obstacle = match obstacle {
        Obstacle::Refused => "refused",
        Obstacle::NoNode => "no node fits",
        Obstacle::Volume => "an old pod has its volume",
    };
    format!(
        "Can't remove an old pod (maxUnavailable {}) or add a new one ({obstacle}): the rollout is blocked.",
        assessment.limits.max_unavailable
    )
}

fn old_not_going(cause: &Cause, NamedPods { example, .. }: &NamedPods) -> String {
    let (pods, have) = (count(cause.pods, "old pod"), if cause.pods == 1 { "has" } else { "have" });
    format!("{pods} {have} been terminating for longer than the grace period and must be gone first ({example}).")
}

fn missing_pods(assessment: &Assessment<'_>, desired: u32, there: u32, NamedPods { since, .. }: &NamedPods) -> String {
    let pods = count(desired, "pod");
    if assessment.has_lost_all_pods() {
        return format!("{pods} {} desired, and none has been created for {since}: {NONE_CREATED}", is_are(desired));
    }
    let exist = if there == 1 { "exists" } else { "exist" };
    format!("The ReplicaSet controller has been behind for {since}: {pods} desired, {there} {exist}.")
}

fn deleted_pods(cause: &Cause, assessment: &Assessment<'_>) -> String {
    let at = cause.evidence.since_millis.filter(|_| !cause.evidence.is_least);
    let at = at.map(|at| format!(" at {} UTC", moment(at, assessment.now.millis))).unwrap_or_default();
    format!("No pod has been created since all were deleted{at}: {NONE_CREATED}")
}

fn old_troubles(assessment: &Assessment<'_>, revision: Option<u64>, trouble: &Cause) -> String {
    let revision = revision.map_or_else(|| "An older revision".to_owned(), |r| format!("Revision {r}"));
    let mut trouble = cause(trouble, assessment);
    if let Some(initial) = trouble.get_mut(..1) {
        initial.make_ascii_lowercase();
    }
    format!("{revision} has problems of its own: {trouble}")
}

/// A refusal of what the current revision or an `older` one asks for, as it is now or was last.
fn refused_old_or_new(cause: &Cause, assessment: &Assessment<'_>, what: Refused, older: Option<u64>) -> String {
    let message = &cause.evidence.message;
    match (older, assessment.old_refusal_millis(cause)) {
        (None, None) => refused(what, message),
        (None, Some(last)) => was_refused(what, assessment.now.millis - last, message),
        (Some(revision), None) => {
            format!("Revision {revision} cannot replace a pod: {}", refused(Refused::Pods, message))
        }
        (Some(revision), Some(last)) => {
            let refused = was_refused(what, assessment.now.millis - last, message);
            format!("Revision {revision} could not replace a pod: {refused}")
        }
    }
}

/// A refusal that was a while ago, and may be over.
fn was_refused(what: Refused, ago_millis: Millis, message: &str) -> String {
    let what = if what == Refused::ReplicaSet { "the new ReplicaSet" } else { "a pod" };
    let refused = format!("The API server last refused {what} {} ago", duration(ago_millis));
    refused_for(&refused, message, ["was used up", "had no room"])
}

fn refused(what: Refused, message: &str) -> String {
    let refused = match what {
        Refused::ReplicaSet => "the new ReplicaSet",
        Refused::Pods => "new pods",
        Refused::Deletion => "to delete pods",
    };
    refused_for(&format!("The API server refuses {refused}"), message, ["is used up", "has no room"])
}

/// A refusal and why; the last words say of a quota that nothing is left of it, and that too little is left.
fn refused_for(refused: &str, message: &str, [used_up, no_room]: [&str; 2]) -> String {
    match quota(message) {
        None => format!("{refused}{}", tail(&refusal(message))),
        Some(Quota { name, is_used_up, parts }) => {
            let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) };
            let state = if is_used_up { used_up } else { no_room };
            format!("{refused}: quota {name} {state}{parts}.")
        }
    }
}
