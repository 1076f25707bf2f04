//! The words: every sentence of a verdict, a cause, the budget and the story is made here, from data alone.
//!
//! Rules: say what happened, to what, with numbers; present tense; Kubernetes' own terms; nothing that is not known. Text
//! from clusters goes through [`crate::words::safe`] and is never longer than 200 characters.

use crate::budget::{Limits, Next};
use crate::fact::{DeploymentSpec, IntOrPercent, Strategy};
use crate::model::{EndReason, Pod};
use crate::rollout::Trigger;
use crate::stall::{Cause, CauseKind};
use crate::story::{Happening, Part};
use crate::verdict::KubectlVerdict;
use crate::view::{Counts, Looked, Standing};
use crate::words::{count, duration, images, is_are, list, safe, sentence_end, short};

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
            format!("This Deployment was deleted {} ago.", duration(ago))
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
        Standing::TakingDown => format!("Revision {revision} is being taken down before the next one starts."),
        Standing::Finishing | Standing::Degraded { .. } => {
            format!("Revision {revision}: {available} of {wanted} available.")
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
    let causes = || looked.causes.iter().take(2).map(|cause| self::cause(cause, looked)).collect::<Vec<_>>();
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
        Standing::Paused => causes().join(" "),
        Standing::ScaledToZero | Standing::Complete => leftovers(looked).unwrap_or_else(|| "Nothing is moving.".into()),
        Standing::DeadlineExceeded => with(causes(), "Kubernetes keeps trying; it does not roll back by itself."),
        Standing::Finishing => leftovers(looked).unwrap_or_else(|| "The controller has not reported it yet.".into()),
        Standing::TakingDown => {
            let left = looked.counts.available + looked.counts.not_yet + looked.counts.terminating;
            let mut said = causes();
            said.push(format!("Recreate: the next revision starts when {} gone.", of_these(left)));
            said.join(" ")
        }
        Standing::Degraded { .. } => with(causes(), "A replacement is on its way; the revision does not change."),
        Standing::Stalled => with(causes(), &format!("Nothing has moved for a while. {}", next(looked))),
        Standing::Waiting | Standing::Progressing => with(causes(), &next(looked)),
    }
}

fn of_these(pods: u32) -> String {
    if pods == 1 { "1 pod is".to_owned() } else { format!("{pods} pods are") }
}

/// Both limits are reached: nobody may move until a new pod is available.
fn neither(looked: &Looked<'_>) -> Option<String> {
    let (limits, counts) = (looked.limits, looked.counts);
    let is_said = looked.causes.iter().any(|cause| cause.kind == CauseKind::Deadlock);
    let beginning = if looked.has_fault() { "Neither side may move" } else { "Both limits are reached" };
    (looked.sums.old_asked() > 0 && looked.at_limits() && !is_said).then(|| {
        format!(
            "{beginning}: {} of at most {} pods exist, {} of at least {} {} available.",
            counts.asked,
            limits.ceiling,
            counts.available,
            limits.floor,
            is_are(limits.floor)
        )
    })
}

/// What the controller does or waits for next.
fn next(looked: &Looked<'_>) -> String {
    let floor = looked.limits.floor;
    match looked.next {
        Next::Nothing if looked.counts.not_yet > 0 => {
            format!("Next: {} to become available.", count(looked.counts.not_yet, "pod"))
        }
        Next::Nothing if looked.counts.available < looked.counts.asked => {
            "Next: the ReplicaSet controller makes the pods.".to_owned()
        }
        Next::Nothing | Next::Paused => String::new(),
        Next::CreateSet => "Next: the controller creates the ReplicaSet.".to_owned(),
        Next::AddNew(pods) => format!("Next: {} may be added.", count(pods, "new pod")),
        Next::RemoveNew(pods) => format!("Next: {} too many {} removed.", count(pods, "pod"), is_are(pods)),
        Next::RemoveOld { unhealthy: 0, healthy } => {
            format!("Next: {} may go (floor {floor}).", count(healthy, "old pod"))
        }
        Next::RemoveOld { unhealthy, healthy } => {
            format!(
                "Next: {} may go, first those not available (floor {floor}).",
                count(unhealthy + healthy, "old pod")
            )
        }
        Next::WaitForNew { .. } => {
            format!("Next: when a new pod becomes available, an old one may go (floor {floor}).")
        }
        Next::WaitForOldGone => "Next: new pods, when the old ones are gone.".to_owned(),
    }
}

fn leftovers(looked: &Looked<'_>) -> Option<String> {
    let counts = looked.counts;
    let mut said = Vec::new();
    if counts.terminating > 0 {
        said.push(format!("{} {} still draining.", count(counts.terminating, "old pod"), is_are(counts.terminating)));
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
    replaced(looked).is_empty() && looked.deployment.rollouts.last().is_none_or(|rollout| rollout.is_first)
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
pub fn budget(spec: &DeploymentSpec, counts: Counts, limits: Limits) -> String {
    let n = spec.replicas;
    let Some((ceiling, floor)) = derived(spec, limits) else {
        return format!(
            "Recreate: {} of {n} asked for, {} available; old pods go first.",
            counts.asked, counts.available
        );
    };
    format!(
        "{} of at most {} asked for (ceiling {} = {ceiling}), {} of at least {} available (floor {} = {floor}).",
        counts.asked, limits.ceiling, limits.ceiling, counts.available, limits.floor, limits.floor,
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

/// A cause in one sentence.
#[must_use]
pub fn cause(cause: &Cause, looked: &Looked<'_>) -> String {
    let (pods, evidence) = (cause.pods, &cause.evidence);
    let name = short(evidence.object.rsplit(' ').next().unwrap_or_default()).to_owned();
    let name = safe(&name);
    let since = evidence.since_millis.map(|since| duration(looked.now_millis - since));
    let for_long = since.as_deref().map(|long| format!(" in {long}")).unwrap_or_default();
    let one_is = if pods > 1 { format!("{pods} pods, one is {name}") } else { format!("pod {name}") };
    let spec = &looked.deployment.now.spec;
    match &cause.kind {
        CauseKind::ControllerSilent => {
            format!("The Deployment controller has not reacted for {}.", since.unwrap_or_default())
        }
        CauseKind::Paused { is_edited: true } => format!(
            "A change of the template waits: image {}. Nothing moves until someone runs kubectl rollout resume.",
            images(&spec.images)
        ),
        CauseKind::Paused { is_edited: false } => "Nothing moves until someone runs kubectl rollout resume.".to_owned(),
        CauseKind::Refused => refused(&evidence.message),
        CauseKind::Image { images } => {
            let because = pull_failure(&evidence.reason, &evidence.message, told(looked, &evidence.object));
            format!("Image {images} cannot be pulled: {because} ({one_is}).")
        }
        CauseKind::BadContainer => format!(
            "A container cannot be made ({}, {one_is}): {}",
            safe(&evidence.reason),
            sentence_end(&evidence.message)
        ),
        CauseKind::Crash { is_out_of_memory: true, restarts, .. } => {
            format!("New pods are killed, out of memory: {}{for_long} ({one_is}).", count(*restarts, "restart"))
        }
        CauseKind::Crash { exit_code, restarts, .. } => {
            let exit = exit_code.map(|code| format!("exit code {code}, ")).unwrap_or_default();
            format!("New pods crash: {exit}{}{for_long} ({one_is}).", count(*restarts, "restart"))
        }
        CauseKind::PodsFailed => {
            let verb = if pods == 1 { "failed" } else { "failed as well" };
            let message = if evidence.message.is_empty() {
                ".".to_owned()
            } else {
                format!(": {}", sentence_end(&evidence.message))
            };
            format!("A new pod {verb}, {} ({one_is}){message}", safe(&evidence.reason))
        }
        CauseKind::Unschedulable => {
            let which = if pods == 1 { format!("pod {name}") } else { count(pods, "pod") };
            format!("No node fits {which}: {}", sentence_end(scheduler_says(&evidence.message)))
        }
        CauseKind::Init => {
            // "Init 1 of 3": how many are done, of how many.
            let done = safe(&evidence.reason).replacen("Init ", "", 1);
            let at_work = safe(&evidence.message);
            format!("Init container {at_work} has run for {} ({done} done, {one_is}).", since.unwrap_or_default())
        }
        CauseKind::NotReady => {
            let verb = if pods == 1 { "runs but is" } else { "run but are" };
            let container = unready_containers(&evidence.message);
            format!("{} {verb} not ready{container} since {}.", count(pods, "new pod"), since.unwrap_or_default())
        }
        CauseKind::Gate => {
            let gate = gate(&evidence.message).unwrap_or_else(|| "that is not named".to_owned());
            format!("Waits for readiness gate {gate} on {}.", count(pods, "pod"))
        }
        CauseKind::Deadlock => {
            let wall = if looked.causes.iter().any(|cause| cause.kind == CauseKind::Refused) {
                "refused"
            } else {
                "no node fits"
            };
            format!(
                "May not remove an old pod (maxUnavailable {}) and cannot add one ({wall}): nobody can move.",
                looked.limits.max_unavailable
            )
        }
        CauseKind::OldNotGoing => {
            format!(
                "{} longer than the grace period allows and must go first ({one_is}).",
                if pods == 1 { "1 old pod drains" } else { "Old pods drain" }
            )
        }
        CauseKind::PodsMissing { wanted, there } => format!(
            "The ReplicaSet controller has not reacted for {}: {} asked for, {there} there.",
            since.unwrap_or_default(),
            count(*wanted, "pod")
        ),
        CauseKind::MinReady { left_millis } => {
            let verb = if pods == 1 { "counts" } else { "count" };
            format!(
                "{} {} ready and {verb} in {} s (minReadySeconds {}).",
                count(pods, "pod"),
                is_are(pods),
                left_millis.div_euclid(1000) + 1,
                spec.min_ready_seconds
            )
        }
        CauseKind::OldTroubles { revision } => {
            let revision = revision.map_or_else(|| "An older revision".to_owned(), |r| format!("Revision {r}"));
            format!("{revision} has troubles of its own: {} ({}).", failing(pods), safe(&evidence.reason))
                .replace(" ().", ".")
        }
    }
}

fn failing(pods: u32) -> String {
    if pods == 1 { "1 pod fails".to_owned() } else { format!("{pods} pods fail") }
}

fn refused(message: &str) -> String {
    let Some((_, quota)) = message.split_once("exceeded quota: ") else {
        return format!("The API server refuses new pods: {}", sentence_end(message));
    };
    // "q, requested: pods=1, used: pods=3, limited: pods=3"
    let part = |key: &str| quota.split(", ").find_map(|part| part.strip_prefix(key)).map(safe);
    let name = safe(quota.split(',').next().unwrap_or_default());
    match (part("used: "), part("limited: ")) {
        (Some(used), Some(limited)) => {
            let what = match (used.split_once('='), limited.split_once('=')) {
                (Some((what, used)), Some((same, limited))) if what == same => format!("{used} of {limited} {what}"),
                _ => format!("{used} of {limited}"),
            };
            format!("The API server refuses new pods: quota {name} is used up ({what}).")
        }
        _ => format!("The API server refuses new pods: quota {name} is used up."),
    }
}

/// The decisive part of "0/4 nodes are available: 4 Insufficient cpu. no new claims to deallocate, preemption: …".
fn scheduler_says(message: &str) -> &str {
    let Some((_, reasons)) = message.split_once(" nodes are available: ") else {
        return message;
    };
    reasons.split_once(". ").map_or(reasons, |(decisive, _)| decisive)
}

/// The short reason of a failed pull, out of messages that repeat it several times. While the kubelet backs off, only the
/// Event still tells it.
fn pull_failure(reason: &str, message: &str, event: Option<&str>) -> String {
    for text in [Some(message), event].into_iter().flatten() {
        if text.contains("not found") || text.contains("manifest unknown") {
            return "not found".to_owned();
        }
        if text.contains("unauthorized") || text.contains("denied") {
            return "access denied".to_owned();
        }
    }
    safe(reason)
}

/// What the last Event about a failure of this object says.
fn told<'l>(looked: &'l Looked<'_>, object: &str) -> Option<&'l str> {
    let (kind, name) = object.split_once(' ')?;
    let about = |note: &&crate::model::Note| note.reason == "Failed" && note.about.0 == kind && note.about.1 == name;
    looked.deployment.notes.iter().rev().find(about).map(|note| note.message.as_str())
}

/// "containers with unready status: [nginx proxy]" as " (container nginx proxy)".
fn unready_containers(message: &str) -> String {
    let inside = message.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(inside, _)| inside);
    inside.map(|inside| format!(" (container {})", safe(&inside.replace(' ', ", ")))).unwrap_or_default()
}

/// The gate that a message names: "… readiness gate \"example.com/traffic\" …".
fn gate(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("readiness gate ")?;
    let name = rest.split_whitespace().next()?.trim_matches(['"', ',', '.']);
    Some(safe(name)).filter(|name| !name.is_empty())
}

/// A moment of the story in one sentence.
#[must_use]
pub(crate) fn happening(happening: &Happening) -> String {
    match happening {
        Happening::Begins { revision, images } => format!("Watching begins: revision {revision} with image {images}."),
        Happening::Starts { revision, trigger, images, before, change_cause } => {
            let mut said = starts(*revision, *trigger, images, *before);
            if let Some(cause) = change_cause {
                said.push_str(&format!(" Change-cause: {}", sentence_end(cause)));
            }
            said
        }
        Happening::Completed { revision, took_millis } => {
            format!("Revision {revision} is complete after {}.", duration(*took_millis))
        }
        Happening::Overtaken { revision, by } => {
            format!("Revision {by} overtook revision {revision} before it finished.")
        }
        Happening::Deadline { revision } => format!(
            "Progress deadline passed for revision {revision}. Kubernetes keeps trying; it does not roll back by itself."
        ),
        Happening::Scaled { replicas, parts } => scaled(*replicas, parts),
        Happening::Rolled { parts, asked, limits } => rolled(parts, *asked, *limits),
        Happening::AndSoOn { parts, steps } => {
            let parts: Vec<String> =
                parts.iter().map(|part| format!("revision {} to {}", part.revision, part.to)).collect();
            format!("… and so on: {}, in {steps} more steps.", list(&parts))
        }
        Happening::Replicas { from, to } => format!("Replicas changed {from} → {to} (not a rollout)."),
        Happening::Killed { pod, revision, replacement, drained_millis } => {
            killed(pod, *revision, replacement.as_ref(), *drained_millis)
        }
        Happening::Ended { pod, reason, was_released } => ended(pod, *reason, *was_released),
        Happening::NodeLost { pods, node } => {
            format!("{} written off: node {} is gone.", count(*pods, "pod"), safe(node))
        }
        Happening::Released { pod, revision } => {
            let by = revision.map(|revision| format!(" by revision {revision}")).unwrap_or_default();
            format!("Pod {} released{by}: its labels no longer match. It keeps running, out of rotation.", name(pod))
        }
        Happening::Adopted { pod } => format!("Pod {} adopted again: its labels match.", name(pod)),
        Happening::CleanedUp { hash, revision, limit } => format!(
            "Old ReplicaSet {}{} cleaned up (revisionHistoryLimit {limit}).",
            safe(hash),
            revision.map(|revision| format!(" of revision {revision}")).unwrap_or_default()
        ),
        Happening::SetDeleted { hash, is_current, outage_millis } => {
            let again = if *is_current { ": created again at once, its pods drain" } else { "" };
            let outage = match outage_millis {
                Some(outage) => format!("; {} with nothing available", duration(*outage)),
                None => String::new(),
            };
            format!("ReplicaSet {} deleted by hand{again}{outage}.", safe(hash))
        }
        Happening::Paused => "Paused: changes of the template wait until it is resumed.".to_owned(),
        Happening::Resumed => "Resumed.".to_owned(),
        Happening::Deleting => "The Deployment is being deleted.".to_owned(),
        Happening::Deleted => "The Deployment was deleted.".to_owned(),
        Happening::Gap { millis } => {
            format!("Not observed for {}: what happened in between is not known.", duration(*millis))
        }
        Happening::Event { about, reason, message, count } => {
            let (kind, name) = about;
            let times = if *count > 1 { format!(" ({count} times)") } else { String::new() };
            let name = if kind == "Pod" { short(name) } else { name };
            format!("Event {} on {} {}{times}: {}", safe(reason), safe(kind), safe(name), sentence_end(message))
        }
        Happening::NotKept => "Older history is not kept.".to_owned(),
    }
}

fn starts(revision: u64, trigger: Trigger, images: &str, before: Option<u64>) -> String {
    match (trigger, before) {
        (Trigger::Created, _) => format!("Revision {revision} is created with image {images}."),
        (Trigger::Adopted, _) => format!("Revision {revision} adopts the ReplicaSet that was there: image {images}."),
        (Trigger::Restart, _) => format!("Revision {revision} starts: restart with the same image {images}."),
        (Trigger::Rollback, Some(before)) => {
            format!("Rolled back to revision {before}, now {revision}: image {images}.")
        }
        (Trigger::Rollback, None) => format!("Rolled back, now revision {revision}."),
        (Trigger::Template | Trigger::Unknown, _) => format!("Revision {revision} starts: image {images}."),
    }
}

fn scaled(replicas: Option<(u32, u32)>, parts: &[Part]) -> String {
    let change = |part: &Part| {
        let sign = if part.to >= part.from { "+" } else { "−" };
        format!("revision {} {sign}{}", part.revision, part.to.abs_diff(part.from))
    };
    match (replicas, parts) {
        (Some((from, to)), [_]) => format!("Scaled {from} → {to} (not a rollout)."),
        (None, [part]) => format!("Scaled, not a rollout: revision {} {} → {}.", part.revision, part.from, part.to),
        (Some((from, to)), parts) => {
            let parts: Vec<String> = parts.iter().map(change).collect();
            format!("Scaled {from} → {to} during a rollout: {}, in proportion.", parts.join(", "))
        }
        (None, parts) => {
            let parts: Vec<String> = parts.iter().map(change).collect();
            format!("Scaled, not a rollout: {}, in proportion.", parts.join(", "))
        }
    }
}

fn rolled(parts: &[Part], asked: u32, limits: Limits) -> String {
    let step = |part: &Part| {
        let direction = if part.to > part.from { "up" } else { "down" };
        format!("revision {} {direction} {} → {}", part.revision, part.from, part.to)
    };
    let mut text = parts.iter().map(step).collect::<Vec<_>>().join(", ");
    if let Some(initial) = text.get_mut(..1) {
        initial.make_ascii_uppercase();
    }
    let grows = parts.iter().any(|part| part.to > part.from);
    let shrinks = parts.iter().any(|part| part.to < part.from);
    let room = match (grows, shrinks) {
        (true, false) => format!("{asked} of at most {}", limits.ceiling),
        (false, true) if limits.floor == 0 => "all may go".to_owned(),
        (false, true) => format!("at least {} must stay available", limits.floor),
        _ => format!("{asked} of at most {}, at least {} available", limits.ceiling, limits.floor),
    };
    format!("{text}: {room}.")
}

fn killed(
    pod: &str,
    revision: Option<u64>,
    replacement: Option<&(String, Option<crate::Millis>)>,
    drained: Option<crate::Millis>,
) -> String {
    let stays = revision.map_or_else(|| "the revision stays".to_owned(), |r| format!("the revision stays {r}"));
    let mut said = format!("Pod {} deleted from outside the rollout; {stays}.", name(pod));
    match replacement {
        Some((other, Some(after))) => {
            said.push_str(&format!(" Replacement {} up after {}", name(other), duration(*after)));
            match drained {
                Some(drained) if drained > *after => {
                    said.push_str(&format!("; the old one drained {} more.", duration(drained - after)));
                }
                _ => said.push('.'),
            }
        }
        Some((other, None)) => said.push_str(&format!(" Replacement {} is on its way.", name(other))),
        None => {}
    }
    said
}

fn ended(pod: &str, reason: EndReason, was_released: bool) -> String {
    let name = name(pod);
    match reason {
        EndReason::DeletedByHand if was_released => format!("Pod {name}, out of rotation, deleted."),
        EndReason::DeletedByHand => format!("Pod {name} deleted from outside the rollout; the revision stays."),
        EndReason::Evicted => format!("Pod {name} evicted."),
        EndReason::NodeLost => format!("Pod {name} written off: its node is gone."),
        EndReason::Unknown => format!("Pod {name} is gone; why cannot be told from what was seen."),
        EndReason::DeploymentDeleted => format!("Pod {name} goes with its Deployment."),
        EndReason::ReplicaSetDeleted => format!("Pod {name} goes with its ReplicaSet."),
        EndReason::ScaledDown => format!("Pod {name} scaled down."),
    }
}

fn name(pod: &str) -> String {
    safe(short(pod))
}

/// What a pod does, with its reason: "failing (CrashLoopBackOff)".
#[must_use]
pub fn pod(pod: &Pod) -> String {
    let label = pod.state().label();
    if pod.now.reason.is_empty() { label.to_owned() } else { format!("{label} ({})", safe(&pod.now.reason)) }
}

/// What `kubectl rollout status` would wait for, in its order.
#[must_use]
pub const fn kubectl(verdict: KubectlVerdict) -> &'static str {
    match verdict {
        KubectlVerdict::NotObserved => "waits for the spec to be observed",
        KubectlVerdict::DeadlineExceeded => "fails: progress deadline exceeded",
        KubectlVerdict::Updating => "waits for new replicas to be updated",
        KubectlVerdict::OldPending => "waits for old replicas to terminate",
        KubectlVerdict::AvailabilityPending => "waits for updated replicas to be available",
        KubectlVerdict::Complete => "successfully rolled out",
        KubectlVerdict::Gone => "not found",
    }
}
