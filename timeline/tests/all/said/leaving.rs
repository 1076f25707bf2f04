//! Pods that leave: by somebody's word, with their namespace, or while nobody looked; and ReplicaSets that are cleaned up.

use crate::made::{SECOND, Web};
use crate::said::lives::end;
use crate::said::told::since;
use timeline::Millis;
use timeline::fact::{Kind, Phase, PodFact};
use timeline::model::EndReason;

#[test]
fn that_a_pod_outside_its_replica_set_is_deleted_is_told() {
    let mut web = Web::live(3).at(60_000);
    web.pod(100, |pod| pod.meta.controller = None);
    web.wait_until(70_000).kill_pod(100);
    assert_eq!(since(&web, 70_000), ["70000 Pod p0100, which no ReplicaSet controlled, was deleted."]);
}

#[test]
fn pods_whose_replica_set_is_deleted_run_without_one() {
    let mut web = Web::reported().at(60_000);
    for (pod, set) in [(110, 2), (111, 2), (210, SECOND)] {
        web.add_ready_pod(pod, set);
        web.pod(pod, |pod| pod.meta.controller = None);
    }
    assert_eq!(web.view().verdict.why, "3 pods are running outside their ReplicaSet.");
    web.delete_set(2);
    let apart = "1 pod is running outside its ReplicaSet. 2 pods are running without a ReplicaSet.";
    assert_eq!(web.view().verdict.why, apart);
}

#[test]
fn pods_that_leave_a_node_before_and_after_a_rollout_began_are_told_apart() {
    let mut web = Web::live(3).at(60_000);
    web.pod(100, |pod| (pod.phase, pod.reason) = (Phase::Failed, "Evicted".into()));
    crate::made::next_revision(&mut web, 2, [1, 3]);
    web.wait_until(70_000).pod(101, |pod| (pod.phase, pod.reason) = (Phase::Failed, "Evicted".into()));
    let told: Vec<String> = since(&web, 60_000).into_iter().filter(|line| line.contains("evicted")).collect();
    assert_eq!(
        told,
        [
            "60000 Pod p0100 evicted from node node-1; the revision stays.",
            "70000 Pod p0101 evicted from node node-1; the revision stays."
        ]
    );
}

#[test]
fn pods_that_leave_a_node_one_after_the_other_are_told_with_the_time_between() {
    let evicted: fn(&mut PodFact) = |pod| (pod.phase, pod.reason) = (Phase::Failed, "Evicted".into());
    let preempted: fn(&mut PodFact) = |pod| {
        pod.disruption = Some("PreemptionByScheduler".into());
        pod.deletion_at_millis = Some(120_000);
    };
    let told = |change: fn(&mut PodFact), after: Millis| {
        let mut web = Web::live(3);
        for (at, number) in [(60_000, 100), (60_000 + after, 101)] {
            web.wait_until(at).pod(number, change);
        }
        since(&web, 60_000)
    };
    let both = "60000 2 pods evicted from node node-1";
    assert_eq!(told(evicted, 4_999), [format!("{both}; the revision stays.")]);
    assert_eq!(told(evicted, 6_000), [format!("{both}, the last one 6.0 s later; the revision stays.")]);
    let both = "60000 2 pods were preempted by a pod of higher priority on node node-1";
    assert_eq!(told(preempted, 12_000), [format!("{both}, the last one 12 s later; the revision stays.")]);
}

#[test]
fn many_pods_that_somebody_deletes_are_few_lines() {
    let mut web = Web::live(50).at(60_000);
    (0..50).for_each(|number| web.kill_pod(100 + number));
    let told = since(&web, 60_000);
    assert_eq!(told.len(), 4, "{told:#?}");
    assert_eq!(told[0], "60000 Pod p0100 was deleted, not by the rollout; the Deployment stays at revision 1.");
    assert_eq!(told[3], "60000 47 more pods were deleted, not by the rollout; the Deployment stays at revision 1.");
    // A second later the ReplicaSet is seen to want fewer: those that it let go were not deleted from outside.
    web.wait_until(60_500).set(2, |set| set.now.counts.desired = 0);
    assert!(!web.told().iter().any(|line| line.contains("not by the rollout")), "{:#?}", web.told());
}

/// The line is old, and what is taken back of it is a moment old: the number is the one that it was before.
#[test]
fn pods_that_a_late_replica_set_explains_are_taken_back_from_an_older_line() {
    let mut web = Web::live(9).at(60_000);
    (100..105).for_each(|pod| web.kill_pod(pod));
    let two = "60000 2 more pods were deleted, not by the rollout; the Deployment stays at revision 1.";
    assert_eq!(since(&web, 60_000)[3], two);
    (0..5).for_each(|number| web.add_ready_pod(200 + number, 2));
    web.now = 80_000;
    (105..109).for_each(|pod| web.kill_pod(pod));
    (0..5).for_each(|number| web.kill_pod(200 + number));
    assert_eq!(since(&web, 60_000)[3], two.replace("2 more", "11 more"));
    web.wait_until(80_080).set(2, |set| set.now.counts.desired = 0);
    assert_eq!(since(&web, 60_000)[3], two);
    let ends = |pod: u128| end(&web, pod);
    assert_eq!(
        [ends(104), ends(105), ends(204)].map(Option::unwrap),
        [EndReason::DeletedManually, EndReason::ScaledDown, EndReason::ScaledDown]
    );
}

/// Kubernetes deletes the pods of a namespace first, and Deployments and ReplicaSets when they are gone.
#[test]
fn pods_that_went_with_their_namespace_were_deleted_by_nobody() {
    let mut web = Web::live(4).at(60_000);
    (100..104).for_each(|pod| web.kill_pod(pod));
    assert_eq!(since(&web, 60_000).len(), 4);
    web.now = 90_000;
    (100..104).for_each(|pod| web.delete_pod(pod));
    web.wait_until(95_000).delete_set(2);
    web.wait_until(100_000).delete_deployment();
    let told =
        ["60000 4 pods were deleted before the Deployment, and not replaced.", "100000 The Deployment was deleted."];
    assert_eq!(since(&web, 60_000), told);
    // What was decided stays in the document.
    assert_eq!(end(&web, 100), Some(EndReason::DeletedManually));
}

/// Of two streams that of the pods may be the faster one.
#[test]
fn a_pod_that_is_seen_to_go_a_moment_before_its_deployment_went_with_it() {
    let mut web = Web::live(3).at(60_000);
    web.kill_pod(100);
    web.wait(1).delete_deployment();
    (101..103).for_each(|pod| web.kill_pod(pod));
    assert_eq!(since(&web, 60_000), ["60001 The Deployment was deleted."]);
    assert_eq!(end(&web, 100), Some(EndReason::DeploymentDeleted));
}

#[test]
fn pods_that_were_replaced_or_went_long_before_went_on_their_own() {
    for (is_replaced, gone_at) in [(true, 100_000), (false, 660_001)] {
        let mut web = Web::live(2).at(60_000);
        web.kill_pod(100);
        if is_replaced {
            web.wait_until(61_000).add_ready_pod(102, 2);
        }
        web.wait_until(gone_at).delete_deployment();
        let told = since(&web, 60_000);
        assert!(told[0].starts_with("60000 Pod p0100 was deleted, not by the rollout;"), "{told:#?}");
    }
}

#[test]
fn pods_that_were_asked_to_go_while_nobody_looked_are_one_line() {
    let mut web = Web::live(4).at(60_000);
    (100..103).for_each(|pod| web.unseen_pod(pod, |pod| pod.deletion_at_millis = Some(80_000)));
    web.relisted(30_000);
    let told: Vec<String> =
        web.told().into_iter().filter(|line| line.contains("marked") || line.contains("disappeared")).collect();
    assert_eq!(told, ["3 pods were marked for deletion while not observed."]);
    assert_eq!(end(&web, 100), Some(EndReason::Unknown));
    // Those that are gone by then disappeared.
    web.now = 120_000;
    [100, 103].into_iter().for_each(|pod| web.lose_pod(pod));
    web.relisted(90_000);
    assert!(web.told().iter().any(|line| line == "Pod p0103 disappeared; why is not known."), "{:#?}", web.told());
}

#[test]
fn pods_that_went_in_two_gaps_are_two_lines() {
    let mut web = Web::live(4).at(60_000);
    web.unseen_pod(100, |pod| pod.deletion_at_millis = Some(80_000));
    web.lose_pod(101);
    web.relisted(30_000);
    web.now = 90_000;
    web.unseen_pod(102, |pod| pod.deletion_at_millis = Some(110_000));
    web.lose_pod(103);
    web.relisted(80_000);
    let told = [
        "60000 Not observed for 30 s: what happened in between is not known.",
        "60000 Pod p0100 was marked for deletion while not observed.",
        "60000 Pod p0101 disappeared; why is not known.",
        "90000 Not observed for 10 s: what happened in between is not known.",
        "90000 Pod p0102 was marked for deletion while not observed.",
        "90000 Pod p0103 disappeared; why is not known.",
    ];
    assert_eq!(since(&web, 60_000), told);
}

/// Five pods, of which some go in a gap in which the Deployment is scaled to so many; it is not listed yet.
fn scaled_in_a_gap(replicas: u32, lost: &[u128]) -> Web {
    let mut web = Web::live(5).at(60_000);
    web.unseen(|deployment, sets| {
        deployment.spec.replicas = replicas;
        sets.get_mut(&2).unwrap().now.counts.desired = replicas;
    });
    lost.iter().for_each(|pod| web.lose_pod(*pod));
    web
}

/// What is told of pods that went in a gap.
fn unexplained(web: &Web) -> Vec<String> {
    web.told().into_iter().filter(|line| line.contains("disappeared") || line.contains("marked")).collect()
}

#[test]
fn pods_that_a_scaling_in_a_gap_explains_are_no_losses() {
    let told = |replicas: u32, lost: &[u128]| {
        let mut web = scaled_in_a_gap(replicas, lost);
        web.relisted(30_000);
        assert_eq!(end(&web, lost[0]), Some(EndReason::Unknown), "nobody saw why this one went");
        unexplained(&web)
    };
    assert_eq!(told(3, &[100, 101]), [""; 0]);
    assert_eq!(told(3, &[100]), [""; 0]);
    assert_eq!(told(3, &[100, 101, 102]), ["1 pod disappeared; why is not known."]);
    assert_eq!(told(4, &[100, 101, 102]), ["2 pods disappeared; why is not known."]);
    assert_eq!(told(5, &[100]), ["Pod p0100 disappeared; why is not known."]);
    assert_eq!(told(6, &[100]), ["Pod p0100 disappeared; why is not known."]);
    // One of them is still there.
    let mut going = scaled_in_a_gap(3, &[100]);
    going.unseen_pod(101, |pod| pod.deletion_at_millis = Some(80_000));
    going.relisted(30_000);
    assert_eq!(unexplained(&going), [""; 0]);
    // One that was outside its ReplicaSet was not let go by it.
    let mut released = Web::live(5).at(20_000);
    released.pod(100, |pod| pod.meta.controller = None);
    released.add_ready_pod(200, 2);
    released.lose_pod(100);
    released.unseen(|deployment, _| deployment.spec.replicas = 3);
    released.wait_until(60_000).relisted(30_000);
    assert_eq!(unexplained(&released), ["Pod p0100 disappeared; why is not known."]);
}

#[test]
fn a_scaling_in_a_gap_explains_pods_also_when_they_are_listed_first() {
    let mut web = scaled_in_a_gap(3, &[100, 101]);
    web.listed(Kind::Pod, Some(30_000));
    assert_eq!(unexplained(&web), ["2 pods disappeared; why is not known."]);
    web.wait(300).relisted(30_000);
    assert_eq!(unexplained(&web), [""; 0]);
    // Of what goes in the next gap it explains nothing, also where that follows at once.
    web.lose_pod(102);
    web.wait(1_000).relisted(60_300);
    assert_eq!(unexplained(&web), ["Pod p0102 disappeared; why is not known."]);
    // Nor does a scaling that was seen, with the pods that went for it.
    let mut seen = scaled_in_a_gap(5, &[100]);
    seen.relisted(30_000);
    seen.add_ready_pod(200, 2);
    seen.scale(2, 4);
    seen.kill_pod(101);
    seen.wait(1_000).relisted(60_000);
    assert_eq!(unexplained(&seen), ["Pod p0100 disappeared; why is not known."]);
}

/// The rollout of revision 2 goes on in a gap, in which some pods go: the old ReplicaSet asks for so many afterwards. It is not listed yet.
fn rolled_in_a_gap(old: u32, lost: &[u128]) -> Web {
    let mut web = Web::replacing();
    web.add_ready_pod(200, SECOND);
    web.unseen(|_, sets| {
        sets.get_mut(&2).unwrap().now.counts.desired = old;
        sets.get_mut(&SECOND).unwrap().now.counts.desired = 3;
    });
    lost.iter().for_each(|pod| web.lose_pod(*pod));
    web.at(60_000)
}

#[test]
fn pods_that_a_rollout_in_a_gap_explains_are_no_losses() {
    let told = |old: u32, lost: &[u128]| {
        let mut web = rolled_in_a_gap(old, lost);
        web.relisted(25_000);
        assert_eq!(end(&web, lost[0]), Some(EndReason::Unknown), "nobody saw why this one went");
        unexplained(&web)
    };
    assert_eq!(told(0, &[100, 101, 102]), [""; 0]);
    assert_eq!(told(1, &[100, 101]), [""; 0]);
    assert_eq!(told(2, &[100, 101, 102]), ["2 pods disappeared; why is not known."]);
    assert_eq!(told(3, &[100]), ["Pod p0100 disappeared; why is not known."]);
    // The new ReplicaSet lost none.
    assert_eq!(told(0, &[100, 101, 200]), ["1 pod disappeared; why is not known."]);
    // What is told of the gap besides.
    let mut web = rolled_in_a_gap(0, &[100, 101, 102]);
    web.relisted(25_000);
    let all = [
        "60000 Not observed for 35 s: what happened in between is not known.",
        "60000 While not observed: revision 1 3 → 0 and revision 2 1 → 3.",
    ];
    assert_eq!(since(&web, 60_000), all);
    // One of them is still there.
    let mut going = rolled_in_a_gap(1, &[100]);
    going.unseen_pod(101, |pod| pod.deletion_at_millis = Some(80_000));
    going.relisted(25_000);
    assert_eq!(unexplained(&going), [""; 0]);
    // The Deployment was scaled down, too: of the ReplicaSet that both took down all pods are explained.
    let mut scaled = rolled_in_a_gap(0, &[100, 101, 102]);
    scaled.unseen(|deployment, _| deployment.spec.replicas = 2);
    scaled.relisted(25_000);
    assert_eq!(unexplained(&scaled), [""; 0]);
}

#[test]
fn a_rollout_in_a_gap_explains_pods_also_when_they_are_listed_first() {
    let mut web = rolled_in_a_gap(1, &[100, 101]);
    web.listed(Kind::Pod, Some(25_000));
    assert_eq!(unexplained(&web), ["2 pods disappeared; why is not known."]);
    web.wait(300).relisted(25_000);
    assert_eq!(unexplained(&web), [""; 0]);
    // Of what goes in the next gap it explains nothing.
    web.lose_pod(102);
    web.wait(10_000).relisted(65_000);
    assert_eq!(unexplained(&web), ["Pod p0102 disappeared; why is not known."]);
    // The old ReplicaSet is gone as well.
    let mut web = rolled_in_a_gap(0, &[100, 101, 102]);
    web.lose_set(2);
    web.listed(Kind::Pod, Some(25_000));
    web.wait(300).relisted(25_000);
    assert_eq!(unexplained(&web), ["ReplicaSet 1 disappeared while not observed."]);
}

#[test]
fn old_replica_sets_that_a_lower_limit_removes_are_cleaned_up_whichever_stream_is_faster() {
    let mut web = Web::reported();
    web.set(2, |set| set.now.counts = Default::default());
    web.wait_until(60_000).delete_set(2);
    assert_eq!(since(&web, 60_000), ["60000 ReplicaSet 1 was deleted, not by its Deployment."]);
    web.wait_until(60_040).deployment(|deployment| deployment.spec.revision_history_limit = 0);
    assert_eq!(since(&web, 60_000), ["60000 Old ReplicaSet 1 of revision 1 cleaned up (revisionHistoryLimit 0)."]);
}
