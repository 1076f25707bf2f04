//! Causes of several pods and of several revisions: which are one, and which are told apart.

use crate::made::{SECOND, Web, condition, crashing, ready, unready, waiting};
use crate::said::counting::ready_since;
use crate::said::evidence::causes;
use crate::said::stuck::unschedulable;
use timeline::fact::{ConditionStatus, Container, ContainerState, Phase, Role};

#[test]
fn troubles_of_an_old_revision_are_told_beside_the_new_ones() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, crashing(3));
    for pod in [100, 101] {
        web.pod(pod, |pod| {
            unready(pod);
            pod.containers[0].state = Some(waiting("ErrImagePull", ""));
        });
    }
    web.pod(102, |pod| (pod.phase, pod.reason) = (Phase::Failed, "Evicted".into()));
    assert_eq!(
        causes(&web),
        [
            "Container web crashes with exit code 1: 3 restarts so far (pod p0200).",
            "Revision 1 has problems of its own: image web:v1 cannot be pulled: ErrImagePull, why is not known (2 pods, one \
             is p0100). The kubelet tries again."
        ]
    );
    // A ReplicaSet that went to somebody else, or lost its pods, has none of ours.
    (100..102).for_each(|pod| web.pod(pod, |pod| pod.meta.controller = None));
    assert_eq!(causes(&web).len(), 1, "{:?}", causes(&web));
}

#[test]
fn troubles_of_an_old_revision_are_told_as_precisely_as_those_of_the_new_one() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, |pod| pod.containers[0].state = Some(waiting("ErrImagePull", "web:v2: not found")));
    web.wait(10_000);
    for pod in [100, 101] {
        web.event(pod, "Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500");
        web.event(pod, "Killing", "Container web failed liveness probe, will be restarted");
        web.pod(pod, |pod| {
            unready(pod);
            crashing(3)(pod);
            pod.containers[0].last_exit.as_mut().unwrap().code = 137;
        });
    }
    web.wait(5_000);
    assert_eq!(
        causes(&web),
        [
            "Image web:v2 cannot be pulled: not found (pod p0200).",
            "Revision 1 has problems of its own: container web is killed because its liveness probe fails in 2 pods (pod \
             p0100: 3 restarts so far). The probe saw: HTTP probe failed with statuscode: 500."
        ]
    );
}

#[test]
fn failures_of_one_kind_are_one_cause_and_the_first_pod_stands_for_all() {
    let mut web = Web::replacing();
    web.set(SECOND, |set| set.now.counts.desired = 4);
    web.add_pod(200, SECOND, crashing(3));
    web.add_pod(201, SECOND, crashing(5));
    web.add_pod(202, SECOND, crashing(5));
    web.add_pod(203, SECOND, |pod| {
        crashing(9)(pod);
        pod.containers[0].last_exit.as_mut().unwrap().reason = "OOMKilled".into();
    });
    assert_eq!(
        causes(&web),
        [
            "Container web crashes with exit code 1 in 3 pods (pod p0200: 3 restarts so far).",
            "Container web runs out of memory: 9 restarts so far (pod p0203)."
        ]
    );
    // What is decided comes before what may pass, whichever came first.
    web.add_pod(204, SECOND, |pod| pod.containers[0].state = Some(waiting("CreateContainerError", "no")));
    web.add_pod(205, SECOND, |pod| pod.containers[0].state = Some(waiting("ImagePullBackOff", "Back-off")));
    web.add_pod(206, SECOND, |pod| pod.containers[0].state = Some(waiting("ErrImagePull", "denied")));
    web.add_pod(207, SECOND, |pod| pod.containers[0].state = Some(waiting("ErrImagePull", "unauthorized")));
    web.add_pod(208, SECOND, |pod| pod.containers[0].state = Some(waiting("NewReasonOfTomorrow", "odd")));
    assert_eq!(
        causes(&web),
        [
            "Image web:v2 cannot be pulled: access denied (3 pods, one is p0206).",
            "Container web crashes with exit code 1 in 3 pods (pod p0200: 3 restarts so far).",
            "Container web runs out of memory: 9 restarts so far (pod p0203).",
            "Container web cannot be created (CreateContainerError, pod p0204): no.",
            "Container web does not start (NewReasonOfTomorrow, pod p0208): odd."
        ]
    );
}

#[test]
fn pods_that_failed_are_a_cause_for_90_seconds_while_others_are_missing() {
    let mut web = Web::live(3).at(60_000);
    web.pod(100, |pod| (pod.phase, pod.reason) = (Phase::Failed, "OutOfcpu".into()));
    web.report();
    let failed = "A pod failed, OutOfcpu (pod p0100).";
    assert_eq!(causes(&web), [failed]);
    web.add_pod(103, 2, |_| {});
    web.now = 150_000;
    assert!(causes(&web).contains(&failed.to_owned()), "{:?}", causes(&web));
    web.now = 150_001;
    assert!(!causes(&web).contains(&failed.to_owned()), "{:?}", causes(&web));
    // Nothing is missing: it lies about.
    web.wait_until(61_000).pod(103, ready);
    assert_eq!(causes(&web), Vec::<String>::new());
}

#[test]
fn pods_that_wait_for_a_gate_or_a_node_are_counted() {
    let mut web = Web::replacing();
    web.set(SECOND, |set| set.now.counts.desired = 5);
    let gate = "corresponding condition of pod readiness gate \"shop/open\" does not exist.";
    for number in 0..2 {
        web.wait(1_000).add_pod(200 + number, SECOND, |pod| {
            pod.ready = Some(condition(ConditionStatus::False, "ReadinessGatesNotReady", gate));
        });
        web.add_pod(210 + number, SECOND, unschedulable);
        web.add_pod(220 + number, SECOND, unready);
    }
    web.now = 31_500;
    assert_eq!(
        causes(&web)[..3],
        [
            "No node fits 2 pods: 4 Insufficient cpu.",
            "Waiting for readiness gate shop/open on 2 pods for 10 s. Earlier pods took 5.0 s.",
            "1 new pod is running but not ready for 10 s. Earlier pods took 5.0 s."
        ]
    );
    let since: Vec<_> =
        web.view().reasons.iter().map(|reason| (reason.is_fault, reason.evidence.since_millis)).collect();
    assert_eq!(since[..3], [(false, Some(21_000)); 3]);
}

#[test]
fn pods_that_wait_for_different_things_are_told_apart() {
    let mut web = Web::replacing();
    web.set(SECOND, |set| set.now.counts.desired = 9);
    for (number, gate) in [(200, "shop/open"), (201, "shop/paid")] {
        let message = format!("corresponding condition of pod readiness gate \"{gate}\" does not exist.");
        web.add_pod(number, SECOND, |pod| {
            pod.ready = Some(condition(ConditionStatus::False, "ReadinessGatesNotReady", &message));
        });
    }
    for (number, is_in_startup) in [(210, false), (211, true)] {
        web.add_pod(number, SECOND, |pod| {
            unready(pod);
            pod.containers[0].is_in_startup = is_in_startup;
        });
    }
    for (number, names) in [(212, "web proxy"), (213, "web"), (214, "web")] {
        let message = format!("containers with unready status: [{names}]");
        web.add_pod(number, SECOND, |pod| {
            pod.ready = Some(condition(ConditionStatus::False, "ContainersNotReady", &message));
        });
    }
    for (number, container) in [(220, "web"), (221, "proxy")] {
        web.add_pod(number, SECOND, |pod| {
            pod.containers[0].name = container.into();
            pod.containers[0].state = Some(waiting("CreateContainerConfigError", "secret \"db\" not found"));
        });
    }
    web.now += 15_000;
    let said = causes(&web);
    for begin in [
        "Waiting for readiness gate shop/open on 1 pod ",
        "Waiting for readiness gate shop/paid on 1 pod ",
        "1 new pod is running but not ready for ",
        "1 new pod is running but not ready (containers web, proxy) for ",
        "2 new pods are running but not ready (container web) for ",
        "1 new pod is running but the startup probe has not passed ",
        "Container web cannot be created (CreateContainerConfigError, pod p0220)",
        "Container proxy cannot be created (CreateContainerConfigError, pod p0221)",
    ] {
        assert_eq!(said.iter().filter(|cause| cause.starts_with(begin)).count(), 1, "{begin}: {said:#?}");
    }
}

#[test]
fn pods_that_are_ready_become_available_together_or_one_after_the_other() {
    let ready_at = |times: &[i64]| {
        let mut web = Web::replacing();
        web.set(SECOND, |set| (set.now.min_ready_seconds, set.now.counts.desired) = (10, 3));
        for (number, at) in (200..).zip(times) {
            web.wait_until(*at).add_pod(number, SECOND, ready_since(*at));
        }
        web.now = 22_000;
        causes(&web).swap_remove(0)
    };
    assert_eq!(ready_at(&[20_000]), "1 pod is ready and becomes available in 9 s (minReadySeconds 10).");
    let together = "2 pods are ready and become available in 9 s (minReadySeconds 10).";
    assert_eq!(ready_at(&[20_000, 20_999]), together);
    let in_turn = "2 pods are ready and the first one becomes available in 9 s (minReadySeconds 10).";
    assert_eq!(ready_at(&[20_000, 21_000]), in_turn);
}

#[test]
fn an_init_container_is_told_with_whether_it_has_started() {
    let init = |states: [Option<ContainerState>; 2]| {
        let mut web = Web::replacing();
        web.add_pod(200, SECOND, |pod| {
            pod.phase = Phase::Pending;
            let app = pod.containers[0].clone();
            pod.containers[0].state = Some(waiting("PodInitializing", ""));
            for (number, state) in states.into_iter().enumerate() {
                let named = Container { name: format!("init-{number}"), role: Role::Init, state, ..app.clone() };
                pod.containers.insert(number, named);
            }
        });
        web.now = 35_000;
        causes(&web).swap_remove(0)
    };
    let done = || Some(ContainerState::Terminated { exit_code: 0, reason: String::new(), message: String::new() });
    let words = |which: &str| format!("Init container {which}, pod p0200); the pod has been starting for 15 s.");
    assert_eq!(init([None, None]), words("init-0 has not started (0 of 2 done"));
    assert_eq!(init([Some(ContainerState::Running), None]), words("init-0 is running (0 of 2 done"));
    assert_eq!(init([done(), Some(ContainerState::Running)]), words("init-1 is running (1 of 2 done"));
    assert_eq!(init([None, Some(ContainerState::Running)]), words("init-0 has not started (0 of 2 done"));
    let mut web = Web::replacing();
    for number in 200..203 {
        web.add_pod(number, SECOND, |pod| {
            let migrate = Container { name: "migrate".into(), role: Role::Init, ..pod.containers[0].clone() };
            (pod.phase, pod.containers[0].state) = (Phase::Pending, Some(waiting("PodInitializing", "")));
            pod.containers.insert(0, migrate);
        });
    }
    web.now = 35_000;
    assert_eq!(
        causes(&web),
        [words("migrate is running (0 of 1 done, 3 pods, one is p0200").replace(", pod p0200)", ")")]
    );
}
