//! The garbage collector: deletes objects whose owners are gone, and completes the deletion of owners that wait for their dependents.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use crate::agenda::Task;
use crate::meta;
use crate::object::{Key, Resource};
use crate::world::delete::{FOREGROUND, ORPHAN};
use crate::world::{DeleteOptions, Propagation, World};

/// Deletes an object whose owners are gone, and completes the deletion of one that waited for its dependents.
pub fn collect(world: &mut World, resource: Resource, key: &Key) {
    let Some(stored) = world.store.get(resource, key).cloned() else { return };
    let meta = stored.object.meta();
    let has = |name: &str| meta.finalizers.iter().flatten().any(|known| known == name);
    if has(ORPHAN) {
        for (resource, dependent) in world.store.dependents(resource, key, stored.object.uid()) {
            world.disown(resource, &dependent, stored.object.uid());
        }
        release(world, resource, key, ORPHAN);
        return;
    }
    if has(FOREGROUND) {
        let left = world.store.dependents(resource, key, stored.object.uid());
        if left.is_empty() {
            release(world, resource, key, FOREGROUND);
        }
        for (resource, dependent) in left {
            let propagation = Propagation::Foreground;
            // An object that is already gone needs no deletion.
            let _ = world.delete(resource, &dependent, &DeleteOptions { propagation, ..DeleteOptions::default() });
        }
        return;
    }
    let owners = meta.owner_references.clone().unwrap_or_default();
    let is_there = |owner: &OwnerReference| match meta::resource_of(owner) {
        // A kind that this cluster does not store may exist elsewhere.
        None => true,
        Some(resource) => {
            let namespace = if resource.is_namespaced() { key.namespace.as_str() } else { "" };
            let found = world.store.get(resource, &Key::new(namespace, &owner.name));
            found.is_some_and(|found| found.object.uid() == owner.uid)
        }
    };
    if !owners.is_empty() && !owners.iter().any(is_there) {
        world.delete_if_there(resource, key);
    }
}

fn release(world: &mut World, resource: Resource, key: &Key, finalizer: &str) {
    world.edit_meta(resource, key, |meta| {
        if let Some(finalizers) = &mut meta.finalizers {
            finalizers.retain(|name| name != finalizer);
        }
    });
    if world.store.get(resource, key).is_some() {
        world.schedule_between(50, 200, Task::Collect(resource, key.clone()));
    }
}
