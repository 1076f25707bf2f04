//! The API over HTTP, without a network: lists in pages, watches with bookmarks and lost positions, patches, refusals.

use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use simcluster::api::Cluster;
use simcluster::{Object, Resource, Settings, World, story};
use tower::ServiceExt;

const PODS: &str = "/api/v1/namespaces/default/pods";
const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";
const MERGE_PATCH: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";

/// A cluster with a Deployment of three pods that are ready.
fn cluster() -> Cluster {
    let mut world = World::new(1, 1_800_000_000_000, Settings::default());
    world.create(Object::read(Resource::Deployment, story::manifest("default", "web", 3)).unwrap()).unwrap();
    world.advance_to(world.now_millis() + 60_000);
    Cluster::new(world)
}

async fn answer(cluster: &Cluster, request: Request<Body>) -> (StatusCode, Vec<u8>) {
    let response = cluster.clone().router().oneshot(request).await.unwrap();
    let status = response.status();
    (status, response.into_body().collect().await.unwrap().to_bytes().to_vec())
}

async fn ask(cluster: &Cluster, method: &str, path: &str, media: &str, body: Value) -> (StatusCode, Value) {
    let request = Request::builder().method(method).uri(path).header("host", "localhost").header("content-type", media);
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    let (status, bytes) = answer(cluster, request.body(body).unwrap()).await;
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

async fn get(cluster: &Cluster, path: &str) -> Value {
    ask(cluster, "GET", path, "application/json", Value::Null).await.1
}

/// The events of a watch that ends after a second.
async fn watch(cluster: &Cluster, query: &str) -> Vec<Value> {
    let path = format!("{PODS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=1&{query}");
    let request = Request::get(path).header("host", "localhost").body(Body::empty()).unwrap();
    let (status, bytes) = answer(cluster, request).await;
    assert_eq!(status, StatusCode::OK);
    events(&bytes)
}

fn events(bytes: &[u8]) -> Vec<Value> {
    bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

fn touch(cluster: &Cluster, label: &str) {
    cluster.with(|world| {
        let mut pod = world.store().list(Resource::Pod, None, None).next().unwrap().object.clone();
        pod.meta_mut().labels.as_mut().unwrap().insert("touched".to_owned(), label.to_owned());
        world.update(pod, simcluster::Write::Spec).unwrap();
    });
}

/// Changes a pod until the history forgets every change before.
fn compact(cluster: &Cluster) {
    (0..=Settings::default().history).for_each(|number| touch(cluster, &number.to_string()));
}

#[tokio::test]
async fn lists_come_in_pages_that_belong_together() {
    let cluster = cluster();
    let first = get(&cluster, "/api/v1/pods?limit=2").await;
    assert_eq!((first["items"].as_array().unwrap().len(), &first["metadata"]["remainingItemCount"]), (2, &json!(1)));
    let token = first["metadata"]["continue"].as_str().unwrap();
    touch(&cluster, "meanwhile");
    let second = get(&cluster, &format!("/api/v1/pods?limit=2&continue={token}")).await;
    assert_eq!(second["items"].as_array().unwrap().len(), 1);
    assert_eq!(second["metadata"]["continue"], "");
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    compact(&cluster);
    let (status, lost) = ask(&cluster, "GET", &format!("/api/v1/pods?limit=2&continue={token}"), "", Value::Null).await;
    assert_eq!((status, &lost["reason"]), (StatusCode::GONE, &json!("Expired")));
    for wrong in ["continue=x", "limit=many", "labelSelector=a(", "fieldSelector=spec.nothing=x"] {
        let (status, _) = ask(&cluster, "GET", &format!("{PODS}?{wrong}"), "", Value::Null).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{wrong}");
    }
}

#[tokio::test]
async fn watches_tell_what_changed_and_end_with_a_bookmark() {
    let cluster = cluster();
    let from = get(&cluster, PODS).await["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    touch(&cluster, "once");
    let events = watch(&cluster, &format!("resourceVersion={from}")).await;
    assert_eq!(types(&events), ["MODIFIED", "BOOKMARK"]);
    assert_eq!(events[0]["object"]["metadata"]["labels"]["touched"], "once");
    // What begins or ceases to be selected is added or deleted.
    assert_eq!(
        types(&watch(&cluster, &format!("resourceVersion={from}&labelSelector=touched")).await),
        ["ADDED", "BOOKMARK"]
    );
    assert_eq!(
        types(&watch(&cluster, &format!("resourceVersion={from}&labelSelector=!touched")).await),
        ["DELETED", "BOOKMARK"]
    );
    let initial = watch(&cluster, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan").await;
    assert_eq!(types(&initial), ["ADDED", "ADDED", "ADDED", "BOOKMARK", "BOOKMARK"]);
    assert_eq!(initial[3]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    for wrong in [
        "sendInitialEvents=true",
        "sendInitialEvents=true&resourceVersionMatch=Exact",
        "resourceVersionMatch=NotOlderThan",
    ] {
        let (status, refused) = ask(&cluster, "GET", &format!("{PODS}?watch=1&{wrong}"), "", Value::Null).await;
        assert_eq!((status, &refused["reason"]), (StatusCode::UNPROCESSABLE_ENTITY, &json!("Invalid")), "{wrong}");
    }
}

#[tokio::test]
async fn initial_events_tell_every_object_that_was_there_at_the_beginning() {
    let cluster = cluster();
    let query = "watch=1&allowWatchBookmarks=true&timeoutSeconds=1";
    let path = format!("{PODS}?{query}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    let request = Request::get(path).header("host", "localhost").body(Body::empty()).unwrap();
    let response = cluster.clone().router().oneshot(request).await.unwrap();
    touch(&cluster, "meanwhile");
    let told = events(&response.into_body().collect().await.unwrap().to_bytes());
    assert_eq!(types(&told), ["ADDED", "ADDED", "ADDED", "BOOKMARK", "MODIFIED", "BOOKMARK"]);
    let touched = |event: &Value| event["object"]["metadata"]["labels"]["touched"] == "meanwhile";
    assert_eq!(told.iter().position(touched), Some(4), "they are as they were then");
}

#[tokio::test]
async fn a_change_behind_many_that_are_not_selected_is_told_at_once() {
    let cluster = cluster();
    let from = get(&cluster, PODS).await["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    (0..600).for_each(|number| touch(&cluster, &number.to_string()));
    touch(&cluster, "last");
    let events = watch(&cluster, &format!("resourceVersion={from}&labelSelector=touched=last")).await;
    assert_eq!(types(&events), ["ADDED", "BOOKMARK"]);
}

#[tokio::test]
async fn a_watch_may_be_asked_to_last_for_ever() {
    let path = format!("{PODS}?watch=1&timeoutSeconds={}", u64::MAX);
    let request = Request::get(path).header("host", "localhost").body(Body::empty()).unwrap();
    let mut response = cluster().router().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let first = response.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(first.starts_with(b"{\"type\":\"ADDED\""), "{first:?}");
}

#[tokio::test]
async fn a_watch_from_a_compacted_position_is_told_so() {
    let cluster = cluster();
    let from = get(&cluster, PODS).await["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    touch(&cluster, "x");
    compact(&cluster);
    let events = watch(&cluster, &format!("resourceVersion={from}")).await;
    assert_eq!(types(&events), ["ERROR"]);
    assert_eq!((&events[0]["object"]["code"], &events[0]["object"]["reason"]), (&json!(410), &json!("Expired")));
    // Another world in its place is the same to whoever watches, and no UID returns.
    let before = get(&cluster, WEB).await["metadata"]["uid"].clone();
    let now = get(&cluster, PODS).await["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    cluster.replace(|millis, first_revision| {
        let mut world = World::new(1, millis, Settings { first_revision, ..Settings::default() });
        world.create(Object::read(Resource::Deployment, story::manifest("default", "web", 3)).unwrap()).unwrap();
        world
    });
    assert_ne!(get(&cluster, WEB).await["metadata"]["uid"], before);
    assert_eq!(types(&watch(&cluster, &format!("resourceVersion={now}")).await), ["ERROR"]);
}

#[tokio::test]
async fn patches_of_three_kinds_and_preconditions() {
    let cluster = cluster();
    let image = |answer: &(StatusCode, Value)| answer.1["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    let containers =
        json!({ "spec": { "template": { "spec": { "containers": [{ "name": "web", "image": "web:v2" }] } } } });
    let strategic = ask(&cluster, "PATCH", WEB, "application/strategic-merge-patch+json", containers).await;
    assert_eq!((strategic.0, image(&strategic)), (StatusCode::OK, json!("web:v2")));
    let replace = json!([{ "op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "web:v3" }]);
    assert_eq!(image(&ask(&cluster, "PATCH", WEB, JSON_PATCH, replace).await), "web:v3");
    let merge = json!({ "spec": { "paused": true }, "metadata": { "annotations": { "a": null } } });
    assert_eq!(ask(&cluster, "PATCH", WEB, MERGE_PATCH, merge).await.1["spec"]["paused"], true);
    let seven = json!({ "spec": { "replicas": 7 } });
    let scaled = ask(&cluster, "PATCH", &format!("{WEB}/scale"), MERGE_PATCH, seven).await;
    assert_eq!((&scaled.1["kind"], &scaled.1["spec"]["replicas"]), (&json!("Scale"), &json!(7)));
    for (media, body, code) in [
        (JSON_PATCH, json!([{ "op": "test", "path": "/spec/replicas", "value": 1 }]), 422),
        (JSON_PATCH, json!({ "op": "add" }), 400),
        (MERGE_PATCH, json!({ "spec": { "replicas": -1 } }), 422),
        (MERGE_PATCH, json!({ "metadata": { "resourceVersion": "1" } }), 409),
        (MERGE_PATCH, json!({ "spec": { "replicas": "many" } }), 400),
        ("application/xml", json!({}), 415),
    ] {
        let (status, refused) = ask(&cluster, "PATCH", WEB, media, body.clone()).await;
        assert_eq!((status.as_u16(), &refused["kind"]), (code, &json!("Status")), "{media} {body}");
    }
    let (status, refused) = ask(&cluster, "PATCH", WEB, MERGE_PATCH, json!({ "spec": { "replicas": -1 } })).await;
    assert_eq!((status.as_u16(), &refused["details"]["causes"][0]["field"]), (422, &json!("spec.replicas")));
    let precondition = json!({ "preconditions": { "uid": "another" } });
    assert_eq!(ask(&cluster, "DELETE", WEB, "application/json", precondition).await.0, StatusCode::CONFLICT);
    let dry = ask(&cluster, "DELETE", &format!("{WEB}?dryRun=All"), "application/json", Value::Null).await;
    assert_eq!((dry.0, get(&cluster, WEB).await["kind"].clone()), (StatusCode::OK, json!("Deployment")));
}

#[tokio::test]
async fn what_is_not_there_or_not_understood_is_refused() {
    let cluster = cluster();
    for (method, path, media, code) in [
        ("GET", "/api/v1/secrets", "", 404),
        ("GET", "/apis/batch/v1/jobs", "", 404),
        ("GET", "/api/v1/namespaces/default/pods/nobody", "", 404),
        ("GET", "/apis/apps/v1/deployments/web", "", 404),
        ("POST", "/version", "application/json", 405),
        ("POST", PODS, "application/vnd.kubernetes.protobuf", 415),
        ("POST", PODS, "application/yaml", 415),
        ("POST", PODS, "text/plain", 415),
        ("PUT", PODS, "application/json", 405),
        ("DELETE", "/api/v1/namespaces", "application/json", 405),
    ] {
        let (status, refused) = ask(&cluster, method, path, media, json!({})).await;
        assert_eq!(status.as_u16(), code, "{method} {path}: {refused}");
    }
    // A page of another site, under a name of its own.
    let strange = Request::get(PODS).header("host", "evil.example").body(Body::empty()).unwrap();
    assert_eq!(answer(&cluster, strange).await.0, StatusCode::FORBIDDEN);
}
