//! Which ReplicaSet is scaled up, what made a rollout start, and how it stands.

use super::told::since;
use crate::made::{SECOND, WEB, Web, condition, deployment, image, next_revision, set};
use timeline::fact::{ConditionStatus, DeploymentFact, ReplicaSetFact, Seen, Strategy};
use timeline::rollout::{self, Outcome, Trigger};
use timeline::{Fact, Millis, Timeline, Uid};

/// The Deployment as it is made: of revision 1.
fn first() -> DeploymentFact {
    let mut first = deployment();
    (first.now.revision, first.now.spec.images) = (Some(1), image("v1"));
    first
}

fn tell(timeline: &mut Timeline, at: Millis, deployment: &DeploymentFact) {
    timeline.apply(at, Fact::Deployment(Box::new(deployment.clone()), Seen::Modified));
}

fn tell_set(timeline: &mut Timeline, at: Millis, set: &ReplicaSetFact) {
    timeline.apply(at, Fact::ReplicaSet(Box::new(set.clone()), Seen::Modified));
}

fn triggers(timeline: &Timeline) -> Vec<Trigger> {
    let deployment = timeline.model().deployments.get(&WEB).unwrap();
    (0..deployment.rollouts.len()).map(|index| rollout::trigger(timeline.model(), deployment, index)).collect()
}

#[test]
fn an_older_replica_set_that_arrived_half_a_second_before_its_deployment_was_adopted() {
    for (seen_before, older_by, trigger) in [
        (0, 1_000, Trigger::Created),
        (499, 1_000, Trigger::Created),
        (500, 1_000, Trigger::Created),
        (501, 1_000, Trigger::Adopted),
        (5_000, 1_000, Trigger::Adopted),
        (501, 0, Trigger::Created),
        (5_000, 0, Trigger::Created),
        (5_000, -1_000, Trigger::Created),
    ] {
        let mut timeline = Timeline::new();
        let (mut set, mut deployment) = (set(2, 1, 3, 3), first());
        deployment.meta.created_at_millis = 9_000;
        set.meta.created_at_millis = 9_000 - older_by;
        tell_set(&mut timeline, 10_000, &set);
        tell(&mut timeline, 10_000 + seen_before, &deployment);
        assert_eq!(triggers(&timeline), [trigger], "seen {seen_before} ms before, older by {older_by} ms");
    }
    let mut timeline = Timeline::new();
    tell(&mut timeline, 10_000, &first());
    tell_set(&mut timeline, 19_000, &set(2, 1, 3, 3));
    assert_eq!(triggers(&timeline), [Trigger::Created], "seen after it");
}

#[test]
fn a_replica_set_of_another_deployment_is_adopted_whatever_it_carried_there() {
    // Another Deployment has it from the start, with revision 7; this one takes it over and gives it its first revision.
    let mut timeline = Timeline::new();
    tell(&mut timeline, 0, &first());
    let mut other = set(2, 7, 3, 3);
    other.meta.controller = Some(Uid::from_bits(77));
    tell_set(&mut timeline, 100, &other);
    other.meta.controller = Some(WEB);
    other.revision = Some(1);
    tell_set(&mut timeline, 200, &other);
    assert_eq!(triggers(&timeline), [Trigger::Adopted]);
}

#[test]
fn of_a_later_rollout_what_a_replica_set_carried_before_makes_it_a_rollback() {
    let mut timeline = Timeline::new();
    tell_set(&mut timeline, 0, &set(2, 1, 3, 3));
    tell(&mut timeline, 0, &first());
    let mut other = set(9, 7, 3, 3);
    other.meta.controller = Some(Uid::from_bits(77));
    tell_set(&mut timeline, 100, &other);
    other.meta.controller = Some(WEB);
    other.revision = Some(2);
    tell_set(&mut timeline, 200, &other);
    tell(&mut timeline, 300, &deployment());
    assert_eq!(triggers(&timeline), [Trigger::Created, Trigger::Rollback]);
}

#[test]
fn of_a_later_rollout_a_replica_set_of_another_deployment_with_the_same_number_was_adopted() {
    let mut timeline = Timeline::new();
    tell_set(&mut timeline, 0, &set(2, 1, 3, 3));
    tell(&mut timeline, 0, &first());
    let mut other = set(9, 2, 3, 3);
    other.meta.controller = Some(Uid::from_bits(77));
    tell_set(&mut timeline, 100, &other);
    other.meta.controller = Some(WEB);
    tell_set(&mut timeline, 200, &other);
    tell(&mut timeline, 300, &deployment());
    assert_eq!(triggers(&timeline), [Trigger::Created, Trigger::Adopted]);
}

#[test]
fn a_template_a_restart_and_a_rollback_are_told_apart() {
    let mut timeline = Timeline::new();
    tell_set(&mut timeline, 0, &set(2, 1, 3, 3));
    tell(&mut timeline, 0, &first());
    let mut web = deployment();
    tell_set(&mut timeline, 1_000, &set(3, 2, 1, 0));
    tell(&mut timeline, 1_000, &web);
    let restarted_at = Some("2026-11-22T00:00:00Z".to_owned());
    (web.now.revision, web.now.restarted_at) = (Some(3), restarted_at.clone());
    let mut third = set(4, 3, 1, 0);
    (third.images, third.restarted_at) = (image("v2"), restarted_at);
    tell_set(&mut timeline, 2_000, &third);
    tell(&mut timeline, 2_000, &web);
    // Back to the first one, which carries revision 4 now.
    let mut back = set(2, 1, 1, 0);
    back.revision = Some(4);
    tell_set(&mut timeline, 3_000, &back);
    let mut again = first();
    again.now.revision = Some(4);
    tell(&mut timeline, 3_000, &again);
    assert_eq!(triggers(&timeline), [Trigger::Created, Trigger::Template, Trigger::Restart, Trigger::Rollback]);
    let deployment = timeline.model().deployments.get(&WEB).unwrap();
    assert_eq!(rollout::trigger(timeline.model(), deployment, 4), Trigger::Unknown, "there is none of that index");
    assert_eq!(rollout::current_set(timeline.model(), deployment).unwrap().uid, Uid::from_bits(2));
}

#[test]
fn what_ran_when_watching_began_has_no_trigger() {
    assert_eq!(triggers(&Web::live(3).first_listed().timeline), [Trigger::Unknown]);
    assert_eq!(triggers(&Web::live(3).timeline), [Trigger::Created]);
}

fn outcomes(web: &Web) -> Vec<Outcome> {
    let deployment = web.timeline.model().deployments.get(&WEB).unwrap();
    deployment.rollouts.iter().map(|rollout| rollout::outcome(deployment, rollout)).collect()
}

#[test]
fn a_rollout_stands_as_its_last_verdict_says_unless_it_ended() {
    use Outcome::{Complete, DeadlineExceeded, Deleted, Progressing, Superseded};
    let mut web = Web::replacing();
    assert_eq!(outcomes(&web), [Complete, Progressing]);
    let passed = condition(ConditionStatus::False, "ProgressDeadlineExceeded", "");
    web.deployment(|deployment| deployment.status.progressing = Some(passed));
    assert_eq!(outcomes(&web), [Complete, DeadlineExceeded]);
    // It gets on after all.
    let on = condition(ConditionStatus::True, "ReplicaSetUpdated", "");
    web.deployment(|deployment| deployment.status.progressing = Some(on));
    assert_eq!(outcomes(&web), [Complete, Progressing]);
    next_revision(&mut web, 3, [1, 0]);
    assert_eq!(outcomes(&web), [Complete, Superseded, Progressing]);
    web.delete_deployment();
    assert_eq!(outcomes(&web), [Complete, Superseded, Deleted]);
    let web = Web::reported();
    assert_eq!(outcomes(&web), [Complete, Complete]);
}

fn awaits(web: &Web) -> bool {
    let deployment = web.timeline.model().deployments.get(&WEB).unwrap();
    rollout::awaits_revision(web.timeline.model(), deployment)
}

#[test]
fn an_edited_template_awaits_its_revision() {
    let mut web = Web::live(3);
    assert!(!awaits(&web));
    web.edit("v2");
    assert!(awaits(&web), "other images");
    // Its ReplicaSet is there: the Deployment's number follows a moment later.
    web.add_set(SECOND, set(SECOND, 2, 1, 0));
    assert!(!awaits(&web));
    web.deployment(|deployment| deployment.revision = Some(2));
    assert!(!awaits(&web));
    web.deployment(|deployment| deployment.restarted_at = Some("now".into()));
    assert!(awaits(&web), "restarted");
    // A ReplicaSet may overtake the edit that it comes of.
    let mut web = Web::live(3);
    web.add_set(SECOND, set(SECOND, 2, 1, 0));
    assert!(!awaits(&web));
}

#[test]
fn recreate_that_takes_down_what_is_there_awaits_a_revision() {
    /// What there is of an edit by Recreate, changed.
    fn taken_down(change: impl FnOnce(&mut Web)) -> Web {
        let mut web = Web::live(3).at(20_000);
        web.deployment(|deployment| deployment.spec.strategy = Strategy::Recreate);
        web.set(2, |set| set.now.counts.desired = 0);
        change(&mut web);
        web
    }
    assert!(awaits(&taken_down(|_| {})));
    assert!(!awaits(&taken_down(|web| web.deployment(|deployment| deployment.spec.paused = true))), "paused");
    assert!(!awaits(&taken_down(|web| web.deployment(|deployment| deployment.spec.replicas = 0))), "to zero");
    assert!(!awaits(&taken_down(|web| web.set(2, |set| set.now.counts.desired = 1))), "it asks for pods");
    let rolling = deployment().now.spec.strategy;
    assert!(!awaits(&taken_down(|web| web.deployment(|deployment| deployment.spec.strategy = rolling))), "rolling");
    assert!(!awaits(&taken_down(|web| (100..103).for_each(|pod| web.delete_pod(pod)))), "all are gone");
    let release = |web: &mut Web| (100..103).for_each(|pod| web.pod(pod, |pod| pod.meta.controller = None));
    assert!(!awaits(&taken_down(release)), "nobody owns what is there");
    assert!(awaits(&taken_down(|web| (100..102).for_each(|pod| web.delete_pod(pod)))), "one is there");
    // Scaled to zero and up again, before its pods are gone and its ReplicaSet follows.
    let mut web = taken_down(|web| web.scale(2, 0));
    (100..103).for_each(|pod| web.kill_pod(pod));
    web.report();
    web.wait(1_000).edit_spec(|deployment| deployment.spec.replicas = 2);
    assert!(!awaits(&web), "scaled to zero before");
    assert_eq!(web.verdict(), "[Scaling up] Revision 1 is scaling up: 0 of 2 available.");
}

#[test]
fn pods_that_are_not_counted_in_a_pause_are_of_an_edit_where_the_template_is_not_known() {
    let mut web = Web::live(3).at(20_000);
    web.deployment(|deployment| (deployment.spec.paused, deployment.status.updated) = (true, 0));
    assert!(awaits(&web));
    web.set(2, |set| set.now.template = Some(7));
    web.deployment(|deployment| deployment.template = Some(7));
    assert!(awaits(&web), "a field that the recording lacks is another one");
    web.deployment(|deployment| deployment.status.replicas = 0);
    assert!(!awaits(&web), "it was scaled up, and is the same");
    web.deployment(|deployment| deployment.template = Some(8));
    assert!(awaits(&web), "it is another one");
}

#[test]
fn of_two_replica_sets_with_one_revision_the_first_seen_is_current() {
    let mut web = Web::live(3).at(6_000);
    web.add_set(SECOND, set(SECOND, 1, 0, 0));
    let current = |web: &Web| {
        let deployment = web.timeline.model().deployments.get(&WEB).unwrap();
        rollout::current_set(web.timeline.model(), deployment).map(|set| set.uid)
    };
    assert_eq!(current(&web), Some(Uid::from_bits(2)));
    web.delete_set(2);
    assert_eq!(current(&web), Some(Uid::from_bits(SECOND)), "a deleted one is none");
    web.set(SECOND, |set| set.meta.controller = None);
    assert_eq!(current(&web), None, "one that nobody owns is none");
}

#[test]
fn a_restart_changes_nothing_but_its_annotation() {
    let at = |text: &str| Some(text.to_owned());
    let trigger_of = |restarted_at: Option<String>, version: &str| {
        let mut web = Web::live(1).at(20_000);
        let mut second = set(3, 2, 1, 0);
        (second.images, second.restarted_at) = (image(version), restarted_at.clone());
        web.add_set(3, second);
        web.deployment(|deployment| {
            (deployment.revision, deployment.restarted_at) = (Some(2), restarted_at);
            deployment.spec.images = image(version);
        });
        triggers(&web.timeline)[1]
    };
    assert_eq!(trigger_of(at("2026-11-22T00:00:00Z"), "v1"), Trigger::Restart);
    assert_eq!(trigger_of(at("2026-11-22T00:00:00Z"), "v2"), Trigger::Template, "another image as well");
    assert_eq!(trigger_of(None, "v1"), Trigger::Template, "something else of the template");
}

#[test]
fn a_rollback_to_a_template_that_worked_under_an_earlier_number_tells_of_no_failure() {
    let mut web = Web::live(3).at(20_000);
    web.delete_pod(102);
    next_revision(&mut web, 2, [2, 2]);
    for (at, revision, set, image) in
        [(30_000, 3, 2, "v1"), (40_000, 4, SECOND, "v2"), (50_000, 5, 2, "v1"), (60_000, 6, SECOND, "v2")]
    {
        web.wait_until(at).edit(image);
        web.set(set, |set| set.revision = Some(revision));
        web.deployment(|deployment| deployment.revision = Some(revision));
    }
    let mut told = since(&web, 50_000);
    told.retain(|line| line.contains("Rolled back"));
    let complete_as_revision_1 = "50000 Rolled back to revision 3, now 5: image web:v1.";
    let never_complete =
        "60000 Rolled back to revision 4, now 6: image web:v2. Not all of its pods were ever available.";
    assert_eq!(told, [complete_as_revision_1, never_complete]);
}
