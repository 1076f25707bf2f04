//! The story: what the controllers did, one sentence each, from data alone.

use crate::budget::{self, Limits};
use crate::model::{Deployment, EndReason, MarkKind, Model, Pod, RemovedBecause, ReplicaSet, Scale, ScaleCause};
use crate::phase::PodState;
use crate::rollout::{self, Trigger};
use crate::words::{count, duration, images, safe, short};
use crate::{Millis, Uid, order};

/// Steps this close together are one decision and become one line.
const ONE_INSTANT_MILLIS: Millis = 60;

/// One line of the story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// When, by arrival.
    pub at_millis: Millis,
    /// What kind of moment.
    pub kind: LineKind,
    /// The sentence.
    pub text: String,
}

/// What kind of moment a line tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
        }
    }
}

/// Tells the story of a Deployment, oldest first.
#[must_use]
pub fn story(model: &Model, deployment: Uid) -> Vec<Line> {
    let Some(deployment) = model.deployments.get(&deployment) else {
        return Vec::new();
    };
    let mut teller = Teller { model, deployment, lines: Vec::new() };
    teller.rollouts();
    teller.scales();
    teller.pods();
    teller.sets();
    teller.marks();
    order::by(teller.lines, |line| (line.at_millis, line.kind as u128))
}

struct Teller<'m> {
    model: &'m Model,
    deployment: &'m Deployment,
    lines: Vec<Line>,
}

impl Teller<'_> {
    fn tell(&mut self, at_millis: Millis, kind: LineKind, text: String) {
        self.lines.push(Line { at_millis, kind, text });
    }

    fn rollouts(&mut self) {
        for (index, rollout) in self.deployment.rollouts.iter().enumerate() {
            let (revision, image) = (rollout.revision, images(&rollout.images));
            let trigger = rollout::trigger(self.model, self.deployment, index);
            let text = match trigger {
                Trigger::Unknown => format!("Watching begins: revision {revision} with image {image}."),
                Trigger::Created => format!("Revision {revision} is created with image {image}."),
                Trigger::Adopted => format!("Revision {revision} adopts the ReplicaSet that was there: image {image}."),
                Trigger::Restart => format!("Revision {revision} starts: restart with the same image {image}."),
                Trigger::Template => format!("Revision {revision} starts: image {image}."),
                Trigger::Rollback => {
                    let set = rollout::replica_set(self.model, self.deployment, rollout);
                    let before =
                        set.and_then(|set| set.revisions.iter().rev().find(|(r, _)| *r < revision)).map(|(r, _)| *r);
                    before.map_or_else(
                        || format!("Rolled back, now revision {revision}."),
                        |before| format!("Rolled back to revision {before}, now {revision}: image {image}."),
                    )
                }
            };
            let started = rollout.started_millis.unwrap_or(self.deployment.first_seen_millis);
            // The ReplicaSet and its first replicas are one write, seen milliseconds before the annotation: cause first.
            let first_step =
                self.steps_of(revision).map(|scale| scale.at_millis).min().filter(|at| (started - at).abs() < 100);
            self.tell(first_step.unwrap_or(started).min(started), LineKind::Revision, text);
            if let Some(at) = rollout.completed_millis
                && trigger != Trigger::Unknown
            {
                self.tell(
                    at,
                    LineKind::Done,
                    format!("Revision {revision} is complete after {}.", duration(at - started)),
                );
            }
            if let Some(at) = rollout.superseded_millis {
                let next = self.deployment.rollouts.get(index + 1).map_or(0, |next| next.revision);
                self.tell(
                    at,
                    LineKind::Outside,
                    format!("Revision {next} overtook revision {revision} before it finished."),
                );
            }
            if let Some(at) = rollout.deadline_exceeded_millis {
                let text = format!(
                    "Progress deadline passed for revision {revision}. Kubernetes keeps trying; it does not roll back by itself."
                );
                self.tell(at, LineKind::Bad, text);
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
        let mut rest = steps.as_slice();
        while let Some(((_, first), _)) = rest.split_first() {
            let together = |(_, scale): &(&ReplicaSet, &Scale)| {
                scale.cause == first.cause && scale.at_millis - first.at_millis <= ONE_INSTANT_MILLIS
            };
            let length = rest.iter().take_while(|step| together(step)).count();
            let (instant, later) = rest.split_at(length);
            let line =
                if first.cause == ScaleCause::Scaling { self.scaled(instant) } else { self.rolled(instant, &steps) };
            self.lines.extend(line);
            rest = later;
        }
    }

    /// A change of replicas, spread over the ReplicaSets.
    fn scaled(&self, steps: &[(&ReplicaSet, &Scale)]) -> Option<Line> {
        let (_, first) = steps.first()?;
        let parts: Vec<String> = steps
            .iter()
            .map(|(set, scale)| format!("revision {} {} → {}", at_revision(set, scale.at_millis), scale.from, scale.to))
            .collect();
        let tail = if parts.len() > 1 { ", in proportion" } else { "" };
        Some(Line {
            at_millis: first.at_millis,
            kind: LineKind::Step,
            text: format!("Scaled, not a rollout: {}{tail}.", parts.join(", ")),
        })
    }

    /// Steps of the rolling update in one instant, with what the budget allows.
    fn rolled(&self, steps: &[(&ReplicaSet, &Scale)], all: &[(&ReplicaSet, &Scale)]) -> Option<Line> {
        let (_, first) = steps.first()?;
        let (_, last) = steps.last()?;
        let mut parts = Vec::new();
        for (set, scale) in steps {
            let direction = if scale.to > scale.from { "up" } else { "down" };
            parts.push(format!(
                "revision {} {direction} {} → {}",
                at_revision(set, scale.at_millis),
                scale.from,
                scale.to
            ));
        }
        let asked: u32 = self.asked_after(last.order, all);
        let limits = self.limits_at(last.at_millis);
        let grows = steps.iter().any(|(_, scale)| scale.to > scale.from);
        let shrinks = steps.iter().any(|(_, scale)| scale.to < scale.from);
        let mut text = parts.join(", ");
        if let Some(initial) = text.get_mut(..1) {
            initial.make_ascii_uppercase();
        }
        let room = match (grows, shrinks) {
            (true, false) => format!(": {asked} of at most {}", limits.ceiling),
            (false, true) => format!(": at least {} must stay available", limits.floor),
            _ => format!(": {asked} of at most {}, at least {} available", limits.ceiling, limits.floor),
        };
        Some(Line { at_millis: first.at_millis, kind: LineKind::Step, text: format!("{text}{room}.") })
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

    fn pods(&mut self) {
        let mut lost: Vec<(Millis, u32, String)> = Vec::new();
        for pod in self.model.pods_of_deployment(self.deployment.uid) {
            let name = short(&pod.name);
            if let Some(at) = pod.released_millis {
                let text =
                    format!("Pod {name} released: its labels no longer match. It keeps running, out of rotation.");
                self.tell(at, LineKind::Outside, text);
            }
            if let Some(at) = pod.adopted_millis {
                self.tell(at, LineKind::Outside, format!("Pod {name} adopted again: its labels match."));
            }
            let Some(at) = ended_at(pod) else { continue };
            match pod.end_reason {
                Some(EndReason::DeletedByHand) if pod.owner.is_some() || pod.released_millis.is_none() => {
                    self.tell(
                        at,
                        LineKind::Outside,
                        format!("Pod {name} deleted from outside the rollout; the revision stays."),
                    );
                }
                Some(EndReason::DeletedByHand) => {
                    self.tell(at, LineKind::Outside, format!("Pod {name}, out of rotation, deleted."))
                }
                Some(EndReason::Evicted) => self.tell(at, LineKind::Outside, format!("Pod {name} evicted.")),
                Some(EndReason::NodeLost) => {
                    let node = pod.now.node.as_deref().map_or_else(|| "unknown".to_owned(), safe);
                    match lost.iter_mut().find(|(_, _, other)| *other == node) {
                        Some((_, pods, _)) => *pods += 1,
                        None => lost.push((at, 1, node)),
                    }
                }
                _ => {}
            }
        }
        for (at, pods, node) in lost {
            self.tell(at, LineKind::Bad, format!("{} written off: node {node} is gone.", count(pods, "pod")));
        }
    }

    fn sets(&mut self) {
        let limit = self.deployment.now.spec.revision_history_limit;
        for set in self.model.sets_of(self.deployment.uid) {
            let Some(at) = set.removed_millis else { continue };
            let hash = safe(&set.template_hash);
            match set.removed_because {
                Some(RemovedBecause::HistoryLimit) => {
                    self.tell(
                        at,
                        LineKind::Step,
                        format!("Old ReplicaSet {hash} cleaned up (revisionHistoryLimit {limit})."),
                    );
                }
                Some(RemovedBecause::Deleted) => {
                    let again = set.revision() == self.deployment.now.revision;
                    let tail = if again { ": the controller creates it again at once; its pods drain" } else { "" };
                    self.tell(at, LineKind::Bad, format!("ReplicaSet {hash} deleted by hand{tail}."));
                }
                _ => {}
            }
        }
    }

    fn marks(&mut self) {
        for mark in &self.deployment.marks {
            let (kind, text) = match &mark.kind {
                MarkKind::Paused => {
                    (LineKind::Outside, "Paused: changes of the template wait until it is resumed.".to_owned())
                }
                MarkKind::Resumed => (LineKind::Outside, "Resumed.".to_owned()),
                MarkKind::Replicas { from, to } => {
                    (LineKind::Outside, format!("Replicas changed {from} → {to} (not a rollout)."))
                }
                MarkKind::Deleting => (LineKind::Bad, "The Deployment is being deleted.".to_owned()),
            };
            self.tell(mark.at_millis, kind, text);
        }
        if let Some(at) = self.deployment.deleted_millis {
            self.tell(at, LineKind::Bad, "The Deployment was deleted.".to_owned());
        }
    }
}

fn ended_at(pod: &Pod) -> Option<Millis> {
    pod.states.iter().find(|(state, _)| matches!(state, PodState::Terminating | PodState::Gone)).map(|(_, at)| *at)
}

/// The revision that a ReplicaSet carried at a time (its annotation arrives a moment after its first replicas).
fn at_revision(set: &ReplicaSet, at: Millis) -> u64 {
    let carried =
        set.revisions.iter().rev().find(|(_, since)| since.is_none_or(|since| since <= at + ONE_INSTANT_MILLIS));
    carried.or(set.revisions.first()).map_or(0, |(revision, _)| *revision)
}
