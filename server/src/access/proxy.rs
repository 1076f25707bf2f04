//! Sign-in by a proxy, which names the user in headers.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use ipnet::IpNet;

use super::Viewer;
use super::subject::SubjectPrefixes;
use crate::access::forwarded::is_among;

/// Addresses and headers of the trusted proxy.
#[derive(Debug, Clone)]
pub struct ProxyAuth {
    /// Its addresses.
    pub from: Vec<IpNet>,
    /// The header with the user.
    pub user_header: HeaderName,
    /// The header with the groups, with commas between them.
    pub groups_header: HeaderName,
    /// Prefixes that the clusters' API servers put before users and groups.
    pub prefixes: SubjectPrefixes,
}

impl ProxyAuth {
    /// Authenticates a request by the proxy's headers; `None` if it is not from the proxy, or the headers are
    /// invalid.
    pub fn viewer(&self, headers: &HeaderMap, peer: Option<IpAddr>) -> Option<Viewer> {
        if !is_among(&self.from, peer?) {
            return None;
        }
        // Names need not be ASCII: proxies send them as UTF-8.
        let text = |value: &HeaderValue| String::from_utf8(value.as_bytes().to_vec()).ok();
        // A header that occurs twice may be an attempt to smuggle a name past a proxy that adds its own.
        let mut users = headers.get_all(&self.user_header).iter();
        let user = text(users.next().filter(|_| users.next().is_none())?)?;
        let mut said = headers.get_all(&self.groups_header).iter();
        let groups = match (said.next(), said.next()) {
            (None, _) => String::new(),
            (Some(groups), None) => text(groups)?,
            _ => return None,
        };
        self.prefixes.subject(&user, groups.split(',').map(str::trim_ascii)).map(Viewer::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Subjects;

    fn proxy(prefix: &str) -> ProxyAuth {
        ProxyAuth {
            from: vec!["10.0.0.7/32".parse().unwrap(), "fd00::/64".parse().unwrap()],
            user_header: HeaderName::from_static("x-forwarded-user"),
            groups_header: HeaderName::from_static("x-forwarded-groups"),
            prefixes: SubjectPrefixes { user: prefix.to_owned(), groups: prefix.to_owned() },
        }
    }

    fn said(all: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in all {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    fn subject(viewer: Option<Viewer>) -> Option<(String, Vec<String>)> {
        let Subjects::Same(subject) = viewer?.subjects?.as_ref().clone() else { return None };
        Some((subject.user, subject.groups))
    }

    #[test]
    fn only_the_proxy_is_believed() {
        let headers = said(&[("x-forwarded-user", "ann"), ("x-forwarded-groups", "dev, ops,dev")]);
        let believed = |peer: &str| subject(proxy("").viewer(&headers, Some(peer.parse().unwrap())));
        let ann = ("ann".to_owned(), ["dev", "ops", "system:authenticated"].map(str::to_owned).to_vec());
        for peer in ["10.0.0.7", "::ffff:10.0.0.7", "fd00::1"] {
            assert_eq!(believed(peer), Some(ann.clone()), "{peer}");
        }
        for peer in ["10.0.0.8", "127.0.0.1", "::1", "fd00:0:0:1::1"] {
            assert_eq!(believed(peer), None, "{peer}");
        }
        assert_eq!(subject(proxy("").viewer(&headers, None)), None, "nobody knows where it is from");
    }

    #[test]
    fn names_are_utf8() {
        let peer = Some("10.0.0.7".parse().unwrap());
        let mut headers = said(&[]);
        headers.insert("x-forwarded-user", HeaderValue::from_bytes("jörg".as_bytes()).unwrap());
        headers.insert("x-forwarded-groups", HeaderValue::from_bytes("dev,büro".as_bytes()).unwrap());
        let groups = ["büro", "dev", "system:authenticated"].map(str::to_owned).to_vec();
        assert_eq!(subject(proxy("").viewer(&headers, peer)), Some(("jörg".to_owned(), groups)));
        for header in ["x-forwarded-groups", "x-forwarded-user"] {
            let mut headers = said(&[("x-forwarded-user", "ann")]);
            headers.insert(header, HeaderValue::from_bytes(b"b\xfcro").unwrap());
            assert_eq!(subject(proxy("").viewer(&headers, peer)), None, "{header}");
        }
    }

    #[test]
    fn what_a_proxy_passes_on_by_mistake_makes_nobody_an_administrator() {
        let peer = Some("10.0.0.7".parse().unwrap());
        for headers in [
            said(&[]),
            said(&[("x-forwarded-user", "")]),
            said(&[("x-forwarded-user", "system:admin")]),
            said(&[("x-forwarded-user", "ann"), ("x-forwarded-user", "root")]),
            said(&[("x-forwarded-user", "ann"), ("x-forwarded-groups", "dev"), ("x-forwarded-groups", "admins")]),
            said(&[("x_forwarded_user", "ann")]),
            said(&[("x-forwarded-groups", "dev")]),
        ] {
            assert_eq!(subject(proxy("").viewer(&headers, peer)), None, "{headers:?}");
        }
        let headers = said(&[("x-forwarded-user", "ann"), ("x-forwarded-groups", "system:masters,,dev")]);
        let (_, groups) = subject(proxy("").viewer(&headers, peer)).unwrap();
        assert_eq!(groups, ["dev", "system:authenticated"]);
        let (user, groups) = subject(proxy("oidc:").viewer(&headers, peer)).unwrap();
        assert_eq!(
            (user.as_str(), groups),
            ("oidc:ann", ["oidc:dev", "oidc:system:masters", "system:authenticated"].map(str::to_owned).to_vec())
        );
    }
}
