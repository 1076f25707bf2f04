//! Connections to a file of SQLite with a write-ahead log: commits survive the end of the process.

use std::path::Path;
use std::time::Duration;

use futures::executor::block_on;
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

use super::{Connection, Inner, Schema, StoreError, store_error};

/// Longest wait for another process, which only reads.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// Cache of a reader, which opens the file for one request (negative: in KiB).
const READ_CACHE_KIB: &str = "-256";
/// "Rolc": marks our files among those of other programs.
const APPLICATION: i64 = 0x526f_6c63;

impl Connection {
    /// Opens a file to read it, whatever tables it has; another process may write.
    pub(crate) fn open_file(path: &Path) -> Result<Self, StoreError> {
        open(path, SqliteConnectOptions::new().read_only(true).pragma("cache_size", READ_CACHE_KIB))
    }

    /// Opens or creates a file to write it; migrates the tables.
    pub(crate) fn open_file_to_write(path: &Path, schema: &Schema) -> Result<Self, StoreError> {
        let mut connection = open(path, SqliteConnectOptions::new())?;
        let format = connection.format(schema)?;
        let is_empty = connection.number("PRAGMA page_count", &[])? == Some(0);
        if !is_empty && connection.number("PRAGMA application_id", &[])? != Some(APPLICATION) {
            return Err(StoreError::Failed(format!("{} is not a history database of Rollcast", path.display())));
        }
        if is_empty {
            // Room is freed a little at a time; this can only be set before the first page.
            let begin = format!("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA application_id = {APPLICATION}");
            connection.run(&begin, &[])?;
        }
        connection.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", &[])?;
        if format < schema.last_format() {
            connection.migrate(schema)?;
        }
        Ok(connection)
    }
}

fn open(path: &Path, options: SqliteConnectOptions) -> Result<Connection, StoreError> {
    let place = path.display().to_string();
    let options = options.filename(path).busy_timeout(BUSY_TIMEOUT).disable_statement_logging();
    let connection = block_on(options.connect()).map_err(|error| store_error(&place, &error))?;
    Ok(Connection::new(Inner::Own(Box::new(connection)), place, Duration::MAX))
}
