//! Stories that were told wrongly once: what is said at the end, line by line, and that lines said before still stand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends where its assumptions do"
)]

#[path = "common/simulated.rs"]
mod simulated;

use std::collections::BTreeSet;

use serde_json::json;
use server::recording::{Observed, Recording};
use simcluster::action::{Action, Choice, edit};
use simcluster::{Key, World};
use simulated::Recorder;
use timeline::story::{self, LineKind};
use timeline::view::{self, Now, View};
use timeline::{Millis, Retention, Timeline, Uid};

/// What was recorded so far, played.
struct Played {
    timeline: Timeline,
    web: Uid,
    now: Millis,
}

impl Played {
    fn of(recorder: &Recorder) -> Self {
        let mut timeline = Timeline::new();
        let mut now = 0;
        for Observed { at_millis, fact } in Recording::read(&recorder.lines.join("\n")).observed {
            now = at_millis;
            fact.map(|fact| timeline.apply(at_millis, fact));
        }
        let web = *timeline.model().deployments.keys().next().unwrap();
        Self { timeline, web, now }
    }

    /// The lines of some kinds.
    fn lines(&self, kinds: &[LineKind]) -> Vec<String> {
        let told = story::story(self.timeline.model(), self.web).into_iter();
        told.filter(|line| kinds.contains(&line.kind)).map(|line| line.text).collect()
    }

    fn view(&self) -> View {
        view::view(self.timeline.model(), self.web, Now { millis: self.now, skew_millis: 0 }).unwrap()
    }
}

fn delete_newest(world: &mut World, of: &Key) {
    let newest = Choice::of(world, of).unwrap().newest.unwrap();
    Action::DeleteReplicaSet(newest).perform(world, of).unwrap();
}

fn budget(world: &mut World, of: &Key, surge: i32, unavailable: i32) {
    let rolling =
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable } });
    edit(world, of, |deployment| {
        deployment.spec.as_mut().unwrap().strategy = Some(serde_json::from_value(rolling).unwrap())
    })
    .unwrap();
}

#[test]
fn a_replica_set_that_is_deleted_again_and_again_counts_once() {
    let mut recorder = Recorder::begin(1, 4);
    for _ in 0..3 {
        recorder.pass(20_000);
        recorder.act(delete_newest);
    }
    recorder.pass(20_000);
    recorder.act(|world, of| Action::Image("web:v2".to_owned()).perform(world, of).unwrap());
    recorder.pass(40_000);
    let played = Played::of(&recorder);
    let steps = played.lines(&[LineKind::Step]);
    assert_eq!(steps[..4], ["Revision 1 up 0 → 4: 4 of at most 5."; 4]);
    assert_eq!(steps[4], "Revision 2 up 0 → 2, revision 1 down 4 → 3: 5 of at most 5, at least 3 available.");
    let deleted = played.lines(&[LineKind::Bad]);
    assert_eq!(deleted.len(), 3);
    for line in deleted {
        assert!(
            line.starts_with("ReplicaSet ") && line.contains(" deleted by hand, created again at once; "),
            "{line}"
        );
        assert!(line.ends_with(" with nothing available."), "{line}");
    }
    assert_eq!(played.view().verdict.sentence, "Revision 2 is live: 4 of 4 available.");
}

#[test]
fn what_was_said_under_other_limits_stands_and_more_than_the_new_ones_allow_says_why() {
    let mut recorder = Recorder::begin(1, 10);
    recorder.pass(20_000);
    recorder.act(|world, of| budget(world, of, 5, 0));
    recorder.act(|world, of| Action::Image("web:never-v2".to_owned()).perform(world, of).unwrap());
    recorder.pass(5_000);
    let before = Played::of(&recorder);
    let steps = before.lines(&[LineKind::Step]);
    assert_eq!(steps.last().unwrap(), "Revision 2 up 0 → 5: 15 of at most 15.");
    recorder.act(|world, of| budget(world, of, 1, 0));
    recorder.pass(1);
    let after = Played::of(&recorder);
    assert_eq!(after.lines(&[LineKind::Step]), steps);
    let said = after.view().budget;
    assert!(
        said.starts_with("15 asked for, above the ceiling of 11 since it was lowered (ceiling 11 = 10 + 1)"),
        "{said}"
    );
    // Scaled down in the middle: the step before keeps its ceiling too.
    recorder.act(|world, of| Action::Scale(6).perform(world, of).unwrap());
    recorder.pass(30_000);
    assert_eq!(Played::of(&recorder).lines(&[LineKind::Step])[..steps.len()], steps);
}

#[test]
fn lines_that_retention_keeps_keep_their_words_in_the_middle_of_a_rollout() {
    let mut recorder = Recorder::begin(1, 8);
    recorder.pass(20_000);
    recorder.act(|world, of| budget(world, of, 1, 0));
    recorder.act(|world, of| Action::Image("web:slow-v2".to_owned()).perform(world, of).unwrap());
    recorder.pass(12_000);
    recorder.act(|world, of| Action::Scale(9).perform(world, of).unwrap());
    recorder.pass(25_000);
    let mut played = Played::of(&recorder);
    let all = story::story(played.timeline.model(), played.web);
    let short = Retention { age_millis: 15_000, screen_millis: 1_000, ..Retention::default() };
    played.timeline.forget(played.now, &short, &BTreeSet::new());
    let kept = story::story(played.timeline.model(), played.web);
    assert_eq!(kept[0].text, "Older history is not kept.");
    assert!(kept.len() > 2 && kept.len() < all.len(), "{} of {}", kept.len(), all.len());
    assert_eq!(kept[1..], all[all.len() + 1 - kept.len()..]);
}
