//! The story of a Deployment as lines of text: each entry of [`crate::model::story`] in words.

use serde::{Deserialize, Serialize};

use super::happening::happening;
use crate::model::{Deployment, order};
use crate::{Millis, Model, Uid};

pub use crate::model::story::{Entry, Happening, LineKind, NodeDeparture, Part};

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
    let text = happening(deployment, entry);
    Line { at_millis: entry.at_millis, kind: entry.what.kind(), text }
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
