//! The kinds of episodes. An episode is a stretch of time in which a workload was not at rest.

use serde::{Deserialize, Serialize};

/// The kind of an episode, by its most important event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EpisodeKind {
    /// A revision was rolled out, whatever else happened.
    #[default]
    Rollout,
    /// The number of replicas changed, and nothing was lost.
    Scaling,
    /// Pods were deleted, evicted or lost with their node, and replaced.
    Recovery,
    /// Containers restarted, pods failed, the next ReplicaSet was refused, or pods were not available for a reason that is not known.
    Failure,
    /// The workload was deleted.
    Deletion,
}

impl EpisodeKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::Rollout, Self::Scaling, Self::Recovery, Self::Failure, Self::Deletion];

    /// Its name in addresses and in the index of history.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rollout => "rollout",
            Self::Scaling => "scaling",
            Self::Recovery => "recovery",
            Self::Failure => "failure",
            Self::Deletion => "deletion",
        }
    }
}
