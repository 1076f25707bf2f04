//! A stream on which nothing happens stays open behind proxies, and one with frames that are none is closed with a reason.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::Message;
use futures::StreamExt;
use server::hub::Handle;
use server::kube::Observed;
use server::web::session::StreamRequest;
use server::web::state::Site;
use timeline::fact::{DeploymentFact, Meta, ReplicaSetFact, Seen};
use timeline::wire::{MAX_VIEWER_FRAME, REFUSED, ServerFrame};
use timeline::{Fact, Retention, Uid, Workload};
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::error::CapacityError;

use crate::common::fed::feed;
use crate::pages::people::{Heard, Said, follow, hear, serve};
use crate::pages::site::{everything, site_of};

async fn stream() -> (Said, Heard) {
    let rollcast = site_of(Vec::new(), Site::default());
    serve(everything(&rollcast).await, StreamRequest::default())
}

#[tokio::test(start_paused = true)]
async fn within_a_minute_both_sides_send_something() {
    let (said, mut heard) = stream().await;
    let began = Instant::now();
    let (mut last, mut last_ping) = (began, began);
    while began.elapsed() < Duration::from_secs(3_600) {
        let message = heard.next().await.expect("the stream stays open");
        assert!(last.elapsed() < Duration::from_secs(10), "{:?}", last.elapsed());
        last = Instant::now();
        // Whoever gets a ping answers.
        if let Message::Ping(bytes) = message {
            last_ping = last;
            said.unbounded_send(Ok(Message::Pong(bytes))).unwrap();
        }
        assert!(last_ping.elapsed() < Duration::from_secs(30), "{:?}", last_ping.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn no_heartbeat_follows_a_frame_of_a_deployment_at_once() {
    let retention = Retention { age_millis: i64::MAX / 2, ..Retention::default() };
    let (hub, events) = Handle::start("prod", Arc::default(), retention);
    let observe = async |fact| feed(&events, vec![Observed { at_millis: 1_000, fact: Some(fact) }]).await;
    let meta = |uid, controller| Meta {
        uid: Uid::from_bits(uid),
        controller,
        namespace: "shop".into(),
        name: "web".into(),
        ..Meta::default()
    };
    let deployment = DeploymentFact { meta: meta(1, None), ..DeploymentFact::default() };
    observe(Fact::Deployment(Box::new(deployment), Seen::Added)).await;
    let rollcast = site_of(vec![hub], Site::default());
    let (said, mut heard) = serve(everything(&rollcast).await, StreamRequest::default());
    follow(&said, Workload::deployment("prod", "shop", "web"));
    let mut heartbeats = async |lasts: Duration| {
        let (until, mut count) = (Instant::now() + lasts, 0);
        while let Ok(frame) = tokio::time::timeout_at(until, hear(&mut heard)).await {
            count += usize::from(matches!(frame, ServerFrame::Heartbeat { .. }));
        }
        count
    };
    heartbeats(Duration::from_secs(1)).await; // those beside the first frames
    let mut beside_frames = 0;
    for uid in 10..46 {
        let set = ReplicaSetFact { meta: meta(uid, Some(Uid::from_bits(1))), ..ReplicaSetFact::default() };
        observe(Fact::ReplicaSet(Box::new(set), Seen::Added)).await;
        beside_frames += heartbeats(Duration::from_millis(500)).await;
    }
    assert_eq!((beside_frames, heartbeats(Duration::from_secs(20)).await), (0, 5));
}

#[tokio::test(start_paused = true)]
async fn a_viewer_that_answers_no_ping_is_gone_after_three_minutes() {
    let (_said, mut heard) = stream().await;
    let began = Instant::now();
    while heard.next().await.is_some() {}
    assert_eq!(began.elapsed().as_secs(), 180);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_frame_is_refused_with_a_reason() {
    let too_large = CapacityError::MessageTooLong { size: MAX_VIEWER_FRAME + 1, max_size: MAX_VIEWER_FRAME };
    let kinds = [
        (Ok(Message::Binary(vec![0xff; 100].into())), "this is not a frame"),
        (Ok(Message::Text("{}".into())), "this is not a frame"),
        (Err(axum::Error::new(Error::Capacity(too_large))), "too large: at most 4096 bytes"),
    ];
    for (message, words) in kinds {
        let (said, mut heard) = stream().await;
        said.unbounded_send(message).unwrap();
        let reason = loop {
            if let Message::Close(reason) = heard.next().await.expect("a reason comes first") {
                break reason.unwrap();
            }
        };
        assert!(reason.code == REFUSED && reason.reason.contains(words), "{}: {}", reason.code, reason.reason);
    }
}
