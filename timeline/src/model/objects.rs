//! The model: all known objects, in the form that viewers hold too. Changed only through [`Model::apply_change`].
//!
//! Starts are stored, ends derived: a pod's life is an ordered list of (state, since). Times are arrival times unless a field says
//! otherwise.
//!
//! Viewers receive only a part ([`crate::wire`]): fields that are [`server_only`] are the input of sentences, and viewers receive finished
//! sentences ([`crate::wire::Said`]). In a viewer's model these fields are empty.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::event::Event;
use super::limits::Limits;
use super::pod::Pod;
use super::pod_index::PodIndex;
use super::server_only;
use super::story::Entry;
use crate::model::fact::{DeploymentNow, Image, Kind, ReplicaSetNow};
use crate::model::table::{Keyed, Links, Table};
use crate::{Millis, Uid};

/// All Deployments, ReplicaSets and Pods of one cluster, or the part of them that one viewer follows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(from = "StoredModel")]
pub struct Model {
    /// Every observed Deployment, including deleted ones.
    pub deployments: Table<Deployment>,
    /// Every observed ReplicaSet, including deleted ones.
    pub replica_sets: Table<ReplicaSet>,
    /// Every Pod that a ReplicaSet controlled at some time.
    pub pods: Table<Pod>,
    /// Kinds that Rollcast may not list now, in a namespace or in all, and since when: their data is outdated. Not sent to viewers.
    pub unseen: BTreeMap<(Kind, Option<String>), Millis>,
    /// ReplicaSets by the Deployments that ever controlled them, and pods by ReplicaSets.
    #[serde(skip)]
    pub(super) sets_of: Links,
    #[serde(skip)]
    pub(super) pods_of: Links,
    /// Deployments by a hash of namespace and name.
    #[serde(skip)]
    pub(super) deployments_of_name: Links,
    #[serde(skip)]
    pub(super) pod_index: PodIndex,
}

/// Ignores indexes, which follow from the rest.
impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        (&self.deployments, &self.replica_sets, &self.pods, &self.unseen)
            == (&other.deployments, &other.replica_sets, &other.pods, &other.unseen)
    }
}

/// A model as it is stored, without its indexes.
#[derive(Deserialize)]
struct StoredModel {
    deployments: Table<Deployment>,
    replica_sets: Table<ReplicaSet>,
    pods: Table<Pod>,
    unseen: BTreeMap<(Kind, Option<String>), Millis>,
}

impl From<StoredModel> for Model {
    fn from(stored: StoredModel) -> Self {
        let StoredModel { deployments, replica_sets, pods, unseen } = stored;
        let mut model = Self { deployments, replica_sets, pods, unseen, ..Self::default() };
        model.index();
        model
    }
}

impl Keyed for Deployment {
    fn uid(&self) -> Uid {
        self.uid
    }
}

impl Keyed for ReplicaSet {
    fn uid(&self) -> Uid {
        self.uid
    }
}

impl Keyed for Pod {
    fn uid(&self) -> Uid {
        self.uid
    }
}

/// A Deployment and its story.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Deployment {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.creationTimestamp`.
    pub created_at_millis: Millis,
    /// Arrival of the first observation.
    pub first_seen_millis: Millis,
    /// It came with the first list: its earlier history is unknown.
    pub from_first_list: bool,
    /// When its deletion arrived; `None` while it exists.
    pub deleted_millis: Option<Millis>,
    /// Spec and status as last observed.
    pub now: DeploymentNow,
    /// Every change of the revision annotation, in order.
    pub rollouts: Vec<Rollout>,
    /// Moments that are neither a rollout nor a scale step.
    #[serde(with = "server_only")]
    pub marks: Vec<Mark>,
    /// The limits of its strategy, with the times of their changes.
    pub limits: Vec<(Millis, Limits)>,
    /// Its story, in the order of writing. Each entry keeps what was decided when it happened.
    #[serde(with = "server_only")]
    pub story: Vec<Entry>,
    /// The verdict of `kubectl rollout status`, with the times of its changes.
    #[serde(with = "server_only")]
    pub verdicts: Vec<(Millis, KubectlVerdict)>,
    /// Stretches of time without observation, in order and not adjacent.
    pub gaps: Vec<Gap>,
    /// Events about it and its objects, by arrival: Warnings, and those that explain waiting.
    #[serde(with = "server_only")]
    pub events: Vec<Event>,
    /// Start of the stored history; `None` while nothing was pruned.
    pub kept_since_millis: Option<Millis>,
    /// Number of rollouts that retention pruned; they came before the first stored one.
    pub rollouts_pruned: u32,
}

impl Deployment {
    /// Returns whether it is deleted or being deleted, and its objects with it.
    pub const fn is_over(&self) -> bool {
        self.deleted_millis.is_some() || self.now.deleting
    }

    /// Returns the beginning of its known history: nothing before can be shown.
    pub fn known_since_millis(&self) -> Millis {
        self.kept_since_millis.unwrap_or(self.first_seen_millis)
    }

    /// Counts the observed rollouts, pruned ones included.
    pub const fn rollouts_seen(&self) -> u32 {
        self.rollouts_pruned + self.rollouts.len() as u32
    }
}

/// A stretch of time without observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The last observation before it.
    pub from_millis: Millis,
    /// Arrival of the list that ended it.
    pub to_millis: Millis,
}

impl Gap {
    /// Returns whether the gap is shorter than a second, and so is not shown.
    pub const fn is_short(&self) -> bool {
        self.to_millis - self.from_millis < 1_000
    }
}

/// The verdict of `kubectl rollout status`, from one Deployment object; [`crate::rules::verdict`] computes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KubectlVerdict {
    /// The controller has not observed the spec yet.
    #[default]
    NotObserved,
    /// No progress for `progressDeadlineSeconds`.
    DeadlineExceeded,
    /// Fewer updated replicas than `spec.replicas`.
    Updating,
    /// Old replicas still exist.
    OldPending,
    /// Updated replicas are not available yet.
    AvailabilityPending,
    /// Every replica is updated and available, and no old one is left.
    Complete,
    /// The Deployment is deleted.
    Gone,
}

/// One rollout: the time in which the revision annotation has one value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rollout {
    /// The revision.
    pub revision: u64,
    /// Arrival of the first observation with this revision; `None` if it came with the first list.
    pub started_millis: Option<Millis>,
    /// `metadata.generation` at the start.
    #[serde(with = "server_only")]
    pub generation: u64,
    /// The template's images at the start.
    pub images: Vec<Image>,
    /// The template's `restartedAt` at the start.
    #[serde(with = "server_only")]
    pub restarted_at: Option<String>,
    /// Hash of the template at the start without `restartedAt`; `None` if it is not known.
    #[serde(with = "server_only")]
    pub template_apart: Option<u64>,
    /// The template's `restartedAt` changed, and as far as known nothing else of the template.
    #[serde(with = "server_only")]
    pub is_restart: bool,
    /// Resolved `maxSurge` at the start.
    pub max_surge: u32,
    /// Resolved `maxUnavailable` at the start.
    pub max_unavailable: u32,
    /// Arrival of the first complete verdict.
    pub completed_millis: Option<Millis>,
    /// When as many of its pods as desired were available for the first time, as observed or reported by a condition. Pods that are missing
    /// later do not belong to the rollout.
    pub available_millis: Option<Millis>,
    /// The number of replicas for which everything was available last, as far as observed: replicas above it were never available, missing
    /// ones below it are lost.
    #[serde(with = "server_only")]
    pub available_of: Option<u32>,
    /// Its start was observed.
    pub was_start_seen: bool,
    /// Its end was not observed: a list shows that it ended, but not when.
    pub is_end_unseen: bool,
    /// Kubernetes counts it as complete because the Deployment was scaled to zero before everything was available.
    pub was_scaled_to_zero: bool,
    /// Time of the condition that at the start of this rollout reported a passed deadline: it belongs to the rollout before.
    #[serde(with = "server_only")]
    pub passed_before: Option<Millis>,
    /// Start of the next revision, if this one was not complete.
    pub superseded_millis: Option<Millis>,
    /// When its progress deadline passed: arrival of the first deadlineExceeded verdict, or the time of its condition
    /// if that was not observed.
    pub deadline_exceeded_millis: Option<Millis>,
    /// Minimum of `status.availableReplicas` from start to completion.
    pub min_available: u32,
    /// Maximum number of owned pods without deletion timestamp, from start to completion or supersession.
    pub peak_pods: u32,
    /// Maximum number of active owned pods (not ended, not asked to stop), in the same time.
    #[serde(with = "server_only")]
    pub peak_active: u32,
    /// Maximum number of owned pods with deletion timestamp, in the same time.
    pub peak_terminating: u32,
}

impl Rollout {
    /// Returns whether the passed deadline belongs to the rollout before: reusing a ReplicaSet does not update the condition.
    /// `passed_millis` is [`DeploymentNow::deadline_passed_millis`].
    pub fn has_deadline_of_before(&self, passed_millis: Option<Millis>) -> bool {
        self.passed_before.is_some() && self.passed_before == passed_millis
    }

    /// Returns when the rollout was complete or superseded.
    pub fn ended_millis(&self) -> Option<Millis> {
        self.completed_millis.or(self.superseded_millis)
    }

    /// Returns whether the rollout is neither complete nor superseded.
    pub const fn is_open(&self) -> bool {
        self.completed_millis.is_none() && self.superseded_millis.is_none()
    }
}

/// A moment in a Deployment's life.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// When it arrived, in milliseconds of the cluster's time.
    pub at_millis: Millis,
    /// The event that it marks.
    pub kind: MarkKind,
}

/// The event of a [`Mark`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MarkKind {
    /// `spec.paused` became true.
    Paused,
    /// `spec.paused` became false.
    Resumed,
    /// `spec.replicas` changed.
    Replicas {
        /// `spec.replicas` before.
        from: u32,
        /// `spec.replicas` after.
        to: u32,
    },
    /// `metadata.deletionTimestamp` was set.
    #[default]
    Deleting,
}

/// A ReplicaSet and its story.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplicaSet {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.creationTimestamp`.
    pub created_at_millis: Millis,
    /// Arrival of the first observation.
    pub first_seen_millis: Millis,
    /// Arrival of its deletion.
    pub removed_millis: Option<Millis>,
    /// Why it was deleted.
    pub removed_because: Option<RemovedBecause>,
    /// Label `pod-template-hash`.
    pub template_hash: String,
    /// The template's images.
    pub images: Vec<Image>,
    /// The template's `restartedAt`.
    #[serde(with = "server_only")]
    pub restarted_at: Option<String>,
    /// The Deployment that controls it now.
    pub owner: Option<Uid>,
    /// Every Deployment that ever controlled it, in order.
    pub owners: Vec<Uid>,
    /// Changes of the Deployment that controls it, by arrival.
    pub owner_changes: Vec<(Millis, Option<Uid>)>,
    /// Its revisions, with arrival; `None` if from the first list.
    pub revisions: Vec<(u64, Option<Millis>)>,
    /// Changes of `spec.replicas` while a Deployment owned it.
    pub scales: Vec<Scale>,
    /// As last observed.
    pub now: ReplicaSetNow,
}

impl ReplicaSet {
    /// Returns the Deployment that controlled it at that time, as far as observed.
    pub fn owner_at(&self, at_millis: Millis) -> Option<Uid> {
        let before = self.owner_changes.iter().rev().find(|(since, _)| *since <= at_millis);
        let first = || if self.owner_changes.is_empty() { self.owner } else { self.owners.first().copied() };
        before.map_or_else(first, |(_, owner)| *owner)
    }

    /// Returns the Deployment that controls it, or was the last to do so.
    pub fn last_owner(&self) -> Option<Uid> {
        let before = self.owner_changes.iter().rev().find_map(|(_, owner)| *owner);
        self.owner.or(before).or(self.owners.first().copied())
    }

    /// Returns whether it is deleted or being deleted.
    pub const fn is_over(&self) -> bool {
        self.removed_millis.is_some() || self.now.deleting
    }

    /// Returns its present revision.
    pub fn revision(&self) -> Option<u64> {
        self.revisions.last().map(|(revision, _)| *revision)
    }

    /// Returns whether the ReplicaSet has or had this revision.
    pub fn had_revision(&self, revision: u64) -> bool {
        self.revisions.iter().any(|(known, _)| *known == revision)
    }
}

/// Why a ReplicaSet was deleted, as far as derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RemovedBecause {
    /// Its Deployment is deleted or being deleted.
    DeploymentDeleted,
    /// Empty, old, and in excess of `revisionHistoryLimit`.
    HistoryLimit,
    /// None of these: deleted by something outside the Deployment.
    Deleted,
}

/// A change of a ReplicaSet's `spec.replicas`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scale {
    /// When it arrived, in milliseconds of the cluster's time.
    pub at_millis: Millis,
    /// Orders scale steps of one moment across ReplicaSets.
    pub order: u64,
    /// The Deployment that owned it at that time.
    pub deployment: Uid,
    /// `spec.replicas` before.
    pub from: u32,
    /// `spec.replicas` after.
    pub to: u32,
    /// The operation that it was part of.
    pub cause: ScaleCause,
}

/// The operation that a scale step was part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ScaleCause {
    /// A change of the Deployment's replicas.
    Scaling,
    /// The rollout.
    Rollout,
}
