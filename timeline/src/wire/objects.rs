//! Objects as they travel: of each the fields that viewers show. What stays at home is named beside them.

#![expect(missing_docs, reason = "a field is what the model's field of the same name is")]

use serde::{Deserialize, Serialize};

use crate::model::fact::{Image, ReplicaSetCounts};
use crate::model::{self, EndReason, Gap, Limits, Model, PodState, Release, RemovedBecause, Scale};
use crate::{Millis, Uid};

/// Declares what of an object of the model travels, in the order in which it does, and what stays at home: the type that travels,
/// and the conversions from and to the model's type of the same name. They name every field of both, so a new one does not compile
/// before it stands in one of the lists. What is an `object`, or `objects`, itself is converted as well.
macro_rules! travels {
    (@sent $field:ident) => { Clone::clone($field) };
    (@sent $field:ident object) => { $field.into() };
    (@sent $field:ident objects) => { $field.iter().map(Into::into).collect() };
    (@received $field:ident) => { $field };
    (@received $field:ident object) => { $field.into() };
    (@received $field:ident objects) => { $field.into_iter().map(Into::into).collect() };
    (
        $(#[$doc:meta])*
        $name:ident { $($field:ident: $type:ty $(as $how:ident)?),* $(,)? }
        stays { $($home:ident),* }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct $name {
            $(pub $field: $type,)*
        }

        impl From<&model::$name> for $name {
            fn from(known: &model::$name) -> Self {
                let model::$name { $($field,)* $($home: _,)* } = known;
                Self { $($field: travels!(@sent $field $($how)?),)* }
            }
        }

        impl From<$name> for model::$name {
            fn from(sent: $name) -> Self {
                let $name { $($field,)* } = sent;
                Self { $($field: travels!(@received $field $($how)?),)* $($home: Default::default(),)* }
            }
        }
    };
}

/// One Deployment with all that belongs to it; nothing when there is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Objects {
    /// The Deployment.
    pub deployments: Vec<Deployment>,
    /// ReplicaSets that it controls or ever controlled, by arrival.
    pub replica_sets: Vec<ReplicaSet>,
    /// Pods that any of these controls or ever controlled, by arrival.
    pub pods: Vec<Pod>,
}

impl Objects {
    /// Collects the objects that a viewer of `deployment` needs.
    #[must_use]
    pub fn of(model: &Model, deployment: Uid) -> Self {
        Self {
            deployments: model.deployments.get(&deployment).map(Deployment::from).into_iter().collect(),
            replica_sets: model.sets_of(deployment).map(ReplicaSet::from).collect(),
            pods: model.pods_of_deployment(deployment).into_iter().map(Pod::from).collect(),
        }
    }
}

impl From<Objects> for Model {
    fn from(objects: Objects) -> Self {
        let mut model = Self::default();
        objects
            .deployments
            .into_iter()
            .for_each(|deployment| model.deployments.insert(deployment.uid, deployment.into()));
        objects.replica_sets.into_iter().for_each(|set| model.replica_sets.insert(set.uid, set.into()));
        objects.pods.into_iter().for_each(|pod| model.pods.insert(pod.uid, pod.into()));
        model.index();
        model
    }
}

travels! {
    /// A Deployment and its story: [`model::Deployment`].
    Deployment {
        uid: Uid,
        namespace: String,
        name: String,
        created_at_millis: Millis,
        first_seen_millis: Millis,
        from_first_list: bool,
        deleted_millis: Option<Millis>,
        now: DeploymentNow as object,
        rollouts: Vec<Rollout> as objects,
        limits: Vec<(Millis, Limits)>,
        gaps: Vec<Gap>,
        kept_since_millis: Option<Millis>,
        rollouts_pruned: u32,
    }
    stays { marks, story, verdicts, events }
}

travels! {
    /// A Deployment as last observed: [`model::DeploymentNow`].
    DeploymentNow {
        deleting: bool,
        revision: Option<u64>,
    }
    stays { labels, generation, restarted_at, template, template_apart, spec, status }
}

travels! {
    /// One rollout: [`model::Rollout`].
    Rollout {
        revision: u64,
        started_millis: Option<Millis>,
        images: Vec<Image>,
        max_surge: u32,
        max_unavailable: u32,
        completed_millis: Option<Millis>,
        available_millis: Option<Millis>,
        superseded_millis: Option<Millis>,
        deadline_exceeded_millis: Option<Millis>,
        min_available: u32,
        peak_pods: u32,
        peak_terminating: u32,
    }
    stays {
        generation, restarted_at, template_apart, is_first, is_restart, available_of, was_start_seen, passed_before,
        peak_active
    }
}

travels! {
    /// A ReplicaSet and its story: [`model::ReplicaSet`].
    ReplicaSet {
        uid: Uid,
        namespace: String,
        name: String,
        created_at_millis: Millis,
        first_seen_millis: Millis,
        removed_millis: Option<Millis>,
        removed_because: Option<RemovedBecause>,
        template_hash: String,
        images: Vec<Image>,
        owner: Option<Uid>,
        owners: Vec<Uid>,
        owner_changes: Vec<(Millis, Option<Uid>)>,
        revisions: Vec<(u64, Option<Millis>)>,
        scales: Vec<Scale>,
        now: ReplicaSetNow as object,
    }
    stays { restarted_at }
}

travels! {
    /// A ReplicaSet as last observed: [`model::ReplicaSetNow`].
    ReplicaSetNow {
        counts: ReplicaSetCounts,
        min_ready_seconds: u32,
        deleting: bool,
        desired_replicas: Option<u32>,
        probe_millis: Millis,
    }
    stays { max_replicas, change_cause, managed_by, version, template, failure }
}

travels! {
    /// A Pod and its life: [`model::Pod`].
    Pod {
        uid: Uid,
        namespace: String,
        name: String,
        created_at_millis: Millis,
        owners: Vec<Uid>,
        owner: Option<Uid>,
        states: Vec<(PodState, Millis)>,
        releases: Vec<Release>,
        end_reason: Option<EndReason>,
        now: PodNow as object,
    }
    stays {}
}

travels! {
    /// A Pod as last observed: [`model::PodNow`].
    PodNow {
        node: Option<String>,
        reason: String,
        message: String,
        restarts: u32,
        available_at_millis: Option<Millis>,
        deletion_at_millis: Option<Millis>,
        terminal_millis: Option<Millis>,
    }
    stays { most_restarts, first_restarts, pull_error, listed_millis, ready_since_millis, disruption, deletion_cost, containers, conditions }
}
