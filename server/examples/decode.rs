//! Time and allocations of one pod event, from the line of a watch to the fact: `cargo run --release -p server --example decode`.
//!
//! The pod is of 11 KB as it is sent: two containers with their environment, five conditions, managedFields. Nothing can be faster
//! than reading the JSON and forgetting it, which is measured beside.

use std::alloc::System;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use server::kube::line::{WatchEvent, decode_line};
use server::kube::translate::Object;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use timeline::fact::{Kind, Seen};

/// Counts allocations, at the cost of some speed.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const LINES: u64 = 1_000;
const ROUNDS: usize = 15;

fn line(number: u64) -> String {
    let uid = |number: u64| format!("00000000-0000-4000-8000-{number:012x}");
    let env: Vec<Value> = (0..24)
        .map(|n| json!({ "name": format!("SETTING_{n}"), "value": format!("a value of some length {n}") }))
        .collect();
    let image = "registry.example.com/shop/web:v1";
    let container = |name: &str| json!({ "name": name, "image": image, "env": env });
    let running = json!({ "running": { "startedAt": "2026-11-21T10:00:00Z" } });
    let status = |name: &str| json!({ "name": name, "image": image, "started": true, "restartCount": 0, "lastState": {}, "state": running });
    let condition = |name: &str| json!({ "type": name, "status": "True", "lastProbeTime": null, "lastTransitionTime": "2026-11-21T10:00:01Z" });
    let conditions: Vec<Value> =
        ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"].map(condition).into();
    let fields: serde_json::Map<_, _> = (0..120)
        .map(|n| (format!("f:field-with-a-long-name-{n}"), json!({ "f:a": {}, "f:b": { "f:c": {} } })))
        .collect();
    let pod = json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {
            "uid": uid(number), "name": format!("web-1-{number:05}"), "namespace": "shop", "resourceVersion": "12345",
            "creationTimestamp": "2026-11-21T10:00:00Z", "generation": 1,
            "labels": { "app": "web", "pod-template-hash": "7d9f8b6c5" },
            "ownerReferences": [{ "apiVersion": "apps/v1", "uid": uid(2), "kind": "ReplicaSet", "name": "web", "controller": true }],
            "managedFields": [{ "manager": "kubelet", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": fields }],
        },
        "spec": { "nodeName": "node-1", "containers": [container("web"), container("proxy")] },
        "status": {
            "phase": "Running", "conditions": conditions, "containerStatuses": [status("web"), status("proxy")],
        },
    });
    format!("{{\"type\":\"MODIFIED\",\"object\":{pod}}}\n") // API servers write the type first
}

fn decoded(line: &str) -> Option<Object> {
    match decode_line(Kind::Pod, line.as_bytes()) {
        Ok(WatchEvent::Object(object, _)) => Some(object),
        _ => None,
    }
}

fn measure(name: &str, lines: &[String], mut job: impl FnMut(&str)) {
    let (mut best, mut allocations) = (Duration::MAX, 0);
    for _ in 0..ROUNDS {
        let (region, start) = (Region::new(ALLOCATOR), Instant::now());
        lines.iter().for_each(|line| job(black_box(line)));
        best = best.min(start.elapsed());
        let change = region.change();
        allocations = change.allocations + change.reallocations;
    }
    let count = lines.len() as f64;
    println!(
        "  {name:<20} {:>6.2} µs {:>6.1} allocations",
        best.as_secs_f64() * 1e6 / count,
        allocations as f64 / count
    );
}

fn main() {
    let lines: Vec<String> = (0..LINES).map(line).collect();
    println!("one pod event of {} bytes (best of {ROUNDS}):", lines.first().map_or(0, String::len));
    measure("read and forget", &lines, |line| drop(black_box(serde_json::from_str::<serde::de::IgnoredAny>(line))));
    measure("decode", &lines, |line| drop(black_box(decoded(line))));
    measure("decode, translate", &lines, |line| {
        drop(black_box(decoded(line).map(|object| object.fact(Seen::Modified))))
    });
}
