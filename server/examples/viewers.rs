//! Thousands of viewers of one Deployment: `cargo run --release -p server --example viewers -- PATH-OF-ROLLCAST [VIEWERS [SECONDS]]`.
//!
//! Rollcast runs on one core; the viewers and a simulated cluster of one Deployment, whose pods change twice a second, run on
//! another. The parts, in this order:
//!
//! - viewers that listen: memory and CPU of each, frames, and the time from the first arrival of a frame to each other one;
//! - viewers that come back, all at once: after a short loss of the network and after a restart of the server;
//! - viewers that read nothing: their cost, and what the others notice;
//! - invalid frames: how the server closes such a connection.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a measurement ends where its assumptions do"
)]

mod support;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use futures::{SinkExt, StreamExt, stream};
use simcluster::World;
use simcluster::api::{self, Cluster};
use simcluster::load::{self, Load};
use timeline::Workload;
use timeline::wire::{self, MAX_VIEWER_FRAME, Position, SaidVersion, Scope, ServerFrame, ViewerFrame};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;

use support::{Program, Socket, ask, follow, listen, quantile};

const PODS: usize = 100;
/// Pause between two changes of a pod.
const CHANGE_EVERY: Duration = Duration::from_millis(500);
/// Viewers that connect at once in the beginning.
const CONNECTING: usize = 200;
const STALLED: usize = 100;
/// Snapshots that a viewer requests without reading them: more than the system buffers for a connection.
const UNREAD_SNAPSHOTS: usize = 100;
const JUNK: usize = 100;
/// Frames under way at the start and at the end of a window arrive within this time.
const UNDER_WAY: Duration = Duration::from_secs(2);
/// The network is away for this long.
const GAP: Duration = Duration::from_secs(10);

/// A frame and its arrivals.
struct Arrivals {
    frame: Received,
    at: Vec<Instant>,
}

#[derive(Clone, Copy, PartialEq)]
enum Received {
    Snapshot(Position),
    /// A delta up to this number, and the version of its sentences.
    Delta(u64, Option<SaidVersion>),
    Other,
}

/// Frames by their bytes: each is decoded once, however many viewers there are.
#[derive(Default)]
struct Frames {
    known: HashMap<Bytes, Arrivals>,
    is_open: bool,
    /// Position of a copy that got every frame.
    position: Option<Position>,
}

type Shared = Arc<Mutex<Frames>>;

impl Frames {
    /// Notes the arrival of a frame. After the end of a window only those that began in it count.
    fn note(&mut self, bytes: &Bytes) -> Received {
        let at = Instant::now();
        if let Some(known) = self.known.get_mut(bytes) {
            known.at.push(at);
            return known.frame;
        }
        let frame = match wire::decode(bytes).unwrap() {
            ServerFrame::Snapshot(snapshot) => {
                Received::Snapshot(Position { epoch: snapshot.epoch, seq: snapshot.seq, said: snapshot.said.version })
            }
            ServerFrame::Delta(delta) => Received::Delta(delta.to, delta.said.map(|said| said.version)),
            _ => Received::Other,
        };
        self.position = advance(self.position, frame);
        if self.is_open {
            self.known.insert(bytes.clone(), Arrivals { frame, at: vec![at] });
        }
        frame
    }
}

/// Figures of a window of time.
struct Window {
    /// Deltas a second that each viewer got.
    rate: f64,
    /// From the first arrival of a delta to each of its arrivals.
    spread: Vec<Duration>,
    /// Deltas that at least one viewer did not get.
    partial: usize,
    /// CPU time for each frame of each viewer.
    cpu: Duration,
    /// Share of a CPU.
    load: f64,
}

impl Window {
    async fn measure(shared: &Shared, program: &Program, viewers: usize, lasts: Duration) -> Self {
        let open = |is_open| shared.lock().unwrap().is_open = is_open;
        shared.lock().unwrap().known.clear();
        open(true);
        tokio::time::sleep(UNDER_WAY).await;
        let (began, before) = (Instant::now(), program.cpu());
        tokio::time::sleep(lasts).await;
        let (ended, cpu) = (Instant::now(), program.cpu() - before);
        open(false);
        tokio::time::sleep(UNDER_WAY).await;
        let known = std::mem::take(&mut shared.lock().unwrap().known);
        let is_in = |at: &&Instant| (began..ended).contains(*at);
        let count = |arrivals: &Arrivals| arrivals.at.iter().filter(is_in).count();
        let all: usize = known.values().map(count).sum();
        let deltas = known.into_values().filter(|arrivals| matches!(arrivals.frame, Received::Delta(..)));
        let deltas: Vec<_> = deltas.filter(|arrivals| (began..ended).contains(&arrivals.at[0])).collect();
        let seconds = (ended - began).as_secs_f64();
        let mut spread: Vec<_> = deltas.iter().flat_map(|delta| delta.at.iter().map(|at| *at - delta.at[0])).collect();
        spread.sort();
        Self {
            rate: spread.len() as f64 / viewers as f64 / seconds,
            spread,
            partial: deltas.iter().filter(|delta| delta.at.len() != viewers).count(),
            cpu: cpu.div_f64(all as f64),
            load: cpu.as_secs_f64() / seconds,
        }
    }

    fn at(&self, part: f64) -> String {
        millis(quantile(&self.spread, part))
    }
}

/// Viewers, each a task that reads until its connection ends and returns the position of its copy.
struct Viewers {
    tasks: Vec<JoinHandle<Option<Position>>>,
    shared: Shared,
}

impl Viewers {
    async fn open(address: &str, count: usize) -> Self {
        let shared = Shared::default();
        let sockets = stream::iter(0..count).map(|_| listen(address, workload())).buffer_unordered(CONNECTING);
        let tasks = sockets.map(|socket| tokio::spawn(read(socket, None, shared.clone()))).collect().await;
        Self { tasks, shared }
    }

    /// Waits until their connections end.
    async fn end(self) -> Vec<Position> {
        let mut positions = Vec::new();
        for task in self.tasks {
            positions.extend(task.await.unwrap());
        }
        positions
    }

    /// Cuts connections off. Their positions are those of a copy that got everything so far.
    fn cut(&mut self, count: usize) {
        for task in self.tasks.drain(..count.min(self.tasks.len())) {
            task.abort();
        }
    }
}

async fn read(mut socket: Socket, mut position: Option<Position>, shared: Shared) -> Option<Position> {
    while let Some(Ok(message)) = socket.next().await {
        let Message::Binary(bytes) = message else { continue };
        let received = shared.lock().unwrap().note(&bytes);
        position = advance(position, received);
    }
    position
}

fn advance(position: Option<Position>, received: Received) -> Option<Position> {
    match received {
        Received::Snapshot(position) => Some(position),
        Received::Delta(seq, said) => {
            position.map(|before| Position { seq, said: said.unwrap_or(before.said), ..before })
        }
        Received::Other => position,
    }
}

/// Figures of viewers that reconnected all at once.
struct Returned {
    viewers: Viewers,
    /// Time until each had the first frame with data.
    times: Vec<Duration>,
    /// Bytes of snapshots and of deltas; each viewer got one of them first.
    snapshots: Vec<usize>,
    deltas: Vec<usize>,
    /// Connections that failed and were tried again.
    failures: usize,
    /// CPU time for each viewer.
    cpu: Duration,
}

impl Returned {
    async fn of(program: &Program, positions: Vec<Position>) -> Self {
        let (address, before) = (&program.address, program.cpu());
        let (shared, began) = (Shared::default(), Instant::now());
        // While it is open each snapshot is decoded once.
        *shared.lock().unwrap() = Frames { is_open: true, position: positions.first().copied(), ..Frames::default() };
        let all: Vec<_> = positions
            .into_iter()
            .map(|position| tokio::spawn(come_back(address.clone(), position, shared.clone())))
            .collect();
        let viewers = Viewers { tasks: Vec::new(), shared };
        let (times, snapshots, deltas) = (Vec::new(), Vec::new(), Vec::new());
        let mut returned = Self { viewers, times, snapshots, deltas, failures: 0, cpu: Duration::ZERO };
        for task in all {
            let Back { at, bytes, is_snapshot, failures, task } = task.await.unwrap();
            returned.times.push(at - began);
            if is_snapshot { &mut returned.snapshots } else { &mut returned.deltas }.push(bytes);
            returned.failures += failures;
            returned.viewers.tasks.push(task);
        }
        returned.times.sort();
        returned.cpu = (program.cpu() - before).div_f64(returned.times.len() as f64);
        returned
    }

    fn print(&self, what: &str, snapshot: usize) {
        let (p50, p99) = (quantile(&self.times, 0.5), quantile(&self.times, 0.99));
        row(&format!("{what}: p50"), &seconds(p50), "");
        row(&format!("{what}: p99"), &seconds(p99), "3 s");
        row(&format!("{what}: CPU of the server for each, µs"), &format!("{:.0}", self.cpu.as_secs_f64() * 1e6), "");
        row(&format!("{what}: connections tried again"), &self.failures.to_string(), "");
        let (count, bytes) = (self.deltas.len(), self.deltas.iter().sum::<usize>());
        row(&format!("{what}: viewers that got a delta"), &format!("{count} of {}", self.times.len()), "");
        let bytes = (bytes + self.snapshots.iter().sum::<usize>()) as f64 / self.times.len() as f64;
        let share = 100.0 * bytes / snapshot as f64;
        row(&format!("{what}: bytes for each"), &format!("{bytes:.0}, {share:.1} % of a snapshot"), "5 %");
    }
}

struct Back {
    at: Instant,
    bytes: usize,
    is_snapshot: bool,
    failures: usize,
    task: JoinHandle<Option<Position>>,
}

/// Reconnects as the page does, with the position of its copy. A failed connection is tried again soon.
async fn come_back(address: String, position: Position, shared: Shared) -> Back {
    let mut failures = 0;
    loop {
        if let Ok(mut socket) = follow(&address, workload(), Some(position)).await {
            while let Some(Ok(message)) = socket.next().await {
                let Message::Binary(data) = message else { continue };
                let received = shared.lock().unwrap().note(&data);
                if received == Received::Other {
                    continue;
                }
                let (at, bytes, is_snapshot) = (Instant::now(), data.len(), matches!(received, Received::Snapshot(_)));
                let task = tokio::spawn(read(socket, advance(Some(position), received), shared));
                return Back { at, bytes, is_snapshot, failures, task };
            }
        }
        failures += 1;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn workload() -> Workload {
    Workload::deployment("load", "load-0", "web-0")
}

/// A simulated cluster of one Deployment.
struct Changing {
    cluster: Cluster,
    load: Arc<Load>,
    task: JoinHandle<()>,
}

impl Changing {
    async fn start(kubeconfig: &Path) -> Self {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let mut world = World::new(1, since_epoch.as_millis() as i64, load::settings(PODS));
        let load = Arc::new(Load::fill(&mut world, PODS, 0).unwrap());
        let cluster = Cluster::new(world);
        let listener = api::listen(0).await.unwrap();
        std::fs::write(kubeconfig, api::kubeconfig("load", listener.local_addr().unwrap())).unwrap();
        tokio::spawn(cluster.clone().run());
        tokio::spawn(cluster.clone().serve(listener));
        let task = tokio::spawn(change(cluster.clone(), load.clone()));
        Self { cluster, load, task }
    }

    fn pause(&self) {
        self.task.abort();
    }

    fn go_on(&mut self) {
        self.task = tokio::spawn(change(self.cluster.clone(), self.load.clone()));
    }
}

async fn change(cluster: Cluster, load: Arc<Load>) {
    let mut tick = tokio::time::interval(CHANGE_EVERY);
    loop {
        tick.tick().await;
        cluster.with(|world| _ = load.change(world));
    }
}

/// The program to measure, with the same data at each start.
struct Site {
    path: String,
    folder: PathBuf,
    is_pinned: bool,
}

impl Site {
    fn start(&self, listen: &str) -> Program {
        let mut command = support::program(&self.path, self.is_pinned);
        command.args(["serve", "--listen", listen, "--kubeconfig"]).arg(self.folder.join("kubeconfig"));
        Program::start(command.arg("--data-dir").arg(self.folder.join("data")))
    }
}

// On one thread: the server has the other core.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    server::web::connections::raise_descriptor_limit();
    let is_pinned = support::pin();
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("the path of rollcast");
    let count: usize = arguments.next().map_or(10_000, |count| count.parse().expect("a number of viewers"));
    let lasts = Duration::from_secs(arguments.next().map_or(20, |lasts| lasts.parse().expect("a number of seconds")));
    let folder = tempfile::tempdir().unwrap();
    let site = Site { path, folder: folder.path().to_owned(), is_pinned };
    let mut changing = Changing::start(&site.folder.join("kubeconfig")).await;
    let program = site.start("127.0.0.1:0");
    program.ready().await;
    let on = if is_pinned { "the server on one core" } else { "not pinned to a core: taskset is missing" };
    println!("| {count} viewers of {PODS} pods, {on} | measured | goal |\n|---|---|---|");

    let (viewers, snapshot) = measure_listeners(&program, count, lasts).await;
    let program = measure_returns(&site, program, &mut changing, viewers, snapshot).await;
    // A server takes 10,000 connections: there must be room for others.
    let others = count - (STALLED + JUNK).min(count / 2);
    let viewers = Viewers::open(&program.address, others).await;
    measure_stalled(&program, &viewers, lasts).await;
    measure_junk(&program).await;
}

async fn measure_listeners(program: &Program, count: usize, lasts: Duration) -> (Viewers, usize) {
    let snapshot = snapshot_bytes(&program.address).await;
    // Some connect first, so that memory that is allocated only once is allocated already.
    drop_all(program, Viewers::open(&program.address, count / 10).await).await;
    let before = program.memory_at_rest().await;
    let viewers = Viewers::open(&program.address, count).await;
    let held = program.memory_at_rest().await as f64 - before as f64;
    row("memory of each, KB", &format!("{:.1}", held / count as f64), "20");
    let window = Window::measure(&viewers.shared, program, count, lasts).await;
    row("frames for each a second", &format!("{:.2}", window.rate), "2");
    row("CPU for a frame of a viewer, µs", &format!("{:.1}", window.cpu.as_secs_f64() * 1e6), "");
    row("CPU of the server, % of a core", &format!("{:.0}", window.load * 100.0), "");
    row("first to other arrivals of a frame: p50", &window.at(0.5), "");
    row("first to other arrivals of a frame: p99", &window.at(0.99), "250 ms");
    row("frames that did not reach all", &window.partial.to_string(), "0");
    (viewers, snapshot)
}

async fn measure_returns(
    site: &Site,
    program: Program,
    changing: &mut Changing,
    mut viewers: Viewers,
    snapshot: usize,
) -> Program {
    row("bytes of a snapshot", &snapshot.to_string(), "");
    let count = viewers.tasks.len();
    for (what, is_quiet) in [("back after 10 s without a change", true), ("back after 10 s", false)] {
        if is_quiet {
            changing.pause();
            tokio::time::sleep(UNDER_WAY).await;
        }
        let position = viewers.shared.lock().unwrap().position.expect("each viewer got a snapshot");
        drop_all(&program, viewers).await;
        tokio::time::sleep(GAP).await;
        let returned = Returned::of(&program, vec![position; count]).await;
        returned.print(what, snapshot);
        viewers = returned.viewers;
        if is_quiet {
            changing.go_on();
        }
        tokio::time::sleep(UNDER_WAY).await;
    }
    let (address, mut program) = (program.address.clone(), program);
    for (what, is_killed) in [("back after a restart", false), ("back after a kill", true)] {
        if is_killed {
            drop(program);
        } else {
            program.stop();
        }
        let positions = viewers.end().await;
        program = site.start(&address);
        let returned = Returned::of(&program, positions).await;
        returned.print(what, snapshot);
        viewers = returned.viewers;
        tokio::time::sleep(UNDER_WAY).await;
    }
    drop_all(&program, viewers).await;
    program
}

async fn measure_stalled(program: &Program, viewers: &Viewers, lasts: Duration) {
    let (count, lasts) = (viewers.tasks.len(), lasts.min(Duration::from_secs(10)));
    let before = Window::measure(&viewers.shared, program, count, lasts).await;
    let memory = program.memory_at_rest().await;
    let began = Instant::now();
    let mut stalled = Vec::new();
    for _ in 0..STALLED {
        let mut socket = listen(&program.address, workload()).await;
        let again = ViewerFrame::Subscribe { scope: Scope::Workload(workload()), since: None };
        for _ in 0..UNREAD_SNAPSHOTS {
            socket.send(Message::Binary(wire::encode(&again).unwrap().into())).await.unwrap();
        }
        stalled.push(socket);
    }
    let with = Window::measure(&viewers.shared, program, count, lasts).await;
    let held = (program.memory() as f64 - memory as f64) / STALLED as f64;
    row(&format!("{STALLED} that read nothing: p99 of the others before"), &before.at(0.99), "");
    row(&format!("{STALLED} that read nothing: p99 of the others"), &with.at(0.99), "10 % more");
    row(&format!("{STALLED} that read nothing: memory of each, KB"), &format!("{held:.1}"), "256");
    let closed = until_viewers(program, count).await;
    let after = if closed { seconds(began.elapsed()) } else { "no".to_owned() };
    row(&format!("{STALLED} that read nothing: all closed after"), &after, "");
    row("frames that did not reach all others", &with.partial.to_string(), "0");
}

async fn measure_junk(program: &Program) {
    let random = |bytes: usize| std::iter::repeat_with(|| fastrand::u8(..)).take(bytes).collect::<Vec<_>>();
    let kinds: [(&str, &dyn Fn() -> Message); 3] = [
        ("random bytes", &|| Message::Binary([vec![0xff], random(200)].concat().into())),
        ("a frame that is too large", &|| Message::Binary(random(MAX_VIEWER_FRAME + 1).into())),
        ("text", &|| Message::Text("{}".into())),
    ];
    let before = program.memory_at_rest().await;
    for (what, message) in kinds {
        let mut reasons = HashMap::<String, usize>::new();
        for _ in 0..JUNK {
            let mut socket = listen(&program.address, workload()).await;
            socket.send(message()).await.unwrap();
            *reasons.entry(closed_by(socket).await).or_default() += 1;
        }
        let reasons: Vec<_> = reasons.into_iter().map(|(reason, count)| format!("{count} × {reason}")).collect();
        row(&format!("{what}, {JUNK} connections"), &reasons.join("; "), "closed with a reason");
    }
    let more = program.memory_at_rest().await as f64 - before as f64;
    row("memory after that, KB more", &format!("{more:.0}"), "0");
}

/// Returns the code and reason with which the server closes a connection.
async fn closed_by(mut socket: Socket) -> String {
    let end = async {
        while let Some(message) = socket.next().await {
            match message {
                Ok(Message::Close(Some(frame))) => return format!("{}: {}", frame.code, frame.reason),
                Ok(Message::Close(None)) => return "closed without a reason".to_owned(),
                Err(why) => return why.to_string(),
                Ok(_) => {}
            }
        }
        "ended".to_owned()
    };
    tokio::time::timeout(Duration::from_secs(2), end).await.unwrap_or_else(|_| "not closed".to_owned())
}

async fn snapshot_bytes(address: &str) -> usize {
    let mut socket = listen(address, workload()).await;
    loop {
        let data = socket.next().await.unwrap().unwrap().into_data();
        if let ServerFrame::Snapshot(_) = wire::decode(&data).unwrap() {
            return data.len();
        }
    }
}

async fn drop_all(program: &Program, mut viewers: Viewers) {
    viewers.cut(usize::MAX);
    assert!(until_viewers(program, 0).await, "the server notices who left");
}

/// Waits until the server has no more viewers than that.
async fn until_viewers(program: &Program, count: usize) -> bool {
    let end = Instant::now() + Duration::from_secs(120);
    while Instant::now() < end {
        let metrics = ask(&program.address, "/metrics").await.1;
        // A server that is full refuses one more.
        let viewers = metrics.lines().find_map(|line| line.strip_prefix("rollcast_viewers "));
        if viewers.is_some_and(|viewers| viewers.parse::<usize>().unwrap() <= count) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(250)).await; // polling with a deadline
    }
    false
}

fn row(what: &str, measured: &str, goal: &str) {
    println!("| {what} | {measured} | {goal} |");
}

fn millis(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1e3)
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
