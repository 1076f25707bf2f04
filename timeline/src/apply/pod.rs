//! What a Pod's facts change: state, release and adoption, end.

use super::Timeline;
use crate::fact::{PodFact, Seen};
use crate::model::{Deployment, EndReason, Pod, PodNow};
use crate::phase::{self, PodState, Reading};
use crate::{Change, Millis, Uid};

/// An end that another kind's stream may still explain better.
#[derive(Debug)]
pub(super) struct Settling {
    pod: Uid,
    set: Uid,
    /// Pods of its ReplicaSet that did not terminate when it was decided, this one included.
    living: u32,
    pub(super) until_millis: Millis,
}

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
        if ends && before.is_some() {
            self.decide_end(at, uid, Some(fact));
        }
        let mut touched: Vec<Uid> = self.model.pods.get(&uid).and_then(|pod| pod.owner).into_iter().collect();
        if seen != Seen::Deleted {
            let min_ready = fact.meta.controller.and_then(|set| self.model.replica_sets.get(&set));
            let min_ready = min_ready.map_or(0, |set| set.now.min_ready_seconds);
            let reading = phase::read(fact);
            let (state, due) = settle(&reading, min_ready, at);
            if before.is_some() {
                self.change_owner(at, uid, fact.meta.controller);
            } else if let Some(set) = fact.meta.controller {
                self.note_replacement(set);
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
                if seen != Seen::InList {
                    self.tell_replacement(at, set, uid);
                }
            }
            self.enter(at, uid, state);
            self.note_now(uid, fact, reading, due);
            touched.extend(fact.meta.controller);
        }
        if ends && before.is_none() {
            self.decide_end(at, uid, Some(fact)); // it was new in this very fact
        }
        if seen == Seen::Deleted {
            self.enter(at, uid, PodState::Gone);
        }
        self.recount(at, uid, before.flatten(), &touched);
    }

    /// A list lacks it. Nobody saw it go; when nobody looked at all, why cannot be told.
    pub(super) fn pod_missing(&mut self, at: Millis, uid: Uid, was_blind: bool) {
        let Some(pod) = self.model.pods.get(&uid) else { return };
        let (before, owner) = (tally(pod), pod.owner);
        self.decide_end(at, uid, None);
        let decided = self.model.pods.get(&uid).and_then(|pod| pod.end_reason);
        if was_blind && before.is_some_and(|before| !before.is_terminating) && decided.is_some_and(is_guess) {
            self.settling.retain(|end| end.pod != uid);
            self.end(at, uid, EndReason::Unknown, None);
        }
        self.enter(at, uid, PodState::Gone);
        self.recount(at, uid, before, &owner.into_iter().collect::<Vec<_>>());
    }

    fn enter(&mut self, at: Millis, uid: Uid, state: PodState) {
        if self.model.pods.get(&uid).is_some_and(|pod| pod.state() != state) {
            self.emit(Change::PodState(uid, state, at));
            self.tell_state(at, uid, state);
        }
    }

    /// Keeps why a pod goes, and tells it.
    fn end(&mut self, at: Millis, uid: Uid, reason: EndReason, fact: Option<&PodFact>) {
        self.emit(Change::PodEnds(uid, reason));
        let node = fact.and_then(|fact| fact.node.clone());
        let node = node.or_else(|| self.model.pods.get(&uid)?.now.node.clone());
        self.tell_end(at, uid, reason, node);
    }

    fn change_owner(&mut self, at: Millis, uid: Uid, controller: Option<Uid>) {
        let Some(owner) = self.model.pods.get(&uid).map(|pod| pod.owner) else {
            return;
        };
        match (owner, controller) {
            (Some(_), None) => {
                self.emit(Change::PodReleased(uid, at));
                self.tell_owner(at, uid, false);
            }
            (before, Some(set)) if before != Some(set) => {
                self.emit(Change::PodAdopted(uid, set, at));
                self.tell_owner(at, uid, true);
            }
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
            last_exit: reading.last_exit.or_else(|| pod.now.last_exit.clone()),
            available_at_millis: due,
            deletion_at_millis: fact.meta.deletion_at_millis,
            ready_since_millis: reading.ready_since_millis.or(pod.now.ready_since_millis),
            deletion_cost: fact.deletion_cost,
            containers: fact.containers.clone(),
            conditions: fact.conditions.clone(),
        };
        if let Some(at) = pod.now.available_at_millis.filter(|at| Some(*at) != due) {
            self.due.remove(&(at, uid));
        }
        self.due.extend(due.map(|at| (at, uid)));
        if pod.now != now {
            self.emit(Change::PodNow(uid, Box::new(now)));
        }
    }

    /// Decides once why a pod goes, at the first sign of it, by what is known at this moment. What depends on another
    /// kind's stream may be decided better for a moment longer.
    fn decide_end(&mut self, at: Millis, uid: Uid, fact: Option<&PodFact>) {
        let Some(pod) = self.model.pods.get(&uid).filter(|pod| pod.end_reason.is_none()) else {
            return;
        };
        let owner = pod.owner;
        let reason = disruption(fact).unwrap_or_else(|| self.end_by_owners(owner, self.living_of(owner)));
        if let Some(set) = owner.filter(|_| is_guess(reason)) {
            let living = self.living_of(owner);
            let until_millis = at + self.settling_millis();
            self.settling.push(Settling { pod: uid, set, living, until_millis });
        }
        self.end(at, uid, reason, fact);
    }

    /// A Deployment or a ReplicaSet changed: ends that were just decided are looked at again.
    pub(super) fn settle_ends(&mut self) {
        let better: Vec<(Uid, EndReason)> = self
            .settling
            .iter()
            .map(|end| (end.pod, self.end_by_owners(Some(end.set), end.living)))
            .filter(|(pod, reason)| self.model.pods.get(pod).is_some_and(|pod| pod.end_reason != Some(*reason)))
            .collect();
        for (pod, reason) in better {
            if !is_guess(reason) {
                self.settling.retain(|end| end.pod != pod);
            }
            let at = self.model.pods.get(&pod).and_then(Pod::ended_millis).unwrap_or_default();
            self.end(at, pod, reason, None);
        }
    }

    /// A ReplicaSet makes a pod: those that ended just before had to be replaced, so it was not the controllers who let them go.
    fn note_replacement(&mut self, set: Uid) {
        let pods = &self.model.pods;
        let is_by_hand = |pod: &Uid| pods.get(pod).is_some_and(|pod| pod.end_reason == Some(EndReason::DeletedByHand));
        self.settling.retain(|end| end.set != set || !is_by_hand(&end.pod));
    }

    /// Pods that a ReplicaSet controls and that do not terminate.
    fn living_of(&self, set: Option<Uid>) -> u32 {
        set.and_then(|set| self.living.get(&set)).map_or(0, |(living, _)| *living)
    }

    /// Why a pod of `owner` goes, when it was one of `living` pods.
    fn end_by_owners(&self, owner: Option<Uid>, living: u32) -> EndReason {
        let Some(owner) = owner else {
            return EndReason::DeletedByHand; // released before: no controller cares for it
        };
        let Some(set) = self.model.replica_sets.get(&owner) else {
            return EndReason::Unknown;
        };
        let deployment = set.owner.and_then(|uid| self.model.deployments.get(&uid));
        if deployment.is_some_and(Deployment::is_over) {
            return EndReason::DeploymentDeleted;
        }
        if set.removed_millis.is_some() || set.now.deleting {
            return EndReason::ReplicaSetDeleted;
        }
        if set.now.counts.wanted < living { EndReason::ScaledDown } else { EndReason::DeletedByHand }
    }

    /// Keeps the counts of pods per ReplicaSet, and what the rollouts they belong to came to.
    fn recount(&mut self, at: Millis, uid: Uid, before: Option<Tally>, touched: &[Uid]) {
        let after = self.model.pods.get(&uid).and_then(tally);
        if before == after {
            return;
        }
        for (tally, step) in [(before, -1), (after, 1)] {
            let Some(Tally { owner: Some(set), is_terminating, is_available }) = tally else { continue };
            let (live, going) = self.living.entry(set).or_default();
            let count = if is_terminating { going } else { live };
            *count = count.saturating_add_signed(step);
            if is_available {
                let available = self.available.entry(set).or_default();
                *available = available.saturating_add_signed(step);
            }
        }
        let deployments: Vec<Uid> = touched.iter().filter_map(|set| self.model.replica_sets.get(set)?.owner).collect();
        for deployment in deployments {
            self.note_peaks(deployment);
            self.note_all_available(at, deployment);
        }
    }
}

/// Decided because nothing else was known.
const fn is_guess(reason: EndReason) -> bool {
    matches!(reason, EndReason::DeletedByHand | EndReason::Unknown)
}

/// What the pod itself says of its end.
fn disruption(fact: Option<&PodFact>) -> Option<EndReason> {
    match fact?.disruption.as_deref()? {
        "DeletionByPodGC" | "DeletionByTaintManager" => Some(EndReason::NodeLost),
        "EvictionByEvictionAPI" | "PreemptionByScheduler" | "TerminationByKubelet" => Some(EndReason::Evicted),
        _ => None,
    }
}

/// How a pod counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tally {
    owner: Option<Uid>,
    is_terminating: bool,
    is_available: bool,
}

/// How a pod counts; `None` once it is gone.
fn tally(pod: &Pod) -> Option<Tally> {
    (pod.state() != PodState::Gone).then(|| Tally {
        owner: pod.owner,
        is_terminating: pod.now.deletion_at_millis.is_some(),
        is_available: pod.state() == PodState::Available,
    })
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
