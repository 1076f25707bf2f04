//! Derives changes from facts of a Pod: state, release and adoption, end.

use std::sync::Arc;

use super::Timeline;
use super::leaving::disrupted;
use super::orders::is_later;
use super::pending::{EndMark, UnsettledEnd};
use crate::model::fact::{Container, Kind, Phase, PodFact, Seen};
use crate::model::{EndReason, Pod, PodNow, PodState};
use crate::rules::messages::GATED;
use crate::rules::phase;
use crate::rules::pulls::is_image_reason;
use crate::{Change, Millis, Uid};

/// Containers with what was seen of them before and is not told any more: that they ended, how often, and how; and when they were
/// restarted first: with `news`, if this fact is the first to tell of a restart. An end that the kubelet makes up has no times: a
/// container that ran did so until `told_millis`, by the kubelet's clock.
fn remembering(fact: &PodFact, known: &[Container], told_millis: Millis, news: (Millis, bool)) -> Vec<Container> {
    let is_over = fact.phase.is_terminal();
    let remember = |container: &Container| {
        let before = known.iter().find(|before| before.name == container.name);
        let mut now = container.clone();
        if now.last_exit.is_none() && now.restarts > 0 {
            now.last_exit = before.and_then(|before| before.last_exit.clone());
        }
        let made_up = now.last_exit.as_deref_mut().filter(|exit| exit.is_unseen() && exit.ran_millis.is_none());
        if let Some((exit, before)) = made_up.zip(before) {
            exit.ran_millis = match before.started_millis.filter(|_| before.restarts < container.restarts) {
                Some(started) => Some(told_millis.saturating_sub(started).max(0)),
                None => before.last_exit.as_ref().and_then(|exit| exit.ran_millis),
            };
        }
        let exits_before = before.map_or(0, Container::exits);
        // One that says as many itself says nothing new when it is heard again.
        now.exits_before = if exits_before > now.exits() { exits_before } else { 0 };
        let is_restarted = |before: &Container| container.restarts_since(before, is_over) > 0;
        let first_restart = before.and_then(|before| before.first_restart);
        now.first_restart = first_restart.or_else(|| before.is_some_and(is_restarted).then_some(news));
        now
    };
    fact.containers.iter().map(remember).collect()
}

/// The message about an image that cannot be pulled, or the last one while the kubelet backs off.
fn pull_error(containers: &[Container], known: &str) -> Box<str> {
    let mut failing = containers.iter().filter_map(Container::waiting).filter(|(reason, _)| is_image_reason(reason));
    let Some(first) = failing.clone().next() else { return Box::default() };
    let is_error = |(reason, message): &(&str, &str)| *reason != "ImagePullBackOff" && !message.is_empty();
    let told = failing.find(is_error).map(|(_, message)| message);
    told.or(Some(known).filter(|known| !known.is_empty())).unwrap_or(first.1).into()
}

impl Timeline {
    pub(super) fn pod(&mut self, at: Millis, fact: &PodFact, seen: Seen) {
        let uid = fact.meta.uid;
        let is_back = matches!(seen, Seen::InList | Seen::Added)
            && self.model.pods.get(&uid).is_some_and(|pod| pod.gone_millis().is_some());
        // One of a store that was restored from a backup: it begins anew.
        let known = self.model.pods.get(&uid).filter(|_| !is_back);
        let (before, owner) = (known.map(tally), known.and_then(|pod| pod.owner));
        let (state_before, first_restarts) = (known.map(Pod::state), known.map(|pod| pod.now.first_restarts));
        match before {
            Some(None) => return,
            None if fact.meta.controller.is_none() || seen == Seen::Deleted => return,
            _ => {}
        }
        let ends = seen == Seen::Deleted || fact.deletion_at_millis.is_some();
        // A pod that is known was owned by its last owner until now; deciding comes before anything else moves.
        if ends && before.is_some() {
            self.decide_end(at, uid, Some(fact), seen);
        }
        if seen != Seen::Deleted {
            let min_ready = fact.meta.controller.and_then(|set| self.model.replica_sets.get(&set));
            let min_ready = min_ready.map_or(0, |set| set.now.min_ready_seconds);
            let (read_state, explained) = phase::read(fact);
            let due = self.counts_at(uid, explained.ready_since_millis, min_ready, at);
            let state = counted_state(read_state, due);
            if before.is_some() {
                self.change_owner(at, uid, fact.meta.controller);
            } else if let Some(set) = fact.meta.controller {
                self.begin_pod(at, fact, seen, set, state);
            }
            let is_listed = seen == Seen::InList && state_before != Some(state);
            if is_listed && state == PodState::Available {
                // When it became available, nobody saw.
                self.replacing.retain(|one| one.replacement != Some(uid));
            }
            self.enter(at, uid, state);
            // What it was before a list first told of it is not known.
            let is_old = before.is_none() && seen == Seen::InList;
            let is_terminal = fact.phase.is_terminal();
            // Its containers may end with exit code 0 when its kubelet evicts it.
            let because = if is_terminal { self.left_because(uid, fact) } else { None };
            let is_end = state == PodState::Failing || (state == PodState::Finished && because.is_some());
            let has_failed = is_terminal && is_end && !is_old;
            let was_terminal = self.model.pods.get(&uid).is_some_and(|pod| pod.now.terminal_millis.is_some());
            let begun = PodNow {
                first_restarts: first_restarts.unwrap_or_else(|| phase::restarts(&fact.containers)),
                available_at_millis: due,
                terminal_millis: is_terminal.then_some(if is_old { fact.meta.created_at_millis } else { at }),
                listed_millis: is_listed.then_some(at),
                disruption: fact.disruption.clone().map(|reason| Box::new((reason, at))),
                ..explained
            };
            if let Some(before) = state_before {
                let is_restarted = self.tell_restarts(at, uid, fact, seen != Seen::InList);
                if before != state {
                    self.tell_readiness(at, uid, before, seen != Seen::InList, is_restarted);
                }
            }
            self.note_now((at, seen != Seen::InList), uid, fact, begun);
            if has_failed && !was_terminal {
                self.tell_failure(at, uid, because, fact);
            }
        }
        if ends && before.is_none() {
            self.decide_end(at, uid, Some(fact), seen); // it was new in this very fact
        }
        if seen == Seen::Deleted {
            self.enter(at, uid, PodState::Gone);
            self.tell_last_gone(at, uid);
        }
        let taken_by = fact.meta.controller.filter(|set| seen != Seen::Deleted && owner != Some(*set));
        self.note_counts(at, uid, before.flatten(), owner.into_iter().chain(taken_by), seen);
    }

    /// Begins a pod that its ReplicaSet `set` controls, or begins it anew after it was gone.
    fn begin_pod(&mut self, at: Millis, fact: &PodFact, seen: Seen, set: Uid, state: PodState) {
        let uid = fact.meta.uid;
        let is_back = self.model.pods.contains_key(&uid);
        self.note_replacement(set);
        // The owner that it begins with is the first one, also in another life.
        let mut owners = vec![set];
        let earlier = self.model.pods.get(&uid).map(|pod| pod.owners.as_slice()).unwrap_or_default();
        owners.extend(earlier.iter().filter(|owner| **owner != set));
        if is_back {
            self.settling.retain(|end| end.pod != uid);
            self.untell_end(uid);
        }
        self.emit(Change::Pod(Box::new(Pod {
            uid,
            namespace: fact.meta.namespace.clone(),
            name: fact.meta.name.clone(),
            created_at_millis: fact.meta.created_at_millis,
            owners,
            owner: Some(set),
            states: vec![(state, at)],
            ..Pod::default()
        })));
        if seen != Seen::InList {
            self.tell_replacement(at, set, uid);
        }
        // A watch that began with a list tells of it as changed: it was there before, and no ReplicaSet controlled it. With a
        // ReplicaSet that moved from one Deployment to another, history has the last lines of its pods.
        let is_set_older = self.model.replica_sets.get(&set).is_some_and(|set| set.first_seen_millis < at);
        if seen == Seen::Modified && is_set_older && !self.is_first_list(Kind::Pod, &fact.meta.namespace) {
            self.tell_adoption(at, uid, set, None);
        }
    }

    /// A ReplicaSet was seen, or asks for more or fewer `minReadySeconds`: its pods that are ready count earlier or later.
    pub(super) fn recount_pods(&mut self, at: Millis, set: Uid, min_ready_seconds: u32) {
        let ready = self.model.controlled_pods(set).filter(|pod| pod.state().is_ready());
        for (uid, since) in ready.map(|pod| (pod.uid, pod.now.ready_since_millis)).collect::<Vec<_>>() {
            let due = self.due_at(since, min_ready_seconds, at);
            self.recount_pod(at, uid, set, due);
        }
    }

    /// The clocks are less apart than was thought: pods that are ready count earlier.
    pub(super) fn count_pods_earlier(&mut self, at: Millis) {
        for (known, uid) in self.due.iter().copied().collect::<Vec<_>>() {
            let Some(pod) = self.model.pods.get(&uid).filter(|pod| pod.state() == PodState::Ready) else { continue };
            let (since, owner) = (pod.now.ready_since_millis, pod.owner);
            let Some(set) = owner.and_then(|set| self.model.replica_sets.get(&set)) else { continue };
            let due = self.due_at(since, set.now.min_ready_seconds, at).map(|due| due.min(known));
            self.recount_pod(at, uid, set.uid, due);
        }
    }

    fn recount_pod(&mut self, at: Millis, uid: Uid, set: Uid, due: Option<Millis>) {
        let Some(pod) = self.model.pods.get(&uid) else { return };
        let (before, mut now) = (tally(pod), (*pod.now).clone());
        now.available_at_millis = due;
        self.enter(at, uid, counted_state(PodState::Ready, due));
        self.keep_now(uid, now);
        self.note_counts(at, uid, before, [set], Seen::Modified);
    }

    /// When a pod that is ready `since` then starts to count, if that is later; the cluster's clock decides. Whatever is known of the
    /// clocks, that is at most so many seconds after it was first seen ready, and one that counts goes on to count.
    fn counts_at(&self, uid: Uid, since: Option<Millis>, min_ready_seconds: u32, at: Millis) -> Option<Millis> {
        let due = self.due_at(since, min_ready_seconds, at)?;
        let is_seen = |pod: &&Pod| pod.state().is_ready() && pod.now.ready_since_millis == since;
        let latest = match self.model.pods.get(&uid).filter(is_seen) {
            Some(pod) => pod.now.available_at_millis,
            None => phase::available_at(Some(at), min_ready_seconds),
        };
        Some(due.min(latest?)).filter(|due| *due > at)
    }

    fn due_at(&self, ready_since_millis: Option<Millis>, min_ready_seconds: u32, at: Millis) -> Option<Millis> {
        let due = phase::available_at(ready_since_millis, min_ready_seconds)?.saturating_add(self.skew.millis());
        Some(due).filter(|due| *due > at)
    }

    /// A list lacks it. Nobody saw it go; when nobody looked at all, why cannot be told.
    pub(super) fn pod_missing(&mut self, at: Millis, uid: Uid, is_after_gap: bool) {
        let Some(pod) = self.model.pods.get(&uid) else { return };
        let (before, owner) = (tally(pod), pod.owner);
        self.decide_end(at, uid, None, Seen::Deleted);
        let decided = self.model.pods.get(&uid).and_then(|pod| pod.end_reason);
        // That there are more than asked for may be the work of a replacement that nobody saw come.
        let is_open = decided.is_some_and(|reason| is_guess(reason) || reason == EndReason::ScaledDown);
        if is_after_gap && before.is_some_and(|before| !before.is_terminating) && is_open {
            self.settling.retain(|end| end.pod != uid);
            self.end(at, uid, EndReason::Unknown, None);
        }
        // When it was gone is not told: that is not known.
        self.emit(Change::PodState(uid, PodState::Gone, at));
        self.note_counts(at, uid, before, owner, Seen::InList);
    }

    fn enter(&mut self, at: Millis, uid: Uid, state: PodState) {
        if self.model.pods.get(&uid).is_some_and(|pod| pod.state() != state) {
            self.emit(Change::PodState(uid, state, at));
            self.tell_state(at, uid, state);
        }
    }

    fn end(&mut self, at: Millis, uid: Uid, reason: EndReason, fact: Option<&PodFact>) {
        self.emit(Change::PodEnds(uid, reason));
        self.tell_end(at, uid, reason, fact);
    }

    fn change_owner(&mut self, at: Millis, uid: Uid, controller: Option<Uid>) {
        let Some(owner) = self.model.pods.get(&uid).map(|pod| pod.owner) else { return };
        match (owner, controller) {
            (Some(_), None) => {
                self.emit(Change::PodReleased(uid, at));
                self.tell_release(at, uid);
            }
            (before, Some(set)) if before != Some(set) => {
                let last = self.model.pods.get(&uid).and_then(Pod::last_owner);
                self.emit(Change::PodAdopted(uid, set, at));
                self.tell_adoption(at, uid, set, last);
            }
            _ => {}
        }
    }

    /// Keeps what a fact says of a pod. `begun` has what explains its state, and what began with it. `news` is when that arrived, and
    /// whether it was seen when it happened.
    fn note_now(&mut self, news: (Millis, bool), uid: Uid, fact: &PodFact, begun: PodNow) {
        let Some(pod) = self.model.pods.get(&uid) else { return };
        let told_millis = news.0.saturating_sub(self.skew.millis());
        let known = pod.now.disruption.as_deref().map(|(reason, _)| reason);
        let is_ungated = pod.now.reason == GATED && begun.reason != GATED;
        // A later delete has the time when it happens, as the last one of a pod that has ended, or a forced one: a grace period that is
        // over ended before.
        let grace_ends = pod.now.deletion_at_millis.filter(|ends| *ends <= told_millis);
        let now = PodNow {
            node: fact.node.clone(),
            restarts: phase::restarts(&fact.containers),
            most_restarts: pod.now.most_restarts.max(phase::sum_restarts(&fact.containers)),
            pull_error: pull_error(&fact.containers, &pod.now.pull_error),
            deletion_at_millis: fact.deletion_at_millis.map(|at| grace_ends.unwrap_or(at)),
            terminal_millis: pod.now.terminal_millis.or(begun.terminal_millis),
            listed_millis: begun.listed_millis.or(pod.now.listed_millis),
            ready_since_millis: begun.ready_since_millis.or(pod.now.ready_since_millis),
            disruption: begun.disruption.filter(|new| known != Some(&new.0)).or_else(|| pod.now.disruption.clone()),
            ungated_millis: if is_ungated { Some(news.0) } else { pod.now.ungated_millis },
            nominated_node: fact.nominated_node.as_deref().map(Box::from),
            deletion_cost: fact.deletion_cost,
            containers: remembering(fact, &pod.now.containers, told_millis, news),
            conditions: fact.conditions.clone(),
            ..begun
        };
        self.keep_now(uid, now);
    }

    /// Keeps what a pod is like now, and when it is due to count.
    fn keep_now(&mut self, uid: Uid, now: PodNow) {
        let Some(pod) = self.model.pods.get(&uid) else { return };
        let (before, due) = (pod.now.available_at_millis, now.available_at_millis);
        if let Some(at) = before.filter(|at| Some(*at) != due) {
            self.due.remove(&(at, uid));
        }
        self.due.extend(due.map(|at| (at, uid)));
        if *pod.now != now {
            self.emit(Change::PodNow(uid, Arc::new(now)));
        }
    }

    /// Decides once why a pod goes, at the first sign of it, by what is known at this moment. What depends on another
    /// kind's stream may be decided better for a moment longer.
    ///
    /// One that a list shows going was asked to before: what its owners asked for then is not known.
    fn decide_end(&mut self, at: Millis, uid: Uid, fact: Option<&PodFact>, seen: Seen) {
        let Some(pod) = self.model.pods.get(&uid).filter(|pod| pod.end_reason.is_none()) else { return };
        let owner = pod.owner;
        // One that ended already is deleted by no ReplicaSet controller, however few it wants.
        let active = if pod.is_active() { owner.map_or(0, |set| self.model.pod_counts(set).active) } else { 0 };
        let version = fact.and_then(|fact| fact.meta.version);
        let is_forced = seen == Seen::Deleted && fact.is_some_and(|fact| is_forced(pod, fact));
        let mark = EndMark { active, version, is_forced };
        let reason = disrupted(self.disruption(at, uid, fact).as_deref());
        let reason = reason.unwrap_or_else(|| match self.end_by_owners(owner, mark) {
            EndReason::DeletedManually if self.was_just_scaled_down(at, owner, mark) => EndReason::ScaledDown,
            reason => reason,
        });
        if seen == Seen::InList
            && matches!(reason, EndReason::ScaledDown | EndReason::DeletedManually | EndReason::Unknown)
        {
            return self.end(at, uid, EndReason::Unknown, fact);
        }
        if let Some(set) = owner.filter(|_| is_guess(reason)) {
            let until_millis = at + self.settling_millis();
            self.settling.push(UnsettledEnd { pod: uid, set, mark, until_millis });
        }
        self.end(at, uid, reason, fact);
    }

    /// A Deployment or a ReplicaSet changed: ends that were just decided are looked at again.
    pub(super) fn settle_ends(&mut self) {
        let better = |end: &UnsettledEnd| {
            let (pod, reason) = (self.model.pods.get(&end.pod)?, self.end_by_owners(Some(end.set), end.mark));
            (pod.end_reason != Some(reason)).then(|| (end.pod, reason, pod.ended_millis().unwrap_or_default()))
        };
        for (pod, reason, at) in self.settling.iter().filter_map(better).collect::<Vec<_>>() {
            if !is_guess(reason) {
                self.settling.retain(|end| end.pod != pod);
            }
            self.end(at, pod, reason, None);
        }
    }

    /// A ReplicaSet makes a pod: those that ended just before had to be replaced, so it was not the controllers who let them go.
    fn note_replacement(&mut self, set: Uid) {
        let pods = &self.model.pods;
        let is_manual = |pod: &Uid| pods.get(pod).is_some_and(|pod| pod.end_reason == Some(EndReason::DeletedManually));
        self.settling.retain(|end| end.set != set || !is_manual(&end.pod));
    }

    /// Why a pod of `owner` goes, by what its owners asked for. What they did after it was marked is not why.
    fn end_by_owners(&self, owner: Option<Uid>, mark: EndMark) -> EndReason {
        // Released before: no controller cares for it.
        let Some(owner) = owner.filter(|_| !mark.is_forced) else { return EndReason::DeletedManually };
        let is_why = |owner: Uid| !is_later(self.orders.left(owner), mark.version);
        let Some(set) = self.model.replica_sets.get(&owner) else { return EndReason::Unknown };
        let deployment = set.owner.and_then(|uid| self.model.deployments.get(&uid));
        if deployment.is_some_and(|deployment| deployment.is_over() && is_why(deployment.uid)) {
            return EndReason::DeploymentDeleted;
        }
        if set.is_over() && is_why(set.uid) {
            return EndReason::ReplicaSetDeleted;
        }
        let desired = self.orders.desired_at(set.uid, mark.version).unwrap_or(set.now.counts.desired);
        if desired < mark.active { EndReason::ScaledDown } else { EndReason::DeletedManually }
    }

    /// Its ReplicaSet was scaled down by somebody else a moment ago, and up again by its Deployment: the ReplicaSet controller still
    /// follows the first.
    fn was_just_scaled_down(&self, at: Millis, owner: Option<Uid>, mark: EndMark) -> bool {
        let set = owner.filter(|_| !mark.is_forced).and_then(|set| self.model.replica_sets.get(&set));
        let mut scales = set.into_iter().flat_map(|set| set.scales.iter().rev());
        let Some((up, down)) = scales.next().zip(scales.next()) else { return false };
        let is_recent = at - down.at_millis <= self.settling_millis();
        is_recent && up.to > up.from && down.to < down.from && down.to < mark.active
    }

    /// Keeps what the rollouts came to whose ReplicaSets have another number of pods now. Until a list is complete, pods that went while
    /// nobody looked stand beside those that came.
    fn note_counts(
        &mut self,
        at: Millis,
        uid: Uid,
        before: Option<Tally>,
        sets: impl IntoIterator<Item = Uid>,
        seen: Seen,
    ) {
        let after = self.model.pods.get(&uid).and_then(tally);
        if before == after {
            return;
        }
        let owner = |set: Uid| self.model.replica_sets.get(&set)?.owner;
        for deployment in sets.into_iter().filter_map(owner).collect::<Vec<_>>() {
            if seen != Seen::InList {
                self.note_peaks(deployment);
            }
            self.note_available(at, deployment, false);
        }
    }
}

/// Decided because nothing else was known.
const fn is_guess(reason: EndReason) -> bool {
    matches!(reason, EndReason::DeletedManually | EndReason::Unknown)
}

/// It is gone without having been marked, though it has a grace period: one that waits for a node, or that ended, has none.
fn is_forced(pod: &Pod, last: &PodFact) -> bool {
    let was_marked = pod.now.deletion_at_millis.is_some() || last.deletion_at_millis.is_some();
    let has_grace = last.node.is_some() && !last.is_graceless && matches!(last.phase, Phase::Pending | Phase::Running);
    !was_marked && has_grace
}

/// The part of a pod in the counts of its ReplicaSet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tally {
    owner: Option<Uid>,
    is_terminating: bool,
    is_active: bool,
    is_available: bool,
}

/// Counts a pod; `None` once it is gone.
fn tally(pod: &Pod) -> Option<Tally> {
    (pod.state() != PodState::Gone).then(|| Tally {
        owner: pod.owner,
        is_terminating: pod.now.deletion_at_millis.is_some(),
        is_active: pod.is_active(),
        is_available: pod.state() == PodState::Available,
    })
}

/// Tells `ready` from `available`: a ready pod counts once `minReadySeconds` have passed, else it is due then.
fn counted_state(state: PodState, due: Option<Millis>) -> PodState {
    if state == PodState::Ready && due.is_none() { PodState::Available } else { state }
}
