//! The order in which a ReplicaSet deletes pods (`controller_utils.go`, `ActivePodsWithRanks`).

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

use k8s_openapi::api::core::v1::Pod;

use crate::object::Key;
use crate::{meta, time};

/// A pod with its keys for the comparison. The order is that of Kubernetes, and not a total one: if some times are equal and
/// others differ by less than a power of two, three pods may each precede the next. Sorting may panic with such an order; a heap
/// only returns some order.
struct Ranked<'a> {
    pod: &'a Pod,
    /// Number of pods of the same Deployment on the pod's node, ready or not; terminating ones do not count.
    doubled_up: usize,
    now_millis: i64,
}

/// Returns the first `count` pods to delete; `related` are the pods of all ReplicaSets of the same Deployment.
pub fn first_to_go(active: &[&Pod], related: &[&Pod], count: usize, now_millis: i64) -> Vec<Key> {
    let mut on_node: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in related.iter().filter(|pod| meta::is_active(pod)) {
        *on_node.entry(meta::node_of(pod).unwrap_or_default()).or_default() += 1;
    }
    let doubled_up = |pod| on_node.get(meta::node_of(pod).unwrap_or_default()).copied().unwrap_or_default();
    let ranked = active.iter().map(|pod| Reverse(Ranked { pod, doubled_up: doubled_up(pod), now_millis }));
    let mut heap: BinaryHeap<Reverse<Ranked<'_>>> = ranked.collect();
    let first = std::iter::from_fn(|| heap.pop()).take(count);
    first.map(|Reverse(ranked)| Key::of(&ranked.pod.metadata)).collect()
}

impl Ord for Ranked<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let has_node = |pod: &Pod| meta::node_of(pod).is_some();
        let (a, b) = (self.pod, other.pod);
        has_node(a)
            .cmp(&has_node(b))
            .then_with(|| phase(a).cmp(&phase(b)))
            .then_with(|| meta::is_ready(a).cmp(&meta::is_ready(b)))
            .then_with(|| cost(a).cmp(&cost(b)))
            .then_with(|| other.doubled_up.cmp(&self.doubled_up))
            .then_with(|| by_age(ready_since(a), ready_since(b), a, b, self.now_millis))
            // Restarts of sidecars, which break ties in Kubernetes, are not simulated.
            .then_with(|| meta::restarts(b).cmp(&meta::restarts(a)))
            .then_with(|| by_age(created(a), created(b), a, b, self.now_millis))
    }
}

impl PartialOrd for Ranked<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked<'_> {}

fn phase(pod: &Pod) -> u8 {
    match meta::phase(pod) {
        "Pending" => 0,
        "Unknown" => 1,
        _ => 2,
    }
}

fn cost(pod: &Pod) -> i32 {
    let annotation = meta::annotation(&pod.metadata, "controller.kubernetes.io/pod-deletion-cost");
    annotation.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Returns the time at which a pod became ready; `None` if it is not ready.
pub(super) fn ready_since(pod: &Pod) -> Option<i64> {
    let ready = meta::condition(pod, "Ready").filter(|ready| ready.status == "True")?;
    ready.last_transition_time.as_ref().map(time::millis)
}

fn created(pod: &Pod) -> Option<i64> {
    pod.metadata.creation_timestamp.as_ref().map(time::millis)
}

/// Compares ages, younger first, but only if they differ by a power of two; otherwise compares UIDs, which are random.
fn by_age(a: Option<i64>, b: Option<i64>, one: &Pod, other: &Pod, now_millis: i64) -> Ordering {
    let (Some(a), Some(b)) = (a, b) else { return Ordering::Equal };
    if a == b {
        return Ordering::Equal;
    }
    // In nanoseconds, as in Kubernetes: the limits between the powers of two depend on the unit.
    let bucket = |at: i64| i128::from(now_millis - at).checked_mul(1_000_000).and_then(i128::checked_ilog2);
    bucket(a).cmp(&bucket(b)).then_with(|| one.metadata.uid.cmp(&other.metadata.uid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(name: &str, node: &str, ready: bool, extra: serde_json::Value) -> Pod {
        let mut pod = json!({
            "metadata": { "name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z" },
            "spec": { "nodeName": node, "containers": [] },
            "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": if ready { "True" } else { "False" }, "lastTransitionTime": "2026-01-01T00:00:00Z" }] },
        });
        for (path, value) in extra.as_object().unwrap() {
            *pod.pointer_mut(path).unwrap() = value.clone();
        }
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn the_order_of_kubernetes() {
        let usual = pod("usual", "a", true, json!({}));
        let now = created(&usual).unwrap() + 100_000;
        let cheap = pod(
            "cheap",
            "a",
            true,
            json!({ "/metadata": { "name": "cheap", "uid": "cheap", "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": { "controller.kubernetes.io/pod-deletion-cost": "-5" } } }),
        );
        let young =
            pod("young", "b", true, json!({ "/status/conditions/0/lastTransitionTime": "2026-01-01T00:01:30Z" }));
        let unready = pod("unready", "b", false, json!({}));
        let pending = pod("pending", "b", false, json!({ "/status/phase": "Pending" }));
        let homeless = pod("homeless", "", false, json!({ "/status/phase": "Pending" }));
        let alone = pod("alone", "c", true, json!({}));
        let all = [&alone, &usual, &young, &unready, &homeless, &cheap, &pending];
        let names: Vec<_> = first_to_go(&all, &all, 6, now).into_iter().map(|key| key.name).collect();
        // "young" shares its node with two more pods, though neither is ready; "usual" with one.
        assert_eq!(names, ["homeless", "pending", "unready", "cheap", "young", "usual"]);
    }

    #[test]
    fn an_order_that_goes_in_circles_is_borne() {
        // Pods that became ready within two seconds, less than a power of two apart, with different UIDs.
        let pods: Vec<Pod> = (0..200)
            .map(|number: u32| {
                let at = if number.is_multiple_of(3) { "2026-01-01T00:00:01Z" } else { "2026-01-01T00:00:02Z" };
                let name = format!("{:08x}", number.wrapping_mul(2_654_435_761));
                pod(&name, "a", true, json!({ "/status/conditions/0/lastTransitionTime": at }))
            })
            .collect();
        let all: Vec<&Pod> = pods.iter().collect();
        let now = created(&pods[0]).unwrap() + 60_000;
        let mut gone = first_to_go(&all, &all, 150, now);
        gone.sort();
        gone.dedup();
        assert_eq!(gone.len(), 150);
    }

    #[test]
    fn ages_differ_by_powers_of_two_of_nanoseconds() {
        // 2^33 ns are 8.59 s: across that limit the younger pod is first, below it the UID decides.
        let made = created(&pod("z", "a", true, json!({}))).unwrap();
        let ready = |name: &str, seconds: &str| {
            let at = format!("2026-01-01T00:00:{seconds}Z");
            pod(name, "a", true, json!({ "/status/conditions/0/lastTransitionTime": at }))
        };
        let first = |a: &Pod, b: &Pod, age: i64| first_to_go(&[a, b], &[a, b], 1, made + age).remove(0).name;
        let (older, younger) = (ready("a", "01"), ready("b", "02"));
        assert_eq!(first(&older, &younger, 10_000), "b", "9 s and 8 s");
        assert_eq!(first(&older, &younger, 9_000), "a", "8 s and 7 s");
    }
}
