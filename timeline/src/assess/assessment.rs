//! The assessment of one Deployment at one moment: everything that a verdict is made of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cause::{Cause, CauseKind, Refused, Severity};
use super::counts::{Counts, count_owed, count_pods, count_reported_by_deployment, count_reported_by_sets};
use crate::model::fact::Kind;
use crate::model::{Deployment, KubectlVerdict, Limits, ReplicaSet};
use crate::rules::budget::{self, Next, Sums};
use crate::rules::{rollout, verdict};
use crate::{Millis, Model, Uid};

/// The time of an assessment, and how our clock and the API server's differ.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// Our clock.
    pub millis: Millis,
    /// Our clock less the API server's.
    pub skew_millis: Millis,
}

/// Nodes that are not ready: when that was reported first of one of their pods, and when last.
pub(super) type SilentNodes<'n> = BTreeMap<&'n str, (Millis, Millis)>;

/// The hold that keeps the controller from its next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Hold {
    /// Nothing, or there is no next step.
    #[default]
    Free,
    /// New pods are on their way: normal.
    Waits,
    /// A fault.
    Blocked,
}

impl Hold {
    /// Returns the word for the hold: "waiting", "blocked"; empty without one.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Free => "",
            Self::Waits => "waiting",
            Self::Blocked => "blocked",
        }
    }
}

/// Everything that a verdict is made of.
pub struct Assessment<'m> {
    /// The model.
    pub model: &'m Model,
    /// The Deployment.
    pub deployment: &'m Deployment,
    /// The ReplicaSet that is scaled up.
    pub current: Option<&'m ReplicaSet>,
    /// The template was edited, and the revision that will come of it is not there yet.
    pub awaits_revision: bool,
    /// Pods counted.
    pub counts: Counts,
    /// The sums that the controller counts, as soon as the ReplicaSets report what their pods do.
    pub sums: Sums,
    /// Ceiling and floor.
    pub limits: Limits,
    /// The next step of the controller.
    pub next: Next,
    /// The verdict of kubectl.
    pub kubectl: KubectlVerdict,
    /// Pods that the ReplicaSet controller is yet to make, and to remove.
    pub owed: (u32, u32),
    /// Pods are seen; else only what ReplicaSets report is known.
    pub sees_pods: bool,
    /// ReplicaSets are seen; else only what the Deployment reports is known.
    pub sees_sets: bool,
    /// Nodes of its pods that are not ready.
    pub(super) silent_nodes: SilentNodes<'m>,
    /// Causes, the most decisive first.
    pub causes: Vec<Cause>,
    /// No pod has been available for a while, although some were.
    pub(super) is_outage: bool,
    /// Since when a quota that refused pods may have room for one.
    pub(super) room_millis: Option<Millis>,
    /// When the progress deadline passes, or passed, by our clock; `None` when no deadline runs.
    pub deadline_millis: Option<Millis>,
    /// Our clock, and how it differs from the API server's.
    pub now: Now,
}

impl<'m> Assessment<'m> {
    /// Assesses a Deployment; `None` when the model does not hold it.
    pub fn at(model: &'m Model, uid: Uid, now: Now) -> Option<Self> {
        let deployment = model.deployments.get(&uid)?;
        let current = rollout::current_set(model, deployment);
        let (sees_pods, sees_sets) = (model.sees_pods(uid), model.sees_sets(uid));
        let sums = match (sees_pods, sees_sets) {
            (true, _) => Sums::from_pods(model, deployment),
            (false, true) => Sums::from_sets(model, deployment),
            (false, false) => Sums::from_status(&deployment.now.status),
        };
        let limits = budget::limits(&deployment.now.spec);
        let next = if sees_sets { budget::next(&deployment.now.spec, &sums) } else { Next::Nothing };
        let kubectl =
            if deployment.deleted_millis.is_some() { KubectlVerdict::Gone } else { verdict::kubectl(&deployment.now) };
        let awaits_revision = current.is_some() && rollout::new_set(model, deployment).is_none();
        // While the ReplicaSet of an edited template is awaited no pod is new; while the Deployment is paused none is awaited.
        let new = current.filter(|_| deployment.now.spec.paused || !awaits_revision);
        let counts = match (sees_pods, sees_sets) {
            (true, _) => count_pods(model, deployment, new),
            (false, true) => count_reported_by_sets(model, deployment, new),
            (false, false) => count_reported_by_deployment(&deployment.now.status),
        };
        let counts = Counts { desired: sums.desired, ..counts };
        let owed = if sees_pods { count_owed(model, deployment) } else { (0, 0) };
        let deadline_millis = deadline(model, deployment).map(|at| at.saturating_add(now.skew_millis));
        let mut assessment = Self {
            model,
            deployment,
            current,
            awaits_revision,
            counts,
            sums,
            limits,
            next,
            kubectl,
            owed,
            sees_pods,
            sees_sets,
            silent_nodes: SilentNodes::new(),
            causes: Vec::new(),
            is_outage: false,
            room_millis: None,
            deadline_millis,
            now,
        };
        if !deployment.is_over() {
            assessment.silent_nodes = assessment.find_silent_nodes();
            assessment.causes = assessment.find_causes();
            assessment.room_millis = assessment.find_room();
            assessment.is_outage = deployment.now.spec.replicas > 0 && assessment.finds_outage();
            if assessment.is_outage || assessment.is_below_floor() {
                assessment.add_lost_pods();
            }
        }
        Some(assessment)
    }

    /// Returns the revision that is scaled up.
    pub fn revision(&self) -> Option<u64> {
        let last = || self.deployment.rollouts.last().map(|rollout| rollout.revision);
        rollout::current_revision(self.model, self.deployment).or_else(last)
    }

    /// Returns whether no revision was ever made of the template, because the Deployment was paused before.
    pub fn awaits_first_revision(&self) -> bool {
        self.current.is_none() && self.deployment.now.revision.is_none() && self.sees_sets
    }

    /// Returns whether a revision was rolled out and all its ReplicaSets are gone.
    pub fn has_lost_all_sets(&self) -> bool {
        let mut sets = self.model.owned_sets(self.deployment.uid);
        self.deployment.now.revision.is_some() && self.sees_sets && sets.next().is_none()
    }

    /// Returns whether more pods are desired than the limits allow because the limits were lowered, and nothing was
    /// raised since then.
    pub fn is_lowered(&self) -> bool {
        let [.., (_, before), (since, now)] = self.deployment.limits.as_slice() else { return false };
        let mut sets = self.model.owned_sets(self.deployment.uid);
        let is_raised = |set: &ReplicaSet| {
            let mut scales = set.scales.iter();
            scales.any(|scale| scale.at_millis > *since && scale.to > scale.from)
        };
        before.ceiling > now.ceiling && !sets.any(is_raised)
    }

    /// Returns whether ReplicaSets were scaled to what a change of the Deployment allows that is not seen yet: each has
    /// the limit in an annotation.
    pub fn is_ahead(&self) -> bool {
        let mut sets = self.model.owned_sets(self.deployment.uid);
        sets.any(|set| set.now.max_replicas.is_some_and(|most| most >= self.counts.desired))
    }

    /// Returns the Deployment that had the name before this one.
    pub fn predecessor(&self) -> Option<&'m Deployment> {
        let first_seen = self.deployment.first_seen_millis;
        self.namesakes()
            .filter(|other| other.first_seen_millis < first_seen)
            .max_by_key(|other| other.first_seen_millis)
    }

    /// Returns the Deployment that has the name now, if this one is gone.
    pub fn successor(&self) -> Option<&'m Deployment> {
        self.deployment.deleted_millis?;
        self.namesakes().find(|other| other.deleted_millis.is_none())
    }

    fn namesakes(&self) -> impl Iterator<Item = &'m Deployment> + use<'m> {
        let this = self.deployment;
        self.model.find_all(&this.namespace, &this.name).filter(|other| other.uid != this.uid)
    }

    /// Returns the hold that keeps the controller from its next step.
    pub fn hold(&self) -> Hold {
        let has_next = self.sums.old_desired() > 0 || !matches!(self.next, Next::Nothing | Next::WaitForNew(_));
        match self.next {
            // Pods of a rollout that is over may fail, and the controller has nothing to do about it.
            _ if !has_next && !self.is_rolling_out() => Hold::Free,
            // Whatever else is wrong, the limits let the controllers go on.
            _ if self.may_go_on() => Hold::Free,
            _ if self.has_fault() && (has_next || self.counts.not_yet > 0) => Hold::Blocked,
            // Old pods that were let go of count until they are asked to go.
            Next::WaitForNew(_) | Next::WaitForOldGone if self.owed.1 == 0 => Hold::Waits,
            _ => Hold::Free,
        }
    }

    /// Returns whether the controllers have a next step and can take it.
    fn may_go_on(&self) -> bool {
        let has = |kind: CauseKind| self.causes.iter().any(|cause| cause.kind == kind);
        let refused = |what: Refused| self.refusal(what).is_some();
        let is_allowed = match self.next {
            Next::CreateSet => !refused(Refused::ReplicaSet),
            Next::AddNew(_) => !refused(Refused::Pods),
            Next::RemoveNew(_) | Next::RemoveOld { .. } => !refused(Refused::Deletion),
            Next::Spread => true,
            Next::Nothing | Next::Paused | Next::WaitForNew(_) | Next::WaitForOldGone => false,
        };
        is_allowed && !has(CauseKind::ControllerSilent) && self.replicas_before_stuck_scaling().is_none()
    }

    /// Finds the cause that the API server refuses this to the current revision.
    pub fn refusal(&self, what: Refused) -> Option<&Cause> {
        self.causes.iter().find(|cause| cause.kind.is_refusal(what))
    }

    /// Returns the ReplicaSets that are replaced: those of other templates than the current one that still desire or
    /// have pods.
    pub fn replaced(&self) -> impl Iterator<Item = &'m ReplicaSet> {
        let current = self.current.filter(|_| !self.awaits_revision).map(|set| set.uid);
        let (model, sees_pods) = (self.model, self.sees_pods);
        let has_pods = move |set: &&ReplicaSet| {
            let there = if sees_pods { model.pod_counts(set.uid).there } else { set.now.counts.replicas };
            set.now.counts.desired > 0 || there > 0
        };
        model.owned_sets(self.deployment.uid).filter(move |set| Some(set.uid) != current).filter(has_pods)
    }

    /// Returns whether no rollout goes on: it is complete, or only its replicas are on their way.
    pub fn replaces_nothing(&self) -> bool {
        self.kubectl == KubectlVerdict::Complete || (self.sums.old_desired() == 0 && !self.awaits_revision)
    }

    /// Returns whether a rollout was seen to be complete a moment ago, and its last pods are not seen to be available yet.
    pub fn awaits_last_pods(&self) -> bool {
        self.deployment.rollouts.last().is_some_and(|last| {
            let is_young = |completed: Millis| self.now.millis - completed <= rollout::OVERTAKING_MILLIS;
            let was_observed = last.was_start_seen && !last.is_end_unseen;
            was_observed && last.available_of.is_none() && last.completed_millis.is_some_and(is_young)
        })
    }

    /// Returns whether fewer pods are available than the limits allow.
    pub(super) const fn is_below_floor(&self) -> bool {
        self.counts.available < self.limits.floor
    }

    /// Returns whether there is a fault that waiting alone will not mend.
    pub fn has_fault(&self) -> bool {
        self.causes.iter().any(|cause| cause.severity == Severity::Bad)
    }

    /// Returns since when the pods of the Deployment, or the ReplicaSets that own them, must not be listed.
    pub fn pods_unseen_millis(&self) -> Option<Millis> {
        let kinds = [Kind::Deployment, Kind::ReplicaSet, Kind::Pod].into_iter();
        kinds.filter_map(|kind| self.model.unseen_since(kind, &self.deployment.namespace)).min()
    }
}

/// Runs only while a rollout is in progress and its conditions are those of the spec in force. By the API server's clock. While
/// the ReplicaSet is refused the controller does not come to look at the deadline (`rolloutRolling` in `rolling.go`), nor while it only
/// scales (`syncDeploymentStatus` in `sync.go`).
fn deadline(model: &Model, deployment: &Deployment) -> Option<Millis> {
    let now = &deployment.now;
    let condition = now.status.progressing.as_ref()?;
    let runs = !now.spec.paused
        && deployment.deleted_millis.is_none()
        && now.generation <= now.status.observed_generation
        && !matches!(condition.reason.as_str(), "NewReplicaSetAvailable" | "DeploymentPaused")
        && rollout::refusal_of_set(model, deployment).is_none();
    let seconds = now.spec.progress_deadline_seconds.filter(|_| runs)?;
    if condition.reason == "ProgressDeadlineExceeded" {
        return condition.last_update_millis; // it passed; finding that moved the time
    }
    if rollout::stuck_scaling(model, deployment).is_some() {
        return None;
    }
    Some(condition.last_update_millis?.saturating_add(i64::from(seconds) * 1000))
}
