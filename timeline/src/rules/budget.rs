//! The arithmetic of rolling updates: percentages to integers, ceiling and floor, and the next step of the controller.
//!
//! Source: `util/deployment_util.go` (MaxSurge, MaxUnavailable, ResolveFenceposts, NewRSNewReplicas), `rolling.go` and `recreate.go` of the
//! Deployment controller. All sums are of `spec.replicas` and `status.availableReplicas` of the ReplicaSets: terminating pods do not count.

use crate::model::fact::{DeploymentSpec, DeploymentStatus, IntOrPercent, ReplicaSetCounts, Strategy};
use crate::model::{Deployment, Model, ReplicaSet, order};

pub use crate::model::Limits;
use crate::rules::rollout;

/// Resolves the strategy for the Deployment's `spec.replicas`. Surge percentages are rounded up, unavailable ones down; if both are zero,
/// one pod may be unavailable. Recreate: no surge, and all pods may be unavailable.
pub fn limits(spec: &DeploymentSpec) -> Limits {
    let n = spec.replicas;
    let (max_surge, max_unavailable) = match spec.strategy {
        Strategy::Recreate => (0, n),
        Strategy::RollingUpdate { max_surge, max_unavailable } => {
            let surge = resolve(max_surge, n, |hundredths| hundredths.div_ceil(100));
            let unavailable = resolve(max_unavailable, n, |hundredths| hundredths / 100);
            let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable };
            (surge, unavailable.min(n))
        }
    };
    Limits { max_surge, max_unavailable, ceiling: n.saturating_add(max_surge), floor: n - max_unavailable }
}

fn resolve(value: IntOrPercent, of: u32, round_hundredths: fn(u64) -> u64) -> u32 {
    match value {
        IntOrPercent::Int(number) => number,
        IntOrPercent::Percent(percent) => {
            u32::try_from(round_hundredths(u64::from(percent) * u64::from(of))).unwrap_or(u32::MAX)
        }
    }
}

/// Counts of a Deployment's ReplicaSets, as the controller sees them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums {
    /// The one with the Deployment's revision.
    pub new: Option<ReplicaSetCounts>,
    /// The others, oldest first.
    pub old: Vec<ReplicaSetCounts>,
    /// Existing pods of the others, including terminating ones, without ended ones (`oldPodsRunning` in `recreate.go`).
    pub old_pods: u32,
    /// Sum of `spec.replicas`.
    pub desired: u32,
    /// Sum of `status.availableReplicas`.
    pub available: u32,
}

impl Sums {
    /// Counts the ReplicaSets that `deployment` controls, as reported by themselves.
    pub fn from_sets(model: &Model, deployment: &Deployment) -> Self {
        Self::counted(model, deployment, |set| (set.now.counts, set.now.counts.replicas))
    }

    fn counted(
        model: &Model,
        deployment: &Deployment,
        counts: impl Fn(&ReplicaSet) -> (ReplicaSetCounts, u32),
    ) -> Self {
        // A template that was just edited has no ReplicaSet yet, or one without the new revision.
        let new = rollout::new_set(model, deployment).map(|set| set.uid);
        let sets: Vec<&ReplicaSet> =
            order::sort_by(model.owned_sets(deployment.uid).collect(), |set| (set.created_at_millis, set.uid.bits()));
        let mut sums = Self::default();
        for set in sets {
            let (counts, there) = counts(set);
            sums.desired = sums.desired.saturating_add(counts.desired);
            sums.available = sums.available.saturating_add(counts.available);
            if Some(set.uid) == new {
                sums.new = Some(counts);
            } else {
                sums.old.push(counts);
                sums.old_pods += there;
            }
        }
        sums
    }

    /// Counts available pods instead of the ReplicaSets' reports, which follow shortly after: what the controller will count next.
    pub fn from_pods(model: &Model, deployment: &Deployment) -> Self {
        Self::counted(model, deployment, |set| {
            let pods = model.pod_counts(set.uid);
            (ReplicaSetCounts { available: pods.available, ..set.now.counts }, pods.there)
        })
    }

    /// Uses the Deployment's own report, if its ReplicaSets are not visible.
    pub fn from_status(status: &DeploymentStatus) -> Self {
        let (updated, available) = (status.updated, status.available.min(status.updated));
        let old = status.replicas.saturating_sub(updated);
        let counts = |replicas, available| ReplicaSetCounts { desired: replicas, replicas, available };
        let rest = (old > 0).then(|| counts(old, status.available - available));
        Self {
            new: Some(counts(updated, available)),
            old: rest.into_iter().collect(),
            old_pods: old,
            desired: status.replicas,
            available: status.available,
        }
    }

    /// Returns the sum of `spec.replicas` of the old ReplicaSets.
    pub fn old_desired(&self) -> u32 {
        self.old.iter().fold(0, |sum, counts| sum.saturating_add(counts.desired))
    }
}

/// The next step of the Deployment controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Nothing: every old ReplicaSet is empty and the new one has all its replicas.
    Nothing,
    /// Nothing, until the Deployment is resumed.
    Paused,
    /// Paused, but replicas still have to be distributed to the ReplicaSets, which the controller does even then.
    Spread,
    /// There is no ReplicaSet for the template yet.
    CreateSet,
    /// Scale the new ReplicaSet up by this many pods.
    AddNew(u32),
    /// Scale the new ReplicaSet down by this many pods: it has more than `spec.replicas` of the Deployment.
    RemoveNew(u32),
    /// Remove old pods: first unavailable ones, then others as far as the floor allows.
    RemoveOld {
        /// Unavailable pods.
        unhealthy: u32,
        /// Available pods.
        healthy: u32,
    },
    /// Wait until this many more new pods are available: until then no old one may be removed.
    WaitForNew(u32),
    /// Recreate: wait until the old pods are deleted.
    WaitForOldGone,
}

/// Predicts the controller's next step from the ReplicaSets' reported availability, which may lag behind the pods.
pub fn next(spec: &DeploymentSpec, sums: &Sums) -> Next {
    if spec.paused {
        return if is_spread(spec, sums) { Next::Paused } else { Next::Spread };
    }
    let (old, is_recreate) = (sums.old_desired(), spec.strategy == Strategy::Recreate);
    if is_recreate {
        if old > 0 {
            return Next::RemoveOld { unhealthy: 0, healthy: old };
        }
        let is_up = sums.new.is_some_and(|new| new.desired >= spec.replicas);
        if sums.old_pods > 0 && !is_up {
            return Next::WaitForOldGone;
        }
    }
    let Some(new) = sums.new else { return Next::CreateSet };
    if new.desired > spec.replicas {
        return Next::RemoveNew(new.desired - spec.replicas);
    }
    let (limits, lacks) = (limits(spec), spec.replicas - new.desired);
    let add = if is_recreate { lacks } else { lacks.min(limits.ceiling.saturating_sub(sums.desired)) };
    if add > 0 {
        return Next::AddNew(add);
    }
    if old == 0 {
        return Next::Nothing;
    }
    // Signed: a ReplicaSet that was just scaled down may report more available pods than desired.
    let budget =
        i64::from(sums.desired) - i64::from(limits.floor) - (i64::from(new.desired) - i64::from(new.available));
    if budget <= 0 {
        return Next::WaitForNew(u32::try_from(1 - budget).unwrap_or(u32::MAX));
    }
    let budget = u32::try_from(budget).unwrap_or(u32::MAX);
    // An old ReplicaSet may report more pods than desired while they terminate.
    let sick = sums.old.iter().fold(0u32, |sum, old| sum.saturating_add(old.desired.saturating_sub(old.available)));
    let unhealthy = sick.min(budget);
    let healthy = sums.available.saturating_sub(limits.floor).min(old - unhealthy.min(old));
    if unhealthy + healthy == 0 { Next::WaitForNew(1) } else { Next::RemoveOld { unhealthy, healthy } }
}

/// Returns whether the replicas are distributed as by the controller outside of a rollout (`scale` in `sync.go`): all of them on the only
/// ReplicaSet that has any, or as many on several as the ceiling allows.
fn is_spread(spec: &DeploymentSpec, sums: &Sums) -> bool {
    let n = spec.replicas;
    let mut active = sums.old.iter().chain(&sums.new).filter(|set| set.desired > 0);
    match (active.next(), active.next(), sums.new) {
        (None, ..) => n == 0 || (sums.new.is_none() && sums.old.is_empty()),
        (Some(only), None, _) => only.desired == n,
        (.., Some(new)) if new.desired == n && new.available == n => sums.old_desired() == 0,
        _ if spec.strategy == Strategy::Recreate => true,
        _ => sums.desired == if n == 0 { 0 } else { limits(spec).ceiling },
    }
}

#[cfg(test)]
mod tests;
