//! What pages and operators read, beside the one who writes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use timeline::past::{Day, PastRollout, Search};
use timeline::{Millis, Uid, Workload};

use super::asked::{Asked, CLUSTER};
use super::{ROLLOUT, episode, read_batch, read_rollout, small, uid_of};
use crate::access::sight::Sight;
use crate::database::postgres::ConnectionPool;
use crate::database::{Connection, Row};
use crate::history::batch::Batch;
use crate::history::options::Location;
use crate::history::store::{Cut, Found, Place, Sought, StoreError};
use crate::history::{postgres, sqlite};

/// Readers at once; more wait.
pub(crate) const READERS: usize = 4;
const DAY_MILLIS: Millis = 24 * 3_600_000;
/// Batches that are looked through at a time, and episodes.
const AT_A_TIME: i64 = 200;
const EPISODES_AT_A_TIME: i64 = 4;

/// Reads what is kept. Each call may take a while.
pub struct Reader {
    source: Source,
}

enum Source {
    File(std::path::PathBuf),
    Server(ConnectionPool),
}

/// What a search comes to, by workload.
#[derive(Debug, Default)]
pub struct Overview {
    /// How many rows are found.
    pub total: u32,
    /// How many rollouts of each workload are found, by the name of its cluster and its UID.
    pub counts: BTreeMap<(String, Uid), u32>,
    /// The last rollouts of the workloads that were named.
    pub last: Vec<Vec<PastRollout>>,
}

/// What is kept, looked through.
#[derive(Debug, Default)]
pub struct Examined {
    /// Number of clusters.
    pub clusters: u32,
    /// Rollouts in the index.
    pub rollouts: u32,
    /// Other episodes in the index.
    pub others: u32,
    /// Lines in the log.
    pub lines: u32,
    /// What cannot be read, in words.
    pub damaged: Vec<String>,
}

impl Reader {
    /// Of the history in a place.
    #[must_use]
    pub fn new(location: &Location) -> Self {
        let source = match location {
            Location::Folder(folder) => Source::File(folder.clone()),
            Location::Postgres(server) => Source::Server(ConnectionPool::new(server.clone(), READERS as u32)),
        };
        Self { source }
    }

    /// Of the history in a folder.
    #[must_use]
    pub fn of_folder(folder: &Path) -> Self {
        Self { source: Source::File(folder.to_owned()) }
    }

    fn read<T>(&self, read: impl FnOnce(&mut Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        match &self.source {
            Source::File(folder) => read(&mut sqlite::to_read(folder)?),
            Source::Server(pool) => read(&mut pool.connection(&postgres::SCHEMA)?),
        }
    }

    /// Rollouts that are asked for, the last one first, after a place.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn rollouts(
        &self,
        search: &Search,
        sight: &Sight,
        after: Option<Place>,
        most: u32,
    ) -> Result<Found, StoreError> {
        self.read(|database| {
            let mut asked = Asked::of(search, sight, database).within(search);
            if let Some(Place { started_millis, uid, number, cluster }) = after {
                asked.and("started_millis <= $", started_millis.into());
                let began = asked.values.len();
                asked.values.extend([uid.to_string().into(), number.into(), cluster.into()]);
                asked.conditions.push_str(&format!(
                    " AND (started_millis < ${began} OR (r.uid, number, {CLUSTER}) < (${}, ${}, ${}))",
                    began + 1,
                    began + 2,
                    began + 3
                ));
            }
            asked.values.push((i64::from(most) + 1).into());
            let rows = format!(
                "SELECT {ROLLOUT} FROM rollouts r WHERE {}
                 ORDER BY started_millis DESC, r.uid DESC, number DESC, {CLUSTER} DESC LIMIT ${}",
                asked.conditions,
                asked.values.len()
            );
            let found = database.rows(&rows, &asked.values)?;
            let is_more = found.len() > most as usize;
            let told = found.into_iter().take(most as usize).map(read_rollout).collect::<Result<Vec<_>, _>>()?;
            let mut after = None;
            let rollouts = told.into_iter().filter_map(|(rollout, place)| {
                after = is_more.then_some(place);
                rollout
            });
            Ok(Found { rollouts: rollouts.collect(), after })
        })
    }

    /// Names of the clusters of which anything is kept.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn clusters(&self) -> Result<BTreeSet<String>, StoreError> {
        let rows = self.read(|database| database.rows("SELECT name FROM clusters", &[]))?;
        rows.into_iter().map(|row| row.text(0)).collect()
    }

    /// The namespaces of all rollouts, by cluster.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn namespaces(&self) -> Result<BTreeMap<String, BTreeSet<String>>, StoreError> {
        let rows = "SELECT DISTINCT c.name, r.namespace FROM rollouts r JOIN clusters c ON c.id = r.cluster";
        let mut found = BTreeMap::<String, BTreeSet<String>>::new();
        for row in self.read(|database| database.rows(rows, &[]))? {
            found.entry(row.text(0)?).or_default().insert(row.text(1)?);
        }
        Ok(found)
    }

    /// One rollout of a workload with its lines; `None` when it is not kept, or not any more. It goes on until a later time where that is
    /// asked for and can be shown at all.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn cut(
        &self,
        cluster: &str,
        uid: Uid,
        number: u32,
        until_millis: Option<Millis>,
    ) -> Result<Option<Cut>, StoreError> {
        self.read(|database| {
            let cluster = database.number("SELECT id FROM clusters WHERE name = $1", &[cluster.into()])?;
            let Some(cluster) = cluster else { return Ok(None) };
            episode::of_rollout(database, cluster, uid, number, until_millis)
        })
    }

    /// Where the workload of a UID is, or was.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn places(&self, uid: Uid) -> Result<Vec<Workload>, StoreError> {
        let rows = "SELECT DISTINCT c.name, r.namespace, r.workload FROM rollouts r JOIN clusters c ON c.id = r.cluster
             WHERE r.cluster IN (SELECT id FROM clusters) AND r.uid = $1 ORDER BY 1, 2, 3";
        let rows = self.read(|database| database.rows(rows, &[uid.to_string().into()]))?.into_iter();
        rows.map(|row| Ok(Workload::deployment(row.text(0)?, row.text(1)?, row.text(2)?))).collect()
    }

    /// The rollouts of a workload, the last one first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn of_workload(&self, cluster: &str, uid: Uid, most: u32) -> Result<Vec<PastRollout>, StoreError> {
        self.read(|database| of_workload(database, cluster, uid, most))
    }

    /// Which rollout of a workload had a revision, or which episode went on at a time: the last one that did. And its begin.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn find(&self, cluster: &str, uid: Uid, of: Sought) -> Result<Option<(u32, Millis)>, StoreError> {
        let (condition, value) = match of {
            Sought::Revision(revision) => {
                ("kind = 'rollout' AND revision = $3 ORDER BY number DESC", i64::try_from(revision).unwrap_or(i64::MAX))
            }
            Sought::At(at_millis) => (
                "1 = 1 ORDER BY CASE WHEN started_millis <= $3 THEN 0 ELSE 1 END, CASE WHEN started_millis <= $3 THEN -started_millis ELSE started_millis END, number DESC",
                at_millis,
            ),
            Sought::Last => {
                ("number <= $3 ORDER BY CASE WHEN kind = 'rollout' THEN 0 ELSE 1 END, number DESC", i64::MAX)
            }
        };
        let row = format!(
            "SELECT number, started_millis FROM rollouts r JOIN clusters c ON c.id = cluster WHERE name = $1 AND uid = $2 AND {condition} LIMIT 1"
        );
        let uid = uid.to_string();
        let values = [cluster.into(), uid.as_str().into(), value.into()];
        let row = self.read(|database| database.row(&row, &values))?;
        row.map(|row| Ok((small(row.number(0)?), row.number(1)?))).transpose()
    }

    /// How many of them began on each of the days that begin at these times, and how many had trouble.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn days(&self, search: &Search, sight: &Sight, mut days: Vec<Day>) -> Result<Vec<Day>, StoreError> {
        let Some(first) = days.first().map(|day| day.from_millis) else { return Ok(days) };
        self.read(|database| {
            let mut asked = Asked::of(search, sight, database);
            asked.and("started_millis >= $", first.into());
            let begins = asked.values.len();
            asked.values.push(DAY_MILLIS.into());
            let rows = format!(
                "SELECT (started_millis - ${begins}) / ${} AS day, count(*), sum(CASE WHEN cause <> '' THEN 1 ELSE 0 END), sum(CASE WHEN kind <> 'rollout' THEN 1 ELSE 0 END)
                 FROM rollouts WHERE {} GROUP BY 1",
                asked.values.len(),
                asked.conditions
            );
            for row in database.rows(&rows, &asked.values)? {
                if let Some(day) = usize::try_from(row.number(0)?).ok().and_then(|index| days.get_mut(index)) {
                    day.episodes = small(row.number(1)?);
                    day.troubled = small(row.number(2)?);
                    day.others = small(row.number(3)?);
                }
            }
            Ok(days)
        })
    }

    /// The overview of what is asked for: how many rollouts each workload has among it, and the last ones of some workloads, in their
    /// order, each the last one first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn overview(
        &self,
        search: &Search,
        sight: &Sight,
        workloads: &[(&str, Uid)],
        most: u32,
    ) -> Result<Overview, StoreError> {
        self.read(|database| {
            let asked = || Asked::of(search, sight, database).within(search);
            let Asked { conditions, values } = asked();
            let rows = format!("SELECT {CLUSTER}, r.uid, sum(CASE WHEN kind = 'rollout' THEN 1 ELSE 0 END), count(*) FROM rollouts r WHERE {conditions} GROUP BY r.cluster, r.uid");
            let asked: Vec<Asked> = workloads.iter().map(|workload| asked().of_one(workload)).collect();
            let mut overview = Overview::default();
            for row in database.rows(&rows, &values)? {
                let (cluster, uid) = (row.text(0)?, uid_of(&row.text(1)?)?);
                overview.counts.insert((cluster, uid), small(row.number(2)?));
                overview.total += small(row.number(3)?);
            }
            for Asked { conditions, mut values } in asked {
                values.push(most.into());
                let limit = values.len();
                let rows = format!(
                    "SELECT {ROLLOUT} FROM rollouts r WHERE {conditions} AND kind = 'rollout' ORDER BY started_millis DESC, number DESC LIMIT ${limit}"
                );
                overview.last.push(known(database.rows(&rows, &values)?)?);
            }
            Ok(overview)
        })
    }

    /// Looks through everything.
    ///
    /// # Errors
    /// When it cannot be read at all.
    pub fn examine(&self) -> Result<Examined, StoreError> {
        self.read(|database| {
            let mut count = |table: &str| -> Result<u32, StoreError> {
                Ok(small(database.number(&format!("SELECT count(*) FROM {table}"), &[])?.unwrap_or_default()))
            };
            let (clusters, rollouts) = (count("clusters")?, count("rollouts WHERE kind = 'rollout'")?);
            let others = count("rollouts WHERE kind <> 'rollout'")?;
            let damaged = database.examine()?;
            let mut found = Examined { clusters, rollouts, others, damaged, ..Examined::default() };
            let mut last = 0;
            loop {
                let rows = "SELECT seq, from_millis, to_millis, format, body, name, b.id FROM batches b
                     JOIN clusters c ON c.id = b.cluster WHERE b.id > $1 ORDER BY b.id LIMIT $2";
                let rows = database.rows(rows, &[last.into(), AT_A_TIME.into()])?;
                if rows.is_empty() {
                    break;
                }
                for row in rows {
                    let cluster = row.text(5)?;
                    last = row.number(6)?;
                    let batch = read_batch(row)?;
                    match batch.text() {
                        Ok(text) => found.lines += text.lines().count() as u32,
                        Err(why) => found.damaged.push(format!("batch {} of cluster {cluster}: {why}", batch.seq)),
                    }
                }
            }
            found.damaged.extend(damaged_episodes(database)?);
            Ok(found)
        })
    }
}

/// Episodes that cannot be read, in words.
fn damaged_episodes(database: &mut Connection) -> Result<Vec<String>, StoreError> {
    let rows = "SELECT e.id, e.uid, name, format, body FROM episodes e JOIN clusters c ON c.id = e.cluster
         WHERE e.id > $1 ORDER BY e.id LIMIT $2";
    let (mut damaged, mut last) = (Vec::new(), 0);
    loop {
        let found = database.rows(rows, &[last.into(), EPISODES_AT_A_TIME.into()])?;
        if found.is_empty() {
            return Ok(damaged);
        }
        for row in found {
            last = row.number(0)?;
            let (uid, name) = (row.text(1)?, row.text(2)?);
            let format = u32::try_from(row.number(3)?).unwrap_or_default();
            let batch = Batch { seq: 0, from_millis: 0, to_millis: 0, format, body: row.bytes(4)? };
            if let Err(why) = batch.text() {
                damaged.push(format!("an episode of workload {uid} in cluster {name}: {why}"));
            }
        }
    }
}

fn of_workload(database: &mut Connection, cluster: &str, uid: Uid, most: u32) -> Result<Vec<PastRollout>, StoreError> {
    let rows = format!(
        "SELECT {ROLLOUT} FROM rollouts r JOIN clusters c ON c.id = cluster WHERE name = $1 AND uid = $2 AND kind = 'rollout'
         ORDER BY number DESC LIMIT $3"
    );
    known(database.rows(&rows, &[cluster.into(), uid.to_string().into(), most.into()])?)
}

/// The rollouts of rows; those that a later version wrote in a way that is not known are left out.
fn known(rows: Vec<Row>) -> Result<Vec<PastRollout>, StoreError> {
    let read = rows.into_iter().map(read_rollout).collect::<Result<Vec<_>, _>>()?;
    Ok(read.into_iter().filter_map(|(rollout, _)| rollout).collect())
}
