//! The store in a file with one writing server at a time. A damaged file is renamed.

use std::fs::{self, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use timeline::Millis;

use super::options::Limits;
use super::sql;
use super::store::{Commit, CommitResult, Store, StoreError, StoredCluster};
use crate::database::{Connection, damaged, private};
use crate::telemetry::clock;

/// Name of the file.
pub const FILE: &str = "history.db";
/// Suffixes of the files beside it while it is open: its write-ahead log, and the index of that.
const BESIDE: [&str; 2] = ["-wal", "-shm"];
/// Name of the file that the writer locks.
const LOCK: &str = "history.lock";
/// Largest number of pages that are freed at a time.
const PAGES: u32 = 500;

/// The store.
pub struct Sqlite {
    path: PathBuf,
    connection: Connection,
    limits: Limits,
    /// Whether the integrity check at the start found damage.
    is_damaged: Arc<AtomicBool>,
    _lock: fs::File,
}

impl Sqlite {
    /// Opens the store in a folder, or creates it. Renames a damaged file and creates a new one.
    ///
    /// # Errors
    /// If another process writes to it, a later version wrote it, or the folder is not writable.
    pub fn open(folder: &Path, limits: Limits) -> Result<Self, StoreError> {
        let created = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder); // accessible only for its owner
        created.map_err(|error| unwritable("create", folder, &error))?;
        let lock = lock(folder)?;
        let path = folder.join(FILE);
        let connection = match connect(&path) {
            Err(StoreError::Damaged { why, .. }) => {
                rename_damaged(&path, &why)?;
                connect(&path)
            }
            other => other,
        }?;
        let is_damaged = Arc::new(AtomicBool::new(false));
        check_integrity(path.clone(), is_damaged.clone());
        Ok(Self { path, connection, limits, is_damaged, _lock: lock })
    }

    fn tidy_all(&mut self, now_millis: Millis) -> Result<bool, StoreError> {
        let is_too_much = self.bytes()? > self.limits.bytes;
        let clusters = sql::clusters(&mut self.connection)?;
        let is_more = sql::tidy(&mut self.connection, &clusters, &self.limits, now_millis, is_too_much)?;
        self.connection.run(&format!("PRAGMA incremental_vacuum({PAGES})"), &[])?;
        Ok(is_more)
    }

    /// Renames the file if an error shows that it is damaged.
    fn check_damage<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(StoreError::Damaged { why, .. }) = &result
            && let Err(why) = rename_damaged(&self.path, why)
        {
            tracing::warn!("cannot move the damaged history database: {why}");
        }
        result
    }
}

impl Store for Sqlite {
    fn commit(&mut self, commits: &[Commit]) -> Result<CommitResult, StoreError> {
        let written = self.connection.transaction(|database| {
            for commit in commits {
                let cluster = sql::cluster_id(database, &commit.cluster)?;
                sql::append(database, cluster, commit)?;
            }
            Ok(())
        });
        self.check_damage(written).map(|()| CommitResult::all(commits))
    }

    fn resume(&mut self, cluster: &str, use_checkpoint: bool) -> Result<Option<StoredCluster>, StoreError> {
        let stored = sql::load(&mut self.connection, cluster, use_checkpoint, &self.limits);
        self.check_damage(stored)
    }

    fn last_response(&mut self, cluster: &str) -> Result<Option<Millis>, StoreError> {
        let heard = sql::last_response(&mut self.connection, cluster);
        self.check_damage(heard)
    }

    fn tidy(&mut self, now_millis: Millis) -> Result<bool, StoreError> {
        let tidied = if self.is_damaged.load(Ordering::Relaxed) {
            Err(damaged(&self.path.display().to_string(), "the integrity check found damage"))
        } else {
            self.tidy_all(now_millis)
        };
        self.check_damage(tidied)
    }

    fn bytes(&mut self) -> Result<u64, StoreError> {
        let mut number = |name: &str| Ok(self.connection.number(&format!("PRAGMA {name}"), &[])?.unwrap_or_default());
        let pages: i64 = number("page_count")? - number("freelist_count")?;
        number("page_size").map(|size| (pages * size).unsigned_abs())
    }
}

/// Returns the error for an unwritable file or folder, with a remedy if one is known.
fn unwritable(action: &str, path: &Path, error: &std::io::Error) -> StoreError {
    let remedy = match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "; make the folder writable for the user that runs Rollcast, or name another one with --data-dir"
        }
        _ => "",
    };
    StoreError::Failed(format!("cannot {action} {}: {error}{remedy}", path.display()))
}

/// Number of attempts to lock, and the time between them, 2 s in total: a program that is ending may still have the lock for a
/// moment. Child processes (commands that fetch credentials) also inherit it until they execute their program.
const TRIES: usize = 100;
const RETRY_EVERY: Duration = Duration::from_millis(20);

fn lock(folder: &Path) -> Result<fs::File, StoreError> {
    let path = folder.join(LOCK);
    let failed = |error: std::io::Error| unwritable("lock", &path, &error);
    let file = private::open_lock_file(&path).map_err(failed)?;
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(RETRY_EVERY), // only the writer's thread waits
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
    Err(StoreError::InUse(folder.display().to_string()))
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    // SQLite gives the write-ahead log and its index the permissions of the file. Earlier versions left them readable for all.
    private::create(path).map_err(|error| unwritable("create", path, &error))?;
    BESIDE.iter().for_each(|ending| private::restrict(&path_with_ending(path, ending)));
    Connection::open_file_to_write(path, &sql::SCHEMA)
}

/// Checks the file in a separate thread, because a large one takes long.
fn check_integrity(path: PathBuf, is_damaged: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let check = || Connection::open_file(&path)?.row::<(String,)>("PRAGMA quick_check(1)", &[]);
        let has_damage = match check() {
            Ok(row) => row.is_some_and(|(result,)| result != "ok"),
            Err(error) => matches!(error, StoreError::Damaged { .. }),
        };
        is_damaged.store(has_damage, Ordering::Relaxed);
    });
}

fn path_with_ending(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

fn rename_damaged(path: &Path, why: &str) -> Result<(), StoreError> {
    let now_millis = clock::now_millis();
    for ending in [""].into_iter().chain(BESIDE) {
        let from = path_with_ending(path, ending);
        let to = path.with_file_name(format!("damaged-{now_millis}.db{ending}"));
        match fs::rename(&from, &to) {
            Ok(()) => tracing::warn!("{} is damaged ({why}); moved it to {}", from.display(), to.display()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::Failed(format!("cannot move {}: {error}", from.display()))),
        }
    }
    Ok(())
}
