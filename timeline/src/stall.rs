//! Why a rollout does not move: causes from the objects, most decisive first, a sentence each.

use crate::fact::Truth;
use crate::model::{Deployment, Pod};
use crate::phase::PodState;
use crate::words::{self, count, duration, is_are, safe, short};
use crate::{Millis, Model, rollout};

/// A pod that runs this long without being ready is worth a sentence of its own.
const SLOW_READINESS_MILLIS: Millis = 10_000;

/// One reason why the new revision does not get on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The reason in one sentence.
    pub sentence: String,
    /// It will not go away by waiting; `false` for what is normal on the way.
    pub is_fault: bool,
}

/// The causes that hold now, most decisive first.
#[must_use]
pub fn causes(model: &Model, deployment: &Deployment, now_millis: Millis) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut fault = |sentence| causes.push(Cause { sentence, is_fault: true });
    if let Some(failure) = deployment.now.status.replica_failure.as_ref().filter(|c| c.status == Truth::True) {
        fault(refused(&failure.message));
    }
    let pods: Vec<&Pod> = rollout::current_set(model, deployment)
        .map(|set| model.pods_of(set.uid).filter(|pod| pod.owner == Some(set.uid)).collect())
        .unwrap_or_default();
    let in_state = |state| pods.iter().copied().filter(move |pod| pod.state() == state);
    let failing: Vec<&Pod> = in_state(PodState::Failing).collect();
    if let Some(pod) = failing.first() {
        fault(failure(deployment, pod, failing.len() as u32));
    }
    let unschedulable: Vec<&Pod> =
        in_state(PodState::Scheduling).filter(|pod| pod.now.reason == "Unschedulable").collect();
    if let Some(pod) = unschedulable.first() {
        let which = if unschedulable.len() == 1 {
            format!("pod {}", short(&pod.name))
        } else {
            count(unschedulable.len() as u32, "pod")
        };
        fault(format!("No node fits {which}: {}", sentence_end(&pod.now.message)));
    }
    let unready: Vec<&Pod> = in_state(PodState::Unready).collect();
    if let Some(since) = unready.iter().map(|pod| pod.since_millis()).min()
        && let Some(pod) = unready.first()
    {
        let number = unready.len() as u32;
        let crashed = pods.iter().map(|pod| pod.now.restarts).max().unwrap_or(0);
        let slow = now_millis - since > SLOW_READINESS_MILLIS;
        if pod.now.reason == "ReadinessGatesNotReady" {
            let sentence = format!(
                "{} {} for a readiness gate: {}",
                count(number, "pod"),
                if number == 1 { "waits" } else { "wait" },
                sentence_end(&pod.now.message)
            );
            causes.push(Cause { sentence, is_fault: slow });
        } else if crashed > 0 && failing.is_empty() {
            let sentence = format!("New pods crash: {} so far (pod {}).", count(crashed, "restart"), short(&pod.name));
            causes.push(Cause { sentence, is_fault: true });
        } else if slow {
            let verb = if number == 1 { "runs but is" } else { "run but are" };
            let sentence =
                format!("{} {verb} not ready since {}.", count(number, "new pod"), duration(now_millis - since));
            causes.push(Cause { sentence, is_fault: true });
        }
    }
    let ready: Vec<&Pod> = in_state(PodState::Ready).collect();
    if let Some(at) = ready.iter().filter_map(|pod| pod.now.available_at_millis).min() {
        let number = ready.len() as u32;
        let verb = if number == 1 { "counts" } else { "count" };
        let sentence = format!(
            "{} {} ready and {verb} in {} s (minReadySeconds {}).",
            count(number, "pod"),
            is_are(number),
            (at - now_millis).max(0).div_euclid(1000) + 1,
            deployment.now.spec.min_ready_seconds
        );
        causes.push(Cause { sentence, is_fault: false });
    }
    causes
}

fn refused(message: &str) -> String {
    if let Some((_, quota)) = message.split_once("exceeded quota: ") {
        return format!("Quota refuses new pods: {}", sentence_end(quota));
    }
    format!("The API server refuses new pods: {}", sentence_end(message))
}

fn failure(deployment: &Deployment, pod: &Pod, pods: u32) -> String {
    let (reason, name) = (safe(&pod.now.reason), short(&pod.name));
    match pod.now.reason.as_str() {
        "ErrImagePull" | "ImagePullBackOff" | "InvalidImageName" | "ErrImageNeverPull" => {
            let image = words::images(&deployment.now.spec.images);
            format!("Image {image} cannot be pulled: {reason} ({}, one is {name}).", count(pods, "pod"))
        }
        "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" => {
            format!("A container cannot be made ({reason}, pod {name}): {}", sentence_end(&pod.now.message))
        }
        "OOMKilled" => {
            format!("New pods are killed, out of memory: {} (pod {name}).", count(pod.now.restarts, "restart"))
        }
        "Evicted" => format!("{} evicted (pod {name}): {}", count(pods, "new pod"), sentence_end(&pod.now.message)),
        _ => format!("New pods crash: {} ({reason}, pod {name}).", count(pod.now.restarts, "restart")),
    }
}

fn sentence_end(text: &str) -> String {
    let text = safe(text.trim());
    if text.ends_with(['.', '…']) { text } else { format!("{text}.") }
}
