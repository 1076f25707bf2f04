//! The way in for who has a link: it is handed in for a cookie, and from then on opens what it opens. A link to one rollout or one moment
//! opens the addresses of that and no others.

use std::sync::Arc;

use app::payload::Preview;
use axum::Extension;
use axum::RequestExt;
use axum::extract::{Form as Sent, MatchedPath, Path, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use timeline::words::safe;

use super::extract::{NamedWorkload, OwnOrigin, Parameters};
use super::guard::Client;
use super::shares::done;
use super::sign_in::local;
use super::{BADGE, EXPORT, OF_WORKLOADS, PREVIEW_PNG, PREVIEW_SVG, api, pages, preview, stream};
use crate::access::cookie::{Keys, Name};
use crate::access::scope::Scope;
use crate::access::share::{Share, Unchecked};
use crate::access::{Stranger, Viewer};
use crate::telemetry::clock;
use crate::web::connections::Peer;
use crate::web::previews::Form;
use crate::web::state::Rollcast;
use crate::web::view::View;

/// Where links lead, and where they are handed in.
pub(super) const OPEN: &str = "/shared";
/// Where links lead that have a preview.
pub(super) const PREVIEWED: &str = "/shared/{preview}";
/// The picture of such a preview.
pub(super) const PICTURE: &str = "/shared/{preview}/preview.png";

/// What of a workload a link to a rollout or a moment opens, besides its page, the document and the stream: details of pods and revisions,
/// pictures. What lists other rollouts, or leads to them, is not among it.
const OF_PARTS: [&str; 5] = ["pods/{uid}", "revisions/{revision}", BADGE, PREVIEW_SVG, PREVIEW_PNG];

/// What those are told who come by a link of which nobody can tell now whether it still opens anything.
pub(super) const UNCHECKED: &str = "Cannot check right now whether this link is still valid. Trying again in a moment.";

/// What stands in a link.
#[derive(Deserialize)]
pub(super) struct HandedIn {
    secret: String,
    /// `yes` where somebody was asked whether it is to take the place of what they see.
    #[serde(default)]
    confirmed: String,
}

/// Where links lead: the same page for every one of them, and for none.
pub(super) async fn way_in(State(rollcast): State<Arc<Rollcast>>, request: Request) -> Response {
    enter(&rollcast, StatusCode::OK, String::new(), None, request).await
}

/// The same page, which says what a link opens whose maker allowed that.
pub(super) async fn previewed(
    State(rollcast): State<Arc<Rollcast>>,
    Path(preview): Path<String>,
    Extension(OwnOrigin(origin)): Extension<OwnOrigin>,
    request: Request,
) -> Response {
    let shown = match look(&rollcast, &preview).await {
        Ok(Some((share, view))) => Some(said(&share, &view, &format!("{OPEN}/{preview}")).await),
        Ok(None) | Err(Unchecked) => None,
    };
    let shown = shown.map(|shown| (shown, origin.to_string()));
    enter(&rollcast, StatusCode::OK, String::new(), shown, request).await
}

/// The picture of what such a link opens.
pub(super) async fn picture(State(rollcast): State<Arc<Rollcast>>, Path(preview): Path<String>) -> Response {
    match look(&rollcast, &preview)
        .await
        .map(|looked| looked.and_then(|(share, view)| Some((share.scope.workload()?, view))))
    {
        Ok(Some((workload, view))) => preview::picture(&view, &workload, Form::Png).await,
        Ok(None) => preview::nothing(),
        Err(Unchecked) => (StatusCode::SERVICE_UNAVAILABLE, format!("{UNCHECKED}\n")).into_response(),
    }
}

/// The link of which a preview is asked for, and what its maker may see of that now.
async fn look(rollcast: &Arc<Rollcast>, preview: &str) -> Result<Option<(Share, View)>, Unchecked> {
    let Some(shares) = &rollcast.shares else { return Ok(None) };
    let Some((share, viewer)) = shares.previewed(preview, clock::now_millis()).await? else { return Ok(None) };
    Ok(sees(rollcast, viewer, &share.scope).await.map(|view| (share, view)))
}

/// What somebody sees who may see what a link opens; `None` for others.
async fn sees(rollcast: &Arc<Rollcast>, viewer: Viewer, scope: &Scope) -> Option<View> {
    let view = View::of(rollcast, viewer).await.ok()?;
    match scope.workload() {
        Some(workload) => {
            Some(view.naming(&workload.cluster, &workload.namespace).await).filter(|view| view.shows(&workload))
        }
        // Of a wall of whatever there is, they see something as long as one cluster shows them anything.
        None => Some(view).filter(|view| match scope.cluster() {
            Some(cluster) => view.has_cluster(cluster),
            None => view.hubs().next().is_some(),
        }),
    }
}

async fn said(share: &Share, view: &View, path: &str) -> Preview {
    let verdict = async {
        let workload = share.scope.workload()?;
        let snapshot = view.hub(&workload).await?.page(&workload).await.ok()?;
        let view = snapshot.said.view?;
        Some(format!("{} {}", view.verdict.sentence, view.explanation()))
    };
    let verdict = verdict.await;
    Preview {
        title: share.opens(),
        image: verdict.as_ref().map(|_| format!("{path}/preview.png")),
        description: verdict.unwrap_or_default(),
    }
}

/// Takes a link in, and leads to what it opens.
pub(super) async fn hand_in(
    State(rollcast): State<Arc<Rollcast>>,
    peer: Option<Extension<Peer>>,
    client: Option<Extension<Client>>,
    headers: HeaderMap,
    Sent(HandedIn { secret, confirmed }): Sent<HandedIn>,
) -> Response {
    // The script hands in what stands behind the #; a person may have put in the whole link.
    let part = secret.trim().rsplit('#').next().unwrap_or_default();
    let decoded = percent_decode_str(part).decode_utf8().unwrap_or_default();
    let secret = &*decoded;
    let found = match &rollcast.shares {
        Some(shares) => shares.of_secret(secret, clock::now_millis()).await,
        None => Ok(None),
    };
    let Ok(found) = found else {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        return enter(&rollcast, status, UNCHECKED.to_owned(), None, Request::default()).await;
    };
    // Any page may have led them here: a link takes the place of what they see only if they want that.
    if let Some(share) = found.as_ref().filter(|_| confirmed != "yes") {
        let peer = peer.map(|Extension(Peer(address))| address.ip());
        let client = rollcast.client(client.and_then(|Extension(client)| client.address));
        let sees_it = match rollcast.auth.viewer(&headers, peer, client).await {
            // What another link opens may stand in the way of it.
            Ok(viewer) => {
                Some(!is_by_link(&rollcast, &headers).await && sees(&rollcast, viewer, &share.scope).await.is_some())
            }
            Err(Stranger::Unknown | Stranger::Unchecked | Stranger::TooMany) => Some(false),
            Err(Stranger::SignIn | Stranger::NoProxy) => None,
        };
        match sees_it {
            Some(true) => return Redirect::to(&local(&share.to)).into_response(),
            Some(false) => return ask(&rollcast, share, secret).await,
            None => {}
        }
    }
    match found.and_then(|share| Some((share, Keys::cookie_of(Name::Link, secret)?))) {
        Some((share, cookie)) => {
            let done = done(&share, format!("link {} of {}", share.id, share.maker).into(), "opened a link");
            (done, [(header::SET_COOKIE, cookie)], Redirect::to(&local(&share.to))).into_response()
        }
        None => {
            let why = "This link does not work: it has expired, was revoked, or is incomplete.".to_owned();
            enter(&rollcast, StatusCode::FORBIDDEN, why, None, Request::default()).await
        }
    }
}

/// Asks who is signed in whether a link is to take the place of what they see.
async fn ask(rollcast: &Rollcast, share: &Share, secret: &str) -> Response {
    let says = format!(
        "You are signed in. {} created this link, which opens {}. If you open it, this browser shows nothing else until you leave the link.",
        safe(&share.maker),
        share.opens()
    );
    let secret = secret.to_owned();
    let shell = move |build| app::shell::confirm(says.clone(), secret.clone(), build);
    pages::plain(rollcast, StatusCode::OK, Request::default(), shell).await
}

async fn enter(
    rollcast: &Rollcast,
    status: StatusCode,
    trouble: String,
    shown: Option<(Preview, String)>,
    request: Request,
) -> Response {
    if rollcast.shares.is_none() {
        return StatusCode::NOT_FOUND.into_response();
    }
    let (shown, origin) = shown.unzip();
    let origin = origin.unwrap_or_default();
    let shell = move |build| app::shell::shared(trouble.clone(), shown.clone(), &origin, build);
    pages::plain(rollcast, status, request, shell).await
}

/// A request came by a link, which may still open something.
pub(super) async fn is_by_link(rollcast: &Rollcast, headers: &HeaderMap) -> bool {
    match &rollcast.shares {
        Some(shares) => !matches!(shares.viewer(headers, clock::now_millis()).await, Ok(None)),
        None => false,
    }
}

/// What is answered to who came by a link to one rollout or one moment and asks for something else; `None` where they may ask.
pub(super) async fn elsewhere(view: &View, request: &mut Request) -> Option<Response> {
    let part = view.part()?.clone();
    if is_within(&part, request).await {
        return None;
    }
    let why = "This link opens one rollout or one moment, and nothing else.";
    // What is asked for a page is shown beside its picture, as words.
    let is_for_a_page = request.extract_parts::<Parameters>().await.is_ok_and(|parameters| parameters.has("part"));
    Some(if is_for_a_page {
        (StatusCode::NOT_FOUND, format!("{why}\n")).into_response()
    } else if request.uri().path().starts_with("/api/") {
        api::error(StatusCode::NOT_FOUND, why.to_owned())
    } else {
        let instead = part.address().map(|address| (address, "The shared page".to_owned()));
        let request = Request::get(request.uri().clone()).body(axum::body::Body::empty()).unwrap_or_default();
        pages::refuse(view, StatusCode::NOT_FOUND, why.to_owned(), instead.into_iter().collect(), request).await
    })
}

/// An address is one of those that show a part of a workload and nothing else: each parameter that says which part means that one.
async fn is_within(part: &Scope, request: &mut Request) -> bool {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return false;
    }
    let pattern = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned()).unwrap_or_default();
    if pattern == stream::ADDRESS {
        return true; // what is followed there is looked at by the view
    }
    let of_workload = pattern.strip_prefix(OF_WORKLOADS);
    let is_page = pattern == OF_WORKLOADS.trim_end_matches('/');
    // A link to a rollout opens the file of it besides, as a page. A moment is none to play.
    let is_file = of_workload == Some(EXPORT) && matches!(part, Scope::Rollout { .. });
    let is_opened = of_workload.is_some_and(|of| OF_PARTS.contains(&of)) || is_page || pattern == api::TIMELINE;
    if !is_file && !is_opened {
        return false;
    }
    let (Ok(NamedWorkload(workload)), Ok(parameters)) =
        (request.extract_parts::<NamedWorkload>().await, request.extract_parts::<Parameters>().await)
    else {
        return false;
    };
    let (Ok(at), Ok(revision)) = (parameters.moment(), parameters.read("revision", |text| text.parse::<u64>().ok()))
    else {
        return false;
    };
    if is_file && parameters.has("format") && parameters.text("format") != "html" {
        return false; // recordings are of what is kept, which is not looked into by links to a part
    }
    let is_meant = match part {
        Scope::Rollout { revision: only, .. } => revision.is_none_or(|revision| revision == *only),
        Scope::Moment { at_millis, .. } => revision.is_none() && at.is_none_or(|at| at == *at_millis),
        Scope::Workload(_) | Scope::Wall { .. } => true,
    };
    is_meant && part.is_part_of(&workload)
}
