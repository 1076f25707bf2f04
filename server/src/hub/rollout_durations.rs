//! Durations and outcomes of rollouts that ended while they were observed; for dashboards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use prometheus_client::metrics::histogram::Histogram;
use timeline::{Change, Millis, Model, Uid};

use crate::telemetry::panics::locked;

/// Upper bounds of what is counted together, in seconds.
const BOUNDS: [f64; 12] = [1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0];
/// Deployments and outcomes that are counted by themselves; more are counted together, without names.
const MOST_SERIES: usize = 5_000;
/// The stream of ReplicaSets may be later than that of Deployments by less than this.
const LATE_MILLIS: Millis = 60_000;

/// The labels of one histogram.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    /// Namespace of the Deployment.
    pub namespace: String,
    /// Its name.
    pub deployment: String,
    /// "complete", "superseded", "deadline-passed" or "deleted".
    pub outcome: &'static str,
}

/// Deployment, revision and outcome of a rollout.
type CountedRollout = (Uid, u64, &'static str);

/// Durations of the rollouts whose end was observed, by Deployment and outcome.
#[derive(Debug, Default)]
pub struct RolloutDurations {
    series: Mutex<BTreeMap<Series, Histogram>>,
    /// The rollouts counted at the last instant: there may be several changes of one rollout.
    last: Mutex<(Millis, BTreeSet<CountedRollout>)>,
}

impl RolloutDurations {
    /// Counts a rollout that ends by a change, if its start was observed.
    pub(super) fn note(&self, model: &Model, at_millis: Millis, change: &Change) {
        let (uid, ended) = match change {
            Change::Rollout(uid, _, rollout) => {
                let ends = [
                    (rollout.completed_millis.filter(|_| !rollout.was_scaled_to_zero), "complete"),
                    (rollout.superseded_millis, "superseded"),
                    (rollout.deadline_exceeded_millis, "deadline-passed"),
                ];
                // A rollout is superseded when the Deployment has the next revision, and known to be when a ReplicaSet
                // carries it.
                let is_now = |(at, outcome): &&(Option<Millis>, &str)| {
                    let late = at.map(|at| at_millis - at);
                    late.is_some_and(|late| late == 0 || (*outcome == "superseded" && (0..LATE_MILLIS).contains(&late)))
                };
                let ended = ends.iter().find(is_now).map(|(_, outcome)| *outcome);
                (*uid, ended.map(|outcome| (&**rollout, outcome)))
            }
            Change::DeploymentDeleted(uid, _) => {
                let last = model.deployments.get(uid).and_then(|known| known.rollouts.last());
                (*uid, last.filter(|rollout| rollout.is_open()).map(|rollout| (rollout, "deleted")))
            }
            _ => return,
        };
        let Some((rollout, outcome)) = ended else { return };
        let Some(deployment) = model.deployments.get(&uid) else { return };
        let Some(began) = timeline::rollout::began_millis(model, deployment, rollout) else { return };
        if at_millis < began {
            return; // the clock was set back meanwhile
        }
        let is_in_gap = deployment.gaps.last().is_some_and(|gap| gap.to_millis == at_millis);
        if is_in_gap || timeline::rollout::is_part_unseen(model, deployment, rollout) {
            return; // its start or end was not observed
        }
        let mut last = locked(&self.last);
        if last.0 != at_millis {
            *last = (at_millis, BTreeSet::new());
        }
        if !last.1.insert((uid, rollout.revision, outcome)) {
            return;
        }
        let own = Series { namespace: deployment.namespace.clone(), deployment: deployment.name.clone(), outcome };
        let mut counted = locked(&self.series);
        let is_own = counted.len() < MOST_SERIES || counted.contains_key(&own);
        let series = if is_own { own } else { Series { outcome, ..Series::default() } };
        let seconds = (at_millis - began) as f64 / 1_000.0;
        counted.entry(series).or_insert_with(|| Histogram::new(BOUNDS)).observe(seconds);
    }

    /// Returns the histogram of each series.
    pub fn series(&self) -> Vec<(Series, Histogram)> {
        let counted = locked(&self.series);
        counted.iter().map(|(series, histogram)| (series.clone(), histogram.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use timeline::fact::{DeploymentFact, DeploymentNow, DeploymentSpec, DeploymentStatus, Kind, Meta, Seen};
    use timeline::{Fact, Timeline};

    use super::*;
    use crate::feed::recording::Recording;

    /// Returns the series of a recording beside those of so many earlier Deployments.
    fn counted(before: usize) -> Vec<Series> {
        let recording = Recording::read(include_str!("../../tests/traces/rollover.jsonl"));
        let (durations, mut timeline) = (RolloutDurations::default(), Timeline::new());
        let others = (0..before).map(|number| Series { deployment: number.to_string(), ..Series::default() });
        durations.series.lock().unwrap().extend(others.map(|series| (series, Histogram::new(BOUNDS))));
        for observed in recording.observed {
            let Some(fact) = observed.fact else { continue };
            for change in timeline.apply(observed.at_millis, fact) {
                durations.note(timeline.model(), observed.at_millis, &change);
            }
        }
        let all = durations.series().into_iter().map(|(series, _)| series);
        all.filter(|series| !series.outcome.is_empty()).collect()
    }

    #[test]
    fn who_is_one_too_many_is_counted_without_a_name_by_how_it_ended() {
        let own = counted(0);
        assert!(!own.is_empty() && own.iter().all(|series| series.deployment == "web"), "{own:?}");
        let nameless: Vec<Series> =
            own.iter().map(|series| Series { outcome: series.outcome, ..Series::default() }).collect();
        assert_eq!(counted(MOST_SERIES), nameless);
    }

    #[test]
    fn a_rollout_that_began_or_ended_while_nobody_looked_is_not_counted() {
        let counted = |steps: [(Millis, u32, Seen); 2]| {
            let (durations, mut timeline) = (RolloutDurations::default(), Timeline::new());
            let (kind, namespace, present) = (Kind::Deployment, None, Vec::new());
            timeline.apply(0, Fact::Listed { kind, namespace, present, gap_since_millis: None });
            for (at_millis, available, seen) in steps {
                let meta = Meta { uid: Uid::from_bits(1), name: "web".into(), ..Meta::default() };
                let spec = DeploymentSpec { replicas: 1, ..DeploymentSpec::default() };
                let status = DeploymentStatus { replicas: 1, updated: 1, available, ..DeploymentStatus::default() };
                let now = DeploymentNow { revision: Some(1), spec, status, ..DeploymentNow::default() };
                let fact = Fact::Deployment(Box::new(DeploymentFact { meta, now }), seen);
                for change in timeline.apply(at_millis, fact) {
                    durations.note(timeline.model(), at_millis, &change);
                }
            }
            durations.series().len()
        };
        assert_eq!(counted([(1_000, 0, Seen::Added), (90_000, 1, Seen::Modified)]), 1);
        assert_eq!(counted([(1_000, 0, Seen::Added), (90_000, 1, Seen::InList)]), 0, "it ended in a gap");
        assert_eq!(counted([(1_000, 0, Seen::InList), (90_000, 1, Seen::Modified)]), 0, "it began in a gap");
        assert_eq!(counted([(90_000, 0, Seen::Added), (1_000, 1, Seen::Modified)]), 0, "our clock was set back");
    }
}
