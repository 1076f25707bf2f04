//! Texts about a list as a whole. Pure: the caller formats times of day.

use timeline::Millis;
use timeline::list::{ClusterState, Group, Overall, Query};
use timeline::wire::ConnectionState;
use timeline::words::{NO_CLUSTER, grouped, grouped_count, list, moment, safe};

use crate::connection::{self, cluster_unreachable, forbidden, listing, next_try_at, unread_deployments, unwritten};
use crate::zone::Zone;

/// Returns "1,284 Deployments · 2 in trouble · 3 in progress", or "12 of 1,284 Deployments shown · …" if the list is filtered.
pub fn summary(overall: &Overall) -> String {
    let found: u32 = overall.counts.iter().sum();
    let all = grouped_count(overall.all, "Deployment");
    let all = if found == overall.all { all } else { format!("{} of {all} shown", grouped(found.into())) };
    [vec![all], unsettled_counts(overall)].concat().join(" · ")
}

/// Returns "2 in trouble" and "3 in progress", each if there are any.
fn unsettled_counts(overall: &Overall) -> Vec<String> {
    let [trouble, moving, ..] = overall.counts;
    let counts = [(trouble, "in trouble"), (moving, "in progress")].into_iter().filter(|(number, _)| *number > 0);
    counts.map(|(number, what)| format!("{} {what}", grouped(number.into()))).collect()
}

/// Returns the title of the page, with Deployments in trouble first. Titles are not escaped, so they contain no markup.
pub fn title(overall: &Overall, query: &Query) -> String {
    let words = unsettled_counts(overall).join(", ");
    // The number is unknown for clusters that cannot be read, and for Deployments outside of a search.
    let is_seen = is_live(overall, query);
    let is_search = !query.text.is_empty() || !query.labels.is_empty();
    let nothing = if overall.all > 0 && is_seen && !is_search { "Nothing in progress" } else { "Deployments" };
    format!("{}{} — Rollcast", if words.is_empty() { nothing } else { &words }, place(query)).replace('<', "‹")
}

/// Like [`title`], in the browser, where it may be all that is visible of the page: marks data that may be outdated.
pub fn tab_title(overall: &Overall, query: &Query, is_linked: bool) -> String {
    let mut clusters = listed_clusters(overall, query).peekable();
    let is_unseen = clusters.peek().is_some() && clusters.all(|cluster| cluster.connection.state.is_stale());
    connection::title(!is_linked || is_unseen, title(overall, query))
}

/// Returns whether all clusters of a list are live.
pub fn is_live(overall: &Overall, query: &Query) -> bool {
    listed_clusters(overall, query).all(|cluster| cluster.connection.state.is_live())
}

/// Returns the clusters of a list.
pub fn listed_clusters<'o>(overall: &'o Overall, query: &'o Query) -> impl Iterator<Item = &'o ClusterState> {
    overall.clusters.iter().filter(|cluster| query.cluster.as_ref().is_none_or(|name| *name == cluster.name))
}

/// Returns ": prod-eu / shop", or nothing for all.
fn place(query: &Query) -> String {
    match (&query.cluster, &query.namespace) {
        (Some(cluster), Some(namespace)) => format!(": {} / {}", safe(cluster), safe(namespace)),
        (Some(one), None) | (None, Some(one)) => format!(": {}", safe(one)),
        (None, None) => String::new(),
    }
}

pub fn heading(query: &Query) -> String {
    match place(query).strip_prefix(": ") {
        Some(place) => format!("Deployments of {place}"),
        None => "Deployments".to_owned(),
    }
}

/// Says from which days the recordings of a list are, because ages count from their own clocks. Empty without recordings. `day` formats the
/// day of a time.
pub fn recording_days(overall: &Overall, day: impl Fn(Millis) -> String) -> String {
    let is_recording = |cluster: &&ClusterState| matches!(cluster.connection.state, ConnectionState::Replay { .. });
    let times = || overall.clusters.iter().filter(is_recording).map(|cluster| cluster.now_millis);
    let (Some(first), Some(last)) = (times().min(), times().max()) else { return String::new() };
    let (first, last) = (day(first), day(last));
    if first == last { format!("Recorded {first}") } else { format!("Recorded {first} to {last}") }
}

/// Formats the chip of a group.
pub fn chip(group: Group, overall: &Overall) -> String {
    let words = if group == Group::Finished { "Finished" } else { group.words() };
    let count = overall.counts.get(group as usize).copied().unwrap_or_default();
    format!("{words} {}", grouped(count.into()))
}

/// Returns whether a list has all Deployments, in any order.
pub fn is_whole(query: &Query) -> bool {
    *query == Query { by: query.by, sort: query.sort, ..Query::default() }
}

/// Explains a list without rows, and returns whether the list of all Deployments may have some.
pub fn empty_list_words(overall: &Overall, query: &Query) -> (String, bool) {
    let is_whole = is_whole(query);
    let clusters: Vec<&ClusterState> = listed_clusters(overall, query).collect();
    let is_known = clusters.iter().any(|cluster| cluster.connection.state.is_live());
    let connecting = |cluster: &&ClusterState| cluster.connection.state == ConnectionState::Connecting;
    let named = |cluster: &ClusterState| match listing(&cluster.connection) {
        Some(listing) => format!("{} ({listing})", safe(&cluster.name)),
        None => safe(&cluster.name),
    };
    let connecting: Vec<String> = clusters.iter().copied().filter(connecting).map(named).collect();
    let is_unread = |cluster: &&ClusterState| unread_deployments(&cluster.connection).next().is_some();
    let unread: Vec<String> = clusters.iter().copied().filter(is_unread).map(|cluster| safe(&cluster.name)).collect();
    // There is no filter to remove, whatever other clusters have.
    let is_place = query.text.is_empty() && query.labels.is_empty() && query.group.is_none();
    let is_place = is_place && query.cluster.is_some() && !clusters.is_empty();
    // If the named cluster is not watched, the notice says so; it does not count as a cluster that does not respond.
    let is_filtered = !is_place && (overall.all > 0 || clusters.is_empty());
    let words = match (overall.rows(), is_filtered) {
        (1.., _) => return (String::new(), false),
        (0, _) if overall.clusters.is_empty() => NO_CLUSTER.to_owned(),
        (0, true) => "No matches. Remove a filter.".to_owned(),
        (0, false) if !connecting.is_empty() => {
            format!(
                "Connecting to {}. Deployments appear here as soon as they are loaded. If this takes long, run `rollcast check`.",
                list(&connecting)
            )
        }
        (0, false) if !unread.is_empty() => {
            let clusters = if unread.len() == 1 { "cluster" } else { "clusters" };
            format!(
                "No Deployments can be shown: Rollcast has no permission to read Deployments of {clusters} {}. The notice above names the permission.",
                list(&unread)
            )
        }
        (0, false) if is_known && is_whole => {
            "No Deployments here yet. Create one: `kubectl create deployment web --image=nginx`".to_owned()
        }
        (0, false) if is_known => "No Deployments here yet.".to_owned(),
        (0, false) => {
            let (none, one) =
                if is_place { ("This cluster does not respond", "it") } else { ("No cluster responds", "one") };
            format!(
                "{none}. The notice above says why; `rollcast check` says more. Deployments appear here as soon as {one} responds."
            )
        }
    };
    (words, !is_whole && (overall.all > 0 || !is_known))
}

/// Describes the problems of clusters.
pub fn trouble(overall: &Overall, zone: Zone) -> String {
    let mut said = Vec::new();
    for cluster in &overall.clusters {
        let stamp = |at_millis| format!("{} UTC", moment(at_millis, cluster.now_millis));
        if let ConnectionState::Stale { since_millis, .. } = cluster.connection.state
            && let Some(words) =
                cluster_unreachable(&cluster.name, &cluster.connection, cluster.has_deployments, &stamp)
        {
            said.push(zone.replace_times(&words, since_millis));
        }
        let forbidden = forbidden(&cluster.connection);
        if !forbidden.is_empty() {
            said.push(format!("In {}: {forbidden}", safe(&cluster.name)));
        }
    }
    // Once for all clusters, which share one store.
    let unwritten = |cluster: &ClusterState| unwritten(&cluster.connection, &|at| zone.dated(at, cluster.now_millis));
    said.extend(overall.clusters.iter().find_map(unwritten));
    said.join(" ")
}

/// Says when a cluster that does not respond is retried, and which one if there are several. Separate from [`trouble`], because it changes
/// with each retry.
pub fn next_retry(overall: &Overall, zone: Zone) -> String {
    let stale = overall.clusters.iter().filter_map(|cluster| match cluster.connection.state {
        ConnectionState::Stale { retry_at_millis, .. } => Some((retry_at_millis, cluster)),
        _ => None,
    });
    let stale: Vec<(Option<Millis>, &ClusterState)> = stale.collect();
    let next = stale.iter().filter_map(|(at, cluster)| Some(((*at)?, *cluster))).min_by_key(|(at, _)| *at);
    let Some((at, cluster)) = next else { return String::new() };
    let mut stamp = zone.dated(at, cluster.now_millis);
    if stale.len() > 1 {
        stamp.push_str(&format!(" (cluster “{}”)", safe(&cluster.name)));
    }
    next_try_at(&stamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::test_data::{cluster, zone};
    use timeline::list::{Common, Head};
    use timeline::wire::{Forbidden, Listing, Unwritten};

    fn stale(retry_at_millis: Option<Millis>) -> ConnectionState {
        ConnectionState::Stale { since_millis: 0, retry_at_millis, why: "connection refused".into() }
    }

    fn overall(all: u32, clusters: Vec<ClusterState>) -> Overall {
        Overall { all, clusters, ..Overall::default() }
    }

    #[test]
    fn trouble_says_since_when_why_and_what_is_shown() {
        let (_owner, zone) = zone();
        let told = |overall: &Overall| trouble(overall, zone);
        let one = vec![cluster("dead", stale(Some(5_000)))];
        let known = ClusterState { has_deployments: true, ..cluster("known", stale(Some(5_000))) };
        assert_eq!(
            told(&overall(2, vec![cluster("dead", stale(Some(5_000))), known])),
            "Cluster “dead” unreachable since 00:00:00 UTC: connection refused. \
             Cluster “known” unreachable since 00:00:00 UTC: connection refused. Showing last known data."
        );
        let two = [cluster("dead", stale(Some(5_000))), cluster("gone", stale(Some(4_000)))];
        assert_eq!(next_retry(&overall(2, one), zone), "Next try at 00:00:05 UTC.");
        assert_eq!(next_retry(&overall(2, two.into()), zone), "Next try at 00:00:04 UTC (cluster “gone”).");
        assert_eq!(next_retry(&overall(2, vec![cluster("dead", stale(None))]), zone), "", "it goes on");
        assert_eq!(told(&overall(2, vec![cluster("well", ConnectionState::Live)])), "");
        let mut full = cluster("well", ConnectionState::Live);
        full.connection.unwritten = Some(Unwritten { since_millis: 1_000, why: "there is no room left".into() });
        let said = told(&overall(2, vec![full.clone(), full]));
        assert_eq!(said, "History has not been written since 00:00:01 UTC: there is no room left.");
    }

    fn forbidden_kind(resource: &str) -> Forbidden {
        Forbidden { verb: "list".into(), resource: resource.into(), namespace: None }
    }

    #[test]
    fn an_empty_list_says_what_to_do_next() {
        let all = Query::default();
        let said = |overall: &Overall, query: &Query| empty_list_words(overall, query);
        let live = || vec![cluster("a", ConnectionState::Live)];
        assert!(said(&overall(0, live()), &all).0.contains("kubectl create deployment"));
        let connecting = vec![cluster("a", ConnectionState::Connecting), cluster("b", stale(None))];
        assert_eq!(
            said(&overall(0, connecting), &all).0,
            "Connecting to a. Deployments appear here as soon as they are loaded. If this takes long, run `rollcast check`."
        );
        let mut large = cluster("a", ConnectionState::Connecting);
        large.connection.listing = Some(Listing { resource: "pods".into(), objects: 42_000 });
        let words = said(&overall(0, vec![large]), &all).0;
        assert!(words.starts_with("Connecting to a (listing pods: 42,000 so far). Deployments appear"), "{words}");
        let one_of_two = vec![cluster("a", ConnectionState::Connecting), cluster("b", ConnectionState::Live)];
        assert!(said(&overall(0, one_of_two), &all).0.starts_with("Connecting to a."), "there may be some in it");
        assert!(said(&overall(0, vec![cluster("b", stale(None))]), &all).0.starts_with("No cluster responds."));
        let mut refused = cluster("lab", ConnectionState::Live);
        refused.connection.forbidden = vec![forbidden_kind("deployments.apps")];
        let words = said(&overall(0, vec![refused.clone()]), &all).0;
        assert!(words.starts_with(
            "No Deployments can be shown: Rollcast has no permission to read Deployments of cluster lab."
        ));
        refused.connection.forbidden = vec![forbidden_kind("pods")];
        assert!(said(&overall(0, vec![refused]), &all).0.contains("kubectl create deployment"), "there are none");
        let trouble = Query { group: Some(Group::InTrouble), ..Query::default() };
        assert_eq!(
            said(&overall(0, live()), &trouble),
            ("No Deployments here yet.".to_owned(), false),
            "nor elsewhere"
        );
        // A list that is limited only by cluster or namespace has no filter to remove.
        let two = || overall(3, vec![cluster("a", ConnectionState::Live), cluster("b", stale(None))]);
        let of = |name: &str| Query { cluster: Some(name.to_owned()), ..Query::default() };
        assert_eq!(said(&two(), &of("a")), ("No Deployments here yet.".to_owned(), true));
        assert!(said(&two(), &of("b")).0.starts_with("This cluster does not respond."));
        assert!(said(&two(), &Query { text: "x".into(), ..of("a") }).0.starts_with("No matches."));
        // A cluster that is not watched, or that the viewer may not see, is not reported as not responding.
        assert_eq!(said(&overall(0, live()), &of("gone")), ("No matches. Remove a filter.".to_owned(), true));
        for query in [Query::default(), of("gone")] {
            assert_eq!(said(&overall(0, Vec::new()), &query).0, "No cluster can be shown to you.");
        }
        let other = Query { text: "x".into(), ..Query::default() };
        let (words, is_part) = said(&overall(3, live()), &other);
        assert!(words.starts_with("No matches.") && is_part);
        let head = Head { of: Common::Group(Group::Stable), lines: 1 };
        assert_eq!(said(&Overall { heads: vec![head], all: 1, ..Overall::default() }, &other), (String::new(), false));
    }

    #[test]
    fn recordings_have_their_days() {
        let recording = |now_millis| {
            let state = ConnectionState::Replay { name: "r".into() };
            ClusterState { now_millis, ..cluster("r", state) }
        };
        let told = |clusters: Vec<ClusterState>| recording_days(&overall(1, clusters), |at| format!("day-{at}"));
        assert_eq!(told(vec![cluster("a", ConnectionState::Live)]), "");
        assert_eq!(told(vec![cluster("a", ConnectionState::Live), recording(7)]), "Recorded day-7");
        assert_eq!(told(vec![recording(7), recording(7)]), "Recorded day-7");
        assert_eq!(told(vec![recording(7), recording(2), recording(5)]), "Recorded day-2 to day-7");
    }

    #[test]
    fn a_tab_says_where_all_that_it_tells_may_be_old() {
        let told = |states: Vec<ConnectionState>, is_linked| {
            let clusters = states.into_iter().map(|state| cluster("a", state)).collect();
            let overall = Overall { counts: [1, 2, 0, 0], ..overall(3, clusters) };
            tab_title(&overall, &Query::default(), is_linked)
        };
        let (live, words) = (|| ConnectionState::Live, "1 in trouble, 2 in progress — Rollcast");
        assert_eq!(told(vec![live(), stale(None)], true), words);
        assert_eq!(told(vec![stale(None), stale(None)], true), format!("Stale: {words}"));
        assert_eq!(told(vec![live(), live()], false), format!("Stale: {words}"));
        assert_eq!(tab_title(&overall(0, Vec::new()), &Query::default(), true), "Deployments — Rollcast");
    }

    #[test]
    fn a_title_is_no_markup() {
        let query = Query { namespace: Some("</title><script>".into()), ..Query::default() };
        assert!(!title(&Overall::default(), &query).contains('<'));
        let busy = Overall { counts: [1, 2, 0, 0], all: 3, ..Overall::default() };
        assert_eq!(title(&busy, &Query::default()), "1 in trouble, 2 in progress — Rollcast");
        assert_eq!(
            summary(&Overall { all: 23, ..busy.clone() }),
            "3 of 23 Deployments shown · 1 in trouble · 2 in progress"
        );
        assert_eq!(summary(&busy), "3 Deployments · 1 in trouble · 2 in progress");
        let many = Overall { counts: [1_284, 0, 7, 0], all: 1_291, ..busy };
        assert_eq!(title(&many, &Query::default()), "1,284 in trouble — Rollcast");
        let at_rest = |state| title(&overall(1, vec![cluster("a", state)]), &Query::default());
        assert_eq!(at_rest(ConnectionState::Live), "Nothing in progress — Rollcast");
        assert_eq!(at_rest(stale(None)), "Deployments — Rollcast", "nobody knows");
        let live = overall(1, vec![cluster("a", ConnectionState::Live)]);
        let text = Query { text: "x".into(), ..Query::default() };
        let labels = Query { labels: "x=y".into(), ..Query::default() };
        let told = [text, labels].map(|query| title(&live, &query));
        assert_eq!(told, ["Deployments — Rollcast"; 2], "others may be in progress");
        let chips = [Group::InTrouble, Group::Finished].map(|group| chip(group, &many));
        assert_eq!(chips, ["In trouble 1,284", "Finished 7"]);
    }
}
