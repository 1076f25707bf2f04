//! What every request handler shares.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::history::Archive;
use crate::history::past::Past;
use crate::hub::Handle;
use crate::listing::{Clusters, Listings};
use crate::playground::Playground;
use crate::previews::Previews;
use crate::viewers::Viewers;
use timeline::Workload;

/// A running Rollcast.
pub struct Rollcast {
    /// A hub per cluster, by the cluster's name.
    pub clusters: BTreeMap<String, Handle>,
    /// Build of the page that is served.
    pub build: &'static str,
    /// How many viewers are connected.
    pub viewers: Viewers,
    /// How often a viewer lagged and was given a fresh snapshot.
    pub resyncs: AtomicU64,
    /// The lists that viewers follow.
    pub listings: Arc<Listings>,
    /// Names under which this server may be addressed besides loopback ones.
    pub allowed_hosts: Vec<String>,
    /// Previews that were drawn lately.
    pub previews: Previews,
    /// What is kept beyond the life of the program, if anything is.
    pub archive: Option<Archive>,
    /// Rollouts that are over and were looked at lately.
    past: Past,
    /// The simulated cluster, if that is what is watched.
    pub playground: Option<Arc<Playground>>,
}

impl Rollcast {
    /// Brings hubs together that keep nothing.
    #[must_use]
    pub fn new(
        hubs: Vec<Handle>,
        build: &'static str,
        viewers: Viewers,
        allowed_hosts: Vec<String>,
        playground: Option<Arc<Playground>>,
    ) -> Arc<Self> {
        Self::keeping(hubs, build, viewers, allowed_hosts, playground, None)
    }

    /// Brings hubs together, and what is kept of their clusters.
    #[must_use]
    pub fn keeping(
        hubs: Vec<Handle>,
        build: &'static str,
        viewers: Viewers,
        allowed_hosts: Vec<String>,
        playground: Option<Arc<Playground>>,
        archive: Option<Archive>,
    ) -> Arc<Self> {
        let clusters = hubs.iter().map(|hub| (hub.name().to_owned(), hub.clone())).collect();
        let listings = Listings::new(Clusters::new(hubs));
        Arc::new(Self {
            clusters,
            build,
            viewers,
            resyncs: AtomicU64::new(0),
            listings,
            allowed_hosts,
            previews: Previews::default(),
            archive,
            past: Past::default(),
            playground,
        })
    }

    /// Where a workload is known: the hub of its cluster, or the past where one of its rollouts is looked at by itself.
    pub async fn hub(&self, workload: &Workload) -> Option<Handle> {
        let Some(archive) = self.archive.as_ref().filter(|_| workload.rollout.is_some()) else {
            return self.clusters.get(&workload.cluster).cloned();
        };
        let opened = self.past.open(archive, workload).await;
        opened.inspect_err(|why| tracing::debug!("{}: {why}", workload.name)).ok()
    }
}
