//! A container of a pod: its role in the pod, its state, and how it ended.

use serde::{Deserialize, Serialize};

use crate::Millis;

/// Number of exits from which on crashes count as a loop.
pub const LOOP_EXITS: u32 = 2;
/// The kubelet forgets exits before a run of this length, whatever its longest back-off is.
pub const FORGETS_MILLIS: Millis = 600_000;
/// Minimum time without an exit after which a container has recovered.
const RECOVERS_MILLIS: Millis = 60_000;
/// The kubelet's first back-off, after the second exit; it doubles with each exit. The kubelet's configuration (`crashLoopBackOff`) can
/// shorten it, but not lengthen it.
const FIRST_BACK_OFF_MILLIS: Millis = 10_000;
/// The kubelet's longest back-off.
pub const LONGEST_BACK_OFF_MILLIS: Millis = 300_000;

/// A container and its status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    /// `name`.
    pub name: String,
    /// Its role in the pod.
    pub role: Role,
    /// `state`; `None` when `containerStatuses` does not mention it.
    pub state: Option<ContainerState>,
    /// `restartCount`.
    pub restarts: u32,
    /// It ended, and its own restart policy does not start it again.
    pub is_final: bool,
    /// The kubelet restarts all containers of its pod if it ends with certain exit codes (`restartPolicyRules`).
    pub restarts_all: bool,
    /// Its last end: `state.terminated`, else `lastState.terminated`. Boxed, as most containers have none.
    pub last_exit: Option<Box<Exit>>,
    /// For a container that ended since its last restart: the end before that restart, `lastState.terminated`. `None` otherwise.
    pub exit_before_restart: Option<Box<Exit>>,
    /// `running.startedAt`, the kubelet's clock.
    pub started_millis: Option<Millis>,
    /// `started` is false: its startup probe has not passed.
    pub is_in_startup: bool,
    /// The image that it waits for; empty if it does not wait for an image.
    pub waits_for_image: String,
    /// Number of earlier ends that were observed; 0 in a fact.
    pub exits_before: u32,
    /// Arrival of the first restart since the pod is known, and whether it was observed when it happened; `None` in a fact.
    pub first_restart: Option<(Millis, bool)>,
}

impl Container {
    /// Creates a container without a status.
    pub fn new(name: String, role: Role) -> Self {
        Self { name, role, ..Self::default() }
    }

    /// Returns reason and message of a waiting container; `None` for others.
    pub fn waiting(&self) -> Option<(&str, &str)> {
        let Some(ContainerState::Waiting { reason, message }) = &self.state else { return None };
        Some((reason, message))
    }

    /// Counts the observed ends: each restart follows an exit, and a container that ran and does not run ended once more. If the kubelet
    /// cannot find a container any more, or removed it, the restart is counted together with the end (`convertToAPIContainerStatuses` in
    /// `kubelet_pods.go`).
    pub fn exits(&self) -> u32 {
        let is_counted =
            |exit: &Exit| self.restarts > 0 && matches!(exit.reason.as_str(), STATUS_UNKNOWN | RESTARTING_ALL);
        let is_ended = self.state != Some(ContainerState::Running)
            && self.last_exit.as_ref().is_some_and(|exit| !is_counted(exit));
        self.restarts.saturating_add(u32::from(is_ended)).max(self.exits_before)
    }

    /// Returns the container as it was after its last restart, without a later end.
    pub fn as_restarted(&self) -> Self {
        let last_exit = self.exit_before_restart.as_ref().or(self.last_exit.as_ref()).cloned();
        Self { last_exit, exit_before_restart: None, ..self.clone() }
    }

    /// Counts the restarts since `before`, in a pod that `is_over` or not. A status that was reset and then restored contains no new
    /// restarts, and its present end is not a restart.
    pub fn restarts_since(&self, before: &Self, is_over: bool) -> u32 {
        let ends = self.exits() - self.restarts;
        let counted = before.restarts.max(before.exits_before.saturating_sub(ends));
        self.restarts.saturating_sub(counted + u32::from(self.is_lost(is_over)))
    }

    /// Returns whether the last restart was counted but never happened: the kubelet lost the container while it ran
    /// (`convertToAPIContainerStatuses` in `kubelet_pods.go`), and its pod ended (`TerminatePod` in `status_manager.go`). Until the end is
    /// written the container waits, in a pod that `is_over` and starts nothing any more.
    pub fn is_lost(&self, is_over: bool) -> bool {
        let is_unknown = |reason: &str| reason == STATUS_UNKNOWN;
        let is_missing = match &self.state {
            Some(ContainerState::Terminated { reason, .. }) => is_unknown(reason),
            Some(ContainerState::Running) => false,
            Some(ContainerState::Waiting { .. }) | None => is_over,
        };
        is_missing && self.restarts > 0 && self.last_exit.as_ref().is_some_and(|exit| is_unknown(&exit.reason))
    }

    /// Returns whether the container ended repeatedly, each time after a short run.
    pub fn ends_again_and_again(&self) -> bool {
        let ran_millis = self.last_exit.as_ref().and_then(|exit| exit.ran_millis);
        self.exits() >= LOOP_EXITS && ran_millis.is_none_or(|ran| ran < FORGETS_MILLIS)
    }

    /// Returns the run time after which the container has recovered from its ends.
    pub fn recovers_after_millis(&self) -> Millis {
        let doublings = self.exits().saturating_sub(LOOP_EXITS).min(5);
        let back_off = (FIRST_BACK_OFF_MILLIS << doublings).min(LONGEST_BACK_OFF_MILLIS);
        back_off.max(RECOVERS_MILLIS)
    }
}

/// The reason of a container that the kubelet cannot find any more.
pub const STATUS_UNKNOWN: &str = "ContainerStatusUnknown";
/// The reason of containers that are removed and started again with all others of their pod (`restartPolicyRules`).
pub const RESTARTING_ALL: &str = "RestartingAllContainers";

/// The end of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// `exitCode`.
    pub code: i32,
    /// `reason` (Completed, Error, OOMKilled, …); empty when absent.
    pub reason: String,
    /// `finishedAt`, the kubelet's clock.
    pub finished_millis: Option<Millis>,
    /// Run time: from `startedAt` to `finishedAt`.
    pub ran_millis: Option<Millis>,
    /// `message` of a container that could not be started; empty for others.
    pub message: String,
}

impl Exit {
    /// Returns whether the end of the container was not observed, so that its exit code is made up: the kubelet writes
    /// 137 for a container that it cannot find any more or that it removes to start all of a pod again, and containerd
    /// 255 for one that ran before its node was started again.
    pub fn is_unseen(&self) -> bool {
        let (reason, code) = (self.reason.as_str(), self.code);
        matches!((reason, code), (STATUS_UNKNOWN | RESTARTING_ALL, _) | ("Unknown", 255))
    }

    /// Returns whether the reason is one of containers whose first process could not be started.
    pub fn is_start_error(reason: &str) -> bool {
        matches!(reason, "StartError" | "ContainerCannotRun")
    }
}

/// The part of a container in its pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Runs to completion before the app containers.
    Init,
    /// An init container with restartPolicy Always: counts as an app container.
    Sidecar,
    /// An app container.
    #[default]
    App,
}

impl Role {
    /// Returns the role of the container in plain words.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Sidecar => "sidecar",
            Self::App => "app",
        }
    }
}

/// A container's state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContainerState {
    /// Not running yet or again.
    Waiting {
        /// `waiting.reason`; empty when absent.
        reason: String,
        /// `message`; empty when absent.
        message: String,
    },
    /// Its first process runs.
    Running,
    /// It ended.
    Terminated {
        /// `terminated.exitCode`.
        exit_code: i32,
        /// `terminated.reason` (Completed, Error, OOMKilled, …); empty when absent.
        reason: String,
        /// `message`; empty when absent.
        message: String,
    },
}
