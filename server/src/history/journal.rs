//! A cluster's way to the writer. It never waits: while the queue is full, it keeps the last state of each object, and sends these
//! together once there is room, with the time in which steps are missing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use timeline::fact::{Kind, Seen};
use timeline::past::PastRollout;
use timeline::phase::PodState;
use timeline::{Millis, Model, Uid};
use tokio::sync::oneshot;

use super::activity::ActivityChanges;
use super::store::{Checkpoint, StoredCluster};
use crate::feed::recording::{self, LineType};
use crate::kube::SourceEvent;
use crate::kube::translate::Object;

/// Bytes of messages in the queue from all hubs to the writer, from which on it takes no more.
pub const QUEUE_BYTES: usize = 64 << 20; // the first list of 100,000 pods
/// Bytes that a message takes besides its texts.
const EACH: usize = 256;

/// A message to the writer.
#[derive(Debug)]
pub enum Message {
    /// An entry of a cluster's journal.
    Entry {
        /// Name of the cluster.
        cluster: Arc<str>,
        /// Watched namespaces, with commas; empty for all.
        scope: Arc<str>,
        /// The entry.
        entry: JournalEntry,
    },
    /// A request for the stored data of a cluster.
    Restore {
        /// Name of the cluster.
        cluster: Arc<str>,
        /// Version of the timeline that reads checkpoints; `None` to restore without one.
        made_by: Option<&'static str>,
        /// The store could not be read at the start: the response includes what was observed since then.
        is_late: bool,
        /// Takes the data, `None` if nothing is stored; dropped if the store cannot be read now.
        reply: oneshot::Sender<Option<StoredCluster>>,
    },
    /// The program ends: everything is to be written now.
    Close {
        /// Receives a value when everything is written.
        reply: oneshot::Sender<()>,
    },
}

/// An entry of a cluster's journal.
#[derive(Debug)]
pub enum JournalEntry {
    /// Observations.
    Lines(ObservedLines),
    /// The cluster responded at that time.
    Heard(Millis),
    /// Rollouts that began, went on or ended.
    Rollouts(Vec<PastRollout>),
    /// Changed activity of workloads, after all entries before.
    Activity(ActivityChanges),
    /// The timeline after all entries before, and the time of its last observation.
    Checkpoint(Millis, Checkpoint),
}

impl Message {
    fn bytes(&self) -> usize {
        let Self::Entry { entry, .. } = self else { return EACH };
        EACH + match entry {
            JournalEntry::Lines(lines) => lines.text.capacity(),
            JournalEntry::Heard(_) => 0,
            JournalEntry::Rollouts(rollouts) => rollouts.len() * size_of::<PastRollout>(),
            JournalEntry::Activity(ActivityChanges { active, settled }) => {
                (active.len() + settled.len()) * size_of::<Uid>()
            }
            JournalEntry::Checkpoint(_, checkpoint) => checkpoint.body.len(),
        }
    }
}

/// Returns both ends of the queue to the writer.
pub fn queue() -> (QueueSender, QueueReceiver) {
    let (messages, inbox) = channel();
    let bytes = Arc::<AtomicUsize>::default();
    (QueueSender { messages, bytes: bytes.clone() }, QueueReceiver { inbox, bytes })
}

/// The end of the queue that takes messages, and never waits.
#[derive(Debug, Clone)]
pub struct QueueSender {
    messages: Sender<Message>,
    bytes: Arc<AtomicUsize>,
}

impl QueueSender {
    /// Adds a message.
    ///
    /// # Errors
    /// The message, if the queue is full or the writer ended.
    pub fn try_send(&self, message: Message) -> Result<(), Message> {
        if self.has_room() { self.send(message) } else { Err(message) }
    }

    fn has_room(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) < QUEUE_BYTES
    }

    /// Adds a message, also to a full queue.
    ///
    /// # Errors
    /// The message, if the writer ended.
    pub fn send(&self, message: Message) -> Result<(), Message> {
        self.bytes.fetch_add(message.bytes(), Ordering::Relaxed);
        self.messages.send(message).map_err(|failed| failed.0)
    }
}

/// The writer's end of the queue.
#[derive(Debug)]
pub struct QueueReceiver {
    inbox: Receiver<Message>,
    bytes: Arc<AtomicUsize>,
}

impl QueueReceiver {
    /// Returns the next message.
    ///
    /// # Errors
    /// When none comes within that time, or all senders are gone.
    pub fn recv_timeout(&self, wait: Duration) -> Result<Message, RecvTimeoutError> {
        let message = self.inbox.recv_timeout(wait)?;
        self.bytes.fetch_sub(message.bytes(), Ordering::Relaxed);
        Ok(message)
    }
}

/// Lines of a recording, each with a line break.
#[derive(Debug, Default)]
pub struct ObservedLines {
    /// Arrival of the first line.
    pub from_millis: Millis,
    /// Arrival of the last line.
    pub to_millis: Millis,
    /// The lines.
    pub text: String,
}

impl ObservedLines {
    /// Returns the lines of an observation; `None` for other events of a source.
    pub fn from_event(event: &SourceEvent) -> Option<Self> {
        let (at_millis, lines) = match event {
            SourceEvent::Page { at_millis, .. }
            | SourceEvent::Reset { at_millis, .. }
            | SourceEvent::Object { at_millis, .. } => (*at_millis, recording::lines(event)),
            SourceEvent::Recorded { observed, line: Some(line) } => (observed.at_millis, vec![line.clone()]),
            _ => return None,
        };
        let text = lines.into_iter().map(|line| line + "\n").collect(); // in the memory of the first line
        Some(Self { from_millis: at_millis, to_millis: at_millis, text })
    }
}

/// The last state of each object since the queue was full.
#[derive(Debug)]
struct LatestStates {
    since_millis: Millis,
    /// Last line and its arrival.
    lines: BTreeMap<(Kind, Uid), (Millis, String)>,
}

/// One cluster's way to the writer.
#[derive(Debug)]
pub struct Journal {
    cluster: Arc<str>,
    scope: Arc<str>,
    to_writer: QueueSender,
    gap: Option<LatestStates>,
    /// Lines that wait for room in the queue, because no step of theirs may be left out.
    waiting: VecDeque<ObservedLines>,
}

impl Journal {
    pub(super) fn new(cluster: Arc<str>, scope: Arc<str>, to_writer: QueueSender) -> Self {
        Self { cluster, scope, to_writer, gap: None, waiting: VecDeque::new() }
    }

    /// Adds the observation of an event.
    pub fn note(&mut self, event: &SourceEvent) {
        if let Some(gap) = &mut self.gap {
            gap.note(event);
            return;
        }
        let Some(lines) = ObservedLines::from_event(event) else { return };
        if matches!(event, SourceEvent::Recorded { .. }) {
            self.note_lines(lines); // a recording is in memory anyway
            return;
        }
        let since_millis = lines.from_millis;
        self.send_waiting();
        if !self.waiting.is_empty() || self.send(JournalEntry::Lines(lines)).is_err() {
            let mut gap = LatestStates { since_millis, lines: BTreeMap::new() };
            gap.note(event);
            self.gap = Some(gap);
        }
    }

    /// Sends the lines that wait, as far as there is room.
    pub fn send_waiting(&mut self) {
        while let Some(lines) = self.waiting.pop_front() {
            if let Err(JournalEntry::Lines(lines)) = self.send(JournalEntry::Lines(lines)) {
                self.waiting.push_front(lines);
                return;
            }
        }
    }

    /// Adds lines that wait while there is no room.
    pub fn note_lines(&mut self, lines: ObservedLines) {
        self.waiting.push_back(lines);
        self.send_waiting();
    }

    /// Returns `true` if steps are missing and the queue has room again. The lines that end the gap may be those of all objects: they are
    /// not put together before that.
    pub fn can_end_gap(&self) -> bool {
        self.gap.is_some() && self.to_writer.has_room()
    }

    /// Ends a gap: sends the last state of each object, and which objects exist. `false` while there is no room.
    pub fn end_gap(&mut self, existing: &[(Kind, Vec<Uid>)]) -> bool {
        self.send_waiting();
        let Some(gap) = self.gap.as_ref().filter(|_| self.waiting.is_empty()) else { return false };
        let mut latest: Vec<&(Millis, String)> = gap.lines.values().collect();
        latest.sort_by_key(|(at, _)| *at);
        let from_millis = gap.since_millis;
        let to_millis = latest.last().map_or(from_millis, |(at, _)| *at);
        let done = existing.iter().filter_map(|(kind, existing)| {
            recording::list_done(*kind, None, to_millis, Some(from_millis), Some(existing.clone()))
        });
        let lines = latest.into_iter().map(|(_, line)| line.clone()).chain(done);
        let text = lines.map(|line| line + "\n").collect();
        let is_sent = self.send(JournalEntry::Lines(ObservedLines { from_millis, to_millis, text })).is_ok();
        if is_sent {
            self.gap = None;
        }
        is_sent
    }

    /// Notes that the cluster responds.
    pub fn note_response(&self, at_millis: Millis) {
        if self.gap.is_none() {
            let _ = self.send(JournalEntry::Heard(at_millis)); // another one follows soon
        }
    }

    /// Adds rollouts. `false` if there is no room: they are to be added again.
    pub fn rollouts(&mut self, rollouts: Vec<PastRollout>) -> bool {
        self.waiting.is_empty() && self.send(JournalEntry::Rollouts(rollouts)).is_ok()
    }

    /// Adds changed activity.
    ///
    /// # Errors
    /// The changes, if there is no room: they are to be added again.
    pub fn activity(&mut self, changes: ActivityChanges) -> Result<(), ActivityChanges> {
        if !self.is_complete() {
            return Err(changes);
        }
        self.send(JournalEntry::Activity(changes)).map_err(|entry| match entry {
            JournalEntry::Activity(changes) => changes,
            _ => ActivityChanges::default(), // no other entry was sent
        })
    }

    /// Returns `true` if every observation was sent.
    pub fn is_complete(&self) -> bool {
        self.gap.is_none() && self.waiting.is_empty()
    }

    /// Adds a checkpoint, unless steps are missing.
    pub fn checkpoint(&mut self, at_millis: Millis, checkpoint: Checkpoint) {
        if self.is_complete() {
            let _ = self.send(JournalEntry::Checkpoint(at_millis, checkpoint)); // another one follows later
        }
    }

    fn send(&self, entry: JournalEntry) -> Result<(), JournalEntry> {
        let message = Message::Entry { cluster: self.cluster.clone(), scope: self.scope.clone(), entry };
        match self.to_writer.try_send(message) {
            Err(Message::Entry { entry, .. }) => Err(entry),
            _ => Ok(()), // no other message was sent
        }
    }
}

impl LatestStates {
    fn note(&mut self, event: &SourceEvent) {
        match event {
            SourceEvent::Object { object, seen, at_millis } => self.note_object(object, *seen, *at_millis),
            SourceEvent::Page { objects, at_millis, .. } | SourceEvent::Reset { objects, at_millis, .. } => {
                objects.iter().for_each(|object| self.note_object(object, Seen::InList, *at_millis));
            }
            _ => {}
        }
    }

    /// Of what may come in any number only what exists is kept: the list at the end of the gap lacks pods that are gone.
    fn note_object(&mut self, object: &Object, seen: Seen, at_millis: Millis) {
        let (kind, Ok(uid)) = (object.kind(), object.uid()) else { return };
        let r#type = if seen == Seen::Deleted { LineType::Deleted } else { LineType::Modified };
        match (kind, r#type) {
            (Kind::Event, _) => {}
            (Kind::Pod, LineType::Deleted) => drop(self.lines.remove(&(kind, uid))),
            _ => {
                let line = recording::object_line(at_millis, r#type, object);
                self.lines.extend(line.map(|line| ((kind, uid), (at_millis, line))));
            }
        }
    }
}

/// Returns the objects that exist, by kind.
pub fn existing_objects(model: &Model) -> Vec<(Kind, Vec<Uid>)> {
    let deployments = model.deployments.values().filter(|known| known.deleted_millis.is_none()).map(|known| known.uid);
    let sets = model.replica_sets.values().filter(|known| known.removed_millis.is_none()).map(|known| known.uid);
    let pods = model.pods.values().filter(|known| known.state() != PodState::Gone).map(|known| known.uid);
    vec![(Kind::Deployment, deployments.collect()), (Kind::ReplicaSet, sets.collect()), (Kind::Pod, pods.collect())]
}
