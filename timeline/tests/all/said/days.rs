//! Whole sequences, and everything that is said at each of their moments: read the snapshots as a user would.

use crate::made::{SECOND, Web, condition, crashing, image, next_revision, ready, set, unready, waiting, warning};
use crate::said::counting::ready_since;
use crate::said::scheduling::unplaced;
use crate::said::shown::Shown;
use crate::said::stuck::rolling_update;
use timeline::fact::{ConditionStatus, Container, ContainerState, EventFact, Kind, Phase, Role, Strategy};
use timeline::{Fact, Uid};

/// Ready since now, by the kubelet's clock.
fn ready_now(web: &mut Web, pod: u128) {
    let now = web.now;
    web.pod(pod, ready_since(now));
}

/// The Deployment reports that it gets on, or something else.
fn progressing(web: &mut Web, reason: &str, status: ConditionStatus) {
    let now = web.now;
    web.deployment(|deployment| {
        let mut told = condition(status, reason, "");
        (told.last_update_millis, told.last_transition_millis) = (Some(now), Some(now));
        deployment.status.progressing = Some(told);
    });
}

/// The controller writes the revision, and reports that no pod is of it yet.
fn observed(web: &mut Web, revision: u64) {
    web.deployment(|deployment| {
        (deployment.revision, deployment.status.updated) = (Some(revision), 0);
        deployment.status.observed_generation = deployment.generation;
    });
}

fn event(about: u128, kind: &str, name: &str, reason: &str, message: &str, count: u32) -> Fact {
    let warning = warning(9_000 + about, about, (kind, name), reason, message);
    Fact::Event(Box::new(EventFact { count, ..warning }))
}

#[test]
fn a_rollout_step_by_step() {
    let (mut web, mut shown) = (Web::live(4), Shown::default());
    shown.look("complete", &web);
    web.wait_until(60_000).deployment(|deployment| {
        deployment.spec.min_ready_seconds = 10;
    });
    web.set(2, |set| set.now.min_ready_seconds = 10);
    web.edit("v2");
    shown.look("the template is edited", &web);
    // Up by one, and down by one.
    let mut second = set(SECOND, 2, 1, 0);
    (second.now.min_ready_seconds, second.now.desired_replicas, second.now.max_replicas) = (10, Some(4), Some(5));
    second.now.change_cause = Some("new colours".into());
    web.wait_until(60_020).add_set(SECOND, second);
    web.wait_until(60_040).deployment(|deployment| deployment.revision = Some(2));
    progressing(&mut web, "ReplicaSetUpdated", ConditionStatus::True);
    web.wait_until(60_045).set(2, |set| set.now.counts.desired = 3);
    shown.look("the first step", &web);
    web.wait_until(60_100).kill_pod(103);
    web.add_pod(200, SECOND, |pod| (pod.node, pod.phase, pod.containers) = (None, Phase::Pending, Vec::new()));
    web.report();
    shown.look("one goes, one waits for a node", &web);
    web.wait_until(60_500).set(SECOND, |set| set.now.counts.desired = 2);
    web.add_pod(201, SECOND, |pod| pod.containers[0].state = Some(waiting("ContainerCreating", "")));
    web.wait_until(61_000).pod(200, |pod| {
        (pod.node, pod.phase) = (Some("node-2".into()), Phase::Running);
        pod.containers =
            vec![Container { state: Some(ContainerState::Running), ..Container::new("web".into(), Role::App) }];
    });
    web.report();
    shown.look("at both limits", &web);
    web.now = 63_000;
    ready_now(&mut web, 200);
    web.report();
    shown.look("ready, and does not count yet", &web);
    web.wait_until(63_400).delete_pod(103);
    web.now = 72_999;
    web.timeline.tick(web.now);
    shown.look("a moment before it counts", &web);
    web.now = 73_000;
    web.timeline.tick(web.now);
    shown.look("it counts", &web);
    web.wait_until(73_100).report();
    for (desired, new, old) in [(3u32, 202u128, 102u128), (4, 203, 101)] {
        web.set(2, |set| set.now.counts.desired -= 1);
        web.kill_pod(old);
        web.wait(200).set(SECOND, |set| set.now.counts.desired = desired);
        web.add_pod(new, SECOND, |_| {});
        web.now += 2_000;
        ready_now(&mut web, new - 1);
        web.delete_pod(old);
        web.report();
        web.now += 10_000;
        web.timeline.tick(web.now);
        web.report();
    }
    shown.look("almost there", &web);
    web.now += 1_000;
    ready_now(&mut web, 203);
    web.now += 10_500;
    web.timeline.tick(web.now);
    web.set(2, |set| set.now.counts.desired = 0);
    web.kill_pod(100);
    web.report();
    shown.look("the last one drains", &web);
    web.wait(3_000).delete_pod(100);
    web.report();
    shown.look("complete", &web);
    web.now += 120_000;
    shown.look("two minutes later", &web);
    insta::assert_snapshot!(shown.end(&web));
}

#[test]
fn scaled_paused_restarted_and_undone() {
    let (mut web, mut shown) = (Web::live(3), Shown::default());
    web.wait_until(60_000).scale(2, 5);
    shown.look("asked for two more", &web);
    web.now = 60_500;
    (3..5).for_each(|number| web.add_pod(100 + number, 2, |_| {}));
    web.report();
    shown.look("they are made", &web);
    web.now = 62_000;
    (3..5).for_each(|number| web.pod(100 + number, ready));
    web.report();
    web.wait_until(70_000).deployment(|deployment| deployment.spec.paused = true);
    web.wait_until(71_000).edit("v2");
    shown.look("paused and edited", &web);
    web.wait_until(72_000).scale(2, 4);
    web.kill_pod(104);
    web.report();
    shown.look("scaled while paused", &web);
    web.wait_until(75_000).delete_pod(104);
    web.deployment(|deployment| deployment.spec.paused = false);
    web.now = 75_020;
    let mut second = set(SECOND, 2, 1, 0);
    (second.now.desired_replicas, second.now.max_replicas) = (Some(4), Some(5));
    web.add_set(SECOND, second);
    observed(&mut web, 2);
    progressing(&mut web, "ReplicaSetUpdated", ConditionStatus::True);
    web.set(2, |set| set.now.counts.desired = 3);
    web.kill_pod(103);
    web.add_pod(200, SECOND, |_| {});
    web.report();
    shown.look("resumed", &web);
    web.wait_until(77_000).set(SECOND, |set| set.now.counts.desired = 2);
    web.add_pod(201, SECOND, |_| {});
    web.deployment(|deployment| deployment.spec.paused = true);
    shown.look("paused half way", &web);
    web.wait_until(80_000).deployment(|deployment| deployment.spec.paused = false);
    // Scaled in the middle of it: both grow.
    web.wait_until(81_000).edit_spec(|deployment| deployment.spec.replicas = 8);
    for (number, desired) in [(2, 6), (SECOND, 4)] {
        web.set(number, |set| {
            set.now.counts.desired = desired;
            (set.now.desired_replicas, set.now.max_replicas) = (Some(8), Some(10));
        });
    }
    shown.look("scaled half way", &web);
    // Undone: revision 1 comes back as 3.
    web.wait_until(90_000).edit("v1");
    web.set(2, |set| set.revision = Some(3));
    observed(&mut web, 3);
    shown.look("undone", &web);
    web.wait_until(91_000).set(2, |set| set.now.counts.desired = 8);
    web.set(SECOND, |set| set.now.counts.desired = 0);
    [200, 201].into_iter().for_each(|pod| web.kill_pod(pod));
    [103, 200, 201].into_iter().for_each(|pod| web.delete_pod(pod));
    (10..15).for_each(|number| web.add_pod(100 + number, 2, ready));
    web.report();
    shown.look("back", &web);
    // Restarted.
    web.now = 100_000;
    let mut third = set(4, 4, 2, 0);
    (third.images, third.restarted_at) = (image("v1"), Some("then".into()));
    (third.now.desired_replicas, third.now.max_replicas) = (Some(8), Some(10));
    web.edit_spec(|deployment| deployment.restarted_at = Some("then".into()));
    web.add_set(4, third);
    observed(&mut web, 4);
    shown.look("restarted", &web);
    web.wait_until(110_000).deployment(|deployment| deployment.deleting = true);
    shown.look("being deleted", &web);
    web.wait_until(111_000).delete_deployment();
    web.now = 113_000;
    shown.look("deleted", &web);
    insta::assert_snapshot!(shown.end(&web));
}

#[test]
fn pods_come_to_harm() {
    let (mut web, mut shown) = (Web::live(4), Shown::default());
    // One is killed and replaced.
    web.wait_until(60_000).kill_pod(100);
    web.wait_until(60_100).add_pod(104, 2, |_| {});
    web.report();
    shown.look("killed", &web);
    web.wait_until(61_300).pod(104, ready);
    web.report();
    web.wait_until(64_000).delete_pod(100);
    // One is released, another one takes its place, and it comes back.
    web.wait_until(80_000).pod(101, |pod| pod.meta.controller = None);
    web.add_ready_pod(105, 2);
    web.report();
    shown.look("released", &web);
    web.wait_until(90_000).pod(101, |pod| pod.meta.controller = Some(Uid::from_bits(2)));
    web.kill_pod(105);
    web.report();
    shown.look("adopted, and another one goes", &web);
    web.wait_until(92_000).delete_pod(105);
    // A node is lost with two of them.
    web.now = 120_000;
    for pod in [101, 102] {
        web.pod(pod, |pod| {
            pod.disruption = Some("DeletionByPodGC".into());
            pod.deletion_at_millis = Some(150_000);
        });
    }
    web.report();
    shown.look("a node is lost", &web);
    web.wait_until(121_000).delete_pod(101);
    web.delete_pod(102);
    (6..8).for_each(|number| web.add_ready_pod(100 + number, 2));
    web.report();
    // One is evicted from its node, another one drained away, a third one ends in a strange way.
    web.wait_until(200_000).pod(103, |pod| {
        pod.disruption = Some("EvictionByEvictionAPI".into());
        pod.deletion_at_millis = Some(230_000);
    });
    web.now = 201_000;
    web.pod(104, |pod| (pod.phase, pod.reason, pod.ready) = (Phase::Failed, "NodeShutdown".into(), None));
    web.report();
    shown.look("one is evicted, one failed", &web);
    web.wait_until(202_000).delete_pod(103);
    (8..10).for_each(|number| web.add_ready_pod(100 + number, 2));
    web.report();
    shown.look("replaced", &web);
    // Somebody deletes the ReplicaSet; it is made again.
    web.wait_until(300_000).delete_set(2);
    [106, 107, 108, 109].into_iter().for_each(|pod| web.kill_pod(pod));
    web.now = 300_400;
    let mut again = set(12, 1, 4, 0);
    (again.now.desired_replicas, again.now.max_replicas) = (Some(4), Some(5));
    web.add_set(12, again);
    shown.look("its ReplicaSet is deleted", &web);
    web.now = 304_000;
    (0..4).for_each(|number| web.add_ready_pod(120 + number, 12));
    [104, 106, 107, 108, 109].into_iter().for_each(|pod| web.delete_pod(pod));
    web.report();
    shown.look("it is back", &web);
    insta::assert_snapshot!(shown.end(&web));
}

#[test]
fn nobody_looked() {
    let (mut web, mut shown) = (Web::replacing(), Shown::default());
    web.add_pod(200, SECOND, |_| {});
    web.report();
    web.wait_until(300_000).unseen_pod(102, |pod| pod.deletion_at_millis = Some(330_000));
    web.unseen_pod(200, ready);
    web.unseen(|deployment, sets| {
        deployment.spec.replicas = 4;
        deployment.labels.insert("team".into(), "shop".into());
        sets.get_mut(&2).unwrap().now.counts.desired = 2;
        sets.get_mut(&SECOND).unwrap().now.counts.desired = 2;
    });
    web.relisted(100_000);
    shown.look("after a gap of 200 s", &web);
    web.wait_until(301_000).delete_pod(102);
    web.lose_set(2);
    web.wait_until(302_000).listed(Kind::ReplicaSet, Some(301_500));
    shown.look("a ReplicaSet is missing", &web);
    web.now = 303_000;
    web.timeline.apply(303_000, event(200, "Pod", "web-3-p0200", "Unhealthy", "Readiness probe failed", 3));
    web.timeline.apply(303_500, event(200, "Pod", "web-3-p0200", "Unhealthy", "Readiness probe failed again", 5));
    web.timeline.apply(303_600, event(777, "Pod", "other", "Unhealthy", "Not ours", 1));
    shown.look("Events", &web);
    let mut late = web.first_listed();
    late.now += 10_000;
    let mut seen_late = Shown::default();
    seen_late.look("somebody begins to look", &late);
    insta::assert_snapshot!(format!("{}\n\n{}", shown.end(&web), seen_late.end(&late)));
}

#[test]
fn faults_as_they_grow_old() {
    let mut shown = Shown::default();
    let at = |web: &mut Web, shown: &mut Shown, what: &str, times: &[i64]| {
        for time in times {
            web.now = *time;
            web.timeline.tick(*time);
            shown.look(what, web);
        }
    };
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, unready);
    at(&mut web, &mut shown, "not ready", &[30_000, 30_001, 80_000, 80_001]);
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, |pod| {
        pod.ready = Some(condition(
            ConditionStatus::False,
            "ReadinessGatesNotReady",
            "corresponding condition of pod readiness gate \"shop/open\" does not exist.",
        ));
    });
    at(&mut web, &mut shown, "behind a gate", &[30_000, 30_001]);
    let mut web = Web::replacing();
    let no_node = "0/4 nodes are available: 4 Insufficient cpu. preemption: no.";
    web.add_pod(200, SECOND, unplaced("Unschedulable", no_node));
    at(&mut web, &mut shown, "no node fits", &[30_000, 30_001]);
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, |pod| {
        pod.phase = Phase::Pending;
        let migrate = Container { name: "migrate".into(), role: Role::Init, ..pod.containers[0].clone() };
        pod.containers[0].state = Some(waiting("PodInitializing", ""));
        pod.containers.insert(0, migrate);
    });
    at(&mut web, &mut shown, "an init container works", &[30_000, 30_001]);
    let mut web = Web::replacing();
    at(&mut web, &mut shown, "no pods are made", &[30_000, 30_001]);
    let mut web = Web::live(3).at(20_000);
    web.edit("v2");
    at(&mut web, &mut shown, "the controller is silent", &[25_000, 25_001]);
    let mut web = Web::replacing();
    web.deployment(|deployment| deployment.spec.strategy = Strategy::Recreate);
    web.set(2, |set| set.now.counts.desired = 0);
    web.set(SECOND, |set| set.now.counts.desired = 0);
    (0..3).for_each(|number| web.kill_pod(100 + number));
    at(&mut web, &mut shown, "old pods do not go", &[50_000, 50_001, 60_001]);
    // Two that crash, one of which is ready in between, and an old one.
    let mut web = Web::replacing();
    web.deployment(|deployment| deployment.spec.strategy = rolling_update(3, 1));
    web.add_pod(200, SECOND, crashing(1));
    web.add_pod(201, SECOND, crashing(1));
    web.set(2, |set| set.now.max_replicas = Some(6));
    web.set(SECOND, |set| (set.now.counts.desired, set.now.max_replicas) = (2, Some(6)));
    web.wait_until(24_000).pod(201, crashing(4));
    web.pod(100, crashing(7));
    web.report();
    at(&mut web, &mut shown, "two crash, and an old one", &[25_000, 36_000]);
    next_revision(&mut web, 3, [1, 2]);
    web.add_pod(300, 4, |pod| pod.containers[0].state = Some(waiting("ErrImagePull", "timeout")));
    web.add_pod(301, 4, |pod| pod.containers[0].state = Some(waiting("ImagePullBackOff", "timeout")));
    at(&mut web, &mut shown, "the next one cannot be pulled", &[36_500]);
    insta::assert_snapshot!(shown.end(&web));
}
