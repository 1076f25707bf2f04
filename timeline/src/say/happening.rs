//! A moment of the story in words. [`super::pod_happenings`] and [`super::scale_happenings`] have those of pods and of scaling.

use super::excerpt::resize_error;
use super::pod_happenings::{
    adopted, ended, failed, killed, killed_more, left, released, restarted, unready, unseen, went_before,
};
use super::scale_happenings::{and_so_on, moved, rolled, scaled, scaled_back};
use crate::Millis;
use crate::model::fact::{IntOrPercent, Strategy};
use crate::model::story::{Entry, Happening, RolloutStart, SpecSeconds, TargetFailure};
use crate::model::{Deployment, Event, Limits, Trigger};
use crate::rules::{messages, rollout};
use crate::words::{count, duration, duration_in_words, safe, sentence_end, short};

/// A ReplicaSet that is made again this soon is made again at once, and a pod that is gone this soon is gone at once.
const AT_ONCE_MILLIS: Millis = 1_000;

/// A moment of the story of a Deployment in one sentence.
pub(super) fn happening(deployment: &Deployment, entry: &Entry) -> String {
    let at_millis = entry.at_millis;
    match &entry.what {
        Happening::Begins { revision, images } => format!("Watching begins: revision {revision} with image {images}."),
        Happening::Starts(start) => starts(start),
        Happening::Completed { revision, was_scaled_to_zero: true, .. } => {
            format!("Revision {revision} ended before it was complete: the Deployment was scaled to zero.")
        }
        Happening::Completed { revision, took_millis: Some(took), taken_down_millis, .. } => {
            let is_none_desired = desired_none(deployment, at_millis - took, at_millis);
            completed(*revision, *took, *taken_down_millis, is_none_desired)
        }
        Happening::Completed { revision, was_seen, .. } => {
            let unknown = if *was_seen { "how long it took" } else { "the time of its completion" };
            format!("Revision {revision} is complete; {unknown} is not known.")
        }
        Happening::Superseded { revision, by, gone_millis } => superseded(*revision, *by, *gone_millis),
        Happening::Deadline { revision } => {
            format!("Progress deadline passed for revision {revision}. Kubernetes does not roll back by itself.")
        }
        Happening::Scaled { replicas, desired, parts } => {
            scaled(*replicas, *desired, parts, rollout::was_rolling_out(deployment, at_millis))
        }
        Happening::ScaledBack { part } => scaled_back(part),
        Happening::Rolled { parts, budget, .. } => rolled(parts, budget),
        Happening::Moved { parts } => moved(parts),
        Happening::AndSoOn { parts, steps } => and_so_on(parts, *steps),
        Happening::Replicas { from, to, was_seen } => {
            replicas_changed(*from, *to, *was_seen, rollout::was_rolling_out(deployment, at_millis))
        }
        Happening::Killed { pod, revision, replacement, drained_millis, gone_millis } => {
            killed(pod, *revision, replacement.as_ref(), [*drained_millis, *gone_millis])
        }
        Happening::KilledMore { pods, revision, .. } => killed_more(*pods, *revision),
        Happening::WentBefore { pods } => went_before(*pods),
        Happening::Unseen { pod, pods, is_gone, .. } => unseen(pod, *pods, *is_gone),
        Happening::SetReleased { name, pods, is_taken } => set_released(name, *pods, *is_taken),
        Happening::SetTaken { name, pods, is_again, is_orphan } => set_taken(name, *pods, *is_again, *is_orphan),
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
            let is_same = |what: &Happening| {
                matches!(what, Happening::Restarted { restart: same, pod: other, .. }
                    if same == restart && (*pods > 1 || other == pod))
            };
            let is_more = deployment.story.iter().any(|other| other.id < entry.id && is_same(&other.what));
            restarted(pod, *pods, restart, *restarts, is_more, *lasted_millis)
        }
        Happening::Unready { pod, pods, times, since_millis, lasted_millis, unavailable } => {
            let lasted = lasted_millis.map(|lasted| [lasted, at_millis + lasted - since_millis]);
            unready(pod, *pods, *times, lasted, unavailable.as_ref())
        }
        Happening::Released { pod, revision, is_orphaned } => released(pod, *revision, *is_orphaned),
        Happening::Adopted { pod, by, removed } => adopted(pod, by, removed.as_deref()),
        Happening::CleanedUp { hash, revision, limit } => cleaned_up(hash, *revision, *limit),
        Happening::SetDeleted { hash, was_seen: false, .. } => {
            format!("ReplicaSet {} disappeared while not observed.", safe(hash))
        }
        Happening::SetDeleted { hash, again_millis, outage_millis, .. } => {
            set_deleted(hash, *again_millis, *outage_millis)
        }
        Happening::ChangeReplaced { images, by, is_back } => change_replaced(images, by, *is_back),
        Happening::StrategyChanged { from, to, was_seen } => {
            format!("Strategy changed{}: {}.", unseen_words(*was_seen), strategy_change(*from, *to))
        }
        Happening::SecondsChanged { field, from, to, was_seen } => seconds_changed(*field, [*from, *to], *was_seen),
        Happening::Paused { was_seen } => paused(deployment, at_millis, *was_seen),
        Happening::Resumed { was_seen } => format!("Resumed{}.", unseen_words(*was_seen)),
        Happening::Deleting => "The Deployment is being deleted.".to_owned(),
        Happening::Deleted { was_seen } => format!("The Deployment was deleted{}.", unseen_words(*was_seen)),
        Happening::Gap { millis } => {
            format!("Not observed for {}: what happened in between is not known.", duration(*millis))
        }
        Happening::Event(event) => self::event(event),
        Happening::NotKept => "Older history is not kept.".to_owned(),
    }
}

fn starts(start: &RolloutStart) -> String {
    let mut said = start_by_trigger(start);
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

/// The start of a rollout, by what triggered it.
fn start_by_trigger(start: &RolloutStart) -> String {
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

fn completed(revision: u64, took_millis: Millis, taken_down_millis: Option<Millis>, is_none_desired: bool) -> String {
    let is_at_once = took_millis < AT_ONCE_MILLIS / 10;
    let after = if is_at_once { "at once".to_owned() } else { format!("after {}", duration(took_millis)) };
    let down = taken_down_millis.map(|millis| format!(", {} after the old pods were scaled down", duration(millis)));
    let none = if is_none_desired { ": no pod is desired" } else { "" };
    format!("Revision {revision} is complete {after}{}{none}.", down.unwrap_or_default())
}

/// Returns whether no pod was desired in all of this time.
fn desired_none(deployment: &Deployment, from_millis: Millis, to_millis: Millis) -> bool {
    let limits = || deployment.limits.iter();
    let first = limits().rfind(|(since, _)| *since <= from_millis);
    let mut later = limits().filter(|(since, _)| from_millis < *since && *since <= to_millis);
    let is_none = |(_, limits): &(Millis, Limits)| limits.ceiling == limits.max_surge;
    first.is_some_and(is_none) && later.all(is_none)
}

fn superseded(revision: u64, by: u64, gone_millis: Option<Millis>) -> String {
    let gone = match gone_millis {
        Some(millis) if millis < AT_ONCE_MILLIS => "at once".to_owned(),
        Some(millis) => format!("{} later", duration(millis)),
        None => return format!("Revision {by} superseded revision {revision} before {revision} finished."),
    };
    format!(
        "Revision {by} superseded revision {revision} before {revision} finished. The last pod of revision \
         {revision} was gone {gone}."
    )
}

fn replicas_changed(from: u32, to: u32, was_seen: bool, is_rolling_out: Option<bool>) -> String {
    let during = match is_rolling_out.filter(|_| was_seen) {
        Some(true) => " during a rollout",
        Some(false) => " (not a rollout)",
        None => "",
    };
    format!("Replicas changed {from} → {to}{during}{}.", unseen_words(was_seen))
}

/// What a pause stops: the steps of a rollout, or the start of the next one.
fn paused(deployment: &Deployment, at_millis: Millis, was_seen: bool) -> String {
    let open = rollout::open_at(deployment, at_millis).filter(|open| open.started_millis.is_some());
    let stops = open.map_or_else(
        || "no new ReplicaSet is created".to_owned(),
        |open| format!("the rollout of revision {} takes no further step", open.revision),
    );
    format!("Paused{}: {stops} until it is resumed.", unseen_words(was_seen))
}

fn set_released(name: &str, pods: u32, is_taken: bool) -> String {
    if is_taken {
        return format!("ReplicaSet {} belongs to another Deployment now.", safe(name));
    }
    let run = match pods {
        0 => String::new(),
        1 => "; its pod runs on".to_owned(),
        pods => format!("; its {pods} pods run on"),
    };
    format!("ReplicaSet {} does not belong to this Deployment any more{run}.", safe(name))
}

fn set_taken(name: &str, pods: u32, is_again: bool, is_orphan: bool) -> String {
    let taken = match (is_again, is_orphan) {
        (true, _) => "taken up again",
        (false, true) => "adopted (it belonged to no Deployment)",
        (false, false) => "taken over from another Deployment",
    };
    let with = if pods == 0 { String::new() } else { format!(", with {}", count(pods, "pod")) };
    format!("ReplicaSet {} {taken}{with}.", safe(name))
}

fn cleaned_up(hash: &str, revision: Option<u64>, limit: u32) -> String {
    let of = revision.map(|revision| format!(" of revision {revision}")).unwrap_or_default();
    format!("Old ReplicaSet {}{of} cleaned up (revisionHistoryLimit {limit}).", safe(hash))
}

fn set_deleted(hash: &str, again_millis: Option<Millis>, outage_millis: Option<Millis>) -> String {
    let again = match again_millis {
        Some(millis) if millis < AT_ONCE_MILLIS => ", created again at once".to_owned(),
        Some(millis) => format!(", created again after {}", duration(millis)),
        None => String::new(),
    };
    let outage = match outage_millis {
        Some(outage) => format!("; {} with nothing available", duration_in_words(outage)),
        None => String::new(),
    };
    format!("ReplicaSet {} was deleted, not by its Deployment{again}{outage}.", safe(hash))
}

fn change_replaced(images: &str, by: &str, is_back: bool) -> String {
    let by = match (is_back, images == by) {
        (true, true) => "The template was changed back, with the same image.".to_owned(),
        (true, false) => format!("The template was changed back: image {by}."),
        (false, true) => "The template was changed again: another template with the same image.".to_owned(),
        (false, false) => format!("The template was changed again: image {by}."),
    };
    format!("A change that waited was not rolled out: image {images}. {by}")
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

fn seconds_changed(field: SpecSeconds, values: [Option<u32>; 2], was_seen: bool) -> String {
    let field = match field {
        SpecSeconds::MinReady => "minReadySeconds",
        SpecSeconds::ProgressDeadline => "progressDeadlineSeconds",
    };
    let [from, to] = values.map(|seconds| seconds.map_or_else(|| "none".to_owned(), |s| s.to_string()));
    format!("{field} changed {from} → {to}{}.", unseen_words(was_seen))
}

fn event(event: &Event) -> String {
    let Event { about: (kind, name), container, is_ephemeral, reason, message, count, .. } = event;
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

/// What follows the words for a change that was not observed; nothing for one that was.
const fn unseen_words(was_seen: bool) -> &'static str {
    if was_seen { "" } else { " while not observed" }
}
