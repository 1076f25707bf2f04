//! What is said of every recording, sentence by sentence: the verdict whenever it changes, and the story at the end. What
//! contradicts the arithmetic or itself ([`invariants`]) is no snapshot to accept, however it was reviewed.

use std::fmt::Write;

use server::recording::Recording;
use timeline::view::{self, Now};
use timeline::{Millis, Timeline, Uid, story};

use crate::common::{self, invariants};

/// Verdicts are looked at this often, in recorded milliseconds.
const LOOK_EVERY: Millis = 250;

/// What is said while a recording plays.
fn said(text: &str) -> String {
    let recording = Recording::read(text);
    let (from, to) = recording.span().unwrap();
    let (mut timeline, mut invariants) = (Timeline::new(), invariants::Invariants::default());
    let mut observed = recording.observed.into_iter().peekable();
    let mut out = String::new();
    let mut last: Vec<(Uid, String)> = Vec::new();
    let mut now = from;
    while now <= to + LOOK_EVERY {
        while let Some(next) = observed.next_if(|next| next.at_millis <= now) {
            let changes = match next.fact.clone() {
                Some(fact) => timeline.apply(next.at_millis, fact),
                None => timeline.tick(next.at_millis),
            };
            invariants.applied(&timeline, next.fact.as_ref(), &changes, next.at_millis);
        }
        timeline.tick(now);
        invariants.passed(&timeline, now);
        for deployment in timeline.model().deployments.values() {
            let clock = Now { millis: now, skew_millis: timeline.skew_millis() };
            let view = view::view(timeline.model(), deployment.uid, clock).unwrap();
            // Durations run on; only what else changes is worth a line.
            let key = format!("{} {}", view.verdict.badge, view.verdict.sentence);
            let key: String = if deployment.deleted_millis.is_some() { view.verdict.badge.clone() } else { key };
            if last.iter().any(|(uid, known)| *uid == deployment.uid && *known == key) {
                continue;
            }
            last.retain(|(uid, _)| *uid != deployment.uid);
            last.push((deployment.uid, key));
            let verdict = &view.verdict;
            writeln!(
                out,
                "{:>6.2} s  {} [{}]: {}",
                (now - from) as f64 / 1000.0,
                deployment.name,
                verdict.badge,
                verdict.sentence
            )
            .unwrap();
            let remedy = view.remedy.map(|remedy| format!("{}: {}", remedy.what, remedy.command)).unwrap_or_default();
            for line in [&verdict.why, &view.next, &remedy].into_iter().filter(|line| !line.is_empty()) {
                writeln!(out, "          {line}").unwrap();
            }
            if deployment.deleted_millis.is_none() && view.limits.ceiling != 0 {
                writeln!(out, "          {}", view.budget).unwrap();
            }
        }
        now += LOOK_EVERY;
    }
    assert!(invariants.wrong.is_empty(), "not so:\n{}", invariants.wrong.join("\n"));
    for deployment in timeline.model().deployments.values() {
        writeln!(out, "\nThe story of {}:", deployment.name).unwrap();
        for line in story::story(timeline.model(), deployment.uid) {
            writeln!(out, "{:>6.2} s  {:8} {}", (line.at_millis - from) as f64 / 1000.0, line.kind.name(), line.text)
                .unwrap();
        }
    }
    out
}

#[test]
fn every_sentence_of_every_recording() {
    let recordings = common::recordings();
    assert_eq!(recordings.len(), 23);
    insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "../words", omit_expression => true }, {
        for (name, text) in recordings {
            insta::assert_snapshot!(name, said(&text));
        }
    });
}
