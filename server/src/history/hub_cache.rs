//! Caches static hubs, each built once for all clients that open it at the same time. Their number is limited, in total and for
//! each client.
//!
//! ```text
//!   open ──► cached or in use ──► Handle with a lease: the hub lives, and counts, until the last lease is dropped
//!      └───► built (a few at once) ──► cached, the least recently used one is evicted
//! ```

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use timeline::Millis;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::store::StoreError;
use crate::access::clients::{ClientKey, SubscriptionLimit};
use crate::hub::Handle;
use crate::telemetry::panics::locked;

/// Versions of one rollout that are in use at once; later clients get the newest of them.
const MOST_OF_KEY: usize = 4;
/// Number of errors that weigh as much as one small hub.
const ERRORS_OF_ONE: usize = 16;

/// A rollout or a moment that cannot be shown.
#[derive(Debug, Clone, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum OpenError {
    #[error("no such rollout; its history may have expired")]
    Unknown,
    #[error("cannot read the history: {0}")]
    Unreadable(#[from] StoreError),
    #[error("too many past rollouts and moments are open")]
    Full,
}

/// A hub, or why there is none.
pub(crate) type OpenResult = Result<Handle, OpenError>;

/// A built hub, or why there is none and for how long that error is cached.
pub(crate) type BuildResult = Result<StaticHub, (OpenError, Duration)>;

/// A permit to build a hub, held by work that cannot be cancelled.
pub(crate) type BuildPermit = Option<OwnedSemaphorePermit>;

pub(crate) struct CacheLimits {
    /// Number and total size of cached hubs.
    pub(crate) cached: (usize, usize),
    /// Number and total size of hubs in use.
    pub(crate) used: (usize, usize),
    /// Number of concurrent builds.
    pub(crate) builds: usize,
    /// Number of different hubs that one client follows, or that all links of one owner follow together.
    pub(crate) of_one: usize,
    pub(crate) of_links: usize,
}

pub(crate) struct StaticHub {
    pub(crate) hub: Handle,
    /// Its size, in the unit of its cache.
    pub(crate) size: usize,
    /// Its last time, and the latest one with which it could be built.
    pub(crate) to_millis: Millis,
    pub(crate) most_millis: Millis,
    /// Whether it is final: it is served as long as it is in use.
    pub(crate) is_settled: bool,
    /// Time after which it is built again for later clients.
    pub(crate) fresh_until: Option<Instant>,
}

impl StaticHub {
    /// Returns whether it contains a time as a hub built for that time would. A time after its latest one is not shown.
    fn reaches(&self, until_millis: Option<Millis>) -> bool {
        until_millis.is_none_or(|until| until <= self.to_millis || until > self.most_millis)
    }

    fn is_fresh(&self) -> bool {
        self.fresh_until.is_none_or(|until| until > Instant::now())
    }
}

type Entry = Result<Arc<StaticHub>, (OpenError, Instant)>;
/// A hub that is being built. The build continues while one client waits, and is dropped with the last one.
type Build = Shared<BoxFuture<'static, Entry>>;

/// The cache. An evicted hub lives on while it is in use, and is still served.
pub(crate) struct HubCache<K> {
    cache: Cache<K, Entry>,
    builds: Mutex<HashMap<K, WeakShared<BoxFuture<'static, Entry>>>>,
    used: Mutex<Vec<Weak<Lease<K>>>>,
    followed: Arc<SubscriptionLimit<usize>>,
    permits: Arc<Semaphore>,
    most_used: (usize, usize),
}

struct Lease<K> {
    key: K,
    hub: Arc<StaticHub>,
}

impl<K: Clone + Eq + Hash + Send + Sync + 'static> HubCache<K> {
    pub(crate) fn new(limits: &CacheLimits) -> Self {
        let (count, size) = limits.cached;
        let one = size / count;
        // The largest hub fills the cache alone, so that it is not built for each request.
        let weigh = move |_: &K, entry: &Entry| {
            let weight = entry.as_ref().map_or(one / ERRORS_OF_ONE, |hub| hub.size.clamp(one, size));
            u32::try_from(weight).unwrap_or(u32::MAX)
        };
        let cache = Cache::builder().max_capacity(size as u64).weigher(weigh).eviction_policy(EvictionPolicy::lru());
        Self {
            cache: cache.build(),
            builds: Mutex::default(),
            used: Mutex::default(),
            followed: SubscriptionLimit::new(limits.of_one, limits.of_links),
            permits: Arc::new(Semaphore::new(limits.builds)),
            most_used: limits.used,
        }
    }

    /// Returns a hub or its error, without building it.
    pub(crate) fn find(&self, key: &K, until_millis: Option<Millis>) -> Option<OpenResult> {
        let entry = match self.in_use(key, until_millis) {
            Some(hub) => Ok(hub),
            None => self.cache.get(key).filter(|entry| is_good(entry, until_millis))?,
        };
        Some(self.lease(key, entry))
    }

    /// Opens a hub, and builds it if necessary, unless too many are in use.
    pub(crate) async fn open<F: Future<Output = BuildResult> + Send + 'static>(
        self: &Arc<Self>,
        key: &K,
        until_millis: Option<Millis>,
        build: impl FnOnce(BuildPermit) -> F + Clone + Send + 'static,
    ) -> OpenResult {
        loop {
            if let Some(opened) = self.find(key, until_millis) {
                return opened;
            }
            let (build, is_own) = self.build(key, until_millis, build.clone());
            let entry = build.await;
            // A hub that was built for others may end before the requested time.
            if is_own || entry.as_ref().map_or(true, |hub| hub.reaches(until_millis)) {
                return self.lease(key, entry);
            }
        }
    }

    /// Starts to build a hub, unless that has begun. Returns whether it starts.
    fn build<F: Future<Output = BuildResult> + Send + 'static>(
        self: &Arc<Self>,
        key: &K,
        until_millis: Option<Millis>,
        build: impl FnOnce(BuildPermit) -> F + Send + 'static,
    ) -> (Build, bool) {
        let mut builds = locked(&self.builds);
        if let Some(begun) = builds.get(key).and_then(WeakShared::upgrade) {
            return (begun, false);
        }
        let (this, of) = (self.clone(), key.clone());
        let future = async move {
            let permit = this.permits.clone().acquire_owned().await.ok();
            let failed = |(why, lasts)| (why, Instant::now() + lasts);
            let entry = match this.in_use(&of, until_millis) {
                Some(hub) => Ok(hub),
                None if this.is_full() => Err(failed((OpenError::Full, Duration::ZERO))),
                None => build(permit).await.map(Arc::new).map_err(failed),
            };
            if entry.as_ref().is_err_and(|(_, until)| *until <= Instant::now()) {
                this.cache.invalidate(&of); // it would take the place of a hub
            } else {
                this.cache.insert(of.clone(), entry.clone());
            }
            this.cache.run_pending_tasks(); // otherwise the cache exceeds its limit for a while
            locked(&this.builds).remove(&of);
            entry
        };
        let begun = future.boxed().shared();
        builds.retain(|_, build| build.upgrade().is_some());
        builds.extend(begun.downgrade().map(|build| (key.clone(), build)));
        (begun, true)
    }

    /// Counts a client that follows a hub, until the returned handle is dropped. `None` if the client follows too many; a hub of
    /// another cache is returned unchanged.
    pub(crate) fn add_follower(&self, hub: Handle, follower: &ClientKey) -> Option<Handle> {
        let lease = self.leases().into_iter().find(|lease| lease.hub.hub.is_same(&hub));
        let Some(lease) = lease else { return Some(hub) };
        // There may be several hubs of one rollout, with different ends.
        let place = self.followed.enter(follower, Arc::as_ptr(&lease.hub).addr())?;
        Some(hub.with_lease(Arc::new((place, lease))))
    }

    fn leases(&self) -> Vec<Arc<Lease<K>>> {
        let mut used = locked(&self.used);
        used.retain(|lease| lease.strong_count() > 0);
        used.iter().filter_map(Weak::upgrade).collect()
    }

    fn in_use(&self, key: &K, until_millis: Option<Millis>) -> Option<Arc<StaticHub>> {
        let mut leases = self.leases();
        leases.retain(|lease| lease.key == *key && lease.hub.reaches(until_millis));
        let newest = leases.last().filter(|_| leases.len() >= MOST_OF_KEY);
        let lease = leases.iter().rfind(|lease| lease.hub.is_settled || lease.hub.is_fresh()).or(newest)?;
        Some(lease.hub.clone())
    }

    fn is_full(&self) -> bool {
        let (leases, (count, size)) = (self.leases(), self.most_used);
        leases.len() >= count || leases.iter().map(|lease| lease.hub.size).sum::<usize>() >= size
    }

    fn lease(&self, key: &K, entry: Entry) -> OpenResult {
        let hub = entry.map_err(|(why, _)| why)?;
        let mut used = locked(&self.used);
        let lease = used.iter().filter_map(Weak::upgrade).find(|lease| Arc::ptr_eq(&lease.hub, &hub));
        let lease = lease.unwrap_or_else(|| {
            let lease = Arc::new(Lease { key: key.clone(), hub: hub.clone() });
            used.push(Arc::downgrade(&lease));
            lease
        });
        Ok(hub.hub.clone().with_lease(lease))
    }
}

fn is_good(entry: &Entry, until_millis: Option<Millis>) -> bool {
    match entry {
        Ok(hub) => hub.is_fresh() && hub.reaches(until_millis),
        Err((_, until)) => *until > Instant::now(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;
    use timeline::Retention;
    use tokio::sync::Notify;

    use super::*;

    const FRESH: Duration = Duration::from_secs(30);
    const LIMITS: CacheLimits = CacheLimits { cached: (4, 400), used: (8, 800), builds: 2, of_one: 4, of_links: 4 };

    fn built(size: usize, is_settled: bool) -> StaticHub {
        let hub = Handle::start("prod", Arc::default(), Retention::default()).0;
        let fresh_until = Some(Instant::now() + FRESH);
        StaticHub { hub, size, to_millis: 5, most_millis: 9, is_settled, fresh_until }
    }

    type Hubs = Arc<HubCache<usize>>;

    fn hubs() -> Hubs {
        Arc::new(HubCache::new(&LIMITS))
    }

    async fn open(hubs: &Hubs, key: usize, size: usize) -> OpenResult {
        hubs.open(&key, None, move |_| async move { Ok(built(size, true)) }).await
    }

    fn cached(hubs: &Hubs) -> Vec<usize> {
        (0..300).filter(|key| hubs.find(key, None).is_some()).collect()
    }

    #[tokio::test]
    async fn what_is_cached_is_bounded_in_number_and_in_size() {
        let hubs = hubs();
        for key in 0..20 {
            assert!(open(&hubs, key, 1).await.is_ok());
        }
        assert_eq!(cached(&hubs), [16, 17, 18, 19]);
        assert!(open(&hubs, 200, 150).await.is_ok());
        assert_eq!(cached(&hubs), [18, 19, 200]);
        assert!(open(&hubs, 201, 1_000).await.is_ok());
        assert_eq!(cached(&hubs), [201], "who looks at the largest need not have it made again each time");
    }

    #[tokio::test]
    async fn those_in_use_are_bounded_in_size_too() {
        let hubs = hubs();
        let large = [open(&hubs, 100, 700).await, open(&hubs, 101, 200).await];
        let full = async |key| open(&hubs, key, 1).await.is_err_and(|why| matches!(why, OpenError::Full));
        assert!(full(102).await, "they are large");
        drop(large);
        assert!(!full(102).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hub_is_made_anew_once_it_is_old_or_tells_too_little_and_an_error_is_forgotten() {
        let hubs = hubs();
        let first = open(&hubs, 1, 1).await.unwrap();
        let going_on = hubs.open(&2, None, |_| async { Ok(built(1, false)) }).await.unwrap();
        tokio::time::advance(FRESH).await;
        assert!(open(&hubs, 1, 1).await.unwrap().is_same(&first), "it is settled and in use");
        assert!(!open(&hubs, 2, 1).await.unwrap().is_same(&going_on));
        for (until, is_same) in [(5, true), (6, false), (9, false), (10, true)] {
            assert_eq!(hubs.find(&1, Some(until)).is_some(), is_same, "{until}");
        }
        let more = |_| async { Ok(StaticHub { to_millis: 8, ..built(1, true) }) };
        let later = hubs.open(&1, Some(8), more).await.unwrap();
        assert!(!later.is_same(&first) && open(&hubs, 1, 1).await.unwrap().is_same(&later));
        drop(first);
        let fail = |_| async { Err((OpenError::Unknown, FRESH)) };
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
            let build = move |permit| async move {
                let _permit: BuildPermit = permit;
                begun.fetch_add(1, Ordering::SeqCst);
                let_go.notified().await;
                Ok(built(1, true))
            };
            tokio::spawn(async move { hubs.open(&key, None, build).await.is_ok() })
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
        assert_eq!(hubs.permits.available_permits(), 2, "all are gone");
        let waiting: Vec<_> = [1, 1, 1].into_iter().map(wait).collect();
        settle().await;
        waiting[0].abort();
        settle().await;
        let_go.notify_waiters();
        assert_eq!(begun.load(Ordering::SeqCst), 3, "it is not begun anew when the first one leaves");
        let made = join_all(waiting).await.into_iter().filter(|made| matches!(made, Ok(true))).count();
        assert_eq!((made, hubs.permits.available_permits()), (2, 2), "the others have it made");
    }
}
