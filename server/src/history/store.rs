//! What a store must do. The writer's thread alone calls it.

use std::collections::BTreeSet;
use std::sync::Arc;

use timeline::past::PastRollout;
use timeline::{Millis, Uid};

use super::batch::{self, Batch, BatchError};
pub use crate::database::StoreError;

/// What is to be written of one cluster, all or nothing.
#[derive(Debug, Clone, Default)]
pub struct Commit {
    /// Its number among those of this program; one that is tried again keeps it.
    pub number: u64,
    /// Its name.
    pub cluster: Arc<str>,
    /// The namespaces that are watched, with commas; empty for all.
    pub scope: Arc<str>,
    /// New lines.
    pub lines: Option<Lines>,
    /// The last word from the cluster.
    pub heard_millis: Millis,
    /// Its timeline after these lines.
    pub checkpoint: Option<Checkpoint>,
    /// Rollouts as they stand now.
    pub rollouts: Vec<PastRollout>,
    /// Recordings of what went on with its workloads.
    pub episodes: Vec<Episode>,
    /// Workloads as they are at rest.
    pub snapshots: Vec<Snapshot>,
}

/// The recording of a stretch of time in which a workload was not at rest: a rollout, a scaling, a recovery, a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Episode {
    /// UID of the workload.
    pub uid: Uid,
    /// Arrival of its first line.
    pub from_millis: Millis,
    /// Arrival of its last line.
    pub to_millis: Millis,
    /// It goes on.
    pub is_open: bool,
    /// Its row in the index; `None` where it has a rollout, which has a row of its own, or is of no kind.
    pub row: Option<Box<PastRollout>>,
    /// Lines of a recording that stands by itself, compressed with zstd.
    pub body: Vec<u8>,
}

/// The objects of a workload as they were when it was last at rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// UID of the workload.
    pub uid: Uid,
    /// The last line of each object, compressed with zstd; empty where nothing is left of it.
    pub body: Vec<u8>,
}

/// Lines that are to be written.
#[derive(Debug, Clone)]
pub struct Lines {
    /// Arrival of the first.
    pub from_millis: Millis,
    /// Arrival of the last.
    pub to_millis: Millis,
    /// The lines, compressed with zstd.
    pub body: Vec<u8>,
}

impl Lines {
    /// The lines as text, unpacked.
    ///
    /// # Errors
    /// When they are damaged.
    pub fn text(&self) -> Result<String, BatchError> {
        batch::unpack(&self.body)
    }
}

/// What became of a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// These clusters were written; the others are written by another Rollcast.
    pub clusters: BTreeSet<Arc<str>>,
    /// Lines of so many bytes, compressed.
    pub bytes: u64,
    /// Another Rollcast wrote one of them before: what is known besides lines is to be told anew.
    pub is_anew: bool,
}

impl Written {
    /// All of them were written here.
    #[must_use]
    pub fn all(commits: &[Commit]) -> Self {
        let clusters = commits.iter().map(|commit| commit.cluster.clone()).collect();
        Self { clusters, bytes: commits.iter().map(Commit::bytes).sum(), is_anew: false }
    }
}

impl Commit {
    /// Its lines take so many bytes, compressed.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.lines.as_ref().map_or(0, |lines| lines.body.len() as u64)
    }
}

/// A timeline as it stood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which version of the timeline made it.
    pub made_by: String,
    /// It, encoded and compressed.
    pub body: Vec<u8>,
}

/// What is kept of a cluster: from here it goes on.
#[derive(Debug, Default)]
pub struct Stored {
    /// The last word from the cluster.
    pub heard_millis: Millis,
    /// Its timeline, where this version made it.
    pub checkpoint: Option<Checkpoint>,
    /// What came after it; without it, everything that is in the log, after what existed before that.
    pub batches: Vec<Batch>,
    /// What the recorder goes on from.
    pub recorded: Recorded,
}

/// What the recorder of a cluster goes on from.
#[derive(Debug, Default)]
pub struct Recorded {
    /// Workloads as they were last at rest.
    pub snapshots: Vec<Snapshot>,
    /// Episodes that went on.
    pub open: Vec<Episode>,
    /// What came after those.
    pub batches: Vec<Batch>,
}

/// Keeps the log, episodes and the index of rollouts: a file of its own, or a database of a server.
pub trait Store: Send {
    /// Writes, all or nothing.
    ///
    /// # Errors
    /// When nothing was written.
    fn commit(&mut self, commits: &[Commit]) -> Result<Written, StoreError>;

    /// What is kept of a cluster; `None` when that is nothing. A checkpoint of another
    /// version than `made_by` is none.
    ///
    /// # Errors
    /// When it cannot be read.
    fn resume(&mut self, cluster: &str, made_by: Option<&str>) -> Result<Option<Stored>, StoreError>;

    /// The last word from a cluster; `None` when nothing is kept of it.
    ///
    /// # Errors
    /// When it cannot be read.
    fn heard(&mut self, cluster: &str) -> Result<Option<Millis>, StoreError> {
        Ok(self.resume(cluster, None)?.map(|stored| stored.heard_millis))
    }

    /// Joins small batches, removes what is old or too much, and gives room back: a little each time. `true` when there is more to do.
    ///
    /// # Errors
    /// When something cannot be read or written.
    fn tidy(&mut self, now_millis: Millis) -> Result<bool, StoreError>;

    /// How much is kept, in bytes.
    ///
    /// # Errors
    /// When it cannot be read.
    fn bytes(&mut self) -> Result<u64, StoreError>;
}

/// Some of the rollouts that are kept.
#[derive(Debug, Default)]
pub struct Found {
    /// They, the last one first.
    pub rollouts: Vec<PastRollout>,
    /// Where those after them begin, if there are any.
    pub after: Option<Place>,
}

/// A place among rollouts: that of the last one that was told. It holds nothing that was not told of it, such as its number in the store,
/// which counts the rollouts of all clusters and namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// When it began.
    pub started_millis: Millis,
    /// UID of its workload.
    pub uid: Uid,
    /// Its number among those of its workload.
    pub number: u32,
    /// Name of its cluster.
    pub cluster: String,
}

/// A rollout with its lines.
#[derive(Debug)]
pub struct Cut {
    /// Its revision.
    pub revision: u64,
    /// The title of an episode without a rollout; empty for a rollout.
    pub title: String,
    /// The moment until which it is told: it is over, and what it left behind is gone, or a later one that was asked for and can be shown.
    pub to_millis: Millis,
    /// The last moment until which it could be told, once that has come.
    pub most_millis: Millis,
    /// What is told will stay as it is: its end has come, or the later moment that was asked for.
    pub is_settled: bool,
    /// A recording of it.
    pub text: String,
}

/// Which rollout of a workload is sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sought {
    /// The last one of a revision.
    Revision(u64),
    /// The episode that was the last to have begun at a time; before the first one that is kept, the first one.
    At(Millis),
    /// The last one.
    Last,
}
