//! The summary of a Deployment for lists.

use serde::{Deserialize, Serialize};

use super::{Assessment, Now, Tone, Verdict, verdict};
use crate::assess::counts::count_failing;
use crate::model::{Deployment, Pod, PodLayer, PodState};
use crate::rules::rollout;
use crate::steps::Step;
use crate::words::images;
use crate::{Millis, Model, Uid, Workload, say, steps};

/// The summary of a Deployment: a row of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// Revision of the current rollout.
    pub revision: Option<u64>,
    /// The revision that is being replaced, as the sentence says it; of several the last one.
    pub replaces: Option<u64>,
    /// Images of the current revision, joined; of the template where there is none.
    pub images: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The next step: [`super::View::next`].
    pub next: String,
    /// Pods: available of the current revision, available of others, not available yet, failing, terminating.
    pub pods: [u32; LAYERS],
    /// `spec.replicas`.
    pub desired: u32,
    /// `pods` over the last minute; empty while nothing changed.
    pub lately: Lately,
    /// Since when the kubectl verdict is what it is; of a complete rollout: when it was completed, as far as that is known.
    pub since_millis: Millis,
    /// When the last rollout was completed: as it was seen, or as the Deployment's condition tells.
    pub finished_millis: Option<Millis>,
}

/// Kinds of pods that a line of a list counts: [`Summary::pods`].
pub const LAYERS: usize = 5;

/// Counts of pods over the last minute or so: a time, and what was there from so many milliseconds later on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lately {
    /// The time at which the counts begin.
    pub from_millis: Millis,
    /// Milliseconds after that, and the counts from then on.
    pub steps: Vec<(u32, [u32; LAYERS])>,
}

/// A tiny score reaches back this far.
pub const LATELY_MILLIS: Millis = 60_000;
/// Its left edge moves in steps of this, so that a list does not change by time alone.
const LATELY_STEP: Millis = 20_000;
/// Steps closer than this are one, and no more than so many are told.
const LATELY_APART: Millis = 500;
const LATELY_MOST: usize = 24;

impl Lately {
    fn of(assessment: &Assessment<'_>) -> Self {
        let Assessment { model, deployment, now, .. } = *assessment;
        let from_millis = (now.millis - LATELY_MILLIS).div_euclid(LATELY_STEP) * LATELY_STEP;
        let is_awaited = !deployment.now.spec.paused && assessment.awaits_revision;
        let current = assessment.current.filter(|_| !is_awaited).map(|set| set.uid);
        let layer = |set: Option<Uid>, layer: PodLayer| match layer {
            PodLayer::Available if current.is_some() && set == current => 0,
            PodLayer::Available => 1,
            PodLayer::NotYet => 2,
            PodLayer::Failing => 3,
            PodLayer::Terminating => 4,
        };
        let all = steps_of_sets(model, deployment, layer, from_millis).unwrap_or_else(|| {
            let of_pod = |pod: &Pod, state: PodState| PodLayer::of(state).map(|of| layer(pod.owner, of));
            steps::steps(&model.counted_pods(deployment.uid), of_pod, from_millis)
        });
        let mut kept: Vec<(Millis, [u32; LAYERS])> = Vec::new();
        for (at, [new, old, not_yet, failing, terminating, ..]) in all {
            let counts = [new, old, not_yet, failing, terminating].map(|pods| u32::try_from(pods).unwrap_or(0));
            match kept.last_mut() {
                Some((last, known)) if at - *last < LATELY_APART => *known = counts,
                _ => kept.push((at, counts)),
            }
        }
        if kept.iter().all(|(_, counts)| kept.first().is_some_and(|(_, first)| first == counts)) {
            return Self::default();
        }
        let skipped = kept.len().saturating_sub(LATELY_MOST);
        let step = |(at, counts): (Millis, [u32; LAYERS])| (u32::try_from(at - from_millis).unwrap_or(0), counts);
        Self { from_millis, steps: kept.into_iter().skip(skipped).map(step).collect() }
    }
}

/// Counts the pods of a Deployment in each layer, from each moment on, by the moves that are kept; `None` where they do not tell.
fn steps_of_sets(
    model: &Model,
    deployment: &Deployment,
    layer: impl Fn(Option<Uid>, PodLayer) -> usize,
    from_millis: Millis,
) -> Option<Vec<Step>> {
    let (mut first, mut moves) = (steps::Counts::default(), Vec::new());
    for set in model.controlled_sets(deployment.uid) {
        let (counts, later) = model.pod_layers(set.uid, from_millis)?;
        for (of, count) in PodLayer::ALL.into_iter().zip(counts) {
            *first.get_mut(layer(Some(set.uid), of))? += count;
        }
        moves.extend(later.iter().map(|one| (one.at_millis, layer(Some(set.uid), one.layer), one.by)));
    }
    Some(steps::steps_after((from_millis, first), moves))
}

impl Summary {
    /// Returns the available pods of the current revision: "new available" on pages and walls.
    pub fn new_available(&self) -> u32 {
        self.pods.first().copied().unwrap_or_default()
    }

    /// Returns the workload with its UID, whatever has the name later.
    pub fn workload(&self, cluster: &str) -> Workload {
        Workload::deployment(cluster, &*self.namespace, &*self.name).with_uid(Some(self.uid))
    }

    /// Returns the reason and the next step as one text, for places that have one for both.
    pub fn explanation(&self) -> String {
        format!("{} {}", self.verdict.why, self.next).trim().to_owned()
    }

    /// Returns the key by which lists order places.
    pub fn place(&self) -> (&str, &str, Uid) {
        (&self.namespace, &self.name, self.uid)
    }
}

/// Returns the summary of a Deployment; `None` if the model does not hold it.
pub fn summary(model: &Model, uid: Uid, now: Now) -> Option<Summary> {
    let assessment = Assessment::at(model, uid, now)?;
    let (deployment, standing, revision) = (assessment.deployment, assessment.standing(), assessment.revision());
    let verdict = verdict(standing, &assessment);
    let finished_millis = finished(model, deployment, now.skew_millis);
    let is_complete = verdict.tone == Tone::Ok;
    Some(Summary {
        uid,
        namespace: deployment.namespace.clone(),
        name: deployment.name.clone(),
        revision,
        replaces: replaced(model, deployment, revision),
        // A template that waits is no revision yet.
        images: images(assessment.current.map_or(&deployment.now.spec.images, |set| &set.images)),
        verdict,
        next: say::next(standing, &assessment),
        pods: {
            let counts = assessment.counts;
            let failing = count_failing(model, deployment).min(counts.not_yet);
            [
                counts.new_available,
                counts.available.saturating_sub(counts.new_available),
                counts.not_yet - failing,
                failing,
                counts.terminating,
            ]
        },
        desired: deployment.now.spec.replicas,
        lately: Lately::of(&assessment),
        since_millis: match finished_millis.filter(|_| is_complete) {
            Some(at) => at,
            None => deployment.verdicts.last().map_or(deployment.first_seen_millis, |(at, _)| *at),
        },
        finished_millis,
    })
}

/// Returns the revision that the last rollout replaces, while it goes on: the last one whose ReplicaSet still desires
/// pods.
fn replaced(model: &Model, deployment: &Deployment, current: Option<u64>) -> Option<u64> {
    let is_going_on = deployment.rollouts.last().is_some_and(|rollout| rollout.completed_millis.is_none());
    let old =
        model.owned_sets(deployment.uid).filter(|set| set.now.counts.desired > 0).filter_map(|set| set.revision());
    old.filter(|revision| Some(*revision) != current).max().filter(|_| is_going_on)
}

/// Returns when the last rollout was completed, by our clock; `None` while it is not, or if that is not known.
fn finished(model: &Model, deployment: &Deployment, skew_millis: Millis) -> Option<Millis> {
    let rollout = deployment.rollouts.last()?;
    if rollout.started_millis.is_some() {
        return rollout.completed_millis;
    }
    // It was complete before we came: the condition is not touched any more once a rollout is.
    let told = deployment.now.status.progressing.as_ref().filter(|told| told.reason == "NewReplicaSetAvailable")?;
    let at = told.last_update_millis.filter(|_| !rollout::is_about_another(model, deployment, told))?;
    Some(at.saturating_add(skew_millis))
}
