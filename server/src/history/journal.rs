//! What a hub tells the writer. It never waits: while there is no room, the last state of each object is kept instead of every one, and
//! told together as soon as there is room again, with the time in which steps are missing.

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError};

use timeline::fact::{Kind, Seen};
use timeline::past::PastRollout;
use timeline::phase::PodState;
use timeline::{Millis, Model, Uid};
use tokio::sync::oneshot;

use super::activity::Turns;
use super::store::{Checkpoint, Stored};
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
    /// Its source told of something that was observed.
    Event(SourceEvent),
    /// A recording of it has this line.
    Line(Millis, String),
    /// It answered at that time.
    Heard(Millis),
    /// Steps are missing; this is what came of them.
    Missed(Missed),
    /// Rollouts began, went on or ended.
    Rollouts(Vec<PastRollout>),
    /// Workloads that are not at rest, and those that are at rest again, after everything that was told before.
    Activity(Turns),
    /// Its timeline as it stands after everything that was told before.
    Checkpoint(Millis, Checkpoint),
}

/// What came of steps that are missing.
#[derive(Debug)]
pub struct Missed {
    /// Time of the first step that is missing.
    pub since_millis: Millis,
    /// Time of the last one.
    pub at_millis: Millis,
    /// The last state of each object that changed.
    pub objects: Vec<(Object, Seen, Millis)>,
    /// The objects that exist afterwards, by kind.
    pub present: Vec<(Kind, Vec<Uid>)>,
}

#[derive(Debug)]
struct Held {
    since_millis: Millis,
    latest: BTreeMap<(Kind, Uid), (Object, Seen, Millis)>,
}

/// One hub's way to the writer.
#[derive(Debug)]
pub struct Journal {
    cluster: Arc<str>,
    scope: Arc<str>,
    to_writer: SyncSender<Message>,
    held: Option<Held>,
    /// Lines of a recording for which there was no room.
    late: VecDeque<(Millis, String)>,
}

impl Journal {
    pub(super) fn new(cluster: Arc<str>, scope: Arc<str>, to_writer: SyncSender<Message>) -> Self {
        Self { cluster, scope, to_writer, held: None, late: VecDeque::new() }
    }

    /// Takes what a source said. `model` is what was known before.
    pub fn note(&mut self, event: &SourceEvent, model: &Model) {
        let at_millis = match event {
            SourceEvent::Reset { at_millis, .. } | SourceEvent::Object { at_millis, .. } => *at_millis,
            SourceEvent::Recorded { observed, line: Some(line) } => return self.line(observed.at_millis, line.clone()),
            _ => return, // nothing that was observed
        };
        if let Some(mut held) = self.held.take() {
            match self.catch_up(&mut held, model) {
                Ok(()) => {}
                Err(()) => {
                    held.take(event.clone());
                    self.held = Some(held);
                    return;
                }
            }
        }
        if let Err(Told::Event(event)) = self.tell(Told::Event(event.clone())) {
            let mut held = Held { since_millis: at_millis, latest: BTreeMap::new() };
            held.take(event);
            self.held = Some(held);
        }
    }

    /// Takes a line of a recording. That is in memory anyway: lines for which there is no room wait, and no step is left out.
    fn line(&mut self, at_millis: Millis, line: String) {
        self.late.push_back((at_millis, line));
        self.tell_late();
    }

    /// Tells the lines that wait, as far as there is room.
    pub fn tell_late(&mut self) {
        while let Some((at_millis, line)) = self.late.pop_front() {
            if let Err(Told::Line(at_millis, line)) = self.tell(Told::Line(at_millis, line)) {
                self.late.push_front((at_millis, line));
                return;
            }
        }
    }

    /// Takes note that the cluster is there.
    pub fn heard(&mut self, at_millis: Millis, model: &Model) {
        if let Some(mut held) = self.held.take()
            && self.catch_up(&mut held, model).is_err()
        {
            self.held = Some(held);
            return;
        }
        let _ = self.tell(Told::Heard(at_millis)); // there is another one soon
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

    fn catch_up(&self, held: &mut Held, model: &Model) -> Result<(), ()> {
        let latest = mem::take(&mut held.latest);
        let at_millis = latest.values().map(|(.., at)| *at).max().unwrap_or(held.since_millis);
        let missed = Missed {
            since_millis: held.since_millis,
            at_millis,
            objects: latest.into_values().collect(),
            present: present(model),
        };
        self.tell(Told::Missed(missed)).map_err(|told| {
            if let Told::Missed(missed) = told {
                missed.objects.into_iter().for_each(|(object, seen, at)| held.keep(object, seen, at));
            }
        })
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
    fn take(&mut self, event: SourceEvent) {
        match event {
            SourceEvent::Object { object, seen, at_millis } => self.keep(object, seen, at_millis),
            SourceEvent::Reset { objects, at_millis, .. } => {
                objects.into_iter().for_each(|object| self.keep(object, Seen::InList, at_millis));
            }
            _ => {}
        }
    }

    fn keep(&mut self, object: Object, seen: Seen, at_millis: Millis) {
        if let Ok(uid) = object.uid() {
            self.latest.insert((object.kind(), uid), (object, seen, at_millis));
        }
    }
}

/// What exists, by kind.
fn present(model: &Model) -> Vec<(Kind, Vec<Uid>)> {
    let deployments = model.deployments.values().filter(|known| known.deleted_millis.is_none()).map(|known| known.uid);
    let sets = model.replica_sets.values().filter(|known| known.removed_millis.is_none()).map(|known| known.uid);
    let pods = model.pods.values().filter(|known| known.state() != PodState::Gone).map(|known| known.uid);
    vec![(Kind::Deployment, deployments.collect()), (Kind::ReplicaSet, sets.collect()), (Kind::Pod, pods.collect())]
}
