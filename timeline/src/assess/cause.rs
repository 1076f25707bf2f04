//! The causes for which a rollout does not move, as data. [`super::rollout_causes`] finds them, [`super::severity`] decides how bad
//! each is, [`crate::say`] puts them into words.

use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::model::Deployment;
use crate::model::fact::Role;
use crate::rules::messages::{ContainerKill, NewNode, StartHold};
use crate::rules::pulls::{PullFailure, failures, read_pull_failure};

/// The severity of a cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Severity {
    /// It may pass by itself, by rule.
    Normal,
    /// It takes longer than it may, without an error of its own.
    Slow,
    /// Somebody should look.
    Bad,
}

/// One reason why the rollout does not get on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Its kind.
    pub kind: CauseKind,
    /// Its severity.
    pub severity: Severity,
    /// The rollout cannot succeed with this revision.
    pub is_fatal: bool,
    /// Pods that it holds back, 0 when it is not about pods.
    pub pods: u32,
    /// Pods of older revisions among them.
    pub old: u32,
    /// Its evidence.
    pub evidence: Evidence,
    /// The evidence is that of one pod, and others say something else.
    pub is_mixed: bool,
}

impl Cause {
    /// Returns whether the cause is about old pods alone, which do not hold up the new ones.
    pub const fn is_of_old_pods(&self) -> bool {
        self.old > 0 && self.old == self.pods
    }
}

/// The evidence of a cause: one object and what it says.
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
    /// Its start was not observed: it lasts at least since then.
    pub is_least: bool,
}

impl Evidence {
    /// Returns the name of its object.
    pub fn object_name(&self) -> &str {
        self.object.rsplit(' ').next().unwrap_or_default()
    }
}

/// The request that the API server refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// Creating the ReplicaSet of a new template.
    ReplicaSet,
    /// Creating pods.
    Pods,
    /// Deleting pods.
    Deletion,
}

/// Obstacle to adding a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// The API server refuses it.
    Refused,
    /// No node takes it.
    NoNode,
    /// An old pod still has its volume.
    Volume,
}

/// A step of the start of a pod that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartStep {
    /// Its last init container completed.
    Init,
    /// An image was pulled, or found on the node.
    Pull,
}

/// The start time of a pod so far, and the time that is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartTime {
    /// For how long it has been waited for.
    pub spent_millis: Millis,
    /// For how long that is normal.
    pub allowed_millis: Millis,
    /// The time that its probes allow, where its startup probe has not passed; else 0.
    pub probe_millis: Millis,
    /// Times of earlier pods of this workload from their creation until they were available: least and most.
    pub earlier: Option<(Millis, Millis)>,
    /// When the pod was created, by our clock, if a list told of it first: how much of the time before that it waited for a
    /// node is not known.
    pub created_millis: Option<Millis>,
}

impl StartTime {
    /// Returns whether the start takes longer than is normal.
    pub const fn is_over(&self) -> bool {
        self.spent_millis > self.allowed_millis
    }
}

/// A container that ended and has not recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrashCause {
    /// Name of the container.
    pub container: String,
    /// Its part in the pod.
    pub role: Role,
    /// Exit code; `None` if it was not observed.
    pub exit_code: Option<i32>,
    /// Killed for want of memory.
    pub is_out_of_memory: bool,
    /// The kubelet's message where its first process could not be started.
    pub start_error: Option<String>,
    /// Its end where the kubelet stopped it.
    pub kill: Option<ContainerKill>,
    /// Number of restarts.
    pub restarts: u32,
    /// Those among them that came after errors, where it ends again and again and did with exit code 0 last.
    pub restarts_after_errors: u32,
    /// Number of its ends.
    pub exits: u32,
    /// All of them were in the time since the evidence.
    pub is_since: bool,
    /// It ends again and again.
    pub is_loop: bool,
    /// Its own restart policy does not start it again, and no rule of another container can.
    pub is_final: bool,
    /// Its own restart policy does not start it again, but a rule of another container can, with all others of the pod.
    pub needs_restart_of_all: bool,
    /// It ended longer ago than the longest back-off, is in no crash loop, and has not started again.
    pub is_overdue: bool,
    /// For how long it runs again; `None` while it does not run.
    pub runs_millis: Option<Millis>,
    /// Its pod is ready.
    pub is_ready: bool,
    /// Its pod has several containers.
    pub is_one_of_several: bool,
    /// Other containers that end again and again in each of the pods: their parts and names.
    pub other_containers: Vec<(Role, String)>,
    /// Further containers that run in each of the pods and are not ready: their parts and names.
    pub unready_containers: Vec<(Role, String)>,
}

impl CrashCause {
    /// Returns the number of restarts that may be told with its last end.
    pub const fn told_restarts(&self) -> u32 {
        self.restarts.saturating_sub(self.restarts_after_errors)
    }

    /// Returns whether the container did nothing wrong.
    pub fn is_no_fault(&self) -> bool {
        self.kill.as_ref().is_some_and(|kill| kill.end.is_no_fault())
    }
}

/// Returns why the image of a cause cannot be pulled, by its evidence and the Events about its pod.
pub fn pull_failure(deployment: &Deployment, kind: &CauseKind, evidence: &Evidence) -> PullFailure {
    let CauseKind::Image { image, .. } = kind else { return PullFailure::Unknown };
    let events = failures(deployment, evidence.object_name(), image.as_deref());
    read_pull_failure(&evidence.reason, image.as_deref(), &evidence.message, events)
}

/// The kinds of causes, the most decisive first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CauseKind {
    /// The Deployment controller has not seen the spec.
    ControllerSilent,
    /// The Deployment controller has seen the template and not made its ReplicaSet, and no pods are left.
    SetMissing,
    /// Recreate, chosen during a rollout together with other replicas: the Deployment controller takes this for a scaling first, which it
    /// never finishes while several ReplicaSets have replicas.
    ScalingStuck {
        /// The replicas that the ReplicaSets were scaled for last: scaled back to them, the rollout goes on.
        replicas: u32,
    },
    /// It is paused.
    Paused {
        /// The template was edited meanwhile, or no revision was made of it yet.
        is_edited: bool,
    },
    /// The API server refuses what the controllers ask for.
    Refused {
        /// The refused request.
        what: Refused,
        /// The revision whose ReplicaSet cannot replace a pod, where that is an older one.
        older: Option<u64>,
    },
    /// An image cannot be pulled.
    Image {
        /// Which one, where it is known.
        image: Option<String>,
        /// The container that waits for it, where that is no app container: its part in the pod, and its name.
        container: Option<(Role, String)>,
    },
    /// A container cannot be made, or not be started.
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
    /// Pods failed as a whole (Evicted, OutOfcpu, …), or ended well, lately.
    PodsFailed {
        /// One that was created after another one had failed is among them, and no pod of a rollout is available since.
        is_repeated: bool,
        /// The container of the example that ended, and its exit code, where the pod has no message.
        exit: Option<(String, i32)>,
        /// The node that does not exist, where they were lost with it one after the other.
        node: Option<String>,
    },
    /// No node takes them.
    Unschedulable {
        /// The node for which they are nominated, or the answer of an autoscaler.
        node: Option<NewNode>,
    },
    /// Scheduling gates hold them.
    SchedulingGated,
    /// No scheduler has said anything of them.
    NoScheduler {
        /// The node for which the first of them is nominated: all of them are nominated for one.
        nominated: Option<String>,
    },
    /// They have a node, and none of their containers runs.
    Starting {
        /// The step that they wait for.
        hold: StartHold,
        /// The step that ended last, where it is known and the next one is not.
        after: Option<StartStep>,
        /// Their start time, since then.
        time: StartTime,
    },
    /// The new pods' init containers, or sidecars that start before the others, are not done.
    Init {
        /// The one that is next has started.
        is_running: bool,
        /// The one that is next is a sidecar.
        is_sidecar: bool,
        /// Their start time.
        time: StartTime,
    },
    /// Containers run and are not ready.
    NotReady {
        /// A startup probe has not passed.
        is_startup: bool,
        /// They were ready before.
        was_ready: bool,
        /// Their start time.
        time: StartTime,
        /// Last result of that probe of the example, where an Event has it.
        saw: Option<String>,
    },
    /// Containers run, and their pods are ready and not ready in turn.
    Flapping {
        /// Number of times that the example lost its readiness within [`crate::model::pod::FLAP_MILLIS`].
        losses: usize,
        /// One of them is not ready at the moment, or was not lately, and no other pod is missing.
        is_recent: bool,
        /// All of them are ready, and none was not lately.
        is_over: bool,
    },
    /// Their node was reported not to be ready: no kubelet runs their probes.
    NodeSilent {
        /// Its name.
        node: String,
    },
    /// A readiness gate is closed.
    Gate {
        /// Its name, where it is known.
        gate: Option<String>,
        /// Their start time.
        time: StartTime,
    },
    /// The budget forbids every step: no old pod may go and no new one fits.
    Deadlock {
        /// Obstacle to adding a new one.
        obstacle: Obstacle,
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
    /// The pods of all ReplicaSets were deleted at once from outside, and none was created since: a namespace that is being deleted
    /// takes its pods first, and lets nobody create others; or the ReplicaSet controller cannot create any, and has not said why.
    PodsDeleted,
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
        /// The worst of them.
        trouble: Box<Cause>,
    },
}

impl CauseKind {
    /// Returns whether the cause keeps pods from starting, or from existing at all.
    pub const fn is_failure(&self) -> bool {
        match self {
            Self::Image { .. } | Self::BadContainer { .. } | Self::NotStarted { .. } | Self::Crash(_) => true,
            Self::Refused { older, .. } => older.is_none(),
            Self::Starting { hold, .. } => hold.is_error(),
            _ => false,
        }
    }

    /// Pods that were ready are not any more, or in turn.
    pub const fn is_loss(&self) -> bool {
        matches!(self, Self::NotReady { was_ready: true, .. } | Self::Flapping { .. })
    }

    /// Returns whether the cause is about pods of the current revision.
    pub const fn is_of_new_pods(&self) -> bool {
        match self {
            Self::Image { .. } | Self::BadContainer { .. } | Self::NotStarted { .. } | Self::Crash(_) => true,
            Self::PodsFailed { .. } | Self::Unschedulable { .. } => true,
            Self::SchedulingGated | Self::NoScheduler { .. } => true,
            Self::Starting { .. } | Self::Init { .. } | Self::NotReady { .. } | Self::Gate { .. } => true,
            Self::Flapping { .. } | Self::NodeSilent { .. } | Self::MinReady { .. } => true,
            Self::ControllerSilent | Self::SetMissing | Self::Paused { .. } | Self::Refused { .. } => false,
            Self::Deadlock { .. } | Self::OldNotGoing | Self::OldTroubles { .. } => false,
            Self::ScalingStuck { .. } => false,
            Self::PodsMissing { .. } | Self::PodsDeleted => false,
        }
    }

    /// Returns whether the API server refuses this to the current revision.
    pub fn is_refusal(&self, what: Refused) -> bool {
        *self == Self::Refused { what, older: None }
    }
}
