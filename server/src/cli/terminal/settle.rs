//! `rollcast wait --settle`: a complete rollout counts after a calm time. Pure: takes the follower's state.

use std::time::{Duration, Instant};

use timeline::model::PodState;
use timeline::words::duration;
use timeline::{Millis, Uid};

use super::decide::WaitOutcome;
use super::follower::Follower;

/// A container has recovered after this time without an exit.
const RECOVERS_MILLIS: Millis = 60_000;
/// Restarts of older pods are no news of the rollout.
const NEW_MILLIS: Millis = 600_000;
/// Without a readiness probe a pod is ready once its process was started, which says nothing yet: one that ends at once has done so
/// within this time.
const STARTS_MILLIS: Millis = 10_000;
/// A pod that is not beyond doubt is looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Waits until a complete rollout has been calm for a while: no exit, no restart, nothing lost.
pub(super) struct SettleTimer {
    lasts: Duration,
    fail_fast: bool,
    calm: Option<CalmPeriod>,
}

/// A stretch of time in which nothing happened to the pods.
struct CalmPeriod {
    since: Instant,
    /// Restarts of the pods that are there.
    restarts: Vec<(Uid, u32)>,
}

impl SettleTimer {
    pub(super) const fn new(lasts: Duration, fail_fast: bool) -> Self {
        Self { lasts, fail_fast, calm: None }
    }

    /// Starts over, as the rollout is not complete, or that is not known.
    pub(super) fn reset(&mut self) {
        self.calm = None;
    }

    /// Takes a complete rollout; returns the outcome if it has been complete for long enough.
    pub(super) fn complete(&mut self, follower: &Follower, now: Instant) -> Option<WaitOutcome> {
        let view = follower.copy.said.view.as_ref()?;
        if self.fail_fast && view.reasons.iter().any(|reason| reason.is_fatal) {
            self.reset();
            return Some(WaitOutcome::Failed);
        }
        if self.lasts.is_zero() {
            let waits = self.fail_fast && is_in_doubt(follower, now);
            self.calm = waits.then_some(CalmPeriod { since: now, restarts: Vec::new() });
            return (!waits).then_some(WaitOutcome::Complete);
        }
        if view.counts.available < view.desired || view.counts.not_yet > 0 {
            self.reset();
            return None;
        }
        let restarts = restarts(follower);
        match &self.calm {
            Some(calm) if calm.restarts == restarts => {}
            _ => self.calm = Some(CalmPeriod { since: now, restarts }),
        }
        self.ends_at().filter(|at| *at <= now).map(|_| WaitOutcome::Complete)
    }

    /// Returns a sentence if the rollout was complete in the end, but not for long enough; empty otherwise.
    pub(super) fn unsettled_words(&self) -> String {
        if self.calm.is_none() {
            return String::new();
        }
        if self.lasts.is_zero() {
            let starts = duration(STARTS_MILLIS);
            return format!(
                " A new pod may still fail: it restarted in the last minute, \
                 or started in the last {starts} without a readiness or startup probe."
            );
        }
        let lasts = duration(i64::try_from(self.lasts.as_millis()).unwrap_or(i64::MAX));
        format!(" It was not complete for {lasts} without an exit, a restart or a lost pod.")
    }

    /// Returns the end of the settle time, if nothing happens until then.
    pub(super) fn ends_at(&self) -> Option<Instant> {
        let lasts = if self.lasts.is_zero() { LOOK_AGAIN } else { self.lasts };
        self.calm.as_ref().map(|calm| calm.since + lasts)
    }
}

/// Returns whether a new pod may still fail: it restarted and has not run for a minute since, as the second exit would
/// make it a crash loop; or it was only just started and has no probe.
fn is_in_doubt(follower: &Follower, now: Instant) -> bool {
    let Some(deployment) = follower.copy.deployment else { return false };
    let (model, now_millis) = (&follower.copy.model, follower.now_millis(now));
    let has_no_probe = |set: Uid| model.replica_sets.get(&set).is_some_and(|set| set.now.probe_millis == 0);
    model.pods_of_deployment(deployment).iter().any(|pod| {
        let ran_millis = now_millis - pod.since_millis();
        let restarted = pod.now.restarts > 0 && ran_millis < RECOVERS_MILLIS;
        let just_started = ran_millis < STARTS_MILLIS && pod.owner.is_some_and(has_no_probe);
        !pod.state().is_ending() && now_millis - pod.created_at_millis < NEW_MILLIS && (restarted || just_started)
    })
}

/// Pods that serve, with their restarts, in order. One that comes or goes alters it as well.
fn restarts(follower: &Follower) -> Vec<(Uid, u32)> {
    let Some(deployment) = follower.copy.deployment else { return Vec::new() };
    let pods = follower.copy.model.pods_of_deployment(deployment).into_iter();
    let there = pods.filter(|pod| !matches!(pod.state(), PodState::Gone | PodState::Finished | PodState::Terminating));
    let mut restarts: Vec<(Uid, u32)> = there.map(|pod| (pod.uid, pod.now.restarts)).collect();
    restarts.sort_unstable();
    restarts
}
