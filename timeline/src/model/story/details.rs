//! Parts of story entries: why a rollout started, what a step did, how pods and containers ended.

use serde::{Deserialize, Serialize};

use crate::Uid;
use crate::model::container::Role;

/// Why a rollout started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Trigger {
    /// It was in progress when the observation began.
    #[default]
    Unknown,
    /// The template returned to that of an existing ReplicaSet.
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
    /// Its name, for a ReplicaSet without a revision.
    pub name: String,
    /// Its revision at that time.
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

/// The ReplicaSet that adopted a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Adopter {
    /// The one that had released it.
    Same,
    /// Another one, or the first one, with this revision.
    Revision(Option<u64>),
    /// One of another Deployment, or of none.
    Elsewhere,
}

/// Why pods left a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeDeparture {
    /// They were evicted.
    Evicted,
    /// They were evicted because they exceeded their own limit of local storage.
    OverLimit,
    /// The node shut down.
    ShutDown,
    /// Preempted by a pod of higher priority.
    Preempted,
    /// The node has a taint that they do not tolerate; it may be unreachable.
    Tainted,
    /// The node is deleted.
    Lost,
}

/// How a container ended before its restart.
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
    /// The kubelet stopped it to resize its resources.
    Resized,
    /// The kubelet stopped it because the spec of its pod changed.
    Redefined,
    /// The sandbox of its pod was lost.
    Sandbox,
    /// Its status does not say, or has an artificial exit code.
    Unknown,
}

impl ContainerEnd {
    /// Returns whether the spec of the pod was changed, and nothing failed.
    pub const fn is_spec_change(self) -> bool {
        matches!(self, Self::Resized | Self::Redefined)
    }

    /// Returns whether the container is not at fault.
    pub const fn is_no_fault(self) -> bool {
        self.is_spec_change() || matches!(self, Self::Sandbox)
    }

    /// Returns the probe or hook that made the kubelet stop the container; `None` for other reasons.
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
    /// Its role in the pod.
    pub role: Role,
    /// Revision of the pod's ReplicaSet at that time.
    pub revision: Option<u64>,
    /// The last end of the container.
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

/// How the target of a rollback was observed to fail.
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
    /// Its revision.
    pub revision: u64,
    /// Why it started.
    pub trigger: Trigger,
    /// Images of its template, joined.
    pub images: String,
    /// The previous revision number of its ReplicaSet.
    pub before: Option<u64>,
    /// For a rollback to a revision that never worked: how that failed.
    pub failure: Option<TargetFailure>,
    /// Annotation `kubernetes.io/change-cause`, if it differs from that of the revision before.
    pub change_cause: Option<String>,
    /// Its start was observed.
    pub was_seen: bool,
    /// Whether the revision before had the same images, in any containers.
    pub has_same_images: bool,
}

/// The limits of a step of a rollout, and the counted pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepBudget {
    /// Sum of `spec.replicas` of the ReplicaSets after the step.
    pub desired: u32,
    /// The maximum of that sum, by the spec at that time.
    pub ceiling: u32,
    /// Minimum number of available pods, by the spec at that time.
    pub floor: u32,
    /// Available pods before the step, as reported by the ReplicaSets.
    pub available: u32,
    /// The ReplicaSets reported no more available pods than they keep, so the step removes unavailable ones.
    pub spares_available: bool,
}
