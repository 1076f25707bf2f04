//! Connections to a file of SQLite with a write-ahead log. What was committed survives the end of the process, whatever ended it.

use std::path::Path;
use std::time::Duration;

use futures::executor::block_on;
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

use super::{Connection, Inner, Schema, StoreError, wrong};

/// Another process reads only, so that waits are short.
const BUSY: Duration = Duration::from_secs(2);
/// Whoever reads opens the file for that alone: it caches so much of it (negative: in KiB).
const READ_CACHE_KIB: &str = "-256";
/// "Rolc": files of other programs are not touched.
const APPLICATION: i64 = 0x526f_6c63;
/// Answers 1 for a file of a version before the first release: "Roll", or a format that it counted itself.
pub(crate) const UNRELEASED: &str = "SELECT count(*) FROM pragma_application_id, pragma_user_version
     WHERE application_id = 0x526f6c6c OR application_id = 0x526f6c63 AND user_version > 0";

impl Connection {
    /// Opens a file, whatever it is, to read it while another one may write.
    pub(crate) fn to_file(path: &Path) -> Result<Self, StoreError> {
        open(path, SqliteConnectOptions::new().read_only(true).pragma("cache_size", READ_CACHE_KIB))
    }

    /// Opens a file to read the tables in it.
    pub(crate) fn to_read_file(path: &Path, schema: &Schema) -> Result<Self, StoreError> {
        Self::to_file(path)?.with_tables(schema)
    }

    /// Opens a file to write it; makes the tables where they are not there.
    pub(crate) fn to_write_file(path: &Path, schema: &Schema) -> Result<Self, StoreError> {
        let mut connection = open(path, SqliteConnectOptions::new())?;
        let format = connection.format(schema)?;
        let is_empty = connection.number("PRAGMA page_count", &[])? == Some(0);
        if !is_empty && connection.number("PRAGMA application_id", &[])? != Some(APPLICATION) {
            return Err(StoreError::Failed(format!("{} is not a history database of Rollcast", path.display())));
        }
        if is_empty {
            // Room is given back a little at a time; that can only be said before the first page.
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
    let options = options.filename(path).busy_timeout(BUSY).disable_statement_logging();
    let connection = block_on(options.connect()).map_err(|error| wrong(&place, &error))?;
    Ok(Connection::new(Inner::Own(Box::new(connection)), place, Duration::MAX))
}
