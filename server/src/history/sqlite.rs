//! The store in a file of its own: SQLite with a write-ahead log. What was committed survives the end of the process, whatever ended it.

mod browse;

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use self::browse::{Examined, SqliteReader};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, params};
use timeline::Millis;

use super::batch::{self, Batch};
use super::fold::Fold;
use super::options::Limits;
use super::store::{Checkpoint, Commit, Store, StoreError, Stored};
use crate::clock;

/// The file.
pub const FILE: &str = "history.db";
/// Held by the one who writes.
const LOCK: &str = "history.lock";
/// "Roll": files of other programs are not touched.
const APPLICATION: i64 = 0x526f_6c6c;
/// What makes a file of each format from one of the format before.
const MIGRATIONS: [&str; 1] = [include_str!("sqlite/1.sql")];
/// Another process reads only, so that waits are short.
const BUSY: Duration = Duration::from_secs(2);

/// Most rows that are removed, and pages that are given back, at a time.
const AT_A_TIME: i64 = 500;

/// The store.
pub struct Sqlite {
    path: PathBuf,
    limits: Limits,
    connection: Connection,
    /// The last batch of each cluster.
    last: BTreeMap<Arc<str>, (i64, i64)>,
    /// Set when a look through the file found it damaged.
    is_damaged: Arc<AtomicBool>,
    _lock: File,
}

impl Sqlite {
    /// Opens the store in a folder, or makes one. A file that is damaged is put aside, and another one begun.
    ///
    /// # Errors
    /// When another process writes there, a later version did, or the folder cannot be written.
    pub fn open(folder: &Path, limits: Limits) -> Result<Self, StoreError> {
        make_folder(folder)?;
        let lock = lock(folder)?;
        let path = folder.join(FILE);
        let connection = match connect(&path) {
            Err(StoreError::Damaged { why, .. }) => {
                put_aside(&path, &why)?;
                connect(&path)
            }
            other => other,
        }?;
        let is_damaged = Arc::new(AtomicBool::new(false));
        look_through(path.clone(), is_damaged.clone());
        Ok(Self { path, limits, connection, last: BTreeMap::new(), is_damaged, _lock: lock })
    }

    /// What went wrong, in our words; a file that is damaged is put aside for the next time that it is opened.
    fn wrong(&self, error: &rusqlite::Error) -> StoreError {
        let wrong = wrong(&self.path, error);
        if let StoreError::Damaged { why, .. } = &wrong
            && let Err(why) = put_aside(&self.path, why)
        {
            tracing::warn!("it cannot be put aside: {why}");
        }
        wrong
    }

    fn write(&mut self, commits: &[Commit]) -> rusqlite::Result<()> {
        let mut last = self.last.clone();
        let transaction = self.connection.transaction()?;
        for commit in commits {
            let place = match last.get(&commit.cluster).copied() {
                Some(place) => place,
                None => cluster(&transaction, &commit.cluster)?,
            };
            last.insert(commit.cluster.clone(), append(&transaction, place, commit)?);
        }
        transaction.commit()?;
        self.last = last;
        Ok(())
    }

    fn stored(&self, cluster: &str, made_by: Option<&str>, since: Millis) -> rusqlite::Result<Option<Stored>> {
        let row = "SELECT id, scope, heard_millis FROM clusters WHERE name = ?1";
        let row = self.connection.query_row(row, [cluster], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let Some((id, scope, heard_millis)) = row.optional()? else { return Ok(None) };
        let id: i64 = id;
        let checkpoint = "SELECT seq, made_by, body FROM checkpoints WHERE cluster = ?1 AND made_by = ?2";
        let checkpoint = self.connection.query_row(checkpoint, params![id, made_by], |row| {
            Ok((row.get(0)?, Checkpoint { made_by: row.get(1)?, body: row.get(2)? }))
        });
        let (after, checkpoint) = match checkpoint.optional()? {
            Some((seq, checkpoint)) => (seq, Some(checkpoint)),
            None => (beginning(&self.connection, id, since)?, None),
        };
        // A keyframe stands for what came before it, so only the first of these may be one.
        let is_from_keyframe = checkpoint.is_none();
        let rows = "SELECT seq, is_keyframe, from_millis, to_millis, format, body FROM batches
             WHERE cluster = ?1 AND (seq > ?2 AND NOT is_keyframe OR seq = ?2 AND is_keyframe AND ?3) ORDER BY seq";
        let mut rows = self.connection.prepare(rows)?;
        let batches = rows.query_map(params![id, after, is_from_keyframe], read_batch)?.collect::<Result<_, _>>()?;
        Ok(Some(Stored { scope, heard_millis, checkpoint, batches }))
    }

    /// Makes a keyframe where there is enough after the last one.
    fn fold(&self, cluster: i64) -> rusqlite::Result<bool> {
        let row = "SELECT seq, length(body) FROM batches WHERE cluster = ?1 AND is_keyframe ORDER BY seq DESC LIMIT 1";
        let keyframe: Option<(i64, i64)> =
            self.connection.query_row(row, [cluster], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let (after, size) = keyframe.unwrap_or((0, 0));
        let row = "SELECT coalesce(sum(length(body)), 0), max(seq) FROM batches WHERE cluster = ?1 AND seq > ?2";
        let (since, until): (i64, Option<i64>) =
            self.connection.query_row(row, [cluster, after], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let Some(until) = until.filter(|_| since > size.max(whole(self.limits.keyframe_bytes))) else {
            return Ok(false);
        };
        self.make_keyframe(cluster, after, until)?;
        Ok(true)
    }

    fn make_keyframe(&self, cluster: i64, after: i64, until: i64) -> rusqlite::Result<()> {
        let mut fold = Fold::default();
        let rows = "SELECT seq, is_keyframe, from_millis, to_millis, format, body FROM batches WHERE cluster = ?1
             AND (seq > ?2 AND seq <= ?3 AND NOT is_keyframe OR seq = ?2 AND is_keyframe) ORDER BY seq";
        let mut rows = self.connection.prepare(rows)?;
        for batch in rows.query_map([cluster, after, until], read_batch)? {
            match batch?.text() {
                Ok(text) => fold.take(&text),
                Err(why) => tracing::warn!("a batch is left out of a keyframe: {why}"),
            }
        }
        let (at_millis, text) = fold.keyframe();
        let Ok(body) = batch::pack(&text) else { return Ok(()) };
        let row = "INSERT INTO batches (cluster, seq, is_keyframe, from_millis, to_millis, format, body)
             VALUES (?1, ?2, TRUE, ?3, ?3, ?4, ?5)";
        self.connection.execute(row, params![cluster, until, at_millis, batch::FORMAT, body])?;
        Ok(())
    }

    /// Joins a run of small batches before the checkpoint into one. `true` when there was one.
    fn join(&mut self, cluster: i64) -> rusqlite::Result<bool> {
        // Nothing is joined over a keyframe or the checkpoint: those stand between two batches.
        let rows = "SELECT seq, length(body), EXISTS (SELECT 1 FROM batches k WHERE k.cluster = b.cluster AND k.seq = b.seq AND k.is_keyframe)
             FROM batches b WHERE cluster = ?1 AND NOT is_keyframe AND length(body) < ?2
             AND seq <= coalesce((SELECT seq FROM checkpoints WHERE cluster = ?1), 0) ORDER BY seq";
        let joined = whole(self.limits.joined_bytes);
        let mut run: Vec<i64> = Vec::new();
        let (mut size, mut previous) = (0, None);
        {
            let mut rows = self.connection.prepare(rows)?;
            let found = rows.query_map([cluster, joined / 2], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, bool>(2)?))
            })?;
            for row in found {
                let (seq, length, is_end) = row?;
                if previous.is_some_and(|previous| {
                    seq != previous + 1 && !self.is_next(cluster, previous, seq).unwrap_or(false)
                }) {
                    (run, size) = (Vec::new(), 0);
                }
                previous = Some(seq);
                run.push(seq);
                size += length;
                if size >= joined || (is_end && run.len() > 1) {
                    break;
                }
                if is_end {
                    (run, size, previous) = (Vec::new(), 0, None);
                }
            }
        }
        let is_whole = size >= joined || self.is_before_keyframe(cluster, run.last().copied())?;
        if run.len() < 2 || !is_whole {
            return Ok(false);
        }
        self.join_run(cluster, &run)?;
        Ok(true)
    }

    /// Nothing stands between two batches.
    fn is_next(&self, cluster: i64, before: i64, after: i64) -> rusqlite::Result<bool> {
        let row = "SELECT NOT EXISTS (SELECT 1 FROM batches WHERE cluster = ?1 AND seq > ?2 AND seq < ?3)";
        self.connection.query_row(row, [cluster, before, after], |row| row.get(0))
    }

    fn is_before_keyframe(&self, cluster: i64, seq: Option<i64>) -> rusqlite::Result<bool> {
        let row = "SELECT EXISTS (SELECT 1 FROM batches WHERE cluster = ?1 AND seq = ?2 AND is_keyframe)";
        self.connection.query_row(row, params![cluster, seq], |row| row.get(0))
    }

    fn join_run(&mut self, cluster: i64, run: &[i64]) -> rusqlite::Result<()> {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return Ok(()) };
        let transaction = self.connection.transaction()?;
        let mut text = String::new();
        let mut span: Option<(Millis, Millis)> = None;
        {
            let rows = "SELECT seq, is_keyframe, from_millis, to_millis, format, body FROM batches
                 WHERE cluster = ?1 AND seq BETWEEN ?2 AND ?3 AND NOT is_keyframe ORDER BY seq";
            let mut rows = transaction.prepare(rows)?;
            for batch in rows.query_map([cluster, *first, *last], read_batch)? {
                let batch = batch?;
                let Ok(read) = batch.text() else { return Ok(()) }; // left as it is
                text.push_str(&read);
                let (from, to) = span.unwrap_or((batch.from_millis, batch.to_millis));
                span = Some((from.min(batch.from_millis), to.max(batch.to_millis)));
            }
        }
        let (Some((from, to)), Ok(body)) = (span, batch::pack(&text)) else { return Ok(()) };
        let gone = "DELETE FROM batches WHERE cluster = ?1 AND seq BETWEEN ?2 AND ?3 AND NOT is_keyframe";
        transaction.execute(gone, [cluster, *first, *last])?;
        let row = "INSERT INTO batches (cluster, seq, is_keyframe, from_millis, to_millis, format, body)
             VALUES (?1, ?2, FALSE, ?3, ?4, ?5, ?6)";
        transaction.execute(row, params![cluster, last, from, to, batch::FORMAT, body])?;
        transaction.commit()
    }

    /// How much is kept, in bytes.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn bytes(&self) -> Result<u64, StoreError> {
        self.used().map(i64::unsigned_abs).map_err(|error| wrong(&self.path, &error))
    }

    fn used(&self) -> rusqlite::Result<i64> {
        let pages = |name: &str| self.connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
        Ok((pages("page_count")? - pages("freelist_count")?) * pages("page_size")?)
    }

    /// Lets go of some of what is too old, or too much. `true` when there may be more.
    fn let_go(&mut self, now_millis: Millis) -> rusqlite::Result<bool> {
        let is_too_much = self.used()? > whole(self.limits.bytes);
        let oldest = "SELECT cluster FROM batches ORDER BY to_millis LIMIT 1";
        let oldest: Option<i64> = self.connection.query_row(oldest, [], |row| row.get(0)).optional()?;
        let mut gone = 0;
        for cluster in self.clusters()? {
            // The last keyframe that is old enough stands for everything before it.
            let old = "SELECT max(seq) FROM batches WHERE cluster = ?1 AND is_keyframe AND to_millis <= ?2";
            let old_millis = now_millis - self.limits.age_millis;
            let mut until: Option<i64> =
                self.connection.query_row(old, params![cluster, old_millis], |row| row.get(0))?;
            if is_too_much && oldest == Some(cluster) {
                let next = "SELECT min(k.seq) FROM batches k WHERE k.cluster = ?1 AND k.is_keyframe
                     AND EXISTS (SELECT 1 FROM batches b WHERE b.cluster = ?1 AND (b.seq < k.seq OR b.seq = k.seq AND NOT b.is_keyframe))";
                let next: Option<i64> = self.connection.query_row(next, [cluster], |row| row.get(0))?;
                until = until.max(next);
            }
            let Some(until) = until else { continue };
            self.connection.execute("UPDATE clusters SET kept_from = ?2 WHERE id = ?1", [cluster, until])?;
            let rows = "DELETE FROM batches WHERE id IN (SELECT id FROM batches WHERE cluster = ?1
                 AND (seq < ?2 OR seq = ?2 AND NOT is_keyframe) ORDER BY seq LIMIT ?3)";
            gone += self.connection.execute(rows, [cluster, until, AT_A_TIME])?;
        }
        gone += browse::let_go(&self.connection, now_millis - self.limits.age_millis, AT_A_TIME)?;
        self.connection.execute_batch(&format!("PRAGMA incremental_vacuum({AT_A_TIME})"))?;
        Ok(gone > 0)
    }

    fn clusters(&self) -> rusqlite::Result<Vec<i64>> {
        self.connection.prepare("SELECT id FROM clusters")?.query_map([], |row| row.get(0))?.collect()
    }

    fn tidied(&mut self, now_millis: Millis) -> rusqlite::Result<bool> {
        let mut is_more = false;
        for cluster in self.clusters()? {
            is_more |= self.fold(cluster)?;
            is_more |= self.join(cluster)?;
        }
        Ok(self.let_go(now_millis)? || is_more)
    }
}

impl Store for Sqlite {
    fn commit(&mut self, commits: &[Commit]) -> Result<(), StoreError> {
        self.write(commits).map_err(|error| self.wrong(&error))
    }

    fn resume(&mut self, cluster: &str, made_by: Option<&str>, since: Millis) -> Result<Option<Stored>, StoreError> {
        self.stored(cluster, made_by, since).map_err(|error| self.wrong(&error))
    }

    fn tidy(&mut self, now_millis: Millis) -> Result<bool, StoreError> {
        if self.is_damaged.load(Ordering::Relaxed) {
            put_aside(&self.path, "a look through it found damage")?;
            return Err(damaged(&self.path, "a look through it found damage"));
        }
        self.tidied(now_millis).map_err(|error| self.wrong(&error))
    }
}

fn whole(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let mut make = fs::DirBuilder::new();
    make.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut make, 0o700); // what clusters hold is nobody else's business
    make.create(folder).map_err(|error| StoreError::Failed(format!("cannot make {}: {error}", folder.display())))
}

fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(LOCK);
    let failed = |error: std::io::Error| StoreError::Failed(format!("cannot lock {}: {error}", path.display()));
    let file = File::create(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Taken(folder.display().to_string())),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let wrong = |error: rusqlite::Error| wrong(path, &error);
    let mut connection = Connection::open(path).map_err(wrong)?;
    connection.busy_timeout(BUSY).map_err(wrong)?;
    let number = |connection: &Connection, name: &str| {
        connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0)).map_err(wrong)
    };
    let format = number(&connection, "user_version")?;
    let known = MIGRATIONS.len() as i64;
    if format > known {
        return Err(StoreError::Newer { place: path.display().to_string(), found: format, known });
    }
    let is_empty = number(&connection, "page_count")? == 0;
    if !is_empty && number(&connection, "application_id")? != APPLICATION {
        return Err(StoreError::Failed(format!("{} is a file of another program", path.display())));
    }
    if is_empty {
        // Room is given back a little at a time; that can only be said before the first page.
        let begin = format!("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = {APPLICATION};");
        connection.execute_batch(&begin).map_err(wrong)?;
    }
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;").map_err(wrong)?;
    for (index, migration) in MIGRATIONS.iter().enumerate().skip(usize::try_from(format).unwrap_or_default()) {
        let transaction = connection.transaction().map_err(wrong)?;
        transaction.execute_batch(migration).map_err(wrong)?;
        transaction.pragma_update(None, "user_version", index as i64 + 1).map_err(wrong)?;
        transaction.commit().map_err(wrong)?;
    }
    Ok(connection)
}

/// Looks through the file beside everything else, as that takes a while for a large one.
fn look_through(path: PathBuf, is_damaged: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let look = || -> rusqlite::Result<String> {
            let connection = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        };
        let found = match look() {
            Ok(found) => found != "ok",
            Err(error) => matches!(wrong(&path, &error), StoreError::Damaged { .. }),
        };
        is_damaged.store(found, Ordering::Relaxed);
    });
}

fn put_aside(path: &Path, why: &str) -> Result<(), StoreError> {
    let now_millis = clock::now_millis();
    for ending in ["", "-wal", "-shm"] {
        let from = PathBuf::from(format!("{}{ending}", path.display()));
        let to = path.with_file_name(format!("damaged-{now_millis}.db{ending}"));
        match fs::rename(&from, &to) {
            Ok(()) => tracing::warn!("{} is damaged ({why}); it is put aside as {}", from.display(), to.display()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::Failed(format!("cannot move {}: {error}", from.display()))),
        }
    }
    Ok(())
}

fn damaged(path: &Path, why: &str) -> StoreError {
    StoreError::Damaged { place: path.display().to_string(), why: why.to_owned() }
}

fn wrong(path: &Path, error: &rusqlite::Error) -> StoreError {
    let place = path.display();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(path, &error.to_string()),
        Some(ErrorCode::DiskFull) => StoreError::Failed(format!("there is no room left for {place}")),
        Some(ErrorCode::ReadOnly) => StoreError::Failed(format!("{place} cannot be written: it is read-only")),
        _ => StoreError::Failed(format!("{place}: {error}")),
    }
}

/// The number of a cluster, and of its last batch.
fn cluster(transaction: &Transaction<'_>, name: &str) -> rusqlite::Result<(i64, i64)> {
    transaction.execute(
        "INSERT OR IGNORE INTO clusters (name, scope, heard_millis, kept_from) VALUES (?1, '', 0, 0)",
        [name],
    )?;
    let id = transaction.query_row("SELECT id FROM clusters WHERE name = ?1", [name], |row| row.get(0))?;
    let last = "SELECT coalesce(max(seq), 0) FROM batches WHERE cluster = ?1";
    Ok((id, transaction.query_row(last, [id], |row| row.get(0))?))
}

/// Writes what there is of one cluster; returns its number, and that of its last batch.
fn append(transaction: &Transaction<'_>, (id, last): (i64, i64), commit: &Commit) -> rusqlite::Result<(i64, i64)> {
    let seq = last + i64::from(commit.lines.is_some());
    if let Some(lines) = &commit.lines {
        let row = "INSERT INTO batches (cluster, seq, is_keyframe, from_millis, to_millis, format, body)
             VALUES (?1, ?2, FALSE, ?3, ?4, ?5, ?6)";
        transaction.prepare_cached(row)?.execute(params![
            id,
            seq,
            lines.from_millis,
            lines.to_millis,
            batch::FORMAT,
            lines.body
        ])?;
    }
    let heard = "UPDATE clusters SET scope = ?2, heard_millis = max(heard_millis, ?3) WHERE id = ?1";
    transaction.prepare_cached(heard)?.execute(params![id, commit.scope, commit.heard_millis])?;
    if let Some(checkpoint) = &commit.checkpoint {
        let row = "INSERT OR REPLACE INTO checkpoints (cluster, seq, made_by, body) VALUES (?1, ?2, ?3, ?4)";
        transaction.prepare_cached(row)?.execute(params![id, seq, checkpoint.made_by, checkpoint.body])?;
    }
    for rollout in &commit.rollouts {
        browse::note(transaction, id, rollout)?;
    }
    Ok((id, seq))
}

/// The batch after which to begin so that everything since a time is told: the last keyframe before it, or what is kept begins with.
fn beginning(connection: &Connection, cluster: i64, since: Millis) -> rusqlite::Result<i64> {
    let last = "SELECT max(seq) FROM batches WHERE cluster = ?1 AND is_keyframe AND to_millis <= ?2";
    let last: Option<i64> = connection.query_row(last, [cluster, since], |row| row.get(0))?;
    let first = "SELECT kept_from FROM clusters WHERE id = ?1";
    last.map_or_else(|| connection.query_row(first, [cluster], |row| row.get(0)), Ok)
}

fn read_batch(row: &rusqlite::Row<'_>) -> rusqlite::Result<Batch> {
    Ok(Batch {
        seq: row.get(0)?,
        is_keyframe: row.get(1)?,
        from_millis: row.get(2)?,
        to_millis: row.get(3)?,
        format: row.get(4)?,
        body: row.get(5)?,
    })
}
