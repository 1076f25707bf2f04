//! Connections to a PostgreSQL server. Each has a deadline for every answer, so that a server that says nothing holds nobody up for long.

use std::time::{Duration, Instant};

use futures::executor::block_on;
use sqlx::pool::PoolOptions;
use sqlx::{ConnectOptions, Executor, PgConnection, Pool, Postgres};
use tokio::time::timeout;

use super::server::Server;
use super::{Connection, Inner, RUNTIME, Schema, StoreError, wrong};

/// A server that takes longer to answer is not there.
const CONNECT: Duration = Duration::from_secs(5);
/// An answer that takes longer does not come.
const ANSWER: Duration = Duration::from_secs(10);
/// Tables of another format are made anew within this time, however large they are.
const MIGRATION: Duration = Duration::from_secs(3_600);
/// Another one that makes them is waited for so long, and looked after so often; then it is said, and tried again later.
const TURN: Duration = Duration::from_secs(4);
const BETWEEN: Duration = Duration::from_millis(50);
/// "Roll", the first half of the numbers of our locks; who makes tables holds the one without a second half.
pub(crate) const LOCKS: i64 = 0x526f_6c6c << 32;
/// Counts tables that only versions before the first release made.
pub(crate) const UNRELEASED: &str =
    "SELECT count(*) FROM pg_tables WHERE schemaname = 'rollcast' AND tablename IN ('format', 'schema_format')";
/// How a session is: the server notices soon that a connection is lost, as its locks end with it.
const SESSION: &str = "SET search_path = rollcast; SET lock_timeout = '5s'; SET statement_timeout = '9s';
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; SET tcp_user_timeout = 15000";

impl Connection {
    /// Connects to a server, whatever is there.
    pub(crate) fn to(server: &Server) -> Result<Self, StoreError> {
        let place = server.to_string();
        let failed = |why: &str| StoreError::Failed(format!("{place}: {why}"));
        let _runtime = RUNTIME.enter();
        let connected = block_on(async { timeout(CONNECT, server.options().connect()).await });
        let connected = connected.map_err(|_| failed("it does not respond"))?.map_err(|error| {
            match matches!(error, sqlx::Error::Io(_) | sqlx::Error::Tls(_)) && server.lacks_authorities() {
                true => failed("this machine has no trusted certificate authorities"),
                false => wrong(&place, &error),
            }
        })?;
        let mut connection = Self::new(Inner::Own(Box::new(connected)), place, ANSWER);
        connection.run(SESSION, &[])?;
        Ok(connection)
    }

    /// Connects to write; makes the tables where they are not there.
    pub(crate) fn to_write(server: &Server, schema: &Schema) -> Result<Self, StoreError> {
        let mut connection = Self::to(server)?;
        if connection.format(schema)? < schema.last_format() {
            connection.make_tables(schema)?;
        }
        Ok(connection)
    }

    /// Brings the tables to the format of this version. Two that do so at once do it one after the other, unless the first one takes long.
    fn make_tables(&mut self, schema: &Schema) -> Result<(), StoreError> {
        let deadline = Instant::now() + TURN;
        while !self.lock(LOCKS)? {
            if Instant::now() > deadline {
                return Err(self.failed("another server is upgrading the tables"));
            }
            std::thread::sleep(BETWEEN); // whatever calls this may wait
        }
        // Large tables take their time.
        self.run("SET statement_timeout = 0; SET lock_timeout = 0", &[])?;
        self.patience = MIGRATION;
        // Who may not make a schema can use one that was made for us.
        if self.number("SELECT count(*) FROM pg_namespace WHERE nspname = 'rollcast'", &[])? != Some(1) {
            self.run("CREATE SCHEMA rollcast", &[])?;
        }
        self.migrate(schema)?;
        self.patience = ANSWER;
        self.run(SESSION, &[])?;
        self.unlock(LOCKS)
    }

    /// Takes a lock that ends with the connection. `false` when another one has it.
    pub(crate) fn lock(&mut self, lock: i64) -> Result<bool, StoreError> {
        let row = "SELECT CASE WHEN pg_try_advisory_lock($1) THEN 1 ELSE 0 END";
        Ok(self.number(row, &[lock.into()])? == Some(1))
    }

    /// Lets go of a lock.
    pub(crate) fn unlock(&mut self, lock: i64) -> Result<(), StoreError> {
        self.rows("SELECT pg_advisory_unlock($1)", &[lock.into()]).map(drop)
    }
}

/// Connections of those who read.
pub(crate) struct ConnectionPool {
    server: Server,
    pool: Pool<Postgres>,
}

impl ConnectionPool {
    /// To a server; nothing is connected yet.
    pub(crate) fn new(server: Server, most: u32) -> Self {
        let _runtime = RUNTIME.enter();
        let pool = PoolOptions::new().max_connections(most).acquire_timeout(CONNECT);
        let pool = pool.after_connect(|connection: &mut PgConnection, _| {
            Box::pin(async { connection.execute(SESSION).await.map(drop) })
        });
        let pool = pool.connect_lazy_with(server.options().clone());
        Self { server, pool }
    }

    /// One of them, to read with.
    pub(crate) fn connection(&self, schema: &Schema) -> Result<Connection, StoreError> {
        let _runtime = RUNTIME.enter();
        let pooled = match block_on(self.pool.acquire()) {
            Ok(pooled) => pooled,
            // The pool does not say what it waited for.
            Err(_) => return Connection::to(&self.server)?.with_tables(schema),
        };
        Connection::new(Inner::Pooled(pooled), self.server.to_string(), ANSWER).with_tables(schema)
    }
}
