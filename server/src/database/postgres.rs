//! Connections to a PostgreSQL server, with a deadline for every statement.

use std::time::{Duration, Instant};

use futures::executor::block_on;
use sqlx::pool::PoolOptions;
use sqlx::{ConnectOptions, Executor, PgConnection, Pool, Postgres};
use tokio::time::timeout;

use super::address::DatabaseServer;
use super::{Connection, Inner, RUNTIME, Schema, StoreError, store_error};

/// Longest time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest time of a statement.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longest time of a migration.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(3_600);
/// Longest wait for a migration of another server, and the time between two checks of it.
const OTHER_MIGRATION_TIMEOUT: Duration = Duration::from_secs(4);
const POLL_EVERY: Duration = Duration::from_millis(50);
/// "Roll", the first half of the numbers of our locks; migrations hold the one without a second half.
pub(crate) const LOCKS: i64 = 0x526f_6c6c << 32;
/// Settings of a session: the server notices soon that a connection is lost, as its locks end with it.
const SESSION: &str = "SET search_path = rollcast; SET lock_timeout = '5s'; SET statement_timeout = '9s';
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; SET tcp_user_timeout = 15000";

impl Connection {
    /// Connects to a server, whatever tables it has.
    pub(crate) fn connect(server: &DatabaseServer) -> Result<Self, StoreError> {
        let place = server.to_string();
        let failed = |why: &str| StoreError::Failed(format!("{place}: {why}"));
        let _runtime = RUNTIME.enter();
        let connected = block_on(async { timeout(CONNECT_TIMEOUT, server.options().connect()).await });
        let connected = connected.map_err(|_| failed("it does not respond"))?.map_err(|error| {
            match matches!(error, sqlx::Error::Io(_) | sqlx::Error::Tls(_)) && server.lacks_authorities() {
                true => failed("this machine has no trusted certificate authorities"),
                false => store_error(&place, &error),
            }
        })?;
        let mut connection = Self::new(Inner::Own(Box::new(connected)), place, STATEMENT_TIMEOUT);
        connection.run(SESSION, &[])?;
        Ok(connection)
    }

    /// Connects to write; migrates the tables.
    pub(crate) fn connect_to_write(server: &DatabaseServer, schema: &Schema) -> Result<Self, StoreError> {
        let mut connection = Self::connect(server)?;
        if connection.format(schema)? < schema.last_format() {
            connection.migrate_alone(schema)?;
        }
        Ok(connection)
    }

    /// Migrates the tables. If two servers do so, the second one waits, unless the first one takes long.
    fn migrate_alone(&mut self, schema: &Schema) -> Result<(), StoreError> {
        let deadline = Instant::now() + OTHER_MIGRATION_TIMEOUT;
        while !self.lock(LOCKS)? {
            if Instant::now() > deadline {
                return Err(self.failed("another server is upgrading the tables"));
            }
            std::thread::sleep(POLL_EVERY); // callers have threads of their own
        }
        self.remove_deadlines()?;
        // Without the permission to create a schema, an administrator creates it.
        if self.number("SELECT count(*) FROM pg_namespace WHERE nspname = 'rollcast'", &[])? != Some(1) {
            self.run("CREATE SCHEMA rollcast", &[])?;
        }
        self.migrate(schema)?;
        self.timeout = STATEMENT_TIMEOUT;
        self.run(SESSION, &[])?;
        self.unlock(LOCKS)
    }

    /// Lets statements take as long as a migration may.
    pub(crate) fn remove_deadlines(&mut self) -> Result<(), StoreError> {
        self.timeout = MIGRATION_TIMEOUT;
        self.run("SET statement_timeout = 0; SET lock_timeout = 0", &[]).map(drop)
    }

    /// Takes a lock that ends with the connection. `false` if another connection has it.
    pub(crate) fn lock(&mut self, lock: i64) -> Result<bool, StoreError> {
        let row = "SELECT CASE WHEN pg_try_advisory_lock($1) THEN 1 ELSE 0 END";
        Ok(self.number(row, &[lock.into()])? == Some(1))
    }

    pub(crate) fn unlock(&mut self, lock: i64) -> Result<(), StoreError> {
        self.run("SELECT pg_advisory_unlock($1)", &[lock.into()]).map(drop)
    }
}

pub(crate) struct ConnectionPool {
    server: DatabaseServer,
    pool: Pool<Postgres>,
}

impl ConnectionPool {
    /// Returns a pool for a server, which connects when it is used.
    pub(crate) fn new(server: DatabaseServer, most: u32) -> Self {
        let _runtime = RUNTIME.enter();
        let pool = PoolOptions::new().max_connections(most).acquire_timeout(CONNECT_TIMEOUT);
        let pool = pool.after_connect(|connection: &mut PgConnection, _| {
            Box::pin(async { connection.execute(SESSION).await.map(drop) })
        });
        let pool = pool.connect_lazy_with(server.options().clone());
        Self { server, pool }
    }

    /// Returns a connection, whatever tables the server has.
    pub(crate) fn connection(&self) -> Result<Connection, StoreError> {
        let _runtime = RUNTIME.enter();
        match block_on(self.pool.acquire()) {
            Ok(pooled) => Ok(Connection::new(Inner::Pooled(pooled), self.server.to_string(), STATEMENT_TIMEOUT)),
            // The error of the pool does not say what it waited for.
            Err(_) => Connection::connect(&self.server),
        }
    }
}
