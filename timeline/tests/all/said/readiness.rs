//! The story of pods that were ready and are not any more, while their containers run.

use super::counting::ready_since;
use super::told::since;
use crate::made::{SECOND, Web, next_revision, ready, unready, waiting};
use timeline::Millis;
use timeline::fact::{Phase, PodFact};

/// When, which pod, and what it is like from then on.
type Step = (Millis, u128, fn(&mut PodFact));

/// A live Deployment of three pods after these: at so many milliseconds after a minute, a pod changes.
fn told(changes: &[Step]) -> Vec<String> {
    let mut web = Web::live(3);
    for (after, pod, change) in changes {
        web.wait_until(60_000 + after).pod(*pod, change);
    }
    since(&web, 60_000)
}

fn fails(pod: &mut PodFact) {
    unready(pod);
    pod.containers[0].state = Some(waiting("CrashLoopBackOff", ""));
}

fn restarted(pod: &mut PodFact) {
    unready(pod);
    pod.containers[0].restarts = 1;
}

fn ready_and_restarted(pod: &mut PodFact) {
    ready(pod);
    pod.containers[0].restarts = 1;
}

const A: &str = "60000 Pod p0100 became unready.";

#[test]
fn a_pod_that_becomes_unready_is_told_and_when_it_is_ready_again() {
    assert_eq!(told(&[(0, 100, unready)]), [A]);
    let again = told(&[(0, 100, unready), (12_000, 100, unready), (40_000, 100, ready)]);
    assert_eq!(again, ["60000 Pod p0100 became unready; it was ready again after 40 s."]);
    // It fails, and is ready later: that is told otherwise.
    assert_eq!(told(&[(0, 100, unready), (5_000, 100, fails)]), [A]);
    assert_eq!(told(&[(0, 100, unready), (5_000, 100, fails), (9_000, 100, unready), (40_000, 100, ready)]), [A]);
    // Its liveness probe fails, too.
    let killed = told(&[(0, 100, unready), (5_000, 100, restarted), (20_000, 100, ready_and_restarted)]);
    let told_again = "60000 Pod p0100 became unready; it was ready again after 20 s.";
    assert_eq!(killed, [told_again, "65000 Pod p0100 of revision 1: container web was restarted."]);
    // One that fails first was not ready when it ran again.
    assert_eq!(told(&[(0, 100, fails), (5_000, 100, unready), (9_000, 100, ready)]), [""; 0]);
}

#[test]
fn pods_that_are_unready_together_or_again_within_a_minute_are_one_entry() {
    let outage: [Step; 3] = [(0, 100, unready), (1_000, 101, unready), (2_000, 102, unready)];
    assert_eq!(told(&outage), ["60000 3 pods became unready; no pod is available."]);
    let over: [Step; 3] = [(90_000, 102, ready), (91_000, 100, ready), (92_000, 101, ready)];
    let all = [outage.as_slice(), &over].concat();
    let none = "no pod was available for 1 min 28 s";
    assert_eq!(told(&all[..5]), [format!("60000 3 pods became unready; {none}.")]);
    let first = format!("60000 3 pods became unready; {none}; all were ready again after 1 min 32 s.");
    assert_eq!(told(&all), [first.as_str()]);
    let soon = [all.as_slice(), &[(152_000, 100, unready)]].concat();
    assert_eq!(told(&soon), [format!("60000 3 pods became unready, 4 times in all; {none}.")]);
    let later = [all.as_slice(), &[(152_001, 100, unready)]].concat();
    assert_eq!(told(&later), [first.as_str(), "212001 Pod p0100 became unready."]);
    let flapping: [Step; 3] = [(0, 100, unready), (1_000, 100, ready), (5_000, 100, unready)];
    assert_eq!(told(&flapping), ["60000 Pod p0100 became unready 2 times."]);
    let flapped = [flapping.as_slice(), &[(7_000, 100, ready)]].concat();
    let last = "the last time, it was ready again after 2.0 s";
    assert_eq!(told(&flapped), [format!("60000 Pod p0100 became unready 2 times over 7.0 s; {last}.")]);
    // In between they never were all ready.
    let in_turn: [Step; 6] = [
        (0, 100, unready),
        (5_000, 101, unready),
        (6_000, 100, ready),
        (9_000, 100, unready),
        (10_000, 101, ready),
        (15_000, 100, ready),
    ];
    let told_in_turn = "60000 2 pods became unready, 3 times in all; all were ready again after 15 s.";
    assert_eq!(told(&in_turn), [told_in_turn]);
    // One that stays unready takes up no later ones.
    let apart: [Step; 3] = [(0, 100, unready), (61_000, 101, unready), (62_000, 101, ready)];
    assert_eq!(told(&apart), [A, "121000 Pod p0101 became unready; it was ready again after 1.0 s."]);
}

#[test]
fn times_without_an_available_pod_are_told_apart_from_those_of_single_pods() {
    let flaps: [Step; 4] = [(0, 100, unready), (6_000, 100, ready), (12_000, 100, unready), (18_000, 100, ready)];
    let all: [Step; 3] = [(40_000, 100, unready), (40_020, 101, unready), (40_040, 102, unready)];
    let lost = [flaps.as_slice(), &all].concat();
    assert_eq!(told(&lost[..6]), ["60000 2 pods became unready, 4 times in all."]);
    let flapped = "60000 Pod p0100 became unready 2 times over 18 s; the last time, it was ready again after 6.0 s.";
    assert_eq!(told(&lost), [flapped, "100000 3 pods became unready; no pod is available."]);
    let over: [Step; 3] = [(110_040, 102, ready), (110_060, 100, ready), (110_080, 101, ready)];
    let told_over = "100000 3 pods became unready; no pod was available for 1 min 10 s.";
    assert_eq!(told(&[lost.as_slice(), &over].concat()), [flapped, told_over]);
    // The only pod: all times are one entry.
    let mut web = Web::live(1);
    for at in [60_000, 70_000, 80_000] {
        web.wait_until(at).pod(100, unready);
        web.wait(4_000).pod(100, ready);
    }
    let times = "60000 Pod p0100 became unready 3 times over 24 s; 3 times no pod was available, for 12 s in all";
    assert_eq!(since(&web, 60_000), [format!("{times}; the last time, it was ready again after 4.0 s.")]);
}

#[test]
fn a_time_without_an_available_pod_ends_with_any_pod_and_with_the_wish_for_one() {
    let lost = || {
        let mut web = Web::live(1).at(60_000);
        web.pod(100, unready);
        web.wait(8_000);
        web
    };
    let over = "60000 Pod p0100 became unready; no pod was available for 8.0 s.";
    let mut web = lost();
    web.add_ready_pod(101, 2);
    assert_eq!(since(&web, 60_000), [over]);
    let mut web = lost();
    web.edit_spec(|deployment| deployment.spec.replicas = 0);
    assert_eq!(since(&web, 60_000)[0], over);
    // How long it was ready in a gap is not known.
    let mut web = lost();
    web.relisted(65_000);
    let gap = "68000 Not observed for 3.0 s: what happened in between is not known.";
    assert_eq!(since(&web, 60_000), ["60000 Pod p0100 became unready.", gap]);
    // It waits for its minReadySeconds.
    let mut web = Web::live(1).at(50_000);
    web.set(2, |set| set.now.min_ready_seconds = 5);
    web.wait_until(60_000).pod(100, unready);
    web.wait(2_000).pod(100, ready_since(62_000));
    let ready_again = "it was ready again after 2.0 s";
    let none = |none: &str| [format!("60000 Pod p0100 became unready; {none}; {ready_again}.")];
    assert_eq!(since(&web, 60_000), none("no pod is available"));
    web.timeline.tick(70_000);
    assert_eq!(since(&web, 60_000), none("no pod was available for 7.0 s"));
}

#[test]
fn an_entry_is_of_its_own_pods_alone() {
    // One that restarts meanwhile is told as that, and takes longer.
    let beside: [Step; 4] =
        [(0, 100, unready), (10_000, 101, restarted), (20_000, 100, ready), (240_000, 101, ready_and_restarted)];
    let restart = "70000 Pod p0101 of revision 1: container web was restarted.";
    assert_eq!(told(&beside), ["60000 Pod p0100 became unready; it was ready again after 20 s.", restart]);
    let after: [Step; 4] =
        [(0, 100, unready), (10_000, 101, restarted), (15_000, 101, ready_and_restarted), (30_000, 101, restarted)];
    assert_eq!(told(&after), ["60000 2 pods became unready.", restart]);
    // One of them is deleted at once, and is never ready again.
    let mut web = Web::live(3).at(60_000);
    web.pod(100, unready);
    web.pod(101, unready);
    web.wait(1_000).delete_pod(100);
    web.wait(1_000).pod(101, ready);
    assert_eq!(since(&web, 60_000)[0], "60000 2 pods became unready.");
    // A list tells that one is ready again; the same pod and another one are unready hours later.
    let mut web = Web::live(3).at(60_000);
    web.pod(100, unready);
    web.unseen_pod(100, ready);
    web.wait_until(90_000).relisted(70_000);
    web.wait_until(9_000_000).pod(101, unready);
    web.wait(4_000).pod(101, ready);
    web.wait(70_000).pod(100, unready);
    web.wait(5_000).pod(100, ready);
    let gap = "90000 Not observed for 20 s: what happened in between is not known.";
    let second = "9000000 Pod p0101 became unready; it was ready again after 4.0 s.";
    assert_eq!(
        since(&web, 60_000),
        [A, gap, second, "9074000 Pod p0100 became unready; it was ready again after 5.0 s."]
    );
}

#[test]
fn what_a_restart_a_rollout_a_deletion_and_a_gap_make_unready_is_not_told_as_that() {
    // A restart is told as one.
    assert_eq!(told(&[(0, 100, restarted)]), ["60000 Pod p0100 of revision 1: container web was restarted."]);
    // A new pod was never ready.
    let mut web = Web::replacing();
    web.wait_until(30_000).add_pod(200, SECOND, |pod| (pod.phase, pod.ready) = (Phase::Pending, None));
    web.wait(1_000).pod(200, unready);
    web.wait(1_000).pod(200, ready);
    assert_eq!(since(&web, 30_000), [""; 0]);
    // What comes after the start of a rollout is told after it.
    let mut web = Web::live(3).at(60_000);
    web.pod(100, unready);
    web.wait(1_000);
    next_revision(&mut web, 2, [0, 3]);
    web.wait(1_000).pod(101, unready);
    let told = since(&web, 60_000);
    assert_eq!(told.first().map(String::as_str), Some("60000 Pod p0100 became unready."));
    assert_eq!(told.last().map(String::as_str), Some("62000 Pod p0101 became unready."));
    // Its deletion was requested before.
    let mut web = Web::live(3).at(60_000);
    web.kill_pod(100);
    web.wait(1_000).pod(100, unready);
    assert_eq!(since(&web, 61_000), [""; 0]);
    // A list tells of it after a gap: when that began is not known, and how long it took neither.
    let mut web = Web::live(3).at(60_000);
    web.unseen_pod(100, unready);
    web.wait_until(90_000).relisted(60_000);
    assert_eq!(since(&web, 61_000), ["90000 Not observed for 30 s: what happened in between is not known."]);
    web.wait_until(95_000).pod(100, ready);
    assert_eq!(since(&web, 90_001), [""; 0]);
}
