//! Viewers that come back: they get what they missed, or everything, and their copy is the server's.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use server::feed::recording::Recording;
use server::hub::{Handle, Update};
use server::kube::translate::Object;
use server::kube::{Observed, SourceEvent};
use server::telemetry::clock::{self, OwnClock};
use timeline::fact::{Fact, Kind, PodFact, Seen};
use timeline::viewer::{DeploymentCopy, Taken};
use timeline::wire::{self, ServerFrame};
use timeline::{Retention, Workload};
use tokio::time::Instant;

use crate::common;
use crate::common::fed::feed;
use crate::live::gaps::list;
use crate::live::kept::archive;
use crate::live::support::{FakeApi, Watched, deployment, pod, replica_set, shop_of, until_live};
use crate::live::viewers::web;

/// Parts of a recording, between which viewers come and go.
const PARTS: usize = 60;
/// Viewers that are away at once.
const AWAY: usize = 6;
/// Bytes of a frame that confirms where a copy stands.
const MOST_OF_NOTHING: usize = 32;
/// Most bytes of 20 restarts among 100 pods, in percent of the snapshot's. The goal is 5: they are 31 bytes each where a pod has about 100
/// in the snapshot, and the story has another line.
const MOST_PERCENT_OF_RESTARTS: usize = 9;
/// Frames that come while a laptop sleeps: more than are kept for a viewer.
const ASLEEP: i32 = 300;

/// Brings a copy up to date by the first frame after it came back. `true` if it got only what it missed.
async fn come_back(hub: &Handle, workload: &Workload, copy: &mut DeploymentCopy) -> bool {
    let first = hub.subscribe(workload, copy.position()).await.unwrap().0.frame;
    match wire::decode(&first).unwrap() {
        ServerFrame::Snapshot(snapshot) => {
            copy.take_snapshot(*snapshot);
            false
        }
        ServerFrame::Delta(delta) => {
            assert_eq!(copy.take_delta(delta), Taken::Fits);
            true
        }
        other => panic!("{other:?}"),
    }
}

/// A copy of a viewer that comes now.
async fn new(hub: &Handle, workload: &Workload) -> DeploymentCopy {
    let mut copy = DeploymentCopy::default();
    assert!(!come_back(hub, workload, &mut copy).await);
    copy
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_comes_back_at_any_time_is_the_servers() {
    let (mut resumed, mut renewed) = (0, 0);
    for (name, text) in common::recordings() {
        let observed = Recording::read(&text).observed;
        let retention = Retention { age_millis: i64::MAX / 2, ..Retention::default() };
        let (hub, events) = Handle::start("prod", Arc::default(), retention);
        let (mut copies, size) = (Vec::<(Workload, DeploymentCopy)>::new(), observed.len().div_ceil(PARTS));
        for part in observed.chunks(size) {
            feed(&events, part.to_vec()).await;
            // Time stands still, so that nothing happens between two questions.
            let start_millis = part.last().unwrap().at_millis;
            let clock = OwnClock { start_millis, started: Instant::now(), speed: 0.0 };
            events.send(SourceEvent::Played { name: name.clone(), clock }).await.unwrap();
            for (workload, copy) in &mut copies {
                let mut again = copy.clone();
                let is_resumed = come_back(&hub, workload, &mut again).await;
                let expected = new(&hub, workload).await;
                assert!(again.model == expected.model && again.said == expected.said, "{name}: {workload:?}");
                *(if is_resumed { &mut resumed } else { &mut renewed }) += 1;
                let nothing_new = hub.subscribe(workload, expected.position()).await.unwrap().0.frame;
                assert!(nothing_new.len() < MOST_OF_NOTHING, "{name}: {} bytes for nothing", nothing_new.len());
            }
            let workloads = hub.read(|reader| {
                let known = reader.timeline.model().deployments.values();
                known.map(|known| Workload::deployment("prod", &known.namespace, &known.name)).collect::<Vec<_>>()
            });
            for workload in workloads.await.unwrap() {
                copies.push((workload.clone(), new(&hub, &workload).await));
            }
            copies.drain(..copies.len().saturating_sub(AWAY));
        }
    }
    assert!(resumed > 100 && renewed > 100, "{resumed} got what they missed, {renewed} got everything");
}

#[tokio::test(start_paused = true)]
async fn who_was_away_for_ten_seconds_and_twenty_changes_gets_a_small_part_of_the_snapshot() {
    let (hub, events) = Handle::start("fake", Arc::default(), Retention::default());
    let at_millis = clock::now_millis();
    let pods: Vec<_> = (100..200).map(|number| pod(number, 2, &format!("web-{number}"))).collect();
    events.send(list(Kind::Deployment, &[deployment(1, 100)], None, at_millis)).await.unwrap();
    events.send(list(Kind::ReplicaSet, &[replica_set(2, 1, 100)], None, at_millis)).await.unwrap();
    events.send(list(Kind::Pod, &pods, None, at_millis)).await.unwrap();
    let mut copy = new(&hub, &web()).await;
    let snapshot = hub.subscribe(&web(), None).await.unwrap().0.frame;
    for (number, mut restarted) in (1..=20).zip(pods) {
        restarted["status"]["containerStatuses"][0]["restartCount"] = json!(1);
        let object = Object::decode(Kind::Pod, &restarted.to_string()).unwrap();
        let at_millis = at_millis + number * 500;
        events.send(SourceEvent::Object { object, seen: Seen::Modified, at_millis }).await.unwrap();
    }
    let missed = hub.subscribe(&web(), copy.position()).await.unwrap().0.frame;
    let ServerFrame::Delta(delta) = wire::decode(&missed).unwrap() else { panic!("everything") };
    assert_eq!(delta.changes.len(), 20);
    assert_eq!(copy.take_delta(delta), Taken::Fits);
    assert!(copy.model == new(&hub, &web()).await.model);
    let (missed, snapshot) = (missed.len(), snapshot.len());
    assert!(missed * 100 <= snapshot * MOST_PERCENT_OF_RESTARTS, "{missed} bytes; the snapshot has {snapshot}");
}

async fn site() -> FakeApi {
    let api = shop_of(10, &[]).await;
    (10..20).for_each(|number| api.put(pod(number, 2, &format!("web-{number}"))));
    api
}

async fn until_pods(watched: &Watched, numbers: std::ops::Range<u64>) {
    let names: Vec<String> = numbers.map(|number| format!("web-{number}")).collect();
    watched.until_pods(&names.iter().map(String::as_str).collect::<Vec<_>>()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restart_who_comes_back_gets_what_was_missed() {
    let (api, folder) = (site().await, tempfile::tempdir().unwrap());
    let first = archive(folder.path());
    let watched = Watched::kept(&api, &first);
    until_pods(&watched, 10..20).await;
    until_live(&watched.hub).await;
    let mut known = new(&watched.hub, &web()).await;
    first.checkpoint().await;
    api.put(pod(20, 2, "web-20"));
    until_pods(&watched, 10..21).await;
    // Changes after the last checkpoint may be others in the next life.
    let mut ahead = new(&watched.hub, &web()).await;
    first.close().await;
    drop(watched);
    api.delete(&pod(10, 2, "web-10"));
    let second = archive(folder.path());
    let watched = Watched::kept(&api, &second);
    until_pods(&watched, 11..21).await;
    until_live(&watched.hub).await;
    assert!(come_back(&watched.hub, &web(), &mut known).await, "what it missed");
    assert!(!come_back(&watched.hub, &web(), &mut ahead).await, "everything");
    let expected = new(&watched.hub, &web()).await;
    assert!(known.model == expected.model && ahead.model == expected.model);
}

#[tokio::test(start_paused = true)]
async fn who_took_nothing_for_a_while_gets_a_snapshot_and_goes_on_from_there() {
    let text = common::recording("rollout");
    let observed = Recording::read(&text).observed;
    let (hub, events) = Handle::start("prod", Arc::default(), Retention::default());
    feed(&events, observed.clone()).await;
    let live = hub.read(|reader| {
        let pods = reader.timeline.model().pods.values();
        pods.filter(|pod| pod.gone_millis().is_none()).map(|pod| pod.uid).collect::<Vec<_>>()
    });
    let live = live.await.unwrap();
    let last = observed.iter().rev().find_map(|observed| match &observed.fact {
        Some(Fact::Pod(pod, _)) if live.contains(&pod.meta.uid) => Some((observed.at_millis, pod)),
        _ => None,
    });
    let (at_millis, last) = last.unwrap();
    let workload = Workload::deployment("prod", "rollout", "nginx");
    let (_, mut followed) = hub.follow(workload.clone(), None).await.unwrap();
    for number in 1..=ASLEEP {
        let pod = PodFact { node: Some(format!("node-{number}")), ..(**last).clone() };
        let fact = Some(Fact::Pod(Box::new(pod), Seen::Modified));
        feed(&events, vec![Observed { at_millis: at_millis + 60_000, fact }]).await;
        tokio::time::sleep(Duration::from_millis(60)).await; // each is a frame of its own
    }
    assert_eq!(followed.next().await.unwrap(), Update::Missed);
    let ServerFrame::Snapshot(snapshot) = wire::decode(&followed.resubscribe().await.unwrap().frame).unwrap() else {
        panic!("everything")
    };
    let copy = DeploymentCopy::from(*snapshot);
    assert!(copy.model == new(&hub, &workload).await.model);
    let node = Some(format!("node-{ASLEEP}"));
    assert!(copy.model.pods.values().any(|pod| pod.now.node == node));
}
