//! The JSON read API.
//!
//! `openapi.json` describes it; a test compares every response with it.

use app::status::ConnectionStatus;
use axum::Json;
use axum::http::StatusCode;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::future::join_all;
use serde::Serialize;
use serde_json::json;
use timeline::Workload;
use timeline::address::base;
use timeline::document::Document;

use super::export;
use super::extract::NamedWorkload;
use super::respond::{Refusal, lost_rollout, refuse_unchecked};
use super::status::connection;
use crate::export::ExportRequest;
use crate::web::client_view::ClientView;

/// A timeline document, with the state of the connection to its cluster.
#[derive(Serialize)]
struct DocumentResponse {
    #[serde(flatten)]
    document: Document,
    connection: ConnectionStatus,
}

pub(super) async fn description() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], description_below(base())).into_response()
}

/// Returns the API description of a server below this path, which clients put before all addresses.
fn description_below(base: &str) -> String {
    let url = if base.is_empty() { "/" } else { base };
    include_str!("openapi.json").replace("{ \"url\": \"/\" }", &json!({ "url": url }).to_string())
}

pub(super) async fn deployments(view: ClientView) -> Response {
    view.throttle().await;
    let clusters = view.hubs().map(async |hub| {
        let connection = connection(&view, hub); // read first, so that an incomplete list is not reported as live
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

pub(super) async fn timeline(view: ClientView, NamedWorkload(workload): NamedWorkload) -> Result<Response, Refusal> {
    let Workload { cluster, kind, namespace, name, .. } = &workload;
    refuse_unchecked(&view, &workload)?;
    let unknown = || match view.has_cluster(cluster) {
        true => export::UNKNOWN.to_owned(),
        false => format!("This server does not watch cluster {cluster:?}."),
    };
    if workload.uid.is_none() || workload.rollout.is_none() {
        view.throttle().await; // documents are large; `hub_at` throttles stored rollouts
    }
    let hub = view.hub_at(&workload, None).await.map_err(|lost| lost_rollout(&view, &lost, unknown()))?;
    let kind = kind.name();
    let missing = || format!("There is no {kind} {name:?} in namespace {namespace:?} of cluster {cluster:?}.");
    let document = hub.document(&workload).await?.ok_or_else(|| Refusal(StatusCode::NOT_FOUND, missing()))?;
    Ok(Json(DocumentResponse { document, connection: connection(&view, &hub) }).into_response())
}

pub(super) async fn recording(view: ClientView, NamedWorkload(workload): NamedWorkload) -> Result<Response, Refusal> {
    if !view.has_history() || workload.uid.is_none() || workload.rollout.is_none() {
        let why = "Name a rollout of the history with uid= and rollout=.";
        return Err(Refusal(StatusCode::NOT_FOUND, why.to_owned()));
    }
    let Some(job) = view.begin_export() else {
        let why = "The server is creating other recordings, or still sending one to you. Try again in a moment.";
        return Err(Refusal(StatusCode::SERVICE_UNAVAILABLE, why.to_owned()));
    };
    let request = ExportRequest { workload, revision: None, is_redacted: false };
    export::create(job, async move { export::lines(&view, request).await }).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_names_the_path_below_which_the_server_is() {
        for (base, url) in [("", "/"), ("/rollcast", "/rollcast")] {
            let description: serde_json::Value = serde_json::from_str(&description_below(base)).unwrap();
            assert_eq!(description["servers"], json!([{ "url": url }]));
        }
    }
}
