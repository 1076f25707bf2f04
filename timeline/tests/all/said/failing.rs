//! Faults that are certain outrank everything at once, those that may pass do not; what comes next, what the progress deadline
//! does, and which command undoes it.

use crate::made::{SECOND, Web, condition, crashing, image, next_revision, unready, waiting, warning};
use timeline::Fact;
use timeline::fact::{ConditionStatus, Container, ContainerState, Exit, Phase, PodFact, Role};
use timeline::view::Tone;

/// Revision 2 replaces revision 1, and its only pod so far is changed; it is looked at one second later.
fn rolling(change: impl FnOnce(&mut PodFact)) -> Web {
    let mut web = Web::replacing();
    web.deployment(|deployment| {
        deployment.spec.progress_deadline_seconds = Some(600);
        let mut progressing = condition(ConditionStatus::True, "ReplicaSetUpdated", "");
        progressing.last_update_millis = Some(20_600); // by the other clock, half a second ahead
        deployment.status.progressing = Some(progressing);
    });
    web.add_pod(200, SECOND, change);
    web.now = 21_000;
    web
}

fn command(web: &Web) -> String {
    let remedy = web.view().remedy.unwrap();
    format!("{}: {}", remedy.what, remedy.command.strip_prefix("kubectl --namespace shop ").unwrap())
}

#[test]
fn what_is_certain_is_said_at_once() {
    for (state, said) in [
        (waiting("ErrImagePull", "web:v2: not found"), "[Failing] Revision 2 cannot start: image web:v2 is not found."),
        (
            waiting("ErrImagePull", "unauthorized"),
            "[Failing] Revision 2 cannot start: access to image web:v2 is denied.",
        ),
        (
            waiting("InvalidImageName", "bad"),
            "[Failing] Revision 2 cannot start: image web:v2 cannot be used (InvalidImageName).",
        ),
        (
            waiting("ErrImageNeverPull", "Container image \"web:v2\" is not present with pull policy of Never"),
            "[Failing] Revision 2 cannot start: image web:v2 cannot be used (ErrImageNeverPull).",
        ),
    ] {
        let web = rolling(|pod| pod.containers[0].state = Some(state));
        assert_eq!(web.verdict(), said);
        assert_eq!(web.view().verdict.tone, Tone::Bad);
        assert!(said.split(' ').count() <= 13, "more than twelve words after the badge: {said}");
    }
    let web = rolling(crashing(2));
    assert_eq!(web.verdict(), "[Failing] Revision 2 is failing: container web crashes with exit code 1.");
}

#[test]
fn what_may_pass_is_given_the_time_of_its_next_try() {
    let waits = |reason: &'static str, message: &'static str| {
        rolling(move |pod| pod.containers[0].state = Some(waiting(reason, message)))
    };
    for (mut web, tried_again_after, said) in [
        (waits("ErrImagePull", "net/http: timeout"), 30_000, "image web:v2 cannot be pulled (timeout)."),
        (waits("ImagePullBackOff", "Back-off"), 30_000, "image web:v2 cannot be pulled."),
        (waits("CreateContainerConfigError", "configmap \"shop\" not found"), 10_000, "configmap \"shop\" not found."),
        (
            waits(
                "CreateContainerConfigError",
                "container has runAsNonRoot and image will run as root (pod: \"web-a_shop(7de80353)\", container: web)",
            ),
            10_000,
            "container has runAsNonRoot and image will run as root.",
        ),
        (waits("NewReasonOfTomorrow", "odd"), 30_000, "container web does not start (NewReasonOfTomorrow)."),
    ] {
        let remedy = web.view().remedy.map(|remedy| remedy.what);
        assert_eq!((web.view().verdict.tone, remedy.as_deref()), (Tone::Busy, Some("Undo this rollout")));
        web.now = 20_000 + tried_again_after;
        assert!(web.verdict().starts_with("[Waiting] Revision 2 is replacing"), "{}", web.verdict());
        web.now += 1;
        assert_eq!(web.verdict(), format!("[Failing] Revision 2 cannot start: {said}"));
    }
    // A pod that runs and is not ready is waited for, then it is slow; that it fails is for the progress deadline to say.
    let mut web = rolling(|_| {});
    for (millis, badge) in [(30_000, "[Rolling out]"), (50_000, "[Waiting]"), (50_001, "[Slow]"), (600_000, "[Slow]")] {
        web.now = millis;
        assert!(web.verdict().starts_with(badge), "{millis}: {}", web.verdict());
        assert_eq!(web.view().verdict.tone, Tone::Busy, "{millis}");
    }
}

#[test]
fn a_quota_is_certain_once_nothing_makes_room() {
    let refuse = |web: &mut Web| {
        let why = "pods \"web-3-x\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3";
        web.deployment(|deployment| {
            deployment.status.replica_failure = Some(condition(ConditionStatus::True, "FailedCreate", why));
        });
    };
    let mut web = rolling(|_| {});
    web.delete_pod(200);
    refuse(&mut web);
    assert_eq!(web.verdict(), "[Failing] Revision 2 cannot create pods: quota q is used up.");
    assert_eq!(command(&web), "Show the quota: describe resourcequota");
    assert!(web.view().next.starts_with("The ReplicaSet controller keeps trying to create 1 pod;"), "{:?}", web.view());
    // A pod that drains leaves room.
    web.pod(100, |pod| pod.deletion_at_millis = Some(60_000));
    assert!(web.verdict().starts_with("[Waiting]"), "{}", web.verdict());
}

#[test]
fn the_deadline_is_said_with_what_it_does() {
    let mut web = rolling(crashing(3));
    let passes = "Without progress by 00:10:20 UTC, Kubernetes reports that the deadline is exceeded; it keeps trying and does not \
                  roll back by itself.";
    assert!(web.view().next.ends_with(passes), "{}", web.view().next);
    web.now = 621_000;
    assert!(
        web.view().next.ends_with("passed at 00:10:20 UTC; Kubernetes has not reported it yet."),
        "{:?}",
        web.view()
    );
    web.deployment(|deployment| {
        let mut passed = condition(ConditionStatus::False, "ProgressDeadlineExceeded", "");
        passed.last_update_millis = Some(621_600);
        deployment.status.progressing = Some(passed);
    });
    assert_eq!(web.verdict(), "[Deadline exceeded] Revision 2 is failing: container web crashes with exit code 1.");
    let reported = "Kubernetes reported at 00:10:21 UTC that the progress deadline passed; it keeps trying and does not roll back by \
                    itself.";
    assert!(web.view().next.ends_with(reported), "{}", web.view().next);
    // Where none is set, and where none runs because the rollout was complete before.
    let mut web = rolling(crashing(3));
    web.deployment(|deployment| deployment.spec.progress_deadline_seconds = None);
    assert!(web.view().next.contains("No progress deadline is set;"), "{}", web.view().next);
    let mut web = Web::live(3);
    web.deployment(|deployment| deployment.spec.progress_deadline_seconds = Some(600));
    web.wait_until(60_000).scale(2, 4);
    web.add_pod(200, 2, crashing(2));
    web.report();
    assert_eq!(
        web.verdict(),
        "[Degraded] Revision 1 was rolled out, but container web crashes with exit code 1, 2 restarts."
    );
    assert!(web.view().next.starts_with("The kubelet starts the containers again after a back-off."));
    assert_eq!(command(&web), "Show the logs of the container that ended: logs web-2-p0200 --previous");
    web.pod(200, |pod| pod.containers[0].state = Some(ContainerState::Running));
    assert!(web.verdict().starts_with("[Degraded]"), "{}", web.verdict());
    let runs = "If a container ends again, the kubelet starts it again after a back-off.";
    assert!(web.view().next.starts_with(runs), "{}", web.view().next);
}

#[test]
fn undoing_leads_to_the_revision_that_still_works() {
    assert_eq!(command(&rolling(crashing(2))), "Undo this rollout: rollout undo deployment/web");
    // Revision 2 never worked, and revision 3 took over from it: what kubectl would take by itself is revision 2.
    let mut web = rolling(crashing(2));
    let third = next_revision(&mut web, 3, [1, 0]);
    web.delete_pod(200);
    web.add_pod(300, third, crashing(2));
    web.now += 1_000;
    assert!(web.verdict().starts_with("[Failing] Revision 3 is failing"), "{}", web.verdict());
    assert_eq!(command(&web), "Go back to revision 1: rollout undo deployment/web --to-revision=1");
}

#[test]
fn a_revision_that_was_refused_is_undone_to_the_one_that_runs() {
    let mut web = Web::reported().at(60_000);
    web.deployment(|deployment| {
        (deployment.generation, deployment.spec.images) = (deployment.generation + 1, image("v3"));
        let why = "admission webhook \"policy\" denied the request: no latest tags";
        deployment.status.progressing = Some(condition(ConditionStatus::False, "ReplicaSetCreateError", why));
    });
    assert_eq!(web.verdict(), "[Failing] The next revision cannot start: webhook policy denies the new ReplicaSet.");
    assert_eq!(command(&web), "Go back to revision 2: rollout undo deployment/web --to-revision=2");
    assert_eq!(web.view().deadline_millis, None, "the controller does not come to look at it");
    let next = "The Deployment controller tries again 15 times in three minutes to create the ReplicaSet, then only when the Deployment \
                or one of its ReplicaSets changes. Kubernetes does not roll back by itself.";
    assert_eq!(web.view().next, next);
    // Its tries are over; only the Event tells of those of a later edit.
    let stopped = "The Deployment controller tries again to create the ReplicaSet when the Deployment or one of its ReplicaSets changes. \
                   Kubernetes does not roll back by itself.";
    for (now, said) in [(180_000, next), (180_001, stopped)] {
        assert_eq!(web.wait_until(now).view().next, said);
    }
    web.wait_until(600_000).edit("v4");
    let refused = warning(900, 1, ("Deployment", "web"), "ReplicaSetCreateError", "no latest tags");
    web.timeline.apply(web.now, Fact::Event(Box::new(refused)));
    for (now, said, refused) in [(690_000, next, "cannot start"), (690_001, stopped, "could not start")] {
        assert_eq!(web.wait_until(now).view().next, said);
        assert!(web.verdict().starts_with(&format!("[Failing] The next revision {refused}: ")), "{}", web.verdict());
    }
    let last = "The API server last refused the new ReplicaSet 1 min 30 s ago: no latest tags.";
    assert_eq!(web.view().reasons[0].sentence, last);
}

/// Kubernetes keeps the condition until something moves or the deadline passes.
#[test]
fn an_edit_that_was_refused_and_taken_back_is_refused_no_more() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, unready);
    web.report();
    web.wait_until(30_000).edit_spec(|deployment| {
        deployment.spec.images = image("v3");
        let why = "admission webhook \"policy\" denied the request: no latest tags";
        let mut refused = condition(ConditionStatus::False, "ReplicaSetCreateError", why);
        refused.last_update_millis = Some(30_000);
        deployment.status.progressing = Some(refused);
    });
    assert_eq!(web.verdict(), "[Failing] The next revision cannot start: webhook policy denies the new ReplicaSet.");
    web.wait_until(40_000).edit("v2");
    web.report();
    assert_eq!(web.verdict(), "[Waiting] Revision 2 is replacing revision 1: 0 of 3 new pods available.");
    assert_eq!(web.view().deadline_millis, Some(630_000));
    // Somebody deletes the ReplicaSet, and the one in its place is refused: the counts are still those of before.
    web.delete_set(SECOND);
    assert_eq!(web.view().reasons[0].evidence.reason, "ReplicaSetCreateError");
    assert_eq!(web.view().deadline_millis, None);
}

#[test]
fn the_first_rollout_has_nothing_to_go_back_to() {
    let mut web = Web::made(1).at(2_000);
    web.pod(100, |pod| {
        pod.phase = Phase::Pending;
        pod.containers[0].state = Some(waiting("ErrImagePull", "web:v1: not found"));
    });
    assert_eq!(web.verdict(), "[Failing] Revision 1 cannot start: image web:v1 is not found.");
    assert_eq!(command(&web), "Show details of the pod: describe pod web-2-p0100");
}

#[test]
fn what_is_paused_is_resumed_and_what_is_well_needs_nothing() {
    let mut web = rolling(crashing(2));
    web.deployment(|deployment| deployment.spec.paused = true);
    assert_eq!(web.view().verdict.tone, Tone::Busy);
    assert_eq!(command(&web), "Resume this rollout: rollout resume deployment/web");
    let next = "The rollout continues when somebody resumes it; no progress deadline runs until then.";
    assert_eq!(web.view().next, next);
    let web = Web::live(3);
    assert_eq!(
        (web.view().remedy, web.view().explanation()),
        (None, "The controllers have nothing left to do.".to_owned())
    );
}

#[test]
fn limits_say_where_they_come_from() {
    let derived = |surge, unavailable| {
        let mut web = Web::live(3);
        web.deployment(|deployment| {
            deployment.spec.strategy =
                timeline::fact::Strategy::RollingUpdate { max_surge: surge, max_unavailable: unavailable };
        });
        web.view().derived
    };
    use timeline::fact::IntOrPercent::{Int, Percent};
    let pair = |ceiling: &str, floor: &str| (ceiling.to_owned(), floor.to_owned());
    assert_eq!(
        derived(Percent(25), Percent(50)),
        pair("3 + maxSurge 1 (25 % rounded up)", "3 − maxUnavailable 1 (50 % rounded down)")
    );
    assert_eq!(derived(Int(2), Int(0)), pair("3 + maxSurge 2", "3 − maxUnavailable 0"));
    let raised = "3 − maxUnavailable 1 (not 0, because maxSurge is 0 too)";
    assert_eq!(derived(Int(0), Percent(25)), pair("3 + maxSurge 0", raised));
    // Percentages of no pods are 0, and nothing is raised.
    let mut web = Web::live(3).at(60_000);
    web.scale(2, 0);
    let none = pair("0 + maxSurge 0 (25 % rounded up)", "0 − maxUnavailable 0 (25 % rounded down)");
    assert_eq!(web.view().derived, none);
}

#[test]
fn a_revision_whose_pods_do_not_work_is_not_gone_back_to() {
    let mut web = Web::replacing();
    web.set(2, |set| set.now.counts.desired = 1);
    [101, 102].into_iter().for_each(|pod| web.delete_pod(pod));
    web.set(SECOND, |set| set.now.counts.desired = 2);
    (200..202).for_each(|pod| web.add_pod(pod, SECOND, |_| {}));
    let third = next_revision(&mut web, 3, [1, 2]);
    web.add_pod(300, third, crashing(2));
    web.now += 1_000;
    assert_eq!(command(&web), "Go back to revision 1: rollout undo deployment/web --to-revision=1");
    // Nor when nothing of revision 1 is available any more: revision 2 never was complete.
    web.pod(100, |pod| pod.meta.controller = None);
    assert_eq!(command(&web), "Go back to revision 1: rollout undo deployment/web --to-revision=1");
}

#[test]
fn logs_are_shown_of_the_container_that_crashes_and_of_the_run_that_ended() {
    let shown = |restarts: u32, is_alone: bool| {
        let mut web = Web::live(1).at(20_000);
        web.pod(100, |pod| {
            crashing(restarts)(pod);
            if !is_alone {
                let proxy = pod.containers[0].clone();
                pod.containers[0].restarts += 1;
                pod.containers.push(timeline::fact::Container { name: "proxy".into(), ..proxy });
            }
        });
        web.now = 40_000;
        command(&web)
    };
    assert_eq!(shown(3, true), "Show the logs of the container that ended: logs web-2-p0100 --previous");
    assert_eq!(
        shown(3, false),
        "Show the logs of the container that ended: logs web-2-p0100 --container=web --previous"
    );
}

#[test]
fn a_container_that_its_own_policy_does_not_start_again_is_no_crash_loop() {
    let ended = |code: i32, restarts: u32| {
        move |pod: &mut PodFact| {
            unready(pod);
            let reason = if code == 0 { "Completed" } else { "Error" };
            let state = ContainerState::Terminated { exit_code: code, reason: reason.into(), message: String::new() };
            let last_exit = Exit { code, reason: reason.into(), ..Exit::default() };
            let (state, last_exit) = (Some(state), Some(last_exit.into()));
            let job = Container::new("job".into(), Role::App);
            pod.containers.push(Container { state, restarts, last_exit, is_final: true, ..job });
        }
    };
    for (code, restarts, end, times) in [
        (1, 0, "ended with exit code 1", ""),
        (0, 0, "ended with exit code 0 (Completed)", ""),
        (0, 3, "ended with exit code 0 (Completed)", ": 3 restarts so far"),
    ] {
        let mut web = rolling(ended(code, restarts));
        let headline = format!("[Failing] Revision 2 is failing: container job {end} and is not started again.");
        assert_eq!(web.verdict(), headline);
        let why = format!(
            "Container job {end} and is not started again{times} (pod p0200). Its restartPolicy says so: the pod does not \
             become ready."
        );
        assert!(web.view().verdict.why.starts_with(&why), "{}", web.view().verdict.why);
        assert!(!web.view().next.contains("again"), "{}", web.view().next);
        assert!(!web.view().reasons[0].is_fatal);
        web.now += 20_000;
        assert!(web.view().reasons[0].is_fatal);
    }
    // Also where it was available before.
    let mut web = Web::live(2);
    web.wait_until(60_000).pod(100, ended(0, 0));
    web.report();
    let headline = "container job ended with exit code 0 (Completed) and is not started again.";
    assert_eq!(web.verdict(), format!("[Degraded] Revision 1 has 1 of 2 available: {headline}"));
    assert_eq!(command(&web), "Show the logs of the container that ended: logs web-2-p0100 --container=job");
}

#[test]
fn a_container_that_another_one_may_start_again_did_not_end_for_good() {
    let ended = |job: Container| {
        let state = ContainerState::Terminated { exit_code: 1, reason: "Error".into(), message: String::new() };
        let last_exit = Some(Exit { code: 1, reason: "Error".into(), ..Exit::default() }.into());
        Container { state: Some(state), last_exit, is_final: true, ..job }
    };
    let beside = |change: fn(&mut Container)| {
        rolling(|pod| {
            unready(pod);
            pod.containers[0].restarts_all = true;
            change(&mut pod.containers[0]);
            pod.containers.push(ended(Container::new("job".into(), Role::App)));
        })
    };
    let mut web = beside(|_| {});
    let said = "Container job ended with exit code 1 and is started again only with all others (pod p0200). A restart rule of \
                another container may do that.";
    assert_eq!(web.view().reasons[0].sentence, said);
    assert_eq!(web.view().verdict.tone, Tone::Busy, "{}", web.verdict());
    web.now += 30_000;
    assert_eq!(web.view().verdict.tone, Tone::Bad, "{}", web.verdict());
    assert!(!web.view().reasons[0].is_fatal);
    // One that ended for good itself, or an init container that is done, starts nothing.
    let is_final =
        |web: &Web| web.view().reasons[0].sentence.contains("job ended with exit code 1 and is not started again");
    assert!(is_final(&beside(|other| {
        other.state =
            Some(ContainerState::Terminated { exit_code: 0, reason: "Completed".into(), message: String::new() });
        other.is_final = true;
    })));
    assert!(is_final(&beside(|other| {
        other.state =
            Some(ContainerState::Terminated { exit_code: 0, reason: "Completed".into(), message: String::new() });
        other.role = Role::Init;
    })));
}

/// What a replacement that was evicted too makes of it lasts for 90 s from then on, also where its predecessor failed long before.
#[test]
fn it_is_degraded_until_no_pod_has_failed_for_90_seconds() {
    let mut web = Web::live(2);
    web.report();
    let evict = |web: &mut Web, now, pod: u128| {
        web.wait_until(now).pod(pod, |pod| (pod.phase, pod.reason) = (Phase::Failed, "Evicted".into()));
        web.report();
        assert!(web.verdict().starts_with(if pod == 100 { "[Recovering]" } else { "[Degraded]" }), "{}", web.verdict());
        web.wait_until(now + 10).add_ready_pod(pod + 100, 2);
        web.report();
    };
    evict(&mut web, 10_000, 100);
    assert!(web.verdict().starts_with("[Complete]"), "{}", web.verdict());
    evict(&mut web, 60_000, 200);
    assert_eq!(web.verdict(), "[Degraded] Revision 1 has 2 of 2 available, but its pods fail (Evicted).");
    assert_eq!(web.view().next, "It counts as degraded until no pod has failed for 90 s.");
    for (now, badge) in
        [(60_010, "[Degraded]"), (70_001, "[Degraded]"), (150_000, "[Degraded]"), (150_001, "[Complete]")]
    {
        web.now = now;
        assert!(web.verdict().starts_with(badge), "{now}: {}", web.verdict());
    }
}

/// The ReplicaSet controller replaces a pod in the same millisecond; lists tell whole seconds of both.
#[test]
fn a_replacement_of_the_moment_of_the_failure_is_one() {
    let degraded = "[Degraded] Revision 1 has 2 of 2 available, but its pods fail (Evicted).";
    let evict = |web: &mut Web, now, pod: u128| {
        web.wait_until(now).pod(pod, |pod| {
            (pod.phase, pod.reason) = (Phase::Failed, "Evicted".into());
            let exit = Exit { reason: "Completed".into(), finished_millis: Some(now), ..Exit::default() };
            pod.containers[0].last_exit = Some(exit.into());
        });
        web.add_ready_pod(pod + 100, 2);
        web.report();
    };
    let mut web = Web::live(2);
    evict(&mut web, 10_000, 100);
    assert!(web.verdict().starts_with("[Complete]"), "{}", web.verdict());
    evict(&mut web, 60_000, 200);
    assert_eq!(web.verdict(), degraded);
    let (mut seen, mut web) = (Web::live(2), Web::live(2));
    evict(&mut seen, 10_000, 100);
    web.restore(&seen);
    web.wait_until(30_000).relisted(8_000);
    evict(&mut web, 60_000, 200);
    assert_eq!(web.verdict(), degraded);
    // Two of the same second are no replacements of each other.
    let mut both = Web::live(2);
    both.wait_until(10_000).add_ready_pod(200, 2);
    both.add_ready_pod(201, 2);
    (100..102).for_each(|pod| both.delete_pod(pod));
    evict(&mut both, 10_000, 200);
    evict(&mut both, 60_000, 201);
    assert!(both.verdict().starts_with("[Complete]"), "{}", both.verdict());
}
