//! Users and groups that another program signed in, as clusters know them.

use std::collections::BTreeSet;

use super::{Subjects, Viewer};
use crate::kube::review::Subject;

/// Prefix of names that clusters reserve for themselves: no user from outside may have one.
const RESERVED: &str = "system:";
/// The group of all signed-in users.
const SIGNED_IN: &str = "system:authenticated";
/// Longest name of a user or a group, in bytes, and most groups.
const LONGEST_NAME: usize = 256;
pub(super) const MOST_GROUPS: usize = 200;

/// Prefixes that the clusters' API servers put before the names of an issuer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubjectPrefixes {
    /// Before users.
    pub user: String,
    /// Before groups.
    pub groups: String,
}

impl SubjectPrefixes {
    /// Returns the subject of a user with groups; `None` if nobody may have that name. Reserved groups are left out.
    /// Names are not trimmed: to clusters, a space makes another name.
    pub fn subject<'a>(&self, user: &str, groups: impl IntoIterator<Item = &'a str>) -> Option<Subject> {
        let is_name =
            |name: &str| name.len() <= LONGEST_NAME && !name.starts_with(RESERVED) && !name.contains(char::is_control);
        let name = format!("{}{user}", self.user);
        if user.is_empty() || !is_name(&name) {
            return None;
        }
        let groups = groups.into_iter().filter(|group| !group.is_empty());
        let groups = groups.map(|group| format!("{}{group}", self.groups)).filter(|group| is_name(group));
        let groups: BTreeSet<String> = groups.take(MOST_GROUPS).chain([SIGNED_IN.to_owned()]).collect();
        Some(Subject { user: name, groups: groups.into_iter().collect(), ..Subject::default() })
    }
}

impl From<Subject> for Viewer {
    fn from(subject: Subject) -> Self {
        Self::signed_in(subject.user.as_str().into(), Subjects::Same(subject))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(prefix: &str, user: &str, groups: &[&str]) -> Option<(String, Vec<String>)> {
        let prefixes = SubjectPrefixes { user: prefix.to_owned(), groups: prefix.to_owned() };
        let subject = prefixes.subject(user, groups.iter().copied())?;
        Some((subject.user, subject.groups))
    }

    #[test]
    fn nobody_gets_a_name_that_clusters_keep_for_themselves() {
        let all = |groups: &[&str]| groups.iter().map(|group| (*group).to_owned()).collect::<Vec<_>>();
        let groups = ["system:masters", "", " dev ", "dev", "a\nb"];
        let kept = all(&[" dev ", "dev", "system:authenticated"]);
        assert_eq!(named("", "ann", &groups), Some(("ann".to_owned(), kept)), "a space makes another group");
        assert_eq!(
            named("oidc:", "system:admin", &["system:masters"]),
            Some(("oidc:system:admin".to_owned(), all(&["oidc:system:masters", "system:authenticated"])))
        );
        assert_eq!(named("", "system:admin", &[]), None);
        assert_eq!(named("system:", "admin", &[]), None, "not by a prefix either");
        assert_eq!(named("oidc:", "", &[]), None);
        assert_eq!(named("", "a\u{0}b", &[]), None);
        assert_eq!(named("", &"x".repeat(257), &[]), None);
        let many: Vec<String> = (0..300).map(|number| format!("g{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(named("", "ann", &many).map(|(_, groups)| groups.len()), Some(201));
    }
}
