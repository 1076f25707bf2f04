//! Telling pods: why one went, what replaced it, and who left a node together.

use crate::apply::Timeline;
use crate::apply::leaving::{self, Departure};
use crate::apply::pending::AwaitedReplacement;
use crate::model::fact::PodFact;
use crate::model::story::{Adopter, Entry, Happening, NodeDeparture};
use crate::model::{EndReason, MarkKind, Pod, PodCounts, PodState, ReplicaSet, Scale};
use crate::rules::rollout;
use crate::{Millis, Uid};

/// A replacement appears this soon after a pod was asked to go.
const REPLACEMENT_MILLIS: Millis = 5_000;
/// Pods that leave a node no further apart than this leave it together.
pub(super) const TOGETHER_MILLIS: Millis = 60_000;
/// A pod or ReplicaSet deleted this long before its Deployment, and not made again, may have gone with it.
pub(super) const WENT_TOGETHER_MILLIS: Millis = 600_000;
/// A replacement that is not available after this long is not waited for, in the story.
const PATIENCE_MILLIS: Millis = 3_600_000;
/// The object of a pod whose containers have ended stays longer than this if a volume or a finalizer holds it.
const HELD_MILLIS: Millis = 10_000;
/// Pods that are deleted from outside one after the other are told one by one up to this many.
const ONE_BY_ONE: usize = 3;
/// Most pods that were deleted from outside whose replacements are followed at once; the oldest are given up.
const MOST_REPLACED: usize = 32;

impl Timeline {
    /// Why a pod goes was decided, or decided better. `fact` tells of it while it is seen to exist.
    pub(in crate::apply) fn tell_end(&mut self, at: Millis, uid: Uid, reason: EndReason, fact: Option<&PodFact>) {
        self.untell_end(uid);
        let Some(pod) = self.model.pods.get(&uid) else { return };
        let was_going = pod.states.first().is_some_and(|(state, _)| state.is_ending());
        if pod.now.terminal_millis.is_some() || was_going {
            return; // that it failed was told then; or it was going before anybody looked
        }
        let Some(deployment) = self.teller(pod) else { return };
        let left = leaving::read_departure(self.disruption(at, uid, fact).as_deref(), fact);
        let node = fact.and_then(|fact| fact.node.clone()).or_else(|| pod.now.node.clone());
        let at = pod.ended_millis().unwrap_or(at);
        let (name, was_released, owner) = (pod.name.clone(), pod.is_out_of_rotation(), pod.owner);
        let entry = match (reason, owner) {
            (EndReason::NodeLost | EndReason::Evicted, _) => self.tell_left(deployment, at, uid, node, left),
            (EndReason::DeletedManually, Some(set)) if !was_released => {
                let revision = self.revision_of(deployment);
                let is_near = |entry: &&Entry| at - entry.at_millis <= TOGETHER_MILLIS;
                let is_one =
                    |entry: &&Entry| matches!(entry.what, Happening::Killed { revision: r, .. } if r == revision);
                if self.story(deployment).iter().filter(is_near).filter(is_one).count() >= ONE_BY_ONE {
                    let more = Happening::KilledMore { pods: 1, revision, last_millis: at };
                    Some(self.tell_together(deployment, at, Millis::MIN, more))
                } else {
                    let what = Happening::Killed {
                        pod: name,
                        revision,
                        replacement: None,
                        drained_millis: None,
                        gone_millis: None,
                    };
                    let entry = self.tell(deployment, at, what);
                    if self.replacing.len() == MOST_REPLACED {
                        self.replacing.remove(0);
                    }
                    let replacing =
                        AwaitedReplacement { deployment, entry, pod: uid, set, at_millis: at, replacement: None };
                    self.replacing.push(replacing);
                    Some(entry)
                }
            }
            (EndReason::Unknown, _) => {
                // Somebody may have looked since the last one.
                let gap = self.model.deployments.get(&deployment).and_then(|known| known.gaps.last());
                let since = gap.map_or(Millis::MIN, |gap| gap.from_millis);
                let unseen = Happening::Unseen { pod: name, pods: 1, is_gone: fact.is_none(), last_millis: at };
                self.tell_together(deployment, at, since, unseen);
                None
            }
            (EndReason::DeletedManually, _) => {
                Some(self.tell(deployment, at, Happening::Ended { pod: name, reason, was_released }))
            }
            (EndReason::ScaledDown, Some(set)) => self.tell_surplus_pod(deployment, at, set, name),
            (EndReason::DeploymentDeleted | EndReason::ReplicaSetDeleted | EndReason::ScaledDown, _) => None,
        };
        self.told_ends.extend(entry.map(|entry| (uid, (deployment, entry))));
    }

    /// A ReplicaSet that adopted a pod a moment ago has one too many, and removes one: that is told with the adoption.
    fn tell_surplus_pod(&mut self, deployment: Uid, at: Millis, set: Uid, name: String) -> Option<u64> {
        // A scale may arrive after the pods that it removes.
        let settling_millis = self.settling_millis();
        let may_be_why = |scale: &Scale| (-settling_millis..=REPLACEMENT_MILLIS).contains(&(at - scale.at_millis));
        // Most pods go for this reason: the story is not searched for them.
        let replica_set = self.model.replica_sets.get(&set)?;
        if replica_set.scales.iter().rev().any(may_be_why) {
            return None;
        }
        let desired = replica_set.now.counts.desired as usize;
        let was_scaled_down = replica_set.scales.last().is_some_and(|scale| scale.to < scale.from);
        // Where many pods are removed, that takes longer: it had too many before it adopted this one.
        let had_too_many = |adopted: &str, at_millis: Millis| {
            let others = self.model.controlled_pods(set).filter(|pod| pod.name != adopted);
            was_scaled_down && others.filter(|pod| pod.is_active_at(at_millis)).count() > desired
        };
        let is_its = |name: &str| self.model.pods_of(set).any(|pod| pod.name == name && pod.last_owner() == Some(set));
        let is_it = |entry: &Entry| {
            let is_why = |pod: &str| is_its(pod) && !had_too_many(pod, entry.at_millis);
            (0..=REPLACEMENT_MILLIS).contains(&(at - entry.at_millis))
                && matches!(&entry.what, Happening::Adopted { pod, removed: None, .. } if is_why(pod))
        };
        let id = self.entry(deployment, is_it)?.id;
        self.retell_adoption(deployment, id, Some(name));
        Some(id)
    }

    /// Tells with an adoption which pod the ReplicaSet removed for it.
    fn retell_adoption(&mut self, deployment: Uid, entry: u64, pod: Option<String>) {
        self.retell(deployment, entry, |entry| {
            if let Happening::Adopted { removed, .. } = &mut entry.what {
                *removed = pod;
            }
        });
    }

    /// A ReplicaSet was scaled: that may be why it removed a pod a moment ago, and not the adoption.
    pub(in crate::apply) fn untell_surplus_pod(&mut self, deployment: Uid, at: Millis, set: Uid) {
        let settling_millis = self.settling_millis();
        let is_recent = |millis: Millis, longest: Millis| (0..=longest).contains(&(at - millis));
        let went_just_now = |name: &str| {
            let mut ends = self.model.pods_of(set).filter(|pod| pod.name == name).filter_map(|pod| pod.ended_millis());
            ends.any(|ended| is_recent(ended, settling_millis))
        };
        let is_it = |entry: &Entry| {
            is_recent(entry.at_millis, REPLACEMENT_MILLIS + settling_millis)
                && matches!(&entry.what, Happening::Adopted { removed: Some(pod), .. } if went_just_now(pod))
        };
        let Some(id) = self.entry(deployment, is_it).map(|entry| entry.id) else { return };
        self.retell_adoption(deployment, id, None);
    }

    /// A pod failed as a whole: it had to leave its node, or another reason is given. Its object may lie about for days.
    pub(in crate::apply) fn tell_failure(&mut self, at: Millis, uid: Uid, left: Option<Departure>, fact: &PodFact) {
        let Some(pod) = self.model.pods.get(&uid).filter(|pod| pod.end_reason.is_none()) else { return };
        let Some(deployment) = self.teller(pod) else { return };
        let (name, node) = (pod.name.clone(), pod.now.node.clone());
        if let Some(left) = left {
            self.tell_left(deployment, at, uid, node, left);
        } else {
            let (reason, revision) = (fact.reason.clone(), self.revision_of(deployment));
            let first = Happening::Failed { pod: name, pods: 1, reason, revision, last_millis: at };
            self.tell_together(deployment, at, Millis::MIN, first);
        }
    }

    /// The revision that a Deployment is at.
    fn revision_of(&self, deployment: Uid) -> Option<u64> {
        rollout::current_revision(&self.model, self.model.deployments.get(&deployment)?)
    }

    /// Tells that a pod had to leave its node, with the others that left it. Where that is not known, or no ReplicaSet controlled the pod any
    /// more, it is an entry of its own, which is returned.
    fn tell_left(
        &mut self,
        deployment: Uid,
        at: Millis,
        uid: Uid,
        node: Option<String>,
        (why, resource): Departure,
    ) -> Option<u64> {
        let pod = self.model.pods.get(&uid)?;
        let (pod, was_released) = (pod.name.clone(), pod.is_out_of_rotation());
        let Some(node) = node.filter(|_| !was_released) else {
            // A taint evicts, and the node may be ready.
            let reason = if why == NodeDeparture::Lost { EndReason::NodeLost } else { EndReason::Evicted };
            return Some(self.tell(deployment, at, Happening::Ended { pod, reason, was_released }));
        };
        let revision = self.revision_of(deployment);
        let first = Happening::LeftNode { pod, pods: 1, node, revision, why, resource, last_millis: at };
        self.tell_together(deployment, at, Millis::MIN, first);
        None
    }

    /// Takes back what was told of the end of a pod, as it is told better.
    pub(in crate::apply) fn untell_end(&mut self, uid: Uid) {
        let Some((deployment, entry)) = self.told_ends.remove(&uid) else { return };
        self.replacing.retain(|one| one.pod != uid);
        let mut is_shared = false;
        self.retell(deployment, entry, |entry| match &mut entry.what {
            Happening::KilledMore { pods: pods @ 2.., .. } => (*pods, is_shared) = (*pods - 1, true),
            Happening::Adopted { removed, .. } => (*removed, is_shared) = (None, true),
            _ => {}
        });
        if !is_shared {
            self.untell(deployment, entry);
        }
    }

    /// A list after a gap shows that a Deployment was scaled down in it, or a ReplicaSet of it: that many of the pods that went in it are
    /// no losses, and nobody saw which these are.
    pub(in crate::apply) fn untell_scaled_down(&mut self, at: Millis, uid: Uid) {
        let Some(deployment) = self.model.deployments.get(&uid) else { return };
        let Some(gap) = deployment.gaps.last().filter(|gap| gap.to_millis == at) else { return };
        let since = gap.from_millis;
        let told = deployment.story.iter().filter_map(|entry| match entry.what {
            Happening::Unseen { pods, .. } if entry.at_millis > since => Some((entry.id, pods)),
            _ => None,
        });
        let told: Vec<(u64, u32)> = told.collect();
        if told.is_empty() {
            return;
        }
        let before = deployment.marks.iter().find_map(|mark| match mark.kind {
            MarkKind::Replicas { from, .. } if mark.at_millis > since => Some(from),
            _ => None,
        });
        let lowered = before.map_or(0, |before| before.saturating_sub(deployment.now.spec.replicas));
        let (mut all, mut by_rollout) = (UnseenEnds::default(), 0);
        for set in self.model.sets_of(uid).filter(|set| set.last_owner() == Some(uid)) {
            let ends = self.count_unseen_ends(set, since);
            by_rollout += ends.explained_by(replicas_lost(set, uid, since));
            all.unseen += ends.unseen;
            all.released += ends.released;
            all.scaled_down += ends.scaled_down;
        }
        // The steps of its ReplicaSets are those of the scaling, too.
        let lost = all.released + all.unseen - all.explained_by(lowered).max(by_rollout);
        let mut explained = told.iter().map(|(_, pods)| pods).sum::<u32>().saturating_sub(lost);
        for (id, pods) in told {
            let fewer = explained.min(pods);
            explained -= fewer;
            if fewer == pods {
                self.untell(uid, id);
            } else if fewer > 0 {
                self.retell(uid, id, |entry| {
                    if let Happening::Unseen { pod, pods, .. } = &mut entry.what {
                        pod.clear();
                        *pods -= fewer;
                    }
                });
            }
        }
    }

    /// Counts the pods of a ReplicaSet that ended after a time, by what is told of them.
    fn count_unseen_ends(&self, set: &ReplicaSet, since: Millis) -> UnseenEnds {
        let mut ends = UnseenEnds::default();
        for pod in self.model.pods_of(set.uid).filter(|pod| pod.last_owner() == Some(set.uid)) {
            let Some(ended) = pod.ended_millis().filter(|ended| *ended > since) else { continue };
            let was_going = pod.states.first().is_some_and(|(state, _)| state.is_ending());
            let is_told = !was_going && pod.now.terminal_millis.is_none_or(|terminal| terminal >= ended);
            match pod.end_reason {
                Some(EndReason::ScaledDown) => ends.scaled_down += 1,
                Some(EndReason::Unknown) if !is_told => {}
                Some(EndReason::Unknown) if pod.is_out_of_rotation() => ends.released += 1,
                Some(EndReason::Unknown) => ends.unseen += 1,
                _ => {}
            }
        }
        ends
    }

    /// A Deployment goes: pods that were deleted before, and that nobody replaced, went because of what deletes it too (a namespace,
    /// most of the time).
    pub(in crate::apply) fn retell_ends(&mut self, at: Millis, deployment: Uid) {
        // The stream of pods may be faster: those that went because of the Deployment did not go before it.
        self.settle_ends();
        let Some(known) = self.model.deployments.get(&deployment) else { return };
        let last_made = self.model.linked_pods(deployment).map(Pod::first_seen_millis).max();
        let is_late = |entry: &&Entry| {
            at - entry.at_millis <= WENT_TOGETHER_MILLIS && last_made.is_none_or(|made| made < entry.at_millis)
        };
        let pods_of = |entry: &Entry| match &entry.what {
            Happening::Killed { replacement: None, .. } => Some((entry.id, entry.at_millis, 1)),
            Happening::KilledMore { pods, .. } => Some((entry.id, entry.at_millis, *pods)),
            Happening::WentBefore { pods } => Some((entry.id, entry.at_millis, *pods)),
            _ => None,
        };
        let found: Vec<_> = known.story.iter().filter(is_late).filter_map(pods_of).collect();
        let (Some(since), pods) = (found.iter().map(|(_, at, _)| *at).min(), found.iter().map(|(.., pods)| pods).sum())
        else {
            return;
        };
        found.iter().for_each(|(id, ..)| self.untell(deployment, *id));
        let told: Vec<u64> = found.into_iter().map(|(id, ..)| id).collect();
        self.told_ends.retain(|_, (_, entry)| !told.contains(entry));
        self.replacing.retain(|one| !told.contains(&one.entry));
        self.tell(deployment, since, Happening::WentBefore { pods });
    }

    /// Pods that go in the same way one after the other are told together: one more in the entry whose last one went after `since`; without
    /// an entry it is the first.
    fn tell_together(&mut self, deployment: Uid, at: Millis, since: Millis, first: Happening) -> u64 {
        let is_same = |entry: &Entry| {
            let last = last_alike(&entry.what, &first).filter(|last| *last >= since);
            // An Event may tell late, of a time before.
            last.is_some_and(|last| (entry.at_millis - TOGETHER_MILLIS..=last + TOGETHER_MILLIS).contains(&at))
        };
        let told = self.retell_last(deployment, is_same, |entry| {
            if let Happening::Failed { pods, last_millis, .. }
            | Happening::LeftNode { pods, last_millis, .. }
            | Happening::KilledMore { pods, last_millis, .. }
            | Happening::Unseen { pods, last_millis, .. } = &mut entry.what
            {
                (*pods, *last_millis) = (*pods + 1, at.max(*last_millis));
            }
        });
        told.unwrap_or_else(|| self.tell(deployment, at, first))
    }

    /// A ReplicaSet let go of a pod.
    pub(in crate::apply) fn tell_release(&mut self, at: Millis, uid: Uid) {
        let Some(pod) = self.model.pods.get(&uid) else { return };
        let Some(deployment) = self.teller(pod) else { return };
        let name = pod.name.clone();
        let set = pod.last_owner().and_then(|set| self.model.replica_sets.get(&set));
        let revision = set.and_then(|set| set.revision());
        let is_orphaned = set.is_some_and(|set| set.now.deleting);
        self.tell(deployment, at, Happening::Released { pod: name, revision, is_orphaned });
    }

    /// A ReplicaSet took a pod up that `last` controlled before, if any did. Where the two belong to different Deployments, both are told.
    pub(in crate::apply) fn tell_adoption(&mut self, at: Millis, uid: Uid, set: Uid, last: Option<Uid>) {
        // Of one that is not known yet it cannot be told whose it is.
        let Some(revision) = self.model.replica_sets.get(&set).map(ReplicaSet::revision) else { return };
        let Some(pod) = self.model.pods.get(&uid).map(|pod| pod.name.clone()) else { return };
        let by = if last == Some(set) { Adopter::Same } else { Adopter::Revision(revision) };
        let new = self.teller_of_set(set);
        if let Some(deployment) = new {
            self.tell(deployment, at, Happening::Adopted { pod: pod.clone(), by, removed: None });
        }
        let old = last.and_then(|last| self.teller_of_set(last));
        if let Some(deployment) = old.filter(|old| Some(*old) != new) {
            self.tell(deployment, at, Happening::Adopted { pod, by: Adopter::Elsewhere, removed: None });
        }
    }

    /// A ReplicaSet made a pod while we watched: it replaces the first one that was just deleted from outside.
    pub(in crate::apply) fn tell_replacement(&mut self, at: Millis, set: Uid, uid: Uid) {
        let is_it = |one: &&mut AwaitedReplacement| {
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
        // A replacement that is deleted before it is available is replaced itself.
        let is_about = |one: &&AwaitedReplacement| match state {
            PodState::Gone => one.pod == uid,
            _ => one.replacement == Some(uid),
        };
        let Some(one) = self.replacing.iter().find(is_about) else { return };
        let (deployment, entry, since, after) = (one.deployment, one.entry, one.at_millis, at - one.at_millis);
        let ended = self.model.pods.get(&uid).and_then(|pod| pod.now.terminal_millis);
        let drained = ended.map(|ended| (ended - since).max(0)).filter(|drained| after - drained > HELD_MILLIS);
        self.retell(deployment, entry, |entry| {
            let Happening::Killed { replacement, drained_millis, gone_millis, .. } = &mut entry.what else { return };
            match (state, replacement) {
                (PodState::Gone, _) => {
                    *drained_millis = drained.or(Some(after));
                    *gone_millis = drained.and(Some(after));
                }
                (_, Some((_, available @ None))) => *available = Some(after),
                _ => {}
            }
        });
    }

    /// A pod was seen to go: it may have been the last one of a revision that was superseded.
    pub(in crate::apply) fn tell_last_gone(&mut self, at: Millis, uid: Uid) {
        let owner = self.model.pods.get(&uid).and_then(|pod| pod.owner);
        let Some(set) = owner.and_then(|set| self.model.replica_sets.get(&set)) else { return };
        if set.now.counts.desired > 0 || self.model.pod_counts(set.uid) != PodCounts::default() {
            return;
        }
        let (Some(deployment), carried) = (self.teller_of_set(set.uid), set.revision()) else { return };
        let is_it = |entry: &Entry| match entry.what {
            Happening::Superseded { revision, gone_millis: None, .. } => Some(revision) == carried,
            _ => false,
        };
        self.retell_last(deployment, is_it, |entry| {
            if let Happening::Superseded { gone_millis, .. } = &mut entry.what {
                *gone_millis = Some(at - entry.at_millis);
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

/// Numbers of pods that ended.
#[derive(Debug, Clone, Copy, Default)]
struct UnseenEnds {
    /// Nobody saw why.
    unseen: u32,
    /// Nobody saw why, and their ReplicaSet had let go of them before.
    released: u32,
    /// They were seen to go because their ReplicaSet wanted fewer.
    scaled_down: u32,
}

impl UnseenEnds {
    /// Counts the pods that went for so many replicas less, as far as these were not seen to go.
    fn explained_by(self, replicas: u32) -> u32 {
        self.unseen.min(replicas.saturating_sub(self.scaled_down))
    }
}

/// Counts the replicas that a ReplicaSet of a Deployment asks for less than at that time.
fn replicas_lost(set: &ReplicaSet, deployment: Uid, since: Millis) -> u32 {
    let is_later = |scale: &&Scale| scale.deployment == deployment && scale.at_millis > since;
    let desired = set.now.counts.desired;
    let before = set.scales.iter().find(is_later).map_or(desired, |scale| scale.from);
    if set.removed_millis.is_some() { before } else { before.saturating_sub(desired) }
}

/// When the last pod went of which an entry tells the same as of another one.
fn last_alike(known: &Happening, other: &Happening) -> Option<Millis> {
    use Happening::{Failed, KilledMore, LeftNode, Unseen};
    let (is_alike, last_millis) = match (known, other) {
        (Failed { reason, revision, last_millis, .. }, Failed { reason: r, revision: then, .. }) => {
            ((reason, revision) == (r, then), last_millis)
        }
        (
            LeftNode { node, revision, why, resource, last_millis, .. },
            LeftNode { node: n, revision: then, why: w, resource: r, .. },
        ) => ((node, revision, why, resource) == (n, then, w, r), last_millis),
        (KilledMore { revision, last_millis, .. }, KilledMore { revision: then, .. }) => {
            (revision == then, last_millis)
        }
        (Unseen { is_gone, last_millis, .. }, Unseen { is_gone: gone, .. }) => (is_gone == gone, last_millis),
        _ => return None,
    };
    is_alike.then_some(*last_millis)
}
