//! The cluster: owns the objects, the agenda and the randomness, admits what is written, and wakes whoever a change concerns.
//!
//! People, controllers, scheduler and kubelets all write through the functions of this file and of `world/`. It does not know HTTP.

mod admit;
pub(crate) mod delete;
mod quota;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::agenda::{Agenda, Task};
use crate::change::Stored;
use crate::events::{self, LIFE_MILLIS, NewEvent, Outcome, Recorder};
use crate::object::{Key, Kind, Object, Resource};
use crate::runtime::{PodRecord, Step};
use crate::store::{self, Store};

pub use delete::{DeleteOptions, Propagation};

/// Settings of a cluster.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// Changes per kind that watches can go back.
    pub history: usize,
    /// The resourceVersion to count on from: of a world that takes the place of another, one after the last one of that.
    pub first_revision: u64,
    /// True if kubelets write Events about images and containers, as real ones do.
    pub has_container_events: bool,
    /// The nodes that an autoscaler may add; `None` without one.
    pub pool: Option<Pool>,
}

impl Default for Settings {
    fn default() -> Self {
        let nodes = (1..=4).map(|number| format!("node-{number}")).collect();
        Self { nodes, history: store::HISTORY, first_revision: 0, has_container_events: true, pool: None }
    }
}

/// Nodes that an autoscaler may add.
#[derive(Debug, Clone)]
pub struct Pool {
    /// Its name; its nodes are called by it, with a number.
    pub name: String,
    /// Largest number of nodes.
    pub most: usize,
    /// Time until a new node is there.
    pub boot_millis: i64,
}

impl Default for Pool {
    fn default() -> Self {
        Self { name: "pool".to_owned(), most: 2, boot_millis: 25_000 }
    }
}

impl Pool {
    /// Returns whether a node of this name is one of the pool.
    pub(crate) fn has_node(&self, name: &str) -> bool {
        name.strip_prefix(&self.name).is_some_and(|number| number.starts_with('-'))
    }
}

/// What the autoscaler remembers between its rounds.
#[derive(Debug, Default)]
pub(crate) struct AutoscalerMemory {
    /// The node that is coming.
    pub boots: Option<String>,
    /// Pods that were told already, by their UID.
    pub told: BTreeMap<String, bool>,
    /// Since when a node has been empty.
    pub empty: BTreeMap<String, i64>,
}

/// Which part of an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// Everything but the status.
    Spec,
    /// The status alone.
    Status,
}

/// The cluster.
#[derive(Debug)]
pub struct World {
    pub(crate) settings: Settings,
    pub(crate) now_millis: i64,
    pub(crate) random: fastrand::Rng,
    pub(crate) uids: fastrand::Rng,
    pub(crate) store: Store,
    pub(crate) agenda: Agenda,
    pub(crate) recorder: Recorder,
    /// Number of failures in a row of each controller's work: it waits longer each time.
    pub(crate) failures: BTreeMap<Task, u32>,
    /// Next step of each simple pod, by its UID.
    pub(crate) steps: BTreeMap<String, Step>,
    /// What their kubelets know of detailed pods, by their UID.
    pub(crate) pods: BTreeMap<String, PodRecord>,
    /// Nodes that are gone while pods are still bound to them, since when it was noticed.
    pub(crate) lost: BTreeMap<String, i64>,
    pub(crate) autoscaler: AutoscalerMemory,
    pub(crate) unschedulable: BTreeSet<Key>,
}

impl World {
    /// The moment that the cluster's clocks show, in milliseconds since 1970.
    pub const fn now_millis(&self) -> i64 {
        self.now_millis
    }

    /// The objects.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// When something will happen next.
    pub fn next_millis(&self) -> Option<i64> {
        self.agenda.next_millis()
    }

    /// A controller's work soon: what a watch event, a work queue and the writes of the round before take. A ReplicaSet's
    /// rounds write several objects, so the Deployment controller usually sees what stands between two of them.
    pub(crate) fn schedule_soon(&mut self, task: Task) {
        let wait = match task {
            Task::ReplicaSet(_) => self.random.i64(5..=14),
            _ => self.random.i64(1..=4),
        };
        self.agenda.add(self.now_millis + wait, task);
    }

    /// A task after some time, picked between two.
    pub(crate) fn schedule_between(&mut self, from_millis: i64, to_millis: i64, task: Task) {
        let at = self.now_millis + self.random.i64(from_millis..=to_millis.max(from_millis));
        self.agenda.add(at, task);
    }

    /// Something to be written as an Event, a little later as components do.
    pub(crate) fn record_event(&mut self, event: NewEvent) {
        self.schedule_between(2, 12, Task::Event(Box::new(event)));
    }

    pub(crate) fn write_event(&mut self, event: NewEvent) {
        while let Some(key) = self.recorder.ended(self.now_millis) {
            match self.store.typed::<Event>(&key).and_then(events::last_millis) {
                Some(last) if last + LIFE_MILLIS > self.now_millis => self.recorder.keep(key, last),
                _ => {
                    self.recorder.remove(&key);
                    self.remove(Resource::Event, &key);
                }
            }
        }
        match self.recorder.record(event, self.now_millis) {
            Outcome::New(event) => self.put(*event),
            Outcome::Again(key, message) => {
                let now = self.now_millis;
                self.modify::<Event>(&key, Write::Spec, |event| events::count_up(event, message, now));
            }
            Outcome::Silence => {}
        }
    }

    /// An object, cloned: controllers work on their own copy.
    pub fn get<K: Kind>(&self, key: &Key) -> Option<K> {
        self.store.typed::<K>(key).cloned()
    }

    /// Changes an object that is there; nothing happens if nothing differs. For controllers, which are trusted: nothing is validated.
    pub(crate) fn modify<K: Kind>(
        &mut self,
        key: &Key,
        write: Write,
        change: impl FnOnce(&mut K),
    ) -> Option<Arc<Stored>> {
        let before = self.store.get(K::RESOURCE, key)?.clone();
        let mut object = before.object.clone();
        change(K::of_mut(&mut object)?);
        Some(self.replace(object, &before, write))
    }

    /// Changes the metadata of an object of any kind.
    pub(crate) fn edit_meta(&mut self, resource: Resource, key: &Key, change: impl FnOnce(&mut ObjectMeta)) {
        if let Some(before) = self.store.get(resource, key).cloned() {
            let mut object = before.object.clone();
            change(object.meta_mut());
            self.replace(object, &before, Write::Spec);
        }
    }

    /// Takes the owner with this UID from an object.
    pub(crate) fn disown(&mut self, resource: Resource, key: &Key, uid: &str) {
        self.edit_meta(resource, key, |meta| {
            if let Some(owners) = &mut meta.owner_references {
                owners.retain(|owner| owner.uid != uid);
            }
        });
    }

    pub(crate) fn put(&mut self, object: Object) {
        let object = self.named(object);
        let change = self.store.put(object);
        self.wake(&change);
    }

    /// Takes an object away at once.
    pub(crate) fn remove(&mut self, resource: Resource, key: &Key) {
        if let Some(change) = self.store.remove(resource, key) {
            self.wake(&change);
        }
    }
}
