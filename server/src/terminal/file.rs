//! A rollout as a file that a running Rollcast makes: of `rollcast export --server` and `rollcast wait --export --server`.

use std::time::Duration;

use app::address;
use timeline::Workload;

use super::server::Server;
use super::{document, feed};
use crate::access::fetch::Limits;
use crate::cli::{self, Named};

/// A server makes the file of a rollout within this time, and it is no larger.
const LIMITS: Limits = Limits { answer: Duration::from_mins(5), largest: 256 << 20 };

/// The file of the rollout that arguments name.
///
/// # Errors
/// When the server does not answer, does not watch that cluster, or has no such rollout.
pub async fn file(address: &str, arguments: &cli::Export) -> anyhow::Result<String> {
    let Named(name) = arguments.of.parse::<Named>().map_err(anyhow::Error::msg)?;
    let server = Server::new(address, arguments.of_server.token_file.as_deref())?;
    let (cluster, _) = feed::cluster_of(&server, arguments.of_server.cluster.as_deref()).await?;
    let namespace = arguments.namespace.as_deref().unwrap_or("default");
    of(&server, &Workload::deployment(&cluster, namespace, &name), arguments.revision, arguments.redact).await
}

/// The file of a rollout, the last one where no revision is named.
pub(super) async fn of(
    server: &Server,
    workload: &Workload,
    revision: Option<u64>,
    is_redacted: bool,
) -> anyhow::Result<String> {
    let path = address::file(workload, revision);
    let mark = if path.contains('?') { '&' } else { '?' };
    let asked = if is_redacted { format!("{path}{mark}redact=yes") } else { path };
    document::get(server, &asked, LIMITS).await
}
