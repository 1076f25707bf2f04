//! Pods and ReplicaSets that go, and what replaces them, as the story tells it.

use crate::made::{Web, ready, set};
use crate::said::told::since;
use timeline::fact::{Phase, PodFact, ReplicaSetFact, Seen};
use timeline::{Fact, Millis};

/// One of two pods is deleted from outside; another one is made so much later, and is available 4 s after the first went.
fn replaced(after: Millis) -> Vec<String> {
    let mut web = Web::live(2).at(60_000);
    web.kill_pod(100);
    web.wait(after).add_pod(102, 2, |_| {});
    web.wait(4_000 - after.min(4_000)).pod(102, ready);
    web.wait_until(70_000).delete_pod(100);
    since(&web, 60_000)
}

#[test]
fn a_replacement_is_one_that_is_made_within_five_seconds() {
    let killed = "60000 Pod p0100 was deleted, not by the rollout; the Deployment stays at revision 1.";
    assert_eq!(
        replaced(0),
        [format!("{killed} Replacement: p0102, available after 4.0 s; the old one drained 6.0 s more.")]
    );
    assert_eq!(
        replaced(5_000),
        [format!("{killed} Replacement: p0102, available after 5.0 s; the old one drained 5.0 s more.")]
    );
    assert_eq!(replaced(5_001).len(), 1);
    assert!(!replaced(5_001)[0].contains("Replacement"), "{:?}", replaced(5_001));
}

#[test]
fn the_object_of_a_pod_stays_where_something_holds_it_after_its_containers_ended() {
    // One of two pods is deleted from outside, its replacement is available after 3.5 s.
    let held = |ended: Millis, gone: Millis| {
        let mut web = Web::live(2).at(60_000);
        web.kill_pod(100);
        web.add_pod(102, 2, |_| {});
        let mut steps = [(ended, 100), (3_500, 102)];
        steps.sort_unstable();
        for (after, number) in steps {
            let end: fn(&mut PodFact) = |pod| pod.phase = Phase::Succeeded;
            web.wait_until(60_000 + after).pod(number, if number == 100 { end } else { ready });
        }
        web.wait_until(60_000 + gone).delete_pod(100);
        let told = since(&web, 60_000).swap_remove(0);
        told.split_once("available after 3.5 s").unwrap().1.to_owned()
    };
    assert_eq!(held(500, 105_500), "; the object of the old one stayed 1 min 42 s more.");
    assert_eq!(held(13_500, 105_500), "; the old one drained 10 s more, and its object stayed 1 min 32 s more.");
    assert_eq!(held(500, 10_501), "; the object of the old one stayed 7.0 s more.");
    assert_eq!(held(500, 10_500), "; the old one drained 7.0 s more.", "volumes take a while");
}

#[test]
fn a_replacement_that_nobody_waits_for_any_longer_is_not_followed() {
    let followed = |gone: Millis, made: Millis, available: Millis| {
        let mut web = Web::live(2).at(60_000);
        web.kill_pod(100);
        web.wait_until(60_000 + gone).delete_pod(100);
        web.wait_until(60_000 + made).add_pod(102, 2, |_| {});
        web.wait_until(60_000 + available).pod(102, ready);
        since(&web, 60_000).swap_remove(0)
    };
    // It may be made up to 5 s after, when the old one is long gone, and be available within an hour.
    assert!(followed(1_000, 5_000, 6_000).contains("Replacement: p0102, available after 6.0 s"));
    assert!(!followed(1_000, 5_001, 6_000).contains("Replacement"));
    assert!(followed(1_000, 2_000, 3_600_000).contains("available after 1 h"), "{}", followed(1_000, 2_000, 3_600_000));
    assert!(!followed(1_000, 2_000, 3_600_001).contains("available after"));
    // That the new one went is not that the old one did.
    let mut web = Web::live(2).at(60_000);
    web.kill_pod(100);
    web.add_pod(102, 2, ready);
    web.wait_until(61_000).delete_pod(102);
    assert!(!since(&web, 60_000)[0].contains("drained"), "{:?}", since(&web, 60_000));
    // Those that nothing replaces are given up, and are not in the way of one that is awaited.
    let mut web = Web::live(40).at(60_000);
    web.kill_pod(100);
    web.add_pod(300, 2, |_| {});
    for pod in 101..135 {
        web.wait(6_000).kill_pod(pod);
        web.delete_pod(pod);
    }
    web.pod(300, ready);
    assert!(since(&web, 60_000)[0].contains("Replacement: p0300, available after"), "{:?}", since(&web, 60_000));
}

#[test]
fn a_replacement_that_goes_while_the_old_pod_drains_says_nothing_of_that_one() {
    let mut web = Web::live(2).at(60_000);
    web.kill_pod(100);
    web.add_pod(102, 2, |_| {});
    web.wait_until(61_000).pod(102, ready);
    web.wait_until(63_000).delete_pod(102);
    assert_eq!(
        since(&web, 60_000)[0],
        "60000 Pod p0100 was deleted, not by the rollout; the Deployment stays at revision 1. Replacement: p0102, available after 1.0 s."
    );
}

#[test]
fn a_replacement_that_is_deleted_before_it_is_available_drains_for_itself() {
    let mut web = Web::live(2).at(60_000);
    web.kill_pod(100);
    web.add_pod(102, 2, |_| {});
    web.wait_until(62_000).kill_pod(102);
    web.add_pod(103, 2, |_| {});
    web.wait_until(64_000).pod(103, ready);
    web.wait_until(70_000).delete_pod(102);
    let deleted = "was deleted, not by the rollout; the Deployment stays at revision 1. Replacement:";
    assert_eq!(
        since(&web, 60_000),
        [
            format!("60000 Pod p0100 {deleted} p0102."),
            format!("62000 Pod p0102 {deleted} p0103, available after 2.0 s; the old one drained 6.0 s more.")
        ]
    );
}

#[test]
fn a_replacement_that_became_available_while_nobody_looked_has_no_time() {
    let mut web = Web::live(2).at(60_000);
    web.kill_pod(100);
    web.wait(1_000).add_pod(102, 2, |_| {});
    web.unseen_pod(102, ready);
    web.wait_until(155_000).relisted(63_000);
    assert_eq!(
        since(&web, 60_000)[0],
        "60000 Pod p0100 was deleted, not by the rollout; the Deployment stays at revision 1. Replacement: p0102."
    );
}

#[test]
fn a_pod_that_was_gone_while_nobody_looked_has_no_time_in_which_it_drained() {
    let mut web = Web::live(2).at(60_000);
    web.kill_pod(100);
    web.wait(1_000).add_pod(102, 2, |_| {});
    web.wait(4_000).pod(102, ready);
    web.lose_pod(100);
    web.wait_until(3_660_000).relisted(66_000);
    let told = "60000 Pod p0100 was deleted, not by the rollout; the Deployment stays at revision 1. Replacement: p0102, available after 5.0 s.";
    assert_eq!(since(&web, 60_000)[0], told);
}

#[test]
fn each_pod_that_is_deleted_has_a_replacement_of_its_own() {
    let mut web = Web::live(2).at(60_000);
    web.kill_pod(100);
    web.kill_pod(101);
    (102..104).for_each(|pod| web.add_pod(pod, 2, |_| {}));
    web.wait_until(61_000).pod(102, ready);
    web.wait_until(62_000).pod(103, ready);
    let told = since(&web, 60_000);
    assert!(
        told[0].contains("Pod p0100") && told[0].contains("Replacement: p0102, available after 1.0 s"),
        "{told:#?}"
    );
    assert!(
        told[1].contains("Pod p0101") && told[1].contains("Replacement: p0103, available after 2.0 s"),
        "{told:#?}"
    );
    // One that a list tells of is not known to be made for it.
    let mut web = Web::live(1).at(60_000);
    web.kill_pod(100);
    let made = crate::made::pod(102, 2, "web-2-p0102");
    web.timeline.apply(60_500, Fact::Pod(Box::new(made), Seen::InList));
    assert!(!since(&web, 60_000)[0].contains("Replacement"));
}

#[test]
fn a_replica_set_that_is_deleted_is_followed_until_something_is_available_again() {
    let deleted = |again_after: Millis, ready_after: Millis| {
        let mut web = Web::live(2);
        let again = ReplicaSetFact { meta: crate::made::meta(12, "web-1", Some(1)), ..web.replica_set(2) };
        web.wait_until(60_000).delete_set(2);
        web.wait(again_after).add_set(12, again);
        (100..102).for_each(|pod| web.kill_pod(pod));
        web.wait_until(60_000 + ready_after).add_ready_pod(102, 12);
        since(&web, 60_000).into_iter().find(|line| line.contains("deleted, not by its Deployment")).unwrap()
    };
    assert_eq!(
        deleted(100, 5_100),
        "60000 ReplicaSet 1 was deleted, not by its Deployment, created again at once; 5.0 s with nothing available."
    );
    assert_eq!(
        deleted(3_000, 5_000),
        "60000 ReplicaSet 1 was deleted, not by its Deployment, created again after 3.0 s; 2.0 s with nothing available."
    );
    assert!(deleted(999, 5_000).contains("created again at once"), "{}", deleted(999, 5_000));
    assert!(deleted(1_000, 5_000).contains("created again after 1.0 s"), "{}", deleted(1_000, 5_000));
    // It goes on while it lasts, however long.
    assert_eq!(
        deleted(100, 90_100),
        "60000 ReplicaSet 1 was deleted, not by its Deployment, created again at once; 1 min 30 s with nothing available."
    );
    let at_once = |after: Millis| {
        let mut web = Web::live(1).at(60_000);
        web.delete_set(2);
        web.wait(after).kill_pod(100);
        web.now += 1_000;
        let again = ReplicaSetFact { meta: crate::made::meta(12, "web-1", Some(1)), ..set(2, 1, 1, 0) };
        web.add_set(12, again);
        web.wait(1_000).add_ready_pod(102, 12);
        since(&web, 60_000).into_iter().find(|line| line.contains("deleted, not by its Deployment")).unwrap()
    };
    // Nothing else happens in between.
    assert_eq!(
        at_once(30_000),
        "60000 ReplicaSet 1 was deleted, not by its Deployment, created again after 31 s; 2.0 s with nothing available."
    );
    assert_eq!(at_once(30_001), "60000 ReplicaSet 1 was deleted, not by its Deployment.");
    // What goes down half a minute later has another cause.
    assert_eq!(
        deleted(30_001, 40_000),
        "60000 ReplicaSet 1 was deleted, not by its Deployment, created again after 30 s."
    );
    assert_eq!(
        deleted(30_000, 40_000),
        "60000 ReplicaSet 1 was deleted, not by its Deployment, created again after 30 s; 10 s with nothing available."
    );
}

#[test]
fn of_a_replica_set_that_was_made_again_while_nobody_looked_its_creation_is_told() {
    let mut web = Web::live(1).at(60_000);
    let mut again = ReplicaSetFact { meta: crate::made::meta(12, "web-1", Some(1)), ..web.replica_set(2) };
    again.meta.created_at_millis = 62_000;
    web.delete_set(2);
    web.kill_pod(100);
    web.lose_pod(100);
    web.unseen(|_, sets| drop(sets.insert(12, again)));
    web.wait_until(3_660_000).relisted(61_000);
    let mut made = crate::made::pod(102, 12, "web-1-p0102");
    ready(&mut made);
    web.timeline.apply(web.now, Fact::Pod(Box::new(made), Seen::InList));
    assert_eq!(web.view().counts.available, 1);
    let told = "60000 ReplicaSet 1 was deleted, not by its Deployment, created again after 2.0 s.";
    assert_eq!(since(&web, 60_000)[0], told);
}

#[test]
fn of_very_many_replica_sets_that_are_deleted_the_last_256_are_followed() {
    let mut web = Web::live(1);
    web.deployment(|deployment| deployment.spec.revision_history_limit = 1_000);
    let old = |number: u128, hash: u64| ReplicaSetFact { revision: None, ..set(number, hash, 0, 0) };
    (100..357).for_each(|hash| web.add_set(1_000 + u128::from(hash), old(1_000 + u128::from(hash), hash)));
    web.wait_until(60_000);
    (1_100..1_357).for_each(|number| web.delete_set(number));
    web.add_set(2_100, old(2_100, 100));
    web.add_set(2_101, old(2_101, 101));
    let told = since(&web, 60_000);
    let again: Vec<&String> = told.iter().filter(|line| line.contains("created again")).collect();
    assert_eq!(again, ["60000 ReplicaSet 101 was deleted, not by its Deployment, created again at once."]);
}
