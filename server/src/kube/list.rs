//! One list: page by page, each object decoded for itself, so that a malformed one costs only itself.

use serde::Deserialize;
use serde_json::value::RawValue;
use timeline::fact::Kind;
use tokio::time::Instant;

use super::backoff::Backoff;
use super::cluster::Cluster;
use super::counters::Counters;
use super::error::RequestError;
use super::request;
use crate::kube::translate::Object;

/// By how much pages grow when the API server forgot the snapshot of a list before its last page.
const GROWTH: u32 = 8;
/// Beyond this many objects a page is not limited any more: what is left to try is everything in one answer.
const LARGEST_PAGE: u32 = 32_000;
/// Largest page that is read, in bytes: of the usual size, and of larger ones.
const MAX_PAGE: usize = 64 << 20;
const MAX_LARGE_PAGE: usize = 1 << 30;

/// A list under way. It is kept while requests fail, and goes on with the page that failed.
pub(super) struct List {
    /// When the first page was asked for.
    pub began: Instant,
    /// What the pages so far held, in the server's order.
    pub objects: Vec<Object>,
    /// Waits between failures; from the shortest after each page that held something.
    pub backoff: Backoff,
    /// Objects per page as usual, and now; `None` for all in one answer.
    page_size: u32,
    limit: Option<u32>,
    /// The server's token of the next page; `None` before the first.
    next: Option<String>,
}

/// What came of asking for a page.
pub(super) enum Page {
    /// There are more; whether this one held anything.
    More { is_empty: bool },
    /// It was the last, and this is where to watch from.
    Last { resource_version: String },
}

#[derive(Deserialize)]
struct PageBody<'a> {
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

impl List {
    pub(super) fn new(page_size: u32) -> Self {
        let began = Instant::now();
        let limit = Some(page_size);
        Self { began, objects: Vec::new(), backoff: Backoff::default(), page_size, limit, next: None }
    }

    /// What is asked for after a page failed. That page once more; but where the server no longer knows it, as the snapshot is older
    /// than what it keeps (five minutes as it is shipped), the list begins anew with larger pages, so that it ends before that. Where
    /// the first of such pages is too large for the server, with smaller ones.
    pub(super) fn after(self, error: &RequestError) -> Self {
        let is_under_way = self.next.is_some();
        let limit = match error {
            RequestError::Gone(_) if is_under_way => {
                self.limit.map(|limit| limit.saturating_mul(GROWTH)).filter(|limit| *limit <= LARGEST_PAGE)
            }
            _ if !is_under_way && self.is_large() => Some((self.limit.unwrap_or(LARGEST_PAGE) / 2).max(self.page_size)),
            _ => return self,
        };
        Self { objects: Vec::new(), limit, next: None, ..self }
    }

    fn is_large(&self) -> bool {
        self.limit != Some(self.page_size)
    }

    /// Asks for the next page. Where that fails, the same page can be asked for again.
    pub(super) async fn page(
        &mut self,
        cluster: &Cluster,
        kind: Kind,
        namespace: Option<&str>,
    ) -> Result<Page, RequestError> {
        let limit = self.limit.map(|limit| ("limit", limit.to_string()));
        let token = self.next.clone().map(|token| ("continue", token));
        let path = request::asked(&request::collection(kind, namespace), limit.into_iter().chain(token));
        let body = if self.is_large() {
            read(cluster, &path, MAX_LARGE_PAGE).await? // as long as some more of it comes
        } else {
            let body = tokio::time::timeout(cluster.pace.page, read(cluster, &path, MAX_PAGE)).await;
            body.map_err(|_| RequestError::Unreachable("the API server did not finish a list in time".to_owned()))??
        };
        let page: PageBody<'_> = serde_json::from_slice(&body)?;
        let items = page.items.unwrap_or_default();
        let is_empty = items.is_empty();
        for item in items {
            match Object::decode(kind, item.get()).and_then(|object| object.uid().map(|_| object)) {
                Ok(object) => self.objects.push(cluster.texts.of(object)),
                Err(error) => skipped(cluster, kind, &error),
            }
        }
        if !is_empty {
            self.backoff.reset();
        }
        let next = page.metadata.r#continue.filter(|token| !token.is_empty());
        if next.is_some() && next == self.next {
            (self.objects, self.next) = (Vec::new(), None);
            return Err(RequestError::Unreachable("the API server returned the same page of a list twice".to_owned()));
        }
        self.next = next;
        Ok(match self.next {
            Some(_) => Page::More { is_empty },
            None => Page::Last { resource_version: page.metadata.resource_version.unwrap_or_default() },
        })
    }
}

async fn read(cluster: &Cluster, path: &str, most: usize) -> Result<Vec<u8>, RequestError> {
    let body = request::get(&cluster.access, &cluster.pace, path).await?;
    request::gather(body, &cluster.pace, most, || Counters::add(&cluster.counters.pieces)).await
}

/// Counts and reports an object that was skipped.
pub(super) fn skipped(cluster: &Cluster, kind: Kind, error: &crate::kube::translate::Unusable) {
    Counters::add(&cluster.counters.kind(kind).malformed);
    tracing::warn!(%error, "skipped an unusable object");
}
