//! Rows of episodes other than those of their rollouts, computed from their recordings, so that lists do not need the recordings.

use timeline::assess::rest::SETTLE_MILLIS;
use timeline::episodes::EpisodeRow;
use timeline::episodes::rollout_rows::{name_bad_verdict, was_observed};
use timeline::model::container::LONGEST_BACK_OFF_MILLIS;
use timeline::model::story::Happening;
use timeline::model::{Deployment, Gap, Model};
use timeline::rollout::{self, Outcome};
use timeline::view::Now;
use timeline::words::images;
use timeline::{EpisodeKind, Millis, Timeline, Uid, assess, say};

use super::rollout_span;
use crate::feed::recording::Recording;

/// Trouble of an episode counts if it lasts this long without a change.
const LASTING_MILLIS: Millis = 10_000;
/// Largest number of stretches of that length that are examined; the last ones are.
const MOST_STRETCHES: usize = 64;

/// Returns the rows of an episode beside those of its rollouts, from its recording: one of the trouble before the first rollout, and the last
/// one, which is of all of an episode without a rollout, or of the deletion after the last rollout was complete. `rollouts` has the begin
/// of the first rollout, and whether the Deployment is deleted; `None` where no rollout is known.
pub fn episode_rows(
    text: &str,
    uid: Uid,
    (from_millis, to_millis): (Millis, Millis),
    rollouts: Option<(Millis, bool)>,
    is_open: bool,
) -> [Option<Box<EpisodeRow>>; 2] {
    // Nearly every episode of a rollout begins with its edit, which is observed slightly earlier.
    if let Some((began_millis, is_deleted)) = rollouts
        && !is_deleted
        && began_millis - from_millis <= rollout::OVERTAKING_MILLIS
    {
        return [None, None];
    }
    let timeline = play(text, to_millis);
    let model = timeline.model();
    let Some(deployment) = model.deployments.get(&uid) else { return [None, None] };
    // After a restart its rollouts may not be known yet.
    if rollouts.is_none() {
        let row = match missing_since(deployment) {
            Some(until_millis) => row_before_gap(text, uid, (from_millis, until_millis)),
            None => row_of_played(&timeline, text, uid, (from_millis, to_millis), is_open, RowScope::Whole),
        };
        if let Some(row) = row {
            return [None, Some(Box::new(row))];
        }
    }
    let before = end_before_rollout(model, deployment).filter(|until| *until >= from_millis).and_then(|until| {
        let lines = rollout_span::trim(text, (Millis::MIN, until));
        let (played, span) = (play(&lines, until), (from_millis, until));
        let row = row_of_played(&played, &lines, uid, span, false, RowScope::BeforeRollout)?;
        // Watches overtake each other: a change slightly before may belong to the rollout. A scaling alone is no trouble.
        let is_before = row.started_millis <= until - rollout::OVERTAKING_MILLIS;
        Some(row).filter(|row| is_before && (row.episode != EpisodeKind::Scaling || !row.cause.is_empty()))
    });
    let since = begin_of_deletion(deployment).map(|since| since.max(from_millis));
    let deletion = since.filter(|since| *since <= to_millis).and_then(|since| {
        let lines = rollout_span::trim(text, (since, to_millis));
        let (played, span) = (play(&lines, to_millis), (since, to_millis));
        let row = row_of_played(&played, &lines, uid, span, is_open, RowScope::Deletion);
        row.filter(|row| row.episode == EpisodeKind::Deletion)
    });
    [before, deletion].map(|row| row.map(Box::new))
}

/// Returns the last time before the first rollout that began in a recording; `None` without a rollout, or if it created the Deployment.
fn end_before_rollout(model: &Model, deployment: &Deployment) -> Option<Millis> {
    let first = deployment.rollouts.iter().position(|rollout| rollout.started_millis.is_some())?;
    let last_millis = rollout::last_moment_millis(model, deployment, first.checked_sub(1)?)?;
    let taken_down_millis = rollout::take_down_millis(model, deployment, deployment.rollouts.get(first)?);
    Some(taken_down_millis.map_or(last_millis, |at| last_millis.min(at - 1)))
}

/// Returns the start of the time after the last complete rollout in which its Deployment was deleted; `None` if it was not deleted.
fn begin_of_deletion(deployment: &Deployment) -> Option<Millis> {
    let completed_millis =
        deployment.rollouts.last()?.completed_millis.filter(|_| deployment.deleted_millis.is_some())?;
    let mut story = deployment.story.iter();
    let deletion = story.find(|entry| matches!(entry.what, Happening::Deleting | Happening::Deleted { .. }))?;
    // The last pods may be observed as available slightly after the rollout was complete.
    let settled_millis = completed_millis + rollout::OVERTAKING_MILLIS;
    Some(settled_millis.min(deletion.at_millis - 1).max(completed_millis + 1))
}

/// Returns the start of the gap after which a Deployment was missing; `None` if it was not missing. Its namespace may no longer
/// be watched, so its deletion is not certain.
fn missing_since(deployment: &Deployment) -> Option<Millis> {
    let gap = deployment.gaps.iter().find(|gap| deployment.deleted_millis == Some(gap.to_millis));
    gap.map(|gap| gap.from_millis)
}

/// Returns the row of an episode until the gap after which its Deployment was missing.
fn row_before_gap(text: &str, uid: Uid, (from_millis, until_millis): (Millis, Millis)) -> Option<EpisodeRow> {
    // The list after the gap began the episode: nothing of it was observed.
    if until_millis < from_millis {
        return None;
    }
    let lines = rollout_span::trim(text, (Millis::MIN, until_millis));
    let (played, span) = (play(&lines, until_millis), (from_millis, until_millis));
    let row = row_of_played(&played, &lines, uid, span, false, RowScope::BeforeGap)?;
    // It is evicted by age, like the rows of a deleted workload.
    Some(EpisodeRow { is_deleted: true, ..row })
}

/// The part of an episode that a row describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowScope {
    Whole,
    /// Everything until a rollout began.
    BeforeRollout,
    /// Everything until the gap in which the Deployment went missing. An open state may have ended at any time in the gap.
    BeforeGap,
    /// Only the deletion; the row of an earlier rollout describes losses and restarts.
    Deletion,
}

impl RowScope {
    /// Returns whether the episode continues after the part in its row.
    const fn is_part(self) -> bool {
        matches!(self, Self::BeforeRollout | Self::BeforeGap)
    }
}

/// Replays the lines of an episode until it ends.
fn play(text: &str, to_millis: Millis) -> Timeline {
    let mut timeline = Recording::read(text).play();
    timeline.tick(to_millis);
    timeline
}

/// Returns the row of an episode, whose lines were replayed until its end; `None` if it contains a rollout, or has no kind. The
/// store adds its cluster and number.
fn row_of_played(
    timeline: &Timeline,
    text: &str,
    uid: Uid,
    (from_millis, to_millis): (Millis, Millis),
    is_open: bool,
    scope: RowScope,
) -> Option<EpisodeRow> {
    let now = Now { millis: to_millis, skew_millis: timeline.skew_millis() };
    let deployment = timeline.model().deployments.get(&uid)?;
    if deployment.rollouts.iter().any(|rollout| was_observed(deployment, rollout)) {
        return None;
    }
    if missing_since(deployment).is_some() {
        return None;
    }
    let episode = assess_episode(timeline.model(), deployment, now, is_open, scope)?;
    let title = say::episode(&episode, is_open);
    let is_trouble = episode.kind == EpisodeKind::Failure || episode.outage_millis.is_some();
    // The title of a scaling does not mention pods that do not start.
    let is_scaling = episode.kind == EpisodeKind::Scaling;
    let trouble =
        Some(text).filter(|_| is_scaling).and_then(|text| find_trouble(text, uid, &deployment.gaps, to_millis));
    let ended_millis = (!is_open).then(|| episode.ended_millis.unwrap_or(to_millis).clamp(from_millis, to_millis));
    let last = deployment.rollouts.last();
    Some(EpisodeRow {
        episode: episode.kind,
        namespace: deployment.namespace.clone(),
        name: deployment.name.clone(),
        uid,
        revision: last.map(|rollout| rollout.revision).unwrap_or_default(),
        started_millis: episode.began_millis.clamp(from_millis, ended_millis.unwrap_or(to_millis)),
        ended_millis,
        // The list after a gap does not show when the episode ended. Its begin counts from the first observation.
        is_part_unseen: match episode.ended_millis {
            Some(at) => rollout::is_in_gap(deployment, at),
            None => scope == RowScope::BeforeGap,
        },
        outcome: match episode.kind {
            _ if is_open => Outcome::Progressing,
            EpisodeKind::Deletion => Outcome::Deleted,
            _ => Outcome::Complete,
        },
        cause: trouble.or_else(|| Some(&title).filter(|_| is_trouble).cloned()).unwrap_or_default(),
        title,
        images: last.map(|rollout| images(&rollout.images)).unwrap_or_default(),
        replicas: deployment.now.spec.replicas,
        restarts: Some(episode.restarted.iter().map(|restarted| restarted.times).sum()),
        moment_millis: ended_millis,
        last_millis: Some(to_millis).filter(|_| scope.is_part()),
        is_deleted: deployment.deleted_millis.is_some(),
        is_kept: true,
        ..EpisodeRow::default()
    })
}

/// Returns the episode of a workload at its last line; it has not ended while a pod crashes repeatedly.
fn assess_episode<'m>(
    model: &'m Model,
    deployment: &Deployment,
    now: Now,
    is_open: bool,
    scope: RowScope,
) -> Option<assess::Episode<'m>> {
    let mut episode = assess::episode(model, deployment.uid, now.skew_millis)?;
    match scope {
        RowScope::Whole | RowScope::BeforeGap => {}
        RowScope::BeforeRollout => {
            let outage = assess::outage(model, deployment, episode.began_millis, Some(now.millis));
            episode.outage_millis = episode.outage_millis.max(outage.filter(|_| episode.is_whole));
        }
        RowScope::Deletion => keep_deletion(&mut episode, deployment),
    }
    // Containers restart during their back-off before their workload is at rest.
    let is_settled = !is_open && !scope.is_part();
    let settled_millis = if is_settled { LONGEST_BACK_OFF_MILLIS + SETTLE_MILLIS } else { 0 };
    let later = Now { millis: now.millis + settled_millis, ..now };
    let pods = model.pods_of_deployment(deployment.uid);
    // A pod out of rotation was replaced, and may crash as long as it exists.
    let mut counted = pods.iter().filter(|pod| !pod.is_out_of_rotation());
    if counted.any(|pod| assess::crash::crash(pod, later).is_some_and(|crash| crash.is_loop)) {
        episode.ended_millis = None;
    }
    Some(episode)
}

/// Reduces an episode to its deletion, with the pods that ended before because of it.
fn keep_deletion(episode: &mut assess::Episode<'_>, deployment: &Deployment) {
    let is_of_it = |what: &Happening| {
        matches!(what, Happening::WentBefore { .. } | Happening::Deleting | Happening::Deleted { .. })
    };
    let first = deployment.story.iter().filter(|entry| is_of_it(&entry.what)).map(|entry| entry.at_millis).min();
    episode.began_millis = first.unwrap_or(episode.began_millis);
    (episode.scaled, episode.refused) = (None, None);
    episode.losses.clear();
    episode.restarted.clear();
}

/// Finds the last trouble of an episode, as a cause: a bad verdict that lasted without changes, or at its end. States during a
/// gap are unknown.
fn find_trouble(text: &str, uid: Uid, gaps: &[Gap], to_millis: Millis) -> Option<String> {
    let observed = Recording::read(text).observed;
    let stretches = observed.iter().zip(observed.iter().skip(1)).map(|(one, next)| {
        let is_between = |gap: &&Gap| gap.from_millis < next.at_millis && gap.to_millis > one.at_millis;
        (one.at_millis, gaps.iter().find(is_between).map_or(next.at_millis, |gap| gap.from_millis))
    });
    let quiet = stretches.filter(|(from, until)| until - from >= LASTING_MILLIS);
    let mut ends: Vec<Millis> = quiet.map(|(_, until)| until - 1).collect();
    let mut ends = ends.split_off(ends.len().saturating_sub(MOST_STRETCHES)).into_iter().peekable();
    let (mut timeline, mut trouble) = (Timeline::new(), None);
    for observed in observed {
        if let Some(end) = ends.next_if(|end| *end < observed.at_millis) {
            timeline.tick(end);
            trouble = name_bad_verdict(&timeline, uid, end).or(trouble);
        }
        observed.apply(&mut timeline);
    }
    timeline.tick(to_millis);
    name_bad_verdict(&timeline, uid, to_millis).or(trouble)
}
