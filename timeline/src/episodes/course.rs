//! Values of a rollout for its row of the index, from the model.

use crate::Millis;
use crate::assess::severity::allowed_start_millis;
use crate::budget::Limits;
use crate::model::{Deployment, Model, Pod, PodState, Rollout};
use crate::rollout;
use crate::rules::phase::{allowed_as_before_millis, allowed_until_ready_millis};
use crate::view::steps::{LAYERS, Step, steps_after};

/// Pods that were made for a rollout: of its ReplicaSet, also of one that was made again, from its begin to its end. One may be seen before
/// the rollout is.
pub fn pods<'m>(model: &'m Model, deployment: &'m Deployment, of: &'m Rollout) -> impl Iterator<Item = &'m Pod> {
    let set = rollout::set_of_rollout(model, deployment, of);
    let sign = rollout::first_sign_millis(model, deployment, of);
    let from = sign.map_or(Millis::MIN, |sign| sign - rollout::OVERTAKING_MILLIS);
    let to = of.ended_millis().unwrap_or(Millis::MAX);
    let sets = set.into_iter().flat_map(move |set| rollout::sets_named_as(model, deployment, set));
    let pods = sets.flat_map(move |set| model.pods_of(set.uid).filter(move |pod| pod.replica_set() == Some(set.uid)));
    pods.filter(move |pod| (from..=to).contains(&pod.first_seen_millis()))
}

/// Lists the spans of time in which a pod was available.
fn available_spans(pod: &Pod) -> impl Iterator<Item = (Millis, Millis)> {
    let available = pod.spans().filter(|(state, ..)| *state == PodState::Available);
    available.map(|(_, from, to)| (from, to.unwrap_or(Millis::MAX)))
}

/// Time until the first pod that was made for a rollout was available; `None` where the list after a gap told of either.
pub fn first_available(model: &Model, deployment: &Deployment, rollout: &Rollout) -> Option<Millis> {
    let began = rollout::began_millis(model, deployment, rollout)?;
    let first = pods(model, deployment, rollout).flat_map(available_spans).map(|(from, _)| from).min()?;
    let is_seen = !rollout::is_begin_unseen(model, deployment, rollout) && !rollout::is_in_gap(deployment, first);
    is_seen.then(|| (first - began).max(0))
}

/// Counts the available pods that were made for the rollout at `index`, by time after `began_millis`, until it was over at `until_millis`.
pub fn available_counts(
    model: &Model,
    deployment: &Deployment,
    index: usize,
    (began_millis, until_millis): (Millis, Millis),
) -> Vec<(Millis, u32)> {
    let Some(rollout) = deployment.rollouts.get(index) else { return Vec::new() };
    // Streams overtake each other: the Deployment may be complete before its last pods are seen to be available.
    let late_millis = rollout.completed_millis.map_or(until_millis, |at| at + rollout::OVERTAKING_MILLIS);
    let next_millis = rollout::last_moment_millis(model, deployment, index).unwrap_or(Millis::MAX);
    let last_millis = late_millis.min(next_millis).max(until_millis);
    let spans = pods(model, deployment, rollout).flat_map(available_spans).filter(|(from, _)| *from <= last_millis);
    let steps = spans.flat_map(|(from, to)| {
        [Some((from.max(began_millis), 1)), Some((to, -1)).filter(|(to, _)| *to <= until_millis)]
    });
    let moves = steps.flatten().map(|(at, by)| (at - began_millis, 0, by)).collect();
    let count = |(at, [available, ..]): Step| (at, u32::try_from(available).unwrap_or_default());
    steps_after((0, [0; LAYERS]), moves).into_iter().map(count).collect()
}

/// Says why a rollout was superseded, where its pods ran or were still starting for longer than they may and none was ever ready: while it
/// went on, that was no fault yet.
pub fn never_ready(model: &Model, deployment: &Deployment, rollout: &Rollout) -> Option<String> {
    let until = rollout.superseded_millis.filter(|_| rollout.completed_millis.is_none())?;
    let set = rollout::set_of_rollout(model, deployment, rollout)?;
    if !rollout::came_to_nothing(model, deployment, rollout, set) {
        return None;
    }
    let slowest = model.start_times(deployment.uid).map_or(0, |(_, most)| allowed_as_before_millis(most));
    let allowed_until_ready = allowed_until_ready_millis(set.now.probe_millis);
    let is_late = |pod: &Pod, awaited: PodState, allowed: Millis| {
        let mut spans = pod.spans().filter(|(state, ..)| *state == awaited);
        spans.any(|(_, from, to)| to.map_or(until, |to| to.min(until)) - from > allowed.max(slowest))
    };
    // By Recreate, the next rollout starts once the pods of this one are gone.
    let next = deployment.rollouts.iter().find(|next| next.started_millis == Some(until));
    let left = next.and_then(|next| rollout::take_down_millis(model, deployment, next)).unwrap_or(until);
    // One that started late did start. Streams overtake each other: it may be taken down before the next rollout is seen.
    let is_starting = |pod: &&Pod| {
        pod.state_at(left - rollout::OVERTAKING_MILLIS) == Some(PodState::Starting)
            && pod.state_at(left).is_some_and(|state| state == PodState::Starting || state.is_ending())
    };
    let made = || pods(model, deployment, rollout);
    let mut starting = made().filter(is_starting);
    if model.pods_of(set.uid).chain(made()).any(Pod::was_ready) {
        return None;
    }
    let step = if made().any(|pod| is_late(pod, PodState::Unready, allowed_until_ready)) {
        "become ready"
    } else if starting.any(|pod| is_late(pod, PodState::Starting, allowed_start_millis(deployment, pod))) {
        "start"
    } else {
        return None;
    };
    Some(format!("Revision {} makes no progress: pods do not {step}.", rollout.revision))
}

/// Counts the container restarts of the pods that were made for a rollout.
pub fn restarts(model: &Model, deployment: &Deployment, rollout: &Rollout) -> u32 {
    pods(model, deployment, rollout).map(|pod| pod.now.restarts()).fold(0, u32::saturating_add)
}

/// Ceilings and floors that were in force during the rollout at `index`, the last one at the end.
fn in_force(deployment: &Deployment, index: usize) -> impl Iterator<Item = Limits> {
    let rollout = deployment.rollouts.get(index);
    let from = rollout.and_then(|rollout| rollout.started_millis).unwrap_or(Millis::MIN);
    let to = rollout.and_then(Rollout::ended_millis).unwrap_or(Millis::MAX);
    let ends = deployment.limits.iter().skip(1).map(|(since, _)| *since).chain([Millis::MAX]);
    let spans = deployment.limits.iter().zip(ends);
    spans.filter(move |((since, _), end)| *since <= to && *end > from).map(|((_, limits), _)| *limits)
}

/// The replicas that the rollout at `index` was for when it ended: what is asked for now may be another number.
pub fn replicas(deployment: &Deployment, index: usize) -> u32 {
    let then = in_force(deployment, index).last().map(|limits| limits.ceiling.saturating_sub(limits.max_surge));
    then.unwrap_or(deployment.now.spec.replicas)
}

/// The most pods and the least available ones that were allowed at some time of the rollout at `index`; `None` if the limits of that time
/// are not kept any more.
pub fn limits(deployment: &Deployment, index: usize) -> Option<(u32, u32)> {
    let all = || in_force(deployment, index);
    let ceiling = all().map(|limits| limits.ceiling).max();
    let floor = all().map(|limits| limits.floor).min();
    ceiling.zip(floor)
}

/// The most telling moment of the rollout at `index`: when it was complete, just before another took its place, or when
/// its deadline passed.
pub fn moment(model: &Model, deployment: &Deployment, index: usize) -> Option<Millis> {
    let rollout = deployment.rollouts.get(index)?;
    let last = || rollout::last_moment_millis(model, deployment, index);
    rollout.completed_millis.or_else(last).or(rollout.deadline_exceeded_millis)
}
