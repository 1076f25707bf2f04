//! The verdict in words: badge, sentence, why, budget.

use crate::budget::{Limits, Next};
use crate::fact::{DeploymentSpec, IntOrPercent, Strategy};
use crate::model::Deployment;
use crate::say::cause;
use crate::stall::CauseKind;
use crate::view::{Looked, Standing};
use crate::words::{clock, count, duration, is_are, list};

/// That the name belonged to another Deployment before.
pub fn recreated(before: &Deployment, now: &Deployment, skew_millis: crate::Millis) -> String {
    let deleted = before.deleted_millis.map_or_else(String::new, |at| format!(", deleted at {} UTC", clock(at)));
    format!(
        "This Deployment was created at {} UTC. Another one of the same name was there before{deleted}; its history is not \
         shown here.",
        clock(now.created_at_millis.saturating_add(skew_millis))
    )
}

/// That the name belongs to another Deployment now.
pub fn succeeded(after: &Deployment, then: &Deployment, skew_millis: crate::Millis) -> String {
    let deleted = then.deleted_millis.map_or_else(String::new, |at| format!(" It was deleted at {} UTC.", clock(at)));
    format!(
        "You are looking at an earlier Deployment of this name.{deleted} The one that has the name now was created at {} UTC.",
        clock(after.created_at_millis.saturating_add(skew_millis))
    )
}

/// The badge: one or two words.
#[must_use]
pub fn badge(standing: Standing, looked: &Looked<'_>) -> String {
    match standing {
        Standing::Deleted => "Ended",
        Standing::Deleting => "Being deleted",
        Standing::Paused => "Paused",
        Standing::NotObserved => "Not observed",
        Standing::ScaledToZero => "Scaled to zero",
        Standing::DeadlineExceeded => "Deadline exceeded",
        Standing::Stalled => "Stalled",
        Standing::TakingDown => "Taking down",
        Standing::Waiting => "Waiting",
        Standing::Progressing if is_first(looked) => "Starting",
        Standing::Progressing => "Rolling out",
        Standing::Finishing => "Finishing",
        Standing::ScalingUp { is_stuck: false } => "Scaling up",
        Standing::ScalingUp { is_stuck: true } => "Stalled",
        Standing::CatchingUp { is_stuck: false } => "Catching up",
        Standing::CatchingUp { is_stuck: true } => "Stalled",
        Standing::Degraded { is_stuck: true } => "Degraded",
        Standing::Degraded { is_stuck: false } => "Recovering",
        Standing::Complete => "Complete",
    }
    .to_owned()
}

/// The verdict: one sentence of at most twelve words.
#[must_use]
pub fn verdict(standing: Standing, looked: &Looked<'_>) -> String {
    let wanted = looked.deployment.now.spec.replicas;
    let (available, new_available) = (looked.counts.available, looked.counts.new_available);
    let revision = revision(looked);
    match standing {
        Standing::Deleted => {
            let ago = looked.deployment.deleted_millis.map_or(0, |at| looked.now_millis - at);
            let least = if looked.went_unseen() { "at least " } else { "" };
            format!("This Deployment was deleted {least}{} ago.", duration(ago))
        }
        Standing::Deleting => "This Deployment is being deleted.".to_owned(),
        Standing::Paused => format!("Paused with revision {revision} at {new_available} of {wanted}."),
        Standing::NotObserved => {
            format!("The Deployment controller has not reacted for {}.", duration(silence(looked)))
        }
        Standing::ScaledToZero => format!("Revision {revision} is scaled to zero."),
        Standing::Complete => format!("Revision {revision} is live: {available} of {wanted} available."),
        Standing::DeadlineExceeded | Standing::Stalled => {
            format!("Revision {revision} is stuck: {new_available} of {wanted} new pods available.")
        }
        Standing::TakingDown => {
            let old: Vec<String> = looked.replaced().filter_map(|set| Some(set.revision()?.to_string())).collect();
            let verb = if old.len() == 1 { "is" } else { "are" };
            let noun = if old.len() == 1 { "Revision" } else { "Revisions" };
            let next = match looked.current.and_then(|set| set.revision()) {
                Some(next) if !looked.awaits_revision() => format!("revision {next}"),
                _ => "the next one".to_owned(),
            };
            format!("{noun} {} {verb} being taken down before {next} starts.", list(&old))
        }
        Standing::ScalingUp { .. } => {
            format!("Revision {revision} is scaling up: {available} of {wanted} available.")
        }
        Standing::Finishing | Standing::CatchingUp { .. } | Standing::Degraded { .. } => {
            format!("Revision {revision}: {available} of {wanted} available.")
        }
        Standing::Waiting | Standing::Progressing if looked.awaits_revision() => {
            format!("The template changed. Revision {revision}: {available} of {wanted} available.")
        }
        Standing::Waiting | Standing::Progressing => match replaced(looked).as_slice() {
            [] => format!("Revision {revision}: {available} of {wanted} available."),
            old => format!(
                "Revision {revision} is replacing revision {}: {new_available} of {wanted} new pods available.",
                list(old)
            ),
        },
    }
}

/// Why it stands so: causes, what the budget forbids, what comes next; may be empty.
#[must_use]
pub fn why(standing: Standing, looked: &Looked<'_>) -> String {
    let causes = || looked.causes.iter().take(2).map(|one| cause(one, looked)).collect::<Vec<_>>();
    let with = |mut said: Vec<String>, otherwise: &str| {
        let is_named = !said.is_empty();
        said.extend(neither(looked));
        if !is_named && !otherwise.is_empty() {
            said.push(otherwise.to_owned());
        }
        said.join(" ")
    };
    match standing {
        Standing::Deleted => {
            let left = looked.counts.available + looked.counts.not_yet + looked.counts.terminating;
            if left == 0 { String::new() } else { format!("{} still {} there.", count(left, "pod"), is_are(left)) }
        }
        Standing::Deleting | Standing::NotObserved => String::new(),
        Standing::Paused => {
            causes().into_iter().chain([next(looked)]).filter(|said| !said.is_empty()).collect::<Vec<_>>().join(" ")
        }
        Standing::ScaledToZero | Standing::Complete => leftovers(looked).unwrap_or_else(|| "Nothing is moving.".into()),
        Standing::DeadlineExceeded => with(causes(), "Kubernetes keeps trying; it does not roll back by itself."),
        Standing::Finishing => leftovers(looked).unwrap_or_else(|| "The controller has not reported it yet.".into()),
        Standing::TakingDown => {
            let left = looked.counts.available + looked.counts.not_yet + looked.counts.terminating;
            let mut said = causes();
            said.push(format!("Recreate: the next revision starts when {} gone.", of_these(left)));
            said.join(" ")
        }
        Standing::ScalingUp { .. } | Standing::CatchingUp { .. } | Standing::Degraded { .. } => {
            with(causes(), &missing(looked))
        }
        Standing::Stalled => with(causes(), &format!("Nothing has moved for a while. {}", next(looked))),
        Standing::Waiting | Standing::Progressing => with(causes(), &next(looked)),
    }
}

fn of_these(pods: u32) -> String {
    if pods == 1 { "1 pod is".to_owned() } else { format!("{pods} pods are") }
}

/// What is missing of a rollout that had everything before.
fn missing(looked: &Looked<'_>) -> String {
    let wanted = looked.deployment.now.spec.replicas;
    let missing = wanted.saturating_sub(looked.counts.available);
    let next = next(looked);
    let next = if next.is_empty() { next } else { format!(" {next}") };
    let pods = if wanted == 1 { "pod" } else { "pods" };
    format!("{missing} of {wanted} {pods} {} not available; the revision does not change.{next}", is_are(missing))
}

/// Both limits are reached: nobody may move until a new pod is available.
fn neither(looked: &Looked<'_>) -> Option<String> {
    let (limits, counts) = (looked.limits, looked.counts);
    let is_said = looked.causes.iter().any(|cause| cause.kind == CauseKind::Deadlock);
    let beginning = if looked.has_fault() { "Neither side may move" } else { "Both limits are reached" };
    let waits = matches!(looked.next, Next::WaitForNew { .. });
    (looked.sums.old_asked() > 0 && looked.at_limits() && waits && !is_said).then(|| {
        format!(
            "{beginning}: {}, {} of at least {} {} available.",
            asked(looked),
            counts.available,
            limits.floor,
            is_are(limits.floor)
        )
    })
}

/// What is asked for against the ceiling. More than that is asked for only until the controller follows limits that fell, until
/// a change that raised them is seen, or where somebody else scaled a ReplicaSet.
fn asked(looked: &Looked<'_>) -> String {
    let (asked, ceiling) = (looked.counts.asked, looked.limits.ceiling);
    if asked <= ceiling {
        format!("{asked} of at most {ceiling} asked for")
    } else if looked.is_lowered() {
        format!("{asked} asked for, above the ceiling of {ceiling} since it was lowered")
    } else if looked.is_ahead() {
        format!("{asked} asked for")
    } else {
        format!("{asked} asked for, above the ceiling of {ceiling}")
    }
}

/// What the controllers do or wait for next.
fn next(looked: &Looked<'_>) -> String {
    let (make, remove) = looked.owed;
    let mut said = Vec::new();
    match (make, remove) {
        (0, 0) => {}
        (make, 0) => said.push(format!("the ReplicaSet controller makes {}", count(make, "pod"))),
        (0, remove) => said.push(format!("the ReplicaSet controller removes {}", count(remove, "pod"))),
        (make, remove) => {
            said.push(format!("the ReplicaSet controller makes {} and removes {remove}", count(make, "pod")));
        }
    }
    said.extend(next_of_rollout(looked));
    if said.is_empty() { String::new() } else { format!("Next: {}.", said.join("; ")) }
}

/// What the Deployment controller does or waits for next.
fn next_of_rollout(looked: &Looked<'_>) -> Option<String> {
    let floor = looked.limits.floor;
    let said = match looked.next {
        Next::Nothing if looked.counts.not_yet > 0 => {
            format!("{} to become available", count(looked.counts.not_yet, "pod"))
        }
        Next::Nothing | Next::Paused => return None,
        Next::Spread => "the controller spreads the replicas over the ReplicaSets".to_owned(),
        Next::CreateSet => "the controller creates the ReplicaSet".to_owned(),
        Next::AddNew(pods) => format!("{} may be added", count(pods, "new pod")),
        Next::RemoveNew(pods) => format!("{} too many {} removed", count(pods, "pod"), is_are(pods)),
        Next::RemoveOld { unhealthy: 0, healthy } => format!("{} may go (floor {floor})", count(healthy, "old pod")),
        Next::RemoveOld { unhealthy, healthy } => {
            format!("{} may go, first those not available (floor {floor})", count(unhealthy + healthy, "old pod"))
        }
        Next::WaitForNew { needed: 1, .. } => {
            format!("when a new pod becomes available, an old one may go (floor {floor})")
        }
        Next::WaitForNew { needed, .. } => {
            format!("when {needed} more new pods are available, an old one may go (floor {floor})")
        }
        Next::WaitForOldGone => "new pods, when the old ones are gone".to_owned(),
    };
    Some(said)
}

fn leftovers(looked: &Looked<'_>) -> Option<String> {
    let counts = looked.counts;
    let mut said = Vec::new();
    if counts.terminating > 0 {
        said.push(format!("{} {} still draining.", count(counts.terminating, "pod"), is_are(counts.terminating)));
    }
    if counts.failed > 0 {
        said.push(format!("{} {} left over.", count(counts.failed, "failed pod"), is_are(counts.failed)));
    }
    if counts.out_of_rotation > 0 {
        let verb = if counts.out_of_rotation == 1 { "runs" } else { "run" };
        said.push(format!("{} {verb} out of rotation.", count(counts.out_of_rotation, "pod")));
    }
    (!said.is_empty()).then(|| said.join(" "))
}

fn revision(looked: &Looked<'_>) -> String {
    looked.revision().map_or_else(|| "not numbered".to_owned(), |revision| revision.to_string())
}

/// Nothing is replaced: the Deployment is new.
fn is_first(looked: &Looked<'_>) -> bool {
    !looked.awaits_revision()
        && replaced(looked).is_empty()
        && looked.deployment.rollouts.last().is_none_or(|rollout| rollout.is_first)
}

/// Older revisions that still ask for pods.
fn replaced(looked: &Looked<'_>) -> Vec<String> {
    let sets = looked.model.owned_sets(looked.deployment.uid);
    sets.filter(|set| looked.current.is_none_or(|current| current.uid != set.uid) && set.now.counts.wanted > 0)
        .filter_map(|set| Some(set.revision()?.to_string()))
        .collect()
}

fn silence(looked: &Looked<'_>) -> crate::Millis {
    let silent = looked.causes.iter().find(|cause| cause.kind == CauseKind::ControllerSilent);
    silent.and_then(|cause| cause.evidence.since_millis).map_or(0, |since| looked.now_millis - since)
}

/// The budget against what is there, with where the limits come from.
#[must_use]
pub fn budget(looked: &Looked<'_>) -> String {
    let (spec, counts, limits) = (&looked.deployment.now.spec, looked.counts, looked.limits);
    let Some((ceiling, floor)) = derived(spec, limits) else {
        let (asked, available) = (counts.asked, counts.available);
        return format!("Recreate: {asked} of {} asked for, {available} available; old pods go first.", spec.replicas);
    };
    format!(
        "{} (ceiling {} = {ceiling}), {} of at least {} available (floor {} = {floor}).",
        asked(looked),
        limits.ceiling,
        counts.available,
        limits.floor,
        limits.floor,
    )
}

/// Where ceiling and floor come from; `None` for Recreate, which has neither.
#[must_use]
pub fn derived(spec: &DeploymentSpec, limits: Limits) -> Option<(String, String)> {
    let n = spec.replicas;
    let Strategy::RollingUpdate { max_surge, max_unavailable } = spec.strategy else {
        return None;
    };
    let derive = |share: IntOrPercent, resolved: u32, round: &str| match share {
        IntOrPercent::Int(_) => resolved.to_string(),
        IntOrPercent::Percent(percent) => format!("{resolved} ({percent} %, {round})"),
    };
    Some((
        format!("{n} + {}", derive(max_surge, limits.max_surge, "up")),
        format!("{n} − {}", derive(max_unavailable, limits.max_unavailable, "down")),
    ))
}
