//! Telling steps: changes of ReplicaSets' replicas, together with what belongs to the same decision, and folded where they are
//! alike.

use crate::apply::Timeline;
use crate::apply::orders::is_later;
use crate::model::fact::{DeploymentSpec, Strategy};
use crate::model::story::{Entry, Happening, LineKind, Part, StepBudget};
use crate::model::{Deployment, Gap, Limits, MarkKind, ReplicaSet, Scale, ScaleCause};
use crate::rules::budget::{self, Sums};
use crate::rules::rollout;
use crate::{Change, Millis, Uid};

/// Steps this close together are one decision and become one entry.
const ONE_INSTANT_MILLIS: Millis = 60;
/// A change of the Deployment's replicas and the steps that it makes become one entry within this time.
const SCALING_MILLIS: Millis = 2_000;
/// Steps told one by one before the rest of a run is folded.
const TOLD: usize = 2;

impl Timeline {
    /// Tells a step that the model already holds. `was_max` is what the ReplicaSet said of the ceiling before the step.
    pub(in crate::apply) fn tell_step(&mut self, set: Uid, scale: &Scale, was_max: Option<u32>) {
        let Some(set) = self.model.replica_sets.get(&set) else { return };
        let part = self.part(set, scale);
        let is_below = |other: &ReplicaSet| other.now.counts.desired == 0 && other.revision() < set.revision();
        let is_alone = self.model.owned_sets(scale.deployment).all(|other| other.uid == set.uid || is_below(other));
        // A scaling in proportion may leave more than the new size, which goes at once. Nobody else scaled the ReplicaSet.
        let before = set.scales.iter().rfind(|before| before.order < scale.order);
        let is_last_back = scale.cause == ScaleCause::Rollout && is_alone && self.is_scaled_back(set, scale);
        let is_rest = is_last_back && before.is_some_and(|before| before.cause == ScaleCause::Scaling);
        let is_down_again = self.is_taken_down_again(set, scale);
        let is_left_alone = is_down_again && self.is_left_alone_in_pause(set, scale);
        let is_back = is_last_back || (is_down_again && !is_left_alone);
        // Only ReplicaSets that have replicas take part in scaling; one that has none says the Deployment's new size with the first step of
        // its rollout.
        let is_scaling = scale.cause == ScaleCause::Scaling && !is_back && !self.is_first_step(set, scale);
        if is_rest || is_scaling {
            let desired = set.now.desired_replicas;
            return self.tell_scaling(scale.deployment, scale.at_millis, part, desired);
        }
        let is_by_another = || {
            is_left_alone
                || (is_alone && is_scaled_beyond(set, scale))
                || self.is_scaled_below_floor(set, scale, was_max)
                || self.is_scaled_backwards(set, scale, was_max)
        };
        if is_back {
            self.tell(scale.deployment, scale.at_millis, Happening::ScaledBack { part });
        } else if scale.cause == ScaleCause::Rollout && is_by_another() {
            let what = Happening::Scaled { replicas: None, desired: None, parts: vec![part] };
            self.tell(scale.deployment, scale.at_millis, what);
        } else if let Some(budget) = self.step_budget(set, scale, was_max) {
            self.tell_rolling(scale.deployment, scale.at_millis, part, budget);
        }
    }

    /// It had no replicas before, and others have some, or it carries a revision that is not rolled out yet.
    fn is_first_step(&self, set: &ReplicaSet, scale: &Scale) -> bool {
        let mut others = self.model.owned_sets(scale.deployment).filter(|other| other.uid != set.uid);
        let last = self.model.deployments.get(&scale.deployment).and_then(|deployment| deployment.rollouts.last());
        let is_to_come = last.is_some_and(|last| {
            set.revision() > Some(last.revision)
                || (set.revision() == Some(last.revision) && last.is_open() && last.available_millis.is_none())
        });
        scale.from == 0 && (is_to_come || others.any(|other| other.now.counts.desired > 0))
    }

    /// The Deployment controller takes back what somebody else did: the last revision gets the replicas of the Deployment, which did not
    /// change. It goes up so at rest alone: in a rollout, that is a step.
    fn is_scaled_back(&self, set: &ReplicaSet, scale: &Scale) -> bool {
        let last = self.model.deployments.get(&scale.deployment).and_then(|deployment| deployment.rollouts.last());
        let is_at_rest = last.is_some_and(|last| !last.is_open() && set.revision() == Some(last.revision));
        (scale.to < scale.from || (scale.from > 0 && is_at_rest)) && set.now.desired_replicas == Some(scale.to)
    }

    /// Somebody else scaled an older revision up after the last one had its ReplicaSet, and the Deployment controller takes that down. With
    /// the last of it the controller may bring up to date what the ReplicaSet says of the Deployment's replicas.
    fn is_taken_down_again(&self, set: &ReplicaSet, scale: &Scale) -> bool {
        let Some(deployment) = self.model.deployments.get(&scale.deployment) else { return false };
        let Some(last) = deployment.rollouts.last().filter(|last| set.revision() < Some(last.revision)) else {
            return false;
        };
        let Some(next) = rollout::replica_set(&self.model, deployment, last.revision) else { return false };
        // One that is taken over may have replicas already.
        let since_millis = rollout::revised_millis(next, last.revision).max(Some(set.first_seen_millis));
        // The pages of a list after a gap arrive one after the other.
        let is_in = |gap: &&Gap| Some(gap.from_millis) < since_millis && since_millis <= Some(gap.to_millis);
        let since_millis = deployment.gaps.iter().rfind(is_in).map(|gap| gap.to_millis).or(since_millis);
        let raised = set.scales.iter().rfind(|before| before.order < scale.order && before.from == 0);
        let is_by_another = |raised: &Scale| {
            raised.deployment == scale.deployment
                && raised.cause == ScaleCause::Rollout
                && Some(raised.at_millis) > since_millis
        };
        let is_from_none = (scale.to == 0 || scale.cause == ScaleCause::Rollout) && raised.is_some_and(is_by_another);
        scale.to < scale.from && (is_from_none || self.is_raise_taken_back(set, scale))
    }

    /// Somebody else raised a ReplicaSet that had replicas, as the story tells, and no more than that is taken down since then.
    fn is_raise_taken_back(&self, set: &ReplicaSet, scale: &Scale) -> bool {
        let is_told = |raised: &Scale| {
            let part = (set.uid, raised.from, raised.to);
            let is_it = |entry: &Entry| match &entry.what {
                Happening::Scaled { replicas: None, desired: None, parts } => {
                    entry.at_millis == raised.at_millis
                        && parts.iter().any(|told| (told.set, told.from, told.to) == part)
                }
                _ => false,
            };
            self.entry(scale.deployment, is_it).is_some()
        };
        let mut least = u32::MAX;
        for before in set.scales.iter().rev().filter(|before| before.order < scale.order) {
            if before.to > before.from {
                if !is_told(before) {
                    return false;
                }
                if before.from <= scale.to && before.from < least {
                    return scale.cause == ScaleCause::Rollout;
                }
            }
            least = least.min(before.to);
        }
        false
    }

    /// During a pause the Deployment controller takes an older revision down only if it alone has replicas, if the last one has all of its
    /// pods, or if all have more replicas than the ceiling (`scale` in `sync.go`). A pause may be seen before steps that came before it.
    fn is_left_alone_in_pause(&self, set: &ReplicaSet, scale: &Scale) -> bool {
        let Some(deployment) = self.model.deployments.get(&scale.deployment) else { return false };
        let spec = &deployment.now.spec;
        let paused = deployment.marks.iter().rfind(|mark| mark.kind == MarkKind::Paused);
        let is_settled = paused.is_none_or(|mark| scale.at_millis - mark.at_millis > self.settling_millis());
        if !spec.paused || !is_settled || scale.cause == ScaleCause::Scaling {
            return false;
        }
        let is_saturated = rollout::new_set(&self.model, deployment).is_some_and(|new| {
            let counts = new.now.counts;
            [Some(counts.desired), Some(counts.available), new.now.desired_replicas] == [Some(spec.replicas); 3]
        });
        let others = self.model.owned_sets(scale.deployment).filter(|other| other.uid != set.uid);
        let others = others.fold(0_u32, |sum, other| sum.saturating_add(other.now.counts.desired));
        let is_spread =
            spec.strategy != Strategy::Recreate && others.saturating_add(scale.from) > budget::limits(spec).ceiling;
        others > 0 && !is_saturated && !is_spread
    }

    /// Somebody else scaled it down: all ReplicaSets together have fewer replicas than the floor, which the Deployment controller keeps. An
    /// annotation that did not change tells that the strategy is no other one, whose spec may follow.
    fn is_scaled_below_floor(&self, set: &ReplicaSet, scale: &Scale, was_max: Option<u32>) -> bool {
        let Some(deployment) = self.model.deployments.get(&scale.deployment) else { return false };
        let spec = &deployment.now.spec;
        let has_same_limits = was_max.is_some() && was_max == set.now.max_replicas;
        has_same_limits
            && scale.to < scale.from
            && Sums::from_sets(&self.model, deployment).desired < budget::limits(spec).floor
            && (spec.paused || self.is_floor_kept(deployment, set, scale))
    }

    /// The Deployment controller keeps the floor in this step of an older revision: it has seen the spec, which was the same for a while, and
    /// the ReplicaSet has its replicas and ceiling, too. It may take down more where the floor was not kept before, or where other ReplicaSets
    /// still report available pods that they do not ask for any more (`reconcileOldReplicaSets` in `rolling.go`).
    fn is_floor_kept(&self, deployment: &Deployment, set: &ReplicaSet, scale: &Scale) -> bool {
        let (now, limits) = (&deployment.now, budget::limits(&deployment.now.spec));
        let since = scale.at_millis - self.settling_millis();
        let is_rolling = deployment.rollouts.last().is_some_and(|last| {
            last.is_open() && set.revision() < Some(last.revision) && last.started_millis < Some(since)
        });
        let is_settled = now.generation <= now.status.observed_generation
            && deployment.limits.last().is_some_and(|(at, _)| *at < since)
            && [set.now.desired_replicas, set.now.max_replicas] == [Some(now.spec.replicas), Some(limits.ceiling)];
        let mut others = self.model.owned_sets(deployment.uid).filter(|other| other.uid != set.uid);
        let left = Sums::from_sets(&self.model, deployment).desired;
        is_rolling
            && is_settled
            && left.saturating_add(scale.from.saturating_sub(scale.to)) >= limits.floor
            && others.all(|other| other.now.counts.available <= other.now.counts.desired)
    }

    /// Somebody else scaled it against the direction of a rollout. The Deployment controller scales no ReplicaSet up while a later revision
    /// has replicas: one that it rolls back to has the latest revision before. Only in a pause does it give the largest one what is left
    /// below the ceiling, and the pause may be seen later. It scales the latest one down, if not to none (Recreate), no further than to the
    /// replicas of the Deployment, except in proportion in a pause, if all have more than the ceiling. An annotation that did not change
    /// tells that neither replicas nor strategy are other ones.
    fn is_scaled_backwards(&self, set: &ReplicaSet, scale: &Scale, was_max: Option<u32>) -> bool {
        let Some(max) = was_max.filter(|_| was_max == set.now.max_replicas) else { return false };
        let others = || self.model.owned_sets(scale.deployment).filter(|other| other.uid != set.uid);
        let before = others().fold(scale.from, |sum, other| sum.saturating_add(other.now.counts.desired));
        if scale.to > scale.from {
            let is_later = |other: &ReplicaSet| other.now.counts.desired > 0 && other.revision() > set.revision();
            let is_filled_up = before.saturating_add(scale.to - scale.from) == max
                && others().all(|other| other.now.counts.desired < scale.from);
            return !is_filled_up && others().any(is_later);
        }
        let is_fewer = scale.to > 0 && scale.to < scale.from;
        is_fewer
            && before <= max
            && set.now.desired_replicas.is_some_and(|desired| scale.to < desired)
            && others().all(|other| other.revision() < set.revision())
    }

    /// A ReplicaSet has other replicas than when somebody looked last.
    pub(in crate::apply) fn tell_moved(&mut self, set: Uid, scale: &Scale) {
        let Some(set) = self.model.replica_sets.get(&set) else { return };
        let part = self.part(set, scale);
        let (uid, at) = (scale.deployment, scale.at_millis);
        let last = self.entry(uid, |entry| matches!(entry.what, Happening::Moved { .. }));
        match last.filter(|last| at - last.at_millis <= ONE_INSTANT_MILLIS).map(|last| last.id) {
            Some(id) => self.retell(uid, id, |entry| {
                if let Happening::Moved { parts } = &mut entry.what {
                    parts.push(part);
                }
            }),
            None => drop(self.tell(uid, at, Happening::Moved { parts: vec![part] })),
        }
    }

    /// The limits of a step of `set` that was just made.
    ///
    /// The controller writes both the Deployment's replicas and the ceiling on each ReplicaSet whose replicas it changes
    /// (`SetReplicasAnnotations` in `util/deployment_util.go`), so a step says itself what it was made by, whichever stream was
    /// faster. Annotations that did not change and were overstepped are not of this step: somebody else made it.
    fn step_budget(&self, set: &ReplicaSet, scale: &Scale, was_max: Option<u32>) -> Option<StepBudget> {
        let deployment = self.model.deployments.get(&scale.deployment)?;
        let Sums { desired, available, .. } = Sums::from_sets(&self.model, deployment);
        let spec = &deployment.now.spec;
        let now = &set.now;
        let told = now.max_replicas.zip(now.desired_replicas);
        let told = told.filter(|(ceiling, _)| desired <= *ceiling || was_max != Some(*ceiling));
        let replicas = told.map_or(spec.replicas, |(_, replicas)| replicas);
        let Limits { ceiling, floor, .. } = budget::limits(&DeploymentSpec { replicas, ..spec.clone() });
        let ceiling = told.map_or(ceiling, |(ceiling, _)| ceiling);
        let spares_available = scale.to >= scale.from || now.counts.available <= scale.to;
        Some(StepBudget { desired, ceiling, floor, available, spares_available })
    }

    /// A step of a ReplicaSet, as the story keeps it. One that was taken over may carry a number that is another one's here.
    fn part(&self, set: &ReplicaSet, scale: &Scale) -> Part {
        let mut others = self.model.owned_sets(scale.deployment).filter(|other| other.uid != set.uid);
        let is_own = set.owners.first() == Some(&scale.deployment);
        let revision = set.revision().filter(|own| is_own || !others.any(|other| other.had_revision(*own)));
        Part { set: set.uid, name: set.name.clone(), revision, from: scale.from, to: scale.to }
    }

    /// A Deployment was resumed that is seen to be only now: what took an older revision down again a moment before was its controller.
    pub(in crate::apply) fn retell_scaled_back(&mut self, at: Millis, uid: Uid) {
        let since = at - self.settling_millis();
        let back = |entry: &Entry| {
            let (set, scale, part) = self.step_by_another(entry, since)?;
            self.is_taken_down_again(set, scale).then(|| (entry.id, part.clone()))
        };
        for (id, part) in self.story(uid).iter().filter_map(back).collect::<Vec<_>>() {
            self.retell(uid, id, |entry| entry.what = Happening::ScaledBack { part });
        }
    }

    /// The floor of a Deployment is seen to be lower only now: what took an older revision below that of before may have been its controller.
    pub(in crate::apply) fn retell_below_floor(&mut self, at: Millis, uid: Uid) {
        let since = at - self.settling_millis();
        let deployment = self.model.deployments.get(&uid).filter(|known| !known.now.spec.paused);
        let Some(last) = deployment.and_then(|known| known.rollouts.last()).map(|last| last.revision) else { return };
        let rolled = |entry: &Entry| {
            let (set, scale, part) = self.step_by_another(entry, since)?;
            let is_of_it = scale.to < scale.from && set.revision() < Some(last);
            let budget = self.step_budget(set, scale, None).filter(|_| is_of_it)?;
            Some((entry.id, Happening::Rolled { parts: vec![part.clone()], budget, is_repeat: false }))
        };
        for (id, what) in self.story(uid).iter().filter_map(rolled).collect::<Vec<_>>() {
            self.retell(uid, id, |entry| entry.what = what);
        }
    }

    /// The step of an entry since then that somebody else made, as it seemed.
    fn step_by_another<'a>(&'a self, entry: &'a Entry, since: Millis) -> Option<(&'a ReplicaSet, &'a Scale, &'a Part)> {
        let Happening::Scaled { replicas: None, desired: None, parts } = &entry.what else { return None };
        let part = parts.first().filter(|_| entry.at_millis > since)?;
        let set = self.model.replica_sets.get(&part.set)?;
        let is_it = |scale: &&Scale| (scale.at_millis, scale.from, scale.to) == (entry.at_millis, part.from, part.to);
        Some((set, set.scales.iter().rfind(is_it)?, part))
    }

    /// When an edit of a Deployment was made that is seen only now: steps that came of it may have arrived before. In a pause there are none,
    /// so those since then came of the resumption; else the versions tell what came later.
    pub(in crate::apply) fn edited_millis(
        &self,
        at: Millis,
        uid: Uid,
        version: Option<u64>,
        is_resumed: bool,
    ) -> Millis {
        let Some(deployment) = self.model.deployments.get(&uid) else { return at };
        let paused = deployment.marks.iter().rfind(|mark| mark.kind == MarkKind::Paused);
        let paused_millis = paused.map_or(Millis::MIN, |mark| mark.at_millis);
        let since = at - self.settling_millis();
        let is_after = |part: &Part| is_later(self.orders.asked_in(part.set, part.to), version);
        let is_of_it = |entry: &&Entry| {
            let parts = match &entry.what {
                Happening::Rolled { parts, .. } => parts.as_slice(),
                Happening::ScaledBack { part } => std::slice::from_ref(part),
                _ => return false,
            };
            let is_in_pause = is_resumed && entry.at_millis > paused_millis;
            entry.at_millis > since && (is_in_pause || parts.iter().any(is_after))
        };
        let steps = deployment.story.iter().filter(is_of_it).map(|step| step.at_millis - 1);
        let edited_millis = steps.chain([at]).min().unwrap_or(at);
        // The line of the pause may have been put before such a step, too.
        let pauses =
            deployment.story.iter().filter(|entry| is_resumed && matches!(entry.what, Happening::Paused { .. }));
        pauses.map(|pause| pause.at_millis + 1).filter(|after| *after <= at).fold(edited_millis, Millis::max)
    }

    /// A Deployment may be seen to be complete before the last step of an old ReplicaSet is.
    fn complete_after(&mut self, uid: Uid, at: Millis, part: &Part) {
        let settling_millis = self.settling_millis();
        let old = part.revision.filter(|_| part.to < part.from);
        let is_after = |entry: &Entry| {
            at - entry.at_millis <= settling_millis
                && matches!(entry.what, Happening::Completed { revision, .. } if old.is_some_and(|old| old < revision))
        };
        self.retell_last(uid, is_after, |entry| entry.at_millis = at);
    }

    fn tell_rolling(&mut self, uid: Uid, at: Millis, part: Part, mut budget: StepBudget) {
        self.complete_after(uid, at, &part);
        // That a rollout starts, or what was edited, may be told in between: the Deployment may follow its ReplicaSets.
        let is_between = |what: &Happening| {
            matches!(what, Happening::StrategyChanged { .. } | Happening::SecondsChanged { .. })
                || what.kind() == LineKind::Revision
        };
        let last = self.entry(uid, |entry| !is_between(&entry.what));
        let last = last.filter(|last| at - last.at_millis <= ONE_INSTANT_MILLIS);
        if let Some(Entry { id, what: Happening::Rolled { parts, budget: told, is_repeat: false }, .. }) = last {
            let (id, mut parts, spares_available) = (*id, parts.clone(), told.spares_available);
            if extend(&mut parts, &part) {
                budget.spares_available &= spares_available;
                let what = Happening::Rolled { parts, budget, is_repeat: false };
                return self.retell(uid, id, |entry| entry.what = what);
            }
        }
        let what = Happening::Rolled { parts: vec![part], budget, is_repeat: false };
        self.tell(uid, at, what);
    }

    /// A step of a change of the Deployment's replicas: with the others of that change, and with the change itself.
    fn tell_scaling(&mut self, uid: Uid, at: Millis, part: Part, desired: Option<u32>) {
        let is_near = |entry: &&Entry| (at - entry.at_millis).abs() <= SCALING_MILLIS;
        let last = self.entry(uid, |entry| matches!(entry.what, Happening::Scaled { .. } | Happening::Replicas { .. }));
        let near = last.filter(is_near).map(|entry| (entry.id, entry.what.clone()));
        let parts = self.with_others(uid, part);
        let joined = near.and_then(|(id, what)| Some((id, joined(what, &parts, desired)?)));
        match joined {
            Some((id, what)) => self.retell(uid, id, |entry| entry.what = what),
            None => drop(self.tell(uid, at, Happening::Scaled { replicas: None, desired, parts })),
        }
    }

    /// A step with the other ReplicaSets that have replicas, unchanged so far: there are some in the middle of a rollout.
    fn with_others(&self, uid: Uid, part: Part) -> Vec<Part> {
        let is_other = |set: &&ReplicaSet| set.uid != part.set && set.now.counts.desired > 0 && part.to > 0;
        let unchanged = |set: &ReplicaSet| {
            let (name, revision, desired) = (set.name.clone(), set.revision(), set.now.counts.desired);
            Part { set: set.uid, name, revision, from: desired, to: desired }
        };
        let mut others: Vec<Part> = self.model.owned_sets(uid).filter(is_other).map(unchanged).collect();
        others.sort_unstable_by_key(|other| other.set);
        std::iter::once(part).chain(others).collect()
    }

    /// The Deployment's replicas changed; steps that follow from it may have arrived before.
    pub(in crate::apply) fn tell_replicas(&mut self, uid: Uid, at: Millis, from: u32, to: u32, was_seen: bool) {
        let is_of_it = |entry: &Entry| {
            let is_to = matches!(entry.what, Happening::Scaled { replicas: None, desired, .. } if desired == Some(to));
            is_to && at - entry.at_millis <= SCALING_MILLIS
        };
        match self.entry(uid, is_of_it).map(|entry| entry.id) {
            Some(id) => self.retell(uid, id, |entry| {
                if let Happening::Scaled { replicas, .. } = &mut entry.what {
                    *replicas = Some((from, to));
                }
            }),
            None => drop(self.tell(uid, at, Happening::Replicas { from, to, was_seen })),
        }
    }

    /// Another entry follows: a step that is like the ones before is folded with the last one that was.
    pub(super) fn close_step(&mut self, uid: Uid) {
        let Some(deployment) = self.model.deployments.get(&uid) else { return };
        let is_step = |entry: &&Entry| matches!(entry.what, Happening::Rolled { .. } | Happening::AndSoOn { .. });
        let mut run = deployment.story.iter().rev().take_while(is_step);
        let Some(last) = run.next() else { return };
        let Some(change) = told_alone(last) else { return };
        let before = run.clone().next();
        let firsts: Vec<_> = run.filter_map(told_alone).take(TOLD).collect();
        if firsts.len() < TOLD || !firsts.contains(&change) {
            return;
        }
        let (last, before) = (last.clone(), before.cloned());
        let folded = before.and_then(|before| Some((before.id, folded(&before.what, &last.what)?)));
        match folded {
            Some((id, what)) => {
                self.emit(Change::StoryTaken(uid, last.id));
                self.retell(uid, id, |entry| (entry.at_millis, entry.what) = (last.at_millis, what));
            }
            None => self.retell(uid, last.id, |entry| {
                if let Happening::Rolled { is_repeat, .. } = &mut entry.what {
                    *is_repeat = true;
                }
            }),
        }
    }
}

/// Somebody else scaled it. The Deployment controller asks the last revision, while it alone has pods, for as many as the Deployment: it
/// scales down to no fewer, except to none (Recreate), and up to no more.
fn is_scaled_beyond(set: &ReplicaSet, scale: &Scale) -> bool {
    let is_beyond = |desired: u32| match scale.to {
        to if to < scale.from => to > 0 && to < desired,
        to => scale.from > 0 && to > desired,
    };
    set.now.desired_replicas.is_some_and(is_beyond)
}

/// A change of the Deployment's replicas, with one more step that follows from it, the first of `parts`; `None` for a step of another
/// change.
fn joined(what: Happening, parts: &[Part], desired: Option<u32>) -> Option<Happening> {
    match what {
        Happening::Scaled { replicas, desired: told, parts: mut known } => {
            let is_of_it = told == desired && extend(&mut known, parts.first()?);
            is_of_it.then_some(Happening::Scaled { replicas, desired, parts: known })
        }
        Happening::Replicas { from, to, was_seen: true } => {
            let is_of_it = desired.is_none_or(|desired| desired == to);
            let parts = parts.to_vec();
            is_of_it.then_some(Happening::Scaled { replicas: Some((from, to)), desired: Some(to), parts })
        }
        _ => None,
    }
}

/// The parts of a step that is no repetition.
fn told_alone(entry: &Entry) -> Option<Vec<(Uid, i64)>> {
    let Happening::Rolled { parts, is_repeat: false, .. } = &entry.what else { return None };
    Some(parts.iter().map(|part| (part.set, part.by())).collect())
}

/// A step joined to those before it that are repetitions; `None` when there are none.
fn folded(before: &Happening, last: &Happening) -> Option<Happening> {
    let (mut parts, steps) = match before {
        Happening::AndSoOn { parts, steps } => (parts.clone(), *steps),
        Happening::Rolled { parts, is_repeat: true, .. } => (parts.clone(), 1),
        _ => return None,
    };
    let Happening::Rolled { parts: more, .. } = last else { return None };
    for part in more {
        match parts.iter_mut().find(|known| known.set == part.set) {
            Some(known) => known.to = part.to,
            None => parts.push(part.clone()),
        }
    }
    parts.sort_by_key(|part| std::cmp::Reverse(part.revision));
    Some(Happening::AndSoOn { parts, steps: steps + 1 })
}

/// Adds a part to those of one decision; false when it cannot be of the same one: it goes the other way, or not on from there.
fn extend(parts: &mut Vec<Part>, part: &Part) -> bool {
    // One that was unchanged so far takes its place among those that changed.
    parts.retain(|known| known.set != part.set || known.by() != 0);
    match parts.iter_mut().find(|known| known.set == part.set) {
        Some(known) if known.to != part.from || known.by().signum() != part.by().signum() => return false,
        Some(known) => known.to = part.to,
        None => parts.push(part.clone()),
    }
    true
}
