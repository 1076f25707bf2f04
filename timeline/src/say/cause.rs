//! A cause in words. [`super::excerpt`] takes what decides out of messages that say it at length.

use super::excerpt::{Quota, named_containers, quota, refusal, start_words};
use super::pod_causes::{
    NamedPods, crash_cause, failed_pods_cause, image_cause, lost_pods_cause, old_and_new, quote, tail,
    unschedulable_cause,
};
use crate::assess::{Assessment, Cause, CauseKind, Obstacle, Refused, StartTime};
use crate::model::pod::FLAP_MILLIS;
use crate::rules::messages::{self, StartHold};
use crate::words::{count, duration, images, is_are, moment, safe, sentence_end};

/// Why no pod is created and no refusal is known: in a namespace that is being deleted the API server refuses pods, and
/// Events too.
const NONE_CREATED: &str = "the namespace is being deleted, or the ReplicaSet controller cannot create pods.";

/// A cause in one sentence.
pub fn cause(cause: &Cause, assessment: &Assessment<'_>) -> String {
    let (pods, evidence, spec) = (cause.pods, &cause.evidence, &assessment.deployment.now.spec);
    let named = NamedPods::new(cause, assessment);
    let NamedPods { name, example, one_is, since, .. } = &named;
    let pod_of = |pods: u32| named.count(pods);
    match &cause.kind {
        CauseKind::ControllerSilent => {
            // Whole seconds: a sentence that changes more often cannot be read.
            let since = evidence.since_millis.map(|since| (assessment.now.millis - since).div_euclid(1_000) * 1_000);
            let least = if evidence.is_least { "at least " } else { "" };
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
        CauseKind::Image { image, container } => image_cause(cause, assessment, (image, container), &named),
        CauseKind::BadContainer { container } => format!(
            "Container {} {} ({}, {one_is}){}",
            safe(container),
            failed_step(&evidence.reason),
            safe(&evidence.reason),
            tail(messages::without_pod(&evidence.message))
        ),
        CauseKind::NotStarted { container } => {
            let container =
                if container.is_empty() { "A container".to_owned() } else { format!("Container {}", safe(container)) };
            format!("{container} does not start ({}, {one_is}){}", safe(&evidence.reason), tail(&evidence.message))
        }
        CauseKind::Crash(crash) => crash_cause(cause, assessment, crash, &named),
        CauseKind::PodsFailed { node: Some(node), .. } => lost_pods_cause(cause, node, &named),
        CauseKind::PodsFailed { exit, .. } => failed_pods_cause(cause, exit.as_ref(), &named),
        CauseKind::Unschedulable { node } => unschedulable_cause(cause, assessment, node.as_ref(), &named),
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
            let (verb, them, their) = if pods == 1 { ("does", "it", "its") } else { ("do", "them", "their") };
            format!(
                "Node {} has not been ready for {since}: {} on it {verb} not count. Kubernetes replaces {them} after \
                 {their} tolerationSeconds, by default 300 s.",
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

/// The step in which the start of a container fails (`startContainer` in `kuberuntime_container.go`).
pub(super) fn failed_step(reason: &str) -> &'static str {
    match reason {
        "PreStartHookError" | "RunContainerError" => "cannot be started",
        "PostStartHookError" => "fails in its postStart hook",
        _ => "cannot be created",
    }
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
