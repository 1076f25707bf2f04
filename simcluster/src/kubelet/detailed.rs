//! Pods that need more than a few steps: probes, init containers, sidecars, volumes, programs that end. A small kubelet that
//! works in rounds like the real one: it writes the observed state of the containers as the pod's status, then does the next
//! step. So a status shows the observations of the previous round, and Events precede it (recorded from a kubelet 1.36).
//!
//! ```text
//!  bound ─► volumes mounted ─► sandbox ─► init containers, one after the other ─► containers ⇄ probes
//!             │ again after 0.5, 1, 2, … s      │ image, configuration, start: again after 10, 20, 40, … s
//! ```

mod start;
mod status;
mod stop;

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, PodStatus};

use super::pod::{self, behavior, refuse};
use crate::agenda::Task;
use crate::events::NewEvent;
use crate::object::{Key, Resource};
use crate::runtime::{Behavior, ContainerRecord, PodRecord, Timer};
use crate::world::Write;
use crate::{World, meta};

/// Inputs and outputs of one sync of a pod.
struct SyncContext<'w> {
    pod: &'w Pod,
    now: i64,
    random: &'w mut fastrand::Rng,
    config_maps: BTreeSet<String>,
    events: Vec<NewEvent>,
    status: Option<PodStatus>,
    is_gone: bool,
}

impl SyncContext<'_> {
    fn record(&mut self, known: &ContainerRecord, reason: &'static str, message: String) {
        let event = self.event(known, reason, message);
        self.events.push(event);
    }

    fn warn(&mut self, known: &ContainerRecord, reason: &'static str, message: String) {
        let event = self.event(known, reason, message).warning();
        self.events.push(event);
    }

    fn event(&self, known: &ContainerRecord, reason: &'static str, message: String) -> NewEvent {
        let list = if known.is_init { "initContainers" } else { "containers" };
        pod::event(self.pod, reason, message).of_container(list, &known.name)
    }
}

impl PodRecord {
    /// Adds a timer with a random delay between two bounds.
    fn add_timer_between(&mut self, (from, to): (i64, i64), timer: Timer, context: &mut SyncContext<'_>) {
        let delay = context.random.i64(from..=to);
        self.add_timer(context.now + delay, timer);
    }

    fn run_timer(&mut self, timer: Timer, context: &mut SyncContext<'_>) {
        match timer {
            Timer::Mount => self.mount(context),
            Timer::Sandbox => {
                self.has_sandbox = true;
                self.start_containers(context);
                self.add_timer_between((50, 300), Timer::Round, context);
            }
            Timer::Pulled(index, run) => self.pulled(index, run, context),
            Timer::Started(index, run) => self.started(index, run, context),
            Timer::Exit(index, run) => self.exited(index, run, context),
            Timer::Killed(index, run) => self.killed(index, run, context),
            Timer::Probe(index, run, kind) => self.ask(index, run, kind, context),
            Timer::Round => {
                context.status = Some(status::status(self, context.pod, context.now));
                if self.stops.is_some() { self.stop_next(context) } else { self.start_containers(context) }
            }
            Timer::Gone => {
                self.is_let_go = true;
                context.is_gone = true;
            }
        }
    }
}

/// Plans the next sync of a pod. A pod that is new to the kubelet begins a little later.
pub(super) fn plan(world: &mut World, pod: &Pod) {
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    let now = world.now_millis();
    let is_known = world.pods.contains_key(&uid);
    // A finished pod that a finalizer keeps after its record is gone does not start again.
    if meta::is_finished(pod) && !(is_known && meta::is_deleting(&pod.metadata)) {
        world.pods.remove(&uid);
        return;
    }
    if !is_known {
        let begins = now + world.random.i64(30..=120);
        let address = world.pick_address();
        world.pods.insert(uid.clone(), PodRecord::new(pod, begins, address));
    }
    let Some(life) = world.pods.get_mut(&uid) else { return };
    life.react_to_change(pod, now);
    wake(world, &uid, Key::of(&pod.metadata));
}

/// Plans a sync of a pod at its next timer.
fn wake(world: &mut World, uid: &str, key: Key) {
    let now = world.now_millis();
    let Some(life) = world.pods.get(uid) else { return };
    let task = Task::Kubelet(key);
    match life.timers.first().map(|(at, _)| (*at).max(now)) {
        Some(due) if due > now && world.agenda.due_millis(&task) == Some(due) => {}
        Some(due) => world.agenda.set(due, task),
        None => world.agenda.remove(&task),
    }
}

/// Runs all due timers of a pod.
pub(super) fn sync_pod(world: &mut World, pod: &Pod) {
    let key = Key::of(&pod.metadata);
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    let now = world.now_millis();
    let Some(life) = world.pods.get(&uid) else { return };
    if behavior(pod) == Behavior::Refused && !life.has_sandbox && life.mount_tries == 0 && world.random.bool() {
        return refuse(world, &key);
    }
    let config_maps = world.store.all::<ConfigMap>(Some(&key.namespace)).filter_map(|map| map.metadata.name.clone());
    let config_maps = config_maps.collect();
    let Some(life) = world.pods.get_mut(&uid) else { return };
    let random = &mut world.random;
    let mut context = SyncContext { pod, now, random, config_maps, events: Vec::new(), status: None, is_gone: false };
    while life.timers.first().is_some_and(|(at, _)| *at <= now)
        && let Some((_, timer)) = life.timers.pop_first()
    {
        life.run_timer(timer, &mut context);
    }
    let SyncContext { events, status, is_gone, .. } = context;
    if world.settings.has_container_events {
        events.into_iter().for_each(|event| world.record_event(event));
    }
    if let Some(status) = status {
        world.modify::<Pod>(&key, Write::Status, |pod| pod.status = Some(status));
    }
    if is_gone && !meta::has_finalizers(&pod.metadata) {
        world.remove(Resource::Pod, &key);
        return;
    }
    wake(world, &uid, key);
}
