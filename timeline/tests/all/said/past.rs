//! Moments of the past: exactly from the history, roughly from what starts tell; and what is let go of.

use std::collections::BTreeSet;

use crate::made::{SECOND, WEB, Web, condition, deployment, meta, next_revision, ready, set, unready};
use timeline::fact::{ConditionStatus, IntOrPercent, Kind, Phase, PodFact, Seen, Strategy};
use timeline::history::MOST_CHANGES;
use timeline::model::{Model, PodState};
use timeline::past::course;
use timeline::rollout;
use timeline::view::{self, Now, View};
use timeline::wire::Said;
use timeline::{Change, Fact, Millis, Retention, Timeline, Uid, story};

fn at(model: &Model, at_millis: Millis) -> Option<View> {
    view::view(model, WEB, Now { millis: at_millis, skew_millis: 0 })
}

/// A rollout with a killed pod, a released one and a deleted ReplicaSet; after every step it is looked at.
fn day(mut look: impl FnMut(&Web)) -> Web {
    let mut web = Web::live(3);
    look(&web);
    let mut step = |web: &mut Web, seconds: Millis, what: &dyn Fn(&mut Web)| {
        web.now = seconds * 1_000;
        what(web);
        look(web);
    };
    step(&mut web, 20, &|web| {
        next_revision(web, 2, [1, 2]);
    });
    step(&mut web, 21, &|web| web.add_pod(200, SECOND, |_| {}));
    step(&mut web, 22, &|web| web.kill_pod(100));
    step(&mut web, 23, &|web| web.pod(200, ready));
    step(&mut web, 24, &Web::report);
    step(&mut web, 25, &|web| web.delete_pod(100));
    step(&mut web, 26, &|web| web.pod(101, |pod| pod.meta.controller = None));
    step(&mut web, 27, &|web| web.pod(101, |pod| pod.meta.controller = Some(Uid::from_bits(2))));
    step(&mut web, 28, &|web| web.set(SECOND, |set| set.now.counts.desired = 3));
    step(&mut web, 29, &|web| (201..203).for_each(|pod| web.add_ready_pod(pod, SECOND)));
    step(&mut web, 30, &|web| web.set(2, |set| set.now.counts.desired = 0));
    step(&mut web, 31, &|web| (101..103).for_each(|pod| web.kill_pod(pod)));
    step(&mut web, 32, &|web| (101..103).for_each(|pod| web.delete_pod(pod)));
    step(&mut web, 33, &Web::report);
    step(&mut web, 34, &|web| web.delete_set(2));
    step(&mut web, 35, &|web| web.pod(200, unready));
    step(&mut web, 36, &|web| web.pod(202, |pod| (pod.phase, pod.reason) = (Phase::Failed, "Evicted".into())));
    step(&mut web, 37, &|web| web.deployment(|deployment| deployment.spec.paused = true));
    step(&mut web, 38, &Web::delete_deployment);
    web
}

#[test]
fn what_is_said_of_a_moment_of_the_past_is_what_was_said_then() {
    let mut said = Vec::new();
    let web =
        day(|web| said.push((web.now, at(web.timeline.model(), web.now), story::story(web.timeline.model(), WEB))));
    let alone = web.history.only(web.timeline.model(), WEB);
    for (then, view, told) in said {
        // Until the next change a moment says the same.
        for later in [0, 999] {
            let past = alone.at(then + later).unwrap();
            assert_eq!(at(&past, then), view, "{then}");
            assert_eq!(story::story(&past, WEB), told, "{then}");
        }
    }
}

#[test]
fn in_a_gap_the_time_for_sentences_stands_still() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, unready);
    web.wait_until(3_600_000).relisted(30_000);
    web.wait(5_000).listed(Kind::Pod, Some(30_000));
    let heard = |at| web.history.heard_millis(WEB, at);
    assert_eq!([29_999, 30_000, 1_000_000, 3_599_999].map(heard), [29_999, 30_000, 30_000, 30_000]);
    assert_eq!([3_600_000, 3_604_999, 3_605_000].map(heard), [3_600_000, 3_600_000, 3_605_000]);
    let said = |at_millis| at(&web.history.at(at_millis).unwrap(), heard(at_millis)).unwrap().verdict;
    assert_eq!(said(3_000_000), said(30_000));
}

#[test]
fn a_pod_that_is_seen_just_before_its_rollout_begins_is_of_it() {
    let course = |seen_millis: Millis| {
        let mut web = Web::live(3).at(seen_millis);
        web.add_pod(200, SECOND, unready);
        web.wait_until(20_000);
        next_revision(&mut web, 2, [1, 3]);
        web.wait_until(21_000).pod(200, |pod| {
            pod.containers[0].restarts = 2;
            ready(pod);
        });
        let model = web.timeline.model();
        let deployment = model.deployments.get(&WEB).unwrap();
        let rollout = &deployment.rollouts[1];
        (course::first_available(model, deployment, rollout), course::restarts(model, deployment, rollout))
    };
    assert_eq!(course(19_997), (Some(1_000), 2));
    assert_eq!(course(18_999), (None, 0), "streams do not overtake each other by so much");
}

#[test]
fn pods_of_a_replica_set_that_is_deleted_and_made_again_are_of_its_rollout() {
    let again = |first: fn(&mut PodFact), second: fn(&mut PodFact)| {
        let mut web = Web::replacing();
        web.add_pod(200, SECOND, first);
        web.wait_until(60_000).delete_set(SECOND);
        web.delete_pod(200);
        web.add_set(9, set(9, 2, 1, 0));
        web.add_pod(300, 9, unready);
        web.wait_until(65_000).pod(300, second);
        web
    };
    let restarted: fn(&mut PodFact) = |pod| {
        pod.containers[0].restarts = 2;
        ready(pod);
    };
    let mut web = again(unready, restarted).at(90_000);
    web.edit("v3");
    web.add_set(4, set(4, 3, 1, 0));
    web.deployment(|deployment| deployment.revision = Some(3));
    let model = web.timeline.model();
    let deployment = model.deployments.get(&WEB).unwrap();
    let rollout = &deployment.rollouts[1];
    assert_eq!((rollout.revision, rollout.superseded_millis), (2, Some(90_000)));
    assert_eq!(course::first_available(model, deployment, rollout), Some(45_000));
    assert_eq!(course::restarts(model, deployment, rollout), 2);
    assert_eq!(course::never_ready(model, deployment, rollout), None, "one of the second ReplicaSet was");
    let came_to_nothing = |web: &Web| {
        let model = web.timeline.model();
        let deployment = model.deployments.get(&WEB).unwrap();
        let second = model.replica_sets.get(&Uid::from_bits(9)).unwrap();
        rollout::came_to_nothing(model, deployment, &deployment.rollouts[1], second)
    };
    let served = [again(ready, unready), again(unready, unready)].map(|web| came_to_nothing(&web));
    assert_eq!(served, [false, true]);
}

#[test]
fn a_pod_that_is_seen_just_after_its_rollout_is_complete_counts() {
    let counts = |seen_millis: Millis| {
        let mut web = Web::live(3).at(20_000);
        web.take_over(unready);
        web.wait_until(21_000);
        (200..202).for_each(|number| web.pod(number, ready));
        web.unseen_pod(202, ready);
        web.wait_until(22_000).report();
        web.wait_until(seen_millis).pod(202, |_| {});
        let model = web.timeline.model();
        course::available_counts(model, model.deployments.get(&WEB).unwrap(), 1, (20_000, 22_000))
    };
    assert_eq!(counts(22_003), [(0, 0), (1_000, 2), (2_003, 3)]);
    assert_eq!(counts(23_001), [(0, 0), (1_000, 2)], "streams do not overtake each other by so much");
}

#[test]
fn a_superseded_rollout_whose_pods_were_never_ready_had_trouble() {
    let said = |superseded_millis: Millis, change: fn(&mut Web)| {
        let mut web = Web::replacing();
        web.add_pod(200, SECOND, unready);
        change(&mut web);
        web.now = superseded_millis;
        next_revision(&mut web, 3, [1, 0]);
        let model = web.timeline.model();
        let deployment = model.deployments.get(&WEB).unwrap();
        course::never_ready(model, deployment, &deployment.rollouts[1])
    };
    let late = "Revision 2 makes no progress: pods do not become ready.".to_owned();
    assert_eq!(said(50_001, |_| {}), Some(late));
    assert_eq!(said(50_000, |_| {}), None, "it may take 30 s");
    assert_eq!(said(90_000, |web| web.set(SECOND, |set| set.now.probe_millis = 60_000)), None, "its probes allow more");
    assert_eq!(said(90_000, |web| web.wait(1_000).pod(200, ready)), None);
    assert_eq!(said(90_000, |web| web.wait_until(25_000).relisted(22_000)), None, "nobody looked for a while");
}

#[test]
fn moments_before_what_is_kept_cannot_be_told() {
    let mut web = day(|_| {});
    let model = web.timeline.model().clone();
    let view_of = |web: &Web, then| web.history.only(&model, WEB).at(then).and_then(|past| at(&past, then));
    let (at_23, at_30) = (view_of(&web, 23_000), view_of(&web, 30_000));
    web.history.prune(23_000);
    assert_eq!(view_of(&web, 21_999), None);
    assert_eq!((view_of(&web, 23_000), view_of(&web, 30_000)), (at_23, at_30.clone()));
    assert!(view_of(&web, 22_000).is_some(), "what was known first is of then");
    web.history.prune(24_000);
    assert_eq!((view_of(&web, 22_999), view_of(&web, 30_000)), (None, at_30));
}

#[test]
fn history_holds_so_many_changes_and_time_does_not_go_back() {
    let mut history = timeline::history::History::default();
    let web = Web::live(1);
    let state = |number: i64| Change::PodState(Uid::from_bits(100), PodState::Ready, number);
    for number in 0..MOST_CHANGES as i64 {
        history.note(number, &[state(number)]);
    }
    let pod = timeline::change::Subject::Pod(Uid::from_bits(100));
    assert_eq!(history.of(pod).next().map(|(at, _)| at), Some(0));
    assert!(history.only(web.timeline.model(), WEB).at(0).is_some());
    history.note(5, &[state(5), state(6)]);
    assert_eq!(history.of(pod).count(), MOST_CHANGES);
    assert_eq!(history.of(pod).next().map(|(at, _)| at), Some(2));
    assert_eq!(history.of(pod).last().map(|(at, _)| at), Some(MOST_CHANGES as i64 - 1));
    assert_eq!(history.of(timeline::change::Subject::Pod(Uid::from_bits(1))).count(), 0);
    assert!(history.only(web.timeline.model(), WEB).at(0).is_none());
    assert!(history.only(web.timeline.model(), WEB).at(1).is_some());
}

/// What starts tell: states and owners of pods, replicas and revisions of ReplicaSets, revision and end of the Deployment.
fn outline(model: &Model, at_millis: Millis) -> String {
    let deployment = model.deployments.get(&WEB).unwrap();
    let rollouts = deployment.rollouts.iter().map(|rollout| {
        let ends = (rollout.completed_millis, rollout.superseded_millis, rollout.deadline_exceeded_millis);
        format!("{} {ends:?}", rollout.revision)
    });
    let sets = model.replica_sets.values().map(|set| {
        let counts = (set.now.counts.desired, set.removed_millis, &set.revisions, set.scales.len());
        format!("{:?} {counts:?}", set.uid)
    });
    let pods = model.pods.values().map(|pod| {
        let ended = (pod.end_reason, pod.now.terminal_millis, pod.now.deletion_at_millis);
        format!("{:?} {:?} {:?} {ended:?} {}", pod.uid, pod.states, pod.owner, pod.is_active_at(at_millis))
    });
    let lines: Vec<String> = rollouts.chain(sets).chain(pods).collect();
    format!("{:?} {:?}\n{}", deployment.now.revision, deployment.deleted_millis, lines.join("\n"))
}

#[test]
fn what_starts_tell_of_a_moment_is_how_it_was() {
    let mut seen = Vec::new();
    let web = day(|web| seen.push((web.now, outline(web.timeline.model(), web.now))));
    for (then, outline_then) in seen {
        for later in [0, 999] {
            let past = web.timeline.model().as_of(WEB, then + later);
            assert_eq!(outline(&past, then), outline_then, "{then}");
        }
    }
    assert!(web.timeline.model().as_of(WEB, -1).pods.is_empty());
}

#[test]
fn reasons_of_another_time_are_not_shown_in_the_past() {
    let mut web = Web::live(1).at(10_000);
    web.pod(100, |pod| {
        (pod.ready, pod.reason) = (Some(condition(ConditionStatus::False, "ContainersNotReady", "why")), String::new());
    });
    let reason = |at| web.timeline.model().as_of(WEB, at).pods.get(&Uid::from_bits(100)).unwrap().now.reason.clone();
    assert_eq!([reason(9_999), reason(10_000)], ["", "ContainersNotReady"]);
    // Released and adopted in one instant it is owned.
    let mut web = Web::live(1).at(10_000);
    web.pod(100, |pod| pod.meta.controller = None);
    web.pod(100, |pod| pod.meta.controller = Some(Uid::from_bits(2)));
    let owner = |at| web.timeline.model().as_of(WEB, at).pods.get(&Uid::from_bits(100)).unwrap().owner;
    assert_eq!([owner(9_999), owner(10_000)], [Some(Uid::from_bits(2)); 2]);
    // Gaps that were not over yet are not known of.
    let mut web = Web::live(1).at(50_000);
    web.relisted(20_000);
    let gaps = |at| web.timeline.model().as_of(WEB, at).deployments.get(&WEB).unwrap().gaps.len();
    assert_eq!([gaps(49_999), gaps(50_000)], [0, 1]);
}

/// Kept without bounds: each test sets one.
const ALL: Retention =
    Retention { age_millis: 1_000_000, gone_pods: 100, rollouts: 100, steps: 100, deleted: 100, screen_millis: 0 };

fn pruned(web: &mut Web, at: Millis, retention: Retention) -> Option<Millis> {
    web.timeline.prune(at, &retention, &BTreeSet::new());
    web.timeline.model().deployments.get(&WEB).and_then(|deployment| deployment.kept_since_millis)
}

/// Revision 2 took over at 20 s, and was scaled at 30 s and 40 s; everything goes on.
fn grown() -> Web {
    let mut web = Web::reported();
    for (now, replicas) in [(30_000, 4), (40_000, 5)] {
        web.wait_until(now).scale(SECOND, replicas);
        web.add_ready_pod(u128::from(200 + replicas), SECOND);
        web.report();
    }
    web
}

#[test]
fn what_is_kept_follows_from_age_and_counts() {
    let cut = |retention| pruned(&mut grown(), 100_000, retention);
    assert_eq!(cut(ALL), None);
    assert_eq!(cut(Retention { age_millis: 100_000, ..ALL }), None, "nothing is older");
    assert_eq!(cut(Retention { age_millis: 65_000, ..ALL }), Some(35_000));
    // Three pods of revision 1 went at 20 s.
    assert_eq!(cut(Retention { gone_pods: 3, ..ALL }), None);
    assert_eq!(cut(Retention { gone_pods: 2, ..ALL }), Some(20_000));
    assert_eq!(cut(Retention { rollouts: 2, ..ALL }), None);
    assert_eq!(cut(Retention { rollouts: 1, ..ALL }), Some(20_000));
    // Seven steps and marks: the first ReplicaSet's, those of the rollout, and two times scaled with its mark.
    assert_eq!(cut(Retention { steps: 7, ..ALL }), Some(20_000), "of verdicts there are more");
    assert_eq!(cut(Retention { steps: 1, ..ALL }), Some(40_000));
    // What pages may show is kept.
    assert_eq!(cut(Retention { rollouts: 1, screen_millis: 85_000, ..ALL }), Some(15_000));
    assert_eq!(cut(Retention { steps: 1, screen_millis: 80_000, ..ALL }), Some(20_000));
}

#[test]
fn what_ended_before_the_cut_goes_and_what_lives_stays() {
    let mut web = grown();
    let pods = |web: &Web| web.timeline.model().pods.len();
    let texts = web.told().len();
    assert_eq!((pods(&web), web.timeline.model().replica_sets.len()), (8, 2));
    assert_eq!(pruned(&mut web, 100_000, Retention { age_millis: 80_000, ..ALL }), Some(20_000));
    let deployment = |web: &Web| web.timeline.model().deployments.get(&WEB).unwrap().clone();
    let known_since = |web: &Web| deployment(web).known_since_millis();
    assert_eq!([known_since(&web), known_since(&web.first_listed())], [20_000, 40_000]);
    assert_eq!(pods(&web), 8, "they went at the cut, not before");
    assert_eq!(deployment(&web).rollouts.iter().map(|rollout| rollout.revision).collect::<Vec<_>>(), [2]);
    assert_eq!(deployment(&web).rollouts_pruned, 1);
    assert_eq!(pruned(&mut web, 100_000, Retention { age_millis: 79_999, ..ALL }), Some(20_001));
    assert_eq!((pods(&web), web.timeline.model().replica_sets.len()), (5, 2), "the first ReplicaSet exists");
    assert!(web.told().len() < texts);
    assert_eq!(web.told()[0], "Older history is not kept.");
    assert_eq!(deployment(&web).limits.len(), 3, "what held at the cut is known");
    // Once it is gone, it goes with what it carried.
    web.wait_until(110_000).delete_set(2);
    pruned(&mut web, 110_000, Retention { age_millis: 0, ..ALL });
    assert_eq!(web.timeline.model().replica_sets.len(), 2, "at the cut");
    pruned(&mut web, 110_001, Retention { age_millis: 0, ..ALL });
    assert_eq!(web.timeline.model().replica_sets.len(), 1);
    assert_eq!(deployment(&web).limits.len(), 1);
    assert_eq!(web.verdict(), "[Complete] Revision 2 is complete: 5 of 5 available.");
}

#[test]
fn deleted_deployments_go_with_everything_when_they_are_old_or_too_many() {
    let gone = |at: Millis, retention: Retention, is_on_screen: bool| {
        let mut web = Web::live(2).at(50_000);
        web.delete_deployment();
        web.wait_until(60_000).delete_set(2);
        (100..102).for_each(|pod| web.delete_pod(pod));
        let on_screen = if is_on_screen { BTreeSet::from([WEB]) } else { BTreeSet::new() };
        web.timeline.prune(at, &retention, &on_screen);
        let model = web.timeline.model();
        let left = (model.deployments.len(), model.replica_sets.len(), model.pods.len());
        assert!(left.0 == 1 || left == (0, 0, 0), "what belonged to it went with it: {left:?}");
        left.0 == 0
    };
    let old = Retention { age_millis: 40_000, ..ALL };
    assert!(!gone(100_000, old, false), "its last pod went 40 s ago");
    assert!(gone(100_001, old, false));
    assert!(!gone(100_001, old, true), "somebody looks at it");
    let many = Retention { deleted: 0, screen_millis: 10_000, ..ALL };
    assert!(!gone(70_000, many, false), "pages may show it");
    assert!(gone(70_001, many, false));
    assert!(!gone(70_001, Retention { deleted: 1, ..many }, false));
    // While something of it exists it is not over.
    let mut web = Web::live(1).at(50_000);
    web.delete_deployment();
    web.timeline.prune(90_000, &Retention { age_millis: 0, deleted: 0, ..ALL }, &BTreeSet::new());
    assert_eq!((web.timeline.model().deployments.len(), web.timeline.model().pods.len()), (1, 1));
}

#[test]
fn what_belongs_to_no_deployment_is_pruned_when_it_is_old() {
    let left = |at: Millis, retention: Retention| {
        let mut web = Web::live(1);
        let mut foreign = set(9, 1, 1, 1);
        foreign.meta.controller = None;
        web.add_set(9, foreign);
        web.add_pod(900, 9, |_| {});
        web.wait_until(50_000).delete_pod(900);
        web.delete_set(9);
        web.timeline.prune(at, &retention, &BTreeSet::new());
        (web.timeline.model().replica_sets.len(), web.timeline.model().pods.len())
    };
    let age = |age_millis, screen_millis| Retention { age_millis, screen_millis, ..ALL };
    assert_eq!(left(60_000, age(10_000, 0)), (2, 2));
    assert_eq!(left(60_001, age(10_000, 0)), (1, 1));
    assert_eq!(left(60_001, age(10_000, 20_000)), (2, 2));
    assert_eq!(left(70_001, age(10_000, 20_000)), (1, 1));
}

#[test]
fn a_pod_that_only_changes_its_state_again_and_again_lets_go_of_old_states() {
    let mut web = Web::live(1);
    pruned(&mut web, 100_000, Retention { age_millis: 1, ..ALL });
    for number in 0..6 {
        web.wait_until(110_000 + number * 1_000).pod(100, if number % 2 == 0 { unready } else { ready });
    }
    let states = |web: &Web| {
        let pod = web.timeline.model().pods.get(&Uid::from_bits(100)).unwrap();
        pod.states.iter().map(|(_, at)| *at).collect::<Vec<_>>()
    };
    let all = [0, 5_000, 110_000, 111_000, 112_000, 113_000, 114_000, 115_000];
    assert_eq!(states(&web), all);
    pruned(&mut web, 120_000, Retention { age_millis: 10_000, ..ALL });
    assert_eq!(states(&web), all, "the one that it was in at that time is kept, and what came before is its beginning");
    pruned(&mut web, 120_000, Retention { age_millis: 7_000, ..ALL });
    // It was unready at first and at 112 s: what lay between stays, for neighbours differ.
    assert_eq!(states(&web), [0, 111_000, 112_000, 113_000, 114_000, 115_000]);
    // So many of one pod are kept.
    pruned(&mut web, 120_000, Retention { steps: 2, ..ALL });
    assert_eq!(states(&web), [0, 113_000, 114_000, 115_000]);
}

#[test]
fn what_is_said_anew_makes_a_copy_say_the_same() {
    let said_of = |web: &Web| {
        let (view, story) = (at(web.timeline.model(), web.now), story::story(web.timeline.model(), WEB));
        Said { view, story, ..Said::default() }.with_version()
    };
    let mut copy = Said::default();
    let mut known = Said::default();
    day(|web| {
        let now = said_of(web);
        if let Some(news) = now.delta_since(&known) {
            assert_eq!(news.view.is_some(), now.view != known.view);
            assert_eq!(news.story.is_some(), now.story != known.story);
            copy.take(news);
        }
        assert_eq!(copy, now);
        assert_eq!(now.delta_since(&now), None);
        known = now;
    });
    let other = Said { view: None, ..known.clone() };
    let shorter = Said { story: known.story[..1].to_vec(), ..known.clone() };
    assert!(known.delta_since(&other).is_some_and(|news| news.view.is_some() && news.story.is_none()));
    assert!(shorter.delta_since(&known).is_some_and(|news| news.view.is_none() && news.story == Some((1, Vec::new()))));
}

#[test]
fn releases_are_pruned_but_the_last_one_before_the_cut() {
    let mut web = Web::live(3);
    let owner = Some(Uid::from_bits(2));
    for (now, controller) in [(10_000, None), (20_000, owner), (30_000, None), (40_000, owner)] {
        web.wait_until(now).pod(100, |pod| pod.meta.controller = controller);
    }
    let pod = |web: &Web, at| web.timeline.model().as_of(WEB, at).pods.get(&Uid::from_bits(100)).unwrap().clone();
    assert_eq!(pod(&web, 50_000).releases.len(), 2);
    assert_eq!(pruned(&mut web, 100_000, Retention { age_millis: 65_000, ..ALL }), Some(35_000));
    assert_eq!(pod(&web, 50_000).releases.len(), 1);
    // At the cut it was released, and adopted afterwards.
    assert_eq!([pod(&web, 36_000).owner, pod(&web, 41_000).owner], [None, owner]);
}

#[test]
fn of_a_released_pod_that_several_controlled_the_cut_leaves_who_released_it() {
    let mut web = Web::replacing();
    for (now, controller) in [(30_000, None), (40_000, Some(SECOND)), (50_000, None)] {
        web.wait_until(now).pod(100, |pod| pod.meta.controller = controller.map(Uid::from_bits));
    }
    assert_eq!(pruned(&mut web, 100_000, Retention { age_millis: 40_000, ..ALL }), Some(60_000));
    let last = web.timeline.model().pods.get(&Uid::from_bits(100)).unwrap().last_owner();
    assert_eq!(last, Some(Uid::from_bits(SECOND)));
}

#[test]
fn of_what_belongs_to_no_deployment_as_much_is_kept_as_of_one() {
    let mut web = Web::live(1);
    let mut foreign = set(9, 1, 1, 1);
    foreign.meta.controller = None;
    web.add_set(9, foreign);
    for number in 900..910 {
        web.wait(1_000).add_pod(number, 9, |_| {});
        web.delete_pod(number);
    }
    let mut left = |after: Millis| {
        let retention = Retention { gone_pods: 3, screen_millis: 10_000, ..ALL };
        web.timeline.prune(web.now + after, &retention, &BTreeSet::new());
        web.timeline.model().pods.len()
    };
    assert_eq!(left(0), 11);
    assert_eq!(left(5_000), 7, "pages may show those of the last 10 s");
    assert_eq!(left(60_000), 4);
}

#[test]
fn an_end_that_nobody_saw_stays_unseen_and_a_gap_of_pods_hides_none() {
    let is_part_unseen = |web: &Web| {
        let model = web.timeline.model();
        let deployment = model.deployments.get(&WEB).unwrap();
        rollout::is_part_unseen(model, deployment, deployment.rollouts.last().unwrap())
    };
    let mut web = Web::replaced().at(60_000);
    web.unseen(|deployment, _| {
        let status = &mut deployment.status;
        (status.replicas, status.updated, status.available) = (3, 3, 3);
    });
    web.relisted(30_000);
    let day = Retention::default().age_millis;
    web.timeline.prune(60_001 + day, &Retention::default(), &BTreeSet::new());
    let deployment = web.timeline.model().deployments.get(&WEB).unwrap();
    let last = deployment.rollouts.last().unwrap();
    assert_eq!((last.completed_millis, deployment.gaps.len(), is_part_unseen(&web)), (Some(60_000), 0, true));
    assert!(!web.timeline.model().as_of(WEB, 59_999).deployments.get(&WEB).unwrap().rollouts[0].is_end_unseen);
    // The Deployment's own watch saw it.
    let mut web = Web::replaced().at(60_000);
    web.report();
    web.wait_until(61_000).listed(Kind::Pod, Some(30_000));
    assert!(!is_part_unseen(&web));
    // What was complete at the first look did not end since.
    assert!(!is_part_unseen(&web.first_listed()));
    // The next rollout began meanwhile.
    let mut web = Web::replacing();
    web.unseen(|deployment, sets| {
        deployment.revision = Some(3);
        sets.insert(4, set(4, 3, 1, 0));
    });
    web.wait_until(60_000).relisted(30_000);
    let rollouts = &web.timeline.model().deployments.get(&WEB).unwrap().rollouts;
    let seen = rollouts.iter().map(|one| (one.revision, one.was_start_seen, one.is_end_unseen));
    assert_eq!(seen.collect::<Vec<_>>(), [(1, true, false), (2, true, true), (3, false, false)]);
}

#[test]
fn releases_alone_are_reason_enough_for_a_cut() {
    let mut web = Web::live(1);
    let mut other = deployment();
    other.meta = meta(9, "other", None);
    web.timeline.apply(web.now, Fact::Deployment(Box::new(other), Seen::Added));
    // Another Deployment has the ReplicaSet by now, and the story of its pods with it.
    web.wait_until(6_000).set(2, |set| set.meta.controller = Some(Uid::from_bits(9)));
    for (now, controller) in [(10_000, None), (20_000, Some(2)), (30_000, None), (40_000, Some(2))] {
        web.wait_until(now).pod(100, |pod| pod.meta.controller = controller.map(Uid::from_bits));
    }
    for (before, kept_since) in [(20_000, 20_000), (30_000, 20_000), (30_001, 30_001)] {
        let retention = Retention { age_millis: 100_000 - before, ..ALL };
        assert_eq!(pruned(&mut web, 100_000, retention), Some(kept_since), "before {before}");
    }
}

#[test]
fn whatever_is_old_is_reason_enough_for_a_cut_and_nothing_is_cut_twice() {
    let changes: [fn(&mut Web); 5] = [
        |web| web.listed(Kind::Pod, Some(web.now - 500)),
        |web| {
            for unavailable in [1, 2] {
                web.now += i64::from(unavailable) - 1;
                web.deployment(|deployment| deployment.spec.strategy = rolling_update(unavailable));
            }
            web.now -= 1;
        },
        |web| web.deployment(|deployment| deployment.spec.paused = true),
        |web| web.delete_pod(100),
        |web| web.set(2, |set| set.now.counts.desired = 5),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut web = Web::live(3);
        let cut = |web: &mut Web, before| pruned(web, before, Retention { age_millis: 0, ..ALL });
        assert_eq!(cut(&mut web, 20_000), Some(20_000));
        web.now = 30_000;
        change(&mut web);
        // That it is told is a reason of its own.
        let mut model = web.timeline.model().clone();
        model.deployments.get_mut(&WEB).unwrap().story.clear();
        web.timeline = Timeline::from_model(model, 0);
        assert_eq!(cut(&mut web, 30_000), Some(20_000), "{number}: nothing is older");
        assert_eq!(cut(&mut web, 30_002), Some(30_002), "{number}");
        assert_eq!(cut(&mut web, 40_000), Some(30_002), "{number}: it was cut already");
        assert_eq!(web.timeline.prune(40_000, &Retention { age_millis: 0, ..ALL }, &BTreeSet::new()), []);
    }
}

fn rolling_update(unavailable: u32) -> Strategy {
    let (max_surge, max_unavailable) = (IntOrPercent::Int(1), IntOrPercent::Int(unavailable));
    Strategy::RollingUpdate { max_surge, max_unavailable }
}

#[test]
fn what_is_kept_by_default_is_a_day_and_what_pages_may_show() {
    let kept = Retention::default();
    assert_eq!((kept.age_millis, kept.screen_millis), (24 * 3_600_000, 900_000));
}
