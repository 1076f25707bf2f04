//! What happens in several faults.

use serde_json::{Value, json};
use timeline::Millis;

use super::stage::Stage;
use crate::common::network::NetworkFault;
use crate::live::support::{EXPIRED, Fault, Verb, pod};

/// A network with that fault for a minute, in which a pod is replaced.
pub async fn network(stage: &Stage, fault: NetworkFault) {
    stage.network.set(Some(fault));
    stage.pass(2).await;
    stage.replace(10, 20);
    stage.pass(58).await;
    stage.network.set(None);
}

/// Every request meets a fault for a minute, in which a pod is replaced.
pub async fn all(stage: &Stage, fault: Fault) {
    stage.stand_all(Some(fault));
    stage.pass(2).await;
    stage.replace(10, 20);
    stage.pass(58).await;
    assert_eq!(stage.pods().await, 6, "the last picture stays");
    stage.stand_all(None);
}

/// Every request for pods meets a fault for a minute, in which a pod is replaced.
pub async fn pods(stage: &Stage, fault: Fault) {
    stage.stand_pods(Some(fault));
    stage.pass(2).await;
    stage.replace(10, 20);
    stage.pass(58).await;
    stage.stand_pods(None);
}

/// Every watch of pods meets a fault for a minute, in which a pod goes unseen.
pub async fn watches(stage: &Stage, fault: Fault) {
    stage.api.stand(Verb::Watch, "pods", Some(fault));
    stage.api.hang_up();
    stage.pass(2).await;
    stage.lose(10);
    stage.pass(58).await;
    stage.api.stand(Verb::Watch, "pods", None);
}

/// A pod that is there since so long by the clock of the cluster.
fn pod_of(number: u64, stage: &Stage, ago_millis: Millis) -> Value {
    let mut pod = pod(number, 2, &format!("web-{number}"));
    let at = jiff::Timestamp::from_millisecond(stage.hub.now_millis() - ago_millis).unwrap();
    let at = json!(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    pod["metadata"]["creationTimestamp"] = at.clone();
    pod["status"]["conditions"][0]["lastTransitionTime"] = at;
    pod
}

/// Pods are made by a clock that is that much behind ours.
pub async fn skewed(stage: &Stage, millis: Millis) {
    for number in [20, 21] {
        stage.api.put(pod_of(number, stage, millis));
        stage.pass(2).await;
    }
    let skew = stage.hub.read(|reader| reader.timeline.skew_millis()).await.unwrap();
    assert!((skew - millis).abs() < 2_000, "{skew} instead of {millis}");
}

/// A line of a watch with an object as it was at that version.
pub fn line(r#type: &str, mut object: Value, version: u64) -> String {
    object["metadata"]["resourceVersion"] = json!(version.to_string());
    json!({ "type": r#type, "object": object }).to_string()
}

/// A streamed list of pods does not say where it ends, and tells of one of these pods every 25 s. Once it is given up, lists are in pages.
pub async fn endless(stage: &Stage, pods: impl Iterator<Item = u64>) {
    stage.api.fault(Verb::Stream, "pods", Fault::NoEnd);
    stage.lose(10);
    stage.api.say("pods", EXPIRED);
    for number in pods {
        stage.pass(25).await;
        stage.api.put(pod(number, 2, &format!("web-{number}")));
    }
    stage.until_list().await;
    stage.pass(1).await;
    stage.api.say("pods", EXPIRED);
    stage.until_list().await;
    assert_eq!(stage.api.requests(Verb::Stream, "pods"), 2, "the first list and the one without an end");
}
