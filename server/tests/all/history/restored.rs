//! What a recorder is restored from after a restart: snapshots, open episodes, and lines of the log.

use server::feed::recording::Recording;
use server::history::batch::{Batch, unpack};
use server::history::recorder::Recorder;
use server::history::store::{Commit, RecorderState};
use timeline::{Millis, Uid};

use crate::history::lines::{HOUR_MILLIS, begun, line, list_done, list_done_of, listed, web};
use crate::history::{SMALL, commit, places};

/// The lists in an open episode are of its own objects. At a restart they ended those of other Deployments, which then had failures that
/// never were.
#[test]
fn lists_of_an_open_episode_end_nothing_of_other_workloads_at_a_restart() {
    let began = 1_000 * HOUR_MILLIS;
    let other = "00000000-0000-4000-8000-000000000021".parse().unwrap();
    let list = |at_millis: Millis, done: &str| {
        let objects = [("Deployment", 1), ("Deployment", 21), ("ReplicaSet", 2), ("Pod", 10)];
        objects.map(|(kind, number)| line(at_millis, kind, number, "LISTED")).concat() + done
    };
    let mut recorder = Recorder::default();
    let deployments = [1, 21].map(|number| line(began, "Deployment", number, "LISTED")).concat();
    recorder.record(&(deployments + &list_done_of(began, "Deployment")));
    for (kind, number) in [("ReplicaSet", 2), ("Pod", 10)] {
        recorder.record(&(line(began, kind, number, "LISTED") + &list_done_of(began, kind)));
    }
    let (_, snapshots) = recorder.pending_writes();
    assert_eq!(snapshots.len(), 2);
    recorder.begin_episode(web());
    recorder.record(&line(began + 1_000, "Pod", 12, "ADDED"));
    recorder.record(&list(began + 9_000, &list_done(began + 9_000, Some(began + 2_000))));
    let open = recorder.open_episodes();
    let mut restored = Recorder::restore(&RecorderState { snapshots, open, batches: Vec::new() });
    let text = |recorder: &mut Recorder, uid: Uid| {
        recorder.begin_episode(uid);
        unpack(&recorder.settle(uid).unwrap().body).unwrap()
    };
    assert_eq!(text(&mut restored, other).matches("blindSinceMillis").count(), 0);
    assert_eq!(text(&mut restored, web()).matches("blindSinceMillis").count(), 3, "of each kind");
}

#[test]
fn a_store_that_is_opened_after_another_one_was_closed_writes_at_once() {
    for place in places() {
        for at_millis in 1_000..1_050 {
            let text = listed(at_millis);
            let written = place.open(SMALL).commit(&[commit(Some((at_millis, at_millis, &text)), None)]).unwrap();
            assert!(written.clusters.contains("c"), "at {at_millis}");
        }
    }
}

/// After a restart lines of the log are taken up again: the end of a list that is older than what is known takes nothing away.
#[test]
fn an_old_list_takes_nothing_away_from_what_was_restored() {
    let uid = web();
    let mut recorder = Recorder::default();
    let log = listed(1_000);
    recorder.record(&log);
    let (_, snapshots) = recorder.pending_writes();
    assert_eq!(snapshots.len(), 1);
    let batches = vec![Batch::pack(1_000, 1_000, &log).unwrap()];
    let mut restored = Recorder::restore(&RecorderState { snapshots, open: Vec::new(), batches });
    restored.begin_episode(uid);
    restored.record(&line(5_000, "Pod", 12, "ADDED"));
    let made = Recording::read(&unpack(&restored.settle(uid).unwrap().body).unwrap()).play();
    let gone = made.model().pods.values().filter(|pod| pod.gone_millis().is_some()).count();
    assert_eq!((made.model().pods.len(), gone), (2, 0));
    assert!(made.model().deployments.values().all(|deployment| deployment.deleted_millis.is_none()));
}

/// What was gone when its workload came to rest is not taken up again from lines of the log before that: the next list ended it once
/// more, as what disappeared while not observed.
#[test]
fn what_was_gone_before_a_workload_rested_is_not_restored_from_older_lines() {
    let uid = web();
    let tell = |at_millis: Millis, kind: &str, number: u64, r#type: &str| {
        let line = line(at_millis, kind, number, r#type);
        // A pod of the ReplicaSet that goes.
        if number == 12 { line.replace("8000-000000000002", "8000-000000000003") } else { line }
    };
    let objects = [("Deployment", vec![1]), ("ReplicaSet", vec![2, 3]), ("Pod", vec![10, 11, 12])];
    let listed = objects.map(|(kind, numbers)| {
        let lines: String = numbers.into_iter().map(|number| tell(1_000, kind, number, "LISTED")).collect();
        lines + &list_done_of(1_000, kind)
    });
    let changed = [
        (2_000, "ReplicaSet", 3, "MODIFIED"),
        (2_000, "Pod", 13, "ADDED"),
        (3_000, "Pod", 11, "DELETED"),
        (3_000, "Pod", 12, "DELETED"),
        (3_000, "Pod", 13, "DELETED"),
        (3_000, "ReplicaSet", 3, "DELETED"),
        (4_000, "Deployment", 1, "MODIFIED"),
    ];
    let changed = changed.map(|(at_millis, kind, number, r#type)| tell(at_millis, kind, number, r#type));
    let log = listed.concat() + &changed.concat();
    let mut recorder = Recorder::default();
    recorder.record(&log);
    recorder.begin_episode(uid);
    assert!(recorder.settle(uid).is_some());
    let (_, snapshots) = recorder.pending_writes();
    assert_eq!(snapshots.len(), 1);
    let batches = vec![Batch::pack(1_000, 4_500, &(log + &tell(4_500, "Pod", 14, "ADDED"))).unwrap()];
    let mut restored = Recorder::restore(&RecorderState { snapshots, open: Vec::new(), batches });
    let there = [("Deployment", 1), ("ReplicaSet", 2), ("Pod", 10), ("Pod", 14)];
    let there = there.map(|(kind, number)| tell(9_000, kind, number, "LISTED")).concat();
    restored.record(&(there + &list_done(9_000, Some(5_000))));
    restored.begin_episode(uid);
    let made = Recording::read(&unpack(&restored.settle(uid).unwrap().body).unwrap()).play();
    let pods: Vec<_> = made.model().pods.values().map(|pod| (pod.name.as_str(), pod.gone_millis())).collect();
    assert_eq!(pods, [("web-1-10", None), ("web-1-14", None)]);
    assert_eq!(made.model().replica_sets.values().count(), 1);
}

/// What changed last may be gone, and has no line in what is kept of a workload at rest: read once more from the log, it began the next
/// episode, with the rollout before it.
#[test]
fn what_went_last_before_a_workload_rested_begins_no_episode_after_a_restart() {
    let uid = web();
    let mut recorder = Recorder::default();
    let log = listed(1_000) + &line(3_000, "Pod", 12, "ADDED") + &line(4_000, "Pod", 12, "DELETED");
    recorder.record(&log);
    recorder.begin_episode(uid);
    assert!(recorder.settle(uid).is_some());
    let (_, snapshots) = recorder.pending_writes();
    let batches = vec![Batch::pack(1_000, 4_000, &log).unwrap()];
    let mut restored = Recorder::restore(&RecorderState { snapshots, open: Vec::new(), batches });
    restored.record(&line(9_000, "Pod", 13, "ADDED"));
    restored.begin_episode(uid);
    assert_eq!(restored.settle(uid).unwrap().from_millis, 9_000);
}

/// The log has them as well: read once more, they would tell of a time before what they follow.
#[test]
fn events_of_an_open_episode_are_not_read_again_from_the_log() {
    let began = 1_000 * HOUR_MILLIS;
    let event = |at_millis: Millis| {
        let uid = |number: u64| format!("00000000-0000-4000-8000-{number:012}");
        let about = serde_json::json!({ "kind": "Pod", "name": "web-1-10", "uid": uid(10) });
        let metadata = serde_json::json!({ "name": "web-1-10.1", "namespace": "shop", "uid": uid(90) });
        let object = serde_json::json!({ "metadata": metadata, "involvedObject": about, "reason": "Unhealthy" });
        let line =
            serde_json::json!({ "observedAtMillis": at_millis, "kind": "Event", "type": "MODIFIED", "object": object });
        format!("{line}\n")
    };
    let mut recorder = begun(began);
    let lines = line(began + 1_000, "Pod", 10, "ADDED") + &event(began + 2_000);
    recorder.record(&lines);
    let open = recorder.open_episodes();
    let batches = vec![Batch::pack(began, began + 3_000, &(lines + &event(began + 3_000))).unwrap()];
    let mut restored = Recorder::restore(&RecorderState { snapshots: Vec::new(), open, batches });
    let text = unpack(&restored.settle(web()).unwrap().body).unwrap();
    assert_eq!(text.matches("\"kind\":\"Event\"").count(), 2);
}

/// That of a paused rollout may have no line for a day.
#[test]
fn of_the_log_only_what_an_open_episode_may_lack_is_read_for_it() {
    for place in places() {
        let (mut store, began) = (place.open(SMALL), 1_000 * HOUR_MILLIS);
        let (episodes, _) = begun(began).pending_writes();
        store.commit(&[Commit { episodes, ..commit(None, None) }]).unwrap();
        let times: Vec<Millis> = (0..10).map(|quarter| began + 1_000 + quarter * HOUR_MILLIS / 4).collect();
        for at_millis in &times {
            let text = line(*at_millis, "Pod", 10, "MODIFIED");
            store.commit(&[commit(Some((*at_millis, *at_millis, &text)), None)]).unwrap();
        }
        let stored = store.resume("c", false).unwrap().unwrap();
        let read: Vec<Millis> = stored.recorder.batches.iter().map(|batch| batch.from_millis).collect();
        assert_eq!(read, [times[0], times[1], times[9]]);
    }
}
