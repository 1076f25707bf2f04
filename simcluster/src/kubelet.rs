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
//! A pod with probes, init containers, volumes or arguments that its program knows lives in detail: see [`life`].
//!
//! The delays are those of the KWOK stages in `end2end/cluster/stages.yaml`, so that both clusters can be compared; but what fails again
//! and again is tried again after 10, 20, 40, … seconds, as a kubelet does it.

mod back_off;
mod config;
mod events;
mod fate;
mod life;
mod probe;
mod program;
mod status;

use k8s_openapi::api::core::v1::{ContainerState, Pod};

pub use self::events::killing;
use self::events::say;
pub use self::fate::Fate;
pub use self::life::Lives;
use self::status::{set, take};
use crate::agenda::Task;
use crate::controller::node;
use crate::object::{Key, Resource};
use crate::world::Write;
use crate::{World, meta, time};

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

fn is_alive(world: &World, node: &str) -> bool {
    !world.silent.contains_key(node) && world.store.get(Resource::Node, &Key::new("", node)).is_some()
}

/// Plans what happens next to a pod, unless that is planned already or nobody is there to do it.
pub fn plan(world: &mut World, pod: &Pod) {
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    let node = meta::node_of(pod).unwrap_or_default();
    let is_alive = is_alive(world, node);
    if program::is_detailed(pod) {
        if is_alive {
            life::plan(world, pod);
        }
        return;
    }
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
    if program::is_detailed(&pod) {
        if is_alive(world, meta::node_of(&pod).unwrap_or_default()) {
            life::act(world, &pod, number);
        }
        return;
    }
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    let Some(step) = world.plans.get(&uid).filter(|plan| plan.number == number).map(|plan| plan.step) else { return };
    world.plans.remove(&uid);
    if world.silent.contains_key(meta::node_of(&pod).unwrap_or_default()) {
        return;
    }
    if step == Step::Create && fate(&pod) == Fate::Refused && world.random.bool() {
        return fail(world, key, "OutOfcpu", OUT_OF_CPU);
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

const OUT_OF_CPU: &str =
    "Pod was rejected: Node didn't have enough resource: cpu, requested: 500, used: 1800, capacity: 2000";

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

/// A pod as kubelets name it.
fn long_name(pod: &Pod) -> String {
    let key = Key::of(&pod.metadata);
    format!("{}_{}({})", key.name, key.namespace, pod.metadata.uid.as_deref().unwrap_or_default())
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
