//! Rollouts by Recreate: the old pods go, then the new ones come.

use crate::made::{SECOND, WEB, Web, condition, image, ready, set, unready};
use timeline::fact::{ConditionStatus, Strategy};
use timeline::story::LineKind;
use timeline::view::{self, Now};
use timeline::{Millis, rollout};

#[test]
fn recreate_that_never_completed_is_taken_down_before_the_next_revision() {
    let mut web = Web::live(3).at(20_000);
    web.deployment(|deployment| deployment.spec.strategy = Strategy::Recreate);
    web.take_over(|_| {});
    web.report();
    web.wait_until(60_000).edit("v3");
    web.take_down(SECOND, 200);
    assert_eq!(web.verdict(), "[Taking down] Revision 2 is being taken down before the next one starts.");
    let next = web.view().next;
    assert!(next.starts_with("Recreate: the next revision starts when 3 pods are gone."), "{next}");
}

/// Recreate: an edit at 60 s takes the three old pods down, which have 30 s.
fn taken_down_for_an_edit() -> Web {
    let mut web = Web::live(3).at(60_000);
    web.set(2, |set| set.now.template = Some(1));
    web.deployment(|deployment| (deployment.spec.strategy, deployment.template) = (Strategy::Recreate, Some(1)));
    web.edit_spec(|deployment| (deployment.spec.images, deployment.template) = (image("v2"), Some(2)));
    web.take_down(2, 100);
    web
}

#[test]
fn a_take_down_says_that_no_pod_is_available_and_when_the_grace_period_ends() {
    let mut web = taken_down_for_an_edit();
    let next = "Recreate: the next revision starts when 3 pods are gone. Their grace periods end at 00:01:30 UTC at the latest.";
    assert_eq!(web.verdict(), "[Taking down] Revision 1 is being taken down before the next one starts.");
    assert_eq!((web.view().verdict.why.as_str(), web.view().next.as_str()), ("No pod is available.", next));
    web.now = 70_000;
    (100..102).for_each(|pod| web.delete_pod(pod));
    let next =
        "Recreate: the next revision starts when 1 pod is gone. Its grace period ends at 00:01:30 UTC at the latest.";
    assert_eq!(web.view().next, next);
    web.now = 90_000;
    assert_eq!(web.view().next, "Recreate: the next revision starts when 1 pod is gone.");
}

/// Revision 2 is complete at 120.5 s, after the old pods were gone at 120 s.
fn complete_after_its_take_down() -> Web {
    let mut web = taken_down_for_an_edit().at(120_000);
    (100..103).for_each(|pod| web.delete_pod(pod));
    web.add_set(SECOND, set(SECOND, 2, 3, 0));
    web.deployment(|deployment| deployment.revision = Some(2));
    (200..203).for_each(|pod| web.add_ready_pod(pod, SECOND));
    web.wait(500).report();
    web
}

/// When each rollout started, and when it began for the pods.
fn begins(web: &Web) -> Vec<(Option<Millis>, Option<Millis>)> {
    let model = web.timeline.model();
    let deployment = model.deployments.get(&WEB).unwrap();
    let began = |of| rollout::began_millis(model, deployment, of);
    deployment.rollouts.iter().map(|of| (of.started_millis, began(of))).collect()
}

#[test]
fn a_rollout_by_recreate_is_told_with_the_time_since_its_take_down() {
    let web = complete_after_its_take_down();
    let told = "Revision 2 is complete after 0.5 s, 1 min 0 s after the old pods were scaled down.";
    assert_eq!(web.lines(LineKind::Done), ["Revision 1 is complete after 5.0 s.", told]);
    assert_eq!(begins(&web), [(Some(0), Some(0)), (Some(120_000), Some(60_000))]);
    // Old pods of a rolling update go while new ones come.
    assert_eq!(begins(&Web::reported()), [(Some(0), Some(0)), (Some(20_000), Some(20_000))]);
}

/// The rollback has the ReplicaSet of revision 1, which was scaled down long before.
#[test]
fn a_rollback_that_is_superseded_before_it_has_pods_was_not_taken_down() {
    let mut web = complete_after_its_take_down().at(200_000);
    web.edit_spec(|deployment| (deployment.spec.images, deployment.template) = (image("v1"), Some(1)));
    web.set(2, |set| set.revision = Some(3));
    web.deployment(|deployment| deployment.revision = Some(3));
    web.take_down(SECOND, 200);
    web.wait_until(202_000)
        .edit_spec(|deployment| (deployment.spec.images, deployment.template) = (image("v4"), Some(4)));
    web.wait_until(210_000);
    (200..203).for_each(|pod| web.delete_pod(pod));
    web.add_set(4, set(4, 4, 3, 0));
    web.deployment(|deployment| deployment.revision = Some(4));
    (300..303).for_each(|pod| web.add_ready_pod(pod, 4));
    web.wait(500).report();
    assert_eq!(web.lines(LineKind::Done).last().unwrap(), "Revision 4 is complete after 0.5 s.");
    assert_eq!(begins(&web)[2..], [(Some(200_000), Some(200_000)), (Some(210_000), Some(210_000))]);
}

#[test]
fn a_take_down_may_be_seen_before_the_begin_of_its_rollout() {
    let web = complete_after_its_take_down();
    let began = |before_began_millis: Millis| {
        let mut model = web.timeline.model().clone();
        model.deployments.get_mut(&WEB).unwrap().rollouts[0].started_millis = Some(before_began_millis);
        let deployment = model.deployments.get(&WEB).unwrap();
        rollout::began_millis(&model, deployment, &deployment.rollouts[1])
    };
    assert_eq!([60_000, 61_000, 61_001].map(began), [Some(60_000), Some(60_000), Some(120_000)]);
}

#[test]
fn a_take_down_that_went_on_when_watching_began_is_of_the_images_that_ran() {
    let mut web = taken_down_for_an_edit().first_listed().at(120_000);
    (100..103).for_each(|pod| web.delete_pod(pod));
    web.add_set(SECOND, set(SECOND, 2, 3, 0));
    web.deployment(|deployment| deployment.revision = Some(2));
    let told = ["Watching begins: revision 1 with image web:v1.", "Revision 2 starts: image web:v2."];
    assert_eq!(web.lines(LineKind::Revision), told);
    let rollouts = &web.timeline.model().deployments.get(&WEB).unwrap().rollouts;
    let images = rollouts.iter().map(|rollout| (rollout.revision, rollout.images.clone()));
    assert_eq!(images.collect::<Vec<_>>(), [(1, image("v1")), (2, image("v2"))]);
}

/// Revision 2 is complete, and the next rollout goes by Recreate.
fn complete_before_recreate() -> Web {
    let mut web = Web::reported().at(50_000);
    let told = "ReplicaSet \"web-2\" has successfully progressed.";
    web.deployment(|deployment| {
        deployment.spec.strategy = Strategy::Recreate;
        deployment.status.progressing = Some(condition(ConditionStatus::True, "NewReplicaSetAvailable", told));
    });
    web
}

/// The last revision, and since when it had everything.
fn available_since(web: &Web) -> Option<(u64, Option<Millis>)> {
    let deployment = web.timeline.model().deployments.get(&WEB).unwrap();
    deployment.rollouts.last().map(|rollout| (rollout.revision, rollout.available_millis))
}

#[test]
fn a_rollback_by_recreate_is_not_complete_because_the_rollout_before_was() {
    let mut web = complete_before_recreate();
    // The second one goes back to the ReplicaSet that the condition names.
    for (revision, at, (old, gone), (new, made), version) in
        [(3, 60_000, (SECOND, 200), (2, 300), "v1"), (4, 160_000, (2, 300), (SECOND, 400), "v2")]
    {
        web.wait_until(at).edit(version);
        web.set(new, |set| set.revision = Some(revision));
        web.set(old, |set| set.now.counts.desired = 0);
        web.deployment(|deployment| deployment.revision = Some(revision));
        // The controller does not move the condition while as many pods are updated as there are.
        (gone..gone + 3).for_each(|pod| web.delete_pod(pod));
        web.report();
        assert_eq!(available_since(&web), Some((revision, None)));
        web.set(new, |set| set.now.counts.desired = 3);
        (made..made + 3).for_each(|pod| web.add_pod(pod, new, unready));
        web.report();
        web.wait(5_000);
        let verdict = web.view().verdict;
        assert_eq!(verdict.sentence, format!("Revision {revision}: 0 of 3 available."));
        assert!(!matches!(verdict.badge.as_str(), "Catching up" | "Recovering" | "Degraded"), "{}", verdict.badge);
        (made..made + 3).for_each(|pod| web.pod(pod, ready));
        assert_eq!(available_since(&web), Some((revision, Some(at + 5_000))));
        web.report();
    }
}

#[test]
fn a_rollback_by_recreate_is_not_complete_for_who_came_between_its_replica_set_and_its_deployment() {
    // Revision 3 rolled back before. Now the ReplicaSet of revision 2 is used again, and the condition names no other one.
    let mut web = complete_before_recreate().at(60_000);
    web.edit("v1");
    web.set(2, |set| (set.revision, set.now.counts.desired) = (Some(3), 3));
    web.set(SECOND, |set| set.now.counts.desired = 0);
    web.deployment(|deployment| deployment.revision = Some(3));
    (200..203).for_each(|pod| web.delete_pod(pod));
    (300..303).for_each(|pod| web.add_ready_pod(pod, 2));
    web.report();
    web.wait_until(160_000).edit("v2");
    web.set(SECOND, |set| set.revision = Some(4));
    let mut late = web.first_listed();
    late.wait(20).set(2, |set| set.now.counts.desired = 0);
    late.deployment(|deployment| deployment.revision = Some(4));
    (300..303).for_each(|pod| late.delete_pod(pod));
    late.report();
    assert_eq!(available_since(&late), Some((4, None)));
    late.set(SECOND, |set| set.now.counts.desired = 3);
    (400..403).for_each(|pod| late.add_pod(pod, SECOND, unready));
    late.report();
    assert_eq!(available_since(&late), Some((4, None)));
    (400..403).for_each(|pod| late.wait(1_000).pod(pod, ready));
    assert_eq!(available_since(&late), Some((4, Some(163_020))));
}

/// It is no rollback: the condition is of its own ReplicaSet, and tells of the time in which nobody saw its pods.
#[test]
fn a_rollout_by_recreate_that_was_complete_while_nobody_looked_had_everything() {
    let mut web = taken_down_for_an_edit().at(120_000);
    (100..103).for_each(|pod| web.delete_pod(pod));
    web.add_set(SECOND, set(SECOND, 2, 3, 0));
    web.deployment(|deployment| {
        deployment.revision = Some(2);
        deployment.status.progressing = Some(condition(ConditionStatus::True, "NewReplicaSetCreated", ""));
    });
    (200..203).for_each(|pod| web.add_pod(pod, SECOND, unready));
    web.report();
    assert_eq!(available_since(&web), Some((2, None)));
    // One pod was lost again in the same gap.
    let told = "ReplicaSet \"web-2\" has successfully progressed.";
    web.unseen(|deployment, _| {
        deployment.status.available = 2;
        deployment.status.progressing = Some(condition(ConditionStatus::True, "NewReplicaSetAvailable", told));
    });
    (200..202).for_each(|pod| web.unseen_pod(pod, ready));
    web.wait_until(300_000).relisted(130_000);
    assert_eq!(available_since(&web), Some((2, Some(300_000))));
}

#[test]
fn a_rollback_in_a_gap_is_not_complete_because_the_rollout_before_was() {
    let mut web = complete_before_recreate().at(60_000);
    web.unseen(|deployment, sets| {
        deployment.generation += 1;
        (deployment.revision, deployment.spec.images) = (Some(3), image("v1"));
        deployment.status.observed_generation = deployment.generation;
        (deployment.status.replicas, deployment.status.updated, deployment.status.available) = (0, 0, 0);
        sets.get_mut(&2).unwrap().revision = Some(3);
        sets.get_mut(&SECOND).unwrap().now.counts.desired = 0;
    });
    (200..203).for_each(|pod| web.lose_pod(pod));
    web.wait_until(70_000).relisted(61_000);
    assert_eq!(available_since(&web), Some((3, None)));
}

/// The condition of the rollout before stays, with its time.
#[test]
fn when_a_rollback_by_recreate_was_complete_is_not_known_to_who_came_later() {
    let finished = |web: &Web| {
        let now = Now { millis: web.now, skew_millis: 0 };
        view::summary(web.timeline.model(), WEB, now).unwrap().finished_millis
    };
    let mut web = complete_before_recreate();
    assert_eq!(finished(&web.first_listed()), Some(0));
    let told = web.timeline.model().deployments.get(&WEB).unwrap().now.status.progressing.clone();
    web.wait_until(60_000).edit("v1");
    web.set(2, |set| set.revision = Some(3));
    web.set(SECOND, |set| set.now.counts.desired = 0);
    web.deployment(|deployment| deployment.revision = Some(3));
    (200..203).for_each(|pod| web.delete_pod(pod));
    web.set(2, |set| set.now.counts.desired = 3);
    (300..303).for_each(|pod| web.add_ready_pod(pod, 2));
    web.report();
    web.deployment(|deployment| deployment.status.progressing = told);
    assert_eq!(finished(&web), Some(60_000));
    assert_eq!(finished(&web.first_listed()), None);
}

#[test]
fn an_edit_that_is_undone_during_its_take_down_is_told() {
    let mut web = taken_down_for_an_edit().at(70_000);
    web.edit_spec(|deployment| (deployment.spec.images, deployment.template) = (image("v1"), Some(1)));
    web.set(2, |set| set.now.counts.desired = 3);
    let undone = "A change that waited was not rolled out: image web:v2. The template was changed back: image web:v1.";
    let recreate = "Strategy changed: RollingUpdate (maxSurge 25 %, maxUnavailable 25 %) → Recreate.";
    assert_eq!(web.lines(LineKind::Outside), [recreate, undone]);
    // Once no pod is left, its ReplicaSet may have been created.
    let mut web = taken_down_for_an_edit().at(70_000);
    (100..103).for_each(|pod| web.delete_pod(pod));
    web.edit_spec(|deployment| (deployment.spec.images, deployment.template) = (image("v1"), Some(1)));
    assert_eq!(web.lines(LineKind::Outside), [recreate]);
}

/// The streams of Deployments and ReplicaSets overtake each other.
#[test]
fn an_edit_that_is_seen_after_its_take_down_replaces_no_change_that_waited() {
    for [before, after] in [[None, None], [Some(2), Some(1)]] {
        let mut web = Web::reported().at(60_000);
        web.set(SECOND, |set| set.now.template = before);
        web.deployment(|deployment| (deployment.spec.strategy, deployment.template) = (Strategy::Recreate, before));
        web.set(SECOND, |set| set.now.counts.desired = 0);
        web.wait(1).edit_spec(|deployment| (deployment.spec.images, deployment.template) = (image("v1"), after));
        let recreate = "Strategy changed: RollingUpdate (maxSurge 25 %, maxUnavailable 25 %) → Recreate.";
        let told = web.lines(LineKind::Outside);
        assert_eq!(told.iter().filter(|line| !line.starts_with("Pod ")).collect::<Vec<_>>(), [recreate], "{told:#?}");
    }
}

#[test]
fn recreate_chosen_during_a_rollout_waits_only_for_the_old_pods() {
    let mut web = Web::replacing();
    web.add_ready_pod(200, SECOND);
    web.edit_spec(|deployment| deployment.spec.strategy = Strategy::Recreate);
    web.take_down(2, 100);
    assert_eq!(web.verdict(), "[Taking down] Revision 1 is being taken down before revision 2 goes on.");
    let next = web.view().next;
    assert!(next.starts_with("Recreate: more new pods are created when 3 old pods are gone."), "{next}");
}

/// Two ReplicaSets have pods, and both say the number of replicas before: the controller tries to scale them, and does nothing.
#[test]
fn recreate_chosen_during_a_rollout_that_is_scaled_never_goes_on() {
    let mut web = Web::replacing();
    web.add_ready_pod(200, SECOND);
    web.edit_spec(|deployment| (deployment.spec.strategy, deployment.spec.replicas) = (Strategy::Recreate, 5));
    web.report();
    let stuck = "[Blocked] Revision 2 is blocked: Recreate cannot scale several ReplicaSets.";
    for web in [&web, &web.first_listed()] {
        assert_eq!(web.verdict(), stuck);
        let view = web.view();
        assert_eq!(
            view.verdict.why,
            "5 replicas are desired instead of 3: before the rollout goes on, the Deployment controller has to scale, and with \
             Recreate it cannot scale several ReplicaSets. Scale back to 3, and to 5 once the rollout is complete."
        );
        assert_eq!(
            view.next,
            "The Deployment controller scales no ReplicaSet until 3 replicas are desired again. Kubernetes does not roll back by \
             itself."
        );
        let remedy = view.remedy.unwrap();
        assert_eq!(remedy.what, "Scale back to 3 replicas");
        assert_eq!(remedy.command, "kubectl --namespace shop scale deployment/web --replicas=3");
        assert_eq!(view.deadline_millis, None);
    }
    // A rollback does not move it.
    let mut back = web.first_listed();
    back.edit_spec(|deployment| (deployment.revision, deployment.spec.images) = (Some(3), image("v1")));
    back.set(2, |set| set.revision = Some(3));
    back.report();
    assert_eq!(back.verdict(), "[Blocked] Revision 3 is blocked: Recreate cannot scale several ReplicaSets.");
    web.edit_spec(|deployment| deployment.spec.replicas = 3);
    web.report();
    assert_eq!(web.verdict(), "[Taking down] Revision 1 is being taken down before revision 2 goes on.");
}

/// Two ReplicaSets have pods, and they say different numbers of replicas.
#[test]
fn recreate_that_takes_nothing_down_is_blocked_after_a_while() {
    let mut web = Web::replacing();
    web.add_ready_pod(200, SECOND);
    web.set(SECOND, |set| set.now.desired_replicas = Some(4));
    web.edit_spec(|deployment| (deployment.spec.strategy, deployment.spec.replicas) = (Strategy::Recreate, 5));
    web.report();
    web.wait(300_000);
    assert_eq!(web.verdict(), "[Taking down] Revision 1 is being taken down before revision 2 goes on.");
    web.wait(1);
    assert_eq!(web.verdict(), "[Blocked] Revision 2 makes no progress: 1 of 5 new pods available.");
}

#[test]
fn recreate_takes_down_for_edits_that_are_not_decoded_too() {
    let mut web = Web::live(3).at(20_000);
    web.edit_spec(|deployment| deployment.spec.strategy = Strategy::Recreate);
    web.take_down(2, 100);
    assert_eq!(web.verdict(), "[Taking down] Revision 1 is being taken down before the next one starts.");
    let next = web.view().next;
    assert!(next.starts_with("Recreate: the next revision starts when 3 pods are gone."), "{next}");
}

#[test]
fn a_rollback_by_recreate_after_a_scale_is_a_rollout_before_its_deployment_says_so() {
    let mut web = Web::reported().at(40_000);
    web.scale(SECOND, 5);
    web.wait_until(60_000).deployment(|deployment| deployment.spec.strategy = Strategy::Recreate);
    web.edit("v1");
    web.set(SECOND, |set| set.now.counts.desired = 0);
    (0..3).for_each(|number| web.kill_pod(200 + number));
    (0..3).for_each(|number| web.delete_pod(200 + number));
    web.wait_until(70_000).set(2, |set| {
        (set.revision, set.now.counts.desired) = (Some(3), 5);
        (set.now.desired_replicas, set.now.max_replicas) = (Some(5), Some(5));
    });
    assert_eq!(web.lines(LineKind::Step).last().unwrap(), "Revision 3 up 0 → 5: 5 of at most 5.");
}
