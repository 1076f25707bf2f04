//! The exact past: a base model, and every change since, in order. The model of a moment is the base with the changes up to it applied, so
//! its sentences are those that were shown then.

use std::collections::vec_deque::Iter;
use std::collections::{BTreeSet, VecDeque};
use std::iter::Peekable;

use serde::{Deserialize, Serialize};

use crate::model::change::{Pruned, Subject};
use crate::model::fact::{Condition, Container, ContainerState, Image};
use crate::model::story::Happening;
use crate::model::{DeploymentNow, Event, Pod, PodNow, ReplicaSet, ReplicaSetNow};
use crate::{Change, Millis, Model, Uid};

/// Maximum weight of the stored changes; older ones are merged into the base. Large changes count several times.
pub const MOST_CHANGES: usize = 40_000;
/// A change counts once more for each so many labels, images or containers that it holds.
const PARTS: usize = 8;
/// Additional weight for each so many bytes of image names, texts of an Event, and messages of conditions and containers: clusters hardly
/// limit them.
const BYTES: usize = 512;
/// Bytes of a pod's messages without additional weight: failing pods have some.
const POD_BYTES: usize = 4 << 10;

/// The past of one cluster, as a base model and changes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct History {
    /// The model before the first stored change. Its pods are not indexed, as nothing queries their counts.
    base: Model,
    /// The first moment that can be rebuilt exactly.
    base_millis: Option<Millis>,
    log: VecDeque<(Millis, Change)>,
    /// Sum of the weights of the changes.
    weight: usize,
}

/// Returns the number of changes of [`MOST_CHANGES`] that a change stands for.
fn weight(change: &Change) -> usize {
    let of_images = |images: &[Image]| (images.len(), images.iter().map(|image| image.image.len()).sum::<usize>());
    let of_condition = |told: Option<&Condition>| told.map_or(0, |told| told.message.len());
    let of_deployment = |now: &DeploymentNow| {
        let (count, bytes) = of_images(&now.spec.images);
        let [progressing, failure] = [&now.status.progressing, &now.status.replica_failure].map(Option::as_ref);
        (now.labels.len() + count, bytes + of_condition(progressing) + of_condition(failure))
    };
    let of_set = |now: &ReplicaSetNow| of_condition(now.failure.as_ref());
    let of_pod = |now: &PodNow| (now.containers.len(), pod_texts(now).saturating_sub(POD_BYTES));
    let of_event = |event: &Event| {
        let texts = [&event.about.0, &event.about.1, &event.container, &event.reason, &event.message];
        (0, texts.iter().map(|text| text.len()).sum::<usize>())
    };
    let (parts, bytes): (usize, usize) = match change {
        Change::Deployment(deployment) => of_deployment(&deployment.now),
        Change::DeploymentNow(_, now) => of_deployment(now),
        Change::Pod(pod) => of_pod(&pod.now),
        Change::PodNow(_, now) => of_pod(now),
        Change::Rollout(_, _, rollout) => of_images(&rollout.images),
        Change::ReplicaSet(set) => {
            let (count, bytes) = of_images(&set.images);
            (count, bytes + of_set(&set.now))
        }
        Change::ReplicaSetNow(_, now) => (0, of_set(now)),
        Change::Event(_, event) => of_event(event),
        Change::Story(_, entry) if let Happening::Event(event) = &entry.what => of_event(event),
        _ => (0, 0),
    };
    1 + parts / PARTS + bytes / BYTES
}

/// Counts the bytes of the messages of a pod, its conditions and its containers.
fn pod_texts(now: &PodNow) -> usize {
    let of_container = |container: &Container| {
        let state = match &container.state {
            Some(ContainerState::Waiting { message, .. } | ContainerState::Terminated { message, .. }) => message.len(),
            Some(ContainerState::Running) | None => 0,
        };
        let exits = container.last_exit.iter().chain(&container.exit_before_restart);
        let exits: usize = exits.map(|exit| exit.message.len()).sum();
        state + exits + container.waits_for_image.len()
    };
    let conditions: usize = now.conditions.iter().map(|told| told.message.len()).sum();
    let containers: usize = now.containers.iter().map(of_container).sum();
    now.message.len() + now.pull_error.len() + conditions + containers
}

impl History {
    /// Adds changes in the order in which they were made. A time before the last one is replaced by that.
    pub fn note(&mut self, at_millis: Millis, changes: &[Change]) {
        changes.iter().for_each(|change| self.push(at_millis, change.clone()));
    }

    /// Adds one change.
    pub fn push(&mut self, at_millis: Millis, change: Change) {
        let at_millis = self.log.back().map_or(at_millis, |(last, _)| at_millis.max(*last));
        self.weight += weight(&change);
        self.log.push_back((at_millis, change));
        while self.weight > MOST_CHANGES && !self.log.is_empty() {
            self.fold_first();
        }
    }

    /// Removes moments before that time.
    pub fn prune(&mut self, before_millis: Millis) {
        while self.log.front().is_some_and(|(at, _)| *at < before_millis) {
            self.fold_first();
        }
    }

    fn fold_first(&mut self) {
        if let Some((at, change)) = self.log.pop_front() {
            self.weight = self.weight.saturating_sub(weight(&change));
            self.base.stop_pod_index();
            self.base.apply_change(change);
            self.base_millis = Some(at);
        }
    }

    /// Shares equal pods between the base and the present model: after a restore each has its own copy.
    pub fn share_pods(&mut self, now: &Model) {
        for pod in now.pods.values() {
            if let Some(known) = self.base.pods.get_mut(&pod.uid)
                && known.now == pod.now
            {
                known.now = pod.now.clone();
            }
        }
    }

    /// Returns the stored changes of one object.
    pub fn of(&self, subject: Subject) -> impl Iterator<Item = (Millis, &Change)> {
        self.log.iter().filter(move |(_, change)| change.subject() == subject).map(|(at, change)| (*at, change))
    }

    /// Returns a pod as it was before the first stored change; `None` if it appeared later.
    pub fn pod_before(&self, pod: Uid) -> Option<&Pod> {
        self.base.pods.get(&pod)
    }

    /// Rebuilds the model at that time, which is not before [`Self::base_millis`].
    pub fn at(&self, at_millis: Millis) -> Model {
        debug_assert!(self.base_millis.is_none_or(|base| base <= at_millis), "this moment is not kept any more");
        let mut walk = self.walk();
        walk.to(at_millis);
        walk.then
    }

    /// Returns a cursor at the first known moment of the past.
    pub fn walk(&self) -> HistoryCursor<'_> {
        let mut then = self.base.clone();
        then.resume_pod_index();
        HistoryCursor { then, log: self.log.iter().peekable() }
    }

    /// Returns the past of a Deployment with its objects. `now` is the present model, which determines those objects.
    pub fn only(&self, now: &Model, deployment: Uid) -> Self {
        let mine = belonging(now, deployment);
        let is_mine = |change: &Change| mine.contains(&change.subject()) || matches!(change, Change::Unseen(..));
        let log = self.log.iter().filter(|(_, change)| is_mine(change)).cloned().collect();
        Self::of_changes(self.base.only_of(&mine), self.base_millis, log)
    }

    /// Returns a part of the past of one Deployment, with its state at the end. It leaves out objects that ended before and changes that
    /// came later, other Deployments of its name, and ReplicaSets without pods in that time unless their revision was rolled out.
    pub fn excerpt(&self, deployment: Uid, from_millis: Millis, to_millis: Millis) -> (Self, Model) {
        let mut walk = self.walk();
        walk.to(from_millis.min(to_millis));
        let HistoryCursor { then: mut base, log } = walk;
        let own = std::mem::take(&mut base.deployments);
        base.deployments.extend(own.get(&deployment));
        if base.deployments.contains_key(&deployment) {
            let pruned = Pruned::before(&base, deployment, from_millis);
            base.apply_change(Change::Pruned(Some(deployment), Box::new(pruned)));
        }
        let is_other = |subject| matches!(subject, Subject::Deployment(uid) if uid != deployment);
        let is_in = |(at, change): &&(Millis, Change)| *at <= to_millis && !is_other(change.subject());
        let mut log: VecDeque<_> = log.filter(is_in).cloned().collect();
        let end = |base: &Model, log: &VecDeque<(Millis, Change)>| {
            let mut then = base.clone();
            log.iter().for_each(|(_, change)| then.apply_change(change.clone()));
            then
        };
        let mut then = end(&base, &log);
        // A cluster keeps old ReplicaSets without pods, up to the revision history limit.
        let unused = unused_sets(&then, deployment);
        if !unused.is_empty() {
            let gone = |subject| matches!(subject, Subject::ReplicaSet(uid) if unused.contains(&uid));
            log.retain(|(_, change)| !gone(change.subject()));
            let sets = unused.iter().copied().collect();
            let pruned = Pruned { before_millis: Some(from_millis), pods: Vec::new(), sets };
            base.apply_change(Change::Pruned(Some(deployment), Box::new(pruned)));
            then = end(&base, &log);
        }
        (Self::of_changes(base, Some(from_millis), log), then)
    }

    /// Creates a past that knows only its end.
    pub fn end(base: Model, at_millis: Millis) -> Self {
        Self::of_changes(base, Some(at_millis), VecDeque::new())
    }

    fn of_changes(base: Model, base_millis: Option<Millis>, log: VecDeque<(Millis, Change)>) -> Self {
        let weight = log.iter().map(|(_, change)| weight(change)).sum();
        Self { base, base_millis, log, weight }
    }

    /// Returns the stored changes, in order, with their times.
    pub fn changes(&self) -> impl Iterator<Item = (Millis, &Change)> {
        self.log.iter().map(|(at, change)| (*at, change))
    }

    /// Returns the last changes, oldest first; `None` if some of them are not stored.
    pub fn last(&self, count: u64) -> Option<impl Iterator<Item = &Change>> {
        let first = self.log.len().checked_sub(usize::try_from(count).ok()?)?;
        Some(self.log.range(first..).map(|(_, change)| change))
    }

    /// Returns the time to use for sentences of a moment. In a gap of the Deployment it is the time of the last observation, so that
    /// durations do not include the gap.
    pub fn heard_millis(&self, deployment: Uid, at_millis: Millis) -> Millis {
        let gap_since = |change: &Change| match change {
            Change::Gap(_, gap) => (gap.from_millis..gap.to_millis).contains(&at_millis).then_some(gap.from_millis),
            _ => None,
        };
        let since = self.of(Subject::Deployment(deployment)).find_map(|(_, change)| gap_since(change));
        // Kinds are listed one after the other.
        let last = || self.changes().map(|(at, _)| at).take_while(|at| *at <= at_millis).last();
        since.map_or(at_millis, |since| last().map_or(since, |last| last.max(since)))
    }

    /// Returns the time of the last change.
    pub fn last_millis(&self) -> Option<Millis> {
        self.log.back().map(|(at, _)| *at)
    }

    /// Returns the first moment that can be rebuilt exactly.
    pub const fn base_millis(&self) -> Option<Millis> {
        self.base_millis
    }
}

/// Returns the ReplicaSets of a Deployment without a pod and without a revision of one of its rollouts.
fn unused_sets(model: &Model, deployment: Uid) -> BTreeSet<Uid> {
    let rollouts = model.deployments.get(&deployment).map(|known| known.rollouts.as_slice()).unwrap_or_default();
    let is_unused = |set: &&ReplicaSet| {
        model.pods_of(set.uid).next().is_none() && !rollouts.iter().any(|rollout| set.had_revision(rollout.revision))
    };
    model.sets_of(deployment).filter(is_unused).map(|set| set.uid).collect()
}

/// Position in the past that only moves forwards.
#[derive(Debug)]
pub struct HistoryCursor<'h> {
    then: Model,
    log: Peekable<Iter<'h, (Millis, Change)>>,
}

impl HistoryCursor<'_> {
    /// Advances to the model at that time, which is not before that of the last call.
    pub fn to(&mut self, at_millis: Millis) -> &Model {
        while let Some((_, change)) = self.log.next_if(|(at, _)| *at <= at_millis) {
            self.then.apply_change(change.clone());
        }
        &self.then
    }
}

/// Returns a Deployment, others of its name, and their objects.
fn belonging(now: &Model, deployment: Uid) -> BTreeSet<Subject> {
    // Sentences mention other Deployments of the same name.
    let known = now.deployments.get(&deployment);
    let named = known.into_iter().flat_map(|known| now.find_all(&known.namespace, &known.name));
    let sets = now.sets_of(deployment).map(|set| Subject::ReplicaSet(set.uid));
    let pods = now.pods_of_deployment(deployment).into_iter().map(|pod| Subject::Pod(pod.uid));
    named.map(|other| Subject::Deployment(other.uid)).chain(sets).chain(pods).collect()
}

impl Model {
    /// Returns the model of a Deployment, its objects, and the Deployments of its name that its sentences mention.
    pub fn around(&self, deployment: Uid) -> Self {
        self.only_of(&belonging(self, deployment))
    }

    /// Returns a model with these objects, as far as they are known.
    fn only_of(&self, mine: &BTreeSet<Subject>) -> Self {
        let mut only = Self::default();
        only.unseen.clone_from(&self.unseen);
        for subject in mine {
            match subject {
                Subject::Deployment(uid) => only.deployments.extend(self.deployments.get(uid)),
                Subject::ReplicaSet(uid) => only.replica_sets.extend(self.replica_sets.get(uid)),
                Subject::Pod(uid) => only.pods.extend(self.pods.get(uid)),
                Subject::Nothing => {}
            }
        }
        only.index();
        only
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::container::Role;
    use crate::model::story::Entry;
    use crate::model::{PodState, Rollout};

    #[test]
    fn pods_of_a_moment_are_counted_though_the_first_model_has_no_counts() {
        let (uid, set) = (Uid::from_bits(1), Uid::from_bits(2));
        let states = vec![(PodState::Starting, 1)];
        let pod = Pod { uid, owners: vec![set], owner: Some(set), states, ..Pod::default() };
        let mut history = History::default();
        history.push(1, Change::Pod(Box::new(pod)));
        for (at_millis, state) in [(2, PodState::Failing), (3, PodState::Available), (4, PodState::Failing)] {
            history.push(at_millis, Change::PodState(uid, state, at_millis));
        }
        history.prune(4);
        let counts = [3, 4].map(|at_millis| history.at(at_millis).pod_counts(set));
        assert_eq!(counts.map(|counts| (counts.available, counts.failing)), [(1, 0), (0, 1)]);
        assert_eq!(history.base_millis(), Some(3));
    }

    #[test]
    fn pods_that_did_not_change_since_are_shared_with_the_model_of_now() {
        let uids = [1, 2].map(Uid::from_bits);
        let (mut history, mut model) = (History::default(), Model::default());
        for uid in uids {
            let pod = || Change::Pod(Box::new(Pod { uid, ..Pod::default() }));
            history.push(1, pod());
            model.apply_change(pod());
        }
        let message = "The node was low on resource: memory.".to_owned();
        model.apply_change(Change::PodNow(uids[1], Arc::new(PodNow { message, ..PodNow::default() })));
        history.prune(2);
        let shared = |history: &History| {
            let pods = uids.map(|uid| [&history.base, &model].map(|one| one.pods.get(&uid).unwrap()));
            pods.map(|[first, now]| Arc::ptr_eq(&first.now, &now.now))
        };
        assert_eq!(shared(&history), [false, false]);
        history.share_pods(&model);
        assert_eq!(shared(&history), [true, false]);
    }

    #[test]
    fn large_changes_leave_room_for_fewer() {
        let containers = vec![Container::new("web".to_owned(), Role::App); 9_999 * PARTS];
        let large = Change::PodNow(Uid::from_bits(1), Arc::new(PodNow { containers, ..PodNow::default() }));
        let mut history = History::default();
        (1..=5).for_each(|at_millis| history.push(at_millis, large.clone()));
        assert_eq!((history.log.len(), history.base_millis()), (4, Some(1)));
        (6..=10_005).for_each(|at_millis| {
            history.push(at_millis, Change::PodState(Uid::from_bits(1), PodState::Failing, at_millis))
        });
        assert_eq!((history.log.len(), history.base_millis()), (10_003, Some(2)));
    }

    #[test]
    fn long_texts_leave_room_for_fewer() {
        let (uid, long) = (Uid::from_bits(1), "x".repeat(99 * BYTES));
        let event = Event { message: long.clone(), ..Event::default() };
        let what = Happening::Event(Box::new(Event { reason: long.clone(), ..Event::default() }));
        let failure = Some(Condition { message: long.clone(), ..Condition::default() });
        let message = "x".repeat(99 * BYTES + POD_BYTES);
        let images = vec![Image { container: "web".to_owned(), image: long }];
        for large in [
            Change::ReplicaSetNow(uid, Box::new(ReplicaSetNow { failure, ..ReplicaSetNow::default() })),
            Change::PodNow(uid, Arc::new(PodNow { message, ..PodNow::default() })),
            Change::Event(uid, Box::new(event)),
            Change::Story(uid, Box::new(Entry { id: 1, at_millis: 1, what })),
            Change::Rollout(uid, 0, Box::new(Rollout { images, ..Rollout::default() })),
        ] {
            let mut history = History::default();
            (1..=500).for_each(|at_millis| history.push(at_millis, large.clone()));
            assert_eq!(history.log.len(), MOST_CHANGES / 100, "{:?}", large.subject());
        }
    }
}
