//! Who deleted which pod, as the API server's audit log tells, against what the timeline says of the same time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use server::feed::recording::Recording;
use timeline::model::{EndReason, ReplicaSet};

/// The audit log of the control plane that `cargo xtask cluster` starts.
pub struct Audit(PathBuf);

/// What came of a comparison.
pub struct Ends {
    pub compared: usize,
    pub wrong: Vec<String>,
    /// Somebody deleted a pod in the milliseconds in which its ReplicaSet had more pods than it asked for: nothing tells that one
    /// from those that the controller lets go.
    pub blurred: Vec<String>,
    /// The ReplicaSet was scaled down in the moment before it was deleted: its controller, which has not heard of that yet, and the
    /// garbage collector both let the pods go, and whoever is faster wins. Either is why.
    pub raced: Vec<String>,
}

/// Who hears of a deleted ReplicaSet first has this long; a busy controller hears late.
const RACE_MILLIS: i64 = 5_000;

impl Audit {
    /// The log is beside the kubeconfig; a control plane that is somebody else's has none, which is no answer in CI.
    pub fn beside(kubeconfig: &str) -> Option<Self> {
        let log = Path::new(kubeconfig).with_file_name("audit.log");
        let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(log.exists() || !is_ci, "there is no {}", log.display());
        log.exists().then_some(Self(log))
    }

    /// By pod of a namespace: who asked first for it to go, and was heard.
    fn deleters(&self, namespace: &str) -> BTreeMap<String, String> {
        let mut deleters: BTreeMap<String, (String, String)> = BTreeMap::new();
        for line in std::fs::read_to_string(&self.0).unwrap().lines() {
            let Ok(event) = serde_json::from_str::<Value>(line) else { continue }; // the last one may be half written
            let of = &event["objectRef"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let (Some(pod), true) = (of["name"].as_str(), of["namespace"] == namespace) else { continue };
            if event["responseStatus"]["code"].as_u64().is_some_and(|code| code < 300) {
                let this = (text(&event["requestReceivedTimestamp"]), text(&event["user"]["username"]));
                let first = deleters.entry(pod.to_owned()).or_insert_with(|| this.clone());
                if this < *first {
                    *first = this;
                }
            }
        }
        deleters.into_iter().map(|(pod, (_, user))| (pod, user)).collect()
    }

    /// Plays a recording of a namespace, and compares why its pods ended with who deleted them.
    pub fn compare(&self, namespace: &str, recording: &str) -> Ends {
        let timeline = Recording::read(recording).play();
        let deleters = self.deleters(namespace);
        let mut ends = Ends { compared: 0, wrong: Vec::new(), blurred: Vec::new(), raced: Vec::new() };
        for pod in timeline.model().pods.values() {
            let Some((reason, deleter)) = pod.end_reason.zip(deleters.get(&pod.name)) else { continue };
            ends.compared += 1;
            let is_so = match deleter.strip_prefix("system:serviceaccount:kube-system:") {
                Some("replicaset-controller") => reason == EndReason::ScaledDown,
                Some("generic-garbage-collector") => {
                    matches!(reason, EndReason::ReplicaSetDeleted | EndReason::DeploymentDeleted)
                }
                Some("pod-garbage-collector") => reason == EndReason::NodeLost,
                _ => reason == EndReason::DeletedManually,
            };
            let is_blurred = matches!(reason, EndReason::ScaledDown | EndReason::DeletedManually)
                && !deleter.ends_with("garbage-collector");
            let set = pod.owners.last().and_then(|set| timeline.model().replica_sets.get(set));
            let is_raced = deleter.ends_with("replicaset-controller")
                && matches!(reason, EndReason::ReplicaSetDeleted | EndReason::DeploymentDeleted)
                && set.is_some_and(was_just_scaled_down);
            if !is_so {
                let found = match (is_blurred, is_raced) {
                    (true, _) => &mut ends.blurred,
                    (_, true) => &mut ends.raced,
                    _ => &mut ends.wrong,
                };
                found.push(format!("{namespace}/{}: {reason:?}, but {deleter} deleted it", pod.name));
            }
        }
        ends
    }
}

/// It was asked for less in the moment before it went.
fn was_just_scaled_down(set: &ReplicaSet) -> bool {
    let last = set.scales.last().filter(|last| last.to < last.from);
    last.zip(set.removed_millis).is_some_and(|(last, gone)| gone - last.at_millis <= RACE_MILLIS)
}
