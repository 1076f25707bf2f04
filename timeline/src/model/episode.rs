//! The kinds of episodes. An episode is a stretch of time in which a workload was not at rest.

use serde::{Deserialize, Serialize};

use super::names::names;

/// The kind of an episode, by its most important event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EpisodeKind {
    /// A revision was rolled out, whatever else happened.
    #[default]
    Rollout,
    /// The number of replicas changed, and no pod was lost.
    Scaling,
    /// Pods were deleted, evicted or lost with their node, and replaced; or containers were restarted because the spec of their pod
    /// changed.
    Recovery,
    /// Containers restarted for another reason, pods failed, the next ReplicaSet was refused, or pods were not available for an unknown
    /// reason.
    Failure,
    /// The workload was deleted.
    Deletion,
}

names! {
    /// Returns its name in addresses and in the index of history.
    EpisodeKind {
        Rollout => "rollout",
        Scaling => "scaling",
        Recovery => "recovery",
        Failure => "failure",
        Deletion => "deletion",
    }
}
