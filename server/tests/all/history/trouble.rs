//! What the index tells of trouble during a rollout and right after it, and what is no trouble of it.

use serde_json::{Value, json};
use server::access::permissions::Permissions;
use server::history::recorder::Recorder;
use server::history::sql::Reader;
use server::history::store::Commit;
use timeline::episodes::{self, EpisodeRow, Search, rollout_rows};
use timeline::fact::{Condition, ConditionStatus, EventFact, Image, Kind, Phase, PodFact, Seen, Strategy};
use timeline::model::{Gap, Pod, PodState};
use timeline::rollout::Outcome;
use timeline::view::{self, Now, Tone};
use timeline::{Fact, Millis, Timeline, Uid, say};

use crate::history::one_replica::{apply, complete, last_row, pending, pod, set, web};
use crate::history::{Indexed, SMALL, commit, indexed, places, play};

/// The headline of an outage has no cause: the first one of why follows it.
#[test]
fn the_cause_of_an_outage_names_why_nobody_serves() {
    let mut timeline = complete();
    let facts = [
        (20_000, web(2, [2, 1, 1])),
        (20_000, set(2, 0, Seen::Added)),
        (20_000, pod(2, false, Seen::Added)),
        (30_000, pod(1, false, Seen::Modified)),
        (30_000, set(1, 0, Seen::Modified)),
        (30_000, web(2, [2, 1, 0])),
    ];
    apply(&mut timeline, facts);
    assert_eq!(last_row(&timeline, 40_000).cause, "");
    let row = last_row(&timeline, 40_001);
    let view = view::view(timeline.model(), Uid::from_bits(1), Now { millis: 40_001, skew_millis: 0 }).unwrap();
    let headline = "Revision 2 is replacing revision 1: no pod is available.";
    assert_eq!(view.verdict.sentence, headline);
    let leading = &view.reasons[0].sentence;
    let first = leading.split_once(". ").map_or(leading.clone(), |(first, _)| format!("{first}."));
    assert!(first.contains(" running but not ready") && first.ends_with('.'), "{first}");
    assert_eq!(row.cause, format!("{headline} {first}"));
    assert!(!episodes::names_fault(&row.cause));
    let over = EpisodeRow { outcome: Outcome::Superseded, ..row };
    let past = say::past(&first);
    assert_eq!(over.cause_words(), format!("Was replacing revision 1: no pod was available. {past}"));
}

/// A broken revision is replaced: that nobody serves until its own pods are ready is no trouble of the rollout.
#[test]
fn an_outage_that_began_before_a_rollout_is_no_cause_of_it_until_it_had_a_pod() {
    let mut timeline = complete();
    let facts = [
        (20_000, pod(1, false, Seen::Modified)),
        (20_000, set(1, 0, Seen::Modified)),
        (40_000, web(2, [2, 1, 0])),
        (40_000, set(2, 0, Seen::Added)),
        (40_000, pod(2, false, Seen::Added)),
    ];
    apply(&mut timeline, facts);
    let now = Now { millis: 45_000, skew_millis: 0 };
    let view = view::view(timeline.model(), Uid::from_bits(1), now).unwrap();
    let headline = "Revision 2 is replacing revision 1: no pod is available.";
    assert_eq!((view.verdict.sentence.as_str(), view.verdict.tone), (headline, Tone::Bad));
    let row = last_row(&timeline, now.millis);
    assert_eq!((row.revision, row.outcome, row.cause.as_str()), (2, Outcome::Progressing, ""));
    apply(&mut timeline, [(50_000, pod(2, true, Seen::Modified)), (52_000, pod(2, false, Seen::Modified))]);
    assert_ne!(last_row(&timeline, 62_001).cause, "");
}

/// A rollout that asked for no pods was complete at once: whether they start is seen when they are asked for.
#[test]
fn a_scaling_after_a_rollout_for_no_replicas_is_a_cause_of_it() {
    let mut timeline = Timeline::new();
    for kind in Kind::ALL {
        timeline.apply(0, Fact::Listed { kind, namespace: None, present: Vec::new(), gap_since_millis: None });
    }
    let web_of = |replicas: u32, [generation, observed]: [u64; 2], seen: Seen| {
        let Fact::Deployment(mut scaled, _) = web(1, [replicas, replicas, 0]) else { unreachable!() };
        (scaled.now.spec.replicas, scaled.now.generation) = (replicas, generation);
        scaled.now.status.observed_generation = observed;
        scaled.now.status.progressing = Some(Condition {
            status: ConditionStatus::True,
            reason: "NewReplicaSetAvailable".into(),
            last_transition_millis: Some(0),
            ..Condition::default()
        });
        Fact::Deployment(scaled, seen)
    };
    let set_of = |replicas: u32, seen: Seen| {
        let Fact::ReplicaSet(mut scaled, _) = set(1, 0, seen) else { unreachable!() };
        (scaled.now.counts.desired, scaled.now.counts.replicas) = (replicas, replicas);
        scaled.now.desired_replicas = Some(replicas);
        Fact::ReplicaSet(scaled, seen)
    };
    let facts =
        [(0, web_of(0, [1, 0], Seen::Added)), (0, set_of(0, Seen::Added)), (100, web_of(0, [1, 1], Seen::Modified))];
    apply(&mut timeline, facts);
    let complete = last_row(&timeline, 10_000);
    assert_eq!((complete.outcome, complete.replicas, complete.cause.as_str()), (Outcome::Complete, 0, ""));
    let facts =
        [(20_000, web_of(1, [2, 2], Seen::Modified)), (20_000, set_of(1, Seen::Modified)), (20_000, pending(1))];
    apply(&mut timeline, facts);
    let row = last_row(&timeline, 90_000);
    let cause = "Revision 1 has 0 of 1 available: no node fits its pods.";
    assert_eq!((row.outcome, row.cause.as_str()), (Outcome::Complete, cause));
}

/// An outage before the workload was at rest for a minute is trouble of the rollout, and has its duration once it is over.
#[test]
fn an_outage_right_after_completion_is_told_with_the_rollout() {
    let mut timeline = complete();
    apply(&mut timeline, [(20_000, pod(1, false, Seen::Modified)), (20_000, set(1, 0, Seen::Modified))]);
    assert_eq!(last_row(&timeline, 30_000).cause, "");
    let during = last_row(&timeline, 30_001);
    let cause = "No pod of revision 1 is available: 0 of 1. 1 pod is running but not ready any more for 10 s.";
    assert_eq!((during.outcome, during.cause.as_str(), during.losses), (Outcome::Complete, cause, None));
    assert!(!episodes::names_fault(cause));
    // The headline of an edited template says less than what is known by then.
    let mut edited = Timeline::from_model(timeline.model().clone(), 0);
    let Fact::Deployment(mut edit, _) = web(1, [1, 1, 0]) else { unreachable!() };
    (edit.now.generation, edit.now.spec.images) = (2, vec![Image { container: "web".into(), image: "web:v2".into() }]);
    edited.apply(31_000, Fact::Deployment(edit, Seen::Modified));
    let view = view::view(edited.model(), Uid::from_bits(1), Now { millis: 31_000, skew_millis: 0 }).unwrap();
    let headline = "The template changed: no pod is available.";
    assert_eq!((view.verdict.sentence.as_str(), last_row(&edited, 31_000).cause.as_str()), (headline, ""));
    timeline.apply(80_000, pod(1, true, Seen::Modified));
    let after = last_row(&timeline, 80_000);
    let outage = "Outage of 1 min 0 s (no pod ready) after the rollout was complete";
    assert_eq!((after.cause.as_str(), after.losses.as_deref()), ("", Some(outage)));
}

/// The Deployment whose second template is rolled out by Recreate: the revision that it names, and the counts of [`web`].
fn recreate(named: u64, counts: [u32; 3]) -> Fact {
    let Fact::Deployment(mut edit, _) = web(2, counts) else { unreachable!() };
    (edit.now.revision, edit.now.spec.strategy) = (Some(named), Strategy::Recreate);
    edit.now.spec.images = vec![Image { container: "web".into(), image: "web:v2".into() }];
    Fact::Deployment(edit, Seen::Modified)
}

/// Since an edit at 20 s, Recreate takes down the only pod, which has until 50 s.
fn taken_down(mut timeline: Timeline) -> (Timeline, Box<PodFact>) {
    let Fact::ReplicaSet(mut taken, _) = set(1, 1, Seen::Modified) else { unreachable!() };
    taken.now.counts.desired = 0;
    let Fact::Pod(mut going, _) = pod(1, true, Seen::Modified) else { unreachable!() };
    going.deletion_at_millis = Some(50_000);
    let facts = [
        (20_000, recreate(1, [1, 0, 1])),
        (20_010, Fact::ReplicaSet(taken, Seen::Modified)),
        (20_020, Fact::Pod(going.clone(), Seen::Modified)),
    ];
    apply(&mut timeline, facts);
    (timeline, going)
}

/// The ReplicaSet of the second template.
fn next_set() -> Fact {
    let Fact::ReplicaSet(mut next, seen) = set(2, 0, Seen::Added) else { unreachable!() };
    next.images = vec![Image { container: "web".into(), image: "web:v2".into() }];
    Fact::ReplicaSet(next, seen)
}

/// Revision, outcome, cause and trouble of both rollouts: the old pod went at that time, and the next rollout began.
fn rows_after(mut timeline: Timeline, going: Box<PodFact>, gone_millis: Millis) -> Vec<(u64, Outcome, String, String)> {
    begin_next(&mut timeline, going, gone_millis);
    rows_once_complete(timeline, gone_millis + 3_000)
}

/// The old pod goes at that time, and the next rollout begins.
fn begin_next(timeline: &mut Timeline, going: Box<PodFact>, gone_millis: Millis) {
    let facts = [
        (gone_millis, Fact::Pod(going.clone(), Seen::Modified)),
        (gone_millis, Fact::Pod(going, Seen::Deleted)),
        (gone_millis, next_set()),
        (gone_millis, recreate(2, [1, 1, 0])),
        (gone_millis, pod(2, false, Seen::Added)),
    ];
    apply(timeline, facts);
}

/// Revision, outcome, cause and trouble of both rollouts: the next one is complete at that time.
fn rows_once_complete(mut timeline: Timeline, complete_millis: Millis) -> Vec<(u64, Outcome, String, String)> {
    let facts = [pod(2, true, Seen::Modified), recreate(2, [1, 1, 1])].map(|fact| (complete_millis, fact));
    apply(&mut timeline, facts);
    let rows = rollout_rows::rollouts("c", &timeline, Uid::from_bits(1), Now { millis: 200_000, skew_millis: 0 }, 9);
    rows.iter().map(|row| (row.revision, row.outcome, row.cause.clone(), row.trouble().to_owned())).collect()
}

/// Both rollouts are complete, and the second one had this trouble.
fn complete_with(trouble: &str) -> [(u64, Outcome, String, String); 2] {
    [(1, ""), (2, trouble)].map(|(revision, trouble)| (revision, Outcome::Complete, String::new(), trouble.to_owned()))
}

/// That the old pods do not go is trouble of the rollout that waits for them.
#[test]
fn old_pods_that_do_not_go_are_trouble_of_the_next_rollout() {
    let (timeline, _) = taken_down(complete());
    let now = Now { millis: 110_001, skew_millis: 0 };
    let view = view::view(timeline.model(), Uid::from_bits(1), now).unwrap();
    let headline = "The next revision is blocked: old pods do not go.";
    assert_eq!((view.verdict.sentence.as_str(), view.verdict.tone), (headline, Tone::Bad));
    assert_eq!(last_row(&timeline, now.millis).cause, "");
    let blocked = "Revision 2 was blocked: old pods did not go.";
    let listed = |since_millis: Millis| Fact::Listed {
        kind: Kind::Deployment,
        namespace: None,
        present: vec![Uid::from_bits(1)],
        gap_since_millis: Some(since_millis),
    };
    for (phase, gone_millis, gap_since_millis, trouble) in [
        (Phase::Succeeded, 110_000, None, ""),
        (Phase::Succeeded, 110_001, None, blocked),
        (Phase::Running, 110_001, None, blocked), // its node is gone: somebody deletes it by force
        (Phase::Succeeded, 110_001, Some(60_000), ""),
    ] {
        let (mut timeline, mut going) = taken_down(complete());
        apply(&mut timeline, gap_since_millis.map(|since_millis| (gone_millis, listed(since_millis))));
        // The last delete moves the end of a grace period that is over.
        (going.phase, going.deletion_at_millis) = (phase, Some(gone_millis));
        assert_eq!(rows_after(timeline, going, gone_millis), complete_with(trouble));
    }
    // A later gap hides nothing of the take-down.
    let (mut timeline, going) = taken_down(complete());
    begin_next(&mut timeline, going, 110_001);
    timeline.apply(112_500, listed(111_000));
    assert_eq!(rows_once_complete(timeline, 113_001), complete_with(blocked));
    // The controller does not wait for a pod that is no ReplicaSet's any more.
    for (released_millis, trouble) in [(110_000, ""), (110_001, blocked)] {
        let (mut timeline, mut going) = taken_down(complete());
        going.meta.controller = None;
        timeline.apply(released_millis, Fact::Pod(going.clone(), Seen::Modified));
        assert_eq!(rows_after(timeline, going, 150_000), complete_with(trouble));
    }
    // It waits for one that was adopted again before that.
    let mut timeline = complete();
    let Fact::Pod(mut released, _) = pod(1, true, Seen::Modified) else { unreachable!() };
    released.meta.controller = None;
    let facts = [(10_000, Fact::Pod(released, Seen::Modified)), (11_000, pod(1, true, Seen::Modified))];
    apply(&mut timeline, facts);
    let (timeline, going) = taken_down(timeline);
    assert_eq!(rows_after(timeline, going, 150_000), complete_with(blocked));
}

/// The pods that Recreate takes down for the next rollout are no outage of the one before.
#[test]
fn a_take_down_by_recreate_is_no_outage_of_the_rollout_before() {
    let (mut timeline, going) = taken_down(complete());
    apply(&mut timeline, [(32_000, Fact::Pod(going, Seen::Deleted)), (32_000, next_set())]);
    // The ReplicaSet is seen before the Deployment that names its revision.
    let view = view::view(timeline.model(), Uid::from_bits(1), Now { millis: 33_000, skew_millis: 0 }).unwrap();
    assert_ne!((view.verdict.badge.as_str(), view.verdict.tone), ("Degraded", Tone::Bad), "{:?}", view.verdict);
    for (at, fact) in
        [(33_000, recreate(2, [1, 1, 0])), (33_010, pod(2, false, Seen::Added)), (36_000, pod(2, true, Seen::Modified))]
    {
        timeline.apply(at, fact);
    }
    let rows = rollout_rows::rollouts("c", &timeline, Uid::from_bits(1), Now { millis: 200_000, skew_millis: 0 }, 9);
    let losses = rows.into_iter().map(|row| (row.revision, row.losses));
    assert_eq!(losses.collect::<Vec<_>>(), [(1, None), (2, None)]);
}

/// A pod that a scaling lacks is no trouble of the rollout that was complete before it.
#[test]
fn a_scaling_after_completion_is_no_cause_of_the_rollout() {
    let mut timeline = complete();
    let Fact::Deployment(mut scaled, _) = web(1, [2, 2, 1]) else { unreachable!() };
    (scaled.now.generation, scaled.now.status.observed_generation, scaled.now.spec.replicas) = (2, 2, 2);
    let Fact::ReplicaSet(mut grown, _) = set(1, 1, Seen::Modified) else { unreachable!() };
    (grown.now.counts.desired, grown.now.counts.replicas) = (2, 2);
    (grown.now.desired_replicas, grown.now.max_replicas) = (Some(2), Some(3));
    timeline.apply(20_000, Fact::Deployment(scaled, Seen::Modified));
    timeline.apply(20_000, Fact::ReplicaSet(grown, Seen::Modified));
    timeline.apply(20_000, pending(1));
    let now = Now { millis: 200_000, skew_millis: 0 };
    let view = view::view(timeline.model(), Uid::from_bits(1), now).unwrap();
    let headline = view.verdict.sentence;
    assert!(headline.starts_with("Revision 1 has 1 of 2 available: ") && view.reasons[0].is_fault, "{headline}");
    assert_eq!(last_row(&timeline, now.millis).cause, "");
}

/// The pods of a rollout that was scaled to zero before it had them are its own, whenever they are asked for again.
#[test]
fn a_scaling_after_zero_is_a_cause_of_the_rollout_that_never_had_its_pods() {
    let mut timeline = complete();
    let web_of = |replicas: u32, generation: u64| {
        let Fact::Deployment(mut scaled, _) = web(2, [replicas, replicas, 0]) else { unreachable!() };
        (scaled.now.spec.replicas, scaled.now.generation) = (replicas, generation);
        scaled.now.status.observed_generation = generation;
        Fact::Deployment(scaled, Seen::Modified)
    };
    let set_of = |revision: u64, replicas: u32| {
        let Fact::ReplicaSet(mut scaled, _) = set(revision, 0, Seen::Modified) else { unreachable!() };
        (scaled.now.counts.desired, scaled.now.counts.replicas) = (replicas, replicas);
        scaled.now.desired_replicas = Some(replicas);
        Fact::ReplicaSet(scaled, Seen::Modified)
    };
    let facts = [
        (20_000, web(2, [2, 1, 1])),
        (20_000, set(2, 0, Seen::Added)),
        (20_000, pod(2, false, Seen::Added)),
        (30_000, web_of(0, 3)),
        (30_000, set_of(1, 0)),
        (30_000, set_of(2, 0)),
        (30_000, pod(1, true, Seen::Deleted)),
        (30_000, pod(2, false, Seen::Deleted)),
        (60_000, web_of(1, 4)),
        (60_000, set_of(2, 1)),
        (60_000, pending(2)),
    ];
    apply(&mut timeline, facts);
    let row = last_row(&timeline, 200_000);
    let cause = "Revision 2 has 0 of 1 available: no node fits its pods.";
    assert_eq!((row.outcome, row.cause.as_str()), (Outcome::ScaledToZero, cause));
}

/// An edit whose ReplicaSet is refused is no trouble of the rollout that was complete before it.
#[test]
fn a_refused_replica_set_of_the_next_revision_is_no_cause_of_the_rollout_before() {
    let mut timeline = complete();
    let Fact::Deployment(mut edit, _) = web(1, [1, 1, 1]) else { unreachable!() };
    (edit.now.generation, edit.now.spec.images) = (2, vec![Image { container: "web".into(), image: "web:v2".into() }]);
    edit.now.status.progressing = Some(Condition {
        status: ConditionStatus::False,
        reason: "ReplicaSetCreateError".into(),
        message: "no".into(),
        last_transition_millis: Some(20_000),
        ..Condition::default()
    });
    timeline.apply(20_000, Fact::Deployment(edit, Seen::Modified));
    let now = Now { millis: 60_000, skew_millis: 0 };
    let view = view::view(timeline.model(), Uid::from_bits(1), now).unwrap();
    let headline = "The next revision cannot start: the API server refuses the new ReplicaSet.";
    assert_eq!((view.verdict.sentence.as_str(), view.verdict.tone), (headline, Tone::Bad));
    let row = last_row(&timeline, now.millis);
    assert_eq!((row.outcome, row.cause.as_str()), (Outcome::Complete, ""));
    let refused = "could not start: the API server refused the new ReplicaSet";
    assert_eq!((row.losses, row.next_refusal), (None, Some(format!("The next revision {refused}"))));
    // It is rolled out after all.
    let warning = EventFact {
        uid: Uid::from_bits(900),
        namespace: "shop".into(),
        about: Uid::from_bits(1),
        about_kind: "Deployment".into(),
        about_name: "web".into(),
        reason: "ReplicaSetCreateError".into(),
        message: "no".into(),
        is_warning: true,
        count: 3,
        last_millis: Some(65_000),
        ..EventFact::default()
    };
    timeline.apply(65_000, Fact::Event(Box::new(warning)));
    let Fact::Deployment(mut begun, _) = web(2, [1, 0, 1]) else { unreachable!() };
    begun.now.status.observed_generation = 1;
    timeline.apply(70_000, set(2, 0, Seen::Added));
    timeline.apply(70_000, Fact::Deployment(begun, Seen::Modified));
    for fact in [web(2, [2, 1, 1]), pod(2, true, Seen::Added), web(2, [1, 1, 1])] {
        timeline.apply(80_000, fact);
    }
    let rows = rollout_rows::rollouts("c", &timeline, Uid::from_bits(1), Now { millis: 90_000, ..now }, 9).into_iter();
    let rows: Vec<_> = rows.map(|row| (row.revision, row.outcome, row.cause, row.refusal)).collect();
    let late = format!("Revision 2 {refused}.");
    let none = String::new();
    assert_eq!(rows, [(1, Outcome::Complete, none.clone(), None), (2, Outcome::Complete, none, Some(late))]);
}

/// The revision that runs has the outage, as nothing is rolled out before the Deployment is resumed.
#[test]
fn an_outage_of_a_paused_deployment_is_told_although_an_edit_waits() {
    let mut timeline = complete();
    for (at, available) in [(15_000, 1), (20_000, 0)] {
        let Fact::Deployment(mut edit, _) = web(1, [1, 0, available]) else { unreachable!() };
        (edit.now.generation, edit.now.status.observed_generation, edit.now.spec.paused) = (2, 2, true);
        edit.now.spec.images = vec![Image { container: "web".into(), image: "web:v2".into() }];
        timeline.apply(at, Fact::Deployment(edit, Seen::Modified));
    }
    timeline.apply(20_000, pod(1, false, Seen::Modified));
    timeline.apply(20_000, set(1, 0, Seen::Modified));
    let now = Now { millis: 30_001, skew_millis: 0 };
    let view = view::view(timeline.model(), Uid::from_bits(1), now).unwrap();
    let headline = "Paused: no pod is available.";
    assert_eq!(view.verdict.sentence, headline);
    let leading = &view.reasons[0].sentence;
    let first = leading.split_once(". ").map_or(leading.clone(), |(first, _)| format!("{first}."));
    let row = last_row(&timeline, now.millis);
    assert!(!episodes::names_fault(&row.cause));
    assert_eq!((row.outcome, row.cause), (Outcome::Complete, format!("{headline} {first}")));
}

/// The last line of a pod, as that of a later change.
fn modified(batches: &[(Millis, Millis, String)], pod: &Pod, at_millis: Millis) -> Value {
    let name = format!("\"name\":\"{}\"", pod.name);
    let mut lines = batches.iter().flat_map(|(.., text)| text.lines());
    let line = lines.rfind(|line| line.contains("\"kind\":\"Pod\"") && line.contains(&name)).unwrap();
    let mut line: Value = serde_json::from_str(line).unwrap();
    (line["observedAtMillis"], line["type"]) = (at_millis.into(), "MODIFIED".into());
    line["object"]["metadata"]["resourceVersion"] = "999999".into();
    line
}

/// A crash loop before the workload was at rest for a minute is trouble of the rollout, which stays complete; a later one is not.
#[test]
fn a_crash_loop_right_after_completion_is_the_cause_of_the_rollout() {
    let Indexed { mut batches, timeline, uid, now, rollouts } = indexed();
    let pod = timeline.model().pods.values().find(|pod| pod.gone_millis().is_none()).unwrap();
    let at_millis = now.millis + 40_000;
    let mut line = modified(&batches, pod, at_millis);
    let conditions = line["object"]["status"]["conditions"].as_array_mut().unwrap();
    conditions.iter_mut().filter(|of| of["type"] == "Ready").for_each(|ready| ready["status"] = "False".into());
    line["object"]["status"]["containerStatuses"] = json!([{
        "name": line["object"]["spec"]["containers"][0]["name"],
        "restartCount": 3,
        "state": { "waiting": { "reason": "CrashLoopBackOff" } },
        "lastState": { "terminated": { "exitCode": 1, "reason": "Error" } },
    }]);
    let crash = format!("{line}\n");
    let mut recorder = Recorder::default();
    for (.., text) in &batches {
        recorder.record(text);
        recorder.begin_episode(uid);
    }
    batches.push((at_millis, at_millis, crash.clone()));
    let (timeline, _) = play(&batches);
    let now = Now { millis: at_millis + 1_000, skew_millis: 0 };
    let last = rollout_rows::rollouts("c", &timeline, uid, now, rollout_rows::LAST).pop().unwrap();
    assert!(last.cause.contains("crashes with exit code 1"), "{}", last.cause);
    assert_eq!((last.outcome, last.restarts), (Outcome::Complete, Some(3)));
    assert!(recorder.is_in_episode(&last));
    recorder.settle(uid);
    recorder.record(&crash);
    assert!(!recorder.is_in_episode(&last), "its episode was over");
    for place in places() {
        let mut store = place.open(SMALL);
        // Containers that restart now and then are no trouble, and count until the episode is over.
        let more = EpisodeRow { cause: String::new(), restarts: Some(8), ..last.clone() };
        let later = EpisodeRow { cause: String::new(), restarts: None, ..last.clone() };
        for rollouts in [rollouts.clone(), vec![last.clone()], vec![more], vec![later]] {
            store.commit(&[Commit { rollouts, ..commit(None, None) }]).unwrap();
        }
        let search = Search { had_trouble: true, ..Search::default() };
        let found = Reader::new(&place.location).search(&search, &Permissions::All, None, 9).unwrap().rollouts;
        let rows = found.iter().map(|row| (row.revision, row.outcome, row.cause.as_str(), row.restarts));
        let expected = [(last.revision, Outcome::Complete, last.cause.as_str(), Some(8))];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
    }
}

/// A pod that is deleted right after a rollout is named with that rollout, also once its episode is over.
#[test]
fn a_pod_that_is_deleted_right_after_completion_is_a_loss_of_the_rollout() {
    let Indexed { mut batches, timeline, uid, now, rollouts } = indexed();
    assert_eq!(rollouts.last().unwrap().losses, None);
    let is_there = |pod: &&Pod| pod.state() == PodState::Available;
    let pod = timeline.model().pods.values().find(is_there).unwrap();
    let at_millis = now.millis + 40_000;
    let mut line = modified(&batches, pod, at_millis);
    line["object"]["metadata"]["deletionTimestamp"] = line["object"]["metadata"]["creationTimestamp"].clone();
    line["object"]["metadata"]["deletionGracePeriodSeconds"] = 30.into();
    batches.push((at_millis, at_millis, format!("{line}\n")));
    let (mut timeline, _) = play(&batches);
    timeline.tick(at_millis + 5_000);
    let now = Now { millis: at_millis + 5_000, skew_millis: 0 };
    let last = rollout_rows::rollouts("c", &timeline, uid, now, rollout_rows::LAST).pop().unwrap();
    // The streams of a cluster whose time runs faster are later in it.
    timeline.set_speed(1_000);
    let losses = |timeline: &Timeline, after_millis: Millis| {
        let now = Now { millis: at_millis + after_millis, skew_millis: 0 };
        rollout_rows::rollouts("c", timeline, uid, now, 1).pop().unwrap().losses
    };
    assert_eq!((losses(&timeline, 19_999), losses(&timeline, 20_000)), (None, last.losses.clone()));
    // The episode is over after a minute at rest, at any speed.
    timeline.set_speed(10_000);
    assert_eq!((losses(&timeline, 59_999), losses(&timeline, 60_000)), (None, last.losses.clone()));
    // The pod may have gone before a completion that fell into a gap.
    let losses_with_gap = |from_millis: Millis, to_millis: Millis| {
        let mut model = timeline.model().clone();
        let completed_millis = last.ended_millis.unwrap();
        let gap = Gap { from_millis: completed_millis + from_millis, to_millis: completed_millis + to_millis };
        model.deployments.get_mut(&uid).unwrap().gaps.push(gap);
        losses(&Timeline::from_model(model, 0), 5_000)
    };
    assert_eq!((losses_with_gap(-9_000, 0), losses_with_gap(1_000, 9_000)), (None, None));
    let name = &pod.name[pod.name.len() - 5..];
    let told = format!("Pod {name} deleted after the rollout was complete");
    assert_eq!(losses_with_gap(-9_000, -1), last.losses);
    // Others may have gone in a gap after it.
    assert_eq!(losses_with_gap(1_001, 9_000), Some(format!("{told} (part not observed)")));
    assert_eq!((last.title.as_str(), last.losses.as_ref()), ("", Some(&told)));
    for place in places() {
        let mut store = place.open(SMALL);
        let later = EpisodeRow { losses: None, ..last.clone() };
        for rollouts in [rollouts.clone(), vec![last.clone()], vec![later]] {
            store.commit(&[Commit { rollouts, ..commit(None, None) }]).unwrap();
        }
        let search = Search { text: "deleted".to_owned(), ..Search::default() };
        let found = Reader::new(&place.location).search(&search, &Permissions::All, None, 9).unwrap().rollouts;
        let found: Vec<_> = found.iter().map(EpisodeRow::cause_words).collect();
        assert_eq!(found, std::slice::from_ref(&told));
    }
}
