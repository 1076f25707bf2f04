//! Discovery: versions, groups, resources, and the document that announces field validation.

use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::answer;
use crate::Resource;

/// Version of Kubernetes whose behavior is simulated.
const VERSION: &str = "v1.36.3+simcluster";
const GROUPS: [&str; 2] = ["apps", "discovery.k8s.io"];

/// Answers discovery requests; `None` for other paths.
pub fn answer(segments: &[&str]) -> Option<Response> {
    let value = match segments {
        ["version"] => version(),
        ["healthz" | "livez" | "readyz", ..] => return Some("ok".into_response()),
        ["api"] => json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] }),
        ["apis"] => json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": GROUPS.map(group) }),
        ["apis", name] if GROUPS.contains(name) => with(group(name), json!({ "kind": "APIGroup", "apiVersion": "v1" })),
        ["api", "v1"] => resources(""),
        ["apis", name, "v1"] if GROUPS.contains(name) => resources(name),
        ["openapi", "v3"] => index(),
        ["openapi", "v3", "api", "v1"] => document(""),
        ["openapi", "v3", "apis", name, "v1"] if GROUPS.contains(name) => document(name),
        _ => return None,
    };
    Some(answer::ok(&value))
}

fn with(mut value: Value, more: Value) -> Value {
    if let (Some(object), Value::Object(more)) = (value.as_object_mut(), more) {
        object.extend(more);
    }
    value
}

fn version() -> Value {
    json!({
        "major": "1", "minor": "36", "gitVersion": VERSION, "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z", "goVersion": "none", "compiler": "rustc", "platform": "linux/amd64",
    })
}

fn group(name: &str) -> Value {
    let version = json!({ "groupVersion": format!("{name}/v1"), "version": "v1" });
    json!({ "name": name, "versions": [version], "preferredVersion": version })
}

fn of(group: &str) -> impl Iterator<Item = Resource> + use<'_> {
    Resource::ALL.into_iter().filter(move |resource| resource.group() == group)
}

/// Returns the path of a group, without the first slash.
fn path(group: &str) -> String {
    if group.is_empty() { "api/v1".to_owned() } else { format!("apis/{group}/v1") }
}

fn resources(group: &str) -> Value {
    let mut all = Vec::new();
    for resource in of(group) {
        let mut add = |name: &str, verbs: &[&str], more: Value| {
            let (is_namespaced, kind) = (resource.is_namespaced(), resource.kind());
            let entry =
                json!({ "name": name, "singularName": "", "namespaced": is_namespaced, "kind": kind, "verbs": verbs });
            all.push(with(entry, more));
        };
        let plural = resource.plural();
        let verbs = ["create", "delete", "get", "list", "patch", "update", "watch"];
        let is_of_all = matches!(resource, Resource::Deployment | Resource::Pod | Resource::ReplicaSet);
        let names = json!({ "singularName": resource.kind().to_lowercase(), "shortNames": resource.short() });
        let names = if is_of_all { with(names, json!({ "categories": ["all"] })) } else { names };
        add(plural, &verbs, names);
        let part = ["get", "patch", "update"];
        if !matches!(resource, Resource::Event | Resource::EndpointSlice | Resource::ConfigMap) {
            add(&format!("{plural}/status"), &part, json!({}));
        }
        if resource == Resource::Pod {
            add("pods/eviction", &["create"], json!({ "kind": "Eviction", "group": "policy", "version": "v1" }));
        }
        if group == "apps" {
            let scale = json!({ "kind": "Scale", "group": "autoscaling", "version": "v1" });
            add(&format!("{plural}/scale"), &part, scale);
        }
    }
    let path = path(group);
    let version = path.split_once('/').map(|(_, version)| version);
    json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": all })
}

/// Returns the document in which kubectl checks whether the server supports field validation; this one does.
fn index() -> Value {
    let paths = std::iter::once("").chain(GROUPS).map(path);
    let paths = paths.map(|path| (path.clone(), json!({ "serverRelativeURL": format!("/openapi/v3/{path}") })));
    json!({ "paths": paths.collect::<Map<String, Value>>() })
}

fn document(group: &str) -> Value {
    let mut paths = Map::new();
    for resource in of(group) {
        let namespaced = if resource.is_namespaced() { "/namespaces/{namespace}" } else { "" };
        let kind = json!({ "group": group, "version": "v1", "kind": resource.kind() });
        let parameter = json!({ "name": "fieldValidation", "in": "query", "schema": { "type": "string" } });
        let patch = json!({
            "parameters": [parameter], "x-kubernetes-action": "patch", "x-kubernetes-group-version-kind": kind,
            "responses": { "200": { "description": "OK" } },
        });
        let address = format!("/{}{namespaced}/{}/{{name}}", path(group), resource.plural());
        paths.insert(address, json!({ "patch": patch }));
    }
    json!({ "openapi": "3.0.0", "info": { "title": "simcluster", "version": VERSION }, "paths": paths, "components": { "schemas": {} } })
}
