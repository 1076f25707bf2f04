//! Pods that are missing: which that went are named until others take their places.

use crate::made::{SECOND, Web, meta, ready, unready};
use timeline::Uid;
use timeline::fact::{ReplicaSetCounts, ReplicaSetFact};

fn why(web: &Web) -> String {
    web.view().verdict.why
}

/// A pod has to leave its node.
fn evict(web: &mut Web, number: u128) {
    web.pod(number, |pod| pod.disruption = Some("EvictionByEvictionAPI".into()));
    web.kill_pod(number);
}

#[test]
fn a_pod_that_left_its_node_and_was_replaced_is_not_why_another_one_is_missing() {
    let mut web = Web::live(3).at(60_000);
    web.pod(102, unready);
    web.report();
    evict(web.wait_until(90_000), 100);
    web.add_pod(200, 2, |_| {});
    web.report();
    assert!(why(&web).contains("Pod p0100 evicted from node node-1"), "{}", why(&web));
    web.wait_until(95_000).pod(200, ready);
    web.report();
    assert!(!why(&web).contains("evicted"), "{}", why(&web));
}

#[test]
fn pods_that_left_their_node_are_named_while_their_replacements_are_missing() {
    let mut web = Web::live(3).at(60_000);
    for number in [100, 101] {
        evict(&mut web, number);
        web.add_pod(number + 100, 2, |_| {});
    }
    web.report();
    let evicted = "2 pods evicted from node node-1 (since 00:01:00 UTC).";
    assert_eq!(why(&web), format!("2 of 3 pods are not available; the revision does not change. {evicted}"));
    web.now = 75_000;
    assert!(why(&web).starts_with("2 pods are running but not ready for 15 s."), "{}", why(&web));
    assert!(why(&web).ends_with(evicted), "{}", why(&web));
    [200, 201].into_iter().for_each(|pod| web.pod(pod, ready));
    web.report();
    assert_eq!(why(&web), "2 pods are still terminating.");
    // What is missing later is missing for another reason.
    web.wait_until(80_000).kill_pod(102);
    web.report();
    let killed = "1 of 3 pods is not available; the revision does not change. Pod p0102 deleted (00:01:20 UTC).";
    assert_eq!(why(&web), killed);
}

#[test]
fn pods_that_left_their_node_while_nobody_looked_are_named_without_a_time() {
    let told = |change: fn(&mut Web)| {
        let mut web = Web::live(3).at(60_000);
        for number in [100, 101] {
            web.unseen_pod(number, |pod| {
                pod.disruption = Some("EvictionByEvictionAPI".into());
                pod.deletion_at_millis = Some(80_000);
            });
        }
        web.relisted(30_000);
        (200..202).for_each(|pod| web.add_pod(pod, 2, |_| {}));
        web.wait(1_000);
        change(&mut web);
        web.report();
        why(&web)
    };
    let all = told(|_| {});
    assert!(all.ends_with(" 2 pods evicted from node node-1 (while not observed)."), "{all}");
    // One of them is replaced: it is not told which.
    let part = told(|web| web.pod(200, ready));
    assert!(part.ends_with(" Pods evicted from node node-1 (the last while not observed)."), "{part}");
    // Another one goes while somebody looks.
    let more = told(|web| evict(web, 102));
    assert!(more.ends_with(" 3 pods evicted from node node-1 (the last at 00:01:01 UTC)."), "{more}");
}

#[test]
fn pods_that_somebody_deleted_or_relabelled_are_named_while_their_replacements_are_missing() {
    let mut web = Web::live(6).at(60_000);
    (100..105).for_each(|pod| web.kill_pod(pod));
    web.pod(105, |pod| pod.meta.controller = None);
    web.report();
    let [missing, released] = ["not available; the revision does not change.", "Pod p0105 left its ReplicaSet"];
    let all = format!("6 of 6 pods are {missing} 5 pods deleted (since 00:01:00 UTC). {released} (00:01:00 UTC).");
    assert_eq!(why(&web), all);
    // Those whose replacements are there are not why others are missing.
    web.wait_until(61_000);
    (200..205).for_each(|pod| web.add_ready_pod(pod, 2));
    web.report();
    assert_eq!(why(&web), format!("1 of 6 pods is {missing} Pod p0100 deleted (00:01:00 UTC)."));
    // The labels are back.
    let mut web = Web::live(3).at(60_000);
    web.pod(100, |pod| pod.meta.controller = None);
    web.pod(101, unready);
    web.report();
    assert_eq!(why(&web), format!("2 of 3 pods are {missing} Pod p0100 left its ReplicaSet (00:01:00 UTC)."));
    web.wait_until(62_000).pod(100, |pod| pod.meta.controller = Some(Uid::from_bits(2)));
    web.report();
    assert_eq!(why(&web), format!("1 of 3 pods is {missing}"));
}

#[test]
fn of_several_kinds_of_losses_the_two_with_the_last_ones_are_named() {
    let mut web = Web::live(6).at(60_000);
    web.kill_pod(100);
    web.add_pod(200, 2, unready);
    web.report();
    evict(web.wait(1_000), 101);
    web.add_pod(201, 2, unready);
    web.wait(1_000).pod(102, |pod| pod.meta.controller = None);
    web.add_pod(202, 2, unready);
    web.wait(1_000).kill_pod(103);
    web.add_pod(203, 2, unready);
    web.report();
    let missing = "4 of 6 pods are not available; the revision does not change.";
    let lost = "Pod p0102 left its ReplicaSet (00:01:02 UTC). 2 pods deleted (since 00:01:00 UTC).";
    assert_eq!(why(&web), format!("{missing} {lost}"));
}

#[test]
fn deleted_pods_that_were_never_available_are_not_why_one_is_missing() {
    let mut web = Web::live(3).at(60_000);
    web.kill_pod(100);
    for pod in 200..205 {
        web.add_pod(pod, 2, unready);
        web.kill_pod(pod);
    }
    web.add_pod(205, 2, unready);
    web.report();
    let missing = "1 of 3 pods is not available; the revision does not change.";
    assert_eq!(why(&web), format!("{missing} Pod p0100 deleted (00:01:00 UTC)."));
}

/// The story has no names of the pods that it tells of together.
#[test]
fn pods_that_served_are_why_others_are_missing_also_after_pending_ones_were_deleted() {
    let mut web = Web::live(3).at(60_000);
    web.kill_pod(100);
    for pod in [200, 201] {
        web.add_pod(pod, 2, unready);
        web.kill_pod(pod);
    }
    web.add_pod(202, 2, unready);
    web.report();
    web.wait_until(70_000).pod(202, ready);
    [100, 200, 201].into_iter().for_each(|pod| web.delete_pod(pod));
    web.report();
    web.wait_until(80_000);
    [101, 102, 202].into_iter().for_each(|pod| web.kill_pod(pod));
    (203..206).for_each(|pod| web.add_pod(pod, 2, unready));
    web.report();
    let missing = "3 of 3 pods are not available; the revision does not change.";
    assert_eq!(why(&web), format!("{missing} 3 pods deleted (since 00:01:20 UTC)."));
}

#[test]
fn a_replacement_that_was_available_and_lost_makes_up_for_the_loss_before() {
    let mut web = Web::live(4).at(60_000);
    [100, 101].into_iter().for_each(|pod| web.kill_pod(pod));
    web.add_ready_pod(200, 2);
    web.add_pod(201, 2, unready);
    web.report();
    web.wait_until(70_000);
    [100, 101].into_iter().for_each(|pod| web.delete_pod(pod));
    web.wait_until(90_000);
    [102, 103, 200].into_iter().for_each(|pod| evict(&mut web, pod));
    (202..205).for_each(|pod| web.add_pod(pod, 2, unready));
    [201, 202].into_iter().for_each(|pod| web.pod(pod, ready));
    web.report();
    let missing = "2 of 4 pods are not available; the revision does not change.";
    let evicted = "Pods evicted from node node-1 (the last at 00:01:30 UTC).";
    assert_eq!(why(&web), format!("{missing} {evicted}"));
    // The labels of one changed after it took the place of another.
    let mut web = Web::live(3).at(60_000);
    web.kill_pod(100);
    web.add_ready_pod(200, 2);
    web.wait_until(65_000).pod(200, |pod| pod.meta.controller = None);
    web.add_pod(201, 2, unready);
    web.report();
    let missing = "1 of 3 pods is not available; the revision does not change.";
    assert_eq!(why(&web), format!("{missing} Pod p0200 left its ReplicaSet (00:01:05 UTC)."));
}

#[test]
fn no_more_pods_are_said_to_have_gone_than_are_missing() {
    let mut web = Web::live(3).at(60_000);
    evict(&mut web, 100);
    web.report();
    web.wait_until(61_000).delete_pod(100);
    web.add_ready_pod(200, 2);
    web.report();
    // Complete again, and told in the same line.
    evict(web.wait_until(75_000), 101);
    web.report();
    let missing = "1 of 3 pods is not available; the revision does not change.";
    let evicted = "Pods evicted from node node-1 (the last at 00:01:15 UTC).";
    assert_eq!(why(&web), format!("{missing} {evicted}"));
    // What needs no replacement is not missing.
    let mut web = Web::live(3).at(60_000);
    (100..102).for_each(|pod| web.kill_pod(pod));
    web.report();
    web.wait_until(62_000).scale(2, 2);
    web.report();
    let missing = "1 of 2 pods is not available; the revision does not change.";
    assert_eq!(why(&web), format!("{missing} Pod p0101 deleted (00:01:00 UTC)."));
}

#[test]
fn a_replica_set_that_somebody_deleted_is_named_while_its_pods_are_missing() {
    let mut web = Web::reported().at(60_000);
    let second = web.replica_set(SECOND);
    // An old one without pods took none with it.
    web.delete_set(2);
    web.wait_until(61_000).pod(200, unready);
    web.report();
    let missing = "1 of 3 pods is not available; the revision does not change.";
    assert_eq!(why(&web), missing);
    web.pod(200, ready);
    web.report();
    web.wait_until(90_000).delete_set(SECOND);
    (200..203).for_each(|pod| web.kill_pod(pod));
    let mut again = ReplicaSetFact { meta: meta(13, "web-2", Some(1)), ..second };
    again.now.counts = ReplicaSetCounts { desired: 3, ..ReplicaSetCounts::default() };
    web.wait(100).add_set(13, again);
    web.report();
    web.wait(5_000).add_ready_pod(300, 13);
    web.add_ready_pod(301, 13);
    web.report();
    assert_eq!(why(&web), format!("{missing} ReplicaSet 2 deleted (00:01:30 UTC)."));
    web.add_ready_pod(302, 13);
    web.report();
    assert_eq!(why(&web), "3 pods are still terminating.");
}

#[test]
fn a_new_pod_that_somebody_deleted_is_not_why_nobody_serves() {
    let mut web = Web::replacing().at(30_000);
    web.add_pod(200, SECOND, unready);
    (100..103).for_each(|pod| web.pod(pod, unready));
    web.report();
    web.wait_until(41_000).kill_pod(200);
    web.add_pod(201, SECOND, unready);
    assert_eq!(web.verdict(), "[Degraded] Revision 2 is replacing revision 1: no pod is available.");
    assert!(!why(&web).contains("deleted"), "{}", why(&web));
    web.kill_pod(100);
    web.add_pod(150, 2, unready);
    assert!(why(&web).ends_with(" Pod p0100 deleted (00:00:41 UTC)."), "{}", why(&web));
}

#[test]
fn old_pods_that_left_their_node_are_named_in_an_outage_of_a_rollout() {
    let mut web = Web::replacing().at(30_000);
    web.add_pod(200, SECOND, unready);
    for number in 100..103 {
        evict(&mut web, number);
        web.add_pod(number + 50, 2, unready);
    }
    web.report();
    let outage = "[Degraded] Revision 2 is replacing revision 1: no pod is available.";
    assert!(!why(&web).contains("evicted"), "{}", why(&web));
    web.now = 41_000;
    assert_eq!(web.verdict(), outage);
    assert!(why(&web).contains(" new pod is running but not ready"), "{}", why(&web));
    assert!(why(&web).ends_with(" 3 pods evicted from node node-1 (since 00:00:30 UTC)."), "{}", why(&web));
    // Once their replacements were available, a later outage has another reason.
    web.wait_until(42_000);
    (100..103).for_each(|pod| web.delete_pod(pod));
    (150..153).for_each(|pod| web.pod(pod, ready));
    web.report();
    web.wait_until(60_000);
    (150..153).for_each(|pod| web.pod(pod, unready));
    web.report();
    web.now = 71_000;
    assert_eq!(web.verdict(), outage);
    assert!(!why(&web).contains("evicted"), "{}", why(&web));
}
