//! Discovery: versions, groups, resources, and whether the server checks fields.

use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::answer;
use crate::Resource;

/// Kubernetes' version whose behaviour is simulated.
const VERSION: (&str, &str, &str) = ("1", "36", "v1.36.3+simcluster");
const GROUPS: [&str; 2] = ["apps", "discovery.k8s.io"];

/// The answer, if the path is one of these.
pub fn answer(segments: &[&str]) -> Option<Response> {
    let value = match segments {
        ["version"] => version(),
        ["healthz" | "livez" | "readyz", ..] => return Some("ok".into_response()),
        ["api"] => json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] }),
        ["apis"] => json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": GROUPS.map(group) }),
        ["apis", name] if GROUPS.contains(name) => with(group(name), &[("kind", "APIGroup"), ("apiVersion", "v1")]),
        ["api", "v1"] => resources(""),
        ["apis", name, "v1"] if GROUPS.contains(name) => resources(name),
        ["openapi", "v3"] => index(),
        ["openapi", "v3", "api", "v1"] => document(""),
        ["openapi", "v3", "apis", name, "v1"] if GROUPS.contains(name) => document(name),
        _ => return None,
    };
    Some(answer::ok(&value))
}

fn with(mut value: Value, more: &[(&str, &str)]) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.extend(more.iter().map(|(name, text)| ((*name).to_owned(), json!(text))));
    }
    value
}

fn version() -> Value {
    let (major, minor, all) = VERSION;
    json!({
        "major": major, "minor": minor, "gitVersion": all, "gitCommit": "", "gitTreeState": "clean", "buildDate": "2026-01-01T00:00:00Z",
        "goVersion": "none", "compiler": "rustc", "platform": "linux/amd64",
    })
}

fn group(name: &str) -> Value {
    let version = json!({ "groupVersion": format!("{name}/v1"), "version": "v1" });
    json!({ "name": name, "versions": [version], "preferredVersion": version })
}

fn of(group: &str) -> impl Iterator<Item = Resource> + use<'_> {
    Resource::ALL.into_iter().filter(move |resource| resource.group() == group)
}

fn resources(group: &str) -> Value {
    let mut all = Vec::new();
    for resource in of(group) {
        let entry = |name: String, verbs: &[&str]| {
            json!({
                "name": name, "singularName": "", "namespaced": resource.is_namespaced(), "kind": resource.kind(), "verbs": verbs,
            })
        };
        let verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
        let mut whole = with(entry(resource.plural().to_owned(), &verbs), &[("singularName", resource.singular())]);
        if let Some(whole) = whole.as_object_mut() {
            whole.insert("shortNames".to_owned(), json!(resource.short()));
            if matches!(resource, Resource::Deployment | Resource::Pod | Resource::ReplicaSet) {
                whole.insert("categories".to_owned(), json!(["all"]));
            }
        }
        all.push(whole);
        if !matches!(resource, Resource::Event | Resource::EndpointSlice | Resource::ConfigMap) {
            all.push(entry(format!("{}/status", resource.plural()), &["get", "patch", "update"]));
        }
        if resource == Resource::Pod {
            let eviction = entry("pods/eviction".to_owned(), &["create"]);
            all.push(with(eviction, &[("kind", "Eviction"), ("group", "policy"), ("version", "v1")]));
        }
        if group == "apps" {
            let scale = entry(format!("{}/scale", resource.plural()), &["get", "patch", "update"]);
            all.push(with(scale, &[("kind", "Scale"), ("group", "autoscaling"), ("version", "v1")]));
        }
    }
    let version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
    json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": all })
}

/// kubectl looks here for whether the server checks fields; it does.
fn index() -> Value {
    let mut paths = json!({ "api/v1": { "serverRelativeURL": "/openapi/v3/api/v1" } });
    if let Some(paths) = paths.as_object_mut() {
        for group in GROUPS {
            paths.insert(
                format!("apis/{group}/v1"),
                json!({ "serverRelativeURL": format!("/openapi/v3/apis/{group}/v1") }),
            );
        }
    }
    json!({ "paths": paths })
}

fn document(group: &str) -> Value {
    let mut paths = serde_json::Map::new();
    for resource in of(group) {
        let root = if group.is_empty() { "/api/v1".to_owned() } else { format!("/apis/{group}/v1") };
        let namespaced = if resource.is_namespaced() { "/namespaces/{namespace}" } else { "" };
        let kind = json!({ "group": group, "version": "v1", "kind": resource.kind() });
        let parameter = json!({ "name": "fieldValidation", "in": "query", "schema": { "type": "string" } });
        let patch = json!({
            "parameters": [parameter], "x-kubernetes-action": "patch", "x-kubernetes-group-version-kind": kind,
            "responses": { "200": { "description": "OK" } },
        });
        paths.insert(format!("{root}{namespaced}/{}/{{name}}", resource.plural()), json!({ "patch": patch }));
    }
    json!({ "openapi": "3.0.0", "info": { "title": "simcluster", "version": VERSION.2 }, "paths": paths, "components": { "schemas": {} } })
}
