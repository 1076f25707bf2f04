//! The timeline document of a Deployment, from the hub here or over a server's API.

use std::time::Duration;

use anyhow::Context;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;

use timeline::Workload;

use super::Origin;

/// Largest document that is taken, in bytes.
const LARGEST: usize = 256 << 20;
/// A document must be there within this time.
const LIMIT: Duration = Duration::from_secs(5);

/// Fetches the document as JSON, within a limited time.
pub(super) async fn fetch(origin: &Origin, name: &str) -> anyhow::Result<String> {
    match tokio::time::timeout(LIMIT, ask(origin, name)).await {
        Ok(document) => document,
        Err(_) => anyhow::bail!("it did not come within {} s", LIMIT.as_secs()),
    }
}

async fn ask(origin: &Origin, name: &str) -> anyhow::Result<String> {
    match origin {
        Origin::Cluster { hub, namespace } => {
            let workload = Workload::deployment(hub.name(), namespace, name);
            let document = hub.read(move |reader| serde_json::to_string_pretty(&reader.document(&workload)?).ok());
            document.await?.ok_or_else(|| anyhow::anyhow!("there is no such Deployment"))
        }
        Origin::Server { address, cluster, namespace, .. } => {
            let path = app::address::timeline(&Workload::deployment(cluster, namespace, name));
            let connector =
                hyper_rustls::HttpsConnectorBuilder::new().with_native_roots()?.https_or_http().enable_http1().build();
            let client: Client<_, Empty<bytes::Bytes>> = Client::builder(TokioExecutor::new()).build(connector);
            let response = client.get(format!("{address}{path}").parse()?).await?;
            let status = response.status();
            let body = http_body_util::Limited::new(response.into_body(), LARGEST).collect().await;
            let body = body.map_err(|error| anyhow::anyhow!("{error}"))?.to_bytes();
            anyhow::ensure!(status.is_success(), "{address} answers {status}");
            let document = String::from_utf8(body.to_vec())?;
            serde_json::from_str::<serde::de::IgnoredAny>(&document).context("what came is no document")?;
            Ok(document)
        }
    }
}
