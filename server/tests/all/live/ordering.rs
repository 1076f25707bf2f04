//! Who hears that a cluster is live has heard before what it holds; a verdict comes with the change that made it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use serde_json::{Value, json};
use server::hub::{FollowedDeployment, Handle, ListedDeployment, Update};
use server::kube::translate::Object;
use server::kube::{Health, SourceEvent};
use server::telemetry::clock::OwnClock;
use server::web::state::Site;
use timeline::Workload;
use timeline::fact::{Kind, Seen};
use timeline::list::Group;
use timeline::verdict::KubectlVerdict;
use timeline::viewer::{DeploymentCopy, Taken};
use timeline::wire::{self, ConnectionState, Scope, ServerFrame};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Message;

use crate::common::until::until;
use crate::live::program::{follow, serve_router};
use crate::live::support::{deployment, pod, replica_set};
use crate::pages::site::site_of;

/// A hub whose source is the test.
struct Source {
    hub: Handle,
    events: mpsc::Sender<SourceEvent>,
    now_millis: i64,
}

impl Source {
    fn new() -> Self {
        let (hub, events) = Handle::start("fake", std::sync::Arc::default(), timeline::Retention::default());
        Self { hub, events, now_millis: server::telemetry::clock::now_millis() }
    }

    async fn health(&self, health: Health) {
        let event = SourceEvent::Health { kind: Kind::Deployment, namespace: None, health };
        self.events.send(event).await.unwrap();
    }

    async fn stale(&self) {
        self.health(Health::Stale { since_millis: 1, retry_at_millis: Some(2), why: "refused".into() }).await;
    }

    /// A list is complete, and the watch that follows it is well.
    async fn listed(&mut self, objects: &[Value]) {
        self.now_millis += 1;
        let event = SourceEvent::Reset {
            kind: Kind::Deployment,
            namespace: None,
            earlier: Vec::new(),
            objects: objects.iter().map(|value| object(Kind::Deployment, value)).collect(),
            gap_since_millis: None,
            at_millis: self.now_millis,
        };
        self.events.send(event).await.unwrap();
        self.health(Health::Live).await;
    }

    async fn seen(&mut self, value: &Value) {
        self.now_millis += 1;
        self.object(Kind::Deployment, Seen::Added, value).await;
    }

    async fn object(&self, kind: Kind, seen: Seen, value: &Value) {
        let (object, at_millis) = (object(kind, value), self.now_millis);
        self.events.send(SourceEvent::Object { object, seen, at_millis }).await.unwrap();
    }
}

fn object(kind: Kind, value: &Value) -> Object {
    Object::decode(kind, &value.to_string()).unwrap()
}

/// The Deployment `web` at a generation: the even ones are rolled out, the odd ones are not.
fn web(generation: u64) -> Value {
    let mut web = deployment(1, 2);
    web["metadata"]["generation"] = json!(generation);
    web["status"]["observedGeneration"] = json!(generation);
    web["status"]["updatedReplicas"] = json!(if generation.is_multiple_of(2) { 2 } else { 0 });
    web
}

/// What a viewer knows.
#[derive(Default)]
struct Viewer(DeploymentCopy);

impl Viewer {
    fn take(&mut self, frame: ServerFrame) {
        match frame {
            ServerFrame::Snapshot(snapshot) => drop(self.0.take_snapshot(*snapshot)),
            ServerFrame::Delta(delta) => assert_eq!(self.0.take_delta(delta), Taken::Fits),
            _ => {}
        }
    }

    /// Hears until the connection is such.
    async fn until(&mut self, followed: &mut FollowedDeployment, is_wanted: impl Fn(&ConnectionState) -> bool) {
        loop {
            match followed.next().await.unwrap() {
                Update::Frame(bytes) => self.take(decoded(&bytes)),
                Update::Connection(connection) if is_wanted(&connection.state) => return,
                Update::Connection(_) => {}
                Update::Missed => panic!("nothing was missed"),
            }
        }
    }

    fn verdict(&self) -> Option<KubectlVerdict> {
        self.0.said.view.as_ref().map(|view| view.verdict.kubectl)
    }
}

fn wanted(generation: u64) -> Option<KubectlVerdict> {
    Some(if generation.is_multiple_of(2) { KubectlVerdict::Complete } else { KubectlVerdict::Updating })
}

#[tokio::test]
async fn a_cluster_that_becomes_live_again_is_told_after_its_new_list() {
    let mut source = Source::new();
    source.listed(&[web(2)]).await;
    let (first, mut followed) = source.hub.follow(crate::live::viewers::web(), None).await.unwrap();
    let mut copy = Viewer::default();
    copy.take(decoded(&first.frame));
    for generation in 3..40 {
        source.stale().await;
        copy.until(&mut followed, |state| matches!(state, ConnectionState::Stale { .. })).await;
        source.listed(&[web(generation)]).await;
        copy.until(&mut followed, ConnectionState::is_live).await;
        assert_eq!(copy.verdict(), wanted(generation), "generation {generation}");
    }
}

fn decoded(bytes: &Bytes) -> ServerFrame {
    wire::decode(bytes).unwrap()
}

#[tokio::test]
async fn a_verdict_comes_with_the_change_that_made_it() {
    let mut source = Source::new();
    source.listed(&[web(2)]).await;
    let (first, mut followed) = source.hub.follow(crate::live::viewers::web(), None).await.unwrap();
    let mut copy = Viewer::default();
    copy.take(decoded(&first.frame));
    for generation in 3..12 {
        source.seen(&web(generation)).await;
        loop {
            let next = tokio::time::timeout(Duration::from_secs(20), followed.next()).await.unwrap();
            let Update::Frame(bytes) = next.unwrap() else { continue };
            let frame = decoded(&bytes);
            let is_change = matches!(&frame, ServerFrame::Delta(delta) if !delta.changes.is_empty());
            copy.take(frame);
            if is_change {
                break;
            }
        }
        assert_eq!(copy.verdict(), wanted(generation), "generation {generation}");
    }
}

#[tokio::test]
async fn what_changes_of_a_replica_set_with_pods_is_sent_as_a_change() {
    let source = Source::new();
    let seen = async |kind: Kind, value: Value| source.object(kind, Seen::Added, &value).await;
    seen(Kind::Deployment, deployment(1, 1)).await;
    seen(Kind::ReplicaSet, replica_set(2, 1, 1)).await;
    seen(Kind::Pod, pod(10, 2, "web-a")).await;
    let pods = async || source.hub.read(|reader| reader.timeline.model().pods.len()).await.unwrap();
    until("the pod", async || pods().await == 1).await;
    let (_, mut followed) = source.hub.follow(crate::live::viewers::web(), None).await.unwrap();
    seen(Kind::ReplicaSet, replica_set(2, 1, 2)).await;
    let changes = async {
        loop {
            let Update::Frame(bytes) = followed.next().await.unwrap() else { continue };
            match decoded(&bytes) {
                ServerFrame::Delta(delta) if delta.changes.is_empty() => {}
                ServerFrame::Delta(delta) => return delta.changes,
                other => panic!("{other:?}"),
            }
        }
    };
    let changes = tokio::time::timeout(Duration::from_secs(20), changes).await.unwrap();
    assert!(changes.iter().any(|change| matches!(change, timeline::Change::Scale(..))), "{changes:?}");
}

#[tokio::test]
async fn what_another_deployment_adopts_reaches_who_follows_that_one() {
    let source = Source::new();
    let seen = async |kind: Kind, value: Value| source.object(kind, Seen::Modified, &value).await;
    let named = |mut value: Value, name: &str| {
        value["metadata"]["name"] = json!(name);
        value
    };
    // One Deployment keeps a ReplicaSet of its own, and gives away an empty one and a pod.
    for (number, name) in [(1, "web"), (2, "other")] {
        seen(Kind::Deployment, named(deployment(number, 1), name)).await;
    }
    for (number, owner, name) in [(11, 1, "web-1"), (12, 2, "other-1"), (13, 2, "other-2")] {
        seen(Kind::ReplicaSet, named(replica_set(number, owner, 0), name)).await;
    }
    seen(Kind::Pod, pod(20, 12, "released")).await;
    let pods = async || source.hub.read(|reader| reader.timeline.model().pods.len()).await.unwrap();
    until("the pod", async || pods().await == 1).await;
    let (first, mut followed) = source.hub.follow(crate::live::viewers::web(), None).await.unwrap();
    let ServerFrame::Snapshot(snapshot) = decoded(&first.frame) else { panic!("no snapshot") };
    let mut copy = DeploymentCopy::from(*snapshot);
    let known = |copy: &DeploymentCopy| (copy.model.replica_sets.len(), copy.model.pods.len());
    assert_eq!(known(&copy), (1, 0));
    let mut until_known = async |expected: (usize, usize)| {
        let frames = async {
            while known(&copy) != expected {
                let Update::Frame(bytes) = followed.next().await.unwrap() else { continue };
                match decoded(&bytes) {
                    ServerFrame::Snapshot(snapshot) => drop(copy.take_snapshot(*snapshot)),
                    ServerFrame::Delta(delta) => assert_eq!(copy.take_delta(delta), Taken::Fits),
                    other => panic!("{other:?}"),
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), frames).await.unwrap();
    };
    seen(Kind::ReplicaSet, named(replica_set(13, 1, 0), "other-2")).await;
    until_known((2, 0)).await;
    seen(Kind::Pod, pod(20, 11, "released")).await;
    until_known((2, 1)).await;
}

#[tokio::test]
async fn the_time_of_a_cluster_does_not_go_back_and_is_otherwise_as_it_is_told() {
    let source = Source::new();
    let stands = async |at_millis| {
        let clock = OwnClock { start_millis: at_millis, started: tokio::time::Instant::now(), speed: 0.0 };
        source.events.send(SourceEvent::Paced(clock)).await.unwrap();
        source.hub.read(|reader| reader.now_millis).await.unwrap()
    };
    let before = server::telemetry::clock::now_millis();
    let first = stands(before - 60_000).await;
    assert!((before..=server::telemetry::clock::now_millis()).contains(&first), "{before} {first}");
    assert_eq!(stands(first + 3_600_000).await, first + 3_600_000, "it may go ahead");
    assert_eq!(stands(first).await, first + 3_600_000, "and not back");
}

/// Polls a condition and lets no time pass where that stands still; fails after a deadline that only a defect reaches.
async fn at_once(what: &str, condition: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(20), "never came: {what}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_happens_within_fifty_milliseconds_goes_out_together() {
    let mut source = Source::new();
    let hub = source.hub.clone();
    let facts = || hub.counters().facts.load(Ordering::Relaxed);
    let frames = || hub.counters().frames.load(Ordering::Relaxed);
    source.listed(&[web(2)]).await;
    at_once("the list", || facts() == 2 && hub.connection().borrow().state.is_live()).await;
    let (_, mut followed) = hub.follow(crate::live::viewers::web(), None).await.unwrap();
    let before = frames();
    for generation in 3..23 {
        let known = facts();
        source.seen(&web(generation)).await;
        at_once("one more", || facts() > known).await;
    }
    assert_eq!(frames(), before, "no time has passed");
    let next = async {
        loop {
            let Update::Frame(bytes) = followed.next().await.unwrap() else { continue };
            match decoded(&bytes) {
                ServerFrame::Delta(delta) => return delta,
                other => panic!("{other:?}"),
            }
        }
    };
    let delta = tokio::time::timeout(Duration::from_secs(20), next).await.unwrap();
    assert!(delta.changes.len() >= 20, "{delta:?}");
    assert_eq!(frames(), before + 1);
}

#[tokio::test]
async fn the_list_is_told_anew_when_what_is_said_or_a_label_is_another() {
    let mut source = Source::new();
    source.listed(&[web(2)]).await;
    let list = source.hub.follow_list();
    let told = |generation, team: Option<&str>| {
        let is_it = |listed: &Arc<ListedDeployment>| {
            let label = listed.labels.get("team").map(String::as_str);
            (Some(listed.summary.verdict.kubectl), label) == (wanted(generation), team)
        };
        list.borrow().iter().any(is_it)
    };
    until("the list", async || told(2, None)).await;
    source.seen(&web(3)).await;
    until("another verdict", async || told(3, None)).await;
    let mut labelled = web(3);
    labelled["metadata"]["labels"] = json!({ "team": "a" });
    source.seen(&labelled).await;
    until("another label", async || told(3, Some("a"))).await;
}

/// What a session sends for a scope, frame by frame.
async fn session(source: &Source, cluster: &str) -> impl futures::Stream<Item = ServerFrame> + Unpin + use<> {
    let rollcast = site_of(vec![source.hub.clone()], Site::default());
    let address = serve_router(server::web::http::router(rollcast)).await;
    let socket = follow(address, [Scope::Workload(Workload::deployment(cluster, "shop", "web"))]).await;
    Box::pin(socket.filter_map(async |message| match message.unwrap() {
        Message::Binary(bytes) => Some(wire::decode(&bytes).unwrap()),
        _ => None,
    }))
}

#[tokio::test]
async fn a_viewer_who_hears_that_a_starting_server_is_live_knows_what_there_is() {
    for _ in 0..20 {
        let mut source = Source::new();
        source.health(Health::Connecting { listed: 0 }).await;
        let mut frames = session(&source, "fake").await;
        let mut copy = Viewer::default();
        let mut is_listed = false;
        loop {
            let frame = frames.next().await.unwrap();
            copy.take(frame.clone());
            match frame {
                ServerFrame::Connection { connection, .. } if connection.state.is_live() => break,
                ServerFrame::Snapshot(_) if !is_listed => {
                    is_listed = true;
                    source.listed(&[web(2)]).await;
                }
                _ => {}
            }
        }
        assert!(copy.0.deployment.is_some(), "live, and the list not yet told");
    }
}

#[tokio::test]
async fn who_follows_a_cluster_that_is_not_watched_is_told_so() {
    let source = Source::new();
    let mut frames = session(&source, "renamed").await;
    let told = loop {
        match frames.next().await.unwrap() {
            ServerFrame::Connection { cluster, connection } => break (cluster, connection.state),
            ServerFrame::Hello { .. } => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(told, ("renamed".to_owned(), ConnectionState::Unknown));
}

/// Nobody follows the list here: each answer is as new as its question, and what stood in it more than a minute ago moves no line.
#[tokio::test(start_paused = true)]
async fn a_list_that_nobody_follows_is_made_when_somebody_asks() {
    let mut source = Source::new();
    let clock = OwnClock { start_millis: source.now_millis, started: Instant::now(), speed: 1.0 };
    source.events.send(SourceEvent::Paced(clock)).await.unwrap();
    source.listed(&[web(2)]).await;
    assert_eq!(source.hub.list().await.len(), 1, "who hears that it is live finds what there is");
    let available = |pods: u32| {
        let mut web = web(2);
        web["status"]["availableReplicas"] = json!(pods);
        web
    };
    // The second time that it is well again within a minute it stays where it is.
    for (apart, group) in [(14, Group::InProgress), (61, Group::Stable)] {
        for (pods, wanted) in [(1, Group::InProgress), (2, Group::Stable), (1, Group::InProgress), (2, group)] {
            source.seen(&available(pods)).await;
            tokio::time::advance(Duration::from_millis(250)).await; // it is made at most that often
            let list = source.hub.list().await;
            let [web] = list.as_slice() else { panic!("{list:?}") };
            assert_eq!(web.group(source.hub.now_millis()), wanted, "{pods} available, looked at {apart} s apart");
            tokio::time::advance(Duration::from_secs(apart)).await;
        }
    }
}
