//! What comes next, and what the progress deadline will do: every sentence.

use crate::made::{SECOND, WEB, Web, condition, crashing, deployment, next_revision, ready, unready, waiting};
use crate::said::stuck::rolling_update;
use timeline::fact::{ConditionStatus, DeploymentStatus, Kind, Phase, Seen, Strategy};
use timeline::view::{self, Hold, Now, Tone};
use timeline::{Fact, Timeline};

fn next(web: &Web) -> String {
    web.view().next
}

fn budget(web: &mut Web, surge: u32, unavailable: u32) {
    web.deployment(|deployment| {
        deployment.spec.progress_deadline_seconds = None;
        deployment.spec.strategy = rolling_update(surge, unavailable);
    });
}

/// Revision 2 asks for so many pods and has so many that are available; revision 1 has its three, and still asks for them.
fn rolling(desired: u32, available: u32) -> Web {
    let mut web = Web::replacing();
    budget(&mut web, desired, 0);
    web.set(SECOND, |set| set.now.counts.desired = desired);
    for number in 0..desired {
        web.add_pod(200 + u128::from(number), SECOND, |pod| {
            if number < available {
                ready(pod)
            }
        });
    }
    web.report();
    web
}

#[test]
fn what_a_rolling_update_does_or_waits_for() {
    assert_eq!(next(&rolling(1, 0)), "When a new pod becomes available, an old one can be removed (floor 3).");
    assert_eq!(next(&rolling(1, 1)), "1 old pod can be removed (floor 3).");
    assert_eq!(next(&rolling(3, 2)), "2 old pods can be removed (floor 3).");
    assert_eq!(next(&rolling(3, 3)), "3 old pods can be removed (floor 3).");
    let mut web = rolling(1, 0);
    budget(&mut web, 3, 0);
    assert_eq!(next(&web), "2 new pods can be added.");
    let mut web = rolling(3, 1);
    web.pod(100, unready);
    assert_eq!(next(&web), "1 old pod that is not available can be removed.");
    // The floor was raised: two must come before one may go.
    let mut web = rolling(2, 0);
    web.pod(100, |pod| pod.phase = Phase::Failed);
    web.edit_spec(|deployment| {
        deployment.spec.replicas = 4;
        deployment.spec.strategy = rolling_update(1, 0);
        deployment.status.observed_generation = deployment.generation;
    });
    let two = "The ReplicaSet controller creates 1 pod; when 2 more new pods are available, an old one can be removed (floor 4).";
    assert_eq!(next(&web), two);
}

#[test]
fn what_is_scaled_is_made_or_removed() {
    let mut web = Web::live(3).at(60_000);
    web.scale(2, 5);
    assert_eq!(next(&web), "The ReplicaSet controller creates 2 pods.");
    (3..5).for_each(|number| web.add_pod(100 + number, 2, |_| {}));
    assert_eq!(next(&web), "2 pods still to become available.");
    assert_eq!(web.view().hold, Hold::Free);
    (3..5).for_each(|number| web.pod(100 + number, ready));
    web.report();
    web.deployment(|deployment| deployment.spec.replicas = 3);
    assert_eq!(next(&web), "The controllers have nothing left to do.", "the status is of before");
    web.deployment(|deployment| deployment.generation += 1);
    assert_eq!(next(&web), "2 pods too many are removed.");
    assert_eq!(web.verdict(), "[Finishing] Revision 1: 3 of 3 available.", "5 are");
    let mut view = web.view();
    assert_eq!(view.new_of_desired(), "3 of 3");
    view.desired = 5_000;
    assert_eq!(view.new_of_desired(), "5 of 5,000");
    web.deployment(|deployment| deployment.spec.replicas = 5);
    assert_eq!(next(&web), "Waiting for the controllers to react.");
    web.scale(2, 0);
    (100..105).for_each(|pod| web.kill_pod(pod));
    assert_eq!(next(&web), "The controllers have nothing left to do. Pods are created when it is scaled up.");
    (100..105).for_each(|pod| web.delete_pod(pod));
    assert_eq!(next(&web), "The controllers have nothing left to do. Pods are created when it is scaled up.");
}

#[test]
fn pods_that_are_too_many_are_removed() {
    let mut web = Web::live(3).at(60_000);
    web.pod(100, unready);
    web.edit_spec(|deployment| deployment.spec.replicas = 1);
    web.pod(101, unready);
    web.pod(102, unready);
    assert_eq!(next(&web), "2 pods too many are removed.");
    web.deployment(|deployment| deployment.spec.replicas = 2);
    assert_eq!(next(&web), "1 pod too many is removed.");
}

#[test]
fn while_it_is_paused_replicas_are_spread_all_the_same() {
    let mut web = Web::live(3);
    web.deployment(|deployment| (deployment.spec.paused, deployment.spec.replicas) = (true, 5));
    let resumed = "Changes of the template wait until somebody resumes the rollout.";
    let spread = "The controller spreads the replicas over the ReplicaSets.";
    assert_eq!(next(&web), format!("{spread} {resumed}"));
    web.deployment(|deployment| deployment.spec.replicas = 3);
    assert_eq!(next(&web), resumed);
    web.set(2, |set| set.now.counts.desired = 4);
    assert_eq!(
        next(&web),
        format!(
            "The ReplicaSet controller creates 1 pod; the controller spreads the replicas over the ReplicaSets. {resumed}"
        )
    );
    let mut web = Web::live(3);
    web.deployment(|deployment| deployment.spec.paused = true);
    web.edit("v2");
    let edited = "The change is rolled out when somebody resumes the rollout; no progress deadline runs until then.";
    assert_eq!(next(&web), edited);
}

#[test]
fn a_deployment_that_is_created_paused_waits_with_its_first_revision() {
    let mut timeline = Timeline::new();
    for kind in Kind::ALL {
        timeline.apply(0, Fact::Listed { kind, namespace: None, present: Vec::new(), gap_since_millis: None });
    }
    let mut created = deployment();
    (created.now.revision, created.now.spec.paused) = (None, true);
    created.now.status = DeploymentStatus { observed_generation: 2, ..DeploymentStatus::default() };
    timeline.apply(1_000, Fact::Deployment(Box::new(created), Seen::Added));
    let seen = view::view(timeline.model(), WEB, Now { millis: 2_000, skew_millis: 0 }).unwrap();
    assert_eq!(seen.verdict.sentence, "Paused: 0 of 3 pods available.");
    assert_eq!(seen.verdict.why, "The first revision is waiting: image web:v2.");
    let next =
        "The first revision is rolled out when somebody resumes the rollout; no progress deadline runs until then.";
    assert_eq!(seen.next, next);
}

#[test]
fn a_deployment_that_is_gone_leaves_pods_or_nothing() {
    let mut web = Web::live(2).at(60_000);
    web.delete_deployment();
    let left = "Kubernetes deletes its ReplicaSets and pods, unless it was deleted with --cascade=orphan.";
    assert_eq!((next(&web), web.view().verdict.why), (left.to_owned(), "2 pods still exist.".to_owned()));
    web.kill_pod(100);
    web.delete_pod(101);
    assert_eq!((next(&web), web.view().verdict.why), (left.to_owned(), "1 pod still exists.".to_owned()));
    web.delete_pod(100);
    let none = "A new Deployment of this name starts a history of its own.";
    assert_eq!((next(&web), web.view().verdict.why), (none.to_owned(), String::new()));
    web.now = 75_000;
    assert_eq!(web.verdict(), "[Ended] This Deployment was deleted 15 s ago.");
    // It went while nobody looked.
    let mut web = Web::live(2);
    let kind = timeline::fact::Kind::Deployment;
    let gone = timeline::Fact::Listed { kind, namespace: None, present: Vec::new(), gap_since_millis: Some(30_000) };
    web.timeline.apply(60_000, gone);
    web.now = 75_000;
    assert_eq!(web.verdict(), "[Ended] This Deployment was deleted at least 15 s ago.");
}

#[test]
fn it_is_scaled_to_zero_when_no_pod_is_left_that_counts() {
    let verdict = |change: fn(&mut Web)| {
        let mut web = Web::live(2).at(20_000);
        web.scale(2, 0);
        change(&mut web);
        web.view().verdict.badge
    };
    assert_ne!(verdict(|_| {}), "Scaled to zero");
    assert_ne!(verdict(|web| web.kill_pod(100)), "Scaled to zero");
    let one_is_not_ready = |web: &mut Web| {
        web.kill_pod(100);
        web.pod(101, unready);
    };
    assert_ne!(verdict(one_is_not_ready), "Scaled to zero");
    assert_eq!(verdict(|web| (100..102).for_each(|pod| web.kill_pod(pod))), "Scaled to zero");
}

#[test]
fn a_rollout_that_is_scaled_to_zero_before_any_pod_was_available_says_so() {
    let scaled_to_zero = |mut web: Web, last: std::ops::Range<u128>| {
        web.wait(30_000);
        web.scale(2, 0);
        web.set(SECOND, |set| set.now.counts.desired = 0);
        (100..103).chain(last).for_each(|pod| web.delete_pod(pod));
        web.report();
        let verdict = web.view().verdict;
        format!("[{}] {} {}", verdict.badge, verdict.sentence, verdict.why)
    };
    let mut failing = Web::replacing();
    failing.add_pod(200, SECOND, crashing(3));
    failing.report();
    let said = "[Scaled to zero] Revision 2 is scaled to zero. No pod of revision 2 was ever available.";
    assert_eq!(scaled_to_zero(failing, 200..201), said);
    // Of a rollout that had no pods, or one that worked, nothing is said.
    let nothing = "[Scaled to zero] Revision 2 is scaled to zero. ";
    assert_eq!(scaled_to_zero(Web::replacing(), 0..0), nothing);
    assert_eq!(scaled_to_zero(rolling(3, 1), 200..203), nothing);
}

/// Scales a ReplicaSet up, whose image is not found; returns the command that is advised.
fn command_without_image(web: &mut Web, set: u128) -> String {
    web.wait(30_000).scale(set, 2);
    web.add_pod(300, set, |pod| pod.containers[0].state = Some(waiting("ErrImagePull", "web: not found")));
    web.report();
    web.view().remedy.unwrap().command
}

#[test]
fn a_rollout_that_came_to_nothing_is_undone_after_it_is_scaled_up_again() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, crashing(3));
    web.report();
    web.wait(30_000).scale(SECOND, 0);
    web.set(2, |set| set.now.counts.desired = 0);
    (100..103).chain(200..201).for_each(|pod| web.delete_pod(pod));
    web.deployment(|deployment| {
        deployment.status.progressing = Some(condition(ConditionStatus::True, "NewReplicaSetAvailable", ""));
    });
    web.report();
    let command = command_without_image(&mut web, SECOND);
    assert!(command.ends_with("rollout undo deployment/web"), "{} {command}", web.verdict());
}

#[test]
fn a_revision_that_had_pods_before_it_was_scaled_to_zero_is_a_way_back() {
    let mut web = Web::live(3).at(20_000);
    web.report();
    web.wait(30_000).scale(2, 0);
    (100..103).for_each(|pod| web.delete_pod(pod));
    web.report();
    web.wait(30_000).edit("v2");
    next_revision(&mut web, 2, [0, 0]);
    web.report();
    let command = command_without_image(&mut web, SECOND);
    assert!(command.ends_with("rollout undo deployment/web"), "{} {command}", web.verdict());
}

#[test]
fn a_revision_that_crashed_until_it_was_scaled_to_zero_is_no_way_back() {
    let mut web = Web::replaced();
    (200..203).for_each(|pod| web.pod(pod, crashing(3)));
    web.report();
    web.wait(30_000).scale(SECOND, 0);
    (200..203).for_each(|pod| web.delete_pod(pod));
    web.report();
    web.wait(30_000).edit("v3");
    let third = next_revision(&mut web, 3, [0, 0]);
    web.report();
    let command = command_without_image(&mut web, third);
    assert!(command.ends_with("--to-revision=1"), "{} {command}", web.verdict());
}

/// Revision 2 crashes; the progress deadline is as said.
fn crashing_with(seconds: Option<u32>, reason: &str, updated_millis: Option<i64>) -> Web {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, crashing(3));
    web.deployment(|deployment| {
        deployment.spec.progress_deadline_seconds = seconds;
        let mut told = condition(ConditionStatus::True, reason, "");
        told.last_update_millis = updated_millis;
        deployment.status.progressing = Some(told);
    });
    web
}

#[test]
fn the_progress_deadline_is_said_where_one_runs() {
    let ends = |web: &Web| next(web).split_once(". ").map(|(_, deadline)| deadline.to_owned()).unwrap_or_default();
    let mut web = crashing_with(Some(30), "ReplicaSetUpdated", Some(20_000));
    assert_eq!(web.view().deadline_millis, Some(50_000));
    let passes = "Without progress by 00:00:50 UTC, Kubernetes reports that the deadline is exceeded; it keeps trying and does not \
                  roll back by itself.";
    web.now = 49_999;
    assert_eq!(ends(&web), passes);
    web.now = 50_000;
    assert_eq!(ends(&web), "The progress deadline passed at 00:00:50 UTC; Kubernetes has not reported it yet.");
    let mut calm = Web::replacing();
    calm.add_pod(200, SECOND, |_| {});
    calm.deployment(|deployment| {
        deployment.spec.progress_deadline_seconds = Some(30);
        let mut told = condition(ConditionStatus::True, "ReplicaSetUpdated", "");
        told.last_update_millis = Some(20_000);
        deployment.status.progressing = Some(told);
    });
    assert_eq!(ends(&calm), "Progress deadline: 00:00:50 UTC.");
    // A day is said of one that is further away than half a day.
    let tomorrow = crashing_with(Some(86_400), "ReplicaSetUpdated", Some(20_000));
    assert!(ends(&tomorrow).starts_with("Without progress by 1970-01-02 00:00:20 UTC, "), "{}", ends(&tomorrow));
    let days_later = crashing_with(Some(30), "ProgressDeadlineExceeded", Some(60_000)).at(259_200_000);
    assert!(ends(&days_later).starts_with("Kubernetes reported at 1970-01-01 00:01:00 UTC"), "{}", ends(&days_later));
    let none = crashing_with(None, "ReplicaSetUpdated", Some(20_000));
    let not_set = "No progress deadline is set; Kubernetes keeps trying and does not roll back by itself.";
    assert_eq!((ends(&none), none.view().deadline_millis), (not_set.to_owned(), None));
    for reason in ["NewReplicaSetAvailable", "DeploymentPaused", "ReplicaSetCreateError"] {
        let web = crashing_with(Some(30), reason, Some(20_000));
        assert_eq!(web.view().deadline_millis, None, "{reason}");
    }
    // Everything was available before: a pod that is added is no part of the rollout.
    let mut web = Web::live(3).at(60_000);
    web.scale(2, 4);
    web.add_pod(200, 2, |pod| pod.containers[0].state = Some(waiting("ErrImagePull", "web:v1: not found")));
    web.report();
    let before = "No progress deadline runs, because the rollout was complete before; Kubernetes keeps trying.";
    assert_eq!(ends(&web), before);
    // A rollback by Recreate: the condition is that of the revision before.
    let mut web = Web::reported().at(60_000);
    web.deployment(|deployment| deployment.spec.strategy = Strategy::Recreate);
    web.edit("v1");
    web.set(SECOND, |set| set.now.counts.desired = 0);
    (200..203).for_each(|pod| web.delete_pod(pod));
    web.set(2, |set| (set.revision, set.now.counts.desired) = (Some(3), 3));
    web.deployment(|deployment| deployment.revision = Some(3));
    (300..303).for_each(|pod| web.add_pod(pod, 2, crashing(3)));
    web.report();
    let of_before = "No progress deadline runs, because Kubernetes still reports the rollout before, which was complete; it keeps \
                     trying.";
    assert_eq!(ends(&web), of_before);
    assert_eq!(ends(&crashing_with(Some(30), "NewReplicaSetAvailable", Some(20_000))), of_before);
    let unknown = crashing_with(Some(30), "ReplicaSetUpdated", None);
    let on = "Kubernetes keeps trying; it does not roll back by itself.";
    assert_eq!((ends(&unknown), unknown.view().deadline_millis), (on.to_owned(), None));
    let passed = crashing_with(Some(30), "ProgressDeadlineExceeded", Some(60_000));
    let reported = "Kubernetes reported at 00:01:00 UTC that the progress deadline passed; it keeps trying and does not roll \
                    back by itself.";
    assert_eq!((ends(&passed), passed.view().deadline_millis), (reported.to_owned(), Some(60_000)));
    let passed = crashing_with(Some(30), "ProgressDeadlineExceeded", None);
    assert_eq!(ends(&passed), on);
    // It runs by the spec that the controller saw, and not while it is paused.
    let mut web = crashing_with(Some(30), "ReplicaSetUpdated", Some(20_000));
    web.deployment(|deployment| deployment.generation += 1);
    assert_eq!(web.view().deadline_millis, None);
    let mut web = crashing_with(Some(30), "ReplicaSetUpdated", Some(20_000));
    web.deployment(|deployment| deployment.spec.paused = true);
    assert_eq!(web.view().deadline_millis, None);
    let mut web = crashing_with(Some(30), "ReplicaSetUpdated", Some(20_000));
    web.delete_deployment();
    assert_eq!(web.view().deadline_millis, None);
}

#[test]
fn what_holds_the_next_step_is_a_fault_or_a_wait_or_nothing() {
    let hold = |web: &Web| web.view().hold;
    assert_eq!([Hold::Free, Hold::Waits, Hold::Blocked].map(Hold::words), ["", "waiting", "blocked"]);
    assert_eq!(hold(&Web::live(3)), Hold::Free);
    assert_eq!(hold(&rolling(1, 0)), Hold::Waits);
    assert_eq!(hold(&rolling(1, 1)), Hold::Free);
    let mut web = rolling(1, 0);
    web.pod(200, crashing(3));
    assert_eq!(hold(&web), Hold::Blocked);
    // What is wrong does not keep an old pod from being removed.
    let mut web = rolling(3, 2);
    web.pod(202, crashing(3));
    assert!(next(&web).contains("can be removed"), "{}", next(&web));
    assert_eq!(hold(&web), Hold::Free);
    let mut web = Web::made(3).at(2_000);
    web.pod(100, crashing(3));
    assert_eq!(hold(&web), Hold::Blocked);
    // A fault of a pod that is asked for, with nothing to roll: there is no next step.
    let mut web = Web::live(3).at(60_000);
    web.pod(100, crashing(3));
    web.report();
    assert_eq!(hold(&web), Hold::Free);
    // Old pods that were let go of count until they are asked to go.
    let mut web = rolling(2, 1);
    web.set(2, |set| set.now.counts.desired = 2);
    assert_eq!(
        (next(&web), hold(&web)),
        ("The ReplicaSet controller removes 1 pod; 1 new pod can be added.".into(), Hold::Free)
    );
    assert_eq!([Tone::Ok, Tone::Busy, Tone::Bad, Tone::Quiet].map(Tone::name), ["ok", "busy", "bad", "quiet"]);
}

#[test]
fn more_than_the_ceiling_is_said_with_its_reason() {
    let mut web = rolling(2, 0);
    assert!(web.view().budget.starts_with("5 of at most 5 pods desired"), "{}", web.view().budget);
    // The ceiling is lowered.
    web.now = 30_000;
    budget(&mut web, 1, 0);
    assert!(
        web.view().budget.starts_with("5 pods desired, above the ceiling of 4 since it was lowered"),
        "{}",
        web.view().budget
    );
    // What was raised in that very moment was raised by what was allowed before.
    let mut at_once = rolling(2, 0).at(30_000);
    budget(&mut at_once, 1, 0);
    at_once.set(SECOND, |set| (set.now.counts.desired, set.now.max_replicas) = (3, Some(4)));
    assert!(
        at_once.view().budget.starts_with("6 pods desired, above the ceiling of 4 since it was lowered"),
        "{}",
        at_once.view().budget
    );
    // Somebody raises a ReplicaSet since then: that is why.
    web.now = 31_000;
    for number in [2, SECOND] {
        web.set(number, |set| set.now.max_replicas = Some(4));
    }
    web.set(SECOND, |set| set.now.counts.desired = 3);
    assert!(web.view().budget.starts_with("6 pods desired, above the ceiling of 4 (ceiling"), "{}", web.view().budget);
    // The ReplicaSets were given what a change that is not seen yet allows.
    web.set(SECOND, |set| set.now.max_replicas = Some(6));
    assert!(web.view().budget.starts_with("6 pods desired (ceiling 4"), "{}", web.view().budget);
}

#[test]
fn another_deployment_of_the_name_is_spoken_of() {
    let mut web = Web::live(1).at(60_000);
    assert_eq!((web.view().notice, web.view().is_succeeded), (String::new(), false));
    web.delete_deployment();
    let other = |number: u128, name: &str, namespace: &str| {
        let mut other = crate::made::deployment();
        other.meta = crate::made::meta(number, name, None);
        other.meta.namespace = namespace.into();
        other.meta.created_at_millis = 62_000;
        timeline::Fact::Deployment(Box::new(other), timeline::fact::Seen::Added)
    };
    web.timeline.apply(62_500, other(70, "api", "shop"));
    web.timeline.apply(62_500, other(71, "web", "edge"));
    assert_eq!(web.view().notice, "");
    web.timeline.apply(62_500, other(72, "web", "shop"));
    assert!(web.view().is_succeeded && !web.view().notice.is_empty());
    let now = timeline::view::Now { millis: 63_000, skew_millis: 0 };
    let new = timeline::view::view(web.timeline.model(), timeline::Uid::from_bits(72), now).unwrap();
    insta::assert_snapshot!(format!("{}\n{}", web.view().notice, new.notice));
    assert!(!new.is_succeeded);
}

#[test]
fn figures_show_a_deadline_only_where_it_can_strike() {
    // Everything is available, and the controller has not reported it yet.
    let mut web = Web::replacing().at(30_000);
    web.set(2, |set| set.now.counts.desired = 0);
    web.set(SECOND, |set| set.now.counts.desired = 3);
    for pod in [100, 101, 102] {
        web.delete_pod(pod);
    }
    for pod in [200, 201, 202] {
        web.add_ready_pod(pod, SECOND);
    }
    web.deployment(|deployment| {
        deployment.status.progressing = Some(condition(ConditionStatus::True, "ReplicaSetUpdated", ""));
    });
    let view = web.view();
    assert_eq!((view.verdict.badge.as_str(), view.deadline_millis), ("Finishing", None), "{view:?}");
    assert!(!view.next.contains("by 0"), "{}", view.next);
}

#[test]
fn nothing_is_new_from_an_edit_until_its_replica_set_is_there() {
    let mut web = Web::live(3).at(20_000);
    web.edit("v2");
    web.deployment(|deployment| {
        deployment.status.observed_generation = deployment.generation;
        deployment.status.updated = 0;
    });
    let view = web.view();
    assert_eq!((view.counts.available, view.counts.new_available), (3, 0));
    assert_eq!(view.verdict.sentence, "The template changed: 3 of 3 pods available.");
    // Paused, its pods are still those of the revision that is named.
    web.deployment(|deployment| deployment.spec.paused = true);
    assert_eq!(web.view().verdict.sentence, "Paused: 3 of 3 pods of revision 1 available.");
    assert_eq!(web.view().counts.new_available, 3);
    web.deployment(|deployment| deployment.spec.replicas = 0);
    assert_eq!(web.view().verdict.sentence, "Paused: 3 pods of revision 1 available.");
}
