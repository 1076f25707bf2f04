//! What probes see, and what they do to containers, reaches the sentence, and says no more than it means.

use crate::made::{Web, condition, ready, unready};
use crate::said::evidence::{crashing_unready, first, matter, replacing};
use timeline::fact::{ConditionStatus, Container, ContainerState, Exit, Role};

#[test]
fn what_a_probe_saw_is_told_of_pods_that_are_not_ready() {
    let mut web = replacing(unready);
    web.now += 40_000;
    let begin = "1 new pod is running but not ready for 40 s.";
    let end = "Earlier pods took 5.0 s.";
    assert_eq!(first(&web), format!("{begin} {end}"));
    web.event(200, "Unhealthy", "Liveness probe failed: HTTP probe failed with statuscode: 500");
    assert_eq!(first(&web), format!("{begin} {end}"), "of another probe");
    web.event(200, "Unhealthy", "Readiness probe failed: dial tcp 10.1.2.3:80: connect: connection refused");
    let saw = "A probe saw: dial tcp 10.1.2.3:80: connect: connection refused.";
    assert_eq!(first(&web), format!("{begin} {saw} {end}"));
    // At the deadline it is what the verdict names.
    web.deployment(|deployment| {
        deployment.status.progressing = Some(condition(ConditionStatus::False, "ProgressDeadlineExceeded", ""));
    });
    assert_eq!(web.verdict(), "[Deadline exceeded] Revision 2 makes no progress: pods do not become ready.");
}

#[test]
fn probes_are_named_as_a_limit_only_where_there_are_some() {
    let mut web = Web::made(1);
    web.pod(100, unready);
    web.now = 40_000;
    let begin = "1 new pod is running but not ready for 40 s.";
    assert_eq!(first(&web), format!("{begin} That is longer than the 30 s that Rollcast allows."));
    web.set(2, |set| set.now.probe_millis = 24_000);
    assert_eq!(
        first(&web),
        format!("{begin} That is longer than the 36 s that Rollcast allows."),
        "readiness has no end"
    );
    web.pod(100, |pod| pod.containers[0].is_in_startup = true);
    let begin = "1 new pod is running but the startup probe has not passed for 40 s.";
    assert_eq!(first(&web), format!("{begin} That is longer than the 24 s that its probes allow."));
    web.pod(100, |pod| {
        let state = Some(ContainerState::Running);
        let proxy = Container::new("proxy".into(), Role::App);
        pod.containers.push(Container { state, is_in_startup: true, ..proxy });
    });
    let allowed = format!("{begin} That is longer than the 36 s that Rollcast allows.");
    assert_eq!(first(&web), allowed, "the probe of an injected container is not in the template");
}

#[test]
fn a_pod_that_was_hindered_for_hours_lets_no_later_one_wait_as_long() {
    let mut web = Web::made(2);
    web.pod(101, ready);
    web.pod(100, unready);
    web.wait(36_000_000).pod(100, ready);
    web.wait(1_000).delete_pod(101);
    web.add_pod(102, 2, unready);
    web.report();
    let begun = web.now;
    let recovering = "[Recovering] Revision 1: 1 of 2 available.";
    let degraded = "[Degraded] Revision 1 has 1 of 2 available: pods do not become ready.";
    for (minutes, verdict) in [(94, recovering), (97, degraded)] {
        web.now = begun + minutes * 60_000;
        assert_eq!(web.verdict(), verdict, "{minutes}");
    }
}

#[test]
fn a_startup_probe_is_said_to_hold_up_its_own_container_alone() {
    let mut web = replacing(|pod| {
        unready(pod);
        pod.ready.as_mut().unwrap().message = "containers with unready status: [web proxy]".into();
        let state = Some(ContainerState::Running);
        pod.containers.push(Container { state, ..Container::new("proxy".into(), Role::App) });
        pod.containers[0].is_in_startup = true;
    });
    web.now += 40_000;
    let said = "1 new pod is running but the startup probe has not passed (container web) for 40 s.";
    assert!(first(&web).starts_with(said), "{}", first(&web));
    web.pod(200, |pod| pod.containers[0].is_in_startup = false);
    let said = "1 new pod is running but not ready (containers web, proxy) for 40 s.";
    assert!(first(&web).starts_with(said), "{}", first(&web));
}

#[test]
fn a_container_that_ends_by_itself_is_not_killed_by_a_probe() {
    let ended = |code: i32, events: &[(&str, &str)]| {
        let mut web = replacing(|pod| {
            crashing_unready(3)(pod);
            pod.containers[0].last_exit = Some(Exit { code, reason: "Error".into(), ..Exit::default() }.into());
        });
        events.iter().for_each(|(reason, message)| web.event(200, reason, message));
        matter(&web)
    };
    let unhealthy = ("Unhealthy", "Startup probe failed: connection refused");
    assert_eq!(ended(1, &[unhealthy]), "container web crashes with exit code 1.");
    assert_eq!(ended(137, &[unhealthy]), "container web is killed because its startup probe fails.");
    let killing = |container: &str| format!("Container {container} failed startup probe, will be restarted");
    let of_web = killing("web");
    assert_eq!(ended(1, &[("Killing", &of_web)]), "container web is killed because its startup probe fails.");
    assert_eq!(ended(1, &[("Killing", &killing("proxy"))]), "container web crashes with exit code 1.");
    let init = "Init container web failed startup probe, will be restarted";
    assert_eq!(ended(0, &[("Killing", init)]), "container web is killed because its startup probe fails.");
    assert_eq!(ended(0, &[unhealthy]), "container web ends with exit code 0 (Completed) and is started again.");
}

#[test]
fn a_hook_of_one_container_kills_no_other_one() {
    let said = |container: &str| {
        let mut web = replacing(|pod| {
            crashing_unready(3)(pod);
            let state = Some(ContainerState::Running);
            pod.containers.push(Container { state, ..Container::new("proxy".into(), Role::App) });
        });
        web.event_of(200, container, "FailedPostStartHook", "PostStartHook failed");
        matter(&web)
    };
    assert_eq!(said("web"), "container web is killed because its postStart hook fails.");
    assert_eq!(said("proxy"), "container web crashes with exit code 1.");
}

#[test]
fn a_probe_that_cannot_be_made_says_why() {
    let mut web = replacing(|pod| {
        let told = "containers with unready status: [web]";
        pod.ready = Some(condition(ConditionStatus::False, "ContainersNotReady", told));
    });
    web.now += 40_000;
    let shell = "(combined from similar events): Readiness probe errored and resulted in unknown state: rpc error: code = \
                 Unknown desc = failed to exec in container: OCI runtime exec failed: exec failed: unable to start container \
                 process: exec: \"curl\": executable file not found in $PATH";
    web.event(200, "Unhealthy", shell);
    let said = first(&web);
    assert!(said.contains("A probe saw: exec: \"curl\": executable file not found in $PATH. "), "{said}");
    // A container that is ready has a probe, too.
    web.wait(1_000).event_of(200, "proxy", "Unhealthy", "Readiness probe failed: connection refused");
    assert!(first(&web).contains("A probe saw: exec"), "{}", first(&web));
    web.now += 1_000;
    web.event_of(200, "web", "Unhealthy", "Readiness probe failed: timeout");
    assert!(first(&web).contains("A probe saw: timeout."), "{}", first(&web));
}
