//! The cluster: owns the objects, the agenda and the random numbers, admits writes, and wakes the components that a change affects.
//!
//! People, controllers, the scheduler and kubelets all write through the functions of this file and of `world/`. They are
//! independent of HTTP.

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
    /// Number of changes per kind in the history for watches.
    pub history: usize,
    /// First resourceVersion. A world that replaces another one starts after that world's last one.
    pub first_revision: u64,
    /// Whether kubelets write Events about images and containers, as real ones do.
    pub has_container_events: bool,
    /// Nodes that an autoscaler may add; `None` without an autoscaler.
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
    /// Name of the pool and prefix of its nodes, which are numbered.
    pub name: String,
    /// Largest number of nodes.
    pub most: usize,
    /// Time until a new node is added.
    pub boot_millis: i64,
}

impl Default for Pool {
    fn default() -> Self {
        Self { name: "pool".to_owned(), most: 2, boot_millis: 25_000 }
    }
}

impl Pool {
    /// Returns whether a node of this name belongs to the pool.
    pub(crate) fn has_node(&self, name: &str) -> bool {
        name.strip_prefix(&self.name).is_some_and(|number| number.starts_with('-'))
    }
}

/// State of the autoscaler between its rounds.
#[derive(Debug, Default)]
pub(crate) struct AutoscalerMemory {
    /// The node that is starting.
    pub boots: Option<String>,
    /// Pods about which an Event was recorded, by their UID.
    pub told: BTreeMap<String, bool>,
    /// Time since which a node has been empty.
    pub empty: BTreeMap<String, i64>,
}

/// The part of an object that a write changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// Everything except the status.
    Spec,
    /// Only the status.
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
    /// Number of consecutive failures of each controller's work; the delay grows with it.
    pub(crate) failures: BTreeMap<Task, u32>,
    /// Next step of each simple pod, by its UID.
    pub(crate) steps: BTreeMap<String, Step>,
    /// Records of the kubelets about detailed pods, by UID.
    pub(crate) pods: BTreeMap<String, PodRecord>,
    /// Nodes that are gone while pods are still bound to them, with the time at which this was noticed.
    pub(crate) lost: BTreeMap<String, i64>,
    pub(crate) autoscaler: AutoscalerMemory,
    pub(crate) unschedulable: BTreeSet<Key>,
}

impl World {
    /// Returns the present virtual time, in milliseconds since 1970.
    pub const fn now_millis(&self) -> i64 {
        self.now_millis
    }

    /// Returns the objects.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the due time of the next task.
    pub fn next_millis(&self) -> Option<i64> {
        self.agenda.next_millis()
    }

    /// Schedules a controller's work after the usual delay of a watch event, a work queue and the writes of the previous round. A
    /// ReplicaSet's rounds write several objects, so the Deployment controller usually sees the state between two of the writes.
    pub(crate) fn schedule_soon(&mut self, task: Task) {
        let wait = match task {
            Task::ReplicaSet(_) => self.random.i64(5..=14),
            _ => self.random.i64(1..=4),
        };
        self.agenda.add(self.now_millis + wait, task);
    }

    /// Schedules a task after a random delay between two bounds.
    pub(crate) fn schedule_between(&mut self, from_millis: i64, to_millis: i64, task: Task) {
        let at = self.now_millis + self.random.i64(from_millis..=to_millis.max(from_millis));
        self.agenda.add(at, task);
    }

    /// Schedules the write of an Event, a little later as components do.
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

    /// Returns a clone of an object: controllers work on their own copy.
    pub fn get<K: Kind>(&self, key: &Key) -> Option<K> {
        self.store.typed::<K>(key).cloned()
    }

    /// Changes an object if it exists and differs. For controllers, which are trusted: the change is not validated.
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

    /// Removes the owner reference with this UID from an object.
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

    /// Removes an object at once.
    pub(crate) fn remove(&mut self, resource: Resource, key: &Key) {
        if let Some(change) = self.store.remove(resource, key) {
            self.wake(&change);
        }
    }
}
