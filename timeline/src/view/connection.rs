//! State of the server's connection to a cluster, as viewers receive it.

use serde::{Deserialize, Serialize};

use crate::Millis;

/// State of the server's connection to a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connection {
    /// The state of all watches together.
    pub state: ConnectionState,
    /// The stale kinds, in the plural, while other kinds are live; empty where all are stale or none is.
    pub stale_kinds: Vec<String>,
    /// The cluster's time against ours, in percent: 100 unless it is recorded or simulated, 0 while it is stopped.
    pub speed_percent: u32,
    /// Resources that the server may not list or watch; the others go on.
    pub forbidden: Vec<Forbidden>,
    /// Progress of the first lists, where they take long.
    pub listing: Option<Listing>,
    /// Observations are not written to the history at present; `None` while they are, or without a history.
    pub unwritten: Option<Unwritten>,
}

/// Progress of a first list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// The listed resource, in the plural: "pods".
    pub resource: String,
    /// Number of objects read so far.
    pub objects: u64,
}

impl Listing {
    /// Describes the progress: "listing pods: 42,000 so far".
    pub fn words(&self) -> String {
        format!("listing {}: {} so far", self.resource, crate::words::grouped(self.objects))
    }
}

/// Since when history cannot be written, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unwritten {
    /// Observations since then are not written yet.
    pub since_millis: Millis,
    /// Why, in words for people.
    pub why: String,
}

impl Default for Connection {
    fn default() -> Self {
        Self {
            state: ConnectionState::default(),
            stale_kinds: Vec::new(),
            speed_percent: 100,
            forbidden: Vec::new(),
            listing: None,
            unwritten: None,
        }
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
    /// The cluster does not answer, or refuses.
    Stale {
        /// When the cluster last answered, in milliseconds of its time.
        since_millis: Millis,
        /// When it is tried again, in milliseconds of its time.
        retry_at_millis: Option<Millis>,
        /// The error, in a sentence.
        why: String,
    },
    /// A recording is played.
    Replay {
        /// Name of the recording.
        name: String,
    },
    /// The server watches no cluster of that name.
    Unknown,
    /// The server watches the cluster, but not that namespace of it.
    OtherNamespaces,
}

impl ConnectionState {
    /// Returns whether the shown state of the cluster is the present one.
    pub const fn is_live(&self) -> bool {
        matches!(self, Self::Live | Self::Replay { .. })
    }

    /// Returns whether the shown state of the cluster is an earlier one, whose time stands still.
    pub const fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. } | Self::Unknown | Self::OtherNamespaces)
    }
}

/// A permission that is missing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Forbidden {
    /// "list" or "watch".
    pub verb: String,
    /// The resource with its group: "replicasets.apps".
    pub resource: String,
    /// The namespace in which it is missing; `None` for all.
    pub namespace: Option<String>,
}
