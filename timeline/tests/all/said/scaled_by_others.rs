//! ReplicaSets that somebody else scales, not the Deployment that they belong to, as the story tells it.

use crate::made::{SECOND, Web, image, next_revision, set};
use crate::said::stuck::rolling_update;
use crate::said::told::since;
use timeline::fact::{IntOrPercent, ReplicaSetFact, Seen, Strategy};
use timeline::{Fact, Millis};

#[test]
fn a_replica_set_that_somebody_else_scales_is_no_step_of_its_deployment() {
    for (web, steps, desired_replicas) in [
        (Web::live(3), [3, 1, 3], None),
        (Web::live(3), [3, 4, 3], None),
        (Web::reported(), [0, 1, 0], None),
        // It may then say another number of replicas of the Deployment.
        (Web::reported(), [0, 2, 0], Some(4)),
    ] {
        let (mut web, [before, scaled, back]) = (web.at(60_000), steps);
        web.set(2, |set| set.now.counts.desired = scaled);
        web.wait(100).set(2, |set| {
            set.now.counts.desired = back;
            set.now.desired_replicas = desired_replicas.or(set.now.desired_replicas);
        });
        let told = [
            format!("60000 The ReplicaSet of revision 1 was scaled {before} → {scaled}, not by its Deployment."),
            format!("60100 The Deployment controller scaled the ReplicaSet of revision 1 back {scaled} → {back}."),
        ];
        assert_eq!(since(&web, 60_000), told);
    }
    let mut web = Web::replaced().at(60_000);
    web.set(SECOND, |set| set.now.counts.desired = 2);
    assert_eq!(since(&web, 60_000), ["60000 The ReplicaSet of revision 2 was scaled 3 → 2, not by its Deployment."]);
    // Beside a later revision, or with pods of an older one, it may be a step; to none it may be Recreate.
    let step = |mut web: Web, set: u128, desired: u32| {
        web.set(set, |set| set.now.counts.desired = desired);
        since(&web, 60_000)
    };
    let floor = "at least 3 must stay available.";
    assert_eq!(step(Web::replacing().at(60_000), 2, 2), [format!("60000 Revision 1 down 3 → 2: {floor}")]);
    assert_eq!(step(Web::live(3).at(60_000), 2, 0), ["60000 Revision 1 down 3 → 0."]);
}

#[test]
fn an_older_replica_set_that_somebody_scales_up_during_a_rollout_is_scaled_back() {
    let mut web = Web::reported().at(60_000);
    next_revision(&mut web, 3, [1, 3]);
    web.wait_until(70_000).set(2, |set| set.now.counts.desired = 2);
    web.wait(100).set(2, |set| set.now.counts.desired = 1);
    web.wait(100).set(2, |set| set.now.counts.desired = 0);
    assert_eq!(
        since(&web, 70_000),
        [
            "70000 The ReplicaSet of revision 1 was scaled 0 → 2, not by its Deployment.",
            "70100 The Deployment controller scaled the ReplicaSet of revision 1 back 2 → 1.",
            "70200 The Deployment controller scaled the ReplicaSet of revision 1 back 1 → 0."
        ]
    );
    // The one before went up in its own rollout, and goes down in the next one.
    web.wait(100).set(SECOND, |set| set.now.counts.desired = 2);
    assert_eq!(since(&web, 70_300), ["70300 Revision 2 down 3 → 2: at least 3 must stay available."]);
    let mut web = Web::replacing().at(30_000);
    next_revision(&mut web, 3, [1, 1]);
    web.wait(100).set(SECOND, |set| set.now.counts.desired = 0);
    assert_eq!(since(&web, 30_100), ["30100 Revision 2 down 1 → 0: only unavailable pods are removed."]);
}

#[test]
fn an_older_replica_set_that_somebody_raises_in_the_middle_of_a_rollout_is_scaled_back() {
    let raised = |old: u32, new: u32, steps: &[u32]| {
        let mut web = Web::live(3).at(20_000);
        next_revision(&mut web, 2, [new, old]);
        web.wait_until(30_000);
        for desired in steps {
            web.set(2, |set| set.now.counts.desired = *desired);
            web.wait(100);
        }
        since(&web, 30_000)
    };
    let up = "30000 The ReplicaSet of revision 1 was scaled 3 → 5, not by its Deployment.";
    assert_eq!(
        raised(3, 1, &[5, 4, 3, 2]),
        [
            up,
            "30100 The Deployment controller scaled the ReplicaSet of revision 1 back 5 → 4.",
            "30200 The Deployment controller scaled the ReplicaSet of revision 1 back 4 → 3.",
            "30300 Revision 1 down 3 → 2: at least 3 must stay available."
        ]
    );
    // It is raised twice.
    assert_eq!(
        raised(3, 1, &[5, 6, 3]),
        [
            up,
            "30100 The ReplicaSet of revision 1 was scaled 5 → 6, not by its Deployment.",
            "30200 The Deployment controller scaled the ReplicaSet of revision 1 back 6 → 3."
        ]
    );
    // With more than that, the rollout goes on.
    assert_eq!(raised(3, 1, &[5, 2]), [up, "30100 Revision 1 down 5 → 2: at least 3 must stay available."]);
    // Also where the ceiling has room for it.
    let room = ["30000 The ReplicaSet of revision 1 was scaled 1 → 2, not by its Deployment."];
    assert_eq!(raised(1, 1, &[2]), room);
    assert_eq!(raised(1, 2, &[2]), room);
    // In a pause the controller fills up the largest one.
    assert_eq!(raised(2, 1, &[3]), ["30000 Revision 1 up 2 → 3: 4 of at most 4."]);
}

/// Revision 1 became revision 3 in a gap, and the next one came, which an earlier page of the list shows.
#[test]
fn a_rollback_that_pages_of_a_list_show_after_the_next_revision_is_not_scaled_back() {
    let mut web = Web::reported().at(60_000);
    let next = set(4, 4, 1, 0);
    let listed_first = next.clone();
    web.unseen(|deployment, sets| {
        (deployment.generation, deployment.revision) = (deployment.generation + 2, Some(4));
        (deployment.spec.images, deployment.status.observed_generation) = (image("v4"), deployment.generation);
        let first = sets.get_mut(&2).unwrap();
        (first.revision, first.now.counts.desired) = (Some(3), 2);
        sets.get_mut(&SECOND).unwrap().now.counts.desired = 0;
        sets.insert(4, next);
    });
    web.timeline.apply(60_000, Fact::ReplicaSet(Box::new(listed_first), Seen::InList));
    web.wait(300).relisted(30_000);
    web.wait_until(70_000).set(2, |set| set.now.counts.desired = 1);
    let told = since(&web, 70_000);
    assert!(told[0].starts_with("70000 Revision 3 down 2 → 1: "), "{told:#?}");
}

#[test]
fn a_replica_set_that_is_scaled_against_its_rollout_is_scaled_by_somebody_else() {
    // The one before, at rest.
    let up = |change: fn(&mut ReplicaSetFact)| {
        let mut web = Web::reported().at(60_000);
        web.set(2, |set| {
            set.now.counts.desired = 1;
            change(set);
        });
        since(&web, 60_000).into_iter().find(|line| line.contains("0 → 1")).unwrap()
    };
    assert_eq!(up(|_| {}), "60000 The ReplicaSet of revision 1 was scaled 0 → 1, not by its Deployment.");
    // It is rolled back to, or up to another ceiling.
    assert_eq!(up(|set| set.revision = Some(3)), "60000 Revision 3 up 0 → 1: 4 of at most 4.");
    assert_eq!(up(|set| set.now.max_replicas = Some(5)), "60000 Revision 1 up 0 → 1: 4 of at most 5.");
    // The new one, in the middle of a rollout.
    let down = |old: u32, to: u32| {
        let mut web = Web::live(3).at(20_000);
        next_revision(&mut web, 2, [2, old]);
        web.wait_until(30_000).set(SECOND, |set| set.now.counts.desired = to);
        since(&web, 30_000).swap_remove(0)
    };
    let said = "30000 The ReplicaSet of revision 2 was scaled 2 → 1, not by its Deployment.";
    assert_eq!(down(2, 1), said);
    assert_eq!(down(1, 1), said);
    // More than the ceiling may be taken down in proportion, and all of it by Recreate.
    assert!(down(3, 1).starts_with("30000 Revision 2 down 2 → 1"), "{}", down(3, 1));
    assert!(down(2, 0).starts_with("30000 Revision 2 down 2 → 0"), "{}", down(2, 0));
}

#[test]
fn a_replica_set_that_is_scaled_below_the_floor_is_scaled_by_somebody_else() {
    let steps = |is_paused: bool, left: u32, max: u32| {
        let mut web = Web::replacing().at(30_000);
        web.deployment(|deployment| deployment.spec.paused = is_paused);
        web.wait_until(40_000).set(2, |set| (set.now.counts.desired, set.now.max_replicas) = (left, Some(max)));
        web.wait_until(40_010).set(SECOND, |set| set.now.counts.desired = 3 - left);
        since(&web, 40_000)
    };
    for is_paused in [false, true] {
        assert_eq!(
            steps(is_paused, 0, 4),
            [
                "40000 The ReplicaSet of revision 1 was scaled 3 → 0, not by its Deployment.",
                "40010 Revision 2 up 1 → 3: 3 of at most 4."
            ]
        );
        assert_eq!(
            steps(is_paused, 1, 4),
            [
                "40000 The ReplicaSet of revision 1 was scaled 3 → 1, not by its Deployment.",
                "40010 Revision 2 up 1 → 2: 3 of at most 4."
            ]
        );
        // It may have another strategy.
        let rolled = ["40000 Revision 1 down 3 → 0, revision 2 up 1 → 3: 3 of at most 4, floor 3."];
        assert_eq!(steps(is_paused, 0, 3), rolled);
        // As far as the floor a step may be one of the controller's, whose resumption is seen later.
        assert_eq!(steps(is_paused, 2, 4), ["40000 Revision 1 down 3 → 2: at least 3 must stay available."]);
    }
}

/// Streams overtake each other, and the controller acts on what it has seen.
#[test]
fn a_step_below_the_floor_may_be_of_another_spec() {
    let step = |before: fn(&mut Web)| {
        let mut web = Web::replacing().at(30_000);
        before(&mut web);
        web.wait_until(40_000).set(2, |set| set.now.counts.desired = 0);
        since(&web, 40_000)
    };
    let by_another = ["40000 The ReplicaSet of revision 1 was scaled 3 → 0, not by its Deployment."];
    assert_eq!(step(|_| {}), by_another);
    let rolled = ["40000 Revision 1 down 3 → 0."];
    // The floor was a lower one until a moment ago.
    let half = Strategy::RollingUpdate { max_surge: IntOrPercent::Int(1), max_unavailable: IntOrPercent::Percent(50) };
    let risen = |at: Millis| {
        let mut web = Web::replacing().at(30_000);
        web.deployment(|deployment| deployment.spec.strategy = half);
        web.wait_until(at).deployment(|deployment| deployment.spec.strategy = rolling_update(1, 0));
        web.wait_until(40_000).set(2, |set| set.now.counts.desired = 0);
        since(&web, 40_000)
    };
    assert_eq!(risen(39_000), rolled);
    assert_eq!(risen(38_999), by_another);
    // The controller has not seen the spec, or the ReplicaSet has another ceiling or other replicas.
    assert_eq!(step(|web| web.edit_spec(|_| {})), rolled);
    assert_eq!(step(|web| web.set(2, |set| set.now.max_replicas = Some(5))), rolled);
    assert_eq!(step(|web| web.set(2, |set| set.now.desired_replicas = Some(2))), rolled);
    // Another ReplicaSet still has available pods that it does not ask for, or the floor was not kept before.
    assert_eq!(step(|web| web.set(SECOND, |set| set.now.counts.available = 2)), rolled);
    let below = step(|web| web.set(2, |set| set.now.counts.desired = 1));
    assert_eq!(below, ["40000 Revision 1 down 1 → 0."]);
    // The edit that lowers the floor is seen after it.
    let lowered = |at: Millis| {
        let mut web = Web::replacing().at(40_000);
        web.set(2, |set| set.now.counts.desired = 0);
        web.wait_until(at).edit_spec(|deployment| {
            let (max_surge, max_unavailable) = (IntOrPercent::Percent(25), IntOrPercent::Percent(100));
            deployment.spec.strategy = Strategy::RollingUpdate { max_surge, max_unavailable };
        });
        since(&web, 40_000)
    };
    let edited = |at: Millis| format!("{at} Strategy changed: maxUnavailable 25 % → 100 %.");
    let all = "40000 Revision 1 down 3 → 0: all can be removed.".to_owned();
    assert_eq!(lowered(40_999), [all, edited(40_999)]);
    assert_eq!(lowered(41_000), [by_another[0].to_owned(), edited(41_000)]);
}

/// Nothing is taken down for a paused Deployment while its last revision lacks a pod and all have room below the ceiling.
#[test]
fn a_replica_set_that_is_scaled_up_and_down_during_a_pause_is_scaled_by_somebody_else() {
    let down = |raised: u32, available: u32, paused_millis: Millis, resumed_millis: Millis| {
        let mut web = Web::reported().at(40_000);
        web.set(SECOND, |set| set.now.counts.available = available);
        web.set(2, |set| set.now.counts.desired = raised);
        web.wait_until(paused_millis).deployment(|deployment| deployment.spec.paused = true);
        web.wait_until(60_000).set(2, |set| set.now.counts.desired = 0);
        web.wait_until(resumed_millis).deployment(|deployment| deployment.spec.paused = false);
        since(&web, 59_999)
    };
    let left = ["60000 The ReplicaSet of revision 1 was scaled 1 → 0, not by its Deployment.", "70000 Resumed."];
    assert_eq!(down(1, 2, 50_000, 70_000), left);
    let back = "60000 The Deployment controller scaled the ReplicaSet of revision 1 back 1 → 0.";
    assert_eq!(down(1, 3, 50_000, 70_000), [back, "70000 Resumed."]);
    assert_eq!(down(2, 2, 50_000, 70_000)[0], back.replace("1 → 0", "2 → 0"));
    // The streams of Deployments and ReplicaSets overtake each other.
    assert_eq!(down(1, 2, 59_500, 70_000), [back, "70000 Resumed."]);
    assert_eq!(down(1, 2, 50_000, 60_500), ["59999 Resumed.", back]);
}
