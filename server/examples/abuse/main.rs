//! Measures what ordinary viewers notice while others attack the server for minutes:
//! `cargo run --release -p server --example abuse -- PATH-OF-ROLLCAST [MINUTES]`.
//!
//! The server shows a cluster of 2,000 Deployments and keeps 500 rollouts of 20 pods of another one. In a network of its own (Linux, with
//! `unshare` and `ip`) 30 addresses take all the 256 connections that each may have, and open them again as they are closed.
//!
//! - 20 flood it: idle connections, heads that arrive a line at a time, websockets that send pings or invalid frames,
//!   forms that would be 10 MB decompressed, of which the server decompresses none.
//! - 10 request expensive work: streams that follow one stored rollout after the other, and pages of those at changing
//!   moments; streams and requests for lists with changing words; readers of a byte a minute of files and recordings.
//!
//! Another address requests a page twenty times a second, for a minute before the attack and during it, and follows a
//! Deployment.
//!
//! Real attackers have machines of their own. Here they are a process of the lowest priority, so that the cost of
//! making the attacks is not measured as the server's.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a measurement ends where its assumptions do"
)]

mod attack;
#[path = "../../tests/all/common/day.rs"]
mod day;
#[path = "../support/mod.rs"]
mod support;

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt;
use server::history::options::Limits;
use server::history::sqlite::Sqlite;
use timeline::Workload;
use timeline::wire::{self, ServerFrame};
use tokio::task::{LocalSet, spawn_local};

use support::{Program, ask, listen, quantile};

/// Deployments of the cluster besides the one that is viewed.
const DEPLOYMENTS: u32 = 2_000;
const RECORDING: &str = "server/tests/traces/rollover.jsonl";
const PAGE: &str = "/clusters/rollover/namespaces/rollover/deployments/web";
const ADDRESS: &str = "10.9.0.1:7440";
/// Set for the process in the network of its own.
const INSIDE: &str = "ROLLCAST_ABUSE_INSIDE";
/// The only argument of the process that attacks.
const ATTACK: &str = "attack";

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
        return runtime.block_on(LocalSet::new().run_until(attack::attack(ADDRESS.parse().unwrap())));
    }
    let minutes = arguments.get(1).map_or(10, |minutes| minutes.parse().expect("a number of minutes"));
    let path = arguments.first().expect("the path of rollcast");
    runtime.block_on(LocalSet::new().run_until(abuse(path, Duration::from_secs(60 * minutes))));
}

async fn abuse(path: &str, lasts: Duration) {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("rollover.jsonl");
    std::fs::write(&recording, crowded(&std::fs::read_to_string(RECORDING).unwrap())).unwrap();
    day::keep(&mut Sqlite::open(folder.path(), Limits::default()).unwrap(), day::ROLLOUTS);
    let mut command = Command::new(path);
    command.arg("replay").arg(&recording).arg("--data-dir").arg(folder.path());
    command.args(["--speed", "1000", "--listen", ADDRESS, "--insecure-no-auth"]); // soon at its end, where it stays
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

/// Returns a recording with many more Deployments, which exist when its own one is created.
fn crowded(recording: &str) -> String {
    let is_made = |line: &str| line.contains(r#""kind":"Deployment","type":"ADDED""#);
    let made = recording.lines().find(|line| is_made(line)).unwrap();
    let uid = made.split(r#""uid":""#).nth(1).unwrap().split('"').next().unwrap();
    let other = |number: u32| {
        let name = format!(r#""name":"app-{number}","namespace""#);
        made.replace(uid, &format!("00000000-0000-4000-8000-{number:012}"))
            .replace(r#""name":"web","namespace""#, &name)
    };
    let mut lines: Vec<String> = recording.lines().map(str::to_owned).collect();
    let at = lines.iter().position(|line| is_made(line)).unwrap();
    lines.splice(at..at, (0..DEPLOYMENTS).map(other));
    lines.join("\n") + "\n"
}

/// Returns the times that pages took, in order, and the peak memory of the program in KB.
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

/// Follows the Deployment until the server closes the connection.
async fn follow(address: String, heard: Arc<AtomicU64>) {
    let mut socket = listen(&address, Workload::deployment("rollover", "rollover", "web")).await;
    while let Some(Ok(message)) = socket.next().await {
        if let Ok(ServerFrame::Heartbeat { .. } | ServerFrame::Snapshot(_)) = wire::decode(&message.into_data()) {
            heard.fetch_add(1, Ordering::Relaxed);
        }
    }
}
