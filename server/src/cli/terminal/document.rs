//! The timeline document of a Deployment, from the hub here or over a server's API.

use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http::Request;
use timeline::Workload;

use super::Origin;
use super::server::RemoteServer;
use crate::access::fetch::ResponseLimits;

/// A document must be there within this time, and is no larger.
const LIMITS: ResponseLimits = ResponseLimits { timeout: Duration::from_secs(5), max_bytes: 256 << 20 };

/// Fetches the document as JSON, within a limited time.
pub(super) async fn fetch(origin: &Origin, name: &str) -> anyhow::Result<String> {
    match origin {
        Origin::Cluster { hub, namespace } => {
            let workload = Workload::deployment(hub.name(), namespace, name);
            let document = tokio::time::timeout(LIMITS.timeout, hub.document(&workload)).await;
            let document = document.with_context(|| format!("no response within {} s", LIMITS.timeout.as_secs()))?;
            let document = document?.context("there is no such Deployment")?;
            Ok(serde_json::to_string_pretty(&document)?)
        }
        Origin::Server { server, cluster, namespace, .. } => {
            let path = timeline::address::timeline(&Workload::deployment(cluster, namespace, name));
            let document = get(server, &path, LIMITS).await?;
            serde_json::from_str::<serde::de::IgnoredAny>(&document)
                .context("the response is not a timeline document")?;
            Ok(document)
        }
    }
}

/// Fetches a path of a server.
pub(super) async fn get(server: &RemoteServer, path: &str, limits: ResponseLimits) -> anyhow::Result<String> {
    let answer = server.send(Request::get(path).body(Bytes::new())?, limits).await?;
    anyhow::ensure!(answer.status().is_success(), "{server} responded {}", answer.status());
    Ok(String::from_utf8(answer.into_body().into())?)
}
