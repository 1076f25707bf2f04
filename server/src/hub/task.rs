//! The hub's task: the only code that holds a cluster's timeline.

mod observe;
mod publish;

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use timeline::view::Now;
use timeline::wire::{Connection, ConnectionState, Position, Unwritten};
use timeline::{History, Millis, Retention, Timeline, Uid, Workload};
use tokio::sync::{mpsc, oneshot, watch as signal};
use tokio::time::Instant;

use super::answer::HubReader;
use super::connection::Watches;
use super::counters::HubCounters;
use super::listed::{List, ListedDeployments};
use super::topic::{Flush, Topic};
use crate::kube::{self, InitialState, SourceEvent};
use crate::telemetry::clock::{self, Clock, OwnClock};

/// Interval of sending frames while events stream in.
const PUBLISH_EVERY: Duration = Duration::from_millis(50);
/// Shortest interval of making the list, while somebody follows or requests it, and of checking sentences that depend on time.
const LIST_EVERY: Duration = Duration::from_millis(250);
const LOOK_AGAIN_EVERY: Duration = Duration::from_secs(5);
/// Interval of assessing a Deployment that somebody follows.
const ASSESS_EVERY: Duration = Duration::from_millis(100);
/// Interval of pruning history.
const PRUNE_EVERY: Duration = Duration::from_secs(60);
/// Events taken from the queue before anything is published.
const DRAIN: usize = 512;
/// Reason that pages show until the cluster responds after a restart.
const RESTARTED: &str = "Rollcast restarted and is connecting";

/// A request, which sends its response itself.
pub(super) type Command = Box<dyn FnOnce(&mut Hub) + Send>;

/// State that others read without a request to the hub.
pub(super) struct Signals {
    pub(super) connection: signal::Sender<Connection>,
    pub(super) list: signal::Sender<List>,
    pub(super) clock: signal::Sender<Clock>,
}

pub(super) struct Hub {
    /// Name of the cluster.
    name: Arc<str>,
    epoch: u64,
    /// Positions of the timeline before the restart, up to this one, are known, too.
    before: Option<Position>,
    timeline: Timeline,
    history: History,
    retention: Retention,
    clock: Clock,
    looking_since_millis: Millis,
    observed: Option<(Millis, Millis)>,
    /// Time until which the restored state was observed: nothing after it is dated earlier.
    heard_millis: Option<Millis>,
    /// A list was completed since the start.
    is_listed: bool,
    watches: Watches,
    unwritten: Option<Unwritten>,
    topics: BTreeMap<Workload, Topic>,
    /// Deployments of the topics at the last publication. One that a topic got since needs no changes: a snapshot is next.
    followed: BTreeSet<Uid>,
    /// Number of the last change that touched a Deployment.
    touched: BTreeMap<Uid, u64>,
    listed: ListedDeployments,
    /// Deployments whose summary may be outdated.
    outdated: BTreeSet<Uid>,
    is_list_old: bool,
    is_dirty: bool,
    published: Instant,
    list_sent: Instant,
    /// Time at which the list was sent, by the clock of the cluster.
    list_at_millis: Millis,
    /// Difference of the clocks with which the list was made.
    list_skew_millis: Millis,
    /// Somebody has followed the list since then.
    was_list_followed: bool,
    signals: Signals,
    counters: Arc<HubCounters>,
}

impl Hub {
    pub(super) fn new(name: Arc<str>, retention: Retention, signals: Signals, counters: Arc<HubCounters>) -> Self {
        let now = Instant::now();
        counters.state_since_millis.store(clock::now_millis(), Ordering::Relaxed);
        Self {
            name,
            epoch: fastrand::u64(..),
            before: None,
            timeline: Timeline::new(),
            history: History::default(),
            retention,
            clock: Clock::Real,
            looking_since_millis: clock::now_millis(),
            observed: None,
            heard_millis: None,
            is_listed: false,
            watches: Watches::default(),
            unwritten: None,
            topics: BTreeMap::new(),
            followed: BTreeSet::new(),
            touched: BTreeMap::new(),
            listed: ListedDeployments::default(),
            outdated: BTreeSet::new(),
            is_list_old: false,
            is_dirty: false,
            published: now,
            list_sent: now.checked_sub(LIST_EVERY).unwrap_or(now),
            list_at_millis: Millis::MIN,
            list_skew_millis: 0,
            was_list_followed: false,
            signals,
            counters,
        }
    }

    /// Runs until no handle is left.
    pub(super) async fn run(
        mut self,
        mut events: mpsc::Receiver<SourceEvent>,
        mut commands: mpsc::Receiver<Command>,
        initial: oneshot::Receiver<InitialState>,
    ) {
        if let Ok(initial) = initial.await {
            self.restore(initial);
            self.tell_connection();
        }
        let mut look_again = tokio::time::interval(LOOK_AGAIN_EVERY);
        let mut say_again = tokio::time::interval(ASSESS_EVERY);
        say_again.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut prune = tokio::time::interval(PRUNE_EVERY);
        loop {
            // Whether pods stay ready is unknown while the cluster does not respond.
            let next_due = self.timeline.next_due_millis().filter(|_| !self.is_stale());
            let due = next_due.and_then(|at| self.clock.until(at));
            let publish_at = self.published + PUBLISH_EVERY;
            let list_at = self.list_sent + LIST_EVERY;
            tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => {
                        // A request sees every event that was queued before it.
                        self.drain(&mut events, kube::QUEUE);
                        command(&mut self);
                    }
                    None => return,
                },
                Some(event) = events.recv() => {
                    self.event(event);
                    self.drain(&mut events, DRAIN);
                }
                () = tokio::time::sleep(due.unwrap_or_default()), if due.is_some() => {
                    self.tick(self.clock.now_millis());
                }
                () = tokio::time::sleep_until(publish_at), if self.is_dirty => {}
                () = tokio::time::sleep_until(list_at), if self.is_list_due() => {}
                _ = look_again.tick() => self.look_again(),
                _ = prune.tick() => {
                    let on_screen = self.topics.values().filter(|t| !t.is_deserted()).filter_map(|t| t.deployment).collect();
                    let now_millis = self.clock.now_millis();
                    let changes = self.timeline.prune(now_millis, &self.retention, &on_screen);
                    self.apply_changes(now_millis, changes);
                    self.history.prune(now_millis - self.retention.age_millis);
                }
                _ = say_again.tick(), if self.is_to_say_again() => self.publish(Flush::Throttled),
            }
            if self.is_dirty && self.published.elapsed() >= PUBLISH_EVERY {
                self.publish(Flush::Throttled);
            }
            if self.is_list_due() && self.list_sent.elapsed() >= LIST_EVERY {
                self.publish_list();
            }
        }
    }

    /// Returns whether topics may have sentences to send although no event was applied.
    fn is_to_say_again(&self) -> bool {
        !self.is_dirty && !self.topics.is_empty() && (self.is_ticking() || self.topics.values().any(Topic::is_behind))
    }

    /// Takes what is in the queue, but no more than `most`.
    fn drain(&mut self, events: &mut mpsc::Receiver<SourceEvent>, most: usize) {
        for _ in 0..most {
            let Ok(event) = events.try_recv() else { return };
            self.event(event);
        }
    }

    /// Returns the time for sentences. It stands still while the cluster does not respond: the missing data is not a
    /// delay in the cluster.
    fn now(&self) -> Now {
        let heard = match &self.signals.connection.borrow().state {
            ConnectionState::Stale { since_millis, .. } => {
                Some(self.observed.map_or(*since_millis, |(_, last)| last.max(*since_millis)))
            }
            // The state from before a restart, until the cluster responds.
            ConnectionState::Connecting => self.heard_millis,
            _ => None,
        };
        let millis = self.clock.now_millis();
        Now { millis: heard.map_or(millis, |heard| heard.min(millis)), skew_millis: self.timeline.skew_millis() }
    }

    /// Returns whether sentences change by time alone: the cluster responds, and its clock runs.
    fn is_ticking(&self) -> bool {
        !self.is_stale() && self.clock.speed() > 0.0
    }

    fn is_stale(&self) -> bool {
        self.signals.connection.borrow().state.is_stale()
    }

    /// Publishes the connection state, after everything that was known by then: a viewer that reads "live" must have
    /// the data.
    fn tell_connection(&mut self) {
        let connection = self.since_restart(self.watches.connection());
        let (speed_percent, unwritten) = (self.clock.percent(), self.unwritten.clone());
        let connection = Connection { speed_percent, unwritten, ..connection };
        if *self.signals.connection.borrow() == connection {
            return;
        }
        self.publish(Flush::Now);
        if self.is_list_outdated() {
            self.publish_list();
        }
        if mem::discriminant(&self.signals.connection.borrow().state) != mem::discriminant(&connection.state) {
            self.counters.state_since_millis.store(self.clock.now_millis(), Ordering::Relaxed);
        }
        self.signals.connection.send_replace(connection);
    }

    /// Returns the connection state for pages after a restart: until the cluster responds, they show the restored data.
    fn since_restart(&self, mut connection: Connection) -> Connection {
        let Some(heard_millis) = self.heard_millis else { return connection };
        match &mut connection.state {
            ConnectionState::Stale { since_millis, .. } if !self.is_listed => {
                *since_millis = heard_millis.min(*since_millis)
            }
            state @ ConnectionState::Connecting => {
                let why = RESTARTED.to_owned();
                *state = ConnectionState::Stale { since_millis: heard_millis, retry_at_millis: None, why };
            }
            _ => {}
        }
        connection
    }

    /// Brings the list up to date, for a request.
    pub(super) fn refresh_list(&mut self) {
        if self.is_list_outdated() && self.list_sent.elapsed() >= LIST_EVERY {
            self.publish_list();
        }
    }

    pub(super) fn reader(&self) -> HubReader<'_> {
        HubReader {
            timeline: &self.timeline,
            history: &self.history,
            observed: self.observed,
            now_millis: self.clock.now_millis(),
            now: self.now(),
            watches: &self.watches.health,
            epoch: self.epoch,
            touched: &self.touched,
        }
    }

    /// Prepares everything to be sent again, as another timeline begins.
    fn renew(&mut self) {
        self.epoch = fastrand::u64(..);
        self.touched.clear();
        let model = self.timeline.model();
        self.outdated.extend(self.listed.uids().chain(model.deployments.keys().copied()));
        self.topics.iter_mut().for_each(|(workload, topic)| topic.renew(workload.find(model).map(|known| known.uid)));
        self.is_dirty = true;
    }

    /// Limits a new clock so that time does not go back: the present clock ran on until the event came.
    fn not_before(&self, clock: OwnClock) -> OwnClock {
        let behind = self.clock.now_millis() - Clock::Own(clock).now_millis();
        OwnClock { start_millis: clock.start_millis + behind.max(0), ..clock }
    }

    fn set_clock(&mut self, clock: OwnClock) {
        self.clock = Clock::Own(clock);
        self.signals.clock.send_replace(self.clock);
        self.is_dirty = true; // viewers' clocks follow the time in frames
        self.tell_connection();
    }
}

#[cfg(test)]
mod tests {
    use timeline::fact::{DeploymentFact, Kind, Meta, ReplicaSetFact, Seen};
    use timeline::view::{Summary, Tone, Verdict};
    use timeline::{Change, Fact};

    use super::*;
    use crate::hub::ListedDeployment;
    use crate::kube::{Health, Observed};

    fn hub() -> Hub {
        let signals = Signals {
            connection: signal::channel(Connection::default()).0,
            list: signal::Sender::new(List::default()),
            clock: signal::channel(Clock::Real).0,
        };
        Hub::new("prod".into(), Retention::default(), signals, Arc::default())
    }

    fn observe(hub: &mut Hub, at_millis: Millis, fact: Fact) {
        let observed = Box::new(Observed { at_millis, fact: Some(fact) });
        hub.event(SourceEvent::Recorded { observed, line: None });
    }

    fn deployment(uid: u128, name: &str) -> Fact {
        let (uid, name, namespace) = (Uid::from_bits(uid), name.into(), "shop".into());
        let meta = Meta { uid, name, namespace, ..Meta::default() };
        Fact::Deployment(Box::new(DeploymentFact { meta, ..DeploymentFact::default() }), Seen::Added)
    }

    fn set(uid: u128, owner: u128) -> Fact {
        let (uid, controller) = (Uid::from_bits(uid), Some(Uid::from_bits(owner)));
        let meta = Meta { uid, controller, namespace: "shop".into(), ..Meta::default() };
        Fact::ReplicaSet(Box::new(ReplicaSetFact { meta, ..ReplicaSetFact::default() }), Seen::Added)
    }

    #[tokio::test(start_paused = true)]
    async fn a_hub_whose_clock_stands_still_says_nothing_again() {
        let workload = Workload::deployment("prod", "shop", "web");
        for (speed, is_said_again) in [(1.0, true), (0.0, false)] {
            let mut hub = hub();
            hub.set_clock(OwnClock { start_millis: 0, started: Instant::now(), speed });
            let _subscription = hub.subscribe(workload.clone(), None);
            tokio::time::advance(Duration::from_secs(2)).await;
            hub.publish(Flush::Throttled);
            assert_eq!(hub.is_to_say_again(), is_said_again, "at speed {speed}");
            let topic = hub.topics.get_mut(&workload).unwrap();
            topic.push(&Change::DeploymentDeleted(Uid::from_bits(1), 0));
            assert!(hub.is_to_say_again(), "something happened");
        }
    }

    /// After a restart all viewers reconnect at once: the cost of each is that of its own topic, not of all topics.
    #[tokio::test(start_paused = true)]
    async fn a_new_viewer_makes_its_own_topic_publish_and_no_other() {
        let mut hub = hub();
        let [shop, bank] = ["shop", "bank"].map(|namespace| Workload::deployment("prod", namespace, "web"));
        let (_, mut shop_frames) = hub.subscribe(shop.clone(), None);
        let (_, bank_frames) = hub.subscribe(bank.clone(), None);
        hub.topics.get_mut(&shop).unwrap().push(&Change::DeploymentDeleted(Uid::from_bits(1), 0));
        drop(bank_frames);
        let _other = hub.subscribe(Workload::deployment("prod", "bank", "api"), None);
        assert!(shop_frames.is_empty() && hub.topics.contains_key(&bank) && hub.is_dirty, "all are published soon");
        let _again = hub.subscribe(shop.clone(), None);
        assert!(shop_frames.try_recv().is_ok(), "before the snapshot that has it");
        hub.publish(Flush::Throttled);
        assert!(shop_frames.is_empty() && !hub.topics.contains_key(&bank), "nobody follows it any more");
    }

    #[tokio::test]
    async fn owners_that_are_no_known_deployments_are_not_noted() {
        let mut hub = hub();
        let mut noted = |at_millis, fact| {
            observe(&mut hub, at_millis, fact);
            (hub.touched.len(), hub.outdated.len())
        };
        for number in 10..20 {
            assert_eq!(noted(1_000, set(number, 1_000 + number)), (0, 0));
        }
        assert_eq!(noted(2_000, deployment(1, "web")), (1, 1));
        assert_eq!(noted(3_000, set(30, 1)), (1, 1));
    }

    #[tokio::test]
    async fn changes_reach_the_topic_of_their_deployment_also_after_another_one_got_its_name() {
        let mut hub = hub();
        let workload = Workload::deployment("prod", "shop", "web");
        let is_behind = |hub: &Hub| hub.topics.get(&workload).is_some_and(Topic::is_behind);
        observe(&mut hub, 1_000, deployment(1, "web"));
        observe(&mut hub, 1_000, deployment(2, "api"));
        let (_, frames) = hub.subscribe(workload.clone(), None);
        assert_eq!(hub.followed, BTreeSet::from([Uid::from_bits(1)]));
        observe(&mut hub, 2_000, set(20, 2));
        assert!(!is_behind(&hub), "nobody follows that Deployment");
        observe(&mut hub, 2_000, set(10, 1));
        assert!(is_behind(&hub));
        observe(&mut hub, 3_000, deployment(3, "web"));
        hub.publish(Flush::Now);
        assert_eq!(hub.followed, BTreeSet::from([Uid::from_bits(3)]));
        assert!(!is_behind(&hub));
        observe(&mut hub, 4_000, set(30, 3));
        assert!(is_behind(&hub));
        drop(frames);
        hub.publish(Flush::Now);
        assert!(hub.followed.is_empty());
    }

    #[tokio::test]
    async fn what_was_known_before_a_restart_is_told_in_the_time_of_then() {
        let mut hub = hub();
        let heard_millis = clock::now_millis() - 3_600_000;
        hub.restore(InitialState { heard_millis: Some(heard_millis), ..InitialState::default() });
        assert_eq!(hub.now().millis, heard_millis, "the first list is made of it");
        hub.tell_connection();
        assert_eq!(hub.now().millis, heard_millis);
    }

    #[tokio::test]
    async fn a_kind_that_is_forbidden_since_a_restart_was_seen_last_before_it() {
        let mut hub = hub();
        let now_millis = clock::now_millis();
        let heard_millis = now_millis - 3_600_000;
        hub.restore(InitialState { heard_millis: Some(heard_millis), ..InitialState::default() });
        let stale = Health::Stale { since_millis: heard_millis + 1_000, retry_at_millis: None, why: String::new() };
        for (kind, before) in
            [(Kind::Pod, Health::Connecting { listed: 0 }), (Kind::Deployment, stale), (Kind::ReplicaSet, Health::Live)]
        {
            for health in [before, Health::Forbidden { verb: "list" }] {
                hub.event(SourceEvent::Health { kind, namespace: None, health });
            }
        }
        let since = |kind| hub.timeline.model().unseen_since(kind, "shop");
        assert_eq!([since(Kind::Pod), since(Kind::Deployment)], [0, 1_000].map(|after| Some(heard_millis + after)));
        assert!(since(Kind::ReplicaSet) >= Some(now_millis), "it was listed until now");
    }

    #[tokio::test]
    async fn lists_of_events_that_were_not_heard_are_no_gaps() {
        let mut hub = hub();
        for (kind, gaps) in [(Kind::Event, 0), (Kind::Pod, 1)] {
            let (namespace, earlier, objects) = (None, Vec::new(), Vec::new());
            let (gap_since_millis, at_millis) = (Some(1_000), 91_000);
            hub.event(SourceEvent::Reset { kind, namespace, earlier, objects, gap_since_millis, at_millis });
            assert_eq!(hub.counters.gaps.load(Ordering::Relaxed), gaps, "{kind:?}");
        }
    }

    /// The first request gets everything that is known by then, however soon it comes.
    #[tokio::test(start_paused = true)]
    async fn the_first_who_asks_for_the_list_gets_a_new_one() {
        let mut hub = hub();
        hub.outdated.insert(Uid::from_bits(1));
        let ask = |hub: &mut Hub| {
            hub.refresh_list();
            hub.is_list_outdated()
        };
        assert!(!ask(&mut hub));
        hub.outdated.insert(Uid::from_bits(1));
        assert!(ask(&mut hub), "a list is not made for each who asks");
        tokio::time::advance(LIST_EVERY).await;
        assert!(!ask(&mut hub));
    }

    /// A follower that left delays nothing, and a new one is served although nothing happens.
    #[tokio::test(start_paused = true)]
    async fn the_list_is_due_while_somebody_follows_it() {
        let mut hub = hub();
        hub.outdated.insert(Uid::from_bits(1));
        assert!(!hub.is_list_due());
        let follower = hub.signals.list.subscribe();
        assert!(hub.is_list_due());
        hub.publish_list();
        assert!(!hub.is_list_due() && hub.was_list_followed);
        drop(follower);
        hub.outdated.insert(Uid::from_bits(1));
        hub.look_again();
        assert!(!hub.is_list_due() && !hub.was_list_followed);
        hub.forget_deployment(Uid::from_bits(1));
        assert!(!hub.is_list_outdated());
    }

    /// A Deployment that is well may show "3 times in the last 5 min", one that is scaled to zero "still terminating".
    #[tokio::test(start_paused = true)]
    async fn sentences_of_the_list_that_change_by_time_are_looked_at_again() {
        let mut hub = hub();
        let lines = [
            (Tone::Ok, ""),
            (Tone::Ok, "why"),
            (Tone::Quiet, ""),
            (Tone::Quiet, "why"),
            (Tone::Busy, ""),
            (Tone::Bad, ""),
        ];
        for (number, (tone, why)) in (0..).zip(lines) {
            let verdict = Verdict { tone, why: why.to_owned(), ..Verdict::default() };
            let summary = Summary { uid: Uid::from_bits(number), verdict, ..Summary::default() };
            hub.listed.insert(ListedDeployment::new(summary, BTreeMap::new()));
        }
        hub.look_again();
        assert!(hub.outdated.iter().copied().eq([1, 3, 4, 5].map(Uid::from_bits)), "{:?}", hub.outdated);
    }
}
