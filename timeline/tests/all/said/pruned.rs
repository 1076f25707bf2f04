//! What is let go of because of its age or its number, and what stays.

use std::collections::BTreeSet;

use crate::made::{SECOND, WEB, Web, deployment, meta, ready, set, unready};
use crate::said::lives::hand_over;
use crate::said::stuck::rolling_update;
use timeline::fact::{DeploymentFact, Kind, Seen};
use timeline::rollout;
use timeline::{Fact, Millis, Retention, Timeline, Uid};

/// Kept without bounds: each test sets one.
const ALL: Retention = Retention {
    age_millis: 1_000_000,
    gone_pods: 100,
    gone_pods_in_all: 100,
    rollouts: 100,
    steps: 100,
    deleted: 100,
    screen_millis: 0,
};

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
fn how_long_a_pod_took_to_start_stays_known_when_its_old_states_go() {
    let mut web = Web::replacing();
    web.add_pod(200, SECOND, unready);
    web.wait(2_000).pod(200, ready);
    for _ in 0..3 {
        web.wait(100_000).pod(200, unready);
        web.wait(10_000).pod(200, ready);
        let now = web.now;
        pruned(&mut web, now, Retention { age_millis: 5_000, ..ALL });
        assert_eq!(web.timeline.model().start_times(WEB), Some((2_000, 5_000)), "that of the first pods, too");
    }
    // The first state, the one in which it was available first, and those since the cut.
    let states = &web.timeline.model().pods.get(&Uid::from_bits(200)).unwrap().states;
    assert_eq!(states.iter().map(|(_, at)| *at).collect::<Vec<_>>(), [20_000, 22_000, 342_000, 352_000]);
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
    // It was available first at 5 s.
    assert_eq!(states(&web), [0, 5_000, 112_000, 113_000, 114_000, 115_000]);
    // So many of one pod are kept, and one that lies between equal ones.
    pruned(&mut web, 120_000, Retention { steps: 2, ..ALL });
    assert_eq!(states(&web), [0, 5_000, 112_000, 113_000, 114_000, 115_000]);
}

#[test]
fn changes_of_a_controller_beyond_a_hundred_are_pruned_but_those_since_the_cut() {
    let mut web = Web::live(1);
    for second in 11..=160 {
        let owner = (second % 2 == 0).then_some(WEB);
        web.wait_until(second * 1_000).set(2, |set| set.meta.controller = owner);
    }
    for (cut, kept, first) in [(40_000, 121, 40_000), (100_000, 100, 61_000), (150_000, 100, 61_000)] {
        pruned(&mut web, 200_000, Retention { age_millis: 200_000 - cut, steps: 1_000, ..ALL });
        let set = web.timeline.model().replica_sets.get(&Uid::from_bits(2)).unwrap();
        assert_eq!((set.owner_changes.len(), set.owner_changes[0].0), (kept, first), "{cut}");
        assert_eq!([set.owner_at(cut), set.owner_at(cut + 1_000)], [Some(WEB), None], "{cut}");
    }
}

#[test]
fn releases_are_pruned_but_the_last_one_before_the_cut() {
    let mut web = Web::live(3);
    hand_over(&mut web, &[(10_000, None), (20_000, Some(2)), (30_000, None), (40_000, Some(2))]);
    let pod = |web: &Web, at| web.timeline.model().as_of(WEB, at).pods.get(&Uid::from_bits(100)).unwrap().clone();
    assert_eq!(pod(&web, 50_000).releases.len(), 2);
    assert_eq!(pruned(&mut web, 100_000, Retention { age_millis: 65_000, ..ALL }), Some(35_000));
    assert_eq!(pod(&web, 50_000).releases.len(), 1);
    // At the cut it was released, and adopted afterwards.
    assert_eq!([pod(&web, 36_000).owner, pod(&web, 41_000).owner], [None, Some(Uid::from_bits(2))]);
}

#[test]
fn of_a_released_pod_that_several_controlled_the_cut_leaves_who_released_it() {
    let mut web = Web::replacing();
    hand_over(&mut web, &[(30_000, None), (40_000, Some(SECOND)), (50_000, None)]);
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
fn of_too_many_gone_pods_in_all_each_deployment_keeps_an_equal_share() {
    let mut web = Web::live(1);
    let mut foreign = set(9, 1, 1, 1);
    foreign.meta.controller = None;
    web.add_set(9, foreign);
    for number in 0..6 {
        for (number, set) in [(200 + number, 2), (900 + number, 9)] {
            web.wait(1_000).add_pod(number, set, |_| {});
            web.delete_pod(number);
        }
    }
    let left = |gone_pods_in_all: usize| {
        let retention = Retention { gone_pods: 5, gone_pods_in_all, ..ALL };
        web.timeline.prune(web.now + 60_000, &retention, &BTreeSet::new());
        web.timeline.model().pods.values().filter(|pod| pod.gone_millis().is_some()).count()
    };
    assert_eq!([12, 10, 9, 8].map(left), [10, 10, 8, 8], "those of no Deployment have a share as well");
}

#[test]
fn deployments_with_few_gone_pods_leave_their_share_to_others() {
    let mut web = Web::live(1);
    let other = DeploymentFact { meta: meta(5, "api", None), ..deployment() };
    web.timeline.apply(web.now, Fact::Deployment(Box::new(other), Seen::Added));
    let mut foreign = set(9, 1, 1, 1);
    foreign.meta.controller = None;
    web.add_set(9, foreign);
    for (numbers, set) in [(200..202, 2), (900..910, 9)] {
        for number in numbers {
            web.wait(1_000).add_pod(number, set, |_| {});
            web.delete_pod(number);
        }
    }
    let left = |gone_pods_in_all: usize| {
        web.timeline.prune(web.now + 60_000, &Retention { gone_pods_in_all, ..ALL }, &BTreeSet::new());
        let is_left = |number: &u128| web.timeline.model().pods.contains_key(&Uid::from_bits(*number));
        [(200..202).filter(is_left).count(), (900..910).filter(is_left).count()]
    };
    assert_eq!([12, 9, 3].map(left), [[2, 10], [2, 7], [1, 1]]);
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
    hand_over(&mut web, &[(10_000, None), (20_000, Some(2)), (30_000, None), (40_000, Some(2))]);
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
                web.deployment(|deployment| deployment.spec.strategy = rolling_update(1, unavailable));
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

#[test]
fn what_is_kept_by_default_is_a_day_and_what_pages_may_show() {
    let kept = Retention::default();
    assert_eq!((kept.age_millis, kept.screen_millis), (24 * 3_600_000, 900_000));
    assert_eq!((kept.gone_pods, kept.gone_pods_in_all), (1_000, 100_000));
}
