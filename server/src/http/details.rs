//! Details of one pod or revision, all rollouts, links to share: a page of its own, or with `?part` only the bytes of what stands
//! beside the picture.

use app::address;
use app::detail::{Detail, PodDetail, RevisionDetail, RolloutsDetail, ShareDetail};
use app::payload::{DetailPayload, Payload};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use timeline::change::Subject;
use timeline::view::Now;
use timeline::words::safe;
use timeline::{Change, Millis, Model, Uid, Workload, wire};

use super::extract::{Malformed, Parameters, origin};
use super::pages;
use crate::earlier;
use crate::hub::Reader;
use crate::view::View;

/// Which detail is asked for.
struct Asked {
    workload: Workload,
    /// As it was then.
    at_millis: Option<Millis>,
}

impl Asked {
    fn read(workload: Workload, parameters: &Parameters) -> Result<Self, Malformed> {
        Ok(Self { workload: parameters.of(workload)?, at_millis: parameters.moment()? })
    }

    /// The moment asked for, where that is not the present.
    fn past_millis(&self, reader: &Reader<'_>) -> Option<Millis> {
        self.at_millis.filter(|at| *at < reader.now_millis)
    }

    /// The Deployment with what belonged to it at the moment asked for, and that moment.
    fn then(&self, reader: &Reader<'_>) -> Option<(Model, Uid, Millis)> {
        let model = reader.timeline.model();
        let deployment = self.workload.find(model)?.uid;
        let at_millis = self.past_millis(reader);
        let then = at_millis.and_then(|at| Some((reader.history.at(model, deployment, at)?, deployment, at)));
        Some(then.unwrap_or_else(|| (model.only(deployment), deployment, reader.now_millis)))
    }
}

pub(super) async fn pod(
    view: &View,
    workload: Workload,
    uid: String,
    parameters: &Parameters,
    request: Request,
) -> Response {
    let why = format!("{} has no pod with the UID {:?}, or none that is kept.", safe(&workload.name), safe(&uid));
    let look = move |asked: &Asked, reader: &Reader<'_>| {
        let uid: Uid = uid.parse().ok()?;
        let (model, deployment, now_millis) = asked.then(reader)?;
        let pod = model.pods_of_deployment(deployment).into_iter().find(|pod| pod.uid == uid)?;
        let past = reader.history.of(Subject::Pod(uid)).take_while(|(at, _)| *at <= now_millis);
        let past: Vec<(i64, Change)> = past.map(|(at, change)| (at, change.clone())).collect();
        let now = Now { millis: now_millis, skew_millis: reader.timeline.skew_millis() };
        Some(Detail::Pod(Box::new(PodDetail::of(&asked.workload, deployment, &model, pod, &past, now))))
    };
    answer(view, workload, parameters, look, why, request).await
}

pub(super) async fn revision(
    view: &View,
    workload: Workload,
    revision: String,
    parameters: &Parameters,
    request: Request,
) -> Response {
    let why = format!("{} never had a revision {:?}, or none that is kept.", safe(&workload.name), safe(&revision));
    let look = move |asked: &Asked, reader: &Reader<'_>| {
        let (model, deployment, _) = asked.then(reader)?;
        let deployment = model.deployments.get(&deployment)?;
        let detail = RevisionDetail::of(&asked.workload, &model, deployment, revision.parse().ok()?)?;
        Some(Detail::Revision(Box::new(detail)))
    };
    answer(view, workload, parameters, look, why, request).await
}

pub(super) async fn rollouts(view: &View, workload: Workload, parameters: &Parameters, request: Request) -> Response {
    let why = format!("Rollcast has not seen a Deployment {} there.", safe(&workload.name));
    let standing = standing(view, &workload, parameters).await.unwrap_or_default();
    let look = move |asked: &Asked, reader: &Reader<'_>| {
        // All of them, whichever moment is shown.
        let deployment = asked.workload.find(reader.timeline.model())?;
        Some(Detail::Rollouts(RolloutsDetail::of(deployment, standing)))
    };
    answer(view, workload, parameters, look, why, request).await
}

/// Where the last rollout of a Deployment stands among those before it.
async fn standing(view: &View, workload: &Workload, parameters: &Parameters) -> Option<String> {
    let workload = parameters.of(workload.clone()).ok()?;
    let uid = earlier::deployment(view, &workload).await?;
    let all = earlier::rollouts(view, &workload, uid).await?;
    let (last, before) = match workload.rollout {
        Some(number) => all.get(all.iter().position(|rollout| rollout.number == number)?..)?.split_first()?,
        None => all.split_first()?,
    };
    let said = earlier::standing(view, &workload, last, before).await;
    (!said.is_empty()).then(|| format!("Revision {}, the last one: {}", last.revision, said.join(" ")))
}

pub(super) async fn share(view: &View, workload: Workload, parameters: &Parameters, request: Request) -> Response {
    let why = format!("Rollcast has not seen a Deployment {} there.", safe(&workload.name));
    let origin = origin(&request).to_string();
    let look = move |asked: &Asked, reader: &Reader<'_>| {
        let (model, uid, _) = asked.then(reader)?;
        let revision = timeline::rollout::current_revision(&model, model.deployments.get(&uid)?);
        let past = asked.past_millis(reader);
        Some(Detail::Share(ShareDetail::of(origin, uid, revision, past, reader.now_millis)))
    };
    answer(view, workload, parameters, look, why, request).await
}

async fn answer(
    view: &View,
    workload: Workload,
    parameters: &Parameters,
    look: impl FnOnce(&Asked, &Reader<'_>) -> Option<Detail> + Send + 'static,
    why: String,
    request: Request,
) -> Response {
    let is_part = parameters.has("part");
    let asked = match Asked::read(workload, parameters) {
        Ok(asked) => asked,
        Err(wrong) if is_part => return plain(StatusCode::BAD_REQUEST, &wrong.why()),
        Err(wrong) => {
            let instead = vec![("/".to_owned(), "All Deployments".to_owned())];
            return pages::refuse(view, StatusCode::BAD_REQUEST, wrong.why(), instead, request).await;
        }
    };
    let workload = asked.workload.clone();
    let found = match view.hub(&workload).await {
        Some(hub) => hub.read(move |reader| look(&asked, reader)).await.ok().flatten(),
        None => None,
    };
    match found {
        None if is_part => plain(StatusCode::NOT_FOUND, &why),
        None => {
            let instead = vec![(address::workload(&workload), format!("The page of {}", safe(&workload.name)))];
            pages::refuse(view, StatusCode::NOT_FOUND, why, instead, request).await
        }
        Some(detail) if is_part => part(&detail),
        Some(detail) => {
            let payload = Payload::Detail(Box::new(DetailPayload { workload, detail }));
            pages::render(view, payload, StatusCode::OK, request).await
        }
    }
}

/// Why there is nothing, for a page that says it beside its picture.
fn plain(status: StatusCode, why: &str) -> Response {
    (status, [(CACHE_CONTROL, "no-store")], format!("{why}\n")).into_response()
}

/// A detail, for a page that shows it beside its picture.
fn part(detail: &Detail) -> Response {
    match wire::encode(detail) {
        Ok(bytes) => ([(CONTENT_TYPE, "application/octet-stream"), (CACHE_CONTROL, "no-store")], bytes).into_response(),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}
