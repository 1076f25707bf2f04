//! Measures the cost of the timeline on one core: time per pod event, memory per pod, time to bring a viewer up to
//! date.
//!
//! `cargo run --release --example bench`. Events are of a pod of 11 KB as it is sent (two containers, environment, managedFields) in a
//! Deployment of 100 pods, decoded, translated, applied and encoded; the first two again with their allocations.
//! Memory is what the allocator hands out for 20,000 live pods of 50 Deployments, each with five states. The snapshot is of one
//! Deployment with 5,000 pods. The time that a hub's task spends on a new viewer, while others wait, is measured for
//! 100 Deployments of 100 pods.

#![allow(clippy::indexing_slicing, reason = "a tool of our own on data of its own")]

use std::alloc::System;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;
use serde_json::{Value, json};
use server::kube::line::{WatchEvent, decode_line};
use server::kube::translate::Object;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use timeline::fact::{Kind, Seen};
use timeline::view::Now;
use timeline::wire::{self, Delta, Objects, Said, ServerFrame, Snapshot};
use timeline::{Change, History, Timeline, Uid};

/// Counts what is allocated, at the cost of some speed: times are measured before it matters.
#[global_allocator]
static ALLOCATED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn allocated_bytes() -> usize {
    let stats = ALLOCATED.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

const PODS: u64 = 100;
const EVENTS: u64 = 20_000;

fn uid(number: u64) -> String {
    format!("00000000-0000-4000-8000-{number:012x}")
}

fn owned(number: u64, name: &str, kind: &str, owner: u64) -> Value {
    json!({
        "uid": uid(number), "name": name, "namespace": "shop", "creationTimestamp": "2026-11-21T10:00:00Z", "generation": 1,
        "annotations": { "deployment.kubernetes.io/revision": "1" },
        "ownerReferences": [{ "uid": uid(owner), "kind": kind, "name": "web", "controller": true }],
    })
}

/// A pod as a real cluster sends it, mostly with fields that Rollcast ignores.
fn pod(number: u64, is_ready: bool) -> String {
    let env: Vec<Value> = (0..24)
        .map(|n| json!({ "name": format!("SETTING_{n}"), "value": format!("a value of some length {n}") }))
        .collect();
    let container = |name: &str| json!({ "name": name, "image": "registry.example.com/shop/web:v1", "env": env, "resources": { "requests": { "cpu": "100m" } } });
    let fields: Value = (0..120)
        .map(|n| (format!("f:field-with-a-long-name-{n}"), json!({ "f:a": {}, "f:b": { "f:c": {} } })))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let mut metadata = owned(number, &format!("web-1-{number:05}"), "ReplicaSet", 2);
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.insert(
            "managedFields".to_owned(),
            json!([{ "manager": "kubelet", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": fields }]),
        );
    }
    let truth = if is_ready { "True" } else { "False" };
    json!({
        "kind": "Pod", "apiVersion": "v1", "metadata": metadata,
        "spec": { "nodeName": "node-1", "containers": [container("web"), container("proxy")] },
        "status": {
            "phase": "Running",
            "conditions": [{ "type": "Ready", "status": truth, "reason": "ContainersNotReady", "lastTransitionTime": "2026-11-21T10:00:01Z" }],
            "containerStatuses": [
                { "name": "web", "restartCount": 0, "state": { "running": { "startedAt": "2026-11-21T10:00:00Z" } } },
                { "name": "proxy", "restartCount": 0, "state": { "running": { "startedAt": "2026-11-21T10:00:00Z" } } },
            ],
        },
    })
    .to_string()
}

fn observe(timeline: &mut Timeline, at: i64, kind: Kind, json: &str) -> Vec<Change> {
    match Object::decode(kind, json).and_then(|object| object.fact(Seen::Modified)) {
        Ok(Some(fact)) => timeline.apply(at, fact),
        _ => Vec::new(),
    }
}

/// Adds a Deployment with a ReplicaSet and pods that are scheduled, start, run, are ready.
fn populate(timeline: &mut Timeline, first: u64, pods: u64) {
    populate_and_note(timeline, first, pods, &mut |_, _| {});
}

fn populate_and_note(timeline: &mut Timeline, first: u64, pods: u64, note: &mut impl FnMut(i64, &[Change])) {
    let mut observe = |at, kind, json: &str| note(at, &observe(timeline, at, kind, json));
    let template =
        json!({ "spec": { "containers": [{ "name": "web", "image": "registry.example.com/shop/web:v1" }] } });
    let deployment = json!({ "metadata": owned(first, "web", "", 0), "spec": { "replicas": pods, "template": template }, "status": { "observedGeneration": 1 } });
    let set = json!({ "metadata": owned(first + 1, "web-1", "Deployment", first), "spec": { "replicas": pods, "template": template }, "status": {} });
    observe(0, Kind::Deployment, &deployment.to_string());
    observe(0, Kind::ReplicaSet, &set.to_string());
    for number in 0..pods {
        let mut pod = json!({
            "metadata": owned(first + 2 + number, &format!("web-7d9f8b6c5-{number:05}"), "ReplicaSet", first + 1),
            "spec": { "containers": [{ "name": "web", "image": "web:v1" }] }, "status": { "phase": "Pending" },
        });
        observe(1, Kind::Pod, &pod.to_string());
        pod["spec"]["nodeName"] = json!("ip-10-0-12-34.eu-central-1.compute.internal");
        observe(2, Kind::Pod, &pod.to_string());
        pod["status"]["phase"] = json!("Running");
        pod["status"]["containerStatuses"] = json!([{ "name": "web", "restartCount": 0, "state": { "running": {} } }]);
        observe(3, Kind::Pod, &pod.to_string());
        for (at, ready) in [(4, "True"), (5, "False"), (6, "True")] {
            pod["status"]["conditions"] = json!([{ "type": "Ready", "status": ready, "reason": "ContainersNotReady",
                "message": "containers with unready status: [web]", "lastTransitionTime": "2026-11-21T10:00:01Z" }]);
            observe(at, Kind::Pod, &pod.to_string());
        }
    }
}

fn memory() {
    const DEPLOYMENTS: u64 = 50;
    const EACH: u64 = 400;
    let before = allocated_bytes();
    let mut timeline = Timeline::new();
    (0..DEPLOYMENTS).for_each(|number| populate(&mut timeline, 1 + number * 10_000, EACH));
    let bytes = allocated_bytes().saturating_sub(before);
    let states = timeline.model().pods.values().map(|pod| pod.states.len()).min().unwrap_or(0);
    println!("memory of {} live pods with {states} states each:", DEPLOYMENTS * EACH);
    println!("  per pod    {:>7} bytes (limit 2048)", bytes as u64 / (DEPLOYMENTS * EACH));
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns the best of nine times.
fn best(job: &mut dyn FnMut()) -> Duration {
    let run = |job: &mut dyn FnMut()| {
        let start = Instant::now();
        job();
        start.elapsed()
    };
    (0..9).map(|_| run(job)).min().unwrap_or_default()
}

fn decode_pod(line: &str) -> Option<Object> {
    match decode_line(Kind::Pod, line.as_bytes()) {
        Ok(WatchEvent::Object(object, _)) => Some(object),
        _ => None,
    }
}

/// Measures time and allocations from the line of a watch to the fact. The lower limit is to parse the JSON and drop
/// it.
fn lines() {
    const LINES: u64 = 1_000;
    let line = |number| format!("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", pod(number, true));
    let lines: Vec<String> = (0..LINES).map(line).collect();
    let measure = |name: &str, job: &dyn Fn(&str)| {
        let mut run = || lines.iter().for_each(|line| job(black_box(line)));
        let micros = best(&mut run).as_secs_f64() * 1e6 / LINES as f64;
        let region = Region::new(ALLOCATED);
        run();
        let change = region.change();
        let allocations = (change.allocations + change.reallocations) as f64 / LINES as f64;
        println!("  {name:<17} {micros:>6.2} µs {allocations:>6.1} allocations");
    };
    println!("one line of a watch of {} bytes (best of 9):", lines.first().map_or(0, String::len));
    measure("read and forget", &|line| drop(black_box(serde_json::from_str::<IgnoredAny>(line))));
    measure("decode", &|line| drop(black_box(decode_pod(line))));
    measure("decode, translate", &|line| {
        drop(black_box(decode_pod(line).map(|object| object.fact(Seen::Modified))));
    });
}

/// Measures what a hub's task does for a new viewer: the first snapshot of a stream, the copy for a page, and that for
/// an excerpt.
fn begin() {
    const DEPLOYMENTS: u64 = 100;
    let (mut timeline, mut history) = (Timeline::new(), History::default());
    for number in 0..DEPLOYMENTS {
        populate_and_note(&mut timeline, 1 + number * 10_000, PODS, &mut |at, changes| history.note(at, changes));
    }
    let model = timeline.model();
    let all = || model.deployments.keys().copied();
    let now = Now { millis: 60_000, skew_millis: 0 };
    let (mut saying, mut copying, mut encoding) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for uid in all() {
        let mut said = Said::default();
        saying += best(&mut || said = server::hub::describe_deployment(model, uid, now));
        let mut objects = Objects::default();
        copying += best(&mut || objects = Objects::of(model, uid));
        let seq = timeline.seq();
        let snapshot = Snapshot { epoch: 1, seq, deployment: Some(uid), objects, said, ..Snapshot::default() };
        let frame = ServerFrame::Snapshot(Box::new(snapshot));
        encoding += best(&mut || drop(black_box(wire::encode(&frame))));
    }
    let page = best(&mut || all().for_each(|uid| drop(black_box(model.around(uid)))));
    let excerpt = best(&mut || all().take(1).for_each(|uid| drop(black_box(history.only(model, uid)))));
    println!(
        "in the hub's task, {DEPLOYMENTS} Deployments of {PODS} pods, {} changes (best of 9):",
        history.changes().count()
    );
    println!(
        "  a stream   {:>7.2} ms for the first of each Deployment: copy {:.2}, say {:.2}, encode {:.2}",
        millis(copying + saying + encoding) / DEPLOYMENTS as f64,
        millis(copying) / DEPLOYMENTS as f64,
        millis(saying) / DEPLOYMENTS as f64,
        millis(encoding) / DEPLOYMENTS as f64
    );
    println!("  a page     {:>7.2} ms", millis(page) / DEPLOYMENTS as f64);
    println!("  an excerpt {:>7.2} ms", millis(excerpt));
}

fn snapshot() {
    const PODS: u64 = 5_000;
    let mut timeline = Timeline::new();
    populate(&mut timeline, 1, PODS);
    let model = timeline.model();
    let Some(uid) = model.deployments.keys().next().copied() else { return };
    let now = Now { millis: 60_000, skew_millis: 0 };
    let said = |uid: Uid| server::hub::describe_deployment(model, uid, now);
    let saying = best(&mut || drop(black_box(said(uid))));
    let copying = best(&mut || drop(black_box(Objects::of(model, uid))));
    let snapshot = Snapshot {
        epoch: 1,
        seq: timeline.seq(),
        deployment: Some(uid),
        objects: Objects::of(model, uid),
        said: said(uid),
        ..Snapshot::default()
    };
    let frame = ServerFrame::Snapshot(Box::new(snapshot));
    let mut bytes = 0;
    let encoding = best(&mut || bytes = wire::encode(&frame).map_or(0, |frame| frame.len()));
    println!("a viewer of a Deployment with {PODS} pods (best of 9):");
    println!("  copy       {:>7.2} ms", millis(copying));
    println!("  say        {:>7.2} ms", millis(saying));
    println!("  encode     {:>7.2} ms (limit 5), {bytes} bytes", millis(encoding));
}

fn main() {
    let mut timeline = Timeline::new();
    let template = json!({ "spec": { "containers": [{ "name": "web", "image": "web:v1" }] } });
    let deployment = json!({ "metadata": owned(1, "web", "", 0), "spec": { "replicas": PODS, "template": template }, "status": { "observedGeneration": 1 } });
    let set = json!({ "metadata": owned(2, "web-1", "Deployment", 1), "spec": { "replicas": PODS, "template": template }, "status": {} });
    observe(&mut timeline, 0, Kind::Deployment, &deployment.to_string());
    observe(&mut timeline, 0, Kind::ReplicaSet, &set.to_string());
    (0..PODS).for_each(|number| drop(observe(&mut timeline, 1, Kind::Pod, &pod(100 + number, false))));
    let events: Vec<String> =
        (0..2).flat_map(|turn| (0..PODS).map(move |number| pod(100 + number, turn == 0))).collect();
    let (mut decode, mut translate, mut apply, mut encode) =
        (Duration::ZERO, Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let mut bytes = 0;
    let mut frames = 0u64;
    for (turn, json) in (0..EVENTS).zip(events.iter().cycle()) {
        let start = Instant::now();
        let Ok(object) = Object::decode(Kind::Pod, black_box(json)) else {
            continue;
        };
        let decoded = Instant::now();
        let Ok(Some(fact)) = object.fact(Seen::Modified) else {
            continue;
        };
        let translated = Instant::now();
        let from = timeline.seq();
        let changes = timeline.apply(turn as i64 + 2, fact);
        let applied = Instant::now();
        if !changes.is_empty() {
            let changes = changes.into_iter().filter(timeline::Change::travels).collect();
            let delta = Delta { from, to: timeline.seq(), now_millis: 0, changes, said: None };
            bytes += wire::encode(&ServerFrame::Delta(delta)).map_or(0, |frame| frame.len());
            frames += 1;
        }
        encode += applied.elapsed();
        apply += applied - translated;
        translate += translated - decoded;
        decode += decoded - start;
    }
    let micros = |time: Duration| time.as_secs_f64() * 1e6 / EVENTS as f64;
    println!("one pod event of {} bytes, {EVENTS} events, {PODS} pods:", events.first().map_or(0, String::len));
    println!("  decode     {:>7.2} µs", micros(decode));
    println!("  translate  {:>7.2} µs", micros(translate));
    println!("  apply      {:>7.2} µs (limit 5)", micros(apply));
    println!("  encode     {:>7.2} µs", micros(encode));
    println!("  together   {:>7.2} µs (limit 60)", micros(decode + translate + apply + encode));
    println!("  frame      {:>7.1} bytes", bytes as f64 / frames.max(1) as f64);
    lines();
    memory();
    snapshot();
    begin();
}
