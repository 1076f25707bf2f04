//! A viewer's copy of the rows in view.

use std::collections::BTreeMap;

use super::{ListDelta, Overall, Row, RowDelta};

/// The rows in view as a viewer knows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListCopy {
    /// State of the whole list.
    pub overall: Overall,
    from: u32,
    order: Vec<u32>,
    rows: BTreeMap<u32, Row>,
}

impl ListCopy {
    /// Takes what is new.
    pub fn take(&mut self, delta: ListDelta) {
        if delta.is_anew {
            *self = Self::default();
        }
        if let Some(overall) = delta.overall {
            self.overall = overall;
        }
        for (cluster, now_millis) in self.overall.clusters.iter_mut().zip(delta.now_millis) {
            cluster.now_millis = now_millis;
        }
        for (id, row) in delta.lines {
            match (row, self.rows.get_mut(&id)) {
                (RowDelta::Whole(row), _) => {
                    self.rows.insert(id, *row);
                }
                (RowDelta::Part { verdict, next, pods, lately, since_millis }, Some(Row { summary, .. })) => {
                    summary.lately = lately.unwrap_or_else(|| std::mem::take(&mut summary.lately));
                    summary.verdict = verdict.unwrap_or_else(|| summary.verdict.clone());
                    summary.next = next.unwrap_or_else(|| std::mem::take(&mut summary.next));
                    summary.pods = pods.unwrap_or(summary.pods);
                    summary.since_millis = since_millis.unwrap_or(summary.since_millis);
                }
                (RowDelta::Part { .. }, None) => {} // a part of nothing
            }
        }
        if let Some((from, order)) = delta.order {
            (self.from, self.order) = (from, order);
            let order = &self.order;
            self.rows.retain(|id, _| order.contains(id));
        }
    }

    /// Returns a row by its number in the whole list; `None` if it is not known (yet).
    pub fn row(&self, number: u32) -> Option<&Row> {
        let id = self.order.get(number.checked_sub(self.from)? as usize)?;
        self.rows.get(id)
    }

    /// Iterates over all known rows, in order.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.order.iter().filter_map(|id| self.rows.get(id))
    }
}
