//! Redirects to the OpenID Connect provider, and its callback.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use timeline::address::{Route, at};

use super::extract::{Client, RequestAddress, local};
use super::sign_in;
use crate::access::Auth;
use crate::access::cookie::{SealPurpose, SessionKeys};
use crate::access::oidc::{CallbackParameters, NewSession, SignInFailure};
use crate::web::limits::Limit;
use crate::web::state::Rollcast;

/// Returns the path to which the provider redirects people after they signed in.
fn callback() -> String {
    at(Route::SignInCallback.pattern())
}

pub(super) async fn start(
    State(rollcast): State<Arc<Rollcast>>,
    RequestAddress(address): RequestAddress,
    headers: HeaderMap,
) -> Response {
    let Auth::Oidc(oidc) = &rollcast.site.auth else { return StatusCode::NOT_FOUND.into_response() };
    let to = local(&address.parameters.text("to"));
    match oidc.begin(host(&headers), &callback(), &to).await {
        Ok((there, cookie)) => ([(header::SET_COOKIE, cookie)], Redirect::to(&there)).into_response(),
        Err(failed) => failure_page(&rollcast, failed, to).await,
    }
}

/// Redirects a user who comes back from the provider to the requested page. Messages of the provider are logged, and
/// not shown.
pub(super) async fn finish_sign_in(
    State(rollcast): State<Arc<Rollcast>>,
    Extension(client): Extension<Client>,
    RequestAddress(address): RequestAddress,
    headers: HeaderMap,
) -> Response {
    let Auth::Oidc(oidc) = &rollcast.site.auth else { return StatusCode::NOT_FOUND.into_response() };
    let client = rollcast.client(client.address);
    let text = |name| address.parameters.text(name);
    let (error, description) = (text("error"), text("error_description"));
    let back = CallbackParameters { code: text("code"), state: text("state"), issuer: text("iss"), error, description };
    let gone = AppendHeaders([(header::SET_COOKIE, SessionKeys::removal(SealPurpose::PendingSignIn))]);
    match oidc.finish(&headers, host(&headers), &callback(), back, client).await {
        Ok(NewSession { viewer, cookie, to }) => {
            (gone, sign_in::signed_in(viewer, cookie, &local(&to))).into_response()
        }
        // The cookie is of another sign-in, which may still end.
        Err(failed @ SignInFailure::NotStarted) => failure_page(&rollcast, failed, at("/")).await,
        Err(failed) => (gone, failure_page(&rollcast, failed, at("/")).await).into_response(),
    }
}

async fn failure_page(rollcast: &Rollcast, failed: SignInFailure, to: String) -> Response {
    let status = match failed {
        SignInFailure::NotStarted | SignInFailure::TooLong => StatusCode::BAD_REQUEST,
        SignInFailure::Rejected | SignInFailure::NoUserName => StatusCode::FORBIDDEN,
        SignInFailure::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        SignInFailure::TooManyAttempts => {
            rollcast.limits.count_hit(Limit::SignIns);
            StatusCode::TOO_MANY_REQUESTS
        }
    };
    let payload = sign_in::provider_payload(to, &failed.to_string(), String::new());
    sign_in::render_page(rollcast, status, payload, Request::default()).await
}

/// Returns the Host header, which the guard has checked.
fn host(headers: &HeaderMap) -> &str {
    headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default()
}
