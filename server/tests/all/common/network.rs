//! A network in memory, in the test's own time, with the faults of a real one. Clients of the API server connect through it as they do
//! over TCP: the same HTTP client, whose connections are pipes.

use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::{Request, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::{Body, ClientBuilder, ConfigExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkFault {
    /// Open connections are reset, new ones are refused.
    Refusal,
    /// No byte passes, and new connections stay without an answer. Nothing is lost: bytes pass when the fault ends.
    Freeze,
    /// No byte passes on the connections that are open; new ones are good. They stay dead when the fault ends.
    HalfOpen,
    /// The next bytes of the server pass by half, and then all connections are reset.
    ResetInside,
    /// Bytes take that long.
    Delay(Duration),
    /// Bytes of the server pass one at a time, each after that long.
    Trickle(Duration),
}

#[derive(Default)]
struct State {
    fault: Option<NetworkFault>,
    /// Connections with a smaller number are dead.
    dead_before: u64,
    /// Connections with a smaller number are reset.
    reset_before: u64,
    opened: u64,
}

/// The network between clients and one server.
#[derive(Clone)]
pub struct Network {
    state: watch::Sender<State>,
    server: mpsc::UnboundedSender<DuplexStream>,
    requests: Arc<Mutex<Vec<(Instant, String)>>>,
}

/// The server's end of a network.
pub struct NetworkListener(mpsc::UnboundedReceiver<DuplexStream>);

impl axum::serve::Listener for NetworkListener {
    type Io = DuplexStream;
    type Addr = ();

    async fn accept(&mut self) -> (DuplexStream, ()) {
        match self.0.recv().await {
            Some(connection) => (connection, ()),
            None => std::future::pending().await, // no client is left
        }
    }

    fn local_addr(&self) -> Result<()> {
        Ok(())
    }
}

impl Network {
    /// Returns a network without faults, and the end where its server listens.
    pub fn new() -> (Self, NetworkListener) {
        let (server, connections) = mpsc::unbounded_channel();
        let network = Self { state: watch::Sender::default(), server, requests: Arc::default() };
        (network, NetworkListener(connections))
    }

    /// Begins a fault, or ends it.
    pub fn set(&self, fault: Option<NetworkFault>) {
        self.state.send_modify(|state| {
            state.fault = fault;
            match fault {
                Some(NetworkFault::Refusal) => state.reset_before = state.opened,
                Some(NetworkFault::HalfOpen) => state.dead_before = state.opened,
                _ => {}
            }
        });
    }

    /// Resets the connections that are open.
    pub fn reset(&self) {
        self.state.send_modify(|state| state.reset_before = state.opened);
    }

    /// Returns when each request was made, with its path and query, whether or not it reached the server.
    pub fn requests(&self) -> Vec<(Instant, String)> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns a client whose connections pass this network. Connecting has the limit of the product.
    pub fn client(&self) -> kube::Client {
        let network = self.clone();
        let connector = tower::service_fn(move |_: Uri| {
            let network = network.clone();
            Box::pin(async move {
                let connected = timeout(Duration::from_secs(5), network.connect()).await;
                connected.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into())).map(TokioIo::new)
            })
        });
        let http: Client<_, Body> = Client::builder(TokioExecutor::new()).build(connector);
        let requests = self.requests.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
            requests.lock().unwrap().push((Instant::now(), path));
            http.request(request)
        });
        let config = kube::Config::new("http://server".parse().unwrap());
        ClientBuilder::new(service, "default").with_layer(&config.base_uri_layer()).build()
    }

    async fn connect(&self) -> Result<ClientStream> {
        let mut state = self.state.subscribe();
        let closed = |_| Error::from(ErrorKind::NotConnected);
        let refuses = {
            let state = state.wait_for(|state| state.fault != Some(NetworkFault::Freeze)).await.map_err(closed)?;
            state.fault == Some(NetworkFault::Refusal)
        };
        if refuses {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        let mut number = 0;
        self.state.send_modify(|state| (number, state.opened) = (state.opened, state.opened + 1));
        let (near, client) = tokio::io::duplex(64 << 10);
        let (server, far) = tokio::io::duplex(64 << 10);
        self.server.send(far).map_err(|_| Error::from(ErrorKind::ConnectionRefused))?;
        let is_reset = Arc::new(AtomicBool::new(false));
        let stream = ClientStream { pipe: client, is_reset: is_reset.clone() };
        let (network, mut resets) = (self.clone(), self.state.subscribe());
        tokio::spawn(async move {
            let (from_client, to_client) = tokio::io::split(near);
            let (from_server, to_server) = tokio::io::split(server);
            let both = async {
                tokio::join!(
                    network.pass(number, from_client, to_server, false),
                    network.pass(number, from_server, to_client, true),
                )
            };
            tokio::select! {
                biased;
                _ = resets.wait_for(|state| number < state.reset_before) => is_reset.store(true, Ordering::Relaxed),
                _ = both => {}
            }
        });
        Ok(stream)
    }

    /// Passes bytes in one direction, as far as the fault lets them.
    async fn pass(
        &self,
        number: u64,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
        is_server: bool,
    ) {
        let mut state = self.state.subscribe();
        let mut bytes = vec![0; 16 << 10];
        loop {
            let read = from.read(&mut bytes).await.unwrap_or(0);
            let passes = |state: &State| number >= state.dead_before && state.fault != Some(NetworkFault::Freeze);
            let Ok(fault) = state.wait_for(passes).await.map(|state| state.fault) else { return };
            let bytes = &bytes[..read];
            let written = match fault {
                Some(NetworkFault::ResetInside) if is_server && read > 0 => {
                    let _ = to.write_all(&bytes[..read / 2]).await;
                    sleep(Duration::from_millis(1)).await; // so that this half arrives
                    self.set(None);
                    return self.reset();
                }
                Some(NetworkFault::Trickle(each)) if is_server => self.trickle(bytes, &mut to, each).await,
                Some(NetworkFault::Delay(by)) => {
                    sleep(by).await;
                    to.write_all(bytes).await
                }
                _ => to.write_all(bytes).await,
            };
            if read == 0 || written.is_err() {
                let _ = to.shutdown().await;
                return;
            }
        }
    }

    async fn trickle(&self, bytes: &[u8], to: &mut (impl AsyncWrite + Unpin), each: Duration) -> Result<()> {
        for byte in bytes {
            if self.state.borrow().fault == Some(NetworkFault::Trickle(each)) {
                sleep(each).await;
            }
            to.write_all(&[*byte]).await?;
        }
        Ok(())
    }
}

/// The client's end of a connection.
struct ClientStream {
    pipe: DuplexStream,
    is_reset: Arc<AtomicBool>,
}

impl Connection for ClientStream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.pipe).poll_read(context, buffer))?;
        let is_end = buffer.filled().len() == before;
        Poll::Ready(match is_end && self.is_reset.load(Ordering::Relaxed) {
            true => Err(ErrorKind::ConnectionReset.into()),
            false => Ok(()),
        })
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.pipe).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.pipe).poll_shutdown(context)
    }
}
