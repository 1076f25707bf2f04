//! One list: page by page, each object decoded for itself, so that a malformed one costs only itself.

use serde::Deserialize;
use serde_json::value::RawValue;
use timeline::fact::Kind;

use super::budget::RequestBudget;
use super::request::{self, RequestError};
use super::{Cluster, Counters};
use crate::translate::Object;

/// A complete list.
pub(super) struct CompleteList {
    /// Where to watch from.
    pub resource_version: String,
    /// The objects.
    pub objects: Vec<Object>,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(default)]
    metadata: PageMeta,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct PageMeta {
    resource_version: Option<String>,
    r#continue: Option<String>,
}

/// Lists a kind. The budget was asked for the first page already.
pub(super) async fn list(
    cluster: &Cluster,
    budget: &mut RequestBudget,
    kind: Kind,
    namespace: Option<&str>,
) -> Result<CompleteList, RequestError> {
    Counters::add(&cluster.counters.lists);
    let collection = request::collection(kind, namespace);
    let mut listed = CompleteList { resource_version: String::new(), objects: Vec::new() };
    let mut next: Option<String> = None;
    loop {
        let limit = ("limit", cluster.pace.page_size.to_string());
        let path = request::asked(&collection, std::iter::once(limit).chain(next.map(|token| ("continue", token))));
        let body = tokio::time::timeout(cluster.pace.page, page(cluster, &path)).await;
        let body =
            body.map_err(|_| RequestError::Unreachable("the API server does not finish a list".to_owned()))??;
        let page: Page<'_> = serde_json::from_slice(&body)?;
        for item in page.items.unwrap_or_default() {
            match Object::decode(kind, item.get()).and_then(|object| object.uid().map(|_| object)) {
                Ok(object) => listed.objects.push(cluster.texts.of(object)),
                Err(error) => skipped(cluster, &error),
            }
        }
        listed.resource_version = page.metadata.resource_version.unwrap_or_default();
        match page.metadata.r#continue.filter(|token| !token.is_empty()) {
            Some(token) => next = Some(token),
            None => return Ok(listed),
        }
        budget.page().await;
    }
}

async fn page(cluster: &Cluster, path: &str) -> Result<Vec<u8>, RequestError> {
    let body = request::get(&cluster.access, &cluster.pace, path).await?;
    request::read(body, &cluster.pace).await
}

/// Counts and reports an object that was skipped.
pub(super) fn skipped(cluster: &Cluster, error: &crate::translate::Unusable) {
    Counters::add(&cluster.counters.malformed);
    tracing::warn!(%error, "skipped an object that cannot be used");
}
