//! The browser's copy of a list: its rows, and the clocks of its clusters, advanced by the browser's clock, for "18 s ago". Pure: the
//! browser's time is an argument.

use timeline::Millis;
use timeline::list::{ClusterState, ListCopy, ListDelta, Overall, Row};
use timeline::wire::{ConnectionState, ServerFrame};
use timeline::words::age;

use crate::live::clock::Clock;

/// The clocks of the clusters by their numbers: until when each cluster is known, and the present. The present advances without data, so
/// that the age "10 s ago" grows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ages(Vec<(Millis, Millis)>);

impl Ages {
    /// Takes the clocks from the facts of a list.
    pub fn from_overall(overall: &Overall) -> Self {
        Self::from_clocks(&clocks(overall, 0.0), 0.0)
    }

    fn from_clocks(clocks: &[Clock], page_millis: f64) -> Self {
        let times = |clock: &Clock| (clock.now_millis(page_millis), clock.running_millis(page_millis));
        Self(clocks.iter().map(times).collect())
    }

    fn of_cluster(&self, row: &Row) -> (Millis, Millis) {
        self.0.get(usize::from(row.cluster)).copied().unwrap_or_default()
    }

    /// Formats the age of a row's last change.
    pub fn age_of(&self, row: &Row) -> String {
        let (_, present_millis) = self.of_cluster(row);
        age(present_millis - row.summary.since_millis)
    }

    /// Returns until when the row is known: the time of its cluster, or of later data from a part of the cluster that responds.
    pub fn known_until(&self, row: &Row) -> Millis {
        let (known_millis, _) = self.of_cluster(row);
        let lately = &row.summary.lately;
        let changed_millis = lately.steps.last().map(|(after, _)| lately.from_millis + Millis::from(*after));
        changed_millis.map_or(known_millis, |changed| known_millis.max(changed))
    }
}

#[derive(Debug, Clone, Default)]
pub struct LiveList {
    /// The copy of the list.
    pub copy: ListCopy,
    clocks: Vec<Clock>,
}

impl LiveList {
    /// Creates a live list from the copy that the server rendered.
    pub fn from_copy(copy: ListCopy, page_millis: f64) -> Self {
        Self { clocks: clocks(&copy.overall, page_millis), copy }
    }

    /// Applies frames of the followed list; returns whether anything changed. Ignores frames of the previous list that were still in
    /// transit: the first delta of the new list has `is_anew`.
    pub fn apply_frames(&mut self, frames: Vec<ServerFrame>, is_begun: &mut bool, page_millis: f64) -> bool {
        let mut is_news = false;
        for frame in frames {
            let ServerFrame::List(delta) = frame else { continue };
            *is_begun |= delta.is_anew;
            if *is_begun {
                self.take_delta(*delta, page_millis);
                is_news = true;
            }
        }
        is_news
    }

    fn take_delta(&mut self, delta: ListDelta, page_millis: f64) {
        let is_anew = delta.is_anew;
        self.copy.take(delta);
        if is_anew || self.clocks.len() != self.copy.overall.clusters.len() {
            self.clocks = clocks(&self.copy.overall, page_millis);
        }
        for (clock, cluster) in self.clocks.iter_mut().zip(&self.copy.overall.clusters) {
            clock.synchronize(cluster.now_millis, page_millis);
            set_pace(clock, cluster, true, page_millis);
        }
    }

    /// Sets whether the server is connected. Without a connection the data is known until the last frame, as for a cluster that does not
    /// respond.
    pub fn link(&mut self, is_linked: bool, page_millis: f64) {
        for (clock, cluster) in self.clocks.iter_mut().zip(&self.copy.overall.clusters) {
            set_pace(clock, cluster, is_linked, page_millis);
        }
    }

    /// Returns the present of the only visible cluster: a playground's may be ahead of the browser's clock. `None` for several clusters,
    /// and for a recording, whose time is past.
    pub fn cluster_millis(&self, page_millis: f64) -> Option<Millis> {
        let ([cluster], [clock]) = (self.copy.overall.clusters.as_slice(), self.clocks.as_slice()) else { return None };
        let is_recorded = matches!(cluster.connection.state, ConnectionState::Replay { .. });
        (!is_recorded).then(|| clock.running_millis(page_millis))
    }

    /// Returns the clocks of the clusters now.
    pub fn ages(&self, page_millis: f64) -> Ages {
        Ages::from_clocks(&self.clocks, page_millis)
    }
}

fn clocks(overall: &Overall, page_millis: f64) -> Vec<Clock> {
    let clock = |cluster: &ClusterState| {
        let mut clock = Clock::new(cluster.now_millis, page_millis);
        set_pace(&mut clock, cluster, true, page_millis);
        clock
    };
    overall.clusters.iter().map(clock).collect()
}

fn set_pace(clock: &mut Clock, cluster: &ClusterState, is_linked: bool, page_millis: f64) {
    clock.set_pace(&cluster.connection, is_linked, page_millis);
    // A cluster that does not respond is known until its last response.
    if let ConnectionState::Stale { since_millis, .. } = cluster.connection.state {
        clock.stand_at(since_millis);
    }
}

#[cfg(test)]
mod tests {
    use timeline::view::{Lately, Tone};

    use super::*;
    use crate::list::test_data::{cluster, copy, summary};

    #[test]
    fn nothing_is_known_after_the_last_response_of_a_cluster() {
        let state = ConnectionState::Stale { since_millis: 40_000, retry_at_millis: None, why: String::new() };
        let clusters = vec![ClusterState { now_millis: 60_000, ..cluster("a", state) }];
        let overall = Overall { clusters, ..Overall::default() };
        let mut row = Row { cluster: 0, summary: summary(Tone::Ok) };
        let told = |ages: &Ages, row: &Row| (ages.known_until(row), ages.age_of(row));
        assert_eq!(told(&Ages::from_overall(&overall), &row), (40_000, "1 min".to_owned()), "as the server renders it");
        let mut list = LiveList::from_copy(copy(overall, &[]), 0.0);
        assert_eq!(told(&list.ages(60_000.0), &row), (40_000, "2 min".to_owned()));
        list.link(false, 60_000.0);
        list.link(true, 70_000.0);
        assert_eq!(told(&list.ages(120_000.0), &row), (40_000, "3 min".to_owned()));
        row.summary.lately = Lately { from_millis: 0, steps: vec![(50_000, [1, 0, 0, 0, 0])] };
        assert_eq!(list.ages(120_000.0).known_until(&row), 50_000, "another namespace is heard");
    }

    #[test]
    fn one_cluster_tells_the_time() {
        let told = |states: Vec<ConnectionState>| {
            let clusters = states.into_iter().map(|state| {
                let mut cluster = ClusterState { now_millis: 60_000, ..cluster("a", state) };
                cluster.connection.speed_percent = 1_000;
                cluster
            });
            let overall = Overall { clusters: clusters.collect(), ..Overall::default() };
            LiveList::from_copy(copy(overall, &[]), 0.0).cluster_millis(2_000.0)
        };
        assert_eq!(told(vec![ConnectionState::Live]), Some(80_000), "it is ten times as fast");
        assert_eq!(told(vec![ConnectionState::Live, ConnectionState::Live]), None);
        assert_eq!(told(vec![ConnectionState::Replay { name: "r".into() }]), None);
    }

    #[test]
    fn time_stands_still_while_the_server_is_not_heard() {
        let overall = Overall { clusters: vec![cluster("a", ConnectionState::Live)], ..Overall::default() };
        let mut list = LiveList::from_copy(copy(overall, &[]), 0.0);
        let row = Row { cluster: 0, summary: summary(Tone::Ok) };
        let told = |list: &LiveList, page_millis| {
            let ages = list.ages(page_millis);
            (ages.known_until(&row), ages.age_of(&row))
        };
        assert_eq!(told(&list, 5_000.0), (5_000, "5 s".to_owned()));
        list.link(false, 9_000.0);
        assert_eq!(told(&list, 60_000.0), (9_000, "1 min".to_owned()), "nobody saw the last minute, which passed");
        list.link(true, 70_000.0);
        assert_eq!(told(&list, 70_000.0), (70_000, "1 min".to_owned()));
    }
}
