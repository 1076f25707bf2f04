//! Episodes: what stays of them, and for how long.

use server::cli::commands::history::{self as command};
use server::feed::recording::Recording;
use server::history::batch::{Batch, FORMAT, pack, unpack};
use server::history::index;
use server::history::options::Limits;
use server::history::recorder::Recorder;
use server::history::resume::{CheckpointState, FINGERPRINT};
use server::history::sql::Reader;
use server::history::store::{Commit, RecorderState, Store};
use server::history::stretch;
use timeline::past::PastRollout;
use timeline::{Millis, Uid};

use crate::history::{Indexed, SMALL, checkpoint, commit, existing, indexed, longest, places, play, recorded, resumed};

fn written(store: &mut dyn Store, batches: &[(Millis, Millis, String)]) {
    for (from, to, text) in batches {
        store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
    }
}

/// Everything that exists is known without the lines that told of it, and without a checkpoint.
#[test]
fn what_is_too_old_goes_and_what_exists_stays() {
    for place in places() {
        let mut store = place.open(Limits { log_millis: 1_000, ..SMALL });
        let batches = longest();
        written(&mut *store, &batches);
        let (whole, _) = play(&batches);
        let mut recorder = Recorder::default();
        batches.iter().for_each(|(.., text)| recorder.record(text));
        for uid in whole.model().deployments.keys() {
            assert_eq!(recorder.settle(*uid), None, "nothing said that it was not at rest");
        }
        store.commit(&[Commit { snapshots: recorder.pending_writes().1, ..commit(None, None) }]).unwrap();
        while store.tidy(batches.last().unwrap().1 + 2_000).unwrap() {}
        let stored = store.resume("c", None).unwrap().unwrap();
        assert_eq!(stored.batches.len(), 1, "what existed before the log, and no log");
        let there = |names: Vec<String>| names.into_iter().filter(|name| !name.ends_with(" gone")).collect::<Vec<_>>();
        let resumed = resumed(&mut *store, None);
        assert_eq!(there(existing(resumed.timeline.model())), there(existing(whole.model())));
    }
}

/// After an upgrade, a restart does not play the log of a whole day before it shows anything.
#[test]
fn without_a_checkpoint_the_newest_part_of_the_log_is_read_and_what_exists_is_known() {
    for (place, is_at_rest) in [true, false].into_iter().flat_map(|rest| places().into_iter().map(move |of| (of, rest)))
    {
        let batches = longest();
        let (whole, _) = play(&batches);
        let packed: Vec<u64> = batches.iter().map(|(.., text)| pack(text).unwrap().len() as u64).collect();
        let replayed_bytes = packed.iter().rev().take(3).sum();
        let mut store = place.open(Limits { replayed_bytes, ..SMALL });
        written(&mut *store, &batches);
        let mut recorder = Recorder::default();
        for (index, (.., text)) in batches.iter().enumerate() {
            recorder.record(text);
            if index == batches.len() / 2 && !is_at_rest {
                whole.model().deployments.keys().for_each(|uid| recorder.begin_episode(*uid));
            }
        }
        if is_at_rest {
            whole.model().deployments.keys().for_each(|uid| assert_eq!(recorder.settle(*uid), None));
        }
        let (episodes, snapshots) = recorder.pending_writes();
        assert_eq!(episodes.is_empty(), is_at_rest);
        store.commit(&[Commit { episodes, snapshots, ..commit(None, None) }]).unwrap();
        let stored = store.resume("c", None).unwrap().unwrap();
        assert_eq!(stored.batches.len(), 1 + 3, "the objects before them, too");
        let there = |names: Vec<String>| names.into_iter().filter(|name| !name.ends_with(" gone")).collect::<Vec<_>>();
        let resumed = resumed(&mut *store, None);
        assert_eq!(there(existing(resumed.timeline.model())), there(existing(whole.model())));
    }
}

#[test]
fn the_last_rollout_of_what_exists_stays_pod_by_pod_and_others_go_with_their_age_or_for_their_size() {
    let Indexed { batches, uid, now, rollouts, .. } = indexed();
    let last = rollouts.len() - 1;
    for (place, is_by_age) in
        [true, false].into_iter().flat_map(|by| places().into_iter().map(move |place| (place, by)))
    {
        let mut store = place.open(SMALL);
        written(&mut *store, &batches);
        // Each rollout is an episode of its own.
        let begins = rollouts.iter().skip(1).map(|rollout| rollout.started_millis - 500).chain([Millis::MAX]);
        let (mut recorder, mut rest) = (Recorder::default(), batches.iter().peekable());
        for begin in begins {
            while let Some((.., text)) = rest.next_if(|(from, ..)| *from < begin) {
                recorder.record(text);
                recorder.begin_episode(uid);
            }
            let episodes = recorder.settle(uid).into_iter().collect();
            let (_, snapshots) = recorder.pending_writes();
            store.commit(&[Commit { episodes, snapshots, rollouts: rollouts.clone(), ..commit(None, None) }]).unwrap();
        }
        let reader = Reader::new(&place.location);
        let cut = |number: usize| reader.recording("c", uid, number as u32, None).unwrap();
        let as_before = cut(last).unwrap().text;
        drop(store);
        let limits = if is_by_age { Limits { age_millis: 1_000, ..SMALL } } else { Limits { bytes: 1, ..SMALL } };
        let mut store = place.open(limits);
        while store.tidy(if is_by_age { now.millis + 60_000 } else { 0 }).unwrap() {}
        let known = reader.rollouts("c", uid, 9).unwrap();
        assert_eq!((known[0].revision, known[0].is_kept), (3, true));
        assert_eq!(
            known.len(),
            if is_by_age { 1 } else { 3 },
            "of the others the list stays where there is room for it"
        );
        assert_eq!(cut(last).unwrap().text, as_before);
        assert!(Recording::read(&as_before).play().model().pods.len() > 3);
        assert!(command::check(&place.options()).is_ok());
        place.damage_episodes();
        let why = command::check(&place.options()).unwrap_err().to_string();
        assert!(why.starts_with(&format!("an episode of workload {uid} in cluster c: ")), "{why}");
        // Once the workload goes, all of it goes in time.
        let deleted = rollouts.iter().map(|rollout| PastRollout { is_deleted: true, ..rollout.clone() }).collect();
        store.commit(&[Commit { rollouts: deleted, ..commit(None, None) }]).unwrap();
        drop(store);
        let mut store = place.open(Limits { age_millis: 1_000, ..SMALL });
        while store.tidy(now.millis + 60_000).unwrap() {}
        assert!(cut(last).is_none() && reader.workloads(uid).unwrap().is_empty());
    }
}

/// An episode stands by itself: it tells of its workload what the whole stream does.
#[test]
fn an_episode_tells_of_its_workload_what_everything_told() {
    for (name, text) in crate::common::recordings() {
        let whole = Recording::read(&text).play();
        for deployment in whole.model().deployments.values() {
            let commit = recorded(&crate::history::batches(&text), deployment.uid);
            let [episode] = &commit.episodes[..] else { panic!("{name}: one episode") };
            let told = Recording::read(&unpack(&episode.body).unwrap());
            assert!(told.bad_lines.is_empty(), "{name}: {:?}", told.bad_lines);
            let told = told.play();
            let of = |model: &timeline::Model| existing(&model.only(deployment.uid));
            assert_eq!(of(told.model()), of(whole.model()), "{name}");
            let rollouts =
                |model: &timeline::Model| model.deployments.get(&deployment.uid).map(|known| known.rollouts.clone());
            assert_eq!(rollouts(told.model()), rollouts(whole.model()), "{name}");
        }
    }
}

const HOUR_MILLIS: Millis = 3_600_000;

/// A line of a Deployment, of its ReplicaSet or of a pod of that.
fn line(at_millis: Millis, kind: &str, number: u64, r#type: &str) -> String {
    let uid = |number: u64| format!("00000000-0000-4000-8000-{number:012}");
    let (name, owner) = match kind {
        "Deployment" => ("web".to_owned(), None),
        "ReplicaSet" => ("web-1".to_owned(), Some(("Deployment", "web", 1))),
        _ => (format!("web-1-{number}"), Some(("ReplicaSet", "web-1", 2))),
    };
    let owners = owner.map(|(kind, name, number)| serde_json::json!({ "kind": kind, "name": name, "uid": uid(number), "controller": true }));
    let object = serde_json::json!({
        "metadata": { "name": name, "namespace": "shop", "uid": uid(number), "generation": 1, "creationTimestamp": "2026-01-01T10:00:00Z",
            "annotations": { "deployment.kubernetes.io/revision": "1" }, "labels": { "pod-template-hash": "1" },
            "ownerReferences": owners.into_iter().collect::<Vec<_>>() },
        "spec": { "replicas": 30, "nodeName": "node-1", "containers": [], "template": { "spec": { "containers": [] } } },
        "status": { "phase": "Pending", "observedGeneration": 1 },
    });
    let line = serde_json::json!({ "observedAtMillis": at_millis, "kind": kind, "type": r#type, "object": object });
    format!("{line}\n")
}

/// The UID of the Deployment of [`line`].
fn web() -> Uid {
    "00000000-0000-4000-8000-000000000001".parse().unwrap()
}

/// A recorder of that Deployment, which was made then and is not at rest.
fn begun(at_millis: Millis) -> Recorder {
    let mut recorder = Recorder::default();
    recorder.record(&line(at_millis, "Deployment", 1, "ADDED"));
    recorder.record(&line(at_millis, "ReplicaSet", 2, "ADDED"));
    recorder.begin_episode(web());
    recorder
}

/// The end of the list of each kind: of everything, or of the namespace after a gap.
fn list_done(at_millis: Millis, gap_since_millis: Option<Millis>) -> String {
    let line = |kind: &str| {
        let mut line =
            serde_json::json!({ "observedAtMillis": at_millis, "kind": kind, "type": "LIST_DONE", "object": {} });
        if let Some(since) = gap_since_millis {
            line["blindSinceMillis"] = since.into();
            line["namespace"] = "shop".into();
        }
        format!("{line}\n")
    };
    ["Deployment", "ReplicaSet", "Pod"].map(line).concat()
}

/// The end of the list of one kind.
fn list_done_of(at_millis: Millis, kind: &str) -> String {
    list_done(at_millis, None).lines().find(|line| line.contains(&format!("\"{kind}\""))).unwrap().to_owned() + "\n"
}

/// The first list: the Deployment, its ReplicaSet and a pod.
fn listed(at_millis: Millis) -> String {
    let objects = [("Deployment", 1), ("ReplicaSet", 2), ("Pod", 10)];
    objects.map(|(kind, number)| line(at_millis, kind, number, "LISTED") + &list_done_of(at_millis, kind)).concat()
}

/// Kinds are listed side by side: pods may have arrived before the ReplicaSet that is told first. The episode lasts until the last of
/// them, or nothing of it would be shown.
#[test]
fn an_episode_does_not_end_before_what_was_listed_first() {
    let began = 1_000 * HOUR_MILLIS;
    let mut recorder = Recorder::default();
    for (kind, number, at_millis) in [("Deployment", 1, began), ("ReplicaSet", 2, began + 27), ("Pod", 10, began + 1)] {
        recorder.record(&(line(at_millis, kind, number, "LISTED") + &list_done_of(at_millis, kind)));
    }
    recorder.begin_episode(web());
    let (episodes, _) = recorder.pending_writes();
    let [episode] = &episodes[..] else { panic!("one episode") };
    assert_eq!((episode.from_millis, episode.to_millis), (began + 27, began + 27));
    let shown = stretch::trim(&unpack(&episode.body).unwrap(), (began - 5_000, episode.to_millis));
    assert_eq!(Recording::read(&shown).play().model().pods.len(), 1);
}

/// The index offers a rollout as soon as it is over: its recording is written with it, though the episode goes on and was written
/// a moment ago.
#[test]
fn the_end_of_a_rollout_is_written_at_once() {
    let began = 1_000 * HOUR_MILLIS;
    let mut recorder = begun(began);
    let open = indexed().rollouts.last().unwrap().clone();
    let open = PastRollout { uid: web(), started_millis: began, ended_millis: None, last_millis: None, ..open };
    recorder.record_rollout(&open);
    assert_eq!(recorder.pending_writes().0.len(), 1, "its begin");
    recorder.record(&line(began + 2_000, "Pod", 10, "ADDED"));
    recorder.record_rollout(&open);
    assert_eq!(recorder.pending_writes().0, [], "it was written lately");
    recorder.record(&line(began + 3_000, "Pod", 10, "MODIFIED"));
    let over = PastRollout { ended_millis: Some(began + 3_000), ..open };
    recorder.record_rollout(&over);
    let (written, _) = recorder.pending_writes();
    let [episode] = &written[..] else { panic!("one episode") };
    assert_eq!((episode.is_open, episode.to_millis), (true, began + 3_000));
    assert!(unpack(&episode.body).unwrap().contains("MODIFIED"));
    recorder.record(&line(began + 4_000, "Pod", 10, "MODIFIED"));
    recorder.record_rollout(&over);
    assert_eq!(recorder.pending_writes().0, [], "its end is written once");
}

/// Each takes a while to make, and the lines of the log wait for it.
#[test]
fn of_very_many_episodes_that_go_on_some_are_written_at_a_time() {
    let mut recorder = Recorder::default();
    let uid = |number: u64| -> Uid { format!("00000000-0000-4000-8000-{number:012}").parse().unwrap() };
    let tell = |recorder: &mut Recorder, number: u64, at_millis: Millis| {
        recorder.record(&line(at_millis, "Deployment", number, "MODIFIED"));
        recorder.begin_episode(uid(number));
    };
    (1..=70).for_each(|number| tell(&mut recorder, number, 1_000));
    assert_eq!([(); 3].map(|()| recorder.pending_writes().0.len()), [64, 6, 0]);
    (1..=71).for_each(|number| tell(&mut recorder, number, 20_000));
    let written: Vec<Uid> = recorder.pending_writes().0.iter().map(|episode| episode.uid).collect();
    assert!(written.len() < 70 && written.contains(&uid(71)), "what was never written comes first: {written:?}");
    let mut recorder = Recorder::default();
    let long = |line: String| line.replace("node-1", &"n".repeat(3 << 20));
    for number in 1..=3 {
        recorder.record(&long(line(1_000, "Deployment", number, "MODIFIED")));
        recorder.begin_episode(uid(number));
    }
    assert_eq!([(); 3].map(|()| recorder.pending_writes().0.len()), [2, 1, 0], "they have more than 4 MB");
}

/// After a restart, or a list after a gap, every workload has lines that are no begin of an episode.
#[test]
fn of_very_many_workloads_that_are_quiet_some_rest_at_a_time() {
    let mut recorder = Recorder::default();
    for at_millis in [1_000, 1_000 + 7 * HOUR_MILLIS] {
        (1..=70).for_each(|number| recorder.record(&line(at_millis, "Deployment", number, "MODIFIED")));
    }
    assert_eq!([(); 3].map(|()| recorder.pending_writes().1.len()), [70, 6, 0], "the others when they rest");
}

/// One that goes on for ten hours loses nothing of what is there at its end; step by step it is told for six hours.
#[test]
fn of_an_episode_that_goes_on_for_long_the_begin_is_whole_and_what_exists_at_the_end_is_there() {
    let uid = web();
    let began = 1_000 * HOUR_MILLIS;
    let mut recorder = begun(began);
    for half in 0..=20 {
        let at_millis = began + half * HOUR_MILLIS / 2;
        // One stays, and another one comes and goes.
        let number = 10 + half.unsigned_abs() * 2;
        recorder.record(&line(at_millis, "Pod", number, "ADDED"));
        recorder.record(&line(at_millis, "Pod", number + 1, "ADDED"));
        recorder.record(&line(at_millis + 1_000, "Pod", number + 1, "DELETED"));
        let (open, _) = recorder.pending_writes();
        assert!(open.iter().all(|episode| episode.is_open && episode.from_millis == began));
    }
    let episode = recorder.settle(uid).unwrap();
    assert!(!episode.is_open);
    let made = Recording::read(&unpack(&episode.body).unwrap()).play();
    let pods = || made.model().pods.values();
    let there: Vec<&str> = pods().filter(|pod| pod.gone_millis().is_none()).map(|pod| pod.name.as_str()).collect();
    let expected: Vec<String> = (0..=20).map(|half| format!("web-1-{}", 10 + half * 2)).collect();
    assert_eq!(there, expected, "all that came until its end");
    let came = |number: u64| {
        let name = format!("web-1-{number}");
        pods().find(|pod| pod.name == name).map(|pod| pod.states[0].1)
    };
    assert_eq!(came(11 + 12 * 2), Some(began + 6 * HOUR_MILLIS), "six hours are told step by step");
    assert_eq!(came(11 + 13 * 2), None, "later only what stayed is");
    let [gap] = made.model().deployments.values().next().unwrap().gaps[..] else { panic!("one gap") };
    assert_eq!(gap.from_millis, began + 6 * HOUR_MILLIS);
    assert_eq!(gap.to_millis, began + 10 * HOUR_MILLIS + 1_000);
    // What follows is the next episode, which begins with what exists.
    recorder.record(&line(began + 11 * HOUR_MILLIS, "Pod", 100, "ADDED"));
    recorder.begin_episode(uid);
    let next = recorder.settle(uid).unwrap();
    let made = Recording::read(&unpack(&next.body).unwrap()).play();
    assert_eq!(made.model().pods.len(), 22);
    assert_eq!(recorder.settle(uid), None);
}

/// A controller that annotates a pod each minute changes nothing that is shown, and the workload stays at rest: its lines take no room away
/// from the next episode.
#[test]
fn an_episode_is_whole_after_hours_of_changes_that_show_nothing() {
    let began = 1_000 * HOUR_MILLIS;
    let mut recorder = Recorder::default();
    recorder.record(&listed(began));
    for minute in 1..480 {
        recorder.record(&line(began + minute * 60_000, "Pod", 10, "MODIFIED"));
        recorder.pending_writes();
    }
    recorder.record(&line(began + 8 * HOUR_MILLIS, "Pod", 12, "ADDED"));
    recorder.begin_episode(web());
    recorder.record(&line(began + 8 * HOUR_MILLIS + 1_000, "Pod", 12, "DELETED"));
    let episode = recorder.settle(web()).unwrap();
    assert!(episode.from_millis > began + 6 * HOUR_MILLIS);
    let made = Recording::read(&unpack(&episode.body).unwrap()).play();
    let gone: Vec<_> = made.model().pods.values().map(|pod| (pod.name.clone(), pod.gone_millis())).collect();
    let ended_millis = Some(began + 8 * HOUR_MILLIS + 1_000);
    assert_eq!(gone, [("web-1-10".to_owned(), None), ("web-1-12".to_owned(), ended_millis)]);
    assert!(made.model().deployments.values().all(|known| known.gaps.is_empty()));
}

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

/// However much happens, a row that is read for a viewer stays small, and nothing that exists at its end is missing.
#[test]
fn an_episode_has_at_most_16_mb_of_lines_and_what_exists_at_its_end() {
    let uid = web();
    let began = 1_000 * HOUR_MILLIS;
    let mut recorder = begun(began);
    let mut told = 0;
    for number in 0..31_000 {
        let line = line(began + number, "Pod", 10 + number.unsigned_abs() % 40, "MODIFIED");
        told += line.len();
        recorder.record(&line);
    }
    assert!(told > 17 << 20, "{told}");
    let text = unpack(&recorder.settle(uid).unwrap().body).unwrap();
    assert!((15 << 20..17 << 20).contains(&text.len()), "{}", text.len());
    let made = Recording::read(&text).play();
    assert_eq!(made.model().pods.len(), 40);
    let [gap] = made.model().deployments.values().next().unwrap().gaps[..] else { panic!("one gap") };
    assert_eq!(gap.to_millis, began + 30_999);
}

/// An owner counts within its namespace only: what names it elsewhere is in no recording of it.
#[test]
fn what_claims_to_belong_to_a_workload_of_another_namespace_is_not_in_its_episode() {
    let uid = web();
    let mut recorder = Recorder::default();
    let elsewhere = |line: String| line.replace("\"shop\"", "\"strange\"").replace("web-1", "strange-1");
    // Before the Deployment is seen, and after.
    recorder.record(&elsewhere(line(500, "ReplicaSet", 7, "ADDED")));
    recorder.record(&line(1_000, "Deployment", 1, "ADDED"));
    recorder.record(&line(1_000, "ReplicaSet", 2, "ADDED"));
    recorder.begin_episode(uid);
    recorder.record(&line(2_000, "Pod", 10, "ADDED"));
    recorder.record(&elsewhere(line(2_500, "Pod", 11, "ADDED")));
    recorder.record(&elsewhere(line(2_500, "ReplicaSet", 8, "ADDED")));
    recorder.record(&line(3_000, "Pod", 12, "ADDED"));
    let text = unpack(&recorder.settle(uid).unwrap().body).unwrap();
    assert!(!text.contains("strange"), "{text}");
    assert_eq!(Recording::read(&text).play().model().pods.len(), 2);
}

/// Batches that a checkpoint includes may all be gone by the next start: what follows has higher numbers, or nobody would read it again.
#[test]
fn what_follows_a_checkpoint_is_read_though_all_batches_before_it_are_gone() {
    for place in places() {
        let mut store = place.open(Limits { log_millis: 1_000, ..SMALL });
        let (text, later) = (listed(1_000), line(900_000, "Pod", 12, "ADDED"));
        let (timeline, history) = play(&[(1_000, 1_000, text.clone())]);
        let state =
            CheckpointState { timeline: &timeline, history: &history, epoch: 1, observed: Some((1_000, 1_000)) };
        store.commit(&[commit(Some((1_000, 1_000, &text)), checkpoint(&state))]).unwrap();
        while store.tidy(800_000).unwrap() {}
        drop(store);
        let mut store = place.open(SMALL);
        assert_eq!(store.last_response("c").unwrap(), Some(1_000));
        store.commit(&[commit(Some((900_000, 900_000, &later)), None)]).unwrap();
        let stored = store.resume("c", Some(FINGERPRINT)).unwrap().unwrap();
        assert!(stored.checkpoint.is_some());
        let [batch] = &stored.batches[..] else { panic!("one batch: {:?}", stored.batches) };
        assert_eq!(batch.text().unwrap(), later);
    }
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
    let body = pack(&log).unwrap();
    let batches = vec![Batch { seq: 1, from_millis: 1_000, to_millis: 1_000, format: FORMAT, body }];
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
    let body = pack(&(log + &tell(4_500, "Pod", 14, "ADDED"))).unwrap();
    let batches = vec![Batch { seq: 1, from_millis: 1_000, to_millis: 4_500, format: FORMAT, body }];
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
    let body = pack(&log).unwrap();
    let batches = vec![Batch { seq: 1, from_millis: 1_000, to_millis: 4_000, format: FORMAT, body }];
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
    let body = pack(&(lines + &event(began + 3_000))).unwrap();
    let batches = vec![Batch { seq: 1, from_millis: began, to_millis: began + 3_000, format: FORMAT, body }];
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
        let times: Vec<Millis> = (0..10).map(|hour| began + 1_000 + hour * HOUR_MILLIS).collect();
        for at_millis in &times {
            let text = line(*at_millis, "Pod", 10, "MODIFIED");
            store.commit(&[commit(Some((*at_millis, *at_millis, &text)), None)]).unwrap();
        }
        let stored = store.resume("c", None).unwrap().unwrap();
        let read: Vec<Millis> = stored.recorder.batches.iter().map(|batch| batch.from_millis).collect();
        assert_eq!(read, [times[0], times[9]]);
    }
}

/// A list after a time in which nobody looked, in which everything of a namespace is missing: that is no deletion which could be told.
#[test]
fn what_is_missing_after_a_gap_is_no_deletion() {
    let uid = web();
    let text = listed(1_000) + &list_done(900_000, Some(600_000));
    let timeline = Recording::read(&text).play();
    assert!(timeline.model().deployments.values().all(|known| known.deleted_millis == Some(900_000)));
    assert_eq!(index::episode(&text, uid, (1_000, 900_000), false), None);
}
