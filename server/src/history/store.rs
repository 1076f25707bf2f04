//! The store and its data. Only the writer's thread uses it.

use std::collections::BTreeSet;
use std::sync::Arc;

use timeline::episodes::EpisodeRow;
use timeline::{Millis, Uid};

use super::batch::Batch;
pub use crate::database::StoreError;

/// New data of one cluster, written atomically.
#[derive(Debug, Clone, Default)]
pub struct Commit {
    /// Number of the commit in this process; a retry keeps it.
    pub number: u64,
    /// Name of the cluster.
    pub cluster: Arc<str>,
    /// New lines.
    pub lines: Option<Batch>,
    /// Last response of the cluster.
    pub heard_millis: Millis,
    /// Timeline after these lines, encoded and compressed by this version.
    pub checkpoint: Option<Vec<u8>>,
    /// Rows of rollouts.
    pub rollouts: Vec<EpisodeRow>,
    /// Episodes of its workloads.
    pub episodes: Vec<Episode>,
    /// Workloads at rest: the UID, and the last line of each object with a bookmark of the last change, compressed with zstd; empty if no
    /// object exists.
    pub snapshots: Vec<(Uid, Vec<u8>)>,
}

/// The recording of a time in which a workload was not at rest: a rollout, scaling, recovery, failure or deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Episode {
    /// UID of the workload.
    pub uid: Uid,
    /// Arrival of its first line.
    pub from_millis: Millis,
    /// Arrival of its last line.
    pub to_millis: Millis,
    /// Whether the episode is still open.
    pub is_open: bool,
    /// Row of trouble before its first rollout.
    pub row_before: Option<Box<EpisodeRow>>,
    /// Row of the episode. `None` if the episode has no kind, or contains a rollout, which has its own row, and no deletion after it.
    pub row: Option<Box<EpisodeRow>>,
    /// Lines of a complete recording, compressed with zstd.
    pub body: Vec<u8>,
}

/// The result of a successful commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitResult {
    /// Clusters that were written; another server writes the others.
    pub clusters: BTreeSet<Arc<str>>,
    /// Compressed bytes of lines.
    pub bytes: u64,
    /// Whether another server wrote one of them before: then everything besides lines must be written again.
    pub is_takeover: bool,
}

impl CommitResult {
    /// Returns the result for commits that were all written.
    pub fn all(commits: &[Commit]) -> Self {
        let clusters = commits.iter().map(|commit| commit.cluster.clone()).collect();
        Self { clusters, bytes: commits.iter().map(Commit::bytes).sum(), is_takeover: false }
    }
}

impl Commit {
    /// Returns the compressed bytes of its lines.
    pub fn bytes(&self) -> u64 {
        self.lines.as_ref().map_or(0, |lines| lines.body.len() as u64)
    }
}

/// The stored data of a cluster, from which a restart continues.
#[derive(Debug, Default)]
pub struct StoredCluster {
    /// Last response of the cluster.
    pub heard_millis: Millis,
    /// Its timeline, if this version encoded it.
    pub checkpoint: Option<Vec<u8>>,
    /// Lines after the checkpoint; without one, the whole log, after the objects before it.
    pub batches: Vec<Batch>,
    /// State of its recorder.
    pub recorder: RecorderState,
}

/// The stored state of a cluster's recorder.
#[derive(Debug, Default)]
pub struct RecorderState {
    /// Workloads when they were last at rest, as in [`Commit::snapshots`].
    pub snapshots: Vec<(Uid, Vec<u8>)>,
    /// Open episodes.
    pub open: Vec<Episode>,
    /// Lines after those.
    pub batches: Vec<Batch>,
}

/// Stores the log, episodes and their rows: in a file, or in a database of a server.
pub trait Store: Send {
    /// Writes the commits atomically.
    fn commit(&mut self, commits: &[Commit]) -> Result<CommitResult, StoreError>;

    /// Returns the stored data of a cluster; `None` if there is none. Its checkpoint is left out if another version encoded it, or
    /// unless `use_checkpoint`.
    fn resume(&mut self, cluster: &str, use_checkpoint: bool) -> Result<Option<StoredCluster>, StoreError>;

    /// Returns the last response of a cluster; `None` if nothing is stored of it.
    fn last_response(&mut self, cluster: &str) -> Result<Option<Millis>, StoreError>;

    /// Joins small batches, evicts data beyond the limits, and frees room, in small steps. Returns whether there is more to do.
    fn tidy(&mut self, now_millis: Millis) -> Result<bool, StoreError>;

    /// Returns the size of the stored data in bytes.
    fn bytes(&mut self) -> Result<u64, StoreError>;
}

/// One page of a search.
#[derive(Debug, Default)]
pub struct EpisodePage {
    /// The episodes, the last one first.
    pub rollouts: Vec<EpisodeRow>,
    /// Cursor of the next page, if there is one.
    pub next: Option<Cursor>,
}

/// A position in a search: that of the last row of a page. It contains only data that the row shows. It has no id, for example,
/// because ids count the rows of all clusters and namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// Start of the episode.
    pub started_millis: Millis,
    /// UID of its workload.
    pub uid: Uid,
    /// Its number within its workload.
    pub number: u32,
    /// Name of its cluster.
    pub cluster: String,
}

/// The recording of one episode or rollout.
#[derive(Debug)]
pub struct EpisodeRecording {
    /// Revision of the rollout.
    pub revision: u64,
    /// Title of an episode without a rollout; empty for a rollout.
    pub title: String,
    /// End of the recording: when the last old pods are gone, or the later time that was requested.
    pub to_millis: Millis,
    /// The latest time that can be requested, once it has passed.
    pub most_millis: Millis,
    /// Whether it is final: its end, or the later time that was requested, has passed.
    pub is_settled: bool,
    /// The lines.
    pub text: String,
}

/// Selects one episode of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EpisodeSelector {
    /// The last rollout of a revision.
    Revision(u64),
    /// The last episode that began before a time, otherwise the first one that is stored.
    At(Millis),
    /// The last rollout, otherwise the last episode.
    Last,
}
