//! Rollouts that are over and were made again: what somebody has is not made a second time, and there are only so many.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::extract::ws::Message;
use axum::http::StatusCode;
use futures::future::join_all;
use futures::{FutureExt, StreamExt};
use server::history::rollout_cache::ROLLOUTS_PER_CLIENT;
use server::hub::Handle;
use server::web::limits::Limit;
use server::web::session::StreamRequest;
use timeline::Workload;
use timeline::address;
use timeline::list::{Query, Window};
use timeline::wire::{self, HEARTBEAT_SECONDS, Scope, ServerFrame, ViewerFrame};
use tokio::time::Instant;

use crate::pages::kept::kept;
use crate::pages::people::{follow, hear, say, serve};
use crate::pages::site::{everything, fetch};

#[tokio::test]
async fn a_rollout_that_somebody_has_is_not_made_again_whatever_is_looked_at_meanwhile_and_though_it_goes_on() {
    let kept = kept();
    let view = everything(&kept.rollcast).await;
    let open = async |workload: &Workload| view.hub(workload).await.unwrap();
    let all: Vec<Workload> = kept.rollouts.iter().map(|rollout| rollout.by_itself()).collect();
    let (mut first, mut unlike) = (Vec::new(), BTreeSet::new());
    for workload in all.iter().take(4) {
        first.push(open(workload).await);
    }
    for workload in &all {
        let (one, two) = (open(workload).await, open(workload).await);
        assert!(one.is_same(&two), "{workload:?} is made once for both");
        unlike.insert(one.now_millis());
    }
    assert!(unlike.len() > 20, "more than are held: {}", unlike.len());
    for (workload, known) in all.iter().zip(&first) {
        assert!(open(workload).await.is_same(known), "{workload:?}");
    }
}

#[tokio::test]
async fn so_many_are_there_at_once_and_who_would_have_one_more_is_told_to_come_again() {
    let kept = kept();
    let view = everything(&kept.rollcast).await;
    let mut had: Vec<Handle> = Vec::new();
    let mut full = None;
    for rollout in &kept.rollouts {
        match view.hub(&rollout.by_itself()).await {
            Some(hub) => had.push(hub),
            None => full = full.or(Some(rollout)),
        }
    }
    assert_eq!(had.len(), 48);
    let path = address::workload(&full.unwrap().by_itself());
    let refused = fetch(&kept.rollcast, &path).await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{}", refused.text);
    assert!(refused.text.contains("Too many past rollouts and moments are open"), "{}", refused.text);
    had.pop();
    assert_eq!(fetch(&kept.rollcast, &path).await.status, StatusCode::OK);
}

#[tokio::test]
async fn one_client_follows_so_many_and_leaves_room_for_the_others() {
    let kept = kept();
    let view = everything(&kept.rollcast).await;
    let at = |last: u8| view.clone().from_address(Some([10, 0, 0, last].into()));
    let (greedy, other) = (at(1), at(2));
    let mut hubs = Vec::new();
    for rollout in kept.rollouts.iter().take(ROLLOUTS_PER_CLIENT + 1) {
        hubs.push(view.hub(&rollout.by_itself()).await.unwrap());
    }
    let mut seats: Vec<Handle> =
        hubs.iter().take(ROLLOUTS_PER_CLIENT).map(|hub| greedy.subscribe_to(hub.clone()).unwrap()).collect();
    let more = &hubs[ROLLOUTS_PER_CLIENT];
    assert!(greedy.subscribe_to(more.clone()).is_none(), "one too many");
    assert!(greedy.subscribe_to(hubs[0].clone()).is_some_and(|hub| hub.is_same(&hubs[0])), "which it follows already");
    assert!(other.subscribe_to(more.clone()).is_some() && view.subscribe_to(more.clone()).is_some(), "somebody else");
    seats.pop();
    assert!(greedy.subscribe_to(more.clone()).is_some(), "there is room");
}

#[tokio::test]
async fn what_one_client_reads_of_the_history_waits_for_itself_and_holds_up_no_other() {
    let kept = kept();
    let view = everything(&kept.rollcast).await;
    let at = |last: u8| view.clone().from_address(Some([10, 0, 0, last].into()));
    let (greedy, other) = (at(1), at(2));
    let rollout = kept.rollouts[0].by_itself();
    let turn = greedy.history_turn().await;
    let mut waits = Box::pin(greedy.hub(&rollout));
    assert!(waits.as_mut().now_or_never().is_none());
    assert!(other.hub(&rollout).await.is_some(), "somebody else");
    assert!(waits.as_mut().now_or_never().is_none(), "though it is made");
    drop(turn);
    assert!(waits.await.is_some());
}

#[tokio::test]
async fn a_stream_for_which_there_is_no_seat_ends_and_the_others_go_on() {
    let kept = kept();
    let view = everything(&kept.rollcast).await.from_address(Some([10, 0, 0, 1].into()));
    let (mut streams, mut begun) = (Vec::new(), Vec::new());
    for rollout in kept.rollouts.iter().take(ROLLOUTS_PER_CLIENT + 1) {
        let (said, mut heard) = serve(view.clone(), StreamRequest::default());
        follow(&said, rollout.by_itself());
        let mut has_begun = false;
        while let Some(message) = heard.next().await {
            let Message::Binary(bytes) = message else { continue };
            has_begun = matches!(wire::decode(&bytes), Ok(ServerFrame::Snapshot(_)));
            if has_begun {
                break;
            }
        }
        streams.push((said, heard));
        begun.push(has_begun);
    }
    assert_eq!(begun, [vec![true; ROLLOUTS_PER_CLIENT], vec![false]].concat());
    assert_eq!(kept.rollcast.limits.count(Limit::Rollouts), 1);
    assert!(streams.iter().take(ROLLOUTS_PER_CLIENT).all(|(said, _)| !said.is_closed()), "the others go on");
}

#[tokio::test(start_paused = true)]
async fn the_streams_of_one_client_begin_ten_times_a_second_together_and_hold_up_no_other() {
    let (rollcast, clusters) = crate::pages::site::site().await;
    let view = everything(&rollcast).await;
    let begin = async |last: u8, many: usize| {
        let began = Instant::now();
        let streams = (0..many).map(|number| {
            let view = view.clone().from_address(Some([10, 0, 0, last].into()));
            let (said, mut heard) = serve(view, StreamRequest::default());
            let scope = if number % 2 == 0 {
                let cluster = &clusters[number % clusters.len()];
                Scope::Workload(Workload::deployment(cluster, "shop", format!("app-{number}")))
            } else {
                let query = Query { text: format!("word-{number}"), ..Query::default() };
                Scope::List { query, window: Window { from: 0, to: 10 } }
            };
            say(&said, &ViewerFrame::Subscribe { scope, since: None });
            async move {
                let (mut heard_at, mut silence) = (began, Duration::ZERO);
                loop {
                    let frame = hear(&mut heard).await;
                    silence = silence.max(heard_at.elapsed());
                    heard_at = Instant::now();
                    if matches!(frame, ServerFrame::Snapshot(_) | ServerFrame::List(_)) {
                        return (silence, said, heard);
                    }
                }
            }
        });
        let streams = join_all(streams).await;
        let silence = streams.iter().map(|(silence, ..)| *silence).max().unwrap();
        (began.elapsed().as_secs(), silence.as_secs())
    };
    let heartbeat = u64::from(HEARTBEAT_SECONDS);
    assert_eq!(begin(1, 120).await, (10, heartbeat), "20 at once, then ten a second; none is silent meanwhile");
    assert_eq!(begin(2, 20).await, (0, 0), "somebody else");
}
