//! Caches hubs that stand still, each made for somebody who looks at it. What several clients look at is made once, and there are only so
//! many, in all and of one client.

use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::access::followers::{Follower, Followers};
use crate::history::shelf::{Held, Shelf};
use crate::hub::Handle;

/// A hub that is cached, with what it shows.
pub(crate) trait Entry: Held + Send + Sync + 'static {
    /// What clients may follow only so many different ones of.
    type Key: Clone + Eq + Hash + Send + 'static;

    fn key(&self) -> Self::Key;

    fn hub(&self) -> &Handle;

    /// It is still good for the next client.
    fn is_fresh(&self) -> bool;
}

/// How many hubs there may be at once.
pub(crate) struct Most {
    /// Cached ones, and their size together.
    pub(crate) cached: (usize, usize),
    /// All that exist, cached or in use, and their size together.
    pub(crate) alive: (usize, usize),
    /// Different ones that one client follows, and that all links of one maker follow.
    pub(crate) of_one: usize,
    pub(crate) of_links: usize,
}

/// The cache. A hub that was evicted lives on for as long as somebody uses it, and is handed out meanwhile.
pub(crate) struct HubCache<E: Entry> {
    shelf: Shelf<Arc<E>>,
    /// Every hub that exists, in the order in which they were made.
    alive: Mutex<Vec<Weak<E>>>,
    followed: Mutex<Followers<E::Key>>,
    most_alive: (usize, usize),
}

/// A client follows a hub for as long as this lives.
struct Seat<E: Entry> {
    cache: Arc<HubCache<E>>,
    follower: Follower,
    entry: Arc<E>,
}

impl<E: Entry> HubCache<E> {
    pub(crate) fn new(most: &Most) -> Self {
        let (count, size) = most.cached;
        Self {
            shelf: Shelf::of(count, size),
            alive: Mutex::default(),
            followed: Mutex::new(Followers::at_most(most.of_one, most.of_links)),
            most_alive: most.alive,
        }
    }

    /// Finds the hub that was made last of those that match.
    pub(crate) fn find(&self, is_it: impl Fn(&E) -> bool) -> Option<Handle> {
        self.shelf.things().retain(|entry| entry.is_fresh());
        let found = self.alive().into_iter().rfind(|entry| is_it(entry))?;
        self.shelf.hold(found.clone());
        Some(lease(&found))
    }

    /// Counts the hubs that match, cached or in use.
    pub(crate) fn count(&self, is_it: impl Fn(&E) -> bool) -> usize {
        self.alive().iter().filter(|entry| is_it(entry)).count()
    }

    /// Makes room for one more; `false` where too many are in use.
    pub(crate) fn make_room(&self) -> bool {
        if self.is_full() {
            self.shelf.things().clear(); // nobody uses most of them
        }
        !self.is_full()
    }

    /// Caches a hub, whether there is room or not.
    pub(crate) fn insert(&self, entry: E) -> Handle {
        let entry = Arc::new(entry);
        lock(&self.alive).push(Arc::downgrade(&entry));
        self.shelf.hold(entry.clone());
        lease(&entry)
    }

    /// Counts a client who follows a hub, until the returned way to it is dropped. `None` where the client follows too many; a hub of
    /// another cache is handed back as it is.
    pub(crate) fn seat(self: &Arc<Self>, hub: Handle, follower: &Follower) -> Option<Handle> {
        let Some(Ok(entry)) = hub.lease().map(|lease| lease.clone().downcast::<E>()) else { return Some(hub) };
        if !lock(&self.followed).enter(follower, &entry.key()) {
            return None;
        }
        Some(hub.leased(Arc::new(Seat { cache: self.clone(), follower: follower.clone(), entry })))
    }

    fn is_full(&self) -> bool {
        let (alive, (count, size)) = (self.alive(), self.most_alive);
        alive.len() >= count || alive.iter().map(Held::size).sum::<usize>() >= size
    }

    fn alive(&self) -> Vec<Arc<E>> {
        let mut alive = lock(&self.alive);
        alive.retain(|entry| entry.strong_count() > 0);
        alive.iter().filter_map(Weak::upgrade).collect()
    }
}

impl<E: Entry> Drop for Seat<E> {
    fn drop(&mut self) {
        lock(&self.cache.followed).leave(&self.follower, &self.entry.key());
    }
}

/// The way to a hub, which exists for as long as somebody has it.
fn lease<E: Entry>(entry: &Arc<E>) -> Handle {
    entry.hub().clone().leased(entry.clone())
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
