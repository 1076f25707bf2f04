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
//! A pod with probes, init containers, volumes or arguments that its program knows lives in detail: see [`detailed`].
//!
//! The delays are those of the KWOK stages in `end2end/cluster/stages.yaml`, so that both clusters can be compared; but what fails again
//! and again is tried again after 10, 20, 40, … seconds, as a kubelet does it.

mod detailed;
mod events;
mod pod;
mod status;

use k8s_openapi::api::core::v1::Pod;

pub use self::events::killing;
use self::events::record_step;
use self::pod::{behavior, closed_gate, is_running, waiting};
use self::status::{OUT_OF_CPU, apply_step, fail};
use crate::agenda::Task;
use crate::meta::set_condition;
use crate::object::{Key, Resource};
use crate::runtime::{Behavior, Plan, Step, crash_back_off, is_detailed, pull_back_off};
use crate::world::Write;
use crate::{World, meta, time};

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
        (_, true, _) => (!meta::is_ready(pod) && closed_gate(pod).is_none()).then_some((Step::Gate, 100, 100)),
    }
}

impl World {
    fn pick_address(&mut self) -> String {
        format!("10.{}.{}.{}", self.random.u8(0..250), self.random.u8(..), self.random.u8(1..))
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
    if is_detailed(pod) {
        if is_alive {
            detailed::plan(world, pod);
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
    world.schedule_between(from, to, Task::Kubelet(Key::of(&pod.metadata), number));
}

/// Does the step that was planned for a pod under this number, unless another plan took its place or its node is lost.
pub fn run_step(world: &mut World, key: &Key, number: u64) {
    let Some(pod) = world.get::<Pod>(key) else { return };
    if is_detailed(&pod) {
        if is_alive(world, meta::node_of(&pod).unwrap_or_default()) {
            detailed::sync_pod(world, &pod, number);
        }
        return;
    }
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    let Some(step) = world.plans.get(&uid).filter(|plan| plan.number == number).map(|plan| plan.step) else { return };
    world.plans.remove(&uid);
    if world.silent.contains_key(meta::node_of(&pod).unwrap_or_default()) {
        return;
    }
    if step == Step::Create && behavior(&pod) == Behavior::Refused && world.random.bool() {
        return fail(world, key, "OutOfcpu", OUT_OF_CPU);
    }
    if step == Step::Remove {
        world.remove(Resource::Pod, key);
        return;
    }
    record_step(world, &pod, step);
    let now = time::second(world.now_millis());
    let address = world.pick_address();
    world.modify::<Pod>(key, Write::Status, |pod| {
        let mut status = pod.status.take().unwrap_or_default();
        apply_step(pod, &mut status, step, &now, &address);
        pod.status = Some(status);
    });
    // Two steps within a second may leave the same object; nothing would wake the next one.
    if let Some(pod) = world.get::<Pod>(key) {
        plan(world, &pod);
    }
}

/// Ends a pod because its node runs out of memory; its object stays until somebody deletes it.
pub fn evict(world: &mut World, key: &Key) {
    let message = "The node was low on resource: memory.";
    world.mark_disrupted(key, "TerminationByKubelet", message);
    fail(world, key, "Evicted", message);
}

/// Puts a pod on a node and makes it ready, without waiting for anything.
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
