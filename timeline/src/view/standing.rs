//! How a Deployment stands: which verdict holds, of all that are possible.

use super::{Assessment, Tone};
use crate::Millis;
use crate::budget::Next;
use crate::model::Rollout;
use crate::phase::PodState;
use crate::stall::{Cause, CauseKind, certain};
use crate::verdict::KubectlVerdict;

/// A fault that may pass must last this long, and nothing move meanwhile, before it decides.
const FAULT_MILLIS: Millis = 10_000;
/// Nothing progressed for this long while something should: stalled.
const QUIET_MILLIS: Millis = 60_000;

/// How a Deployment stands: our verdict, before it is put into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It was deleted.
    Deleted,
    /// It is being deleted.
    Deleting,
    /// Somebody paused it.
    Paused,
    /// Its controller does not react.
    NotObserved,
    /// `spec.replicas` is 0, and no pods are left.
    ScaledToZero,
    /// The progress deadline passed.
    DeadlineExceeded,
    /// The new pods cannot become available, and why is certain or lasts.
    Failing,
    /// Another fault lasts, or nothing moves.
    Stalled,
    /// Recreate: the old pods go first.
    TakingDown,
    /// Something normal and named is waited for.
    Waiting,
    /// In progress.
    Progressing,
    /// Everything is available; old pods still drain.
    Finishing,
    /// Complete before, and more replicas are desired since.
    ScalingUp {
        /// A fault lasts, or nothing moves.
        is_stuck: bool,
    },
    /// Pods are missing and nothing is replaced; whether it rolls out, was scaled up or lost some was not seen.
    CatchingUp {
        /// A fault lasts, or nothing moves.
        is_stuck: bool,
    },
    /// Complete before, and now pods are missing.
    Degraded {
        /// A fault lasts, or nothing moves.
        is_stuck: bool,
    },
    /// Complete.
    Complete,
}

impl Standing {
    /// Whether the progress deadline can still strike, or struck: not of a rollout that is over, that nobody rolls out, or that
    /// has everything and waits only for the controller to report it.
    #[must_use]
    pub const fn has_deadline(self) -> bool {
        match self {
            Self::Deleted | Self::Deleting | Self::Paused | Self::NotObserved | Self::ScaledToZero => false,
            Self::Finishing | Self::Complete => false,
            Self::DeadlineExceeded | Self::Failing | Self::Stalled | Self::TakingDown | Self::Waiting => true,
            Self::Progressing | Self::ScalingUp { .. } | Self::CatchingUp { .. } | Self::Degraded { .. } => true,
        }
    }

    /// How the verdict is coloured.
    #[must_use]
    pub const fn tone(self) -> Tone {
        match self {
            Self::Complete => Tone::Ok,
            Self::Deleted | Self::Deleting | Self::ScaledToZero => Tone::Quiet,
            Self::NotObserved
            | Self::DeadlineExceeded
            | Self::Failing
            | Self::Stalled
            | Self::ScalingUp { is_stuck: true }
            | Self::CatchingUp { is_stuck: true }
            | Self::Degraded { is_stuck: true } => Tone::Bad,
            _ => Tone::Busy,
        }
    }
}

impl Assessment<'_> {
    pub(super) fn standing(&self) -> Standing {
        let (deployment, counts) = (self.deployment, self.counts);
        let desired = deployment.now.spec.replicas;
        if deployment.deleted_millis.is_some() {
            return Standing::Deleted;
        }
        if deployment.now.deleting {
            return Standing::Deleting;
        }
        if deployment.now.spec.paused {
            return Standing::Paused;
        }
        if self.causes.iter().any(|cause| cause.kind == CauseKind::ControllerSilent) {
            return Standing::NotObserved;
        }
        if desired == 0 && counts.available + counts.not_yet == 0 {
            return Standing::ScaledToZero;
        }
        match self.kubectl {
            KubectlVerdict::Complete if counts.available >= desired => Standing::Complete,
            KubectlVerdict::DeadlineExceeded if !self.has_deadline_of_before() => Standing::DeadlineExceeded,
            _ if self.is_taking_down() && !self.has_lasting_fault() => Standing::TakingDown,
            _ if self.sums.old_desired() == 0 && counts.available >= desired => Standing::Finishing,
            _ if self.is_settled() => self.standing_of_missing(),
            _ if self.is_unseen() => Standing::CatchingUp { is_stuck: self.is_stuck() },
            _ if self.decisive().is_some() => Standing::Failing,
            _ if self.is_stalled() => Standing::Stalled,
            _ if matches!(self.next, Next::WaitForNew { .. } | Next::Nothing) && self.waits() => Standing::Waiting,
            _ => Standing::Progressing,
        }
    }

    /// It went while nobody looked: it was deleted at that time or before.
    #[must_use]
    pub fn went_unseen(&self) -> bool {
        self.deployment.deleted_millis.is_some_and(|at| self.deployment.gaps.iter().any(|gap| gap.to_millis == at))
    }

    /// The rollout was complete before: what is missing now is no part of it.
    fn is_settled(&self) -> bool {
        let last = self.deployment.rollouts.last();
        let was_there = |rollout: &Rollout| rollout.completed_millis.or(rollout.available_millis).is_some();
        self.sums.old_desired() == 0 && last.is_some_and(was_there)
    }

    fn has_deadline_of_before(&self) -> bool {
        let last = self.deployment.rollouts.last();
        last.is_some_and(|rollout| rollout.has_deadline_of_before(&self.deployment.now))
    }

    /// Its pods are news of a rollout: one that is seen to be under way.
    #[must_use]
    pub fn is_rolling_out(&self) -> bool {
        let was_start_seen = || self.deployment.rollouts.last().is_some_and(|rollout| rollout.started_millis.is_some());
        self.sums.old_desired() > 0 || (was_start_seen() && !self.is_settled())
    }

    /// It was there when watching began, nothing is replaced, and whether it had everything before is not known.
    fn is_unseen(&self) -> bool {
        let last = self.deployment.rollouts.last();
        self.sums.old_desired() == 0
            && !self.awaits_revision()
            && last.is_some_and(|rollout| rollout.started_millis.is_none())
    }

    /// It was complete, and pods are missing: more are desired than it ever had, or some of those that it had are lost.
    fn standing_of_missing(&self) -> Standing {
        let had = self.deployment.rollouts.last().and_then(|rollout| rollout.available_of);
        let (desired, is_stuck) = (self.deployment.now.spec.replicas, self.is_stuck());
        match had {
            Some(had) if had < desired && had <= self.counts.available => Standing::ScalingUp { is_stuck },
            None if !is_stuck => Standing::CatchingUp { is_stuck },
            _ => Standing::Degraded { is_stuck },
        }
    }

    /// Everything that holds it up is named and passes by itself.
    fn waits(&self) -> bool {
        !self.causes.is_empty() && self.causes.iter().all(|cause| !cause.is_fault)
    }

    /// Recreate: the old pods go, and the new ones are made afterwards.
    fn is_taking_down(&self) -> bool {
        let spec = &self.deployment.now.spec;
        spec.strategy == crate::fact::Strategy::Recreate
            && spec.replicas > 0
            && matches!(self.next, Next::WaitForOldGone | Next::RemoveOld { .. })
    }

    /// The cause that the headline names: one that is certain holds at once; of the others one that keeps new pods from being
    /// there at all, as soon as it lasts and nothing moves.
    #[must_use]
    pub fn decisive(&self) -> Option<&Cause> {
        let is_lasting = |cause: &&Cause| cause.kind.is_failure() && self.lasts(cause);
        let certain = self.causes.iter().find(|cause| certain::is_certain(cause, self));
        certain.or_else(|| self.causes.iter().find(is_lasting).filter(|_| self.quiet_millis() > FAULT_MILLIS))
    }

    fn is_stuck(&self) -> bool {
        self.decisive().is_some() || self.is_stalled()
    }

    fn is_stalled(&self) -> bool {
        self.has_lasting_fault() || self.quiet_millis() > QUIET_MILLIS
    }

    fn has_lasting_fault(&self) -> bool {
        self.quiet_millis() > FAULT_MILLIS && self.causes.iter().any(|cause| self.lasts(cause))
    }

    fn lasts(&self, cause: &Cause) -> bool {
        cause.is_fault && cause.evidence.since_millis.is_none_or(|since| self.now_millis - since > FAULT_MILLIS)
    }

    fn quiet_millis(&self) -> Millis {
        self.now_millis - self.last_progress()
    }

    /// When the rollout last got on: a step of replicas, a pod that became available, a verdict.
    fn last_progress(&self) -> Millis {
        let uid = self.deployment.uid;
        let scales = self.model.sets_of(uid).flat_map(|set| set.scales.iter().map(|scale| scale.at_millis));
        let pods = self.model.pods_of_deployment(uid);
        let available = pods
            .iter()
            .flat_map(|pod| &pod.states)
            .filter(|(state, _)| matches!(state, PodState::Available | PodState::Gone));
        let verdict = self.deployment.verdicts.last().map(|(at, _)| *at);
        scales.chain(available.map(|(_, at)| *at)).chain(verdict).max().unwrap_or(self.deployment.first_seen_millis)
    }
}
