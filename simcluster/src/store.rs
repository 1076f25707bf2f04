//! The objects, their resourceVersions and the history that watches read. The store does not interpret objects, except for the
//! controller of a pod.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::change::{Change, Stored, Verb};
use crate::object::{Key, Kind, Object, Resource};
use crate::{ApiError, meta};

/// Default number of changes kept per kind. Older ones are compacted, and watches from there get 410. Each change holds an object
/// and its JSON, about 10 KB for a pod; this number covers some seconds of the fastest playground.
pub const HISTORY: usize = 1_000;

#[derive(Debug, Default)]
struct Collection {
    objects: BTreeMap<Key, Arc<Stored>>,
    history: VecDeque<Change>,
    /// Changes up to this revision are no longer in the history.
    compacted: u64,
}

/// The objects of a cluster.
#[derive(Debug)]
pub struct Store {
    revision: u64,
    collections: BTreeMap<Resource, Collection>,
    /// Keys of pods by the UID of their controller, and by namespace for pods without one.
    pods: BTreeMap<String, BTreeSet<Key>>,
    history: usize,
}

impl Store {
    /// Creates an empty store that keeps this many changes per kind. Revisions continue after `revision`; watches from an earlier
    /// one are too old.
    pub fn new(history: usize, revision: u64) -> Self {
        let collection = || Collection { compacted: revision, ..Collection::default() };
        let collections = Resource::ALL.into_iter().map(|resource| (resource, collection())).collect();
        Self { revision: revision.max(1), collections, pods: BTreeMap::new(), history }
    }

    /// Returns the newest resourceVersion.
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    fn collection(&self, resource: Resource) -> &Collection {
        static NONE: Collection = Collection { objects: BTreeMap::new(), history: VecDeque::new(), compacted: 0 };
        self.collections.get(&resource).unwrap_or(&NONE)
    }

    /// Returns an object.
    pub fn get(&self, resource: Resource, key: &Key) -> Option<&Arc<Stored>> {
        self.collection(resource).objects.get(key)
    }

    /// Returns an object as its type.
    pub fn typed<K: Kind>(&self, key: &Key) -> Option<&K> {
        K::of(&self.get(K::RESOURCE, key)?.object)
    }

    /// Returns objects of a kind in one namespace or in all, ordered by namespace and name.
    pub fn list<'a>(
        &'a self,
        resource: Resource,
        namespace: Option<&'a str>,
        after: Option<&Key>,
    ) -> impl Iterator<Item = &'a Arc<Stored>> {
        let first = namespace.map(|namespace| Key::new(namespace, ""));
        let from = match (after, &first) {
            (Some(after), _) => Bound::Excluded(after),
            (None, Some(first)) => Bound::Included(first),
            (None, None) => Bound::Unbounded,
        };
        let range = self.collection(resource).objects.range::<Key, _>((from, Bound::Unbounded));
        range.map_while(move |(key, object)| {
            namespace.is_none_or(|namespace| key.namespace == namespace).then_some(object)
        })
    }

    /// Returns all objects of a type in one namespace or in all.
    pub fn all<'a, K: Kind + 'a>(&'a self, namespace: Option<&'a str>) -> impl Iterator<Item = &'a K> {
        self.list(K::RESOURCE, namespace, None).filter_map(|stored| K::of(&stored.object))
    }

    /// Returns the number of objects of a kind.
    pub fn count(&self, resource: Resource) -> usize {
        self.collection(resource).objects.len()
    }

    /// Returns the pods that the object with this UID controls.
    pub fn pods_of<'a>(&'a self, uid: &str) -> impl Iterator<Item = &'a Arc<Stored>> + use<'a> {
        let keys = self.pods.get(uid).into_iter().flatten();
        keys.filter_map(|key| self.get(Resource::Pod, key))
    }

    /// Returns the pods of a namespace without a controller.
    pub fn orphans<'a>(&'a self, namespace: &str) -> impl Iterator<Item = &'a Arc<Stored>> + use<'a> {
        self.pods_of(&orphans_of(namespace))
    }

    /// Returns the pods that are bound to a node.
    pub fn pods_on<'a>(&'a self, node: &'a str) -> impl Iterator<Item = &'a Pod> {
        self.all::<Pod>(None).filter(move |pod| meta::node_of(pod) == Some(node))
    }

    /// Returns the dependents of an object with this UID, even if it was deleted.
    pub fn dependents(&self, resource: Resource, owner: &Key, uid: &str) -> Vec<(Resource, Key)> {
        let kind = match resource {
            Resource::Deployment => Resource::ReplicaSet,
            Resource::ReplicaSet => Resource::Pod,
            _ => return Vec::new(),
        };
        let is_his = |meta: &ObjectMeta| meta.owner_references.iter().flatten().any(|owner| owner.uid == uid);
        let all = self.list(kind, Some(&owner.namespace), None);
        all.filter(|stored| is_his(stored.object.meta())).map(|stored| (kind, stored.object.key())).collect()
    }

    /// Returns an object.
    ///
    /// # Errors
    /// 404 if it does not exist.
    pub fn existing(&self, resource: Resource, key: &Key) -> Result<Arc<Stored>, ApiError> {
        self.get(resource, key).cloned().ok_or_else(|| ApiError::not_found(resource, &key.name))
    }

    /// Stores an object, sets its resourceVersion and returns the change.
    pub fn put(&mut self, mut object: Object) -> Change {
        self.revision += 1;
        object.meta_mut().resource_version = Some(self.revision.to_string());
        let (resource, key) = (object.resource(), object.key());
        let before = self.get(resource, &key).cloned();
        if resource == Resource::Pod {
            if let Some(before) = &before {
                self.forget_pod(&key, &before.object);
            }
            self.pods.entry(holder(&object, &key)).or_default().insert(key.clone());
        }
        let stored = Arc::new(Stored::new(object, self.revision));
        let verb = if before.is_some() { Verb::Modified } else { Verb::Added };
        if let Some(collection) = self.collections.get_mut(&resource) {
            collection.objects.insert(key, stored.clone());
        }
        self.remember(resource, Change { verb, object: stored, before })
    }

    /// Removes an object and returns the change.
    pub fn remove(&mut self, resource: Resource, key: &Key) -> Option<Change> {
        let before = self.collections.get_mut(&resource)?.objects.remove(key)?;
        self.revision += 1;
        let mut object = before.object.clone();
        object.meta_mut().resource_version = Some(self.revision.to_string());
        if resource == Resource::Pod {
            self.forget_pod(key, &before.object);
        }
        let stored = Arc::new(Stored::new(object, self.revision));
        Some(self.remember(resource, Change { verb: Verb::Deleted, object: stored, before: Some(before) }))
    }

    /// Returns changes of a kind after a revision, oldest first; `None` if some of them are compacted.
    pub fn since(&self, resource: Resource, revision: u64) -> Option<impl Iterator<Item = &Change>> {
        let collection = self.collection(resource);
        let from = collection.history.partition_point(|change| change.object.revision <= revision);
        (revision >= collection.compacted).then(|| collection.history.range(from..))
    }

    /// Returns the oldest revision from which a kind can be watched.
    pub fn compacted(&self, resource: Resource) -> u64 {
        self.collection(resource).compacted
    }

    fn remember(&mut self, resource: Resource, change: Change) -> Change {
        if let Some(collection) = self.collections.get_mut(&resource) {
            collection.history.push_back(change.clone());
            while collection.history.len() > self.history {
                if let Some(gone) = collection.history.pop_front() {
                    collection.compacted = gone.object.revision;
                }
            }
        }
        change
    }

    fn forget_pod(&mut self, key: &Key, pod: &Object) {
        let holder = holder(pod, key);
        if let Some(keys) = self.pods.get_mut(&holder) {
            keys.remove(key);
            if keys.is_empty() {
                self.pods.remove(&holder);
            }
        }
    }
}

/// Returns the key of a pod in `pods`: the UID of its controller, or its namespace.
fn holder(pod: &Object, key: &Key) -> String {
    meta::controller(pod.meta()).map_or_else(|| orphans_of(&key.namespace), |owner| owner.uid.clone())
}

/// Returns the key of a namespace's pods without a controller. The slash cannot occur in a UID.
fn orphans_of(namespace: &str) -> String {
    format!("orphans/{namespace}")
}
