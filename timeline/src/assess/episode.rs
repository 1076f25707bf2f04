//! Judges an episode that holds no rollout: its kind, its begin and end, and what was lost in it. The model is that of a recording of the
//! episode alone.

use std::ops::RangeInclusive;

use super::refusals::{is_since, refusal_text};
use super::severity::OUTAGE_MILLIS;
use crate::model::fact::{Container, Exit};
use crate::model::story::{Adopter, Entry, Happening, LineKind};
use crate::model::{Deployment, EpisodeKind, Gap, KubectlVerdict, Mark, MarkKind, Pod, PodState};
use crate::rules::messages::{self, ContainerKill};
use crate::rules::rollout;
use crate::{Millis, Model, Uid};

/// The objects of a first list arrive within this time.
const LISTING_MILLIS: Millis = 1_000;

/// An episode that holds no rollout.
#[derive(Debug, Clone)]
pub struct Episode<'m> {
    /// Its kind.
    pub kind: EpisodeKind,
    /// Its first event.
    pub began_millis: Millis,
    /// When as many pods as asked for were available again, or the last pod and the Deployment were gone; `None` while neither is so.
    pub ended_millis: Option<Millis>,
    /// Number of pods that were deleted and gone before their Deployment was deleted, as with their namespace.
    pub went_before: Option<u32>,
    /// Its begin and its end were observed, and the time between them without a gap of a second or more.
    pub is_whole: bool,
    /// Replicas before and after, where they changed.
    pub scaled: Option<(u32, u32)>,
    /// The entries of the story about losses, in order, each with whether its node was not ready when pods left it.
    pub losses: Vec<(&'m Happening, bool)>,
    /// The words of the API server when it refused the ReplicaSet of the next revision last.
    pub refused: Option<&'m str>,
    /// Nodes that were reported not to be ready, and how many pods were on each.
    pub silent_nodes: Vec<(&'m str, u32)>,
    /// Pods of which containers restarted.
    pub restarted: Vec<Restarted<'m>>,
    /// The most pods that were missing at once, and how many were asked for.
    pub missing: (u32, u32),
    /// The longest time without a ready pod, where that is an outage that is over.
    pub outage_millis: Option<Millis>,
}

/// A pod of which containers restarted.
#[derive(Debug, Clone)]
pub struct Restarted<'m> {
    /// The pod.
    pub pod: &'m Pod,
    /// How often they restarted.
    pub times: u32,
    /// The last end of the container that restarted last; `None` if that was not observed.
    pub exit: Option<&'m Exit>,
    /// The end of that container where the kubelet stopped it.
    pub kill: Option<ContainerKill>,
}

/// Judges the episode of a workload; `None` where it is of no kind. A rollout in it is looked for elsewhere. `skew_millis` is our clock
/// less the API server's.
pub fn episode(model: &Model, workload: Uid, skew_millis: Millis) -> Option<Episode<'_>> {
    let deployment = model.deployments.get(&workload)?;
    let pods = model.pods_of_deployment(workload);
    let losses: Vec<&Entry> = deployment.story.iter().filter(|entry| is_loss(&entry.what)).collect();
    let scalings: Vec<(Millis, (u32, u32))> =
        deployment.story.iter().filter_map(|entry| Some((entry.at_millis, scaling(&entry.what)?))).collect();
    let scaled = scalings.first().zip(scalings.last()).map(|((_, (from, _)), (_, (_, to)))| (*from, *to));
    let is_deletion = |entry: &&Entry| matches!(entry.what, Happening::Deleting | Happening::Deleted { .. });
    let deletion = deployment.story.iter().find(is_deletion);
    let restarted: Vec<Restarted<'_>> =
        pods.iter().filter_map(|pod| find_restarts(deployment, pod, skew_millis)).collect();
    let desired = deployment.now.spec.replicas;
    let counted: Vec<_> = pods.iter().map(|pod| (*pod, counted_stretches(model, workload, pod))).collect();
    // Where no pod was in the first list, the first one came later: the workload is scaled up from zero.
    let is_any_listed = pods.iter().any(|pod| pod.now.listed_millis == Some(pod.first_seen_millis()));
    let is_first_list = |first: &Millis| is_any_listed || first - deployment.first_seen_millis <= LISTING_MILLIS;
    let first_pod_millis = pods.iter().map(|pod| pod.first_seen_millis()).min().filter(is_first_list);
    let first_millis = first_pod_millis.unwrap_or(deployment.first_seen_millis);
    let shortage = shortage(&counted, first_millis, scaled.map_or(desired, |(from, _)| from), &scalings);
    let (refused, refused_for) = refusal(model, deployment).unzip();
    let has_failed = losses.iter().any(|entry| matches!(entry.what, Happening::Failed { .. }))
        || has_ended_by_itself(deployment, &restarted);
    let kind = match () {
        () if deployment.is_over() => EpisodeKind::Deletion,
        () if has_failed || refused.is_some() => EpisodeKind::Failure,
        () if !losses.is_empty() || !restarted.is_empty() => EpisodeKind::Recovery,
        () if scaled.is_some() => EpisodeKind::Scaling,
        () if shortage.most > 0 => EpisodeKind::Failure,
        () => return None,
    };
    let told = losses.iter().copied().chain(deletion).map(|entry| entry.at_millis);
    let told = told.chain(scalings.iter().map(|(at, _)| *at));
    // A container that its kubelet stops runs again at once: its pod may stay available.
    let restarts = deployment.story.iter().filter_map(restart_times).filter(|_| !deployment.is_over());
    let restarts: Vec<(Millis, Millis)> = restarts.collect();
    let told = told.chain(restarts.iter().map(|(first, _)| *first));
    let refused_millis = refused_for.map(|(since, _)| since);
    let began_millis =
        told.chain(shortage.since_millis).chain(refused_millis).min().unwrap_or(deployment.first_seen_millis);
    // What was missing or refused in the list with which the recording begins was so before.
    let is_begin_seen =
        shortage.since_millis != Some(first_millis) && refused_millis != Some(deployment.first_seen_millis);
    let is_gone_before = |at: Millis| pods.iter().all(|pod| pod.gone_millis().is_some_and(|gone| gone <= at));
    let went_before = deletion.filter(|entry| is_gone_before(entry.at_millis)).and(count_gone_before(deployment));
    let is_of_pods = !losses.is_empty() || !restarted.is_empty() || scaled.is_some() || shortage.most > 0;
    let ended_millis = match (deletion.filter(|_| went_before.is_some()), refused_for) {
        (Some(deletion), _) => Some(deletion.at_millis),
        (None, Some((_, until))) if !is_of_pods && !deployment.is_over() => until,
        (None, _) => ended(deployment, &pods, scaled, &shortage)
            .map(|at| restarts.iter().map(|(_, last)| *last).fold(at, Millis::max)),
    };
    // A gap behind its end is no part of it, unless it brought something that is told.
    let is_told = |entry: &&Entry| !matches!(entry.what, Happening::Gap { .. } | Happening::Event(_));
    let last_told_millis = deployment.story.iter().filter(is_told).map(|entry| entry.at_millis).max();
    let over_millis = ended_millis.max(last_told_millis).filter(|_| ended_millis.is_some());
    let is_part = |gap: &Gap| gap.to_millis >= began_millis && over_millis.is_none_or(|over| gap.from_millis < over);
    // As of a rollout, a short gap counts where the begin or the end is in it.
    let mut ends = ended_millis.into_iter().chain([began_millis]);
    let is_whole = is_begin_seen
        && !deployment.gaps.iter().any(|gap| !gap.is_short() && is_part(gap))
        && !ends.any(|at_millis| rollout::is_in_gap(deployment, at_millis));
    Some(Episode {
        kind,
        began_millis,
        ended_millis,
        went_before,
        is_whole,
        scaled,
        losses: losses.into_iter().map(|entry| (&entry.what, is_of_silent_node(deployment, &pods, entry))).collect(),
        refused,
        silent_nodes: silent_nodes(deployment, &pods, began_millis),
        restarted,
        missing: (shortage.most, desired),
        outage_millis: outage(model, deployment, began_millis, None).filter(|_| is_whole),
    })
}

/// Finds the entries of a story that tell of losses in a time, and of pods that came back, in order. It is not known when the unobserved
/// ones were, and pods that a deleted ReplicaSet leaves behind keep running.
pub fn losses(deployment: &Deployment, times: RangeInclusive<Millis>) -> Vec<&Happening> {
    let entries = deployment.story.iter().filter(|entry| times.contains(&entry.at_millis));
    let is_kept = |what: &&Happening| {
        let is_orphan = matches!(what, Happening::Released { is_orphaned: true, .. });
        let is_back = matches!(what, Happening::Adopted { by: Adopter::Same | Adopter::Revision(_), .. });
        is_back || (is_loss(what) && what.kind() != LineKind::Unknown && !is_orphan)
    };
    entries.map(|entry| &entry.what).filter(is_kept).collect()
}

/// Returns the longest outage of a Deployment since then: a time without a ready pod, which ended by itself or at the
/// last moment. `None` if there was none, or if not all of the time was observed with pods desired: a list does not
/// tell when it began or ended. A short gap in between counts as observed.
pub fn outage(
    model: &Model,
    deployment: &Deployment,
    since_millis: Millis,
    last_millis: Option<Millis>,
) -> Option<Millis> {
    let is_end = |mark: &Mark| {
        let is_none_desired =
            matches!(mark.kind, MarkKind::Replicas { from: 0, .. } | MarkKind::Replicas { to: 0, .. });
        mark.at_millis >= since_millis && (is_none_desired || mark.kind == MarkKind::Deleting)
    };
    let is_known = model.sees_pods(deployment.uid)
        && !deployment.is_over()
        && deployment.now.spec.replicas > 0
        && deployment.kept_since_millis.is_none_or(|kept| kept <= since_millis)
        && deployment.gaps.iter().all(|gap| gap.is_short() || gap.to_millis < since_millis)
        && !deployment.marks.iter().any(is_end);
    if !is_known {
        return None;
    }
    // A pod out of rotation serves no requests.
    let ready = |pod: &Pod| {
        let counted = counted_stretches(model, deployment.uid, pod);
        let states = pod.spans().filter(|(state, ..)| state.is_ready());
        let spans = states.flat_map(|(_, from, to)| within(&counted, (from, to)));
        spans.map(|(from, to)| (from, to.unwrap_or(Millis::MAX))).collect::<Vec<_>>()
    };
    let pods: Vec<&Pod> = model.linked_pods(deployment.uid).collect();
    // The first pages of a list after a gap arrive before the gap is known.
    let is_listed = |at: Millis| pods.iter().any(|pod| pod.now.listed_millis == Some(at));
    let spans = pods.iter().copied().flat_map(ready);
    let mut spans: Vec<(Millis, Millis)> = spans.chain(last_millis.map(|at| (at, at))).collect();
    spans.sort_unstable();
    let (mut longest, mut since) = (0, since_millis);
    for (from, to) in spans.into_iter().filter(|(from, _)| last_millis.is_none_or(|last| *from <= last)) {
        let outage_millis = from.saturating_sub(since);
        let is_told_by_list = || is_listed(from) || [since, from].iter().any(|at| rollout::is_in_gap(deployment, *at));
        if outage_millis > OUTAGE_MILLIS && is_told_by_list() {
            return None;
        }
        longest = longest.max(outage_millis);
        since = since.max(to);
    }
    Some(longest).filter(|millis| *millis > OUTAGE_MILLIS)
}

/// When the restarts that an entry of the story tells of were seen, the first and the last one.
const fn restart_times(entry: &Entry) -> Option<(Millis, Millis)> {
    match &entry.what {
        Happening::Restarted { restart, lasted_millis, .. } if restart.was_seen => {
            Some((entry.at_millis, entry.at_millis + *lasted_millis))
        }
        _ => None,
    }
}

fn scaling(what: &Happening) -> Option<(u32, u32)> {
    match what {
        Happening::Replicas { from, to, .. } | Happening::Scaled { replicas: Some((from, to)), .. } => {
            Some((*from, *to))
        }
        _ => None,
    }
}

/// Pods or ReplicaSets went that should have stayed.
const fn is_loss(what: &Happening) -> bool {
    matches!(
        what,
        Happening::Killed { .. }
            | Happening::KilledMore { .. }
            | Happening::Unseen { .. }
            | Happening::LeftNode { .. }
            | Happening::Failed { .. }
            | Happening::Released { .. }
            | Happening::SetDeleted { .. }
            | Happening::Ended { was_released: false, .. }
    )
}

/// Counts the pods that were deleted before their Deployment, and not replaced.
fn count_gone_before(deployment: &Deployment) -> Option<u32> {
    let pods = |entry: &Entry| match entry.what {
        Happening::WentBefore { pods } => Some(pods),
        _ => None,
    };
    deployment.story.iter().find_map(pods)
}

/// Finds the container restarts of a pod since it was first seen; `None` where there were none.
fn find_restarts<'m>(deployment: &Deployment, pod: &'m Pod, skew_millis: Millis) -> Option<Restarted<'m>> {
    let times = pod.now.restarts().saturating_sub(pod.now.first_restarts);
    let ended = pod.now.containers.iter().filter(|container| container.restarts > 0);
    // A container of a pod that is deleted ends once more, and is not restarted.
    let exit = |container: &'m Container| container.exit_before_restart.as_deref().or(container.last_exit.as_deref());
    let ends = ended.filter_map(|container| Some((container, exit(container)?)));
    let last = ends.max_by_key(|(_, exit)| exit.finished_millis);
    let by_kubelet = last.filter(|(_, exit)| exit.reason != "OOMKilled");
    (times > 0).then(|| Restarted {
        pod,
        times,
        exit: last.map(|(_, exit)| exit).filter(|exit| !exit.is_unseen()),
        kill: by_kubelet
            .and_then(|(container, _)| messages::last_kill(deployment, pod, &container.as_restarted(), skew_millis)),
    })
}

/// Returns whether a container restarted for another reason than a change of its pod's spec. Of each pod the last end is known, the ends
/// before it are in the story.
fn has_ended_by_itself(deployment: &Deployment, restarted: &[Restarted<'_>]) -> bool {
    let is_for_change = |one: &Restarted<'_>| one.kill.as_ref().is_some_and(|kill| kill.end.is_spec_change());
    let is_other =
        |entry: &Entry| matches!(&entry.what, Happening::Restarted { restart, .. } if !restart.end.is_spec_change());
    !restarted.is_empty() && (!restarted.iter().all(is_for_change) || deployment.story.iter().any(is_other))
}

/// Finds the nodes of pods of which an Event says that their node is not ready.
fn silent_nodes<'m>(deployment: &Deployment, pods: &[&'m Pod], began_millis: Millis) -> Vec<(&'m str, u32)> {
    let is_told = |pod: &&'m Pod| {
        let ready = pod.spans().filter(|(state, ..)| state.is_ready());
        let lost_millis = ready.filter_map(|(_, _, to)| to).find(|lost| *lost >= began_millis);
        let since = messages::earliest_silence_millis(pod, lost_millis.unwrap_or(began_millis));
        let since = since.min(began_millis - messages::EARLY_MILLIS);
        let event = messages::last_event(deployment, &pod.name, "NodeNotReady");
        event.is_some_and(|event| event.at_millis >= since)
    };
    let mut nodes: Vec<(&'m str, u32)> = Vec::new();
    for node in pods.iter().copied().filter(is_told).filter_map(|pod| pod.now.node.as_deref()) {
        match nodes.iter_mut().find(|(known, _)| *known == node) {
            Some((_, pods)) => *pods += 1,
            None => nodes.push((node, 1)),
        }
    }
    nodes
}

/// Pods left a node that was not ready: one of them was not ready either since an Event said so.
fn is_of_silent_node(deployment: &Deployment, pods: &[&Pod], loss: &Entry) -> bool {
    let Happening::LeftNode { node, last_millis, .. } = &loss.what else { return false };
    let left_silent = |pod: &&Pod| {
        // One that was asked to go may fail when its kubelet is back, and the other way round.
        let Some(left) = pod.ended_millis().into_iter().chain(pod.now.terminal_millis).min() else { return false };
        let unready = pod.states.iter().rposition(|(state, _)| state.is_ready()).map_or(0, |ready| ready + 1);
        let since = pod.states.get(unready).map_or(left, |(_, at)| *at);
        let is_it = pod.now.node.as_ref() == Some(node) && (loss.at_millis..=*last_millis).contains(&left);
        let times = messages::earliest_silence_millis(pod, since)..=left;
        is_it && since < left && messages::last_silence(deployment, pod, times).is_some()
    };
    pods.iter().any(left_silent)
}

/// Finds the last refusal of a ReplicaSet, and for how long it lasted: so long the spec counts as unobserved, and the Event tells only when it
/// happened last.
fn refusal<'m>(model: &Model, deployment: &'m Deployment) -> Option<(&'m str, Stretch)> {
    let mut events = messages::events(deployment, "Deployment", &deployment.name);
    let event = events.find(|event| event.reason == "ReplicaSetCreateError");
    let told = || rollout::refusal_of_set(model, deployment).map(|told| told.message.as_str());
    let message = event.map(refusal_text).or_else(told)?;
    let is_of_it = |(since, verdict): &(Millis, KubectlVerdict)| {
        *verdict == KubectlVerdict::NotObserved && event.is_none_or(|event| is_since(event, *since))
    };
    let index = deployment.verdicts.iter().rposition(is_of_it)?;
    let (since, _) = *deployment.verdicts.get(index)?;
    let until = deployment.verdicts.get(index + 1).map(|(until, _)| *until);
    // It was refused later, too.
    let until = until.filter(|until| event.is_none_or(|event| event.at_millis <= until + 1_000));
    Some((message, (since, until)))
}

/// Finds the words of the API server when it refused the ReplicaSet of a revision last in that time, also where that goes on.
pub fn find_set_refusal<'m>(
    model: &Model,
    deployment: &'m Deployment,
    times: RangeInclusive<Millis>,
) -> Option<&'m str> {
    let mut events = messages::events(deployment, "Deployment", &deployment.name);
    let event = events.find(|event| event.reason == "ReplicaSetCreateError" && times.contains(&event.at_millis));
    let told = || {
        let is_since = deployment.verdicts.last().is_some_and(|(since, _)| times.contains(since));
        rollout::refusal_of_set(model, deployment).filter(|_| is_since).map(|told| told.message.as_str())
    };
    event.map(refusal_text).or_else(told)
}

/// Returns when the Deployment came to rest.
fn ended(deployment: &Deployment, pods: &[&Pod], scaled: Option<(u32, u32)>, shortage: &Shortage) -> Option<Millis> {
    let is_going = |pod: &&Pod| pod.state() == PodState::Terminating && !pod.is_out_of_rotation();
    let last = || pods.iter().map(|pod| pod.since_millis()).max();
    let has_fewer = scaled.is_some_and(|(from, to)| to < from);
    match (shortage.since_millis, shortage.until_millis) {
        _ if deployment.is_over() => last().filter(|_| pods.iter().all(|pod| pod.gone_millis().is_some())),
        (Some(_), None) => None,
        (Some(_), until) if !has_fewer => until,
        _ => last().filter(|_| !pods.iter().any(is_going)),
    }
}

/// For how long fewer pods than asked for were available.
struct Shortage {
    /// Since when first; `None` where there were always enough.
    since_millis: Option<Millis>,
    /// Until when last; `None` while it goes on.
    until_millis: Option<Millis>,
    /// Largest number of missing pods.
    most: u32,
}

/// A stretch of time, which may have no end.
pub(super) type Stretch = (Millis, Option<Millis>);

/// Counts the missing pods over time, since the first list: the replicas that were asked for, less the available pods.
fn shortage(pods: &[(&Pod, Vec<Stretch>)], first: Millis, before: u32, scalings: &[(Millis, (u32, u32))]) -> Shortage {
    let asked = scalings.iter().map(|(at, (from, to))| (*at, i64::from(*to) - i64::from(*from)));
    let available = pods.iter().flat_map(|(pod, counted)| available(pod, counted, first));
    let steps = available.chain(asked).chain([(first, i64::from(before))]);
    // What was before the first list was so at its time.
    let mut steps: Vec<(Millis, i64)> = steps.map(|(at, step)| (at.max(first), step)).collect();
    steps.sort_unstable();
    let (mut shortage, mut missing) = (Shortage { since_millis: None, until_millis: None, most: 0 }, 0);
    for moment in steps.chunk_by(|(one, _), (next, _)| one == next) {
        let at = moment.first().map_or(first, |(at, _)| *at);
        missing += moment.iter().map(|(_, step)| step).sum::<i64>();
        shortage.most = shortage.most.max(u32::try_from(missing).unwrap_or_default());
        match (missing > 0, shortage.since_millis) {
            (true, None) => shortage.since_millis = Some(at),
            (true, Some(_)) => shortage.until_millis = None,
            (false, Some(_)) => shortage.until_millis = shortage.until_millis.or(Some(at)),
            (false, None) => {}
        }
    }
    shortage
}

/// When a pod began to be available in a stretch in which it counts, which makes one less missing, and when that ended. What is listed
/// first was so before. One of which more `minReadySeconds` are asked stays ready, and is not missing.
pub(super) fn available(pod: &Pod, counted: &[Stretch], first: Millis) -> Vec<(Millis, i64)> {
    let was_listed = pod.now.listed_millis == Some(pod.first_seen_millis());
    let is_listed = was_listed && pod.first_seen_millis() - first <= LISTING_MILLIS;
    let (mut steps, mut before) = (Vec::new(), None);
    let is_there = |(state, ..): &(PodState, Millis, Option<Millis>)| {
        let is_kept = *state == PodState::Ready && before == Some(PodState::Available);
        before = Some(*state);
        is_kept || *state == PodState::Available
    };
    for (state, from, to) in pod.spans().filter(is_there) {
        let is_first = state == PodState::Available && from == pod.first_seen_millis();
        let from = if is_listed && is_first { first } else { from };
        for (begin, end) in within(counted, (from, to)) {
            steps.push((begin, -1));
            steps.extend(end.map(|end| (end, 1)));
        }
    }
    steps
}

/// Returns the parts of a stretch in which a pod counts.
fn within(counted: &[Stretch], (from, to): Stretch) -> impl Iterator<Item = Stretch> {
    let part = move |(since, until): &Stretch| (from.max(*since), to.into_iter().chain(*until).min());
    counted.iter().map(part).filter(|(begin, end)| end.is_none_or(|end| *begin < end))
}

/// Stretches in which a pod counts for a workload: a ReplicaSet controls it, and the workload controls that ReplicaSet.
pub(super) fn counted_stretches(model: &Model, workload: Uid, pod: &Pod) -> Vec<Stretch> {
    let mut owners: Vec<(Millis, Option<Uid>)> = vec![(Millis::MIN, pod.replica_set())];
    for release in &pod.releases {
        owners.push((release.at_millis, None));
        owners.extend(release.adopted.map(|(at, set)| (at, Some(set))));
    }
    let sets = owners.iter().filter_map(|(_, owner)| model.replica_sets.get(&(*owner)?));
    let changes = sets.flat_map(|set| set.owner_changes.iter().map(|(at, _)| *at));
    let mut times: Vec<Millis> = owners.iter().map(|(at, _)| *at).chain(changes).collect();
    times.sort_unstable();
    times.dedup();
    let counts_at = |at: Millis| {
        let owner = owners.iter().rev().find(|(since, _)| *since <= at).and_then(|(_, owner)| *owner);
        owner.and_then(|set| model.replica_sets.get(&set)).is_some_and(|set| set.owner_at(at) == Some(workload))
    };
    let ends = times.iter().skip(1).copied().map(Some).chain([None]);
    times.iter().copied().zip(ends).filter(|(since, _)| counts_at(*since)).collect()
}
