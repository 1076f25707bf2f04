//! The JSON read API.
//!
//! `openapi.json` describes it; a test compares every answer with it.

use app::status::ConnectionStatus;
use axum::Json;
use axum::http::StatusCode;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;
use timeline::Workload;
use timeline::document::Document;

use super::extract::{NamedWorkload, file_name};
use super::respond::{api_error, lost_rollout, unreadable_history};
use super::status::connection;
use crate::history::sql::Reader;
use crate::web::limits::Limit;
use crate::web::unsent::keeping;
use crate::web::view::View;

/// A timeline document, and how what it tells of was reached.
#[derive(Serialize)]
struct Served {
    #[serde(flatten)]
    document: Document,
    connection: ConnectionStatus,
}

pub(super) async fn description() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], include_str!("openapi.json")).into_response()
}

pub(super) async fn deployments(view: View) -> Response {
    view.pay().await;
    let clusters: Vec<_> = view
        .hubs()
        .map(|hub| {
            let deployments: Vec<_> = view
                .list(hub)
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
            json!({ "name": hub.name(), "connection": connection(&view, hub), "deployments": deployments })
        })
        .collect();
    Json(json!({ "clusters": clusters, "trouble": view.sight().trouble() })).into_response()
}

pub(super) async fn timeline(view: View, NamedWorkload(workload): NamedWorkload) -> Response {
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
        Ok(Some(document)) => Json(Served { document, connection: connection(&view, &hub) }).into_response(),
        Ok(None) => api_error(StatusCode::NOT_FOUND, missing),
        Err(ended) => api_error(StatusCode::SERVICE_UNAVAILABLE, ended.to_string()),
    }
}

pub(super) async fn recording(view: View, NamedWorkload(workload): NamedWorkload) -> Response {
    let (true, Some(uid), Some(number)) = (view.keeps(), workload.uid, workload.rollout) else {
        return api_error(StatusCode::NOT_FOUND, "Name a rollout of the history with uid= and rollout=.".to_owned());
    };
    let Some(making) = view.rollcast().exports.begin(view.follower()) else {
        view.rollcast().limits.met(Limit::Exports);
        let why = "The server is creating other recordings, or still sending one to you. Try again in a moment.";
        return api_error(StatusCode::SERVICE_UNAVAILABLE, why.to_owned());
    };
    let cluster = workload.cluster.clone();
    // It counts until it is read, though whoever asked may leave.
    let read = move |reader: &Reader| Ok((reader.cut(&cluster, uid, number, None)?, making));
    match view.kept(&workload, uid, read).await {
        Ok(Some((Some(cut), making))) => {
            let name = format!("{}-{}-revision-{}.jsonl", workload.namespace, workload.name, cut.revision);
            let headers = [
                (header::CONTENT_TYPE, "application/jsonl".to_owned()),
                (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{}\"", file_name(&name))),
            ];
            (headers, keeping(cut.text, making.made())).into_response()
        }
        Ok(_) => api_error(StatusCode::NOT_FOUND, "No such rollout. Its history may have expired.".to_owned()),
        Err(why) => {
            let (status, why) = unreadable_history(&view, &why);
            api_error(status, why)
        }
    }
}
