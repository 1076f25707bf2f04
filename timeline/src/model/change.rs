//! Changes: the effects of one fact, small enough to send. Nothing else alters a [`Model`].
//!
//! `snapshot(a)` and the changes from a to b give `snapshot(b)`, because the server itself applies these changes to get from a to b.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::fact::Kind;
use crate::model::story::Entry;
use crate::model::{
    Deployment, DeploymentNow, EndReason, Event, Gap, Mark, Model, Pod, PodNow, Release, RemovedBecause, ReplicaSet,
    ReplicaSetNow, Rollout, Scale,
};
use crate::model::{KubectlVerdict, Limits, PodState, server_only};
use crate::{Millis, Uid};

/// Maximum number of revisions of a ReplicaSet that outlive their rollouts. Two controllers that contend for a template change it each
/// second.
const MOST_REVISIONS: usize = 100;
/// Maximum number of changes of a ReplicaSet's controller that outlive the history of their time.
const MOST_OWNER_CHANGES: usize = 100;

/// One change of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// A Deployment appeared, or all of it is sent.
    Deployment(Box<Deployment>),
    /// Its spec or status changed.
    DeploymentNow(Uid, Box<DeploymentNow>),
    /// The rollout at this index started or changed; pruned ones count.
    Rollout(Uid, u32, Box<Rollout>),
    /// The cluster was not observed for a while. A gap that touches the last one is merged with it.
    Gap(Uid, Gap),
    /// The limits of its strategy changed.
    Limits(Uid, Millis, Limits),
    /// It was deleted.
    DeploymentDeleted(Uid, Millis),
    /// A ReplicaSet appeared, or all of it is sent.
    ReplicaSet(Box<ReplicaSet>),
    /// Its spec or status changed.
    ReplicaSetNow(Uid, Box<ReplicaSetNow>),
    /// It has another controller, or none, from then on.
    ReplicaSetOwner(Uid, Option<Uid>, Millis),
    /// It has another revision.
    ReplicaSetRevision(Uid, u64, Option<Millis>),
    /// Its `spec.replicas` changed.
    Scale(Uid, Scale),
    /// It was deleted.
    ReplicaSetRemoved(Uid, Millis, RemovedBecause),
    /// A Pod appeared, or all of it is sent.
    Pod(Box<Pod>),
    /// It entered a state.
    PodState(Uid, PodState, Millis),
    /// Node, reason, restarts or deletion time changed.
    PodNow(Uid, Arc<PodNow>),
    /// Its ReplicaSet released it.
    PodReleased(Uid, Millis),
    /// A ReplicaSet adopted it.
    PodAdopted(Uid, Uid, Millis),
    /// Why it is or was deleted. A more precise reason may follow shortly after.
    PodEnds(Uid, EndReason),
    /// Old history is removed: of the named Deployment, or of objects that belong to none.
    Pruned(Option<Uid>, Box<Pruned>),
    /// A mark was added.
    Mark(Uid, #[serde(with = "server_only")] Mark),
    /// Its story has a new entry, or an entry has a new version.
    Story(Uid, #[serde(with = "server_only")] Box<Entry>),
    /// An entry of its story is removed, or merged into another one.
    StoryTaken(Uid, u64),
    /// The kubectl verdict changed.
    Verdict(Uid, Millis, KubectlVerdict),
    /// An Event about it or its objects; replaces an earlier one with the same UID.
    Event(Uid, #[serde(with = "server_only")] Box<Event>),
    /// Rollcast may not list a kind from then on, in a namespace or in all; `None` when it may again.
    Unseen(Kind, Option<String>, Option<Millis>),
}

/// The history that retention removes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruned {
    /// Entries before this time leave the Deployment's lists; `None` removes the Deployment itself.
    pub before_millis: Option<Millis>,
    /// Removed pods.
    pub pods: Vec<Uid>,
    /// Removed ReplicaSets.
    pub sets: Vec<Uid>,
}

/// The object that a change is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A Deployment.
    Deployment(Uid),
    /// A ReplicaSet.
    ReplicaSet(Uid),
    /// A Pod.
    Pod(Uid),
    /// Objects that belong to no Deployment.
    Nothing,
}

impl Change {
    /// Returns whether the change is sent to viewers. The others affect only sentences.
    pub const fn travels(&self) -> bool {
        !matches!(
            self,
            Self::Mark(..)
                | Self::Story(..)
                | Self::StoryTaken(..)
                | Self::Verdict(..)
                | Self::Event(..)
                | Self::Unseen(..)
        )
    }

    /// Returns the object that the change is about.
    pub fn subject(&self) -> Subject {
        match self {
            Self::Deployment(d) => Subject::Deployment(d.uid),
            Self::DeploymentNow(uid, _)
            | Self::Rollout(uid, ..)
            | Self::Limits(uid, ..)
            | Self::Mark(uid, _)
            | Self::Story(uid, _)
            | Self::StoryTaken(uid, _)
            | Self::Verdict(uid, ..)
            | Self::Gap(uid, _)
            | Self::Event(uid, _)
            | Self::Pruned(Some(uid), _)
            | Self::DeploymentDeleted(uid, _) => Subject::Deployment(*uid),
            Self::ReplicaSet(set) => Subject::ReplicaSet(set.uid),
            Self::ReplicaSetNow(uid, _)
            | Self::ReplicaSetOwner(uid, ..)
            | Self::ReplicaSetRevision(uid, ..)
            | Self::Scale(uid, _)
            | Self::ReplicaSetRemoved(uid, ..) => Subject::ReplicaSet(*uid),
            Self::Pod(pod) => Subject::Pod(pod.uid),
            Self::PodState(uid, ..)
            | Self::PodNow(uid, _)
            | Self::PodReleased(uid, _)
            | Self::PodAdopted(uid, ..)
            | Self::PodEnds(uid, _) => Subject::Pod(*uid),
            Self::Pruned(None, _) | Self::Unseen(..) => Subject::Nothing,
        }
    }
}

impl Model {
    /// Applies one change. A change about an object that the model does not hold changes nothing.
    pub fn apply_change(&mut self, change: Change) {
        match change {
            Change::Deployment(whole) => {
                let uid = whole.uid;
                self.deployments.insert(uid, *whole);
                self.note_name(uid);
            }
            Change::DeploymentNow(uid, now) => self.deployment(&uid, |known| known.now = *now),
            Change::Rollout(uid, index, rollout) => {
                self.deployment(&uid, |known| change_rollout(known, index, *rollout));
            }
            Change::Gap(uid, gap) => self.deployment(&uid, |known| join_gap(&mut known.gaps, gap)),
            Change::DeploymentDeleted(uid, at) => self.deployment(&uid, |known| known.deleted_millis = Some(at)),
            Change::Limits(uid, at, limits) => self.deployment(&uid, |known| known.limits.push((at, limits))),
            Change::Mark(uid, mark) => self.deployment(&uid, |known| known.marks.push(mark)),
            Change::Story(uid, entry) => self.deployment(&uid, |known| tell_entry(&mut known.story, *entry)),
            Change::StoryTaken(uid, id) => self.deployment(&uid, |known| known.story.retain(|entry| entry.id != id)),
            Change::Verdict(uid, at, verdict) => self.deployment(&uid, |known| known.verdicts.push((at, verdict))),
            Change::Event(uid, event) => self.deployment(&uid, |known| keep_event(&mut known.events, *event)),
            Change::ReplicaSet(whole) => {
                let (uid, owners) = (whole.uid, whole.owners.clone());
                self.replica_sets.insert(uid, *whole);
                owners.into_iter().for_each(|owner| self.note_set(owner, uid));
            }
            Change::ReplicaSetNow(uid, now) => self.replica_set(&uid, |known| known.now = *now),
            Change::ReplicaSetOwner(uid, owner, at) => {
                self.replica_set(&uid, |known| {
                    known.owner_changes.push((at, owner));
                    known.owner = owner;
                    known.owners.extend(owner.filter(|owner| !known.owners.contains(owner)));
                });
                if let Some(owner) = owner {
                    self.note_set(owner, uid);
                }
            }
            Change::ReplicaSetRevision(uid, revision, at) => {
                self.replica_set(&uid, |known| known.revisions.push((revision, at)));
            }
            Change::Scale(uid, scale) => self.replica_set(&uid, |known| known.scales.push(scale)),
            Change::ReplicaSetRemoved(uid, at, because) => self.replica_set(&uid, |known| {
                known.removed_millis = Some(at);
                known.removed_because = Some(because);
            }),
            Change::Pod(whole) => {
                let (uid, owners) = (whole.uid, whole.owners.clone());
                self.insert_pod(*whole);
                owners.into_iter().for_each(|owner| self.note_pod(owner, uid));
            }
            Change::PodState(uid, state, at) => self.pod(&uid, |known| known.states.push((state, at))),
            Change::PodNow(uid, now) => self.pod(&uid, |known| known.now = now),
            Change::PodReleased(uid, at) => self.pod(&uid, |known| {
                known.owner = None;
                known.releases.push(Release { at_millis: at, adopted: None });
            }),
            Change::PodAdopted(uid, owner, at) => {
                self.pod(&uid, |known| {
                    known.owner = Some(owner);
                    known.owners.extend(Some(owner).filter(|owner| !known.owners.contains(owner)));
                    adopt(&mut known.releases, owner, at);
                });
                self.note_pod(owner, uid);
            }
            Change::PodEnds(uid, reason) => self.pod(&uid, |known| known.end_reason = Some(reason)),
            Change::Pruned(deployment, what) => self.prune(deployment, &what),
            Change::Unseen(kind, namespace, Some(since)) => {
                self.unseen.insert((kind, namespace), since);
            }
            Change::Unseen(kind, namespace, None) => {
                self.unseen.remove(&(kind, namespace));
            }
        }
        self.renew_starts();
    }

    fn deployment(&mut self, uid: &Uid, change: impl FnOnce(&mut Deployment)) {
        if let Some(known) = self.deployments.get_mut(uid) {
            change(known);
        }
    }

    fn replica_set(&mut self, uid: &Uid, change: impl FnOnce(&mut ReplicaSet)) {
        if let Some(known) = self.replica_sets.get_mut(uid) {
            change(known);
        }
    }

    fn pod(&mut self, uid: &Uid, change: impl FnOnce(&mut Pod)) {
        let Some((row, known)) = self.pods.row_mut(uid) else { return };
        let before = self.pod_index.index_pod(known);
        change(known);
        let after = self.pod_index.index_pod(known);
        self.pod_index.replace(row, &known.owners, before.as_ref(), after.as_ref());
    }

    fn prune(&mut self, deployment: Option<Uid>, what: &Pruned) {
        what.pods.iter().for_each(|uid| self.remove_pod(*uid));
        what.sets.iter().for_each(|uid| self.remove_set(*uid));
        let Some(uid) = deployment else { return };
        let Some(before) = what.before_millis else {
            self.remove_deployment(uid);
            return;
        };
        let sets: Vec<Uid> = self.sets_of(uid).map(|set| set.uid).collect();
        for set in sets {
            let has_old = |pod: &&Pod| prunable_states(pod, before) > 0 || prunable_releases(pod, before) > 0;
            for pod in self.pods_of(set).filter(has_old).map(|pod| pod.uid).collect::<Vec<_>>() {
                self.pod(&pod, |pod| {
                    prune_states(pod, before);
                    pod.releases.drain(..prunable_releases(pod, before));
                });
            }
            if let Some(set) = self.replica_sets.get_mut(&set) {
                set.scales.retain(|scale| scale.at_millis >= before);
                prune_revisions(&mut set.revisions, before);
                prune_owner_changes(&mut set.owner_changes, before);
            }
        }
        if let Some(deployment) = self.deployments.get_mut(&uid) {
            prune_lists(deployment, before);
        }
    }
}

/// Prunes the lists of a Deployment. The state at `before` stays known: a rollout is removed if the next one had started by then.
fn prune_lists(deployment: &mut Deployment, before: Millis) {
    let is_over = |next: &Rollout| next.started_millis.is_some_and(|at| at <= before);
    let over = deployment.rollouts.iter().skip(1).take_while(|next| is_over(next)).count();
    deployment.rollouts.drain(..over);
    deployment.rollouts_pruned += over as u32;
    let old = deployment.verdicts.iter().skip(1).take_while(|(at, _)| *at < before).count();
    deployment.verdicts.drain(..old);
    deployment.marks.retain(|mark| mark.at_millis >= before);
    deployment.story.retain(|entry| entry.at_millis >= before);
    let old = deployment.limits.iter().skip(1).take_while(|(at, _)| *at < before).count();
    deployment.limits.drain(..old);
    deployment.gaps.retain(|gap| gap.to_millis >= before);
    deployment.events.retain(|event| event.at_millis >= before);
    deployment.kept_since_millis = Some(deployment.kept_since_millis.map_or(before, |known| known.max(before)));
}

/// Records an adoption. A ReplicaSet that takes over a pod of another one released it at the same moment.
fn adopt(releases: &mut Vec<Release>, owner: Uid, at_millis: Millis) {
    match releases.last_mut() {
        Some(open) if open.adopted.is_none() => open.adopted = Some((at_millis, owner)),
        _ => releases.push(Release { at_millis, adopted: Some((at_millis, owner)) }),
    }
}

/// Removes revisions beyond [`MOST_REVISIONS`]. The first one stays (it shows later rollbacks), and so does the one at `before`.
fn prune_revisions(revisions: &mut Vec<(u64, Option<Millis>)>, before: Millis) {
    let old = revisions.iter().skip(2).take_while(|(_, since)| since.is_none_or(|at| at <= before)).count();
    let surplus = old.min(revisions.len().saturating_sub(MOST_REVISIONS));
    if surplus > 0 {
        revisions.drain(1..=surplus);
    }
}

/// Removes changes of the controller beyond [`MOST_OWNER_CHANGES`]. The last one until `before` stays, because it names the controller at
/// that time.
fn prune_owner_changes(changes: &mut Vec<(Millis, Option<Uid>)>, before: Millis) {
    let old = changes.iter().skip(1).take_while(|(at, _)| *at <= before).count();
    let surplus = old.min(changes.len().saturating_sub(MOST_OWNER_CHANGES));
    changes.drain(..surplus);
}

/// Removes states that ended before `before`.
fn prune_states(pod: &mut Pod, before: Millis) {
    let (start, last) = kept_states(pod, before);
    let mut index = 0..;
    pod.states.retain(|_| index.next().is_none_or(|index| index == 0 || index == start || index >= last));
}

/// Counts the states that can be removed.
pub(crate) fn prunable_states(pod: &Pod, before: Millis) -> usize {
    let (start, last) = kept_states(pod, before);
    last - 1 - usize::from((1..last).contains(&start))
}

/// Returns the indexes of two states that stay. The first state also stays (it begins when the pod was first observed). The returned ones
/// are the first in which the pod was available, which gives the duration of its start, and the one at `before`, which stays with all that
/// follow. Neighbours stay different.
fn kept_states(pod: &Pod, before: Millis) -> (usize, usize) {
    let start = pod.states.iter().position(|(state, _)| *state == PodState::Available).unwrap_or(0);
    let last = pod.states.iter().skip(2).take_while(|(_, at)| *at < before).count() + 1;
    let state = |index: usize| pod.states.get(index).map(|(state, _)| *state);
    let earlier = if start < last { start } else { 0 };
    (start, if last > 1 && state(earlier) == state(last) { last - 1 } else { last })
}

/// Counts the releases that can be removed: all but the last one before `before`, which determines the controller of the pod then. For a
/// pod with several controllers the one before it stays too, because it names who released the pod.
pub(crate) fn prunable_releases(pod: &Pod, before: Millis) -> usize {
    let old = pod.releases.iter().take_while(|release| release.at_millis < before).count();
    old.saturating_sub(if pod.owners.len() > 1 { 2 } else { 1 })
}

fn change_rollout(deployment: &mut Deployment, index: u32, rollout: Rollout) {
    let index = index.saturating_sub(deployment.rollouts_pruned);
    match deployment.rollouts.get_mut(index as usize) {
        Some(known) => *known = rollout,
        None => deployment.rollouts.push(rollout),
    }
}

fn join_gap(gaps: &mut Vec<Gap>, gap: Gap) {
    match gaps.last_mut() {
        Some(last) if gap.from_millis <= last.to_millis => {
            last.from_millis = last.from_millis.min(gap.from_millis);
            last.to_millis = last.to_millis.max(gap.to_millis);
        }
        _ => gaps.push(gap),
    }
}

fn tell_entry(story: &mut Vec<Entry>, entry: Entry) {
    match story.iter_mut().rev().find(|known| known.id == entry.id) {
        Some(known) => *known = entry,
        None => story.push(entry),
    }
}

fn keep_event(events: &mut Vec<Event>, event: Event) {
    let is_pull = |known: &Event| matches!(known.reason.as_str(), "Pulling" | "Pulled");
    let is_of_container = |known: &Event| known.about == event.about && known.container == event.container;
    // A finished pull replaces its start.
    let is_over = |known: &Event| event.reason == "Pulled" && is_pull(known) && is_of_container(known);
    events.retain(|known| known.uid != event.uid && !is_over(known));
    if events.len() >= Event::MOST {
        // Counts pulls first, then the most frequent reason: many equal Events must not replace the one that gives the cause.
        let alike = |one: &Event| match is_pull(one) {
            true => usize::MAX,
            false => events.iter().filter(|known| known.reason == one.reason).count(),
        };
        let oldest =
            events.iter().enumerate().rev().max_by_key(|(_, known)| alike(known)).map_or(0, |(index, _)| index);
        events.remove(oldest);
    }
    events.push(event);
}
