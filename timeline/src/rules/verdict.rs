//! The verdict of `kubectl rollout status` on a Deployment.
//!
//! Source: `k8s.io/kubectl/pkg/polymorphichelpers/rollout_status.go`, in its order; missing numbers are 0.

use crate::model::DeploymentNow;

pub use crate::model::KubectlVerdict;

/// Computes the verdict of `kubectl rollout status`.
pub fn kubectl(now: &DeploymentNow) -> KubectlVerdict {
    let status = &now.status;
    if now.generation > status.observed_generation {
        KubectlVerdict::NotObserved
    } else if status.progress_reason() == "ProgressDeadlineExceeded" {
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
