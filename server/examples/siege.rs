//! Measures what hostile clients cost a Rollcast: `cargo run --release -p server --example siege -- PATH-OF-ROLLCAST
//! [RECORDING]`,
//! where a program may have more than 5,000 files open (`ulimit -n`).
//!
//! - 50 viewers that request moments all the time: how long a page takes meanwhile, and without them;
//! - requests whose headers never end, also over TLS: how many are still open after 12 seconds, and their memory.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a measurement ends where its assumptions do"
)]

mod support;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use futures::{SinkExt, StreamExt};
use timeline::Workload;
use timeline::wire::{self, ServerFrame, ViewerFrame};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_tungstenite::tungstenite::Message;

use support::{Program, ask, listen, quantile};

const SLOW: usize = 5_000;
const SLOW_BY_TLS: usize = 300;
const ASKING: usize = 50;

/// Plays a whole recording at once; its name is the name of its cluster and of its namespace.
struct Played {
    program: Program,
    name: String,
}

impl Played {
    fn start(path: &str, recording: &str, arguments: &[&str]) -> Self {
        let name = Path::new(recording).file_stem().unwrap().to_string_lossy().into_owned();
        let mut command = Command::new(path);
        command.args(["replay", recording, "--hold-at", "400", "--listen", "127.0.0.1:0"]).args(arguments);
        Self { program: Program::start(&mut command), name }
    }

    fn page(&self) -> String {
        format!("/clusters/{0}/namespaces/{0}/deployments/web", self.name)
    }

    fn workload(&self) -> Workload {
        Workload::deployment(&self.name, self.name.clone(), "web".to_owned())
    }
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("the path of rollcast");
    let recording = arguments.next().unwrap_or_else(|| "server/tests/traces/rollover.jsonl".to_owned());
    let played = Played::start(&path, &recording, &[]);
    let (program, page) = (&played.program, played.page());
    let address = &program.address;
    program.shows(&page).await;

    let alone = pages(address, &page).await;
    let asking: Vec<_> =
        (0..ASKING).map(|_| tokio::spawn(ask_for_moments(address.clone(), played.workload()))).collect();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let among = pages(address, &page).await;
    asking.iter().for_each(|task| task.abort());
    let times = among.as_secs_f64() / alone.as_secs_f64();
    println!(
        "a page takes {alone:?} alone, {among:?} (p95) while {ASKING} viewers ask for moments without end: {times:.1} times as long"
    );

    slow(&played, SLOW, None).await;
    drop(played);

    let folder = tempfile::tempdir().unwrap();
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (cert, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    std::fs::write(&cert, own.cert.pem()).unwrap();
    std::fs::write(&key, own.signing_key.serialize_pem()).unwrap();
    let files = ["--tls-cert", cert.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let played = Played::start(&path, &recording, &files);
    let mut roots = RootCertStore::empty();
    roots.add(own.cert.der().clone()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let config = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
    slow(&played, SLOW_BY_TLS, Some(TlsConnector::from(Arc::new(config.with_no_client_auth())))).await;
}

/// Measures the memory of requests whose headers never end, and when they are closed.
async fn slow(played: &Played, count: usize, tls: Option<TlsConnector>) {
    let program = &played.program;
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
        println!("a page takes {:?} meanwhile", ask(&program.address, &played.page()).await.0);
    }
    let closed = join_all(slow.into_iter().map(|mut stream| async move {
        let mut rest = Vec::new();
        tokio::time::timeout(Duration::from_secs(12), stream.read_to_end(&mut rest)).await.is_ok()
    }));
    let closed = closed.await.into_iter().filter(|is_closed| *is_closed).count();
    println!("{closed} of them are closed after {:?}", began.elapsed());
}

/// Returns the 95th percentile of the times of a hundred pages.
async fn pages(address: &str, path: &str) -> Duration {
    let mut all = Vec::new();
    for _ in 0..100 {
        all.push(ask(address, path).await.0);
    }
    all.sort();
    quantile(&all, 0.95)
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

/// Requests moments of the last five minutes all the time.
async fn ask_for_moments(address: String, workload: Workload) {
    let (mut out, mut inbox) = listen(&address, workload).await.split();
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
