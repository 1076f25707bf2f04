//! Functions for simple and detailed pods alike: the word in the first image, container states, the kubelet's messages, failures
//! of whole pods.

use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, Pod, PodCondition,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::events::NewEvent;
use crate::object::Key;
use crate::runtime::Behavior;
use crate::world::Write;
use crate::{World, meta, time};

pub(super) fn behavior(pod: &Pod) -> Behavior {
    let containers = pod.spec.as_ref().map(|spec| &spec.containers[..]).unwrap_or_default();
    Behavior::of_image(containers.first().and_then(|container| container.image.as_deref()).unwrap_or_default())
}

pub(super) fn running(since: Time) -> ContainerState {
    let running = ContainerStateRunning { started_at: Some(since) };
    ContainerState { running: Some(running), ..ContainerState::default() }
}

pub(super) fn terminated(end: ContainerStateTerminated) -> ContainerState {
    ContainerState { terminated: Some(end), ..ContainerState::default() }
}

pub(super) fn waiting_for(reason: &str, message: Option<&str>) -> ContainerState {
    let waiting = ContainerStateWaiting { reason: Some(reason.to_owned()), message: message.map(str::to_owned) };
    ContainerState { waiting: Some(waiting), ..ContainerState::default() }
}

/// Creates an Event about a pod.
pub(super) fn event(pod: &Pod, reason: &'static str, message: String) -> NewEvent {
    NewEvent::about::<Pod>(&pod.metadata, "kubelet", reason, message)
}

/// Returns the message of the Event about an image that was pulled.
pub(super) fn pulled(image: &str, millis: i64) -> String {
    let took = if millis < 1000 { format!("{millis}ms") } else { duration(millis) };
    format!("Successfully pulled image \"{image}\" in {took} ({took} including waiting). Image size: 27194366 bytes.")
}

/// Returns the message of the Event about an image that is already on the node.
pub(super) fn present(image: &str) -> String {
    format!("Container image \"{image}\" already present on machine and can be accessed by the pod")
}

/// Returns the message of the Event about a container in back-off.
pub(super) fn restarting(pod: &Pod, container: &str) -> String {
    format!("Back-off restarting failed container {container} in pod {}", long_name(pod))
}

/// Returns the message of the state of a container in back-off, with its delay.
pub(super) fn crash_loop(pod: &Pod, container: &str, wait_millis: i64) -> String {
    let (wait, pod) = (duration(wait_millis), long_name(pod));
    format!("back-off {wait} restarting failed container={container} pod={pod}")
}

/// Returns the name of a pod as kubelets write it in messages.
fn long_name(pod: &Pod) -> String {
    let key = Key::of(&pod.metadata);
    format!("{}_{}({})", key.name, key.namespace, pod.metadata.uid.as_deref().unwrap_or_default())
}

/// Formats a duration as Go does: "10s", "1m20s".
fn duration(millis: i64) -> String {
    let (minutes, seconds) = (millis / 60_000, millis / 1000 % 60);
    if minutes == 0 { format!("{seconds}s") } else { format!("{minutes}m{seconds}s") }
}

/// Formats the readiness gates that are closed.
pub(super) fn closed_gates(pod: &Pod) -> Option<String> {
    let gates = pod.spec.as_ref()?.readiness_gates.as_deref()?.iter().map(|gate| gate.condition_type.as_str());
    let why = |gate: &str| match meta::condition(pod, gate) {
        None => Some(format!("corresponding condition of pod readiness gate \"{gate}\" does not exist.")),
        Some(known) if known.status == "True" => None,
        Some(known) => {
            Some(format!("the status of pod readiness gate \"{gate}\" is not \"True\", but {}", known.status))
        }
    };
    let closed: Vec<String> = gates.filter_map(why).collect();
    (!closed.is_empty()).then(|| closed.join(", "))
}

/// Fails a pod for which its node has no CPU (`rejectPod` in `kubelet.go`).
pub(super) fn refuse(world: &mut World, key: &Key) {
    let why = "Node didn't have enough resource: cpu, requested: 500, used: 1800, capacity: 2000";
    warn(world, key, "OutOfcpu", why);
    fail(world, key, "OutOfcpu", &format!("Pod was rejected: {why}"));
}

/// Records the Event about a pod that is about to fail.
pub(super) fn warn(world: &mut World, key: &Key, reason: &'static str, message: &str) {
    if let Some(pod) = world.get::<Pod>(key).filter(|_| world.settings.has_container_events) {
        world.write_event(event(&pod, reason, message.to_owned()).warning());
    }
}

/// Sets the phase of a pod to Failed, for good.
pub(super) fn fail(world: &mut World, key: &Key, reason: &str, message: &str) {
    let now = time::second(world.now_millis());
    world.modify::<Pod>(key, Write::Status, |pod| {
        let status = pod.status.get_or_insert_default();
        status.phase = Some("Failed".to_owned());
        (status.reason, status.message) = (Some(reason.to_owned()), Some(message.to_owned()));
        let is_of_readiness = |known: &&mut PodCondition| matches!(&*known.type_, "Ready" | "ContainersReady");
        for condition in status.conditions.iter_mut().flatten().filter(is_of_readiness) {
            if condition.status == "True" {
                condition.last_transition_time = Some(now.clone());
            }
            condition.status = "False".to_owned();
            (condition.reason, condition.message) = (Some("PodFailed".to_owned()), None);
        }
        status.container_statuses = None;
    });
}
