//! How far the clocks are apart is told by new objects alone.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use timeline::Millis;

use crate::common::until::until;
use crate::live::support::{Watched, pod, shop_of};

const HOUR: Millis = 3_600_000;

fn made(mut object: Value, ago_millis: Millis) -> Value {
    let at = jiff::Timestamp::from_millisecond(server::telemetry::clock::now_millis() - ago_millis).unwrap();
    object["metadata"]["creationTimestamp"] = json!(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    object
}

/// A pod that a Job runs.
fn job_pod(number: u64, restarts: u32, ago_millis: Millis) -> Value {
    let mut pod = made(pod(number, 99, &format!("job-{number}")), ago_millis);
    pod["metadata"]["ownerReferences"][0]["kind"] = json!("Job");
    pod["status"]["containerStatuses"][0]["restartCount"] = json!(restarts);
    pod
}

async fn skew(watched: &Watched) -> Millis {
    watched.hub.read(|reader| reader.timeline.skew_millis()).await.unwrap()
}

#[tokio::test]
async fn pods_of_other_controllers_that_change_hours_later_do_not_move_it() {
    let api = shop_of(1, &[]).await;
    (40..50).for_each(|number| api.put(job_pod(number, 0, 2 * HOUR)));
    let watched = Watched::start(&api, &[], |_| {});
    watched.until_pods(&[]).await;
    until("a watch", async || api.requests(crate::live::support::Verb::Watch, "pods") == 1).await;
    let facts = || watched.hub.counters().facts.load(Ordering::Relaxed);
    let before = facts();
    (40..50).for_each(|number| api.put(job_pod(number, 1, 2 * HOUR)));
    until("what became of them", async || facts() >= before + 10).await;
    assert_eq!(skew(&watched).await, 0);
    api.put(made(pod(10, 2, "web-a"), 0));
    watched.until_pods(&["web-a"]).await;
    let skew = skew(&watched).await;
    assert!(skew.abs() < 5_000, "{skew}");
}

#[tokio::test]
async fn a_clock_that_is_hours_off_is_found_with_the_first_pod_that_is_made() {
    let api = shop_of(1, &[]).await;
    let watched = Watched::start(&api, &[], |_| {});
    until("a watch", async || api.requests(crate::live::support::Verb::Watch, "pods") == 1).await;
    api.put(made(pod(10, 2, "web-a"), 3 * HOUR));
    watched.until_pods(&["web-a"]).await;
    let skew = skew(&watched).await;
    assert!((skew - 3 * HOUR).abs() < 5_000, "{skew}");
}
