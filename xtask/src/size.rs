//! Size of a first visit, and memory of an idle server.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use serde_json::json;

use crate::server::Server;
use crate::{build, fonts, page, process};

/// Goal for everything that a first visit loads, in compressed bytes.
const GOAL: u64 = 320_000;
/// Pages, by their addresses, and what a first visit to each may weigh: the Deployment is one of [`PODS`] pods. Some weigh more than
/// the goal (docs/adr/008-program-in-parts.md); they may at least not grow.
const VISITS: [(&str, &str, u64); 3] =
    [("a list", "/", 322_000), ("a Deployment", DEPLOYMENT, 522_000), ("the wall", "/wall", 515_000)];
/// Limit for the playground, whose strip has a part of its own.
const PLAYGROUND: (&str, &str, u64) =
    ("the playground", "/clusters/playground/namespaces/default/deployments/web", 552_000);
const DEPLOYMENT: &str = "/clusters/size/namespaces/shop/deployments/web";
const PODS: u32 = 100;
const MANY_PODS: u32 = 500;
/// Limit for the page of so many pods, in compressed bytes.
const MANY_LIMIT: u64 = 60_000;
/// Limit for the memory of an idle server that no other process shares, in MB.
const IDLE_LIMIT: f64 = 25.0;
const TIMES: usize = 21;

pub fn print() -> Result<()> {
    let rollcast = build::release()?;
    check(&rollcast)?;
    println!("Program: {:.1} MB", std::fs::metadata(&rollcast)?.len() as f64 / 1e6);
    let idle = replaying(&rollcast, PODS)?.private_kib()? as f64 * 1024.0 / 1e6;
    println!("Idle server with {PODS} pods: {idle:.1} MB of its own (limit {IDLE_LIMIT})");
    ensure!(idle <= IDLE_LIMIT, "an idle server has {idle:.1} MB of its own, at most {IDLE_LIMIT} are allowed");
    Ok(())
}

/// Fails when a first visit or the page of many pods weighs more than it may, for tests; `rollcast` is the program that serves it.
pub fn check(rollcast: &Path) -> Result<()> {
    println!("First visits, bytes as they travel (brotli); the HTML depends on what is shown:");
    let server = replaying(rollcast, PODS)?;
    let mut over = Vec::new();
    for visit in VISITS {
        over.extend(measure(&server, visit)?);
    }
    drop(server);
    let kubeconfig = process::workspace_path("target/size.kubeconfig");
    over.extend(measure(&Server::playground(rollcast, &kubeconfig, &["--no-stories"])?, PLAYGROUND)?);
    let (bytes, millis) = many_pods(rollcast)?;
    // The time depends on the build and on other load of the machine: only the bytes have a limit.
    println!(
        "Page of {MANY_PODS} pods: {bytes} bytes (brotli; limit {MANY_LIMIT}), {millis:.1} ms at the server (50 ms in a release build)"
    );
    ensure!(over.is_empty(), "{}", over.join("; "));
    ensure!(bytes <= MANY_LIMIT, "the page of {MANY_PODS} pods weighs {bytes} bytes, at most {MANY_LIMIT} are allowed");
    Ok(())
}

/// Prints what a page loads, and whether that is more than its limit.
fn measure(server: &Server, (name, path, limit): (&str, &str, u64)) -> Result<Option<String>> {
    println!("{name}:");
    let html = compressed(server, path, "br")?;
    let mut parts = vec![(html.len() as u64, "the HTML".to_owned())];
    for file in named(&String::from_utf8(compressed(server, path, "identity")?)?) {
        parts.push((std::fs::metadata(process::workspace_path(page::SITE).join(format!("{file}.br")))?.len(), file));
    }
    for font in fonts::OF_PAGES {
        parts.push((fonts::weight(font)?, format!("the font {font}")));
    }
    for (weight, part) in &parts {
        println!("  {weight:>8}  {part}");
    }
    let all: u64 = parts.iter().map(|(weight, _)| weight).sum();
    println!("  {all:>8}  together (limit {limit}, goal {GOAL})");
    Ok((all > limit).then(|| format!("a first visit to {name} weighs {all} bytes, at most {limit} are allowed")))
}

/// Returns the body of a response in one of the encodings.
fn compressed(server: &Server, path: &str, encoding: &str) -> Result<Vec<u8>> {
    Ok(server.get(path, &format!("Accept-Encoding: {encoding}\r\n"))?.body)
}

/// Returns the files of the site that a document names, each once. Browsers load all of them, but not the links that people follow.
fn named(html: &str) -> BTreeSet<String> {
    let addresses = ["href=\"/", "src=\"/"].into_iter().flat_map(|begin| html.split(begin).skip(1));
    let files = addresses.filter_map(|rest| rest.split(['"', '?']).next());
    files
        .filter(|file| process::workspace_path(page::SITE).join(format!("{file}.br")).is_file())
        .map(str::to_owned)
        .collect()
}

/// Returns the size of the page of many pods, and the median of the server's time for it.
fn many_pods(rollcast: &Path) -> Result<(u64, f64)> {
    let server = replaying(rollcast, MANY_PODS)?;
    let mut times = Vec::new();
    let mut bytes = 0;
    for _ in 0..TIMES {
        let began = Instant::now();
        bytes = compressed(&server, DEPLOYMENT, "br")?.len() as u64;
        times.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    Ok((bytes, times.get(TIMES / 2).copied().unwrap_or_default()))
}

/// Starts Rollcast with a recording of that many pods, which stands still.
fn replaying(rollcast: &Path, pods: u32) -> Result<Server> {
    let recording = process::workspace_path("target/size.jsonl");
    std::fs::write(&recording, self::pods(pods))?;
    Server::replaying(rollcast, "9", [recording])
}

/// Returns a recording of one Deployment with that many available pods.
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
