//! Why pods end, and what is left of them.

use crate::made::{SECOND, WEB, Web, ended_by_kubelet, image, next_revision, ready, set, unready};
use timeline::Uid;
use timeline::fact::{ContainerState, Phase, PodFact};
use timeline::model::EndReason;
use timeline::story::LineKind;

/// A pod of revision 1 was evicted long ago and lies about; its replacement is ready.
fn with_leftover() -> Web {
    let mut web = Web::live(3).at(20_000);
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
    assert_eq!(web.verdict(), "[Complete] Revision 1 is complete: 3 of 3 available.");
    assert_eq!(web.view().verdict.why, "1 failed pod is left over, the latest Evicted.");
    let before = web.told();
    // Cleaned up days later: nothing happened to the Deployment.
    web.delete_pod(100);
    assert_eq!(web.told(), before);
    assert_eq!(web.view().explanation(), "The controllers have nothing left to do.");
}

#[test]
fn beside_a_leftover_a_killed_pod_is_killed_and_not_scaled_down() {
    let mut web = with_leftover();
    web.kill_pod(101);
    let killed = "Pod p0101 was deleted, not by the rollout; the Deployment stays at revision 1.";
    assert_eq!(web.told().last().unwrap(), killed);
    // A leftover that is deleted was not scaled down either: the ReplicaSet controller deletes none.
    let mut web = with_leftover();
    web.delete_pod(100);
    let ends = web.timeline.model().pods.get(&Uid::from_bits(100)).unwrap().end_reason;
    assert_ne!(ends, Some(EndReason::ScaledDown));
}

#[test]
fn a_grace_period_may_be_shortened_until_it_is_over() {
    let mut web = Web::live(3).at(20_000);
    web.kill_pod(100);
    let grace_ends = |web: &Web| web.timeline.model().pods.get(&Uid::from_bits(100)).unwrap().now.deletion_at_millis;
    assert_eq!(grace_ends(&web), Some(50_000));
    web.wait_until(30_000).pod(100, |pod| pod.deletion_at_millis = Some(35_000));
    assert_eq!(grace_ends(&web), Some(35_000));
    web.wait_until(95_000).pod(100, |pod| pod.deletion_at_millis = Some(95_000));
    assert_eq!(grace_ends(&web), Some(35_000), "it was over");
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
        web.wait(1_000).add_pod(200 + number, SECOND, |pod| {
            (pod.phase, pod.reason) = (Phase::Failed, "OutOfcpu".into());
            pod.message = "Node didn't have enough resource: cpu".into();
            pod.containers[0].state = None;
        });
    }
    web.report();
    assert_eq!(
        web.view().reasons[0].sentence,
        "20 new pods failed within 90 s, OutOfcpu (one is p0200): Node didn't have enough resource: cpu."
    );
    let told: Vec<String> = web.told().into_iter().filter(|line| line.contains("OutOfcpu")).collect();
    assert_eq!(told, ["20 pods failed: OutOfcpu; the Deployment stays at revision 2."]);
}

#[test]
fn pods_that_were_evicted_hold_no_rollout_up_while_a_later_one_is_available() {
    let blocked = "[Blocked] Revision 2 is blocked: its pods fail (Evicted).";
    let mut web = Web::replacing();
    for number in [200, 201] {
        web.wait(5_000).add_ready_pod(number, SECOND);
        web.wait(1_000).pod(number, |pod| (pod.phase, pod.reason) = (Phase::Failed, "Evicted".into()));
    }
    web.report();
    assert_eq!(web.verdict(), blocked);
    web.add_ready_pod(202, SECOND);
    web.report();
    assert_eq!(web.verdict(), "[Rolling out] Revision 2 is replacing revision 1: 1 of 3 new pods available.");
    // The next step.
    web.set(SECOND, |set| set.now.counts.desired = 2);
    web.set(2, |set| set.now.counts.desired = 2);
    web.delete_pod(100);
    web.add_pod(203, SECOND, unready);
    web.report();
    assert_eq!(web.verdict(), "[Waiting] Revision 2 is replacing revision 1: 1 of 3 new pods available.");
    let reason = web.view().reasons.remove(0);
    let said = "2 new pods failed within 90 s, Evicted (one is p0200).";
    assert_eq!((reason.sentence.as_str(), reason.is_fault), (said, false));
    web.pod(202, unready);
    assert_eq!(web.verdict(), blocked);
    web.pod(202, ready);
    // All are available less than 90 s after the last one failed.
    web.set(SECOND, |set| set.now.counts.desired = 3);
    web.set(2, |set| set.now.counts.desired = 0);
    (101..103).for_each(|pod| web.delete_pod(pod));
    web.pod(203, ready);
    web.add_ready_pod(204, SECOND);
    web.report();
    assert_eq!(web.verdict(), "[Complete] Revision 2 is complete: 3 of 3 available.");
}

/// The garbage collector of pods fails and deletes a pod whose node does not exist.
fn lose_with_node(web: &mut Web, number: u128) {
    web.pod(number, |pod| (pod.phase, pod.disruption) = (Phase::Failed, Some("DeletionByPodGC".into())));
    web.kill_pod(number);
    web.delete_pod(number);
}

/// Two pods of revision 2 are lost with these nodes, one after the other, 10 s after `run` changed them; each is replaced at once. Returns
/// the verdict after each start of a pod, too.
fn lost_in_turn([first, second]: [&str; 2], run: fn(&mut PodFact)) -> (Web, [String; 3]) {
    let mut web = Web::replacing();
    let verdicts = [(200, first), (201, second), (202, second)].map(|(number, node)| {
        if number > 200 {
            web.wait(30_000).pod(number - 1, run);
            lose_with_node(web.wait(10_000), number - 1);
        }
        web.add_pod(number, SECOND, |pod| {
            (pod.node, pod.phase) = (Some(node.into()), Phase::Pending);
            pod.containers[0].state = None;
        });
        web.report();
        web.verdict()
    });
    (web, verdicts)
}

#[test]
fn pods_that_are_lost_again_and_again_with_a_node_that_does_not_exist_hold_a_rollout_up() {
    let goes_on = "[Rolling out] Revision 2 is replacing revision 1: 0 of 3 new pods available.";
    let blocked = "[Blocked] Revision 2 is blocked: node ghost-9 does not exist.";
    let (mut web, verdicts) = lost_in_turn(["ghost-9", "ghost-9"], |_| {});
    assert_eq!(verdicts, [goes_on, goes_on, blocked]);
    let reason = web.view().reasons.remove(0);
    let said = "2 new pods were lost one after the other, DeletionByPodGC (one is p0200): node ghost-9 does not exist.";
    assert_eq!((reason.sentence.as_str(), reason.is_fault, reason.is_fatal), (said, true, true));
    let told = "2 pods lost, the last one 40 s later: node ghost-9 is gone.";
    assert_eq!(web.told().iter().filter(|line| line.contains("ghost-9")).collect::<Vec<_>>(), [told]);
    // The garbage collector may take longer than for the one before.
    assert_eq!(web.wait(70_000).verdict(), blocked);
    // The node is there since.
    web.pod(202, |pod| {
        (pod.phase, pod.containers[0].state) = (Phase::Running, Some(ContainerState::Running));
    });
    assert!(web.view().reasons.iter().all(|reason| !reason.is_fault), "{:?}", web.view().reasons);
    // Pods that are lost with several nodes, or that had been ready, may find their place.
    assert_eq!(lost_in_turn(["node-7", "node-8"], |_| {}).1, [goes_on; 3]);
    assert_eq!(lost_in_turn(["node-7", "node-7"], ready).1, [goes_on; 3]);
}

#[test]
fn pods_that_are_lost_with_a_node_that_does_not_exist_show_that_where_nothing_is_undone() {
    let mut web = Web::made(1);
    for number in [100, 101] {
        lose_with_node(web.wait(40_000), number);
        web.add_pod(number + 1, 2, |pod| pod.containers[0].state = None);
    }
    web.report();
    assert_eq!(web.view().remedy.unwrap().command, "kubectl --namespace shop describe node node-1");
}

#[test]
fn pods_that_fail_with_their_containers_say_how_those_ended() {
    let mut web = Web::replacing();
    for number in 0..3 {
        web.now += 5_000;
        web.add_pod(200 + number, SECOND, |pod| {
            pod.phase = Phase::Failed;
            let (exit_code, reason, message) = (1, "Error".into(), String::new());
            pod.containers[0].state = Some(ContainerState::Terminated { exit_code, reason, message });
        });
    }
    web.report();
    assert_eq!(web.verdict(), "[Blocked] Revision 2 is blocked: its pods fail (exit code 1).");
    assert_eq!(
        web.view().reasons[0].sentence,
        "3 new pods failed within 90 s, Error (one is p0200): container web ended with exit code 1."
    );
}

#[test]
fn pods_that_failed_for_another_reason_are_not_counted_with_the_first() {
    let mut web = Web::live(3);
    web.now = 60_000;
    for (pod, reason) in [(100, "OutOfcpu"), (101, "UnexpectedAdmissionError"), (102, "OutOfcpu")] {
        web.pod(pod, |pod| (pod.phase, pod.reason) = (Phase::Failed, reason.into()));
    }
    web.report();
    assert_eq!(web.view().reasons[0].sentence, "2 pods failed within 90 s, OutOfcpu (one is p0100).");
}

/// The only container has a restartPolicy of its own, and is done.
#[test]
fn pods_that_end_well_again_and_again_hold_a_rollout_up() {
    let mut web = Web::replacing();
    for number in 0..3 {
        web.now += 5_000;
        web.add_pod(200 + number, SECOND, |_| {});
        web.now += 1_000;
        web.pod(200 + number, |pod| (pod.phase, pod.containers[0].is_final) = (Phase::Succeeded, true));
    }
    web.report();
    assert_eq!(
        web.view().reasons[0].sentence,
        "3 new pods ended within 90 s (one is p0200): all app containers ended with exit code 0 and are not started again."
    );
    assert_eq!(web.verdict(), "[Blocked] Revision 2 is blocked: its pods end with exit code 0 (Completed).");
    // One that was evicted ends well if its program does.
    for number in 0..3 {
        web.event(200 + number, "Evicted", "Usage of EmptyDir volume \"cache\" exceeds the limit \"4Mi\".");
    }
    assert_eq!(web.verdict(), "[Blocked] Revision 2 is blocked: its pods fail (Evicted).");
    assert_eq!(
        web.view().reasons[0].sentence,
        "3 new pods failed within 90 s, Evicted (one is p0200): Usage of EmptyDir volume \"cache\" exceeds the limit \"4Mi\"."
    );
}

#[test]
fn pods_that_their_kubelet_ended_did_not_end_by_themselves() {
    let mut web = Web::live(3).at(60_000);
    for number in [100, 101] {
        web.pod(number, ended_by_kubelet("Pod was terminated in response to imminent node shutdown."));
    }
    web.report();
    assert_eq!(
        web.view().reasons[0].sentence,
        "2 pods failed within 90 s, TerminationByKubelet (one is p0100): Pod was terminated in response to imminent node shutdown."
    );
}

#[test]
fn pods_of_a_replica_set_that_went_to_another_deployment_are_not_counted() {
    let mut web = Web::live(3).at(20_000);
    web.set(2, |set| set.meta.controller = Some(Uid::from_bits(77)));
    let mut again = set(3, 1, 3, 0);
    (again.now.desired_replicas, again.images) = (Some(3), image("v1"));
    web.add_set(3, again);
    (0..3).for_each(|number| web.add_pod(200 + number, 3, |_| {}));
    web.report();
    assert_eq!(web.view().counts.available, 0);
    (0..3).for_each(|number| web.pod(200 + number, ready));
    web.report();
    assert_eq!(web.verdict(), "[Complete] Revision 1 is complete: 3 of 3 available.");
}

#[test]
fn the_revision_that_stays_is_the_one_of_then() {
    let mut web = Web::live(3).at(20_000);
    web.kill_pod(100);
    web.delete_pod(100);
    web.add_ready_pod(103, 2);
    let killed = "Pod p0100 was deleted, not by the rollout; the Deployment stays at revision 1.";
    assert!(web.told().iter().any(|line| line.starts_with(killed)), "{:#?}", web.told());
    // A pod of the old revision, in the middle of a rollout.
    web.now = 40_000;
    next_revision(&mut web, 2, [1, 3]);
    web.wait_until(41_000).kill_pod(101);
    let killed = "Pod p0101 was deleted, not by the rollout; the Deployment stays at revision 2.";
    assert!(web.told().iter().any(|line| line.starts_with(killed)), "{:#?}", web.told());
    // Later the first ReplicaSet carries another revision: what was told stands.
    let before: Vec<String> = web.told().into_iter().filter(|line| line.contains("not by the rollout")).collect();
    web.set(2, |set| set.revision = Some(3));
    let after: Vec<String> = web.told().into_iter().filter(|line| line.contains("not by the rollout")).collect();
    assert_eq!(before, after);
}

#[test]
fn pods_that_went_before_anybody_looked_are_not_told_to_be_deleted_from_outside() {
    let mut web = Web::live(3).at(20_000);
    next_revision(&mut web, 2, [1, 2]);
    web.kill_pod(100);
    let mut late = web.first_listed();
    late.wait(2_000).add_pod(200, 3, |_| {});
    late.delete_pod(100);
    assert_eq!(late.told(), ["Watching begins: revision 2 with image web:v2."]);
    // Nor those that were asked to go while nobody looked for a while.
    let mut web = Web::live(3).at(600_000);
    web.unseen_pod(100, |pod| pod.deletion_at_millis = Some(620_000));
    web.relisted(10_000);
    let outside = web.lines(LineKind::Outside);
    assert!(!outside.iter().any(|line| line.contains("not by the rollout")), "{outside:?}");
}

#[test]
fn a_taint_is_no_lost_node() {
    let mut web = Web::live(3).at(20_000);
    web.pod(100, |pod| {
        pod.disruption = Some("DeletionByTaintManager".into());
        pod.deletion_at_millis = Some(50_000);
    });
    let told = "Pod p0100 had to leave node node-1 because of a taint; the revision stays.";
    assert!(web.told().iter().any(|line| line == told), "{:#?}", web.told());
    // Nor of one that is out of rotation, whether it is marked or has failed by then.
    let released = |disruption: &'static str, is_marked: bool| {
        let mut web = Web::live(3).at(20_000);
        web.pod(100, |pod| pod.meta.controller = None);
        web.wait_until(30_000).pod(100, |pod| {
            (pod.disruption, pod.deletion_at_millis) = (Some(disruption.into()), is_marked.then_some(60_000));
            pod.phase = if is_marked { Phase::Running } else { Phase::Failed };
        });
        web.told().pop().unwrap()
    };
    for is_marked in [true, false] {
        assert_eq!(released("DeletionByTaintManager", is_marked), "Pod p0100 evicted.");
        assert_eq!(released("DeletionByPodGC", is_marked), "Pod p0100 lost: its node is gone.");
    }
}

#[test]
fn a_moment_after_a_second_release_shows_a_pod_that_nobody_owns() {
    let mut web = Web::live(3);
    let owner = Some(Uid::from_bits(2));
    for (now, controller) in [(10_000, None), (20_000, owner), (30_000, None), (40_000, owner)] {
        web.wait_until(now).pod(100, |pod| pod.meta.controller = controller);
    }
    let owners: Vec<Option<Uid>> = [9_000, 15_000, 25_000, 35_000, 45_000]
        .into_iter()
        .map(|at| web.timeline.model().as_of(WEB, at).pods.get(&Uid::from_bits(100)).unwrap().owner)
        .collect();
    assert_eq!(owners, [owner, None, owner, None, owner]);
    // Without the last adoption.
    let mut web = Web::live(3);
    for (now, controller) in [(10_000, None), (20_000, owner), (30_000, None)] {
        web.wait_until(now).pod(100, |pod| pod.meta.controller = controller);
    }
    let owner_at = |at| web.timeline.model().as_of(WEB, at).pods.get(&Uid::from_bits(100)).unwrap().owner;
    assert_eq!([owner_at(25_000), owner_at(35_000)], [owner, None]);
}

#[test]
fn pods_that_failed_are_no_pods_of_a_rollout() {
    let mut web = Web::replacing();
    for number in 0..40 {
        web.add_pod(300 + number, SECOND, |pod| (pod.phase, pod.reason) = (Phase::Failed, "NodeAffinity".into()));
    }
    web.add_pod(200, SECOND, |_| {});
    let rollout = web.timeline.model().deployments.get(&WEB).unwrap().rollouts.last().unwrap().clone();
    assert_eq!((rollout.peak_active, rollout.peak_pods), (4, 44), "the document counts pods of any phase");
}
