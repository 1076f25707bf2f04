//! One list in pages: each object is decoded separately, so that a malformed one affects only itself. The memory of a page is
//! freed before the next page is requested.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;
use serde_json::value::RawValue;
use timeline::Uid;
use timeline::fact::Kind;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::backoff::Backoff;
use super::cluster::Cluster;
use super::error::RequestError;
use super::request;
use crate::kube::translate::Object;

/// Factor by which pages grow if the API server dropped the snapshot of a list before its last page.
const GROWTH: u32 = 8;
/// Above this number of objects a page is not limited any more: the only remaining option is the whole list in one response.
const LARGEST_PAGE: u32 = 32_000;
/// Largest page that is read, in bytes: of the usual size, and of larger ones.
const MAX_PAGE: usize = 64 << 20;
const MAX_LARGE_PAGE: usize = 1 << 30;

/// Pages of all lists of a cluster that wait for the hub at the same time.
const PAGES_IN_QUEUE: usize = 4;

pub(super) struct SharedLists {
    /// Limits the pages that wait for the hub: a slow hub slows the lists down.
    pub pages: Arc<Semaphore>,
    /// Whether the API server refused to stream a list, or did not complete one.
    is_stream_refused: AtomicBool,
}

impl SharedLists {
    pub(super) fn new() -> Self {
        Self { pages: Arc::new(Semaphore::new(PAGES_IN_QUEUE)), is_stream_refused: AtomicBool::new(false) }
    }

    pub(super) fn is_stream_refused(&self) -> bool {
        self.is_stream_refused.load(Ordering::Relaxed)
    }

    pub(super) fn set_stream_refused(&self, is_refused: bool) {
        self.is_stream_refused.store(is_refused, Ordering::Relaxed);
    }
}

/// A list in progress. It is kept after failed requests, and continues with the failed page.
pub(super) struct List {
    /// Time of the first request.
    pub began: Instant,
    /// UIDs of the pages so far.
    pub earlier: Vec<Uid>,
    /// Back-off between failures; a page with content resets it.
    pub backoff: Backoff,
    /// Objects per page: the usual number, and the present one; `None` for all in one response.
    page_size: u32,
    limit: Option<u32>,
    /// The server's token of the next page; `None` before the first.
    next: Option<String>,
}

pub(super) struct Page {
    /// Its objects, in the server's order.
    pub objects: Vec<Object>,
    /// Of the last page: the position from which to watch.
    pub resource_version: Option<String>,
    /// Whether the page contained nothing, not even unusable objects.
    pub is_empty: bool,
}

/// A page as the server sends it. A response without a version is no list: a Status or a proxy's `{}` would otherwise mean that
/// no object exists.
#[derive(Deserialize)]
struct PageBody<'a> {
    metadata: PageMeta,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMeta {
    resource_version: String,
    r#continue: Option<String>,
}

impl List {
    pub(super) fn new(page_size: u32) -> Self {
        let began = Instant::now();
        let limit = Some(page_size);
        Self { began, earlier: Vec::new(), backoff: Backoff::default(), page_size, limit, next: None }
    }

    /// Returns the list after a page failed. It continues with that page, with three exceptions. If the server dropped the list's
    /// snapshot (by default after five minutes), the list begins again with larger pages, so that it ends sooner. If the first
    /// larger page is too large for the server, it begins again with smaller ones. A page that is too long is requested in
    /// halves; the pages after it grow again ([`Self::grow`]).
    pub(super) fn after_failure(self, error: &RequestError) -> Self {
        let is_under_way = self.next.is_some();
        let limit = match error {
            RequestError::TooLong(_) => {
                return Self { limit: Some((self.limit.unwrap_or(LARGEST_PAGE) / 2).max(1)), ..self };
            }
            RequestError::Gone(_) if is_under_way => {
                self.limit.map(|limit| limit.saturating_mul(GROWTH)).filter(|limit| *limit <= LARGEST_PAGE)
            }
            _ if !is_under_way && self.is_large() => Some((self.limit.unwrap_or(LARGEST_PAGE) / 2).max(self.page_size)),
            _ => return self,
        };
        Self { earlier: Vec::new(), limit, next: None, ..self }
    }

    /// Returns whether no page of the list has been read yet.
    pub(super) const fn is_at_start(&self) -> bool {
        self.next.is_none()
    }

    /// Doubles the size of smaller pages, up to the usual size.
    fn grow(&mut self) {
        if let Some(limit) = self.limit.filter(|limit| *limit < self.page_size) {
            self.limit = Some((limit * 2).min(self.page_size));
        }
    }

    /// Returns whether the server dropped the list's snapshot for the first time.
    pub(super) fn is_forgotten_first(&self, error: &RequestError) -> bool {
        matches!(error, RequestError::Gone(_)) && self.next.is_some() && !self.is_large()
    }

    fn is_large(&self) -> bool {
        self.limit.is_none_or(|limit| limit > self.page_size)
    }

    /// Requests the next page. After a failure the same page can be requested again.
    pub(super) async fn page(
        &mut self,
        cluster: &Cluster,
        kind: Kind,
        namespace: Option<&str>,
    ) -> Result<Page, RequestError> {
        let limit = self.limit.map(|limit| ("limit", limit.to_string()));
        let token = self.next.clone().map(|token| ("continue", token));
        let path = request::path_with_query(&request::collection(kind, namespace), limit.into_iter().chain(token));
        let body = if self.is_large() {
            read(cluster, &path, MAX_LARGE_PAGE).await? // as long as some more of it comes
        } else {
            let body = tokio::time::timeout(cluster.pace().page, read(cluster, &path, MAX_PAGE)).await;
            body.map_err(|_| RequestError::Unreachable("the API server did not finish a list in time".to_owned()))??
        };
        let page: PageBody<'_> = serde_json::from_slice(&body)?;
        let items = page.items.unwrap_or_default();
        let is_empty = items.is_empty();
        let mut objects = Vec::with_capacity(items.len());
        for item in items {
            match Object::decode(kind, item.get()).and_then(|object| object.uid().map(|_| object)) {
                Ok(object) => objects.push(cluster.trim_object(object)),
                Err(error) => count_skipped(cluster, kind, &error),
            }
        }
        if !is_empty {
            self.backoff.reset();
        }
        let next = page.metadata.r#continue.filter(|token| !token.is_empty());
        if next.is_some() && next == self.next {
            (self.earlier, self.next) = (Vec::new(), None);
            return Err(RequestError::Unreachable("the API server returned the same page of a list twice".to_owned()));
        }
        self.next = next;
        if body.len() <= MAX_PAGE / 4 {
            self.grow(); // a page of twice this size is not too long
        }
        let resource_version = self.next.is_none().then_some(page.metadata.resource_version);
        Ok(Page { objects, resource_version, is_empty })
    }
}

async fn read(cluster: &Cluster, path: &str, most: usize) -> Result<Vec<u8>, RequestError> {
    let body = request::get(&cluster.access, path).await?;
    request::gather(body, cluster.pace(), most, || cluster.counters.note_piece(cluster.now_millis())).await
}

/// Counts a skipped object. Of each kind the first one is logged, then the second, the fourth and so on: an object that changes
/// often must not fill the log.
pub(super) fn count_skipped(cluster: &Cluster, kind: Kind, error: &crate::kube::translate::Unusable) {
    let count = cluster.counters.kind(kind).malformed.fetch_add(1, Ordering::Relaxed) + 1;
    if count.is_power_of_two() {
        tracing::warn!(%error, count, "skipped an unusable object");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_is_too_long_is_asked_for_in_halves_and_later_ones_grow_again() {
        let mut list = List { earlier: vec![Uid::from_bits(1)], next: Some("2".to_owned()), ..List::new(5) };
        for limit in [2, 1, 1, 1] {
            list = list.after_failure(&RequestError::TooLong(MAX_PAGE));
            let now = (list.limit, list.is_large(), list.earlier.len(), list.next.is_some());
            assert_eq!(now, (Some(limit), false, 1, true));
        }
        for limit in [2, 4, 5, 5] {
            list.grow();
            assert_eq!(list.limit, Some(limit));
        }
        list.limit = Some(40);
        list.grow();
        assert_eq!(list.limit, Some(40), "larger ones stay");
    }
}
