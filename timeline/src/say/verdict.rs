//! The verdict in words: badge, sentence, why.

use serde::{Deserialize, Serialize};

use super::budget::at_limits;
use super::crash::crashes;
use super::episode::say_losses_with_times;
use super::excerpt::kill_error;
use super::headline::matter;
use crate::assess::{Assessment, Cause, CauseKind, Now, Refused, Standing, Tone, rollout_causes};
use crate::model::fact::{Container, Kind, Role};
use crate::model::{Deployment, KubectlVerdict, Pod, ReplicaSet};
use crate::rules::messages::is_ordinary_wait;
use crate::rules::phase::init_at_work;
use crate::say::cause;
use crate::words::{capitalized, count, duration, duration_in_words, is_are, list, moment, safe, sentence_end};

/// The end of a headline, if nothing is worse than that no pod serves during a rollout or a pause.
const NO_POD: &str = "no pod is available.";

/// Most kinds of losses that are named.
const MOST_LOSSES: usize = 2;

/// The verdict, in words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// One or two words: "Complete", "Rolling out".
    pub badge: String,
    /// Its colour.
    pub tone: Tone,
    /// One sentence.
    pub sentence: String,
    /// Why, with figures and what the limits allow; may be empty. What comes next is [`crate::view::View::next`].
    pub why: String,
    /// The verdict of `kubectl rollout status` on the same object.
    pub kubectl: KubectlVerdict,
}

/// The notice that the name belonged to another Deployment before.
pub fn recreated(before: &Deployment, now: &Deployment, clock: Now) -> String {
    let said = |at| moment(at, clock.millis);
    let deleted = before.deleted_millis.map_or_else(String::new, |at| format!(", deleted at {} UTC", said(at)));
    format!(
        "This Deployment was created at {} UTC. Another one of the same name was there before{deleted}; its history is not \
         shown here.",
        said(now.created_at_millis.saturating_add(clock.skew_millis))
    )
}

/// The notice that the name belongs to another Deployment now.
pub fn succeeded(after: &Deployment, then: &Deployment, clock: Now) -> String {
    let said = |at| moment(at, clock.millis);
    let deleted = then.deleted_millis.map_or_else(String::new, |at| format!(" It was deleted at {} UTC.", said(at)));
    format!(
        "You are looking at an earlier Deployment of this name.{deleted} The Deployment that has the name now was created at {} UTC.",
        said(after.created_at_millis.saturating_add(clock.skew_millis))
    )
}

/// The badge: one or two words.
pub fn badge(standing: Standing, assessment: &Assessment<'_>) -> String {
    match standing {
        Standing::Deleted => "Ended",
        Standing::Deleting => "Being deleted",
        Standing::Paused => "Paused",
        Standing::NotObserved { .. } => "Not observed",
        Standing::ScaledToZero => "Scaled to zero",
        Standing::DeadlineExceeded => "Deadline exceeded",
        Standing::Failing => "Failing",
        // One badge, also while pods of the loop are available for a moment.
        Standing::Crashing => "Degraded",
        Standing::Blocked => "Blocked",
        Standing::TakingDown => "Taking down",
        // The same as in an outage at rest.
        Standing::Waiting | Standing::Slow | Standing::Progressing if assessment.is_rollout_outage(standing) => {
            "Degraded"
        }
        Standing::Waiting => "Waiting",
        Standing::Slow => "Slow",
        Standing::Progressing if is_first(assessment) => "Starting",
        Standing::Progressing => "Rolling out",
        Standing::Finishing => "Finishing",
        Standing::ScalingUp { is_stuck: false } => "Scaling up",
        Standing::CatchingUp | Standing::Degraded { is_stuck: false } if assessment.waits_for_more_seconds() => {
            "Waiting"
        }
        Standing::CatchingUp if assessment.awaits_last_pods() => {
            if is_first(assessment) {
                "Starting"
            } else {
                "Rolling out"
            }
        }
        Standing::CatchingUp => "Catching up",
        Standing::ScalingUp { .. } | Standing::Degraded { is_stuck: true } => {
            let is_failure = assessment.decisive().is_some_and(|cause| cause.kind.is_failure());
            let is_growing = matches!(standing, Standing::ScalingUp { .. });
            match (is_failure, is_growing) {
                (true, _) if is_growing || assessment.counts.available == 0 => "Failing",
                (false, true) => "Blocked",
                _ => "Degraded",
            }
        }
        Standing::Degraded { is_stuck: false } => "Recovering",
        Standing::Complete => "Complete",
    }
    .to_owned()
}

/// The verdict: one sentence.
pub fn verdict(standing: Standing, assessment: &Assessment<'_>) -> String {
    let desired = assessment.deployment.now.spec.replicas;
    // More are there for a moment where fewer are asked for since, or a ReplicaSet is taken up again.
    let [available, new_available] =
        [assessment.counts.available, assessment.counts.new_available].map(|pods| pods.min(desired));
    let remaining = assessment.counts.available + assessment.counts.not_yet;
    // The pods of the current revision are no new ones any more once its template was edited.
    match standing {
        Standing::Deleted => {
            let ago = assessment.deployment.deleted_millis.map_or(0, |at| assessment.now.millis - at);
            let ago = match assessment.went_unseen() {
                true => format!("at least {}", duration(ago)),
                false => duration_in_words(ago),
            };
            format!("This Deployment was deleted {ago} ago.")
        }
        Standing::Deleting => "This Deployment is being deleted.".to_owned(),
        Standing::Paused if desired == 0 && remaining == 0 => "Paused, and scaled to zero.".to_owned(),
        Standing::Paused if assessment.is_rollout_outage(standing) => format!("Paused: {NO_POD}"),
        Standing::Paused => {
            let pods = match desired {
                0 => count(assessment.counts.new_available, "pod"),
                _ => format!("{new_available} of {desired} pods"),
            };
            // Those of the revision before serve on until it is resumed.
            let has_old = new_available < desired && assessment.counts.available > assessment.counts.new_available;
            match assessment.revision() {
                Some(revision) if has_old => {
                    // The pods of both revisions run on, as many as the ceiling allows.
                    let all = match assessment.counts.available {
                        all if all > desired => format!("{} available ({desired} desired)", count(all, "pod")),
                        all => format!("{all} of {desired} pods available"),
                    };
                    format!("Paused: {all}, {new_available} of revision {revision}.")
                }
                Some(revision) => format!("Paused: {pods} of revision {revision} available."),
                None => format!("Paused: {pods} available."),
            }
        }
        Standing::NotObserved { .. } => {
            format!("The Deployment controller has not reacted for {}.", duration(silence(assessment)))
        }
        Standing::ScaledToZero => format!("{} is scaled to zero.", subject(assessment)),
        Standing::Complete | Standing::Finishing if desired == 0 => {
            let (pods, are) = (count(remaining, "pod"), is_are(remaining));
            format!("{} is scaled to zero; {pods} {are} still there.", subject(assessment))
        }
        Standing::Complete => format!("{} is complete: {available} of {desired} available.", subject(assessment)),
        Standing::Crashing => crashing(assessment),
        Standing::DeadlineExceeded | Standing::Failing | Standing::Blocked
            if let Some(cause) = assessment.decisive() =>
        {
            failing(cause, assessment)
        }
        // Nothing failed: it took too long, and what for is known.
        Standing::DeadlineExceeded if let Some(cause) = assessment.awaited() => {
            format!("{} makes no progress: {}.", rolled_out(assessment), matter(cause, assessment))
        }
        Standing::DeadlineExceeded | Standing::Failing | Standing::Blocked => {
            format!("{} makes no progress: {new_available} of {desired} new pods available.", rolled_out(assessment))
        }
        Standing::TakingDown => {
            let old = revisions(assessment.replaced());
            let verb = if old.len() == 1 { "is" } else { "are" };
            let noun = if old.len() == 1 { "Revision" } else { "Revisions" };
            let next = match assessment.current.and_then(|set| set.revision()) {
                Some(next) if !assessment.awaits_revision => format!("revision {next}"),
                _ => "the next one".to_owned(),
            };
            let starts = if assessment.has_begun_next() { "goes on" } else { "starts" };
            match old.is_empty() {
                true => format!("The old pods are being taken down before {next} {starts}."),
                false => format!("{noun} {} {verb} being taken down before {next} {starts}.", list(&old)),
            }
        }
        Standing::ScalingUp { .. } | Standing::Degraded { .. } if let Some(cause) = assessment.decisive() => {
            // Where all are there, the cause does not explain the figure.
            let but = if available < desired { ":" } else { ", but" };
            let (who, what) = (subject(assessment), matter(cause, assessment));
            format!("{who} has {available} of {desired} available{but} {what}.")
        }
        Standing::ScalingUp { .. } => {
            format!("{} is scaling up: {available} of {desired} available.", subject(assessment))
        }
        Standing::Degraded { is_stuck: true } if available == 0 => {
            let revision = assessment.revision().map(|revision| format!("revision {revision}"));
            format!("No pod of {} is available: 0 of {desired}.", revision.as_deref().unwrap_or("this Deployment"))
        }
        // Pods of the revisions before may still be there, and are not its own.
        Standing::Finishing => format!("{}: {new_available} of {desired} available.", subject(assessment)),
        Standing::CatchingUp if assessment.awaits_last_pods() => {
            format!("{}: {new_available} of {desired} available.", subject(assessment))
        }
        Standing::CatchingUp | Standing::Degraded { .. } => {
            format!("{}: {available} of {desired} available.", subject(assessment))
        }
        Standing::Waiting | Standing::Slow | Standing::Progressing => {
            let is_outage = assessment.is_rollout_outage(standing);
            let there = |pods: String| if is_outage { NO_POD.to_owned() } else { format!("{pods} available.") };
            match replaced(assessment).as_slice() {
                _ if assessment.awaits_revision => {
                    format!("The template changed: {}", there(format!("{available} of {desired} pods")))
                }
                [] => format!("{}: {}", subject(assessment), there(format!("{new_available} of {desired}"))),
                old => format!(
                    "{} is replacing {} {}: {}",
                    subject(assessment),
                    if old.len() == 1 { "revision" } else { "revisions" },
                    list(old),
                    there(format!("{new_available} of {desired} new pods"))
                ),
            }
        }
    }
}

/// A revision that fails: which one, and why.
fn failing(cause: &Cause, assessment: &Assessment<'_>) -> String {
    let is_refused = cause.kind.is_refusal(Refused::ReplicaSet);
    let who = if is_refused { "The next revision".to_owned() } else { rolled_out(assessment) };
    let is_old = assessment.old_refusal_millis(cause).is_some();
    let verb = match cause.kind {
        CauseKind::Refused { what: Refused::ReplicaSet, .. } if is_old => "could not start",
        CauseKind::Refused { what: Refused::ReplicaSet, .. } => "cannot start",
        CauseKind::Refused { .. } if is_old => "could not create pods",
        CauseKind::Refused { .. } => "cannot create pods",
        _ if !cause.kind.is_failure() => "is blocked",
        // Containers of a crash loop run for moments.
        CauseKind::Crash(_) => "is failing",
        _ if assessment.counts.new_available == 0 => "cannot start",
        _ => "is failing",
    };
    format!("{who} {verb}: {}.", matter(cause, assessment))
}

/// It was rolled out, and its containers crash: which, how, how often. The same whether they run at the moment or not.
fn crashing(assessment: &Assessment<'_>) -> String {
    let said = |crash| format!("{}, {}", crashes(crash), count(crash.restarts, "restart"));
    let what = assessment.crash_loop().map(said).unwrap_or_default();
    format!("{} was rolled out, but {what}.", subject(assessment))
}

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
        Standing::Deleted => {
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
        Standing::Deleting => overdue(assessment).map(|(_, said)| said).unwrap_or_default(),
        Standing::NotObserved { .. } => outage.unwrap_or_default(),
        Standing::Paused => named.iter().chain(&lost).map(String::as_str).collect::<Vec<_>>().join(" "),
        Standing::TakingDown => {
            let none = (assessment.counts.available == 0).then(|| capitalized(NO_POD.to_owned()));
            named.iter().cloned().chain(none).collect::<Vec<_>>().join(" ")
        }
        Standing::ScaledToZero | Standing::Complete | Standing::Finishing => {
            // For Kubernetes a rollout that fails is complete as soon as no pod is asked for any more.
            let is_nothing = standing == Standing::ScaledToZero && assessment.came_to_nothing();
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
    let overdue: Vec<(&Pod, crate::Millis)> =
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

/// The revision that is rolled out: the next one, while its ReplicaSet is awaited.
fn rolled_out(assessment: &Assessment<'_>) -> String {
    if assessment.awaits_revision { "The next revision".to_owned() } else { subject(assessment) }
}

/// The revision as the subject of a sentence.
fn subject(assessment: &Assessment<'_>) -> String {
    assessment.revision().map_or_else(|| "This Deployment".to_owned(), |revision| format!("Revision {revision}"))
}

/// Nothing is replaced: the Deployment is new.
fn is_first(assessment: &Assessment<'_>) -> bool {
    !assessment.awaits_revision
        && replaced(assessment).is_empty()
        && assessment.deployment.rollouts_seen() <= 1
        && assessment.revision().is_none_or(|revision| revision == 1)
}

/// Older revisions whose ReplicaSets still desire pods.
fn replaced(assessment: &Assessment<'_>) -> Vec<String> {
    let sets = assessment.model.owned_sets(assessment.deployment.uid);
    let is_old = |set: &&ReplicaSet| assessment.current.is_none_or(|current| current.uid != set.uid);
    revisions(sets.filter(is_old).filter(|set| set.now.counts.desired > 0))
}

/// Their revisions in order.
fn revisions<'m>(sets: impl Iterator<Item = &'m ReplicaSet>) -> Vec<String> {
    let mut revisions: Vec<u64> = sets.filter_map(ReplicaSet::revision).collect();
    revisions.sort_unstable();
    revisions.into_iter().map(|revision| revision.to_string()).collect()
}

fn silence(assessment: &Assessment<'_>) -> crate::Millis {
    let silent = assessment.causes.iter().find(|cause| cause.kind == CauseKind::ControllerSilent);
    let silence = silent.and_then(|cause| cause.evidence.since_millis).map_or(0, |since| assessment.now.millis - since);
    silence.div_euclid(1_000) * 1_000 // whole seconds: a sentence that changes more often cannot be read
}
