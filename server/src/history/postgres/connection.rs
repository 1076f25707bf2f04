//! Connections to a PostgreSQL server. Each has a deadline for every answer, so that a server that says nothing holds nobody up for long.

use std::cmp::Ordering;
use std::error::Error;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use tokio::runtime::Runtime;
use tokio_postgres::config::SslMode;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::server::{CONNECT, Server, why};
use crate::history::READERS;
use crate::history::database::{Cell, Database, Row, Value};
use crate::history::store::StoreError;

/// An answer that takes longer does not come.
const ANSWER: Duration = Duration::from_secs(10);
/// Tables of another format are made anew within this time, however large they are.
const MIGRATION: Duration = Duration::from_secs(3_600);
/// Another one that makes them is waited for so long, and looked after so often; then it is said, and tried again later.
const TURN: Duration = Duration::from_secs(4);
const BETWEEN: Duration = Duration::from_millis(50);
/// Our tables are in a schema of their own.
const SCHEMA: &str = "rollcast";
/// A table that versions before the first release made.
const UNRELEASED: &str = "format";
/// What makes the tables of each format from those of the format before.
const MIGRATIONS: [&str; 1] = [include_str!("1.sql")];
/// How a session is: the server notices soon that a connection is lost, as its locks end with it.
const SESSION: &str = "SET search_path = rollcast; SET lock_timeout = '5s'; SET statement_timeout = '9s';
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; SET tcp_user_timeout = 15000";

/// A connection.
pub struct Connection {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    client: Client,
    server: Server,
    is_lost: bool,
    /// An answer is waited for so long.
    patience: Duration,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background(); // nothing is waited for, wherever this happens
        }
    }
}

impl Connection {
    /// Connects to read what is there.
    ///
    /// # Errors
    /// When the server does not answer, or not let us in, and when another version wrote the tables.
    pub fn to_read(server: &Server) -> Result<Self, StoreError> {
        let mut connection = Self::to(server)?;
        let (found, known) = (connection.format()?, MIGRATIONS.len() as i64);
        let place = || server.to_string();
        match found.cmp(&known) {
            Ordering::Less => Err(failed(server, "no history yet")),
            Ordering::Greater => Err(StoreError::Newer { place: place(), found, known }),
            Ordering::Equal => Ok(connection),
        }
    }

    /// Connects, whatever is there.
    ///
    /// # Errors
    /// When the server does not answer, or not let us in.
    pub fn to(server: &Server) -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(server, &error.to_string()))?;
        let client = runtime.block_on(async {
            tokio::time::timeout(CONNECT, connect(server))
                .await
                .unwrap_or_else(|_| Err("it does not respond".to_owned()))
        });
        let client = client.map_err(|why| failed(server, &why))?;
        let mut connection =
            Self { runtime: Some(runtime), client, server: server.clone(), is_lost: false, patience: ANSWER };
        connection.say(SESSION)?;
        Ok(connection)
    }

    /// Connects to write; makes the tables where they are not there.
    ///
    /// # Errors
    /// When the server does not answer, a later version wrote the tables, or a right is missing.
    pub fn to_write(server: &Server) -> Result<Self, StoreError> {
        let mut connection = Self::to(server)?;
        let format = connection.format()?;
        let known = MIGRATIONS.len() as i64;
        if format > known {
            return Err(StoreError::Newer { place: server.to_string(), found: format, known });
        }
        if format < known {
            connection.migrate()?;
        }
        Ok(connection)
    }

    /// It does not answer any more.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.is_lost || self.client.is_closed()
    }

    /// Our tables are there.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn is_begun(&mut self) -> Result<bool, StoreError> {
        Ok(self.format()? > 0)
    }

    /// The format of the tables; 0 where there are none.
    fn format(&mut self) -> Result<i64, StoreError> {
        let is_there = "SELECT count(*) FROM pg_tables WHERE schemaname = $1 AND tablename = $2";
        if self.number(is_there, &[SCHEMA.into(), UNRELEASED.into()])? == Some(1) {
            return Err(StoreError::Unreleased { place: self.server.to_string() });
        }
        if self.number(is_there, &[SCHEMA.into(), "schema_format".into()])? != Some(1) {
            return Ok(0);
        }
        Ok(self.number("SELECT max(format) FROM schema_format", &[])?.unwrap_or_default())
    }

    /// Brings the tables to the format of this version. Two that do so at once do it one after the other, unless the first one takes long.
    fn migrate(&mut self) -> Result<(), StoreError> {
        self.say("BEGIN")?;
        let deadline = Instant::now() + TURN;
        while self.number("SELECT pg_try_advisory_xact_lock($1)", &[super::LOCKS.into()])? != Some(1) {
            if Instant::now() > deadline {
                return Err(failed(&self.server, "another server is upgrading the tables"));
            }
            std::thread::sleep(BETWEEN); // whatever calls this may wait
        }
        // Large tables take their time.
        self.say("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")?;
        self.patience = MIGRATION;
        let migrated = self.migrated();
        self.patience = ANSWER;
        migrated
    }

    fn migrated(&mut self) -> Result<(), StoreError> {
        let is_there = self.number("SELECT count(*) FROM pg_namespace WHERE nspname = $1", &[SCHEMA.into()])?;
        if is_there != Some(1) {
            self.say("CREATE SCHEMA rollcast")?;
        }
        let format = usize::try_from(self.format()?).unwrap_or_default();
        for migration in MIGRATIONS.iter().skip(format) {
            self.say(migration)?;
        }
        self.say("COMMIT")
    }

    fn say(&mut self, sql: &str) -> Result<(), StoreError> {
        self.wait(async |client| client.batch_execute(sql).await)
    }

    fn wait<T>(&mut self, ask: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>) -> Result<T, StoreError> {
        let Some(runtime) = &self.runtime else { return Err(failed(&self.server, "the connection is closed")) };
        let answer = runtime.block_on(async { tokio::time::timeout(self.patience, ask(&self.client)).await });
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(failed(&self.server, &why(&error))),
            Err(_) => {
                self.is_lost = true;
                Err(failed(&self.server, "it does not respond"))
            }
        }
    }
}

async fn connect(server: &Server) -> Result<Client, String> {
    let config = server.config();
    if config.get_ssl_mode() == SslMode::Disable {
        let (client, connection) = config.connect(NoTls).await.map_err(|error| why(&error))?;
        tokio::spawn(connection);
        return Ok(client);
    }
    let (tls, _) = MakeRustlsConnect::with_native_certs()
        .map_err(|_| "this machine has no trusted certificate authorities".to_owned())?;
    let (client, connection) = config.connect(tls).await.map_err(|error| why(&error))?;
    tokio::spawn(connection);
    Ok(client)
}

fn failed(server: &Server, why: &str) -> StoreError {
    StoreError::Failed(format!("{server}: {why}"))
}

impl ToSql for Value<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Number(number) => number.to_sql(kind, out),
            // What clusters say may hold the one character that PostgreSQL does not take.
            Self::Text(text) if text.contains('\0') => text.replace('\0', "\u{fffd}").to_sql(kind, out),
            Self::Text(text) => text.to_sql(kind, out),
            Self::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::TEXT, Type::BYTEA].contains(kind)
    }

    to_sql_checked!();
}

const fn kind(value: &Value<'_>) -> Type {
    match value {
        Value::Number(_) => Type::INT8,
        Value::Text(_) => Type::TEXT,
        Value::Bytes(_) => Type::BYTEA,
    }
}

fn typed<'v>(values: &'v [Value<'v>]) -> Vec<(&'v (dyn ToSql + Sync), Type)> {
    values.iter().map(|value| (value as &(dyn ToSql + Sync), kind(value))).collect()
}

fn cells(row: &tokio_postgres::Row) -> Result<Row, tokio_postgres::Error> {
    let cell = |index: usize, kind: &Type| {
        let some = |cell: Option<Cell>| cell.unwrap_or_default();
        Ok(match *kind {
            Type::INT8 => some(row.try_get::<_, Option<i64>>(index)?.map(Cell::Number)),
            Type::INT4 => some(row.try_get::<_, Option<i32>>(index)?.map(|number| Cell::Number(number.into()))),
            Type::BOOL => some(row.try_get::<_, Option<bool>>(index)?.map(|is| Cell::Number(is.into()))),
            Type::BYTEA => some(row.try_get::<_, Option<Vec<u8>>>(index)?.map(Cell::Bytes)),
            Type::TEXT => some(row.try_get::<_, Option<String>>(index)?.map(Cell::Text)),
            _ => Cell::Null,
        })
    };
    let cells = row.columns().iter().enumerate().map(|(index, column)| cell(index, column.type_()));
    cells.collect::<Result<Vec<Cell>, tokio_postgres::Error>>().map(Row)
}

impl Database for Connection {
    fn run(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        self.wait(async |client| client.execute_typed(sql, &typed(values)).await)
    }

    fn rows(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        self.wait(async |client| client.query_typed(sql, &typed(values)).await?.iter().map(cells).collect())
    }

    fn place_in(&self) -> &'static str {
        "strpos"
    }

    fn examine(&mut self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new()) // the server looks after its files
    }
}

/// Connections that are ready for the next one who reads.
pub struct Pool {
    server: Server,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    /// To a server; nothing is connected yet.
    #[must_use]
    pub const fn new(server: Server) -> Self {
        Self { server, idle: Mutex::new(Vec::new()) }
    }

    /// Reads with one of them.
    ///
    /// # Errors
    /// When the server does not answer, and what `read` says.
    pub fn with<T>(&self, read: impl FnOnce(&mut Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let alive = idle.and_then(|mut connection| connection.rows("SELECT 1", &[]).ok().map(|_| connection));
        let mut connection = alive.map_or_else(|| Connection::to_read(&self.server), Ok)?;
        let answer = read(&mut connection);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if !connection.is_lost() && idle.len() < READERS {
            idle.push(connection);
        }
        answer
    }
}
