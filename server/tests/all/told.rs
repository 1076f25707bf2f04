//! What is told of recordings that were once told wrongly: rollouts, with what made them start, and the story.

use std::fmt::Write;
use std::path::Path;

use server::feed::recording::Recording;
use timeline::view::{self, Now};
use timeline::{Millis, Timeline, rollout, story};

/// Recordings whose rollouts, owners and ends are what they are about.
const RECORDINGS: [&str; 8] = [
    "13ab-set-let-go-and-back",
    "14-one-selector",
    "20-revision-edited",
    "21-link-to-revision-2",
    "t07-namespace-deleted",
    "t11-revision-annotation",
    "t19-orphaned",
    "t21-shutdown-and-preemption",
];

fn recording(name: &str) -> Recording {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/failing").join(format!("{name}.jsonl"));
    Recording::read(&std::fs::read_to_string(file).unwrap())
}

/// The timeline at that time of the recording.
fn played(recording: Recording, until: Millis) -> Timeline {
    let mut timeline = Timeline::new();
    for observed in recording.observed.into_iter().take_while(|one| one.at_millis <= until) {
        observed.apply(&mut timeline);
    }
    timeline
}

/// Everything but Events, which only repeat what their sender said.
fn told(name: &str) -> String {
    let recording = recording(name);
    let (from, to) = recording.span().unwrap();
    let timeline = played(recording, to);
    let (model, mut out) = (timeline.model(), String::new());
    for deployment in model.deployments.values() {
        writeln!(out, "{}:", deployment.name).unwrap();
        for (index, one) in deployment.rollouts.iter().enumerate() {
            let set = rollout::replica_set(model, deployment, one.revision).map_or("none", |set| &set.name);
            let trigger = rollout::trigger(model, deployment, index);
            let outcome = rollout::outcome(deployment, one);
            writeln!(out, "  rollout {}: {trigger:?}, {outcome:?}, {set}", one.revision).unwrap();
        }
        for line in story::story(model, deployment.uid).into_iter().filter(|line| line.kind != story::LineKind::Event) {
            let after = (line.at_millis - from) as f64 / 1000.0;
            writeln!(out, "  {after:>7.2} s {:8} {}", line.kind.name(), line.text).unwrap();
        }
    }
    out
}

#[test]
fn rollouts_owners_and_ends_are_told_as_they_were() {
    insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "../failing", omit_expression => true }, {
        for name in RECORDINGS {
            insta::assert_snapshot!(name, told(name));
        }
    });
}

/// A link to a revision opens the last moment that knows nothing of the next one.
#[test]
fn the_last_moment_of_each_revision_is_complete() {
    let name = "21-link-to-revision-2";
    let (_, to) = recording(name).span().unwrap();
    let timeline = played(recording(name), to);
    let found = timeline.model().deployments.values().next().unwrap();
    for (index, one) in found.rollouts.iter().enumerate() {
        let is_complete = one.completed_millis.is_some();
        let Some(at) = rollout::last_moment_millis(timeline.model(), found, index).filter(|_| is_complete) else {
            continue;
        };
        let then = played(recording(name), at);
        let now = Now { millis: at, skew_millis: then.skew_millis() };
        let badge = view::view(then.model(), found.uid, now).unwrap().verdict.badge;
        assert_eq!(badge, "Complete", "revision {} at {at}", one.revision);
    }
}

/// Six pods are evicted one after the other. Each is replaced, until one fails that replaced another: from then on it is degraded, and
/// not complete in between, until another revision replaces it.
#[test]
fn replacements_that_fail_too_are_one_state() {
    let recording = recording("t25b-peak-with-leftovers");
    let (from, _) = recording.span().unwrap();
    let (mut timeline, mut badges) = (Timeline::new(), Vec::<String>::new());
    let mut uid = None;
    for observed in recording.observed.into_iter().take_while(|one| one.at_millis < from + 60_000) {
        let millis = observed.at_millis;
        observed.apply(&mut timeline);
        uid = uid.or_else(|| timeline.model().deployments.keys().next().copied());
        let now = Now { millis, skew_millis: timeline.skew_millis() };
        badges.extend(uid.and_then(|uid| view::view(timeline.model(), uid, now)).map(|view| view.verdict.badge));
        badges.dedup();
    }
    let settles = ["Finishing", "Complete"];
    let each = ["Recovering", "Finishing", "Complete"].repeat(3);
    assert_eq!(badges, [&["Starting"], &settles[..], &each[..], &["Degraded", "Rolling out"]].concat());
}
