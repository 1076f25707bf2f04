//! The kubelets: they run the containers of pods. There are two kinds of pods:
//!
//! | pods | behavior | module |
//! |---|---|---|
//! | only a word in the first image | in a few steps, as KWOK plays them on the real control plane | [`simple`] |
//! | with probes, init containers, ConfigMaps, arguments that their programs know, a program that ends for good, or another container than the first that fails | in rounds, as with a real kubelet | [`detailed`] |
//!
//! The agenda has one entry for each pod, with the time of its kubelet's next step.

mod detailed;
mod pod;
mod simple;

use k8s_openapi::api::core::v1::Pod;

use self::pod::{fail, warn};
pub use self::simple::{killing, run_at_once};
use crate::object::{Key, Resource};
use crate::runtime::is_detailed;
use crate::{World, meta};

impl World {
    fn pick_address(&mut self) -> String {
        format!("10.{}.{}.{}", self.random.u8(0..250), self.random.u8(..), self.random.u8(1..))
    }
}

fn has_node(world: &World, pod: &Pod) -> bool {
    let node = meta::node_of(pod).unwrap_or_default();
    world.store.get(Resource::Node, &Key::new("", node)).is_some()
}

/// Plans the next step of a pod, unless it is planned already or the node is gone.
pub fn plan(world: &mut World, pod: &Pod) {
    if !has_node(world, pod) {
        return;
    }
    if is_detailed(pod) {
        detailed::plan(world, pod);
    } else {
        simple::plan(world, pod);
    }
}

/// Does the planned step of a pod, unless its node is gone.
pub fn run(world: &mut World, key: &Key) {
    let Some(pod) = world.get::<Pod>(key) else { return };
    if !has_node(world, &pod) {
        return;
    }
    if is_detailed(&pod) {
        detailed::sync_pod(world, &pod);
    } else {
        simple::run_step(world, &pod);
    }
}

/// Ends a pod because its node has too little memory; its object stays until somebody deletes it.
pub fn evict(world: &mut World, key: &Key) {
    let message = "The node was low on resource: memory.";
    warn(world, key, "Evicted", message);
    world.mark_disrupted(key, "TerminationByKubelet", message);
    fail(world, key, "Evicted", message);
}
