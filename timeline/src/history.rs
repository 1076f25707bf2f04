//! The past, exactly: what was known first, and every change since, in order. A moment is the one with the others up to it
//! applied, so what is said of it is what was said then.

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::change::Subject;
use crate::{Change, Millis, Model, Uid};

/// Most changes that are kept; older ones become part of what was known first.
pub const MOST_CHANGES: usize = 40_000;

/// The past of one cluster.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct History {
    base: Model,
    /// Moments before this cannot be told exactly any more.
    base_millis: Option<Millis>,
    log: VecDeque<(Millis, Change)>,
}

impl History {
    /// Takes changes in the order in which they were made. A time that goes back counts as the last one.
    pub fn note(&mut self, at_millis: Millis, changes: &[Change]) {
        let at_millis = self.log.back().map_or(at_millis, |(last, _)| at_millis.max(*last));
        self.log.extend(changes.iter().map(|change| (at_millis, change.clone())));
        while self.log.len() > MOST_CHANGES {
            self.fold_first();
        }
    }

    /// Lets go of moments before that time.
    pub fn forget(&mut self, before_millis: Millis) {
        while self.log.front().is_some_and(|(at, _)| *at < before_millis) {
            self.fold_first();
        }
    }

    fn fold_first(&mut self) {
        if let Some((at, change)) = self.log.pop_front() {
            self.base.apply_change(&change);
            self.base_millis = Some(at);
        }
    }

    /// What happened to one object, as far as it is kept.
    pub fn of(&self, subject: Subject) -> impl Iterator<Item = (Millis, &Change)> {
        self.log.iter().filter(move |(_, change)| change.subject() == subject).map(|(at, change)| (*at, change))
    }

    /// A Deployment with all that belonged to it at that time; `None` when that cannot be told any more. `now` is the model
    /// as it is: it tells what belongs to the Deployment.
    #[must_use]
    pub fn at(&self, now: &Model, deployment: Uid, at_millis: Millis) -> Option<Model> {
        if self.base_millis.is_some_and(|base| at_millis < base) {
            return None;
        }
        let mut then = Model::default();
        let mut mine = BTreeSet::new();
        // Others of the same name are spoken of.
        let name = now.deployments.get(&deployment).map(|known| (&known.namespace, &known.name));
        for other in now.deployments.values().filter(|other| Some((&other.namespace, &other.name)) == name) {
            mine.insert(Subject::Deployment(other.uid));
            then.deployments.extend(self.base.deployments.get(&other.uid));
        }
        for set in now.sets_of(deployment) {
            mine.insert(Subject::ReplicaSet(set.uid));
            then.replica_sets.extend(self.base.replica_sets.get(&set.uid));
        }
        for pod in now.pods_of_deployment(deployment) {
            mine.insert(Subject::Pod(pod.uid));
            then.pods.extend(self.base.pods.get(&pod.uid));
        }
        then.index();
        for (_, change) in self.log.iter().take_while(|(at, _)| *at <= at_millis) {
            if mine.contains(&change.subject()) {
                then.apply_change(change);
            }
        }
        Some(then)
    }
}
