//! Minimal decoding of Kubernetes objects: only the fields that Rollcast shows or derives from.
//!
//! Environment variables, arguments, volumes and managedFields are not decoded, so they cannot leak and cost nothing.
//! The same structs are written back out for recordings, which is why a recording holds no more than these fields.
//! Every field tolerates absence and `null`; what absence means is for `translate` to say.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

/// An integer or a percentage such as `"25%"`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrString {
    /// A number.
    Int(i64),
    /// A text, "25%" when it is well formed.
    Text(String),
}

fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

macro_rules! object {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            $($(#[$field_doc])* #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_empty")] pub $field: $type,)*
        }
    )*};
}

/// Left out of recordings when it says nothing.
fn is_empty<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// `metadata`, reduced. Of a Deployment all labels are kept, for lists are searched by them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    bound(deserialize = "L: Default + Deserialize<'de>", serialize = "L: Default + PartialEq + Serialize")
)]
pub struct Meta<L = Kept<Labels>> {
    /// UID.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_empty")]
    pub uid: Option<String>,
    /// Name.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_empty")]
    pub name: String,
    /// Namespace.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_empty")]
    pub namespace: String,
    /// Where this object stands in its resource's history.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_empty")]
    pub resource_version: Option<String>,
    /// Counts changes of the spec.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_empty")]
    pub generation: Option<i64>,
    /// RFC 3339, whole seconds.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_empty")]
    pub creation_timestamp: Option<String>,
    /// RFC 3339, end of the grace period.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_empty")]
    pub deletion_timestamp: Option<String>,
    /// Labels; unless said otherwise only the ones of [`LABELS`].
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_empty")]
    pub labels: L,
    /// Annotations, only the ones of [`ANNOTATIONS`].
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_empty")]
    pub annotations: Kept<Annotations>,
    /// Owners.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_empty")]
    pub owner_references: Vec<OwnerReference>,
}

object! {
    /// `metadata.ownerReferences[]`, reduced.
    OwnerReference {
        /// UID of the owner.
        uid: Option<String>,
        /// Kind of the owner.
        kind: String,
        /// Name of the owner.
        name: String,
        /// The one that manages this object.
        controller: Option<bool>,
    }
    /// A condition of a status.
    Condition {
        /// Type.
        r#type: String,
        /// "True", "False" or "Unknown".
        status: String,
        /// Machine-readable reason.
        reason: String,
        /// Human-readable message.
        message: String,
        /// RFC 3339.
        last_transition_time: Option<String>,
        /// RFC 3339 (Deployments).
        last_update_time: Option<String>,
    }
    /// A Deployment.
    Deployment {
        /// Metadata.
        metadata: Meta<BTreeMap<String, String>>,
        /// What is asked for.
        spec: DeploymentSpec,
        /// What the controller reports.
        status: DeploymentStatus,
    }
    /// `spec` of a Deployment.
    DeploymentSpec {
        /// Replicas.
        replicas: Option<i64>,
        /// Strategy.
        strategy: Strategy,
        /// Seconds that a pod must be ready to count.
        min_ready_seconds: Option<i64>,
        /// Paused.
        paused: Option<bool>,
        /// Seconds without progress after which it is reported.
        progress_deadline_seconds: Option<i64>,
        /// Old ReplicaSets that are kept.
        revision_history_limit: Option<i64>,
        /// Pod template.
        template: Template,
    }
    /// `spec.strategy`.
    Strategy {
        /// "RollingUpdate" or "Recreate".
        r#type: String,
        /// Its budget.
        rolling_update: Option<RollingUpdate>,
    }
    /// `spec.strategy.rollingUpdate`.
    RollingUpdate {
        /// Pods above replicas.
        max_surge: Option<IntOrString>,
        /// Pods below replicas.
        max_unavailable: Option<IntOrString>,
    }
    /// A pod template.
    Template {
        /// Metadata.
        metadata: TemplateMeta,
        /// Containers.
        spec: TemplateSpec,
    }
    /// `template.metadata`.
    TemplateMeta {
        /// Only the ones of [`ANNOTATIONS`].
        annotations: Kept<Annotations>,
    }
    /// `template.spec`.
    TemplateSpec {
        /// Containers.
        containers: Vec<ContainerSpec>,
    }
    /// A container of a spec: its name and image, nothing that is inside.
    ContainerSpec {
        /// Name.
        name: String,
        /// Image.
        image: String,
        /// "Always" makes an init container a sidecar.
        restart_policy: String,
    }
    /// `status` of a Deployment.
    DeploymentStatus {
        /// Generation that the controller has seen.
        observed_generation: Option<i64>,
        /// All pods of all its ReplicaSets.
        replicas: Option<i64>,
        /// Of the new template.
        updated_replicas: Option<i64>,
        /// Ready.
        ready_replicas: Option<i64>,
        /// Available.
        available_replicas: Option<i64>,
        /// Progressing, Available, ReplicaFailure.
        conditions: Vec<Condition>,
    }
    /// A ReplicaSet.
    ReplicaSet {
        /// Metadata.
        metadata: Meta,
        /// What is asked for.
        spec: ReplicaSetSpec,
        /// What the controller reports.
        status: ReplicaSetStatus,
    }
    /// `spec` of a ReplicaSet.
    ReplicaSetSpec {
        /// Replicas.
        replicas: Option<i64>,
        /// Seconds that a pod must be ready to count.
        min_ready_seconds: Option<i64>,
        /// Pod template.
        template: Template,
    }
    /// `status` of a ReplicaSet.
    ReplicaSetStatus {
        /// Pods.
        replicas: Option<i64>,
        /// Ready.
        ready_replicas: Option<i64>,
        /// Available.
        available_replicas: Option<i64>,
    }
    /// A Pod.
    Pod {
        /// Metadata.
        metadata: Meta,
        /// What is asked for.
        spec: PodSpec,
        /// What the kubelet reports.
        status: PodStatus,
    }
    /// `spec` of a Pod.
    PodSpec {
        /// Node.
        node_name: String,
        /// 0 for one that is gone at once.
        termination_grace_period_seconds: Option<i64>,
        /// App containers.
        containers: Vec<ContainerSpec>,
        /// Init containers and sidecars.
        init_containers: Vec<ContainerSpec>,
    }
    /// `status` of a Pod.
    PodStatus {
        /// Phase.
        phase: String,
        /// Evicted, NodeLost, ….
        reason: String,
        /// Words behind the reason.
        message: String,
        /// Ready, PodScheduled, DisruptionTarget, ….
        conditions: Vec<Condition>,
        /// App containers.
        container_statuses: Vec<ContainerStatus>,
        /// Init containers and sidecars.
        init_container_statuses: Vec<ContainerStatus>,
    }
    /// `status.containerStatuses[]`.
    ContainerStatus {
        /// Name.
        name: String,
        /// Restarts.
        restart_count: Option<i64>,
        /// State.
        state: ContainerState,
        /// How it ended last.
        last_state: ContainerState,
    }
    /// `state` of a container: one of them is set.
    ContainerState {
        /// Not running.
        waiting: Option<Waiting>,
        /// Running.
        running: Option<Running>,
        /// Ended.
        terminated: Option<Terminated>,
    }
    /// Why a container waits.
    Waiting {
        /// Reason.
        reason: String,
        /// Message.
        message: String,
    }
    /// A running container.
    Running {
        /// RFC 3339.
        started_at: Option<String>,
    }
    /// How a container ended.
    Terminated {
        /// Exit code.
        exit_code: Option<i64>,
        /// Reason.
        reason: String,
        /// Message.
        message: String,
    }
    /// An Event (`v1`).
    Event {
        /// Metadata.
        metadata: Meta,
        /// What it is about.
        involved_object: ObjectReference,
        /// Reason.
        reason: String,
        /// Text.
        message: String,
        /// "Normal" or "Warning".
        r#type: String,
        /// How often.
        count: Option<i64>,
        /// How often, as newer clients write it.
        series: Option<EventSeries>,
        /// RFC 3339.
        last_timestamp: Option<String>,
        /// RFC 3339 with microseconds.
        event_time: Option<String>,
    }
    /// `series` of an Event.
    EventSeries {
        /// How often.
        count: Option<i64>,
        /// RFC 3339 with microseconds.
        last_observed_time: Option<String>,
    }
    /// What an Event is about.
    ObjectReference {
        /// Kind.
        kind: String,
        /// Namespace.
        namespace: String,
        /// Name.
        name: String,
        /// UID.
        uid: Option<String>,
    }
}

/// Annotations that are kept. Never `last-applied-configuration`: it repeats the whole spec, secrets and all.
pub const ANNOTATIONS: [&str; 9] = [
    "deployment.kubernetes.io/revision",
    "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
    "kubernetes.io/change-cause",
    "meta.helm.sh/release-name",
    "argocd.argoproj.io/tracking-id",
    "kubectl.kubernetes.io/restartedAt",
    "controller.kubernetes.io/pod-deletion-cost",
];

/// Labels that are kept.
pub const LABELS: [&str; 2] = ["pod-template-hash", "app.kubernetes.io/version"];

/// Which keys of a map are kept.
pub trait Keys {
    /// The keys.
    const KEYS: &'static [&'static str];
}

/// Keeps [`ANNOTATIONS`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Annotations;
impl Keys for Annotations {
    const KEYS: &'static [&'static str] = &ANNOTATIONS;
}

/// Keeps [`LABELS`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Labels;
impl Keys for Labels {
    const KEYS: &'static [&'static str] = &LABELS;
}

/// A map of strings of which only some keys are decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept<K>(BTreeMap<&'static str, String>, std::marker::PhantomData<K>);

impl<K> Default for Kept<K> {
    fn default() -> Self {
        Self(BTreeMap::new(), std::marker::PhantomData)
    }
}

impl<K> Kept<K> {
    /// The value under a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Takes the value under a key away.
    pub fn remove(&mut self, key: &str) {
        self.0.remove(key);
    }
}

impl<K> Serialize for Kept<K> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, K: Keys> Deserialize<'de> for Kept<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<K>(std::marker::PhantomData<K>);
        impl<'de, K: Keys> serde::de::Visitor<'de> for Visitor<K> {
            type Value = Kept<K>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map of strings")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut kept = Kept::default();
                while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                    match K::KEYS.iter().find(|known| **known == key) {
                        Some(known) => {
                            kept.0.insert(known, map.next_value()?);
                        }
                        None => {
                            map.next_value::<serde::de::IgnoredAny>()?;
                        }
                    }
                }
                Ok(kept)
            }
        }
        deserializer.deserialize_map(Visitor(std::marker::PhantomData))
    }
}
