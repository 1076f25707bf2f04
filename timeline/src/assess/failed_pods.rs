//! Pods that ended as a whole: why, and whether that keeps a rollout from its pods.

use super::assessment::Assessment;
use super::cause::{Cause, CauseKind, Evidence};
use super::rollout_causes::of_pod;
use crate::Millis;
use crate::model::fact::{Container, ContainerState, Role};
use crate::model::story::{Entry, Happening, NodeDeparture};
use crate::model::{Deployment, EndReason, Pod, PodState, ReplicaSet, order};
use crate::rules::messages;

/// The reason of a pod that ended well, as its containers have it.
pub const COMPLETED: &str = "Completed";
/// Pods that failed as a whole are a cause for this long: a node that refuses one refuses the next at once, and a kubelet measures the
/// volumes of its pods once a minute before it evicts.
pub const FAILED_MILLIS: Millis = 90_000;
/// Pods that were lost with a missing node are counted for this long: their garbage collector may take a minute for each.
const LOST_MILLIS: Millis = 180_000;
/// The reason for which the garbage collector of pods deletes a pod whose node does not exist.
const NODE_MISSING: &str = "DeletionByPodGC";

impl Assessment<'_> {
    /// Finds pods that failed as a whole lately, or ended well, while others are missing. If a replacement that had been ready failed
    /// too, the next one may, whether any is missing or not.
    pub(super) fn failed_pods(&self, pods: &[&Pod]) -> Option<Cause> {
        let set = self.current?;
        let available = self.model.pod_counts(set.uid).available;
        let ended = pods.iter().copied().filter(|pod| !pod.state().is_ending());
        let failures: Vec<(&Pod, Millis)> = ended.filter_map(|pod| Some((pod, self.failed_millis(pod)?))).collect();
        let late: Vec<_> = failures.iter().filter(|(_, at)| self.now.millis - at <= FAILED_MILLIS).collect();
        let (pod, since) = **late.first()?;
        // Each when it failed, and when it was created.
        let skew_millis = self.now.skew_millis;
        let mut times: Vec<_> = failures.iter().map(|(pod, at)| (*at, pod.created_millis(skew_millis))).collect();
        times.sort_unstable();
        // An older one had failed when it was created, at the same moment at the latest, and not long before it failed itself.
        let is_replacement = |pod: &Pod, at: Millis| {
            let created = pod.created_millis(skew_millis);
            let before = times.partition_point(|known| *known < (created, created));
            times.get(..before).and_then(<[_]>::last).is_some_and(|(time, _)| at - time <= FAILED_MILLIS)
        };
        let mut replacements =
            late.iter().map(|(pod, at)| (pod, *at)).filter(|(pod, at)| is_replacement(pod, *at)).peekable();
        let is_overcome = || times.last().is_some_and(|(last, _)| self.has_overcome_failures(set, *last));
        let is_repeated = replacements.peek().is_some() && !is_overcome();
        let is_failing_again = is_repeated && replacements.any(|(pod, _)| pod.was_ready());
        if available >= set.now.counts.desired && !is_failing_again {
            return None;
        }
        let ((reason, message), exit) = (why_ended(self.deployment, pod), failed_exit(pod));
        let evidence = Evidence { reason: reason.to_owned(), message: message.to_owned(), ..of_pod(pod, since) };
        // The sentence has one reason: others are not counted with it.
        let is_alike = |other: &Pod| why_ended(self.deployment, other).0 == reason && failed_exit(other) == exit;
        let alike: Vec<&Pod> = late.iter().map(|(other, _)| *other).filter(|other| is_alike(other)).collect();
        let is_mixed = alike.iter().any(|other| why_ended(self.deployment, other).1 != message);
        let exit = exit.map(|(container, code)| (container.to_owned(), code));
        let kind = CauseKind::PodsFailed { is_repeated, exit, node: None };
        Some(Cause { is_mixed, ..self.rate_cause(kind, alike.len() as u32, evidence) })
    }

    /// Finds pods that were lost one after the other before they were ever ready, with one node: as long as that does not exist, the next
    /// one is lost, too. The garbage collector deletes them at once, and their replacements renew the progress deadline.
    pub(super) fn lost_pods(&self) -> Option<Cause> {
        let set = self.current?;
        let is_late = |at: Millis, most: Millis| self.now.millis - at <= most;
        let is_loss = |entry: &Entry| match &entry.what {
            Happening::LeftNode { why: NodeDeparture::Lost, last_millis, .. } => is_late(*last_millis, FAILED_MILLIS),
            _ => false,
        };
        // Pods that are gone are searched only where the story tells of such a loss.
        let is_missing = self.model.pod_counts(set.uid).available < set.now.counts.desired;
        if !is_missing || !self.deployment.story.iter().any(is_loss) {
            return None;
        }
        let lost = self.model.controlled_pods(set.uid).filter_map(lost_with_node);
        let lost: Vec<(Millis, &Pod, &str)> = lost.filter(|(at, ..)| is_late(*at, LOST_MILLIS)).collect();
        let mut lost = order::sort_by(lost, |(at, pod, _)| (*at, pod.uid.bits()));
        let (.., node) = *lost.last().filter(|(at, ..)| is_late(*at, FAILED_MILLIS))?;
        lost.retain(|(.., other)| *other == node);
        // A kubelet that runs a container is on a node that exists by now.
        let is_run = |container: &Container| {
            matches!(container.state, Some(ContainerState::Running | ContainerState::Terminated { .. }))
        };
        let runs_there = |pod: &Pod| {
            let is_there = pod.now.node.as_deref() == Some(node) && !pod.state().is_ending();
            is_there && pod.now.containers.iter().any(is_run)
        };
        if self.model.controlled_pods(set.uid).filter(|pod| lost_with_node(pod).is_none()).any(runs_there) {
            return None;
        }
        let (first, pod, _) = *lost.first()?;
        // One that is first seen while it is being lost counts as created then: it says nothing alone.
        if !lost.iter().skip(1).any(|(_, other, _)| other.created_millis(self.now.skew_millis) >= first) {
            return None;
        }
        let told = pod.now.conditions.iter().find(|condition| condition.reason == NODE_MISSING);
        let message = told.map(|condition| condition.message.clone()).unwrap_or_default();
        let evidence = Evidence { reason: NODE_MISSING.to_owned(), message, ..of_pod(pod, first) };
        let kind = CauseKind::PodsFailed { is_repeated: true, exit: None, node: Some(node.to_owned()) };
        Some(self.rate_cause(kind, lost.len() as u32, evidence))
    }

    /// Returns whether the last pod failed in a rollout, and one that was created since is available: the rollout goes on. Once a rollout
    /// had all its pods, the next one may fail as those did.
    fn has_overcome_failures(&self, set: &ReplicaSet, last_failed: Millis) -> bool {
        let last = self.deployment.rollouts.last();
        let had_all = last.and_then(|rollout| rollout.completed_millis.or(rollout.available_millis));
        let is_of_rollout = self.is_rolling_out() || had_all.is_some_and(|at| at >= last_failed);
        let is_later = |pod: &Pod| pod.created_millis(self.now.skew_millis) >= last_failed;
        let mut pods = self.model.controlled_pods(set.uid);
        is_of_rollout && pods.any(|pod| pod.state() == PodState::Available && is_later(pod))
    }

    /// Returns when a pod ended as a whole. A list after a gap does not tell: then it is when its last container ended.
    fn failed_millis(&self, pod: &Pod) -> Option<Millis> {
        let told = pod.now.terminal_millis?;
        let ended = self.last_exit_millis(pod).filter(|_| pod.now.listed_millis == Some(told));
        Some(ended.map_or(told, |ended| ended.min(told)))
    }
}

/// Returns when a pod was lost before it was ever ready, and the node with which it was.
fn lost_with_node(pod: &Pod) -> Option<(Millis, &Pod, &str)> {
    let (reason, _) = pod.now.disruption.as_deref()?;
    let at = pod.now.terminal_millis.or_else(|| pod.ended_millis())?;
    let node = pod.now.node.as_deref()?;
    let is_lost = reason == NODE_MISSING && pod.end_reason.is_none_or(|end| end == EndReason::NodeLost);
    (is_lost && !pod.was_ready()).then_some((at, pod, node))
}

/// Returns reason and message of a pod that ended as a whole. Where it ended well its own status says nothing of an eviction: then they are
/// those of the Event about that, or the reason is [`COMPLETED`].
fn why_ended<'p>(deployment: &'p Deployment, pod: &'p Pod) -> (&'p str, &'p str) {
    let is_done = pod.state() == PodState::Finished;
    let eviction = || messages::last_event(deployment, &pod.name, "Evicted");
    match is_done.then(eviction).flatten() {
        Some(event) => (&event.reason, &event.message),
        None if is_done && pod.now.reason.is_empty() => (COMPLETED, &pod.now.message),
        None => (&pod.now.reason, &pod.now.message),
    }
}

/// Returns the container that made a pod without a message fail, and its exit code. Sidecars are stopped when the others have ended.
fn failed_exit(pod: &Pod) -> Option<(&str, i32)> {
    let mut containers = pod.now.containers.iter().filter(|container| container.role != Role::Sidecar);
    containers.find_map(|container| match container.state {
        Some(ContainerState::Terminated { exit_code, .. }) if exit_code != 0 && pod.now.message.is_empty() => {
            Some((container.name.as_str(), exit_code))
        }
        _ => None,
    })
}
