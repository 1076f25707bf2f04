//! The next step in words: what the controllers do or wait for, and what the progress deadline will do.

use crate::assess::failed_pods::FAILED_MILLIS;
use crate::assess::{Assessment, CauseKind, Refused, Standing, Tone};
use crate::model::fact::{Container, ContainerState};
use crate::model::{KubectlVerdict, PodState};
use crate::rules::budget::Next;
use crate::rules::phase::is_over;
use crate::words::{capitalized, count, is_are, moment};

/// Says what comes next, in whole sentences; never empty.
pub fn next(standing: Standing, assessment: &Assessment<'_>) -> String {
    let left = assessment.counts.available + assessment.counts.not_yet + assessment.counts.terminating;
    let is_unsteady = standing == Standing::Degraded { is_stuck: true }
        && assessment.counts.available >= assessment.deployment.now.spec.replicas;
    let first = match standing {
        Standing::Deleted if left > 0 => {
            "Kubernetes deletes its ReplicaSets and pods, unless it was deleted with --cascade=orphan.".to_owned()
        }
        Standing::Deleted => "A new Deployment of this name starts a history of its own.".to_owned(),
        Standing::Deleting => "Kubernetes removes it when its finalizers are done.".to_owned(),
        Standing::NotObserved { .. } => "The change takes effect when the controller reacts.".to_owned(),
        Standing::Paused => paused(assessment),
        Standing::ScaledToZero => format!("{} Pods are created when it is scaled up.", moving(assessment)),
        Standing::Complete => moving(assessment),
        // For how long it backs off is a setting of each kubelet (`crashLoopBackOff`), which nobody tells.
        Standing::Crashing if is_backing_off(assessment) => {
            "The kubelet starts the containers again after a back-off.".to_owned()
        }
        Standing::Crashing => "If a container ends again, the kubelet starts it again after a back-off.".to_owned(),
        // It has not seen yet what is asked for now.
        Standing::Finishing if assessment.kubectl == KubectlVerdict::NotObserved => controllers(assessment),
        Standing::Finishing => "Waiting for the Deployment controller to report this in its status.".to_owned(),
        Standing::TakingDown if assessment.has_begun_next() => {
            let old = assessment.sums.old_pods;
            format!("Recreate: more new pods are created when {} {} gone.", count(old, "old pod"), is_are(old))
        }
        Standing::TakingDown => {
            let starts =
                format!("Recreate: the next revision starts when {} {} gone.", count(left, "pod"), is_are(left));
            [Some(starts), grace_period(assessment)].into_iter().flatten().collect::<Vec<_>>().join(" ")
        }
        _ if is_unsteady => {
            let is_flapping = assessment.decisive().is_some_and(|cause| cause.kind.is_loss());
            let event = if is_flapping { "lost its readiness" } else { "failed" };
            format!("It counts as degraded until no pod has {event} for {} s.", FAILED_MILLIS / 1_000)
        }
        _ => controllers(assessment),
    };
    // In a namespace that is being deleted the controllers do not keep trying: only a deadline that runs is told.
    let is_told = !assessment.has_lost_all_pods() || assessment.deadline_millis.is_some();
    // Nor do they try anything while all pods are there.
    let has_deadline = standing.has_deadline() && is_told && !is_unsteady;
    let deadline = has_deadline.then(|| deadline(standing, assessment)).flatten();
    [Some(first), deadline].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Says when the grace periods end of the pods that are taken down; `None` before all of them were asked to go, and after that time.
fn grace_period(assessment: &Assessment<'_>) -> Option<String> {
    let (counts, now) = (assessment.counts, assessment.now);
    let pods = assessment.model.counted_pods(assessment.deployment.uid).into_iter();
    let going = pods.filter(|pod| pod.state() == PodState::Terminating);
    let last = going.filter_map(|pod| pod.now.deletion_at_millis).max()?.saturating_add(now.skew_millis);
    let is_known = counts.available + counts.not_yet == 0 && last > now.millis;
    let whose = if counts.terminating == 1 { "Its grace period ends" } else { "Their grace periods end" };
    is_known.then(|| format!("{whose} at {} UTC at the latest.", moment(last, now.millis)))
}

/// A container that ended is yet to be started again.
fn is_backing_off(assessment: &Assessment<'_>) -> bool {
    let waits = |container: &Container| match &container.state {
        Some(ContainerState::Waiting { reason, .. }) => reason == "CrashLoopBackOff" || container.last_exit.is_some(),
        Some(ContainerState::Terminated { .. }) => !is_over(container),
        Some(ContainerState::Running) | None => false,
    };
    let pods = assessment.current.into_iter().flat_map(|set| assessment.model.pods_of(set.uid));
    pods.filter(|pod| pod.is_active()).any(|pod| pod.now.containers.iter().any(waits))
}

/// Speaks of the controllers alone: pods that terminate, or containers that were started again a moment ago, have not come to rest.
fn moving(assessment: &Assessment<'_>) -> String {
    owed(assessment).map_or_else(|| "The controllers have nothing left to do.".to_owned(), sentence)
}

/// Says what resuming will do, and what happens although it is paused: replicas are scaled all the same.
fn paused(assessment: &Assessment<'_>) -> String {
    let is_edited = assessment.causes.iter().any(|cause| cause.kind == CauseKind::Paused { is_edited: true });
    let resuming = match assessment.kubectl {
        _ if assessment.awaits_first_revision() => {
            "The first revision is rolled out when somebody resumes the rollout; no progress deadline runs until then."
        }
        _ if assessment.has_lost_all_sets() => {
            "The ReplicaSet is created when somebody resumes the rollout; no progress deadline runs until then."
        }
        _ if is_edited => {
            "The change is rolled out when somebody resumes the rollout; no progress deadline runs until then."
        }
        _ if assessment.replaces_nothing() => "Changes of the template wait until somebody resumes the rollout.",
        _ => "The rollout continues when somebody resumes it; no progress deadline runs until then.",
    };
    let meanwhile = steps(assessment).map(|steps| format!("{steps} "));
    format!("{}{resuming}", meanwhile.unwrap_or_default())
}

fn controllers(assessment: &Assessment<'_>) -> String {
    steps(assessment).unwrap_or_else(|| "Waiting for the controllers to react.".to_owned())
}

/// Says what the controllers do or wait for; `None` when that is nothing.
fn steps(assessment: &Assessment<'_>) -> Option<String> {
    let steps = owed(assessment).into_iter().chain(step_of_rollout(assessment)).collect::<Vec<_>>();
    (!steps.is_empty()).then(|| sentence(steps.join("; ")))
}

fn sentence(said: String) -> String {
    format!("{}.", capitalized(said))
}

/// The pods that the ReplicaSet controller creates and removes; `None` when there are as many as the ReplicaSets desire.
fn owed(assessment: &Assessment<'_>) -> Option<String> {
    let (missing, remove) = assessment.owed;
    // Where all pods were deleted, the cause says that it may be unable to create any.
    let make = if assessment.has_lost_all_pods() { 0 } else { missing };
    let creates = match assessment.refusal(Refused::Pods) {
        Some(refusal) if assessment.old_refusal_millis(refusal).is_some() => "tries again after a back-off to create",
        Some(_) => "keeps trying to create",
        None => "creates",
    };
    let said = match (make, remove) {
        (0, 0) => return None,
        (make, 0) => format!("{creates} {}", count(make, "pod")),
        (0, remove) => format!("removes {}", count(remove, "pod")),
        (make, remove) => format!("{creates} {} and removes {remove}", count(make, "pod")),
    };
    Some(format!("the ReplicaSet controller {said}"))
}

/// Says what the Deployment controller does or waits for.
fn step_of_rollout(assessment: &Assessment<'_>) -> Option<String> {
    let floor = assessment.limits.floor;
    let missing = assessment.deployment.now.spec.replicas.saturating_sub(assessment.counts.new_available);
    if let Some(replicas) = assessment.replicas_before_stuck_scaling() {
        let again = format!("{} {} desired again", count(replicas, "replica"), is_are(replicas));
        return Some(format!("the Deployment controller scales no ReplicaSet until {again}"));
    }
    let said = match assessment.next {
        Next::Nothing if assessment.counts.not_yet > 0 && missing > 0 => {
            format!("{} still to become available", count(missing, "pod"))
        }
        Next::Nothing | Next::Paused => return None,
        Next::Spread => "the controller spreads the replicas over the ReplicaSets".to_owned(),
        // It gives up after `maxRetries` (`deployment_controller.go`).
        Next::CreateSet if assessment.refusal(Refused::ReplicaSet).is_some() && assessment.may_retry_set() => {
            "the Deployment controller tries again 15 times in three minutes to create the ReplicaSet, then only when the Deployment or \
             one of its ReplicaSets changes"
                .to_owned()
        }
        Next::CreateSet if assessment.refusal(Refused::ReplicaSet).is_some() => {
            "the Deployment controller tries again to create the ReplicaSet when the Deployment or one of its ReplicaSets changes".to_owned()
        }
        Next::CreateSet => "the controller creates the ReplicaSet".to_owned(),
        Next::AddNew(pods) => format!("{} can be added", count(pods, "new pod")),
        Next::RemoveNew(pods) => format!("{} too many {} removed", count(pods, "pod"), is_are(pods)),
        Next::RemoveOld { unhealthy: 0, healthy } => {
            format!("{} can be removed (floor {floor})", count(healthy, "old pod"))
        }
        Next::RemoveOld { unhealthy, healthy: 0 } => {
            let are = if unhealthy == 1 { "that is" } else { "that are" };
            format!("{} {are} not available can be removed", count(unhealthy, "old pod"))
        }
        Next::RemoveOld { unhealthy, healthy } => {
            format!("{} can be removed, unavailable ones first (floor {floor})", count(unhealthy + healthy, "old pod"))
        }
        Next::WaitForNew(1) => {
            format!("when a new pod becomes available, an old one can be removed (floor {floor})")
        }
        Next::WaitForNew(needed) => {
            format!("when {needed} more new pods are available, an old one can be removed (floor {floor})")
        }
        Next::WaitForOldGone => "new pods are created when the old ones are gone".to_owned(),
    };
    Some(said)
}

/// Says what the progress deadline will do, or did; `None` where it does not matter.
fn deadline(standing: Standing, assessment: &Assessment<'_>) -> Option<String> {
    let now = &assessment.deployment.now;
    let told = now.status.progress_reason();
    let (is_bad, is_over) = (assessment.tone(standing) == Tone::Bad, standing == Standing::DeadlineExceeded);
    let has_passed = assessment.deadline_millis.is_some_and(|at| at <= assessment.now.millis);
    let is_set_refused = assessment.refusal(Refused::ReplicaSet).is_some();
    let said = match assessment.deadline_millis.map(|at| moment(at, assessment.now.millis)) {
        Some(at) if is_over => format!(
            "Kubernetes reported at {at} UTC that the progress deadline passed; it keeps trying and does not roll back by itself."
        ),
        Some(_) if told == "ProgressDeadlineExceeded" => return None, // that of the rollout before
        Some(at) if has_passed => {
            format!("The progress deadline passed at {at} UTC; Kubernetes has not reported it yet.")
        }
        Some(at) if is_bad => format!(
            "Without progress by {at} UTC, Kubernetes reports that the deadline is exceeded; it keeps trying and does not roll back by itself."
        ),
        Some(at) => format!("Progress deadline: {at} UTC."),
        None if !is_bad => return None,
        None if is_set_refused || assessment.replicas_before_stuck_scaling().is_some() => {
            "Kubernetes does not roll back by itself.".to_owned()
        }
        None if !is_over && now.spec.progress_deadline_seconds.is_none() => {
            "No progress deadline is set; Kubernetes keeps trying and does not roll back by itself.".to_owned()
        }
        None if !is_over && told == "NewReplicaSetAvailable" => {
            // A rollback that takes all old pods down at once, or gets no pods, does not move the condition.
            let why = if assessment.is_rolling_out() {
                "Kubernetes still reports the rollout before, which was complete; it keeps trying"
            } else {
                "the rollout was complete before; Kubernetes keeps trying"
            };
            format!("No progress deadline runs, because {why}.")
        }
        None => "Kubernetes keeps trying; it does not roll back by itself.".to_owned(),
    };
    Some(said)
}
