//! Workloads that are at rest, and what keeps others from it.

use crate::made::{WEB, condition, meta, pod};
use timeline::assess::rest::is_at_rest;
use timeline::fact::{
    Condition, ConditionStatus, Container, DeploymentFact, Exit, Phase, PodFact, ReplicaSetFact, Role, Seen,
};
use timeline::view::Now;
use timeline::{Fact, Millis, Timeline};

fn tell_deployment(timeline: &mut Timeline, replicas: u32, progressing: Option<Condition>) {
    let mut web = DeploymentFact { meta: meta(1, "web", None), ..DeploymentFact::default() };
    (web.now.spec.replicas, web.now.status.progressing) = (replicas, progressing);
    timeline.apply(1_000, Fact::Deployment(Box::new(web), Seen::Added));
}

fn tell_set(timeline: &mut Timeline, number: u128, owner: Option<u128>) {
    let mut set = ReplicaSetFact { meta: meta(number, "web-1", owner), ..ReplicaSetFact::default() };
    set.now.counts.desired = 1;
    timeline.apply(1_000, Fact::ReplicaSet(Box::new(set), Seen::Added));
}

fn tell_pod(timeline: &mut Timeline, at_millis: Millis, pod: PodFact) {
    timeline.apply(at_millis, Fact::Pod(Box::new(pod), Seen::Added));
}

fn ready_pod(number: u128, set: u128) -> PodFact {
    let ready = condition(ConditionStatus::True, "", "");
    let ready = Condition { last_transition_millis: None, last_update_millis: None, ..ready };
    PodFact { ready: Some(ready), ..pod(number, set, &format!("web-{number}")) }
}

fn rests(timeline: &Timeline, millis: Millis) -> bool {
    is_at_rest(timeline.model(), WEB, Now { millis, skew_millis: 0 })
}

#[test]
fn a_workload_is_not_at_rest_while_its_replica_set_is_refused() {
    let rests_with = |progressing: Option<Condition>| {
        let mut timeline = Timeline::new();
        tell_deployment(&mut timeline, 0, progressing);
        rests(&timeline, 1_000)
    };
    assert!(rests_with(None));
    assert!(!rests_with(Some(condition(ConditionStatus::False, "ReplicaSetCreateError", ""))));
}

/// A liveness probe that fails again and again: the pod is ready from one end to the next.
#[test]
fn a_workload_is_not_at_rest_while_a_container_that_ends_again_and_again_has_not_recovered() {
    let rests_after = |restarts: u32, millis: Millis| {
        let mut timeline = Timeline::new();
        tell_deployment(&mut timeline, 1, None);
        tell_set(&mut timeline, 2, Some(1));
        let mut pod = ready_pod(3, 2);
        let container = &mut pod.containers[0];
        (container.restarts, container.started_millis) = (restarts, Some(1_000));
        container.last_exit = Some(Exit { code: 137, reason: "Error".into(), ..Exit::default() }.into());
        tell_pod(&mut timeline, 1_000, pod);
        rests(&timeline, millis)
    };
    let few = [(1, 2_000), (2, 2_000), (2, 60_999), (2, 61_000)].map(|(restarts, at)| rests_after(restarts, at));
    assert_eq!(few, [true, false, false, true]);
    // Its back-off is longer with each end, up to five minutes.
    assert_eq!([rests_after(5, 80_999), rests_after(5, 81_000)], [false, true]);
    assert_eq!([rests_after(7, 300_999), rests_after(7, 301_000), rests_after(9, 301_000)], [false, true, true]);
}

#[test]
fn a_workload_is_at_rest_beside_pods_that_it_let_go() {
    let mut timeline = Timeline::new();
    tell_deployment(&mut timeline, 1, None);
    for (set, pod) in [(2, 3), (4, 5)] {
        tell_set(&mut timeline, set, Some(1));
        tell_pod(&mut timeline, 1_000, ready_pod(pod, set));
    }
    tell_set(&mut timeline, 2, None);
    assert_eq!(timeline.model().pods_of_deployment(WEB).len(), 2);
    assert!(rests(&timeline, 2_000));
    // An evicted pod whose containers ended with exit code 0.
    let containers = vec![Container::new("web".into(), Role::App)];
    tell_pod(&mut timeline, 2_000, PodFact { phase: Phase::Succeeded, containers, ..pod(6, 4, "web-6") });
    assert_eq!(timeline.model().pods_of_deployment(WEB).len(), 3);
    assert!(rests(&timeline, 2_000));
    // One pod more than desired, until its ReplicaSet lets it go.
    for (millis, owner, is_resting) in [(3_000, Some(4), false), (4_000, None, true)] {
        tell_pod(&mut timeline, millis, PodFact { meta: meta(7, "web-7", owner), ..ready_pod(7, 4) });
        assert_eq!(rests(&timeline, millis), is_resting, "{owner:?}");
    }
}
