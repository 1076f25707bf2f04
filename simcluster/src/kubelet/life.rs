//! Pods of which more is asked than a few steps: probes, init containers, sidecars, volumes, programs that end. A small kubelet that works as
//! the real one does, in rounds: what it sees of its containers is written as the pod's status, then it does what is next. So a status tells
//! what the round before found out, and Events come before it (recorded of a kubelet 1.36).
//!
//! ```text
//!  bound ─► volumes mounted ─► sandbox ─► init containers, one after the other ─► containers ⇄ probes
//!             │ again after 0.5, 1, 2, … s      │ image, configuration, start: again after 10, 20, 40, … s
//! ```

mod begin;
mod end;
mod round;
mod says;
mod told;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{ConfigMap, Container, Pod, PodStatus};

use super::back_off::BackOff;
use super::probe::{Kind, Probe};
use super::program::Program;
use super::{Fate, config, fail, fate};
use crate::agenda::Task;
use crate::events::NewEvent;
use crate::object::{Key, Resource};
use crate::world::Write;
use crate::{World, meta};

/// What a kubelet knows of its pods, by their UID.
pub type Lives = BTreeMap<String, Life>;

/// Something that will happen to a pod. The index is that of a container; the run tells it from what was planned for an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// The volumes are tried.
    Mount,
    /// The sandbox is there.
    Sandbox,
    /// The image is there, or refused.
    Pulled(usize, u32),
    /// A container runs.
    Started(usize, u32),
    /// A program ends by itself.
    Exit(usize, u32),
    /// A program that was asked to end does, or is killed.
    Killed(usize, u32),
    /// A probe asks.
    Probe(usize, u32, Kind),
    /// A round.
    Round,
    /// The pod may go.
    Gone,
}

/// What a container does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Now {
    /// It was never started.
    Waiting,
    /// Its image is pulled, or it is created.
    Starting,
    /// It runs, since then.
    Running(i64),
    /// It runs since then and is asked to end, which it will do with this code.
    Ending(i64, i32),
    /// It ended.
    Over,
}

/// How a container ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Exit {
    code: i32,
    reason: &'static str,
    /// How often the container had been started again by then.
    restarts: i32,
    started: i64,
    finished: i64,
}

/// What a kubelet knows of a container.
#[derive(Debug)]
struct Known {
    name: String,
    image: String,
    is_init: bool,
    /// An init container that stays.
    is_sidecar: bool,
    is_always_pulled: bool,
    needs: Vec<String>,
    program: Program,
    probes: Vec<Probe>,
    now: Now,
    run: u32,
    /// How it ended the last times, the latest one last.
    exits: Vec<Exit>,
    restarts: i32,
    has_run: bool,
    has_image: bool,
    is_started: bool,
    is_ready: bool,
    /// Why it does not run, as the round before found out.
    reason: Option<(&'static str, String)>,
    /// The probe that wants it killed.
    must_end: Option<Kind>,
    back_off: Option<BackOff>,
    pull_back_off: Option<BackOff>,
}

impl Known {
    /// Whether the next ones wait for it: it has to end well, or to have started.
    fn holds_up(&self) -> bool {
        match self.now {
            Now::Running(_) => !self.is_sidecar || !self.is_started,
            Now::Over => self.is_sidecar || self.exits.last().is_none_or(|exit| exit.code != 0),
            Now::Waiting | Now::Starting | Now::Ending(..) => true,
        }
    }

    const fn is_alive(&self) -> bool {
        matches!(self.now, Now::Running(_) | Now::Ending(..))
    }
}

/// What a kubelet knows of a pod.
#[derive(Debug)]
pub struct Life {
    timers: BTreeSet<(i64, Timer)>,
    /// When it wakes up next, and the number of that plan.
    wakes: Option<(i64, u64)>,
    began: i64,
    address: String,
    is_mounted: bool,
    mount_tries: u32,
    has_sandbox: bool,
    /// It is being deleted: until when it has to be over.
    stops: Option<i64>,
    /// Nothing of it runs any more.
    is_over: bool,
    /// Its object may go, as soon as no finalizer holds it.
    is_let_go: bool,
    containers: Vec<Known>,
}

/// What surrounds a pod while its kubelet works on it, and what comes of that.
struct Around<'w> {
    pod: &'w Pod,
    now: i64,
    random: &'w mut fastrand::Rng,
    config_maps: BTreeSet<String>,
    /// What is to be said.
    events: Vec<NewEvent>,
    /// What is to be written.
    status: Option<PodStatus>,
    is_gone: bool,
}

impl Around<'_> {
    fn between(&mut self, from: i64, to: i64) -> i64 {
        self.now + self.random.i64(from..=to)
    }
}

impl Life {
    fn new(pod: &Pod, now: i64, address: String) -> Self {
        let spec = pod.spec.clone().unwrap_or_default();
        let init = spec.init_containers.iter().flatten().map(|container| (container, true));
        let all = init.chain(spec.containers.iter().map(|container| (container, false)));
        let is_sidecar = |container: &Container| container.restart_policy.as_deref() == Some("Always");
        let containers = all.map(|(container, is_init)| Known {
            name: container.name.clone(),
            image: container.image.clone().unwrap_or_default(),
            is_init,
            is_sidecar: is_init && is_sidecar(container),
            is_always_pulled: container.image_pull_policy.as_deref() == Some("Always"),
            needs: config::of_container(container).map(str::to_owned).collect(),
            program: Program::of(container, is_init && !is_sidecar(container)),
            probes: Probe::of(container, &address),
            now: Now::Waiting,
            run: 0,
            exits: Vec::new(),
            restarts: 0,
            has_run: false,
            has_image: false,
            is_started: false,
            is_ready: false,
            reason: None,
            must_end: None,
            back_off: None,
            pull_back_off: None,
        });
        Self {
            timers: BTreeSet::from([(now, Timer::Round), (now, Timer::Mount)]),
            wakes: None,
            began: now,
            containers: containers.collect(),
            address,
            is_mounted: false,
            mount_tries: 0,
            has_sandbox: false,
            stops: None,
            is_over: false,
            is_let_go: false,
        }
    }

    fn at(&mut self, millis: i64, timer: Timer) {
        self.timers.insert((millis, timer));
    }

    fn happen(&mut self, timer: Timer, around: &mut Around<'_>) {
        match timer {
            Timer::Mount => self.mount(around),
            Timer::Sandbox => {
                self.has_sandbox = true;
                self.work(around);
                let soon = around.between(50, 300);
                self.at(soon, Timer::Round);
            }
            Timer::Pulled(index, run) => self.pulled(index, run, around),
            Timer::Started(index, run) => self.started(index, run, around),
            Timer::Exit(index, run) => self.exited(index, run, around),
            Timer::Killed(index, run) => self.killed(index, run, around),
            Timer::Probe(index, run, kind) => self.ask(index, run, kind, around),
            Timer::Round => {
                around.status = Some(told::status(self, around.pod, around.now));
                if self.stops.is_some() { self.stop_next(around) } else { self.work(around) }
            }
            Timer::Gone => {
                self.is_let_go = true;
                around.is_gone = true;
            }
        }
    }

    fn run(&mut self, index: usize, run: u32) -> Option<&mut Known> {
        self.containers.get_mut(index).filter(|known| known.run == run)
    }
}

fn is_held(pod: &Pod) -> bool {
    pod.metadata.finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty())
}

/// Plans when the kubelet looks at a pod next. A pod that is new to it begins a little later.
pub(super) fn plan(world: &mut World, pod: &Pod) {
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    let now = world.now_millis();
    if meta::is_finished(pod) && !meta::is_deleting(&pod.metadata) {
        world.lives.remove(&uid);
        return;
    }
    if !world.lives.contains_key(&uid) {
        let begins = now + world.random.i64(30..=120);
        let address = format!("10.{}.{}.{}", world.random.u8(0..250), world.random.u8(..), world.random.u8(1..));
        world.lives.insert(uid.clone(), Life::new(pod, begins, address));
    }
    let Some(life) = world.lives.get_mut(&uid) else { return };
    life.heed(pod, now);
    wake(world, &uid, Key::of(&pod.metadata));
}

fn wake(world: &mut World, uid: &str, key: Key) {
    let now = world.now_millis();
    let Some(life) = world.lives.get_mut(uid) else { return };
    let due = life.timers.first().map(|(at, _)| (*at).max(now));
    if life.wakes.map(|(at, _)| at) == due && due.is_some_and(|due| due > now) {
        return;
    }
    world.plan_count += 1;
    life.wakes = due.map(|at| (at, world.plan_count));
    if let Some((at, number)) = life.wakes {
        world.agenda.add(at, Task::Kubelet(key, number));
    }
}

/// The kubelet looks at a pod: everything that is due happens.
pub(super) fn act(world: &mut World, pod: &Pod, number: u64) {
    let key = Key::of(&pod.metadata);
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    let now = world.now_millis();
    let Some(life) = world.lives.get_mut(&uid).filter(|life| life.wakes.is_some_and(|(_, of)| of == number)) else {
        return;
    };
    life.wakes = None;
    if fate(pod) == Fate::Refused && !life.has_sandbox && life.mount_tries == 0 && world.random.bool() {
        return fail(world, &key, "OutOfcpu", super::OUT_OF_CPU);
    }
    let config_maps = world.store.all::<ConfigMap>(Some(&key.namespace)).filter_map(|map| map.metadata.name.clone());
    let config_maps = config_maps.collect();
    let Some(life) = world.lives.get_mut(&uid) else { return };
    let random = &mut world.random;
    let mut around = Around { pod, now, random, config_maps, events: Vec::new(), status: None, is_gone: false };
    while life.timers.first().is_some_and(|(at, _)| *at <= now)
        && let Some((_, timer)) = life.timers.pop_first()
    {
        life.happen(timer, &mut around);
    }
    let Around { events, status, is_gone, .. } = around;
    if world.settings.has_container_events {
        events.into_iter().for_each(|event| world.record_event(event));
    }
    if let Some(status) = status {
        world.modify::<Pod>(&key, Write::Status, |pod| pod.status = Some(status));
    }
    if is_gone && !is_held(pod) {
        world.remove(Resource::Pod, &key);
        return;
    }
    wake(world, &uid, key);
}
