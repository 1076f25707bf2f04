//! Episodes in which containers restart: their kind, their begin and end, and their title.

use timeline::fact::Exit;
use timeline::{EpisodeKind, Millis};

use super::episodes::{at_rest, runs, title, told};
use crate::made::{Web, crashing, ready, unready};

#[test]
fn containers_that_restart_are_a_failure_whatever_else_happens() {
    let mut web = at_rest(3);
    for restarts in 1..=4 {
        web.pod(100, |pod| {
            unready(pod);
            crashing(restarts)(pod);
            pod.containers[0].last_exit.as_mut().unwrap().reason = "OOMKilled".into();
        });
        web.now += 40_000;
    }
    web.wait_until(285_000).pod(100, runs);
    let once = "Pod p0100 restarted 4 times (OOMKilled), recovered after 3 min 0 s".to_owned();
    assert_eq!(told(&web), (EpisodeKind::Failure, 105_000, Some(285_000), once));
    web.scale(2, 0);
    (0..3).for_each(|number| web.kill_pod(100 + number));
    (0..3).for_each(|number| web.delete_pod(100 + number));
    let given_up = "Scaled from 3 to 0; Pod p0100 restarted 4 times (OOMKilled), done after 3 min 0 s";
    assert_eq!(title(&web), given_up, "nothing recovered");
}

/// The container of the first pod crashed once.
pub(super) fn crashed_once(exit: Exit) -> Web {
    let mut web = at_rest(3);
    web.pod(100, |pod| {
        unready(pod);
        crashing(1)(pod);
        pod.containers[0].last_exit = Some(exit.into());
    });
    web
}

#[test]
fn a_container_that_its_kubelet_stopped_is_told_with_the_probe_and_not_with_its_exit_code() {
    let restarted = |exit: Exit| {
        let mut web = crashed_once(exit);
        web.event_of(100, "web", "Killing", "Container web failed liveness probe, will be restarted");
        web.wait_until(145_000).pod(100, runs);
        title(&web)
    };
    let completed = Exit { code: 0, reason: "Completed".into(), ..Exit::default() };
    let by_probe = "Pod p0100 restarted once (liveness probe failed), recovered after 40 s";
    assert_eq!(restarted(completed.clone()), by_probe);
    // Without memory it ended before the kubelet could stop it.
    let out_of_memory = "Pod p0100 restarted once (OOMKilled), recovered after 40 s";
    assert_eq!(restarted(Exit { code: 137, reason: "OOMKilled".into(), ..Exit::default() }), out_of_memory);
    let mut by_itself = crashed_once(completed);
    by_itself.wait_until(145_000).pod(100, runs);
    assert_eq!(title(&by_itself), "Pod p0100 restarted once (exit code 0), recovered after 40 s");
    let mut of_sandbox =
        crashed_once(Exit { finished_millis: Some(105_000), ran_millis: Some(50_000), ..Exit::default() });
    of_sandbox.event(100, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.");
    of_sandbox.wait_until(145_000).pod(100, runs);
    assert_eq!(title(&of_sandbox), "Pod p0100 restarted once (new sandbox), recovered after 40 s");
}

#[test]
fn a_restart_for_a_change_of_the_spec_is_no_failure() {
    let completed = || Exit { code: 0, reason: "Completed".into(), ..Exit::default() };
    for (said, why) in [
        ("Container web resize requires restart", "resize"),
        ("Container web definition changed, will be restarted", "pod spec changed"),
    ] {
        let mut web = crashed_once(completed());
        web.event_of(100, "web", "Killing", said);
        web.wait_until(145_000).pod(100, runs);
        let once = format!("Pod p0100 restarted once ({why}), recovered after 40 s");
        assert_eq!(told(&web), (EpisodeKind::Recovery, 105_000, Some(145_000), once));
        let mut stays_ready = at_rest(3);
        stays_ready.wait_until(106_000).event_of(100, "web", "Killing", said);
        stays_ready.pod(100, |pod| {
            (pod.containers[0].restarts, pod.containers[0].last_exit) = (1, Some(completed().into()));
        });
        let once = format!("Pod p0100 restarted once ({why})");
        assert_eq!((told(&stays_ready).0, title(&stays_ready)), (EpisodeKind::Recovery, once));
        // It had ended by itself before.
        let mut both = crashed_once(Exit { code: 1, reason: "Error".into(), ..Exit::default() });
        both.wait_until(125_000).event_of(100, "web", "Killing", said);
        both.pod(100, |pod| {
            runs(pod);
            (pod.containers[0].restarts, pod.containers[0].last_exit) = (2, Some(completed().into()));
        });
        assert_eq!(told(&both).0, EpisodeKind::Failure);
    }
}

#[test]
fn a_pod_that_stayed_ready_while_its_container_restarted_did_not_recover() {
    let mut web = at_rest(3);
    web.wait_until(106_000).pod(100, |pod| {
        let exit = Exit { code: 0, reason: "Completed".into(), ..Exit::default() };
        (pod.containers[0].restarts, pod.containers[0].last_exit) = (1, Some(exit.into()));
    });
    web.event_of(100, "web", "Killing", "Container web failed liveness probe, will be restarted");
    assert_eq!(title(&web), "Pod p0100 restarted once (liveness probe failed)");
}

/// A pod that crashes is deleted: its container is asked to stop, and does.
#[test]
fn the_end_of_a_container_that_is_not_restarted_any_more_is_that_of_no_restart() {
    let mut web = at_rest(3);
    web.pod(100, |pod| {
        unready(pod);
        let [last, before] = [(0, "Completed"), (3, "Error")]
            .map(|(code, reason): (i32, &str)| Some(Box::new(Exit { code, reason: reason.into(), ..Exit::default() })));
        let container = &mut pod.containers[0];
        (container.restarts, container.last_exit, container.exit_before_restart) = (2, last, before);
        let (reason, message) = ("Completed".to_owned(), String::new());
        container.state = Some(timeline::fact::ContainerState::Terminated { exit_code: 0, reason, message });
    });
    assert_eq!(title(&web), "Pod p0100 restarted 2 times (exit code 3)");
}

#[test]
fn an_episode_lasts_from_the_first_restart_to_the_last_one_also_of_a_pod_that_stays_ready() {
    let mut web = at_rest(3);
    let restart = |web: &mut Web, restarts: u32| {
        web.pod(101, |pod| {
            let exit = Exit { code: 1, reason: "Error".into(), ..Exit::default() };
            (pod.containers[0].restarts, pod.containers[0].last_exit) = (restarts, Some(exit.into()));
        });
    };
    restart(web.wait_until(106_000), 1);
    web.wait_until(110_000).pod(100, unready);
    web.wait_until(120_000).pod(100, ready);
    restart(web.wait_until(146_000), 2);
    let both = "Pod p0101 restarted 2 times (exit code 1), recovered after 40 s".to_owned();
    assert_eq!(told(&web), (EpisodeKind::Failure, 106_000, Some(146_000), both));
}

/// The kubelet may report that a pod is not ready, and that it is again, milliseconds apart.
#[test]
fn a_pod_that_is_ready_again_at_once_has_no_duration() {
    let restarted = |millis: Millis| {
        let mut web = crashed_once(Exit { code: 1, reason: "Error".into(), ..Exit::default() });
        web.wait(millis).pod(100, runs);
        title(&web)
    };
    assert_eq!(restarted(99), "Pod p0100 restarted once (exit code 1), recovered at once");
    assert_eq!(restarted(100), "Pod p0100 restarted once (exit code 1), recovered after 0.1 s");
}
