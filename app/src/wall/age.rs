//! Age of the last change of a tile.

use timeline::Millis;
use timeline::list::{ClusterState, Row};
use timeline::wire::ConnectionState;
use timeline::words::age;

use crate::zone::Zone;

/// Age of the last change of a tile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Age {
    /// No Deployment is on the seat.
    #[default]
    Unknown,
    /// Its cluster is connected; the age of its last change: "12 s".
    Changed(String),
    /// Like `Changed`, in a recording, which has its own time of day.
    Recorded {
        /// Age: "12 s".
        ago: String,
        /// The recording's time.
        at_millis: Millis,
    },
    /// It was observed last at that time.
    LastSeen(Millis),
}

impl Age {
    /// Returns the age of a row at a time of its cluster.
    pub fn from_row(row: &Row, cluster: &ClusterState, now_millis: Millis) -> Self {
        let summary = &row.summary;
        let last = match summary.lately.steps.as_slice() {
            // All pods at once after none is the first list: since when they exist is unknown.
            [(_, [0, 0, 0, 0, 0]), _] => None,
            steps => steps.last(),
        };
        let lately = last.map(|(after, _)| summary.lately.from_millis + Millis::from(*after));
        let changed_millis = lately.map_or(summary.since_millis, |lately| lately.max(summary.since_millis));
        let ago = age(now_millis - changed_millis);
        match cluster.connection.state {
            ConnectionState::Stale { since_millis, .. } => Self::LastSeen(since_millis),
            ConnectionState::Replay { .. } => Self::Recorded { ago, at_millis: now_millis },
            _ => Self::Changed(ago),
        }
    }

    /// Formats the age, with times of day in that zone. `stamp` formats the time of the last observation, which may be long ago.
    pub fn words(&self, zone: Zone, stamp: impl FnOnce(Millis) -> String) -> String {
        match self {
            Self::Unknown => String::new(),
            Self::Changed(ago) => format!("last change {ago} ago"),
            Self::Recorded { ago, at_millis } => format!("last change {ago} ago · recorded {}", zone.stamp(*at_millis)),
            Self::LastSeen(at_millis) => format!("last seen {}", stamp(*at_millis)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::test_data;
    use timeline::view::{LAYERS, Lately, Summary, Tone};

    fn told(state: ConnectionState, since_millis: Millis, steps: Vec<(u32, [u32; LAYERS])>) -> String {
        let lately = Lately { from_millis: 40_000, steps };
        let summary = Summary { desired: 3, lately, since_millis, ..test_data::summary(Tone::Busy) };
        let (_owner, zone) = test_data::zone();
        let age = Age::from_row(&Row { cluster: 0, summary }, &test_data::cluster("a", state), 100_000);
        age.words(zone, |at_millis| zone.stamp(at_millis))
    }

    #[test]
    fn a_tile_tells_when_something_changed_and_when_it_was_seen() {
        assert_eq!(told(ConnectionState::Live, 30_000, Vec::new()), "last change 1 min ago");
        assert_eq!(told(ConnectionState::Live, 30_000, vec![(48_000, [1, 0, 0, 0, 0])]), "last change 12 s ago");
        let none = (0, [0; LAYERS]);
        let found = vec![none, (50_000, [3, 0, 0, 0, 0])];
        assert_eq!(told(ConnectionState::Live, 30_000, found), "last change 1 min ago", "they were there before");
        let scaled = vec![none, (48_000, [0, 0, 3, 0, 0]), (50_000, [3, 0, 0, 0, 0])];
        assert_eq!(told(ConnectionState::Live, 30_000, scaled), "last change 10 s ago");
        let replay = ConnectionState::Replay { name: "r".into() };
        assert_eq!(told(replay, 98_000, Vec::new()), "last change 2 s ago · recorded 00:01:40 UTC");
        let stale = ConnectionState::Stale { since_millis: 61_000, retry_at_millis: None, why: String::new() };
        assert_eq!(told(stale, 0, Vec::new()), "last seen 00:01:01 UTC");
    }
}
