//! Exports that a running server makes: `rollcast export --server` and `rollcast wait --export --server`.

use std::time::Duration;

use timeline::Workload;
use timeline::address;

use super::options::DeploymentArgument;
use super::server::RemoteServer;
use super::{document, feed};
use crate::access::fetch::ResponseLimits;
use crate::cli::Export;

/// A server makes the file of a rollout within this time, and it is no larger.
const LIMITS: ResponseLimits = ResponseLimits { timeout: Duration::from_mins(5), max_bytes: 256 << 20 };

/// The file of a rollout, made by a running server.
///
/// # Errors
/// When the server does not answer, does not watch that cluster, or has no such rollout.
pub async fn file(address: &str, wanted: &Export) -> anyhow::Result<String> {
    let DeploymentArgument(name) = wanted.of.parse::<DeploymentArgument>().map_err(anyhow::Error::msg)?;
    let server = RemoteServer::new(address, wanted.remote.token_file.as_deref())?;
    let (cluster, _) = feed::cluster_of(&server, wanted.remote.cluster.as_deref()).await?;
    let namespace = wanted.namespace.as_deref().unwrap_or("default");
    download(&server, &Workload::deployment(&cluster, namespace, &name), wanted.revision, wanted.redact).await
}

/// The file of a rollout, the last one where no revision is named.
pub(super) async fn download(
    server: &RemoteServer,
    workload: &Workload,
    revision: Option<u64>,
    is_redacted: bool,
) -> anyhow::Result<String> {
    let path = address::file(workload, revision);
    let mark = if path.contains('?') { '&' } else { '?' };
    let asked = if is_redacted { format!("{path}{mark}redact=yes") } else { path };
    document::get(server, &asked, LIMITS).await
}
