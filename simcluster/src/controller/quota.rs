//! The controller of ResourceQuotas on pod counts: counts again when pods are gone.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, ResourceQuota, ResourceQuotaStatus};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::object::{Key, Resource};
use crate::world::Write;
use crate::{World, meta};

/// Counts the pods of a namespace for its quotas.
pub fn count(world: &mut World, namespace: &str) {
    let pods = world.store.all::<Pod>(Some(namespace)).filter(|pod| !meta::is_finished(pod)).count();
    let all = |resource: Resource| world.store.list(resource, Some(namespace), None).count();
    let counts: BTreeMap<String, usize> = [
        ("pods".to_owned(), pods),
        ("count/pods".to_owned(), all(Resource::Pod)),
        ("count/replicasets.apps".to_owned(), all(Resource::ReplicaSet)),
        ("count/deployments.apps".to_owned(), all(Resource::Deployment)),
    ]
    .into();
    let keys: Vec<Key> =
        world.store.all::<ResourceQuota>(Some(namespace)).map(|quota| Key::of(&quota.metadata)).collect();
    for key in keys {
        world.modify::<ResourceQuota>(&key, Write::Status, |quota| {
            let hard = quota.spec.as_ref().and_then(|spec| spec.hard.clone()).unwrap_or_default();
            let used = hard.keys().filter_map(|name| Some((name.clone(), Quantity(counts.get(name)?.to_string()))));
            quota.status = Some(ResourceQuotaStatus { used: Some(used.collect()), hard: Some(hard) });
        });
    }
}
