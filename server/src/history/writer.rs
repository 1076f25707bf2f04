//! The writer: the only thread that writes to the store. Entries that cannot be written now are kept here, as far as there is
//! room, and retried. After that the queue fills, and journals keep the last states.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use timeline::episodes::EpisodeRow;
use timeline::wire::Unwritten;
use timeline::{Millis, Uid};
use tokio::sync::{oneshot, watch};

use super::activity::ActivityChanges;
use super::batch::Batch;
use super::continuation::Continuation;
use super::journal::{JournalEntry, Message, ObservedLines, QueueReceiver};
use super::recorder::Recorder;
use super::store::{Commit, CommitResult, Episode, Store, StoreError, StoredCluster};
use super::watchdog::Watchdog;
use crate::telemetry::clock;

const COMMIT_EVERY: Duration = Duration::from_millis(500);
/// Time until a failed commit, or opening the store, is retried.
const RETRY_AFTER: Duration = Duration::from_secs(2);
/// Time until the first tidying of a store: it shortens the log, from which clusters are restored before.
const FIRST_TIDY_AFTER: Duration = Duration::from_secs(5);
const TIDY_EVERY: Duration = Duration::from_secs(60);
/// Largest size of pending lines, in bytes; beyond it nothing more is taken from the queue.
const MOST_PENDING: usize = 32 << 20;

/// The writer's counters under `/metrics`.
#[derive(Debug, Default)]
pub struct HistoryCounters {
    /// Commits.
    pub commits: AtomicU64,
    /// Commits that failed, and stores that could not be opened.
    pub failures: AtomicU64,
    /// Compressed bytes of lines that were written.
    pub bytes: AtomicU64,
    /// Gaps in the history because writing failed for long.
    pub missed: AtomicU64,
}

type OpenStore = Box<dyn FnMut() -> Result<Box<dyn Store>, StoreError> + Send>;

pub(super) struct Writer {
    open: OpenStore,
    store: Option<Box<dyn Store>>,
    status: watch::Sender<Option<Unwritten>>,
    counters: Arc<HistoryCounters>,
    watchdog: Watchdog,
    clusters: BTreeMap<Arc<str>, ClusterWriter>,
    /// Commits that failed, or may have failed. They are retried unchanged, before anything else.
    unwritten: Vec<Commit>,
    /// Whether the store was reopened, may be another one, and has not been written yet.
    is_reopened: bool,
    /// Counts the stores that lack everything besides lines.
    reopened: watch::Sender<u64>,
    /// Counts the stores that lack earlier lines.
    lost: watch::Sender<u64>,
    /// Whether the store was given up: the next one lacks its lines.
    is_given_up: bool,
    /// Number of the last commit.
    number: u64,
    /// Arrival of the first pending entry.
    since: Option<Instant>,
    not_before: Instant,
    tidy_at: Instant,
}

#[derive(Default)]
struct ClusterWriter {
    /// Whether an entry arrived since the start.
    is_observed: bool,
    recorder: Recorder,
    /// Entries that are not yet in a commit.
    pending: Option<Pending>,
    /// Set if its history may be in the store, and could not be read at the start.
    continuation: Option<Continuation>,
    /// Whether another server writes its history.
    is_foreign: bool,
}

#[derive(Default)]
struct Pending {
    lines: Option<ObservedLines>,
    heard_millis: Millis,
    checkpoint: Option<Vec<u8>>,
    rollouts: BTreeMap<(Uid, u64, Millis), EpisodeRow>,
    episodes: Vec<Episode>,
}

impl ClusterWriter {
    fn add(&mut self, entry: JournalEntry) {
        let (pending, recorder) = (self.pending.get_or_insert_default(), &mut self.recorder);
        match entry {
            JournalEntry::Lines(lines) => {
                pending.heard_millis = pending.heard_millis.max(lines.to_millis);
                pending.checkpoint = None; // it lacks these lines
                recorder.record(&lines.text);
                lines.append_to(&mut pending.lines);
            }
            JournalEntry::Heard(at_millis) => pending.heard_millis = pending.heard_millis.max(at_millis),
            JournalEntry::Rollouts(rollouts) => {
                for mut rollout in rollouts {
                    // Trouble, losses and restarts after its episode belong to another episode.
                    if !recorder.is_in_episode(&rollout) {
                        rollout.clear_aftermath();
                        rollout.restarts = rollout.restarts.filter(|_| rollout.is_going_on());
                    }
                    recorder.record_rollout(&rollout);
                    pending.rollouts.insert((rollout.uid, rollout.revision, rollout.started_millis), rollout);
                }
            }
            JournalEntry::Activity(ActivityChanges { active, settled }) => {
                active.into_iter().for_each(|workload| recorder.begin_episode(workload));
                pending.episodes.extend(settled.into_iter().filter_map(|workload| recorder.settle(workload)));
            }
            JournalEntry::Checkpoint(at_millis, checkpoint) => {
                pending.heard_millis = pending.heard_millis.max(at_millis);
                pending.checkpoint = Some(checkpoint);
            }
        }
    }

    /// Returns the next commit; `None` if nothing is pending, or memory is short.
    fn commit(&mut self, cluster: &Arc<str>, number: u64) -> Option<Commit> {
        let pending = self.pending.take().or_else(|| self.recorder.has_more().then(Pending::default))?;
        let Pending { lines, heard_millis, checkpoint, rollouts, mut episodes } = pending;
        let pack = |lines: ObservedLines| Batch::pack(lines.from_millis, lines.to_millis, &lines.text);
        let lines = lines.map(pack).transpose().ok()?;
        let (cluster, rollouts) = (cluster.clone(), rollouts.into_values().collect());
        let (open, snapshots) = self.recorder.pending_writes();
        episodes.extend(open);
        Some(Commit { number, cluster, lines, heard_millis, checkpoint, rollouts, episodes, snapshots })
    }
}

impl Writer {
    pub(super) fn new(
        open: OpenStore,
        status: watch::Sender<Option<Unwritten>>,
        (reopened, lost): (watch::Sender<u64>, watch::Sender<u64>),
        counters: Arc<HistoryCounters>,
    ) -> Self {
        let now = Instant::now();
        Self {
            open,
            store: None,
            watchdog: Watchdog::start(status.clone()),
            status,
            counters,
            clusters: BTreeMap::new(),
            unwritten: Vec::new(),
            is_reopened: false,
            reopened,
            lost,
            is_given_up: false,
            number: 0,
            since: None,
            not_before: now,
            tidy_at: now + FIRST_TIDY_AFTER,
        }
    }

    pub(super) fn run(mut self, inbox: &QueueReceiver, is_open: &watch::Sender<bool>) {
        self.open_store();
        is_open.send_replace(true);
        loop {
            let lines = self.pending().filter_map(|pending| pending.lines.as_ref());
            let bytes: usize = lines.map(|lines| lines.text.len()).sum();
            let wait = self.wait();
            let message = if bytes > MOST_PENDING {
                std::thread::sleep(wait);
                Err(RecvTimeoutError::Timeout)
            } else {
                inbox.recv_timeout(wait)
            };
            match message {
                Ok(Message::Entry { cluster, entry }) => self.add(cluster, entry),
                Ok(Message::Restore { cluster, use_checkpoint, is_late, reply }) => {
                    self.restore(cluster, use_checkpoint, is_late, reply);
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
            if now >= self.tidy_at {
                self.tidy();
            }
        }
    }

    fn pending(&self) -> impl Iterator<Item = &Pending> {
        self.clusters.values().filter_map(|cluster| cluster.pending.as_ref())
    }

    /// Returns the time until the next commit or tidy.
    fn wait(&self) -> Duration {
        let write = self.since.map(|since| (since + COMMIT_EVERY).max(self.not_before));
        let next = write.map_or(self.tidy_at, |write| write.min(self.tidy_at));
        next.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
    }

    fn add(&mut self, cluster: Arc<str>, entry: JournalEntry) {
        self.since.get_or_insert_with(Instant::now);
        let is_checkpoint = matches!(entry, JournalEntry::Checkpoint(..));
        let cluster = self.clusters.entry(cluster).or_default();
        cluster.is_observed = true;
        cluster.add(entry);
        if is_checkpoint {
            self.write(); // so that later entries get into another commit
        }
    }

    /// Sends the stored data of a cluster. A tap that no longer waits has begun without it, and requests it again later.
    fn restore(
        &mut self,
        cluster: Arc<str>,
        use_checkpoint: bool,
        is_late: bool,
        reply: oneshot::Sender<Option<StoredCluster>>,
    ) {
        let mut stored = self.load(&cluster, use_checkpoint, is_late);
        let state = stored.as_mut().and_then(|stored| Some(std::mem::take(&mut stored.as_mut()?.recorder)));
        let is_received = stored.is_some_and(|stored| reply.send(stored).is_ok());
        if is_late {
            return;
        }
        let cluster = self.clusters.entry(cluster).or_default();
        if !is_received {
            cluster.continuation.get_or_insert_default();
        } else if let Some(state) = state {
            cluster.recorder = Recorder::restore(&state);
        }
    }

    /// Reads the stored data of a cluster; `None` if it cannot be read now.
    fn load(&mut self, name: &Arc<str>, use_checkpoint: bool, is_late: bool) -> Option<Option<StoredCluster>> {
        if is_late {
            self.write();
            // The history written by another server may lack recent observations of this one.
            let is_behind = self.clusters.get(name).is_some_and(|known| known.is_foreign || known.pending.is_some());
            if is_behind || !self.unwritten.is_empty() {
                return None;
            }
        }
        let since_millis = self.unwritten_since_millis();
        let (watchdog, store) = (&self.watchdog, self.store.as_mut());
        let stored = store.map(|store| watchdog.guard(since_millis, || store.resume(name, use_checkpoint)));
        if let Some(Err(why)) = &stored {
            tracing::warn!("cannot read the history of cluster {name}: {why}");
        }
        let cluster = self.clusters.entry(name.clone()).or_default();
        match stored {
            Some(Ok(stored)) => {
                cluster.continuation = None;
                self.note_response();
                Some(stored)
            }
            None | Some(Err(StoreError::Failed(_))) => {
                cluster.continuation.get_or_insert_default();
                None
            }
            // The writer begins another file.
            Some(Err(why)) => {
                self.fail(&why);
                Some(None)
            }
        }
    }

    /// Opens the store if it is closed.
    fn open_store(&mut self) -> bool {
        if self.store.is_none() {
            match self.watchdog.guard(self.unwritten_since_millis(), &mut self.open) {
                Ok(store) => {
                    self.store = Some(store);
                    self.tidy_at = Instant::now() + FIRST_TIDY_AFTER;
                    self.note_response();
                }
                Err(why) => self.fail(&why),
            }
        }
        self.store.is_some()
    }

    fn write(&mut self) {
        while self.commit() {}
    }

    /// Writes the commits that failed before, otherwise the pending entries. Returns whether more may be pending.
    fn commit(&mut self) -> bool {
        if self.unwritten.is_empty() {
            self.number += 1;
            let commits = self.clusters.iter_mut().filter_map(|(name, cluster)| cluster.commit(name, self.number));
            self.unwritten = commits.collect();
            // The rest of a commit that is too large is written with the next one, even if nothing more is observed.
            let has_more = self.clusters.values().any(|cluster| cluster.recorder.has_more());
            self.since = has_more.then(Instant::now);
        }
        if self.unwritten.is_empty() || !self.open_store() {
            return false;
        }
        let since_millis = self.unwritten_since_millis();
        let Some(store) = &mut self.store else { return false };
        let (clusters, unwritten) = (&mut self.clusters, &mut self.unwritten);
        let written = self.watchdog.guard(since_millis, || {
            for commit in unwritten.iter_mut() {
                let cluster = clusters.get_mut(&commit.cluster);
                if let Some(continuation) = cluster.and_then(|cluster| cluster.continuation.as_mut()) {
                    continuation.apply(&mut **store, commit)?;
                }
            }
            store.commit(unwritten)
        });
        match written {
            Ok(result) => {
                for Commit { cluster: name, .. } in self.unwritten.drain(..) {
                    let is_foreign = !result.clusters.contains(&name);
                    self.clusters.entry(name).or_default().is_foreign = is_foreign;
                }
                self.succeed(&result);
                self.pending().next().is_some()
            }
            Err(why) => {
                self.fail(&why);
                false
            }
        }
    }

    fn succeed(&mut self, result: &CommitResult) {
        self.counters.commits.fetch_add(u64::from(!result.clusters.is_empty()), Ordering::Relaxed);
        self.counters.bytes.fetch_add(result.bytes, Ordering::Relaxed);
        self.recover();
        if result.is_takeover {
            tracing::info!("this server writes the history now; another server wrote it before");
        }
        // A store that was only slow, or failed for a while, lacks nothing: failed commits were retried unchanged.
        if std::mem::take(&mut self.is_reopened) || result.is_takeover {
            self.reopened.send_modify(|times| *times += 1);
            self.clusters.values_mut().for_each(|cluster| cluster.recorder.reset_written());
        }
        if std::mem::take(&mut self.is_given_up) {
            self.lost.send_modify(|times| *times += 1);
        }
    }

    /// Records the success of a call that writes nothing. If it took long, the watchdog has reported that, and a commit may not
    /// follow soon.
    fn note_response(&self) {
        if self.unwritten.is_empty() && self.pending().next().is_none() {
            self.recover();
        }
    }

    fn recover(&self) {
        if self.status.borrow().is_some() {
            tracing::info!("writing history again");
            self.status.send_replace(None);
        }
    }

    fn fail(&mut self, why: &StoreError) {
        self.not_before = Instant::now() + RETRY_AFTER;
        if !self.unwritten.is_empty() {
            self.since.get_or_insert_with(Instant::now);
        }
        self.counters.failures.fetch_add(1, Ordering::Relaxed);
        // A store that is damaged or used by another server is opened again: it may be another one then.
        if !matches!(why, StoreError::Failed(_)) {
            self.is_given_up |= self.store.take().is_some();
        }
        if self.store.is_none() {
            self.is_reopened = true;
            self.tidy_at = self.not_before; // opens the store even if there is nothing to write
        }
        let now_millis = self.unwritten_since_millis();
        let why = why.to_string();
        self.status.send_if_modified(|status| {
            let since_millis = match status {
                Some(known) if known.why == why => return false,
                Some(known) => known.since_millis,
                None => now_millis,
            };
            tracing::warn!("cannot write history: {why}");
            *status = Some(Unwritten { since_millis, why: why.clone() });
            true
        });
    }

    /// Returns the arrival of the first unwritten line, or the present time.
    fn unwritten_since_millis(&self) -> Millis {
        let unwritten = self.unwritten.iter().filter_map(|commit| Some(commit.lines.as_ref()?.from_millis));
        let pending = self.pending().filter_map(|pending| Some(pending.lines.as_ref()?.from_millis));
        unwritten.chain(pending).min().unwrap_or_else(clock::now_millis)
    }

    fn tidy(&mut self) {
        // Readers and late restores need an open store. Late restores read the log that tidying shortens.
        if self.store.is_none() {
            self.open_store();
            return;
        }
        let now = Instant::now();
        self.tidy_at = now + TIDY_EVERY;
        let since_millis = self.unwritten_since_millis();
        let Some(store) = self.store.as_mut().filter(|_| now >= self.not_before) else { return };
        match self.watchdog.guard(since_millis, || store.tidy(clock::now_millis())) {
            Ok(is_more) => {
                if is_more {
                    self.tidy_at = now + COMMIT_EVERY;
                }
                self.note_response();
            }
            Err(why) => self.fail(&why),
        }
    }

    fn close(mut self, reply: oneshot::Sender<()>) {
        // Writing open episodes may take longer than the program waits; the log contains their lines.
        self.write();
        for cluster in self.clusters.values_mut().filter(|cluster| cluster.is_observed) {
            let open = cluster.recorder.open_episodes();
            if !open.is_empty() {
                cluster.pending.get_or_insert_default().episodes.extend(open);
            }
        }
        self.write();
        drop(self.store.take()); // so that another server may open it
        let _ = reply.send(()); // the caller may have left
    }
}

#[cfg(test)]
mod tests {
    use timeline::rollout::Outcome;

    use super::*;

    #[test]
    fn episodes_that_begin_at_once_are_written_one_commit_after_the_other() {
        let mut writer = ClusterWriter::default();
        let active: Vec<Uid> = (1..=100).map(Uid::from_bits).collect();
        let line = |uid: &Uid| {
            format!(
                r#"{{"observedAtMillis":1000,"kind":"Deployment","type":"ADDED","object":{{"metadata":{{"uid":"{uid}","name":"web","namespace":"shop"}}}}}}"#
            ) + "\n"
        };
        let (from_millis, to_millis, text) = (1_000, 1_000, active.iter().map(line).collect());
        writer.add(JournalEntry::Lines(ObservedLines { from_millis, to_millis, text }));
        writer.add(JournalEntry::Activity(ActivityChanges { active, settled: Vec::new() }));
        let written = [1, 2, 3].map(|number| writer.commit(&"prod".into(), number).map(|commit| commit.episodes.len()));
        assert_eq!(written, [Some(64), Some(36), None]);
    }

    #[test]
    fn trouble_losses_and_restarts_after_the_episode_of_a_rollout_are_not_written_with_it() {
        for (outcome, expected) in [
            (Outcome::Complete, ("", None, None)),
            (Outcome::Progressing, ("Containers crash.", Some("Pod q4xzb deleted"), Some(9))), // its episode is still open
        ] {
            let (cause, losses) = ("Containers crash.".to_owned(), Some("Pod q4xzb deleted".to_owned()));
            let rollout = EpisodeRow { outcome, cause, losses, restarts: Some(9), ..EpisodeRow::default() };
            let mut writer = ClusterWriter::default();
            writer.add(JournalEntry::Rollouts(vec![rollout]));
            let written = writer.pending.unwrap().rollouts.into_values();
            let written: Vec<_> = written.map(|rollout| (rollout.cause, rollout.losses, rollout.restarts)).collect();
            let (cause, losses, restarts) = expected;
            assert_eq!(written, [(cause.to_owned(), losses.map(str::to_owned), restarts)]);
        }
    }
}
