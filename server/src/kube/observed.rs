//! A fact of a cluster with its arrival, and the knowledge before the first fact.

use timeline::wire::Position;
use timeline::{Change, Fact, History, Millis, Timeline};

/// A fact and its arrival.
#[derive(Debug, Clone)]
pub struct Observed {
    /// Arrival.
    pub at_millis: Millis,
    /// The fact; `None` for a line that only carries a time.
    pub fact: Option<Fact>,
}

impl Observed {
    /// Applies it to a timeline; a line that only carries a time advances the clock.
    pub fn apply(self, timeline: &mut Timeline) -> Vec<Change> {
        match self.fact {
            Some(fact) => timeline.apply(self.at_millis, fact),
            None => timeline.tick(self.at_millis),
        }
    }
}

/// Knowledge of a cluster at the start of a timeline; empty by default.
#[derive(Debug, Default)]
pub struct InitialState {
    /// The timeline that continues.
    pub timeline: Timeline,
    /// Its changes, as far as they are stored.
    pub history: History,
    /// Last position of its earlier life that is certainly part of it.
    pub before: Option<Position>,
    /// First and last observation.
    pub observed: Option<(Millis, Millis)>,
    /// Time since which Rollcast watches; `None` if that does not change.
    pub looking_since_millis: Option<Millis>,
    /// Time of the cluster's last response: later events were not observed.
    pub heard_millis: Option<Millis>,
}

impl InitialState {
    /// Applies an observation to the timeline and its history.
    pub fn observe(&mut self, observed: Observed) {
        let at_millis = observed.at_millis;
        let (first, last) = self.observed.unwrap_or((at_millis, at_millis));
        self.observed = Some((first, last.max(at_millis)));
        self.history.note(at_millis, &observed.apply(&mut self.timeline));
    }
}
