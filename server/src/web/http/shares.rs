//! Creates, lists and revokes share links.

use std::sync::Arc;

use app::pages::shares::{SharedLine, SharesPayload};
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Json};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::{Value, json};
use timeline::address::{self, Address, Route, at};
use timeline::words::{capitalized, safe};
use timeline::{Millis, Uid, Workload};

use super::extract::{OwnOrigin, RequestAddress, local, moment};
use super::respond::{AuditEntry, Refusal, audit_share, refuse, render_static, unreadable_history};
use crate::access::scope::{LinkScope, WorkloadName};
use crate::access::share::{LinkRequest, LinksUnavailable, Reach, Share, ShareError, Shares};
use crate::history::store::StoreError;
use crate::telemetry::clock;
use crate::telemetry::clock::parse_duration;
use crate::web::client_view::ClientView;
use crate::web::rollouts;

/// The form that creates a link.
#[derive(Deserialize)]
pub(super) struct ShareForm {
    to: String,
    #[serde(default)]
    lasts: String,
    #[serde(default)]
    preview: String,
}

/// The form that revokes a link.
#[derive(Deserialize)]
pub(super) struct RevokeForm {
    id: String,
}

impl From<FormRejection> for Refusal {
    fn from(why: FormRejection) -> Self {
        Self(StatusCode::BAD_REQUEST, format!("{}.", why.body_text()))
    }
}

impl From<ShareError> for Refusal {
    fn from(why: ShareError) -> Self {
        let status = match why {
            ShareError::Time => StatusCode::BAD_REQUEST,
            ShareError::TooMany => StatusCode::TOO_MANY_REQUESTS,
            ShareError::NotSignedIn => StatusCode::FORBIDDEN,
            ShareError::Store(_) | ShareError::Unwritten(_) | ShareError::Unreadable(..) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        };
        Self(status, capitalized(format!("{why}.")))
    }
}

impl From<LinksUnavailable> for Refusal {
    fn from(why: LinksUnavailable) -> Self {
        Self(StatusCode::SERVICE_UNAVAILABLE, capitalized(format!("{why}.")))
    }
}

/// Returns the links of this server, for a viewer who signed in and did not come by one.
fn shares(view: &ClientView) -> Result<&Arc<Shares>, Refusal> {
    let nothing =
        || Refusal(StatusCode::NOT_FOUND, "Share links are not available: this server has no sign-in.".to_owned());
    let shares = view.rollcast().site.shares.as_ref().ok_or_else(nothing)?;
    match view.viewer().link {
        Some(_) => Err(ShareError::NotSignedIn.into()),
        None => Ok(shares),
    }
}

fn reach(view: &ClientView) -> Reach {
    if view.sees_all() { Reach::All } else { Reach::Own }
}

/// Returns the links that the viewer may revoke, and whether the list is current.
async fn list_links(view: &ClientView) -> Result<(Vec<Share>, Result<(), LinksUnavailable>), Refusal> {
    let shares = shares(view)?;
    let checked = shares.refresh().await;
    Ok((shares.list(view.viewer(), reach(view), clock::now_millis()), checked))
}

/// Returns the refusal of an address to which no link can be made.
fn unshareable() -> Refusal {
    let why = "A link can open a Deployment, one of its rollouts or moments, or a wall without a search, if you may see it yourself.";
    Refusal(StatusCode::BAD_REQUEST, why.to_owned())
}

/// Returns the scope of a link to an address that the viewer may see, and the address to which the link leads. The
/// parameters decide whether the scope is a workload, one of its rollouts, or one of its moments.
async fn scope_of(view: &ClientView, to: &str) -> Result<(LinkScope, String), Refusal> {
    let address = Address::read(to).ok_or_else(unshareable)?;
    if address.route == Route::Wall {
        // A search is no limit: a link to it would open more than it shows.
        let is_searched = ["q", "labels", "show"].iter().any(|name| address.parameters.get(name).is_some());
        let place = |name| address.parameters.get(name).map(str::to_owned);
        let scope = LinkScope::Wall { cluster: place("cluster"), namespace: place("namespace") };
        let is_seen = scope.cluster().is_none_or(|cluster| view.has_cluster(cluster));
        return if is_seen && !is_searched { Ok((scope, to.to_owned())) } else { Err(unshareable()) };
    }
    // Files and pictures are no pages: a link to one leads to the page of the workload.
    let is_page = match address.route {
        Route::Workload | Route::Pod | Route::Revision | Route::Rollouts | Route::Compare => true,
        Route::Share | Route::Export | Route::Badge | Route::PreviewSvg | Route::PreviewPng => false,
        _ => return Err(unshareable()),
    };
    let of = WorkloadName::of(&address.named_workload().ok_or_else(unshareable)?);
    let of_path = (address.route == Route::Revision).then(|| address.value("revision").parse().ok());
    if of_path == Some(None) {
        return Err(unshareable());
    }
    let view = view.clone().with_namespace(&of.cluster, &of.namespace).await;
    let workload = address.workload().ok().flatten().filter(|workload| view.can_see(workload));
    let workload = workload.ok_or_else(unshareable)?;
    let named: Option<u64> = address.parse("revision").map_err(|_| unshareable())?;
    // The path of a revision's page and the parameter must name the same revision.
    let revision = match (named, of_path.flatten()) {
        (Some(named), Some(revision)) if named != revision => return Err(unshareable()),
        (named, of_path) => named.or(of_path),
    };
    // Without a history the rollout cannot be found.
    if workload.rollout.is_some() && !view.has_history() {
        return Err(unshareable());
    }
    let at_millis = moment(&address).map_err(|_| unshareable())?;
    if at_millis.is_none() && revision.is_none() && workload.rollout.is_none() {
        let to = if is_page { to.to_owned() } else { address::workload(&workload) };
        return Ok((LinkScope::Workload(of), to));
    }
    // An unreadable history may contain the rollout.
    let unreadable = |why: StoreError| unreadable_history(&view, &why);
    let uid = rollouts::find_uid(&view, &workload).await.map_err(unreadable)?.ok_or_else(unshareable)?;
    let scope = match (at_millis, revision) {
        (Some(at_millis), _) => LinkScope::Moment { of, uid, at_millis },
        (None, Some(revision)) => LinkScope::Rollout { of, uid, revision },
        (None, None) => {
            let all = rollouts::list(&view, &workload, uid, None).await.map_err(unreadable)?;
            let named = all.first().filter(|rollout| Some(rollout.number) == workload.rollout);
            LinkScope::Rollout { of, uid, revision: named.ok_or_else(unshareable)?.revision }
        }
    };
    // The excerpt is only looked up, not made: makers of links may send any number of requests.
    if !view.rollcast().has_excerpt(&scope).await.map_err(unreadable)? {
        return Err(unshareable());
    }
    let to = scope.address().ok_or_else(unshareable)?;
    Ok((scope, to))
}

/// Scopes that can be shared of an address, each with its address: the named one, then wider and narrower ones.
///
/// # Errors
/// When the history, which may contain the rollout of the address, cannot be read.
async fn sharing_offers(view: &ClientView, to: &str) -> Result<Vec<(String, String)>, Refusal> {
    let of_revision = Address::read(to).filter(|address| address.route == Route::Revision);
    let named = match (scope_of(view, to).await, of_revision.and_then(|address| address.named_workload())) {
        // The rollout of the revision is unknown: the link leads to the Deployment.
        (Err(Refusal(StatusCode::BAD_REQUEST, _)), Some(workload)) => {
            scope_of(view, &address::workload(&workload)).await
        }
        (named, _) => named,
    };
    let named = match named {
        Err(Refusal(StatusCode::BAD_REQUEST, _)) => return Ok(Vec::new()),
        named => named?,
    };
    let mut all = vec![named];
    if let Some(workload) = all.first().and_then(|(scope, _)| scope.workload()) {
        let is_workload = matches!(all.first(), Some((LinkScope::Workload(_), _)));
        let of = WorkloadName::of(&workload);
        all.extend([(LinkScope::Workload(of.clone()), address::whatever_bears_the_name(&workload))]);
        // Narrower scopes than the Deployment: its present rollout, and this moment.
        if is_workload && let Some((uid, revision, at_millis)) = current_rollout(view, workload).await {
            let rollout = revision.map(|revision| LinkScope::Rollout { of: of.clone(), uid, revision });
            let narrower = rollout.into_iter().chain([LinkScope::Moment { of, uid, at_millis }]);
            all.extend(narrower.filter_map(|scope| Some((scope.clone(), scope.address()?))));
        }
    }
    let mut offers: Vec<(String, String)> = Vec::new();
    for (scope, to) in all {
        let words = scope.words(&to);
        if !offers.iter().any(|(known, _)| *known == words) {
            offers.push((words, to));
        }
    }
    Ok(offers)
}

/// Returns the current Deployment of that name, its revision, and the time.
async fn current_rollout(view: &ClientView, workload: Workload) -> Option<(Uid, Option<u64>, Millis)> {
    let hub = view.hub(&workload).await?;
    let present = hub.read(move |reader| {
        let model = reader.timeline.model();
        let known = workload.find(model)?;
        let last = known.rollouts.last().map(|rollout| rollout.revision);
        Some((known.uid, last, reader.now_millis))
    });
    present.await.ok().flatten()
}

async fn make_link(view: &ClientView, form: &ShareForm, origin: &str) -> Result<(Share, String), Refusal> {
    let shares = shares(view)?;
    view.throttle().await; // a revoked link takes room for a while, too
    let to = local(&form.to);
    let (scope, to) = scope_of(view, &to).await?;
    let lasts = if form.lasts.is_empty() { "1d" } else { &form.lasts };
    let lasts = parse_duration(lasts).map_err(|why| Refusal(StatusCode::BAD_REQUEST, format!("{why}.")))?;
    let lasts = Millis::try_from(lasts.as_millis()).unwrap_or(Millis::MAX);
    let allows_preview = match form.preview.as_str() {
        "" | "no" => false,
        "yes" => true,
        _ => return Err(Refusal(StatusCode::BAD_REQUEST, "preview must be yes or no.".to_owned())),
    };
    let wanted = LinkRequest { scope, to, lasts_millis: lasts, allows_preview };
    let (share, secret) = shares.make(view.viewer(), wanted, clock::now_millis()).await?;
    let preview = shares.preview_of(&share).map(|preview| format!("/{preview}")).unwrap_or_default();
    let link =
        format!("{origin}{}{preview}#{}", at(Route::Shared.pattern()), utf8_percent_encode(&secret, NON_ALPHANUMERIC));
    Ok((share, link))
}

/// Renders the page with the links that the viewer may revoke. It offers to share the page that they come from, which
/// their browser names.
pub(super) async fn page(
    view: ClientView,
    Extension(OwnOrigin(origin)): Extension<OwnOrigin>,
    RequestAddress(address): RequestAddress,
    request: Request,
) -> Response {
    let referer = request.headers().get(header::REFERER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let from = referer.strip_prefix(&*origin).unwrap_or_default().to_owned();
    let to = Some(address.parameters.text("to")).filter(|to| !to.is_empty()).unwrap_or(from);
    // Scopes of a link are computed only for viewers who may create one.
    let may_make = shares(&view).is_ok();
    let offers = if may_make { sharing_offers(&view, &local(&to)).await } else { Ok(Vec::new()) };
    show(&view, offers.map(|offers| SharesPayload { offers, ..SharesPayload::default() }), request).await
}

/// Creates a link and shows it.
pub(super) async fn make(
    view: ClientView,
    Extension(OwnOrigin(origin)): Extension<OwnOrigin>,
    Form(form): Form<ShareForm>,
) -> Response {
    match make_link(&view, &form, &origin).await {
        Ok((share, link)) => {
            let lasts = if matches!(share.scope, LinkScope::Wall { .. }) {
                ", with all pages that it links to. Use in the second half of its lifetime renews it, for up to 90 days in total"
            } else {
                ""
            };
            let said =
                format!("It opens {} until {}{lasts}, unless you revoke it.", share.describe_scope(), expiry(&share));
            let payload = SharesPayload { made: Some((link, said)), ..SharesPayload::default() };
            let shown = show(&view, Ok(payload), Request::default()).await;
            (audit_share(&share, view.viewer().audit_name(), "made a link"), shown).into_response()
        }
        Err(refusal) => show(&view, Err(refusal), Request::default()).await,
    }
}

/// Revokes a link.
pub(super) async fn revoke(view: ClientView, Form(RevokeForm { id }): Form<RevokeForm>) -> Response {
    match revoke_link(&view, &id).await {
        Ok(()) => (audit_revocation(&view, &id), Redirect::to(&at(Route::Shares.pattern()))).into_response(),
        Err(refusal) => show(&view, Err(refusal), Request::default()).await,
    }
}

async fn revoke_link(view: &ClientView, id: &str) -> Result<(), Refusal> {
    match shares(view)?.revoke(view.viewer(), reach(view), id).await? {
        true => Ok(()),
        false => Err(Refusal(StatusCode::NOT_FOUND, "You have no such link.".to_owned())),
    }
}

/// Renders the page with all links, and the result of a request.
async fn show(view: &ClientView, said: Result<SharesPayload, Refusal>, request: Request) -> Response {
    let (listed, checked) = match list_links(view).await {
        Ok(listed) => listed,
        Err(refusal) => return refuse(view, refusal, Vec::new(), request).await,
    };
    let (mut payload, mut status) = match said {
        Ok(payload) => (payload, StatusCode::OK),
        Err(Refusal(status, trouble)) => (SharesPayload { trouble, ..SharesPayload::default() }, status),
    };
    if let (Err(why), true) = (checked, payload.trouble.is_empty()) {
        Refusal(status, payload.trouble) = why.into();
    }
    let line = |share: Share| SharedLine {
        opens: share.describe_scope(),
        until: expiry(&share),
        id: share.id,
        to: share.to,
        maker: safe(&share.maker),
    };
    payload.lines = listed.into_iter().map(line).collect();
    payload.is_everybodys = view.sees_all();
    render_static(view, status, request, move |build| app::shell::shares(payload.clone(), build)).await
}

/// Returns the audit entry of a revoked link.
fn audit_revocation(view: &ClientView, id: &str) -> Extension<AuditEntry> {
    Extension(AuditEntry {
        who: view.viewer().audit_name(),
        did: "revoked a link",
        at: format!("{}#{id}", Route::Shares.pattern()),
    })
}

fn expiry(share: &Share) -> String {
    clock::stamp(share.until_millis)
}

fn as_json(share: &Share) -> Value {
    json!({
        "id": share.id, "scope": share.scope.sort(), "opens": share.describe_scope(), "to": share.to, "maker": share.maker,
        "madeMillis": share.made_millis, "untilMillis": share.until_millis, "allowsPreview": share.allows_preview,
    })
}

/// Returns the links that the viewer may revoke, for programs.
pub(super) async fn list(view: ClientView) -> Result<Json<Value>, Refusal> {
    let (listed, checked) = list_links(&view).await?;
    checked?;
    Ok(Json(json!({ "shares": listed.iter().map(as_json).collect::<Vec<_>>() })))
}

/// Creates a link, for programs.
pub(super) async fn api_make(
    view: ClientView,
    Extension(OwnOrigin(origin)): Extension<OwnOrigin>,
    form: Result<Form<ShareForm>, FormRejection>,
) -> Result<Response, Refusal> {
    let Form(form) = form?;
    let (share, link) = make_link(&view, &form, &origin).await?;
    let mut told = as_json(&share);
    if let Some(told) = told.as_object_mut() {
        told.insert("link".to_owned(), link.into());
    }
    Ok((audit_share(&share, view.viewer().audit_name(), "made a link"), Json(told)).into_response())
}

/// Revokes a link, for programs.
pub(super) async fn api_revoke(
    view: ClientView,
    form: Result<Form<RevokeForm>, FormRejection>,
) -> Result<Response, Refusal> {
    let Form(RevokeForm { id }) = form?;
    revoke_link(&view, &id).await?;
    Ok((audit_revocation(&view, &id), StatusCode::NO_CONTENT).into_response())
}
