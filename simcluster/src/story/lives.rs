//! Patches of stories for the programs of pods, and the restoration of a plain template.

use k8s_openapi::api::core::v1::PodSpec;
use serde_json::{Value, json};

/// The ConfigMap that a story needs.
pub(super) const CONFIG_MAP: &str = "files";

fn patch(container: Value) -> Value {
    json!({ "spec": { "template": { "spec": { "containers": [container] } } } })
}

fn probe(path: &str, failures: i32) -> Value {
    json!({ "httpGet": { "path": path, "port": 8080 }, "periodSeconds": 2, "failureThreshold": failures })
}

/// Returns a patch with a program that is ready after 28 seconds.
pub(super) fn slow_start(name: &str, image: &str) -> Value {
    let probe = probe("/ready", 3);
    patch(json!({ "name": name, "image": image, "args": ["ready=28"], "readinessProbe": probe }))
}

/// Returns a patch with a program that fails its liveness probe after 15 seconds.
pub(super) fn hangs(name: &str, image: &str) -> Value {
    let probe = probe("/live", 2);
    patch(json!({ "name": name, "image": image, "args": ["live=15"], "livenessProbe": probe }))
}

/// Returns a patch with the same probe, and a program that stays alive.
pub(super) fn hangs_no_more(name: &str, image: &str) -> Value {
    patch(json!({ "name": name, "image": image, "args": null }))
}

/// Returns a patch with a volume of a ConfigMap.
pub(super) fn needs_config(name: &str, image: &str) -> Value {
    let mounts = json!([{ "name": CONFIG_MAP, "mountPath": "/files" }]);
    let volumes = json!([{ "name": CONFIG_MAP, "configMap": { "name": CONFIG_MAP } }]);
    let container = json!({ "name": name, "image": image, "volumeMounts": mounts });
    json!({ "spec": { "template": { "spec": { "containers": [container], "volumes": volumes } } } })
}

/// Returns a patch that requests most of a node.
pub(super) fn large(name: &str, image: &str) -> Value {
    let resources = json!({ "requests": { "cpu": "12" } });
    patch(json!({ "name": name, "image": image, "resources": resources }))
}

/// Removes these patches from a template. Returns whether there were any.
pub(super) fn forget(spec: &mut PodSpec) -> bool {
    let before = spec.clone();
    spec.volumes = None;
    if let Some(container) = spec.containers.first_mut() {
        container.args = None;
        container.volume_mounts = None;
        container.startup_probe = None;
        container.liveness_probe = None;
        container.readiness_probe = None;
        if let Some(resources) = &mut container.resources {
            resources.requests = None;
        }
    }
    *spec != before
}
