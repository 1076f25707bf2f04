//! Addresses of pages, and of what belongs to them.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use timeline::list::{By, Group, Query};

/// The page of a Deployment.
#[must_use]
pub fn deployment(cluster: &str, namespace: &str, name: &str) -> String {
    format!("/clusters/{}/namespaces/{}/deployments/{}", segment(cluster), segment(namespace), segment(name))
}

/// One Deployment of that name, whatever bears the name later; and, if said, one of its revisions.
#[must_use]
pub fn permanent(cluster: &str, namespace: &str, name: &str, uid: timeline::Uid, revision: Option<u64>) -> String {
    let page = deployment(cluster, namespace, name);
    match revision {
        Some(revision) => format!("{page}?uid={uid}&revision={revision}"),
        None => format!("{page}?uid={uid}"),
    }
}

/// A list.
#[must_use]
pub fn list(query: &Query) -> String {
    let mut address = match (&query.cluster, &query.namespace) {
        (Some(cluster), Some(namespace)) => self::namespace(cluster, namespace),
        (Some(cluster), None) => self::cluster(cluster),
        (None, _) => "/".to_owned(),
    };
    address.push_str(&search(query));
    address
}

/// The wall of what a list shows.
#[must_use]
pub fn wall(query: &Query) -> String {
    let cluster = query.cluster.as_deref().unwrap_or_default();
    let namespace = query.namespace.as_deref().unwrap_or_default();
    let told = [("q", query.text.as_str()), ("labels", &query.labels), ("cluster", cluster), ("namespace", namespace)];
    format!("/wall{}", parameters(&told))
}

/// What of a list's address is not its place.
fn search(query: &Query) -> String {
    let namespace = query.namespace.as_deref().filter(|_| query.cluster.is_none()).unwrap_or_default();
    parameters(&[
        ("q", query.text.as_str()),
        ("labels", &query.labels),
        ("namespace", namespace),
        ("show", query.group.map_or("", Group::name)),
        ("by", if query.by == By::Place { "namespace" } else { "" }),
    ])
}

/// Those that say something.
fn parameters(all: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (name, value) in all.iter().filter(|(_, value)| !value.is_empty()) {
        out.push(if out.is_empty() { '?' } else { '&' });
        out.push_str(name);
        out.push('=');
        out.push_str(&segment(value));
    }
    out
}

/// The list of a cluster's Deployments.
#[must_use]
pub fn cluster(cluster: &str) -> String {
    format!("/clusters/{}", segment(cluster))
}

/// The list of a namespace's Deployments.
#[must_use]
pub fn namespace(cluster: &str, namespace: &str) -> String {
    format!("/clusters/{}/namespaces/{}", segment(cluster), segment(namespace))
}

/// Everything about a pod, below the page of its Deployment.
#[must_use]
pub fn pod(uid: timeline::Uid) -> String {
    format!("pods/{uid}")
}

/// Everything about a revision, below the page of its Deployment.
#[must_use]
pub fn revision(revision: u64) -> String {
    format!("revisions/{revision}")
}

/// The timeline document of a Deployment, in the read API.
#[must_use]
pub fn timeline(cluster: &str, namespace: &str, name: &str) -> String {
    format!("/api/v1{}/timeline", deployment(cluster, namespace, name))
}

/// What stands in a segment of a path as it is, besides letters and digits.
const PLAIN: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'@').remove(b':');

/// A name as a segment of a path.
#[must_use]
pub fn segment(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_says_only_what_is_asked() {
        assert_eq!(list(&Query::default()), "/");
        let place = |cluster: Option<&str>, namespace: Option<&str>| Query {
            cluster: cluster.map(str::to_owned),
            namespace: namespace.map(str::to_owned),
            ..Query::default()
        };
        assert_eq!(list(&place(Some("a"), Some("b"))), "/clusters/a/namespaces/b");
        assert_eq!(list(&place(None, Some("b"))), "/?namespace=b");
        let query = Query { text: "a&b=c".into(), group: Some(Group::Stuck), by: By::Place, ..place(Some("a"), None) };
        assert_eq!(list(&query), "/clusters/a?q=a%26b%3Dc&show=stuck&by=namespace");
        assert_eq!(wall(&query), "/wall?q=a%26b%3Dc&cluster=a");
    }

    #[test]
    fn context_names_with_slashes_stay_one_segment() {
        let address = deployment("arn:aws:eks/prod eu", "shop", "web");
        assert_eq!(address, "/clusters/arn:aws:eks%2Fprod%20eu/namespaces/shop/deployments/web");
    }
}
