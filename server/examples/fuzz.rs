//! Feeds damaged recordings to everything between the API server's bytes and the sentences, and checks invariants.
//!
//! `cargo run --release --example fuzz -- [MINUTES] [SEED]`: takes the recordings of the tests, removes, swaps, repeats, reorders and
//! replaces fields and lines, plays them through decoder, timeline, words, document and frames, and checks that nothing
//! panics, that a viewer's copy equals the server's, that no sentence is empty or controls a terminal, and that pruning
//! keeps what is on screen. The seed of a run that fails is printed; the same seed repeats the run.

#![allow(clippy::indexing_slicing, reason = "a tool of our own on data of its own")]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::{Map, Value, json};
use server::feed::recording::Recording;
use timeline::view::{self, Now};
use timeline::wire::{self, Objects};
use timeline::{Model, Retention, Timeline, document, story};

/// Lines of a recording that one run plays.
const LINES: usize = 120;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let minutes: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let only: Option<u64> = arguments.next().and_then(|text| text.parse().ok());
    let recordings = recordings();
    let until = Instant::now() + Duration::from_secs_f64(minutes * 60.0);
    let (mut runs, mut facts, mut bad_lines, mut changes) = (0u64, 0usize, 0usize, 0usize);
    let first = only.unwrap_or_else(|| fastrand::u64(..1 << 40));
    println!("fuzzing for {minutes} minutes from seed {first}");
    let mut seed = first;
    while Instant::now() < until && (only.is_none() || seed == first) {
        let ended = std::panic::catch_unwind(|| run(&recordings, seed));
        match ended {
            Ok(Ok(run)) => {
                runs += 1;
                facts += run.facts;
                bad_lines += run.bad_lines;
                changes += run.changes;
            }
            Ok(Err(what)) => fail(seed, &what),
            Err(_) => fail(seed, "it panicked"),
        }
        seed += 1;
    }
    println!("{runs} runs, {facts} facts applied, {bad_lines} lines refused, {changes} changes: nothing found");
}

fn fail(seed: u64, what: &str) -> ! {
    println!("seed {seed}: {what}\nagain: cargo run --release --example fuzz -- 1 {seed}");
    std::process::exit(1)
}

fn recordings() -> Vec<Vec<Value>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let parse = |text: String| text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    paths.iter().map(|path| parse(read(path))).collect()
}

struct Run {
    facts: usize,
    bad_lines: usize,
    changes: usize,
}

fn run(recordings: &[Vec<Value>], seed: u64) -> Result<Run, String> {
    let mut rng = Rng::with_seed(seed);
    let lines = damaged(recordings, &mut rng);
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    let recording = Recording::read(&text.join("\n"));
    let bad_lines = recording.bad_lines.len();
    let facts = recording.observed.len();
    let mut timeline = Timeline::new();
    let mut copy = Model::default();
    let mut all = 0;
    let mut now = 0;
    for observed in recording.observed {
        now = observed.at_millis.max(now); // arrivals never go back
        let mut changes = match observed.fact {
            Some(fact) => timeline.apply(now, fact),
            None => timeline.tick(now),
        };
        if rng.u8(..) < 8 {
            changes.extend(let_go(&mut timeline, now, &mut rng)?);
        }
        if rng.u8(..) < 8 {
            look(&timeline, now)?;
        }
        all += changes.len();
        changes.into_iter().for_each(|change| copy.apply_change(change));
    }
    look(&timeline, now)?;
    if copy != *timeline.model() {
        return Err("the changes do not rebuild the model".into());
    }
    for uid in timeline.model().deployments.keys() {
        let encoded = |model| wire::encode(&Objects::of(model, *uid)).map_err(|error| error.to_string());
        let travelled = encoded(timeline.model())?;
        let arrived = Model::from(wire::decode::<Objects>(&travelled).map_err(|error| error.to_string())?);
        if encoded(&arrived)? != travelled {
            return Err("a Deployment does not survive its journey".into());
        }
    }
    Ok(Run { facts, bad_lines, changes: all })
}

/// Makes everything that pages, terminals and scripts would show.
fn look(timeline: &Timeline, now: i64) -> Result<(), String> {
    let model = timeline.model();
    for uid in model.deployments.keys() {
        let clock = Now { millis: now, skew_millis: timeline.skew_millis() };
        let view = view::view(model, *uid, clock).ok_or("a Deployment without a view")?;
        let told = story::story(model, *uid);
        let sentences =
            [&view.verdict.badge, &view.verdict.sentence].into_iter().chain(told.iter().map(|line| &line.text));
        for sentence in sentences {
            if sentence.is_empty() {
                return Err("an empty sentence".into());
            }
            let is_long = sentence.chars().count() > 2_000;
            if is_long || sentence.chars().any(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)) {
                return Err(format!("a sentence that is not safe: {sentence:?}"));
            }
        }
    }
    serde_json::to_string(&document::document(model, None, None)).map_err(|error| error.to_string())?;
    Ok(())
}

/// Prunes history, and checks that everything younger than the limit stays.
fn let_go(timeline: &mut Timeline, now: i64, rng: &mut Rng) -> Result<Vec<timeline::Change>, String> {
    let retention = Retention {
        age_millis: rng.i64(1_000..30_000),
        gone_pods: rng.usize(..4),
        gone_pods_in_all: rng.usize(..20),
        rollouts: rng.usize(1..3),
        steps: rng.usize(1..6),
        deleted: rng.usize(..2),
        screen_millis: rng.i64(500..5_000),
    };
    let on_screen = |pod: &timeline::model::Pod| pod.gone_millis().is_none_or(|at| at >= now - retention.screen_millis);
    let before: BTreeSet<_> = timeline.model().pods.values().filter(|pod| on_screen(pod)).map(|pod| pod.uid).collect();
    let changes = timeline.prune(now, &retention, &BTreeSet::new());
    match before.iter().find(|uid| !timeline.model().pods.contains_key(uid)) {
        Some(uid) => Err(format!("a pod on screen was forgotten: {uid}")),
        None => Ok(changes),
    }
}

/// Returns a part of one recording, or of two mixed, damaged in some places.
fn damaged(recordings: &[Vec<Value>], rng: &mut Rng) -> Vec<Value> {
    let mut lines = Vec::new();
    for _ in 0..=rng.usize(..2) {
        let Some(recording) = recordings.get(rng.usize(..recordings.len().max(1))) else { continue };
        let from = if rng.bool() { 0 } else { rng.usize(..recording.len().max(1)) };
        lines.extend(recording.iter().skip(from).take(LINES).cloned());
    }
    let harm = rng.usize(..12);
    for _ in 0..harm {
        if lines.is_empty() {
            break;
        }
        let (a, b) = (rng.usize(..lines.len()), rng.usize(..lines.len()));
        match rng.u8(..8) {
            0 => {
                lines.remove(a);
            }
            1 => lines.swap(a, b),
            2 => {
                let again = lines.get(a).cloned();
                lines.extend(again);
            }
            _ => {
                if let Some(line) = lines.get_mut(a) {
                    hurt(line, rng, 0);
                }
            }
        }
    }
    // A line of another recording gets the arrival time of the line that it replaces or follows.
    let mut last = 0;
    for line in &mut lines {
        let at = line.get("observedAtMillis").and_then(Value::as_i64).unwrap_or(last);
        last = at.clamp(last, last.max(1_795_000_000_000) + 600_000_000);
        if let (Some(fields), true) = (line.as_object_mut(), rng.u8(..) > 2) {
            fields.insert("observedAtMillis".into(), json!(last));
        }
    }
    lines
}

/// Damages one value somewhere inside.
fn hurt(value: &mut Value, rng: &mut Rng, depth: usize) {
    let descend = depth < 1 || rng.u8(..4) > 0;
    match value {
        Value::Object(fields) if descend && !fields.is_empty() => {
            let key = fields.keys().nth(rng.usize(..fields.len())).cloned().unwrap_or_default();
            if depth > 0 && rng.u8(..6) == 0 {
                fields.remove(&key);
            } else if let Some(inner) = fields.get_mut(&key) {
                hurt(inner, rng, depth + 1);
            }
        }
        Value::Array(items) if descend && !items.is_empty() => {
            let index = rng.usize(..items.len());
            match rng.u8(..6) {
                0 => {
                    items.remove(index);
                }
                1 => {
                    let again = items.get(index).cloned();
                    items.extend(again);
                }
                _ => items.get_mut(index).into_iter().for_each(|inner| hurt(inner, rng, depth + 1)),
            }
        }
        _ => *value = strange(value, rng),
    }
}

/// Returns an unexpected value to replace this one.
fn strange(value: &Value, rng: &mut Rng) -> Value {
    let numbers = [-1, 0, 1, 7, i64::from(i32::MAX), i64::from(u32::MAX), i64::MAX, i64::MIN];
    let texts = [
        "",
        "True",
        "False",
        "Unknown",
        "25%",
        "-5%",
        "99999999999%",
        "Recreate",
        "Failed",
        "Running",
        "Always",
        "CrashLoopBackOff",
        "2026-11-21T04:53:07Z",
        "9999-12-31T23:59:59Z",
        "-009999-01-01T00:00:00Z",
        "18446744073709551615",
        "\u{202e}\u{1b}[2J\0\u{200b}x",
        "nodes are available: . readiness gate \" [ ] exceeded quota: , used: =, limited: ",
    ];
    match rng.u8(..8) {
        0 => Value::Null,
        1 => json!(numbers[rng.usize(..numbers.len())]),
        2 => json!(rng.bool()),
        3 => json!("x".repeat(rng.usize(..3_000))),
        4 => Value::Object(Map::new()),
        5 => Value::Array(vec![value.clone(), value.clone()]),
        _ => json!(texts[rng.usize(..texts.len())]),
    }
}
