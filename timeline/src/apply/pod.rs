//! What a Pod's facts change: state, release and adoption, end.

use super::Timeline;
use crate::fact::{PodFact, Seen};
use crate::model::{EndReason, Pod, PodNow};
use crate::phase::{self, PodState, Reading};
use crate::{Change, Millis, Uid};

impl Timeline {
    pub(super) fn pod(&mut self, at: Millis, fact: &PodFact, seen: Seen) {
        let uid = fact.meta.uid;
        let before = self.model.pods.get(&uid).map(tally);
        match before {
            Some(None) => return, // gone: a UID never returns
            None if fact.meta.controller.is_none() || seen == Seen::Deleted => return,
            _ => {}
        }
        let ends = seen == Seen::Deleted || fact.meta.deletion_at_millis.is_some();
        // A pod that is known was owned by its last owner until now; deciding comes before anything else moves.
        let end_reason = match self.model.pods.get(&uid) {
            Some(pod) => (ends && pod.end_reason.is_none()).then(|| self.end_reason(Some(fact), pod.owner)).flatten(),
            None => None,
        };
        let mut touched: Vec<Uid> = self.model.pods.get(&uid).and_then(|pod| pod.owner).into_iter().collect();
        if seen != Seen::Deleted {
            let min_ready = fact.meta.controller.and_then(|set| self.model.replica_sets.get(&set));
            let min_ready = min_ready.map_or(0, |set| set.now.min_ready_seconds);
            let reading = phase::read(fact);
            let (state, due) = settle(&reading, min_ready, at);
            if before.is_some() {
                self.change_owner(at, uid, fact.meta.controller);
            } else if let Some(set) = fact.meta.controller {
                self.emit(Change::Pod(Box::new(Pod {
                    uid,
                    namespace: fact.meta.namespace.clone(),
                    name: fact.meta.name.clone(),
                    created_at_millis: fact.meta.created_at_millis,
                    owners: vec![set],
                    owner: Some(set),
                    states: vec![(state, at)],
                    released_millis: None,
                    adopted_millis: None,
                    end_reason: None,
                    now: PodNow::default(),
                })));
            }
            self.enter(at, uid, state);
            self.note_now(uid, fact, reading, due);
            touched.extend(fact.meta.controller);
        }
        if let Some(reason) = end_reason.or_else(|| self.late_end_reason(uid, fact, ends)) {
            self.emit(Change::PodEnds(uid, reason));
        }
        if seen == Seen::Deleted {
            self.enter(at, uid, PodState::Gone);
        }
        self.recount(uid, before.flatten(), &touched);
    }

    pub(super) fn pod_gone(&mut self, at: Millis, uid: Uid, fact: Option<&PodFact>) {
        let Some(pod) = self.model.pods.get(&uid) else { return };
        let (before, owner) = (tally(pod), pod.owner);
        if pod.end_reason.is_none()
            && let Some(reason) = self.end_reason(fact, owner)
        {
            self.emit(Change::PodEnds(uid, reason));
        }
        self.enter(at, uid, PodState::Gone);
        self.recount(uid, before, &owner.into_iter().collect::<Vec<_>>());
    }

    fn enter(&mut self, at: Millis, uid: Uid, state: PodState) {
        if self.model.pods.get(&uid).is_some_and(|pod| pod.state() != state) {
            self.emit(Change::PodState(uid, state, at));
        }
    }

    fn change_owner(&mut self, at: Millis, uid: Uid, controller: Option<Uid>) {
        let Some(owner) = self.model.pods.get(&uid).map(|pod| pod.owner) else {
            return;
        };
        match (owner, controller) {
            (Some(_), None) => self.emit(Change::PodReleased(uid, at)),
            (before, Some(set)) if before != Some(set) => self.emit(Change::PodAdopted(uid, set, at)),
            _ => {}
        }
    }

    fn note_now(&mut self, uid: Uid, fact: &PodFact, reading: Reading, due: Option<Millis>) {
        let Some(pod) = self.model.pods.get(&uid) else { return };
        let now = PodNow {
            node: fact.node.clone(),
            reason: reading.reason,
            message: reading.message,
            restarts: pod.now.restarts.max(reading.restarts),
            available_at_millis: due,
            deletion_at_millis: fact.meta.deletion_at_millis,
        };
        if let Some(at) = pod.now.available_at_millis.filter(|at| Some(*at) != due) {
            self.due.remove(&(at, uid));
        }
        self.due.extend(due.map(|at| (at, uid)));
        if pod.now != now {
            self.emit(Change::PodNow(uid, Box::new(now)));
        }
    }

    /// The end reason of a pod that was new in this very fact.
    fn late_end_reason(&self, uid: Uid, fact: &PodFact, ends: bool) -> Option<EndReason> {
        let pod = self.model.pods.get(&uid)?;
        (ends && pod.end_reason.is_none()).then(|| self.end_reason(Some(fact), pod.owner)).flatten()
    }

    /// Why a pod goes, by what is known at this moment; the pod still counts among its ReplicaSet's living ones.
    /// `None` when its ReplicaSet was never seen, so that nothing can be said.
    fn end_reason(&self, fact: Option<&PodFact>, owner: Option<Uid>) -> Option<EndReason> {
        match fact.and_then(|fact| fact.disruption.as_deref()) {
            Some("DeletionByPodGC" | "DeletionByTaintManager") => return Some(EndReason::NodeLost),
            Some("EvictionByEvictionAPI" | "PreemptionByScheduler" | "TerminationByKubelet") => {
                return Some(EndReason::Evicted);
            }
            _ => {}
        }
        let Some(owner) = owner else {
            return Some(EndReason::DeletedByHand);
        };
        let set = self.model.replica_sets.get(&owner)?;
        let deployment = set.owner.and_then(|uid| self.model.deployments.get(&uid));
        if deployment.is_some_and(|d| d.deleted_millis.is_some() || d.now.deleting) {
            return Some(EndReason::DeploymentDeleted);
        }
        if set.removed_millis.is_some() {
            return Some(EndReason::ReplicaSetDeleted);
        }
        let (living, _) = self.living.get(&owner).copied().unwrap_or_default();
        Some(if set.now.counts.wanted < living { EndReason::ScaledDown } else { EndReason::DeletedByHand })
    }

    /// Keeps the counts of living pods, and the peaks of the rollouts they belong to.
    fn recount(&mut self, uid: Uid, before: Option<(Option<Uid>, bool)>, touched: &[Uid]) {
        let after = self.model.pods.get(&uid).and_then(tally);
        if before == after {
            return;
        }
        for (tally, step) in [(before, -1), (after, 1)] {
            if let Some((Some(set), terminating)) = tally {
                let (live, going) = self.living.entry(set).or_default();
                let count = if terminating { going } else { live };
                *count = count.saturating_add_signed(step);
            }
        }
        let deployments: Vec<Uid> = touched.iter().filter_map(|set| self.model.replica_sets.get(set)?.owner).collect();
        deployments.into_iter().for_each(|deployment| self.note_peaks(deployment));
    }
}

/// How a pod counts: its owner and whether it is terminating; `None` once it is gone.
fn tally(pod: &Pod) -> Option<(Option<Uid>, bool)> {
    (pod.state() != PodState::Gone).then(|| (pod.owner, pod.now.deletion_at_millis.is_some()))
}

/// Tells `ready` from `available`: a ready pod counts once `minReadySeconds` have passed, else it is due then.
fn settle(reading: &Reading, min_ready_seconds: u32, at: Millis) -> (PodState, Option<Millis>) {
    if reading.state != PodState::Ready {
        return (reading.state, None);
    }
    match phase::available_at(reading.ready_since_millis, min_ready_seconds) {
        Some(due) if due > at => (PodState::Ready, Some(due)),
        _ => (PodState::Available, None),
    }
}
