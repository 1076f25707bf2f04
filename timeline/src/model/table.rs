//! Values by UID, in the order of UIDs, and links between UIDs. Everything here uses one type of ordered map, because the code of a map is
//! compiled for each type into the page's program.

use std::collections::BTreeMap;
use std::fmt;

use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Uid;

pub(super) type Index = BTreeMap<(Uid, Uid), u32>;

const LEAST: Uid = Uid::from_bits(0);
const GREATEST: Uid = Uid::from_bits(u128::MAX);

/// A value that has the UID by which a [`Table`] stores it.
pub trait Keyed {
    /// Returns the UID of the value.
    fn uid(&self) -> Uid;
}

/// Values by UID. Iterates in the order of UIDs.
#[derive(Clone)]
pub struct Table<V> {
    index: Index,
    rows: Vec<Option<V>>,
    free: Vec<u32>,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self { index: Index::new(), rows: Vec::new(), free: Vec::new() }
    }
}

impl<V> Table<V> {
    /// Counts the rows.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns whether the table holds no object.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Returns the value of that UID.
    pub fn get(&self, uid: &Uid) -> Option<&V> {
        self.rows.get(*self.index.get(&(*uid, LEAST))? as usize)?.as_ref()
    }

    /// Returns the value of that UID, to change.
    pub fn get_mut(&mut self, uid: &Uid) -> Option<&mut V> {
        self.rows.get_mut(*self.index.get(&(*uid, LEAST))? as usize)?.as_mut()
    }

    /// Returns the value of that UID, to change, with its row.
    pub fn row_mut(&mut self, uid: &Uid) -> Option<(u32, &mut V)> {
        let row = *self.index.get(&(*uid, LEAST))?;
        Some((row, self.rows.get_mut(row as usize)?.as_mut()?))
    }

    /// Returns the value in a row. A value stays in its row until it is removed.
    pub fn row(&self, row: u32) -> Option<&V> {
        self.rows.get(row as usize)?.as_ref()
    }

    /// Returns the row of the value of that UID.
    pub fn row_of(&self, uid: &Uid) -> Option<u32> {
        self.index.get(&(*uid, LEAST)).copied()
    }

    /// Returns the linked values by their rows, without a search for each.
    pub(super) fn in_rows(&self, rows: impl Iterator<Item = (Uid, u32)>) -> impl Iterator<Item = &V>
    where
        V: Keyed,
    {
        rows.filter_map(|(owned, row)| self.row(row).filter(|value| value.uid() == owned))
    }

    /// Returns whether there is a value of that UID.
    pub fn contains_key(&self, uid: &Uid) -> bool {
        self.get(uid).is_some()
    }

    /// Inserts or replaces a value.
    pub fn insert(&mut self, uid: Uid, value: V) {
        if let Some(place) = self.get_mut(&uid) {
            *place = value;
            return;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.rows.push(None);
            (self.rows.len() - 1) as u32
        });
        if let Some(row) = self.rows.get_mut(place as usize) {
            *row = Some(value);
            self.index.insert((uid, LEAST), place);
        }
    }

    /// Inserts a copy of an entry, if there is one.
    pub fn extend(&mut self, entry: Option<&V>)
    where
        V: Clone + Keyed,
    {
        if let Some(entry) = entry {
            self.insert(entry.uid(), entry.clone());
        }
    }

    /// Removes the value of that UID and returns it.
    pub fn remove(&mut self, uid: &Uid) -> Option<V> {
        let place = self.index.remove(&(*uid, LEAST))?;
        self.free.push(place);
        self.rows.get_mut(place as usize)?.take()
    }

    /// Iterates over the values, in the order of their UIDs.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.index.values().filter_map(|place| self.rows.get(*place as usize)?.as_ref())
    }

    /// Iterates over the UIDs, in order.
    pub fn keys(&self) -> impl Iterator<Item = &Uid> {
        self.index.keys().map(|(uid, _)| uid)
    }
}

impl<V: Serialize> Serialize for Table<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut values = serializer.serialize_seq(Some(self.len()))?;
        self.values().try_for_each(|value| values.serialize_element(value))?;
        values.end()
    }
}

impl<'de, V: Deserialize<'de> + Keyed> Deserialize<'de> for Table<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = Self::default();
        for value in Vec::<V>::deserialize(deserializer)? {
            table.insert(value.uid(), value);
        }
        Ok(table)
    }
}

impl<V: fmt::Debug> fmt::Debug for Table<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values()).finish()
    }
}

impl<V: PartialEq> PartialEq for Table<V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.values().eq(other.values())
    }
}

/// Which UIDs belong to which owners, in order, with the rows of the owned objects.
#[derive(Debug, Clone, Default)]
pub struct Links(Index);

impl Links {
    /// Records that `owned`, in that row, belongs to `owner`.
    pub fn link(&mut self, owner: Uid, owned: Uid, row: u32) {
        self.0.insert((owner, owned), row);
    }

    /// Removes the link between `owner` and `owned`.
    pub fn unlink(&mut self, owner: Uid, owned: Uid) {
        self.0.remove(&(owner, owned));
    }

    /// Returns the UIDs that belong to `owner`, with their rows.
    pub(super) fn rows_of(&self, owner: Uid) -> impl Iterator<Item = (Uid, u32)> {
        self.0.range((owner, LEAST)..=(owner, GREATEST)).map(|((_, owned), row)| (*owned, *row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_an_ordered_map() {
        let uid = Uid::from_bits;
        let mut table = Table::default();
        assert!(table.is_empty());
        for number in [3u128, 1, 2] {
            table.insert(uid(number), number);
        }
        table.insert(uid(2), 20);
        assert!(!table.is_empty());
        assert_eq!(table.values().copied().collect::<Vec<_>>(), [1, 20, 3]);
        assert_eq!((table.remove(&uid(1)), table.remove(&uid(1)), table.len()), (Some(1), None, 2));
        table.insert(uid(4), 4);
        assert_eq!(table.keys().map(|uid| uid.bits()).collect::<Vec<_>>(), [2, 3, 4]);
        assert!(table.contains_key(&uid(4)) && table.get(&uid(1)).is_none() && table.get(&uid(3)) == Some(&3));
    }

    #[test]
    fn links_are_of_one_owner() {
        let uid = Uid::from_bits;
        let mut links = Links::default();
        for (owner, owned, row) in [(1, 9, 0), (1, u128::MAX, 1), (2, 0, 2), (1, 0, 3), (1, 0, 4)] {
            links.link(uid(owner), uid(owned), row);
        }
        links.unlink(uid(1), uid(9));
        assert_eq!(links.rows_of(uid(1)).collect::<Vec<_>>(), [(uid(0), 4), (uid(u128::MAX), 1)]);
        assert_eq!(links.rows_of(uid(3)).count(), 0);
    }
}
