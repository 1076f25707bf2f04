//! Refusals of the API server to the controllers. A ReplicaSet reports the first one of its own pods, as long as there are some; the
//! Deployment repeats what one of them said first, and says nothing while it is paused; Events come in every case.

use super::assessment::Assessment;
use super::cause::{Cause, CauseKind, Evidence, Refused};
use crate::Millis;
use crate::model::fact::{Condition, ConditionStatus};
use crate::model::{Event, KubectlVerdict, Pod, ReplicaSet};
use crate::rules::{messages, rollout};

/// A refusal is told as what is for so long. Later the ReplicaSet controller tries again seldom: it waits twice as long each time.
const FRESH_MILLIS: Millis = 30_000;
/// The Deployment controller is refused a ReplicaSet and tries again, from 5 ms on after twice the time each, until it gives up within
/// this time (`maxRetries` in `deployment_controller.go`).
const RETRIES_MILLIS: Millis = 180_000;
/// Time between the last two of these tries, at the most.
const LAST_RETRY_MILLIS: Millis = 90_000;

impl Assessment<'_> {
    /// Finds what is refused now: the ReplicaSet of a new template, pods of the current revision, pods of an older one.
    pub(super) fn refused(&self) -> Vec<Cause> {
        if let Some(evidence) = self.refused_set() {
            return vec![self.rate_cause(CauseKind::Refused { what: Refused::ReplicaSet, older: None }, 0, evidence)];
        }
        let current = self.current;
        let sets = self.model.owned_sets(self.deployment.uid);
        let refused = sets.filter_map(|set| {
            let (what, evidence) = self.refused_of(set)?;
            let older = current.filter(|current| current.uid != set.uid).and_then(|_| set.revision());
            Some(self.rate_cause(CauseKind::Refused { what, older }, 0, evidence))
        });
        let mut found: Vec<Cause> = refused.collect();
        if found.is_empty() {
            found.extend(self.told_by_deployment());
        }
        // What the current revision is refused comes first.
        found.sort_by_key(|cause| matches!(cause.kind, CauseKind::Refused { older: Some(_), .. }));
        found.truncate(2);
        found
    }

    /// Returns when pods or a ReplicaSet were refused last, if an Event shows that this was a while ago, or a quota may
    /// have room again: whether they would be refused now is not known before the controller tries again.
    pub fn old_refusal_millis(&self, cause: &Cause) -> Option<Millis> {
        let CauseKind::Refused { what: what @ (Refused::Pods | Refused::ReplicaSet), .. } = cause.kind else {
            return None;
        };
        let object = cause.evidence.object.split_once(' ')?;
        let since = cause.evidence.since_millis.unwrap_or_default();
        let last = self.last_refusal(object, &cause.evidence.reason, since)?.at_millis;
        if what == Refused::ReplicaSet {
            return Some(last).filter(|_| !self.may_retry_set());
        }
        let is_old = self.now.millis - last > FRESH_MILLIS;
        // Events count whole seconds.
        let has_room = self.room_millis.is_some_and(|at| at >= last + 1_000);
        (is_old || (has_room && messages::is_quota(&cause.evidence.message))).then_some(last)
    }

    /// Finds when pods went or were created last, or may have gone while nobody looked: a quota that refused pods before may have room
    /// since then. `None` while none refuses pods.
    pub(super) fn find_room(&self) -> Option<Millis> {
        let is_refused = |cause: &Cause| {
            let is_pods = matches!(cause.kind, CauseKind::Refused { what: Refused::Pods, .. });
            is_pods && messages::is_quota(&cause.evidence.message)
        };
        if !self.causes.iter().any(is_refused) {
            return None;
        }
        let moved = |pod: &Pod| {
            let created = pod.created_at_millis.saturating_add(self.now.skew_millis);
            let went = pod.now.terminal_millis.max(pod.gone_millis());
            went.map_or(created, |went| went.max(created))
        };
        let moves = self.model.linked_pods(self.deployment.uid).map(moved);
        let gaps = self.deployment.gaps.iter().map(|gap| gap.to_millis);
        moves.chain(gaps).chain([self.deployment.first_seen_millis]).max()
    }

    /// Finds the refusal of the ReplicaSet of the template. Without a progress deadline only an Event shows it.
    pub(super) fn refused_set(&self) -> Option<Evidence> {
        let about = ("Deployment", self.deployment.name.as_str());
        if let Some(told) = rollout::refusal_of_set(self.model, self.deployment) {
            return Some(self.last_words(about, told, 0));
        }
        let (since, _) = self.deployment.verdicts.last()?;
        // A take-down by Recreate, or a scaling, has the spec observed before.
        let is_awaited = self.kubectl == KubectlVerdict::NotObserved || self.awaits_revision;
        let event = self.last_refusal(about, "ReplicaSetCreateError", *since)?;
        is_awaited.then(|| of_event(self.me(), event))
    }

    /// Returns whether the Deployment controller may still retry by itself to create the refused ReplicaSet. A later
    /// edit has retries of its own, which only Events show.
    pub fn may_retry_set(&self) -> bool {
        let told = rollout::refusal_of_set(self.model, self.deployment).and_then(|told| told.last_update_millis);
        let until = told.map(|at| at.saturating_add(self.now.skew_millis + RETRIES_MILLIS));
        let last = self.last_refusal(("Deployment", self.deployment.name.as_str()), "ReplicaSetCreateError", 0);
        let later = last.map(|event| event.at_millis).filter(|last| until.is_none_or(|until| *last > until));
        later.map(|last| last + LAST_RETRY_MILLIS).or(until).is_some_and(|until| self.now.millis <= until)
    }

    fn refused_of(&self, set: &ReplicaSet) -> Option<(Refused, Evidence)> {
        let about = ("ReplicaSet", set.name.as_str());
        if let Some(failure) = set.now.failure.as_ref().filter(|told| told.status == ConditionStatus::True) {
            return Some((refused_by(&failure.reason), self.last_words(about, failure, set.first_seen_millis)));
        }
        // Who may not see its conditions, or has them from a recording that lacks them, goes by Events while pods are missing.
        let there = self.model.pod_counts(set.uid).active;
        if set.now.failure.is_some() || !self.sees_pods || there >= set.now.counts.desired {
            return None;
        }
        let scaled = set.scales.last().map_or(set.first_seen_millis, |scale| scale.at_millis);
        let made = self.model.pods_of(set.uid).map(Pod::first_seen_millis).max().unwrap_or(scaled);
        let event = self.last_refusal(about, "FailedCreate", scaled.max(made))?;
        Some((Refused::Pods, of_event(format!("ReplicaSet {}", set.name), event)))
    }

    /// Makes the evidence of a condition, in the words of the last refusal: a condition keeps those of the first one, also where the next
    /// edit is refused for another reason, and Events have the last ones. `first_millis` is for a condition without a time.
    fn last_words(&self, about: (&str, &str), told: &Condition, first_millis: Millis) -> Evidence {
        let first = self.of_condition(format!("{} {}", about.0, about.1), told);
        let last = self.last_refusal(about, &told.reason, first.since_millis.unwrap_or(first_millis));
        let message = last.map_or(first.message, |event| refusal_text(event).to_owned());
        Evidence { message, ..first }
    }

    /// Finds the last Event since then by which an object was refused something.
    fn last_refusal(&self, (kind, name): (&str, &str), reason: &str, since: Millis) -> Option<&Event> {
        let mut events = messages::events(self.deployment, kind, name);
        events.find(|event| event.reason == reason && is_since(event, since))
    }

    /// Returns the Deployment's own condition, which may be old: for viewers who do not see the status of its
    /// ReplicaSets.
    fn told_by_deployment(&self) -> Option<Cause> {
        let now = &self.deployment.now;
        let is_known = self.model.owned_sets(self.deployment.uid).any(|set| set.now.failure.is_some());
        if now.spec.paused || is_known {
            return None; // the controller keeps no account of failures while it is paused
        }
        let told = now.status.replica_failure.as_ref().filter(|told| told.status == ConditionStatus::True)?;
        let what = refused_by(&told.reason);
        let set = match what {
            Refused::Pods if self.sees_pods => Some(self.refused_owner(&told.message)?),
            _ => None,
        };
        let set = set.filter(|set| self.current.is_some_and(|current| current.uid != set.uid));
        let kind = CauseKind::Refused { what, older: set.and_then(ReplicaSet::revision) };
        Some(self.rate_cause(kind, 0, self.of_condition(self.me(), told)))
    }

    /// Finds the ReplicaSet of which the Deployment says that its pods are refused: the one that the message names, else one that lacks
    /// pods, the current one first. `None` where it lacks none: the Deployment keeps its condition for a moment longer.
    fn refused_owner(&self, message: &str) -> Option<&ReplicaSet> {
        let (uid, current) = (self.deployment.uid, self.current.map(|set| set.uid));
        let is_named = |set: &ReplicaSet| message.starts_with(&format!("pods \"{}-", set.name));
        let names_one = self.model.controlled_sets(uid).any(is_named);
        let lacks_pods = |set: &&ReplicaSet| self.model.pod_counts(set.uid).active < set.now.counts.desired;
        let lacking = self.model.owned_sets(uid).filter(lacks_pods).filter(|set| !names_one || is_named(set));
        lacking.max_by_key(|set| Some(set.uid) == current)
    }

    fn of_condition(&self, object: String, told: &Condition) -> Evidence {
        // Conditions have the API server's clock.
        let since = told.last_transition_millis.map(|at| at.saturating_add(self.now.skew_millis).min(self.now.millis));
        Evidence {
            object,
            reason: told.reason.clone(),
            message: told.message.clone(),
            since_millis: since,
            is_least: false,
        }
    }
}

fn refused_by(reason: &str) -> Refused {
    if reason == "FailedDelete" { Refused::Deletion } else { Refused::Pods }
}

/// Returns whether the Event happened after that moment; Events count whole seconds.
pub(super) const fn is_since(event: &Event, since: Millis) -> bool {
    event.at_millis >= since - 1_000
}

/// Returns the API server's words in an Event of a controller, as a condition has them.
pub(super) fn refusal_text(event: &Event) -> &str {
    let text = messages::text(event);
    text.strip_prefix("Error creating: ").or_else(|| text.strip_prefix("Error deleting: ")).unwrap_or(text)
}

fn of_event(object: String, event: &Event) -> Evidence {
    Evidence {
        object,
        reason: event.reason.clone(),
        message: refusal_text(event).to_owned(),
        since_millis: Some(event.at_millis),
        is_least: true,
    }
}
