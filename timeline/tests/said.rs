//! Sequences of events that were said wrongly once, made by hand: what is said of each.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends where its assumptions do"
)]

mod made;

use made::{SECOND, Web, condition, crashing, image, next_revision, ready, set, unready, waiting};
use timeline::fact::{ConditionStatus, ContainerState, EventFact, Image, Kind, Phase, Strategy};
use timeline::model::EndReason;
use timeline::story::LineKind;
use timeline::{Fact, Uid};

#[test]
fn a_complete_deployment_that_is_scaled_up_does_not_recover_from_anything() {
    let mut web = Web::live(3);
    web.now = 60_000;
    web.scale(2, 10);
    for number in 0..7 {
        web.add_pod(200 + number, 2, |_| {});
    }
    web.report();
    web.now = 61_000;
    assert_eq!(web.verdict(), "[Scaling up] Revision 1 is scaling up: 3 of 10 available.");
    web.now = 130_000;
    assert_eq!(web.verdict(), "[Stalled] Revision 1 is scaling up: 3 of 10 available.");
    // One that was there before fails as well: that is less than there was.
    web.pod(100, unready);
    web.report();
    assert_eq!(web.verdict(), "[Degraded] Revision 1: 2 of 10 available.");
}

#[test]
fn from_zero_it_scales_up_too() {
    let mut web = Web::live(0);
    assert_eq!(web.verdict(), "[Scaled to zero] Revision 1 is scaled to zero.");
    web.now = 60_000;
    web.scale(2, 3);
    (0..3).for_each(|number| web.add_pod(200 + number, 2, |_| {}));
    web.report();
    assert_eq!(web.verdict(), "[Scaling up] Revision 1 is scaling up: 0 of 3 available.");
}

#[test]
fn down_to_few_and_up_again_is_scaling_and_what_fell_below_the_few_is_not() {
    let mut web = Web::live(4);
    web.now = 60_000;
    web.scale(2, 2);
    web.delete_pod(102);
    web.delete_pod(103);
    web.report();
    assert_eq!(web.verdict(), "[Complete] Revision 1 is live: 2 of 2 available.");
    web.now = 80_000;
    web.scale(2, 4);
    web.add_pod(200, 2, |_| {});
    web.add_pod(201, 2, |_| {});
    web.report();
    assert_eq!(web.verdict(), "[Scaling up] Revision 1 is scaling up: 2 of 4 available.");
}

#[test]
fn whether_it_grows_or_recovers_is_not_said_where_nobody_saw() {
    let mut web = Web::live(3);
    web.now = 60_000;
    web.scale(2, 10);
    web.report();
    assert_eq!(web.first_listed().verdict(), "[Catching up] Revision 1: 3 of 10 available.");
}

#[test]
fn a_rollback_after_a_scale_is_a_rollout() {
    let mut web = Web::replaced();
    web.report();
    web.now = 40_000;
    web.scale(SECOND, 5);
    (3..5).for_each(|number| web.add_ready_pod(200 + number, SECOND));
    web.report();
    web.now = 60_000;
    web.edit("v1");
    // The empty ReplicaSet still says three: it takes part in no scaling, and says five with its first step.
    web.set(2, |set| set.revision = Some(3));
    web.set(2, |set| {
        set.counts.desired = 2;
        (set.desired_replicas, set.max_replicas) = (Some(5), Some(7));
    });
    web.deployment(|deployment| deployment.revision = Some(3));
    let told = web.told();
    assert!(!told.iter().any(|line| line.contains("Scaled") && line.contains("revision 3")), "{told:#?}");
    assert_eq!(web.lines(LineKind::Step).last().unwrap(), "Revision 3 up 0 → 2: 7 of at most 7.");
}

#[test]
fn what_was_finished_before_we_came_is_neither_stuck_nor_overtaken() {
    let mut web = Web::live(3);
    web.now = 3_600_000;
    web.pod(100, |pod| {
        unready(pod);
        crashing(120)(pod);
    });
    web.report();
    let mut late = web.first_listed();
    late.now += 12_000;
    let degraded = "[Degraded] Revision 1 has 2 of 3 available: containers crash with exit code 1.";
    assert_eq!(late.verdict(), degraded);
    let said = &late.view().reasons[0].sentence;
    assert_eq!(said, "Pods crash: exit code 1, 120 restarts so far (pod p0100).");
    next_revision(&mut late, 2, [1, 3]);
    assert!(!late.told().iter().any(|line| line.contains("superseded")), "{:#?}", late.told());
}

#[test]
fn watching_begins_with_the_images_that_run() {
    let mut web = Web::live(3);
    web.now = 60_000;
    web.deployment(|deployment| {
        deployment.spec.paused = true;
        deployment.spec.images = image("v2");
    });
    let late = web.first_listed();
    assert_eq!(late.told(), ["Watching begins: revision 1 with image web:v1."]);
    assert!(
        late.view().verdict.why.starts_with("A change of the template is waiting: image web:v2."),
        "{:?}",
        late.view()
    );
}

/// A pod of revision 1 was evicted long ago and lies about; its replacement is ready.
fn with_leftover() -> Web {
    let mut web = Web::live(3);
    web.now = 20_000;
    web.pod(100, |pod| {
        (pod.phase, pod.reason, pod.ready) = (Phase::Failed, "Evicted".into(), None);
        pod.disruption = Some("TerminationByKubelet".into());
    });
    web.add_ready_pod(103, 2);
    web.report();
    web.now = 86_400_000;
    web
}

#[test]
fn an_eviction_is_told_when_it_happens_and_its_leftover_counts_nowhere() {
    let mut web = with_leftover();
    let evicted = "Pod p0100 evicted from node node-1; the revision stays.";
    assert!(web.told().iter().any(|line| line == evicted), "{:#?}", web.told());
    assert_eq!(web.verdict(), "[Complete] Revision 1 is live: 3 of 3 available.");
    assert_eq!(web.view().verdict.why, "1 failed pod is left over.");
    let before = web.told();
    // Cleaned up days later: nothing happened to the Deployment.
    web.delete_pod(100);
    assert_eq!(web.told(), before);
    assert_eq!(web.view().explanation(), "Nothing is moving.");
}

#[test]
fn beside_a_leftover_a_killed_pod_is_killed_and_not_scaled_down() {
    let mut web = with_leftover();
    web.kill_pod(101);
    let killed = "Pod p0101 deleted manually; the revision stays 1.";
    assert_eq!(web.told().last().unwrap(), killed);
    // A leftover that is deleted was not scaled down either: the ReplicaSet controller deletes none.
    let mut web = with_leftover();
    web.delete_pod(100);
    let ends = web.timeline.model().pods.get(&Uid::from_bits(100)).unwrap().end_reason;
    assert_ne!(ends, Some(EndReason::ScaledDown));
}

#[test]
fn with_a_leftover_zero_is_zero_and_growing_is_growing() {
    let mut web = with_leftover();
    web.scale(2, 0);
    [101, 102, 103].into_iter().for_each(|number| web.delete_pod(number));
    web.report();
    assert_eq!(web.verdict(), "[Scaled to zero] Revision 1 is scaled to zero.");
    let mut web = with_leftover();
    web.scale(2, 6);
    (4..7).for_each(|number| web.add_pod(100 + number, 2, |_| {}));
    web.report();
    assert_eq!(web.verdict(), "[Scaling up] Revision 1 is scaling up: 3 of 6 available.");
    web.now += 15_000;
    let causes: Vec<String> = web.view().reasons.into_iter().map(|reason| reason.sentence).collect();
    assert!(!causes.iter().any(|cause| cause.contains("Evicted")), "{causes:?}");
}

#[test]
fn pods_that_a_node_refuses_again_and_again_hold_a_rollout_up() {
    let mut web = Web::replacing();
    for number in 0..20 {
        web.now += 1_000;
        web.add_pod(200 + number, SECOND, |pod| {
            (pod.phase, pod.reason) = (Phase::Failed, "OutOfcpu".into());
            pod.message = "Node didn't have enough resource: cpu".into();
            pod.containers[0].state = None;
        });
    }
    web.report();
    assert_eq!(
        web.view().reasons[0].sentence,
        "20 new pods failed within a minute, OutOfcpu (one is p0200): Node didn't have enough resource: cpu."
    );
    let told: Vec<String> = web.told().into_iter().filter(|line| line.contains("OutOfcpu")).collect();
    assert_eq!(told, ["20 pods failed: OutOfcpu; the revision stays 2."]);
}

#[test]
fn an_outage_is_told_of_a_replica_set_that_caused_it() {
    // An old, empty one goes; later nobody asks for pods.
    let mut web = Web::replaced();
    web.report();
    web.now = 60_000;
    web.delete_set(2);
    web.now = 70_000;
    (0..3).for_each(|number| web.delete_pod(200 + number));
    web.report();
    web.now = 100_000;
    (3..6).for_each(|number| web.add_ready_pod(200 + number, SECOND));
    web.report();
    assert_eq!(web.lines(LineKind::Bad), ["ReplicaSet 1 deleted manually."]);
}

#[test]
fn pods_of_a_replica_set_that_went_to_another_deployment_are_not_counted() {
    let mut web = Web::live(3);
    web.now = 20_000;
    web.set(2, |set| set.meta.controller = Some(Uid::from_bits(77)));
    let mut again = set(3, 1, 3, 0);
    (again.desired_replicas, again.images) = (Some(3), image("v1"));
    web.add_set(3, again);
    (0..3).for_each(|number| web.add_pod(200 + number, 3, |_| {}));
    web.report();
    assert_eq!(web.view().counts.available, 0);
    (0..3).for_each(|number| web.pod(200 + number, ready));
    web.report();
    assert_eq!(web.verdict(), "[Complete] Revision 1 is live: 3 of 3 available.");
}

#[test]
fn recreate_that_never_completed_is_taken_down_before_the_next_revision() {
    let mut web = Web::live(3);
    web.now = 20_000;
    web.deployment(|deployment| deployment.spec.strategy = Strategy::Recreate);
    web.take_over(|_| {});
    web.report();
    web.now = 60_000;
    web.edit("v3");
    web.take_down(SECOND, 200);
    assert_eq!(web.verdict(), "[Taking down] Revision 2 is being taken down before the next one starts.");
    assert!(
        web.view().next.starts_with("Recreate: the next revision starts when 3 pods are gone."),
        "{:?}",
        web.view()
    );
}

#[test]
fn what_happened_while_nobody_looked_is_not_told_as_if_it_was_seen() {
    // Revision 2 starts and is complete, and revision 3 starts, unseen.
    let mut web = Web::replacing();
    web.now = 600_000;
    web.unseen(|deployment, sets| {
        (deployment.revision, deployment.spec.images) = (Some(3), image("v3"));
        sets.insert(4, set(4, 3, 1, 0));
    });
    web.relisted(25_000);
    let told = web.told();
    assert!(!told.iter().any(|line| line.contains("superseded")), "{told:#?}");
    assert!(told.iter().any(|line| line == "Revision 3 started while not observed: image web:v3."), "{told:#?}");
    // It is complete when somebody looks again.
    let mut web = Web::replaced();
    web.now = 600_000;
    web.unseen(|deployment, _| {
        (deployment.status.replicas, deployment.status.updated, deployment.status.available) = (3, 3, 3);
    });
    web.relisted(25_000);
    assert_eq!(web.lines(LineKind::Done).last().unwrap(), "Revision 2 is complete; when it finished is not known.");
}

#[test]
fn a_replica_set_that_went_unseen_with_its_deployment_was_deleted_by_nobody() {
    let mut web = Web::live(3);
    web.now = 60_000;
    web.lose_set(2);
    web.listed(Kind::ReplicaSet, Some(10_000));
    let unknown = web.lines(LineKind::Unknown);
    assert!(unknown.iter().any(|line| line == "ReplicaSet 1 disappeared while not observed."), "{unknown:#?}");
    // The Deployments' list comes much later.
    web.now = 64_000;
    web.timeline.apply(
        web.now,
        Fact::Listed { kind: Kind::Deployment, namespace: None, present: Vec::new(), gap_since_millis: Some(10_000) },
    );
    let told = web.told();
    assert!(!told.iter().any(|line| line.contains("manually") || line.contains("disappeared")), "{told:#?}");
    assert!(told.iter().any(|line| line == "The Deployment was deleted."), "{told:#?}");
}

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
        "Image web:v2 cannot be pulled: ImageInspectError (pod p0200)."
    );
    assert_eq!(
        said(waiting("CreatePodSandboxError", "why")),
        "A container does not start (CreatePodSandboxError, pod p0200): why."
    );
    let ended = ContainerState::Terminated { exit_code: 3, reason: "Error".into(), message: String::new() };
    assert_eq!(said(ended), "New pods crash: exit code 3 (pod p0200).");
}

#[test]
fn a_crash_loop_that_is_ready_in_between_does_not_count_all_restarts_into_the_last_seconds() {
    let mut web = Web::live(3);
    for restarts in 1..=5 {
        web.now += 20_000;
        web.pod(100, |pod| {
            pod.ready = None;
            crashing(restarts)(pod);
        });
        if restarts < 5 {
            web.now += 5_000;
            web.pod(100, |pod| {
                ready(pod);
                pod.containers[0].state = Some(ContainerState::Running);
            });
        }
    }
    web.now += 12_000;
    assert_eq!(web.view().reasons[0].sentence, "Pods crash: exit code 1, 5 restarts so far (pod p0100).");
}

#[test]
fn the_revision_that_stays_is_the_one_of_then() {
    let mut web = Web::live(3);
    web.now = 20_000;
    web.kill_pod(100);
    web.delete_pod(100);
    web.add_ready_pod(103, 2);
    let killed = "Pod p0100 deleted manually; the revision stays 1.";
    assert!(web.told().iter().any(|line| line.starts_with(killed)), "{:#?}", web.told());
    // A pod of the old revision, in the middle of a rollout.
    web.now = 40_000;
    next_revision(&mut web, 2, [1, 3]);
    web.now = 41_000;
    web.kill_pod(101);
    let killed = "Pod p0101 deleted manually; the revision stays 2.";
    assert!(web.told().iter().any(|line| line.starts_with(killed)), "{:#?}", web.told());
    // Later the first ReplicaSet carries another revision: what was told stands.
    let before: Vec<String> = web.told().into_iter().filter(|line| line.contains("manually")).collect();
    web.set(2, |set| set.revision = Some(3));
    let after: Vec<String> = web.told().into_iter().filter(|line| line.contains("manually")).collect();
    assert_eq!(before, after);
}

#[test]
fn what_is_refused_is_named() {
    let said = |reason: &str, progressing: bool| {
        let mut web = Web::live(3);
        web.now = 60_000;
        web.deployment(|deployment| {
            let told =
                Some(condition(if progressing { ConditionStatus::False } else { ConditionStatus::True }, reason, "no"));
            if progressing {
                deployment.status.progressing = told;
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
fn ready_for_long_enough_is_told_by_the_clock_of_the_cluster() {
    // Our clock is 30 s behind the cluster's, then 30 s ahead.
    for skew in [-30_000, 30_000] {
        let mut web = Web::live(1);
        web.now = 100_000;
        for number in 0..40 {
            // Objects that are made while we watch tell how far the clocks are apart.
            web.add_pod(300 + number, 99, |pod| pod.meta.created_at_millis = 100_000 - skew);
        }
        web.set(2, |set| set.min_ready_seconds = 10);
        let mut ready = condition(ConditionStatus::True, "", "");
        ready.last_transition_millis = Some(100_000 - skew);
        web.add_pod(200, 2, |pod| {
            pod.meta.created_at_millis = 100_000 - skew;
            pod.ready = Some(ready);
        });
        let state = |web: &Web| web.timeline.model().pods.get(&Uid::from_bits(200)).unwrap().state().name();
        assert_eq!(state(&web), "ready", "skew {skew}");
        let due = web.timeline.next_due_millis().unwrap();
        assert!((109_000..=111_000).contains(&due), "skew {skew}: due at {due}");
        web.timeline.tick(111_000);
        assert_eq!(state(&web), "available", "skew {skew}");
    }
}

#[test]
fn pods_count_by_the_seconds_that_their_replica_set_asks_for_now() {
    let mut web = Web::live(2);
    web.now = 20_000;
    let ready_at = |web: &mut Web, number: u128, since: i64| {
        web.pod(number, |pod| pod.ready.as_mut().unwrap().last_transition_millis = Some(since));
    };
    ready_at(&mut web, 100, 5_000);
    ready_at(&mut web, 101, 18_000);
    let states = |web: &Web| {
        [100, 101].map(|number| web.timeline.model().pods.get(&Uid::from_bits(number)).unwrap().state().name())
    };
    assert_eq!(states(&web), ["available", "available"]);
    // More seconds: one of them is not ready for so long yet.
    web.set(2, |set| set.min_ready_seconds = 10);
    assert_eq!(states(&web), ["available", "ready"]);
    assert_eq!(web.view().counts.available, 1);
    assert_eq!(web.timeline.next_due_millis(), Some(28_000));
    // Fewer: it counts at once.
    web.set(2, |set| set.min_ready_seconds = 1);
    assert_eq!(states(&web), ["available", "available"]);
    assert_eq!(web.timeline.next_due_millis(), None);
}

#[test]
fn where_pods_are_not_seen_their_replica_sets_are_believed() {
    let mut web = Web::live(3);
    web.now = 60_000;
    let mut after_gap = web.first_listed_without_pods();
    after_gap.now += 15_000;
    assert_eq!(after_gap.verdict(), "[Complete] Revision 1 is live: 3 of 3 available.");
    assert_eq!(after_gap.view().reasons, []);
    assert_eq!(after_gap.view().sets.iter().map(|set| set.available).sum::<u32>(), 3);
}

#[test]
fn pods_that_went_before_anybody_looked_are_not_told_to_be_deleted_from_outside() {
    let mut web = Web::live(3);
    web.now = 20_000;
    next_revision(&mut web, 2, [1, 2]);
    web.kill_pod(100);
    let mut late = web.first_listed();
    late.now += 2_000;
    late.add_pod(200, 3, |_| {});
    late.delete_pod(100);
    assert_eq!(late.told(), ["Watching begins: revision 2 with image web:v2."]);
    // Nor those that were asked to go while nobody looked for a while.
    let mut web = Web::live(3);
    web.now = 600_000;
    web.unseen_pod(100, |pod| pod.meta.deletion_at_millis = Some(620_000));
    web.relisted(10_000);
    let outside = web.lines(LineKind::Outside);
    assert!(!outside.iter().any(|line| line.contains("manually")), "{outside:?}");
}

#[test]
fn a_deadline_that_passed_for_the_revision_before_is_not_told_of_the_rollback() {
    let mut web = Web::replacing();
    web.now = 630_000;
    let mut passed = condition(ConditionStatus::False, "ProgressDeadlineExceeded", "timed out");
    passed.last_update_millis = Some(629_000);
    web.deployment(|deployment| deployment.status.progressing = Some(passed));
    assert_eq!(web.lines(LineKind::Bad).len(), 1);
    web.now = 700_000;
    web.edit("v1");
    web.set(2, |set| set.revision = Some(3));
    web.deployment(|deployment| {
        (deployment.revision, deployment.status.observed_generation) = (Some(3), deployment.meta.generation);
        deployment.status.updated = 2;
    });
    assert_eq!(web.lines(LineKind::Bad).len(), 1, "{:#?}", web.told());
    assert!(!web.verdict().contains("stuck"), "{}", web.verdict());
}

#[test]
fn a_replica_set_that_is_refused_is_refused_although_the_spec_counts_as_unobserved() {
    let mut web = Web::live(3);
    web.now = 60_000;
    web.deployment(|deployment| {
        deployment.meta.generation += 1;
        deployment.spec.images = image("v2");
        deployment.status.progressing = Some(condition(ConditionStatus::False, "ReplicaSetCreateError", "no"));
    });
    web.now = 80_000;
    assert_eq!(web.verdict(), "[Failing] The next revision cannot start: the API server refuses the new ReplicaSet.");
    assert!(web.view().verdict.why.starts_with("The API server refuses the new ReplicaSet: no."), "{:?}", web.view());
}

#[test]
fn the_image_that_fails_is_named_and_not_its_neighbour() {
    let mut web = Web::live(3);
    web.now = 20_000;
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
fn steps_that_nobody_saw_are_told_as_such() {
    let mut web = Web::replacing();
    web.now = 600_000;
    web.unseen(|_, sets| {
        sets.get_mut(&2).unwrap().counts.desired = 0;
        sets.get_mut(&3).unwrap().counts.desired = 3;
    });
    web.relisted(25_000);
    let steps = web.lines(LineKind::Step);
    assert_eq!(steps.last().unwrap(), "While not observed: revision 1 3 → 0 and revision 2 1 → 3.");
    // It is complete later, in somebody's sight; since when it was under way is known.
    let took = web.lines(LineKind::Done);
    assert_eq!(took.len(), 1, "{took:?}");
}

#[test]
fn recreate_takes_down_for_edits_that_are_not_decoded_too() {
    let mut web = Web::live(3);
    web.now = 20_000;
    web.deployment(|deployment| {
        deployment.meta.generation += 1;
        deployment.spec.strategy = Strategy::Recreate;
    });
    web.take_down(2, 100);
    assert_eq!(web.verdict(), "[Taking down] Revision 1 is being taken down before the next one starts.");
    assert!(
        web.view().next.starts_with("Recreate: the next revision starts when 3 pods are gone."),
        "{:?}",
        web.view()
    );
}

#[test]
fn a_taint_is_no_lost_node() {
    let mut web = Web::live(3);
    web.now = 20_000;
    web.pod(100, |pod| {
        pod.disruption = Some("DeletionByTaintManager".into());
        pod.meta.deletion_at_millis = Some(50_000);
    });
    let told = "Pod p0100 had to leave node node-1 because of a taint; the revision stays.";
    assert!(web.told().iter().any(|line| line == told), "{:#?}", web.told());
}

#[test]
fn an_event_counts_once_however_often_it_comes() {
    let mut web = Web::live(1);
    let event = |uid: u128, count: u32| {
        Fact::Event(Box::new(EventFact {
            uid: Uid::from_bits(uid),
            about: Uid::from_bits(1),
            about_kind: "Deployment".into(),
            about_name: "web".into(),
            reason: "Odd".into(),
            message: "why".into(),
            is_warning: true,
            count,
            last_millis: None,
        }))
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
fn paused_with_nothing_to_do_nothing_waits() {
    let mut web = Web::live(3);
    web.now = 60_000;
    web.deployment(|deployment| deployment.spec.paused = true);
    assert_eq!(web.view().verdict.why, "No change of the template is waiting.");
    assert_eq!(web.view().next, "Changes of the template wait until somebody resumes the rollout.");
}

#[test]
fn a_moment_after_a_second_release_shows_a_pod_that_nobody_owns() {
    let mut web = Web::live(3);
    let owner = Some(Uid::from_bits(2));
    for (now, controller) in [(10_000, None), (20_000, owner), (30_000, None), (40_000, owner)] {
        web.now = now;
        web.pod(100, |pod| pod.meta.controller = controller);
    }
    let owners: Vec<Option<Uid>> = [9_000, 15_000, 35_000, 45_000]
        .into_iter()
        .map(|at| web.timeline.model().as_of(made::WEB, at).pods.get(&Uid::from_bits(100)).unwrap().owner)
        .collect();
    // Between the first release and the last adoption only the last of each is kept.
    assert_eq!(owners, [owner, None, None, owner]);
    // Without the last adoption.
    let mut web = Web::live(3);
    for (now, controller) in [(10_000, None), (20_000, owner), (30_000, None)] {
        web.now = now;
        web.pod(100, |pod| pod.meta.controller = controller);
    }
    let owner_at = |at| web.timeline.model().as_of(made::WEB, at).pods.get(&Uid::from_bits(100)).unwrap().owner;
    assert_eq!([owner_at(25_000), owner_at(35_000)], [owner, None]);
}
