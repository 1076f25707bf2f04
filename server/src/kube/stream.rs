//! One watch request: its lines, one after the other, until it ends in one way or another. Knows nothing of what came before
//! it or what to do next.

use futures::TryStreamExt;
use http_body_util::BodyExt;
use kube::client::Body;
use serde::Deserialize;
use serde_json::value::RawValue;
use timeline::fact::{Kind, Seen};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::sync::watch as signal;
use tokio::time::Instant;

use super::cluster::Cluster;
use super::error::RequestError;
use super::liveness::{self, Life};
use super::pace::Pace;
use super::request;
use crate::kube::translate::{Object, Unusable};

/// Longest watch line that is read, in bytes: above the largest object that etcd stores.
const MAX_LINE: u64 = 8 << 20;

/// What a line says.
pub(super) enum WatchEvent {
    /// An object.
    Object(Box<Object>, Seen),
    /// One that cannot be used.
    Skipped(Unusable),
    /// A later position; `None` if it cannot be read.
    Bookmark(Option<String>),
}

/// How a watch ended.
pub(super) enum Ended {
    /// The server closed it, as it does every few minutes.
    Closed,
    /// The position is lost.
    Expired(RequestError),
    /// Connections were lost all at once; a new one is needed.
    Lost,
    /// It was left, as everything is to be listed anew.
    Left,
    /// It could not be started, broke, or did not end when it should.
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

/// A watch under way.
pub(super) struct Stream {
    kind: Kind,
    lines: Box<dyn AsyncBufRead + Send + Unpin>,
    text: String,
    life: signal::Receiver<Life>,
    losses: u64,
    /// The server was asked to end it before then. What is still there died without a word.
    ends_at: Instant,
}

impl Stream {
    /// Starts a watch from a position.
    pub(super) async fn open(
        cluster: &Cluster,
        kind: Kind,
        namespace: Option<&str>,
        position: &str,
        mut life: signal::Receiver<Life>,
    ) -> Result<Self, Ended> {
        let Pace { watch_seconds, watch_margin, .. } = *cluster.pace;
        let collection = request::collection(kind, namespace);
        let parameters = [
            ("watch", "1".to_owned()),
            ("allowWatchBookmarks", "true".to_owned()),
            ("timeoutSeconds", watch_seconds.to_string()),
            ("resourceVersion", position.to_owned()),
        ];
        let path = request::asked(&collection, parameters);
        let losses = life.borrow_and_update().losses;
        let ends_at = Instant::now() + std::time::Duration::from_secs(watch_seconds.into()) + watch_margin;
        let body: Body = tokio::select! {
            body = request::get(&cluster.access, &cluster.pace, &path) => body.map_err(|error| match error {
                RequestError::Gone(_) => Ended::Expired(error),
                error => Ended::Failed(error),
            })?,
            () = liveness::lost(&mut life, losses) => return Err(Ended::Lost),
        };
        let bytes = body.into_data_stream().map_err(std::io::Error::other).into_async_read();
        let bytes = tokio_util::compat::FuturesAsyncReadCompatExt::compat(bytes);
        Ok(Self { kind, lines: Box::new(BufReader::new(bytes)), text: String::new(), life, losses, ends_at })
    }

    /// The next line.
    pub(super) async fn next(&mut self) -> Result<WatchEvent, Ended> {
        self.text.clear();
        let mut limited = (&mut self.lines).take(MAX_LINE);
        let read = tokio::select! {
            biased; // what is there is read before anything is called dead: a slow hub makes readers late
            read = limited.read_line(&mut self.text) => read,
            () = liveness::lost(&mut self.life, self.losses) => return Err(Ended::Lost),
            () = tokio::time::sleep_until(self.ends_at) => return Err(Ended::Failed(RequestError::Unreachable(
                "a watch did not end in time; its connection is dead".to_owned(),
            ))),
        };
        match read {
            Ok(0) => Err(Ended::Closed),
            Ok(_) => read_line(self.kind, &self.text),
            Err(error) => Err(Ended::Failed(RequestError::Unreachable(format!("the watch failed: {error}")))),
        }
    }
}

fn read_line(kind: Kind, text: &str) -> Result<WatchEvent, Ended> {
    // A line cut off in the middle: the stream is of no more use, but the position is.
    let parsed: WatchLine<'_> = serde_json::from_str(text).map_err(|error| Ended::Failed(error.into()))?;
    let seen = match parsed.r#type {
        "ADDED" => Seen::Added,
        "MODIFIED" => Seen::Modified,
        "DELETED" => Seen::Deleted,
        "BOOKMARK" => {
            let bookmark = serde_json::from_str::<Bookmark>(parsed.object.get());
            return Ok(WatchEvent::Bookmark(bookmark.ok().map(|bookmark| bookmark.metadata.resource_version)));
        }
        _ => {
            let status: Status = serde_json::from_str(parsed.object.get()).unwrap_or_default();
            let code = http::StatusCode::from_u16(status.code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
            return Err(match status.code {
                410 | 400 => Ended::Expired(RequestError::Gone(code)),
                _ => Ended::Failed(RequestError::Status {
                    status: code,
                    message: timeline::words::safe(&status.message),
                    retry_after: std::time::Duration::ZERO,
                }),
            });
        }
    };
    Ok(match Object::decode(kind, parsed.object.get()).and_then(|object| object.uid().map(|_| object)) {
        Ok(object) => WatchEvent::Object(Box::new(object), seen),
        Err(error) => WatchEvent::Skipped(error),
    })
}
