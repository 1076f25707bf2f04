//! The rows of rollouts and other episodes, so that lists need no recordings.

use timeline::assess::{CauseKind, Refused};
use timeline::episodes::course::{self, limits, moment, replicas};
use timeline::episodes::{EpisodeRow, UNKNOWN_CAUSE};
use timeline::model::container::LONGEST_BACK_OFF_MILLIS;
use timeline::model::story::Happening;
use timeline::model::{Deployment, Gap, Model, Pod, PodState, Rollout};
use timeline::rollout::{self, Outcome};
use timeline::view::{self, Assessment, Now, Standing, Tone, View};
use timeline::words::images;
use timeline::{EpisodeKind, Millis, Timeline, Uid, assess, say};

use super::activity::SETTLE_MILLIS;
use super::rollout_span;
use crate::feed::recording::Recording;

/// Number of rollouts of a Deployment that may still change: the last one, and those that it superseded.
pub const LAST: usize = 3;
/// Trouble of an episode counts if nothing changes for so long while it lasts.
const LASTING_MILLIS: Millis = 10_000;
/// Most stretches of that length that are looked at, the last ones.
const MOST_STRETCHES: usize = 64;

/// Returns the last rollouts of a Deployment in order, without those that were over before it was observed.
pub fn rollouts(cluster: &str, timeline: &Timeline, uid: Uid, now: Now, most: usize) -> Vec<EpisodeRow> {
    let model = timeline.model();
    let Some(deployment) = model.deployments.get(&uid) else { return Vec::new() };
    let first = deployment.rollouts.len().saturating_sub(most);
    let known = deployment.rollouts.iter().enumerate().skip(first);
    let seen = known.filter(|(_, rollout)| was_observed(deployment, rollout));
    seen.map(|(index, rollout)| row_of_rollout(cluster, timeline, deployment, (index, rollout), now)).collect()
}

/// Returns `false` for a rollout that was over before its Deployment was observed. One that went on at the first observation got a row while
/// it was open, and gets it once more when it is over.
fn was_observed(deployment: &Deployment, rollout: &Rollout) -> bool {
    rollout.started_millis.is_some() || rollout.is_open() || rollout.ended_millis() > Some(deployment.first_seen_millis)
}

/// Returns the row of a rollout of a Deployment. The store counts the rows, and looks up what the images were before.
fn row_of_rollout(
    cluster: &str,
    timeline: &Timeline,
    deployment: &Deployment,
    (index, rollout): (usize, &Rollout),
    now: Now,
) -> EpisodeRow {
    let model = timeline.model();
    let is_last = index + 1 == deployment.rollouts.len();
    let outcome = rollout::outcome(deployment, rollout);
    let set = rollout::set_of_rollout(model, deployment, rollout).map(|set| &set.now);
    let (ceiling, floor) = limits(deployment, index).unzip();
    let next_refusal = Some(rollout).filter(|_| is_last).and_then(|last| name_refusal_after(model, deployment, last));
    EpisodeRow {
        cluster: cluster.to_owned(),
        namespace: deployment.namespace.clone(),
        name: deployment.name.clone(),
        uid: deployment.uid,
        revision: rollout.revision,
        trigger: rollout::trigger(model, deployment, index),
        started_millis: rollout::began_millis(model, deployment, rollout).unwrap_or(deployment.first_seen_millis),
        ended_millis: rollout.ended_millis(),
        is_part_unseen: rollout::is_part_unseen(model, deployment, rollout),
        has_gap: rollout::has_gap(model, deployment, rollout),
        outcome,
        cause: if is_last {
            last_cause(model, deployment, outcome, now)
        } else {
            course::never_ready(model, deployment, rollout)
        }
        .unwrap_or_default(),
        refusal: name_refusal_before(model, deployment, rollout)
            .or_else(|| name_take_down_before(model, deployment, rollout, now.skew_millis)),
        losses: name_losses(timeline, deployment, index, now.millis),
        next_refusal,
        deadline_millis: rollout.deadline_exceeded_millis,
        images: images(&rollout.images),
        replicas: replicas(deployment, index),
        available_millis: rollout.available_millis,
        first_available_millis: course::first_available(model, deployment, rollout),
        restarts: Some(course::restarts(model, deployment, rollout)),
        peak_pods: rollout.peak_active,
        min_available: rollout.min_available,
        ceiling,
        floor,
        change_cause: set.and_then(|set| set.change_cause.clone()),
        managed_by: set.map(|set| set.managed_by.clone()).unwrap_or_default(),
        moment_millis: match outcome {
            // A passed deadline did not end it.
            Outcome::Deleted => deployment.deleted_millis,
            _ => moment(model, deployment, index).or(deployment.deleted_millis),
        },
        last_millis: rollout::last_moment_millis(model, deployment, index),
        is_deleted: deployment.deleted_millis.is_some(),
        is_kept: true,
        ..EpisodeRow::default()
    }
}

/// Returns why the last rollout of a Deployment is in trouble; `None` if it is not, or the trouble is not its own.
fn last_cause(model: &Model, deployment: &Deployment, outcome: Outcome, now: Now) -> Option<String> {
    let assessment = Assessment::at(model, deployment.uid, now)?;
    let view = Some(view::view_of(&assessment)).filter(|view| matches!(view.verdict.tone, Tone::Bad))?;
    let standing = assessment.standing();
    let is_outage = assessment.is_headline_outage(standing);
    // A paused Deployment does not roll out what is edited: the outage is of the revision that runs.
    let awaits_next = assessment.awaits_revision && !deployment.now.spec.paused;
    let is_done = matches!(outcome, Outcome::Complete | Outcome::ScaledToZero);
    let is_next_refused = assessment.decisive().is_some_and(|cause| cause.kind.is_refusal(Refused::ReplicaSet));
    let waits_for_old = assessment.decisive().is_some_and(|cause| cause.kind == CauseKind::OldNotGoing);
    // What is no fault by itself is the cause where the progress deadline passed over it. Before that, the verdict names what is bad.
    let is_known = view.reasons.iter().any(|reason| reason.is_fault || !is_done);
    let rollout = deployment.rollouts.last();
    let is_late = rollout.is_some_and(|rollout| rollout.deadline_exceeded_millis.is_some());
    // One that was scaled to zero may never have had all of its pods, and one for no replicas had none.
    let had_all = rollout.is_some_and(|rollout| {
        let was_there = outcome == Outcome::Complete || rollout.available_millis.is_some();
        was_there && !never_had_pods(model, deployment, rollout)
    });
    // That no pod is available is all that is bad.
    let is_outage_alone =
        assessment.is_rollout_outage(standing) && standing.tone() != Tone::Bad && assessment.decisive().is_none();
    let is_of_before = || rollout.is_some_and(|rollout| began_in_outage(model, deployment, rollout));
    match (is_known, is_done) {
        // Recreate takes the pods down for the next rollout.
        _ if waits_for_old && awaits_next => None,
        // The outage is one of the revision before, until something is wrong with its own pods.
        (_, false) if is_outage_alone && !is_late && is_of_before() => None,
        // Pods that a later scaling lacks are no trouble of a rollout that had all of them.
        (_, true) if had_all && matches!(standing, Standing::ScalingUp { .. }) => None,
        // Nor is that the ReplicaSet of the next one is refused.
        (_, true) if is_next_refused => None,
        // Once its template is edited, an outage is told of the next rollout.
        (false, true) if !is_outage || awaits_next => None,
        (false, false) if is_late => Some(UNKNOWN_CAUSE.to_owned()),
        _ => Some(with_leading_cause(view, is_outage)),
    }
}

/// Returns whether the last rollout of a Deployment asked for no pods, and none of its pods has been available since.
fn never_had_pods(model: &Model, deployment: &Deployment, last: &Rollout) -> bool {
    let set = rollout::set_of_rollout(model, deployment, last);
    replicas(deployment, deployment.rollouts.len().saturating_sub(1)) == 0
        && !set.is_some_and(|set| model.pods_of(set.uid).any(Pod::was_available))
}

/// Returns whether the pods that were there when a rollout began were not ready, and none of its own has been available since.
fn began_in_outage(model: &Model, deployment: &Deployment, last: &Rollout) -> bool {
    let Some(sign_millis) = rollout::first_sign_millis(model, deployment, last) else { return false };
    let taken_down_millis = rollout::take_down_millis(model, deployment, last);
    let began_millis = taken_down_millis.map_or(sign_millis, |at| sign_millis.min(at - 1));
    let pods = model.pods_of_deployment(deployment.uid);
    let before = pods.iter().filter_map(|pod| pod.state_at(began_millis)).filter(|state| *state != PodState::Gone);
    let before: Vec<PodState> = before.collect();
    !before.is_empty()
        && !before.into_iter().any(PodState::is_ready)
        && !course::pods(model, deployment, last).any(Pod::was_available)
}

/// Returns the headline; if that says only that no pod serves, the first sentence of the explanation as well.
fn with_leading_cause(view: View, is_outage: bool) -> String {
    let leading = view.reasons.first().filter(|_| is_outage);
    let first = leading.and_then(|reason| reason.sentence.split_inclusive(". ").next());
    match first {
        Some(first) => format!("{} {}", view.verdict.sentence, first.trim_end()),
        None => view.verdict.sentence,
    }
}

/// Says that the ReplicaSet of a rollout that is over was refused before it began: until then the controller had not observed the edit.
fn name_refusal_before(model: &Model, deployment: &Deployment, rollout: &Rollout) -> Option<String> {
    let sign = rollout::first_sign_millis(model, deployment, rollout).filter(|_| !rollout.is_open())?;
    // Events count whole seconds.
    let message = assess::find_set_refusal(model, deployment, sign - 1_000..=rollout.started_millis?)?;
    Some(format!("{}.", say::say_refusal(&format!("Revision {}", rollout.revision), message)))
}

/// Says that old pods did not go in the take-down by Recreate before a rollout that is over. When they went in a gap in it is not known.
fn name_take_down_before(
    model: &Model,
    deployment: &Deployment,
    rollout: &Rollout,
    skew_millis: Millis,
) -> Option<String> {
    let taken_down = rollout::take_down_millis(model, deployment, rollout).filter(|_| !rollout.is_open())?;
    let started = rollout.started_millis?;
    let is_stuck = !rollout::has_gap_within(deployment, taken_down, started)
        && assess::rollout_causes::was_take_down_stuck(model, deployment, (taken_down, started), skew_millis);
    is_stuck.then(|| format!("Revision {} was blocked: old pods did not go.", rollout.revision))
}

/// Says that the ReplicaSet of the next revision was refused after the last rollout was complete.
fn name_refusal_after(model: &Model, deployment: &Deployment, last: &Rollout) -> Option<String> {
    let message = assess::find_set_refusal(model, deployment, last.completed_millis? + 1..=Millis::MAX)?;
    Some(say::say_refusal("The next revision", message))
}

/// Names the outage and the pods and ReplicaSets that went after the rollout at `index` was complete and before the next one.
fn name_losses(timeline: &Timeline, deployment: &Deployment, index: usize, now_millis: Millis) -> Option<String> {
    let rollout = deployment.rollouts.get(index).filter(|rollout| !rollout.was_scaled_to_zero)?;
    let completed_millis = rollout.completed_millis?;
    // The lists after a gap do not tell whether a pod went before the completion that fell into it.
    let settling_millis = timeline.settling_millis();
    let is_around = |gap: &Gap| (gap.from_millis - settling_millis..=gap.to_millis).contains(&completed_millis);
    if deployment.gaps.iter().any(is_around) {
        return None;
    }
    // Until then it may be told better why a pod went; losses that are written stay. An episode does not wait longer.
    let decided_millis = now_millis - (2 * settling_millis).min(SETTLE_MILLIS);
    let model = timeline.model();
    // Recreate takes the pods down for the next one.
    let next = deployment.rollouts.get(index + 1);
    let take_down_millis = next.and_then(|next| rollout::take_down_millis(model, deployment, next));
    let last_millis = rollout::last_moment_millis(model, deployment, index);
    let last_millis = last_millis.into_iter().chain(take_down_millis.map(|at| at - 1)).min();
    let until_millis = last_millis.unwrap_or(decided_millis).min(decided_millis);
    let losses = assess::losses(deployment, completed_millis + 1..=until_millis);
    let is_in = |gap: &Gap| !gap.is_short() && gap.to_millis > completed_millis && gap.from_millis <= until_millis;
    let has_gap = deployment.gaps.iter().any(is_in);
    say::say_losses(&losses, assess::outage(model, deployment, completed_millis, last_millis), has_gap)
}

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
    // Nearly every episode of a rollout begins with its edit, which is observed a moment before it.
    if let Some((began_millis, is_deleted)) = rollouts
        && !is_deleted
        && began_millis - from_millis <= rollout::OVERTAKING_MILLIS
    {
        return [None, None];
    }
    let timeline = play(text, to_millis);
    let model = timeline.model();
    let Some(deployment) = model.deployments.get(&uid) else { return [None, None] };
    // After a restart, the rollouts in it may not be known yet.
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
        // Streams overtake each other: what began a moment before may be of the rollout. A scaling alone is no trouble.
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

/// Returns the last moment before the first rollout that began in a recording; `None` without one, or if it created the Deployment.
fn end_before_rollout(model: &Model, deployment: &Deployment) -> Option<Millis> {
    let first = deployment.rollouts.iter().position(|rollout| rollout.started_millis.is_some())?;
    let last_millis = rollout::last_moment_millis(model, deployment, first.checked_sub(1)?)?;
    let taken_down_millis = rollout::take_down_millis(model, deployment, deployment.rollouts.get(first)?);
    Some(taken_down_millis.map_or(last_millis, |at| last_millis.min(at - 1)))
}

/// Returns the begin of the time after the last rollout was complete in which its Deployment was deleted; `None` if it was not.
fn begin_of_deletion(deployment: &Deployment) -> Option<Millis> {
    let completed_millis =
        deployment.rollouts.last()?.completed_millis.filter(|_| deployment.deleted_millis.is_some())?;
    let mut story = deployment.story.iter();
    let deletion = story.find(|entry| matches!(entry.what, Happening::Deleting | Happening::Deleted { .. }))?;
    // The last pods may be seen to be available a moment after it was complete.
    let settled_millis = completed_millis + rollout::OVERTAKING_MILLIS;
    Some(settled_millis.min(deletion.at_millis - 1).max(completed_millis + 1))
}

/// Returns the begin of the gap after which a Deployment was missing; `None` if it was not. Its namespace may not be watched any more: its
/// deletion is not certain.
fn missing_since(deployment: &Deployment) -> Option<Millis> {
    let gap = deployment.gaps.iter().find(|gap| deployment.deleted_millis == Some(gap.to_millis));
    gap.map(|gap| gap.from_millis)
}

/// Returns the row of an episode until the gap after which its Deployment was missing.
fn row_before_gap(text: &str, uid: Uid, (from_millis, until_millis): (Millis, Millis)) -> Option<EpisodeRow> {
    // The list after the gap began it: nothing of it was observed.
    if until_millis < from_millis {
        return None;
    }
    let lines = rollout_span::trim(text, (Millis::MIN, until_millis));
    let (played, span) = (play(&lines, until_millis), (from_millis, until_millis));
    let row = row_of_played(&played, &lines, uid, span, false, RowScope::BeforeGap)?;
    // It is evicted for its age, as the rows of a deleted workload.
    Some(EpisodeRow { is_deleted: true, ..row })
}

/// The part of an episode that its row tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowScope {
    Whole,
    /// Everything until a rollout began.
    BeforeRollout,
    /// Everything until the gap in which the Deployment went missing. What went on then may have ended at any time in the gap.
    BeforeGap,
    /// The deletion alone, where the row of a rollout before tells of losses and restarts.
    Deletion,
}

impl RowScope {
    /// Returns whether the episode goes on after what its row tells.
    const fn is_part(self) -> bool {
        matches!(self, Self::BeforeRollout | Self::BeforeGap)
    }
}

/// Plays the lines of an episode until it ends.
fn play(text: &str, to_millis: Millis) -> Timeline {
    let mut timeline = Recording::read(text).play();
    timeline.tick(to_millis);
    timeline
}

/// Returns the row of the lines of an episode, which were played until it ends; `None` if a rollout is in them, or they are of no
/// kind. The store adds its cluster and number.
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
    // The title of a scaling says nothing of pods that do not start.
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
        // The list after a gap does not tell when it ended. A begin counts from when it was first seen.
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

/// Returns the episode of a workload at its last line; it has not ended while a pod crashes again and again.
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
    // Containers run for their back-off before their workload comes to rest.
    let is_settled = !is_open && !scope.is_part();
    let settled_millis = if is_settled { LONGEST_BACK_OFF_MILLIS + SETTLE_MILLIS } else { 0 };
    let later = Now { millis: now.millis + settled_millis, ..now };
    let pods = model.pods_of_deployment(deployment.uid);
    // One out of rotation was replaced, and may crash for as long as it is there.
    let mut counted = pods.iter().filter(|pod| !pod.is_out_of_rotation());
    if counted.any(|pod| assess::crash::crash(pod, later).is_some_and(|crash| crash.is_loop)) {
        episode.ended_millis = None;
    }
    Some(episode)
}

/// Leaves the deletion alone in an episode, with pods that went because of it before.
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

/// Finds the trouble that an episode had last, as a cause: a bad verdict that lasted while nothing changed, or at its end. Nobody knows
/// what lasted in a gap.
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

/// Returns the verdict as a cause if it is a bad one.
fn name_bad_verdict(timeline: &Timeline, uid: Uid, millis: Millis) -> Option<String> {
    let now = Now { millis, skew_millis: timeline.skew_millis() };
    let assessment = Assessment::at(timeline.model(), uid, now)?;
    let is_outage = assessment.is_headline_outage(assessment.standing());
    let view = view::view_of(&assessment);
    (view.verdict.tone == Tone::Bad).then(|| with_leading_cause(view, is_outage))
}
