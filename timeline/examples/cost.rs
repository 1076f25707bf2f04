//! What a pod event costs on a large cluster, by pods of each Deployment: time of the facts, of the log of changes, and of the rows of
//! the list that they outdate.
//!
//! `cargo run --release -p timeline --example cost [-- PODS]`. Events arrive at 1,000 a second, and after each 250 ms every Deployment
//! that changed is summarised once, as a hub does it while somebody looks. Times are of the processor where the system tells them (Linux).

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a measurement has a clock, and ends where its assumptions do"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::time::{Duration, Instant};

use timeline::fact::{
    Condition, ConditionStatus, Container, ContainerState, DeploymentFact, DeploymentNow, DeploymentSpec,
    DeploymentStatus, Image, IntOrPercent, Meta, Phase, PodFact, ReplicaSetCounts, ReplicaSetFact, ReplicaSetNow, Role,
    Seen, Strategy,
};
use timeline::view::{self, Now};
use timeline::{Fact, History, Millis, Timeline, Uid};

const ROUNDS: u64 = 100;
/// Events of a round, one a millisecond: a list is sent after each.
const EVENTS: u64 = 250;
/// Events after which a pod is ready again.
const LATER: u64 = 2_001;
const START_MILLIS: Millis = 1_800_000_000_000;

/// The change of each event.
#[derive(Debug, Clone, Copy)]
enum Load {
    /// A container was started once more.
    Restarts,
    /// A pod is not ready any more, and is ready again two seconds later.
    Readiness,
    /// A hundred pods of one Deployment lose their readiness one after the other, get it back, and so on.
    Flapping,
}

/// A cluster: pods in all, pods of each Deployment, and ReplicaSets of each that have no pods any more.
#[derive(Clone, Copy)]
struct Size {
    pods: u64,
    each: u64,
    old_sets: u64,
}

fn uid(kind: u128, number: u64) -> Uid {
    // Spread as real ones are.
    Uid::from_bits((u128::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) ^ kind)
}

fn meta(kind: u128, number: u64, name: String, controller: Option<Uid>) -> Meta {
    Meta {
        uid: uid(kind, number),
        namespace: format!("shop-{}", number % 50),
        name,
        created_at_millis: START_MILLIS - 3_600_000,
        controller: controller.filter(|_| kind > 1),
        version: Some(number + 1),
    }
}

fn told(status: ConditionStatus, reason: &str) -> Option<Condition> {
    Some(Condition {
        status,
        reason: reason.to_owned(),
        message: "containers with unready status: [web]".to_owned(),
        last_transition_millis: Some(START_MILLIS - 3_600_000),
        last_update_millis: Some(START_MILLIS - 3_600_000),
    })
}

fn deployment(number: u64, size: Size) -> Fact {
    let replicas = size.each as u32;
    let share = IntOrPercent::Percent(25);
    Fact::Deployment(
        Box::new(DeploymentFact {
            meta: meta(1, number, format!("web-{number}"), None),
            now: DeploymentNow {
                labels: BTreeMap::from([("app".to_owned(), format!("web-{number}"))]),
                generation: 1,
                revision: Some(size.old_sets + 1),
                template: Some(size.old_sets),
                template_apart: Some(size.old_sets),
                spec: DeploymentSpec {
                    replicas,
                    strategy: Strategy::RollingUpdate { max_surge: share, max_unavailable: share },
                    progress_deadline_seconds: Some(600),
                    revision_history_limit: 10,
                    images: vec![Image {
                        container: "web".to_owned(),
                        image: "registry.example.com/shop/web:v1".to_owned(),
                    }],
                    ..DeploymentSpec::default()
                },
                status: DeploymentStatus {
                    observed_generation: 1,
                    replicas,
                    updated: replicas,
                    available: replicas,
                    progressing: told(ConditionStatus::True, "NewReplicaSetAvailable"),
                    replica_failure: None,
                },
                ..DeploymentNow::default()
            },
        }),
        Seen::InList,
    )
}

fn replica_set(number: u64, index: u64, size: Size) -> Fact {
    let pods = if index == size.old_sets { size.each as u32 } else { 0 };
    let of = number * (size.old_sets + 1) + index;
    Fact::ReplicaSet(
        Box::new(ReplicaSetFact {
            meta: Meta {
                namespace: format!("shop-{}", number % 50),
                ..meta(2, of, format!("web-{number}-{index}"), Some(uid(1, number)))
            },
            revision: Some(index + 1),
            images: vec![Image { container: "web".to_owned(), image: "registry.example.com/shop/web:v1".to_owned() }],
            template_hash: format!("{index:x}"),
            now: ReplicaSetNow {
                counts: ReplicaSetCounts { desired: pods, replicas: pods, available: pods },
                desired_replicas: Some(size.each as u32),
                max_replicas: Some(size.each as u32),
                template: Some(index),
                ..ReplicaSetNow::default()
            },
            ..ReplicaSetFact::default()
        }),
        Seen::InList,
    )
}

fn pod(number: u64, size: Size, seen: Seen, restarts: u32, is_ready: bool) -> Fact {
    let of = number / size.each;
    let set = uid(2, of * (size.old_sets + 1) + size.old_sets);
    let ready = if is_ready { ConditionStatus::True } else { ConditionStatus::False };
    Fact::Pod(
        Box::new(PodFact {
            meta: Meta {
                namespace: format!("shop-{}", of % 50),
                ..meta(3, number, format!("web-{of}-7d9f8b6c5-{number:05}"), Some(set))
            },
            node: Some(format!("ip-10-0-12-{}.eu-central-1.compute.internal", number % 500)),
            phase: Phase::Running,
            ready: told(ready, if is_ready { "" } else { "ContainersNotReady" }),
            scheduled: told(ConditionStatus::True, ""),
            containers: vec![Container {
                state: Some(ContainerState::Running),
                restarts,
                started_millis: Some(START_MILLIS - 3_600_000),
                ..Container::new("web".to_owned(), Role::App)
            }],
            ..PodFact::default()
        }),
        seen,
    )
}

/// A number that looks like chance and is the same each time.
fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

/// Time that this thread has used of a processor, else time that passed. The system counts it in steps of some milliseconds.
fn used(since: Instant) -> Duration {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = counted.and_then(|text| text.split_whitespace().next()?.parse().ok());
    nanos.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

fn measure(size: Size, load: Load) {
    let (mut timeline, mut history) = (Timeline::new(), History::default());
    let deployments = size.pods / size.each;
    let mut observe = |fact| history.note(START_MILLIS, &timeline.apply(START_MILLIS, fact));
    (0..deployments).for_each(|number| observe(deployment(number, size)));
    let sets = (0..deployments).flat_map(|number| (0..=size.old_sets).map(move |index| (number, index)));
    sets.for_each(|(number, index)| observe(replica_set(number, index, size)));
    (0..size.pods).for_each(|number| observe(pod(number, size, Seen::InList, 0, true)));
    let mut state = vec![(0u32, true); size.pods as usize];
    let (mut applying, mut noting, mut summarising, mut rows) = (Duration::ZERO, Duration::ZERO, Duration::ZERO, 0);
    let begin = Instant::now();
    for round in 0..ROUNDS {
        let (mut facts, mut outdated) = (Vec::new(), BTreeSet::new());
        let at = |event: u64| START_MILLIS + 1_000 + (round * EVENTS + event) as Millis;
        for event in 0..EVENTS {
            let turn = round * EVENTS + event;
            let number = match load {
                Load::Readiness if turn % 2 == 1 => scattered(turn.saturating_sub(LATER)) % size.pods,
                Load::Flapping => turn % 100,
                _ => scattered(turn) % size.pods,
            };
            let (restarts, is_ready) = &mut state[number as usize];
            match load {
                Load::Restarts => *restarts += 1,
                Load::Readiness => *is_ready = turn % 2 == 1,
                Load::Flapping => *is_ready = !*is_ready,
            }
            facts.push(pod(number, size, Seen::Modified, *restarts, *is_ready));
            outdated.insert(uid(1, number / size.each));
        }
        let start = used(begin);
        let changes: Vec<_> =
            facts.into_iter().zip(0..).map(|(fact, event)| (at(event), timeline.apply(at(event), fact))).collect();
        applying += used(begin) - start;
        let start = used(begin);
        changes.into_iter().for_each(|(at, changes)| history.note(at, &changes));
        noting += used(begin) - start;
        let now = Now { millis: at(EVENTS), skew_millis: timeline.skew_millis() };
        let start = used(begin);
        outdated.iter().for_each(|uid| drop(black_box(view::summary(timeline.model(), *uid, now))));
        summarising += used(begin) - start;
        rows += outdated.len() as u64;
    }
    let [applying, noting, summarising] =
        [applying, noting, summarising].map(|time| time.as_secs_f64() * 1e6 / (ROUNDS * EVENTS) as f64);
    println!(
        "{:>6} {:>4} {load:>10?} {applying:>8.2} {noting:>8.2} {summarising:>8.2} {:>9.2} {:>7.2}",
        size.each,
        size.old_sets,
        applying + noting + summarising,
        rows as f64 / (ROUNDS * EVENTS) as f64,
    );
}

fn main() {
    let pods = std::env::args().nth(1).map_or(100_000, |pods| pods.parse().unwrap());
    println!("{pods} pods; µs an event, rows summarised an event:");
    println!("  each  old       load    facts      log     list  together    rows");
    for load in [Load::Restarts, Load::Readiness] {
        for (each, old_sets) in [(10, 0), (100, 0), (5_000, 0), (100, 10)] {
            measure(Size { pods, each, old_sets }, load);
        }
    }
    measure(Size { pods, each: 100, old_sets: 0 }, Load::Flapping);
}
