//! Changes that nobody sees, and the lists that tell them.

use std::collections::BTreeMap;

use timeline::fact::{DeploymentNow, Kind, PodFact, ReplicaSetFact, Seen};
use timeline::{Fact, Millis};

use super::Web;

impl Web {
    /// A list of a kind is complete: what there is, is there.
    pub fn listed(&mut self, kind: Kind, gap_since_millis: Option<Millis>) {
        let present = match kind {
            Kind::Deployment => vec![self.deployment.meta.uid],
            Kind::ReplicaSet => self.sets.values().map(|set| set.meta.uid).collect(),
            Kind::Pod => self.pods.values().map(|pod| pod.meta.uid).collect(),
            Kind::Event => Vec::new(),
        };
        self.tell(Fact::Listed { kind, namespace: None, present, gap_since_millis });
    }

    /// Something goes without being seen: only the next list tells it.
    pub fn lose_set(&mut self, number: u128) {
        self.sets.remove(&number);
    }

    /// The same of a pod.
    pub fn lose_pod(&mut self, number: u128) {
        self.pods.remove(&number);
    }

    /// What exists is what existed there.
    pub fn restore(&mut self, backup: &Self) {
        (self.deployment, self.sets, self.pods) = (backup.deployment.clone(), backup.sets.clone(), backup.pods.clone());
    }

    /// Everything changes without being seen, until lists tell it.
    pub fn unseen(&mut self, change: impl FnOnce(&mut DeploymentNow, &mut BTreeMap<u128, ReplicaSetFact>)) {
        change(&mut self.deployment.now, &mut self.sets);
    }

    pub fn unseen_pod(&mut self, number: u128, change: impl FnOnce(&mut PodFact)) {
        change(self.pods.get_mut(&number).unwrap());
    }

    /// Somebody begins to watch who may not read pods.
    pub fn first_listed_without_pods(&self) -> Self {
        let mut web = Self { sets: self.sets.clone(), ..Self::unwatched(self.deployment.clone(), self.now) };
        web.relist(None);
        web
    }

    /// Everything is listed again after nobody looked since then: owners first, as they are asked for.
    pub fn relisted(&mut self, gap_since_millis: Millis) {
        self.relist(Some(gap_since_millis));
    }

    fn relist(&mut self, gap_since_millis: Option<Millis>) {
        self.tell(Fact::Deployment(Box::new(self.deployment.clone()), Seen::InList));
        self.listed(Kind::Deployment, gap_since_millis);
        for set in self.sets.values().cloned().collect::<Vec<_>>() {
            self.tell(Fact::ReplicaSet(Box::new(set), Seen::InList));
        }
        self.listed(Kind::ReplicaSet, gap_since_millis);
        for pod in self.pods.values().cloned().collect::<Vec<_>>() {
            self.tell(Fact::Pod(Box::new(pod), Seen::InList));
        }
        self.listed(Kind::Pod, gap_since_millis);
    }

    /// Somebody begins to watch now: the same objects, in first lists.
    pub fn first_listed(&self) -> Self {
        let (sets, pods) = (self.sets.clone(), self.pods.clone());
        let mut web = Self { sets, pods, ..Self::unwatched(self.deployment.clone(), self.now) };
        web.relist(None);
        web
    }
}
