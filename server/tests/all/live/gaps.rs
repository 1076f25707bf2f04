//! A gap is drawn where nobody looked, and only there.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;
use server::hub::Handle;
use server::kube::SourceEvent;
use server::kube::translate::Object;
use server::telemetry::clock;
use timeline::Retention;
use timeline::fact::Kind;
use timeline::model::Gap;

use crate::common::until::until;
use crate::live::faults::stage::{self, Stage};
use crate::live::support::{Fault, Verb, Watched, deployment, pod, replica_set, shop_of};

/// A list of a kind in all namespaces.
pub fn list(kind: Kind, objects: &[Value], gap_since_millis: Option<i64>, at_millis: i64) -> SourceEvent {
    let objects = objects.iter().map(|object| Object::decode(kind, &object.to_string()).unwrap()).collect();
    SourceEvent::Reset { kind, namespace: None, earlier: Vec::new(), objects, gap_since_millis, at_millis }
}

async fn gaps(hub: &Handle) -> Vec<Gap> {
    hub.read(|reader| reader.timeline.model().deployments.values().flat_map(|d| d.gaps.clone()).collect())
        .await
        .unwrap()
}

#[tokio::test]
async fn events_that_are_listed_again_draw_no_gap_and_change_nothing() {
    // What is observed is of long ago, and would be pruned, which is a change too, at some time before or after the lists.
    let retention = Retention { age_millis: i64::MAX / 2, ..Retention::default() };
    let (hub, source) = Handle::start("fake", Arc::default(), retention);
    let facts = || hub.counters().facts.load(Ordering::Relaxed);
    let changes = || hub.counters().changes.load(Ordering::Relaxed);
    source.send(list(Kind::Deployment, &[deployment(1, 2)], None, 1_000)).await.unwrap();
    source.send(list(Kind::Event, &[], None, 1_000)).await.unwrap();
    until("the first lists", async || facts() == 3).await;
    let before = changes();
    for second in 2..10 {
        source.send(list(Kind::Event, &[], Some(1_000), second * 1_000)).await.unwrap();
    }
    until("more lists of Events", async || facts() == 11).await;
    assert_eq!((gaps(&hub).await, changes()), (Vec::new(), before));
    // Another kind that is listed again does draw one.
    source.send(list(Kind::Pod, &[], Some(1_000), 10_000)).await.unwrap();
    until("a list of pods", async || facts() == 12).await;
    assert_eq!(gaps(&hub).await, [Gap { from_millis: 1_000, to_millis: 10_000 }]);
}

#[tokio::test]
async fn events_that_may_be_listed_and_not_watched_draw_no_gap() {
    let api = shop_of(1, &["web-a"]).await;
    api.stand(Verb::Watch, "events", Some(Fault::Status(403)));
    let watched = Watched::start(&api, &[], |_| {});
    watched.until_pods(&["web-a"]).await;
    until("lists of Events", async || api.requests(Verb::List, "events") >= 4).await;
    assert_eq!(gaps(&watched.hub).await, []);
}

/// Pressing Ctrl-Z, or `docker pause`: what the API server sent waits, and is read when the process goes on.
#[tokio::test(start_paused = true)]
async fn the_time_in_which_the_process_was_stopped_is_a_gap_whatever_waited_for_it() {
    const STOPPED: Duration = Duration::from_secs(600);
    for is_closed in [true, false] {
        let pods = (10..13).map(|number| pod(number, 2, &format!("web-{number}")));
        let objects = [deployment(1, 3), replica_set(2, 1, 3)].into_iter().chain(pods);
        let stage = Stage::with(objects, clock::now_millis() + 1_000, 500).await;
        // Each kind that leaves a gap has heard something: no watch of it is mute.
        stage.replace(10, 20);
        stage.api.put(deployment(1, 3));
        stage.api.put(replica_set(2, 1, 3));
        stage.pass(2).await;
        let stopped_millis = stage.hub.now_millis();
        if is_closed {
            stage.api.fault(Verb::Watch, "pods", Fault::Status(410));
            stage.api.hang_up();
        } else {
            stage.replace(11, 21);
            stage.api.expire("pods");
        }
        tokio::time::advance(STOPPED).await; // nothing of this process runs meanwhile
        stage::until("a gap", async || !gaps(&stage.hub).await.is_empty()).await;
        let gaps = gaps(&stage.hub).await;
        let [Gap { from_millis, to_millis }] = gaps.as_slice() else { panic!("{gaps:?}") };
        let is_covered = *from_millis <= stopped_millis && *to_millis >= stopped_millis + 599_000;
        assert!(is_covered, "closed {is_closed}: stopped at {stopped_millis}, {gaps:?}");
    }
}
