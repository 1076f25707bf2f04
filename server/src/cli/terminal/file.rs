//! Exports that a running server makes: `rollcast export --server` and `rollcast wait --export --server`.

use std::time::Duration;

use timeline::Workload;
use timeline::address;

use super::options::{DeploymentArgument, RemoteOptions};
use super::server::RemoteServer;
use super::{document, feed};
use crate::access::fetch::ResponseLimits;

/// A server makes the file of a rollout within this time, and it is no larger.
const LIMITS: ResponseLimits = ResponseLimits { timeout: Duration::from_mins(5), max_bytes: 256 << 20 };

/// The rollout of which a file is made.
#[derive(Debug)]
pub struct FileRequest<'a> {
    /// The Deployment, as the command line names it.
    pub deployment: &'a str,
    /// Its namespace, `default` where none is named.
    pub namespace: Option<&'a str>,
    /// Its revision, the last one where none is named.
    pub revision: Option<u64>,
    /// Names are replaced.
    pub is_redacted: bool,
}

/// The file of a rollout, made by a running server.
///
/// # Errors
/// When the server does not answer, does not watch that cluster, or has no such rollout.
pub async fn file(address: &str, remote: &RemoteOptions, request: &FileRequest<'_>) -> anyhow::Result<String> {
    let DeploymentArgument(name) = request.deployment.parse::<DeploymentArgument>().map_err(anyhow::Error::msg)?;
    let server = RemoteServer::new(address, remote.token_file.as_deref())?;
    let (cluster, _) = feed::cluster_of(&server, remote.cluster.as_deref()).await?;
    let namespace = request.namespace.unwrap_or("default");
    download(&server, &Workload::deployment(&cluster, namespace, &name), request.revision, request.is_redacted).await
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
