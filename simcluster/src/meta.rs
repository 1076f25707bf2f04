//! Reads of metadata and pods that several controllers need.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Pod, PodCondition, PodStatus, Toleration};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};

use crate::object::{Kind, Object, Resource};

/// Returns the labels that an object selects, as kubectl writes them.
pub fn selector_text(object: &Object) -> String {
    let labels = object.selector().and_then(|selector| selector.match_labels.as_ref());
    let all = labels.into_iter().flatten().map(|(name, value)| format!("{name}={value}"));
    all.collect::<Vec<_>>().join(",")
}

/// Labels or annotations; an empty map means the same as an absent one.
pub type Map = BTreeMap<String, String>;

/// Returns the owner that controls the object.
pub fn controller(meta: &ObjectMeta) -> Option<&OwnerReference> {
    meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// Returns whether the object with this UID controls this one.
pub fn is_controlled_by(meta: &ObjectMeta, uid: Option<&str>) -> bool {
    uid.is_some_and(|uid| controller(meta).is_some_and(|owner| owner.uid == uid))
}

/// Returns the owner reference that makes `owner` the controller.
pub fn reference<K: Kind>(owner: &ObjectMeta) -> OwnerReference {
    OwnerReference {
        api_version: K::RESOURCE.api_version(),
        kind: K::RESOURCE.kind().to_owned(),
        name: owner.name.clone().unwrap_or_default(),
        uid: owner.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

pub fn labels(meta: &ObjectMeta) -> &Map {
    static NONE: Map = Map::new();
    meta.labels.as_ref().unwrap_or(&NONE)
}

pub fn annotation<'a>(meta: &'a ObjectMeta, name: &str) -> Option<&'a str> {
    meta.annotations.as_ref()?.get(name).map(String::as_str)
}

pub fn is_deleting(meta: &ObjectMeta) -> bool {
    meta.deletion_timestamp.is_some()
}

pub fn has_finalizers(meta: &ObjectMeta) -> bool {
    meta.finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty())
}

pub fn replicas_of(set: &ReplicaSet) -> i32 {
    set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

pub fn desired(deployment: &Deployment) -> i32 {
    deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1)
}

pub fn available_of(set: &ReplicaSet) -> i32 {
    set.status.as_ref().and_then(|status| status.available_replicas).unwrap_or_default()
}

pub fn find<'a>(status: &'a PodStatus, r#type: &str) -> Option<&'a PodCondition> {
    status.conditions.iter().flatten().find(|condition| condition.type_ == r#type)
}

pub fn condition<'a>(pod: &'a Pod, r#type: &str) -> Option<&'a PodCondition> {
    find(pod.status.as_ref()?, r#type)
}

pub fn is_true(pod: &Pod, r#type: &str) -> bool {
    condition(pod, r#type).is_some_and(|condition| condition.status == "True")
}

pub fn is_ready(pod: &Pod) -> bool {
    is_true(pod, "Ready")
}

pub fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending")
}

pub fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|node| !node.is_empty())
}

pub fn tolerations(pod: &Pod) -> &[Toleration] {
    pod.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default()
}

pub fn is_finished(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Returns whether controllers count a pod: neither finished nor being deleted.
pub fn is_active(pod: &Pod) -> bool {
    !is_finished(pod) && !is_deleting(&pod.metadata)
}

/// Sets a condition with reason and message; the transition time stays if only reason or message change.
pub fn set_condition(status: &mut PodStatus, r#type: &str, is_true: bool, why: Option<(&str, &str)>, now: &Time) {
    let mut desired = PodCondition {
        type_: r#type.to_owned(),
        status: if is_true { "True" } else { "False" }.to_owned(),
        reason: why.map(|(reason, _)| reason.to_owned()),
        message: why.map(|(_, message)| message.to_owned()),
        last_transition_time: Some(now.clone()),
        ..PodCondition::default()
    };
    let conditions = status.conditions.get_or_insert_default();
    match conditions.iter_mut().find(|condition| condition.type_ == desired.type_) {
        Some(known) => {
            if known.status == desired.status {
                desired.last_transition_time = known.last_transition_time.clone();
            }
            *known = desired;
        }
        None => conditions.push(desired),
    }
}

/// Returns the kind that an owner reference names, if the cluster holds it.
pub fn resource_of(owner: &OwnerReference) -> Option<Resource> {
    Resource::ALL
        .into_iter()
        .find(|resource| resource.kind() == owner.kind && resource.api_version() == owner.api_version)
}

/// Returns the largest number of restarts of a pod's containers.
pub fn restarts(pod: &Pod) -> i32 {
    let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
    statuses.into_iter().flatten().map(|status| status.restart_count).max().unwrap_or_default()
}

/// Returns whether a pod has scheduling gates.
pub fn has_gates(pod: &Pod) -> bool {
    pod.spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref()).is_some_and(|gates| !gates.is_empty())
}

/// Returns an amount in thousandths.
pub fn quantity(quantity: &Quantity) -> i128 {
    let text = quantity.0.trim();
    let split =
        text.find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != '-').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let factor: f64 = match unit {
        "m" => 1.0,
        "k" => 1e6,
        "M" => 1e9,
        "G" => 1e12,
        "T" => 1e15,
        "Ki" => 1024.0 * 1e3,
        "Mi" => 1024.0 * 1024.0 * 1e3,
        "Gi" => 1024.0 * 1024.0 * 1024.0 * 1e3,
        "Ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0 * 1e3,
        _ => 1e3,
    };
    (number.parse::<f64>().unwrap_or_default() * factor) as i128
}
