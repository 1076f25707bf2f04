//! Measures the export of a rollout to a file: `cargo run --release --example exported [PODS]…`, of as many pods each.
//!
//! The cluster is simulated, and all pods are replaced. An export before the measurements initializes everything that
//! is made once.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a tool of our own on data of its own")]

#[path = "../tests/all/common/simulated.rs"]
mod simulated;

use std::time::Instant;

use server::export::{ExportRequest, html};
use server::feed::recording::Recording;
use server::history::rollout_cache;
use server::hub::Handle;
use simcluster::action::Action;
use timeline::Workload;

use self::simulated::Recorder;

/// Returns a recording of a rollout of that many pods, a quarter of them at a time.
fn rollout_of(pods: i32) -> Recording {
    let mut recorder = Recorder::begin(7, pods);
    recorder.pass(60_000);
    recorder.act(|world, of| Action::Image("web:v2".into()).perform(world, of).unwrap());
    recorder.pass(600_000);
    Recording::read(&recorder.lines.join("\n"))
}

async fn print(pods: i32) {
    let recording = rollout_of(pods);
    let (_, end_millis) = recording.span().unwrap();
    let initial = rollout_cache::play_to_end(recording.observed, end_millis).unwrap();
    let hub = Handle::start_frozen("simulated", "simulated", initial);
    let workload = Workload::deployment("simulated", "default", "web");
    let request = ExportRequest { workload, revision: None, is_redacted: false };
    let began = Instant::now();
    let made = html(&hub, request).await.unwrap();
    let (took, megabytes) = (began.elapsed().as_secs_f64() * 1e3, made.html.len() as f64 / 1e6);
    println!("a file of {pods:>5} pods that replace as many: {took:>8.0} ms, {megabytes:.2} MB");
}

#[tokio::main]
async fn main() {
    let asked: Vec<i32> = std::env::args().skip(1).filter_map(|pods| pods.parse().ok()).collect();
    let sizes = if asked.is_empty() { vec![100, 400, 1_000] } else { asked };
    print(10).await; // the program is packed once, for the first file
    for pods in sizes {
        print(pods).await;
    }
}
