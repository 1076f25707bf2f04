//! A cause in words, with what decides out of messages that say it at length.

use crate::stall::certain::{PullFailure, pull_failure, told};
use crate::stall::{Cause, CauseKind, Refused};
use crate::verdict::KubectlVerdict;
use crate::view::Assessment;
use crate::words::{count, duration, images, is_are, safe, sentence_end, short};

/// A cause in one sentence.
#[must_use]
pub fn cause(cause: &Cause, looked: &Assessment<'_>) -> String {
    let (pods, evidence) = (cause.pods, &cause.evidence);
    let name = short(evidence.object.rsplit(' ').next().unwrap_or_default()).to_owned();
    let name = safe(&name);
    let least = if evidence.is_least { "at least " } else { "" };
    let since = evidence.since_millis.map(|since| format!("{least}{}", duration(looked.now_millis - since)));
    let for_long = since.as_deref().map(|long| format!(" in {long}")).unwrap_or_default();
    let one_is = if pods > 1 { format!("{pods} pods, one is {name}") } else { format!("pod {name}") };
    let spec = &looked.deployment.now.spec;
    // Once everything was available, pods are no news of the rollout any more.
    let is_new = looked.is_rolling_out();
    let pod_of = |pods: u32| count(pods, if is_new { "new pod" } else { "pod" });
    match &cause.kind {
        CauseKind::ControllerSilent => {
            format!("The Deployment controller has not reacted for {}.", since.unwrap_or_default())
        }
        CauseKind::Paused { is_edited: true } => {
            format!("A change of the template is waiting: image {}.", images(&spec.images))
        }
        CauseKind::Paused { is_edited: false } if looked.kubectl == KubectlVerdict::Complete => {
            "No change of the template is waiting.".to_owned()
        }
        CauseKind::Paused { is_edited: false } => "The rollout is paused before it is complete.".to_owned(),
        CauseKind::Refused(what) => refused(*what, &evidence.message),
        CauseKind::Image { image } => {
            let because = match pull_failure(&evidence.reason, &evidence.message, told(looked, &evidence.object)) {
                PullFailure::NotFound => "not found".to_owned(),
                PullFailure::Denied => "access denied".to_owned(),
                PullFailure::Unusable | PullFailure::Other => safe(&evidence.reason),
            };
            let image =
                image.as_deref().map_or_else(|| "An image".to_owned(), |image| format!("Image {}", safe(image)));
            format!("{image} cannot be pulled: {because} ({one_is}).")
        }
        CauseKind::BadContainer => format!(
            "A container cannot be created ({}, {one_is}): {}",
            safe(&evidence.reason),
            sentence_end(&evidence.message)
        ),
        CauseKind::NotStarted => {
            format!("A container does not start ({}, {one_is}){}", safe(&evidence.reason), tail(&evidence.message))
        }
        CauseKind::Crash { exit_code, is_out_of_memory, restarts, is_since } => {
            let exit = exit_code.filter(|_| !is_out_of_memory).map(|code| format!("exit code {code}"));
            let times = match (*restarts, *is_since && !evidence.is_least) {
                (0, _) => None,
                (restarts, true) => Some(format!("{}{for_long}", count(restarts, "restart"))),
                (restarts, false) => Some(format!("{} so far", count(restarts, "restart"))),
            };
            let told: Vec<String> = exit.into_iter().chain(times).collect();
            let told = if told.is_empty() { told.concat() } else { format!(": {}", told.join(", ")) };
            let verb = if *is_out_of_memory { "are killed, out of memory" } else { "crash" };
            format!("{} {verb}{told} ({one_is}).", if is_new { "New pods" } else { "Pods" })
        }
        CauseKind::PodsFailed => {
            let (who, one_is) = match pods {
                1 => (format!("A {} failed", if is_new { "new pod" } else { "pod" }), format!("pod {name}")),
                pods => (format!("{} failed within a minute", pod_of(pods)), format!("one is {name}")),
            };
            let reason =
                if evidence.reason.is_empty() { String::new() } else { format!(", {}", safe(&evidence.reason)) };
            format!("{who}{reason} ({one_is}){}", tail(&evidence.message))
        }
        CauseKind::Unschedulable => {
            let which = if pods == 1 { format!("pod {name}") } else { count(pods, "pod") };
            format!("No node fits {which}{}", tail(scheduler_says(&evidence.message)))
        }
        CauseKind::Init { is_running } => {
            // "Init 1 of 3": how many are done, of how many.
            let done = safe(&evidence.reason).replacen("Init ", "", 1);
            let at_work = safe(&evidence.message);
            let verb = if *is_running { "is running" } else { "has not started" };
            let since = since.unwrap_or_default();
            format!("Init container {at_work} {verb} ({done} done, {one_is}); the pod has been starting for {since}.")
        }
        CauseKind::NotReady => {
            let verb = if pods == 1 { "is running but" } else { "are running but" };
            let container = unready_containers(&evidence.message);
            let since = since.unwrap_or_default();
            format!("{} {verb} not ready{container} for {since}.", pod_of(pods))
        }
        CauseKind::Gate => {
            let gate = gate(&evidence.message).unwrap_or_else(|| "that is not named".to_owned());
            format!("Waiting for readiness gate {gate} on {}.", count(pods, "pod"))
        }
        CauseKind::Deadlock => {
            let wall = if looked.causes.iter().any(|cause| matches!(cause.kind, CauseKind::Refused(_))) {
                "refused"
            } else {
                "no node fits"
            };
            format!(
                "Can't remove an old pod (maxUnavailable {}) or add a new one ({wall}): the rollout is blocked.",
                looked.limits.max_unavailable
            )
        }
        CauseKind::OldNotGoing => {
            format!(
                "{} been terminating for longer than the grace period and must be gone first ({one_is}).",
                if pods == 1 { "1 old pod has".to_owned() } else { format!("{pods} old pods have") }
            )
        }
        CauseKind::PodsMissing { desired, there } => format!(
            "The ReplicaSet controller has been behind for {}: {} desired, {there} {exist}.",
            since.unwrap_or_default(),
            count(*desired, "pod"),
            exist = if *there == 1 { "exists" } else { "exist" },
        ),
        CauseKind::MinReady { left_millis, seconds, is_first } => {
            let verb = match pods {
                1 => "becomes available",
                _ if *is_first => "the first one becomes available",
                _ => "become available",
            };
            format!(
                "{} {} ready and {verb} in {} s (minReadySeconds {seconds}).",
                count(pods, "pod"),
                is_are(pods),
                left_millis.div_euclid(1000) + 1,
            )
        }
        CauseKind::OldTroubles { revision } => {
            let revision = revision.map_or_else(|| "An older revision".to_owned(), |r| format!("Revision {r}"));
            format!("{revision} has problems of its own: {} ({}).", failing(pods), safe(&evidence.reason))
                .replace(" ().", ".")
        }
    }
}

fn failing(pods: u32) -> String {
    format!("{} {} failing", count(pods, "pod"), is_are(pods))
}

/// What goes on after a sentence: its message, or nothing.
fn tail(message: &str) -> String {
    if message.is_empty() { ".".to_owned() } else { format!(": {}", sentence_end(message)) }
}

fn refused(what: Refused, message: &str) -> String {
    let refused = match what {
        Refused::ReplicaSet => "the new ReplicaSet",
        Refused::Pods => "new pods",
        Refused::Deletion => "to delete pods",
    };
    match quota(message) {
        None => format!("The API server refuses {refused}{}", tail(message)),
        Some(Quota { name, used }) => {
            let used = used.map(|used| format!(" ({used})")).unwrap_or_default();
            format!("The API server refuses {refused}: quota {name} is used up{used}.")
        }
    }
}

/// A quota that refuses, as far as a message tells it.
pub(super) struct Quota {
    /// Its name.
    pub(super) name: String,
    /// How much of it is used: "3 of 3 pods".
    used: Option<String>,
}

/// The quota of a message: "… exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3".
pub(super) fn quota(message: &str) -> Option<Quota> {
    let (_, quota) = message.split_once("exceeded quota: ")?;
    let part = |key: &str| quota.split(", ").find_map(|part| part.strip_prefix(key)).map(safe);
    let name = safe(quota.split(',').next().unwrap_or_default());
    let used = part("used: ").zip(part("limited: ")).map(|(used, limited)| {
        match (used.split_once('='), limited.split_once('=')) {
            (Some((what, used)), Some((same, limited))) if what == same => format!("{used} of {limited} {what}"),
            _ => format!("{used} of {limited}"),
        }
    });
    Some(Quota { name, used })
}

/// The decisive part of "0/4 nodes are available: 4 Insufficient cpu. no new claims to deallocate, preemption: …".
fn scheduler_says(message: &str) -> &str {
    let Some((_, reasons)) = message.split_once(" nodes are available: ") else {
        return message;
    };
    reasons.split_once(". ").map_or(reasons, |(decisive, _)| decisive)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn used(message: &str) -> Option<(String, Option<String>)> {
        quota(message).map(|quota| (quota.name, quota.used))
    }

    #[test]
    fn a_quota_is_named_with_how_much_of_it_is_used() {
        let said = |used: &str| Some(("q".to_owned(), Some(used.to_owned())));
        let refused = "pods \"a\" is forbidden: exceeded quota: q, requested: pods=1, ";
        assert_eq!(used(&format!("{refused}used: pods=3, limited: pods=4")), said("3 of 4 pods"));
        assert_eq!(used(&format!("{refused}used: pods=3, limited: cpu=4")), said("pods=3 of cpu=4"));
        assert_eq!(used(&format!("{refused}used: 3, limited: 4")), said("3 of 4"));
        assert_eq!(used(&format!("{refused}used: pods=3")), Some(("q".to_owned(), None)));
        assert_eq!(used("exceeded quota: q"), Some(("q".to_owned(), None)));
        assert_eq!(used("is forbidden: no"), None);
    }

    #[test]
    fn what_decides_is_taken_out_of_messages() {
        let long = "0/4 nodes are available: 2 Insufficient cpu, 2 had taints. preemption: 0/4 are helpful.";
        assert_eq!(scheduler_says(long), "2 Insufficient cpu, 2 had taints");
        assert_eq!(scheduler_says("0/4 nodes are available: 4 Insufficient cpu."), "4 Insufficient cpu.");
        assert_eq!(scheduler_says("something else. And more"), "something else. And more");
        let unready = unready_containers("containers with unready status: [web proxy]");
        assert_eq!((unready.as_str(), unready_containers("none")), (" (container web, proxy)", String::new()));
        let told = "corresponding condition of pod readiness gate \"shop/open\" does not exist.";
        assert_eq!(gate(told).as_deref(), Some("shop/open"));
        assert_eq!([gate("readiness gate \"\""), gate("nothing")], [None, None]);
    }
}
