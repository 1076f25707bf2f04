//! Facts: reduced observations of one object. The only input of a [`crate::Timeline`].
//!
//! A fact has the fields that the timeline shows or derives from and no others. The creator of facts (the server's `translate`) decides
//! what an absent Kubernetes field means, so numbers here are never optional for that reason alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::names::names;
use super::server_only;
use crate::{Millis, Uid};

pub use super::container::{Container, ContainerState, Exit, RESTARTING_ALL, Role, STATUS_UNKNOWN};

/// The kinds of objects in facts, owners before what they own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// `apps/v1` Deployment.
    Deployment,
    /// `apps/v1` ReplicaSet.
    ReplicaSet,
    /// `v1` Pod.
    Pod,
    /// `v1` Event.
    Event,
}

names! {
    /// Returns the kind as Kubernetes spells it.
    Kind {
        Deployment => "Deployment",
        ReplicaSet => "ReplicaSet",
        Pod => "Pod",
        Event => "Event",
    }
}

impl Kind {
    /// Returns the resource and its API group, as permissions name it ("replicasets.apps").
    pub const fn resource(self) -> &'static str {
        match self {
            Self::Deployment => "deployments.apps",
            Self::ReplicaSet => "replicasets.apps",
            Self::Pod => "pods",
            Self::Event => "events",
        }
    }

    /// Returns the plural for sentences: "ReplicaSets".
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Deployment => "Deployments",
            Self::ReplicaSet => "ReplicaSets",
            Self::Pod => "pods",
            Self::Event => "events",
        }
    }
}

/// One observation of an object or a kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// A Deployment as it is now.
    Deployment(Box<DeploymentFact>, Seen),
    /// A ReplicaSet as it is now.
    ReplicaSet(Box<ReplicaSetFact>, Seen),
    /// A Pod as it is now.
    Pod(Box<PodFact>, Seen),
    /// An Event. It illustrates the story and never changes the model's state.
    Event(Box<EventFact>),
    /// A list of one kind is complete: known objects of that kind that are not in `present` were deleted.
    Listed {
        /// Kind that was listed.
        kind: Kind,
        /// The namespace of the list; `None` for all namespaces.
        namespace: Option<String>,
        /// The UIDs in the list.
        present: Vec<Uid>,
        /// For later lists than the first: since when nothing was observed; what happened until now is unknown.
        gap_since_millis: Option<Millis>,
    },
    /// Rollcast may not list a kind any more, or may again. Meanwhile its data is outdated.
    Unseen {
        /// The kind.
        kind: Kind,
        /// The namespace; `None` for all namespaces.
        namespace: Option<String>,
        /// When it was observed last, if Rollcast may not list it now.
        since_millis: Option<Millis>,
    },
}

impl Fact {
    /// Returns the kind of the fact's objects.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Deployment(..) => Kind::Deployment,
            Self::ReplicaSet(..) => Kind::ReplicaSet,
            Self::Pod(..) => Kind::Pod,
            Self::Event(_) => Kind::Event,
            Self::Listed { kind, .. } | Self::Unseen { kind, .. } => *kind,
        }
    }
}

/// The way in which an object was observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Seen {
    /// In a list. What happened before the first list of its kind is unknown.
    InList,
    /// In a watch event ADDED after the list: the object was created since then.
    Added,
    /// In a watch event MODIFIED.
    Modified,
    /// In a watch event DELETED; the fields are the last ones.
    Deleted,
}

/// The metadata of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Meta {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.creationTimestamp`, the API server's clock, whole seconds.
    pub created_at_millis: Millis,
    /// The owner with `controller: true`, if it is of the kind that Rollcast follows for this object.
    pub controller: Option<Uid>,
    /// `metadata.resourceVersion` if it is a number: of two changes in one cluster the smaller one came first.
    pub version: Option<u64>,
}

/// An integer or a percentage, as in `maxSurge`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IntOrPercent {
    /// A number of pods.
    Int(u32),
    /// A share of `spec.replicas`, in percent.
    Percent(u32),
}

/// `spec.strategy` of a Deployment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strategy {
    /// Replace pods step by step within a budget.
    RollingUpdate {
        /// Pods above `spec.replicas` that may exist.
        max_surge: IntOrPercent,
        /// Pods below `spec.replicas` that may be missing.
        max_unavailable: IntOrPercent,
    },
    /// Remove every old pod before the first new one.
    #[default]
    Recreate,
}

/// A condition of an object's status.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// The condition's `status`.
    pub status: ConditionStatus,
    /// Machine-readable reason; empty when absent.
    pub reason: String,
    /// Human-readable message; empty when absent.
    pub message: String,
    /// `lastTransitionTime`, the writer's clock.
    pub last_transition_millis: Option<Millis>,
    /// `lastUpdateTime` (Deployments only): moves with every progress.
    pub last_update_millis: Option<Millis>,
}

/// A condition's status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ConditionStatus {
    /// `"True"`.
    True,
    /// `"False"`.
    False,
    /// `"Unknown"`, or a value that Kubernetes does not use.
    #[default]
    Unknown,
}

impl ConditionStatus {
    /// Returns the status in plain words.
    pub const fn label(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::False => "false",
            Self::Unknown => "unknown",
        }
    }
}

/// A container's name and image.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Image {
    /// Name of the container.
    pub container: String,
    /// Image reference.
    pub image: String,
}

/// A Deployment, reduced.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeploymentFact {
    /// Identity, creation and version.
    pub meta: Meta,
    /// The fields that change, as last observed.
    pub now: DeploymentNow,
}

/// A Deployment as last observed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DeploymentNow {
    /// `metadata.labels`, for searches of lists.
    #[serde(with = "server_only")]
    pub labels: BTreeMap<String, String>,
    /// `metadata.generation`.
    #[serde(with = "server_only")]
    pub generation: u64,
    /// `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// Annotation `deployment.kubernetes.io/revision`, when it is a number.
    pub revision: Option<u64>,
    /// The pod template's annotation `kubectl.kubernetes.io/restartedAt`.
    #[serde(with = "server_only")]
    pub restarted_at: Option<String>,
    /// Hash of the whole pod template, including fields that are not decoded; `None` if it is not known.
    #[serde(with = "server_only")]
    pub template: Option<u64>,
    /// Hash of the pod template without the annotation `restartedAt`: equal before and after `kubectl rollout restart`.
    #[serde(with = "server_only")]
    pub template_apart: Option<u64>,
    /// `spec`, reduced.
    #[serde(with = "server_only")]
    pub spec: DeploymentSpec,
    /// `status`, as the Deployment controller reports it.
    #[serde(with = "server_only")]
    pub status: DeploymentStatus,
}

impl DeploymentNow {
    /// Returns when the condition for a passed progress deadline changed last, by the API server's clock.
    pub fn deadline_passed_millis(&self) -> Option<Millis> {
        let told = self.status.progressing.as_ref().filter(|told| told.reason == "ProgressDeadlineExceeded")?;
        Some(told.last_update_millis.unwrap_or_default())
    }
}

/// `spec` of a Deployment, reduced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentSpec {
    /// `spec.replicas`.
    pub replicas: u32,
    /// `spec.strategy`.
    pub strategy: Strategy,
    /// `spec.minReadySeconds`.
    pub min_ready_seconds: u32,
    /// `spec.paused`.
    pub paused: bool,
    /// `spec.progressDeadlineSeconds`; absent = no deadline.
    pub progress_deadline_seconds: Option<u32>,
    /// `spec.revisionHistoryLimit`.
    pub revision_history_limit: u32,
    /// The template's containers.
    pub images: Vec<Image>,
}

/// `status` of a Deployment, as its controller reports it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeploymentStatus {
    /// `status.observedGeneration`.
    pub observed_generation: u64,
    /// `status.replicas`.
    pub replicas: u32,
    /// `status.updatedReplicas`.
    pub updated: u32,
    /// `status.availableReplicas`.
    pub available: u32,
    /// Condition `Progressing`.
    pub progressing: Option<Condition>,
    /// Condition `ReplicaFailure`.
    pub replica_failure: Option<Condition>,
}

impl DeploymentStatus {
    /// Returns the reason of the condition `Progressing`; empty if there is none.
    pub fn progress_reason(&self) -> &str {
        self.progressing.as_ref().map_or("", |told| told.reason.as_str())
    }
}

/// A ReplicaSet, reduced.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplicaSetFact {
    /// Identity, creation and version; the controller is a Deployment.
    pub meta: Meta,
    /// Annotation `deployment.kubernetes.io/revision`, when it is a number.
    pub revision: Option<u64>,
    /// The template's containers.
    pub images: Vec<Image>,
    /// The pod template's annotation `kubectl.kubernetes.io/restartedAt`.
    pub restarted_at: Option<String>,
    /// Label `pod-template-hash`.
    pub template_hash: String,
    /// The fields that change, as last observed.
    pub now: ReplicaSetNow,
}

/// A ReplicaSet as last observed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaSetNow {
    /// `spec.replicas` and the status' counts.
    pub counts: ReplicaSetCounts,
    /// `spec.minReadySeconds`.
    pub min_ready_seconds: u32,
    /// `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// Annotation `deployment.kubernetes.io/desired-replicas`: the Deployment's replicas when it last scaled this one.
    pub desired_replicas: Option<u32>,
    /// Annotation `deployment.kubernetes.io/max-replicas`: the ceiling of all ReplicaSets together when it was last scaled.
    #[serde(with = "server_only")]
    pub max_replicas: Option<u32>,
    /// Annotation `kubernetes.io/change-cause`, which the controller copies from the Deployment.
    #[serde(with = "server_only")]
    pub change_cause: Option<String>,
    /// The tool that deploys it and its name there: "Helm release web"; empty if unknown.
    #[serde(with = "server_only")]
    pub managed_by: String,
    /// Label `app.kubernetes.io/version`; empty when absent.
    #[serde(with = "server_only")]
    pub version: String,
    /// Hash of the whole pod template without the label `pod-template-hash`: equal to that of a Deployment with the same template. `None`
    /// if it is not known.
    #[serde(with = "server_only")]
    pub template: Option<u64>,
    /// Maximum time that the probes of its containers may take until a pod is ready: of the startup and the readiness probe together,
    /// initialDelaySeconds + periodSeconds × the larger threshold, of the slowest container. 0 without probes.
    pub probe_millis: Millis,
    /// Condition `ReplicaFailure`: the API server refuses its pods.
    #[serde(with = "server_only")]
    pub failure: Option<Condition>,
}

/// `spec.replicas` of a ReplicaSet, and the counts of its `status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReplicaSetCounts {
    /// `spec.replicas`.
    pub desired: u32,
    /// `status.replicas`.
    pub replicas: u32,
    /// `status.availableReplicas`.
    pub available: u32,
}

/// A Pod, reduced to what its state depends on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PodFact {
    /// Identity, creation and version; the controller is a ReplicaSet.
    pub meta: Meta,
    /// `metadata.deletionTimestamp`: when the grace period ends.
    pub deletion_at_millis: Option<Millis>,
    /// `spec.nodeName`.
    pub node: Option<String>,
    /// `status.nominatedNodeName`: the node on which the scheduler makes room for it, or another program expects it.
    pub nominated_node: Option<String>,
    /// `status.phase`.
    pub phase: Phase,
    /// `status.reason` (Evicted, NodeLost, …); empty when absent.
    pub reason: String,
    /// `status.message`; empty when absent.
    pub message: String,
    /// Condition `Ready`.
    pub ready: Option<Condition>,
    /// Condition `PodScheduled`.
    pub scheduled: Option<Condition>,
    /// Condition `DisruptionTarget`, when it is true: its reason.
    pub disruption: Option<String>,
    /// `controller.kubernetes.io/pod-deletion-cost`; 0 when absent.
    pub deletion_cost: i32,
    /// `spec.terminationGracePeriodSeconds` is 0: a deletion removes it at once.
    pub is_graceless: bool,
    /// Containers in the order of the spec: init containers first.
    pub containers: Vec<Container>,
    /// Notable conditions: readiness gates, and Kubernetes' own ones with an unusual status.
    pub conditions: Vec<PodCondition>,
}

/// A condition of a pod.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodCondition {
    /// `type`.
    pub kind: String,
    /// `status`.
    pub status: ConditionStatus,
    /// `reason`; empty when absent.
    pub reason: String,
    /// `message`; empty when absent.
    pub message: String,
}

/// `status.phase`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Accepted, not all containers started.
    Pending,
    /// At least one container started.
    Running,
    /// All containers ended with exit code 0.
    Succeeded,
    /// All containers ended, at least one with another exit code than 0.
    Failed,
    /// `Unknown`, absent, or a value that Kubernetes does not use.
    #[default]
    Unknown,
}

impl Phase {
    /// Returns whether all containers ended and will not restart.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// An Event (`v1`), reduced. Events arrive seconds late, are folded and dropped: they are shown, and nothing is derived from them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EventFact {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.namespace`, which is also that of its object.
    pub namespace: String,
    /// UID of its object.
    pub about: Uid,
    /// Kind of its object, as Kubernetes spells it.
    pub about_kind: String,
    /// Name of its object.
    pub about_name: String,
    /// The container in its message; empty if it names none.
    pub container: String,
    /// Whether that container is an ephemeral one.
    pub is_ephemeral: bool,
    /// `reason`.
    pub reason: String,
    /// `message`.
    pub message: String,
    /// `type` is Warning.
    pub is_warning: bool,
    /// Number of times that it happened.
    pub count: u32,
    /// When it last happened, by the clock of its sender; `None` if it has no time.
    pub last_millis: Option<Millis>,
}
