//! Minimal decoding of Kubernetes objects: only the fields that Rollcast shows or derives from.
//!
//! Environment variables, arguments, volumes and managedFields are not kept: of a pod template, only its hash covers them.
//! Recordings are written from the same structs, so they hold no other fields.
//! Types of `k8s_openapi` are used if every field of them is kept.
//! Every field tolerates absence and `null`; `translate` defines what absence means.
//! Fields have the names of the Kubernetes API, whose reference explains them. Times are texts in RFC 3339.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::RollingUpdateDeployment;
use k8s_openapi::api::core::v1::{ContainerRestartRule, PodSchedulingGate};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use timeline::model::hash::fnv1a;

fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

macro_rules! object {
    ($(
        $(#[$doc:meta])* $name:ident $(<$of:ident = $usual:ty>)? { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }
    )*) => {$(
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        $(#[$doc])*
        pub struct $name $(<$of = $usual>)? {
            $($(#[$field_doc])* #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_empty")] pub $field: $type,)*
        }
    )*};
}

/// Returns whether a field has its default: recordings omit it then.
fn is_empty<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

object! {
    /// `metadata`, reduced. All labels of a Deployment are decoded, because lists are searched by them.
    #[serde(bound(deserialize = "L: Default + Deserialize<'de>", serialize = "L: Default + PartialEq + Serialize"))]
    Meta<L = Labels> {
        uid: Option<String>,
        name: String,
        namespace: String,
        /// `metadata.resourceVersion`: position of this object in the history of its resource.
        resource_version: Option<String>,
        /// `metadata.generation`: counts changes of the spec.
        generation: Option<i64>,
        creation_timestamp: Option<String>,
        /// `metadata.deletionTimestamp`: when the grace period ends.
        deletion_timestamp: Option<String>,
        /// `metadata.labels`; of other kinds than Deployments only those of [`Labels`].
        labels: L,
        annotations: Annotations,
        owner_references: Vec<OwnerReference>,
    }
    /// Labels that are kept.
    Labels {
        #[serde(rename = "app.kubernetes.io/version")]
        version: String,
        #[serde(rename = "pod-template-hash")]
        pod_template_hash: String,
    }
    /// Annotations that are kept. Never `last-applied-configuration`: it repeats the whole spec, including secrets.
    Annotations {
        #[serde(rename = "argocd.argoproj.io/tracking-id")]
        argo_tracking_id: Option<String>,
        #[serde(rename = "controller.kubernetes.io/pod-deletion-cost")]
        pod_deletion_cost: Option<String>,
        #[serde(rename = "deployment.kubernetes.io/desired-replicas")]
        desired_replicas: Option<String>,
        #[serde(rename = "deployment.kubernetes.io/max-replicas")]
        max_replicas: Option<String>,
        #[serde(rename = "deployment.kubernetes.io/revision")]
        revision: Option<String>,
        /// Only recordings use it.
        #[serde(rename = "deployment.kubernetes.io/revision-history")]
        revision_history: Option<String>,
        #[serde(rename = "kubectl.kubernetes.io/restartedAt")]
        restarted_at: Option<String>,
        #[serde(rename = "kubernetes.io/change-cause")]
        change_cause: Option<String>,
        #[serde(rename = "meta.helm.sh/release-name")]
        helm_release: Option<String>,
    }
    /// `metadata.ownerReferences[]`, reduced.
    OwnerReference {
        uid: Option<String>,
        kind: String,
        name: String,
        /// `controller`: true for the one owner that manages this object.
        controller: Option<bool>,
    }
    Condition {
        /// `type`: "Progressing", "Ready" and the like.
        r#type: String,
        /// `status`: "True", "False" or "Unknown".
        status: String,
        reason: String,
        message: String,
        /// `lastTransitionTime`: when `status` changed last.
        last_transition_time: Option<String>,
        /// `lastUpdateTime`, of Deployments only: moves with every progress.
        last_update_time: Option<String>,
    }
    Deployment {
        metadata: Meta<BTreeMap<String, String>>,
        spec: DeploymentSpec,
        status: DeploymentStatus,
    }
    DeploymentSpec {
        /// `spec.replicas`; 1 if it is absent.
        replicas: Option<i64>,
        strategy: Strategy,
        /// `spec.minReadySeconds`: how long a pod must be ready to be available.
        min_ready_seconds: Option<i64>,
        paused: Option<bool>,
        /// `spec.progressDeadlineSeconds`: time without progress after which a failure is reported.
        progress_deadline_seconds: Option<i64>,
        /// `spec.revisionHistoryLimit`: number of old ReplicaSets that are kept.
        revision_history_limit: Option<i64>,
        template: Template,
    }
    Strategy {
        /// "RollingUpdate" or "Recreate".
        r#type: String,
        /// `rollingUpdate`: maxSurge and maxUnavailable; absent for Recreate.
        rolling_update: Option<RollingUpdateDeployment>,
    }
    /// A pod template, and its hashes. The traits below call the implementations derived here.
    #[serde(remote = "Self")]
    Template {
        metadata: TemplateMeta,
        /// `spec`: the containers.
        spec: TemplateSpec,
        /// Hash of the whole template without its label `pod-template-hash`: equal for a Deployment and the ReplicaSet of its
        /// template. Recordings contain the hash, because they lack some of the hashed fields.
        hash: Option<u64>,
        /// Hash that also excludes the annotation `restartedAt` of `kubectl rollout restart`; only set if the template has it.
        hash_apart: Option<u64>,
    }
    TemplateMeta {
        annotations: Annotations,
    }
    TemplateSpec {
        containers: Vec<TemplateContainer>,
        /// `template.spec.initContainers`: init containers and sidecars.
        init_containers: Vec<TemplateContainer>,
    }
    /// A container of a template: its name, image and probes.
    TemplateContainer {
        name: String,
        image: String,
        /// `restartPolicy`: "Always" makes an init container a sidecar.
        restart_policy: String,
        startup_probe: Option<Probe>,
        readiness_probe: Option<Probe>,
    }
    /// A probe: its times, without its request.
    Probe {
        /// `initialDelaySeconds`: from the start of the container to the first probe.
        initial_delay_seconds: Option<i64>,
        /// `periodSeconds` between probes; 10 if it is absent.
        period_seconds: Option<i64>,
        /// `failureThreshold`: consecutive failures that count; 3 if it is absent.
        failure_threshold: Option<i64>,
        /// `successThreshold`: consecutive successes until a pod is ready; 1 if it is absent.
        success_threshold: Option<i64>,
    }
    /// A container of a spec: its name, image and restart policy.
    ContainerSpec {
        name: String,
        image: String,
        /// `restartPolicy`: "Always" makes an init container a sidecar; if absent, the pod's policy applies.
        restart_policy: String,
        /// `restartPolicyRules`: exceptions for some exit codes.
        restart_policy_rules: Vec<ContainerRestartRule>,
    }
    DeploymentStatus {
        /// `status.observedGeneration`: the generation that the controller has seen.
        observed_generation: Option<i64>,
        /// `status.replicas`: the pods of all its ReplicaSets.
        replicas: Option<i64>,
        /// `status.updatedReplicas`: the pods of the current template.
        updated_replicas: Option<i64>,
        /// `status.readyReplicas`; only recordings use it.
        ready_replicas: Option<i64>,
        available_replicas: Option<i64>,
        /// `status.conditions`: Progressing, Available, ReplicaFailure.
        conditions: Vec<Condition>,
    }
    ReplicaSet {
        metadata: Meta,
        spec: ReplicaSetSpec,
        status: ReplicaSetStatus,
    }
    ReplicaSetSpec {
        /// `spec.replicas`; 1 if it is absent.
        replicas: Option<i64>,
        /// `spec.minReadySeconds`: how long a pod must be ready to be available.
        min_ready_seconds: Option<i64>,
        template: Template,
    }
    ReplicaSetStatus {
        replicas: Option<i64>,
        /// `status.readyReplicas`; only recordings use it.
        ready_replicas: Option<i64>,
        available_replicas: Option<i64>,
        /// `status.conditions`: ReplicaFailure.
        conditions: Vec<Condition>,
    }
    Pod {
        metadata: Meta,
        spec: PodSpec,
        status: PodStatus,
    }
    PodSpec {
        /// `spec.nodeName`; empty until it is scheduled.
        node_name: String,
        /// `spec.terminationGracePeriodSeconds`: 0 for a pod that is gone at once after its deletion.
        termination_grace_period_seconds: Option<i64>,
        containers: Vec<ContainerSpec>,
        /// `spec.initContainers`: init containers and sidecars.
        init_containers: Vec<ContainerSpec>,
        scheduling_gates: Vec<PodSchedulingGate>,
    }
    PodStatus {
        /// `status.phase`: "Pending", "Running" and so on.
        phase: String,
        /// `status.reason`: "Evicted", "NodeLost" and the like.
        reason: String,
        message: String,
        /// `status.nominatedNodeName`: the node on which it is expected to be placed.
        nominated_node_name: String,
        /// `status.conditions`: Ready, PodScheduled, DisruptionTarget and so on.
        conditions: Vec<Condition>,
        container_statuses: Vec<ContainerStatus>,
        /// `status.initContainerStatuses`: of init containers and sidecars.
        init_container_statuses: Vec<ContainerStatus>,
    }
    ContainerStatus {
        name: String,
        /// `image`: the reference that the kubelet used.
        image: String,
        /// `started`: whether its startup probe passed, if it has one.
        started: Option<bool>,
        /// `restartCount`: number of restarts of the container.
        restart_count: Option<i64>,
        state: ContainerState,
        /// `lastState`: end of the container before its last restart.
        last_state: ContainerState,
    }
    /// `state` of a container: at most one field is set.
    ContainerState {
        waiting: Option<Waiting>,
        running: Option<Running>,
        terminated: Option<Terminated>,
    }
    Waiting {
        reason: String,
        message: String,
    }
    Running {
        started_at: Option<String>,
    }
    Terminated {
        /// `exitCode` of its first process.
        exit_code: Option<i64>,
        reason: String,
        message: String,
        started_at: Option<String>,
        finished_at: Option<String>,
    }
    /// An Event (`v1`).
    Event {
        metadata: Meta,
        involved_object: ObjectReference,
        reason: String,
        message: String,
        /// `type`: "Normal" or "Warning".
        r#type: String,
        count: Option<i64>,
        /// `series`: number of occurrences, as clients of events.k8s.io write it.
        series: Option<EventSeries>,
        /// `lastTimestamp`: time of the last occurrence.
        last_timestamp: Option<String>,
        /// `eventTime`: time of the first occurrence, written by clients of events.k8s.io.
        event_time: Option<String>,
    }
    EventSeries {
        count: Option<i64>,
        last_observed_time: Option<String>,
    }
    ObjectReference {
        /// `fieldPath`: the part of a Pod, `spec.containers{web}`.
        field_path: String,
        kind: String,
        namespace: String,
        name: String,
        uid: Option<String>,
    }
}

impl Serialize for Template {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut raw = Value::deserialize(deserializer)?;
        if let Some(Value::Object(labels)) = raw.pointer_mut("/metadata/labels") {
            labels.remove("pod-template-hash");
        }
        remove_null_creation(raw.pointer_mut("/metadata"));
        for volume in raw.pointer_mut("/spec/volumes").and_then(Value::as_array_mut).into_iter().flatten() {
            remove_null_creation(volume.pointer_mut("/ephemeral/volumeClaimTemplate/metadata"));
        }
        let made = fnv1a(raw.to_string().bytes());
        let mut template = Self::deserialize(&raw).map_err(serde::de::Error::custom)?;
        // A recording with only one of the hashes comes from a version that had one hash.
        if template.hash.is_none() && template.metadata.annotations.restarted_at.is_some() {
            template.hash_apart = template.hash_apart.or_else(|| Some(hash_without_restart(raw)));
        }
        template.hash = template.hash.or(Some(made));
        Ok(template)
    }
}

/// API servers before 1.34 write a creation time of null into each template; later ones do not.
fn remove_null_creation(metadata: Option<&mut Value>) {
    if let Some(metadata) = metadata.and_then(Value::as_object_mut)
        && metadata.get("creationTimestamp").is_some_and(Value::is_null)
    {
        metadata.remove("creationTimestamp");
    }
}

fn hash_without_restart(mut template: Value) -> u64 {
    if let Some(annotations) = template.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove("kubectl.kubernetes.io/restartedAt");
    }
    // Also removes the maps around it if they are empty.
    for (parent, key) in [("/metadata", "annotations"), ("", "metadata")] {
        let map = template.pointer_mut(parent).and_then(Value::as_object_mut);
        if let Some(map) = map.filter(|map| map.get(key).and_then(Value::as_object).is_some_and(Map::is_empty)) {
            map.remove(key);
        }
    }
    fnv1a(template.to_string().bytes())
}
