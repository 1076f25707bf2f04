//! Bytes of responses and first stream frames that wait to be sent, limited in all and for each client, so that slow readers do not
//! fill the memory. Small ones do not count: the system buffers as much for each connection.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::access::clients::{ClientKey, Usage, UsageGuard};

/// Responses with fewer bytes are not counted.
pub const SMALL: usize = 64 << 10;
/// Most bytes that wait at once, in all and for one client. A single response may wait whatever its size.
const MOST_BYTES: usize = 128 << 20;
const BYTES_PER_CLIENT: usize = 32 << 20;
/// Bytes that are handed to a connection at once.
const CHUNK: usize = 64 << 10;

/// Bytes of responses that wait to be sent.
#[derive(Default)]
pub struct SendQueue(Arc<Usage<ClientKey>>);

impl SendQueue {
    /// Adds a response; `None` if too many bytes are waiting. All links of one maker count as one client.
    pub fn begin(&self, client: ClientKey, bytes: usize) -> Option<UsageGuard<ClientKey>> {
        let client = client.of_any_link();
        if bytes < SMALL {
            return self.0.enter(client, 0, |_, _| true);
        }
        let is_full = |waiting: usize, most: usize| waiting > 0 && waiting.saturating_add(bytes) > most;
        let is_one = client != ClientKey::Shared;
        self.0.enter(client, bytes, |all, own| !(is_full(all, MOST_BYTES) || is_one && is_full(own, BYTES_PER_CLIENT)))
    }
}

/// Returns bytes that hold a value until the last of them is gone.
pub fn owned_bytes(bytes: impl AsRef<[u8]> + Send + 'static, kept: impl Send + 'static) -> Bytes {
    struct OwnedBytes<B, K> {
        bytes: B,
        _kept: K,
    }
    impl<B: AsRef<[u8]>, K> AsRef<[u8]> for OwnedBytes<B, K> {
        fn as_ref(&self) -> &[u8] {
            self.bytes.as_ref()
        }
    }
    Bytes::from_owner(OwnedBytes { bytes, _kept: kept })
}

/// A body that is sent in chunks: a connection that took all of it at once would hold it after this is dropped.
pub struct ChunkedBody {
    /// The remaining bytes.
    pub left: Bytes,
    /// The response has a Content-Length.
    pub is_sized: bool,
}

impl Body for ChunkedBody {
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
    use super::*;

    #[test]
    fn so_many_bytes_wait_of_one_client_and_in_all() {
        let unsent = SendQueue::default();
        let at = |last| ClientKey::of_address([10, 0, 0, last].into());
        let first = unsent.begin(at(1), 2 * BYTES_PER_CLIENT);
        assert!(first.is_some(), "one may wait whatever its size");
        assert!(unsent.begin(at(1), SMALL).is_none(), "another one of the same");
        let others: Vec<_> = (2..4).map(|last| unsent.begin(at(last), BYTES_PER_CLIENT).unwrap()).collect();
        assert!(unsent.begin(at(4), SMALL).is_none() && unsent.begin(ClientKey::Shared, SMALL).is_none(), "in all");
        assert!(unsent.begin(at(4), SMALL - 1).is_some(), "what is small");
        drop(first);
        assert!(
            unsent.begin(at(1), BYTES_PER_CLIENT).is_some()
                && unsent.begin(ClientKey::Shared, 2 * BYTES_PER_CLIENT).is_some()
        );
        drop(others);
        assert_eq!(unsent.0.total(), 0);
    }
}
