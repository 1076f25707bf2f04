//! The pages: complete HTML from the current state, rendered by the same components that run in the browser.

use std::sync::Arc;

use app::filter::Filter;
use app::payload::{DeploymentPayload, Payload};
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use leptos::prelude::use_context;
use leptos_axum::ResponseOptions;
use timeline::frame::Snapshot;

use super::guard;
use crate::state::Rollcast;

/// What of the list is asked for.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct Sought {
    /// Words.
    #[serde(default)]
    q: String,
    /// Class name of a tone.
    #[serde(default)]
    tone: String,
}

pub(super) async fn overview(
    State(rollcast): State<Arc<Rollcast>>,
    Query(sought): Query<Sought>,
    request: Request,
) -> Response {
    list(&rollcast, sought, None, None, request).await
}

pub(super) async fn cluster(
    State(rollcast): State<Arc<Rollcast>>,
    Path(cluster): Path<String>,
    Query(sought): Query<Sought>,
    request: Request,
) -> Response {
    list(&rollcast, sought, Some(cluster), None, request).await
}

pub(super) async fn namespace(
    State(rollcast): State<Arc<Rollcast>>,
    Path((cluster, namespace)): Path<(String, String)>,
    Query(sought): Query<Sought>,
    request: Request,
) -> Response {
    list(&rollcast, sought, Some(cluster), Some(namespace), request).await
}

async fn list(
    rollcast: &Rollcast,
    sought: Sought,
    cluster: Option<String>,
    namespace: Option<String>,
    request: Request,
) -> Response {
    if let Some(unknown) = cluster.as_ref().filter(|cluster| !rollcast.clusters.contains_key(*cluster)) {
        return missing(rollcast, no_cluster(rollcast, unknown), request).await;
    }
    let filter = Filter { text: sought.q, tone: sought.tone, cluster, namespace };
    let payload = Payload::Overview { build: rollcast.build.to_owned(), clusters: rollcast.lists(), filter };
    render(rollcast, payload, StatusCode::OK, request).await
}

fn no_cluster(rollcast: &Rollcast, cluster: &str) -> String {
    let known = rollcast.clusters.keys().cloned().collect::<Vec<_>>().join(", ");
    format!("Rollcast does not watch a cluster named {cluster:?}. It watches: {known}.")
}

/// What a link to a Deployment may name besides it.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Asked {
    /// A moment.
    at: Option<String>,
    /// A revision: its last moment, or the present while it is the current one.
    revision: Option<String>,
}

/// A moment as people and programs write it.
pub(super) fn millis(text: &str) -> Option<i64> {
    let time = || text.parse::<jiff::Timestamp>().ok().map(|time| time.as_millisecond());
    text.parse().ok().or_else(time)
}

/// A new ReplicaSet is there this long before its Deployment tells of the new revision.
const BEFORE_MILLIS: i64 = 250;

/// The last moment of a revision; `Some(None)` while it is the current one, `None` when it was never seen.
fn last_moment(snapshot: &Snapshot, revision: u64) -> Option<Option<i64>> {
    let rollouts = &snapshot.model.deployments.get(&snapshot.deployment?)?.rollouts;
    let at = rollouts.iter().rposition(|rollout| rollout.revision == revision)?;
    Some(rollouts.get(at + 1).and_then(|next| next.started_millis).map(|started| started - BEFORE_MILLIS))
}

pub(super) async fn deployment(
    State(rollcast): State<Arc<Rollcast>>,
    Path((cluster, namespace, name)): Path<(String, String, String)>,
    Query(asked): Query<Asked>,
    request: Request,
) -> Response {
    let Some(hub) = rollcast.clusters.get(&cluster) else {
        return missing(&rollcast, no_cluster(&rollcast, &cluster), request).await;
    };
    let connection = hub.connection().borrow().clone();
    let Ok(snapshot) = hub.page(&namespace, &name).await else {
        return (StatusCode::SERVICE_UNAVAILABLE, "Rollcast is shutting down.\n").into_response();
    };
    let status = if snapshot.deployment.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    if let Some(wanted) = asked.revision.as_deref().filter(|_| asked.at.is_none() && snapshot.deployment.is_some()) {
        let page = app::address::deployment(&cluster, &namespace, &name);
        return match wanted.parse().ok().and_then(|revision| last_moment(&snapshot, revision)) {
            Some(None) => Redirect::temporary(&page).into_response(),
            Some(Some(at)) => Redirect::temporary(&format!("{page}?at={at}")).into_response(),
            None => {
                let why = format!("{name} never had a revision {wanted:?}, or none that is kept.");
                let instead = vec![(page, format!("{name} as it is now"))];
                refuse(&rollcast, StatusCode::NOT_FOUND, why, instead, request).await
            }
        };
    }
    let moment = match asked.at.as_deref().filter(|_| snapshot.deployment.is_some()).map(millis) {
        None => None,
        Some(None) => {
            let why = "A moment is a time such as at=2026-11-21T14:02:05.250Z, or milliseconds since 1970.";
            let page = app::address::deployment(&cluster, &namespace, &name);
            let instead = vec![(page, format!("{name} as it is now"))];
            return refuse(&rollcast, StatusCode::BAD_REQUEST, why.to_owned(), instead, request).await;
        }
        Some(Some(at_millis)) if at_millis >= snapshot.now_millis => None,
        Some(Some(at_millis)) => {
            let first = snapshot.model.deployments.values().next().map_or(at_millis, |known| known.first_seen_millis);
            hub.moment(&namespace, &name, at_millis.max(first)).await.ok()
        }
    };
    let build = rollcast.build.to_owned();
    let page = DeploymentPayload { build, cluster, namespace, name, connection, snapshot, moment };
    let payload = Payload::Deployment(Box::new(page));
    render(&rollcast, payload, status, request).await
}

pub(super) async fn not_found(rollcast: Arc<Rollcast>, request: Request) -> Response {
    let why = "Pages are the list of all Deployments, and one page per Deployment at \
               /clusters/{cluster}/namespaces/{namespace}/deployments/{name}.";
    missing(&rollcast, why.to_owned(), request).await
}

async fn missing(rollcast: &Rollcast, why: String, request: Request) -> Response {
    let instead = vec![("/".to_owned(), "All Deployments".to_owned())];
    refuse(rollcast, StatusCode::NOT_FOUND, why, instead, request).await
}

/// A page that says what is wrong with an address, and where to go instead.
pub(super) async fn refuse(
    rollcast: &Rollcast,
    status: StatusCode,
    why: String,
    instead: Vec<(String, String)>,
    request: Request,
) -> Response {
    let path = timeline::words::safe(request.uri().path());
    let build = rollcast.build;
    let shell = move || {
        guard_page();
        app::shell::missing(path.clone(), why.clone(), instead.clone(), build)
    };
    respond(leptos_axum::render_app_async_with_context(|| {}, shell)(request).await, status)
}

/// A page without a program.
pub(super) async fn plain(rollcast: &Rollcast, title: String, markup: String, request: Request) -> Response {
    let build = rollcast.build;
    let shell = move || {
        guard_page();
        app::shell::plain(title.clone(), markup.clone(), build)
    };
    respond(leptos_axum::render_app_async_with_context(|| {}, shell)(request).await, StatusCode::OK)
}

async fn render(rollcast: &Rollcast, payload: Payload, status: StatusCode, request: Request) -> Response {
    let build = rollcast.build;
    let origin = origin(&request);
    let shell = move || {
        guard_page();
        app::shell::shell(payload.clone(), build, &origin)
    };
    respond(leptos_axum::render_app_async_with_context(|| {}, shell)(request).await, status)
}

/// How this server was addressed: previews need whole addresses. A proxy in front says how it was asked.
fn origin(request: &Request) -> String {
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let scheme = header("x-forwarded-proto").filter(|scheme| *scheme == "https").unwrap_or("http");
    format!("{scheme}://{}", header("host").unwrap_or_default())
}

/// Sends the page's content security policy: what its markup may run carries the nonce of this answer.
fn guard_page() {
    if let (Some(nonce), Some(response)) = (leptos::nonce::use_nonce(), use_context::<ResponseOptions>())
        && let Ok(policy) = HeaderValue::from_str(&guard::policy(&format!("'nonce-{nonce}'")))
    {
        response.insert_header(header::CONTENT_SECURITY_POLICY, policy);
    }
}

fn respond(mut response: Response, status: StatusCode) -> Response {
    *response.status_mut() = status;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
