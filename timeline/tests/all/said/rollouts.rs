//! Rollouts that overlap with other things: scaling, rollbacks, pauses, edits, deleted ReplicaSets; where each begins and ends.

use crate::made::{SECOND, WEB, Web, condition, image, next_revision, ready, set, unready};
use timeline::fact::ConditionStatus;
use timeline::story::LineKind;
use timeline::view::{self, Now};
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
    // One of its own that passes later is told of it, and again after it had progressed.
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
    let own = "Progress deadline passed for revision 3. Kubernetes does not roll back by itself.";
    assert_eq!(told[1..], [own, own]);
}

#[test]
fn paused_with_nothing_to_do_nothing_waits() {
    let mut web = Web::live(3).at(60_000);
    web.deployment(|deployment| deployment.spec.paused = true);
    assert_eq!(web.view().verdict.why, "No change of the template is waiting.");
    assert_eq!(web.view().next, "Changes of the template wait until somebody resumes the rollout.");
}

/// A recording lacks fields of the template: the counts of the controller tell that one of these was changed.
#[test]
fn paused_a_change_waits_where_the_controller_counts_no_pod_of_the_template() {
    let mut web = Web::live(3).at(60_000);
    web.deployment(|deployment| deployment.template = Some(1));
    web.set(2, |set| set.now.template = Some(1));
    web.edit_spec(|deployment| deployment.spec.paused = true);
    web.report();
    let says = |web: &Web, said: &str| {
        let why = web.view().verdict.why;
        assert!(why.starts_with(said), "{why}");
    };
    says(&web, "No change of the template is waiting.");
    web.wait(1_000).edit_spec(|deployment| deployment.status.updated = 0);
    web.deployment(|deployment| deployment.status.observed_generation = deployment.generation);
    says(&web, "A change of the template is waiting; its images are the same.");
    // Pods of one that was scaled up are not counted yet.
    web.deployment(|deployment| deployment.status.replicas = 0);
    says(&web, "No change of the template is waiting.");
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
    let then = web.history.at(last);
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
