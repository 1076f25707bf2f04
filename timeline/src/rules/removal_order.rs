//! Explains why a ReplicaSet that was scaled down removed this pod and not another: the order of `ActivePodsWithRanks`
//! (`pkg/controller/controller_utils.go`), applied to the observed pods at that moment.
//!
//! Nothing is stored for it: states have their starts, so any moment can be evaluated later. Values that were not observed exactly enough,
//! such as the ready time of a pod that was ready when the observation began, are not guessed.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::fact::Role;
use crate::model::{EndReason, Model, Pod, PodState};
use crate::{Millis, Uid};

/// Maximum interval between deletions of one round of the ReplicaSet controller: it writes at most 20 a second.
const NEXT_MILLIS: Millis = 100;
/// The controller may not have known of a change that arrived this shortly before its choice.
const ARRIVAL_MILLIS: Millis = 500;

/// The criteria by which a ReplicaSet chooses pods to remove, in Kubernetes' order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Criterion {
    /// It had no node.
    NoNode,
    /// It was not running.
    NotRunning,
    /// It was not ready.
    NotReady,
    /// It had a lower `controller.kubernetes.io/pod-deletion-cost`.
    Cheaper,
    /// More pods of the Deployment were on its node: this many.
    Crowded(u32),
    /// It had been ready for a shorter time, by a power of two.
    ReadyLater,
    /// Its containers had restarted more often.
    Restarts,
    /// It was younger, by a power of two.
    Younger,
    /// No criterion distinguished them. Then the lower UID comes first or, as that is not a consistent order if some times are equal and
    /// others are not, the result of the sorting algorithm.
    Chance,
}

/// The comparison of a removed pod with a remaining one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The removed pod precedes the remaining one, by this criterion.
    Before(Criterion),
    /// The remaining pod should have been removed first, according to the observations.
    After,
    /// The observations do not decide it.
    Unclear,
}

/// Reasons of removals, for queries about many pods: data that pods of one round share is computed once.
pub struct Choices<'m> {
    model: &'m Model,
    skew_millis: Millis,
    /// The removed pods of each ReplicaSet, with times.
    rounds: BTreeMap<Uid, Vec<RemovalRound<'m>>>,
    /// The observed cluster at the removals of a ReplicaSet.
    views: BTreeMap<(Uid, Millis), ControllerView<'m>>,
}

impl<'m> Choices<'m> {
    /// Creates it for a moment with its model. `skew_millis` is our clock minus the cluster's.
    pub const fn new(model: &'m Model, skew_millis: Millis) -> Self {
        Self { model, skew_millis, rounds: BTreeMap::new(), views: BTreeMap::new() }
    }

    /// Returns the criteria by which a pod was removed before every other one of its ReplicaSet; `None` if the ReplicaSet was not scaled
    /// down, if all pods were removed, or if the observations do not decide it.
    pub fn criteria(&mut self, pod: &Pod) -> Option<Vec<Criterion>> {
        let criterion = |pair| match pair {
            Comparison::Before(criterion) => Some(criterion),
            Comparison::After | Comparison::Unclear => None,
        };
        let found = self.pairs(pod).map(criterion).collect::<Option<BTreeSet<Criterion>>>()?;
        (!found.is_empty()).then(|| found.into_iter().collect())
    }

    /// Compares a removed pod with every remaining one of its ReplicaSet.
    pub fn pairs<'c>(&'c mut self, pod: &'c Pod) -> impl Iterator<Item = Comparison> + use<'c, 'm> {
        self.looked(pod).into_iter().flat_map(move |(view, round)| {
            let gone = view.states(pod);
            round.stayed.iter().flatten().map(move |other| view.compare((pod, &gone), other))
        })
    }

    /// Returns the number of passes over all pods of a Deployment so far.
    pub fn looks(&self) -> usize {
        self.views.len()
    }

    /// Returns the controller's view at the removal of a pod, and the round of the removal.
    fn looked(&mut self, pod: &Pod) -> Option<(&ControllerView<'m>, &RemovalRound<'m>)> {
        let (set, at) = pod.owner.zip(went(pod))?;
        let (model, skew_millis) = (self.model, self.skew_millis);
        let rounds = self.rounds.entry(set).or_insert_with(|| RemovalRound::all(model, set));
        let round = rounds.iter_mut().find(|round| round.has(pod))?;
        if round.stayed.is_none() {
            let is_stayed = |other: &&Pod| !round.has(other) && other.is_active_at(round.from - 1);
            round.stayed = Some(model.controlled_pods(set).filter(is_stayed).collect());
        }
        let seen = || ControllerView::new(model, set, (round.from, at), skew_millis);
        let view = self.views.entry((set, at)).or_insert_with(seen);
        Some((&*view, &*round))
    }
}

/// One round: times at which the controller removed pods of a ReplicaSet, by arrival.
struct RemovalRound<'m> {
    from: Millis,
    to: Millis,
    /// The remaining pods; `None` until they are needed.
    stayed: Option<Vec<&'m Pod>>,
}

impl RemovalRound<'_> {
    fn all(model: &Model, set: Uid) -> Vec<Self> {
        let mut all: Vec<Millis> = model.pods_of(set).filter_map(went).collect();
        all.sort_unstable();
        let rounds = all.chunk_by(|one, next| next - one <= NEXT_MILLIS);
        let round = |round: &[Millis]| Some((*round.first()?, *round.last()?));
        rounds.filter_map(round).map(|(from, to)| Self { from, to, stayed: None }).collect()
    }

    fn has(&self, pod: &Pod) -> bool {
        went(pod).is_some_and(|at| (self.from..=self.to).contains(&at))
    }
}

/// The cluster as the controller saw it.
struct ControllerView<'m> {
    at: Millis,
    /// Possible moments of the choice.
    perhaps: [Millis; 3],
    skew_millis: Millis,
    /// Pods of the Deployment on each node: minimum and maximum.
    on_node: BTreeMap<&'m str, (u32, u32)>,
}

impl<'m> ControllerView<'m> {
    fn new(model: &'m Model, set: Uid, (from, to): (Millis, Millis), skew_millis: Millis) -> Self {
        // Rounds in quick succession look like one.
        let perhaps = [from - 1, from - ARRIVAL_MILLIS, to - 1];
        let deployment = model.replica_sets.get(&set).and_then(|set| set.owner);
        let sets =
            deployment.map_or_else(|| vec![set], |deployment| model.sets_of(deployment).map(|set| set.uid).collect());
        let mut on_node: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        let is_there = |pod: &Pod, at: Millis| {
            pod.is_active_at(at) && pod.state_at(at).is_some_and(|state| state != PodState::Scheduling)
        };
        for pod in sets.into_iter().flat_map(|set| model.controlled_pods(set)) {
            // Another ReplicaSet may have released it at the same time, just before.
            let last = if pod.owner == Some(set) { to - 1 } else { to };
            let seen = perhaps.into_iter().chain([last]).map(|at| is_there(pod, at));
            let (least, most) = on_node.entry(node(pod)).or_default();
            let (all, any) = seen.fold((true, false), |(all, any), is_there| (all && is_there, any || is_there));
            *least += u32::from(all);
            *most += u32::from(any);
        }
        Self { at: from - 1, perhaps, skew_millis, on_node }
    }

    /// Returns the states in which the controller may have seen a pod, each once.
    fn states(&self, pod: &Pod) -> BTreeSet<PodState> {
        let active = self.perhaps.into_iter().filter(|at| pod.is_active_at(*at));
        active.filter_map(|at| pod.state_at(at)).collect()
    }

    /// Compares two pods. A change just before may have been known or not: the result is returned only if it is the same in both cases.
    fn compare(&self, (gone, states): (&Pod, &BTreeSet<PodState>), other: &Pod) -> Comparison {
        let others = self.states(other);
        let both = states.iter().flat_map(|a| others.iter().map(move |b| (*a, *b)));
        let mut found = both.map(|(a, b)| self.compare_in((gone, a), (other, b)));
        let first = found.next().unwrap_or(Comparison::Unclear);
        if found.all(|pair| pair == first) { first } else { Comparison::Unclear }
    }

    fn compare_in(&self, (gone, a): (&Pod, PodState), (other, b): (&Pod, PodState)) -> Comparison {
        let has_node = |state| state != PodState::Scheduling;
        if has_node(a) != has_node(b) {
            return before_if(!has_node(a), Criterion::NoNode);
        }
        match (is_running(a), is_running(b)) {
            // A failing container may have failed before or after the pod was running; in both cases the pod is not ready.
            (None, _) if b.is_ready() => return Comparison::Before(Criterion::NotReady),
            (_, None) if a.is_ready() => return Comparison::After,
            (None, _) | (_, None) => return Comparison::Unclear,
            (Some(a), Some(b)) if a != b => return before_if(!a, Criterion::NotRunning),
            _ => {}
        }
        if a.is_ready() != b.is_ready() {
            return before_if(!a.is_ready(), Criterion::NotReady);
        }
        if gone.now.deletion_cost != other.now.deletion_cost {
            return before_if(gone.now.deletion_cost < other.now.deletion_cost, Criterion::Cheaper);
        }
        let crowd = |pod| self.on_node.get(node(pod)).copied().unwrap_or_default();
        let (one, two) = (crowd(gone), crowd(other));
        if one.0 > two.1 {
            return Comparison::Before(Criterion::Crowded(one.0));
        }
        if one.1 < two.0 {
            return Comparison::After;
        }
        if node(gone) != node(other) && (one.0 != one.1 || two.0 != two.1) {
            return Comparison::Unclear;
        }
        if a.is_ready() { self.by_ready_time(gone, other) } else { self.by_restarts_and_age(gone, other) }
    }

    fn by_ready_time(&self, gone: &Pod, other: &Pod) -> Comparison {
        let (Some(one), Some(two)) = (self.ready_since(gone), self.ready_since(other)) else {
            return Comparison::Unclear;
        };
        if one == two {
            // Pods with other ready times are sorted in between by UID, so this criterion may not have been reached.
            let asked = self.by_restarts_and_age(gone, other);
            return if asked == Comparison::After { Comparison::Unclear } else { asked };
        }
        self.by_age(one, two, Criterion::ReadyLater)
    }

    fn by_restarts_and_age(&self, gone: &Pod, other: &Pod) -> Comparison {
        let (one, two) = (most_restarts(gone), most_restarts(other));
        if one > two {
            return Comparison::Before(Criterion::Restarts); // the other one's may have become more since, not fewer
        }
        if two > (0, 0) {
            return Comparison::Unclear;
        }
        let (one, two) = (gone.created_at_millis, other.created_at_millis);
        if one == two {
            return Comparison::Before(Criterion::Chance);
        }
        self.by_age(one, two, Criterion::Younger)
    }

    /// Compares the ages: the younger pod is removed first; within one power of two of age, in nanoseconds, they count as equal.
    fn by_age(&self, one: Millis, two: Millis, younger: Criterion) -> Comparison {
        let bucket = |age: Millis| i128::from(age).checked_mul(1_000_000).and_then(i128::checked_ilog2);
        // The exact time of the controller's choice is unknown.
        let least_and_most = |since_millis: Millis| {
            let age = self.at - self.skew_millis - since_millis;
            (bucket(age - ARRIVAL_MILLIS), bucket(age + ARRIVAL_MILLIS))
        };
        let (one, two) = (least_and_most(one), least_and_most(two));
        if one.1 < two.0 {
            Comparison::Before(younger)
        } else if one.0 > two.1 {
            Comparison::After
        } else if one.0 == one.1 && two.0 == two.1 {
            Comparison::Before(Criterion::Chance)
        } else {
            Comparison::Unclear
        }
    }

    /// Returns since when a pod was ready, by the kubelet's clock; `None` if it became ready again later.
    fn ready_since(&self, pod: &Pod) -> Option<Millis> {
        let later = pod.states.iter().skip_while(|(_, start)| *start <= self.at);
        let is_anew = later.skip_while(|(state, _)| state.is_ready()).any(|(state, _)| state.is_ready());
        pod.now.ready_since_millis.filter(|_| !is_anew)
    }
}

const fn before_if(is_before: bool, criterion: Criterion) -> Comparison {
    if is_before { Comparison::Before(criterion) } else { Comparison::After }
}

/// Returns the maximum number of restarts of a container and, if these are equal, of a sidecar (`maxContainerRestarts`).
fn most_restarts(pod: &Pod) -> (u32, u32) {
    let most = |role: Role| {
        let mine = pod.now.containers.iter().filter(|container| container.role == role);
        mine.map(|container| container.restarts).max().unwrap_or_default()
    };
    (most(Role::App), most(Role::Sidecar))
}

fn node(pod: &Pod) -> &str {
    pod.now.node.as_deref().unwrap_or_default()
}

/// Returns when its ReplicaSet removed the pod.
fn went(pod: &Pod) -> Option<Millis> {
    pod.ended_millis().filter(|_| pod.end_reason == Some(EndReason::ScaledDown))
}

/// Returns whether its phase was Running; `None` if the state does not determine it.
const fn is_running(state: PodState) -> Option<bool> {
    match state {
        PodState::Scheduling | PodState::Starting => Some(false),
        PodState::Unready | PodState::Ready | PodState::Available => Some(true),
        _ => None,
    }
}
