//! Writes of people: the fields that the API server fills in, rejects, and protects from changes.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, PodCondition, PodStatus};

use super::{World, Write, delete, quota};
use crate::change::Stored;
use crate::object::{Key, Object, Resource};
use crate::{ApiError, defaults, hash, meta, time, validate};

/// Increments the generation if the spec changed, for a Deployment also if annotations changed
/// (`registry/apps/deployment/strategy.go`), and for a pod only if its deletion was requested.
fn count_generation(object: &mut Object, before: &Object) {
    let is_another = match (&*object, before) {
        (Object::Deployment(now), Object::Deployment(before)) => {
            now.spec != before.spec || now.metadata.annotations != before.metadata.annotations
        }
        (Object::ReplicaSet(now), Object::ReplicaSet(before)) => now.spec != before.spec,
        (Object::Pod(now), Object::Pod(before)) => {
            now.metadata.deletion_timestamp != before.metadata.deletion_timestamp
        }
        _ => false,
    };
    let meta = object.meta_mut();
    meta.generation = before.meta().generation;
    if is_another {
        meta.generation = Some(meta.generation.unwrap_or_default() + 1);
    }
}

/// Removes the status: a new object has none, and a write of the spec does not change it.
fn without_status(object: &mut Object) {
    match object {
        Object::Deployment(deployment) => deployment.status = Some(Default::default()),
        Object::ReplicaSet(set) => set.status = Some(Default::default()),
        Object::Pod(pod) => {
            let gated = meta::has_gates(pod).then(|| PodCondition {
                type_: "PodScheduled".to_owned(),
                status: "False".to_owned(),
                reason: Some("SchedulingGated".to_owned()),
                message: Some("Scheduling is blocked due to non-empty scheduling gates".to_owned()),
                ..PodCondition::default()
            });
            pod.status = Some(PodStatus {
                conditions: gated.map(|gated| vec![gated]),
                phase: Some("Pending".to_owned()),
                qos_class: Some(quota::quality(pod).to_owned()),
                ..PodStatus::default()
            });
        }
        Object::ResourceQuota(quota) => quota.status = Some(Default::default()),
        Object::Namespace(namespace) => {
            namespace.status.get_or_insert_default().phase = Some("Active".to_owned());
            namespace.spec.get_or_insert_default().finalizers = Some(vec!["kubernetes".to_owned()]);
            let name = namespace.metadata.name.clone().unwrap_or_default();
            namespace.metadata.labels.get_or_insert_default().insert("kubernetes.io/metadata.name".to_owned(), name);
        }
        Object::Node(_) | Object::Event(_) | Object::EndpointSlice(_) | Object::ConfigMap(_) => {}
    }
}

/// Number of names that the API server tries for an object with `generateName`.
const MOST_NAMES: usize = 8;
/// Longest prefix that a generated name keeps (`MaxGeneratedNameLength`).
const PREFIX_LENGTH: usize = 58;

/// Gives the object the status of another one.
fn with_status_of(object: &mut Object, status: &Object) {
    match (object, status) {
        (Object::Deployment(into), Object::Deployment(from)) => into.status.clone_from(&from.status),
        (Object::ReplicaSet(into), Object::ReplicaSet(from)) => into.status.clone_from(&from.status),
        (Object::Pod(into), Object::Pod(from)) => into.status.clone_from(&from.status),
        (Object::Node(into), Object::Node(from)) => into.status.clone_from(&from.status),
        (Object::Namespace(into), Object::Namespace(from)) => into.status.clone_from(&from.status),
        (Object::ResourceQuota(into), Object::ResourceQuota(from)) => into.status.clone_from(&from.status),
        _ => {}
    }
}

impl World {
    /// Sets the identity of a new object: name, UID, creation time, generation.
    pub(super) fn named(&mut self, mut object: Object) -> Object {
        let has_generation = matches!(object.resource(), Resource::Deployment | Resource::ReplicaSet | Resource::Pod);
        let meta = object.meta_mut();
        if meta.name.as_ref().is_none_or(String::is_empty)
            && let Some(prefix) = meta.generate_name.clone()
        {
            let base = prefix.get(..PREFIX_LENGTH).unwrap_or(&prefix);
            for _ in 0..MOST_NAMES {
                object.meta_mut().name = Some(format!("{base}{}", hash::suffix(&mut self.random)));
                if self.store.get(object.resource(), &object.key()).is_none() {
                    break;
                }
            }
        }
        let meta = object.meta_mut();
        meta.uid = Some(hash::uid(&mut self.uids));
        meta.creation_timestamp = Some(time::second(self.now_millis));
        meta.deletion_timestamp = None;
        meta.deletion_grace_period_seconds = None;
        meta.self_link = None;
        meta.generation = has_generation.then_some(1);
        object
    }

    /// Creates an object.
    ///
    /// # Errors
    /// 404 without its namespace, 409 if it exists, 422 if it is invalid, 403 if a quota or a terminating namespace rejects it.
    pub fn create(&mut self, object: Object) -> Result<Arc<Stored>, ApiError> {
        self.create_with(object, false)
    }

    /// Creates an object; a dry run only checks that it could be created.
    ///
    /// # Errors
    /// Those of [`Self::create`].
    pub fn create_with(&mut self, mut object: Object, is_dry_run: bool) -> Result<Arc<Stored>, ApiError> {
        let resource = object.resource();
        object.meta_mut().resource_version = None;
        without_status(&mut object);
        defaults::fill(&mut object);
        let object = self.named(object);
        let key = object.key();
        if resource.is_namespaced() {
            self.expect_namespace(resource, &key)?;
        }
        if self.store.get(resource, &key).is_some() {
            return Err(ApiError::already_exists(resource, &key.name));
        }
        validate::check(&object, None)?;
        if let Object::Pod(pod) = &object {
            quota::admit(self, pod, is_dry_run)?;
        }
        if is_dry_run {
            return Ok(Arc::new(Stored::new(object, 0)));
        }
        let change = self.store.put(object);
        self.wake(&change);
        Ok(change.object)
    }

    fn expect_namespace(&self, resource: Resource, key: &Key) -> Result<(), ApiError> {
        match self.store.typed::<Namespace>(&Key::new("", &key.namespace)) {
            None => Err(ApiError::not_found(Resource::Namespace, &key.namespace)),
            Some(namespace) if meta::is_deleting(&namespace.metadata) && resource != Resource::Event => {
                let why = format!(
                    "unable to create new content in namespace {} because it is being terminated",
                    key.namespace
                );
                Err(ApiError::forbidden(resource, &key.name, &why))
            }
            Some(_) => Ok(()),
        }
    }

    /// Updates an object: everything except its status, or only the status.
    ///
    /// # Errors
    /// 404 if it does not exist, 409 if it was changed meanwhile, 422 if it is invalid.
    pub fn update(&mut self, object: Object, write: Write) -> Result<Arc<Stored>, ApiError> {
        self.update_with(object, write, false)
    }

    /// Updates an object; a dry run only checks that it could be updated.
    ///
    /// # Errors
    /// Those of [`Self::update`].
    pub fn update_with(&mut self, mut object: Object, write: Write, is_dry_run: bool) -> Result<Arc<Stored>, ApiError> {
        let (resource, key) = (object.resource(), object.key());
        let before = self.store.existing(resource, &key)?;
        let known = before.object.meta();
        let asked = object.meta();
        let conflict = |why: &str| Err(ApiError::conflict(resource, &key.name, why));
        if asked.uid.as_ref().is_some_and(|uid| Some(uid) != known.uid.as_ref()) {
            return conflict(
                "the UID in the precondition does not match the UID in record. The object might have been deleted and then recreated",
            );
        }
        let version = asked.resource_version.as_ref().filter(|version| !version.is_empty());
        if version.is_some_and(|version| Some(version) != known.resource_version.as_ref()) {
            return conflict(
                "the object has been modified; please apply your changes to the latest version and try again",
            );
        }
        if write == Write::Status {
            let mut whole = before.object.clone();
            with_status_of(&mut whole, &object);
            object = whole;
        } else {
            with_status_of(&mut object, &before.object);
            defaults::fill(&mut object);
            let meta = object.meta_mut();
            meta.uid.clone_from(&known.uid);
            meta.creation_timestamp.clone_from(&known.creation_timestamp);
            meta.deletion_timestamp.clone_from(&known.deletion_timestamp);
            meta.deletion_grace_period_seconds = known.deletion_grace_period_seconds;
            meta.generation = known.generation;
            meta.generate_name.clone_from(&known.generate_name);
            validate::check(&object, Some(&before.object))?;
        }
        if is_dry_run {
            return Ok(Arc::new(Stored::new(object, before.revision)));
        }
        Ok(self.replace(object, &before, write))
    }

    /// Replaces an object: counts the generation, completes a deletion, and wakes the affected components.
    pub(super) fn replace(&mut self, mut object: Object, before: &Arc<Stored>, write: Write) -> Arc<Stored> {
        object.meta_mut().resource_version.clone_from(&before.object.meta().resource_version);
        if object == before.object {
            return before.clone();
        }
        if write == Write::Spec {
            count_generation(&mut object, &before.object);
        }
        let is_over = delete::is_over(&object);
        let key = object.key();
        let change = self.store.put(object);
        self.wake(&change);
        if is_over {
            self.remove(change.object.object.resource(), &key);
        }
        change.object
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::world::Settings;

    #[test]
    fn a_generated_name_keeps_58_letters_of_its_prefix() {
        let mut world = World::new(1, 1_800_000_000_000, Settings::default());
        let mut generated = |prefix: &str| {
            let spec = json!({ "containers": [{ "name": "web", "image": "web:v1" }] });
            let pod = json!({ "metadata": { "generateName": prefix, "namespace": "default" }, "spec": spec });
            world.create(Object::read(Resource::Pod, pod).unwrap()).unwrap().object.key().name
        };
        assert_eq!(generated("web-").len(), 9);
        let long = "x".repeat(80);
        let name = generated(&long);
        assert_eq!((name.len(), name.get(..58)), (63, long.get(..58)));
    }
}
