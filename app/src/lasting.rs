//! Signals that live longer than who reads them.

use leptos::prelude::*;
use leptos::reactive::graph::{Observer, Source, ToAnySource};

use crate::rows::set_if_new;

/// A signal of a page or a picture that rows, pods and ticks read, which come and go. Copies are handles of the same one.
///
/// The reactive graph takes back what an effect subscribed to when that effect runs again, not when it ends: a plain signal
/// would keep a place for everything that ever read it, and go through all of it at each change, on a wall for weeks. Here
/// the subscription ends with who reads.
#[derive(Debug)]
pub struct Lasting<T: 'static>(RwSignal<T>);

impl<T> Clone for Lasting<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Lasting<T> {}

impl<T: Send + Sync + 'static> Lasting<T> {
    /// A signal with that value, which ends with the component that makes it.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self(RwSignal::new(value))
    }

    /// What `read` makes of the value; whoever asks is told of changes for as long as it is there.
    pub fn with<R>(self, read: impl FnOnce(&T) -> R) -> R {
        if let Some(reader) = Observer::get() {
            let source = self.0.to_any_source();
            on_cleanup(move || source.remove_subscriber(&reader));
        }
        self.0.with(read)
    }

    /// The same without being told of changes.
    pub fn with_untracked<R>(self, read: impl FnOnce(&T) -> R) -> R {
        self.0.with_untracked(read)
    }

    /// Sets the value, and tells who reads it where it is another one.
    pub fn set(self, value: T)
    where
        T: PartialEq,
    {
        set_if_new(&self.0, value);
    }
}

impl<T: Copy + Send + Sync + 'static> Lasting<T> {
    /// The value; whoever asks is told of changes for as long as it is there.
    #[must_use]
    pub fn get(self) -> T {
        self.with(|value| *value)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, RwLock, Weak};

    use leptos::reactive::graph::{AnySource, AnySubscriber, ReactiveNode, Subscriber, WithObserver};

    use super::*;

    /// Somebody who reads, and how often they were told of a change.
    #[derive(Default)]
    struct Reader(RwLock<usize>);

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

    #[test]
    fn nothing_is_kept_of_who_read_it_and_is_gone() {
        let page = Owner::new();
        page.with(|| {
            let signal = Lasting::new(1);
            let reader = Arc::new(Reader::default());
            let weak: Weak<dyn Subscriber + Send + Sync> = Arc::<Reader>::downgrade(&reader);
            let subscriber = AnySubscriber(Arc::as_ptr(&reader) as usize, weak);
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
