//! The limits of a rolling update, in pods. [`crate::rules::budget`] computes them.

use serde::{Deserialize, Serialize};

/// The limits that a Deployment's strategy sets, in pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Pods above `spec.replicas` that the ReplicaSets may desire together (`maxSurge`, resolved).
    pub max_surge: u32,
    /// Pods below `spec.replicas` that may be unavailable (`maxUnavailable`, resolved).
    pub max_unavailable: u32,
    /// `replicas + max_surge`.
    pub ceiling: u32,
    /// `replicas − max_unavailable`.
    pub floor: u32,
}
