//! Queries of a model: ownership, and whether data is visible.

use super::change::Subject;
use super::pod_index::{self, PodIndex};
use super::story::{Entry, Happening};
use super::{Deployment, EndReason, LayerCounts, Model, Pod, PodCounts, PodMove, ReplicaSet, Scale};
use crate::model::fact::Kind;
use crate::model::hash::fnv1a;
use crate::model::order;
use crate::model::table::Links;
use crate::{Change, Millis, Uid};

impl Model {
    /// Returns the ReplicaSets that `deployment` controls or ever controlled, by arrival.
    pub fn sets_of(&self, deployment: Uid) -> impl Iterator<Item = &ReplicaSet> {
        let sets = self.linked_sets(deployment).collect();
        order::sort_by(sets, |set: &&ReplicaSet| (set.first_seen_millis, set.uid.bits())).into_iter()
    }

    /// Like [`Self::sets_of`], in no order.
    fn linked_sets(&self, deployment: Uid) -> impl Iterator<Item = &ReplicaSet> {
        self.replica_sets.in_rows(self.sets_of.rows_of(deployment))
    }

    /// Returns the ReplicaSets that `deployment` controls now, in no order, including deleted ones that still have pods.
    pub fn controlled_sets(&self, deployment: Uid) -> impl Iterator<Item = &ReplicaSet> {
        self.linked_sets(deployment).filter(move |set| set.owner == Some(deployment))
    }

    /// Returns the ReplicaSets that `deployment` controls now and that exist.
    pub fn owned_sets(&self, deployment: Uid) -> impl Iterator<Item = &ReplicaSet> {
        self.controlled_sets(deployment).filter(|set| set.removed_millis.is_none())
    }

    /// Returns the steps of ReplicaSets while `deployment` controlled them, in order.
    pub fn scales_of(&self, deployment: Uid) -> Vec<(Uid, &Scale)> {
        let scales = self.sets_of(deployment).flat_map(|set| set.scales.iter().map(|scale| (set.uid, scale)));
        let own = scales.filter(|(_, scale)| scale.deployment == deployment).collect();
        order::sort_by(own, |(_, scale)| (scale.at_millis, u128::from(scale.order)))
    }

    /// Returns the pods that `replica_set` controls or ever controlled, by UID.
    pub fn pods_of(&self, replica_set: Uid) -> impl Iterator<Item = &Pod> {
        self.pods.in_rows(self.pods_of.rows_of(replica_set))
    }

    /// Returns the pods that `replica_set` controls now, or controlled until they were deleted, by UID.
    pub fn controlled_pods(&self, replica_set: Uid) -> impl Iterator<Item = &Pod> {
        self.pods_of(replica_set).filter(move |pod| pod.owner == Some(replica_set))
    }

    /// Returns whether a ReplicaSet controls or controlled known pods.
    pub fn has_pods(&self, replica_set: Uid) -> bool {
        self.pod_index.has_pods(replica_set)
    }

    /// Counts the pods of a ReplicaSet.
    pub fn pod_counts(&self, replica_set: Uid) -> PodCounts {
        self.pod_index.counts(replica_set)
    }

    /// Returns the noteworthy pods of `replica_set`, past ones included, by UID: without deleted pods, and without available ones whose
    /// containers did not end recently. `skew_millis` is our clock minus the API server's.
    pub fn noteworthy_pods(&self, replica_set: Uid, now_millis: Millis, skew_millis: Millis) -> Vec<&Pod> {
        let rows = self.pod_index.noteworthy_rows(replica_set, now_millis.saturating_sub(skew_millis.max(0)));
        order::sort_by(rows.filter_map(|row| self.pods.row(row)).collect(), |pod| (0, pod.uid.bits()))
    }

    /// Returns the minimum and maximum time from creation until pods of a Deployment were available, as far as observed.
    pub fn start_times(&self, deployment: Uid) -> Option<(Millis, Millis)> {
        let all = self.sets_of.rows_of(deployment).filter_map(|(set, _)| self.pod_index.starts(set));
        all.reduce(|(least, most), (other_least, other_most)| (least.min(other_least), most.max(other_most)))
    }

    /// Counts the pods of a ReplicaSet in each layer at a time, with the moves between layers after it; `None` if these are not kept.
    pub fn pod_layers(&self, replica_set: Uid, at_millis: Millis) -> Option<(LayerCounts, &[PodMove])> {
        self.pod_index.layers(replica_set, at_millis)
    }

    /// Iterates over every pod whose ReplicaSet `deployment` ever controlled, in no order. A pod that changed its ReplicaSet occurs for
    /// each.
    pub fn linked_pods(&self, deployment: Uid) -> impl Iterator<Item = &Pod> {
        self.sets_of.rows_of(deployment).flat_map(|(set, _)| self.pods_of(set))
    }

    /// Returns every pod whose ReplicaSet `deployment` ever controlled, by arrival.
    pub fn pods_of_deployment(&self, deployment: Uid) -> Vec<&Pod> {
        let pods = self.linked_pods(deployment).collect();
        let mut pods = order::sort_by(pods, |pod: &&Pod| (pod.first_seen_millis(), pod.uid.bits()));
        pods.dedup_by_key(|pod| pod.uid);
        pods
    }

    /// Returns the pods that count for `deployment`: of the ReplicaSets that it controls, deleted ones included, each at its last
    /// ReplicaSet.
    pub fn counted_pods(&self, deployment: Uid) -> Vec<&Pod> {
        let pods = self.controlled_sets(deployment).flat_map(|set| {
            let is_last = move |pod: &&Pod| pod.last_owner() == Some(set.uid);
            self.pods_of(set.uid).filter(is_last)
        });
        order::sort_by(pods.collect(), |pod: &&Pod| (pod.first_seen_millis(), pod.uid.bits()))
    }

    /// Counts the running pods that have no Deployment because `deployment` released their ReplicaSet.
    pub fn count_let_go_pods(&self, deployment: Uid) -> u32 {
        let is_let_go = move |set: &&ReplicaSet| {
            set.owner.is_none() && set.removed_millis.is_none() && set.last_owner() == Some(deployment)
        };
        self.linked_sets(deployment).filter(is_let_go).map(|set| self.pod_counts(set.uid).active).sum()
    }

    /// Returns whether the ReplicaSet that released a pod is deleted, or being deleted. That may be the reason, whatever the labels of the
    /// pod are.
    pub fn is_left_behind(&self, pod: &Pod) -> bool {
        let set = pod.last_owner().and_then(|set| self.replica_sets.get(&set)).filter(|_| pod.is_out_of_rotation());
        set.is_some_and(ReplicaSet::is_over)
    }

    /// Like [`Self::is_left_behind`], for the ReplicaSet that released a pod at that time, whichever controls it now.
    pub fn was_left_behind(&self, pod: &Pod, at_millis: Millis) -> bool {
        let set = pod.released_by(at_millis).and_then(|set| self.replica_sets.get(&set));
        set.is_some_and(ReplicaSet::is_over)
    }

    /// Returns whether a ReplicaSet removed a pod because an adoption gave it one too many, according to the story.
    pub fn is_surplus(&self, pod: &Pod) -> bool {
        let set = pod.last_owner().and_then(|set| self.replica_sets.get(&set));
        let deployment = set.and_then(ReplicaSet::last_owner).and_then(|uid| self.deployments.get(&uid));
        let Some((deployment, ended)) = deployment.zip(pod.ended_millis()) else { return false };
        let is_it = |entry: &Entry| {
            entry.at_millis <= ended
                && matches!(&entry.what, Happening::Adopted { removed: Some(name), .. } if *name == pod.name)
        };
        pod.end_reason == Some(EndReason::ScaledDown) && deployment.story.iter().any(is_it)
    }

    /// Counts the running pods whose ReplicaSet released them and is deleted, or being deleted.
    pub fn count_left_behind_pods(&self, deployment: Uid) -> u32 {
        let over = self.controlled_sets(deployment).filter(|set| set.is_over());
        over.map(|set| self.pod_counts(set.uid).out_of_rotation).sum()
    }

    /// Returns since when Rollcast may not list a kind in a namespace; `None` while it may, as far as known.
    pub fn unseen_since(&self, kind: Kind, namespace: &str) -> Option<Millis> {
        let is_there = |scope: &Option<String>| scope.as_ref().is_none_or(|scope| scope == namespace);
        self.unseen.iter().filter(|((of, scope), _)| *of == kind && is_there(scope)).map(|(_, since)| *since).min()
    }

    /// Returns whether the pods of a Deployment are visible, or there are none. Without permission for them or their ReplicaSets, or before
    /// the first list, only the reports of ReplicaSets and of the Deployment's status are known.
    pub fn sees_pods(&self, deployment: Uid) -> bool {
        let namespace = self.deployments.get(&deployment).map(|known| known.namespace.as_str()).unwrap_or_default();
        if [Kind::ReplicaSet, Kind::Pod].into_iter().any(|kind| self.unseen_since(kind, namespace).is_some()) {
            return false;
        }
        let is_seen = self.sets_of.rows_of(deployment).any(|(set, _)| self.has_pods(set));
        let has_none = || self.owned_sets(deployment).all(|set| set.now.counts.replicas == 0);
        is_seen || (self.sees_sets(deployment) && has_none())
    }

    /// Returns whether the ReplicaSets of a Deployment are visible, or there are none. Without permission, or before the first list, only
    /// the Deployment's own status is known.
    pub fn sees_sets(&self, deployment: Uid) -> bool {
        let Some(known) = self.deployments.get(&deployment) else { return true };
        if self.unseen_since(Kind::ReplicaSet, &known.namespace).is_some() {
            return false;
        }
        let is_here = |set: &ReplicaSet| set.namespace == known.namespace;
        known.now.status.replicas == 0
            || self.sets_of.rows_of(deployment).next().is_some()
            || self.replica_sets.values().any(is_here)
    }

    /// Returns the Deployment of that name: the one that exists, or the last one.
    pub fn find(&self, namespace: &str, name: &str) -> Option<&Deployment> {
        last_of_name(self.find_all(namespace, name))
    }

    /// Returns all Deployments of that name: the one that exists, and earlier ones.
    pub fn find_all<'m, 'n>(
        &'m self,
        namespace: &'n str,
        name: &'n str,
    ) -> impl Iterator<Item = &'m Deployment> + use<'m, 'n> {
        let uids = self.deployments_of_name.rows_of(name_key(namespace, name)).map(|(uid, _)| uid);
        let found = uids.filter_map(|uid| self.deployments.get(&uid));
        found.filter(move |known| known.name == name && known.namespace == namespace)
    }

    /// Returns the Deployments whose viewers need `change`.
    pub fn deployments_of(&self, change: &Change) -> Vec<Uid> {
        let owners = |set: &Uid| self.replica_sets.get(set).map(|set| set.owners.as_slice()).unwrap_or_default();
        match change.subject() {
            Subject::Nothing => Vec::new(),
            Subject::Deployment(uid) => vec![uid],
            Subject::ReplicaSet(uid) => owners(&uid).to_vec(),
            Subject::Pod(uid) => {
                let Some(pod) = self.pods.get(&uid) else { return Vec::new() };
                let mut found: Vec<Uid> = pod.owners.iter().flat_map(owners).copied().collect();
                found.sort_unstable();
                found.dedup();
                found
            }
        }
    }

    /// Links objects that were inserted into the tables directly.
    pub(crate) fn index(&mut self) {
        self.sets_of = Links::default();
        self.pods_of = Links::default();
        self.deployments_of_name = Links::default();
        for uid in self.deployments.keys().copied().collect::<Vec<_>>() {
            self.note_name(uid);
        }
        for set in self.replica_sets.values() {
            let Some(row) = self.replica_sets.row_of(&set.uid) else { continue };
            set.owners.iter().for_each(|owner| self.sets_of.link(*owner, set.uid, row));
        }
        for pod in self.pods.values() {
            let Some(row) = self.pods.row_of(&pod.uid) else { continue };
            pod.owners.iter().for_each(|owner| self.pods_of.link(*owner, pod.uid, row));
        }
        self.index_pods();
    }

    /// Stops the index of pods: without queries of counts, changes cost less.
    pub(crate) fn stop_pod_index(&mut self) {
        self.pod_index.stop();
    }

    /// Builds the index of pods if it was stopped.
    pub(crate) fn resume_pod_index(&mut self) {
        if self.pod_index.is_stopped() {
            self.index_pods();
        }
    }

    fn index_pods(&mut self) {
        // Sorted by time, so that moves are mostly appended.
        self.pod_index = PodIndex::default();
        let pods = order::sort_by(self.pods.values().collect(), |pod| (pod.since_millis(), pod.uid.bits()));
        for uid in pods.into_iter().map(|pod| pod.uid).collect::<Vec<_>>() {
            self.index_pod(uid);
        }
    }

    /// Inserts or replaces a pod.
    pub(crate) fn insert_pod(&mut self, pod: Pod) {
        let uid = pod.uid;
        self.unindex_pod(uid);
        self.pods.insert(uid, pod);
        self.index_pod(uid);
    }

    /// Adds a known pod to the index.
    fn index_pod(&mut self, uid: Uid) {
        if let Some((row, pod)) = self.pods.row_mut(&uid) {
            let part = self.pod_index.index_pod(pod);
            self.pod_index.replace(row, &pod.owners, None, part.as_ref());
        }
    }

    /// Removes a pod from the index, if it is there.
    fn unindex_pod(&mut self, uid: Uid) {
        if let Some((row, pod)) = self.pods.row_mut(&uid) {
            let part = self.pod_index.index_pod(pod);
            self.pod_index.replace(row, &pod.owners, part.as_ref(), None);
        }
    }

    /// Measures the start times again of ReplicaSets with a changed pod.
    pub(crate) fn renew_starts(&mut self) {
        while let Some(set) = self.pod_index.take_stale() {
            let starts = self.pods_of(set).filter_map(pod_index::start_millis).collect::<Vec<_>>();
            self.pod_index.renew_starts(set, starts);
        }
    }

    /// Removes a pod and all references to it.
    pub(crate) fn remove_pod(&mut self, uid: Uid) {
        self.unindex_pod(uid);
        if let Some(pod) = self.pods.remove(&uid) {
            for owner in &pod.owners {
                self.pods_of.unlink(*owner, uid);
            }
        }
    }

    /// Removes a ReplicaSet and all references to it; its pods must be removed before.
    pub(crate) fn remove_set(&mut self, uid: Uid) {
        if let Some(set) = self.replica_sets.remove(&uid) {
            for owner in &set.owners {
                self.sets_of.unlink(*owner, uid);
            }
        }
    }

    /// Removes a Deployment.
    pub(crate) fn remove_deployment(&mut self, uid: Uid) {
        if let Some(known) = self.deployments.remove(&uid) {
            self.deployments_of_name.unlink(name_key(&known.namespace, &known.name), uid);
        }
    }

    pub(crate) fn note_name(&mut self, deployment: Uid) {
        if let Some(known) = self.deployments.get(&deployment) {
            // Looked up by UID, so the row is not needed.
            self.deployments_of_name.link(name_key(&known.namespace, &known.name), deployment, 0);
        }
    }

    pub(crate) fn note_set(&mut self, owner: Uid, set: Uid) {
        if let Some(row) = self.replica_sets.row_of(&set) {
            self.sets_of.link(owner, set, row);
        }
    }

    pub(crate) fn note_pod(&mut self, set: Uid, pod: Uid) {
        if let Some(row) = self.pods.row_of(&pod) {
            self.pods_of.link(set, pod, row);
        }
    }
}

/// Selects from Deployments of one name: the one that exists, or the last one.
pub fn last_of_name<'m>(named: impl Iterator<Item = &'m Deployment>) -> Option<&'m Deployment> {
    named.max_by_key(|known| (known.deleted_millis.is_none(), known.first_seen_millis, known.uid))
}

/// Returns a key of a name for [`Links`]: the hash of the standard library would make the page's program larger. Different names may have
/// the same key.
fn name_key(namespace: &str, name: &str) -> Uid {
    Uid::from_bits(fnv1a(namespace.bytes().chain([b'/']).chain(name.bytes())).into())
}
