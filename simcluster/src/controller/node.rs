//! Nodes: the first report of a kubelet, and pods whose node is gone or has a `NoExecute` taint.

use k8s_openapi::api::core::v1::{Node, Pod, Taint, Toleration};

use crate::agenda::Task;
use crate::events::NewEvent;
use crate::node::{no_execute_taints, set_ready};
use crate::object::{Key, Resource};
use crate::scheduler::tolerates;
use crate::world::{DeleteOptions, Write};
use crate::{World, meta, time};

/// Interval of the pod garbage collector's rounds (`gcCheckPeriod`).
pub const PODS_ROUND_MILLIS: i64 = 20_000;
/// Time for which a node must be gone before its pods are failed (`quarantineTime`).
const QUARANTINE_MILLIS: i64 = 40_000;

/// Handles the first report of a node's kubelet: the node becomes ready.
pub fn report(world: &mut World, key: &Key) {
    let now = time::second(world.now_millis());
    world.modify::<Node>(key, Write::Status, |node| set_ready(node, &now));
    let pods: Vec<Pod> = world.store.pods_on(&key.name).cloned().collect();
    pods.iter().for_each(|pod| crate::kubelet::plan(world, pod));
}

/// Runs a round of the pod garbage collector: plans the failure of pods whose node has been gone for long enough.
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
        // One pod after the other: the API server needs this time for two writes each.
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
    // A pod that is already gone needs no deletion.
    let _ = world.delete(Resource::Pod, key, &options);
}

/// Plans the deletion of a pod by the taints of its node, or cancels it (`processPodOnNode` in `tainteviction/taint_eviction.go`).
pub fn plan_taint_eviction(world: &mut World, pod: &Pod) {
    let stay_millis = stay_millis(world, pod);
    let key = Key::of(&pod.metadata);
    let task = Task::TaintEviction(key.clone());
    if stay_millis.is_some_and(|millis| millis > 0) && world.agenda.due_millis(&task).is_some() {
        return; // the earlier start counts
    }
    cancel_taint_eviction(world, pod);
    match stay_millis {
        None => {}
        Some(0) => world.schedule_between(5, 40, Task::ImmediateTaintEviction(key)),
        Some(millis) => world.agenda.add(world.now_millis + millis, task),
    }
}

/// Cancels the planned deletion of a pod by a taint.
pub fn cancel_taint_eviction(world: &mut World, pod: &Pod) {
    let task = Task::TaintEviction(Key::of(&pod.metadata));
    if world.agenda.due_millis(&task).is_some() {
        world.agenda.remove(&task);
        tell_taint_eviction(world, pod, "Cancelling deletion of Pod");
    }
}

/// Deletes a pod that may not stay on its node.
pub fn evict_by_taint(world: &mut World, key: &Key) {
    let Some(pod) = world.get::<Pod>(key) else { return };
    tell_taint_eviction(world, &pod, "Marking for deletion Pod");
    world.mark_disrupted(key, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint");
    world.delete_if_there(Resource::Pod, key);
}

/// Returns the time for which a pod may stay on its node; `None` if it is unlimited.
fn stay_millis(world: &World, pod: &Pod) -> Option<i64> {
    let node = world.store.typed::<Node>(&Key::new("", meta::node_of(pod)?))?;
    let toleration_of = |taint: &Taint| meta::tolerations(pod).iter().find(|known| tolerates(known, taint));
    let used: Option<Vec<&Toleration>> = no_execute_taints(node).map(toleration_of).collect();
    let Some(used) = used else { return Some(0) };
    used.iter().filter_map(|known| known.toleration_seconds).min().map(|seconds| seconds.max(0).saturating_mul(1_000))
}

fn tell_taint_eviction(world: &mut World, pod: &Pod, what: &str) {
    let Key { namespace, name } = Key::of(&pod.metadata);
    let message = format!("{what} {namespace}/{name}");
    let reason = "TaintManagerEviction";
    world.record_event(NewEvent::about::<Pod>(&pod.metadata, "taint-eviction-controller", reason, message));
}
