//! Rest of a workload: it has its pods, and nothing of them is going on.

use super::assessment::Now;
use super::crash;
use crate::model::{Model, Pod, PodState, Rollout};
use crate::rules::rollout;
use crate::{Millis, Uid};

/// A workload settles after this time at rest: containers that crash now and then make one episode.
pub const SETTLE_MILLIS: Millis = 60_000;

/// Returns `true` if all desired pods are available and there are no others, pods out of rotation left out, no container is in a crash
/// loop, and no ReplicaSet is refused.
pub fn is_at_rest(model: &Model, workload: Uid, now: Now) -> bool {
    let Some(deployment) = model.deployments.get(&workload) else { return true };
    if !deployment.is_over() {
        let is_rolling_out = deployment.rollouts.last().is_some_and(Rollout::is_open);
        // The model keeps these counts: while they differ, as in a rollout, the pods need not be collected.
        let available: u32 = model.controlled_sets(workload).map(|set| model.pod_counts(set.uid).available).sum();
        let has_desired = available == deployment.now.spec.replicas;
        if is_rolling_out || !has_desired || rollout::refusal_of_set(model, deployment).is_some() {
            return false;
        }
    }
    // One that ended may lie about for days.
    let has_ended = |pod: &Pod| pod.is_leftover() || matches!(pod.state(), PodState::Finished | PodState::Gone);
    let is_counted = |pod: &&Pod| !has_ended(pod) && !pod.is_out_of_rotation();
    // Those of a ReplicaSet that it let go, and those that passed to another one's, are no concern of it.
    let mut pods = model.counted_pods(workload).into_iter().filter(is_counted);
    if deployment.is_over() {
        return pods.next().is_none();
    }
    // A container that its kubelet stops runs again at once: its pod may stay available from one end to the next.
    let is_in_crash_loop = |pod: &Pod| crash::crash(pod, now).is_some_and(|crash| crash.is_loop);
    pods.all(|pod| pod.state() == PodState::Available && !is_in_crash_loop(pod))
}
