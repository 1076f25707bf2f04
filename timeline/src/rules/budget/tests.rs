//! Tests of the arithmetic.

use super::*;
use IntOrPercent::{Int, Percent};

fn spec(replicas: u32, surge: IntOrPercent, unavailable: IntOrPercent) -> DeploymentSpec {
    DeploymentSpec {
        replicas,
        strategy: Strategy::RollingUpdate { max_surge: surge, max_unavailable: unavailable },
        ..DeploymentSpec::default()
    }
}

const fn remove(unhealthy: u32, healthy: u32) -> Next {
    Next::RemoveOld { unhealthy, healthy }
}

fn resolved(replicas: u32, surge: IntOrPercent, unavailable: IntOrPercent) -> (u32, u32) {
    let limits = limits(&spec(replicas, surge, unavailable));
    (limits.max_surge, limits.max_unavailable)
}

#[test]
fn surge_is_rounded_up_and_unavailable_down() {
    assert_eq!(resolved(4, Percent(25), Percent(25)), (1, 1));
    assert_eq!(resolved(3, Percent(25), Percent(25)), (1, 0));
    assert_eq!(resolved(10, Percent(25), Percent(25)), (3, 2));
    assert_eq!(resolved(5, Int(0), Int(0)), (0, 1));
    assert_eq!(resolved(2, Int(1), Int(9)), (1, 2));
    assert_eq!(resolved(0, Percent(25), Percent(25)), (0, 0));
    assert_eq!(resolved(u32::MAX, Percent(400), Percent(100)).1, u32::MAX);
}

/// Returns sums from (desired, available) of the new ReplicaSet and of the old ones.
fn sums(new: (u32, u32), old: &[(u32, u32)]) -> Sums {
    let counts = |(desired, available): (u32, u32)| ReplicaSetCounts { desired, available, ..Default::default() };
    let all = || std::iter::once(new).chain(old.iter().copied());
    Sums {
        new: Some(counts(new)),
        old: old.iter().copied().map(counts).collect(),
        old_pods: 0,
        desired: all().map(|(desired, _)| desired).sum(),
        available: all().map(|(_, available)| available).sum(),
    }
}

#[test]
fn a_rollout_of_four_goes_up_and_down_within_its_budget() {
    let spec = spec(4, Percent(25), Percent(25));
    let next = |new, old| next(&spec, &sums(new, old));
    assert_eq!(next((1, 0), &[(4, 4)]), remove(0, 1));
    assert_eq!(next((1, 0), &[(3, 3)]), Next::AddNew(1));
    assert_eq!(next((2, 0), &[(3, 3)]), Next::WaitForNew(1));
    assert_eq!(next((2, 0), &[(3, 2)]), Next::WaitForNew(1));
    assert_eq!(next((2, 1), &[(3, 3)]), remove(0, 1));
    assert_eq!(next((4, 4), &[(0, 0)]), Next::Nothing);
    assert_eq!(next((5, 5), &[(0, 0)]), Next::RemoveNew(1));
}

#[test]
fn recreate_takes_everything_down_first() {
    let mut spec = spec(3, Int(1), Int(0));
    spec.strategy = Strategy::Recreate;
    assert_eq!(next(&spec, &sums((0, 0), &[(3, 3)])), remove(0, 3));
    let draining = Sums { old_pods: 2, ..sums((0, 0), &[(0, 0)]) };
    assert_eq!(next(&spec, &draining), Next::WaitForOldGone);
    assert_eq!(next(&spec, &Sums { new: None, ..draining }), Next::WaitForOldGone);
    assert_eq!(next(&spec, &Sums { old_pods: 2, ..sums((3, 1), &[(0, 0)]) }), Next::Nothing);
    assert_eq!(next(&spec, &sums((0, 0), &[(0, 0)])), Next::AddNew(3));
    spec.paused = true;
    assert_eq!(next(&spec, &sums((3, 0), &[(0, 0)])), Next::Paused);
}

#[test]
fn ceiling_and_floor_are_the_replicas_with_what_may_be_added_and_missing() {
    let range = |replicas, surge, unavailable| {
        let limits = limits(&spec(replicas, surge, unavailable));
        (limits.floor, limits.ceiling)
    };
    assert_eq!(range(10, Percent(25), Percent(25)), (8, 13));
    assert_eq!(range(4, Int(0), Int(0)), (3, 4));
    assert_eq!(range(4, Int(0), Int(2)), (2, 4));
    assert_eq!(range(4, Int(2), Int(0)), (4, 6));
    assert_eq!(range(u32::MAX, Int(1), Int(0)), (u32::MAX, u32::MAX));
    let recreate = DeploymentSpec { strategy: Strategy::Recreate, ..spec(4, Int(2), Int(1)) };
    assert_eq!(limits(&recreate), Limits { max_surge: 0, max_unavailable: 4, ceiling: 4, floor: 0 });
}

#[test]
fn steps_are_as_large_as_the_budget_allows() {
    for (what, spec, new, old, expected) in [
        // With 10 desired, 12 may exist: 4 new ones are missing, and there is room for 2.
        ("up to the ceiling", spec(10, Int(2), Int(0)), (6, 6), &[(4, 4)][..], Next::AddNew(2)),
        ("up to the replicas", spec(10, Int(5), Int(0)), (9, 9), &[(1, 1)], Next::AddNew(1)),
        ("beside nothing", spec(10, Int(2), Int(0)), (3, 3), &[], Next::AddNew(7)),
        ("down to the replicas", spec(4, Int(2), Int(0)), (7, 7), &[(3, 3)], Next::RemoveNew(3)),
        ("down to the floor", spec(10, Int(2), Int(3)), (2, 2), &[(10, 10)], remove(0, 5)),
        // 12 desired, 8 of them available, floor 8, no new ones: no available old one may be removed.
        ("only what does not work", spec(10, Int(2), Int(2)), (0, 0), &[(12, 8)], remove(4, 0)),
        // Missing new ones count as existing: 12 − 8 − 3 leaves one.
        ("less what is missing", spec(10, Int(2), Int(2)), (4, 1), &[(8, 5)], remove(1, 0)),
        // 12 desired, floor 8, one new one missing: three may be removed, two of them unavailable.
        ("what does not work first", spec(10, Int(2), Int(2)), (2, 1), &[(4, 2), (6, 6)], remove(2, 1)),
        ("not more than there are", spec(4, Int(4), Int(4)), (4, 4), &[(2, 2)], remove(0, 2)),
        ("what does not work once", spec(4, Int(4), Int(4)), (4, 4), &[(3, 1)], remove(2, 1)),
        // Four new ones missing, and two above the floor: three must become available before one may be removed.
        ("until some are there", spec(10, Int(2), Int(0)), (4, 0), &[(8, 8)], Next::WaitForNew(3)),
        ("until one is there", spec(10, Int(2), Int(0)), (4, 2), &[(8, 8)], Next::WaitForNew(1)),
        // The sums leave room, but the available pods are at the floor: available old ones may not be removed.
        ("at the floor", spec(4, Int(1), Int(0)), (4, 4), &[(1, 1)], remove(0, 1)),
        ("below the floor", spec(4, Int(2), Int(1)), (1, 3), &[(5, 0)], remove(5, 0)),
    ] {
        assert_eq!(next(&spec, &sums(new, old)), expected, "{what}");
    }
}

/// A ReplicaSet that was just scaled down still reports its former pods; another one has fewer available pods than desired, and the floor
/// must be kept.
#[test]
fn with_room_in_the_sums_but_nothing_to_spare_one_more_is_waited_for() {
    let spec = spec(4, Int(2), Int(0));
    let mut sums = sums((4, 4), &[(2, 2)]);
    sums.available = 4;
    assert_eq!(next(&spec, &sums), Next::WaitForNew(1));
    sums.available = 5;
    assert_eq!(next(&spec, &sums), remove(0, 1));
}

#[test]
fn recreate_gives_the_new_one_what_it_lacks_or_takes_what_it_has_too_much() {
    let spec = DeploymentSpec { strategy: Strategy::Recreate, ..spec(3, Int(1), Int(0)) };
    let next = |desired, old_pods| next(&spec, &Sums { old_pods, ..sums((desired, 0), &[(0, 0)]) });
    assert_eq!(next(1, 0), Next::AddNew(2));
    assert_eq!(next(5, 0), Next::RemoveNew(2));
    assert_eq!(next(3, 0), Next::Nothing);
    assert_eq!(next(2, 1), Next::WaitForOldGone);
    assert_eq!(next(4, 1), Next::RemoveNew(1), "old pods that drain do not keep it from getting smaller");
    let none = Sums { new: None, ..sums((0, 0), &[(0, 0)]) };
    assert_eq!(super::next(&spec, &none), Next::CreateSet);
}

#[test]
fn a_paused_deployment_is_spread_when_the_controller_would_write_nothing() {
    let rolling = DeploymentSpec { paused: true, ..spec(4, Int(1), Int(1)) };
    let zero = DeploymentSpec { replicas: 0, ..rolling.clone() };
    let recreate = DeploymentSpec { strategy: Strategy::Recreate, ..rolling.clone() };
    let nothing = Sums::default();
    let only_old = |old| Sums { new: None, ..sums((0, 0), old) };
    for (what, spec, sums, expected) in [
        ("no ReplicaSet at all", &rolling, nothing.clone(), Next::Paused),
        ("none is desired", &zero, nothing, Next::Paused),
        ("none is desired, and none has any", &zero, sums((0, 0), &[(0, 0)]), Next::Paused),
        ("the new one is empty", &rolling, sums((0, 0), &[]), Next::Spread),
        ("the old one is empty, and there is no new one", &rolling, only_old(&[(0, 0)]), Next::Spread),
        ("both are empty", &rolling, sums((0, 0), &[(0, 0)]), Next::Spread),
        ("one has all", &rolling, sums((4, 2), &[(0, 0)]), Next::Paused),
        ("an old one has all", &rolling, sums((0, 0), &[(4, 3)]), Next::Paused),
        ("an old one has too few", &rolling, sums((0, 0), &[(3, 3)]), Next::Spread),
        ("both have as many as may be", &rolling, sums((2, 0), &[(3, 3)]), Next::Paused),
        ("both have fewer", &rolling, sums((1, 0), &[(3, 3)]), Next::Spread),
        ("one has too many", &rolling, sums((5, 5), &[(0, 0)]), Next::Spread),
        ("two old ones have as many as may be", &rolling, only_old(&[(2, 2), (3, 3)]), Next::Paused),
        ("two old ones have fewer", &rolling, only_old(&[(2, 2), (2, 2)]), Next::Spread),
        // The new one is complete and available: old ones get no replicas, although the ceiling would allow them.
        ("the new one is saturated", &rolling, sums((4, 4), &[(1, 1)]), Next::Spread),
        ("the new one has all, of which one is missing", &rolling, sums((4, 3), &[(1, 1)]), Next::Paused),
        ("the new one reports all, and is to have fewer", &rolling, sums((3, 4), &[(2, 2)]), Next::Paused),
        ("two have some, and none is desired", &zero, sums((1, 1), &[(1, 1)]), Next::Spread),
        ("Recreate spreads nothing over several", &recreate, sums((1, 0), &[(4, 4)]), Next::Paused),
        ("Recreate gives one all", &recreate, sums((0, 0), &[(3, 3)]), Next::Spread),
    ] {
        assert_eq!(next(spec, &sums), expected, "{what}");
    }
}

#[test]
fn what_old_ones_ask_for_is_the_sum_of_theirs() {
    assert_eq!(sums((9, 9), &[(2, 0), (3, 1)]).old_desired(), 5);
    assert_eq!(sums((9, 9), &[]).old_desired(), 0);
}
