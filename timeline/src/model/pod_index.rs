//! Counts, moves and start times of the pods of each ReplicaSet, updated incrementally.
//!
//! Everything here is derived from the pods: nothing of it is sent or stored. Only [`PodIndex::replace`] changes it, and [`crate::Model`]
//! calls that for every change of a pod.

use crate::model::fact::{Container, ContainerState};
use crate::model::pod::{FLAP_MILLIS, FLAPS};
use crate::model::table::{Index, Table};
use crate::model::{Pod, PodState};
use crate::{Millis, Uid};

/// Moves are kept for at least this long, and removed in batches within twice this time.
const KEPT_MILLIS: Millis = 120_000;

/// Counts of the pods of one ReplicaSet. Released pods count only in `out_of_rotation` of their last ReplicaSet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PodCounts {
    /// Pods that exist and have no deletion timestamp, whatever their phase.
    pub live: u32,
    /// Pods that controllers count ([`Pod::is_active`]).
    pub active: u32,
    /// Pods that exist and have not ended, terminating ones included.
    pub there: u32,
    /// Available pods.
    pub available: u32,
    /// Pods that start, or fail.
    pub not_yet: u32,
    /// Pods of `not_yet` that fail.
    pub failing: u32,
    /// Pods that failed permanently and still exist.
    pub failed: u32,
    /// Pods that terminate: they exist and have a deletion timestamp.
    pub terminating: u32,
    /// Released pods that still run.
    pub out_of_rotation: u32,
}

impl PodCounts {
    fn of(pod: &Pod) -> Self {
        let (state, is_owned) = (pod.state(), pod.owner.is_some());
        if state == PodState::Gone {
            return Self::default();
        }
        let is_leftover = pod.is_leftover();
        let is_failing = state == PodState::Failing && !is_leftover;
        let is_starting = PodLayer::of(state) == Some(PodLayer::NotYet);
        let count = |is: bool| u32::from(is_owned && is);
        Self {
            live: count(pod.now.deletion_at_millis.is_none()),
            active: count(pod.is_active()),
            there: count(pod.now.terminal_millis.is_none()),
            available: count(state == PodState::Available),
            not_yet: count(is_starting || is_failing),
            failing: count(is_failing),
            failed: count(is_leftover),
            terminating: count(state == PodState::Terminating),
            out_of_rotation: u32::from(pod.is_out_of_rotation() && !is_leftover && state != PodState::Finished),
        }
    }

    /// Counts the pods that exist.
    pub const fn count_existing(&self) -> u32 {
        self.live + self.terminating
    }

    fn combine(&mut self, other: Self, change: impl Fn(u32, u32) -> u32) {
        self.live = change(self.live, other.live);
        self.active = change(self.active, other.active);
        self.there = change(self.there, other.there);
        self.available = change(self.available, other.available);
        self.not_yet = change(self.not_yet, other.not_yet);
        self.failing = change(self.failing, other.failing);
        self.failed = change(self.failed, other.failed);
        self.terminating = change(self.terminating, other.terminating);
        self.out_of_rotation = change(self.out_of_rotation, other.out_of_rotation);
    }
}

impl std::ops::Add for PodCounts {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self.combine(other, u32::saturating_add);
        self
    }
}

/// Groups of pod states whose numbers are followed over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodLayer {
    /// Available.
    Available,
    /// Starting.
    NotYet,
    /// Failing.
    Failing,
    /// Terminating.
    Terminating,
}

impl PodLayer {
    /// Every layer, in the order of [`LayerCounts`].
    pub const ALL: [Self; 4] = [Self::Available, Self::NotYet, Self::Failing, Self::Terminating];

    /// Returns the layer of a state; `None` for pods that ended.
    pub const fn of(state: PodState) -> Option<Self> {
        match state {
            PodState::Available => Some(Self::Available),
            PodState::Scheduling | PodState::Starting | PodState::Unready | PodState::Ready => Some(Self::NotYet),
            PodState::Failing => Some(Self::Failing),
            PodState::Terminating => Some(Self::Terminating),
            PodState::Gone | PodState::Finished => None,
        }
    }
}

/// Number of pods in each [`PodLayer`].
pub type LayerCounts = [i32; 4];

/// A pod that entered or left a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodMove {
    /// Time of the move.
    pub at_millis: Millis,
    /// The layer.
    pub layer: PodLayer,
    /// 1 for entering, -1 for leaving.
    pub by: i32,
}

impl PodMove {
    /// Counts the move.
    pub fn count(&self, counts: &mut LayerCounts) {
        if let Some(count) = counts.get_mut(self.layer as usize) {
            *count += self.by;
        }
    }
}

#[derive(Debug, Clone, Default)]
struct SetPods {
    /// Pods that it controls or ever controlled.
    pods: u32,
    counts: PodCounts,
    /// Pods in each layer now, without `released` ones.
    layers: LayerCounts,
    /// Number of pods that were ever released, whose moves are not kept.
    released: u32,
    /// Moves of the others, by time.
    moves: Vec<PodMove>,
    /// Moves before this time are removed.
    since_millis: Millis,
    /// Minimum and maximum time until its pods became available.
    starts: Option<(Millis, Millis)>,
}

impl SetPods {
    fn add(&mut self, pod: &IndexedPod) {
        self.counts.combine(pod.counts, u32::saturating_add);
        self.released += u32::from(pod.is_released);
        self.count_layer(pod, 1);
    }

    fn remove(&mut self, pod: &IndexedPod) {
        self.counts.combine(pod.counts, u32::saturating_sub);
        self.released = self.released.saturating_sub(u32::from(pod.is_released));
        self.count_layer(pod, -1);
    }

    /// Replaces moves of a pod, both newest first. Copies only differences: a flapping pod has many, and most of them stay.
    fn replace_moves(&mut self, before: &[PodMove], after: &[PodMove]) {
        let kept = before.iter().rev().zip(after.iter().rev()).take_while(|(before, after)| before == after).count();
        for one in before.iter().take(before.len() - kept) {
            if let Ok(place) = self.moves.binary_search(one) {
                self.moves.remove(place);
            }
        }
        after.iter().take(after.len() - kept).rev().for_each(|one| self.add_move(*one));
    }

    fn count_layer(&mut self, pod: &IndexedPod, by: i32) {
        if let Some(layer) = pod.layer.filter(|_| !pod.is_released) {
            PodMove { at_millis: 0, layer, by }.count(&mut self.layers);
        }
    }

    fn add_move(&mut self, one: PodMove) {
        let place = self.moves.iter().rposition(|known| *known <= one).map_or(0, |before| before + 1);
        self.moves.insert(place, one);
        let [oldest, .., newest] = self.moves.as_slice() else { return };
        if newest.at_millis.saturating_sub(oldest.at_millis) > 2 * KEPT_MILLIS {
            self.since_millis = newest.at_millis - KEPT_MILLIS;
            self.moves.drain(..self.moves.partition_point(|one| one.at_millis < self.since_millis));
        }
    }
}

/// The entry of one pod in the index.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IndexedPod {
    /// The ReplicaSet that counts it.
    home: Option<Uid>,
    /// Number of ReplicaSets that ever controlled it.
    owners: usize,
    counts: PodCounts,
    layer: Option<PodLayer>,
    is_released: bool,
    /// Its moves, newest first.
    moves: Vec<PodMove>,
    /// Until when it is noteworthy.
    noteworthy_until: Millis,
    start_millis: Option<Millis>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct PodIndex {
    /// Whether the index is stopped and holds nothing.
    is_stopped: bool,
    sets: Table<SetPods>,
    /// Rows of noteworthy pods, by ReplicaSet and end of noteworthiness.
    noteworthy: Index,
    /// ReplicaSets whose minimum or maximum start time must be recomputed.
    stale_starts: Vec<Uid>,
}

impl PodIndex {
    /// Clears and stops the index.
    pub(super) fn stop(&mut self) {
        if !self.is_stopped {
            *self = Self { is_stopped: true, ..Self::default() };
        }
    }

    pub(super) const fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Returns the entry of a pod; `None` while the index is stopped.
    pub(super) fn index_pod(&self, pod: &Pod) -> Option<IndexedPod> {
        if self.is_stopped {
            return None;
        }
        let home = pod.last_owner();
        let is_released = !pod.releases.is_empty();
        let since_millis = || home.and_then(|set| self.sets.get(&set)).map_or(Millis::MIN, |set| set.since_millis);
        let is_over = pod.now.terminal_millis.is_some() && !pod.state().is_ending();
        Some(IndexedPod {
            home,
            owners: pod.owners.len(),
            counts: PodCounts::of(pod),
            layer: PodLayer::of(pod.state()).filter(|_| !is_over),
            is_released,
            moves: if is_released { Vec::new() } else { moves(pod, since_millis()) },
            noteworthy_until: noteworthy_until(pod),
            start_millis: start_millis(pod),
        })
    }

    /// Replaces one entry of a pod. `owners` are the ReplicaSets that ever controlled it.
    pub(super) fn replace(
        &mut self,
        row: u32,
        owners: &[Uid],
        before: Option<&IndexedPod>,
        after: Option<&IndexedPod>,
    ) {
        if before == after {
            return;
        }
        for (number, owner) in owners.iter().enumerate() {
            let [before, after] = [before, after].map(|part| part.filter(|part| number < part.owners));
            self.replace_in_set(*owner, row, before, after);
        }
    }

    fn replace_in_set(&mut self, owner: Uid, row: u32, before: Option<&IndexedPod>, after: Option<&IndexedPod>) {
        if !self.sets.contains_key(&owner) {
            self.sets.insert(owner, SetPods { since_millis: Millis::MIN, ..SetPods::default() });
        }
        let Some(set) = self.sets.get_mut(&owner) else { return };
        set.pods = (set.pods + u32::from(after.is_some())).saturating_sub(u32::from(before.is_some()));
        let [here, now_here] = [before, after].map(|part| part.filter(|part| part.home == Some(owner)));
        here.into_iter().for_each(|part| set.remove(part));
        now_here.into_iter().for_each(|part| set.add(part));
        let [moves, moves_now] = [here, now_here].map(|part| part.map_or(&[][..], |part| &part.moves));
        set.replace_moves(moves, moves_now);
        let start = |part: Option<&IndexedPod>| part.and_then(|part| part.start_millis);
        let (start_before, start_after) = (start(before), start(after));
        if start_before != start_after {
            let is_end = |millis: Millis| set.starts.is_some_and(|(least, most)| millis == least || millis == most);
            if start_before.is_some_and(is_end) {
                self.stale_starts.push(owner);
            }
            set.starts = start_after.map_or(set.starts, |start| Some(widen_range(set.starts, start)));
        }
        if set.pods == 0 {
            self.sets.remove(&owner);
        }
        let until = |part: Option<&IndexedPod>| part.map_or(Millis::MIN, |part| part.noteworthy_until);
        let (until_before, until_after) = (until(before), until(after));
        if until_before != until_after {
            self.noteworthy.remove(&noteworthy_key(owner, until_before, row));
            if until_after != Millis::MIN {
                self.noteworthy.insert(noteworthy_key(owner, until_after, row), row);
            }
        }
    }

    /// Removes and returns a ReplicaSet whose start times must be measured again, because the pod with the minimum or maximum is gone.
    pub(super) fn take_stale(&mut self) -> Option<Uid> {
        self.stale_starts.pop()
    }

    pub(super) fn renew_starts(&mut self, set: Uid, starts: Vec<Millis>) {
        if let Some(set) = self.sets.get_mut(&set) {
            set.starts = starts.into_iter().fold(None, |known, start| Some(widen_range(known, start)));
        }
    }

    /// Returns whether a ReplicaSet controls or controlled any known pod.
    pub(super) fn has_pods(&self, set: Uid) -> bool {
        self.sets.get(&set).is_some_and(|set| set.pods > 0)
    }

    pub(super) fn counts(&self, set: Uid) -> PodCounts {
        self.sets.get(&set).map(|set| set.counts).unwrap_or_default()
    }

    /// Returns the minimum and maximum time until pods of a ReplicaSet became available.
    pub(super) fn starts(&self, set: Uid) -> Option<(Millis, Millis)> {
        self.sets.get(&set)?.starts
    }

    /// Counts the pods of a ReplicaSet in each layer at a time, with the moves after it; `None` if they are not kept.
    pub(super) fn layers(&self, set: Uid, at_millis: Millis) -> Option<(LayerCounts, &[PodMove])> {
        let Some(set) = self.sets.get(&set) else { return Some((LayerCounts::default(), &[])) };
        if set.released > 0 || at_millis < set.since_millis {
            return None;
        }
        let later = set.moves.get(set.moves.partition_point(|one| one.at_millis <= at_millis)..).unwrap_or_default();
        let mut counts = set.layers;
        later.iter().for_each(|one| PodMove { by: -one.by, ..*one }.count(&mut counts));
        Some((counts, later))
    }

    /// Returns the rows of the pods of a ReplicaSet, past ones included, that are noteworthy at a time.
    pub(super) fn noteworthy_rows(&self, set: Uid, at_millis: Millis) -> impl Iterator<Item = u32> {
        let keys = noteworthy_key(set, at_millis, u32::MAX)..=noteworthy_key(set, Millis::MAX, u32::MAX);
        self.noteworthy.range(keys).map(|(_, row)| *row)
    }
}

/// Returns a key that is ordered by ReplicaSet and time. It has the type of other indexes, because the code of a map is compiled for each
/// type.
fn noteworthy_key(set: Uid, until: Millis, row: u32) -> (Uid, Uid) {
    let until = u128::from(until.wrapping_sub(Millis::MIN) as u64);
    (set, Uid::from_bits(until << 64 | u128::from(row)))
}

fn widen_range(known: Option<(Millis, Millis)>, start: Millis) -> (Millis, Millis) {
    known.map_or((start, start), |(least, most)| (least.min(start), most.max(start)))
}

/// Returns the moves of a pod since a time, newest first. A pod that ended as a whole is in no layer until its deletion is observed.
fn moves(pod: &Pod, since_millis: Millis) -> Vec<PodMove> {
    let terminal = pod.now.terminal_millis.unwrap_or(Millis::MAX);
    let (mut moves, mut end) = (Vec::new(), Millis::MAX);
    for (state, begin) in pod.states.iter().rev() {
        let until = if state.is_ending() { end } else { end.min(terminal) };
        if let Some(layer) = PodLayer::of(*state).filter(|_| *begin < until) {
            let both = [(*begin, 1), (until, -1)].into_iter();
            let kept = both.filter(|(at, _)| (since_millis..Millis::MAX).contains(at));
            moves.extend(kept.map(|(at_millis, by)| PodMove { at_millis, layer, by }));
        }
        end = *begin;
        if end < since_millis {
            break;
        }
    }
    moves
}

/// Returns until when a pod is noteworthy. A deleted pod is not. An available one is not if its readiness does not flap and its containers
/// run and have recovered (from a single end they have once the pod is available). Others always are. By the clock of the containers' start
/// times.
fn noteworthy_until(pod: &Pod) -> Millis {
    match pod.state() {
        PodState::Gone => return Millis::MIN,
        PodState::Available if pod.now.terminal_millis.is_none() => {}
        _ => return Millis::MAX,
    }
    let of = |container: &Container| match &container.state {
        Some(ContainerState::Waiting { .. }) => Millis::MAX,
        _ if container.exits() == 0 => Millis::MIN,
        Some(ContainerState::Running) if !container.ends_again_and_again() => Millis::MIN,
        Some(ContainerState::Running) => {
            let started_millis = container.started_millis.unwrap_or_else(|| pod.since_millis());
            started_millis.saturating_add(container.recovers_after_millis())
        }
        _ => Millis::MAX,
    };
    let flaps = pod.readiness_losses().nth(FLAPS - 1).map(|at| at.saturating_add(FLAP_MILLIS + 1));
    pod.now.containers.iter().map(of).chain(flaps).max().unwrap_or(Millis::MIN)
}

/// Returns the time from the creation of a pod until it was available, if that was observed: a list does not show since when it is.
pub(super) fn start_millis(pod: &Pod) -> Option<Millis> {
    let (first, begun) = pod.states.first()?;
    let (_, available) = pod.states.iter().find(|(state, _)| *state == PodState::Available)?;
    let is_begin_seen = *first == PodState::Scheduling || pod.now.listed_millis != Some(*begun);
    let is_whole = is_begin_seen && pod.now.listed_millis != Some(*available);
    Some(available - begun).filter(|_| is_whole && !matches!(first, PodState::Available | PodState::Ready))
}
