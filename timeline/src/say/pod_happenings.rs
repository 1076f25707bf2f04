//! Moments of the story of pods, in words: their deletion, restarts, readiness, nodes, and ReplicaSets.

use super::crash::{container_name, exit_words};
use crate::Millis;
use crate::model::EndReason;
use crate::model::story::{Adopter, ContainerEnd, NodeDeparture, Restart, Unavailable};
use crate::words::{count, duration, duration_in_words, safe, short, was_were};

/// For restarts that are further apart than this, the sentence has the time between them.
const LASTING_MILLIS: Millis = 10_000;
/// The same of pods that had to leave a node.
const APART_MILLIS: Millis = 5_000;

pub(super) fn killed(
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

pub(super) fn killed_more(pods: u32, revision: Option<u64>) -> String {
    let more = count(pods, "more pod");
    format!("{more} {} deleted, not by the rollout; {}.", was_were(pods), stays(revision))
}

pub(super) fn went_before(pods: u32) -> String {
    let went = count(pods, "pod");
    format!("{went} {} deleted before the Deployment, and not replaced.", was_were(pods))
}

pub(super) fn failed(pod: &str, pods: u32, reason: &str, revision: Option<u64>) -> String {
    let who = pods_named(pod, pods);
    let why = if reason.is_empty() { String::new() } else { format!(": {}", safe(reason)) };
    format!("{who} failed{why}; {}.", stays(revision))
}

/// "3 pods became unready, 5 times in all over 2 min; no pod was available for 20 s; the last time, all were ready again after 40 s."
/// Times: from the first time to the last, and of the last one.
pub(super) fn unready(
    pod: &str,
    pods: u32,
    times: u32,
    lasted: Option<[Millis; 2]>,
    unavailable: Option<&Unavailable>,
) -> String {
    let who = pods_named(pod, pods);
    let times = match pods {
        pods if pods == times => String::new(),
        1 => format!(" {times} times"),
        _ => format!(", {times} times in all"),
    };
    let none = unavailable.map(none_available).unwrap_or_default();
    let again = if pods == 1 { "it was" } else { "all were" };
    let (over, again) = match lasted {
        None => (String::new(), String::new()),
        Some([whole, last]) if whole == last => {
            let after = duration_in_words(whole);
            // As long as no pod was available: once is enough.
            let is_said = none.ends_with(&format!(" for {after}"));
            (String::new(), if is_said { String::new() } else { format!("; {again} ready again after {after}") })
        }
        Some([whole, last]) => (
            format!(" over {}", duration_in_words(whole)),
            format!("; the last time, {again} ready again after {}", duration_in_words(last)),
        ),
    };
    format!("{who} became unready{times}{over}{none}{again}.")
}

fn none_available(unavailable: &Unavailable) -> String {
    let lasted = duration_in_words(unavailable.millis);
    match (unavailable.is_over, unavailable.times) {
        (false, _) => "; no pod is available".to_owned(),
        (true, 1) => format!("; no pod was available for {lasted}"),
        (true, times) => format!("; {times} times no pod was available, for {lasted} in all"),
    }
}

/// "2 pods of revision 3: container web ended with exit code 1 and was restarted 5 times in all." An earlier sentence of the same restarts
/// makes it "5 more times".
pub(super) fn restarted(
    pod: &str,
    pods: u32,
    restart: &Restart,
    restarts: u32,
    is_more: bool,
    lasted_millis: Millis,
) -> String {
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
        (restarts, _) if is_more => format!(" {restarts} more times"),
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

/// Pods that went, or were deleted, without being observed.
pub(super) fn unseen(pod: &str, pods: u32, is_gone: bool) -> String {
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

pub(super) fn left(
    pod: &str,
    pods: u32,
    node: &str,
    why: NodeDeparture,
    resource: &str,
    lasted_millis: Millis,
) -> String {
    let who = pods_named(pod, pods);
    let left = departure(node, why, resource);
    let is_apart = lasted_millis >= APART_MILLIS;
    let last = if is_apart { format!(", the last one {} later", duration(lasted_millis)) } else { String::new() };
    match why {
        NodeDeparture::Preempted => format!("{who} {} {left}{last}; the revision stays.", was_were(pods)),
        NodeDeparture::Lost => format!("{who} lost{last}: node {} is gone.", safe(node)),
        _ => format!("{who} {left}{last}; the revision stays."),
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

pub(super) fn ended(pod: &str, reason: EndReason) -> String {
    let name = pod_name(pod);
    match reason {
        EndReason::Evicted => format!("Pod {name} evicted."),
        EndReason::NodeLost => format!("Pod {name} lost: its node is gone."),
        // Other ends of a pod in its ReplicaSet are entries of other kinds.
        _ => format!("Pod {name}, which no ReplicaSet controlled, was deleted."),
    }
}

pub(super) fn released(pod: &str, revision: Option<u64>, is_orphaned: bool) -> String {
    let name = pod_name(pod);
    if is_orphaned {
        return format!("Pod {name} orphaned: its ReplicaSet is deleted without it. It keeps running on its own.");
    }
    let by = revision.map(|revision| format!(" by revision {revision}")).unwrap_or_default();
    format!("Pod {name} released{by}: its labels no longer match. It keeps running outside its ReplicaSet.")
}

pub(super) fn adopted(pod: &str, by: &Adopter, removed: Option<&str>) -> String {
    let by = match by {
        Adopter::Same => "again: its labels match".to_owned(),
        Adopter::Revision(Some(revision)) => format!("by revision {revision}: its labels match"),
        Adopter::Revision(None) => "by a ReplicaSet without a revision: its labels match".to_owned(),
        Adopter::Elsewhere => "by a ReplicaSet that does not belong to this Deployment".to_owned(),
    };
    let removed = match removed {
        Some(other) if other == pod => " The ReplicaSet then had one pod too many and removed it.".to_owned(),
        Some(other) => format!(" The ReplicaSet then had one pod too many and removed pod {}.", pod_name(other)),
        None => String::new(),
    };
    format!("Pod {} adopted {by}.{removed}", pod_name(pod))
}

/// "Pod q4xzb"; of several, or of one without a name, "3 pods".
pub(super) fn pods_named(pod: &str, pods: u32) -> String {
    if pods == 1 && !pod.is_empty() { format!("Pod {}", pod_name(pod)) } else { count(pods, "pod") }
}

/// A pod by the end of its name, as sentences name it.
fn pod_name(pod: &str) -> String {
    safe(short(pod))
}
