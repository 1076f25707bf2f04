//! Finds out who asks, and what they may see.
//! Owns sign-in, sessions, share links, and the permissions of viewers.
//! Must not know routes and markup.
//!
//! Who looks, and what they may see.
//!
//! ```text
//!   request ──► Auth: who is it?          none: anybody · proxy: its headers · token: TokenReview of the clusters ·
//!                 │                     oidc: a provider's word, in a session
//!                 │ Viewer
//!                 ▼
//!               Rights: what may be seen?  SubjectAccessReview "list pods" per (user, groups, namespace), good for 60 s
//!                 │ Sight
//!                 ▼
//!               View: this Rollcast, as far as that goes; the only way from a request to clusters and history
//! ```
//! What may not be seen does not exist: it is answered by the code that answers for what was never there.

mod answers;
mod checked;
pub mod cookie;
mod ended;
pub(crate) mod fetch;
pub mod followers;
pub mod forwarded;
pub mod oidc;
pub mod proxy;
pub mod rights;
pub mod scope;
pub mod share;
pub mod sight;
pub mod subject;
pub mod token;
mod viewer;

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue};
use serde::Deserialize;

use self::oidc::Oidc;
use self::proxy::Proxy;
use self::token::Tokens;
pub use self::viewer::{Opened, Stranger, Subjects, Viewer};

/// How viewers are known, as people choose it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuthMode {
    /// No sign-in: everyone who can connect sees everything
    #[default]
    None,
    /// A proxy in front signs people in
    Proxy,
    /// People sign in with a Kubernetes token
    Token,
    /// People sign in at an OpenID Connect provider
    Oidc,
}

/// How viewers are known.
#[derive(Debug, Default)]
pub enum Auth {
    /// They are not: whoever reaches the address sees everything.
    #[default]
    None,
    /// The same, and others than this machine reach it.
    Open,
    /// A proxy in front signs them in.
    Proxy(Proxy),
    /// They show a Kubernetes token.
    Token(Box<Tokens>),
    /// They sign in at a provider.
    Oidc(Oidc),
}

impl Auth {
    /// Many viewers may come from that address: a proxy's.
    #[must_use]
    pub fn is_trusted(&self, address: IpAddr) -> bool {
        matches!(self, Self::Proxy(proxy) if proxy.is_from(address))
    }

    /// Viewers have to be somebody who is known.
    #[must_use]
    pub const fn asks(&self) -> bool {
        !matches!(self, Self::None | Self::Open)
    }

    /// Who sends a request over a connection with `peer`; `client` is whom it is from, where one client is to be told from another.
    ///
    /// # Errors
    /// When that is nobody who is known.
    pub async fn viewer(
        &self,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
        client: Option<IpAddr>,
    ) -> Result<Viewer, Stranger> {
        match self {
            Self::None | Self::Open => Ok(Viewer::anybody()),
            Self::Proxy(proxy) => proxy.viewer(headers, peer).ok_or(Stranger::NoProxy),
            Self::Token(tokens) => tokens.viewer(headers, client).await,
            Self::Oidc(oidc) => oidc.viewer(headers).await,
        }
    }

    /// The cookie of a session that went on since the one that a request carries, or that was sealed with an older key.
    #[must_use]
    pub fn renewed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        match self {
            Self::Oidc(oidc) => oidc.renewed(headers),
            Self::Token(tokens) => tokens.resealed(headers),
            Self::None | Self::Open | Self::Proxy(_) => None,
        }
    }
}
