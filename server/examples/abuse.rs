//! What those notice who only look, while others mean it ill for minutes: `cargo run --release -p server --example abuse -- PATH-OF-ROLLCAST [MINUTES]`.
//!
//! In a network of its own (Linux, with `unshare` and `ip`) 30 addresses take all the 256 connections that each may have, and open them
//! again as they are closed: connections that say nothing, heads that come a line at a time, websockets that send what is no frame of
//! ours or pings, forms that would be 10 MB unpacked, of which the server unpacks none, streams that follow rollouts that are over and ask for
//! pages of their moments, each of another one, streams that ask for lists of ever different words, and readers who take a byte a minute of
//! files and recordings. Another address asks for a page twenty times a second, for a minute before and meanwhile, and follows a Deployment.
//!
//! Who attacks has machines of his own: here that is a process of the lowest priority, so that what making the attacks costs is not
//! taken for what they cost the server.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a measurement ends where its assumptions do"
)]

mod support;

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use app::address;
use app::history::PastRollout;
use futures::{FutureExt, SinkExt, StreamExt};
use timeline::Workload;
use timeline::list::{Query, Window};
use timeline::wire::{self, PROTOCOL, Scope, ServerFrame, ViewerFrame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::{LocalSet, spawn_local};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use support::{Program, ask, listen, quantile};

const ADDRESSES: u8 = 30;
/// Of each address: connections that say nothing, heads that never end, websockets, senders of bodies, who opens rollouts that are over,
/// readers who hardly read, who asks for lists, and some more than the 256 that there may be.
const IDLE: usize = 144;
const SLOW: usize = 63;
const JUNK: usize = 16;
const BOMBS: usize = 1;
const OPENING: usize = 8;
const READING: usize = 8;
const LISTING: usize = 16;
const TOO_MANY: usize = 16;
/// What is packed once.
static PACKED: OnceLock<Vec<u8>> = OnceLock::new();
const RECORDING: &str = "server/tests/traces/rollover.jsonl";
const PAGE: &str = "/clusters/rollover/namespaces/rollover/deployments/web";
const ADDRESS: &str = "10.9.0.1:7440";
/// Set for the process in the network of its own.
const INSIDE: &str = "ROLLCAST_ABUSE_INSIDE";
/// The only argument of the process that attacks.
const ATTACK: &str = "attack";

/// What was done.
#[derive(Debug, Default)]
struct Done {
    opened: AtomicU64,
    frames: AtomicU64,
    bombs: AtomicU64,
    refused: AtomicU64,
    rollouts: AtomicU64,
    lists: AtomicU64,
    files: AtomicU64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if std::env::var_os(INSIDE).is_none() {
        let enter = "ip link set lo up && ip addr add 10.9.0.1/16 dev lo && ulimit -n \"$(ulimit -Hn)\" && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--net", "sh", "-c", enter, "sh"]).arg(std::env::current_exe().unwrap());
        assert!(command.args(arguments).env(INSIDE, "yes").status().unwrap().success());
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if arguments == [ATTACK] {
        return runtime.block_on(LocalSet::new().run_until(attack(ADDRESS.parse().unwrap())));
    }
    let minutes = arguments.get(1).map_or(10, |minutes| minutes.parse().expect("a number of minutes"));
    let path = arguments.first().expect("the path of rollcast");
    runtime.block_on(LocalSet::new().run_until(abuse(path, Duration::from_secs(60 * minutes))));
}

async fn abuse(path: &str, lasts: Duration) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(path);
    command.args(["replay", RECORDING, "--hold-at", "400", "--listen", ADDRESS, "--insecure-no-auth", "--data-dir"]);
    command.arg(folder.path());
    let program = Program::start(&mut command);
    program.shows(PAGE).await;
    let heard = Arc::new(AtomicU64::new(0));
    let follower = spawn_local(follow(program.address.clone(), heard.clone()));

    let alone = pages(&program, Duration::from_secs(60)).await.0;
    let before = program.memory_at_rest().await;
    let mut attack = Command::new("nice");
    attack.args(["-n", "19"]).arg(std::env::current_exe().unwrap()).arg(ATTACK).stdin(Stdio::piped());
    let mut attack = attack.spawn().unwrap();
    let (among, most) = pages(&program, lasts).await;
    drop(attack.stdin.take()); // it says what it did, and ends
    assert!(attack.wait().unwrap().success());
    for part in [0.5, 0.95, 0.99] {
        let (alone, among) = (quantile(&alone, part), quantile(&among, part));
        let times = among.as_secs_f64() / alone.as_secs_f64();
        println!("a page, p{:.0}: {alone:.1?} alone, {among:.1?} meanwhile: {times:.2} times as long", part * 100.0);
    }
    println!(
        "memory: {:.1} MB, and at most {:.1} MB more",
        before as f64 / 1024.0,
        most.saturating_sub(before) as f64 / 1024.0
    );
    assert!(!follower.is_finished(), "who follows is not hung up on");
    println!("who follows a Deployment was told of it {} times, on one connection", heard.load(Ordering::Relaxed));
}

/// Means it ill until nothing more can be read from the standard input, and says what was done.
async fn attack(to: SocketAddr) {
    let (done, rollouts) = (Arc::new(Done::default()), Arc::new(rollouts(to).await));
    for number in 0..ADDRESSES {
        let from = SocketAddr::from(([10, 9, 1, number + 1], 0));
        let attack = || Attack { from, to, done: done.clone(), rollouts: rollouts.clone() };
        (0..IDLE + TOO_MANY).for_each(|_| drop(spawn_local(again(attack(), Attack::idle))));
        (0..SLOW).for_each(|_| drop(spawn_local(again(attack(), Attack::slow))));
        (0..JUNK).for_each(|_| drop(spawn_local(again(attack(), Attack::junk))));
        (0..BOMBS).for_each(|_| drop(spawn_local(again(attack(), Attack::bomb))));
        (0..OPENING).for_each(|_| drop(spawn_local(again(attack(), Attack::open))));
        (0..READING).for_each(|_| drop(spawn_local(again(attack(), Attack::read))));
        (0..LISTING).for_each(|_| drop(spawn_local(again(attack(), Attack::list))));
    }
    tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin())).await.unwrap().unwrap();
    let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
    println!(
        "{} connections from {ADDRESSES} addresses, {} of them refused, {} frames that are none or pings, {} forms that would be 10 MB unpacked, {} rollouts that are over followed, {} lists asked for, {} files hardly read",
        count(&done.opened),
        count(&done.refused),
        count(&done.frames),
        count(&done.bombs),
        count(&done.rollouts),
        count(&done.lists),
        count(&done.files)
    );
}

/// The rollouts that are kept: each by itself, and when it began.
async fn rollouts(at: SocketAddr) -> Vec<(Workload, i64)> {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let (_, answer) = ask(&at.to_string(), "/api/v1/rollouts?limit=500").await;
        let told = answer.split_once("\r\n\r\n").map(|(_, body)| serde_json::from_str(body).unwrap_or_default());
        let told: serde_json::Value = told.unwrap_or_default();
        let known: Vec<PastRollout> = serde_json::from_value(told["rollouts"].clone()).unwrap_or_default();
        if !known.is_empty() {
            return known.iter().map(|rollout| (rollout.by_itself(), rollout.started_millis)).collect();
        }
        assert!(Instant::now() < end, "nothing is kept");
        tokio::time::sleep(Duration::from_millis(100)).await; // polling with a deadline
    }
}

/// How long pages took, in order, and how much memory the program had at most, in KB.
async fn pages(program: &Program, lasts: Duration) -> (Vec<Duration>, u64) {
    let (mut all, mut most, began) = (Vec::new(), 0, Instant::now());
    let mut tick = tokio::time::interval(Duration::from_millis(50));
    while began.elapsed() < lasts {
        tick.tick().await;
        let (took, answer) = ask(&program.address, PAGE).await;
        assert!(answer.starts_with("HTTP/1.0 200"), "{}", answer.lines().next().unwrap_or_default());
        all.push(took);
        most = most.max(program.memory());
    }
    all.sort();
    (all, most)
}

/// Follows the Deployment for ever, and ends when it is hung up on.
async fn follow(address: String, heard: Arc<AtomicU64>) {
    let mut socket = listen(&address, Workload::deployment("rollover", "rollover", "web")).await;
    while let Some(Ok(message)) = socket.next().await {
        if let Ok(ServerFrame::Heartbeat { .. } | ServerFrame::Snapshot(_)) = wire::decode(&message.into_data()) {
            heard.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Does it again as soon as it is over.
async fn again(attack: Attack, what: impl AsyncFn(&Attack) -> std::io::Result<()>) {
    loop {
        let _ = what(&attack).await; // it was hung up on
        tokio::time::sleep(Duration::from_millis(100)).await; // not faster than a network would be
    }
}

async fn say(socket: &mut WebSocketStream<TcpStream>, frame: &ViewerFrame) -> std::io::Result<()> {
    let bytes = wire::encode(frame).map_err(std::io::Error::other)?;
    socket.send(Message::Binary(bytes.into())).await.map_err(std::io::Error::other)
}

/// Somebody who means it ill.
struct Attack {
    from: SocketAddr,
    to: SocketAddr,
    done: Arc<Done>,
    rollouts: Arc<Vec<(Workload, i64)>>,
}

impl Attack {
    async fn connect(&self) -> std::io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(self.from)?;
        let stream = socket.connect(self.to).await?;
        self.done.opened.fetch_add(1, Ordering::Relaxed);
        Ok(stream)
    }

    /// Says nothing, and waits to be hung up on.
    async fn idle(&self) -> std::io::Result<()> {
        let mut answer = Vec::new();
        self.connect().await?.read_to_end(&mut answer).await?;
        self.done.refused.fetch_add(u64::from(answer.starts_with(b"HTTP/1.1 503")), Ordering::Relaxed);
        Ok(())
    }

    /// Says a line of a head now and then.
    async fn slow(&self) -> std::io::Result<()> {
        let mut stream = self.connect().await?;
        stream.write_all(format!("GET / HTTP/1.1\r\nHost: {}\r\n", self.to).as_bytes()).await?;
        loop {
            stream.write_all(b"X-Slow: yes\r\n").await?;
            tokio::time::sleep(Duration::from_secs(1)).await; // that is what is slow
        }
    }

    async fn stream(&self) -> std::io::Result<WebSocketStream<TcpStream>> {
        let stream = self.connect().await?;
        let asked = tokio_tungstenite::client_async(format!("ws://{}/api/v1/stream", self.to), stream).await;
        let (mut socket, _) = asked.map_err(std::io::Error::other)?;
        say(&mut socket, &ViewerFrame::Hello { protocol: PROTOCOL, build: String::new() }).await?;
        Ok(socket)
    }

    /// Follows a rollout that is over for as long as it may, and asks for a page of one of its moments every second.
    async fn open(&self) -> std::io::Result<()> {
        let (workload, started_millis) = &self.rollouts[fastrand::usize(..self.rollouts.len())];
        let mut socket = self.stream().await?;
        say(&mut socket, &ViewerFrame::Subscribe { scope: Scope::Workload(workload.clone()), since: None }).await?;
        self.done.rollouts.fetch_add(1, Ordering::Relaxed);
        loop {
            let until = Instant::now() + Duration::from_secs(1);
            while let Ok(heard) = tokio::time::timeout_at(until.into(), socket.next()).await {
                if matches!(heard, None | Some(Err(_))) {
                    return Ok(()); // it hung up
                }
            }
            let path = format!("{}&at={}", address::workload(workload), started_millis + fastrand::i64(0..20_000_000));
            self.get(&path).await?.read_to_end(&mut Vec::new()).await?;
        }
    }

    /// Reads a byte a minute of a file or a recording.
    async fn read(&self) -> std::io::Result<()> {
        let (workload, _) = &self.rollouts[fastrand::usize(..self.rollouts.len())];
        let path = if fastrand::bool() { address::file(workload, None) } else { address::recording(workload) };
        let mut stream = self.get(&path).await?;
        self.done.files.fetch_add(1, Ordering::Relaxed);
        let mut byte = [0];
        while stream.read(&mut byte).await? > 0 {
            tokio::time::sleep(Duration::from_secs(60)).await; // that is what is slow
        }
        Ok(())
    }

    /// Asks for one list after the other, as fast as they are heard.
    async fn list(&self) -> std::io::Result<()> {
        let mut socket = self.stream().await?;
        loop {
            let query = Query { text: format!("web {}", fastrand::u64(..)), ..Query::default() };
            let scope = Scope::List { query, window: Window { from: 0, to: 50 } };
            say(&mut socket, &ViewerFrame::Subscribe { scope, since: None }).await?;
            self.done.lists.fetch_add(1, Ordering::Relaxed);
            while let Some(Some(heard)) = socket.next().now_or_never() {
                heard.map_err(std::io::Error::other)?;
            }
        }
    }

    async fn get(&self, path: &str) -> std::io::Result<TcpStream> {
        let mut stream = self.connect().await?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.to).as_bytes()).await?;
        Ok(stream)
    }

    /// A websocket that is taken, and then pings or frames of random bytes, short and long, twice a second.
    async fn junk(&self) -> std::io::Result<()> {
        let stream = self.connect().await?;
        let asked = tokio_tungstenite::client_async(format!("ws://{}/api/v1/stream", self.to), stream).await;
        let (mut socket, _) = asked.map_err(std::io::Error::other)?;
        loop {
            let frame = if fastrand::bool() {
                Message::Ping(vec![0; 100].into())
            } else {
                let length = fastrand::usize(1..if fastrand::u8(..) == 0 { 1 << 20 } else { 4 << 10 });
                let bytes: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..)).take(length).collect();
                Message::Binary(bytes.into())
            };
            socket.send(frame).await.map_err(std::io::Error::other)?;
            self.done.frames.fetch_add(1, Ordering::Relaxed);
            // What it says to that is heard until it is time for the next one.
            let until = Instant::now() + Duration::from_millis(500);
            while let Ok(heard) = tokio::time::timeout_at(until.into(), socket.next()).await {
                if matches!(heard, None | Some(Err(_))) {
                    tokio::time::sleep_until(until.into()).await;
                    return Ok(()); // it hung up
                }
            }
        }
    }

    /// A form that would be 10 MB unpacked.
    async fn bomb(&self) -> std::io::Result<()> {
        let packed = PACKED.get_or_init(|| zstd::encode_all(&vec![b'a'; 10 << 20][..], 3).unwrap());
        let head = format!(
            "POST /sign-in HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Encoding: zstd\r\nContent-Length: {1}\r\nConnection: close\r\n\r\n",
            self.to,
            packed.len()
        );
        let mut stream = self.connect().await?;
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(packed).await?;
        stream.read_to_end(&mut Vec::new()).await?;
        self.done.bombs.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(1)).await; // one a second of each address
        Ok(())
    }
}
