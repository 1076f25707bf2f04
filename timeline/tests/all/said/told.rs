//! The story: what is told of steps, pods, ReplicaSets and Deployments, and what is told together.

use std::collections::BTreeSet;

use crate::made::{self, SECOND, WEB, Web, condition, crashing, image, next_revision, ready, set, unready, warning};
use timeline::fact::{ConditionStatus, EventFact, Kind, Phase, PodFact, ReplicaSetFact, Seen};
use timeline::story::{self, LineKind};
use timeline::{Fact, Millis, Timeline};

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
    let replaced = |version: &str, template: u64| {
        let mut web = Web::live(3).at(20_000);
        web.deployment(|deployment| deployment.template = Some(1));
        web.set(2, |set| set.now.template = Some(1));
        web.edit_spec(|deployment| deployment.spec.paused = true);
        for (version, template) in [("v2", 2), (version, template)] {
            web.report();
            web.wait(1_000).edit_spec(|deployment| {
                (deployment.spec.images, deployment.template) = (image(version), Some(template));
            });
        }
        since(&web, 21_000)
    };
    let waited = "22000 A change that waited was not rolled out: image web:v2.";
    let same = "The template was changed again: another template with the same image.";
    assert_eq!(replaced("v2", 3), [format!("{waited} {same}")]);
    assert_eq!(replaced("v1", 1), [format!("{waited} The template was changed back: image web:v1.")]);
    assert_eq!(replaced("v1", 3), [format!("{waited} The template was changed again: image web:v1.")]);
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
    assert_eq!(failed(60_000), ["60000 3 pods failed: OutOfcpu; the revision stays 1."]);
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
            "60000 Pod p0100 failed: OutOfcpu; the revision stays 1.",
            "60000 Pod p0101 failed: OutOfmemory; the revision stays 1.",
            "61000 Pod p0102 failed: OutOfcpu; the revision stays 2."
        ]
    );
}

/// One of two pods is deleted from outside; another one is made so much later, and is available 4 s after the first went.
fn replaced(after: Millis) -> Vec<String> {
    let mut web = Web::live(2).at(60_000);
    web.kill_pod(100);
    web.wait(after).add_pod(102, 2, |_| {});
    web.wait(4_000 - after.min(4_000)).pod(102, ready);
    web.wait_until(70_000).delete_pod(100);
    since(&web, 60_000)
}

#[test]
fn a_replacement_is_one_that_is_made_within_five_seconds() {
    let killed = "60000 Pod p0100 was deleted, not by the rollout; the revision stays 1.";
    assert_eq!(
        replaced(0),
        [format!("{killed} Replacement: p0102, available after 4.0 s; the old one drained 6.0 s more.")]
    );
    assert_eq!(
        replaced(5_000),
        [format!("{killed} Replacement: p0102, available after 5.0 s; the old one drained 5.0 s more.")]
    );
    assert_eq!(replaced(5_001).len(), 1);
    assert!(!replaced(5_001)[0].contains("Replacement"), "{:?}", replaced(5_001));
}

#[test]
fn a_replacement_that_nobody_waits_for_any_longer_is_not_followed() {
    let followed = |gone: Millis, made: Millis, available: Millis| {
        let mut web = Web::live(2).at(60_000);
        web.kill_pod(100);
        web.wait_until(60_000 + gone).delete_pod(100);
        web.wait_until(60_000 + made).add_pod(102, 2, |_| {});
        web.wait_until(60_000 + available).pod(102, ready);
        since(&web, 60_000).swap_remove(0)
    };
    // It may be made up to 5 s after, when the old one is long gone, and be available within an hour.
    assert!(followed(1_000, 5_000, 6_000).contains("Replacement: p0102, available after 6.0 s"));
    assert!(!followed(1_000, 5_001, 6_000).contains("Replacement"));
    assert!(followed(1_000, 2_000, 3_600_000).contains("available after 1 h"), "{}", followed(1_000, 2_000, 3_600_000));
    assert!(!followed(1_000, 2_000, 3_600_001).contains("available after"));
    // That the new one went is not that the old one did.
    let mut web = Web::live(2).at(60_000);
    web.kill_pod(100);
    web.add_pod(102, 2, ready);
    web.wait_until(61_000).delete_pod(102);
    assert!(!since(&web, 60_000)[0].contains("drained"), "{:?}", since(&web, 60_000));
    // Those that nothing replaces are given up, and are not in the way of one that is awaited.
    let mut web = Web::live(40).at(60_000);
    web.kill_pod(100);
    web.add_pod(300, 2, |_| {});
    for pod in 101..135 {
        web.wait(6_000).kill_pod(pod);
        web.delete_pod(pod);
    }
    web.pod(300, ready);
    assert!(since(&web, 60_000)[0].contains("Replacement: p0300, available after"), "{:?}", since(&web, 60_000));
}

#[test]
fn a_replacement_that_goes_while_the_old_pod_drains_says_nothing_of_that_one() {
    let mut web = Web::live(2).at(60_000);
    web.kill_pod(100);
    web.add_pod(102, 2, |_| {});
    web.wait_until(61_000).pod(102, ready);
    web.wait_until(63_000).delete_pod(102);
    assert_eq!(
        since(&web, 60_000)[0],
        "60000 Pod p0100 was deleted, not by the rollout; the revision stays 1. Replacement: p0102, available after 1.0 s."
    );
}

#[test]
fn a_replacement_that_is_deleted_before_it_is_available_drains_for_itself() {
    let mut web = Web::live(2).at(60_000);
    web.kill_pod(100);
    web.add_pod(102, 2, |_| {});
    web.wait_until(62_000).kill_pod(102);
    web.add_pod(103, 2, |_| {});
    web.wait_until(64_000).pod(103, ready);
    web.wait_until(70_000).delete_pod(102);
    let deleted = "was deleted, not by the rollout; the revision stays 1. Replacement:";
    assert_eq!(
        since(&web, 60_000),
        [
            format!("60000 Pod p0100 {deleted} p0102."),
            format!("62000 Pod p0102 {deleted} p0103, available after 2.0 s; the old one drained 6.0 s more.")
        ]
    );
}

#[test]
fn a_replacement_that_became_available_while_nobody_looked_has_no_time() {
    let mut web = Web::live(2).at(60_000);
    web.kill_pod(100);
    web.wait(1_000).add_pod(102, 2, |_| {});
    web.unseen_pod(102, ready);
    web.wait_until(155_000).relisted(63_000);
    assert_eq!(
        since(&web, 60_000)[0],
        "60000 Pod p0100 was deleted, not by the rollout; the revision stays 1. Replacement: p0102."
    );
}

#[test]
fn a_pod_that_was_gone_while_nobody_looked_has_no_time_in_which_it_drained() {
    let mut web = Web::live(2).at(60_000);
    web.kill_pod(100);
    web.wait(1_000).add_pod(102, 2, |_| {});
    web.wait(4_000).pod(102, ready);
    web.lose_pod(100);
    web.wait_until(3_660_000).relisted(66_000);
    let told = "60000 Pod p0100 was deleted, not by the rollout; the revision stays 1. Replacement: p0102, available after 5.0 s.";
    assert_eq!(since(&web, 60_000)[0], told);
}

#[test]
fn each_pod_that_is_deleted_has_a_replacement_of_its_own() {
    let mut web = Web::live(2).at(60_000);
    web.kill_pod(100);
    web.kill_pod(101);
    (102..104).for_each(|pod| web.add_pod(pod, 2, |_| {}));
    web.wait_until(61_000).pod(102, ready);
    web.wait_until(62_000).pod(103, ready);
    let told = since(&web, 60_000);
    assert!(
        told[0].contains("Pod p0100") && told[0].contains("Replacement: p0102, available after 1.0 s"),
        "{told:#?}"
    );
    assert!(
        told[1].contains("Pod p0101") && told[1].contains("Replacement: p0103, available after 2.0 s"),
        "{told:#?}"
    );
    // One that a list tells of is not known to be made for it.
    let mut web = Web::live(1).at(60_000);
    web.kill_pod(100);
    let made = crate::made::pod(102, 2, "web-2-p0102");
    web.timeline.apply(60_500, Fact::Pod(Box::new(made), Seen::InList));
    assert!(!since(&web, 60_000)[0].contains("Replacement"));
}

#[test]
fn a_replica_set_that_is_deleted_is_followed_until_something_is_available_again() {
    let deleted = |again_after: Millis, ready_after: Millis| {
        let mut web = Web::live(2);
        let again = ReplicaSetFact { meta: crate::made::meta(12, "web-1", Some(1)), ..web.replica_set(2) };
        web.wait_until(60_000).delete_set(2);
        web.wait(again_after).add_set(12, again);
        (100..102).for_each(|pod| web.kill_pod(pod));
        web.wait_until(60_000 + ready_after).add_ready_pod(102, 12);
        since(&web, 60_000).into_iter().find(|line| line.contains("deleted, not by its Deployment")).unwrap()
    };
    assert_eq!(
        deleted(100, 5_100),
        "60000 ReplicaSet 1 was deleted, not by its Deployment, created again at once; 5.0 s with nothing available."
    );
    assert_eq!(
        deleted(3_000, 5_000),
        "60000 ReplicaSet 1 was deleted, not by its Deployment, created again after 3.0 s; 2.0 s with nothing available."
    );
    assert!(deleted(999, 5_000).contains("created again at once"), "{}", deleted(999, 5_000));
    assert!(deleted(1_000, 5_000).contains("created again after 1.0 s"), "{}", deleted(1_000, 5_000));
    // It goes on while it lasts, however long.
    assert_eq!(
        deleted(100, 90_100),
        "60000 ReplicaSet 1 was deleted, not by its Deployment, created again at once; 1 min 30 s with nothing available."
    );
    let at_once = |after: Millis| {
        let mut web = Web::live(1).at(60_000);
        web.delete_set(2);
        web.wait(after).kill_pod(100);
        web.now += 1_000;
        let again = ReplicaSetFact { meta: crate::made::meta(12, "web-1", Some(1)), ..set(2, 1, 1, 0) };
        web.add_set(12, again);
        web.wait(1_000).add_ready_pod(102, 12);
        since(&web, 60_000).into_iter().find(|line| line.contains("deleted, not by its Deployment")).unwrap()
    };
    // Nothing else happens in between.
    assert_eq!(
        at_once(30_000),
        "60000 ReplicaSet 1 was deleted, not by its Deployment, created again after 31 s; 2.0 s with nothing available."
    );
    assert_eq!(at_once(30_001), "60000 ReplicaSet 1 was deleted, not by its Deployment.");
    // What goes down half a minute later has another cause.
    assert_eq!(
        deleted(30_001, 40_000),
        "60000 ReplicaSet 1 was deleted, not by its Deployment, created again after 30 s."
    );
    assert_eq!(
        deleted(30_000, 40_000),
        "60000 ReplicaSet 1 was deleted, not by its Deployment, created again after 30 s; 10 s with nothing available."
    );
}

#[test]
fn of_a_replica_set_that_was_made_again_while_nobody_looked_its_creation_is_told() {
    let mut web = Web::live(1).at(60_000);
    let mut again = ReplicaSetFact { meta: crate::made::meta(12, "web-1", Some(1)), ..web.replica_set(2) };
    again.meta.created_at_millis = 62_000;
    web.delete_set(2);
    web.kill_pod(100);
    web.lose_pod(100);
    web.unseen(|_, sets| drop(sets.insert(12, again)));
    web.wait_until(3_660_000).relisted(61_000);
    let mut made = crate::made::pod(102, 12, "web-1-p0102");
    ready(&mut made);
    web.timeline.apply(web.now, Fact::Pod(Box::new(made), Seen::InList));
    assert_eq!(web.view().counts.available, 1);
    let told = "60000 ReplicaSet 1 was deleted, not by its Deployment, created again after 2.0 s.";
    assert_eq!(since(&web, 60_000)[0], told);
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
    let paused = "60000 Paused: nothing is rolled out until it is resumed.";
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
    let shown = ["60000 While not observed: revision 1 3 → 4.", "60000 Replicas changed 3 → 4 (not a rollout)."];
    for (pods_late, took) in [(0, "30 s"), (400, "30 s"), (1_000, "31 s")] {
        assert_eq!(relisted(pods_late), [gap(60_000, took).as_str(), shown[0], shown[1]], "{pods_late}");
    }
    assert_eq!(relisted(1_001), [shown[0], shown[1], gap(61_001, "31 s").as_str()]);
}

#[test]
fn events_of_one_reason_are_one_line_at_their_own_last_time() {
    let mut web = Web::live(1);
    let event = |uid: u128, at: Option<Millis>, message: &str, count: u32, is_warning: bool| {
        let warning = warning(uid, 100, ("Pod", "web-2-p0100"), "Unhealthy", message);
        Fact::Event(Box::new(EventFact { is_warning, count, last_millis: at, ..warning }))
    };
    web.timeline.apply(60_000, event(900, None, "normal", 9, false));
    assert_eq!(since(&web, 6_000), Vec::<String>::new(), "objects tell it better");
    web.timeline.apply(60_000, event(901, Some(50_000), "one", 1, true));
    web.timeline.apply(61_000, event(902, Some(55_000), "two", 2, true));
    assert_eq!(since(&web, 6_000), ["55999 Event Unhealthy on Pod p0100 (3 times): two."]);
    // One that was earlier adds to the count and keeps the words.
    web.timeline.apply(62_000, event(903, Some(52_000), "earlier", 1, true));
    assert_eq!(since(&web, 6_000), ["55999 Event Unhealthy on Pod p0100 (4 times): two."]);
    // A clock that is ahead tells of no future; the same again tells nothing.
    web.timeline.apply(63_000, event(904, Some(99_000), "ahead", 1, true));
    assert_eq!(web.timeline.apply(64_000, event(904, Some(99_000), "ahead", 1, true)), Vec::new());
    assert_eq!(since(&web, 6_000), ["63000 Event Unhealthy on Pod p0100 (5 times): ahead."]);
    // Those about objects that are not known yet wait for them.
    web.timeline.apply(65_000, event(905, Some(65_000), "other", 1, true));
    let mut early = Web::made(0);
    early.timeline.apply(1_000, event(905, None, "before its pod", 1, true));
    assert_eq!(early.lines(LineKind::Event), Vec::<String>::new());
    early.add_pod(100, 2, |_| {});
    assert_eq!(early.lines(LineKind::Event), ["Event Unhealthy on Pod p0100: before its pod."]);
    // Streams overtake each other: in every order of what they bring it is told.
    let (deployment, set) = (made::deployment(), set(2, 2, 1, 0));
    let facts = [
        event(906, None, "in any order", 1, true),
        Fact::Pod(Box::new(made::pod(100, 2, "p0100")), Seen::Added),
        Fact::ReplicaSet(Box::new(set), Seen::Added),
        Fact::Deployment(Box::new(deployment), Seen::Added),
    ];
    for order in 0..256_usize {
        let order = [order % 4, order / 4 % 4, order / 16 % 4, order / 64];
        if order.iter().collect::<BTreeSet<_>>().len() < 4 {
            continue;
        }
        let mut timeline = Timeline::new();
        order.into_iter().for_each(|next| drop(timeline.apply(1_000, facts[next].clone())));
        let told = story::story(timeline.model(), WEB);
        assert!(told.iter().any(|line| line.text.contains("in any order")), "{order:?}: {told:?}");
    }
    // Each waits, as it was told last; of more than there is room for the last ones.
    let mut early = Web::made(0);
    for number in 0..300 {
        early.timeline.apply(1_000, event(1_000 + number, None, "first", 1, true));
    }
    early.timeline.apply(1_000, event(1_299, None, "again", 2, true));
    early.add_pod(100, 2, |_| {});
    assert_eq!(early.lines(LineKind::Event), ["Event Unhealthy on Pod p0100 (257 times): again."]);
}

#[test]
fn volumes_of_pods_that_are_not_known_take_no_place_from_a_warning() {
    let event = |uid: u128, about: u128, reason: &str| {
        let is_warning = reason != "SuccessfulAttachVolume";
        let warning = warning(uid, about, ("Pod", "web-2-p0100"), reason, "volume \"v\"");
        Fact::Event(Box::new(EventFact { is_warning, ..warning }))
    };
    let mut early = Web::made(0);
    early.timeline.apply(1_000, event(900, 100, "FailedAttachVolume"));
    early.timeline.apply(1_000, event(901, 100, "SuccessfulAttachVolume"));
    for number in 0..256 {
        early.timeline.apply(1_000, event(1_000 + number, 5_000 + number, "SuccessfulAttachVolume"));
    }
    early.add_pod(100, 2, |_| {});
    let events = &early.timeline.model().deployments.get(&WEB).unwrap().events;
    let reasons: Vec<&str> = events.iter().map(|event| event.reason.as_str()).collect();
    assert_eq!(reasons, ["FailedAttachVolume", "SuccessfulAttachVolume"]);
}

#[test]
fn an_event_stands_behind_what_happened_before_it_in_its_second() {
    let told = |last: Millis, arrival: Millis| {
        let mut web = Web::live(3).at(60_400);
        next_revision(&mut web, 2, [1, 3]);
        let warning = warning(900, SECOND, ("ReplicaSet", "web-2"), "FailedCreate", "quota");
        let event = EventFact { last_millis: Some(last), ..warning };
        web.timeline.apply(arrival, Fact::Event(Box::new(event)));
        let lines = since(&web, 60_000);
        let at = lines.iter().position(|line| line.contains("FailedCreate")).unwrap();
        (at, lines[at].clone())
    };
    let line = |at: Millis| format!("{at} Event FailedCreate on ReplicaSet web-2: quota.");
    // Most Events have whole seconds: after the start and the first step, and not after it arrived.
    assert_eq!(told(60_000, 60_700), (2, line(60_700)));
    assert_eq!(told(60_000, 65_000), (2, line(60_999)));
    assert_eq!(told(60_250, 65_000), (0, line(60_250)));
}

#[test]
fn events_about_different_matters_are_counted_apart() {
    let mut web = Web::live(1).at(60_000);
    let mut event = |uid: u128, reason: &str, count: u32, message: &str| {
        let warning = warning(uid, 100, ("Pod", "web-2-p0100"), reason, message);
        web.timeline.apply(60_000, Fact::Event(Box::new(EventFact { count, ..warning })));
    };
    event(900, "Unhealthy", 18, "Liveness probe failed: HTTP probe failed with statuscode: 500");
    event(901, "Unhealthy", 3, "Readiness probe failed: HTTP probe failed with statuscode: 500");
    event(902, "Unhealthy", 2, "Readiness probe failed: connection refused");
    event(903, "Failed", 2, "Failed to pull image \"web:v3\": no such host");
    event(904, "Failed", 2, "Error: ErrImagePull");
    event(905, "Failed", 4, "Error: ImagePullBackOff");
    event(906, "BackOff", 1, "Back-off restarting failed container web in pod web-2-p0100_shop(4912e4b8-11a2)");
    assert_eq!(
        web.lines(LineKind::Event),
        [
            "Event Unhealthy on Pod p0100 (18 times): Liveness probe failed: HTTP probe failed with statuscode: 500.",
            "Event Unhealthy on Pod p0100 (5 times): Readiness probe failed: connection refused.",
            "Event Failed on Pod p0100 (2 times): Failed to pull image \"web:v3\": no such host.",
            "Event BackOff on Pod p0100: Back-off restarting failed container web."
        ]
    );
}

#[test]
fn probes_that_fail_while_a_pod_starts_or_terminates_are_told_once_they_matter() {
    let failed = |web: &mut Web, at: Millis, count: u32, probe: &str| {
        let message = format!("{probe} probe failed: connection refused");
        let warning = warning(900, 200, ("Pod", "web-3-p0200"), "Unhealthy", &message);
        web.timeline.apply(at, Fact::Event(Box::new(EventFact { count, ..warning })));
        web.lines(LineKind::Event)
    };
    let told = |times: &str, probe: &str| {
        vec![format!("Event Unhealthy on Pod p0200{times}: {probe} probe failed: connection refused.")]
    };
    let none = Vec::<String>::new();
    // A start may take 30 s, and half as long again as its probes allow.
    for (probe_millis, until) in [(0, 50_000), (60_000, 110_000)] {
        for probe in ["Readiness", "Startup"] {
            let mut web = Web::replacing();
            web.set(SECOND, |set| set.now.probe_millis = probe_millis);
            web.add_pod(200, SECOND, unready);
            assert_eq!(failed(&mut web, until, 3, probe), none);
            assert_eq!(failed(&mut web, until + 1, 4, probe), told(" (4 times)", probe));
        }
    }
    let first = |pod: fn(&mut PodFact), probe: &str| {
        let mut web = Web::replacing();
        web.add_pod(200, SECOND, pod);
        failed(&mut web, 21_000, 1, probe)
    };
    assert_eq!(first(unready, "Liveness"), told("", "Liveness"));
    assert_eq!(first(ready, "Readiness"), told("", "Readiness"));
    assert_eq!(first(|pod| crashing(1)(pod), "Startup"), told("", "Startup"));
    // From before it was ready, in whole seconds, and late.
    let late = |last: Millis| {
        let mut web = Web::replacing();
        web.add_pod(200, SECOND, unready);
        web.wait_until(22_300).pod(200, ready);
        let warning = warning(900, 200, ("Pod", "web-3-p0200"), "Unhealthy", "Readiness probe failed: refused");
        let event = EventFact { last_millis: Some(last), ..warning };
        web.timeline.apply(24_000, Fact::Event(Box::new(event)));
        web.lines(LineKind::Event).len()
    };
    assert_eq!([21_000, 22_000, 23_000].map(late), [0, 0, 1]);
    // It is not to serve any more.
    let mut web = Web::replacing();
    web.add_ready_pod(200, SECOND);
    web.kill_pod(200);
    assert_eq!(failed(&mut web, 21_000, 1, "Readiness"), none);
}

#[test]
fn events_about_different_containers_are_counted_apart_and_name_them() {
    let mut web = Web::live(1).at(60_000);
    let refused = "Readiness probe failed: connection refused";
    web.event_of(100, "web", "Unhealthy", refused);
    web.wait(1_000).event_of(
        100,
        "proxy",
        "Unhealthy",
        "Readiness probe failed: HTTP probe failed with statuscode: 503",
    );
    web.wait(1_000).event_of(100, "web", "Unhealthy", refused);
    // Of Events that are combined, the container is that of one of them.
    web.wait(1_000).event_of(100, "proxy", "Unhealthy", &format!("(combined from similar events): {refused}"));
    assert_eq!(
        web.lines(LineKind::Event),
        [
            "Event Unhealthy on Pod p0100, container proxy: Readiness probe failed: HTTP probe failed with statuscode: 503.",
            "Event Unhealthy on Pod p0100, container web (2 times): Readiness probe failed: connection refused.",
            "Event Unhealthy on Pod p0100: (combined from similar events): Readiness probe failed: connection refused."
        ]
    );
}

#[test]
fn a_deadline_that_passes_is_told_once_per_rollout() {
    let mut web = Web::replacing().at(60_000);
    let passed = || Some(condition(ConditionStatus::False, "ProgressDeadlineExceeded", ""));
    web.deployment(|deployment| deployment.status.progressing = passed());
    web.wait_until(61_000).deployment(|deployment| deployment.status.available = 2);
    assert_eq!(
        since(&web, 60_000),
        ["60000 Progress deadline passed for revision 2. Kubernetes does not roll back by itself."]
    );
    let rollout = web.timeline.model().deployments.get(&WEB).unwrap().rollouts.last().unwrap().clone();
    assert_eq!((rollout.deadline_exceeded_millis, rollout.is_open()), (Some(60_000), true));
}

#[test]
fn of_very_many_events_the_latest_are_told() {
    let mut web = Web::live(3).at(20_000);
    let told = |web: &Web| {
        let mut told = web.told();
        told.retain(|line| line.starts_with("Event "));
        (told.len(), told.first().cloned().unwrap_or_default(), told.last().cloned().unwrap_or_default())
    };
    let line = |number: u32| format!("Event Reason{number} on Pod p0100: said.");
    for number in 1..=2_001 {
        if number == 2_001 {
            assert_eq!(told(&web), (2_000, line(1), line(2_000)));
        }
        web.wait(1_000).event(100, &format!("Reason{number}"), "said");
    }
    assert_eq!(told(&web), (1_001, line(1_001), line(2_001)));
}
