//! Tracks which workloads are at rest: the time in which one is not is recorded as an episode.

use std::collections::{BTreeMap, BTreeSet};

use timeline::model::Pod;
use timeline::phase::PodState;
use timeline::{Millis, Model, Uid};

/// A workload settles after this time at rest: containers that crash now and then make one episode.
const SETTLE_MILLIS: Millis = 60_000;

/// Returns `true` if all desired pods are available and there are no others, pods out of rotation left out.
pub fn is_at_rest(model: &Model, workload: Uid) -> bool {
    let Some(deployment) = model.deployments.get(&workload) else { return true };
    let is_counted = |pod: &&Pod| pod.state() != PodState::Gone && !pod.is_out_of_rotation() && !pod.is_leftover();
    let mut pods = model.pods_of_deployment(workload).into_iter().filter(is_counted);
    if deployment.is_over() {
        return pods.next().is_none();
    }
    let is_rolling_out = deployment.rollouts.last().is_some_and(timeline::model::Rollout::is_open);
    let (mut count, mut is_available) = (0, true);
    for pod in pods {
        count += 1;
        is_available &= pod.state() == PodState::Available;
    }
    !is_rolling_out && is_available && count == deployment.now.spec.replicas
}

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
    pub fn update(&mut self, model: &Model, changed: &BTreeSet<Uid>, now_millis: Millis) -> ActivityChanges {
        for uid in changed {
            self.0.entry(*uid).or_insert(Activity::Unknown);
        }
        let mut changes = ActivityChanges::default();
        self.0.retain(|uid, activity| {
            match (is_at_rest(model, *uid), *activity) {
                (false, Activity::Active) => {}
                (false, _) => {
                    changes.active.push(*uid);
                    *activity = Activity::Active;
                }
                (true, Activity::AtRest { since_millis }) if now_millis - since_millis >= SETTLE_MILLIS => {
                    changes.settled.push(*uid);
                    return false;
                }
                (true, Activity::AtRest { .. }) => {}
                (true, _) => *activity = Activity::AtRest { since_millis: now_millis },
            }
            true
        });
        changes
    }

    /// Makes the next update return these changes again.
    pub fn undo(&mut self, ActivityChanges { active, settled }: ActivityChanges) {
        self.0.extend(active.into_iter().map(|uid| (uid, Activity::Unknown)));
        self.0.extend(settled.into_iter().map(|uid| (uid, Activity::AtRest { since_millis: Millis::MIN / 2 })));
    }
}
