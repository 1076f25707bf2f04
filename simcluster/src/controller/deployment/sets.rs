//! Functions on the ReplicaSets of a Deployment (`deployment/util/deployment_util.go`). They read `spec` and `status`, not pods.

use std::cmp::Ordering;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetStatus};
use k8s_openapi::api::core::v1::PodTemplateSpec;

use crate::meta::{self, replicas_of};
use crate::time;

/// Label that distinguishes the ReplicaSets of one Deployment.
pub const HASH: &str = "pod-template-hash";
/// Annotation with the number of a revision.
pub const REVISION: &str = "deployment.kubernetes.io/revision";
/// Annotation with earlier revision numbers of a ReplicaSet.
pub const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// Annotation with the Deployment's replicas at the last scaling of this ReplicaSet.
pub const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
/// Annotation with the Deployment's replicas plus maxSurge at that time.
pub const MAXIMUM: &str = "deployment.kubernetes.io/max-replicas";

/// Returns whether an annotation is not copied between a Deployment and its ReplicaSets.
pub fn is_own(annotation: &str) -> bool {
    const OWN: [&str; 6] = [
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        REVISION_HISTORY,
        DESIRED,
        MAXIMUM,
        "deprecated.deployment.rollback.to",
    ];
    OWN.contains(&annotation)
}

/// Orders by age, the oldest first; by name within a second.
pub fn by_age(a: &ReplicaSet, b: &ReplicaSet) -> Ordering {
    let key =
        |set: &ReplicaSet| (set.metadata.creation_timestamp.as_ref().map(time::millis), set.metadata.name.clone());
    key(a).cmp(&key(b))
}

/// Returns the revision of a ReplicaSet; 0 without one.
pub fn revision(set: &ReplicaSet) -> i64 {
    meta::annotation(&set.metadata, REVISION).and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Returns the number in an annotation.
pub fn number(set: &ReplicaSet, annotation: &str) -> Option<i32> {
    meta::annotation(&set.metadata, annotation)?.parse().ok().filter(|number| *number >= 0)
}

fn without_hash(template: &PodTemplateSpec) -> PodTemplateSpec {
    let mut template = template.clone();
    let meta = template.metadata.get_or_insert_default();
    let labels = meta.labels.get_or_insert_default();
    labels.remove(HASH);
    meta.annotations = meta.annotations.take().filter(|annotations| !annotations.is_empty());
    template
}

pub fn is_of(set: &ReplicaSet, template: &PodTemplateSpec) -> bool {
    let own = set.spec.as_ref().and_then(|spec| spec.template.as_ref());
    own.is_some_and(|own| without_hash(own) == without_hash(template))
}

/// Returns the new ReplicaSet, the oldest if several fit, and all others, by age.
pub fn split(deployment: &Deployment, sets: &[ReplicaSet]) -> (Option<ReplicaSet>, Vec<ReplicaSet>) {
    let mut sets = sets.to_vec();
    sets.sort_by(by_age);
    let template = deployment.spec.as_ref().map(|spec| &spec.template);
    let new = template.and_then(|template| sets.iter().position(|set| is_of(set, template)));
    let new = new.map(|index| sets.remove(index));
    (new, sets)
}

pub fn active(sets: &[ReplicaSet]) -> Vec<ReplicaSet> {
    sets.iter().filter(|set| replicas_of(set) > 0).cloned().collect()
}

/// Returns the old ReplicaSets and the new one.
pub fn all(old: &[ReplicaSet], new: Option<&ReplicaSet>) -> Vec<ReplicaSet> {
    old.iter().chain(new).cloned().collect()
}

/// Returns the sum of desired replicas of these ReplicaSets.
pub fn asked(sets: &[ReplicaSet]) -> i32 {
    sets.iter().map(replicas_of).sum()
}

/// Returns the sum of a count in the status of these ReplicaSets.
pub fn sum(sets: &[ReplicaSet], of: impl Fn(&ReplicaSetStatus) -> i32) -> i32 {
    sets.iter().filter_map(|set| set.status.as_ref()).map(of).sum()
}

pub fn available(sets: &[ReplicaSet]) -> i32 {
    sum(sets, |status| status.available_replicas.unwrap_or_default())
}
