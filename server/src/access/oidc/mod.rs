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
//!      over, also for who kept the cookie                counts for a minute more
//! ```
//! What is asked of the provider knows nothing of requests; what became of sessions is in memory, and in no other Rollcast.

mod client;
mod discovery;
mod identity;
pub mod options;
mod provider;
mod session;

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, header};
use openidconnect::Nonce;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use self::identity::Trouble;
use self::options::Options;
use self::provider::Provider;
use self::session::{Session, Sessions};
use super::cookie::{Keys, Name};
use super::{Stranger, Viewer};
use crate::telemetry::clock;

/// Who goes to the provider has to be back within this time, in seconds.
const AWAY: i64 = 600;
/// Codes that the provider is asked about at once.
const AT_ONCE: usize = 16;
/// Somebody waits for their turn so long.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// Knows people by what a provider says. Clones are the same.
#[derive(Clone)]
pub struct Oidc(Arc<Inner>);

struct Inner {
    keys: Keys,
    provider: Provider,
    sessions: Sessions,
    asking: Semaphore,
}

impl std::fmt::Debug for Oidc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Oidc")
    }
}

/// What is kept of somebody while they are at the provider.
#[derive(Serialize, Deserialize)]
struct Away {
    state: String,
    nonce: String,
    verifier: String,
    to: String,
    /// Since when, in seconds of the Unix epoch.
    since: i64,
}

/// What a provider sends somebody back with.
#[derive(Debug, Clone, Default)]
pub struct Back {
    /// What the token endpoint is asked with; empty for nothing.
    pub code: String,
    /// What they were sent there with.
    pub state: String,
    /// The provider names itself.
    pub issuer: String,
}

/// Somebody who signed in.
#[derive(Debug)]
pub struct SignedIn {
    /// Who they are.
    pub viewer: Viewer,
    /// Their session.
    pub cookie: HeaderValue,
    /// Where they wanted to go.
    pub to: String,
}

/// Why somebody did not get in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// They did not begin here, or too long ago.
    #[error("This sign-in started in another window, or too long ago.")]
    Strange,
    /// The provider does not want to, or its word cannot be believed.
    #[error("The provider did not sign you in.")]
    Refused,
    /// Clusters could not know them.
    #[error("The provider sent no user name that the clusters accept.")]
    Nameless,
    /// Their session does not fit into a cookie.
    #[error("The provider sent more data about you than a browser cookie can hold.")]
    TooLong,
    /// It does not answer.
    #[error("The sign-in provider does not respond right now.")]
    Silent,
}

impl From<Trouble> for Failed {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Silent => Self::Silent,
            Trouble::Refused(why) => {
                tracing::info!("the sign-in provider rejected a sign-in: {why}");
                Self::Refused
            }
            Trouble::Nameless => Self::Nameless,
        }
    }
}

impl From<Trouble> for Stranger {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Silent => Self::Unknown,
            Trouble::Refused(why) => {
                tracing::debug!("rejected a token: {why}"); // anybody may send one
                Self::SignIn
            }
            Trouble::Nameless => Self::SignIn,
        }
    }
}

fn now() -> i64 {
    clock::now_millis() / 1_000
}

impl Oidc {
    /// A provider, and the keys of sessions.
    ///
    /// # Errors
    /// When this machine names no authorities to trust.
    pub fn new(options: Options, keys: Keys) -> std::io::Result<Self> {
        let (provider, sessions) = (Provider::new(options)?, Sessions::default());
        Ok(Self(Arc::new(Inner { keys, provider, sessions, asking: Semaphore::new(AT_ONCE) })))
    }

    /// Who sends a request.
    ///
    /// # Errors
    /// When it carries neither a session nor a token that is good.
    pub async fn viewer(&self, headers: &HeaderMap) -> Result<Viewer, Stranger> {
        let inner = &self.0;
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if let Some(token) = bearer.and_then(|value| value.strip_prefix("Bearer ")) {
            return Ok(inner.provider.verify(token.trim()).await?.subject.into());
        }
        let session = inner.session(headers).and_then(|session| inner.sessions.newest(session));
        let session = session.ok_or(Stranger::SignIn)?;
        if now() < session.until {
            return Ok(session.viewer());
        }
        // On its own: whoever asked may leave before the answer is here, and what a rotated token is followed by is told once.
        let renewed = tokio::spawn(inner.clone().renewed(session)).await;
        renewed.map_err(|_| Stranger::Unknown)?.map(Session::viewer)
    }

    /// The cookie of a session that went on since the one that a request carries.
    #[must_use]
    pub fn renewed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let session = self.0.session(headers)?;
        let newest = self.0.sessions.newest(session.clone())?;
        match newest.turn == session.turn {
            true => self.0.keys.resealed(Name::Session, headers),
            false => self.0.seal(&newest),
        }
    }

    /// Where somebody signs in, and the cookie that they come back with; the provider leads back to `path`.
    ///
    /// # Errors
    /// When the provider does not answer.
    pub async fn begin(&self, host: &str, path: &str, to: &str) -> Result<(String, HeaderValue), Failed> {
        let redirect = self.0.provider.options.redirect(host, path);
        let begun = self.0.provider.begin(&redirect).await?;
        let away = Away {
            state: begun.state.into_secret(),
            nonce: begun.nonce.secret().clone(),
            verifier: begun.verifier.into_secret(),
            to: to.to_owned(),
            since: now(),
        };
        let seal = |away: &Away| self.0.keys.seal_as(Name::Start, &serde_json::to_string(away).ok()?);
        // Who wanted to go somewhere that does not fit is led to the list.
        let cookie = seal(&away).or_else(|| seal(&Away { to: "/".to_owned(), ..away })).ok_or(Failed::TooLong)?;
        Ok((begun.address, cookie))
    }

    /// Signs somebody in who came back.
    ///
    /// # Errors
    /// When they were not sent to the provider by this browser, or it does not say who they are.
    pub async fn finish(&self, headers: &HeaderMap, host: &str, path: &str, back: Back) -> Result<SignedIn, Failed> {
        let inner = &self.0;
        let away = inner.keys.open_as(Name::Start, headers).and_then(|text| serde_json::from_str::<Away>(&text).ok());
        let away = away.filter(|away| (0..AWAY).contains(&(now() - away.since))).ok_or(Failed::Strange)?;
        // Compared as nonces are: in the same time wherever they differ.
        let is_state = Nonce::new(away.state);
        if openidconnect::NonceVerifier::verify(&is_state, Some(&Nonce::new(back.state))).is_err() {
            return Err(Failed::Strange);
        }
        let issuer = inner.provider.options.issuer.url().as_str();
        if back.code.is_empty() || !(back.issuer.is_empty() || back.issuer == issuer) {
            return Err(Failed::Refused);
        }
        // Whoever invents codes takes turns as well: others wait for theirs a while.
        let turn = tokio::time::timeout(PATIENCE, inner.asking.acquire()).await;
        let _turn = turn.map_err(|_| Failed::Silent)?.map_err(|_| Failed::Silent)?;
        let redirect = inner.provider.options.redirect(host, path);
        let nonce = Nonce::new(away.nonce);
        let identity = inner.provider.exchange(&redirect, back.code, away.verifier, &nonce).await?;
        let ask_again = inner.provider.options.times.ask_again;
        let session = Session::begin(nonce.secret().clone(), identity, now(), ask_again);
        let cookie = inner.seal(&session).ok_or(Failed::TooLong)?;
        Ok(SignedIn { viewer: session.viewer(), cookie, to: away.to })
    }

    /// Ends the session of a request, also for whoever kept its cookie.
    pub fn end(&self, headers: &HeaderMap) {
        let Some(session) = self.0.session(headers) else { return };
        let newest = self.0.sessions.newest(session.clone()).unwrap_or_else(|| session.clone());
        self.0.sessions.end(&session);
        if let Some(token) = newest.refresh {
            let inner = self.0.clone();
            tokio::spawn(async move { inner.provider.revoke(&token).await });
        }
    }

    /// Where somebody ends their session at the provider, if it has such an address.
    pub async fn provider_end(&self) -> Option<String> {
        self.0.provider.end().await
    }
}

impl Inner {
    fn session(&self, headers: &HeaderMap) -> Option<Session> {
        Session::from_text(&self.keys.open(headers)?)
    }

    fn seal(&self, session: &Session) -> Option<HeaderValue> {
        self.keys.seal(&session.to_text()?)
    }

    /// A session whose time is up, after the provider was asked: by one request, however many wait.
    async fn renewed(self: Arc<Self>, session: Session) -> Result<Session, Stranger> {
        let times = &self.provider.options.times;
        let held = self.sessions.hold(&session);
        let mut silent = held.turn.lock().await;
        let session = held.newest();
        if self.sessions.is_ended(&session) {
            return Err(Stranger::SignIn);
        }
        if now() < session.until {
            return Ok(session); // another request asked meanwhile
        }
        let Some(token) = &session.refresh else { return Err(Stranger::SignIn) };
        let answer = match *silent {
            Some(at) if at.elapsed() < times.ask_the_silent => Err(Trouble::Silent),
            _ => self.provider.refresh(token, &session.id).await,
        };
        match answer {
            Ok(identity) => {
                *silent = None;
                let renewed = session.renewed(identity, now(), times.ask_again);
                let renewed = renewed.filter(|_| !self.sessions.is_ended(&session)).ok_or(Stranger::SignIn)?;
                held.set(renewed.clone());
                Ok(renewed)
            }
            Err(Trouble::Silent) => {
                if silent.is_none_or(|at| at.elapsed() >= times.ask_the_silent) {
                    *silent = Some(Instant::now());
                }
                if session.counts(now(), times.without_answer) { Ok(session) } else { Err(Stranger::Unknown) }
            }
            Err(trouble) => {
                tracing::info!("a session ended: the sign-in provider did not renew it: {trouble:?}");
                self.sessions.end(&session);
                Err(Stranger::SignIn)
            }
        }
    }
}
