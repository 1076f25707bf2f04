//! Deletion: grace periods of pods, finalizers, and dependents.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;

use super::{World, Write};
use crate::agenda::Task;
use crate::change::Stored;
use crate::object::{Key, Object, Resource};
use crate::{ApiError, meta, time};

/// Finalizer: dependents lose their owner reference and stay.
pub const ORPHAN: &str = "orphan";
/// Finalizer: the owner stays until its dependents are gone.
pub const FOREGROUND: &str = "foregroundDeletion";

/// Deletion of the objects that belong to a deleted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Propagation {
    /// The dependents are deleted afterwards.
    #[default]
    Background,
    /// The dependents are deleted first.
    Foreground,
    /// The dependents stay.
    Orphan,
}

/// Options of a deletion.
#[derive(Debug, Clone, Default)]
pub struct DeleteOptions {
    /// Deletion of dependents.
    pub propagation: Propagation,
    /// Grace period of a pod in seconds; `None` for the one in its spec.
    pub grace_seconds: Option<i64>,
    /// UID that the object must have.
    pub uid: Option<String>,
    /// resourceVersion that the object must have.
    pub resource_version: Option<String>,
    /// Whether only to check that the object could be deleted.
    pub is_dry_run: bool,
}

/// Returns whether nothing blocks the removal of a deleted object any more. The kubelet removes pods.
pub(super) fn is_over(object: &Object) -> bool {
    let meta = object.meta();
    let is_held = matches!(object, Object::Pod(_)) && meta.deletion_grace_period_seconds != Some(0)
        || matches!(object, Object::Namespace(_));
    meta::is_deleting(meta) && !meta::has_finalizers(meta) && !is_held
}

impl World {
    /// Deletes an object; returns its last state, and whether it is gone already.
    ///
    /// # Errors
    /// 404 if it does not exist, 409 if its UID or resourceVersion differs from the requested one.
    pub fn delete(
        &mut self,
        resource: Resource,
        key: &Key,
        options: &DeleteOptions,
    ) -> Result<(Arc<Stored>, bool), ApiError> {
        let before = self.store.existing(resource, key)?;
        let known = before.object.meta();
        if options.uid.as_ref().is_some_and(|uid| Some(uid) != known.uid.as_ref()) {
            let why = format!(
                "the UID in the precondition ({}) does not match the UID in record ({})",
                options.uid.as_deref().unwrap_or_default(),
                known.uid.as_deref().unwrap_or_default()
            );
            return Err(ApiError::conflict(resource, &key.name, &why));
        }
        if options.resource_version.as_ref().is_some_and(|version| Some(version) != known.resource_version.as_ref()) {
            return Err(ApiError::conflict(
                resource,
                &key.name,
                "the ResourceVersion in the precondition does not match the ResourceVersion in record",
            ));
        }
        if options.is_dry_run {
            return Ok((before, true));
        }
        let grace = grace_of(&before.object, options);
        let finalizer = match options.propagation {
            Propagation::Background => None,
            Propagation::Foreground => Some(FOREGROUND),
            Propagation::Orphan => Some(ORPHAN),
        };
        let has_dependents = matches!(resource, Resource::Deployment | Resource::ReplicaSet);
        let finalizer = finalizer.filter(|_| has_dependents);
        let is_held = finalizer.is_some() || meta::has_finalizers(known);
        if resource != Resource::Namespace && grace == 0 && !is_held {
            if resource == Resource::Pod {
                self.mark(before.object.clone(), 0, None);
            }
            self.remove(resource, key);
            return Ok((before, true));
        }
        let is_shorter = known.deletion_grace_period_seconds.is_none_or(|known| grace < known);
        if meta::is_deleting(known) && !is_shorter {
            return Ok((before, false));
        }
        let marked = self.mark(before.object.clone(), grace, finalizer);
        if finalizer.is_some() {
            self.schedule_between(20, 120, Task::Collect(resource, key.clone()));
        }
        Ok((marked, false))
    }

    /// Deletes an object with default options; one that is already gone needs no deletion.
    pub(crate) fn delete_if_there(&mut self, resource: Resource, key: &Key) {
        let _ = self.delete(resource, key, &DeleteOptions::default());
    }

    /// Evicts a pod: writes the reason into its status, then deletes it.
    ///
    /// # Errors
    /// Those of [`World::delete`].
    pub fn evict(&mut self, key: &Key, options: &DeleteOptions) -> Result<(), ApiError> {
        let dry = DeleteOptions { is_dry_run: true, ..options.clone() };
        self.delete(Resource::Pod, key, &dry)?;
        if options.is_dry_run {
            return Ok(());
        }
        self.mark_disrupted(key, "EvictionByEvictionAPI", "Eviction API: evicting");
        // The status was just written, so the requested resourceVersion is no longer the present one.
        self.delete(Resource::Pod, key, &DeleteOptions { resource_version: None, ..options.clone() }).map(drop)
    }

    /// Writes the reason for its deletion into the status of a pod.
    pub(crate) fn mark_disrupted(&mut self, key: &Key, reason: &str, message: &str) {
        let now = time::second(self.now_millis);
        self.modify::<Pod>(key, Write::Status, |pod| {
            let why = Some((reason, message));
            meta::set_condition(pod.status.get_or_insert_default(), "DisruptionTarget", true, why, &now);
        });
    }

    /// Marks an object as being deleted. Even a pod without a grace period is marked for a moment.
    fn mark(&mut self, mut object: Object, grace: i64, finalizer: Option<&str>) -> Arc<Stored> {
        let meta = object.meta_mut();
        meta.deletion_timestamp = Some(time::after(self.now_millis, grace));
        meta.deletion_grace_period_seconds = Some(grace);
        if let Some(finalizer) = finalizer {
            meta.finalizers.get_or_insert_default().push(finalizer.to_owned());
        }
        if let Some(generation) = &mut meta.generation {
            *generation += 1;
        }
        if let Object::Namespace(namespace) = &mut object {
            namespace.status.get_or_insert_default().phase = Some("Terminating".to_owned());
        }
        let change = self.store.put(object);
        self.wake(&change);
        change.object
    }
}

/// Returns the grace period in seconds: only pods that a kubelet runs have one.
fn grace_of(object: &Object, options: &DeleteOptions) -> i64 {
    let Object::Pod(pod) = object else { return 0 };
    if meta::node_of(pod).is_none() || meta::is_finished(pod) {
        return 0;
    }
    let asked = pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds).unwrap_or(30);
    options.grace_seconds.unwrap_or(asked).max(0)
}
