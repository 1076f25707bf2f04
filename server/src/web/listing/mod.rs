//! Lists: for each query and permissions, ONE task chooses and sorts whenever a hub's list changes; each viewer then
//! receives only changes of the lines that it has in view.
//!
//! ```text
//!   hubs ──watch "list", "connection"──► task per list ──watch "chosen"──► sessions ──► ListDelta of the lines in view
//! ```

mod choose;

use std::collections::HashMap;
use std::mem;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{FutureExt, join_all, select_all};
use timeline::list::{ClusterState, Overall, Query};
use timeline::wire::Connection;
use tokio::sync::watch as signal;
use tokio::time::Instant;

use choose::check_length;
pub use choose::{ListResult, ListedRow, Source, choose};

use crate::access::clients::{ClientKey, SubscriptionGuard, SubscriptionLimit};
use crate::access::permissions::{ClusterPermissions, Permissions};
use crate::hub::{Handle, List};
use crate::telemetry::panics::locked;
use crate::web::limits::{Limit, LimitCounters};

/// Different lists of one client at once.
const LISTS_PER_CLIENT: usize = 64;
/// Maximum for all links of one maker together.
const LISTS_PER_MAKER: usize = 4 * LISTS_PER_CLIENT;
/// Shortest interval of choosing a list while things change, and longest interval while there is time for it: groups
/// change by time alone.
const CHOOSE_EVERY: Duration = Duration::from_millis(250);
const CHOOSE_AGAIN: Duration = Duration::from_secs(15);
/// Shorter times of choosing are added up before a pause: timers are as exact as a millisecond.
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);

/// Channels of a cluster whose changes trigger a new selection.
type ClusterChanges = (signal::Receiver<List>, signal::Receiver<Connection>);

/// Waits until something of a cluster changes.
async fn next_change(changes: &mut [ClusterChanges]) {
    let all: Vec<_> = changes
        .iter_mut()
        .flat_map(|(list, connection)| [list.changed().boxed(), connection.changed().boxed()])
        .collect();
    if all.is_empty() {
        return std::future::pending().await;
    }
    let _ = select_all(all).await; // hubs end only with the program
}

/// Most different lists at once, and the text for a client that would follow one more.
const MOST_LISTS: usize = 1_000;
const FULL: &str = "The server is busy. This list loads as soon as it can.";
const FULL_FOR_CLIENT: &str = "You have too many different lists open. This one loads when you close another one.";

type ListKey = (Query, Arc<Permissions>);
type Lists = HashMap<ListKey, signal::Sender<Arc<ListResult>>>;

/// All followed lists.
pub struct Listings {
    /// In the order of the command line.
    clusters: Vec<Handle>,
    limits: Arc<LimitCounters>,
    followed: Mutex<Lists>,
    /// Time in which lists were chosen again since the last pause. The holder of the lock chooses.
    choosing_time: tokio::sync::Mutex<Duration>,
    by: Arc<SubscriptionLimit<ListKey>>,
}

/// A subscription to a list.
pub struct ListSubscription {
    /// The lines, now and whenever they change. Closed at once if too many lists are followed.
    pub chosen: signal::Receiver<Arc<ListResult>>,
    place: Option<SubscriptionGuard<ListKey>>,
}

impl ListSubscription {
    /// Ends the subscription.
    pub fn leave(&mut self) {
        self.place = None;
    }

    /// Returns whether this list is not followed: it was left, or there were too many.
    pub const fn is_turned_away(&self) -> bool {
        self.place.is_none()
    }
}

impl Listings {
    /// Creates the lists of these clusters, without followers.
    pub fn new(clusters: Vec<Handle>, limits: Arc<LimitCounters>) -> Arc<Self> {
        let by = SubscriptionLimit::new(LISTS_PER_CLIENT, LISTS_PER_MAKER);
        Arc::new(Self {
            clusters,
            limits,
            followed: Mutex::default(),
            choosing_time: tokio::sync::Mutex::default(),
            by,
        })
    }

    /// Returns the number of active lists.
    pub fn count(&self) -> usize {
        locked(&self.followed).len()
    }

    /// Returns whether that list has followers: another one costs nothing.
    pub fn is_followed(&self, query: &Query, permissions: &Arc<Permissions>) -> bool {
        locked(&self.followed).contains_key(&(normalized(query), permissions.clone()))
    }

    /// Returns a list as it is now.
    pub async fn now(&self, query: &Query, permissions: &Permissions) -> ListResult {
        let sources = join_all(self.visible(permissions).map(async |(hub, seen)| {
            let state = cluster_state(hub, seen);
            Source { state, list: seen.visible(hub.list().await) }
        }));
        self.first(&normalized(query), permissions, &sources.await)
    }

    /// Updates the lists of the visible clusters. Awaited before a list is followed: without followers, a list is as
    /// old as its last use.
    pub async fn renew(&self, permissions: &Permissions) {
        join_all(self.visible(permissions).map(|(hub, _)| hub.list())).await;
    }

    /// Selects for a normalized query; an oversized search counts once, however long it is followed.
    fn first(&self, query: &Query, permissions: &Permissions, sources: &[Source]) -> ListResult {
        if check_length(query).is_err() {
            self.limits.count_hit(Limit::Search);
        }
        choose_visible(query, permissions, sources)
    }

    /// Returns the clusters of which something is visible. Others are not asked: the time of a response would reveal
    /// them.
    fn visible<'l>(
        &'l self,
        permissions: &'l Permissions,
    ) -> impl Iterator<Item = (&'l Handle, &'l ClusterPermissions)> {
        self.clusters.iter().filter_map(|hub| Some((hub, permissions.of(hub.name())?)))
    }

    /// Returns the content of all clusters that the permissions show, as it was published last.
    fn published(&self, permissions: &Permissions, changes: &[ClusterChanges]) -> Vec<Source> {
        let clusters = self.clusters.iter().zip(changes).filter_map(|(hub, (list, _))| {
            let seen = permissions.of(hub.name())?;
            let state = cluster_state(hub, seen);
            Some(Source { state, list: seen.visible(list.borrow().clone()) })
        });
        clusters.collect()
    }

    /// Follows a list; requests with the same key and permissions share the work. If too many lists are followed, in
    /// all or by this client, returns an empty list with a notice, which is closed at once.
    #[must_use]
    pub fn follow(
        self: &Arc<Self>,
        query: &Query,
        permissions: &Arc<Permissions>,
        follower: &ClientKey,
    ) -> ListSubscription {
        let key = (normalized(query), permissions.clone());
        // Lists are chosen outside of the lock, which every request needs.
        let entered = {
            let followed = locked(&self.followed);
            let known = followed.get(&key).map(signal::Sender::subscribe);
            if known.is_none() && followed.len() >= MOST_LISTS {
                Err((Limit::Lists, FULL))
            } else {
                let place = self.by.enter(follower, key.clone());
                place.map(|place| (known, place)).ok_or((Limit::ClientLists, FULL_FOR_CLIENT))
            }
        };
        match entered {
            Ok((known, place)) => {
                ListSubscription { chosen: known.unwrap_or_else(|| self.start(key)), place: Some(place) }
            }
            Err((limit, why)) => {
                self.limits.count_hit(limit);
                ListSubscription { chosen: signal::channel(Arc::new(self.full(permissions, why))).1, place: None }
            }
        }
    }

    /// Chooses a list, and keeps it up to date; another request may have begun that meanwhile.
    fn start(self: &Arc<Self>, key: ListKey) -> signal::Receiver<Arc<ListResult>> {
        // Before the first choice, so that nothing in between is missed.
        let changes: Vec<ClusterChanges> =
            self.clusters.iter().map(|hub| (hub.follow_list(), hub.connection())).collect();
        let first = Arc::new(self.first(&key.0, &key.1, &self.published(&key.1, &changes)));
        let mut followed = locked(&self.followed);
        if let Some(known) = followed.get(&key) {
            return known.subscribe();
        }
        let (chosen, chosen_out) = signal::channel(first);
        followed.insert(key.clone(), chosen.clone());
        let task = self.clone().run(key.clone(), chosen, changes);
        tokio::spawn(self.clone().end_on_panic(key, task));
        chosen_out
    }

    /// Runs the task of a list. After a panic the list ends for its followers: a search must not end the program.
    async fn end_on_panic(self: Arc<Self>, key: ListKey, task: impl Future<Output = ()>) {
        if AssertUnwindSafe(task).catch_unwind().await.is_err() {
            tracing::error!("the task of a list panicked; the streams that show it end");
            locked(&self.followed).remove(&key);
        }
    }

    /// Returns an empty list with a notice.
    fn full(&self, permissions: &Permissions, why: &str) -> ListResult {
        let clusters = self.visible(permissions).map(|(hub, seen)| cluster_state(hub, seen)).collect();
        let (trouble, is_unchecked) = (why.to_owned(), permissions.is_silent());
        let overall = Overall { clusters, trouble, is_unchecked, ..Overall::default() };
        ListResult { overall, ..ListResult::default() }
    }

    /// Chooses the list again after changes, while it has followers.
    async fn run(
        self: Arc<Self>,
        key: ListKey,
        chosen: signal::Sender<Arc<ListResult>>,
        mut changes: Vec<ClusterChanges>,
    ) {
        loop {
            let is_time = async {
                tokio::time::sleep(CHOOSE_EVERY).await;
                let _ = tokio::time::timeout(CHOOSE_AGAIN, next_change(&mut changes)).await; // choose after a change or after the timeout
                self.choosing_time.lock().await
            };
            tokio::select! {
                () = chosen.closed() => {
                    let mut followed = locked(&self.followed);
                    // A new follower may have come since.
                    if chosen.is_closed() {
                        followed.remove(&key);
                        return;
                    }
                }
                mut choosing_time = is_time => {
                    let began = Instant::now();
                    for (list, connection) in &mut changes {
                        list.mark_unchanged();
                        connection.mark_unchanged();
                    }
                    let again = Arc::new(choose_visible(&key.0, &key.1, &self.published(&key.1, &changes)));
                    chosen.send_if_modified(|known| {
                        let is_changed = !known.is_like(&again);
                        *known = again; // also without a change, for newer clocks
                        is_changed
                    });
                    pause(&mut choosing_time, began.elapsed()).await;
                }
            }
        }
    }
}

/// Pauses for as long as lists were chosen again since the last pause. So all of them together take half of a core at most,
/// however many there are.
async fn pause(choosing_time: &mut Duration, took: Duration) {
    *choosing_time += took;
    if *choosing_time >= SHORTEST_PAUSE {
        tokio::time::sleep(mem::take(choosing_time)).await;
    }
}

/// Returns the state of a cluster as a viewer sees it. It is read before the list: what a list lacks was not live yet.
fn cluster_state(hub: &Handle, seen: &ClusterPermissions) -> ClusterState {
    ClusterState {
        name: hub.name().to_owned(),
        accent: hub.accent,
        connection: seen.of_connection(hub.connection().borrow().clone()),
        now_millis: hub.now_millis(),
        has_deployments: false, // sent with the list
    }
}

fn choose_visible(query: &Query, permissions: &Permissions, sources: &[Source]) -> ListResult {
    let mut chosen = choose(sources, query);
    chosen.overall.is_unchecked = permissions.is_silent();
    let trouble = permissions.trouble();
    if !trouble.is_empty() {
        chosen.overall.trouble = format!("{trouble} {}", chosen.overall.trouble).trim_end().to_owned();
    }
    chosen
}

/// Normalizes a query: case and spaces do not matter.
fn normalized(query: &Query) -> Query {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    Query { text: words(&query.text).to_lowercase(), labels: words(&query.labels), ..query.clone() }
}

#[cfg(test)]
mod tests {
    use timeline::list::Window;

    use super::*;
    use crate::web::followed_list::FollowedList;

    const MANY: ClientKey = ClientKey::Shared;

    fn listings() -> (Arc<Listings>, Arc<Permissions>) {
        (Listings::new(Vec::new(), Arc::default()), Arc::new(Permissions::All))
    }

    fn is_followed(choice: &ListSubscription) -> bool {
        choice.chosen.has_changed().is_ok()
    }

    fn of(text: &str) -> Query {
        Query { text: text.to_owned(), ..Query::default() }
    }

    #[tokio::test]
    async fn a_list_that_nobody_follows_any_more_is_let_go_of_at_once() {
        let (listings, permissions) = listings();
        let (first, second) =
            (listings.follow(&of("web"), &permissions, &MANY), listings.follow(&of("  WEB "), &permissions, &MANY));
        assert_eq!(listings.count(), 1, "the same key");
        drop(first);
        let other = listings.follow(&of("api"), &permissions, &MANY);
        assert_eq!(listings.count(), 2);
        drop((second, other));
        let began = Instant::now();
        while listings.count() > 0 {
            tokio::task::yield_now().await;
            assert!(began.elapsed() < CHOOSE_EVERY, "it waits for nothing else");
        }
    }

    #[tokio::test]
    async fn a_list_whose_task_panics_ends_for_its_followers_and_may_be_followed_again() {
        let (listings, permissions) = listings();
        let key = (of("web"), permissions.clone());
        let (chosen, _chosen_out) = signal::channel(Arc::new(listings.full(&permissions, "")));
        locked(&listings.followed).insert(key.clone(), chosen.clone());
        let follow =
            || FollowedList::new(of("web"), Window::default(), listings.follow(&of("web"), &permissions, &MANY));
        let mut followed = follow();
        listings
            .clone()
            .end_on_panic(key, async move {
                let _chosen = chosen;
                panic!("a row")
            })
            .await;
        assert!(followed.changed().await.is_err() && !followed.choice.is_turned_away());
        assert_eq!(listings.count(), 0);
        drop(followed);
        assert!(follow().changed().now_or_never().is_none());
        assert_eq!(listings.count(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn lists_are_chosen_again_one_at_a_time_and_pauses_are_as_long_as_choosing() {
        let (listings, permissions) = listings();
        let followed = listings.follow(&of("web"), &permissions, &MANY);
        let mut known = followed.chosen.borrow().clone();
        let other = listings.choosing_time.lock().await;
        let mut is_chosen_again = async || {
            tokio::time::sleep(2 * CHOOSE_AGAIN).await;
            let before = mem::replace(&mut known, followed.chosen.borrow().clone());
            !Arc::ptr_eq(&before, &known)
        };
        assert!(!is_chosen_again().await, "another list is chosen");
        drop(other);
        assert!(is_chosen_again().await);
        assert!(!followed.chosen.has_changed().unwrap(), "it is as before: no viewer is woken");
        let (took, mut worked, began) = (Duration::from_micros(300), Duration::ZERO, Instant::now());
        for _ in 0..100 {
            pause(&mut worked, took).await;
        }
        let paused = began.elapsed();
        assert!(paused + worked >= 100 * took && paused < 200 * took, "{paused:?}, and {worked:?} are left");
    }

    #[tokio::test]
    async fn how_much_room_is_between_words_makes_no_difference_to_whether_a_search_is_too_long() {
        let (listings, permissions) = listings();
        let roomy = of(&format!("web{}api", " ".repeat(500)));
        assert_eq!(listings.now(&roomy, &permissions).await.overall.trouble, "");
        assert_eq!(listings.follow(&roomy, &permissions, &MANY).chosen.borrow().overall.trouble, "");
        assert_eq!(listings.limits.count(Limit::Search), 0);
    }

    #[tokio::test]
    async fn who_would_follow_one_list_too_many_is_told_so_and_may_come_again() {
        let (listings, permissions) = listings();
        let mut all: Vec<_> =
            (0..MOST_LISTS).map(|n| listings.follow(&of(&n.to_string()), &permissions, &MANY)).collect();
        let full = listings.follow(&of("more"), &permissions, &MANY);
        assert_eq!(full.chosen.borrow().overall.trouble, FULL);
        assert!(!is_followed(&full), "nobody chooses it");
        assert!(is_followed(&listings.follow(&of("7"), &permissions, &MANY)), "which is followed already");
        assert_eq!((listings.limits.count(Limit::Lists), listings.count()), (1, MOST_LISTS));
        all.pop();
        while listings.count() == MOST_LISTS {
            tokio::task::yield_now().await;
        }
        assert!(is_followed(&listings.follow(&of("more"), &permissions, &MANY)));
        assert!(listings.now(&of(&"x ".repeat(500)), &permissions).await.lines.is_empty());
        assert_eq!(listings.limits.count(Limit::Search), 1);
    }

    #[tokio::test]
    async fn one_client_does_not_take_the_lists_of_the_others() {
        let (listings, permissions) = listings();
        let at = |last: u8| ClientKey::of_address([10, 0, 0, last].into());
        let mut all: Vec<_> =
            (0..LISTS_PER_CLIENT).map(|n| listings.follow(&of(&n.to_string()), &permissions, &at(1))).collect();
        assert!(all.iter().all(is_followed));
        let more = listings.follow(&of("more"), &permissions, &at(1));
        assert!(!is_followed(&more));
        assert_eq!(more.chosen.borrow().overall.trouble, FULL_FOR_CLIENT);
        assert_eq!((listings.limits.count(Limit::ClientLists), listings.limits.count(Limit::Lists)), (1, 0));
        assert!(is_followed(&listings.follow(&of("more"), &permissions, &at(2))), "somebody else");
        // A list that replaces another one needs no second place.
        if let Some(last) = all.last_mut() {
            last.leave();
            *last = listings.follow(&of("other"), &permissions, &at(1));
            assert!(is_followed(last));
        }
    }
}
