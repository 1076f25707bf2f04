//! Faults are named for what they are.

use crate::made::{SECOND, Web, condition, crashing, image, ready, set, unready, waiting, warning};
use crate::said::scheduling;
use timeline::Fact;
use timeline::fact::{
    ConditionStatus, Container, ContainerState, EventFact, Exit, Image, Phase, PodFact, Role, Strategy,
};
use timeline::story::LineKind;

#[test]
fn failures_are_named_for_what_they_are() {
    let said = |state: ContainerState| {
        let mut web = Web::replacing();
        web.add_pod(200, SECOND, |pod| pod.containers[0].state = Some(state));
        web.report();
        web.now = 40_000;
        web.view().reasons[0].sentence.clone()
    };
    assert_eq!(
        said(waiting("ImageInspectError", "why")),
        "Image web:v2 cannot be pulled: ImageInspectError: why (pod p0200). The kubelet tries again."
    );
    assert_eq!(
        said(waiting("CreatePodSandboxError", "why")),
        "Container web does not start (CreatePodSandboxError, pod p0200): why."
    );
    for (reason, step) in [
        ("CreateContainerConfigError", "cannot be created"),
        ("PreCreateHookError", "cannot be created"),
        ("CreateContainerError", "cannot be created"),
        ("PreStartHookError", "cannot be started"),
        ("RunContainerError", "cannot be started"),
        ("PostStartHookError", "fails in its postStart hook"),
    ] {
        assert_eq!(said(waiting(reason, "why")), format!("Container web {step} ({reason}, pod p0200): why."));
    }
    assert_eq!(
        said(waiting("PreStartHookError", "")),
        "Container web cannot be started (PreStartHookError, pod p0200)."
    );
    let ended = ContainerState::Terminated { exit_code: 3, reason: "Error".into(), message: String::new() };
    let said_ended = |ended: ContainerState| {
        let mut web = Web::replacing();
        web.add_pod(200, SECOND, |pod| {
            crashing(0)(pod);
            pod.containers[0].last_exit.as_mut().unwrap().code = 3;
            pod.containers[0].state = Some(ended);
        });
        web.view().reasons[0].sentence.clone()
    };
    assert_eq!(said_ended(ended), "Container web ended with exit code 3 (pod p0200).");
}

/// The sentences about two new pods, each with its message.
fn said_of_two(change: impl Fn(&mut PodFact, &str), messages: [&str; 2]) -> Vec<String> {
    let mut web = Web::replacing();
    web.set(SECOND, |set| set.now.counts.desired = 2);
    for (number, message) in (200..).zip(messages) {
        web.add_pod(number, SECOND, |pod| change(pod, message));
    }
    web.now = 40_000;
    web.view().reasons.into_iter().map(|reason| reason.sentence).collect()
}

#[test]
fn words_of_one_pod_are_only_an_example_where_others_have_other_words() {
    let unplaced = |is_nominated: bool, messages| {
        let change = |pod: &mut PodFact, message: &str| {
            scheduling::unplaced("Unschedulable", message)(pod);
            pod.nominated_node = is_nominated.then(|| format!("node-of-{}", pod.meta.name));
        };
        said_of_two(change, messages).swap_remove(0)
    };
    let cpu = "0/4 nodes are available: 4 Insufficient cpu. preemption: 0/4 nodes are available.";
    let later = "0/4 nodes are available: 4 Insufficient cpu. preemption: not eligible.";
    let alone = "0/4 nodes are available: 4 Insufficient cpu.";
    let volume = "0/4 nodes are available: 4 node(s) had volume node affinity conflict.";
    for other in [later, alone] {
        assert_eq!(unplaced(false, [cpu, other]), "No node fits 2 pods: 4 Insufficient cpu.");
    }
    assert_eq!(unplaced(false, [cpu, volume]), "No node fits 2 pods, for example p0200: 4 Insufficient cpu.");
    assert_eq!(
        unplaced(true, [cpu, cpu]),
        "No node fitted 2 pods: 4 Insufficient cpu. They are nominated for nodes, and wait for room there or to be bound."
    );

    let waits = |reason: &'static str, messages| {
        said_of_two(|pod, message| pod.containers[0].state = Some(waiting(reason, message)), messages)
    };
    let refused = |messages| waits("CreateContainerConfigError", messages).swap_remove(0);
    let begin = "Container web cannot be created (CreateContainerConfigError, 2 pods,";
    let root = ["runs as root (pod: \"web-a_shop(1)\")", "runs as root (pod: \"web-b_shop(2)\")"];
    assert_eq!(refused(root), format!("{begin} one is p0200): runs as root."));
    let names = ["secret \"a\" not found", "secret \"b\" not found"];
    assert_eq!(refused(names), format!("{begin} for example p0200): secret \"a\" not found."));

    let failed = |messages| {
        let change = |pod: &mut PodFact, message: &str| {
            (pod.phase, pod.reason, pod.message) = (Phase::Failed, "OutOfcpu".into(), message.into());
            pod.containers[0].state = None;
        };
        said_of_two(change, messages).swap_remove(0)
    };
    let begin = "2 new pods failed within 90 s, OutOfcpu";
    assert_eq!(failed(["used: 900", "used: 900"]), format!("{begin} (one is p0200): used: 900."));
    assert_eq!(failed(["used: 900", "used: 800"]), format!("{begin} (for example p0200): used: 900."));

    // Steps and pulls that fail for different reasons are different faults.
    assert_eq!(
        said_of_two(
            |pod, reason| pod.containers[0].state = Some(waiting(reason, "why")),
            ["CreateContainerError", "RunContainerError"]
        )[..2],
        [
            "Container web cannot be created (CreateContainerError, pod p0200): why.",
            "Container web cannot be started (RunContainerError, pod p0201): why."
        ]
    );
    assert_eq!(
        waits("ErrImagePull", ["web:v2: not found", "429 Too Many Requests"])[..2],
        [
            "Image web:v2 cannot be pulled: not found (pod p0200).",
            "Image web:v2 cannot be pulled: 429 Too Many Requests (pod p0201). The kubelet tries again."
        ]
    );
}

#[test]
fn the_restarts_of_a_crash_loop_are_told_with_the_time_since_its_first_exit() {
    let mut web = Web::live(3);
    for restarts in 1..=5 {
        web.wait(20_000).pod(100, |pod| {
            pod.ready = None;
            crashing(restarts)(pod);
        });
        if restarts < 5 {
            web.wait(5_000).pod(100, |pod| {
                ready(pod);
                pod.containers[0].state = Some(ContainerState::Running);
            });
        }
    }
    web.now += 12_000;
    assert_eq!(
        web.view().reasons[0].sentence,
        "Container web crashes with exit code 1: 5 restarts in 1 min 52 s (pod p0100)."
    );
}

#[test]
fn the_first_restart_counts_also_if_the_pod_stayed_ready() {
    let restarted = |restarts: u32| {
        move |pod: &mut PodFact| {
            let exit = Exit { code: 1, reason: "Error".into(), ..Exit::default() };
            (pod.containers[0].restarts, pod.containers[0].last_exit) = (restarts, Some(exit.into()));
        }
    };
    let mut web = Web::live(1);
    web.wait_until(25_000).pod(100, restarted(1));
    web.wait_until(41_000).pod(100, |pod| {
        unready(pod);
        restarted(2)(pod);
    });
    web.wait_until(56_000).pod(100, restarted(3));
    web.now = 58_000;
    let said = |times: &str| format!("Container web crashes with exit code 1: 3 restarts {times} (pod p0100).");
    assert_eq!(web.view().reasons[0].sentence, said("in 33 s"));
    // Its kubelet has forgotten the first one.
    let mut web = Web::live(1);
    web.wait_until(25_000).pod(100, restarted(1));
    web.wait_until(700_000).pod(100, |pod| {
        unready(pod);
        restarted(3)(pod);
    });
    web.now = 730_000;
    assert_eq!(web.view().reasons[0].sentence, said("so far"));
}

#[test]
fn every_container_of_a_pod_that_crashes_is_named() {
    let first = |pods: &[(u128, &[&str])]| {
        let mut web = Web::live(2).at(60_000);
        for (pod, names) in pods {
            web.pod(*pod, |pod| {
                unready(pod);
                crashing(4)(pod);
                for name in *names {
                    let container = Container { name: (*name).into(), restarts: 2, ..pod.containers[0].clone() };
                    pod.containers.push(container);
                }
            });
        }
        web.view().reasons[0].sentence.clone()
    };
    let one = "Container web crashes with exit code 1: 4 restarts so far (pod p0100).";
    assert_eq!(first(&[(100, &["proxy"])]), format!("{one} Container proxy ends again and again too."));
    assert_eq!(
        first(&[(100, &["a", "b", "c", "d", "e"])]),
        format!("{one} Container a, container b, container c and 2 more end again and again too.")
    );
    // Of several pods those that end in each of them.
    assert_eq!(
        first(&[(100, &["a", "b"]), (101, &["b"])]),
        "Container web crashes with exit code 1 in 2 pods (pod p0100: 4 restarts so far). Container b ends again and \
         again too."
    );
    // One that was restarted for resizes does not end by itself.
    let mut web = Web::live(2).at(60_000);
    web.event(100, "Killing", "Container proxy resize requires restart");
    web.pod(100, |pod| {
        unready(pod);
        crashing(4)(pod);
        let exit = Exit { code: 143, reason: "Error".into(), ..Exit::default() };
        let (state, last_exit) = (Some(ContainerState::Running), Some(exit.into()));
        let proxy = Container::new("proxy".into(), Role::App);
        pod.containers.push(Container { restarts: 2, state, last_exit, ..proxy });
    });
    assert_eq!(web.view().reasons[0].sentence, one);
}

/// One of two pods of a complete rollout runs out of memory at 60 s, after so many restarts.
fn out_of_memory(restarts: u32) -> Web {
    let mut web = Web::live(2);
    web.wait_until(55_000).event(100, "FailedCreatePodSandBox", "before its containers ended");
    web.wait_until(60_000);
    let (code, finished_millis) = (137, Some(web.now - web.timeline.skew_millis()));
    web.pod(100, |pod| {
        unready(pod);
        let container = &mut pod.containers[0];
        let reason = "OOMKilled".to_owned();
        container.last_exit = Some(Exit { code, reason: reason.clone(), finished_millis, ..Exit::default() }.into());
        container.state = Some(ContainerState::Terminated { exit_code: code, reason, message: String::new() });
        container.restarts = restarts;
    });
    web.report();
    web
}

#[test]
fn a_sandbox_that_cannot_be_made_again_is_the_cause_and_not_the_exit_before_it() {
    let recovers = "[Recovering] Revision 1: 1 of 2 available.";
    let exit = "Container web runs out of memory";
    let no_address = "failed to assign an IP address to container";
    let held = format!("[Degraded] Revision 1 has 1 of 2 available: {no_address}.");
    let first = |web: &Web| web.view().reasons[0].sentence.clone();

    let mut web = out_of_memory(0);
    assert_eq!(first(&web), format!("{exit} (pod p0100)."));
    web.wait_until(62_000).event(100, "FailedCreatePodSandBox", no_address);
    assert_eq!(first(&web), format!("Pod p0100 waits for its sandbox (FailedCreatePodSandBox): {no_address}."));
    assert_eq!(web.verdict(), recovers);
    web.now = 120_001;
    assert_eq!(web.verdict(), held);
    web.wait_until(130_000).pod(100, |pod| {
        pod.containers[0].state = Some(ContainerState::Running);
        pod.containers[0].restarts = 1;
    });
    assert!(first(&web).starts_with("Container web ran out of memory: 1 restart"), "{}", first(&web));
    assert_eq!(web.verdict(), recovers);

    // A crash loop does not pass because one sandbox fails.
    let mut web = out_of_memory(1);
    web.wait_until(62_000).event(100, "FailedCreatePodSandBox", no_address);
    assert_eq!(web.verdict(), "[Degraded] Revision 1 was rolled out, but container web runs out of memory, 1 restart.");
    web.now = 120_001;
    assert_eq!(web.verdict(), held);
    web.pod(100, |pod| pod.containers[0].state = Some(waiting("CrashLoopBackOff", "back-off 10s")));
    assert!(first(&web).starts_with(exit), "{}", first(&web));
}

#[test]
fn a_container_that_is_not_started_again_after_the_longest_back_off_is_a_fault() {
    let mut web = out_of_memory(0).at(360_000);
    assert_eq!(web.verdict(), "[Recovering] Revision 1: 1 of 2 available.");
    web.now += 1;
    let said = "ontainer web ran out of memory and has not been started again";
    assert_eq!(web.verdict(), format!("[Degraded] Revision 1 has 1 of 2 available: c{said}."));
    assert_eq!(web.view().reasons[0].sentence, format!("C{said} (pod p0100)."));
}

/// Its node was started again, or its sandbox was made anew.
#[test]
fn an_init_container_that_runs_again_is_the_cause_and_not_the_exit_before_it() {
    let mut web = out_of_memory(0);
    web.pod(100, |pod| {
        pod.phase = Phase::Pending;
        let state = Some(ContainerState::Running);
        pod.containers.insert(0, Container { state, ..Container::new("migrate".into(), Role::Init) });
    });
    web.now = 75_000;
    let runs = "Init container migrate is running (0 of 1 done, pod p0100); the pod has been starting for 15 s.";
    assert_eq!(web.view().reasons[0].sentence, runs);
    web.now = 360_001;
    assert_eq!(web.verdict(), "[Recovering] Revision 1: 1 of 2 available.");
    // What it ran into is told once it runs again.
    web.pod(100, |pod| {
        pod.phase = Phase::Running;
        let (exit_code, reason, message) = (0, "Completed".into(), String::new());
        pod.containers[0].state = Some(ContainerState::Terminated { exit_code, reason, message });
        (pod.containers[1].state, pod.containers[1].restarts) = (Some(ContainerState::Running), 1);
    });
    let ended = "Container web ran out of memory: 1 restart";
    assert!(web.view().reasons[0].sentence.starts_with(ended), "{:?}", web.view().reasons);
}

#[test]
fn what_is_refused_is_named() {
    let said = |reason: &str, progressing: bool| {
        let mut web = Web::live(3).at(60_000);
        web.set(2, |set| set.now.counts.desired = 4);
        web.deployment(|deployment| {
            let told =
                Some(condition(if progressing { ConditionStatus::False } else { ConditionStatus::True }, reason, "no"));
            if progressing {
                (deployment.generation, deployment.status.progressing) = (deployment.generation + 1, told);
            } else {
                deployment.status.replica_failure = told;
            }
        });
        web.view().reasons[0].sentence.clone()
    };
    assert_eq!(said("ReplicaSetCreateError", true), "The API server refuses the new ReplicaSet: no.");
    assert_eq!(said("FailedCreate", false), "The API server refuses new pods: no.");
    assert_eq!(said("FailedDelete", false), "The API server refuses to delete pods: no.");
}

#[test]
fn a_replica_set_that_is_refused_is_refused_although_the_spec_counts_as_unobserved() {
    let mut web = Web::live(3).at(60_000);
    web.edit_spec(|deployment| {
        deployment.spec.images = image("v2");
        deployment.status.progressing = Some(condition(ConditionStatus::False, "ReplicaSetCreateError", "no"));
    });
    web.now = 80_000;
    assert_eq!(web.verdict(), "[Failing] The next revision cannot start: the API server refuses the new ReplicaSet.");
    assert!(web.view().verdict.why.starts_with("The API server refuses the new ReplicaSet: no."), "{:?}", web.view());
}

/// Lists have Events by name: the one that arrives last may be old.
#[test]
fn of_the_refusals_of_a_replica_set_the_newest_one_is_told() {
    let mut web = Web::live(3).at(60_000);
    web.edit_spec(|deployment| {
        deployment.spec.images = image("v2");
        deployment.spec.progress_deadline_seconds = None;
    });
    web.now = 65_000;
    for (number, seconds, message) in [(900, 64, "the newer one"), (901, 62, "the older one")] {
        let warning = warning(number, 1, ("Deployment", "web"), "ReplicaSetCreateError", message);
        let event = EventFact { last_millis: Some(seconds * 1_000), ..warning };
        web.timeline.apply(65_000, Fact::Event(Box::new(event)));
    }
    assert_eq!(web.view().reasons[0].sentence, "The API server refuses the new ReplicaSet: the newer one.");
}

/// Kubernetes does not touch a condition whose status and reason stay (`SetDeploymentCondition`).
#[test]
fn a_replica_set_that_is_refused_for_another_reason_is_told_with_the_last_one() {
    let mut web = Web::live(3).at(60_000);
    let denied = |webhook: &str| format!("admission webhook \"{webhook}\" denied the request: no");
    let refuse = |web: &mut Web, number: u128, webhook: &str| {
        let warning = warning(number, 1, ("Deployment", "web"), "ReplicaSetCreateError", &denied(webhook));
        let event = EventFact { last_millis: Some(web.now), ..warning };
        web.timeline.apply(web.now, Fact::Event(Box::new(event)));
    };
    web.edit_spec(|deployment| {
        deployment.spec.images = image("v2");
        let told = condition(ConditionStatus::False, "ReplicaSetCreateError", &denied("tags"));
        deployment.status.progressing = Some(told);
    });
    refuse(&mut web, 900, "tags");
    assert_eq!(web.verdict(), "[Failing] The next revision cannot start: webhook tags denies the new ReplicaSet.");
    web.wait_until(90_000).edit("v3");
    refuse(&mut web, 901, "owners");
    assert_eq!(web.verdict(), "[Failing] The next revision cannot start: webhook owners denies the new ReplicaSet.");
}

/// The take-down was observed: without a progress deadline only the Event says why the next ReplicaSet is not there.
#[test]
fn a_replica_set_that_is_refused_after_a_take_down_is_refused_by_its_event() {
    let mut web = Web::live(3).at(60_000);
    web.edit_spec(|deployment| {
        deployment.spec.images = image("v2");
        deployment.spec.strategy = Strategy::Recreate;
        deployment.spec.progress_deadline_seconds = None;
    });
    web.take_down(2, 100);
    web.now = 65_000;
    (100..103).for_each(|pod| web.delete_pod(pod));
    web.report();
    let why = "admission webhook \"policy\" denied the request: no latest tags";
    let warning = warning(900, 1, ("Deployment", "web"), "ReplicaSetCreateError", why);
    web.timeline.apply(66_000, Fact::Event(Box::new(EventFact { last_millis: Some(66_000), ..warning })));
    web.now = 80_000;
    assert_eq!(web.verdict(), "[Failing] The next revision cannot start: webhook policy denies the new ReplicaSet.");
}

#[test]
fn the_image_that_fails_is_named_and_not_its_neighbour() {
    let mut web = Web::live(3).at(20_000);
    let mut next = set(SECOND, 2, 1, 0);
    next.images.push(Image { container: "proxy".into(), image: "proxy:missing".into() });
    web.add_set(SECOND, next);
    web.deployment(|deployment| deployment.revision = Some(2));
    web.add_pod(200, SECOND, |pod| {
        let mut proxy = pod.containers[0].clone();
        (proxy.name, proxy.state) = ("proxy".into(), Some(waiting("ErrImagePull", "not found")));
        pod.containers.push(proxy);
    });
    web.now = 40_000;
    assert_eq!(web.view().reasons[0].sentence, "Image proxy:missing cannot be pulled: not found (pod p0200).");
}

#[test]
fn an_event_counts_once_however_often_it_comes() {
    let mut web = Web::live(1);
    let event = |uid: u128, count: u32| {
        let warning = warning(uid, 1, ("Deployment", "web"), "Odd", "why");
        Fact::Event(Box::new(EventFact { count, ..warning }))
    };
    // More Events than are kept, each told again and again.
    for round in 1..=3 {
        for number in 0..60 {
            web.timeline.apply(10_000 + i64::from(round), event(1_000 + number, round));
        }
    }
    assert_eq!(web.lines(LineKind::Event), ["Event Odd on Deployment web (180 times): why."]);
}

#[test]
fn an_event_that_comes_back_after_thousands_of_others_counts_once() {
    let mut web = Web::live(1);
    let event = |uid: u128, reason: &str, count: u32| {
        let warning = warning(uid, 1, ("Deployment", "web"), reason, "why");
        Fact::Event(Box::new(EventFact { count, ..warning }))
    };
    web.timeline.apply(10_000, event(1_000, "Odd", 30));
    (0..5_000).for_each(|number| drop(web.timeline.apply(10_001, event(2_000 + number, "Other", 1))));
    for count in [30, 31] {
        web.timeline.apply(10_002, event(1_000, "Odd", count));
        let lines = web.lines(LineKind::Event);
        let expected = format!("Event Odd on Deployment web ({count} times): why.");
        assert!(lines.contains(&expected), "{lines:?}");
    }
}
