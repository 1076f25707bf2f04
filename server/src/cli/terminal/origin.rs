//! The source of rollouts in the terminal: a cluster that this program watches, or a running server with its pages and files.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use timeline::{Retention, Workload, address};

use super::options::{DeploymentArgument, FollowOptions};
use super::server::RemoteServer;
use super::{feed, plain};
use crate::access::fetch::ResponseLimits;
use crate::cli::clusters::{self, ClusterConfig, NO_CONTEXT};
use crate::cli::config::Config;
use crate::cli::{Clusters, Export};
use crate::hub::Handle;
use crate::kube::{self, Counters};
use crate::telemetry::print;

/// Timeout and maximum size of a document.
const LIMITS: ResponseLimits = ResponseLimits { timeout: Duration::from_secs(5), max_bytes: 256 << 20 };

/// The cluster and the namespace of rollouts.
pub(super) struct Origin {
    pub cluster: String,
    pub namespace: String,
    pub source: Source,
}

#[derive(Clone)]
pub(super) enum Source {
    /// This program watches the cluster.
    Hub(Handle),
    /// A running Rollcast, with its Deployments at the start, by namespace and name.
    Server(RemoteServer, Vec<(String, String)>),
}

impl Origin {
    /// Starts to watch the cluster, or requests the Deployments of the server.
    pub(super) async fn open(from: &FollowOptions) -> anyhow::Result<Self> {
        if let Some(address) = &from.server {
            let server = RemoteServer::new(address, from.remote.token_file.as_deref())?;
            let (cluster, known) = feed::cluster_of(&server, from.remote.cluster.as_deref()).await?;
            let namespace = from.namespace.clone().unwrap_or_else(|| "default".to_owned());
            return Ok(Self { cluster, namespace, source: Source::Server(server, known) });
        }
        let target = cluster(from)?.target().await?;
        target.warnings.iter().for_each(|warning| print::error(&plain(warning)));
        let namespace = from.namespace.clone().unwrap_or_else(|| target.namespace.clone());
        let counters = Arc::new(Counters::default());
        let (hub, events) = Handle::start(&target.name, counters.clone(), Retention::default());
        let cluster = clusters::source(target, events, counters, hub.clock());
        kube::start(&cluster, &timeline::fact::Kind::ALL, std::slice::from_ref(&namespace));
        Ok(Self { cluster: hub.name().to_owned(), namespace, source: Source::Hub(hub) })
    }

    pub(super) fn workload(&self, name: &str) -> Workload {
        Workload::deployment(&self.cluster, &self.namespace, name)
    }

    /// Returns whether a running Rollcast watches the cluster instead of this program.
    pub(super) const fn is_server(&self) -> bool {
        matches!(self.source, Source::Server(..))
    }

    /// Fetches the timeline document of a Deployment as JSON, within a limited time.
    pub(super) async fn document(&self, workload: &Workload) -> anyhow::Result<String> {
        match &self.source {
            Source::Hub(hub) => {
                let document = tokio::time::timeout(LIMITS.timeout, hub.document(workload)).await;
                let document =
                    document.with_context(|| format!("no response within {} s", LIMITS.timeout.as_secs()))?;
                let document = document?.context("there is no such Deployment")?;
                Ok(serde_json::to_string_pretty(&document)?)
            }
            Source::Server(server, _) => {
                let document = server.get(&address::timeline(workload), LIMITS).await?;
                serde_json::from_str::<serde::de::IgnoredAny>(&document)
                    .context("the response is not a timeline document")?;
                Ok(document)
            }
        }
    }
}

/// Returns the cluster that the options name.
///
/// # Errors
/// When the kubeconfig cannot be read or lacks the context.
pub fn cluster(from: &FollowOptions) -> anyhow::Result<ClusterConfig> {
    let asked = Clusters {
        kubeconfig: from.kubeconfig.clone(),
        context: from.context.iter().cloned().collect(),
        impersonation: from.impersonation.clone(),
        ..Clusters::default()
    };
    clusters::cluster_configs(&asked, &[], &Config::default())?.pop().context(NO_CONTEXT)
}

/// Returns the URL of a Deployment's page, of the list of a namespace, or of everything, on the server that the options name.
///
/// # Errors
/// When the server does not respond, or watches several clusters and the options name none of them.
pub async fn page(from: &FollowOptions, deployment: Option<&str>, has_all: bool) -> anyhow::Result<String> {
    let server = from.server.as_deref().unwrap_or_default().trim_end_matches('/');
    if has_all && deployment.is_none() {
        return Ok(format!("{server}/"));
    }
    let origin = Origin::open(from).await?;
    Ok(format!("{server}{}", path(&origin.cluster, &origin.namespace, deployment)))
}

/// Returns the path of a Deployment's page, or of the list of a namespace.
pub fn path(cluster: &str, namespace: &str, deployment: Option<&str>) -> String {
    match deployment {
        Some(name) => address::workload(&Workload::deployment(cluster, namespace, name)),
        None => address::namespace(cluster, namespace),
    }
}

/// Fetches the file of a rollout from a running server: `rollcast export --server`.
///
/// # Errors
/// When the server does not respond, does not watch that cluster, or has no such rollout.
pub async fn file(address: &str, wanted: &Export) -> anyhow::Result<String> {
    let DeploymentArgument(name) = wanted.of.parse::<DeploymentArgument>().map_err(anyhow::Error::msg)?;
    let server = RemoteServer::new(address, wanted.remote.token_file.as_deref())?;
    let (cluster, _) = feed::cluster_of(&server, wanted.remote.cluster.as_deref()).await?;
    let namespace = wanted.namespace.as_deref().unwrap_or("default");
    server.file(&Workload::deployment(&cluster, namespace, &name), wanted.revision, wanted.redact).await
}
