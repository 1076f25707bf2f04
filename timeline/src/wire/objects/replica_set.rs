//! ReplicaSets as they travel.

#![expect(missing_docs, reason = "a field is what the model's field of the same name is")]

use serde::{Deserialize, Serialize};

use crate::fact::{Image, ReplicaSetCounts};
use crate::model::{self, RemovedBecause, Scale};
use crate::{Millis, Uid};

/// A ReplicaSet and its story: [`model::ReplicaSet`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplicaSet {
    pub uid: Uid,
    pub namespace: String,
    pub name: String,
    pub created_at_millis: Millis,
    pub first_seen_millis: Millis,
    pub removed_millis: Option<Millis>,
    pub removed_because: Option<RemovedBecause>,
    pub template_hash: String,
    pub images: Vec<Image>,
    pub owner: Option<Uid>,
    pub owners: Vec<Uid>,
    pub revisions: Vec<(u64, Option<Millis>)>,
    pub scales: Vec<Scale>,
    pub now: ReplicaSetNow,
}

impl ReplicaSet {
    pub(in crate::wire) fn of(known: &model::ReplicaSet) -> Self {
        let model::ReplicaSet {
            uid,
            namespace,
            name,
            created_at_millis,
            first_seen_millis,
            removed_millis,
            removed_because,
            template_hash,
            images,
            restarted_at: _,
            owner,
            owners,
            revisions,
            scales,
            now,
        } = known;
        Self {
            uid: *uid,
            namespace: namespace.clone(),
            name: name.clone(),
            created_at_millis: *created_at_millis,
            first_seen_millis: *first_seen_millis,
            removed_millis: *removed_millis,
            removed_because: *removed_because,
            template_hash: template_hash.clone(),
            images: images.clone(),
            owner: *owner,
            owners: owners.clone(),
            revisions: revisions.clone(),
            scales: scales.clone(),
            now: ReplicaSetNow::of(now),
        }
    }
}

impl From<ReplicaSet> for model::ReplicaSet {
    fn from(sent: ReplicaSet) -> Self {
        let ReplicaSet {
            uid,
            namespace,
            name,
            created_at_millis,
            first_seen_millis,
            removed_millis,
            removed_because,
            template_hash,
            images,
            owner,
            owners,
            revisions,
            scales,
            now,
        } = sent;
        Self {
            uid,
            namespace,
            name,
            created_at_millis,
            first_seen_millis,
            removed_millis,
            removed_because,
            template_hash,
            images,
            restarted_at: Default::default(),
            owner,
            owners,
            revisions,
            scales,
            now: now.into(),
        }
    }
}

/// A ReplicaSet as last observed: [`model::ReplicaSetNow`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplicaSetNow {
    pub counts: ReplicaSetCounts,
    pub min_ready_seconds: u32,
    pub deleting: bool,
    pub desired_replicas: Option<u32>,
}

impl ReplicaSetNow {
    pub(in crate::wire) fn of(known: &model::ReplicaSetNow) -> Self {
        let model::ReplicaSetNow {
            counts,
            min_ready_seconds,
            deleting,
            desired_replicas,
            max_replicas: _,
            change_cause: _,
            version: _,
        } = known;
        Self {
            counts: *counts,
            min_ready_seconds: *min_ready_seconds,
            deleting: *deleting,
            desired_replicas: *desired_replicas,
        }
    }
}

impl From<ReplicaSetNow> for model::ReplicaSetNow {
    fn from(sent: ReplicaSetNow) -> Self {
        let ReplicaSetNow { counts, min_ready_seconds, deleting, desired_replicas } = sent;
        Self {
            counts,
            min_ready_seconds,
            deleting,
            desired_replicas,
            max_replicas: Default::default(),
            change_cause: Default::default(),
            version: Default::default(),
        }
    }
}
