//! One watched cluster behind a network with faults, in the test's own time and at the pace of the product, and what is promised at the
//! end of every fault. Nobody looks: no viewer is counted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::LocalBoxFuture;
use serde_json::{Value, json};
use server::hub::{Handle, HubReader};
use server::kube::access::Access;
use server::kube::{self, Cluster, Counters, Pace, SourceEvent};
use server::telemetry::clock::{self, OwnClock};
use timeline::fact::{Container, Kind};
use timeline::model::{Gap, Pod, PodNow, PodState};
use timeline::view::{self, Summary};
use timeline::wire::{Connection, ConnectionState};
use timeline::{Millis, Model};
use tokio::time::{Instant, sleep};

use super::viewer::Viewer;
use crate::common::network::Network;
use crate::live::support::{FakeApi, Fault, Verb, WATCHED, deployment, pod, replica_set};
use crate::live::viewers::web;

/// Longest time until the picture is right, after a fault has ended.
pub const CONVERGED_WITHIN: Duration = Duration::from_secs(5);
/// Longest time until the list says what is true by time alone.
const LIST_WITHIN: Duration = Duration::from_secs(6);
/// Most requests of one watch in a minute.
pub const REQUESTS_PER_MINUTE: usize = 60;

/// A fault, and what it may cost.
pub struct Row {
    /// Its number in the list of faults.
    pub number: &'static str,
    /// What happens.
    pub fault: &'static str,
    /// What is promised beside what is promised for each.
    pub promise: &'static str,
    /// Longest time until pages say so, in seconds; `None` where nothing is missed.
    pub said_within: Option<u64>,
    /// A gap covers all that happens meanwhile. Else nothing happens that no watch tells, and there is no gap.
    pub has_gap: bool,
    /// The other kinds are not touched.
    pub is_of_pods: bool,
    /// Whether lists are streamed, where that makes the fault; `None` where both are played.
    pub streams_lists: Option<bool>,
    /// Begins the fault and ends it.
    pub run: for<'s> fn(&'s Stage) -> LocalBoxFuture<'s, ()>,
}

/// What a fault cost.
#[derive(Clone, Copy)]
pub struct Measured {
    /// Time until pages said so.
    pub said: Option<Duration>,
    /// Time from its end until the picture was right.
    pub converged: Duration,
    /// Most requests of one watch in a minute.
    pub requests: usize,
}

impl Measured {
    /// The higher costs of two runs.
    pub fn max(self, other: Self) -> Self {
        Self {
            said: self.said.max(other.said),
            converged: self.converged.max(other.converged),
            requests: self.requests.max(other.requests),
        }
    }
}

/// A cluster that is watched.
pub struct Stage {
    pub api: FakeApi,
    /// What a list of it begins with.
    pub list_verb: Verb,
    pub network: Network,
    pub hub: Handle,
    viewer: Viewer,
    /// Connections, and since when.
    connections: Arc<Mutex<Vec<(Instant, Connection)>>>,
    /// When pods changed, and whether a watch tells that.
    changes: Mutex<Vec<(Millis, bool)>>,
    clock: OwnClock,
}

/// Starts a hub that watches through a network.
async fn watch(network: &Network, clock: OwnClock, page_size: u32) -> Handle {
    let counters = Arc::new(Counters::default());
    let (hub, events) = Handle::start("fake", counters.clone(), timeline::Retention::default());
    events.send(SourceEvent::Paced(clock)).await.unwrap();
    hub.read(|_| ()).await.unwrap();
    let cluster = Cluster {
        name: "fake".into(),
        access: Access::fixed(network.client(), Pace { page_size, ..Pace::default() }),
        events,
        counters,
        hides_messages: false,
        clock: hub.clock(),
        relist_requests: tokio::sync::watch::channel(0).1,
    };
    kube::start(&cluster, &Kind::ALL, &["shop".to_owned()]);
    hub
}

/// Waits in the test's own time; returns how long it took.
pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !condition().await {
        assert!(began.elapsed() < Duration::from_secs(300), "never came: {what}");
        sleep(Duration::from_millis(1)).await; // polling with a deadline
    }
    began.elapsed()
}

/// Whether a request asks for a list, streamed or not.
fn is_list(path: &str) -> bool {
    path.contains("sendInitialEvents=true") || !path.contains("watch=1")
}

pub fn is_live(connection: &Connection) -> bool {
    connection.state.is_live() && connection.forbidden.is_empty()
}

/// What exists, a line each, without when it was seen. Who lists now does not know a pod that was released.
fn existing(model: &Model) -> Vec<String> {
    let deployments = model.deployments.values().filter(|known| known.deleted_millis.is_none());
    let deployments = deployments.map(|known| format!("{} {} {:?}", known.uid, known.name, known.now));
    let sets = model.replica_sets.values().filter(|known| known.removed_millis.is_none());
    let sets = sets.map(|known| {
        let template = (&known.template_hash, &known.images, known.revision());
        format!("{} {} {:?} {template:?} {:?}", known.uid, known.name, known.owner, known.now)
    });
    let pods = model.pods.values().filter(|known| known.gone_millis().is_none() && known.owner.is_some());
    let pods = pods.map(|known| {
        let PodNow { node, reason, message, restarts, deletion_at_millis, deletion_cost, .. } = &*known.now;
        let now = (node, reason, message, restarts, deletion_at_millis, deletion_cost);
        let containers = known.now.containers.iter().cloned();
        let now_of = |container| Container { exits_before: 0, first_restart: None, ..container }; // without its past
        let containers: Vec<_> = containers.map(now_of).collect();
        format!("{} {} {:?} {} {now:?} {containers:?}", known.uid, known.name, known.owner, known.state().name())
    });
    let mut all: Vec<String> = deployments.chain(sets).chain(pods).collect();
    all.sort();
    all
}

/// The first line of each that the other lacks.
fn difference(ours: &[String], fresh: &[String]) -> String {
    let lacks = |lines: &[String], others: &[String]| {
        let line = lines.iter().find(|line| !others.contains(line)).cloned().unwrap_or_default();
        line.chars().take(400).collect::<String>()
    };
    format!("ours: {}\nfresh: {}", lacks(ours, fresh), lacks(fresh, ours))
}

impl Stage {
    /// A Deployment with six pods, which is watched and well, and followed by a viewer that the server does not count.
    async fn begin(streams_lists: bool) -> Self {
        let pods = (10..16).map(|number| pod(number, 2, &format!("web-{number}")));
        let objects = [deployment(1, 6), replica_set(2, 1, 6)].into_iter().chain(pods);
        Self::with(objects, clock::now_millis() + 1_000, 2, streams_lists).await
    }

    /// The same with these objects, at that time of the cluster, and lists in pages of that size or streamed.
    pub async fn with(
        objects: impl Iterator<Item = Value>,
        start_millis: Millis,
        page_size: u32,
        streams_lists: bool,
    ) -> Self {
        let (network, listener) = Network::new();
        let api = FakeApi::behind(listener);
        if streams_lists {
            api.stream_lists();
        }
        objects.for_each(|object| api.put(object));
        api.pages(usize::MAX, Duration::ZERO); // as many as are asked for
        let clock = OwnClock { start_millis, started: Instant::now(), speed: 1.0 };
        let hub = watch(&network, clock, page_size).await;
        until("live", async || is_live(&hub.connection().borrow())).await;
        let is_watch = |path: &str| path.contains("watch=1") && !is_list(path);
        let is_watched = |name: &str| network.requests().iter().any(|(_, path)| path.contains(name) && is_watch(path));
        until("every watch", async || WATCHED.iter().all(|name| is_watched(name))).await;
        sleep(Duration::from_secs(5)).await; // in the test's own time: the watches live
        let mut viewer = Viewer::of(web());
        viewer.come(&hub).await;
        let connections = Arc::<Mutex<Vec<_>>>::default();
        let (mut changed, all) = (hub.connection(), connections.clone());
        tokio::spawn(async move {
            while changed.changed().await.is_ok() {
                let now = changed.borrow_and_update().clone();
                all.lock().unwrap().push((Instant::now(), now));
            }
        });
        let list_verb = if streams_lists { Verb::Stream } else { Verb::List };
        Self { api, list_verb, network, hub, viewer, connections, changes: Mutex::default(), clock }
    }

    /// So many seconds pass.
    pub async fn pass(&self, seconds: u64) {
        sleep(Duration::from_secs(seconds)).await; // in the test's own time
    }

    /// A pod goes and another one comes.
    pub fn replace(&self, old: u64, new: u64) {
        self.api.delete(&pod(old, 2, &format!("web-{old}")));
        self.api.put(pod(new, 2, &format!("web-{new}")));
        self.changes.lock().unwrap().push((self.hub.now_millis(), true));
    }

    /// A pod goes, and no watch tells that.
    pub fn lose(&self, number: u64) {
        self.api.lose(&pod(number, 2, &format!("web-{number}")));
        self.changes.lock().unwrap().push((self.hub.now_millis(), false));
    }

    /// Each list of pods meets this.
    pub fn stand_lists(&self, fault: Option<Fault>) {
        for verb in [Verb::List, Verb::Next, Verb::Stream] {
            self.api.stand(verb, "pods", fault.clone());
        }
    }

    /// Each list and watch of pods meets this.
    pub fn stand_pods(&self, fault: Option<Fault>) {
        self.stand_lists(fault.clone());
        self.api.stand(Verb::Watch, "pods", fault);
        self.api.hang_up();
    }

    /// Each request meets this.
    pub fn stand_all(&self, fault: Option<Fault>) {
        self.api.stand_all(&[Verb::List, Verb::Next, Verb::Stream, Verb::Watch], fault.clone());
        self.api.stand(Verb::Version, "version", fault);
        self.api.hang_up();
    }

    /// Pods that exist, as far as is known.
    pub async fn pods(&self) -> usize {
        let count = |model: &Model| model.pods.values().filter(|pod| pod.gone_millis().is_none()).count();
        self.hub.read(move |reader| count(reader.timeline.model())).await.unwrap()
    }

    /// Lists of pods that were asked for. A list in pages counts once.
    pub fn lists(&self) -> usize {
        let of_pods = |path: &str| path.contains("/pods") && is_list(path) && !path.contains("continue=");
        self.network.requests().iter().filter(|(_, path)| of_pods(path)).count()
    }

    /// Waits until pods are listed once more.
    pub async fn until_list(&self) {
        let before = self.lists();
        until("a list", async || self.lists() > before).await;
    }

    /// Time until a change of a Deployment is known.
    async fn delay_of_deployments(&self, team: &str) -> Duration {
        let mut changed = deployment(1, 6);
        changed["metadata"]["labels"] = json!({ "team": team });
        self.api.put(changed);
        let team = team.to_owned();
        until("the Deployment", async || {
            let team = team.clone();
            let has = move |model: &Model| {
                model.deployments.values().any(|known| known.now.labels.get("team") == Some(&team))
            };
            self.hub.read(move |reader| has(reader.timeline.model())).await.unwrap()
        })
        .await
    }

    async fn gaps(&self) -> Vec<Gap> {
        self.hub
            .read(|reader| reader.timeline.model().deployments.values().flat_map(|known| known.gaps.clone()).collect())
            .await
            .unwrap()
    }

    /// Most requests of one watch in any minute since then. A list counts once: its later pages bring objects. One that is asked
    /// for again brought nothing, and counts.
    pub fn requests_per_minute(&self, since: Instant) -> usize {
        let (mut times, mut last_paths) = (BTreeMap::<String, Vec<Instant>>::new(), BTreeMap::new());
        for (at, path) in self.network.requests().into_iter().filter(|(at, path)| *at >= since && path != "/version") {
            let resource = path.split('?').next().unwrap().to_owned();
            let is_next_page = path.contains("continue=");
            let is_again = last_paths.insert(resource.clone(), path.clone()) == Some(path);
            if !is_next_page || is_again {
                times.entry(resource).or_default().push(at);
            }
        }
        let in_a_minute = |times: &[Instant], from: Instant| {
            times.iter().filter(|at| **at >= from && at.duration_since(from) < Duration::from_secs(60)).count()
        };
        let most = |times: &Vec<Instant>| times.iter().map(|from| in_a_minute(times, *from)).max();
        times.values().filter_map(most).max().unwrap_or(0)
    }

    /// Waits until what is known is what a new watch knows and pages say that it is live; returns how long that took.
    pub async fn converged(&self) -> Duration {
        let ended = Instant::now();
        let (network, listener) = Network::new();
        self.api.listen(listener);
        let other = watch(&network, self.clock, u32::MAX).await; // in one page
        until("a fresh list", async || is_live(&other.connection().borrow())).await;
        let known = async |hub: &Handle| hub.read(|reader| existing(reader.timeline.model())).await.unwrap();
        let limit = Instant::now() + 4 * CONVERGED_WITHIN;
        while !(is_live(&self.hub.connection().borrow()) && known(&self.hub).await == known(&other).await) {
            let state = || format!("{:?}", self.hub.connection().borrow().state);
            if Instant::now() > limit {
                panic!("never converged; {}\n{}", state(), difference(&known(&self.hub).await, &known(&other).await));
            }
            sleep(Duration::from_millis(10)).await; // polling with a deadline
        }
        let elapsed = ended.elapsed();
        let phantoms = |model: &Model| {
            let pods = model.pods.values().filter(|pod| pod.gone_millis().is_none());
            pods.map(|pod| pod.uid.to_string()).collect::<Vec<_>>()
        };
        let pods = self.hub.read(move |reader| phantoms(reader.timeline.model())).await.unwrap();
        let phantoms: Vec<_> = pods.into_iter().filter(|uid| !self.api.has("pods", uid)).collect();
        assert_eq!(phantoms, Vec::<String>::new(), "pods that do not exist");
        elapsed
    }

    /// States of the connection that pages told in that time, the one that it began with first.
    pub fn states_between(&self, from: Instant, to: Instant) -> Vec<ConnectionState> {
        let connections = self.connections.lock().unwrap();
        let first = connections.iter().rposition(|(at, _)| *at <= from).unwrap_or(0);
        let told = connections.iter().skip(first).take_while(|(at, _)| *at <= to);
        told.map(|(_, connection)| connection.state.clone()).collect()
    }

    /// The viewer's copy and the list are right, and states are in order.
    pub async fn check_order(&self) {
        self.viewer.check(&self.hub).await;
        self.check_list().await;
        let late = |model: &Model| {
            let is_legal = |pod: &Pod| {
                let ends = pod.states.iter().position(|(state, _)| *state == PodState::Gone);
                pod.states.is_sorted_by_key(|(_, at)| *at) && ends.is_none_or(|end| end + 1 == pod.states.len())
            };
            let pods = model.pods.values().filter(|pod| !is_legal(pod));
            pods.map(|pod| format!("{} {:?}", pod.name, pod.states)).collect::<Vec<_>>()
        };
        let late = self.hub.read(move |reader| late(reader.timeline.model())).await.unwrap();
        assert_eq!(late, Vec::<String>::new(), "states out of order");
    }

    /// The list says of each Deployment what is said now, but for what time alone has changed since it was looked at again.
    async fn check_list(&self) {
        let line = |summary: &Summary| {
            let Summary { verdict, revision, replaces, pods, desired, finished_millis, .. } = summary;
            let said = (&verdict.badge, verdict.tone, revision, replaces, pods, desired, finished_millis);
            format!("{} {} {said:?}", summary.uid, summary.images)
        };
        let expected = move |reader: &HubReader<'_>| {
            let model = reader.timeline.model();
            let existing = model.deployments.values().filter(|known| known.deleted_millis.is_none());
            let mut summaries: Vec<_> =
                existing.filter_map(|known| view::summary(model, known.uid, reader.now)).collect();
            summaries.sort_by(|one, other| one.place().cmp(&other.place()));
            summaries.iter().map(line).collect::<Vec<_>>()
        };
        let listed = async || self.hub.list().await.iter().map(|listed| line(&listed.summary)).collect::<Vec<_>>();
        let began = Instant::now();
        loop {
            let (listed, expected) = (listed().await, self.hub.read(expected).await.unwrap());
            if listed == expected {
                return;
            }
            assert!(began.elapsed() < LIST_WITHIN, "the list is wrong:\n{}", difference(&listed, &expected));
            sleep(Duration::from_millis(10)).await; // polling with a deadline
        }
    }

    async fn check_gaps(&self, row: &Row) {
        let (gaps, changes) = (self.gaps().await, self.changes.lock().unwrap().clone());
        let began = changes.first().map_or(0, |(at, _)| *at);
        let from_then: Vec<_> = gaps.iter().map(|gap| (gap.from_millis - began, gap.to_millis - began)).collect();
        if row.has_gap {
            let is_covered = |at: Millis| gaps.iter().any(|gap| (gap.from_millis..=gap.to_millis).contains(&at));
            assert!(!changes.is_empty(), "nothing happened");
            let uncovered: Vec<_> =
                changes.iter().filter(|(at, _)| !is_covered(*at)).map(|(at, _)| at - began).collect();
            assert!(uncovered.is_empty(), "no gap at {uncovered:?}; gaps {from_then:?}, in ms after the first change");
        } else {
            assert!(changes.iter().all(|(_, is_told)| *is_told), "a change that no watch tells and no gap");
            assert!(gaps.is_empty(), "gaps where nothing was missed: {from_then:?}, in ms after the first change");
        }
    }
}

/// Plays a fault and checks what is promised.
pub async fn play(row: &Row, streams_lists: bool) -> Measured {
    let stage = Stage::begin(streams_lists).await;
    let usual = stage.delay_of_deployments("before").await;
    let began = Instant::now();
    let other_kind = async {
        stage.pass(3).await;
        if row.is_of_pods {
            let delay = stage.delay_of_deployments("meanwhile").await;
            assert!(
                delay <= usual.mul_f64(1.1) + Duration::from_millis(1),
                "another kind is late: {usual:?} {delay:?}"
            );
        }
    };
    tokio::join!((row.run)(&stage), other_kind);
    let converged = stage.converged().await;
    let said =
        stage.connections.lock().unwrap().iter().find(|(at, is)| *at >= began && !is_live(is)).map(|(at, _)| *at);
    let said = said.map(|at| at.duration_since(began));
    let requests = stage.requests_per_minute(began);
    stage.check_order().await;
    stage.check_gaps(row).await;
    assert!(converged <= CONVERGED_WITHIN, "converged after {converged:?}");
    assert!(requests <= REQUESTS_PER_MINUTE, "{requests} requests of one watch in a minute");
    match row.said_within {
        Some(seconds) => {
            let limit = Duration::from_secs(seconds);
            assert!(said.is_some_and(|said| said <= limit), "said after {said:?}, not within {limit:?}");
        }
        None => assert_eq!(said, None, "{:?}", stage.connections.lock().unwrap().first()),
    }
    Measured { said, converged, requests }
}
