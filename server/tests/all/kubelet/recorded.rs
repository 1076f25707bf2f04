//! The same expectations, of recordings of these situations: `server/tests/traces-kubelet`.

use std::path::Path;

use serde_json::Value;
use server::recording::Recording;
use timeline::view::{self, Now};
use timeline::{Millis, Timeline};

use crate::kubelet::observe::{BEFORE_MILLIS, MOST_BYTES, has_exited};
use crate::kubelet::said::Said;
use crate::kubelet::situation;

/// Verdicts are looked at this often, in recorded milliseconds.
const LOOK_EVERY: Millis = 250;

/// So long a situation is looked at.
const WHOLE_MILLIS: Millis = 180_000;
/// No line of a recording is longer.
const LONGEST_LINE: usize = 5_000;

fn play(name: &str, text: &str, said: &mut Said) {
    let recording = Recording::read(text);
    assert!(recording.bad_lines.is_empty(), "{name}: {:?}", recording.bad_lines);
    let (from, mut to) = recording.span().unwrap();
    if text.len() < MOST_BYTES - LONGEST_LINE {
        to = to.max(from + WHOLE_MILLIS); // it ends because nothing more happened
    }
    let mut timeline = Timeline::new();
    let mut observed = recording.observed.into_iter().peekable();
    for now in (from..=to).step_by(LOOK_EVERY as usize) {
        while let Some(next) = observed.next_if(|next| next.at_millis <= now) {
            next.apply(&mut timeline);
        }
        timeline.tick(now);
        let clock = Now { millis: now, skew_millis: timeline.skew_millis() };
        for deployment in timeline.model().deployments.values() {
            let verdict = view::view(timeline.model(), deployment.uid, clock).unwrap().verdict;
            let words = format!("{} | {} | {}", verdict.badge, verdict.sentence, verdict.why);
            let since = now - from - BEFORE_MILLIS;
            if since >= 0 {
                said.note(name, since, verdict.tone.name(), words);
            }
        }
    }
}

/// When a container had exited so often, in milliseconds since the edit.
fn exit_millis(text: &str, exits: i64) -> Option<i64> {
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let at = |line: &Value| line["observedAtMillis"].as_i64().unwrap();
    let edited = at(&lines.next()?) + BEFORE_MILLIS;
    let exited = |line: &Value| line["kind"] == "Pod" && at(line) >= edited && has_exited(&line["object"], exits);
    lines.find(exited).map(|line| at(&line) - edited)
}

#[test]
fn what_is_said_of_recorded_pods_is_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces-kubelet");
    let (situations, _) = situation::chosen("", true);
    let (mut said, mut failures) = (Said::default(), Vec::new());
    for (name, situation) in &situations {
        let text = std::fs::read_to_string(folder.join(format!("{name}.jsonl"))).unwrap();
        play(name, &text, &mut said);
        let exits = situation.after.as_ref().and_then(|after| exit_millis(&text, after.exits));
        failures.extend(said.failures(name, situation, exits));
    }
    assert!(failures.is_empty(), "{} things:\n{}", failures.len(), failures.join("\n"));
}
