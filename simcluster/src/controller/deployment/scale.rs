//! Proportional scaling, outside of a rollout or during one (`sync.go`, `scale`).

use k8s_openapi::api::apps::v1::ReplicaSet;

use super::Round;
use super::revision::annotate_sizes;
use super::sets::{self, DESIRED, MAXIMUM};
use crate::ApiError;
use crate::meta::{available_of, desired, replicas_of};
use crate::object::Key;
use crate::strategy::{max_surge, strategy};
use crate::world::Write;

impl Round<'_> {
    /// Returns whether the Deployment's replicas changed since a ReplicaSet was last scaled.
    pub(super) fn is_scaling(&mut self, all: &[ReplicaSet]) -> Result<bool, ApiError> {
        let (new, old) = self.new_and_old(all, false)?;
        let n = desired(&self.deployment);
        let is_other = |set: &ReplicaSet| sets::number(set, DESIRED).is_some_and(|known| known != n);
        Ok(sets::active(&sets::all(&old, new.as_ref())).iter().any(is_other))
    }

    /// Scales a paused or scaled Deployment: changes sizes, not templates.
    pub(super) fn scale_and_report(&mut self, all: &[ReplicaSet]) -> Result<(), ApiError> {
        let (new, old) = self.new_and_old(all, false)?;
        self.scale(new.as_ref(), &old);
        if self.spec().paused == Some(true) {
            self.clean_up(&old);
        }
        self.report(&old, new.as_ref())
    }

    fn scale(&mut self, new: Option<&ReplicaSet>, old: &[ReplicaSet]) {
        let n = desired(&self.deployment);
        let active = sets::active(&sets::all(old, new));
        match &active[..] {
            [] => {
                let latest = old.iter().max_by(|a, b| sets::by_age(a, b));
                if let Some(set) = new.or(latest) {
                    self.resize(set, n);
                }
            }
            [only] => {
                self.resize(only, n);
            }
            _ if new.is_some_and(|new| self.is_saturated(new)) => {
                for set in sets::active(old) {
                    self.resize(&set, 0);
                }
            }
            _ if strategy(&self.deployment) == "Recreate" => {}
            _ => self.scale_in_proportion(active),
        }
    }

    /// Returns whether the new ReplicaSet has all desired replicas.
    fn is_saturated(&self, new: &ReplicaSet) -> bool {
        let n = desired(&self.deployment);
        replicas_of(new) == n && sets::number(new, DESIRED) == Some(n) && available_of(new) == n
    }

    fn scale_in_proportion(&mut self, mut active: Vec<ReplicaSet>) {
        let n = desired(&self.deployment);
        let allowed = if n > 0 { n + max_surge(&self.deployment) } else { 0 };
        let to_add = allowed - sets::asked(&active);
        if to_add != 0 {
            // The largest first; of equal ones the newest when scaling up, and the oldest when scaling down.
            active.sort_by(|a, b| {
                let by_age = if to_add > 0 { sets::by_age(b, a) } else { sets::by_age(a, b) };
                replicas_of(b).cmp(&replicas_of(a)).then(by_age)
            });
        }
        let mut sizes: Vec<i32> = Vec::new();
        let mut added = 0;
        for set in &active {
            let share = self.share(set, to_add, added);
            sizes.push(replicas_of(set) + share);
            added += share;
        }
        // The rest from rounding goes to the largest.
        if let Some(first) = sizes.first_mut() {
            *first = (*first + to_add - added).max(0);
        }
        for (set, size) in active.iter().zip(sizes) {
            self.write_size(set, size);
        }
    }

    /// Returns one ReplicaSet's share of the replicas to add, never more than the rest (`GetReplicaSetProportion`).
    fn share(&self, set: &ReplicaSet, to_add: i32, added: i32) -> i32 {
        let size = replicas_of(set);
        if size == 0 || to_add == 0 || to_add == added {
            return 0;
        }
        let n = desired(&self.deployment);
        let fraction = if n == 0 {
            -size
        } else {
            let known = sets::number(set, MAXIMUM).filter(|most| *most > 0);
            match known.or(self.status().replicas.filter(|replicas| *replicas != 0)) {
                Some(before) => {
                    let desired = f64::from(size * (n + max_surge(&self.deployment))) / f64::from(before);
                    desired.round() as i32 - size
                }
                None => 0,
            }
        };
        if to_add > 0 { fraction.min(to_add - added) } else { fraction.max(to_add - added) }
    }

    /// Sets the size of a ReplicaSet; returns whether it changed.
    pub(super) fn resize(&mut self, set: &ReplicaSet, size: i32) -> bool {
        replicas_of(set) != size && self.write_size(set, size)
    }

    fn write_size(&mut self, set: &ReplicaSet, size: i32) -> bool {
        let (deployment, before) = (self.deployment.clone(), replicas_of(set));
        self.world.modify::<ReplicaSet>(&Key::of(&set.metadata), Write::Spec, |set| {
            if let Some(spec) = &mut set.spec {
                spec.replicas = Some(size);
            }
            annotate_sizes(set.metadata.annotations.get_or_insert_default(), &deployment);
        });
        if before != size {
            let direction = if before < size { "up" } else { "down" };
            let name = set.metadata.name.as_deref().unwrap_or_default();
            self.record_event(
                "ScalingReplicaSet",
                format!("Scaled {direction} replica set {name} from {before} to {size}"),
            );
        }
        before != size
    }
}
