//! What is let go of, and what is put aside before.

use std::fs;

use app::history::{PastRollout, Search};
use serde_json::value::RawValue;
use server::access::sight::Sight;
use server::cli::commands::history::{self as command, RolloutSelector};
use server::feed::recording::{RecordedLine, Recording};
use server::history::options::{Limits, Location};
use server::history::sql::Reader;
use server::history::sqlite::FILE;
use server::history::store::{Commit, Store};
use timeline::Millis;

use crate::history::{Indexed, SMALL, commit, existing, indexed, longest, places, play, resumed, tidy};

#[test]
fn what_is_too_much_goes_and_what_exists_stays() {
    for place in places() {
        let mut store = place.open(SMALL);
        let batches = longest();
        for (from, to, text) in &batches {
            store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
        }
        let before = store.bytes().unwrap();
        drop(store);
        let mut store = place.open(Limits { bytes: before / 2, ..SMALL });
        tidy(&mut *store);
        let (whole, _) = play(&batches);
        assert_eq!(existing(resumed(&mut *store, None, 0).timeline.model()), existing(whole.model()));
        let after = store.bytes().unwrap();
        assert!(before > 60_000 && after <= before / 2, "{before} {after}");
        if let Location::Folder(folder) = &place.location {
            drop(store); // the log goes into the file
            let file = fs::metadata(folder.join(FILE)).unwrap().len();
            assert!(file <= before * 3 / 4, "room is given back: {file} of {before}");
        }
    }
}

#[test]
fn what_is_too_old_goes_up_to_the_last_keyframe_before() {
    for place in places() {
        let mut store = place.open(Limits { age_millis: 1_000, ..SMALL });
        let batches = longest();
        for (from, to, text) in &batches {
            store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
            store.tidy(0).unwrap();
        }
        let count = |store: &mut dyn Store| store.resume("c", None, 0).unwrap().unwrap().batches.len();
        let before = count(&mut *store);
        let end = batches.last().unwrap().1;
        while store.tidy(end + 2_000).unwrap() {}
        assert!(count(&mut *store) < before / 2, "{before}");
        let (whole, _) = play(&batches);
        assert_eq!(existing(resumed(&mut *store, None, 0).timeline.model()), existing(whole.model()));
    }
}

/// The same lines, later.
fn shifted(batches: &[(Millis, Millis, String)], by_millis: Millis) -> Vec<(Millis, Millis, String)> {
    let line = |line: &str| {
        let read: RecordedLine<'_, &RawValue> = serde_json::from_str(line).unwrap();
        let observed_at_millis = read.observed_at_millis + by_millis;
        format!("{}\n", serde_json::to_string(&RecordedLine { observed_at_millis, ..read }).unwrap())
    };
    let shifted = |text: &String| text.lines().map(line).collect();
    batches.iter().map(|(from, to, text)| (from + by_millis, to + by_millis, shifted(text))).collect()
}

#[test]
fn the_last_rollout_of_what_exists_is_made_again_pod_by_pod_when_its_lines_are_long_gone() {
    let Indexed { batches: first, uid, now, rollouts, .. } = indexed();
    let end_millis = now.millis;
    // Much else happens later.
    let other = longest();
    let later = shifted(&other, end_millis + 3_600_000 - other[0].0);
    let last_millis = later.last().unwrap().1;
    for (place, is_by_age) in
        [true, false].into_iter().flat_map(|by| places().into_iter().map(move |place| (place, by)))
    {
        let mut store = place.open(SMALL);
        for (from, to, text) in &first {
            store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
        }
        store.commit(&[Commit { rollouts: rollouts.clone(), ..commit(None, None) }]).unwrap();
        for (from, to, text) in &later {
            store.commit(&[commit(Some((*from, *to, text)), None)]).unwrap();
            store.tidy(0).unwrap();
        }
        let before = store.bytes().unwrap();
        drop(store);
        let reader = Reader::new(&place.location);
        let cut = |number: usize| reader.cut("c", uid, number as u32, None).unwrap();
        let as_before: Vec<String> = (0..rollouts.len()).map(|number| cut(number).unwrap().text).collect();
        let limits =
            if is_by_age { Limits { age_millis: 1_000, ..SMALL } } else { Limits { bytes: before / 2, ..SMALL } };
        let mut store = place.open(limits);
        let now_millis = if is_by_age { last_millis + 60_000 } else { 0 };
        while store.tidy(now_millis).unwrap() {}
        let gone = store.resume("c", None, 0).unwrap().unwrap().batches;
        assert!(gone[0].from_millis > end_millis, "its lines are gone");
        let known = reader.of_workload("c", uid, 9).unwrap();
        let told: Vec<(u64, bool)> = known.iter().map(|rollout| (rollout.revision, rollout.is_kept)).collect();
        let last = rollouts.len() - 1;
        if is_by_age {
            assert_eq!(told, [(3, true)]);
        } else {
            assert_eq!(told, [(3, true), (2, false), (1, false)]);
            assert!(cut(0).is_none(), "of the others the list is all there is");
            let name = known[0].name.clone();
            let gone = RolloutSelector { name, namespace: None, cluster: None, revision: Some(1), is_redacted: false };
            let why = command::export(&place.options(), &gone, &mut Vec::new()).unwrap_err().to_string();
            assert!(why.contains("revision 3 in c") && !why.contains("revision 1 in"), "{why}");
        }
        let played = |text: &str| Recording::read(text).play();
        let (made, was) = (played(&cut(last).unwrap().text), played(&as_before[last]));
        assert!(made.model() == was.model() && made.model().pods.len() > 3, "{}", made.model().pods.len());
        assert!(command::check(&place.options()).is_ok());
        place.damage_pins();
        let why = command::check(&place.options()).unwrap_err().to_string();
        assert!(why.starts_with(&format!("stored pods of rollout {last} of workload {uid} in cluster c: ")), "{why}");
        // Once it goes, what was put aside goes with it.
        let deleted = rollouts.iter().map(|rollout| PastRollout { is_deleted: true, ..rollout.clone() }).collect();
        store.commit(&[Commit { rollouts: deleted, ..commit(None, None) }]).unwrap();
        drop(store);
        let mut store = place.open(Limits { age_millis: 1_000, ..SMALL });
        while store.tidy(last_millis + 60_000).unwrap() {}
        assert!(cut(last).is_none() && reader.places(uid).unwrap().is_empty());
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

/// One that goes on for ten hours loses nothing of what is there at its end, though it is shown for six hours only while it goes on, and
/// what is older than an hour is let go of all the time.
#[test]
fn of_a_rollout_that_goes_on_for_long_the_begin_is_whole_and_what_exists_at_the_end_is_there() {
    let some = indexed().rollouts.split_off(2);
    let uid: timeline::Uid = "00000000-0000-4000-8000-000000000001".parse().unwrap();
    let (began, ended) = (1_000 * HOUR_MILLIS, 1_010 * HOUR_MILLIS + 1_000);
    let rollout = |ended_millis| PastRollout {
        uid,
        name: "web".into(),
        namespace: "shop".into(),
        revision: 1,
        started_millis: began,
        ended_millis,
        is_deleted: false,
        ..some[0].clone()
    };
    for place in places() {
        let limits = Limits { age_millis: HOUR_MILLIS, keyframe_bytes: 100, ..SMALL };
        let mut store = place.open(limits);
        let mut told = |from_millis: Millis, text: &str, rollouts: Vec<PastRollout>| {
            let lines = (from_millis, from_millis + 1_000, text);
            store.commit(&[Commit { rollouts, ..commit(Some(lines), None) }]).unwrap();
            for _ in 0..1_000 {
                if !store.tidy(from_millis + 1_000).unwrap() {
                    return;
                }
            }
            panic!("tidying has no end");
        };
        let listed = ["Deployment", "ReplicaSet", "Pod"].map(|kind| {
            format!("{{\"observedAtMillis\":{began},\"kind\":\"{kind}\",\"type\":\"LIST_DONE\",\"object\":{{}}}}\n")
        });
        let first = [line(began, "Deployment", 1, "ADDED"), line(began, "ReplicaSet", 2, "ADDED"), listed.concat()];
        let first = [&first[2], &first[0], &first[1]].map(String::as_str).concat();
        told(began, &first, vec![rollout(None)]);
        for half in 0..32 {
            let at_millis = began + half * HOUR_MILLIS / 2;
            if at_millis > ended && at_millis < ended + HOUR_MILLIS {
                told(ended, &line(ended, "Deployment", 1, "MODIFIED"), vec![rollout(Some(ended))]);
            }
            // One stays, and another one comes and goes.
            let number = 10 + half.unsigned_abs() * 2;
            let lines = [
                line(at_millis, "Pod", number, "ADDED"),
                line(at_millis, "Pod", number + 1, "ADDED"),
                line(at_millis + 1_000, "Pod", number + 1, "DELETED"),
            ];
            told(at_millis, &lines.concat(), Vec::new());
        }
        let kept = store.resume("c", None, 0).unwrap().unwrap().batches;
        assert!(kept[0].from_millis > ended + HOUR_MILLIS, "its lines are gone");
        let cut = Reader::new(&place.location).cut("c", uid, 0, None).unwrap().unwrap();
        let made = Recording::read(&cut.text).play();
        let there: Vec<&str> =
            made.model().pods.values().filter(|pod| pod.gone_millis().is_none()).map(|pod| pod.name.as_str()).collect();
        let expected: Vec<String> = (0..=20).map(|half| format!("web-1-{}", 10 + half * 2)).collect();
        assert_eq!(there, expected, "all that came until its end");
        let came = |number: u64| {
            let name = format!("web-1-{number}");
            made.model().pods.values().find(|pod| pod.name == name).map(|pod| pod.states[0].1)
        };
        assert_eq!(came(11 + 12 * 2), Some(began + 6 * HOUR_MILLIS), "six hours are told step by step");
        assert_eq!(came(11 + 14 * 2), None, "an hour later only what stayed is");
        let [gap] = made.model().deployments.values().next().unwrap().gaps[..] else { panic!("one gap") };
        assert_eq!(gap.from_millis, began + 6 * HOUR_MILLIS + 45_000);
        assert!((ended - 2 * HOUR_MILLIS..ended).contains(&gap.to_millis), "{gap:?}");
    }
}

/// While a newer version takes the place of an older one in a database, that one may write on for a moment, without what came later.
#[test]
fn what_an_older_version_wrote_beside_this_one_is_found_as_well() {
    let Indexed { now, rollouts, .. } = indexed();
    for place in places() {
        let mut store = place.open(SMALL);
        store.commit(&[Commit { rollouts: rollouts.clone(), ..commit(None, None) }]).unwrap();
        let reader = Reader::new(&place.location);
        let search = Search { name: rollouts[0].name.clone(), ..Search::default() };
        let found = || reader.rollouts(&search, &Sight::All, None, 50).unwrap().rollouts;
        let before = found();
        assert_eq!(before.len(), rollouts.len());
        // The columns that came later say what they say where nobody writes them, and where it is updated what they said before.
        let wrote =
            "workload = '', images = '', over_millis = 9223372036854775807, first_available_millis = -1, restarts = -1";
        let updated = "images = 'before', over_millis = 9223372036854775807";
        for (columns, search) in
            [(wrote, search.clone()), (updated, Search { image: before[0].images.clone(), ..search })]
        {
            let found = || reader.rollouts(&search, &Sight::All, None, 50).unwrap().rollouts;
            let before = found();
            assert!(!before.is_empty());
            // It writes the rollout as a whole without its format.
            place.sql(&format!("UPDATE rollouts SET {columns}, rollout = '{{' || substr(rollout, 13)"));
            assert_eq!(found(), [], "they are not found");
            tidy(&mut *store);
            assert_eq!(found(), before, "from the next time that something is tidied on they are");
            let over = Search { from_millis: Some(now.millis + 60_000), ..search.clone() };
            let going_on = reader.rollouts(&over, &Sight::All, None, 50).unwrap().rollouts;
            assert!(going_on.iter().all(PastRollout::is_going_on), "what is over is over again: {going_on:?}");
        }
    }
}

#[test]
fn rows_that_cannot_be_read_do_not_hold_up_those_after_them() {
    let some = indexed().rollouts.split_off(2);
    for place in places() {
        let mut store = place.open(SMALL);
        let of = |number: u64| PastRollout {
            revision: number,
            started_millis: some[0].started_millis + number as Millis * 60_000,
            ended_millis: some[0].ended_millis.map(|ended| ended + number as Millis * 60_000),
            ..some[0].clone()
        };
        store.commit(&[Commit { rollouts: (1..=250).map(of).collect(), ..commit(None, None) }]).unwrap();
        place.sql("UPDATE rollouts SET workload = '', rollout = CASE WHEN number < 249 THEN '{' ELSE '{' || substr(rollout, 13) END");
        tidy(&mut *store);
        let search = Search { name: some[0].name.clone(), ..Search::default() };
        let found = Reader::new(&place.location).rollouts(&search, &Sight::All, None, 50).unwrap().rollouts;
        assert_eq!(found.iter().map(|rollout| rollout.revision).collect::<Vec<_>>(), [250]);
    }
}
