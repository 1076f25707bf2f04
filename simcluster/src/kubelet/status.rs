//! Changes of a pod's status by a step of its kubelet: conditions, and the state of each container.

use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus, Pod,
    PodIP, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::pod::{behavior, closed_gate, duration, long_name};
use crate::meta::set_condition;
use crate::object::Key;
use crate::runtime::{Behavior, Step, crash_back_off};
use crate::world::Write;
use crate::{World, meta};

pub(super) fn apply_step(pod: &Pod, status: &mut PodStatus, step: Step, now: &Time, address: &str) {
    match step {
        Step::Create => {
            status.start_time = Some(now.clone());
            status.host_ip = Some("10.0.0.1".to_owned());
            status.pod_ip = Some(address.to_owned());
            status.pod_ips = Some(vec![PodIP { ip: address.to_owned() }]);
            set_condition(status, "Initialized", true, None, now);
            set_condition(status, "Ready", false, Some(NOT_READY), now);
            set_condition(status, "ContainersReady", false, Some(NOT_READY), now);
            status.container_statuses = Some(containers(pod, |container| {
                container.state = Some(waiting_for("ContainerCreating", None));
            }));
        }
        Step::Run => {
            let is_ready =
                matches!(behavior(pod), Behavior::Healthy | Behavior::Slow | Behavior::Flap | Behavior::Linger);
            status.phase = Some("Running".to_owned());
            let before = status.container_statuses.take().unwrap_or_default();
            status.container_statuses = Some(containers(pod, |container| {
                let known = before.iter().find(|known| known.name == container.name);
                let has_run = known.is_some_and(|known| !known.image_id.is_empty());
                container.restart_count = known.map_or(0, |known| known.restart_count) + i32::from(has_run);
                container.last_state = known.and_then(ended);
                container.image_id.clone_from(&container.image);
                container.ready = is_ready;
                container.started = Some(true);
                container.state = Some(running(now.clone()));
            }));
            if is_ready {
                become_ready(pod, status, now);
            }
        }
        Step::Gate => set_condition(status, "Ready", true, None, now),
        Step::Flap => {
            let is_ready = meta::find(status, "Ready").is_some_and(|ready| ready.status == "True");
            for container in status.container_statuses.iter_mut().flatten() {
                container.ready = !is_ready;
            }
            if is_ready {
                set_condition(status, "Ready", false, Some(NOT_READY), now);
                set_condition(status, "ContainersReady", false, Some(NOT_READY), now);
            } else {
                become_ready(pod, status, now);
            }
        }
        Step::FailPull => {
            wait_for(status, "ErrImagePull", &format!("failed to pull {}: not found", image(pod)));
        }
        Step::BackOffPull => {
            wait_for(status, "ImagePullBackOff", &format!("Back-off pulling image {}", image(pod)));
        }
        Step::RefuseConfig => wait_for(status, "CreateContainerConfigError", "configmap \"settings\" not found"),
        Step::End => {
            let (exit_code, reason) =
                if behavior(pod) == Behavior::OutOfMemory { (137, "OOMKilled") } else { (1, "Error") };
            for container in status.container_statuses.iter_mut().flatten() {
                let started_at = container.state.as_ref().and_then(|state| state.running.as_ref()?.started_at.clone());
                let ended = Some(terminated(ContainerStateTerminated {
                    exit_code,
                    reason: Some(reason.to_owned()),
                    started_at,
                    finished_at: Some(now.clone()),
                    ..ContainerStateTerminated::default()
                }));
                // The first time it is started again at once, and what happened is its state until then.
                if container.restart_count == 0 {
                    container.state = ended;
                } else {
                    container.last_state = ended;
                    container.state = Some(waiting_for("CrashLoopBackOff", Some(&crash_loop(pod, container))));
                }
                container.ready = false;
                container.started = Some(false);
            }
        }
        Step::Remove => {}
    }
}

const NOT_READY: (&str, &str) = ("ContainersNotReady", "containers with unready status");

fn image(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|spec| spec.containers.first()?.image.as_deref()).unwrap_or_default()
}

fn become_ready(pod: &Pod, status: &mut PodStatus, now: &Time) {
    set_condition(status, "ContainersReady", true, None, now);
    match closed_gate(pod) {
        None => set_condition(status, "Ready", true, None, now),
        Some(gate) => {
            let why = format!("corresponding condition of pod readiness gate {gate} does not exist.");
            set_condition(status, "Ready", false, Some(("ReadinessGatesNotReady", &why)), now);
        }
    }
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

/// Returns a kubelet's message about a container that it will start again.
fn crash_loop(pod: &Pod, container: &ContainerStatus) -> String {
    let wait = duration(crash_back_off(container.restart_count));
    format!("back-off {wait} restarting failed container={} pod={}", container.name, long_name(pod))
}

fn wait_for(status: &mut PodStatus, reason: &str, message: &str) {
    for container in status.container_statuses.iter_mut().flatten() {
        container.state = Some(waiting_for(reason, Some(message)));
        container.ready = false;
    }
}

fn ended(container: &ContainerStatus) -> Option<ContainerState> {
    let now = container.state.as_ref().filter(|state| state.terminated.is_some());
    now.or(container.last_state.as_ref()).cloned()
}

fn containers(pod: &Pod, change: impl Fn(&mut ContainerStatus)) -> Vec<ContainerStatus> {
    let all = pod.spec.iter().flat_map(|spec| &spec.containers);
    all.map(|container| {
        let mut status = ContainerStatus {
            name: container.name.clone(),
            image: container.image.clone().unwrap_or_default(),
            started: Some(false),
            ..ContainerStatus::default()
        };
        change(&mut status);
        status
    })
    .collect()
}

pub(super) const OUT_OF_CPU: &str =
    "Pod was rejected: Node didn't have enough resource: cpu, requested: 500, used: 1800, capacity: 2000";

/// Fails a pod as a whole, for good.
pub(super) fn fail(world: &mut World, key: &Key, reason: &str, message: &str) {
    world.modify::<Pod>(key, Write::Status, |pod| {
        let status = pod.status.get_or_insert_default();
        status.phase = Some("Failed".to_owned());
        (status.reason, status.message) = (Some(reason.to_owned()), Some(message.to_owned()));
        for condition in status.conditions.iter_mut().flatten().filter(|condition| condition.type_ == "Ready") {
            condition.status = "False".to_owned();
            condition.reason = Some("PodFailed".to_owned());
        }
        status.container_statuses = None;
    });
}
