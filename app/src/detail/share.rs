//! Links to a Deployment, each with what it will show later.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use timeline::{Millis, Uid, Workload};

use timeline::address;

/// A link to share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareDetail {
    /// Scheme, host and port at which the viewer reached the server.
    pub origin: String,
    /// Whether other machines cannot reach it at that address.
    pub is_local: bool,
    /// UID of the Deployment.
    pub deployment: Uid,
    /// The revision at the shown moment.
    pub revision: Option<u64>,
    /// The shown moment.
    pub at_millis: Millis,
    /// Whether that moment is not the present.
    pub is_past: bool,
}

/// A link to share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Link {
    /// Subject of the link.
    pub name: String,
    /// The moment of the link; `None` if it names none.
    pub at_millis: Option<Millis>,
    /// Content that the link will show later.
    pub later: &'static str,
    /// The text to copy.
    pub text: String,
}

impl ShareDetail {
    /// Builds the links to a Deployment; `at_millis` is the shown moment if that is not the present.
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

    /// Returns whether `known` has the same links: for the present only the time of the request differs, and links do not change while
    /// somebody copies them.
    pub fn is_shared_by(&self, known: &Self) -> bool {
        let is_present = !self.is_past && !known.is_past;
        is_present && Self { at_millis: known.at_millis, ..self.clone() } == *known
    }

    /// Returns the path of the most useful link: of the shown moment, or of the revision.
    pub fn first_path(&self, workload: &Workload) -> String {
        if self.is_past { self.moment(workload) } else { self.permanent(workload) }
    }

    /// Returns the links, the most useful first.
    pub fn links(&self, workload: &Workload) -> Vec<Link> {
        let origin = &self.origin;
        let page = address::whatever_bears_the_name(workload);
        let name = self.revision.map_or("This Deployment".to_owned(), |revision| format!("Revision {revision}"));
        let link = |name: &str, later, text| Link { name: name.to_owned(), at_millis: None, later, text };
        let permanent = format!("{origin}{}", self.permanent(workload));
        let moment = format!("{origin}{}", self.moment(workload));
        let badge = format!("[![rollout]({origin}{page}/badge.svg)]({origin}{page})");
        let mut links = vec![
            link(&name, "Live while it is current, its final state afterwards", permanent),
            Link {
                at_millis: Some(self.at_millis),
                ..link("This moment", "Snapshot, available while history is kept", moment)
            },
            link("Current deployment (always live)", "Whichever Deployment has this name", format!("{origin}{page}")),
            link("A badge for a README", "Shows current status", badge),
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

/// Returns whether an origin, or an address below it, is reachable only from the same machine.
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
        assert_eq!((links[0].name.as_str(), links[0].at_millis), ("Revision 3", None));
        assert_eq!(links[0].later, "Live while it is current, its final state afterwards");
        assert_eq!(links[0].text, format!("https://a{}", now.first_path(&workload)));
        assert!(links[1].text.ends_with("&at=9"));
        let then = share(Some(7));
        assert!(ShareDetail { at_millis: 10, ..now.clone() }.is_shared_by(&now));
        assert!(!then.is_shared_by(&now) && !ShareDetail { revision: None, ..now.clone() }.is_shared_by(&now));
        let first = &then.links(&workload)[0];
        assert_eq!((first.name.as_str(), first.at_millis), ("This moment", Some(7)));
        assert_eq!(then.links(&workload)[0].text, format!("https://a{}", then.first_path(&workload)));
    }
}
