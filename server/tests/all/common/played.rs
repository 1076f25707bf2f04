//! What the timeline is held to: the recordings of a real control plane.

use server::recording::{Observed, Recording};
use timeline::Timeline;

pub fn recordings() -> impl Iterator<Item = (String, Vec<Observed>)> {
    crate::common::recordings().into_iter().map(|(name, text)| (name, Recording::read(&text).observed))
}

/// The timeline that comes of it.
pub fn play(observed: Vec<Observed>) -> Timeline {
    let mut timeline = Timeline::new();
    for observed in observed {
        observed.apply(&mut timeline);
    }
    timeline
}
