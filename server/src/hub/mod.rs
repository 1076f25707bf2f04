//! Holds the state of a cluster, and publishes its changes.
//! Owns the timeline of each cluster, its topics, its moments and its subscriptions.
//! Must not know storage, the web, or who looks.
//!
//! The hub: ONE task owns the timeline of a cluster. Sources put observations in, viewers take frames out, and nobody
//! else ever holds the timeline.
//!
//! ```text
//!   source ───mpsc──► ┌──────────────────────────────┐ ──broadcast per topic──► sessions (encoded once, shared)
//!   commands ─mpsc──► │ drain, apply, then publish:  │ ──watch "list"────────► lists, while somebody follows
//!                     │ at once when idle, else 50 ms│ ──watch "connection"──► sessions
//!                     └──────────────────────────────┘
//! ```
//! Whoever asks learns of everything that was in the queue before. A connection is told after everything that was known by then was
//! published, and passed on in that order (`FollowedDeployment`).

mod answer;
mod connection;
mod counters;
mod follow;
mod handle;
mod listed;
mod moments;
mod rollout_durations;
mod task;
mod topic;

pub use self::answer::{FirstFrame, HubEnded, HubReader, describe_deployment};
pub use self::counters::{HubCounters, Lag};
pub use self::follow::{FollowedDeployment, Update};
pub use self::handle::{Handle, WeakHandle};
pub use self::listed::{List, ListedDeployment};
pub use self::moments::DeploymentState;
pub use self::rollout_durations::{RolloutDurations, Series};
