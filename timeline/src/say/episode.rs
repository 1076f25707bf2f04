//! The title of an episode: "Pod q4xzb deleted, recovered after 3.2 s".

use super::crash::exit_words;
use super::headline::refusal_matter;
use super::pod_happenings::{departure, pods_named};
use super::tense::past;
use crate::Millis;
use crate::assess::{Episode, Refused, Restarted};
use crate::model::story::{ContainerEnd, Entry, Happening, NodeDeparture};
use crate::model::{Deployment, EndReason, EpisodeKind};
use crate::rules::rollout;
use crate::words::{count, duration, duration_in_words, moment, safe, was_were};

/// Most events that a title names.
const MOST_EVENTS: usize = 3;
/// What ended sooner ended at once.
const AT_ONCE_MILLIS: Millis = 100;

/// Pods that one thing happened to.
struct LostPods<'m> {
    pod: &'m str,
    pods: u32,
    event: String,
    /// The event of several pods, where it has other words.
    event_of_several: Option<&'static str>,
}

/// The title of an episode, safe to show. An episode that goes on has no end in its title.
pub fn episode(episode: &Episode<'_>, is_open: bool) -> String {
    let Episode { kind, began_millis, ended_millis, went_before, is_whole, scaled, .. } = episode;
    let Episode { losses, refused, silent_nodes, restarted, missing, outage_millis, .. } = episode;
    let (most, desired) = *missing;
    let after = ended_millis.filter(|_| *is_whole).map(|ended| match ended - began_millis {
        took if took < AT_ONCE_MILLIS => " at once".to_owned(),
        took => format!(" after {}", duration(took)),
    });
    let mut events = Vec::new();
    events.extend((*kind == EpisodeKind::Deletion).then(|| match went_before {
        Some(pods) => {
            format!("{} deleted, then the Deployment{}", count(*pods, "pod"), after.as_deref().unwrap_or_default())
        }
        None => "Deployment deleted".to_owned(),
    }));
    events.extend(scaled.map(|(from, to)| match from == to {
        true => format!("Scaled, and back to {to}"),
        false => format!("Scaled from {from} to {to}"),
    }));
    // A title may be read long after the last try.
    events.extend(refused.map(|message| say_refusal("The next revision", message)));
    // The node's own failure, unless the departure of its pods says it too.
    let is_named = |node: &str| {
        losses.iter().any(|(loss, was_silent)| match loss {
            Happening::LeftNode { node: known, why: NodeDeparture::Tainted, .. } => *was_silent && known == node,
            Happening::LeftNode { node: known, why: NodeDeparture::ShutDown | NodeDeparture::Lost, .. } => {
                known == node
            }
            _ => false,
        })
    };
    let nodes: Vec<_> = silent_nodes.iter().filter(|(node, _)| !is_named(node)).collect();
    events.extend(
        nodes.iter().map(|(node, pods)| format!("Node {} was not ready ({})", safe(node), count(*pods, "pod"))),
    );
    let lost = grouped(losses.iter().copied());
    events.extend(lost.iter().map(LostPods::said));
    events.extend((!restarted.is_empty()).then(|| restarts(restarted)));
    // More pods were missing than those that are told of.
    let of_nodes = nodes.iter().map(|(_, pods)| pods).sum::<u32>();
    let told = of_nodes + lost.iter().map(|lost| lost.pods).sum::<u32>() + restarted.len() as u32;
    let is_of_pods = scaled.is_none() && *kind != EpisodeKind::Deletion && !lost.iter().any(|lost| lost.pods == 0);
    let missing = format!("{most} of {} {} not available", count(desired, "pod"), was_were(most));
    events.extend((!events.is_empty() && is_of_pods && most > told).then(|| missing.clone()));
    let end = match (kind, scaled, ended_millis) {
        _ if is_open || went_before.is_some() => None,
        (_, _, None) => None,
        (EpisodeKind::Deletion, ..) => after.map(|after| format!("its last pod was gone{after}")),
        (_, Some((_, 0)), _) => after.map(|after| format!("done{after}")),
        (EpisodeKind::Scaling, Some((from, to)), _) if to < from => after.map(|after| format!("done{after}")),
        (EpisodeKind::Scaling, ..) => after.map(|after| format!("ready{after}")),
        // No pod was missing.
        _ if refused.is_some() && most == 0 => after.map(|after| format!("over{after}")),
        // Containers restarted, and all pods stayed available.
        (EpisodeKind::Failure | EpisodeKind::Recovery, None, _) if most == 0 && losses.is_empty() => None,
        _ => Some(format!("recovered{}", after.unwrap_or_default())),
    };
    if events.is_empty() {
        let lasted = ended_millis.filter(|_| *is_whole && !is_open);
        let lasted =
            lasted.map(|ended| format!(" for {}", duration_in_words(ended - began_millis))).unwrap_or_default();
        return format!("{missing}{lasted}");
    }
    let events = first_events(events);
    let outage = outage_millis.map(|millis| format!("; no pod was ready for {}", duration(millis))).unwrap_or_default();
    format!("{events}{}{outage}", end.map(|end| format!(", {end}")).unwrap_or_default())
}

/// The longest outage and the losses after a rollout, safe to show: "Outage of 12 s (no pod ready); 2 pods evicted from node n1 after the
/// rollout was complete". `None` without any. With a gap there may have been more.
pub fn say_losses(losses: &[&Happening], outage: Option<Millis>, has_gap: bool) -> Option<String> {
    let outage = outage.map(|millis| format!("Outage of {} (no pod ready)", duration(millis)));
    let lost = grouped(losses.iter().map(|loss| (*loss, false)));
    let events: Vec<String> = outage.into_iter().chain(lost.iter().map(LostPods::said)).collect();
    let unseen = if has_gap { " (part not observed)" } else { "" };
    (!events.is_empty()).then(|| format!("{} after the rollout was complete{unseen}", first_events(events)))
}

/// A refusal of the ReplicaSet of a revision as past, safe to show: "The next revision could not start: quota sets was used up".
pub fn say_refusal(revision: &str, message: &str) -> String {
    past(&format!("{revision} cannot start: {}", refusal_matter(Refused::ReplicaSet, message)))
}

/// Losses in sentences, each with how many of its pods are missing, each kind of them once in the order of its last one, safe to show:
/// "2 pods deleted (since 14:02:05 UTC)." Where others of them were replaced, the number would be one of pods that are there. A list
/// after a gap does not tell when it was.
pub(super) fn say_losses_with_times(
    losses: &[(&Entry, u32)],
    deployment: &Deployment,
    now_millis: Millis,
) -> Vec<String> {
    let is_unseen = |at_millis: Millis| rollout::is_in_gap(deployment, at_millis);
    let at = |before: &str, at_millis: Millis| match is_unseen(at_millis) {
        true => "while not observed".to_owned(),
        false => format!("{before}{} UTC", moment(at_millis, now_millis)),
    };
    let said = |known: &LostPods<'_>| {
        let is_of = |entry: &Entry| lost(&entry.what, false).is_some_and(|one| one.event == known.event);
        let told: Vec<(&Entry, u32)> = losses.iter().copied().filter(|(entry, _)| is_of(entry)).collect();
        let ((first, _), (last, _)) = (told.first()?, told.last()?);
        let is_part = |entry: &Entry, missing: u32| lost(&entry.what, false).is_some_and(|one| one.pods > missing);
        if told.iter().any(|(entry, missing)| is_part(entry, *missing)) {
            return Some(format!("Pods {} (the last {}).", known.event, at("at ", last_millis(last))));
        }
        let since = if known.pods > 1 { "since " } else { "" };
        let is_mixed = is_unseen(first.at_millis) && !is_unseen(last_millis(last));
        let when = if is_mixed { at("the last at ", last_millis(last)) } else { at(since, first.at_millis) };
        Some(format!("{} ({when}).", known.said()))
    };
    let kinds = grouped(losses.iter().rev().map(|(entry, _)| (&entry.what, false)));
    kinds.iter().rev().filter_map(said).collect()
}

/// When the last of the pods that an entry tells of was lost.
const fn last_millis(entry: &Entry) -> Millis {
    match entry.what {
        Happening::LeftNode { last_millis, .. } | Happening::KilledMore { last_millis, .. } => last_millis,
        _ => entry.at_millis,
    }
}

/// Joins the events that a title names.
fn first_events(mut events: Vec<String>) -> String {
    let more = events.len() > MOST_EVENTS;
    events.truncate(MOST_EVENTS);
    events.join("; ") + if more { " and more" } else { "" }
}

impl LostPods<'_> {
    fn said(&self) -> String {
        let Self { pod, pods, event, event_of_several } = self;
        let event = event_of_several.filter(|_| *pods > 1).unwrap_or(event.as_str());
        if *pods == 0 { event.to_owned() } else { format!("{} {event}", pods_named(pod, *pods)) }
    }
}

/// The losses, each kind of them once.
fn grouped<'m>(losses: impl Iterator<Item = (&'m Happening, bool)>) -> Vec<LostPods<'m>> {
    let losses: Vec<(&'m Happening, bool)> = losses.collect();
    let mut all: Vec<LostPods<'m>> = Vec::new();
    for (index, (what, was_silent)) in losses.iter().copied().enumerate() {
        let Some(mut loss) = lost(what, was_silent) else { continue };
        if let Happening::Released { pod, .. } = what {
            let later = || losses.iter().skip(index + 1).map(|(what, _)| *what);
            // One that left more than once is one pod.
            if later().any(|what| matches!(what, Happening::Released { pod: other, .. } if other == pod)) {
                continue;
            }
            if later().any(|what| matches!(what, Happening::Adopted { pod: other, .. } if other == pod)) {
                loss.event = "left its ReplicaSet for a while".to_owned();
                loss.event_of_several = Some("left their ReplicaSet for a while");
            }
        }
        match all.iter_mut().find(|known| known.event == loss.event) {
            Some(known) => known.pods += loss.pods,
            None => all.push(loss),
        }
    }
    all
}

/// A loss in words; `was_silent` if the node was not ready when the pods left it.
fn lost(what: &Happening, was_silent: bool) -> Option<LostPods<'_>> {
    let (pod, pods, event) = match what {
        Happening::Killed { pod, .. } => (pod.as_str(), 1, "deleted".to_owned()),
        Happening::KilledMore { pods, .. } => ("", *pods, "deleted".to_owned()),
        Happening::Unseen { pod, pods, is_gone: true, .. } => {
            (pod.as_str(), *pods, "disappeared while not observed".to_owned())
        }
        Happening::Unseen { pod, pods, .. } => {
            (pod.as_str(), *pods, "marked for deletion while not observed".to_owned())
        }
        Happening::LeftNode { pod, pods, node, why: NodeDeparture::Tainted, .. } if was_silent => {
            (pod.as_str(), *pods, format!("had to leave node {}, which was not ready", safe(node)))
        }
        Happening::LeftNode { pod, pods, node, why, resource, .. } => {
            (pod.as_str(), *pods, departure(node, *why, resource))
        }
        Happening::Failed { pod, pods, reason, .. } if reason.is_empty() => (pod.as_str(), *pods, "failed".to_owned()),
        Happening::Failed { pod, pods, reason, .. } => (pod.as_str(), *pods, format!("failed ({})", safe(reason))),
        Happening::Released { pod, .. } => (pod.as_str(), 1, "left its ReplicaSet".to_owned()),
        Happening::SetDeleted { hash, was_seen: true, .. } => ("", 0, format!("ReplicaSet {} deleted", safe(hash))),
        Happening::SetDeleted { hash, .. } => {
            ("", 0, format!("ReplicaSet {} disappeared while not observed", safe(hash)))
        }
        Happening::Ended { pod, reason: EndReason::NodeLost, .. } => (pod.as_str(), 1, "lost with its node".to_owned()),
        Happening::Ended { pod, .. } => (pod.as_str(), 1, "evicted".to_owned()),
        _ => return None,
    };
    let event_of_several = match what {
        Happening::Released { .. } => Some("left their ReplicaSet"),
        Happening::Ended { reason: EndReason::NodeLost, .. } => Some("lost with their node"),
        _ => None,
    };
    Some(LostPods { pod, pods, event, event_of_several })
}

/// "Pod q4xzb restarted 4 times (OOMKilled)"; the last end of a container is named where it is the same for all.
fn restarts(restarted: &[Restarted<'_>]) -> String {
    let (times, pods): (u32, u32) = (restarted.iter().map(|one| one.times).sum(), restarted.len() as u32);
    let who = pods_named(restarted.first().map_or("", |one| one.pod.name.as_str()), pods);
    let times = if times == 1 { "once".to_owned() } else { format!("{times} times") };
    let mut ends = restarted.iter().map(last_end);
    let end = ends.next().flatten().filter(|first| ends.all(|end| end.as_ref() == Some(first)));
    let end = end.map(|end| format!(" ({end})")).unwrap_or_default();
    format!("{who} restarted {times}{end}")
}

/// Formats the last end of a container: what the kubelet stopped it for, else how it ended.
fn last_end(restarted: &Restarted<'_>) -> Option<String> {
    match (restarted.kill.as_ref().map(|kill| kill.end), restarted.exit) {
        (Some(ContainerEnd::Resized), _) => Some("resize".to_owned()),
        (Some(ContainerEnd::Redefined), _) => Some("pod spec changed".to_owned()),
        (Some(ContainerEnd::Sandbox), _) => Some("new sandbox".to_owned()),
        (Some(end), _) if let Some(probe) = end.probe() => Some(format!("{probe} failed")),
        (_, Some(exit)) if exit.reason == "OOMKilled" => Some(exit.reason.clone()),
        (_, exit) => exit.map(|exit| exit_words(exit.code)),
    }
}
