//! A gap is drawn where nobody looked, and only there.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::Value;
use server::hub::Handle;
use server::kube::SourceEvent;
use server::kube::translate::Object;
use timeline::Retention;
use timeline::fact::Kind;
use timeline::model::Gap;

use crate::common::until::until;
use crate::live::support::{Fault, Verb, Watched, deployment, shop_of};

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
