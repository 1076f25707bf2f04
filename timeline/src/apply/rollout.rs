//! When a Deployment's rollouts begin, and what becomes of them.
//!
//! A rollout begins with the Deployment that first names its revision, once a ReplicaSet of it is seen to carry that revision: an
//! annotation alone may come from a manifest. Until then it is a draft, which the streams of both kinds complete.

use super::Timeline;
use super::pending::DraftRollout;
use crate::model::fact::{Kind, Strategy};
use crate::model::story::{Entry, Happening, RolloutStart};
use crate::model::{Deployment, KubectlVerdict, Mark, MarkKind, PodCounts, ReplicaSet, Rollout, Trigger};
use crate::rules::{budget, rollout, verdict};
use crate::{Change, Millis, Uid};

/// Kubernetes acted on an edit this long ago, and no ReplicaSet is seen to carry its revision: they are not seen any more.
const UNSEEN_MILLIS: Millis = 60_000;

impl Timeline {
    pub(super) fn note_revision(&mut self, at: Millis, uid: Uid, was_seen: bool) {
        let Some(deployment) = self.model.deployments.get(&uid) else { return };
        let last = deployment.rollouts.last();
        let is_new = |new: &u64| {
            last.is_none_or(|last| last.revision != *new || rollout::is_number_reused(&self.model, deployment, last))
        };
        let Some(revision) = deployment.now.revision.filter(is_new) else {
            self.drafts.remove(&uid);
            return;
        };
        if self.drafts.get(&uid).is_none_or(|draft| draft.rollout.revision != revision) {
            let draft = self.draft(at, deployment, revision, was_seen);
            self.drafts.insert(uid, draft);
        }
        self.begin_rollout(at, uid);
    }

    fn draft(&self, at: Millis, deployment: &Deployment, revision: u64, was_seen: bool) -> DraftRollout {
        let (now, last) = (&deployment.now, deployment.rollouts.last());
        let index = deployment.rollouts_seen();
        let from_first_list = deployment.from_first_list && index == 0 && at == deployment.first_seen_millis;
        let limits = budget::limits(&now.spec);
        let owned = self.owned_pods(deployment.uid);
        let is_restart = last.is_some_and(|last| {
            let hashes = last.template_apart.zip(now.template_apart);
            let is_same = hashes.map_or_else(|| last.images == now.spec.images, |(one, other)| one == other);
            last.restarted_at != now.restarted_at && is_same
        });
        let rollout = Rollout {
            revision,
            started_millis: (!from_first_list).then_some(at),
            generation: now.generation,
            images: now.spec.images.clone(),
            restarted_at: now.restarted_at.clone(),
            template_apart: now.template_apart,
            is_restart: is_restart && now.restarted_at.is_some(),
            max_surge: limits.max_surge,
            max_unavailable: limits.max_unavailable,
            was_start_seen: was_seen && !from_first_list,
            passed_before: now.deadline_passed_millis().filter(|_| index > 0),
            min_available: now.status.available,
            peak_pods: owned.live,
            peak_active: owned.active,
            peak_terminating: owned.terminating,
            ..Rollout::default()
        };
        DraftRollout { rollout, last: last.cloned(), since_millis: at, was_seen }
    }

    /// Begins the rollout that is drafted, if a ReplicaSet carries its revision.
    pub(super) fn begin_rollout(&mut self, at: Millis, uid: Uid) {
        let Some(deployment) = self.model.deployments.get(&uid) else { return };
        let Some(draft) = self.drafts.get(&uid).filter(|draft| self.is_rolled_out(at, deployment, draft)) else {
            return;
        };
        let is_correction = self.is_correction(deployment);
        let (seen, last_now) = (deployment.rollouts_seen(), deployment.rollouts.last().cloned());
        let DraftRollout { mut rollout, last, since_millis, was_seen } = draft.clone();
        let is_of_it = !was_seen && self.is_deadline_of(deployment, rollout.revision);
        if is_of_it && rollout.passed_before.take().is_some() {
            rollout.deadline_exceeded_millis = Some(since_millis);
        }
        self.drafts.remove(&uid);
        let revision = rollout.revision;
        let mut overtaken = None;
        if let Some(before) = last_now.as_ref().filter(|_| is_correction) {
            self.untell_rollout(uid, before.revision);
            rollout.started_millis = rollout.started_millis.filter(|_| before.started_millis.is_some());
        } else if let Some(mut superseded) = last.filter(Rollout::is_open) {
            superseded.superseded_millis = Some(since_millis);
            superseded.is_end_unseen = !was_seen;
            let before = superseded.revision;
            // One that had everything finished, and what finished while nobody looked is not known.
            overtaken = Some(before).filter(|_| was_seen && superseded.available_millis.is_none());
            // An earlier rollout may have had the same number.
            let is_end = |entry: &Entry| {
                entry.at_millis >= since_millis
                    && matches!(entry.what, Happening::Completed { revision, .. } if revision == before)
            };
            if let Some(id) = self.entry(uid, is_end).map(|entry| entry.id) {
                self.untell(uid, id);
            }
            self.emit(Change::Rollout(uid, seen - 1, Box::new(superseded)));
        }
        self.emit(Change::Rollout(uid, if is_correction { seen - 1 } else { seen }, Box::new(rollout)));
        self.take_template_of_set(uid);
        let is_more = !self.is_renumbered(uid);
        let began_millis = self.tell_start(since_millis, uid, was_seen);
        if let Some(before) = overtaken.filter(|before| is_more && *before != revision) {
            self.tell(uid, began_millis, Happening::Superseded { revision: before, by: revision, gone_millis: None });
        }
        self.note_available(at, uid, false);
        self.tell_deadline(at, uid, !is_of_it, was_seen);
        self.tell_complete(uid);
    }

    /// The revision that a Deployment names is that of a rollout. Where ReplicaSets are not seen, its spec changed since the last one.
    fn is_rolled_out(&self, at: Millis, deployment: &Deployment, draft: &DraftRollout) -> bool {
        let last = deployment.rollouts.last();
        let is_edited = last.is_none_or(|last| deployment.now.generation > last.generation);
        let mut sets = self.model.owned_sets(deployment.uid).peekable();
        let is_first_look = deployment.from_first_list && last.is_none() && sets.peek().is_none();
        if is_edited && (is_first_look || self.is_first_list(Kind::ReplicaSet, &deployment.namespace)) {
            return true;
        }
        // Of several revisions at once ReplicaSets may be ahead of the Deployment. A number that is neither new nor the highest one
        // is written on the Deployment alone.
        let revision = draft.rollout.revision;
        let is_next = last.is_none_or(|last| revision > last.revision);
        let is_highest = sets.filter_map(ReplicaSet::revision).max() == Some(revision);
        let is_carried = rollout::replica_set(&self.model, deployment, draft.rollout.revision).is_some();
        let is_observed = deployment.now.status.observed_generation >= deployment.now.generation;
        (is_carried && (is_next || is_highest))
            || (last.is_some() && is_edited && is_observed && at - draft.since_millis > UNSEEN_MILLIS)
    }

    /// The deadline that passed is that of a revision: the condition names its ReplicaSet. What passed while nobody looked arrives with
    /// the revision itself.
    fn is_deadline_of(&self, deployment: &Deployment, revision: u64) -> bool {
        let told = deployment.now.status.progressing.as_ref();
        let set = rollout::replica_set(&self.model, deployment, revision);
        told.zip(set).is_some_and(|(told, set)| rollout::is_about(told, set))
    }

    /// The condition that says that everything was available may be that of the rollout before: where all old pods go at once, a
    /// rollback does not move it. Of one that was seen to begin, its pods tell. Where the ReplicaSet was listed with its number before that,
    /// nobody knows whether it is one.
    fn is_condition_of_before(&self, deployment: &Deployment) -> bool {
        let Some((index, rollout)) = deployment.rollouts.iter().enumerate().next_back() else { return false };
        let told = deployment.now.status.progressing.as_ref();
        let set = rollout::replica_set(&self.model, deployment, rollout.revision);
        let may_be_rollback = || {
            let is_unknown = set.is_none_or(|set| rollout::revised_millis(set, rollout.revision).is_none());
            (is_unknown && deployment.now.spec.strategy == Strategy::Recreate)
                || rollout::trigger(&self.model, deployment, index) == Trigger::Rollback
        };
        (rollout.was_start_seen && may_be_rollback())
            || told.is_some_and(|told| rollout::is_about_another(&self.model, deployment, told))
    }

    /// The only rollout was begun before ReplicaSets were seen, and none of them carries its revision.
    fn is_correction(&self, deployment: &Deployment) -> bool {
        let [last] = deployment.rollouts.as_slice() else { return false };
        deployment.rollouts_pruned == 0
            && !self.is_first_list(Kind::ReplicaSet, &deployment.namespace)
            && rollout::replica_set(&self.model, deployment, last.revision).is_none()
    }

    /// The last rollout is the one before with another number: that it overtook that one is no news.
    fn is_renumbered(&self, uid: Uid) -> bool {
        let Some(deployment) = self.model.deployments.get(&uid) else { return false };
        let last = deployment.rollouts.len().saturating_sub(1);
        let set = deployment.rollouts.get(last).and_then(|one| rollout::set_of_rollout(&self.model, deployment, one));
        set.is_some_and(|set| rollout::is_renumbered(&self.model, deployment, last, set))
    }

    /// The template may have been edited before watching began, as during a take-down by Recreate: of a rollout that was there then, the
    /// ReplicaSet has the template.
    pub(super) fn take_template_of_set(&mut self, uid: Uid) {
        let Some(deployment) = self.model.deployments.get(&uid) else { return };
        let Some(last) = deployment.rollouts.last().filter(|last| last.started_millis.is_none()) else { return };
        let set = rollout::replica_set(&self.model, deployment, last.revision);
        let is_other = |set: &&ReplicaSet| set.images != last.images || set.restarted_at != last.restarted_at;
        if let Some(set) = set.filter(|set| !set.images.is_empty() && is_other(set)) {
            let template = (set.images.clone(), set.restarted_at.clone(), None);
            self.change_last_rollout(uid, |last| (last.images, last.restarted_at, last.template_apart) = template);
        }
    }

    /// Takes back what was told of a rollout that never was.
    fn untell_rollout(&mut self, uid: Uid, of: u64) {
        let is_of_it = |entry: &&Entry| match entry.what {
            Happening::Begins { revision, .. }
            | Happening::Starts(RolloutStart { revision, .. })
            | Happening::Completed { revision, .. } => revision == of,
            _ => false,
        };
        let ids: Vec<u64> = self.story(uid).iter().filter(is_of_it).map(|entry| entry.id).collect();
        ids.into_iter().for_each(|id| self.untell(uid, id));
    }

    /// Keeps when as many pods of the last rollout as are desired were available first, and for how many replicas last. Where it is judged
    /// anew it is forgotten that they were.
    pub(super) fn note_available(&mut self, at: Millis, uid: Uid, is_anew: bool) {
        let Some(deployment) = self.model.deployments.get(&uid) else { return };
        let Some(rollout) = deployment.rollouts.last() else { return };
        let (status, desired) = (&deployment.now.status, deployment.now.spec.replicas);
        // At zero the condition is met by no pods at all, and it stays while it is scaled up again.
        let is_of_pods = !rollout.was_scaled_to_zero || (desired > 0 && status.available >= desired);
        let is_told = || {
            is_of_pods
                && deployment.now.generation <= status.observed_generation
                && status.updated == status.replicas
                && status.progress_reason() == "NewReplicaSetAvailable"
                && !self.is_condition_of_before(deployment)
        };
        let set = rollout::current_set(&self.model, deployment);
        let set = set.filter(|set| set.revision() == Some(rollout.revision));
        // While pods are listed again, those that went count until the list is whole.
        let set = set.filter(|_| !self.relisting.contains(&deployment.namespace));
        let has_all = set.is_some_and(|set| self.model.pod_counts(set.uid).available >= desired);
        let is_due = is_anew || rollout.available_millis.is_none();
        let is_so = is_due && ((has_all && desired > 0) || is_told());
        let available_of = if has_all { Some(desired) } else { rollout.available_of.filter(|_| !is_anew) };
        let known_millis = rollout.available_millis.filter(|_| is_so || !is_anew);
        let available_millis = known_millis.or(is_so.then_some(at));
        if (available_millis, available_of) != (rollout.available_millis, rollout.available_of) {
            let known = (available_millis, available_of);
            self.change_last_rollout(uid, |last| (last.available_millis, last.available_of) = known);
        }
    }

    /// Pods are listed after nobody looked: all of a rollout may be available. Of one that began in that gap nobody saw that it was before:
    /// pods of its ReplicaSet that were known may be gone.
    pub(super) fn note_listed_pods(&mut self, at: Millis, namespace: Option<&str>) {
        let began_in_it = |deployment: &Deployment| {
            let Some((last, gap)) = deployment.rollouts.last().zip(deployment.gaps.last()) else { return false };
            let is_in_it = !last.was_start_seen && last.started_millis > Some(gap.from_millis);
            last.is_open() && is_in_it && gap.to_millis == at
        };
        for uid in self.deployments_in(namespace) {
            let is_anew = self.model.deployments.get(&uid).is_some_and(began_in_it);
            self.note_available(at, uid, is_anew);
        }
    }

    /// When the deadline passed of which a Deployment tells. Where nobody saw that, the condition tells when it was: before the first look
    /// it is of no moment that is known.
    fn deadline_time(&self, at: Millis, deployment: &Deployment, was_seen: bool) -> Option<Millis> {
        let told = deployment.now.deadline_passed_millis().map(|told| told.saturating_add(self.skew.millis()).min(at));
        if was_seen { Some(at) } else { told.filter(|told| *told > deployment.first_seen_millis) }
    }

    /// A deadline of the last rollout passed: told when it passed, and again when it passed once more after the rollout had progressed. Where
    /// nobody saw that, it may be of a revision that no ReplicaSet is seen to carry yet; of a rollout that nobody saw begin it is told after
    /// the begin.
    pub(super) fn tell_deadline(&mut self, at: Millis, uid: Uid, had_passed: bool, was_seen: bool) {
        let Some(deployment) = self.model.deployments.get(&uid).filter(|deployment| has_passed(deployment)) else {
            return;
        };
        let Some(rollout) = deployment.rollouts.last() else { return };
        let (revision, started) = (rollout.revision, rollout.started_millis);
        let is_clear = was_seen || !self.drafts.contains_key(&uid);
        let passed = self.deadline_time(at, deployment, was_seen).filter(|_| is_clear);
        let Some(passed) = passed.map(|passed| passed.max(started.unwrap_or(passed))) else { return };
        let is_it = |entry: &Entry| matches!(entry.what, Happening::Deadline { revision: told } if told == revision);
        // An edit that the controller has not seen yet hides the condition, and moves nothing.
        let is_progress = |verdict| !matches!(verdict, KubectlVerdict::DeadlineExceeded | KubectlVerdict::NotObserved);
        let has_progressed = |told: &Entry| {
            let mut later = deployment.verdicts.iter().rev().take_while(|(at, _)| *at > told.at_millis);
            later.any(|(_, verdict)| is_progress(*verdict))
        };
        if !had_passed && self.entry(uid, is_it).is_none_or(has_progressed) {
            self.tell(uid, passed, Happening::Deadline { revision });
        }
    }

    pub(super) fn follow_rollout(&mut self, at: Millis, uid: Uid, verdict: KubectlVerdict, was_seen: bool) {
        let Some(known) = self.model.deployments.get(&uid) else { return };
        let (was_open, status) = (known.rollouts.last().is_some_and(Rollout::is_open), &known.now.status);
        // Until its next sync the controller reports the counts from before it created the ReplicaSet.
        let (available, is_stale) = (status.available, status.progress_reason() == "NewReplicaSetCreated");
        // What was complete when watching began did not end since.
        let is_end_unseen = !was_seen && !self.is_first_list(Kind::Deployment, &known.namespace);
        let passed_millis = known.now.deadline_passed_millis();
        let passed = self.deadline_time(at, known, was_seen).unwrap_or(at);
        let is_to_zero = |mark: &&Mark| matches!(mark.kind, MarkKind::Replicas { to: 0, .. });
        let marks = Some(&known.marks).filter(|_| known.now.spec.replicas == 0 && !is_end_unseen);
        let emptied_millis = marks.and_then(|marks| marks.iter().rfind(is_to_zero)).map(|mark| mark.at_millis);
        // Of one that nobody saw begin, the condition of its own ReplicaSet would have told that everything was available, unless a
        // pause replaced it.
        let next = self.drafts.get(&uid).map(|draft| &draft.rollout).or(known.rollouts.last());
        let since_millis = next.and_then(|next| next.started_millis);
        let was_resumed = |mark: &Mark| mark.kind == MarkKind::Resumed && Some(mark.at_millis) >= since_millis;
        let was_paused = || known.now.spec.paused || known.marks.iter().any(was_resumed);
        let told = known.now.status.progressing.as_ref().filter(|_| emptied_millis.is_some() && !was_paused());
        let is_known = told.is_some_and(|told| !rollout::is_about_another(&self.model, known, told));
        let taken_down_millis = next.and_then(|next| rollout::take_down_millis(&self.model, known, next));
        self.change_open_rollout(uid, |rollout| {
            rollout.min_available = rollout.min_available.min(available);
            if verdict == KubectlVerdict::Complete && !is_stale {
                (rollout.completed_millis, rollout.is_end_unseen) = (Some(at), is_end_unseen);
                let began_millis = taken_down_millis.or(rollout.started_millis);
                let is_in_it = emptied_millis.is_some_and(|at| began_millis.is_none_or(|began| at >= began));
                let is_known = rollout.was_start_seen || is_known;
                rollout.was_scaled_to_zero = is_in_it && is_known && rollout.available_millis.is_none();
            }
            if verdict == KubectlVerdict::DeadlineExceeded && !rollout.has_deadline_of_before(passed_millis) {
                let passed = passed.max(rollout.started_millis.unwrap_or(passed));
                rollout.deadline_exceeded_millis = rollout.deadline_exceeded_millis.or(Some(passed));
            }
        });
        self.note_available(at, uid, false);
        if was_open {
            self.tell_complete(uid);
        }
    }

    /// Tells once that the last rollout is complete. Of the one before with another number it is news where that one never was.
    pub(super) fn tell_complete(&mut self, uid: Uid) {
        let Some(deployment) = self.model.deployments.get(&uid) else { return };
        let Some(rollout) = deployment.rollouts.last() else { return };
        let Some((completed, started)) = rollout.completed_millis.zip(rollout.started_millis) else { return };
        let before = deployment.rollouts.iter().nth_back(1);
        let was_complete = before.is_some_and(|last| last.completed_millis.or(last.available_millis).is_some());
        let (revision, was_seen) = (rollout.revision, !rollout.is_end_unseen);
        // Our clock may have been set back meanwhile.
        let took_millis = Some(completed - started).filter(|took| was_seen && rollout.was_start_seen && *took >= 0);
        let is_it = |entry: &Entry| {
            entry.at_millis >= started.min(completed)
                && matches!(entry.what, Happening::Completed { revision: told, .. } if told == revision)
        };
        if (was_complete && self.is_renumbered(uid)) || self.entry(uid, is_it).is_some() {
            return;
        }
        let taken_down = rollout::take_down_millis(&self.model, deployment, rollout);
        let taken_down_millis = taken_down.map(|at| completed - at);
        let was_scaled_to_zero = rollout.was_scaled_to_zero;
        let what = Happening::Completed { revision, was_seen, took_millis, taken_down_millis, was_scaled_to_zero };
        self.tell(uid, completed, what);
    }

    /// Keeps the most pods seen at once while the rollout is open. Called after anything that moves pods or ReplicaSets.
    pub(super) fn note_peaks(&mut self, deployment: Uid) {
        let is_open =
            self.model.deployments.get(&deployment).and_then(|d| d.rollouts.last()).is_some_and(Rollout::is_open);
        if !is_open && !self.drafts.contains_key(&deployment) {
            return;
        }
        let owned = self.owned_pods(deployment);
        self.change_open_rollout(deployment, |rollout| {
            rollout.peak_pods = rollout.peak_pods.max(owned.live);
            rollout.peak_active = rollout.peak_active.max(owned.active);
            rollout.peak_terminating = rollout.peak_terminating.max(owned.terminating);
        });
    }

    /// Alters the last rollout while it is open, and the one that is drafted.
    fn change_open_rollout(&mut self, uid: Uid, alter: impl Fn(&mut Rollout)) {
        if let Some(draft) = self.drafts.get_mut(&uid).filter(|draft| draft.rollout.is_open()) {
            alter(&mut draft.rollout);
        }
        let last = self.model.deployments.get(&uid).and_then(|deployment| deployment.rollouts.last());
        if last.is_some_and(Rollout::is_open) {
            self.change_last_rollout(uid, alter);
        }
    }

    /// Alters the last rollout.
    pub(super) fn change_last_rollout(&mut self, uid: Uid, alter: impl FnOnce(&mut Rollout)) {
        let Some(deployment) = self.model.deployments.get(&uid) else { return };
        let Some(last) = deployment.rollouts.last() else { return };
        let (index, mut altered) = (deployment.rollouts_seen() - 1, last.clone());
        alter(&mut altered);
        if altered != *last {
            self.emit(Change::Rollout(uid, index, Box::new(altered)));
        }
    }

    /// Pods whose ReplicaSet the Deployment controls and that is not gone; none while pods are listed again, until that list is whole.
    fn owned_pods(&self, deployment: Uid) -> PodCounts {
        if self.model.deployments.get(&deployment).is_some_and(|known| self.relisting.contains(&known.namespace)) {
            return PodCounts::default();
        }
        self.model.owned_sets(deployment).fold(PodCounts::default(), |sum, set| sum + self.model.pod_counts(set.uid))
    }
}

/// The deadline of the last rollout passed, not of one before: it is under way, and Kubernetes says so.
pub(super) fn has_passed(deployment: &Deployment) -> bool {
    let passed_millis = deployment.now.deadline_passed_millis();
    let is_own = |rollout: &Rollout| rollout.is_open() && !rollout.has_deadline_of_before(passed_millis);
    verdict::kubectl(&deployment.now) == KubectlVerdict::DeadlineExceeded
        && deployment.rollouts.last().is_some_and(is_own)
}
