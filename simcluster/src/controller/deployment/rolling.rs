//! A rolling update, with one step per round: scale up, otherwise scale down, otherwise nothing (`rolling.go`).

use k8s_openapi::api::apps::v1::ReplicaSet;

use super::Round;
use super::sets;
use crate::ApiError;
use crate::meta::{available_of, desired, replicas_of};
use crate::strategy::max_unavailable;

impl Round<'_> {
    pub(super) fn roll(&mut self, all: &[ReplicaSet]) -> Result<(), ApiError> {
        let (new, old) = self.new_and_old(all, true)?;
        let Some(new) = new else { return Ok(()) };
        let is_done = !self.scale_up(&old, &new) && !self.scale_down(sets::active(&old), &new);
        if is_done && self.is_complete(&self.status()) {
            self.clean_up(&old);
        }
        self.report_rollout(&old, Some(&new))
    }

    /// Scales the new ReplicaSet up to the limit of maxSurge; returns whether anything changed.
    fn scale_up(&mut self, old: &[ReplicaSet], new: &ReplicaSet) -> bool {
        let all = desired(&self.deployment);
        let size = if replicas_of(new) < all { self.replicas_of_new(old, new) } else { all };
        self.resize(new, size)
    }

    /// Scales the old ReplicaSets down to the limit of maxUnavailable; returns whether anything changed.
    fn scale_down(&mut self, mut old: Vec<ReplicaSet>, new: &ReplicaSet) -> bool {
        let floor = desired(&self.deployment) - max_unavailable(&self.deployment);
        let budget = sets::asked(&old) + available_of(new) - floor;
        if budget <= 0 {
            return false;
        }
        old.sort_by(sets::by_age);
        let Some(unhealthy) = self.remove_unhealthy(&mut old, budget) else { return false };
        let healthy = self.remove_healthy(&old, new, floor);
        unhealthy + healthy > 0
    }

    /// Removes unhealthy pods first, because they do not count as available. Returns `None` if a ReplicaSet that was just scaled
    /// down still reports more available replicas than its spec: Kubernetes ends the round then.
    fn remove_unhealthy(&mut self, old: &mut [ReplicaSet], budget: i32) -> Option<i32> {
        let mut removed = 0;
        for set in old.iter_mut() {
            let (asked, available) = (replicas_of(set), available_of(set));
            if removed >= budget || asked == 0 || asked == available {
                continue;
            }
            let count = (budget - removed).min(asked - available);
            if count < 0 {
                return None;
            }
            self.resize(set, asked - count);
            if let Some(spec) = &mut set.spec {
                spec.replicas = Some(asked - count);
            }
            removed += count;
        }
        Some(removed)
    }

    fn remove_healthy(&mut self, old: &[ReplicaSet], new: &ReplicaSet, floor: i32) -> i32 {
        let spare = sets::available(old) + available_of(new) - floor;
        let mut removed = 0;
        for set in old {
            let asked = replicas_of(set);
            if removed >= spare {
                break;
            }
            let count = asked.min(spare - removed);
            self.resize(set, asked - count);
            removed += count;
        }
        removed
    }
}
