//! The states of a pod. [`crate::rules::phase`] derives them from the object.

use serde::{Deserialize, Serialize};

use super::names::names;

/// The state of a pod, in the order of a pod's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PodState {
    /// Has no node yet.
    Scheduling,
    /// Has a node; containers are being created.
    Starting,
    /// Every app container runs, but the pod is not Ready.
    Unready,
    /// Ready, but not yet for `minReadySeconds`: not available.
    Ready,
    /// Ready for at least `minReadySeconds`.
    Available,
    /// A container cannot start, crashes, or the pod failed.
    Failing,
    /// Succeeded.
    Finished,
    /// Asked to stop; its containers are shutting down.
    Terminating,
    /// Deleted.
    Gone,
}

names! {
    /// Returns the state's name in the document, class names and test ids.
    PodState {
        Scheduling => "scheduling",
        Starting => "starting",
        Unready => "unready",
        Ready => "ready",
        Available => "available",
        Failing => "failing",
        Finished => "finished",
        Terminating => "terminating",
        Gone => "gone",
    }
}

impl PodState {
    /// Returns whether the pod is ready, available or not.
    pub const fn is_ready(self) -> bool {
        matches!(self, Self::Ready | Self::Available)
    }

    /// Returns whether the pod was asked to stop, or is deleted.
    pub const fn is_ending(self) -> bool {
        matches!(self, Self::Terminating | Self::Gone)
    }

    /// Returns the state in plain words.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Unready => "running, not ready",
            Self::Ready => "ready, waiting for minReadySeconds",
            other => other.name(),
        }
    }
}
