//! What is well is never called bad, however long it takes; what crashes is never called well.

use super::evidence::first;
use crate::made::{SECOND, Web, condition, crashing, ready, unready, waiting};
use timeline::fact::{ConditionStatus, Container, ContainerState, Exit, RESTARTING_ALL, Role, STATUS_UNKNOWN};
use timeline::view::Tone;

/// Revision 2 replaces revision 1, pod by pod; each new pod runs at once and is ready after so many seconds.
fn roll(seconds: i64) -> Vec<(i64, String)> {
    let mut web = Web::replacing();
    let mut bad = Vec::new();
    for pod in 200..203 {
        web.set(SECOND, |set| set.now.counts.desired = u32::try_from(pod - 199).unwrap_or_default());
        web.add_pod(pod, SECOND, unready);
        for _ in 0..seconds {
            web.now += 1_000;
            if web.view().verdict.tone == Tone::Bad {
                bad.push((web.now, web.verdict()));
            }
        }
        web.pod(pod, ready);
        web.set(2, |set| set.now.counts.desired -= 1);
        web.kill_pod(pod - 100);
        web.report();
    }
    bad
}

#[test]
fn a_hundred_healthy_rollouts_are_never_bad() {
    for seconds in 1..=120 {
        assert_eq!(roll(seconds), [], "ready after {seconds} s");
    }
}

#[test]
fn readiness_that_flaps_is_told_and_two_blinks_are_not() {
    let mut web = Web::live(2).at(60_000);
    let blink = |web: &mut Web| {
        web.wait(12_000).pod(100, unready);
        web.event(100, "Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503");
        web.report();
        let said = (web.verdict(), web.view().verdict.why);
        web.wait(8_000).pod(100, ready);
        web.report();
        said
    };
    let saw = "1 pod is running but not ready any more for less than 0.1 s. A probe saw: HTTP probe failed with statuscode: 503.";
    for _ in 0..2 {
        assert_eq!(blink(&mut web), ("[Recovering] Revision 1: 1 of 2 available.".to_owned(), saw.to_owned()));
    }
    assert_eq!(web.view().verdict.why, "");
    let (verdict, why) = blink(&mut web);
    assert_eq!(verdict, "[Degraded] Revision 1 has 1 of 2 available: pods lose readiness repeatedly.");
    let flaps = "Pods lose readiness repeatedly (pod p0100: 3 times in the last 5 min). A probe saw: HTTP probe failed with \
                 statuscode: 503.";
    assert_eq!(why, flaps);
    // That it is ready for a moment does not make it well.
    for now in [web.now, 202_000] {
        web.now = now;
        assert_eq!(web.verdict(), "[Degraded] Revision 1 has 2 of 2 available, but pods lose readiness repeatedly.");
        let view = web.view();
        assert_eq!((view.verdict.tone, view.verdict.why.as_str()), (Tone::Bad, flaps));
        assert_eq!(view.next, "It counts as degraded until no pod has lost its readiness for 90 s.");
    }
    let flapped = flaps.replace("lose", "lost");
    for (now, why) in [(202_001, flapped.as_str()), (372_000, flapped.as_str()), (372_001, "")] {
        web.now = now;
        assert_eq!(web.verdict(), "[Complete] Revision 1 is complete: 2 of 2 available.");
        assert_eq!(web.view().verdict.why, why);
    }
}

#[test]
fn a_pod_that_is_not_ready_any_more_has_its_reason_at_once_where_a_probe_says_it() {
    let mut web = Web::live(2).at(60_000);
    web.pod(100, unready);
    web.report();
    web.wait(3_000);
    let missing = "1 of 2 pods is not available; the revision does not change.";
    assert_eq!(web.view().verdict.why, missing, "nothing says more");
    web.event(100, "Unhealthy", "Readiness probe failed: connection refused");
    let said = "1 pod is running but not ready any more for 3.0 s. A probe saw: connection refused.";
    assert_eq!(web.view().verdict.why, said);
    assert_eq!(web.verdict(), "[Recovering] Revision 1: 1 of 2 available.");
    // One that starts has not failed yet.
    web.wait(20_000).pod(100, ready);
    web.delete_pod(101);
    web.add_pod(102, 2, unready);
    web.report();
    web.event(102, "Unhealthy", "Readiness probe failed: connection refused");
    web.wait(9_000);
    assert_eq!(web.view().verdict.why, format!("{missing} Pod p0101 deleted (00:01:23 UTC)."));
}

#[test]
fn a_pod_that_flapped_and_stays_unready_has_another_cause() {
    let mut web = Web::live(2).at(60_000);
    for _ in 0..2 {
        web.wait(12_000).pod(100, unready);
        web.wait(8_000).pod(100, ready);
    }
    web.wait(12_000).pod(100, unready);
    web.report();
    let lost_millis = web.now;
    for (after_millis, cause) in [(60_000, "pods lose readiness repeatedly"), (60_001, "pods are not ready any more")] {
        web.now = lost_millis + after_millis;
        assert_eq!(web.verdict(), format!("[Degraded] Revision 1 has 1 of 2 available: {cause}."));
    }
    web.now = lost_millis + 1_000;
    let gate = "corresponding condition of pod readiness gate \"shop/open\" does not exist.";
    web.pod(100, |pod| pod.ready = Some(condition(ConditionStatus::False, "ReadinessGatesNotReady", gate)));
    let sentence = &web.view().reasons[0].sentence;
    assert!(sentence.starts_with("Waiting for readiness gate shop/open on 1 pod"), "{sentence}");
}

#[test]
fn a_pod_that_flapped_is_not_why_all_are_unready() {
    let mut web = Web::live(3).at(60_000);
    for _ in 0..3 {
        web.wait(12_000).pod(100, unready);
        web.wait(8_000).pod(100, ready);
    }
    web.wait(5_000);
    (100..103).for_each(|pod| web.pod(pod, unready));
    web.report();
    assert_eq!(web.verdict(), "[Recovering] Revision 1: 0 of 3 available.");
    web.wait(10_001);
    assert_eq!(web.verdict(), "[Degraded] No pod of revision 1 is available: 0 of 3.");
    assert_eq!(web.view().verdict.why, "3 pods are running but not ready any more for 10 s.");
    web.pod(101, ready);
    web.report();
    assert_eq!(web.verdict(), "[Degraded] Revision 1 has 1 of 3 available: pods lose readiness repeatedly.");
}

#[test]
fn a_flapping_pod_that_is_ready_does_not_make_a_scaling_bad() {
    let mut web = Web::live(3).at(60_000);
    for _ in 0..3 {
        web.wait(12_000).pod(100, unready);
        web.report();
        web.wait(8_000).pod(100, ready);
        web.report();
    }
    web.scale(2, 5);
    (103..105).for_each(|pod| web.add_pod(pod, 2, unready));
    web.report();
    assert_eq!(web.verdict(), "[Scaling up] Revision 1 is scaling up: 3 of 5 available.");
    let view = web.view();
    assert!(view.verdict.why.starts_with("Pods lose readiness repeatedly (pod p0100: 3 times"), "{view:?}");
    assert!(view.reasons.iter().all(|reason| !reason.is_fault), "{view:?}");
}

#[test]
fn a_crash_loop_is_never_called_well() {
    let mut web = Web::reported();
    let restart = |web: &mut Web, restarts: u32| {
        web.pod(200, |pod| {
            crashing(restarts)(pod);
            pod.ready = None;
        });
        web.report();
    };
    restart(&mut web, 1);
    for (restarts, back_off) in (2..).zip([10, 20, 40, 80, 160, 300]) {
        for second in 0..back_off {
            web.now += 1_000;
            assert_eq!(web.view().verdict.tone, Tone::Bad, "{second} s into back-off {back_off} s: {}", web.verdict());
        }
        // It runs again, and is ready for a moment.
        let now = web.now;
        web.pod(200, |pod| {
            crashing(restarts)(pod);
            ready(pod);
            (pod.containers[0].state, pod.containers[0].started_millis) = (Some(ContainerState::Running), Some(now));
        });
        web.report();
        assert_eq!(web.view().verdict.tone, Tone::Bad, "it runs for the moment: {}", web.verdict());
        web.now += 1_000;
        restart(&mut web, restarts);
    }
}

/// The kubelet counts the restart together with the end: one end is no crash loop.
#[test]
fn a_container_that_its_kubelet_removed_or_lost_ended_once() {
    for reason in [RESTARTING_ALL, STATUS_UNKNOWN] {
        let mut web = Web::replacing();
        web.add_pod(200, SECOND, unready);
        web.report();
        let told = if reason == RESTARTING_ALL { reason } else { "ContainerCreating" };
        web.wait(5_000).pod(200, |pod| {
            (pod.containers[0].state, pod.containers[0].restarts) = (Some(waiting(told, "")), 1);
            pod.containers[0].last_exit = Some(Exit { code: 137, reason: reason.into(), ..Exit::default() }.into());
        });
        assert_eq!(first(&web), "Container web ended: 1 restart so far (pod p0200).");
        assert_eq!(web.view().verdict.tone, Tone::Busy, "{}", web.verdict());
        web.wait(1_000).pod(200, |pod| pod.containers[0].state = Some(ContainerState::Running));
        let runs = "It has been running again for less than 0.1 s, and its pod is not ready.";
        assert_eq!(first(&web), format!("Container web ended: 1 restart so far (pod p0200). {runs}"));
        assert_eq!(web.view().verdict.tone, Tone::Busy, "{}", web.verdict());
        // The next end counts, and is the second one.
        web.wait(1_000).pod(200, |pod| {
            let (exit_code, reason, message) = (1, "Error".into(), String::new());
            pod.containers[0].state = Some(ContainerState::Terminated { exit_code, reason, message });
            pod.containers[0].last_exit = Some(Exit { code: 1, reason: "Error".into(), ..Exit::default() }.into());
        });
        let crashes = "[Failing] Revision 2 is failing: container web crashes with exit code 1.";
        assert_eq!(web.verdict(), crashes);
    }
}

/// It ends with a code for which its rule has the kubelet remove all containers of the pod and start them again.
#[test]
fn of_containers_that_are_restarted_together_the_one_with_the_rule_crashes() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, |pod| {
        unready(pod);
        let watcher = Container::new("watcher".into(), Role::App);
        pod.containers.push(Container { restarts_all: true, ..watcher });
        for container in &mut pod.containers {
            let exit = Exit { code: 137, reason: RESTARTING_ALL.into(), ..Exit::default() };
            (container.state, container.last_exit) = (Some(waiting(RESTARTING_ALL, "")), Some(exit.into()));
            container.restarts = 2;
        }
    });
    web.report();
    assert_eq!(first(&web), "Container watcher crashes: 2 restarts so far (pod p0200).");
    // The other one ends by itself, too.
    web.pod(200, crashing(2));
    let too = "Container watcher ends again and again too.";
    let crashes = "Container web crashes with exit code 1: 2 restarts so far (pod p0200).";
    assert_eq!(first(&web), format!("{crashes} {too}"));
}

#[test]
fn a_container_that_ran_for_long_before_its_kubelet_removed_it_is_in_no_crash_loop() {
    let mut web = Web::live(2);
    for restarts in [1, 2] {
        web.wait(3_600_000).pod(100, |pod| {
            unready(pod);
            let container = &mut pod.containers[0];
            (container.state, container.started_millis) = (Some(waiting(RESTARTING_ALL, "")), None);
            let exit = Exit { code: 137, reason: RESTARTING_ALL.into(), ..Exit::default() };
            (container.restarts, container.last_exit) = (restarts, Some(exit.into()));
        });
        web.report();
        assert_eq!(web.verdict(), "[Recovering] Revision 1: 1 of 2 available.");
        let started_millis = Some(web.now + 1_000);
        web.wait(1_000).pod(100, |pod| {
            ready(pod);
            (pod.containers[0].state, pod.containers[0].started_millis) =
                (Some(ContainerState::Running), started_millis);
        });
        web.report();
        assert_eq!(web.verdict(), "[Complete] Revision 1 is complete: 2 of 2 available.");
    }
}
