//! The cause that decides, in the few words of a headline; [`super::cause`] has its figures.

use super::crash::{crashes, exit_words};
use super::excerpt::{quota, scheduler_says, start_words};
use super::pod_causes::pull_detail;
use super::start_causes::failed_step;
use super::tense::past;
use crate::assess::failed_pods::COMPLETED;
use crate::assess::{Assessment, Cause, CauseKind, Refused, pull_failure};
use crate::rules::messages::{self, NewNode, StartHold};
use crate::rules::pulls::PullFailure;
use crate::words::{safe, short};

/// Longest message that is a headline, in words.
const LONGEST_MESSAGE: usize = 9;
/// Longest message about a mount, which names what is mounted, in words.
const LONGEST_MOUNT: usize = 12;

/// The fault in a few words: "image web:missing is not found", "container web crashes with exit code 1".
pub(super) fn matter(cause: &Cause, assessment: &Assessment<'_>) -> String {
    let matter = current_matter(cause, assessment);
    if assessment.old_refusal_millis(cause).is_some() { past(&matter) } else { matter }
}

fn current_matter(cause: &Cause, assessment: &Assessment<'_>) -> String {
    let evidence = &cause.evidence;
    match &cause.kind {
        CauseKind::Image { image, .. } => {
            let image = image.as_ref().map_or_else(|| "an image".to_owned(), |image| format!("image {}", safe(image)));
            let failure = pull_failure(assessment.deployment, &cause.kind, evidence);
            let detail = || pull_detail(cause, assessment).filter(|detail| is_short(detail, LONGEST_MESSAGE));
            match failure {
                PullFailure::NotFound => format!("{image} is not found"),
                PullFailure::Platform => format!("{image} has no variant for the node's platform"),
                PullFailure::Hidden => format!("{image} does not exist, or access is denied"),
                PullFailure::Denied => format!("access to {image} is denied"),
                PullFailure::Unusable => format!("{image} cannot be used ({})", safe(&evidence.reason)),
                _ => match failure.words().map(str::to_owned).or_else(detail) {
                    Some(words) => format!("{image} cannot be pulled ({words})"),
                    None => format!("{image} cannot be pulled"),
                },
            }
        }
        CauseKind::BadContainer { container } => {
            let message = safe(messages::without_pod(&evidence.message).trim().trim_end_matches('.'));
            if evidence.reason == "CreateContainerConfigError" && is_short(&message, LONGEST_MESSAGE) {
                message
            } else {
                format!("container {} {} ({})", safe(container), failed_step(&evidence.reason), safe(&evidence.reason))
            }
        }
        CauseKind::Crash(crash) => crashes(crash),
        CauseKind::Refused { what, .. } => refusal_matter(*what, &evidence.message),
        CauseKind::Starting { hold, .. } if hold.is_error() => {
            let words = start_words(&evidence.reason, &evidence.message);
            match hold {
                StartHold::Mount if !is_short(&words, LONGEST_MOUNT) => "a volume cannot be mounted".to_owned(),
                StartHold::Cgroup => "the cgroup of a pod cannot be made".to_owned(),
                _ => words,
            }
        }
        CauseKind::Unschedulable { .. } if evidence.reason == "SchedulerError" => "the scheduler fails".to_owned(),
        CauseKind::Unschedulable { node: Some(NewNode::Nominated(_)) } => "its pods wait for a node".to_owned(),
        CauseKind::Unschedulable { .. } => {
            let is_claim = |said: &&str| said.to_lowercase().contains("persistentvolumeclaim");
            let claim = Some(scheduler_says(&evidence.message).trim_end_matches('.')).filter(is_claim);
            let claim = claim.filter(|said| is_short(said, LONGEST_MESSAGE));
            claim.map_or_else(|| "no node fits its pods".to_owned(), safe)
        }
        CauseKind::NoScheduler { nominated: Some(_) } => "its pods are not bound yet".to_owned(),
        CauseKind::NoScheduler { nominated: None } if evidence.reason == messages::CLAIM => {
            "a ResourceClaim of its pods cannot be created".to_owned()
        }
        CauseKind::NoScheduler { nominated: None } => "no scheduler has placed its pods".to_owned(),
        CauseKind::PodsFailed { node: Some(node), .. } => format!("node {} does not exist", safe(node)),
        CauseKind::PodsFailed { exit: Some((_, code)), .. } if evidence.reason == "Error" => {
            format!("its pods fail ({})", exit_words(*code))
        }
        CauseKind::PodsFailed { .. } if evidence.reason == COMPLETED => {
            "its pods end with exit code 0 (Completed)".to_owned()
        }
        CauseKind::PodsFailed { .. } => format!("its pods fail ({})", safe(&evidence.reason)).replace(" ()", ""),
        CauseKind::OldNotGoing => "old pods do not go".to_owned(),
        CauseKind::PodsMissing { .. } => "the ReplicaSet controller creates no pods".to_owned(),
        CauseKind::PodsDeleted => "all pods were deleted".to_owned(),
        CauseKind::SetMissing => "the Deployment controller makes no ReplicaSet".to_owned(),
        CauseKind::ScalingStuck { .. } => "Recreate cannot scale several ReplicaSets".to_owned(),
        CauseKind::Deadlock { .. } => "no pod can be added or removed".to_owned(),
        CauseKind::NodeSilent { node } => format!("node {} is not ready", safe(node)),
        CauseKind::NotReady { was_ready: true, .. } => "pods are not ready any more".to_owned(),
        CauseKind::NotReady { .. } => "pods do not become ready".to_owned(),
        CauseKind::Flapping { .. } => "pods lose readiness repeatedly".to_owned(),
        CauseKind::Gate { gate, .. } => {
            let gate =
                gate.as_deref().map_or_else(|| "a readiness gate".to_owned(), |gate| format!("gate {}", safe(gate)));
            format!("{gate} stays closed")
        }
        CauseKind::Starting { .. } | CauseKind::Init { .. } => "pods do not start".to_owned(),
        CauseKind::NotStarted { container } if !container.is_empty() => {
            format!("container {} does not start ({})", safe(container), safe(&evidence.reason))
        }
        _ => format!("pod {} does not start ({})", safe(short(evidence.object_name())), safe(&evidence.reason)),
    }
}

/// The refusal of a request in a few words: "quota rs is used up", "webhook policy denies the new ReplicaSet".
pub(super) fn refusal_matter(what: Refused, message: &str) -> String {
    match (quota(message), what) {
        (Some(quota), _) if quota.is_used_up => format!("quota {} is used up", quota.name),
        (Some(quota), _) => format!("quota {} has no room", quota.name),
        (None, Refused::ReplicaSet | Refused::Pods)
            if let Some(webhook) = quoted(message, "failed calling webhook \"") =>
        {
            format!("webhook {} cannot be called", safe(webhook))
        }
        (None, Refused::Deletion) => "the API server refuses to delete pods".to_owned(),
        (None, Refused::ReplicaSet | Refused::Pods) => {
            let refused = if what == Refused::Pods { "new pods" } else { "the new ReplicaSet" };
            let by_whom = refuses(message).map(|refuses| format!("{refuses} {refused}"));
            let why = by_whom.or_else(|| forbidden_because(message));
            why.unwrap_or_else(|| format!("the API server refuses {refused}"))
        }
    }
}

/// The first reason of a refusal, if it is short: `maximum memory usage per Container is 64Mi` of `pods "web-1" is forbidden: [maximum
/// memory usage per Container is 64Mi, but limit is 128Mi, maximum cpu usage …]`, as LimitRanger writes it.
fn forbidden_because(message: &str) -> Option<String> {
    let (_, reasons) = message.split_once("\" is forbidden: ")?;
    let first = reasons.split_once(", but ").map_or(reasons, |(first, _)| first);
    let first = first.split_once(". ").map_or(first, |(first, _)| first).trim_start_matches('[').trim();
    Some(safe(first.trim_end_matches('.'))).filter(|first| is_short(first, LONGEST_MESSAGE))
}

/// A message that says something in few enough words for a headline.
fn is_short(message: &str, most_words: usize) -> bool {
    (1..=most_words).contains(&message.split_whitespace().count())
}

/// Finds the text between these words and the next quotation mark.
fn quoted<'m>(message: &'m str, after: &str) -> Option<&'m str> {
    message.split_once(after).and_then(|(_, rest)| rest.split_once('"')).map(|(name, _)| name)
}

/// Names the admission plugin, policy or webhook that refuses: `Pod Security "restricted" forbids`, "webhook policy denies"; `None` where
/// the message does not.
fn refuses(message: &str) -> Option<String> {
    if let Some(level) = quoted(message, "violates PodSecurity \"") {
        let level = level.split(':').next().unwrap_or_default();
        return Some(format!("Pod Security \"{}\" forbids", safe(level)));
    }
    // "ValidatingAdmissionPolicy 'policy' with binding 'binding' denied request: …", or without the binding; of a
    // MutatingAdmissionPolicy "policy 'policy' with binding …".
    let named = message.split_once("' with binding '").or_else(|| message.split_once("' denied request: "));
    if let Some((_, policy)) = named.and_then(|(until_name, _)| until_name.rsplit_once('\'')) {
        return Some(format!("policy {} denies", safe(policy)));
    }
    let webhook = quoted(message, "admission webhook \"").filter(|_| message.contains("denied the request"));
    webhook.map(|webhook| format!("webhook {} denies", safe(webhook)))
}
