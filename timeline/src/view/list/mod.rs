//! The list of Deployments as viewers follow it: they ask for some rows of some Deployments, and hear what of that changed.
//! Both sides of it are here: what was [`sent_rows`] to a viewer, and the viewer's [`copy`].
//!
//! ```text
//!   Query + Window ──► server: all that match, in order ──► SentRows::delta: only what this viewer does not know
//!                                                              │ ListDelta
//!   rows on the page ◄── ListCopy ◄─────────────────────────────────┘
//! ```

pub mod copy;
pub mod sent_rows;

use serde::{Deserialize, Serialize};

use crate::model::names::names;
use crate::view::connection::Connection;
use crate::view::{LAYERS, Lately, Summary, Tone, Verdict};
use crate::{Millis, Uid};

pub use copy::ListCopy;
pub use sent_rows::SentRows;

/// Most rows that one viewer may follow at once.
pub const MOST_ROWS: u32 = 200;
/// A rollout counts as just finished for this long.
pub const FINISHED_MILLIS: Millis = 3_600_000;

/// Which Deployments, and in which order.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Query {
    /// Words that must all appear in cluster, namespace, name, images, verdict or "revision 7".
    pub text: String,
    /// A label selector as kubectl takes it; empty for all.
    pub labels: String,
    /// Only this group.
    pub group: Option<Group>,
    /// Only this cluster.
    pub cluster: Option<String>,
    /// Only this namespace.
    pub namespace: Option<String>,
    /// The grouping of rows.
    pub by: By,
    /// In which order they are, within what is put together.
    pub sort: Sort,
}

/// The grouping of the rows of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum By {
    /// By [`Group`]: what needs a look comes first.
    #[default]
    Verdict,
    /// By cluster and namespace.
    Place,
}

names! {
    /// Its name in addresses.
    By {
        Verdict => "verdict",
        Place => "namespace",
    }
}

/// In which order the rows of a list are. Rows that a column does not tell apart are in the order of their places.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Sort {
    /// The column whose values decide.
    pub column: Column,
    /// The largest value comes first.
    pub is_descending: bool,
}

impl Sort {
    /// Returns the order after a choice of a column; choosing the same column again reverses it.
    #[must_use]
    pub fn chosen(self, column: Column) -> Self {
        Self { column, is_descending: self.column == column && !self.is_descending }
    }

    /// Describes the order, to be read aloud.
    pub const fn words(self) -> &'static str {
        match (self.column, self.is_descending) {
            (Column::Status, false) => "Sorted by status, trouble first",
            (Column::Status, true) => "Sorted by status, stable first",
            (Column::Name, false) => "Sorted by name, A to Z",
            (Column::Name, true) => "Sorted by name, Z to A",
            (Column::Available, false) => "Sorted by available pods, fewest first",
            (Column::Available, true) => "Sorted by available pods, most first",
            (Column::Since, false) => "Sorted by last change, latest first",
            (Column::Since, true) => "Sorted by last change, oldest first",
        }
    }
}

/// A column by which a list can be sorted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Column {
    /// Trouble first: by [`Group`], and within a group the latest change first.
    #[default]
    Status,
    /// The name of the Deployment.
    Name,
    /// Number of available pods; of as many, number of desired ones.
    Available,
    /// Time of the last change: the latest comes first.
    Since,
}

names! {
    /// Its name in addresses.
    Column {
        Status => "status",
        Name => "name",
        Available => "available",
        Since => "since",
    }
}

impl Column {
    /// Describes the order of a list in a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Name => "name",
            Self::Available => "available pods",
            Self::Since => "last change",
        }
    }
}

/// The group of a Deployment in a list. In the order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Group {
    /// Somebody should look.
    InTrouble,
    /// Something goes on.
    InProgress,
    /// Its last rollout was completed less than an hour ago.
    Finished,
    /// Nothing goes on.
    Stable,
}

names! {
    /// Its name in addresses.
    Group {
        InTrouble => "trouble",
        InProgress => "moving",
        Finished => "finished",
        Stable => "stable",
    }
}

impl Group {
    /// Returns the group of a Deployment at a time of its cluster.
    pub fn of(summary: &Summary, now_millis: Millis) -> Self {
        match (summary.verdict.tone, summary.finished_millis) {
            (Tone::Bad, _) => Self::InTrouble,
            (Tone::Busy, _) => Self::InProgress,
            (Tone::Ok, Some(at)) if now_millis - at < FINISHED_MILLIS => Self::Finished,
            (Tone::Ok | Tone::Quiet, _) => Self::Stable,
        }
    }

    /// Returns the heading of the group.
    pub const fn words(self) -> &'static str {
        match self {
            Self::InTrouble => "In trouble",
            Self::InProgress => "In progress",
            Self::Finished => "Finished in the last hour",
            Self::Stable => "Stable",
        }
    }
}

/// Rows by number, the first one being 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Window {
    /// The first one.
    pub from: u32,
    /// The one after the last one.
    pub to: u32,
}

impl Window {
    /// Returns the window with no more rows than a viewer may follow.
    #[must_use]
    pub fn limited(self) -> Self {
        Self { from: self.from, to: self.to.clamp(self.from, self.from.saturating_add(MOST_ROWS)) }
    }

    /// Returns the part of `all` that is in the window.
    pub fn of<T>(self, all: &[T]) -> &[T] {
        let end = all.len().min(self.to as usize);
        all.get((self.from as usize).min(end)..end).unwrap_or_default()
    }
}

/// A cluster, as a list tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterState {
    /// Its name in addresses.
    pub name: String,
    /// Which accent it has; 0 for none.
    pub accent: u8,
    /// State of the server's connection to it.
    pub connection: Connection,
    /// Its clock when this was sent: a replay has its own.
    pub now_millis: Millis,
    /// Deployments of it are known: they are shown while it does not respond.
    pub has_deployments: bool,
}

/// A heading and how many rows follow it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Their common value.
    pub of: Common,
    /// Number of rows below it.
    pub lines: u32,
}

/// The common value of the rows below a heading.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Common {
    /// Their group.
    Group(Group),
    /// Number of the cluster, and the namespace.
    Place(u16, String),
    /// Nothing: the whole list is in the order of that column.
    Sorted(Column),
}

/// The state of a whole list, whichever rows of it are in view.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overall {
    /// The clusters that are watched.
    pub clusters: Vec<ClusterState>,
    /// Deployments per group, of those that the rest of the query names.
    pub counts: [u32; 4],
    /// All Deployments that are watched.
    pub all: u32,
    /// Headings in order.
    pub heads: Vec<Head>,
    /// The fault of the query, and that permissions cannot be checked; empty without both.
    pub trouble: String,
    /// Permissions on a cluster cannot be checked now: it may be hidden.
    pub is_unchecked: bool,
    /// The label selector of the query cannot be parsed: it was ignored.
    pub is_selector_invalid: bool,
}

impl Overall {
    /// Returns the number of rows.
    pub fn rows(&self) -> u32 {
        self.heads.iter().map(|head| head.lines).sum()
    }

    /// Compares all but the clocks.
    pub fn is_like(&self, other: &Self) -> bool {
        let same = |(a, b): (&ClusterState, &ClusterState)| {
            (&a.name, a.accent, &a.connection, a.has_deployments)
                == (&b.name, b.accent, &b.connection, b.has_deployments)
        };
        self.clusters.len() == other.clusters.len()
            && self.clusters.iter().zip(&other.clusters).all(same)
            && (self.counts, self.all, &self.heads) == (other.counts, other.all, &other.heads)
            && (&self.trouble, self.is_unchecked, self.is_selector_invalid)
                == (&other.trouble, other.is_unchecked, other.is_selector_invalid)
    }
}

/// A row of the list: a Deployment of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Number of the cluster.
    pub cluster: u16,
    /// The Deployment.
    pub summary: Summary,
}

impl Row {
    /// Tells it from all others.
    pub const fn key(&self) -> (u16, Uid) {
        (self.cluster, self.summary.uid)
    }
}

/// The change of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowDelta {
    /// All of it, or it is new.
    Whole(Box<Row>),
    /// Words and counts that changed.
    Part {
        /// The new verdict, where that changed.
        verdict: Option<Verdict>,
        /// [`Summary::next`], where that changed.
        next: Option<String>,
        /// [`Summary::pods`], where they changed.
        pods: Option<[u32; LAYERS]>,
        /// [`Summary::lately`], where that changed.
        lately: Option<Lately>,
        /// [`Summary::since_millis`], where that changed.
        since_millis: Option<Millis>,
    },
}

/// The difference of a list that a viewer receives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListDelta {
    /// Nothing that was told before is of use: another question, or another connection.
    pub is_anew: bool,
    /// The clusters' clocks.
    pub now_millis: Vec<Millis>,
    /// State of the whole list.
    pub overall: Option<Overall>,
    /// Number of the first row in view, and the rows' short numbers: each was told before or is told now.
    pub order: Option<(u32, Vec<u32>)>,
    /// Rows by short number.
    pub lines: Vec<(u32, RowDelta)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_never_more_than_it_may_be() {
        let all: Vec<u32> = (0..10).collect();
        let window = |from, to| Window { from, to }.limited();
        assert_eq!(window(2, 4).of(&all), [2, 3]);
        assert_eq!(window(8, 40).of(&all), [8, 9]);
        assert!(window(40, 90).of(&all).is_empty() && window(5, 1).of(&all).is_empty());
        assert_eq!(window(u32::MAX, u32::MAX).of(&all), [0; 0]);
        assert_eq!(window(0, u32::MAX).to, MOST_ROWS);
    }

    #[test]
    fn groups_have_names_of_their_own() {
        for group in Group::ALL {
            assert_eq!(Group::from_name(group.name()), Some(group));
        }
        assert_eq!(Group::from_name("bad"), None);
        for column in Column::ALL {
            assert_eq!(Column::from_name(column.name()), Some(column));
        }
        assert_eq!(Column::from_name("moon"), None);
    }

    #[test]
    fn a_column_that_is_chosen_again_is_turned_round() {
        let by_name = Sort::default().chosen(Column::Name);
        assert_eq!(by_name, Sort { column: Column::Name, is_descending: false });
        let turned = by_name.chosen(Column::Name);
        assert_eq!(turned, Sort { column: Column::Name, is_descending: true });
        assert_eq!(turned.chosen(Column::Name), by_name);
        assert_eq!(turned.chosen(Column::Status), Sort::default());
    }
}
