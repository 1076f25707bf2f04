//! One watch request: its lines, one after the other, until it ends in one way or another. Knows nothing of what came before
//! it or what to do next.

use std::time::Duration;

use futures::TryStreamExt;
use http::StatusCode;
use http_body_util::BodyExt;
use kube::client::Body;
use timeline::fact::{Kind, Seen};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use tokio::sync::watch as signal;
use tokio::time::Instant;
use tokio_util::io::StreamReader;

use super::cluster::Cluster;
use super::error::RequestError;
use super::line::{Bookmark, Status, WatchLine, decode_line};
use super::liveness::{self, Liveness};
use super::pace::Pace;
use super::request;
use crate::kube::translate::{Object, Unusable};

/// Longest watch line that is read, in bytes: above the largest object that etcd stores.
const MAX_LINE: u64 = 8 << 20;
/// Longest time of a list that is streamed, in seconds.
const LIST_SECONDS: u32 = 600;

/// A line of a watch that goes on.
pub(super) enum WatchEvent {
    /// An object.
    Object(Object, Seen),
    /// An object that cannot be used.
    Skipped(Unusable),
    /// A later position.
    Bookmark(Bookmark),
}

/// The beginning of a watch.
#[derive(Clone, Copy)]
pub(super) enum Start<'a> {
    /// Changes since a position.
    Position(&'a str),
    /// Every object that exists, as a list.
    Everything,
}

/// End of a watch.
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

/// A watch under way.
pub(super) struct Stream {
    kind: Kind,
    lines: Box<dyn AsyncBufRead + Send + Unpin>,
    line: Vec<u8>,
    liveness: signal::Receiver<Liveness>,
    losses: u64,
    /// The server was asked to end it before then. What is still there died without a word.
    ends_at: Instant,
}

impl Stream {
    /// Starts a watch.
    pub(super) async fn open(
        cluster: &Cluster,
        kind: Kind,
        namespace: Option<&str>,
        start: Start<'_>,
        mut liveness: signal::Receiver<Liveness>,
    ) -> Result<Self, Ended> {
        let Pace { watch_seconds, watch_margin, .. } = *cluster.pace;
        let collection = request::collection(kind, namespace);
        let mut parameters = vec![("watch", "1".to_owned()), ("allowWatchBookmarks", "true".to_owned())];
        let seconds = match start {
            Start::Position(position) => {
                parameters.push(("resourceVersion", position.to_owned()));
                watch_seconds
            }
            Start::Everything => {
                parameters.push(("sendInitialEvents", "true".to_owned()));
                parameters.push(("resourceVersionMatch", "NotOlderThan".to_owned()));
                LIST_SECONDS
            }
        };
        parameters.push(("timeoutSeconds", seconds.to_string()));
        let path = request::asked(&collection, parameters);
        let losses = liveness.borrow_and_update().losses;
        let ends_at = Instant::now() + Duration::from_secs(seconds.into()) + watch_margin;
        let body: Body = tokio::select! {
            body = request::get(&cluster.access, &cluster.pace, &path) => body.map_err(|error| match error {
                RequestError::Gone(_) => Ended::Expired(error),
                error => Ended::Failed(error),
            })?,
            () = liveness::wait_for_loss(&mut liveness, losses) => return Err(Ended::Lost),
        };
        let lines = StreamReader::new(body.into_data_stream().map_err(std::io::Error::other));
        Ok(Self { kind, lines: Box::new(lines), line: Vec::new(), liveness, losses, ends_at })
    }

    /// The next line.
    pub(super) async fn next(&mut self) -> Result<WatchEvent, Ended> {
        self.line.clear();
        let mut limited = (&mut self.lines).take(MAX_LINE);
        let read = tokio::select! {
            biased; // what is there is read before anything is called dead: a slow hub makes readers late
            read = limited.read_until(b'\n', &mut self.line) => read,
            () = liveness::wait_for_loss(&mut self.liveness, self.losses) => return Err(Ended::Lost),
            () = tokio::time::sleep_until(self.ends_at) => return Err(Ended::Failed(RequestError::Unreachable(
                "a watch did not end in time; its connection is dead".to_owned(),
            ))),
        };
        match read {
            Ok(0) => Err(Ended::Closed),
            Ok(_) => read_line(self.kind, &self.line),
            Err(error) => Err(Ended::Failed(RequestError::Unreachable(format!("the watch failed: {error}")))),
        }
    }
}

fn read_line(kind: Kind, line: &[u8]) -> Result<WatchEvent, Ended> {
    // A line cut off in the middle: the stream is of no more use, but the position is.
    Ok(match decode_line(kind, line).map_err(|error| Ended::Failed(error.into()))? {
        WatchLine::Object(object, seen) => WatchEvent::Object(object, seen),
        WatchLine::Skipped(error) => WatchEvent::Skipped(error),
        WatchLine::Bookmark(bookmark) => WatchEvent::Bookmark(bookmark),
        WatchLine::Error(Status { code, message }) => {
            let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            return Err(match code {
                410 | 400 => Ended::Expired(RequestError::Gone(status)),
                _ => Ended::Failed(RequestError::Status {
                    status,
                    message: timeline::words::safe(&message),
                    retry_after: Duration::ZERO,
                }),
            });
        }
    })
}
