//! Rows of episodes without a rollout.

use serde_json::{Value, json};
use server::access::permissions::Permissions;
use server::feed::recording::Recording;
use server::history::batch::unpack;
use server::history::episode_rows::episode_rows;
use server::history::options::Limits;
use server::history::sql::Reader;
use server::history::store::{Commit, Episode, EpisodeSelector};
use timeline::episodes::{EpisodeRow, Search, StatusMark};
use timeline::words::clock;
use timeline::{EpisodeKind, Millis};

use crate::common;
use crate::history::lines::{list_done, list_done_of, web};
use crate::history::{SMALL, commit, episodes, indexed, places};

/// The row of a recorded recovery: a pod is deleted and replaced.
fn recovery() -> (Episode, EpisodeRow) {
    let found = episodes(&common::recording("kill-pod")).into_iter().find_map(|episode| {
        let row = *episode.row.clone()?;
        Some((episode, row))
    });
    found.unwrap()
}

#[test]
fn every_recorded_episode_without_a_rollout_is_told_by_its_events() {
    let told = common::recordings().into_iter().flat_map(|(name, text)| {
        let rows = episodes(&text).into_iter().filter_map(|episode| episode.row);
        rows.map(move |row| format!("{name}: {}: {}", row.episode.name(), row.title)).collect::<Vec<_>>()
    });
    insta::assert_snapshot!(told.collect::<Vec<_>>().join("\n"));
}

/// Nobody served for a while: that is trouble, also where every pod was replaced.
#[test]
fn a_recovery_with_an_outage_is_trouble() {
    let text = common::recording("node-lost");
    let lines = || text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let at = |line: &serde_json::Value| line["observedAtMillis"].as_i64().unwrap();
    let began = at(&lines().next().unwrap());
    // The replacements are ready 20 s later.
    let delayed = lines().map(|mut line| {
        let millis = at(&line);
        let later_millis = if millis < began + 53_500 { 0 } else { 20_000 };
        line["observedAtMillis"] = (millis + later_millis).into();
        format!("{line}\n")
    });
    let episode = episodes(&delayed.collect::<String>()).into_iter().find(|episode| episode.row.is_some()).unwrap();
    let row = episode.row.clone().unwrap();
    let title = "4 pods lost with node doomed-k-node-lost, recovered after 21 s; no pod was ready for 21 s";
    assert_eq!((row.episode, row.title.as_str(), row.cause.as_str()), (EpisodeKind::Recovery, title, title));
    assert_eq!(row.status().mark, StatusMark::Late);
    for place in places() {
        let mut store = place.open(SMALL);
        store.commit(&[Commit { episodes: vec![episode.clone()], ..commit(None, None) }]).unwrap();
        let search = Search { had_trouble: true, ..Search::default() };
        let found = Reader::new(&place.location).search(&search, &Permissions::All, None, 9).unwrap().rollouts;
        assert_eq!(found.into_iter().map(|row| row.title).collect::<Vec<_>>(), [title]);
    }
}

/// An episode that holds a rollout has the row of that and no other one, also where it was told before the rollout began.
#[test]
fn an_episode_has_one_row_however_often_it_is_written_and_none_beside_a_rollout() {
    let (episode, row) = recovery();
    for place in places() {
        let mut store = place.open(SMALL);
        let reader = Reader::new(&place.location);
        let mut written = |episode: &Episode| {
            store.commit(&[Commit { episodes: vec![episode.clone()], ..commit(None, None) }]).unwrap();
            reader.search(&Search::default(), &Permissions::All, None, 9).unwrap().rollouts
        };
        let open = EpisodeRow { outcome: timeline::rollout::Outcome::Progressing, ended_millis: None, ..row.clone() };
        let open = Episode { is_open: true, row: Some(Box::new(open)), ..episode.clone() };
        assert!(written(&open).iter().all(EpisodeRow::is_going_on));
        let [over] = &written(&episode)[..] else { panic!("one row") };
        assert_eq!((over.episode, over.title.as_str()), (EpisodeKind::Recovery, row.title.as_str()));
        assert_eq!((over.cluster.as_str(), over.is_kept, over.number), ("c", true, 0));
        let cut = reader.recording("c", row.uid, over.number, None).unwrap().unwrap();
        assert_eq!(cut.title, row.title);
        assert!(Recording::read(&cut.text).play().model().pods.len() > 1);
        assert_eq!(written(&Episode { row: None, ..episode.clone() }), []);
    }
}

#[test]
fn kinds_narrow_and_are_counted_and_rollouts_are_found_by_their_revision() {
    let (episode, row) = recovery();
    let rollouts: Vec<EpisodeRow> =
        indexed().rollouts.into_iter().map(|one| EpisodeRow { uid: row.uid, ..one }).collect();
    for place in places() {
        let mut store = place.open(SMALL);
        let reader = Reader::new(&place.location);
        let known = Commit { episodes: vec![episode.clone()], rollouts: rollouts.clone(), ..commit(None, None) };
        store.commit(&[known]).unwrap();
        let found = |kinds: &[EpisodeKind]| {
            let search = Search { kinds: kinds.to_vec(), ..Search::default() };
            reader.search(&search, &Permissions::All, None, 9).unwrap().rollouts.len()
        };
        let (rollout, other) = (EpisodeKind::Rollout, EpisodeKind::Recovery);
        assert_eq!([found(&[]), found(&[rollout]), found(&[other]), found(&[rollout, other])], [4, 3, 1, 4]);
        assert_eq!(found(&[EpisodeKind::Scaling]), 0);
        let overview = reader.overview(&Search::default(), &Permissions::All, &[], 9).unwrap();
        assert_eq!((overview.total, overview.counts.values().sum::<u32>()), (4, 3));
        let revisions = |last, most| {
            let rows = reader.rollouts("c", row.uid, last, most).unwrap();
            rows.into_iter().map(|row| row.revision).collect::<Vec<_>>()
        };
        assert_eq!((revisions(None, 9), revisions(None, 2)), (vec![3, 2, 1], vec![3, 2]));
        assert_eq!((revisions(Some(1), 9), revisions(Some(1), 1)), (vec![2, 1], vec![2]));
        let at = |sought| reader.find("c", row.uid, sought).unwrap().unwrap();
        let number = |began: Millis| at(EpisodeSelector::At(began)).0;
        assert_eq!((at(EpisodeSelector::Revision(3)).0, at(EpisodeSelector::Last).0), (2, 2));
        assert_eq!(number(row.started_millis), 3);
        let first = rollouts.iter().map(|one| one.started_millis).min().unwrap().min(row.started_millis);
        assert_eq!(at(EpisodeSelector::At(0)).1, first, "the nearest one");
    }
}

#[test]
fn the_last_episode_of_each_kind_stays_for_as_long_as_its_workload_exists() {
    let (episode, row) = recovery();
    // The same once more, and a day later.
    let later = |days: Millis, kind| {
        let millis = days * 86_400_000;
        let (from_millis, to_millis) = (episode.from_millis + millis, episode.to_millis + millis);
        let started_millis = row.started_millis + millis;
        let row = EpisodeRow { episode: kind, started_millis, ended_millis: Some(to_millis), ..row.clone() };
        Episode { from_millis, to_millis, row: Some(Box::new(row)), ..episode.clone() }
    };
    let all =
        [(0, EpisodeKind::Recovery), (1, EpisodeKind::Scaling), (2, EpisodeKind::Recovery), (3, EpisodeKind::Failure)];
    for place in places() {
        let mut store = place.open(Limits { age_millis: 1_000, ..SMALL });
        let reader = Reader::new(&place.location);
        let episodes = all.map(|(days, kind)| later(days, kind)).to_vec();
        store.commit(&[Commit { episodes, ..commit(None, None) }]).unwrap();
        let now = episode.to_millis + 9 * 86_400_000;
        while store.tidy(now).unwrap() {}
        let kept = || {
            let rows = reader.search(&Search::default(), &Permissions::All, None, 9).unwrap().rollouts;
            rows.into_iter().map(|row| (row.episode, row.is_kept)).collect::<Vec<_>>()
        };
        let expected = [EpisodeKind::Failure, EpisodeKind::Recovery, EpisodeKind::Scaling].map(|kind| (kind, true));
        assert_eq!(kept(), expected);
        let deletion = Episode { from_millis: now, to_millis: now, ..later(8, EpisodeKind::Deletion) };
        let gone = deletion.row.clone().map(|row| Box::new(EpisodeRow { is_deleted: true, ..*row }));
        store.commit(&[Commit { episodes: vec![Episode { row: gone, ..deletion }], ..commit(None, None) }]).unwrap();
        while store.tidy(now + 86_400_000).unwrap() {}
        assert_eq!(kept(), [], "its workload is gone");
    }
}

/// The recording of an episode tells of the events in its title.
#[test]
fn the_title_is_that_of_what_is_opened() {
    let (episode, row) = recovery();
    let made = Recording::read(&unpack(&episode.body).unwrap()).play();
    let again = timeline::assess::episode(made.model(), row.uid, made.skew_millis()).unwrap();
    assert_eq!(timeline::say::episode(&again, false), row.title);
}

/// A line of a Deployment that is scaled, of its ReplicaSet, or of a pod of that.
fn scaled_line(at_millis: Millis, r#type: &str, kind: &str, number: u64, [spec, status]: [Value; 2]) -> String {
    let uid = |number: u64| format!("00000000-0000-4000-8000-{number:012}");
    let owner = match kind {
        "ReplicaSet" => json!([{ "kind": "Deployment", "name": "web", "uid": uid(1), "controller": true }]),
        "Pod" => json!([{ "kind": "ReplicaSet", "name": "web-1", "uid": uid(2), "controller": true }]),
        _ => json!([]),
    };
    let metadata = json!({ "name": format!("web-1-p{number}"), "namespace": "shop", "uid": uid(number), "generation": 1,
        "creationTimestamp": format!("1970-01-01T{}Z", clock(at_millis)), "ownerReferences": owner,
        "annotations": { "deployment.kubernetes.io/revision": "1", "deployment.kubernetes.io/desired-replicas": spec["replicas"].to_string() } });
    let mut object = json!({ "metadata": metadata, "spec": spec, "status": status });
    object["spec"]["containers"] = json!([{ "name": "web", "image": "web:v1" }]);
    object["spec"]["template"] = json!({ "spec": { "containers": [{ "name": "web", "image": "web:v1" }] } });
    let line = json!({ "observedAtMillis": at_millis, "kind": kind, "type": r#type, "object": object });
    format!("{line}\n")
}

/// A Deployment and its ReplicaSet, which ask for so many pods; so many are there and available.
fn scaled_lines(at_millis: Millis, r#type: &str, replicas: u32, [there, available]: [u32; 2], failure: &str) -> String {
    let status = json!({ "observedGeneration": 1, "replicas": there, "updatedReplicas": there, "availableReplicas": available,
        "conditions": [{ "type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable" }] });
    let deployment = scaled_line(at_millis, r#type, "Deployment", 1, [json!({ "replicas": replicas }), status]);
    let refused = json!({ "type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": failure });
    let conditions: Vec<Value> = Some(refused).filter(|_| !failure.is_empty()).into_iter().collect();
    let status = json!({ "replicas": there, "availableReplicas": available, "conditions": conditions });
    deployment + &scaled_line(at_millis, r#type, "ReplicaSet", 2, [json!({ "replicas": replicas }), status])
}

/// A pod of it: available, or with an image that is not found.
fn scaled_pod(at_millis: Millis, r#type: &str, number: u64, is_ready: bool) -> String {
    let waiting = json!({ "reason": "ErrImagePull", "message": "web:v1: not found" });
    let status = match is_ready {
        true => json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }],
            "containerStatuses": [{ "name": "web", "state": { "running": {} } }] }),
        false => {
            json!({ "phase": "Pending", "containerStatuses": [{ "name": "web", "state": { "waiting": waiting } }] })
        }
    };
    scaled_line(at_millis, r#type, "Pod", number, [json!({ "nodeName": "node-1" }), status])
}

/// The list after a gap lacks the Deployment: its deletion is not certain, but its trouble before the gap is.
#[test]
fn trouble_stays_in_the_index_when_its_deployment_goes_missing_in_a_gap() {
    let pods = [10, 11].map(|number| scaled_pod(100_000, "LISTED", number, true)).concat();
    let message =
        "pods \"web-1-p12\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2";
    let text = scaled_lines(100_000, "LISTED", 2, [2, 2], "")
        + &pods
        + &list_done(100_000, None)
        + &scaled_lines(105_000, "MODIFIED", 4, [2, 2], message)
        + &list_done(180_000, Some(115_000));
    let timeline = Recording::read(&text).play();
    assert_eq!(timeline.model().deployments.get(&web()).unwrap().deleted_millis, Some(180_000));
    let rows = |from_millis: Millis| episode_rows(&text, web(), (from_millis, 180_000), None, false);
    let [None, Some(row)] = rows(105_000) else { panic!("one row") };
    assert_eq!((row.episode, row.started_millis, row.ended_millis), (EpisodeKind::Scaling, 105_000, Some(115_000)));
    let cause = "Scaled from 2 to 4. Revision 1 had 2 of 4 available: quota q was used up.";
    assert_eq!((row.cause_words().as_str(), row.status().mark), (cause, StatusMark::Late));
    assert_eq!((row.is_deleted, row.took_millis()), (true, None), "nobody saw its end");
    assert_eq!(rows(115_001), [None, None], "nothing was observed of it");
}

/// The rollout before is over for long: the trouble of a scaling is told nowhere else.
#[test]
fn a_scaling_whose_pods_do_not_start_has_the_cause_of_its_verdict() {
    let listed = || {
        let pods = [10, 11].map(|number| scaled_pod(100_000, "LISTED", number, true)).concat();
        let done = ["Deployment", "ReplicaSet", "Pod"].map(|kind| list_done_of(100_000, kind)).concat();
        scaled_lines(100_000, "LISTED", 2, [2, 2], "") + &pods + &done
    };
    let pods = |at_millis: Millis, r#type: &str, is_ready: bool| {
        [12, 13].map(|number| scaled_pod(at_millis, r#type, number, is_ready)).concat()
    };
    let told = |text: &str, to_millis: Millis, is_open: bool| {
        let [_, row] = episode_rows(text, web(), (105_000, to_millis), None, is_open);
        let row = row.unwrap();
        (row.episode, row.title.clone(), row.cause_words(), row.status().mark)
    };
    let (open, over) = ("Scaled from 2 to 4", "Scaled from 2 to 4, ready after 1 min 15 s");
    let words =
        |title: &str, cause: &str, mark| (EpisodeKind::Scaling, title.to_owned(), format!("{title}{cause}"), mark);
    // The image of the new pods is not found for a while.
    let pulled = listed() + &scaled_lines(105_000, "MODIFIED", 4, [4, 2], "") + &pods(105_100, "ADDED", false);
    let cause = ". Revision 1 has 2 of 4 available: image web:v1 is not found.";
    assert_eq!(told(&pulled, 105_100, true), words(open, cause, StatusMark::Bad));
    let ended = pulled + &pods(180_000, "MODIFIED", true) + &scaled_lines(180_000, "MODIFIED", 4, [4, 4], "");
    let past = ". Revision 1 had 2 of 4 available: image web:v1 was not found.";
    assert_eq!(told(&ended, 180_000, false), words(over, past, StatusMark::Late));
    // A quota refuses them.
    let message =
        "pods \"web-1-p12\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2";
    let refused = listed() + &scaled_lines(105_000, "MODIFIED", 4, [2, 2], message);
    let cause = ". Revision 1 has 2 of 4 available: quota q is used up.";
    assert_eq!(told(&refused, 105_000, true), words(open, cause, StatusMark::Bad));
    let ended = refused + &pods(180_000, "ADDED", true) + &scaled_lines(180_000, "MODIFIED", 4, [4, 4], "");
    let past = ". Revision 1 had 2 of 4 available: quota q was used up.";
    assert_eq!(told(&ended, 180_000, false), words(over, past, StatusMark::Late));
    // The cluster is not observed from then on, until the pods are there: nobody knows how long they were refused.
    let unseen = |since_millis: Millis| {
        let refused = listed() + &scaled_lines(105_000, "MODIFIED", 4, [2, 2], message);
        let pods = [10, 11, 12, 13].map(|number| scaled_pod(180_000, "LISTED", number, true)).concat();
        let there = scaled_lines(180_000, "LISTED", 4, [4, 4], "") + &pods + &list_done(180_000, Some(since_millis));
        let [_, row] = episode_rows(&(refused + &there), web(), (105_000, 180_000), None, false);
        row.map(|row| (row.episode, row.took_millis(), row.cause)).unwrap()
    };
    assert_eq!(unseen(114_999), (EpisodeKind::Scaling, None, String::new()));
    let cause = "Revision 1 has 2 of 4 available: quota q is used up.";
    assert_eq!(unseen(115_000), (EpisodeKind::Scaling, None, cause.to_owned()));
    // Its end is observed after a gap.
    let pods_before = [10, 11].map(|number| scaled_pod(150_000, "LISTED", number, true)).concat();
    let with_gap = listed()
        + &scaled_lines(105_000, "MODIFIED", 4, [2, 2], "")
        + &scaled_lines(150_000, "LISTED", 4, [2, 2], "")
        + &pods_before
        + &list_done(150_000, Some(130_000))
        + &pods(180_000, "ADDED", true)
        + &scaled_lines(180_000, "MODIFIED", 4, [4, 4], "");
    let [_, row] = episode_rows(&with_gap, web(), (105_000, 180_000), None, false);
    assert_eq!(row.unwrap().took_millis(), Some(75_000));
    // What passes sooner is no trouble.
    let brief = listed() + &scaled_lines(105_000, "MODIFIED", 4, [4, 2], "") + &pods(105_100, "ADDED", false);
    let brief = brief + &pods(115_099, "MODIFIED", true) + &scaled_lines(115_099, "MODIFIED", 4, [4, 4], "");
    assert_eq!(told(&brief, 115_099, false), words("Scaled from 2 to 4, ready after 10 s", "", StatusMark::Ok));
}
