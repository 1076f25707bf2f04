//! Rows of rollouts, from a model: the cause of a rollout, refusals, the take-down before it, and losses after it.

use super::course::{self, limits, moment, replicas};
use super::{EpisodeRow, UNKNOWN_CAUSE};
use crate::assess::rest::SETTLE_MILLIS;
use crate::assess::{self, Assessment, CauseKind, Now, Refused, Standing, Tone};
use crate::model::{Deployment, Gap, Model, Pod, PodState, Rollout};
use crate::rollout::{self, Outcome};
use crate::view::{self, View};
use crate::words::images;
use crate::{Millis, Timeline, Uid, say};

/// Number of rollouts of a Deployment that may still change: the last one, and those that it superseded.
pub const LAST: usize = 3;

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
pub fn was_observed(deployment: &Deployment, rollout: &Rollout) -> bool {
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
        // It is the revision before whose pods fail.
        _ if assessment.lacks_old_pods(standing) => None,
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

/// Returns the verdict on a workload as a cause if it is a bad one.
pub fn name_bad_verdict(timeline: &Timeline, uid: Uid, millis: Millis) -> Option<String> {
    let now = Now { millis, skew_millis: timeline.skew_millis() };
    let assessment = Assessment::at(timeline.model(), uid, now)?;
    let is_outage = assessment.is_headline_outage(assessment.standing());
    let view = view::view_of(&assessment);
    (view.verdict.tone == Tone::Bad).then(|| with_leading_cause(view, is_outage))
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
