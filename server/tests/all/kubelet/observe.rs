//! Watches of everything in the situations' namespaces, as the API server sends it: for recordings, and to count exits.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use futures::{AsyncBufReadExt, TryStreamExt};
use kube::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;

const KINDS: [(&str, &str); 4] = [
    ("Deployment", "/apis/apps/v1/deployments"),
    ("ReplicaSet", "/apis/apps/v1/replicasets"),
    ("Pod", "/api/v1/pods"),
    ("Event", "/api/v1/events"),
];
/// A recording ends before it is longer.
pub const MOST_BYTES: usize = 190_000;
/// A recording begins so long before the edit.
pub const BEFORE_MILLIS: i64 = 1_000;
/// Normal Events that say no more than the objects themselves.
const PLAIN_EVENTS: [&str; 7] =
    ["SuccessfulCreate", "SuccessfulDelete", "ScalingReplicaSet", "Scheduled", "Pulled", "Created", "Started"];

/// One line of a watch.
struct Line {
    at_millis: i64,
    kind: &'static str,
    r#type: String,
    object: Value,
}

#[derive(Default)]
struct Observed {
    /// By namespace.
    lines: BTreeMap<String, Vec<Line>>,
    edited_millis: BTreeMap<String, i64>,
}

/// Watches that end with their owner.
pub struct Observer {
    observed: Arc<Mutex<Observed>>,
    _watches: JoinSet<()>,
}

pub fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

impl Observer {
    pub async fn begin(client: &Client, namespaces: impl Iterator<Item = String>) -> Self {
        let lines = namespaces.map(|namespace| (namespace, Vec::new())).collect();
        let observed = Arc::new(Mutex::new(Observed { lines, ..Observed::default() }));
        let mut watches = JoinSet::new();
        for (kind, path) in KINDS {
            let request =
                http::Request::get(format!("{path}?watch=true&timeoutSeconds=1200")).body(Vec::new()).unwrap();
            let mut stream = client.request_stream(request).await.unwrap().lines();
            let observed = observed.clone();
            watches.spawn(async move {
                while let Some(line) = stream.try_next().await.unwrap() {
                    let mut event: Value = serde_json::from_str(&line).unwrap();
                    let namespace = event["object"]["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
                    if let Some(lines) = observed.lock().unwrap().lines.get_mut(&namespace) {
                        let r#type = event["type"].as_str().unwrap().to_owned();
                        lines.push(Line { at_millis: now_millis(), kind, r#type, object: event["object"].take() });
                    }
                }
            });
        }
        Self { observed, _watches: watches }
    }

    /// From here on it is recorded.
    pub fn edit(&self, namespace: &str) {
        self.observed.lock().unwrap().edited_millis.insert(namespace.to_owned(), now_millis());
    }

    /// When a container of a pod that came with the edit was seen to have exited so often.
    pub fn exit_millis(&self, namespace: &str, exits: i64) -> Option<i64> {
        let observed = self.observed.lock().unwrap();
        let later = observed.lines[namespace].iter().filter(|line| line.at_millis >= observed.edited_millis[namespace]);
        let exited = |line: &&Line| line.kind == "Pod" && has_exited(&line.object, exits);
        later.into_iter().find(exited).map(|line| line.at_millis)
    }

    /// Writes a recording of each namespace, and what was received as it was into the folder `raw`.
    pub fn write(&self, folder: &Path, kubelet: &Path) {
        std::fs::create_dir_all(folder.join("raw")).unwrap();
        let observed = self.observed.lock().unwrap();
        for (namespace, lines) in &observed.lines {
            let raw: Vec<String> =
                lines.iter().map(|line| line.text(&line.r#type, line.at_millis, line.object.clone())).collect();
            std::fs::write(folder.join(format!("raw/{namespace}.jsonl")), raw.concat()).unwrap();
            let text = recording(lines, observed.edited_millis[namespace]);
            // Messages name the kubelet's own folder: it is the usual one.
            let text = text.replace(&kubelet.display().to_string(), "/var/lib/kubelet");
            std::fs::write(folder.join(format!("{namespace}.jsonl")), text).unwrap();
        }
    }
}

/// A container of a pod that is not being deleted exited so often.
pub fn has_exited(pod: &Value, exits: i64) -> bool {
    let count = |status: &Value| {
        status["restartCount"].as_i64().unwrap_or(0) + i64::from(status["state"]["terminated"].is_object())
    };
    let statuses = ["containerStatuses", "initContainerStatuses"].map(|field| &pod["status"][field]);
    let mut counts = statuses.into_iter().filter_map(Value::as_array).flatten().map(count);
    !pod["metadata"]["deletionTimestamp"].is_string() && counts.any(|count| count >= exits)
}

impl Line {
    fn text(&self, r#type: &str, at_millis: i64, object: Value) -> String {
        format!("{}\n", json!({ "observedAtMillis": at_millis, "kind": self.kind, "type": r#type, "object": object }))
    }
}

/// What a client sees that begins just before the edit: lists of what there is, without Events, and then what happens.
fn recording(lines: &[Line], edited_millis: i64) -> String {
    let (before, after): (Vec<&Line>, Vec<&Line>) = lines.iter().partition(|line| line.at_millis < edited_millis);
    let begin = edited_millis - BEFORE_MILLIS;
    let mut text = String::new();
    for (kind, _) in KINDS {
        let mut there = BTreeMap::new();
        for line in before.iter().filter(|line| line.kind == kind && kind != "Event") {
            let uid = line.object["metadata"]["uid"].as_str().unwrap();
            match line.r#type.as_str() {
                "DELETED" => there.remove(uid),
                _ => there.insert(uid, *line),
            };
        }
        text.extend(there.values().map(|line| line.text("LISTED", begin, reduced(&line.object))));
        let done =
            json!({ "observedAtMillis": begin, "kind": kind, "type": "LIST_DONE", "object": { "metadata": {} } });
        text.push_str(&format!("{done}\n"));
    }
    let is_plain = |line: &&Line| PLAIN_EVENTS.iter().any(|reason| line.object["reason"] == *reason);
    for line in after.into_iter().filter(|line| !is_plain(line)) {
        let line = line.text(&line.r#type, line.at_millis, reduced(&line.object));
        if text.len() + line.len() > MOST_BYTES {
            break;
        }
        text.push_str(&line);
    }
    text
}

/// An object without what nothing is ever derived from.
fn reduced(object: &Value) -> Value {
    const LEFT_OUT: [&str; 34] = [
        "managedFields",
        "tolerations",
        "nodeSelector",
        "securityContext",
        "schedulerName",
        "dnsPolicy",
        "enableServiceLinks",
        "automountServiceAccountToken",
        "preemptionPolicy",
        "priority",
        "serviceAccount",
        "serviceAccountName",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "imagePullPolicy",
        "hostIP",
        "hostIPs",
        "podIP",
        "podIPs",
        "qosClass",
        "imageID",
        "containerID",
        "volumeMounts",
        "allocatedResources",
        "reportingInstance",
        "blockOwnerDeletion",
        "selector",
        "successThreshold",
        "scheme",
        "lastProbeTime",
        "apiVersion",
        "generateName",
        "fullyLabeledReplicas",
        "action",
    ];
    match object {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, value)| !LEFT_OUT.contains(&name.as_str()) && !value.is_null());
            Value::Object(kept.map(|(name, value)| (name.clone(), reduced(value))).collect())
        }
        Value::Array(items) => items.iter().map(reduced).collect(),
        other => other.clone(),
    }
}
