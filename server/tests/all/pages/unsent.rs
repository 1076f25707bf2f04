//! Answers count until they were sent: files and recordings for their client, and the bytes of what is large for all.

use std::sync::Arc;

use axum::http::{Request, StatusCode, header};
use axum::response::Response;
use http_body_util::BodyExt;
use server::access::clients::ClientKey;
use server::web::send_queue::SMALL;
use server::web::state::Rollcast;
use timeline::address;

use crate::pages::kept::kept;
use crate::pages::site::send;

/// What all answers together may come to.
const ALL: usize = 128 << 20;

async fn ask(rollcast: &Arc<Rollcast>, path: &str) -> Response {
    send(rollcast, Some([10, 0, 0, 7]), Request::get(path), ()).await
}

#[tokio::test]
async fn a_client_has_the_next_file_or_recording_made_when_all_of_the_last_one_was_sent() {
    let kept = kept();
    let rollout = kept.rollouts.iter().find(|rollout| rollout.cluster == "rollover" && rollout.revision == 3).unwrap();
    let own = || kept.rollcast.exports.begin(ClientKey::of_address([10, 0, 0, 7].into()));
    let (file, recording) = (address::file(&rollout.by_itself(), None), address::recording(&rollout.by_itself()));
    for path in [format!("{file}&format=jsonl"), recording.clone()] {
        let mut answer = ask(&kept.rollcast, &path).await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        let first = answer.body_mut().frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(own().is_none(), "{path}: not all of it was sent");
        assert_eq!(ask(&kept.rollcast, &recording).await.status(), StatusCode::SERVICE_UNAVAILABLE, "{path}");
        let another = [kept.rollcast.exports.begin(ClientKey::Shared), kept.rollcast.exports.begin(ClientKey::Shared)];
        assert!(another.iter().all(Option::is_some), "{path}: it holds up nobody else");
        drop((answer, first));
        drop(another);
        assert!(own().is_some(), "{path}: it is gone");
    }
}

#[tokio::test]
async fn what_is_large_counts_until_it_was_sent_and_is_refused_where_too_much_waits() {
    let kept = kept();
    let rollout = kept.rollouts.iter().find(|rollout| rollout.cluster == "rollover" && rollout.revision == 3).unwrap();
    let file = address::recording(&rollout.by_itself());
    let all = || kept.rollcast.send_queue.begin(ClientKey::Shared, ALL);
    let mut answer = ask(&kept.rollcast, &file).await;
    let long = answer.headers().get(header::CONTENT_LENGTH).unwrap().to_str().unwrap().parse::<usize>().unwrap();
    assert!(long > SMALL, "{long} bytes are large");
    assert!(all().is_none(), "something waits");
    let mut sent = Vec::new();
    while let Some(frame) = answer.body_mut().frame().await {
        let piece = frame.unwrap().into_data().unwrap();
        assert!(piece.len() <= SMALL && all().is_none(), "{} of {long} bytes", sent.len());
        sent.extend_from_slice(&piece);
    }
    drop(answer);
    assert_eq!(sent.len(), long);
    let waiting = all();
    assert!(waiting.is_some(), "nothing waits any more");
    let refused = ask(&kept.rollcast, &file).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.headers()[header::RETRY_AFTER], "5");
    assert_eq!(
        ask(&kept.rollcast, "/api/v1/deployments").await.status(),
        StatusCode::OK,
        "what is small is not counted"
    );
    drop(waiting);
    let again = ask(&kept.rollcast, &file).await;
    assert_eq!(again.status(), StatusCode::OK);
    assert!(again.into_body().collect().await.unwrap().to_bytes() == sent, "the same bytes in the same order");
}
