//! Measures whether stored history delays what viewers see:
//! `cargo run --release -p server --example latency -- PATH-OF-ROLLCAST [ROUNDS [SECONDS [RATE [PODS]]]]`.
//!
//! A simulated cluster of 500 pods, of which 400 change each second (or as named), is watched by four Rollcasts, one
//! after the other: without history, with history, with history, and without it. These four are a round. The measured
//! time is from the change in the API server until the frame with it arrives at a viewer's websocket. The difference
//! between two equal runs of a round shows the variation by chance.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a measurement ends where its assumptions do"
)]

mod support;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use simcluster::api::{self, Cluster};
use simcluster::load::{self, Load};
use simcluster::{Key, World};
use timeline::wire::{self, ServerFrame};
use timeline::{Change, Uid, Workload};

use support::{Program, Socket, ask, listen};

/// Time at the start that is not measured: lists, and memory that is used for the first time.
const WARM: Duration = Duration::from_secs(2);
/// Wait at the end for the last frames.
const LAST: Duration = Duration::from_secs(2);
/// Timeout until a new viewer has received all pods of its Deployment.
const TOLD: Duration = Duration::from_secs(20);
/// Whether history is stored, for each run of a round.
const ROUND: [bool; 4] = [false, true, true, false];

/// Times at which each pod reached a number of restarts, oldest first.
type Changed = Arc<Mutex<HashMap<Uid, VecDeque<(u32, Instant)>>>>;

/// Parameters of a measurement.
struct Work {
    path: String,
    /// Changes a second, of all pods. Only those of the viewed Deployment, which has a hundred pods, are measured.
    rate: f64,
    pods: usize,
    lasts: Duration,
    /// The program has the first core for itself.
    is_pinned: bool,
}

fn start(Work { path, is_pinned, .. }: &Work, kubeconfig: &Path, history: Option<&Path>) -> Program {
    let mut command = support::program(path, *is_pinned);
    command.args(["serve", "--listen", "127.0.0.1:0", "--kubeconfig"]).arg(kubeconfig);
    match history {
        Some(folder) => command.arg("--data-dir").arg(folder),
        None => command.arg("--no-history"),
    };
    Program::start(&mut command)
}

/// 50th, 95th and 99th percentile of times, in milliseconds.
#[derive(Debug, Clone, Copy)]
struct Times {
    p50: f64,
    p95: f64,
    p99: f64,
}

impl Times {
    fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| times[(times.len() as f64 * share) as usize];
        Self { p50: at(0.5), p95: at(0.95), p99: at(0.99) }
    }
}

/// Connects a viewer of the first Deployment; returns it once it has the initial state, and its pods.
async fn viewer(program: &Program) -> (Socket, BTreeSet<Uid>) {
    program.live().await;
    let mut socket = listen(&program.address, Workload::deployment("load", "load-0", "web-0")).await;
    let told = async {
        loop {
            let message = socket.next().await.unwrap().unwrap();
            if let Ok(ServerFrame::Snapshot(snapshot)) = wire::decode(&message.into_data())
                && snapshot.objects.pods.len() == 100
            {
                return snapshot.objects.pods.iter().map(|pod| pod.uid).collect();
            }
        }
    };
    let pods = tokio::time::timeout(TOLD, told).await.expect("it tells of the Deployment's pods");
    (socket, pods)
}

/// Changes pods at the rate for that long, and records when.
///
/// Returns the changes a second that were made.
async fn change(cluster: Cluster, load: Load, rate: f64, lasts: Duration, changed: Changed) -> f64 {
    let (began, mut done) = (Instant::now(), 0_u32);
    let mut tick = tokio::time::interval(Duration::from_millis(2));
    while began.elapsed() < lasts {
        tick.tick().await;
        // If the cluster is behind, it does not catch up later: a burst would distort the times.
        while began.elapsed() < lasts && f64::from(done) < began.elapsed().as_secs_f64() * rate {
            done += 1;
            cluster.with(|world| {
                let at = Instant::now();
                if let Some((uid, restarts)) = load.change(world).and_then(|key| restarts(world, key)) {
                    changed.lock().unwrap().entry(uid).or_default().push_back((restarts, at));
                }
            });
        }
    }
    f64::from(done) / began.elapsed().as_secs_f64()
}

fn restarts(world: &World, key: &Key) -> Option<(Uid, u32)> {
    let pod: &Pod = world.store().typed(key)?;
    let restarts = pod.status.as_ref()?.container_statuses.as_ref()?.first()?.restart_count;
    Some((pod.metadata.uid.as_ref()?.parse().ok()?, restarts.try_into().ok()?))
}

/// Returns the pod of a change, with its restarts.
fn restarts_of(change: &Change) -> Option<(Uid, u32)> {
    match change {
        Change::PodNow(uid, now) => Some((*uid, now.restarts)),
        _ => None,
    }
}

/// Returns the delays of the changes that arrived in time, in milliseconds.
async fn measure(work: &Work, keeps: bool) -> Vec<f64> {
    let folder = tempfile::tempdir().unwrap();
    let (kubeconfig, history) = (folder.path().join("kubeconfig"), folder.path().join("history"));
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let mut world = World::new(1, since_epoch.as_millis() as i64, load::settings(work.pods));
    let load = Load::fill(&mut world, work.pods, 0).unwrap();
    let cluster = Cluster::new(world);
    let listener = api::listen(0).await.unwrap();
    std::fs::write(&kubeconfig, api::kubeconfig("load", listener.local_addr().unwrap())).unwrap();
    let tasks = [
        tokio::spawn(cluster.clone().run()),
        tokio::spawn({
            let cluster = cluster.clone();
            async { cluster.serve(listener).await.unwrap() }
        }),
    ];
    let program = start(work, &kubeconfig, keeps.then_some(&history));
    let (mut socket, pods) = viewer(&program).await;
    let (changed, began) = (Changed::default(), Instant::now());
    let changing = tokio::spawn(change(cluster, load, work.rate, WARM + work.lasts, changed.clone()));
    let (mut times, end) = (Vec::new(), tokio::time::Instant::now() + WARM + work.lasts + LAST);
    while let Ok(message) = tokio::time::timeout_at(end, socket.next()).await {
        let (message, now) = (message.unwrap().unwrap(), Instant::now());
        let shown: Vec<(Uid, u32)> = match wire::decode(&message.into_data()) {
            Ok(ServerFrame::Delta(delta)) => delta.changes.iter().filter_map(restarts_of).collect(),
            // The viewer fell behind.
            Ok(ServerFrame::Snapshot(whole)) => {
                whole.objects.pods.iter().map(|pod| (pod.uid, pod.now.restarts)).collect()
            }
            _ => continue,
        };
        let mut changed = changed.lock().unwrap();
        for (uid, shown) in shown {
            let Some(known) = changed.get_mut(&uid) else { continue };
            // A frame contains only the last of several changes of a pod.
            while let Some((_, at)) = known.pop_front_if(|(restarts, _)| *restarts <= shown) {
                times.extend(Some(now - at).filter(|_| at > began + WARM).map(|time| time.as_secs_f64() * 1e3));
            }
        }
    }
    let rate = changing.await.unwrap();
    assert!(rate > work.rate * 0.95, "the cluster came to {rate:.0} changes a second");
    let metrics = ask(&program.address, "/metrics").await.1;
    assert!(!keeps || metrics.contains("\nrollcast_history_missed_total 0\n"), "the history has everything");
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    changed.lock().unwrap().retain(|uid, known| pods.contains(uid) && !known.is_empty());
    let left: usize = changed.lock().unwrap().values().map(VecDeque::len).sum();
    assert_eq!(left, 0, "changes that did not come, of {}", left + times.len());
    assert_eq!(history.join("history.db").exists(), keeps, "what was asked for is measured");
    times
}

/// Returns the median of ratios, with the minimum and the maximum.
fn spread(mut ratios: Vec<f64>) -> String {
    ratios.sort_by(f64::total_cmp);
    let count = ratios.len();
    let middle = f64::midpoint(ratios[(count - 1) / 2], ratios[count / 2]);
    format!("{middle:.3} ({:.3} to {:.3})", ratios[0], ratios[count - 1])
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("the path of rollcast");
    let rounds: usize = arguments.next().map_or(6, |rounds| rounds.parse().expect("a number of rounds"));
    let seconds = arguments.next().map_or(10, |seconds| seconds.parse().expect("a number of seconds"));
    let rate = arguments.next().map(|rate| rate.parse().expect("changes a second"));
    let pods = arguments.next().map_or(500, |pods| pods.parse().expect("a number of pods"));
    // A rate that is named must be possible on one core.
    let is_pinned = rate.is_some() && support::pin();
    let (rate, lasts) = (rate.unwrap_or(400.0), Duration::from_secs(seconds));
    let work = Work { path, rate, pods, lasts, is_pinned };
    let on = if is_pinned { ", the server on one core" } else { "" };
    println!("from a pod's change in the API server to a viewer's frame, {rate} changes a second of {pods} pods{on}:");
    let mut all = [Vec::new(), Vec::new()];
    let mut arms: Vec<[Times; 4]> = Vec::new();
    for round in 1..=rounds {
        let mut of_round = Vec::new();
        for keeps in ROUND {
            let times = measure(&work, keeps).await;
            all[usize::from(keeps)].extend(&times);
            of_round.push(Times::of(times));
        }
        let of_round: [Times; 4] = of_round.try_into().unwrap();
        let told = of_round.iter().zip(ROUND).map(|(times, keeps)| {
            let keeps = if keeps { "on" } else { "off" };
            format!("{keeps} {:.1}/{:.1}", times.p50, times.p95)
        });
        println!("  round {round}, p50/p95 in ms: {}", told.collect::<Vec<_>>().join(", "));
        arms.push(of_round);
    }
    for (times, name) in all.into_iter().zip(["without history", "with history"]) {
        let count = times.len();
        let Times { p50, p95, p99 } = Times::of(times);
        println!("  {name:<16} p50 {p50:>6.1} ms, p95 {p95:>6.1} ms, p99 {p99:>6.1} ms, {count} changes");
    }
    for (name, which) in [("p50", (|times| times.p50) as fn(&Times) -> f64), ("p95", |times| times.p95)] {
        let ratios = |of: fn([f64; 4]) -> f64| arms.iter().map(|round| of(round.each_ref().map(which))).collect();
        let kept = spread(ratios(|[a, b, c, d]| (b + c) / (a + d)));
        let chance = spread(ratios(|[a, _, _, d]| d / a));
        println!(
            "  {name} with history / without {kept}; without / without {chance}: middle, least and greatest of {rounds} rounds"
        );
    }
}
