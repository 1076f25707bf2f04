//! Memory and descriptors over hours: `cargo run --release -p server --example soak -- PATH-OF-ROLLCAST [HOURS [CSV]]`.
//!
//! Two programs run: a playground at 20 times the speed of time, whose stories go on without end, and a Rollcast with history that
//! watches it through a network. Each has viewers: a wall, a list, and one of a Deployment that reconnects each minute.
//! Every ten minutes the network has a fault for 30 seconds: it is frozen, or connections are reset and refused. Each minute a line of
//! CSV is written; at the end the last third of the lines is compared with the third before it, and memory is drawn beside the CSV as
//! SVG. `soak -- plot CSV` draws a CSV alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a measurement ends where its assumptions do"
)]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt;
use simcluster::api;
use support::{Program, subscribe};
use timeline::Workload;
use timeline::list::{Query, Window};
use timeline::wire::Scope;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_tungstenite::tungstenite::Error;

const SPEED: &str = "20";
const SAMPLE_EVERY: Duration = Duration::from_secs(60);
/// Samples between two faults.
const FAULT_EVERY: u64 = 10;
const FAULT: Duration = Duration::from_secs(30);
const RECONNECT_EVERY: Duration = Duration::from_secs(60);
/// Ratio of the last third to the third before it up to which memory does not count as growing.
const LEVEL: f64 = 1.1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Network {
    Works,
    /// No byte passes.
    Frozen,
    /// Connections are reset and refused.
    Refuses,
}

/// Passes bytes between a listener and a server, as long as the network works.
async fn forward(listener: TcpListener, server: SocketAddr, network: watch::Receiver<Network>) {
    loop {
        let Ok((mut client, _)) = listener.accept().await else { continue };
        let mut network = network.clone();
        tokio::spawn(async move {
            if *network.borrow() == Network::Refuses {
                return;
            }
            let mut upstream = TcpStream::connect(server).await.unwrap();
            loop {
                if network.wait_for(|now| *now != Network::Frozen).await.is_err() || *network.borrow() != Network::Works
                {
                    return;
                }
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut client, &mut upstream) => return,
                    _ = network.changed() => {}
                }
            }
        });
    }
}

/// Runs a viewer, which counts its frames, and connects again when its stream ends or after that time.
async fn look(address: String, scope: Scope, stays: Option<Duration>, frames: Arc<AtomicU64>) {
    loop {
        let watching = async {
            let mut socket = subscribe(&address, scope.clone(), None).await?;
            while let Some(message) = socket.next().await {
                message?;
                frames.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<(), Error>(())
        };
        let _ = tokio::time::timeout(stays.unwrap_or(Duration::MAX), watching).await; // it comes back, however it ended
        tokio::time::sleep(Duration::from_secs(1)).await; // as pages do
    }
}

/// Starts viewers of a program, and returns the number of frames that they received.
fn viewers(address: &str, cluster: &str) -> Arc<AtomicU64> {
    let frames = Arc::new(AtomicU64::default());
    let list = |to| Scope::List { query: Query::default(), window: Window { from: 0, to } };
    let workload = Scope::Workload(Workload::deployment(cluster, "default", "web"));
    for (scope, stays) in [(list(50), None), (list(500), None), (workload, Some(RECONNECT_EVERY))] {
        tokio::spawn(look(address.to_owned(), scope, stays, frames.clone()));
    }
    frames
}

/// Figures of a program at one time.
#[derive(Debug, Clone, Copy)]
struct Sample {
    /// Memory in KB.
    memory: u64,
    descriptors: u64,
    threads: u64,
    /// Frames to viewers since the last sample.
    frames: u64,
}

impl Sample {
    fn take(program: &Program, frames: &AtomicU64) -> Self {
        Self {
            memory: program.memory(),
            descriptors: program.descriptors(),
            threads: program.threads(),
            frames: frames.swap(0, Ordering::Relaxed),
        }
    }
}

/// Returns the ratio of the last third of all values to the third before it, by the largest of each.
fn growth(values: impl Iterator<Item = u64>) -> f64 {
    let values: Vec<u64> = values.collect();
    let third = values.len() / 3;
    let largest = |part: &[u64]| part.iter().copied().max().unwrap_or_default().max(1) as f64;
    largest(&values[2 * third..]) / largest(&values[third..2 * third])
}

/// Draws the memory of both programs, in MB by minutes, beside their CSV.
fn plot(csv: &Path) {
    let text = std::fs::read_to_string(csv).unwrap();
    let mut lines: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let point = (fields[0].parse().unwrap(), fields[2].parse::<f64>().unwrap() / 1000.0);
        lines.entry(fields[1]).or_default().push(point);
    }
    let all = lines.values().flatten();
    let (minutes, most) = all.fold((1.0, 1.0), |(minutes, most), point| (point.0.max(minutes), point.1.max(most)));
    let top = (most / 50.0).ceil() * 50.0;
    let place = |(minute, memory): (f64, f64)| (40.0 + 600.0 * minute / minutes, 10.0 + 200.0 * (1.0 - memory / top));
    let mut svg = r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 240" font-family="sans-serif" font-size="12" fill="gray">"#.to_owned();
    for part in 0..=4 {
        let (memory, minute) = (top * f64::from(part) / 4.0, minutes * f64::from(part) / 4.0);
        let ((left, y), (x, bottom)) = (place((0.0, memory)), place((minute, 0.0)));
        writeln!(svg, r#"<path d="M{left} {y}h600" stroke="gray" stroke-opacity=".3"/>"#).unwrap();
        writeln!(svg, r#"<text x="{}" y="{}" text-anchor="end">{memory:.0}</text>"#, left - 6.0, y + 4.0).unwrap();
        writeln!(svg, r#"<text x="{x}" y="{}" text-anchor="middle">{minute:.0} min</text>"#, bottom + 18.0).unwrap();
    }
    for ((name, points), (colour, y)) in lines.iter().zip([("#2450c8", 20), ("#12806a", 38)]) {
        let at = points.iter().map(|point| place(*point));
        let path: String = at.map(|(x, y)| format!("{x:.1},{y:.1} ")).collect();
        writeln!(svg, r#"<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>"#).unwrap();
        writeln!(svg, r#"<text x="650" y="{y}" fill="{colour}">{name}, MB</text>"#).unwrap();
    }
    std::fs::write(csv.with_extension("svg"), svg + "</svg>\n").unwrap();
}

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("the path of rollcast");
    if path == "plot" {
        plot(Path::new(&arguments.next().expect("the path of a CSV")));
        return ExitCode::SUCCESS;
    }
    let hours: f64 = arguments.next().map_or(8.0, |hours| hours.parse().unwrap());
    let csv = arguments.next().unwrap_or_else(|| "target/soak.csv".to_owned());
    let folder = tempfile::tempdir().unwrap();
    let (played, watched) = (folder.path().join("played"), folder.path().join("watched"));
    let demo = ["demo", "--speed", SPEED, "--listen", "127.0.0.1:0", "--write-kubeconfig"];
    let playground = Program::start(Command::new(&path).args(demo).arg(&played));
    let text = std::fs::read_to_string(&played).unwrap();
    let server = text.split("http://").nth(1).unwrap().split(['"', '\n', ' ']).next().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    std::fs::write(&watched, api::kubeconfig("soak", listener.local_addr().unwrap())).unwrap();
    let (network, state) = watch::channel(Network::Works);
    tokio::spawn(forward(listener, server.parse().unwrap(), state));
    let serve = ["serve", "--listen", "127.0.0.1:0", "--data-dir"];
    let mut command = Command::new(&path);
    command.args(serve).arg(folder.path().join("history")).arg("--kubeconfig").arg(&watched);
    let rollcast = Program::start(&mut command);
    let programs = [
        ("playground", &playground, viewers(&playground.address, "playground")),
        ("serve", &rollcast, viewers(&rollcast.address, "soak")),
    ];
    let mut file = std::fs::File::create(&csv).unwrap();
    writeln!(file, "minute,program,memory_kb,descriptors,threads,frames").unwrap();
    let mut samples: Vec<[Sample; 2]> = Vec::new();
    let (began, mut ticks) = (Instant::now(), tokio::time::interval(SAMPLE_EVERY));
    ticks.tick().await;
    for minute in 1_u64.. {
        ticks.tick().await;
        let taken = programs.each_ref().map(|(_, program, frames)| Sample::take(program, frames));
        samples.push(taken);
        let mut lines = String::new();
        for ((name, ..), Sample { memory, descriptors, threads, frames }) in programs.iter().zip(taken) {
            writeln!(lines, "{minute},{name},{memory},{descriptors},{threads},{frames}").unwrap();
        }
        print!("{lines}");
        file.write_all(lines.as_bytes()).unwrap();
        if began.elapsed().as_secs_f64() >= hours * 3600.0 {
            break;
        }
        if minute.is_multiple_of(FAULT_EVERY) {
            let fault = if (minute / FAULT_EVERY).is_multiple_of(2) { Network::Refuses } else { Network::Frozen };
            network.send_replace(fault);
            tokio::time::sleep(FAULT).await; // the time of the fault
            network.send_replace(Network::Works);
        }
    }
    plot(Path::new(&csv));
    let mut is_level = true;
    for (index, (name, ..)) in programs.iter().enumerate() {
        let of = |value: fn(&Sample) -> u64| growth(samples.iter().map(|taken| value(&taken[index])));
        let figures = [
            ("memory", of(|sample| sample.memory)),
            ("descriptors", of(|sample| sample.descriptors)),
            ("threads", of(|sample| sample.threads)),
        ];
        for (figure, growth) in figures {
            println!("{name}: {figure} {growth:.2} times those of the third before");
            is_level &= growth <= LEVEL;
        }
        let frames = samples.iter().map(|taken| taken[index].frames);
        let least = frames.min().unwrap_or_default();
        println!("{name}: at least {least} frames a minute");
        is_level &= least > 0;
    }
    println!("{}", if is_level { "level" } else { "NOT level: something grows, or viewers get nothing" });
    if is_level { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
