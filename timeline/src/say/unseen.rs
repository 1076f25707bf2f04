//! Kinds that may not be read now: what is said of them is of the time before, and says so.

use super::verdict::Verdict;
use crate::assess::{Now, Tone};
use crate::model::Deployment;
use crate::model::fact::Kind;
use crate::words::moment;
use crate::{Millis, Model};

/// A verdict, with what of it is not seen now. A Deployment that may not be read itself is neither well nor unwell: it was.
pub fn only_last_seen(verdict: Verdict, model: &Model, deployment: &Deployment, now: Now) -> Verdict {
    let since =
        |kind: Kind| model.unseen_since(kind, &deployment.namespace).filter(|_| deployment.deleted_millis.is_none());
    let at = |since: Millis| moment(since.min(now.millis), now.millis);
    if let Some(since) = since(Kind::Deployment) {
        let Verdict { badge, sentence, kubectl, .. } = verdict;
        let at = at(since);
        return Verdict {
            badge: "Not seen".to_owned(),
            tone: Tone::Quiet,
            sentence: format!("Last seen at {at} UTC: {sentence}"),
            why: format!("Since then Rollcast may not list Deployments here. It was: {badge}."),
            kubectl,
        };
    }
    let kinds = [(Kind::ReplicaSet, "ReplicaSets and pods by revision"), (Kind::Pod, "Pods")];
    let Some((since, what)) = kinds.into_iter().find_map(|(kind, what)| Some((since(kind)?, what))) else {
        return verdict;
    };
    let seen = format!("{what} are not seen since {} UTC: figures are those of the status.", at(since));
    let why = if verdict.why.is_empty() { seen } else { format!("{} {seen}", verdict.why) };
    Verdict { why, ..verdict }
}
