//! Sign-in, with a token or at an OpenID Connect provider, sign-out, and the response to unauthenticated requests.

use std::sync::Arc;

use app::pages::sign_in::{SignInMethod, SignInPayload};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use axum::{Extension, Form};
use serde::Deserialize;
use timeline::address::{Route, at};

use super::extract::{Client, RequestAddress, local, wants_page};
use super::respond::{AuditEntry, UNCHECKED, render_bare, turn_away};
use super::share_entry;
use crate::access::cookie::{SealPurpose, SessionKeys};
use crate::access::oidc::OidcError;
use crate::access::share::Shares;
use crate::access::{Auth, AuthError, Viewer};
use crate::telemetry::clock;
use crate::web::limits::Limit;
use crate::web::server_address::ServerAddress;
use crate::web::state::Rollcast;

const UNCHECKED_TOKEN: &str = "Cannot check this token right now. Try again in a moment. If this lasts, see Rollcast's log: its account may lack create on tokenreviews.authentication.k8s.io.";
const COOKIE_DROPPED: &str = "This browser did not keep the cookie of your session. Browsers keep it over HTTPS. At localhost and 127.0.0.1, Chrome and Firefox keep it without HTTPS too.";
const NOT_FROM_PROXY: &str =
    "This request did not come through the proxy that signs people in, or the proxy sent no valid user name.";
const LINK_IS_OVER: &str = "This link does not work: it has expired or was revoked.";
const TOO_MANY: &str = "Too many invalid tokens from your address. Try again in a moment.";

/// The parameter with which a sign-in leads to its page, to see whether the browser sends the cookie of the session.
const CHECK_COOKIE: &str = "check-cookie";

#[derive(Deserialize)]
pub(super) struct TokenForm {
    token: String,
    #[serde(default)]
    to: String,
}

pub(super) async fn page(
    State(rollcast): State<Arc<Rollcast>>,
    Extension(client): Extension<Client>,
    RequestAddress(address): RequestAddress,
    request: Request,
) -> Response {
    let to = local(&address.parameters.text("to"));
    let auth = &rollcast.site.auth;
    let viewer = auth.viewer(request.headers(), client.peer, rollcast.client(client.address)).await;
    let checks_cookie = address.parameters.has(CHECK_COOKIE);
    let has_credentials =
        SessionKeys::has_cookie(SealPurpose::Session, request.headers()) || auth.has_token(request.headers());
    let has_session = !matches!(viewer, Err(AuthError::SignInRequired));
    // A viewer who is signed in already, perhaps in another window, gets the requested page. If a new session cannot be
    // checked right now, that page says so.
    if viewer.is_ok() || (checks_cookie && has_session) {
        return Redirect::to(&to).into_response();
    }
    let payload = match auth {
        Auth::Oidc(oidc) => {
            let end = if address.parameters.has("left") { oidc.logout_url().await } else { None };
            provider_payload(to, "", end.unwrap_or_default())
        }
        _ => {
            let trouble = if checks_cookie && !has_credentials { COOKIE_DROPPED } else { "" };
            SignInPayload { to, trouble: trouble.to_owned(), ..SignInPayload::default() }
        }
    };
    render_page(&rollcast, StatusCode::OK, payload, request).await
}

/// Accepts a token, and redirects to the requested page, after a check that the browser kept the cookie.
pub(super) async fn sign_in(
    State(rollcast): State<Arc<Rollcast>>,
    Extension(client): Extension<Client>,
    Form(form): Form<TokenForm>,
) -> Response {
    let Auth::Token(tokens) = &rollcast.site.auth else { return StatusCode::NOT_FOUND.into_response() };
    let token = form.token.trim();
    let to = local(&form.to);
    let (status, trouble) = match tokens.authenticate(token, rollcast.client(client.address)).await {
        Ok(viewer) => match tokens.begin(token, &viewer) {
            Some(cookie) => {
                let check = format!("{}&{CHECK_COOKIE}", sign_in_address(Route::SignIn, &to));
                return signed_in(viewer, cookie, &check);
            }
            None => (StatusCode::BAD_REQUEST, "This token is too long for a browser cookie."),
        },
        Err(AuthError::Unavailable) => (StatusCode::SERVICE_UNAVAILABLE, UNCHECKED_TOKEN),
        Err(AuthError::TooManyAttempts) => {
            rollcast.limits.count_hit(Limit::SignIns);
            (StatusCode::TOO_MANY_REQUESTS, TOO_MANY)
        }
        Err(_) => {
            (StatusCode::FORBIDDEN, "No cluster accepts this token: it has expired, or belongs to another cluster.")
        }
    };
    let payload = SignInPayload { to, trouble: trouble.to_owned(), ..SignInPayload::default() };
    render_page(&rollcast, status, payload, Request::default()).await
}

/// Redirects to the provider.
pub(super) async fn start(
    State(rollcast): State<Arc<Rollcast>>,
    RequestAddress(address): RequestAddress,
    headers: HeaderMap,
) -> Response {
    let Auth::Oidc(oidc) = &rollcast.site.auth else { return StatusCode::NOT_FOUND.into_response() };
    let to = local(&address.parameters.text("to"));
    let (host, server_address) = (host(&headers), &rollcast.site.server_address);
    // The provider leads back to the public URL, to which browsers send no cookie of another host.
    if let Some(public) = server_address.public.as_ref().filter(|_| !server_address.is_public(host)) {
        return Redirect::to(&format!("{public}{}", sign_in_address(Route::SignInStart, &to))).into_response();
    }
    match oidc.begin(&callback(server_address, host), &to).await {
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
    let redirect = callback(&rollcast.site.server_address, host(&headers));
    let gone = AppendHeaders([(header::SET_COOKIE, SessionKeys::removal(SealPurpose::PendingSignIn))]);
    let to = local(&oidc.pending_address(&headers).unwrap_or_default());
    match oidc.finish(&headers, &redirect, &address.parameters, client).await {
        Ok((viewer, cookie)) => (gone, signed_in(viewer, cookie, &to)).into_response(),
        // The cookie is of another window's sign-in, which may still end, or has signed them in here too.
        Err(OidcError::NotStarted) if oidc.viewer(&headers).await.is_ok() => Redirect::to(&to).into_response(),
        Err(failed @ OidcError::NotStarted) => failure_page(&rollcast, failed, to).await,
        Err(failed) => (gone, failure_page(&rollcast, failed, to).await).into_response(),
    }
}

/// Returns the path of a step of the sign-in, which leads to `to` afterwards.
fn sign_in_address(step: Route, to: &str) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("to", to).finish();
    format!("{}?{query}", at(step.pattern()))
}

/// Returns the address to which the provider redirects people after they signed in.
fn callback(server_address: &ServerAddress, host: &str) -> String {
    format!("{}{}", server_address.callback_origin(host), at(Route::SignInCallback.pattern()))
}

/// Returns the Host header, which the guard has checked.
fn host(headers: &HeaderMap) -> &str {
    headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default()
}

async fn failure_page(rollcast: &Rollcast, failed: OidcError, to: String) -> Response {
    let status = match &failed {
        OidcError::NotStarted | OidcError::TooLong => StatusCode::BAD_REQUEST,
        OidcError::Rejected(why) => {
            tracing::info!(target: "server::access::oidc", "the sign-in provider rejected a sign-in: {why}");
            StatusCode::FORBIDDEN
        }
        OidcError::NoUserName | OidcError::TooManyGroups => StatusCode::FORBIDDEN,
        OidcError::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        OidcError::TooManyAttempts => {
            rollcast.limits.count_hit(Limit::SignIns);
            StatusCode::TOO_MANY_REQUESTS
        }
    };
    let payload = provider_payload(to, &failed.to_string(), String::new());
    render_page(rollcast, status, payload, Request::default()).await
}

/// Begins the session in that cookie. It replaces the cookie of a link that the viewer came by.
fn signed_in(viewer: Viewer, cookie: HeaderValue, to: &str) -> Response {
    let who = Extension(AuditEntry { who: viewer.name, did: "signed in", at: Route::SignIn.pattern().to_owned() });
    let gone = AppendHeaders([(header::SET_COOKIE, SessionKeys::removal(SealPurpose::Link))]);
    (who, AppendHeaders([(header::SET_COOKIE, cookie)]), gone, Redirect::to(to)).into_response()
}

pub(super) async fn sign_out(State(rollcast): State<Arc<Rollcast>>, headers: HeaderMap) -> Response {
    if share_entry::is_by_link(&rollcast, &headers).await {
        // Leaving the link restores the viewer's previous session.
        return ([(header::SET_COOKIE, SessionKeys::removal(SealPurpose::Link))], Redirect::to(&at("/")))
            .into_response();
    }
    let mut to = at(Route::SignIn.pattern());
    match &rollcast.site.auth {
        Auth::Oidc(oidc) => {
            oidc.end(&headers);
            to.push_str("?left");
        }
        Auth::Token(tokens) => tokens.end(&headers),
        Auth::None | Auth::Open | Auth::Proxy(_) => {}
    }
    ([(header::SET_COOKIE, SessionKeys::removal(SealPurpose::Session))], Redirect::to(&to)).into_response()
}

async fn render_page(rollcast: &Rollcast, status: StatusCode, payload: SignInPayload, request: Request) -> Response {
    if !matches!(rollcast.site.auth, Auth::Token(_) | Auth::Oidc(_)) {
        return Redirect::to(&payload.to).into_response();
    }
    render_bare(rollcast, status, request, move |build| app::shell::sign_in(payload.clone(), build)).await
}

/// Returns the response to an unauthenticated request: a redirect to sign-in for pages.
pub(super) async fn refuse(rollcast: &Rollcast, error: AuthError, request: Request) -> Response {
    let auth = &rollcast.site.auth;
    let is_page = wants_page(&request);
    let is_over = |shares: &Arc<Shares>| shares.is_over(request.headers(), clock::now_millis());
    match error {
        AuthError::SignInRequired | AuthError::NotFromProxy if rollcast.site.shares.as_ref().is_some_and(is_over) => {
            let refused = unauthorized(rollcast, LINK_IS_OVER, is_page, request).await;
            if !is_page {
                return refused;
            }
            // This page reports it once: the next request is that of a viewer without a link.
            let gone = AppendHeaders([(header::SET_COOKIE, SessionKeys::removal(SealPurpose::Link))]);
            (gone, refused).into_response()
        }
        AuthError::SignInRequired if is_page => {
            let to = request.uri().path_and_query().map(|path| path.as_str()).unwrap_or("/");
            Redirect::to(&sign_in_address(Route::SignIn, &local(&at(to)))).into_response()
        }
        AuthError::SignInRequired => {
            let how = [(header::WWW_AUTHENTICATE, "Bearer")];
            let why = match auth {
                Auth::Oidc(_) => {
                    "Sign in, or send an ID token that the provider issued for this server as a bearer token.\n"
                }
                _ => "Sign in, or send a Kubernetes token as a bearer token.\n",
            };
            (StatusCode::UNAUTHORIZED, how, why).into_response()
        }
        AuthError::NotFromProxy => {
            let mut refused = unauthorized(rollcast, NOT_FROM_PROXY, is_page, request).await;
            if is_page {
                // Otherwise a wall that reloaded itself while the proxy sent no user would stay on this page.
                refused.headers_mut().insert(header::REFRESH, HeaderValue::from_static("30"));
            }
            refused
        }
        AuthError::TooManyAttempts => (StatusCode::TOO_MANY_REQUESTS, format!("{TOO_MANY}\n")).into_response(),
        AuthError::LinkUnavailable => turn_away(&format!("{}\n", UNCHECKED)),
        AuthError::Unavailable => turn_away(match auth {
            Auth::Oidc(_) => "Cannot check your sign-in right now: the provider does not respond. Trying again.\n",
            _ => "Cannot check your sign-in right now: no cluster responds. Trying again.\n",
        }),
    }
}

/// Returns a refusal with its reason: a page for people, a line for programs.
async fn unauthorized(rollcast: &Rollcast, why: &'static str, is_page: bool, request: Request) -> Response {
    if !is_page {
        return (StatusCode::UNAUTHORIZED, format!("{why}\n")).into_response();
    }
    // The address is not the problem: the page does not repeat it.
    let shell = move |build| app::shell::refusal("Unauthorized", String::new(), why.to_owned(), Vec::new(), build);
    render_bare(rollcast, StatusCode::UNAUTHORIZED, request, shell).await
}

/// Returns the page on which people go to the provider.
fn provider_payload(to: String, trouble: &str, end: String) -> SignInPayload {
    let start = sign_in_address(Route::SignInStart, &to);
    SignInPayload { to, trouble: trouble.to_owned(), way: SignInMethod::Provider { start, end } }
}
