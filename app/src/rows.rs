//! Lists of objects as signals: the order in one signal, each object in its own. A change of one object runs only the effects of that
//! object; the list is traversed only when an object is added, removed or moved.

use std::collections::HashMap;

use leptos::prelude::*;

/// An ordered list of objects with keys. Copies are handles of the same list, which is disposed with the component that made it.
pub struct Rows<T: 'static> {
    order: RwSignal<Vec<u128>>,
    rows: StoredValue<HashMap<u128, ArcRwSignal<T>>>,
}

impl<T: 'static> Clone for Rows<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: 'static> Copy for Rows<T> {}

/// Creates an empty list.
impl<T: Send + Sync + 'static> Default for Rows<T> {
    fn default() -> Self {
        Self { order: RwSignal::default(), rows: StoredValue::default() }
    }
}

impl<T: PartialEq + Send + Sync + 'static> Rows<T> {
    /// Sets the objects and their order. Only objects that differ notify, and the order only if it differs.
    pub fn set(&self, objects: Vec<(u128, T)>) {
        let order: Vec<u128> = objects.iter().map(|(key, _)| *key).collect();
        let changed = self.rows.try_update_value(|rows| {
            let mut changed = Vec::new();
            for (key, object) in objects {
                match rows.get(&key) {
                    Some(row) if row.with_untracked(|known| *known == object) => {}
                    Some(row) => changed.push((row.clone(), object)),
                    None => {
                        rows.insert(key, ArcRwSignal::new(object));
                    }
                }
            }
            if rows.len() > order.len() {
                let kept: std::collections::HashSet<u128> = order.iter().copied().collect();
                rows.retain(|key, _| kept.contains(key));
            }
            changed
        });
        for (row, object) in changed.into_iter().flatten() {
            row.set(object);
        }
        set_if_new(&self.order, order);
    }

    /// Returns the keys in order; follows the order.
    pub fn order(&self) -> Vec<u128> {
        self.order.get()
    }

    /// Returns the keys in order, without following it.
    pub fn order_untracked(&self) -> Vec<u128> {
        self.order.get_untracked()
    }

    /// Returns the object with that key, while it is in the list.
    pub fn row(&self, key: u128) -> Option<ArcRwSignal<T>> {
        self.rows.try_with_value(|rows| rows.get(&key).cloned()).flatten()
    }

    /// Returns the object with that key for its view: the handle is disposed with the surrounding view.
    pub fn row_signal(&self, key: u128) -> Option<ReadSignal<T>> {
        self.row(key).map(|row| row.read_only().into())
    }
}

/// Derives a signal for a part of an object: a reader runs again only when its part differs.
pub fn parts<T: Send + Sync + 'static>(row: ReadSignal<T>) -> impl Fn(fn(&T) -> String) -> Memo<String> {
    move |read| Memo::new(move |_| row.with(read))
}

/// Sets a signal only if the value differs, to avoid needless effects; true if it did.
pub fn set_if_new<T, S>(signal: &S, value: T) -> bool
where
    T: PartialEq + 'static,
    S: WithUntracked<Value = T> + Set<Value = T>,
{
    let is_new = signal.try_with_untracked(|known| *known != value).unwrap_or(false);
    if is_new {
        signal.set(value);
    }
    is_new
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts the changes of the value that `read` reads.
    fn counted(read: impl Fn() + Send + Sync + 'static) -> (Arc<AtomicUsize>, Memo<usize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let counter = count.clone();
        let memo = Memo::new(move |_| {
            read();
            counter.fetch_add(1, Ordering::Relaxed)
        });
        (count, memo)
    }

    #[test]
    fn only_what_changed_notifies() {
        let owner = Owner::new();
        owner.with(|| {
            let rows = Rows::default();
            rows.set(vec![(1, "a"), (2, "b")]);
            let (one, two) = (rows.row(1).unwrap(), rows.row(2).unwrap());
            let (first, seen_first) = counted(move || one.track());
            let (second, seen_second) = counted(move || two.track());
            let (order, seen_order) = counted(move || rows.order.track());
            let look = || [seen_first.get(), seen_second.get(), seen_order.get()];
            look();
            rows.set(vec![(1, "a"), (2, "c")]);
            look();
            assert_eq!([&first, &second, &order].map(|count| count.load(Ordering::Relaxed)), [1, 2, 1]);
            rows.set(vec![(2, "c"), (3, "d")]);
            look();
            assert_eq!([&first, &second, &order].map(|count| count.load(Ordering::Relaxed)), [1, 2, 2]);
            assert_eq!(rows.order(), [2, 3]);
            assert!(rows.row(1).is_none() && rows.row(3).is_some());
        });
    }
}
