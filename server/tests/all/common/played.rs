//! What the timeline is held to: the recordings of a real control plane.

use server::feed::recording::Recording;
use server::kube::Observed;
use timeline::fact::Seen;
use timeline::{Fact, Timeline};

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

/// What a list tells of an object that was observed in another way.
pub fn in_list(fact: &Fact) -> Fact {
    match fact.clone() {
        Fact::Deployment(fact, _) => Fact::Deployment(fact, Seen::InList),
        Fact::ReplicaSet(fact, _) => Fact::ReplicaSet(fact, Seen::InList),
        Fact::Pod(fact, _) => Fact::Pod(fact, Seen::InList),
        other => other,
    }
}
