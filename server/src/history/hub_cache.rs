//! Caches hubs that stand still, each made once for all who look at it at the same time. There are only so many, in all and of one client.
//!
//! ```text
//!   open ──► cached or in use ──► Handle with a lease: the hub lives, and counts, until the last one is dropped
//!      └───► made (so many at once) ──► cached, the one that was used last first
//! ```

use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use moka::future::Cache;
use moka::policy::EvictionPolicy;
use timeline::Millis;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::store::StoreError;
use crate::access::clients::{ClientKey, SubscriptionLimit};
use crate::hub::Handle;

/// So many versions of one rollout are in use at once; whoever comes later gets the newest of them.
const MOST_OF_KEY: usize = 4;
/// So many errors take as much of a cache as one small hub.
const ERRORS_OF_ONE: usize = 16;

/// Why a rollout or a moment cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// It is not kept, or not any more.
    #[error("no such rollout; its history may have expired")]
    Unknown,
    /// What is kept cannot be read.
    #[error("cannot read the history: {0}")]
    Unreadable(#[from] StoreError),
    /// There is no room for one more.
    #[error("too many past rollouts and moments are open")]
    Full,
}

/// A way to a hub, or why there is none.
pub(crate) type Opened = Result<Handle, Arc<Lost>>;

/// A hub that was made, or why not, and for how long that is believed.
pub(crate) type Made = Result<StandingHub, (Arc<Lost>, Duration)>;

/// A turn to make a hub. What cannot be cancelled keeps it.
pub(crate) type Turn = Option<OwnedSemaphorePermit>;

/// How many hubs there may be.
pub(crate) struct Most {
    /// Cached ones, and their size together.
    pub(crate) cached: (usize, usize),
    /// Ones that are in use, and their size together.
    pub(crate) used: (usize, usize),
    /// Ones that are made at once.
    pub(crate) made: usize,
    /// Different ones that one client follows, and that all links of one maker follow.
    pub(crate) of_one: usize,
    pub(crate) of_links: usize,
}

/// A hub that stands still.
pub(crate) struct StandingHub {
    pub(crate) hub: Handle,
    /// How much it takes, in what its cache is measured in.
    pub(crate) size: usize,
    /// Until when it tells, and until when it could be told if somebody asked for that.
    pub(crate) to_millis: Millis,
    pub(crate) most_millis: Millis,
    /// It will not tell more: it is used for as long as somebody has it.
    pub(crate) is_settled: bool,
    /// Who comes after this has it made again.
    pub(crate) fresh_until: Option<Instant>,
}

impl StandingHub {
    /// It tells of a moment as well as one that is made for that would. What is after its last moment is not shown.
    fn reaches(&self, until_millis: Option<Millis>) -> bool {
        until_millis.is_none_or(|until| until <= self.to_millis || until > self.most_millis)
    }

    fn is_fresh(&self) -> bool {
        self.fresh_until.is_none_or(|until| until > Instant::now())
    }
}

type Cached = Result<Arc<StandingHub>, (Arc<Lost>, Instant)>;

/// The cache. A hub that was evicted lives on for as long as somebody uses it, and is handed out meanwhile.
pub(crate) struct HubCache<K> {
    cache: Cache<K, Cached>,
    used: Mutex<Vec<Weak<Lease<K>>>>,
    followed: Mutex<SubscriptionLimit<usize>>,
    turns: Arc<Semaphore>,
    most_used: (usize, usize),
}

/// Somebody uses a hub.
struct Lease<K> {
    key: K,
    standing: Arc<StandingHub>,
}

/// A client follows a hub for as long as this lives.
struct Seat<K> {
    cache: Arc<HubCache<K>>,
    follower: ClientKey,
    lease: Arc<Lease<K>>,
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> HubCache<K> {
    pub(crate) fn new(most: &Most) -> Self {
        let (count, size) = most.cached;
        let one = size / count;
        // The largest one is cached alone: whoever looks at it need not have it made again each time.
        let weigh = move |_: &K, cached: &Cached| {
            let weight = cached.as_ref().map_or(one / ERRORS_OF_ONE, |standing| standing.size.clamp(one, size));
            u32::try_from(weight).unwrap_or(u32::MAX)
        };
        let cache = Cache::builder().max_capacity(size as u64).weigher(weigh).eviction_policy(EvictionPolicy::lru());
        Self {
            cache: cache.build(),
            used: Mutex::default(),
            followed: Mutex::new(SubscriptionLimit::new(most.of_one, most.of_links)),
            turns: Arc::new(Semaphore::new(most.made)),
            most_used: most.used,
        }
    }

    /// Finds what is known of a hub without making it.
    pub(crate) async fn find(&self, key: &K, until_millis: Option<Millis>) -> Option<Opened> {
        let known = match self.in_use(key, until_millis) {
            Some(standing) => Ok(standing),
            None => self.cache.get(key).await.filter(|known| is_good(known, until_millis))?,
        };
        Some(self.lease(key, known))
    }

    /// Opens a hub, which is made where it is not known.
    ///
    /// # Errors
    /// When it cannot be made, or too many are in use.
    pub(crate) async fn open<F: Future<Output = Made>>(
        &self,
        key: &K,
        until_millis: Option<Millis>,
        make: impl Fn(Turn) -> F,
    ) -> Opened {
        if let Some(known) = self.find(key, until_millis).await {
            return known;
        }
        loop {
            let made = async {
                let turn = self.turns.clone().acquire_owned().await.ok();
                if let Some(standing) = self.in_use(key, until_millis) {
                    return Ok(standing);
                }
                let failed = |(lost, lasts)| (lost, Instant::now() + lasts);
                if self.is_full() {
                    return Err(failed((Arc::new(Lost::Full), Duration::ZERO)));
                }
                make(turn).await.map(Arc::new).map_err(failed)
            };
            let is_bad = |known: &Cached| !is_good(known, until_millis);
            let entry = self.cache.entry_by_ref(key).or_insert_with_if(made, is_bad).await;
            self.cache.run_pending_tasks().await; // else there are more of them for a while
            let is_own = entry.is_fresh();
            let known = entry.into_value();
            if known.as_ref().is_err_and(|(_, until)| *until <= Instant::now()) {
                self.cache.invalidate(key).await; // it would take the place of a hub
            }
            // What was made for others meanwhile may tell of another moment.
            if is_own || known.as_ref().is_ok_and(|standing| standing.reaches(until_millis)) || known.is_err() {
                return self.lease(key, known);
            }
        }
    }

    /// Counts a client who follows a hub, until the returned way to it is dropped. `None` where the client follows too many; a hub of
    /// another cache is handed back as it is.
    pub(crate) fn seat(self: &Arc<Self>, hub: Handle, follower: &ClientKey) -> Option<Handle> {
        let Some(Ok(lease)) = hub.lease().map(|lease| lease.clone().downcast::<Lease<K>>()) else { return Some(hub) };
        if !lock(&self.followed).enter(follower, &address(&lease)) {
            return None;
        }
        Some(hub.leased(Arc::new(Seat { cache: self.clone(), follower: follower.clone(), lease })))
    }

    fn leases(&self) -> Vec<Arc<Lease<K>>> {
        let mut used = lock(&self.used);
        used.retain(|lease| lease.strong_count() > 0);
        used.iter().filter_map(Weak::upgrade).collect()
    }

    fn in_use(&self, key: &K, until_millis: Option<Millis>) -> Option<Arc<StandingHub>> {
        let is_it =
            |standing: &StandingHub| standing.reaches(until_millis) && (standing.is_settled || standing.is_fresh());
        let mut leases = self.leases();
        leases.retain(|lease| lease.key == *key && lease.standing.reaches(until_millis));
        let newest = leases.last().filter(|_| leases.len() >= MOST_OF_KEY);
        let lease = leases.iter().rfind(|lease| is_it(&lease.standing)).or(newest)?;
        Some(lease.standing.clone())
    }

    fn is_full(&self) -> bool {
        let (leases, (count, size)) = (self.leases(), self.most_used);
        leases.len() >= count || leases.iter().map(|lease| lease.standing.size).sum::<usize>() >= size
    }

    fn lease(&self, key: &K, known: Cached) -> Opened {
        let standing = known.map_err(|(why, _)| why)?;
        let mut used = lock(&self.used);
        let lease = used.iter().filter_map(Weak::upgrade).find(|lease| Arc::ptr_eq(&lease.standing, &standing));
        let lease = lease.unwrap_or_else(|| {
            let lease = Arc::new(Lease { key: key.clone(), standing: standing.clone() });
            used.push(Arc::downgrade(&lease));
            lease
        });
        Ok(standing.hub.clone().leased(lease))
    }
}

fn is_good(known: &Cached, until_millis: Option<Millis>) -> bool {
    match known {
        Ok(standing) => standing.is_fresh() && standing.reaches(until_millis),
        Err((_, until)) => *until > Instant::now(),
    }
}

/// What tells a hub from others: one rollout may be there several times, told for less long or longer.
fn address<K>(lease: &Lease<K>) -> usize {
    Arc::as_ptr(&lease.standing).addr()
}

impl<K> Drop for Seat<K> {
    fn drop(&mut self) {
        lock(&self.cache.followed).leave(&self.follower, &address(&self.lease));
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;
    use timeline::Retention;
    use tokio::sync::Notify;

    use super::*;
    use crate::access::Subjects;

    const FRESH: Duration = Duration::from_secs(30);
    const MOST: Most = Most { cached: (4, 400), used: (8, 800), made: 2, of_one: 4, of_links: 4 };

    fn standing(size: usize, is_settled: bool) -> StandingHub {
        let hub = Handle::start("prod", Arc::default(), Retention::default()).0;
        let fresh_until = Some(Instant::now() + FRESH);
        StandingHub { hub, size, to_millis: 5, most_millis: 9, is_settled, fresh_until }
    }

    type Hubs = Arc<HubCache<usize>>;

    fn hubs() -> Hubs {
        Arc::new(HubCache::new(&MOST))
    }

    async fn open(hubs: &Hubs, key: usize, size: usize) -> Opened {
        hubs.open(&key, None, async |_| Ok(standing(size, true))).await
    }

    async fn cached(hubs: &Hubs) -> Vec<usize> {
        let mut cached = Vec::new();
        for key in 0..300 {
            if hubs.find(&key, None).await.is_some() {
                cached.push(key);
            }
        }
        cached
    }

    #[tokio::test]
    async fn what_is_cached_is_bounded_in_number_and_in_size() {
        let hubs = hubs();
        for key in 0..20 {
            assert!(open(&hubs, key, 1).await.is_ok());
        }
        assert_eq!(cached(&hubs).await, [16, 17, 18, 19]);
        assert!(open(&hubs, 200, 150).await.is_ok());
        assert_eq!(cached(&hubs).await, [18, 19, 200]);
        assert!(open(&hubs, 201, 1_000).await.is_ok());
        assert_eq!(cached(&hubs).await, [201], "who looks at the largest need not have it made again each time");
    }

    #[tokio::test]
    async fn those_in_use_are_bounded_too_and_the_links_of_one_maker_leave_room_for_others() {
        let hubs = hubs();
        let maker = |user: &str| Arc::new(Subjects::Each(BTreeMap::from([(user.to_owned(), Default::default())])));
        let by = |user, link: usize| ClientKey::Subjects(maker(user), Some(link.to_string()));
        let mut seats = Vec::new();
        for key in 0..4 {
            seats.push(hubs.seat(open(&hubs, key, 1).await.unwrap(), &by("ann", key)).unwrap());
        }
        let more = open(&hubs, 4, 1).await.unwrap();
        assert!(hubs.seat(more.clone(), &by("ann", 4)).is_none(), "one too many");
        let again = open(&hubs, 0, 1).await.unwrap();
        assert!(hubs.seat(again, &by("ann", 0)).is_some(), "which it follows");
        assert!(hubs.seat(more.clone(), &by("bob", 4)).is_some(), "somebody else's");
        seats.pop();
        assert!(hubs.seat(more.clone(), &by("ann", 4)).is_some(), "there is room");
        for key in 5..9 {
            seats.push(open(&hubs, key, 1).await.unwrap());
        }
        let full = async |key| open(&hubs, key, 1).await.is_err_and(|why| matches!(*why, Lost::Full));
        assert!(full(99).await, "nothing is made");
        assert!(hubs.find(&99, None).await.is_none(), "there may be room for the next one");
        let used = open(&hubs, 0, 1).await.unwrap();
        assert!(used.is_same(&seats[0]), "what is in use is handed out");
        seats.pop();
        assert!(!full(99).await, "there is room");
        drop((used, seats, more));
        let large = [open(&hubs, 100, 700).await, open(&hubs, 101, 200).await];
        assert!(full(102).await, "they are large");
        drop(large);
        assert!(!full(102).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hub_is_made_anew_once_it_is_old_or_tells_too_little_and_an_error_is_forgotten() {
        let hubs = hubs();
        let first = open(&hubs, 1, 1).await.unwrap();
        let going_on = hubs.open(&2, None, async |_| Ok(standing(1, false))).await.unwrap();
        tokio::time::advance(FRESH).await;
        assert!(open(&hubs, 1, 1).await.unwrap().is_same(&first), "it is settled and in use");
        assert!(!open(&hubs, 2, 1).await.unwrap().is_same(&going_on));
        for (until, is_same) in [(5, true), (6, false), (9, false), (10, true)] {
            assert_eq!(hubs.find(&1, Some(until)).await.is_some(), is_same, "{until}");
        }
        let more = async |_| Ok(StandingHub { to_millis: 8, ..standing(1, true) });
        let later = hubs.open(&1, Some(8), more).await.unwrap();
        assert!(!later.is_same(&first) && open(&hubs, 1, 1).await.unwrap().is_same(&later));
        drop(first);
        let fail = async |_| Err((Arc::new(Lost::Unknown), FRESH));
        assert!(hubs.open(&3, None, fail).await.is_err());
        assert!(open(&hubs, 3, 1).await.is_err(), "it is remembered");
        tokio::time::advance(FRESH).await;
        assert!(open(&hubs, 3, 1).await.is_ok());
    }

    #[tokio::test]
    async fn a_hub_is_made_once_for_all_and_so_many_at_once_and_not_when_nobody_waits() {
        let (hubs, begun, let_go) = (hubs(), Arc::<AtomicUsize>::default(), Arc::<Notify>::default());
        let wait = |key: usize| {
            let (hubs, begun, let_go) = (hubs.clone(), begun.clone(), let_go.clone());
            tokio::spawn(async move {
                let make = async |_turn| {
                    begun.fetch_add(1, Ordering::SeqCst);
                    let_go.notified().await;
                    Ok(standing(1, true))
                };
                hubs.open(&key, None, make).await.is_ok()
            })
        };
        let settle = async || {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
        };
        let waiting: Vec<_> = [1, 1, 1, 2, 3].into_iter().map(wait).collect();
        settle().await;
        assert_eq!(begun.load(Ordering::SeqCst), 2, "two at once");
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        settle().await;
        assert_eq!(hubs.turns.available_permits(), 2, "all are gone");
        let waiting: Vec<_> = [1, 1, 1].into_iter().map(wait).collect();
        settle().await;
        waiting[0].abort();
        settle().await;
        let_go.notify_waiters();
        let made = join_all(waiting).await.into_iter().filter(|made| matches!(made, Ok(true))).count();
        assert_eq!((made, hubs.turns.available_permits()), (2, 2), "the others have it made");
    }
}
