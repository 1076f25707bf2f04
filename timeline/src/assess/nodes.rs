//! Nodes that are not ready, and the pods of older revisions that do not count because of a node.

use std::collections::BTreeMap;

use super::assessment::Assessment;
use super::cause::CauseKind;
use super::pod_causes::{is_unready, unready_condition};
use crate::Millis;
use crate::model::{Pod, PodState, order};
use crate::rules::messages;

impl<'m> Assessment<'m> {
    /// The nodes of pods of any revision that are reported not to be ready, and since when. Kubernetes says so only of pods that were
    /// ready then (`MarkPodsNotReady` in `controller_utils.go`); the others on the node are as silent, unless its kubelet has said
    /// something since, or found a pod ready. The kubelet alone sets `ContainersReady`: if that is false now of a pod that was ready
    /// then, it has.
    pub(super) fn silent_nodes(&self) -> BTreeMap<&'m str, Millis> {
        let mut silent: BTreeMap<&'m str, Millis> = BTreeMap::new();
        if self.deployment.events.iter().all(|event| event.reason != "NodeNotReady") {
            return silent; // Events are read for each pod
        }
        let pods = self.model.owned_sets(self.deployment.uid).flat_map(|set| self.noteworthy_pods(set));
        for pod in pods.filter(|pod| is_unready(pod)) {
            let since = messages::node_silent_since(self.deployment, pod);
            if let Some((node, since)) = pod.now.node.as_deref().zip(since) {
                silent.entry(node).and_modify(|last| *last = since.max(*last)).or_insert(since);
            }
        }
        let all = if silent.is_empty() { Vec::new() } else { self.model.counted_pods(self.deployment.uid) };
        let is_back = |pod: &Pod, since: Millis| {
            let told = || messages::node_silent_since(self.deployment, pod);
            became_ready_after(pod, since)
                || messages::kubelet_spoke_millis(self.deployment, pod) > Some(since)
                || (is_unready(pod) && unready_condition(pod).is_some() && told() >= Some(since))
        };
        let is_on = |pod: &Pod, node: &str| pod.now.node.as_deref() == Some(node);
        silent.retain(|node, since| !all.iter().any(|pod| is_on(pod, node) && is_back(pod, *since)));
        silent
    }

    /// Pods of older revisions that do not count because of a node: theirs is silent, or none fits them.
    pub(super) fn stranded_pods(&self, silent: &BTreeMap<&str, Millis>) -> Vec<&'m Pod> {
        let current = self.current.map(|set| set.uid);
        let old = self.model.owned_sets(self.deployment.uid).filter(|set| Some(set.uid) != current);
        let is_on_silent_node = |pod: &Pod| pod.now.node.as_deref().is_some_and(|node| silent.contains_key(node));
        let may_be_stranded = |pod: &&Pod| pod.state() == PodState::Scheduling || is_on_silent_node(pod);
        let is_stranded = |pod: &&Pod| {
            let cause = self.of_one_pod(pod, None, silent);
            matches!(cause, Some((CauseKind::NodeSilent { .. } | CauseKind::Unschedulable { .. }, _)))
        };
        let stranded = old.flat_map(|set| self.noteworthy_pods(set)).filter(may_be_stranded).filter(is_stranded);
        order::sort_by(stranded.collect(), |pod: &&Pod| (pod.first_seen_millis(), pod.uid.bits()))
    }
}

/// Returns whether the pod became ready after that time.
fn became_ready_after(pod: &Pod, millis: Millis) -> bool {
    let mut late = pod.states.windows(2).filter(|pair| pair.last().is_some_and(|(_, at)| *at > millis));
    late.any(|pair| matches!(pair, [(before, _), (after, _)] if !before.is_ready() && after.is_ready()))
}
