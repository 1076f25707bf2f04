//! A fact of a cluster with the time at which it arrived.

use timeline::{Change, Fact, Millis, Timeline};

/// A fact and when it arrived.
#[derive(Debug, Clone)]
pub struct Observed {
    /// Arrival.
    pub at_millis: Millis,
    /// What; `None` for a line that only tells the time.
    pub fact: Option<Fact>,
}

impl Observed {
    /// Tells a timeline of it; a line that only tells the time lets that pass.
    pub fn apply(self, timeline: &mut Timeline) -> Vec<Change> {
        match self.fact {
            Some(fact) => timeline.apply(self.at_millis, fact),
            None => timeline.tick(self.at_millis),
        }
    }
}
