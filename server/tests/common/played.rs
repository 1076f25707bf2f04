//! What the timeline is held to: the recordings of a real control plane, and simulated clusters.

use server::recording::{Observed, Recording};
use timeline::Timeline;

/// Simulated clusters that are looked at.
const SIMULATED: u64 = 40;

pub fn recordings() -> impl Iterator<Item = (String, Vec<Observed>)> {
    crate::common::recordings().into_iter().map(|(name, text)| (name, Recording::read(&text).observed))
}

pub fn simulated() -> impl Iterator<Item = (String, Vec<Observed>)> {
    (0..SIMULATED).map(|seed| {
        let text = crate::simulated::recording(seed, 20);
        (format!("seed {seed}"), Recording::read(&text).observed)
    })
}

/// The timeline that comes of it.
pub fn play(observed: Vec<Observed>) -> Timeline {
    let mut timeline = Timeline::new();
    for Observed { at_millis, fact } in observed {
        match fact {
            Some(fact) => timeline.apply(at_millis, fact),
            None => timeline.tick(at_millis),
        };
    }
    timeline
}
