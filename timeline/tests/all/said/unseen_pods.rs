//! Pods that nobody saw, or saw come and go.

use crate::made::{WEB, Web, next_revision, pod, ready, unready};
use timeline::fact::{ContainerState, Exit, Phase, PodFact, Seen, Strategy};
use timeline::{Fact, Millis};

#[test]
fn where_pods_are_not_seen_their_replica_sets_are_believed() {
    let web = Web::live(3).at(60_000);
    let mut after_gap = web.first_listed_without_pods();
    after_gap.now += 15_000;
    assert_eq!(after_gap.verdict(), "[Complete] Revision 1 is complete: 3 of 3 available.");
    assert_eq!(after_gap.view().reasons, []);
    assert_eq!(after_gap.view().sets.iter().map(|set| set.available).sum::<u32>(), 3);
    // In the middle of a rollout: what they report is counted, of the current one by itself.
    let mut web = Web::replacing();
    web.set(3, |set| (set.now.counts.desired, set.now.counts.replicas, set.now.counts.available) = (2, 2, 1));
    web.set(2, |set| (set.now.counts.desired, set.now.counts.replicas, set.now.counts.available) = (3, 4, 2));
    let counts = web.first_listed_without_pods().view().counts;
    assert_eq!((counts.available, counts.new_available, counts.not_yet, counts.desired), (3, 1, 3, 5));
    assert_eq!((counts.terminating, counts.failed, counts.out_of_rotation), (0, 0, 0));
}

#[test]
fn what_is_taken_down_is_named_though_its_pods_are_not_seen() {
    let mut web = Web::live(3);
    web.deployment(|deployment| deployment.spec.strategy = Strategy::Recreate);
    web.now = 20_000;
    next_revision(&mut web, 2, [0, 0]);
    web.set(2, |set| (set.now.counts.desired, set.now.counts.replicas, set.now.counts.available) = (0, 3, 0));
    web.deployment(|deployment| {
        (deployment.status.replicas, deployment.status.updated, deployment.status.available) = (3, 0, 0);
    });
    let verdict = web.first_listed_without_pods().verdict();
    assert_eq!(verdict, "[Taking down] Revision 1 is being taken down before revision 2 starts.");
}

#[test]
fn pods_that_went_unseen_are_not_counted_with_those_that_came() {
    let begun = || {
        let mut web = Web::replacing();
        web.add_ready_pod(200, 3);
        web
    };
    let mut later = begun();
    [100, 101].into_iter().for_each(|number| later.delete_pod(number));
    [201, 202].into_iter().for_each(|number| later.add_ready_pod(number, 3));
    let mut web = begun().at(60_000);
    web.restore(&later);
    web.relisted(25_000);
    let rollout = web.timeline.model().deployments.get(&WEB).unwrap().rollouts.last().unwrap();
    assert_eq!((rollout.peak_active, rollout.peak_pods), (4, 4));
    web.wait_until(61_000).add_pod(203, 3, |_| {});
    let rollout = web.timeline.model().deployments.get(&WEB).unwrap().rollouts.last().unwrap();
    assert_eq!((rollout.peak_active, rollout.peak_pods), (5, 5));
    // The kinds are listed at the same time.
    let listed_in_part = || {
        let mut web = begun().at(60_000);
        web.restore(&later);
        for number in [201, 202] {
            let mut came = pod(number, 3, &format!("web-3-p0{number}"));
            ready(&mut came);
            web.timeline.apply(60_000, Fact::Pod(Box::new(came), Seen::InList));
        }
        web
    };
    let mut web = listed_in_part();
    let second = web.replica_set(3);
    web.timeline.apply(60_000, Fact::ReplicaSet(Box::new(second), Seen::InList));
    web.relisted(25_000);
    let rollout = web.timeline.model().deployments.get(&WEB).unwrap().rollouts.last().unwrap();
    assert_eq!((rollout.peak_active, rollout.peak_pods), (4, 4));
    // Other kinds are watched meanwhile: a ReplicaSet changes, and the next revision begins.
    let mut web = listed_in_part();
    web.set(3, |set| set.now.counts.replicas = 3);
    next_revision(&mut web, 3, [1, 3]);
    web.relisted(25_000);
    let rollouts = web.timeline.model().deployments.get(&WEB).unwrap().rollouts.iter();
    let peaks: Vec<_> = rollouts.skip(1).map(|rollout| (rollout.peak_active, rollout.peak_pods)).collect();
    assert_eq!(peaks, [(4, 4), (4, 4)]);
    // A recording may lack the end of a list.
    let mut web = listed_in_part();
    web.add_pod(203, 3, |_| {});
    let rollout = web.timeline.model().deployments.get(&WEB).unwrap().rollouts.last().unwrap();
    assert_eq!((rollout.peak_active, rollout.peak_pods), (7, 7));
}

#[test]
fn pods_that_went_unseen_are_not_available_with_those_that_came() {
    let begun = || {
        let mut web = Web::replacing();
        [200, 201].into_iter().for_each(|number| web.add_ready_pod(number, 3));
        web
    };
    let available_millis = |came: &[u128]| {
        let mut later = begun();
        [200, 201].into_iter().for_each(|number| later.delete_pod(number));
        came.iter().for_each(|number| later.add_ready_pod(*number, 3));
        let mut web = begun().at(60_000);
        web.restore(&later);
        web.relisted(25_000);
        web.timeline.model().deployments.get(&WEB).unwrap().rollouts.last().unwrap().available_millis
    };
    assert_eq!(available_millis(&[202, 203]), None);
    assert_eq!(available_millis(&[202, 203, 204]), Some(60_000));
}

#[test]
fn pods_that_failed_unseen_did_so_when_their_containers_ended() {
    let evicted = |finished_millis: Millis| {
        move |pod: &mut PodFact| {
            unready(pod);
            (pod.phase, pod.reason, pod.message) = (Phase::Failed, "Evicted".into(), "low on memory".into());
            let (exit_code, reason) = (143, "Error".to_owned());
            let exit = Exit { code: exit_code, reason: reason.clone(), ..Exit::default() };
            let exit = Exit { finished_millis: Some(finished_millis), ran_millis: Some(60_000), ..exit };
            pod.containers[0].last_exit = Some(exit.into());
            pod.containers[0].state = Some(ContainerState::Terminated { exit_code, reason, message: String::new() });
        }
    };
    let said = |first_millis: Millis| {
        let mut web = Web::live(3).at(200_000);
        web.unseen_pod(100, evicted(first_millis));
        web.relisted(61_000);
        web.wait_until(210_000).pod(101, evicted(210_000));
        web.view().reasons.into_iter().map(|reason| reason.sentence).find(|said| said.contains(" failed"))
    };
    let one = "A pod failed, Evicted (pod p0101): low on memory.".to_owned();
    assert_eq!(said(119_000), Some(one));
    let both = "2 pods failed within 90 s, Evicted (one is p0100): low on memory.".to_owned();
    assert_eq!(said(120_000), Some(both));
}

#[test]
fn a_pod_that_became_available_while_nobody_looked_does_not_tell_how_long_pods_take() {
    let mut web = Web::made(2);
    web.wait_until(5_000).pod(100, ready);
    web.wait_until(77_000).unseen_pod(101, ready);
    web.relisted(10_000);
    assert_eq!(web.view().counts.available, 2);
    assert_eq!(web.timeline.model().start_times(WEB), Some((5_000, 5_000)));
}
