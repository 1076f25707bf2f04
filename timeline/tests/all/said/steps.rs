//! Steps and scaling, as the story tells them: what is one entry, what is folded, and by which ceiling it was made.

use crate::made::{self, SECOND, WEB, Web, image, next_revision, set, unready};
use crate::said::stuck::rolling_update;
use crate::said::told::since;
use timeline::fact::{DeploymentNow, IntOrPercent, Seen, Strategy};
use timeline::story::LineKind;
use timeline::{Fact, Millis};

#[test]
fn steps_of_one_instant_are_one_and_later_ones_are_not() {
    let steps = |after: Millis| {
        let mut web = Web::replacing().at(30_000);
        web.set(SECOND, |set| set.now.counts.desired = 2);
        web.wait(after).set(2, |set| set.now.counts.desired = 2);
        since(&web, 30_000).len()
    };
    assert_eq!([steps(0), steps(60), steps(61)], [1, 1, 2]);
    // Up and down again is not one step, nor is one that begins elsewhere.
    let mut web = Web::replacing().at(30_000);
    web.set(SECOND, |set| set.now.counts.desired = 2);
    web.set(SECOND, |set| set.now.counts.desired = 3);
    web.set(SECOND, |set| set.now.counts.desired = 1);
    assert_eq!(
        since(&web, 30_000),
        [
            "30000 Revision 2 up 1 → 3: 6 in total, above the ceiling of 4: a ReplicaSet was scaled manually.",
            "30000 Revision 2 down 3 → 1: only unavailable pods are removed."
        ]
    );
}

#[test]
fn the_floor_is_named_only_where_it_limits_a_step() {
    let down = |available: u32| {
        let mut web = Web::live(3).at(20_000);
        next_revision(&mut web, 2, [2, 2]);
        web.set(2, |set| set.now.counts.available = available);
        web.wait_until(30_000).set(2, |set| set.now.counts.desired = 1);
        since(&web, 30_000)
    };
    assert_eq!(down(3), ["30000 Revision 1 down 2 → 1: at least 3 must stay available."]);
    assert_eq!(down(2), ["30000 Revision 1 down 2 → 1."]);
    assert_eq!(down(1), ["30000 Revision 1 down 2 → 1: only unavailable pods are removed."]);
}

#[test]
fn a_long_staircase_is_folded_after_two_steps() {
    let mut web = Web::live(6).at(20_000);
    next_revision(&mut web, 2, [1, 6]);
    let mut told = Vec::new();
    for step in 1..6 {
        web.wait(1_000).set(2, |set| set.now.counts.desired = 6 - step);
        web.set(SECOND, |set| set.now.counts.desired = 1 + step);
        told.push(since(&web, 20_500).len());
    }
    assert_eq!(told, [1, 2, 3, 4, 4], "the last one may go on");
    web.wait(1_000).deployment(|deployment| deployment.spec.paused = true);
    assert_eq!(
        since(&web, 20_500),
        [
            "21000 Revision 1 down 6 → 5, revision 2 up 1 → 2: 7 of at most 8, floor 5.",
            "22000 Revision 1 down 5 → 4, revision 2 up 2 → 3: 7 of at most 8, floor 5.",
            "25000 … and so on: revision 2 to 6 and revision 1 to 1, in 3 more steps.",
            "26000 Paused: the rollout of revision 2 takes no further step until it is resumed."
        ]
    );
    // What differs is told on its own.
    web.wait(1_000).set(2, |set| set.now.counts.desired = 0);
    assert_eq!(since(&web, 27_000), ["27000 Revision 1 down 1 → 0: at least 5 must stay available."]);
}

#[test]
fn a_scaling_is_told_with_the_replicas_that_it_is_of_whichever_comes_first() {
    let scaled = |replicas_at: Millis, step_at: Millis| {
        let mut web = Web::live(3);
        let mut facts = [(replicas_at, true), (step_at, false)];
        facts.sort_unstable();
        for (at, is_replicas) in facts {
            web.now = 60_000 + at;
            if is_replicas {
                web.deployment(|deployment| deployment.spec.replicas = 5);
            } else {
                web.set(2, |set| {
                    (set.now.counts.desired, set.now.desired_replicas, set.now.max_replicas) = (5, Some(5), Some(7))
                });
            }
        }
        since(&web, 60_000)
    };
    let together = |at: Millis| vec![format!("{} Scaled 3 → 5 (not a rollout).", 60_000 + at)];
    assert_eq!(scaled(0, 0), together(0));
    assert_eq!(scaled(0, 2_000), together(0));
    assert_eq!(scaled(2_000, 0), together(0));
    assert_eq!(
        scaled(0, 2_001),
        ["60000 Replicas changed 3 → 5 (not a rollout).", "62001 Scaled, not a rollout: revision 1 3 → 5."]
    );
    assert_eq!(
        scaled(2_001, 0),
        ["60000 Scaled, not a rollout: revision 1 3 → 5.", "62001 Replicas changed 3 → 5 (not a rollout)."]
    );
}

#[test]
fn a_scaling_in_the_middle_of_a_rollout_is_told_as_such_whichever_comes_first() {
    // One ReplicaSet takes all of it.
    let scaled = |replicas_at: Millis, step_at: Millis| {
        let mut web = Web::replacing();
        let mut facts = [(replicas_at, true), (step_at, false)];
        facts.sort_unstable();
        for (at, is_replicas) in facts {
            web.now = 30_000 + at;
            if is_replicas {
                web.deployment(|deployment| deployment.spec.replicas = 4);
            } else {
                web.set(2, |set| {
                    (set.now.counts.desired, set.now.desired_replicas, set.now.max_replicas) = (4, Some(4), Some(5))
                });
            }
        }
        since(&web, 30_000)
    };
    let together = ["30000 Scaled 3 → 4 during a rollout: revision 1 +1."];
    assert_eq!(scaled(0, 500), together);
    assert_eq!(scaled(500, 0), together);
    assert_eq!(scaled(2_001, 0)[0], "30000 Scaled during a rollout: revision 1 +1.");
    // Both do.
    let mut web = Web::replacing().at(30_000);
    for (number, desired) in [(2, 4), (SECOND, 2)] {
        web.set(number, |set| {
            (set.now.counts.desired, set.now.desired_replicas, set.now.max_replicas) = (desired, Some(5), Some(7))
        });
    }
    assert_eq!(since(&web, 30_000), ["30000 Scaled during a rollout: revision 1 +1, revision 2 +1, in proportion."]);
    // What is left beyond the new size goes a moment later.
    let mut web = Web::live(4).at(20_000);
    next_revision(&mut web, 2, [4, 1]);
    web.wait_until(30_000).edit_spec(|deployment| deployment.spec.replicas = 1);
    for (number, desired) in [(SECOND, 2), (2, 0), (SECOND, 1)] {
        web.wait(10).set(number, |set| {
            (set.now.counts.desired, set.now.desired_replicas, set.now.max_replicas) = (desired, Some(1), Some(2))
        });
    }
    let told = ["30000 Scaled 4 → 1 during a rollout: revision 2 −3, revision 1 −1, in proportion."];
    assert_eq!(since(&web, 30_000), told);
}

#[test]
fn a_scaling_is_not_told_as_no_rollout_while_one_may_be_open_that_was_there_when_watching_began() {
    let told = |web: &Web, number: u128| {
        let told = |is_seen: bool| {
            let mut late = web.first_listed();
            late.wait_until(70_000);
            if is_seen {
                late.deployment(|deployment| deployment.spec.replicas = 5);
            }
            late.set(number, |set| {
                (set.now.counts.desired, set.now.desired_replicas, set.now.max_replicas) = (5, Some(5), Some(7));
            });
            since(&late, 70_000)
        };
        [told(true), told(false)].concat()
    };
    let replicas = |web: &Web| {
        let mut late = web.first_listed();
        late.wait_until(70_000).deployment(|deployment| deployment.spec.replicas = 5);
        since(&late, 70_000)
    };
    // Revision 1 has no pods any more, and revision 2 has none that is available.
    let mut web = Web::live(3).at(20_000);
    web.take_over(unready);
    web.report();
    assert_eq!(told(&web, SECOND), ["70000 Scaled 3 → 5.", "70000 Scaled: revision 2 3 → 5."]);
    assert_eq!(replicas(&web), ["70000 Replicas changed 3 → 5."]);
    let mut web = Web::live(3).at(60_000);
    let at_rest = ["70000 Scaled 3 → 5 (not a rollout).", "70000 Scaled, not a rollout: revision 1 3 → 5."];
    assert_eq!(told(&web, 2), at_rest);
    // It lost a pod, which is no rollout.
    web.pod(100, unready);
    web.report();
    assert_eq!(told(&web, 2), at_rest);
    assert_eq!(replicas(&web), ["70000 Replicas changed 3 → 5 (not a rollout)."]);
}

/// One edit may change the template, too; the Deployment controller makes the ReplicaSet a moment later.
#[test]
fn a_scaling_is_not_told_as_no_rollout_where_one_starts_a_moment_later() {
    let told = |millis: Millis| {
        let mut web = Web::live(3).at(20_000);
        web.edit_spec(|deployment| (deployment.spec.replicas, deployment.spec.images) = (4, image("v2")));
        web.wait(millis);
        next_revision(&mut web, 2, [1, 3]);
        since(&web, 20_000)[0].clone()
    };
    assert_eq!(told(30), "20000 Replicas changed 3 → 4.");
    assert_eq!(told(1_000), "20000 Replicas changed 3 → 4.");
    assert_eq!(told(1_001), "20000 Replicas changed 3 → 4 (not a rollout).");
}

#[test]
fn from_zero_and_back_is_no_rollout() {
    let mut web = Web::live(2).at(60_000);
    web.scale(2, 0);
    for pod in 100..102 {
        web.kill_pod(pod);
        web.delete_pod(pod);
    }
    web.report();
    web.wait_until(80_000).scale(2, 2);
    assert_eq!(since(&web, 60_000), ["60000 Scaled 2 → 0 (not a rollout).", "80000 Scaled 0 → 2 (not a rollout)."]);
}

#[test]
fn a_step_is_told_with_the_ceiling_that_it_was_made_by() {
    // The ReplicaSets say the new size before their Deployment is seen: up to seven.
    let mut web = Web::replacing().at(30_000);
    for (number, desired) in [(2, 5), (SECOND, 1)] {
        web.set(number, |set| {
            set.now.counts.desired = desired;
            (set.now.desired_replicas, set.now.max_replicas) = (Some(5), Some(7));
        });
    }
    web.wait_until(31_000).set(SECOND, |set| set.now.counts.desired = 2);
    assert_eq!(since(&web, 31_000), ["31000 Revision 2 up 1 → 2: 7 of at most 7."]);
    // More than that: by a ceiling that came with the step it is one of the controller's, and by an old one it is not.
    let over = |max: u32| {
        let mut web = Web::replacing().at(30_000);
        web.deployment(|deployment| deployment.spec.strategy = rolling_update(2, 0));
        web.wait_until(31_000).set(SECOND, |set| (set.now.counts.desired, set.now.max_replicas) = (4, Some(max)));
        since(&web, 31_000)
    };
    assert_eq!(
        over(4),
        ["31000 Revision 2 up 1 → 4: 7 in total, above the ceiling of 5: a ReplicaSet was scaled manually."]
    );
    assert_eq!(
        over(6),
        ["31000 Revision 2 up 1 → 4: 7 in total, above the ceiling of 6: a ReplicaSet was scaled manually."]
    );
}

#[test]
fn a_rollout_starts_with_its_first_step_where_that_came_before() {
    let starts = |after: Millis, is_step: bool| {
        let mut web = Web::live(3).at(20_000);
        if is_step {
            web.edit("v2");
            web.add_set(SECOND, set(SECOND, 2, 1, 0));
        } else {
            web.deployment(|deployment| deployment.spec.paused = true);
            web.add_set(SECOND, set(SECOND, 2, 0, 0));
        }
        web.wait(after).deployment(|deployment| deployment.revision = Some(2));
        since(&web, 20_000).into_iter().find(|line| line.contains("Revision 2 starts")).unwrap()
    };
    assert_eq!(starts(1_000, true), "20000 Revision 2 starts: image web:v2.");
    assert_eq!(starts(5_000, true), "20000 Revision 2 starts: image web:v2.");
    assert_eq!(starts(50, false), "20050 Revision 2 starts: the template changed, with the same image web:v1.");
    // A ReplicaSet that kept its number in between had other steps in an earlier rollout.
    let starts_again = |after: Millis| {
        let mut web = Web::reported().at(60_000);
        web.delete_set(SECOND);
        web.edit("v1");
        web.set(2, |set| set.now.counts.desired = 3);
        web.wait(after).deployment(|deployment| deployment.revision = Some(1));
        since(&web, 20_001).into_iter().find(|line| line.contains("Revision 1 starts")).unwrap()
    };
    assert_eq!(starts_again(1_000), "60000 Revision 1 starts: image web:v1.");
    assert_eq!(starts_again(1_001), "61001 Revision 1 starts: image web:v1.");
}

/// The controller counts on from the highest number that is left, which an earlier ReplicaSet had.
#[test]
fn a_rollout_starts_with_the_first_step_of_its_own_replica_set() {
    let mut web = Web::replacing().at(30_000);
    web.delete_set(2);
    web.wait(100).set(SECOND, |set| set.now.counts.desired = 3);
    web.wait(600).delete_set(SECOND);
    let mut again = set(4, 1, 3, 0);
    (again.meta.name, again.template_hash, again.images) = ("web-2".into(), "2".into(), image("v2"));
    web.wait(50).add_set(4, again);
    web.wait(50).deployment(|deployment| deployment.revision = Some(1));
    assert_eq!(
        since(&web, 30_000),
        [
            "30000 ReplicaSet 1 was deleted, not by its Deployment.",
            "30100 Revision 2 up 1 → 3: 3 of at most 4.",
            "30700 ReplicaSet 2 was deleted, not by its Deployment, created again at once.",
            "30750 Revision 1 (was 2): its ReplicaSet was deleted and created again; image web:v2.",
            "30750 Revision 1 up 0 → 3: 3 of at most 4."
        ]
    );
}

#[test]
fn a_rollback_stands_before_its_first_step_where_that_takes_old_pods_down() {
    let mut web = Web::reported().at(60_000);
    web.edit_spec(|deployment| (deployment.spec.strategy, deployment.spec.images) = (Strategy::Recreate, image("v1")));
    web.set(2, |set| set.revision = Some(3));
    web.wait(10).set(SECOND, |set| set.now.counts.desired = 0);
    web.wait(40).deployment(|deployment| deployment.revision = Some(3));
    let told = since(&web, 60_001);
    assert_eq!(told[0], "60010 Rolled back to revision 1, now 3: image web:v1.");
    assert!(told[1].starts_with("60010 Revision 2 down 3 → 0"), "{told:#?}");
}

#[test]
fn edits_that_decide_how_the_controller_rolls_out_are_told() {
    let rolling = |max_surge, max_unavailable| Strategy::RollingUpdate { max_surge, max_unavailable };
    let (one, none, half) = (IntOrPercent::Int(1), IntOrPercent::Int(0), IntOrPercent::Percent(50));
    let mut web = Web::live(3).at(60_000);
    for strategy in
        [rolling(one, IntOrPercent::Percent(25)), rolling(half, none), Strategy::Recreate, rolling(one, none)]
    {
        web.wait(1_000).edit_spec(|deployment| deployment.spec.strategy = strategy);
    }
    web.wait(1_000).edit_spec(|deployment| {
        (deployment.spec.min_ready_seconds, deployment.spec.progress_deadline_seconds) = (30, None);
    });
    web.report();
    let told = [
        "Strategy changed: maxSurge 25 % → 1.",
        "Strategy changed: maxSurge 1 → 50 %, maxUnavailable 25 % → 0.",
        "Strategy changed: RollingUpdate (maxSurge 50 %, maxUnavailable 0) → Recreate.",
        "Strategy changed: Recreate → RollingUpdate (maxSurge 1, maxUnavailable 0).",
        "minReadySeconds changed 0 → 30.",
        "progressDeadlineSeconds changed 600 → none.",
    ];
    assert_eq!(web.lines(LineKind::Outside), told);
}

/// The streams of Deployments and ReplicaSets overtake each other.
#[test]
fn what_made_a_step_stands_before_it_and_what_came_of_it_after_it() {
    let mut web = Web::live(3).at(30_000);
    web.edit_spec(|deployment| deployment.spec.paused = true);
    web.wait_until(40_000).edit("v2");
    web.wait_until(60_000).add_set(SECOND, set(SECOND, 2, 1, 0));
    web.wait(5).edit_spec(|deployment| deployment.spec.paused = false);
    web.deployment(|deployment| deployment.revision = Some(2));
    assert_eq!(
        since(&web, 59_999),
        ["59999 Resumed.", "60000 Revision 2 starts: image web:v2.", "60000 Revision 2 up 0 → 1: 4 of at most 4."]
    );
    // In one instant, too.
    let mut web = Web::replacing().at(30_000);
    web.edit_spec(|deployment| {
        let (max_surge, max_unavailable) = (IntOrPercent::Int(3), IntOrPercent::Percent(25));
        deployment.spec.strategy = Strategy::RollingUpdate { max_surge, max_unavailable };
    });
    web.set(SECOND, |set| (set.now.counts.desired, set.now.max_replicas) = (3, Some(6)));
    assert_eq!(
        since(&web, 30_000),
        ["30000 Strategy changed: maxSurge 25 % → 3.", "30000 Revision 2 up 1 → 3: 6 of at most 6."]
    );
    let mut web = Web::live(3).at(20_000);
    next_revision(&mut web, 2, [3, 1]);
    (100..102).for_each(|pod| web.delete_pod(pod));
    (200..203).for_each(|pod| web.add_ready_pod(pod, SECOND));
    web.report();
    web.wait_until(30_000).deployment(|deployment| deployment.status.replicas = 3);
    web.wait(8).set(2, |set| set.now.counts.desired = 0);
    assert_eq!(
        since(&web, 30_000),
        ["30008 Revision 1 down 1 → 0: at least 3 must stay available.", "30008 Revision 2 is complete after 10 s."]
    );
}

/// A step has version 20, and the edit arrives so much later.
#[test]
fn an_edit_stands_before_a_step_of_a_later_version_that_arrived_before_it() {
    let step = |web: &mut Web| {
        web.set(2, |set| {
            (set.meta.version, set.now.counts.desired, set.now.max_replicas) = (Some(20), 0, Some(3));
        });
    };
    let edit = |web: &mut Web, version: Option<u64>, change: fn(&mut DeploymentNow)| {
        let mut fact = made::deployment();
        (fact.meta.version, fact.now) = (version, web.timeline.model().deployments.get(&WEB).unwrap().now.clone());
        fact.now.generation += 1;
        change(&mut fact.now);
        web.timeline.apply(web.now, Fact::Deployment(Box::new(fact), Seen::Modified));
    };
    let told = |after: Millis, version: Option<u64>, change: fn(&mut DeploymentNow)| {
        let mut web = Web::replacing().at(40_000);
        step(&mut web);
        edit(web.wait(after), version, change);
        since(&web, 39_999)
    };
    let recreate: fn(&mut DeploymentNow) = |deployment| deployment.spec.strategy = Strategy::Recreate;
    let min_ready: fn(&mut DeploymentNow) = |deployment| deployment.spec.min_ready_seconds = 40;
    let replicas: fn(&mut DeploymentNow) = |deployment| deployment.spec.replicas = 5;
    let pause: fn(&mut DeploymentNow) = |deployment| deployment.spec.paused = true;
    // What is left is below the floor: that is no reason.
    let down = "40000 Revision 1 down 3 → 0.".to_owned();
    let strategy = "Strategy changed: RollingUpdate (maxSurge 25 %, maxUnavailable 25 %) → Recreate.";
    for (change, said) in [
        (recreate, strategy),
        (min_ready, "minReadySeconds changed 0 → 40."),
        (replicas, "Replicas changed 3 → 5 during a rollout."),
        (pause, "Paused: the rollout of revision 2 takes no further step until it is resumed."),
    ] {
        assert_eq!(told(25, Some(19), change), [format!("39999 {said}"), down.clone()]);
        assert_eq!(told(999, Some(19), change), [format!("39999 {said}"), down.clone()]);
        assert_eq!(told(1_000, Some(19), change), [down.clone(), format!("41000 {said}")]);
        for version in [Some(21), None] {
            assert_eq!(told(25, version, change), [down.clone(), format!("40025 {said}")]);
        }
    }
    // In one instant.
    for (change, said) in [(recreate, "Strategy"), (min_ready, "minReadySeconds"), (replicas, "Replicas")] {
        let mut web = Web::replacing().at(40_000);
        edit(&mut web, None, change);
        step(&mut web);
        let told = since(&web, 40_000);
        assert!(told.len() == 2 && told[0].starts_with(&format!("40000 {said} changed")), "{told:#?}");
    }
}
