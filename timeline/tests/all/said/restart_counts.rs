//! How often a container was restarted, and in which time.

use crate::made::{SECOND, Web, crashing, ready, unready, waiting};
use crate::said::evidence::causes;
use crate::said::stuck::has;
use timeline::fact::{Container, ContainerState, Exit};

/// The kubelet starts a container that it stops again at once: no state of its pod tells of the first ends.
#[test]
fn restarts_by_a_probe_count_from_the_first_one_and_keep_the_result_of_the_probe() {
    let mut web = Web::replacing();
    web.set(SECOND, |set| set.now.counts.desired = 2);
    (200..202).for_each(|pod| web.add_pod(pod, SECOND, |_| {}));
    let stopped = |web: &mut Web, restarts: u32, state: ContainerState| {
        let finished_millis = Some(web.now);
        for pod in 200..202 {
            web.event_of(pod, "web", "Killing", "Container web failed liveness probe, will be restarted");
            let exit = Exit { code: 137, reason: "Error".into(), ..Exit::default() };
            let exit = Exit { finished_millis, ran_millis: Some(12_000), ..exit };
            web.pod(pod, |pod| {
                (pod.containers[0].restarts, pod.containers[0].last_exit) = (restarts, Some(exit.into()));
                pod.containers[0].state = Some(state.clone());
            });
        }
    };
    let told = |web: &Web, times: &str| {
        let killed = "Container web is killed because its liveness probe fails in 2 pods";
        let saw = "The probe saw: HTTP probe failed with statuscode: 503.";
        assert_eq!(causes(web), [format!("{killed} (pod p0200: {times}). {saw}")]);
    };
    for restarts in 1..=2 {
        web.wait(11_000);
        for pod in 200..202 {
            web.event_of(pod, "web", "Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 503");
        }
        stopped(web.wait(1_000), restarts, ContainerState::Running);
    }
    told(&web, "2 restarts in 12 s");
    // The kubelet leaves out the results of the last runs.
    stopped(web.wait(12_000), 3, ContainerState::Running);
    told(&web, "3 restarts in 24 s");
    stopped(web.wait(12_000), 3, waiting("CrashLoopBackOff", "back-off 20s"));
    told(&web, "3 restarts in 36 s");
    web.now += 12_000;
    told(&web, "3 restarts in 48 s");
    web.now += 12_000;
    (200..202).for_each(|pod| {
        web.pod(pod, |pod| (pod.containers[0].restarts, pod.containers[0].state) = (4, Some(ContainerState::Running)));
    });
    told(&web, "4 restarts in 1 min 0 s");
    // The story names one pod of both.
    web.delete_pod(200);
    let alone = "Container web is killed because its liveness probe fails: 4 restarts in 1 min 0 s (pod p0201). The probe saw: \
                 HTTP probe failed with statuscode: 503.";
    assert_eq!(causes(&web), [alone]);
}

#[test]
fn restarts_of_a_container_do_not_count_from_those_of_another_one() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, |pod| {
        let proxy = Container { name: "proxy".into(), ..pod.containers[0].clone() };
        pod.containers.push(proxy);
    });
    // The kubelet starts it again at once.
    web.wait_until(31_000).pod(200, |pod| {
        let exit = Exit { code: 1, reason: "Error".into(), ..Exit::default() };
        (pod.containers[1].restarts, pod.containers[1].last_exit) = (1, Some(exit.into()));
    });
    web.wait_until(80_000).pod(200, crashing(1));
    web.now = 100_000;
    assert!(has(&web, "Container web crashes with exit code 1: 1 restart in 20 s"), "{:?}", causes(&web));
}

#[test]
fn a_restart_after_an_error_is_not_counted_as_one_after_exit_code_0() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, |_| {});
    let change = |web: &mut Web, after: i64, restarts: u32, state: ContainerState, code: i32| {
        let reason = if code == 0 { "Completed" } else { "Error" };
        let exit = Exit { code, reason: reason.into(), ..Exit::default() };
        web.wait(after).pod(200, |pod| {
            (pod.containers[0].restarts, pod.containers[0].last_exit) = (restarts, Some(exit.into()));
            pod.containers[0].state = Some(state);
        });
    };
    let (exit_code, reason, message) = (1, "Error".into(), String::new());
    change(&mut web, 5_000, 0, ContainerState::Terminated { exit_code, reason, message }, 1);
    change(&mut web, 6_000, 1, ContainerState::Running, 1);
    change(&mut web, 8_000, 1, waiting("CrashLoopBackOff", "back-off 10s"), 0);
    let ends = "Container web ends with exit code 0 (Completed) and is started again";
    assert_eq!(causes(&web), [format!("{ends} (pod p0200).")]);
    change(&mut web, 10_000, 2, ContainerState::Running, 0);
    assert_eq!(causes(&web), [format!("{ends}: 1 restart in 24 s (pod p0200).")]);
}

#[test]
fn restarts_of_a_pod_that_never_was_ready_are_told_with_their_time() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, |_| {});
    web.wait_until(22_000).pod(200, crashing(2));
    web.now = 30_000;
    assert_eq!(causes(&web), ["Container web crashes with exit code 1: 2 restarts so far (pod p0200)."]);
    // It runs again for the moment, ready or not, and crashes all the same: until it has run for a minute.
    web.wait_until(31_000).pod(200, |pod| pod.containers[0].state = Some(ContainerState::Running));
    assert_eq!(causes(&web), ["Container web crashes with exit code 1: 2 restarts so far (pod p0200)."]);
    web.pod(200, |pod| {
        ready(pod);
        pod.containers[0].started_millis = Some(31_000);
    });
    web.now = 31_000 + 59_000 + web.timeline.skew_millis();
    assert!(has(&web, "Container web crashes"), "{:?}", causes(&web));
    web.now += 1_000;
    assert_eq!(causes(&web), Vec::<String>::new());
    web.pod(200, unready);
    assert_eq!(causes(&web), Vec::<String>::new(), "it has recovered, and is not ready for a moment");
}
