//! The story of a Deployment as lines of text: each entry of [`crate::model::story`] in words.

use serde::{Deserialize, Serialize};

use super::happening::{Then, happening};
use crate::model::{Deployment, Limits, Rollout, order};
use crate::{Millis, Model, Uid};

pub use crate::model::story::{Entry, Happening, LineKind, NodeDeparture, Part};

/// A rollout that starts this soon after a change of the replicas may be of the same edit.
const SAME_EDIT_MILLIS: Millis = 2_000;

/// One line of the story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// When it happened, in milliseconds: by arrival at our clock, of Events by their own time, at the end of its second.
    pub at_millis: Millis,
    /// Its kind: colour and mark follow from it.
    pub kind: LineKind,
    /// The sentence, safe to show.
    pub text: String,
}

/// The story of a Deployment, oldest first.
pub fn story(model: &Model, deployment: Uid) -> Vec<Line> {
    let Some(known) = model.deployments.get(&deployment) else { return Vec::new() };
    entries(model, deployment).iter().map(|entry| line(known, entry)).collect()
}

/// The line of an entry of a Deployment's story.
pub fn line(deployment: &Deployment, entry: &Entry) -> Line {
    let text = happening(&entry.what, then(deployment, entry));
    Line { at_millis: entry.at_millis, kind: entry.what.kind(), text }
}

/// The state of the Deployment when an entry happened.
fn then(deployment: &Deployment, entry: &Entry) -> Then {
    let at = entry.at_millis;
    match entry.what {
        Happening::Scaled { .. } | Happening::Replicas { was_seen: true, .. } => {
            // One that was there when watching began may have been complete before, while something of it is not available.
            let is_open = |rollout: &&Rollout| {
                let unseen_end = rollout.available_millis.filter(|_| rollout.started_millis.is_none());
                let mut ends = rollout.ended_millis().into_iter().chain(unseen_end);
                rollout.started_millis.is_none_or(|start| start <= at) && ends.all(|end| at < end)
            };
            let open = deployment.rollouts.iter().find(is_open);
            // One edit may change replicas and template: the rollout starts once its ReplicaSet is there.
            let starts = |rollout: &Rollout| {
                rollout.started_millis.is_some_and(|start| (at..=at + SAME_EDIT_MILLIS).contains(&start))
            };
            let is_rolling_out = match open {
                Some(rollout) => rollout.started_millis.map(|_| true),
                None => Some(false).filter(|_| !deployment.rollouts.iter().any(starts)),
            };
            Then { is_rolling_out, ..Then::default() }
        }
        Happening::Completed { took_millis: Some(took), .. } => {
            let began = at - took;
            let limits = || deployment.limits.iter();
            let first = limits().rfind(|(since, _)| *since <= began);
            let mut later = limits().filter(|(since, _)| began < *since && *since <= at);
            let is_none = |(_, limits): &(Millis, Limits)| limits.ceiling == limits.max_surge;
            Then { desires_none: first.is_some_and(is_none) && later.all(is_none), ..Then::default() }
        }
        Happening::LeftNode { last_millis, .. } => Then { lasted_millis: last_millis - at, ..Then::default() },
        _ => Then::default(),
    }
}

/// The entries of a Deployment's story, oldest first.
pub fn entries(model: &Model, deployment: Uid) -> Vec<Entry> {
    let Some(deployment) = model.deployments.get(&deployment) else { return Vec::new() };
    let not_kept = |at_millis| Entry { id: 0, at_millis, what: Happening::NotKept };
    let all = deployment.story.iter().cloned().chain(deployment.kept_since_millis.map(not_kept)).collect();
    order::sort_by(all, |entry: &Entry| (entry.at_millis, rank(&entry.what) << 64 | u128::from(entry.id)))
}

/// Ranks the entries of one instant: a gap stands before what its end shows, and edits that make a step before that.
const fn rank(what: &Happening) -> u128 {
    match what {
        Happening::Gap { .. } => 0,
        Happening::Resumed { .. }
        | Happening::Replicas { .. }
        | Happening::StrategyChanged { .. }
        | Happening::SecondsChanged { .. } => 1 + LineKind::Revision as u128,
        other => 1 + other.kind() as u128,
    }
}
