//! Why a pod ended: what it says itself, what its owners did, and until when that is decided better.

use crate::made::{SECOND, Web};
use crate::said::lives::{end, known};
use timeline::fact::{Kind, Phase, PodFact};
use timeline::model::EndReason;
use timeline::{Fact, Millis, Uid};

/// A pod ends, after a change to it and to what owns it.
fn ended(change: impl FnOnce(&mut Web)) -> Option<EndReason> {
    let mut web = Web::live(3).at(60_000);
    change(&mut web);
    end(&web, 100)
}

#[test]
fn why_a_pod_ends_is_what_it_says_itself_or_what_its_owners_did() {
    let disrupted = |by: &'static str| {
        ended(move |web| {
            web.pod(100, |pod| pod.disruption = Some(by.into()));
            web.kill_pod(100);
        })
    };
    for (by, reason) in [
        ("DeletionByPodGC", EndReason::NodeLost),
        ("DeletionByTaintManager", EndReason::NodeLost),
        ("EvictionByEvictionAPI", EndReason::Evicted),
        ("PreemptionByScheduler", EndReason::Evicted),
        ("TerminationByKubelet", EndReason::Evicted),
        ("DeletionByDeviceTaintManager", EndReason::Evicted),
        ("SomethingOfTomorrow", EndReason::DeletedManually),
    ] {
        assert_eq!(disrupted(by), Some(reason), "{by}");
    }
    let scaled = |desired| {
        ended(move |web| {
            web.set(2, |set| set.now.counts.desired = desired);
            web.kill_pod(100);
        })
    };
    assert_eq!(scaled(2), Some(EndReason::ScaledDown));
    assert_eq!(scaled(3), Some(EndReason::DeletedManually));
    assert_eq!(ended(|_| {}), None);
    let set_deleted = |web: &mut Web| {
        web.set(2, |set| set.now.deleting = true);
        web.kill_pod(100);
    };
    assert_eq!(ended(set_deleted), Some(EndReason::ReplicaSetDeleted));
    let deployment_deleted = |web: &mut Web| {
        web.deployment(|deployment| deployment.deleting = true);
        web.set(2, |set| set.now.deleting = true);
        web.kill_pod(100);
    };
    assert_eq!(ended(deployment_deleted), Some(EndReason::DeploymentDeleted));
    let released = |web: &mut Web| {
        web.set(2, |set| set.now.counts.desired = 0);
        web.pod(100, |pod| pod.meta.controller = None);
        web.kill_pod(100);
    };
    assert_eq!(ended(released), Some(EndReason::DeletedManually), "its ReplicaSet does not care for it");
    let unknown_set = |web: &mut Web| {
        web.pod(100, |pod| pod.meta.controller = Some(Uid::from_bits(77)));
        web.kill_pod(100);
    };
    assert_eq!(ended(unknown_set), Some(EndReason::Unknown));
}

#[test]
fn of_three_pods_that_one_asks_for_two_are_scaled_down() {
    let mut web = Web::live(3).at(60_000);
    web.set(2, |set| set.now.counts.desired = 1);
    (100..103).for_each(|pod| web.kill_pod(pod));
    let ends: Vec<_> = (100..103).map(|pod| end(&web, pod).unwrap()).collect();
    assert_eq!(ends, [EndReason::ScaledDown, EndReason::ScaledDown, EndReason::DeletedManually]);
}

/// `kubectl scale rs`: the Deployment controller takes it back at once, and the ReplicaSet controller has followed already.
#[test]
fn pods_of_a_replica_set_that_somebody_scales_down_for_a_moment_are_scaled_down() {
    let ends = |after: i64| {
        let mut web = Web::live(3).at(60_000);
        web.set(2, |set| set.now.counts.desired = 1);
        web.wait(10).kill_pod(100);
        web.wait(10).set(2, |set| set.now.counts.desired = 3);
        web.wait_until(60_000 + after).kill_pod(101);
        web.kill_pod(102);
        [100, 101, 102].map(|pod| end(&web, pod).unwrap())
    };
    let [scaled, manually] = [EndReason::ScaledDown, EndReason::DeletedManually];
    assert_eq!(ends(30), [scaled, scaled, manually]);
    assert_eq!(ends(1_001), [scaled, manually, manually]);
}

#[test]
fn an_end_is_decided_better_for_a_second_and_then_no_more() {
    let smaller_after = |millis| {
        ended(move |web| {
            web.kill_pod(100);
            web.wait(millis).set(2, |set| set.now.counts.desired = 2);
        })
    };
    assert_eq!(smaller_after(0), Some(EndReason::ScaledDown));
    assert_eq!(smaller_after(1_000), Some(EndReason::ScaledDown));
    assert_eq!(smaller_after(1_001), Some(EndReason::DeletedManually));
    // Each end on its own: the second one is decided better after the first one was.
    let mut web = Web::live(3).at(60_000);
    (100..102).for_each(|pod| web.kill_pod(pod));
    web.set(2, |set| set.now.counts.desired = 2);
    let manually = Some(EndReason::DeletedManually);
    assert_eq!([end(&web, 100), end(&web, 101)], [Some(EndReason::ScaledDown), manually]);
    web.set(2, |set| set.now.counts.desired = 1);
    assert_eq!([end(&web, 100), end(&web, 101)], [Some(EndReason::ScaledDown); 2]);
    web.set(2, |set| set.now.counts.desired = 3);
    assert_eq!([end(&web, 100), end(&web, 101)], [Some(EndReason::ScaledDown); 2], "that is certain");
    // A pod that another ReplicaSet makes replaces none of these.
    let mut web = Web::replacing();
    web.kill_pod(100);
    web.add_pod(200, SECOND, |_| {});
    web.set(2, |set| set.now.counts.desired = 2);
    assert_eq!(end(&web, 100), Some(EndReason::ScaledDown));
    // What was seen once is not taken back.
    let larger_again = |web: &mut Web| {
        web.set(2, |set| set.now.counts.desired = 2);
        web.kill_pod(100);
        web.set(2, |set| set.now.counts.desired = 3);
    };
    assert_eq!(ended(larger_again), Some(EndReason::ScaledDown));
}

#[test]
fn what_a_list_tells_of_an_end_is_that_it_is_not_known_unless_something_says_why() {
    let listed = |gap: Option<Millis>, change: fn(&mut Web)| {
        let mut web = Web::live(3).at(60_000);
        change(&mut web);
        match gap {
            Some(since) => web.relisted(since),
            None => web.listed(Kind::Pod, None),
        }
        end(&web, 100)
    };
    let going = |web: &mut Web| web.unseen_pod(100, |pod| pod.deletion_at_millis = Some(80_000));
    assert_eq!(listed(Some(30_000), going), Some(EndReason::Unknown));
    let evicted = |web: &mut Web| {
        web.unseen_pod(100, |pod| {
            pod.deletion_at_millis = Some(80_000);
            pod.disruption = Some("EvictionByEvictionAPI".into());
        });
    };
    assert_eq!(listed(Some(30_000), evicted), Some(EndReason::Evicted));
    // One that is missing in a list: without a gap somebody deleted it, with one nobody knows.
    let mut web = Web::live(3).at(60_000);
    let present = vec![Uid::from_bits(101), Uid::from_bits(102)];
    let list = |gap_since_millis| Fact::Listed {
        kind: Kind::Pod,
        namespace: None,
        present: present.clone(),
        gap_since_millis,
    };
    web.timeline.apply(60_000, list(None));
    assert_eq!(
        (end(&web, 100), known(&web, 100).unwrap().gone_millis()),
        (Some(EndReason::DeletedManually), Some(60_000))
    );
    let mut web = Web::live(3);
    web.timeline.apply(60_000, list(Some(30_000)));
    assert_eq!(end(&web, 100), Some(EndReason::Unknown));
    // It was seen to be going before nobody looked.
    let mut web = Web::live(3).at(20_000);
    web.kill_pod(100);
    web.timeline.apply(60_000, list(Some(30_000)));
    assert_eq!(end(&web, 100), Some(EndReason::DeletedManually));
    // A list of another namespace says nothing of it.
    let mut web = Web::live(3);
    let elsewhere =
        Fact::Listed { kind: Kind::Pod, namespace: Some("edge".into()), present: Vec::new(), gap_since_millis: None };
    assert_eq!(web.timeline.apply(60_000, elsewhere), Vec::new());
}

#[test]
fn a_pod_without_a_node_or_a_grace_period_is_deleted_at_once_by_controllers_too() {
    let vanished = |change: fn(&mut PodFact)| {
        ended(move |web| {
            web.pod(100, change);
            web.set(2, |set| set.now.counts.desired = 2);
            web.delete_pod(100);
        })
    };
    assert_eq!(vanished(|_| {}), Some(EndReason::DeletedManually), "by force");
    assert_eq!(vanished(|pod| pod.node = None), Some(EndReason::ScaledDown));
    assert_eq!(vanished(|pod| pod.is_graceless = true), Some(EndReason::ScaledDown));
    assert_eq!(
        vanished(|pod| pod.phase = Phase::Pending),
        Some(EndReason::DeletedManually),
        "one that starts has its time"
    );
    let marked = ended(|web| {
        web.set(2, |set| set.now.counts.desired = 2);
        web.kill_pod(100);
        web.delete_pod(100);
    });
    assert_eq!(marked, Some(EndReason::ScaledDown));
    // Its last word may be the first that says so.
    let marked_last = ended(|web| {
        web.set(2, |set| set.now.counts.desired = 2);
        web.unseen_pod(100, |pod| pod.deletion_at_millis = Some(90_000));
        web.delete_pod(100);
    });
    assert_eq!(marked_last, Some(EndReason::ScaledDown));
}

#[test]
fn a_pod_that_had_to_leave_its_node_is_told_with_the_way_it_left() {
    let told = |change: fn(&mut PodFact), is_marked: bool| {
        let mut web = Web::live(1).at(60_000);
        web.pod(100, |pod| {
            (pod.phase, pod.ready) = (if is_marked { Phase::Running } else { Phase::Failed }, None);
            pod.deletion_at_millis = is_marked.then_some(90_000);
            change(pod);
        });
        web.told().pop().unwrap()
    };
    let lost: fn(&mut PodFact) = |pod| pod.disruption = Some("DeletionByPodGC".into());
    let tainted: fn(&mut PodFact) = |pod| pod.disruption = Some("DeletionByTaintManager".into());
    let evicted: fn(&mut PodFact) = |pod| pod.disruption = Some("TerminationByKubelet".into());
    let evicted_of_old: fn(&mut PodFact) = |pod| pod.reason = "Evicted".into();
    for is_marked in [true, false] {
        assert_eq!(told(lost, is_marked), "Pod p0100 lost: node node-1 is gone.");
        let taint = "Pod p0100 had to leave node node-1 because of a taint; the revision stays.";
        assert_eq!(told(tainted, is_marked), taint);
        assert_eq!(told(evicted, is_marked), "Pod p0100 evicted from node node-1; the revision stays.");
    }
    assert_eq!(told(evicted_of_old, false), "Pod p0100 evicted from node node-1; the revision stays.");
    assert_eq!(
        told(|pod| pod.reason = "OutOfcpu".into(), false),
        "Pod p0100 failed: OutOfcpu; the Deployment stays at revision 1."
    );
}
