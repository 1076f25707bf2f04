//! The order of the pod table. Pure.

use std::cmp::Ordering;

use super::scene::{KeyedList, PodHead};

/// Column by which the table of pods is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodColumn {
    /// The name of the pod.
    Name,
    /// The revision of the pod's band.
    Revision,
    /// The state, in the order of a pod's life.
    State,
    /// The time since which the pod has been in that state.
    Since,
}

/// An order of the pod table. Until the viewer chooses one, the table has the order of the picture; with many pods the most
/// urgent ones of each band are first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodOrder {
    /// The column that pods are sorted by.
    pub column: PodColumn,
    /// Whether the order is descending.
    pub is_descending: bool,
}

impl PodOrder {
    /// Returns the order after a click on a column: by this column, or reversed if it is the present one.
    pub fn after_click(before: Option<Self>, column: PodColumn) -> Self {
        let is_descending = before == Some(Self { column, is_descending: false });
        Self { column, is_descending }
    }

    /// Returns the announcement of this order.
    pub fn words(self) -> String {
        let (by, [first, turned]) = match self.column {
            PodColumn::Name => ("name", ["A to Z", "Z to A"]),
            PodColumn::Revision => ("revision", ["lowest first", "highest first"]),
            PodColumn::State => ("state", ["in the order of a pod's life", "against the order of a pod's life"]),
            PodColumn::Since => ("time in the state", ["longest first", "shortest first"]),
        };
        format!("Sorted by {by}, {}", if self.is_descending { turned } else { first })
    }

    /// Sorts rows by this order. Rows with equal values are sorted by name.
    pub fn sort(self, rows: &mut KeyedList<PodHead>) {
        // Insertion one by one: the standard library's sort would add code to the program for every type.
        let mut sorted = Vec::with_capacity(rows.len());
        for row in rows.drain(..) {
            let at = sorted.partition_point(|known| self.compare(known, &row) == Ordering::Less);
            sorted.insert(at, row);
        }
        *rows = sorted;
    }

    fn compare(self, (a_key, a): &(u128, PodHead), (b_key, b): &(u128, PodHead)) -> Ordering {
        // Numbers first, then words.
        let revision = |head: &PodHead| (head.is_out(), head.revision.is_none(), head.revision);
        let by_column = match self.column {
            PodColumn::Name => Ordering::Equal,
            PodColumn::Revision => revision(a).cmp(&revision(b)),
            PodColumn::State => a.state.cmp(&b.state),
            PodColumn::Since => a.since_millis.cmp(&b.since_millis),
        };
        let order = by_column.then_with(|| a.name.cmp(&b.name)).then(a_key.cmp(b_key));
        if self.is_descending { order.reverse() } else { order }
    }
}

#[cfg(test)]
mod tests {
    use timeline::Uid;
    use timeline::model::PodState;

    use super::*;

    fn rows() -> KeyedList<PodHead> {
        let row = |(key, name, revision, state, since_millis): (u128, &str, Option<u64>, PodState, i64)| {
            let head = PodHead {
                uid: Uid::from_bits(key),
                name: name.to_owned(),
                state,
                since_millis,
                reason: String::new(),
                replica_set: revision.map(|_| Uid::from_bits(9)),
                revision,
                is_newborn: false,
                is_elsewhere: false,
                is_shared: false,
            };
            (key, head)
        };
        [
            (1, "web-b", Some(10), PodState::Available, 30),
            (2, "web-d", Some(9), PodState::Starting, 10),
            (3, "web-a", None, PodState::Available, 20),
            (4, "web-c", Some(10), PodState::Terminating, 40),
        ]
        .map(row)
        .into()
    }

    #[test]
    fn rows_are_in_the_order_that_was_chosen_and_the_other_way_round_when_it_is_chosen_again() {
        let sorted = |order: PodOrder| {
            let mut rows = rows();
            order.sort(&mut rows);
            rows.into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        for (column, expected) in [
            (PodColumn::Name, [3, 1, 4, 2]),
            (PodColumn::Revision, [2, 1, 4, 3]),
            (PodColumn::State, [2, 3, 1, 4]),
            (PodColumn::Since, [2, 3, 1, 4]),
        ] {
            let first = PodOrder::after_click(None, column);
            assert_eq!(sorted(first), expected, "{column:?}");
            let turned = PodOrder::after_click(Some(first), column);
            assert_eq!(sorted(turned), expected.into_iter().rev().collect::<Vec<_>>(), "{column:?}, turned");
            assert_ne!(first.words(), turned.words());
            assert_eq!(PodOrder::after_click(Some(turned), column), first);
        }
    }

    #[test]
    fn another_column_begins_the_right_way_round() {
        let turned = PodOrder { column: PodColumn::Name, is_descending: true };
        assert_eq!(
            PodOrder::after_click(Some(turned), PodColumn::Since).words(),
            "Sorted by time in the state, longest first"
        );
    }
}
