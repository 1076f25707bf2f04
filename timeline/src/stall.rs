//! Why a rollout does not move: causes as data, most decisive first. [`severity`] decides how bad each is, [`crate::say`] makes
//! sentences of them.

pub mod crash;
mod pods;
mod refusals;
pub mod severity;

use std::cell::OnceCell;

use serde::{Deserialize, Serialize};

use crate::model::KubectlVerdict;
use crate::model::Limits;
use crate::model::PodState;
use crate::model::fact::{Role, Strategy};
use crate::model::order;
use crate::model::{Deployment, Pod, ReplicaSet};
use crate::rules::budget::{Next, Sums};
use crate::rules::rollout;
use crate::rules::verdict;
use crate::view::{Counts, Now};
use crate::{Millis, Model};

use crate::rules::messages::{NewNode, ProbeKill};
pub use severity::Severity;

/// A controller that has not reacted for this long is silent.
pub const SILENT_MILLIS: Millis = 5_000;
/// Deployments make their ReplicaSets within this time, unless something is wrong.
const SET_MISSING_MILLIS: Millis = 10_000;
/// ReplicaSets make their pods within this time. Deleting a namespace takes pods first, and nobody makes them again until the rest
/// follows.
const PODS_MISSING_MILLIS: Millis = 30_000;
/// A kubelet ends a pod this long after its grace period, at the latest.
const OVERDUE_MILLIS: Millis = 10_000;

/// One reason why the rollout does not get on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// What kind of reason it is.
    pub kind: CauseKind,
    /// How bad it is.
    pub severity: Severity,
    /// The rollout cannot succeed with this revision.
    pub is_fatal: bool,
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

/// How long a pod has been starting, and how long it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartTime {
    /// For how long it has been waited for.
    pub spent_millis: Millis,
    /// For how long that is normal.
    pub allowed_millis: Millis,
    /// How long earlier pods of this workload took from their creation until they were available: least and most.
    pub earlier: Option<(Millis, Millis)>,
}

impl StartTime {
    /// It takes longer than is normal.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.spent_millis > self.allowed_millis
    }
}

/// What a pod that has a node waits for before its containers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartHold {
    /// A volume cannot be mounted.
    Mount,
    /// A volume cannot be attached to the node.
    Attach,
    /// The pod's sandbox, its network among it, cannot be made.
    Sandbox,
    /// An image is pulled.
    Pull,
    /// Nothing says.
    Unknown,
}

/// A container that ended and has not recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrashCause {
    /// Name of the container.
    pub container: String,
    /// What part it has in the pod.
    pub role: Role,
    /// Exit code, when it was seen.
    pub exit_code: Option<i32>,
    /// Killed for want of memory.
    pub is_out_of_memory: bool,
    /// What the kubelet says where its first process could not be started.
    pub start_error: Option<String>,
    /// Killed by the kubelet, because a probe or a hook failed.
    pub probe: Option<ProbeKill>,
    /// How often it was started again.
    pub restarts: u32,
    /// How often it ended.
    pub exits: u32,
    /// All of them were in the time since the evidence.
    pub is_since: bool,
    /// It ends again and again.
    pub is_loop: bool,
    /// For how long it runs again; `None` while it does not run.
    pub runs_millis: Option<Millis>,
    /// Its pod has several containers.
    pub is_one_of_several: bool,
}

/// The kinds of causes, the most decisive first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CauseKind {
    /// The Deployment controller has not seen the spec.
    ControllerSilent,
    /// The Deployment controller has seen the template and not made its ReplicaSet, and no pods are left.
    SetMissing,
    /// Somebody paused it.
    Paused {
        /// The template was edited meanwhile.
        is_edited: bool,
    },
    /// The API server refuses what the controllers ask for.
    Refused {
        /// What it refuses.
        what: Refused,
        /// The revision whose ReplicaSet cannot replace a pod, where that is an older one.
        older: Option<u64>,
    },
    /// An image cannot be pulled.
    Image {
        /// Which one, where it is known.
        image: Option<String>,
    },
    /// A container cannot be made.
    BadContainer {
        /// Name of the container.
        container: String,
    },
    /// A container does not start for a reason that is not known here.
    NotStarted {
        /// Name of the container.
        container: String,
    },
    /// A container ended, once or again and again.
    Crash(Box<CrashCause>),
    /// Pods failed as a whole (Evicted, OutOfcpu, …), lately.
    PodsFailed {
        /// One that was created after another one had failed is among them.
        is_repeated: bool,
    },
    /// No node takes them.
    Unschedulable {
        /// What the cluster does about it, where that is known.
        node: Option<NewNode>,
    },
    /// Scheduling gates hold them.
    SchedulingGated,
    /// No scheduler has looked at them.
    NoScheduler,
    /// They have a node, and none of their containers runs.
    Starting {
        /// What they wait for.
        hold: StartHold,
        /// How long they take.
        time: StartTime,
    },
    /// The new pods' init containers, or sidecars that start before the others, are not done.
    Init {
        /// The one that is next has started.
        is_running: bool,
        /// The one that is next is a sidecar.
        is_sidecar: bool,
        /// How long they take.
        time: StartTime,
    },
    /// Containers run and are not ready.
    NotReady {
        /// A startup probe has not passed.
        is_startup: bool,
        /// They were ready before.
        was_ready: bool,
        /// How long they take.
        time: StartTime,
    },
    /// A readiness gate is closed.
    Gate {
        /// Its name, where it is known.
        gate: Option<String>,
        /// How long they take.
        time: StartTime,
    },
    /// The budget forbids every step: no old pod may go and no new one fits.
    Deadlock {
        /// The API server refuses the new one; else no node takes it.
        is_refused: bool,
    },
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
        match self {
            Self::Image { .. } | Self::BadContainer { .. } | Self::NotStarted { .. } | Self::Crash(_) => true,
            Self::Refused { older, .. } => older.is_none(),
            Self::Starting { hold, .. } => matches!(hold, StartHold::Mount | StartHold::Attach | StartHold::Sandbox),
            _ => false,
        }
    }

    /// It is about pods of the current revision.
    #[must_use]
    pub const fn is_of_new_pods(&self) -> bool {
        match self {
            Self::Image { .. } | Self::BadContainer { .. } | Self::NotStarted { .. } | Self::Crash(_) => true,
            Self::PodsFailed { .. } | Self::Unschedulable { .. } | Self::SchedulingGated | Self::NoScheduler => true,
            Self::Starting { .. } | Self::Init { .. } | Self::NotReady { .. } | Self::Gate { .. } => true,
            Self::MinReady { .. } => true,
            Self::ControllerSilent | Self::SetMissing | Self::Paused { .. } | Self::Refused { .. } => false,
            Self::Deadlock { .. } | Self::OldNotGoing | Self::PodsMissing { .. } | Self::OldTroubles { .. } => false,
        }
    }

    /// The API server refuses this, of the current revision.
    #[must_use]
    pub fn is_refusal(&self, what: Refused) -> bool {
        *self == Self::Refused { what, older: None }
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
    /// Pods counted.
    pub counts: Counts,
    /// Pods that the ReplicaSet controller is yet to remove.
    pub to_remove: u32,
    /// Pods are seen; else only what ReplicaSets report is known.
    pub sees_pods: bool,
    /// The template was edited, and the ReplicaSet that will come of it is not there yet.
    pub awaits_revision: bool,
    /// The time.
    pub now: Now,
    /// How long earlier pods took, once somebody asked.
    pub earlier: OnceCell<Option<(Millis, Millis)>>,
}

impl<'m> Situation<'m> {
    /// The causes that hold now, most decisive first.
    #[must_use]
    pub fn causes(&self) -> Vec<Cause> {
        let mut causes = Vec::new();
        causes.extend(self.silent());
        causes.extend(self.set_missing());
        causes.extend(self.paused());
        causes.extend(self.refused());
        causes.extend(self.of_pods(&self.new_pods()));
        causes.extend(self.deadlock(&causes));
        causes.extend(self.old_not_going());
        causes.extend(self.pods_missing(&causes));
        causes.extend(self.old_troubles());
        causes
    }

    /// A cause with its severity.
    fn cause(&self, kind: CauseKind, pods: u32, evidence: Evidence) -> Cause {
        let severity = self.severity(&kind, &evidence);
        Cause { severity, is_fatal: self.is_fatal(&kind, &evidence, severity), kind, pods, evidence }
    }

    /// Pods that the current ReplicaSet controls.
    fn new_pods(&self) -> Vec<&'m Pod> {
        let Some(set) = rollout::current_set(self.model, self.deployment) else {
            return Vec::new();
        };
        let mine = self.model.pods_of(set.uid).filter(|pod| pod.owner == Some(set.uid)).collect();
        order::by(mine, |pod: &&Pod| (pod.first_seen_millis(), pod.uid.bits()))
    }

    fn silent(&self) -> Option<Cause> {
        // A ReplicaSet that is refused is all that it reports: the spec that it looked at counts as unobserved.
        if self.refused_set().is_some() {
            return None;
        }
        let since = self.verdict_since(KubectlVerdict::NotObserved)?;
        let is_first = self.deployment.from_first_list && since == self.deployment.first_seen_millis;
        let is_least = is_first || self.deployment.gaps.iter().any(|gap| gap.to_millis == since);
        let evidence = Evidence { object: self.me(), since_millis: Some(since), is_least, ..Evidence::default() };
        (self.now.millis - since > SILENT_MILLIS).then(|| self.cause(CauseKind::ControllerSilent, 0, evidence))
    }

    /// The controller has seen an edited template, no pods are left, and it makes no ReplicaSet: Recreate that came to a halt.
    fn set_missing(&self) -> Option<Cause> {
        let now = &self.deployment.now;
        let is_seen = verdict::kubectl(now) != KubectlVerdict::NotObserved;
        let is_empty = self.counts.available + self.counts.not_yet + self.counts.terminating == 0;
        if !self.awaits_revision
            || !is_seen
            || !is_empty
            || now.spec.paused
            || now.spec.replicas == 0
            || !self.sees_pods
        {
            return None;
        }
        let pods = self.model.pods_of_deployment(self.deployment.uid);
        let since = pods.iter().filter_map(|pod| pod.gone_millis()).max()?;
        let evidence = Evidence { object: self.me(), since_millis: Some(since), ..Evidence::default() };
        (self.now.millis - since > SET_MISSING_MILLIS && self.refused_set().is_none())
            .then(|| self.cause(CauseKind::SetMissing, 0, evidence))
    }

    fn paused(&self) -> Option<Cause> {
        if !self.deployment.now.spec.paused {
            return None;
        }
        let paused = self.deployment.marks.iter().rev().find(|mark| mark.kind == crate::model::MarkKind::Paused);
        let evidence = Evidence {
            object: self.me(),
            reason: "spec.paused".to_owned(),
            since_millis: paused.map(|mark| mark.at_millis),
            ..Evidence::default()
        };
        Some(self.cause(CauseKind::Paused { is_edited: self.awaits_revision }, 0, evidence))
    }

    /// Nobody can move: no old pod may go, and a new one finds no place.
    fn deadlock(&self, so_far: &[Cause]) -> Option<Cause> {
        let is_refused = |cause: &Cause| cause.kind.is_refusal(Refused::Pods);
        let is_why = |cause: &&Cause| is_refused(cause) || matches!(cause.kind, CauseKind::Unschedulable { .. });
        let cannot_add = so_far.iter().filter(|cause| cause.severity == Severity::Bad).find(is_why)?;
        let spec = &self.deployment.now.spec;
        let is_blocked = self.limits.floor == spec.replicas
            && spec.replicas > 0
            && self.sums.old_desired() > 0
            && matches!(self.next, Next::WaitForNew { .. } | Next::AddNew(_))
            && self.sums.available <= self.limits.floor;
        is_blocked.then(|| Cause {
            kind: CauseKind::Deadlock { is_refused: is_refused(cannot_add) },
            severity: cannot_add.severity,
            is_fatal: false,
            pods: 0,
            evidence: cannot_add.evidence.clone(),
        })
    }

    fn old_not_going(&self) -> Option<Cause> {
        let spec = &self.deployment.now.spec;
        if spec.strategy != Strategy::Recreate || spec.replicas == 0 {
            return None;
        }
        let new = rollout::current_set(self.model, self.deployment).filter(|set| set.now.counts.desired > 0);
        let is_old = |set: &&ReplicaSet| new.is_none_or(|new| new.uid != set.uid);
        let old = self.model.owned_sets(self.deployment.uid).filter(is_old);
        let mut late =
            old.flat_map(|set| self.model.pods_of(set.uid)).filter_map(|pod| Some((pod, overdue(pod, self.now)?)));
        let (pod, ended) = late.next()?;
        let evidence = Evidence { since_millis: Some(ended), ..of_pod(pod, ended) };
        Some(self.cause(CauseKind::OldNotGoing, 1 + late.count() as u32, evidence))
    }

    /// A ReplicaSet asks for more pods than exist, for longer than its controller needs.
    fn pods_missing(&self, so_far: &[Cause]) -> Option<Cause> {
        let is_refused = so_far.iter().any(|cause| matches!(cause.kind, CauseKind::Refused { .. }));
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
                self.cause(CauseKind::PodsMissing { desired, there }, desired - there, evidence)
            })
        })
    }

    fn old_troubles(&self) -> Option<Cause> {
        let new = rollout::current_set(self.model, self.deployment).map(|set| set.uid);
        let old = self.model.owned_sets(self.deployment.uid).filter(|set| Some(set.uid) != new);
        old.filter_map(|set| {
            let mine = self.model.pods_of(set.uid).filter(|pod| pod.owner == Some(set.uid) && !pod.is_leftover());
            let mut failing = mine.filter(|pod| crash::is_failing(pod, self.now));
            let pod = failing.next()?;
            let kind = CauseKind::OldTroubles { revision: set.revision() };
            Some(self.cause(kind, 1 + failing.count() as u32, of_pod(pod, troubled_since(pod))))
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

/// When a pod that still terminates should have been gone, by our clock; `None` where it has time, or where that is not known.
#[must_use]
pub fn overdue(pod: &Pod, now: Now) -> Option<Millis> {
    // Grace periods end by the API server's clock.
    let ends = pod.now.deletion_at_millis?.saturating_add(now.skew_millis);
    // The last delete, which removes a pod that has ended, has no grace period.
    let ends = ends.max(pod.since_millis());
    (pod.state() == PodState::Terminating && now.millis - ends > OVERDUE_MILLIS).then_some(ends)
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

/// Since when a failing pod fails, its short recoveries included: the first failing state after it was last ready.
fn troubled_since(pod: &Pod) -> Millis {
    let good = pod.states.iter().rposition(|(state, _)| state.is_ready());
    let mut later = pod.states.iter().skip(good.map_or(0, |index| index + 1));
    later.find(|(state, _)| *state == PodState::Failing).map_or_else(|| pod.since_millis(), |(_, since)| *since)
}
