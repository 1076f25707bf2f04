//! One watch request: reads its lines until it ends. Independent of earlier and later requests.

use std::pin::Pin;
use std::time::Duration;

use futures::TryStreamExt;
use futures::future::BoxFuture;
use http_body_util::BodyExt;
use kube::client::Body;
use timeline::fact::Kind;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use tokio::sync::watch as signal;
use tokio::time::{Instant, Sleep};
use tokio_util::io::StreamReader;

use super::cluster::Cluster;
use super::error::RequestError;
use super::line::{WatchEvent, decode_line};
use super::liveness::{self, Liveness};
use super::request;

/// Longest watch line that is read, in bytes. The largest object in etcd has 1.5 MiB, and its line up to six times as many: API
/// servers write `<`, `>` and `&` as `\u003c`, `\u003e` and `\u0026`.
const MAX_LINE: u64 = 16 << 20;

pub(super) enum WatchEnd {
    /// The server closed it, as it does every few minutes.
    Closed,
    /// All connections of the cluster count as lost; a new one is needed.
    Lost,
    /// The reader ended it, because a new list was requested.
    Left,
    /// It is still open after the time at which the server should have ended it: its connection is dead.
    Dead(RequestError),
    /// It could not be started, broke, or its resource version has expired.
    Failed(RequestError),
}

/// A watch in progress.
pub(super) struct Stream {
    kind: Kind,
    lines: Box<dyn AsyncBufRead + Send + Unpin>,
    line: Vec<u8>,
    /// Completes when all connections of the cluster are lost. One future for all lines.
    lost: BoxFuture<'static, ()>,
    /// Time after which a watch that is still open is dead, because the server should have ended it. One timer for all lines.
    end: Pin<Box<Sleep>>,
}

impl Stream {
    /// Requests the changes since a position; without a position, all existing objects like a list. The server ends the stream
    /// after this many seconds.
    pub(super) async fn open(
        cluster: &Cluster,
        kind: Kind,
        namespace: Option<&str>,
        position: Option<&str>,
        seconds: u32,
        mut liveness: signal::Receiver<Liveness>,
    ) -> Result<Self, WatchEnd> {
        let start = match position {
            Some(position) => vec![("resourceVersion", position)],
            None => vec![("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")],
        };
        let lasts = seconds.to_string();
        let watch = [("watch", "1"), ("allowWatchBookmarks", "true"), ("timeoutSeconds", lasts.as_str())];
        let path = request::path_with_query(&request::collection(kind, namespace), watch.into_iter().chain(start));
        let losses = liveness.borrow_and_update().losses;
        let mut lost: BoxFuture<'static, ()> =
            Box::pin(async move { liveness::wait_until(&mut liveness, |now| now.losses != losses).await });
        let ends_at = Instant::now() + Duration::from_secs(seconds.into()) + cluster.pace().watch_margin;
        let body: Body = tokio::select! {
            body = request::get(&cluster.access, &path) => body.map_err(WatchEnd::Failed)?,
            () = &mut lost => return Err(WatchEnd::Lost),
        };
        let lines = StreamReader::new(body.into_data_stream().map_err(std::io::Error::other));
        let end = Box::pin(tokio::time::sleep_until(ends_at));
        Ok(Self { kind, lines: Box::new(lines), line: Vec::new(), lost, end })
    }

    pub(super) async fn next(&mut self) -> Result<WatchEvent, WatchEnd> {
        self.line.clear();
        let mut limited = (&mut self.lines).take(MAX_LINE);
        let read = tokio::select! {
            biased; // lines that have arrived are read before the watch counts as dead: a slow hub delays readers
            read = limited.read_until(b'\n', &mut self.line) => read,
            () = &mut self.lost => return Err(WatchEnd::Lost),
            () = self.end.as_mut() => return Err(WatchEnd::Dead(RequestError::Unreachable(
                "a watch did not end in time; its connection is dead".to_owned(),
            ))),
        };
        match read {
            Ok(0) => Err(WatchEnd::Closed),
            // After a line that was cut off the stream is unusable, but the position is still valid.
            Ok(_) => decode_line(self.kind, &self.line).map_err(WatchEnd::Failed),
            Err(error) => Err(WatchEnd::Failed(RequestError::Unreachable(format!("the watch failed: {error}")))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::io::Cursor;

    use timeline::fact::Seen;

    use super::*;

    #[tokio::test]
    async fn the_largest_object_of_etcd_is_read_whatever_its_characters() {
        let escaped = "\\u003c".repeat(1_536 << 10);
        let metadata = format!(r#"{{"uid":"00000000-0000-4000-8000-000000000001","annotations":{{"a":"{escaped}"}}}}"#);
        let line = format!(r#"{{"type":"MODIFIED","object":{{"metadata":{metadata}}}}}"#) + "\n";
        let mut stream = Stream {
            kind: Kind::Pod,
            lines: Box::new(Cursor::new(line)),
            line: Vec::new(),
            lost: Box::pin(pending()),
            end: Box::pin(tokio::time::sleep(Duration::from_secs(60))),
        };
        assert!(matches!(stream.next().await, Ok(WatchEvent::Object(_, Seen::Modified))));
        assert!(matches!(stream.next().await, Err(WatchEnd::Closed)));
    }
}
