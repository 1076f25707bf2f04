//! The JSON read API.
//!
//! `openapi.json` describes it; a test compares every answer with it.

use app::status::ConnectionStatus;
use axum::Json;
use axum::http::StatusCode;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::future::join_all;
use serde::Serialize;
use serde_json::json;
use timeline::Workload;
use timeline::document::Document;

use super::export;
use super::extract::NamedWorkload;
use super::respond::{api_error, lost_rollout};
use super::status::connection;
use crate::web::client_view::ClientView;
use crate::web::limits::Limit;

/// A timeline document, and how what it tells of was reached.
#[derive(Serialize)]
struct DocumentResponse {
    #[serde(flatten)]
    document: Document,
    connection: ConnectionStatus,
}

pub(super) async fn description() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], include_str!("openapi.json")).into_response()
}

pub(super) async fn deployments(view: ClientView) -> Response {
    view.throttle().await;
    let clusters = view.hubs().map(async |hub| {
        let connection = connection(&view, hub); // before the list: what a list lacks was not live yet
        let list = view.list(hub).await;
        let deployments: Vec<_> = list
            .iter()
            .map(|listed| &listed.summary)
            .map(|d| {
                json!({
                    "namespace": d.namespace, "name": d.name, "uid": d.uid, "revision": d.revision, "images": d.images,
                    "sinceMillis": d.since_millis, "next": d.next,
                    "verdict": {
                        "badge": d.verdict.badge, "tone": d.verdict.tone.name(),
                        "sentence": d.verdict.sentence, "why": d.verdict.why, "kubectl": d.verdict.kubectl,
                    },
                })
            })
            .collect();
        json!({ "name": hub.name(), "connection": connection, "deployments": deployments })
    });
    let clusters = join_all(clusters).await;
    Json(json!({ "clusters": clusters, "trouble": view.permissions().trouble() })).into_response()
}

pub(super) async fn timeline(view: ClientView, NamedWorkload(workload): NamedWorkload) -> Response {
    let Workload { cluster, kind, namespace, name, .. } = &workload;
    let hub = match view.hub_at(&workload, None).await {
        Ok(hub) => hub,
        Err(lost) => {
            let (status, why) = lost_rollout(&view, &lost, format!("This server does not watch cluster {cluster:?}."));
            return api_error(status, why);
        }
    };
    let kind = kind.name();
    let missing = format!("There is no {kind} {name:?} in namespace {namespace:?} of cluster {cluster:?}.");
    match hub.document(&workload).await {
        Ok(Some(document)) => Json(DocumentResponse { document, connection: connection(&view, &hub) }).into_response(),
        Ok(None) => api_error(StatusCode::NOT_FOUND, missing),
        Err(ended) => api_error(StatusCode::SERVICE_UNAVAILABLE, ended.to_string()),
    }
}

pub(super) async fn recording(view: ClientView, NamedWorkload(workload): NamedWorkload) -> Response {
    if !view.has_history() || workload.uid.is_none() || workload.rollout.is_none() {
        return api_error(StatusCode::NOT_FOUND, "Name a rollout of the history with uid= and rollout=.".to_owned());
    }
    let Some(job) = view.rollcast().exports.begin(view.client_key()) else {
        view.rollcast().limits.count_hit(Limit::Exports);
        let why = "The server is creating other recordings, or still sending one to you. Try again in a moment.";
        return api_error(StatusCode::SERVICE_UNAVAILABLE, why.to_owned());
    };
    let recording = export::create(job, async move { export::lines(&view, workload, None, false).await });
    recording.await.unwrap_or_else(|(status, why)| api_error(status, why))
}
