//! The watched clusters. Each is started on its own: one that hangs, is forbidden or cannot be reached does not delay
//! the others.

use std::io::IsTerminal;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use timeline::fact::Kind;
use timeline::words::safe;
use timeline::{Millis, Retention};
use tokio::sync::{mpsc, watch as signal};

use crate::cli::Clusters;
use crate::cli::config::{self, Config};
use crate::history::{Archive, tap};
use crate::hub::Handle;
use crate::kube::access::Target;
use crate::kube::credentials::Credentials;
use crate::kube::kubeconfig::{Contexts, TargetError};
use crate::kube::review::Reviewer;
use crate::kube::{self, Counters, Pace, SourceEvent};
use crate::telemetry::clock::{self, Clock};
use crate::telemetry::panics::exit_on_panic;

/// Error when there is no cluster to watch.
pub const NO_CONTEXT: &str = "the kubeconfig has no context";
/// Interval of comparing the contexts of a kubeconfig.
const COMPARE_EVERY: Duration = Duration::from_secs(10);

/// A cluster to watch.
#[derive(Debug, Clone)]
pub struct ClusterConfig {
    /// Its name in pages and addresses, and where its credentials come from.
    pub credentials: Credentials,
    /// Its accent.
    pub accent: u8,
    /// Namespaces to watch; empty for all.
    pub namespaces: Vec<String>,
    /// Texts that people and programs write are neither shown nor stored.
    pub hides_messages: bool,
    /// Its credential plugin may prompt on the first attempt only: those of other clusters use the same terminal.
    pub asks_once: bool,
    /// Intervals and timeouts.
    pub pace: Pace,
}

/// Returns the clusters of the command line and the file.
///
/// # Errors
/// When a kubeconfig cannot be read or lacks a context. Does not check whether the clusters respond.
pub fn cluster_configs(
    asked: &Clusters,
    namespaces: &[String],
    file: &Config,
) -> Result<Vec<ClusterConfig>, TargetError> {
    let usual = usual_kubeconfig(asked, file);
    let read = |path: Option<&PathBuf>| Contexts::read(path.or(usual).map(PathBuf::as_path));
    let is_all = is_every_context(asked, file);
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
    let mut all: Vec<ClusterConfig> = Vec::new();
    for cluster in named {
        let contexts = read(cluster.kubeconfig.as_ref())?;
        let context = contexts.choose(cluster.context.as_deref())?;
        let name = cluster.name.or_else(|| context.clone()).unwrap_or_else(|| "in-cluster".to_owned());
        let credentials = Credentials::new(contexts, context, name)
            .impersonating(asked.impersonation.clone())
            .asking_people(std::io::stdin().is_terminal());
        if let Some(known) = all.iter().find(|known| known.credentials.name() == credentials.name()) {
            if known.credentials.is_same_place(&credentials) {
                continue; // the same context was named twice
            }
            return Err(TargetError::Twice { name: credentials.name().to_owned() });
        }
        let namespaces =
            [namespaces, &cluster.namespaces, &file.namespaces].into_iter().find(|these| !these.is_empty());
        all.push(ClusterConfig {
            credentials,
            accent: cluster.colour,
            namespaces: namespaces.map(<[String]>::to_vec).unwrap_or_default(),
            hides_messages: asked.hide_messages.unwrap_or(file.hide_messages),
            asks_once: false,
            pace: Pace::default(),
        });
    }
    let asks_once = all.len() > 1;
    all.iter_mut().for_each(|cluster| cluster.asks_once = asks_once);
    Ok(all)
}

fn usual_kubeconfig<'c>(asked: &'c Clusters, file: &'c Config) -> Option<&'c PathBuf> {
    asked.kubeconfig.as_ref().or(file.kubeconfig.as_ref())
}

fn is_every_context(asked: &Clusters, file: &Config) -> bool {
    asked.all_contexts.unwrap_or(file.all_contexts && asked.context.is_empty())
}

/// Returns the kubeconfig of which every context is watched; `None` if clusters are chosen in another way.
///
/// # Errors
/// When it cannot be read.
pub fn every_context(asked: &Clusters, file: &Config) -> Result<Option<Contexts>, TargetError> {
    let read = || Contexts::read(usual_kubeconfig(asked, file).map(PathBuf::as_path));
    is_every_context(asked, file).then(read).transpose()
}

/// Compares the contexts of a kubeconfig with those that are watched. Returns why a restart is needed; empty while it is not.
pub fn watch_contexts(watched: Contexts) -> signal::Receiver<String> {
    let (notice, notice_out) = signal::channel(String::new());
    tokio::spawn(async move {
        let mut last = watched.names();
        while !notice.is_closed() {
            tokio::time::sleep(COMPARE_EVERY).await;
            let contexts = watched.clone();
            // The clusters that need the file report that it cannot be read.
            let Ok(Ok(read)) = tokio::task::spawn_blocking(move || contexts.reload()).await else { continue };
            let names = read.names();
            // The file may be half written: only names that are read twice count.
            if mem::replace(&mut last, names.clone()) != names {
                continue;
            }
            let text = restart_notice(&watched.names(), &names);
            let is_news = notice.send_if_modified(|known| mem::replace(known, text.clone()) != text);
            if is_news && !text.is_empty() {
                tracing::warn!("{text}");
            }
        }
    });
    notice_out
}

/// Returns what a restart would change; empty if it would change nothing.
fn restart_notice(watched: &[String], now: &[String]) -> String {
    let only_in = |names: &[String], others: &[String]| {
        let only: Vec<String> = names.iter().filter(|name| !others.contains(name)).map(|name| safe(name)).collect();
        only.join(", ")
    };
    let (added, removed) = (only_in(now, watched), only_in(watched, now));
    let mut sentences = Vec::new();
    if !added.is_empty() {
        sentences.push(format!("The kubeconfig has contexts that Rollcast does not watch yet: {added}."));
    }
    if !removed.is_empty() {
        sentences.push(format!("The kubeconfig lacks contexts that Rollcast still watches: {removed}."));
    }
    if !sentences.is_empty() {
        sentences.push("Restart Rollcast to watch the present contexts.".to_owned());
    }
    sentences.join(" ")
}

impl ClusterConfig {
    /// Disables the credential plugins of its kubeconfig.
    #[must_use]
    pub fn without_commands(self) -> Self {
        Self { credentials: self.credentials.without_commands(), ..self }
    }

    /// Creates access to the cluster. Commands that fetch credentials may run, with a limit.
    ///
    /// # Errors
    /// When its credentials cannot be fetched or used.
    pub async fn target(&self) -> Result<Target, TargetError> {
        self.credentials.target(&self.pace).await
    }

    /// Starts its hub at once, restored if there is an archive, and its sources as soon as it has credentials. Also
    /// returns the queue of the hub.
    pub fn watch(mut self, retention: Retention, archive: Option<&Archive>) -> (Handle, mpsc::Sender<SourceEvent>) {
        let counters = Arc::new(Counters::default());
        counters.note_start(clock::now_millis());
        let (name, sources) = (self.credentials.name(), counters.clone());
        let (mut hub, events) = tap::start(archive, name, &self.namespaces, sources, retention);
        let relist_requests = archive.map_or_else(|| signal::channel(0).1, |archive| archive.relist_requests.clone());
        let (reviewing, reviewing_out) = signal::channel(None);
        (hub.accent, hub.namespaces) = (self.accent, self.namespaces.as_slice().into());
        hub.reviewer = Reviewer::new(reviewing_out);
        let (clock, queue) = (hub.clock(), events.clone());
        let starting = async move {
            let Some(target) = self.wait_for_target(&events).await else { return };
            let scope = if self.namespaces.is_empty() { "all namespaces".into() } else { self.namespaces.join(", ") };
            tracing::info!("watching {} at {} ({scope})", target.name, target.address);
            target.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
            let (name, access, hides_messages) = (target.name.into(), target.access, self.hides_messages);
            let _ = reviewing.send(Some(access.clone())); // the hub may have ended
            let cluster = kube::Cluster { name, access, events, counters, hides_messages, clock, relist_requests };
            kube::start(&cluster, &Kind::ALL, &self.namespaces);
        };
        tokio::spawn(exit_on_panic(format!("the start of cluster {}", hub.name()), starting));
        (hub, queue)
    }

    /// Retries until there are credentials, and reports the error meanwhile. `None` when the hub has ended.
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
            // The file may have been corrected. If it cannot be read now, the next attempt reports the previous error.
            match self.credentials.reload(&self.pace).await {
                Ok(reloaded) => self.credentials = reloaded,
                Err(why) => tracing::warn!("{why}"),
            }
            if self.asks_once {
                self.credentials = self.credentials.clone().asking_people(false);
            }
        }
    }
}

/// Returns a cluster that is watched for the terminal or a recording.
pub fn source(
    target: Target,
    events: mpsc::Sender<SourceEvent>,
    counters: Arc<Counters>,
    clock: signal::Receiver<Clock>,
) -> kube::Cluster {
    let (name, access, relist_requests) = (target.name.into(), target.access, signal::channel(0).1);
    kube::Cluster { name, access, events, counters, hides_messages: false, clock, relist_requests }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &std::path::Path, contexts: &[&str]) {
        let context = |name: &&str| serde_json::json!({ "name": name, "context": { "cluster": "c", "user": "u" } });
        let contexts: Vec<_> = contexts.iter().map(context).collect();
        let config = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "clusters": [], "users": [], "contexts": contexts,
        });
        std::fs::write(path, config.to_string()).unwrap();
    }

    #[test]
    fn commands_ask_people_once_where_several_clusters_are_watched() {
        let file = tempfile::NamedTempFile::new().unwrap();
        write(file.path(), &["dev", "prod"]);
        for (contexts, asks_once) in [(&["dev"][..], &[false][..]), (&["dev", "prod"], &[true, true])] {
            let context = contexts.iter().map(|context| (*context).to_owned()).collect();
            let asked = Clusters { kubeconfig: Some(file.path().to_owned()), context, ..Clusters::default() };
            let configs = cluster_configs(&asked, &[], &Config::default()).unwrap();
            assert_eq!(configs.iter().map(|config| config.asks_once).collect::<Vec<_>>(), asks_once);
        }
    }

    #[test]
    fn a_switch_overrides_the_file() {
        let kubeconfig = tempfile::NamedTempFile::new().unwrap();
        write(kubeconfig.path(), &["dev"]);
        let file = Config { hide_messages: true, ..Config::default() };
        for (hide_messages, is_hidden) in [(None, true), (Some(true), true), (Some(false), false)] {
            let (kubeconfig, context) = (Some(kubeconfig.path().to_owned()), vec!["dev".to_owned()]);
            let asked = Clusters { kubeconfig, context, hide_messages, ..Clusters::default() };
            let configs = cluster_configs(&asked, &[], &file).unwrap();
            assert_eq!(configs[0].hides_messages, is_hidden, "{hide_messages:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn contexts_that_appear_or_go_are_told_while_every_context_is_watched() {
        let file = tempfile::NamedTempFile::new().unwrap();
        write(file.path(), &["dev", "prod"]);
        let kubeconfig = Some(file.path().to_owned());
        let chosen =
            Clusters { kubeconfig: kubeconfig.clone(), context: vec!["dev".to_owned()], ..Clusters::default() };
        assert!(every_context(&chosen, &Config { all_contexts: true, ..Config::default() }).unwrap().is_none());
        let all = Clusters { kubeconfig, all_contexts: Some(true), ..Clusters::default() };
        let mut notice = watch_contexts(every_context(&all, &Config::default()).unwrap().unwrap());
        let restart = "Restart Rollcast to watch the present contexts.";
        let added = format!("The kubeconfig has contexts that Rollcast does not watch yet: test. {restart}");
        let both = format!(
            "The kubeconfig has contexts that Rollcast does not watch yet: test. \
             The kubeconfig lacks contexts that Rollcast still watches: dev. {restart}"
        );
        for (contexts, told) in
            [(&["dev", "prod", "test"][..], added.as_str()), (&["prod", "test"], both.as_str()), (&["prod", "dev"], "")]
        {
            write(file.path(), contexts);
            notice.changed().await.unwrap();
            assert_eq!(*notice.borrow_and_update(), told);
        }
    }
}
