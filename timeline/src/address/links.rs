//! Prints the addresses that pages and programs lead to.

use super::{Address, Route};
use crate::list::{By, Column, Group, Query};
use crate::{Millis, Uid, Workload};

/// Returns the page of a workload: the one with its UID, or the present one of its name.
pub fn workload(workload: &Workload) -> String {
    Address::of_workload(Route::Workload, workload).to_string()
}

/// Returns the page of the present workload of that name.
pub fn whatever_bears_the_name(workload: &Workload) -> String {
    self::workload(&Workload { uid: None, rollout: None, ..workload.clone() })
}

/// Returns an address below the page of a workload, such as [`pod`].
pub fn below(workload: &Workload, path: &str) -> String {
    let page = self::workload(workload);
    let (page, query) = page.split_at(page.find('?').unwrap_or(page.len()));
    format!("{page}/{path}{query}")
}

/// Returns a link to a workload by its UID and, if given, to one of its revisions.
pub fn permanent(workload: &Workload, uid: Uid, revision: Option<u64>) -> String {
    let workload = workload.clone().with_uid(Some(uid));
    Address::of_workload(Route::Workload, &workload).with("revision", revision).to_string()
}

/// Returns the comparison of a rollout with earlier ones, drawn over the rollout of revision `with`.
pub fn compare(workload: &Workload, uid: Uid, revision: u64, with: Option<u64>) -> String {
    let workload = Workload { uid: Some(uid), rollout: None, ..workload.clone() };
    let page = Address::of_workload(Route::Compare, &workload);
    page.with("revision", Some(revision)).with("with", with).to_string()
}

/// Returns the HTML file of the last rollout of a workload, or of a revision.
pub fn file(workload: &Workload, revision: Option<u64>) -> String {
    Address::of_workload(Route::Export, workload).with("revision", revision).to_string()
}

/// Returns a link to a moment of a workload by its UID.
pub fn moment(workload: &Workload, uid: Uid, at_millis: Millis) -> String {
    let workload = workload.clone().with_uid(Some(uid));
    Address::of_workload(Route::Workload, &workload).with("at", Some(at_millis)).to_string()
}

/// Returns the address of a list.
pub fn list(query: &Query) -> String {
    let page = match (&query.cluster, &query.namespace) {
        (Some(cluster), Some(namespace)) => Address::new(Route::Namespace, &[cluster, namespace]),
        (Some(cluster), None) => Address::new(Route::Cluster, &[cluster]),
        (None, _) => Address::new(Route::AllDeployments, &[]),
    };
    page.with("q", Some(&query.text))
        .with("labels", Some(&query.labels))
        .with("namespace", query.namespace.as_ref().filter(|_| query.cluster.is_none()))
        .with("show", query.group.map(Group::name))
        .with("by", (query.by == By::Place).then_some("namespace"))
        .with("sort", Some(query.sort.column.name()).filter(|_| query.sort.column != Column::default()))
        .with("order", query.sort.is_descending.then_some("desc"))
        .to_string()
}

/// Returns the wall of a list.
pub fn wall(query: &Query) -> String {
    Address::new(Route::Wall, &[])
        .with("q", Some(&query.text))
        .with("labels", Some(&query.labels))
        .with("cluster", query.cluster.as_ref())
        .with("namespace", query.namespace.as_ref())
        .to_string()
}

/// Returns the list of a cluster's Deployments.
pub fn cluster(cluster: &str) -> String {
    Address::new(Route::Cluster, &[cluster]).to_string()
}

/// Returns the list of a namespace's Deployments.
pub fn namespace(cluster: &str, namespace: &str) -> String {
    Address::new(Route::Namespace, &[cluster, namespace]).to_string()
}

/// Returns the details of a pod, below the page of its Deployment.
pub fn pod(uid: Uid) -> String {
    format!("pods/{uid}")
}

/// Returns the details of a revision, below the page of its Deployment.
pub fn revision(revision: u64) -> String {
    format!("revisions/{revision}")
}

/// Returns the timeline document of a workload, in the read API.
pub fn timeline(workload: &Workload) -> String {
    Address::of_workload(Route::ApiTimeline, workload).to_string()
}

/// Returns the recording of a rollout in the history, in the read API.
pub fn recording(workload: &Workload) -> String {
    Address::of_workload(Route::ApiRecording, workload).to_string()
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
