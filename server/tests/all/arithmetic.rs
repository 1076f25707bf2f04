//! The rolling-update arithmetic (`timeline::budget`) says what the Deployment controller writes next: which ReplicaSet, and how
//! many replicas more or fewer. Every step of every recording is compared with what it said before the step arrived.

use std::collections::BTreeMap;

use server::kube::Observed;
use timeline::budget::{self, Next, Sums};
use timeline::fact::Strategy;
use timeline::model::{Deployment, Model, ScaleCause};
use timeline::{Change, Timeline, Uid, rollout};

use crate::common::{played, simulated};

/// What the controller writes: so many replicas more (or fewer) on a ReplicaSet; on one that is still to be made where none is named.
type Write = (Option<Uid>, i64);

/// The ReplicaSets in the order in which the controller writes them, when it looks at what is known now.
fn writes(model: &Model, deployment: &Deployment) -> Vec<Write> {
    let (spec, mut sums) = (&deployment.now.spec, Sums::from_sets(model, deployment));
    let awaits = rollout::awaits_revision(model, deployment);
    let new = rollout::current_set(model, deployment).filter(|_| !awaits).map(|set| set.uid);
    let mut next = budget::next(spec, &sums);
    if next == Next::CreateSet {
        // It is made with the replicas that an empty one would be given.
        sums.new = Some(Default::default());
        next = budget::next(spec, &sums);
    }
    match next {
        Next::AddNew(more) => vec![(new, i64::from(more))],
        Next::RemoveNew(fewer) => vec![(new, -i64::from(fewer))],
        Next::RemoveOld { unhealthy, healthy } => {
            let mut old: Vec<_> = model.owned_sets(deployment.uid).filter(|set| Some(set.uid) != new).collect();
            old.sort_by_key(|set| (set.created_at_millis, set.uid));
            let mut left: Vec<(Uid, u32, u32)> = old
                .iter()
                .map(|set| {
                    let counts = set.now.counts;
                    (set.uid, counts.desired, counts.desired.saturating_sub(counts.available))
                })
                .collect();
            let mut writes = Vec::new();
            // `cleanupUnhealthyReplicas`, then `scaleDownOldReplicaSetsForRollingUpdate`: the oldest first.
            for (mut to_go, only_unhealthy) in [(unhealthy, true), (healthy, false)] {
                for (set, desired, unhealthy) in &mut left {
                    let fewer = to_go.min(if only_unhealthy { *unhealthy } else { *desired });
                    if fewer > 0 {
                        writes.push((Some(*set), -i64::from(fewer)));
                        (to_go, *desired) = (to_go - fewer, *desired - fewer);
                    }
                }
            }
            writes
        }
        _ => Vec::new(),
    }
}

/// How many steps there were, and those that were not what was said before they arrived, each with what was said.
fn compare(played: impl Iterator<Item = (String, Vec<Observed>)>) -> (usize, Vec<String>) {
    let (mut steps, mut others) = (0, Vec::new());
    for (name, observed) in played {
        let mut timeline = Timeline::new();
        let begin = observed.first().map_or(0, |first| first.at_millis);
        // What is left of what the controller began to write.
        let mut begun: BTreeMap<Uid, Vec<Write>> = BTreeMap::new();
        for Observed { at_millis, fact } in observed {
            let Some(fact) = fact else { continue };
            let model = timeline.model();
            let said: BTreeMap<Uid, (Next, Vec<Write>)> = model
                .deployments
                .values()
                .map(|deployment| {
                    let next = budget::next(&deployment.now.spec, &Sums::from_sets(model, deployment));
                    (deployment.uid, (next, writes(model, deployment)))
                })
                .collect();
            for change in timeline.apply(at_millis, fact) {
                let Change::Scale(set, scale) = change else { continue };
                let Some(deployment) = timeline.model().deployments.get(&scale.deployment) else { continue };
                let is_rolling = deployment.now.spec.strategy != Strategy::Recreate;
                // What is part of scaling is not of the rolling update, and a ReplicaSet made empty is no step.
                if scale.cause != ScaleCause::Rollout || !is_rolling || scale.from == scale.to {
                    continue;
                }
                steps += 1;
                let by = i64::from(scale.to) - i64::from(scale.from);
                let (next, said) = said.get(&deployment.uid).cloned().unwrap_or((Next::Nothing, Vec::new()));
                let begun = begun.entry(deployment.uid).or_default();
                let is_it = |writes: &[Write]| {
                    writes.first().is_some_and(|(of, much)| of.is_none_or(|of| of == set) && *much == by)
                };
                let from = if is_it(&said) { &said } else { &*begun };
                if is_it(from) {
                    *begun = from[1..].to_vec();
                } else {
                    let revision = timeline.model().replica_sets.get(&set).and_then(|set| set.revision());
                    let (from, to) = (scale.from, scale.to);
                    let (revision, at) = (revision.unwrap_or_default(), at_millis - begin);
                    others.push(format!("{name}, {at} ms: revision {revision} {from} → {to}; said: {next:?}"));
                }
            }
        }
    }
    (steps, others)
}

/// Without exception: 151 of 151.
#[test]
fn every_step_of_a_real_controller_is_the_one_that_was_said() {
    let (steps, others) = compare(played::recordings());
    assert_eq!(others, Vec::<String>::new());
    assert_eq!(steps, 151);
}

/// Steps of the simulated controller that are not of a rolling update, though nothing tells them from one that is: the Deployment
/// is paused, its budget is edited, and the controller spreads the replicas that the new ceiling allows over its
/// ReplicaSets in proportion (`scale` in `sync.go`). `budget::next` says that it will, not how much each ReplicaSet gets.
const SPREAD: [&str; 22] = [
    "seed 4, 40964 ms: revision 1 5 → 3",
    "seed 4, 40964 ms: revision 4 5 → 3",
    "seed 4, 61260 ms: revision 4 3 → 5",
    "seed 4, 61260 ms: revision 1 3 → 5",
    "seed 4, 89663 ms: revision 1 5 → 2",
    "seed 4, 89663 ms: revision 4 5 → 3",
    "seed 14, 91445 ms: revision 9 4 → 5",
    "seed 14, 133552 ms: revision 9 5 → 4",
    "seed 14, 133552 ms: revision 5 2 → 1",
    "seed 14, 144194 ms: revision 9 4 → 6",
    "seed 16, 79049 ms: revision 7 6 → 7",
    "seed 16, 79049 ms: revision 5 3 → 4",
    "seed 22, 124667 ms: revision 4 6 → 7",
    "seed 29, 96152 ms: revision 7 9 → 16",
    "seed 29, 96152 ms: revision 8 1 → 2",
    "seed 31, 87248 ms: revision 6 5 → 6",
    "seed 32, 52176 ms: revision 3 8 → 15",
    "seed 32, 61366 ms: revision 3 2 → 1",
    "seed 32, 102705 ms: revision 3 1 → 0",
    "seed 33, 81117 ms: revision 2 3 → 2",
    "seed 39, 83583 ms: revision 4 7 → 11",
    "seed 39, 83583 ms: revision 3 7 → 11",
];

/// 1,464 of 1,486, and the others are said to come without their amounts.
#[test]
fn every_step_of_the_simulated_controller_is_the_one_that_was_said() {
    let (steps, others) = compare(simulated::clusters());
    assert_eq!(others, SPREAD.map(|step| format!("{step}; said: Spread")));
    assert_eq!(steps, 1_486);
}
