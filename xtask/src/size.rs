//! What a first visit weighs, and what an idle server needs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::{build, fonts, page, sh};

/// What every page loads.
const FILES: [&str; 5] = ["pkg/rollcast_bg.wasm", "pkg/rollcast.js", "pkg/rollcast.css", "start.js", "theme.js"];
/// Everything that a first visit loads should weigh no more than this, with the page of [`PODS`] pods, in bytes as they travel.
const GOAL: u64 = 320_000;
/// What it weighs is more than that (ARCHITECTURE.md, "What it weighs"); it may at least not grow.
const LIMIT: u64 = 525_000;
const PODS: u32 = 100;
const MANY_PODS: u32 = 500;
/// What the page of so many pods may weigh, in bytes as they travel.
const MANY_LIMIT: u64 = 60_000;
/// How often a page is fetched.
const TIMES: usize = 21;

/// Prints the figures.
pub fn print() -> Result<()> {
    let rollcast = build::release()?;
    check(&rollcast)?;
    println!("Program: {:.1} MB", std::fs::metadata(&rollcast)?.len() as f64 / 1e6);
    let recording = sh::at("target/size.jsonl");
    std::fs::write(&recording, pods(PODS))?;
    let mut server = Server::start(
        Command::new(&rollcast).args(["replay", "--listen", "127.0.0.1:0", "--hold-at", "9"]).arg(&recording),
    )?;
    let resident = server.resident_kib()?;
    println!("Idle server with {PODS} pods: {:.1} MB resident (limit 40)", resident as f64 * 1024.0 / 1e6);
    Ok(())
}

/// Prints what every page loads, and returns the sum.
fn first_visit() -> Result<u64> {
    let mut sum = 0;
    for file in FILES {
        let weight = std::fs::metadata(sh::at(page::SITE).join(format!("{file}.br")))?.len();
        println!("  {weight:>8}  {file}");
        sum += weight;
    }
    for font in fonts::OF_PAGES {
        let weight = fonts::weight(font)?;
        println!("  {weight:>8}  the font {font}");
        sum += weight;
    }
    Ok(sum)
}

/// Fails when a first visit or the page of many pods weighs more than it may, for tests; `rollcast` is the program that serves it.
pub fn check(rollcast: &Path) -> Result<()> {
    println!("First visit, bytes as they travel (brotli); the HTML depends on what is shown:");
    let all = first_visit()? + self::page(rollcast, PODS)?.0;
    println!("  {all:>8}  together with the page of {PODS} pods (limit {LIMIT}, goal {GOAL})");
    let (bytes, millis) = self::page(rollcast, MANY_PODS)?;
    // How long it takes depends on the build and on what else the machine does: only the bytes are held to their limit.
    println!(
        "Page of {MANY_PODS} pods: {bytes} bytes (brotli; limit {MANY_LIMIT}), {millis:.1} ms at the server (50 ms in a release build)"
    );
    ensure!(all <= LIMIT, "a first visit weighs {all} bytes, at most {LIMIT} are allowed");
    ensure!(bytes <= MANY_LIMIT, "the page of {MANY_PODS} pods weighs {bytes} bytes, at most {MANY_LIMIT} are allowed");
    Ok(())
}

/// What a page of that many pods weighs, and the median of how long the server needs for it.
fn page(rollcast: &Path, pods: u32) -> Result<(u64, f64)> {
    let recording = sh::at("target/size.jsonl");
    std::fs::write(&recording, self::pods(pods))?;
    let server = Server::start(
        Command::new(rollcast).args(["replay", "--listen", "127.0.0.1:0", "--hold-at", "9"]).arg(&recording),
    )?;
    let host = server.address.trim_start_matches("http://");
    let request = format!(
        "GET /clusters/size/namespaces/shop/deployments/web HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: br\r\nConnection: close\r\n\r\n"
    );
    let mut times = Vec::new();
    let mut bytes = 0;
    for _ in 0..TIMES {
        let began = Instant::now();
        let mut stream = TcpStream::connect(host)?;
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        times.push(began.elapsed().as_secs_f64() * 1000.0);
        let head = answer.windows(4).position(|window| window == b"\r\n\r\n").context("no answer")?;
        bytes = (answer.len() - head - 4) as u64;
    }
    times.sort_by(f64::total_cmp);
    Ok((bytes, times.get(TIMES / 2).copied().unwrap_or_default()))
}

/// A recording of one Deployment with that many available pods.
fn pods(count: u32) -> String {
    let uid = |number: u32| format!("00000000-0000-4000-8000-{number:012x}");
    let owned = |number: u32, name: String, kind: &str, owner: u32| {
        json!({ "uid": uid(number), "name": name, "namespace": "shop", "creationTimestamp": "2026-11-21T10:00:00Z",
        "annotations": { "deployment.kubernetes.io/revision": "1" },
        "ownerReferences": [{ "uid": uid(owner), "kind": kind, "name": "web", "controller": true }] })
    };
    let template = json!({ "spec": { "containers": [{ "name": "web", "image": "web:v1" }] } });
    let mut objects = vec![
        (
            "Deployment",
            json!({ "metadata": owned(1, "web".into(), "", 0), "spec": { "replicas": count, "template": template },
            "status": { "replicas": count, "updatedReplicas": count, "availableReplicas": count } }),
        ),
        (
            "ReplicaSet",
            json!({ "metadata": owned(2, "web-1".into(), "Deployment", 1), "spec": { "replicas": count, "template": template },
            "status": { "replicas": count } }),
        ),
    ];
    objects.extend((0..count).map(|number| {
        let status = json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T10:00:01Z" }] });
        ("Pod", json!({ "metadata": owned(100 + number, format!("web-1-{number:05}"), "ReplicaSet", 2), "spec": { "nodeName": "node-1", "containers": [{ "name": "web", "image": "web:v1" }] }, "status": status }))
    }));
    let lines = objects.into_iter().map(|(kind, object)| {
        json!({ "observedAtMillis": 1_795_255_200_000_i64, "kind": kind, "type": "LISTED", "object": object })
            .to_string()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A rollcast that ends with its owner.
pub struct Server {
    child: Child,
    /// Where it serves, without the last slash.
    pub address: String,
}

impl Server {
    /// Starts it and waits for the line that tells its address.
    pub fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).env("ROLLCAST_LOG", "error").spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
        let address =
            line.split_whitespace().last().context("rollcast did not start")?.trim_end_matches('/').to_owned();
        Ok(Self { child, address })
    }

    fn resident_kib(&mut self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
        Ok(line.split_whitespace().nth(1).context("no figure")?.parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
