//! Changes: what one fact altered, small enough to send, and the only way a [`Model`] is ever altered.
//!
//! `snapshot(a)` and the changes from a to b give `snapshot(b)`, because the server itself gets from a to b by them.

use serde::{Deserialize, Serialize};

use crate::budget::Limits;
use crate::model::{
    Deployment, DeploymentNow, EndReason, Event, Gap, Mark, Model, Pod, PodNow, RemovedBecause, ReplicaSet,
    ReplicaSetNow, Rollout, Scale,
};
use crate::phase::PodState;
use crate::story::Entry;
use crate::verdict::KubectlVerdict;
use crate::{Millis, Uid};

/// One alteration of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Change {
    /// A Deployment appeared, or is sent whole.
    Deployment(Box<Deployment>),
    /// Its spec or status changed.
    DeploymentNow(Uid, Box<DeploymentNow>),
    /// The rollout at this index started or changed; forgotten ones count.
    Rollout(Uid, u32, Box<Rollout>),
    /// Nobody looked for a while. Joined with the last gap when they touch.
    Gap(Uid, Gap),
    /// It was deleted.
    DeploymentDeleted(Uid, Millis),
    /// A ReplicaSet appeared, or is sent whole.
    ReplicaSet(Box<ReplicaSet>),
    /// Its spec or status changed.
    ReplicaSetNow(Uid, Box<ReplicaSetNow>),
    /// Another Deployment controls it, or none.
    ReplicaSetOwner(Uid, Option<Uid>),
    /// It carries another revision.
    ReplicaSetRevision(Uid, u64, Option<Millis>),
    /// Its `spec.replicas` changed.
    Scale(Uid, Scale),
    /// It was deleted.
    ReplicaSetRemoved(Uid, Millis, RemovedBecause),
    /// A Pod appeared, or is sent whole.
    Pod(Box<Pod>),
    /// It entered a state.
    PodState(Uid, PodState, Millis),
    /// Node, reason, restarts or deletion time changed.
    PodNow(Uid, Box<PodNow>),
    /// Its ReplicaSet let go of it.
    PodReleased(Uid, Millis),
    /// A ReplicaSet took it up again.
    PodAdopted(Uid, Uid, Millis),
    /// Why it goes or went. May be said again, better, within a moment.
    PodEnds(Uid, EndReason),
    /// Old history is let go of; of the named Deployment, or of what belongs to none.
    Forget(Option<Uid>, Box<Forgotten>),
    /// What its strategy allows is something else from now on.
    Limits(Uid, Millis, Limits),
    /// A mark was made.
    #[serde(skip)]
    Mark(Uid, Mark),
    /// Something is told of it, or told better.
    #[serde(skip)]
    Story(Uid, Box<Entry>),
    /// An entry of its story is taken back, or became part of another one.
    #[serde(skip)]
    StoryTaken(Uid, u64),
    /// The kubectl verdict changed.
    #[serde(skip)]
    Verdict(Uid, Millis, KubectlVerdict),
    /// An Event about it or what belongs to it; replaces an earlier one with the same UID.
    #[serde(skip)]
    Event(Uid, Box<Event>),
}

/// What is let go of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten {
    /// What a Deployment's lists say of the time before; `None` takes the Deployment out whole.
    pub before_millis: Option<Millis>,
    /// Pods taken out.
    pub pods: Vec<Uid>,
    /// ReplicaSets taken out.
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
    /// Things that belong to no Deployment.
    Nothing,
}

impl Change {
    /// It travels to viewers; the others alter only what sentences are made of.
    #[must_use]
    pub const fn travels(&self) -> bool {
        !matches!(self, Self::Mark(..) | Self::Verdict(..) | Self::Event(..) | Self::Story(..) | Self::StoryTaken(..))
    }

    /// The object that it is about.
    #[must_use]
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
            | Self::Forget(Some(uid), _)
            | Self::DeploymentDeleted(uid, _) => Subject::Deployment(*uid),
            Self::ReplicaSet(set) => Subject::ReplicaSet(set.uid),
            Self::ReplicaSetNow(uid, _)
            | Self::ReplicaSetOwner(uid, _)
            | Self::ReplicaSetRevision(uid, ..)
            | Self::Scale(uid, _)
            | Self::ReplicaSetRemoved(uid, ..) => Subject::ReplicaSet(*uid),
            Self::Pod(pod) => Subject::Pod(pod.uid),
            Self::PodState(uid, ..)
            | Self::PodNow(uid, _)
            | Self::PodReleased(uid, _)
            | Self::PodAdopted(uid, ..)
            | Self::PodEnds(uid, _) => Subject::Pod(*uid),
            Self::Forget(None, _) => Subject::Nothing,
        }
    }
}

impl Model {
    /// Applies one change. A change about an object that the model does not hold changes nothing.
    pub fn apply_change(&mut self, change: &Change) {
        if let Change::Forget(deployment, what) = change {
            return self.forget(*deployment, what);
        }
        match change.subject() {
            Subject::Nothing => {}
            Subject::Deployment(uid) => {
                if let Change::Deployment(whole) = change {
                    self.deployments.insert(uid, (**whole).clone());
                } else if let Some(deployment) = self.deployments.get_mut(&uid) {
                    change_deployment(deployment, change);
                }
            }
            Subject::ReplicaSet(uid) => {
                if let Change::ReplicaSet(whole) = change {
                    for owner in &whole.owners {
                        self.note_set(*owner, uid);
                    }
                    self.replica_sets.insert(uid, (**whole).clone());
                } else if let Some(set) = self.replica_sets.get_mut(&uid) {
                    change_replica_set(set, change);
                    if let Some(owner) = set.owner {
                        self.note_set(owner, uid);
                    }
                }
            }
            Subject::Pod(uid) => {
                if let Change::Pod(whole) = change {
                    self.pods.insert(uid, (**whole).clone());
                    for owner in &whole.owners {
                        self.note_pod(*owner, uid);
                    }
                } else if let Some(pod) = self.pods.get_mut(&uid) {
                    change_pod(pod, change);
                }
                if let Some(owner) = self.pods.get(&uid).and_then(|pod| pod.owner) {
                    self.note_pod(owner, uid);
                }
            }
        }
    }
}

impl Model {
    fn forget(&mut self, deployment: Option<Uid>, what: &Forgotten) {
        what.pods.iter().for_each(|uid| self.remove_pod(*uid));
        what.sets.iter().for_each(|uid| self.remove_set(*uid));
        let Some(uid) = deployment else { return };
        let Some(before) = what.before_millis else {
            self.deployments.remove(&uid);
            return;
        };
        let sets: Vec<Uid> = self.sets_of(uid).map(|set| set.uid).collect();
        for set in sets {
            for pod in self.pods_of(set).map(|pod| pod.uid).collect::<Vec<_>>() {
                if let Some(pod) = self.pods.get_mut(&pod) {
                    forget_states(pod, before);
                }
            }
            if let Some(set) = self.replica_sets.get_mut(&set) {
                set.scales.retain(|scale| scale.at_millis >= before);
            }
        }
        if let Some(deployment) = self.deployments.get_mut(&uid) {
            forget_lists(deployment, before);
        }
    }
}

/// A rollout reigns until the next one starts; the state at `before` stays known.
fn forget_lists(deployment: &mut Deployment, before: Millis) {
    let is_over = |next: &Rollout| next.started_millis.is_some_and(|at| at <= before);
    let over = deployment.rollouts.iter().skip(1).take_while(|next| is_over(next)).count();
    deployment.rollouts.drain(..over);
    deployment.rollouts_forgotten += over as u32;
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

/// Lets go of states. The first stays (it is when the pod was first seen), and the one that it was in at `before`.
fn forget_states(pod: &mut Pod, before: Millis) {
    let old = forgettable_states(pod, before);
    if old > 0 {
        pod.states.drain(1..=old);
    }
}

/// How many states after the first can go; neighbours stay different.
pub(crate) fn forgettable_states(pod: &Pod, before: Millis) -> usize {
    let old = pod.states.iter().skip(2).take_while(|(_, at)| *at < before).count();
    let state = |index: usize| pod.states.get(index).map(|(state, _)| *state);
    if old > 0 && state(0) == state(old + 1) { old - 1 } else { old }
}

fn change_deployment(deployment: &mut Deployment, change: &Change) {
    match change {
        Change::DeploymentNow(_, now) => deployment.now = (**now).clone(),
        Change::Rollout(_, index, rollout) => {
            let index = index.saturating_sub(deployment.rollouts_forgotten);
            match deployment.rollouts.get_mut(index as usize) {
                Some(known) => *known = (**rollout).clone(),
                None => deployment.rollouts.push((**rollout).clone()),
            }
        }
        Change::Gap(_, gap) => match deployment.gaps.last_mut() {
            Some(last) if gap.from_millis <= last.to_millis => {
                last.from_millis = last.from_millis.min(gap.from_millis);
                last.to_millis = last.to_millis.max(gap.to_millis);
            }
            _ => deployment.gaps.push(*gap),
        },
        Change::Event(_, event) => {
            deployment.events.retain(|known| known.uid != event.uid);
            let surplus = (deployment.events.len() + 1).saturating_sub(Event::MOST);
            deployment.events.drain(..surplus);
            deployment.events.push((**event).clone());
        }
        Change::Limits(_, at, limits) => deployment.limits.push((*at, *limits)),
        Change::Mark(_, mark) => deployment.marks.push(mark.clone()),
        Change::Story(_, entry) => match deployment.story.iter_mut().rev().find(|known| known.id == entry.id) {
            Some(known) => known.clone_from(entry),
            None => deployment.story.push((**entry).clone()),
        },
        Change::StoryTaken(_, id) => deployment.story.retain(|entry| entry.id != *id),
        Change::Verdict(_, at, verdict) => deployment.verdicts.push((*at, *verdict)),
        Change::DeploymentDeleted(_, at) => deployment.deleted_millis = Some(*at),
        _ => {}
    }
}

fn change_replica_set(set: &mut ReplicaSet, change: &Change) {
    match change {
        Change::ReplicaSetNow(_, now) => set.now = (**now).clone(),
        Change::ReplicaSetOwner(_, owner) => {
            set.owner = *owner;
            set.owners.extend(owner.filter(|owner| !set.owners.contains(owner)));
        }
        Change::ReplicaSetRevision(_, revision, at) => set.revisions.push((*revision, *at)),
        Change::Scale(_, scale) => set.scales.push(scale.clone()),
        Change::ReplicaSetRemoved(_, at, because) => {
            set.removed_millis = Some(*at);
            set.removed_because = Some(*because);
        }
        _ => {}
    }
}

fn change_pod(pod: &mut Pod, change: &Change) {
    match change {
        Change::PodState(_, state, at) => pod.states.push((*state, *at)),
        Change::PodNow(_, now) => pod.now = (**now).clone(),
        Change::PodReleased(_, at) => {
            pod.owner = None;
            pod.released_millis = pod.released_millis.or(Some(*at));
            pod.last_released_millis = Some(*at);
        }
        Change::PodAdopted(_, owner, at) => {
            pod.owner = Some(*owner);
            if !pod.owners.contains(owner) {
                pod.owners.push(*owner);
            }
            pod.adopted_millis = Some(*at);
        }
        Change::PodEnds(_, reason) => pod.end_reason = Some(*reason),
        _ => {}
    }
}
