//! The store in a file of its own: SQLite with a write-ahead log. What was committed survives the end of the process, whatever ended it.

use std::cmp::Ordering as CmpOrdering;
use std::collections::BTreeMap;
use std::fs::{self, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, params_from_iter};
use timeline::Millis;

use super::database::{Cell, Database, Row, Value, together};
use super::options::Limits;
use super::sql::{self, Head};
use super::store::{Commit, Store, StoreError, Stored, Written};
use crate::history::private;
use crate::telemetry::clock;

/// The file.
pub const FILE: &str = "history.db";
/// What SQLite keeps beside it while it is open: its log, and the index of that.
const BESIDE: [&str; 2] = ["-wal", "-shm"];
/// Held by the one who writes.
const LOCK: &str = "history.lock";
/// "Rolc": files of other programs are not touched.
const APPLICATION: i64 = 0x526f_6c63;
/// "Roll": versions before the first release wrote it.
const UNRELEASED: i64 = 0x526f_6c6c;
/// What makes a file of each format from one of the format before.
const MIGRATIONS: [&str; 1] = [include_str!("sqlite/1.sql")];
/// Another process reads only, so that waits are short.
const BUSY: Duration = Duration::from_secs(2);

/// Whoever reads opens the file for that alone: it caches so much of it (negative: in KiB).
const READ_CACHE_KIB: i64 = -256;

/// Pages that are given back at a time.
const PAGES: u32 = 500;

/// The file, opened.
pub struct File {
    path: PathBuf,
    connection: Connection,
}

impl File {
    /// Opens the file of a folder, to read it while another one may write.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn to_read(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        let open = || {
            let connection = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            connection.busy_timeout(BUSY)?;
            connection.pragma_update(None, "cache_size", READ_CACHE_KIB)?;
            Ok(connection)
        };
        let connection = open().map_err(|error| wrong(&path, &error))?;
        let file = Self { path, connection };
        let (found, known) = (file.pragma("user_version")?, MIGRATIONS.len() as i64);
        let place = || file.path.display().to_string();
        if file.pragma("application_id")? == UNRELEASED {
            return Err(StoreError::Unreleased { place: place() });
        }
        match found.cmp(&known) {
            CmpOrdering::Less => Err(StoreError::Failed(format!("{} has no history yet", place()))),
            CmpOrdering::Greater => Err(StoreError::Newer { place: place(), found, known }),
            CmpOrdering::Equal => Ok(file),
        }
    }

    fn pragma(&self, name: &str) -> Result<i64, StoreError> {
        let value = self.connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0));
        value.map_err(|error| wrong(&self.path, &error))
    }
}

/// Parameters are written in the other way.
fn translated(sql: &str) -> String {
    sql.replace('$', "?")
}

fn value<'v>(value: &'v Value<'_>) -> ToSqlOutput<'v> {
    ToSqlOutput::Borrowed(match value {
        Value::Number(number) => ValueRef::Integer(*number),
        Value::Text(text) => ValueRef::Text(text.as_bytes()),
        Value::Bytes(bytes) => ValueRef::Blob(bytes),
    })
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null | ValueRef::Real(_) => Cell::Null,
        ValueRef::Integer(number) => Cell::Number(number),
        ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
    }
}

impl Database for File {
    fn run(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let run = || {
            let mut statement = self.connection.prepare_cached(&translated(sql))?;
            statement.execute(params_from_iter(values.iter().map(value)))
        };
        run().map(|changed| changed as u64).map_err(|error| wrong(&self.path, &error))
    }

    fn rows(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(&translated(sql))?;
            let columns = statement.column_count();
            let rows = statement.query_map(params_from_iter(values.iter().map(value)), |row| {
                (0..columns).map(|column| row.get_ref(column).map(cell)).collect::<rusqlite::Result<_>>().map(Row)
            })?;
            rows.collect::<rusqlite::Result<Vec<Row>>>()
        };
        read().map_err(|error| wrong(&self.path, &error))
    }

    fn place_in(&self) -> &'static str {
        "instr"
    }

    fn examine(&mut self) -> Result<Vec<String>, StoreError> {
        let told = self.rows("PRAGMA integrity_check(10)", &[])?.into_iter().map(|mut row| row.text(0));
        Ok(told.collect::<Result<Vec<String>, StoreError>>()?.into_iter().filter(|told| told != "ok").collect())
    }
}

/// The store.
pub struct Sqlite {
    file: File,
    limits: Limits,
    /// Where each cluster stands.
    heads: BTreeMap<Arc<str>, Head>,
    /// Set when a look through the file found it damaged.
    is_damaged: Arc<AtomicBool>,
    _lock: fs::File,
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
        Ok(Self { file: File { path, connection }, limits, heads: BTreeMap::new(), is_damaged, _lock: lock })
    }

    fn write(&mut self, commits: &[Commit]) -> Result<(), StoreError> {
        let mut heads = self.heads.clone();
        together(&mut self.file, |database| {
            for commit in commits {
                let head = match heads.get(&commit.cluster) {
                    Some(head) => *head,
                    None => sql::head(database, &commit.cluster)?,
                };
                heads.insert(commit.cluster.clone(), sql::append(database, head, commit)?);
            }
            Ok(())
        })?;
        self.heads = heads;
        Ok(())
    }

    fn tidied(&mut self, now_millis: Millis) -> Result<bool, StoreError> {
        let is_too_much = self.bytes()? > self.limits.bytes;
        let clusters = self.file.rows("SELECT id FROM clusters", &[])?.into_iter().map(|mut row| row.number(0));
        let clusters = clusters.collect::<Result<Vec<i64>, StoreError>>()?;
        let is_more = sql::tidy(&mut self.file, &clusters, &self.limits, now_millis, is_too_much)?;
        // It gives back one page per row that it answers.
        self.file.rows(&format!("PRAGMA incremental_vacuum({PAGES})"), &[])?;
        Ok(is_more)
    }

    /// A file that is damaged is put aside for the next time that it is opened.
    fn found<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(StoreError::Damaged { why, .. }) = &result
            && let Err(why) = put_aside(&self.file.path, why)
        {
            tracing::warn!("cannot move the damaged history database: {why}");
        }
        result
    }
}

impl Store for Sqlite {
    fn commit(&mut self, commits: &[Commit]) -> Result<Written, StoreError> {
        let written = self.write(commits);
        self.found(written).map(|()| Written::all(commits))
    }

    fn resume(&mut self, cluster: &str, made_by: Option<&str>) -> Result<Option<Stored>, StoreError> {
        let stored = sql::stored(&mut self.file, cluster, made_by);
        self.found(stored)
    }

    fn tidy(&mut self, now_millis: Millis) -> Result<bool, StoreError> {
        let tidied = if self.is_damaged.load(Ordering::Relaxed) {
            Err(damaged(&self.file.path, "the integrity check found damage"))
        } else {
            self.tidied(now_millis)
        };
        self.found(tidied)
    }

    fn bytes(&mut self) -> Result<u64, StoreError> {
        let pages = self.file.pragma("page_count")? - self.file.pragma("freelist_count")?;
        Ok((pages * self.file.pragma("page_size")?).unsigned_abs())
    }
}

fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let mut make = fs::DirBuilder::new();
    make.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut make, 0o700); // what clusters hold is nobody else's business
    make.create(folder).map_err(|error| StoreError::Failed(format!("cannot create {}: {error}", folder.display())))
}

/// Processes that this one starts (commands that fetch credentials) hold what it holds until they are another program: a folder that was
/// let go of a moment ago may still be locked.
const TRIES: usize = 50;
const BETWEEN: Duration = Duration::from_millis(20);

fn lock(folder: &Path) -> Result<fs::File, StoreError> {
    let path = folder.join(LOCK);
    let failed = |error: std::io::Error| StoreError::Failed(format!("cannot lock {}: {error}", path.display()));
    let file = private::lockable(&path).map_err(failed)?;
    let mut locked = file.try_lock();
    for _ in 0..TRIES {
        if !matches!(locked, Err(TryLockError::WouldBlock)) {
            break;
        }
        std::thread::sleep(BETWEEN); // whatever calls this may wait
        locked = file.try_lock();
    }
    match locked {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Taken(folder.display().to_string())),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let wrong = |error: rusqlite::Error| wrong(path, &error);
    // SQLite gives the log and its index the rights of the file. Earlier versions left theirs to be read by all.
    let made = private::make(path);
    made.map_err(|error| StoreError::Failed(format!("cannot create {}: {error}", path.display())))?;
    BESIDE.iter().for_each(|ending| private::close(&beside(path, ending)));
    let mut connection = Connection::open(path).map_err(wrong)?;
    connection.busy_timeout(BUSY).map_err(wrong)?;
    let number = |connection: &Connection, name: &str| {
        connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0)).map_err(wrong)
    };
    let is_empty = number(&connection, "page_count")? == 0;
    let application = number(&connection, "application_id")?;
    if !is_empty && application == UNRELEASED {
        return Err(StoreError::Unreleased { place: path.display().to_string() });
    }
    let format = number(&connection, "user_version")?;
    let known = MIGRATIONS.len() as i64;
    if format > known {
        return Err(StoreError::Newer { place: path.display().to_string(), found: format, known });
    }
    if !is_empty && application != APPLICATION {
        return Err(StoreError::Failed(format!("{} is not a history database of Rollcast", path.display())));
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

/// A file beside the file.
fn beside(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

fn put_aside(path: &Path, why: &str) -> Result<(), StoreError> {
    let now_millis = clock::now_millis();
    for ending in [""].into_iter().chain(BESIDE) {
        let from = beside(path, ending);
        let to = path.with_file_name(format!("damaged-{now_millis}.db{ending}"));
        match fs::rename(&from, &to) {
            Ok(()) => tracing::warn!("{} is damaged ({why}); moved it to {}", from.display(), to.display()),
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
        Some(ErrorCode::DiskFull) => StoreError::Failed(format!("no disk space left for {place}")),
        Some(ErrorCode::ReadOnly) => StoreError::Failed(format!("{place} is read-only")),
        _ => StoreError::Failed(format!("{place}: {error}")),
    }
}
