//! What arrives, in which order and from which list: clocks, gaps, first lists, and Events that come before what they are about.

use timeline::fact::{EventFact, Kind, Seen};
use timeline::model::Gap;
use timeline::story::{LineKind, story};
use timeline::{Fact, Millis, Timeline, Uid};

use crate::made::{SECOND, WEB, Web, deployment, set, warning};

const HOUR: Millis = 3_600_000;

#[test]
fn who_stands_at_a_moment_knows_what_was_known_and_how_far_the_clocks_are_apart() {
    let web = Web::live(3);
    let standing = Timeline::from_model(web.timeline.model().clone(), 7_000);
    assert_eq!(standing.model(), web.timeline.model());
    assert_eq!(standing.skew_millis(), 7_000);
}

#[test]
fn clocks_are_told_apart_by_what_was_made_and_not_by_what_changed() {
    let made = |now: Millis, fact: fn(Millis) -> Fact| {
        let mut timeline = Timeline::new();
        timeline.apply(now, fact(now - HOUR));
        assert_eq!(timeline.skew_millis(), HOUR);
        // The watch began again and says the same object once more.
        timeline.apply(now + 5_000, fact(now - HOUR));
        assert_eq!(timeline.skew_millis(), HOUR, "it was known");
    };
    made(10 * HOUR, |created| {
        let mut fact = deployment();
        fact.meta.created_at_millis = created;
        Fact::Deployment(Box::new(fact), Seen::Added)
    });
    made(10 * HOUR, |created| {
        let mut fact = set(2, 1, 3, 0);
        fact.meta.created_at_millis = created;
        Fact::ReplicaSet(Box::new(fact), Seen::Added)
    });
}

#[test]
fn how_long_a_rollout_took_is_not_known_where_our_clock_was_set_back_meanwhile() {
    let mut timeline = Timeline::new();
    let (kind, namespace, present) = (Kind::Deployment, None, vec![]);
    timeline.apply(0, Fact::Listed { kind, namespace, present, gap_since_millis: None });
    for (at_millis, replicas, seen) in [(90_000, 4, Seen::Added), (30_000, 3, Seen::Modified)] {
        let mut fact = deployment();
        let status = &mut fact.now.status;
        (status.replicas, status.updated) = (replicas, 3);
        timeline.apply(at_millis, Fact::Deployment(Box::new(fact), seen));
    }
    let told = story(timeline.model(), WEB).into_iter().filter(|line| line.kind == LineKind::Done);
    let told: Vec<String> = told.map(|line| line.text).collect();
    assert_eq!(told, ["Revision 2 is complete; how long it took is not known."]);
}

#[test]
fn what_is_in_the_first_list_of_its_namespace_was_there_before_we_came() {
    let mut timeline = Timeline::new();
    let listed = |namespace: &str| Fact::Listed {
        kind: Kind::Deployment,
        namespace: Some(namespace.into()),
        present: vec![],
        gap_since_millis: None,
    };
    timeline.apply(0, listed("shop"));
    timeline.apply(
        0,
        Fact::Listed {
            kind: Kind::ReplicaSet,
            namespace: Some("cafe".into()),
            present: vec![],
            gap_since_millis: None,
        },
    );
    for (number, namespace) in [(1, "shop"), (2, "cafe")] {
        let mut fact = deployment();
        fact.meta.uid = Uid::from_bits(number);
        fact.meta.namespace = namespace.into();
        timeline.apply(1_000, Fact::Deployment(Box::new(fact), Seen::InList));
    }
    let of = |number| timeline.model().deployments.get(&Uid::from_bits(number)).unwrap().from_first_list;
    assert_eq!((of(1), of(2)), (false, true));
}

#[test]
fn a_gap_is_of_the_namespace_that_nobody_looked_at_and_of_what_was_there() {
    let gaps = |web: &Web| web.timeline.model().deployments.get(&WEB).unwrap().gaps.clone();
    let away = |web: &mut Web, namespace: Option<&str>, since| {
        let fact = Fact::Listed {
            kind: Kind::Pod,
            namespace: namespace.map(str::to_owned),
            present: web.timeline.model().pods.keys().copied().collect(),
            gap_since_millis: Some(since),
        };
        web.timeline.apply(web.now, fact);
    };
    let mut web = Web::live(3).at(60_000);
    away(&mut web, Some("cafe"), 20_000);
    away(&mut web, None, 60_000);
    assert_eq!(gaps(&web), [], "another namespace, and no time at all");
    away(&mut web, Some("shop"), 20_000);
    let first = Gap { from_millis: 20_000, to_millis: 60_000 };
    assert_eq!(gaps(&web), [first]);
    // Another kind was away for a shorter time at once: the same gap. One that goes on is a longer one.
    away(&mut web, Some("shop"), 30_000);
    assert_eq!(gaps(&web), [first]);
    web.wait_until(70_000).delete_deployment();
    web.now = 90_000;
    away(&mut web, Some("shop"), 75_000);
    assert_eq!(gaps(&web), [first], "it was deleted before");
}

#[test]
fn the_last_pod_to_be_ready_for_long_enough_makes_all_available() {
    let mut web = Web::made(3);
    web.deployment(|deployment| deployment.spec.min_ready_seconds = 10);
    web.set(2, |set| set.now.min_ready_seconds = 10);
    for (second, pod) in (1..).zip(100..103) {
        web.wait_until(second * 1_000).pod(pod, |pod| {
            crate::made::ready(pod);
            if let Some(ready) = &mut pod.ready {
                ready.last_transition_millis = Some(second * 1_000);
            }
        });
    }
    let available = |web: &Web| web.timeline.model().deployments.get(&WEB).unwrap().rollouts[0].available_millis;
    let due = web.timeline.next_due_millis().unwrap();
    web.timeline.tick(due);
    web.timeline.tick(due + 1_000);
    assert_eq!(available(&web), None, "two of three");
    web.timeline.tick(due + 2_000);
    assert_eq!(available(&web), Some(due + 2_000));
    assert_eq!(web.timeline.next_due_millis(), None);
}

/// An Event with its own UID, 1,000 more than that of what it is about.
fn event(about: u128, count: u32) -> EventFact {
    EventFact { count, ..warning(1_000 + about, about, ("ReplicaSet", "web-2"), "FailedCreate", "quota") }
}

#[test]
fn events_wait_for_what_they_are_about_and_for_its_owner() {
    let mut web = Web::live(3).at(20_000);
    web.timeline.apply(web.now, Fact::Event(Box::new(event(SECOND, 1))));
    assert_eq!(web.lines(LineKind::Event), <[String; 0]>::default());
    // It belongs to nobody at first: nobody's story tells of it.
    let mut orphan = set(SECOND, 2, 1, 0);
    orphan.meta.controller = None;
    web.add_set(SECOND, orphan);
    assert_eq!(web.lines(LineKind::Event), <[String; 0]>::default());
    web.set(SECOND, |set| set.meta.controller = Some(WEB));
    assert_eq!(web.lines(LineKind::Event), ["Event FailedCreate on ReplicaSet web-2: quota."]);
}

#[test]
fn of_an_event_that_came_twice_before_what_it_is_about_the_newest_words_count() {
    let mut web = Web::live(3).at(20_000);
    for count in 1..=3 {
        web.timeline.apply(web.now, Fact::Event(Box::new(event(SECOND, count))));
    }
    web.add_set(SECOND, set(SECOND, 2, 1, 0));
    assert_eq!(web.lines(LineKind::Event), ["Event FailedCreate on ReplicaSet web-2 (3 times): quota."]);
}

#[test]
fn an_event_is_of_its_own_time_by_our_clock_and_never_of_the_future() {
    let model = Web::live(3).timeline.model().clone();
    let at = |skew: Millis, last: Option<Millis>| {
        let mut timeline = Timeline::from_model(model.clone(), skew);
        timeline.apply(2 * HOUR, Fact::Event(Box::new(EventFact { last_millis: last, ..event(2, 1) })));
        timeline.model().deployments.get(&WEB).unwrap().events[0].at_millis
    };
    assert_eq!(at(0, Some(40_000)), 40_000);
    assert_eq!(at(HOUR, Some(40_000)), HOUR + 40_000);
    assert_eq!(at(HOUR, Some(HOUR + 1)), 2 * HOUR);
    assert_eq!(at(HOUR, None), 2 * HOUR);
}
