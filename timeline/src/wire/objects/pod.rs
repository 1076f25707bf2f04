//! Pods as they travel.

#![expect(missing_docs, reason = "a field is what the model's field of the same name is")]

use serde::{Deserialize, Serialize};

use crate::model::{self, EndReason};
use crate::phase::PodState;
use crate::{Millis, Uid};

/// A Pod and its life: [`model::Pod`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pod {
    pub uid: Uid,
    pub namespace: String,
    pub name: String,
    pub created_at_millis: Millis,
    pub owners: Vec<Uid>,
    pub owner: Option<Uid>,
    pub states: Vec<(PodState, Millis)>,
    pub released_millis: Option<Millis>,
    pub last_released_millis: Option<Millis>,
    pub adopted_millis: Option<Millis>,
    pub end_reason: Option<EndReason>,
    pub now: PodNow,
}

impl Pod {
    pub(in crate::wire) fn of(known: &model::Pod) -> Self {
        let model::Pod {
            uid,
            namespace,
            name,
            created_at_millis,
            owners,
            owner,
            states,
            released_millis,
            last_released_millis,
            adopted_millis,
            end_reason,
            now,
        } = known;
        Self {
            uid: *uid,
            namespace: namespace.clone(),
            name: name.clone(),
            created_at_millis: *created_at_millis,
            owners: owners.clone(),
            owner: *owner,
            states: states.clone(),
            released_millis: *released_millis,
            last_released_millis: *last_released_millis,
            adopted_millis: *adopted_millis,
            end_reason: *end_reason,
            now: PodNow::of(now),
        }
    }
}

impl From<Pod> for model::Pod {
    fn from(sent: Pod) -> Self {
        let Pod {
            uid,
            namespace,
            name,
            created_at_millis,
            owners,
            owner,
            states,
            released_millis,
            last_released_millis,
            adopted_millis,
            end_reason,
            now,
        } = sent;
        Self {
            uid,
            namespace,
            name,
            created_at_millis,
            owners,
            owner,
            states,
            released_millis,
            last_released_millis,
            adopted_millis,
            end_reason,
            now: now.into(),
        }
    }
}

/// A Pod as last observed: [`model::PodNow`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PodNow {
    pub node: Option<String>,
    pub reason: String,
    pub message: String,
    pub restarts: u32,
    pub available_at_millis: Option<Millis>,
    pub deletion_at_millis: Option<Millis>,
    pub terminal_millis: Option<Millis>,
}

impl PodNow {
    pub(in crate::wire) fn of(known: &model::PodNow) -> Self {
        let model::PodNow {
            node,
            reason,
            message,
            restarts,
            first_restarts: _,
            last_exit: _,
            available_at_millis,
            deletion_at_millis,
            terminal_millis,
            listed_millis: _,
            ready_since_millis: _,
            deletion_cost: _,
            containers: _,
            conditions: _,
        } = known;
        Self {
            node: node.clone(),
            reason: reason.clone(),
            message: message.clone(),
            restarts: *restarts,
            available_at_millis: *available_at_millis,
            deletion_at_millis: *deletion_at_millis,
            terminal_millis: *terminal_millis,
        }
    }
}

impl From<PodNow> for model::PodNow {
    fn from(sent: PodNow) -> Self {
        let PodNow { node, reason, message, restarts, available_at_millis, deletion_at_millis, terminal_millis } = sent;
        Self {
            node,
            reason,
            message,
            restarts,
            first_restarts: Default::default(),
            last_exit: Default::default(),
            available_at_millis,
            deletion_at_millis,
            terminal_millis,
            listed_millis: Default::default(),
            ready_since_millis: Default::default(),
            deletion_cost: Default::default(),
            containers: Default::default(),
            conditions: Default::default(),
        }
    }
}
