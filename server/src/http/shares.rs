//! Links for people without an account: made, listed and taken away by who signed in, handed in by who has one.

use std::sync::Arc;

use app::pages::shares::{SharedLine, SharesPayload};
use axum::extract::{Form, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Json};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::Deserialize;
use serde_json::json;
use timeline::Millis;
use timeline::words::safe;

use super::extract::{OwnOrigin, Parameters};
use super::sign_in::{Done, local};
use super::{api, pages};
use crate::auth::cookie::{Keys, Name};
use crate::auth::share::{Share, ShareError, Shares};
use crate::clock;
use crate::config::duration;
use crate::sight::Scope;
use crate::state::Rollcast;
use crate::view::View;

/// The page with links; a form that is sent there makes one.
pub(super) const LIST: &str = "/shares";
/// Where one is taken away.
pub(super) const REVOKE: &str = "/shares/revoke";
/// Where links lead, and where they are handed in.
pub(super) const OPEN: &str = "/shared";

/// What is to be shared, and for how long.
#[derive(Deserialize)]
pub(super) struct ShareForm {
    to: String,
    #[serde(default)]
    lasts: String,
}

/// Which one is to be taken away.
#[derive(Deserialize)]
pub(super) struct Named {
    id: String,
}

/// What stands in a link.
#[derive(Deserialize)]
pub(super) struct HandedIn {
    secret: String,
}

/// A link that is not made, or not shown.
struct Refused(StatusCode, String);

impl From<ShareError> for Refused {
    fn from(why: ShareError) -> Self {
        let status = match why {
            ShareError::Time => StatusCode::BAD_REQUEST,
            ShareError::TooMany => StatusCode::TOO_MANY_REQUESTS,
            ShareError::Stranger => StatusCode::FORBIDDEN,
            ShareError::File(_) | ShareError::Unwritten(_) | ShareError::Unreadable(..) => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        };
        let (mut words, why) = (String::new(), why.to_string());
        let mut letters = why.chars();
        words.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        Self(status, format!("{words}{}.", letters.as_str()))
    }
}

/// The links of this Rollcast, for who signed in and did not come by one.
fn shares<'r>(rollcast: &'r Rollcast, view: &View) -> Result<&'r Arc<Shares>, Refused> {
    let nothing = || Refused(StatusCode::NOT_FOUND, "There are no links without an account here.".to_owned());
    let shares = rollcast.shares.as_ref().ok_or_else(nothing)?;
    match view.viewer().link {
        Some(_) => Err(ShareError::Stranger.into()),
        None => Ok(shares),
    }
}

/// The links that somebody may revoke: their own, or everybody's where they see everything.
fn listed(rollcast: &Rollcast, view: &View) -> Result<Vec<Share>, Refused> {
    Ok(shares(rollcast, view)?.made_by(view.viewer(), view.sees_all(), clock::now_millis()))
}

/// What an address would open, for who may see that.
async fn scope(view: &View, to: &str) -> Option<Scope> {
    let scope = Scope::of_address(to)?;
    let is_seen = match &scope {
        Scope::Workload { cluster, namespace, name } => {
            view.clone().naming(cluster, namespace).await.has(cluster, namespace, name)
        }
        Scope::Wall { .. } => scope.cluster().is_none_or(|cluster| view.has_cluster(cluster)),
    };
    is_seen.then_some(scope)
}

async fn made(rollcast: &Rollcast, view: &View, form: &ShareForm, origin: &str) -> Result<(Share, String), Refused> {
    let shares = shares(rollcast, view)?;
    let to = local(&form.to);
    let why = "A link leads to a Deployment, one of its rollouts or moments, or a wall that is not searched, and that you may see yourself.";
    let scope = scope(view, &to).await.ok_or_else(|| Refused(StatusCode::BAD_REQUEST, why.to_owned()))?;
    let lasts = if form.lasts.is_empty() { "1d" } else { &form.lasts };
    let lasts = duration(lasts).map_err(|why| Refused(StatusCode::BAD_REQUEST, format!("{why}.")))?;
    let lasts = Millis::try_from(lasts.as_millis()).unwrap_or(Millis::MAX);
    let (share, secret) = shares.make(view.viewer(), scope, to, lasts, clock::now_millis()).await?;
    let link = format!("{origin}{OPEN}#{}", utf8_percent_encode(&secret, NON_ALPHANUMERIC));
    Ok((share, link))
}

/// The page with the links that somebody may revoke. What they would share is the page that they come from, which their browser tells.
pub(super) async fn page(
    State(rollcast): State<Arc<Rollcast>>,
    view: View,
    Extension(OwnOrigin(origin)): Extension<OwnOrigin>,
    parameters: Parameters,
    request: Request,
) -> Response {
    let referer = request.headers().get(header::REFERER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let from = referer.strip_prefix(&*origin).unwrap_or_default().to_owned();
    let to = Some(parameters.text("to")).filter(|to| !to.is_empty()).unwrap_or(from);
    let offer = scope(&view, &local(&to)).await.map(|scope| (scope.words(&to), to));
    show(&rollcast, &view, SharesPayload { offer, ..SharesPayload::default() }, StatusCode::OK, request).await
}

/// Makes a link and shows it.
pub(super) async fn make(
    State(rollcast): State<Arc<Rollcast>>,
    view: View,
    Extension(OwnOrigin(origin)): Extension<OwnOrigin>,
    Form(form): Form<ShareForm>,
) -> Response {
    let (payload, status) = match made(&rollcast, &view, &form, &origin).await {
        Ok((share, link)) => {
            let lasts = if matches!(share.scope, Scope::Wall { .. }) {
                ", with all that it leads to. It lasts as long again when it is used, for 90 days at most"
            } else {
                ""
            };
            let said = format!("It opens {} until {}{lasts}, unless you revoke it.", share.opens(), until(&share));
            let payload = SharesPayload { made: Some((link, said)), ..SharesPayload::default() };
            let shown = show(&rollcast, &view, payload, StatusCode::OK, Request::default()).await;
            return (done(&share, view.viewer().who(), "made a link"), shown).into_response();
        }
        Err(Refused(status, trouble)) => (SharesPayload { trouble, ..SharesPayload::default() }, status),
    };
    show(&rollcast, &view, payload, status, Request::default()).await
}

/// Takes a link away.
pub(super) async fn revoke(
    State(rollcast): State<Arc<Rollcast>>,
    view: View,
    Form(Named { id }): Form<Named>,
) -> Response {
    match revoked(&rollcast, &view, &id).await {
        Ok(()) => (revoking(&view, &id), Redirect::to(LIST)).into_response(),
        Err(Refused(status, trouble)) => {
            let payload = SharesPayload { trouble, ..SharesPayload::default() };
            show(&rollcast, &view, payload, status, Request::default()).await
        }
    }
}

async fn revoked(rollcast: &Rollcast, view: &View, id: &str) -> Result<(), Refused> {
    match shares(rollcast, view)?.revoke(view.viewer(), view.sees_all(), id).await? {
        true => Ok(()),
        false => Err(Refused(StatusCode::NOT_FOUND, "You have no such link.".to_owned())),
    }
}

async fn show(
    rollcast: &Rollcast,
    view: &View,
    mut payload: SharesPayload,
    status: StatusCode,
    request: Request,
) -> Response {
    let listed = match listed(rollcast, view) {
        Ok(listed) => listed,
        Err(Refused(status, why)) => return pages::refuse(view, status, why, Vec::new(), request).await,
    };
    let line = |share: Share| SharedLine {
        opens: share.opens(),
        until: until(&share),
        id: share.id,
        to: share.to,
        maker: safe(&share.maker),
    };
    payload.lines = listed.into_iter().map(line).collect();
    payload.is_everybodys = view.sees_all();
    pages::still(view, status, request, move |build| app::shell::shares(payload.clone(), build)).await
}

/// What is written down of a link: which one, and what it opens.
fn done(share: &Share, who: Arc<str>, did: &'static str) -> Extension<Done> {
    let path = share.to.split('?').next().unwrap_or_default();
    Extension(Done { who, did, at: format!("{path}#{}", share.id) })
}

/// What is written down of one that was taken away.
fn revoking(view: &View, id: &str) -> Extension<Done> {
    Extension(Done { who: view.viewer().who(), did: "revoked a link", at: format!("{LIST}#{id}") })
}

fn until(share: &Share) -> String {
    clock::stamp(share.until_millis)
}

/// Where links lead: the same page for every one of them, and for none.
pub(super) async fn way_in(State(rollcast): State<Arc<Rollcast>>, request: Request) -> Response {
    enter(&rollcast, StatusCode::OK, String::new(), request).await
}

/// Takes a link in, and leads to what it opens.
pub(super) async fn hand_in(
    State(rollcast): State<Arc<Rollcast>>,
    Form(HandedIn { secret }): Form<HandedIn>,
) -> Response {
    // The script hands in what stands behind the #; a person may have put in the whole link.
    let part = secret.trim().rsplit('#').next().unwrap_or_default();
    let decoded = percent_decode_str(part).decode_utf8().unwrap_or_default();
    let secret = &*decoded;
    let found = rollcast.shares.as_ref().and_then(|shares| shares.of_secret(secret, clock::now_millis()));
    match found.and_then(|share| Some((share, Keys::cookie_of(Name::Link, secret)?))) {
        Some((share, cookie)) => {
            let done = done(&share, format!("link {} of {}", share.id, share.maker).into(), "opened a link");
            (done, [(header::SET_COOKIE, cookie)], Redirect::to(&local(&share.to))).into_response()
        }
        None => {
            let why = "This link opens nothing: it has ended, was revoked, or is not whole.".to_owned();
            enter(&rollcast, StatusCode::FORBIDDEN, why, Request::default()).await
        }
    }
}

async fn enter(rollcast: &Rollcast, status: StatusCode, trouble: String, request: Request) -> Response {
    if rollcast.shares.is_none() {
        return StatusCode::NOT_FOUND.into_response();
    }
    pages::plain(rollcast, status, request, move |build| app::shell::shared(trouble.clone(), build)).await
}

/// A request came by a link.
pub(super) fn is_by_link(rollcast: &Rollcast, headers: &HeaderMap) -> bool {
    rollcast.shares.as_ref().is_some_and(|shares| shares.viewer(headers, clock::now_millis()).is_some())
}

fn as_json(share: &Share) -> serde_json::Value {
    json!({
        "id": share.id, "opens": share.opens(), "to": share.to, "maker": share.maker,
        "madeMillis": share.made_millis, "untilMillis": share.until_millis,
    })
}

/// The links that somebody may revoke, for programs.
pub(super) async fn list(State(rollcast): State<Arc<Rollcast>>, view: View) -> Response {
    match listed(&rollcast, &view) {
        Ok(listed) => Json(json!({ "shares": listed.iter().map(as_json).collect::<Vec<_>>() })).into_response(),
        Err(Refused(status, why)) => api::error(status, why),
    }
}

/// Makes one, for programs.
pub(super) async fn api_make(
    State(rollcast): State<Arc<Rollcast>>,
    view: View,
    Extension(OwnOrigin(origin)): Extension<OwnOrigin>,
    Form(form): Form<ShareForm>,
) -> Response {
    match made(&rollcast, &view, &form, &origin).await {
        Ok((share, link)) => {
            let mut told = as_json(&share);
            if let Some(told) = told.as_object_mut() {
                told.insert("link".to_owned(), link.into());
            }
            (done(&share, view.viewer().who(), "made a link"), Json(told)).into_response()
        }
        Err(Refused(status, why)) => api::error(status, why),
    }
}

/// Takes one away, for programs.
pub(super) async fn api_revoke(
    State(rollcast): State<Arc<Rollcast>>,
    view: View,
    Form(Named { id }): Form<Named>,
) -> Response {
    match revoked(&rollcast, &view, &id).await {
        Ok(()) => (revoking(&view, &id), StatusCode::NO_CONTENT).into_response(),
        Err(Refused(status, why)) => api::error(status, why),
    }
}
