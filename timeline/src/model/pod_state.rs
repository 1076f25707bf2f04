//! The states of a pod. [`crate::rules::phase`] reads them off the object.

use serde::{Deserialize, Serialize};

use super::names::names;

/// The state of a pod. In the order of a pod's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PodState {
    /// Has no node yet.
    Scheduling,
    /// Has a node; containers are being made.
    Starting,
    /// Every app container runs, the pod is not Ready.
    Unready,
    /// Ready, and `minReadySeconds` still runs: does not count yet.
    Ready,
    /// Ready for at least `minReadySeconds`: counts.
    Available,
    /// A container cannot start, crashes, or the pod failed.
    Failing,
    /// Ended well.
    Finished,
    /// Asked to go; its containers are shutting down.
    Terminating,
    /// No longer exists.
    Gone,
}

names! {
    /// The state's name as the document, class names and test ids spell it.
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
    /// Returns whether the pod is ready, whether it counts already or not.
    pub const fn is_ready(self) -> bool {
        matches!(self, Self::Ready | Self::Available)
    }

    /// Returns whether the pod was asked to go, or is gone.
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
