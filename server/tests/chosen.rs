//! Which pods a ReplicaSet lets go of is explained by the order of Kubernetes: on the real control plane, whose recordings these are,
//! and on the simulated one. Nothing that is told may contradict what happened.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends where its assumptions do"
)]

mod common;
#[path = "common/played.rs"]
mod played;
#[path = "common/simulated.rs"]
mod simulated;

use std::collections::BTreeMap;

use server::recording::Observed;
use timeline::chosen::{self, Pair};

#[test]
fn pods_that_go_are_those_that_have_to_on_a_real_control_plane() {
    hold_to_the_order(played::recordings());
}

#[test]
fn pods_that_go_are_those_that_have_to_on_the_simulated_one() {
    hold_to_the_order(played::simulated());
}

fn hold_to_the_order(played: impl Iterator<Item = (String, Vec<Observed>)>) {
    let (mut told, mut unclear, mut pods, mut by) = (0, 0, 0, BTreeMap::<String, u32>::new());
    for (name, observed) in played {
        let timeline = played::play(observed);
        for pod in timeline.model().pods.values() {
            pods += u32::from(chosen::criteria(timeline.model(), pod, timeline.skew_millis()).is_some());
            for pair in chosen::pairs(timeline.model(), pod, timeline.skew_millis()) {
                assert_ne!(pair, Pair::After, "{name}: {} went: {:?}", pod.name, pod.states);
                match pair {
                    Pair::Before(criterion) => {
                        *by.entry(format!("{criterion:?}")).or_default() += 1;
                        told += 1;
                    }
                    _ => unclear += 1,
                }
            }
        }
    }
    println!("{pods} pods, {told} pairs explained, {unclear} unclear: {by:?}");
    assert!(told > unclear, "{told} of {}", told + unclear);
}
