//! Lines of a Deployment, of its ReplicaSet and of its pods, whose times a test chooses.

use server::history::recorder::Recorder;
use timeline::{Millis, Uid};

pub const HOUR_MILLIS: Millis = 3_600_000;

/// A line of a Deployment, of its ReplicaSet or of a pod of that.
pub fn line(at_millis: Millis, kind: &str, number: u64, r#type: &str) -> String {
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
pub fn web() -> Uid {
    "00000000-0000-4000-8000-000000000001".parse().unwrap()
}

/// A recorder of that Deployment, which was made then and is not at rest.
pub fn begun(at_millis: Millis) -> Recorder {
    let mut recorder = Recorder::default();
    recorder.record(&line(at_millis, "Deployment", 1, "ADDED"));
    recorder.record(&line(at_millis, "ReplicaSet", 2, "ADDED"));
    recorder.begin_episode(web());
    recorder
}

/// The end of the list of each kind: of everything, or of the namespace after a gap.
pub fn list_done(at_millis: Millis, gap_since_millis: Option<Millis>) -> String {
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
pub fn list_done_of(at_millis: Millis, kind: &str) -> String {
    list_done(at_millis, None).lines().find(|line| line.contains(&format!("\"{kind}\""))).unwrap().to_owned() + "\n"
}

/// The first list: the Deployment, its ReplicaSet and a pod.
pub fn listed(at_millis: Millis) -> String {
    let objects = [("Deployment", 1), ("ReplicaSet", 2), ("Pod", 10)];
    objects.map(|(kind, number)| line(at_millis, kind, number, "LISTED") + &list_done_of(at_millis, kind)).concat()
}
