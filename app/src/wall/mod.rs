//! The wall: the Deployments on stage ([`stage`]), the texts below and across it (here), the age of its data ([`age`]), and the updates in
//! the browser ([`screen`]). This module, [`stage`] and [`age`] are pure: rows of a list and the page's clock are arguments.

pub mod age;
pub mod board;
pub mod screen;
pub mod settings;
pub mod stage;

use timeline::Millis;
use timeline::list::{ClusterState, Group, ListCopy, Overall, Query, Row};
use timeline::view::Summary;
use timeline::wire::ConnectionState;
use timeline::words::{count, grouped, grouped_count, list, safe};

use crate::connection::{forbidden, listing, server_unreachable, state_words, unreachable_since, unread_deployments};
use crate::images::with_short_images;
use crate::list::Ages;

/// Number of rows of the list that a wall follows: those on stage, those that wait, and the last completed ones.
pub const ROWS: u32 = 40;
/// Number of Deployments that the strip names at once.
pub const AT_ONCE: usize = 2;
/// Maximum number of connected clusters that are named; more are counted.
const MOST_NAMED: usize = 2;

/// State of a seat: it decides the layout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SeatState {
    /// No Deployment is on the seat.
    #[default]
    Free,
    /// In progress, or ended just now.
    OnStage,
    /// Ended, while nothing else is in progress.
    Past,
}

/// Returns the rows of a group, in the order of their numbers.
pub fn of_group(copy: &ListCopy, group: Group) -> impl Iterator<Item = &Row> {
    let number = |wanted: Group| copy.overall.counts.get(wanted as usize).copied().unwrap_or_default();
    let from: u32 = Group::ALL.into_iter().take_while(|known| *known != group).map(number).sum();
    (from..from + number(group)).map_while(|number| copy.row(number))
}

/// Returns whether nothing needs attention, as far as known.
pub fn is_stable(overall: &Overall) -> bool {
    overall.counts.iter().take(2).all(|count| *count == 0)
}

/// Counts the Deployments in trouble that have no seat.
pub fn unseated(copy: &ListCopy, seated: &[stage::Key]) -> u32 {
    let [troubled, ..] = copy.overall.counts;
    let is_seated = |row: &&Row| seated.contains(&row.key());
    troubled.saturating_sub(of_group(copy, Group::InTrouble).filter(is_seated).count() as u32)
}

/// Formats completed and waiting Deployments, a few at a time: "nginx: Revision 3 is complete, 4 min ago".
pub fn strip(copy: &ListCopy, on_stage: &[stage::Key], ages: &Ages, turn: u64) -> Vec<String> {
    let active = [Group::InTrouble, Group::InProgress].into_iter().flat_map(|group| of_group(copy, group));
    let waiting = active.filter(|row| !on_stage.contains(&row.key()));
    let done = of_group(copy, Group::Finished).filter(|row| !on_stage.contains(&row.key()));
    let ago = |row| format!("{} ago", ages.age_of(row)).replace(' ', "\u{a0}"); // no line break within the text
    let done = done.map(|row| format!("{}, {}", row_sentence(copy, row).trim_end_matches('.'), ago(row)));
    let all: Vec<String> = waiting.map(|row| row_sentence(copy, row)).chain(done).collect();
    let first = (turn as usize).wrapping_mul(AT_ONCE) % all.len().max(1);
    all.iter().cycle().skip(first).take(AT_ONCE.min(all.len())).cloned().collect()
}

/// Formats Deployments in trouble or in progress, the worst first, for browsers without scripts: "prod-eu / shop / web: Revision 3 is stuck."
pub fn plain(copy: &ListCopy) -> Vec<String> {
    let active = [Group::InTrouble, Group::InProgress].into_iter().flat_map(|group| of_group(copy, group));
    let line = |row: &Row| {
        let cluster = copy.overall.clusters.get(usize::from(row.cluster)).map_or("", |cluster| cluster.name.as_str());
        let summary = &row.summary;
        let place = safe(&format!("{cluster} / {} / {}", summary.namespace, summary.name));
        format!("{place}: {}", summary.verdict.sentence)
    };
    active.map(line).collect()
}

fn row_sentence(copy: &ListCopy, row: &Row) -> String {
    let Summary { images, verdict, .. } = &row.summary;
    let sentence = with_short_images(&verdict.sentence, &[images]);
    format!("{}: {sentence}", row_name(copy, row))
}

/// Returns the name of a row, with its place if another known Deployment has the same name: "web in prod / shop".
fn row_name(copy: &ListCopy, row: &Row) -> String {
    let Row { cluster, summary } = row;
    let is_same = |other: &Row| other.summary.name == summary.name && other.key() != row.key();
    match copy.overall.clusters.get(usize::from(*cluster)).filter(|_| copy.rows().any(is_same)) {
        Some(cluster) => safe(&format!("{} in {} / {}", summary.name, cluster.name, summary.namespace)),
        None => safe(&summary.name),
    }
}

/// Formats the last completed Deployment: "Last: nginx revision 3, finished 20 s ago."; empty if none completed within the hour.
pub fn last_finished(copy: &ListCopy, ages: &Ages) -> String {
    let last = of_group(copy, Group::Finished).next().map(|row| {
        let revision = row.summary.revision.map(|revision| format!(" revision {revision}")).unwrap_or_default();
        format!("Last: {}{revision}, finished {} ago.", row_name(copy, row), ages.age_of(row))
    });
    last.unwrap_or_default()
}

/// Formats the large line while nothing is in progress: "1,284 Deployments, nothing in progress." It makes no statement about clusters that
/// are not connected; the notice across the top names them.
pub fn stable_line(overall: &Overall, query: &Query, last: &str) -> String {
    let all = overall.counts.iter().sum::<u32>();
    let unseen: Vec<&ClusterState> = unseen_clusters(overall, query).collect();
    let is_unsaid = |state: &ConnectionState| !state.is_stale() && !state.is_live();
    let unsaid: Vec<&ClusterState> =
        unseen.iter().copied().filter(|cluster| is_unsaid(&cluster.connection.state)).collect();
    let is_seen = unseen.len() < overall.clusters.len();
    let said = match (unseen.is_empty(), unsaid.is_empty(), all) {
        (true, _, 0) if !query.text.is_empty() => format!("No Deployments match “{}”.", safe(&query.text)),
        (true, _, 0) if !query.labels.is_empty() => {
            format!("No Deployments match labels “{}”.", safe(&query.labels.to_string()))
        }
        (true, _, 0) => "No Deployments here yet.".to_owned(),
        (true, _, _) => format!("{}, nothing in progress.", grouped_count(all, "Deployment")),
        (false, true, 1..) if is_seen => "Elsewhere nothing in progress.".to_owned(),
        (false, true, 0) => "No Deployments are known.".to_owned(),
        (false, true, _) => format!("{} as last known.", grouped_count(all, "Deployment")),
        (false, false, 1..) if is_seen => format!("{}; elsewhere nothing in progress.", unseen_words(&unsaid)),
        (false, false, _) => format!("{}.", unseen_words(&unsaid)),
    };
    format!("{said} {last}").trim_end().to_owned()
}

/// Returns the clusters whose present state is unknown to a wall of that query. The banner names clusters in which Rollcast may read only
/// some namespaces.
pub fn unseen_clusters<'a>(overall: &'a Overall, query: &Query) -> impl Iterator<Item = &'a ClusterState> {
    let is_unread = move |cluster: &ClusterState| {
        let mut unread = unread_deployments(&cluster.connection);
        unread.any(|missing| {
            missing.namespace.is_none() || missing.namespace == query.namespace || !cluster.has_deployments
        })
    };
    overall.clusters.iter().filter(move |cluster| !cluster.connection.state.is_live() || is_unread(cluster))
}

fn unseen_words(unseen: &[&ClusterState]) -> String {
    let name = |cluster: &ClusterState| format!("“{}”", safe(&cluster.name));
    match unseen {
        [cluster] if cluster.connection.state == ConnectionState::Connecting => {
            let listing = listing(&cluster.connection).map(|words| format!(" ({words})")).unwrap_or_default();
            format!("Connecting to cluster {}{listing}", name(cluster))
        }
        [cluster] => format!("Cluster {} not watched", name(cluster)),
        more => format!("Clusters {} not seen", list(&more.iter().map(|cluster| name(cluster)).collect::<Vec<_>>())),
    }
}

/// Formats "1,279 stable, 2 finished in the last hour", with the groups and figures of the list. While a cluster is not connected, the text
/// says that the figures are the last known ones.
pub fn stable_count(overall: &Overall, query: &Query) -> String {
    let [_, _, finished, stable] = overall.counts;
    let mut words = format!("{} stable", grouped(stable.into()));
    if finished > 0 {
        words.push_str(&format!(", {} finished in the last hour", grouped(finished.into())));
    }
    if unseen_clusters(overall, query).next().is_some() {
        words.push_str(", as last known");
    }
    words
}

/// Formats the connection of each cluster: "prod-eu live · staging stale since 14:01:40 UTC"; stale ones come first. More than two
/// others are counted by state: "23 recordings, held". `stamp` formats times of day.
pub fn connections(overall: &Overall, stamp: impl Fn(Millis) -> String) -> String {
    let state = |cluster: &ClusterState| lowercase_first(&state_words(&cluster.connection, &stamp));
    let named = |cluster: &ClusterState| format!("{} {}", safe(&cluster.name), state(cluster));
    let (stale, well): (Vec<&ClusterState>, Vec<&ClusterState>) =
        overall.clusters.iter().partition(|cluster| cluster.connection.state.is_stale());
    let mut words: Vec<String> = stale.into_iter().map(named).collect();
    if well.len() <= MOST_NAMED {
        words.extend(well.into_iter().map(named));
        return words.join(" · ");
    }
    let mut counted: Vec<(String, usize)> = Vec::new();
    for state in well.into_iter().map(&state) {
        match counted.iter_mut().find(|(known, _)| *known == state) {
            Some((_, clusters)) => *clusters += 1,
            None => counted.push((state, 1)),
        }
    }
    words.extend(counted.into_iter().map(|(state, clusters)| match state.strip_prefix("recording") {
        Some(pace) => format!("{}{pace}", count(clusters as u32, "recording")),
        None => format!("{} {state}", count(clusters as u32, "cluster")),
    }));
    words.join(" · ")
}

fn lowercase_first(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}

/// Formats the notice across the top while the data is stale: the connection to the server is lost since `since_millis`, or
/// clusters are stale, or Rollcast may not read them. `stamp` formats times of day.
pub fn stale_notice(overall: &Overall, since_millis: Option<Millis>, stamp: impl Fn(Millis) -> String) -> String {
    if let Some(since_millis) = since_millis {
        return server_unreachable(Some(&stamp(since_millis)), overall.all > 0);
    }
    let mut words = overall.trouble.clone();
    for cluster in &overall.clusters {
        if let ConnectionState::Stale { since_millis, .. } = cluster.connection.state {
            let since = unreachable_since(&cluster.name, &cluster.connection, &stamp(since_millis));
            words.push_str(&format!(" {since}."));
        }
        let forbidden = forbidden(&cluster.connection);
        if !forbidden.is_empty() {
            words.extend([" In ", &safe(&cluster.name), ": ", &forbidden]);
        }
    }
    words.trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::test_data::{cluster, copy, summary};
    use timeline::Uid;
    use timeline::view::{Tone, Verdict};
    use timeline::wire::Forbidden;
    use timeline::words::clock;

    fn dead() -> ClusterState {
        let since_millis = 50_520_000; // 14:02
        cluster("dead", ConnectionState::Stale { since_millis, retry_at_millis: Some(50_525_000), why: String::new() })
    }

    fn forbidden_kind(resource: &str) -> ClusterState {
        let mut forbidden = cluster("lab", ConnectionState::Live);
        let namespace = None;
        forbidden.connection.forbidden = vec![Forbidden { verb: "list".into(), resource: resource.into(), namespace }];
        forbidden
    }

    /// Returns a cluster with one namespace that may not be read.
    fn forbidden_namespace(has_deployments: bool) -> ClusterState {
        let mut cluster = ClusterState { has_deployments, ..forbidden_kind("deployments.apps") };
        for missing in &mut cluster.connection.forbidden {
            missing.namespace = Some("shop".into());
        }
        cluster
    }

    fn overall(stable: u32, clusters: Vec<ClusterState>) -> Overall {
        Overall { counts: [0, 0, 0, stable], all: stable, clusters, ..Overall::default() }
    }

    #[test]
    fn the_wall_counts_in_the_groups_of_the_list() {
        let all = Query::default();
        let counted = |counts| stable_count(&Overall { counts, ..Overall::default() }, &all);
        assert_eq!(counted([3, 2, 0, 1_279]), "1,279 stable");
        assert_eq!(counted([0, 0, 1, 0]), "0 stable, 1 finished in the last hour");
        assert_eq!(stable_count(&overall(1, vec![dead()]), &all), "1 stable, as last known");
        let unread = overall(1, vec![forbidden_kind("deployments.apps")]);
        assert_eq!(stable_count(&unread, &all), "1 stable, as last known");
        assert_eq!(stable_count(&overall(1, vec![forbidden_kind("events")]), &all), "1 stable");
        assert_eq!(stable_count(&overall(1, vec![forbidden_namespace(true)]), &all), "1 stable");
    }

    #[test]
    fn a_wall_of_a_namespace_that_may_not_be_read_knows_nothing_of_it() {
        let said = |namespace: &str| {
            let query = Query { namespace: Some(namespace.into()), ..Query::default() };
            let overall = overall(0, vec![forbidden_namespace(true)]);
            [stable_line(&overall, &query, ""), stable_count(&overall, &query)]
        };
        assert_eq!(said("shop"), ["No Deployments are known.", "0 stable, as last known"]);
        assert_eq!(said("other"), ["No Deployments here yet.", "0 stable"]);
    }

    #[test]
    fn trouble_without_a_seat_is_counted_beyond_the_known_rows() {
        let row = |uid, tone| Row { cluster: 0, summary: Summary { uid: Uid::from_bits(uid), ..summary(tone) } };
        let mut rows: Vec<Row> = (1..=6).map(|uid| row(uid, Tone::Bad)).collect();
        rows.push(row(7, Tone::Busy));
        let counted = |troubled, seated: &[u128]| {
            let counts = [troubled, 1, 0, 0];
            let seated: Vec<stage::Key> = seated.iter().map(|uid| (0, Uid::from_bits(*uid))).collect();
            unseated(&copy(Overall { counts, ..overall(0, Vec::new()) }, &rows), &seated)
        };
        assert_eq!(counted(6, &[1, 2, 3, 4]), 2);
        assert_eq!(counted(6, &[1, 2, 3, 7]), 3, "one on stage is not in trouble");
        assert_eq!(counted(6, &[]), 6);
        assert_eq!(counted(200, &[1, 2, 3, 4]), 196, "the wall knows the first ones alone");
        assert_eq!(unseated(&ListCopy::default(), &[]), 0);
    }

    #[test]
    fn of_those_with_one_name_each_says_where_it_is() {
        let row = |cluster, uid, name: &str| {
            let uid = Uid::from_bits(uid);
            Row { cluster, summary: Summary { uid, name: name.into(), ..summary(Tone::Busy) } }
        };
        let rows = [row(0, 1, "web"), row(1, 2, "web"), row(1, 3, "api")];
        let clusters = ["eu", "us"].map(|name| cluster(name, ConnectionState::Live));
        let copy = copy(overall(0, clusters.into()), &rows);
        assert_eq!(rows.map(|row| row_name(&copy, &row)), ["web in eu / shop", "web in us / shop", "api"]);
    }

    #[test]
    fn the_strip_has_short_images() {
        let sentence = "Revision 2 cannot start: image registry.local/app:v3 is not found.".to_owned();
        let verdict = Verdict { sentence, ..Verdict::default() };
        let images = "registry.local/app:v3".to_owned();
        let summary = Summary { name: "web".into(), images, verdict, ..summary(Tone::Bad) };
        let row = Row { cluster: 0, summary };
        assert_eq!(
            row_sentence(&ListCopy::default(), &row),
            "web: Revision 2 cannot start: image app:v3 is not found."
        );
    }

    #[test]
    fn the_large_line_says_what_is_known() {
        let live = || cluster("a", ConnectionState::Live);
        let connecting = || cluster("b", ConnectionState::Connecting);
        for (all, clusters, expected) in [
            (1_284, vec![live()], "1,284 Deployments, nothing in progress."),
            (0, vec![live()], "No Deployments here yet."),
            (0, vec![connecting(), live()], "Connecting to cluster “b”."),
            (4, vec![connecting(), live()], "Connecting to cluster “b”; elsewhere nothing in progress."),
            // The banner names clusters that cannot be reached.
            (1, vec![live(), dead()], "Elsewhere nothing in progress."),
            (1, vec![dead()], "1 Deployment as last known."),
            (0, vec![dead()], "No Deployments are known."),
            (4, vec![connecting(), live(), dead()], "Connecting to cluster “b”; elsewhere nothing in progress."),
            // It also names clusters that may not be read.
            (1, vec![live(), forbidden_kind("deployments.apps")], "Elsewhere nothing in progress."),
            (1, vec![forbidden_kind("deployments.apps")], "1 Deployment as last known."),
            (0, vec![forbidden_kind("deployments.apps")], "No Deployments are known."),
            (1, vec![forbidden_kind("events")], "1 Deployment, nothing in progress."),
            (1, vec![forbidden_namespace(true)], "1 Deployment, nothing in progress."),
            (0, vec![forbidden_namespace(false)], "No Deployments are known."),
        ] {
            assert_eq!(stable_line(&overall(all, clusters), &Query::default(), ""), expected);
        }
        let query = Query { text: "nothing-here".into(), ..Query::default() };
        let said = |all, last| stable_line(&overall(all, vec![live()]), &query, last);
        assert_eq!(said(0, ""), "No Deployments match “nothing-here”.");
        assert_eq!(
            said(1, "Last: web, finished 2 s ago."),
            "1 Deployment, nothing in progress. Last: web, finished 2 s ago."
        );
    }

    #[test]
    fn many_clusters_are_counted_by_their_states() {
        let told = |clusters: Vec<ClusterState>| connections(&overall(0, clusters), clock);
        let held = |name: &str| {
            let mut held = cluster(name, ConnectionState::Replay { name: name.into() });
            held.connection.speed_percent = 0;
            held
        };
        let live = |name: &str| cluster(name, ConnectionState::Live);
        assert_eq!(told(vec![held("a"), held("b")]), "a recording (paused) · b recording (paused)");
        assert_eq!(told(vec![held("a"), held("b"), held("c")]), "3 recordings (paused)");
        assert_eq!(told(vec![live("a"), held("b"), live("c"), live("d")]), "3 clusters live · 1 recording (paused)");
    }

    #[test]
    fn what_is_old_says_so_across_the_top() {
        let told = |since_millis| stale_notice(&overall(1, vec![dead()]), since_millis, clock);
        assert_eq!(told(None), "Cluster “dead” unreachable since 14:02:00.");
        assert_eq!(told(Some(60_000)), "Rollcast unreachable since 00:01:00. Showing last known data.");
        assert_eq!(stale_notice(&overall(1, Vec::new()), None, clock), "");
        let unread = stale_notice(&overall(1, vec![dead(), forbidden_kind("deployments.apps")]), None, clock);
        assert_eq!(
            unread,
            "Cluster “dead” unreachable since 14:02:00. In lab: Rollcast has no permission to list deployments.apps in all namespaces. Ask for list and watch on deployments.apps. Or choose namespaces that you may read with --namespace."
        );
    }
}
