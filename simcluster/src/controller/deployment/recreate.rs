//! Recreate: all old pods end before the first new one is created (`recreate.go`).

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;

use super::Round;
use super::sets;
use crate::ApiError;
use crate::meta::{self, desired};
use crate::object::Kind;

impl Round<'_> {
    pub(super) fn recreate(&mut self, mine: &[ReplicaSet]) -> Result<(), ApiError> {
        let (mut new, mut old) = self.new_and_old(mine, false)?;
        let mut is_scaled = false;
        for set in sets::active(&old) {
            is_scaled |= self.resize(&set, 0);
        }
        if is_scaled || self.has_old_pods(new.as_ref(), &old, mine) {
            return self.report_rollout(&old, new.as_ref());
        }
        if new.is_none() {
            (new, old) = self.new_and_old(mine, true)?;
        }
        if let Some(new) = &new {
            self.resize(new, desired(&self.deployment));
        }
        if self.is_complete(&self.status()) {
            self.clean_up(&old);
        }
        self.report_rollout(&old, new.as_ref())
    }

    /// Returns whether any pod of an old ReplicaSet is left, including terminating ones.
    fn has_old_pods(&self, new: Option<&ReplicaSet>, old: &[ReplicaSet], mine: &[ReplicaSet]) -> bool {
        let new = new.and_then(|new| new.metadata.uid.as_deref());
        let uids = mine.iter().filter_map(|set| set.metadata.uid.as_deref()).filter(|uid| Some(*uid) != new);
        let mut pods = uids.flat_map(|uid| self.world.store.pods_of(uid)).filter_map(|stored| Pod::of(&stored.object));
        let selector = self.selector();
        let is_left = |pod: &Pod| !meta::is_finished(pod) && selector.matches(meta::labels(&pod.metadata));
        sets::sum(old, |status| status.replicas) > 0 || pods.any(is_left)
    }
}
