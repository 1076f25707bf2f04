//! Stores observations beyond the life of the process, and reads them.
//! Owns the log of the last day, episodes, their index, and restoring after a restart.
//! Must not know the internals of the hub, the web, or the page's crate.
//!
//! ```text
//!   sources ──queue──► tap ──queue──► hub
//!                       │ Journal (bounded; never waits)
//!                       ▼
//!                     writer (one thread) ──► Store: SQLite, PostgreSQL
//!                       │ log: observations, twice a second, for 24 hours
//!                       │ episodes: one row for each time in which a workload was not at rest
//!                       └ retention by age and size
//! ```
//!
//! Log and episodes are lines of recordings ([`crate::feed::recording`]): a later version replays them with its own rules. A
//! checkpoint is a hub's timeline, so that a restart need not replay a whole day; only the version that encoded it can read it.

// Between a hub and the writer.
mod changed_rows;
pub mod journal;
pub mod resume;
pub mod tap;

// Episodes and their rows, which the writer computes from observations.
pub mod activity;
pub mod episode_rows;
mod latest_lines;
pub mod recorder;
pub mod rollout_span;

// The writer.
mod continuation;
mod watchdog;
mod writer;

// The stores.
pub mod batch;
pub mod options;
pub mod postgres;
pub mod sql;
pub mod sqlite;
pub mod store;

// Hubs of stored episodes.
pub(crate) mod hub_cache;
pub mod rollout_cache;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use timeline::wire::Unwritten;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use self::journal::{Journal, Message, QueueSender};
use self::options::{Limits, Location, Options};
use self::postgres::Postgres;
use self::sql::{READERS, Reader};
use self::sqlite::{FILE, Sqlite};
use self::store::{Store, StoreError, StoredCluster};
pub use self::writer::HistoryCounters;
use crate::database::Connection;
use crate::kube::InitialState;
use crate::telemetry::panics::{exit_on_panic_of_thread, locked};

/// Longest wait of readers, and of starting hubs, for a store that is being opened and perhaps migrated.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest wait for the last commit when the program ends.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Nice value of the writer, added to the program's: with a busy hub on the same processor it gets a quarter of the time.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

impl Location {
    /// Opens the store, or creates it.
    ///
    /// # Errors
    /// If another server writes to it, a later version wrote it, or it is not writable.
    pub fn open(&self, limits: Limits) -> Result<Box<dyn Store>, StoreError> {
        Ok(match self {
            Self::Folder(folder) => Box::new(Sqlite::open(folder, limits)?),
            Self::Postgres(server) => Box::new(Postgres::open(server, limits)?),
        })
    }

    /// Opens the store if no server writes to it.
    ///
    /// # Errors
    /// If a server writes to it, or it cannot be opened.
    pub fn open_alone(&self, limits: Limits) -> Result<Box<dyn Store>, StoreError> {
        match self {
            Self::Folder(_) => self.open(limits),
            Self::Postgres(server) => Ok(Box::new(Postgres::open_alone(server, limits)?)),
        }
    }

    /// Returns whether there is a store.
    ///
    /// # Errors
    /// If the server does not respond.
    pub fn has_store(&self) -> Result<bool, StoreError> {
        match self {
            Self::Folder(folder) => Ok(folder.join(FILE).exists()),
            Self::Postgres(server) => Ok(Connection::connect(server)?.format(&sql::SCHEMA)? > 0),
        }
    }
}

/// Returns a sentence about the location, limits and size of the history: "in FOLDER for 30 days, at most 2 GB; 12 MB now".
///
/// # Errors
/// If it is not writable. A server that writes to it is no error.
pub fn check(options: &Options) -> Result<String, StoreError> {
    let has_store = options.location.has_store()?;
    match options.location.open(options.limits) {
        Ok(mut store) => Ok(match store.bytes() {
            Ok(bytes) => format!("{options}; {} now", bytesize::ByteSize(bytes).display().si()),
            // Statements have a deadline, and measuring a large store takes long.
            Err(why) => format!("{options}; its size is unknown ({why})"),
        }),
        Err(StoreError::InUse(_)) if has_store => Ok(format!("{options}; a running server writes to it")),
        Err(why) => Err(why),
    }
}

/// The result of restoring a cluster.
#[derive(Debug)]
pub enum RestoreResult {
    /// Its stored timeline.
    Restored(Box<InitialState>),
    /// No data of it is stored.
    Empty,
    /// The store cannot be read now.
    Unavailable,
    /// This version cannot use the checkpoint: restore without it.
    Unusable,
}

/// The stored history and the writer. Clones are handles of the same archive.
#[derive(Clone)]
pub struct Archive {
    to_writer: QueueSender,
    /// Start and reason of failing writes; `None` while everything observed is written.
    pub unwritten: watch::Receiver<Option<Unwritten>>,
    /// A count that changes if the store may be another one, or another server wrote to it: then everything besides lines must be
    /// written again.
    pub reopen_count: watch::Receiver<u64>,
    /// A count that changes if lines are lost and another store begins: its lines begin in the middle, so all objects must be listed again.
    pub relist_requests: watch::Receiver<u64>,
    /// Whether the first attempt to open the store has ended.
    is_open: watch::Receiver<bool>,
    reader: Arc<Reader>,
    readers: Arc<Semaphore>,
    /// The writer's counters.
    pub counters: Arc<HistoryCounters>,
    /// Location and limits.
    pub options: Arc<Options>,
    /// Senders of checkpoint requests to the tap of each cluster.
    taps: Arc<Mutex<Vec<mpsc::Sender<oneshot::Sender<()>>>>>,
}

impl Archive {
    /// Starts the writer, which opens the store and retries until it succeeds.
    pub fn start(options: Options) -> Self {
        let Options { location, limits } = options.clone();
        Self::with_store(options, move || location.open(limits))
    }

    /// Starts the writer with any store; `open` is called again until it succeeds.
    pub fn with_store(
        options: Options,
        open: impl FnMut() -> Result<Box<dyn Store>, StoreError> + Send + 'static,
    ) -> Self {
        let reader = Arc::new(Reader::new(&options.location));
        let (to_writer, inbox) = journal::queue();
        let (status, unwritten) = watch::channel(None);
        let (reopened, reopen_count) = watch::channel(0);
        let (lost, relist_requests) = watch::channel(0);
        let counters = Arc::new(HistoryCounters::default());
        let writer = writer::Writer::new(Box::new(open), status, (reopened, lost), counters.clone());
        let (open_sender, is_open) = watch::channel(false);
        std::thread::spawn(move || {
            // On other systems it would change the priority of the whole process.
            #[cfg(target_os = "linux")]
            let _ = rustix::process::nice(NICE); // a sandbox may refuse it
            exit_on_panic_of_thread("the writer of the history", || writer.run(&inbox, &open_sender));
        });
        Self {
            to_writer,
            unwritten,
            reopen_count,
            relist_requests,
            is_open,
            reader,
            readers: Arc::new(Semaphore::new(READERS)),
            counters,
            options: Arc::new(options),
            taps: Arc::default(),
        }
    }

    /// Reads beside the writer, once the store is open.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let ended = || StoreError::Failed("the server is shutting down".to_owned());
        let mut is_open = self.is_open.clone();
        // After the timeout the reader returns its own error.
        let _ = tokio::time::timeout(OPEN_TIMEOUT, is_open.wait_for(|is_open| *is_open)).await;
        let permit = self.readers.clone().acquire_owned().await.map_err(|_| ended())?;
        let reader = self.reader.clone();
        let reading = move || {
            let _permit = permit; // reading cannot be cancelled, and counts until it ends even if the caller has left
            read(&reader)
        };
        tokio::task::spawn_blocking(reading).await.map_err(|_| ended())?
    }

    /// Returns the journal for the tap of a cluster.
    pub fn journal(&self, cluster: &str) -> Journal {
        Journal::new(cluster.into(), self.to_writer.clone())
    }

    /// Restores the state of a cluster at its last stored observation.
    pub async fn restore(&self, cluster: &str) -> RestoreResult {
        // If the checkpoint is damaged or from another version, the state is computed from the lines.
        for use_checkpoint in [true, false] {
            let mut response = self.request(cluster, use_checkpoint, false);
            let stored = match tokio::time::timeout(OPEN_TIMEOUT, &mut response).await {
                Ok(stored) => stored.ok(),
                // The hub starts without its history. The writer detects the failure, unless it has responded just now.
                Err(_) => {
                    response.close();
                    response.try_recv().ok()
                }
            };
            match decode(stored, cluster.into()).await {
                RestoreResult::Unusable => {}
                result => return result,
            }
        }
        RestoreResult::Empty
    }

    /// Restores a cluster later, if that was not possible at the start. The result includes everything recorded before this call,
    /// and nothing later.
    pub fn restore_later(&self, cluster: &str, use_checkpoint: bool) -> JoinHandle<RestoreResult> {
        let response = self.request(cluster, use_checkpoint, true);
        let cluster = cluster.into();
        tokio::spawn(async move { decode(response.await.ok(), cluster).await })
    }

    fn request(&self, cluster: &str, use_checkpoint: bool, is_late: bool) -> oneshot::Receiver<Option<StoredCluster>> {
        let (reply, response) = oneshot::channel();
        self.to_writer.send(Message::Restore { cluster: cluster.into(), use_checkpoint, is_late, reply });
        response
    }

    /// Sends a checkpoint of every cluster to the writer, because the program ends.
    pub async fn checkpoint(&self) {
        let taps = locked(&self.taps).clone();
        for tap in taps {
            let (reply, done) = oneshot::channel();
            if tap.send(reply).await.is_ok() {
                tokio::select! {
                    _ = done => {}
                    // The tap has just ended with its hub, so it does not respond to the request.
                    () = tap.closed() => {}
                }
            }
        }
    }

    /// Writes all pending data and ends the writer.
    pub async fn close(&self) {
        let (reply, response) = oneshot::channel();
        self.to_writer.send(Message::Close { reply });
        if tokio::time::timeout(CLOSE_TIMEOUT, response).await.is_err() {
            tracing::warn!("cannot store the last observations within {CLOSE_TIMEOUT:?}");
        }
    }
}

/// Decodes the writer's response; `None` if there was none in time.
async fn decode(response: Option<Option<StoredCluster>>, cluster: Arc<str>) -> RestoreResult {
    let Some(response) = response else { return RestoreResult::Unavailable };
    let Some(stored) = response else { return RestoreResult::Empty };
    match tokio::task::spawn_blocking(move || resume::restore(&cluster, stored)).await {
        Ok(Some(restored)) => RestoreResult::Restored(Box::new(restored)),
        Ok(None) | Err(_) => RestoreResult::Unusable,
    }
}
