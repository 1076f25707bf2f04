//! Everything that people do to a Deployment, at random, on a simulated cluster: images of all kinds, scale, undo, restart, pause, pods
//! and ReplicaSets deleted, labels, quota, nodes, other strategies, the Deployment deleted with each propagation and made again.

use fastrand::Rng;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use simcluster::action::{Action, Choice, edit};
use simcluster::world::{DeleteOptions, Propagation};
use simcluster::{Key, Object, Resource, World, Write, story};

const FATES: [&str; 12] =
    ["", "", "", "outofcpu", "slow", "never", "missing", "badconfig", "crash", "oom", "flap", "linger"];

/// Does something.
pub fn act(world: &mut World, of: &Key, rng: &mut Rng) {
    let Some(choice) = Choice::of(world, of) else {
        // Deleted: made again, sometimes with the same template, so that it takes over what is left.
        let made = story::manifest(&of.namespace, &of.name, rng.i32(1..=8));
        let _ = world.create(Object::read(Resource::Deployment, made).unwrap()); // while the old one is there it is refused
        return;
    };
    let pod = (!choice.pods.is_empty()).then(|| choice.pods[rng.usize(..choice.pods.len())].clone());
    let node = format!("node-{}", rng.u8(1..=4));
    let action = match rng.u8(..36) {
        0..=6 => Some(Action::Image(choice.next_image(FATES[rng.usize(..FATES.len())]))),
        7..=9 => Some(Action::Scale(rng.i32(0..=14))),
        10 | 11 => Some(Action::Undo(None)),
        12 => {
            let revisions = &choice.revisions;
            (!revisions.is_empty()).then(|| Action::Undo(Some(revisions[rng.usize(..revisions.len())])))
        }
        13 => Some(Action::Restart),
        14 | 15 if choice.is_paused => Some(Action::Resume),
        14 => Some(Action::Pause),
        15..=17 => pod.map(Action::KillPod),
        18 => pod.map(Action::Unlabel),
        19 => choice.out_of_rotation.first().cloned().map(Action::Label),
        20 | 21 => choice.newest.clone().map(Action::DeleteReplicaSet),
        22 => Some(Action::Quota(if choice.quota < 50 { 100 } else { choice.counted.max(1) })),
        23 if !choice.lost.is_empty() => Some(Action::AddNode(choice.lost[0].clone())),
        23 => Some(Action::LoseNode(node)),
        24 if !choice.drained.is_empty() => Some(Action::Uncordon(choice.drained[0].clone())),
        24 => Some(Action::Drain(node)),
        25..=28 => return strategy(world, of, rng),
        29 => return minimum(world, of, rng),
        30 => return history(world, of, rng),
        31 | 32 => return evict(world, of, &choice, rng),
        33 | 34 => return hand_over(world, of, &choice, rng),
        _ => {
            let propagation = [Propagation::Background, Propagation::Foreground, Propagation::Orphan][rng.usize(..3)];
            let options = DeleteOptions { propagation, ..DeleteOptions::default() };
            let _ = world.delete(Resource::Deployment, of, &options); // it may be on its way out already
            return;
        }
    };
    // What makes no sense now is refused, as kubectl would.
    let _ = action.map(|action| action.perform(world, of));
}

fn change(world: &mut World, of: &Key, alter: impl FnOnce(&mut Deployment)) {
    let _ = edit(world, of, alter); // it may be on its way out
}

fn strategy(world: &mut World, of: &Key, rng: &mut Rng) {
    let rolling = |surge: Value, unavailable: Value| json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable } });
    let strategy = match rng.u8(..7) {
        0 => rolling(json!(1), json!(0)),
        1 => rolling(json!("25%"), json!("25%")),
        2 => rolling(json!(0), json!(1)),
        3 => rolling(json!(3), json!(2)),
        4 => rolling(json!("100%"), json!(0)),
        5 => rolling(json!(0), json!("50%")),
        _ => json!({ "type": "Recreate" }),
    };
    change(world, of, |deployment| {
        deployment.spec.as_mut().unwrap().strategy = Some(serde_json::from_value(strategy).unwrap());
    });
}

/// A node runs out of memory, or somebody cleans up what that left.
fn evict(world: &mut World, of: &Key, choice: &Choice, rng: &mut Rng) {
    let pods = world.store().all::<Pod>(Some(&of.namespace));
    let is_failed = |pod: &&Pod| pod.status.as_ref().and_then(|status| status.phase.as_deref()) == Some("Failed");
    let failed: Vec<String> = pods.filter(is_failed).filter_map(|pod| pod.metadata.name.clone()).collect();
    if rng.bool() && !failed.is_empty() {
        let key = Key::new(&of.namespace, &failed[rng.usize(..failed.len())]);
        let _ = world.delete(Resource::Pod, &key, &DeleteOptions::default());
    } else if let Some(pod) = choice.pods.get(rng.usize(..choice.pods.len().max(1))) {
        let key = Key::new(&of.namespace, pod);
        if world.get::<Pod>(&key).is_some_and(|pod| pod.spec.is_some_and(|spec| spec.node_name.is_some())) {
            simcluster::kubelet::evict(world, &key);
        }
    }
}

/// A ReplicaSet gets labels that no Deployment selects, or those that this one does: it is released, and adopted.
fn hand_over(world: &mut World, of: &Key, choice: &Choice, rng: &mut Rng) {
    let sets = world.store().all::<ReplicaSet>(Some(&of.namespace));
    let is_free = |set: &&ReplicaSet| set.metadata.owner_references.as_ref().is_none_or(Vec::is_empty);
    let free: Vec<String> = sets.filter(is_free).filter_map(|set| set.metadata.name.clone()).collect();
    let (name, label) = match (&choice.newest, free.first()) {
        (_, Some(free)) if rng.bool() => (free.clone(), Some("web")),
        (Some(newest), _) => (newest.clone(), None),
        _ => return,
    };
    let Some(mut set) = world.get::<ReplicaSet>(&Key::new(&of.namespace, &name)) else { return };
    let labels = set.metadata.labels.get_or_insert_default();
    match label {
        Some(label) => drop(labels.insert("app".to_owned(), label.to_owned())),
        None => drop(labels.remove("app")),
    }
    let _ = world.update(Object::ReplicaSet(Box::new(set)), Write::Spec); // it may be on its way out
}

fn minimum(world: &mut World, of: &Key, rng: &mut Rng) {
    let seconds = rng.i32(0..=4);
    change(world, of, |deployment| deployment.spec.as_mut().unwrap().min_ready_seconds = Some(seconds));
}

fn history(world: &mut World, of: &Key, rng: &mut Rng) {
    let limit = rng.i32(0..=3);
    change(world, of, |deployment| deployment.spec.as_mut().unwrap().revision_history_limit = Some(limit));
}
