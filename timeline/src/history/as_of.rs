//! An approximate past model: the present one without anything that began after a moment. Every viewer can compute it from its own copy, so
//! that dragging the time axis updates the picture at once; only sentences need the exact past ([`crate::history::log`]).

use std::sync::Arc;

use crate::model::{Deployment, Pod, ReplicaSet};
use crate::{Millis, Model, Uid};

impl Model {
    /// Returns a Deployment with its objects at that time. Fields of the present (reasons, messages) are empty if their past values may
    /// differ.
    pub fn as_of(&self, deployment: Uid, at_millis: Millis) -> Self {
        let mut then = Self::default();
        if let Some(known) = self.deployments.get(&deployment) {
            then.deployments.insert(deployment, deployment_at(known, at_millis));
        }
        let was_mine = |set: &&ReplicaSet| {
            let is_mine = |(since, owner): &(Millis, Option<Uid>)| *since <= at_millis && *owner == Some(deployment);
            set.owners.first() == Some(&deployment) || set.owner_changes.iter().any(is_mine)
        };
        let there = self.sets_of(deployment).filter(|set| set.first_seen_millis <= at_millis);
        for set in there.filter(was_mine) {
            then.replica_sets.insert(set.uid, set_at(set, at_millis));
        }
        for pod in self.pods_of_deployment(deployment) {
            let is_mine = pod.owners.iter().any(|set| then.replica_sets.get(set).is_some());
            if is_mine && pod.first_seen_millis() <= at_millis {
                then.pods.insert(pod.uid, pod_at(pod, at_millis));
            }
        }
        then.index();
        then
    }
}

fn deployment_at(known: &Deployment, at: Millis) -> Deployment {
    let mut then = known.clone();
    then.deleted_millis = known.deleted_millis.filter(|deleted| *deleted <= at);
    then.rollouts.retain(|rollout| rollout.started_millis.is_none_or(|started| started <= at));
    for rollout in &mut then.rollouts {
        for end in
            [&mut rollout.completed_millis, &mut rollout.superseded_millis, &mut rollout.deadline_exceeded_millis]
        {
            *end = end.filter(|end| *end <= at);
        }
        rollout.is_end_unseen &= !rollout.is_open();
        rollout.was_scaled_to_zero &= !rollout.is_open();
    }
    then.now.revision = then.rollouts.last().map(|rollout| rollout.revision);
    then.gaps.retain(|gap| gap.to_millis <= at);
    then
}

fn set_at(known: &ReplicaSet, at: Millis) -> ReplicaSet {
    let mut then = known.clone();
    then.removed_millis = known.removed_millis.filter(|removed| *removed <= at);
    then.revisions.retain(|(_, since)| since.is_none_or(|since| since <= at));
    then.owner = known.owner_at(at);
    then.owner_changes.retain(|(since, _)| *since <= at);
    then.scales.retain(|scale| scale.at_millis <= at);
    if let Some(next) = known.scales.get(then.scales.len()) {
        then.now.counts.desired = next.from;
    }
    then
}

fn pod_at(known: &Pod, at: Millis) -> Pod {
    let mut then = known.clone();
    then.states.retain(|(_, since)| *since <= at);
    then.releases.retain(|release| release.at_millis <= at);
    if let Some(last) = then.releases.last_mut() {
        last.adopted = last.adopted.filter(|(adopted, _)| *adopted <= at);
    }
    then.owner = match then.releases.last() {
        Some(last) => last.adopted.map(|(_, owner)| owner),
        None => known.owners.first().copied(),
    };
    let is_ending = then.state().is_ending();
    let now = Arc::make_mut(&mut then.now);
    if !is_ending {
        then.end_reason = None;
        now.deletion_at_millis = None;
    }
    now.terminal_millis = known.now.terminal_millis.filter(|ended| *ended <= at);
    if then.states.len() < known.states.len() {
        now.reason.clear();
        now.message.clear();
    }
    then
}
