//! What it costs a Rollcast when somebody means it ill, or many look at once: `cargo run --example siege -- PATH-OF-ROLLCAST [RECORDING]`.
//!
//! - requests whose headers never end: how many are still open after 12 seconds, and what they hold;
//! - 50 viewers who ask for moments without end: how long a page takes meanwhile, and without them;
//! - viewers who only listen: what one costs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a measurement ends where its assumptions do"
)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures::future::join_all;
use futures::{SinkExt, StreamExt};
use timeline::Workload;
use timeline::wire::{self, PROTOCOL, Scope, ViewerFrame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

const SLOW: usize = 5_000;
const ASKING: usize = 50;
const LISTENING: usize = 500;

struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    /// Memory that is its own, in KB.
    fn memory(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.0.id())).unwrap();
        let field = |name: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse::<u64>().ok())
                .unwrap()
        };
        field("Private_Dirty:") + field("Private_Clean:")
    }
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().expect("the path of rollcast");
    let recording = arguments.next().unwrap_or_else(|| "server/tests/traces/rollover.jsonl".to_owned());
    let name = std::path::Path::new(&recording).file_stem().unwrap().to_string_lossy().into_owned();
    let mut command = Command::new(program);
    command.args(["replay", &recording, "--hold-at", "400", "--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
    let mut child = command.env("ROLLCAST_LOG", "error").spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("Rollcast is at http://").unwrap().trim_end_matches('/').to_owned();
    let program = Program(child);
    let page = format!("/clusters/{name}/namespaces/{name}/deployments/web");
    while !ask(&address, &page).await.1.starts_with("HTTP/1.0 200") {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    let before = program.memory();
    let slow: Vec<TcpStream> = join_all((0..SLOW).map(|_| half(&address))).await;
    let (held, quick) = (program.memory(), ask(&address, &page).await.0);
    println!(
        "{SLOW} requests whose headers never end hold {} MB; a page takes {quick:?} meanwhile",
        (held.saturating_sub(before)) / 1024
    );
    let began = Instant::now();
    let closed = join_all(slow.into_iter().map(|mut stream| async move {
        let mut rest = Vec::new();
        tokio::time::timeout(Duration::from_secs(12), stream.read_to_end(&mut rest)).await.is_ok()
    }));
    let closed = closed.await.into_iter().filter(|is_closed| *is_closed).count();
    println!("{closed} of them are closed after {:?}", began.elapsed());

    let alone = pages(&address, &page).await;
    let asking: Vec<_> = (0..ASKING).map(|_| tokio::spawn(ask_for_moments(address.clone(), name.clone()))).collect();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let among = pages(&address, &page).await;
    asking.iter().for_each(|task| task.abort());
    println!("a page takes {alone:?} alone, {among:?} (p95) while {ASKING} viewers ask for moments without end");

    let before = program.memory();
    let mut sockets = Vec::new();
    for _ in 0..LISTENING {
        sockets.push(listen(&address, &name).await);
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    println!("a viewer who listens costs {} KB", program.memory().saturating_sub(before) / LISTENING as u64);
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

async fn half(address: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
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

async fn ask_for_moments(address: String, name: String) {
    let (mut out, mut inbox) = listen(&address, &name).await.split();
    tokio::spawn(async move { while inbox.next().await.is_some() {} });
    let now_millis = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64;
    for at in 0.. {
        let frame = ViewerFrame::Moment { at_millis: now_millis - at % 100_000 };
        if out.send(Message::Binary(wire::encode(&frame).unwrap().into())).await.is_err() {
            return;
        }
    }
}
