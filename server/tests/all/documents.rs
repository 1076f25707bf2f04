//! The timeline documents of recordings of a real control plane equal what must be said of each: no key is missing, and
//! none is there beside.

use std::path::Path;

use serde_json::{Value, json};
use server::recording::Recording;

/// Arrival times may differ by this much.
const ARRIVAL_TOLERANCE: i64 = 5;
/// Times of `available` after `ready` come from whole seconds of another clock.
const TIMER_TOLERANCE: i64 = 1_500;

fn folder(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Every difference between two documents, by path.
fn differences(path: &str, ours: &Value, expected: &Value, out: &mut Vec<String>) {
    match (ours, expected) {
        (Value::Object(ours), Value::Object(expected)) => {
            for (key, value) in expected {
                differences(&format!("{path}.{key}"), ours.get(key).unwrap_or(&Value::Null), value, out);
            }
            for (key, value) in ours.iter().filter(|(key, _)| !expected.contains_key(*key)) {
                out.push(format!("{path}.{key}: {value} and nothing is expected"));
            }
        }
        (Value::Array(ours), Value::Array(expected)) if ours.len() == expected.len() => {
            let after_ready = expected.len() == 2 && expected[0] == "available";
            for (index, (a, b)) in ours.iter().zip(expected).enumerate() {
                match (a.as_i64(), b.as_i64()) {
                    (Some(a), Some(b)) if after_ready && (a - b).abs() <= TIMER_TOLERANCE => {}
                    _ => differences(&format!("{path}[{index}]"), a, b, out),
                }
            }
        }
        (Value::Number(a), Value::Number(b)) if path.ends_with("Millis") || path.ends_with("][1]") => {
            if (a.as_i64().unwrap() - b.as_i64().unwrap()).abs() > ARRIVAL_TOLERANCE {
                out.push(format!("{path}: {a} instead of {b}"));
            }
        }
        (a, b) if a == b => {}
        (a, b) => out.push(format!("{path}: {a} instead of {b}")),
    }
}

fn document(name: &str, traces: &Path) -> Value {
    let recording = Recording::read(&std::fs::read_to_string(traces.join(format!("{name}.jsonl"))).unwrap());
    assert!(recording.bad_lines.is_empty(), "{name}: {:?}", recording.bad_lines);
    let (from, to) = recording.span().unzip();
    let timeline = recording.play();
    serde_json::to_value(timeline::document::document(timeline.model(), from, to)).unwrap()
}

fn millis(time: &Value) -> Option<i64> {
    time.as_str().map(|time| time.parse::<jiff::Timestamp>().unwrap().as_millisecond())
}

/// The warnings of a recording as its lines have them: each Event as it was seen last, the earliest first.
fn warnings(name: &str) -> Value {
    let text = std::fs::read_to_string(folder("traces").join(format!("{name}.jsonl"))).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut seen: Vec<Value> = Vec::new();
    for line in lines.filter(|line| line["kind"] == "Event" && line["type"] != "DELETED") {
        let event = line["object"].clone();
        // One recording has a warning about a Service, which is no Deployment's.
        let is_ours =
            ["Deployment", "ReplicaSet", "Pod"].contains(&event["involvedObject"]["kind"].as_str().unwrap_or_default());
        if event["type"] == "Warning" && is_ours {
            seen.retain(|other| other["metadata"]["uid"] != event["metadata"]["uid"]);
            seen.push(event);
        }
    }
    let one = |event: &Value| {
        let series = &event["series"];
        let at = [&series["lastObservedTime"], &event["lastTimestamp"], &event["eventTime"]];
        json!({
            "atMillis": at.into_iter().find_map(millis),
            "kind": event["involvedObject"]["kind"],
            "name": event["involvedObject"]["name"],
            "reason": event["reason"],
            "message": event["message"],
            "count": series["count"].as_i64().or(event["count"].as_i64()).unwrap_or(1),
        })
    };
    seen.iter().map(one).collect::<Vec<_>>().into()
}

/// What documents have beside what is expected of them, in recordings that one Rollcast made in one go: no gaps, a history
/// that is whole, and the warnings.
fn expected(name: &str) -> Value {
    let text = std::fs::read_to_string(folder("expected").join(format!("{name}.json"))).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    let deployments = document["deployments"].as_array_mut().unwrap();
    assert!(deployments.len() == 1 || warnings(name) == json!([]), "{name}: warnings of which Deployment?");
    for deployment in deployments {
        for (key, value) in [("gaps", json!([])), ("keptSinceMillis", Value::Null), ("events", warnings(name))] {
            let before = deployment.as_object_mut().unwrap().insert(key.to_owned(), value);
            assert_eq!(before, None, "{name}: {key} is in the expected file as well");
        }
    }
    document
}

#[test]
fn documents_of_recordings_equal_what_must_be_said() {
    let mut names: Vec<String> = std::fs::read_dir(folder("expected"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert!(names.len() >= 23, "expected documents are missing: {names:?}");
    let mut wrong = Vec::new();
    for name in &names {
        let mut found = Vec::new();
        differences(name, &document(name, &folder("traces")), &expected(name), &mut found);
        wrong.extend(found);
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}
