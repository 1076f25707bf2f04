//! Signals that outlive their readers, and lists that outlive their rows.

use std::hash::Hash;
use std::sync::Arc;

use leptos::prelude::*;
use leptos::reactive::graph::{Observer, Source, ToAnySource};
use leptos::tachys::reactive_graph::OwnedView;
use leptos::tachys::view::keyed::{SerializableKey, keyed};

use crate::rows::set_if_new;

/// A signal of a page or a picture whose readers (rows, pods, ticks) come and go. Copies are handles of the same signal.
///
/// The reactive graph removes an effect's subscriptions when that effect runs again, not when it is disposed: a plain signal would keep a
/// subscriber for everything that ever read it, and visit all of them on each change, on a wall for weeks. Here the subscription is removed
/// with its reader.
#[derive(Debug)]
pub struct ScopedSignal<T: 'static>(RwSignal<T>);

impl<T> Clone for ScopedSignal<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ScopedSignal<T> {}

impl<T: Default + Send + Sync + 'static> Default for ScopedSignal<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: Send + Sync + 'static> ScopedSignal<T> {
    /// Creates a signal that is disposed with the component that makes it.
    pub fn new(value: T) -> Self {
        Self(RwSignal::new(value))
    }

    /// Reads the value with `read`; the reader is notified of changes while it exists.
    pub fn with<R>(self, read: impl FnOnce(&T) -> R) -> R {
        if let Some(reader) = Observer::get() {
            let source = self.0.to_any_source();
            on_cleanup(move || source.remove_subscriber(&reader));
        }
        self.0.with(read)
    }

    /// Reads the value without a subscription.
    pub fn with_untracked<R>(self, read: impl FnOnce(&T) -> R) -> R {
        self.0.with_untracked(read)
    }

    /// Sets the value, and notifies its readers if it differs.
    pub fn set(self, value: T)
    where
        T: PartialEq,
    {
        set_if_new(&self.0, value);
    }
}

impl<T: Copy + Send + Sync + 'static> ScopedSignal<T> {
    /// Returns the value; the reader is notified of changes while it exists.
    pub fn get(self) -> T {
        self.with(|value| *value)
    }
}

/// `<For>` for lists of a page that stays open for weeks while rows come and go. Each item is its own key.
///
/// An owner of the reactive graph keeps an entry for each child owner, also after that one is disposed. The rows of `<For>` are all
/// children of the component with the list; here they are children of [`RowOwners`].
#[component]
pub fn ScopedFor<IF, I, K, EF, N>(
    /// The items.
    each: IF,
    /// Renders the view of an item, once for each.
    children: EF,
) -> impl IntoView
where
    IF: Fn() -> I + Send + 'static,
    I: IntoIterator<Item = K>,
    K: Clone + Eq + Hash + SerializableKey + Send + 'static,
    EF: Fn(K) -> N + Send + Sync + 'static,
    N: IntoView + 'static,
{
    let each = move || each().into_iter().collect::<Vec<_>>();
    keyed_rows(Box::new(each), Arc::new(move |item| children(item).into_any()))
}

/// Renders the rows of all lists with such items: one copy of this code in the page's program.
fn keyed_rows<K>(
    each: Box<dyn Fn() -> Vec<K> + Send>,
    children: Arc<dyn Fn(K) -> AnyView + Send + Sync>,
) -> impl IntoView
where
    K: Clone + Eq + Hash + SerializableKey + Send + 'static,
{
    let owners = RowOwners::new();
    let row = move |_, item: K| {
        let owner = owners.row();
        let view = owner.with(|| children(item));
        (drop, OwnedView::new_with_owner(view, owner))
    };
    move || keyed(each(), K::clone, row.clone())
}

/// Owners for rows, in batches below one parent each. A parent is disposed with the last row of its batch, together with its entries for
/// them: one entry remains for each batch. Clones are handles of the same owners.
#[derive(Clone)]
struct RowOwners {
    component: Owner,
    /// The parent of new rows, and the number of rows that it has.
    parent: ArcStoredValue<Option<(Owner, usize)>>,
}

impl RowOwners {
    /// Number of rows in a batch.
    const SIZE: usize = 256;

    /// Creates it below the component that is being rendered.
    fn new() -> Self {
        Self { component: Owner::current().unwrap_or_default(), parent: ArcStoredValue::new(None) }
    }

    /// Returns the owner of a new row.
    fn row(&self) -> Owner {
        let (parent, rows) = match self.parent.get_value() {
            Some((parent, rows)) if rows < Self::SIZE => (parent, rows),
            _ => (self.component.child(), 0),
        };
        self.parent.set_value(Some((parent.clone(), rows + 1)));
        let row = parent.child();
        row.with(|| on_cleanup(move || drop(parent)));
        row
    }
}

/// A subscriber, for tests.
#[cfg(test)]
pub(crate) mod reader {
    use std::sync::{Arc, RwLock, Weak};

    use leptos::prelude::Owner;
    use leptos::reactive::graph::{AnySource, AnySubscriber, ReactiveNode, Subscriber, WithObserver};

    /// A subscriber that counts its notifications.
    #[derive(Default)]
    pub struct Reader(pub RwLock<usize>);

    impl Reader {
        /// Returns its handle in the reactive graph.
        pub fn subscriber(self: &Arc<Self>) -> AnySubscriber {
            let weak: Weak<dyn Subscriber + Send + Sync> = Arc::<Self>::downgrade(self);
            AnySubscriber(Arc::as_ptr(self) as usize, weak)
        }
    }

    /// Returns whether nothing is kept of a reader that did this and is disposed.
    pub fn is_forgotten(read: impl FnOnce()) -> bool {
        let (reader, row) = (Arc::new(Reader::default()), Owner::new());
        row.with(|| reader.subscriber().with_observer(read));
        drop(row);
        Arc::weak_count(&reader) == 0
    }

    impl ReactiveNode for Reader {
        fn mark_dirty(&self) {
            *self.0.write().unwrap() += 1;
        }

        fn mark_check(&self) {}

        fn mark_subscribers_check(&self) {}

        fn update_if_necessary(&self) -> bool {
            false
        }
    }

    impl Subscriber for Reader {
        fn add_source(&self, _: AnySource) {}

        fn clear_sources(&self, _: &AnySubscriber) {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, RwLock};

    use leptos::reactive::graph::WithObserver;

    use super::reader::Reader;
    use super::*;

    #[test]
    fn a_parent_of_rows_is_there_until_its_last_row_is_gone() {
        let page = Owner::new();
        page.with(|| {
            let owners = RowOwners::new();
            provide_context("of the page");
            let mut rows: Vec<Owner> = (0..=RowOwners::SIZE).map(|_| owners.row()).collect();
            let next = rows.pop().unwrap();
            let parent = rows[0].parent().unwrap().downgrade();
            assert!(rows.iter().all(|row| row.parent() == rows[0].parent()), "one litter");
            assert!(next.parent() != rows[0].parent(), "the next one");
            assert_eq!([&rows[0], &next].map(|row| row.with(use_context::<&str>)), [Some("of the page"); 2]);
            rows.truncate(1);
            assert!(parent.upgrade().is_some());
            drop(rows);
            assert!(parent.upgrade().is_none(), "its places are free");
            assert!(next.parent().is_some());
        });
    }

    #[test]
    fn rows_end_with_the_component() {
        let page = Owner::new();
        let ended = Arc::new(RwLock::new(false));
        let seen = ended.clone();
        let row = page.with(|| RowOwners::new().row());
        row.with(|| on_cleanup(move || *seen.write().unwrap() = true));
        page.cleanup();
        assert!(*ended.read().unwrap());
    }

    #[test]
    fn nothing_is_kept_of_who_read_it_and_is_gone() {
        let page = Owner::new();
        page.with(|| {
            let signal = ScopedSignal::new(1);
            let reader = Arc::new(Reader::default());
            let subscriber = reader.subscriber();
            let row = Owner::new();
            row.with(|| subscriber.with_observer(|| assert_eq!(signal.get(), 1)));
            signal.set(2);
            signal.set(2);
            assert_eq!(*reader.0.read().unwrap(), 1, "told of the change, once");
            drop(row);
            drop(subscriber);
            assert_eq!(Arc::weak_count(&reader), 0, "the signal knows it no more");
            signal.set(3);
            assert_eq!((*reader.0.read().unwrap(), signal.get()), (1, 3));
        });
    }
}
