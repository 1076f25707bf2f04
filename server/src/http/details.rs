//! Details of one pod or revision, all rollouts, links to share: a page of its own, or with `?part` only what stands beside the picture.

use std::sync::Arc;

use app::detail::{self, Home};
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::{Html, IntoResponse, Response};
use leptos::prelude::RenderHtml;
use timeline::change::Subject;
use timeline::view::Now;
use timeline::words::safe;
use timeline::{Change, Millis, Model, Uid};

use super::pages::{self, Malformed, Parameters};
use crate::hub::{Address, Reader};
use crate::state::Rollcast;

/// Which detail is asked for.
struct Asked {
    home: Home,
    /// Only what stands beside the picture.
    is_part: bool,
    /// As it was then.
    at_millis: Option<Millis>,
}

impl Asked {
    fn read((cluster, namespace, name): (String, String, String), parameters: &Parameters) -> Result<Self, Malformed> {
        let uid = parameters.read("uid", |text| text.parse().ok())?;
        Ok(Self {
            home: Home { cluster, namespace, name, uid },
            is_part: parameters.has("part"),
            at_millis: parameters.read("at", pages::millis)?,
        })
    }

    fn address(&self) -> Address {
        let Home { namespace, name, uid, .. } = &self.home;
        Address { namespace: namespace.clone(), name: name.clone(), uid: *uid }
    }

    /// The Deployment with what belonged to it at the moment asked for, and that moment.
    fn then(&self, reader: &Reader<'_>) -> Option<(Model, Uid, Millis)> {
        let model = reader.timeline.model();
        let deployment = self.address().find(model)?.uid;
        let at_millis = self.at_millis.filter(|at| *at < reader.now_millis);
        let then = at_millis.and_then(|at| Some((reader.history.at(model, deployment, at)?, deployment, at)));
        Some(then.unwrap_or_else(|| (model.only(deployment), deployment, reader.now_millis)))
    }
}

pub(super) async fn pod(
    State(rollcast): State<Arc<Rollcast>>,
    Path((cluster, namespace, name, uid)): Path<(String, String, String, String)>,
    parameters: Parameters,
    request: Request,
) -> Response {
    let why = format!("{} has no pod with the UID {:?}, or none that is kept.", safe(&name), safe(&uid));
    let look = move |asked: &Asked, reader: &Reader<'_>| {
        let uid: Uid = uid.parse().ok()?;
        let (model, deployment, now_millis) = asked.then(reader)?;
        let pod = model.pods_of_deployment(deployment).into_iter().find(|pod| pod.uid == uid)?;
        let past = reader.history.of(Subject::Pod(uid)).take_while(|(at, _)| *at <= now_millis);
        let past: Vec<(i64, Change)> = past.map(|(at, change)| (at, change.clone())).collect();
        let now = Now { millis: now_millis, skew_millis: reader.timeline.skew_millis() };
        Some(detail::pod::pod(&asked.home, &model, pod, &past, now).to_html())
    };
    answer(&rollcast, Asked::read((cluster, namespace, name), &parameters), look, why, request).await
}

pub(super) async fn revision(
    State(rollcast): State<Arc<Rollcast>>,
    Path((cluster, namespace, name, revision)): Path<(String, String, String, String)>,
    parameters: Parameters,
    request: Request,
) -> Response {
    let why = format!("{} never had a revision {:?}, or none that is kept.", safe(&name), safe(&revision));
    let look = move |asked: &Asked, reader: &Reader<'_>| {
        let (model, deployment, _) = asked.then(reader)?;
        let deployment = model.deployments.get(&deployment)?;
        Some(detail::revision::revision(&asked.home, &model, deployment, revision.parse().ok()?)?.to_html())
    };
    answer(&rollcast, Asked::read((cluster, namespace, name), &parameters), look, why, request).await
}

pub(super) async fn rollouts(
    State(rollcast): State<Arc<Rollcast>>,
    Path(place): Path<(String, String, String)>,
    parameters: Parameters,
    request: Request,
) -> Response {
    let why = format!("Rollcast has not seen a Deployment {} there.", safe(&place.2));
    let look = |asked: &Asked, reader: &Reader<'_>| {
        // All of them, whichever moment is shown.
        let deployment = asked.address().find(reader.timeline.model())?;
        Some(detail::rollouts::rollouts(&asked.home, deployment).to_html())
    };
    answer(&rollcast, Asked::read(place, &parameters), look, why, request).await
}

pub(super) async fn share(
    State(rollcast): State<Arc<Rollcast>>,
    Path(place): Path<(String, String, String)>,
    parameters: Parameters,
    request: Request,
) -> Response {
    let why = format!("Rollcast has not seen a Deployment {} there.", safe(&place.2));
    let origin = pages::origin(&request);
    let look = move |asked: &Asked, reader: &Reader<'_>| {
        let (model, uid, at_millis) = asked.then(reader)?;
        let revision = timeline::rollout::current_revision(&model, model.deployments.get(&uid)?);
        let shared = detail::share::Shared { origin: &origin, uid, revision, at_millis };
        Some(detail::share::share(&asked.home, &shared).to_html())
    };
    answer(&rollcast, Asked::read(place, &parameters), look, why, request).await
}

async fn answer(
    rollcast: &Rollcast,
    asked: Result<Asked, Malformed>,
    look: impl FnOnce(&Asked, &Reader<'_>) -> Option<String> + Send + 'static,
    why: String,
    request: Request,
) -> Response {
    let asked = match asked {
        Ok(asked) => asked,
        Err(wrong) => {
            let instead = vec![("/".to_owned(), "All Deployments".to_owned())];
            return pages::refuse(rollcast, StatusCode::BAD_REQUEST, wrong.why(), instead, request).await;
        }
    };
    let (home, is_part) = (asked.home.clone(), asked.is_part);
    let found = match rollcast.clusters.get(&home.cluster) {
        Some(hub) => hub.read(move |reader| look(&asked, reader)).await.ok().flatten(),
        None => None,
    };
    let title = format!("{} / {} — Rollcast", safe(&home.namespace), safe(&home.name));
    let instead = vec![(home.page(), format!("The page of {}", safe(&home.name)))];
    match found {
        None => pages::refuse(rollcast, StatusCode::NOT_FOUND, why, instead, request).await,
        Some(markup) if is_part => ([(CACHE_CONTROL, "no-store")], Html(markup)).into_response(),
        Some(markup) => pages::plain(rollcast, title, markup, request).await,
    }
}
