//! Finds the causes for which a rollout does not move, most decisive first. Those that pods show are in
//! [`super::pod_causes`], refusals of the API server in [`super::refusals`].

use super::alike::is_alike;
use super::assessment::{Assessment, Now};
use super::cause::{Cause, CauseKind, Evidence, Obstacle, Refused, Severity};
use super::severity::IDLE_MILLIS;
use crate::Millis;
use crate::model::fact::Strategy;
use crate::model::{Deployment, EndReason, KubectlVerdict, Mark, MarkKind, Model, Pod, PodState, ReplicaSet, order};
use crate::rules::budget::Next;
use crate::rules::messages::{self, StartHold};
use crate::rules::rollout;

/// A controller that has not reacted for this long is silent.
const SILENT_MILLIS: Millis = 5_000;
/// Deployments make their ReplicaSets within this time, unless something is wrong.
const SET_MISSING_MILLIS: Millis = 10_000;
/// ReplicaSets make their pods within this time.
const PODS_MISSING_MILLIS: Millis = 30_000;
/// ReplicaSets begin to replace pods that were deleted within this time.
const REPLACEMENT_MILLIS: Millis = 5_000;
/// Pods that are deleted no further apart than this are deleted together.
const TOGETHER_MILLIS: Millis = 10_000;
/// A kubelet ends a pod this long after its grace period, at the latest.
const OVERDUE_MILLIS: Millis = 10_000;

impl<'m> Assessment<'m> {
    /// Finds the causes that hold now, most decisive first.
    pub(super) fn find_causes(&self) -> Vec<Cause> {
        let mut causes = Vec::new();
        causes.extend(self.silent());
        causes.extend(self.set_missing());
        causes.extend(self.scaling_stuck());
        causes.extend(self.paused());
        causes.extend(self.refused());
        let of_pods = self.of_pods(&[self.new_pods(), self.stranded_pods()].concat());
        causes.extend(self.lost_pods());
        let (of_old, of_new): (Vec<Cause>, _) = of_pods.into_iter().partition(Cause::is_of_old_pods);
        causes.extend(of_new);
        causes.extend(self.deadlock(&causes));
        causes.extend(self.old_not_going());
        causes.extend(self.pods_missing(&causes));
        causes.extend(of_old);
        // A restart for a change of the pod's spec or in a new sandbox is no trouble.
        let fails = |kind: &CauseKind| {
            let is_no_fault = matches!(kind, CauseKind::Crash(crash) if crash.is_no_fault());
            kind.is_failure() && !is_no_fault
        };
        if let Some(failing) = self.old_troubles(fails) {
            let is_urgent = self.leaves_too_few(&failing);
            causes.insert(if is_urgent { place_before_waits(&causes) } else { causes.len() }, failing);
        }
        causes
    }

    /// Old pods that were lost come before what new pods wait for, in an outage or while that leaves too few.
    pub(super) fn add_lost_pods(&mut self) {
        let Some(lost) = self.old_troubles(CauseKind::is_loss) else { return };
        if self.is_outage || self.leaves_too_few(&lost) {
            self.causes.insert(place_before_waits(&self.causes), lost);
        }
    }

    /// Returns whether the cause is a trouble of old pods that would be bad at rest, one that was available and is not any more shows it,
    /// and fewer pods are available than the limits allow for want of such pods. A scaling may raise the limits beyond all that there were.
    pub(super) fn leaves_too_few(&self, cause: &Cause) -> bool {
        let CauseKind::OldTroubles { trouble, .. } = &cause.kind else { return false };
        if !self.is_below_floor() {
            return false;
        }
        let current = self.current.map(|set| set.uid);
        let old = self.model.owned_sets(self.deployment.uid).filter(|set| Some(set.uid) != current);
        let is_lost = |pod: &&Pod| pod.was_available() && pod.is_active() && !pod.state().is_ready();
        let lost: Vec<&'m Pod> = old.flat_map(|set| self.noteworthy_pods(set)).filter(is_lost).collect();
        let is_bad_trouble = |shown: &Cause| {
            is_alike(&shown.kind, &trouble.kind) && self.severity(&shown.kind, &shown.evidence) == Severity::Bad
        };
        // Each by itself: what pods show together has the time of the first of them.
        let has_bad_trouble = |pod: &'m Pod| self.of_pods(&[pod]).iter().any(is_bad_trouble);
        self.counts.available + lost.len() as u32 >= self.limits.floor && lost.into_iter().any(has_bad_trouble)
    }

    /// Makes a cause, and decides its severity.
    pub(super) fn rate_cause(&self, kind: CauseKind, pods: u32, evidence: Evidence) -> Cause {
        let severity = self.severity(&kind, &evidence);
        let is_fatal = self.is_fatal(&kind, &evidence, severity);
        Cause { severity, is_fatal, kind, pods, old: 0, evidence, is_mixed: false }
    }

    /// Returns the pods of the current ReplicaSet, by arrival.
    pub(super) fn new_pods(&self) -> Vec<&'m Pod> {
        let Some(set) = self.current else { return Vec::new() };
        order::sort_by(self.noteworthy_pods(set).collect(), |pod: &&Pod| (pod.first_seen_millis(), pod.uid.bits()))
    }

    /// Pods that a ReplicaSet controls, without those that cannot show a cause, by UID.
    pub(super) fn noteworthy_pods(&self, set: &ReplicaSet) -> impl Iterator<Item = &'m Pod> + use<'m> {
        let owner = Some(set.uid);
        let pods = self.model.noteworthy_pods(set.uid, self.now.millis, self.now.skew_millis);
        pods.into_iter().filter(move |pod| pod.owner == owner)
    }

    fn silent(&self) -> Option<Cause> {
        let (since, last) = *self.deployment.verdicts.last()?;
        // A ReplicaSet that is refused is all that it reports: the spec that it looked at counts as unobserved.
        if [last, self.kubectl] != [KubectlVerdict::NotObserved; 2] || self.refused_set().is_some() {
            return None;
        }
        let is_first = self.deployment.from_first_list && since == self.deployment.first_seen_millis;
        let is_least = is_first || self.deployment.gaps.iter().any(|gap| gap.to_millis == since);
        let evidence = Evidence { object: self.me(), since_millis: Some(since), is_least, ..Evidence::default() };
        (self.now.millis - since > SILENT_MILLIS).then(|| self.rate_cause(CauseKind::ControllerSilent, 0, evidence))
    }

    /// Finds that the controller has seen an edited template, no pods are left, and it makes no ReplicaSet: Recreate
    /// has come to a halt.
    fn set_missing(&self) -> Option<Cause> {
        let now = &self.deployment.now;
        let is_empty = self.counts.available + self.counts.not_yet + self.counts.terminating == 0;
        if !self.awaits_revision
            || self.kubectl == KubectlVerdict::NotObserved
            || !is_empty
            || now.spec.paused
            || now.spec.replicas == 0
            || !self.sees_pods
        {
            return None;
        }
        let since = self.model.linked_pods(self.deployment.uid).filter_map(Pod::gone_millis).max()?;
        let evidence = Evidence { object: self.me(), since_millis: Some(since), ..Evidence::default() };
        (self.now.millis - since > SET_MISSING_MILLIS && self.refused_set().is_none())
            .then(|| self.rate_cause(CauseKind::SetMissing, 0, evidence))
    }

    /// Finds a scaling that the controller tries before everything else, and never finishes.
    fn scaling_stuck(&self) -> Option<Cause> {
        let replicas = rollout::stuck_scaling(self.model, self.deployment)?;
        let is_scaling = |mark: &&Mark| matches!(mark.kind, MarkKind::Replicas { .. });
        let since = self.deployment.marks.iter().rfind(is_scaling).map(|mark| mark.at_millis);
        let evidence = Evidence { object: self.me(), since_millis: since, ..Evidence::default() };
        Some(self.rate_cause(CauseKind::ScalingStuck { replicas }, 0, evidence))
    }

    /// Returns the replicas to scale back to, if a scaling that the controller never finishes keeps the rollout from
    /// going on.
    pub fn replicas_before_stuck_scaling(&self) -> Option<u32> {
        self.causes.iter().find_map(|cause| match cause.kind {
            CauseKind::ScalingStuck { replicas } => Some(replicas),
            _ => None,
        })
    }

    fn paused(&self) -> Option<Cause> {
        if !self.deployment.now.spec.paused {
            return None;
        }
        let paused = self.deployment.marks.iter().rev().find(|mark| mark.kind == MarkKind::Paused);
        let since_millis = paused.map(|mark| mark.at_millis);
        let evidence = Evidence {
            object: self.me(),
            reason: "spec.paused".to_owned(),
            since_millis,
            is_least: since_millis.is_some_and(|since| rollout::is_in_gap(self.deployment, since)),
            ..Evidence::default()
        };
        let is_edited = self.awaits_revision || self.awaits_first_revision();
        Some(self.rate_cause(CauseKind::Paused { is_edited }, 0, evidence))
    }

    /// Finds a deadlock: no old pod may go, and a new one finds no place.
    fn deadlock(&self, so_far: &[Cause]) -> Option<Cause> {
        let obstacle = |cause: &Cause| match &cause.kind {
            kind if kind.is_refusal(Refused::Pods) => Some(Obstacle::Refused),
            CauseKind::Unschedulable { .. } => Some(Obstacle::NoNode),
            // A pod that has it is gone only once the new one is available.
            CauseKind::Starting { hold: StartHold::Attach, .. } if self.has_volume(&cause.evidence.message) => {
                Some(Obstacle::Volume)
            }
            _ => None,
        };
        let mut bad = so_far.iter().filter(|cause| cause.severity == Severity::Bad);
        let (obstacle, cannot_add) = bad.find_map(|cause| Some((obstacle(cause)?, cause)))?;
        let spec = &self.deployment.now.spec;
        let is_blocked = self.limits.floor == spec.replicas
            && spec.replicas > 0
            && self.sums.old_desired() > 0
            && matches!(self.next, Next::WaitForNew(_) | Next::AddNew(_))
            && self.sums.available <= self.limits.floor;
        is_blocked.then(|| Cause {
            kind: CauseKind::Deadlock { obstacle },
            is_fatal: false,
            pods: 0,
            old: 0,
            is_mixed: false,
            ..cannot_add.clone()
        })
    }

    /// Returns whether an old pod has the volume that a new one waits for.
    fn has_volume(&self, message: &str) -> bool {
        let new = self.current.map(|set| set.uid);
        let mut pods = self.model.linked_pods(self.deployment.uid).filter(|pod| pod.owner != new);
        pods.any(|pod| messages::users_of_volume(message).any(|name| name == pod.name))
    }

    fn old_not_going(&self) -> Option<Cause> {
        let spec = &self.deployment.now.spec;
        if spec.strategy != Strategy::Recreate || spec.replicas == 0 {
            return None;
        }
        let new = self.current.filter(|set| set.now.counts.desired > 0);
        let is_old = |set: &&ReplicaSet| new.is_none_or(|new| new.uid != set.uid);
        let old = self.model.owned_sets(self.deployment.uid).filter(is_old);
        // The controller waits neither for one that has ended and is only held by a finalizer, nor for one that is no ReplicaSet's.
        let pods = old.flat_map(|set| self.noteworthy_pods(set)).filter(|pod| pod.now.terminal_millis.is_none());
        let mut late = pods.filter_map(|pod| Some((pod, overdue(pod, self.now)?)));
        let (pod, ended) = late.next()?;
        let evidence = Evidence { since_millis: Some(ended), ..of_pod(pod, ended) };
        Some(self.rate_cause(CauseKind::OldNotGoing, 1 + late.count() as u32, evidence))
    }

    /// Finds a ReplicaSet that has desired more pods than exist for longer than its controller needs.
    fn pods_missing(&self, so_far: &[Cause]) -> Option<Cause> {
        let is_refused = so_far.iter().any(|cause| matches!(cause.kind, CauseKind::Refused { .. }));
        if is_refused || !self.sees_pods {
            return None;
        }
        if let Some(evidence) = self.all_deleted() {
            return Some(self.rate_cause(CauseKind::PodsDeleted, self.owed.0, evidence));
        }
        self.model.owned_sets(self.deployment.uid).filter(|set| !set.now.deleting).find_map(|set| {
            let (desired, there) = (set.now.counts.desired, self.model.pod_counts(set.uid).active);
            if there >= desired {
                return None;
            }
            let pods = || self.model.controlled_pods(set.uid);
            let moved = pods().map(Pod::since_millis).chain(set.scales.iter().map(|scale| scale.at_millis)).max();
            let since = moved.unwrap_or(set.first_seen_millis);
            // A list shows the ReplicaSet and its pods without the times of their changes.
            let is_least = moved.is_none() || pods().any(|pod| pod.now.listed_millis == Some(since));
            (self.now.millis - since > PODS_MISSING_MILLIS).then(|| {
                let evidence = Evidence {
                    object: format!("ReplicaSet {}", set.name),
                    since_millis: Some(since),
                    is_least,
                    ..Evidence::default()
                };
                self.rate_cause(CauseKind::PodsMissing { desired, there }, desired - there, evidence)
            })
        })
    }

    /// As many pods of each ReplicaSet as it desires were deleted at once from outside, and none was created since. The end of those that
    /// a list shows going is not known.
    fn all_deleted(&self) -> Option<Evidence> {
        if self.counts.available + self.counts.not_yet > 0 {
            return None;
        }
        let sets = || self.model.owned_sets(self.deployment.uid).filter(|set| set.now.counts.desired > 0);
        // Pods that ended before the ReplicaSet was scaled last are not among those that it desires now.
        let pods = |set: &ReplicaSet| {
            let scaled = set.scales.last().map(|scale| scale.at_millis);
            let is_missed = move |pod: &&Pod| pod.ended_millis().is_none_or(|at| Some(at) >= scaled);
            self.model.controlled_pods(set.uid).filter(is_missed)
        };
        let last = sets().flat_map(pods).filter_map(Pod::ended_millis).max()?;
        let is_from_outside = |pod: &Pod| {
            let reason = pod.end_reason;
            let is_late = pod.ended_millis().is_some_and(|at| last - at <= TOGETHER_MILLIS);
            is_late && matches!(reason, Some(EndReason::DeletedManually | EndReason::Unknown))
        };
        let is_all =
            |set: &ReplicaSet| pods(set).filter(|pod| is_from_outside(pod)).count() >= set.now.counts.desired as usize;
        let is_unknown = |pod: &Pod| is_from_outside(pod) && pod.end_reason == Some(EndReason::Unknown);
        (self.now.millis - last > REPLACEMENT_MILLIS && sets().all(is_all)).then(|| Evidence {
            object: self.me(),
            since_millis: Some(last),
            is_least: sets().flat_map(pods).any(is_unknown),
            ..Evidence::default()
        })
    }

    /// Returns whether all pods were deleted, as far as that was seen, and none is created: the namespace is being
    /// deleted, or the ReplicaSet controller cannot create any.
    pub fn has_lost_all_pods(&self) -> bool {
        let has_none = self.counts.available + self.counts.not_yet == 0;
        self.causes.iter().any(|cause| match cause.kind {
            CauseKind::PodsDeleted => true,
            CauseKind::PodsMissing { .. } => has_none && cause.evidence.is_least,
            _ => false,
        })
    }

    /// Returns a trouble of that kind of pods of an older revision: one that leaves too few pods, or the first.
    fn old_troubles(&self, is_trouble: fn(&CauseKind) -> bool) -> Option<Cause> {
        let new = self.current.map(|set| set.uid);
        let old = self.model.owned_sets(self.deployment.uid).filter(|set| Some(set.uid) != new);
        let to_cause = |set: &ReplicaSet, trouble: Cause| {
            let (pods, evidence) = (trouble.pods, trouble.evidence.clone());
            let kind = CauseKind::OldTroubles { revision: set.revision(), trouble: Box::new(trouble) };
            Cause { old: pods, ..self.rate_cause(kind, pods, evidence) }
        };
        let of_set = |set: &ReplicaSet| -> Vec<Cause> {
            let pods: Vec<&'m Pod> = self.noteworthy_pods(set).collect();
            let causes = self.of_pods(&pods).into_iter().filter(|cause| is_trouble(&cause.kind));
            causes.map(|trouble| to_cause(set, trouble)).collect()
        };
        let troubles: Vec<Cause> = old.flat_map(of_set).collect();
        let urgent = troubles.iter().position(|cause| self.leaves_too_few(cause));
        troubles.into_iter().nth(urgent.unwrap_or(0))
    }

    /// Pods that a ReplicaSet controls and that fail, or run for the moment in a crash loop.
    pub(super) fn failing_pods(&self, set: &ReplicaSet) -> Vec<&'m Pod> {
        let mine = self.noteworthy_pods(set).filter(|pod| !pod.is_leftover());
        mine.filter(|pod| pod.state() == PodState::Failing || self.is_in_crash_loop(pod)).collect()
    }

    /// Pods that terminate, none of them overdue, may make room for a pod of which the scheduler says that. Those of deleted ReplicaSets
    /// count, too.
    pub fn room_comes(&self, message: &str) -> bool {
        let is_overdue = |set: &ReplicaSet| self.noteworthy_pods(set).any(|pod| overdue(pod, self.now).is_some());
        let mut sets = self.model.controlled_sets(self.deployment.uid);
        self.counts.terminating > 0 && messages::needs_room(message) && !sets.any(is_overdue)
    }

    pub(super) fn me(&self) -> String {
        format!("Deployment {}", self.deployment.name)
    }
}

/// Returns when a pod that still terminates should have been gone, by our clock; `None` if it has time, or if that is
/// not known.
pub fn overdue(pod: &Pod, now: Now) -> Option<Millis> {
    // Grace periods end by the API server's clock.
    let ends = pod.now.deletion_at_millis?.saturating_add(now.skew_millis);
    // The last delete, which removes a pod that has ended, has no grace period.
    let ends = ends.max(pod.since_millis());
    (pod.state() == PodState::Terminating && now.millis - ends > OVERDUE_MILLIS).then_some(ends)
}

/// Returns whether pods that Recreate took down in that time were overdue for so long that they were a fault.
pub fn was_take_down_stuck(
    model: &Model,
    deployment: &Deployment,
    (from, until): (Millis, Millis),
    skew_millis: Millis,
) -> bool {
    let is_stuck = |pod: &Pod| {
        let Some(grace_ends) = pod.now.deletion_at_millis else { return false };
        let mut spans = pod.spans().filter(|(state, ..)| *state == PodState::Terminating);
        spans.any(|(_, since, to)| {
            // The controller waits neither for one that has ended, nor for one that is no ReplicaSet's. None adopts one that terminates.
            let released = pod.releases.last().filter(|release| release.adopted.is_none());
            let released_millis = released.map(|release| release.at_millis);
            let ends = to.into_iter().chain(pod.now.terminal_millis).chain(released_millis);
            let gone = ends.fold(until, Millis::min);
            gone > from && gone - since.max(grace_ends.saturating_add(skew_millis)) > IDLE_MILLIS
        })
    };
    model.linked_pods(deployment.uid).any(is_stuck)
}

/// Returns the place before the first cause that new pods only wait for.
fn place_before_waits(causes: &[Cause]) -> usize {
    let waits = |cause: &Cause| cause.severity < Severity::Bad && cause.kind.is_of_new_pods();
    causes.iter().position(waits).unwrap_or(causes.len())
}

pub(super) fn of_pod(pod: &Pod, since: Millis) -> Evidence {
    Evidence {
        object: format!("Pod {}", pod.name),
        reason: pod.now.reason.clone(),
        message: pod.now.message.clone(),
        since_millis: Some(since),
        is_least: pod.now.listed_millis == Some(since),
    }
}

/// Returns since when a failing pod fails, its short recoveries included: the first failing state after it was last
/// ready.
pub(super) fn troubled_since(pod: &Pod) -> Millis {
    let good = pod.states.iter().rposition(|(state, _)| state.is_ready());
    let mut later = pod.states.iter().skip(good.map_or(0, |index| index + 1));
    later.find(|(state, _)| *state == PodState::Failing).map_or_else(|| pod.since_millis(), |(_, since)| *since)
}
