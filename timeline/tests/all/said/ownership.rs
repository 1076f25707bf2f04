//! ReplicaSets that a Deployment lets go, takes up again, or takes over from another one.

use std::ops::Range;

use crate::made::{self, SECOND, WEB, Web, image, next_revision, ready, set, warning};
use crate::said::told::since;
use timeline::episodes::course;
use timeline::fact::{ConditionStatus, DeploymentFact, Kind, Seen};
use timeline::model::Rollout;
use timeline::rollout::{self, Trigger};
use timeline::story::LineKind;
use timeline::wire::Objects;
use timeline::{Fact, Millis, Timeline, Uid, story};

fn triggers(timeline: &Timeline, deployment: Uid) -> Vec<(u64, Trigger)> {
    let model = timeline.model();
    let found = model.deployments.get(&deployment).unwrap();
    found
        .rollouts
        .iter()
        .enumerate()
        .map(|(index, one)| (one.revision, rollout::trigger(model, found, index)))
        .collect()
}

/// Somebody deletes all ReplicaSets with their pods.
fn delete_sets(web: &mut Web, pods: Range<u128>) {
    [2, SECOND].into_iter().for_each(|number| web.delete_set(number));
    pods.for_each(|pod| web.delete_pod(pod));
}

/// A ReplicaSet of two pods loses the labels that its Deployment selects; another one of the same template is made.
fn let_go() -> Web {
    let mut web = Web::live(2).at(60_000);
    web.set(2, |set| set.meta.controller = None);
    let mut again = set(12, 1, 2, 0);
    (again.meta.name, again.template_hash, again.images) = ("web-1b".into(), "1b".into(), image("v1"));
    (again.now.desired_replicas, again.now.max_replicas) = (Some(2), Some(3));
    web.wait_until(60_010).add_set(12, again);
    (200..202).for_each(|pod| web.add_pod(pod, 12, ready));
    web.report();
    web
}

#[test]
fn a_replica_set_that_is_let_go_is_told_with_its_pods() {
    let web = let_go();
    let told = "60000 ReplicaSet web-1 does not belong to this Deployment any more; its 2 pods run on.";
    assert_eq!(since(&web, 60_000)[0], told);
    assert_eq!(web.verdict(), "[Complete] Revision 1 is complete: 2 of 2 available.");
}

#[test]
fn a_replica_set_that_is_taken_up_again_is_no_rollback() {
    let mut web = let_go().at(80_000);
    web.set(2, |set| set.meta.controller = Some(WEB));
    web.wait_until(80_010).set(2, |set| set.revision = Some(2));
    web.deployment(|deployment| deployment.revision = Some(2));
    assert_eq!(triggers(&web.timeline, WEB), [(1, Trigger::Created), (2, Trigger::Adopted)]);
    let told = since(&web, 80_000);
    assert_eq!(
        told,
        [
            "80000 ReplicaSet web-1 taken up again, with 2 pods.",
            "80010 Revision 2 (was 1): the ReplicaSet that was there has another number; image web:v1."
        ]
    );
}

/// `isScalingEvent` in `sync.go` passes over those without the annotation.
#[test]
fn a_replica_set_that_was_made_by_hand_is_rolled_down_and_not_scaled() {
    let mut web = Web::live(3).at(60_000);
    let mut by_hand = set(12, 1, 2, 2);
    (by_hand.meta.name, by_hand.meta.controller, by_hand.revision) = ("mine".into(), None, None);
    (by_hand.now.desired_replicas, by_hand.now.max_replicas) = (None, None);
    web.add_set(12, by_hand);
    web.wait_until(60_100).set(12, |set| set.meta.controller = Some(WEB));
    web.wait_until(60_200).set(12, |set| {
        set.now.counts.desired = 0;
        (set.now.desired_replicas, set.now.max_replicas) = (Some(3), Some(4));
    });
    let told = [
        "60100 ReplicaSet mine adopted (it belonged to no Deployment).",
        "60200 ReplicaSet mine down 2 → 0: at least 3 must stay available.",
    ];
    assert_eq!(since(&web, 60_000), told);
}

/// The first step of one that is alone may come of an edit of `spec.replicas`.
#[test]
fn a_replica_set_that_was_made_by_hand_is_scaled_with_its_deployment() {
    let mut web = Web::live(3);
    web.set(2, |set| (set.now.desired_replicas, set.now.max_replicas) = (None, None));
    web.wait_until(60_000).scale(2, 5);
    assert_eq!(since(&web, 60_000), ["60000 Scaled 3 → 5 (not a rollout)."]);
}

/// The controller counts on from the highest number that is left.
#[test]
fn a_replica_set_that_is_created_again_with_a_lower_number_is_no_new_template() {
    let mut web = Web::reported().at(60_000);
    delete_sets(&mut web, 200..203);
    let mut again = set(4, 1, 3, 0);
    again.images = image("v2");
    web.add_set(4, again);
    web.deployment(|deployment| deployment.revision = Some(1));
    let expected = [(1, Trigger::Created), (2, Trigger::Template), (1, Trigger::Adopted)];
    assert_eq!(triggers(&web.timeline, WEB), expected);
    let told = "Revision 1 (was 2): its ReplicaSet was deleted and created again; image web:v2.";
    assert_eq!(web.lines(LineKind::Revision).pop().unwrap(), told);
}

/// Edited while paused, and all ReplicaSets deleted: the controller counts from 1 again once it is resumed.
#[test]
fn another_template_with_the_number_of_the_last_rollout_is_rolled_out() {
    let mut web = Web::live(3).at(20_000);
    web.edit_spec(|deployment| (deployment.spec.paused, deployment.spec.images) = (true, image("v2")));
    web.report();
    web.wait_until(24_000).delete_set(2);
    (100..103).for_each(|pod| web.delete_pod(pod));
    web.report();
    web.wait_until(90_000).edit_spec(|deployment| {
        deployment.spec.paused = false;
        deployment.status.progressing = Some(made::condition(ConditionStatus::True, "ReplicaSetUpdated", ""));
    });
    let mut next = set(4, 1, 3, 0);
    (next.meta.name, next.template_hash, next.images) = ("web-2".into(), "2".into(), image("v2"));
    web.wait_until(90_100).add_set(4, next);
    (200..203).for_each(|pod| web.add_pod(pod, 4, |_| {}));
    web.report();
    web.wait_until(91_000).pod(200, ready);
    web.report();
    assert_eq!(web.verdict(), "[Rolling out] Revision 1: 1 of 3 available.");
    assert_eq!(web.view().verdict.why, "");
    assert_eq!(web.lines(LineKind::Revision).pop().unwrap(), "Revision 1 starts: image web:v2.");
    (201..203).for_each(|pod| web.pod(pod, ready));
    web.report();
    assert_eq!(web.verdict(), "[Complete] Revision 1 is complete: 3 of 3 available.");
    assert_eq!(triggers(&web.timeline, WEB), [(1, Trigger::Created), (1, Trigger::Template)]);
}

#[test]
fn a_rollout_whose_number_was_used_before_has_the_pods_of_its_own_replica_set() {
    let mut web = Web::reported().at(60_000);
    delete_sets(&mut web, 200..203);
    let mut again = set(4, 1, 3, 0);
    (again.meta.name, again.images) = ("web-2".into(), image("v2"));
    web.add_set(4, again);
    web.deployment(|deployment| (deployment.revision, deployment.status.updated) = (Some(1), 0));
    web.wait_until(61_000).add_pod(300, 4, |pod| pod.containers[0].restarts = 2);
    let model = web.timeline.model();
    let deployment = model.deployments.get(&WEB).unwrap();
    let told = |of: &Rollout| {
        let set = rollout::set_of_rollout(model, deployment, of).unwrap();
        (of.revision, set.uid, course::restarts(model, deployment, of))
    };
    let told: Vec<_> = deployment.rollouts.iter().map(told).collect();
    let [first, second, third] = [2, SECOND, 4].map(Uid::from_bits);
    assert_eq!(told, [(1, first, 0), (2, second, 0), (1, third, 2)]);
}

#[test]
fn a_rollout_whose_number_a_rollback_had_before_is_no_rollback() {
    let mut web = Web::reported().at(60_000);
    web.edit("v1");
    web.set(2, |set| (set.revision, set.now.counts.desired) = (Some(3), 3));
    web.deployment(|deployment| deployment.revision = Some(3));
    web.wait_until(120_000);
    delete_sets(&mut web, 200..203);
    web.add_set(4, set(4, 1, 3, 0));
    web.deployment(|deployment| deployment.revision = Some(1));
    for (number, revision) in [(5, 2), (6, 3)] {
        web.wait(10_000).edit(&format!("v{revision}"));
        web.add_set(number, set(number, revision, 1, 0));
        web.deployment(|deployment| deployment.revision = Some(revision));
    }
    let before = [(1, Trigger::Created), (2, Trigger::Template), (3, Trigger::Rollback)];
    let after = [(1, Trigger::Adopted), (2, Trigger::Template), (3, Trigger::Template)];
    assert_eq!(triggers(&web.timeline, WEB), [before, after].concat());
}

#[test]
fn a_rollout_whose_replica_set_is_created_again_with_a_lower_number_is_told_as_complete() {
    let mut web = Web::replacing().at(26_000);
    delete_sets(&mut web, 100..103);
    let mut again = set(4, 1, 3, 0);
    again.images = image("v2");
    web.add_set(4, again);
    web.deployment(|deployment| deployment.revision = Some(1));
    web.wait_until(30_000);
    (200..203).for_each(|pod| web.add_ready_pod(pod, 4));
    web.report();
    let done = ["Revision 1 is complete after 5.0 s.", "Revision 1 is complete after 4.0 s."];
    assert_eq!(web.lines(LineKind::Done), done);
}

#[test]
fn a_rollback_is_one_whose_template_was_another_in_between() {
    let mut web = Web::reported().at(60_000);
    web.edit("v1");
    web.set(2, |set| (set.revision, set.now.counts.desired) = (Some(3), 1));
    web.deployment(|deployment| deployment.revision = Some(3));
    assert_eq!(triggers(&web.timeline, WEB)[2], (3, Trigger::Rollback));
    assert!(since(&web, 60_000).iter().any(|line| line == "60000 Rolled back to revision 1, now 3: image web:v1."));
    // Also where the one in between was not seen to be rolled out.
    let mut web = Web::live(1);
    web.unseen(|deployment, sets| {
        deployment.revision = Some(3);
        sets.insert(SECOND, set(SECOND, 2, 0, 0));
        sets.get_mut(&2).unwrap().revision = Some(3);
    });
    web.wait_until(60_000).relisted(30_000);
    assert_eq!(triggers(&web.timeline, WEB), [(1, Trigger::Created), (3, Trigger::Rollback)]);
}

#[test]
fn a_pod_that_its_replica_set_left_behind_is_told_from_one_with_other_labels() {
    let is_left_behind = |web: &Web, number: u128| {
        let model = web.timeline.model();
        model.is_left_behind(model.pods.get(&Uid::from_bits(number)).unwrap())
    };
    let mut web = Web::live(2).at(60_000);
    web.pod(100, |pod| pod.meta.controller = None);
    assert!(!is_left_behind(&web, 100), "its ReplicaSet stays");
    web.set(2, |set| set.now.deleting = true);
    assert!(!is_left_behind(&web, 101), "its ReplicaSet still controls it");
    web.pod(101, |pod| pod.meta.controller = None);
    assert!(is_left_behind(&web, 101));
    web.delete_set(2);
    assert!(is_left_behind(&web, 101));
}

#[test]
fn a_rollback_to_a_revision_that_never_worked_says_so() {
    let told = |change: fn(&mut Web)| {
        let mut web = Web::live(3).at(20_000);
        next_revision(&mut web, 2, [2, 2]);
        change(&mut web);
        web.now = 30_000;
        next_revision(&mut web, 3, [1, 0]);
        web.wait_until(40_000).edit("v2");
        web.set(SECOND, |set| (set.revision, set.now.counts.desired) = (Some(4), 1));
        web.deployment(|deployment| deployment.revision = Some(4));
        let told = since(&web, 40_000).into_iter().find(|line| line.contains("Rolled back")).unwrap();
        told.strip_prefix("40000 Rolled back to revision 2, now 4: image web:v2.").unwrap().trim_start().to_owned()
    };
    let not_all = "Not all of its pods were ever available.";
    assert_eq!(told(|_| {}), not_all, "no pod was seen");
    let none = "None of its pods was ever available.";
    assert_eq!(told(|web| (200..202).for_each(|number| web.add_pod(number, SECOND, |_| {}))), none);
    let one = |web: &mut Web| {
        web.add_pod(200, SECOND, |_| {});
        web.add_ready_pod(201, SECOND);
    };
    assert_eq!(told(one), not_all);
    // All of them may have been available in a gap, unless it was short.
    let gap = |web: &mut Web| {
        web.add_pod(200, SECOND, |_| {});
        web.wait_until(25_000).relisted(22_000);
    };
    assert_eq!(told(gap), "");
    let short_gap = |web: &mut Web| {
        web.add_pod(200, SECOND, |_| {});
        web.wait_until(25_000).relisted(24_100);
    };
    assert_eq!(told(short_gap), not_all);
}

/// `green` has a ReplicaSet of its own and takes over that of `blue`, which was deleted without its ReplicaSets.
fn taken_over() -> (Timeline, Uid, Uid) {
    let (blue, green) = (Uid::from_bits(1), Uid::from_bits(7));
    let mut timeline = Timeline::new();
    for kind in Kind::ALL {
        timeline.apply(0, Fact::Listed { kind, namespace: None, present: Vec::new(), gap_since_millis: None });
    }
    let mut tell = |at, fact| drop(timeline.apply(at, fact));
    let deployment = |number: u128, name: &str| {
        let mut made = DeploymentFact { meta: made::meta(number, name, None), ..made::deployment() };
        (made.now.revision, made.now.spec.images, made.now.spec.replicas) = (Some(1), image("v1"), 2);
        made
    };
    let owned = |number: u128, name: &str, owner: Option<u128>| {
        let mut made = set(number, 1, 2, 2);
        made.meta = made::meta(number, name, owner);
        made
    };
    let on = |fact, seen| Fact::ReplicaSet(Box::new(fact), seen);
    tell(1_000, Fact::Deployment(Box::new(deployment(1, "blue")), Seen::Added));
    tell(1_000, on(owned(2, "blue-84454c4", Some(1)), Seen::Added));
    for pod in 100..102 {
        let mut made = made::pod(pod, 2, &format!("blue-84454c4-p0{pod}"));
        ready(&mut made);
        tell(1_000, Fact::Pod(Box::new(made), Seen::Added));
    }
    tell(2_000, Fact::Deployment(Box::new(deployment(7, "green")), Seen::Added));
    tell(2_000, on(owned(8, "green-5d5b", Some(7)), Seen::Added));
    tell(60_000, on(owned(2, "blue-84454c4", None), Seen::Modified));
    tell(60_010, Fact::Deployment(Box::new(deployment(1, "blue")), Seen::Deleted));
    tell(60_020, on(owned(2, "blue-84454c4", Some(7)), Seen::Modified));
    let mut renumbered = owned(8, "green-5d5b", Some(7));
    renumbered.revision = Some(2);
    tell(60_030, on(renumbered, Seen::Modified));
    let mut second = deployment(7, "green");
    second.now.revision = Some(2);
    tell(60_040, Fact::Deployment(Box::new(second), Seen::Modified));
    let mut emptied = owned(2, "blue-84454c4", Some(7));
    emptied.now.counts.desired = 0;
    tell(60_050, on(emptied, Seen::Modified));
    (timeline, blue, green)
}

#[test]
fn a_deployment_that_is_deleted_without_its_pods_says_that_they_run_on() {
    let (timeline, blue, _) = taken_over();
    let told: Vec<String> = story::story(timeline.model(), blue).into_iter().map(|line| line.text).collect();
    let let_go = "ReplicaSet blue-84454c4 does not belong to this Deployment any more; its 2 pods run on.";
    assert!(told.iter().any(|line| line == let_go), "{told:#?}");
    let mut web = Web::live(2).at(60_000);
    web.set(2, |set| set.meta.controller = None);
    web.delete_deployment();
    assert_eq!(web.view().verdict.why, "2 pods still run without it.");
}

#[test]
fn a_replica_set_that_came_back_and_is_let_go_is_of_the_one_that_had_it_last() {
    let mut web = Web::live(2);
    let mut other = DeploymentFact { meta: made::meta(9, "other", None), ..made::deployment() };
    other.now.revision = Some(1);
    web.timeline.apply(web.now, Fact::Deployment(Box::new(other), Seen::Added));
    for (now, owner) in [(60_000, Some(Uid::from_bits(9))), (61_000, Some(WEB)), (62_000, None)] {
        web.wait_until(now).set(2, |set| set.meta.controller = owner);
    }
    web.delete_deployment();
    assert_eq!(web.view().verdict.why, "2 pods still run without it.");
}

#[test]
fn events_about_a_replica_set_and_its_pods_are_of_the_deployment_that_has_it() {
    let mut web = Web::live(2).at(60_000);
    let next = Uid::from_bits(9);
    let tell = |web: &mut Web, first: u128| {
        for (number, about, object) in [(first, 2, ("ReplicaSet", "web-1")), (first + 1, 100, ("Pod", "web-2-p0100"))] {
            let event = warning(number, about, object, "Odd", &format!("at {}", web.now));
            web.timeline.apply(web.now, Fact::Event(Box::new(event)));
        }
    };
    let told = |web: &Web, uid: Uid| -> Vec<String> {
        let lines = story::story(web.timeline.model(), uid).into_iter();
        lines.filter(|line| line.kind == LineKind::Event).map(|line| line.text).collect()
    };
    // Deleted with --cascade=orphan, and created again with the same name and selector.
    web.set(2, |set| set.meta.controller = None);
    tell(&mut web, 900);
    web.delete_deployment();
    let again = DeploymentFact { meta: made::meta(9, "web", None), ..made::deployment() };
    web.wait_until(61_000);
    web.timeline.apply(61_000, Fact::Deployment(Box::new(again), Seen::Added));
    web.set(2, |set| set.meta.controller = Some(next));
    web.wait_until(62_000);
    tell(&mut web, 910);
    assert_eq!(told(&web, WEB), ["Event Odd on ReplicaSet web-1: at 60000.", "Event Odd on Pod p0100: at 60000."]);
    assert_eq!(told(&web, next), ["Event Odd on ReplicaSet web-1: at 62000.", "Event Odd on Pod p0100: at 62000."]);
}

#[test]
fn a_replica_set_that_was_nobodys_is_taken_from_nobody() {
    let mut web = Web::live(2);
    let mut orphan = set(12, 1, 0, 0);
    (orphan.meta, orphan.revision) = (made::meta(12, "web-old", None), None);
    web.wait_until(60_000).add_set(12, orphan);
    web.wait_until(61_000).set(12, |set| set.meta.controller = Some(WEB));
    assert_eq!(since(&web, 60_000), ["61000 ReplicaSet web-old adopted (it belonged to no Deployment)."]);
}

#[test]
fn a_takeover_leaves_the_past_of_a_deployment_as_it_was() {
    let (timeline, _, green) = taken_over();
    let model = timeline.model();
    assert_eq!(triggers(&timeline, green), [(1, Trigger::Created), (2, Trigger::Adopted)]);
    let found = model.deployments.get(&green).unwrap();
    let set_of = |index: usize| rollout::replica_set(model, found, found.rollouts[index].revision).unwrap().uid;
    assert_eq!([set_of(0), set_of(1)], [Uid::from_bits(8); 2]);
    let told: Vec<String> =
        story::story(model, green).into_iter().filter(|line| line.at_millis > 60_000).map(|line| line.text).collect();
    assert_eq!(
        told,
        [
            "ReplicaSet blue-84454c4 taken over from another Deployment, with 2 pods.",
            "Revision 2 (was 1): the ReplicaSet that was there has another number; image web:v1.",
            "ReplicaSet blue-84454c4 down 2 → 0."
        ]
    );
    // A moment before it has none of the other's pods.
    let then =
        |at| (model.as_of(green, at).replica_sets.values().count(), model.as_of(green, at).pods.values().count());
    assert_eq!([then(60_019), then(60_020)], [(1, 0), (2, 2)]);
}

/// A ReplicaSet and a pod of another namespace that name a Deployment of this one as their owner.
fn strangers() -> [Fact; 2] {
    let mut set = set(66, 99, 2, 2);
    (set.meta.namespace, set.meta.controller) = ("team-a".into(), Some(WEB));
    let mut pod = made::pod(660, 66, "web-evil");
    ready(&mut pod);
    pod.meta.namespace = "team-a".into();
    [Fact::ReplicaSet(Box::new(set), Seen::Added), Fact::Pod(Box::new(pod), Seen::Added)]
}

#[test]
fn nobody_writes_from_another_namespace_into_a_deployment() {
    let mut web = Web::live(2);
    let (before, verdict) = (Objects::of(web.timeline.model(), WEB), web.verdict());
    web.now = 60_000;
    let tell = |web: &mut Web, fact| drop(web.timeline.apply(60_000, fact));
    strangers().into_iter().for_each(|fact| tell(&mut web, fact));
    // A pod that is owned by one of this namespace's ReplicaSets as it says.
    let mut pod = made::pod(661, 2, "web-evil");
    pod.meta.namespace = "team-a".into();
    tell(&mut web, Fact::Pod(Box::new(pod), Seen::Added));
    let refused = made::warning(900, WEB.bits(), ("Deployment", "web"), "ReplicaSetCreateError", "run this");
    let event = timeline::fact::EventFact { namespace: "team-a".into(), ..refused };
    tell(&mut web, Fact::Event(Box::new(event)));
    assert_eq!((Objects::of(web.timeline.model(), WEB), web.verdict()), (before, verdict));
}

#[test]
fn who_named_an_owner_of_another_namespace_before_it_was_known_is_forgotten() {
    let mut timeline = Timeline::new();
    for fact in strangers() {
        timeline.apply(0, fact);
    }
    assert_eq!(timeline.model().sets_of(WEB).count(), 1, "it may be that the Deployment comes later");
    timeline.apply(1, Fact::Deployment(Box::new(made::deployment()), Seen::InList));
    strangers().into_iter().for_each(|fact| drop(timeline.apply(2, fact)));
    assert_eq!(timeline.model().sets_of(WEB).count(), 0);
    assert_eq!(timeline.model().pods_of_deployment(WEB), Vec::<&timeline::model::Pod>::new());
}

#[test]
fn a_pod_that_goes_because_another_one_was_adopted_is_told_with_the_adoption() {
    // So many milliseconds after the adoption the ReplicaSet is scaled, too.
    let told = |scales_after: Option<Millis>| {
        let mut web = Web::live(2).at(60_000);
        web.pod(100, |pod| pod.meta.controller = None);
        web.add_ready_pod(200, 2);
        web.wait_until(70_000).pod(100, |pod| pod.meta.controller = Some(Uid::from_bits(2)));
        if scales_after == Some(0) {
            web.scale(2, 1);
        }
        web.wait(300).kill_pod(200);
        if let Some(after @ 1..) = scales_after {
            web.wait_until(70_000 + after).scale(2, 1);
        }
        web.wait(2_000).report();
        web.told().into_iter().find(|line| line.starts_with("Pod p0100 adopted")).unwrap()
    };
    let again = "Pod p0100 adopted again: its labels match.";
    let one_too_many = format!("{again} The ReplicaSet then had one pod too many and removed pod p0200.");
    assert_eq!(told(None), one_too_many);
    assert_eq!(told(Some(0)), again, "fewer were asked for, too");
    assert_eq!(told(Some(1_000)), again, "the streams arrive in any order");
    assert_eq!(told(Some(3_000)), one_too_many);
}

#[test]
fn a_scale_that_arrives_after_the_pods_it_removes_is_why_each_of_them_goes() {
    let mut web = Web::live(2).at(60_000);
    web.pod(100, |pod| pod.meta.controller = None);
    web.add_ready_pod(200, 2);
    web.wait_until(70_000).pod(100, |pod| pod.meta.controller = Some(Uid::from_bits(2)));
    web.wait(300).kill_pod(200);
    web.kill_pod(101);
    web.wait(300).scale(2, 1);
    web.wait(2_000).report();
    let told = web.told();
    assert!(told.contains(&"Pod p0100 adopted again: its labels match.".to_owned()), "{told:#?}");
}

#[test]
fn a_pod_that_is_adopted_while_many_are_removed_is_not_why_the_next_one_goes() {
    let mut web = Web::live(4).at(60_000);
    web.pod(100, |pod| pod.meta.controller = None);
    web.add_ready_pod(200, 2);
    web.wait_until(62_000).scale(2, 2);
    web.wait_until(70_000).pod(100, |pod| pod.meta.controller = Some(Uid::from_bits(2)));
    web.wait(300).kill_pod(200);
    web.wait(2_000).report();
    let told = web.told();
    assert!(told.contains(&"Pod p0100 adopted again: its labels match.".to_owned()), "{told:#?}");
}
