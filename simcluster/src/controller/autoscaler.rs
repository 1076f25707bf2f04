//! A cluster autoscaler. Adds a node for pods that no node fits, if a new node would fit them, and removes its nodes when they
//! are empty. Its Events are those of the cluster-autoscaler.

use k8s_openapi::api::core::v1::{Node, Pod};

use crate::agenda::Task;
use crate::events::NewEvent;
use crate::object::{Key, Kind, Resource};
use crate::scheduler::refusals_of;
use crate::world::Pool;
use crate::{World, meta, node};

const COMPONENT: &str = "cluster-autoscaler";
/// Interval of its rounds while there is work (`--scan-interval`).
const ROUND_MILLIS: i64 = 5_000;
/// Time for which a node must be empty before it is removed.
const EMPTY_MILLIS: i64 = 30_000;

impl World {
    /// Schedules a round of the autoscaler soon, because a pod found no node.
    pub(crate) fn wake_autoscaler(&mut self) {
        if self.settings.pool.is_some() {
            self.agenda.add(self.now_millis + ROUND_MILLIS, Task::Autoscaler);
        }
    }
}

pub(crate) fn round(world: &mut World) {
    let Some(pool) = world.settings.pool.clone() else { return };
    let names = world.store.all::<Node>(None).filter_map(|node| node.metadata.name.clone());
    let nodes: Vec<String> = names.filter(|name| pool.has_node(name)).collect();
    scale_up(world, &pool, &nodes);
    scale_down(world, &nodes);
    if !nodes.is_empty() || world.autoscaler.boots.is_some() {
        world.agenda.add(world.now_millis + ROUND_MILLIS, Task::Autoscaler);
    }
}

fn scale_up(world: &mut World, pool: &Pool, nodes: &[String]) {
    let waiting: Vec<Pod> = world.unschedulable.iter().filter_map(|key| world.get::<Pod>(key)).collect();
    let uid = |pod: &Pod| pod.metadata.uid.clone().unwrap_or_default();
    world.autoscaler.told.retain(|known, _| waiting.iter().any(|pod| uid(pod) == *known));
    let is_full = nodes.len() >= pool.most;
    let mut is_wanted = false;
    for pod in &waiting {
        let why = refused(pod, pool, is_full);
        let is_known = world.autoscaler.told.get(&uid(pod)) == Some(&why.is_none());
        is_wanted |= why.is_none();
        if is_known || (world.autoscaler.boots.is_some() && why.is_none()) {
            continue;
        }
        let (reason, message) = match why {
            Some(why) => ("NotTriggerScaleUp", format!("pod didn't trigger scale-up: 1 {why}")),
            None => {
                let (name, from) = (&pool.name, nodes.len());
                let message = format!("pod triggered scale-up: [{{{name} {from}->{} (max: {})}}]", from + 1, pool.most);
                ("TriggeredScaleUp", message)
            }
        };
        world.autoscaler.told.insert(uid(pod), reason == "TriggeredScaleUp");
        world.record_event(NewEvent::about::<Pod>(&pod.metadata, COMPONENT, reason, message));
    }
    if is_wanted && world.autoscaler.boots.is_none() {
        let free = (1..).map(|number| format!("{}-{number}", pool.name)).find(|name| !nodes.contains(name));
        let name = free.unwrap_or_default();
        world.autoscaler.boots = Some(name.clone());
        world.agenda.add(world.now_millis + pool.boot_millis, Task::Boot(name));
    }
}

/// Returns the reason why a new node of the pool would not fit a pod.
fn refused(pod: &Pod, pool: &Pool, is_full: bool) -> Option<String> {
    let mut new = node::new_node(&format!("{}-new", pool.name));
    node::set_ready(&mut new, &crate::time::second(0));
    let spec = pod.spec.clone().unwrap_or_default();
    let why = refusals_of(&new, &spec, &[]).into_iter().next();
    why.or_else(|| is_full.then(|| "max node group size reached".to_owned()))
}

pub(crate) fn boot(world: &mut World, name: &str) {
    world.autoscaler.boots = None;
    world.autoscaler.told.clear();
    world.put(node::new_node(name).into_object());
    world.agenda.add(world.now_millis + ROUND_MILLIS, Task::Autoscaler);
}

fn scale_down(world: &mut World, nodes: &[String]) {
    let now = world.now_millis();
    world.autoscaler.empty.retain(|name, _| nodes.contains(name));
    for name in nodes {
        if world.store.pods_on(name).any(|pod| !meta::is_finished(pod)) {
            world.autoscaler.empty.remove(name);
            continue;
        }
        let since = *world.autoscaler.empty.entry(name.clone()).or_insert(now);
        if now - since < EMPTY_MILLIS {
            continue;
        }
        let key = Key::new("", name);
        if let Some(node) = world.get::<Node>(&key) {
            let message = "nodes removed by cluster autoscaler".to_owned();
            world.record_event(NewEvent::about::<Node>(&node.metadata, COMPONENT, "ScaleDown", message));
        }
        world.delete_if_there(Resource::Node, &key);
    }
}
