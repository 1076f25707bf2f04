//! What a Deployment's facts change: verdict, rollouts, marks.

use super::Timeline;
use crate::budget;
use crate::fact::{DeploymentFact, Kind, Seen};
use crate::model::{Deployment, DeploymentNow, Mark, MarkKind, Rollout};
use crate::story::{Entry, Happening};
use crate::verdict::{self, KubectlVerdict};
use crate::{Change, Millis, Uid, order, rollout};

impl Timeline {
    pub(super) fn deployment(&mut self, at: Millis, fact: DeploymentFact, seen: Seen) {
        let uid = fact.meta.uid;
        if self.model.deployments.get(&uid).is_some_and(|known| known.deleted_millis.is_some()) {
            return;
        }
        if seen == Seen::Deleted || fact.meta.deletion_at_millis.is_some() {
            self.orders.leaves(uid, fact.meta.version);
        }
        if seen == Seen::Deleted {
            if self.model.deployments.contains_key(&uid) {
                self.deployment_gone(at, uid);
            }
            return;
        }
        let now = DeploymentNow {
            labels: fact.labels,
            generation: fact.meta.generation,
            deleting: fact.meta.deletion_at_millis.is_some(),
            revision: fact.revision,
            restarted_at: fact.restarted_at,
            template: fact.template,
            spec: fact.spec,
            status: fact.status,
        };
        let had_passed = self.model.deployments.get(&uid).is_some_and(has_passed);
        match self.model.deployments.get(&uid) {
            None => {
                let from_first_list =
                    seen == Seen::InList && self.is_first_list(Kind::Deployment, &fact.meta.namespace);
                self.emit(Change::Deployment(Box::new(Deployment {
                    uid,
                    namespace: fact.meta.namespace,
                    name: fact.meta.name,
                    created_at_millis: fact.meta.created_at_millis,
                    first_seen_millis: at,
                    from_first_list,
                    deleted_millis: None,
                    now: now.clone(),
                    rollouts: Vec::new(),
                    marks: Vec::new(),
                    limits: vec![(at, budget::limits(&now.spec))],
                    story: Vec::new(),
                    verdicts: Vec::new(),
                    gaps: Vec::new(),
                    events: Vec::new(),
                    kept_since_millis: None,
                    rollouts_pruned: 0,
                })));
                self.tell_first_steps(uid);
            }
            Some(known) if known.now == now => return,
            Some(known) => {
                let (marks, limits) = (marks_between(&known.now, &now), budget::limits(&now.spec));
                let has_other_limits = known.limits.last().is_none_or(|(_, known)| *known != limits);
                self.emit(Change::DeploymentNow(uid, Box::new(now.clone())));
                if has_other_limits {
                    self.emit(Change::Limits(uid, at, limits));
                }
                for kind in marks {
                    self.emit(Change::Mark(uid, Mark { at_millis: at, kind: kind.clone() }));
                    self.tell_mark(at, uid, &kind);
                }
            }
        }
        let verdict = verdict::kubectl(&now);
        self.note_verdict(at, uid, verdict);
        let was_seen = seen != Seen::InList;
        self.start_rollout(at, uid, &now, was_seen);
        self.follow_rollout(at, uid, verdict, was_seen);
        self.tell_deadline(at, uid, had_passed);
    }

    pub(super) fn deployment_gone(&mut self, at: Millis, uid: Uid) {
        self.emit(Change::DeploymentDeleted(uid, at));
        self.tell(uid, at, Happening::Deleted);
        self.note_verdict(at, uid, KubectlVerdict::Gone);
    }

    fn note_verdict(&mut self, at: Millis, uid: Uid, verdict: KubectlVerdict) {
        let last = self.model.deployments.get(&uid).and_then(|d| d.verdicts.last());
        if last.is_none_or(|(_, last)| *last != verdict) {
            self.emit(Change::Verdict(uid, at, verdict));
        }
    }

    fn start_rollout(&mut self, at: Millis, uid: Uid, now: &DeploymentNow, was_seen: bool) {
        let Some(deployment) = self.model.deployments.get(&uid) else {
            return;
        };
        let Some(revision) = now.revision else { return };
        let last = deployment.rollouts.last();
        if last.is_some_and(|rollout| rollout.revision == revision) {
            return;
        }
        let index = deployment.rollouts_seen();
        let from_first_list = deployment.from_first_list && index == 0 && at == deployment.first_seen_millis;
        let limits = budget::limits(&now.spec);
        let (peak_pods, peak_terminating) = self.owned_pods(uid);
        let is_restart =
            last.is_some_and(|last| last.restarted_at != now.restarted_at && last.images == now.spec.images);
        let superseded = last.filter(|rollout| rollout.is_open()).cloned();
        if let Some(mut superseded) = superseded {
            superseded.superseded_millis = Some(at);
            let before = superseded.revision;
            // One that had everything finished, and what finished while nobody looked is not known.
            let is_superseded = was_seen && superseded.available_millis.is_none();
            self.emit(Change::Rollout(uid, index - 1, Box::new(superseded)));
            if is_superseded {
                self.tell(uid, at, Happening::Superseded { revision: before, by: revision });
            }
        }
        self.emit(Change::Rollout(
            uid,
            index,
            Box::new(Rollout {
                revision,
                started_millis: (!from_first_list).then_some(at),
                images: now.spec.images.clone(),
                restarted_at: now.restarted_at.clone(),
                is_first: index == 0,
                is_restart,
                max_surge: limits.max_surge,
                max_unavailable: limits.max_unavailable,
                completed_millis: None,
                available_millis: None,
                available_of: None,
                was_start_seen: was_seen && !from_first_list,
                passed_before: now.deadline_passed_millis().filter(|_| index > 0),
                superseded_millis: None,
                deadline_exceeded_millis: None,
                min_available: now.status.available,
                peak_pods,
                peak_terminating,
            }),
        ));
        self.tell_start(at, uid, was_seen);
    }

    /// A mark as an entry of the story; a change of replicas together with the steps that follow from it.
    fn tell_mark(&mut self, at: Millis, uid: Uid, kind: &MarkKind) {
        let what = match kind {
            MarkKind::Paused => Happening::Paused,
            MarkKind::Resumed => Happening::Resumed,
            MarkKind::Deleting => Happening::Deleting,
            MarkKind::Replicas { from, to } => return self.tell_replicas(uid, at, *from, *to),
        };
        self.tell(uid, at, what);
    }

    /// ReplicaSets may be seen before their Deployment: their first steps are told with it.
    fn tell_first_steps(&mut self, uid: Uid) {
        let steps = self.model.sets_of(uid).flat_map(|set| set.scales.iter().map(|scale| (set.uid, scale.clone())));
        let steps: Vec<_> = steps.filter(|(_, scale)| scale.deployment == uid).collect();
        for (set, scale) in order::by(steps, |(_, scale)| (scale.at_millis, u128::from(scale.order))) {
            self.tell_step(set, &scale, None);
        }
    }

    /// Keeps when as many pods of the last rollout as are desired were available first, and for how many replicas last.
    pub(super) fn note_all_available(&mut self, at: Millis, uid: Uid) {
        let Some(deployment) = self.model.deployments.get(&uid) else { return };
        let Some(index) = deployment.rollouts_seen().checked_sub(1) else { return };
        let Some(rollout) = deployment.rollouts.last() else { return };
        let progressing = deployment.now.status.progressing.as_ref();
        let is_told = deployment.now.generation <= deployment.now.status.observed_generation
            && progressing.is_some_and(|told| told.reason == "NewReplicaSetAvailable");
        let set = rollout::current_set(&self.model, deployment);
        let set = set.filter(|set| set.revision() == Some(rollout.revision));
        let desired = deployment.now.spec.replicas;
        let has_all = set.is_some_and(|set| self.counted(set.uid).available >= desired);
        let is_first = rollout.available_millis.is_none() && (is_told || (has_all && desired > 0));
        let available_of = if has_all { Some(desired) } else { rollout.available_of };
        if is_first || available_of != rollout.available_of {
            let available_millis = if is_first { Some(at) } else { rollout.available_millis };
            let altered = Rollout { available_millis, available_of, ..rollout.clone() };
            self.emit(Change::Rollout(uid, index, Box::new(altered)));
        }
    }

    /// A deadline of the last rollout passed: told once, when it passes.
    fn tell_deadline(&mut self, at: Millis, uid: Uid, had_passed: bool) {
        let Some(deployment) = self.model.deployments.get(&uid).filter(|deployment| has_passed(deployment)) else {
            return;
        };
        let Some(revision) = deployment.rollouts.last().map(|rollout| rollout.revision) else { return };
        let is_it = |entry: &Entry| matches!(entry.what, Happening::Deadline { revision: told } if told == revision);
        if !had_passed && self.entry(uid, is_it).is_none() {
            self.tell(uid, at, Happening::Deadline { revision });
        }
    }

    fn follow_rollout(&mut self, at: Millis, uid: Uid, verdict: KubectlVerdict, was_seen: bool) {
        let Some(available) = self.model.deployments.get(&uid).map(|known| known.now.status.available) else { return };
        let before = self.model.deployments.get(&uid).and_then(|known| known.rollouts.last()).cloned();
        self.change_open_rollout(uid, |rollout| {
            rollout.min_available = rollout.min_available.min(available);
            if verdict == KubectlVerdict::Complete {
                rollout.completed_millis = Some(at);
            }
            if verdict == KubectlVerdict::DeadlineExceeded {
                rollout.deadline_exceeded_millis = rollout.deadline_exceeded_millis.or(Some(at));
            }
        });
        self.note_all_available(at, uid);
        let last =
            |timeline: &Self| timeline.model.deployments.get(&uid).and_then(|known| known.rollouts.last()).cloned();
        let Some((before, after)) = before.zip(last(self)) else { return };
        let revision = after.revision;
        if let Some((completed, started)) = after.completed_millis.zip(after.started_millis)
            && before.completed_millis.is_none()
        {
            let took_millis = (was_seen && after.was_start_seen).then_some(completed - started);
            self.tell(uid, at, Happening::Completed { revision, took_millis });
        }
    }

    /// Keeps the most pods seen at once while the rollout is open. Called after anything that moves pods or ReplicaSets.
    pub(super) fn note_peaks(&mut self, deployment: Uid) {
        let open =
            self.model.deployments.get(&deployment).and_then(|d| d.rollouts.last()).is_some_and(Rollout::is_open);
        if !open {
            return;
        }
        let (pods, terminating) = self.owned_pods(deployment);
        self.change_open_rollout(deployment, |rollout| {
            rollout.peak_pods = rollout.peak_pods.max(pods);
            rollout.peak_terminating = rollout.peak_terminating.max(terminating);
        });
    }

    fn change_open_rollout(&mut self, uid: Uid, alter: impl FnOnce(&mut Rollout)) {
        let Some(deployment) = self.model.deployments.get(&uid) else {
            return;
        };
        let Some(index) = deployment.rollouts_seen().checked_sub(1) else {
            return;
        };
        let Some(rollout) = deployment.rollouts.last().filter(|rollout| rollout.is_open()) else {
            return;
        };
        let mut altered = rollout.clone();
        alter(&mut altered);
        if altered != *rollout {
            self.emit(Change::Rollout(uid, index, Box::new(altered)));
        }
    }

    /// Pods (without, with) deletion timestamp whose ReplicaSet the Deployment controls and that is not gone.
    fn owned_pods(&self, deployment: Uid) -> (u32, u32) {
        self.model.owned_sets(deployment).fold((0, 0), |(live, going), set| {
            let counted = self.counted(set.uid);
            (live + counted.live, going + counted.going)
        })
    }
}

/// The deadline of the last rollout passed, not of one before: it is under way, and Kubernetes says so.
fn has_passed(deployment: &Deployment) -> bool {
    let is_own = |rollout: &Rollout| rollout.is_open() && !rollout.has_deadline_of_before(&deployment.now);
    verdict::kubectl(&deployment.now) == KubectlVerdict::DeadlineExceeded
        && deployment.rollouts.last().is_some_and(is_own)
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
