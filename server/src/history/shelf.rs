//! What was made lately and is held for whoever wants it again, bounded in number and in size.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Something that is held.
pub(crate) trait Held {
    /// How much it takes, in what its shelf is measured in.
    fn size(&self) -> usize;
    /// It takes the place of that one.
    fn replaces(&self, other: &Self) -> bool;
}

impl<T: Held> Held for Arc<T> {
    fn size(&self) -> usize {
        T::size(self)
    }

    fn replaces(&self, other: &Self) -> bool {
        T::replaces(self, other)
    }
}

/// Things that are held, the one that goes last first.
pub(crate) struct Shelf<T> {
    things: Mutex<VecDeque<T>>,
    most: usize,
    most_size: usize,
}

impl<T: Held> Shelf<T> {
    /// It holds so many things, of so much size together.
    pub(crate) const fn of(most: usize, most_size: usize) -> Self {
        Self { things: Mutex::new(VecDeque::new()), most, most_size }
    }

    /// What is held.
    pub(crate) fn things(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.things.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds one more, whatever its size; the last ones go where that is too much.
    pub(crate) fn hold(&self, thing: T) {
        let mut things = self.things();
        things.retain(|known| !thing.replaces(known));
        things.push_front(thing);
        things.truncate(self.most);
        while things.len() > 1 && things.iter().map(Held::size).sum::<usize>() > self.most_size {
            things.pop_back();
        }
    }
}
