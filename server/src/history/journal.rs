//! A cluster's queue to the writer. It never waits: while the queue is full, it keeps the last state of each object. Once there
//! is room, it sends these together, with a gap for the missing steps.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use timeline::episodes::EpisodeRow;
use timeline::fact::{Kind, Seen};
use timeline::model::PodState;
use timeline::{Millis, Model, Uid};
use tokio::sync::oneshot;

use super::activity::ActivityChanges;
use super::store::StoredCluster;
use crate::feed::recording::{self, LineType};
use crate::kube::SourceEvent;
use crate::kube::translate::Object;

/// Size of queued messages from all hubs to the writer at which the queue accepts no more, in bytes.
pub const QUEUE_BYTES: usize = 64 << 20; // the first list of 100,000 pods
/// Size of a message without its texts, in bytes.
const MESSAGE_BYTES: usize = 256;

/// A message to the writer.
#[derive(Debug)]
pub enum Message {
    /// An entry of a cluster's journal.
    Entry {
        /// Name of the cluster.
        cluster: Arc<str>,
        /// The entry.
        entry: JournalEntry,
    },
    /// A request for the stored data of a cluster.
    Restore {
        /// Name of the cluster.
        cluster: Arc<str>,
        /// `false` to restore without its checkpoint.
        use_checkpoint: bool,
        /// Whether the store could not be read at the start: then the response includes later observations.
        is_late: bool,
        /// Receives the data, `None` if nothing is stored; dropped if the store cannot be read now.
        reply: oneshot::Sender<Option<StoredCluster>>,
    },
    /// The program ends: everything must be written now.
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
    /// Rollouts that began, changed or ended.
    Rollouts(Vec<EpisodeRow>),
    /// Changed activity of workloads, after all previous entries.
    Activity(ActivityChanges),
    /// The timeline after all previous entries, and the time of its last observation.
    Checkpoint(Millis, Vec<u8>),
}

impl Message {
    fn bytes(&self) -> usize {
        let Self::Entry { entry, .. } = self else { return MESSAGE_BYTES };
        MESSAGE_BYTES
            + match entry {
                JournalEntry::Lines(lines) => lines.text.capacity(),
                JournalEntry::Heard(_) => 0,
                JournalEntry::Rollouts(rollouts) => rollouts.len() * size_of::<EpisodeRow>(),
                JournalEntry::Activity(ActivityChanges { active, settled }) => {
                    (active.len() + settled.len()) * size_of::<Uid>()
                }
                JournalEntry::Checkpoint(_, checkpoint) => checkpoint.len(),
            }
    }
}

/// Returns both ends of the queue to the writer.
pub fn queue() -> (QueueSender, QueueReceiver) {
    let (messages, inbox) = channel();
    let bytes = Arc::<AtomicUsize>::default();
    (QueueSender { messages, bytes: bytes.clone() }, QueueReceiver { inbox, bytes })
}

/// The sending end of the queue, which never waits.
#[derive(Debug, Clone)]
pub struct QueueSender {
    messages: Sender<Message>,
    bytes: Arc<AtomicUsize>,
}

impl QueueSender {
    fn has_room(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) < QUEUE_BYTES
    }

    /// Adds a message, even to a full queue.
    pub fn send(&self, message: Message) {
        self.bytes.fetch_add(message.bytes(), Ordering::Relaxed);
        let _ = self.messages.send(message); // the writer may have ended
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
    /// If none arrives within that time, or all senders are gone.
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
        let text = lines.into_iter().map(|line| line + "\n").collect(); // reuses the memory of the first line
        Some(Self { from_millis: at_millis, to_millis: at_millis, text })
    }

    /// Adds these lines after earlier ones.
    pub fn append_to(self, earlier: &mut Option<Self>) {
        match earlier {
            Some(lines) => {
                lines.text.push_str(&self.text);
                lines.to_millis = lines.to_millis.max(self.to_millis);
            }
            None => *earlier = Some(self),
        }
    }
}

/// The last state of each object since the queue became full.
#[derive(Debug)]
struct LatestStates {
    since_millis: Millis,
    /// Last line and its arrival.
    lines: BTreeMap<(Kind, Uid), (Millis, String)>,
}

/// The journal of one cluster, which sends its lines to the writer.
#[derive(Debug)]
pub struct Journal {
    cluster: Arc<str>,
    to_writer: QueueSender,
    gap: Option<LatestStates>,
}

impl Journal {
    pub(super) fn new(cluster: Arc<str>, to_writer: QueueSender) -> Self {
        Self { cluster, to_writer, gap: None }
    }

    /// Records the observation of an event.
    pub fn note(&mut self, event: &SourceEvent) {
        if let Some(gap) = &mut self.gap {
            gap.note(event);
            return;
        }
        let Some(lines) = ObservedLines::from_event(event) else { return };
        // A recording is in memory in any case.
        if self.has_room() || matches!(event, SourceEvent::Recorded { .. }) {
            self.add(JournalEntry::Lines(lines));
        } else {
            let mut gap = LatestStates { since_millis: lines.from_millis, lines: BTreeMap::new() };
            gap.note(event);
            self.gap = Some(gap);
        }
    }

    /// Adds an entry, even to a full queue.
    pub fn add(&self, entry: JournalEntry) {
        self.to_writer.send(Message::Entry { cluster: self.cluster.clone(), entry });
    }

    /// Returns whether every observation was added, and there is room for data computed from them.
    pub fn has_room(&self) -> bool {
        self.gap.is_none() && self.to_writer.has_room()
    }

    /// Returns whether steps are missing and the queue has room again. The lines that end the gap may cover all objects, so they
    /// are computed only then.
    pub fn can_end_gap(&self) -> bool {
        self.gap.is_some() && self.to_writer.has_room()
    }

    /// Ends a gap: adds the last state of each object, and the list of existing objects.
    pub fn end_gap(&mut self, existing: &[(Kind, Uid)]) {
        let Some(LatestStates { since_millis, lines }) = self.gap.take() else { return };
        let mut latest: Vec<(Millis, String)> = lines.into_values().collect();
        latest.sort_by_key(|(at, _)| *at);
        let to_millis = latest.last().map_or(since_millis, |(at, _)| *at);
        let done = [Kind::Deployment, Kind::ReplicaSet, Kind::Pod].map(|kind| {
            let present = existing.iter().filter(|(of, _)| *of == kind).map(|(_, uid)| *uid).collect();
            recording::list_done(kind, None, to_millis, Some(since_millis), Some(present))
        });
        let text = latest.into_iter().map(|(_, line)| line).chain(done).map(|line| line + "\n").collect();
        self.add(JournalEntry::Lines(ObservedLines { from_millis: since_millis, to_millis, text }));
    }

    /// Records a response of the cluster.
    pub fn note_response(&self, at_millis: Millis) {
        if self.has_room() {
            self.add(JournalEntry::Heard(at_millis)); // otherwise a later response is recorded
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

    /// Records the last state of an object. Omits Events, and pods that are gone: the list at the end of the gap lacks them.
    fn note_object(&mut self, object: &Object, seen: Seen, at_millis: Millis) {
        let (kind, Ok(uid)) = (object.kind(), object.uid()) else { return };
        let r#type = if seen == Seen::Deleted { LineType::Deleted } else { LineType::Modified };
        match (kind, r#type) {
            (Kind::Event, _) => {}
            (Kind::Pod, LineType::Deleted) => drop(self.lines.remove(&(kind, uid))),
            _ => {
                let line = recording::object_line(at_millis, r#type, object);
                self.lines.insert((kind, uid), (at_millis, line));
            }
        }
    }
}

/// Returns kind, UID and namespace of each existing object.
pub(super) fn existing_objects(model: &Model) -> impl Iterator<Item = (Kind, Uid, &String)> {
    let deployments = model.deployments.values().filter(|known| known.deleted_millis.is_none());
    let sets = model.replica_sets.values().filter(|known| known.removed_millis.is_none());
    let pods = model.pods.values().filter(|known| known.state() != PodState::Gone);
    let deployments = deployments.map(|known| (Kind::Deployment, known.uid, &known.namespace));
    let sets = sets.map(|known| (Kind::ReplicaSet, known.uid, &known.namespace));
    deployments.chain(sets).chain(pods.map(|known| (Kind::Pod, known.uid, &known.namespace)))
}
