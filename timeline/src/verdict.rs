//! What `kubectl rollout status` would say of a Deployment.
//!
//! Source: `k8s.io/kubectl/pkg/polymorphichelpers/rollout_status.go`, in its order; missing numbers are 0.

use serde::{Deserialize, Serialize};

use crate::model::DeploymentNow;

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

/// What `kubectl rollout status` makes of a Deployment.
#[must_use]
pub fn kubectl(now: &DeploymentNow) -> KubectlVerdict {
    let status = &now.status;
    let reason = status.progressing.as_ref().map(|c| c.reason.as_str());
    if now.generation > status.observed_generation {
        KubectlVerdict::NotObserved
    } else if reason == Some("ProgressDeadlineExceeded") {
        KubectlVerdict::DeadlineExceeded
    } else if status.updated < now.spec.replicas {
        KubectlVerdict::Updating
    } else if status.replicas > status.updated {
        KubectlVerdict::OldPending
    } else if status.available < status.updated {
        KubectlVerdict::AvailabilityPending
    } else {
        KubectlVerdict::Complete
    }
}
