//! The clusters' clocks, for "18 s ago".

use timeline::Millis;
use timeline::list::{Overall, Row};
use timeline::words::age;

/// The clusters' clocks, by the clusters' numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ages(pub Vec<Millis>);

impl Ages {
    /// As they were told.
    pub fn from_overall(overall: &Overall) -> Self {
        Self(overall.clusters.iter().map(|cluster| cluster.now_millis).collect())
    }

    /// Formats the age of a row's last change.
    pub fn of(&self, row: &Row) -> String {
        age(self.now(row) - row.summary.since_millis)
    }

    /// The time of a row's cluster.
    pub fn now(&self, row: &Row) -> Millis {
        self.0.get(usize::from(row.cluster)).copied().unwrap_or_default()
    }
}
