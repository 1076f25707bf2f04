//! Containers that end: which of them crash, since when and how often, and what is said beside that.

use crate::made::{SECOND, WEB, Web, condition, crashing, next_revision, ready, unready, waiting};
use crate::said::counting::ready_since;
use crate::said::evidence::{causes, command, crashing_unready, creating, first, replacing};
use timeline::fact::{ConditionStatus, Container, ContainerState, Exit, Phase, PodCondition, Role};
use timeline::rollout::{self, Outcome};
use timeline::story::LineKind;
use timeline::view::Tone;

#[test]
fn a_container_that_is_not_ready_is_named_beside_one_that_crashes() {
    let mut web = replacing(|pod| {
        crashing(2)(pod);
        let mut metrics = Container::new("metrics".into(), Role::App);
        (metrics.state, metrics.started_millis) = (Some(ContainerState::Running), Some(21_000));
        pod.containers.extend([metrics.clone(), Container { name: "proxy".into(), ..metrics }]);
        pod.conditions.push(PodCondition {
            kind: "ContainersReady".into(),
            status: ConditionStatus::False,
            reason: "ContainersNotReady".into(),
            message: "containers with unready status: [web metrics]".into(),
        });
    });
    let crash = "Container web crashes with exit code 1: 2 restarts so far (pod p0200).";
    web.now = 31_000;
    assert_eq!(first(&web), crash, "it may be starting");
    web.now = 31_001;
    assert_eq!(first(&web), format!("{crash} Container metrics runs and is not ready."));
    web.pod(200, |pod| pod.conditions[0].message = "containers with unready status: [web metrics proxy]".into());
    assert_eq!(first(&web), format!("{crash} Container metrics and container proxy run and are not ready."));
}

#[test]
fn a_container_that_cannot_be_created_is_named_beside_one_that_crashes() {
    let mut web = replacing(|pod| {
        crashing(2)(pod);
        let state = Some(waiting("CreateContainerConfigError", "configmap \"settings\" not found"));
        pod.containers.push(Container { state, ..Container::new("proxy".into(), Role::App) });
    });
    let crash = "Container web crashes with exit code 1: 2 restarts so far (pod p0200).";
    let missing =
        "Container proxy cannot be created (CreateContainerConfigError, pod p0200): configmap \"settings\" not found.";
    assert_eq!(causes(&web), [crash, missing]);
    web.now += 10_001;
    assert_eq!(causes(&web), [missing, crash]);
    assert_eq!(web.verdict(), "[Failing] Revision 2 cannot start: configmap \"settings\" not found.");
}

#[test]
fn a_crash_loop_is_named_beside_a_container_that_cannot_be_created_while_it_does_not_back_off() {
    let ended = ContainerState::Terminated { exit_code: 1, reason: "Error".into(), message: String::new() };
    for state in [waiting("CrashLoopBackOff", "back-off 10s"), ContainerState::Running, ended] {
        for place in [0, 1] {
            let mut web = replacing(|pod| {
                crashing(2)(pod);
                pod.containers[0].state = Some(state.clone());
                let missing = Some(waiting("CreateContainerConfigError", "configmap \"settings\" not found"));
                let proxy = Container { state: missing, ..Container::new("proxy".into(), Role::App) };
                pod.containers.insert(place, proxy);
            });
            web.now += 10_001;
            let said = causes(&web);
            let missing = "Container proxy cannot be created (CreateContainerConfigError, pod p0200): configmap \"settings\" not found.";
            let crash = "Container web crashes with exit code 1: 2 restarts so far (pod p0200).";
            assert_eq!(said, [missing, crash], "{state:?}");
        }
    }
}

#[test]
fn an_exit_is_told_until_the_pod_counts_again() {
    let mut web = Web::replacing();
    web.set(SECOND, |set| set.now.min_ready_seconds = 120);
    web.add_pod(200, SECOND, unready);
    web.wait_until(25_000).pod(200, |pod| {
        ready_since(25_000)(pod);
        (pod.containers[0].restarts, pod.containers[0].started_millis) = (1, Some(24_000));
        pod.containers[0].last_exit = Some(Exit { code: 1, reason: "Error".into(), ..Exit::default() }.into());
    });
    web.now = 27_000;
    let ended = "Container web ended with exit code 1: 1 restart so far (pod p0200).";
    let exit = format!("{ended} It has been running again for 3.0 s.");
    let waits = "1 pod is ready and becomes available in 119 s (minReadySeconds 120).";
    assert_eq!(causes(&web), [exit.as_str(), waits]);
    assert_eq!(web.view().verdict.badge, "Waiting");
    web.now = 83_999;
    assert_eq!(causes(&web).len(), 2);
    web.now = 84_000;
    assert_eq!(
        causes(&web),
        ["1 pod is ready and becomes available in 62 s (minReadySeconds 120)."],
        "it has recovered"
    );
}

#[test]
fn a_container_that_is_started_again_in_a_new_sandbox_does_not_crash() {
    let mut web = Web::live(2);
    let ended = |web: &mut Web, restarts: u32, code: i32, ran_millis: i64| {
        let at = web.now;
        web.pod(100, |pod| {
            unready(pod);
            (pod.containers[0].restarts, pod.containers[0].started_millis) = (restarts, Some(at));
            let exit = Exit { code, reason: "Error".into(), ..Exit::default() };
            let exit = Exit { finished_millis: Some(at), ran_millis: Some(ran_millis), ..exit };
            pod.containers[0].last_exit = Some(exit.into());
        });
        web.report();
    };
    let begin = "Container web was started again in a new sandbox of its pod";
    let end = "It has been running again for less than 0.1 s, and its pod is not ready.";
    for (restarts, times) in [(1, "1 restart so far"), (2, "2 restarts in 1 min 0 s")] {
        web.wait(60_000).event(100, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.");
        ended(&mut web, restarts, 2, 50_000);
        assert_eq!(first(&web), format!("{begin}: {times} (pod p0100). {end}"));
        assert_eq!(web.view().verdict.tone, Tone::Busy, "{}", web.verdict());
    }
    let again = "container web was restarted 2 times in a new sandbox of its pod, the last time 1 min 0 s later.";
    let told = format!("Pod p0100 of revision 1: {again}");
    assert_eq!(web.lines(LineKind::Bad), [told]);
    // What ends by itself in the new sandbox did not end for it.
    ended(web.wait(20_000), 3, 1, 19_000);
    assert!(first(&web).starts_with("Container web crashes with exit code 1: 3 restarts in "), "{}", first(&web));
}

#[test]
fn an_init_container_that_runs_again_in_a_new_sandbox_does_not_crash() {
    let mut web = Web::live(2);
    let exit = |finished_millis: i64| -> Option<Box<Exit>> {
        let exit = Exit { code: 0, reason: "Completed".into(), ..Exit::default() };
        Some(Exit { finished_millis: Some(finished_millis), ran_millis: Some(3_000), ..exit }.into())
    };
    let done = ContainerState::Terminated { exit_code: 0, reason: "Completed".into(), message: String::new() };
    web.pod(100, |pod| {
        let warm = Container::new("warm".into(), Role::Init);
        pod.containers.insert(0, Container { state: Some(done.clone()), last_exit: exit(4_000), ..warm });
    });
    web.wait(60_000).event(100, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.");
    web.pod(100, |pod| {
        (pod.phase, pod.ready) = (Phase::Pending, None);
        pod.containers[0].state = Some(ContainerState::Running);
        (pod.containers[0].restarts, pod.containers[0].started_millis) = (1, Some(65_000));
        (pod.containers[1].state, pod.containers[1].last_exit) = (Some(done), exit(65_000));
    });
    web.report();
    let begin = "Init container warm was started again in a new sandbox of its pod: 1 restart so far (pod p0100).";
    assert_eq!(first(&web), format!("{begin} It has been running again for less than 0.1 s, and has not completed."));
    let told = "Pod p0100 of revision 1: init container warm was restarted in a new sandbox of its pod.";
    assert_eq!(web.lines(LineKind::Bad), [told]);
}

#[test]
fn a_container_that_is_restarted_for_a_change_of_the_spec_does_not_crash() {
    restarted_for("Container web resize requires restart", "for a resize of its resources");
    let why = "because the spec of its pod was changed";
    restarted_for("Container web definition changed, will be restarted", why);
}

/// The kubelet restarts a container and says this; the page says why.
fn restarted_for(killing: &str, why: &str) {
    let mut web = Web::live(2);
    for restarts in [1, 2] {
        web.now += 60_000;
        web.event(100, "Killing", killing);
        let started_millis = Some(web.now);
        web.pod(100, |pod| {
            unready(pod);
            (pod.containers[0].restarts, pod.containers[0].started_millis) = (restarts, started_millis);
            pod.containers[0].last_exit = Some(Exit { code: 143, reason: "Error".into(), ..Exit::default() }.into());
        });
        web.report();
        assert!(first(&web).starts_with(&format!("Container web was restarted {why}: ")), "{}", first(&web));
        assert_eq!(web.view().verdict.tone, Tone::Busy, "{}", web.verdict());
        assert!(!web.view().reasons[0].is_fatal);
    }
    // Ready again, nothing is wrong with it, though it ended twice in short time.
    web.now += 1_000;
    web.pod(100, ready);
    web.report();
    assert_eq!((web.view().reasons.len(), web.view().verdict.tone), (0, Tone::Ok), "{}", web.verdict());
    let told = format!("container web was restarted 2 times {why}, the last time 1 min 0 s later.");
    assert_eq!(web.lines(LineKind::Outside), [format!("Pod p0100 of revision 1: {told}")]);
    // What ends by itself after a change did not end for it.
    web.pod(100, |pod| {
        unready(pod);
        pod.containers[0].restarts = 3;
        pod.containers[0].last_exit = Some(Exit { code: 1, reason: "Error".into(), ..Exit::default() }.into());
    });
    assert!(first(&web).contains("with exit code 1"), "{}", first(&web));
}

/// A program may exit as it likes when it is asked to stop.
#[test]
fn a_container_that_is_stopped_for_a_change_of_the_spec_may_end_with_any_exit_code() {
    let said = |finished_millis: i64, ran_millis: i64| {
        let mut web = Web::live(2);
        let skew_millis = web.timeline.skew_millis();
        web.wait_until(60_000).event(100, "Killing", "Container web resize requires restart");
        web.wait_until(62_000).pod(100, |pod| {
            unready(pod);
            let started_millis = Some(62_000 - skew_millis);
            (pod.containers[0].restarts, pod.containers[0].started_millis) = (1, started_millis);
            let exit = Exit { code: 1, reason: "Error".into(), ..Exit::default() };
            let finished_millis = Some(finished_millis - skew_millis);
            pod.containers[0].last_exit = Some(Exit { finished_millis, ran_millis: Some(ran_millis), ..exit }.into());
        });
        web.report();
        first(&web)
    };
    let resized = "Container web was restarted for a resize of its resources: 1 restart so far (pod p0100).";
    assert!(said(61_000, 40_000).starts_with(resized), "{}", said(61_000, 40_000));
    let ended = "Container web ended with exit code 1: 1 restart so far (pod p0100).";
    assert!(said(57_000, 40_000).starts_with(ended), "it ended before: {}", said(57_000, 40_000));
    assert!(said(62_000, 1_000).starts_with(ended), "it started later: {}", said(62_000, 1_000));
}

#[test]
fn an_exit_code_of_some_pods_is_not_told_of_all() {
    let said = |codes: [i32; 2]| {
        let mut web = Web::replacing();
        web.set(SECOND, |set| set.now.counts.desired = 2);
        for (number, code) in [200, 201].into_iter().zip(codes) {
            web.add_pod(number, SECOND, |pod| {
                crashing_unready(2)(pod);
                pod.containers[0].last_exit = Some(Exit { code, reason: "Error".into(), ..Exit::default() }.into());
            });
        }
        web.report();
        first(&web)
    };
    assert_eq!(said([1, 1]), "Container web crashes with exit code 1 in 2 pods (pod p0200: 2 restarts so far).");
    assert_eq!(said([1, 137]), "Container web crashes in 2 pods (pod p0200: 2 restarts so far).");
}

#[test]
fn only_crashes_that_came_with_a_rollout_are_undone() {
    let crashed = |minutes: i64| {
        let mut web = Web::reported();
        web.wait(minutes * 60_000).pod(200, crashing_unready(2));
        web.report();
        assert!(web.verdict().contains("Revision 2 was rolled out, but container web crashes"), "{}", web.verdict());
        command(&web)
    };
    assert_eq!(crashed(9), "rollout undo deployment/web");
    assert!(crashed(11).starts_with("logs web-3-p0200"), "{}", crashed(11));
}

/// All pods of revision 2 crash again and again, soon after it was complete.
fn all_crashing() -> Web {
    let mut web = Web::reported();
    web.wait(60_000);
    (200..203).for_each(|pod| web.pod(pod, crashing_unready(2)));
    web.report();
    web
}

#[test]
fn a_rollout_that_was_complete_is_degraded_also_when_all_its_pods_crash() {
    let said = "[Degraded] Revision 2 was rolled out, but container web crashes with exit code 1, 2 restarts.";
    assert_eq!(all_crashing().verdict(), said);
}

/// Pods of revision 2 crash in turn. All three were available at 30 s, for half a second.
fn available_for_a_moment(change: fn(&mut Web)) -> Web {
    let mut web = Web::live(3).at(20_000);
    web.take_over(unready);
    change(&mut web);
    web.report();
    web.wait_until(30_000);
    (200..203).for_each(|pod| web.pod(pod, ready));
    web.wait_until(30_500).pod(200, crashing_unready(2));
    web.report();
    web
}

#[test]
fn a_rollout_whose_pods_are_all_available_for_a_moment_goes_on() {
    let mut web = available_for_a_moment(|_| {});
    let was_there = "[Degraded] Revision 2 was rolled out, but container web crashes with exit code 1, 2 restarts.";
    let fails = "Revision 2 is failing: container web crashes with exit code 1.";
    web.now = 35_000;
    assert_eq!(web.verdict(), was_there, "the controller may report it yet");
    web.now = 35_001;
    assert_eq!(web.verdict(), format!("[Failing] {fails}"));
    assert_eq!(web.view().deadline_millis, Some(600_000));
    let mut passed = condition(ConditionStatus::False, "ProgressDeadlineExceeded", "timed out");
    passed.last_update_millis = Some(601_000);
    web.wait_until(601_000).deployment(|deployment| deployment.status.progressing = Some(passed));
    assert_eq!(web.verdict(), format!("[Deadline exceeded] {fails}"));
    // The next one begins.
    web.now = 700_000;
    next_revision(&mut web, 3, [1, 3]);
    let superseded = "Revision 3 superseded revision 2 before 2 finished.";
    assert_eq!(web.lines(LineKind::Outside).last().unwrap(), superseded);
    let outcome = |web: &Web| {
        let deployment = web.timeline.model().deployments.get(&WEB).unwrap();
        rollout::outcome(deployment, &deployment.rollouts[1])
    };
    assert_eq!(outcome(&web), Outcome::Superseded);
    // That not all of its pods were available is not said of it.
    web.wait_until(710_000).edit("v2");
    web.set(SECOND, |set| set.revision = Some(4));
    web.deployment(|deployment| deployment.revision = Some(4));
    assert_eq!(web.lines(LineKind::Revision).last().unwrap(), "Rolled back to revision 2, now 4: image web:v2.");
}

#[test]
fn a_rollout_without_a_progress_deadline_is_over_as_its_pods_tell() {
    let mut web = available_for_a_moment(|web| {
        web.deployment(|deployment| {
            (deployment.spec.progress_deadline_seconds, deployment.status.progressing) = (None, None);
        });
    });
    web.now = 60_000;
    assert!(web.verdict().starts_with("[Degraded] Revision 2 was rolled out, but "), "{}", web.verdict());
}

#[test]
fn a_rollback_out_of_a_crash_loop_is_not_undone() {
    let mut web = all_crashing();
    assert_eq!(command(&web), "rollout undo deployment/web");
    web.wait(60_000).edit("v1");
    web.set(2, |set| (set.revision, set.now.counts.desired) = (Some(3), 1));
    web.deployment(|deployment| {
        deployment.revision = Some(3);
        deployment.status.observed_generation = deployment.generation;
        deployment.status.updated = 0;
        deployment.status.progressing = Some(condition(ConditionStatus::True, "ReplicaSetUpdated", ""));
    });
    assert!(web.verdict().contains("Revision 3 is replacing revision 2"), "{}", web.verdict());
    assert_eq!(web.view().remedy, None);
    (200..203).for_each(|pod| web.kill_pod(pod));
    assert_eq!(web.view().remedy, None, "the pods that crashed are on their way");
    (200..203).for_each(|pod| web.delete_pod(pod));
    web.set(SECOND, |set| set.now.counts.desired = 0);
    assert_eq!(web.view().remedy, None, "they are gone");
}

#[test]
fn a_container_that_never_ran_has_no_logs() {
    let mut web = Web::live(3);
    web.now += 3_600_000;
    let message = "failed to create containerd task: unable to start container process: exec: \"/app\": not found";
    web.pod(100, |pod| {
        crashing_unready(2)(pod);
        pod.containers[0].last_exit =
            Some(Exit { code: 128, reason: "StartError".into(), message: message.into(), ..Exit::default() }.into());
    });
    assert!(command(&web).starts_with("describe pod "), "{}", command(&web));
}

/// A node was started again, or the kubelet does not find the container any more: the exit code is made up.
#[test]
fn an_end_that_nobody_saw_has_no_exit_code() {
    let said = |code: i32, reason: &'static str| {
        let web = replacing(|pod| {
            crashing_unready(1)(pod);
            pod.containers[0].state = Some(ContainerState::Running);
            pod.containers[0].last_exit = Some(Exit { code, reason: reason.into(), ..Exit::default() }.into());
        });
        first(&web)
    };
    for (code, reason) in [(255, "Unknown"), (137, "ContainerStatusUnknown")] {
        let said = said(code, reason);
        assert!(said.starts_with("Container web ended: 1 restart so far (pod p0200)."), "{said}");
    }
    assert!(said(255, "Error").starts_with("Container web ended with exit code 255: "), "{}", said(255, "Error"));
}

#[test]
fn what_a_container_waits_for_now_is_told_before_that_it_crashed() {
    let waits_for = |reason: &'static str, message: &'static str| {
        let mut web = replacing(|pod| {
            crashing_unready(5)(pod);
            pod.containers[0].state = Some(waiting(reason, message));
        });
        web.now += 1_000;
        first(&web)
    };
    let secret = waits_for("CreateContainerConfigError", "secret \"db\" not found");
    assert!(secret.contains("secret \"db\" not found"), "{secret}");
    let start = waits_for("RunContainerError", "exec: no such file");
    assert!(start.starts_with("Container web crashes"), "{start}");
}

#[test]
fn one_end_is_told_until_the_container_has_started_again() {
    let mut web = Web::reported();
    web.wait(3_600_000).pod(200, |pod| {
        pod.ready = None;
        let container = &mut pod.containers[0];
        (container.restarts, container.is_in_startup) = (1, true);
        container.last_exit = Some(Exit { code: 137, reason: "OOMKilled".into(), ..Exit::default() }.into());
    });
    web.report();
    web.now += 120_000;
    assert!(first(&web).starts_with("Container web ran out of memory: 1 restart"), "{}", first(&web));
    assert_eq!(web.view().verdict.tone, Tone::Busy, "{}", web.verdict());
    web.now += 600_000;
    assert_eq!(web.view().verdict.tone, Tone::Bad, "{}", web.verdict());
}

#[test]
fn of_an_init_container_that_runs_again_it_is_told_that_it_has_not_completed() {
    let once = |container: &mut Container| {
        container.restarts = 1;
        container.last_exit = Some(Exit { code: 1, reason: "Error".into(), ..Exit::default() }.into());
    };
    let mut web = replacing(|pod| {
        creating(pod);
        let state = Some(ContainerState::Running);
        pod.containers.insert(0, Container { state, ..Container::new("migrate".into(), Role::Init) });
        once(&mut pod.containers[0]);
    });
    web.now += 5_000;
    let said = first(&web);
    assert!(said.starts_with("Init container migrate ended with exit code 1"), "{said}");
    assert!(said.ends_with(" It has been running again for 5.0 s, and has not completed."), "{said}");
    let mut web = replacing(|pod| {
        unready(pod);
        once(&mut pod.containers[0]);
    });
    web.now += 5_000;
    let said = first(&web);
    assert!(said.ends_with(" It has been running again for 5.0 s, and its pod is not ready."), "{said}");
}

/// Without a readiness probe a container that was started again is ready at once: the controllers see nothing but that.
#[test]
fn when_all_pods_ended_once_after_the_rollout_only_the_controllers_are_done() {
    let mut web = Web::reported();
    web.wait(20_000);
    for number in 200..203 {
        web.pod(number, |pod| {
            unready(pod);
            let container = &mut pod.containers[0];
            let (reason, message) = ("Error".to_owned(), String::new());
            container.state = Some(ContainerState::Terminated { exit_code: 1, reason, message });
            container.last_exit = Some(Exit { code: 1, reason: "Error".into(), ..Exit::default() }.into());
        });
    }
    web.report();
    let seen = web.view();
    assert_eq!((seen.verdict.badge.as_str(), seen.next.as_str()), ("Recovering", "3 pods still to become available."));
    web.wait(1_000);
    for number in 200..203 {
        web.pod(number, |pod| {
            ready(pod);
            (pod.containers[0].state, pod.containers[0].restarts) = (Some(ContainerState::Running), 1);
        });
    }
    web.report();
    let seen = web.view();
    let next = "The controllers have nothing left to do.";
    assert_eq!((seen.verdict.badge.as_str(), seen.next.as_str()), ("Complete", next));
}

#[test]
fn restarts_of_earlier_troubles_are_not_told_with_the_time_of_the_last_ones() {
    let mut web = Web::reported();
    web.wait(60_000).pod(200, crashing(5));
    web.wait(60_000).pod(200, |pod| {
        pod.containers[0].state = Some(ContainerState::Running);
        ready(pod);
    });
    web.wait(10 * 3_600_000).pod(200, crashing_unready(6));
    web.now += 30_000;
    assert!(first(&web).contains(": 6 restarts so far"), "{}", first(&web));
}

#[test]
fn a_crash_loop_begins_after_the_last_long_time_that_the_pod_was_ready() {
    let mut web = Web::reported();
    web.wait(60_000).pod(200, unready);
    web.wait(2_000).pod(200, ready);
    web.wait(10 * 3_600_000).pod(200, crashing_unready(2));
    web.report();
    web.now += 30_000;
    assert!(first(&web).contains(": 2 restarts in 30 s"), "{}", first(&web));
    assert!(command(&web).starts_with("logs web-3-p0200"), "{}", command(&web));
}
