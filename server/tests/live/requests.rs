//! How often the server is asked, whatever it does.

use std::time::{Duration, Instant};

use crate::support::{FakeApi, Fault, Verb, Watched, deployment, pod, quick, replica_set};
use crate::until::until;
use server::source::Pace;
use server::source::access::Access;

async fn shop() -> FakeApi {
    let api = FakeApi::start().await;
    api.put(deployment(1, 1));
    api.put(replica_set(2, 1, 1));
    api.put(pod(10, 2, "web-a"));
    api
}

/// Requests for pods in each of two stretches of a second and a half, while every watch meets a fault and lists work.
async fn spent(fault: Fault) -> [usize; 2] {
    let api = shop().await;
    api.stand(Verb::Watch, "pods", Some(fault));
    let watched = Watched::start(&api, &[], |pace| {
        pace.first_backoff = Duration::from_millis(100);
        pace.max_backoff = [Duration::from_secs(30); 2];
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

/// How long a list of so many pages takes.
async fn listed(pages: u64, pace: Pace) -> Duration {
    let api = FakeApi::start().await;
    api.put(deployment(1, 1));
    api.put(replica_set(2, 1, 1));
    for number in 0..pages * 2 {
        api.put(pod(100 + number, 2, &format!("web-{number:03}")));
    }
    let begun = Instant::now();
    let watched = Watched::with(Access::fixed(api.client()), &[], pace);
    until("every pod", async || watched.pods().await.len() as u64 == pages * 2).await;
    assert_eq!(api.requests(Verb::List, "pods") as u64, pages);
    begun.elapsed()
}

#[tokio::test]
async fn a_large_cluster_is_listed_at_once_as_shipped() {
    let shipped = Pace { page_size: 2, ..Pace::default() };
    let taken = listed(20, shipped).await;
    assert!(taken < Duration::from_secs(5), "20 pages took {taken:?}");
}

#[tokio::test]
async fn every_page_of_a_list_takes_from_the_budget() {
    let small = Pace {
        page_burst: 2,
        page_earn: Duration::from_secs(60),
        burst: 2,
        earn: Duration::from_millis(200),
        ..quick()
    };
    // One page with the request's own, two from the second bucket, one more of the burst, six that are earned.
    let taken = listed(10, small).await;
    assert!(taken >= Duration::from_millis(1_100), "10 pages took {taken:?}");
}
