//! What a link is: one thing that it opens, for a while, with the rights of who made it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use timeline::Millis;

use crate::access::scope::Scope;
use crate::access::{Opened, Subjects, Viewer};

/// How long a link may last, in milliseconds.
pub const SHORTEST: Millis = 3_600_000;
/// How long at most.
pub const LONGEST: Millis = 30 * 24 * SHORTEST;
/// How long a link that renews itself may last in all, in milliseconds.
const LONGEST_IN_ALL: Millis = 90 * 24 * SHORTEST;

/// A link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Share {
    /// Which one it is; no secret.
    pub id: String,
    /// Who made it.
    pub maker: String,
    /// As whom clusters know them.
    subjects: Subjects,
    /// What it opens.
    pub scope: Scope,
    /// Where it leads: an address of this server.
    pub to: String,
    /// When it was made, in milliseconds since 1970.
    pub made_millis: Millis,
    /// Until when it opens anything.
    pub until_millis: Millis,
    /// It lasts this long again when it is used, as walls do.
    renews_millis: Option<Millis>,
    /// Whoever is shown the link may see a preview of what it opens, without opening it.
    #[serde(default)]
    pub allows_preview: bool,
}

/// A link as somebody wants it.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// What it opens.
    pub scope: Scope,
    /// Where it leads: an address of this server.
    pub to: String,
    /// How long it lasts.
    pub lasts_millis: Millis,
    /// Whether it has a preview.
    pub allows_preview: bool,
}

impl Wanted {
    /// The link that it is from now on, as one that its maker made; `None` where it would last too long, or not long enough.
    pub(super) fn made(self, maker: &Viewer, subjects: &Subjects, now_millis: Millis) -> Option<Share> {
        let Self { scope, to, lasts_millis, allows_preview } = self;
        (SHORTEST..=LONGEST).contains(&lasts_millis).then(|| Share {
            id: format!("{:016x}", fastrand::u64(..)),
            maker: maker.name.to_string(),
            subjects: subjects.clone(),
            renews_millis: matches!(scope, Scope::Wall { .. }).then_some(lasts_millis),
            scope,
            to,
            made_millis: now_millis,
            until_millis: now_millis + lasts_millis,
            allows_preview,
        })
    }
}

impl Share {
    /// Until when it lasts from now on, where its use makes it last longer: half of its time is over.
    pub(super) fn renewed(&self, now_millis: Millis) -> Option<Millis> {
        let lasts = self.renews_millis.filter(|lasts| self.until_millis - now_millis < lasts / 2)?;
        let until = (now_millis + lasts).min(self.made_millis + LONGEST_IN_ALL);
        Some(until).filter(|until| *until > self.until_millis)
    }

    /// Who comes by it: its maker, who sees what it opens.
    pub(super) fn viewer(&self) -> Viewer {
        let opened = Opened { id: self.id.clone(), scope: self.scope.clone(), until_millis: self.until_millis };
        Viewer { link: Some(Arc::new(opened)), ..Viewer::known(self.maker.as_str().into(), self.subjects.clone()) }
    }

    /// That is who made it: to the cluster that it is about, or to some, and to none somebody else.
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

    /// What it opens, in words.
    #[must_use]
    pub fn opens(&self) -> String {
        self.scope.words(&self.to)
    }
}
