//! Episodes of nodes that are not ready: their title names the node before what came of it.

use timeline::fact::{Exit, Phase};

use super::episodes::{at_rest, title};
use crate::made::{ready, unready};

#[test]
fn a_node_that_was_not_ready_is_named_before_what_came_of_it() {
    let mut web = at_rest(3);
    for number in [100, 101] {
        web.pod(number, unready);
        web.event(number, "NodeNotReady", "Node is not ready");
    }
    web.now = 145_000;
    for number in [100, 101] {
        web.pod(number, ready);
    }
    assert_eq!(title(&web), "Node node-1 was not ready (2 pods), recovered after 40 s");
    // Its kubelet finds a container that ended meanwhile.
    web.pod(100, |pod| {
        pod.containers[0].restarts = 1;
        pod.containers[0].last_exit = Some(Exit { code: 255, reason: "Unknown".into(), ..Exit::default() }.into());
    });
    let both = "Node node-1 was not ready (2 pods); Pod p0100 restarted once, recovered after 40 s";
    assert_eq!(title(&web), both);
}

#[test]
fn a_node_is_named_if_its_pods_arrive_after_its_reports() {
    let late = || {
        let mut web = at_rest(3);
        (100..102).for_each(|number| web.event(number, "NodeNotReady", "Node is not ready"));
        web.wait_until(107_500).pod(100, unready);
        web.wait_until(108_000).pod(101, unready);
        web
    };
    let mut back = late().at(147_500);
    (100..102).for_each(|number| back.pod(number, ready));
    assert_eq!(title(&back), "Node node-1 was not ready (2 pods), recovered after 40 s");
    let mut left = late().at(125_000);
    for number in [100, 101] {
        left.pod(number, |pod| pod.disruption = Some("DeletionByTaintManager".into()));
        left.kill_pod(number);
        left.add_pod(number + 100, 2, |_| {});
    }
    left.wait_until(147_500);
    (200..202).for_each(|number| left.pod(number, ready));
    let title = title(&left);
    assert!(title.starts_with("2 pods had to leave node node-1, which was not ready"), "{title}");
}

#[test]
fn pods_that_leave_a_node_by_a_taint_are_told_with_a_node_that_was_not_ready() {
    let left = |is_silent: bool, fails_after: bool| {
        let mut web = at_rest(3);
        for number in [100, 101] {
            web.pod(number, unready);
            if is_silent {
                web.event(number, "NodeNotReady", "Node is not ready");
            }
        }
        web.wait_until(125_000);
        for number in [100, 101] {
            web.pod(number, |pod| pod.disruption = Some("DeletionByTaintManager".into()));
            web.kill_pod(number);
            web.add_pod(number + 100, 2, |_| {});
        }
        web.wait_until(145_000);
        (200..202).for_each(|number| web.pod(number, ready));
        if fails_after {
            web.wait_until(165_000);
            [100, 101].into_iter().for_each(|number| web.pod(number, |pod| pod.phase = Phase::Failed));
        }
        title(&web)
    };
    let told = |title: &str, said: &str| assert!(title.starts_with(said), "{title}");
    told(&left(true, false), "2 pods had to leave node node-1, which was not ready");
    told(&left(false, false), "2 pods had to leave node node-1 because of a taint");
    // The kubelet that is back stops their containers before they are gone.
    told(&left(true, true), "2 pods had to leave node node-1, which was not ready");
}

#[test]
fn a_node_that_was_ready_again_when_its_pods_left_is_told_with_its_own_failure() {
    let left = |disruption: &'static str| {
        let mut web = at_rest(3);
        for number in [100, 101] {
            web.pod(number, unready);
            web.event(number, "NodeNotReady", "Node is not ready");
        }
        web.wait_until(145_000);
        for number in [100, 101] {
            web.pod(number, ready);
        }
        web.wait_until(185_000);
        for number in [100, 101] {
            web.pod(number, |pod| pod.disruption = Some(disruption.into()));
            web.kill_pod(number);
            web.add_pod(number + 100, 2, |_| {});
        }
        web.wait_until(205_000);
        (200..202).for_each(|number| web.pod(number, ready));
        title(&web)
    };
    let said = |left: &str| format!("Node node-1 was not ready (2 pods); 2 pods {left}, recovered after 1 min 40 s");
    assert_eq!(left("DeletionByTaintManager"), said("had to leave node node-1 because of a taint"));
    assert_eq!(left("EvictionByEvictionAPI"), said("evicted from node node-1"));
}
