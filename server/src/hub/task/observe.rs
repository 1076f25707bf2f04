//! Applies the events of sources to the timeline; the changes go to the history and to the topics that they touch.

use std::sync::atomic::Ordering;

use timeline::fact::{Kind, Seen};
use timeline::model::{Pod, ReplicaSet};
use timeline::{Change, Fact, Millis, Model, Uid, Workload};

use super::Hub;
use crate::kube::translate::Object;
use crate::kube::{Health, InitialState, Observed, SourceEvent, odd};
use crate::telemetry::clock::Clock;

impl Hub {
    /// Applies an event of a source to the timeline.
    pub(in crate::hub) fn event(&mut self, event: SourceEvent) {
        match event {
            SourceEvent::Page { objects, at_millis, .. } => {
                objects.into_iter().for_each(|object| self.object(at_millis, object, Seen::InList));
            }
            SourceEvent::Reset { kind, namespace, earlier, objects, gap_since_millis, at_millis } => {
                // As in the timeline: missed Events leave no gap.
                let since_millis = gap_since_millis.filter(|_| kind != Kind::Event);
                let is_gap = since_millis.is_some_and(|since_millis| since_millis < at_millis);
                self.counters.gaps.fetch_add(u64::from(is_gap), Ordering::Relaxed);
                let mut present = earlier;
                present.extend(objects.iter().filter_map(|object| object.uid().ok()));
                objects.into_iter().for_each(|object| self.object(at_millis, object, Seen::InList));
                self.is_listed = true;
                self.observe(at_millis, Fact::Listed { kind, namespace, present, gap_since_millis });
            }
            SourceEvent::Object { object, seen, at_millis } => {
                let kind = object.kind();
                self.object(at_millis, object, seen);
                self.counters.lags.get(kind).note(at_millis, self.clock.now_millis());
            }
            SourceEvent::Health { kind, namespace, health } => {
                match &health {
                    Health::Forbidden { verb: "list" } => {
                        let since_millis = self.seen_until_millis(kind, namespace.clone());
                        self.note_unseen(kind, namespace.clone(), Some(since_millis));
                    }
                    Health::Live => self.note_unseen(kind, namespace.clone(), None),
                    Health::Connecting { .. } | Health::Stale { .. } | Health::Forbidden { .. } => {}
                }
                self.watches.note(kind, namespace, health);
                self.tell_connection();
            }
            SourceEvent::Answers { silent } => {
                self.watches.silent = silent;
                self.tell_connection();
            }
            SourceEvent::Begins(initial) => self.restore(*initial),
            SourceEvent::Played { name, clock } => {
                self.watches.recording = Some(name);
                self.set_clock(clock);
            }
            SourceEvent::Recorded { observed, .. } => self.apply_recorded(*observed),
            SourceEvent::Paced(clock) => {
                self.timeline.set_speed(Clock::Own(clock).percent());
                self.set_clock(self.not_before(clock));
            }
            SourceEvent::Unwritten(unwritten) => {
                self.unwritten = unwritten;
                self.tell_connection();
            }
            SourceEvent::ClockSet { by_millis } => self.timeline.clock_was_set(by_millis),
        }
    }

    pub(super) fn restore(&mut self, initial: InitialState) {
        let InitialState { timeline, history, before, observed, looking_since_millis, heard_millis } = initial;
        (self.timeline, self.history, self.observed, self.heard_millis) = (timeline, history, observed, heard_millis);
        self.before = before;
        self.looking_since_millis = looking_since_millis.unwrap_or(self.looking_since_millis);
        self.renew();
        let unlisted: Vec<_> = self.watches.forbidden_lists().cloned().collect();
        let now_millis = self.clock.now_millis();
        unlisted.into_iter().for_each(|(kind, namespace)| self.note_unseen(kind, namespace, Some(now_millis)));
    }

    fn apply_recorded(&mut self, Observed { at_millis, fact }: Observed) {
        match fact {
            Some(fact) => self.observe(at_millis, fact),
            None => {
                self.note_time(at_millis);
                self.tick(at_millis);
            }
        }
    }

    pub(super) fn tick(&mut self, at_millis: Millis) {
        let changes = self.timeline.tick(at_millis);
        self.apply_changes(at_millis, changes);
    }

    /// Returns when a kind that is forbidden from now on was last seen; before the restart, if it was not listed since.
    fn seen_until_millis(&self, kind: Kind, namespace: Option<String>) -> Millis {
        let since_millis = match self.watches.health.get(&(kind, namespace)) {
            Some(Health::Connecting { .. }) => self.heard_millis,
            Some(Health::Stale { since_millis, .. }) => Some(*since_millis),
            _ => None,
        };
        since_millis.unwrap_or_else(|| self.clock.now_millis())
    }

    /// Records since when a kind is forbidden, or that it is allowed again. That changes sentences of every Deployment.
    fn note_unseen(&mut self, kind: Kind, namespace: Option<String>, since_millis: Option<Millis>) {
        let changes = self.timeline.apply(self.clock.now_millis(), Fact::Unseen { kind, namespace, since_millis });
        if !changes.is_empty() {
            self.outdated.extend(self.timeline.model().deployments.keys().copied());
            self.apply_changes(self.clock.now_millis(), changes);
        }
    }

    fn object(&mut self, at_millis: Millis, object: Object, seen: Seen) {
        if odd::is_odd(&object, at_millis) {
            self.counters.odd.fetch_add(1, Ordering::Relaxed);
        }
        if let Ok(Some(fact)) = object.fact(seen) {
            self.observe(at_millis, fact);
        }
    }

    fn observe(&mut self, at_millis: Millis, fact: Fact) {
        self.counters.facts.fetch_add(1, Ordering::Relaxed);
        // Clocks may be set back between two runs of which the second resumes the first.
        let at_millis = at_millis.max(self.heard_millis.unwrap_or(Millis::MIN));
        self.note_time(at_millis);
        let changes = self.timeline.apply(at_millis, fact);
        self.apply_changes(at_millis, changes);
    }

    fn note_time(&mut self, at_millis: Millis) {
        let (from, _) = self.observed.unwrap_or((at_millis, at_millis));
        self.observed = Some((from, at_millis));
    }

    /// Counts and stores changes, and forwards them to their topics.
    pub(super) fn apply_changes(&mut self, at_millis: Millis, changes: Vec<Change>) {
        self.counters.changes.fetch_add(changes.len() as u64, Ordering::Relaxed);
        for change in changes {
            self.is_dirty |= !self.topics.is_empty();
            self.counters.rollouts.note(self.timeline.model(), at_millis, &change);
            self.forward_change(&change);
            self.history.push(at_millis, change);
        }
    }

    fn forward_change(&mut self, change: &Change) {
        if let Change::Pruned(Some(uid), what) = change
            && what.before_millis.is_none()
        {
            self.forget_deployment(*uid);
            return;
        }
        let model = self.timeline.model();
        for uid in model.deployments_of(change) {
            // ReplicaSets may name any UID as their owner.
            let Some(deployment) = model.deployments.get(&uid) else {
                continue;
            };
            self.touched.insert(uid, self.timeline.seq());
            self.outdated.insert(uid);
            // A change of a name's owner affects topics of another Deployment, too.
            if self.topics.is_empty() || !(renames(change) || self.followed.contains(&uid)) {
                continue;
            }
            let (cluster, namespace, name) = (&*self.name, &*deployment.namespace, &*deployment.name);
            for uid_asked in [None, Some(uid)] {
                let workload = Workload::deployment(cluster, namespace, name).with_uid(uid_asked);
                let Some(topic) = self.topics.get_mut(&workload) else {
                    continue;
                };
                if renames(change) || brings_known_objects(model, change, uid) {
                    topic.renew(workload.find(model).map(|d| d.uid));
                } else if topic.deployment == Some(uid) {
                    topic.push(change);
                }
            }
        }
    }

    /// Forgets a Deployment that was removed from the timeline.
    pub(super) fn forget_deployment(&mut self, uid: Uid) {
        self.touched.remove(&uid);
        self.outdated.remove(&uid);
        self.is_list_old |= self.listed.remove(uid);
    }
}

/// Returns whether another Deployment may have the name of one after a change.
pub(super) const fn renames(change: &Change) -> bool {
    matches!(change, Change::Deployment(_) | Change::DeploymentDeleted(..))
}

/// Returns whether a change links known objects to a Deployment: copies of the Deployment lack them, and only a
/// snapshot has them.
fn brings_known_objects(model: &Model, change: &Change, deployment: Uid) -> bool {
    match change {
        Change::ReplicaSet(set) => model.pods_of(set.uid).next().is_some(),
        Change::ReplicaSetOwner(_, owner, _) => *owner == Some(deployment),
        Change::PodAdopted(pod, set, _) => {
            let is_first_time = |pod: &Pod| pod.owners.len() > 1 && pod.owners.last() == Some(set);
            let is_owner = |set: &ReplicaSet| set.owners.contains(&deployment);
            model.pods.get(pod).is_some_and(is_first_time) && model.replica_sets.get(set).is_some_and(is_owner)
        }
        _ => false,
    }
}
