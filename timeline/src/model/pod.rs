//! A pod, its life, and why it ended.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::container::FORGETS_MILLIS;
use crate::model::fact::{Container, PodCondition};
use crate::model::story::{Entry, Happening};
use crate::model::{PodState, server_only};
use crate::{Millis, Uid};

/// A pod that arrives this long after its creation existed before it was observed. Creation times are whole seconds.
const LATE_MILLIS: Millis = 2_500;

/// The readiness of a pod flaps from this many losses on within [`FLAP_MILLIS`].
pub const FLAPS: usize = 3;
/// Losses of readiness count for this time.
pub const FLAP_MILLIS: Millis = 300_000;

/// A Pod and its life.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Pod {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.creationTimestamp`.
    pub created_at_millis: Millis,
    /// Every ReplicaSet that ever controlled it, in order; the one that its last life began with is the first.
    pub owners: Vec<Uid>,
    /// The ReplicaSet that controls it now; `None` after a release.
    pub owner: Option<Uid>,
    /// Its life: each state with its start, equal neighbours merged.
    pub states: Vec<(PodState, Millis)>,
    /// Every change of its controller: releases, and adoptions after them, in order.
    pub releases: Vec<Release>,
    /// Why it ended, decided when its deletion was first seen.
    pub end_reason: Option<EndReason>,
    /// As last observed; shared by the models and the log that it is in.
    pub now: Arc<PodNow>,
}

/// A ReplicaSet let go of a pod: `metadata.ownerReferences` named no controller any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// When it was released.
    pub at_millis: Millis,
    /// When a ReplicaSet adopted it after that, and which; `None` while none did. Where it passed from one to another at once, both
    /// times are the same.
    pub adopted: Option<(Millis, Uid)>,
}

impl Pod {
    /// Returns when it was first released. A direct transfer between ReplicaSets is no release.
    pub fn released_millis(&self) -> Option<Millis> {
        let is_alone = |release: &&Release| release.adopted.is_none_or(|(at, _)| at != release.at_millis);
        self.releases.iter().find(is_alone).map(|release| release.at_millis)
    }

    /// Returns when it was last adopted after a release.
    pub fn adopted_millis(&self) -> Option<Millis> {
        self.releases.iter().rev().find_map(|release| release.adopted).map(|(at, _)| at)
    }

    /// Returns the first ReplicaSet that controlled it.
    pub fn replica_set(&self) -> Option<Uid> {
        self.owners.first().copied()
    }

    /// Returns the ReplicaSet that controls it, or was the last one to do so.
    pub fn last_owner(&self) -> Option<Uid> {
        let adopted = self.releases.iter().rev().find_map(|release| release.adopted);
        // A pod without an earlier adoption was released by the ReplicaSet that created it.
        self.owner.or(adopted.map(|(_, set)| set)).or(self.replica_set())
    }

    /// Returns the ReplicaSet that let go of it at that time.
    pub fn released_by(&self, at_millis: Millis) -> Option<Uid> {
        let mut before = self.releases.iter().rev().filter(|release| release.at_millis < at_millis);
        before.find_map(|release| release.adopted).map(|(_, set)| set).or(self.replica_set())
    }

    /// Returns its states, each with its begin, and its end if it is over.
    pub fn spans(&self) -> impl Iterator<Item = (PodState, Millis, Option<Millis>)> {
        let ends = self.states.iter().skip(1).map(|(_, at)| Some(*at)).chain([None]);
        self.states.iter().zip(ends).map(|((state, from), to)| (*state, *from, to))
    }

    /// Returns its state.
    pub fn state(&self) -> PodState {
        self.states.last().map_or(PodState::Scheduling, |(state, _)| *state)
    }

    /// Returns its state at that time; `None` before it was seen.
    pub fn state_at(&self, at_millis: Millis) -> Option<PodState> {
        self.states.iter().rev().find(|(_, since)| *since <= at_millis).map(|(state, _)| *state)
    }

    /// Returns when its state began.
    pub fn since_millis(&self) -> Millis {
        self.states.last().map_or(self.created_at_millis, |(_, at)| *at)
    }

    /// Returns when it last moved: since when it is in its state, or when its scheduling gates were removed after that. While it has
    /// some, schedulers ignore it.
    pub fn moved_millis(&self) -> Millis {
        let since = self.since_millis();
        self.now.ungated_millis.map_or(since, |ungated| ungated.max(since))
    }

    /// Returns the arrival of its first observation.
    pub fn first_seen_millis(&self) -> Millis {
        self.states.first().map_or(self.created_at_millis, |(_, at)| *at)
    }

    /// Since when it has been in trouble with a container: since it was ready for the last time for so long that its kubelet forgets what
    /// was before, else for the first time, or since the container was restarted before that and it stayed ready; if it never was, since
    /// the container ended first, or it was seen first. `story` is that of its Deployment.
    pub fn trouble_since_millis(&self, container: &Container, story: &[Entry]) -> Millis {
        let is_long = |pair: &[(PodState, Millis)]| matches!(pair, [(state, since), (_, until)] if state.is_ready() && until - since >= FORGETS_MILLIS);
        let long_ready = self.states.windows(2).rposition(is_long);
        let ready = long_ready.or_else(|| self.states.iter().position(|(state, _)| state.is_ready()));
        let mut later = self.states.iter().skip(ready.unwrap_or(0));
        let is_trouble = |state: PodState| if ready.is_some() { !state.is_ready() } else { state == PodState::Failing };
        let begun = later.find(|(state, _)| is_trouble(*state)).map(|(_, at)| *at);
        let first_seen = self.first_seen_millis();
        if let Some((_, since)) = ready.and_then(|ready| self.states.get(ready)) {
            let remembered = begun.map_or(*since, |begun| (begun - FORGETS_MILLIS).max(*since));
            let mut restarts = self.told_restarts(container, story).filter(|(_, was_seen)| *was_seen);
            let restarted = restarts.find(|(at, _)| *at >= remembered).map(|(at, _)| at);
            return begun.into_iter().chain(restarted).min().unwrap_or(first_seen);
        }
        // A container that its kubelet stops runs again at once: no state tells of that end.
        let failures = self.states.iter().filter(|(state, _)| *state == PodState::Failing).count();
        let is_unseen = container.exits() as usize > failures;
        let restarted = self.told_restarts(container, story).next();
        let restarted = restarted.map(|(at, was_seen)| if was_seen { at } else { first_seen });
        let ended = begun.into_iter().chain(restarted).min();
        ended.filter(|_| restarted.is_some() || !is_unseen).unwrap_or(first_seen)
    }

    /// Returns when restarts of a container are known to have been, and whether they were seen: its first one, and those that the story
    /// tells in the name of this pod. Of several pods that restart alike it names one.
    pub fn told_restarts(&self, container: &Container, story: &[Entry]) -> impl Iterator<Item = (Millis, bool)> {
        let told = story.iter().filter_map(move |entry| {
            let Happening::Restarted { pod, restart, .. } = &entry.what else { return None };
            let is_its = *pod == self.name && restart.container == container.name;
            is_its.then_some((entry.at_millis, restart.was_seen))
        });
        container.first_restart.into_iter().chain(told)
    }

    /// Returns whether its creation was observed. Otherwise its life before is not known.
    pub fn is_creation_seen(&self, skew_millis: Millis) -> bool {
        self.first_seen_millis() - self.created_at_millis.saturating_add(skew_millis) < LATE_MILLIS
    }

    /// Returns when it was created, by our clock: its arrival if a watch observed its creation, as the API server
    /// counts whole seconds.
    pub fn created_millis(&self, skew_millis: Millis) -> Millis {
        let (told, first) = (self.created_at_millis.saturating_add(skew_millis), self.first_seen_millis());
        let is_listed = self.now.listed_millis == Some(first);
        if is_listed || !self.is_creation_seen(skew_millis) { told } else { first }
    }

    /// Returns when it was asked to go, or was gone without that being seen.
    pub fn ended_millis(&self) -> Option<Millis> {
        self.states.iter().find(|(state, _)| state.is_ending()).map(|(_, at)| *at)
    }

    /// Returns whether it was ever ready.
    pub fn was_ready(&self) -> bool {
        self.states.iter().any(|(state, _)| state.is_ready())
    }

    /// Returns whether it was ever available.
    pub fn was_available(&self) -> bool {
        self.states.iter().any(|(state, _)| *state == PodState::Available)
    }

    /// Times at which it lost its readiness and ran on, the last one first. Those that did not count any more when its last state began
    /// are left out.
    pub fn readiness_losses(&self) -> impl Iterator<Item = Millis> {
        let since = self.since_millis().saturating_sub(FLAP_MILLIS);
        let late = self.states.windows(2).rev().take_while(move |pair| pair.last().is_some_and(|(_, at)| *at >= since));
        late.filter_map(|pair| match pair {
            [(before, _), (PodState::Unready, at)] if before.is_ready() => Some(*at),
            _ => None,
        })
    }

    /// Returns when it was gone.
    pub fn gone_millis(&self) -> Option<Millis> {
        self.states.last().filter(|(state, _)| *state == PodState::Gone).map(|(_, at)| *at)
    }

    /// Controllers count it: it neither ended nor was asked to go (`IsPodActive` in `controller_utils.go`).
    pub fn is_active(&self) -> bool {
        self.now.terminal_millis.is_none() && !self.state().is_ending()
    }

    /// Controllers counted it at that time; false before it was seen.
    pub fn is_active_at(&self, at_millis: Millis) -> bool {
        self.state_at(at_millis).is_some_and(|state| !state.is_ending())
            && self.now.terminal_millis.is_none_or(|at| at > at_millis)
    }

    /// Returns whether it failed as a whole, for good, and its object still exists.
    pub fn is_leftover(&self) -> bool {
        self.now.terminal_millis.is_some() && self.state() == PodState::Failing
    }

    /// Returns whether it was released and not adopted since.
    pub fn is_out_of_rotation(&self) -> bool {
        !self.releases.is_empty() && self.owner.is_none()
    }
}

/// A Pod as last observed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodNow {
    /// `spec.nodeName`.
    pub node: Option<String>,
    /// Why it is in its state; empty when there is nothing to say.
    pub reason: String,
    /// The message behind the reason.
    pub message: String,
    /// Restarts as kubectl counts them: of init containers while it initialises, of sidecars and app containers after that.
    pub restarts: u32,
    /// Highest sum of `restartCount` of all its containers seen.
    #[serde(with = "server_only")]
    pub most_restarts: u32,
    /// Restarts when it was first seen.
    #[serde(with = "server_only")]
    pub first_restarts: u32,
    /// The last message about an image that cannot be pulled; empty while none fails. Some kubelets say why at the first failure, and
    /// then only that they back off.
    #[serde(with = "server_only")]
    pub pull_error: Box<str>,
    /// A ready pod starts to count at this time, by our clock.
    pub available_at_millis: Option<Millis>,
    /// `deletionTimestamp`: when the grace period ends.
    pub deletion_at_millis: Option<Millis>,
    /// Since when its phase is Succeeded or Failed, which it never leaves: by arrival, or its creation where that was not seen.
    pub terminal_millis: Option<Millis>,
    /// When a list showed a state of it whose start was not observed.
    #[serde(with = "server_only")]
    pub listed_millis: Option<Millis>,
    /// Since when it is ready, or was when it last was, by the kubelet's clock.
    #[serde(with = "server_only")]
    pub ready_since_millis: Option<Millis>,
    /// Condition `DisruptionTarget`, when it was true last: its reason, and when that arrived. In a box, as most pods have none.
    #[serde(with = "server_only")]
    pub disruption: Option<Box<(String, Millis)>>,
    /// When its scheduling gates were removed.
    #[serde(with = "server_only")]
    pub ungated_millis: Option<Millis>,
    /// `status.nominatedNodeName`.
    #[serde(with = "server_only")]
    pub nominated_node: Option<Box<str>>,
    /// Its pod deletion cost.
    #[serde(with = "server_only")]
    pub deletion_cost: i32,
    /// Containers in the order of the spec: init containers first.
    #[serde(with = "server_only")]
    pub containers: Vec<Container>,
    /// Conditions that are worth a look.
    #[serde(with = "server_only")]
    pub conditions: Vec<PodCondition>,
}

impl PodNow {
    /// Counts the restarts of its containers, as kubectl does, less those that never were ([`Container::is_lost`]).
    pub fn restarts(&self) -> u32 {
        let is_over = self.terminal_millis.is_some();
        let lost = self.containers.iter().filter(|container| container.is_lost(is_over)).count();
        self.restarts.saturating_sub(u32::try_from(lost).unwrap_or(u32::MAX))
    }
}

/// Why a pod ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EndReason {
    /// Its node is gone.
    NodeLost,
    /// Evicted, preempted or ended by its kubelet.
    Evicted,
    /// Its Deployment is gone or being deleted.
    DeploymentDeleted,
    /// Its ReplicaSet is gone or being deleted.
    ReplicaSetDeleted,
    /// Its ReplicaSet has fewer replicas now.
    ScaledDown,
    /// By someone or something outside the rollout.
    DeletedManually,
    /// Unknown: its end was not observed, or its ReplicaSet never was.
    Unknown,
}
