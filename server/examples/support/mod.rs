//! A Rollcast to measure, and its viewers.

#![allow(dead_code, reason = "each measurement uses some of it")]

pub mod reflector;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures::SinkExt;
use rustix::process::{Pid, Signal, kill_process};
use timeline::Workload;
use timeline::wire::{self, PROTOCOL, Position, Scope, ViewerFrame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// Timeout for the start.
const START: Duration = Duration::from_secs(60);

/// Timeout for listing a large cluster.
const LISTED: Duration = Duration::from_secs(300);

pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A Rollcast that ends with its owner.
pub struct Program {
    child: Child,
    /// Its address and port.
    pub address: String,
}

/// Leaves the first core to the server, if there is another one.
pub fn pin() -> bool {
    let own = std::process::id().to_string();
    let moved = Command::new("taskset").args(["-apc", "1", &own]).output();
    moved.is_ok_and(|output| output.status.success())
}

/// Returns the command that runs a program, on the first core if it is pinned.
pub fn program(path: &str, is_pinned: bool) -> Command {
    let mut command = Command::new(if is_pinned { "taskset" } else { path });
    if is_pinned {
        command.args(["-c", "0", path]);
    }
    command
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended by itself
        let _ = self.child.wait();
    }
}

impl Program {
    /// Starts it, and returns once it has printed its address.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).env("ROLLCAST_LOG", "error").spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit_once("://").unwrap().1.trim_end_matches('/').to_owned();
        Self { child, address }
    }

    /// Ends it as service managers do, and waits until it has ended.
    pub fn stop(mut self) {
        let id = Pid::from_child(&self.child);
        kill_process(id, Signal::TERM).unwrap();
        self.child.wait().unwrap();
    }

    /// Wraps a program that was started elsewhere and has that address.
    pub const fn with_child(child: Child, address: String) -> Self {
        Self { child, address }
    }

    /// Waits until everything of a cluster is listed: an earlier viewer gets the initial state in several frames.
    pub async fn ready(&self) {
        self.shows("/readyz").await;
    }

    /// Waits until the lists of all kinds of its first cluster are complete.
    pub async fn live(&self) {
        let end = Instant::now() + LISTED;
        while !ask(&self.address, "/api/v1/status").await.1.contains("\"connection\":{\"state\":\"live\"") {
            assert!(Instant::now() < end, "it never has everything");
            tokio::time::sleep(Duration::from_millis(20)).await; // polling with a deadline
        }
    }

    /// Waits until it responds to that path with success.
    pub async fn shows(&self, path: &str) {
        let end = Instant::now() + START;
        while !ask(&self.address, path).await.1.lines().next().is_some_and(|first| first.contains(" 200 ")) {
            assert!(Instant::now() < end, "{path} is never there");
            tokio::time::sleep(Duration::from_millis(10)).await; // polling with a deadline
        }
    }

    /// Returns its private memory in KB, without pages of the program's file: whether those are private depends on
    /// other running instances.
    pub fn memory(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.child.id())).unwrap();
        text.lines()
            .find_map(|line| line.strip_prefix("Private_Dirty:")?.trim().strip_suffix(" kB")?.parse().ok())
            .unwrap()
    }

    /// Returns the number of open files and connections.
    pub fn descriptors(&self) -> u64 {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count() as u64
    }

    pub fn threads(&self) -> u64 {
        std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap().count() as u64
    }

    /// Returns the peak memory in KB, with pages of the program's file.
    pub fn peak_memory(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok()).unwrap()
    }

    /// Returns the CPU time so far, to hundredths of a second.
    pub fn cpu(&self) -> Duration {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields = text.rsplit_once(')').unwrap().1.split_whitespace().skip(11).take(2);
        Duration::from_millis(fields.map(|ticks| ticks.parse::<u64>().unwrap() * 10).sum())
    }

    /// Returns the private memory in KB once it no longer decreases.
    pub async fn memory_at_rest(&self) -> u64 {
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

/// Requests a page; returns how long it took, and the response.
pub async fn ask(address: &str, path: &str) -> (Duration, String) {
    let began = Instant::now();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    (began.elapsed(), String::from_utf8_lossy(&answer).into_owned())
}

/// Connects a viewer that follows that workload.
pub async fn listen(address: &str, workload: Workload) -> Socket {
    follow(address, workload, None).await.unwrap()
}

/// Connects a viewer whose copy has the position `since`.
pub async fn follow(address: &str, workload: Workload, since: Option<Position>) -> Result<Socket, Error> {
    subscribe(address, Scope::Workload(workload), since).await
}

/// Connects a viewer of anything. Its read buffer is small: a measurement has thousands of viewers.
pub async fn subscribe(address: &str, scope: Scope, since: Option<Position>) -> Result<Socket, Error> {
    let config = WebSocketConfig::default().read_buffer_size(4 << 10);
    let url = format!("ws://{address}/api/v1/stream");
    let (mut socket, _) = tokio_tungstenite::connect_async_with_config(url, Some(config), true).await?;
    let hello = ViewerFrame::Hello { protocol: PROTOCOL, build: String::new() };
    for frame in [hello, ViewerFrame::Subscribe { scope, since }] {
        socket.send(Message::Binary(wire::encode(&frame).unwrap().into())).await?;
    }
    Ok(socket)
}

/// Returns a quantile of sorted times; 0.99 for the 99th percentile.
pub fn quantile(sorted: &[Duration], part: f64) -> Duration {
    sorted[((sorted.len() as f64 * part).ceil() as usize).clamp(1, sorted.len()) - 1]
}
