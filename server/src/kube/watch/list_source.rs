//! The list of a watch: streamed if the API server supports that, otherwise in pages. Objects go to the hub page by page.
//!
//! ```text
//!   stream (sendInitialEvents) ── bookmark `initial-events-end` ──► complete
//!     │ refused, forbidden, failed, ends early, or brings nothing new for a while
//!     ▼
//!   pages ── last page ──► complete
//! ```

use std::collections::BTreeSet;
use std::time::Duration;

use http::StatusCode;
use timeline::Uid;
use timeline::fact::Seen;
use tokio::time::Instant;

use super::{HubGone, Watch};
use crate::kube::counters::Counters;
use crate::kube::error::RequestError;
use crate::kube::event::{Health, SourceEvent};
use crate::kube::line::{Bookmark, WatchEvent};
use crate::kube::list::{self, List, Page};
use crate::kube::liveness;
use crate::kube::stream::{Stream, WatchEnd};
use crate::kube::translate::Object;

/// Time after which a first list reports its progress, and the interval of reports.
const PROGRESS_AFTER: Duration = Duration::from_secs(2);
const PROGRESS_EVERY: Duration = Duration::from_secs(1);
/// Longest time of a streamed list, in seconds: then the server ends it.
const STREAM_SECONDS: u32 = 600;

impl Watch {
    /// Reads a list, or its remaining pages, until a request fails or the list is complete. Returns the position from which to watch.
    pub(super) async fn list(&mut self) -> Result<Option<String>, HubGone> {
        self.seen_relists = *self.cluster.relist_requests.borrow();
        // Nothing of the list was read before a loss of connections.
        if self.list.as_ref().is_none_or(List::is_at_start) {
            self.seen_losses = self.liveness.borrow().losses;
        }
        if self.list.is_none() {
            Counters::add(&self.cluster.counters.lists);
            if let Some(reason) = self.relist.take() {
                self.cluster.counters.kind(self.kind).note_relist(reason);
            }
            if !self.lists.is_stream_refused() {
                return self.list_by_stream().await;
            }
        }
        let list = self.list.take().unwrap_or_else(|| List::new(self.cluster.pace().page_size));
        self.list_by_pages(list).await
    }

    async fn list_by_pages(&mut self, mut list: List) -> Result<Option<String>, HubGone> {
        loop {
            let losses = self.liveness.borrow_and_update().losses;
            let page = tokio::select! {
                page = list.page(&self.cluster, self.kind, self.namespace.as_deref()) => page,
                () = liveness::wait_until(&mut self.liveness, |now| now.losses != losses) => {
                    tracing::warn!("no response in the middle of a list; continuing there");
                    self.list = Some(list);
                    self.send_catching_up("the connection was lost; reconnecting").await?;
                    return Ok(None);
                }
            };
            match page {
                Ok(Page { objects, resource_version: Some(position), .. }) => {
                    return self.send_list(list.earlier, objects, position).await;
                }
                Ok(Page { objects, is_empty, .. }) => {
                    self.send_page(&mut list.earlier, objects).await?;
                    self.send_progress(list.began, list.earlier.len()).await?;
                    if is_empty {
                        self.budget.ready(&()).await;
                    }
                }
                Err(error) => {
                    let wait = Self::count_failure(&self.cluster, &mut list.backoff);
                    // It begins again at once, but not repeatedly. Earlier failures have had their waits.
                    let wait = if list.is_forgotten_first(&error) { Duration::ZERO } else { wait };
                    self.list = Some(list.after_failure(&error));
                    self.report_failure("list", &error, wait).await?;
                    return Ok(None);
                }
            }
        }
    }

    /// Reads a list as one stream. If that fails, the list is requested in pages next.
    async fn list_by_stream(&mut self) -> Result<Option<String>, HubGone> {
        let mut streamed = StreamedList::new();
        let ended = match self.read_stream(&mut streamed).await? {
            Ok(position) => {
                let objects = streamed.take_objects();
                return self.send_list(streamed.existing_uids(), objects, position).await;
            }
            Err(ended) => ended,
        };
        self.list = Some(List::new(self.cluster.pace().page_size));
        match ended {
            Some(WatchEnd::Failed(
                RequestError::Gone(StatusCode::BAD_REQUEST)
                | RequestError::Status { status: StatusCode::UNPROCESSABLE_ENTITY, .. },
            )) => {
                tracing::debug!("the API server does not stream lists; listing in pages");
                self.lists.set_stream_refused(true);
            }
            None => {
                tracing::info!("a streamed list did not reach its end in time; listing in pages");
                self.lists.set_stream_refused(true);
            }
            Some(WatchEnd::Failed(RequestError::Forbidden(_))) => {} // watches are not allowed; lists may be
            Some(WatchEnd::Closed | WatchEnd::Left | WatchEnd::Failed(RequestError::Gone(_))) => {
                tracing::info!("a list that is streamed ended early; listing in pages");
            }
            Some(WatchEnd::Lost) => self.send_catching_up("the connection was lost; reconnecting").await?,
            Some(WatchEnd::Dead(error) | WatchEnd::Failed(error)) => {
                let wait = Self::count_failure(&self.cluster, &mut self.backoff);
                self.report_failure("list", &error, wait).await?;
            }
        }
        Ok(None)
    }

    /// Returns the position from which to watch, or why the stream failed; `None` if the server did not mark the end of the
    /// initial objects: no line came for a while, no new object for as long as a page may take, or the stream's time was over.
    async fn read_stream(&mut self, streamed: &mut StreamedList) -> Result<Result<String, Option<WatchEnd>>, HubGone> {
        let (namespace, silence) = (self.namespace.as_deref(), self.cluster.pace().answer);
        let liveness = self.liveness.clone();
        let opened = Stream::open(&self.cluster, self.kind, namespace, None, STREAM_SECONDS, liveness).await;
        let mut stream = match opened {
            Ok(stream) => stream,
            Err(ended) => return Ok(Err(Some(ended))),
        };
        let longest = Duration::from_secs(STREAM_SECONDS.into());
        let mut advanced_at = Instant::now();
        loop {
            let line = match tokio::time::timeout(silence, stream.next()).await {
                Ok(Ok(line)) => line,
                Ok(Err(WatchEnd::Closed | WatchEnd::Dead(_))) if streamed.began.elapsed() >= longest => {
                    return Ok(Err(self.lost_connections()));
                }
                Ok(Err(ended)) => return Ok(Err(Some(ended))),
                Err(_) => return Ok(Err(self.lost_connections())),
            };
            self.cluster.counters.note_piece(self.cluster.now_millis());
            match line {
                WatchEvent::Object(object, Seen::Deleted) => streamed.remove(&object),
                WatchEvent::Object(object, _) => {
                    if streamed.add(self.cluster.trim_object(object)) {
                        advanced_at = Instant::now();
                    }
                }
                WatchEvent::Skipped(error) => list::count_skipped(&self.cluster, self.kind, &error),
                WatchEvent::Bookmark(Bookmark { resource_version: Some(position), is_initial_end: true }) => {
                    return Ok(Ok(position));
                }
                WatchEvent::Bookmark(_) => {}
            }
            let waits_since = Instant::now();
            if streamed.objects.len() >= self.cluster.pace().page_size as usize {
                let objects = streamed.take_objects();
                self.send_page(&mut streamed.earlier, objects).await?;
            }
            self.send_progress(streamed.began, streamed.earlier.len() + streamed.objects.len()).await?;
            advanced_at += waits_since.elapsed(); // a slow hub is not the server's fault
            if advanced_at.elapsed() >= self.cluster.pace().page {
                return Ok(Err(self.lost_connections()));
            }
        }
    }

    /// Returns the end of a stream of which nothing came in time, if this process was stopped: then it is not the server's fault.
    fn lost_connections(&self) -> Option<WatchEnd> {
        self.has_lost_connections().then_some(WatchEnd::Lost)
    }

    /// Sends a page to the queue, once there is room for it.
    async fn send_page(&mut self, earlier: &mut Vec<Uid>, objects: Vec<Object>) -> Result<(), HubGone> {
        let permit = self.lists.pages.clone().acquire_owned().await.map_err(|_| HubGone)?;
        earlier.extend(objects.iter().filter_map(|object| object.uid().ok()));
        // An incomplete list does not show which objects are gone.
        let at_millis = self.cluster.now_millis();
        let (kind, namespace) = (self.kind, self.namespace.clone());
        self.send(SourceEvent::Page { kind, namespace, objects, at_millis, permit }).await
    }

    /// Reports the progress of the first list, at most once a second, after it has taken noticeably long. For a later list
    /// reports that it continues after a failed page.
    async fn send_progress(&mut self, began: Instant, objects: usize) -> Result<(), HubGone> {
        const LISTING: &str = "loading what was missed";
        let is_first = self.seen_until.is_none();
        if !is_first && matches!(&self.health, Some(Health::Stale { why, .. }) if why != LISTING) {
            return self.send_stale(Duration::ZERO, LISTING.to_owned()).await;
        }
        let is_news = self.progress_sent.is_none_or(|told| told.elapsed() >= PROGRESS_EVERY);
        if is_first && is_news && began.elapsed() >= PROGRESS_AFTER {
            self.progress_sent = Some(Instant::now());
            self.send_health(Health::Connecting { listed: objects }).await?;
        }
        Ok(())
    }

    async fn send_list(
        &mut self,
        earlier: Vec<Uid>,
        objects: Vec<Object>,
        position: String,
    ) -> Result<Option<String>, HubGone> {
        tracing::debug!(objects = earlier.len() + objects.len(), "listed");
        (self.failed_watches, self.mute) = (0, Duration::ZERO);
        let gap_since_millis = self.seen_until;
        let at_millis = self.note_response();
        self.seen_until = self.seen_until.or(Some(at_millis));
        let (kind, namespace) = (self.kind, self.namespace.clone());
        self.send(SourceEvent::Reset { kind, namespace, earlier, objects, gap_since_millis, at_millis }).await?;
        // If lists are allowed and watches are not, only a working watch proves that all is well.
        if self.health != Some(Health::Forbidden { verb: "watch" }) {
            self.send_health(Health::Live).await?;
        }
        Ok(Some(position))
    }
}

struct StreamedList {
    began: Instant,
    /// UIDs of the objects that the hub has.
    earlier: Vec<Uid>,
    /// The objects since then.
    objects: Vec<Object>,
    /// UIDs of all these objects, without those that were deleted while the list was streamed.
    existing: BTreeSet<Uid>,
}

impl StreamedList {
    fn new() -> Self {
        Self { began: Instant::now(), earlier: Vec::new(), objects: Vec::new(), existing: BTreeSet::new() }
    }

    /// Adds an object; returns whether it is new.
    fn add(&mut self, object: Object) -> bool {
        let is_new = object.uid().is_ok_and(|uid| self.existing.insert(uid));
        self.objects.push(object);
        is_new
    }

    /// Removes a deleted object. The lists are filtered once later, not for each object: a whole namespace may be deleted.
    fn remove(&mut self, object: &Object) {
        if let Ok(uid) = object.uid() {
            self.existing.remove(&uid);
        }
    }

    /// Takes the objects that the hub does not have yet.
    fn take_objects(&mut self) -> Vec<Object> {
        let mut objects = std::mem::take(&mut self.objects);
        objects.retain(|object| object.uid().is_ok_and(|uid| self.existing.contains(&uid)));
        objects
    }

    /// Returns the UIDs of the objects that the hub has and that still exist.
    fn existing_uids(mut self) -> Vec<Uid> {
        self.earlier.retain(|uid| self.existing.contains(uid));
        self.earlier
    }
}
