//! The story: what is told of changes, ReplicaSets, rollouts and gaps, and what is told together.

use crate::made::{SECOND, WEB, Web, condition, image, next_revision, set, unready};
use timeline::fact::{ConditionStatus, Kind, Phase, Strategy};
use timeline::story::{self, LineKind};
use timeline::{Fact, Millis};

/// "seconds text" of everything that is told after that time.
pub fn since(web: &Web, from: Millis) -> Vec<String> {
    let lines = story::story(web.timeline.model(), WEB).into_iter().filter(|line| line.at_millis >= from);
    lines.map(|line| format!("{} {}", line.at_millis, line.text)).collect()
}

#[test]
fn a_change_that_waits_while_paused_and_is_changed_again_is_told() {
    let mut web = Web::live(3).at(20_000);
    web.edit_spec(|deployment| deployment.spec.paused = true);
    for version in ["v2", "v3"] {
        web.report();
        web.wait(1_000).edit(version);
    }
    let told = "A change that waited was not rolled out: image web:v2. The template was changed again: image web:v3.";
    assert_eq!(since(&web, 21_000), [format!("22000 {told}")]);
    // Of a rollout that is under way nothing waits, also while it is paused.
    let mut web = Web::replacing();
    web.edit_spec(|deployment| deployment.spec.paused = true);
    web.report();
    web.wait(1_000).edit("v3");
    assert_eq!(since(&web, 21_000), [""; 0]);
}

#[test]
fn a_change_that_waits_is_replaced_by_one_with_the_same_image_or_taken_back() {
    let replaced = |first: &str, version: &str, template: u64| {
        let mut web = Web::live(3).at(20_000);
        web.deployment(|deployment| deployment.template = Some(1));
        web.set(2, |set| set.now.template = Some(1));
        web.edit_spec(|deployment| deployment.spec.paused = true);
        for (version, template) in [(first, 2), (version, template)] {
            web.report();
            web.wait(1_000).edit_spec(|deployment| {
                (deployment.spec.images, deployment.template) = (image(version), Some(template));
            });
        }
        since(&web, 21_000)
    };
    let waited = "22000 A change that waited was not rolled out: image web:v2.";
    let same = "The template was changed again: another template with the same image.";
    assert_eq!(replaced("v2", "v2", 3), [format!("{waited} {same}")]);
    assert_eq!(replaced("v2", "v1", 1), [format!("{waited} The template was changed back: image web:v1.")]);
    assert_eq!(replaced("v2", "v1", 3), [format!("{waited} The template was changed again: image web:v1.")]);
    let waited = "22000 A change that waited was not rolled out: image web:v1.";
    let back = "The template was changed back, with the same image.";
    assert_eq!(replaced("v1", "v1", 1), [format!("{waited} {back}")]);
}

#[test]
fn a_scaling_to_zero_in_the_middle_of_a_rollout_is_told_as_such_however_late_its_parts_come() {
    let mut web = Web::replacing();
    web.wait_until(30_000).edit_spec(|deployment| deployment.spec.replicas = 0);
    for (at, number) in [(30_000, SECOND), (32_500, 2)] {
        web.wait_until(at).set(number, |set| {
            (set.now.counts.desired, set.now.desired_replicas, set.now.max_replicas) = (0, Some(0), Some(0))
        });
    }
    let told = ["30000 Scaled 3 → 0 during a rollout: revision 2 −1.", "32500 Scaled during a rollout: revision 1 −3."];
    assert_eq!(since(&web, 30_000), told);
    // The ReplicaSets do not follow.
    let mut web = Web::replacing();
    web.wait_until(30_000).edit_spec(|deployment| deployment.spec.replicas = 4);
    assert_eq!(since(&web, 30_000), ["30000 Replicas changed 3 → 4 during a rollout."]);
}

#[test]
fn a_rollout_of_no_pods_says_that_none_is_desired() {
    let mut web = Web::live(0).at(20_000);
    next_revision(&mut web, 2, [0, 0]);
    assert_eq!(since(&web, 20_000).pop().unwrap(), "20000 Revision 2 is complete at once: no pod is desired.");
}

#[test]
fn pods_that_fail_or_leave_within_a_minute_of_each_other_are_told_together() {
    let failed = |apart: Millis| {
        let mut web = Web::live(3);
        for number in 0..3 {
            web.now = 60_000 + number * apart;
            web.pod(100 + number as u128, |pod| (pod.phase, pod.reason) = (Phase::Failed, "OutOfcpu".into()));
        }
        since(&web, 60_000)
    };
    assert_eq!(failed(60_000), ["60000 3 pods failed: OutOfcpu; the Deployment stays at revision 1."]);
    assert_eq!(failed(60_001).len(), 3);
    // For other reasons, or of another revision, on their own.
    let mut web = Web::live(3).at(60_000);
    web.pod(100, |pod| (pod.phase, pod.reason) = (Phase::Failed, "OutOfcpu".into()));
    web.pod(101, |pod| (pod.phase, pod.reason) = (Phase::Failed, "OutOfmemory".into()));
    next_revision(&mut web, 2, [1, 3]);
    web.wait_until(61_000).pod(102, |pod| (pod.phase, pod.reason) = (Phase::Failed, "OutOfcpu".into()));
    let told: Vec<String> = since(&web, 60_000).into_iter().filter(|line| line.contains("failed")).collect();
    assert_eq!(
        told,
        [
            "60000 Pod p0100 failed: OutOfcpu; the Deployment stays at revision 1.",
            "60000 Pod p0101 failed: OutOfmemory; the Deployment stays at revision 1.",
            "61000 Pod p0102 failed: OutOfcpu; the Deployment stays at revision 2."
        ]
    );
}

#[test]
fn an_old_empty_replica_set_is_cleaned_up_by_the_history_limit() {
    let gone = |limit: u32, change: fn(&mut Web)| {
        let mut web = Web::reported().at(60_000);
        web.deployment(|deployment| deployment.spec.revision_history_limit = limit);
        change(&mut web);
        web.delete_set(2);
        since(&web, 60_000)
    };
    assert_eq!(gone(0, |_| {}), ["60000 Old ReplicaSet 1 of revision 1 cleaned up (revisionHistoryLimit 0)."]);
    assert_eq!(gone(1, |_| {}), ["60000 ReplicaSet 1 was deleted, not by its Deployment."]);
    assert_eq!(
        gone(0, |web| web.set(2, |set| set.now.counts.replicas = 1)),
        ["60000 ReplicaSet 1 was deleted, not by its Deployment."]
    );
    assert_eq!(
        gone(0, |web| web.set(2, |set| set.revision = Some(2))),
        ["60000 ReplicaSet 1 was deleted, not by its Deployment."]
    );
    // In a pause the controller cleans up, too. While an edit waits it has no new ReplicaSet: the last one counts as old.
    let waits = |web: &mut Web| {
        web.edit_spec(|deployment| (deployment.spec.paused, deployment.spec.images) = (true, image("v3")));
    };
    let cleaned_up = "60000 Old ReplicaSet 1 of revision 1 cleaned up (revisionHistoryLimit 1).";
    let deleted = "60000 ReplicaSet 1 was deleted, not by its Deployment.";
    let paused = "60000 Paused: no new ReplicaSet is created until it is resumed.";
    assert_eq!(gone(1, waits), [cleaned_up, paused]);
    assert_eq!(gone(2, waits), [paused, deleted]);
    let pauses = |web: &mut Web| web.edit_spec(|deployment| deployment.spec.paused = true);
    assert_eq!(gone(1, pauses), [paused, deleted]);
    // The edit arrives after what it makes the controller do.
    let mut web = Web::reported().at(60_000);
    web.deployment(|deployment| deployment.spec.revision_history_limit = 1);
    web.delete_set(2);
    web.wait(500);
    waits(&mut web);
    assert!(since(&web, 60_000).contains(&cleaned_up.to_owned()), "{:?}", since(&web, 60_000));
}

/// `rolloutRolling` in `rolling.go` and `rolloutRecreate` in `recreate.go` clean up once the rollout is complete.
#[test]
fn while_a_rollout_goes_on_no_replica_set_is_cleaned_up() {
    let mut web = Web::reported().at(60_000);
    web.deployment(|deployment| deployment.spec.revision_history_limit = 1);
    let third = next_revision(&mut web, 3, [1, 3]);
    web.wait_until(70_000).delete_set(2);
    assert_eq!(since(&web, 70_000), ["70000 ReplicaSet 1 was deleted, not by its Deployment."]);
    // That it is complete arrives a moment later.
    web.wait(500);
    (300..303).for_each(|pod| web.add_ready_pod(pod, third));
    web.deployment(|deployment| deployment.status.updated = 3);
    let cleaned_up = "70000 Old ReplicaSet 1 of revision 1 cleaned up (revisionHistoryLimit 1).";
    assert_eq!(since(&web, 70_000)[0], cleaned_up);
}

#[test]
fn a_rollout_is_told_once_with_what_becomes_known_of_it() {
    // The Deployment's annotation comes first; its ReplicaSet says a moment later that it is a rollback, and why.
    let mut web = Web::reported().at(60_000);
    web.edit_spec(|deployment| (deployment.revision, deployment.spec.images) = (Some(3), image("v1")));
    assert_eq!(since(&web, 60_000), Vec::<String>::new());
    web.wait_until(60_500).set(2, |set| (set.revision, set.now.change_cause) = (Some(3), Some("back".into())));
    assert_eq!(since(&web, 60_000), ["60000 Rolled back to revision 1, now 3: image web:v1. Change-cause: back."]);
    // A change-cause of the revision before is none.
    let mut web = Web::live(1);
    web.set(2, |set| set.now.change_cause = Some("same".into()));
    web.now = 60_000;
    let mut second = set(SECOND, 2, 1, 0);
    second.now.change_cause = Some("same".into());
    web.add_set(SECOND, second);
    web.deployment(|deployment| (deployment.revision, deployment.spec.images) = (Some(2), image("v2")));
    assert_eq!(web.lines(LineKind::Revision)[1], "Revision 2 starts: image web:v2.");
    assert_eq!(web.lines(LineKind::Revision)[0], "Revision 1 is created with image web:v1. Change-cause: same.");
}

#[test]
fn the_last_pod_of_a_superseded_revision_is_told_when_somebody_saw_it_go() {
    let superseded = |goes: fn(&mut Web)| {
        let mut web = Web::replacing();
        web.add_pod(200, SECOND, unready);
        web.add_pod(201, SECOND, unready);
        web.now = 30_000;
        next_revision(&mut web, 3, [1, 0]);
        web.kill_pod(200);
        web.kill_pod(201);
        web.wait_until(30_500).delete_pod(200);
        goes(&mut web);
        since(&web, 30_000).into_iter().find(|line| line.contains("superseded")).unwrap()
    };
    let before = "30000 Revision 3 superseded revision 2 before 2 finished.";
    assert_eq!(superseded(|_| {}), before);
    assert_eq!(
        superseded(|web| web.wait_until(42_000).delete_pod(201)),
        format!("{before} The last pod of revision 2 was gone 12 s later.")
    );
    assert_eq!(superseded(|web| web.delete_pod(201)), format!("{before} The last pod of revision 2 was gone at once."));
    let unseen = |web: &mut Web| {
        web.lose_pod(201);
        web.wait_until(42_000).listed(Kind::Pod, Some(31_000));
    };
    assert_eq!(superseded(unseen), before);
}

#[test]
fn a_gap_is_told_from_one_second_on_and_grows_into_one() {
    let gap = |since_millis: Millis| {
        let mut web = Web::live(1).at(60_000);
        web.listed(Kind::Pod, Some(since_millis));
        since(&web, 6_000)
    };
    assert_eq!(gap(59_001), Vec::<String>::new());
    assert_eq!(gap(59_000), ["60000 Not observed for 1.0 s: what happened in between is not known."]);
    // Events illustrate only.
    let mut web = Web::live(1).at(60_000);
    web.listed(Kind::Event, Some(30_000));
    assert_eq!(since(&web, 6_000), Vec::<String>::new());
    // Lists of several kinds tell of the same gap, or of more of it.
    web.listed(Kind::Pod, Some(40_000));
    web.wait_until(61_000).listed(Kind::ReplicaSet, Some(30_000));
    assert_eq!(since(&web, 6_000), ["61000 Not observed for 31 s: what happened in between is not known."]);
    // In one moment, too.
    let mut web = Web::live(1).at(60_000);
    web.listed(Kind::Pod, Some(40_000));
    web.listed(Kind::ReplicaSet, Some(30_000));
    web.listed(Kind::Deployment, Some(45_000));
    assert_eq!(since(&web, 6_000), ["60000 Not observed for 30 s: what happened in between is not known."]);
    let same = Fact::Listed {
        kind: Kind::Event,
        namespace: Some("shop".into()),
        present: Vec::new(),
        gap_since_millis: Some(30_000),
    };
    assert_eq!(web.timeline.apply(60_000, same), Vec::new());
    let gaps = |web: &Web| web.timeline.model().deployments.get(&WEB).unwrap().gaps.len();
    let known = web.timeline.seq();
    web.listed(Kind::Pod, Some(30_000));
    assert_eq!((gaps(&web), web.timeline.seq()), (1, known), "the same gap is no news");
    // Nobody looked before it was made: that is no gap of it.
    let mut web = Web::live(1).at(61_000);
    web.listed(Kind::Pod, Some(-9_000));
    assert_eq!(since(&web, 6_000), ["61000 Not observed for 1 min 1 s: what happened in between is not known."]);
}

#[test]
fn a_gap_is_told_before_what_its_end_shows() {
    let relisted = |pods_late: Millis| {
        let mut web = Web::live(3).at(60_000);
        web.unseen(|deployment, sets| {
            deployment.spec.replicas = 4;
            sets.get_mut(&2).unwrap().now.counts.desired = 4;
        });
        web.relisted(30_000);
        web.wait(pods_late).listed(Kind::Pod, Some(30_000));
        since(&web, 6_000)
    };
    let gap = |at: Millis, took: &str| format!("{at} Not observed for {took}: what happened in between is not known.");
    let shown = ["60000 Replicas changed 3 → 4 while not observed.", "60000 While not observed: revision 1 3 → 4."];
    for (pods_late, took) in [(0, "30 s"), (400, "30 s"), (1_000, "31 s")] {
        assert_eq!(relisted(pods_late), [gap(60_000, took).as_str(), shown[0], shown[1]], "{pods_late}");
    }
    assert_eq!(relisted(1_001), [shown[0], shown[1], gap(61_001, "31 s").as_str()]);
}

#[test]
fn a_pause_that_began_or_ended_while_nobody_looked_is_told_as_that() {
    let mut web = Web::live(3).at(60_000);
    web.unseen(|deployment, _| deployment.spec.paused = true);
    web.relisted(30_000);
    let gap = |at: Millis| format!("{at} Not observed for 30 s: what happened in between is not known.");
    let paused = "60000 Paused while not observed: no new ReplicaSet is created until it is resumed.";
    assert_eq!(since(&web, 6_000), [&*gap(60_000), paused]);
    let is_least = |web: &Web| web.view().reasons[0].evidence.is_least;
    assert!(is_least(&web));
    web.wait_until(120_000).unseen(|deployment, _| deployment.spec.paused = false);
    web.relisted(90_000);
    assert_eq!(since(&web, 60_001), [&*gap(120_000), "120000 Resumed while not observed."]);
    web.wait_until(130_000).deployment(|deployment| deployment.spec.paused = true);
    assert_eq!(since(&web, 120_001), ["130000 Paused: no new ReplicaSet is created until it is resumed."]);
    assert!(!is_least(&web));
}

#[test]
fn edits_and_a_deletion_while_nobody_looked_are_told_as_that() {
    let mut web = Web::live(3).at(60_000);
    web.unseen(|deployment, _| {
        let spec = &mut deployment.spec;
        (spec.strategy, spec.min_ready_seconds, spec.progress_deadline_seconds) = (Strategy::Recreate, 10, Some(900));
    });
    web.relisted(30_000);
    let gap = |at: Millis| format!("{at} Not observed for 30 s: what happened in between is not known.");
    let rolling = "RollingUpdate (maxSurge 25 %, maxUnavailable 25 %)";
    let told = [
        gap(60_000),
        format!("60000 Strategy changed while not observed: {rolling} → Recreate."),
        "60000 minReadySeconds changed 0 → 10 while not observed.".to_owned(),
        "60000 progressDeadlineSeconds changed 600 → 900 while not observed.".to_owned(),
    ];
    assert_eq!(since(&web, 6_000), told);
    let (kind, gap_since_millis) = (Kind::Deployment, Some(90_000));
    web.timeline.apply(120_000, Fact::Listed { kind, namespace: None, present: Vec::new(), gap_since_millis });
    assert_eq!(since(&web, 60_001), [&*gap(120_000), "120000 The Deployment was deleted while not observed."]);
}

#[test]
fn a_rollback_while_nobody_looked_is_told_as_one() {
    let mut web = Web::reported().at(60_000);
    web.unseen(|deployment, sets| {
        (deployment.revision, deployment.spec.images) = (Some(3), image("v1"));
        let first = sets.get_mut(&2).unwrap();
        (first.revision, first.now.counts.desired) = (Some(3), 3);
        sets.get_mut(&SECOND).unwrap().now.counts.desired = 0;
    });
    web.relisted(30_000);
    let told = since(&web, 60_000);
    let back = "60000 Rolled back to revision 1, now 3, while not observed: image web:v1.";
    assert!(told.iter().any(|line| line == back), "{told:#?}");
}

#[test]
fn a_deadline_that_passes_is_told_each_time_that_the_rollout_had_progressed() {
    let mut web = Web::replacing().at(60_000);
    let passed = || Some(condition(ConditionStatus::False, "ProgressDeadlineExceeded", ""));
    web.deployment(|deployment| deployment.status.progressing = passed());
    web.wait_until(61_000).deployment(|deployment| deployment.status.available = 2);
    // An edit that the controller has not seen yet hides the condition.
    web.wait_until(62_000).edit_spec(|_| {});
    web.wait_until(63_000).deployment(|deployment| deployment.status.observed_generation = deployment.generation);
    let told =
        |at: Millis| format!("{at} Progress deadline passed for revision 2. Kubernetes does not roll back by itself.");
    assert_eq!(since(&web, 60_000), [told(60_000)]);
    web.wait_until(70_000).deployment(|deployment| {
        deployment.status.progressing = Some(condition(ConditionStatus::True, "ReplicaSetUpdated", ""));
    });
    web.wait_until(90_000).deployment(|deployment| deployment.status.progressing = passed());
    assert_eq!(since(&web, 60_000), [told(60_000), told(90_000)]);
    let rollout = web.timeline.model().deployments.get(&WEB).unwrap().rollouts.last().unwrap().clone();
    assert_eq!((rollout.deadline_exceeded_millis, rollout.is_open()), (Some(60_000), true));
}
