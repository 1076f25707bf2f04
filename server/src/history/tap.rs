//! The tap on the queue of a cluster: forwards all events of its sources to the hub, and sends observations to the writer as well.
//!
//! ```text
//!   sources ──queue──► tap ──queue──► hub
//!                       ├─ Journal ──► writer
//!                       └─ reads the hub's model (index of rollouts, checkpoint)
//! ```
//!
//! While the tap reads the model, it forwards no event, and a hub empties its queue before it responds: so the model contains
//! exactly the observations in the journal. The hub waits for the tap only at the start, for its initial state.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use timeline::fact::{Kind, Seen};
use timeline::model::Deployment;
use timeline::wire::{Connection, ConnectionState, Unwritten};
use timeline::{Fact, Millis, Retention, Uid};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::activity::ActivityChanges;
use super::changed_rows::RolloutIndex;
use super::journal::{Journal, JournalEntry, ObservedLines, existing_objects};
use super::resume;
use super::{Archive, RestoreResult};
use crate::feed::recording;
use crate::hub::{Handle, HubEnded, HubReader, WeakHandle};
use crate::kube::translate::Object;
use crate::kube::{self, Counters, Health, InitialState, Observed, SourceEvent};
use crate::telemetry::clock::Clock;
use crate::telemetry::panics::{exit_on_panic, locked};

/// Interval of writing the last response of a cluster: the time between it and the next start is a gap.
const HEARD_EVERY: Duration = Duration::from_secs(2);
const CHECKPOINT_EVERY: Duration = Duration::from_secs(300);
/// Longest time between two attempts to read a history.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Largest size of lines in memory while the history before them is unknown, in bytes.
const MOST_HELD: usize = 32 << 20;
/// A Deployment that is this much older than the last observation must be in the history, even if clocks differ.
const LONG_BEFORE_MILLIS: Millis = 600_000;

/// Starts the hub of a cluster, from its history if there is an archive. Returns the hub, and the queue for its sources, whose
/// observations are stored with an archive.
pub fn start(
    archive: Option<&Archive>,
    name: &str,
    namespaces: &[String],
    sources: Arc<Counters>,
    retention: Retention,
) -> (Handle, mpsc::Sender<SourceEvent>) {
    let Some(archive) = archive else { return Handle::start(name, sources, retention) };
    let (initial, initial_state) = oneshot::channel();
    let (hub, to_hub) = Handle::start_from(name, sources, retention, initial_state);
    let (events, inbox) = mpsc::channel(kube::QUEUE);
    let (checkpoints, requests) = mpsc::channel(1);
    let mut taps = locked(&archive.taps);
    taps.retain(|tap| !tap.is_closed());
    taps.push(checkpoints);
    drop(taps);
    let tap = Tap {
        name: name.into(),
        journal: archive.journal(name),
        to_hub,
        hub: hub.downgrade(),
        clock: hub.clock(),
        connection: hub.connection(),
        heard_millis: None,
        listed: BTreeSet::new(),
        identity: None,
        restoring: None,
        checkpoint_seq: 0,
        index: RolloutIndex::default(),
        archive: archive.clone(),
    };
    let hub = hub.with_queue(&events);
    let namespaces = namespaces.to_vec();
    let running = async move {
        let _ = tap.run(initial, &namespaces, inbox, requests).await; // the tap ends with its hub
    };
    tokio::spawn(exit_on_panic(format!("the tap of cluster {name}"), running));
    (hub, events)
}

struct Tap {
    /// Name of the cluster.
    name: Arc<str>,
    archive: Archive,
    journal: Journal,
    to_hub: mpsc::Sender<SourceEvent>,
    hub: WeakHandle,
    clock: watch::Receiver<Clock>,
    connection: watch::Receiver<Connection>,
    /// Last response of the cluster, as read from the store.
    heard_millis: Option<Millis>,
    /// Lists that arrived since the start.
    listed: BTreeSet<(Kind, Option<String>)>,
    /// The check whether the history belongs to this cluster; `None` once it is done.
    identity: Option<IdentityCheck>,
    /// The restore of a history that could not be read at the start; `None` once it is done.
    restoring: Option<LateRestore>,
    /// The last change in a checkpoint.
    checkpoint_seq: u64,
    index: RolloutIndex,
}

/// Checks whether the history belongs to this cluster, and holds back observations meanwhile.
#[derive(Default)]
struct IdentityCheck {
    /// Namespaces of the Deployments in the history, by UID.
    deployments: BTreeMap<Uid, String>,
    held: Vec<ObservedLines>,
    /// Namespaces whose list is in progress and contains a Deployment that should be in the history and is not.
    doubted: BTreeSet<Option<String>>,
}

/// Restores a history that could not be read at the start.
struct LateRestore {
    /// The response to the pending request.
    response: Option<JoinHandle<RestoreResult>>,
    /// Observations since that request, which the response lacks. `None` if they are too many: then the response cannot be used.
    since: Option<String>,
    /// Whether the checkpoint has not been rejected as one of another version.
    has_checkpoint: bool,
    /// Time of the next request, and the pause after it.
    next: Instant,
    pause: Duration,
}

impl Tap {
    async fn run(
        mut self,
        initial: oneshot::Sender<InitialState>,
        namespaces: &[String],
        mut events: mpsc::Receiver<SourceEvent>,
        mut requests: mpsc::Receiver<oneshot::Sender<()>>,
    ) -> Result<(), HubEnded> {
        let (mut unwritten, mut reopened) = (self.archive.unwritten.clone(), self.archive.reopen_count.clone());
        self.begin(initial, namespaces).await;
        if unwritten.borrow().is_some() {
            unwritten.mark_changed();
        }
        let mut heard = tokio::time::interval(HEARD_EVERY);
        let mut checkpoint = tokio::time::interval_at(Instant::now() + CHECKPOINT_EVERY, CHECKPOINT_EVERY);
        'events: loop {
            tokio::select! {
                Some(event) = events.recv() => {
                    if !self.event(event).await? {
                        break;
                    }
                }
                Some(reply) = requests.recv() => {
                    // The checkpoint includes all events that were in the queue before the request.
                    for _ in 0..kube::QUEUE {
                        let Ok(event) = events.try_recv() else { break };
                        if !self.event(event).await? {
                            break 'events;
                        }
                    }
                    while self.write_index().await? {} // the caller may need all rows, or end
                    self.checkpoint().await?;
                    let _ = reply.send(()); // the caller may have left
                }
                Ok(()) = unwritten.changed() => {
                    let unwritten = unwritten.borrow_and_update().clone();
                    self.send(SourceEvent::Unwritten(unwritten)).await?;
                }
                Ok(()) = reopened.changed() => self.write_all().await?,
                _ = heard.tick() => self.tick(namespaces).await?,
                _ = checkpoint.tick() => self.checkpoint().await?,
                () = self.to_hub.closed() => return Ok(()),
            }
        }
        drop(requests); // a cluster that is not stored needs no checkpoints
        while let Some(event) = events.recv().await {
            self.send(event).await?;
        }
        Ok(())
    }

    /// Begins with the stored data of the cluster, if it can be read: sends the state to the hub, and starts the identity check
    /// if Deployments are known.
    async fn begin(&mut self, initial: oneshot::Sender<InitialState>, namespaces: &[String]) {
        match self.archive.restore(&self.name).await {
            RestoreResult::Restored(mut stored) => {
                self.heard_millis = stored.heard_millis;
                let exists = |known: &Deployment| known.deleted_millis.is_none();
                if stored.timeline.model().deployments.values().any(exists) {
                    self.identity = Some(IdentityCheck::default());
                }
                self.end_unwatched(&mut stored, namespaces);
                if let Some(identity) = &mut self.identity {
                    let known = stored.timeline.model().deployments.values().filter(|known| exists(known));
                    identity.deployments = known.map(|known| (known.uid, known.namespace.clone())).collect();
                }
                tracing::info!("cluster {} is restored from its history", self.name);
                let _ = initial.send(*stored); // the hub may have ended
            }
            RestoreResult::Empty | RestoreResult::Unusable => drop(initial),
            RestoreResult::Unavailable => {
                let (next, pause) = (Instant::now(), HEARD_EVERY);
                self.restoring = Some(LateRestore { response: None, since: None, has_checkpoint: true, next, pause });
                drop(initial);
            }
        }
    }

    /// Sends an event to the hub and the journal. Returns `false` if the history belongs to another cluster: then nothing is
    /// stored from now on.
    async fn event(&mut self, mut event: SourceEvent) -> Result<bool, HubEnded> {
        if let SourceEvent::Reset { kind, namespace, gap_since_millis, .. } = &mut event
            && self.listed.insert((*kind, namespace.clone()))
        {
            // The first list after a start ends a gap.
            *gap_since_millis = gap_since_millis.or(self.heard_millis);
        }
        let is_same = self.identity.as_mut().map(|identity| identity.is_same_cluster(&event, self.heard_millis));
        match (is_same, &mut self.identity) {
            (Some(Some(false)), _) => {
                self.refuse(event).await?;
                return Ok(false);
            }
            (Some(None), Some(identity)) if identity.bytes() < MOST_HELD => {
                identity.held.extend(ObservedLines::from_event(&event));
            }
            _ => {
                if let Some(identity) = self.identity.take() {
                    identity.held.into_iter().for_each(|lines| self.journal.add(JournalEntry::Lines(lines)));
                    self.checkpoint().await?;
                }
                self.note(&event);
            }
        }
        if let SourceEvent::Recorded { observed, .. } = &event {
            self.index.played_millis = Some(observed.at_millis);
        }
        self.send(event).await?;
        if self.index.is_due() {
            self.write_index().await?;
        }
        Ok(true)
    }

    fn note(&mut self, event: &SourceEvent) {
        self.journal.note(event);
        if let Some(restoring) = self.restoring.as_mut().filter(|restoring| restoring.response.is_some())
            && let Some(lines) = ObservedLines::from_event(event)
        {
            let since = restoring.since.take().filter(|since| since.len() < MOST_HELD);
            restoring.since = since.map(|since| since + &lines.text);
        }
    }

    async fn send(&self, event: SourceEvent) -> Result<(), HubEnded> {
        self.to_hub.send(event).await.map_err(|_| HubEnded)
    }

    /// Sends observations to the hub again, because its new timeline lacks them.
    async fn send_again(&self, observations: impl Iterator<Item = Observed>) -> Result<(), HubEnded> {
        for observed in observations {
            self.send(SourceEvent::Recorded { observed: Box::new(observed), line: None }).await?;
        }
        Ok(())
    }

    /// Leaves the history of another cluster unchanged, and restarts the hub without it.
    async fn refuse(&mut self, mut event: SourceEvent) -> Result<(), HubEnded> {
        let why = format!(
            "the history of {} belongs to another cluster; give this cluster another name in rollcast.toml",
            self.name
        );
        tracing::warn!("cannot write history: {why}");
        self.send(SourceEvent::Begins(Box::default())).await?;
        // The first list of a cluster does not follow a gap.
        let held = self.identity.take().map(|identity| identity.held).unwrap_or_default();
        let held: String = held.into_iter().map(|lines| lines.text).collect();
        let without_gaps = recording::observations(&held).map(|mut observed| {
            if let Some(Fact::Listed { gap_since_millis, .. }) = &mut observed.fact {
                *gap_since_millis = None;
            }
            observed
        });
        self.send_again(without_gaps).await?;
        if let SourceEvent::Reset { gap_since_millis, .. } = &mut event {
            *gap_since_millis = None;
        }
        self.send(SourceEvent::Unwritten(Some(Unwritten { since_millis: self.now_millis(), why }))).await?;
        self.send(event).await
    }

    fn now_millis(&self) -> Millis {
        self.clock.borrow().now_millis()
    }

    /// Ends the objects of namespaces that are no longer watched with empty lists, after a gap: they will not be listed again.
    fn end_unwatched(&mut self, stored: &mut InitialState, namespaces: &[String]) {
        let (model, heard_millis) = (stored.timeline.model(), stored.heard_millis);
        let known = existing_objects(model).map(|(.., namespace)| namespace);
        let is_unwatched = |known: &&String| !namespaces.is_empty() && !namespaces.contains(known);
        let unwatched: BTreeSet<String> = known.filter(is_unwatched).cloned().collect();
        if !unwatched.is_empty() {
            tracing::info!("{} namespaces of cluster {} are no longer watched", unwatched.len(), self.name);
        }
        let at_millis = self.now_millis().max(heard_millis.unwrap_or(Millis::MIN));
        for namespace in unwatched {
            for kind in [Kind::Deployment, Kind::ReplicaSet, Kind::Pod] {
                let (namespace, gap_since_millis) = (Some(namespace.clone()), heard_millis);
                let (earlier, objects, present) = (Vec::new(), Vec::new(), Vec::new());
                let fact = Some(Fact::Listed { kind, namespace: namespace.clone(), present, gap_since_millis });
                stored.observe(Observed { at_millis, fact });
                let event = SourceEvent::Reset { kind, namespace, earlier, objects, gap_since_millis, at_millis };
                match &mut self.identity {
                    Some(identity) => identity.held.extend(ObservedLines::from_event(&event)),
                    None => self.journal.note(&event),
                }
            }
        }
    }

    /// Writes the last response of the cluster, and the index of changed workloads.
    async fn tick(&mut self, namespaces: &[String]) -> Result<(), HubEnded> {
        if self.journal.can_end_gap() {
            let existing = self.hub.read(|reader| {
                existing_objects(reader.timeline.model()).map(|(kind, uid, _)| (kind, uid)).collect::<Vec<_>>()
            });
            let existing = existing.await?;
            self.journal.end_gap(&existing);
            self.archive.counters.missed.fetch_add(1, Ordering::Relaxed);
        }
        let is_live = self.connection.borrow().state == ConnectionState::Live;
        if is_live {
            self.journal.note_response(self.now_millis());
        }
        self.finish_restore(namespaces).await?;
        self.request_restore();
        self.write_index().await?;
        Ok(())
    }

    /// Requests a history that could not be read at the start. The response may take long.
    fn request_restore(&mut self) {
        let Some(restoring) = &mut self.restoring else { return };
        let is_due = restoring.response.is_none() && Instant::now() >= restoring.next;
        if !is_due || !self.journal.has_room() || self.archive.unwritten.borrow().is_some() {
            return;
        }
        restoring.next = Instant::now() + restoring.pause;
        restoring.pause = (restoring.pause * 2).min(LONGEST_PAUSE);
        restoring.response = Some(self.archive.restore_later(&self.name, restoring.has_checkpoint));
        restoring.since = Some(String::new());
    }

    /// Sends the response to the request, if it has arrived, and the observations since then to the hub.
    async fn finish_restore(&mut self, namespaces: &[String]) -> Result<(), HubEnded> {
        let Some(restoring) = &mut self.restoring else { return Ok(()) };
        let Some(response) = restoring.response.take_if(|response| response.is_finished()) else { return Ok(()) };
        let result = response.await.unwrap_or(RestoreResult::Unavailable);
        match (result, restoring.since.take()) {
            (RestoreResult::Unusable, _) if restoring.has_checkpoint => {
                (restoring.has_checkpoint, restoring.next) = (false, Instant::now());
                return Ok(());
            }
            (RestoreResult::Unavailable, _) | (RestoreResult::Restored(_), None) => return Ok(()),
            (RestoreResult::Empty | RestoreResult::Unusable, _) => {}
            (RestoreResult::Restored(mut stored), Some(since)) => {
                self.heard_millis = stored.heard_millis; // a later first list ends the gap
                self.end_unwatched(&mut stored, namespaces);
                self.send(SourceEvent::Begins(stored)).await?;
                self.send_again(recording::observations(&since)).await?;
            }
        }
        self.restoring = None;
        self.write_all().await
    }

    /// Writes everything besides lines to a store that may lack it.
    async fn write_all(&mut self) -> Result<(), HubEnded> {
        (self.checkpoint_seq, self.index.is_lost) = (0, true);
        self.checkpoint().await
    }

    /// Writes a checkpoint, if the timeline changed since the last one.
    async fn checkpoint(&mut self) -> Result<(), HubEnded> {
        self.write_index().await?;
        if !self.can_write() {
            return Ok(());
        }
        let last_seq = self.checkpoint_seq;
        let checkpoint = self.hub.read(move |reader| {
            let HubReader { timeline, history, observed, epoch, .. } = *reader;
            if timeline.seq() == last_seq {
                return None;
            }
            let bytes = resume::serialize(timeline, history, epoch, observed)?;
            Some((timeline.seq(), observed.map_or(0, |(_, last)| last), bytes))
        });
        let Some((seq, at_millis, bytes)) = checkpoint.await? else { return Ok(()) };
        let checkpoint = tokio::task::spawn_blocking(move || resume::compress(&bytes)).await;
        if let Ok(Some(checkpoint)) = checkpoint {
            self.journal.add(JournalEntry::Checkpoint(at_millis, checkpoint));
            self.checkpoint_seq = seq;
        }
        Ok(())
    }

    /// Returns whether there is room for data computed by the hub, such as the rows of all Deployments, and the hub has the
    /// stored history; without the history its rollouts would get separate rows.
    fn can_write(&self) -> bool {
        self.restoring.is_none() && self.identity.is_none() && self.journal.has_room()
    }

    /// Writes the index of changed workloads, or of some of them. Returns whether there are more.
    async fn write_index(&mut self) -> Result<bool, HubEnded> {
        if !self.can_write() {
            return Ok(false);
        }
        let (name, mut index) = (self.name.clone(), mem::take(&mut self.index));
        let read = move |reader: &HubReader<'_>| {
            let update = index.update(&name, reader);
            (index, update)
        };
        let (index, update) = self.hub.read(read).await?;
        self.index = index;
        let Some((rollouts, changes)) = update else { return Ok(false) };
        if !rollouts.is_empty() {
            self.journal.add(JournalEntry::Rollouts(rollouts));
        }
        if changes != ActivityChanges::default() {
            self.journal.add(JournalEntry::Activity(changes));
        }
        Ok(self.index.has_more())
    }
}

impl IdentityCheck {
    fn bytes(&self) -> usize {
        self.held.iter().map(|lines| lines.text.len()).sum()
    }

    /// Returns whether a list comes from the cluster of the history; `None` if the list does not show it. It comes from another
    /// cluster if it lacks all Deployments of the history, and contains others in their namespaces that are much older than the
    /// last observation: a UID is never reused.
    fn is_same_cluster(&mut self, event: &SourceEvent, heard_millis: Option<Millis>) -> Option<bool> {
        let (namespace, objects, is_complete) = match event {
            SourceEvent::Page { kind: Kind::Deployment, namespace, objects, .. } => (namespace, objects, false),
            SourceEvent::Reset { kind: Kind::Deployment, namespace, objects, .. } => (namespace, objects, true),
            // Without permission no list can disprove it.
            SourceEvent::Health { kind: Kind::Deployment, health: Health::Forbidden { .. }, .. } => return Some(true),
            _ => return None,
        };
        let is_listed = |known: &&String| namespace.as_ref().is_none_or(|listed| listed == *known);
        let namespaces: BTreeSet<&str> = self.deployments.values().filter(is_listed).map(String::as_str).collect();
        if namespaces.is_empty() {
            return self.deployments.is_empty().then_some(true); // otherwise the list of another namespace decides
        }
        if objects.iter().filter_map(|object| object.uid().ok()).any(|uid| self.deployments.contains_key(&uid)) {
            return Some(true);
        }
        let long_before_millis = heard_millis.unwrap_or(Millis::MIN).saturating_sub(LONG_BEFORE_MILLIS);
        let is_old = |object: &Object| match object.clone().fact(Seen::InList) {
            Ok(Some(Fact::Deployment(fact, _))) => {
                fact.meta.created_at_millis < long_before_millis && namespaces.contains(fact.meta.namespace.as_str())
            }
            _ => false,
        };
        let is_doubted = objects.iter().any(is_old) || self.doubted.remove(namespace);
        if is_complete {
            return Some(!is_doubted);
        }
        if is_doubted {
            self.doubted.insert(namespace.clone());
        }
        None
    }
}
