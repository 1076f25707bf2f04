//! Requests that never end, and connections that are one too many.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use server::web::connections::{Connections, serve};
use server::web::http::router;
use server::web::limits::Limit;
use server::web::state::Site;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::live::program::{Serving, kubeconfig};
use crate::pages::site::site_of;

async fn site() -> (std::net::SocketAddr, Arc<Connections>) {
    site_behind(|_| false).await
}

/// The same, where connections come from trusted proxies.
async fn site_behind(is_trusted: impl Fn(IpAddr) -> bool + Send + 'static) -> (std::net::SocketAddr, Arc<Connections>) {
    site_with(None, is_trusted).await
}

/// The same, with one connection in use, and no room for another one.
async fn full_site() -> (std::net::SocketAddr, Arc<Connections>, TcpStream) {
    let (address, connections) = site_with(Some(Arc::new(Connections::at_most(1))), |_| false).await;
    let first = begin(address, "GET /").await;
    crate::common::until::until("it is there", async || connections.count() == 1).await;
    (address, connections, first)
}

async fn site_with(
    limited: Option<Arc<Connections>>,
    is_trusted: impl Fn(IpAddr) -> bool + Send + 'static,
) -> (std::net::SocketAddr, Arc<Connections>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let rollcast = site_of(Vec::new(), Site::default());
    let connections = limited.unwrap_or_else(|| rollcast.connections.clone());
    tokio::spawn(serve(listener, router(rollcast), connections.clone(), is_trusted, None));
    (address, connections)
}

async fn answer(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all).await; // cut off is an answer as well
    String::from_utf8_lossy(&all).into_owned()
}

async fn begin(address: std::net::SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn headers_that_never_end_are_cut_off_and_keep_nobody_waiting() {
    let (address, connections) = site().await;
    let began = Instant::now();
    let slow = join_all((0..100).map(|_| begin(address, "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "))).await;
    let mut quick = begin(address, "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n").await;
    assert!(answer(&mut quick).await.ends_with("ok\n"));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let ended = join_all(slow.into_iter().map(|mut stream| async move {
        tokio::time::timeout(Duration::from_secs(20), answer(&mut stream)).await.is_ok()
    }));
    assert!(ended.await.into_iter().all(|is_ended| is_ended));
    let took = began.elapsed();
    assert!(took > Duration::from_secs(8) && took < Duration::from_secs(16), "{took:?}");
    crate::common::until::until("all are gone", async || connections.count() == 0).await;
    assert_eq!(connections.limits.count(Limit::Headers), 100, "each of them is counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_connections_are_taken_than_the_system_lets_the_program_have() {
    let api = crate::live::support::shop().await;
    let serving = Serving::with_descriptors(&kubeconfig(&api, "shop"), 64, 300);
    let address = serving.address.parse().unwrap();
    let health = format!("GET /healthz HTTP/1.0\r\nHost: {address}\r\n\r\n");
    let mut open = Vec::new();
    for _ in 0..99 {
        open.push(TcpStream::connect(address).await.unwrap());
    }
    assert!(answer(&mut begin(address, &health).await).await.ends_with("ok\n"), "more than it may have at first");
    // Who is one too many is told so: there are descriptors for that, and for probes.
    let page = format!("GET / HTTP/1.0\r\nHost: {address}\r\n\r\n");
    crate::common::until::until("there is no room", async || {
        open.push(TcpStream::connect(address).await.unwrap()); // some may have been let go of since
        answer(&mut begin(address, &page).await).await.contains("503 Service Unavailable")
    })
    .await;
    assert!(answer(&mut begin(address, &health).await).await.ends_with("ok\n"), "a probe");
    drop(open);
    crate::common::until::until("there is room again", async || {
        answer(&mut begin(address, &page).await).await.contains("200 OK")
    })
    .await;
}

#[tokio::test]
async fn a_connection_that_nobody_uses_any_more_meets_no_limit() {
    let (address, connections) = site().await;
    let whole = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut idle = begin(address, whole).await;
    // Another one begins to ask once more and does not end.
    let mut slow = begin(address, whole).await;
    let mut head = [0; 12];
    slow.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    slow.write_all(b"GET / HTTP/1.1\r\nX-Slow: ").await.unwrap();
    let ended = futures::future::join(answer(&mut idle), answer(&mut slow));
    tokio::time::timeout(Duration::from_secs(20), ended).await.unwrap();
    crate::common::until::until("all are gone", async || connections.count() == 0).await;
    assert_eq!(connections.limits.count(Limit::Headers), 1, "the one that did not end what it asked");
}

#[tokio::test]
async fn a_proxy_may_ask_again_on_a_connection_that_was_idle() {
    let (address, _) = site_behind(|_| true).await;
    let (direct, _) = site().await;
    let whole = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut stream = begin(address, whole).await;
    let mut other = begin(direct, whole).await;
    for _ in 0..2 {
        let mut told = Vec::new();
        while !told.ends_with(b"ok\n") {
            assert_ne!(stream.read_buf(&mut told).await.unwrap(), 0, "it was closed");
        }
        // Until somebody else's is closed.
        answer(&mut other).await;
        stream.write_all(whole.as_bytes()).await.unwrap();
    }
}

#[tokio::test]
async fn headers_without_end_are_refused() {
    let (address, _) = site().await;
    let mut stream = begin(address, "GET / HTTP/1.1\r\nHost: localhost\r\n").await;
    for index in 0..200 {
        // It may have hung up by now.
        let _ = stream.write_all(format!("X-{index}: {}\r\n", "x".repeat(400)).as_bytes()).await;
    }
    let text = answer(&mut stream).await;
    assert!(text.is_empty() || text.starts_with("HTTP/1.1 431"), "{text}");
    // As much as a head may have, and not its end.
    let mut stream = begin(address, &format!("{:x<1$}", "GET / HTTP/1.1\r\nX-Long: ", 16 << 10)).await;
    assert!(answer(&mut stream).await.starts_with("HTTP/1.1 431"));
    // The same of the second request of a connection.
    let mut stream = begin(address, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    stream.read_exact(&mut [0; 12]).await.unwrap();
    let _ = stream.write_all(format!("{:x<1$}", "GET / HTTP/1.1\r\nX-Long: ", 16 << 10).as_bytes()).await;
    let text = answer(&mut stream).await;
    assert!(text.contains("HTTP/1.1 431"), "{text}");
    let mut after = begin(address, "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n").await;
    assert!(answer(&mut after).await.ends_with("ok\n"));
}

#[tokio::test]
async fn one_connection_too_many_is_told_to_come_again() {
    let (address, connections, _first) = full_site().await;
    let page = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let text = answer(&mut begin(address, page).await).await;
    assert!(text.starts_with("HTTP/1.1 503") && text.contains("Retry-After: 5"), "{text}");
    // Probes are answered, and nothing after them.
    for (probe, end) in [("/healthz", "ok\n"), ("/readyz?verbose", "}")] {
        let both = format!("GET {probe} HTTP/1.1\r\nHost: localhost\r\n\r\n{page}");
        let text = answer(&mut begin(address, &both).await).await;
        assert!(text.starts_with("HTTP/1.1 200") && text.contains("connection: close"), "{text}");
        assert!(text.ends_with(end) && text.matches("HTTP/1.1").count() == 1, "{text}");
    }
    assert_eq!((connections.limits.count(Limit::Connections), connections.count()), (1, 1), "no probe was refused");
}

#[tokio::test]
async fn silent_connections_over_the_limit_keep_no_probe_waiting() {
    let (address, connections, _within) = full_site().await;
    let probe = "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n";
    let mut first = begin(address, probe).await;
    let mut silent = join_all((0..100).map(|_| begin(address, "GET /"))).await;
    let mut last = begin(address, probe).await;
    assert!(answer(&mut first).await.ends_with("ok\n") && answer(&mut last).await.ends_with("ok\n"));
    // The newest wait; the others make room long before a head is late.
    let ended = join_all(silent.iter_mut().map(|stream| tokio::time::timeout(Duration::from_secs(2), answer(stream))));
    let ended = ended.await.iter().filter(|ended| ended.is_ok()).count();
    assert_eq!(ended, 100 - 31, "the last probe was one of 32");
    assert_eq!((connections.limits.count(Limit::Connections), connections.limits.count(Limit::Headers)), (69, 0));
}

#[tokio::test]
async fn a_stream_counts_for_as_long_as_it_is_open() {
    let (address, connections) = site().await;
    let upgrade = "GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let mut streams = Vec::new();
    for _ in 0..5 {
        let mut stream = begin(address, upgrade).await;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 101");
        streams.push(stream);
    }
    // Whoever asks now is one more, and is gone when it is answered: those five stay.
    let mut quick = begin(address, "GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n").await;
    assert!(answer(&mut quick).await.ends_with("ok\n"));
    crate::common::until::until("the five are there", async || connections.count() == 5).await;
    drop(streams);
    crate::common::until::until("all are gone", async || connections.count() == 0).await;
}

#[tokio::test]
async fn what_is_sent_has_to_come_and_is_not_long() {
    let (address, connections) = site().await;
    let post = |length: usize| {
        format!(
            "POST /sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nConnection: close\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\ntoken="
        )
    };
    let mut long = begin(address, &post(17 << 10)).await;
    let _ = long.write_all(&vec![b'x'; 17 << 10]).await; // it may have hung up by now
    assert!(answer(&mut long).await.starts_with("HTTP/1.1 413"));
    let silent = async {
        let mut slow = begin(address, &post(1_000)).await;
        answer(&mut slow).await
    };
    // Something comes now and then, and never all of it.
    let dripping = async {
        let (mut from, mut to) = begin(address, &post(1_000)).await.into_split();
        let drip = tokio::spawn(async move {
            while to.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await; // that is what is slow
            }
        });
        let mut text = String::new();
        let _ = from.read_to_string(&mut text).await; // it may be cut off
        drip.abort();
        text
    };
    let ended = tokio::time::timeout(Duration::from_secs(20), futures::future::join(silent, dripping)).await;
    assert!(ended.is_ok(), "neither is waited for");
    crate::common::until::until("all are gone", async || connections.count() == 0).await;
}

#[tokio::test]
async fn what_is_no_request_is_refused_at_once() {
    let (address, connections) = site().await;
    let began = Instant::now();
    for strange in ["\u{16}\u{3}\u{1}\u{2}\u{0}", "GET / HTTP/1.1\r\nX: \u{0}"] {
        let mut stream = begin(address, strange).await;
        let text = answer(&mut stream).await;
        assert!(text.starts_with("HTTP/1.1 400"), "{text}");
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    crate::common::until::until("all are gone", async || connections.count() == 0).await;
    assert_eq!(connections.limits.count(Limit::Headers), 0);
}

#[tokio::test]
async fn what_comes_with_the_first_head_or_in_pieces_is_heard() {
    let (address, connections) = site().await;
    // Two requests in one piece, of which the first brings something along.
    let both = "POST /sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nContent-Length: 7\r\n\
                Content-Type: application/x-www-form-urlencoded\r\n\r\ntoken=x\
                GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let text = answer(&mut begin(address, both).await).await;
    assert_eq!(text.matches("HTTP/1.1 ").count(), 2, "{text}");
    assert!(text.ends_with("ok\n"), "{text}");
    // One in many pieces.
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    for byte in b"\r\nGET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n" {
        stream.write_all(&[*byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    assert!(answer(&mut stream).await.ends_with("ok\n"));
    // A stream, and its first frame, which is none of ours.
    let upgrade = "GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(&[upgrade.as_bytes(), &[0x82, 0x81, 0, 0, 0, 0, 0xff]].concat()).await.unwrap();
    let text = answer(&mut stream).await;
    assert!(text.starts_with("HTTP/1.1 101") && text.contains("this is not a frame"), "{text}");
    drop(stream);
    crate::common::until::until("all are gone", async || connections.count() == 0).await;
    assert_eq!(connections.limits.count(Limit::Headers), 0);
}
