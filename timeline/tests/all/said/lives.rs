//! The lives of pods: which are known, what they are counted as, and whose they are.

use crate::made::{SECOND, WEB, Web, deployment, meta, pod, set, unready};
use timeline::budget::Sums;
use timeline::fact::{Phase, PodFact, Seen, Strategy};
use timeline::model::{EndReason, Pod, PodState};
use timeline::story::LineKind;
use timeline::{Fact, Millis, Uid};

pub fn known(web: &Web, number: u128) -> Option<&Pod> {
    web.timeline.model().pods.get(&Uid::from_bits(number))
}

pub fn states(web: &Web, number: u128) -> Vec<(PodState, Millis)> {
    known(web, number).unwrap().states.clone()
}

pub fn end(web: &Web, number: u128) -> Option<EndReason> {
    known(web, number).unwrap().end_reason
}

/// A pod has these controllers, one after the other.
pub fn hand_over(web: &mut Web, controllers: &[(Millis, Option<u128>)]) {
    for (at, controller) in controllers {
        web.wait_until(*at).pod(100, |pod| pod.meta.controller = controller.map(Uid::from_bits));
    }
}

fn tell(web: &mut Web, pod: PodFact, seen: Seen) -> usize {
    web.timeline.apply(web.now, Fact::Pod(Box::new(pod), seen)).len()
}

#[test]
fn pods_that_nobody_controls_or_that_are_gone_are_not_known() {
    let mut web = Web::live(1);
    let mut stranger = pod(200, 2, "stranger");
    stranger.meta.controller = None;
    assert_eq!(tell(&mut web, stranger, Seen::Added), 0);
    assert_eq!(tell(&mut web, pod(201, 2, "gone"), Seen::Deleted), 0);
    assert_eq!((known(&web, 200), known(&web, 201)), (None, None));
    // One that is gone changes no more.
    web.delete_pod(100);
    assert_eq!(tell(&mut web, pod(100, 2, "again"), Seen::Modified), 0);
    assert_eq!(known(&web, 100).unwrap().state(), PodState::Gone);
}

#[test]
fn a_life_is_states_with_their_beginnings_and_equal_neighbours_are_one() {
    let mut web = Web::live(1).at(10_000);
    web.pod(100, |pod| pod.node = Some("node-2".into()));
    web.wait_until(20_000).pod(100, unready);
    web.wait_until(30_000).kill_pod(100);
    web.wait_until(31_000).delete_pod(100);
    let expected = [
        (PodState::Unready, 0),
        (PodState::Available, 5_000),
        (PodState::Unready, 20_000),
        (PodState::Terminating, 30_000),
        (PodState::Gone, 31_000),
    ];
    assert_eq!(states(&web, 100), expected);
    let pod = known(&web, 100).unwrap();
    assert_eq!(timeline::say::pod(pod), "gone");
    let before = web.timeline.model().as_of(WEB, 20_000).pods.get(&Uid::from_bits(100)).map(timeline::say::pod);
    assert_eq!(before.as_deref(), Some("running, not ready"));
    let mut late = Web::live(1);
    late.pod(100, unready);
    assert_eq!(timeline::say::pod(known(&late, 100).unwrap()), "running, not ready (ContainersNotReady)");
    assert_eq!((pod.first_seen_millis(), pod.since_millis()), (0, 31_000));
    assert_eq!((pod.ended_millis(), pod.gone_millis()), (Some(30_000), Some(31_000)));
    let active = [-1, 0, 29_999, 30_000, 40_000].map(|at| pod.is_active_at(at));
    assert_eq!(active, [false, true, true, false, false]);
    assert!(pod.was_available() && !pod.is_active() && !pod.is_leftover() && !pod.is_out_of_rotation());
}

#[test]
fn a_pod_that_failed_as_a_whole_is_active_until_then_and_left_over() {
    let mut web = Web::live(1).at(10_000);
    web.pod(100, |pod| (pod.phase, pod.reason) = (Phase::Failed, "Evicted".into()));
    let pod = known(&web, 100).unwrap();
    assert_eq!((pod.state(), pod.now.terminal_millis), (PodState::Failing, Some(10_000)));
    assert_eq!([9_999, 10_000].map(|at| pod.is_active_at(at)), [true, false]);
    assert!(pod.is_leftover() && !pod.is_active());
    // It stays failed since then, whatever else is seen of it.
    web.wait_until(20_000).pod(100, |pod| pod.node = None);
    assert_eq!(known(&web, 100).unwrap().now.terminal_millis, Some(10_000));
    // When one failed that a first list tells of is not known: since it was made at the earliest.
    let late = web.first_listed();
    assert_eq!(known(&late, 100).unwrap().now.terminal_millis, Some(0));
    assert_eq!(late.lines(LineKind::Outside), Vec::<String>::new());
}

#[test]
fn old_pods_that_ended_do_not_keep_recreate_waiting() {
    let mut web = Web::live(3);
    web.deployment(|deployment| deployment.spec.strategy = Strategy::Recreate);
    crate::made::next_revision(&mut web, 2, [0, 0]);
    web.delete_pod(100);
    web.pod(101, |pod| pod.phase = Phase::Failed);
    web.kill_pod(102);
    let sums = |web: &Web| {
        let model = web.timeline.model();
        Sums::from_pods(model, model.deployments.get(&WEB).unwrap())
    };
    assert_eq!((sums(&web).old_pods, sums(&web).available), (1, 0));
    let next = web.view().next;
    assert!(next.starts_with("Recreate: the next revision starts when 1 pod is gone."), "{next}");
    web.delete_pod(102);
    assert_eq!(sums(&web).old_pods, 0);
    // What ReplicaSets report of their pods is behind what the pods say.
    let model = web.timeline.model();
    assert_eq!(Sums::from_sets(model, model.deployments.get(&WEB).unwrap()).available, 3);
}

#[test]
fn pods_are_released_and_adopted_once_for_every_change_of_owner() {
    let mut web = Web::live(1);
    let times = |web: &Web| {
        let pod = known(web, 100).unwrap();
        (
            pod.released_millis(),
            pod.releases.last().map(|last| last.at_millis),
            pod.adopted_millis(),
            pod.owners.len(),
            pod.is_out_of_rotation(),
        )
    };
    let owner = Some(Uid::from_bits(2));
    assert_eq!(times(&web), (None, None, None, 1, false));
    web.wait_until(10_000).pod(100, |pod| pod.meta.controller = None);
    assert_eq!(times(&web), (Some(10_000), Some(10_000), None, 1, true));
    web.now = 11_000;
    web.pod(100, |pod| pod.node = Some("node-2".into())); // still nobody's
    assert_eq!(times(&web), (Some(10_000), Some(10_000), None, 1, true));
    web.wait_until(20_000).pod(100, |pod| pod.meta.controller = owner);
    assert_eq!(times(&web), (Some(10_000), Some(10_000), Some(20_000), 1, false));
    web.now = 21_000;
    web.pod(100, |pod| pod.node = Some("node-3".into())); // still its own
    web.wait_until(30_000).pod(100, |pod| pod.meta.controller = None);
    web.wait_until(40_000).pod(100, |pod| pod.meta.controller = Some(Uid::from_bits(77)));
    assert_eq!(times(&web), (Some(10_000), Some(30_000), Some(40_000), 2, false));
    assert_eq!(known(&web, 100).unwrap().replica_set(), owner, "where it began");
}

#[test]
fn a_release_is_told_of_the_revision_that_had_the_pod() {
    let mut web = Web::replacing();
    hand_over(&mut web, &[(30_000, None), (31_000, Some(SECOND)), (32_000, None), (33_000, Some(2)), (34_000, None)]);
    let told = web.told().into_iter();
    let revisions: Vec<String> = told
        .filter_map(|line| Some(line.strip_prefix("Pod p0100 released by revision ")?.split_once(':')?.0.to_owned()))
        .collect();
    assert_eq!(revisions, ["1", "2", "1"]);
    assert_eq!(known(&web, 100).unwrap().last_owner(), Some(Uid::from_bits(2)));
}

#[test]
fn an_adoption_is_told_of_the_replica_set_that_has_the_pod_now() {
    let adopted = |web: &Web| -> Vec<String> {
        web.told().into_iter().filter_map(|line| Some(line.strip_prefix("Pod p0100 adopted ")?.to_owned())).collect()
    };
    let mut web = Web::replacing();
    let twice = [(30_000, None), (31_000, Some(SECOND)), (32_000, None), (33_000, Some(SECOND)), (34_000, Some(2))];
    hand_over(&mut web, &twice);
    let told = ["by revision 2: its labels match.", "again: its labels match.", "by revision 1: its labels match."];
    assert_eq!(adopted(&web), told);
    // Of another Deployment.
    let mut web = Web::live(2);
    let mut other = deployment();
    other.meta = meta(9, "other", None);
    web.timeline.apply(web.now, Fact::Deployment(Box::new(other), Seen::Added));
    let mut theirs = set(20, 1, 1, 0);
    theirs.meta = meta(20, "other-1", Some(9));
    web.timeline.apply(web.now, Fact::ReplicaSet(Box::new(theirs), Seen::Added));
    hand_over(&mut web, &[(60_000, None), (61_000, Some(20))]);
    assert_eq!(adopted(&web), ["by a ReplicaSet that does not belong to this Deployment."]);
    // One that is not known may be anybody's.
    web.wait_until(70_000).pod(101, |pod| pod.meta.controller = Some(Uid::from_bits(77)));
    assert!(!web.told().iter().any(|line| line.starts_with("Pod p0101 adopted")), "{:#?}", web.told());
}

fn owned(pod: &mut PodFact) {
    pod.meta.controller = Some(Uid::from_bits(2));
}

#[test]
fn a_pod_that_no_replica_set_controlled_is_told_as_adopted_where_that_was_seen() {
    let adopted = |change: fn(&mut Web)| {
        let mut web = Web::live(1).at(60_000);
        web.add_pod(110, 2, |pod| pod.meta.controller = None);
        web.now = 70_000;
        change(&mut web);
        assert_eq!(known(&web, 110).unwrap().owner, Some(Uid::from_bits(2)));
        web.told().into_iter().filter(|line| line.contains("adopted")).collect::<Vec<_>>()
    };
    assert_eq!(adopted(|web| web.pod(110, owned)), ["Pod p0110 adopted by revision 1: its labels match."]);
    let in_gap = |web: &mut Web| {
        web.unseen_pod(110, owned);
        web.relisted(65_000);
    };
    assert_eq!(adopted(in_gap), [""; 0]);
    assert_eq!(adopted(|web| web.add_pod(110, 2, owned)), [""; 0], "it is made with its owner");
}

#[test]
fn a_pod_that_its_replica_set_left_behind_was_so_after_another_one_adopted_it_too() {
    let mut web = Web::live(1).at(60_000);
    web.set(2, |set| set.now.deleting = true);
    web.pod(100, |pod| pod.meta.controller = None);
    web.delete_set(2);
    web.add_set(12, set(12, 1, 1, 1));
    hand_over(&mut web, &[(61_000, Some(12)), (70_000, None), (71_000, Some(12))]);
    let was_left_behind = |at| web.timeline.model().was_left_behind(known(&web, 100).unwrap(), at);
    assert_eq!([60_000, 70_000].map(was_left_behind), [true, false]);
}

#[test]
fn a_pod_that_is_adopted_and_one_too_many_is_told_so_unless_its_replica_set_is_scaled() {
    let mut web = Web::live(2).at(60_000);
    web.add_pod(110, 2, |pod| pod.meta.controller = None);
    web.wait_until(70_000).pod(110, owned);
    web.wait(100).kill_pod(110);
    let told = |web: &Web| {
        let line = web.told().into_iter().find(|line| line.contains("adopted")).unwrap();
        let pod = known(web, 110).unwrap();
        (line, pod.end_reason, web.timeline.model().is_surplus(pod))
    };
    let (adopted, scaled_down) = ("Pod p0110 adopted by revision 1: its labels match.", Some(EndReason::ScaledDown));
    let one_too_many = format!("{adopted} The ReplicaSet then had one pod too many and removed it.");
    assert_eq!(told(&web), (one_too_many, scaled_down, true));
    web.wait(700).scale(2, 1);
    assert_eq!(told(&web), (adopted.to_owned(), scaled_down, false));
}

#[test]
fn a_released_pod_counts_for_the_replica_set_that_let_go_of_it() {
    let mut web = Web::replacing();
    hand_over(&mut web, &[(30_000, None), (31_000, Some(SECOND)), (32_000, Some(2)), (33_000, None)]);
    let out = |at| {
        let then = web.timeline.model().as_of(WEB, at);
        [2, SECOND].map(|set| then.pod_counts(Uid::from_bits(set)).out_of_rotation)
    };
    assert_eq!([out(29_999), out(30_000), out(31_000), out(33_000)], [[0, 0], [1, 0], [0, 0], [1, 0]]);
    let now = [2, SECOND].map(|set| web.timeline.model().pod_counts(Uid::from_bits(set)).out_of_rotation);
    assert_eq!(now, [1, 0]);
}

#[test]
fn states_that_a_list_tells_first_began_at_a_time_that_nobody_saw() {
    let mut web = Web::live(2).at(60_000);
    web.unseen_pod(100, unready);
    web.relisted(30_000);
    let listed = |web: &Web, number| known(web, number).unwrap().now.listed_millis;
    assert_eq!([listed(&web, 100), listed(&web, 101)], [Some(60_000), None]);
    // Seen as it changes, it is known; the same again tells nothing new.
    web.wait_until(70_000).pod(101, unready);
    web.wait_until(80_000).relisted(75_000);
    assert_eq!([listed(&web, 100), listed(&web, 101)], [Some(60_000), None]);
    let late = web.first_listed();
    assert_eq!([listed(&late, 100), listed(&late, 101)], [Some(80_000), Some(80_000)]);
}
