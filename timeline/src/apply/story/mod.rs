//! Writes the story: decides each entry when it happens. Entries are kept with their Deployment and change only by changes
//! of the model, so viewers of the past find the story of then.
//!
//! Split by what is told: `steps` of ReplicaSets, `pods` that end, `readiness` that is lost, `restarts` of containers, `sets` that go.
//! Rollouts, marks, gaps and Events are told where they are noted.

mod pods;
mod readiness;
mod restarts;
mod sets;
mod steps;

use std::collections::BTreeSet;

use super::Timeline;
use crate::model::story::{Entry, Happening, Part, RolloutStart, TargetFailure};
use crate::model::{Deployment, Event, Gap, Pod, Rollout, Trigger};
use crate::rules::{messages, rollout};
use crate::words::{images, short};
use crate::{Change, Millis, Uid};

/// Most Events in the story of a Deployment: whoever may write Events may write any number. Of so many the older half goes.
const MOST_EVENTS: usize = 2_000;

impl Timeline {
    /// Tells something of a Deployment that is known.
    pub(super) fn tell(&mut self, deployment: Uid, at_millis: Millis, what: Happening) -> u64 {
        self.close_step(deployment);
        let id = self.seq + 1;
        if self.model.deployments.contains_key(&deployment) {
            self.emit(Change::Story(deployment, Box::new(Entry { id, at_millis, what })));
        }
        id
    }

    /// Alters an entry that is still kept.
    pub(super) fn retell(&mut self, deployment: Uid, id: u64, alter: impl FnOnce(&mut Entry)) {
        self.retell_last(deployment, |entry| entry.id == id, alter);
    }

    /// Alters the last entry of a Deployment that is like this, and returns its id; `None` where there is none.
    pub(super) fn retell_last(
        &mut self,
        deployment: Uid,
        is_it: impl Fn(&Entry) -> bool,
        alter: impl FnOnce(&mut Entry),
    ) -> Option<u64> {
        let known = self.entry(deployment, is_it)?;
        let (id, mut entry) = (known.id, known.clone());
        alter(&mut entry);
        if entry != *known {
            self.emit(Change::Story(deployment, Box::new(entry)));
        }
        Some(id)
    }

    /// Takes an entry out of the story of its Deployment.
    pub(super) fn untell(&mut self, deployment: Uid, id: u64) {
        if self.entry(deployment, |entry| entry.id == id).is_some() {
            self.emit(Change::StoryTaken(deployment, id));
        }
    }

    /// The last entry of a Deployment that is like this, in the order of telling.
    pub(super) fn entry(&self, deployment: Uid, is_it: impl Fn(&Entry) -> bool) -> Option<&Entry> {
        self.story(deployment).iter().rev().find(|entry| is_it(entry))
    }

    /// The entries of a Deployment, in the order of telling.
    pub(super) fn story(&self, deployment: Uid) -> &[Entry] {
        self.model.deployments.get(&deployment).map(|known| known.story.as_slice()).unwrap_or_default()
    }

    /// The Deployment whose story a pod is part of.
    pub(super) fn teller(&self, pod: &Pod) -> Option<Uid> {
        self.teller_of_set(pod.last_owner()?)
    }

    /// The Deployment whose story the pods of a ReplicaSet are part of.
    pub(super) fn teller_of_set(&self, set: Uid) -> Option<Uid> {
        let set = self.model.replica_sets.get(&set)?;
        set.last_owner().filter(|uid| self.model.deployments.contains_key(uid))
    }

    /// Tells that a rollout starts, or was there when watching began, and returns when.
    pub(super) fn tell_start(&mut self, at_millis: Millis, uid: Uid, was_seen: bool) -> Millis {
        let Some(deployment) = self.model.deployments.get(&uid) else { return at_millis };
        let Some(what) = self.start_of(deployment, was_seen) else { return at_millis };
        let Happening::Starts(RolloutStart { revision, trigger, .. }) = what else {
            self.tell(uid, at_millis, what);
            return at_millis;
        };
        // Of a Deployment that was made while nobody looked, the creation time is known. Events may have told of it since.
        let created_millis = deployment.created_at_millis.saturating_add(self.skew.millis()).min(at_millis);
        let is_made_unseen = !was_seen && trigger == Trigger::Created;
        let at_millis = if is_made_unseen { created_millis } else { at_millis };
        // The ReplicaSet and its first replicas are one write, seen before the annotation of the Deployment. So may be the first step of a
        // rollback, which may take old pods down. All steps since the ReplicaSet has its number are of the rollout, unless it had that in
        // an earlier one or for another Deployment.
        let before_millis = deployment.rollouts.iter().nth_back(1).and_then(|before| before.started_millis);
        let set = deployment.rollouts.last().and_then(|last| rollout::set_of_rollout(&self.model, deployment, last));
        let carried_millis = set.and_then(|set| rollout::revised_millis(set, revision));
        let is_own = set.is_some_and(|set| set.owners.first() == Some(&uid));
        let is_new_number = is_own && carried_millis > before_millis;
        let is_its = |part: &Part| part.revision == Some(revision) && set.is_none_or(|set| set.uid == part.set);
        let is_first_step = |entry: &&Entry| {
            let Happening::Rolled { parts, .. } = &entry.what else { return false };
            let is_later = carried_millis.is_some_and(|carried| entry.at_millis >= carried);
            let is_near = at_millis - entry.at_millis <= self.settling_millis();
            (is_later && is_new_number) || (is_near && (is_later || parts.iter().any(is_its)))
        };
        let steps = deployment.story.iter().filter(is_first_step).map(|step| step.at_millis);
        let at_millis = steps.chain([at_millis]).min().unwrap_or(at_millis);
        self.tell(uid, at_millis, what);
        at_millis
    }

    /// The entry for the start of the last rollout.
    fn start_of(&self, deployment: &Deployment, was_seen: bool) -> Option<Happening> {
        let (index, rollout) = deployment.rollouts.iter().enumerate().next_back()?;
        let (revision, images) = (rollout.revision, images(&rollout.images));
        let trigger = rollout::trigger(&self.model, deployment, index);
        let set = rollout::set_of_rollout(&self.model, deployment, rollout);
        if trigger == Trigger::Unknown {
            // The template may have been edited since; the ReplicaSet has what runs.
            let images = set.map_or(images, |set| self::images(&set.images));
            return Some(Happening::Begins { revision, images });
        }
        let earlier = deployment.rollouts.iter().take(index).rev();
        // One that was made again with a lower number had that of the rollout before.
        let last = earlier.clone().next().map(|last| last.revision);
        let lowered = last.filter(|last| trigger == Trigger::Adopted && *last > revision);
        let carried = || set.and_then(|set| set.revisions.iter().rev().find(|(r, _)| *r < revision)).map(|(r, _)| *r);
        let before = lowered.or_else(carried);
        let change_cause = self.change_cause(deployment);
        let has_same_images = earlier.clone().next().is_some_and(|last| image_names(last) == image_names(rollout));
        let came_to_end = |one: &Rollout| one.completed_millis.is_some() && !one.was_scaled_to_zero;
        // All of them may have been available for moments.
        let had_all = |one: &Rollout| one.available_millis.is_some() || one.available_of > Some(0);
        // All of its pods may have been available while nobody looked.
        let is_whole = |one: &Rollout| {
            deployment.kept_since_millis.is_none_or(|since| one.started_millis >= Some(since))
                && !rollout::has_gap(&self.model, deployment, one)
        };
        let has_failed = |one: &&Rollout| one.was_start_seen && !had_all(one) && !came_to_end(one) && is_whole(one);
        let failed = |number: u64| earlier.clone().find(|one| one.revision == number).filter(has_failed);
        // All of its pods may have been available under an earlier number.
        let numbers = set.into_iter().flat_map(|set| &set.revisions).map(|(number, _)| *number);
        let has_never_worked = numbers.filter(|number| *number < revision).all(|number| failed(number).is_some());
        let target = before.filter(|_| trigger == Trigger::Rollback && has_never_worked);
        let failure = target.and_then(failed).map(|one| {
            let had_none = set.is_some_and(|set| rollout::came_to_nothing(&self.model, deployment, one, set));
            if had_none { TargetFailure::NeverAvailable } else { TargetFailure::NeverComplete }
        });
        Some(Happening::Starts(RolloutStart {
            revision,
            trigger,
            images,
            before,
            failure,
            change_cause,
            was_seen,
            has_same_images,
        }))
    }

    /// The change-cause of the last rollout. A new ReplicaSet has that of the revision before until the Deployment is annotated.
    fn change_cause(&self, deployment: &Deployment) -> Option<String> {
        let cause = |revision: u64| {
            let mut sets = self.model.sets_of(deployment.uid);
            sets.find(|set| set.revision() == Some(revision)).and_then(|set| set.now.change_cause.clone())
        };
        let mut causes = deployment.rollouts.iter().rev().map(|rollout| cause(rollout.revision));
        causes.next()?.filter(|said| causes.next().flatten().as_ref() != Some(said))
    }

    /// A ReplicaSet changed: what was told of the start of the rollout that it carries may be told better. What made it start is
    /// settled once its ReplicaSet is known; a change-cause is told once.
    pub(super) fn retell_start(&mut self, at_millis: Millis, uid: Uid, is_new_revision: bool) {
        let Some(deployment) = self.model.deployments.get(&uid) else { return };
        let start = match self.start_of(deployment, true) {
            Some(Happening::Starts(start)) => start,
            Some(begins @ Happening::Begins { .. }) => {
                // Watching began with a revision whose ReplicaSet is listed a moment later.
                let first_seen = deployment.first_seen_millis;
                let is_begin =
                    |entry: &Entry| matches!(entry.what, Happening::Begins { .. }) && entry.at_millis == first_seen;
                self.take_template_of_set(uid);
                self.retell_last(uid, is_begin, |entry| entry.what = begins);
                return;
            }
            _ => return,
        };
        let is_it = |entry: &Entry| matches!(&entry.what, Happening::Starts(told) if told.revision == start.revision);
        let Some(entry) = self.entry(uid, is_it) else { return };
        let is_young = at_millis - entry.at_millis <= self.settling_millis();
        let id = entry.id;
        self.retell(uid, id, |entry| {
            let Happening::Starts(told) = &mut entry.what else { return };
            let change_cause = told.change_cause.take().or(start.change_cause);
            if is_new_revision && is_young {
                *told = RolloutStart { was_seen: told.was_seen, change_cause, ..start };
            } else {
                told.change_cause = change_cause;
            }
        });
        // Of a list, the ReplicaSet of a revision in between may come later: what is complete is not the revision before then.
        if is_new_revision && is_young {
            self.tell_complete(uid);
        }
    }

    /// Nobody looked for a while; gaps that touch are one. Lists of several kinds end it a moment apart: what they show comes after it.
    pub(super) fn tell_gap(&mut self, uid: Uid) {
        let gap = self.model.deployments.get(&uid).and_then(|deployment| deployment.gaps.last());
        let gap = gap.filter(|gap| !gap.is_short());
        let Some(Gap { from_millis, to_millis }) = gap.copied() else { return };
        self.forget_unavailable(uid);
        let what = Happening::Gap { millis: to_millis - from_millis };
        let is_same = |entry: &Entry| matches!(entry.what, Happening::Gap { .. }) && entry.at_millis >= from_millis;
        let Some((id, ended)) = self.entry(uid, is_same).map(|entry| (entry.id, entry.at_millis)) else {
            self.tell(uid, to_millis, what);
            return;
        };
        let is_one_end = to_millis - ended <= self.settling_millis();
        let is_shown = |entry: &&Entry| is_one_end && entry.id != id && entry.at_millis >= ended;
        let shown = self.story(uid).iter().filter(is_shown).map(|entry| entry.at_millis);
        let at_millis = shown.chain([to_millis]).min().unwrap_or(to_millis);
        self.retell(uid, id, |entry| (entry.at_millis, entry.what) = (at_millis, what));
    }

    /// A Warning Event: those of one reason and topic about the same object and container are one entry, with the latest words and how
    /// often in all; so are those of one reason that say the same about pods of one ReplicaSet. `about` is its object.
    pub(super) fn tell_event(&mut self, at_millis: Millis, uid: Uid, about: Uid, event: &Event, more: u32) {
        // The Event "Failed to pull image" came before, and says why.
        if event.reason == "Failed" && matches!(&*event.message, "Error: ErrImagePull" | "Error: ImagePullBackOff") {
            return;
        }
        // One that stands for others has the container of one of them.
        let is_combined = messages::text(event) != event.message;
        let named = if is_combined { "" } else { event.container.as_str() };
        let set = self.model.pods.get(&about).and_then(Pod::last_owner);
        let set = set.and_then(|set| self.model.replica_sets.get(&set));
        let pods = set.map(|set| (Event::PODS.to_owned(), set.name.clone()));
        let is_of_pods = |told: &Event| {
            // Names that were cut say nothing of their ReplicaSet.
            let is_of_set = |about: &(String, String), set: &str| {
                about.0 == "Pod" && base_name(&about.1).strip_suffix('-') == Some(set)
            };
            let is_sibling = |set: &str| [&told.about, &event.about].into_iter().all(|about| is_of_set(about, set));
            pods.as_ref().is_some_and(|pods| told.about == *pods || is_sibling(&pods.1))
                && messages::are_alike(&told.message, &event.message)
        };
        let is_same = |entry: &Entry| match &entry.what {
            Happening::Event(told) if (told.container.as_str(), &told.reason) == (named, &event.reason) => {
                let is_topic = || topic(&told.reason, &told.message) == topic(&event.reason, &event.message);
                (told.about == event.about && is_topic()) || is_of_pods(told)
            }
            _ => false,
        };
        let told = self.retell_last(uid, is_same, |entry| {
            let is_later = at_millis >= entry.at_millis;
            if let Happening::Event(told) = &mut entry.what {
                if let Some(pods) = pods.as_ref().filter(|_| told.about != event.about) {
                    told.about.clone_from(pods);
                }
                told.count = told.count.saturating_add(more);
                if is_later {
                    told.message.clone_from(&event.message);
                }
            }
            entry.at_millis = entry.at_millis.max(at_millis);
        });
        if told.is_none() {
            self.make_room_for_event(uid);
            let first = Event { container: named.to_owned(), ..event.clone() };
            self.tell(uid, at_millis, Happening::Event(Box::new(first))); // earlier ones may have been routine
        }
    }

    fn make_room_for_event(&mut self, uid: Uid) {
        let events = self.story(uid).iter().filter(|entry| matches!(entry.what, Happening::Event(_)));
        let events: Vec<u64> = events.map(|entry| entry.id).collect();
        if events.len() >= MOST_EVENTS {
            events.into_iter().take(MOST_EVENTS / 2).for_each(|id| self.untell(uid, id));
        }
    }
}

/// The different images of a rollout, in whichever containers: one that is renamed or added may have no other image.
fn image_names(rollout: &Rollout) -> BTreeSet<&str> {
    rollout.images.iter().map(|image| image.image.as_str()).collect()
}

/// The name of a pod without the end that tells it from the others of its ReplicaSet.
fn base_name(pod: &str) -> &str {
    pod.strip_suffix(short(pod)).unwrap_or(pod)
}

/// The part of an Event's message that tells it from others of its reason: the probe, the step that failed. The rest may differ
/// each time.
fn topic<'m>(reason: &str, message: &'m str) -> &'m str {
    match reason {
        "Unhealthy" => message.split_once(" probe").map_or("", |(probe, _)| probe),
        "Failed" | "BackOff" => message.split_once(": ").map_or(message, |(step, _)| step),
        _ => "",
    }
}
