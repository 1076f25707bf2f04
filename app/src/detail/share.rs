//! Links to a Deployment, each with what it will mean later.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use timeline::{Millis, Uid, Workload};

use timeline::address;

/// A link to share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareDetail {
    /// Scheme, host and port under which the server was asked.
    pub origin: String,
    /// Nobody else can reach it under that address.
    pub is_local: bool,
    /// UID of the Deployment.
    pub deployment: Uid,
    /// Its revision at the moment shown.
    pub revision: Option<u64>,
    /// The moment that the page shows.
    pub at_millis: Millis,
    /// True if that moment is not the present.
    pub is_past: bool,
}

/// A link to share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Link {
    /// Meaning of the link for the person who opens it.
    pub meaning: LinkTarget,
    /// The text that is copied.
    pub text: String,
}

/// Meaning of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkTarget {
    /// This Deployment, and its revision where that is known.
    Revision(Option<u64>),
    /// It as it was at a moment.
    Moment(Millis),
    /// Whichever has the name.
    Current,
    /// A badge with what is said of it.
    Badge,
}

impl LinkTarget {
    /// Names the link; `stamp` formats times.
    pub fn name(self, stamp: impl FnOnce(Millis) -> String) -> String {
        match self {
            Self::Revision(Some(revision)) => format!("Revision {revision}"),
            Self::Revision(None) => "This Deployment".to_owned(),
            Self::Moment(at_millis) => format!("This moment, {}", stamp(at_millis)),
            Self::Current => "Current deployment (always live)".to_owned(),
            Self::Badge => "A badge for a README".to_owned(),
        }
    }

    /// Explains the meaning of the link in the future.
    pub const fn later(self) -> &'static str {
        match self {
            Self::Revision(_) => "Live while it is current, its final state afterwards",
            Self::Moment(_) => "Snapshot, available while history is kept",
            Self::Current => "Whichever Deployment has this name",
            Self::Badge => "Shows current status",
        }
    }
}

impl ShareDetail {
    /// Builds the links to a Deployment; `at_millis` is the shown moment where that is not the present.
    pub fn new(
        origin: String,
        deployment: Uid,
        revision: Option<u64>,
        at_millis: Option<Millis>,
        now_millis: Millis,
    ) -> Self {
        Self {
            is_local: is_local(&origin),
            origin,
            deployment,
            revision,
            at_millis: at_millis.unwrap_or(now_millis),
            is_past: at_millis.is_some(),
        }
    }

    /// This is shared already: of the present only the time of asking differs, and links stay as they are while somebody copies them.
    pub fn is_shared_by(&self, known: &Self) -> bool {
        let is_present = !self.is_past && !known.is_past;
        is_present && Self { at_millis: known.at_millis, ..self.clone() } == *known
    }

    /// The path of the link that most people want: of the moment that is shown, or of the revision.
    pub fn first_path(&self, workload: &Workload) -> String {
        if self.is_past { self.moment(workload) } else { self.permanent(workload) }
    }

    /// The links; the first one is what most people want.
    pub fn links(&self, workload: &Workload) -> Vec<Link> {
        let origin = &self.origin;
        let page = address::whatever_bears_the_name(workload);
        let link = |meaning, path: &str| Link { meaning, text: format!("{origin}{path}") };
        let mut links = vec![
            link(LinkTarget::Revision(self.revision), &self.permanent(workload)),
            link(LinkTarget::Moment(self.at_millis), &self.moment(workload)),
            link(LinkTarget::Current, &page),
            Link {
                meaning: LinkTarget::Badge,
                text: format!("[![rollout]({origin}{page}/badge.svg)]({origin}{page})"),
            },
        ];
        if self.is_past {
            links.swap(0, 1);
        }
        links
    }

    fn permanent(&self, workload: &Workload) -> String {
        address::permanent(workload, self.deployment, self.revision)
    }

    fn moment(&self, workload: &Workload) -> String {
        address::moment(workload, self.deployment, self.at_millis)
    }
}

/// Returns whether an origin, or an address below it, names the computer on which it is used.
pub(crate) fn is_local(origin: &str) -> bool {
    let place = origin.split_once("://").map_or(origin, |(_, place)| place);
    let host = match place.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => place.split([':', '/']).next(),
    };
    let host = host.unwrap_or_default();
    let is_name = host == "localhost" || host.ends_with(".localhost");
    is_name || host.parse().is_ok_and(|address: IpAddr| address.is_loopback() || address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_only_this_computer_knows_are_told_from_others() {
        for local in [
            "http://127.0.0.1:7440",
            "http://localhost:7440",
            "https://a.localhost",
            "http://[::1]:7440",
            "http://localhost/shared#x",
        ] {
            assert!(is_local(local), "{local}");
        }
        for other in [
            "http://10.0.0.7:7440",
            "https://rollcast.example.com",
            "http://[fe80::1]:80",
            "http://localhost.example.com",
            "",
        ] {
            assert!(!is_local(other), "{other}");
        }
    }

    #[test]
    fn the_first_link_is_of_what_is_shown() {
        let workload = Workload::deployment("c", "n", "web");
        let share = |at| ShareDetail::new("https://a".into(), Uid::from_bits(1), Some(3), at, 9);
        let now = share(None);
        let links = now.links(&workload);
        assert_eq!(links.len(), 4);
        assert_eq!(links[0].meaning, LinkTarget::Revision(Some(3)));
        assert_eq!(links[0].meaning.later(), "Live while it is current, its final state afterwards");
        assert_eq!(links[0].text, format!("https://a{}", now.first_path(&workload)));
        assert!(links[1].text.ends_with("&at=9"));
        let then = share(Some(7));
        assert!(ShareDetail { at_millis: 10, ..now.clone() }.is_shared_by(&now));
        assert!(!then.is_shared_by(&now) && !ShareDetail { revision: None, ..now.clone() }.is_shared_by(&now));
        assert_eq!(then.links(&workload)[0].meaning, LinkTarget::Moment(7));
        assert_eq!(then.links(&workload)[0].text, format!("https://a{}", then.first_path(&workload)));
    }
}
