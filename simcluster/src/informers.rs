//! Informers: after each change, they wake the controllers, the scheduler and the kubelet that it affects.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::agenda::Task;
use crate::change::{Change, Verb};
use crate::node::no_execute_taints;
use crate::object::{Key, Kind, Object, Resource};
use crate::world::delete::{FOREGROUND, ORPHAN};
use crate::{World, controller, kubelet, meta, strategy};
use selector::Labels;

impl World {
    pub(crate) fn wake(&mut self, change: &Change) {
        let object = &change.object.object;
        let before = change.before.as_ref().map(|stored| &stored.object);
        match object {
            Object::Deployment(deployment) if change.verb != Verb::Deleted => {
                self.schedule_soon(Task::Deployment(Key::of(&deployment.metadata)));
            }
            Object::ReplicaSet(set) => self.wake_for_set(set, before, change.verb),
            Object::Pod(pod) => self.wake_for_pod(pod, before.and_then(Pod::of), change.verb),
            Object::Node(object) => {
                let key = Key::of(&object.metadata);
                match change.verb {
                    Verb::Added => {
                        self.schedule_between(20, 60, Task::NodeReports(key));
                        self.wake_for_taints(object, None);
                    }
                    Verb::Modified => self.wake_for_taints(object, before.and_then(Node::of)),
                    Verb::Deleted => self.forget_node(&key.name),
                }
                self.retry_unschedulable();
            }
            Object::ResourceQuota(quota) if change.verb != Verb::Deleted => {
                let namespace = quota.metadata.namespace.clone().unwrap_or_default();
                self.schedule_between(5, 30, Task::Quota(namespace));
            }
            Object::Namespace(namespace) if meta::is_deleting(&namespace.metadata) => {
                let name = namespace.metadata.name.clone().unwrap_or_default();
                if change.verb != Verb::Deleted {
                    self.schedule_between(10, 60, Task::Namespace(name));
                }
            }
            _ => {}
        }
        if change.verb == Verb::Deleted {
            self.wake_collector(object);
        }
    }

    /// Plans or cancels the taint evictions of a node's pods after its taints changed.
    fn wake_for_taints(&mut self, node: &Node, before: Option<&Node>) {
        if before.is_some_and(|before| no_execute_taints(before).eq(no_execute_taints(node))) {
            return;
        }
        let name = node.metadata.name.as_deref().unwrap_or_default();
        let pods: Vec<Pod> = self.store.pods_on(name).cloned().collect();
        pods.iter().for_each(|pod| controller::node::plan_taint_eviction(self, pod));
    }

    /// Drops the planned steps of the simple pods of a node that is gone.
    fn forget_node(&mut self, name: &str) {
        let uids: Vec<String> = self.store.pods_on(name).filter_map(|pod| pod.metadata.uid.clone()).collect();
        for uid in uids {
            self.steps.remove(&uid);
        }
    }

    fn wake_for_set(&mut self, set: &ReplicaSet, before: Option<&Object>, verb: Verb) {
        let key = Key::of(&set.metadata);
        for meta in std::iter::once(&set.metadata).chain(before.map(Object::meta)) {
            self.wake_owner(meta, Resource::Deployment, Task::Deployment);
        }
        if meta::controller(&set.metadata).is_none() && verb != Verb::Deleted {
            self.wake_selecting(&set.metadata, Resource::Deployment, Task::Deployment);
        }
        self.schedule_soon(Task::ReplicaSet(key));
    }

    /// Wakes the objects that select an orphan: they may adopt it.
    fn wake_selecting(&mut self, orphan: &ObjectMeta, resource: Resource, task: fn(Key) -> Task) {
        let labels = meta::labels(orphan);
        let selects = |owner: &&Object| owner.selector().is_some_and(|of| Labels::of(of).matches(labels));
        let owners = self.store.list(resource, orphan.namespace.as_deref(), None).map(|stored| &stored.object);
        let found: Vec<Key> = owners.filter(selects).map(Object::key).collect();
        found.into_iter().for_each(|key| self.schedule_soon(task(key)));
    }

    fn wake_owner(&mut self, meta: &ObjectMeta, resource: Resource, task: fn(Key) -> Task) -> Option<Key> {
        let owner = meta::controller(meta).filter(|owner| owner.kind == resource.kind())?;
        let key = Key::new(meta.namespace.as_deref().unwrap_or_default(), &owner.name);
        self.schedule_soon(task(key.clone()));
        Some(key)
    }

    fn wake_for_pod(&mut self, pod: &Pod, before: Option<&Pod>, verb: Verb) {
        let key = Key::of(&pod.metadata);
        // After other changes a ReplicaSet's round would do nothing.
        let is_concerned = verb != Verb::Modified || before.is_none_or(|before| concerns_owner(pod, before));
        let of = Resource::ReplicaSet;
        let set = if is_concerned { self.wake_owner(&pod.metadata, of, Task::ReplicaSet) } else { None };
        if let Some(before) = before.filter(|_| is_concerned) {
            self.wake_owner(&before.metadata, of, Task::ReplicaSet);
        }
        let was_changed = before.is_none_or(|before| {
            before.metadata.labels != pod.metadata.labels
                || before.metadata.owner_references != pod.metadata.owner_references
        });
        if is_concerned && set.is_none() && was_changed && verb != Verb::Deleted {
            self.wake_selecting(&pod.metadata, of, Task::ReplicaSet);
        }
        if verb == Verb::Deleted {
            // A Recreate rollout waits until the last pod is gone.
            let owner = set.as_ref().and_then(|set| meta::controller(&self.store.typed::<ReplicaSet>(set)?.metadata));
            let deployment = owner.map(|owner| Key::new(&key.namespace, &owner.name));
            let is_recreate = |of: &Deployment| strategy::strategy(of) == "Recreate";
            if let Some(deployment) =
                deployment.filter(|key| self.store.typed::<Deployment>(key).is_some_and(is_recreate))
            {
                self.schedule_soon(Task::Deployment(deployment));
            }
            let uid = pod.metadata.uid.as_deref().unwrap_or_default();
            self.steps.remove(uid);
            self.pods.remove(uid);
            self.unschedulable.remove(&key);
            controller::node::cancel_taint_eviction(self, pod);
        } else if meta::node_of(pod).is_none() {
            if !self.unschedulable.contains(&key) {
                self.schedule_soon(Task::Schedule(key.clone()));
            }
        } else {
            if meta::is_deleting(&pod.metadata) && before.is_some_and(|before| !meta::is_deleting(&before.metadata)) {
                kubelet::killing(self, pod);
            }
            kubelet::plan(self, pod);
            let is_other = |before: &Pod| {
                meta::node_of(before) != meta::node_of(pod) || meta::tolerations(before) != meta::tolerations(pod)
            };
            if before.is_none_or(is_other) {
                controller::node::plan_taint_eviction(self, pod);
            }
        }
        let counts = |pod: Option<&Pod>| pod.is_some_and(|pod| !meta::is_finished(pod));
        if counts(before) && (verb == Verb::Deleted || !counts(Some(pod))) {
            self.retry_unschedulable();
            self.schedule_between(10, 60, Task::Quota(key.namespace));
        }
    }

    /// Schedules pods without a node again after capacity became free.
    pub(crate) fn retry_unschedulable(&mut self) {
        for key in std::mem::take(&mut self.unschedulable) {
            self.schedule_between(20, 200, Task::Schedule(key));
        }
    }

    /// Wakes the garbage collector for the dependents of a deleted object, and for an owner that waited for it.
    fn wake_collector(&mut self, gone: &Object) {
        let key = gone.key();
        for (resource, dependent) in self.store.dependents(gone.resource(), &key, gone.uid()) {
            self.schedule_between(15, 90, Task::Collect(resource, dependent));
        }
        for owner in gone.meta().owner_references.clone().unwrap_or_default() {
            let Some(resource) = meta::resource_of(&owner) else { continue };
            let owner = Key::new(&key.namespace, &owner.name);
            let waits = self.store.get(resource, &owner).is_some_and(|stored| {
                stored.object.meta().finalizers.iter().flatten().any(|name| name == FOREGROUND || name == ORPHAN)
            });
            if waits {
                self.schedule_between(15, 60, Task::Collect(resource, owner));
            }
        }
    }
}

/// Returns whether the difference matters to the owning ReplicaSet, or to one that could own the pod.
fn concerns_owner(pod: &Pod, before: &Pod) -> bool {
    let (now, then) = (&pod.metadata, &before.metadata);
    now.labels != then.labels
        || now.owner_references != then.owner_references
        || now.deletion_timestamp != then.deletion_timestamp
        || meta::phase(pod) != meta::phase(before)
        || meta::condition(pod, "Ready") != meta::condition(before, "Ready")
}
