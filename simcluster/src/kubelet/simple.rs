//! Pods whose first image decides their behavior: one step at a time, each after a random delay.
//!
//! ```text
//!               ┌─ healthy, slow, flap, linger ─► runs, ready ⇄ (flap) unready
//!  bound ─► created ─ never ─► runs, never ready
//!               ├─ missing ─► ErrImagePull ⇄ ImagePullBackOff
//!               ├─ badconfig ─► CreateContainerConfigError
//!               ├─ outofcpu ─► half of them fail as a whole, the others run
//!               └─ crash, oom ─► runs ─► Error ─► runs ⇄ CrashLoopBackOff      any ─ deleted ─► lingers ─► gone
//! ```
//!
//! The delays are those of the KWOK stages in `end2end/cluster/stages.yaml`, so that both clusters can be compared. Repeated
//! failures are the exception: they have a kubelet's delays of 10, 20, 40, … seconds.

use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus, Pod, PodIP, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::pod::{
    self, behavior, closed_gates, crash_loop, event, present, pulled, restarting, running, terminated, waiting_for,
};
use crate::agenda::Task;
use crate::meta::set_condition;
use crate::object::{Key, Resource};
use crate::runtime::{Behavior, Step, crash_back_off, is_detailed, pull_back_off, refusal};
use crate::world::Write;
use crate::{World, meta, time};

/// Plans the next step of a pod, unless it is planned already.
pub(super) fn plan(world: &mut World, pod: &Pod) {
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    let due = next(pod, world.now_millis()).filter(|_| !meta::is_finished(pod));
    let Some((step, from, to)) = due else {
        world.steps.remove(&uid);
        return;
    };
    if world.steps.insert(uid, step) != Some(step) {
        let at = world.now_millis() + world.random.i64(from..=to);
        world.agenda.set(at, Task::Kubelet(Key::of(&pod.metadata)));
    }
}

/// Returns the next step of a pod, and the bounds of its delay in milliseconds.
fn next(pod: &Pod, now_millis: i64) -> Option<(Step, i64, i64)> {
    let behavior = behavior(pod);
    if meta::is_deleting(&pod.metadata) {
        let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or_default() * 1000;
        let (from, to) = if behavior == Behavior::Linger { (grace, grace) } else { (grace.min(1500), grace.min(4000)) };
        return (!meta::has_finalizers(&pod.metadata)).then_some((Step::Remove, from, to));
    }
    if pod.status.as_ref().is_none_or(|status| status.pod_ip.is_none()) {
        return Some((Step::Create, 60, 250));
    }
    match (behavior, is_running(pod), waiting(pod)) {
        (Behavior::Crash | Behavior::OutOfMemory, true, _) => Some((Step::End, 900, 1300)),
        (Behavior::Crash | Behavior::OutOfMemory, false, "CrashLoopBackOff") => {
            let wait = crash_back_off(meta::restarts(pod));
            Some((Step::Run, wait, wait + 500))
        }
        (Behavior::Crash | Behavior::OutOfMemory, false, _) => Some((Step::Run, 1200, 2500)),
        (Behavior::Missing, _, "ContainerCreating") => Some((Step::FailPull, 1500, 2500)),
        (Behavior::Missing, _, "ImagePullBackOff") => {
            let started = pod.status.as_ref().and_then(|status| status.start_time.as_ref()).map(time::millis);
            let wait = pull_back_off(started.map_or(0, |started| now_millis - started));
            Some((Step::FailPull, wait, wait + 500))
        }
        (Behavior::Missing, _, "ErrImagePull") => Some((Step::BackOffPull, 1500, 1500)),
        (Behavior::BadConfig, _, "ContainerCreating") => Some((Step::RefuseConfig, 400, 900)),
        (Behavior::Missing | Behavior::BadConfig, ..) => None,
        (Behavior::Never, false, _) => Some((Step::Run, 800, 1200)),
        (Behavior::Never, true, _) => None,
        (Behavior::Slow, false, _) => Some((Step::Run, 4000, 5000)),
        (_, false, _) => Some((Step::Run, 900, 1500)),
        (Behavior::Flap, true, _) => Some((Step::Flap, 4000, 9000)),
        (_, true, _) => (!meta::is_ready(pod) && closed_gates(pod).is_none()).then_some((Step::Gate, 100, 100)),
    }
}

/// Does the step that was planned for a pod.
pub(super) fn run_step(world: &mut World, pod: &Pod) {
    let Some(step) = world.steps.remove(pod.metadata.uid.as_deref().unwrap_or_default()) else { return };
    let key = Key::of(&pod.metadata);
    if step == Step::Create && behavior(pod) == Behavior::Refused && world.random.bool() {
        return pod::refuse(world, &key);
    }
    if step == Step::Remove {
        world.remove(Resource::Pod, &key);
        return;
    }
    record_step(world, pod, step);
    let now = time::second(world.now_millis());
    let address = world.pick_address();
    world.modify::<Pod>(&key, Write::Status, |pod| {
        let mut status = pod.status.clone().unwrap_or_default();
        apply_step(pod, &mut status, step, &now, &address);
        pod.status = Some(status);
    });
    // Two steps within a second may leave the object unchanged; then no change plans the next step.
    if let Some(pod) = world.get::<Pod>(&key) {
        plan(world, &pod);
    }
}

/// Binds a pod to a node and makes it ready at once.
pub fn run_at_once(world: &mut World, key: &Key, node: &str) {
    let now = time::second(world.now_millis());
    world.modify::<Pod>(key, Write::Status, |pod| {
        if let Some(spec) = &mut pod.spec {
            spec.node_name = Some(node.to_owned());
        }
        let mut status = pod.status.take().unwrap_or_default();
        set_condition(&mut status, "PodScheduled", true, None, &now);
        apply_step(pod, &mut status, Step::Create, &now, "10.0.0.2");
        apply_step(pod, &mut status, Step::Run, &now, "");
        pod.status = Some(status);
    });
}

fn apply_step(pod: &Pod, status: &mut PodStatus, step: Step, now: &Time, address: &str) {
    match step {
        Step::Create => {
            status.start_time = Some(now.clone());
            status.host_ip = Some("10.0.0.1".to_owned());
            status.pod_ip = Some(address.to_owned());
            status.pod_ips = Some(vec![PodIP { ip: address.to_owned() }]);
            set_condition(status, "Initialized", true, None, now);
            become_unready(pod, status, now);
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
                become_unready(pod, status, now);
            } else {
                become_ready(pod, status, now);
            }
        }
        Step::FailPull => wait_for(status, "ErrImagePull", &pull_refusal(pod)),
        Step::BackOffPull => {
            let why = format!("Back-off pulling image \"{}\": ErrImagePull: {}", image(pod), pull_refusal(pod));
            wait_for(status, "ImagePullBackOff", &why);
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
                // The first restart comes at once; until then the container's state shows the exit.
                if container.restart_count == 0 {
                    container.state = ended;
                } else {
                    container.last_state = ended;
                    let wait = crash_back_off(container.restart_count);
                    let why = crash_loop(pod, &container.name, wait);
                    container.state = Some(waiting_for("CrashLoopBackOff", Some(&why)));
                }
                container.ready = false;
                container.started = Some(false);
            }
        }
        Step::Remove => {}
    }
}

fn image(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|spec| spec.containers.first()?.image.as_deref()).unwrap_or_default()
}

/// Returns why the image of a pod cannot be pulled.
fn pull_refusal(pod: &Pod) -> String {
    refusal(behavior(pod), image(pod)).unwrap_or_default()
}

fn become_unready(pod: &Pod, status: &mut PodStatus, now: &Time) {
    let names = pod.spec.iter().flat_map(|spec| &spec.containers).map(|container| container.name.as_str());
    let message = format!("containers with unready status: [{}]", names.collect::<Vec<_>>().join(" "));
    for condition in ["Ready", "ContainersReady"] {
        set_condition(status, condition, false, Some(("ContainersNotReady", &message)), now);
    }
}

fn become_ready(pod: &Pod, status: &mut PodStatus, now: &Time) {
    set_condition(status, "ContainersReady", true, None, now);
    match closed_gates(pod) {
        None => set_condition(status, "Ready", true, None, now),
        Some(gates) => set_condition(status, "Ready", false, Some(("ReadinessGatesNotReady", &gates)), now),
    }
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

fn first_state(pod: &Pod) -> Option<&ContainerState> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()?.state.as_ref()
}

fn waiting(pod: &Pod) -> &str {
    first_state(pod).and_then(|state| state.waiting.as_ref()?.reason.as_deref()).unwrap_or_default()
}

fn is_running(pod: &Pod) -> bool {
    first_state(pod).is_some_and(|state| state.running.is_some())
}

/// Records the Events that a kubelet writes about a step.
fn record_step(world: &mut World, pod: &Pod, step: Step) {
    if !world.settings.has_container_events {
        return;
    }
    let Some(container) = pod.spec.as_ref().and_then(|spec| spec.containers.first()) else { return };
    let (name, image) = (container.name.as_str(), container.image.as_deref().unwrap_or_default());
    let about = |reason, message: String| event(pod, reason, message).of_container("containers", name);
    let created = || about("Created", "Container created".to_owned());
    let started = || about("Started", "Container started".to_owned());
    let events = match step {
        Step::Create => vec![about("Pulling", format!("Pulling image \"{image}\""))],
        Step::Run if waiting(pod) == "ContainerCreating" => {
            vec![about("Pulled", pulled(image, 812)), created(), started()]
        }
        Step::Run => {
            // Written at once: a random delay would be one more random number, which changes all clusters that tests create from a seed.
            world.write_event(created());
            vec![about("Pulled", present(image)), started()]
        }
        Step::FailPull => vec![
            about("Failed", format!("Failed to pull image \"{image}\": {}", pull_refusal(pod))).warning(),
            about("Failed", "Error: ErrImagePull".to_owned()).warning(),
        ],
        Step::BackOffPull => vec![
            about("BackOff", format!("Back-off pulling image \"{image}\"")),
            about("Failed", "Error: ImagePullBackOff".to_owned()).warning(),
        ],
        Step::RefuseConfig => {
            vec![about("Failed", "Error: configmap \"settings\" not found".to_owned()).warning()]
        }
        Step::End if meta::restarts(pod) > 0 => {
            vec![about("BackOff", restarting(pod, name)).warning()]
        }
        Step::Flap if meta::is_ready(pod) => {
            let message = "Readiness probe failed: HTTP probe failed with statuscode: 503".to_owned();
            vec![about("Unhealthy", message).warning()]
        }
        Step::End | Step::Flap | Step::Gate | Step::Remove => return,
    };
    events.into_iter().for_each(|event| world.record_event(event));
}

/// Records that the containers of a pod are being stopped.
pub fn killing(world: &mut World, pod: &Pod) {
    // For a detailed pod the kubelet's next round records it.
    if world.settings.has_container_events && is_running(pod) && !is_detailed(pod) {
        for name in pod.spec.iter().flat_map(|spec| &spec.containers).map(|container| &container.name) {
            let killing = event(pod, "Killing", format!("Stopping container {name}"));
            world.record_event(killing.of_container("containers", name));
        }
    }
}
