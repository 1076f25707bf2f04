//! The story: what the controllers did, as data in the order of time. [`crate::say`] makes a sentence of each moment.

mod fold;
mod pods;

use serde::{Deserialize, Serialize};

use crate::budget::{self, Limits};
use crate::model::{Deployment, EndReason, MarkKind, Model, Pod, RemovedBecause, ReplicaSet, Scale, ScaleCause};
use crate::phase::PodState;
use crate::rollout::{self, Trigger};
use crate::words::images;
use crate::{Millis, order, say};

/// Steps this close together are one decision and become one line.
const ONE_INSTANT_MILLIS: Millis = 60;
/// A change of replicas and the steps that it makes are this close together.
const SCALING_MILLIS: Millis = 2_000;
/// A gap shorter than this is not worth a line.
const GAP_MILLIS: Millis = 1_000;

/// One line of the story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// When: by arrival, of Events by their own time.
    pub at_millis: Millis,
    /// What kind of moment.
    pub kind: LineKind,
    /// The sentence.
    pub text: String,
}

/// What kind of moment a line tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LineKind {
    /// A revision starts.
    Revision,
    /// Replicas moved.
    Step,
    /// Something from outside the rollout.
    Outside,
    /// A rollout is complete.
    Done,
    /// Something went wrong.
    Bad,
    /// A Warning Event, in the words of who sent it.
    Event,
    /// Something is not known.
    Unknown,
}

impl LineKind {
    /// Class name of the kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Revision => "revision",
            Self::Step => "step",
            Self::Outside => "outside",
            Self::Done => "done",
            Self::Bad => "bad",
            Self::Event => "event",
            Self::Unknown => "unknown",
        }
    }

    /// It is worth a mark on the axis.
    #[must_use]
    pub const fn stands_out(self) -> bool {
        !matches!(self, Self::Step | Self::Unknown)
    }
}

/// A change of one ReplicaSet's replicas, named by the revision that it carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// Revision.
    pub(crate) revision: u64,
    /// Before.
    pub(crate) from: u32,
    /// After.
    pub(crate) to: u32,
}

/// What happened, as data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Happening {
    /// It was there when watching began.
    Begins { revision: u64, images: String },
    /// A rollout starts.
    Starts { revision: u64, trigger: Trigger, images: String, before: Option<u64>, change_cause: Option<String> },
    /// A rollout is complete.
    Completed { revision: u64, took_millis: Millis },
    /// A rollout is overtaken by the next one.
    Overtaken { revision: u64, by: u64 },
    /// The progress deadline passed.
    Deadline { revision: u64 },
    /// Replicas changed and were spread over the ReplicaSets.
    Scaled { replicas: Option<(u32, u32)>, parts: Vec<Part> },
    /// Steps of the rolling update in one instant, with the replicas asked for afterwards.
    Rolled { parts: Vec<Part>, asked: u32, limits: Limits },
    /// More steps like the ones before.
    AndSoOn { parts: Vec<Part>, steps: u32 },
    /// Replicas changed and no ReplicaSet followed yet.
    Replicas { from: u32, to: u32 },
    /// A pod was deleted by someone or something outside.
    Killed {
        /// Its name.
        pod: String,
        /// Revision of its ReplicaSet.
        revision: Option<u64>,
        /// The pod that took its place, and how long until it was available.
        replacement: Option<(String, Option<Millis>)>,
        /// How long it drained.
        drained_millis: Option<Millis>,
    },
    /// A pod ended in another way worth telling.
    Ended { pod: String, reason: EndReason, was_released: bool },
    /// Pods had to leave a node: it was lost, or they were evicted.
    LeftNode { pods: Vec<String>, node: String, reason: EndReason },
    /// A ReplicaSet let go of a pod.
    Released { pod: String, revision: Option<u64> },
    /// A ReplicaSet took a pod up again.
    Adopted { pod: String },
    /// An old ReplicaSet was removed by the history limit.
    CleanedUp { hash: String, revision: Option<u64>, limit: u32 },
    /// A ReplicaSet was deleted from outside.
    SetDeleted { hash: String, is_current: bool, outage_millis: Option<Millis> },
    /// Somebody paused it.
    Paused,
    /// Somebody resumed it.
    Resumed,
    /// Somebody deletes it.
    Deleting,
    /// It is gone.
    Deleted,
    /// Nobody looked.
    Gap { millis: Millis },
    /// A Warning Event.
    Event { about: (String, String), reason: String, message: String, count: u32 },
    /// What was before is not kept.
    NotKept,
}

/// A happening and its time.
type Moment = (Millis, LineKind, Happening);

/// Tells the story of a Deployment, oldest first.
#[must_use]
pub fn story(model: &Model, deployment: crate::Uid) -> Vec<Line> {
    let Some(deployment) = model.deployments.get(&deployment) else {
        return Vec::new();
    };
    let mut teller = Teller { model, deployment, moments: Vec::new() };
    teller.rollouts();
    teller.scales();
    teller.pods();
    teller.sets();
    teller.marks();
    teller.notes();
    let moments = order::by(teller.moments, |(at, kind, _)| (*at, *kind as u128));
    fold::folded(moments)
        .into_iter()
        .map(|(at_millis, kind, what)| Line { at_millis, kind, text: say::happening(&what) })
        .collect()
}

struct Teller<'m> {
    model: &'m Model,
    deployment: &'m Deployment,
    moments: Vec<Moment>,
}

impl Teller<'_> {
    fn tell(&mut self, at_millis: Millis, kind: LineKind, what: Happening) {
        self.moments.push((at_millis, kind, what));
    }

    fn rollouts(&mut self) {
        for (index, rollout) in self.deployment.rollouts.iter().enumerate() {
            let (revision, images) = (rollout.revision, images(&rollout.images));
            let trigger = rollout::trigger(self.model, self.deployment, index);
            let started = rollout.started_millis.unwrap_or(self.deployment.first_seen_millis);
            // Of a rollout whose beginning is forgotten only the end is told.
            let is_kept = self.deployment.kept_since_millis.is_none_or(|kept| started >= kept);
            if is_kept {
                let what = if trigger == Trigger::Unknown {
                    Happening::Begins { revision, images }
                } else {
                    let set = rollout::replica_set(self.model, self.deployment, rollout);
                    let before = set.and_then(|set| set.revisions.iter().rev().find(|(r, _)| *r < revision));
                    Happening::Starts {
                        revision,
                        trigger,
                        images,
                        before: before.map(|(revision, _)| *revision),
                        change_cause: set
                            .and_then(|set| set.now.change_cause.clone())
                            .filter(|_| is_last_of(set, revision)),
                    }
                };
                // The ReplicaSet and its first replicas are one write, seen milliseconds before the annotation.
                let first_step =
                    self.steps_of(revision).map(|scale| scale.at_millis).min().filter(|at| (started - at).abs() < 100);
                self.tell(first_step.unwrap_or(started).min(started), LineKind::Revision, what);
            }
            if let Some(at) = rollout.completed_millis
                && trigger != Trigger::Unknown
            {
                self.tell(at, LineKind::Done, Happening::Completed { revision, took_millis: at - started });
            }
            if let Some(at) = rollout.superseded_millis {
                let by = self.deployment.rollouts.get(index + 1).map_or(0, |next| next.revision);
                self.tell(at, LineKind::Outside, Happening::Overtaken { revision, by });
            }
            if let Some(at) = rollout.deadline_exceeded_millis {
                self.tell(at, LineKind::Bad, Happening::Deadline { revision });
            }
        }
    }

    fn steps_of(&self, revision: u64) -> impl Iterator<Item = &Scale> {
        self.model
            .sets_of(self.deployment.uid)
            .filter(move |set| set.revisions.iter().any(|(r, _)| *r == revision))
            .flat_map(|set| &set.scales)
    }

    fn scales(&mut self) {
        let model = self.model;
        let steps = model
            .sets_of(self.deployment.uid)
            .flat_map(|set| set.scales.iter().map(move |scale| (set, scale)))
            .filter(|(_, scale)| scale.deployment == self.deployment.uid)
            .collect();
        let steps: Vec<(&ReplicaSet, &Scale)> =
            order::by(steps, |(_, scale)| (scale.at_millis, u128::from(scale.order)));
        let mut marks = self.replica_marks();
        let mut rest = steps.as_slice();
        while let Some(((_, first), _)) = rest.split_first() {
            let reach = if first.cause == ScaleCause::Scaling { SCALING_MILLIS } else { ONE_INSTANT_MILLIS };
            let together = |(_, scale): &(&ReplicaSet, &Scale)| {
                scale.cause == first.cause && scale.at_millis - first.at_millis <= reach
            };
            let length = rest.iter().take_while(|step| together(step)).count();
            let (instant, later) = rest.split_at(length);
            let mut parts: Vec<Part> = Vec::new();
            instant.iter().for_each(|(set, scale)| fold::extend(&mut parts, part(set, scale)));
            let asked = instant.last().map_or(0, |(_, last)| self.asked_after(last.order, &steps));
            if first.cause == ScaleCause::Scaling {
                let near = |(at, _): &(Millis, (u32, u32))| (first.at_millis - at).abs() <= SCALING_MILLIS;
                let mark = marks.iter().position(near).map(|index| marks.remove(index));
                let what = Happening::Scaled { replicas: mark.map(|(_, replicas)| replicas), parts };
                self.tell(mark.map_or(first.at_millis, |(at, _)| at), LineKind::Outside, what);
            } else {
                let limits = self.limits_at(first.at_millis);
                self.tell(first.at_millis, LineKind::Step, Happening::Rolled { parts, asked, limits });
            }
            rest = later;
        }
        for (at, (from, to)) in marks {
            self.tell(at, LineKind::Outside, Happening::Replicas { from, to });
        }
    }

    /// Changes of the Deployment's replicas.
    fn replica_marks(&self) -> Vec<(Millis, (u32, u32))> {
        let marks = self.deployment.marks.iter();
        marks
            .filter_map(|mark| match mark.kind {
                MarkKind::Replicas { from, to } => Some((mark.at_millis, (from, to))),
                _ => None,
            })
            .collect()
    }

    fn asked_after(&self, order: u64, all: &[(&ReplicaSet, &Scale)]) -> u32 {
        self.model
            .sets_of(self.deployment.uid)
            .map(|set| {
                let mut mine = all.iter().filter(|(other, _)| other.uid == set.uid);
                let upto = mine.clone().rfind(|(_, scale)| scale.order <= order).map(|(_, scale)| scale.to);
                upto.or_else(|| mine.next().map(|(_, scale)| scale.from)).unwrap_or(set.now.counts.wanted)
            })
            .fold(0, u32::saturating_add)
    }

    /// The limits that were in force: replicas as the marks tell, the strategy as it is now.
    fn limits_at(&self, at: Millis) -> Limits {
        let mut spec = self.deployment.now.spec.clone();
        let later = self.deployment.marks.iter().find_map(|mark| match mark.kind {
            MarkKind::Replicas { from, .. } if mark.at_millis > at => Some(from),
            _ => None,
        });
        spec.replicas = later.unwrap_or(spec.replicas);
        budget::limits(&spec)
    }

    fn sets(&mut self) {
        let limit = self.deployment.now.spec.revision_history_limit;
        for set in self.model.sets_of(self.deployment.uid) {
            let Some(at) = set.removed_millis else { continue };
            let (hash, revision) = (set.template_hash.clone(), set.revision());
            match set.removed_because {
                Some(RemovedBecause::HistoryLimit) => {
                    self.tell(at, LineKind::Step, Happening::CleanedUp { hash, revision, limit });
                }
                Some(RemovedBecause::Deleted) => {
                    let is_current = revision == self.deployment.now.revision;
                    let outage_millis = self.outage_after(at);
                    self.tell(at, LineKind::Bad, Happening::SetDeleted { hash, is_current, outage_millis });
                }
                _ => {}
            }
        }
    }

    /// How long nothing was available after `at`, once something was again.
    fn outage_after(&self, at: Millis) -> Option<Millis> {
        let pods = self.model.pods_of_deployment(self.deployment.uid);
        let stretches = pods.iter().flat_map(|pod| available_stretches(pod));
        let mut sorted: Vec<(Millis, Millis)> = stretches.filter(|(_, to)| *to > at).collect();
        sorted.sort_unstable();
        let mut until = at;
        for (from, to) in sorted {
            if from > until {
                let began = until;
                return Some(from - began);
            }
            until = until.max(to);
        }
        None
    }

    fn marks(&mut self) {
        for mark in &self.deployment.marks {
            let (kind, what) = match &mark.kind {
                MarkKind::Paused => (LineKind::Outside, Happening::Paused),
                MarkKind::Resumed => (LineKind::Outside, Happening::Resumed),
                MarkKind::Replicas { .. } => continue, // told with the steps that follow it
                MarkKind::Deleting => (LineKind::Bad, Happening::Deleting),
            };
            self.moments.push((mark.at_millis, kind, what));
        }
        if let Some(at) = self.deployment.deleted_millis {
            self.tell(at, LineKind::Bad, Happening::Deleted);
        }
    }

    fn notes(&mut self) {
        for gap in &self.deployment.gaps {
            let millis = gap.to_millis - gap.from_millis;
            if millis >= GAP_MILLIS {
                self.moments.push((gap.to_millis, LineKind::Unknown, Happening::Gap { millis }));
            }
        }
        // The same reason about the same object is one line: the latest words, and how often in all.
        let mut events: Vec<Moment> = Vec::new();
        for note in &self.deployment.notes {
            let same = events.iter_mut().find_map(|(at, _, what)| match what {
                Happening::Event { about, reason, message, count }
                    if *about == note.about && *reason == note.reason =>
                {
                    Some((at, message, count))
                }
                _ => None,
            });
            if let Some((at, message, count)) = same {
                *count = count.saturating_add(note.count);
                if note.at_millis >= *at {
                    (*at, *message) = (note.at_millis, note.message.clone());
                }
                continue;
            }
            let what = Happening::Event {
                about: note.about.clone(),
                reason: note.reason.clone(),
                message: note.message.clone(),
                count: note.count,
            };
            events.push((note.at_millis, LineKind::Event, what));
        }
        self.moments.append(&mut events);
        if let Some(at) = self.deployment.kept_since_millis {
            self.tell(at, LineKind::Unknown, Happening::NotKept);
        }
    }
}

/// What a ReplicaSet says now belongs to the last revision it carried.
fn is_last_of(set: Option<&ReplicaSet>, revision: u64) -> bool {
    set.is_some_and(|set| set.revision() == Some(revision))
}

fn part(set: &ReplicaSet, scale: &Scale) -> Part {
    Part { revision: at_revision(set, scale.at_millis), from: scale.from, to: scale.to }
}

/// When a pod was available: from and to each time.
fn available_stretches(pod: &Pod) -> Vec<(Millis, Millis)> {
    let ends = pod.states.iter().skip(1).map(|(_, at)| *at).chain(std::iter::once(Millis::MAX));
    let stretches = pod.states.iter().zip(ends);
    stretches.filter(|((state, _), _)| *state == PodState::Available).map(|((_, from), to)| (*from, to)).collect()
}

/// The revision that a ReplicaSet carried at a time (its annotation arrives a moment after its first replicas).
fn at_revision(set: &ReplicaSet, at: Millis) -> u64 {
    let carried =
        set.revisions.iter().rev().find(|(_, since)| since.is_none_or(|since| since <= at + ONE_INSTANT_MILLIS));
    carried.or(set.revisions.first()).map_or(0, |(revision, _)| *revision)
}
