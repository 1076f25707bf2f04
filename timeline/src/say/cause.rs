//! A cause in words. [`super::excerpt`] takes what decides out of messages that say it at length.

use super::excerpt::{Quota, named_containers, quota, refusal, scheduler_says, start_words, without_pod};
use super::tense::past;
use crate::assess::pod_causes::{COMPLETED, FAILED_MILLIS};
use crate::assess::{Assessment, Cause, CauseKind, CrashCause, Obstacle, Refused, Severity, StartTime, pull_failure};
use crate::model::fact::Role;
use crate::model::pod::FLAP_MILLIS;
use crate::rules::messages::{self, NewNode, StartHold};
use crate::rules::pulls::{self, NEVER_PULL, PullFailure};
use crate::words::{
    capitalized, count, duration, duration_in_words, images, is_are, list, moment, safe, sentence_end, short,
};

/// Restarts within less time than this say nothing of how often they come.
const LONG_MILLIS: crate::Millis = 10_000;
/// Most further containers of a crash that are named.
const MOST_CONTAINERS: usize = 3;

/// Why no pod is created and no refusal is told: in a namespace that is being deleted the API server refuses pods, and Events too.
const NONE_CREATED: &str = "the namespace is being deleted, or the ReplicaSet controller cannot create pods.";

/// A cause in one sentence.
pub fn cause(cause: &Cause, assessment: &Assessment<'_>) -> String {
    let (pods, evidence) = (cause.pods, &cause.evidence);
    let name = safe(short(evidence.object_name()));
    let least = if evidence.is_least { "at least " } else { "" };
    let words = if evidence.is_least { duration } else { duration_in_words };
    let since = evidence.since_millis.map(|since| format!("{least}{}", words(assessment.now.millis - since)));
    let since = since.unwrap_or_default();
    // In a sentence that has the number of pods.
    let example = match (pods > 1, cause.is_mixed) {
        (false, _) => format!("pod {name}"),
        (true, true) => format!("for example {name}"),
        (true, false) => format!("one is {name}"),
    };
    let one_is = if pods > 1 { format!("{pods} pods, {example}") } else { example.clone() };
    let spec = &assessment.deployment.now.spec;
    // Once everything was available, pods are no news of the rollout any more. An edit that waits has no pods yet.
    let is_edit_held = spec.paused && assessment.awaits_revision;
    let is_new = assessment.is_rolling_out() && !is_edit_held && !cause.is_of_old_pods();
    let pod_of = |pods: u32| count(pods, if is_new { "new pod" } else { "pod" });
    match &cause.kind {
        CauseKind::ControllerSilent => {
            // Whole seconds: a sentence that changes more often cannot be read.
            let since = evidence.since_millis.map(|since| (assessment.now.millis - since).div_euclid(1_000) * 1_000);
            format!("The Deployment controller has not reacted for {least}{}.", since.map(duration).unwrap_or_default())
        }
        // Which template the last one had is not known any more: it comes back, or an edit does.
        CauseKind::Paused { .. } if assessment.has_lost_all_sets() => format!(
            "No ReplicaSet is left, and the Deployment controller creates none while the Deployment is paused: image {} is waiting.",
            images(&spec.images)
        ),
        CauseKind::Paused { is_edited: true } if assessment.awaits_first_revision() => {
            format!("The first revision is waiting: image {}.", images(&spec.images))
        }
        CauseKind::Paused { is_edited: true } if assessment.current.is_some_and(|set| set.images == spec.images) => {
            "A change of the template is waiting; its images are the same.".to_owned()
        }
        CauseKind::Paused { is_edited: true } => {
            format!("A change of the template is waiting: image {}.", images(&spec.images))
        }
        CauseKind::Paused { is_edited: false } if assessment.replaces_nothing() => {
            "No change of the template is waiting.".to_owned()
        }
        CauseKind::Paused { is_edited: false } => "The rollout is paused before it is complete.".to_owned(),
        CauseKind::Refused { what, older } => match (older, assessment.old_refusal_millis(cause)) {
            (None, None) => refused(*what, &evidence.message),
            (None, Some(last)) => was_refused(*what, assessment.now.millis - last, &evidence.message),
            (Some(revision), None) => {
                format!("Revision {revision} cannot replace a pod: {}", refused(Refused::Pods, &evidence.message))
            }
            (Some(revision), Some(last)) => {
                let refused = was_refused(*what, assessment.now.millis - last, &evidence.message);
                format!("Revision {revision} could not replace a pod: {refused}")
            }
        },
        CauseKind::SetMissing => {
            format!("No pod is left, and the Deployment controller has not made the next ReplicaSet for {since}.")
        }
        CauseKind::ScalingStuck { replicas } => format!(
            "{} {} desired instead of {replicas}: before the rollout goes on, the Deployment controller has to scale, and with Recreate it \
             cannot scale several ReplicaSets. Scale back to {replicas}, and to {} once the rollout is complete.",
            count(spec.replicas, "replica"),
            is_are(spec.replicas),
            spec.replicas
        ),
        CauseKind::Image { image, container } => {
            let image =
                image.as_deref().map_or_else(|| "An image".to_owned(), |image| format!("Image {}", safe(image)));
            let failure = pull_failure(assessment.deployment, &cause.kind, evidence);
            let reason = safe(&evidence.reason);
            let of = container.as_ref().map(|(role, name)| format!(" of {}", container_name(*role, name)));
            let of = of.unwrap_or_default();
            if reason == NEVER_PULL {
                return format!("{image}{of} is not on the node, and its imagePullPolicy is Never ({one_is}).");
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
        CauseKind::BadContainer { container } => format!(
            "Container {} {} ({}, {one_is}){}",
            safe(container),
            failed_step(&evidence.reason),
            safe(&evidence.reason),
            tail(without_pod(&evidence.message))
        ),
        CauseKind::NotStarted { container } => {
            let container =
                if container.is_empty() { "A container".to_owned() } else { format!("Container {}", safe(container)) };
            format!("{container} does not start ({}, {one_is}){}", safe(&evidence.reason), tail(&evidence.message))
        }
        CauseKind::Crash(crash) => {
            let is_long = evidence.since_millis.is_some_and(|since| assessment.now.millis - since >= LONG_MILLIS);
            let times = match (crash.restarts, crash.is_since && !evidence.is_least) {
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
            let saw = quote("The probe saw", crash.probe.as_ref().map(|probe| probe.message.as_str()));
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
        CauseKind::PodsFailed { exit, .. } => {
            let is_done = evidence.reason == COMPLETED;
            let verb = if is_done { "ended" } else { "failed" };
            let who = match pods {
                1 => format!("A {} {verb}", if is_new { "new pod" } else { "pod" }),
                pods => format!("{} {verb} within {} s", pod_of(pods), FAILED_MILLIS / 1_000),
            };
            if is_done {
                return format!(
                    "{who} ({example}): all app containers ended with exit code 0 and are not started again."
                );
            }
            let reason =
                if evidence.reason.is_empty() { String::new() } else { format!(", {}", safe(&evidence.reason)) };
            let end = match exit {
                Some((container, code)) => format!(": container {} ended with {}.", safe(container), exit_words(*code)),
                None => tail(&evidence.message),
            };
            format!("{who}{reason} ({example}){end}")
        }
        CauseKind::Unschedulable { node } => {
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
        CauseKind::SchedulingGated => {
            let verb = if pods == 1 { "waits" } else { "wait" };
            // Kubernetes says that there are gates, and not which.
            let gates = evidence.message.rsplit_once("gates: ").map_or_else(
                || "scheduling gates".to_owned(),
                |(_, gates)| {
                    let noun = if gates.contains(", ") { "gates" } else { "gate" };
                    format!("scheduling {noun} {}", safe(gates))
                },
            );
            format!("{} {verb} for {gates} ({example}).", pod_of(pods))
        }
        CauseKind::NoScheduler { nominated } => {
            let verb = if pods == 1 { "has" } else { "have" };
            let unplaced = format!("{} {verb} had no node for {since}", pod_of(pods));
            match nominated {
                Some(node) => format!(
                    "{unplaced}. Pod {name} is nominated for node {}; it may wait for a volume, a device or other pods \
                     before it is bound.",
                    safe(node)
                ),
                None if evidence.reason == messages::CLAIM => {
                    format!("{unplaced} ({example}): {}", sentence_end(&evidence.message))
                }
                None => format!(
                    "{unplaced}, and no scheduler has said why ({example}). Either no scheduler takes them, or it waits \
                     for a volume or a device."
                ),
            }
        }
        CauseKind::Starting { hold: StartHold::Unknown, time } => {
            let verb = if pods == 1 { "has been starting" } else { "have been starting" };
            let (who, over) = (pod_of(pods), over(time));
            let one = (pods == 1).then(|| evidence.object_name());
            let missing = match (assessment.starts_in_part(one), pods) {
                (false, _) => "no container is",
                (true, 1) => "not all of its containers are",
                (true, _) => "not all of their containers are",
            };
            format!("{who} {verb} for {since}; {missing} reported running yet ({example}).{over}")
        }
        CauseKind::Starting { hold: StartHold::Pull, .. } => {
            let verb = if pods == 1 { "is waiting for its image" } else { "are waiting for their images" };
            let what = sentence_end(&evidence.message);
            format!("{} {verb} for {since} ({example}): {what}", pod_of(pods))
        }
        CauseKind::Starting { hold, .. } => {
            let for_what = match hold {
                StartHold::Sandbox => "for its sandbox",
                StartHold::Devices => "for its devices",
                StartHold::Cgroup => "for its cgroup",
                _ => "for its volumes",
            };
            let others = if pods > 1 { format!(" {pods} pods do.") } else { String::new() };
            let why = start_words(&evidence.reason, &evidence.message);
            format!("Pod {name} waits {for_what} ({}): {}{others}", safe(&evidence.reason), sentence_end(&why))
        }
        CauseKind::Init { is_running, is_sidecar, .. } => {
            // "Init 1 of 3": how many are done, of how many.
            let done = safe(&evidence.reason).replacen("Init ", "", 1);
            let at_work = safe(&evidence.message);
            let who = if *is_sidecar { "Sidecar" } else { "Init container" };
            let verb = match (is_running, is_sidecar) {
                (true, true) => "is running, but its startup probe has not passed",
                (true, false) => "is running",
                (false, _) => "has not started",
            };
            format!("{who} {at_work} {verb} ({done} done, {one_is}); the pod has been starting for {since}.")
        }
        CauseKind::NotReady { is_startup, was_ready, time, saw } => {
            let verb = if pods == 1 { "is running but" } else { "are running but" };
            let what = match (is_startup, was_ready) {
                (true, _) => "the startup probe has not passed",
                (false, true) => "not ready any more",
                (false, false) => "not ready",
            };
            let is_meant = |name: &str| !is_startup || assessment.is_in_startup(evidence.object_name(), name);
            let container = named_containers(&evidence.message, is_meant);
            let saw = quote("A probe saw", saw.as_deref());
            let over = if *was_ready { String::new() } else { over(time) };
            let of_one = if cause.is_mixed { ", one of them" } else { "" };
            format!("{} {verb} {what}{container}{of_one} for {since}.{saw}{over}", pod_of(pods))
        }
        CauseKind::Flapping { losses, is_over, .. } => {
            let saw = quote("A probe saw", Some(evidence.message.as_str()));
            let minutes = FLAP_MILLIS / 60_000;
            let verb = if *is_over { "lost" } else { "lose" };
            format!("Pods {verb} readiness repeatedly ({one_is}: {losses} times in the last {minutes} min).{saw}")
        }
        CauseKind::NodeSilent { node } => {
            let (verb, them) = if pods == 1 { ("does", "it") } else { ("do", "them") };
            format!(
                "Node {} has not been ready for {since}: {} on it {verb} not count. Kubernetes replaces {them} after the \
                 toleration of the pod, by default 300 s.",
                safe(node),
                old_and_new(cause)
            )
        }
        CauseKind::Gate { gate, time } => {
            let gate = gate.as_deref().map_or_else(|| "that is not named".to_owned(), safe);
            let told = [safe(&evidence.reason), safe(&evidence.message)];
            let told = told.iter().filter(|part| {
                !part.is_empty() && *part != "ReadinessGatesNotReady" && !part.contains("readiness gate")
            });
            let told = tail(&told.cloned().collect::<Vec<_>>().join(": "));
            let who = if cause.is_mixed { format!("{one_is},") } else { count(pods, "pod") };
            format!("Waiting for readiness gate {gate} on {who} for {since}{told}{}", over(time))
        }
        CauseKind::Deadlock { obstacle } => {
            let obstacle = match obstacle {
                Obstacle::Refused => "refused",
                Obstacle::NoNode => "no node fits",
                Obstacle::Volume => "an old pod has its volume",
            };
            format!(
                "Can't remove an old pod (maxUnavailable {}) or add a new one ({obstacle}): the rollout is blocked.",
                assessment.limits.max_unavailable
            )
        }
        CauseKind::OldNotGoing => {
            let (pods, have) = (count(pods, "old pod"), if pods == 1 { "has" } else { "have" });
            format!(
                "{pods} {have} been terminating for longer than the grace period and must be gone first ({example})."
            )
        }
        CauseKind::PodsMissing { desired, .. } if assessment.has_lost_all_pods() => format!(
            "{} {} desired, and none has been created for {since}: {NONE_CREATED}",
            count(*desired, "pod"),
            is_are(*desired),
        ),
        CauseKind::PodsMissing { desired, there } => format!(
            "The ReplicaSet controller has been behind for {since}: {} desired, {there} {exist}.",
            count(*desired, "pod"),
            exist = if *there == 1 { "exists" } else { "exist" },
        ),
        CauseKind::PodsDeleted => {
            let at = evidence.since_millis.filter(|_| !evidence.is_least);
            let at = at.map(|at| format!(" at {} UTC", moment(at, assessment.now.millis))).unwrap_or_default();
            format!("No pod has been created since all were deleted{at}: {NONE_CREATED}")
        }
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
                // Kubernetes tells whole seconds only: it may be up to one more.
                (left_millis.div_euclid(1000) + 1).min(i64::from(*seconds)),
            )
        }
        CauseKind::OldTroubles { revision, trouble } => {
            let revision = revision.map_or_else(|| "An older revision".to_owned(), |r| format!("Revision {r}"));
            let mut trouble = self::cause(trouble, assessment);
            if let Some(initial) = trouble.get_mut(..1) {
                initial.make_ascii_lowercase();
            }
            format!("{revision} has problems of its own: {trouble}")
        }
    }
}

/// The pods of a cause, the old ones apart: "3 old pods and 1 new pod".
fn old_and_new(cause: &Cause) -> String {
    match (cause.old, cause.pods.saturating_sub(cause.old)) {
        (0, pods) => count(pods, "pod"),
        (old, 0) => count(old, "old pod"),
        (old, new) => format!("{} and {}", count(old, "old pod"), count(new, "new pod")),
    }
}

/// " A probe saw: connection refused."; empty without a message.
fn quote(by: &str, message: Option<&str>) -> String {
    let message = message.filter(|message| !message.is_empty());
    message.map(|message| format!(" {by}: {}", sentence_end(message))).unwrap_or_default()
}

/// What one or several containers do beside one that ends: " Container b and container c end again and again too."; empty without any.
fn also(containers: &[(Role, String)], [one_does, several_do]: [&str; 2]) -> String {
    let named = containers.iter().take(MOST_CONTAINERS).map(|(role, name)| container_name(*role, name));
    let more = containers.len().checked_sub(MOST_CONTAINERS).filter(|more| *more > 0);
    let names: Vec<String> = named.chain(more.map(|more| format!("{more} more"))).collect();
    let does = if containers.len() == 1 { one_does } else { several_do };
    if names.is_empty() { String::new() } else { format!(" {} {does}.", capitalized(list(&names))) }
}

/// The step in which the start of a container fails (`startContainer` in `kuberuntime_container.go`).
pub(super) fn failed_step(reason: &str) -> &'static str {
    match reason {
        "PreStartHookError" | "RunContainerError" => "cannot be started",
        "PostStartHookError" => "fails in its postStart hook",
        _ => "cannot be created",
    }
}

/// The end of a container: "container web crashes with exit code 1", "container web is killed because its liveness probe
/// fails", "container web ends with exit code 0 (Completed) and is started again".
pub(super) fn crashes(crash: &CrashCause) -> String {
    let who = container_name(crash.role, &crash.container);
    let said = match (crash.exit_code, &crash.probe) {
        _ if crash.is_final => format!("{who} {} and is not started again", last_end(crash)),
        _ if crash.needs_restart_of_all => {
            format!("{who} {} and is started again only with all others", last_end(crash))
        }
        _ if crash.is_overdue => format!("{who} {} and has not been started again", last_end(crash)),
        _ if crash.is_out_of_memory => format!("{who} runs out of memory"),
        (_, Some(probe)) if probe.is_resize() => format!("{who} is restarted for a resize of its resources"),
        (_, Some(probe)) if probe.is_sandbox() => format!("{who} is started again in a new sandbox of its pod"),
        (_, Some(probe)) => format!("{who} is killed because its {} fails", probe.probe),
        (Some(_), None) if let Some(message) = &crash.start_error => {
            let because = messages::last_step(message).rsplit(": ").next().filter(|because| !because.is_empty());
            let because = because.map(|because| format!(": {}", safe(because))).unwrap_or_default();
            format!("{who} cannot be started{because}")
        }
        (Some(0), None) => format!("{who} ends with exit code 0 (Completed) and is started again"),
        (Some(code), None) if crash.is_loop => format!("{who} crashes with {}", exit_words(code)),
        (Some(code), None) => format!("{who} ended with {}", exit_words(code)),
        (None, None) if crash.is_loop => format!("{who} crashes"),
        (None, None) => format!("{who} ended"),
    };
    // What ended and runs again is past, unless it ends again and again.
    if crash.runs_millis.is_some() && !crash.is_loop { past(&said) } else { said }
}

/// A container by its part in the pod and its name: "init container migrate".
pub(super) fn container_name(role: Role, name: &str) -> String {
    let what = match role {
        Role::Init => "init container",
        Role::Sidecar => "sidecar",
        Role::App => "container",
    };
    format!("{what} {}", safe(name))
}

/// The end of a container that does not start again: "ended with exit code 1", "ran out of memory".
fn last_end(crash: &CrashCause) -> String {
    match (crash.exit_code, &crash.probe) {
        _ if crash.is_out_of_memory => "ran out of memory".to_owned(),
        (_, Some(probe)) if probe.is_sandbox() => "was stopped with the sandbox of its pod".to_owned(),
        (_, Some(probe)) if !probe.is_resize() => format!("was killed because its {} failed", probe.probe),
        (Some(0), _) => "ended with exit code 0 (Completed)".to_owned(),
        (Some(code), _) => format!("ended with {}", exit_words(code)),
        (None, _) => "ended".to_owned(),
    }
}

/// An exit code, with its signal where it is one.
pub(super) fn exit_words(code: i32) -> String {
    let signal = match code {
        134 => " (SIGABRT)",
        137 => " (SIGKILL)",
        139 => " (SIGSEGV)",
        143 => " (SIGTERM)",
        _ => "",
    };
    format!("exit code {code}{signal}")
}

/// Finds the message of the kubelet about a pull that failed for an unknown reason.
pub(super) fn pull_detail(cause: &Cause, assessment: &Assessment<'_>) -> Option<String> {
    let CauseKind::Image { image, .. } = &cause.kind else { return None };
    let events = pulls::failures(assessment.deployment, cause.evidence.object_name(), image.as_deref());
    pulls::pull_detail(&cause.evidence.message, events).map(safe)
}

/// The limit that a start exceeds, or the time that earlier pods took.
fn over(time: &StartTime) -> String {
    match time.earlier {
        Some((least, most)) if duration(least) == duration(most) => format!(" Earlier pods took {}.", duration(most)),
        Some((least, most)) => format!(" Earlier pods took {} to {}.", duration(least), duration(most)),
        None if time.is_over() && time.probe_millis > 0 => {
            format!(" That is longer than the {} that its probes allow.", duration(time.probe_millis))
        }
        None if time.is_over() => {
            format!(" That is longer than the {} that Rollcast allows.", duration(time.allowed_millis))
        }
        None => String::new(),
    }
}

/// The end of a sentence: its message, or nothing.
fn tail(message: &str) -> String {
    if message.is_empty() { ".".to_owned() } else { format!(": {}", sentence_end(message)) }
}

/// A refusal that was a while ago, and may be over.
fn was_refused(what: Refused, ago_millis: crate::Millis, message: &str) -> String {
    let what = if what == Refused::ReplicaSet { "the new ReplicaSet" } else { "a pod" };
    let refused = format!("The API server last refused {what} {} ago", duration(ago_millis));
    refused_for(&refused, message, ["was used up", "had no room"])
}

fn refused(what: Refused, message: &str) -> String {
    let refused = match what {
        Refused::ReplicaSet => "the new ReplicaSet",
        Refused::Pods => "new pods",
        Refused::Deletion => "to delete pods",
    };
    refused_for(&format!("The API server refuses {refused}"), message, ["is used up", "has no room"])
}

/// A refusal and why; the last words say of a quota that nothing is left of it, and that too little is left.
fn refused_for(refused: &str, message: &str, [used_up, no_room]: [&str; 2]) -> String {
    match quota(message) {
        None => format!("{refused}{}", tail(&refusal(message))),
        Some(Quota { name, is_used_up, parts }) => {
            let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) };
            let state = if is_used_up { used_up } else { no_room };
            format!("{refused}: quota {name} {state}{parts}.")
        }
    }
}
