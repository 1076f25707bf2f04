//! When pods that are ready count: after the seconds that their ReplicaSet asks for, by a clock that may differ from ours.

use crate::made::{Web, ready, unready};
use crate::said::lives::{known, states};
use timeline::fact::PodFact;
use timeline::model::PodState;
use timeline::{Millis, Timeline};

/// A pod is ready since that time, by the clock of its kubelet.
pub fn ready_since(millis: Millis) -> impl Fn(&mut PodFact) {
    move |pod| {
        ready(pod);
        pod.ready.as_mut().unwrap().last_transition_millis = Some(millis);
    }
}

#[test]
fn ready_for_long_enough_is_told_by_the_clock_of_the_cluster() {
    // Our clock is 30 s behind the cluster's, then 30 s ahead.
    for skew in [-30_000, 30_000] {
        let mut web = Web::live(1).at(100_000);
        for number in 0..40 {
            // Objects that are made while we watch tell how far the clocks are apart.
            web.add_pod(300 + number, 99, |pod| pod.meta.created_at_millis = 100_000 - skew);
        }
        web.set(2, |set| set.now.min_ready_seconds = 10);
        web.add_pod(200, 2, |pod| {
            pod.meta.created_at_millis = 100_000 - skew;
            ready_since(100_000 - skew)(pod);
        });
        let state = |web: &Web| known(web, 200).unwrap().state().name();
        assert_eq!(state(&web), "ready", "skew {skew}");
        let due = web.timeline.next_due_millis().unwrap();
        assert!((109_000..=111_000).contains(&due), "skew {skew}: due at {due}");
        web.timeline.tick(111_000);
        assert_eq!(state(&web), "available", "skew {skew}");
    }
}

#[test]
fn pods_count_by_the_seconds_that_their_replica_set_asks_for_now() {
    let mut web = Web::live(2).at(20_000);
    web.pod(100, ready_since(5_000));
    web.pod(101, ready_since(18_000));
    let states = |web: &Web| [100, 101].map(|number| known(web, number).unwrap().state().name());
    assert_eq!(states(&web), ["available", "available"]);
    // More seconds: one of them is not ready for so long yet.
    web.set(2, |set| set.now.min_ready_seconds = 10);
    assert_eq!(states(&web), ["available", "ready"]);
    assert_eq!(web.view().counts.available, 1);
    assert_eq!(web.timeline.next_due_millis(), Some(28_000));
    // Fewer: it counts at once.
    web.set(2, |set| set.now.min_ready_seconds = 1);
    assert_eq!(states(&web), ["available", "available"]);
    assert_eq!(web.timeline.next_due_millis(), None);
}

#[test]
fn ready_pods_count_when_their_replica_sets_seconds_are_over() {
    let mut web = Web::live(0).at(100_000);
    web.set(2, |set| set.now.min_ready_seconds = 10);
    web.add_pod(200, 2, ready_since(100_000));
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
    for (since, state) in [(110_000, PodState::Available), (110_001, PodState::Ready)] {
        let mut other = Web::live(0).at(120_000);
        other.set(2, |set| set.now.min_ready_seconds = 10);
        other.add_pod(201, 2, ready_since(since));
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
        web.pod(300, ready_since(100_000));
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
    let mut web = Web::live(0).at(108_000);
    web.timeline = Timeline::from_model(web.timeline.model().clone(), 8_000);
    web.set(2, |set| set.now.min_ready_seconds = 10);
    web.add_pod(300, 2, |pod| {
        pod.meta.created_at_millis = 100_000;
        ready_since(101_000)(pod);
    });
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
            pod.meta.created_at_millis = 200_000 - skew;
            ready_since(199_000)(pod);
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
fn more_seconds_are_asked_of_pods_that_are_ready_and_its_own() {
    let mut web = Web::live(3).at(60_000);
    web.pod(100, unready);
    web.pod(101, |pod| pod.meta.controller = None);
    [101, 102].into_iter().for_each(|pod| web.pod(pod, ready_since(60_000)));
    web.wait_until(61_000).set(2, |set| set.now.min_ready_seconds = 30);
    let states: Vec<PodState> = (100..103).map(|pod| known(&web, pod).unwrap().state()).collect();
    assert_eq!(states, [PodState::Unready, PodState::Available, PodState::Ready]);
}
