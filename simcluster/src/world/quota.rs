//! Admission by ResourceQuotas on counts of pods: each admitted pod is counted at once.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::{World, Write};
use crate::ApiError;
use crate::object::{Key, Resource};

/// Quota resources that count pods.
const COUNTS: [&str; 2] = ["count/pods", "pods"];

fn amount(amounts: Option<&BTreeMap<String, Quantity>>, name: &str) -> Option<u64> {
    amounts?.get(name)?.0.parse().ok()
}

/// Rejects a pod that would exceed a quota; otherwise counts it.
///
/// # Errors
/// 403 in the words of the admission plugin.
pub fn admit(world: &mut World, pod: &Pod, is_dry_run: bool) -> Result<(), ApiError> {
    let key = Key::of(&pod.metadata);
    let quotas: Vec<ResourceQuota> = world.store.all::<ResourceQuota>(Some(&key.namespace)).cloned().collect();
    for quota in &quotas {
        // Before the controller's first count a quota does not limit, as in Kubernetes.
        let Some(status) = &quota.status else { continue };
        for name in COUNTS {
            let Some(hard) = amount(status.hard.as_ref(), name) else { continue };
            let used = amount(status.used.as_ref(), name).unwrap_or_default();
            if used + 1 > hard {
                let quota = quota.metadata.name.as_deref().unwrap_or_default();
                let why = format!(
                    "exceeded quota: {quota}, requested: {name}=1, used: {name}={used}, limited: {name}={hard}"
                );
                return Err(ApiError::forbidden(Resource::Pod, &key.name, &why));
            }
        }
    }
    for quota in quotas.iter().filter(|_| !is_dry_run) {
        world.modify::<ResourceQuota>(&Key::of(&quota.metadata), Write::Status, |quota| {
            for (name, used) in quota.status.iter_mut().filter_map(|status| status.used.as_mut()).flatten() {
                if COUNTS.contains(&name.as_str()) {
                    *used = Quantity((used.0.parse::<u64>().unwrap_or_default() + 1).to_string());
                }
            }
        });
    }
    Ok(())
}

/// Returns a pod's quality of service class, from its requests and limits.
pub fn quality(pod: &Pod) -> &'static str {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let resources: Vec<_> = containers.map(|container| container.resources.clone().unwrap_or_default()).collect();
    let is_empty = |amounts: &Option<BTreeMap<String, Quantity>>| amounts.as_ref().is_none_or(BTreeMap::is_empty);
    if resources.iter().all(|resources| is_empty(&resources.requests) && is_empty(&resources.limits)) {
        return "BestEffort";
    }
    let is_guaranteed = resources.iter().all(|resources| {
        ["cpu", "memory"].iter().all(|name| {
            let limit = resources.limits.as_ref().and_then(|limits| limits.get(*name));
            let request = resources.requests.as_ref().and_then(|requests| requests.get(*name));
            limit.is_some() && (request.is_none() || request == limit)
        })
    });
    if is_guaranteed { "Guaranteed" } else { "Burstable" }
}
