//! The store in a PostgreSQL database, for several Rollcasts that watch the same clusters. One of them writes each cluster: the one that
//! has the database's advisory lock of it, which ends with the connection. The others keep in mind what exists; the one that gets the
//! lock next writes that, with the time in which nothing was written as a gap.

use std::collections::BTreeMap;
use std::sync::Arc;

use timeline::Millis;

use super::batch;
use super::fold::Fold;
use super::options::Limits;
use super::sql::{self, Head};
use super::store::{Commit, Lines, Store, StoreError, Stored, Written};
use crate::database::postgres::{LOCKS, UNRELEASED};
use crate::database::server::Server;
use crate::database::{Connection, Schema};

/// Its tables.
pub(super) const SCHEMA: Schema =
    Schema { table: "_sqlx_migrations", migrations: &[include_str!("postgres.sql")], unreleased: UNRELEASED };

/// The store.
pub struct Postgres {
    server: Server,
    limits: Limits,
    connection: Option<Connection>,
    clusters: BTreeMap<Arc<str>, Known>,
    /// Who writes, as the database has it.
    me: String,
}

/// What is known of a cluster.
#[derive(Default)]
struct Known {
    /// Everything that exists, as it was told.
    fold: Fold,
    /// Where writing stands; `None` while another one writes, or may.
    head: Option<Head>,
    /// The database lacks something of what was told.
    is_behind: bool,
    /// It was written here before.
    was_held: bool,
}

impl Postgres {
    /// Connects to a database, and makes its tables where they are not there.
    ///
    /// # Errors
    /// When it does not answer, a later version wrote it, or a right is missing.
    pub fn open(server: &Server, limits: Limits) -> Result<Self, StoreError> {
        let connection = Some(Connection::to_write(server, &SCHEMA)?);
        let me = format!("{:016x}", fastrand::u64(..));
        Ok(Self { server: server.clone(), limits, connection, clusters: BTreeMap::new(), me })
    }

    /// The same, when no Rollcast writes there.
    ///
    /// # Errors
    /// When one does, and when it cannot be opened.
    pub fn open_alone(server: &Server, limits: Limits) -> Result<Self, StoreError> {
        let mut store = Self::open(server, limits)?;
        let connection = connected(&mut store.connection, server)?;
        for cluster in clusters(connection)? {
            if !connection.lock(LOCKS | cluster)? {
                return Err(StoreError::Taken(server.to_string()));
            }
        }
        Ok(store)
    }

    fn write(&mut self, commits: &[Commit]) -> Result<Written, StoreError> {
        for commit in commits {
            let text = commit.lines.as_ref().and_then(|lines| lines.text().ok());
            let known = self.clusters.entry(commit.cluster.clone()).or_default();
            text.iter().for_each(|text| known.fold.take(text));
        }
        let connection = connected(&mut self.connection, &self.server)?;
        let (me, known) = (&self.me, &mut self.clusters);
        let written = connection.together(|database| {
            let (mut written, mut heads) = (Written::default(), Vec::new());
            for commit in commits {
                let Some(known) = known.get(&commit.cluster) else { continue };
                let done = known.write(database, commit, me)?;
                heads.push((commit.cluster.clone(), done.head));
                written.clusters.extend(done.head.map(|_| commit.cluster.clone()));
                written.bytes += done.bytes;
                written.is_anew |= done.is_anew;
            }
            Ok((written, heads))
        });
        let (written, heads) = written?;
        for (cluster, head) in heads {
            let known = self.clusters.entry(cluster).or_default();
            known.head = head;
            known.is_behind = head.is_none();
            known.was_held |= head.is_some();
        }
        Ok(written)
    }

    fn tidied(&mut self, now_millis: Millis) -> Result<bool, StoreError> {
        let is_too_much = self.bytes()? > self.limits.bytes;
        let connection = connected(&mut self.connection, &self.server)?;
        let held: Vec<i64> = self.clusters.values().filter_map(|known| Some(known.head?.cluster)).collect();
        let (mut mine, mut borrowed) = (held.clone(), Vec::new());
        // Nobody tidies what is not watched any more, unless whoever comes by does.
        let mut is_more = Ok(false);
        for cluster in clusters(connection)?.into_iter().filter(|cluster| !held.contains(cluster)) {
            match connection.lock(LOCKS | cluster) {
                Ok(true) => borrowed.push(cluster),
                Ok(false) => {}
                Err(why) => {
                    is_more = Err(why);
                    break;
                }
            }
        }
        mine.extend(&borrowed);
        if is_more.is_ok() {
            is_more = sql::tidy(connection, &mine, &self.limits, now_millis, is_too_much);
        }
        // Whatever came of it: another one may write these.
        for cluster in borrowed {
            connection.unlock(LOCKS | cluster)?;
        }
        is_more
    }

    /// A connection that is lost has lost its locks, too.
    fn after<T>(&mut self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if result.is_err() && self.connection.as_ref().is_some_and(Connection::is_lost) {
            self.connection = None;
            self.clusters.values_mut().for_each(|known| known.head = None);
        }
        result
    }
}

/// What became of the commit of one cluster.
#[derive(Default)]
struct Done {
    /// Where writing stands; `None` when another one writes.
    head: Option<Head>,
    bytes: u64,
    is_anew: bool,
}

impl Known {
    fn write(&self, database: &mut Connection, commit: &Commit, me: &str) -> Result<Done, StoreError> {
        let taken = match self.head {
            Some(head) => Some((head, false)),
            None => self.take(database, &commit.cluster, me)?,
        };
        let Some((head, is_anew)) = taken else { return Ok(Done::default()) };
        let name = format!("{me}:{}", commit.number);
        let row = "UPDATE clusters SET last_commit = $2 WHERE id = $1 AND last_commit <> $2";
        if database.run(row, &[head.cluster.into(), name.into()])? == 0 {
            // It was written before, and the answer was lost.
            return Ok(Done { head: Some(head), ..Done::default() });
        }
        let anew = if is_anew { self.anew(database, head, commit)? } else { None };
        let commit = anew.as_ref().unwrap_or(commit);
        let head = sql::append(database, head, commit)?;
        Ok(Done { head: Some(head), bytes: commit.bytes(), is_anew })
    }

    /// Takes the lock of the cluster. `None` when another one has it; else where writing stands, and whether another one wrote what is
    /// there.
    fn take(&self, database: &mut Connection, name: &str, me: &str) -> Result<Option<(Head, bool)>, StoreError> {
        let head = sql::head(database, name)?;
        if !database.lock(LOCKS | head.cluster)? {
            return Ok(None);
        }
        // What the one before wrote is there only now.
        let head = sql::head(database, name)?;
        let last = database.row("SELECT last_commit FROM clusters WHERE id = $1", &[head.cluster.into()])?;
        let last = last.map_or_else(|| Ok(String::new()), |row| row.text(0))?;
        Ok(Some((head, self.is_behind || self.was_held && !last.starts_with(me))))
    }

    /// What is written instead when another one wrote before: everything that exists, after a gap since its last word.
    fn anew(&self, database: &mut Connection, head: Head, commit: &Commit) -> Result<Option<Commit>, StoreError> {
        let heard = "SELECT heard_millis FROM clusters WHERE id = $1";
        let heard_millis = database.number(heard, &[head.cluster.into()])?;
        let (at_millis, text) = self.fold.keyframe(heard_millis);
        let Ok(body) = batch::pack(&text) else { return Ok(None) };
        let lines = (!text.is_empty()).then_some(Lines { from_millis: at_millis, to_millis: at_millis, body });
        Ok(Some(Commit { lines, checkpoint: None, ..commit.clone() }))
    }
}

fn clusters(database: &mut Connection) -> Result<Vec<i64>, StoreError> {
    database.rows("SELECT id FROM clusters", &[])?.into_iter().map(|row| row.number(0)).collect()
}

fn connected<'c>(connection: &'c mut Option<Connection>, server: &Server) -> Result<&'c mut Connection, StoreError> {
    match connection {
        Some(connection) => Ok(connection),
        None => Ok(connection.insert(Connection::to_write(server, &SCHEMA)?)),
    }
}

impl Store for Postgres {
    fn commit(&mut self, commits: &[Commit]) -> Result<Written, StoreError> {
        let written = self.write(commits);
        self.after(written)
    }

    fn resume(&mut self, cluster: &str, made_by: Option<&str>) -> Result<Option<Stored>, StoreError> {
        let connection = connected(&mut self.connection, &self.server)?;
        let stored = sql::stored(connection, cluster, made_by);
        self.after(stored)
    }

    fn tidy(&mut self, now_millis: Millis) -> Result<bool, StoreError> {
        let tidied = self.tidied(now_millis);
        self.after(tidied)
    }

    fn bytes(&mut self) -> Result<u64, StoreError> {
        let connection = connected(&mut self.connection, &self.server)?;
        let row = "SELECT coalesce((SELECT sum(length(body)) FROM batches), 0) + coalesce((SELECT sum(length(body)) FROM checkpoints), 0)
             + coalesce((SELECT sum(length(body)) FROM episodes), 0) + coalesce((SELECT sum(length(body)) FROM snapshots), 0)
             + coalesce((SELECT sum(length(rollout) + length(text)) FROM rollouts), 0)";
        Ok(connection.number(row, &[])?.unwrap_or_default().unsigned_abs())
    }
}
