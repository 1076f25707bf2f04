//! Attacking clients: their attacks, and how often each was made.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures::{FutureExt, SinkExt, StreamExt};
use timeline::Workload;
use timeline::address;
use timeline::episodes::EpisodeRow;
use timeline::list::{Query, Window};
use timeline::wire::{self, PROTOCOL, Scope, ServerFrame, ViewerFrame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::spawn_local;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::support::ask;

/// Addresses that flood the server. Each opens idle connections, request heads that never end, websockets and senders
/// of bodies, and some more than the 256 connections that one address may have.
const CROWDING: u8 = 20;
const IDLE: usize = 176;
const SLOW: usize = 63;
const JUNK: usize = 16;
const BOMBS: usize = 1;
const TOO_MANY: usize = 16;
/// Addresses that request expensive work. Each opens stored rollouts, each on two connections, reads responses very
/// slowly, and requests lists on a stream and over HTTP. They share no connections with the flooding addresses.
const WORKING: u8 = 10;
const OPENING: usize = 64;
const READING: usize = 64;
const LISTING: usize = 32;
const SEARCHING: usize = 32;
/// Latest moment after the begin of a stored rollout that is requested: its Deployment has the next rollout later.
const LATER_MILLIS: i64 = 4_000_000;
static PACKED: OnceLock<Vec<u8>> = OnceLock::new();

#[derive(Debug, Default)]
struct Done {
    opened: AtomicU64,
    frames: AtomicU64,
    bombs: AtomicU64,
    refused: AtomicU64,
    rollouts: AtomicU64,
    pages: AtomicU64,
    lists: AtomicU64,
    searches: AtomicU64,
    files: AtomicU64,
}

/// Attacks until the standard input closes, then prints the counts.
pub async fn attack(to: SocketAddr) {
    let (done, rollouts) = (Arc::new(Done::default()), Arc::new(rollouts(to).await));
    for number in 0..CROWDING + WORKING {
        let from = SocketAddr::from(([10, 9, 1, number + 1], 0));
        let attack = || Attack { from, to, done: done.clone(), rollouts: rollouts.clone() };
        if number >= CROWDING {
            (0..OPENING).for_each(|_| drop(spawn_local(again(attack(), Attack::open))));
            (0..READING).for_each(|_| drop(spawn_local(again(attack(), Attack::read))));
            (0..LISTING).for_each(|_| drop(spawn_local(again(attack(), Attack::list))));
            (0..SEARCHING).for_each(|_| drop(spawn_local(again(attack(), Attack::search))));
            continue;
        }
        (0..IDLE + TOO_MANY).for_each(|_| drop(spawn_local(again(attack(), Attack::idle))));
        (0..SLOW).for_each(|_| drop(spawn_local(again(attack(), Attack::slow))));
        (0..JUNK).for_each(|_| drop(spawn_local(again(attack(), Attack::junk))));
        (0..BOMBS).for_each(|_| drop(spawn_local(again(attack(), Attack::bomb))));
    }
    tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin())).await.unwrap().unwrap();
    let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
    println!(
        "{} connections from {} addresses, {} requests and streams refused, {} frames that are none or pings, {} forms that would be 10 MB unpacked, {} kept rollouts followed and {} pages of their moments, {} lists asked for by streams and {} by requests, {} files and recordings hardly read",
        count(&done.opened),
        CROWDING + WORKING,
        count(&done.refused),
        count(&done.frames),
        count(&done.bombs),
        count(&done.rollouts),
        count(&done.pages),
        count(&done.lists),
        count(&done.searches),
        count(&done.files)
    );
}

/// Returns the stored rollouts, each with its begin.
async fn rollouts(at: SocketAddr) -> Vec<(Workload, i64)> {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let (_, answer) = ask(&at.to_string(), "/api/v1/rollouts?limit=500").await;
        let told = answer.split_once("\r\n\r\n").map(|(_, body)| serde_json::from_str(body).unwrap_or_default());
        let told: serde_json::Value = told.unwrap_or_default();
        let known: Vec<EpisodeRow> = serde_json::from_value(told["rollouts"].clone()).unwrap_or_default();
        if !known.is_empty() {
            return known.iter().map(|rollout| (rollout.by_itself(), rollout.started_millis)).collect();
        }
        assert!(Instant::now() < end, "nothing is kept");
        tokio::time::sleep(Duration::from_millis(100)).await; // polling with a deadline
    }
}

/// Repeats an attack as soon as it is over.
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

/// An attacking client.
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

    /// Sends nothing, and waits until the server closes the connection.
    async fn idle(&self) -> std::io::Result<()> {
        let mut answer = Vec::new();
        self.connect().await?.read_to_end(&mut answer).await?;
        self.done.refused.fetch_add(u64::from(answer.starts_with(b"HTTP/1.1 503")), Ordering::Relaxed);
        Ok(())
    }

    /// Sends a line of a request head every second.
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

    /// Follows one stored rollout after the other, and requests a page of each at some moment.
    async fn open(&self) -> std::io::Result<()> {
        let mut socket = self.stream().await?;
        loop {
            let (workload, started_millis) = &self.rollouts[fastrand::usize(..self.rollouts.len())];
            say(&mut socket, &ViewerFrame::Subscribe { scope: Scope::Workload(workload.clone()), since: None }).await?;
            let (until, mut is_followed) = (Instant::now() + Duration::from_secs(1), false);
            while let Ok(heard) = tokio::time::timeout_at(until.into(), socket.next()).await {
                let Some(Ok(heard)) = heard else {
                    self.done.refused.fetch_add(1, Ordering::Relaxed);
                    return Ok(()); // it hung up
                };
                is_followed |= matches!(wire::decode(&heard.into_data()), Ok(ServerFrame::Snapshot(_)));
            }
            self.done.rollouts.fetch_add(u64::from(is_followed), Ordering::Relaxed);
            let at_millis = started_millis + fastrand::i64(0..LATER_MILLIS);
            let mut page = self.get(&format!("{}&at={at_millis}", address::workload(workload))).await?;
            if self.is_answered(&mut page, &self.done.pages).await? {
                page.read_to_end(&mut Vec::new()).await?;
            }
        }
    }

    /// Counts a request by the first line of its response: as refused, or as answered.
    async fn is_answered(&self, stream: &mut TcpStream, asked: &AtomicU64) -> std::io::Result<bool> {
        let mut first = [0; "HTTP/1.0 200".len()];
        stream.read_exact(&mut first).await?;
        let is_answered = first.ends_with(b" 200");
        let count = if is_answered { asked } else { &self.done.refused };
        count.fetch_add(1, Ordering::Relaxed);
        Ok(is_answered)
    }

    /// Requests one list after the other over HTTP.
    async fn search(&self) -> std::io::Result<()> {
        let page = if fastrand::bool() { "/" } else { "/wall" };
        let mut answer = self.get(&format!("{page}?q=app+{}", fastrand::u64(..))).await?;
        if self.is_answered(&mut answer, &self.done.searches).await? {
            answer.read_to_end(&mut Vec::new()).await?;
        }
        Ok(())
    }

    /// Reads a byte a minute of a file or a recording.
    async fn read(&self) -> std::io::Result<()> {
        let (workload, _) = &self.rollouts[fastrand::usize(..self.rollouts.len())];
        let path = if fastrand::bool() { address::file(workload, None) } else { address::recording(workload) };
        let mut stream = self.get(&path).await?;
        if !self.is_answered(&mut stream, &self.done.files).await? {
            return Ok(()); // it may have one at a time
        }
        let mut byte = [0];
        while stream.read(&mut byte).await? > 0 {
            tokio::time::sleep(Duration::from_secs(60)).await; // that is what is slow
        }
        Ok(())
    }

    /// Requests one list after the other on a stream, as fast as responses arrive.
    async fn list(&self) -> std::io::Result<()> {
        let mut socket = self.stream().await?;
        loop {
            let query = Query { text: format!("app {}", fastrand::u64(..)), ..Query::default() };
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

    /// Opens a websocket, and sends pings or frames of random bytes, short and long, twice a second.
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
            // The response is read until the next frame is due.
            let until = Instant::now() + Duration::from_millis(500);
            while let Ok(heard) = tokio::time::timeout_at(until.into(), socket.next()).await {
                if matches!(heard, None | Some(Err(_))) {
                    tokio::time::sleep_until(until.into()).await;
                    return Ok(()); // it hung up
                }
            }
        }
    }

    /// Sends a form that would be 10 MB decompressed.
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
