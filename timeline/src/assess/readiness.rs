//! Causes of pods that run and are not ready, or are ready and not ready in turn.

use super::assessment::Assessment;
use super::cause::{CauseKind, Evidence, StartTime};
use super::failed_pods::FAILED_MILLIS;
use super::pod_causes::WORTH_MILLIS;
use super::rollout_causes::of_pod;
use super::severity::LOST_MILLIS;
use crate::Millis;
use crate::model::fact::{Container, Role};
use crate::model::pod::{FLAP_MILLIS, FLAPS};
use crate::model::{Pod, PodState};
use crate::rules::messages::probe_saw;
use crate::rules::phase::{LONGEST_PROBE_MILLIS, allowed_until_ready_millis};

/// The reason of a pod that waits for a readiness gate, as its condition has it.
const GATES_NOT_READY: &str = "ReadinessGatesNotReady";
/// A readiness gate may be closed this long.
const GATE_MILLIS: Millis = 120_000;

impl Assessment<'_> {
    /// Finds the cause of a pod that runs and is not ready: behind a gate, behind a probe, or not any more.
    pub(super) fn unready(&self, pod: &Pod) -> Option<(CauseKind, Evidence)> {
        let since = pod.since_millis();
        let spent_millis = self.now.millis - since;
        if pod.now.reason == GATES_NOT_READY {
            let gate = gate_of(&pod.now.message);
            let told = pod.now.conditions.iter().find(|condition| gate.as_deref() == Some(condition.kind.as_str()));
            // What its controller says of the gate is more than that it is closed.
            let evidence = match told.filter(|told| !told.message.is_empty() || !told.reason.is_empty()) {
                Some(told) => {
                    Evidence { reason: told.reason.clone(), message: told.message.clone(), ..of_pod(pod, since) }
                }
                None => of_pod(pod, since),
            };
            return Some((CauseKind::Gate { gate, time: self.start_time(spent_millis, GATE_MILLIS, pod) }, evidence));
        }
        let was_ready = pod.was_ready();
        let set = pod.owner.and_then(|set| self.model.replica_sets.get(&set));
        let probe_millis = set.map_or(0, |set| set.now.probe_millis).min(LONGEST_PROBE_MILLIS);
        let allowed_millis = allowed_until_ready_millis(probe_millis);
        let in_startup = || pod.now.containers.iter().filter(|container| container.is_in_startup);
        let is_startup = in_startup().next().is_some();
        let is_of_template = |container: &Container| {
            container.role == Role::Sidecar
                || set.is_some_and(|set| set.images.iter().any(|image| image.container == container.name))
        };
        // A readiness probe may fail for as long as it likes, and that of an injected container is not in the template.
        let limit_millis = if is_startup && in_startup().all(is_of_template) { probe_millis } else { 0 };
        let time = StartTime { probe_millis: limit_millis, ..self.start_time(spent_millis, allowed_millis, pod) };
        let probe = if is_startup { "Startup probe" } else { "Readiness probe" };
        let saw = probe_saw(self.deployment, pod, probe, since).map(str::to_owned);
        // That a probe fails of a pod that was ready is no ordinary step of a start.
        let is_worth = spent_millis > WORTH_MILLIS || (was_ready && saw.is_some());
        let kind = CauseKind::NotReady { is_startup, was_ready, time, saw };
        is_worth.then(|| (kind, of_pod(pod, since)))
    }

    /// Returns whether the startup probe of a container of a pod has not passed.
    pub fn is_in_startup(&self, pod: &str, container: &str) -> bool {
        let sets = self.model.controlled_sets(self.deployment.uid);
        let mut pods = sets.flat_map(|set| self.noteworthy_pods(set)).filter(|known| known.name == pod);
        pods.any(|pod| pod.now.containers.iter().any(|known| known.name == container && known.is_in_startup))
    }

    /// Finds out whether the readiness of a pod flaps. Containers that ended lately take it with them each time. A pod that stays unready,
    /// or waits for a readiness gate, has another cause.
    pub(super) fn flapping(&self, pod: &Pod) -> Option<(CauseKind, Evidence)> {
        let is_lost = || self.now.millis - pod.since_millis() > LOST_MILLIS || pod.now.reason == GATES_NOT_READY;
        let is_unready = pod.state() == PodState::Unready && !is_lost();
        let since = self.now.millis - FLAP_MILLIS;
        let has_ended = self.last_exit_millis(pod).is_some_and(|at| at >= since);
        if !(is_unready || pod.state().is_ready()) || has_ended || pod.now.terminal_millis.is_some() {
            return None;
        }
        let losses: Vec<Millis> = pod.readiness_losses().take_while(|at| *at >= since).collect();
        let first = losses.last().filter(|_| losses.len() >= FLAPS)?;
        if is_unready && self.has_lost_steady_pods(since) {
            return None;
        }
        let message = probe_saw(self.deployment, pod, "Readiness probe", *first).unwrap_or_default().to_owned();
        let evidence = Evidence { reason: String::new(), message, ..of_pod(pod, *first) };
        // The verdict does not follow a pod that is ready for a moment. While other pods are missing, they are what it is about.
        let is_late = losses.first().is_some_and(|last| self.now.millis - last <= FAILED_MILLIS);
        let has_all = (1..=self.counts.available).contains(&self.deployment.now.spec.replicas);
        let is_recent = is_unready || (is_late && (has_all || pod.state() == PodState::Ready));
        let is_over = !is_unready && !is_late;
        Some((CauseKind::Flapping { losses: losses.len(), is_recent, is_over }, evidence))
    }

    /// Returns whether no pod is available, and one that was ready has not flapped since then: it is not those that flap that are missing.
    fn has_lost_steady_pods(&self, since_millis: Millis) -> bool {
        let is_lost = |pod: &Pod| pod.was_ready() && pod.is_active() && !pod.state().is_ready();
        let is_steady = |pod: &Pod| pod.readiness_losses().take_while(|at| *at >= since_millis).count() < FLAPS;
        let mut sets = self.model.controlled_sets(self.deployment.uid);
        let is_one_lost = |set| self.noteworthy_pods(set).any(|pod| is_lost(pod) && is_steady(pod));
        self.counts.available == 0 && sets.any(is_one_lost)
    }
}

/// Returns the gate that a message names: "… readiness gate \"example.com/traffic\" …".
fn gate_of(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("readiness gate ")?;
    let name = rest.split_whitespace().next()?.trim_matches(['"', ',', '.']);
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_named_by_the_message() {
        let told = "corresponding condition of pod readiness gate \"shop/open\" does not exist.";
        assert_eq!(gate_of(told).as_deref(), Some("shop/open"));
        assert_eq!([gate_of("readiness gate \"\""), gate_of("nothing")], [None, None]);
    }
}
