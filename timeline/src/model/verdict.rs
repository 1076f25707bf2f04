//! The verdict of `kubectl rollout status`. [`crate::rules::verdict`] computes it.

use serde::{Deserialize, Serialize};

/// The verdict of kubectl, from one Deployment object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum KubectlVerdict {
    /// The controller has not seen the spec yet.
    NotObserved,
    /// No progress for `progressDeadlineSeconds`.
    DeadlineExceeded,
    /// Fewer updated replicas than `spec.replicas`.
    Updating,
    /// Old replicas are still there.
    OldPending,
    /// Updated replicas are not available yet.
    AvailabilityPending,
    /// Every replica is updated and available, and no old one is left.
    Complete,
    /// The Deployment was deleted.
    Gone,
}
