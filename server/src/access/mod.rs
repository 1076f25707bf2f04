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

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use timeline::Millis;

use self::oidc::Oidc;
use self::proxy::Proxy;
use self::token::Tokens;
use crate::access::scope::Scope;
use crate::access::sight::Sight;
use crate::kube::review::Subject;

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

/// Who looks.
#[derive(Debug, Clone)]
pub struct Viewer {
    /// What they are called; empty for anybody.
    pub name: Arc<str>,
    /// As whom clusters know them; `None` for anybody.
    pub subjects: Option<Arc<Subjects>>,
    /// The link that they came by, made by who bears that name; they see no more than it opens.
    pub link: Option<Arc<Opened>>,
}

/// A link that somebody came by.
#[derive(Debug, PartialEq, Eq)]
pub struct Opened {
    /// Which one it is.
    pub id: String,
    /// What it opens.
    pub scope: Scope,
    /// Until when, in milliseconds since 1970.
    pub until_millis: Millis,
}

impl Viewer {
    /// Whoever it is: nobody has to sign in.
    #[must_use]
    pub fn anybody() -> Self {
        Self { name: Arc::default(), subjects: None, link: None }
    }

    /// Somebody who signed in.
    #[must_use]
    pub fn known(name: Arc<str>, subjects: Subjects) -> Self {
        Self { name, subjects: Some(Arc::new(subjects)), link: None }
    }

    /// Who that is, for those who write down who does what.
    #[must_use]
    pub fn who(&self) -> Arc<str> {
        match &self.link {
            Some(link) => format!("link {} of {}", link.id, self.name).into(),
            None => self.name.clone(),
        }
    }

    /// They are who they were: the same to every cluster, by the same link or by none.
    #[must_use]
    pub fn is_still(&self, before: &Self) -> bool {
        let id = |viewer: &Self| viewer.link.as_ref().map(|link| link.id.clone());
        self.subjects == before.subjects && id(self) == id(before)
    }

    /// What is left for them of what may be seen by those whom clusters know as they know them.
    #[must_use]
    pub fn within(&self, sight: Arc<Sight>) -> Arc<Sight> {
        match &self.link {
            Some(link) => Arc::new(sight.within(&link.scope)),
            None => sight,
        }
    }
}

/// As whom clusters know a viewer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Subjects {
    /// All of them as the same.
    Same(Subject),
    /// These clusters, by their names, each as somebody of its own; the others not at all.
    Each(BTreeMap<String, Subject>),
}

impl Subjects {
    /// As whom that cluster knows them.
    #[must_use]
    pub fn of(&self, cluster: &str) -> Option<&Subject> {
        match self {
            Self::Same(subject) => Some(subject),
            Self::Each(all) => all.get(cluster),
        }
    }
}

/// Nobody is known to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stranger {
    /// They may sign in.
    SignIn,
    /// They did not come through the proxy that signs people in, or it told no user.
    NoProxy,
    /// Who they are cannot be asked now.
    Unknown,
    /// Too many tokens of theirs were refused lately: no cluster is asked about another one now.
    TooMany,
    /// They came by a link, of which nobody can tell now whether it still opens anything.
    Unchecked,
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
