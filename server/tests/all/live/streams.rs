//! Lists that the API server streams: complete, refused, without an end, cut off, expired. Whatever it does, the list is right.

use std::time::Duration;

use timeline::model::EndReason;

use crate::common::until::until;
use crate::live::support::{FakeApi, Fault, Verb, Watched, added, initial_end, pod, shop, until_live};

async fn streaming() -> FakeApi {
    let api = shop().await;
    api.stream_lists();
    api
}

/// Requests for pods: lists that are streamed, and pages.
fn asked(api: &FakeApi) -> [usize; 2] {
    [api.requests(Verb::Stream, "pods"), api.requests(Verb::List, "pods")]
}

#[tokio::test]
async fn a_streamed_list_and_the_watch_after_it_show_every_pod() {
    let api = streaming().await;
    (12..17).for_each(|number| api.put(pod(number, 2, &format!("web-{number}"))));
    let watched = Watched::start(&api, &[], |_| {});
    let all = ["web-12", "web-13", "web-14", "web-15", "web-16", "web-a", "web-b"];
    watched.until_pods(&all).await;
    until_live(&watched.hub).await;
    assert_eq!(asked(&api), [1, 0], "no page is asked for");
    api.delete(&pod(10, 2, "web-a"));
    watched.until_pods(&["web-12", "web-13", "web-14", "web-15", "web-16", "web-b"]).await;
    assert_eq!(asked(&api), [1, 0]);
}

#[tokio::test]
async fn what_is_missing_from_a_streamed_list_is_gone_behind_a_gap() {
    let api = streaming().await;
    let watched = Watched::start(&api, &[], |_| {});
    watched.until_pods(&["web-a", "web-b"]).await;
    until("watch", async || api.requests(Verb::Watch, "pods") == 1).await;
    api.lose(&pod(10, 2, "web-a"));
    api.say("pods", r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}"#);
    watched.until_pods(&["web-b"]).await;
    let read = watched.hub.read(|reader| {
        let model = reader.timeline.model();
        let gaps = model.deployments.values().map(|deployment| deployment.gaps.len()).sum::<usize>();
        (gaps, model.pods.values().filter_map(|pod| pod.end_reason).collect::<Vec<_>>())
    });
    assert_eq!(read.await.unwrap(), (1, vec![EndReason::Unknown]));
    assert_eq!(asked(&api), [2, 0]);
}

#[tokio::test]
async fn what_is_deleted_while_a_list_is_streamed_is_not_there() {
    let api = streaming().await;
    let object = |number, name| added(&pod(number, 2, name));
    let deleted = object(20, "web-x").replace("ADDED", "DELETED");
    // Pages of two objects: the one that is deleted was told to the hub before, or is in the same page.
    for lines in [
        vec![object(20, "web-x"), object(21, "web-y"), object(22, "web-z"), deleted.clone(), initial_end(9)],
        vec![object(21, "web-y"), object(22, "web-z"), object(20, "web-x"), deleted, initial_end(9)],
    ] {
        api.fault(Verb::Stream, "pods", Fault::Stall(lines.join("\n") + "\n"));
        let watched = Watched::start(&api, &[], |_| {});
        watched.until_pods(&["web-y", "web-z"]).await;
        until_live(&watched.hub).await;
    }
    assert_eq!(asked(&api), [2, 0]);
}

#[tokio::test]
async fn a_server_that_refuses_to_stream_is_asked_once_and_then_for_pages() {
    for code in [400, 422] {
        let api = streaming().await;
        api.stand(Verb::Stream, "pods", Some(Fault::Status(code)));
        let watched = Watched::start(&api, &[], |_| {});
        watched.until_pods(&["web-a", "web-b"]).await;
        api.lose(&pod(10, 2, "web-a"));
        api.fault(Verb::Watch, "pods", Fault::Status(410));
        api.hang_up();
        watched.until_pods(&["web-b"]).await;
        assert_eq!(asked(&api), [1, 2], "{code}");
    }
}

#[tokio::test]
async fn a_stream_that_does_not_end_is_left_for_pages_and_not_asked_for_again() {
    let api = streaming().await;
    let first = added(&pod(99, 2, "web-of-long-ago")) + "\n";
    api.stand(Verb::Stream, "pods", Some(Fault::Stall(first.repeat(3))));
    let watched = Watched::start(&api, &[], |pace| pace.answer = Duration::from_millis(500));
    // The hub knows what the stream said, and forgets what the list lacks.
    watched.until_pods(&["web-a", "web-b"]).await;
    until_live(&watched.hub).await;
    api.fault(Verb::Watch, "pods", Fault::Status(410));
    api.hang_up();
    until("listed again", async || api.requests(Verb::List, "pods") == 2).await;
    assert_eq!(api.requests(Verb::Stream, "pods"), 1);
}

#[tokio::test]
async fn a_stream_that_fails_or_ends_early_is_followed_by_pages() {
    let early = added(&pod(99, 2, "web-of-long-ago")) + "\n";
    let expired = r#"{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}"#;
    for fault in [
        Fault::Say(early.clone()),
        Fault::Say(early.clone() + expired + "\n"),
        Fault::Say(early + "{\"type\":\"ADDED\",\"obj"),
        Fault::EndAtOnce,
        Fault::Status(410),
        Fault::Status(403),
        Fault::Status(500),
        Fault::Busy(0),
    ] {
        let api = streaming().await;
        api.fault(Verb::Stream, "pods", fault.clone());
        let watched = Watched::start(&api, &[], |_| {});
        watched.until_pods(&["web-a", "web-b"]).await;
        until_live(&watched.hub).await;
        assert_eq!(asked(&api), [1, 1], "{fault:?}");
        // The next list is streamed again.
        api.fault(Verb::Watch, "pods", Fault::Status(410));
        api.hang_up();
        until("streamed", async || api.requests(Verb::Stream, "pods") == 2).await;
    }
}

#[tokio::test]
async fn one_malformed_object_of_a_stream_costs_only_itself() {
    let api = streaming().await;
    let mut odd = pod(12, 2, "web-odd");
    odd["spec"]["containers"] = serde_json::json!("not a list");
    api.put(odd);
    let watched = Watched::start(&api, &[], |_| {});
    watched.until_pods(&["web-a", "web-b"]).await;
    assert_eq!(
        watched.counters.kind(timeline::fact::Kind::Pod).malformed.load(std::sync::atomic::Ordering::Relaxed),
        1
    );
    assert_eq!(asked(&api), [1, 0]);
}
