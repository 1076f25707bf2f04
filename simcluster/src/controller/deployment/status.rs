//! Status of a Deployment: counts, conditions, the progress deadline, and the revision history limit (`sync.go`, `progress.go`).

use k8s_openapi::api::apps::v1::{DeploymentCondition, DeploymentStatus, ReplicaSet, ReplicaSetCondition};

use super::Round;
use super::sets;
use crate::ApiError;
use crate::agenda::Task;
use crate::meta::{self, desired, replicas_of};
use crate::object::{Key, Resource};
use crate::strategy::max_unavailable;
use crate::time;

const PROGRESSING: &str = "Progressing";
const COMPLETE: &str = "NewReplicaSetAvailable";
const TIMED_OUT: &str = "ProgressDeadlineExceeded";

fn find_condition<'a>(status: &'a DeploymentStatus, r#type: &str) -> Option<&'a DeploymentCondition> {
    status.conditions.iter().flatten().find(|condition| condition.type_ == r#type)
}

fn remove_condition(status: &mut DeploymentStatus, r#type: &str) {
    if let Some(conditions) = &mut status.conditions {
        conditions.retain(|condition| condition.type_ != r#type);
    }
}

/// Sets a condition unless its status and reason are the same. The transition time changes only with the status.
fn set_condition(status: &mut DeploymentStatus, mut condition: DeploymentCondition) {
    if let Some(known) = find_condition(status, &condition.type_) {
        if known.status == condition.status && known.reason == condition.reason {
            return;
        }
        if known.status == condition.status {
            condition.last_transition_time.clone_from(&known.last_transition_time);
        }
    }
    remove_condition(status, &condition.type_);
    status.conditions.get_or_insert_default().push(condition);
}

impl Round<'_> {
    fn condition(&self, r#type: &str, status: &str, reason: &str, message: String) -> DeploymentCondition {
        let now = time::second(self.world.now_millis());
        DeploymentCondition {
            type_: r#type.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message),
            last_update_time: Some(now.clone()),
            last_transition_time: Some(now),
        }
    }

    pub(super) fn has_deadline(&self) -> bool {
        self.spec().progress_deadline_seconds.is_some_and(|seconds| seconds != i32::MAX)
    }

    pub(super) fn progressing(&self) -> Option<DeploymentCondition> {
        find_condition(self.deployment.status.as_ref()?, PROGRESSING).cloned()
    }

    pub(super) fn set_progressing(&mut self, status: &str, reason: &str, message: String) {
        let condition = self.condition(PROGRESSING, status, reason, message);
        set_condition(self.deployment.status.get_or_insert_default(), condition);
    }

    /// Stops the progress deadline at a pause; restarts it when the pause ends.
    pub(super) fn note_pause(&mut self) -> Result<(), ApiError> {
        let reason = self.progressing().and_then(|condition| condition.reason);
        if !self.has_deadline() || reason.as_deref() == Some(TIMED_OUT) {
            return Ok(());
        }
        let (is_paused, is_noted) = (self.spec().paused == Some(true), reason.as_deref() == Some("DeploymentPaused"));
        if is_paused && !is_noted {
            self.set_progressing("Unknown", "DeploymentPaused", "Deployment is paused".to_owned());
            self.write_status()?;
        } else if !is_paused && is_noted {
            self.set_progressing("Unknown", "DeploymentResumed", "Deployment is resumed".to_owned());
            self.write_status()?;
        }
        Ok(())
    }

    fn calculated(&self, all: &[ReplicaSet], new: Option<&ReplicaSet>) -> DeploymentStatus {
        let available = sets::available(all);
        let some = |number: i32| Some(number).filter(|number| *number != 0);
        let mut status = DeploymentStatus {
            observed_generation: self.deployment.metadata.generation,
            replicas: some(sets::sum(all, |status| status.replicas)),
            updated_replicas: some(new.and_then(|new| new.status.as_ref()).map_or(0, |status| status.replicas)),
            ready_replicas: some(sets::sum(all, |status| status.ready_replicas.unwrap_or_default())),
            available_replicas: some(available),
            unavailable_replicas: some((sets::asked(all) - available).max(0)),
            terminating_replicas: Some(sets::sum(all, |status| status.terminating_replicas.unwrap_or_default())),
            collision_count: self.status().collision_count,
            conditions: self.status().conditions,
        };
        let is_available = available >= desired(&self.deployment) - max_unavailable(&self.deployment);
        let (holds, reason, message) = if is_available {
            ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        } else {
            ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
        };
        set_condition(&mut status, self.condition("Available", holds, reason, message.to_owned()));
        status
    }

    /// Returns whether all desired pods are updated and available, and no other pods exist.
    pub(super) fn is_complete(&self, status: &DeploymentStatus) -> bool {
        let n = desired(&self.deployment);
        let is = |number: Option<i32>| number.unwrap_or_default() == n;
        is(status.updated_replicas)
            && is(status.replicas)
            && is(status.available_replicas)
            && status.observed_generation >= self.deployment.metadata.generation
    }

    /// Returns whether this status is closer to completion than the previous one.
    fn is_progress(&self, now: &DeploymentStatus) -> bool {
        let before = self.status();
        let number = |number: Option<i32>| number.unwrap_or_default();
        let old = |status: &DeploymentStatus| number(status.replicas) - number(status.updated_replicas);
        number(now.updated_replicas) > number(before.updated_replicas)
            || old(now) < old(&before)
            || number(now.ready_replicas) > number(before.ready_replicas)
            || number(now.available_replicas) > number(before.available_replicas)
    }

    fn deadline_millis(&self, condition: &DeploymentCondition) -> Option<i64> {
        let seconds = self.spec().progress_deadline_seconds?;
        Some(time::millis(condition.last_update_time.as_ref()?) + i64::from(seconds) * 1000)
    }

    fn has_timed_out(&self, status: &DeploymentStatus) -> bool {
        let Some(condition) = find_condition(status, PROGRESSING) else { return false };
        match condition.reason.as_deref() {
            Some(COMPLETE) => false,
            Some(TIMED_OUT) => true,
            _ => self.deadline_millis(condition).is_some_and(|deadline| deadline < self.world.now_millis()),
        }
    }

    /// Reports a rollout: counts, progress, and failures of its ReplicaSets.
    pub(super) fn report_rollout(&mut self, old: &[ReplicaSet], new: Option<&ReplicaSet>) -> Result<(), ApiError> {
        let all = sets::all(old, new);
        let mut status = self.calculated(&all, new);
        let current = self.progressing();
        if !self.has_deadline() {
            remove_condition(&mut status, PROGRESSING);
        }
        let is_over = status.replicas == status.updated_replicas
            && current.as_ref().is_some_and(|condition| condition.reason.as_deref() == Some(COMPLETE));
        if self.has_deadline() && !is_over {
            self.report_progress(&mut status, current.as_ref(), new);
        }
        match failure(&all, new) {
            Some(condition) => set_condition(&mut status, condition),
            None => remove_condition(&mut status, "ReplicaFailure"),
        }
        if self.deployment.status.as_ref() == Some(&status) {
            self.look_again_at_deadline(&status);
            Ok(())
        } else {
            self.deployment.status = Some(status);
            self.write_status()
        }
    }

    fn report_progress(
        &self,
        status: &mut DeploymentStatus,
        current: Option<&DeploymentCondition>,
        new: Option<&ReplicaSet>,
    ) {
        let who = match new.and_then(|new| new.metadata.name.as_deref()) {
            Some(name) => format!("ReplicaSet {name:?}"),
            None => format!("Deployment {:?}", self.key.name),
        };
        if self.is_complete(status) {
            let message = format!("{who} has successfully progressed.");
            set_condition(status, self.condition(PROGRESSING, "True", COMPLETE, message));
        } else if self.is_progress(status) {
            let mut condition =
                self.condition(PROGRESSING, "True", "ReplicaSetUpdated", format!("{who} is progressing."));
            if let Some(current) = current {
                if current.status == "True" {
                    condition.last_transition_time.clone_from(&current.last_transition_time);
                }
                // Removed first, so that the time of the last progress changes even if nothing else does.
                remove_condition(status, PROGRESSING);
            }
            set_condition(status, condition);
        } else if self.has_timed_out(status) {
            let message = format!("{who} has timed out progressing.");
            set_condition(status, self.condition(PROGRESSING, "False", TIMED_OUT, message));
        }
    }

    /// Schedules a round at the deadline: nothing else may start one then.
    fn look_again_at_deadline(&mut self, status: &DeploymentStatus) {
        let Some(condition) = self.progressing().filter(|_| self.has_deadline()) else { return };
        if self.is_complete(status) || condition.reason.as_deref() == Some(TIMED_OUT) {
            return;
        }
        let now = self.world.now_millis();
        if let Some(deadline) = self.deadline_millis(&condition) {
            let wait = if deadline - now < 1000 { 40 } else { deadline - now + 1000 };
            self.world.agenda.add(now + wait, Task::Deployment(self.key.clone()));
        }
    }

    /// Reports only counts: for a scaled or paused Deployment.
    pub(super) fn report(&mut self, old: &[ReplicaSet], new: Option<&ReplicaSet>) -> Result<(), ApiError> {
        let status = self.calculated(&sets::all(old, new), new);
        if self.deployment.status.as_ref() == Some(&status) {
            return Ok(());
        }
        self.deployment.status = Some(status);
        self.write_status()
    }

    /// Deletes the oldest empty ReplicaSets beyond the limit.
    pub(super) fn clean_up(&mut self, old: &[ReplicaSet]) {
        let Some(limit) = self.spec().revision_history_limit.filter(|limit| *limit != i32::MAX) else { return };
        let mut old: Vec<&ReplicaSet> = old.iter().filter(|set| !meta::is_deleting(&set.metadata)).collect();
        let excess = old.len().saturating_sub(usize::try_from(limit).unwrap_or_default());
        old.sort_by(|a, b| sets::revision(a).cmp(&sets::revision(b)).then_with(|| sets::by_age(a, b)));
        for set in old.into_iter().take(excess) {
            let status = set.status.clone().unwrap_or_default();
            if status.replicas == 0 && replicas_of(set) == 0 && set.metadata.generation <= status.observed_generation {
                self.world.delete_if_there(Resource::ReplicaSet, &Key::of(&set.metadata));
            }
        }
    }
}

/// Returns the first failure that a ReplicaSet reports; the new ReplicaSet comes first.
fn failure(all: &[ReplicaSet], new: Option<&ReplicaSet>) -> Option<DeploymentCondition> {
    let of = |set: &ReplicaSet| -> Option<ReplicaSetCondition> {
        let conditions = set.status.as_ref()?.conditions.iter().flatten();
        conditions.into_iter().find(|condition| condition.type_ == "ReplicaFailure").cloned()
    };
    let found = new.and_then(of).or_else(|| all.iter().find_map(of))?;
    Some(DeploymentCondition {
        type_: found.type_,
        status: found.status,
        reason: found.reason,
        message: found.message,
        last_update_time: found.last_transition_time.clone(),
        last_transition_time: found.last_transition_time,
    })
}
