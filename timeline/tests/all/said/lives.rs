//! The lives of pods: which are known, what they are counted as, why they ended.

use crate::made::{SECOND, WEB, Web, condition, deployment, meta, pod, ready, set, unready};
use timeline::budget::Sums;
use timeline::fact::{ConditionStatus, Kind, Phase, PodFact, Seen, Strategy};
use timeline::model::{EndReason, Pod, PodState};
use timeline::story::LineKind;
use timeline::{Fact, Millis, Timeline, Uid};

fn known(web: &Web, number: u128) -> Option<&Pod> {
    web.timeline.model().pods.get(&Uid::from_bits(number))
}

fn states(web: &Web, number: u128) -> Vec<(PodState, Millis)> {
    known(web, number).unwrap().states.clone()
}

fn end(web: &Web, number: u128) -> Option<EndReason> {
    known(web, number).unwrap().end_reason
}

fn tell(web: &mut Web, pod: PodFact, seen: Seen) -> usize {
    web.timeline.apply(web.now, Fact::Pod(Box::new(pod), seen)).len()
}

#[test]
fn pods_that_nobody_controls_or_that_are_gone_are_not_known() {
    let mut web = Web::live(1);
    let mut stranger = pod(200, 2, "stranger");
    stranger.meta.controller = None;
    assert_eq!(tell(&mut web, stranger, Seen::Added), 0);
    assert_eq!(tell(&mut web, pod(201, 2, "gone"), Seen::Deleted), 0);
    assert_eq!((known(&web, 200), known(&web, 201)), (None, None));
    // One that is gone changes no more.
    web.delete_pod(100);
    assert_eq!(tell(&mut web, pod(100, 2, "again"), Seen::Modified), 0);
    assert_eq!(known(&web, 100).unwrap().state(), PodState::Gone);
}

#[test]
fn a_life_is_states_with_their_beginnings_and_equal_neighbours_are_one() {
    let mut web = Web::live(1).at(10_000);
    web.pod(100, |pod| pod.node = Some("node-2".into()));
    web.wait_until(20_000).pod(100, unready);
    web.wait_until(30_000).kill_pod(100);
    web.wait_until(31_000).delete_pod(100);
    let expected = [
        (PodState::Unready, 0),
        (PodState::Available, 5_000),
        (PodState::Unready, 20_000),
        (PodState::Terminating, 30_000),
        (PodState::Gone, 31_000),
    ];
    assert_eq!(states(&web, 100), expected);
    let pod = known(&web, 100).unwrap();
    assert_eq!(timeline::say::pod(pod), "gone");
    let before = web.timeline.model().as_of(WEB, 20_000).pods.get(&Uid::from_bits(100)).map(timeline::say::pod);
    assert_eq!(before.as_deref(), Some("running, not ready"));
    let mut late = Web::live(1);
    late.pod(100, unready);
    assert_eq!(timeline::say::pod(known(&late, 100).unwrap()), "running, not ready (ContainersNotReady)");
    assert_eq!((pod.first_seen_millis(), pod.since_millis()), (0, 31_000));
    assert_eq!((pod.ended_millis(), pod.gone_millis()), (Some(30_000), Some(31_000)));
    let active = [-1, 0, 29_999, 30_000, 40_000].map(|at| pod.is_active_at(at));
    assert_eq!(active, [false, true, true, false, false]);
    assert!(pod.was_available() && !pod.is_active() && !pod.is_leftover() && !pod.is_out_of_rotation());
}

#[test]
fn a_pod_that_failed_as_a_whole_is_active_until_then_and_left_over() {
    let mut web = Web::live(1).at(10_000);
    web.pod(100, |pod| (pod.phase, pod.reason) = (Phase::Failed, "Evicted".into()));
    let pod = known(&web, 100).unwrap();
    assert_eq!((pod.state(), pod.now.terminal_millis), (PodState::Failing, Some(10_000)));
    assert_eq!([9_999, 10_000].map(|at| pod.is_active_at(at)), [true, false]);
    assert!(pod.is_leftover() && !pod.is_active());
    // It stays failed since then, whatever else is seen of it.
    web.wait_until(20_000).pod(100, |pod| pod.node = None);
    assert_eq!(known(&web, 100).unwrap().now.terminal_millis, Some(10_000));
    // When one failed that a first list tells of is not known: since it was made at the earliest.
    let late = web.first_listed();
    assert_eq!(known(&late, 100).unwrap().now.terminal_millis, Some(0));
    assert_eq!(late.lines(LineKind::Outside), Vec::<String>::new());
}

#[test]
fn old_pods_that_ended_do_not_keep_recreate_waiting() {
    let mut web = Web::live(3);
    web.deployment(|deployment| deployment.spec.strategy = Strategy::Recreate);
    crate::made::next_revision(&mut web, 2, [0, 0]);
    web.delete_pod(100);
    web.pod(101, |pod| pod.phase = Phase::Failed);
    web.kill_pod(102);
    let sums = |web: &Web| {
        let model = web.timeline.model();
        Sums::from_pods(model, model.deployments.get(&WEB).unwrap())
    };
    assert_eq!((sums(&web).old_pods, sums(&web).available), (1, 0));
    assert!(
        web.view().next.starts_with("Recreate: the next revision starts when 1 pod is gone."),
        "{}",
        web.view().next
    );
    web.delete_pod(102);
    assert_eq!(sums(&web).old_pods, 0);
    // What ReplicaSets report of their pods is behind what the pods say.
    let model = web.timeline.model();
    assert_eq!(Sums::from_sets(model, model.deployments.get(&WEB).unwrap()).available, 3);
}

#[test]
fn pods_are_released_and_adopted_once_for_every_change_of_owner() {
    let mut web = Web::live(1);
    let times = |web: &Web| {
        let pod = known(web, 100).unwrap();
        (
            pod.released_millis(),
            pod.releases.last().map(|last| last.at_millis),
            pod.adopted_millis(),
            pod.owners.len(),
            pod.is_out_of_rotation(),
        )
    };
    let owner = Some(Uid::from_bits(2));
    assert_eq!(times(&web), (None, None, None, 1, false));
    web.wait_until(10_000).pod(100, |pod| pod.meta.controller = None);
    assert_eq!(times(&web), (Some(10_000), Some(10_000), None, 1, true));
    web.now = 11_000;
    web.pod(100, |pod| pod.node = Some("node-2".into())); // still nobody's
    assert_eq!(times(&web), (Some(10_000), Some(10_000), None, 1, true));
    web.wait_until(20_000).pod(100, |pod| pod.meta.controller = owner);
    assert_eq!(times(&web), (Some(10_000), Some(10_000), Some(20_000), 1, false));
    web.now = 21_000;
    web.pod(100, |pod| pod.node = Some("node-3".into())); // still its own
    web.wait_until(30_000).pod(100, |pod| pod.meta.controller = None);
    web.wait_until(40_000).pod(100, |pod| pod.meta.controller = Some(Uid::from_bits(77)));
    assert_eq!(times(&web), (Some(10_000), Some(30_000), Some(40_000), 2, false));
    assert_eq!(known(&web, 100).unwrap().replica_set(), owner, "where it began");
}

#[test]
fn a_release_is_told_of_the_revision_that_had_the_pod() {
    let mut web = Web::replacing();
    for (seconds, controller) in [(30, None), (31, Some(SECOND)), (32, None), (33, Some(2)), (34, None)] {
        web.wait_until(seconds * 1_000).pod(100, |pod| pod.meta.controller = controller.map(Uid::from_bits));
    }
    let told = web.told().into_iter();
    let revisions: Vec<String> = told
        .filter_map(|line| Some(line.strip_prefix("Pod p0100 released by revision ")?.split_once(':')?.0.to_owned()))
        .collect();
    assert_eq!(revisions, ["1", "2", "1"]);
    assert_eq!(known(&web, 100).unwrap().last_owner(), Some(Uid::from_bits(2)));
}

#[test]
fn an_adoption_is_told_of_the_replica_set_that_has_the_pod_now() {
    let adopted = |web: &Web| -> Vec<String> {
        web.told().into_iter().filter_map(|line| Some(line.strip_prefix("Pod p0100 adopted ")?.to_owned())).collect()
    };
    let mut web = Web::replacing();
    let steps = [(30, None), (31, Some(SECOND)), (32, None), (33, Some(SECOND)), (34, Some(2))];
    for (seconds, controller) in steps {
        web.wait_until(seconds * 1_000).pod(100, |pod| pod.meta.controller = controller.map(Uid::from_bits));
    }
    let told = ["by revision 2: its labels match.", "again: its labels match.", "by revision 1: its labels match."];
    assert_eq!(adopted(&web), told);
    // Of another Deployment.
    let mut web = Web::live(2);
    let mut other = deployment();
    other.meta = meta(9, "other", None);
    web.timeline.apply(web.now, Fact::Deployment(Box::new(other), Seen::Added));
    let mut theirs = set(20, 1, 1, 0);
    theirs.meta = meta(20, "other-1", Some(9));
    web.timeline.apply(web.now, Fact::ReplicaSet(Box::new(theirs), Seen::Added));
    for (now, controller) in [(60_000, None), (61_000, Some(20))] {
        web.wait_until(now).pod(100, |pod| pod.meta.controller = controller.map(Uid::from_bits));
    }
    assert_eq!(adopted(&web), ["by a ReplicaSet that does not belong to this Deployment."]);
    // One that is not known may be anybody's.
    web.wait_until(70_000).pod(101, |pod| pod.meta.controller = Some(Uid::from_bits(77)));
    assert!(!web.told().iter().any(|line| line.starts_with("Pod p0101 adopted")), "{:#?}", web.told());
}

#[test]
fn a_released_pod_counts_for_the_replica_set_that_let_go_of_it() {
    let mut web = Web::replacing();
    for (seconds, controller) in [(30, None), (31, Some(SECOND)), (32, Some(2)), (33, None)] {
        web.wait_until(seconds * 1_000).pod(100, |pod| pod.meta.controller = controller.map(Uid::from_bits));
    }
    let out = |at| {
        let then = web.timeline.model().as_of(WEB, at);
        [2, SECOND].map(|set| then.pod_counts(Uid::from_bits(set)).out_of_rotation)
    };
    assert_eq!([out(29_999), out(30_000), out(31_000), out(33_000)], [[0, 0], [1, 0], [0, 0], [1, 0]]);
    let now = [2, SECOND].map(|set| web.timeline.model().pod_counts(Uid::from_bits(set)).out_of_rotation);
    assert_eq!(now, [1, 0]);
}

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
    assert_eq!(told(|pod| pod.reason = "OutOfcpu".into(), false), "Pod p0100 failed: OutOfcpu; the revision stays 1.");
}

#[test]
fn ready_pods_count_when_their_replica_sets_seconds_are_over() {
    let mut web = Web::live(0).at(100_000);
    web.set(2, |set| set.now.min_ready_seconds = 10);
    web.add_pod(200, 2, |pod| {
        pod.ready = Some(condition(ConditionStatus::True, "", ""));
        pod.ready.as_mut().unwrap().last_transition_millis = Some(100_000);
    });
    assert_eq!(states(&web, 200), [(PodState::Ready, 100_000)]);
    assert_eq!(web.timeline.next_due_millis(), Some(110_000));
    // Asked for fewer seconds it counts earlier, and for more later.
    web.set(2, |set| set.now.min_ready_seconds = 5);
    assert_eq!(web.timeline.next_due_millis(), Some(105_000));
    web.set(2, |set| set.now.min_ready_seconds = 20);
    assert_eq!(web.timeline.next_due_millis(), Some(120_000));
    assert!(web.timeline.tick(119_999).is_empty());
    assert!(!web.timeline.tick(120_000).is_empty());
    assert_eq!(states(&web, 200), [(PodState::Ready, 100_000), (PodState::Available, 120_000)]);
    assert_eq!((web.timeline.next_due_millis(), web.view().counts.available), (None, 1));
    // One whose seconds are over in this very moment counts at once.
    for (ready_since, state) in [(110_000, PodState::Available), (110_001, PodState::Ready)] {
        let mut other = Web::live(0).at(120_000);
        other.set(2, |set| set.now.min_ready_seconds = 10);
        other.add_pod(201, 2, |pod| {
            ready(pod);
            pod.ready.as_mut().unwrap().last_transition_millis = Some(ready_since);
        });
        assert_eq!(states(&other, 201), [(state, 120_000)]);
    }
    // And again no longer, when more is asked for.
    web.wait_until(121_000).set(2, |set| set.now.min_ready_seconds = 60);
    assert_eq!(states(&web, 200).last(), Some(&(PodState::Ready, 121_000)));
    web.wait_until(122_000).set(2, |set| set.now.min_ready_seconds = 0);
    assert_eq!(states(&web, 200).last(), Some(&(PodState::Available, 122_000)));
    // One that is not ready any more is not due.
    web.set(2, |set| set.now.min_ready_seconds = 60);
    assert!(web.timeline.next_due_millis().is_some());
    web.pod(200, unready);
    assert_eq!(web.timeline.next_due_millis(), None);
}

#[test]
fn whole_seconds_do_not_tell_clocks_apart() {
    // Its clock is so much behind ours; a pod is ready at 100 s by its clock, and counts ten seconds later.
    let due = |behind: Millis| {
        let mut web = Web::live(0).at(100_000 + behind);
        web.set(2, |set| set.now.min_ready_seconds = 10);
        for number in 0..40 {
            web.add_pod(300 + number, 2, |pod| pod.meta.created_at_millis = 100_000);
        }
        web.pod(300, |pod| {
            ready(pod);
            pod.ready.as_mut().unwrap().last_transition_millis = Some(100_000);
        });
        (web.timeline.skew_millis(), web.timeline.next_due_millis())
    };
    assert_eq!(due(0), (0, Some(110_000)));
    assert_eq!(due(1_999), (0, Some(110_000)));
    assert_eq!(due(2_000), (2_000, Some(112_000)));
    assert_eq!(due(-2_000), (-2_000, Some(108_000)));
}

#[test]
fn clocks_that_only_late_arrivals_told_apart_are_set_right_for_pods_that_are_ready() {
    let due = |web: &Web| (web.timeline.skew_millis(), web.timeline.next_due_millis());
    let ready_since = |millis: Millis| {
        move |pod: &mut PodFact| {
            ready(pod);
            pod.meta.created_at_millis = 100_000;
            pod.ready.as_mut().unwrap().last_transition_millis = Some(millis);
        }
    };
    let mut web = Web::live(0).at(108_000);
    web.timeline = Timeline::from_model(web.timeline.model().clone(), 8_000);
    web.set(2, |set| set.now.min_ready_seconds = 10);
    web.add_pod(300, 2, ready_since(101_000));
    // It was seen ready: ten seconds later at most.
    assert_eq!(due(&web), (8_000, Some(118_000)));
    web.wait(1_000).pod(300, |pod| pod.node = Some("node-2".into()));
    assert_eq!(due(&web), (8_000, Some(118_000)));
    web.wait(1_000).pod(300, ready_since(109_000));
    assert_eq!(due(&web), (8_000, Some(120_000)));
    web.add_pod(301, 2, |pod| pod.meta.created_at_millis = 110_000);
    assert_eq!(due(&web), (0, Some(119_000)));
}

#[test]
fn a_pod_that_counts_goes_on_to_count_while_clocks_are_set_right() {
    let available = |skew: Millis| {
        let mut web = Web::live(0).at(200_000);
        web.timeline = Timeline::from_model(web.timeline.model().clone(), skew);
        web.set(2, |set| set.now.min_ready_seconds = 10);
        web.add_pod(300, 2, |pod| {
            ready(pod);
            pod.meta.created_at_millis = 200_000 - skew;
            pod.ready.as_mut().unwrap().last_transition_millis = Some(199_000);
        });
        web.timeline.tick(210_000);
        assert_eq!(known(&web, 300).unwrap().state(), PodState::Available);
        web.at(212_000)
    };
    let mut less = available(100_000);
    less.add_pod(301, 2, |pod| pod.meta.created_at_millis = 162_000);
    assert_eq!(less.timeline.skew_millis(), 50_000);
    let mut more = available(0);
    (0..31).for_each(|number| more.add_pod(301 + number, 2, |pod| pod.meta.created_at_millis = 112_000));
    assert_eq!(more.timeline.skew_millis(), 100_000);
    for mut web in [less, more] {
        web.pod(300, |pod| pod.node = Some("node-2".into()));
        assert_eq!(known(&web, 300).unwrap().state(), PodState::Available);
    }
}

#[test]
fn states_that_a_list_tells_first_began_at_a_time_that_nobody_saw() {
    let mut web = Web::live(2).at(60_000);
    web.unseen_pod(100, unready);
    web.relisted(30_000);
    let listed = |web: &Web, number| known(web, number).unwrap().now.listed_millis;
    assert_eq!([listed(&web, 100), listed(&web, 101)], [Some(60_000), None]);
    // Seen as it changes, it is known; the same again tells nothing new.
    web.wait_until(70_000).pod(101, unready);
    web.wait_until(80_000).relisted(75_000);
    assert_eq!([listed(&web, 100), listed(&web, 101)], [Some(60_000), None]);
    let late = web.first_listed();
    assert_eq!([listed(&late, 100), listed(&late, 101)], [Some(80_000), Some(80_000)]);
}

#[test]
fn more_seconds_are_asked_of_pods_that_are_ready_and_its_own() {
    let mut web = Web::live(3).at(60_000);
    web.pod(100, unready);
    web.pod(101, |pod| pod.meta.controller = None);
    for pod in [101, 102] {
        web.pod(pod, |pod| pod.ready.as_mut().unwrap().last_transition_millis = Some(60_000));
    }
    web.wait_until(61_000).set(2, |set| set.now.min_ready_seconds = 30);
    let states: Vec<PodState> = (100..103).map(|pod| known(&web, pod).unwrap().state()).collect();
    assert_eq!(states, [PodState::Unready, PodState::Available, PodState::Ready]);
}
