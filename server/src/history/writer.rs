//! The writer: one thread that alone touches the store's writing side. What cannot be written now stays here, as far as there is room,
//! and is tried again; then the queue fills, and hubs hold back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use timeline::past::PastRollout;
use timeline::{Millis, Uid};
use tokio::sync::{oneshot, watch};

use super::activity::Turns;
use super::batch;
use super::journal::{Answer, Message, ObservedLines, Told};
use super::pulse::Pulse;
use super::recorder::Recorder;
use super::status::{Counters, WriteStatus};
use super::store::{Checkpoint, Commit, Episode, Lines, Store, StoreError, Stored, Written};
use super::unread::Unread;
use crate::telemetry::clock;

/// What came is written after this long.
const COMMIT_EVERY: Duration = Duration::from_millis(500);
/// What could not be written is tried again after this long, and a store that could not be opened.
const AGAIN: Duration = Duration::from_secs(2);
/// A store that another program has is waited for this long at the start.
const HANDOVER: Duration = Duration::from_secs(2);
/// The store is tidied this often.
const TIDY_EVERY: Duration = Duration::from_secs(60);
/// Most bytes of lines that wait to be written; then nothing more is taken from the queue.
const MOST_WAITING: usize = 32 << 20;

type Open = Box<dyn FnMut() -> Result<Box<dyn Store>, StoreError> + Send>;

/// The writer.
pub(super) struct Writer {
    open: Open,
    store: Option<Box<dyn Store>>,
    keeping: Arc<watch::Sender<WriteStatus>>,
    counters: Arc<Counters>,
    pulse: Pulse,
    waiting: BTreeMap<Arc<str>, Waiting>,
    /// What goes on with the workloads of each cluster.
    recorders: BTreeMap<Arc<str>, Recorder>,
    /// The scope of each cluster, as it was told last.
    scopes: BTreeMap<Arc<str>, Arc<str>>,
    /// What could not be written, or of which that is not known. It is tried again as it is, before anything else.
    unwritten: Vec<Commit>,
    /// Clusters of which something may be kept that could not be read at the start.
    unread: BTreeMap<Arc<str>, Unread>,
    /// Clusters that another Rollcast writes.
    foreign: BTreeSet<Arc<str>>,
    /// The store was opened again, and may be another one; nothing was written to it yet.
    is_reopened: bool,
    /// How often what is known besides lines is to be told anew.
    anew: watch::Sender<u64>,
    /// How often lines that were written were lost.
    lost: watch::Sender<u64>,
    /// The store that was written before is given up.
    is_given_up: bool,
    /// Commits that were made.
    made: u64,
    /// Since when something waits.
    since: Option<Instant>,
    not_before: Instant,
    tidied: Instant,
}

/// What waits to be written of one cluster.
#[derive(Default)]
struct Waiting {
    scope: Arc<str>,
    lines: String,
    span: Option<(Millis, Millis)>,
    heard_millis: Millis,
    checkpoint: Option<Checkpoint>,
    rollouts: BTreeMap<(Uid, u64, Millis), PastRollout>,
    /// Episodes that ended.
    episodes: Vec<Episode>,
}

impl Waiting {
    fn observed(&mut self, lines: &ObservedLines) {
        self.lines.push_str(&lines.text);
        let (from, to) = self.span.unwrap_or((lines.from_millis, lines.to_millis));
        self.span = Some((from, to.max(lines.to_millis)));
        self.heard_millis = self.heard_millis.max(lines.to_millis);
    }

    /// It, to be written, with what is due of its recorder; `None` when there is not enough memory.
    fn commit(self, cluster: Arc<str>, number: u64, recorder: Option<&mut Recorder>) -> Option<Commit> {
        let Self { scope, lines, span, heard_millis, checkpoint, rollouts, mut episodes } = self;
        let lines = match span {
            Some((from_millis, to_millis)) => Some(Lines { from_millis, to_millis, body: batch::pack(&lines).ok()? }),
            None => None,
        };
        let rollouts = rollouts.into_values().collect();
        let (open, snapshots) = recorder.map(Recorder::due).unwrap_or_default();
        episodes.extend(open);
        Some(Commit { number, cluster, scope, lines, heard_millis, checkpoint, rollouts, episodes, snapshots })
    }
}

impl Writer {
    pub(super) fn new(
        open: Open,
        keeping: Arc<watch::Sender<WriteStatus>>,
        (anew, lost): (watch::Sender<u64>, watch::Sender<u64>),
        counters: Arc<Counters>,
        pulse: Pulse,
    ) -> Self {
        let now = Instant::now();
        Self {
            open,
            store: None,
            keeping,
            counters,
            pulse,
            waiting: BTreeMap::new(),
            recorders: BTreeMap::new(),
            scopes: BTreeMap::new(),
            unwritten: Vec::new(),
            unread: BTreeMap::new(),
            foreign: BTreeSet::new(),
            is_reopened: false,
            anew,
            lost,
            is_given_up: false,
            made: 0,
            since: None,
            not_before: now,
            tidied: now,
        }
    }

    /// Runs until the program ends.
    pub(super) fn run(mut self, inbox: &Receiver<Message>, is_begun: &watch::Sender<bool>) {
        self.begin();
        is_begun.send_replace(true);
        loop {
            let is_full = self.waiting.values().map(|waiting| waiting.lines.len()).sum::<usize>() > MOST_WAITING;
            let wait = self.wait();
            let message = if is_full {
                std::thread::sleep(wait);
                Err(RecvTimeoutError::Timeout)
            } else {
                inbox.recv_timeout(wait)
            };
            match message {
                Ok(Message::Of { cluster, scope, told }) => self.take(cluster, scope, told),
                Ok(Message::Resume { cluster, made_by, is_late, reply }) => {
                    let mut answer = self.resume(&cluster, made_by, is_late);
                    let recorded = match &mut answer {
                        Answer::Stored(Some(Stored { recorded, .. })) => Some(std::mem::take(recorded)),
                        _ => None,
                    };
                    // Who did not wait for it began without, and asks again later.
                    let is_taken = reply.send(answer).is_ok();
                    if !is_taken && !is_late {
                        self.unread.entry(cluster).or_default();
                    } else if let Some(recorded) = recorded.filter(|_| !is_late) {
                        self.recorders.insert(cluster, Recorder::from_stored(&recorded));
                    }
                }
                Ok(Message::Close { reply }) => return self.close(reply),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.write();
                    return;
                }
            }
            let now = Instant::now();
            if self.since.is_some_and(|since| now >= since + COMMIT_EVERY) && now >= self.not_before {
                self.write();
            }
            if now >= self.tidied {
                self.tidy();
            }
        }
    }

    /// How long nothing but a message calls.
    fn wait(&self) -> Duration {
        let write = self.since.map(|since| (since + COMMIT_EVERY).max(self.not_before));
        let next = write.map_or(self.tidied, |write| write.min(self.tidied));
        next.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
    }

    fn take(&mut self, cluster: Arc<str>, scope: Arc<str>, told: Told) {
        self.since.get_or_insert_with(Instant::now);
        self.scopes.insert(cluster.clone(), scope.clone());
        let recorder = self.recorders.entry(cluster.clone()).or_default();
        let waiting = self.waiting.entry(cluster).or_default();
        waiting.scope = scope;
        match told {
            Told::Lines(observed) => {
                waiting.observed(&observed);
                waiting.checkpoint = None; // one that could not be written yet says nothing of these
                recorder.take(&observed.text);
            }
            Told::Heard(at_millis) => waiting.heard_millis = waiting.heard_millis.max(at_millis),
            Told::Rollouts(rollouts) => {
                let key = |rollout: &PastRollout| (rollout.uid, rollout.revision, rollout.started_millis);
                rollouts.iter().for_each(|rollout| recorder.rollout(rollout));
                waiting.rollouts.extend(rollouts.into_iter().map(|rollout| (key(&rollout), rollout)));
            }
            Told::Activity(Turns { active, settled }) => {
                active.into_iter().for_each(|workload| recorder.begin(workload));
                waiting.episodes.extend(settled.into_iter().filter_map(|workload| recorder.settle(workload)));
            }
            Told::Checkpoint(at_millis, checkpoint) => {
                waiting.heard_millis = waiting.heard_millis.max(at_millis);
                waiting.checkpoint = Some(checkpoint);
                // It stands for what is known now: what comes later must not get into the same commit.
                self.write();
            }
        }
    }

    fn resume(&mut self, cluster: &Arc<str>, made_by: Option<&str>, is_late: bool) -> Answer {
        if is_late {
            self.write();
            // What another one writes may lack what was seen here a moment ago.
            if self.foreign.contains(cluster) || !self.unwritten.is_empty() || self.waiting.contains_key(cluster) {
                return Answer::Unread;
            }
        }
        let resumed = self.store.as_mut().map(|store| store.resume(cluster, made_by));
        if let Some(Err(why)) = &resumed {
            tracing::warn!("cannot read the history of cluster {cluster}: {why}");
        }
        match resumed {
            Some(Ok(stored)) => {
                self.unread.remove(cluster);
                Answer::Stored(stored)
            }
            None | Some(Err(StoreError::Failed(_))) => {
                self.unread.entry(cluster.clone()).or_default();
                Answer::Unread
            }
            // Another file is begun.
            Some(Err(why)) => {
                self.fail(&why);
                Answer::Stored(None)
            }
        }
    }

    /// Opens the store. A program that is just ending may have it for a moment.
    fn begin(&mut self) {
        let deadline = Instant::now() + HANDOVER;
        loop {
            let (now_millis, open) = (clock::now_millis(), &mut self.open);
            match self.pulse.asking(now_millis, open) {
                Ok(store) => self.store = Some(store),
                Err(StoreError::Taken(_)) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(50));
                    continue;
                }
                Err(why) => self.fail(&why),
            }
            return;
        }
    }

    fn open_store(&mut self) -> bool {
        if self.store.is_none() {
            let since_millis = self.unwritten_since_millis();
            match self.pulse.asking(since_millis, &mut self.open) {
                Ok(store) => {
                    self.store = Some(store);
                    self.is_reopened = true;
                }
                Err(why) => self.fail(&why),
            }
        }
        self.store.is_some()
    }

    /// Writes what waits, if it can be written.
    fn write(&mut self) {
        while self.commit() {}
    }

    /// Writes what could not be written before, else what waits. `true` when there may be more.
    fn commit(&mut self) -> bool {
        if self.unwritten.is_empty() {
            self.made += 1;
            let waiting = std::mem::take(&mut self.waiting);
            self.unwritten = waiting
                .into_iter()
                .filter_map(|(name, waiting)| {
                    let recorder = self.recorders.get_mut(&name);
                    waiting.commit(name, self.made, recorder)
                })
                .collect();
            self.since = None;
        }
        if self.unwritten.is_empty() || !self.open_store() {
            return false;
        }
        let since_millis = self.unwritten_since_millis();
        let Some(store) = &mut self.store else { return false };
        let (unread, unwritten) = (&mut self.unread, &mut self.unwritten);
        let written = self.pulse.asking(since_millis, || {
            for commit in unwritten.iter_mut() {
                if let Some(unread) = unread.get_mut(&commit.cluster) {
                    unread.mend(&mut **store, commit)?;
                }
            }
            store.commit(unwritten)
        });
        match written {
            Ok(written) => {
                for Commit { cluster, .. } in self.unwritten.drain(..) {
                    if written.clusters.contains(&cluster) {
                        self.foreign.remove(&cluster);
                    } else {
                        self.foreign.insert(cluster);
                    }
                }
                self.wrote(&written);
                !self.waiting.is_empty()
            }
            Err(why) => {
                self.fail(&why);
                false
            }
        }
    }

    fn wrote(&mut self, written: &Written) {
        self.counters.commits.fetch_add(u64::from(!written.clusters.is_empty()), Ordering::Relaxed);
        self.counters.bytes.fetch_add(written.bytes, Ordering::Relaxed);
        self.keeping.send_if_modified(|keeping| {
            let is_again = *keeping != WriteStatus::Healthy;
            if is_again {
                tracing::info!("writing history again");
                *keeping = WriteStatus::Healthy;
            }
            is_again
        });
        if written.is_anew {
            tracing::info!("this server writes the history now; another server wrote it before");
        }
        // A store that was only slow, or failed for a while, lacks nothing: what could not be written was tried again as it was.
        if std::mem::take(&mut self.is_reopened) || written.is_anew {
            self.anew.send_modify(|times| *times += 1);
            self.recorders.values_mut().for_each(Recorder::write_anew);
        }
        if std::mem::take(&mut self.is_given_up) {
            self.lost.send_modify(|times| *times += 1);
        }
    }

    /// Takes note that nothing can be written now.
    fn fail(&mut self, why: &StoreError) {
        self.not_before = Instant::now() + AGAIN;
        if !self.unwritten.is_empty() {
            self.since.get_or_insert_with(Instant::now);
        }
        self.counters.failures.fetch_add(1, Ordering::Relaxed);
        // A store that is damaged or in other hands is opened anew: it may be another one by then.
        if !matches!(why, StoreError::Failed(_)) {
            self.is_given_up |= self.store.take().is_some();
        }
        let now_millis = self.unwritten_since_millis();
        let why = why.to_string();
        self.keeping.send_if_modified(|keeping| {
            let since_millis = match keeping {
                WriteStatus::Failing { why: known, .. } if *known == why => return false,
                WriteStatus::Failing { since_millis, .. } => *since_millis,
                WriteStatus::Healthy => now_millis,
            };
            tracing::warn!("cannot write history: {why}");
            *keeping = WriteStatus::Failing { since_millis, why: why.clone() };
            true
        });
    }

    /// What arrived since then is not written.
    fn unwritten_since_millis(&self) -> Millis {
        let unwritten = self.unwritten.iter().filter_map(|commit| Some(commit.lines.as_ref()?.from_millis));
        let waiting = self.waiting.values().filter_map(|waiting| Some(waiting.span?.0));
        unwritten.chain(waiting).min().unwrap_or_else(clock::now_millis)
    }

    fn tidy(&mut self) {
        let now = Instant::now();
        self.tidied = now + TIDY_EVERY;
        let Some(store) = self.store.as_mut().filter(|_| now >= self.not_before) else { return };
        match store.tidy(clock::now_millis()) {
            Ok(true) => self.tidied = now + COMMIT_EVERY,
            Ok(false) => {}
            Err(why) => self.fail(&why),
        }
    }

    fn close(mut self, reply: oneshot::Sender<()>) {
        for (cluster, recorder) in &self.recorders {
            let open = recorder.open_episodes();
            if let Some(scope) = self.scopes.get(cluster).filter(|_| !open.is_empty()) {
                let waiting = self.waiting.entry(cluster.clone()).or_default();
                waiting.scope = scope.clone();
                waiting.episodes.extend(open);
            }
        }
        self.write();
        drop(self.store.take()); // so that another one may open it
        let _ = reply.send(()); // whoever asked may have given up
    }
}
