//! What nobody saw is told as such, or not at all.

use crate::made::{WEB, Web, condition, crashing, deployment, image, next_revision, set, unready, warning};
use timeline::fact::{ConditionStatus, EventFact, Kind, Seen, Strategy};
use timeline::rollout::{self, Trigger};
use timeline::story::{self, LineKind};
use timeline::{Fact, Millis, Timeline, Uid};

#[test]
fn what_was_finished_before_we_came_is_neither_stuck_nor_overtaken() {
    let mut web = Web::live(3).at(3_600_000);
    web.pod(100, |pod| {
        unready(pod);
        crashing(120)(pod);
    });
    web.report();
    let mut late = web.first_listed();
    late.now += 12_000;
    let degraded = "[Degraded] Revision 1 was rolled out, but container web crashes with exit code 1, 120 restarts.";
    assert_eq!(late.verdict(), degraded);
    let said = &late.view().reasons[0].sentence;
    assert_eq!(said, "Container web crashes with exit code 1: 120 restarts so far (pod p0100).");
    next_revision(&mut late, 2, [1, 3]);
    assert!(!late.told().iter().any(|line| line.contains("superseded")), "{:#?}", late.told());
}

#[test]
fn watching_begins_with_the_images_that_run() {
    let mut web = Web::live(3).at(60_000);
    web.deployment(|deployment| {
        deployment.spec.paused = true;
        deployment.spec.images = image("v2");
    });
    let late = web.first_listed();
    assert_eq!(late.told(), ["Watching begins: revision 1 with image web:v1."]);
    assert!(
        late.view().verdict.why.starts_with("A change of the template is waiting: image web:v2."),
        "{:?}",
        late.view()
    );
}

#[test]
fn what_happened_while_nobody_looked_is_not_told_as_if_it_was_seen() {
    // Revision 2 starts and is complete, and revision 3 starts, unseen.
    let mut web = Web::replacing().at(600_000);
    web.unseen(|deployment, sets| {
        (deployment.revision, deployment.spec.images) = (Some(3), image("v3"));
        sets.insert(4, set(4, 3, 1, 0));
    });
    web.relisted(25_000);
    let told = web.told();
    assert!(!told.iter().any(|line| line.contains("superseded")), "{told:#?}");
    assert!(told.iter().any(|line| line == "Revision 3 started while not observed: image web:v3."), "{told:#?}");
    // It is complete when somebody looks again.
    let mut web = Web::replaced().at(600_000);
    web.unseen(|deployment, _| {
        (deployment.status.replicas, deployment.status.updated, deployment.status.available) = (3, 3, 3);
    });
    web.relisted(25_000);
    let told = "Revision 2 is complete; the time of its completion is not known.";
    assert_eq!(web.lines(LineKind::Done).last().unwrap(), told);
}

/// Its ReplicaSet is that of revision 1 again, and is listed before it is known that the pods of then are gone.
#[test]
fn a_rollback_that_began_while_nobody_looked_goes_on_with_new_pods() {
    let mut web = Web::live(2).at(60_000);
    web.unseen(|deployment, sets| {
        (deployment.generation, deployment.revision) = (deployment.generation + 2, Some(3));
        deployment.spec.strategy = Strategy::Recreate;
        let status = &mut deployment.status;
        (status.observed_generation, status.replicas, status.updated, status.available) =
            (deployment.generation, 2, 2, 0);
        status.progressing = Some(condition(ConditionStatus::True, "ReplicaSetUpdated", ""));
        let first = sets.get_mut(&2).unwrap();
        (first.revision, first.now.counts.available) = (Some(3), 0);
        sets.insert(3, set(3, 2, 0, 0));
    });
    for number in [100, 101] {
        web.unseen_pod(number, |pod| {
            let name = format!("web-2-p0{}", number + 200);
            (pod.meta.uid, pod.meta.name, pod.meta.created_at_millis) = (Uid::from_bits(number + 200), name, 57_000);
            pod.ready = None;
        });
    }
    web.relisted(20_000);
    assert_eq!(web.verdict(), "[Rolling out] Revision 3: 0 of 2 available.");
    assert_eq!(web.view().verdict.why, "");
    // Pods that are still there had everything.
    let mut web = Web::live(2).at(60_000);
    web.unseen(|deployment, sets| {
        (deployment.generation, deployment.revision) = (deployment.generation + 2, Some(3));
        (deployment.status.observed_generation, deployment.status.updated) = (deployment.generation, 1);
        deployment.status.progressing = Some(condition(ConditionStatus::True, "ReplicaSetUpdated", ""));
        sets.get_mut(&2).unwrap().revision = Some(3);
        sets.insert(3, set(3, 2, 0, 0));
    });
    web.relisted(20_000);
    web.wait(1_000).delete_pod(100);
    web.report();
    assert_eq!(web.verdict(), "[Recovering] Revision 3: 1 of 2 available.");
}

/// The recording of an episode begins five seconds before its first line, which may be a list after a gap.
#[test]
fn a_recording_that_begins_in_a_gap_tells_of_the_whole_gap() {
    let mut web = Web::live(3).at(3_595_000).first_listed().at(3_600_000);
    web.relisted(10_000);
    let told = ["Not observed for 59 min 50 s: what happened in between is not known."];
    assert_eq!(web.lines(LineKind::Unknown), told);
}

/// A namespace is watched beside others since a restart: the server dates the gap of its first list back to its own last word.
#[test]
fn a_first_list_ends_no_gap_in_what_nobody_watched_before() {
    let mut web = Web::live(3).at(3_600_000);
    (web.timeline, web.history) = Default::default();
    web.relisted(10_000);
    assert_eq!(web.lines(LineKind::Unknown), Vec::<String>::new());
}

#[test]
fn a_replica_set_that_went_unseen_with_its_deployment_was_deleted_by_nobody() {
    let mut web = Web::live(3).at(60_000);
    web.lose_set(2);
    web.listed(Kind::ReplicaSet, Some(10_000));
    let unknown = web.lines(LineKind::Unknown);
    assert!(unknown.iter().any(|line| line == "ReplicaSet 1 disappeared while not observed."), "{unknown:#?}");
    // The Deployments' list comes much later.
    web.now = 64_000;
    web.timeline.apply(
        web.now,
        Fact::Listed { kind: Kind::Deployment, namespace: None, present: Vec::new(), gap_since_millis: Some(10_000) },
    );
    let told = web.told();
    assert!(!told.iter().any(|line| line.contains("not by the rollout") || line.contains("disappeared")), "{told:#?}");
    assert!(told.iter().any(|line| line == "The Deployment was deleted while not observed."), "{told:#?}");
}

#[test]
fn steps_that_nobody_saw_are_told_as_such() {
    let mut web = Web::replacing().at(600_000);
    web.unseen(|_, sets| {
        sets.get_mut(&2).unwrap().now.counts.desired = 0;
        sets.get_mut(&3).unwrap().now.counts.desired = 3;
    });
    web.relisted(25_000);
    let steps = web.lines(LineKind::Step);
    assert_eq!(steps.last().unwrap(), "While not observed: revision 1 3 → 0 and revision 2 1 → 3.");
    // It is complete later, in somebody's sight; since when it was under way is known.
    let took = web.lines(LineKind::Done);
    assert_eq!(took.len(), 1, "{took:?}");
}

#[test]
fn a_rollout_that_began_while_nobody_looked_and_was_seen_to_finish_took_an_unknown_time() {
    let mut web = Web::live(3).at(60_000);
    web.unseen(|deployment, sets| {
        (deployment.generation, deployment.revision) = (deployment.generation + 1, Some(2));
        deployment.spec.images = image("v2");
        let status = &mut deployment.status;
        (status.observed_generation, status.replicas, status.updated) = (deployment.generation, 4, 1);
        sets.insert(3, set(3, 2, 1, 0));
    });
    web.relisted(20_000);
    web.wait_until(70_000).set(3, |set| set.now.counts.desired = 3);
    web.set(2, |set| set.now.counts.desired = 0);
    (100..103).for_each(|pod| web.delete_pod(pod));
    (200..203).for_each(|pod| web.add_ready_pod(pod, 3));
    web.report();
    let done = ["Revision 1 is complete after 5.0 s.", "Revision 2 is complete; how long it took is not known."];
    assert_eq!(web.lines(LineKind::Done), done);
}

/// The list has the ReplicaSet that was taken up again before the one of the revision in between.
#[test]
fn a_rollback_that_was_complete_before_somebody_looked_again_is_told_as_complete() {
    let mut web = Web::live(2).at(60_000);
    web.unseen(|deployment, sets| {
        (deployment.generation, deployment.revision) = (deployment.generation + 2, Some(3));
        deployment.status.observed_generation = deployment.generation;
        sets.insert(3, set(3, 2, 0, 0));
        sets.get_mut(&2).unwrap().revision = Some(3);
    });
    web.relisted(20_000);
    let done =
        ["Revision 1 is complete after 5.0 s.", "Revision 3 is complete; the time of its completion is not known."];
    assert_eq!(web.lines(LineKind::Done), done);
}

#[test]
fn a_deployment_that_was_created_and_rolled_out_again_while_nobody_looked_begins_with_what_runs() {
    let of_revision = |revision: u64| {
        let mut timeline = Timeline::new();
        let mut listed = |at: Millis, kind: Kind, present: Vec<Uid>, gap_since_millis: Option<Millis>| {
            timeline.apply(at, Fact::Listed { kind, namespace: None, present, gap_since_millis });
        };
        Kind::ALL.into_iter().for_each(|kind| listed(0, kind, Vec::new(), None));
        listed(90_000, Kind::Deployment, vec![WEB], Some(10_000));
        let mut web = deployment();
        (web.now.revision, web.now.spec.images) = (Some(revision), image(&format!("v{revision}")));
        timeline.apply(90_000, Fact::Deployment(Box::new(web), Seen::InList));
        timeline.apply(90_000, Fact::ReplicaSet(Box::new(set(3, revision, 3, 3)), Seen::InList));
        let told = story::story(timeline.model(), WEB).into_iter().filter(|line| line.kind == LineKind::Revision);
        let told: Vec<String> = told.map(|line| line.text).collect();
        let deployment = timeline.model().deployments.get(&WEB).unwrap();
        (rollout::trigger(timeline.model(), deployment, 0), told)
    };
    let begins = "Watching begins: revision 2 with image web:v2.".to_owned();
    assert_eq!(of_revision(2), (Trigger::Unknown, vec![begins]));
    let created = "Revision 1 started while not observed: image web:v1.".to_owned();
    assert_eq!(of_revision(1), (Trigger::Created, vec![created]));
}

/// Its ReplicaSet is listed first, and an Event tells its own time.
#[test]
fn a_deployment_that_was_created_while_nobody_looked_begins_when_it_was_created() {
    let mut timeline = Timeline::new();
    for kind in Kind::ALL {
        timeline.apply(0, Fact::Listed { kind, namespace: None, present: Vec::new(), gap_since_millis: None });
    }
    let mut web = deployment();
    (web.meta.created_at_millis, web.now.revision, web.now.spec.images) = (62_000, Some(1), image("v1"));
    timeline.apply(90_000, Fact::ReplicaSet(Box::new(set(3, 1, 2, 0)), Seen::InList));
    timeline.apply(90_010, Fact::Deployment(Box::new(web), Seen::InList));
    let refused = warning(900, 3, ("ReplicaSet", "web-1"), "FailedCreate", "no");
    timeline.apply(90_020, Fact::Event(Box::new(EventFact { last_millis: Some(66_000), ..refused })));
    let told = story::story(timeline.model(), WEB).into_iter().map(|line| (line.at_millis, line.text));
    let expected = [
        (62_000, "Revision 1 started while not observed: image web:v1."),
        (66_999, "Event FailedCreate on ReplicaSet web-1: no."),
        (90_000, "While not observed: revision 1 0 → 2."),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected.map(|(at, text)| (at, text.to_owned())));
}

#[test]
fn a_deadline_that_passed_before_we_came_is_of_the_rollout_that_is_there() {
    let mut web = Web::replacing().at(630_000);
    let mut passed = condition(ConditionStatus::False, "ProgressDeadlineExceeded", "timed out");
    passed.last_update_millis = Some(629_000);
    web.deployment(|deployment| deployment.status.progressing = Some(passed));
    assert!(web.first_listed().verdict().starts_with("[Deadline exceeded]"), "{}", web.first_listed().verdict());
}

#[test]
fn a_deadline_that_passed_while_nobody_looked_is_of_the_replica_set_that_it_names() {
    let after = |named: &str| {
        let mut web = Web::live(3).at(60_000);
        web.unseen(|deployment, sets| {
            (deployment.generation, deployment.revision) = (deployment.generation + 1, Some(2));
            deployment.spec.images = image("v2");
            deployment.status.observed_generation = deployment.generation;
            deployment.status.updated = 1;
            let message = format!("ReplicaSet \"{named}\" has timed out progressing.");
            let mut passed = condition(ConditionStatus::False, "ProgressDeadlineExceeded", &message);
            passed.last_update_millis = Some(50_000);
            deployment.status.progressing = Some(passed);
            sets.insert(3, set(3, 2, 1, 0));
        });
        web.relisted(25_000);
        let last = web.timeline.model().deployments.get(&WEB).unwrap().rollouts.last().unwrap();
        let passed = last.deadline_exceeded_millis;
        (web.verdict().starts_with("[Deadline exceeded]"), web.lines(LineKind::Bad).len(), passed)
    };
    assert_eq!([after("web-2"), after("web-1")], [(true, 1, Some(60_000)), (false, 0, None)]);
}

#[test]
fn a_deadline_that_passed_while_nobody_looked_is_told_at_the_time_of_its_condition() {
    let mut web = Web::replacing().at(900_000);
    let mut passed = condition(ConditionStatus::False, "ProgressDeadlineExceeded", "timed out");
    passed.last_update_millis = Some(620_000);
    web.unseen(|deployment, _| deployment.status.progressing = Some(passed));
    assert_eq!(web.first_listed().lines(LineKind::Bad), Vec::<String>::new(), "it passed before the first look");
    web.relisted(600_000);
    let told = story::story(web.timeline.model(), WEB);
    let bad = told.iter().filter(|line| line.kind == LineKind::Bad).map(|line| (line.at_millis, line.text.as_str()));
    let deadline = "Progress deadline passed for revision 2. Kubernetes does not roll back by itself.";
    assert_eq!(bad.collect::<Vec<_>>(), [(620_000, deadline)]);
    let deployment = web.timeline.model().deployments.get(&WEB).unwrap();
    let passed = deployment.rollouts.iter().map(|rollout| rollout.deadline_exceeded_millis);
    assert_eq!(passed.collect::<Vec<_>>(), [None, Some(620_000)], "not when it arrived");
}

#[test]
fn a_deadline_that_passed_while_nobody_looked_is_not_told_of_the_revision_before() {
    let mut web = Web::replacing().at(900_000);
    let mut passed = condition(
        ConditionStatus::False,
        "ProgressDeadlineExceeded",
        "ReplicaSet \"web-3\" has timed out progressing.",
    );
    passed.last_update_millis = Some(700_000);
    web.unseen(|deployment, sets| {
        (deployment.generation, deployment.revision) = (deployment.generation + 1, Some(3));
        deployment.spec.images = image("v3");
        deployment.status.observed_generation = deployment.generation;
        deployment.status.progressing = Some(passed);
        sets.insert(4, set(4, 3, 1, 0));
    });
    web.relisted(25_000);
    let deadline = "Progress deadline passed for revision 3. Kubernetes does not roll back by itself.";
    assert_eq!(web.lines(LineKind::Bad), [deadline]);
    let told = story::story(web.timeline.model(), WEB).into_iter().map(|line| (line.at_millis, line.text));
    let last = told.filter(|(_, text)| text.starts_with("Revision 3") || text == deadline).collect::<Vec<_>>();
    let begins = "Revision 3 started while not observed: image web:v3.".to_owned();
    assert_eq!(last, [(900_000, begins), (900_000, deadline.to_owned())]);
}

#[test]
fn a_replica_set_that_went_unseen_went_with_its_deployment_when_that_is_told_within_ten_minutes() {
    let told = |after: Millis| {
        let mut web = Web::live(1).at(60_000);
        web.lose_set(2);
        web.listed(Kind::ReplicaSet, Some(30_000));
        web.wait(after).delete_deployment();
        web.told().iter().any(|line| line.contains("disappeared while not observed"))
    };
    assert_eq!([told(60_000), told(600_000), told(600_001)], [false, false, true]);
}

fn unseen(web: &mut Web, kind: Kind, is_unseen: bool) {
    let since_millis = is_unseen.then_some(web.now);
    web.timeline.apply(web.now, Fact::Unseen { kind, namespace: None, since_millis });
}

#[test]
fn a_kind_that_may_not_be_read_any_more_is_not_seen() {
    for kind in [Kind::Pod, Kind::ReplicaSet] {
        let mut web = Web::live(3).at(60_000);
        unseen(&mut web, kind, true);
        let uid = web.view().revision.and(web.timeline.model().deployments.keys().next().copied()).unwrap();
        assert!(!web.timeline.model().sees_pods(uid), "{kind:?}");
        assert!(
            web.view().verdict.why.ends_with("are not seen since 00:01:00 UTC: figures are those of the status."),
            "{:?}",
            web.view()
        );
        // The pods that were seen last stand still; what the status says goes on.
        web.wait_until(61_000).deployment(|deployment| deployment.status.available = 1);
        if kind == Kind::Pod {
            web.set(2, |set| set.now.counts.available = 1);
        }
        assert_eq!(web.view().counts.available, 1, "{kind:?}");
        unseen(&mut web, kind, false);
        assert!(web.timeline.model().sees_pods(uid), "{kind:?}");
        assert_eq!(web.view().counts.available, 3, "{kind:?}");
    }
}

#[test]
fn a_deployment_that_may_not_be_read_any_more_was_seen_last_then() {
    let mut web = Web::live(3).at(60_000);
    let before = web.verdict();
    unseen(&mut web, Kind::Deployment, true);
    web.now = 600_000;
    let verdict = web.view().verdict;
    assert_eq!((verdict.badge.as_str(), verdict.tone.name()), ("Not seen", "quiet"));
    assert!(verdict.sentence.starts_with("Last seen at 00:01:00 UTC: Revision 1 is complete"), "{verdict:?}");
    unseen(&mut web, Kind::Deployment, false);
    assert_eq!(web.verdict(), before);
}
