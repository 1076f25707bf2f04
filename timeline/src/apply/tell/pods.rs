//! Telling pods: why one went, what replaced it, and who left a node together.

use serde::{Deserialize, Serialize};

use super::super::Timeline;
use crate::model::EndReason;
use crate::phase::PodState;
use crate::story::{Entry, Happening, Left};
use crate::{Millis, Uid, rollout};

/// A replacement appears this soon after a pod was asked to go.
const REPLACEMENT_MILLIS: Millis = 5_000;
/// Pods that leave a node no further apart than this leave it together.
const TOGETHER_MILLIS: Millis = 60_000;
/// A replacement that is not available after this long is not waited for, in the story.
const PATIENCE_MILLIS: Millis = 3_600_000;
/// Most pods that were deleted from outside whose replacements are followed at once; the oldest are given up.
const MOST_REPLACED: usize = 32;

/// A pod that was deleted from outside, and what took its place.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::apply) struct Replacing {
    deployment: Uid,
    entry: u64,
    pod: Uid,
    set: Uid,
    at_millis: Millis,
    replacement: Option<Uid>,
}

impl Timeline {
    /// Why a pod goes was decided, or decided better.
    pub(in crate::apply) fn tell_end(
        &mut self,
        at: Millis,
        uid: Uid,
        reason: EndReason,
        node: Option<String>,
        left: Left,
    ) {
        if let Some((deployment, entry)) = self.told_ends.remove(&uid) {
            self.replacing.retain(|one| one.pod != uid);
            self.untell(deployment, entry);
        }
        let Some(pod) = self.model.pods.get(&uid) else { return };
        let was_going = pod.states.first().is_some_and(|(state, _)| state.is_ending());
        if pod.now.terminal_millis.is_some() || was_going {
            return; // that it failed was told then; or it was going before anybody looked
        }
        let Some(deployment) = self.teller(pod) else { return };
        let at = pod.ended_millis().unwrap_or(at);
        let (name, was_released, owner) = (pod.name.clone(), pod.is_out_of_rotation(), pod.owner);
        let entry = match (reason, owner, node) {
            (EndReason::NodeLost | EndReason::Evicted, _, Some(node)) if !was_released => {
                return self.tell_left(deployment, at, name, node, left);
            }
            (EndReason::DeletedManually, Some(set), _) if !was_released => {
                let revision = self.revision_of(deployment);
                let what = Happening::Killed { pod: name, revision, replacement: None, drained_millis: None };
                let entry = self.tell(deployment, at, what);
                if self.replacing.len() == MOST_REPLACED {
                    self.replacing.remove(0);
                }
                let replacing = Replacing { deployment, entry, pod: uid, set, at_millis: at, replacement: None };
                self.replacing.push(replacing);
                entry
            }
            (EndReason::NodeLost | EndReason::Evicted | EndReason::DeletedManually | EndReason::Unknown, ..) => {
                self.tell(deployment, at, Happening::Ended { pod: name, reason, was_released })
            }
            (EndReason::DeploymentDeleted | EndReason::ReplicaSetDeleted | EndReason::ScaledDown, ..) => return,
        };
        self.told_ends.insert(uid, (deployment, entry));
    }

    /// A pod failed as a whole: it had to leave its node, or another reason is given. Its object may lie about for days.
    pub(in crate::apply) fn tell_failure(
        &mut self,
        at: Millis,
        uid: Uid,
        left: Option<(EndReason, Left)>,
        reason: &str,
    ) {
        let Some(pod) = self.model.pods.get(&uid).filter(|pod| pod.end_reason.is_none()) else { return };
        let Some(deployment) = self.teller(pod) else { return };
        let (name, was_released, node) = (pod.name.clone(), pod.is_out_of_rotation(), pod.now.node.clone());
        match (left, node) {
            (Some((_, why)), Some(node)) if !was_released => self.tell_left(deployment, at, name, node, why),
            (Some((reason, _)), _) => {
                self.tell(deployment, at, Happening::Ended { pod: name, reason, was_released });
            }
            (None, _) => self.tell_failed(deployment, at, name, reason),
        }
    }

    /// Pods that fail for the same reason one after the other are told together.
    fn tell_failed(&mut self, deployment: Uid, at: Millis, pod: String, reason: &str) {
        let revision = self.revision_of(deployment);
        let is_same = |entry: &Entry| match &entry.what {
            Happening::Failed { reason: other, revision: then, last_millis, .. } => {
                other == reason && *then == revision && at - last_millis <= TOGETHER_MILLIS
            }
            _ => false,
        };
        let first = Happening::Failed { pod, pods: 1, reason: reason.to_owned(), revision, last_millis: at };
        self.tell_together(deployment, at, is_same, first);
    }

    /// The revision that a Deployment is at.
    fn revision_of(&self, deployment: Uid) -> Option<u64> {
        rollout::current_revision(&self.model, self.model.deployments.get(&deployment)?)
    }

    /// Pods that leave the same node for the same reason one after the other are told together.
    fn tell_left(&mut self, deployment: Uid, at: Millis, pod: String, node: String, why: Left) {
        let is_same = |entry: &Entry| match &entry.what {
            Happening::LeftNode { node: other, why: known, last_millis, .. } => {
                *other == node && *known == why && at - last_millis <= TOGETHER_MILLIS
            }
            _ => false,
        };
        let first = Happening::LeftNode { pod, pods: 1, node: node.clone(), why, last_millis: at };
        self.tell_together(deployment, at, is_same, first);
    }

    /// One pod more in the entry that tells of others like it; without one it is the first.
    fn tell_together(&mut self, deployment: Uid, at: Millis, is_same: impl Fn(&Entry) -> bool, first: Happening) {
        let Some(id) = self.entry(deployment, is_same).map(|entry| entry.id) else {
            self.tell(deployment, at, first);
            return;
        };
        self.retell(deployment, id, |entry| {
            if let Happening::Failed { pods, last_millis, .. } | Happening::LeftNode { pods, last_millis, .. } =
                &mut entry.what
            {
                (*pods, *last_millis) = (*pods + 1, at);
            }
        });
    }

    /// A ReplicaSet let go of a pod, or took one up.
    pub(in crate::apply) fn tell_owner(&mut self, at: Millis, uid: Uid, is_adopted: bool) {
        let Some(pod) = self.model.pods.get(&uid) else { return };
        let Some(deployment) = self.teller(pod) else { return };
        let name = pod.name.clone();
        let set = pod.owners.last().and_then(|set| self.model.replica_sets.get(set));
        let revision = set.and_then(|set| set.revision());
        let is_orphaned = set.is_some_and(|set| set.now.deleting);
        let what = if is_adopted {
            Happening::Adopted { pod: name }
        } else {
            Happening::Released { pod: name, revision, is_orphaned }
        };
        self.tell(deployment, at, what);
    }

    /// A ReplicaSet made a pod while we watched: it replaces the first one that was just deleted from outside.
    pub(in crate::apply) fn tell_replacement(&mut self, at: Millis, set: Uid, uid: Uid) {
        let is_it = |one: &&mut Replacing| {
            one.set == set && one.replacement.is_none() && at - one.at_millis <= REPLACEMENT_MILLIS
        };
        let Some(one) = self.replacing.iter_mut().find(is_it) else { return };
        one.replacement = Some(uid);
        let (deployment, entry) = (one.deployment, one.entry);
        let Some(name) = self.model.pods.get(&uid).map(|pod| pod.name.clone()) else { return };
        self.retell(deployment, entry, |entry| {
            if let Happening::Killed { replacement, .. } = &mut entry.what {
                *replacement = Some((name, None));
            }
        });
    }

    /// A pod entered a state: a replacement may be available now, or what it replaces be gone.
    pub(in crate::apply) fn tell_state(&mut self, at: Millis, uid: Uid, state: PodState) {
        if !matches!(state, PodState::Available | PodState::Gone) || self.replacing.is_empty() {
            return;
        }
        let is_about = |one: &&Replacing| one.pod == uid || one.replacement == Some(uid);
        let Some(one) = self.replacing.iter().find(is_about) else { return };
        let (deployment, entry, after, is_old) = (one.deployment, one.entry, at - one.at_millis, one.pod == uid);
        self.retell(deployment, entry, |entry| {
            let Happening::Killed { replacement, drained_millis, .. } = &mut entry.what else { return };
            match (state, replacement) {
                (PodState::Gone, _) if is_old => *drained_millis = Some(after),
                (PodState::Available, Some((_, available @ None))) if !is_old => *available = Some(after),
                _ => {}
            }
        });
    }

    /// Replacements that came too late, or never, are not followed any longer.
    pub(in crate::apply) fn give_up_replacements(&mut self, at: Millis) {
        let pods = &self.model.pods;
        let is_gone = |uid: Uid| pods.get(&uid).is_none_or(|pod| pod.gone_millis().is_some());
        self.replacing.retain(|one| {
            let age = at - one.at_millis;
            let is_missing = one.replacement.is_none() && age > REPLACEMENT_MILLIS;
            let is_up = one.replacement.is_some_and(|uid| pods.get(&uid).is_none_or(|pod| pod.was_available()));
            age <= PATIENCE_MILLIS && !(is_gone(one.pod) && (is_missing || is_up))
        });
    }
}
