//! Episodes without a rollout: their kind, their begin and end, and their title.

use timeline::fact::PodFact;
use timeline::{EpisodeKind, Millis, assess, say};

use crate::made::{WEB, Web, crashing, ready, unready};

/// A Deployment at rest, as the recording of an episode begins.
fn at_rest(replicas: u32) -> Web {
    Web::live(replicas).at(100_000).first_listed().at(105_000)
}

/// The kind, begin, end and title of an episode that is over.
fn told(web: &Web) -> (EpisodeKind, Millis, Option<Millis>, String) {
    let episode = assess::episode(web.timeline.model(), WEB).unwrap();
    (episode.kind, episode.began_millis, episode.ended_millis, say::episode(&episode, false))
}

fn title(web: &Web) -> String {
    told(web).3
}

fn runs(pod: &mut PodFact) {
    ready(pod);
    pod.containers[0].state = Some(timeline::fact::ContainerState::Running);
}

#[test]
fn a_workload_at_rest_has_no_episode() {
    assert!(assess::episode(at_rest(3).timeline.model(), WEB).is_none());
}

#[test]
fn a_deleted_pod_that_is_replaced_is_a_recovery() {
    let mut web = at_rest(3);
    web.kill_pod(100);
    web.add_pod(200, 2, |_| {});
    web.report();
    let open = assess::episode(web.timeline.model(), WEB).unwrap();
    assert_eq!((open.kind, open.ended_millis), (EpisodeKind::Recovery, None));
    assert_eq!(say::episode(&open, true), "Pod p0100 deleted");
    web.wait_until(108_200).pod(200, ready);
    web.report();
    web.wait_until(130_000).delete_pod(100);
    let title = "Pod p0100 deleted, recovered after 3.2 s".to_owned();
    assert_eq!(told(&web), (EpisodeKind::Recovery, 105_000, Some(108_200), title));
}

#[test]
fn pods_that_leave_a_node_are_counted_with_the_reason() {
    let mut web = at_rest(3);
    for number in 0..2 {
        web.pod(100 + number, |pod| pod.disruption = Some("TerminationByKubelet".into()));
        web.kill_pod(100 + number);
        web.add_pod(200 + number, 2, |_| {});
    }
    web.now = 145_000;
    (0..2).for_each(|number| web.pod(200 + number, ready));
    assert_eq!(title(&web), "2 pods evicted from node node-1, recovered after 40 s");
    let mut hostile = at_rest(1);
    hostile.pod(100, |pod| {
        (pod.disruption, pod.node) = (Some("TerminationByKubelet".into()), Some("n\u{202e}\n<b>".into()))
    });
    hostile.kill_pod(100);
    assert!(!title(&hostile).contains(['\u{202e}', '\n']), "{}", title(&hostile));
}

#[test]
fn a_change_of_replicas_is_a_scaling() {
    let mut web = at_rest(3);
    web.scale(2, 10);
    (0..7).for_each(|number| web.add_pod(200 + number, 2, |_| {}));
    web.report();
    web.now = 130_000;
    (0..7).for_each(|number| web.pod(200 + number, ready));
    web.report();
    let up = "Scaled from 3 to 10, ready after 25 s".to_owned();
    assert_eq!(told(&web), (EpisodeKind::Scaling, 105_000, Some(130_000), up));
    let mut web = at_rest(3);
    web.scale(2, 0);
    (0..3).for_each(|number| web.kill_pod(100 + number));
    assert_eq!(told(&web), (EpisodeKind::Scaling, 105_000, None, "Scaled from 3 to 0".to_owned()));
    web.now = 135_000;
    (0..3).for_each(|number| web.delete_pod(100 + number));
    assert_eq!(title(&web), "Scaled from 3 to 0, done after 30 s");
}

#[test]
fn containers_that_restart_are_a_failure_whatever_else_happens() {
    let mut web = at_rest(3);
    for restarts in 1..=4 {
        web.pod(100, |pod| {
            unready(pod);
            crashing(restarts)(pod);
            pod.containers[0].last_exit.as_mut().unwrap().reason = "OOMKilled".into();
        });
        web.now += 40_000;
    }
    web.wait_until(285_000).pod(100, runs);
    let once = "Pod p0100 restarted 4 times (OOMKilled), recovered after 3 min 0 s".to_owned();
    assert_eq!(told(&web), (EpisodeKind::Failure, 105_000, Some(285_000), once));
    web.scale(2, 0);
    (0..3).for_each(|number| web.kill_pod(100 + number));
    (0..3).for_each(|number| web.delete_pod(100 + number));
    let given_up = "Scaled from 3 to 0; Pod p0100 restarted 4 times (OOMKilled), done after 3 min 0 s";
    assert_eq!(title(&web), given_up, "nothing recovered");
}

#[test]
fn pods_that_are_not_available_for_an_unknown_reason_are_counted() {
    let mut web = at_rest(5);
    (0..2).for_each(|number| web.pod(100 + number, unready));
    web.now = 705_000;
    (0..2).for_each(|number| web.pod(100 + number, ready));
    let title = "2 of 5 pods were not available for 10 min 0 s".to_owned();
    assert_eq!(told(&web), (EpisodeKind::Failure, 105_000, Some(705_000), title));
}

#[test]
fn no_duration_is_told_where_the_begin_or_a_part_was_not_observed() {
    let mut web = Web::live(3);
    web.pod(100, unready);
    web.now = 100_000;
    let mut web = web.first_listed().at(160_000);
    web.pod(100, ready);
    assert_eq!(title(&web), "1 of 3 pods was not available");
    let mut web = at_rest(3);
    web.lose_pod(100);
    web.wait_until(200_000).relisted(106_000);
    web.add_ready_pod(200, 2);
    assert_eq!(title(&web), "Pod p0100 disappeared while not observed, recovered");
}

#[test]
fn a_deleted_deployment_is_a_deletion() {
    let mut web = at_rest(2);
    web.delete_deployment();
    (0..2).for_each(|number| web.kill_pod(100 + number));
    web.now = 135_000;
    (0..2).for_each(|number| web.delete_pod(100 + number));
    let title = "Deployment deleted, its last pod was gone after 30 s".to_owned();
    assert_eq!(told(&web), (EpisodeKind::Deletion, 105_000, Some(135_000), title));
}
