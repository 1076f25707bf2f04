//! The standing of a Deployment: which verdict holds, of all that are possible.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::assessment::Assessment;
use super::cause::{Cause, CauseKind, CrashCause, Severity};
use super::{episode, severity};
use crate::Millis;
use crate::model::fact::Strategy;
use crate::model::story::{Entry, Happening};
use crate::model::{EndReason, KubectlVerdict, MarkKind, Pod, PodState, ReplicaSet, Rollout};
use crate::rules::budget::Next;
use crate::rules::rollout::{self, STATUS_MILLIS};

/// The colour of a verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tone {
    /// All is as it should be.
    Ok,
    /// Something is in progress or waiting.
    Busy,
    /// Somebody should look.
    Bad,
    /// Nothing is going on.
    #[default]
    Quiet,
}

impl Tone {
    /// Class name of the tone.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Busy => "busy",
            Self::Bad => "bad",
            Self::Quiet => "quiet",
        }
    }
}

/// The standing of a Deployment: our verdict, before it is put into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It was deleted.
    Deleted,
    /// It is being deleted.
    Deleting,
    /// It is paused.
    Paused,
    /// Its controller does not react.
    NotObserved {
        /// For so long that it is broken.
        is_stuck: bool,
    },
    /// `spec.replicas` is 0, and no pods are left.
    ScaledToZero,
    /// The progress deadline passed.
    DeadlineExceeded,
    /// The new pods cannot become available, and it is known why.
    Failing,
    /// Something else keeps it from going on, or nothing moves and nothing says why.
    Blocked,
    /// Recreate: the old pods go first.
    TakingDown,
    /// Something normal and named is waited for.
    Waiting,
    /// Something that is waited for takes longer than it may, without an error of its own.
    Slow,
    /// In progress.
    Progressing,
    /// Everything is available; old pods still drain.
    Finishing,
    /// Complete before, and more replicas are desired since.
    ScalingUp {
        /// A fault lasts, or nothing moves.
        is_stuck: bool,
    },
    /// Pods are missing and nothing is replaced; whether it rolls out, was scaled up or lost some was not seen.
    CatchingUp,
    /// Complete before, and now pods are missing; or they are missing since watching began, and a fault lasts.
    Degraded {
        /// A fault lasts, or nothing moves.
        is_stuck: bool,
    },
    /// Rolled out before, and its containers crash again and again, whatever they do at the moment.
    Crashing,
    /// Complete.
    Complete,
}

impl Standing {
    /// Returns whether the progress deadline can still pass, or passed: not for a rollout that is over or not under
    /// way, or that has everything and waits only for the controller to report it.
    pub const fn has_deadline(self) -> bool {
        match self {
            Self::Deleted | Self::Deleting | Self::Paused | Self::NotObserved { .. } | Self::ScaledToZero => false,
            Self::Finishing | Self::Crashing | Self::Complete => false,
            Self::DeadlineExceeded | Self::Failing | Self::Blocked | Self::TakingDown => true,
            Self::Waiting | Self::Slow => true,
            Self::Progressing | Self::ScalingUp { .. } | Self::CatchingUp | Self::Degraded { .. } => true,
        }
    }

    /// Returns the colour of the verdict, pods that a rollout lacks aside: [`Assessment::tone`].
    pub const fn tone(self) -> Tone {
        match self {
            Self::Complete => Tone::Ok,
            Self::Deleted | Self::Deleting | Self::ScaledToZero => Tone::Quiet,
            Self::NotObserved { is_stuck: true }
            | Self::DeadlineExceeded
            | Self::Failing
            | Self::Blocked
            | Self::Crashing
            | Self::ScalingUp { is_stuck: true }
            | Self::Degraded { is_stuck: true } => Tone::Bad,
            _ => Tone::Busy,
        }
    }
}

impl Assessment<'_> {
    /// Decides the verdict.
    pub fn standing(&self) -> Standing {
        let (deployment, counts) = (self.deployment, self.counts);
        let desired = deployment.now.spec.replicas;
        if deployment.deleted_millis.is_some() {
            return Standing::Deleted;
        }
        if deployment.now.deleting {
            return Standing::Deleting;
        }
        if deployment.now.spec.paused {
            return Standing::Paused;
        }
        if let Some(silent) = self.causes.iter().find(|cause| cause.kind == CauseKind::ControllerSilent) {
            return Standing::NotObserved { is_stuck: silent.severity == Severity::Bad };
        }
        if desired == 0 && counts.available + counts.not_yet == 0 {
            return Standing::ScaledToZero;
        }
        match self.kubectl {
            _ if self.is_crashing() && (self.is_settled() || self.is_unseen()) => Standing::Crashing,
            KubectlVerdict::Complete if counts.available >= desired && self.is_crashing() => Standing::Crashing,
            _ if counts.available >= desired && self.is_settled() && self.is_unsteady() => {
                Standing::Degraded { is_stuck: true }
            }
            KubectlVerdict::Complete if counts.available >= desired => Standing::Complete,
            KubectlVerdict::DeadlineExceeded if !self.has_deadline_of_before() => Standing::DeadlineExceeded,
            _ if self.is_taking_down() && !self.has_fault() => Standing::TakingDown,
            _ if self.is_crashing() => Standing::Failing,
            _ if self.is_finishing() => Standing::Finishing,
            _ if self.is_settled() => self.standing_of_missing(),
            _ if self.is_unseen() && (self.is_stuck() || self.is_outage) => Standing::Degraded { is_stuck: true },
            _ if self.is_unseen() => Standing::CatchingUp,
            _ => match self.decisive() {
                Some(cause) if cause.kind.is_failure() => Standing::Failing,
                Some(_) => Standing::Blocked,
                None if self.is_unexplained() => Standing::Blocked,
                None if self.causes.iter().any(|cause| cause.severity == Severity::Slow) => Standing::Slow,
                None if matches!(self.next, Next::WaitForNew(_) | Next::Nothing) && self.only_waits() => {
                    Standing::Waiting
                }
                None => Standing::Progressing,
            },
        }
    }

    /// Returns the colour of the verdict.
    pub fn tone(&self, standing: Standing) -> Tone {
        if self.is_rollout_outage(standing) || self.lacks_old_pods(standing) { Tone::Bad } else { standing.tone() }
    }

    /// Returns whether a fault of old pods leaves fewer pods available than the limits allow, while the rollout goes on or only waits.
    pub fn lacks_old_pods(&self, standing: Standing) -> bool {
        matches!(standing, Standing::Waiting | Standing::Slow | Standing::Progressing)
            && self.causes.iter().any(|cause| self.leaves_too_few(cause))
    }

    /// Returns whether no pod is available, as in an outage at rest, during a rollout or a pause.
    pub fn is_rollout_outage(&self, standing: Standing) -> bool {
        let spec = &self.deployment.now.spec;
        // Between the old pods and the new ones there may be none. A paused Deployment takes none down for an edit that waits.
        let awaits_edit = spec.paused && self.awaits_revision;
        let may_have_none = self.limits.floor == 0 && !self.is_settled();
        let is_fault = standing.tone() == Tone::Bad || self.has_fault();
        let is_allowed = may_have_none && !awaits_edit && !is_fault;
        let is_rollout = matches!(
            standing,
            Standing::Paused
                | Standing::NotObserved { .. }
                | Standing::DeadlineExceeded
                | Standing::Failing
                | Standing::Blocked
                | Standing::Waiting
                | Standing::Slow
                | Standing::Progressing
        );
        is_rollout && !is_allowed && self.is_outage
    }

    /// Returns the losses since the Deployment was last complete whose replacements are missing, in order: pods that
    /// were deleted, left their ReplicaSet or had to leave a node, and deleted ReplicaSets. Each has its number of
    /// pods, together no more than are missing.
    pub fn unreplaced_losses(&self) -> Vec<(&Entry, u32)> {
        let verdicts = &self.deployment.verdicts;
        let complete = verdicts.iter().rposition(|(_, verdict)| *verdict == KubectlVerdict::Complete);
        let missing_since = verdicts.get(complete.map_or(0, |complete| complete + 1)).map(|(at, _)| *at);
        let losses = self.count_losses(missing_since.unwrap_or(self.now.millis) - STATUS_MILLIS);
        if losses.is_empty() {
            return Vec::new();
        }
        // One that was available replaced another one: if it was lost later, that is a loss of its own.
        let pods = self.model.counted_pods(self.deployment.uid).into_iter().filter(|pod| pod.was_available());
        let back: Vec<Millis> = pods.map(Pod::first_seen_millis).collect();
        let missing = self.deployment.now.spec.replicas.saturating_sub(self.counts.available) as usize;
        let (mut missed, mut taken, mut missing): (Vec<(&Entry, u32)>, usize, usize) = (Vec::new(), 0, missing);
        // Pods that came after the last loss replace that one.
        for (entry, pods) in losses.into_iter().rev() {
            let later = back.len() - back.partition_point(|at| *at < entry.at_millis);
            let replaced = later.saturating_sub(taken).min(pods);
            let lost = (pods - replaced).min(missing);
            (taken, missing) = (taken + replaced, missing - lost);
            missed.extend((lost > 0).then_some((entry, lost as u32)));
        }
        missed.reverse();
        missed
    }

    /// Finds the losses since then, with the number of pods that each took.
    fn count_losses(&self, since_millis: Millis) -> Vec<(&Entry, usize)> {
        // These are causes of their own.
        let has_failures = self.causes.iter().any(|cause| matches!(cause.kind, CauseKind::PodsFailed { .. }));
        let has_none = self.has_lost_all_pods();
        let sets = || self.model.controlled_sets(self.deployment.uid);
        // A pod that was never available is not why one is missing. Most stories ask for no name.
        let model = self.model;
        let pods = || sets().flat_map(|set| model.pods_of(set.uid)).filter(|pod| pod.was_available());
        let served = LazyCell::new(|| pods().map(|pod| pod.name.as_str()).collect::<BTreeSet<&str>>());
        let released = LazyCell::new(|| {
            let released = pods().filter(|pod| pod.is_out_of_rotation());
            released.map(|pod| pod.name.as_str()).collect::<BTreeSet<&str>>()
        });
        // Those that are told together have no names.
        let deleted = LazyCell::new(|| {
            let told = self.deployment.story.iter().filter_map(|entry| match &entry.what {
                Happening::Killed { pod, .. } => Some(pod.as_str()),
                _ => None,
            });
            let alone: BTreeSet<&str> = told.collect();
            let is_other =
                |pod: &&Pod| pod.end_reason == Some(EndReason::DeletedManually) && !alone.contains(pod.name.as_str());
            pods().filter(is_other).filter_map(Pod::ended_millis).collect::<Vec<Millis>>()
        });
        let mut losses = Vec::new();
        for entry in &self.deployment.story {
            let is_late = entry.at_millis >= since_millis;
            let (pods, last_millis) = match &entry.what {
                Happening::LeftNode { pods, last_millis, .. } if !has_failures => (*pods, *last_millis),
                Happening::KilledMore { pods, last_millis, .. } if !has_none => {
                    let gone = deleted.iter().filter(|at| (entry.at_millis..=*last_millis).contains(*at));
                    ((gone.count() as u32).min(*pods), *last_millis)
                }
                Happening::Killed { pod, .. } if !has_none => {
                    (u32::from(served.contains(pod.as_str())), entry.at_millis)
                }
                Happening::Released { pod, is_orphaned: false, .. } if is_late && released.contains(pod.as_str()) => {
                    (1, entry.at_millis)
                }
                Happening::SetDeleted { was_seen: true, .. } if is_late => {
                    let is_it = |set: &&ReplicaSet| {
                        set.removed_millis == Some(entry.at_millis)
                            && self.model.pods_of(set.uid).any(Pod::was_available)
                    };
                    (sets().find(is_it).map_or(0, |set| set.now.counts.desired), entry.at_millis)
                }
                _ => continue,
            };
            if last_millis >= since_millis && pods > 0 {
                losses.push((entry, pods as usize));
            }
        }
        losses
    }

    /// Returns whether the headline says that no pod serves, or too few do, and not why.
    pub fn is_headline_outage(&self, standing: Standing) -> bool {
        match standing {
            Standing::Paused | Standing::Waiting | Standing::Slow | Standing::Progressing => {
                self.is_rollout_outage(standing) || self.lacks_old_pods(standing)
            }
            Standing::Degraded { is_stuck: true } => self.counts.available == 0 && self.decisive().is_none(),
            _ => false,
        }
    }

    /// Returns whether it was deleted unobserved, at that time or before.
    pub fn went_unseen(&self) -> bool {
        self.deployment.deleted_millis.is_some_and(|at| self.deployment.gaps.iter().any(|gap| gap.to_millis == at))
    }

    /// Returns whether the rollout was complete before: missing pods are no part of it.
    fn is_settled(&self) -> bool {
        let last = self.deployment.rollouts.last();
        let was_there = |last: &Rollout| {
            let is_known = last.completed_millis.or(last.available_millis).is_some();
            is_known && !rollout::had_all_for_moments(self.deployment, last, self.now.millis)
        };
        let is_over = self.sums.old_desired() == 0 && !self.awaits_revision && !self.is_next_ahead();
        is_over && last.is_some_and(was_there)
    }

    /// Returns whether the ReplicaSet of the next rollout exists, and the Deployment that names its revision follows.
    fn is_next_ahead(&self) -> bool {
        let last = self.deployment.rollouts.last().map(|rollout| rollout.revision);
        last.is_some() && self.current.is_some_and(|set| set.revision() > last)
    }

    /// Pods of the last revision were made, and none of them was ever available. Its start and all the time since were observed.
    pub fn came_to_nothing(&self) -> bool {
        let Some((last, set)) = self.deployment.rollouts.last().zip(self.current) else { return false };
        set.revision() == Some(last.revision) && rollout::came_to_nothing(self.model, self.deployment, last, set)
    }

    fn has_deadline_of_before(&self) -> bool {
        let passed_millis = self.deployment.now.deadline_passed_millis();
        self.deployment.rollouts.last().is_some_and(|rollout| rollout.has_deadline_of_before(passed_millis))
    }

    /// Returns whether pods are news of a rollout that is seen to be under way.
    pub fn is_rolling_out(&self) -> bool {
        let was_start_seen = || self.deployment.rollouts.last().is_some_and(|rollout| rollout.started_millis.is_some());
        self.sums.old_desired() > 0 || ((was_start_seen() || self.goes_on()) && !self.is_settled())
    }

    /// Returns whether the controller says that a rollout goes on.
    fn goes_on(&self) -> bool {
        let told = self.deployment.now.status.progress_reason();
        matches!(told, "NewReplicaSetCreated" | "FoundNewReplicaSet" | "ReplicaSetUpdated")
    }

    /// Returns whether it existed when watching began, nothing is replaced, and it is not known whether it had
    /// everything before.
    fn is_unseen(&self) -> bool {
        let last = self.deployment.rollouts.last();
        self.sums.old_desired() == 0
            && !self.awaits_revision
            && !self.is_next_ahead()
            && !self.goes_on()
            && last.is_some_and(|rollout| rollout.started_millis.is_none())
    }

    /// Returns whether enough pods are available and no old ones are desired any more. Old ones may be available for a
    /// moment longer, which finishes no rollout that never had everything.
    fn is_finishing(&self) -> bool {
        let (counts, desired) = (&self.counts, self.deployment.now.spec.replicas);
        let had_everything = self.is_settled() || self.is_unseen();
        let available = if had_everything { counts.available } else { counts.new_available };
        self.sums.old_desired() == 0 && available >= desired
    }

    /// Decides the verdict if it was complete and pods are missing: more are desired than it ever had, or some of them
    /// are lost.
    fn standing_of_missing(&self) -> Standing {
        let had = self.deployment.rollouts.last().and_then(|rollout| rollout.available_of);
        let (desired, is_stuck) = (self.deployment.now.spec.replicas, self.is_stuck());
        if had.is_some_and(|had| had < desired && had <= self.counts.available) {
            return Standing::ScalingUp { is_stuck };
        }
        let is_stuck = is_stuck || self.is_outage;
        if had.is_none() && !is_stuck { Standing::CatchingUp } else { Standing::Degraded { is_stuck } }
    }

    /// Returns whether nothing is lost: `minReadySeconds` was raised, and as many pods as are missing were available
    /// until then and are ready.
    pub fn waits_for_more_seconds(&self) -> bool {
        let sets = self.model.controlled_sets(self.deployment.uid);
        let pods = sets.flat_map(|set| self.noteworthy_pods(set));
        let is_recounted =
            |pod: &&Pod| matches!(pod.states.as_slice(), [.., (PodState::Available, _), (PodState::Ready, _)]);
        self.counts.available as usize + pods.filter(is_recounted).count() >= self.deployment.now.spec.replicas as usize
    }

    /// Returns whether no pod has been available for a while, since the last one that was, and none is ready and waits
    /// for `minReadySeconds`. A pod whose readiness flaps may never reach them. A time without desired pods is no
    /// outage.
    pub(super) fn finds_outage(&self) -> bool {
        let uid = self.deployment.uid;
        let is_flapping = || self.causes.iter().any(|cause| matches!(cause.kind, CauseKind::Flapping { .. }));
        // Pods of earlier revisions count, too.
        let is_ready = || {
            let sets = self.model.controlled_sets(uid);
            let mut pods = sets.flat_map(|set| self.model.controlled_pods(set.uid));
            pods.any(|pod| pod.state() == PodState::Ready && !self.is_in_crash_loop(pod))
        };
        if self.counts.available > 0 || !self.sees_pods || (is_ready() && !is_flapping()) {
            return false;
        }
        // A released pod says nothing of the time after its release.
        let lost_millis = |pod: &Pod| {
            let counted = episode::counted_stretches(self.model, uid, pod);
            let steps = episode::available(pod, &counted, pod.first_seen_millis());
            steps.into_iter().filter(|(_, missing)| *missing > 0).map(|(at, _)| at).max()
        };
        let pods = self.model.linked_pods(uid).filter(|pod| pod.was_available());
        let from_zero = |kind: &MarkKind| matches!(kind, MarkKind::Replicas { from: 0, .. });
        let desired_since = self.deployment.marks.iter().rfind(|mark| from_zero(&mark.kind)).map(|mark| mark.at_millis);
        let since = pods.filter_map(lost_millis).max().filter(|lost| desired_since.is_none_or(|at| *lost > at));
        since.is_some_and(|since| self.now.millis - since > severity::OUTAGE_MILLIS)
    }

    /// Returns whether everything that holds it up is named and passes by itself.
    fn only_waits(&self) -> bool {
        !self.causes.is_empty() && self.causes.iter().all(|cause| cause.severity == Severity::Normal)
    }

    /// Returns whether Recreate takes the old pods down before it makes new ones. Old ReplicaSets are scaled to zero at
    /// once, or never: if the strategy is chosen in a rollout that is scaled, too, the controller only tries to scale
    /// (`scale` in `sync.go`).
    fn is_taking_down(&self) -> bool {
        let spec = &self.deployment.now.spec;
        let goes = match self.next {
            Next::WaitForOldGone => true,
            Next::RemoveOld { .. } => !self.is_unexplained(),
            _ => false,
        };
        spec.strategy == Strategy::Recreate && spec.replicas > 0 && goes
    }

    /// Pods of the next revision are desired while old ones are taken down: the strategy became Recreate during the rollout.
    pub fn has_begun_next(&self) -> bool {
        self.sums.new.is_some_and(|new| new.desired > 0)
    }

    /// Returns the cause that the headline names: the first bad one, and first of all one that keeps pods from
    /// existing.
    pub fn decisive(&self) -> Option<&Cause> {
        let bad = || self.causes.iter().filter(|cause| cause.severity == Severity::Bad);
        bad().find(|cause| cause.kind.is_failure()).or_else(|| bad().next())
    }

    /// Finds the cause that new pods wait for, where nothing failed.
    pub fn awaited(&self) -> Option<&Cause> {
        let is_of_new = |cause: &&Cause| cause.kind.is_of_new_pods() && !cause.is_of_old_pods();
        let is_start = |cause: &&Cause| is_of_new(cause) && !matches!(cause.kind, CauseKind::MinReady { .. });
        self.causes.iter().find(is_start).filter(|_| !self.awaits_revision)
    }

    /// Finds a container of the current revision that crashes again and again, also while it runs for the moment.
    pub fn crash_loop(&self) -> Option<&CrashCause> {
        self.causes.iter().filter(|cause| cause.severity == Severity::Bad).find_map(|cause| match &cause.kind {
            CauseKind::Crash(crash) if crash.is_loop => Some(&**crash),
            _ => None,
        })
    }

    fn is_crashing(&self) -> bool {
        self.crash_loop().is_some()
    }

    /// Pods failed as a whole, and their replacements did; or pods lose their readiness again and again.
    fn is_unsteady(&self) -> bool {
        let is_it = |cause: &Cause| match cause.kind {
            CauseKind::PodsFailed { is_repeated, .. } => is_repeated,
            CauseKind::Flapping { .. } => cause.severity == Severity::Bad,
            _ => false,
        };
        self.causes.iter().any(is_it)
    }

    fn is_stuck(&self) -> bool {
        self.decisive().is_some() || self.is_unexplained()
    }

    /// Returns whether nothing has moved for too long, and nothing explains it. Old pods alone hold nothing up.
    fn is_unexplained(&self) -> bool {
        let limit = severity::unexplained_limit(&self.deployment.now.spec);
        self.causes.iter().all(Cause::is_of_old_pods) && !self.has_moved_since(self.now.millis - limit)
    }

    /// Returns whether anything moved at that time or later: a step of replicas, a pod, a verdict, the spec.
    fn has_moved_since(&self, at_millis: Millis) -> bool {
        let (model, uid) = (self.model, self.deployment.uid);
        let scales = || model.sets_of(uid).flat_map(|set| set.scales.iter().map(|scale| scale.at_millis));
        let verdict = self.deployment.verdicts.last().map(|(at, _)| *at);
        let mark = self.deployment.marks.last().map(|mark| mark.at_millis);
        let noteworthy =
            || model.sets_of(uid).flat_map(|set| model.noteworthy_pods(set.uid, self.now.millis, self.now.skew_millis));
        let is_late = |moved: Millis| moved >= at_millis;
        self.deployment.first_seen_millis >= at_millis
            || verdict.into_iter().chain(mark).any(is_late)
            || scales().any(is_late)
            // Most of the time one of those few moved: the others are looked at only if none did.
            || noteworthy().map(Pod::moved_millis).any(is_late)
            || model.linked_pods(uid).map(Pod::moved_millis).any(is_late)
    }
}
