//! Which workloads are at rest: what they do otherwise is recorded as an episode.

use std::collections::{BTreeMap, BTreeSet};

use timeline::model::Pod;
use timeline::phase::PodState;
use timeline::{Millis, Model, Uid};

/// A workload is at rest again once it has been so for this long: what crashes now and then makes no episode each time.
const SETTLE_MILLIS: Millis = 60_000;

/// Everything that was asked for exists and is available, and nothing else is there, pods out of rotation left out.
#[must_use]
pub fn is_at_rest(model: &Model, workload: Uid) -> bool {
    let Some(deployment) = model.deployments.get(&workload) else { return true };
    let is_there = |pod: &&Pod| pod.state() != PodState::Gone && !pod.is_out_of_rotation() && !pod.is_leftover();
    let pods = model.pods_of_deployment(workload);
    let mut there = pods.into_iter().filter(is_there);
    if deployment.is_over() {
        return there.next().is_none();
    }
    let is_rolling_out = deployment.rollouts.last().is_some_and(timeline::model::Rollout::is_open);
    let (mut count, mut is_available) = (0, true);
    for pod in there {
        count += 1;
        is_available &= pod.state() == PodState::Available;
    }
    !is_rolling_out && is_available && count == deployment.now.spec.replicas
}

/// How the workloads of one cluster stand that something was heard of.
#[derive(Debug, Default)]
pub struct Activity(BTreeMap<Uid, Standing>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Unknown,
    Active,
    AtRest { since_millis: Millis },
}

/// What is to be told of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Turns {
    /// They are not at rest.
    pub active: Vec<Uid>,
    /// They are at rest again.
    pub settled: Vec<Uid>,
}

impl Activity {
    /// Looks after those that something was heard of, now or lately.
    pub fn turns(&mut self, model: &Model, heard: &BTreeSet<Uid>, now_millis: Millis) -> Turns {
        for uid in heard {
            self.0.entry(*uid).or_insert(Standing::Unknown);
        }
        let mut turns = Turns::default();
        self.0.retain(|uid, standing| {
            match (is_at_rest(model, *uid), *standing) {
                (false, Standing::Active) => {}
                (false, _) => {
                    turns.active.push(*uid);
                    *standing = Standing::Active;
                }
                (true, Standing::AtRest { since_millis }) if now_millis - since_millis >= SETTLE_MILLIS => {
                    turns.settled.push(*uid);
                    return false;
                }
                (true, Standing::AtRest { .. }) => {}
                (true, _) => *standing = Standing::AtRest { since_millis: now_millis },
            }
            true
        });
        turns
    }

    /// These could not be told.
    pub fn again(&mut self, Turns { active, settled }: Turns) {
        self.0.extend(active.into_iter().map(|uid| (uid, Standing::Unknown)));
        self.0.extend(settled.into_iter().map(|uid| (uid, Standing::AtRest { since_millis: Millis::MIN / 2 })));
    }
}
