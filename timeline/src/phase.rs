//! The state of a pod: one function of the object, plus one timer (`minReadySeconds`).
//!
//! ```text
//!  scheduling ─► starting ─► unready ⇄ ready ─(minReadySeconds)─► available ─► terminating ─► gone
//!                    └────────► failing ◄───────┘                 finished ─────────┘
//! ```
//! The phase alone lies: a terminating pod stays Running and even Ready until it is gone, and a crash-looping pod is
//! Running most of the time. The order of the rules in [`read`] is therefore the meaning.

use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::fact::{Container, ContainerState, Exit, Phase, PodFact, Role, Truth};

/// What a pod is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PodState {
    /// Has no node yet.
    Scheduling,
    /// Has a node; containers are being made.
    Starting,
    /// Every app container runs, the pod is not Ready.
    Unready,
    /// Ready, and `minReadySeconds` still runs: does not count yet.
    Ready,
    /// Ready for at least `minReadySeconds`: counts.
    Available,
    /// A container cannot start, crashes, or the pod failed.
    Failing,
    /// Ended well.
    Finished,
    /// Asked to go; its containers are shutting down.
    Terminating,
    /// No longer exists.
    Gone,
}

impl PodState {
    /// The state's name as the document, class names and test ids spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scheduling => "scheduling",
            Self::Starting => "starting",
            Self::Unready => "unready",
            Self::Ready => "ready",
            Self::Available => "available",
            Self::Failing => "failing",
            Self::Finished => "finished",
            Self::Terminating => "terminating",
            Self::Gone => "gone",
        }
    }

    /// The state in plain words.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Unready => "running, not ready",
            Self::Ready => "ready, not yet counted",
            other => other.name(),
        }
    }
}

/// What one look at a pod says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Its state, `Ready` and `Available` not yet told apart (see [`Reading::ready_since_millis`]).
    pub state: PodState,
    /// The reason shown beside the state; empty when there is nothing to say.
    pub reason: String,
    /// The message behind the reason; empty when there is none.
    pub message: String,
    /// For a ready pod: since when, by the kubelet's clock.
    pub ready_since_millis: Option<Millis>,
    /// Sum of the containers' restarts.
    pub restarts: u32,
    /// How a container ended last, when that was not well.
    pub last_exit: Option<Exit>,
}

/// Reads a pod's state. A ready pod reads as [`PodState::Ready`] with the time it became ready; whether it counts
/// already is for [`available_at`] to say.
#[must_use]
pub fn read(pod: &PodFact) -> Reading {
    let ready = pod.ready.as_ref().filter(|c| c.status == Truth::True);
    let say = |state, reason: &str, message: &str| Reading {
        state,
        reason: reason.to_owned(),
        message: message.to_owned(),
        ready_since_millis: None,
        restarts: pod.containers.iter().fold(0, |sum, c| sum.saturating_add(c.restarts)),
        last_exit: last_exit(&pod.containers),
    };
    if pod.meta.deletion_at_millis.is_some() {
        return say(PodState::Terminating, &pod.reason, &pod.message);
    }
    if pod.phase == Phase::Succeeded {
        return say(PodState::Finished, "", "");
    }
    if pod.phase == Phase::Failed {
        let (reason, message) = match failed_container(&pod.containers) {
            Some(container) if pod.reason.is_empty() => container,
            _ => (pod.reason.as_str(), pod.message.as_str()),
        };
        return say(PodState::Failing, reason, message);
    }
    if let Some((reason, message)) = failed_container(&pod.containers) {
        return say(PodState::Failing, reason, message);
    }
    if let Some(condition) = ready {
        let mut reading = say(PodState::Ready, "", "");
        reading.ready_since_millis = condition.last_transition_millis;
        return reading;
    }
    if pod.node.is_none() {
        let condition = pod.scheduled.as_ref().filter(|c| c.status == Truth::False);
        return say(
            PodState::Scheduling,
            condition.map_or("", |c| c.reason.as_str()),
            condition.map_or("", |c| c.message.as_str()),
        );
    }
    if pod.phase == Phase::Running && every_app_container_runs(&pod.containers) {
        return say(
            PodState::Unready,
            pod.ready.as_ref().map_or("", |c| c.reason.as_str()),
            pod.ready.as_ref().map_or("", |c| c.message.as_str()),
        );
    }
    let waiting = pod.containers.iter().find_map(|c| match &c.state {
        Some(ContainerState::Waiting { reason, message }) if !reason.is_empty() => {
            Some((reason.as_str(), message.as_str()))
        }
        _ => None,
    });
    // Init containers run one after another: the first that is not done is the one to wait for.
    let init = pod.containers.iter().filter(|c| c.role == Role::Init);
    if let Some(index) = init.clone().position(|c| !is_done(c))
        && let Some(at_work) = init.clone().nth(index)
    {
        return say(PodState::Starting, &format!("Init {index} of {}", init.count()), &at_work.name);
    }
    let (reason, message) = waiting.unwrap_or(("", ""));
    say(PodState::Starting, reason, message)
}

const fn is_done(container: &Container) -> bool {
    matches!(container.state, Some(ContainerState::Terminated { exit_code: 0, .. }))
}

/// The exit of the container that restarts most: what happens now, else what happened last.
fn last_exit(containers: &[Container]) -> Option<Exit> {
    let exit = |container: &Container| match &container.state {
        Some(ContainerState::Terminated { exit_code, reason, .. }) if *exit_code != 0 => {
            Some(Exit { code: *exit_code, reason: reason.clone() })
        }
        _ => container.last_exit.clone(),
    };
    containers.iter().filter_map(|c| Some((c.restarts, exit(c)?))).max_by_key(|(restarts, _)| *restarts).map(|(_, e)| e)
}

/// When a ready pod starts to count. With `minReadySeconds` 0 that is at once.
#[must_use]
pub fn available_at(ready_since_millis: Option<Millis>, min_ready_seconds: u32) -> Option<Millis> {
    if min_ready_seconds == 0 {
        return None;
    }
    ready_since_millis.map(|since| since.saturating_add(i64::from(min_ready_seconds) * 1000))
}

fn failed_container(containers: &[Container]) -> Option<(&str, &str)> {
    containers.iter().find_map(|container| match &container.state {
        Some(ContainerState::Waiting { reason, message })
            if !matches!(reason.as_str(), "" | "ContainerCreating" | "PodInitializing") =>
        {
            Some((reason.as_str(), message.as_str()))
        }
        Some(ContainerState::Terminated { exit_code, reason, message }) if *exit_code != 0 => {
            Some((if reason.is_empty() { "Error" } else { reason.as_str() }, message.as_str()))
        }
        _ => None,
    })
}

fn every_app_container_runs(containers: &[Container]) -> bool {
    containers.iter().filter(|c| c.role != Role::Init).all(|c| c.state == Some(ContainerState::Running))
}
