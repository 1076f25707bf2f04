//! Causes that the new pods show: how they fail, and what they wait for.

use super::certain::{PullFailure, pull_failure};
use super::{Cause, CauseKind, Situation, fault, of_pod};
use crate::fact::ContainerState;
use crate::model::Pod;
use crate::phase::PodState;
use crate::{Millis, rollout};

/// A pod that runs this long without being ready is worth a sentence of its own.
const SLOW_READINESS_MILLIS: Millis = 10_000;
/// Pods that failed as a whole are a cause for this long: a node that refuses one refuses the next at once.
const FAILED_MILLIS: Millis = 60_000;
/// An init container that works this long is worth a sentence.
const SLOW_INIT_MILLIS: Millis = 10_000;

impl Situation<'_> {
    /// One cause per kind of failure, with the number of pods that have it.
    pub(super) fn failing(&self, pods: &[&Pod], causes: &mut Vec<Cause>) {
        let first = causes.len();
        for pod in pods.iter().filter(|pod| is_failing(pod) && !pod.is_leftover()) {
            let kind = self.failure(pod);
            let same = causes.iter_mut().skip(first).find(|cause| is_alike(&cause.kind, &kind));
            match same {
                Some(cause) => {
                    cause.pods += 1;
                    // The one that crashed most often stands for all, or the first one that says why.
                    let says_more = match (&cause.kind, &kind) {
                        (CauseKind::Crash { restarts: most, .. }, CauseKind::Crash { restarts, .. }) => restarts > most,
                        (CauseKind::Image { .. }, _) => {
                            let why = |reason: &str, message: &str| pull_failure(reason, message, std::iter::empty());
                            why(&cause.evidence.reason, &cause.evidence.message) == PullFailure::Other
                                && why(&pod.now.reason, &pod.now.message) != PullFailure::Other
                        }
                        _ => false,
                    };
                    if says_more {
                        (cause.kind, cause.evidence) = (kind, of_pod(pod, troubled_since(pod)));
                    }
                }
                None => causes.push(fault(kind, 1, of_pod(pod, troubled_since(pod)))),
            }
        }
        causes.extend(self.failed_pods(pods));
        causes.get_mut(first..).unwrap_or_default().sort_by_key(|cause| rank(&cause.kind));
    }

    /// How a container of a pod fails.
    fn failure(&self, pod: &Pod) -> CauseKind {
        let (restarts, exit) = (pod.now.restarts, pod.now.last_exit.as_ref());
        match pod.now.reason.as_str() {
            "ErrImagePull"
            | "ImagePullBackOff"
            | "InvalidImageName"
            | "ErrImageNeverPull"
            | "ImageInspectError"
            | "RegistryUnavailable"
            | "SignatureValidationFailed" => CauseKind::Image { image: self.failing_image(pod) },
            "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" => CauseKind::BadContainer,
            reason if reason == "CrashLoopBackOff" || exit.is_some() || restarts > 0 => CauseKind::Crash {
                exit_code: exit.map(|exit| exit.code),
                is_out_of_memory: reason == "OOMKilled" || exit.is_some_and(|exit| exit.reason == "OOMKilled"),
                restarts,
                is_since: pod.now.first_restarts == 0 && !pod.states.iter().any(|(state, _)| state.is_ready()),
            },
            _ => CauseKind::NotStarted,
        }
    }

    /// The image of the container that cannot be made, by the template of its ReplicaSet: the Deployment's may be another one
    /// already. Images of init containers are not known.
    fn failing_image(&self, pod: &Pod) -> Option<String> {
        let set = pod.owner.and_then(|set| self.model.replica_sets.get(&set))?;
        let is_failing = |state: &ContainerState| matches!(state, ContainerState::Waiting { reason, .. } if *reason == pod.now.reason);
        let mut containers = pod.now.containers.iter();
        let name = &containers.find(|container| container.state.as_ref().is_some_and(is_failing))?.name;
        set.images.iter().find(|image| image.container == *name).map(|image| image.image.clone())
    }

    /// Pods that failed as a whole lately, while others are missing: their replacements may fail alike.
    fn failed_pods(&self, pods: &[&Pod]) -> Option<Cause> {
        let set = rollout::current_set(self.model, self.deployment)?;
        let available = pods.iter().filter(|pod| pod.state() == PodState::Available).count();
        let is_late = |pod: &&&Pod| {
            let since = pod.now.terminal_millis.filter(|_| pod.is_leftover());
            since.is_some_and(|since| self.now.millis - since <= FAILED_MILLIS)
        };
        let mut failed = pods.iter().filter(is_late);
        let pod = failed.next().filter(|_| available < set.now.counts.desired as usize)?;
        let since = pod.now.terminal_millis.unwrap_or_else(|| pod.since_millis());
        Some(fault(CauseKind::PodsFailed, 1 + failed.count() as u32, of_pod(pod, since)))
    }

    pub(super) fn unschedulable(&self, pods: &[&Pod]) -> Option<Cause> {
        let waiting = |pod: &&&Pod| pod.state() == PodState::Scheduling && pod.now.reason == "Unschedulable";
        let mut found = pods.iter().filter(waiting);
        let pod = found.next()?;
        Some(fault(CauseKind::Unschedulable, 1 + found.count() as u32, of_pod(pod, pod.since_millis())))
    }

    pub(super) fn init(&self, pods: &[&Pod]) -> Option<Cause> {
        let at_work = |pod: &&&Pod| pod.state() == PodState::Starting && pod.now.reason.starts_with("Init ");
        let mut found = pods.iter().filter(at_work);
        let pod = found.next()?;
        let since = pod.since_millis();
        let is_slow = self.now.millis - since > SLOW_INIT_MILLIS;
        is_slow.then(|| Cause {
            kind: CauseKind::Init {
                is_running: pod.now.containers.iter().any(|container| {
                    container.name == pod.now.message && container.state == Some(ContainerState::Running)
                }),
            },
            is_fault: false,
            pods: 1 + found.count() as u32,
            evidence: of_pod(pod, since),
        })
    }

    /// Pods that run and are not ready: behind a gate, or for long.
    pub(super) fn unready(&self, pods: &[&Pod]) -> Vec<Cause> {
        let is_at_gate = |pod: &&Pod| pod.now.reason == "ReadinessGatesNotReady";
        let unready = pods.iter().copied().filter(|pod| pod.state() == PodState::Unready && !is_failing(pod));
        let (gated, others): (Vec<&Pod>, Vec<&Pod>) = unready.partition(is_at_gate);
        let cause = |kind: CauseKind, pods: &[&Pod]| {
            let pod = pods.iter().min_by_key(|pod| pod.since_millis())?;
            let is_slow = self.now.millis - pod.since_millis() > SLOW_READINESS_MILLIS;
            let evidence = of_pod(pod, pod.since_millis());
            Some(Cause { kind, is_fault: is_slow, pods: pods.len() as u32, evidence })
        };
        let slow = cause(CauseKind::NotReady, &others).filter(|cause| cause.is_fault);
        cause(CauseKind::Gate, &gated).into_iter().chain(slow).collect()
    }

    pub(super) fn min_ready(&self, pods: &[&Pod]) -> Option<Cause> {
        let ready: Vec<&&Pod> = pods.iter().filter(|pod| pod.state() == PodState::Ready).collect();
        let (at, pod) =
            ready.iter().filter_map(|pod| Some((pod.now.available_at_millis?, pod))).min_by_key(|(at, _)| *at)?;
        let last = ready.iter().filter_map(|pod| pod.now.available_at_millis).max();
        let set = pod.owner.and_then(|set| self.model.replica_sets.get(&set))?;
        Some(Cause {
            kind: CauseKind::MinReady {
                left_millis: (at - self.now.millis).max(0),
                seconds: set.now.min_ready_seconds,
                is_first: last.is_some_and(|last| last - at >= 1_000),
            },
            is_fault: false,
            pods: ready.len() as u32,
            evidence: of_pod(pod, pod.since_millis()),
        })
    }
}

/// Failures that are said in one sentence.
fn is_alike(one: &CauseKind, other: &CauseKind) -> bool {
    match (one, other) {
        (CauseKind::Crash { is_out_of_memory: a, .. }, CauseKind::Crash { is_out_of_memory: b, .. }) => a == b,
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

/// Among failures of pods: what is decided comes before what may still pass.
const fn rank(kind: &CauseKind) -> u8 {
    match kind {
        CauseKind::Image { .. } => 0,
        CauseKind::BadContainer => 1,
        CauseKind::Crash { .. } => 2,
        _ => 3,
    }
}

/// It fails, or it crashed and runs again for the moment: a crash loop alternates between the two.
#[must_use]
pub fn is_failing(pod: &Pod) -> bool {
    match pod.state() {
        PodState::Failing => true,
        PodState::Unready | PodState::Starting => {
            pod.now.restarts > 0 && troubled(pod).is_some_and(|(state, _)| *state == PodState::Failing)
        }
        _ => false,
    }
}

/// Since when a failing pod fails, its short recoveries included.
#[must_use]
pub fn troubled_since(pod: &Pod) -> Millis {
    troubled(pod).map_or_else(|| pod.since_millis(), |(_, since)| *since)
}

/// The first failing state after the pod was last ready.
fn troubled(pod: &Pod) -> Option<&(PodState, Millis)> {
    let good = pod.states.iter().rposition(|(state, _)| state.is_ready());
    pod.states.iter().skip(good.map_or(0, |index| index + 1)).find(|(state, _)| *state == PodState::Failing)
}
