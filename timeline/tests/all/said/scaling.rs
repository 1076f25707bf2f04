//! Scaling and recovering are told apart.

use crate::made::{SECOND, WEB, Web, condition, image, next_revision, ready, set, unready};
use crate::said::stuck::unschedulable;
use timeline::Millis;
use timeline::fact::{ConditionStatus, Strategy};
use timeline::rollout::{self, Outcome};
use timeline::story::LineKind;
use timeline::view::Tone;

#[test]
fn a_complete_deployment_that_is_scaled_up_does_not_recover_from_anything() {
    let mut web = Web::live(3).at(60_000);
    web.scale(2, 10);
    for number in 0..7 {
        web.add_pod(200 + number, 2, |_| {});
    }
    web.report();
    web.now = 61_000;
    assert_eq!(web.verdict(), "[Scaling up] Revision 1 is scaling up: 3 of 10 available.");
    web.now = 130_000;
    assert_eq!(web.verdict(), "[Scaling up] Revision 1 is scaling up: 3 of 10 available.");
    // Pods that never were ready run for long, and no progress deadline will say so.
    web.now = 400_000;
    let never_ready = "[Blocked] Revision 1 has 3 of 10 available: pods do not become ready.";
    assert_eq!(web.verdict(), never_ready);
    // One that was there before fails as well: that is less than there was.
    web.pod(100, unready);
    web.report();
    assert_eq!(web.verdict(), never_ready.replace("[Blocked]", "[Degraded]").replace("3 of", "2 of"));
}

#[test]
fn from_zero_it_scales_up_too() {
    let mut web = Web::live(0);
    assert_eq!(web.verdict(), "[Scaled to zero] Revision 1 is scaled to zero.");
    web.wait_until(60_000).scale(2, 3);
    (0..3).for_each(|number| web.add_pod(200 + number, 2, |_| {}));
    web.report();
    let scales_up = "[Scaling up] Revision 1 is scaling up: 0 of 3 available.";
    assert_eq!(web.verdict(), scales_up);

    // That there was none for long is no outage.
    let mut web = Web::live(3).at(60_000);
    web.scale(2, 0);
    (0..3).for_each(|number| web.delete_pod(100 + number));
    web.report();
    web.wait_until(80_000).scale(2, 3);
    (0..3).for_each(|number| web.add_pod(200 + number, 2, |_| {}));
    web.report();
    web.now = 95_000;
    assert_eq!(web.verdict(), scales_up);
}

#[test]
fn a_rollout_in_the_middle_of_which_it_is_scaled_to_zero_was_not_complete() {
    let ended = |mut web: Web, pods: std::ops::Range<u128>| {
        web.wait_until(30_000).scale(SECOND, 0);
        web.set(2, |set| set.now.counts.desired = 0);
        pods.for_each(|pod| web.delete_pod(pod));
        web.report();
        let deployment = web.timeline.model().deployments.get(&WEB).unwrap();
        let last = deployment.rollouts.last().unwrap();
        (rollout::outcome(deployment, last), last.available_millis, web.told().pop().unwrap())
    };
    let mut web = Web::replacing();
    web.add_pod(103, SECOND, unready);
    web.report();
    let said = "Revision 2 ended before it was complete: the Deployment was scaled to zero.".to_owned();
    assert_eq!(ended(web, 100..104), (Outcome::ScaledToZero, None, said.clone()));
    // It began while nobody looked.
    let begun_unseen = |mut web: Web| {
        web.wait_until(20_000).unseen(|deployment, sets| {
            (deployment.generation, deployment.revision) = (deployment.generation + 1, Some(2));
            (deployment.spec.images, deployment.status.observed_generation) = (image("v2"), deployment.generation);
            (deployment.status.replicas, deployment.status.updated) = (4, 1);
            deployment.status.progressing = Some(condition(ConditionStatus::True, "ReplicaSetUpdated", ""));
            sets.insert(SECOND, set(SECOND, 2, 1, 0));
        });
        web.relisted(10_000);
        ended(web, 100..103)
    };
    assert_eq!(begun_unseen(Web::live(3)), (Outcome::ScaledToZero, None, said.clone()));
    // A pause before it replaced nothing that the condition tells of it.
    let mut resumed = Web::live(3);
    resumed.wait_until(6_000).deployment(|deployment| deployment.spec.paused = true);
    resumed.wait_until(7_000).deployment(|deployment| deployment.spec.paused = false);
    assert_eq!(begun_unseen(resumed), (Outcome::ScaledToZero, None, said.clone()));
    // It went on when watching began. Where it was paused then, the condition does not tell whether it was complete.
    let mut web = Web::replacing();
    web.add_pod(103, SECOND, unready);
    web.report();
    let (outcome, available_millis, _) = ended(web.first_listed(), 100..104);
    assert_eq!((outcome, available_millis), (Outcome::ScaledToZero, None));
    web.deployment(|deployment| deployment.spec.paused = true);
    assert_eq!(ended(web.first_listed(), 100..104).0, Outcome::Complete);
    let mut resumed = web.first_listed();
    resumed.deployment(|deployment| deployment.spec.paused = false);
    assert_eq!(ended(resumed, 100..104).0, Outcome::Complete);
    // Everything was available just before: the controller may not have seen it yet.
    let complete = "Revision 2 is complete after 10 s.".to_owned();
    let mut web = Web::live(3).at(20_000);
    web.take_over(unready);
    web.wait_until(25_000);
    (200..203).for_each(|pod| web.pod(pod, ready));
    assert_eq!(ended(web, 200..203), (Outcome::Complete, Some(25_000), complete));
    // Long before, and the controller goes on.
    assert_eq!(ended(Web::replaced(), 200..203), (Outcome::ScaledToZero, None, said));
}

#[test]
fn a_rollout_by_recreate_that_is_scaled_to_zero_while_old_pods_go_was_not_complete() {
    let ended = |scaled_millis: Millis| {
        let mut web = Web::live(3).at(20_000);
        web.deployment(|deployment| deployment.spec.strategy = Strategy::Recreate);
        web.edit("v2");
        let scale = |web: &mut Web| {
            web.wait_until(scaled_millis).edit_spec(|deployment| deployment.spec.replicas = 0);
            web.report();
        };
        if scaled_millis < 30_000 {
            scale(&mut web);
        }
        web.wait_until(30_000).take_down(2, 100);
        if scaled_millis >= 30_000 {
            scale(&mut web);
        }
        web.wait_until(50_000);
        (100..103).for_each(|pod| web.delete_pod(pod));
        web.add_set(SECOND, set(SECOND, 2, 0, 0));
        web.deployment(|deployment| {
            deployment.revision = Some(2);
            deployment.status.progressing = Some(condition(ConditionStatus::True, "NewReplicaSetCreated", ""));
        });
        web.report();
        let deployment = web.timeline.model().deployments.get(&WEB).unwrap();
        let last = deployment.rollouts.last().unwrap();
        (last.revision, rollout::outcome(deployment, last), web.lines(LineKind::Outside).pop().unwrap())
    };
    let (revision, outcome, said) = ended(40_000);
    assert_eq!((revision, outcome), (2, Outcome::ScaledToZero));
    assert_eq!(said, "Revision 2 ended before it was complete: the Deployment was scaled to zero.");
    // It was at zero before it began.
    let (revision, outcome, _) = ended(25_000);
    assert_eq!((revision, outcome), (2, Outcome::Complete));
}

/// A rollback to it says otherwise that not all of its pods were ever available.
#[test]
fn a_rollout_that_was_scaled_to_zero_is_available_later_also_where_pods_are_not_seen() {
    let mut web = Web::live(3).at(10_000).first_listed_without_pods().at(20_000);
    next_revision(&mut web, 2, [3, 0]);
    web.wait_until(30_000).scale(SECOND, 0);
    web.report();
    web.wait_until(40_000).scale(SECOND, 3);
    let available = |web: &mut Web, pods: u32| {
        web.wait(10_000).deployment(|deployment| {
            let status = &mut deployment.status;
            (status.replicas, status.updated, status.available) = (3, 3, pods);
        });
        let deployment = web.timeline.model().deployments.get(&WEB).unwrap();
        let last = deployment.rollouts.last().unwrap();
        (rollout::outcome(deployment, last), last.available_millis)
    };
    assert_eq!(available(&mut web, 2), (Outcome::ScaledToZero, None));
    assert_eq!(available(&mut web, 3), (Outcome::ScaledToZero, Some(60_000)));
}

#[test]
fn pods_that_are_still_there_are_told_of_what_is_scaled_to_zero() {
    let mut web = Web::live(3).at(60_000);
    web.scale(2, 0);
    web.delete_pod(100);
    web.report();
    assert_eq!(web.verdict(), "[Complete] Revision 1 is scaled to zero; 2 pods are still there.");
    web.delete_pod(101);
    // Its status is not written yet.
    web.deployment(|deployment| (deployment.status.replicas, deployment.status.updated) = (3, 2));
    assert_eq!(web.verdict(), "[Finishing] Revision 1 is scaled to zero; 1 pod is still there.");
    web.deployment(|deployment| deployment.spec.paused = true);
    assert_eq!(web.verdict(), "[Paused] Paused: 1 pod of revision 1 available.");
    web.delete_pod(102);
    assert_eq!(web.verdict(), "[Paused] Paused, and scaled to zero.");
}

#[test]
fn nothing_available_for_more_than_ten_seconds_is_no_recovery() {
    let mut web = Web::live(2).at(60_000);
    web.pod(100, unready);
    web.wait_until(65_000).pod(101, unready);
    web.report();
    web.now = 75_000;
    assert_eq!(web.verdict(), "[Recovering] Revision 1: 0 of 2 available.");
    web.now += 1;
    assert_eq!(web.verdict(), "[Degraded] No pod of revision 1 is available: 0 of 2.");
    assert_eq!(web.view().verdict.tone, Tone::Bad);
    web.pod(100, ready);
    web.report();
    assert_eq!(web.verdict(), "[Recovering] Revision 1: 1 of 2 available.");

    // Pods that were killed, and replacements for which there is no node.
    let mut web = Web::live(2).at(60_000);
    for number in [100, 101] {
        web.kill_pod(number);
        web.add_pod(number + 100, 2, unschedulable);
    }
    web.report();
    assert_eq!(web.verdict(), "[Recovering] Revision 1: 0 of 2 available.");
    web.now = 90_000;
    assert_eq!(web.verdict(), "[Degraded] No pod of revision 1 is available: 0 of 2.");
    assert!(web.view().verdict.why.starts_with("No node fits 2 pods: 4 Insufficient cpu."), "{:?}", web.view().verdict);
}

#[test]
fn a_ready_pod_that_waits_for_its_seconds_is_no_outage() {
    let mut web = Web::live(1).at(60_000);
    web.set(2, |set| set.now.min_ready_seconds = 30);
    web.delete_pod(100);
    web.add_pod(200, 2, |_| {});
    web.report();
    web.wait_until(62_000).pod(200, |pod| {
        ready(pod);
        pod.ready.as_mut().unwrap().last_transition_millis = Some(62_000);
    });
    web.now = 75_000;
    assert_eq!(web.verdict(), "[Recovering] Revision 1: 0 of 1 available.");
    let why = web.view().verdict.why;
    assert!(why.starts_with("1 pod is ready and becomes available in "), "{why}");
}

/// The Deployment controller copies them to the ReplicaSet, whose controller counts the pods anew.
#[test]
fn pods_of_which_more_seconds_are_asked_are_not_lost() {
    let raise = |mut web: Web| {
        web.edit_spec(|deployment| deployment.spec.min_ready_seconds = 120);
        web.set(2, |set| (set.now.min_ready_seconds, set.now.counts.available) = (120, 0));
        web.deployment(|deployment| {
            (deployment.status.observed_generation, deployment.status.available) = (deployment.generation, 0);
        });
        web
    };
    let mut web = raise(Web::live(3).at(60_000));
    assert_eq!(web.verdict(), "[Waiting] Revision 1: 0 of 3 available.");
    let why = "3 pods are ready and become available in 61 s (minReadySeconds 120).";
    assert_eq!(web.view().verdict.why, why);
    let late = raise(Web::live(3).at(60_000).first_listed());
    assert_eq!(late.verdict(), "[Waiting] Revision 1: 0 of 3 available.");
    // One that is replaced is lost.
    web.kill_pod(100);
    web.add_pod(200, 2, unready);
    assert_eq!(web.verdict(), "[Recovering] Revision 1: 0 of 3 available.");
}

#[test]
fn a_pod_that_flaps_before_its_seconds_are_over_ends_no_outage() {
    let mut web = Web::live(1).at(60_000);
    web.set(2, |set| set.now.min_ready_seconds = 120);
    for _ in 0..3 {
        web.wait(10_000).pod(100, unready);
        web.report();
        let now = web.wait(10_000).now;
        web.pod(100, |pod| {
            ready(pod);
            pod.ready.as_mut().unwrap().last_transition_millis = Some(now);
        });
    }
    let flaps = "[Degraded] Revision 1 has 0 of 1 available: pods lose readiness repeatedly.";
    assert_eq!(web.verdict(), flaps);
    web.now = 200_000;
    assert_eq!(web.verdict(), flaps, "90 s after the last loss");
    web.now = 200_001;
    assert_eq!(web.verdict(), "[Degraded] No pod of revision 1 is available: 0 of 1.");
    web.wait(20_000).pod(100, unready);
    web.report();
    assert_eq!(web.verdict(), flaps);
}

#[test]
fn an_outage_goes_on_whatever_a_released_pod_does() {
    let mut web = Web::live(1).at(60_000);
    web.pod(100, |pod| pod.meta.controller = None);
    web.add_pod(200, 2, |_| {});
    web.report();
    let outage = "[Degraded] No pod of revision 1 is available: 0 of 1.";
    web.now = 70_000;
    assert_eq!(web.verdict(), "[Recovering] Revision 1: 0 of 1 available.");
    web.now += 1;
    assert_eq!(web.verdict(), outage);
    web.kill_pod(100);
    assert_eq!(web.verdict(), outage);
    web.wait(1_000).delete_pod(100);
    assert_eq!(web.verdict(), outage);
}

#[test]
fn down_to_few_and_up_again_is_scaling_and_what_fell_below_the_few_is_not() {
    let mut web = Web::live(4).at(60_000);
    web.scale(2, 2);
    web.delete_pod(102);
    web.delete_pod(103);
    web.report();
    assert_eq!(web.verdict(), "[Complete] Revision 1 is complete: 2 of 2 available.");
    web.wait_until(80_000).scale(2, 4);
    web.add_pod(200, 2, |_| {});
    web.add_pod(201, 2, |_| {});
    web.report();
    assert_eq!(web.verdict(), "[Scaling up] Revision 1 is scaling up: 2 of 4 available.");
}

/// The Deployment overtakes its pods.
#[test]
fn the_last_pods_of_a_rollout_that_was_observed_are_still_on_their_way() {
    let completed = |web: &mut Web| {
        web.deployment(|deployment| {
            let status = &mut deployment.status;
            (status.observed_generation, status.replicas) = (deployment.generation, 3);
            (status.updated, status.available) = (3, 3);
            status.progressing = Some(condition(ConditionStatus::True, "NewReplicaSetAvailable", ""));
        });
    };
    let mut web = Web::made(3).at(5_000);
    (100..102).for_each(|pod| web.pod(pod, ready));
    completed(&mut web);
    web.now = 6_000;
    assert_eq!(web.verdict(), "[Starting] Revision 1: 2 of 3 available.");
    assert_eq!(web.view().verdict.why, "");
    web.now = 6_001;
    assert_eq!(web.verdict(), "[Catching up] Revision 1: 2 of 3 available.");
    assert_eq!(web.view().verdict.why, "1 of 3 pods is not available; the revision does not change.");
    web.pod(102, ready);
    assert_eq!(web.verdict(), "[Complete] Revision 1 is complete: 3 of 3 available.");
    // The next one; a pod of the last one is not seen to go yet.
    web.wait_until(20_000);
    next_revision(&mut web, 2, [3, 0]);
    (100..102).for_each(|pod| web.delete_pod(pod));
    (200..203).for_each(|pod| web.add_pod(pod, SECOND, unready));
    web.pod(200, ready);
    completed(&mut web);
    assert_eq!(web.view().counts.available, 2);
    assert_eq!(web.verdict(), "[Rolling out] Revision 2: 1 of 3 available.");
}

#[test]
fn whether_it_grows_or_recovers_is_not_said_where_nobody_saw() {
    let mut web = Web::live(3).at(60_000);
    web.scale(2, 10);
    web.report();
    assert_eq!(web.first_listed().verdict(), "[Catching up] Revision 1: 3 of 10 available.");
}
