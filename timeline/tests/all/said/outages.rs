//! Outages: a Deployment of which no pod is available, during a rollout, a pause and at rest.

use crate::made::{SECOND, Web, condition, crashing, deployment, next_revision, ready, unready, waiting};
use crate::said::counting::ready_since;
use timeline::fact::{ConditionStatus, ContainerState, IntOrPercent, Phase, PodFact, Strategy};
use timeline::view::Tone;

/// Sentence and tone of the verdict.
fn headline(web: &Web) -> (String, Tone) {
    let verdict = web.view().verdict;
    (verdict.sentence, verdict.tone)
}

fn not_found(pod: &mut PodFact) {
    (pod.phase, pod.ready) = (Phase::Pending, None);
    pod.containers[0].state = Some(waiting("ErrImagePull", "web:v2: not found"));
}

/// The cause that those pods are, 10 s later.
const LOST: &str = "Revision 1 has problems of its own: 3 pods are running but not ready any more for 10 s.";

/// Revision 2 replaces revision 1, and no pod has been available since 30 s.
fn without_available_pods() -> Web {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, unready);
    web.wait_until(30_000);
    (100..103).for_each(|pod| web.pod(pod, unready));
    web.report();
    web
}

#[test]
fn a_rollout_during_which_nobody_serves_for_more_than_ten_seconds_is_bad() {
    let some = "[Waiting] Revision 2 is replacing revision 1: 0 of 3 new pods available.";
    let none = "[Degraded] Revision 2 is replacing revision 1: no pod is available.";
    let mut web = without_available_pods();
    for (now, verdict, tone, deadline) in [
        (39_999, some, Tone::Busy, " Progress deadline: "),
        (40_000, some, Tone::Busy, " Progress deadline: "),
        (40_001, none, Tone::Bad, " Without progress by "),
    ] {
        web.now = now;
        assert_eq!((web.verdict().as_str(), web.view().verdict.tone), (verdict, tone), "{now}");
        assert!(web.view().next.contains(deadline), "{now}: {}", web.view().next);
    }
    assert!(!web.view().verdict.why.contains("No pod is available."), "{}", web.view().verdict.why);
    // Who came later did not see the last one go.
    let (some, none) = (&some["[Waiting] ".len()..], &none["[Degraded] ".len()..]);
    assert_eq!(headline(&web.first_listed().at(55_000)), (some.to_owned(), Tone::Busy));
    // A pod of the old revision is ready, and waits for its seconds.
    web.wait_until(45_000).set(2, |set| set.now.min_ready_seconds = 30);
    assert_eq!(headline(&web), (none.to_owned(), Tone::Bad));
    web.pod(100, ready_since(45_000));
    assert_eq!(headline(&web), (some.to_owned(), Tone::Busy));
}

#[test]
fn a_cause_comes_before_that_nobody_serves() {
    let mut web = without_available_pods();
    web.pod(200, not_found);
    let cause = "Image web:v2 cannot be pulled: not found (pod p0200).";
    let limits = "Can't add or remove pods: 4 of at most 4 pods desired, 0 of at least 3 are available.";
    for (now, why) in
        [(40_000, format!("{cause} {limits}")), (40_001, format!("{cause} {LOST} No pod is available. {limits}"))]
    {
        web.now = now;
        assert_eq!(web.verdict(), "[Failing] Revision 2 cannot start: image web:v2 is not found.");
        assert_eq!((web.view().verdict.why, web.view().verdict.tone), (why, Tone::Bad));
    }
}

#[test]
fn old_pods_that_were_lost_come_first_while_nobody_serves() {
    let told = |web: &Web| {
        let view = web.view();
        let command = view.remedy.unwrap().command;
        (view.reasons[0].sentence.clone(), command.strip_prefix("kubectl --namespace shop ").unwrap().to_owned())
    };
    let show = "describe pod web-2-p0100".to_owned();
    let mut web = without_available_pods().at(40_000);
    let (first, command) = told(&web);
    assert!(first.starts_with("1 new pod is running but not ready for 20 s."), "{first}");
    assert_eq!(command, "rollout undo deployment/web");
    web.now = 40_001;
    assert_eq!(told(&web), (LOST.to_owned(), show.clone()));
    assert_eq!(web.view().reasons.len(), 2, "the new pod is still named");
    // The new pod takes too long.
    web.now = 70_000;
    assert_eq!(
        (web.view().verdict.badge.as_str(), told(&web)),
        ("Degraded", (LOST.replace("10 s", "40 s"), show.clone()))
    );
    // It has a fault of its own.
    web.pod(200, not_found);
    let image = "Image web:v2 cannot be pulled: not found (pod p0200).".to_owned();
    assert_eq!(told(&web), (image, "rollout undo deployment/web".to_owned()));
    // To resume makes no old pod ready.
    let mut paused = without_available_pods();
    paused.deployment(|deployment| deployment.spec.paused = true);
    paused.now = 40_000;
    assert_eq!(told(&paused).1, "rollout resume deployment/web");
    paused.now = 40_001;
    let why = format!("The rollout is paused before it is complete. {LOST}");
    assert_eq!((paused.view().verdict.why, told(&paused).1), (why, show.clone()));
    // They were ready and not ready in turn.
    let mut flapping = without_available_pods();
    for change in [ready, unready, ready, unready] {
        flapping.wait(1_000);
        (100..103).for_each(|pod| flapping.pod(pod, change));
    }
    flapping.report();
    flapping.now = 44_001;
    let said = "Revision 1 has problems of its own: pods lose readiness repeatedly (3 pods, one is p0100: 3 times in the \
                last 5 min).";
    assert_eq!(told(&flapping), (said.to_owned(), show));
}

#[test]
fn old_pods_that_fail_in_a_rollout_and_leave_too_few_are_bad() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, unready);
    web.wait(15_000);
    let ends = |web: &mut Web, change: fn(&mut PodFact)| {
        (100..102).for_each(|pod| web.pod(pod, change));
        web.report();
    };
    ends(&mut web, |pod| {
        unready(pod);
        crashing(0)(pod);
        let (exit_code, reason, message) = (1, "Error".into(), String::new());
        pod.containers[0].state = Some(ContainerState::Terminated { exit_code, reason, message });
    });
    // One exit is no fault at rest either.
    let calm = "[Waiting] Revision 2 is replacing revision 1: 0 of 3 new pods available.";
    assert_eq!((web.verdict().as_str(), web.view().verdict.tone), (calm, Tone::Busy));
    web.wait(1_000);
    ends(&mut web, |pod| {
        unready(pod);
        crashing(2)(pod);
    });
    let bad = "[Degraded] Revision 2 is replacing revision 1: 1 of at least 3 pods available.";
    assert_eq!((web.verdict().as_str(), web.view().verdict.tone), (bad, Tone::Bad));
    let reasons: Vec<String> = web.view().reasons.into_iter().map(|reason| reason.sentence).collect();
    let old = "Revision 1 has problems of its own: container web crashes with exit code 1 in 2 pods (pod p0100: 2 \
               restarts so far).";
    assert_eq!(reasons[0], old);
    assert!(reasons[1].starts_with("1 new pod is running but not ready for 16 s."), "{reasons:?}");
    web.pod(200, ready);
    assert_eq!(web.verdict(), bad.replace("1 of at", "2 of at"), "the rollout goes on");
    let strategy = Strategy::RollingUpdate { max_surge: IntOrPercent::Int(1), max_unavailable: IntOrPercent::Int(1) };
    web.deployment(|deployment| deployment.spec.strategy = strategy);
    let enough = "[Rolling out] Revision 2 is replacing revision 1: 1 of 3 new pods available.";
    assert_eq!((web.verdict().as_str(), web.view().verdict.tone), (enough, Tone::Busy));
    // Old pods that never were available leave nothing.
    let mut first = Web::made(3).at(10_000);
    (100..103).for_each(|pod| first.pod(pod, crashing(2)));
    next_revision(&mut first, 2, [1, 3]);
    first.add_pod(200, SECOND, unready);
    first.report();
    assert_eq!(first.view().verdict.tone, Tone::Busy, "{}", first.verdict());
}

/// Revision 2 cannot be pulled and gives way to revision 3, and a pod of revision 1 misses its probe for a moment.
#[test]
fn a_fault_of_other_old_pods_does_not_make_a_missed_probe_bad() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, not_found);
    web.wait(10_000);
    let third = next_revision(&mut web, 3, [1, 1]);
    web.add_pod(300, third, unready);
    web.wait(15_000);
    web.pod(100, unready);
    web.report();
    web.wait(2_000);
    let view = web.view();
    let has_fault = |sentence: &str| sentence.starts_with("Revision 2 has problems of its own: ");
    assert!(view.reasons.iter().any(|reason| has_fault(&reason.sentence)), "{:?}", view.reasons);
    assert_eq!(view.verdict.tone, Tone::Busy, "{}", web.verdict());
    web.pod(100, crashing(2));
    assert_eq!((web.view().verdict.badge.as_str(), web.view().verdict.tone), ("Degraded", Tone::Bad));
}

#[test]
fn old_pods_that_fail_leave_too_few_only_if_there_were_enough_with_them() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, unready);
    web.wait(15_000);
    web.pod(100, |pod| {
        unready(pod);
        crashing(2)(pod);
    });
    web.report();
    let bad = "[Degraded] Revision 2 is replacing revision 1: 2 of at least 3 pods available.";
    assert_eq!((web.verdict().as_str(), web.view().verdict.tone), (bad, Tone::Bad));
    // Scaled to 10 replicas, of which the controller has 9 and 3 created.
    web.deployment(|deployment| deployment.spec.replicas = 10);
    for (set, desired) in [(2, 9), (SECOND, 3)] {
        web.set(set, |set| {
            set.now.counts.desired = desired;
            (set.now.desired_replicas, set.now.max_replicas) = (Some(10), Some(13));
        });
    }
    assert_eq!(web.view().verdict.tone, Tone::Busy, "{}", web.verdict());
    // With 4 replicas, 3 are enough, and there were 3.
    web.deployment(|deployment| deployment.spec.replicas = 4);
    for (set, desired) in [(2, 3), (SECOND, 2)] {
        web.set(set, |set| {
            set.now.counts.desired = desired;
            (set.now.desired_replicas, set.now.max_replicas) = (Some(4), Some(5));
        });
    }
    assert_eq!(web.view().verdict.tone, Tone::Bad, "{}", web.verdict());
}

#[test]
fn old_pods_that_were_lost_in_a_rollout_and_leave_too_few_are_bad_after_a_minute() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, unready);
    (100..102).for_each(|pod| web.pod(pod, unready));
    web.report();
    web.now = 80_000;
    assert_eq!((web.view().verdict.badge.as_str(), web.view().verdict.tone), ("Slow", Tone::Busy));
    web.now = 80_001;
    let bad = "[Degraded] Revision 2 is replacing revision 1: 1 of at least 3 pods available.";
    assert_eq!((web.verdict().as_str(), web.view().verdict.tone), (bad, Tone::Bad));
    let view = web.view();
    let lost = "Revision 1 has problems of its own: 2 pods are running but not ready any more for ";
    assert!(view.reasons[0].sentence.starts_with(lost), "{:?}", view.reasons);
    assert_eq!(view.remedy.unwrap().command, "kubectl --namespace shop describe pod web-2-p0100");
}

#[test]
fn recreate_has_no_pods_between_the_old_ones_and_the_new_ones() {
    let (some, none) = ("Revision 2: 0 of 3 available.", "Revision 2: no pod is available.");
    let taken_over = |strategy: Strategy| {
        let mut web = Web::live(3).at(20_000);
        web.deployment(|deployment| deployment.spec.strategy = strategy);
        web.take_over(unready);
        web.report();
        web
    };
    let mut rolling = taken_over(deployment().now.spec.strategy).at(30_000);
    assert_eq!(headline(&rolling), (some.to_owned(), Tone::Busy));
    rolling.now = 30_001;
    assert_eq!(headline(&rolling), (none.to_owned(), Tone::Bad));
    let mut recreate = taken_over(Strategy::Recreate).at(30_001);
    assert_eq!(headline(&recreate), (some.to_owned(), Tone::Busy));
    recreate.pod(200, not_found);
    assert_eq!(recreate.verdict(), "[Failing] Revision 2 cannot start: image web:v2 is not found.");
    let why = recreate.view().verdict.why;
    assert!(why.ends_with(" No pod is available."), "{why}");
    let mut late = taken_over(Strategy::Recreate).at(640_000);
    let passed = condition(ConditionStatus::False, "ProgressDeadlineExceeded", "timed out");
    late.deployment(|deployment| deployment.status.progressing = Some(passed));
    assert!(late.verdict().starts_with("[Deadline exceeded] "), "{}", late.verdict());
    let why = late.view().verdict.why;
    assert!(why.ends_with(" No pod is available."), "{why}");
    // A first rollout has lost nothing.
    let mut first = Web::made(3);
    first.report();
    first.now = 40_000;
    assert_eq!(headline(&first), ("Revision 1: 0 of 3 available.".to_owned(), Tone::Busy));
}

#[test]
fn a_pause_during_which_nobody_serves_is_bad() {
    let (some, none) =
        ("[Paused] Paused: 0 of 3 pods of revision 1 available.", "[Paused] Paused: no pod is available.");
    let mut web = Web::live(3).at(60_000);
    web.deployment(|deployment| deployment.spec.paused = true);
    (100..103).for_each(|pod| web.pod(pod, unready));
    web.report();
    for (now, verdict, tone) in [(69_999, some, Tone::Busy), (70_000, some, Tone::Busy), (70_001, none, Tone::Bad)] {
        web.now = now;
        assert_eq!((web.verdict().as_str(), web.view().verdict.tone), (verdict, tone), "{now}");
    }
    // Recreate takes nothing down for an edit that waits.
    web.edit_spec(|deployment| deployment.spec.strategy = Strategy::Recreate);
    web.edit("v2");
    assert_eq!((web.verdict().as_str(), web.view().verdict.tone), (none, Tone::Bad));
    // That there were none while none were desired is no outage.
    let mut web = Web::live(3).at(60_000);
    web.deployment(|deployment| deployment.spec.paused = true);
    web.scale(2, 0);
    (100..103).for_each(|pod| web.delete_pod(pod));
    web.report();
    web.wait_until(80_000).scale(2, 3);
    (200..203).for_each(|pod| web.add_pod(pod, 2, unready));
    web.report();
    web.now = 95_000;
    assert_eq!((web.verdict().as_str(), web.view().verdict.tone), (some, Tone::Busy));
}

#[test]
fn a_pause_half_way_tells_that_old_pods_are_available() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, unready);
    web.edit_spec(|deployment| deployment.spec.paused = true);
    web.report();
    assert_eq!(web.verdict(), "[Paused] Paused: 3 of 3 pods available, 0 of revision 2.");
    web.pod(200, ready);
    assert_eq!(web.verdict(), "[Paused] Paused: 4 pods available (3 desired), 1 of revision 2.");
    (100..102).for_each(|pod| web.kill_pod(pod));
    assert_eq!(web.verdict(), "[Paused] Paused: 2 of 3 pods available, 1 of revision 2.");
    web.kill_pod(102);
    assert_eq!(web.verdict(), "[Paused] Paused: 1 of 3 pods of revision 2 available.");
}

#[test]
fn a_pause_during_which_nobody_serves_names_the_pods_that_were_deleted() {
    let mut web = Web::live(2).at(60_000);
    web.edit_spec(|deployment| deployment.spec.paused = true);
    web.edit("v2");
    web.report();
    (100..102).for_each(|pod| web.kill_pod(pod));
    (200..202).for_each(|pod| web.add_pod(pod, 2, unready));
    web.report();
    web.now = 71_000;
    assert_eq!(web.verdict(), "[Paused] Paused: no pod is available.");
    let why = web.view().verdict.why;
    // They replace pods of the revision that is there, and are none of the edit that waits.
    assert!(why.contains("2 pods are running but not ready for 11 s."), "{why}");
    assert!(why.ends_with(" 2 pods deleted (since 00:01:00 UTC)."), "{why}");
}

#[test]
fn an_outage_at_rest_goes_on_when_the_template_is_edited() {
    let mut web = Web::live(3).at(60_000);
    (100..103).for_each(|pod| web.pod(pod, unready));
    web.report();
    web.now = 71_000;
    assert_eq!(web.verdict(), "[Degraded] No pod of revision 1 is available: 0 of 3.");
    web.edit("v2");
    assert_eq!(web.verdict(), "[Degraded] The template changed: no pod is available.");
    assert_eq!(web.view().verdict.tone, Tone::Bad);
    web.now = 76_001;
    assert_eq!(web.verdict(), "[Not observed] The Deployment controller has not reacted for 5.0 s.");
    assert_eq!((web.view().verdict.why.as_str(), web.view().verdict.tone), ("No pod is available.", Tone::Bad));
}
