//! The verdict in words: badge and sentence; [`super::why()`] explains it.

use serde::{Deserialize, Serialize};

use super::crash::crashes;
use super::headline::matter;
use crate::assess::{Assessment, Cause, CauseKind, CrashCause, Now, Refused, Standing, Tone};
use crate::model::{Deployment, KubectlVerdict, ReplicaSet};
use crate::words::{count, duration, duration_in_words, is_are, list, moment};

/// The end of a headline, if nothing is worse than that no pod serves during a rollout or a pause.
pub(super) const NO_POD: &str = "no pod is available.";

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
        Standing::Waiting | Standing::Slow | Standing::Progressing
            if assessment.is_rollout_outage(standing) || assessment.lacks_old_pods(standing) =>
        {
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
        Standing::Deleted => deleted(assessment),
        Standing::Deleting => "This Deployment is being deleted.".to_owned(),
        Standing::Paused if desired == 0 && remaining == 0 => "Paused, and scaled to zero.".to_owned(),
        Standing::Paused if assessment.is_rollout_outage(standing) => format!("Paused: {NO_POD}"),
        Standing::Paused => paused(assessment, new_available),
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
        Standing::TakingDown => taking_down(assessment),
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
            replacing(standing, assessment, [available, new_available])
        }
    }
}

fn deleted(assessment: &Assessment<'_>) -> String {
    let ago = assessment.deployment.deleted_millis.map_or(0, |at| assessment.now.millis - at);
    let ago = match assessment.went_unseen() {
        true => format!("at least {}", duration(ago)),
        false => duration_in_words(ago),
    };
    format!("This Deployment was deleted {ago} ago.")
}

/// A pause that is no outage of the rollout, with the pods that are available: `new_available` are of the current revision.
fn paused(assessment: &Assessment<'_>, new_available: u32) -> String {
    let desired = assessment.deployment.now.spec.replicas;
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

fn taking_down(assessment: &Assessment<'_>) -> String {
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

/// A rollout under way, with the pods that are available, and those of them that are of the current revision.
fn replacing(standing: Standing, assessment: &Assessment<'_>, [available, new_available]: [u32; 2]) -> String {
    let desired = assessment.deployment.now.spec.replicas;
    let there = |pods: String| {
        if assessment.is_rollout_outage(standing) {
            NO_POD.to_owned()
        } else if assessment.lacks_old_pods(standing) {
            format!("{available} of at least {} available.", count(assessment.limits.floor, "pod"))
        } else {
            format!("{pods} available.")
        }
    };
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
    let said = |crash: &CrashCause| match crash.told_restarts() {
        0 => crashes(crash),
        restarts => format!("{}, {}", crashes(crash), count(restarts, "restart")),
    };
    let what = assessment.crash_loop().map(said).unwrap_or_default();
    format!("{} was rolled out, but {what}.", subject(assessment))
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
