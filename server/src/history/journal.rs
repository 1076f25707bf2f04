//! What the tap of a cluster tells the writer. It never waits: while there is no room, the last state of each object is kept instead of every one, and
//! told together as soon as there is room again, with the time in which steps are missing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};

use timeline::fact::{Kind, Seen};
use timeline::past::PastRollout;
use timeline::phase::PodState;
use timeline::{Millis, Model, Uid};
use tokio::sync::oneshot;

use super::activity::Turns;
use super::store::{Checkpoint, Stored};
use crate::feed::recording::{self, LineType, ListDone};
use crate::kube::SourceEvent;
use crate::kube::translate::Object;

/// What the writer is told.
#[derive(Debug)]
pub enum Message {
    /// Something of a cluster.
    Of {
        /// Name of the cluster.
        cluster: Arc<str>,
        /// The namespaces that are watched.
        scope: Arc<str>,
        /// What is told of it.
        told: Told,
    },
    /// What is kept of a cluster is asked for.
    Resume {
        /// Name of the cluster.
        cluster: Arc<str>,
        /// Which version of the timeline reads checkpoints; `None` to do without.
        made_by: Option<&'static str>,
        /// It could not be read at the start: what was observed since then is to be part of it.
        is_late: bool,
        /// Takes the answer.
        reply: oneshot::Sender<Answer>,
    },
    /// The program ends: everything is to be written now.
    Close {
        /// Hears when everything is written.
        reply: oneshot::Sender<()>,
    },
}

/// What is kept of a cluster.
#[derive(Debug)]
pub enum Answer {
    /// What is kept; `None` when nothing is.
    Stored(Option<Stored>),
    /// The store cannot be read now.
    Unread,
}

/// What is told of a cluster.
#[derive(Debug)]
pub enum Told {
    /// Something was observed.
    Lines(ObservedLines),
    /// It answered at that time.
    Heard(Millis),
    /// Rollouts began, went on or ended.
    Rollouts(Vec<PastRollout>),
    /// Workloads that are not at rest, and those that are at rest again, after everything that was told before.
    Activity(Turns),
    /// Its timeline as it stands after everything that was told before.
    Checkpoint(Millis, Checkpoint),
}

/// Lines of a recording, each with a line break.
#[derive(Debug, Default)]
pub struct ObservedLines {
    /// Arrival of the first one.
    pub from_millis: Millis,
    /// Arrival of the last one.
    pub to_millis: Millis,
    /// The lines.
    pub text: String,
}

impl ObservedLines {
    /// The lines of what was observed; `None` of everything else that a source says.
    #[must_use]
    pub fn of(event: &SourceEvent) -> Option<Self> {
        let (at_millis, mut text) = match event {
            SourceEvent::Page { at_millis, .. }
            | SourceEvent::Reset { at_millis, .. }
            | SourceEvent::Object { at_millis, .. } => (*at_millis, recording::lines(event).join("\n")),
            SourceEvent::Recorded { observed, line: Some(line) } => (observed.at_millis, line.clone()),
            _ => return None,
        };
        text.push('\n');
        Some(Self { from_millis: at_millis, to_millis: at_millis, text })
    }
}

#[derive(Debug)]
struct Held {
    since_millis: Millis,
    /// The last line of each object that changed, and its arrival.
    latest: BTreeMap<(Kind, Uid), (Millis, String)>,
}

/// One cluster's way to the writer.
#[derive(Debug)]
pub struct Journal {
    cluster: Arc<str>,
    scope: Arc<str>,
    to_writer: SyncSender<Message>,
    held: Option<Held>,
    /// Lines for which there was no room, though no step may be left out.
    late: VecDeque<ObservedLines>,
}

impl Journal {
    pub(super) fn new(cluster: Arc<str>, scope: Arc<str>, to_writer: SyncSender<Message>) -> Self {
        Self { cluster, scope, to_writer, held: None, late: VecDeque::new() }
    }

    /// Takes what a source said.
    pub fn note(&mut self, event: &SourceEvent) {
        if let Some(held) = &mut self.held {
            held.take(event);
            return;
        }
        let Some(lines) = ObservedLines::of(event) else { return };
        if matches!(event, SourceEvent::Recorded { .. }) {
            // A recording is in memory anyway: lines for which there is no room wait, and no step is left out.
            self.note_lines(lines);
            return;
        }
        let since_millis = lines.from_millis;
        self.tell_late();
        if !self.late.is_empty() || self.tell(Told::Lines(lines)).is_err() {
            let mut held = Held { since_millis, latest: BTreeMap::new() };
            held.take(event);
            self.held = Some(held);
        }
    }

    /// Tells the lines that wait, as far as there is room.
    pub fn tell_late(&mut self) {
        while let Some(lines) = self.late.pop_front() {
            if let Err(Told::Lines(lines)) = self.tell(Told::Lines(lines)) {
                self.late.push_front(lines);
                return;
            }
        }
    }

    /// Takes lines that wait while there is no room.
    pub fn note_lines(&mut self, lines: ObservedLines) {
        self.late.push_back(lines);
        self.tell_late();
    }

    /// Steps are missing, as there was no room for them.
    #[must_use]
    pub const fn has_gap(&self) -> bool {
        self.held.is_some()
    }

    /// Tells what came of the steps that are missing: the last state of each object, and which objects exist. `false` when there is no room.
    pub fn end_gap(&mut self, existing: &[(Kind, Vec<Uid>)]) -> bool {
        self.tell_late();
        let Some(held) = self.held.as_ref().filter(|_| self.late.is_empty()) else { return false };
        let mut latest: Vec<&(Millis, String)> = held.latest.values().collect();
        latest.sort_by_key(|(at, _)| *at);
        let (from_millis, gap_since_millis) = (held.since_millis, Some(held.since_millis));
        let to_millis = latest.last().map_or(from_millis, |(at, _)| *at);
        let done = existing.iter().filter_map(|(kind, existing)| {
            let present = Some(existing.clone());
            recording::list_done(ListDone {
                kind: *kind,
                namespace: None,
                at_millis: to_millis,
                gap_since_millis,
                present,
            })
        });
        let lines = latest.into_iter().map(|(_, line)| line.clone()).chain(done);
        let text = lines.map(|line| line + "\n").collect();
        let is_told = self.tell(Told::Lines(ObservedLines { from_millis, to_millis, text })).is_ok();
        if is_told {
            self.held = None;
        }
        is_told
    }

    /// Takes note that the cluster is there.
    pub fn heard(&self, at_millis: Millis) {
        if self.held.is_none() {
            let _ = self.tell(Told::Heard(at_millis)); // there is another one soon
        }
    }

    /// Takes note of rollouts. `false` when there is no room: they are to be told again.
    pub fn rollouts(&mut self, rollouts: Vec<PastRollout>) -> bool {
        self.late.is_empty() && self.tell(Told::Rollouts(rollouts)).is_ok()
    }

    /// Takes note of workloads that are not at rest, and of those that are at rest again.
    ///
    /// # Errors
    /// When there is no room: they are to be told again.
    pub fn activity(&mut self, turns: Turns) -> Result<(), Turns> {
        if !self.is_even() {
            return Err(turns);
        }
        self.tell(Told::Activity(turns)).map_err(|told| match told {
            Told::Activity(turns) => turns,
            _ => Turns::default(), // nothing else was sent
        })
    }

    /// Everything that was noted was told.
    #[must_use]
    pub fn is_even(&self) -> bool {
        self.held.is_none() && self.late.is_empty()
    }

    /// Hands over the timeline as it stands. It is left out while steps are missing.
    pub fn checkpoint(&mut self, at_millis: Millis, checkpoint: Checkpoint) {
        if self.is_even() {
            let _ = self.tell(Told::Checkpoint(at_millis, checkpoint)); // there is another one later
        }
    }

    fn tell(&self, told: Told) -> Result<(), Told> {
        let message = Message::Of { cluster: self.cluster.clone(), scope: self.scope.clone(), told };
        self.to_writer.try_send(message).map_err(|refused| match refused {
            TrySendError::Full(Message::Of { told, .. }) | TrySendError::Disconnected(Message::Of { told, .. }) => told,
            TrySendError::Full(_) | TrySendError::Disconnected(_) => Told::Heard(0), // nothing else was sent
        })
    }
}

impl Held {
    fn take(&mut self, event: &SourceEvent) {
        match event {
            SourceEvent::Object { object, seen, at_millis } => self.keep(object, *seen, *at_millis),
            SourceEvent::Page { objects, at_millis, .. } | SourceEvent::Reset { objects, at_millis, .. } => {
                objects.iter().for_each(|object| self.keep(object, Seen::InList, *at_millis));
            }
            _ => {}
        }
    }

    fn keep(&mut self, object: &Object, seen: Seen, at_millis: Millis) {
        let r#type = if seen == Seen::Deleted { LineType::Deleted } else { LineType::Modified };
        if let (Ok(uid), Some(line)) = (object.uid(), recording::object_line(at_millis, r#type, object)) {
            self.latest.insert((object.kind(), uid), (at_millis, line));
        }
    }
}

/// The objects that exist, by kind.
#[must_use]
pub fn existing(model: &Model) -> Vec<(Kind, Vec<Uid>)> {
    let deployments = model.deployments.values().filter(|known| known.deleted_millis.is_none()).map(|known| known.uid);
    let sets = model.replica_sets.values().filter(|known| known.removed_millis.is_none()).map(|known| known.uid);
    let pods = model.pods.values().filter(|known| known.state() != PodState::Gone).map(|known| known.uid);
    vec![(Kind::Deployment, deployments.collect()), (Kind::ReplicaSet, sets.collect()), (Kind::Pod, pods.collect())]
}
