//! Causes of pods on their way to availability, in words: the wait for a node, starts, probes, gates; and of pods that were ready.

use super::excerpt::{named_containers, start_words};
use super::pod_causes::{NamedPods, old_and_new, quote, tail};
use crate::Millis;
use crate::assess::{Assessment, Cause, StartStep, StartTime};
use crate::model::pod::FLAP_MILLIS;
use crate::rules::messages::{self, StartHold};
use crate::words::{count, duration, is_are, safe, sentence_end};

pub(super) fn gated(cause: &Cause, named: &NamedPods) -> String {
    let verb = if cause.pods == 1 { "waits" } else { "wait" };
    // Kubernetes says that there are gates, and not which.
    let gates = cause.evidence.message.rsplit_once("gates: ").map_or_else(
        || "scheduling gates".to_owned(),
        |(_, gates)| {
            let noun = if gates.contains(", ") { "gates" } else { "gate" };
            format!("scheduling {noun} {}", safe(gates))
        },
    );
    format!("{} {verb} for {gates} ({}).", named.count(cause.pods), named.example)
}

/// Pods without a node, of which no scheduler says anything; `nominated` is the node that they may get.
pub(super) fn unplaced(cause: &Cause, nominated: Option<&str>, named: &NamedPods) -> String {
    let NamedPods { name, example, since, .. } = named;
    let verb = if cause.pods == 1 { "has" } else { "have" };
    let unplaced = format!("{} {verb} had no node for {since}", named.count(cause.pods));
    match nominated {
        Some(node) => format!(
            "{unplaced}. Pod {name} is nominated for node {}; it may wait for a volume, a device or other pods \
             before it is bound.",
            safe(node)
        ),
        None if cause.evidence.reason == messages::CLAIM => {
            format!("{unplaced} ({example}): {}", sentence_end(&cause.evidence.message))
        }
        None => format!(
            "{unplaced}, and no scheduler has said why ({example}). Either no scheduler takes them, or it waits \
             for a volume or a device."
        ),
    }
}

/// Pods whose containers do not run yet, and nothing says what they wait for.
pub(super) fn starting(
    cause: &Cause,
    assessment: &Assessment<'_>,
    after: Option<StartStep>,
    time: &StartTime,
    named: &NamedPods,
) -> String {
    let NamedPods { example, since, .. } = named;
    let pods = cause.pods;
    let verb = if pods == 1 { "has been starting" } else { "have been starting" };
    let (who, over) = (named.count(pods), over(time));
    let one = (pods == 1).then(|| cause.evidence.object_name());
    let missing = match (assessment.starts_in_part(one), pods) {
        (false, _) => "no container is",
        (true, 1) => "not all of its containers are",
        (true, _) => "not all of their containers are",
    };
    let after = match (after, pods) {
        (None, _) => "",
        (Some(StartStep::Init), 1) => " since its init containers completed",
        (Some(StartStep::Init), _) => " since their init containers completed",
        (Some(StartStep::Pull), 1) => " since the kubelet had its image",
        (Some(StartStep::Pull), _) => " since the kubelet had their images",
    };
    let created = created(time, assessment.now.millis);
    format!("{who} {verb} for {since}{after}; {missing} reported running yet ({example}{created}).{over}")
}

pub(super) fn pulling(cause: &Cause, named: &NamedPods) -> String {
    let NamedPods { example, since, .. } = named;
    let verb = if cause.pods == 1 { "is waiting for its image" } else { "are waiting for their images" };
    let what = sentence_end(&cause.evidence.message);
    format!("{} {verb} for {since} ({example}): {what}", named.count(cause.pods))
}

/// Pods that wait for what their containers need on the node.
pub(super) fn held_at_start(cause: &Cause, hold: StartHold, NamedPods { name, .. }: &NamedPods) -> String {
    let (pods, evidence) = (cause.pods, &cause.evidence);
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

pub(super) fn bad_container(cause: &Cause, container: &str, NamedPods { one_is, .. }: &NamedPods) -> String {
    let evidence = &cause.evidence;
    format!(
        "Container {} {} ({}, {one_is}){}",
        safe(container),
        failed_step(&evidence.reason),
        safe(&evidence.reason),
        tail(messages::without_pod(&evidence.message))
    )
}

/// The step in which the start of a container fails (`startContainer` in `kuberuntime_container.go`).
pub(super) fn failed_step(reason: &str) -> &'static str {
    match reason {
        "PreStartHookError" | "RunContainerError" => "cannot be started",
        "PostStartHookError" => "fails in its postStart hook",
        _ => "cannot be created",
    }
}

pub(super) fn not_started(cause: &Cause, container: &str, NamedPods { one_is, .. }: &NamedPods) -> String {
    let evidence = &cause.evidence;
    let container =
        if container.is_empty() { "A container".to_owned() } else { format!("Container {}", safe(container)) };
    format!("{container} does not start ({}, {one_is}){}", safe(&evidence.reason), tail(&evidence.message))
}

pub(super) fn init(
    cause: &Cause,
    assessment: &Assessment<'_>,
    (is_running, is_sidecar): (bool, bool),
    time: &StartTime,
    NamedPods { one_is, since, .. }: &NamedPods,
) -> String {
    // "Init 1 of 3": how many are done, of how many.
    let done = safe(&cause.evidence.reason).replacen("Init ", "", 1);
    let at_work = safe(&cause.evidence.message);
    let who = if is_sidecar { "Sidecar" } else { "Init container" };
    let verb = match (is_running, is_sidecar) {
        (true, true) => "is running, but its startup probe has not passed",
        (true, false) => "is running",
        (false, _) => "has not started",
    };
    let created = created(time, assessment.now.millis);
    format!("{who} {at_work} {verb} ({done} done, {one_is}{created}); the pod has been starting for {since}.")
}

/// The age of a pod that was created well before somebody looked.
fn created(time: &StartTime, now_millis: Millis) -> String {
    let age_millis = time.created_millis.map(|created| now_millis - created);
    let age_millis = age_millis.filter(|age| *age >= time.spent_millis + 1_000);
    age_millis.map(|age| format!(", created {} ago", duration(age))).unwrap_or_default()
}

/// Pods that run and are not ready; `saw` is the last result of their probe.
pub(super) fn not_ready(
    cause: &Cause,
    assessment: &Assessment<'_>,
    (is_startup, was_ready): (bool, bool),
    time: &StartTime,
    saw: Option<&str>,
    named: &NamedPods,
) -> String {
    let (pods, evidence, since) = (cause.pods, &cause.evidence, &named.since);
    let verb = if pods == 1 { "is running but" } else { "are running but" };
    let what = match (is_startup, was_ready) {
        (true, _) => "the startup probe has not passed",
        (false, true) => "not ready any more",
        (false, false) => "not ready",
    };
    let is_meant = |name: &str| !is_startup || assessment.is_in_startup(evidence.object_name(), name);
    let container = named_containers(&evidence.message, is_meant);
    let saw = quote("A probe saw", saw);
    let over = if was_ready { String::new() } else { over(time) };
    let of_one = if cause.is_mixed { ", one of them" } else { "" };
    format!("{} {verb} {what}{container}{of_one} for {since}.{saw}{over}", named.count(pods))
}

pub(super) fn flapping(cause: &Cause, losses: usize, is_over: bool, NamedPods { one_is, .. }: &NamedPods) -> String {
    let saw = quote("A probe saw", Some(cause.evidence.message.as_str()));
    let minutes = FLAP_MILLIS / 60_000;
    let verb = if is_over { "lost" } else { "lose" };
    format!("Pods {verb} readiness repeatedly ({one_is}: {losses} times in the last {minutes} min).{saw}")
}

pub(super) fn node_silent(cause: &Cause, node: &str, NamedPods { since, .. }: &NamedPods) -> String {
    let (verb, them, their) = if cause.pods == 1 { ("does", "it", "its") } else { ("do", "them", "their") };
    format!(
        "Node {} has not been ready for {since}: {} on it {verb} not count. Kubernetes replaces {them} after \
         {their} tolerationSeconds, by default 300 s.",
        safe(node),
        old_and_new(cause)
    )
}

/// Pods that wait for a readiness gate, whose `name` may not be known.
pub(super) fn gate(
    cause: &Cause,
    name: Option<&str>,
    time: &StartTime,
    NamedPods { one_is, since, .. }: &NamedPods,
) -> String {
    let gate = name.map_or_else(|| "that is not named".to_owned(), safe);
    let told = [safe(&cause.evidence.reason), safe(&cause.evidence.message)];
    let told = told
        .iter()
        .filter(|part| !part.is_empty() && *part != "ReadinessGatesNotReady" && !part.contains("readiness gate"));
    let told = tail(&told.cloned().collect::<Vec<_>>().join(": "));
    let who = if cause.is_mixed { format!("{one_is},") } else { count(cause.pods, "pod") };
    format!("Waiting for readiness gate {gate} on {who} for {since}{told}{}", over(time))
}

/// Ready pods whose `minReadySeconds` run.
pub(super) fn min_ready(cause: &Cause, left_millis: Millis, seconds: u32, is_first: bool) -> String {
    let pods = cause.pods;
    let verb = match pods {
        1 => "becomes available",
        _ if is_first => "the first one becomes available",
        _ => "become available",
    };
    format!(
        "{} {} ready and {verb} in {} s (minReadySeconds {seconds}).",
        count(pods, "pod"),
        is_are(pods),
        // Kubernetes tells whole seconds only: it may be up to one more.
        (left_millis.div_euclid(1000) + 1).min(i64::from(seconds)),
    )
}

/// The limit that a start exceeds, or the time that earlier pods took.
fn over(time: &StartTime) -> String {
    match time.earlier {
        Some((least, most)) if duration(least) == duration(most) => format!(" Earlier pods took {}.", duration(most)),
        Some((least, most)) => {
            let said = format!(" Earlier pods took {} to {}.", duration(least), duration(most));
            let is_limit = time.is_over() && most > time.allowed_millis;
            if is_limit { format!("{said} Rollcast allows {}.", duration(time.allowed_millis)) } else { said }
        }
        None if time.is_over() && time.probe_millis > 0 => {
            format!(" That is longer than the {} that its probes allow.", duration(time.probe_millis))
        }
        None if time.is_over() => {
            format!(" That is longer than the {} that Rollcast allows.", duration(time.allowed_millis))
        }
        None => String::new(),
    }
}
