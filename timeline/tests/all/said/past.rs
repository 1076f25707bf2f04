//! Moments of the past: exactly from the history, roughly from what starts tell.

use crate::made::{SECOND, WEB, Web, condition, next_revision, ready, set, unready};
use crate::said::evidence::creating;
use timeline::episodes::course;
use timeline::fact::{ConditionStatus, Container, ContainerState, Kind, Phase, PodFact, Role, Strategy};
use timeline::history::MOST_CHANGES;
use timeline::model::{Model, PodState};
use timeline::rollout;
use timeline::view::{self, Now, View};
use timeline::wire::Said;
use timeline::{Change, Millis, Uid, story};

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
            let past = alone.at(then + later);
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
    let said = |at_millis| at(&web.history.at(at_millis), heard(at_millis)).unwrap().verdict;
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

/// The cause of a rollout that was superseded at that time, and had one pod of its own since 20 s.
fn cause_of_superseded(pod: fn(&mut PodFact), superseded_millis: Millis, change: fn(&mut Web)) -> Option<String> {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, pod);
    change(&mut web);
    web.now = superseded_millis;
    next_revision(&mut web, 3, [1, 0]);
    let model = web.timeline.model();
    let deployment = model.deployments.get(&WEB).unwrap();
    course::never_ready(model, deployment, &deployment.rollouts[1])
}

#[test]
fn a_superseded_rollout_whose_pods_never_started_had_trouble() {
    let said = |at_millis: Millis, change: fn(&mut Web)| cause_of_superseded(creating, at_millis, change);
    let late = || Some("Revision 2 makes no progress: pods do not start.".to_owned());
    assert_eq!(said(80_000, |_| {}), None, "it may take a minute");
    assert_eq!(said(80_001, |_| {}), late());
    let pulls: fn(&mut Web) = |web| web.event(200, "Pulling", "Pulling image \"web:v2\"");
    assert_eq!(said(320_000, pulls), None, "a pull may take five minutes");
    assert_eq!(said(320_001, pulls), late());
    let pulled: fn(&mut Web) = |web| {
        web.event(200, "Pulling", "Pulling image \"web:v2\"");
        web.wait_until(140_000).event(200, "Pulled", "Successfully pulled image \"web:v2\" in 2m0s");
    };
    assert_eq!(said(320_000, pulled), None, "its end does not take that back");
    assert_eq!(said(320_001, pulled), late());
    let started: fn(&mut Web) = |web| {
        web.wait_until(140_000).pod(200, |pod| {
            pod.phase = Phase::Running;
            pod.containers[0].state = Some(ContainerState::Running);
        });
    };
    assert_eq!(said(150_000, started), None, "it started late, and then did not run for too long");
    let taken_down: fn(&mut Web) = |web| web.wait_until(149_500).kill_pod(200);
    assert_eq!(said(150_000, taken_down), late(), "streams overtake each other");
    assert_eq!(said(150_501, taken_down), None, "somebody deleted it");
    let has_init: fn(&mut Web) = |web| {
        web.deployment(|deployment| deployment.spec.progress_deadline_seconds = Some(400));
        web.pod(200, |pod| pod.containers.insert(0, Container::new("migrate".into(), Role::Init)));
        web.event(200, "Pulled", "Container image \"web:v2\" already present on machine");
    };
    assert_eq!(said(220_000, has_init), None, "init containers may take half the progress deadline");
    assert_eq!(said(220_001, has_init), late());
}

#[test]
fn a_rollout_that_recreate_took_down_before_its_pods_started_had_trouble() {
    let said = |deleted_millis: Millis, taken_down_millis: Millis| {
        let mut web = Web::replacing();
        web.deployment(|deployment| deployment.spec.strategy = Strategy::Recreate);
        web.add_pod(200, SECOND, creating);
        web.wait_until(deleted_millis).kill_pod(200);
        web.wait_until(taken_down_millis).edit("v3");
        web.set(SECOND, |set| set.now.counts.desired = 0);
        web.wait(30_000).delete_pod(200);
        next_revision(&mut web, 3, [1, 0]);
        let model = web.timeline.model();
        let deployment = model.deployments.get(&WEB).unwrap();
        course::never_ready(model, deployment, &deployment.rollouts[1])
    };
    let late = "Revision 2 makes no progress: pods do not start.".to_owned();
    assert_eq!(said(80_000, 80_000), None, "it may take a minute");
    assert_eq!(said(80_001, 80_001), Some(late));
    assert_eq!(said(90_000, 91_001), None, "somebody deleted it");
}

#[test]
fn a_superseded_rollout_whose_pods_were_never_ready_had_trouble() {
    let said = |at_millis: Millis, change: fn(&mut Web)| cause_of_superseded(unready, at_millis, change);
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
    let view_of = |web: &Web, then| {
        let past = web.history.only(&model, WEB);
        if past.base_millis() <= Some(then) { at(&past.at(then), then) } else { None }
    };
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
    let begins = |history: &timeline::History| history.only(web.timeline.model(), WEB).base_millis();
    assert_eq!(begins(&history), None);
    history.note(5, &[state(5), state(6)]);
    assert_eq!(history.of(pod).count(), MOST_CHANGES);
    assert_eq!(history.of(pod).next().map(|(at, _)| at), Some(2));
    assert_eq!(history.of(pod).last().map(|(at, _)| at), Some(MOST_CHANGES as i64 - 1));
    assert_eq!(history.of(timeline::change::Subject::Pod(Uid::from_bits(1))).count(), 0);
    assert_eq!(begins(&history), Some(1));
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
    // Within one state it may become another one.
    web.wait_until(11_000).pod(100, |pod| pod.ready.as_mut().unwrap().reason = "ReadinessGatesNotReady".into());
    let reason = |model: &Model| model.pods.get(&Uid::from_bits(100)).unwrap().now.reason.clone();
    let rough = |at| web.timeline.model().as_of(WEB, at);
    assert_eq!([9_999, 10_000, 11_000].map(|at| reason(&rough(at))), [""; 3]);
    // The exact past has it.
    let exact = |at| {
        let mut then = rough(at);
        then.set_reasons(&web.history.at(at).reasons_of(WEB));
        reason(&then)
    };
    let expected = ["", "ContainersNotReady", "ContainersNotReady", "ReadinessGatesNotReady"];
    assert_eq!([9_999, 10_000, 10_999, 11_000].map(exact), expected);
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
        let view = at(web.timeline.model(), web.now + 1_000);
        let expected = Said { view: view.clone(), ..now.clone() }.with_version();
        let mut later = now.clone();
        assert_eq!(later.take_view(view), expected.delta_since(&now), "by time alone");
        assert_eq!(later, expected);
        known = now;
    });
    let other = Said { view: None, ..known.clone() };
    let shorter = Said { story: known.story[..1].to_vec(), ..known.clone() };
    assert!(known.delta_since(&other).is_some_and(|news| news.view.is_some() && news.story.is_none()));
    let news = shorter.delta_since(&known).unwrap();
    assert_eq!((news.view, news.story), (None, Some((1, 0, Vec::new()))));
}

#[test]
fn of_a_story_the_lines_are_told_anew_that_are_between_those_that_stay() {
    let of = |text: &str| {
        let line = |text: &str| story::Line { at_millis: 0, kind: story::LineKind::Step, text: text.to_owned() };
        Said { story: text.split_whitespace().map(line).collect(), ..Said::default() }
    };
    let before = of("a b c d");
    for (after, first, last, between) in [
        ("a B c d", 1, 2, "B"),
        ("a b c d e", 4, 0, "e"),
        ("z a b c d", 0, 4, "z"),
        ("a b b c d", 2, 2, "b"),
        ("a d", 1, 1, ""),
        ("", 0, 0, ""),
    ] {
        let news = of(after).delta_since(&before).unwrap();
        assert_eq!(news.story, Some((first, last, of(between).story)), "{after}");
        let mut copy = before.clone();
        copy.take(news);
        assert_eq!(copy, of(after));
    }
}
