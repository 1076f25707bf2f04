//! Load: a cluster of many ready pods, and changes of them at any rate.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use crate::agenda::Task;
use crate::controller::{deployment, replicaset};
use crate::object::{Key, Object, Resource};
use crate::world::Write;
use crate::{ApiError, Settings, World, kubelet, meta};

/// Pods of each Deployment; the last one may have fewer.
const EACH: usize = 100;
/// Deployments of each namespace.
const NAMESPACE: usize = 20;
/// Number of pods that a node holds.
const NODE: usize = 200;

/// The pods of a cluster whose changes make the load.
#[derive(Debug)]
pub struct Load {
    pods: Vec<Key>,
}

/// Returns the settings of a cluster for this many pods.
pub fn settings(pods: usize) -> Settings {
    Settings {
        nodes: (0..=pods / NODE).map(|number| format!("node-{number}")).collect(),
        history: 200_000,
        has_container_events: false,
        ..Settings::default()
    }
}

impl Load {
    /// Creates Deployments with this many pods, all of them ready at once. Each Deployment also gets a number of old ReplicaSets
    /// without pods.
    ///
    /// # Errors
    /// If the world rejects one of them, for example because it already exists.
    pub fn fill(world: &mut World, pods: usize, old_replica_sets: usize) -> Result<Self, ApiError> {
        let mut load = Self { pods: Vec::with_capacity(pods) };
        for number in 0..pods.div_ceil(EACH) {
            load.deploy(world, number, EACH.min(pods - number * EACH), old_replica_sets)?;
        }
        world.agenda.retain(|task| !matches!(task, Task::Event(_) | Task::Schedule(_)));
        Ok(load)
    }

    fn deploy(&mut self, world: &mut World, number: usize, pods: usize, old_sets: usize) -> Result<(), ApiError> {
        let namespace = format!("load-{}", number / NAMESPACE);
        if number.is_multiple_of(NAMESPACE) {
            let made = json!({ "metadata": { "name": namespace } });
            world.create(Object::read(Resource::Namespace, made)?)?;
        }
        let name = format!("web-{number}");
        let labels = json!({ "app": name });
        let made = json!({
            "metadata": { "name": name, "namespace": namespace, "labels": labels },
            "spec": {
                "replicas": if old_sets == 0 { pods } else { 0 }, "selector": { "matchLabels": labels },
                "template": { "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "web", "image": "web:v1" }] } },
            },
        });
        let key = world.create(Object::read(Resource::Deployment, made)?)?.object.key();
        // The round that creates the ReplicaSet ends with a rejected second status; the next one writes it.
        let _ = deployment::sync(world, &key);
        for revision in 2..old_sets + 2 {
            // Only the last revision gets pods.
            let replicas = if revision == old_sets + 1 { pods } else { 0 };
            world.modify::<Deployment>(&key, Write::Spec, |deployment| {
                let Some(spec) = &mut deployment.spec else { return };
                spec.replicas = i32::try_from(replicas).ok();
                let containers = spec.template.spec.iter_mut().flat_map(|pod| &mut pod.containers);
                containers.for_each(|container| container.image = Some(format!("web:v{revision}")));
            });
            let _ = deployment::sync(world, &key);
        }
        let uid = world.get::<Deployment>(&key).and_then(|deployment| deployment.metadata.uid);
        let is_his = |set: &&ReplicaSet| {
            let has_pods = set.spec.as_ref().and_then(|spec| spec.replicas).is_some_and(|replicas| replicas > 0);
            has_pods && meta::is_controlled_by(&set.metadata, uid.as_deref())
        };
        let Some(set) = world.store.all::<ReplicaSet>(Some(&namespace)).find(is_his).cloned() else { return Ok(()) };
        for _ in 0..pods {
            let pod = replicaset::make_pod(world, &set)?;
            let node = format!("node-{}", self.pods.len() / NODE);
            kubelet::run_at_once(world, &pod, &node);
            self.pods.push(pod);
        }
        Ok(())
    }

    /// Adds a restart to one pod's container and returns the pod's key.
    pub fn change(&self, world: &mut World) -> Option<&Key> {
        let key = self.pods.get(world.random.usize(..self.pods.len().max(1)))?;
        world.modify::<Pod>(key, Write::Status, |pod| {
            for container in pod.status.iter_mut().filter_map(|status| status.container_statuses.as_mut()).flatten() {
                container.restart_count += 1;
            }
        })?;
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_deployment_has_old_replica_sets_without_pods() {
        let mut world = World::new(1, 1_800_000_000_000, settings(150));
        Load::fill(&mut world, 150, 10).unwrap();
        world.advance_to(world.now_millis() + 1_000);
        let replicas = |set: &ReplicaSet| set.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or_default();
        let mut sets: Vec<i32> = world.store.all::<ReplicaSet>(None).map(replicas).collect();
        sets.sort_unstable();
        assert_eq!((sets.len(), &sets[19..]), (22, &[0, 50, 100][..]));
        let status = world.store.all::<Deployment>(None).filter_map(|deployment| deployment.status.as_ref());
        assert_eq!(status.filter_map(|status| status.available_replicas).sum::<i32>(), 150);
    }

    #[test]
    fn a_filled_cluster_is_ready_and_changes_pod_by_pod() {
        let mut world = World::new(1, 1_800_000_000_000, settings(250));
        let load = Load::fill(&mut world, 250, 0).unwrap();
        world.advance_to(world.now_millis() + 1_000);
        let available: i32 = world
            .store
            .all::<Deployment>(None)
            .filter_map(|deployment| deployment.status.as_ref()?.available_replicas)
            .sum();
        assert_eq!((world.store.count(Resource::Pod), available), (250, 250));
        let before = world.store.revision();
        let changed: Vec<&Key> = (0..20).filter_map(|_| load.change(&mut world)).collect();
        assert_eq!(world.store.revision(), before + 20);
        let restarts = |key: &Key| {
            let pod = world.store.typed::<Pod>(key).unwrap();
            pod.status.as_ref().unwrap().container_statuses.as_ref().unwrap()[0].restart_count
        };
        let told: i32 =
            changed.iter().collect::<std::collections::BTreeSet<_>>().into_iter().map(|key| restarts(key)).sum();
        assert_eq!((changed.len(), told), (20, 20), "it says which");
    }
}
