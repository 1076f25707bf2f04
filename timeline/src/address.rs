//! Addresses of pages, and of what belongs to them.

use crate::list::{By, Column, Group, Query};
use crate::{Millis, Uid, Workload};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The page of a workload: of whatever bears the name, or of the one that is meant.
#[must_use]
pub fn workload(workload: &Workload) -> String {
    with_which(workload, whatever_bears_the_name(workload))
}

/// A page of a workload with which one is meant, where that is said.
fn with_which(workload: &Workload, page: String) -> String {
    match (workload.uid, workload.rollout) {
        (Some(uid), Some(rollout)) => format!("{page}?uid={uid}&rollout={rollout}"),
        (Some(uid), None) => format!("{page}?uid={uid}"),
        (None, _) => page,
    }
}

/// The page of a workload, whichever of those that bore the name is meant: of the one that bears it now.
#[must_use]
pub fn whatever_bears_the_name(workload: &Workload) -> String {
    let Workload { cluster, kind, namespace, name, uid: _, rollout: _ } = workload;
    format!("{}/{}/{}", self::namespace(cluster, namespace), kind.resource(), segment(name))
}

/// The page of something below that of a workload, such as [`pod`].
#[must_use]
pub fn below(workload: &Workload, path: &str) -> String {
    with_which(workload, format!("{}/{path}", whatever_bears_the_name(workload)))
}

/// A link to a workload and, if said, one of its revisions, whatever bears the name later.
#[must_use]
pub fn permanent(workload: &Workload, uid: Uid, revision: Option<u64>) -> String {
    let page = self::workload(&workload.clone().with_uid(Some(uid)));
    match revision {
        Some(revision) => format!("{page}&revision={revision}"),
        None => page,
    }
}

/// The page of a rollout beside those before it, laid over one of them.
#[must_use]
pub fn compare(workload: &Workload, uid: Uid, revision: u64, with: Option<u64>) -> String {
    let page = below(&Workload { uid: Some(uid), rollout: None, ..workload.clone() }, "compare");
    let with = with.map(|with| format!("&with={with}")).unwrap_or_default();
    format!("{page}&revision={revision}{with}")
}

/// The last rollout of a workload, or that of a revision, as a page in a file of its own.
#[must_use]
pub fn file(workload: &Workload, revision: Option<u64>) -> String {
    let page = below(workload, "export");
    let mark = if page.contains('?') { '&' } else { '?' };
    revision.map_or_else(|| page.clone(), |revision| format!("{page}{mark}revision={revision}"))
}

/// A link to a moment of a workload, whatever bears the name later.
#[must_use]
pub fn moment(workload: &Workload, uid: Uid, at_millis: Millis) -> String {
    format!("{}&at={at_millis}", permanent(workload, uid, None))
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
        ("sort", if query.sort.column == Column::default() { "" } else { query.sort.column.name() }),
        ("order", if query.sort.is_descending { "desc" } else { "" }),
    ])
}

/// The query string of the parameters that are not empty.
#[must_use]
pub fn parameters(all: &[(&str, &str)]) -> String {
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
pub fn pod(uid: Uid) -> String {
    format!("pods/{uid}")
}

/// Everything about a revision, below the page of its Deployment.
#[must_use]
pub fn revision(revision: u64) -> String {
    format!("revisions/{revision}")
}

/// The timeline document of a workload, in the read API.
#[must_use]
pub fn timeline(workload: &Workload) -> String {
    format!("/api/v1{}/timeline", whatever_bears_the_name(workload))
}

/// The recording of a rollout that is kept, in the read API.
#[must_use]
pub fn recording(workload: &Workload) -> String {
    format!("/api/v1{}", below(workload, "recording"))
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
    use crate::list::Sort;

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
        let query =
            Query { text: "a&b=c".into(), group: Some(Group::InTrouble), by: By::Place, ..place(Some("a"), None) };
        assert_eq!(list(&query), "/clusters/a?q=a%26b%3Dc&show=trouble&by=namespace");
        assert_eq!(wall(&query), "/wall?q=a%26b%3Dc&cluster=a");
        let sort = Sort::default().chosen(Column::Name);
        assert_eq!(list(&Query { sort, ..place(Some("a"), None) }), "/clusters/a?sort=name");
        let sort = sort.chosen(Column::Name);
        assert_eq!(list(&Query { sort, ..Query::default() }), "/?sort=name&order=desc");
        assert_eq!(list(&Query { sort: Sort::default().chosen(Column::Status), ..Query::default() }), "/?order=desc");
    }

    #[test]
    fn context_names_with_slashes_stay_one_segment() {
        let address = whatever_bears_the_name(&Workload::deployment("arn:aws:eks/prod eu", "shop", "web"));
        assert_eq!(address, "/clusters/arn:aws:eks%2Fprod%20eu/namespaces/shop/deployments/web");
    }

    #[test]
    fn what_is_below_a_page_keeps_which_workload_is_meant() {
        let uid: Uid = "00000000-0000-4000-8000-000000000001".parse().unwrap();
        let named = |uid| Workload::deployment("c", "n", "web").with_uid(uid);
        let page = "/clusters/c/namespaces/n/deployments/web";
        assert_eq!(below(&named(None), "revisions/2"), format!("{page}/revisions/2"));
        assert_eq!(below(&named(Some(uid)), "revisions/2"), format!("{page}/revisions/2?uid={uid}"));
        assert_eq!(moment(&named(None), uid, 7), format!("{page}?uid={uid}&at=7"));
        assert_eq!(
            (workload(&named(None)), workload(&named(Some(uid)))),
            (page.to_owned(), format!("{page}?uid={uid}"))
        );
    }
}
