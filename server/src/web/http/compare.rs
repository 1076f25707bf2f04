//! `/clusters/…/deployments/{name}/compare`: a rollout beside those before it, and laid over one of them.

use app::compare::ComparePayload;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use timeline::address;
use timeline::words::safe;

use super::extract::{NamedWorkload, RequestAddress};
use super::history_query::zone;
use super::respond::{Refusal, refuse, refuse_not_found, render_static, unreadable_history};
use crate::history::store::StoreError;
use crate::telemetry::clock;
use crate::web::client_view::ClientView;
use crate::web::rollouts;

/// Renders the page, about the last rollout without a revision.
pub(super) async fn page(
    view: ClientView,
    NamedWorkload(workload): NamedWorkload,
    RequestAddress(asked_for): RequestAddress,
    request: Request,
) -> Response {
    let view = &view;
    view.throttle().await; // the hub's task assesses some of it
    let name = safe(&workload.name);
    let compared = async {
        let (revision, with) = (asked_for.parse::<u64>("revision")?, asked_for.parse::<u64>("with")?);
        let zone = zone(&asked_for)?;
        let unreadable = |why: StoreError| unreadable_history(view, &why);
        let Some(uid) = rollouts::find_uid(view, &workload).await.map_err(unreadable)? else { return Ok(None) };
        let all = rollouts::list(view, &workload, uid, revision).await.map_err(unreadable)?;
        let Some((this, before)) = all.split_first() else {
            let why =
                format!("The history has no rollout of {name} with this revision, or Rollcast did not see its start.");
            return Err(Refusal(StatusCode::NOT_FOUND, why));
        };
        let other = match with {
            Some(_) => rollouts::list(view, &workload, uid, with).await.map_err(unreadable)?.into_iter().next(),
            None => {
                let complete = before.iter().find(|rollout| rollout.complete_millis().is_some());
                complete.or_else(|| before.first()).cloned()
            }
        };
        let Some(course) = rollouts::course(view, &workload, this).await else {
            let why = format!(
                "The pods of revision {} of {name} are no longer in the history, or the cluster changed too much to load them.",
                this.revision
            );
            return Err(Refusal(StatusCode::NOT_FOUND, why));
        };
        let other = match other {
            Some(other) => rollouts::course(view, &workload, &other).await,
            None => None,
        };
        let now_millis = clock::now_millis();
        let stamp = |at_millis| zone.stamp(at_millis, now_millis);
        Ok(Some(ComparePayload {
            said: rollouts::compare_with_earlier(view, &workload, this, before).await.0,
            before: before.iter().map(|rollout| (stamp(rollout.started_millis), rollout.clone())).collect(),
            began: stamp(course.started_millis),
            zone: zone.label(),
            workload: workload.clone(),
            uid,
            course,
            other,
        }))
    };
    match compared.await {
        Ok(Some(payload)) => {
            render_static(view, StatusCode::OK, request, move |build| app::shell::compare(payload.clone(), build)).await
        }
        Ok(None) => refuse_not_found(view, format!("Rollcast has not seen a Deployment {name} there."), request).await,
        Err(refusal) => {
            let instead = vec![(address::workload(&workload), format!("The page of {name}"))];
            refuse(view, refusal, instead, request).await
        }
    }
}
