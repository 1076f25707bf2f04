//! Why a rollout does not move: causes as data, most decisive first. [`crate::say`] makes sentences of them.

pub mod certain;
mod pods;

use serde::{Deserialize, Serialize};

use crate::budget::{Limits, Next, Sums};
use crate::fact::{Condition, ConditionStatus, Strategy};
use crate::model::{Deployment, Pod, ReplicaSet};
use crate::phase::PodState;
use crate::verdict::{self, KubectlVerdict};
use crate::view::Now;
use crate::{Millis, Model, order, rollout};

pub use pods::{is_failing, troubled_since};

/// A controller that has not reacted for this long is silent.
pub const SILENT_MILLIS: Millis = 5_000;
/// ReplicaSets make their pods within this time, unless something is wrong.
const PODS_MISSING_MILLIS: Millis = 10_000;

/// One reason why the rollout does not get on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// What kind of reason it is.
    pub kind: CauseKind,
    /// Waiting alone will not mend it; `false` for what is normal on the way.
    pub is_fault: bool,
    /// Pods that it holds back, 0 when it is not about pods.
    pub pods: u32,
    /// What shows it.
    pub evidence: Evidence,
}

/// What shows a cause: one object and what it says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Kind and name, "Pod web-7d9f-2ktdq".
    pub object: String,
    /// Its machine-readable reason; may be empty.
    pub reason: String,
    /// Its message; may be empty.
    pub message: String,
    /// Since when, by arrival; `None` when that is not known.
    pub since_millis: Option<Millis>,
    /// Nobody saw it begin: it lasts at least since then.
    pub is_least: bool,
}

/// What the API server refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// Creating the ReplicaSet of a new template.
    ReplicaSet,
    /// Creating pods.
    Pods,
    /// Deleting pods.
    Deletion,
}

/// The kinds of causes, the most decisive first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CauseKind {
    /// The Deployment controller has not seen the spec.
    ControllerSilent,
    /// Somebody paused it.
    Paused {
        /// The template was edited meanwhile.
        is_edited: bool,
    },
    /// The API server refuses what the controllers ask for.
    Refused(Refused),
    /// An image cannot be pulled.
    Image {
        /// Which one, where it is known.
        image: Option<String>,
    },
    /// A container cannot be made.
    BadContainer,
    /// A container does not start for a reason that is not known here.
    NotStarted,
    /// Containers end again and again.
    Crash {
        /// Exit code, when it was seen.
        exit_code: Option<i32>,
        /// Killed for want of memory.
        is_out_of_memory: bool,
        /// Restarts of the pod that has most.
        restarts: u32,
        /// All of them were in the time since it fails.
        is_since: bool,
    },
    /// Pods failed as a whole (Evicted, OutOfcpu, …), lately.
    PodsFailed,
    /// No node takes them.
    Unschedulable,
    /// The new pods' init containers are not done.
    Init {
        /// The one that is next has started.
        is_running: bool,
    },
    /// Containers run and are not ready.
    NotReady,
    /// A readiness gate is closed.
    Gate,
    /// The budget forbids every step: no old pod may go and no new one fits.
    Deadlock,
    /// Old pods are to be gone first, and are not.
    OldNotGoing,
    /// The ReplicaSet controller does not create the pods that a ReplicaSet desires.
    PodsMissing {
        /// `spec.replicas` of the ReplicaSet.
        desired: u32,
        /// Pods of it that exist.
        there: u32,
    },
    /// Ready, and `minReadySeconds` runs.
    MinReady {
        /// Time left until the first one counts, in milliseconds.
        left_millis: Millis,
        /// `spec.minReadySeconds` of their ReplicaSet.
        seconds: u32,
        /// One pod counts a second or more before the last one: the time left is that of the first.
        is_first: bool,
    },
    /// Pods of an older revision have troubles of their own.
    OldTroubles {
        /// The revision.
        revision: Option<u64>,
    },
}

impl CauseKind {
    /// It keeps pods from starting, or from being there at all.
    #[must_use]
    pub const fn is_failure(&self) -> bool {
        matches!(
            self,
            Self::Image { .. } | Self::BadContainer | Self::NotStarted | Self::Crash { .. } | Self::Refused(_)
        )
    }
}

/// What causes are looked for in.
pub struct Situation<'m> {
    /// The model.
    pub model: &'m Model,
    /// The Deployment.
    pub deployment: &'m Deployment,
    /// What its controller counts.
    pub sums: &'m Sums,
    /// What its controller may do.
    pub next: Next,
    /// Ceiling and floor.
    pub limits: Limits,
    /// Pods are seen; else only what ReplicaSets report is known.
    pub sees_pods: bool,
    /// The time.
    pub now: Now,
}

impl Situation<'_> {
    /// The causes that hold now, most decisive first.
    #[must_use]
    pub fn causes(&self) -> Vec<Cause> {
        let mut causes = Vec::new();
        causes.extend(self.silent());
        causes.extend(self.paused());
        causes.extend(self.refused());
        let pods = self.new_pods();
        self.failing(&pods, &mut causes);
        causes.extend(self.unschedulable(&pods));
        causes.extend(self.init(&pods));
        causes.extend(self.unready(&pods));
        causes.extend(self.deadlock(&causes));
        causes.extend(self.old_not_going());
        causes.extend(self.pods_missing(&causes));
        causes.extend(self.min_ready(&pods));
        causes.extend(self.old_troubles());
        causes
    }

    /// Pods that the current ReplicaSet controls.
    fn new_pods(&self) -> Vec<&Pod> {
        let Some(set) = rollout::current_set(self.model, self.deployment) else {
            return Vec::new();
        };
        let mine = self.model.pods_of(set.uid).filter(|pod| pod.owner == Some(set.uid)).collect();
        order::by(mine, |pod| (pod.first_seen_millis(), pod.uid.bits()))
    }

    fn silent(&self) -> Option<Cause> {
        // A ReplicaSet that is refused is all that it reports: the spec that it looked at counts as unobserved.
        if self.refuses_set() {
            return None;
        }
        let since = self.verdict_since(KubectlVerdict::NotObserved)?;
        let is_first = self.deployment.from_first_list && since == self.deployment.first_seen_millis;
        let is_least = is_first || self.deployment.gaps.iter().any(|gap| gap.to_millis == since);
        let evidence = Evidence { object: self.me(), since_millis: Some(since), is_least, ..Evidence::default() };
        (self.now.millis - since > SILENT_MILLIS).then(|| fault(CauseKind::ControllerSilent, 0, evidence))
    }

    fn paused(&self) -> Option<Cause> {
        let now = &self.deployment.now;
        if !now.spec.paused {
            return None;
        }
        let is_edited = rollout::awaits_revision(self.model, self.deployment);
        let paused = self.deployment.marks.iter().rev().find(|mark| mark.kind == crate::model::MarkKind::Paused);
        let evidence = Evidence {
            object: self.me(),
            reason: "spec.paused".to_owned(),
            since_millis: paused.map(|mark| mark.at_millis),
            ..Evidence::default()
        };
        Some(Cause { kind: CauseKind::Paused { is_edited }, is_fault: false, pods: 0, evidence })
    }

    fn refused(&self) -> Option<Cause> {
        let status = &self.deployment.now.status;
        if self.deployment.now.spec.paused {
            return None; // the controller keeps no account of failures while it is paused
        }
        let create_error = status.progressing.as_ref().filter(|_| self.refuses_set());
        let failure = status.replica_failure.as_ref().filter(|c| c.status == ConditionStatus::True);
        let condition: &Condition = create_error.or(failure)?;
        let what = match condition.reason.as_str() {
            "ReplicaSetCreateError" => Refused::ReplicaSet,
            "FailedDelete" => Refused::Deletion,
            _ => Refused::Pods,
        };
        let evidence = Evidence {
            object: self.me(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            since_millis: condition.last_transition_millis.map(|at| at.min(self.now.millis)),
            is_least: false,
        };
        Some(fault(CauseKind::Refused(what), 0, evidence))
    }

    fn refuses_set(&self) -> bool {
        let told = self.deployment.now.status.progressing.as_ref();
        told.is_some_and(|told| told.reason == "ReplicaSetCreateError")
    }

    /// Nobody can move: no old pod may go, and a new one finds no place.
    fn deadlock(&self, so_far: &[Cause]) -> Option<Cause> {
        let cannot_add =
            so_far.iter().find(|c| matches!(c.kind, CauseKind::Refused(Refused::Pods) | CauseKind::Unschedulable))?;
        let spec = &self.deployment.now.spec;
        let is_blocked = self.limits.floor == spec.replicas
            && spec.replicas > 0
            && self.sums.old_desired() > 0
            && matches!(self.next, Next::WaitForNew { .. } | Next::AddNew(_))
            && self.sums.available <= self.limits.floor;
        is_blocked.then(|| fault(CauseKind::Deadlock, 0, cannot_add.evidence.clone()))
    }

    fn old_not_going(&self) -> Option<Cause> {
        let spec = &self.deployment.now.spec;
        if spec.strategy != Strategy::Recreate || spec.replicas == 0 {
            return None;
        }
        let new = rollout::current_set(self.model, self.deployment).filter(|set| set.now.counts.desired > 0);
        let is_old = |set: &&ReplicaSet| new.is_none_or(|new| new.uid != set.uid);
        let over = |pod: &&Pod| {
            // Grace periods end by the API server's clock.
            let ends = pod.now.deletion_at_millis.map(|at| at.saturating_add(self.now.skew_millis));
            pod.state() == PodState::Terminating && ends.is_some_and(|at| at < self.now.millis)
        };
        let mut late = self
            .model
            .owned_sets(self.deployment.uid)
            .filter(is_old)
            .flat_map(|set| self.model.pods_of(set.uid))
            .filter(over);
        let pod = late.next()?;
        Some(fault(CauseKind::OldNotGoing, 1 + late.count() as u32, of_pod(pod, pod.since_millis())))
    }

    /// A ReplicaSet asks for more pods than exist, for longer than its controller needs.
    fn pods_missing(&self, so_far: &[Cause]) -> Option<Cause> {
        let is_refused = so_far.iter().any(|cause| matches!(cause.kind, CauseKind::Refused(_)));
        if is_refused || !self.sees_pods {
            return None;
        }
        self.model.owned_sets(self.deployment.uid).filter(|set| !set.now.deleting).find_map(|set| {
            let pods = || self.model.pods_of(set.uid).filter(|pod| pod.owner == Some(set.uid));
            let (desired, there) = (set.now.counts.desired, pods().filter(|pod| pod.is_active()).count() as u32);
            let moved = pods().map(Pod::since_millis).chain(set.scales.iter().map(|scale| scale.at_millis)).max();
            let since = moved.unwrap_or(set.first_seen_millis);
            // A list that tells of the ReplicaSet with its pods tells of no moment.
            let is_least = set.scales.is_empty() || pods().any(|pod| pod.now.listed_millis == Some(since));
            (there < desired && self.now.millis - since > PODS_MISSING_MILLIS).then(|| {
                let evidence = Evidence {
                    object: format!("ReplicaSet {}", set.name),
                    since_millis: Some(since),
                    is_least,
                    ..Evidence::default()
                };
                fault(CauseKind::PodsMissing { desired, there }, desired - there, evidence)
            })
        })
    }

    fn old_troubles(&self) -> Option<Cause> {
        let new = rollout::current_set(self.model, self.deployment).map(|set| set.uid);
        let old = self.model.owned_sets(self.deployment.uid).filter(|set| Some(set.uid) != new);
        old.filter_map(|set| {
            let mine = self.model.pods_of(set.uid).filter(|pod| pod.owner == Some(set.uid) && !pod.is_leftover());
            let mut failing = mine.filter(|pod| is_failing(pod));
            let pod = failing.next()?;
            Some(Cause {
                kind: CauseKind::OldTroubles { revision: set.revision() },
                is_fault: false,
                pods: 1 + failing.count() as u32,
                evidence: of_pod(pod, troubled_since(pod)),
            })
        })
        .next()
    }

    fn verdict_since(&self, desired: KubectlVerdict) -> Option<Millis> {
        let (since, last) = self.deployment.verdicts.last()?;
        (*last == desired && verdict::kubectl(&self.deployment.now) == desired).then_some(*since)
    }

    fn me(&self) -> String {
        format!("Deployment {}", self.deployment.name)
    }
}

const fn fault(kind: CauseKind, pods: u32, evidence: Evidence) -> Cause {
    Cause { kind, is_fault: true, pods, evidence }
}

fn of_pod(pod: &Pod, since: Millis) -> Evidence {
    Evidence {
        object: format!("Pod {}", pod.name),
        reason: pod.now.reason.clone(),
        message: pod.now.message.clone(),
        since_millis: Some(since),
        is_least: pod.now.listed_millis == Some(since),
    }
}
