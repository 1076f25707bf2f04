//! The watch loop of one kind: list, watch from there, relist when the position is lost, never hammer.
//!
//! ```text
//!            ┌────────────── 410 or 400 in any form, or three failures in a row ───────────────┐
//!            ▼                                                                                 │
//!        ┌────────┐  listed   ┌─────────┐  ended after a while: watch again from there   ┌───────────┐
//!  ────► │  list  │ ────────► │  watch  │ ─────────────────────────────────────────────► │ position  │
//!        └────────┘           └─────────┘ ◄───────────────────────────────────────────── └───────────┘
//!            │ failed, forbidden   │ failed, or ended at once
//!            └──────────► wait: full jitter, and never more requests than the token bucket gives
//! ```

use std::time::{Duration, Instant};

use futures::TryStreamExt;
use http_body_util::BodyExt;
use serde::Deserialize;
use serde_json::value::RawValue;
use timeline::Millis;
use timeline::fact::{Kind, Seen};
use tokio::io::AsyncBufReadExt;
use tokio::sync::watch as signal;

use super::backoff::{Backoff, Bucket};
use super::request::{self, RequestError};
use super::{Cluster, Counters, Health, SourceEvent, list};
use crate::translate::Object;

/// Longest watch line that is read, in bytes: above the largest object that etcd stores.
const MAX_LINE: u64 = 8 << 20;

/// The hub is gone: time to end.
struct HubGone;

/// How a watch ended.
enum Ended {
    /// The server closed it, as it does every few minutes.
    Closed,
    /// The position is lost.
    Expired,
    /// The connection gave no life sign; a new one is needed.
    Silent,
    /// It could not be started or broke.
    Failed(RequestError),
}

#[derive(Deserialize)]
struct WatchLine<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct Bookmark {
    metadata: BookmarkMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BookmarkMeta {
    resource_version: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Status {
    code: u16,
    message: String,
}

/// The watch of one kind in one namespace or all.
pub(super) struct Watch {
    cluster: Cluster,
    kind: Kind,
    namespace: Option<String>,
    is_silent: signal::Receiver<bool>,
    started: Instant,
    bucket: Bucket,
    backoff: Backoff,
    last_word: Option<Millis>,
    /// Nothing was missed until then; `None` before the first list.
    seen_until: Option<Millis>,
    health: Option<Health>,
}

impl Watch {
    pub(super) fn new(
        cluster: Cluster,
        kind: Kind,
        namespace: Option<String>,
        is_silent: signal::Receiver<bool>,
    ) -> Self {
        let bucket = Bucket::new(cluster.pace.burst, cluster.pace.earn);
        Self {
            cluster,
            kind,
            namespace,
            is_silent,
            started: Instant::now(),
            bucket,
            backoff: Backoff::default(),
            last_word: None,
            seen_until: None,
            health: None,
        }
    }

    /// Runs until the hub is gone.
    pub(super) async fn run(mut self) {
        if self.tell(Health::Connecting).await.is_err() {
            return;
        }
        let mut position: Option<String> = None;
        loop {
            tokio::time::sleep(self.bucket.take(self.started.elapsed())).await;
            let step = match position.take() {
                None => self.list().await,
                Some(at) => self.watch(at).await,
            };
            match step {
                Ok(next) => position = next,
                Err(HubGone) => return,
            }
        }
    }

    async fn list(&mut self) -> Result<Option<String>, HubGone> {
        match list::list(&self.cluster, self.kind, self.namespace.as_deref()).await {
            Ok(listed) => {
                tracing::debug!(objects = listed.objects.len(), "listed");
                self.backoff.reset();
                let blind_since_millis = self.seen_until;
                let at_millis = self.word();
                self.seen_until = Some(at_millis);
                let (kind, namespace, objects) = (self.kind, self.namespace.clone(), listed.objects);
                self.send(SourceEvent::Reset { kind, namespace, objects, blind_since_millis, at_millis }).await?;
                // Where lists are allowed and watches are not, only a watch that works says that all is well.
                if self.health != Some(Health::Forbidden { verb: "watch" }) {
                    self.tell(Health::Live).await?;
                }
                Ok(Some(listed.resource_version))
            }
            Err(error) => {
                self.failed("list", &error).await?;
                Ok(None)
            }
        }
    }

    async fn watch(&mut self, mut position: String) -> Result<Option<String>, HubGone> {
        Counters::add(&self.cluster.counters.watches);
        let started = Instant::now();
        let ended = self.follow(&mut position).await?;
        if matches!(ended, Ended::Closed) {
            self.seen_until = Some(self.cluster.now_millis()); // an orderly end: everything until now was sent
        }
        let lived = started.elapsed() >= self.cluster.pace.min_watch_lifetime;
        match ended {
            Ended::Closed if lived => Ok(Some(position)),
            Ended::Expired => {
                tracing::info!("position expired; listing again");
                Ok(None)
            }
            Ended::Silent => {
                tracing::warn!("no life sign; reconnecting");
                self.wait_for_life().await;
                Ok(Some(position))
            }
            Ended::Closed => {
                self.failed_watch(position, RequestError::Unreachable("the server closes watches at once".into())).await
            }
            Ended::Failed(error) => self.failed_watch(position, error).await,
        }
    }

    async fn failed_watch(&mut self, position: String, error: RequestError) -> Result<Option<String>, HubGone> {
        self.failed("watch", &error).await?;
        let give_up = matches!(error, RequestError::Forbidden(_))
            || self.backoff.failures() >= self.cluster.pace.failures_before_relist;
        Ok((!give_up).then_some(position))
    }

    /// Watches from `position` and moves it along, until the watch ends.
    async fn follow(&mut self, position: &mut String) -> Result<Ended, HubGone> {
        let collection = request::collection(self.kind, self.namespace.as_deref());
        let seconds = self.cluster.pace.watch_seconds;
        let path = format!(
            "{collection}?watch=1&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={position}"
        );
        let body = tokio::select! {
            body = request::get(&self.cluster.client, &path) => body,
            () = silence(&mut self.is_silent) => return Ok(Ended::Silent),
        };
        let body = match body {
            Ok(body) => body,
            Err(RequestError::Gone(_)) => return Ok(Ended::Expired),
            Err(error) => return Ok(Ended::Failed(error)),
        };
        self.tell(Health::Live).await?;
        let stream = body.into_data_stream().map_err(std::io::Error::other).into_async_read();
        let mut lines = tokio::io::BufReader::new(tokio_util::compat::FuturesAsyncReadCompatExt::compat(stream));
        let mut line = String::new();
        loop {
            line.clear();
            let mut limited = tokio::io::AsyncReadExt::take(&mut lines, MAX_LINE);
            let read = tokio::select! {
                read = limited.read_line(&mut line) => read,
                () = silence(&mut self.is_silent) => return Ok(Ended::Silent),
            };
            match read {
                Ok(0) => return Ok(Ended::Closed),
                Ok(_) => {}
                Err(error) => {
                    return Ok(Ended::Failed(RequestError::Unreachable(format!("the watch broke: {error}"))));
                }
            }
            if let Some(ended) = self.line(&line, position).await? {
                return Ok(ended);
            }
        }
    }

    async fn line(&mut self, line: &str, position: &mut String) -> Result<Option<Ended>, HubGone> {
        let parsed: WatchLine<'_> = match serde_json::from_str(line) {
            Ok(parsed) => parsed,
            // A line cut off in the middle: the stream is of no more use, but the position is.
            Err(error) => return Ok(Some(Ended::Failed(error.into()))),
        };
        let seen = match parsed.r#type {
            "ADDED" => Seen::Added,
            "MODIFIED" => Seen::Modified,
            "DELETED" => Seen::Deleted,
            "BOOKMARK" => {
                self.word();
                if let Ok(bookmark) = serde_json::from_str::<Bookmark>(parsed.object.get()) {
                    *position = bookmark.metadata.resource_version;
                    self.backoff.reset();
                }
                return Ok(None);
            }
            _ => {
                let status: Status = serde_json::from_str(parsed.object.get()).unwrap_or_default();
                return Ok(Some(match status.code {
                    410 | 400 => Ended::Expired,
                    code => {
                        let code = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
                        Ended::Failed(RequestError::Status(code, timeline::words::safe(&status.message)))
                    }
                }));
            }
        };
        Counters::add(&self.cluster.counters.events);
        let at_millis = self.word();
        match Object::decode(self.kind, parsed.object.get()).and_then(|object| object.uid().map(|_| object)) {
            Ok(object) => {
                if let Some(version) = object.resource_version() {
                    position.clone_from(version);
                }
                self.backoff.reset();
                self.send(SourceEvent::Object { object, seen, at_millis }).await?;
            }
            Err(error) => list::skipped(&self.cluster, &error),
        }
        Ok(None)
    }

    async fn failed(&mut self, verb: &'static str, error: &RequestError) -> Result<(), HubGone> {
        Counters::add(&self.cluster.counters.failures);
        let looked_at = self.cluster.viewers.count() > 0;
        let [watched, alone] = self.cluster.pace.max_backoff;
        let wait = self.backoff.fail(
            self.cluster.pace.first_backoff,
            if looked_at { watched } else { alone },
            fastrand::f64(),
        );
        if matches!(error, RequestError::Forbidden(_)) {
            tracing::warn!(%error, verb, "forbidden");
            self.tell(Health::Forbidden { verb }).await?;
        } else {
            tracing::warn!(%error, verb, wait_millis = wait.as_millis(), "failed; trying again");
            let clock = *self.cluster.clock.borrow();
            let since_millis = *self.last_word.get_or_insert(clock.now_millis());
            let retry_at_millis = clock.after(wait);
            self.tell(Health::Stale { since_millis, retry_at_millis, why: error.to_string() }).await?;
        }
        tokio::time::sleep(wait).await;
        Ok(())
    }

    /// Waits until the cluster answers again, or a while.
    async fn wait_for_life(&mut self) {
        let _ = tokio::time::timeout(Duration::from_secs(30), self.is_silent.wait_for(|silent| !silent)).await;
    }

    fn word(&mut self) -> Millis {
        let now = self.cluster.now_millis();
        self.last_word = Some(now);
        if self.seen_until.is_some() {
            self.seen_until = self.last_word;
        }
        now
    }

    async fn tell(&mut self, health: Health) -> Result<(), HubGone> {
        if self.health.as_ref() == Some(&health) {
            return Ok(());
        }
        self.health = Some(health.clone());
        self.send(SourceEvent::Health { kind: self.kind, namespace: self.namespace.clone(), health }).await
    }

    async fn send(&self, event: SourceEvent) -> Result<(), HubGone> {
        self.cluster.events.send(event).await.map_err(|_| HubGone)
    }
}

/// Returns when the cluster has fallen silent; never if it does not.
async fn silence(is_silent: &mut signal::Receiver<bool>) {
    if is_silent.wait_for(|silent| *silent).await.is_err() {
        std::future::pending::<()>().await;
    }
}
