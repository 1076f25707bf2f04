//! How often the server is asked, whatever it does.

use std::time::{Duration, Instant};

use crate::common::until::until;
use crate::live::support::{FakeApi, Fault, Verb, Watched, pod, quick, shop_of, until_connection};
use server::kube::Pace;
use server::kube::access::Access;
use timeline::wire::{Connection, ConnectionState};

/// Requests for pods in each of two stretches of a second and a half, while every watch meets a fault and lists work.
async fn spent(fault: Fault) -> [usize; 2] {
    let api = shop_of(1, &["web-a"]).await;
    api.stand(Verb::Watch, "pods", Some(fault));
    let watched = Watched::start(&api, &[], |pace| {
        pace.first_backoff = Duration::from_millis(100);
        pace.max_backoff = Duration::from_secs(30);
        pace.burst = 1000;
    });
    watched.until_pods(&["web-a"]).await;
    let begun = Instant::now();
    let stretch = Duration::from_millis(1500);
    until("two stretches", async || begun.elapsed() > stretch * 2).await;
    let mut times = api.times(Verb::List, "pods");
    times.extend(api.times(Verb::Watch, "pods"));
    let first = times.iter().filter(|at| **at < begun + stretch).count();
    [first, times.len() - first]
}

#[tokio::test]
async fn waits_grow_while_watches_fail_though_lists_work() {
    let faults = [Fault::Status(403), Fault::Status(500), Fault::Status(410), Fault::EndAtOnce];
    let all = futures::future::join_all(faults.iter().cloned().map(spent)).await;
    for (fault, [first, second]) in faults.iter().zip(all) {
        // Waits of 0.1, 0.2, 0.4, 0.8, 1.6, … s at most, half of that on average, with one or two requests each.
        assert!(first <= 40 && second <= 10, "{fault:?}: {first}, then {second}");
    }
}

/// An API server with a Deployment of so many pods.
async fn with_pods(pods: u64) -> FakeApi {
    let api = shop_of(1, &[]).await;
    for number in 0..pods {
        api.put(pod(100 + number, 2, &format!("web-{number:03}")));
    }
    api
}

/// The pace as it is shipped, except for waits and the size of pages.
fn shipped() -> Pace {
    let Pace { first_backoff, max_backoff, page_size, .. } = quick();
    Pace { first_backoff, max_backoff, page_size, ..Pace::default() }
}

/// Waits until every pod is known. Returns how many requests for lists of pods that took.
async fn listed(api: &FakeApi, pods: usize, pace: Pace) -> usize {
    let watched = Watched::with(Access::fixed(api.client(), pace), &[]);
    until("every pod", async || watched.pods().await.len() == pods).await;
    api.requests(Verb::List, "pods")
}

#[tokio::test]
async fn pages_that_bring_objects_cost_nothing_of_the_budget() {
    let begun = Instant::now();
    // More pages than any budget has, of which each holds one object.
    let api = with_pods(300).await;
    api.pages(1, Duration::ZERO);
    assert_eq!(listed(&api, 300, shipped()).await, 300);
    assert!(begun.elapsed() < Duration::from_secs(10), "300 pages took {:?}", begun.elapsed());
}

#[tokio::test]
async fn a_list_goes_on_with_the_page_that_failed() {
    let api = with_pods(10).await;
    for fault in [Fault::Status(500), Fault::EndAtOnce, Fault::Busy(0), Fault::Status(429), Fault::Say("{".to_owned())]
    {
        api.fault(Verb::Next, "pods", fault);
    }
    assert_eq!(listed(&api, 10, shipped()).await, 5 + 5, "five pages and five failures");
}

#[tokio::test]
async fn a_list_that_the_server_forgets_ends_with_larger_pages() {
    for (pods, requests) in [(20, 5), (2, 1)] {
        let api = with_pods(pods).await;
        api.pages(usize::MAX, Duration::ZERO);
        api.stand(Verb::Next, "pods", Some(Fault::Status(410)));
        // Pages of 2, 16 and 128 objects, of which the first two are followed by a token that is too old.
        assert_eq!(listed(&api, pods as usize, shipped()).await, requests);
    }
}

#[tokio::test]
async fn a_list_that_advances_is_not_cut_while_the_probe_has_no_answer_and_says_how_far_it_is() {
    let api = with_pods(50).await;
    api.pages(1, Duration::from_millis(60));
    api.stand(Verb::Version, "version", Some(Fault::Hang));
    let silence = Duration::from_millis(200);
    let pace = Pace { probe: silence / 2, silence, ..shipped() };
    let watched = Watched::with(Access::fixed(api.client(), pace), &[]);
    let far = |connection: &Connection| connection.listing.as_ref().is_some_and(|listing| listing.objects >= 30);
    let connection = until_connection(&watched.hub, "progress", far).await;
    let listing = connection.listing.map(|listing| listing.words()).unwrap_or_default();
    assert!(listing.starts_with("listing pods: ") && listing.ends_with(" so far"), "{listing}");
    assert_eq!(connection.state, ConnectionState::Connecting);
    until("every pod", async || watched.pods().await.len() == 50).await;
    assert_eq!(api.requests(Verb::List, "pods"), 50, "no page was asked for twice");
}

#[tokio::test]
async fn a_page_that_takes_long_is_not_cut_either() {
    let api = with_pods(50).await;
    api.pages(usize::MAX, Duration::from_millis(900));
    api.stand(Verb::Version, "version", Some(Fault::Hang));
    let silence = Duration::from_millis(300);
    let pace = Pace { probe: silence / 2, silence, page_size: 500, ..shipped() };
    assert_eq!(listed(&api, 50, pace).await, 1);
}

#[tokio::test]
async fn a_server_that_asks_to_be_left_alone_is() {
    let api = with_pods(4).await;
    api.fault(Verb::Next, "pods", Fault::Busy(1));
    assert_eq!(listed(&api, 4, shipped()).await, 3);
    let times = api.times(Verb::List, "pods");
    assert!(times[2] - times[1] >= Duration::from_secs(1), "{times:?}");
}

#[tokio::test]
async fn at_most_one_request_a_second_brings_nothing_under_each_fault() {
    let empty = Fault::Say(r#"{"metadata":{"resourceVersion":"1","continue":"more"},"items":[]}"#.to_owned());
    let faults = [
        (Verb::List, Fault::Status(500)),
        (Verb::List, Fault::Status(429)),
        (Verb::List, Fault::Busy(0)),
        (Verb::List, Fault::Status(410)),
        (Verb::List, Fault::EndAtOnce),
        (Verb::List, Fault::Say("{".to_owned())),
        (Verb::List, empty.clone()),
        (Verb::Next, Fault::Status(410)),
        (Verb::Next, Fault::Status(500)),
        (Verb::Next, empty),
        // The same page again and again, which is not empty.
        (Verb::Next, Fault::Say(r#"{"metadata":{"resourceVersion":"1","continue":"2"},"items":[{}]}"#.to_owned())),
        (Verb::Watch, Fault::Status(500)),
        (Verb::Watch, Fault::Status(410)),
        (Verb::Watch, Fault::EndAtOnce),
        (Verb::Stream, Fault::Status(403)),
        (Verb::Stream, Fault::Status(410)),
        (Verb::Stream, Fault::Status(500)),
        (Verb::Stream, Fault::EndAtOnce),
        (Verb::Stream, Fault::Say("{".to_owned())),
    ];
    // So many come at once and in what is earned of three seconds.
    let most = 8 + 3;
    let spent = faults.into_iter().map(|(verb, fault)| async move {
        let api = with_pods(10).await;
        api.stand(verb, "pods", Some(fault.clone()));
        if verb == Verb::Stream {
            api.stand(Verb::Watch, "pods", Some(Fault::Status(410))); // everything is listed again and again
        }
        let _watched = Watched::with(Access::fixed(api.client(), shipped()), &[]);
        let begun = Instant::now();
        until("three seconds", async || begun.elapsed() >= Duration::from_secs(3)).await;
        let asked =
            [Verb::List, Verb::Stream, Verb::Watch].map(|verb| api.requests(verb, "pods")).iter().sum::<usize>();
        // Pages that brought something are not counted.
        let brought = match (verb, fault.clone()) {
            (Verb::Watch | Verb::Stream, _) => api.requests(Verb::List, "pods"),
            (Verb::Next, Fault::Status(410)) => asked / 2, // each list begins with one
            (Verb::Next, Fault::Say(text)) if text.contains("{}") => asked / 2,
            (Verb::Next, Fault::Say(_)) => asked.div_ceil(3), // one that is empty follows, and then that one again
            _ => 1,
        };
        (format!("{verb:?} {fault:?}"), asked.saturating_sub(brought))
    });
    for (fault, nothing) in futures::future::join_all(spent).await {
        assert!(nothing <= most, "{fault}: {nothing} requests that brought nothing");
        assert!(nothing >= 2, "{fault}: it is tried again");
    }
}
