//! Details of one pod or revision: a page of its own, or with `?part` only what stands beside the picture.

use std::sync::Arc;

use app::detail::{self, Home};
use axum::extract::{Path, RawQuery, Request, State};
use axum::response::{Html, IntoResponse, Response};
use leptos::prelude::*;
use timeline::change::Subject;
use timeline::{Change, Uid};

use super::pages;
use crate::hub::Reader;
use crate::state::Rollcast;

pub(super) async fn pod(
    State(rollcast): State<Arc<Rollcast>>,
    Path((cluster, namespace, name, uid)): Path<(String, String, String, String)>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let home = Home { cluster, namespace, name };
    let why = format!("{} has no pod with the UID {uid:?}, or none that is kept.", home.name);
    let place = home.clone();
    let look = move |reader: &Reader<'_>| {
        let uid: Uid = uid.parse().ok()?;
        let model = reader.timeline.model();
        let deployment = model.find(&place.namespace, &place.name)?;
        let pod = model.pods_of_deployment(deployment.uid).into_iter().find(|pod| pod.uid == uid)?;
        let past = reader.history.of(Subject::Pod(uid)).map(|(at, change)| (at, change.clone()));
        let past: Vec<(i64, Change)> = past.collect();
        Some(detail::pod::pod(&place, model, pod, &past, reader.now_millis).to_html())
    };
    answer(&rollcast, home, look, why, query, request).await
}

pub(super) async fn revision(
    State(rollcast): State<Arc<Rollcast>>,
    Path((cluster, namespace, name, revision)): Path<(String, String, String, String)>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Response {
    let home = Home { cluster, namespace, name };
    let why = format!("{} never had a revision {revision:?}, or none that is kept.", home.name);
    let place = home.clone();
    let look = move |reader: &Reader<'_>| {
        let model = reader.timeline.model();
        let deployment = model.find(&place.namespace, &place.name)?;
        Some(detail::revision::revision(&place, model, deployment, revision.parse().ok()?)?.to_html())
    };
    answer(&rollcast, home, look, why, query, request).await
}

async fn answer(
    rollcast: &Rollcast,
    home: Home,
    look: impl FnOnce(&Reader<'_>) -> Option<String> + Send + 'static,
    why: String,
    query: Option<String>,
    request: Request,
) -> Response {
    let found = match rollcast.clusters.get(&home.cluster) {
        Some(hub) => hub.read(look).await.ok().flatten(),
        None => None,
    };
    let title = format!("{} / {} — Rollcast", home.namespace, home.name);
    let instead = vec![(home.page(), format!("The page of {}", home.name))];
    match found {
        None => pages::refuse(rollcast, axum::http::StatusCode::NOT_FOUND, why, instead, request).await,
        Some(markup) if query.as_deref() == Some("part") => {
            ([(axum::http::header::CACHE_CONTROL, "no-store")], Html(markup)).into_response()
        }
        Some(markup) => pages::plain(rollcast, title, markup, request).await,
    }
}
