//! The store in a PostgreSQL database, for several servers that watch the same clusters. Each cluster has one writer: the server
//! with its advisory lock, which ends with the connection. The others keep the last lines in memory; the next server with the
//! lock writes them after a gap.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use timeline::Millis;

use super::batch::Batch;
use super::latest_lines::LatestLines;
use super::options::Limits;
use super::sql;
use super::store::{Commit, CommitResult, Episode, Store, StoreError, StoredCluster};
use crate::database::Connection;
use crate::database::address::DatabaseServer;
use crate::database::postgres::LOCKS;

/// Largest size of settled episodes that wait for a takeover of their cluster, compressed, in bytes.
const MOST_SETTLED_BYTES: usize = 16 << 20;
/// Time for which settled episodes are kept for a takeover: the lock of a failed server ends within half a minute.
const SETTLED_FOR_MILLIS: Millis = 10 * 60_000;
/// Time between two measurements of a store within its limit: each reads all rows of the index.
const MEASURE_EVERY: Duration = Duration::from_secs(600);

/// The store.
pub struct Postgres {
    server: DatabaseServer,
    limits: Limits,
    connection: Option<Connection>,
    clusters: BTreeMap<Arc<str>, ClusterLock>,
    /// Name of this server in the column `last_commit`.
    me: String,
    /// Time of the next measurement of the size.
    measure_at: Instant,
}

#[derive(Default)]
struct ClusterLock {
    /// The last lines of all objects.
    objects: LatestLines,
    /// Id of the cluster; `None` if this server does not have the lock.
    cluster: Option<i64>,
    /// Whether the database lacks lines.
    is_behind: bool,
    /// Name of the last commit that this server wrote; empty if it wrote none.
    last_commit: String,
    /// The last settled episodes: another server may fail before it writes them, or a database failover may lose them.
    settled: Vec<Episode>,
}

impl Postgres {
    /// Connects to a database, and creates missing tables.
    ///
    /// # Errors
    /// If it does not respond, a later version wrote it, or a permission is missing.
    pub fn open(server: &DatabaseServer, limits: Limits) -> Result<Self, StoreError> {
        let connection = Some(Connection::connect_to_write(server, &sql::SCHEMA)?);
        let me = format!("{:016x}", fastrand::u64(..));
        let (server, clusters, measure_at) = (server.clone(), BTreeMap::new(), Instant::now());
        Ok(Self { server, limits, connection, clusters, me, measure_at })
    }

    /// Connects to a database to which no server writes.
    ///
    /// # Errors
    /// If a server writes to it, or it cannot be opened.
    pub fn open_alone(server: &DatabaseServer, limits: Limits) -> Result<Self, StoreError> {
        let mut store = Self::open(server, limits)?;
        store.with_connection(|_, connection| {
            connection.remove_deadlines()?; // no page waits for it, and a large store takes a while
            for cluster in sql::clusters(connection)? {
                if !connection.lock(LOCKS | cluster)? {
                    return Err(StoreError::InUse(server.to_string()));
                }
            }
            Ok(())
        })?;
        Ok(store)
    }

    /// Runs a request on the connection, and reconnects if it was lost. The locks are lost with it.
    fn with_connection<T>(
        &mut self,
        request: impl FnOnce(&mut Self, &mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::connect_to_write(&self.server, &sql::SCHEMA)?,
        };
        let done = request(self, &mut connection);
        if done.is_err() && connection.is_lost {
            self.clusters.values_mut().for_each(|known| known.cluster = None);
        } else {
            self.connection = Some(connection);
        }
        done
    }

    fn write(&mut self, connection: &mut Connection, commits: &[Commit]) -> Result<CommitResult, StoreError> {
        for commit in commits {
            let text = commit.lines.as_ref().and_then(|lines| lines.text().ok());
            let known = self.clusters.entry(commit.cluster.clone()).or_default();
            text.iter().for_each(|text| known.objects.read(text));
        }
        let (me, clusters) = (&self.me, &self.clusters);
        let (result, written) = connection.transaction(|database| {
            let (mut result, mut written) = (CommitResult::default(), Vec::new());
            for commit in commits {
                if let Some(known) = clusters.get(&commit.cluster) {
                    let name = format!("{me}:{}", commit.number);
                    let cluster = known.write(database, commit, &name, &mut result)?;
                    written.push((commit, name, cluster));
                }
            }
            Ok((result, written))
        })?;
        for (commit, name, cluster) in written {
            if let Some(known) = self.clusters.get_mut(&commit.cluster) {
                (known.cluster, known.is_behind) = (cluster, cluster.is_none());
                if cluster.is_some() {
                    known.last_commit = name;
                }
                known.keep_settled(&commit.episodes);
            }
        }
        Ok(result)
    }

    /// Returns whether the stored data exceeds the limit. A size that cannot be measured within the statement's deadline does not
    /// count as too large: then data is evicted only by age.
    fn is_too_much(&mut self, connection: &mut Connection) -> bool {
        if Instant::now() < self.measure_at {
            return false;
        }
        let bytes = stored_bytes(connection);
        if let Err(why) = &bytes {
            tracing::warn!("cannot measure the history: {why}");
        }
        let is_too_much = bytes.is_ok_and(|bytes| bytes > self.limits.bytes);
        if !is_too_much {
            self.measure_at = Instant::now() + MEASURE_EVERY;
        }
        is_too_much
    }

    fn tidy_locked(&mut self, connection: &mut Connection, now_millis: Millis) -> Result<bool, StoreError> {
        let is_too_much = self.is_too_much(connection);
        let held: Vec<i64> = self.clusters.values().filter_map(|known| known.cluster).collect();
        // Clusters without a writing server are tidied, too.
        let mut borrowed = Vec::new();
        let mut others = sql::clusters(connection)?.into_iter().filter(|cluster| !held.contains(cluster));
        let locked = others.try_for_each(|cluster| {
            if connection.lock(LOCKS | cluster)? {
                borrowed.push(cluster);
            }
            Ok::<_, StoreError>(())
        });
        let mine = [held.as_slice(), &borrowed].concat();
        let is_more = locked.and_then(|()| sql::tidy(connection, &mine, &self.limits, now_millis, is_too_much));
        // Also after an error, so that another server may write these clusters.
        for cluster in borrowed {
            let unlocked = connection.unlock(LOCKS | cluster);
            if is_more.is_ok() {
                unlocked?;
            }
        }
        if is_too_much && matches!(is_more, Ok(false)) {
            self.measure_at = Instant::now() + MEASURE_EVERY; // the remaining data must stay
        }
        is_more
    }
}

impl ClusterLock {
    /// Writes a commit under a name; returns the id of its cluster, or `None` if another server writes the cluster.
    fn write(
        &self,
        database: &mut Connection,
        commit: &Commit,
        name: &str,
        result: &mut CommitResult,
    ) -> Result<Option<i64>, StoreError> {
        let locked = match self.cluster {
            Some(cluster) => Some((cluster, false)),
            None => self.acquire(database, &commit.cluster, name)?,
        };
        let Some((cluster, is_takeover)) = locked else { return Ok(None) };
        result.clusters.insert(commit.cluster.clone());
        result.is_takeover |= is_takeover;
        let row = "UPDATE clusters SET last_commit = $2 WHERE id = $1 AND last_commit <> $2";
        if database.run(row, &[cluster.into(), name.into()])? == 0 {
            return Ok(Some(cluster)); // it was written before, but the response was lost
        }
        let takeover = if is_takeover { self.takeover(database, cluster, commit)? } else { None };
        let commit = takeover.as_ref().unwrap_or(commit);
        sql::append(database, cluster, commit)?;
        result.bytes += commit.bytes();
        Ok(Some(cluster))
    }

    /// Acquires the lock for the commit of a name. Returns the id of the cluster, and whether another server wrote it or a
    /// failover lost commits; `None` if another server has the lock.
    fn acquire(
        &self,
        database: &mut Connection,
        cluster_name: &str,
        name: &str,
    ) -> Result<Option<(i64, bool)>, StoreError> {
        let cluster = sql::cluster_id(database, cluster_name)?;
        let is_locked = database.lock(LOCKS | cluster)?;
        let last = database.row("SELECT last_commit FROM clusters WHERE id = $1", &[cluster.into()])?;
        let last = last.map(|(last,): (String,)| last).unwrap_or_default();
        let was_held = !self.last_commit.is_empty();
        let is_ours = last == name || was_held && last == self.last_commit;
        match (is_locked, is_ours) {
            (true, _) => Ok(Some((cluster, self.is_behind || was_held && !is_ours))),
            (false, false) => Ok(None),
            // No other server wrote since then: the database has not yet detected that the connection was lost.
            (false, true) => {
                Err(StoreError::Failed("the history database has not closed a lost connection yet".to_owned()))
            }
        }
    }

    /// Returns the commit to write after another server: all objects, after a gap, and the settled episodes that the server left open.
    fn takeover(&self, database: &mut Connection, cluster: i64, commit: &Commit) -> Result<Option<Commit>, StoreError> {
        let heard_millis = sql::last_response(database, &commit.cluster)?;
        let (at_millis, text) = (self.objects.at_millis, self.objects.keyframe(heard_millis));
        let Ok(lines) = Batch::pack(at_millis, at_millis, &text) else { return Ok(None) };
        let lines = (!text.is_empty()).then_some(lines);
        let mut episodes = self.unwritten_episodes(database, cluster, heard_millis)?;
        episodes.extend_from_slice(&commit.episodes);
        Ok(Some(Commit { lines, checkpoint: None, episodes, ..commit.clone() }))
    }

    /// Returns the settled episodes that the other server, whose last response is from `heard_millis`, did not write: those that
    /// are open in the store, and those that began later.
    fn unwritten_episodes(
        &self,
        database: &mut Connection,
        cluster: i64,
        heard_millis: Option<Millis>,
    ) -> Result<Vec<Episode>, StoreError> {
        let open = "SELECT uid, from_millis, to_millis FROM episodes WHERE cluster = $1 AND is_open = 1";
        let open: Vec<(String, Millis, Millis)> = database.rows(open, &[cluster.into()])?;
        let open: BTreeMap<_, _> = open.into_iter().map(|(uid, from, to)| (uid, (from, to))).collect();
        let is_unwritten = |settled: &&Episode| {
            let is_later = heard_millis.is_some_and(|heard| settled.from_millis > heard + sql::CLOCKS_MILLIS);
            let is_open = |(from_millis, to_millis): &(Millis, Millis)| {
                *from_millis <= settled.to_millis + sql::CLOCKS_MILLIS
                    && *to_millis >= settled.from_millis - sql::CLOCKS_MILLIS
            };
            is_later || open.get(&settled.uid.to_string()).is_some_and(is_open)
        };
        Ok(self.settled.iter().filter(is_unwritten).cloned().collect())
    }

    /// Keeps the settled episodes of a commit until they are certainly written, as far as there is room.
    fn keep_settled(&mut self, episodes: &[Episode]) {
        self.settled.extend(episodes.iter().filter(|episode| !episode.is_open).cloned());
        let last_millis = self.settled.iter().map(|episode| episode.to_millis).max().unwrap_or_default();
        self.settled.retain(|episode| episode.to_millis >= last_millis - SETTLED_FOR_MILLIS);
        let mut bytes = 0;
        let last = self.settled.iter().rev().take_while(|episode| {
            bytes += episode.body.len();
            bytes <= MOST_SETTLED_BYTES
        });
        let evicted = self.settled.len() - last.count();
        self.settled.drain(..evicted);
    }
}

fn stored_bytes(database: &mut Connection) -> Result<u64, StoreError> {
    let row = "SELECT coalesce((SELECT sum(length(body)) FROM batches), 0) + coalesce((SELECT sum(length(body)) FROM checkpoints), 0)
         + coalesce((SELECT sum(length(body)) FROM episodes), 0) + coalesce((SELECT sum(length(body)) FROM snapshots), 0)
         + coalesce((SELECT sum(octet_length(rollout) + octet_length(text)) FROM rollouts), 0)";
    Ok(database.number(row, &[])?.unwrap_or_default().unsigned_abs())
}

impl Store for Postgres {
    fn commit(&mut self, commits: &[Commit]) -> Result<CommitResult, StoreError> {
        self.with_connection(|store, connection| store.write(connection, commits))
    }

    fn resume(&mut self, cluster: &str, use_checkpoint: bool) -> Result<Option<StoredCluster>, StoreError> {
        self.with_connection(|store, connection| sql::load(connection, cluster, use_checkpoint, &store.limits))
    }

    fn last_response(&mut self, cluster: &str) -> Result<Option<Millis>, StoreError> {
        self.with_connection(|_, connection| sql::last_response(connection, cluster))
    }

    fn tidy(&mut self, now_millis: Millis) -> Result<bool, StoreError> {
        self.with_connection(|store, connection| store.tidy_locked(connection, now_millis))
    }

    fn bytes(&mut self) -> Result<u64, StoreError> {
        self.with_connection(|_, connection| stored_bytes(connection))
    }
}
