//! Everything that the sources of one cluster share.

use std::sync::Arc;

use timeline::Millis;
use tokio::sync::{mpsc, watch as signal};

use super::access::Access;
use super::counters::Counters;
use super::event::SourceEvent;
use super::pace::Pace;
use super::translate::Object;
use crate::telemetry::clock::Clock;

/// Whether to store and show the texts that people and programs of a cluster write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TextPolicy {
    /// Keep texts.
    #[default]
    Include,
    /// Remove texts as soon as an object is decoded: they are on no page, in no history and in no recording.
    Omit,
}

impl TextPolicy {
    pub(super) fn apply(self, object: Object) -> Object {
        match self {
            Self::Include => object,
            Self::Omit => object.without_texts(),
        }
    }
}

/// Everything that the sources of one cluster share.
#[derive(Clone)]
pub struct Cluster {
    /// Name of the cluster, for logs.
    pub name: Arc<str>,
    /// Client of its API, with the credentials and the pace.
    pub access: Access,
    /// Queue of the hub.
    pub events: mpsc::Sender<SourceEvent>,
    /// Counters of the sources.
    pub counters: Arc<Counters>,
    /// Whether to keep texts that people and programs write.
    pub texts: TextPolicy,
    /// The cluster's clock, for times of arrival.
    pub clock: signal::Receiver<Clock>,
    /// Number of requests to list everything again.
    pub relist_requests: signal::Receiver<u64>,
}

impl Cluster {
    pub(super) fn pace(&self) -> &Pace {
        self.access.pace()
    }

    pub(super) fn now_millis(&self) -> Millis {
        self.clock.borrow().now_millis()
    }
}
