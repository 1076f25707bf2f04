//! Stores what was observed beyond the life of the process, and finds it again.
//! Owns the log of the last day, episodes, their index, and the restart from them.
//! Must not know the inside of the hub, the web, or the page's crate.
//!
//! ```text
//!   sources ──queue──► tap ──queue──► hub
//!                       │ Journal (bounded; never waits)
//!                       ▼
//!                     writer (one thread) ──► Store: SQLite, PostgreSQL
//!                       │ log: what came, twice a second, for 24 hours
//!                       │ episodes: one row for each stretch in which a workload was not at rest
//!                       └ retention by age and size
//! ```
//!
//! Both are lines of recordings ([`crate::feed::recording`]): a later version plays them with its own rules. A checkpoint is the
//! hub's timeline as it stood, so that a restart need not play a day again; only the version that made it reads it.

pub mod activity;
pub mod batch;
mod fold;
pub(crate) mod hub_cache;
pub mod index;
pub mod journal;
pub mod options;
pub mod past;
pub mod postgres;
pub mod private;
mod pulse;
pub mod recorder;
pub mod resume;
mod rollout_index;
pub mod sql;
pub mod sqlite;
mod status;
pub mod store;
pub mod stretch;
pub mod tap;
mod unread;
mod writer;

use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use timeline::Millis;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use self::journal::{Answer, Journal, Message};
use self::options::{Limits, Location, Options, WHATEVER_ITS_AGE};
use self::postgres::Postgres;
use self::sql::{READERS, Reader};
use self::sqlite::{FILE, Sqlite};
pub use self::status::{Counters, WriteStatus};
use self::store::{Store, StoreError};
use crate::database::Connection;
use crate::kube::InitialState;

/// Capacity of the queue from all hubs to the writer, in messages.
pub const QUEUE: usize = 8_192;
/// Whoever reads waits this long for the store to be opened, which may make what stands there what this version reads; so does a hub that
/// begins.
const OPENING: Duration = Duration::from_secs(5);
/// What is not written this long after the program was told to end is lost.
const LAST_WORDS: Duration = Duration::from_secs(5);

impl Location {
    /// Opens the store that is there, or makes one.
    ///
    /// # Errors
    /// When another Rollcast writes there, a later version did, or it cannot be written.
    pub fn open(&self, limits: Limits) -> Result<Box<dyn Store>, StoreError> {
        Ok(match self {
            Self::Folder(folder) => Box::new(Sqlite::open(folder, limits)?),
            Self::Postgres(server) => Box::new(Postgres::open(server, limits)?),
        })
    }

    /// The same when no Rollcast writes there.
    ///
    /// # Errors
    /// When one does, and when it cannot be opened.
    pub fn open_alone(&self, limits: Limits) -> Result<Box<dyn Store>, StoreError> {
        match self {
            Self::Folder(_) => self.open(limits),
            Self::Postgres(server) => Ok(Box::new(Postgres::open_alone(server, limits)?)),
        }
    }

    /// Something was written there before.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn is_begun(&self) -> Result<bool, StoreError> {
        match self {
            Self::Folder(folder) => Ok(folder.join(FILE).exists()),
            Self::Postgres(server) => Ok(Connection::to(server)?.format(&postgres::SCHEMA)? > 0),
        }
    }
}

/// Says where history is kept, how much of it, and how much there is: "in FOLDER for 30 days, at most 2 GB; 12 MB now".
///
/// # Errors
/// When it cannot be written there. A Rollcast that runs and writes is no error.
pub fn check(options: &Options) -> Result<String, StoreError> {
    let Options { location, limits } = options;
    let said = |now: &str| format!("{}; {now}", said(options));
    let is_begun = location.is_begun()?;
    match location.open(*limits) {
        Ok(mut store) => Ok(said(&format!("{} now", bytesize::ByteSize(store.bytes()?).display().si()))),
        Err(StoreError::Taken(_)) if is_begun => Ok(said("a running server writes to it")),
        Err(why) => Err(why),
    }
}

fn said(Options { location, limits }: &Options) -> String {
    format!("in {location} {}", limits_said(limits))
}

fn limits_said(limits: &Limits) -> String {
    let age = match limits.age_millis {
        WHATEVER_ITS_AGE.. => "without an age limit".to_owned(),
        age => format!("for {}", timeline::words::duration(age)),
    };
    format!("{age}, at most {}", bytesize::ByteSize(limits.bytes).display().si())
}

/// What was known of a cluster before.
#[derive(Debug)]
pub enum Before {
    /// The timeline that was kept.
    Known(Box<InitialState>),
    /// Nothing is kept of it.
    Nothing,
    /// The store cannot be read now.
    Unread,
    /// Something that this version cannot use: it is to be asked for without the checkpoint.
    Unusable,
}

/// The way to what is kept. Copies are handles of the same.
#[derive(Clone)]
pub struct Archive {
    to_writer: SyncSender<Message>,
    keeping: watch::Receiver<WriteStatus>,
    anew: watch::Receiver<u64>,
    lost: watch::Receiver<u64>,
    /// The store was opened, or could not be, for the first time.
    is_begun: watch::Receiver<bool>,
    reader: Arc<Reader>,
    readers: Arc<Semaphore>,
    counters: Arc<Counters>,
    options: Arc<Options>,
    /// Asks the tap of each cluster for a checkpoint.
    taps: Arc<Mutex<Vec<mpsc::Sender<oneshot::Sender<()>>>>>,
}

impl Archive {
    /// Starts to keep history. That it cannot be written yet is no error: the writer tries again, and says so meanwhile.
    #[must_use]
    pub fn start(options: Options) -> Self {
        let Options { location, limits } = options.clone();
        Self::with(options, move || location.open(limits))
    }

    /// The same with any store; `open` is called again until it works.
    #[must_use]
    pub fn with(options: Options, open: impl FnMut() -> Result<Box<dyn Store>, StoreError> + Send + 'static) -> Self {
        let reader = Arc::new(Reader::new(&options.location));
        let (to_writer, inbox) = sync_channel(QUEUE);
        let (told, keeping) = watch::channel(WriteStatus::default());
        let (tell_anew, anew) = watch::channel(0);
        let (tell_lost, lost) = watch::channel(0);
        let counters = Arc::new(Counters::default());
        let told = Arc::new(told);
        let pulse = pulse::Pulse::start(told.clone());
        let writer = writer::Writer::new(Box::new(open), told, (tell_anew, tell_lost), counters.clone(), pulse);
        let (begun, is_begun) = watch::channel(false);
        std::thread::spawn(move || writer.run(&inbox, &begun));
        Self {
            to_writer,
            keeping,
            anew,
            lost,
            is_begun,
            reader,
            readers: Arc::new(Semaphore::new(READERS)),
            counters,
            options: Arc::new(options),
            taps: Arc::default(),
        }
    }

    /// How much is kept, in words: "in FOLDER for 30 d, at most 2 GB".
    #[must_use]
    pub fn said(&self) -> String {
        said(&self.options)
    }

    /// How much is kept, without the place: "for 30 d, at most 2 GB".
    #[must_use]
    pub fn limits_said(&self) -> String {
        limits_said(&self.options.limits)
    }

    /// Reads, beside everything else, once the store was opened.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let ended = || StoreError::Failed("the server is shutting down".to_owned());
        let mut is_begun = self.is_begun.clone();
        // What takes longer answers for itself.
        let _ = tokio::time::timeout(OPENING, is_begun.wait_for(|is_begun| *is_begun)).await;
        let turn = self.readers.clone().acquire_owned().await.map_err(|_| ended())?;
        let reader = self.reader.clone();
        let reading = move || {
            let _turn = turn; // whoever asked may have left: reading is not called off, and counts until it has ended
            read(&reader)
        };
        tokio::task::spawn_blocking(reading).await.map_err(|_| ended())?
    }

    /// What the writer counts.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How writing gets on.
    #[must_use]
    pub fn keeping(&self) -> watch::Receiver<WriteStatus> {
        self.keeping.clone()
    }

    /// Changes when what is written may be another store, or another one wrote there: what is known besides lines is to be told anew.
    #[must_use]
    pub fn anew(&self) -> watch::Receiver<u64> {
        self.anew.clone()
    }

    /// Changes when lines that were written are lost and another store is written: what exists is to be listed anew, as the lines there begin
    /// in the middle of things.
    #[must_use]
    pub fn lost(&self) -> watch::Receiver<u64> {
        self.lost.clone()
    }

    /// What the tap of a cluster tells what is observed.
    #[must_use]
    pub fn journal(&self, cluster: &str, namespaces: &[String]) -> Journal {
        Journal::new(cluster.into(), namespaces.join(",").into(), self.to_writer.clone())
    }

    /// What was known of a cluster when its last observation was written; what is not there is told from what cannot be read now.
    pub async fn before(&self, cluster: &str) -> Before {
        // A checkpoint that is damaged, or of another version, is made anew from the lines.
        for made_by in [Some(resume::FINGERPRINT), None] {
            // The queue is empty when hubs start.
            let Some(mut answer) = self.ask(cluster, made_by, false) else { return Before::Unread };
            let told = match tokio::time::timeout(OPENING, &mut answer).await {
                Ok(told) => told.ok(),
                // What is shown does not wait for it any longer. The writer hears that, unless it has answered just now.
                Err(_) => {
                    answer.close();
                    answer.try_recv().ok()
                }
            };
            match known_before(told, cluster.into()).await {
                Before::Unusable => {}
                before => return before,
            }
        }
        Before::Nothing
    }

    /// Asks for the same once it could not be read at the start; nobody waits for the answer. It has what was noted until this is called,
    /// and nothing that is noted later. `None` when there is no room to ask now.
    #[must_use]
    pub fn late(&self, cluster: &str, has_checkpoint: bool) -> Option<oneshot::Receiver<Before>> {
        let answer = self.ask(cluster, has_checkpoint.then_some(resume::FINGERPRINT), true)?;
        let (reply, before) = oneshot::channel();
        let cluster = cluster.into();
        tokio::spawn(async move {
            let known = known_before(answer.await.ok(), cluster).await;
            let _ = reply.send(known); // the hub may have ended
        });
        Some(before)
    }

    fn ask(&self, cluster: &str, made_by: Option<&'static str>, is_late: bool) -> Option<oneshot::Receiver<Answer>> {
        let (reply, answer) = oneshot::channel();
        let message = Message::Resume { cluster: cluster.into(), made_by, is_late, reply };
        self.to_writer.try_send(message).ok().map(|()| answer)
    }

    /// Hands the timelines of all clusters as they stand to the writer: the program ends.
    pub async fn checkpoint(&self) {
        let taps = self.taps.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for tap in taps {
            let (reply, done) = oneshot::channel();
            if tap.send(reply).await.is_ok() {
                let _ = done.await; // its hub may have ended
            }
        }
    }

    /// Writes what is not written yet, and ends.
    pub async fn close(&self) {
        let (reply, answer) = oneshot::channel();
        let to_writer = self.to_writer.clone();
        let told = tokio::task::spawn_blocking(move || to_writer.send(Message::Close { reply }));
        let closed = async {
            let _ = told.await;
            let _ = answer.await;
        };
        if tokio::time::timeout(LAST_WORDS, closed).await.is_err() {
            tracing::warn!("cannot store the last observations within {LAST_WORDS:?}");
        }
    }
}

/// What an answer of the writer means; `None` when there was none in time.
async fn known_before(answer: Option<Answer>, cluster: Arc<str>) -> Before {
    let stored = match answer {
        Some(Answer::Stored(Some(stored))) => stored,
        Some(Answer::Stored(None)) => return Before::Nothing,
        Some(Answer::Unread) | None => return Before::Unread,
    };
    let resumed = tokio::task::spawn_blocking(move || resume::resume(&cluster, stored)).await;
    match resumed {
        Ok(Some(resumed)) => Before::Known(Box::new(resumed)),
        Ok(None) | Err(_) => Before::Unusable,
    }
}
