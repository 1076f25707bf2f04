//! Counts of pods that are kept as pods change, against pods that are counted one by one.

use std::collections::BTreeSet;

use proptest::prelude::*;
use timeline::assess::crash;
use timeline::fact::ContainerState;
use timeline::model::pod::{FLAP_MILLIS, FLAPS};
use timeline::model::{Pod, PodCounts, PodLayer, PodState};
use timeline::view::Now;
use timeline::wire::Objects;
use timeline::{Model, Retention, Timeline, Uid, steps};

use crate::properties::{config, event, fact};

/// Counts the pods of a ReplicaSet one by one.
fn counts(model: &Model, set: Uid) -> PodCounts {
    let mut counts = PodCounts::default();
    for pod in model.pods_of(set).filter(|pod| pod.state() != PodState::Gone) {
        let (state, is_leftover) = (pod.state(), pod.is_leftover());
        let is_out = pod.is_out_of_rotation() && pod.last_owner() == Some(set);
        counts.out_of_rotation += u32::from(is_out && !is_leftover && state != PodState::Finished);
        if pod.owner != Some(set) {
            continue;
        }
        let is_going = pod.now.deletion_at_millis.is_some();
        assert_eq!(is_going, state == PodState::Terminating, "{pod:?}");
        let is_failing = state == PodState::Failing && !is_leftover;
        let is_starting =
            matches!(state, PodState::Scheduling | PodState::Starting | PodState::Unready | PodState::Ready);
        counts.live += u32::from(!is_going);
        counts.active += u32::from(pod.is_active());
        counts.there += u32::from(pod.now.terminal_millis.is_none());
        counts.available += u32::from(state == PodState::Available);
        counts.not_yet += u32::from(is_starting || is_failing);
        counts.failing += u32::from(is_failing);
        counts.failed += u32::from(is_leftover);
        counts.terminating += u32::from(state == PodState::Terminating);
    }
    counts
}

/// Measures the start times of the pods of a Deployment.
fn start_times(model: &Model, deployment: Uid) -> Option<(i64, i64)> {
    let start = |pod: &&Pod| {
        let (first, begun) = pod.states.first()?;
        let (_, available) = pod.states.iter().find(|(state, _)| *state == PodState::Available)?;
        let is_begin_seen = *first == PodState::Scheduling || pod.now.listed_millis != Some(*begun);
        let is_whole = is_begin_seen && pod.now.listed_millis != Some(*available);
        Some(available - begun).filter(|_| is_whole && !matches!(first, PodState::Available | PodState::Ready))
    };
    let pods = model.pods_of_deployment(deployment);
    let all: Vec<i64> = pods.iter().filter_map(start).collect();
    all.iter().min().copied().zip(all.iter().max().copied())
}

/// Pods that an assessment has no reason to look at.
fn is_plain(pod: &Pod) -> bool {
    let never_ended = || pod.now.containers.iter().all(|container| container.exits() == 0);
    let is_waiting = || pod.now.containers.iter().any(|one| matches!(one.state, Some(ContainerState::Waiting { .. })));
    let flaps = || pod.readiness_losses().count() >= FLAPS;
    match pod.state() {
        PodState::Gone => true,
        PodState::Available => pod.now.terminal_millis.is_none() && never_ended() && !is_waiting() && !flaps(),
        _ => false,
    }
}

/// Compares everything that is kept in a model with the pods that it has. `at_millis` are times at which pods in layers are counted.
fn check(model: &Model, now_millis: i64, at_millis: &[i64]) {
    for set in model.replica_sets.keys() {
        assert_eq!(model.pod_counts(*set), counts(model, *set), "{set}");
        assert_eq!(model.has_pods(*set), model.pods_of(*set).next().is_some(), "{set}");
        let noteworthy: Vec<Uid> = model.noteworthy_pods(*set, now_millis, 0).iter().map(|pod| pod.uid).collect();
        assert!(noteworthy.is_sorted(), "{noteworthy:?}");
        for pod in model.pods_of(*set) {
            let is_crash = crash::crash(pod, Now { millis: now_millis, skew_millis: 0 }).is_some();
            let lost_millis = pod.readiness_losses().nth(FLAPS - 1).filter(|_| pod.state() == PodState::Available);
            let is_flapping = lost_millis.is_some_and(|at| now_millis - at <= FLAP_MILLIS);
            let is_needed = is_crash || is_flapping || (!is_plain(pod) && pod.state() != PodState::Available);
            assert!(!is_needed || noteworthy.contains(&pod.uid), "{pod:?}");
            assert!(!is_plain(pod) || !noteworthy.contains(&pod.uid), "{pod:?}");
        }
        for at in at_millis {
            let Some((first, moves)) = model.pod_layers(*set, *at) else { continue };
            let mut kept = steps::Counts::default();
            kept.iter_mut().zip(first).for_each(|(all, count)| *all = count);
            let moves = moves.iter().map(|one| (one.at_millis, one.layer as usize, one.by)).collect();
            let home = |pod: &&Pod| pod.last_owner() == Some(*set);
            let pods: Vec<&Pod> = model.pods_of(*set).filter(home).collect();
            let counted = steps::steps(&pods, |_, state| PodLayer::of(state).map(|layer| layer as usize), *at);
            assert_eq!(steps::steps_after((*at, kept), moves), counted, "{set} from {at}");
        }
    }
    for deployment in model.deployments.keys() {
        assert_eq!(model.start_times(*deployment), start_times(model, *deployment), "{deployment}");
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn kept_counts_are_those_of_the_pods_after_every_fact(
        events in proptest::collection::vec(event(), 0..60),
        apart in prop_oneof![Just(700i64), Just(20_000)],
        gone_pods in 0..3usize,
        pruned_after in any::<prop::sample::Index>(),
    ) {
        let (mut timeline, mut copy) = (Timeline::new(), Model::default());
        let retention = Retention {
            age_millis: 30_000,
            gone_pods,
            gone_pods_in_all: 100,
            rollouts: 2,
            steps: 2,
            deleted: 0,
            screen_millis: 0,
        };
        let pruned_after = pruned_after.index(events.len().max(1));
        let mut at = 0;
        for (index, event) in events.iter().enumerate() {
            at += apart;
            let mut changes = timeline.apply(at, fact(event, at));
            if index == pruned_after {
                changes.extend(timeline.prune(at, &retention, &BTreeSet::new()));
            }
            changes.into_iter().for_each(|change| copy.apply_change(change));
            for model in [timeline.model(), &copy] {
                check(model, at, &[at, at - 1, at - 60_000, at - 400_000]);
            }
        }
        timeline.prune(at, &retention, &BTreeSet::new()).into_iter().for_each(|change| copy.apply_change(change));
        let times = [at, at - 10_000, at - 60_000];
        check(timeline.model(), at, &times);
        check(&copy, at, &times);
        for deployment in timeline.model().deployments.keys() {
            check(&Model::from(Objects::of(timeline.model(), *deployment)), at, &times);
        }
    }
}
