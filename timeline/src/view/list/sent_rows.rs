//! The rows that one viewer of a list has, to send only the difference. As much is kept as the viewer has in view.

use std::collections::{BTreeMap, BTreeSet};

use super::{ListDelta, Overall, Row, RowDelta, Window};
use crate::Uid;
use crate::view::Summary;

/// The rows that a viewer has. Rows are cloned: shared ones, such as those in an `Arc`, cost a pointer for each viewer.
#[derive(Debug, Clone)]
pub struct SentRows<L> {
    overall: Option<Overall>,
    order: Option<(u32, Vec<u32>)>,
    ids: BTreeMap<(u16, Uid), u32>,
    known: BTreeMap<u32, L>,
    next: u32,
}

impl<L> Default for SentRows<L> {
    fn default() -> Self {
        Self { overall: None, order: None, ids: BTreeMap::new(), known: BTreeMap::new(), next: 0 }
    }
}

impl<L: Clone> SentRows<L> {
    /// Computes the difference to these rows, `all` of them in order; `None` when the viewer has them.
    pub fn delta(
        &mut self,
        overall: &Overall,
        all: &[L],
        window: Window,
        line: impl Fn(&L) -> (u16, &Summary),
    ) -> Option<ListDelta> {
        let in_view = window.of(all);
        let mut delta = ListDelta { is_anew: self.overall.is_none(), ..ListDelta::default() };
        if !self.overall.as_ref().is_some_and(|known| known.is_like(overall)) {
            delta.overall = Some(overall.clone());
            self.overall = Some(overall.clone());
        }
        let mut order = Vec::with_capacity(in_view.len());
        for shown in in_view {
            let (cluster, summary) = line(shown);
            let next = &mut self.next;
            let id = *self.ids.entry((cluster, summary.uid)).or_insert_with(|| {
                *next = next.wrapping_add(1);
                *next
            });
            order.push(id);
            let known = self.known.get(&id).map(|known| line(known).1);
            // Most rows are shared with the last list, and need no comparison.
            if known.is_some_and(|known| std::ptr::eq(known, summary)) {
                continue;
            }
            if known != Some(summary) {
                let part = known.and_then(|known| part(known, summary));
                let whole = || RowDelta::Whole(Box::new(Row { cluster, summary: summary.clone() }));
                delta.lines.push((id, part.unwrap_or_else(whole)));
            }
            self.known.insert(id, shown.clone());
        }
        let order = (window.from, order);
        if self.order.as_ref() != Some(&order) {
            let kept: BTreeSet<u32> = order.1.iter().copied().collect();
            self.known.retain(|id, _| kept.contains(id));
            self.ids.retain(|_, id| kept.contains(id));
            self.order = Some(order.clone());
            delta.order = Some(order);
        }
        (delta != ListDelta::default()).then(|| {
            delta.now_millis = overall.clusters.iter().map(|cluster| cluster.now_millis).collect();
            delta
        })
    }
}

/// Compares two versions of a row; `None` when more changed than words and counts: a new revision, another image.
fn part(known: &Summary, now: &Summary) -> Option<RowDelta> {
    let (verdict, pods, since_millis) = (now.verdict.clone(), now.pods, now.since_millis);
    let (lately, next) = (now.lately.clone(), now.next.clone());
    let is_part = Summary { verdict, next, pods, lately, since_millis, ..known.clone() } == *now;
    is_part.then(|| RowDelta::Part {
        verdict: (known.verdict != now.verdict).then(|| now.verdict.clone()),
        next: (known.next != now.next).then(|| now.next.clone()),
        pods: (known.pods != now.pods).then_some(pods),
        lately: (known.lately != now.lately).then(|| now.lately.clone()),
        since_millis: (known.since_millis != now.since_millis).then_some(since_millis),
    })
}
