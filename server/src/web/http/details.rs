//! Details of a pod, a revision, all rollouts and sharing: as a page, or with `?part` as bytes for the panel beside the picture.

use app::detail::history::PodPast;
use app::detail::{Detail, PodDetail, RevisionDetail, RolloutsDetail, ShareDetail};
use app::measure::Measure;
use app::payload::{DetailPayload, Payload};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use timeline::address::{self, Address, Route, at};
use timeline::change::Subject;
use timeline::episodes::EpisodeRow;
use timeline::removal_order::Choices;
use timeline::words::safe;
use timeline::{Change, Uid, Workload, wire};

use super::extract::{moment, origin};
use super::respond::{Refusal, refuse, refuse_unchecked, render};
use crate::hub::DeploymentState;
use crate::web::client_view::ClientView;
use crate::web::rollouts;

pub(super) async fn pod(view: &ClientView, workload: Workload, asked_for: &Address, request: Request) -> Response {
    let uid = asked_for.value("uid").to_owned();
    let missing =
        format!("{} has no pod with the UID {:?}, or its history has expired.", safe(&workload.name), safe(&uid));
    let find = move |workload: &Workload, then: &DeploymentState<'_>| {
        let uid: Uid = uid.parse().ok()?;
        let pod = then.model.pods_of_deployment(then.deployment).into_iter().find(|pod| pod.uid == uid)?;
        let past = then.history.of(Subject::Pod(uid)).take_while(|(at, _)| *at <= then.now.millis);
        let changes: Vec<(i64, Change)> = past.map(|(at, change)| (at, change.clone())).collect();
        let past = PodPast { before: then.history.pod_before(uid), changes: &changes };
        let choices = &mut Choices::new(then.model, then.now.skew_millis);
        let detail = PodDetail::from_model((workload, then.deployment), then.model, pod, past, then.now, choices);
        Some(Detail::Pod(Box::new(detail)))
    };
    answer(view, workload, asked_for, find, missing, request).await
}

pub(super) async fn revision(view: &ClientView, workload: Workload, asked_for: &Address, request: Request) -> Response {
    let revision = asked_for.value("revision").to_owned();
    let missing =
        format!("{} has no revision {:?}, or its history has expired.", safe(&workload.name), safe(&revision));
    let find = move |workload: &Workload, then: &DeploymentState<'_>| {
        let deployment = then.model.deployments.get(&then.deployment)?;
        let detail = RevisionDetail::from_model(workload, then.model, deployment, revision.parse().ok()?, then.now)?;
        Some(Detail::Revision(Box::new(detail)))
    };
    answer(view, workload, asked_for, find, missing, request).await
}

pub(super) async fn rollouts(view: &ClientView, workload: Workload, asked_for: &Address, request: Request) -> Response {
    if !view.has_history() {
        view.throttle().await; // the hub's task assesses all of them
    }
    let missing = format!("Rollcast has not seen a Deployment {} there.", safe(&workload.name));
    let all = past_rollouts(view, asked_for).await.unwrap_or_default();
    let (standing, measure) = compare_last_rollout(view, asked_for, &all).await.unzip();
    // Without a history, past trouble is unknown.
    let past = if view.has_history() { all } else { Vec::new() };
    let find = move |_: &Workload, then: &DeploymentState<'_>| {
        let deployment = then.model.deployments.get(&then.deployment)?;
        Some(Detail::Rollouts(RolloutsDetail::from_model(
            then.model,
            deployment,
            &past,
            standing.clone().unwrap_or_default(),
            measure.clone(),
            then.now.millis,
        )))
    };
    answer(view, workload, asked_for, find, missing, request).await
}

/// Returns the rollouts of the Deployment of an address, the last one first: up to the stored one that it names.
async fn past_rollouts(view: &ClientView, asked_for: &Address) -> Option<Vec<EpisodeRow>> {
    let workload = asked_for.workload().ok()??;
    let uid = rollouts::find_uid(view, &workload).await.ok()??;
    rollouts::list(view, &workload, uid, None).await.ok()
}

/// Compares the last rollout of a Deployment, or that of the address, with those before it: sentences, and figures.
async fn compare_last_rollout(view: &ClientView, asked_for: &Address, all: &[EpisodeRow]) -> Option<(String, Measure)> {
    let workload = asked_for.workload().ok()??;
    let (last, before) = all.split_first()?;
    if workload.rollout.is_some_and(|number| last.number != number) {
        return None;
    }
    let (said, measure) = rollouts::compare_with_earlier(view, &workload, last, before).await;
    Some((last_rollout_words(last.revision, &said), measure))
}

/// Joins the sentences that compare the last rollout with earlier ones; empty without any.
fn last_rollout_words(revision: u64, sentences: &[String]) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    let mut said = sentences.join(" ");
    if let Some(initial) = said.get_mut(..1) {
        initial.make_ascii_lowercase();
    }
    format!("Revision {revision}, the last one: {said}")
}

pub(super) async fn share(view: &ClientView, workload: Workload, asked_for: &Address, request: Request) -> Response {
    let missing = format!("Rollcast has not seen a Deployment {} there.", safe(&workload.name));
    let origin = origin(&request).to_string();
    let find = move |_: &Workload, then: &DeploymentState<'_>| {
        let uid = then.deployment;
        let revision = timeline::rollout::current_revision(then.model, then.model.deployments.get(&uid)?);
        let past = then.is_past.then_some(then.now.millis);
        Some(Detail::Share(ShareDetail::new(origin.clone(), uid, revision, past, then.now.millis)))
    };
    answer(view, workload, asked_for, find, missing, request).await
}

/// Answers a request for a detail, at the moment that its address names. `find` returns it as of the state of its
/// Deployment; `missing` is the sentence for when there is none.
async fn answer(
    view: &ClientView,
    workload: Workload,
    asked_for: &Address,
    find: impl Fn(&Workload, &DeploymentState<'_>) -> Option<Detail> + Send + Sync + 'static,
    missing: String,
    request: Request,
) -> Response {
    let is_part = asked_for.parameters.has("part");
    let asked = asked_for.workload().and_then(|named| Ok((named.unwrap_or(workload), moment(asked_for)?)));
    let (workload, at_millis) = match asked {
        // All rollouts are shown, whichever moment is requested.
        Ok((workload, at_millis)) => (workload, at_millis.filter(|_| asked_for.route != Route::Rollouts)),
        Err(wrong) if is_part => return plain(StatusCode::BAD_REQUEST, &wrong.to_string()),
        Err(wrong) => {
            let instead = vec![(at("/"), "All Deployments".to_owned())];
            return refuse(view, wrong, instead, request).await;
        }
    };
    if is_part && let Err(Refusal(status, why)) = refuse_unchecked(view, &workload) {
        return plain(status, &why);
    }
    let of = workload.clone();
    let find = move |then: &DeploymentState<'_>| find(&of, then);
    let found = match view.hub(&workload).await {
        Some(hub) => {
            let _turn = view.moment_turn().await;
            hub.read_deployment(&workload, at_millis, find).await.ok().flatten().flatten()
        }
        None => None,
    };
    match found {
        None if is_part => plain(StatusCode::NOT_FOUND, &missing),
        None => {
            let instead = vec![(address::workload(&workload), format!("The page of {}", safe(&workload.name)))];
            refuse(view, Refusal(StatusCode::NOT_FOUND, missing), instead, request).await
        }
        Some(detail) if is_part => part(&detail),
        Some(detail) => {
            let payload = Payload::Detail(Box::new(DetailPayload { workload, detail }));
            render(view, payload, StatusCode::OK, request).await
        }
    }
}

/// Returns an error as text, which a page shows beside its picture.
fn plain(status: StatusCode, why: &str) -> Response {
    (status, [(CACHE_CONTROL, "no-store")], format!("{why}\n")).into_response()
}

/// Returns a detail as bytes, which a page shows beside its picture.
fn part(detail: &Detail) -> Response {
    match wire::encode(detail) {
        Ok(bytes) => ([(CONTENT_TYPE, "application/octet-stream"), (CACHE_CONTROL, "no-store")], bytes).into_response(),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_goes_on_after_its_colon() {
        let sentences = ["Took 42 s; 1 earlier one took 31 s.", "First pod available after 9.0 s."].map(str::to_owned);
        assert_eq!(
            last_rollout_words(6, &sentences),
            "Revision 6, the last one: took 42 s; 1 earlier one took 31 s. First pod available after 9.0 s."
        );
        assert_eq!(last_rollout_words(6, &[]), "");
    }
}
