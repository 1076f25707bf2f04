//! Recreate: every old pod goes before the first new one comes (`recreate.go`).

use k8s_openapi::api::apps::v1::ReplicaSet;

use super::Round;
use super::sets;
use crate::ApiError;
use crate::meta::{self, desired};

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

    /// Returns whether any pod of an old ReplicaSet is left, even one that is terminating.
    fn has_old_pods(&self, new: Option<&ReplicaSet>, old: &[ReplicaSet], mine: &[ReplicaSet]) -> bool {
        let new = new.and_then(|new| new.metadata.uid.clone());
        sets::sum(old, |status| status.replicas) > 0
            || self.pods(mine).iter().any(|(set, pod)| Some(set) != new.as_ref() && !meta::is_finished(pod))
    }
}
