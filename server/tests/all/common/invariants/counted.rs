//! Pods and replicas, counted from the objects alone.

use timeline::model::{Deployment, PodState};
use timeline::wire::Objects;
use timeline::{Model, Uid, document, rollout};

/// Pods and replicas, counted from the objects alone.
#[derive(Default)]
pub(super) struct Counted {
    /// No pod was seen: ReplicaSets report them.
    pub(super) is_reported: bool,
    pub(super) available: u32,
    pub(super) new_available: u32,
    pub(super) not_yet: u32,
    pub(super) terminating: u32,
    pub(super) desired: u32,
}

pub(super) fn count(model: &Model, deployment: &Deployment) -> Counted {
    // Nothing is new while the ReplicaSet of an edited template is awaited.
    // While it is paused nothing is awaited.
    let is_awaited = !deployment.now.spec.paused && rollout::awaits_revision(model, deployment);
    let current = rollout::current_set(model, deployment).filter(|_| !is_awaited).map(|set| set.uid);
    let mut counted = Counted::default();
    let mine = || model.replica_sets.values().filter(|set| set.owner == Some(deployment.uid));
    let is_of_it = |pod: &timeline::model::Pod| mine().any(|set| pod.owners.contains(&set.uid));
    let is_told = mine().any(|set| set.removed_millis.is_none() && set.now.counts.replicas > 0);
    if is_told && !model.pods.values().any(is_of_it) {
        // No pod was ever seen: only what ReplicaSets report is known.
        for set in mine().filter(|set| set.removed_millis.is_none()) {
            let said = set.now.counts;
            counted.is_reported = true;
            counted.desired += said.desired;
            counted.available += said.available;
            counted.not_yet += said.replicas.saturating_sub(said.available);
            counted.new_available += if current == Some(set.uid) { said.available } else { 0 };
        }
        return counted;
    }
    for set in mine() {
        if set.removed_millis.is_none() {
            counted.desired += set.now.counts.desired;
        }
        for pod in model.pods.values().filter(|pod| pod.owner == Some(set.uid)) {
            match pod.state() {
                PodState::Gone | PodState::Finished => {}
                PodState::Terminating => counted.terminating += 1,
                _ if pod.now.terminal_millis.is_some() => {} // no controller counts what failed for good
                PodState::Available => {
                    counted.available += 1;
                    counted.new_available += u32::from(current == Some(set.uid));
                }
                _ => counted.not_yet += 1,
            }
        }
    }
    counted
}

/// The layers of the strip.
pub(super) fn layer(state: PodState) -> Option<usize> {
    match state {
        PodState::Available => Some(0),
        PodState::Terminating => Some(2),
        PodState::Gone | PodState::Finished => None,
        _ => Some(1),
    }
}

pub(super) fn available_in_document(model: &Model, uid: Uid) -> u32 {
    let document = serde_json::to_value(document::document(&Model::from(Objects::of(model, uid)), None, None)).unwrap();
    let pods = document["deployments"][0]["pods"].as_array().unwrap().iter();
    let counts = pods.filter(|pod| {
        let is_available =
            pod["states"].as_array().and_then(|states| states.last()).is_some_and(|last| last[0] == "available");
        let (out, back) = (pod["releasedMillis"].as_i64(), pod["adoptedMillis"].as_i64());
        is_available && (out.is_none() || back.is_some())
    });
    counts.count() as u32
}
