//! Connects to a file of SQLite or to a PostgreSQL server, with the SQL that both have in common.
//! Owns how to connect, the deadline of answers, and the words for errors.
//! Must not know any table: each room brings its [`Schema`].

pub(crate) mod postgres;
pub mod server;
pub(crate) mod sqlite;

use std::any::Any;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures::TryStreamExt;
use futures::executor::block_on;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, Decode, Either, PgConnection, Postgres, Row as _, SqlSafeStr, SqliteConnection, Type};
use sqlx_core::any::{AnyArgumentBuffer, AnyConnectionBackend, AnyValueKind};
use tokio::runtime::Runtime;

/// Sockets and timers of all connections. Who uses a connection waits for its answer in a thread of its own, and has no runtime.
#[expect(clippy::expect_used, reason = "without a thread no part of the program works")]
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).thread_name("database").enable_all().build().expect("a thread can be started")
});

/// What went wrong.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Another Rollcast writes there.
    #[error("another server is using the history in {0}")]
    Taken(String),
    /// A later version wrote it.
    #[error("{place} was written by a later version of Rollcast (format {found}; this version reads up to {known})")]
    Newer {
        /// Path of the file, or the database.
        place: String,
        /// Its format.
        found: i64,
        /// The last format that is known.
        known: i64,
    },
    /// A version before the first release wrote it.
    #[error(
        "{place} was written by a version of Rollcast before the first release and cannot be read; start with another folder or database (`--data-dir`, `--history`), or move it away"
    )]
    Unreleased {
        /// Path of the file, or the database.
        place: String,
    },
    /// The file is damaged.
    #[error("{place} is damaged: {why}")]
    Damaged {
        /// Path of the file, or the database.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// It cannot be read or written now.
    #[error("{0}")]
    Failed(String),
}

/// A parameter of a statement.
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

impl From<bool> for Value {
    fn from(condition: bool) -> Self {
        i64::from(condition).into()
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        // What clusters say may hold the one character that PostgreSQL does not take.
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

/// A row of an answer.
pub(crate) struct Row(AnyRow);

impl Row {
    fn get<'r, T: Decode<'r, sqlx::Any> + Type<sqlx::Any>>(&'r self, column: usize) -> Result<T, StoreError> {
        self.0.try_get(column).map_err(|error| StoreError::Failed(error.to_string()))
    }

    pub(crate) fn number(&self, column: usize) -> Result<i64, StoreError> {
        self.get(column)
    }

    /// A condition, as a number.
    pub(crate) fn is(&self, column: usize) -> Result<bool, StoreError> {
        self.number(column).map(|number| number != 0)
    }

    pub(crate) fn text(&self, column: usize) -> Result<String, StoreError> {
        self.get(column)
    }

    pub(crate) fn bytes(&self, column: usize) -> Result<Vec<u8>, StoreError> {
        self.get(column)
    }
}

/// The tables of one room: what makes those of each format from those of the format before.
#[derive(Debug)]
pub(crate) struct Schema {
    /// The table that has the formats of the others.
    pub(crate) table: &'static str,
    /// The statements of each format, from the first one on.
    pub(crate) migrations: &'static [&'static str],
    /// A statement that counts what only versions before the first release made.
    pub(crate) unreleased: &'static str,
}

impl Schema {
    const fn last_format(&self) -> i64 {
        self.migrations.len() as i64
    }

    fn migrator(&self) -> Migrator {
        let migration = |(format, sql): (i64, &&'static str)| {
            Migration::new(format, "".into(), MigrationType::Simple, sql.into_sql_str(), false)
        };
        let mut migrator = Migrator::with_migrations((1..).zip(self.migrations).map(migration).collect());
        migrator.dangerous_set_table_name(self.table);
        migrator.set_locking(false); // whoever connects to write has a lock already
        migrator
    }
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// `None` only while it is dropped.
    inner: Option<Inner>,
    /// The file or the database, for people.
    place: String,
    is_lost: bool,
    /// An answer is waited for so long.
    patience: Duration,
}

#[derive(Debug)]
enum Inner {
    Own(Box<dyn AnyConnectionBackend>),
    Pooled(PoolConnection<Postgres>),
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _runtime = RUNTIME.enter();
        match self.inner.take() {
            // The file is closed when this returns, and a server knows that its locks are free.
            Some(Inner::Own(connection)) if !self.is_lost => drop(block_on(connection.close())),
            Some(Inner::Pooled(connection)) if self.is_lost => drop(connection.detach()),
            _ => {}
        }
    }
}

impl Connection {
    const fn new(inner: Inner, place: String, patience: Duration) -> Self {
        Self { inner: Some(inner), place, is_lost: false, patience }
    }

    /// It does not answer any more.
    pub(crate) const fn is_lost(&self) -> bool {
        self.is_lost
    }

    fn is_postgres(&self) -> bool {
        match &self.inner {
            Some(Inner::Own(connection)) => (&**connection as &dyn Any).is::<PgConnection>(),
            Some(Inner::Pooled(_)) | None => true,
        }
    }

    /// The function that tells at which place of a text another one begins.
    pub(crate) fn place_in(&self) -> &'static str {
        if self.is_postgres() { "strpos" } else { "instr" }
    }

    /// Runs a statement; returns how many rows it changed. Without values it may be several statements.
    pub(crate) fn run(&mut self, sql: &str, values: &[Value]) -> Result<u64, StoreError> {
        self.answer(sql, values).map(|(changed, _)| changed)
    }

    /// Runs a statement; returns what it answers.
    pub(crate) fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        self.answer(sql, values).map(|(_, rows)| rows)
    }

    /// The first row of an answer; `None` when there is none.
    pub(crate) fn row(&mut self, sql: &str, values: &[Value]) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, values)?.into_iter().next())
    }

    /// The only number of an answer; `None` when there is none.
    pub(crate) fn number(&mut self, sql: &str, values: &[Value]) -> Result<Option<i64>, StoreError> {
        Ok(self.row(sql, values)?.and_then(|row| row.number(0).ok()))
    }

    /// Does several things, all of them or none.
    pub(crate) fn together<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.run("BEGIN", &[])?;
        let done = act(self).and_then(|done| self.run("COMMIT", &[]).map(|_| done));
        if done.is_err() {
            let _ = self.run("ROLLBACK", &[]); // there is nothing to roll back where the connection is lost
        }
        done
    }

    /// Looks through the file; returns what is wrong with it, in words. A server looks after its files itself.
    pub(crate) fn examine(&mut self) -> Result<Vec<String>, StoreError> {
        if self.is_postgres() {
            return Ok(Vec::new());
        }
        let said = self.rows("PRAGMA integrity_check(10)", &[])?.into_iter().map(|row| row.text(0));
        Ok(said.collect::<Result<Vec<String>, StoreError>>()?.into_iter().filter(|said| said != "ok").collect())
    }

    /// The format of the tables, at most the last one that is known; 0 where there are none.
    pub(crate) fn format(&mut self, schema: &Schema) -> Result<i64, StoreError> {
        if self.number(schema.unreleased, &[])? != Some(0) {
            return Err(StoreError::Unreleased { place: self.place.clone() });
        }
        let is_there = match self.is_postgres() {
            true => "SELECT count(*) FROM pg_tables WHERE schemaname = 'rollcast' AND tablename = $1",
            false => "SELECT count(*) FROM sqlite_schema WHERE name = $1",
        };
        if self.number(is_there, &[schema.table.into()])? != Some(1) {
            return Ok(0);
        }
        let found = self.number(&format!("SELECT max(version) FROM {}", schema.table), &[])?.unwrap_or_default();
        let known = schema.last_format();
        if found > known { Err(StoreError::Newer { place: self.place.clone(), found, known }) } else { Ok(found) }
    }

    /// This connection, if the tables have the format of this version.
    fn with_tables(mut self, schema: &Schema) -> Result<Self, StoreError> {
        if self.format(schema)? < schema.last_format() { Err(self.failed("no history yet")) } else { Ok(self) }
    }

    /// Brings the tables to the format of this version.
    fn migrate(&mut self, schema: &Schema) -> Result<(), StoreError> {
        let migrator = schema.migrator();
        let is_postgres = self.is_postgres();
        self.wait(async |connection| {
            let connection: &mut dyn Any = connection;
            let migrated = if is_postgres {
                let Some(connection) = connection.downcast_mut::<PgConnection>() else { return Ok(()) };
                migrator.run(connection).await
            } else {
                let Some(connection) = connection.downcast_mut::<SqliteConnection>() else { return Ok(()) };
                migrator.run(connection).await
            };
            Ok(migrated?)
        })
    }

    fn answer(&mut self, sql: &str, values: &[Value]) -> Result<(u64, Vec<Row>), StoreError> {
        let values = AnyArgumentBuffer(values.iter().map(|value| value.0.clone()).collect());
        let arguments = (!values.0.is_empty()).then_some(AnyArguments { values });
        let sql = AssertSqlSafe(sql).into_sql_str();
        self.wait(async |connection| {
            let mut answers = connection.fetch_many(sql, true, arguments);
            let (mut changed, mut rows) = (0, Vec::new());
            while let Some(answer) = answers.try_next().await? {
                match answer {
                    Either::Left(result) => changed += result.rows_affected(),
                    Either::Right(row) => rows.push(Row(row)),
                }
            }
            Ok((changed, rows))
        })
    }

    fn wait<T>(
        &mut self,
        ask: impl AsyncFnOnce(&mut dyn AnyConnectionBackend) -> Result<T, sqlx::Error>,
    ) -> Result<T, StoreError> {
        let connection: &mut dyn AnyConnectionBackend = match &mut self.inner {
            Some(Inner::Own(connection)) if !self.is_lost => &mut **connection,
            Some(Inner::Pooled(connection)) if !self.is_lost => &mut **connection,
            _ => return Err(self.failed("the connection is closed")),
        };
        let _runtime = RUNTIME.enter();
        let answer = block_on(async {
            let answer = tokio::time::timeout(self.patience, ask(connection)).await;
            let is_alive = match &answer {
                Ok(Ok(_)) => true,
                Ok(Err(_)) => {
                    tokio::time::timeout(self.patience, connection.ping()).await.is_ok_and(|pong| pong.is_ok())
                }
                Err(_) => false,
            };
            self.is_lost = !is_alive;
            answer
        });
        match answer {
            Ok(answer) => answer.map_err(|error| wrong(&self.place, &error)),
            Err(_) => Err(self.failed("it does not respond")),
        }
    }

    fn failed(&self, why: &str) -> StoreError {
        StoreError::Failed(format!("{}: {why}", self.place))
    }
}

/// The place is damaged.
pub(crate) fn damaged(place: &str, why: &str) -> StoreError {
    StoreError::Damaged { place: place.to_owned(), why: why.to_owned() }
}

/// What went wrong at a place, in the database's words where it says any.
fn wrong(place: &str, error: &sqlx::Error) -> StoreError {
    StoreError::Failed(match error {
        sqlx::Error::Migrate(error) => match &**error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => return wrong(place, error),
            error => format!("{place}: {error}"),
        },
        sqlx::Error::Database(error) if error.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() => {
            // The lowest byte of SQLite's codes names the kind of an error.
            match error.code().and_then(|code| code.parse::<u32>().ok()).map(|code| code & 0xff) {
                Some(11 | 26) => return damaged(place, error.message()),
                Some(13) => format!("no disk space left for {place}"),
                Some(8) => format!("{place} is read-only"),
                _ => format!("{place}: {}", error.message()),
            }
        }
        sqlx::Error::Database(error) => format!("{place}: {}", error.message()),
        sqlx::Error::PoolTimedOut => format!("{place}: it does not respond"),
        error => {
            let (mut words, mut cause) = (error.to_string(), std::error::Error::source(error));
            while let Some(error) = cause {
                let more = error.to_string();
                if !words.contains(&more) {
                    words = format!("{words}: {more}");
                }
                cause = error.source();
            }
            format!("{place}: {words}")
        }
    })
}
