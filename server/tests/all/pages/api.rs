//! The read API answers as `/api/v1/openapi.json` says, for every recording.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use serde_json::{Value, json};
use server::web::http::router;
use server::web::state::Rollcast;
use timeline::Workload;
use timeline::address::Route;
use timeline::model::PodState;
use tower::ServiceExt;

use crate::pages::site::{everything, fetch, site};

async fn get(rollcast: &Arc<Rollcast>, path: &str) -> (StatusCode, Value) {
    let answer = fetch(rollcast, path).await;
    (answer.status, serde_json::from_str(&answer.text).unwrap_or(Value::Null))
}

/// Checks an answer against what the description says of this path and status.
pub fn assert_described(description: &Value, path: &str, status: StatusCode, answer: &Value) {
    assert_described_as(description, path, "get", status, answer);
}

/// The same of another method.
pub fn assert_described_as(description: &Value, path: &str, method: &str, status: StatusCode, answer: &Value) {
    let responses = &description["paths"][path][method]["responses"];
    let content = &responses[status.as_str()]["content"]["application/json"]["schema"];
    assert!(content.is_object(), "{path} {status} is not described");
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "allOf": [content],
        "components": description["components"],
    });
    let validator = jsonschema::validator_for(&schema).unwrap();
    let wrong: Vec<String> =
        validator.iter_errors(answer).map(|error| format!("{}: {error}", error.instance_path())).take(5).collect();
    assert!(wrong.is_empty(), "{path}: {}", wrong.join("\n"));
}

#[tokio::test]
async fn every_answer_is_as_described() {
    let (rollcast, clusters) = site().await;
    assert_eq!(clusters.len(), 23);
    let (_, description) = get(&rollcast, Route::ApiDescription.pattern()).await;
    assert_eq!(description["openapi"], "3.1.0");
    let described: Vec<&String> = description["paths"].as_object().unwrap().keys().collect();
    let mut served = vec![
        Route::ApiDeployments.pattern(),
        Route::ApiRollouts.pattern(),
        Route::ApiRecording.pattern(),
        Route::ApiTimeline.pattern(),
        Route::ApiStatus.pattern(),
        Route::ApiDescription.pattern(),
    ];
    served.extend([Route::ApiShares.pattern(), Route::ApiRevokeShare.pattern()]);
    served.sort_unstable();
    assert_eq!(described, served);

    let (status, state) = get(&rollcast, Route::ApiStatus.pattern()).await;
    assert_described(&description, Route::ApiStatus.pattern(), status, &state);
    assert_eq!(state["clusters"].as_array().unwrap().len(), clusters.len());
    let (status, lists) = get(&rollcast, Route::ApiDeployments.pattern()).await;
    assert_described(&description, Route::ApiDeployments.pattern(), status, &lists);
    let mut documents = 0;
    for cluster in &clusters {
        for deployment in deployments(&rollcast, cluster).await {
            let (namespace, name) = deployment;
            let path = timeline::address::timeline(&Workload::deployment(cluster.as_str(), namespace, name));
            let (status, document) = get(&rollcast, &path).await;
            assert_eq!(status, StatusCode::OK);
            assert_described(&description, Route::ApiTimeline.pattern(), status, &document);
            documents += 1;
        }
    }
    assert!(documents >= 23);
    for cluster in ["nowhere", "rollout"] {
        let (status, answer) =
            get(&rollcast, &timeline::address::timeline(&Workload::deployment(cluster, "shop", "web"))).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert_described(&description, Route::ApiTimeline.pattern(), status, &answer);
    }
}

#[tokio::test]
async fn errors_of_the_api_are_json() {
    let (rollcast, _) = site().await;
    let unknown = "There is no such resource. The API is described at /api/v1/openapi.json.";
    assert_eq!(get(&rollcast, "/api/v1/deployment").await, (StatusCode::NOT_FOUND, json!({ "error": unknown })));
    let (_, description) = get(&rollcast, Route::ApiDescription.pattern()).await;
    let form = "application/x-www-form-urlencoded";
    for (path, content_type, says) in [
        (Route::ApiShares.pattern(), "application/json", form),
        (Route::ApiShares.pattern(), form, "missing field `to`."),
        (Route::ApiRevokeShare.pattern(), "application/json", form),
        (Route::ApiRevokeShare.pattern(), form, "missing field `id`."),
    ] {
        let request = Request::post(path)
            .header(header::HOST, "localhost:7440")
            .header(header::ORIGIN, "http://localhost:7440")
            .header(header::CONTENT_TYPE, content_type);
        let response = router(rollcast.clone()).oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        let status = response.status();
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}: {answer}");
        assert_described_as(&description, path, "post", status, &answer);
        assert!(answer["error"].as_str().unwrap().contains(says), "{path}: {answer}");
    }
}

/// Namespaces and names of a cluster's Deployments.
async fn deployments(rollcast: &Arc<Rollcast>, cluster: &str) -> Vec<(String, String)> {
    let all = everything(rollcast).await;
    let hub = all.hubs().find(|hub| hub.name() == cluster).unwrap();
    hub.read(|reader| {
        reader.timeline.model().deployments.values().map(|d| (d.namespace.clone(), d.name.clone())).collect()
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn every_pod_state_is_described() {
    let (rollcast, _) = site().await;
    let (_, description) = get(&rollcast, Route::ApiDescription.pattern()).await;
    let described =
        &description["components"]["schemas"]["Pod"]["properties"]["states"]["items"]["prefixItems"][0]["enum"];
    assert_eq!(*described, json!(PodState::ALL.map(PodState::name)));
}
