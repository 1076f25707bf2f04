//! How the server gets on with a cluster, as viewers are told.

use serde::{Deserialize, Serialize};

use crate::Millis;

/// How the server gets on with a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// Overall.
    pub state: ConnectionState,
    /// The cluster's time against ours, in percent: 100 unless it is recorded or simulated, 0 while it stands still.
    pub speed_percent: u32,
    /// What the server may not read; the rest goes on.
    pub forbidden: Vec<Forbidden>,
    /// What is observed is not written down at present; `None` while it is, or nothing is kept.
    pub unwritten: Option<Unwritten>,
}

/// That history is not written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unwritten {
    /// What arrived since then is not written yet.
    pub since_millis: Millis,
    /// Why, in words for people.
    pub why: String,
}

impl Default for Connection {
    fn default() -> Self {
        Self { state: ConnectionState::default(), speed_percent: 100, forbidden: Vec::new(), unwritten: None }
    }
}

/// The state of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConnectionState {
    /// The first lists are being fetched.
    #[default]
    Connecting,
    /// Everything is watched.
    Live,
    /// No word since then.
    Stale {
        /// The last word from the cluster.
        since_millis: Millis,
        /// The next try.
        retry_at_millis: Option<Millis>,
        /// What went wrong, in a sentence.
        why: String,
    },
    /// A recording is played.
    Replay {
        /// Name of the recording.
        name: String,
    },
    /// The server watches no cluster of that name.
    Unknown,
}

impl ConnectionState {
    /// What is told of the cluster is how it is now.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        matches!(self, Self::Live | Self::Replay { .. })
    }

    /// What is told of the cluster is from earlier, and its time stands still.
    #[must_use]
    pub const fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. } | Self::Unknown)
    }
}

/// A permission that is missing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Forbidden {
    /// "list" or "watch".
    pub verb: String,
    /// The resource with its group: "replicasets.apps".
    pub resource: String,
    /// The namespace, or every namespace.
    pub namespace: Option<String>,
}
