//! The entry of share links: exchanges the secret for a cookie. A link to one rollout or moment opens the addresses of that only.

use std::sync::Arc;

use app::payload::{DeploymentPayload, Preview};
use axum::Extension;
use axum::extract::{Form as FormBody, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use timeline::address::{Address, InvalidParameter, Parameters, Route};
use timeline::words::safe;

use super::extract::{Client, OwnOrigin, RequestAddress, local, moment};
use super::preview::{not_found as no_picture, picture as picture_of};
use super::respond::{Refusal, UNCHECKED, audit_share, refuse, render_bare};
use crate::access::cookie::{SealPurpose, SessionKeys};
use crate::access::scope::LinkScope;
use crate::access::share::{LinksUnavailable, Share};
use crate::access::{AuthError, Viewer};
use crate::telemetry::clock;
use crate::web::client_view::ClientView;
use crate::web::previews::ImageFormat;
use crate::web::state::Rollcast;

#[derive(Deserialize)]
pub(super) struct LinkForm {
    secret: String,
    /// `yes` if the viewer confirmed that the link replaces their present one.
    #[serde(default)]
    confirmed: String,
}

/// Renders the page behind every link, valid or not.
pub(super) async fn entry_page(State(rollcast): State<Arc<Rollcast>>, request: Request) -> Response {
    render_entry(&rollcast, StatusCode::OK, String::new(), None, request).await
}

/// Renders the page behind a link with a preview, which describes the scope.
pub(super) async fn preview_page(
    State(rollcast): State<Arc<Rollcast>>,
    RequestAddress(address): RequestAddress,
    Extension(OwnOrigin(origin)): Extension<OwnOrigin>,
    request: Request,
) -> Response {
    let shown = match find_preview(&rollcast, address.value("preview")).await {
        Ok(Some((share, view))) => Some(preview(&share, &view, &address).await),
        Ok(None) | Err(LinksUnavailable) => None,
    };
    let shown = shown.map(|shown| (shown, origin.to_string()));
    render_entry(&rollcast, StatusCode::OK, String::new(), shown, request).await
}

/// Returns the picture of the scope of a link with a preview.
pub(super) async fn picture(
    State(rollcast): State<Arc<Rollcast>>,
    RequestAddress(address): RequestAddress,
) -> Response {
    match find_preview(&rollcast, address.value("preview"))
        .await
        .map(|looked| looked.and_then(|(share, view)| Some((share.scope.workload()?, view))))
    {
        Ok(Some((workload, view))) => picture_of(&view, &workload, ImageFormat::Png).await,
        Ok(None) => no_picture(),
        Err(LinksUnavailable) => (StatusCode::SERVICE_UNAVAILABLE, format!("{UNCHECKED}\n")).into_response(),
    }
}

/// Returns the link of a preview, and what its maker may see of its scope now.
async fn find_preview(
    rollcast: &Arc<Rollcast>,
    preview: &str,
) -> Result<Option<(Share, ClientView)>, LinksUnavailable> {
    let Some(shares) = &rollcast.site.shares else { return Ok(None) };
    let Some((share, viewer)) = shares.find_preview(preview, clock::now_millis()).await? else { return Ok(None) };
    Ok(view_of(rollcast, viewer, &share.scope).await.map(|view| (share, view)))
}

/// Returns the view of a viewer who may see the scope; `None` for others.
async fn view_of(rollcast: &Arc<Rollcast>, viewer: Viewer, scope: &LinkScope) -> Option<ClientView> {
    let view = ClientView::new(rollcast, viewer).await?;
    match scope.workload() {
        Some(workload) => Some(view.with_namespace(&workload.cluster, &workload.namespace).await)
            .filter(|view| view.can_see(&workload)),
        // A wall of all clusters is visible if at least one cluster shows the viewer anything.
        None => Some(view).filter(|view| match scope.cluster() {
            Some(cluster) => view.has_cluster(cluster),
            None => view.hubs().next().is_some(),
        }),
    }
}

async fn preview(share: &Share, view: &ClientView, address: &Address) -> Preview {
    let verdict = async {
        let workload = share.scope.workload()?;
        let hub = view.hub(&workload).await?;
        let snapshot = hub.page(&workload).await.ok()?;
        snapshot.said.view.as_ref()?;
        let connection = view.connection(&hub);
        let page = DeploymentPayload { workload, connection, snapshot, ..DeploymentPayload::default() };
        Some(match share.scope {
            LinkScope::Moment { .. } => page.description(true),
            _ => page.preview().description,
        })
    };
    let verdict = verdict.await;
    Preview {
        title: share.describe_scope(),
        image: verdict.as_ref().map(|_| Address::new(Route::SharedPicture, &[address.value("preview")]).to_string()),
        description: verdict.unwrap_or_default(),
    }
}

/// Accepts a link, and redirects to the page that it opens.
pub(super) async fn open_link(
    State(rollcast): State<Arc<Rollcast>>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    FormBody(LinkForm { secret, confirmed }): FormBody<LinkForm>,
) -> Response {
    // The script sends the part behind the #; a person may have pasted the whole link.
    let part = secret.trim().rsplit('#').next().unwrap_or_default();
    let decoded = percent_decode_str(part).decode_utf8().unwrap_or_default();
    let secret = &*decoded;
    let found = match &rollcast.site.shares {
        Some(shares) => shares.find_by_secret(secret, clock::now_millis()).await,
        None => Ok(None),
    };
    let Ok(found) = found else {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        return render_entry(&rollcast, status, UNCHECKED.to_owned(), None, Request::default()).await;
    };
    // Any page may have sent them here: a link replaces their present view only after they confirm it.
    if let Some(share) = found.as_ref().filter(|_| confirmed != "yes") {
        let address = rollcast.client(client.address);
        let sees_it = match rollcast.site.auth.viewer(&headers, client.peer, address).await {
            // With another link open, the viewer sees its scope alone.
            Ok(viewer) => {
                Some(!is_by_link(&rollcast, &headers).await && view_of(&rollcast, viewer, &share.scope).await.is_some())
            }
            Err(AuthError::Unavailable | AuthError::LinkUnavailable | AuthError::TooManyAttempts) => Some(false),
            Err(AuthError::SignInRequired | AuthError::NotFromProxy) => None,
        };
        match sees_it {
            Some(true) => return Redirect::to(&local(&share.to)).into_response(),
            Some(false) => return confirm(&rollcast, share, secret).await,
            None => {}
        }
    }
    match found.and_then(|share| Some((share, SessionKeys::cookie_of(SealPurpose::Link, secret)?))) {
        Some((share, cookie)) => {
            let done = audit_share(&share, format!("link {} of {}", share.id, share.maker).into(), "opened a link");
            (done, [(header::SET_COOKIE, cookie)], Redirect::to(&local(&share.to))).into_response()
        }
        None => {
            let why = "This link does not work: it has expired, was revoked, or is incomplete.".to_owned();
            render_entry(&rollcast, StatusCode::FORBIDDEN, why, None, Request::default()).await
        }
    }
}

/// Asks a signed-in viewer whether a link may replace their present view.
async fn confirm(rollcast: &Rollcast, share: &Share, secret: &str) -> Response {
    let says = format!(
        "You are signed in. {} created this link, which opens {}. If you open it, this browser shows nothing else until you leave the link.",
        safe(&share.maker),
        share.describe_scope()
    );
    let secret = secret.to_owned();
    let shell = move |build| app::shell::confirm(says.clone(), secret.clone(), build);
    render_bare(rollcast, StatusCode::OK, Request::default(), shell).await
}

async fn render_entry(
    rollcast: &Rollcast,
    status: StatusCode,
    trouble: String,
    shown: Option<(Preview, String)>,
    request: Request,
) -> Response {
    if rollcast.site.shares.is_none() {
        return StatusCode::NOT_FOUND.into_response();
    }
    let (shown, origin) = shown.unzip();
    let origin = origin.unwrap_or_default();
    let shell = move |build| app::shell::shared(trouble.clone(), shown.clone(), &origin, build);
    render_bare(rollcast, status, request, shell).await
}

/// Returns whether a request comes with a link that may still be valid.
pub(super) async fn is_by_link(rollcast: &Rollcast, headers: &HeaderMap) -> bool {
    let Some(shares) = &rollcast.site.shares else { return false };
    let now_millis = clock::now_millis();
    match shares.viewer(headers, now_millis).await {
        Ok(viewer) => viewer.is_some(),
        Err(LinksUnavailable) => !shares.is_over(headers, now_millis),
    }
}

/// Returns the response to a viewer with a link to one rollout or moment who requests something else; `None` for what
/// the link opens.
pub(super) async fn refuse_other_pages(
    view: &ClientView,
    address: Option<&Address>,
    method: &Method,
    uri: &Uri,
) -> Option<Response> {
    let part = view.part()?.clone();
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    if is_read && address.is_some_and(|address| is_within(&part, address)) {
        return None;
    }
    let why = "This link opens one rollout or one moment, and nothing else.";
    // A page shows the text of such a response beside its picture.
    let is_for_a_page = Parameters::parse(uri.query().unwrap_or_default()).has("part");
    Some(if is_for_a_page {
        (StatusCode::NOT_FOUND, format!("{why}\n")).into_response()
    } else if uri.path().starts_with("/api/") {
        Refusal(StatusCode::NOT_FOUND, why.to_owned()).into_response()
    } else {
        let instead = part.address().map(|address| (address, "The shared page".to_owned()));
        let request = Request::get(uri.clone()).body(axum::body::Body::empty()).unwrap_or_default();
        let refusal = Refusal(StatusCode::NOT_FOUND, why.to_owned());
        refuse(view, refusal, instead.into_iter().collect(), request).await
    })
}

/// Returns whether a link to a rollout or a moment opens this address: each parameter that names a rollout or a moment
/// must name that one.
fn is_within(part: &LinkScope, address: &Address) -> bool {
    match address.route {
        Route::Stream => return true, // the view checks each subscription
        Route::Workload | Route::Pod | Route::Revision | Route::ApiTimeline => {}
        Route::Badge | Route::PreviewSvg | Route::PreviewPng => {}
        // The file of a rollout has what its page has. Recordings come from the history, which such a link does not open.
        Route::Export if matches!(part, LinkScope::Rollout { .. }) => {
            if address.parameters.has("format") && address.parameters.text("format") != "html" {
                return false;
            }
        }
        _ => return false,
    }
    let read = || Ok::<_, InvalidParameter>((address.workload()?, moment(address)?, address.parse::<u64>("revision")?));
    let Ok((Some(workload), at, revision)) = read() else { return false };
    let is_meant = match part {
        LinkScope::Rollout { revision: only, .. } => revision.is_none_or(|revision| revision == *only),
        LinkScope::Moment { at_millis, .. } => revision.is_none() && at.is_none_or(|at| at == *at_millis),
        LinkScope::Workload(_) | LinkScope::Wall { .. } => true,
    };
    is_meant && part.is_part_of(&workload)
}
