//! Severity of causes. The one place that decides it, by evidence and not by impatience:
//!
//! - **Normal**: by rule it may still pass by itself; it is waited for.
//! - **Slow**: it takes longer than it may, without an error of its own.
//! - **Bad**: Kubernetes says so, or a cause that does not pass by itself was seen twice or for longer than its back-off, or
//!   nothing at all explains that nothing moves.
//!
//! docs/causes.md has the table.

use super::assessment::Assessment;
use super::cause::{CauseKind, Evidence, Refused, Severity, StartTime, pull_failure};
use crate::Millis;
use crate::model::fact::{DeploymentSpec, Role};
use crate::model::{Deployment, Event, KubectlVerdict, Pod};
use crate::rules::budget::Next;
use crate::rules::messages::{self, NewNode, StartHold, is_decided, is_pulled, is_quota};
use crate::rules::pulls::is_of_another_image;

/// A controller, a scheduler or a kubelet that does nothing for this long is broken.
pub(super) const IDLE_MILLIS: Millis = 60_000;
/// Pods without a node are a fault after this time, where no node is being added.
const UNSCHEDULABLE_MILLIS: Millis = 60_000;
/// Pods that give way to one of a higher priority are gone after this time.
const ROOM_MILLIS: Millis = 300_000;
/// A node that is added is there after this time.
pub(super) const NEW_NODE_MILLIS: Millis = 900_000;
/// A container that cannot be made is tried again within this time.
const CONTAINER_RETRY_MILLIS: Millis = 10_000;
/// An image is tried again after 10 s, and the second failure is seen within this time.
const PULL_RETRY_MILLIS: Millis = 30_000;
/// The kubelet has tried a mount five times after this time.
const MOUNT_RETRY_MILLIS: Millis = 20_000;
/// Errors that may pass are a fault after this time.
const PASSES_MILLIS: Millis = 30_000;
/// A pull takes no longer, or is slow.
const PULL_MILLIS: Millis = 300_000;
/// A slow cause becomes a fault after this time more, where no progress deadline can strike.
const UNLIMITED_MILLIS: Millis = 300_000;
/// Pods that lost their readiness are a fault after this time.
pub(super) const LOST_MILLIS: Millis = 60_000;
/// Nothing available is a fault after this time, where something was available before.
pub(super) const OUTAGE_MILLIS: Millis = 10_000;
/// `wait --fail-fast` ends this long after a fault that is final was first seen.
const FINAL_MILLIS: Millis = 10_000;
/// `wait --fail-fast` ends this long after a configuration error was first seen: what it names may be created a moment later.
const CONFIGURATION_MILLIS: Millis = 30_000;
/// `wait --fail-fast` ends this long after a pod began to wait for a volume whose source does not exist: the kubelet tries again after
/// twice the time each, the eighth time after 64 s.
const MISSING_VOLUME_MILLIS: Millis = 70_000;
/// `wait --fail-fast` ends this long after another failure to pull an image was first seen.
const FAILED_PULLS_MILLIS: Millis = 120_000;
/// Init containers often wait for something by failing: `wait --fail-fast` ends at this exit.
const INIT_EXITS: u32 = 4;

/// Returns how long a rollout may stand still without an explanation: half the progress deadline, and at least a
/// minute.
pub fn unexplained_limit(spec: &DeploymentSpec) -> Millis {
    spec.progress_deadline_seconds.map_or(UNLIMITED_MILLIS, |seconds| i64::from(seconds) * 500).max(IDLE_MILLIS)
}

/// Returns how long a pod that has a node may take until its containers run, by its containers and the Events about it: what it waited
/// for at some time of the past, nothing else tells.
pub fn allowed_start_millis(deployment: &Deployment, pod: &Pod) -> Millis {
    let has_init = pod.now.containers.iter().any(|container| container.role != Role::App);
    // The end of a pull replaces its begin.
    let is_of_pull = |event: &Event| event.reason == "Pulling" || is_pulled(event);
    let has_pulls = messages::events(deployment, "Pod", &pod.name).any(is_of_pull);
    let until_init_is_done = if has_init { unexplained_limit(&deployment.now.spec) } else { IDLE_MILLIS };
    if has_pulls { until_init_is_done.max(PULL_MILLIS) } else { until_init_is_done }
}

impl Assessment<'_> {
    pub(super) fn severity(&self, kind: &CauseKind, evidence: &Evidence) -> Severity {
        let lasts = |millis: Millis| evidence.since_millis.is_none_or(|since| self.now.millis - since > millis);
        let bad_after = |millis: Millis, before: Severity| if lasts(millis) { Severity::Bad } else { before };
        // The template was edited since: these pods are replaced.
        if self.awaits_revision && (kind.is_of_new_pods() || kind.is_refusal(Refused::Pods)) {
            return Severity::Normal;
        }
        match kind {
            CauseKind::Paused { .. } | CauseKind::MinReady { .. } | CauseKind::OldTroubles { .. } => Severity::Normal,
            CauseKind::SchedulingGated => Severity::Normal,
            CauseKind::ControllerSilent | CauseKind::PodsMissing { .. } | CauseKind::PodsDeleted => {
                bad_after(IDLE_MILLIS, Severity::Slow)
            }
            CauseKind::NoScheduler { .. } | CauseKind::OldNotGoing => bad_after(IDLE_MILLIS, Severity::Slow),
            CauseKind::SetMissing | CauseKind::ScalingStuck { .. } => Severity::Bad,
            CauseKind::Refused { older: Some(_), .. } => Severity::Normal,
            CauseKind::Refused { what, .. } => {
                let is_quota = is_quota(&evidence.message);
                let is_final = *what != Refused::Deletion && is_decided(&evidence.message);
                match (is_final, is_quota && self.makes_room()) {
                    (true, false) => Severity::Bad,
                    (true, true) => bad_after(IDLE_MILLIS, Severity::Normal),
                    (false, _) => bad_after(PASSES_MILLIS, Severity::Normal),
                }
            }
            CauseKind::Image { .. } if self.is_final_pull(kind, evidence) => Severity::Bad,
            CauseKind::Image { image, .. } if self.failed_pulls(image.as_deref(), evidence) > 1 => Severity::Bad,
            CauseKind::Image { .. } => bad_after(PULL_RETRY_MILLIS, Severity::Normal),
            CauseKind::BadContainer { .. } => bad_after(CONTAINER_RETRY_MILLIS, Severity::Normal),
            CauseKind::NotStarted { .. } => bad_after(PASSES_MILLIS, Severity::Normal),
            CauseKind::Crash(crash) if crash.is_loop || crash.is_final || crash.is_overdue => Severity::Bad,
            CauseKind::Crash(crash) if crash.needs_restart_of_all => bad_after(PASSES_MILLIS, Severity::Normal),
            CauseKind::Crash(_) => Severity::Normal,
            CauseKind::PodsFailed { is_repeated: true, .. } => Severity::Bad,
            CauseKind::PodsFailed { .. } => Severity::Normal,
            CauseKind::Unschedulable { .. } if self.room_comes(&evidence.message) => Severity::Normal,
            CauseKind::Unschedulable { node: Some(NewNode::Nominated(_)) } => bad_after(ROOM_MILLIS, Severity::Normal),
            CauseKind::Unschedulable { node: Some(NewNode::Comes(_)) } => bad_after(NEW_NODE_MILLIS, Severity::Normal),
            CauseKind::Unschedulable { node: Some(NewNode::Refused(_)) } => bad_after(FINAL_MILLIS, Severity::Normal),
            CauseKind::Unschedulable { node: None } => bad_after(UNSCHEDULABLE_MILLIS, Severity::Normal),
            CauseKind::Starting { hold: StartHold::Mount, .. } => bad_after(MOUNT_RETRY_MILLIS, Severity::Normal),
            CauseKind::Starting { hold, .. } if hold.is_error() => bad_after(IDLE_MILLIS, Severity::Normal),
            CauseKind::Starting { hold: StartHold::Pull, .. } if lasts(PULL_MILLIS) => Severity::Slow,
            CauseKind::Starting { hold: StartHold::Pull, .. } => Severity::Normal,
            // New pods that flap do not keep a rollout from going on.
            CauseKind::Flapping { is_recent: true, .. } if !self.is_rolling_out() => Severity::Bad,
            CauseKind::Flapping { .. } => Severity::Normal,
            CauseKind::NodeSilent { node } if self.has_crash_loop_on(node) => Severity::Bad,
            CauseKind::NotReady { was_ready: true, .. } | CauseKind::NodeSilent { .. } => {
                bad_after(LOST_MILLIS, Severity::Normal)
            }
            CauseKind::Starting { time, .. }
            | CauseKind::Init { time, .. }
            | CauseKind::NotReady { time, .. }
            | CauseKind::Gate { time, .. } => self.of_start(time),
            // It is as bad as what keeps a pod from being added.
            CauseKind::Deadlock { .. } => Severity::Bad,
        }
    }

    /// Rates a start without an error: normal as long as it may take. The progress deadline says when it has failed, or
    /// time, if there is none.
    fn of_start(&self, time: &StartTime) -> Severity {
        let now = &self.deployment.now;
        let is_limited = now.spec.progress_deadline_seconds.is_some()
            && self.kubectl != KubectlVerdict::Complete
            && now.status.progressing.as_ref().is_some_and(|told| told.reason != "NewReplicaSetAvailable");
        match time.spent_millis - time.allowed_millis {
            ..=0 => Severity::Normal,
            over if over > UNLIMITED_MILLIS && !is_limited => Severity::Bad,
            _ => Severity::Slow,
        }
    }

    fn is_final_pull(&self, kind: &CauseKind, evidence: &Evidence) -> bool {
        pull_failure(self.deployment, kind, evidence).is_final()
    }

    /// Counts the failed pulls of an image, by Events that do not name another one.
    fn failed_pulls(&self, image: Option<&str>, evidence: &Evidence) -> u32 {
        let is_failure = |event: &&Event| {
            let (reason, message) = (event.reason.as_str(), event.message.as_str());
            reason == "Failed" && message.starts_with("Failed to pull image") && !is_of_another_image(message, image)
        };
        let failures = messages::events(self.deployment, "Pod", evidence.object_name()).filter(is_failure);
        failures.map(|event| event.count).fold(0, u32::saturating_add)
    }

    /// Pods are going, or may be asked to: they leave room in a quota.
    const fn makes_room(&self) -> bool {
        self.counts.terminating > 0
            || self.owed.1 > 0
            || matches!(self.next, Next::RemoveOld { .. } | Next::RemoveNew(_))
    }

    /// Returns whether the rollout cannot succeed with this revision, which ends `wait --fail-fast`. Never for a
    /// revision that an edit replaces, and not for faults that may pass.
    pub(super) fn is_fatal(&self, kind: &CauseKind, evidence: &Evidence, severity: Severity) -> bool {
        let lasts = |millis: Millis| evidence.since_millis.is_none_or(|since| self.now.millis - since > millis);
        let is_replaced = self.awaits_revision || self.kubectl == KubectlVerdict::NotObserved;
        match kind {
            _ if self.deployment.now.spec.paused => false,
            CauseKind::Refused { what: Refused::Pods | Refused::ReplicaSet, older: None }
                if !is_replaced || kind.is_refusal(Refused::ReplicaSet) =>
            {
                // The condition is kept until the controller tries again: it may have been lifted before watching began, or in a gap.
                let first_seen = self.deployment.first_seen_millis;
                let watched_since = self.deployment.gaps.last().map_or(first_seen, |gap| gap.to_millis.max(first_seen));
                let was_watched = self.now.millis - watched_since > FINAL_MILLIS;
                is_decided(&evidence.message) && !is_quota(&evidence.message) && lasts(FINAL_MILLIS) && was_watched
            }
            _ if is_replaced => false,
            CauseKind::Image { .. } if self.is_final_pull(kind, evidence) => {
                lasts(FINAL_MILLIS) || evidence.reason == "ImagePullBackOff"
            }
            CauseKind::Image { .. } => severity == Severity::Bad && lasts(FAILED_PULLS_MILLIS),
            CauseKind::BadContainer { .. } => lasts(CONFIGURATION_MILLIS),
            CauseKind::PodsFailed { node: Some(_), .. } => true,
            CauseKind::Starting { hold: StartHold::Mount, .. } => {
                evidence.message.ends_with("not found") && lasts(MISSING_VOLUME_MILLIS)
            }
            CauseKind::Crash(crash) if crash.is_final => lasts(FINAL_MILLIS),
            CauseKind::Crash(crash) => crash.is_loop && (crash.role != Role::Init || crash.exits >= INIT_EXITS),
            _ => false,
        }
    }
}
