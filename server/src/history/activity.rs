//! Tracks which workloads are at rest. The time in which a workload is not at rest is recorded as an episode.

use std::collections::{BTreeMap, BTreeSet};

use timeline::assess::rest::{SETTLE_MILLIS, is_at_rest};
use timeline::view::Now;
use timeline::{Millis, Model, Uid};

/// Largest number of workloads that settle in one update: the writer creates a recording of each before it writes anything else.
const MOST_SETTLED: usize = 64;

/// Activity of recently changed workloads of one cluster.
#[derive(Debug, Default)]
pub struct ActivityTracker(BTreeMap<Uid, Activity>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    Unknown,
    Active,
    AtRest { since_millis: Millis },
}

/// Workloads whose activity changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ActivityChanges {
    /// Workloads that are not at rest.
    pub active: Vec<Uid>,
    /// Workloads that settled.
    pub settled: Vec<Uid>,
}

impl ActivityTracker {
    /// Updates the activity of workloads that changed now or recently.
    pub fn update(&mut self, model: &Model, changed: &BTreeSet<Uid>, now: Now) -> ActivityChanges {
        for uid in changed {
            self.0.entry(*uid).or_insert(Activity::Unknown);
        }
        let (mut changes, now_millis) = (ActivityChanges::default(), now.millis);
        self.0.retain(|uid, activity| {
            match (is_at_rest(model, *uid, now), *activity) {
                (false, Activity::Active) => {}
                (false, _) => {
                    changes.active.push(*uid);
                    *activity = Activity::Active;
                }
                (true, Activity::AtRest { since_millis })
                    if now_millis - since_millis >= SETTLE_MILLIS && changes.settled.len() < MOST_SETTLED =>
                {
                    changes.settled.push(*uid);
                    return false;
                }
                // The clock may have been set back.
                (true, Activity::AtRest { since_millis }) if since_millis <= now_millis => {}
                (true, _) => *activity = Activity::AtRest { since_millis: now_millis },
            }
            true
        });
        changes
    }

    /// Returns `true` if a workload was not at rest at the last update.
    pub fn is_active(&self, workload: Uid) -> bool {
        self.0.get(&workload) == Some(&Activity::Active)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of settling workloads in the updates at these times; `count` workloads at rest change before the first one.
    fn settled(count: u128, times: &[Millis]) -> Vec<usize> {
        let (mut tracker, model, mut changed) = (ActivityTracker::default(), Model::default(), BTreeSet::new());
        changed.extend((1..=count).map(Uid::from_bits));
        let update = |now_millis: &Millis| {
            tracker.update(&model, &std::mem::take(&mut changed), Now { millis: *now_millis, skew_millis: 0 })
        };
        times.iter().map(update).map(|changes| changes.settled.len()).collect()
    }

    #[test]
    fn a_clock_that_is_set_back_keeps_no_workload_from_settling() {
        assert_eq!(settled(1, &[9_000_000, 1_000_000, 1_059_999, 1_060_000, 9_060_000]), [0, 0, 0, 1, 0]);
    }

    #[test]
    fn very_many_workloads_settle_one_part_after_the_other() {
        assert_eq!(settled(150, &[0, 60_000, 62_000, 64_000, 66_000]), [0, 64, 64, 22, 0]);
    }
}
