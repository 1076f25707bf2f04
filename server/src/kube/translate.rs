//! Translates decoded Kubernetes objects to facts. Only this module defines the meaning of absent or odd Kubernetes fields.

mod limits;
mod pod;

use std::str::FromStr;

use k8s_openapi::api::apps::v1::RollingUpdateDeployment;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Serialize;
use timeline::fact::{
    Condition, ConditionStatus, DeploymentFact, DeploymentNow, DeploymentSpec, DeploymentStatus, EventFact, Image,
    IntOrPercent, Kind, Meta, ReplicaSetCounts, ReplicaSetFact, ReplicaSetNow, Seen, Strategy,
};
use timeline::model::Event;
use timeline::{Fact, Millis, Uid};

use crate::kube::decode::{self, Annotations};

/// Reasons of Events that repeat the output of a program of the cluster after a colon.
const REPEATING: [&str; 4] = ["Unhealthy", "ProbeWarning", "FailedPostStartHook", "FailedPreStopHook"];
/// Reason of a container that waits after its postStart hook failed. Its message repeats the command of the hook and its output
/// (`startContainer` in `kuberuntime_container.go`). The Event omits them, so that it contains no secret.
const HOOK_FAILED: &str = "PostStartHookError";
/// The API server's default for both limits of a rolling update.
const DEFAULT_SHARE: IntOrPercent = IntOrPercent::Percent(25);
const DEFAULT_HISTORY_LIMIT: u32 = 10;
/// Largest number of init containers, and of other containers, that are kept of a pod or template: an object has room for ten
/// thousand, and deleted pods and ended rollouts stay in memory.
const MOST_CONTAINERS: usize = 256;
/// Longest kept message of a condition or a pod, in characters. A kubelet lists all containers of a pod in it, each with up to 63
/// characters. Controllers repeat messages of the API server, which may name each of thousands of containers and resources
/// several times.
const LONGEST_CONDITION: usize = 64 * MOST_CONTAINERS;

/// A decoded object of one of the watched kinds. Serialized, it contains exactly the decoded fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Object {
    /// A Deployment.
    Deployment(Box<decode::Deployment>),
    /// A ReplicaSet.
    ReplicaSet(Box<decode::ReplicaSet>),
    /// A Pod.
    Pod(Box<decode::Pod>),
    /// An Event.
    Event(Box<decode::Event>),
}

/// Why an object cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// It is not JSON of the expected shape.
    #[error("cannot be decoded: {0}")]
    Json(#[from] serde_json::Error),
    /// It has no UID, or one that is not a UUID.
    #[error("has no usable metadata.uid")]
    Uid,
}

impl Object {
    /// Decodes an object of a known kind.
    ///
    /// # Errors
    /// If the JSON does not have the shape of that kind.
    pub fn decode(kind: Kind, json: &str) -> Result<Self, Unusable> {
        Ok(match kind {
            Kind::Deployment => Self::Deployment(serde_json::from_str(json)?),
            Kind::ReplicaSet => Self::ReplicaSet(serde_json::from_str(json)?),
            Kind::Pod => Self::Pod(serde_json::from_str(json)?),
            Kind::Event => Self::Event(serde_json::from_str(json)?),
        })
    }

    /// Returns the kind of the object.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Deployment(_) => Kind::Deployment,
            Self::ReplicaSet(_) => Kind::ReplicaSet,
            Self::Pod(_) => Kind::Pod,
            Self::Event(_) => Kind::Event,
        }
    }

    /// Returns its `metadata.resourceVersion`.
    pub fn resource_version(&self) -> Option<&String> {
        match self {
            Self::Deployment(o) => &o.metadata.resource_version,
            Self::ReplicaSet(o) => &o.metadata.resource_version,
            Self::Pod(o) => &o.metadata.resource_version,
            Self::Event(o) => &o.metadata.resource_version,
        }
        .as_ref()
    }

    /// Returns its UID.
    ///
    /// # Errors
    /// If it is absent, or not in canonical form.
    pub fn uid(&self) -> Result<Uid, Unusable> {
        let uid = match self {
            Self::Deployment(o) => &o.metadata.uid,
            Self::ReplicaSet(o) => &o.metadata.uid,
            Self::Pod(o) => &o.metadata.uid,
            Self::Event(o) => &o.metadata.uid,
        };
        parse_optional(uid.as_deref()).ok_or(Unusable::Uid)
    }

    /// Returns the object without texts of people and programs of the cluster: change causes, last messages of programs, and
    /// their responses to probes and hooks.
    #[must_use]
    pub fn without_texts(mut self) -> Self {
        match &mut self {
            Self::Deployment(o) => o.metadata.annotations.change_cause = None,
            Self::ReplicaSet(o) => o.metadata.annotations.change_cause = None,
            Self::Pod(o) => {
                let status = &mut o.status;
                let containers = status.container_statuses.iter_mut().chain(&mut status.init_container_statuses);
                for state in containers.flat_map(|container| [&mut container.state, &mut container.last_state]) {
                    state.terminated.iter_mut().for_each(|ended| ended.message.clear());
                    let hook = state.waiting.iter_mut().filter(|waiting| waiting.reason == HOOK_FAILED);
                    hook.for_each(|waiting| waiting.message.clear());
                }
            }
            Self::Event(o) => {
                if let Some(end) = o.message.find(':').filter(|_| REPEATING.contains(&o.reason.as_str())) {
                    o.message.truncate(end);
                }
            }
        }
        self
    }

    /// Translates the object to a fact; `None` for an Event about an object without a UID.
    ///
    /// # Errors
    /// If the object has no identity.
    pub fn fact(self, seen: Seen) -> Result<Option<Fact>, Unusable> {
        Ok(match self {
            Self::Deployment(o) => Some(Fact::Deployment(Box::new(deployment(*o)?), seen)),
            Self::ReplicaSet(o) => Some(Fact::ReplicaSet(Box::new(replica_set(*o)?), seen)),
            Self::Pod(o) => Some(Fact::Pod(Box::new(pod::fact(*o)?), seen)),
            Self::Event(o) => event(*o)?.map(|fact| Fact::Event(Box::new(fact))),
        })
    }
}

fn meta<L>(meta: decode::Meta<L>, controller_kind: &str) -> Result<Meta, Unusable> {
    let controller = meta.owner_references.iter().find(|o| o.controller == Some(true) && o.kind == controller_kind);
    Ok(Meta {
        uid: parse_optional(meta.uid.as_deref()).ok_or(Unusable::Uid)?,
        controller: controller.and_then(|owner| parse_optional(owner.uid.as_deref())),
        namespace: meta.namespace,
        name: meta.name,
        created_at_millis: millis(meta.creation_timestamp.as_deref()).unwrap_or(0),
        version: parse_optional(meta.resource_version.as_deref()),
    })
}

fn deployment(object: decode::Deployment) -> Result<DeploymentFact, Unusable> {
    let (spec, status) = (object.spec, object.status);
    let generation = |told: Option<i64>| told.and_then(|n| u64::try_from(n).ok()).unwrap_or(0);
    let restarted_at = spec.template.metadata.annotations.restarted_at.as_deref().map(cut);
    let now = DeploymentNow {
        labels: object.metadata.labels.clone(),
        generation: generation(object.metadata.generation),
        deleting: millis(object.metadata.deletion_timestamp.as_deref()).is_some(),
        revision: parse_optional(object.metadata.annotations.revision.as_deref()),
        template: spec.template.hash,
        template_apart: restarted_at.as_ref().map_or(spec.template.hash, |_| spec.template.hash_apart),
        restarted_at,
        spec: DeploymentSpec {
            replicas: spec.replicas.map_or(1, number),
            strategy: strategy(spec.strategy),
            min_ready_seconds: spec.min_ready_seconds.map_or(0, number),
            paused: spec.paused.unwrap_or(false),
            // The API server writes i32::MAX for "no deadline" in old API versions.
            progress_deadline_seconds: spec.progress_deadline_seconds.map(number).filter(|s| *s < i32::MAX as u32),
            revision_history_limit: spec.revision_history_limit.map_or(DEFAULT_HISTORY_LIMIT, number),
            images: images(spec.template.spec.containers),
        },
        status: DeploymentStatus {
            observed_generation: generation(status.observed_generation),
            replicas: status.replicas.map_or(0, number),
            updated: status.updated_replicas.map_or(0, number),
            available: status.available_replicas.map_or(0, number),
            progressing: condition(&status.conditions, "Progressing"),
            replica_failure: condition(&status.conditions, "ReplicaFailure"),
        },
    };
    Ok(DeploymentFact { meta: meta(object.metadata, "")?, now })
}

fn replica_set(object: decode::ReplicaSet) -> Result<ReplicaSetFact, Unusable> {
    let decode::Meta { labels, annotations, .. } = &object.metadata;
    let template = object.spec.template;
    let now = ReplicaSetNow {
        counts: ReplicaSetCounts {
            desired: object.spec.replicas.map_or(1, number),
            replicas: object.status.replicas.map_or(0, number),
            available: object.status.available_replicas.map_or(0, number),
        },
        min_ready_seconds: object.spec.min_ready_seconds.map_or(0, number),
        deleting: millis(object.metadata.deletion_timestamp.as_deref()).is_some(),
        desired_replicas: parse_optional(annotations.desired_replicas.as_deref()),
        max_replicas: parse_optional(annotations.max_replicas.as_deref()),
        change_cause: annotations.change_cause.as_deref().map(cut),
        managed_by: managed_by(annotations),
        version: labels.version.clone(),
        template: template.hash,
        probe_millis: probe_millis(&template.spec),
        failure: condition(&object.status.conditions, "ReplicaFailure"),
    };
    Ok(ReplicaSetFact {
        revision: parse_optional(annotations.revision.as_deref()),
        restarted_at: template.metadata.annotations.restarted_at.as_deref().map(cut),
        images: images(template.spec.containers),
        template_hash: labels.pod_template_hash.clone(),
        meta: meta(object.metadata, "Deployment")?,
        now,
    })
}

/// Returns the tool that deploys the Deployment, from annotations that its ReplicaSet took over; empty if none names one.
fn managed_by(annotations: &Annotations) -> String {
    let helm = annotations.helm_release.as_deref().map(|release| ("Helm release", release));
    // "application:group/Kind:namespace/name"
    let argo = annotations.argo_tracking_id.as_deref().and_then(|id| id.split(':').next());
    let known = helm.or(argo.map(|application| ("Argo CD application", application)));
    known.filter(|(_, name)| !name.is_empty()).map(|(tool, name)| format!("{tool} {}", cut(name))).unwrap_or_default()
}

/// Returns the longest time that the probes of a pod may take until it is ready.
fn probe_millis(template: &decode::TemplateSpec) -> Millis {
    let seconds = |probe: &Option<decode::Probe>| {
        probe.as_ref().map_or(0, |probe| {
            let period = probe.period_seconds.unwrap_or(10).max(0);
            let tries = probe.failure_threshold.unwrap_or(3).max(probe.success_threshold.unwrap_or(1)).max(0);
            probe.initial_delay_seconds.unwrap_or(0).max(0).saturating_add(period.saturating_mul(tries))
        })
    };
    let is_waited_for = |container: &&decode::TemplateContainer| container.restart_policy == "Always";
    let containers = template.containers.iter().chain(template.init_containers.iter().filter(is_waited_for));
    let longest = containers
        .map(|container| seconds(&container.startup_probe).saturating_add(seconds(&container.readiness_probe)))
        .max();
    longest.unwrap_or(0).min(i64::from(u32::MAX)) * 1000
}

fn event(object: decode::Event) -> Result<Option<EventFact>, Unusable> {
    let uid = parse_optional(object.metadata.uid.as_deref()).ok_or(Unusable::Uid)?;
    let Some(about) = parse_optional(object.involved_object.uid.as_deref()) else {
        return Ok(None); // about a Node, which has its name as UID, or about no object
    };
    let series = object.series.unwrap_or_default();
    let last = series.last_observed_time.or(object.last_timestamp).or(object.event_time);
    // The API server limits none of these texts in an Event without `eventTime`, and the Event may wait for its object.
    Ok(Some(EventFact {
        uid,
        namespace: object.metadata.namespace,
        about,
        about_kind: cut(&object.involved_object.kind),
        about_name: cut(&object.involved_object.name),
        container: cut(container_of(&object.involved_object.field_path)),
        is_ephemeral: object.involved_object.field_path.starts_with("spec.ephemeralContainers{"),
        reason: cut(&object.reason),
        message: cut(&object.message),
        is_warning: object.r#type == "Warning",
        count: series.count.or(object.count).map_or(1, number),
        last_millis: millis(last.as_deref()),
    }))
}

/// Returns the container that a path of a Pod names: "web" of `spec.initContainers{web}`.
fn container_of(field_path: &str) -> &str {
    field_path.split_once('{').and_then(|(_, rest)| rest.strip_suffix('}')).unwrap_or_default()
}

fn strategy(strategy: decode::Strategy) -> Strategy {
    if strategy.r#type == "Recreate" {
        return Strategy::Recreate;
    }
    let RollingUpdateDeployment { max_surge, max_unavailable } = strategy.rolling_update.unwrap_or_default();
    Strategy::RollingUpdate { max_surge: share(max_surge), max_unavailable: share(max_unavailable) }
}

fn share(value: Option<IntOrString>) -> IntOrPercent {
    match value {
        None => DEFAULT_SHARE,
        Some(IntOrString::Int(value)) => IntOrPercent::Int(number(value.into())),
        Some(IntOrString::String(text)) => match text.strip_suffix('%') {
            Some(percent) => percent.parse().map_or(DEFAULT_SHARE, IntOrPercent::Percent),
            None => text.parse().map_or(DEFAULT_SHARE, IntOrPercent::Int),
        },
    }
}

fn condition(conditions: &[decode::Condition], wanted: &str) -> Option<Condition> {
    conditions.iter().find(|condition| condition.r#type == wanted).map(|condition| Condition {
        status: condition_status(&condition.status),
        reason: condition.reason.clone(),
        message: beginning(&condition.message, LONGEST_CONDITION),
        last_transition_millis: millis(condition.last_transition_time.as_deref()),
        last_update_millis: millis(condition.last_update_time.as_deref()),
    })
}

/// Returns the beginning of a text that the API server does not limit. The rest is not shown, and would be stored with each
/// change of the object.
fn cut(text: &str) -> String {
    beginning(text, Event::LONGEST)
}

/// Returns at most this number of characters from the beginning of a text.
fn beginning(text: &str, most: usize) -> String {
    // Most texts are short: with at most this number of bytes, a text cannot have more characters.
    if text.len() <= most { text.to_owned() } else { text.chars().take(most).collect() }
}

fn condition_status(status: &str) -> ConditionStatus {
    match status {
        "True" => ConditionStatus::True,
        "False" => ConditionStatus::False,
        _ => ConditionStatus::Unknown,
    }
}

fn images(containers: Vec<decode::TemplateContainer>) -> Vec<Image> {
    containers.into_iter().take(MOST_CONTAINERS).map(|c| Image { container: c.name, image: cut(&c.image) }).collect()
}

/// Converts a count; a negative one is invalid and becomes 0.
fn number(value: i64) -> u32 {
    u32::try_from(value.max(0)).unwrap_or(u32::MAX)
}

fn parse_optional<T: FromStr>(text: Option<&str>) -> Option<T> {
    text?.parse().ok()
}

fn millis(rfc3339: Option<&str>) -> Option<Millis> {
    parse_optional(rfc3339).map(jiff::Timestamp::as_millisecond)
}

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod tests;
