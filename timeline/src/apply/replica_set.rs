//! Derives changes from facts of a ReplicaSet: owner, revision, scale steps, removal.

use super::Timeline;
use super::pending::UnsettledRemoval;
use crate::model::fact::{Kind, ReplicaSetFact, Seen};
use crate::model::{Deployment, RemovedBecause, ReplicaSet, Rollout, Scale, ScaleCause};
use crate::rules::rollout;
use crate::{Change, Millis, Uid};

/// After nobody looked, the kinds are listed again within this time.
const RELISTING_MILLIS: Millis = 60_000;

impl Timeline {
    pub(super) fn replica_set(&mut self, at: Millis, fact: ReplicaSetFact, seen: Seen) {
        let (uid, controller) = (fact.meta.uid, fact.meta.controller);
        let min_ready_seconds = fact.now.min_ready_seconds;
        self.orders.asks(uid, fact.meta.version, fact.now.counts.desired, seen);
        if seen == Seen::Deleted || fact.now.deleting {
            self.orders.leaves(uid, fact.meta.version);
        }
        let knew = self.model.replica_sets.get(&uid).map(|known| known.now.min_ready_seconds);
        if matches!(seen, Seen::InList | Seen::Added) {
            self.take_back_set(uid);
        }
        // Pods are listed again at the same time: until that list is complete, those that went while nobody looked count.
        let is_listed_again = seen == Seen::InList && !self.is_first_list(Kind::ReplicaSet, &fact.meta.namespace);
        match self.model.replica_sets.get(&uid) {
            Some(known) if known.removed_millis.is_some() => return,
            Some(known) => {
                let now = fact.now;
                let (before, owner, revision) = (known.now.clone(), known.owner, known.revision());
                let (desired, desired_replicas) = (now.counts.desired, now.desired_replicas);
                if owner != fact.meta.controller {
                    let is_again = fact.meta.controller.is_some_and(|new| known.owners.contains(&new));
                    self.emit(Change::ReplicaSetOwner(uid, fact.meta.controller, at));
                    self.tell_set_owner(at, uid, owner, is_again);
                }
                if before != now {
                    self.emit(Change::ReplicaSetNow(uid, Box::new(now)));
                }
                let is_new_revision = fact.revision.is_some_and(|new| revision != Some(new));
                if let Some(revision) = fact.revision.filter(|_| is_new_revision) {
                    self.emit(Change::ReplicaSetRevision(uid, revision, Some(at)));
                }
                if let Some(owner) = fact.meta.controller {
                    self.retell_start(at, owner, is_new_revision);
                }
                // One that was made by hand has no number of replicas of a Deployment before its first step.
                let is_scaling = match before.desired_replicas {
                    Some(before) => desired_replicas != Some(before),
                    None => desired_replicas == Some(desired) && self.is_at_rest_with(fact.meta.controller, uid),
                };
                let cause = if is_scaling { ScaleCause::Scaling } else { ScaleCause::Rollout };
                let was_max = (seen != Seen::InList).then_some(before.max_replicas);
                self.note_scale(at, uid, (before.counts.desired, desired), cause, was_max);
            }
            None if seen == Seen::Deleted => return,
            None => self.begin_set(at, fact, seen),
        }
        if knew != Some(min_ready_seconds) {
            self.recount_pods(at, uid, min_ready_seconds);
        }
        if seen == Seen::Deleted {
            self.replica_set_gone(at, uid, true);
        }
        if let Some(deployment) = controller {
            self.begin_rollout(at, deployment);
            if !is_listed_again {
                self.note_peaks(deployment);
            }
        }
    }

    fn begin_set(&mut self, at: Millis, fact: ReplicaSetFact, seen: Seen) {
        let (uid, controller) = (fact.meta.uid, fact.meta.controller);
        self.forget_strangers(uid, &fact.meta.namespace);
        let desired = fact.now.counts.desired;
        let first_list = seen == Seen::InList && self.is_first_list(Kind::ReplicaSet, &fact.meta.namespace);
        let carried_millis = (!first_list).then_some(at);
        self.emit(Change::ReplicaSet(Box::new(ReplicaSet {
            uid,
            namespace: fact.meta.namespace,
            name: fact.meta.name,
            created_at_millis: fact.meta.created_at_millis,
            first_seen_millis: at,
            template_hash: fact.template_hash,
            images: fact.images,
            restarted_at: fact.restarted_at,
            owner: controller,
            owners: controller.into_iter().collect(),
            revisions: fact.revision.into_iter().map(|revision| (revision, carried_millis)).collect(),
            now: fact.now,
            ..ReplicaSet::default()
        })));
        if !first_list {
            self.tell_made_again(at, uid, seen != Seen::InList);
            self.note_scale(at, uid, (0, desired), ScaleCause::Rollout, (seen != Seen::InList).then_some(None));
        }
        if let Some(owner) = controller {
            self.retell_start(at, owner, true);
        }
    }

    /// Its Deployment rolls nothing out, and asks no other ReplicaSet for pods.
    fn is_at_rest_with(&self, owner: Option<Uid>, set: Uid) -> bool {
        let Some(deployment) = owner.and_then(|owner| self.model.deployments.get(&owner)) else { return false };
        let mut others = self.model.owned_sets(deployment.uid).filter(|other| other.uid != set);
        deployment.rollouts.last().is_some_and(|last| !last.is_open())
            && others.all(|other| other.now.counts.desired == 0)
    }

    /// `was_max` is what the ReplicaSet said of the ceiling before, when somebody looked as it changed.
    fn note_scale(
        &mut self,
        at: Millis,
        uid: Uid,
        (from, to): (u32, u32),
        cause: ScaleCause,
        was_max: Option<Option<u32>>,
    ) {
        let owner = self.model.replica_sets.get(&uid).and_then(|set| set.owner);
        if let Some(deployment) = owner.filter(|_| from != to) {
            let scale = Scale { at_millis: at, order: self.seq, deployment, from, to, cause };
            self.emit(Change::Scale(uid, scale.clone()));
            self.untell_surplus_pod(deployment, at, uid);
            match was_max {
                Some(was_max) => self.tell_step(uid, &scale, was_max),
                None => self.tell_moved(uid, &scale),
            }
        }
    }

    /// A ReplicaSet went; `was_seen` while somebody looked.
    pub(super) fn replica_set_gone(&mut self, at: Millis, uid: Uid, was_seen: bool) {
        if let Some(set) = self.model.replica_sets.get(&uid) {
            let (because, old) = self.removed_because(at, set);
            if because == RemovedBecause::Deleted {
                // Lists of other kinds may come much later than this one.
                let until_millis = if was_seen { at + self.settling_millis() } else { at + RELISTING_MILLIS };
                self.settling_sets.push(UnsettledRemoval { set: uid, old, until_millis });
            }
            self.emit(Change::ReplicaSetRemoved(uid, at, because));
            self.tell_removal(at, uid, because, was_seen);
        }
    }

    /// A Deployment changed: ReplicaSets that just went may have gone with it, or by a limit that was lowered.
    pub(super) fn settle_removals(&mut self) {
        let better = |settling: &UnsettledRemoval| {
            let set = self.model.replica_sets.get(&settling.set)?;
            let deployment = self.model.deployments.get(&set.owner?)?;
            let at = set.removed_millis?;
            let because = self.removal_reason(at, deployment, settling.old);
            (because != RemovedBecause::Deleted).then_some((set.uid, at, because))
        };
        for (uid, at, because) in self.settling_sets.iter().filter_map(better).collect::<Vec<_>>() {
            self.settling_sets.retain(|settling| settling.set != uid);
            self.emit(Change::ReplicaSetRemoved(uid, at, because));
            self.untell_removal(uid);
            self.tell_removal(at, uid, because, true);
        }
    }

    /// Takes a removal back: the store of the cluster holds the ReplicaSet again after it was restored from a backup.
    fn take_back_set(&mut self, uid: Uid) {
        let Some(known) = self.model.replica_sets.get(&uid).filter(|set| set.removed_millis.is_some()) else { return };
        let mut again = known.clone();
        (again.removed_millis, again.removed_because) = (None, None);
        self.settling_sets.retain(|settling| settling.set != uid);
        self.untell_removal(uid);
        self.orders.returns(uid);
        self.emit(Change::ReplicaSet(Box::new(again)));
    }

    /// Why it went, as far as that is known; and how many old ReplicaSets there were with it, where it was old and empty.
    fn removed_because(&self, at: Millis, set: &ReplicaSet) -> (RemovedBecause, Option<usize>) {
        let Some(deployment) = set.owner.and_then(|owner| self.model.deployments.get(&owner)) else {
            return (RemovedBecause::Deleted, None);
        };
        let is_old = |set: &ReplicaSet| set.revision() != deployment.now.revision;
        let old = self.model.owned_sets(deployment.uid).filter(|set| is_old(set)).count();
        let is_empty = set.now.counts.desired == 0 && set.now.counts.replicas == 0;
        let old = (is_empty && is_old(set)).then_some(old);
        (self.removal_reason(at, deployment, old), old)
    }

    /// Why a ReplicaSet of a Deployment went at this time, by how many old ones there were with it.
    fn removal_reason(&self, at: Millis, deployment: &Deployment, old: Option<usize>) -> RemovedBecause {
        let spec = &deployment.now.spec;
        // While an edit of the template waits in a pause, the controller cleans up and has no new one: the last one counts as old, too.
        let is_last_old = spec.paused && rollout::awaits_revision(&self.model, deployment);
        // Else it cleans up once a rollout is complete. One that has just begun may have overtaken what came after the one before.
        let settled_millis = at - self.settling_millis();
        let goes_on = |last: &Rollout| {
            let is_missing = last.is_open() && last.available_millis.is_none();
            is_missing && last.started_millis.is_none_or(|started| started < settled_millis)
        };
        let is_rolled_out =
            spec.paused || rollout::is_in_gap(deployment, at) || !deployment.rollouts.last().is_some_and(goes_on);
        match old {
            _ if deployment.is_over() => RemovedBecause::DeploymentDeleted,
            Some(old) if is_rolled_out && old + usize::from(is_last_old) > spec.revision_history_limit as usize => {
                RemovedBecause::HistoryLimit
            }
            _ => RemovedBecause::Deleted,
        }
    }
}
