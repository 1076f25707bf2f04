//! Parts of entries of the story: how a rollout started, what a step did, how pods and containers ended.

use serde::{Deserialize, Serialize};

use crate::{Millis, Uid};
use crate::model::container::Role;

/// The reason for which a rollout started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Trigger {
    /// It was running when watching began.
    #[default]
    Unknown,
    /// The template returned to one that an existing ReplicaSet has.
    Rollback,
    /// The ReplicaSet is older than the Deployment, or belonged to another one.
    Adopted,
    /// The Deployment was created.
    Created,
    /// `kubectl rollout restart`: only the restartedAt annotation of the template changed.
    Restart,
    /// The pod template changed.
    Template,
}

/// A change of one ReplicaSet's `spec.replicas`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The ReplicaSet.
    pub set: Uid,
    /// Its name, for one that carries no revision.
    pub name: String,
    /// The revision that it carried then.
    pub revision: Option<u64>,
    /// `spec.replicas` before.
    pub from: u32,
    /// `spec.replicas` after.
    pub to: u32,
}

impl Part {
    /// Replicas added; negative for replicas removed.
    pub fn by(&self) -> i64 {
        i64::from(self.to) - i64::from(self.from)
    }
}

/// Times without an available pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unavailable {
    /// Number of times.
    pub times: u32,
    /// Duration of those that are over, in milliseconds in all.
    pub millis: Millis,
    /// The last one is over.
    pub is_over: bool,
}

/// The ReplicaSet that took a pod up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Adopter {
    /// The one that let go of it.
    Same,
    /// Another one, or the first one, which carries this revision.
    Revision(Option<u64>),
    /// One that does not belong to the Deployment.
    Elsewhere,
}

/// In which way pods had to leave a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeDeparture {
    /// They were evicted.
    Evicted,
    /// They were evicted because they used more local storage than their own limit.
    OverLimit,
    /// The node shut down.
    ShutDown,
    /// A pod of higher priority needed their place.
    Preempted,
    /// The node has a taint that they do not tolerate; it may be out of reach.
    Tainted,
    /// The node is gone.
    Lost,
}

/// The way in which a container ended before it was started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContainerEnd {
    /// With this exit code.
    Exited(i32),
    /// `OOMKilled`.
    OutOfMemory,
    /// Its first process could not be started.
    NotStarted,
    /// The kubelet stopped it: its liveness probe failed.
    LivenessProbe,
    /// The kubelet stopped it: its startup probe failed.
    StartupProbe,
    /// The kubelet stopped it: its postStart hook failed.
    PostStartHook,
    /// The kubelet stopped it, to start it with other resources.
    Resized,
    /// The kubelet stopped it, to start it as the changed spec of its pod defines it.
    Redefined,
    /// Its pod lost its sandbox, in which it ran or had ended.
    Sandbox,
    /// Its status does not tell, or has an exit code that is made up.
    Unknown,
}

impl ContainerEnd {
    /// Returns whether the spec of the pod was changed, and nothing failed.
    pub const fn is_spec_change(self) -> bool {
        matches!(self, Self::Resized | Self::Redefined)
    }

    /// Returns whether the container did nothing wrong.
    pub const fn is_no_fault(self) -> bool {
        self.is_spec_change() || matches!(self, Self::Sandbox)
    }

    /// Returns the probe or hook for which the kubelet stopped the container; `None` where it stopped it for none.
    pub const fn probe(self) -> Option<&'static str> {
        match self {
            Self::LivenessProbe => Some("liveness probe"),
            Self::StartupProbe => Some("startup probe"),
            Self::PostStartHook => Some("postStart hook"),
            _ => None,
        }
    }
}

/// The restart of a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart {
    /// Name of the container.
    pub container: String,
    /// Its part in the pod.
    pub role: Role,
    /// Revision of the ReplicaSet of the pod then.
    pub revision: Option<u64>,
    /// How it ended last.
    pub end: ContainerEnd,
    /// Its restart was observed.
    pub was_seen: bool,
}

/// A field of a Deployment's spec that counts seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpecSeconds {
    /// `spec.minReadySeconds`.
    MinReady,
    /// `spec.progressDeadlineSeconds`.
    ProgressDeadline,
}

/// How the revision that is rolled back to was seen to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TargetFailure {
    /// It had pods, and none of them was ever available.
    NeverAvailable,
    /// It was never complete.
    NeverComplete,
}

/// The start of a rollout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutStart {
    /// The revision that it is of.
    pub revision: u64,
    /// The reason for which it started.
    pub trigger: Trigger,
    /// Images of its template, joined.
    pub images: String,
    /// The revision that its ReplicaSet carried before.
    pub before: Option<u64>,
    /// It is one of a rollback to a revision that never worked.
    pub failure: Option<TargetFailure>,
    /// Annotation `kubernetes.io/change-cause`, when it differs from that of the revision before.
    pub change_cause: Option<String>,
    /// Its start was observed.
    pub was_seen: bool,
    /// The revision before had the same images, in whichever containers.
    pub has_same_images: bool,
}

/// The limits of a step of a rollout, and the pods that they count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepBudget {
    /// Sum of `spec.replicas` of the ReplicaSets afterwards.
    pub desired: u32,
    /// The ceiling of that sum, by the spec that was in force.
    pub ceiling: u32,
    /// Least number of available pods, by the spec that was in force.
    pub floor: u32,
    /// Available pods before the step, as the ReplicaSets reported them.
    pub available: u32,
    /// The ReplicaSets reported no more available pods than they keep: it removes unavailable ones.
    pub spares_available: bool,
}
