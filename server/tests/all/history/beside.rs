//! Rows of trouble and of deletions that share their episode with a rollout.

use serde_json::{Value, json};
use server::access::permissions::Permissions;
use server::history::recorder::Recorder;
use server::history::sql::Reader;
use server::history::store::{Commit, Episode};
use timeline::episodes::{EpisodeRow, Search};
use timeline::words::clock;
use timeline::{EpisodeKind, Millis};

use crate::history::lines::{list_done_of, web};
use crate::history::{SMALL, commit, places};

/// A line of the Deployment (1), of one of its ReplicaSets (2, 3), or of a pod, whose hundreds are the number of its ReplicaSet.
fn line(at_millis: Millis, r#type: &str, kind: &str, number: u64, mut object: Value) -> String {
    let uid = |number: u64| format!("00000000-0000-4000-8000-{number:012}");
    let set = if kind == "Pod" { number / 100 } else { number };
    let hash = set.to_string();
    let (name, owner) = match kind {
        "Deployment" => ("web".to_owned(), json!([])),
        "ReplicaSet" => {
            let owner = json!([{ "kind": "Deployment", "name": "web", "uid": uid(1), "controller": true }]);
            (format!("web-{hash}"), owner)
        }
        _ => {
            let owner = format!("web-{hash}");
            let owner = json!([{ "kind": "ReplicaSet", "name": owner, "uid": uid(set), "controller": true }]);
            (format!("web-{hash}-pp{number}"), owner)
        }
    };
    let revision = object["revision"].take();
    object["metadata"] = json!({ "name": name, "namespace": "shop", "uid": uid(number), "generation": object["generation"].take(),
        "creationTimestamp": format!("1970-01-01T{}Z", clock(at_millis)), "ownerReferences": owner, "deletionTimestamp": object["deleted"].take(),
        "labels": { "pod-template-hash": hash },
        "annotations": { "deployment.kubernetes.io/revision": revision, "deployment.kubernetes.io/desired-replicas": "1" } });
    let line = json!({ "observedAtMillis": at_millis, "kind": kind, "type": r#type, "object": object });
    format!("{line}\n")
}

fn template(image: u64) -> Value {
    json!({ "spec": { "containers": [{ "name": "web", "image": format!("web:v{image}") }] } })
}

/// The Deployment of one replica: its generation and the one that was observed, its revision, and pods that are there, new and available.
fn deployment(
    at_millis: Millis,
    r#type: &str,
    [generation, observed, revision]: [u64; 3],
    [there, updated, available]: [u32; 3],
) -> String {
    let reason = if updated < there { "ReplicaSetUpdated" } else { "NewReplicaSetAvailable" };
    let object = json!({
        "generation": generation,
        "revision": revision.to_string(),
        "spec": { "replicas": 1, "progressDeadlineSeconds": 600, "template": template(generation) },
        "status": { "observedGeneration": observed, "replicas": there, "updatedReplicas": updated, "availableReplicas": available,
            "conditions": [{ "type": "Progressing", "status": "True", "reason": reason }] },
    });
    line(at_millis, r#type, "Deployment", 1, object)
}

/// The ReplicaSet of a revision.
fn set(at_millis: Millis, r#type: &str, revision: u64, [replicas, available]: [u32; 2]) -> String {
    let object = json!({
        "generation": 1,
        "revision": revision.to_string(),
        "spec": { "replicas": replicas, "template": template(revision) },
        "status": { "replicas": replicas, "availableReplicas": available },
    });
    line(at_millis, r#type, "ReplicaSet", revision + 1, object)
}

/// A pod that runs, and is asked to go if a time is given.
fn pod(at_millis: Millis, r#type: &str, number: u64, is_ready: bool, deleted_millis: Option<Millis>) -> String {
    let status = if is_ready { "True" } else { "False" };
    let object = json!({
        "deleted": deleted_millis.map(|at| format!("1970-01-01T{}Z", clock(at + 30_000))),
        "spec": { "nodeName": "node-1", "containers": [{ "name": "web", "image": "web:v1" }] },
        "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": status }],
            "containerStatuses": [{ "name": "web", "state": { "running": {} } }] },
    });
    line(at_millis, r#type, "Pod", number, object)
}

/// Revision 1 at rest when watching begins.
fn listed() -> String {
    let lines = [
        deployment(100_000, "LISTED", [1, 1, 1], [1, 1, 1]),
        list_done_of(100_000, "Deployment"),
        set(100_000, "LISTED", 1, [1, 1]),
        list_done_of(100_000, "ReplicaSet"),
        pod(100_000, "LISTED", 210, true, None),
        list_done_of(100_000, "Pod"),
    ];
    lines.concat()
}

/// Its only pod is deleted, and replaced by one that is not ready yet.
fn killed() -> String {
    let lines = [
        pod(105_000, "MODIFIED", 210, true, Some(105_000)),
        pod(105_100, "ADDED", 211, false, None),
        set(105_200, "MODIFIED", 1, [1, 0]),
        deployment(105_200, "MODIFIED", [1, 1, 1], [1, 1, 0]),
        pod(107_000, "DELETED", 210, false, Some(105_000)),
    ];
    lines.concat()
}

/// That one is ready.
fn recovered() -> String {
    let lines = [
        pod(125_000, "MODIFIED", 211, true, None),
        set(125_000, "MODIFIED", 1, [1, 1]),
        deployment(125_000, "MODIFIED", [1, 1, 1], [1, 1, 1]),
    ];
    lines.concat()
}

/// The template is edited at 150.001 s; its rollout begins at 150.2 s and is complete at 152 s.
fn rolled_out(available: u32) -> String {
    let lines = [
        deployment(150_001, "MODIFIED", [2, 1, 1], [1, 1, available]),
        set(150_100, "ADDED", 2, [1, 0]),
        deployment(150_200, "MODIFIED", [2, 1, 2], [1, 0, available]),
        pod(150_300, "ADDED", 310, false, None),
        deployment(150_400, "MODIFIED", [2, 2, 2], [2, 1, available]),
        pod(151_000, "MODIFIED", 310, true, None),
        set(151_000, "MODIFIED", 2, [1, 1]),
        set(151_100, "MODIFIED", 1, [0, 0]),
        pod(151_200, "MODIFIED", 211, available > 0, Some(151_200)),
        deployment(152_000, "MODIFIED", [2, 2, 2], [1, 1, 1]),
        pod(152_500, "DELETED", 211, false, Some(151_200)),
    ];
    lines.concat()
}

/// The Deployment is deleted, then its pod.
fn deleted() -> String {
    let lines = [
        deployment(165_000, "DELETED", [2, 2, 2], [1, 1, 1]),
        set(165_010, "DELETED", 2, [1, 1]),
        pod(165_020, "MODIFIED", 310, true, Some(165_020)),
        pod(170_000, "DELETED", 310, false, Some(165_020)),
    ];
    lines.concat()
}

/// What a recorder makes of it.
fn recorded(lines: &[String], is_deleted: bool) -> Episode {
    let mut recorder = Recorder::default();
    recorder.record(&listed());
    recorder.record(&lines.concat());
    recorder.begin_episode(web());
    recorder.record_rollout(&EpisodeRow { uid: web(), started_millis: 150_200, is_deleted, ..EpisodeRow::default() });
    recorder.settle(web()).unwrap()
}

fn told(row: Option<&EpisodeRow>) -> Option<(EpisodeKind, u64, &str, Option<Millis>)> {
    row.map(|row| (row.episode, row.revision, row.title.as_str(), row.ended_millis))
}

#[test]
fn a_recovery_before_a_rollout_in_its_episode_has_a_row_of_its_own() {
    let episode = recorded(&[killed(), recovered(), rolled_out(1)], false);
    let title = "Pod pp210 deleted, recovered after 20 s; no pod was ready for 20 s";
    assert_eq!(told(episode.row_before.as_deref()), Some((EpisodeKind::Recovery, 1, title, Some(125_000))));
    assert_eq!(episode.row_before.map(|row| row.cause).as_deref(), Some(title), "it is trouble");
    assert_eq!(episode.row, None);
}

/// The fix for what is broken begins while it is broken.
#[test]
fn trouble_that_lasts_until_a_rollout_begins_did_not_recover() {
    let episode = recorded(&[killed(), rolled_out(0)], false);
    let title = "Pod pp210 deleted; no pod was ready for 45 s";
    assert_eq!(told(episode.row_before.as_deref()), Some((EpisodeKind::Recovery, 1, title, Some(150_000))));
}

#[test]
fn a_rollout_without_trouble_before_it_has_no_row_beside_it() {
    let label = pod(120_000, "MODIFIED", 210, true, None);
    let rollout = rolled_out(1).replace("pp211", "pp210").replace("000000000211", "000000000210");
    let episode = recorded(&[label, rollout], false);
    assert_eq!((episode.row_before, episode.row), (None, None));
}

#[test]
fn a_deletion_right_after_a_rollout_has_a_row_of_its_own() {
    let episode = recorded(&[killed(), recovered(), rolled_out(1), deleted()], true);
    let title = "Deployment deleted, its last pod was gone after 5.0 s";
    assert_eq!(told(episode.row.as_deref()), Some((EpisodeKind::Deletion, 2, title, Some(170_000))));
    let before = episode.row_before.as_deref().map(|row| row.episode);
    assert_eq!(before, Some(EpisodeKind::Recovery));
    for place in places() {
        let mut store = place.open(SMALL);
        let reader = Reader::new(&place.location);
        let mut written = |episode: &Episode| {
            store.commit(&[Commit { episodes: vec![episode.clone()], ..commit(None, None) }]).unwrap();
            let found = |kinds: &[EpisodeKind]| {
                let search = Search { kinds: kinds.to_vec(), ..Search::default() };
                let rows = reader.search(&search, &Permissions::All, None, 9).unwrap().rollouts;
                rows.into_iter().map(|row| row.number).collect::<Vec<_>>()
            };
            [found(&[EpisodeKind::Recovery]), found(&[EpisodeKind::Deletion])]
        };
        let open = Episode { is_open: true, row: None, ..episode.clone() };
        assert_eq!(written(&open), [vec![0], vec![]]);
        assert_eq!(written(&episode), [vec![0], vec![1]]);
        assert_eq!(written(&episode), [vec![0], vec![1]]);
        assert_eq!(written(&open), [vec![0], vec![]]);
        assert_eq!(written(&Episode { row_before: None, ..open }), [Vec::<u32>::new(), Vec::new()]);
    }
}

/// The row of the rollout tells that the pod was lost.
#[test]
fn the_row_of_a_deletion_right_after_a_rollout_has_no_losses_of_before() {
    let killed = [
        pod(156_000, "MODIFIED", 310, true, Some(156_000)),
        pod(156_100, "ADDED", 311, false, None),
        pod(158_000, "DELETED", 310, false, Some(156_000)),
        pod(160_000, "MODIFIED", 311, true, None),
    ];
    let deleted = deleted().replace("pp310", "pp311").replace("000000000310", "000000000311");
    let rollout = rolled_out(1).replace("pp211", "pp210").replace("000000000211", "000000000210");
    let episode = recorded(&[rollout, killed.concat(), deleted], true);
    let title = "Deployment deleted, its last pod was gone after 5.0 s";
    assert_eq!(told(episode.row.as_deref()), Some((EpisodeKind::Deletion, 2, title, Some(170_000))));
    assert_eq!(episode.row.map(|row| row.started_millis), Some(165_000));
}

/// Somebody takes the labels off the pod that crashes, to look at it; its replacement runs.
#[test]
fn a_pod_that_crashes_out_of_rotation_keeps_nobody_from_recovering() {
    let crashing = |at_millis: Millis| {
        let mut line: Value = serde_json::from_str(&pod(at_millis, "MODIFIED", 210, false, None)).unwrap();
        line["object"]["status"]["containerStatuses"] = json!([{ "name": "web", "restartCount": 2,
            "state": { "waiting": { "reason": "CrashLoopBackOff" } },
            "lastState": { "terminated": { "exitCode": 1, "reason": "Error" } } }]);
        line
    };
    let mut released = crashing(110_000);
    released["object"]["metadata"]["ownerReferences"] = json!([]);
    let lines = [
        format!("{}\n", crashing(105_000)),
        set(105_200, "MODIFIED", 1, [1, 0]),
        deployment(105_200, "MODIFIED", [1, 1, 1], [1, 1, 0]),
        format!("{released}\n"),
        pod(110_100, "ADDED", 211, false, None),
        recovered(),
    ];
    let mut recorder = Recorder::default();
    recorder.record(&listed());
    recorder.record(&lines.concat());
    recorder.begin_episode(web());
    let row = recorder.settle(web()).unwrap().row;
    let title = "Pod pp210 left its ReplicaSet; Pod pp210 restarted 2 times (exit code 1), recovered after 20 s; \
                 no pod was ready for 20 s";
    assert_eq!(told(row.as_deref()), Some((EpisodeKind::Failure, 1, title, Some(125_000))));
}
