//! Execution of due tasks: each goes to the controller, the scheduler or the kubelet responsible for it.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Namespace;

use crate::agenda::{Agenda, Task};
use crate::events::Recorder;
use crate::object::{Key, Kind};
use crate::store::Store;
use crate::world::AutoscalerMemory;
use crate::{ApiError, Settings, World, controller, kubelet, node, scheduler};

impl World {
    /// Creates a cluster whose nodes are ready, at this time.
    pub fn new(seed: u64, now_millis: i64, settings: Settings) -> Self {
        let mut world = Self {
            store: Store::new(settings.history, settings.first_revision),
            now_millis,
            random: fastrand::Rng::with_seed(seed),
            // A restarted world creates the same objects but with other UIDs: UIDs are never reused.
            uids: fastrand::Rng::with_seed(seed ^ settings.first_revision.rotate_left(32)),
            agenda: Agenda::default(),
            recorder: Recorder::default(),
            failures: BTreeMap::new(),
            steps: BTreeMap::new(),
            pods: BTreeMap::new(),
            lost: BTreeMap::new(),
            autoscaler: AutoscalerMemory::default(),
            unschedulable: BTreeSet::new(),
            settings,
        };
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let mut namespace = Namespace::default();
            namespace.metadata.name = Some(name.to_owned());
            let _ = world.create(namespace.into_object()); // a new world rejects none of these
        }
        for name in world.settings.nodes.clone() {
            let key = Key::new("", &name);
            world.put(node::new_node(&name).into_object());
            controller::node::report(&mut world, &key);
        }
        world.agenda.add(now_millis + controller::node::PODS_ROUND_MILLIS, Task::CollectPods);
        world
    }

    /// Advances the clock: runs all tasks that are due until then, in order.
    pub fn advance_to(&mut self, millis: i64) {
        while let Some((at, task)) = self.agenda.take(millis) {
            self.now_millis = self.now_millis.max(at);
            self.run_task(task);
        }
        self.now_millis = self.now_millis.max(millis);
    }

    fn run_task(&mut self, task: Task) {
        match task {
            Task::Deployment(key) => {
                self.run_controller(Task::Deployment(key.clone()), |world| controller::deployment::sync(world, &key))
            }
            Task::ReplicaSet(key) => {
                self.run_controller(Task::ReplicaSet(key.clone()), |world| controller::replicaset::sync(world, &key))
            }
            Task::Schedule(key) => scheduler::schedule(self, &key),
            Task::Kubelet(key) => kubelet::run(self, &key),
            Task::Collect(resource, key) => controller::gc::collect(self, resource, &key),
            Task::CollectPods => controller::node::collect_pods(self),
            Task::WriteOff(key) => controller::node::write_off(self, &key),
            Task::TaintEviction(key) | Task::ImmediateTaintEviction(key) => {
                controller::node::evict_by_taint(self, &key);
            }
            Task::NodeReports(key) => controller::node::report(self, &key),
            Task::Autoscaler => controller::autoscaler::round(self),
            Task::Boot(name) => controller::autoscaler::boot(self, &name),
            Task::Quota(namespace) => controller::quota::count(self, &namespace),
            Task::Namespace(name) => controller::namespace::empty(self, &name),
            Task::Event(event) => self.write_event(*event),
        }
    }

    /// Runs a controller's work on one object. A failure is retried, each time after twice the delay (5 ms at first).
    fn run_controller(&mut self, task: Task, work: impl FnOnce(&mut Self) -> Result<(), ApiError>) {
        match work(self) {
            Ok(()) => {
                self.failures.remove(&task);
            }
            Err(_) => {
                let count = self.failures.entry(task.clone()).or_default();
                let wait = 5_i64.saturating_mul(1 << (*count).min(17)).min(1_000_000);
                *count += 1;
                self.agenda.add(self.now_millis + wait, task);
            }
        }
    }
}
