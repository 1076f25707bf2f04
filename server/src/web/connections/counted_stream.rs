//! A connection that is counted while it is open, and ends when its client reads too slowly.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::access::clients::UsageGuard;

/// Longest delay of a reader.
const MOST_BEHIND: Duration = Duration::from_secs(60);
/// Minimum bytes per second of a reader while data waits: buffers for a slower one would be held for hours.
const LEAST_PER_SECOND: f64 = 1024.0;

/// A connection of any protocol: websockets outlive the requests that they were upgraded from.
pub(super) struct CountedStream<S> {
    /// Bytes that were read before and are read again first.
    head: Bytes,
    stream: S,
    delay: ReaderDelay,
    _open: Option<UsageGuard<IpAddr>>,
    /// Data is awaited from the client, not only its next request: nothing was sent to it yet, or a request has begun
    /// since.
    is_awaited: Arc<AtomicBool>,
}

impl<S> CountedStream<S> {
    pub(super) fn new(head: Bytes, stream: S, open: Option<UsageGuard<IpAddr>>, is_awaited: Arc<AtomicBool>) -> Self {
        Self { head, stream, delay: ReaderDelay::default(), _open: open, is_awaited }
    }

    /// Records how much the client took; returns an error if it is too far behind.
    fn count_written(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(bytes)) => {
                self.delay.add_taken(bytes);
                if bytes > 0 {
                    self.is_awaited.store(false, Ordering::Relaxed);
                }
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => return self.delay.poll_wait(cx).map(Err),
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CountedStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.head.is_empty() {
            let some = self.head.len().min(buf.remaining());
            buf.put_slice(&self.head.split_to(some));
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.is_awaited.store(true, Ordering::Relaxed);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CountedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.count_written(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        all: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, all);
        self.count_written(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        // A TLS session buffers some of what was written.
        self.count_written(cx, flushed.map_ok(|()| 0)).map_ok(|_| ())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.count_written(cx, closed.map_ok(|()| 0)).map_ok(|_| ())
    }
}

/// Delay of a reader behind the minimum rate: each second with waiting data adds one, each byte taken subtracts its
/// share.
#[derive(Default)]
struct ReaderDelay {
    behind: Duration,
    /// Time since which data waits.
    waits_since: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl ReaderDelay {
    fn add_taken(&mut self, bytes: usize) {
        if let Some(since) = self.waits_since.take() {
            self.behind += since.elapsed();
        }
        self.behind = self.behind.saturating_sub(Duration::from_secs_f64(bytes as f64 / LEAST_PER_SECOND));
    }

    /// Measures how long data waits; ready as soon as the reader is too far behind.
    fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        let since = *self.waits_since.get_or_insert_with(Instant::now);
        let until = since + MOST_BEHIND.saturating_sub(self.behind);
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if timer.deadline() != until {
            timer.as_mut().reset(until);
        }
        timer.as_mut().poll(cx).map(|()| io::Error::new(io::ErrorKind::TimedOut, "the client reads too slowly"))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;
    use crate::web::connections::Connections;

    /// Returns a connection whose client buffers one KB.
    fn connection() -> (CountedStream<DuplexStream>, DuplexStream) {
        let (own, other) = duplex(1 << 10);
        let open = Connections::default().enter([10, 0, 0, 1].into(), false);
        (CountedStream::new(Bytes::new(), own, open, Arc::default()), other)
    }

    /// Returns the time after which a write of so many bytes ends, and its error, while the client reads `bytes` every `every` seconds.
    async fn write(much: usize, bytes: usize, every: u64) -> (Duration, io::Result<()>) {
        let ((mut own, mut other), began) = (connection(), Instant::now());
        let reading = tokio::spawn(async move {
            let mut taken = vec![0; bytes];
            loop {
                tokio::time::sleep(Duration::from_secs(every)).await;
                if other.read_exact(&mut taken).await.is_err() {
                    return;
                }
            }
        });
        let written = own.write_all(&vec![0; much]).await;
        reading.abort();
        (began.elapsed(), written)
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_a_byte_now_and_then_is_hung_up_on_after_a_minute() {
        for (bytes, every) in [(1, 50), (1, 1), (500, 10), (0, 3_600)] {
            let (took, written) = write(1 << 20, bytes, every).await;
            assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut, "{bytes} bytes every {every} s");
            assert!((60..=70).contains(&took.as_secs()), "{bytes} bytes every {every} s: {took:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_reads_slowly_but_steadily_has_all_of_it_and_so_has_who_stops_for_less_than_a_minute() {
        for (bytes, every) in [(2 << 10, 1), (100 << 10, 55)] {
            let (took, written) = write(1 << 20, bytes, every).await;
            assert!(written.is_ok() && took.as_secs() > 300, "{bytes} bytes every {every} s: {took:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn while_nothing_waits_nobody_is_behind() {
        let (mut own, mut other) = connection();
        for _ in 0..10 {
            own.write_all(&[0; 1 << 10]).await.unwrap();
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            other.read_exact(&mut [0; 1 << 10]).await.unwrap();
        }
    }
}
