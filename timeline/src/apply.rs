//! The one way in: [`Timeline::apply`] takes a fact and returns what changed.
//!
//! The timeline derives changes from a fact and the model, and lets the model apply them one by one, so a later rule sees
//! what an earlier one changed and the changes alone rebuild the model anywhere else. Split by entity: `deployment`,
//! `replica_set` and `pod` derive; this file owns the state that only the deriving side needs.

mod deployment;
mod pod;
mod replica_set;

use std::collections::{BTreeMap, BTreeSet};

use crate::fact::{Fact, Kind};
use crate::phase::PodState;
use crate::{Change, Millis, Model, Uid};

/// The state machine of one cluster.
#[derive(Debug, Default)]
pub struct Timeline {
    model: Model,
    /// Number of the last change.
    seq: u64,
    /// Kinds and namespaces whose first list is complete.
    listed: BTreeSet<(Kind, Option<String>)>,
    /// Pods that are ready and start to count later, by that time.
    due: BTreeSet<(Millis, Uid)>,
    /// Pods per ReplicaSet: (without, with) deletion timestamp. Only pods that exist and that it controls.
    living: BTreeMap<Uid, (u32, u32)>,
    changes: Vec<Change>,
}

impl Timeline {
    /// A timeline that knows nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What is known.
    #[must_use]
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// Number of the last change; the first is 1.
    #[must_use]
    pub const fn seq(&self) -> u64 {
        self.seq
    }

    /// Takes one fact that arrived at `at_millis` and returns what it changed, in order. A fact that says nothing new
    /// changes nothing. Arrival times must not go back.
    pub fn apply(&mut self, at_millis: Millis, fact: Fact) -> Vec<Change> {
        self.count_ready_pods(at_millis);
        match fact {
            Fact::Deployment(fact, seen) => self.deployment(at_millis, *fact, seen),
            Fact::ReplicaSet(fact, seen) => self.replica_set(at_millis, *fact, seen),
            Fact::Pod(fact, seen) => self.pod(at_millis, &fact, seen),
            Fact::Listed { kind, namespace, present } => self.listed(at_millis, kind, namespace, &present),
        }
        std::mem::take(&mut self.changes)
    }

    /// Lets time pass: pods whose `minReadySeconds` are over by `now_millis` become available.
    pub fn tick(&mut self, now_millis: Millis) -> Vec<Change> {
        self.count_ready_pods(now_millis);
        std::mem::take(&mut self.changes)
    }

    /// When [`Timeline::tick`] has something to do next.
    #[must_use]
    pub fn next_due_millis(&self) -> Option<Millis> {
        self.due.first().map(|(at, _)| *at)
    }

    fn emit(&mut self, change: Change) {
        self.seq += 1;
        self.model.apply_change(&change);
        self.changes.push(change);
    }

    fn is_first_list(&self, kind: Kind, namespace: &str) -> bool {
        !self.listed.iter().any(|(k, scope)| *k == kind && scope.as_deref().is_none_or(|s| s == namespace))
    }

    fn count_ready_pods(&mut self, now_millis: Millis) {
        while let Some((at, uid)) = self.due.first().copied().filter(|(at, _)| *at <= now_millis) {
            self.due.remove(&(at, uid));
            let Some(pod) = self.model.pods.get(&uid).filter(|pod| pod.state() == PodState::Ready) else {
                continue;
            };
            let since = at.max(pod.since_millis());
            self.emit(Change::PodState(uid, PodState::Available, since));
        }
    }

    fn listed(&mut self, at_millis: Millis, kind: Kind, namespace: Option<String>, present: &[Uid]) {
        let present: BTreeSet<Uid> = present.iter().copied().collect();
        let in_scope = |other: &str| namespace.as_deref().is_none_or(|scope| scope == other);
        match kind {
            Kind::Deployment => {
                let missing =
                    self.model.deployments.values().filter(|d| d.deleted_millis.is_none() && in_scope(&d.namespace));
                let missing: Vec<Uid> = missing.map(|d| d.uid).filter(|uid| !present.contains(uid)).collect();
                missing.into_iter().for_each(|uid| self.deployment_gone(at_millis, uid));
            }
            Kind::ReplicaSet => {
                let missing =
                    self.model.replica_sets.values().filter(|s| s.removed_millis.is_none() && in_scope(&s.namespace));
                let missing: Vec<Uid> = missing.map(|s| s.uid).filter(|uid| !present.contains(uid)).collect();
                missing.into_iter().for_each(|uid| self.replica_set_gone(at_millis, uid));
            }
            Kind::Pod => {
                let missing =
                    self.model.pods.values().filter(|p| p.state() != PodState::Gone && in_scope(&p.namespace));
                let missing: Vec<Uid> = missing.map(|p| p.uid).filter(|uid| !present.contains(uid)).collect();
                missing.into_iter().for_each(|uid| self.pod_gone(at_millis, uid, None));
            }
            Kind::Event => {}
        }
        self.listed.insert((kind, namespace));
    }
}
