//! Which of two pods a ReplicaSet lets go of first, criterion by criterion, as far as it was seen.

use crate::made::{Web, unready};
use crate::said::counting::ready_since;
use timeline::fact::{Container, ContainerState, Phase, PodFact, Role};
use timeline::removal_order::{Choices, Comparison, Criterion};
use timeline::{Millis, Uid};

/// Revision 1 has two pods, one on each node, ready since they were made at 0 s.
fn two() -> Web {
    let mut web = Web::live(0).at(0);
    web.set(2, |set| set.now.counts.desired = 2);
    for number in 0..2u128 {
        web.add_pod(100 + number, 2, |pod| {
            pod.node = Some(format!("node-{number}"));
            pod.meta.created_at_millis = 0;
        });
    }
    web
}

/// The first one is let go of at 60 s: how it compares with those that stay.
fn gone(web: &mut Web) -> Vec<Comparison> {
    web.wait_until(60_000).set(2, |set| set.now.counts.desired = 1);
    web.kill_pod(100);
    pairs(web)
}

fn pairs(web: &Web) -> Vec<Comparison> {
    let model = web.timeline.model();
    Choices::new(model, 0).pairs(model.pods.get(&Uid::from_bits(100)).unwrap()).collect()
}

fn starting(pod: &mut PodFact) {
    (pod.phase, pod.ready, pod.containers[0].state) = (Phase::Pending, None, None);
}

fn failing(pod: &mut PodFact) {
    let reason = "CrashLoopBackOff".into();
    (pod.ready, pod.containers[0].state) = (None, Some(ContainerState::Waiting { reason, message: String::new() }));
}

fn without_node(pod: &mut PodFact) {
    starting(pod);
    pod.node = None;
}

#[test]
fn kubernetes_asks_one_criterion_after_the_other() {
    use Criterion::{Chance, Cheaper, NoNode, NotReady, NotRunning, ReadyLater, Restarts, Younger};
    type Change<'t> = &'t dyn Fn(&mut PodFact);
    let ready_at: [&dyn Fn(&mut PodFact); 4] =
        [&ready_since(0), &ready_since(2_000), &ready_since(26_000), &ready_since(50_000)];
    let costs = |cost| {
        move |pod: &mut PodFact| {
            ready_since(0)(pod);
            pod.deletion_cost = cost;
        }
    };
    let restarted = |times| {
        move |pod: &mut PodFact| {
            unready(pod);
            pod.containers[0].restarts = times;
        }
    };
    let made = |at| {
        move |pod: &mut PodFact| {
            unready(pod);
            pod.meta.created_at_millis = at;
        }
    };
    let cases: [(&str, Change, Change, Comparison, Comparison); 15] = [
        ("a node", &without_node, &starting, Comparison::Before(NoNode), Comparison::After),
        ("a node, and ready", &without_node, ready_at[0], Comparison::Before(NoNode), Comparison::After),
        ("running", &starting, &unready, Comparison::Before(NotRunning), Comparison::After),
        ("ready", &unready, ready_at[0], Comparison::Before(NotReady), Comparison::After),
        ("running, and ready", &starting, ready_at[0], Comparison::Before(NotRunning), Comparison::After),
        // One that fails may be running or not.
        ("fails", &failing, ready_at[0], Comparison::Before(NotReady), Comparison::After),
        ("fails, or does not run", &failing, &unready, Comparison::Unclear, Comparison::Unclear),
        ("fails both", &failing, &failing, Comparison::Unclear, Comparison::Unclear),
        ("cost", &costs(-5), &costs(3), Comparison::Before(Cheaper), Comparison::After),
        ("ready for less", ready_at[3], ready_at[0], Comparison::Before(ReadyLater), Comparison::After),
        ("ready for about as long", ready_at[1], ready_at[0], Comparison::Before(Chance), Comparison::Before(Chance)),
        // 34 s is the edge of a power of two of nanoseconds: half a second decides, which nobody knows.
        ("at the edge", ready_at[2], ready_at[0], Comparison::Unclear, Comparison::Unclear),
        // The other one's restarts may have been fewer then.
        ("restarts", &restarted(2), &restarted(0), Comparison::Before(Restarts), Comparison::Unclear),
        ("restarts of both", &restarted(2), &restarted(1), Comparison::Before(Restarts), Comparison::Unclear),
        ("age", &made(50_000), &made(0), Comparison::Before(Younger), Comparison::After),
    ];
    // Pods that are made later arrive later: everything is told at 55 s, after which nothing changes.
    for (what, one, other, there, back) in cases {
        for (gone_one, stays, expected) in [(one, other, there), (other, one, back)] {
            let mut web = Web::live(0);
            web.set(2, |set| set.now.counts.desired = 2);
            web.now = 55_000;
            for (number, change) in [(100, gone_one), (101, stays)] {
                web.add_pod(number, 2, |pod| {
                    pod.node = Some(format!("node-{number}"));
                    pod.meta.created_at_millis = 0;
                    change(pod);
                });
            }
            assert_eq!(gone(&mut web), [expected], "{what}");
        }
    }
}

#[test]
fn of_restarts_the_most_of_one_container_count_and_none_of_init_containers() {
    let other = |role: Role, restarts: u32| {
        let state = Some(ContainerState::Running);
        move |pod: &mut PodFact| {
            unready(pod);
            pod.containers[0].restarts = 1;
            pod.containers.push(Container { restarts, state, ..Container::new("other".into(), role) });
        }
    };
    for (role, expected) in [
        (Role::App, Comparison::Unclear),
        (Role::Init, Comparison::Unclear),
        (Role::Sidecar, Comparison::Before(Criterion::Restarts)),
    ] {
        let mut web = two();
        web.pod(100, other(role, 1));
        web.pod(101, other(role, 0));
        assert_eq!(gone(&mut web), [expected], "{role:?}");
    }
    // That of an init container is no difference.
    let mut web = two();
    for (pod, restarts) in [(100, 3), (101, 0)] {
        web.pod(pod, other(Role::Init, restarts));
        web.pod(pod, |pod| pod.containers[0].restarts = 0);
    }
    assert_eq!(gone(&mut web), [Comparison::Before(Criterion::Chance)]);
}

#[test]
fn equal_pods_are_let_go_of_by_chance() {
    let mut web = two();
    (100..102).for_each(|pod| web.pod(pod, ready_since(0)));
    assert_eq!(gone(&mut web), [Comparison::Before(Criterion::Chance)]);
    // Restarts are asked where ready times are equal.
    let mut web = two();
    (100..102).for_each(|pod| web.pod(pod, ready_since(0)));
    web.pod(100, |pod| pod.containers[0].restarts = 1);
    assert_eq!(gone(&mut web), [Comparison::Before(Criterion::Restarts)]);
    // Others may have been sorted in between: what contradicts is not told.
    let mut web = two();
    (100..102).for_each(|pod| web.pod(pod, ready_since(0)));
    web.unseen_pod(101, |pod| pod.meta.created_at_millis = 0);
    web.pod(101, |pod| pod.containers[0].restarts = 1);
    assert_eq!(gone(&mut web), [Comparison::Unclear]);
}

#[test]
fn of_pods_on_a_node_the_one_with_more_neighbours_goes() {
    let crowded = |gone_on: &str, others: &[&str]| {
        let mut web = Web::live(0).at(0);
        web.set(2, |set| set.now.counts.desired = 1 + others.len() as u32);
        for (number, node) in (100..).zip(std::iter::once(&gone_on).chain(others)) {
            web.add_pod(number, 2, |pod| {
                ready_since(0)(pod);
                pod.node = Some((*node).into());
            });
        }
        gone_pairs(&mut web)
    };
    fn gone_pairs(web: &mut Web) -> Vec<Comparison> {
        web.wait_until(60_000).set(2, |set| set.now.counts.desired -= 1);
        web.kill_pod(100);
        pairs(web)
    }
    let (two, three) = (Comparison::Before(Criterion::Crowded(2)), Comparison::Before(Criterion::Crowded(3)));
    let chance = Comparison::Before(Criterion::Chance);
    assert_eq!(crowded("a", &["b"]), [chance]);
    assert_eq!(crowded("a", &["a", "b"]), [chance, two]);
    assert_eq!(crowded("a", &["a", "a", "b", "b"]), [chance, chance, three, three]);
    assert_eq!(crowded("b", &["a", "a"]), [Comparison::After, Comparison::After]);
}

#[test]
fn neighbours_of_all_replica_sets_of_the_deployment_count() {
    let with_neighbour = |change: &dyn Fn(&mut Web)| {
        let mut web = two();
        (100..102).for_each(|pod| web.pod(pod, ready_since(0)));
        web.add_set(3, crate::made::set(3, 2, 1, 0));
        web.add_pod(200, 3, |pod| {
            ready_since(0)(pod);
            pod.node = Some("node-0".into());
        });
        change(&mut web);
        web.deployment(|deployment| deployment.revision = Some(2));
        gone(&mut web)
    };
    let crowded = Comparison::Before(Criterion::Crowded(2));
    let chance = Comparison::Before(Criterion::Chance);
    assert_eq!(with_neighbour(&|_| {}), [crowded]);
    assert_eq!(with_neighbour(&|web| web.pod(200, unready)), [crowded], "ready or not");
    assert_eq!(with_neighbour(&|web| web.pod(200, |pod| pod.phase = Phase::Failed)), [chance], "it ended");
    let went = |web: &mut Web| {
        web.wait_until(20_000).kill_pod(200);
    };
    assert_eq!(with_neighbour(&went), [chance], "it was going");
    let just_went = |web: &mut Web| {
        web.wait_until(59_800).kill_pod(200);
    };
    assert_eq!(with_neighbour(&just_went), [Comparison::Unclear], "the controller may have known or not");
    let released = |web: &mut Web| web.pod(200, |pod| pod.meta.controller = None);
    assert_eq!(with_neighbour(&released), [chance], "nobody counts it");
}

#[test]
fn what_changed_half_a_second_before_may_have_been_known_or_not() {
    let changed = |at: Millis| {
        let mut web = two();
        (100..102).for_each(|pod| web.pod(pod, unready));
        web.wait_until(at).pod(101, ready_since(at));
        gone(&mut web)
    };
    let not_ready = Comparison::Before(Criterion::NotReady);
    assert_eq!(changed(59_400), [not_ready]);
    assert_eq!(changed(59_500), [not_ready]);
    assert_eq!(changed(59_501), [Comparison::Unclear]);
    assert_eq!(changed(59_999), [Comparison::Unclear]);
    // A ready time of later tells nothing of then.
    let mut web = two();
    (100..102).for_each(|pod| web.pod(pod, ready_since(0)));
    web.pod(100, ready_since(50_000));
    assert_eq!(gone(&mut web), [Comparison::Before(Criterion::ReadyLater)]);
    web.wait_until(70_000).pod(101, unready);
    assert_eq!(pairs(&web), [Comparison::Before(Criterion::ReadyLater)]);
    web.wait_until(80_000).pod(101, ready_since(80_000));
    assert_eq!(pairs(&web), [Comparison::Unclear]);
}

#[test]
fn only_those_that_stay_are_compared_and_only_with_those_that_were_let_go_of() {
    let several = |second_at: Millis| {
        let mut web = Web::live(0).at(0);
        web.set(2, |set| set.now.counts.desired = 4);
        for number in 100..104 {
            web.add_pod(number, 2, |pod| {
                ready_since(0)(pod);
                pod.node = Some(format!("node-{number}"));
            });
        }
        web.wait_until(60_000).set(2, |set| set.now.counts.desired = 2);
        web.kill_pod(100);
        web.wait_until(second_at).kill_pod(101);
        (web.timeline.model().pods.len(), pairs(&web).len())
    };
    assert_eq!(several(60_100), (4, 2), "they went in one round");
    assert_eq!(several(60_101), (4, 3), "the other one went later");
    // Somebody deleted it: nothing was chosen.
    let mut web = two().at(60_000);
    web.kill_pod(100);
    assert_eq!(pairs(&web), Vec::new());
    // All went: nothing is explained.
    let mut web = two().at(60_000);
    web.set(2, |set| set.now.counts.desired = 0);
    (100..102).for_each(|pod| web.kill_pod(pod));
    assert_eq!(pairs(&web), Vec::new());
    let model = web.timeline.model();
    assert_eq!(Choices::new(model, 0).criteria(model.pods.get(&Uid::from_bits(100)).unwrap()), None);
}

#[test]
fn criteria_are_told_once_each_in_the_order_of_kubernetes_and_not_where_one_is_unclear() {
    let criteria = |change: &dyn Fn(&mut Web)| {
        let mut web = Web::live(0).at(0);
        web.set(2, |set| set.now.counts.desired = 4);
        for number in 100..104 {
            web.add_pod(number, 2, |pod| {
                ready_since(0)(pod);
                pod.node = Some(format!("node-{number}"));
            });
        }
        web.pod(100, ready_since(50_000));
        change(&mut web);
        web.wait_until(60_000).set(2, |set| set.now.counts.desired = 3);
        web.kill_pod(100);
        let model = web.timeline.model();
        Choices::new(model, 0).criteria(model.pods.get(&Uid::from_bits(100)).unwrap())
    };
    use Criterion::{Cheaper, ReadyLater};
    assert_eq!(criteria(&|_| {}), Some(vec![ReadyLater]));
    assert_eq!(criteria(&|web| web.pod(103, |pod| pod.deletion_cost = 1)), Some(vec![Cheaper, ReadyLater]));
    assert_eq!(criteria(&|web| web.pod(103, |pod| pod.deletion_cost = -1)), None);
    assert_eq!(criteria(&|web| web.pod(102, ready_since(51_000))), None);
}

#[test]
fn ages_are_by_the_clock_of_the_cluster() {
    let mut web = two();
    web.pod(100, ready_since(50_000));
    web.pod(101, ready_since(40_000));
    // Seen at 60 s: ready for 10 s and 20 s, in other powers of two.
    assert_eq!(gone(&mut web), [Comparison::Before(Criterion::ReadyLater)]);
    let model = web.timeline.model();
    let pod = model.pods.get(&Uid::from_bits(100)).unwrap();
    // The cluster's clock is 30 s ahead: 40 s and 50 s, in the same.
    let pairs = |skew_millis| Choices::new(model, skew_millis).pairs(pod).collect::<Vec<_>>();
    assert_eq!(pairs(-30_000), [Comparison::Before(Criterion::Chance)]);
    assert_eq!(pairs(9_000), [Comparison::Before(Criterion::ReadyLater)]);
}

/// However many pods go: those of a Deployment are gone through once for each moment at which some went, and not once for each of these.
#[test]
fn what_is_the_same_for_pods_that_went_together_is_looked_at_once() {
    let looks = |pods: u128| {
        let mut web = Web::live(0).at(0);
        web.set(2, |set| set.now.counts.desired = pods as u32 + 4);
        (100..100 + pods + 4).for_each(|number| web.add_pod(number, 2, ready_since(0)));
        // One half goes, and the other half a minute later.
        for (begin, end) in [(0, pods / 2), (pods / 2, pods)] {
            web.wait(60_000).set(2, |set| set.now.counts.desired -= (end - begin) as u32);
            (begin..end).for_each(|number| web.kill_pod(100 + number));
        }
        let model = web.timeline.model();
        let mut choices = Choices::new(model, 0);
        let told = (100..100 + pods).map(|number| {
            let pod = model.pods.get(&Uid::from_bits(number)).unwrap();
            let criteria = choices.criteria(pod);
            assert_eq!(criteria, Choices::new(model, 0).criteria(pod), "{number}");
            criteria.is_some()
        });
        let told = told.filter(|is_told| *is_told).count();
        (told, choices.looks())
    };
    assert_eq!(looks(8), (8, 2));
    assert_eq!(looks(80), (80, 2));
}
