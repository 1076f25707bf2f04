//! The explanation of a verdict: causes, limits, pods that are lost, late or left over.

use super::budget::at_limits;
use super::cause::cause;
use super::episode::say_losses_with_times;
use super::excerpt::kill_error;
use super::verdict::NO_POD;
use crate::Millis;
use crate::assess::{Assessment, CauseKind, Standing, rollout_causes};
use crate::model::Pod;
use crate::model::fact::{Container, Kind, Role};
use crate::rules::messages::is_ordinary_wait;
use crate::rules::phase::init_at_work;
use crate::words::{capitalized, count, is_are, moment, safe, sentence_end};

/// Most kinds of losses that are named.
const MOST_LOSSES: usize = 2;

/// Why the verdict is what it is: causes, what the budget forbids, what is left over; may be empty.
pub fn why(standing: Standing, assessment: &Assessment<'_>) -> String {
    // The one that the headline names comes first, with its figures.
    let decisive = assessment.decisive();
    let others = assessment.causes.iter().filter(|one| decisive.is_none_or(|decisive| *one != decisive));
    let named: Vec<String> = decisive.into_iter().chain(others).take(2).map(|one| cause(one, assessment)).collect();
    let unseen = "The ReplicaSets are not seen: the figures are those of the Deployment's status.".to_owned();
    // Where they may not be read, that is said with its time.
    let is_forbidden = assessment.model.unseen_since(Kind::ReplicaSet, &assessment.deployment.namespace).is_some();
    let unseen = Some(unseen).filter(|_| !assessment.sees_sets && !is_forbidden);
    // The headline says so, or the cause.
    let is_said = matches!(standing, Standing::Waiting | Standing::Slow | Standing::Progressing)
        || assessment.causes.iter().any(|cause| cause.kind == CauseKind::SetMissing);
    let outage = (!is_said && assessment.is_rollout_outage(standing)).then(|| capitalized(NO_POD.to_owned()));
    let is_loss_why = match standing {
        Standing::CatchingUp | Standing::Degraded { .. } => true,
        // No pod serves because old pods were lost, and because of what the new ones wait for.
        Standing::Paused | Standing::Blocked | Standing::Waiting | Standing::Slow | Standing::Progressing => {
            assessment.is_rollout_outage(standing)
        }
        _ => false,
    };
    let lost = if is_loss_why { losses(assessment) } else { Vec::new() };
    let with = |otherwise: Option<String>| {
        let rest = [outage.clone(), at_limits(assessment), unseen.clone(), otherwise.filter(|_| named.is_empty())];
        let said = named.iter().chain(rest.iter().flatten()).chain(&lost);
        said.map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    match standing {
        Standing::Deleted => outlived(assessment),
        Standing::Deleting => overdue(assessment).map(|(_, said)| said).unwrap_or_default(),
        Standing::NotObserved { .. } => outage.unwrap_or_default(),
        Standing::Paused => named.iter().chain(&lost).map(String::as_str).collect::<Vec<_>>().join(" "),
        Standing::TakingDown => {
            let none = (assessment.counts.available == 0).then(|| capitalized(NO_POD.to_owned()));
            named.iter().cloned().chain(none).collect::<Vec<_>>().join(" ")
        }
        Standing::ScaledToZero | Standing::Complete | Standing::Finishing => {
            at_rest(assessment, standing == Standing::ScaledToZero, unseen)
        }
        Standing::CatchingUp if assessment.awaits_last_pods() => with(None),
        Standing::CatchingUp | Standing::Degraded { .. } => with(Some(missing(assessment))),
        Standing::Blocked => {
            // Old pods that are named are no reason.
            let unexplained = "Nothing has moved for a while, and nothing says why.";
            let unexplained = decisive.is_none().then(|| unexplained.to_owned());
            let said = Some(with(None)).filter(|said| !said.is_empty());
            said.into_iter().chain(unexplained).collect::<Vec<_>>().join(" ")
        }
        Standing::Crashing => {
            let desired = assessment.deployment.now.spec.replicas;
            let available = assessment.counts.available.min(desired);
            with(None) + &format!(" {available} of {desired} available at the moment.")
        }
        Standing::DeadlineExceeded
        | Standing::Failing
        | Standing::ScalingUp { .. }
        | Standing::Waiting
        | Standing::Slow
        | Standing::Progressing => with(None),
    }
}

/// Counts the pods that outlive a Deployment that is deleted.
fn outlived(assessment: &Assessment<'_>) -> String {
    let left = assessment.counts.available + assessment.counts.not_yet + assessment.counts.terminating;
    let verb = if left == 1 { "exists" } else { "exist" };
    let let_go = assessment.model.count_let_go_pods(assessment.deployment.uid);
    let run = if let_go == 1 { "runs" } else { "run" };
    match (left, let_go) {
        (0, 0) => String::new(),
        (0, pods) => format!("{} still {run} without it.", count(pods, "pod")),
        (left, _) => format!("{} still {verb}.", count(left, "pod")),
    }
}

/// Explains a rollout that is complete: pods that lose their readiness in turn, and those beside the ones that count.
fn at_rest(assessment: &Assessment<'_>, is_scaled_to_zero: bool, unseen: Option<String>) -> String {
    // For Kubernetes a rollout that fails is complete as soon as no pod is asked for any more.
    let is_nothing = is_scaled_to_zero && assessment.came_to_nothing();
    let revision = assessment.revision().filter(|_| is_nothing);
    let flapping = assessment.causes.iter().find(|one| matches!(one.kind, CauseKind::Flapping { .. }));
    unseen
        .into_iter()
        .chain(revision.map(|revision| format!("No pod of revision {revision} was ever available.")))
        .chain(flapping.map(|one| cause(one, assessment)))
        .chain(Some(leftovers(assessment)).filter(|left| !left.is_empty()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Names the pods that are missing of a rollout that had everything before.
fn missing(assessment: &Assessment<'_>) -> String {
    let desired = assessment.deployment.now.spec.replicas;
    let missing = desired.saturating_sub(assessment.counts.available);
    let pods = if desired == 1 { "pod" } else { "pods" };
    format!("{missing} of {desired} {pods} {} not available; the revision does not change.", is_are(missing))
}

/// Names the losses whose replacements are missing: the last ones, one sentence for each kind.
fn losses(assessment: &Assessment<'_>) -> Vec<String> {
    let losses = assessment.unreplaced_losses();
    let mut said = say_losses_with_times(&losses, assessment.deployment, assessment.now.millis);
    said.split_off(said.len().saturating_sub(MOST_LOSSES))
}

/// Counts the pods that should have been gone, and says why they are not; `None` without any.
fn overdue(assessment: &Assessment<'_>) -> Option<(u32, String)> {
    let pods = pods_beside(assessment).into_iter();
    let overdue: Vec<(&Pod, Millis)> =
        pods.filter_map(|pod| Some((pod, rollout_causes::overdue(pod, assessment.now)?))).collect();
    let since = overdue.iter().map(|(_, since)| *since).min()?;
    let late = overdue.len() as u32;
    let (them, their) = if late == 1 { ("it", "its") } else { ("them", "their") };
    let errors = overdue.iter().map(|(pod, _)| kill_error(assessment.deployment, pod));
    let why = match errors.collect::<Option<Vec<String>>>().as_deref() {
        Some([error, ..]) => format!("the kubelet cannot end {them}: {}", sentence_end(error)),
        // A kubelet lets go of a pod once its volumes are not mounted any more (`SyncTerminatedPod` in `kubelet.go`).
        _ if overdue.iter().all(|(pod, _)| pod.now.terminal_millis.is_some()) => {
            format!("{their} containers have ended; a volume that is still mounted or a finalizer holds {them}.")
        }
        _ if overdue.iter().any(|(pod, _)| may_run_hook(pod)) => {
            format!("the node does not answer, a postStart hook has not ended, or a finalizer holds {them}.")
        }
        _ => format!("the node does not answer, or a finalizer holds {them}."),
    };
    let since = moment(since, assessment.now.millis);
    Some((late, format!("{} should have been gone since {since} UTC: {why}", count(late, "pod"))))
}

/// Returns whether a container of the pod may be in its postStart hook. Until the hook has ended, the kubelet reports that the container
/// waits, and does not end its pod (`startContainer` in `kuberuntime_container.go`). Init containers have no hooks, but sidecars do.
fn may_run_hook(pod: &Pod) -> bool {
    let is_blocked = init_at_work(&pod.now.containers).is_some_and(|(_, container)| container.role == Role::Init);
    let waits = |container: &Container| container.waiting().is_some_and(|(reason, _)| is_ordinary_wait(reason));
    !is_blocked && pod.now.containers.iter().any(waits)
}

/// The pods among which some may be beside those that count: those that are available, or gone, are neither overdue nor left over.
fn pods_beside<'m>(assessment: &Assessment<'m>) -> Vec<&'m Pod> {
    if assessment.counts.terminating + assessment.counts.failed == 0 {
        Vec::new()
    } else {
        assessment.model.counted_pods(assessment.deployment.uid)
    }
}

/// Names the pods beside those that count.
fn leftovers(assessment: &Assessment<'_>) -> String {
    let counts = assessment.counts;
    let pods = pods_beside(assessment);
    let (late, since) = overdue(assessment).unzip();
    let late = late.unwrap_or_default();
    let latest = pods.iter().filter(|pod| pod.is_leftover()).max_by_key(|pod| pod.now.terminal_millis);
    let left_over = latest.filter(|pod| !pod.now.reason.is_empty()).map_or_else(
        || "left over".to_owned(),
        |pod| {
            let message = pod.now.message.trim().trim_end_matches('.');
            let message = if message.is_empty() { String::new() } else { format!(": {}", safe(message)) };
            format!("left over, the latest {}{message}", safe(&pod.now.reason))
        },
    );
    let left_behind = assessment.model.count_left_behind_pods(assessment.deployment.uid).min(counts.out_of_rotation);
    let said = [
        (counts.terminating.saturating_sub(late), "pod", "still terminating"),
        (counts.failed, "failed pod", left_over.as_str()),
        (counts.out_of_rotation - left_behind, "pod", "running outside its ReplicaSet"),
        (left_behind, "pod", "running without a ReplicaSet"),
    ];
    let said = said.into_iter().filter(|(pods, ..)| *pods > 0).map(|(pods, noun, what)| {
        let what = if pods == 1 { what.to_owned() } else { what.replace("its ReplicaSet", "their ReplicaSet") };
        format!("{} {} {what}.", count(pods, noun), is_are(pods))
    });
    since.into_iter().chain(said).collect::<Vec<_>>().join(" ")
}
