//! Derives changes from Events: Events of the Deployment that they belong to, nothing else.

use super::Timeline;
use crate::model::fact::EventFact;
use crate::model::{Deployment, Event};
use crate::rules::messages;
use crate::rules::phase::allowed_until_ready_millis;
use crate::{Change, Millis, Uid};

/// Most Events that wait for their object; the oldest are dropped.
const MOST_EARLY: usize = 256;

/// A Normal Event that says what no object tells: a node that is added for a pod, or is not; an image that is pulled, or was; a volume
/// that was attached; a probe, a change of the pod's spec or a new sandbox that has containers killed.
fn explains(fact: &EventFact) -> bool {
    match fact.reason.as_str() {
        "TriggeredScaleUp" | "NotTriggerScaleUp" | "Nominated" | "Pulling" | "Pulled" => true,
        messages::ATTACHED | "SandboxChanged" => true,
        "Killing" => {
            let mut causes = ["probe", "resize requires restart", "definition changed"].into_iter();
            causes.any(|cause| fact.message.contains(cause))
        }
        _ => false,
    }
}

impl Timeline {
    pub(super) fn event(&mut self, at: Millis, fact: EventFact) {
        if !fact.is_warning && !explains(&fact) {
            return; // the objects tell the same, and better
        }
        let Some(uid) = self.deployment_about(&fact) else {
            // Each container and each volume of a node has one: the places are for those that say more.
            let has_failed =
                |(_, other): &(Millis, EventFact)| other.about == fact.about && other.reason == "FailedAttachVolume";
            let is_attached = || fact.reason == messages::ATTACHED && !self.early_events.iter().any(has_failed);
            if fact.reason == "Pulled" || is_attached() {
                return;
            }
            let waiting = &mut self.early_events;
            waiting.retain(|(_, other)| other.uid != fact.uid);
            if waiting.len() == MOST_EARLY {
                waiting.pop_front();
            }
            waiting.push_back((at, fact));
            return;
        };
        let about = fact.about;
        let is_whole_second = fact.last_millis.is_some_and(|last| last.rem_euclid(1_000) == 0);
        let event = event(at, fact, self.skew.millis());
        // Somewhere in that second: what brought it about stands before it.
        let told_millis = if is_whole_second { (event.at_millis + 999).min(at) } else { event.at_millis };
        // Pods are told by arrival: the Events of a new one stand behind that, and so behind what it was created for.
        let created_millis = self.model.pods.get(&about).map(|pod| pod.created_millis(self.skew.millis()));
        let created_millis = created_millis.filter(|created| created - told_millis <= self.settling_millis());
        let told_millis = told_millis.max(created_millis.unwrap_or(told_millis));
        let Some(known) = self.told_events.insert(event.uid, event.count, &event.message) else { return };
        let is_told = event.is_warning && !self.is_routine_probe(about, &event);
        // One that the log forgot comes again, and is still there.
        let is_new = |known: &Deployment| messages::last_event(known, &event.about.1, &event.reason).is_none();
        let is_first = known == 0 && event.reason == "Evicted" && self.model.deployments.get(&uid).is_some_and(is_new);
        self.emit(Change::Event(uid, Box::new(event.clone())));
        if matches!(event.reason.as_str(), "Killing" | "FailedPostStartHook" | "SandboxChanged") {
            self.retell_restart(at, uid, about, event.at_millis);
        }
        if is_first {
            self.tell_late_eviction(about, &event);
        }
        if is_told {
            self.tell_event(told_millis, uid, about, &event, event.count.saturating_sub(known));
        }
    }

    /// A readiness or startup probe failed as probes do: while its pod starts, for no longer than they allow, or while it terminates.
    fn is_routine_probe(&self, about: Uid, event: &Event) -> bool {
        let text = messages::text(event);
        let is_awaited = text.starts_with("Readiness probe") || text.starts_with("Startup probe");
        if event.reason != "Unhealthy" || !is_awaited {
            return false;
        }
        let Some(pod) = self.model.pods.get(&about) else { return false };
        // Events arrive late: its state at the time of the Event decides. What was before it was seen is not known.
        let index = pod.states.iter().rposition(|(_, since)| *since <= event.at_millis).unwrap_or(0);
        let until_then = pod.states.get(..=index).unwrap_or_default();
        let has_run = pod.now.most_restarts > 0 || until_then.iter().any(|(state, _)| state.is_ready());
        let since_millis = until_then.last().map_or(pod.created_at_millis, |(_, since)| *since);
        let set = pod.last_owner().and_then(|set| self.model.replica_sets.get(&set));
        let allowed = allowed_until_ready_millis(set.map_or(0, |set| set.now.probe_millis));
        pod.state().is_ending() || (!has_run && event.at_millis - since_millis <= allowed)
    }

    /// An object became known: Events that came earlier find their place, those about a pod, or with a Deployment or a ReplicaSet also
    /// those about what belongs to it.
    pub(super) fn take_early_events(&mut self, pod: Option<Uid>) {
        let is_meant = |fact: &EventFact| pod.is_none_or(|pod| fact.about == pod);
        if !self.early_events.iter().any(|(_, fact)| is_meant(fact)) {
            return;
        }
        let (found, rest) = self.early_events.drain(..).partition(|(_, fact)| is_meant(fact));
        self.early_events = rest;
        // What has no place yet waits on, in the same order.
        for (at, fact) in found {
            self.event(at, fact);
        }
    }

    /// The Deployment whose story it belongs to: that which has its object, or had it last. Whoever may write Events in a namespace says
    /// nothing of another one.
    fn deployment_about(&self, fact: &EventFact) -> Option<Uid> {
        let about = fact.about;
        if self.namespace_of(about).is_some_and(|namespace| namespace != fact.namespace) {
            return None;
        }
        let own = self.model.deployments.get(&about).map(|known| known.uid);
        own.or_else(|| self.teller_of_set(about)).or_else(|| self.teller(self.model.pods.get(&about)?))
    }
}

fn event(at: Millis, fact: EventFact, skew_millis: Millis) -> Event {
    let mut message = fact.message;
    message.truncate(message.floor_char_boundary(Event::LONGEST));
    Event {
        uid: fact.uid,
        // An Event of the future is one of a wrong clock.
        at_millis: fact.last_millis.map_or(at, |last| last.saturating_add(skew_millis).min(at)),
        about: (fact.about_kind, fact.about_name),
        container: fact.container,
        is_ephemeral: fact.is_ephemeral,
        reason: fact.reason,
        message,
        count: fact.count,
        is_warning: fact.is_warning,
    }
}
