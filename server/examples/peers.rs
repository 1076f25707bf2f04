//! Compares Rollcast with other clients of the same cluster: time and CPU of the first list, CPU of one event, memory.
//! `cargo run --release -p server --example peers -- PATH-OF-ROLLCAST [PODS [RATE [SECONDS]]]`.
//!
//! Each client gets a simulated cluster of its own with the same pods (a hundred to a Deployment, with ten old ReplicaSets) and the
//! same changes. The first two clients are the limit of what is possible: one reads the bytes of the four kinds, one decodes them as
//! Rollcast does and forgets them. `kubectl` and `k9s` watch pods alone; `kubectl` is left out if it is not installed, `k9s` if `K9S` does not hold its
//! path.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a measurement ends where its assumptions do"
)]

mod support;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use server::kube::line::decode_line;
use simcluster::World;
use simcluster::api::{self, Cluster};
use simcluster::load::{self, Load};
use support::Program;
use support::reflector::reflect;
use timeline::fact::Kind;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader as AsyncBufReader};
use tokio::net::TcpStream;

const OLD_REPLICA_SETS: usize = 10;
const PATHS: [(Kind, &str); 4] = [
    (Kind::Deployment, "/apis/apps/v1/deployments"),
    (Kind::ReplicaSet, "/apis/apps/v1/replicasets"),
    (Kind::Pod, "/api/v1/pods"),
    (Kind::Event, "/api/v1/events"),
];

/// Serves the cluster, whose pods change all the time, until the process is killed.
async fn serve(pods: usize, rate: u32) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let mut world = World::new(1, i64::try_from(now.as_millis()).unwrap(), load::settings(pods));
    let load = Load::fill(&mut world, pods, OLD_REPLICA_SETS).unwrap();
    let cluster = Cluster::new(world);
    let listener = api::listen(0).await.unwrap();
    println!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(cluster.clone().run());
    tokio::spawn(cluster.clone().serve(listener));
    let (started, mut done) = (Instant::now(), 0_u64);
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    loop {
        tick.tick().await;
        let due = (started.elapsed().as_secs_f64() * f64::from(rate)) as u64;
        let now = (due - done).min(u64::from(rate) / 100 + 1);
        cluster.with(|world| {
            for _ in 0..now {
                load.change(world);
            }
        });
        done += now;
    }
}

/// Reads lists and watches of the four kinds, and decodes them or not. Reports when the lists are complete.
async fn read(address: &str, is_decoding: bool) {
    let (listed, mut all) = tokio::sync::mpsc::channel(PATHS.len());
    for (kind, path) in PATHS {
        let (address, listed) = (address.to_owned(), listed.clone());
        tokio::spawn(async move {
            let mut stream = TcpStream::connect(&address).await.unwrap();
            let query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
            let request = format!("GET {path}?{query} HTTP/1.0\r\nHost: localhost\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let (mut lines, mut line) = (AsyncBufReader::with_capacity(1 << 16, stream), Vec::new());
            let mut is_body = false;
            while lines.read_until(b'\n', &mut line).await.unwrap() > 0 {
                // Bookmarks are short: longer lines are not searched.
                let is_end = line.len() < 400 && String::from_utf8_lossy(&line).contains("initial-events-end");
                if is_body && is_decoding {
                    decode_line(kind, &line).unwrap();
                }
                is_body |= line == b"\r\n";
                if is_end {
                    listed.send(()).await.unwrap();
                }
                line.clear();
            }
        });
    }
    for _ in PATHS {
        all.recv().await.unwrap();
    }
    println!("http://listed");
    std::future::pending::<()>().await;
}

/// Figures of one client.
struct Figures {
    name: &'static str,
    first_list: Duration,
    first_list_cpu: Duration,
    event_micros: f64,
    /// Memory in KB.
    peak: u64,
    rest: u64,
}

/// The cluster's newest resourceVersion, which counts changes.
async fn revision(address: &str) -> u64 {
    let (_, answer) = support::ask(address, "/api/v1/namespaces/none/pods?limit=1").await;
    let after = answer.split("\"resourceVersion\":\"").nth(1).unwrap();
    after.split('"').next().unwrap().parse().unwrap()
}

async fn measure(name: &'static str, cluster: &Program, program: &Program, began: Instant, time: Duration) -> Figures {
    let (first_list, first_list_cpu) = (began.elapsed(), program.cpu());
    tokio::time::sleep(Duration::from_secs(2)).await; // the first list is worked off
    let before = (program.cpu(), revision(&cluster.address).await);
    tokio::time::sleep(time).await; // the time that is measured
    let after = (program.cpu(), revision(&cluster.address).await);
    let events = (after.1 - before.1) as f64;
    let event_micros = (after.0 - before.0).as_secs_f64() * 1e6 / events;
    Figures { name, first_list, first_list_cpu, event_micros, peak: program.peak_memory(), rest: program.memory() }
}

/// `kubectl get pods -A -w`, once it has printed so many pods.
fn start_kubectl(kubeconfig: &Path, pods: usize) -> Option<Program> {
    let mut command = Command::new("kubectl");
    command.args(["get", "pods", "-A", "-w", "--no-headers", "--kubeconfig"]).arg(kubeconfig);
    let mut child = command.stdout(Stdio::piped()).spawn().ok()?;
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.by_ref().take(pods).for_each(|line| drop(line.unwrap()));
    std::thread::spawn(move || lines.for_each(drop));
    Some(Program::with_child(child, String::new()))
}

/// `k9s` on the pods of all namespaces, on a terminal of its own, once its title has counted so many pods: a thousand to a million.
fn start_k9s(folder: &Path, kubeconfig: &Path, pods: usize) -> Option<Program> {
    let k9s = std::env::var_os("K9S")?;
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let path = ptsname(&master, Vec::new()).unwrap();
    let terminal = File::options().read(true).write(true).open(OsStr::from_bytes(path.as_bytes())).unwrap();
    // `setsid` is replaced by the program that it starts, as the leader of a session with that terminal.
    let mut command = Command::new("setsid");
    command.arg("--ctty").arg(k9s).args(["--all-namespaces", "--command", "pods", "--kubeconfig"]).arg(kubeconfig);
    command.env("TERM", "xterm-256color").env("K9S_CONFIG_DIR", folder);
    command.stdin(terminal.try_clone().unwrap()).stdout(terminal.try_clone().unwrap()).stderr(terminal);
    let child = command.spawn().unwrap();
    drop(command); // with the terminal, which ends for its reader once nobody has it
    let mut screen = File::from(master);
    let terminal = screen.try_clone().unwrap();
    let title = format!("[{},{:03}]", pods / 1000, pods % 1000);
    let (mut bytes, mut text) = (vec![0; 1 << 16], String::new());
    let (counted, is_counted) = mpsc::channel();
    std::thread::spawn(move || {
        while let Ok(length) = screen.read(&mut bytes) {
            text.push_str(&String::from_utf8_lossy(&bytes[..length]));
            if without_escapes(&text).contains(&title) {
                let _ = counted.send(()); // somebody waits for the first one only
                text.clear();
            }
            let start = text.ceil_char_boundary(text.len().saturating_sub(1 << 17));
            text.drain(..start);
        }
    });
    // It draws only changes, and everything after a change of the size.
    for columns in (200..500).cycle() {
        tcsetwinsize(&terminal, Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        match is_counted.recv_timeout(Duration::from_millis(500)) {
            Ok(()) => break,
            Err(error) => assert!(error == RecvTimeoutError::Timeout, "k9s ended"),
        }
    }
    Some(Program::with_child(child, String::new()))
}

/// Removes escape sequences from the output of a terminal program.
fn without_escapes(text: &str) -> String {
    let text = text.replace("\u{1b}(B", "");
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| {
        shown + part.trim_start_matches(|of: char| !of.is_ascii_alphabetic()).get(1..).unwrap_or_default()
    })
}

fn myself(arguments: &[&str]) -> Program {
    Program::start(Command::new(std::env::current_exe().unwrap()).args(arguments))
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", pods, rate] => return serve(pods.parse().unwrap(), rate.parse().unwrap()).await,
        ["bytes", address] => return read(address, false).await,
        ["decode", address] => return read(address, true).await,
        ["reflect", address] => return reflect(&format!("http://{address}")).await,
        _ => {}
    }
    let path = arguments.first().expect("the path of rollcast");
    let argument = |index: usize, usual: &'static str| arguments.get(index).map_or(usual, String::as_str);
    let (pods, rate, seconds) = (argument(1, "20000"), argument(2, "1000"), argument(3, "20"));
    let (count, time) = (pods.parse().unwrap(), Duration::from_secs(seconds.parse().unwrap()));
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let mut all = Vec::new();
    for name in ["bytes", "decode", "reflector", "kubectl", "k9s", "rollcast"] {
        let cluster = myself(&["serve", pods, rate]);
        std::fs::write(&kubeconfig, api::kubeconfig("load", cluster.address.parse().unwrap())).unwrap();
        let began = Instant::now();
        let program = match name {
            "reflector" => myself(&["reflect", &cluster.address]),
            "kubectl" => match start_kubectl(&kubeconfig, count) {
                Some(kubectl) => kubectl,
                None => continue,
            },
            "k9s" => match start_k9s(folder.path(), &kubeconfig, count) {
                Some(k9s) => k9s,
                None => continue,
            },
            "rollcast" => {
                let serve = ["serve", "--no-history", "--listen", "127.0.0.1:0", "--kubeconfig"];
                let rollcast = Program::start(Command::new(path).args(serve).arg(&kubeconfig));
                rollcast.live().await;
                rollcast
            }
            limit => myself(&[limit, &cluster.address]),
        };
        all.push(measure(name, &cluster, &program, began, time).await);
    }
    print(&all, &format!("{pods} pods, {rate} changes a second for {seconds} s"));
}

fn print(all: &[Figures], work: &str) {
    println!("| {work} | {} |", all.iter().map(|figures| figures.name).collect::<Vec<_>>().join(" | "));
    println!("|---|{}", "---|".repeat(all.len()));
    let reflector = all.iter().find(|figures| figures.name == "reflector").unwrap();
    let row = |name: &str, value: &dyn Fn(&Figures) -> f64| {
        let cells =
            all.iter().map(|figures| format!(" {:.2} ({:.2}) |", value(figures), value(figures) / value(reflector)));
        println!("| {name} |{}", cells.collect::<String>());
    };
    row("first list, s", &|figures| figures.first_list.as_secs_f64());
    row("CPU of the first list, s", &|figures| figures.first_list_cpu.as_secs_f64());
    row("CPU of one event, µs", &|figures| figures.event_micros);
    row("peak of memory, MB", &|figures| figures.peak as f64 / 1000.0);
    row("memory at the end, MB", &|figures| figures.rest as f64 / 1000.0);
    println!("In brackets: relative to the reflector.");
}
