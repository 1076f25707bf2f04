//! Events in the story: which are one line, where it stands, and which are told at all.

use std::collections::BTreeSet;

use crate::made::{self, SECOND, WEB, Web, crashing, next_revision, ready, set, unready, warning};
use crate::said::told::since;
use timeline::fact::{EventFact, PodFact, Seen};
use timeline::story::{self, LineKind};
use timeline::{Fact, Millis, Timeline};

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
fn equal_events_of_pods_of_one_replica_set_are_one_line() {
    let mut web = Web::replacing();
    for number in 200..203 {
        web.wait(1_000).add_pod(number, SECOND, |pod| {
            unready(pod);
            pod.meta.name = format!("web-2-p{number:04}");
        });
        web.event(number, "OutOfcpu", "Node didn't have enough resource: cpu");
    }
    web.event(100, "OutOfcpu", "Node didn't have enough resource: cpu");
    web.event(201, "UnexpectedAdmissionError", "Allocate failed");
    web.event(202, "UnexpectedAdmissionError", "Allocate failed due to requested number of devices unavailable");
    assert_eq!(
        since(&web, 21_000),
        [
            "23000 Event OutOfcpu on Pods of ReplicaSet web-2 (3 times): Node didn't have enough resource: cpu.",
            "23000 Event OutOfcpu on Pod p0100: Node didn't have enough resource: cpu.",
            "23000 Event UnexpectedAdmissionError on Pod p0201: Allocate failed.",
            "23000 Event UnexpectedAdmissionError on Pod p0202: Allocate failed due to requested number of devices unavailable."
        ]
    );
    // The kubelet names each pod, and its address.
    let mut web = Web::replacing();
    let says = |web: &mut Web, number: u128, probe: &str| {
        let name = format!("web-2-p{number:04}");
        web.event(
            number,
            "BackOff",
            &format!("Back-off restarting failed container web in pod {name}_shop(4912e4b8-{number})"),
        );
        let address = format!("10.244.0.{number}:8080");
        let message = format!("Liveness probe failed: Get \"http://{address}/\": dial tcp {address}: connect: {probe}");
        web.event(number, "Unhealthy", &message);
        let pull = "Failed to pull image \"web:v3\": read tcp";
        let reset = format!("{pull} 10.244.0.1:4{number}->10.9.0.9:443: read: connection reset by peer");
        web.event(number, "Failed", &reset);
    };
    for number in 200..203 {
        web.wait(1_000).add_pod(number, SECOND, |pod| {
            unready(pod);
            pod.meta.name = format!("web-2-p{number:04}");
        });
        says(&mut web, number, "connection refused");
    }
    says(&mut web, 200, "no route to host");
    assert_eq!(
        since(&web, 21_000),
        [
            "23000 Event BackOff on Pods of ReplicaSet web-2 (4 times): Back-off restarting failed container web.",
            "23000 Event Unhealthy on Pods of ReplicaSet web-2 (3 times): Liveness probe failed: Get \"http://10.244.0.202:8080/\": dial tcp 10.244.0.202:8080: connect: connection refused.",
            "23000 Event Failed on Pods of ReplicaSet web-2 (4 times): Failed to pull image \"web:v3\": read tcp 10.244.0.1:4200->10.9.0.9:443: read: connection reset by peer.",
            "23000 Event Unhealthy on Pod p0200: Liveness probe failed: Get \"http://10.244.0.200:8080/\": dial tcp 10.244.0.200:8080: connect: no route to host."
        ]
    );
    // Where a name was cut, it does not say whose pod it is.
    let mut web = Web::replacing();
    for number in [200, 201] {
        web.wait(1_000).add_pod(number, SECOND, unready);
        web.event(number, "OutOfcpu", "Node didn't have enough resource: cpu");
    }
    assert_eq!(since(&web, 21_000).len(), 2);
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
fn an_event_about_a_replacement_stands_behind_what_is_replaced() {
    let unscheduled = |web: &mut Web, pod: u128, last: Millis| {
        let warning = warning(900, pod, ("Pod", &format!("web-2-p0{pod}")), "FailedScheduling", "no node");
        let event = EventFact { last_millis: Some(last), ..warning };
        web.timeline.apply(60_300, Fact::Event(Box::new(event)));
        since(web, 59_000)
    };
    let told = |last: Millis| {
        let mut web = Web::live(3).at(60_250);
        web.pod(100, |pod| {
            (pod.disruption, pod.deletion_at_millis) = (Some("DeletionByTaintManager".into()), Some(90_000));
        });
        web.wait(5).add_pod(103, 2, |_| {});
        unscheduled(&mut web, 103, last)
    };
    let left = "60250 Pod p0100 had to leave node node-1 because of a taint; the revision stays.".to_owned();
    let event = |at: Millis, pod: u128| format!("{at} Event FailedScheduling on Pod p0{pod}: no node.");
    assert_eq!(told(60_270), [left.clone(), event(60_270, 103)]);
    for last in [60_240, 59_255] {
        assert_eq!(told(last), [left.clone(), event(60_255, 103)]);
    }
    // An earlier one is of another clock. A pod that was listed was there before.
    assert_eq!(told(59_254), [event(59_254, 103), left]);
    let mut late = Web::live(3).at(60_250).first_listed();
    assert_eq!(unscheduled(&mut late, 100, 60_240)[0], event(60_240, 100));
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
fn an_event_about_an_ephemeral_container_says_so() {
    let mut web = Web::live(1);
    let why = "Failed to pull image \"web:missing\": no such host";
    let warning = warning(900, 100, ("Pod", "web-2-p0100"), "Failed", why);
    let event = EventFact { container: "debug".into(), is_ephemeral: true, ..warning };
    web.timeline.apply(60_000, Fact::Event(Box::new(event)));
    assert_eq!(web.lines(LineKind::Event), [format!("Event Failed on Pod p0100, ephemeral container debug: {why}.")]);
}

#[test]
fn of_an_event_about_a_resize_the_error_is_told() {
    let mut web = Web::live(1).at(60_000);
    let what = "{\"containers\":[{\"name\":\"web\",\"resources\":{\"limits\":{\"memory\":\"24Mi\"}}}],\"generation\":2";
    let node = "Node didn't have enough resource: cpu, requested: 1900, used: 350, capacity: 2000";
    web.event(100, "ResizeDeferred", &format!("Pod resize OutOfcpu: {what},\"error\":\"{node}\"}}"));
    let limit = "cannot decrease memory limits: attempting to set container \\\"web\\\" memory limit";
    web.wait(1_000).event(100, "ResizeError", &format!("Pod resize error: {what},\"error\":\"{limit}\"}}"));
    // It is cut before its end.
    web.wait(1_000).event(100, "ResizeInfeasible", &format!("Pod resize infeasible: {what},\"error\":\"No"));
    assert_eq!(
        web.lines(LineKind::Event),
        [
            format!("Event ResizeDeferred on Pod p0100: {node}."),
            "Event ResizeError on Pod p0100: cannot decrease memory limits: attempting to set container \"web\" memory limit."
                .to_owned(),
            format!("Event ResizeInfeasible on Pod p0100: Pod resize infeasible: {what},\"error\":\"No."),
        ]
    );
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
