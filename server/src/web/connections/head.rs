//! Reads the head of a connection's first request. A connection holds little memory until then: the code that handles
//! requests needs much. hyper has a timeout for heads too, but allocates 8 KB for each connection: 5,000 half heads
//! would hold 40 MB.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;

use tokio::io::{AsyncRead, ReadBuf};

/// Bytes of one read.
const AT_ONCE: usize = 4 << 10;

/// First bytes of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestHead {
    /// The head of a request with the bytes after it, or everything before the connection ended.
    Complete(Vec<u8>),
    /// The connection ended without a byte.
    Empty,
    /// No request head, for example a TLS handshake without TLS.
    Invalid,
    /// A head that is too long.
    TooLong,
}

/// Reads until the head of a request is complete. Cancelling loses nothing: the connection ends then.
pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin), most: usize) -> io::Result<RequestHead> {
    let (mut come, mut begin) = (Vec::new(), 0);
    loop {
        let known = come.len();
        if read_some(stream, &mut come, most).await? == 0 {
            return Ok(if come.is_empty() { RequestHead::Empty } else { RequestHead::Complete(come) });
        }
        // Empty lines before a head are skipped.
        while come.get(begin).is_some_and(|byte| matches!(byte, b'\r' | b'\n')) {
            begin += 1;
        }
        for (end, byte) in (known + 1..).zip(come.get(known..).unwrap_or_default()) {
            if byte.is_ascii_control() && !matches!(byte, b'\t' | b'\r' | b'\n') {
                return Ok(RequestHead::Invalid);
            }
            let head = come.get(begin..end).unwrap_or_default();
            if head.ends_with(b"\n\n") || head.ends_with(b"\n\r\n") {
                return Ok(RequestHead::Complete(come));
            }
        }
        if come.len() >= most {
            return Ok(RequestHead::TooLong);
        }
    }
}

/// Reads available bytes; allocates no buffer while there are none.
async fn read_some(stream: &mut (impl AsyncRead + Unpin), into: &mut Vec<u8>, most: usize) -> io::Result<usize> {
    poll_fn(|cx| {
        let mut room = [MaybeUninit::uninit(); AT_ONCE];
        let free = most.saturating_sub(into.len()).min(AT_ONCE);
        let mut read = ReadBuf::uninit(room.get_mut(..free).unwrap_or_default());
        let polled = Pin::new(&mut *stream).poll_read(cx, &mut read);
        into.extend_from_slice(read.filled());
        polled.map_ok(|()| read.filled().len())
    })
    .await
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    const MOST: usize = 16 << 10;

    /// Reads a head that arrives in pieces of that size.
    async fn read_of(text: &[u8], piece: usize) -> RequestHead {
        let (mut near, mut far) = tokio::io::duplex(64 << 10);
        let text = text.to_vec();
        let writing = async move {
            for piece in text.chunks(piece) {
                near.write_all(piece).await.unwrap();
                tokio::task::yield_now().await;
            }
        };
        tokio::join!(read(&mut far, MOST), writing).0.unwrap()
    }

    #[tokio::test]
    async fn a_head_is_whole_with_its_empty_line_however_it_comes() {
        for piece in [1, 2, 3, 7, 8_192] {
            for whole in [
                "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "GET / HTTP/1.1\nHost: localhost\n\n",
                "GET / HTTP/1.0\r\n\n",
                "\r\n\r\n\nGET / HTTP/1.1\r\nHost: \u{e4}\r\n\tfolded\r\n\r\n",
            ] {
                // The result does not wait for later bytes.
                let (mut near, mut far) = tokio::io::duplex(64 << 10);
                let reading = tokio::spawn(async move { read(&mut far, MOST).await.unwrap() });
                for piece in whole.as_bytes().chunks(piece) {
                    assert!(!reading.is_finished(), "{whole:?} is whole before its end");
                    near.write_all(piece).await.unwrap();
                    tokio::task::yield_now().await;
                }
                assert_eq!(reading.await.unwrap(), RequestHead::Complete(whole.as_bytes().to_vec()));
            }
        }
    }

    #[tokio::test]
    async fn what_is_no_head_is_not_waited_for() {
        assert_eq!(read_of(b"", 1).await, RequestHead::Empty);
        assert_eq!(read_of(b"GET / HT", 3).await, RequestHead::Complete(b"GET / HT".to_vec()), "there will be no more");
        let mut long = b"GET / HTTP/1.1\r\nX: ".to_vec();
        long.resize(MOST - 4, b'x');
        let fits = [long.as_slice(), b"\r\n\r\n"].concat();
        assert_eq!(read_of(&fits, 1_000).await, RequestHead::Complete(fits.clone()));
        assert_eq!(read_of(&[long.as_slice(), b"x\r\n\r\n"].concat(), 1_000).await, RequestHead::TooLong);
        assert_eq!(read_of(&b"\r\n".repeat(MOST), 1_000).await, RequestHead::TooLong, "lines that say nothing");
    }
}
