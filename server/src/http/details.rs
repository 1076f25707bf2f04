//! Details of one pod or revision: a page of its own, or with `?part` only what stands beside the picture.

use std::sync::Arc;

use app::detail::{self, Home};
use axum::extract::{Path, Query, Request, State};
use axum::response::{Html, IntoResponse, Response};
use leptos::prelude::*;
use timeline::change::Subject;
use timeline::{Change, Model, Uid};

use super::pages;
use crate::hub::Reader;
use crate::state::Rollcast;

/// What may be said of a detail besides what it is about.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct Asked {
    /// Only what stands beside the picture.
    part: Option<String>,
    /// As it was then.
    at: Option<String>,
}

impl Asked {
    /// The Deployment with what belonged to it at the moment asked for, and that moment.
    fn then(&self, reader: &Reader<'_>, deployment: Uid) -> (Model, i64) {
        let model = reader.timeline.model();
        let at_millis = self.at.as_deref().and_then(pages::millis).filter(|at| *at < reader.now_millis);
        let then = at_millis.and_then(|at| Some((reader.history.at(model, deployment, at)?, at)));
        then.unwrap_or_else(|| (model.only(deployment), reader.now_millis))
    }
}

pub(super) async fn pod(
    State(rollcast): State<Arc<Rollcast>>,
    Path((cluster, namespace, name, uid)): Path<(String, String, String, String)>,
    Query(asked): Query<Asked>,
    request: Request,
) -> Response {
    let home = Home { cluster, namespace, name };
    let why = format!("{} has no pod with the UID {uid:?}, or none that is kept.", home.name);
    let place = home.clone();
    let (is_part, then) = (asked.part.is_some(), asked);
    let look = move |reader: &Reader<'_>| {
        let uid: Uid = uid.parse().ok()?;
        let deployment = reader.timeline.model().find(&place.namespace, &place.name)?.uid;
        let (model, now_millis) = then.then(reader, deployment);
        let pod = model.pods_of_deployment(deployment).into_iter().find(|pod| pod.uid == uid)?;
        let past = reader.history.of(Subject::Pod(uid)).take_while(|(at, _)| *at <= now_millis);
        let past: Vec<(i64, Change)> = past.map(|(at, change)| (at, change.clone())).collect();
        Some(detail::pod::pod(&place, &model, pod, &past, now_millis).to_html())
    };
    answer(&rollcast, home, look, why, is_part, request).await
}

pub(super) async fn revision(
    State(rollcast): State<Arc<Rollcast>>,
    Path((cluster, namespace, name, revision)): Path<(String, String, String, String)>,
    Query(asked): Query<Asked>,
    request: Request,
) -> Response {
    let home = Home { cluster, namespace, name };
    let why = format!("{} never had a revision {revision:?}, or none that is kept.", home.name);
    let place = home.clone();
    let (is_part, then) = (asked.part.is_some(), asked);
    let look = move |reader: &Reader<'_>| {
        let deployment = reader.timeline.model().find(&place.namespace, &place.name)?.uid;
        let (model, _) = then.then(reader, deployment);
        let deployment = model.deployments.get(&deployment)?;
        Some(detail::revision::revision(&place, &model, deployment, revision.parse().ok()?)?.to_html())
    };
    answer(&rollcast, home, look, why, is_part, request).await
}

async fn answer(
    rollcast: &Rollcast,
    home: Home,
    look: impl FnOnce(&Reader<'_>) -> Option<String> + Send + 'static,
    why: String,
    is_part: bool,
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
        Some(markup) if is_part => ([(axum::http::header::CACHE_CONTROL, "no-store")], Html(markup)).into_response(),
        Some(markup) => pages::plain(rollcast, title, markup, request).await,
    }
}
