//! `rollcast wait --settle`: a complete rollout counts only after a time without failures. Pure: takes the follower's state.

use std::time::{Duration, Instant};

use timeline::model::PodState;
use timeline::words::duration;
use timeline::{Millis, Uid};

use super::decide::WaitOutcome;
use super::follower::Follower;

/// A container has recovered after this time without an exit.
const RECOVERS_MILLIS: Millis = 60_000;
/// Age of a pod after which its restarts do not concern the rollout.
const NEW_MILLIS: Millis = 600_000;
/// Time within which a process that fails at its start has ended. Without a readiness probe a pod is ready once its process has
/// started, which proves nothing yet.
const STARTS_MILLIS: Millis = 10_000;
/// Interval of checks of a pod that may still fail.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Waits until a complete rollout has been calm for a time: no exit, no restart, no lost pod.
pub(super) struct SettleTimer {
    lasts: Duration,
    fail_fast: bool,
    calm: Option<CalmPeriod>,
}

/// A time in which no failure happened to the pods.
struct CalmPeriod {
    since: Instant,
    /// Restarts of the existing pods.
    restarts: Vec<(Uid, u32)>,
    /// The time was long enough, but a new pod may still fail: time of the last check.
    doubted_at: Option<Instant>,
}

impl SettleTimer {
    pub(super) const fn new(lasts: Duration, fail_fast: bool) -> Self {
        Self { lasts, fail_fast, calm: None }
    }

    /// Starts over: the rollout is not complete, or its state is unknown.
    pub(super) fn reset(&mut self) {
        self.calm = None;
    }

    /// Handles a complete rollout; returns the outcome if it has been complete for long enough.
    pub(super) fn complete(&mut self, follower: &Follower, now: Instant) -> Option<WaitOutcome> {
        let view = follower.copy.said.view.as_ref()?;
        if self.fail_fast && view.reasons.iter().any(|reason| reason.is_fatal) {
            self.reset();
            return Some(WaitOutcome::Failed);
        }
        if !self.lasts.is_zero() && (view.counts.available < view.desired || view.counts.not_yet > 0) {
            self.reset();
            return None;
        }
        let restarts = restarts(follower);
        let since = self.calm.as_ref().filter(|calm| calm.restarts == restarts).map_or(now, |calm| calm.since);
        let is_over = since + self.lasts <= now;
        let waits = is_over && self.fail_fast && is_in_doubt(follower, now);
        self.calm = Some(CalmPeriod { since, restarts, doubted_at: waits.then_some(now) });
        (is_over && !waits).then_some(WaitOutcome::Complete)
    }

    /// Returns a sentence if the rollout was complete in the end, but not for long enough; empty otherwise.
    pub(super) fn unsettled_words(&self) -> String {
        let Some(calm) = &self.calm else { return String::new() };
        if calm.doubted_at.is_some() {
            let starts = duration(STARTS_MILLIS);
            return format!(
                " A new pod may still fail: it restarted in the last minute, \
                 or started in the last {starts} without a readiness or startup probe."
            );
        }
        let lasts = duration(i64::try_from(self.lasts.as_millis()).unwrap_or(i64::MAX));
        format!(" It was not complete for {lasts} without an exit, a restart or a lost pod.")
    }

    /// Returns the end of the settle time, or the next check of a pod that may still fail, if nothing happens until then.
    pub(super) fn ends_at(&self) -> Option<Instant> {
        let calm = self.calm.as_ref()?;
        Some(calm.doubted_at.map_or(calm.since + self.lasts, |at| at + LOOK_AGAIN))
    }
}

/// Returns whether a new pod may still fail: it restarted and has not run for a minute since, because a second exit would make it
/// a crash loop; or it has just started and has no probe.
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

/// Returns the serving pods with their restarts, in order. A new or missing pod changes the result as well.
fn restarts(follower: &Follower) -> Vec<(Uid, u32)> {
    let Some(deployment) = follower.copy.deployment else { return Vec::new() };
    let pods = follower.copy.model.pods_of_deployment(deployment).into_iter();
    let there = pods.filter(|pod| !matches!(pod.state(), PodState::Gone | PodState::Finished | PodState::Terminating));
    let mut restarts: Vec<(Uid, u32)> = there.map(|pod| (pod.uid, pod.now.restarts)).collect();
    restarts.sort_unstable();
    restarts
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use timeline::Timeline;
    use timeline::fact::Kind;
    use timeline::view::{self, Now};
    use timeline::wire::{Objects, Said, ServerFrame, Snapshot};

    use super::super::feed::FeedEvent;
    use super::*;
    use crate::kube::translate::fixtures::{object, ready_pod, tell, uid};

    /// Returns a follower of a complete rollout with one pod, whose container restarted before it became ready at that time.
    fn follower_of_restarted_pod(now: Instant) -> Follower {
        let containers = json!([{ "name": "web", "readinessProbe": {} }]);
        let of = json!({
            "annotations": { "deployment.kubernetes.io/revision": "1" },
            "spec": { "replicas": 1, "template": { "spec": { "containers": containers } } },
            "status": { "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1 },
        });
        let pod = ready_pod(&json!({ "name": "web", "restartCount": 1, "state": { "running": {} } }));
        let mut timeline = Timeline::new();
        tell(&mut timeline, 1_000, Kind::Deployment, &object(1, None, &of));
        tell(&mut timeline, 1_000, Kind::ReplicaSet, &object(2, Some(("Deployment", 1)), &of));
        tell(&mut timeline, 1_000, Kind::Pod, &object(3, Some(("ReplicaSet", 2)), &pod));
        let deployment = uid(1).parse().unwrap();
        let view = view::view(timeline.model(), deployment, Now { millis: 1_000, skew_millis: 0 });
        let snapshot = Snapshot {
            now_millis: 1_000,
            deployment: Some(deployment),
            objects: Objects::of(timeline.model(), deployment),
            said: Said { view, ..Said::default() },
            ..Snapshot::default()
        };
        let mut follower = Follower::new(false);
        assert!(follower.handle(FeedEvent::Frame(Box::new(ServerFrame::Snapshot(Box::new(snapshot)))), now));
        follower
    }

    #[test]
    fn a_pod_that_was_restarted_is_watched_for_a_minute_where_failures_are_waited_for() {
        let began = Instant::now();
        let follower = follower_of_restarted_pod(began);
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        for settle_secs in [0, 15] {
            let mut settling = SettleTimer::new(Duration::from_secs(settle_secs), true);
            for seconds in [0, 15, 59] {
                assert_eq!(settling.complete(&follower, at(seconds)), None, "{settle_secs}, {seconds}");
            }
            assert_eq!(settling.ends_at(), Some(at(60)));
            let doubt = " A new pod may still fail: it restarted in the last minute,";
            assert!(settling.unsettled_words().starts_with(doubt), "{}", settling.unsettled_words());
            assert_eq!(settling.complete(&follower, at(60)), Some(WaitOutcome::Complete));
        }
    }

    #[test]
    fn a_settle_time_lasts_as_long_as_is_asked_for() {
        let began = Instant::now();
        let follower = follower_of_restarted_pod(began);
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        for (settle_secs, fail_fast, lasts) in [(15, false, "15 s"), (90, true, "1 min 30 s")] {
            let mut settling = SettleTimer::new(Duration::from_secs(settle_secs), fail_fast);
            for seconds in [0, settle_secs - 1] {
                assert_eq!(settling.complete(&follower, at(seconds)), None);
            }
            assert_eq!(settling.ends_at(), Some(at(settle_secs)));
            let words = format!(" It was not complete for {lasts} without an exit, a restart or a lost pod.");
            assert_eq!(settling.unsettled_words(), words);
            assert_eq!(settling.complete(&follower, at(settle_secs)), Some(WaitOutcome::Complete));
        }
    }
}
