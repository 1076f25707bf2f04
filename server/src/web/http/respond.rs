//! Shared responses of several handlers: rendered pages, refusals, API errors, and entries of the audit log.

use std::sync::Arc;

use app::components::audience::Audience;
use app::payload::{Page, Payload, Site};
use app::playground::Playground;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use leptos::prelude::{IntoView, provide_context, use_context};
use leptos_axum::ResponseOptions;
use serde_json::json;
use timeline::Workload;
use timeline::address::{InvalidParameter, Route, at};
use timeline::words::{NO_CLUSTER, safe};

use super::extract::origin;
use crate::access::share::Share;
use crate::export::assets;
use crate::history::hub_cache::OpenError;
use crate::history::store::StoreError;
use crate::hub::HubEnded;
use crate::web::client_view::ClientView;
use crate::web::state::Rollcast;

pub(super) const UNCHECKED: &str = "Cannot check right now whether this link is still valid. Trying again in a moment.";

/// A refused request: status and reason. The response is an API error.
pub(super) struct Refusal(pub(super) StatusCode, pub(super) String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}

impl From<InvalidParameter> for Refusal {
    fn from(wrong: InvalidParameter) -> Self {
        Self(StatusCode::BAD_REQUEST, wrong.to_string())
    }
}

impl From<HubEnded> for Refusal {
    fn from(ended: HubEnded) -> Self {
        Self(StatusCode::SERVICE_UNAVAILABLE, ended.to_string())
    }
}

/// An entry of the audit log about sign-in or links, which a response passes to the guard.
#[derive(Clone)]
pub(super) struct AuditEntry {
    pub(super) who: Arc<str>,
    pub(super) did: &'static str,
    /// The path of the action, or its object.
    pub(super) at: String,
}

pub(super) fn no_cluster(view: &ClientView, cluster: &str) -> String {
    let known = view.hubs().map(|hub| safe(hub.name())).collect::<Vec<_>>().join(", ");
    let known = if known.is_empty() { NO_CLUSTER.to_owned() } else { format!("It watches: {known}.") };
    let text = format!("Rollcast does not watch a cluster named {:?}. {known}", safe(cluster));
    format!("{} {text}", view.permissions().trouble()).trim_start().to_owned()
}

/// Refuses a workload whose visibility cannot be checked now: it may exist.
pub(super) fn refuse_unchecked(view: &ClientView, workload: &Workload) -> Result<(), Refusal> {
    let permissions = view.permissions();
    match permissions.is_silent() && !view.can_see(workload) {
        true => Err(Refusal(StatusCode::SERVICE_UNAVAILABLE, permissions.trouble().to_owned())),
        false => Ok(()),
    }
}

pub(super) async fn not_found(view: &ClientView, request: Request) -> Response {
    if request.uri().path().starts_with("/api/") {
        let description = at(Route::ApiDescription.pattern());
        let why = format!("There is no such resource. The API is described at {description}.");
        return Refusal(StatusCode::NOT_FOUND, why).into_response();
    }
    let (all, one) = (at("/"), at("/clusters/{cluster}/namespaces/{namespace}/deployments/{name}"));
    let why =
        format!("There is no such page. The list of all Deployments is at {all}, the page of a Deployment at {one}.");
    refuse_not_found(view, why, request).await
}

pub(super) async fn refuse_not_found(view: &ClientView, why: String, request: Request) -> Response {
    let instead = vec![(at("/"), "All Deployments".to_owned())];
    refuse(view, Refusal(StatusCode::NOT_FOUND, why), instead, request).await
}

/// Renders a page that explains the problem with an address, and links elsewhere.
pub(super) async fn refuse(
    view: &ClientView,
    refusal: impl Into<Refusal>,
    instead: Vec<(String, String)>,
    request: Request,
) -> Response {
    let Refusal(status, why) = refusal.into();
    // Names path and query, because the query is wrong more often than the path.
    let asked = safe(&at(request.uri().path_and_query().map_or("/", |asked| asked.as_str())));
    let is_silent = view.permissions().is_silent();
    let status = if is_silent { StatusCode::SERVICE_UNAVAILABLE } else { status };
    let title = status.canonical_reason().unwrap_or_default();
    let shell = move |build| app::shell::refusal(title, asked.clone(), why.clone(), instead.clone(), build);
    let mut response = render_static(view, status, request, shell).await;
    if is_silent {
        // It may exist, and appear as soon as the cluster confirms the permission.
        response.headers_mut().insert(header::REFRESH, HeaderValue::from_static("5"));
    }
    response
}

/// Renders a page without a program.
pub(super) async fn render_static<V: IntoView + 'static>(
    view: &ClientView,
    status: StatusCode,
    request: Request,
    shell: impl Fn(&'static str) -> V + Clone + Send + Sync + 'static,
) -> Response {
    let (audience, site, playground) = contexts(view);
    let shell = move |build| {
        provide_context(site);
        provide_context(audience.clone());
        if let Some(playground) = playground.clone() {
            provide_context(playground);
        }
        shell(build)
    };
    render_bare(view.rollcast(), status, request, shell).await
}

/// Returns the contexts of pages about their viewer: the identity, the pages that it can open, and the present state of the
/// playground's strip, if there is a playground.
fn contexts(view: &ClientView) -> (Audience, Site, Option<Playground>) {
    let audience = view.rollcast().audience(view.viewer());
    let has_links = matches!(audience, Audience::Known { can_share: true, .. });
    let site = Site { has_history: view.has_history(), has_links };
    let playground = view.rollcast().site.playground.as_ref().map(|playground| playground.strip());
    (audience, site, playground)
}

/// Renders a page without the contexts about its viewer.
pub(super) async fn render_bare<V: IntoView + 'static>(
    rollcast: &Rollcast,
    status: StatusCode,
    request: Request,
    shell: impl Fn(&'static str) -> V + Clone + Send + Sync + 'static,
) -> Response {
    let build = rollcast.build;
    let mut response = leptos_axum::render_app_async_with_context(set_policy, move || shell(build))(request).await;
    *response.status_mut() = status;
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Renders a page of the application from its payload.
pub(super) async fn render(view: &ClientView, payload: Payload, status: StatusCode, request: Request) -> Response {
    let origin = origin(&request);
    let (audience, site, playground) = contexts(view);
    let page = Page { build: view.rollcast().build.to_owned(), payload, playground, site };
    let shell = move |_| {
        provide_context(audience.clone());
        app::shell::shell(page.clone(), &origin, assets::part)
    };
    render_bare(view.rollcast(), status, request, shell).await
}

/// Sets the page's content security policy: scripts and styles of its markup carry the nonce of this response.
fn set_policy() {
    if let (Some(nonce), Some(response)) = (leptos::nonce::use_nonce(), use_context::<ResponseOptions>())
        && let Ok(policy) = HeaderValue::from_str(&policy(&format!("'nonce-{nonce}'")))
    {
        response.insert_header(header::CONTENT_SECURITY_POLICY, policy);
    }
}

/// Returns the content security policy: only this server's own files, and in a page only markup with its nonce. Markup goes
/// through the policy of `theme.js` (Trusted Types, in browsers that support them), and cannot run scripts. Pages recognise
/// errors of this server by this header, and treat others as those of a proxy.
pub(super) fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' {nonce}; style-src 'self' {nonce}; connect-src 'self'; \
         img-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'; \
         require-trusted-types-for 'script'; trusted-types default"
    )
}

/// Returns why a rollout cannot be shown; `unknown` if it does not exist.
pub(super) fn lost_rollout(view: &ClientView, lost: &OpenError, unknown: impl Into<String>) -> Refusal {
    match lost {
        OpenError::Unknown => Refusal(StatusCode::NOT_FOUND, unknown.into()),
        OpenError::Unreadable(why) => unreadable_history(view, why),
        OpenError::Full => {
            let why = "Too many past rollouts and moments are open. Try again in a moment.";
            Refusal(StatusCode::SERVICE_UNAVAILABLE, why.to_owned())
        }
    }
}

/// Returns status and text for unreadable history. Only viewers who see everything get the reason: it may name a database or a folder.
pub(super) fn unreadable_history(view: &ClientView, why: &StoreError) -> Refusal {
    let text = if view.sees_all() {
        format!("Cannot read the history: {}.", safe(&why.to_string()))
    } else {
        tracing::debug!("cannot read the history: {why}");
        "Cannot read the history right now.".to_owned()
    };
    Refusal(StatusCode::SERVICE_UNAVAILABLE, text)
}

/// Returns a response with status 503 that browsers retry by themselves, so that a wall needs no attention.
pub(super) fn turn_away(why: &str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, [(header::REFRESH, "5")], why.to_owned()).into_response()
}

/// Returns the audit entry of a link and its scope.
pub(super) fn audit_share(share: &Share, who: Arc<str>, did: &'static str) -> Extension<AuditEntry> {
    let path = share.to.split('?').next().unwrap_or_default();
    Extension(AuditEntry { who, did, at: format!("{path}#{}", share.id) })
}
