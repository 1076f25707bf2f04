//! The kubelets: what a pod's containers do, decided by the first image. One step at a time, each after a delay that is picked by chance.
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
//! The delays are those of the KWOK stages in `end2end/cluster/stages.yaml`, so that both clusters can be compared; but what fails again
//! and again is tried again after 10, 20, 40, … seconds, as a kubelet does it.

use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus, Pod,
    PodCondition, PodIP, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::agenda::Task;
use crate::controller::node;
use crate::events::NewEvent;
use crate::object::{Key, Resource};
use crate::world::Write;
use crate::{World, meta, time};

const COMPONENT: &str = "kubelet";

/// How a pod lives, from its first image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Ready after about a second.
    Healthy,
    /// Ready after four to five seconds.
    Slow,
    /// Runs and is never ready.
    Never,
    /// Its image cannot be pulled.
    Missing,
    /// Exits with 1, again and again.
    Crash,
    /// Is killed for its memory, again and again.
    OutOfMemory,
    /// Its configuration does not exist.
    BadConfig,
    /// Ready and not ready in turn.
    Flap,
    /// Takes its whole grace period to go.
    Linger,
    /// Every other one is refused by its node, and lies about.
    Refused,
}

impl Fate {
    /// By a word in the image: `web:crash-v2`.
    #[must_use]
    pub fn of_image(image: &str) -> Self {
        let words = [
            ("never", Self::Never),
            ("missing", Self::Missing),
            ("crash", Self::Crash),
            ("oom", Self::OutOfMemory),
            ("badconfig", Self::BadConfig),
            ("flap", Self::Flap),
            ("linger", Self::Linger),
            ("outofcpu", Self::Refused),
            ("slow", Self::Slow),
        ];
        words.into_iter().find(|(word, _)| image.contains(word)).map_or(Self::Healthy, |(_, fate)| fate)
    }
}

/// What a kubelet does next with a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Create,
    Run,
    Gate,
    FailPull,
    BackOffPull,
    RefuseConfig,
    End,
    Flap,
    Remove,
}

/// A step that is planned; the number tells it from plans that were given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    number: u64,
    step: Step,
}

fn fate(pod: &Pod) -> Fate {
    let containers = pod.spec.as_ref().map(|spec| &spec.containers[..]).unwrap_or_default();
    Fate::of_image(containers.first().and_then(|container| container.image.as_deref()).unwrap_or_default())
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

/// The gate that is still closed.
fn closed_gate(pod: &Pod) -> Option<&str> {
    let gates = pod.spec.as_ref()?.readiness_gates.as_deref()?;
    let is_open = |gate: &str| meta::condition(pod, gate).is_some_and(|condition| condition.status == "True");
    gates.iter().map(|gate| gate.condition_type.as_str()).find(|gate| !is_open(gate))
}

/// A kubelet's first back-off and its longest, of containers and of images alike.
const BACK_OFF_MILLIS: i64 = 10_000;
const MAX_BACK_OFF_MILLIS: i64 = 300_000;

/// How long a container that crashed waits after so many restarts. The first one comes at once.
fn crash_back_off(restarts: i32) -> i64 {
    (BACK_OFF_MILLIS << restarts.saturating_sub(1).clamp(0, 8)).min(MAX_BACK_OFF_MILLIS)
}

/// How long until an image is tried again, of a pod of this age: each wait is about as long as all before it.
fn pull_back_off(age_millis: i64) -> i64 {
    (age_millis + BACK_OFF_MILLIS / 2).clamp(BACK_OFF_MILLIS, MAX_BACK_OFF_MILLIS)
}

/// As Go writes it: "10s", "1m20s".
fn duration(millis: i64) -> String {
    let (minutes, seconds) = (millis / 60_000, millis / 1000 % 60);
    if minutes == 0 { format!("{seconds}s") } else { format!("{minutes}m{seconds}s") }
}

/// What happens next to a pod, and between which delays.
fn next(pod: &Pod, now_millis: i64) -> Option<(Step, i64, i64)> {
    let fate = fate(pod);
    if meta::is_deleting(&pod.metadata) {
        let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or_default() * 1000;
        let is_held = pod.metadata.finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty());
        let (from, to) = if fate == Fate::Linger { (grace, grace) } else { (grace.min(1500), grace.min(4000)) };
        return (!is_held).then_some((Step::Remove, from, to));
    }
    if pod.status.as_ref().is_none_or(|status| status.pod_ip.is_none()) {
        return Some((Step::Create, 60, 250));
    }
    match (fate, is_running(pod), waiting(pod)) {
        (Fate::Crash | Fate::OutOfMemory, true, _) => Some((Step::End, 900, 1300)),
        (Fate::Crash | Fate::OutOfMemory, false, "CrashLoopBackOff") => {
            let wait = crash_back_off(meta::restarts(pod));
            Some((Step::Run, wait, wait + 500))
        }
        (Fate::Crash | Fate::OutOfMemory, false, _) => Some((Step::Run, 1200, 2500)),
        (Fate::Missing, _, "ContainerCreating") => Some((Step::FailPull, 1500, 2500)),
        (Fate::Missing, _, "ImagePullBackOff") => {
            let started = pod.status.as_ref().and_then(|status| status.start_time.as_ref()).map(time::millis);
            let wait = pull_back_off(started.map_or(0, |started| now_millis - started));
            Some((Step::FailPull, wait, wait + 500))
        }
        (Fate::Missing, _, "ErrImagePull") => Some((Step::BackOffPull, 1500, 1500)),
        (Fate::BadConfig, _, "ContainerCreating") => Some((Step::RefuseConfig, 400, 900)),
        (Fate::Missing | Fate::BadConfig, ..) => None,
        (Fate::Never, false, _) => Some((Step::Run, 800, 1200)),
        (Fate::Never, true, _) => None,
        (Fate::Slow, false, _) => Some((Step::Run, 4000, 5000)),
        (_, false, _) => Some((Step::Run, 900, 1500)),
        (Fate::Flap, true, _) => Some((Step::Flap, 4000, 9000)),
        (_, true, _) => (!meta::is_ready(pod) && closed_gate(pod).is_none()).then_some((Step::Gate, 100, 100)),
    }
}

/// Plans what happens next to a pod, unless that is planned already or nobody is there to do it.
pub fn plan(world: &mut World, pod: &Pod) {
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    let node = meta::node_of(pod).unwrap_or_default();
    let is_alive = !world.silent.contains_key(node) && world.store.get(Resource::Node, &Key::new("", node)).is_some();
    let due = next(pod, world.now_millis()).filter(|_| is_alive && !meta::is_finished(pod));
    let Some((step, from, to)) = due else {
        world.plans.remove(&uid);
        return;
    };
    if world.plans.get(&uid).is_some_and(|known| known.step == step) {
        return;
    }
    world.plan_count += 1;
    let number = world.plan_count;
    world.plans.insert(uid, Plan { number, step });
    world.later(from, to, Task::Kubelet(Key::of(&pod.metadata), number));
}

/// Does the step that was planned for a pod under this number, unless another plan took its place or its node is lost.
pub fn act(world: &mut World, key: &Key, number: u64) {
    let Some(pod) = world.get::<Pod>(key) else { return };
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    let Some(step) = world.plans.get(&uid).filter(|plan| plan.number == number).map(|plan| plan.step) else { return };
    world.plans.remove(&uid);
    if world.silent.contains_key(meta::node_of(&pod).unwrap_or_default()) {
        return;
    }
    if step == Step::Create && fate(&pod) == Fate::Refused && world.random.bool() {
        let message =
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 500, used: 1800, capacity: 2000";
        return fail(world, key, "OutOfcpu", message);
    }
    if step == Step::Remove {
        world.remove(Resource::Pod, key);
        return;
    }
    say(world, &pod, step);
    let now = time::second(world.now_millis());
    let address = format!("10.{}.{}.{}", world.random.u8(0..250), world.random.u8(..), world.random.u8(1..));
    world.modify::<Pod>(key, Write::Status, |pod| {
        let mut status = pod.status.take().unwrap_or_default();
        take(pod, &mut status, step, &now, &address);
        pod.status = Some(status);
    });
    // Two steps within a second may leave the same object; nothing would wake the next one.
    if let Some(pod) = world.get::<Pod>(key) {
        plan(world, &pod);
    }
}

/// A node runs out of memory: its kubelet ends the pod, whose object lies about until somebody cleans it up.
pub fn evict(world: &mut World, key: &Key) {
    let message = "The node was low on resource: memory.";
    node::disrupt(world, key, "TerminationByKubelet", message);
    fail(world, key, "Evicted", message);
}

/// A pod fails as a whole, for good.
fn fail(world: &mut World, key: &Key, reason: &str, message: &str) {
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

/// Puts a pod on a node and makes it ready, without waiting for anything.
pub fn run_at_once(world: &mut World, key: &Key, node: &str) {
    let now = time::second(world.now_millis());
    world.modify::<Pod>(key, Write::Status, |pod| {
        if let Some(spec) = &mut pod.spec {
            spec.node_name = Some(node.to_owned());
        }
        let mut status = pod.status.take().unwrap_or_default();
        set(&mut status, "PodScheduled", true, None, &now);
        take(pod, &mut status, Step::Create, &now, "10.0.0.2");
        take(pod, &mut status, Step::Run, &now, "");
        pod.status = Some(status);
    });
}

fn take(pod: &Pod, status: &mut PodStatus, step: Step, now: &Time, address: &str) {
    match step {
        Step::Create => {
            status.start_time = Some(now.clone());
            status.host_ip = Some("10.0.0.1".to_owned());
            status.pod_ip = Some(address.to_owned());
            status.pod_ips = Some(vec![PodIP { ip: address.to_owned() }]);
            set(status, "Initialized", true, None, now);
            set(status, "Ready", false, Some(NOT_READY), now);
            set(status, "ContainersReady", false, Some(NOT_READY), now);
            status.container_statuses = Some(containers(pod, |container| {
                container.state = Some(waiting_for("ContainerCreating", None));
            }));
        }
        Step::Run => {
            let is_ready = matches!(fate(pod), Fate::Healthy | Fate::Slow | Fate::Flap | Fate::Linger);
            status.phase = Some("Running".to_owned());
            let running = ContainerState {
                running: Some(ContainerStateRunning { started_at: Some(now.clone()) }),
                ..ContainerState::default()
            };
            let before = status.container_statuses.take().unwrap_or_default();
            status.container_statuses = Some(containers(pod, |container| {
                let known = before.iter().find(|known| known.name == container.name);
                let has_run = known.is_some_and(|known| !known.image_id.is_empty());
                container.restart_count = known.map_or(0, |known| known.restart_count) + i32::from(has_run);
                container.last_state = known.and_then(ended);
                container.image_id.clone_from(&container.image);
                container.ready = is_ready;
                container.started = Some(true);
                container.state = Some(running.clone());
            }));
            if is_ready {
                become_ready(pod, status, now);
            }
        }
        Step::Gate => set(status, "Ready", true, None, now),
        Step::Flap => {
            let is_ready = meta::find(status, "Ready").is_some_and(|ready| ready.status == "True");
            for container in status.container_statuses.iter_mut().flatten() {
                container.ready = !is_ready;
            }
            if is_ready {
                set(status, "Ready", false, Some(NOT_READY), now);
                set(status, "ContainersReady", false, Some(NOT_READY), now);
            } else {
                become_ready(pod, status, now);
            }
        }
        Step::FailPull => {
            let image = image(pod);
            let why = format!("failed to pull {image}: not found");
            wait_for(status, "ErrImagePull", &why);
        }
        Step::BackOffPull => {
            let why = format!("Back-off pulling image {}", image(pod));
            wait_for(status, "ImagePullBackOff", &why);
        }
        Step::RefuseConfig => wait_for(status, "CreateContainerConfigError", "configmap \"settings\" not found"),
        Step::End => {
            let (exit_code, reason) = if fate(pod) == Fate::OutOfMemory { (137, "OOMKilled") } else { (1, "Error") };
            for container in status.container_statuses.iter_mut().flatten() {
                let started_at = container.state.as_ref().and_then(|state| state.running.as_ref()?.started_at.clone());
                let ended = ContainerStateTerminated {
                    exit_code,
                    reason: Some(reason.to_owned()),
                    started_at,
                    finished_at: Some(now.clone()),
                    ..ContainerStateTerminated::default()
                };
                let ended = Some(ContainerState { terminated: Some(ended), ..ContainerState::default() });
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
    set(status, "ContainersReady", true, None, now);
    match closed_gate(pod) {
        None => set(status, "Ready", true, None, now),
        Some(gate) => {
            let why = format!("corresponding condition of pod readiness gate {gate} does not exist.");
            set(status, "Ready", false, Some(("ReadinessGatesNotReady", &why)), now);
        }
    }
}

fn set(status: &mut PodStatus, r#type: &str, is_true: bool, why: Option<(&str, &str)>, now: &Time) {
    let condition = PodCondition {
        type_: r#type.to_owned(),
        status: if is_true { "True" } else { "False" }.to_owned(),
        reason: why.map(|(reason, _)| reason.to_owned()),
        message: why.map(|(_, message)| message.to_owned()),
        last_transition_time: Some(now.clone()),
        ..PodCondition::default()
    };
    meta::set_condition(status, condition);
}

fn waiting_for(reason: &str, message: Option<&str>) -> ContainerState {
    let waiting = ContainerStateWaiting { reason: Some(reason.to_owned()), message: message.map(str::to_owned) };
    ContainerState { waiting: Some(waiting), ..ContainerState::default() }
}

/// A kubelet's words about a container that it will start again.
fn crash_loop(pod: &Pod, container: &ContainerStatus) -> String {
    let wait = duration(crash_back_off(container.restart_count));
    format!("back-off {wait} restarting failed container={} pod={}", container.name, long_name(pod))
}

/// A pod as kubelets name it.
fn long_name(pod: &Pod) -> String {
    let key = Key::of(&pod.metadata);
    format!("{}_{}({})", key.name, key.namespace, pod.metadata.uid.as_deref().unwrap_or_default())
}

fn wait_for(status: &mut PodStatus, reason: &str, message: &str) {
    for container in status.container_statuses.iter_mut().flatten() {
        container.state = Some(waiting_for(reason, Some(message)));
        container.ready = false;
    }
}

/// How a container ended the last time.
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

/// The Events that a kubelet writes about a step.
fn say(world: &mut World, pod: &Pod, step: Step) {
    if !world.settings.has_container_events {
        return;
    }
    let (name, image) = match pod.spec.as_ref().and_then(|spec| spec.containers.first()) {
        Some(container) => (container.name.clone(), container.image.clone().unwrap_or_default()),
        None => return,
    };
    let about =
        |reason, message: String| NewEvent::about::<Pod>(&pod.metadata, COMPONENT, reason, message).of_container(&name);
    match step {
        Step::Create => world.record_event(about("Pulling", format!("Pulling image \"{image}\""))),
        Step::Run if waiting(pod) == "ContainerCreating" => {
            let message = format!(
                "Successfully pulled image \"{image}\" in 812ms (812ms including waiting). Image size: 27194366 bytes."
            );
            world.record_event(about("Pulled", message));
            world.record_event(about("Created", "Container created".to_owned()));
            world.record_event(about("Started", "Container started".to_owned()));
        }
        Step::Run => {
            world.record_event(about(
                "Pulled",
                format!("Container image \"{image}\" already present on machine and can be accessed by the pod"),
            ));
            world.record_event(about("Started", "Container started".to_owned()));
        }
        Step::FailPull => {
            world.record_event(about("Failed", format!("Failed to pull image \"{image}\": not found")).warning());
            world.record_event(about("Failed", "Error: ErrImagePull".to_owned()).warning());
        }
        Step::BackOffPull => {
            world.record_event(about("BackOff", format!("Back-off pulling image \"{image}\"")));
            world.record_event(about("Failed", "Error: ImagePullBackOff".to_owned()).warning());
        }
        Step::RefuseConfig => {
            world.record_event(about("Failed", "Error: configmap \"settings\" not found".to_owned()).warning())
        }
        Step::End if meta::restarts(pod) > 0 => {
            let message = format!("Back-off restarting failed container {name} in pod {}", long_name(pod));
            world.record_event(about("BackOff", message).warning());
        }
        Step::Flap if meta::is_ready(pod) => {
            world.record_event(
                about("Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503".to_owned())
                    .warning(),
            );
        }
        Step::End | Step::Flap | Step::Gate | Step::Remove => {}
    }
}

/// A pod begins to go.
pub fn killing(world: &mut World, pod: &Pod) {
    if world.settings.has_container_events && is_running(pod) {
        let names: Vec<String> =
            pod.spec.iter().flat_map(|spec| &spec.containers).map(|container| container.name.clone()).collect();
        for name in names {
            let event =
                NewEvent::about::<Pod>(&pod.metadata, COMPONENT, "Killing", format!("Stopping container {name}"));
            world.record_event(event.of_container(&name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_five_minutes() {
        let waits = |most| (1..=most).map(|restarts| duration(crash_back_off(restarts))).collect::<Vec<_>>();
        assert_eq!(waits(7), ["10s", "20s", "40s", "1m20s", "2m40s", "5m0s", "5m0s"]);
        assert_eq!(crash_back_off(i32::MAX), MAX_BACK_OFF_MILLIS);
    }

    #[test]
    fn an_image_is_tried_less_and_less_often() {
        let mut age = 3_000;
        let waits: Vec<i64> = std::iter::repeat_with(|| {
            let wait = pull_back_off(age);
            age += wait + 1_500;
            wait
        })
        .take(7)
        .collect();
        assert_eq!(waits.first(), Some(&BACK_OFF_MILLIS));
        assert!(waits.is_sorted() && waits.ends_with(&[MAX_BACK_OFF_MILLIS]), "{waits:?}");
    }
}
