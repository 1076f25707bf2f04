//! Publishes to viewers: frames of topics, the list, and the first frame of a new subscription.

use timeline::view::{self, Tone};
use timeline::wire::{Objects, Position, Said, Snapshot};
use timeline::{Change, Uid, Workload};
use tokio::time::Instant;

use super::Hub;
use super::observe::renames;
use crate::hub::ListedDeployment;
use crate::hub::answer::{FirstFrame, TopicSubscription, describe_deployment};
use crate::hub::listed::STEADY_MILLIS;
use crate::hub::topic::{Flush, Topic};

/// Changes of a cluster that are searched for those that a viewer missed.
const MOST_MISSED: u64 = 4_000;

impl Hub {
    pub(super) fn publish(&mut self, flush: Flush) {
        self.is_dirty = false;
        self.published = Instant::now();
        let mut topics = std::mem::take(&mut self.topics);
        topics.retain(|_, topic| !topic.is_deserted());
        for (workload, topic) in &mut topics {
            self.publish_topic(topic, workload, flush);
        }
        self.followed = topics.values().filter_map(|topic| topic.deployment).collect();
        self.topics = topics;
    }

    fn publish_topic(&self, topic: &mut Topic, workload: &Workload, flush: Flush) {
        let now = (self.timeline.seq(), self.clock.now_millis());
        let snapshot = || self.snapshot(workload);
        let deployment = || workload.find(self.timeline.model()).map(|d| d.uid);
        let said = || self.describe(deployment());
        let view = || view::view(self.timeline.model(), deployment()?, self.now());
        topic.publish(now, self.is_ticking(), flush, snapshot, said, view);
    }

    fn describe(&self, deployment: Option<Uid>) -> Said {
        let said = |uid| describe_deployment(self.timeline.model(), uid, self.now()).with_version();
        deployment.map(said).unwrap_or_default()
    }

    pub(super) fn is_list_due(&self) -> bool {
        self.is_list_outdated() && self.is_list_followed()
    }

    pub(super) fn is_list_outdated(&self) -> bool {
        self.is_list_old || !self.outdated.is_empty() || self.list_skew_millis != self.timeline.skew_millis()
    }

    fn is_list_followed(&self) -> bool {
        self.signals.list.receiver_count() > 0
    }

    pub(super) fn publish_list(&mut self) {
        self.list_sent = Instant::now();
        let now = self.now();
        // While nobody followed the list, its lines were not kept up to date.
        let is_continued = self.was_list_followed || now.millis.saturating_sub(self.list_at_millis) < STEADY_MILLIS;
        (self.list_at_millis, self.was_list_followed) = (now.millis, self.is_list_followed());
        let model = self.timeline.model();
        if std::mem::replace(&mut self.list_skew_millis, now.skew_millis) != now.skew_millis {
            self.outdated.extend(model.deployments.keys().copied()); // lines contain times of the cluster's clock
        }
        for uid in std::mem::take(&mut self.outdated) {
            let deployment = model.deployments.get(&uid).filter(|d| d.deleted_millis.is_none());
            let summary = deployment.and_then(|deployment| Some((deployment, view::summary(model, uid, now)?)));
            let known = self.listed.get(uid);
            match summary {
                Some((deployment, summary))
                    if known.is_none_or(|k| k.summary != summary || k.labels != deployment.now.labels) =>
                {
                    let new = ListedDeployment::new(summary, deployment.now.labels.clone());
                    let new = match known.filter(|_| is_continued) {
                        Some(before) => new.continue_from(before, now.millis),
                        None => new,
                    };
                    self.listed.insert(new);
                    self.is_list_old = true;
                }
                Some(_) => {}
                None => self.is_list_old |= self.listed.remove(uid),
            }
        }
        if std::mem::take(&mut self.is_list_old) {
            self.signals.list.send_replace(self.listed.list());
        }
    }

    /// Sentences such as "not ready since 20 s" change by time alone.
    pub(super) fn look_again(&mut self) {
        self.was_list_followed &= self.is_list_followed();
        let ticking = self.listed.summaries().filter(|summary| match summary.verdict.tone {
            Tone::Ok | Tone::Quiet => !summary.verdict.why.is_empty(),
            Tone::Busy | Tone::Bad => true,
        });
        self.outdated.extend(ticking.map(|summary| summary.uid));
    }

    pub(in crate::hub) fn subscribe(&mut self, workload: Workload, since: Option<Position>) -> TopicSubscription {
        // The number of a rollout selects the hub; within a hub it means nothing.
        let workload = Workload { rollout: None, ..workload };
        let deployment = workload.find(self.timeline.model()).map(|d| d.uid);
        let seq = self.timeline.seq();
        let mut topic = match self.topics.remove(&workload).filter(|topic| !topic.is_deserted()) {
            Some(mut topic) => {
                // The topic must have sent all that the snapshot contains, and the new viewer must get current sentences.
                self.publish_topic(&mut topic, &workload, Flush::Now);
                topic
            }
            None => Topic::new(deployment, seq, self.counters.clone()),
        };
        let now_millis = self.clock.now_millis();
        let resumed = since.and_then(|at| {
            topic.resume(at, now_millis, || self.missed_changes(deployment?, at), || self.describe(deployment))
        });
        let frame = resumed.unwrap_or_else(|| topic.snapshot(|| self.snapshot(&workload)));
        let frames = topic.listen();
        self.followed.extend(topic.deployment);
        self.topics.insert(workload, topic);
        self.is_dirty = true; // the next publication removes topics without followers
        (FirstFrame { frame, now_millis }, frames)
    }

    /// Returns the changes of a Deployment that the copy of a viewer lacks; `None` if it needs a snapshot.
    fn missed_changes(&self, deployment: Uid, at: Position) -> Option<Vec<Change>> {
        let count = self.timeline.seq().checked_sub(at.seq)?;
        if at.epoch == self.epoch {
            if self.touched.get(&deployment).is_none_or(|touched| *touched <= at.seq) {
                return Some(Vec::new());
            }
        } else if self.before.is_none_or(|before| at.epoch != before.epoch || at.seq > before.seq) {
            return None;
        }
        if count > MOST_MISSED {
            return None;
        }
        let model = self.timeline.model();
        // With more changes than pods a snapshot is smaller.
        let most = model.pods_of_deployment(deployment).len();
        let mut missed = Vec::new();
        for change in self.history.last(count)? {
            if !change.travels() || !model.deployments_of(change).contains(&deployment) {
                continue;
            }
            // These may link objects to the Deployment that the copy lacks.
            let is_tie = matches!(change, Change::ReplicaSet(_) | Change::ReplicaSetOwner(..) | Change::PodAdopted(..));
            if is_tie || renames(change) || missed.len() == most {
                return None;
            }
            missed.push(change.clone());
        }
        Some(missed)
    }

    fn snapshot(&self, workload: &Workload) -> Snapshot {
        let (model, snapshot) = (self.timeline.model(), self.bare_snapshot(workload));
        let deployment = snapshot.deployment;
        let objects = deployment.map(|uid| Objects::of(model, uid)).unwrap_or_default();
        Snapshot { objects, said: self.describe(deployment), ..snapshot }
    }

    /// Copies the data of a page: a Deployment with its objects and everything that its sentences name. The returned
    /// function makes the page, outside of the hub's task.
    pub(in crate::hub) fn page(&self, workload: &Workload) -> Box<dyn FnOnce() -> Snapshot + Send> {
        let (snapshot, now) = (self.bare_snapshot(workload), self.now());
        let model = snapshot.deployment.map(|uid| self.timeline.model().around(uid)).unwrap_or_default();
        Box::new(move || {
            let of = |uid| (Objects::of(&model, uid), describe_deployment(&model, uid, now).with_version());
            let (objects, said) = snapshot.deployment.map(of).unwrap_or_default();
            Snapshot { objects, said, ..snapshot }
        })
    }

    /// Returns the snapshot of a Deployment without its objects and sentences.
    fn bare_snapshot(&self, workload: &Workload) -> Snapshot {
        Snapshot {
            epoch: self.epoch,
            seq: self.timeline.seq(),
            cluster: self.name.to_string(),
            now_millis: self.clock.now_millis(),
            deployment: workload.find(self.timeline.model()).map(|d| d.uid),
            looking_since_millis: self.looking_since_millis,
            objects: Objects::default(),
            said: Said::default(),
        }
    }
}
