//! What every request handler shares.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use bytes::Bytes;
use timeline::frame::{self, ClusterList, ServerFrame};
use tokio::sync::watch as signal;

use crate::http::Drawn;
use crate::hub::Handle;

/// A running Rollcast.
pub struct Rollcast {
    /// A hub per cluster, by the cluster's name.
    pub clusters: BTreeMap<String, Handle>,
    /// Build of the page that is served.
    pub build: &'static str,
    /// How many viewers are connected.
    pub viewers: Arc<AtomicUsize>,
    /// How often a viewer lagged and was given a fresh snapshot.
    pub resyncs: AtomicU64,
    /// The list of every cluster, encoded once for all who follow it.
    pub overview: signal::Receiver<Bytes>,
    /// Names under which this server may be addressed besides loopback ones.
    pub allowed_hosts: Vec<String>,
    /// Previews that were drawn lately.
    pub drawn: Drawn,
}

impl Rollcast {
    /// Brings hubs together.
    #[must_use]
    pub fn new(
        hubs: Vec<Handle>,
        build: &'static str,
        viewers: Arc<AtomicUsize>,
        allowed_hosts: Vec<String>,
    ) -> Arc<Self> {
        let (overview, overview_out) = signal::channel(Bytes::new());
        tokio::spawn(gather(hubs.clone(), overview));
        let clusters = hubs.into_iter().map(|hub| (hub.name().to_owned(), hub)).collect();
        Arc::new(Self {
            clusters,
            build,
            viewers,
            resyncs: AtomicU64::new(0),
            overview: overview_out,
            allowed_hosts,
            drawn: Drawn::default(),
        })
    }

    /// The list of every cluster, by name.
    #[must_use]
    pub fn lists(&self) -> Vec<ClusterList> {
        self.clusters.values().map(|hub| (**hub.list().borrow()).clone()).collect()
    }
}

/// Encodes the list of all clusters whenever one of them changes.
async fn gather(hubs: Vec<Handle>, overview: signal::Sender<Bytes>) {
    let mut lists: Vec<_> = hubs.iter().map(Handle::list).collect();
    loop {
        let all: Vec<ClusterList> = lists.iter_mut().map(|list| (**list.borrow_and_update()).clone()).collect();
        if let Ok(bytes) = frame::encode(&ServerFrame::Overview(all)) {
            overview.send_replace(bytes.into());
        }
        let changes = lists.iter_mut().map(|list| Box::pin(list.changed()));
        let (changed, ..) = futures::future::select_all(changes).await;
        if changed.is_err() {
            return;
        }
    }
}
