//! Telling ReplicaSets that go: cleaned up by the history limit, or deleted from outside, with what that cost.

use std::collections::BTreeSet;

use super::pods::WENT_TOGETHER_MILLIS;
use crate::apply::Timeline;
use crate::apply::pending::Outage;
use crate::model::story::{Entry, Happening};
use crate::model::{Pod, PodState, RemovedBecause};
use crate::{Millis, Uid};

/// Pods of a deleted ReplicaSet are asked to go this soon; what is missing later is missing for another reason.
const FOLLOWED_MILLIS: Millis = 30_000;
/// Most deleted ReplicaSets that are followed at once; the oldest are given up.
const MOST_OUTAGES: usize = 256;

impl Timeline {
    /// Tells that a ReplicaSet was deleted, why, and whether somebody saw it.
    pub(in crate::apply) fn tell_removal(&mut self, at: Millis, uid: Uid, because: RemovedBecause, was_seen: bool) {
        let Some(set) = self.model.replica_sets.get(&uid) else { return };
        let Some(deployment) = set.owner.and_then(|owner| self.model.deployments.get(&owner)) else { return };
        let (hash, revision, deployment_uid) = (set.template_hash.clone(), set.revision(), deployment.uid);
        let limit = deployment.now.spec.revision_history_limit;
        match because {
            RemovedBecause::HistoryLimit => {
                self.tell(deployment_uid, at, Happening::CleanedUp { hash, revision, limit });
            }
            RemovedBecause::Deleted => {
                let had_available = self.model.pod_counts(uid).available > 0;
                let what = Happening::SetDeleted { hash, was_seen, again_millis: None, outage_millis: None };
                let entry = self.tell(deployment_uid, at, what);
                if self.outages.len() == MOST_OUTAGES {
                    // Those without pods are followed only to tell whether their ReplicaSet came again.
                    let oldest = self.outages.iter().position(|outage| !outage.had_available).unwrap_or(0);
                    self.outages.remove(oldest);
                }
                self.outages.push(Outage {
                    set: uid,
                    deployment: deployment_uid,
                    entry,
                    at_millis: at,
                    had_available,
                    is_again: false,
                    since_millis: None,
                });
            }
            RemovedBecause::DeploymentDeleted => {}
        }
    }

    /// A ReplicaSet that went from outside, as it seemed, went with its Deployment.
    pub(in crate::apply) fn untell_removal(&mut self, set: Uid) {
        if let Some(index) = self.outages.iter().position(|outage| outage.set == set) {
            let Outage { deployment, entry, .. } = self.outages.remove(index);
            self.untell(deployment, entry);
        }
    }

    /// A Deployment goes: ReplicaSets that were deleted before, and not made again, went because of what deletes it too.
    pub(in crate::apply) fn retell_removals(&mut self, at: Millis, deployment: Uid) {
        let Some(known) = self.model.deployments.get(&deployment) else { return };
        let is_near = |entry: &&Entry| at - entry.at_millis <= WENT_TOGETHER_MILLIS;
        let is_it = |entry: &&Entry| matches!(entry.what, Happening::SetDeleted { again_millis: None, .. });
        let told: Vec<u64> = known.story.iter().filter(is_near).filter(is_it).map(|entry| entry.id).collect();
        self.outages.retain(|outage| !told.contains(&outage.entry));
        told.into_iter().for_each(|id| self.untell(deployment, id));
    }

    /// A Deployment does not control a ReplicaSet any more, or does from now on.
    pub(in crate::apply) fn tell_set_owner(&mut self, at: Millis, uid: Uid, before: Option<Uid>, is_again: bool) {
        let Some(set) = self.model.replica_sets.get(&uid) else { return };
        let (owner, pods) = (set.owner, self.model.pod_counts(uid).active);
        let (name, is_orphan) = (set.name.clone(), !is_again && set.owners.len() < 2);
        if let Some(before) = before {
            let is_taken = owner.is_some();
            self.tell(before, at, Happening::SetReleased { name: name.clone(), pods, is_taken });
        }
        // A Deployment that begins with a ReplicaSet that was there says so when its rollout begins.
        let has_begun = |owner: &Uid| self.model.deployments.get(owner).is_some_and(|known| !known.rollouts.is_empty());
        if let Some(owner) = owner.filter(has_begun) {
            self.tell(owner, at, Happening::SetTaken { name, pods, is_again, is_orphan });
        }
    }

    /// A ReplicaSet appeared: it may be one that was deleted, made again. A list does not tell when, and its creation time does.
    pub(in crate::apply) fn tell_made_again(&mut self, at: Millis, uid: Uid, was_seen: bool) {
        let Some(set) = self.model.replica_sets.get(&uid) else { return };
        let gone = |outage: &&mut Outage| {
            let same = self.model.replica_sets.get(&outage.set);
            !outage.is_again
                && set.owner == Some(outage.deployment)
                && same.is_some_and(|same| same.name == set.name && same.template_hash == set.template_hash)
        };
        let Some(outage) = self.outages.iter_mut().find(gone) else { return };
        outage.is_again = true;
        let made = if was_seen { at } else { set.created_at_millis.saturating_add(self.skew.millis()).min(at) };
        let (deployment, entry, after) = (outage.deployment, outage.entry, (made - outage.at_millis).max(0));
        self.retell(deployment, entry, |entry| {
            if let Happening::SetDeleted { again_millis, .. } = &mut entry.what {
                *again_millis = Some(after);
            }
        });
    }

    /// Looks whether something is available where a ReplicaSet was deleted.
    pub(in crate::apply) fn follow_outages(&mut self, at: Millis) {
        if self.outages.is_empty() {
            return;
        }
        // Where nothing changed, as much is available as before. To count it, all ReplicaSets are visited, deleted ones too.
        let changed: BTreeSet<Uid> = self.changes.iter().flat_map(|change| self.model.deployments_of(change)).collect();
        for mut outage in std::mem::take(&mut self.outages) {
            let Some(deployment) = self.model.deployments.get(&outage.deployment) else { continue };
            if deployment.is_over() || deployment.now.spec.replicas == 0 {
                continue; // nothing should be available
            }
            let is_followed = outage.had_available && changed.contains(&deployment.uid);
            let is_available = is_followed && self.has_available(deployment.uid);
            match outage.since_millis {
                None if at - outage.at_millis > FOLLOWED_MILLIS => continue,
                None if is_followed && !is_available => outage.since_millis = Some(at),
                Some(since) if is_available => {
                    // When one that a list told of became available, nobody saw.
                    let is_listed = |pod: &Pod| {
                        pod.state() == PodState::Available && pod.now.listed_millis == Some(pod.since_millis())
                    };
                    let sets = self.model.controlled_sets(outage.deployment);
                    let is_unseen = sets.flat_map(|set| self.model.controlled_pods(set.uid)).any(is_listed);
                    if !is_unseen {
                        self.retell(outage.deployment, outage.entry, |entry| {
                            if let Happening::SetDeleted { outage_millis, .. } = &mut entry.what {
                                *outage_millis = Some(at - since).filter(|millis| *millis >= 0);
                            }
                        });
                    }
                    continue;
                }
                _ => {}
            }
            self.outages.push(outage);
        }
    }
}
