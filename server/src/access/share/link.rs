//! A share link: one scope, for a limited time, with the permissions of its maker.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use timeline::Millis;

use crate::access::scope::LinkScope;
use crate::access::{ActiveLink, Subjects, Viewer};

/// Shortest lifetime of a link, in milliseconds.
pub const SHORTEST_LIFETIME: Millis = 3_600_000;
/// Longest lifetime of a link.
pub const LONGEST_LIFETIME: Millis = 30 * 24 * SHORTEST_LIFETIME;
/// Longest total lifetime of a link that renews itself, in milliseconds.
const LONGEST_RENEWED: Millis = 90 * 24 * SHORTEST_LIFETIME;

/// A share link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// Its name; no secret.
    pub id: String,
    /// Its maker.
    pub maker: String,
    /// The users of its maker in the clusters.
    subjects: Subjects,
    /// Its scope.
    pub scope: LinkScope,
    /// The address to which it leads, on this server.
    pub to: String,
    /// Creation, in milliseconds since 1970.
    pub made_millis: Millis,
    /// Expiry, in milliseconds since 1970.
    pub until_millis: Millis,
    /// The lifetime that its use renews, as for walls; `None` if it is not renewed.
    renews_millis: Option<Millis>,
    /// It has a preview, which anybody who has the link sees without opening it.
    #[serde(default)]
    pub allows_preview: bool,
}

/// The request for a link.
#[derive(Debug, Clone)]
pub struct LinkRequest {
    /// Its scope.
    pub scope: LinkScope,
    /// The address to which it leads, on this server.
    pub to: String,
    /// Its lifetime.
    pub lasts_millis: Millis,
    /// It has a preview.
    pub allows_preview: bool,
}

impl LinkRequest {
    /// Returns the link that a viewer makes from now on; `None` if its lifetime is too long or too short.
    pub(super) fn into_share(self, maker: &Viewer, subjects: &Subjects, now_millis: Millis) -> Option<Share> {
        let Self { scope, to, lasts_millis, allows_preview } = self;
        (SHORTEST_LIFETIME..=LONGEST_LIFETIME).contains(&lasts_millis).then(|| Share {
            id: format!("{:016x}", fastrand::u64(..)),
            maker: maker.name.to_string(),
            subjects: subjects.clone(),
            renews_millis: matches!(scope, LinkScope::Wall { .. }).then_some(lasts_millis),
            scope,
            to,
            made_millis: now_millis,
            until_millis: now_millis + lasts_millis,
            allows_preview,
        })
    }
}

impl Share {
    /// Returns the new expiry, if half of the lifetime is over and the link renews itself.
    pub(super) fn renewed_expiry(&self, now_millis: Millis) -> Option<Millis> {
        let lasts = self.renews_millis.filter(|lasts| self.until_millis - now_millis < lasts / 2)?;
        let until = (now_millis + lasts).min(self.made_millis + LONGEST_RENEWED);
        Some(until).filter(|until| *until > self.until_millis)
    }

    /// Returns the viewer who uses the link: its maker, with the scope of the link.
    pub(super) fn viewer(&self) -> Viewer {
        let opened = ActiveLink { id: self.id.clone(), scope: self.scope.clone(), until_millis: self.until_millis };
        Viewer { link: Some(Arc::new(opened)), ..Viewer::signed_in(self.maker.as_str().into(), self.subjects.clone()) }
    }

    /// Returns whether that viewer made it: the same user in the cluster of its scope, or in all clusters that both
    /// know.
    pub(super) fn is_of(&self, viewer: &Viewer) -> bool {
        let Some(subjects) = &viewer.subjects else { return false };
        match (&self.subjects, subjects.as_ref()) {
            (Subjects::Same(maker), Subjects::Same(viewer)) => maker.user == viewer.user,
            (Subjects::Each(maker), Subjects::Each(viewer)) => {
                if self.scope.cluster().is_some_and(|cluster| !viewer.contains_key(cluster)) {
                    return false;
                }
                let mut both =
                    maker.iter().filter_map(|(cluster, maker)| Some((maker, viewer.get(cluster)?))).peekable();
                both.peek().is_some() && both.all(|(maker, viewer)| maker.user == viewer.user)
            }
            _ => false,
        }
    }

    /// Describes what the link opens.
    pub fn describe_scope(&self) -> String {
        self.scope.words(&self.to)
    }
}
