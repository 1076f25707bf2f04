//! Selects, sorts and groups the Deployments of a list. Pure.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use selector::{Labels, ParseSelectorError};
use timeline::Millis;
use timeline::list::{By, ClusterState, Column, Common, Group, Head, Overall, Query};
use timeline::view::Summary;

use crate::hub::{List, ListedDeployment};

/// Longest search, in bytes and words; longest label selector, in bytes and terms. A value among several is a term of its own.
const MOST_TEXT: usize = 400;
const MOST_WORDS: usize = 12;
const MOST_LABELS: usize = 2_000;
const MOST_TERMS: usize = 16;

/// A cluster as lists read it.
pub struct Source {
    /// Its name, its accent, and the state of its connection.
    pub state: ClusterState,
    /// Its Deployments by namespace and name.
    pub list: List,
}

/// A row of a list: number of the cluster, and the Deployment.
pub type ListedRow = (u16, Arc<ListedDeployment>);

/// A list, chosen and in order.
#[derive(Debug, Default)]
pub struct ListResult {
    /// Counts, headings and clusters of the whole list.
    pub overall: Overall,
    /// Its lines.
    pub lines: Vec<ListedRow>,
    /// The query has a fault: a part of it was ignored, or it names a cluster that is not watched.
    pub is_wrong: bool,
}

impl ListResult {
    /// Returns a line as [`timeline::list::SentRows`] takes it.
    pub fn line((cluster, listed): &ListedRow) -> (u16, &Summary) {
        (*cluster, &listed.summary)
    }

    /// Compares everything that viewers receive, without the clocks. Lines are compared by pointer: a changed one is a new one.
    pub fn is_like(&self, other: &Self) -> bool {
        let same = |(a, b): (&ListedRow, &ListedRow)| a.0 == b.0 && Arc::ptr_eq(&a.1, &b.1);
        self.overall.is_like(&other.overall)
            && self.lines.len() == other.lines.len()
            && self.lines.iter().zip(&other.lines).all(same)
    }
}

/// Returns the lines of all clusters that match a query, in its order, and the state of the list as a whole.
pub fn choose(sources: &[Source], query: &Query) -> ListResult {
    let cluster = |source: &Source| ClusterState { has_deployments: !source.list.is_empty(), ..source.state.clone() };
    let mut overall = Overall {
        clusters: sources.iter().map(cluster).collect(),
        all: sources.iter().map(|source| source.list.len() as u32).sum(),
        ..Overall::default()
    };
    let query = &match check_length(query) {
        Ok(()) => query.clone(),
        Err(why) => {
            overall.trouble = why.to_owned();
            Query { text: String::new(), labels: String::new(), ..query.clone() }
        }
    };
    let labels = query.labels.parse::<Labels>().unwrap_or_else(|error| {
        overall.is_selector_invalid = true;
        overall.trouble = format!("{}.", ParseSelectorError { part: timeline::words::safe(&error.part) });
        Labels::default()
    });
    if let Some(name) = &query.cluster
        && !sources.iter().any(|source| source.state.name == *name)
    {
        overall.trouble = format!("{} {}", timeline::words::not_watched(name), overall.trouble).trim_end().to_owned();
    }
    let wanted = query.text.to_lowercase();
    let words: Vec<&str> = wanted.split_whitespace().collect();
    let mut found = Vec::new();
    for (cluster, source) in (0_u16..).zip(sources) {
        if query.cluster.as_ref().is_some_and(|only| *only != source.state.name) {
            continue;
        }
        let name = source.state.name.to_lowercase();
        for listed in source.list.iter() {
            let is_place = query.namespace.as_ref().is_none_or(|only| *only == listed.summary.namespace);
            let is_found = || words.iter().all(|word| name.contains(word) || listed.text.contains(word));
            if !is_place || !is_found() || !labels.matches(&listed.labels) {
                continue;
            }
            let group = listed.group(source.state.now_millis);
            if let Some(count) = overall.counts.get_mut(group as usize) {
                *count += 1;
            }
            if query.group.is_none_or(|only| only == group) {
                found.push((group, cluster, listed));
            }
        }
    }
    let now_millis = |cluster: u16| sources.get(usize::from(cluster)).map_or(0, |source| source.state.now_millis);
    let age = |(_, cluster, listed): &Match| now_millis(*cluster) - listed.summary.since_millis;
    // The lines are sorted by place already; a stable sort keeps that order for equal lines.
    found.sort_by(|a, b| in_order(query, a, b, age));
    overall.heads = headings(query, &found);
    let lines = found.into_iter().map(|(_, cluster, listed)| (cluster, listed.clone())).collect();
    ListResult { is_wrong: !overall.trouble.is_empty(), overall, lines }
}

/// Returns the headings of lines that are in order, each with the number of its lines.
fn headings(query: &Query, found: &[Match<'_>]) -> Vec<Head> {
    let mut heads: Vec<Head> = Vec::new();
    for (group, cluster, listed) in found {
        let is_same = |of: &Common| match of {
            Common::Group(last) => last == group,
            Common::Place(last, namespace) => last == cluster && *namespace == listed.summary.namespace,
            Common::Sorted(_) => true,
        };
        match heads.last_mut().filter(|head| is_same(&head.of)) {
            Some(head) => head.lines += 1,
            None => {
                let of = match (query.by, query.sort.column) {
                    (By::Verdict, Column::Status) => Common::Group(*group),
                    (By::Verdict, column) => Common::Sorted(column),
                    (By::Place, _) => Common::Place(*cluster, listed.summary.namespace.clone()),
                };
                heads.push(Head { of, lines: 1 });
            }
        }
    }
    heads
}

/// Refuses a search that would take too long.
pub(super) fn check_length(query: &Query) -> Result<(), &'static str> {
    if query.text.len() > MOST_TEXT || query.text.split_whitespace().count() > MOST_WORDS {
        return Err("A search may have at most 12 words and 400 bytes. This one was ignored.");
    }
    if query.labels.len() > MOST_LABELS || query.labels.split(',').count() > MOST_TERMS {
        return Err("A label selector may have at most 16 terms and 2,000 bytes. This one was ignored.");
    }
    Ok(())
}

/// A matching Deployment: its group, the number of its cluster, and its line.
type Match<'l> = (Group, u16, &'l Arc<ListedDeployment>);

/// Compares two Deployments by their place, where they are grouped by it, and within their group. `age` returns the time since the last
/// change.
fn in_order(query: &Query, a: &Match, b: &Match, age: impl Fn(&Match) -> Millis) -> Ordering {
    let by_place = match query.by {
        By::Verdict => Ordering::Equal,
        By::Place => (a.1, &a.2.summary.namespace).cmp(&(b.1, &b.2.summary.namespace)),
    };
    let available = |(_, _, listed): &Match| (listed.summary.new_available(), listed.summary.desired);
    let by_column = match query.sort.column {
        Column::Status => a.0.cmp(&b.0),
        Column::Name => a.2.summary.name.cmp(&b.2.summary.name),
        Column::Available => available(a).cmp(&available(b)),
        Column::Since => age(a).cmp(&age(b)),
    };
    let by_column = if query.sort.is_descending { by_column.reverse() } else { by_column };
    let is_by_verdict = query.sort.column == Column::Status && query.by == By::Verdict;
    // The latest change comes first. Stable Deployments keep their place.
    let rank = |(group, _, listed): &Match| {
        Reverse(if is_by_verdict && *group != Group::Stable { listed.since_millis } else { 0 })
    };
    by_place.then(by_column).then_with(|| rank(a).cmp(&rank(b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use timeline::Uid;
    use timeline::list::Sort;
    use timeline::verdict::KubectlVerdict;
    use timeline::view::{Tone, Verdict};
    use timeline::wire::Connection;

    const NOW: Millis = 10_000_000;

    fn listed(name: &str, namespace: &str, tone: Tone, finished_ago: Millis) -> Arc<ListedDeployment> {
        let summary = Summary {
            uid: Uid::from_bits(name.bytes().map(u128::from).sum()),
            namespace: namespace.into(),
            name: name.into(),
            revision: Some(7),
            images: "Web:v2".into(),
            verdict: Verdict { tone, kubectl: KubectlVerdict::Complete, ..Verdict::default() },
            since_millis: NOW - finished_ago,
            finished_millis: Some(NOW - finished_ago),
            ..Summary::default()
        };
        Arc::new(ListedDeployment::new(summary, std::iter::once(("app".to_owned(), name.to_owned())).collect()))
    }

    fn source(name: &str, list: Vec<Arc<ListedDeployment>>) -> Source {
        let state = ClusterState {
            name: name.into(),
            accent: 0,
            connection: Connection::default(),
            now_millis: NOW,
            has_deployments: false,
        };
        Source { state, list: Arc::new(list) }
    }

    fn names(query: &Query) -> (Vec<String>, Vec<u32>) {
        let sources = [
            source(
                "a",
                vec![
                    listed("calm-z", "shop", Tone::Ok, 9_000_000),
                    listed("done", "shop", Tone::Ok, 60_000),
                    listed("zero", "shop", Tone::Quiet, 10),
                ],
            ),
            source(
                "b",
                vec![
                    listed("busy-old", "edge", Tone::Busy, 50_000),
                    listed("busy-new", "shop", Tone::Busy, 5_000),
                    listed("calm-a", "shop", Tone::Ok, 4_000_000),
                    listed("stuck", "shop", Tone::Bad, 1_000),
                ],
            ),
        ];
        let chosen = choose(&sources, query);
        let names = chosen.lines.iter().map(|(_, listed)| listed.summary.name.clone()).collect();
        (names, chosen.overall.heads.iter().map(|head| head.lines).collect())
    }

    #[test]
    fn what_needs_a_look_comes_first_then_what_happened_last_then_places() {
        let (all, heads) = names(&Query::default());
        assert_eq!(all, ["stuck", "busy-new", "busy-old", "done", "calm-z", "zero", "calm-a"]);
        assert_eq!(heads, [1, 2, 1, 3]);
    }

    #[test]
    fn by_place_the_same_order_holds_within_each() {
        let (all, heads) = names(&Query { by: By::Place, ..Query::default() });
        assert_eq!(all, ["done", "calm-z", "zero", "busy-old", "stuck", "busy-new", "calm-a"]);
        assert_eq!(heads, [3, 1, 3]);
    }

    #[test]
    fn a_column_orders_the_whole_list_and_what_it_does_not_tell_apart_keeps_its_place() {
        let pods = |name: &str, available: u32, desired: u32, ago: Millis| {
            let listed = listed(name, "shop", Tone::Ok, ago);
            let summary = Summary { pods: [available, 0, 0, 7, 0], desired, ..listed.summary.clone() };
            Arc::new(ListedDeployment::new(summary, Default::default()))
        };
        let sources = [
            source("a", vec![pods("api", 3, 3, 50), pods("web", 1, 4, 10), pods("zoo", 3, 3, 20)]),
            source("b", vec![pods("api", 3, 3, 10), pods("db", 1, 2, 9_000_000)]),
        ];
        let of = |column, is_descending, by| {
            let chosen = choose(&sources, &Query { by, sort: Sort { column, is_descending }, ..Query::default() });
            let name = |(cluster, listed): &ListedRow| format!("{}{cluster}", listed.summary.name);
            (chosen.lines.iter().map(name).collect::<Vec<_>>(), chosen.overall.heads)
        };
        let (names, heads) = of(Column::Name, false, By::Verdict);
        assert_eq!(names, ["api0", "api1", "db1", "web0", "zoo0"], "the first cluster first where names are the same");
        assert_eq!(heads, [Head { of: Common::Sorted(Column::Name), lines: 5 }]);
        assert_eq!(
            of(Column::Name, true, By::Verdict).0,
            ["zoo0", "web0", "db1", "api0", "api1"],
            "the same turned round"
        );
        let (names, _) = of(Column::Available, false, By::Verdict);
        assert_eq!(names, ["db1", "web0", "api0", "zoo0", "api1"], "those that fail are not available");
        assert_eq!(of(Column::Available, true, By::Verdict).0, ["api0", "zoo0", "api1", "web0", "db1"]);
        assert_eq!(of(Column::Since, false, By::Verdict).0, ["web0", "api1", "zoo0", "api0", "db1"]);
        assert_eq!(of(Column::Since, true, By::Verdict).0, ["db1", "api0", "zoo0", "web0", "api1"]);
        let (names, heads) = of(Column::Name, true, By::Place);
        assert_eq!(names, ["zoo0", "web0", "api0", "db1", "api1"], "within each namespace");
        assert_eq!(heads.iter().map(|head| head.lines).collect::<Vec<_>>(), [3, 2]);
        let (_, heads) = of(Column::Status, true, By::Verdict);
        let groups = [Group::Stable, Group::Finished].map(Common::Group);
        assert_eq!(heads.into_iter().map(|head| head.of).collect::<Vec<_>>(), groups);
    }

    #[test]
    fn a_list_differs_from_another_in_lines_their_order_and_what_is_told_of_all() {
        let [web, api] = ["web", "api"].map(|name| listed(name, "shop", Tone::Ok, 0));
        let of = |lines: &[ListedRow], all| ListResult {
            overall: Overall { all, ..Overall::default() },
            lines: lines.to_vec(),
            ..ListResult::default()
        };
        let rows = [(0, web.clone()), (0, api.clone())];
        let known = of(&rows, 2);
        assert!(known.is_like(&of(&rows, 2)));
        assert!(!known.is_like(&of(&rows, 3)));
        let changed = (0, listed("web", "shop", Tone::Bad, 0));
        for lines in [vec![], vec![(0, api.clone()), (0, web)], vec![changed, (0, api)]] {
            assert!(!known.is_like(&of(&lines, 2)) && !of(&lines, 2).is_like(&known));
        }
        let other_cluster = rows.map(|(_, listed)| (1, listed));
        assert!(!known.is_like(&of(&other_cluster, 2)));
    }

    #[test]
    fn a_cluster_that_is_not_watched_is_told_as_such() {
        let sources = [source("a", Vec::new())];
        let of = |cluster: &str| choose(&sources, &Query { cluster: Some(cluster.into()), ..Query::default() });
        assert_eq!(of("a").overall.trouble, "");
        assert_eq!(of("renamed").overall.trouble, "This server does not watch a cluster named renamed.");
        assert_eq!(["a", "renamed"].map(|cluster| of(cluster).is_wrong), [false, true]);
    }

    #[test]
    fn a_selector_is_invalid_for_its_own_fault_alone() {
        let invalid = |cluster: &str, labels: &str| {
            let query = Query { cluster: Some(cluster.into()), labels: labels.into(), ..Query::default() };
            choose(&[source("a", Vec::new())], &query).overall.is_selector_invalid
        };
        assert_eq!([invalid("a", "app=web"), invalid("renamed", "app=web")], [false, false]);
        assert_eq!([invalid("a", "app=web="), invalid("renamed", "app=web=")], [true, true]);
    }

    #[test]
    fn of_each_cluster_it_is_told_whether_deployments_of_it_are_known() {
        let sources = [source("a", vec![listed("web", "shop", Tone::Ok, 0)]), source("b", Vec::new())];
        let chosen = choose(&sources, &Query { text: "other".into(), ..Query::default() });
        let known: Vec<bool> = chosen.overall.clusters.iter().map(|cluster| cluster.has_deployments).collect();
        assert_eq!(known, [true, false]);
    }

    #[test]
    fn what_would_take_long_is_left_out_and_said() {
        let sources = [source("a", vec![listed("web", "shop", Tone::Ok, 0), listed("api", "shop", Tone::Ok, 0)])];
        let of = |text: &str, labels: &str| {
            let chosen = choose(&sources, &Query { text: text.into(), labels: labels.into(), ..Query::default() });
            (chosen.lines.len(), chosen.overall.trouble)
        };
        assert_eq!(of(&"ap ".repeat(12), ""), (1, String::new()));
        assert_eq!(of("api", "!z,".repeat(15).trim_end_matches(',')), (1, String::new()));
        for (text, labels) in [
            ("a ".repeat(13), String::new()),
            ("x".repeat(401), String::new()),
            ("web".into(), "!z,".repeat(16)),
            ("web".into(), "x".repeat(2_001)),
        ] {
            let (lines, trouble) = of(&text, &labels);
            assert_eq!(lines, 2, "{text} {labels}");
            assert!(trouble.ends_with("This one was ignored."), "{trouble}");
        }
    }
}
