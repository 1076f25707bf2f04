//! The sender of a request, as sign-in identified it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use timeline::Millis;

use crate::access::permissions::Permissions;
use crate::access::scope::LinkScope;
use crate::kube::review::Subject;

/// The sender of a request.
#[derive(Debug, Clone)]
pub struct Viewer {
    /// Its name; empty without sign-in.
    pub name: Arc<str>,
    /// Its users in the clusters; `None` without sign-in.
    pub subjects: Option<Arc<Subjects>>,
    /// The link that it uses, whose maker `name` is. It sees no more than the link opens.
    pub link: Option<Arc<ActiveLink>>,
    /// A cluster did not identify the viewer: it is hidden, although they may be allowed to see it.
    pub is_unchecked: bool,
}

/// The link that a viewer uses.
#[derive(Debug, PartialEq, Eq)]
pub struct ActiveLink {
    /// Its id.
    pub id: String,
    /// The part of this server that it opens.
    pub scope: LinkScope,
    /// Its end, in milliseconds since 1970.
    pub until_millis: Millis,
}

impl Viewer {
    /// Creates the viewer of a server without sign-in.
    pub fn anonymous() -> Self {
        Self { name: Arc::default(), subjects: None, link: None, is_unchecked: false }
    }

    /// Creates a viewer who signed in.
    pub fn signed_in(name: Arc<str>, subjects: Subjects) -> Self {
        Self { name, subjects: Some(Arc::new(subjects)), link: None, is_unchecked: false }
    }

    /// Returns the name in the audit log.
    pub fn audit_name(&self) -> Arc<str> {
        match &self.link {
            Some(link) => format!("link {} of {}", link.id, self.name).into(),
            None => self.name.clone(),
        }
    }

    /// Compares the users in the clusters, whether every cluster identified one, and the link.
    pub fn is_same(&self, before: &Self) -> bool {
        let id = |viewer: &Self| viewer.link.as_ref().map(|link| link.id.clone());
        self.subjects == before.subjects && self.is_unchecked == before.is_unchecked && id(self) == id(before)
    }

    /// Reduces the permissions of the users to the part that the link opens.
    pub fn limit(&self, mut permissions: Arc<Permissions>) -> Arc<Permissions> {
        if self.is_unchecked
            && let Permissions::Part { is_silent, .. } = Arc::make_mut(&mut permissions)
        {
            *is_silent = true;
        }
        match &self.link {
            Some(link) => Arc::new(permissions.limited_to(&link.scope)),
            None => permissions,
        }
    }
}

/// The users of a viewer in the clusters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Subjects {
    /// One user in all clusters.
    Same(Subject),
    /// One user for each of these clusters, by their names; none in others.
    Each(BTreeMap<String, Subject>),
}

impl Subjects {
    /// Returns the user in a cluster.
    pub fn of(&self, cluster: &str) -> Option<&Subject> {
        match self {
            Self::Same(subject) => Some(subject),
            Self::Each(all) => all.get(cluster),
        }
    }
}

/// A request without a known viewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthError {
    /// The viewer may sign in.
    SignInRequired,
    /// The request is not from the proxy that signs people in, or the proxy sent no user.
    NotFromProxy,
    /// The user cannot be checked right now.
    Unavailable,
    /// Too many tokens of theirs were refused lately: no cluster is asked about another one now.
    TooManyAttempts,
    /// The link cannot be checked right now.
    LinkUnavailable,
}
