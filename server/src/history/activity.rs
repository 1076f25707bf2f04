//! Tracks which workloads are at rest: the time in which one is not is recorded as an episode.

use std::collections::{BTreeMap, BTreeSet};

use timeline::assess::rest::{SETTLE_MILLIS, is_at_rest};
use timeline::view::Now;
use timeline::{Millis, Model, Uid};

/// Most workloads that settle in one update: the writer makes a recording of each before it writes anything else.
const MOST_SETTLED: usize = 64;

/// The activity of recently changed workloads of one cluster.
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
    /// Checks the workloads that changed, now or lately.
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
    use serde_json::{Value, json};
    use timeline::Timeline;
    use timeline::fact::Kind;

    use super::*;
    use crate::kube::translate::fixtures::{object, one_replica, ready_pod, tell, uid};

    fn at(millis: Millis) -> Now {
        Now { millis, skew_millis: 0 }
    }

    /// Returns the numbers of workloads that settle, of workloads at rest that change at the first time.
    fn settled(count: u128, times: &[Millis]) -> Vec<usize> {
        let (mut tracker, model, mut changed) = (ActivityTracker::default(), Model::default(), BTreeSet::new());
        changed.extend((1..=count).map(Uid::from_bits));
        let update = |now_millis: &Millis| tracker.update(&model, &std::mem::take(&mut changed), at(*now_millis));
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

    #[test]
    fn a_workload_is_not_at_rest_while_its_replica_set_is_refused() {
        let rests = |conditions: &Value| {
            let none = json!({ "spec": { "replicas": 0 }, "status": { "conditions": conditions } });
            let mut timeline = Timeline::new();
            tell(&mut timeline, 1_000, Kind::Deployment, &object(1, None, &none));
            is_at_rest(timeline.model(), uid(1).parse().unwrap(), at(1_000))
        };
        assert!(rests(&json!([])));
        let refused = json!({ "type": "Progressing", "status": "False", "reason": "ReplicaSetCreateError" });
        assert!(!rests(&json!([refused])));
    }

    /// A liveness probe that fails again and again: the pod is ready from one end to the next.
    #[test]
    fn a_workload_is_not_at_rest_while_a_container_that_ends_again_and_again_has_not_recovered() {
        let rests = |restarts: u32, millis: Millis| {
            let mut timeline = Timeline::new();
            tell(&mut timeline, 1_000, Kind::Deployment, &object(1, None, &one_replica()));
            tell(&mut timeline, 1_000, Kind::ReplicaSet, &object(2, Some(("Deployment", 1)), &one_replica()));
            let pod = ready_pod(&json!({
                "name": "web",
                "restartCount": restarts,
                "state": { "running": { "startedAt": "1970-01-01T00:00:01Z" } },
                "lastState": { "terminated": { "exitCode": 137, "reason": "Error" } },
            }));
            tell(&mut timeline, 1_000, Kind::Pod, &object(3, Some(("ReplicaSet", 2)), &pod));
            is_at_rest(timeline.model(), uid(1).parse().unwrap(), at(millis))
        };
        assert_eq!([rests(1, 2_000), rests(2, 2_000), rests(2, 60_999), rests(2, 61_000)], [true, false, false, true]);
        // Its back-off is longer with each end, up to five minutes.
        assert_eq!([rests(5, 80_999), rests(5, 81_000)], [false, true]);
        assert_eq!([rests(7, 300_999), rests(7, 301_000), rests(9, 301_000)], [false, true, true]);
    }

    #[test]
    fn a_workload_is_at_rest_beside_pods_that_it_let_go() {
        let mut timeline = Timeline::new();
        let one = one_replica();
        let ready = ready_pod(&json!({ "name": "web", "state": { "running": {} } }));
        tell(&mut timeline, 1_000, Kind::Deployment, &object(1, None, &one));
        for (set, pod) in [(2, 3), (4, 5)] {
            tell(&mut timeline, 1_000, Kind::ReplicaSet, &object(set, Some(("Deployment", 1)), &one));
            tell(&mut timeline, 1_000, Kind::Pod, &object(pod, Some(("ReplicaSet", set)), &ready));
        }
        tell(&mut timeline, 1_000, Kind::ReplicaSet, &object(2, None, &one));
        let workload = uid(1).parse().unwrap();
        assert_eq!(timeline.model().pods_of_deployment(workload).len(), 2);
        assert!(is_at_rest(timeline.model(), workload, at(2_000)));
        // An evicted pod whose containers ended with exit code 0.
        let evicted = json!({ "spec": ready["spec"], "status": { "phase": "Succeeded" } });
        tell(&mut timeline, 2_000, Kind::Pod, &object(6, Some(("ReplicaSet", 4)), &evicted));
        assert_eq!(timeline.model().pods_of_deployment(workload).len(), 3);
        assert!(is_at_rest(timeline.model(), workload, at(2_000)));
        // One pod more than desired, until its ReplicaSet lets it go.
        for (millis, owner, rests) in [(3_000, Some(("ReplicaSet", 4)), false), (4_000, None, true)] {
            tell(&mut timeline, millis, Kind::Pod, &object(7, owner, &ready));
            assert_eq!(is_at_rest(timeline.model(), workload, at(millis)), rests, "{owner:?}");
        }
    }
}
