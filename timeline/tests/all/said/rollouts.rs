//! Rollouts that overlap with other things: scaling, rollbacks, pauses, Recreate, deleted ReplicaSets.

use crate::made::{SECOND, WEB, Web, condition, deployment, image, next_revision, ready, set, unready, waiting};
use timeline::fact::{ConditionStatus, Phase, PodFact, Strategy};
use timeline::story::LineKind;
use timeline::view::{self, Now, Tone};
use timeline::{Millis, rollout};

#[test]
fn a_rollback_after_a_scale_is_a_rollout() {
    let mut web = Web::reported().at(40_000);
    web.scale(SECOND, 5);
    (3..5).for_each(|number| web.add_ready_pod(200 + number, SECOND));
    web.report();
    web.wait_until(60_000).edit("v1");
    // The empty ReplicaSet still says three: it takes part in no scaling, and says five with its first step.
    web.set(2, |set| set.revision = Some(3));
    web.set(2, |set| {
        set.now.counts.desired = 2;
        (set.now.desired_replicas, set.now.max_replicas) = (Some(5), Some(7));
    });
    web.deployment(|deployment| deployment.revision = Some(3));
    let told = web.told();
    assert!(!told.iter().any(|line| line.contains("Scaled") && line.contains("revision 3")), "{told:#?}");
    assert_eq!(web.lines(LineKind::Step).last().unwrap(), "Revision 3 up 0 → 2: 7 of at most 7.");
}

#[test]
fn an_outage_is_told_of_a_replica_set_that_caused_it() {
    // An old, empty one goes; later nobody asks for pods.
    let mut web = Web::reported().at(60_000);
    web.delete_set(2);
    web.now = 70_000;
    (0..3).for_each(|number| web.delete_pod(200 + number));
    web.report();
    web.now = 100_000;
    (3..6).for_each(|number| web.add_ready_pod(200 + number, SECOND));
    web.report();
    assert_eq!(web.lines(LineKind::Bad), ["ReplicaSet 1 was deleted, not by its Deployment."]);
}

#[test]
fn recreate_that_never_completed_is_taken_down_before_the_next_revision() {
    let mut web = Web::live(3).at(20_000);
    web.deployment(|deployment| deployment.spec.strategy = Strategy::Recreate);
    web.take_over(|_| {});
    web.report();
    web.wait_until(60_000).edit("v3");
    web.take_down(SECOND, 200);
    assert_eq!(web.verdict(), "[Taking down] Revision 2 is being taken down before the next one starts.");
    assert!(
        web.view().next.starts_with("Recreate: the next revision starts when 3 pods are gone."),
        "{:?}",
        web.view()
    );
}

#[test]
fn an_old_pod_that_nobody_asks_for_any_more_does_not_finish_a_rollout() {
    let mut web = Web::live(4).at(20_000);
    next_revision(&mut web, 2, [4, 1]);
    (100..103).for_each(|pod| web.delete_pod(pod));
    (200..203).for_each(|pod| web.add_ready_pod(pod, SECOND));
    web.add_pod(203, SECOND, unready);
    web.report();
    web.set(2, |set| set.now.counts.desired = 0);
    assert_eq!(web.verdict(), "[Rolling out] Revision 2: 3 of 4 available.");
    let next = "The ReplicaSet controller removes 1 pod; 1 pod still to become available.";
    assert!(web.view().next.starts_with(next), "{}", web.view().next);
    web.pod(203, ready);
    assert_eq!(web.verdict(), "[Finishing] Revision 2: 4 of 4 available.");
    // One that was ready before is not missing beside it.
    web.wait(1_000).pod(203, unready);
    assert_eq!(web.verdict(), "[Finishing] Revision 2: 3 of 4 available.");
    assert!(!web.view().verdict.why.contains("not available"), "{}", web.view().verdict.why);
    web.deployment(|deployment| deployment.status.progressing = None);
    assert_eq!(web.first_listed().view().verdict.sentence, "Revision 2: 3 of 4 available.");
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

#[test]
fn a_rollout_by_recreate_is_told_with_the_time_since_its_take_down() {
    let mut web = taken_down_for_an_edit().at(120_000);
    (100..103).for_each(|pod| web.delete_pod(pod));
    web.add_set(SECOND, set(SECOND, 2, 3, 0));
    web.deployment(|deployment| deployment.revision = Some(2));
    (200..203).for_each(|pod| web.add_ready_pod(pod, SECOND));
    web.wait(500).report();
    let told = "Revision 2 is complete after 0.5 s, 1 min 0 s after the old pods were scaled down.";
    assert_eq!(web.lines(LineKind::Done), ["Revision 1 is complete after 5.0 s.", told]);
    let began = |web: &Web| {
        let model = web.timeline.model();
        let deployment = model.deployments.get(&WEB).unwrap();
        let began = |of| rollout::began_millis(model, deployment, of);
        deployment.rollouts.iter().map(|of| (of.started_millis, began(of))).collect::<Vec<_>>()
    };
    assert_eq!(began(&web), [(Some(0), Some(0)), (Some(120_000), Some(60_000))]);
    // Old pods of a rolling update go while new ones come.
    assert_eq!(began(&Web::reported()), [(Some(0), Some(0)), (Some(20_000), Some(20_000))]);
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

#[test]
fn an_edit_whose_replica_set_is_refused_is_told_when_it_is_taken_back() {
    let mut web = Web::live(3).at(60_000);
    web.set(2, |set| set.now.template = Some(1));
    web.deployment(|deployment| deployment.template = Some(1));
    web.edit_spec(|deployment| {
        (deployment.spec.images, deployment.template) = (image("v2"), Some(2));
        deployment.status.progressing = Some(condition(ConditionStatus::False, "ReplicaSetCreateError", "no"));
    });
    web.wait_until(90_000)
        .edit_spec(|deployment| (deployment.spec.images, deployment.template) = (image("v1"), Some(1)));
    let undone = "A change that waited was not rolled out: image web:v2. The template was changed back: image web:v1.";
    assert_eq!(web.lines(LineKind::Outside), [undone]);
    // The next change that nobody refuses is no such one.
    web.report();
    web.wait_until(120_000)
        .edit_spec(|deployment| (deployment.spec.images, deployment.template) = (image("v3"), Some(3)));
    assert_eq!(web.lines(LineKind::Outside), [undone]);
}

#[test]
fn recreate_chosen_during_a_rollout_waits_only_for_the_old_pods() {
    let mut web = Web::replacing();
    web.add_ready_pod(200, SECOND);
    web.edit_spec(|deployment| deployment.spec.strategy = Strategy::Recreate);
    web.take_down(2, 100);
    assert_eq!(web.verdict(), "[Taking down] Revision 1 is being taken down before revision 2 goes on.");
    assert!(
        web.view().next.starts_with("Recreate: more new pods are created when 3 old pods are gone."),
        "{:?}",
        web.view()
    );
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

/// Paused, the controller creates no ReplicaSet: neither that of an edit nor the one that was there.
#[test]
fn a_pause_says_that_no_replica_set_is_left() {
    let mut web = Web::live(3).at(20_000);
    web.edit_spec(|deployment| (deployment.spec.paused, deployment.spec.images) = (true, image("v2")));
    web.report();
    assert_eq!(web.view().verdict.why, "A change of the template is waiting: image web:v2.");
    web.wait(4_000).delete_set(2);
    (100..103).for_each(|pod| web.delete_pod(pod));
    web.report();
    assert_eq!(
        web.view().verdict.why,
        "No ReplicaSet is left, and the Deployment controller creates none while the Deployment is paused: image web:v2 is waiting."
    );
    assert_eq!(
        web.view().next,
        "The ReplicaSet is created when somebody resumes the rollout; no progress deadline runs until then."
    );
}

#[test]
fn a_deadline_that_passed_for_the_revision_before_is_not_told_of_the_rollback() {
    let mut web = Web::replacing().at(630_000);
    let mut passed = condition(ConditionStatus::False, "ProgressDeadlineExceeded", "timed out");
    passed.last_update_millis = Some(629_000);
    web.deployment(|deployment| deployment.status.progressing = Some(passed));
    assert_eq!(web.lines(LineKind::Bad).len(), 1);
    web.wait_until(700_000).edit("v1");
    web.set(2, |set| set.revision = Some(3));
    web.deployment(|deployment| {
        (deployment.revision, deployment.status.observed_generation) = (Some(3), deployment.generation);
        deployment.status.updated = 2;
    });
    assert_eq!(web.lines(LineKind::Bad).len(), 1, "{:#?}", web.told());
    assert!(!web.verdict().contains("stuck"), "{}", web.verdict());
    let last = |web: &Web| {
        let deployment = web.timeline.model().deployments.get(&WEB).unwrap();
        let last = deployment.rollouts.last().unwrap();
        (last.revision, last.deadline_exceeded_millis, rollout::outcome(deployment, last))
    };
    assert_eq!(last(&web), (3, None, rollout::Outcome::Progressing));
    // One of its own that passes later is told of it, once.
    for (now, reason) in [
        (800_000, "ReplicaSetUpdated"),
        (1_400_000, "ProgressDeadlineExceeded"),
        (1_401_000, "ProgressDeadlineExceeded"),
        (1_402_000, "ReplicaSetUpdated"),
        (2_100_000, "ProgressDeadlineExceeded"),
    ] {
        web.now = now;
        let mut told = condition(ConditionStatus::False, reason, "");
        told.last_update_millis = Some(now - 500);
        web.deployment(|deployment| deployment.status.progressing = Some(told));
    }
    assert!(web.verdict().starts_with("[Deadline exceeded]"), "{}", web.verdict());
    assert_eq!(last(&web), (3, Some(1_400_000), rollout::Outcome::DeadlineExceeded));
    let told = web.lines(LineKind::Bad);
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told[1].starts_with("Progress deadline passed for revision 3."), "{told:#?}");
}

#[test]
fn recreate_takes_down_for_edits_that_are_not_decoded_too() {
    let mut web = Web::live(3).at(20_000);
    web.edit_spec(|deployment| deployment.spec.strategy = Strategy::Recreate);
    web.take_down(2, 100);
    assert_eq!(web.verdict(), "[Taking down] Revision 1 is being taken down before the next one starts.");
    assert!(
        web.view().next.starts_with("Recreate: the next revision starts when 3 pods are gone."),
        "{:?}",
        web.view()
    );
}

#[test]
fn paused_with_nothing_to_do_nothing_waits() {
    let mut web = Web::live(3).at(60_000);
    web.deployment(|deployment| deployment.spec.paused = true);
    assert_eq!(web.view().verdict.why, "No change of the template is waiting.");
    assert_eq!(web.view().next, "Changes of the template wait until somebody resumes the rollout.");
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

#[test]
fn what_is_lost_once_all_pods_were_there_is_no_part_of_the_rollout() {
    // All three are available, and the controller has not reported it yet.
    let mut web = Web::replaced().at(21_000);
    web.pod(200, unready);
    assert_eq!(web.verdict(), "[Recovering] Revision 2: 2 of 3 available.");
    // One that was never there is.
    let mut web = Web::live(3).at(20_000);
    web.take_over(|_| {});
    (200..202).for_each(|pod| web.pod(pod, ready));
    web.wait_until(21_000).pod(200, unready);
    assert_eq!(web.verdict(), "[Rolling out] Revision 2: 1 of 3 available.");
}

#[test]
fn the_first_revision_starts_and_the_next_ones_are_rolled_out() {
    let mut web = Web::made(3);
    web.report();
    assert_eq!(web.verdict(), "[Starting] Revision 1: 0 of 3 available.");
    // The template is edited before the first revision is complete.
    web.edit("v2");
    assert!(!web.verdict().starts_with("[Starting]"), "{}", web.verdict());
}

#[test]
fn all_pods_of_none_were_never_available() {
    let mut web = Web::made(0);
    let available = |web: &Web| web.timeline.model().deployments.get(&WEB).unwrap().rollouts[0].available_millis;
    web.wait_until(10_000).deployment(|deployment| deployment.generation += 1);
    assert_eq!(available(&web), None);
    web.wait_until(20_000).scale(2, 1);
    web.add_ready_pod(100, 2);
    assert_eq!(available(&web), Some(20_000));
}

/// What the last moment of the first rollout says.
fn last_of_the_first(web: &Web) -> (Millis, String) {
    let model = web.timeline.model();
    let last = rollout::last_moment_millis(model, model.deployments.get(&WEB).unwrap(), 0).unwrap();
    let then = web.history.at(last).unwrap();
    (last, view::view(&then, WEB, Now { millis: last, skew_millis: 0 }).unwrap().verdict.sentence)
}

#[test]
fn a_rollout_ends_before_the_first_sign_of_the_next_one_however_late_that_begins() {
    let begin = |web: &mut Web, edit: &dyn Fn(&mut Web), made_millis, began_millis| {
        web.now = 20_000;
        edit(web);
        let first = web.timeline.model().deployments.get(&WEB).unwrap().rollouts.len();
        let next_sign = |web: &Web| {
            let model = web.timeline.model();
            rollout::next_sign_millis(model, model.deployments.get(&WEB).unwrap())
        };
        let before = next_sign(web);
        web.wait_until(made_millis).add_set(SECOND, set(SECOND, 2, 1, 0));
        let after = next_sign(web);
        web.wait_until(began_millis).deployment(|deployment| deployment.revision = Some(2));
        assert_eq!(next_sign(web), None, "it has begun");
        assert_eq!(web.timeline.model().deployments.get(&WEB).unwrap().rollouts.len(), first + 1);
        web.wait(100).report();
        (before, after)
    };
    let live = "Revision 1 is complete: 3 of 3 available.".to_owned();
    // The controller takes seconds to react to an edit of the image.
    let mut web = Web::live(3);
    let signs = begin(&mut web, &|web| web.edit("v2"), 23_000, 24_000);
    assert_eq!(signs, (Some(20_000), Some(23_000)));
    assert_eq!(last_of_the_first(&web), (19_999, live.clone()));
    // Of an edit of other fields only the generation is seen.
    let mut web = Web::live(3);
    let other = |web: &mut Web| web.deployment(|deployment| deployment.generation += 1);
    assert_eq!(begin(&mut web, &other, 23_000, 24_000), (None, Some(23_000)));
    assert_eq!(last_of_the_first(&web), (19_999, live.clone()));
    // Nothing was edited: its ReplicaSet was deleted, and another one is made with another revision.
    let mut web = Web::live(3);
    begin(&mut web, &|_| {}, 23_000, 24_000);
    assert_eq!(last_of_the_first(&web), (22_999, live));
}

#[test]
fn a_rollout_ends_before_the_gap_in_which_the_next_one_began() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, unready);
    web.wait_until(3_600_000).unseen(|deployment, sets| {
        (deployment.revision, deployment.spec.images) = (Some(3), image("v3"));
        sets.insert(4, set(4, 3, 1, 0));
    });
    web.relisted(30_000);
    let model = web.timeline.model();
    let deployment = model.deployments.get(&WEB).unwrap();
    let last = |index| rollout::last_moment_millis(model, deployment, index);
    assert_eq!([last(0), last(1), last(2)], [Some(19_999), Some(30_000), None]);
}

#[test]
fn a_change_that_was_not_observed_before_a_rollout_began_is_no_sign_of_the_one_after_it() {
    // Two edits in a row; the controller reports nothing in between.
    let mut web = Web::live(3);
    for revision in [2, 3] {
        web.wait_until(20_000 + 1_000 * revision as Millis).edit(&format!("v{revision}"));
        web.now += 400;
        let number = u128::from(revision) + 1;
        web.add_set(number, set(number, revision, 1, 0));
        web.wait(100).deployment(|deployment| deployment.revision = Some(revision));
    }
    let model = web.timeline.model();
    let deployment = model.deployments.get(&WEB).unwrap();
    let last = |index| rollout::last_moment_millis(model, deployment, index);
    assert_eq!([last(0), last(1), last(2)], [Some(21_999), Some(23_399), None]);
}

#[test]
fn a_rollout_is_not_complete_by_the_counts_of_a_deleted_replica_set() {
    let mut web = Web::reported().at(60_000);
    web.delete_set(SECOND);
    (200..203).for_each(|pod| web.delete_pod(pod));
    let mut again = set(4, 3, 3, 0);
    again.images = image("v2");
    web.add_set(4, again);
    // The status is still that of three available pods.
    web.deployment(|deployment| {
        deployment.revision = Some(3);
        deployment.status.progressing = Some(condition(ConditionStatus::True, "NewReplicaSetCreated", ""));
    });
    (300..303).for_each(|pod| web.add_pod(pod, 4, |_| {}));
    web.report();
    let is_complete = |web: &Web| web.told().iter().any(|line| line.starts_with("Revision 3 is complete"));
    assert!(!is_complete(&web), "{:#?}", web.told());
    (300..303).for_each(|pod| web.wait(7_000).pod(pod, ready));
    web.report();
    assert!(is_complete(&web), "{:#?}", web.told());
}

/// Sentence and tone of the verdict.
fn headline(web: &Web) -> (String, Tone) {
    let verdict = web.view().verdict;
    (verdict.sentence, verdict.tone)
}

fn not_found(pod: &mut PodFact) {
    (pod.phase, pod.ready) = (Phase::Pending, None);
    pod.containers[0].state = Some(waiting("ErrImagePull", "web:v2: not found"));
}

/// The cause that those pods are, 10 s later.
const LOST: &str = "Revision 1 has problems of its own: 3 pods are running but not ready any more for 10 s.";

/// Revision 2 replaces revision 1, and no pod has been available since 30 s.
fn without_available_pods() -> Web {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, unready);
    web.wait_until(30_000);
    (100..103).for_each(|pod| web.pod(pod, unready));
    web.report();
    web
}

#[test]
fn a_rollout_during_which_nobody_serves_for_more_than_ten_seconds_is_bad() {
    let some = "[Waiting] Revision 2 is replacing revision 1: 0 of 3 new pods available.";
    let none = "[Degraded] Revision 2 is replacing revision 1: no pod is available.";
    let mut web = without_available_pods();
    for (now, verdict, tone, deadline) in [
        (39_999, some, Tone::Busy, " Progress deadline: "),
        (40_000, some, Tone::Busy, " Progress deadline: "),
        (40_001, none, Tone::Bad, " Without progress by "),
    ] {
        web.now = now;
        assert_eq!((web.verdict().as_str(), web.view().verdict.tone), (verdict, tone), "{now}");
        assert!(web.view().next.contains(deadline), "{now}: {}", web.view().next);
    }
    assert!(!web.view().verdict.why.contains("No pod is available."), "{}", web.view().verdict.why);
    // Who came later did not see the last one go.
    let (some, none) = (&some["[Waiting] ".len()..], &none["[Degraded] ".len()..]);
    assert_eq!(headline(&web.first_listed().at(55_000)), (some.to_owned(), Tone::Busy));
    // A pod of the old revision is ready, and waits for its seconds.
    web.wait_until(45_000).set(2, |set| set.now.min_ready_seconds = 30);
    assert_eq!(headline(&web), (none.to_owned(), Tone::Bad));
    web.pod(100, |pod| {
        ready(pod);
        pod.ready.as_mut().unwrap().last_transition_millis = Some(45_000);
    });
    assert_eq!(headline(&web), (some.to_owned(), Tone::Busy));
}

#[test]
fn a_cause_comes_before_that_nobody_serves() {
    let mut web = without_available_pods();
    web.pod(200, not_found);
    let cause = "Image web:v2 cannot be pulled: not found (pod p0200).";
    let limits = "Can't add or remove pods: 4 of at most 4 pods desired, 0 of at least 3 are available.";
    for (now, why) in
        [(40_000, format!("{cause} {limits}")), (40_001, format!("{cause} {LOST} No pod is available. {limits}"))]
    {
        web.now = now;
        assert_eq!(web.verdict(), "[Failing] Revision 2 cannot start: image web:v2 is not found.");
        assert_eq!((web.view().verdict.why, web.view().verdict.tone), (why, Tone::Bad));
    }
}

#[test]
fn old_pods_that_were_lost_come_first_while_nobody_serves() {
    let told = |web: &Web| {
        let view = web.view();
        let command = view.remedy.unwrap().command;
        (view.reasons[0].sentence.clone(), command.strip_prefix("kubectl --namespace shop ").unwrap().to_owned())
    };
    let show = "describe pod web-2-p0100".to_owned();
    let mut web = without_available_pods().at(40_000);
    let (first, command) = told(&web);
    assert!(first.starts_with("1 new pod is running but not ready for 20 s."), "{first}");
    assert_eq!(command, "rollout undo deployment/web");
    web.now = 40_001;
    assert_eq!(told(&web), (LOST.to_owned(), show.clone()));
    assert_eq!(web.view().reasons.len(), 2, "the new pod is still named");
    // The new pod takes too long.
    web.now = 70_000;
    assert_eq!(
        (web.view().verdict.badge.as_str(), told(&web)),
        ("Degraded", (LOST.replace("10 s", "40 s"), show.clone()))
    );
    // It has a fault of its own.
    web.pod(200, not_found);
    let image = "Image web:v2 cannot be pulled: not found (pod p0200).".to_owned();
    assert_eq!(told(&web), (image, "rollout undo deployment/web".to_owned()));
    // To resume makes no old pod ready.
    let mut paused = without_available_pods();
    paused.deployment(|deployment| deployment.spec.paused = true);
    paused.now = 40_000;
    assert_eq!(told(&paused).1, "rollout resume deployment/web");
    paused.now = 40_001;
    let why = format!("The rollout is paused before it is complete. {LOST}");
    assert_eq!((paused.view().verdict.why, told(&paused).1), (why, show.clone()));
    // They were ready and not ready in turn.
    let mut flapping = without_available_pods();
    for change in [ready, unready, ready, unready] {
        flapping.wait(1_000);
        (100..103).for_each(|pod| flapping.pod(pod, change));
    }
    flapping.report();
    flapping.now = 44_001;
    let said = "Revision 1 has problems of its own: pods lose readiness repeatedly (3 pods, one is p0100: 3 times in the \
                last 5 min).";
    assert_eq!(told(&flapping), (said.to_owned(), show));
}

#[test]
fn recreate_has_no_pods_between_the_old_ones_and_the_new_ones() {
    let (some, none) = ("Revision 2: 0 of 3 available.", "Revision 2: no pod is available.");
    let taken_over = |strategy: Strategy| {
        let mut web = Web::live(3).at(20_000);
        web.deployment(|deployment| deployment.spec.strategy = strategy);
        web.take_over(unready);
        web.report();
        web
    };
    let mut rolling = taken_over(deployment().now.spec.strategy).at(30_000);
    assert_eq!(headline(&rolling), (some.to_owned(), Tone::Busy));
    rolling.now = 30_001;
    assert_eq!(headline(&rolling), (none.to_owned(), Tone::Bad));
    let mut recreate = taken_over(Strategy::Recreate).at(30_001);
    assert_eq!(headline(&recreate), (some.to_owned(), Tone::Busy));
    recreate.pod(200, not_found);
    assert_eq!(recreate.verdict(), "[Failing] Revision 2 cannot start: image web:v2 is not found.");
    let why = recreate.view().verdict.why;
    assert!(why.ends_with(" No pod is available."), "{why}");
    let mut late = taken_over(Strategy::Recreate).at(640_000);
    let passed = condition(ConditionStatus::False, "ProgressDeadlineExceeded", "timed out");
    late.deployment(|deployment| deployment.status.progressing = Some(passed));
    assert!(late.verdict().starts_with("[Deadline exceeded] "), "{}", late.verdict());
    let why = late.view().verdict.why;
    assert!(why.ends_with(" No pod is available."), "{why}");
    // A first rollout has lost nothing.
    let mut first = Web::made(3);
    first.report();
    first.now = 40_000;
    assert_eq!(headline(&first), ("Revision 1: 0 of 3 available.".to_owned(), Tone::Busy));
}

#[test]
fn a_pause_during_which_nobody_serves_is_bad() {
    let (some, none) =
        ("[Paused] Paused: 0 of 3 pods of revision 1 available.", "[Paused] Paused: no pod is available.");
    let mut web = Web::live(3).at(60_000);
    web.deployment(|deployment| deployment.spec.paused = true);
    (100..103).for_each(|pod| web.pod(pod, unready));
    web.report();
    for (now, verdict, tone) in [(69_999, some, Tone::Busy), (70_000, some, Tone::Busy), (70_001, none, Tone::Bad)] {
        web.now = now;
        assert_eq!((web.verdict().as_str(), web.view().verdict.tone), (verdict, tone), "{now}");
    }
    // Recreate takes nothing down for an edit that waits.
    web.edit_spec(|deployment| deployment.spec.strategy = Strategy::Recreate);
    web.edit("v2");
    assert_eq!((web.verdict().as_str(), web.view().verdict.tone), (none, Tone::Bad));
    // That there were none while none were desired is no outage.
    let mut web = Web::live(3).at(60_000);
    web.deployment(|deployment| deployment.spec.paused = true);
    web.scale(2, 0);
    (100..103).for_each(|pod| web.delete_pod(pod));
    web.report();
    web.wait_until(80_000).scale(2, 3);
    (200..203).for_each(|pod| web.add_pod(pod, 2, unready));
    web.report();
    web.now = 95_000;
    assert_eq!((web.verdict().as_str(), web.view().verdict.tone), (some, Tone::Busy));
}

#[test]
fn a_pause_half_way_tells_that_old_pods_are_available() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, unready);
    web.edit_spec(|deployment| deployment.spec.paused = true);
    web.report();
    assert_eq!(web.verdict(), "[Paused] Paused: 3 of 3 pods available, 0 of revision 2.");
    web.pod(200, ready);
    assert_eq!(web.verdict(), "[Paused] Paused: 3 of 3 pods available, 1 of revision 2.");
    (100..102).for_each(|pod| web.kill_pod(pod));
    assert_eq!(web.verdict(), "[Paused] Paused: 2 of 3 pods available, 1 of revision 2.");
    web.kill_pod(102);
    assert_eq!(web.verdict(), "[Paused] Paused: 1 of 3 pods of revision 2 available.");
}

#[test]
fn a_pause_during_which_nobody_serves_names_the_pods_that_were_deleted() {
    let mut web = Web::live(2).at(60_000);
    web.edit_spec(|deployment| deployment.spec.paused = true);
    web.edit("v2");
    web.report();
    (100..102).for_each(|pod| web.kill_pod(pod));
    (200..202).for_each(|pod| web.add_pod(pod, 2, unready));
    web.report();
    web.now = 71_000;
    assert_eq!(web.verdict(), "[Paused] Paused: no pod is available.");
    let why = web.view().verdict.why;
    // They replace pods of the revision that is there, and are none of the edit that waits.
    assert!(why.contains("2 pods are running but not ready for 11 s."), "{why}");
    assert!(why.ends_with(" 2 pods deleted (since 00:01:00 UTC)."), "{why}");
}

#[test]
fn an_outage_at_rest_goes_on_when_the_template_is_edited() {
    let mut web = Web::live(3).at(60_000);
    (100..103).for_each(|pod| web.pod(pod, unready));
    web.report();
    web.now = 71_000;
    assert_eq!(web.verdict(), "[Degraded] No pod of revision 1 is available: 0 of 3.");
    web.edit("v2");
    assert_eq!(web.verdict(), "[Degraded] The template changed: no pod is available.");
    assert_eq!(web.view().verdict.tone, Tone::Bad);
    web.now = 76_001;
    assert_eq!(web.verdict(), "[Not observed] The Deployment controller has not reacted for 5.0 s.");
    assert_eq!((web.view().verdict.why.as_str(), web.view().verdict.tone), ("No pod is available.", Tone::Bad));
}
