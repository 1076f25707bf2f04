//! Objects of the fake API server: a Deployment, its ReplicaSet and its pods.

use serde_json::{Value, json};

use crate::live::support::fake_api::FakeApi;

/// An API server with a Deployment of two pods.
pub async fn shop() -> FakeApi {
    shop_of(2, &["web-a", "web-b"]).await
}

/// An API server with a Deployment of so many replicas, of which these pods exist.
pub async fn shop_of(replicas: u32, pods: &[&str]) -> FakeApi {
    let api = FakeApi::start().await;
    api.put(deployment(1, replicas));
    api.put(replica_set(2, 1, replicas));
    (10..).zip(pods).for_each(|(number, name)| api.put(pod(number, 2, name)));
    api
}

pub fn uid(number: u64) -> String {
    format!("00000000-0000-4000-8000-{number:012x}")
}

/// A Deployment `web` in namespace `shop`.
pub fn deployment(number: u64, replicas: u32) -> Value {
    json!({
        "kind": "Deployment",
        "metadata": { "name": "web", "namespace": "shop", "uid": uid(number), "generation": 1, "creationTimestamp": "2026-01-01T10:00:00Z",
            "annotations": { "deployment.kubernetes.io/revision": "1" } },
        "spec": { "replicas": replicas, "template": { "spec": { "containers": [{ "name": "web", "image": "web:v1" }] } } },
        "status": { "observedGeneration": 1, "replicas": replicas, "updatedReplicas": replicas, "availableReplicas": replicas },
    })
}

pub fn replica_set(number: u64, owner: u64, replicas: u32) -> Value {
    json!({
        "kind": "ReplicaSet",
        "metadata": { "name": "web-1", "namespace": "shop", "uid": uid(number), "creationTimestamp": "2026-01-01T10:00:00Z",
            "annotations": { "deployment.kubernetes.io/revision": "1" }, "labels": { "pod-template-hash": "1" },
            "ownerReferences": [{ "kind": "Deployment", "name": "web", "uid": uid(owner), "controller": true }] },
        "spec": { "replicas": replicas, "template": { "spec": { "containers": [{ "name": "web", "image": "web:v1" }] } } },
        "status": { "replicas": replicas },
    })
}

/// A ready pod of a ReplicaSet.
pub fn pod(number: u64, owner: u64, name: &str) -> Value {
    json!({
        "kind": "Pod",
        "metadata": { "name": name, "namespace": "shop", "uid": uid(number), "creationTimestamp": "2026-01-01T10:00:00Z",
            "ownerReferences": [{ "kind": "ReplicaSet", "name": "web-1", "uid": uid(owner), "controller": true }] },
        "spec": { "nodeName": "node-1", "containers": [{ "name": "web", "image": "web:v1" }] },
        "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T10:00:01Z" }],
            "containerStatuses": [{ "name": "web", "restartCount": 0, "state": { "running": {} } }] },
    })
}
