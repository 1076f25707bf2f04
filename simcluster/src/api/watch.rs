//! Watches: changes since a revision, then new changes, with bookmarks, until the watch's time is over.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::{BufMut, Bytes, BytesMut};
use http::StatusCode;
use tokio::sync::watch as latest;
use tokio::time::Instant;

use super::read::Selection;
use super::target::Target;
use super::{Cluster, answer, table};
use crate::ApiError;
use crate::change::{Change, Stored, Verb};
use crate::error::Cause;

/// Interval of bookmarks with the newest revision.
const BOOKMARK: Duration = Duration::from_secs(30);
/// Duration of a watch if the client requests none.
const USUAL: Duration = Duration::from_secs(45 * 60);
/// Longest duration, even if the client requests more.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);
/// Size of one chunk in bytes: a slow reader receives its lines in portions of this size.
const CHUNK: usize = 256 * 1024;

struct Watch {
    cluster: Cluster,
    target: Target,
    selection: Selection,
    /// All changes up to this revision were sent.
    revision: u64,
    changed: latest::Receiver<u64>,
    ends: Instant,
    bookmark: Option<Instant>,
    is_over: bool,
    /// The header row of a table was sent: only the first row carries column definitions.
    has_rows: bool,
    /// Objects of the start that are still to be sent.
    initial: Option<std::vec::IntoIter<Arc<Stored>>>,
    ends_initial: bool,
}

/// Answers a watch with a stream of changes since a resourceVersion.
pub fn watch(cluster: &Cluster, target: Target) -> Result<Response, ApiError> {
    let selection = Selection::of(&target)?;
    let asked = match target.option("resourceVersion").map(str::parse::<u64>) {
        None => 0,
        Some(Ok(revision)) => revision,
        Some(Err(_)) => return Err(ApiError::bad_request("invalid resource version")),
    };
    check_initial_events(&target)?;
    let sends_initial = target.is("sendInitialEvents");
    let seconds = target.option("timeoutSeconds").and_then(|text| text.parse().ok()).filter(|seconds| *seconds > 0);
    let now = Instant::now();
    let has_bookmarks = target.is("allowWatchBookmarks");
    let changed = cluster.revision.subscribe();
    let (revision, initial) = if sends_initial || asked == 0 {
        cluster.with(|world| {
            let objects = world.store().list(target.resource, target.namespace.as_deref(), None);
            (world.store().revision(), Some(objects.cloned().collect::<Vec<_>>().into_iter()))
        })
    } else {
        (asked, None)
    };
    let watch = Watch {
        changed,
        revision,
        cluster: cluster.clone(),
        selection,
        ends: now + seconds.map_or(USUAL, |seconds| Duration::from_secs(seconds).min(LONGEST)),
        bookmark: has_bookmarks.then(|| now + BOOKMARK),
        is_over: false,
        has_rows: false,
        initial,
        ends_initial: sends_initial && has_bookmarks,
        target,
    };
    let lines = futures::stream::unfold(watch, |mut watch| async move {
        let bytes = watch.next().await?;
        Some((Ok::<_, std::convert::Infallible>(bytes), watch))
    });
    Ok(answer::json(StatusCode::OK, Body::from_stream(lines)))
}

/// Rejects combinations of options about initial events that Kubernetes rejects.
fn check_initial_events(target: &Target) -> Result<(), ApiError> {
    const MATCH: &str = "resourceVersionMatch";
    let (matching, has_initial) = (target.option(MATCH), target.option("sendInitialEvents").is_some());
    let refuse = |detail: &str| Err(ApiError::invalid_options(vec![Cause::forbidden(MATCH, detail)]));
    match (matching, has_initial) {
        (None, false) | (Some("NotOlderThan"), true) => Ok(()),
        (_, true) => refuse("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        (Some(_), false) => refuse("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"),
    }
}

impl Watch {
    /// Returns the next lines; `None` when the watch is over.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.is_over {
                return None;
            }
            let mut lines = BytesMut::new();
            self.changed.mark_unchanged();
            if self.initial.is_some() {
                self.tell_initial(&mut lines);
            }
            // Skips changes that the selectors do not match, until one matches or none is left.
            while lines.is_empty() && self.tell_changes(&mut lines) {}
            if !lines.is_empty() {
                return Some(lines.freeze());
            }
            let wakes = self.bookmark.map_or(self.ends, |bookmark| bookmark.min(self.ends));
            tokio::select! {
                changed = self.changed.changed() => self.is_over |= changed.is_err(),
                () = tokio::time::sleep_until(wakes) => {
                    let now = Instant::now();
                    self.is_over = now >= self.ends;
                    if self.bookmark.is_some() {
                        self.bookmark = Some(now + BOOKMARK);
                        self.tell_bookmark(&mut lines, false);
                        return Some(lines.freeze());
                    }
                }
            }
        }
    }

    /// Writes the objects of the start as they were then: later writes follow as changes.
    fn tell_initial(&mut self, lines: &mut BytesMut) {
        while let Some(object) = self.initial.as_mut().and_then(Iterator::next) {
            if self.selection.matches(&object).unwrap_or_default() {
                self.tell(lines, "ADDED", &object);
            }
            if lines.len() > CHUNK {
                return;
            }
        }
        self.initial = None;
        if self.ends_initial {
            self.tell_bookmark(lines, true);
        }
    }

    /// Writes some of the pending changes. Returns whether there were any, selected or not.
    fn tell_changes(&mut self, lines: &mut BytesMut) -> bool {
        let (cluster, resource) = (self.cluster.clone(), self.target.resource);
        let found: Result<Vec<Change>, ApiError> = cluster.with(|world| {
            let changes = world.store().since(resource, self.revision);
            let changes = changes.map(|changes| changes.take(500).cloned().collect());
            changes.ok_or_else(|| ApiError::expired(self.revision, world.store().compacted(resource)))
        });
        // As in Kubernetes, an error after the start of a watch is sent as an event of the watch.
        if let Err(error) = &found {
            lines.put_slice(format!("{{\"type\":\"ERROR\",\"object\":{}}}\n", error.status()).as_bytes());
            self.is_over = true;
        }
        let changes = found.unwrap_or_default();
        let is_any = !changes.is_empty();
        for change in changes {
            self.revision = change.object.revision;
            let namespace = change.object.object.meta().namespace.as_deref();
            if self.target.namespace.is_some() && self.target.namespace.as_deref() != namespace {
                continue;
            }
            let fits = |object: &Stored| self.selection.matches(object).unwrap_or_default();
            let was_there = change.before.as_ref().is_some_and(|before| fits(before));
            let is_there = change.verb != Verb::Deleted && fits(&change.object);
            let word = match (was_there, is_there) {
                (false, false) => continue,
                (false, true) => "ADDED",
                (true, true) => "MODIFIED",
                (true, false) => "DELETED",
            };
            self.tell(lines, word, &change.object);
            if lines.len() > CHUNK {
                break;
            }
        }
        is_any
    }

    fn tell(&mut self, lines: &mut BytesMut, word: &str, object: &Arc<Stored>) {
        lines.put_slice(format!("{{\"type\":\"{word}\",\"object\":").as_bytes());
        if table::is_asked_for(&self.target.accept) {
            let now = self.cluster.with(|world| world.now_millis());
            let table = table::table(&self.target, std::slice::from_ref(object), now, !self.has_rows);
            self.has_rows = true;
            lines.put_slice(table.to_string().as_bytes());
        } else {
            lines.put_slice(&object.json());
        }
        lines.put_slice(b"}\n");
    }

    fn tell_bookmark(&mut self, lines: &mut BytesMut, ends_initial: bool) {
        let resource = self.target.resource;
        let annotations = if ends_initial { ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" } else { "" };
        let (kind, version) = if table::is_asked_for(&self.target.accept) {
            ("Table", "meta.k8s.io/v1".to_owned())
        } else {
            (resource.kind(), resource.api_version())
        };
        let line = format!(
            "{{\"type\":\"BOOKMARK\",\"object\":{{\"kind\":\"{kind}\",\"apiVersion\":\"{version}\",\"metadata\":{{\"resourceVersion\":\"{}\"{annotations}}}}}}}\n",
            self.revision
        );
        lines.put_slice(line.as_bytes());
    }
}
