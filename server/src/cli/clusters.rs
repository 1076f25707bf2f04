//! The watched clusters. Each is started on its own: one that hangs, is forbidden or cannot be reached does not delay
//! the others.

use std::path::PathBuf;
use std::sync::Arc;

use timeline::fact::Kind;
use timeline::{Millis, Retention};
use tokio::sync::{mpsc, watch as signal};

use crate::cli::Clusters;
use crate::cli::config::{self, Config};
use crate::history::{Archive, tap};
use crate::hub::Handle;
use crate::kube::access::Target;
use crate::kube::credentials::Credentials;
use crate::kube::kubeconfig::{Contexts, TargetError};
use crate::kube::review::{ReviewEndpoint, Reviewer};
use crate::kube::{self, Counters, Pace, SourceEvent, TextPolicy};
use crate::telemetry::clock::{self, Clock};

/// A cluster to watch.
#[derive(Debug, Clone)]
pub struct ClusterConfig {
    /// Its name in pages and addresses, and where its credentials come from.
    pub credentials: Credentials,
    /// Its accent.
    pub accent: u8,
    /// Namespaces to watch; empty for all.
    pub namespaces: Vec<String>,
    /// Whether texts of its objects are read.
    pub texts: TextPolicy,
    /// Intervals and timeouts.
    pub pace: Arc<Pace>,
}

/// The clusters that command line and file ask for, together.
///
/// # Errors
/// When a kubeconfig cannot be read or lacks a context. Whether the clusters answer is not asked here.
pub fn configured(asked: &Clusters, namespaces: &[String], file: &Config) -> Result<Vec<ClusterConfig>, TargetError> {
    let usual = asked.kubeconfig.clone().or_else(|| file.kubeconfig.clone());
    let read = |path: Option<&PathBuf>| Contexts::read(path.or(usual.as_ref()).map(PathBuf::as_path));
    let is_all = asked.all_contexts || (file.all_contexts && asked.context.is_empty());
    let named: Vec<config::Cluster> = if is_all || !asked.context.is_empty() {
        let contexts = if is_all { read(None)?.names() } else { asked.context.clone() };
        let known = |context: String| {
            let in_file = file.clusters.iter().find(|cluster| cluster.context.as_ref() == Some(&context)).cloned();
            in_file.unwrap_or(config::Cluster { context: Some(context), ..config::Cluster::default() })
        };
        contexts.into_iter().map(known).collect()
    } else if file.clusters.is_empty() {
        vec![config::Cluster::default()]
    } else {
        file.clusters.clone()
    };
    let texts = if asked.hide_messages || file.hide_messages { TextPolicy::Omit } else { TextPolicy::Include };
    let mut all: Vec<ClusterConfig> = Vec::new();
    for cluster in named {
        let contexts = read(cluster.kubeconfig.as_ref())?;
        let context = contexts.choose(cluster.context.as_deref())?;
        let name = cluster.name.or_else(|| context.clone()).unwrap_or_else(|| "in-cluster".to_owned());
        let credentials = Credentials::new(contexts, context, name).impersonating(asked.impersonation.clone());
        if let Some(known) = all.iter().find(|known| known.credentials.name() == credentials.name()) {
            if known.credentials.is_same_place(&credentials) {
                continue; // the same context named twice
            }
            return Err(TargetError::Twice { name: credentials.name().to_owned() });
        }
        let namespaces =
            [namespaces, &cluster.namespaces, &file.namespaces].into_iter().find(|these| !these.is_empty());
        all.push(ClusterConfig {
            credentials,
            accent: cluster.colour,
            namespaces: namespaces.map(<[String]>::to_vec).unwrap_or_default(),
            texts,
            pace: Arc::default(),
        });
    }
    Ok(all)
}

impl ClusterConfig {
    /// Disables the credential plugins of its kubeconfig.
    #[must_use]
    pub fn without_commands(self) -> Self {
        Self { credentials: self.credentials.without_commands(), ..self }
    }

    /// The way to it. Commands that fetch credentials may run, with a limit.
    ///
    /// # Errors
    /// When its credentials cannot be had or used.
    pub async fn target(&self) -> Result<Target, TargetError> {
        self.credentials.target(&self.pace).await
    }

    /// Starts its hub at once, from what is kept of it where there is an archive, and its sources as soon as it has credentials. Returns
    /// the queue of the hub as well.
    pub fn watch(
        mut self,
        kinds: &'static [Kind],
        retention: Retention,
        archive: Option<&Archive>,
    ) -> (Handle, mpsc::Sender<SourceEvent>) {
        let counters = Arc::new(Counters::default());
        counters.note_start(clock::now_millis());
        let (name, sources) = (self.credentials.name(), counters.clone());
        let (hub, events) = match archive {
            Some(archive) => tap::start(archive, name, &self.namespaces, sources, retention),
            None => Handle::start(name, sources, retention),
        };
        let relist_requests = archive.map_or_else(|| signal::channel(0).1, Archive::lost);
        let (endpoint, endpoint_out) = signal::channel(None);
        let hub =
            hub.with_accent(self.accent).with_namespaces(&self.namespaces).with_reviewer(Reviewer::new(endpoint_out));
        let (clock, queue) = (hub.clock(), events.clone());
        tokio::spawn(async move {
            let Some(target) = self.wait_for_target(&events).await else { return };
            let scope = if self.namespaces.is_empty() { "all namespaces".into() } else { self.namespaces.join(", ") };
            tracing::info!("watching {} at {} ({scope})", target.name, target.address);
            target.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
            let (name, access, pace, texts) = (target.name.into(), target.access, self.pace, self.texts);
            let _ = endpoint.send(Some(ReviewEndpoint { access: access.clone(), pace: pace.clone() })); // the hub may have ended
            let cluster = kube::Cluster { name, access, events, counters, pace, texts, clock, relist_requests };
            kube::start(&cluster, kinds, &self.namespaces);
        });
        (hub, queue)
    }

    /// Tries until there are credentials, and says meanwhile what is wrong. `None` when the hub is gone.
    async fn wait_for_target(&mut self, events: &mpsc::Sender<SourceEvent>) -> Option<Target> {
        let since_millis: Millis = clock::now_millis();
        let tell = async |silent: Option<String>| {
            events.send(SourceEvent::Answers { silent: silent.map(|why| (since_millis, why)) }).await.ok()
        };
        loop {
            let found = {
                let mut target = Box::pin(self.target());
                match tokio::time::timeout(self.pace.patience, &mut target).await {
                    Ok(found) => found,
                    Err(_) => {
                        tell(Some("fetching its credentials takes too long".to_owned())).await?;
                        target.await
                    }
                }
            };
            match found {
                Ok(target) => {
                    tell(None).await?;
                    return Some(target);
                }
                Err(why) => {
                    tracing::warn!("{why}");
                    tell(Some(why.to_string())).await?;
                    tokio::time::sleep(self.pace.again).await;
                }
            }
            // What was wrong may have been mended in the file; if that is worse, the next attempt says what was wrong before.
            match self.credentials.reload(&self.pace).await {
                Ok(reloaded) => self.credentials = reloaded,
                Err(why) => tracing::warn!("{why}"),
            }
        }
    }
}

/// Returns a cluster that is watched for the terminal or a recording.
pub fn source(
    target: Target,
    events: mpsc::Sender<SourceEvent>,
    counters: Arc<Counters>,
    texts: TextPolicy,
    clock: signal::Receiver<Clock>,
) -> kube::Cluster {
    let (name, access, pace) = (target.name.into(), target.access, Arc::default());
    kube::Cluster { name, access, events, counters, pace, texts, clock, relist_requests: signal::channel(0).1 }
}
