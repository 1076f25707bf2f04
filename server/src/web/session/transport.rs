//! Sends messages to a viewer, within a limited time.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message};
use futures::{Sink, SinkExt};
use timeline::wire::{self, ServerFrame};

/// A viewer that takes no frame for this long is gone.
const SEND_LIMIT: Duration = Duration::from_secs(15);

/// Why a session ends.
pub(super) enum SessionEnd {
    Left,
    /// The viewer gets a code and a text with the reason.
    Closed(u16, String),
    Broken,
}

/// Closes the stream with a code and a reason of at most 123 bytes.
pub(super) async fn close_with(out: &mut (impl Sink<Message> + Unpin), code: u16, reason: String) {
    let frame = CloseFrame { code, reason: reason.into() };
    let _ = tokio::time::timeout(SEND_LIMIT, out.send(Message::Close(Some(frame)))).await; // the viewer may be gone
    close(out).await;
}

/// Closes the stream. A viewer that does not read any more may delay that: earlier frames come first.
pub(super) async fn close(out: &mut (impl Sink<Message> + Unpin)) {
    let _ = tokio::time::timeout(SEND_LIMIT, out.close()).await; // the connection is dropped in either case
}

pub(super) async fn send_frame(out: &mut (impl Sink<Message> + Unpin), frame: &ServerFrame) -> Result<(), SessionEnd> {
    let bytes = wire::encode(frame).map_err(|_| SessionEnd::Broken)?;
    send(out, Message::Binary(bytes.into())).await
}

pub(super) async fn send(out: &mut (impl Sink<Message> + Unpin), message: Message) -> Result<(), SessionEnd> {
    match tokio::time::timeout(SEND_LIMIT, out.send(message)).await {
        Ok(Ok(())) => Ok(()),
        _ => Err(SessionEnd::Broken),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_viewer_that_takes_nothing_is_let_go_of_in_time() {
        let never = |(), _: Message| std::future::pending::<Result<(), ()>>();
        let mut full = Box::pin(futures::sink::unfold((), never));
        let began = Instant::now();
        assert!(send(&mut full, Message::Binary(Bytes::new())).await.is_err());
        close(&mut full).await;
        assert!(began.elapsed() < 3 * SEND_LIMIT);
    }
}
