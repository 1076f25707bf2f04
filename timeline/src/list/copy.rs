//! A viewer's copy of the lines in view.

use std::collections::BTreeMap;

use super::{Entry, Line, News, Overall};

/// The lines in view as a viewer knows them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copy {
    /// What is true of the whole list.
    pub overall: Overall,
    from: u32,
    order: Vec<u32>,
    entries: BTreeMap<u32, Entry>,
}

impl Copy {
    /// Takes what is new.
    pub fn hear(&mut self, news: News) {
        if news.is_anew {
            *self = Self::default();
        }
        if let Some(overall) = news.overall {
            self.overall = overall;
        }
        for (cluster, now_millis) in self.overall.clusters.iter_mut().zip(news.now_millis) {
            cluster.now_millis = now_millis;
        }
        for (id, line) in news.lines {
            match (line, self.entries.get_mut(&id)) {
                (Line::Whole(entry), _) => {
                    self.entries.insert(id, *entry);
                }
                (Line::Part { verdict, next, pods, lately, since_millis }, Some(Entry { summary, .. })) => {
                    summary.lately = lately.unwrap_or_else(|| std::mem::take(&mut summary.lately));
                    summary.verdict = verdict.unwrap_or_else(|| summary.verdict.clone());
                    summary.next = next.unwrap_or_else(|| std::mem::take(&mut summary.next));
                    summary.pods = pods.unwrap_or(summary.pods);
                    summary.since_millis = since_millis.unwrap_or(summary.since_millis);
                }
                (Line::Part { .. }, None) => {} // a part of nothing
            }
        }
        if let Some((from, order)) = news.order {
            (self.from, self.order) = (from, order);
            let order = &self.order;
            self.entries.retain(|id, _| order.contains(id));
        }
    }

    /// A line by its number in the whole list; `None` where it is not known (yet).
    #[must_use]
    pub fn line(&self, number: u32) -> Option<&Entry> {
        let id = self.order.get(number.checked_sub(self.from)? as usize)?;
        self.entries.get(id)
    }

    /// All lines that are known, in order.
    pub fn lines(&self) -> impl Iterator<Item = &Entry> {
        self.order.iter().filter_map(|id| self.entries.get(id))
    }
}
