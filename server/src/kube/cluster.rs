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

/// Use of the texts that people and programs of a cluster write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Texts {
    /// Texts are taken.
    #[default]
    Taken,
    /// Texts are left out before anything else happens to an object: they are on no page, in no history and in no recording.
    LeftOut,
}

impl Texts {
    pub(super) fn of(self, object: Object) -> Object {
        match self {
            Self::Taken => object,
            Self::LeftOut => object.without_texts(),
        }
    }
}

/// Everything that the sources of one cluster share.
#[derive(Clone)]
pub struct Cluster {
    /// Name of the cluster, for logs.
    pub name: Arc<str>,
    /// The way to its API, with the credentials.
    pub access: Access,
    /// Where events go.
    pub events: mpsc::Sender<SourceEvent>,
    /// Counters of the sources.
    pub counters: Arc<Counters>,
    /// Times and limits of the watch loop.
    pub pace: Arc<Pace>,
    /// Use of texts that people and programs write.
    pub texts: Texts,
    /// The cluster's time, in which arrivals are told.
    pub clock: signal::Receiver<Clock>,
    /// Number of requests to list everything again.
    pub anew: signal::Receiver<u64>,
}

impl Cluster {
    pub(super) fn now_millis(&self) -> Millis {
        self.clock.borrow().now_millis()
    }

    /// Returns this cluster with watches that last as long as so many of them should.
    pub(super) fn with_watches(&self, watches: usize) -> Self {
        let Pace { watch_seconds, most_watch_seconds, .. } = *self.pace;
        let many = u32::try_from(watches).unwrap_or(u32::MAX).min(most_watch_seconds);
        let pace = Arc::new(Pace { watch_seconds: watch_seconds.max(many), ..(*self.pace).clone() });
        Self { pace, ..self.clone() }
    }
}
