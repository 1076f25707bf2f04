//! Causes that pods show, in words: images, crashes, failed pods, pods without a node.

use super::crash::{also, container_name, crashes, exit_words};
use super::excerpt::scheduler_says;
use crate::assess::failed_pods::{COMPLETED, FAILED_MILLIS};
use crate::assess::{Assessment, Cause, CauseKind, CrashCause, Severity, pull_failure};
use crate::model::fact::Role;
use crate::rules::messages::{self, NewNode};
use crate::rules::pulls::{self, NEVER_PULL, PullFailure};
use crate::words::{capitalized, count, duration, duration_in_words, safe, sentence_end, short};

/// Restarts within less time than this say nothing of how often they come.
const LONG_MILLIS: crate::Millis = 10_000;

/// The pods of a cause, as its sentence names them.
pub(super) struct NamedPods {
    /// The end of the example's name.
    pub name: String,
    /// "pod q4xzb", or the example in a sentence that has the number of pods: "one is q4xzb".
    pub example: String,
    /// "3 pods, one is q4xzb".
    pub one_is: String,
    /// For how long the cause lasts; empty if that is not known.
    pub since: String,
    /// Pods are news of the rollout.
    is_new: bool,
}

impl NamedPods {
    pub(super) fn new(cause: &Cause, assessment: &Assessment<'_>) -> Self {
        let (pods, evidence) = (cause.pods, &cause.evidence);
        let name = safe(short(evidence.object_name()));
        let least = if evidence.is_least { "at least " } else { "" };
        let words = if evidence.is_least { duration } else { duration_in_words };
        let since = evidence.since_millis.map(|since| format!("{least}{}", words(assessment.now.millis - since)));
        let example = match (pods > 1, cause.is_mixed) {
            (false, _) => format!("pod {name}"),
            (true, true) => format!("for example {name}"),
            (true, false) => format!("one is {name}"),
        };
        let one_is = if pods > 1 { format!("{pods} pods, {example}") } else { example.clone() };
        // Once everything was available, pods are no news of the rollout any more. An edit that waits has no pods yet.
        let is_edit_held = assessment.deployment.now.spec.paused && assessment.awaits_revision;
        let is_new = assessment.is_rolling_out() && !is_edit_held && !cause.is_of_old_pods();
        Self { name, example, one_is, since: since.unwrap_or_default(), is_new }
    }

    pub(super) fn count(&self, pods: u32) -> String {
        count(pods, if self.is_new { "new pod" } else { "pod" })
    }
}

pub(super) fn image_cause(
    cause: &Cause,
    assessment: &Assessment<'_>,
    (image, container): (&Option<String>, &Option<(Role, String)>),
    NamedPods { one_is, .. }: &NamedPods,
) -> String {
    let evidence = &cause.evidence;
    let image = image.as_deref().map_or_else(|| "An image".to_owned(), |image| format!("Image {}", safe(image)));
    let failure = pull_failure(assessment.deployment, &cause.kind, evidence);
    let reason = safe(&evidence.reason);
    let of = container.as_ref().map(|(role, name)| format!(" of {}", container_name(*role, name)));
    let of = of.unwrap_or_default();
    if reason == NEVER_PULL {
        let why = "is not on the node, or the pod may not use it there; its imagePullPolicy is Never";
        return format!("{image}{of} {why} ({one_is}).");
    }
    let because = match (failure.words(), pull_detail(cause, assessment)) {
        (Some(words), _) => words.to_owned(),
        (None, Some(detail)) if matches!(reason.as_str(), "ErrImagePull" | "ImagePullBackOff") => detail,
        (None, Some(detail)) => format!("{reason}: {detail}"),
        (None, None) => format!("{reason}, why is not known"),
    };
    let is_again = cause.severity == Severity::Normal && !failure.is_final();
    let hope = if is_again { " The kubelet tries again." } else { "" };
    let secrets = pulls::unread_pull_secrets(assessment.deployment, evidence.object_name())
        .filter(|_| matches!(failure, PullFailure::Denied | PullFailure::Hidden))
        .map(|names| format!(" Pull secrets that cannot be read: {}.", safe(names)));
    format!("{image}{of} cannot be pulled: {because} ({one_is}).{}{hope}", secrets.unwrap_or_default())
}

pub(super) fn crash_cause(cause: &Cause, assessment: &Assessment<'_>, crash: &CrashCause, named: &NamedPods) -> String {
    let NamedPods { name, since, .. } = named;
    let (pods, evidence) = (cause.pods, &cause.evidence);
    let is_long = evidence.since_millis.is_some_and(|since| assessment.now.millis - since >= LONG_MILLIS);
    let times = match (crash.told_restarts(), crash.is_since && !evidence.is_least) {
        (0, _) => String::new(),
        (restarts, true) if is_long => format!(": {} in {since}", count(restarts, "restart")),
        (restarts, _) => format!(": {} so far", count(restarts, "restart")),
    };
    let what = capitalized(crashes(crash));
    let runs = match crash.runs_millis {
        Some(runs) if !crash.is_loop && crash.is_ready => {
            format!(" It has been running again for {}.", duration_in_words(runs))
        }
        Some(runs) if !crash.is_loop => {
            // Init containers are never ready, and of a container of several the pod alone is known not to be.
            let is_init = crash.role == Role::Init;
            let lacks = if is_init { "has not completed" } else { "its pod is not ready" };
            format!(" It has been running again for {}, and {lacks}.", duration_in_words(runs))
        }
        _ => String::new(),
    };
    let saw = quote("The probe saw", crash.kill.as_ref().map(|kill| kill.message.as_str()));
    let start = quote("The kubelet says", crash.start_error.as_deref().map(messages::last_step));
    let end = match pods {
        _ if crash.needs_restart_of_all => " A restart rule of another container may do that.",
        _ if !crash.is_final => "",
        0 | 1 => " Its restartPolicy says so: the pod does not become ready.",
        _ => " Its restartPolicy says so: the pods do not become ready.",
    };
    let others = also(&crash.other_containers, ["ends again and again too", "end again and again too"]);
    let unready = also(&crash.unready_containers, ["runs and is not ready", "run and are not ready"]);
    // Restarts are those of one pod.
    match pods {
        0 | 1 => format!("{what}{times} (pod {name}).{saw}{start}{runs}{end}{others}{unready}"),
        pods => format!("{what} in {pods} pods (pod {name}{times}).{saw}{start}{runs}{end}{others}{unready}"),
    }
}

pub(super) fn failed_pods_cause(cause: &Cause, exit: Option<&(String, i32)>, named: &NamedPods) -> String {
    let NamedPods { example, is_new, .. } = named;
    let (pods, evidence) = (cause.pods, &cause.evidence);
    let is_done = evidence.reason == COMPLETED;
    let verb = if is_done { "ended" } else { "failed" };
    let who = match pods {
        1 => format!("A {} {verb}", if *is_new { "new pod" } else { "pod" }),
        pods => format!("{} {verb} within {} s", named.count(pods), FAILED_MILLIS / 1_000),
    };
    if is_done {
        return format!("{who} ({example}): all app containers ended with exit code 0 and are not started again.");
    }
    let reason = if evidence.reason.is_empty() { String::new() } else { format!(", {}", safe(&evidence.reason)) };
    let end = match exit {
        Some((container, code)) => format!(": container {} ended with {}.", safe(container), exit_words(*code)),
        None => tail(&evidence.message),
    };
    format!("{who}{reason} ({example}){end}")
}

pub(super) fn lost_pods_cause(cause: &Cause, node: &str, named: &NamedPods) -> String {
    let (who, reason, example) = (named.count(cause.pods), safe(&cause.evidence.reason), &named.example);
    format!("{who} were lost one after the other, {reason} ({example}): node {} does not exist.", safe(node))
}

pub(super) fn unschedulable_cause(
    cause: &Cause,
    assessment: &Assessment<'_>,
    node: Option<&NewNode>,
    NamedPods { name, example, .. }: &NamedPods,
) -> String {
    let (pods, evidence) = (cause.pods, &cause.evidence);
    let which = match pods {
        1 if cause.old == 1 => format!("old pod {name}"),
        1 => format!("pod {name}"),
        _ if cause.is_mixed => format!("{}, {example}", old_and_new(cause)),
        _ => old_and_new(cause),
    };
    // The scheduler keeps the condition of its last failure until it has bound a pod.
    let is_nominated = matches!(node, Some(NewNode::Nominated(_)));
    let node = match node {
        Some(NewNode::Nominated(node)) if pods == 1 => {
            format!(" It is nominated for node {}, and waits for room there or to be bound.", safe(node))
        }
        Some(NewNode::Nominated(_)) => {
            " They are nominated for nodes, and wait for room there or to be bound.".to_owned()
        }
        Some(NewNode::Comes(who)) => format!(" A node is being added ({who})."),
        Some(NewNode::Refused(why)) => format!(" No node is added: {}", sentence_end(why)),
        None => String::new(),
    };
    let going = assessment.counts.terminating;
    let room = if assessment.room_comes(&evidence.message) {
        let verb = if going == 1 { "terminates" } else { "terminate" };
        format!(" {} that {verb} may make room.", count(going, "pod"))
    } else {
        String::new()
    };
    let what = match (evidence.reason.as_str(), is_nominated) {
        ("SchedulerError", _) => "The scheduler fails for",
        (_, true) => "No node fitted",
        (_, false) => "No node fits",
    };
    format!("{what} {which}{}{node}{room}", tail(scheduler_says(&evidence.message)))
}

/// Finds the message of the kubelet about a pull that failed for an unknown reason.
pub(super) fn pull_detail(cause: &Cause, assessment: &Assessment<'_>) -> Option<String> {
    let CauseKind::Image { image, .. } = &cause.kind else { return None };
    let events = pulls::failures(assessment.deployment, cause.evidence.object_name(), image.as_deref());
    pulls::pull_detail(&cause.evidence.message, events).map(safe)
}

/// Counts the pods of a cause, the old ones apart: "3 old pods and 1 new pod".
pub(super) fn old_and_new(cause: &Cause) -> String {
    match (cause.old, cause.pods.saturating_sub(cause.old)) {
        (0, pods) => count(pods, "pod"),
        (old, 0) => count(old, "old pod"),
        (old, new) => format!("{} and {}", count(old, "old pod"), count(new, "new pod")),
    }
}

/// Quotes a message: " A probe saw: connection refused."; empty without one.
pub(super) fn quote(by: &str, message: Option<&str>) -> String {
    let message = message.filter(|message| !message.is_empty());
    message.map(|message| format!(" {by}: {}", sentence_end(message))).unwrap_or_default()
}

/// Ends a sentence with a message, if there is one.
pub(super) fn tail(message: &str) -> String {
    if message.is_empty() { ".".to_owned() } else { format!(": {}", sentence_end(message)) }
}
