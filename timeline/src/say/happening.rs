//! A moment of the story in words.

use super::crash::{container_name, exit_words};
use super::excerpt::resize_error;
use crate::Millis;
use crate::model::fact::{IntOrPercent, Strategy};
use crate::model::story::{
    Adopter, ContainerEnd, Entry, Happening, NodeDeparture, Part, Restart, RolloutStart, SpecSeconds, StepBudget,
    TargetFailure,
};
use crate::model::{Deployment, EndReason, Event, Limits, Trigger};
use crate::rules::{messages, rollout};
use crate::words::{capitalized, count, duration, duration_in_words, list, safe, sentence_end, short, was_were};

/// A ReplicaSet that is made again this soon is made again at once, and a pod that is gone this soon is gone at once.
const AT_ONCE_MILLIS: Millis = 1_000;

/// For restarts, or pods lost with a node, that are further apart than this, the sentence has the time between them.
const LASTING_MILLIS: Millis = 10_000;

/// A moment of the story of a Deployment in one sentence.
pub(super) fn happening(deployment: &Deployment, entry: &Entry) -> String {
    let at_millis = entry.at_millis;
    match &entry.what {
        Happening::Begins { revision, images } => format!("Watching begins: revision {revision} with image {images}."),
        Happening::Starts(start) => {
            let mut said = starts(start);
            said.push_str(match start.failure.filter(|_| start.was_seen) {
                Some(TargetFailure::NeverAvailable) => " None of its pods was ever available.",
                Some(TargetFailure::NeverComplete) => " Not all of its pods were ever available.",
                None => "",
            });
            if let Some(cause) = &start.change_cause {
                said.push_str(&format!(" Change-cause: {}", sentence_end(cause)));
            }
            said
        }
        Happening::Completed { revision, was_scaled_to_zero: true, .. } => {
            format!("Revision {revision} ended before it was complete: the Deployment was scaled to zero.")
        }
        Happening::Completed { revision, took_millis: Some(took), taken_down_millis, .. } => {
            let is_at_once = *took < AT_ONCE_MILLIS / 10;
            let after = if is_at_once { "at once".to_owned() } else { format!("after {}", duration(*took)) };
            let down =
                taken_down_millis.map(|millis| format!(", {} after the old pods were scaled down", duration(millis)));
            let none = if desired_none(deployment, at_millis - took, at_millis) { ": no pod is desired" } else { "" };
            format!("Revision {revision} is complete {after}{}{none}.", down.unwrap_or_default())
        }
        Happening::Completed { revision, was_seen, .. } => {
            let unknown = if *was_seen { "how long it took" } else { "the time of its completion" };
            format!("Revision {revision} is complete; {unknown} is not known.")
        }
        Happening::Superseded { revision, by, gone_millis } => {
            let gone = match gone_millis {
                Some(millis) if *millis < AT_ONCE_MILLIS => "at once".to_owned(),
                Some(millis) => format!("{} later", duration(*millis)),
                None => return format!("Revision {by} superseded revision {revision} before {revision} finished."),
            };
            format!(
                "Revision {by} superseded revision {revision} before {revision} finished. The last pod of revision \
                 {revision} was gone {gone}."
            )
        }
        Happening::Deadline { revision } => {
            format!("Progress deadline passed for revision {revision}. Kubernetes does not roll back by itself.")
        }
        Happening::Scaled { replicas, desired, parts } => {
            scaled(*replicas, *desired, parts, rollout::was_rolling_out(deployment, at_millis))
        }
        Happening::ScaledBack { part } => {
            let of = part.revision.map(|revision| format!("the ReplicaSet of revision {revision}"));
            let set = of.unwrap_or_else(|| who(part));
            format!("The Deployment controller scaled {set} back {} → {}.", part.from, part.to)
        }
        Happening::Rolled { parts, budget, .. } => rolled(parts, budget),
        Happening::Moved { parts } => {
            let parts: Vec<String> =
                parts.iter().map(|part| format!("{} {} → {}", who(part), part.from, part.to)).collect();
            format!("While not observed: {}.", list(&parts))
        }
        Happening::AndSoOn { parts, steps } => {
            let parts: Vec<String> = parts.iter().map(|part| format!("{} to {}", who(part), part.to)).collect();
            format!("… and so on: {}, in {steps} more steps.", list(&parts))
        }
        Happening::Replicas { from, to, was_seen } => {
            let during = match rollout::was_rolling_out(deployment, at_millis).filter(|_| *was_seen) {
                Some(true) => " during a rollout",
                Some(false) => " (not a rollout)",
                None => "",
            };
            format!("Replicas changed {from} → {to}{during}{}.", unseen_words(*was_seen))
        }
        Happening::Killed { pod, revision, replacement, drained_millis, gone_millis } => {
            killed(pod, *revision, replacement.as_ref(), [*drained_millis, *gone_millis])
        }
        Happening::KilledMore { pods, revision, .. } => {
            let more = count(*pods, "more pod");
            format!("{more} {} deleted, not by the rollout; {}.", was_were(*pods), stays(*revision))
        }
        Happening::WentBefore { pods } => {
            let went = count(*pods, "pod");
            format!("{went} {} deleted before the Deployment, and not replaced.", was_were(*pods))
        }
        Happening::Unseen { pod, pods, is_gone, .. } => unseen(pod, *pods, *is_gone),
        Happening::SetReleased { name, is_taken: true, .. } => {
            format!("ReplicaSet {} belongs to another Deployment now.", safe(name))
        }
        Happening::SetReleased { name, pods, .. } => {
            let run = match pods {
                0 => String::new(),
                1 => "; its pod runs on".to_owned(),
                pods => format!("; its {pods} pods run on"),
            };
            format!("ReplicaSet {} does not belong to this Deployment any more{run}.", safe(name))
        }
        Happening::SetTaken { name, pods, is_again, is_orphan } => {
            let taken = match (is_again, is_orphan) {
                (true, _) => "taken up again",
                (false, true) => "adopted (it belonged to no Deployment)",
                (false, false) => "taken over from another Deployment",
            };
            let with = if *pods == 0 { String::new() } else { format!(", with {}", count(*pods, "pod")) };
            format!("ReplicaSet {} {taken}{with}.", safe(name))
        }
        Happening::Back { millis } => format!(
            "The Deployment was gone for {} and is there again, as after a restore of the cluster's data.",
            duration_in_words(*millis)
        ),
        Happening::Ended { pod, reason, .. } => ended(pod, *reason),
        Happening::LeftNode { pod, pods, node, why, resource, last_millis, .. } => {
            left(pod, *pods, node, *why, resource, last_millis - at_millis)
        }
        Happening::Failed { pod, pods, reason, revision, .. } => failed(pod, *pods, reason, *revision),
        Happening::Restarted { pod, pods, restart, restarts, lasted_millis } => {
            restarted(pod, *pods, restart, *restarts, *lasted_millis)
        }
        Happening::Unready { pod, pods, times, lasted_millis } => unready(pod, *pods, *times, *lasted_millis),
        Happening::Released { pod, is_orphaned: true, .. } => {
            format!(
                "Pod {} orphaned: its ReplicaSet is deleted without it. It keeps running on its own.",
                pod_name(pod)
            )
        }
        Happening::Released { pod, revision, .. } => {
            let by = revision.map(|revision| format!(" by revision {revision}")).unwrap_or_default();
            format!(
                "Pod {} released{by}: its labels no longer match. It keeps running outside its ReplicaSet.",
                pod_name(pod)
            )
        }
        Happening::Adopted { pod, by, removed } => {
            let by = match by {
                Adopter::Same => "again: its labels match".to_owned(),
                Adopter::Revision(Some(revision)) => format!("by revision {revision}: its labels match"),
                Adopter::Revision(None) => "by a ReplicaSet without a revision: its labels match".to_owned(),
                Adopter::Elsewhere => "by a ReplicaSet that does not belong to this Deployment".to_owned(),
            };
            let removed = match removed {
                Some(other) if other == pod => " The ReplicaSet then had one pod too many and removed it.".to_owned(),
                Some(other) => {
                    format!(" The ReplicaSet then had one pod too many and removed pod {}.", pod_name(other))
                }
                None => String::new(),
            };
            format!("Pod {} adopted {by}.{removed}", pod_name(pod))
        }
        Happening::CleanedUp { hash, revision, limit } => format!(
            "Old ReplicaSet {}{} cleaned up (revisionHistoryLimit {limit}).",
            safe(hash),
            revision.map(|revision| format!(" of revision {revision}")).unwrap_or_default()
        ),
        Happening::SetDeleted { hash, was_seen: false, .. } => {
            format!("ReplicaSet {} disappeared while not observed.", safe(hash))
        }
        Happening::SetDeleted { hash, again_millis, outage_millis, .. } => {
            let again = match again_millis {
                Some(millis) if *millis < AT_ONCE_MILLIS => ", created again at once".to_owned(),
                Some(millis) => format!(", created again after {}", duration(*millis)),
                None => String::new(),
            };
            let outage = match outage_millis {
                Some(outage) => format!("; {} with nothing available", duration_in_words(*outage)),
                None => String::new(),
            };
            format!("ReplicaSet {} was deleted, not by its Deployment{again}{outage}.", safe(hash))
        }
        Happening::ChangeReplaced { images, by, is_back } => {
            let by = match (is_back, images == by) {
                (true, true) => "The template was changed back, with the same image.".to_owned(),
                (true, false) => format!("The template was changed back: image {by}."),
                (false, true) => "The template was changed again: another template with the same image.".to_owned(),
                (false, false) => format!("The template was changed again: image {by}."),
            };
            format!("A change that waited was not rolled out: image {images}. {by}")
        }
        Happening::StrategyChanged { from, to, was_seen } => {
            format!("Strategy changed{}: {}.", unseen_words(*was_seen), strategy_change(*from, *to))
        }
        Happening::SecondsChanged { field, from, to, was_seen } => {
            let field = match field {
                SpecSeconds::MinReady => "minReadySeconds",
                SpecSeconds::ProgressDeadline => "progressDeadlineSeconds",
            };
            let [from, to] = [from, to].map(|seconds| seconds.map_or_else(|| "none".to_owned(), |s| s.to_string()));
            format!("{field} changed {from} → {to}{}.", unseen_words(*was_seen))
        }
        Happening::Paused { was_seen } => {
            format!("Paused{}: no new ReplicaSet is created until it is resumed.", unseen_words(*was_seen))
        }
        Happening::Resumed { was_seen } => format!("Resumed{}.", unseen_words(*was_seen)),
        Happening::Deleting => "The Deployment is being deleted.".to_owned(),
        Happening::Deleted { was_seen } => format!("The Deployment was deleted{}.", unseen_words(*was_seen)),
        Happening::Gap { millis } => {
            format!("Not observed for {}: what happened in between is not known.", duration(*millis))
        }
        Happening::Event(event) => {
            let Event { about: (kind, name), container, is_ephemeral, reason, message, count, .. } = &**event;
            let times = if *count > 1 { format!(" ({count} times)") } else { String::new() };
            let name = if kind == "Pod" { short(name) } else { name };
            let of = match (container.as_str(), *is_ephemeral) {
                ("", _) => String::new(),
                (container, true) => format!(", ephemeral container {}", safe(container)),
                (container, false) => format!(", container {}", safe(container)),
            };
            let error = resize_error(reason, message);
            let message = error.as_deref().unwrap_or(message);
            let is_of_pod = kind == "Pod" || kind == Event::PODS;
            let said = sentence_end(if is_of_pod { messages::without_pod(message) } else { message });
            format!("Event {} on {} {}{of}{times}: {said}", safe(reason), safe(kind), safe(name))
        }
        Happening::NotKept => "Older history is not kept.".to_owned(),
    }
}

/// Returns whether no pod was desired in all of this time.
fn desired_none(deployment: &Deployment, from_millis: Millis, to_millis: Millis) -> bool {
    let limits = || deployment.limits.iter();
    let first = limits().rfind(|(since, _)| *since <= from_millis);
    let mut later = limits().filter(|(since, _)| from_millis < *since && *since <= to_millis);
    let is_none = |(_, limits): &(Millis, Limits)| limits.ceiling == limits.max_surge;
    first.is_some_and(is_none) && later.all(is_none)
}

/// The change of a strategy: "RollingUpdate (maxSurge 1, maxUnavailable 25 %) → Recreate", "maxSurge 1 → 2".
fn strategy_change(from: Strategy, to: Strategy) -> String {
    let share = |share: IntOrPercent| match share {
        IntOrPercent::Int(pods) => pods.to_string(),
        IntOrPercent::Percent(percent) => format!("{percent} %"),
    };
    let whole = |strategy: Strategy| match strategy {
        Strategy::RollingUpdate { max_surge, max_unavailable } => {
            format!("RollingUpdate (maxSurge {}, maxUnavailable {})", share(max_surge), share(max_unavailable))
        }
        Strategy::Recreate => "Recreate".to_owned(),
    };
    let (
        Strategy::RollingUpdate { max_surge, max_unavailable },
        Strategy::RollingUpdate { max_surge: surge_after, max_unavailable: unavailable_after },
    ) = (from, to)
    else {
        return format!("{} → {}", whole(from), whole(to));
    };
    let limits = [("maxSurge", max_surge, surge_after), ("maxUnavailable", max_unavailable, unavailable_after)];
    let changed = limits.into_iter().filter(|(_, from, to)| from != to);
    let said: Vec<String> = changed.map(|(name, from, to)| format!("{name} {} → {}", share(from), share(to))).collect();
    said.join(", ")
}

fn starts(start: &RolloutStart) -> String {
    let RolloutStart { revision, images, .. } = start;
    let unseen = unseen_words(start.was_seen);
    match (start.trigger, start.before) {
        (Trigger::Rollback, Some(before)) => {
            let comma = if start.was_seen { "" } else { "," };
            format!("Rolled back to revision {before}, now {revision}{comma}{unseen}: image {images}.")
        }
        (Trigger::Rollback, None) => format!("Rolled back{unseen}, now revision {revision}."),
        _ if !start.was_seen => format!("Revision {revision} started{unseen}: image {images}."),
        (Trigger::Created, _) => format!("Revision {revision} is created with image {images}."),
        (Trigger::Adopted, Some(before)) if before > *revision => {
            format!("Revision {revision} (was {before}): its ReplicaSet was deleted and created again; image {images}.")
        }
        (Trigger::Adopted, Some(before)) => {
            format!(
                "Revision {revision} (was {before}): the ReplicaSet that was there has another number; image {images}."
            )
        }
        (Trigger::Adopted, None) => {
            format!("Revision {revision} adopts the ReplicaSet that was there: image {images}.")
        }
        (Trigger::Restart, _) => format!("Revision {revision} starts: restart with the same image {images}."),
        (Trigger::Template | Trigger::Unknown, _) if start.has_same_images => {
            format!("Revision {revision} starts: the template changed, with the same image {images}.")
        }
        (Trigger::Template | Trigger::Unknown, _) => format!("Revision {revision} starts: image {images}."),
    }
}

fn scaled(replicas: Option<(u32, u32)>, desired: Option<u32>, parts: &[Part], is_rolling_out: Option<bool>) -> String {
    let is_known = is_rolling_out.is_some();
    let change = |part: &Part| {
        let sign = if part.to >= part.from { "+" } else { "−" };
        format!("{} {sign}{}", who(part), part.to.abs_diff(part.from))
    };
    let changes = || {
        let changes: Vec<String> = parts.iter().filter(|part| part.by() != 0).map(change).collect();
        let how = if changes.len() > 1 { ", in proportion" } else { "" };
        changes.join(", ") + how
    };
    match (replicas, parts) {
        (Some((from, to)), [_]) if is_rolling_out != Some(true) => {
            format!("Scaled {from} → {to}{}.", if is_known { " (not a rollout)" } else { "" })
        }
        (None, [part]) if desired.is_none() => {
            let of = part.revision.map(|revision| format!("The ReplicaSet of revision {revision}"));
            let set = of.unwrap_or_else(|| who(part));
            format!("{set} was scaled {} → {}, not by its Deployment.", part.from, part.to)
        }
        (None, [part]) if is_rolling_out != Some(true) => {
            let outside = if is_known { ", not a rollout" } else { "" };
            format!("Scaled{outside}: {} {} → {}.", who(part), part.from, part.to)
        }
        (Some((from, to)), _) => format!("Scaled {from} → {to} during a rollout: {}.", changes()),
        (None, _) => format!("Scaled during a rollout: {}.", changes()),
    }
}

fn rolled(parts: &[Part], budget: &StepBudget) -> String {
    let StepBudget { desired, ceiling, floor, available, spares_available } = *budget;
    let step = |part: &Part| {
        let direction = if part.to > part.from { "up" } else { "down" };
        format!("{} {direction} {} → {}", who(part), part.from, part.to)
    };
    let text = capitalized(parts.iter().map(step).collect::<Vec<_>>().join(", "));
    let grows = parts.iter().any(|part| part.to > part.from);
    let shrinks = parts.iter().any(|part| part.to < part.from);
    // The Deployment controller never asks for more than its ceiling: somebody else asked for more, or the limits fell.
    let total = if desired > ceiling {
        format!("{desired} in total, above the ceiling of {ceiling}: a ReplicaSet was scaled manually")
    } else {
        format!("{desired} of at most {ceiling}")
    };
    let room = match (grows, shrinks) {
        (true, false) => total,
        (false, true) if floor == 0 => "all can be removed".to_owned(),
        (false, true) if spares_available => "only unavailable pods are removed".to_owned(),
        // Below the floor a ReplicaSet is scaled by Recreate, whose spec may follow, or by somebody else.
        (false, true) if available < floor || desired < floor => return format!("{text}."),
        (false, true) => format!("at least {floor} must stay available"),
        _ => format!("{total}, floor {floor}"),
    };
    format!("{text}: {room}.")
}

/// A ReplicaSet by its revision, or by its name when it carries none.
fn who(part: &Part) -> String {
    part.revision.map_or_else(|| format!("ReplicaSet {}", safe(&part.name)), |revision| format!("revision {revision}"))
}

fn killed(
    pod: &str,
    revision: Option<u64>,
    replacement: Option<&(String, Option<Millis>)>,
    [drained, gone]: [Option<Millis>; 2],
) -> String {
    let mut said = format!("Pod {} was deleted, not by the rollout; {}.", pod_name(pod), stays(revision));
    // What becomes known later goes on where the sentence ended.
    if let Some((other, available)) = replacement {
        said.push_str(&format!(" Replacement: {}", pod_name(other)));
        if let Some(after) = available {
            said.push_str(&format!(", available after {}", duration_in_words(*after)));
            let drained = drained.filter(|drained| drained > after);
            if let Some(drained) = drained {
                said.push_str(&format!("; the old one drained {} more", duration_in_words(drained - after)));
            }
            if let Some(gone) = gone.filter(|gone| gone > after) {
                said.push_str(if drained.is_some() { ", and its object" } else { "; the object of the old one" });
                let stayed = gone - drained.unwrap_or(*after);
                said.push_str(&format!(" stayed {} more", duration_in_words(stayed)));
            }
        }
        said.push('.');
    }
    said
}

fn failed(pod: &str, pods: u32, reason: &str, revision: Option<u64>) -> String {
    let who = pods_named(pod, pods);
    let why = if reason.is_empty() { String::new() } else { format!(": {}", safe(reason)) };
    format!("{who} failed{why}; {}.", stays(revision))
}

/// "3 pods became unready, 5 times in all; all were ready again after 40 s."
fn unready(pod: &str, pods: u32, times: u32, lasted_millis: Option<Millis>) -> String {
    let who = pods_named(pod, pods);
    let times = match pods {
        pods if pods == times => String::new(),
        1 => format!(" {times} times"),
        _ => format!(", {times} times in all"),
    };
    let again = if pods == 1 { "it was" } else { "all were" };
    let lasted = lasted_millis.map(|millis| format!("; {again} ready again after {}", duration_in_words(millis)));
    format!("{who} became unready{times}{}.", lasted.unwrap_or_default())
}

/// "2 pods of revision 3: container web ended with exit code 1 and was restarted 5 times in all."
fn restarted(pod: &str, pods: u32, restart: &Restart, restarts: u32, lasted_millis: Millis) -> String {
    let who = pods_named(pod, pods);
    let of = restart.revision.map(|revision| format!(" of revision {revision}")).unwrap_or_default();
    let container = container_name(restart.role, &restart.container);
    let end = match restart.end {
        ContainerEnd::Exited(code) => format!(" ended with {} and", exit_words(code)),
        ContainerEnd::OutOfMemory => " ran out of memory (OOMKilled) and".to_owned(),
        ContainerEnd::NotStarted => " failed to start and".to_owned(),
        end => end.probe().map_or_else(String::new, |probe| format!(" was killed after its {probe} failed and")),
    };
    let why = match restart.end {
        ContainerEnd::Resized => " for a resize of its resources",
        ContainerEnd::Redefined => " because the spec of its pod was changed",
        // Init containers that had completed run again there, too.
        ContainerEnd::Sandbox => " in a new sandbox of its pod",
        _ => "",
    };
    let times = match (restarts, pods) {
        (1, _) => String::new(),
        (restarts, 1) => format!(" {restarts} times"),
        (restarts, _) => format!(" {restarts} times in all"),
    };
    let when = match restart.was_seen {
        false => " while not observed".to_owned(),
        true if lasted_millis >= LASTING_MILLIS => format!(", the last time {} later", duration(lasted_millis)),
        true => String::new(),
    };
    format!("{who}{of}: {container}{end} was restarted{times}{why}{when}.")
}

/// What follows the words for a change that was not observed; nothing for one that was.
const fn unseen_words(was_seen: bool) -> &'static str {
    if was_seen { "" } else { " while not observed" }
}

/// Pods that went, or were deleted, without being observed.
fn unseen(pod: &str, pods: u32, is_gone: bool) -> String {
    let who = pods_named(pod, pods);
    if is_gone {
        format!("{who} disappeared; why is not known.")
    } else {
        format!("{who} {} marked for deletion while not observed.", was_were(pods))
    }
}

fn stays(revision: Option<u64>) -> String {
    revision.map_or_else(
        || "the revision stays".to_owned(),
        |revision| format!("the Deployment stays at revision {revision}"),
    )
}

fn left(pod: &str, pods: u32, node: &str, why: NodeDeparture, resource: &str, lasted_millis: Millis) -> String {
    let who = pods_named(pod, pods);
    let left = departure(node, why, resource);
    match why {
        NodeDeparture::Preempted => format!("{who} {} {left}; the revision stays.", was_were(pods)),
        NodeDeparture::Lost if lasted_millis >= LASTING_MILLIS => {
            format!("{who} lost, the last one {} later: node {} is gone.", duration(lasted_millis), safe(node))
        }
        NodeDeparture::Lost => format!("{who} lost: node {} is gone.", safe(node)),
        _ => format!("{who} {left}; the revision stays."),
    }
}

/// The departure of pods from a node, in words: "evicted from node n1, which was low on memory".
pub(super) fn departure(node: &str, why: NodeDeparture, resource: &str) -> String {
    let node = safe(node);
    match why {
        NodeDeparture::Evicted if resource.is_empty() => format!("evicted from node {node}"),
        NodeDeparture::Evicted => format!("evicted from node {node}, which was low on {}", safe(resource)),
        NodeDeparture::OverLimit => format!("evicted from node {node} for using more local storage than allowed"),
        NodeDeparture::ShutDown => format!("ended because node {node} shut down"),
        NodeDeparture::Preempted => format!("preempted by a pod of higher priority on node {node}"),
        NodeDeparture::Tainted => format!("had to leave node {node} because of a taint"),
        NodeDeparture::Lost => format!("lost with node {node}"),
    }
}

fn ended(pod: &str, reason: EndReason) -> String {
    let name = pod_name(pod);
    match reason {
        EndReason::Evicted => format!("Pod {name} evicted."),
        EndReason::NodeLost => format!("Pod {name} lost: its node is gone."),
        // Other ends of a pod in its ReplicaSet are entries of other kinds.
        _ => format!("Pod {name}, which no ReplicaSet controlled, was deleted."),
    }
}

/// "Pod q4xzb"; of several, or of one without a name, "3 pods".
pub(super) fn pods_named(pod: &str, pods: u32) -> String {
    if pods == 1 && !pod.is_empty() { format!("Pod {}", pod_name(pod)) } else { count(pods, "pod") }
}

/// A pod by the end of its name, as sentences name it.
fn pod_name(pod: &str) -> String {
    safe(short(pod))
}
