//! Records of a kubelet about its pods: the next step of simple pods, the timers and containers of detailed ones.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, Pod};

use super::back_off::BackOff;
use super::config_maps;
use super::probe::{Probe, ProbeKind};
use super::program::Program;

/// Next step of a kubelet for a simple pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
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

/// A future event of a pod. The index is that of a container; the run number invalidates timers of an earlier run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// The volumes are mounted.
    Mount,
    /// The sandbox is ready.
    Sandbox,
    /// The image is present or was refused.
    Pulled(usize, u32),
    /// A container started.
    Started(usize, u32),
    /// A program exits by itself.
    Exit(usize, u32),
    /// A program that was asked to end exits or is killed.
    Killed(usize, u32),
    /// A probe runs.
    Probe(usize, u32, ProbeKind),
    Round,
    /// The pod object may be removed.
    Gone,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContainerPhase {
    /// The container was never started.
    #[default]
    Waiting,
    /// The image is being pulled, or the container is being created.
    Starting,
    /// The container has been running since this time.
    Running(i64),
    /// The container has been running since this time and is being stopped; it will exit with this code.
    Ending(i64, i32),
    /// The container exited.
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit {
    pub code: i32,
    pub reason: &'static str,
    /// Number of restarts before this exit.
    pub restarts: i32,
    pub started: i64,
    pub finished: i64,
}

#[derive(Debug, Default)]
pub(crate) struct ContainerRecord {
    pub name: String,
    pub image: String,
    pub is_init: bool,
    /// Whether this is an init container that keeps running.
    pub is_sidecar: bool,
    pub is_always_pulled: bool,
    pub needs: Vec<String>,
    pub program: Program,
    pub probes: Vec<Probe>,
    pub now: ContainerPhase,
    pub run: u32,
    /// The last exits, the latest one last.
    pub exits: Vec<Exit>,
    pub restarts: i32,
    pub has_run: bool,
    pub has_image: bool,
    pub is_started: bool,
    pub is_ready: bool,
    /// Reason why the container does not run, as the previous round observed it.
    pub reason: Option<(&'static str, String)>,
    /// The failed probe because of which the container must be killed.
    pub must_end: Option<ProbeKind>,
    pub back_off: Option<BackOff>,
    pub pull_back_off: Option<BackOff>,
}

impl ContainerRecord {
    /// Returns whether the next containers wait for this one: it has to exit with 0, or to have started.
    pub fn holds_up(&self) -> bool {
        match self.now {
            ContainerPhase::Running(_) => !self.is_sidecar || !self.is_started,
            ContainerPhase::Over => self.is_sidecar || self.exits.last().is_none_or(|exit| exit.code != 0),
            ContainerPhase::Waiting | ContainerPhase::Starting | ContainerPhase::Ending(..) => true,
        }
    }

    pub const fn is_alive(&self) -> bool {
        matches!(self.now, ContainerPhase::Running(_) | ContainerPhase::Ending(..))
    }
}

#[derive(Debug, Default)]
pub(crate) struct PodRecord {
    pub timers: BTreeSet<(i64, Timer)>,
    pub began: i64,
    pub address: String,
    pub mount_tries: u32,
    pub has_sandbox: bool,
    /// Deadline of the deletion; `None` if the pod is not being deleted.
    pub stops: Option<i64>,
    /// Whether no container of the pod runs any more.
    pub is_over: bool,
    /// Whether the pod object may be removed, as soon as no finalizer blocks it.
    pub is_let_go: bool,
    pub containers: Vec<ContainerRecord>,
}

impl PodRecord {
    pub fn new(pod: &Pod, now: i64, address: String) -> Self {
        let spec = pod.spec.clone().unwrap_or_default();
        let init = spec.init_containers.iter().flatten().map(|container| (container, true));
        let all = init.chain(spec.containers.iter().map(|container| (container, false)));
        let is_sidecar = |container: &Container| container.restart_policy.as_deref() == Some("Always");
        let containers = all.map(|(container, is_init)| ContainerRecord {
            name: container.name.clone(),
            image: container.image.clone().unwrap_or_default(),
            is_init,
            is_sidecar: is_init && is_sidecar(container),
            is_always_pulled: container.image_pull_policy.as_deref() == Some("Always"),
            needs: config_maps::of_container(container).map(str::to_owned).collect(),
            program: Program::of(container, is_init && !is_sidecar(container)),
            probes: Probe::of(container, &address),
            ..ContainerRecord::default()
        });
        Self {
            timers: BTreeSet::from([(now, Timer::Round), (now, Timer::Mount)]),
            began: now,
            containers: containers.collect(),
            address,
            ..Self::default()
        }
    }

    pub fn add_timer(&mut self, millis: i64, timer: Timer) {
        self.timers.insert((millis, timer));
    }

    pub fn run(&mut self, index: usize, run: u32) -> Option<&mut ContainerRecord> {
        self.containers.get_mut(index).filter(|known| known.run == run)
    }
}
