//! Nodes that are not ready, and the pods of older revisions that do not count because of a node.

use std::collections::BTreeMap;

use super::assessment::{Assessment, Now, SilentNodes};
use super::cause::CauseKind;
use super::pod_causes::{is_unready, unready_condition};
use crate::Millis;
use crate::model::{Pod, PodState, order};
use crate::rules::messages;

impl<'m> Assessment<'m> {
    /// Finds the nodes of pods of any revision that are reported not to be ready, and when. Kubernetes says so only of pods that were ready then,
    /// of one after the other (`MarkPodsNotReady` in `controller_utils.go`); the others on the node are as silent, unless its kubelet has
    /// said something since, or found a pod ready. The kubelet alone sets `ContainersReady`: if that is false now of a pod that was ready
    /// then, it has.
    pub(super) fn find_silent_nodes(&self) -> SilentNodes<'m> {
        if self.deployment.events.iter().all(|event| event.reason != "NodeNotReady") {
            return SilentNodes::new(); // Events are read for each pod
        }
        let mut reports: BTreeMap<&'m str, Vec<Millis>> = BTreeMap::new();
        let pods = self.model.owned_sets(self.deployment.uid).flat_map(|set| self.noteworthy_pods(set));
        for pod in pods.filter(|pod| may_be_reported(pod)) {
            let since = messages::node_silent_since(self.deployment, pod);
            if let Some((node, since)) = pod.now.node.as_deref().zip(since) {
                reports.entry(node).or_default().push(since);
            }
        }
        let all = if reports.is_empty() { Vec::new() } else { self.model.counted_pods(self.deployment.uid) };
        // Reports before this time say nothing of now.
        let back_millis = |pod: &Pod| {
            let told = || messages::node_silent_since(self.deployment, pod);
            let is_kubelets = may_be_reported(pod) && unready_condition(pod).is_some();
            let after = is_kubelets.then(told).flatten().map(|told| told + 1);
            after.max(became_ready_millis(pod)).max(messages::kubelet_spoke_millis(self.deployment, pod))
        };
        let silence = |(node, reports): (&'m str, Vec<Millis>)| {
            let on_node = all.iter().filter(|pod| pod.now.node.as_deref() == Some(node));
            let back = on_node.filter_map(|pod| back_millis(pod)).max();
            let late = || reports.iter().copied().filter(|at| back.is_none_or(|back| *at >= back));
            Some((node, (late().min()?, late().max()?)))
        };
        reports.into_iter().filter_map(silence).collect()
    }

    /// Returns whether a pod of the current revision was in a crash loop on a node when that was reported not to be ready: the loop does not
    /// end because of that, nor because a container that ran then may have run on.
    pub(super) fn has_crash_loop_on(&self, node: &str) -> bool {
        let Some((since, _)) = self.silent_nodes.get(node) else { return false };
        let then = Now { millis: self.now.millis.min(*since), ..self.now };
        let is_there = |pod: &&Pod| pod.now.node.as_deref() == Some(node) && is_unready(pod);
        let is_looping = |set| self.noteworthy_pods(set).filter(is_there).any(|pod| self.was_in_crash_loop(pod, then));
        self.current.is_some_and(is_looping)
    }

    /// Pods of older revisions that do not count because of a node: theirs is silent, or none fits them.
    pub(super) fn stranded_pods(&self) -> Vec<&'m Pod> {
        let current = self.current.map(|set| set.uid);
        let old = self.model.owned_sets(self.deployment.uid).filter(|set| Some(set.uid) != current);
        let is_silent = |node: &str| self.silent_nodes.contains_key(node);
        let is_on_silent_node = |pod: &Pod| pod.now.node.as_deref().is_some_and(is_silent);
        let may_be_stranded = |pod: &&Pod| pod.state() == PodState::Scheduling || is_on_silent_node(pod);
        let is_stranded = |pod: &&Pod| {
            let cause = self.of_one_pod(pod, None);
            matches!(cause, Some((CauseKind::NodeSilent { .. } | CauseKind::Unschedulable { .. }, _)))
        };
        let stranded = old.flat_map(|set| self.noteworthy_pods(set)).filter(may_be_stranded).filter(is_stranded);
        order::sort_by(stranded.collect(), |pod: &&Pod| (pod.first_seen_millis(), pod.uid.bits()))
    }
}

/// Returns whether a report about the pod may tell that its node is not ready now. A pod that terminates is reported too: it stays ready
/// until its kubelet stops it.
fn may_be_reported(pod: &Pod) -> bool {
    is_unready(pod) || (pod.state() == PodState::Terminating && pod.now.terminal_millis.is_none())
}

/// Returns when the pod became ready last.
fn became_ready_millis(pod: &Pod) -> Option<Millis> {
    let became_ready = |pair: &[(PodState, Millis)]| match pair {
        [(before, _), (after, at)] if !before.is_ready() && after.is_ready() => Some(*at),
        _ => None,
    };
    pod.states.windows(2).rev().find_map(became_ready)
}
