//! Connects to a file of SQLite or to a PostgreSQL server, with the SQL that both have in common.
//! Owns connections, deadlines, migrations, the words for errors, and files that only their owner can read.
//! Must not know any table: each room brings its [`Schema`].

pub mod address;
pub(crate) mod postgres;
pub mod private;
mod sqlite;

use std::any::Any;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures::TryStreamExt;
use futures::executor::block_on;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Either, FromRow, PgConnection, Postgres, SqlSafeStr, SqliteConnection};
use sqlx_core::any::{AnyArgumentBuffer, AnyConnectionBackend, AnyValueKind};
use tokio::runtime::Runtime;

use crate::telemetry::error_chain;

/// Runs sockets and timers of all connections. Callers wait in threads of their own, without a runtime.
#[expect(clippy::expect_used, reason = "without a thread no part of the program works")]
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).thread_name("database").enable_all().build().expect("a thread can be started")
});

/// An error of a database.
#[derive(Debug, Clone, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum StoreError {
    #[error("another server is using the history in {0}")]
    InUse(String),
    #[error("{place} was written by a later version of Rollcast (format {found}; this version reads up to {known})")]
    Newer { place: String, found: i64, known: i64 },
    #[error(
        "{place} was written by a version of Rollcast before the first release and cannot be read; start with another folder or database (`--data-dir`, `--history`), or move it away"
    )]
    Unreleased { place: String },
    #[error("{place} is damaged: {why}")]
    Damaged { place: String, why: String },
    #[error("{0}")]
    Failed(String),
}

/// Words of SQLite in the statements of migrations, and PostgreSQL's words for them. The last one begins lines for
/// PostgreSQL alone.
const WORDS: [(&str, &str); 5] = [
    ("id INTEGER PRIMARY KEY", "id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
    ("INTEGER", "BIGINT"),
    ("BLOB", "BYTEA"),
    (" STRICT;", ";"),
    ("-- PostgreSQL: ", ""),
];
/// Traces of versions before the first release: tables, or "Roll" as the mark of a file, or a format in its `user_version`.
const UNRELEASED_TABLES: &str = "pg_tables WHERE schemaname = 'rollcast' AND tablename IN ('format', 'schema_format')";
const UNRELEASED_FILE: &str = "pragma_application_id, pragma_user_version
     WHERE application_id = 0x526f6c6c OR application_id = 0x526f6c63 AND user_version > 0";

#[derive(Debug, Clone)]
pub(crate) struct Value(AnyValueKind);

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self(AnyValueKind::BigInt(number))
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        i64::from(number).into()
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        // Text of a cluster may contain NUL, the one character that PostgreSQL refuses.
        Self(AnyValueKind::Text(Arc::new(text.replace('\0', "\u{fffd}"))))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self(AnyValueKind::Blob(Arc::new(bytes.to_vec())))
    }
}

/// The tables of one room, and their migrations.
#[derive(Debug)]
pub(crate) struct Schema {
    /// Name of the table with the formats.
    pub(crate) table: &'static str,
    /// The statements of each migration, from format 1 on, in the words of SQLite or PostgreSQL.
    pub(crate) migrations: &'static [&'static str],
}

impl Schema {
    const fn last_format(&self) -> i64 {
        self.migrations.len() as i64
    }

    fn migrator(&self, is_postgres: bool) -> Migrator {
        let migration = |(format, sql): (i64, &&'static str)| {
            let words = WORDS.iter().filter(|_| is_postgres);
            let sql = words.fold((*sql).to_owned(), |sql, (word, own)| sql.replace(word, own));
            Migration::new(format, "".into(), MigrationType::Simple, AssertSqlSafe(sql).into_sql_str(), false)
        };
        let mut migrator = Migrator::with_migrations((1..).zip(self.migrations).map(migration).collect());
        migrator.dangerous_set_table_name(self.table);
        migrator.set_locking(false); // a connection for writing has a lock already
        migrator
    }
}

#[derive(Debug)]
pub(crate) struct Connection {
    /// `None` only while it is dropped.
    inner: Option<Inner>,
    /// The file or the database, for people.
    place: String,
    /// The connection is closed, does not respond any more, or leads to a server that is read-only now.
    pub(crate) is_lost: bool,
    /// Longest time in which a statement must respond.
    timeout: Duration,
}

#[derive(Debug)]
enum Inner {
    Own(Box<dyn AnyConnectionBackend>),
    Pooled(PoolConnection<Postgres>),
}

impl Drop for Connection {
    fn drop(&mut self) {
        let is_own = matches!(self.inner, Some(Inner::Own(_)));
        if is_own && !self.is_lost && self.is_postgres() {
            // Closing does not wait for the server, which releases the locks when it is done with the connection.
            let _ = self.run("SELECT pg_advisory_unlock_all() IS NULL", &[]);
        }
        let _runtime = RUNTIME.enter();
        match self.inner.take() {
            // When this returns, the file is closed.
            Some(Inner::Own(connection)) if !self.is_lost => drop(block_on(connection.close())),
            Some(Inner::Pooled(connection)) if self.is_lost => drop(connection.detach()),
            _ => {}
        }
    }
}

impl Connection {
    const fn new(inner: Inner, place: String, timeout: Duration) -> Self {
        Self { inner: Some(inner), place, is_lost: false, timeout }
    }

    fn is_postgres(&self) -> bool {
        match &self.inner {
            Some(Inner::Own(connection)) => (&**connection as &dyn Any).is::<PgConnection>(),
            Some(Inner::Pooled(_)) | None => true,
        }
    }

    /// Returns the name of the SQL function for the position of one text in another.
    pub(crate) fn position_function(&self) -> &'static str {
        if self.is_postgres() { "strpos" } else { "instr" }
    }

    /// Runs a statement; returns the number of changed rows. Without values it may be several statements.
    pub(crate) fn run(&mut self, sql: &str, values: &[Value]) -> Result<u64, StoreError> {
        self.execute(sql, values).map(|(changed, _)| changed)
    }

    /// Returns the rows of a statement, each as a tuple of its columns.
    pub(crate) fn rows<T>(&mut self, sql: &str, values: &[Value]) -> Result<Vec<T>, StoreError>
    where
        T: for<'r> FromRow<'r, AnyRow>,
    {
        let (_, rows) = self.execute(sql, values)?;
        let read = rows.iter().map(T::from_row).collect::<Result<Vec<T>, sqlx::Error>>();
        read.map_err(|error| StoreError::Failed(error.to_string()))
    }

    pub(crate) fn row<T>(&mut self, sql: &str, values: &[Value]) -> Result<Option<T>, StoreError>
    where
        T: for<'r> FromRow<'r, AnyRow>,
    {
        Ok(self.rows(sql, values)?.into_iter().next())
    }

    pub(crate) fn number(&mut self, sql: &str, values: &[Value]) -> Result<Option<i64>, StoreError> {
        Ok(self.row::<(Option<i64>,)>(sql, values)?.and_then(|(number,)| number))
    }

    pub(crate) fn transaction<T>(
        &mut self,
        statements: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.run("BEGIN", &[])?;
        let done = statements(self).and_then(|done| self.run("COMMIT", &[]).map(|_| done));
        if done.is_err() {
            let _ = self.run("ROLLBACK", &[]); // fails only if the connection is lost, and then nothing is to be rolled back
        }
        done
    }

    /// Checks the file; returns the damage in words. A server checks its files itself.
    pub(crate) fn check_integrity(&mut self) -> Result<Vec<String>, StoreError> {
        if self.is_postgres() {
            return Ok(Vec::new());
        }
        let found = self.rows::<(String,)>("PRAGMA integrity_check(10)", &[])?;
        Ok(found.into_iter().map(|(text,)| text).filter(|text| text != "ok").collect())
    }

    /// Returns the format of the tables, at most the last one of this version; 0 if there are none.
    pub(crate) fn format(&mut self, schema: &Schema) -> Result<i64, StoreError> {
        let (unreleased, tables) = match self.is_postgres() {
            true => (UNRELEASED_TABLES, "pg_tables WHERE schemaname = 'rollcast' AND tablename = $1"),
            false => (UNRELEASED_FILE, "sqlite_schema WHERE name = $1"),
        };
        if self.number(&format!("SELECT count(*) FROM {unreleased}"), &[])? != Some(0) {
            return Err(StoreError::Unreleased { place: self.place.clone() });
        }
        if self.number(&format!("SELECT count(*) FROM {tables}"), &[schema.table.into()])? != Some(1) {
            return Ok(0);
        }
        let found = self.number(&format!("SELECT max(version) FROM {}", schema.table), &[])?.unwrap_or_default();
        let known = schema.last_format();
        if found > known { Err(StoreError::Newer { place: self.place.clone(), found, known }) } else { Ok(found) }
    }

    /// Returns this connection if the tables have the format of this version.
    pub(crate) fn with_tables(mut self, schema: &Schema) -> Result<Self, StoreError> {
        match self.format(schema)? {
            0 => Err(self.failed("no history yet")),
            found if found < schema.last_format() => Err(self.failed("Rollcast has not upgraded its tables yet")),
            _ => Ok(self),
        }
    }

    /// Migrates the tables to the format of this version.
    fn migrate(&mut self, schema: &Schema) -> Result<(), StoreError> {
        let migrator = schema.migrator(self.is_postgres());
        self.wait(async |connection| {
            let connection: &mut dyn Any = connection;
            if let Some(connection) = connection.downcast_mut::<PgConnection>() {
                migrator.run(connection).await?;
            } else if let Some(connection) = connection.downcast_mut::<SqliteConnection>() {
                migrator.run(connection).await?;
            }
            Ok(())
        })
    }

    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<(u64, Vec<AnyRow>), StoreError> {
        let values = AnyArgumentBuffer(values.iter().map(|value| value.0.clone()).collect());
        let arguments = (!values.0.is_empty()).then_some(AnyArguments { values });
        let sql = AssertSqlSafe(sql).into_sql_str();
        self.wait(async |connection| {
            let mut results = connection.fetch_many(sql, true, arguments);
            let (mut changed, mut rows) = (0, Vec::new());
            while let Some(result) = results.try_next().await? {
                match result {
                    Either::Left(result) => changed += result.rows_affected(),
                    Either::Right(row) => rows.push(row),
                }
            }
            Ok((changed, rows))
        })
    }

    fn wait<T>(
        &mut self,
        request: impl AsyncFnOnce(&mut dyn AnyConnectionBackend) -> Result<T, sqlx::Error>,
    ) -> Result<T, StoreError> {
        let connection: &mut dyn AnyConnectionBackend = match &mut self.inner {
            Some(Inner::Own(connection)) if !self.is_lost => &mut **connection,
            Some(Inner::Pooled(connection)) if !self.is_lost => &mut **connection,
            _ => return Err(self.failed("the connection is closed")),
        };
        let _runtime = RUNTIME.enter();
        let result = block_on(async {
            let result = tokio::time::timeout(self.timeout, request(connection)).await;
            let is_alive = match &result {
                Ok(Ok(_)) => true,
                // After a failover another server may be the one to write to.
                Ok(Err(error)) if is_read_only_server(error) => false,
                Ok(Err(_)) => {
                    tokio::time::timeout(self.timeout, connection.ping()).await.is_ok_and(|pong| pong.is_ok())
                }
                Err(_) => false,
            };
            self.is_lost = !is_alive;
            result
        });
        match result {
            Ok(result) => result.map_err(|error| store_error(&self.place, &error)),
            Err(_) => Err(self.failed("it does not respond")),
        }
    }

    fn failed(&self, why: &str) -> StoreError {
        StoreError::Failed(format!("{}: {why}", self.place))
    }
}

/// Returns `true` if a PostgreSQL server refused to write because it is a standby, or its transactions are read-only.
fn is_read_only_server(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "25006")
}

pub(crate) fn damaged(place: &str, why: &str) -> StoreError {
    StoreError::Damaged { place: place.to_owned(), why: why.to_owned() }
}

/// Converts an error, in the words of the database if it has any.
fn store_error(place: &str, error: &sqlx::Error) -> StoreError {
    StoreError::Failed(match error {
        sqlx::Error::Migrate(error) => match &**error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
                return store_error(place, error);
            }
            error => format!("{place}: {error}"),
        },
        sqlx::Error::Database(error) if error.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() => {
            // The lowest byte of SQLite's codes names the kind of an error.
            match error.code().and_then(|code| code.parse::<u32>().ok()).map(|code| code & 0xff) {
                Some(11 | 26) => return damaged(place, error.message()),
                Some(13) => format!("no disk space left for {place}"),
                Some(8) => format!(
                    "{place} is read-only; make it and its folder writable for the user that runs Rollcast, or name another folder with --data-dir"
                ),
                _ => format!("{place}: {}", error.message()),
            }
        }
        sqlx::Error::Database(error) => format!("{place}: {}", error.message()),
        sqlx::Error::PoolTimedOut => format!("{place}: it does not respond"),
        error => format!("{place}: {}", error_chain::join(error)),
    })
}
