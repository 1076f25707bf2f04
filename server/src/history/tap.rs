//! The tap on the queue of a cluster: everything that its sources say goes on to the hub, and what was observed to the writer as well.
//!
//! ```text
//!   sources ──queue──► tap ──queue──► hub
//!                       ├─ Journal ──► writer
//!                       └─ reads what follows from it (index of rollouts, checkpoint)
//! ```
//!
//! While the tap reads, it hands nothing on, and a hub takes everything that is in its queue before it answers. So what was read follows
//! from what the journal was told, and from nothing else. The hub never waits for the tap, except for what it begins with.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use timeline::fact::{Kind, Seen};
use timeline::model::Deployment;
use timeline::phase::PodState;
use timeline::wire::{Connection, ConnectionState, Unwritten};
use timeline::{Fact, Millis, Retention, Uid};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use super::activity::Turns;
use super::journal::{Journal, ObservedLines, existing};
use super::resume::{self, Standing};
use super::rollout_index::RolloutIndex;
use super::{Archive, Before, Keeping};
use crate::feed::recording;
use crate::hub::{Handle, HubEnded, Reader, WeakHandle};
use crate::kube::translate::Object;
use crate::kube::{self, Counters, Health, InitialState, Observed, SourceEvent};
use crate::telemetry::clock::Clock;

/// That the cluster is there is written this often: what lies between this and the next start is a gap.
const HEARD_EVERY: Duration = Duration::from_secs(2);
/// The timeline is put away this often.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(300);
/// What could not be read at the start is asked for at least this often.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Lines of so many bytes are held until it is known what they follow.
const MOST_HELD: usize = 32 << 20;
/// What was made so long before the last word was seen by whoever watched then; clocks may differ.
const LONG_BEFORE_MILLIS: Millis = 600_000;

/// Starts the hub of a cluster that goes on from its history, and stores what its sources send to the returned queue.
#[must_use]
pub fn start(
    archive: &Archive,
    name: &str,
    namespaces: &[String],
    sources: Arc<Counters>,
    retention: Retention,
) -> (Handle, mpsc::Sender<SourceEvent>) {
    let (initial, initial_state) = oneshot::channel();
    let (hub, to_hub) = Handle::start_from(name, sources, retention, initial_state);
    let (events, inbox) = mpsc::channel(kube::QUEUE);
    let (checkpoints, asked) = mpsc::channel(1);
    let mut taps = archive.taps.lock().unwrap_or_else(PoisonError::into_inner);
    taps.retain(|tap| !tap.is_closed());
    taps.push(checkpoints);
    drop(taps);
    let tap = Tap {
        name: name.into(),
        journal: archive.journal(name, namespaces),
        to_hub,
        hub: hub.downgrade(),
        clock: hub.clock(),
        connection: hub.connection(),
        heard_millis: None,
        listed: BTreeSet::new(),
        unproven: None,
        unread: None,
        checkpoint_seq: 0,
        index: RolloutIndex::default(),
        archive: archive.clone(),
    };
    let namespaces = namespaces.to_vec();
    tokio::spawn(async move {
        let _ = tap.run(initial, &namespaces, inbox, asked).await; // it ends with its hub
    });
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
    /// The last word that is stored from before this start.
    heard_millis: Option<Millis>,
    /// Lists that arrived since this start.
    listed: BTreeSet<(Kind, Option<String>)>,
    /// It is not known yet whether the history is of this cluster.
    unproven: Option<Unproven>,
    /// What is stored from before this start could not be read yet.
    unread: Option<Unread>,
    /// The last change that is in a checkpoint.
    checkpoint_seq: u64,
    index: RolloutIndex,
}

/// What is observed while it is not known whether the history is of this cluster.
#[derive(Default)]
struct Unproven {
    /// The Deployments that existed, by UID, with their namespaces.
    deployments: BTreeMap<Uid, String>,
    held: Vec<ObservedLines>,
    /// Namespaces whose list is under way and holds a Deployment that should be known and is not.
    doubted: BTreeSet<Option<String>>,
}

/// A history that could not be read at the start.
struct Unread {
    asked: Option<Asked>,
    /// Its checkpoint is of use.
    has_checkpoint: bool,
    /// It is not asked for before that, and after this long once more.
    ask_at: Instant,
    pause: Duration,
}

/// What was asked of the writer while events stream in.
struct Asked {
    before: oneshot::Receiver<Before>,
    /// What was observed since: the answer does not have it. `None` when that was too much to hold; then the answer is of no use.
    since: Option<String>,
}

impl Tap {
    async fn run(
        mut self,
        initial: oneshot::Sender<InitialState>,
        namespaces: &[String],
        mut events: mpsc::Receiver<SourceEvent>,
        mut asked: mpsc::Receiver<oneshot::Sender<()>>,
    ) -> Result<(), HubEnded> {
        let (mut keeping, mut anew) = (self.archive.keeping(), self.archive.anew());
        match self.archive.before(&self.name).await {
            Before::Known(mut stored) => {
                self.heard_millis = stored.heard_millis;
                let exists = |known: &Deployment| known.deleted_millis.is_none();
                if stored.timeline.model().deployments.values().any(exists) {
                    self.unproven = Some(Unproven::default());
                }
                self.leave_unwatched(&mut stored, namespaces);
                if let Some(unproven) = &mut self.unproven {
                    let known = stored.timeline.model().deployments.values().filter(|known| exists(known));
                    unproven.deployments = known.map(|known| (known.uid, known.namespace.clone())).collect();
                }
                tracing::info!("cluster {} resumed from its history", self.name);
                let _ = initial.send(*stored); // the hub may have ended
            }
            Before::Nothing | Before::Unusable => drop(initial),
            Before::Unread => {
                let (ask_at, pause) = (Instant::now(), HEARD_EVERY);
                self.unread = Some(Unread { asked: None, has_checkpoint: true, ask_at, pause });
                drop(initial);
            }
        }
        if *keeping.borrow() != Keeping::Written {
            keeping.mark_changed();
        }
        let mut heard = tokio::time::interval(HEARD_EVERY);
        let mut checkpoint = tokio::time::interval_at(Instant::now() + CHECKPOINT_EVERY, CHECKPOINT_EVERY);
        'stored: loop {
            tokio::select! {
                Some(event) = events.recv() => {
                    if !self.event(event).await? {
                        break;
                    }
                }
                Some(reply) = asked.recv() => {
                    // Whoever asks means everything that was in the queue before.
                    for _ in 0..kube::QUEUE {
                        let Ok(event) = events.try_recv() else { break };
                        if !self.event(event).await? {
                            break 'stored;
                        }
                    }
                    self.checkpoint().await?;
                    let _ = reply.send(()); // whoever asked may have given up
                }
                Ok(()) = keeping.changed() => self.tell_keeping(&mut keeping).await?,
                Ok(()) = anew.changed() => self.tell_all().await?,
                _ = heard.tick() => self.look(namespaces).await?,
                _ = checkpoint.tick() => self.checkpoint().await?,
                () = self.to_hub.closed() => return Ok(()),
            }
        }
        drop(asked); // nobody waits for a checkpoint of a cluster that is not stored
        while let Some(event) = events.recv().await {
            self.send(event).await?;
        }
        Ok(())
    }

    /// Hands an event on, and notes it. `false` where the history is of another cluster: nothing is stored from here on.
    async fn event(&mut self, mut event: SourceEvent) -> Result<bool, HubEnded> {
        if let SourceEvent::Reset { kind, namespace, gap_since_millis, .. } = &mut event
            && self.listed.insert((*kind, namespace.clone()))
        {
            // The first list after a start ends the time in which nobody looked.
            *gap_since_millis = gap_since_millis.or(self.heard_millis);
        }
        let is_same = self.unproven.as_mut().map(|unproven| unproven.is_same_cluster(&event, self.heard_millis));
        match (is_same, &mut self.unproven) {
            (Some(Some(false)), _) => {
                self.refuse(event).await?;
                return Ok(false);
            }
            (Some(None), Some(unproven)) if unproven.bytes() < MOST_HELD => {
                unproven.held.extend(ObservedLines::of(&event));
            }
            _ => {
                if let Some(unproven) = self.unproven.take() {
                    unproven.held.into_iter().for_each(|lines| self.journal.note_lines(lines));
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
            self.tell_index().await?;
        }
        Ok(true)
    }

    fn note(&mut self, event: &SourceEvent) {
        self.journal.note(event);
        let asked = self.unread.as_mut().and_then(|unread| unread.asked.as_mut());
        if let Some(Asked { since, .. }) = asked
            && let Some(lines) = ObservedLines::of(event)
        {
            *since = since.take().filter(|since| since.len() < MOST_HELD).map(|since| since + &lines.text);
        }
    }

    async fn send(&self, event: SourceEvent) -> Result<(), HubEnded> {
        self.to_hub.send(event).await.map_err(|_| HubEnded)
    }

    /// Tells the hub once more what was observed, beside a timeline that does not know it.
    async fn send_again(&self, text: &str, has_gaps: bool) -> Result<(), HubEnded> {
        for mut observed in recording::observations(text) {
            if let Some(Fact::Listed { gap_since_millis, .. }) = observed.fact.as_mut().filter(|_| !has_gaps) {
                *gap_since_millis = None;
            }
            self.send(SourceEvent::Recorded { observed: Box::new(observed), line: None }).await?;
        }
        Ok(())
    }

    /// What is stored under the name is of another cluster: it stays as it is, and the hub begins without it.
    async fn refuse(&mut self, mut event: SourceEvent) -> Result<(), HubEnded> {
        let why = format!(
            "the history of {} belongs to another cluster; give this cluster another name in rollcast.toml",
            self.name
        );
        tracing::warn!("cannot write history: {why}");
        self.send(SourceEvent::Begins(Box::default())).await?;
        let held: String =
            self.unproven.take().into_iter().flat_map(|unproven| unproven.held).map(|l| l.text).collect();
        self.send_again(&held, false).await?;
        if let SourceEvent::Reset { gap_since_millis, .. } = &mut event {
            *gap_since_millis = None; // the first list of a cluster follows no gap
        }
        self.send(SourceEvent::Unwritten(Some(Unwritten { since_millis: self.now_millis(), why }))).await?;
        self.send(event).await
    }

    fn now_millis(&self) -> Millis {
        self.clock.borrow().now_millis()
    }

    /// What is stored may be of namespaces that are not watched any more. No list of theirs will come, so it would stand there as it was
    /// for ever: empty lists end it, with the time in which nobody looked before them.
    fn leave_unwatched(&mut self, stored: &mut InitialState, namespaces: &[String]) {
        let InitialState { timeline, history, observed, heard_millis, .. } = stored;
        let model = timeline.model();
        let deployments = model.deployments.values().filter(|known| known.deleted_millis.is_none());
        let sets = model.replica_sets.values().filter(|known| known.removed_millis.is_none());
        let pods = model.pods.values().filter(|known| known.state() != PodState::Gone);
        let there = deployments.map(|known| &known.namespace).chain(sets.map(|known| &known.namespace));
        let there = there.chain(pods.map(|known| &known.namespace));
        let is_left = |there: &&String| !namespaces.is_empty() && !namespaces.contains(there);
        let left: BTreeSet<String> = there.filter(is_left).cloned().collect();
        if !left.is_empty() {
            tracing::info!("{} namespaces of cluster {} are no longer watched", left.len(), self.name);
        }
        let at_millis = self.now_millis().max(heard_millis.unwrap_or(Millis::MIN));
        for namespace in left {
            for kind in [Kind::Deployment, Kind::ReplicaSet, Kind::Pod] {
                let (namespace, gap_since_millis) = (Some(namespace.clone()), *heard_millis);
                let (earlier, objects, present) = (Vec::new(), Vec::new(), Vec::new());
                let fact = Some(Fact::Listed { kind, namespace: namespace.clone(), present, gap_since_millis });
                history.note(at_millis, &Observed { at_millis, fact }.apply(timeline));
                *observed = Some((observed.map_or(at_millis, |(first, _)| first), at_millis));
                let event = SourceEvent::Reset { kind, namespace, earlier, objects, gap_since_millis, at_millis };
                match &mut self.unproven {
                    Some(unproven) => unproven.held.extend(ObservedLines::of(&event)),
                    None => self.journal.note(&event),
                }
            }
        }
    }

    /// Says whether what is observed is written.
    async fn tell_keeping(&mut self, keeping: &mut watch::Receiver<Keeping>) -> Result<(), HubEnded> {
        let unwritten = match &*keeping.borrow_and_update() {
            Keeping::Written => None,
            Keeping::Failing { since_millis, why } => Some(Unwritten { since_millis: *since_millis, why: why.clone() }),
        };
        self.send(SourceEvent::Unwritten(unwritten)).await
    }

    /// Writes down that the cluster is there, and how rollouts and workloads stand that something was heard of.
    async fn look(&mut self, namespaces: &[String]) -> Result<(), HubEnded> {
        self.journal.tell_late();
        if self.journal.has_gap() {
            let existing = self.hub.read(|reader| existing(reader.timeline.model())).await?;
            let is_told = self.journal.end_gap(&existing);
            self.archive.counters().missed.fetch_add(u64::from(is_told), Ordering::Relaxed);
        }
        let is_live = self.connection.borrow().state == ConnectionState::Live;
        if is_live {
            self.journal.heard(self.now_millis());
        }
        self.catch_up(namespaces).await?;
        self.ask();
        self.tell_index().await
    }

    /// Asks for what could not be read at the start. The answer is looked for later: the store may take its time.
    fn ask(&mut self) {
        let Some(unread) = &mut self.unread else { return };
        let is_due = unread.asked.is_none() && Instant::now() >= unread.ask_at;
        if !is_due || !self.journal.is_even() || *self.archive.keeping().borrow() != Keeping::Written {
            return;
        }
        unread.ask_at = Instant::now() + unread.pause;
        unread.pause = (unread.pause * 2).min(LONGEST_PAUSE);
        let before = self.archive.late(&self.name, unread.has_checkpoint);
        unread.asked = before.map(|before| Asked { before, since: Some(String::new()) });
    }

    /// Hands on what could not be read at the start, with what was observed since then, if that was answered.
    async fn catch_up(&mut self, namespaces: &[String]) -> Result<(), HubEnded> {
        let Some(unread) = &mut self.unread else { return Ok(()) };
        let Some(mut asked) = unread.asked.take() else { return Ok(()) };
        let before = match asked.before.try_recv() {
            Ok(before) => before,
            Err(oneshot::error::TryRecvError::Empty) => {
                unread.asked = Some(asked);
                return Ok(());
            }
            Err(oneshot::error::TryRecvError::Closed) => Before::Unread,
        };
        match (before, asked.since) {
            (Before::Unusable, _) if unread.has_checkpoint => {
                (unread.has_checkpoint, unread.ask_at) = (false, Instant::now());
                return Ok(());
            }
            (Before::Unread, _) | (Before::Known(_), None) => return Ok(()),
            (Before::Nothing | Before::Unusable, _) => {}
            (Before::Known(mut stored), Some(since)) => {
                self.leave_unwatched(&mut stored, namespaces);
                self.send(SourceEvent::Begins(stored)).await?;
                self.send_again(&since, true).await?;
            }
        }
        self.unread = None;
        self.tell_all().await
    }

    /// Tells everything besides lines: what is written now may be another store, which knows nothing of what was before.
    async fn tell_all(&mut self) -> Result<(), HubEnded> {
        (self.checkpoint_seq, self.index.is_another) = (0, true);
        self.checkpoint().await
    }

    /// Puts the timeline away, if anything changed since the last time.
    async fn checkpoint(&mut self) -> Result<(), HubEnded> {
        self.tell_index().await?;
        if !self.is_whole() || !self.journal.is_even() {
            return Ok(());
        }
        let before = self.checkpoint_seq;
        let made = self.hub.read(move |reader| {
            let (timeline, history, observed) = (reader.timeline, reader.history, reader.observed);
            let made = || resume::checkpoint(&Standing { timeline, history, observed });
            let checkpoint = if timeline.seq() == before { None } else { made() };
            Some((timeline.seq(), observed.map_or(0, |(_, last)| last), checkpoint?))
        });
        if let Some((seq, at_millis, checkpoint)) = made.await? {
            self.journal.checkpoint(at_millis, checkpoint);
            self.checkpoint_seq = seq;
        }
        Ok(())
    }

    /// The hub knows everything that is stored; else its rollouts would be told as others than those.
    const fn is_whole(&self) -> bool {
        self.unread.is_none() && self.unproven.is_none()
    }

    async fn tell_index(&mut self) -> Result<(), HubEnded> {
        if !self.is_whole() {
            return Ok(());
        }
        let (name, mut index) = (self.name.clone(), mem::take(&mut self.index));
        let read = move |reader: &Reader<'_>| {
            let (rollouts, turns) = index.read(&name, reader);
            (index, rollouts, turns)
        };
        let (index, rollouts, turns) = self.hub.read(read).await?;
        self.index = index;
        let open = rollouts.iter().filter(|rollout| rollout.is_going_on());
        let open: Vec<(Uid, String)> = open.map(|rollout| (rollout.uid, rollout.cause.clone())).collect();
        if !self.index.unindexed.is_empty() && self.journal.rollouts(rollouts) {
            for uid in mem::take(&mut self.index.unindexed) {
                self.index.open.remove(&uid);
            }
            self.index.open.extend(open);
        }
        if turns != Turns::default()
            && let Err(turns) = self.journal.activity(turns)
        {
            self.index.activity.again(turns);
        }
        Ok(())
    }
}

impl Unproven {
    fn bytes(&self) -> usize {
        self.held.iter().map(|lines| lines.text.len()).sum()
    }

    /// Whether a list is of the cluster whose history it is; `None` where it does not tell. One that has Deployments in places that were
    /// watched, which were there long before the last word and are not known, while it lacks all that are known, is of another one: UIDs
    /// are never given twice.
    fn is_same_cluster(&mut self, event: &SourceEvent, heard_millis: Option<Millis>) -> Option<bool> {
        let (namespace, objects, is_complete) = match event {
            SourceEvent::Page { kind: Kind::Deployment, namespace, objects, .. } => (namespace, objects, false),
            SourceEvent::Reset { kind: Kind::Deployment, namespace, objects, .. } => (namespace, objects, true),
            // No list will tell.
            SourceEvent::Health { kind: Kind::Deployment, health: Health::Forbidden { .. }, .. } => return Some(true),
            _ => return None,
        };
        let is_listed = |known: &&String| namespace.as_ref().is_none_or(|listed| listed == *known);
        let places: BTreeSet<&str> = self.deployments.values().filter(is_listed).map(String::as_str).collect();
        if places.is_empty() {
            return self.deployments.is_empty().then_some(true); // else the list of another namespace tells
        }
        if objects.iter().filter_map(|object| object.uid().ok()).any(|uid| self.deployments.contains_key(&uid)) {
            return Some(true);
        }
        let long_before_millis = heard_millis.unwrap_or(Millis::MIN).saturating_sub(LONG_BEFORE_MILLIS);
        let is_old = |object: &Object| match object.clone().fact(Seen::InList) {
            Ok(Some(Fact::Deployment(fact, _))) => {
                fact.meta.created_at_millis < long_before_millis && places.contains(fact.meta.namespace.as_str())
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
