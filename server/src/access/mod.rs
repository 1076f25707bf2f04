//! Authenticates viewers, and holds what they may see.
//! Owns sign-in, sessions, share links, and the permissions of viewers.
//! Must not know routes and markup.
//!
//! ```text
//!   request ──► Auth            none · proxy: its headers · token: TokenReview of the clusters · oidc: session of a provider
//!                 │ Viewer
//!                 ▼
//!               Authorizer      SubjectAccessReview "list pods" per (user, groups, namespace), valid for 48 s
//!                 │ Permissions
//!                 ▼
//!               ClientView      (in `web`) the clusters and workloads that the viewer may see; all readers go through it
//! ```
//! Hidden resources are reported as missing, by the same code.

pub mod authorizer;
pub mod clients;
pub mod cookie;
pub(crate) mod fetch;
pub mod forwarded;
pub mod oidc;
pub mod permissions;
pub mod proxy;
mod refreshing_cache;
mod reviews;
mod revoked_sessions;
pub mod scope;
pub mod share;
pub mod subject;
pub mod token;
mod viewer;

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue};
use serde::Deserialize;

use self::forwarded::is_among;
use self::oidc::Oidc;
use self::proxy::ProxyAuth;
use self::token::TokenAuth;
pub use self::viewer::{ActiveLink, AuthError, Subjects, Viewer};

/// The way in which viewers sign in, as an option.
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

/// The way in which viewers sign in.
#[derive(Default)]
pub enum Auth {
    /// No sign-in, and only this machine can connect.
    #[default]
    None,
    /// No sign-in, although other machines can connect.
    Open,
    /// A proxy in front signs them in.
    Proxy(ProxyAuth),
    /// With a Kubernetes token.
    Token(Arc<TokenAuth>),
    /// At an OpenID Connect provider.
    Oidc(Arc<Oidc>),
}

impl Auth {
    /// Returns whether that address is a trusted proxy, behind which many viewers may be.
    pub fn is_trusted(&self, address: IpAddr) -> bool {
        matches!(self, Self::Proxy(proxy) if is_among(&proxy.from, address))
    }

    /// Returns whether viewers must sign in.
    pub const fn requires_sign_in(&self) -> bool {
        !matches!(self, Self::None | Self::Open)
    }

    /// Authenticates a request. `peer` is the other end of its connection; `client` is the address that limits count.
    pub async fn viewer(
        &self,
        headers: &HeaderMap,
        peer: Option<IpAddr>,
        client: Option<IpAddr>,
    ) -> Result<Viewer, AuthError> {
        match self {
            Self::None | Self::Open => Ok(Viewer::anonymous()),
            Self::Proxy(proxy) => proxy.viewer(headers, peer).ok_or(AuthError::NotFromProxy),
            Self::Token(tokens) => tokens.viewer(headers, client).await,
            Self::Oidc(oidc) => oidc.viewer(headers).await,
        }
    }

    /// Returns whether a request carries a token of its sender. Other content of that header, which proxies may add, is
    /// not for this server.
    pub fn has_token(&self, headers: &HeaderMap) -> bool {
        matches!(self, Self::Token(_) | Self::Oidc(_)) && token::bearer_token(headers).is_some()
    }

    /// Returns the new cookie of a session that was refreshed since the request's cookie, or whose cookie an older key
    /// encrypted.
    pub fn renewed_cookie(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        match self {
            Self::Oidc(oidc) => oidc.renewed_cookie(headers),
            Self::Token(tokens) => tokens.renewed_cookie(headers),
            Self::None | Self::Open | Self::Proxy(_) => None,
        }
    }
}
