//! Which clusters are watched, and bringing each up on its own: one that hangs, is forbidden or cannot be reached never keeps the
//! others waiting.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use timeline::fact::Kind;
use timeline::{Millis, Retention};
use tokio::sync::mpsc;

use crate::cli::Clusters;
use crate::config::{self, Config};
use crate::hub::Handle;
use crate::source::kubeconfig::{self, Contexts, Target, TargetError};
use crate::source::{self, Counters, Pace, SourceEvent};
use crate::viewers::Viewers;

/// Credentials that take longer than this to get are told as silence.
const PATIENCE: Duration = Duration::from_secs(8);
/// Credentials that could not be had are asked for again after this long.
const AGAIN: Duration = Duration::from_secs(20);

/// A cluster to watch.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Its name in pages and addresses.
    pub name: String,
    /// Its context; `None` for the cluster that this runs in.
    pub context: Option<String>,
    /// Where its context is.
    pub contexts: Contexts,
    /// Its accent.
    pub accent: u8,
    /// Namespaces to watch; empty for all.
    pub namespaces: Vec<String>,
}

/// The clusters that command line and file ask for, together.
///
/// # Errors
/// When a kubeconfig cannot be read or lacks a context. Whether the clusters answer is not asked here.
pub fn wanted(asked: &Clusters, namespaces: &[String], file: &Config) -> Result<Vec<Wanted>, TargetError> {
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
    let mut all: Vec<Wanted> = Vec::new();
    for cluster in named {
        let contexts = read(cluster.kubeconfig.as_ref())?;
        let context = contexts.choose(cluster.context.as_deref())?;
        let name = cluster.name.or_else(|| context.clone()).unwrap_or_else(|| "in-cluster".to_owned());
        if all.iter().any(|known| known.name == name) {
            continue; // the same context named twice
        }
        let namespaces =
            [namespaces, &cluster.namespaces, &file.namespaces].into_iter().find(|these| !these.is_empty());
        all.push(Wanted {
            name,
            context,
            contexts,
            accent: cluster.colour as u8,
            namespaces: namespaces.map(<[String]>::to_vec).unwrap_or_default(),
        });
    }
    Ok(all)
}

impl Wanted {
    /// A client for it. Commands that fetch credentials may run, in a thread of their own.
    ///
    /// # Errors
    /// When its credentials cannot be had or used.
    pub async fn target(&self) -> Result<Target, TargetError> {
        kubeconfig::target(&self.contexts, self.context.clone(), self.name.clone()).await
    }

    /// Starts its hub at once, and its sources as soon as it has credentials.
    #[must_use]
    pub fn watch(self, kinds: &'static [Kind], retention: Retention, viewers: Viewers) -> Handle {
        let counters = Arc::new(Counters::default());
        let (hub, events) = Handle::start(&self.name, counters.clone(), retention);
        let hub = hub.with_accent(self.accent);
        let clock = hub.clock();
        tokio::spawn(async move {
            let target = self.patiently(&events).await;
            let scope = if self.namespaces.is_empty() { "all namespaces".into() } else { self.namespaces.join(", ") };
            tracing::info!("watching {} at {} ({scope})", self.name, target.address);
            let pace = Arc::new(Pace::default());
            let name = self.name.into();
            let cluster = source::Cluster { name, client: target.client, events, viewers, counters, pace, clock };
            source::start(&cluster, kinds, &self.namespaces);
        });
        hub
    }

    /// Tries until there are credentials, and says meanwhile what is wrong.
    async fn patiently(&self, events: &mpsc::Sender<SourceEvent>) -> Target {
        let since_millis: Millis = crate::clock::now_millis();
        let tell = |why: String| async move {
            let _ = events.send(SourceEvent::Answers { silent: Some((since_millis, why)) }).await; // the program ends
        };
        loop {
            let mut target = Box::pin(self.target());
            let found = match tokio::time::timeout(PATIENCE, &mut target).await {
                Ok(found) => found,
                Err(_) => {
                    tell("the command that fetches its credentials does not end".to_owned()).await;
                    target.await
                }
            };
            match found {
                Ok(target) => {
                    let _ = events.send(SourceEvent::Answers { silent: None }).await; // the program ends
                    return target;
                }
                Err(why) => {
                    tracing::warn!("{why}");
                    tell(why.to_string()).await;
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }
}
