//! Turns facts into changes: [`Timeline::apply`] is the one way in and returns what changed.
//! Owns the [`Timeline`]: the model and the state that only the deriving side needs (`pending`, `orders`, `skew`).
//! Must not know verdicts of its own, causes, sentences or viewers.
//!
//! The timeline derives changes from a fact and the model, and lets the model apply them one by one, so a later rule sees
//! what an earlier one changed and the changes alone rebuild the model anywhere else. Split by entity: `deployment`,
//! `replica_set`, `pod` and `event` derive changes. `rollout` decides when rollouts begin, `leaving` why pods left their
//! node, `orders` which change came first in the cluster. `story` writes the entries of the story, `retention` prunes.

mod deployment;
mod event;
mod leaving;
mod namespaces;
mod orders;
mod pending;
mod pod;
mod replica_set;
mod retention;
mod rollout;
mod skew;
mod story;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

pub use retention::Retention;

use self::orders::Orders;
use self::pending::{
    AwaitedReplacement, DraftRollout, EventLog, Outage, ToldRestarts, ToldUnready, UnsettledEnd, UnsettledRemoval,
};
use self::skew::Skew;
use crate::model::fact::{EventFact, Fact, Kind, Meta, Seen};
use crate::model::{Deployment, Gap, PodState};
use crate::{Change, Millis, Model, Uid};

/// Streams of different kinds overtake each other by milliseconds, and by this much when machines are busy: what depends on
/// two of them is decided at once and may be decided better for this long.
const SETTLING_MILLIS: Millis = 1_000;

/// The state machine of one cluster. It can be put away and taken up again: what it derives later is the same. What it is put
/// away as is this version's own affair: another one may not read it, and makes it anew from the facts.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Timeline {
    model: Model,
    /// Number of the last change.
    seq: u64,
    /// Kinds and namespaces whose first list is complete.
    listed: BTreeSet<(Kind, Option<String>)>,
    /// Namespaces whose pods are being listed again: those that went while nobody looked stand beside those that came.
    relisting: BTreeSet<String>,
    /// Pods that are ready and start to count later, by that time.
    due: BTreeSet<(Millis, Uid)>,
    /// Revisions that Deployments name and that no ReplicaSet is seen to carry yet.
    drafts: BTreeMap<Uid, DraftRollout>,
    /// The replicas that owners asked for, in the order of the cluster.
    orders: Orders,
    /// Ends that another kind's stream may still explain better.
    settling: Vec<UnsettledEnd>,
    /// ReplicaSets that just went, as that may be explained better.
    settling_sets: Vec<UnsettledRemoval>,
    /// Pods that were deleted from outside, whose replacements are followed.
    replacing: Vec<AwaitedReplacement>,
    /// Ends that were told and may be told better: of each pod the Deployment and the entry.
    told_ends: BTreeMap<Uid, (Uid, u64)>,
    /// Entries that tell of restarts, while they may tell of more, in their order.
    restarting: Vec<ToldRestarts>,
    /// The last entry of each Deployment about pods that became unready.
    unready: BTreeMap<Uid, ToldUnready>,
    /// Deployments whose last available pod became unready: the entry that tells of it, and since when none is available.
    unavailable: BTreeMap<Uid, (u64, Millis)>,
    /// ReplicaSets that were deleted from outside, and what that costs.
    outages: Vec<Outage>,
    /// Events about objects that are not known yet, the oldest first. Streams of different kinds overtake each other.
    early_events: VecDeque<(Millis, EventFact)>,
    /// Events that were told.
    told_events: EventLog,
    /// The cluster's time against that of the network, in percent, where it is faster.
    speed_percent: u32,
    skew: Skew,
    changes: Vec<Change>,
}

impl Timeline {
    /// A timeline that knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A timeline of a model that gets no more facts.
    pub fn from_model(model: Model, skew_millis: Millis) -> Self {
        Self { model, skew: Skew::from_millis(skew_millis), ..Self::default() }
    }

    /// From now on the cluster's time passes at this speed, in percent of ours. Streams are late in ours.
    pub const fn set_speed(&mut self, percent: u32) {
        self.speed_percent = percent;
    }

    /// For how long facts of another kind may still tell better why a pod went.
    pub fn settling_millis(&self) -> Millis {
        SETTLING_MILLIS * Millis::from(self.speed_percent.max(100)) / 100
    }

    /// The model.
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// Number of the last change; the first is 1.
    pub const fn seq(&self) -> u64 {
        self.seq
    }

    /// Our clock less the API server's, in milliseconds, as far as arrivals tell; 0 while unknown.
    pub fn skew_millis(&self) -> Millis {
        self.skew.millis()
    }

    /// Our clock was set, forward by so many milliseconds.
    pub fn clock_was_set(&mut self, by_millis: Millis) {
        self.skew.shift(by_millis);
    }

    /// Takes one fact that arrived at `at_millis` and returns what it changed, in order. A fact that says nothing new
    /// changes nothing. Arrival times must not go back.
    pub fn apply(&mut self, at_millis: Millis, fact: Fact) -> Vec<Change> {
        self.count_ready_pods(at_millis);
        self.settling.retain(|end| end.until_millis >= at_millis);
        if self.settling.is_empty() {
            self.told_ends.clear();
        }
        self.give_up_replacements(at_millis);
        self.settling_sets.retain(|settling| settling.until_millis >= at_millis);
        match fact {
            Fact::Deployment(fact, seen) => {
                self.note_arrival(at_millis, &fact.meta, seen);
                let is_known = self.model.deployments.contains_key(&fact.meta.uid);
                self.deployment(at_millis, *fact, seen);
                self.settle_ends();
                self.settle_removals();
                if !is_known {
                    self.take_early_events(None);
                }
            }
            Fact::ReplicaSet(mut fact, seen) => {
                self.keep_to_namespace(&mut fact.meta);
                self.note_arrival(at_millis, &fact.meta, seen);
                let owner = fact.meta.controller;
                let is_known = self.model.replica_sets.get(&fact.meta.uid).is_some_and(|known| known.owner == owner);
                self.replica_set(at_millis, *fact, seen);
                self.settle_ends();
                if !is_known {
                    self.take_early_events(None);
                }
            }
            Fact::Pod(mut fact, seen) => {
                self.keep_to_namespace(&mut fact.meta);
                self.note_arrival(at_millis, &fact.meta, seen);
                if seen != Seen::InList {
                    // Pods are watched once their list is whole; a recording may lack the end of one.
                    self.relisting.remove(&fact.meta.namespace);
                } else if !self.is_first_list(Kind::Pod, &fact.meta.namespace) {
                    self.relisting.insert(fact.meta.namespace.clone());
                }
                self.pod(at_millis, &fact, seen);
                self.take_early_events(Some(fact.meta.uid));
            }
            Fact::Event(fact) => self.event(at_millis, *fact),
            Fact::Listed { kind, namespace, present, gap_since_millis } => {
                // Events illustrate the story: while they alone were away, nothing of a rollout was missed.
                let gap_since_millis = gap_since_millis.filter(|_| kind != Kind::Event);
                self.note_gap(at_millis, kind, namespace.as_deref(), gap_since_millis);
                self.listed(at_millis, kind, namespace, &present, gap_since_millis.is_some());
            }
            Fact::Unseen { kind, namespace, since_millis } => {
                if self.model.unseen.contains_key(&(kind, namespace.clone())) != since_millis.is_some() {
                    self.emit(Change::Unseen(kind, namespace, since_millis));
                }
            }
        }
        self.follow_outages(at_millis);
        self.follow_unavailable(at_millis);
        std::mem::take(&mut self.changes)
    }

    /// Lets time pass: pods whose `minReadySeconds` are over by `now_millis` become available.
    pub fn tick(&mut self, now_millis: Millis) -> Vec<Change> {
        self.count_ready_pods(now_millis);
        self.follow_outages(now_millis);
        self.follow_unavailable(now_millis);
        std::mem::take(&mut self.changes)
    }

    /// When [`Timeline::tick`] has something to do next.
    pub fn next_due_millis(&self) -> Option<Millis> {
        self.due.first().map(|(at, _)| *at)
    }

    fn emit(&mut self, change: Change) {
        self.seq += 1;
        self.model.apply_change(change.clone());
        self.changes.push(change);
    }

    fn is_first_list(&self, kind: Kind, namespace: &str) -> bool {
        !self.listed.iter().any(|(k, scope)| *k == kind && scope.as_deref().is_none_or(|s| s == namespace))
    }

    /// An object that was made while we watched tells how far the clocks are apart. Only a watch's word that it was made
    /// counts: pods of other controllers never get known, so each change of theirs would look like the first.
    fn note_arrival(&mut self, at_millis: Millis, meta: &Meta, seen: Seen) {
        if seen != Seen::Added || self.namespace_of(meta.uid).is_some() {
            return;
        }
        let before_millis = self.skew.millis();
        self.skew.note(at_millis, meta.created_at_millis);
        // What was known of the clocks came from late arrivals: pods that are ready count earlier than was thought.
        if self.skew.millis() < before_millis {
            self.count_pods_earlier(at_millis);
        }
    }

    fn count_ready_pods(&mut self, now_millis: Millis) {
        while let Some((at, uid)) = self.due.first().copied().filter(|(at, _)| *at <= now_millis) {
            self.due.remove(&(at, uid));
            let Some(pod) = self.model.pods.get(&uid).filter(|pod| pod.state() == PodState::Ready) else { continue };
            let owner = pod.owner;
            let since = at.max(pod.since_millis());
            self.emit(Change::PodState(uid, PodState::Available, since));
            self.tell_state(since, uid, PodState::Available);
            let set = owner.and_then(|set| self.model.replica_sets.get(&set));
            if let Some(deployment) = set.and_then(|set| set.owner) {
                self.note_available(since, deployment, false);
            }
        }
    }

    /// Nobody looked for a while: every Deployment in scope that exists has a gap.
    fn note_gap(&mut self, at_millis: Millis, kind: Kind, namespace: Option<&str>, since_millis: Option<Millis>) {
        let Some(since) = since_millis.filter(|since| *since < at_millis) else { return };
        let in_scope = |other: &str| namespace.is_none_or(|scope| scope == other);
        let known = self.model.deployments.values().filter(|d| d.deleted_millis.is_none() && in_scope(&d.namespace));
        let skew_millis = self.skew.millis();
        // The recording of an episode may begin in a gap, with what was there before.
        // A first list ends no gap: nobody watched before.
        let begun = |d: &Deployment| {
            let is_before = d.from_first_list && since < d.first_seen_millis && !self.is_first_list(kind, &d.namespace);
            let created = is_before.then(|| d.created_at_millis.saturating_add(skew_millis));
            created.map_or(d.first_seen_millis, |created| created.min(d.first_seen_millis))
        };
        let gap = |d: &Deployment| {
            let (from_millis, last) = (since.max(begun(d)), d.gaps.last());
            let is_new = last.is_none_or(|last| last.from_millis > from_millis || last.to_millis < at_millis);
            is_new.then_some((d.uid, Gap { from_millis, to_millis: at_millis }))
        };
        for (uid, gap) in known.filter_map(gap).collect::<Vec<_>>() {
            self.emit(Change::Gap(uid, gap));
            self.tell_gap(uid);
        }
    }

    fn listed(
        &mut self,
        at_millis: Millis,
        kind: Kind,
        namespace: Option<String>,
        present: &[Uid],
        is_after_gap: bool,
    ) {
        let present: BTreeSet<Uid> = present.iter().copied().collect();
        let in_scope = |other: &str| namespace.as_deref().is_none_or(|scope| scope == other);
        let is_missing = |uid: Uid, namespace: &str| in_scope(namespace) && !present.contains(&uid);
        match kind {
            Kind::Deployment => {
                let there = self.model.deployments.values().filter(|d| d.deleted_millis.is_none());
                let missing: Vec<Uid> = there.filter(|d| is_missing(d.uid, &d.namespace)).map(|d| d.uid).collect();
                missing.into_iter().for_each(|uid| self.deployment_gone(at_millis, uid, !is_after_gap));
            }
            Kind::ReplicaSet => {
                let there = self.model.replica_sets.values().filter(|s| s.removed_millis.is_none());
                let missing: Vec<Uid> = there.filter(|s| is_missing(s.uid, &s.namespace)).map(|s| s.uid).collect();
                missing.into_iter().for_each(|uid| self.replica_set_gone(at_millis, uid, !is_after_gap));
            }
            Kind::Pod => {
                let there = self.model.pods.values().filter(|p| p.state() != PodState::Gone);
                let missing: Vec<Uid> = there.filter(|p| is_missing(p.uid, &p.namespace)).map(|p| p.uid).collect();
                missing.into_iter().for_each(|uid| self.pod_missing(at_millis, uid, is_after_gap));
                self.relisting.retain(|known| !in_scope(known));
                if is_after_gap {
                    self.note_listed_pods(at_millis, namespace.as_deref());
                }
                self.deployments_in(namespace.as_deref()).into_iter().for_each(|uid| self.note_peaks(uid));
            }
            Kind::Event => {}
        }
        // What seemed to go by itself may have gone with what this list tells.
        self.settle_ends();
        self.settle_removals();
        if is_after_gap {
            let listed = self.deployments_in(namespace.as_deref()).into_iter();
            listed.for_each(|uid| self.untell_scaled_down(at_millis, uid));
        }
        self.listed.insert((kind, namespace));
    }

    /// The Deployments of a namespace, or all.
    pub(super) fn deployments_in(&self, namespace: Option<&str>) -> Vec<Uid> {
        let in_scope = |known: &&Deployment| namespace.is_none_or(|scope| scope == known.namespace);
        self.model.deployments.values().filter(in_scope).map(|known| known.uid).collect()
    }
}
