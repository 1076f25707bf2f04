//! Connections: the limit on their number, and the timeout of request heads.
//!
//! ```text
//!   accept ──► (TLS) ──► head of the first request, little is held ──► hyper: answers it, and those that follow
//!     └──────────── within 10 s and 16 KB ─────────────┘                  (their heads: the same, by hyper)
//! ```
//!
//! Over the limit, only probes get a response: without one the kubelet would restart the program, and all viewers would reconnect at once.

mod counted_stream;
mod head;

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_send_buffer_size;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use timeline::address::{Route, below_base};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tower::util::MapRequest;

use self::counted_stream::CountedStream;
use self::head::RequestHead;
use crate::access::clients::{Usage, UsageGuard, client_network};
use crate::web::limits::{Limit, LimitCounters};
use crate::web::tls::Acceptor;

/// Timeout for the headers of a request.
const HEADERS_TIMEOUT: Duration = Duration::from_secs(10);
/// Idle time of a connection of a trusted proxy. A proxy that reuses a connection just as it is closed returns 502 to
/// its client. Proxies keep connections for a minute, and for ten at most.
const IDLE_OF_PROXY: Duration = Duration::from_secs(620);
/// Most bytes of headers.
const MOST_HEADERS: usize = 16 << 10;
/// Connections at once.
const MOST_CONNECTIONS: usize = 10_000;
/// Completed connections that the system queues before they are accepted. After a restart all viewers reconnect at
/// once: one that finds no room retries after a second.
const BACKLOG: u32 = 4_096;
/// Descriptors for other uses than viewers' connections: files, databases, API servers (four watches for each cluster,
/// or for each namespace that is named), and refusals of connections over the limit.
const OTHER_DESCRIPTORS: usize = 200;
/// Connections of one address at once; proxies and this machine may have more.
const CONNECTIONS_PER_CLIENT: usize = 256;
/// Connections over the limit whose head is read. One more ends the oldest: idle connections cannot keep out a probe,
/// which sends its request at once.
const OVER_LIMIT: usize = 32;
/// Time that the oldest one gets to be read before it is ended: very many may be accepted at once.
const LAST_CHANCE: Duration = Duration::from_millis(1);
/// Response to one connection too many.
const SERVICE_UNAVAILABLE: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
/// Responses to an invalid and to an endless request head.
const BAD_REQUEST: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const HEADERS_TOO_LARGE: &[u8] =
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
/// Bytes of responses that the system buffers for one connection. By default it buffers megabytes, and takes so many at
/// once that a slow reader cannot be told from a stalled one.
const SENT_AHEAD: usize = 256 << 10;
/// Timeout of these responses, and the pause after a failed accept.
const REFUSE_TIMEOUT: Duration = Duration::from_millis(500);

/// Open connections, limited in all and by address.
#[derive(Debug)]
pub struct Connections {
    most: usize,
    open: Arc<Usage<IpAddr>>,
    /// Requests and streams through proxies, by the address of their client.
    clients: Arc<Usage<IpAddr>>,
    /// Counters of all limits.
    pub limits: Arc<LimitCounters>,
}

impl Default for Connections {
    fn default() -> Self {
        Self::at_most(most())
    }
}

/// Returns the number of connections for which there are descriptors.
fn most() -> usize {
    MOST_CONNECTIONS.min(descriptors().saturating_sub(OTHER_DESCRIPTORS)).max(1)
}

/// Returns the limit on open files and connections.
fn descriptors() -> usize {
    getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| limit.try_into().unwrap_or(usize::MAX))
}

/// Raises the limit on open files as far as the system allows: the default is for programs with few files. Logs a
/// warning if the limit is less than all connections need.
pub fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let needed = (MOST_CONNECTIONS + OTHER_DESCRIPTORS) as u64;
    // Some systems report no limit but accept no number above theirs.
    let allowed = limit.maximum.unwrap_or(needed);
    if limit.current.is_some_and(|current| current < allowed) {
        let limit = Rlimit { current: Some(allowed), ..limit };
        let _ = setrlimit(Resource::Nofile, limit); // the resulting limit is reported below
    }
    let most = most();
    if most < MOST_CONNECTIONS {
        tracing::warn!(
            "at most {most} connections at once: the system allows this process {} file descriptors (ulimit -n)",
            descriptors()
        );
    }
}

impl Connections {
    /// Creates a limit on connections.
    pub fn at_most(most: usize) -> Self {
        let (open, clients) = (Arc::default(), Arc::default());
        Self { most, open, clients, limits: Arc::default() }
    }

    /// Returns the number of connections.
    pub fn count(&self) -> usize {
        self.open.total()
    }

    /// Counts a request of a client behind a proxy, whose connections many clients share; `None` if the client has too
    /// many.
    #[must_use]
    pub fn serve_client(&self, client: IpAddr) -> Option<UsageGuard<IpAddr>> {
        let slot = self.clients.enter(client_network(client), 1, |_, own| own < CONNECTIONS_PER_CLIENT);
        self.limits.count_refusal(Limit::Clients, slot)
    }

    /// Adds a connection from an address; `None` if there are too many.
    fn enter(&self, address: IpAddr, is_trusted: bool) -> Option<UsageGuard<IpAddr>> {
        let fits = |all, own| all < self.most && (own < CONNECTIONS_PER_CLIENT || is_trusted);
        self.open.enter(client_network(address), 1, fits)
    }
}

/// Listens at an address; `[::]` is IPv4 as well, and IPv4 alone on a machine without IPv6. Must be called in a runtime.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let has_no_ipv6 = |why: &io::Error| why.raw_os_error() == Some(Errno::AFNOSUPPORT.raw_os_error());
    match listen_at(address) {
        // "All addresses" is meant, whether or not this machine has IPv6.
        Err(why) if address.ip() == Ipv6Addr::UNSPECIFIED && has_no_ipv6(&why) => {
            listen_at((Ipv4Addr::UNSPECIFIED, address.port()).into())
        }
        listening => listening,
    }
}

fn listen_at(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?; // needed after a restart: connections of the last run may still be closing
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves for ever. `is_trusted` returns whether many viewers share an address; with `tls`, connections are encrypted.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    connections: Arc<Connections>,
    is_trusted: impl Fn(IpAddr) -> bool,
    tls: Option<Acceptor>,
) {
    let mut over_limit = VecDeque::<JoinHandle<()>>::new();
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            // Descriptors ran out, or the client left: open connections go on, and more may be accepted later.
            Err(why) => {
                tracing::warn!("cannot accept a connection: {why}");
                tokio::time::sleep(REFUSE_TIMEOUT).await;
                continue;
            }
        };
        let address = peer.ip().to_canonical();
        let is_proxy = is_trusted(address);
        let open = connections.enter(address, address.is_loopback() || is_proxy);
        let is_over_limit = open.is_none();
        let _ = stream.set_nodelay(true); // only improves latency
        let _ = set_socket_send_buffer_size(&stream, SENT_AHEAD); // the system may allow less
        let caller = Caller { peer, is_proxy, router: router.clone(), open, limits: connections.limits.clone() };
        let until = Instant::now() + HEADERS_TIMEOUT;
        let reading = match tls.as_ref().map(|tls| tls.borrow().clone()) {
            None => tokio::spawn(read_first_request(stream, caller, until)),
            Some(tls) => tokio::spawn(async move {
                // A client that sends nothing gets no TLS session, and a handshake that times out gets no response.
                let session = async {
                    stream.readable().await?;
                    tls.accept(stream).await
                };
                match timeout_at(until, session).await {
                    Ok(Ok(stream)) => read_first_request(Box::new(stream), caller, until).await,
                    Ok(Err(why)) => tracing::debug!("the TLS handshake with {address} failed: {why}"),
                    Err(_) => {
                        caller.limits.count_hit(Limit::Headers);
                        tracing::debug!("the TLS handshake with {address} timed out");
                    }
                }
            }),
        };
        if is_over_limit {
            over_limit.retain(|reading| !reading.is_finished());
            over_limit.push_back(reading);
            if over_limit.len() > OVER_LIMIT
                && let Some(mut oldest) = over_limit.pop_front()
                && timeout(LAST_CHANCE, &mut oldest).await.is_err()
            {
                connections.limits.count_hit(Limit::Connections);
                oldest.abort();
            }
        }
    }
}

async fn refuse(mut stream: impl AsyncWrite + Unpin, answer: &[u8]) {
    let _ = stream.write_all(answer).await; // a client that does not read needs no response
    let _ = stream.shutdown().await;
}

struct Caller {
    peer: SocketAddr,
    is_proxy: bool,
    router: Router,
    /// Counts the connection; `None` over the limit.
    open: Option<UsageGuard<IpAddr>>,
    limits: Arc<LimitCounters>,
}

/// Waits for the first request until the deadline. Thousands of connections may wait here: the response is a task of
/// its own, whose memory they do not hold.
async fn read_first_request(
    mut stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    caller: Caller,
    until: Instant,
) {
    match timeout_at(until, head::read(&mut stream, MOST_HEADERS)).await {
        Ok(Ok(RequestHead::Complete(head))) if caller.open.is_none() && !asks_for_probe(&head) => {
            caller.limits.count_hit(Limit::Connections);
            drop(timeout(REFUSE_TIMEOUT, refuse(stream, SERVICE_UNAVAILABLE)).await);
        }
        Ok(Ok(RequestHead::Complete(head))) => drop(tokio::spawn(serve_connection(stream, head.into(), caller))),
        Ok(Ok(RequestHead::Invalid)) => drop(timeout(REFUSE_TIMEOUT, refuse(stream, BAD_REQUEST)).await),
        Ok(Ok(RequestHead::TooLong)) => {
            caller.limits.count_hit(Limit::Headers);
            drop(timeout(REFUSE_TIMEOUT, refuse(stream, HEADERS_TOO_LARGE)).await);
        }
        Ok(Ok(RequestHead::Empty)) => {}
        Ok(Err(why)) => tracing::debug!("a connection failed: {why}"),
        Err(_) => caller.limits.count_hit(Limit::Headers),
    }
}

/// Returns whether a path is that of a health probe.
pub(super) fn is_probe(path: &str) -> bool {
    [Route::Healthz, Route::Readyz].iter().any(|probe| probe.pattern() == path)
}

fn asks_for_probe(head: &[u8]) -> bool {
    let target = head.split(|byte| *byte == b' ').nth(1).and_then(|target| std::str::from_utf8(target).ok());
    target.and_then(|target| target.split('?').next()).is_some_and(|path| is_probe(below_base(path)))
}

/// Responds to requests; the head of the first one was read.
async fn serve_connection(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, head: Bytes, caller: Caller) {
    let Caller { peer, is_proxy, router, open, limits } = caller;
    let idle = if is_proxy { IDLE_OF_PROXY } else { HEADERS_TIMEOUT };
    let answer = MapRequest::new(router, move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        request
    });
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1().timer(TokioTimer::new()).header_read_timeout(idle).max_buf_size(MOST_HEADERS);
    http.http1().keep_alive(open.is_some()); // over the limit one request per connection is answered
    let is_awaited = Arc::new(AtomicBool::new(true));
    let io = TokioIo::new(CountedStream::new(head, stream, open, is_awaited.clone()));
    if let Err(why) = http.http1_only().serve_connection_with_upgrades(io, TowerToHyperService::new(answer)).await {
        // Idle connections end in the same way.
        let is_awaited = is_awaited.load(Ordering::Relaxed);
        if is_awaited && why.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_timeout) {
            limits.count_hit(Limit::Headers);
        }
        tracing::debug!("a connection failed: {why}");
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn who_has_not_asked_yet_holds_little() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (connections, peer) = (Connections::default(), stream.peer_addr().unwrap());
        let open = connections.enter(peer.ip(), false);
        let caller = Caller { peer, is_proxy: false, router: Router::new(), open, limits: Arc::default() };
        let held = size_of_val(&read_first_request(stream, caller, Instant::now()));
        assert!(held < 1 << 10, "{held} bytes for each of them");
    }

    #[test]
    fn one_address_does_not_take_all_connections() {
        let connections = Arc::new(Connections::at_most(MOST_CONNECTIONS));
        let (greedy, other) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let mut open: Vec<UsageGuard<IpAddr>> =
            (0..CONNECTIONS_PER_CLIENT).map(|_| connections.enter(greedy, false).unwrap()).collect();
        assert!(connections.enter(greedy, false).is_none());
        assert!(connections.enter(greedy, true).is_some(), "a proxy");
        assert!(connections.enter(other, false).is_some());
        assert_eq!(connections.count(), CONNECTIONS_PER_CLIENT);
        open.pop();
        assert!(connections.enter(greedy, false).is_some());
        drop(open);
        assert_eq!(connections.count(), 0);
        let _all: Vec<UsageGuard<IpAddr>> =
            (0..MOST_CONNECTIONS).map(|_| connections.enter(greedy, true).unwrap()).collect();
        assert!(connections.enter(other, true).is_none());
    }

    #[test]
    fn whoever_has_an_ipv6_network_is_one_and_not_as_many_as_its_addresses() {
        let connections = Connections::default();
        let of = |network: &str, n: usize| format!("2001:db8:0:{network}::{n:x}").parse::<IpAddr>().unwrap();
        let mut all: Vec<UsageGuard<IpAddr>> =
            (1..=CONNECTIONS_PER_CLIENT).map(|n| connections.serve_client(of("a", n)).unwrap()).collect();
        assert!(connections.serve_client(of("a", 0xffff)).is_none() && connections.serve_client(of("b", 1)).is_some());
        all.extend((1..=CONNECTIONS_PER_CLIENT).map(|n| connections.enter(of("a", n), false).unwrap()));
        assert!(connections.enter(of("a", 0xffff), false).is_none() && connections.enter(of("b", 1), false).is_some());
        drop(all);
        assert!(connections.serve_client(of("a", 1)).is_some() && connections.enter(of("a", 1), false).is_some());
        // An IPv4-mapped IPv6 address counts as the IPv4 address.
        let mapped: Vec<UsageGuard<IpAddr>> = (0..CONNECTIONS_PER_CLIENT)
            .filter_map(|_| connections.serve_client("::ffff:203.0.113.9".parse().unwrap()))
            .collect();
        assert_eq!(mapped.len(), CONNECTIONS_PER_CLIENT);
        assert!(connections.serve_client("203.0.113.9".parse().unwrap()).is_none());
        assert!(connections.serve_client("203.0.113.10".parse().unwrap()).is_some());
    }
}
