//! Which pods a ReplicaSet lets go of is explained by the order of Kubernetes: on the real control plane, whose recordings these are,
//! and on the simulated one. Nothing that is told contradicts what happened, and how much is told is
//! exactly this.

use std::collections::BTreeMap;

use server::recording::Observed;
use timeline::removal_order::{Choices, Comparison};

use crate::common::{played, simulated};

/// What was told of the pods that went.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    /// Pods of which it is told why they went.
    pods: u32,
    /// Comparisons of one that went with one that stayed, by what decides.
    by: BTreeMap<String, u32>,
    /// Comparisons that what was seen does not decide.
    unclear: u32,
}

fn told(played: impl Iterator<Item = (String, Vec<Observed>)>) -> Told {
    let mut told = Told::default();
    for (name, observed) in played {
        let timeline = played::play(observed);
        let mut choices = Choices::new(timeline.model(), timeline.skew_millis());
        for pod in timeline.model().pods.values() {
            let criteria = choices.criteria(pod);
            let pairs: Vec<Comparison> = choices.pairs(pod).collect();
            let alone = Choices::new(timeline.model(), timeline.skew_millis()).pairs(pod).collect::<Vec<_>>();
            assert_eq!(pairs, alone, "{name}: what was asked before changes nothing");
            told.pods += u32::from(criteria.is_some());
            for pair in pairs {
                match pair {
                    Comparison::Before(criterion) => *told.by.entry(format!("{criterion:?}")).or_default() += 1,
                    Comparison::Unclear => told.unclear += 1,
                    Comparison::After => panic!("{name}: {} went: {:?}", pod.name, pod.states),
                }
            }
        }
    }
    told
}

fn by<const N: usize>(counts: [(&str, u32); N]) -> BTreeMap<String, u32> {
    counts.map(|(criterion, count)| (criterion.to_owned(), count)).into()
}

/// 102 of 154 comparisons are told. The other 52 depend on what changed within half a second of the choice, or on ready
/// times that nobody saw.
#[test]
fn pods_that_go_are_those_that_have_to_on_a_real_control_plane() {
    let by = by([("Chance", 52), ("Crowded(2)", 9), ("Crowded(3)", 20), ("Crowded(4)", 14), ("ReadyLater", 7)]);
    assert_eq!(by.values().sum::<u32>(), 102);
    assert_eq!(told(played::recordings()), Told { pods: 27, by, unclear: 52 });
}

/// 1,936 of 3,028 comparisons are told.
#[test]
fn pods_that_go_are_those_that_have_to_on_the_simulated_one() {
    let by = by([
        ("Chance", 602),
        ("Crowded(2)", 94),
        ("Crowded(3)", 438),
        ("Crowded(4)", 184),
        ("Crowded(5)", 67),
        ("Crowded(6)", 27),
        ("NotRunning", 202),
        ("ReadyLater", 313),
        ("Younger", 9),
    ]);
    assert_eq!(by.values().sum::<u32>(), 1_936);
    assert_eq!(told(simulated::clusters()), Told { pods: 420, by, unclear: 1_092 });
}
