//! A pod, its life, and why it ended.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::container::FORGETS_MILLIS;
use crate::model::fact::{Container, PodCondition};
use crate::model::story::{Entry, Happening};
use crate::model::{PodState, server_only};
use crate::{Millis, Uid};

/// A pod that arrives this long after its creation existed before the observation. Creation times are whole seconds.
const LATE_MILLIS: Millis = 2_500;

/// Number of losses of readiness within [`FLAP_MILLIS`] from which on readiness flaps.
pub const FLAPS: usize = 3;
/// Period in which losses of readiness count.
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
    /// Every ReplicaSet that ever controlled it, in order. The first is the one with which its last life began.
    pub owners: Vec<Uid>,
    /// The ReplicaSet that controls it now; `None` after a release.
    pub owner: Option<Uid>,
    /// Its life: each state with its start, equal neighbours merged.
    pub states: Vec<(PodState, Millis)>,
    /// Every change of its controller: releases, and adoptions after them, in order.
    pub releases: Vec<Release>,
    /// Why it ended, decided when its deletion was first observed.
    pub end_reason: Option<EndReason>,
    /// As last observed; shared between models and the log.
    pub now: Arc<PodNow>,
}

/// A ReplicaSet released a pod: `metadata.ownerReferences` no longer named a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Release {
    /// When it was released.
    pub at_millis: Millis,
    /// When and by which ReplicaSet it was adopted after that; `None` if it was not. In a direct transfer both times are equal.
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

    /// Returns the ReplicaSet that released it at that time.
    pub fn released_by(&self, at_millis: Millis) -> Option<Uid> {
        let mut before = self.releases.iter().rev().filter(|release| release.at_millis < at_millis);
        before.find_map(|release| release.adopted).map(|(_, set)| set).or(self.replica_set())
    }

    /// Returns its states, each with its beginning, and its end if it is over.
    pub fn spans(&self) -> impl Iterator<Item = (PodState, Millis, Option<Millis>)> {
        let ends = self.states.iter().skip(1).map(|(_, at)| Some(*at)).chain([None]);
        self.states.iter().zip(ends).map(|((state, from), to)| (*state, *from, to))
    }

    /// Returns its state.
    pub fn state(&self) -> PodState {
        self.states.last().map_or(PodState::Scheduling, |(state, _)| *state)
    }

    /// Returns its state at that time; `None` before it was observed.
    pub fn state_at(&self, at_millis: Millis) -> Option<PodState> {
        self.states.iter().rev().find(|(_, since)| *since <= at_millis).map(|(state, _)| *state)
    }

    /// Returns when its state began.
    pub fn since_millis(&self) -> Millis {
        self.states.last().map_or(self.created_at_millis, |(_, at)| *at)
    }

    /// Returns its last progress: since when it is in its state, or the later removal of its scheduling gates. Schedulers ignore a pod with
    /// gates.
    pub fn moved_millis(&self) -> Millis {
        let since = self.since_millis();
        self.now.ungated_millis.map_or(since, |ungated| ungated.max(since))
    }

    /// Returns the arrival of its first observation.
    pub fn first_seen_millis(&self) -> Millis {
        self.states.first().map_or(self.created_at_millis, |(_, at)| *at)
    }

    /// Returns since when it has trouble with a container. If the pod was ever ready: since it stopped being ready after the last ready
    /// time that was long enough for the kubelet to forget earlier trouble (after the first ready time, if none was that long), or since an
    /// earlier restart of the container after which it stayed ready. If it was never ready: since the first end of the container, or its
    /// first observation. `story` is that of its Deployment.
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
        // A container that its kubelet stops runs again at once, so no state shows that end.
        let failures = self.states.iter().filter(|(state, _)| *state == PodState::Failing).count();
        let is_unseen = container.exits() as usize > failures;
        let restarted = self.told_restarts(container, story).next();
        let restarted = restarted.map(|(at, was_seen)| if was_seen { at } else { first_seen });
        let ended = begun.into_iter().chain(restarted).min();
        ended.filter(|_| restarted.is_some() || !is_unseen).unwrap_or(first_seen)
    }

    /// Returns the known times of restarts of a container, and whether they were observed: its first one, and those in the story under the
    /// name of this pod. For several pods that restart alike the story names one.
    pub fn told_restarts(&self, container: &Container, story: &[Entry]) -> impl Iterator<Item = (Millis, bool)> {
        let told = story.iter().filter_map(move |entry| {
            let Happening::Restarted { pod, restart, .. } = &entry.what else { return None };
            let is_its = *pod == self.name && restart.container == container.name;
            is_its.then_some((entry.at_millis, restart.was_seen))
        });
        container.first_restart.into_iter().chain(told)
    }

    /// Returns whether its creation was observed. Otherwise its earlier life is unknown.
    pub fn is_creation_seen(&self, skew_millis: Millis) -> bool {
        self.first_seen_millis() - self.created_at_millis.saturating_add(skew_millis) < LATE_MILLIS
    }

    /// Returns when it was created, by our clock: its arrival if a watch observed its creation, because the API server's time is in whole
    /// seconds.
    pub fn created_millis(&self, skew_millis: Millis) -> Millis {
        let (told, first) = (self.created_at_millis.saturating_add(skew_millis), self.first_seen_millis());
        let is_listed = self.now.listed_millis == Some(first);
        if is_listed || !self.is_creation_seen(skew_millis) { told } else { first }
    }

    /// Returns when it was asked to stop, or was gone without an observed request.
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

    /// Returns the times at which it lost its readiness and kept running, the last one first. Leaves out those that had expired when its
    /// last state began.
    pub fn readiness_losses(&self) -> impl Iterator<Item = Millis> {
        let since = self.since_millis().saturating_sub(FLAP_MILLIS);
        let late = self.states.windows(2).rev().take_while(move |pair| pair.last().is_some_and(|(_, at)| *at >= since));
        late.filter_map(|pair| match pair {
            [(before, _), (PodState::Unready, at)] if before.is_ready() => Some(*at),
            _ => None,
        })
    }

    /// Returns when it was deleted.
    pub fn gone_millis(&self) -> Option<Millis> {
        self.states.last().filter(|(state, _)| *state == PodState::Gone).map(|(_, at)| *at)
    }

    /// Returns whether controllers count it: it neither ended nor was asked to stop (`IsPodActive` in `controller_utils.go`).
    pub fn is_active(&self) -> bool {
        self.now.terminal_millis.is_none() && !self.state().is_ending()
    }

    /// Returns whether controllers counted it at that time; false before it was observed.
    pub fn is_active_at(&self, at_millis: Millis) -> bool {
        self.state_at(at_millis).is_some_and(|state| !state.is_ending())
            && self.now.terminal_millis.is_none_or(|at| at > at_millis)
    }

    /// Returns whether it failed permanently as a whole, and its object still exists.
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
    /// Reason of its state; empty if there is none.
    pub reason: String,
    /// The message behind the reason.
    pub message: String,
    /// Restarts as kubectl counts them: of init containers while it initialises, of sidecars and app containers after that.
    pub restarts: u32,
    /// Maximum observed sum of `restartCount` of all its containers.
    #[serde(with = "server_only")]
    pub most_restarts: u32,
    /// Restarts at the first observation.
    #[serde(with = "server_only")]
    pub first_restarts: u32,
    /// The last message about an image that cannot be pulled; empty while none fails. Some kubelets give the reason only at the first
    /// failure, and then report only back-off.
    #[serde(with = "server_only")]
    pub pull_error: Box<str>,
    /// When a ready pod becomes available, by our clock.
    pub available_at_millis: Option<Millis>,
    /// `deletionTimestamp`: when the grace period ends.
    pub deletion_at_millis: Option<Millis>,
    /// Since when its phase is Succeeded or Failed, which is permanent: by arrival, or its creation if that was not observed.
    pub terminal_millis: Option<Millis>,
    /// When a list showed a state whose start was not observed.
    #[serde(with = "server_only")]
    pub listed_millis: Option<Millis>,
    /// Since when it is or was last ready, by the kubelet's clock.
    #[serde(with = "server_only")]
    pub ready_since_millis: Option<Millis>,
    /// Reason and arrival of the condition `DisruptionTarget` when it was last true. Boxed, as most pods have none.
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
    /// Notable conditions.
    #[serde(with = "server_only")]
    pub conditions: Vec<PodCondition>,
}

impl PodNow {
    /// Counts the restarts of its containers, as kubectl does, without those that never happened ([`Container::is_lost`]).
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
    /// Its node is deleted.
    NodeLost,
    /// Evicted, preempted or ended by its kubelet.
    Evicted,
    /// Its Deployment is deleted or being deleted.
    DeploymentDeleted,
    /// Its ReplicaSet is deleted or being deleted.
    ReplicaSetDeleted,
    /// Its ReplicaSet has fewer replicas now.
    ScaledDown,
    /// Deleted by something outside the rollout.
    DeletedManually,
    /// Unknown: its end, or its ReplicaSet, was not observed.
    Unknown,
}
