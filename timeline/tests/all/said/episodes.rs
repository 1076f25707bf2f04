//! Episodes without a rollout: their kind, their begin and end, and their title.

use timeline::fact::{ConditionStatus, EventFact, Exit, Phase, PodFact, Seen};
use timeline::model::EndReason;
use timeline::model::story::Happening;
use timeline::{EpisodeKind, Fact, Millis, Uid, assess, rollout, say};

use super::episode_restarts::crashed_once;
use super::restarts::lost_and_evicted;
use crate::made::{WEB, Web, condition, crashing, image, next_revision, pod, ready, unready, warning};

/// A Deployment at rest, as the recording of an episode begins.
pub(super) fn at_rest(replicas: u32) -> Web {
    Web::live(replicas).at(100_000).first_listed().at(105_000)
}

/// The kind, begin, end and title of an episode that is over.
pub(super) fn told(web: &Web) -> (EpisodeKind, Millis, Option<Millis>, String) {
    let episode = assess::episode(web.timeline.model(), WEB, 0).unwrap();
    (episode.kind, episode.began_millis, episode.ended_millis, say::episode(&episode, false))
}

pub(super) fn title(web: &Web) -> String {
    told(web).3
}

pub(super) fn runs(pod: &mut PodFact) {
    ready(pod);
    pod.containers[0].state = Some(timeline::fact::ContainerState::Running);
}

#[test]
fn a_scaling_from_zero_has_a_duration() {
    let mut web = at_rest(0);
    web.scale(2, 2);
    (200..202).for_each(|pod| web.add_pod(pod, 2, |_| {}));
    web.now = 107_200;
    (200..202).for_each(|pod| web.pod(pod, ready));
    let title = "Scaled from 0 to 2, ready after 2.2 s".to_owned();
    assert_eq!(told(&web), (EpisodeKind::Scaling, 105_000, Some(107_200), title));
}

#[test]
fn a_workload_at_rest_has_no_episode() {
    assert!(assess::episode(at_rest(3).timeline.model(), WEB, 0).is_none());
}

#[test]
fn pods_of_which_more_seconds_are_asked_are_no_episode() {
    let begins = |web: &Web| assess::episode(web.timeline.model(), WEB, 0).map(|episode| episode.began_millis);
    let asked = || {
        let mut web = at_rest(3);
        web.set(2, |set| set.now.min_ready_seconds = 300);
        web
    };
    let mut over = asked();
    assert_eq!((begins(&over), over.view().counts.available), (None, 0));
    over.timeline.tick(300_000);
    assert_eq!((begins(&over), over.view().counts.available), (None, 3));
    // One that is not ready any more before they are over is missing since then.
    let mut unready_before = asked();
    unready_before.wait_until(110_000).pod(100, unready);
    assert_eq!(begins(&unready_before), Some(110_000));
}

#[test]
fn an_edit_whose_replica_set_is_refused_is_a_failure_until_it_is_taken_back() {
    let mut web = at_rest(3);
    let why = "admission webhook \"policy\" denied the request: no";
    web.edit_spec(|deployment| {
        deployment.spec.images = image("v2");
        deployment.status.progressing = Some(condition(ConditionStatus::False, "ReplicaSetCreateError", why));
    });
    let open = assess::episode(web.timeline.model(), WEB, 0).unwrap();
    assert_eq!((open.kind, open.began_millis, open.ended_millis), (EpisodeKind::Failure, 105_000, None));
    let refused = "The next revision could not start: webhook policy denied the new ReplicaSet";
    assert_eq!(say::episode(&open, true), refused, "it may be read after the last try");
    let warning = warning(900, 1, ("Deployment", "web"), "ReplicaSetCreateError", why);
    let event = Box::new(EventFact { last_millis: Some(135_000), ..warning });
    let mut late = web.first_listed();
    for web in [&mut web, &mut late] {
        web.timeline.apply(135_000, Fact::Event(event.clone()));
        web.wait_until(165_000).edit("v1");
        web.report();
    }
    let settling = assess::episode(web.timeline.model(), WEB, 0).unwrap();
    assert_eq!(say::episode(&settling, true), refused, "it is open until it has been at rest for a while");
    let title = format!("{refused}, over after 1 min 0 s");
    assert_eq!(told(&web), (EpisodeKind::Failure, 105_000, Some(165_000), title));
    assert_eq!(told(&late).3, refused, "it was refused before somebody looked");
    // Later episodes do not tell of it.
    let mut later = web.at(300_000).first_listed().at(305_000);
    later.timeline.apply(305_000, Fact::Event(event));
    later.edit_spec(|_| {});
    later.report();
    assert!(assess::episode(later.timeline.model(), WEB, 0).is_none());
}

#[test]
fn a_deleted_pod_that_is_replaced_is_a_recovery() {
    let mut web = at_rest(3);
    web.kill_pod(100);
    web.add_pod(200, 2, |_| {});
    web.report();
    let open = assess::episode(web.timeline.model(), WEB, 0).unwrap();
    assert_eq!((open.kind, open.ended_millis), (EpisodeKind::Recovery, None));
    assert_eq!(say::episode(&open, true), "Pod p0100 deleted");
    web.wait_until(108_200).pod(200, ready);
    web.report();
    web.wait_until(130_000).delete_pod(100);
    let title = "Pod p0100 deleted, recovered after 3.2 s".to_owned();
    assert_eq!(told(&web), (EpisodeKind::Recovery, 105_000, Some(108_200), title));
}

#[test]
fn losses_after_a_rollout_are_those_of_a_time() {
    let mut web = at_rest(3);
    web.kill_pod(100);
    web.now = 110_000;
    for number in [101, 102] {
        web.pod(number, |pod| pod.disruption = Some("EvictionByEvictionAPI".into()));
        web.kill_pod(number);
    }
    let after = |from: Millis, to: Millis| {
        let deployment = web.timeline.model().deployments.get(&WEB).unwrap();
        say::say_losses(&assess::losses(deployment, from..=to), None, false)
    };
    let both = "Pod p0100 deleted; 2 pods evicted from node node-1 after the rollout was complete";
    assert_eq!(after(105_000, 110_000).as_deref(), Some(both));
    let evicted = "2 pods evicted from node node-1 after the rollout was complete";
    assert_eq!(after(105_001, 110_000).as_deref(), Some(evicted));
    assert_eq!(after(105_001, 109_999), None);
}

/// It may have gone before the rollout was complete.
#[test]
fn a_pod_that_went_while_not_observed_is_no_loss_after_a_rollout() {
    let mut web = at_rest(3);
    web.lose_pod(100);
    web.relisted(102_000);
    assert_eq!(title(&web), "Pod p0100 disappeared while not observed");
    let deployment = web.timeline.model().deployments.get(&WEB).unwrap();
    assert_eq!(say::say_losses(&assess::losses(deployment, 0..=Millis::MAX), None, false), None);
}

#[test]
fn pods_that_leave_their_replica_set_are_counted_unless_it_is_deleted_without_them() {
    let lost = |is_deleted: bool| {
        let mut web = at_rest(3);
        web.set(2, |set| set.now.deleting = is_deleted);
        (100..102).for_each(|number| web.pod(number, |pod| pod.meta.controller = None));
        let deployment = web.timeline.model().deployments.get(&WEB).unwrap();
        say::say_losses(&assess::losses(deployment, 0..=Millis::MAX), None, false)
    };
    assert_eq!(lost(false).as_deref(), Some("2 pods left their ReplicaSet after the rollout was complete"));
    assert_eq!(lost(true), None);
}

/// A pod that is given other labels, and its own ones again, may do so more than once.
#[test]
fn a_pod_that_leaves_its_replica_set_again_and_again_is_one_pod() {
    let mut web = at_rest(3);
    let lost = |web: &Web| {
        let deployment = web.timeline.model().deployments.get(&WEB).unwrap();
        say::say_losses(&assess::losses(deployment, 0..=Millis::MAX), None, false).unwrap()
    };
    let leave = |web: &mut Web| web.pod(100, |pod| pod.meta.controller = None);
    let come_back = |web: &mut Web| web.pod(100, |pod| pod.meta.controller = Some(Uid::from_bits(2)));
    leave(&mut web);
    let left = "Pod p0100 left its ReplicaSet after the rollout was complete";
    assert_eq!(lost(&web), left);
    come_back(web.wait_until(115_000));
    let back = "Pod p0100 left its ReplicaSet for a while after the rollout was complete";
    assert_eq!(lost(&web), back);
    leave(web.wait_until(125_000));
    assert_eq!(lost(&web), left);
    come_back(web.wait_until(135_000));
    assert_eq!(lost(&web), back);
    assert_eq!(title(&web), "Pod p0100 left its ReplicaSet, recovered after 30 s");
}

#[test]
fn one_pod_is_lost_with_its_node_and_several_with_their_node() {
    let [one, other] = ["web-1-aaaaa", "web-1-bbbbb"].map(|pod| Happening::Ended {
        pod: pod.to_owned(),
        reason: EndReason::NodeLost,
        was_released: false,
    });
    let alone = "Pod aaaaa lost with its node after the rollout was complete";
    assert_eq!(say::say_losses(&[&one], None, false).as_deref(), Some(alone));
    let both = "2 pods lost with their node after the rollout was complete";
    assert_eq!(say::say_losses(&[&one, &other], None, false).as_deref(), Some(both));
    let outage = "Outage of 12 s (no pod ready); Pod aaaaa lost with its node after the rollout was complete";
    assert_eq!(say::say_losses(&[&one], Some(12_000), false).as_deref(), Some(outage));
}

#[test]
fn an_outage_after_a_rollout_lasts_until_a_pod_is_ready_or_the_next_rollout_begins() {
    let after = |what: fn(&mut Web)| {
        let mut web = Web::live(2);
        web.wait_until(20_000).pod(100, unready);
        web.wait_until(30_000).pod(101, unready);
        what(&mut web);
        let model = web.timeline.model();
        let deployment = model.deployments.get(&WEB).unwrap();
        let last_millis = rollout::last_moment_millis(model, deployment, 0);
        assess::outage(model, deployment, deployment.rollouts[0].completed_millis.unwrap(), last_millis)
    };
    assert_eq!(after(|web| web.wait_until(40_000).pod(101, ready)), None, "too short");
    assert_eq!(after(|web| web.wait_until(40_001).pod(101, ready)), Some(10_001));
    assert_eq!(after(|web| web.wait_until(90_000).pod(100, crashing(1))), None, "it goes on");
    let next = |web: &mut Web| {
        web.now = 50_000;
        next_revision(web, 2, [1, 2]);
    };
    assert_eq!(after(next), Some(19_999));
    // Pods out of rotation serve nobody, ready or not.
    let released = |web: &mut Web| {
        web.pod(101, ready);
        web.pod(101, |pod| pod.meta.controller = None);
        web.wait_until(60_000).pod(100, ready);
    };
    assert_eq!(after(released), Some(30_000));
    // Nobody wanted a pod in between, or nobody looked.
    let scaled = |web: &mut Web| {
        web.wait_until(35_000).scale(2, 0);
        web.wait_until(60_000).scale(2, 2);
        web.pod(101, ready);
    };
    assert_eq!(after(scaled), None);
    let unseen = |web: &mut Web| {
        web.wait_until(60_000).relisted(35_000);
        web.pod(101, ready);
    };
    assert_eq!(after(unseen), None);
    // A gap of less than a second counts where the begin or the end is in it.
    let short = |web: &mut Web| {
        web.wait_until(35_000).relisted(34_001);
        web.wait_until(60_000).pod(101, ready);
    };
    assert_eq!(after(short), Some(30_000));
    let long = |web: &mut Web| {
        web.wait_until(35_000).relisted(34_000);
        web.wait_until(60_000).pod(101, ready);
    };
    assert_eq!(after(long), None);
    let ended = |web: &mut Web| {
        web.unseen_pod(101, ready);
        web.wait_until(60_000).relisted(59_500);
    };
    assert_eq!(after(ended), None);
    let begun = |web: &mut Web| {
        web.pod(101, ready);
        web.unseen_pod(101, unready);
        web.wait_until(60_000).relisted(59_500);
        web.wait_until(90_000).pod(101, ready);
    };
    assert_eq!(after(begun), None);
    // A page of the list after a gap, which tells the gap at its end.
    let paged = |web: &mut Web| {
        let mut listed = pod(101, 2, "p0101");
        ready(&mut listed);
        web.timeline.apply(60_000, Fact::Pod(Box::new(listed), Seen::InList));
    };
    assert_eq!(after(paged), None);
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
    // Nobody served for a while.
    let evicted = || {
        let mut web = at_rest(2);
        for number in 0..2 {
            web.pod(100 + number, |pod| pod.disruption = Some("EvictionByEvictionAPI".into()));
            web.kill_pod(100 + number);
            web.add_pod(200 + number, 2, |_| {});
        }
        web
    };
    let mut web = evicted();
    web.wait_until(125_000).pod(200, ready);
    web.wait_until(145_000).pod(201, ready);
    let outage = "2 pods evicted from node node-1, recovered after 40 s; no pod was ready for 20 s".to_owned();
    assert_eq!(told(&web), (EpisodeKind::Recovery, 105_000, Some(145_000), outage.clone()));
    // The watch ended for less than a second in between.
    let mut web = evicted();
    web.wait_until(115_000).relisted(114_001);
    web.wait_until(125_000).pod(200, ready);
    web.wait_until(145_000).pod(201, ready);
    assert_eq!(title(&web), outage);
    // Containers that end with exit code 0 when they are asked to: to the kubelet their pods have succeeded.
    let mut web = at_rest(3);
    for number in 0..2 {
        web.pod(100 + number, |pod| {
            unready(pod);
            (pod.phase, pod.disruption) = (Phase::Succeeded, Some("TerminationByKubelet".into()));
        });
        web.add_pod(200 + number, 2, |_| {});
    }
    web.now = 145_000;
    (0..2).for_each(|number| web.pod(200 + number, ready));
    assert_eq!(title(&web), "2 pods evicted from node node-1, recovered after 40 s");
    // One that its kubelet lost did not restart.
    let mut web = at_rest(3);
    web.pod(100, lost_and_evicted);
    web.add_pod(200, 2, |_| {});
    web.wait_until(145_000).pod(200, ready);
    let evicted = "Pod p0100 evicted from node node-1, recovered after 40 s".to_owned();
    assert_eq!(told(&web), (EpisodeKind::Recovery, 105_000, Some(145_000), evicted));
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
fn pods_that_nothing_is_told_of_are_counted_beside_the_one_that_is_named() {
    let mut web = crashed_once(Exit { code: 1, reason: "Error".into(), ..Exit::default() });
    web.pod(101, unready);
    web.wait_until(145_000).pod(100, runs);
    web.pod(101, ready);
    let title =
        "Pod p0100 restarted once (exit code 1); 2 of 3 pods were not available, recovered after 40 s".to_owned();
    assert_eq!(told(&web), (EpisodeKind::Failure, 105_000, Some(145_000), title));
}

#[test]
fn what_was_let_go_for_a_while_was_missing_then() {
    let mut web = at_rest(3);
    web.set(2, |set| set.meta.controller = None);
    web.wait_until(125_000).set(2, |set| set.meta.controller = Some(WEB));
    let title = "3 of 3 pods were not available for 20 s".to_owned();
    assert_eq!(told(&web), (EpisodeKind::Failure, 105_000, Some(125_000), title));
    let mut web = at_rest(3);
    web.pod(100, |pod| pod.meta.controller = None);
    web.wait_until(125_000).pod(100, |pod| pod.meta.controller = Some(Uid::from_bits(2)));
    let title = "Pod p0100 left its ReplicaSet, recovered after 20 s".to_owned();
    assert_eq!(told(&web), (EpisodeKind::Recovery, 105_000, Some(125_000), title));
}

#[test]
fn pods_that_are_not_available_for_an_unknown_reason_are_counted() {
    let mut web = at_rest(5);
    (0..2).for_each(|number| web.pod(100 + number, unready));
    web.now = 705_000;
    (0..2).for_each(|number| web.pod(100 + number, ready));
    let words = "2 of 5 pods were not available for 10 min 0 s".to_owned();
    assert_eq!(told(&web), (EpisodeKind::Failure, 105_000, Some(705_000), words));
    let mut web = at_rest(1);
    web.pod(100, unready);
    web.wait(99).pod(100, ready);
    assert_eq!(title(&web), "1 of 1 pod was not available for less than 0.1 s");
}

#[test]
fn a_scaling_in_a_gap_is_told_without_the_pods_that_it_explains() {
    let mut web = at_rest(5);
    web.unseen(|deployment, _| deployment.spec.replicas = 3);
    [100, 101].into_iter().for_each(|pod| web.lose_pod(pod));
    web.wait_until(160_000).relisted(106_000);
    assert_eq!(title(&web), "Scaled from 5 to 3");
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
    // It was over before the gap.
    let mut web = at_rest(3);
    web.pod(100, unready);
    web.wait_until(125_000).pod(100, ready);
    web.wait_until(160_000).relisted(130_000);
    assert_eq!(title(&web), "1 of 3 pods was not available for 20 s");
}

#[test]
fn a_gap_of_less_than_a_second_takes_away_the_duration_only_with_the_begin_or_the_end() {
    let unavailable = |gap_since_millis: Millis| {
        let mut web = at_rest(3);
        web.pod(100, unready);
        web.wait_until(115_000).relisted(gap_since_millis);
        web.wait_until(125_000).pod(100, ready);
        title(&web)
    };
    assert_eq!(unavailable(114_001), "1 of 3 pods was not available for 20 s");
    assert_eq!(unavailable(114_000), "1 of 3 pods was not available");
    let mut ended = at_rest(3);
    ended.pod(100, unready);
    ended.unseen_pod(100, ready);
    ended.wait_until(125_000).relisted(124_500);
    assert_eq!(title(&ended), "1 of 3 pods was not available");
    let mut begun = at_rest(3);
    begun.unseen_pod(100, unready);
    begun.wait_until(115_000).relisted(114_500);
    begun.wait_until(125_000).pod(100, ready);
    assert_eq!(title(&begun), "1 of 3 pods was not available");
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

/// A namespace that is deleted loses its pods first.
#[test]
fn a_deployment_that_is_deleted_after_its_pods_is_told_after_them() {
    let mut web = at_rest(2);
    (0..2).for_each(|number| web.kill_pod(100 + number));
    web.now = 127_000;
    (0..2).for_each(|number| web.delete_pod(100 + number));
    web.wait_until(134_000).delete_deployment();
    let title = "2 pods deleted, then the Deployment after 29 s".to_owned();
    assert_eq!(told(&web), (EpisodeKind::Deletion, 105_000, Some(134_000), title));
}
