//! The way to the provider that signs people in, and back.

use std::sync::Arc;

use app::pages::sign_in::{SignInMethod, SignInPayload};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};

use super::extract::Parameters;
use super::sign_in::{self, local};
use crate::access::Auth;
use crate::access::cookie::{Keys, Name};
use crate::access::oidc::{Back, Failed, SignedIn};
use crate::web::state::Rollcast;

/// The way there.
pub(super) const START: &str = "/sign-in/start";
/// The way back.
pub(super) const BACK: &str = "/sign-in/callback";

/// Leads to the provider.
pub(super) async fn start(
    State(rollcast): State<Arc<Rollcast>>,
    parameters: Parameters,
    headers: HeaderMap,
) -> Response {
    let Auth::Oidc(oidc) = &rollcast.auth else { return StatusCode::NOT_FOUND.into_response() };
    let to = local(&parameters.text("to"));
    match oidc.begin(host(&headers), BACK, &to).await {
        Ok((address, cookie)) => ([(header::SET_COOKIE, cookie)], Redirect::to(&address)).into_response(),
        Err(failed) => say(&rollcast, failed, to).await,
    }
}

/// Leads whom the provider sent back to where they wanted to go. What the provider says besides is shown to nobody.
pub(super) async fn back(
    State(rollcast): State<Arc<Rollcast>>,
    parameters: Parameters,
    headers: HeaderMap,
) -> Response {
    let Auth::Oidc(oidc) = &rollcast.auth else { return StatusCode::NOT_FOUND.into_response() };
    let back = Back { code: parameters.text("code"), state: parameters.text("state"), issuer: parameters.text("iss") };
    let gone = AppendHeaders([(header::SET_COOKIE, Keys::nothing_as(Name::Start))]);
    match oidc.finish(&headers, host(&headers), BACK, back).await {
        Ok(SignedIn { viewer, cookie, to }) => (gone, sign_in::signed_in(viewer, cookie, &local(&to))).into_response(),
        Err(failed) => (gone, say(&rollcast, failed, "/".to_owned()).await).into_response(),
    }
}

/// The page on which people go to the provider.
pub(super) fn payload(to: String, trouble: &str, end: String) -> SignInPayload {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("to", &to).finish();
    SignInPayload {
        to,
        trouble: trouble.to_owned(),
        way: SignInMethod::Provider { start: format!("{START}?{query}"), end },
    }
}

async fn say(rollcast: &Rollcast, failed: Failed, to: String) -> Response {
    let status = match failed {
        Failed::Strange | Failed::TooLong => StatusCode::BAD_REQUEST,
        Failed::Refused | Failed::Nameless => StatusCode::FORBIDDEN,
        Failed::Silent => StatusCode::SERVICE_UNAVAILABLE,
    };
    let payload = payload(to, &failed.to_string(), String::new());
    sign_in::answer(rollcast, status, payload, Request::default()).await
}

/// The guard has looked at it.
fn host(headers: &HeaderMap) -> &str {
    headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default()
}
