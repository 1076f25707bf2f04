//! Why a pod has to leave its node, as it says itself: disrupted, evicted, preempted, or ended because the node shuts down.

use super::Timeline;
use crate::model::fact::PodFact;
use crate::model::story::NodeDeparture;
use crate::model::{EndReason, Event, PodState};
use crate::rules::{messages, phase};
use crate::{Millis, Uid};

/// A pod that is deleted this soon after it was disrupted is deleted because of that.
const DISRUPTED_MILLIS: Millis = 10_000;

/// In which way a pod leaves its node, and what the node was low on.
pub(super) type Departure = (NodeDeparture, String);

impl Timeline {
    /// Finds the disruption of a pod: it says so, or did until a moment ago. A scheduler that preempts marks a pod first and
    /// deletes it then, and its kubelet may write its conditions anew in between.
    pub(super) fn disruption(&self, at: Millis, uid: Uid, fact: Option<&PodFact>) -> Option<String> {
        let said = fact.and_then(|fact| fact.disruption.clone());
        said.or_else(|| {
            let (reason, since) = self.model.pods.get(&uid)?.now.disruption.as_deref()?;
            (at - since <= DISRUPTED_MILLIS).then(|| reason.clone())
        })
    }

    /// Why a pod that ended as a whole had to leave its node, as it says itself. Where it says nothing, as one does that is evicted for what
    /// it wrote and whose containers end with exit code 0, the Event of its kubelet does.
    pub(super) fn left_because(&self, uid: Uid, fact: &PodFact) -> Option<Departure> {
        let by_event = || {
            if !fact.reason.is_empty() || !fact.phase.is_terminal() {
                return None;
            }
            let pod = self.model.pods.get(&uid)?;
            let deployment = self.model.deployments.get(&self.teller(pod)?)?;
            let message = messages::last_event(deployment, &pod.name, "Evicted")?.message.clone();
            left_because(&PodFact { reason: "Evicted".to_owned(), message, ..fact.clone() })
        };
        left_because(fact).or_else(by_event)
    }

    /// Tells an eviction whose Event arrives after its pod has ended with exit code 0, which says nothing of it.
    pub(super) fn tell_late_eviction(&mut self, uid: Uid, event: &Event) {
        let Some(pod) = self.model.pods.get(&uid).filter(|pod| pod.state() == PodState::Finished) else { return };
        // What a pod was before it was seen is not known.
        let was_seen = pod.states.first().is_some_and(|(state, _)| *state != PodState::Finished);
        let disruption = pod.now.disruption.as_deref().map(|(reason, _)| reason.as_str());
        let Some(ended) = pod.now.terminal_millis else { return };
        if was_seen && disrupted(disruption).is_none() {
            let (reason, message) = (event.reason.clone(), event.message.clone());
            let fact = PodFact { reason, message, ..PodFact::default() };
            self.tell_failure(ended, uid, left_because(&fact), &fact);
        }
    }
}

/// Reads the end reason from the condition of the pod itself.
pub(super) fn disrupted(disruption: Option<&str>) -> Option<EndReason> {
    match disruption? {
        "DeletionByPodGC" | "DeletionByTaintManager" => Some(EndReason::NodeLost),
        "EvictionByEvictionAPI" | "PreemptionByScheduler" | "TerminationByKubelet" | "DeletionByDeviceTaintManager" => {
            Some(EndReason::Evicted)
        }
        _ => None,
    }
}

/// Why a pod that failed as a whole had to leave its node; `None` when it failed in another way. Kubelets of old set no condition.
fn left_because(fact: &PodFact) -> Option<Departure> {
    // It never ran there: a kubelet refuses pods with the reasons of those that it ends (`rejectPod` in `kubelet.go`).
    let is_rejected = fact.message.starts_with("Pod was rejected");
    let disruption = fact.disruption.as_deref();
    let has_left = disrupted(disruption).is_some()
        || is_shut_down(fact)
        || matches!(fact.reason.as_str(), "Evicted" | "Preempting");
    (has_left && !is_rejected).then(|| read_departure(disruption, Some(fact)))
}

/// Reads in which way a pod had to leave its node, if it had to.
pub(super) fn read_departure(disruption: Option<&str>, fact: Option<&PodFact>) -> Departure {
    let why = match disruption {
        Some("DeletionByPodGC") => NodeDeparture::Lost,
        Some("DeletionByTaintManager") => NodeDeparture::Tainted,
        Some("PreemptionByScheduler") => NodeDeparture::Preempted,
        _ if fact.is_some_and(is_shut_down) => NodeDeparture::ShutDown,
        _ if fact.is_some_and(is_preempted) => NodeDeparture::Preempted,
        _ if fact.is_some_and(is_over_limit) => NodeDeparture::OverLimit,
        _ => NodeDeparture::Evicted,
    };
    (why, fact.map(resource).unwrap_or_default())
}

/// Its kubelet evicted it for what it wrote itself, and not for what its node is low on (`localStorageEviction` in
/// `eviction_manager.go`).
fn is_over_limit(fact: &PodFact) -> bool {
    let texts = [
        "exceeded its local ephemeral storage limit",
        "ephemeral local storage usage exceeds",
        "Usage of EmptyDir volume",
    ];
    fact.reason == "Evicted" && texts.iter().any(|text| fact.message.contains(text))
}

/// Its kubelet ended it because the node shuts down (`nodeshutdown_manager.go`; the last two were written before 1.22).
fn is_shut_down(fact: &PodFact) -> bool {
    matches!(fact.reason.as_str(), "Terminated" | "Shutdown" | "NodeShutdown")
        || end_message(fact).contains("imminent node shutdown")
}

/// Its kubelet ended it for a critical pod (`preemption.go`).
fn is_preempted(fact: &PodFact) -> bool {
    fact.reason == "Preempting" || end_message(fact).starts_with("Pod was preempted by Kubelet")
}

/// Returns the message of a pod, or that of the condition by which its kubelet ended it.
fn end_message(fact: &PodFact) -> &str {
    if fact.reason.is_empty() { phase::ended_by_kubelet(fact).1 } else { fact.message.as_str() }
}

/// Reads the resource of an eviction: "The node was low on resource: memory. Threshold quantity: …".
fn resource(fact: &PodFact) -> String {
    let message = if matches!(fact.reason.as_str(), "" | "Evicted") { end_message(fact) } else { "" };
    let named = message.split_once("low on resource: ").map_or("", |(_, named)| named);
    named.split(['.', ' ', ',']).next().unwrap_or_default().to_owned()
}
