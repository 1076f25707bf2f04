//! Measures the cost of stored history: time per pod event, size of a day, time to resume after a restart and to open a
//! rollout.
//!
//! `cargo run --release --example kept`. A day is 500 rollouts of 20 pods of 25 Deployments, written in batches of half a second as the
//! writer does, and tidied. The restart is of a cluster of 10,000 pods with a checkpoint and ten minutes of events after it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a tool of our own on data of its own"
)]

#[path = "../tests/all/common/day.rs"]
mod day;

use std::collections::BTreeSet;
use std::time::Instant;

use server::access::permissions::Permissions;
use server::feed::recording::Recording;
use server::history::options::{Limits, Location};
use server::history::recorder::Recorder;
use server::history::resume;
use server::history::sql::Reader;
use server::history::sqlite::Sqlite;
use server::history::store::{Commit, Store};
use server::kube::SourceEvent;
use timeline::episodes::{Day, EpisodeRow, Search};
use timeline::{History, Millis, Timeline};

use self::day::{DAY_MILLIS, KeptDay, MOST_BYTES, PODS, ROLLOUTS, START_MILLIS, World, commit, keep, rollout, write};

/// Number of rollouts that are searched.
const MANY: u32 = 100_000;

fn day() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), Limits::default()).unwrap();
    let KeptDay { took, events, rollouts } = keep(&mut store, ROLLOUTS);
    println!("to keep {events} events of a day of {ROLLOUTS} rollouts of {PODS} pods:");
    println!("  write      {:>7.2} µs an event (limit 15)", took.as_secs_f64() * 1e6 / events as f64);
    println!("  size       {:>7.2} MB (limit {})", store.bytes().unwrap() as f64 / 1e6, MOST_BYTES / 1_000_000);
    let reader = Reader::new(&Location::Folder(folder.path().to_owned()));
    let mut times: Vec<f64> = rollouts
        .iter()
        .rev()
        .take(100)
        .map(|rollout| {
            let began = Instant::now();
            let cut = reader.recording("prod", rollout.uid, rollout.number, None).unwrap().unwrap();
            assert!(Recording::read(&cut.text).play().model().pods.len() >= PODS as usize);
            began.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("  open       {:>7.1} ms a rollout, median; {:.1} ms p95 (limit 300)", times[50], times[95]);
    list(&mut store, &reader, &rollouts);
}

/// Measures pages of the history among very many rollouts.
fn list(store: &mut Sqlite, reader: &Reader, some: &[EpisodeRow]) {
    let many = |number: u32| EpisodeRow {
        revision: 1_000 + u64::from(number),
        started_millis: START_MILLIS + Millis::from(number) * 25_000,
        ..some[number as usize % some.len()].clone()
    };
    let rollouts = (0..MANY).map(many).collect();
    store.commit(&[Commit { lines: None, rollouts, ..commit("", (0, 0)) }]).unwrap();
    let day = |number: Millis| Day {
        from_millis: START_MILLIS + number * DAY_MILLIS,
        name: String::new(),
        episodes: 0,
        others: 0,
        troubled: 0,
    };
    let words = |text: &str| Search { text: text.to_owned(), ..Search::default() };
    let last = START_MILLIS + Millis::from(MANY) * 25_000;
    for (name, search) in [
        ("all", words("")),
        ("words", words("app-7 shop v12")),
        ("late", Search { from_millis: Some(last - 60_000), ..Search::default() }),
        ("name", Search { name: "app-7".to_owned(), ..Search::default() }),
    ] {
        let began = Instant::now();
        let found = reader.search(&search, &Permissions::All, None, 50).unwrap().rollouts.len();
        let days = reader.days(&search, &Permissions::All, (0..30).map(day).collect()).unwrap();
        let counted: u32 = days.iter().map(|day| day.episodes).sum();
        let total = reader.overview(&search, &Permissions::All, &[], 24).unwrap().total;
        let took = began.elapsed().as_secs_f64() * 1e3;
        println!("  list {name:<5} {took:>7.1} ms for {found} of {total} rollouts, {counted} in the strip (limit 100)");
    }
    let began = Instant::now();
    let namespaces = reader.namespaces().unwrap().values().map(BTreeSet::len).sum::<usize>();
    println!("  namespaces {:>7.1} ms for {namespaces} (limit 100)", began.elapsed().as_secs_f64() * 1e3);
}

fn restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Sqlite::open(folder.path(), Limits::default()).unwrap();
    let mut world = World { random: fastrand::Rng::with_seed(2), version: 1 };
    let (mut timeline, mut history, mut later) = (Timeline::new(), History::default(), Vec::new());
    let many = 10_000 / PODS;
    for number in 0..many {
        let uid = world.uid();
        let began = START_MILLIS + number as Millis * 30_000;
        let (events, _) = rollout(&mut world, &format!("app-{number}"), &uid, 1, began, &[]);
        for event in &events {
            let SourceEvent::Object { object, seen, at_millis } = event else { continue };
            let changes = timeline.apply(*at_millis, object.clone().fact(*seen).unwrap().unwrap());
            history.note(*at_millis, &changes);
        }
        if number + 20 > many {
            later.push((uid.parse().unwrap(), events));
        }
    }
    let pods = timeline.model().pods.len();
    let began = Instant::now();
    let checkpoint =
        resume::serialize(&timeline, &history, 0, None).and_then(|bytes| resume::compress(&bytes)).unwrap();
    let (took, size) = (began.elapsed(), checkpoint.len());
    store.commit(&[Commit { lines: None, checkpoint: Some(checkpoint), ..commit("", (0, 0)) }]).unwrap();
    let mut tail = 0;
    let mut recorder = Recorder::default();
    for (workload, events) in &later {
        tail += write(&mut store, &mut recorder, *workload, events).1;
    }
    let began = Instant::now();
    let stored = store.resume("prod", true).unwrap().unwrap();
    let resumed = resume::restore("prod", stored).unwrap();
    assert_eq!(resumed.timeline.model().pods.len(), pods);
    println!("a cluster of {pods} pods:");
    println!("  checkpoint {:>7.1} ms in the hub, {:.1} MB", took.as_secs_f64() * 1e3, size as f64 / 1e6);
    println!("  resume     {:>7.1} ms with {tail} events after it (limit 2000)", began.elapsed().as_secs_f64() * 1e3);
}

fn main() {
    day();
    restart();
}
