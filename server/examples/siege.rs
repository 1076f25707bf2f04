//! What it costs a Rollcast when somebody means it ill, or many look at once: `cargo run --example siege -- PATH-OF-ROLLCAST [RECORDING]`.
//!
//! - viewers who only listen: what one costs. They come first, while nothing else has grown the heap;
//! - 50 viewers who ask for moments without end: how long a page takes meanwhile, and without them;
//! - requests whose headers never end, also by TLS: how many are still open after 12 seconds, and what they hold.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a measurement ends where its assumptions do"
)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use futures::{SinkExt, StreamExt};
use timeline::Workload;
use timeline::wire::{self, PROTOCOL, Scope, ServerFrame, ViewerFrame};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_tungstenite::tungstenite::Message;

const SLOW: usize = 5_000;
const SLOW_BY_TLS: usize = 300;
const ASKING: usize = 50;
const LISTENING: usize = 500;

struct Program {
    child: Child,
    address: String,
    /// What the recording is called, and with it its cluster and its namespace.
    name: String,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Program {
    fn start(program: &str, recording: &str, arguments: &[&str]) -> Self {
        let name = Path::new(recording).file_stem().unwrap().to_string_lossy().into_owned();
        let mut command = Command::new(program);
        command.args(["replay", recording, "--hold-at", "400", "--listen", "127.0.0.1:0"]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).env("ROLLCAST_LOG", "error").spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().split_once("://").unwrap().1.trim_end_matches('/').to_owned();
        Self { child, address, name }
    }

    fn page(&self) -> String {
        format!("/clusters/{0}/namespaces/{0}/deployments/web", self.name)
    }

    /// Memory that is its own, in KB, without pages of the program's file: those count as its own or not by whether another one runs.
    fn memory(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.child.id())).unwrap();
        text.lines()
            .find_map(|line| line.strip_prefix("Private_Dirty:")?.trim().strip_suffix(" kB")?.parse().ok())
            .unwrap()
    }

    /// The same when nothing is given back to the system any more.
    async fn memory_at_rest(&self) -> u64 {
        let mut least = self.memory();
        let mut same = 0;
        while same < 6 {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let now = self.memory();
            same = if now + 64 < least { 0 } else { same + 1 };
            least = least.min(now);
        }
        self.memory()
    }
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("the path of rollcast");
    let recording = arguments.next().unwrap_or_else(|| "server/tests/traces/rollover.jsonl".to_owned());
    let program = Program::start(&path, &recording, &[]);
    let (address, page) = (&program.address, program.page());
    while !ask(address, &page).await.1.starts_with("HTTP/1.0 200") {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    // A few to begin with, so that what is there once is there.
    drop(viewers(&program, LISTENING / 10).await);
    let before = program.memory_at_rest().await;
    let listening = viewers(&program, LISTENING).await;
    let held = program.memory_at_rest().await as f64 - before as f64;
    println!("a viewer who listens costs {:.1} KB", held / LISTENING as f64);
    drop(listening);

    let alone = pages(address, &page).await;
    let asking: Vec<_> =
        (0..ASKING).map(|_| tokio::spawn(ask_for_moments(address.clone(), program.name.clone()))).collect();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let among = pages(address, &page).await;
    asking.iter().for_each(|task| task.abort());
    let times = among.as_secs_f64() / alone.as_secs_f64();
    println!(
        "a page takes {alone:?} alone, {among:?} (p95) while {ASKING} viewers ask for moments without end: {times:.1} times as long"
    );

    slow(&program, SLOW, None).await;
    drop(program);

    let folder = tempfile::tempdir().unwrap();
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (cert, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    std::fs::write(&cert, own.cert.pem()).unwrap();
    std::fs::write(&key, own.signing_key.serialize_pem()).unwrap();
    let files = ["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let program = Program::start(&path, &recording, &files);
    let mut roots = RootCertStore::empty();
    roots.add(own.cert.der().clone()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let config = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
    slow(&program, SLOW_BY_TLS, Some(TlsConnector::from(Arc::new(config.with_no_client_auth())))).await;
}

/// What requests hold whose headers never end, and when they are closed.
async fn slow(program: &Program, count: usize, tls: Option<TlsConnector>) {
    drop(half(&program.address, tls.as_ref()).await); // what is there once is there
    let (before, began) = (program.memory_at_rest().await, Instant::now());
    let mut slow = Vec::new();
    for _ in 0..count {
        slow.push(half(&program.address, tls.as_ref()).await);
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let held = (program.memory() as f64 - before as f64) / 1024.0;
    let by = if tls.is_some() { " by TLS" } else { "" };
    println!("{count} requests{by} whose headers never end hold {held:.1} MB after {:?}", began.elapsed());
    if tls.is_none() {
        println!("a page takes {:?} meanwhile", ask(&program.address, &program.page()).await.0);
    }
    let closed = join_all(slow.into_iter().map(|mut stream| async move {
        let mut rest = Vec::new();
        tokio::time::timeout(Duration::from_secs(12), stream.read_to_end(&mut rest)).await.is_ok()
    }));
    let closed = closed.await.into_iter().filter(|is_closed| *is_closed).count();
    println!("{closed} of them are closed after {:?}", began.elapsed());
}

/// How long a page takes, and the answer.
async fn ask(address: &str, path: &str) -> (Duration, String) {
    let began = Instant::now();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    (began.elapsed(), String::from_utf8_lossy(&answer).into_owned())
}

/// The 95th of a hundred pages.
async fn pages(address: &str, path: &str) -> Duration {
    let mut all = Vec::new();
    for _ in 0..100 {
        all.push(ask(address, path).await.0);
    }
    all.sort();
    all[94]
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

async fn half(address: &str, tls: Option<&TlsConnector>) -> Box<dyn Stream> {
    let stream = TcpStream::connect(address).await.unwrap();
    let mut stream: Box<dyn Stream> = match tls {
        Some(tls) => Box::new(tls.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap()),
        None => Box::new(stream),
    };
    stream.write_all(format!("GET / HTTP/1.1\r\nHost: {address}\r\nX-Slow: ").as_bytes()).await.unwrap();
    stream
}

type Socket = tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<TcpStream>>;

async fn listen(address: &str, name: &str) -> Socket {
    let (mut socket, _) = tokio_tungstenite::connect_async(format!("ws://{address}/api/v1/stream")).await.unwrap();
    let scope = Scope::Workload(Workload::deployment(name, name.to_owned(), "web".to_owned()));
    for frame in
        [ViewerFrame::Hello { protocol: PROTOCOL, build: String::new() }, ViewerFrame::Subscribe { scope, since: None }]
    {
        socket.send(Message::Binary(wire::encode(&frame).unwrap().into())).await.unwrap();
    }
    socket
}

async fn viewers(program: &Program, count: usize) -> Vec<Socket> {
    let mut sockets = Vec::new();
    for _ in 0..count {
        sockets.push(listen(&program.address, &program.name).await);
    }
    sockets
}

/// Asks for moments of the last five minutes without end.
async fn ask_for_moments(address: String, name: String) {
    let (mut out, mut inbox) = listen(&address, &name).await.split();
    let now_millis = loop {
        let message = inbox.next().await.unwrap().unwrap();
        if let Ok(ServerFrame::Heartbeat { now_millis }) = wire::decode(&message.into_data()) {
            break now_millis;
        }
    };
    tokio::spawn(async move { while inbox.next().await.is_some() {} });
    for at in 0.. {
        let frame = ViewerFrame::Moment { at_millis: now_millis - at * 977 % 300_000 };
        if out.send(Message::Binary(wire::encode(&frame).unwrap().into())).await.is_err() {
            return;
        }
    }
}
