//! Derives changes from facts of a Deployment: verdict, limits, marks. Rollouts are in `rollout`.

use super::Timeline;
use super::rollout::has_passed;
use crate::model::fact::{DeploymentFact, DeploymentSpec, Kind, Seen, Strategy};
use crate::model::story::{Happening, SpecSeconds};
use crate::model::{Deployment, DeploymentNow, Gap, KubectlVerdict, Mark, MarkKind};
use crate::rules::{budget, rollout, verdict};
use crate::words::images;
use crate::{Change, Millis, Model, Uid};

impl Timeline {
    pub(super) fn deployment(&mut self, at: Millis, fact: DeploymentFact, seen: Seen) {
        let DeploymentFact { meta, now } = fact;
        let uid = meta.uid;
        let is_back = matches!(seen, Seen::InList | Seen::Added) && !now.deleting && self.take_back_deployment(at, uid);
        if self.model.deployments.get(&uid).is_some_and(|known| known.deleted_millis.is_some()) {
            return;
        }
        if seen == Seen::Deleted || now.deleting {
            self.orders.leaves(uid, meta.version);
        }
        if seen == Seen::Deleted {
            if self.model.deployments.contains_key(&uid) {
                self.deployment_gone(at, uid, true);
            }
            return;
        }
        let had_passed = self.model.deployments.get(&uid).is_some_and(has_passed);
        let (verdict, limits) = (verdict::kubectl(&now), budget::limits(&now.spec));
        let was_seen = seen != Seen::InList;
        match self.model.deployments.get(&uid) {
            None => {
                self.forget_strangers(uid, &meta.namespace);
                let from_first_list = seen == Seen::InList && self.is_first_list(Kind::Deployment, &meta.namespace);
                self.emit(Change::Deployment(Box::new(Deployment {
                    uid,
                    namespace: meta.namespace,
                    name: meta.name,
                    created_at_millis: meta.created_at_millis,
                    first_seen_millis: at,
                    from_first_list,
                    now,
                    limits: vec![(at, limits)],
                    ..Deployment::default()
                })));
                self.tell_first_steps(uid, from_first_list || was_seen);
            }
            Some(known) if known.now == now && !is_back => return,
            Some(known) => {
                let marks = marks_between(&known.now, &now);
                let has_other_limits = known.limits.last().is_none_or(|(_, known)| *known != limits);
                let has_lower_floor = known.limits.last().is_some_and(|(_, known)| limits.floor < known.floor);
                let replaced = replaced_change(&self.model, known, &now);
                let settings = changed_settings(&known.now.spec, &now.spec, was_seen);
                if was_seen && ends_unfinished(at, known, &now) {
                    self.change_last_rollout(uid, |last| last.available_millis = None);
                }
                self.emit(Change::DeploymentNow(uid, Box::new(now)));
                if has_other_limits {
                    self.emit(Change::Limits(uid, at, limits));
                }
                if has_lower_floor {
                    self.retell_below_floor(at, uid);
                }
                // Edits that nobody saw are told where they are seen.
                let version = meta.version.filter(|_| was_seen);
                for kind in marks {
                    self.emit(Change::Mark(uid, Mark { at_millis: at, kind: kind.clone() }));
                    self.tell_mark(at, uid, &kind, version, was_seen);
                }
                for what in replaced.into_iter().chain(settings) {
                    let edited_millis = self.edited_millis(at, uid, version, false);
                    self.tell(uid, edited_millis, what);
                }
            }
        }
        self.note_verdict(at, uid, verdict);
        self.note_revision(at, uid, was_seen);
        self.follow_rollout(at, uid, verdict, was_seen);
        self.tell_deadline(at, uid, had_passed, was_seen);
    }

    pub(super) fn deployment_gone(&mut self, at: Millis, uid: Uid, was_seen: bool) {
        self.drafts.remove(&uid);
        self.emit(Change::DeploymentDeleted(uid, at));
        self.retell_ends(at, uid);
        self.retell_removals(at, uid);
        self.tell(uid, at, Happening::Deleted { was_seen });
        self.note_verdict(at, uid, KubectlVerdict::Gone);
    }

    /// A Deployment that was deleted and exists is one of a store that was restored from a backup: nobody saw what happened to it
    /// since then.
    fn take_back_deployment(&mut self, at: Millis, uid: Uid) -> bool {
        let Some(known) = self.model.deployments.get(&uid) else { return false };
        let Some(deleted) = known.deleted_millis else { return false };
        let again = Deployment { deleted_millis: None, ..known.clone() };
        self.orders.returns(uid);
        self.emit(Change::Deployment(Box::new(again)));
        if deleted < at {
            self.emit(Change::Gap(uid, Gap { from_millis: deleted, to_millis: at }));
        }
        self.tell(uid, at, Happening::Back { millis: at - deleted });
        true
    }

    fn note_verdict(&mut self, at: Millis, uid: Uid, verdict: KubectlVerdict) {
        let last = self.model.deployments.get(&uid).and_then(|d| d.verdicts.last());
        if last.is_none_or(|(_, last)| *last != verdict) {
            self.emit(Change::Verdict(uid, at, verdict));
        }
    }

    /// A mark as an entry of the story; a change of replicas together with the steps that follow from it.
    fn tell_mark(&mut self, at: Millis, uid: Uid, kind: &MarkKind, version: Option<u64>, was_seen: bool) {
        let (at, what) = match kind {
            MarkKind::Paused => (self.edited_millis(at, uid, version, false), Happening::Paused { was_seen }),
            MarkKind::Resumed => {
                self.retell_scaled_back(at, uid);
                (self.edited_millis(at, uid, version, true), Happening::Resumed { was_seen })
            }
            MarkKind::Deleting => {
                self.retell_ends(at, uid);
                self.retell_removals(at, uid);
                (at, Happening::Deleting)
            }
            MarkKind::Replicas { from, to } => {
                let edited_millis = self.edited_millis(at, uid, version, false);
                return self.tell_replicas(uid, edited_millis, *from, *to, was_seen);
            }
        };
        self.tell(uid, at, what);
    }

    /// ReplicaSets may be seen before their Deployment: their first steps are told with it. A list after a gap tells where they led.
    fn tell_first_steps(&mut self, uid: Uid, was_seen: bool) {
        let steps = self.model.scales_of(uid).into_iter().map(|(set, scale)| (set, scale.clone()));
        for (set, scale) in steps.collect::<Vec<_>>() {
            if was_seen {
                self.tell_step(set, &scale, None);
            } else {
                self.tell_moved(set, &scale);
            }
        }
    }
}

/// The last rollout ends, as the next one begins or no pod is asked for any more, and everything of it was available for moments only: it
/// never was complete. What its condition said is known no longer afterwards.
fn ends_unfinished(at: Millis, known: &Deployment, after: &DeploymentNow) -> bool {
    let is_end = after.revision != known.now.revision || after.spec.replicas == 0;
    is_end && known.rollouts.last().is_some_and(|last| rollout::had_all_for_moments(known, last, at))
}

/// Tells that the template was changed again while a change of it waited, which the controller has seen; `None` where it was not. A
/// change waits while the Deployment is paused, with Recreate while old pods are taken down, and while its ReplicaSet is refused: then the
/// spec counts as unobserved, and the condition says that it was seen.
fn replaced_change(model: &Model, known: &Deployment, after: &DeploymentNow) -> Option<Happening> {
    let before = &known.now;
    let hashes = before.template.zip(after.template);
    let is_changed = hashes.map_or_else(|| before.spec.images != after.spec.images, |(one, other)| one != other);
    let is_seen = before.status.observed_generation >= before.generation;
    let current = rollout::current_set(model, known).filter(|_| is_changed)?;
    // With Recreate a ReplicaSet may be seen to be taken down before the edit that it is taken down for: nothing waited then.
    let is_taken_down = || rollout::is_edited(current, known) && model.pod_counts(current.uid).count_existing() > 0;
    let is_held = before.spec.paused || (before.spec.strategy == Strategy::Recreate && is_taken_down());
    let waits = (is_held && is_seen) || rollout::refusal_of_set(model, known).is_some();
    if !(waits && rollout::awaits_revision(model, known)) {
        return None;
    }
    // Without the hashes it is not known: other fields of the template than its images may differ.
    let is_back = current.now.template.is_some() && current.now.template == after.template;
    let (images, by) = (images(&before.spec.images), images(&after.spec.images));
    Some(Happening::ChangeReplaced { images, by, is_back })
}

/// Tells the changes of a spec that decide how the controller rolls out, beside those that have marks.
fn changed_settings(before: &DeploymentSpec, after: &DeploymentSpec, was_seen: bool) -> Vec<Happening> {
    let (from, to) = (before.strategy, after.strategy);
    let strategy = (from != to).then_some(Happening::StrategyChanged { from, to, was_seen });
    let seconds = |field: SpecSeconds, from: Option<u32>, to: Option<u32>| {
        (from != to).then_some(Happening::SecondsChanged { field, from, to, was_seen })
    };
    let min_ready = seconds(SpecSeconds::MinReady, Some(before.min_ready_seconds), Some(after.min_ready_seconds));
    let (from, to) = (before.progress_deadline_seconds, after.progress_deadline_seconds);
    let deadline = seconds(SpecSeconds::ProgressDeadline, from, to);
    [strategy, min_ready, deadline].into_iter().flatten().collect()
}

fn marks_between(before: &DeploymentNow, after: &DeploymentNow) -> Vec<MarkKind> {
    let mut marks = Vec::new();
    if before.spec.paused != after.spec.paused {
        marks.push(if after.spec.paused { MarkKind::Paused } else { MarkKind::Resumed });
    }
    if before.spec.replicas != after.spec.replicas {
        marks.push(MarkKind::Replicas { from: before.spec.replicas, to: after.spec.replicas });
    }
    if after.deleting && !before.deleting {
        marks.push(MarkKind::Deleting);
    }
    marks
}
