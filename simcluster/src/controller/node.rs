//! Nodes: the first report of a kubelet, silence, taints, and what becomes of pods whose node is gone.

use k8s_openapi::api::core::v1::{Node, Pod, Taint};

use crate::agenda::Task;
use crate::events::NewEvent;
use crate::node::{is_ready, set_ready};
use crate::object::{Key, Resource};
use crate::world::{DeleteOptions, Write};
use crate::{World, meta, time};

/// Interval of the node controller's rounds (`--node-monitor-period`).
pub const ROUND_MILLIS: i64 = 5_000;
/// Interval of the pod garbage collector's rounds (`gcCheckPeriod`).
pub const PODS_ROUND_MILLIS: i64 = 20_000;
/// A node may be silent for this long (`--node-monitor-grace-period`).
const GRACE_MILLIS: i64 = 50_000;
/// A node must be gone for this long before its pods are written off (`quarantineTime`).
const QUARANTINE_MILLIS: i64 = 40_000;

const COMPONENT: &str = "node-controller";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// Takes a report of a node's kubelet: the node becomes ready.
pub fn report(world: &mut World, key: &Key) {
    if world.silent.contains_key(&key.name) {
        return;
    }
    let now = time::second(world.now_millis());
    world.modify::<Node>(key, Write::Status, |node| set_ready(node, &now));
    world.modify::<Node>(key, Write::Spec, |node| {
        if let Some(taints) = node.spec.as_mut().and_then(|spec| spec.taints.as_mut()) {
            taints.retain(|taint| taint.key != UNREACHABLE);
        }
    });
    let pods: Vec<Pod> = world.store.pods_on(&key.name).cloned().collect();
    pods.iter().for_each(|pod| crate::kubelet::plan(world, pod));
}

impl World {
    /// Silences a node's kubelet, or lets it report again: what a cut network or a dead machine does.
    pub fn silence(&mut self, node: &str, is_silent: bool) {
        if is_silent {
            self.silent.entry(node.to_owned()).or_insert(self.now_millis);
        } else if self.silent.remove(node).is_some() {
            self.schedule_soon(Task::NodeReports(Key::new("", node)));
        }
    }
}

/// Runs a round of the node controller: silent nodes are no longer ready, and tainted.
pub fn round(world: &mut World) {
    let now = world.now_millis();
    world.agenda.add(now + ROUND_MILLIS, Task::Nodes);
    let silent: Vec<String> =
        world.silent.iter().filter(|(_, since)| **since + GRACE_MILLIS <= now).map(|(name, _)| name.clone()).collect();
    for name in silent {
        let key = Key::new("", &name);
        if world.store.typed::<Node>(&key).is_some_and(is_ready) {
            mark_unreachable(world, &key);
        }
    }
}

fn mark_unreachable(world: &mut World, key: &Key) {
    let now = time::second(world.now_millis());
    world.modify::<Node>(key, Write::Status, |node| {
        for condition in node.status.iter_mut().filter_map(|status| status.conditions.as_mut()).flatten() {
            if condition.type_ != "NetworkUnavailable" {
                condition.status = "Unknown".to_owned();
                condition.reason = Some("NodeStatusUnknown".to_owned());
                condition.message = Some("Kubelet stopped posting node status.".to_owned());
                condition.last_transition_time = Some(now.clone());
            }
        }
    });
    world.modify::<Node>(key, Write::Spec, |node| {
        let taints = node.spec.get_or_insert_default().taints.get_or_insert_default();
        for effect in ["NoSchedule", "NoExecute"] {
            taints.push(Taint {
                key: UNREACHABLE.to_owned(),
                effect: effect.to_owned(),
                time_added: Some(now.clone()),
                value: None,
            });
        }
    });
    if let Some(node) = world.get::<Node>(key) {
        let message = format!("Node {} status is now: NodeNotReady", key.name);
        world.record_event(NewEvent::about::<Node>(&node.metadata, COMPONENT, "NodeNotReady", message));
    }
    let pods: Vec<Pod> = world.store.pods_on(&key.name).cloned().collect();
    for pod in pods {
        let of = Key::of(&pod.metadata);
        world.modify::<Pod>(&of, Write::Status, |pod| {
            for condition in pod.status.iter_mut().filter_map(|status| status.conditions.as_mut()).flatten() {
                if condition.type_ == "Ready" && condition.status == "True" {
                    condition.status = "False".to_owned();
                    condition.last_transition_time = Some(now.clone());
                }
            }
        });
        let message = "Node is not ready".to_owned();
        world.record_event(NewEvent::about::<Pod>(&pod.metadata, COMPONENT, "NodeNotReady", message).warning());
        if let Some(seconds) = patience(&pod) {
            let uid = pod.metadata.uid.clone().unwrap_or_default();
            world.agenda.add(world.now_millis + seconds * 1000, Task::TaintEviction(of, uid));
        }
    }
}

/// Seconds that a pod stays on an unreachable node; `None` for ever.
fn patience(pod: &Pod) -> Option<i64> {
    let tolerations = pod.spec.iter().filter_map(|spec| spec.tolerations.as_ref()).flatten();
    let fitting: Vec<Option<i64>> = tolerations
        .filter(|toleration| {
            toleration.key.as_deref().is_none_or(|key| key.is_empty() || key == UNREACHABLE)
                && toleration.effect.as_deref().is_none_or(|effect| effect.is_empty() || effect == "NoExecute")
        })
        .map(|toleration| toleration.toleration_seconds)
        .collect();
    if fitting.is_empty() {
        return Some(0);
    }
    fitting.into_iter().flatten().min().map(|seconds| seconds.max(0))
}

/// Evicts a pod whose toleration of its unreachable node has ended.
pub fn evict(world: &mut World, key: &Key, uid: &str) {
    let Some(pod) = world.get::<Pod>(key).filter(|pod| pod.metadata.uid.as_deref() == Some(uid)) else { return };
    let node = Key::new("", meta::node_of(&pod).unwrap_or_default());
    if world.store.typed::<Node>(&node).is_none_or(is_ready) || meta::is_deleting(&pod.metadata) {
        return;
    }
    let message = format!("Marking for deletion Pod {}/{}", key.namespace, key.name);
    let component = "taint-eviction-controller";
    world.record_event(NewEvent::about::<Pod>(&pod.metadata, component, "TaintManagerEviction", message));
    world.mark_disrupted(key, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint");
    world.delete_if_there(Resource::Pod, key);
}

/// Runs a round of the pod garbage collector: pods whose node has been gone for long enough are written off.
pub fn collect_pods(world: &mut World) {
    let now = world.now_millis();
    world.agenda.add(now + PODS_ROUND_MILLIS, Task::CollectPods);
    let is_there = |name: &str| world.store.get(Resource::Node, &Key::new("", name)).is_some();
    let place = |pod: &Pod| Some((meta::node_of(pod)?.to_owned(), Key::of(&pod.metadata)));
    let stray = world.store.all::<Pod>(None).filter_map(place);
    let stray: Vec<(String, Key)> = stray.filter(|(node, _)| !is_there(node)).collect();
    world.lost.retain(|node, _| stray.iter().any(|(of, _)| of == node));
    let mut turn = 0;
    for (node, key) in stray {
        let since = *world.lost.entry(node).or_insert(now);
        if since + QUARANTINE_MILLIS > now {
            continue;
        }
        // One after the other, as fast as the API server takes two writes for each.
        turn += world.random.i64(5..=12);
        world.agenda.add(now + turn, Task::WriteOff(key));
    }
}

/// Fails a pod whose node is gone, and deletes it without waiting for a kubelet.
pub fn write_off(world: &mut World, key: &Key) {
    world.mark_disrupted(key, "DeletionByPodGC", "PodGC: node no longer exists");
    world.modify::<Pod>(key, Write::Status, |pod| {
        let status = pod.status.get_or_insert_default();
        if !matches!(status.phase.as_deref(), Some("Succeeded" | "Failed")) {
            status.phase = Some("Failed".to_owned());
        }
    });
    let options = DeleteOptions { grace_seconds: Some(0), ..DeleteOptions::default() };
    // Gone already is as good.
    let _ = world.delete(Resource::Pod, key, &options);
}
