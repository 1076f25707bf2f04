//! The story of containers that end and are started again.

use super::told::since;
use crate::made::{Web, crashing, next_revision, unready, waiting, warning};
use timeline::fact::{
    Container, ContainerState, EventFact, Exit, Phase, PodFact, RESTARTING_ALL, Role, STATUS_UNKNOWN,
};
use timeline::{Fact, Uid};

/// Its container ended in that way and runs again, for the so-manyth time.
fn restarted(restarts: u32, code: i32, reason: &'static str) -> impl FnOnce(&mut PodFact) {
    move |pod| {
        unready(pod);
        let exit = Exit { code, reason: reason.into(), ..Exit::default() };
        pod.containers[0].state = Some(ContainerState::Running);
        (pod.containers[0].restarts, pod.containers[0].last_exit) = (restarts, Some(exit.into()));
    }
}

#[test]
fn a_restart_is_told_with_the_end_before_it() {
    let told = |code: i32, reason: &'static str| {
        let mut web = Web::live(1).at(60_000);
        web.pod(100, restarted(1, code, reason));
        since(&web, 60_000)
    };
    let pod = "60000 Pod p0100 of revision 1: container web";
    assert_eq!(told(1, "Error"), [format!("{pod} ended with exit code 1 and was restarted.")]);
    assert_eq!(told(0, "Completed"), [format!("{pod} ended with exit code 0 and was restarted.")]);
    assert_eq!(told(137, "Error"), [format!("{pod} ended with exit code 137 (SIGKILL) and was restarted.")]);
    assert_eq!(told(137, "OOMKilled"), [format!("{pod} ran out of memory (OOMKilled) and was restarted.")]);
    assert_eq!(told(128, "StartError"), [format!("{pod} failed to start and was restarted.")]);
    // Nobody saw how it ended, and its exit code is made up.
    assert_eq!(told(137, "ContainerStatusUnknown"), [format!("{pod} was restarted.")]);
    assert_eq!(told(137, RESTARTING_ALL), [format!("{pod} was restarted.")]);
    // The kubelet stopped it, as an Event says.
    for (said, by) in [
        ("Container web failed liveness probe, will be restarted", "liveness probe"),
        ("Container web failed startup probe, will be restarted", "startup probe"),
    ] {
        for (code, reason) in [(0, "Completed"), (137, "Error")] {
            let mut web = Web::live(1).at(60_000);
            web.event(100, "Killing", said);
            web.pod(100, restarted(1, code, reason));
            assert_eq!(since(&web, 60_000), [format!("{pod} was killed after its {by} failed and was restarted.")]);
        }
    }
    // An end alone is no restart.
    let mut web = Web::live(1).at(60_000);
    web.pod(100, crashing(0));
    assert_eq!(since(&web, 60_000), Vec::<String>::new());
}

/// Its pod is deleted: one status tells of its restarts and of the end after them.
#[test]
fn restarts_are_told_with_the_end_before_the_last_of_them() {
    let mut web = Web::live(1).at(60_000);
    web.pod(100, |pod| {
        restarted(2, 0, "Completed")(pod);
        let (reason, message) = ("Completed".to_owned(), String::new());
        pod.containers[0].state = Some(ContainerState::Terminated { exit_code: 0, reason, message });
        let before = Exit { code: 3, reason: "Error".into(), ..Exit::default() };
        pod.containers[0].exit_before_restart = Some(before.into());
    });
    let told = "60000 Pod p0100 of revision 1: container web ended with exit code 3 and was restarted 2 times.";
    assert_eq!(since(&web, 60_000), [told]);
}

/// A pod is evicted, and its kubelet does not find its container any more: it counts a restart that never was.
pub fn lost_and_evicted(pod: &mut PodFact) {
    unready(pod);
    (pod.phase, pod.reason) = (Phase::Failed, "Evicted".into());
    let (code, reason) = (137, STATUS_UNKNOWN.to_owned());
    pod.containers[0].state =
        Some(ContainerState::Terminated { exit_code: code, reason: reason.clone(), message: String::new() });
    pod.containers[0].restarts = 1;
    pod.containers[0].last_exit = Some(Exit { code, reason, ..Exit::default() }.into());
}

#[test]
fn a_restart_that_never_was_is_not_told() {
    let mut web = Web::live(1).at(60_000);
    web.pod(100, lost_and_evicted);
    let evicted = ["60000 Pod p0100 evicted from node node-1; the revision stays."];
    assert_eq!(since(&web, 60_000), evicted);
    // Its kubelet has not written yet that the container ended.
    let mut web = Web::live(1).at(60_000);
    web.pod(100, |pod| {
        lost_and_evicted(pod);
        pod.containers[0].state = Some(waiting("ContainerCreating", ""));
    });
    assert_eq!(since(&web, 60_000), evicted);
    assert_eq!(web.timeline.model().pods.get(&Uid::from_bits(100)).unwrap().now.restarts(), 0);
}

#[test]
fn an_end_after_a_restart_for_a_change_of_the_spec_is_told_by_itself() {
    for (said, why) in [
        ("Container web resize requires restart", "for a resize of its resources"),
        ("Container web definition changed, will be restarted", "because the spec of its pod was changed"),
    ] {
        let mut web = Web::live(1);
        let skew_millis = web.timeline.skew_millis();
        // It runs again a second after the Event that says why it is stopped.
        for (restarts, finished, ran) in [(1, 60_000, 50_000), (2, 75_000, 14_000), (3, 90_000, 14_000)] {
            if restarts < 3 {
                web.wait_until(finished).event(100, "Killing", said);
            }
            web.wait_until(finished + 500).pod(100, |pod| {
                restarted(restarts, 0, "Completed")(pod);
                let exit = pod.containers[0].last_exit.as_mut().unwrap();
                (exit.finished_millis, exit.ran_millis) = (Some(finished - skew_millis), Some(ran));
            });
        }
        let pod = "Pod p0100 of revision 1: container web";
        let changed = format!("60500 {pod} was restarted 2 times {why}, the last time 15 s later.");
        let ended = format!("90500 {pod} ended with exit code 0 and was restarted.");
        assert_eq!(since(&web, 60_000), [changed, ended]);
    }
}

/// Kubelets send few Events at a time: the one that says why may arrive after the restart.
#[test]
fn an_event_that_arrives_after_the_restart_says_why_the_containers_ended() {
    let told = |pods: u128, stopped_millis: i64, arrived_millis: i64| {
        let mut web = Web::live(2).at(60_000);
        for pod in 100..100 + pods {
            web.pod(pod, |pod| {
                restarted(1, 137, "Error")(pod);
                let exit = pod.containers[0].last_exit.as_mut().unwrap();
                (exit.finished_millis, exit.ran_millis) = (Some(59_000), Some(50_000));
            });
        }
        for pod in 100..100 + pods {
            let (name, said) = (format!("web-2-p0{pod}"), "Container web failed liveness probe, will be restarted");
            let event = warning(900 + pod, pod, ("Pod", &name), "Killing", said);
            let event = EventFact { is_warning: false, last_millis: Some(stopped_millis), ..event };
            web.timeline.apply(arrived_millis, Fact::Event(Box::new(event)));
        }
        since(&web, 60_000)
    };
    let killed = "container web was killed after its liveness probe failed and was restarted";
    assert_eq!(told(1, 58_000, 63_000), [format!("60000 Pod p0100 of revision 1: {killed}.")]);
    assert_eq!(told(2, 58_000, 63_000), [format!("60000 2 pods of revision 1: {killed} 2 times in all.")]);
    // One that arrives much later, or tells of a later moment, may be about another end.
    let ended = "60000 Pod p0100 of revision 1: container web ended with exit code 137 (SIGKILL) and was restarted.";
    assert_eq!(told(1, 58_000, 70_001), [ended]);
    assert_eq!(told(1, 62_000, 63_000), [ended]);
}

/// The Event that says why it ended the second time arrives after that restart was told with its exit code.
#[test]
fn restarts_that_turn_out_to_be_alike_are_one_line() {
    let mut web = Web::live(1).at(57_000);
    let said = "Container web failed liveness probe, will be restarted";
    web.event(100, "Killing", said);
    for (restarts, finished, ran) in [(1, 59_000, 50_000), (2, 99_000, 39_000)] {
        web.wait_until(finished + 1_000).pod(100, |pod| {
            restarted(restarts, 0, "Completed")(pod);
            let exit = pod.containers[0].last_exit.as_mut().unwrap();
            (exit.finished_millis, exit.ran_millis) = (Some(finished), Some(ran));
        });
    }
    let pod = "Pod p0100 of revision 1: container web";
    let killed = format!("60000 {pod} was killed after its liveness probe failed and was restarted");
    let ended = format!("100000 {pod} ended with exit code 0 and was restarted.");
    assert_eq!(since(&web, 60_000), [format!("{killed}."), ended]);
    let event = warning(900, 100, ("Pod", "web-2-p0100"), "Killing", said);
    let event = EventFact { is_warning: false, last_millis: Some(98_500), ..event };
    web.timeline.apply(103_000, Fact::Event(Box::new(event)));
    assert_eq!(since(&web, 60_000), [format!("{killed} 2 times, the last time 40 s later.")]);
    // It goes on with that one.
    web.wait_until(140_000).event(100, "Killing", said);
    web.pod(100, restarted(3, 0, "Completed"));
    assert_eq!(since(&web, 60_000), [format!("{killed} 3 times, the last time 1 min 20 s later.")]);
}

#[test]
fn a_late_event_of_a_new_sandbox_takes_the_place_of_the_exit_code() {
    let mut web = Web::live(1).at(60_000);
    web.pod(100, |pod| {
        restarted(1, 0, "Completed")(pod);
        let exit = pod.containers[0].last_exit.as_mut().unwrap();
        (exit.finished_millis, exit.ran_millis) = (Some(59_000), Some(50_000));
    });
    let pod = "60000 Pod p0100 of revision 1: container web";
    assert_eq!(since(&web, 60_000), [format!("{pod} ended with exit code 0 and was restarted.")]);
    let said = "Pod sandbox changed, it will be killed and re-created.";
    let event = warning(900, 100, ("Pod", "web-2-p0100"), "SandboxChanged", said);
    let event = EventFact { is_warning: false, last_millis: Some(58_000), ..event };
    web.timeline.apply(63_000, Fact::Event(Box::new(event)));
    assert_eq!(since(&web, 60_000), [format!("{pod} was restarted in a new sandbox of its pod.")]);
}

#[test]
fn late_events_say_why_each_container_of_a_pod_ended() {
    let mut web = Web::live(1).at(60_000);
    web.pod(100, |pod| {
        let state = Some(ContainerState::Running);
        pod.containers.push(Container { state, ..Container::new("proxy".into(), Role::App) });
    });
    web.pod(100, |pod| {
        for container in &mut pod.containers {
            let exit = Exit { code: 137, reason: "Error".into(), ..Exit::default() };
            let exit = Exit { finished_millis: Some(59_000), ran_millis: Some(50_000), ..exit };
            (container.restarts, container.last_exit) = (1, Some(exit.into()));
        }
    });
    for (uid, container) in [(900, "web"), (901, "proxy")] {
        let said = format!("Container {container} failed liveness probe, will be restarted");
        let event = warning(uid, 100, ("Pod", "web-2-p0100"), "Killing", &said);
        let event = EventFact { is_warning: false, last_millis: Some(58_000), ..event };
        web.timeline.apply(63_000, Fact::Event(Box::new(event)));
    }
    let line = |container: &str| {
        let killed = "was killed after its liveness probe failed and was restarted";
        format!("60000 Pod p0100 of revision 1: container {container} {killed}.")
    };
    assert_eq!(since(&web, 60_000), ["web", "proxy"].map(line));
}

#[test]
fn restarts_before_somebody_looked_are_no_news() {
    let mut web = Web::live(1).at(60_000);
    web.unseen_pod(100, crashing(7));
    let mut late = web.first_listed();
    assert!(!late.told().iter().any(|line| line.contains("restarted")), "{:?}", late.told());
    late.wait_until(90_000).pod(100, crashing(8));
    assert_eq!(
        since(&late, 90_000),
        ["90000 Pod p0100 of revision 1: container web ended with exit code 1 and was restarted."]
    );
    // In a gap they happened at an unknown time.
    web.relisted(50_000);
    assert!(
        since(&web, 60_000).contains(
            &"60000 Pod p0100 of revision 1: container web ended with exit code 1 and was restarted 7 times while not observed."
                .to_owned()
        ),
        "{:?}",
        since(&web, 60_000)
    );
}

#[test]
fn a_crash_loop_is_one_line_whose_number_grows() {
    let mut web = Web::live(1);
    for restarts in 1..=10 {
        web.wait(900_000).pod(100, crashing(restarts));
    }
    assert_eq!(
        since(&web, 6_000),
        [
            "905000 Pod p0100 of revision 1: container web ended with exit code 1 and was restarted 10 times, the last time 2 h 15 min later."
        ]
    );
    // What comes later than a kubelet remembers and waits is another one.
    web.wait(900_001).pod(100, crashing(11));
    assert_eq!(since(&web, 6_000).len(), 2);
}

#[test]
fn restarts_after_a_rollout_or_a_change_of_replicas_are_another_line() {
    let told = |turn: fn(&mut Web)| {
        let mut web = Web::live(3).at(60_000);
        web.pod(100, crashing(1));
        web.wait_until(65_000).pod(100, crashing(2));
        turn(&mut web);
        web.wait_until(70_000).pod(100, crashing(3));
        let told = since(&web, 60_000).into_iter();
        told.filter_map(|line| Some(line.split_once(" Pod p0100 of revision 1: ")?.0.to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(told(|_| {}), ["60000"]);
    assert_eq!(told(|web| web.edit_spec(|deployment| deployment.spec.paused = true)), ["60000"]);
    assert_eq!(told(|web| web.scale(2, 4)), ["60000", "70000"]);
    assert_eq!(told(|web| _ = next_revision(web, 2, [1, 3])), ["60000", "70000"]);
    // Its number does not count those before.
    let mut web = Web::live(3).at(60_000);
    web.pod(100, crashing(1));
    web.scale(2, 4);
    for (number, restarts) in [(100, 2), (101, 1), (100, 3)] {
        web.wait(1_000).pod(number, crashing(restarts));
    }
    let crashed = "of revision 1: container web ended with exit code 1 and was restarted";
    let told: Vec<String> = web.told().into_iter().filter(|line| line.contains("restarted")).collect();
    assert_eq!(told, [format!("Pod p0100 {crashed}."), format!("2 pods {crashed} 3 more times.")]);
    // Another pod alone has not restarted before.
    let mut web = Web::live(3).at(60_000);
    web.pod(100, crashing(1));
    web.scale(2, 4);
    for restarts in [1, 2] {
        web.wait(1_000).pod(101, crashing(restarts));
    }
    let told: Vec<String> = web.told().into_iter().filter(|line| line.contains("restarted")).collect();
    assert_eq!(told, [format!("Pod p0100 {crashed}."), format!("Pod p0101 {crashed} 2 times.")]);
}

#[test]
fn containers_of_many_pods_that_end_alike_are_one_line() {
    let mut web = Web::live(50).at(60_000);
    for restarts in 1..=4 {
        for number in 100..150 {
            web.wait(100).pod(number, crashing(restarts));
        }
    }
    assert_eq!(
        since(&web, 60_000),
        [
            "60100 50 pods of revision 1: container web ended with exit code 1 and was restarted 200 times in all, the last time 19 s later."
        ]
    );
    // Another end, another container and another revision have their own.
    web.wait_until(90_000).pod(100, restarted(5, 137, "OOMKilled"));
    web.pod(101, |pod| {
        let exit = Exit { code: 1, reason: "Error".into(), ..Exit::default() };
        let state = Some(ContainerState::Running);
        let proxy = Container::new("proxy".into(), Role::Sidecar);
        pod.containers.insert(0, Container { state, last_exit: Some(exit.into()), ..proxy });
    });
    web.pod(101, |pod| pod.containers[0].restarts = 1);
    next_revision(&mut web, 2, [1, 50]);
    web.add_pod(200, 3, |_| {});
    web.wait_until(91_000).pod(200, crashing(1));
    let told: Vec<String> = since(&web, 90_000).into_iter().filter(|line| line.contains("restarted")).collect();
    assert_eq!(
        told,
        [
            "90000 Pod p0100 of revision 1: container web ran out of memory (OOMKilled) and was restarted.",
            "90000 Pod p0101 of revision 1: sidecar proxy ended with exit code 1 and was restarted.",
            "91000 Pod p0200 of revision 2: container web ended with exit code 1 and was restarted."
        ]
    );
}

#[test]
fn a_status_that_begins_anew_counts_no_restart_twice() {
    let told = |again: u32| {
        let mut web = Web::live(1).at(60_000);
        web.pod(100, crashing(3));
        web.wait_until(61_000).pod(100, |pod| {
            (pod.containers[0].restarts, pod.containers[0].last_exit) = (0, None);
        });
        web.wait_until(62_000).pod(100, crashing(again));
        since(&web, 60_000)
    };
    let three = "60000 Pod p0100 of revision 1: container web ended with exit code 1 and was restarted 3 times.";
    assert_eq!(told(3), [three]);
    assert_eq!(told(5), [three.replace('3', "5")]);
}
