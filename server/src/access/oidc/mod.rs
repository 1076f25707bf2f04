//! People sign in at a provider, by OpenID Connect: authorization code with PKCE, state and nonce.
//!
//! ```text
//!   /sign-in/start ── state, nonce, verifier, encrypted in a cookie ──► provider
//!   /sign-in/callback ◄── code, state ── provider
//!        │ code + verifier ──► token endpoint ──► ID token: signature, issuer, audience, times, nonce
//!        ▼
//!   session, encrypted in a cookie ── its time is up ──► refresh token ──► the same session, and its cookie, anew
//!        │                                │ refused            │ no answer
//!        ▼ sign out                       ▼                    ▼
//!     ended, also for copies of the cookie              counts for a minute more
//! ```
//! Renewed and ended sessions are in memory: another Rollcast does not know them.

mod discovery;
mod identity;
pub mod options;
mod provider;
mod session;

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue};
use openidconnect::Nonce;
use serde::{Deserialize, Serialize};
use timeline::address::Parameters;
use tokio::sync::Semaphore;
use tokio::time::Instant;

pub use self::identity::OidcError;
use self::options::Options;
use self::provider::Provider;
use self::session::{Session, Sessions};
use super::clients::client_network;
use super::cookie::{SealPurpose, SessionKeys};
use super::token::{REFUSED_AT_ONCE, REFUSED_EVERY, bearer_token};
use super::{AuthError, Viewer};
use crate::telemetry::clock;
use crate::telemetry::rate::RateLimit;

/// Longest time between the start of a sign-in and its callback, in seconds.
const SIGN_IN_SECONDS: i64 = 600;
/// Codes that are exchanged at once.
const CODES_AT_ONCE: usize = 16;
/// Longest wait of a code for its turn to be exchanged.
const TURN_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// Sign-in at one provider.
pub struct Oidc {
    keys: SessionKeys,
    provider: Arc<Provider>,
    sessions: Sessions,
    asking: Semaphore,
    /// Rate limit of rejected sign-ins of each client.
    attempts: RateLimit<IpAddr>,
}

/// State of a sign-in while the user is at the provider.
#[derive(Serialize, Deserialize)]
struct PendingSignIn {
    state: String,
    nonce: String,
    verifier: String,
    to: String,
    /// Start, in seconds of the Unix epoch.
    since: i64,
}

fn now() -> i64 {
    clock::now_millis() / 1_000
}

impl Oidc {
    /// Creates sign-in at a provider, with the keys of sessions.
    ///
    /// # Errors
    /// When this machine has no trusted certificate authorities.
    pub fn new(options: Options, keys: SessionKeys) -> std::io::Result<Arc<Self>> {
        let (provider, sessions) = (Provider::new(options)?, Sessions::default());
        let (asking, attempts) = (Semaphore::new(CODES_AT_ONCE), RateLimit::new(REFUSED_AT_ONCE, REFUSED_EVERY));
        Ok(Arc::new(Self { keys, provider, sessions, asking, attempts }))
    }

    /// Authenticates a request.
    ///
    /// # Errors
    /// When it carries neither a valid session nor a valid token.
    pub async fn viewer(self: &Arc<Self>, headers: &HeaderMap) -> Result<Viewer, AuthError> {
        if let Some(token) = bearer_token(headers) {
            return match self.provider.verify(token).await {
                Ok(identity) => Ok(identity.subject.into()),
                Err(OidcError::Unavailable) => Err(AuthError::Unavailable),
                Err(why) => {
                    tracing::debug!("rejected a token: {why:?}"); // only debug: anyone may send a token
                    Err(AuthError::SignInRequired)
                }
            };
        }
        let session = self.session(headers).and_then(|session| self.sessions.newest(session));
        let session = session.ok_or(AuthError::SignInRequired)?;
        if now() < session.until {
            return Ok(session.viewer());
        }
        // In a task of its own: the request may be cancelled, and the provider sends the next token of a rotation only
        // once.
        let renewed = tokio::spawn(self.clone().renew_session(session)).await;
        renewed.map_err(|_| AuthError::Unavailable)?.map(Session::viewer)
    }

    /// Returns the new cookie of a session that was refreshed since the request's cookie.
    pub fn renewed_cookie(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let session = self.session(headers)?;
        let newest = self.sessions.newest(session.clone())?;
        match newest.turn == session.turn {
            true => self.keys.reseal(SealPurpose::Session, headers),
            false => self.seal(&newest),
        }
    }

    /// Starts a sign-in; returns the address of the provider and the cookie with the state. The provider leads back to
    /// `redirect`.
    ///
    /// # Errors
    /// When the provider does not respond.
    pub async fn begin(&self, redirect: &str, to: &str) -> Result<(String, HeaderValue), OidcError> {
        let (there, state, nonce, verifier) = self.provider.begin(redirect).await?;
        let pending = PendingSignIn {
            state: state.into_secret(),
            nonce: nonce.secret().clone(),
            verifier: verifier.into_secret(),
            to: to.to_owned(),
            since: now(),
        };
        let seal =
            |pending: &PendingSignIn| self.keys.seal(SealPurpose::PendingSignIn, &serde_json::to_string(pending).ok()?);
        // If the address is too long for the cookie, the user is redirected to the list.
        let cookie = seal(&pending)
            .or_else(|| seal(&PendingSignIn { to: "/".to_owned(), ..pending }))
            .ok_or(OidcError::TooLong)?;
        Ok((there, cookie))
    }

    /// Returns the address that the user of this browser wanted to see when they were sent to the provider.
    pub fn pending_address(&self, headers: &HeaderMap) -> Option<String> {
        self.pending(headers).map(|pending| pending.to)
    }

    /// Signs in a user who comes back from the provider to `redirect` with these parameters; `client` is the address
    /// that limits count. Returns the user, and the cookie of their session.
    ///
    /// # Errors
    /// When this browser did not start the sign-in, the provider does not identify the user, or too many sign-ins of
    /// the same client were rejected lately.
    pub async fn finish(
        &self,
        headers: &HeaderMap,
        redirect: &str,
        back: &Parameters,
        client: Option<IpAddr>,
    ) -> Result<(Viewer, HeaderValue), OidcError> {
        let pending = self
            .pending(headers)
            .filter(|pending| (0..SIGN_IN_SECONDS).contains(&(now() - pending.since)))
            .ok_or(OidcError::NotStarted)?;
        // Compared as nonces are: in constant time.
        let is_state = Nonce::new(pending.state);
        if openidconnect::NonceVerifier::verify(&is_state, Some(&Nonce::new(back.text("state")))).is_err() {
            return Err(OidcError::NotStarted);
        }
        // Invented codes wait for a turn, too, so a genuine one waits for a limited time.
        let turn = tokio::time::timeout(TURN_TIMEOUT, self.asking.acquire()).await;
        let _turn = turn.map_err(|_| OidcError::Unavailable)?.map_err(|_| OidcError::Unavailable)?;
        let payer = client.map(client_network);
        if payer.is_some_and(|payer| self.attempts.take(&payer).is_err()) {
            return Err(OidcError::TooManyAttempts);
        }
        let (code, issuer) = (back.text("code"), back.text("iss"));
        if code.is_empty() {
            let (error, description) = (back.text("error"), back.text("error_description"));
            return Err(OidcError::rejected(format!("no code: {error} {description}")));
        }
        if !issuer.is_empty() && issuer != self.provider.options.issuer.url().as_str() {
            return Err(OidcError::rejected(format!("the response is of {issuer}")));
        }
        let nonce = Nonce::new(pending.nonce);
        let identity = self.provider.exchange(redirect, code, pending.verifier, &nonce).await;
        if let Some(payer) = payer.filter(|_| !matches!(identity, Err(OidcError::Rejected(_)))) {
            self.attempts.give_back(&payer);
        }
        let identity = identity?;
        let refresh_after = self.provider.options.times.refresh_after;
        let session = Session::begin(nonce.secret().clone(), identity, now(), refresh_after);
        let cookie = self.seal(&session).ok_or(OidcError::TooLong)?;
        Ok((session.viewer(), cookie))
    }

    /// Ends the session of a request, also for copies of its cookie.
    pub fn end(self: &Arc<Self>, headers: &HeaderMap) {
        // Once: copies of the cookie cause no further requests to the provider.
        let Some(newest) = self.session(headers).and_then(|session| self.sessions.newest(session)) else { return };
        self.sessions.end(&newest);
        if let Some(token) = newest.refresh {
            let this = self.clone();
            tokio::spawn(async move { this.provider.revoke(&token).await });
        }
    }

    /// Returns the logout address of the provider, if it has one.
    pub async fn logout_url(&self) -> Option<String> {
        self.provider.logout_url().await
    }

    fn pending(&self, headers: &HeaderMap) -> Option<PendingSignIn> {
        serde_json::from_str(&self.keys.open(SealPurpose::PendingSignIn, headers)?).ok()
    }

    fn session(&self, headers: &HeaderMap) -> Option<Session> {
        Session::from_text(&self.keys.open(SealPurpose::Session, headers)?)
    }

    fn seal(&self, session: &Session) -> Option<HeaderValue> {
        self.keys.seal(SealPurpose::Session, &session.to_text()?)
    }

    /// Refreshes an expired session at the provider: once, however many requests wait.
    async fn renew_session(self: Arc<Self>, session: Session) -> Result<Session, AuthError> {
        let times = &self.provider.options.times;
        let held = self.sessions.hold(&session);
        let mut silent = held.turn.lock().await;
        let session = held.newest();
        if self.sessions.is_ended(&session) {
            return Err(AuthError::SignInRequired);
        }
        if now() < session.until {
            return Ok(session); // another request refreshed it meanwhile
        }
        let Some(token) = &session.refresh else { return Err(AuthError::SignInRequired) };
        let answer = match *silent {
            Some(at) if at.elapsed() < times.retry_after => Err(OidcError::Unavailable),
            _ => self.provider.refresh(token, &session.id).await,
        };
        match answer {
            Ok(identity) => {
                *silent = None;
                let renewed = session.renewed(identity, now(), times.refresh_after);
                let renewed = renewed.filter(|_| !self.sessions.is_ended(&session)).ok_or(AuthError::SignInRequired)?;
                held.set(renewed.clone());
                Ok(renewed)
            }
            Err(OidcError::Unavailable) => {
                if silent.is_none_or(|at| at.elapsed() >= times.retry_after) {
                    *silent = Some(Instant::now());
                }
                if session.counts(now(), times.grace_period) { Ok(session) } else { Err(AuthError::Unavailable) }
            }
            Err(trouble) => {
                tracing::info!("a session ended: the sign-in provider did not renew it: {trouble:?}");
                self.sessions.end(&session);
                Err(AuthError::SignInRequired)
            }
        }
    }
}
