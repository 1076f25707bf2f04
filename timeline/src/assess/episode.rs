//! Judges an episode that holds no rollout: its kind, its begin and end, and what was lost in it. The model is that of a recording of the
//! episode alone.

use crate::model::story::{Entry, Happening};
use crate::model::{Deployment, EpisodeKind, Pod, PodState};
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
    /// When as many pods as asked for were available again, or the last pod was gone; `None` while neither is so.
    pub ended_millis: Option<Millis>,
    /// Its begin was observed, and the time since then without a gap.
    pub is_whole: bool,
    /// Replicas before and after, where they changed.
    pub scaled: Option<(u32, u32)>,
    /// The entries of the story that tell of losses, in order.
    pub losses: Vec<&'m Happening>,
    /// Pods of which containers restarted, and how often.
    pub restarted: Vec<(&'m Pod, u32)>,
    /// The most pods that were missing at once, and how many were asked for.
    pub missing: (u32, u32),
}

/// Judges the episode of a workload; `None` where it is of no kind. A rollout in it is looked for elsewhere.
pub fn episode(model: &Model, workload: Uid) -> Option<Episode<'_>> {
    let deployment = model.deployments.get(&workload)?;
    let pods = model.pods_of_deployment(workload);
    let losses: Vec<&Entry> = deployment.story.iter().filter(|entry| is_loss(&entry.what)).collect();
    let scalings: Vec<(Millis, (u32, u32))> =
        deployment.story.iter().filter_map(|entry| Some((entry.at_millis, scaling(&entry.what)?))).collect();
    let scaled = scalings.first().zip(scalings.last()).map(|((_, (from, _)), (_, (_, to)))| (*from, *to));
    let deletion = deployment.story.iter().find(|entry| matches!(entry.what, Happening::Deleting | Happening::Deleted));
    let restarted: Vec<(&Pod, u32)> = pods.iter().map(|pod| (*pod, restarts(pod))).filter(|(_, n)| *n > 0).collect();
    let desired = deployment.now.spec.replicas;
    let shortage = shortage(&pods, scaled.map_or(desired, |(from, _)| from), &scalings);
    let has_failed = losses.iter().any(|entry| matches!(entry.what, Happening::Failed { .. }));
    let kind = match () {
        () if deployment.is_over() => EpisodeKind::Deletion,
        () if has_failed || !restarted.is_empty() => EpisodeKind::Failure,
        () if !losses.is_empty() => EpisodeKind::Recovery,
        () if scaled.is_some() => EpisodeKind::Scaling,
        () if shortage.most > 0 => EpisodeKind::Failure,
        () => return None,
    };
    let told = losses.iter().copied().chain(deletion).map(|entry| entry.at_millis);
    let told = told.chain(scalings.iter().map(|(at, _)| *at));
    let began_millis = told.chain(shortage.since_millis).min().unwrap_or(deployment.first_seen_millis);
    Some(Episode {
        kind,
        began_millis,
        ended_millis: ended(deployment, &pods, scaled, &shortage),
        is_whole: shortage.is_begin_seen && !deployment.gaps.iter().any(|gap| gap.to_millis >= began_millis),
        scaled,
        losses: losses.into_iter().map(|entry| &entry.what).collect(),
        restarted,
        missing: (shortage.most, desired),
    })
}

fn scaling(what: &Happening) -> Option<(u32, u32)> {
    match what {
        Happening::Replicas { from, to } | Happening::Scaled { replicas: Some((from, to)), .. } => Some((*from, *to)),
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

/// Counts the container restarts of a pod since it was first seen.
fn restarts(pod: &Pod) -> u32 {
    pod.now.restarts.saturating_sub(pod.now.first_restarts)
}

/// When it came to rest.
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
    /// There were enough when the recording begins.
    is_begin_seen: bool,
}

/// Counts the missing pods over time: the replicas that were asked for, less the available pods.
fn shortage(pods: &[&Pod], before: u32, scalings: &[(Millis, (u32, u32))]) -> Shortage {
    let first = pods.iter().map(|pod| pod.first_seen_millis()).min().unwrap_or_default();
    let asked = scalings.iter().map(|(at, (from, to))| (*at, i64::from(*to) - i64::from(*from)));
    let mut steps: Vec<(Millis, i64)> = pods.iter().flat_map(|pod| available(pod, first)).chain(asked).collect();
    steps.sort_unstable();
    let mut steps = steps.into_iter().peekable();
    let mut missing = i64::from(before);
    while let Some((_, step)) = steps.next_if(|(at, _)| *at <= first) {
        missing += step;
    }
    let mut shortage = Shortage { since_millis: None, until_millis: None, most: 0, is_begin_seen: missing <= 0 };
    let mut note = |at: Millis, missing: i64| {
        shortage.most = shortage.most.max(u32::try_from(missing).unwrap_or_default());
        match (missing > 0, shortage.since_millis) {
            (true, None) => shortage.since_millis = Some(at),
            (true, Some(_)) => shortage.until_millis = None,
            (false, Some(_)) => shortage.until_millis = shortage.until_millis.or(Some(at)),
            (false, None) => {}
        }
    };
    note(first, missing);
    while let Some((at, step)) = steps.next() {
        missing += step;
        if steps.peek().is_none_or(|(next, _)| *next > at) {
            note(at, missing);
        }
    }
    shortage
}

/// When a pod began to be available, which makes one less missing, and when that ended. What is listed first was so before.
fn available(pod: &Pod, first: Millis) -> impl Iterator<Item = (Millis, i64)> {
    let is_first = pod.now.listed_millis == Some(pod.first_seen_millis());
    let is_listed = is_first && pod.first_seen_millis() - first <= LISTING_MILLIS;
    let released = pod.releases.last().filter(|_| pod.is_out_of_rotation()).map(|release| release.at_millis);
    let ends = pod.states.iter().skip(1).map(|(_, at)| Some(*at)).chain([None]);
    let stretches = pod.states.iter().zip(ends).filter(|((state, _), _)| *state == PodState::Available);
    stretches.flat_map(move |((_, from), to)| {
        let from = if is_listed && *from == pod.first_seen_millis() { first } else { *from };
        let to = to.into_iter().chain(released).min().map(|to| (to.max(from), 1));
        [(from, -1)].into_iter().chain(to)
    })
}
