//! Derives facts about a rollout from it and its neighbours: trigger, outcome, its ReplicaSet.

use serde::{Deserialize, Serialize};

use crate::Millis;
use crate::model::fact::{Condition, Strategy};
use crate::model::{Deployment, Gap, KubectlVerdict, Model, Pod, ReplicaSet, Rollout, ScaleCause};

pub use crate::model::Trigger;

/// A ReplicaSet that arrived this long before its Deployment was adopted by it, not created for it.
const ADOPTED_BEFORE_MILLIS: i64 = 500;
/// A rollout that starts this soon after a change of the replicas may come from the same edit.
const SAME_EDIT_MILLIS: Millis = 1_000;

/// Maximum delay between streams of different kinds; a shorter take-down is not reported.
pub const OVERTAKING_MILLIS: Millis = 1_000;

/// Maximum delay of a Deployment's status after its pods.
pub const STATUS_MILLIS: Millis = 5_000;

/// The outcome of a rollout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// Every replica was replaced and available.
    Complete,
    /// The Deployment was scaled to zero before every replica was available.
    ScaledToZero,
    /// The next revision began before this one was complete.
    Superseded,
    /// The Deployment was deleted before it was complete.
    Deleted,
    /// The progress deadline passed, without a later change.
    DeadlineExceeded,
    /// In progress.
    #[default]
    Progressing,
}

/// Returns the owned ReplicaSet with `rollout`'s revision: the first observed one, and before those that were adopted from another
/// Deployment, whose numbers come from that one.
pub fn replica_set<'m>(model: &'m Model, deployment: &Deployment, revision: u64) -> Option<&'m ReplicaSet> {
    let is_of_another = |set: &&ReplicaSet| set.owners.first() != Some(&deployment.uid);
    model.sets_of(deployment.uid).filter(|set| set.had_revision(revision)).min_by_key(is_of_another)
}

/// Returns the ReplicaSet of a rollout. If an earlier rollout had the same number, because the controller counts from 1 again after all
/// ReplicaSets were deleted, returns the last one that existed when this rollout began.
pub fn set_of_rollout<'m>(model: &'m Model, deployment: &Deployment, of: &Rollout) -> Option<&'m ReplicaSet> {
    let is_earlier = |other: &Rollout| other.revision == of.revision && other.started_millis < of.started_millis;
    let until = of.started_millis.filter(|_| deployment.rollouts.iter().any(is_earlier));
    let last = until.and_then(|until| {
        let own = model.sets_of(deployment.uid).filter(|set| set.owners.first() == Some(&deployment.uid));
        own.filter(|set| set.had_revision(of.revision) && set.first_seen_millis <= until + OVERTAKING_MILLIS).last()
    });
    last.or_else(|| replica_set(model, deployment, of.revision))
}

/// Returns a ReplicaSet of a Deployment, with others of its name: a deleted one is created again with the same template and revision.
pub fn sets_named_as<'m>(
    model: &'m Model,
    deployment: &'m Deployment,
    set: &'m ReplicaSet,
) -> impl Iterator<Item = &'m ReplicaSet> {
    model.sets_of(deployment.uid).filter(move |other| other.name == set.name)
}

/// Returns the existing ReplicaSet that is scaled up: the one with the Deployment's revision. A new revision is written to the ReplicaSet
/// first and to the Deployment shortly after, so a higher one on a ReplicaSet is already the Deployment's.
pub fn current_set<'m>(model: &'m Model, deployment: &Deployment) -> Option<&'m ReplicaSet> {
    let revision = current_revision(model, deployment)?;
    let carries = |set: &&ReplicaSet| set.revision() == Some(revision);
    model.owned_sets(deployment.uid).filter(carries).min_by_key(|set| (set.first_seen_millis, set.uid))
}

/// Returns the revision of the ReplicaSet that is scaled up.
pub fn current_revision(model: &Model, deployment: &Deployment) -> Option<u64> {
    let latest = model.owned_sets(deployment.uid).max_by_key(|set| set.revision());
    let of_sets = latest.and_then(ReplicaSet::revision);
    // The next number with another template: its ReplicaSet has not arrived yet in the other stream.
    let is_next =
        |own: u64| latest.is_some_and(|set| set.revision() == own.checked_sub(1) && is_edited(set, deployment));
    // A Deployment that adopted ReplicaSets has no revision of its own for a moment; a number without a rollout is only on the Deployment.
    let is_own = |own: &u64| match deployment.rollouts.last() {
        Some(last) => last.revision == *own || is_next(*own),
        None => of_sets.is_none(),
    };
    deployment.now.revision.filter(is_own).max(of_sets)
}

/// Returns the arrival of the first sign of a rollout: a change that the controller had not observed when it began, or its ReplicaSet with
/// its revision. `None` if it was in progress when the observation began.
pub fn first_sign_millis(model: &Model, deployment: &Deployment, rollout: &Rollout) -> Option<Millis> {
    let started = rollout.started_millis?;
    let before = deployment.rollouts.iter().filter_map(|other| other.started_millis.filter(|at| *at < started)).max();
    let revised = set_of_rollout(model, deployment, rollout).and_then(|set| revised_millis(set, rollout.revision));
    // An earlier sign belongs to the rollout before, or to a Deployment that owned the ReplicaSet before this one adopted it.
    let signs = [unobserved_millis(deployment, started), revised].into_iter().flatten();
    let after = before.unwrap_or(deployment.first_seen_millis - ADOPTED_BEFORE_MILLIS);
    Some(signs.filter(|sign| *sign > after).fold(started, Millis::min))
}

/// Returns when Recreate began to remove the previous revision, for a rollout that starts after that; `None` if it removed nothing, or that
/// was not observed.
pub fn take_down_millis(model: &Model, deployment: &Deployment, rollout: &Rollout) -> Option<Millis> {
    let started = rollout.started_millis.filter(|_| rollout.max_surge == 0)?;
    let before = deployment.rollouts.iter().rfind(|other| other.started_millis < Some(started))?;
    let set = replica_set(model, deployment, before.revision)?;
    let mut scales = set.scales.iter().rev().filter(|scale| scale.deployment == deployment.uid);
    let last = scales.find(|scale| scale.at_millis <= started)?;
    let is_take_down = last.to == 0 && last.cause == ScaleCause::Rollout;
    // If the previous rollout was a rollback that was superseded before it had pods, the removal belongs to an earlier rollout. Streams are
    // not synchronised: the start of a rollout may arrive after its take-down.
    let is_of_before = before.started_millis.is_none_or(|began| last.at_millis + OVERTAKING_MILLIS >= began);
    Some(last.at_millis).filter(|at| is_take_down && is_of_before && started - at >= OVERTAKING_MILLIS)
}

/// Returns when a rollout began to affect pods: at its start, or with the take-down before it.
pub fn began_millis(model: &Model, deployment: &Deployment, rollout: &Rollout) -> Option<Millis> {
    take_down_millis(model, deployment, rollout).or(rollout.started_millis)
}

/// Returns whether the beginning or end of a rollout was not observed: the next list shows neither its time nor the number of pods until
/// then.
pub fn is_part_unseen(model: &Model, deployment: &Deployment, rollout: &Rollout) -> bool {
    rollout.is_end_unseen || is_begin_unseen(model, deployment, rollout)
}

/// Returns whether a part of a rollout was not observed: the real maximum of pods may be higher, and the minimum of available ones lower.
pub fn has_gap(model: &Model, deployment: &Deployment, rollout: &Rollout) -> bool {
    let from = began_millis(model, deployment, rollout).unwrap_or(deployment.first_seen_millis);
    has_gap_within(deployment, from, rollout.ended_millis().unwrap_or(Millis::MAX))
}

/// Returns whether a part of that time was not observed.
pub fn has_gap_within(deployment: &Deployment, from_millis: Millis, to_millis: Millis) -> bool {
    deployment.gaps.iter().any(|gap| !gap.is_short() && gap.from_millis < to_millis && gap.to_millis > from_millis)
}

/// Returns whether the beginning of a rollout, or of the take-down before it, was not observed.
pub fn is_begin_unseen(model: &Model, deployment: &Deployment, rollout: &Rollout) -> bool {
    let taken_down = take_down_millis(model, deployment, rollout);
    (rollout.started_millis.is_some() && !rollout.was_start_seen)
        || taken_down.is_some_and(|at| is_in_gap(deployment, at))
}

/// Returns whether something with that time was found by the list after a gap, so that its real time is unknown.
pub fn is_in_gap(deployment: &Deployment, at_millis: Millis) -> bool {
    // For the gap in which a Deployment was created, the gap begins with its first observation.
    let is_first = at_millis == deployment.first_seen_millis;
    let mut gaps = deployment.gaps.iter().filter(|gap| at_millis <= gap.to_millis);
    gaps.any(|gap| gap.from_millis < at_millis || (gap.from_millis == at_millis && is_first))
}

/// Returns the last moment of the rollout at `index` without traces of the next one: the beginning of the gap in which the next one began,
/// if that was not observed. `None` for the last rollout.
pub fn last_moment_millis(model: &Model, deployment: &Deployment, index: usize) -> Option<Millis> {
    let (known, next) = (deployment.rollouts.get(index)?, deployment.rollouts.get(index + 1)?);
    let sign = first_sign_millis(model, deployment, next)?;
    let since = known.started_millis.unwrap_or(deployment.first_seen_millis);
    let is_around = |gap: &&Gap| (since..sign).contains(&gap.from_millis) && sign <= gap.to_millis;
    let gap = deployment.gaps.iter().find(is_around).filter(|_| !next.was_start_seen);
    Some(gap.map_or(sign - 1, |gap| gap.from_millis))
}

/// Returns the arrival of the first sign of a rollout that has not begun yet; `None` if there is none.
pub fn next_sign_millis(model: &Model, deployment: &Deployment) -> Option<Millis> {
    let last = deployment.rollouts.last()?;
    let edited = awaits_revision(model, deployment).then(|| unobserved_millis(deployment, Millis::MAX)).flatten();
    let newer = model.owned_sets(deployment.uid).filter(|set| set.revision() > Some(last.revision));
    let made = newer.filter_map(|set| revised_millis(set, set.revision()?));
    let signs = made.chain(edited);
    signs.filter(|sign| last.started_millis.is_none_or(|started| *sign > started)).min()
}

/// Returns since when there was a change that the controller had not observed at that time; `None` if it had observed everything.
fn unobserved_millis(deployment: &Deployment, at_millis: Millis) -> Option<Millis> {
    let (since, verdict) = deployment.verdicts.iter().rev().find(|(since, _)| *since <= at_millis)?;
    (*verdict == KubectlVerdict::NotObserved).then_some(*since)
}

/// Returns since when a ReplicaSet has a revision; `None` if that is not known.
pub fn revised_millis(set: &ReplicaSet, revision: u64) -> Option<Millis> {
    set.revisions.iter().rev().find(|(known, _)| *known == revision).and_then(|(_, since)| *since)
}

/// Returns whether the template was edited, and no ReplicaSet has its revision yet.
pub fn awaits_revision(model: &Model, deployment: &Deployment) -> bool {
    current_set(model, deployment).is_some_and(|set| is_to_be_replaced(model, deployment, set))
}

/// Returns the ReplicaSet that is scaled up; `None` while the revision of an edited template is missing.
pub fn new_set<'m>(model: &'m Model, deployment: &Deployment) -> Option<&'m ReplicaSet> {
    current_set(model, deployment).filter(|set| !is_to_be_replaced(model, deployment, set))
}

/// Returns whether another template has the number of the last rollout: the controller counts from 1 again after all ReplicaSets were
/// deleted, for example those of a Deployment that is edited while paused.
pub fn is_number_reused(model: &Model, deployment: &Deployment, last: &Rollout) -> bool {
    let now = &deployment.now;
    let is_other = (&last.images, &last.restarted_at, last.template_apart)
        != (&now.spec.images, &now.restarted_at, now.template_apart);
    let is_gone = |set: &ReplicaSet| {
        set_of_rollout(model, deployment, last)
            .is_some_and(|known| known.removed_millis.is_some() && known.name != set.name)
    };
    is_other && new_set(model, deployment).is_some_and(|set| set.revision() == Some(last.revision) && is_gone(set))
}

/// Returns whether a condition is about a ReplicaSet: its message names it.
pub fn is_about(told: &Condition, set: &ReplicaSet) -> bool {
    told.message.contains(&format!("\"{}\"", set.name))
}

/// Returns whether a condition is about the ReplicaSet of another revision than that of the last rollout: if all old pods are removed at
/// once, a rollback does not update it.
pub fn is_about_another(model: &Model, deployment: &Deployment, told: &Condition) -> bool {
    let last = deployment.rollouts.last().map(|rollout| rollout.revision);
    let mut others = model.owned_sets(deployment.uid).filter(|set| set.revision() != last);
    others.any(|set| is_about(told, set))
}

/// Returns the condition of a refused ReplicaSet of the template. Kubernetes keeps it until there is progress or the deadline passes, even
/// if the template became that of an earlier ReplicaSet, which is not refused.
pub fn refusal_of_set<'m>(model: &Model, deployment: &'m Deployment) -> Option<&'m Condition> {
    let now = &deployment.now;
    let told = now.status.progressing.as_ref().filter(|told| told.reason == "ReplicaSetCreateError")?;
    let is_counted = now.status.observed_generation >= now.generation && now.status.updated > 0;
    Some(told).filter(|_| !is_counted || new_set(model, deployment).is_none())
}

/// Returns whether the revision after that of the current ReplicaSet is missing.
fn is_to_be_replaced(model: &Model, deployment: &Deployment, set: &ReplicaSet) -> bool {
    // A ReplicaSet of a newer revision than the Deployment's arrived before the edit that created it.
    let is_ahead = deployment.rollouts.last().is_some_and(|last| set.revision() > Some(last.revision));
    let now = &deployment.now;
    // An edit of undecoded fields is visible only by its effect: Recreate removes the existing pods, and the next ReplicaSet comes
    // afterwards. After a scaling to zero, `desired_replicas` of the ReplicaSet is 0 until it is scaled up again.
    let is_recreate = now.spec.strategy == Strategy::Recreate
        && !now.spec.paused
        && now.spec.replicas > 0
        && set.now.desired_replicas != Some(0);
    let has_pods = || model.pod_counts(set.uid).count_existing() > 0;
    if is_recreate && set.now.counts.desired == 0 && has_pods() {
        return true;
    }
    // While paused the controller creates no ReplicaSet, and counts no pod of an edited template. Known templates are compared directly
    // instead, unless a recording lacks fields of them. Pods after a scaling up are counted a moment later, all and those of the template
    // at once.
    let is_known = set.now.template.is_some() && now.template.is_some();
    let is_counted = now.status.replicas > 0 && now.status.replicas == set.now.counts.replicas;
    let is_paused_edit = (!is_known || is_counted)
        && now.spec.paused
        && now.status.observed_generation >= now.generation
        && now.status.updated == 0
        && set.now.counts.desired > 0
        && set.now.counts.replicas > 0
        && model.owned_sets(deployment.uid).all(|other| other.uid == set.uid || other.now.counts.desired == 0);
    !is_ahead && (is_edited(set, deployment) || is_paused_edit)
}

/// Returns the replicas for which the ReplicaSets were scaled last, if the controller mistakes other ones for a scaling that it never
/// finishes: several have replicas (`isScalingEvent` in `sync.go`), which only RollingUpdate distributes (`scale`), and none has the new
/// number, so that the new one does not count as saturated.
pub fn stuck_scaling(model: &Model, deployment: &Deployment) -> Option<u32> {
    let now = &deployment.now;
    let is_seen = now.generation <= now.status.observed_generation;
    if now.spec.strategy != Strategy::Recreate || now.spec.paused || !is_seen {
        return None;
    }
    let active = || model.owned_sets(deployment.uid).filter(|set| set.now.counts.desired > 0);
    let mut replicas = active().filter_map(|set| set.now.desired_replicas);
    let before = replicas.next()?;
    let is_stuck = before != now.spec.replicas && active().nth(1).is_some() && replicas.all(|other| other == before);
    is_stuck.then_some(before)
}

/// Returns whether the template of a Deployment differs from that of a ReplicaSet.
pub fn is_edited(set: &ReplicaSet, deployment: &Deployment) -> bool {
    let now = &deployment.now;
    let is_other = || set.images != now.spec.images || set.restarted_at != now.restarted_at;
    set.now.template.zip(now.template).map_or_else(is_other, |(set, deployment)| set != deployment)
}

/// Returns why the rollout at `index` started.
pub fn trigger(model: &Model, deployment: &Deployment, index: usize) -> Trigger {
    let Some(rollout) = deployment.rollouts.get(index) else { return Trigger::Unknown };
    if rollout.started_millis.is_none() {
        return Trigger::Unknown;
    }
    let is_first = index == 0 && deployment.rollouts_pruned == 0;
    let before = index.checked_sub(1).and_then(|at| deployment.rollouts.get(at));
    if before.is_some_and(|before| is_made_again(before, rollout)) {
        return Trigger::Adopted;
    }
    if let Some(set) = set_of_rollout(model, deployment, rollout) {
        let is_of_another = set.owners.first().is_some_and(|owner| *owner != deployment.uid);
        if is_first && is_of_another {
            return Trigger::Adopted; // numbers that it carried for another Deployment are not of this one
        }
        if set.revisions.first().is_some_and(|(revision, _)| *revision != rollout.revision) {
            let is_same = is_renumbered(model, deployment, index, set);
            return if is_same { Trigger::Adopted } else { Trigger::Rollback };
        }
        let arrived_before = set.first_seen_millis < deployment.first_seen_millis - ADOPTED_BEFORE_MILLIS;
        // The watch of Deployments may be late. Creation times are whole seconds: of two in the same second, neither is known to be older.
        let is_older = set.created_at_millis < deployment.created_at_millis;
        if (arrived_before && is_older) || is_of_another {
            return Trigger::Adopted;
        }
    }
    match (is_first, rollout.is_restart) {
        // Created without observation, and rolled out again.
        (true, _) if rollout.revision > 1 && !rollout.was_start_seen => Trigger::Unknown,
        (true, _) => Trigger::Created,
        (false, true) => Trigger::Restart,
        (false, false) => Trigger::Template,
    }
}

/// Returns whether the rollout at `index` continues with the ReplicaSet of the one before, which got another number because a ReplicaSet
/// was adopted or reused: no template came in between.
pub fn is_renumbered(model: &Model, deployment: &Deployment, index: usize, set: &ReplicaSet) -> bool {
    let both = index.checked_sub(1).and_then(|before| deployment.rollouts.get(before..=index));
    let Some([before, rollout]) = both else { return false };
    if is_made_again(before, rollout) {
        return true;
    }
    let is_between = |revision: u64| before.revision < revision && revision < rollout.revision;
    let mut others = model.sets_of(deployment.uid).filter(|other| other.owners.first() == Some(&deployment.uid));
    replica_set(model, deployment, before.revision).is_some_and(|last| last.uid == set.uid)
        && !others
            .any(|other| other.uid != set.uid && other.revisions.iter().any(|(revision, _)| is_between(*revision)))
}

/// Returns whether a rollout has the template of the one before and a lower number: ReplicaSets were deleted, including that one. The
/// controller created it again with the number after the highest remaining one (`getNewReplicaSet` in `sync.go`).
fn is_made_again(before: &Rollout, rollout: &Rollout) -> bool {
    rollout.revision < before.revision
        && (&rollout.images, &rollout.restarted_at, rollout.template_apart)
            == (&before.images, &before.restarted_at, before.template_apart)
}

/// Returns whether pods of a rollout were created and none was ever available, also before its ReplicaSet was deleted and created again.
/// Its start and all the time since must be observed.
pub fn came_to_nothing(model: &Model, deployment: &Deployment, rollout: &Rollout, set: &ReplicaSet) -> bool {
    let is_whole = |started: Millis| {
        deployment.kept_since_millis.is_none_or(|since| since <= started)
            && deployment.gaps.iter().all(|gap| gap.to_millis < started)
    };
    let is_observed =
        rollout.was_start_seen && rollout.started_millis.is_some_and(is_whole) && model.sees_pods(deployment.uid);
    let mut pods = sets_named_as(model, deployment, set).flat_map(|set| model.pods_of(set.uid)).peekable();
    is_observed && pods.peek().is_some() && !pods.any(Pod::was_available)
}

/// Returns whether everything of the last rollout was available only briefly, according to its controller: otherwise its condition would
/// report a complete rollout by now, but it reports progress. Containers in a crash loop are sometimes all ready.
pub fn had_all_for_moments(deployment: &Deployment, last: &Rollout, at_millis: Millis) -> bool {
    let goes_on = match deployment.now.status.progress_reason() {
        "NewReplicaSetCreated" | "FoundNewReplicaSet" | "ReplicaSetUpdated" | "DeploymentResumed" => true,
        "ProgressDeadlineExceeded" => !last.has_deadline_of_before(deployment.now.deadline_passed_millis()),
        _ => false,
    };
    let is_late = |since: Millis| at_millis - since > STATUS_MILLIS;
    goes_on && last.completed_millis.is_none() && last.available_millis.is_some_and(is_late)
}

/// Returns the rollout that was in progress at that time. A rollout from before the observation may have been complete, although something
/// of it is not available.
pub fn open_at(deployment: &Deployment, at_millis: Millis) -> Option<&Rollout> {
    let is_open = |rollout: &&Rollout| {
        let unseen_end = rollout.available_millis.filter(|_| rollout.started_millis.is_none());
        let mut ends = rollout.ended_millis().into_iter().chain(unseen_end);
        rollout.started_millis.is_none_or(|start| start <= at_millis) && ends.all(|end| at_millis < end)
    };
    deployment.rollouts.iter().find(is_open)
}

/// Returns whether a rollout was in progress at that time; `None` if that was not observed, or if one starts right after: it may come from
/// the same edit, and starts when its ReplicaSet exists.
pub fn was_rolling_out(deployment: &Deployment, at_millis: Millis) -> Option<bool> {
    if let Some(open) = open_at(deployment, at_millis) {
        return open.started_millis.map(|_| true);
    }
    let soon = at_millis..=at_millis + SAME_EDIT_MILLIS;
    let starts_soon = |rollout: &Rollout| rollout.started_millis.is_some_and(|start| soon.contains(&start));
    Some(false).filter(|_| !deployment.rollouts.iter().any(starts_soon))
}

/// Derives the outcome of the rollout.
pub fn outcome(deployment: &Deployment, rollout: &Rollout) -> Outcome {
    if rollout.was_scaled_to_zero {
        Outcome::ScaledToZero
    } else if rollout.completed_millis.is_some() {
        Outcome::Complete
    } else if rollout.superseded_millis.is_some() {
        Outcome::Superseded
    } else if deployment.deleted_millis.is_some() {
        Outcome::Deleted
    } else if deployment.verdicts.last().is_some_and(|(_, v)| *v == KubectlVerdict::DeadlineExceeded)
        && !rollout.has_deadline_of_before(deployment.now.deadline_passed_millis())
    {
        Outcome::DeadlineExceeded
    } else {
        Outcome::Progressing
    }
}
