//! The source of rollouts in the terminal: a cluster that is watched here, or a running server.

use std::sync::Arc;

use timeline::Retention;

use super::server::RemoteServer;
use super::text::plain;
use super::{feed, options};
use crate::cli::clusters;
use crate::hub::Handle;
use crate::kube::access::Target;
use crate::kube::credentials::Credentials;
use crate::kube::kubeconfig::Contexts;
use crate::kube::{self, Counters, Pace};
use crate::telemetry::print;

/// Source of rollouts.
pub(super) enum Origin {
    /// A cluster, watched here.
    Cluster {
        /// Its hub.
        hub: Handle,
        /// Namespace that is watched.
        namespace: String,
    },
    /// A running Rollcast.
    Server {
        /// The server.
        server: RemoteServer,
        /// Name of the cluster there.
        cluster: String,
        /// Namespace.
        namespace: String,
        /// Deployments there, by namespace and name, when it was asked.
        known: Vec<(String, String)>,
    },
}

impl Origin {
    /// Starts to watch, or asks the server what it watches.
    pub(super) async fn open(from: &options::FollowOptions) -> anyhow::Result<Self> {
        if let Some(address) = &from.server {
            let server = RemoteServer::new(address, from.remote.token_file.as_deref())?;
            let (cluster, known) = feed::cluster_of(&server, from.remote.cluster.as_deref()).await?;
            let namespace = from.namespace.clone().unwrap_or_else(|| "default".to_owned());
            return Ok(Self::Server { server, cluster, namespace, known });
        }
        let target = target(from).await?;
        let namespace = from.namespace.clone().unwrap_or_else(|| target.namespace.clone());
        let counters = Arc::new(Counters::default());
        let (hub, events) = Handle::start(&target.name, counters.clone(), Retention::default());
        let cluster = clusters::source(target, events, counters, kube::TextPolicy::Include, hub.clock());
        kube::start(&cluster, &timeline::fact::Kind::ALL, std::slice::from_ref(&namespace));
        Ok(Self::Cluster { hub, namespace })
    }

    /// Name of the cluster.
    pub(super) fn cluster(&self) -> &str {
        match self {
            Self::Cluster { hub, .. } => hub.name(),
            Self::Server { cluster, .. } => cluster,
        }
    }

    pub(super) fn namespace(&self) -> &str {
        match self {
            Self::Cluster { namespace, .. } | Self::Server { namespace, .. } => namespace,
        }
    }

    /// A running Rollcast watches the cluster, not this program.
    pub(super) const fn is_server(&self) -> bool {
        matches!(self, Self::Server { .. })
    }
}

async fn target(from: &options::FollowOptions) -> anyhow::Result<Target> {
    let contexts = Contexts::read(from.kubeconfig.as_deref())?;
    let context = contexts.choose(from.context.as_deref())?;
    let name = context.clone().unwrap_or_else(|| "in-cluster".to_owned());
    let credentials = Credentials::new(contexts, context, name).impersonating(from.impersonation.impersonation());
    let target = credentials.target(&Pace::default()).await?;
    target.warnings.iter().for_each(|warning| print::error(&plain(warning)));
    Ok(target)
}
