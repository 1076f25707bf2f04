//! State that the sources of one cluster share.

use std::sync::Arc;

use timeline::Millis;
use tokio::sync::{mpsc, watch as signal};

use super::access::Access;
use super::counters::Counters;
use super::event::SourceEvent;
use super::pace::Pace;
use super::translate::Object;
use crate::telemetry::clock::Clock;

/// State that the sources of one cluster share.
#[derive(Clone)]
pub struct Cluster {
    /// Name of the cluster, for logs.
    pub name: Arc<str>,
    /// Client of its API, with the credentials and the pace.
    pub access: Access,
    /// The hub's queue.
    pub events: mpsc::Sender<SourceEvent>,
    /// Counters of the sources.
    pub counters: Arc<Counters>,
    /// Whether to remove texts of people and programs from each decoded object, so that no page, history or recording contains them.
    pub hides_messages: bool,
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

    /// Returns the object as it is shown and stored: without hidden texts, and limited.
    pub(super) fn trim_object(&self, object: Object) -> Object {
        let shown = if self.hides_messages { object.without_texts() } else { object };
        shown.limit_parts()
    }
}
