//! Permissions of viewers: checked by their clusters on the first request, and again while they are connected.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use moka::future::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch as signal};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::refreshing_cache::{RefreshPolicy, RefreshingCache};
use super::reviews::{self, ClusterReviews, REVIEW_TIMEOUT, ReviewedNamespaces};
use super::{Subjects, Viewer};
use crate::access::permissions::{ClusterPermissions, Permissions};
use crate::hub::Handle;
use crate::kube::review::Subject;
use crate::telemetry::panics::locked;

/// Interval of looking for new namespaces, once for all viewers.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const NAMESPACES_POLICY: RefreshPolicy =
    RefreshPolicy { refresh_after: LOOK_EVERY, expire_after: Duration::MAX, retry_after: LOOK_EVERY };
/// Namespaces of the history are read again like permissions. While they cannot be read, the last ones count.
const HISTORY_POLICY: RefreshPolicy =
    RefreshPolicy { expire_after: Duration::MAX, retry_after: reviews::POLICY.refresh_after, ..reviews::POLICY };
/// Time for which a refusal is not reviewed again.
const REFUSED_FOR: Duration = Duration::from_secs(5);
const REFUSAL_POLICY: RefreshPolicy =
    RefreshPolicy { refresh_after: REFUSED_FOR, expire_after: REFUSED_FOR, retry_after: REFUSED_FOR };
/// A viewer without requests is removed from the cache after this time.
const FORGET_AFTER: Duration = Duration::from_secs(60);
/// Most viewers whose permissions are cached.
const MOST_VIEWERS: usize = 4_096;
/// Most named namespaces of a viewer that are cached as refused, or polled although the permissions show them. As many
/// more are polled that only their review shows.
const MOST_NAMED: usize = 64;
/// Namespaces named by one viewer that are reviewed at once: each may be a review by many clusters.
const NAMED_AT_ONCE: usize = 4;
/// Timeout for reading the namespaces of a cluster, and of the history.
const NAMESPACES_TIMEOUT: Duration = Duration::from_secs(1);

/// The namespaces of clusters, by their names.
pub type NamespacesByCluster = BTreeMap<String, BTreeSet<String>>;

/// Reads the namespaces of the stored history; `None` if they cannot be read now.
pub type StoredNamespaces = Box<dyn Fn() -> BoxFuture<'static, Option<NamespacesByCluster>> + Send + Sync>;

/// Checks and caches the permissions of viewers.
pub struct Authorizer {
    clusters: Vec<Handle>,
    history: Option<StoredNamespaces>,
    viewers: Cache<Arc<Subjects>, Arc<Mutex<ViewerState>>>,
    /// One permit for each viewer whose permissions are polled.
    room: Arc<Semaphore>,
    /// The namespaces of each cluster.
    namespaces: Mutex<RefreshingCache<String, Arc<BTreeSet<String>>>>,
    /// Namespaces of the stored history.
    stored_namespaces: tokio::sync::Mutex<StoredNamespaceCache>,
    all: signal::Sender<Arc<Permissions>>,
}

struct StoredNamespaceCache {
    known: RefreshingCache<(), Arc<NamespacesByCluster>>,
    /// The read that goes on.
    read: Option<JoinHandle<Option<NamespacesByCluster>>>,
}

/// Permissions of the viewers with the same users in all clusters.
struct ViewerState {
    /// The current permissions; `None` when they are no longer polled.
    permissions: Option<signal::Sender<Arc<Permissions>>>,
    /// Time of the last request.
    last_request: Instant,
    /// Visible namespaces that they named. Empty ones are in no list of namespaces, so only this has them reviewed
    /// again.
    named: NamespacesByCluster,
    /// Namespaces that they may not see (`false`), or whose cluster did not respond (`None`).
    refused: RefreshingCache<(String, String), Option<bool>>,
    /// Permits of requests that have a named namespace reviewed.
    turns: Arc<Semaphore>,
}

impl Authorizer {
    /// Creates an authorizer for these clusters and for their stored history.
    pub fn new(clusters: Vec<Handle>, history: Option<StoredNamespaces>) -> Arc<Self> {
        Arc::new(Self {
            clusters,
            history,
            viewers: Cache::builder().build(),
            room: Arc::new(Semaphore::new(MOST_VIEWERS)),
            namespaces: Mutex::new(RefreshingCache::new(NAMESPACES_POLICY)),
            stored_namespaces: tokio::sync::Mutex::new(StoredNamespaceCache {
                known: RefreshingCache::new(HISTORY_POLICY),
                read: None,
            }),
            all: signal::Sender::new(Arc::new(Permissions::All)),
        })
    }

    /// Returns the permissions of a viewer, now and whenever they change; `None` if there are too many viewers. The
    /// channel closes when the polling ends.
    pub async fn watch(self: &Arc<Self>, viewer: &Viewer) -> Option<signal::Receiver<Arc<Permissions>>> {
        let Some(subjects) = &viewer.subjects else { return Some(self.all.subscribe()) };
        loop {
            let known = self.permissions(subjects).await?;
            let told = locked(&known).subscribe();
            if told.is_some() {
                return told;
            }
            self.viewers.invalidate(subjects).await; // the polling of these permissions has just ended
        }
    }

    /// Returns the state of a viewer; `None` if there are too many. The first check of an unknown viewer is shared by
    /// all concurrent requests.
    async fn permissions(self: &Arc<Self>, subjects: &Arc<Subjects>) -> Option<Arc<Mutex<ViewerState>>> {
        self.viewers.optionally_get_with_by_ref(subjects, PermissionPoller::start(self, subjects)).await
    }

    /// Returns whether a viewer may see a namespace that they name; `None` if its cluster does not respond. Empty namespaces are
    /// checked as well: something may be there later, or was there a moment ago. Whether the namespace exists makes no difference.
    pub async fn check_namespace(self: &Arc<Self>, viewer: &Viewer, cluster: &str, namespace: &str) -> Option<bool> {
        let Some(subjects) = &viewer.subjects else { return Some(true) };
        let known = self.permissions(subjects).await?;
        let place = (cluster.to_owned(), namespace.to_owned());
        if let Some(said) = locked(&known).cached_visibility(&place) {
            return said;
        }
        // A request without a turn in time has the same result as one to a cluster that does not respond.
        let turns = locked(&known).turns.clone();
        let _turn = timeout(REVIEW_TIMEOUT, turns.acquire()).await.ok()?.ok()?;
        if let Some(said) = locked(&known).cached_visibility(&place) {
            return said; // another request completed the review meanwhile
        }
        let permissions = locked(&known).permissions();
        let sees = |cluster: &str| permissions.of(cluster).is_some();
        // Neither the response nor its duration may reveal a hidden cluster: whichever one is named, all hidden
        // clusters review, and all of them are awaited.
        let is_asked = |hub: &&Handle| if sees(cluster) { hub.name() == cluster } else { !sees(hub.name()) };
        let asked = self.clusters.iter().filter(is_asked).filter_map(|hub| {
            let subject = subjects.of(hub.name())?;
            Some(async move {
                let answer = timeout(REVIEW_TIMEOUT, hub.reviewer.may_list_pods(subject, Some(namespace))).await;
                (hub.name(), answer.ok().and_then(Result::ok))
            })
        });
        let answers = join_all(asked).await;
        let said = answers.into_iter().find(|(name, _)| *name == cluster).map_or(Some(false), |(_, said)| said);
        match said {
            Some(true) => locked(&known).poll_namespace(&place, 2 * MOST_NAMED),
            // The next review may get a response. For a hidden cluster the silence is cached: a second wait would
            // reveal it.
            None if sees(cluster) => {}
            _ => locked(&known).refuse(place, said),
        }
        said
    }

    /// Returns the namespaces of a cluster. While its hub does not respond, the last ones count, and permissions stay.
    async fn namespaces(&self, hub: &Handle) -> Arc<BTreeSet<String>> {
        let all = || locked(&self.namespaces);
        let cluster = hub.name().to_owned();
        let (known, is_due) = {
            let all = all();
            (all.get(&cluster).cloned(), all.is_due(&cluster))
        };
        if let Some(known) = known.as_ref().filter(|_| !is_due) {
            return known.clone();
        }
        let namespaces = hub.read(|reader| {
            let there = reader.timeline.model().deployments.values().filter(|known| known.deleted_millis.is_none());
            let found: BTreeSet<&str> = there.map(|known| known.namespace.as_str()).collect();
            found.into_iter().map(str::to_owned).collect::<BTreeSet<String>>()
        });
        // A hub that still reads its initial state knows no namespaces.
        let found = timeout(NAMESPACES_TIMEOUT, namespaces).await.ok().and_then(Result::ok).map(Arc::new);
        let found = found.or(known).unwrap_or_default();
        all().insert(cluster, Instant::now(), found.clone());
        found
    }

    /// Returns the namespaces of the stored history, cached for a while. Namespaces that cannot be read cannot be shown
    /// either.
    async fn stored_namespaces(&self) -> Arc<NamespacesByCluster> {
        let Some(ask) = &self.history else { return Arc::default() };
        let mut cache = self.stored_namespaces.lock().await;
        let StoredNamespaceCache { known, read } = &mut *cache;
        if known.is_due(&()) || read.as_ref().is_some_and(JoinHandle::is_finished) {
            // A read that takes longer cannot be cancelled, and occupies one of the few readers: a second one never begins beside it.
            let running = read.get_or_insert_with(|| tokio::spawn(ask()));
            let result = timeout(NAMESPACES_TIMEOUT, running).await;
            if result.is_ok() {
                *read = None;
            }
            match result.ok().and_then(Result::ok).flatten() {
                Some(places) => known.insert((), Instant::now(), Arc::new(places)),
                None => known.record_failure(Instant::now()),
            }
        }
        known.get(&()).cloned().unwrap_or_default()
    }
}

impl ViewerState {
    fn new() -> Self {
        Self {
            permissions: Some(signal::Sender::new(Arc::new(Permissions::none()))),
            last_request: Instant::now(),
            named: NamespacesByCluster::new(),
            refused: RefreshingCache::new(REFUSAL_POLICY),
            turns: Arc::new(Semaphore::new(NAMED_AT_ONCE)),
        }
    }

    /// Returns the permissions, now and whenever they change; `None` after the polling has ended.
    fn subscribe(&mut self) -> Option<signal::Receiver<Arc<Permissions>>> {
        self.last_request = Instant::now();
        self.permissions.as_ref().map(signal::Sender::subscribe)
    }

    fn permissions(&self) -> Arc<Permissions> {
        self.permissions
            .as_ref()
            .map_or_else(|| Arc::new(Permissions::none()), |permissions| permissions.borrow().clone())
    }

    /// Publishes the permissions; `false` if there was no request lately.
    fn publish(&mut self, permissions: Permissions) -> bool {
        let Some(told) = &self.permissions else { return false };
        if told.receiver_count() > 0 {
            self.last_request = Instant::now();
        }
        told.send_if_modified(|now| {
            let is_new = **now != permissions;
            *now = Arc::new(permissions);
            is_new
        });
        self.last_request.elapsed() < FORGET_AFTER
    }

    /// Returns the cached result for a namespace, with `None` inside if its cluster did not respond. A visible
    /// namespace stays among those that are polled.
    fn cached_visibility(&mut self, place: &(String, String)) -> Option<Option<bool>> {
        let (permissions, (cluster, namespace)) = (self.permissions(), place);
        let Some(seen) = permissions.of(cluster).filter(|seen| seen.has_all_of(namespace)) else {
            return self.refused.get(place).copied();
        };
        // A viewer of the whole cluster needs no named namespaces.
        if *seen != ClusterPermissions::All {
            self.poll_namespace(place, MOST_NAMED);
        }
        Some(Some(true))
    }

    /// Polls a namespace from now on, if fewer than `most` are polled.
    fn poll_namespace(&mut self, (cluster, namespace): &(String, String), most: usize) {
        if self.named.values().map(BTreeSet::len).sum::<usize>() < most {
            self.named.entry(cluster.clone()).or_default().insert(namespace.clone());
        }
    }

    fn refuse(&mut self, place: (String, String), said: Option<bool>) {
        self.refused.remove_expired();
        if self.refused.unexpired().count() < MOST_NAMED {
            self.refused.insert(place, Instant::now(), said);
        }
    }
}

struct ClusterAnswers {
    hub: Handle,
    subject: Subject,
    /// The API server that gave the answers.
    place: Option<u64>,
    reviews: ClusterReviews,
}

struct PermissionPoller {
    authorizer: Arc<Authorizer>,
    subjects: Arc<Subjects>,
    known: Arc<Mutex<ViewerState>>,
    answers: Vec<ClusterAnswers>,
    _room: OwnedSemaphorePermit,
}

/// Closes the channel however the polling ends, so that its last permissions expire.
impl Drop for PermissionPoller {
    fn drop(&mut self) {
        locked(&self.known).permissions = None;
    }
}

impl PermissionPoller {
    /// Makes the first reviews, and polls while there are requests; `None` if there are too many viewers.
    async fn start(authorizer: &Arc<Authorizer>, subjects: &Arc<Subjects>) -> Option<Arc<Mutex<ViewerState>>> {
        let room = authorizer.room.clone().try_acquire_owned().ok()?;
        let own = |hub: &Handle| {
            let subject = subjects.of(hub.name())?.clone();
            let (place, reviews) = (hub.reviewer.place(), ClusterReviews::new(reviews::POLICY));
            Some(ClusterAnswers { hub: hub.clone(), subject, place, reviews })
        };
        let answers = authorizer.clusters.iter().filter_map(own).collect();
        let (authorizer, subjects, known) =
            (authorizer.clone(), subjects.clone(), Arc::new(Mutex::new(ViewerState::new())));
        let mut poller = Self { authorizer, subjects, known: known.clone(), answers, _room: room };
        poller.poll().await;
        tokio::spawn(poller.run());
        Some(known)
    }

    /// Polls while there are requests, and for a while after the last one.
    async fn run(mut self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if !self.poll().await {
                return self.authorizer.viewers.invalidate(&self.subjects).await;
            }
        }
    }

    /// Has all clusters review at once, and publishes the result. A cluster that does not respond delays the others by
    /// one round at most. Returns `false` if there was no request lately.
    async fn poll(&mut self) -> bool {
        let (kept, named) = (self.authorizer.stored_namespaces().await, locked(&self.known).named.clone());
        let rounds = self.answers.iter_mut().map(|ClusterAnswers { hub, subject, place, reviews }| {
            let (authorizer, stored, named) = (&self.authorizer, kept.get(hub.name()), named.get(hub.name()));
            async move {
                let there = authorizer.namespaces(hub).await;
                let stored = stored.into_iter().flatten().map(|namespace| (namespace, false));
                let current = there.iter().chain(named.into_iter().flatten()).map(|namespace| (namespace, true));
                let namespaces: ReviewedNamespaces<'_> = stored.chain(current).collect(); // the later value takes precedence
                let place_now = hub.reviewer.place();
                if *place != place_now {
                    (*place, *reviews) = (place_now, ClusterReviews::new(reviews::POLICY));
                }
                reviews.refresh(hub, subject, &namespaces).await;
                !reviews.has_failed() || reviews.has_all(&namespaces)
            }
        });
        let do_all_say = join_all(rounds).await.into_iter().all(|does_say| does_say);
        let seen = self.answers.iter().filter_map(|of| Some((of.hub.name().to_owned(), of.reviews.permissions()?)));
        let clusters: BTreeMap<String, ClusterPermissions> = seen.collect();
        // The cluster does not respond, and some or all of its answers have expired.
        let is_hidden = |of: &ClusterAnswers| of.reviews.has_failed() && !clusters.contains_key(of.hub.name());
        let is_silent = !do_all_say || self.answers.iter().any(is_hidden);
        locked(&self.known).publish(Permissions::Part { clusters, is_silent })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_slow_read_of_the_stored_namespaces_is_not_begun_again_beside_itself_and_counts_once_it_ends() {
        let reads = Arc::new(AtomicU32::new(0));
        let begun = reads.clone();
        let ask: StoredNamespaces = Box::new(move || {
            begun.fetch_add(1, Ordering::Relaxed);
            Box::pin(async {
                tokio::time::sleep(Duration::from_secs(40)).await;
                Some(NamespacesByCluster::from([("prod".to_owned(), BTreeSet::new())]))
            })
        });
        let authorizer = Authorizer::new(Vec::new(), Some(ask));
        let mut known = Vec::new();
        for wait_seconds in [0, 31, 10] {
            tokio::time::sleep(Duration::from_secs(wait_seconds)).await;
            known.push((authorizer.stored_namespaces().await.len(), reads.load(Ordering::Relaxed)));
        }
        assert_eq!(known, [(0, 1), (0, 1), (1, 1)]);
    }

    #[test]
    fn what_is_seen_anyway_takes_no_place_of_what_is_seen_because_it_was_named() {
        let place = |namespace: &str| ("prod".to_owned(), namespace.to_owned());
        let names: BTreeSet<String> = (0..2 * MOST_NAMED).map(|n| format!("n-{n}")).collect();
        let known = |seen| {
            let (mut known, clusters) = (ViewerState::new(), BTreeMap::from([("prod".to_owned(), seen)]));
            known.publish(Permissions::Part { clusters, is_silent: false });
            known
        };
        let mut part = known(ClusterPermissions::Namespaces(names.clone()));
        for name in &names {
            assert_eq!(part.cached_visibility(&place(name)), Some(Some(true)), "{name}");
        }
        assert_eq!(part.named["prod"].len(), MOST_NAMED, "they are bounded as well");
        assert_eq!(part.cached_visibility(&place("empty")), None);
        for name in 0..2 * MOST_NAMED {
            part.poll_namespace(&place(&format!("empty-{name}")), 2 * MOST_NAMED);
        }
        assert_eq!(part.named["prod"].len(), 2 * MOST_NAMED, "as many as that have a place");
        let mut all = known(ClusterPermissions::All);
        assert_eq!(all.cached_visibility(&place("n-1")), Some(Some(true)));
        assert!(all.named.is_empty());
    }
}
