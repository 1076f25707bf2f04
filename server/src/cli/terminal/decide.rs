//! Decides when `rollcast wait` is over. Pure: takes the follower's state. Only live data decides: older data may be outdated.

use std::time::{Duration, Instant};

use timeline::Uid;
use timeline::verdict::KubectlVerdict;
use timeline::view::View;
use timeline::wire::ConnectionState;

use super::follower::Follower;
use super::plain;

/// Time after which a cluster that this program watches and that was never live counts as unreachable. A watch retries within
/// four seconds, unless the API server asks for more: one failed response proves nothing.
pub(in crate::cli) const UNREACHABLE_AFTER: Duration = Duration::from_secs(10);

/// Results of `rollcast wait`; the numbers are the exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitOutcome {
    /// Everything is complete.
    Complete = 0,
    /// A rollout failed.
    Failed = 1,
    /// It took too long.
    TimedOut = 124,
}

/// Why a wait is over.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// The rollout ended. Counts as failed also if its Deployment is gone.
    Ended(WaitOutcome),
    /// No Deployment has the name, and none had it when waiting began.
    Missing,
    /// The cluster cannot be watched; with the reason.
    CannotWatch(String),
}

/// Waits for one Deployment: the one that has the name at the start, as `kubectl rollout status` does. Another one that gets the
/// name later is another rollout.
#[derive(Default)]
pub(super) struct WaitDecider {
    namespace: String,
    fail_fast: bool,
    /// Whether this program watches the cluster: an unreachable one is reported soon, without waiting for the deadline.
    is_here: bool,
    was_live: bool,
    /// Time since which a cluster that was never live is stale.
    stale_since: Option<Instant>,
    /// Whether a Deployment of that name existed since the start.
    was_there: bool,
    /// The Deployment, once it is known.
    pub(super) uid: Option<Uid>,
}

impl WaitDecider {
    pub(super) fn new(namespace: &str, fail_fast: bool, is_here: bool) -> Self {
        Self { namespace: namespace.to_owned(), fail_fast, is_here, ..Self::default() }
    }

    /// Returns the time at which a cluster that stays stale cannot be watched.
    pub(super) fn gives_up_at(&self) -> Option<Instant> {
        self.stale_since.map(|since| since + UNREACHABLE_AFTER)
    }

    /// Decides whether the wait is over. At the deadline live data decides at once.
    pub(super) fn decide(&mut self, follower: &Follower, now: Instant, is_deadline: bool) -> Option<Decision> {
        let connection = follower.connection.as_ref()?;
        match &connection.state {
            ConnectionState::Unknown => {
                return Some(Decision::CannotWatch("the server does not watch a cluster with this name".to_owned()));
            }
            ConnectionState::OtherNamespaces => {
                let why = format!("the server does not watch namespace {}", plain(&self.namespace));
                return Some(Decision::CannotWatch(why));
            }
            ConnectionState::Stale { why, .. } if self.is_here && !self.was_live => {
                self.stale_since = self.stale_since.or(Some(now));
                return self.gives_up_at().filter(|at| *at <= now).map(|_| Decision::CannotWatch(plain(why)));
            }
            ConnectionState::Connecting
            | ConnectionState::Live
            | ConnectionState::Stale { .. }
            | ConnectionState::Replay { .. } => self.stale_since = None,
        }
        let settled_at = follower.settled_at()?;
        self.was_live = true;
        let is_here = |namespace: &Option<String>| namespace.as_ref().is_none_or(|only| *only == self.namespace);
        let is_needed = |resource: &str| resource.starts_with("deployments");
        let mut forbidden = connection.forbidden.iter();
        if let Some(missing) = forbidden.find(|missing| is_needed(&missing.resource) && is_here(&missing.namespace)) {
            return Some(Decision::CannotWatch(format!("no permission to {} {}", missing.verb, missing.resource)));
        }
        let view = follower.copy.said.view.as_ref();
        let is_gone = view.is_none_or(|view| view.verdict.kubectl == KubectlVerdict::Gone);
        let there = follower.copy.deployment.filter(|_| !is_gone);
        self.was_there |= there.is_some();
        if now < settled_at && !is_deadline {
            return None;
        }
        match (self.uid, there) {
            (None, None) if !self.was_there => Some(Decision::Missing),
            (None, None) => Some(Decision::Ended(WaitOutcome::Failed)),
            (Some(wanted), there) if there != Some(wanted) => Some(Decision::Ended(WaitOutcome::Failed)),
            (_, there) => {
                self.uid = there;
                // After a rollback the status may still have the condition about the passed deadline of the previous rollout.
                let known = there.and_then(|uid| follower.copy.model.deployments.get(&uid));
                let last = known.and_then(|known| known.rollouts.last());
                let is_in_time = last.is_some_and(|last| last.is_open() && last.deadline_exceeded_millis.is_none());
                view.and_then(|view| outcome_of_rollout(view, is_in_time, self.fail_fast)).map(Decision::Ended)
            }
        }
    }

    /// Returns whether another Deployment has the name now.
    pub(super) fn is_other(&self, follower: &Follower) -> bool {
        self.uid.is_some() && follower.copy.deployment.is_some() && self.uid != follower.copy.deployment
    }
}

/// Returns the outcome if the rollout has ended. `is_in_time`: it goes on and its own deadline has not passed.
fn outcome_of_rollout(view: &View, is_in_time: bool, fail_fast: bool) -> Option<WaitOutcome> {
    match view.verdict.kubectl {
        KubectlVerdict::Complete => Some(WaitOutcome::Complete),
        KubectlVerdict::DeadlineExceeded if !is_in_time => Some(WaitOutcome::Failed),
        _ => (fail_fast && view.reasons.iter().any(|reason| reason.is_fatal)).then_some(WaitOutcome::Failed),
    }
}

#[cfg(test)]
mod tests {
    use timeline::view::{self, Now};
    use timeline::wire::{Connection, Forbidden, Objects, Said, ServerFrame, Snapshot};
    use timeline::{Millis, Timeline};

    use super::super::feed::FeedEvent;
    use super::super::follower::MAY_LAG;
    use super::*;
    use crate::kube::translate::Object;

    const STALE: ConnectionState =
        ConnectionState::Stale { since_millis: 1, retry_at_millis: None, why: String::new() };

    /// A follower of a server, and the wait for its Deployment.
    struct Case {
        follower: Follower,
        waiting: WaitDecider,
        now: Instant,
        epoch: u64,
    }

    impl Case {
        fn new(remote: bool) -> Self {
            let waiting = WaitDecider::new("shop", false, !remote);
            Self { follower: Follower::new(remote), waiting, now: Instant::now(), epoch: 1 }
        }

        fn frame(&mut self, frame: ServerFrame) -> Option<Decision> {
            assert!(self.follower.handle(FeedEvent::Frame(Box::new(frame)), self.now));
            self.decide()
        }

        fn decide(&mut self) -> Option<Decision> {
            self.waiting.decide(&self.follower, self.now, false)
        }

        fn passes(&mut self, time: Duration) -> Option<Decision> {
            self.now += time;
            self.decide()
        }

        fn state(&mut self, state: ConnectionState) -> Option<Decision> {
            let connection = Connection { state, ..Connection::default() };
            self.frame(ServerFrame::Connection { cluster: "c".into(), connection })
        }

        fn nothing(&mut self) -> Option<Decision> {
            self.holds(None, Objects::default(), Said::default())
        }

        /// Applies a snapshot with the Deployment of a number, with this many of 2 replicas updated.
        fn there(&mut self, number: u64, updated: u32) -> Option<Decision> {
            let json = format!(
                r#"{{"metadata":{{"name":"web","namespace":"shop","uid":"00000000-0000-4000-8000-{number:012x}","generation":1}},
                "spec":{{"replicas":2}},"status":{{"observedGeneration":1,"replicas":{updated},"updatedReplicas":{updated},"availableReplicas":{updated}}}}}"#
            );
            self.observes(&mut Timeline::new(), 1_000, &json)
        }

        /// Applies a snapshot of a timeline after an observation of a Deployment.
        fn observes(&mut self, timeline: &mut Timeline, millis: Millis, json: &str) -> Option<Decision> {
            let object = Object::decode(timeline::fact::Kind::Deployment, json).unwrap();
            let uid = object.uid().unwrap();
            timeline.apply(millis, object.fact(timeline::fact::Seen::Added).unwrap().unwrap());
            let view = view::view(timeline.model(), uid, Now { millis, skew_millis: 0 });
            self.holds(Some(uid), Objects::of(timeline.model(), uid), Said { view, ..Said::default() })
        }

        fn holds(&mut self, deployment: Option<Uid>, objects: Objects, said: Said) -> Option<Decision> {
            let (epoch, now_millis) = (self.epoch, 1_000);
            let snapshot = Snapshot { epoch, seq: 1, now_millis, deployment, objects, said, ..Snapshot::default() };
            self.frame(ServerFrame::Snapshot(Box::new(snapshot)))
        }
    }

    const COMPLETE: Option<Decision> = Some(Decision::Ended(WaitOutcome::Complete));

    #[test]
    fn what_a_stale_server_holds_decides_nothing() {
        let mut case = Case::new(true);
        assert_eq!(case.there(1, 2), None);
        assert_eq!(case.state(STALE), None);
        assert_eq!(case.passes(Duration::from_secs(60)), None);
        // The cluster is live again, and a change made meanwhile is rolling out.
        assert_eq!(case.there(1, 1), None);
        assert_eq!(case.state(ConnectionState::Live), None);
        assert_eq!(case.passes(MAY_LAG), None);
        assert_eq!(case.there(1, 2), COMPLETE);
    }

    #[test]
    fn a_server_may_learn_of_a_change_a_moment_later() {
        let mut case = Case::new(true);
        case.there(1, 2);
        assert_eq!(case.state(ConnectionState::Live), None);
        assert_eq!(case.passes(MAY_LAG / 2), None);
        assert_eq!(case.there(1, 1), None);
        assert_eq!(case.passes(MAY_LAG), None);
        assert_eq!(case.there(1, 2), COMPLETE);
    }

    #[test]
    fn a_cluster_that_was_listed_here_decides_at_once_but_not_after_a_break() {
        let mut case = Case::new(false);
        case.there(1, 1);
        assert_eq!(case.state(ConnectionState::Live), None);
        case.state(STALE);
        case.there(1, 2);
        assert_eq!(case.state(ConnectionState::Live), None);
        assert_eq!(case.passes(MAY_LAG), COMPLETE);
        let mut case = Case::new(false);
        case.there(1, 2);
        assert_eq!(case.state(ConnectionState::Live), COMPLETE);
    }

    #[test]
    fn over_a_new_link_only_what_came_over_it_decides() {
        let mut case = Case::new(true);
        case.there(1, 1);
        case.state(ConnectionState::Live);
        case.passes(MAY_LAG);
        assert!(case.follower.handle(FeedEvent::Lost("reset".into()), case.now));
        assert_eq!(case.decide(), None);
        assert_eq!(case.frame(ServerFrame::Heartbeat { now_millis: 5 }), None);
        assert_eq!(case.passes(Duration::from_secs(9)), None);
        // The server restarted and has not listed yet: a Deployment that it lacks is not missing.
        case.epoch = 2;
        assert_eq!(case.nothing(), None);
        assert_eq!(case.state(ConnectionState::Connecting), None);
        assert_eq!(case.passes(Duration::from_secs(9)), None);
        case.there(1, 2);
        case.state(ConnectionState::Live);
        assert_eq!(case.passes(MAY_LAG), COMPLETE);
    }

    #[test]
    fn what_is_forbidden_elsewhere_does_not_matter_here() {
        for (namespace, is_told) in [(None, true), (Some("shop"), true), (Some("edge"), false)] {
            let mut case = Case::new(true);
            case.there(1, 1);
            let (verb, resource, namespace) = ("list".into(), "deployments.apps".into(), namespace.map(str::to_owned));
            let forbidden = vec![Forbidden { verb, resource, namespace }];
            let connection = Connection { state: ConnectionState::Live, forbidden, ..Connection::default() };
            let decided = case.frame(ServerFrame::Connection { cluster: "c".into(), connection });
            assert_eq!(matches!(decided, Some(Decision::CannotWatch(_))), is_told);
        }
    }

    #[test]
    fn a_cluster_that_never_answered_here_cannot_be_watched_after_a_while_but_a_server_is_given_time() {
        for remote in [false, true] {
            let mut case = Case::new(remote);
            case.nothing();
            assert_eq!(case.state(STALE), None);
            assert_eq!(case.waiting.gives_up_at(), (!remote).then(|| case.now + UNREACHABLE_AFTER));
            assert_eq!(case.passes(UNREACHABLE_AFTER - Duration::from_millis(1)), None);
            assert_eq!(case.state(STALE), None, "another failure prolongs nothing");
            let decided = case.passes(Duration::from_millis(1));
            assert_eq!(matches!(decided, Some(Decision::CannotWatch(_))), !remote);
        }
        let mut case = Case::new(false);
        case.nothing();
        case.state(STALE);
        case.passes(UNREACHABLE_AFTER / 2);
        assert_eq!(case.state(ConnectionState::Connecting), None);
        assert_eq!(case.waiting.gives_up_at(), None, "it answers");
        case.state(STALE);
        assert_eq!(case.passes(UNREACHABLE_AFTER / 2), None, "the time begins again");
        let mut case = Case::new(true);
        case.there(1, 1);
        for state in [ConnectionState::Unknown, ConnectionState::OtherNamespaces] {
            assert!(matches!(case.state(state), Some(Decision::CannotWatch(_))));
        }
    }

    /// Tests Recreate after a rollout whose deadline passed: the condition changes once the status shows progress.
    #[test]
    fn a_deadline_that_passed_for_the_rollout_before_decides_nothing() {
        let deployment = |number: u32, passed: &str| {
            format!(
                r#"{{"metadata":{{"name":"web","namespace":"shop","uid":"00000000-0000-4000-8000-000000000001","generation":{number},
                "annotations":{{"deployment.kubernetes.io/revision":"{number}"}}}},
                "spec":{{"replicas":2,"strategy":{{"type":"Recreate"}}}},"status":{{"observedGeneration":{number},
                "conditions":[{{"type":"Progressing","status":"False","reason":"ProgressDeadlineExceeded","lastUpdateTime":"{passed}"}}]}}}}"#
            )
        };
        let (mut case, mut timeline) = (Case::new(false), Timeline::new());
        let (first, second) = ("2026-01-01T00:10:00Z", "2026-01-01T00:30:00Z");
        assert_eq!(case.observes(&mut timeline, 1_000, &deployment(1, first)), None);
        let failed = Some(Decision::Ended(WaitOutcome::Failed));
        assert_eq!(case.state(ConnectionState::Live), failed);
        assert_eq!(case.observes(&mut timeline, 2_000, &deployment(2, first)), None);
        assert_eq!(case.observes(&mut timeline, 3_000, &deployment(2, second)), failed, "that one is its own");
    }

    #[test]
    fn at_the_deadline_what_is_live_decides() {
        let mut case = Case::new(true);
        case.there(1, 2);
        case.state(ConnectionState::Live);
        assert_eq!(case.waiting.decide(&case.follower, case.now, true), COMPLETE);
        case.state(STALE);
        assert_eq!(case.waiting.decide(&case.follower, case.now, true), None);
    }
}
