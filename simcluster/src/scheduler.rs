//! The scheduler: chooses a node for each pod by capacity, taints, node selector and node affinity. It prefers the emptiest node,
//! and spreads the pods of a ReplicaSet. Nodes of the autoscaler come last, so that they become empty and are removed.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, NodeSelectorTerm, Pod, PodSpec, Taint, Toleration};

use crate::agenda::Task;
use crate::events::NewEvent;
use crate::object::Key;
use crate::world::Write;
use crate::{World, meta, node, time};

const COMPONENT: &str = "default-scheduler";
/// Preemption messages for a node that would fit the pod if it were empty, and for one that would not. There are no priorities
/// here, so no pod is preempted.
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";
const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";

/// Binds a pod to a node, or records why no node fits.
pub fn schedule(world: &mut World, key: &Key) {
    let Some(pod) = world.get::<Pod>(key) else { return };
    if meta::node_of(&pod).is_some() || meta::is_deleting(&pod.metadata) || meta::has_gates(&pod) {
        return;
    }
    match choose(world, &pod) {
        Ok(node) => bind(world, key, &pod, &node),
        Err(why) => refuse(world, key, &pod, &why),
    }
}

fn bind(world: &mut World, key: &Key, pod: &Pod, node: &str) {
    let now = time::second(world.now_millis());
    world.unschedulable.remove(key);
    world.modify::<Pod>(key, Write::Status, |pod| {
        if let Some(spec) = &mut pod.spec {
            spec.node_name = Some(node.to_owned());
        }
        meta::set_condition(pod.status.get_or_insert_default(), "PodScheduled", true, None, &now);
    });
    let message = format!("Successfully assigned {}/{} to {node}", key.namespace, key.name);
    world.record_event(NewEvent::about::<Pod>(&pod.metadata, COMPONENT, "Scheduled", message));
}

fn refuse(world: &mut World, key: &Key, pod: &Pod, why: &str) {
    let now = time::second(world.now_millis());
    world.unschedulable.insert(key.clone());
    world.modify::<Pod>(key, Write::Status, |pod| {
        let why = Some(("Unschedulable", why));
        meta::set_condition(pod.status.get_or_insert_default(), "PodScheduled", false, why, &now);
    });
    world.record_event(NewEvent::about::<Pod>(&pod.metadata, COMPONENT, "FailedScheduling", why.to_owned()).warning());
    world.wake_autoscaler();
    // Kubernetes retries after five minutes even if nothing changed.
    world.agenda.add(world.now_millis + 300_000, Task::Schedule(key.clone()));
}

fn requested(spec: &PodSpec, resource: &str) -> i128 {
    let all = spec.containers.iter();
    let requests = all.filter_map(|container| container.resources.as_ref()?.requests.as_ref()?.get(resource));
    requests.map(meta::quantity).sum()
}

fn choose(world: &World, pod: &Pod) -> Result<String, String> {
    let mut pods_on: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
    for other in world.store.all::<Pod>(None).filter(|other| !meta::is_finished(other)) {
        if let Some(node) = meta::node_of(other) {
            pods_on.entry(node).or_default().push(other);
        }
    }
    let owner = meta::controller(&pod.metadata).map(|owner| owner.uid.as_str());
    let is_sibling = |other: &&&Pod| meta::is_controlled_by(&other.metadata, owner);
    let spec = pod.spec.clone().unwrap_or_default();
    let nodes: Vec<&Node> = world.store.all::<Node>(None).collect();
    let (mut best, mut refusals, mut preemption) = (None, Vec::new(), Vec::new());
    for node in &nodes {
        let name = node.metadata.name.clone().unwrap_or_default();
        let pods = pods_on.get(name.as_str()).map(Vec::as_slice).unwrap_or_default();
        let why = refusals_of(node, &spec, pods);
        if why.is_empty() {
            let siblings = pods.iter().filter(is_sibling).count();
            let is_of_pool = world.settings.pool.as_ref().is_some_and(|pool| pool.has_node(&name));
            let rank = (-preference(node, &spec), is_of_pool, siblings, pods.len(), name);
            if best.as_ref().is_none_or(|known| rank < *known) {
                best = Some(rank);
            }
        } else {
            refusals.extend(why);
            let would_fit_empty = refusals_of(node, &spec, &[]).is_empty();
            let result = if would_fit_empty { NO_VICTIMS } else { NOT_HELPFUL };
            preemption.push(result.to_owned());
        }
    }
    match best {
        Some((.., name)) => Ok(name),
        None if nodes.is_empty() => Err("no nodes available to schedule pods".to_owned()),
        None => {
            let (count, refusals, preemption) = (nodes.len(), counted(refusals), counted(preemption));
            Err(format!(
                "0/{count} nodes are available: {refusals}. no new claims to deallocate, preemption: 0/{count} nodes are available: {preemption}."
            ))
        }
    }
}

/// Formats the reasons with the number of nodes of each, in Kubernetes' order (`FitError`).
fn counted(reasons: Vec<String>) -> String {
    let mut counts = BTreeMap::<String, u32>::new();
    for reason in reasons {
        *counts.entry(reason).or_default() += 1;
    }
    let mut each: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    each.sort();
    each.join(", ")
}

/// Returns the reasons why a node with these pods does not fit another one.
pub(crate) fn refusals_of(node: &Node, spec: &PodSpec, pods: &[&Pod]) -> Vec<String> {
    if node::is_cordoned(node) {
        return vec!["node(s) were unschedulable".to_owned()];
    }
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    let mut taints = node::taints(node).iter().filter(|taint| taint.effect != "PreferNoSchedule");
    let is_tolerated = |taint: &Taint| tolerations.iter().any(|toleration| tolerates(toleration, taint));
    // A node that has not reported yet has the taint `node.kubernetes.io/not-ready`.
    if !taints.all(is_tolerated) || !node::is_ready(node) {
        return vec!["node(s) had untolerated taint(s)".to_owned()];
    }
    let labels = meta::labels(&node.metadata);
    let is_selected = spec.node_selector.iter().flatten().all(|(name, value)| labels.get(name) == Some(value));
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    let is_affine = required.is_none_or(|required| required.node_selector_terms.iter().any(|term| fits(term, node)));
    if !is_selected || !is_affine {
        return vec!["node(s) didn't match Pod's node affinity/selector".to_owned()];
    }
    let none = BTreeMap::new();
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref()).unwrap_or(&none);
    let mut why = Vec::new();
    let most = allocatable.get("pods").map_or(110_000, meta::quantity);
    if (pods.len() as i128 + 1) * 1000 > most {
        why.push("Too many pods".to_owned());
    }
    for name in ["cpu", "memory"] {
        let asked = requested(spec, name);
        let used: i128 = pods.iter().filter_map(|pod| pod.spec.as_ref()).map(|spec| requested(spec, name)).sum();
        if asked > 0 && used + asked > allocatable.get(name).map_or(0, meta::quantity) {
            why.push(format!("Insufficient {name}"));
        }
    }
    why
}

/// Returns whether a toleration matches a taint.
pub(crate) fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let is_any = |text: Option<&str>| text.is_none_or(str::is_empty);
    (is_any(toleration.effect.as_deref()) || toleration.effect.as_deref() == Some(&taint.effect))
        && (is_any(toleration.key.as_deref()) || toleration.key.as_deref() == Some(&taint.key))
        && (toleration.operator.as_deref() == Some("Exists")
            || toleration.value.as_deref().unwrap_or_default() == taint.value.as_deref().unwrap_or_default())
}

fn fits(term: &NodeSelectorTerm, node: &Node) -> bool {
    let name = node.metadata.name.as_deref();
    let labels = meta::labels(&node.metadata);
    let expressions = term.match_expressions.iter().flatten().map(|of| (of, labels.get(&of.key).map(String::as_str)));
    let fields = term.match_fields.iter().flatten().map(|of| (of, name.filter(|_| of.key == "metadata.name")));
    expressions.chain(fields).all(|(requirement, found)| {
        let values = requirement.values.as_deref().unwrap_or_default();
        let is_in = found.is_some_and(|found| values.iter().any(|value| value == found));
        let number = |text: Option<&str>| text.and_then(|text| text.parse::<i64>().ok());
        match requirement.operator.as_str() {
            "In" => is_in,
            "NotIn" => !is_in,
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            "Gt" => number(found) > number(values.first().map(String::as_str)),
            "Lt" => found.is_some() && number(found) < number(values.first().map(String::as_str)),
            _ => false,
        }
    })
}

/// Returns the weight of a node by the pod's preferences.
fn preference(node: &Node, spec: &PodSpec) -> i32 {
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let preferred =
        affinity.and_then(|affinity| affinity.preferred_during_scheduling_ignored_during_execution.as_ref());
    preferred.into_iter().flatten().filter(|term| fits(&term.preference, node)).map(|term| term.weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_has_not_reported_yet_has_a_taint() {
        assert_eq!(refusals_of(&Node::default(), &PodSpec::default(), &[]), ["node(s) had untolerated taint(s)"]);
    }
}
