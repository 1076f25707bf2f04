//! Retention: finished pods, old rollouts and deleted Deployments are pruned after a while.
//!
//! For each Deployment there is one cut in time; what ended before it is pruned, what lives or ended later is not
//! touched. The cut follows from age and counts, but never comes closer to now than [`Retention::screen_millis`].

use std::collections::BTreeSet;

use super::Timeline;
use crate::model::change::{Pruned, prunable_releases, prunable_states};
use crate::model::{Deployment, Pod, ReplicaSet, order};
use crate::{Change, Millis, Model, Uid};

/// The limits of the history. Counts are per Deployment, where nothing else is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// History that ended longer ago is pruned.
    pub age_millis: Millis,
    /// Most pods that are gone.
    pub gone_pods: usize,
    /// Most pods that are gone, in all. Of more, each Deployment keeps an equal share, and what others leave of theirs.
    pub gone_pods_in_all: usize,
    /// Most rollouts.
    pub rollouts: usize,
    /// Most scale steps and marks together, most verdicts, most entries of the story, and most states and releases of one pod.
    pub steps: usize,
    /// Most Deployments that are deleted, in all.
    pub deleted: usize,
    /// History that is younger is kept whatever the counts say: pages may show it.
    pub screen_millis: Millis,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            age_millis: 24 * 3_600_000,
            gone_pods: 1_000,
            gone_pods_in_all: 100_000,
            rollouts: 50,
            steps: 2_000,
            deleted: 200,
            screen_millis: 15 * 60_000,
        }
    }
}

impl Retention {
    /// Where history is cut, if its counts alone would cut it at `counted`.
    fn cut_millis(&self, now_millis: Millis, counted: Option<Millis>) -> Millis {
        let aged = now_millis.saturating_sub(self.age_millis);
        counted.map_or(aged, |counted| counted.max(aged)).min(now_millis.saturating_sub(self.screen_millis))
    }
}

impl Timeline {
    /// Prunes what `retention` does not keep at `now_millis`. Deployments that are on somebody's screen stay.
    pub fn prune(&mut self, now_millis: Millis, retention: &Retention, on_screen: &BTreeSet<Uid>) -> Vec<Change> {
        self.prune_deleted(now_millis, retention, on_screen);
        let retention = &Retention { gone_pods: self.most_gone_pods(retention), ..*retention };
        let cut = |known: &Deployment| Some((known.uid, self.cut(known, now_millis, retention)?));
        for (uid, before) in self.model.deployments.values().filter_map(cut).collect::<Vec<_>>() {
            self.emit(Change::Pruned(Some(uid), Box::new(Pruned::before(&self.model, uid, before))));
        }
        self.prune_unowned(now_millis, retention);
        let model = &self.model;
        self.orders.keep(|uid| model.replica_sets.contains_key(uid) || model.deployments.contains_key(uid));
        std::mem::take(&mut self.changes)
    }

    /// Returns the most pods that are gone of each Deployment. Those of none count as those of one. Deployments with few leave
    /// the rest of their share to the others.
    fn most_gone_pods(&self, retention: &Retention) -> usize {
        let is_gone = |pod: &&Pod| pod.gone_millis().is_some();
        let mut left = retention.gone_pods_in_all;
        if self.model.pods.values().filter(is_gone).count() <= left {
            return retention.gone_pods;
        }
        let is_unowned = |pod: &&Pod| !self.is_of_deployment(pod);
        let unowned = self.model.pods.values().filter(is_gone).filter(is_unowned).count();
        let pods_of = |uid: &Uid| self.model.pods_of_deployment(*uid).into_iter().filter(is_gone).count();
        let mut counts: Vec<usize> = self.model.deployments.keys().map(pods_of).chain([unowned]).collect();
        counts.sort_unstable();
        for (index, count) in counts.iter().enumerate() {
            let share = left / (counts.len() - index);
            if *count > share {
                return retention.gone_pods.min(share);
            }
            left -= count;
        }
        retention.gone_pods
    }

    /// Where history is cut, when there is something before that.
    fn cut(&self, deployment: &Deployment, now_millis: Millis, retention: &Retention) -> Option<Millis> {
        let pods = self.model.pods_of_deployment(deployment.uid);
        let of_pod = |pod: &&Pod| {
            let states = nth_last(pod.states.iter().map(|(_, at)| *at), retention.steps);
            states.max(nth_last(pod.releases.iter().map(|one| one.at_millis), retention.steps))
        };
        let scales = self.model.sets_of(deployment.uid).flat_map(|set| set.scales.iter().map(|scale| scale.at_millis));
        let rollouts = deployment.rollouts.iter().map(|r| r.started_millis.unwrap_or(deployment.first_seen_millis));
        let counted = [
            nth_last(pods.iter().filter_map(|pod| pod.gone_millis()), retention.gone_pods),
            nth_last(rollouts, retention.rollouts),
            nth_last(scales.chain(deployment.marks.iter().map(|mark| mark.at_millis)), retention.steps),
            nth_last(deployment.verdicts.iter().map(|(at, _)| *at), retention.steps),
            nth_last(deployment.story.iter().map(|entry| entry.at_millis), retention.steps),
            pods.iter().filter_map(of_pod).max(),
        ];
        let before = retention.cut_millis(now_millis, counted.into_iter().flatten().max());
        self.is_anything_before(deployment, &pods, before).then_some(before)
    }

    fn is_anything_before(&self, deployment: &Deployment, pods: &[&Pod], before: Millis) -> bool {
        let is_old = |at: Millis| at < before;
        pods.iter().any(|pod| pod.gone_millis().is_some_and(is_old) || prunable_states(pod, before) > 0)
            || pods.iter().any(|pod| prunable_releases(pod, before) > 0)
            || deployment.rollouts.get(1).is_some_and(|next| next.started_millis.is_some_and(|at| at <= before))
            || deployment.verdicts.get(1).is_some_and(|(at, _)| is_old(*at))
            || deployment.marks.iter().any(|mark| is_old(mark.at_millis))
            || deployment.story.iter().any(|entry| is_old(entry.at_millis))
            || deployment.limits.get(1).is_some_and(|(at, _)| is_old(*at))
            || deployment.gaps.iter().any(|gap| is_old(gap.to_millis))
            || deployment.events.iter().any(|event| is_old(event.at_millis))
            || self.model.sets_of(deployment.uid).any(|set| set.scales.iter().any(|scale| is_old(scale.at_millis)))
    }

    /// Deleted Deployments go when they are old or too many, and with them what belongs to no other.
    fn prune_deleted(&mut self, now_millis: Millis, retention: &Retention, on_screen: &BTreeSet<Uid>) {
        let deployments = self.model.deployments.values();
        let deleted = deployments.filter(|d| d.deleted_millis.is_some() && !on_screen.contains(&d.uid));
        let over = deleted.filter_map(|d| Some((self.over_since(d)?, d.uid))).collect();
        let deleted: Vec<(Millis, Uid)> = order::sort_by(over, |(at, uid)| (*at, uid.bits()));
        let surplus = deleted.len().saturating_sub(retention.deleted);
        for (index, (at, uid)) in deleted.into_iter().enumerate() {
            let age = now_millis.saturating_sub(at);
            if age <= retention.screen_millis || (index >= surplus && age <= retention.age_millis) {
                continue;
            }
            let is_over = |set: &&ReplicaSet| {
                set.owners == [uid]
                    && set.removed_millis.is_some()
                    && self.model.pods_of(set.uid).all(|pod| pod.gone_millis().is_some() && pod.owners == [set.uid])
            };
            let sets: Vec<Uid> = self.model.sets_of(uid).filter(is_over).map(|set| set.uid).collect();
            let pods = sets.iter().flat_map(|set| self.model.pods_of(*set)).map(|pod| pod.uid).collect();
            self.emit(Change::Pruned(Some(uid), Box::new(Pruned { before_millis: None, pods, sets })));
        }
    }

    /// Since when nothing of a deleted Deployment exists any more; `None` while something does.
    fn over_since(&self, deployment: &Deployment) -> Option<Millis> {
        let gone = self.model.linked_pods(deployment.uid).map(Pod::gone_millis).collect::<Option<Vec<Millis>>>()?;
        Some(gone.into_iter().chain(deployment.deleted_millis).max().unwrap_or(deployment.first_seen_millis))
    }

    /// Pods and ReplicaSets that belong to no Deployment, other controllers' and those of pruned Deployments: all together as many as of
    /// one.
    fn prune_unowned(&mut self, now_millis: Millis, retention: &Retention) {
        let gone_pod = |pod: &Pod| pod.gone_millis().filter(|_| !self.is_of_deployment(pod));
        let gone_set = |set: &ReplicaSet| set.removed_millis.filter(|_| !self.has_deployment(&set.uid));
        let gone = self.model.pods.values().filter_map(gone_pod);
        let gone = gone.chain(self.model.replica_sets.values().filter_map(gone_set));
        let before = retention.cut_millis(now_millis, nth_last(gone, retention.gone_pods));
        let is_over = |pod: &Pod| gone_pod(pod).is_some_and(|at| at < before);
        let pods = self.model.pods.values().filter(|pod| is_over(pod)).map(|pod| pod.uid).collect();
        let is_empty =
            |set: &&ReplicaSet| gone_set(set).is_some_and(|at| at < before) && self.model.pods_of(set.uid).all(is_over);
        let sets = self.model.replica_sets.values().filter(is_empty).map(|set| set.uid).collect();
        self.forget(pods, sets);
    }

    /// Returns whether a Deployment controls or controlled a ReplicaSet of the pod.
    fn is_of_deployment(&self, pod: &Pod) -> bool {
        pod.owners.iter().any(|set| self.has_deployment(set))
    }

    /// Returns whether a Deployment controls or controlled the ReplicaSet.
    fn has_deployment(&self, set: &Uid) -> bool {
        let set = self.model.replica_sets.get(set);
        set.is_some_and(|set| set.owners.iter().any(|owner| self.model.deployments.contains_key(owner)))
    }

    /// Takes out pods and ReplicaSets that belong to no Deployment.
    pub(super) fn forget(&mut self, pods: Vec<Uid>, sets: Vec<Uid>) {
        if !pods.is_empty() || !sets.is_empty() {
            self.emit(Change::Pruned(None, Box::new(Pruned { before_millis: None, pods, sets })));
        }
    }
}

impl Pruned {
    /// Collects the history before a cut of a Deployment.
    pub fn before(model: &Model, deployment: Uid, before: Millis) -> Self {
        let is_over = |pod: &Pod| pod.gone_millis().is_some_and(|at| at < before);
        let pods = model.pods_of_deployment(deployment).into_iter().filter(|pod| is_over(pod));
        let rollouts = model.deployments.get(&deployment).map(|known| known.rollouts.as_slice()).unwrap_or_default();
        let over = rollouts.iter().skip(1).take_while(|r| r.started_millis.is_some_and(|at| at <= before));
        let first_kept = rollouts.get(over.count()).map_or(0, |rollout| rollout.revision);
        let is_old = |set: &&ReplicaSet| {
            set.removed_millis.is_some_and(|at| at < before)
                && set.revisions.iter().all(|(revision, _)| *revision < first_kept)
                && model.pods_of(set.uid).all(is_over)
        };
        let sets = model.sets_of(deployment).filter(is_old).map(|set| set.uid).collect();
        Self { before_millis: Some(before), pods: pods.map(|pod| pod.uid).collect(), sets }
    }
}

/// The n-th last of times, when there are more than n.
fn nth_last(times: impl Iterator<Item = Millis>, n: usize) -> Option<Millis> {
    // Most pods have few states and releases.
    if times.size_hint().1.is_some_and(|most| most <= n) {
        return None;
    }
    let mut times: Vec<Millis> = times.collect();
    times.sort_unstable();
    if times.len() > n { times.into_iter().rev().nth(n.saturating_sub(1)) } else { None }
}
