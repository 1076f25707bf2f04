//! Everything that people do to a Deployment, at random, on a simulated cluster: images of all kinds, scale, undo, restart, pause, pods
//! and ReplicaSets deleted, labels, quota, nodes, other strategies, the Deployment deleted with each propagation and made again.

use fastrand::Rng;
use k8s_openapi::api::apps::v1::Deployment;
use serde_json::{Value, json};
use simcluster::action::{Action, Choice, edit};
use simcluster::world::{DeleteOptions, Propagation};
use simcluster::{Key, Object, Resource, World, story};

const FATES: [&str; 11] = ["", "", "", "slow", "never", "missing", "badconfig", "crash", "oom", "flap", "linger"];

/// Does something.
pub fn act(world: &mut World, of: &Key, rng: &mut Rng) {
    let Some(choice) = Choice::of(world, of) else {
        // Deleted: made again, sometimes with the same template, so that it takes over what is left.
        let made = story::manifest(&of.namespace, &of.name, rng.i32(1..=8));
        let _ = world.create(Object::read(Resource::Deployment, made).unwrap(), false); // while the old one is there it is refused
        return;
    };
    let pod = (!choice.pods.is_empty()).then(|| choice.pods[rng.usize(..choice.pods.len())].clone());
    let node = format!("node-{}", rng.u8(1..=4));
    let action = match rng.u8(..32) {
        0..=6 => Some(Action::Image(choice.next_image(FATES[rng.usize(..FATES.len())]))),
        7..=9 => Some(Action::Scale(rng.i32(0..=14))),
        10 | 11 => Some(Action::Undo(None)),
        12 => {
            let revisions = &choice.revisions;
            (!revisions.is_empty()).then(|| Action::Undo(Some(revisions[rng.usize(..revisions.len())])))
        }
        13 => Some(Action::Restart(world.now_millis().to_string())),
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

fn minimum(world: &mut World, of: &Key, rng: &mut Rng) {
    let seconds = rng.i32(0..=4);
    change(world, of, |deployment| deployment.spec.as_mut().unwrap().min_ready_seconds = Some(seconds));
}

fn history(world: &mut World, of: &Key, rng: &mut Rng) {
    let limit = rng.i32(0..=3);
    change(world, of, |deployment| deployment.spec.as_mut().unwrap().revision_history_limit = Some(limit));
}
