//! Answers, and first frames of streams, that were made and wait to be sent: so many bytes in all and of one client, so that those who read slowly do not fill the
//! memory. What is small is not counted: the system holds as much of each connection.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::access::followers::Follower;

/// What has fewer bytes is not counted.
pub const SMALL: usize = 64 << 10;
/// Bytes that wait at once, in all and of one client. One answer may wait where no other does, whatever its size.
const MOST: usize = 128 << 20;
const MOST_OF_ONE: usize = 32 << 20;
/// Bytes that are handed to a connection at once.
const CHUNK: usize = 64 << 10;

/// Bytes that wait to be sent.
#[derive(Default)]
pub struct Unsent(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    all: usize,
    of_each: HashMap<Follower, usize>,
}

/// An answer waits for as long as this lives.
pub struct Place {
    unsent: Arc<Unsent>,
    whose: Follower,
    bytes: usize,
}

impl Unsent {
    /// One more answer waits; `None` where that is too much. Who came by a link is one with all who came by links of its maker.
    pub fn begin(self: &Arc<Self>, whose: Follower, bytes: usize) -> Option<Place> {
        let whose = whose.by_any_link();
        if bytes < SMALL {
            return Some(Place { unsent: self.clone(), whose, bytes: 0 });
        }
        let mut waiting = self.waiting();
        let own = waiting.of_each.get(&whose).copied().unwrap_or_default();
        let is_full = |waits: usize, most: usize| waits > 0 && waits.saturating_add(bytes) > most;
        if is_full(waiting.all, MOST) || (whose != Follower::Many && is_full(own, MOST_OF_ONE)) {
            return None;
        }
        waiting.all += bytes;
        waiting.of_each.insert(whose.clone(), own + bytes);
        Some(Place { unsent: self.clone(), whose, bytes })
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let mut waiting = self.unsent.waiting();
        waiting.all -= self.bytes;
        if let Some(own) = waiting.of_each.get_mut(&self.whose) {
            *own -= self.bytes;
            if *own == 0 {
                waiting.of_each.remove(&self.whose);
            }
        }
    }
}

/// Bytes that keep something until the last of them is gone.
pub fn keeping(bytes: impl AsRef<[u8]> + Send + 'static, kept: impl Send + 'static) -> Bytes {
    struct WriteStatus<B, K> {
        bytes: B,
        _kept: K,
    }
    impl<B: AsRef<[u8]>, K> AsRef<[u8]> for WriteStatus<B, K> {
        fn as_ref(&self) -> &[u8] {
            self.bytes.as_ref()
        }
    }
    Bytes::from_owner(WriteStatus { bytes, _kept: kept })
}

/// A body that is handed to its connection piece by piece: a connection that has all of it would hold it after this has gone.
pub struct Pieces {
    /// What is left of it.
    pub left: Bytes,
    /// How long it is, is told.
    pub is_sized: bool,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let some = self.left.len().min(CHUNK);
        let piece = self.left.split_to(some);
        Poll::Ready((some > 0).then(|| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_sized { SizeHint::with_exact(self.left.len() as u64) } else { SizeHint::default() }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[test]
    fn so_many_bytes_wait_of_one_client_and_in_all() {
        let unsent = Arc::new(Unsent::default());
        let at = |last| Follower::at([10, 0, 0, last].into());
        let first = unsent.begin(at(1), 2 * MOST_OF_ONE);
        assert!(first.is_some(), "one may wait whatever its size");
        assert!(unsent.begin(at(1), SMALL).is_none(), "another one of the same");
        let others: Vec<_> = (2..4).map(|last| unsent.begin(at(last), MOST_OF_ONE).unwrap()).collect();
        assert!(unsent.begin(at(4), SMALL).is_none() && unsent.begin(Follower::Many, SMALL).is_none(), "in all");
        assert!(unsent.begin(at(4), SMALL - 1).is_some(), "what is small");
        drop(first);
        assert!(unsent.begin(at(1), MOST_OF_ONE).is_some() && unsent.begin(Follower::Many, 2 * MOST_OF_ONE).is_some());
        drop(others);
        let waiting = unsent.waiting();
        assert_eq!((waiting.all, waiting.of_each.len()), (0, 0), "nobody is remembered");
    }

    #[tokio::test]
    async fn what_is_kept_goes_with_the_last_piece() {
        let text = "0123456789".repeat(CHUNK / 4);
        let kept = Arc::new(());
        let mut body = Pieces { left: keeping(text.clone(), kept.clone()), is_sized: true };
        assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
        let mut sent = Vec::new();
        while let Some(frame) = body.frame().await {
            let piece = frame.unwrap().into_data().unwrap();
            assert!(piece.len() <= CHUNK);
            assert_eq!(Arc::strong_count(&kept), 2);
            sent.extend_from_slice(&piece);
        }
        drop(body);
        assert_eq!((String::from_utf8(sent).unwrap(), Arc::strong_count(&kept)), (text, 1));
    }
}
