//! Reads for pages and operators, concurrent with the writer.

use std::collections::{BTreeMap, BTreeSet};

use timeline::episodes::{Day, EpisodeRow, Search};
use timeline::{Millis, Uid, Workload};

use super::filter::{CLUSTER, Filter, lasting_trouble};
use super::{ROLLOUT, RolloutRow, SCHEMA, episode, read_rollout, to_u32, uid_of};
use crate::access::permissions::Permissions;
use crate::database::postgres::ConnectionPool;
use crate::database::{Connection, Value};
use crate::history::batch;
use crate::history::options::Location;
use crate::history::sqlite::FILE;
use crate::history::store::{Cursor, EpisodePage, EpisodeRecording, EpisodeSelector, StoreError};

/// Number of concurrent readers; others wait.
pub(crate) const READERS: usize = 4;
const DAY_MILLIS: Millis = 24 * 3_600_000;
/// Number of batches or episodes that are verified at a time.
const AT_A_TIME: i64 = 200;
const EPISODES_AT_A_TIME: i64 = 4;
/// Statement that selects the namespaces of all rows.
const NAMESPACES: &str = "SELECT DISTINCT c.name, r.namespace FROM rollouts r JOIN clusters c ON c.id = r.cluster";

/// Reads the history. Each call may take some time.
pub struct Reader(Source);

enum Source {
    File(std::path::PathBuf),
    Server(ConnectionPool),
}

/// The result of a search by workload.
#[derive(Debug, Default)]
pub struct Overview {
    /// Number of rows.
    pub total: u32,
    /// Number of rollouts of each workload, by the name of its cluster and its UID.
    pub counts: BTreeMap<(String, Uid), u32>,
    /// The last rollouts of the requested workloads.
    pub last: Vec<Vec<EpisodeRow>>,
}

/// The result of verifying the history.
#[derive(Debug, Default)]
pub struct Verification {
    /// Number of clusters.
    pub clusters: u32,
    /// Rollouts in the index.
    pub rollouts: u32,
    /// Other episodes in the index.
    pub others: u32,
    /// Lines in the log.
    pub lines: u32,
    /// Descriptions of damaged data.
    pub damaged: Vec<String>,
}

impl Reader {
    /// Returns a reader of the history in a location.
    pub fn new(location: &Location) -> Self {
        Self(match location {
            Location::Folder(folder) => Source::File(folder.clone()),
            Location::Postgres(server) => Source::Server(ConnectionPool::new(server.clone(), READERS as u32)),
        })
    }

    fn read<T>(&self, read: impl FnOnce(&mut Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let connection = match &self.0 {
            Source::File(folder) => Connection::open_file(&folder.join(FILE)),
            Source::Server(pool) => pool.connection(),
        };
        read(&mut connection?.with_tables(&SCHEMA)?)
    }

    /// Returns a page of a search, the last episode first.
    pub fn search(
        &self,
        search: &Search,
        permissions: &Permissions,
        after: Option<Cursor>,
        most: u32,
    ) -> Result<EpisodePage, StoreError> {
        self.read(|database| {
            let lasting = lasting_trouble(database, search)?;
            let filter = Filter::new(search, permissions, database).within(search, &lasting);
            let (rows, values) = page_statement(filter, after, most);
            let mut rows: Vec<RolloutRow> = database.rows(&rows, &values)?;
            let is_more = rows.len() > most as usize;
            rows.truncate(most as usize);
            let next = rows.last().filter(|_| is_more).map(cursor_of).transpose()?;
            Ok(EpisodePage { rollouts: rows.into_iter().filter_map(read_rollout).collect(), next })
        })
    }

    /// Returns the names of all clusters.
    pub fn clusters(&self) -> Result<BTreeSet<String>, StoreError> {
        let rows = self.read(|database| database.rows::<(String,)>("SELECT name FROM clusters", &[]))?;
        Ok(rows.into_iter().map(|(name,)| name).collect())
    }

    /// Returns the namespaces of all rows, by cluster.
    pub fn namespaces(&self) -> Result<BTreeMap<String, BTreeSet<String>>, StoreError> {
        let mut namespaces = BTreeMap::<String, BTreeSet<String>>::new();
        for (cluster, namespace) in self.read(|database| database.rows::<(String, String)>(NAMESPACES, &[]))? {
            namespaces.entry(cluster).or_default().insert(namespace);
        }
        Ok(namespaces)
    }

    /// Returns the recording of one episode of a workload; `None` if it is not stored. It lasts until a later time if that is
    /// requested and possible.
    pub fn recording(
        &self,
        cluster: &str,
        uid: Uid,
        number: u32,
        until_millis: Option<Millis>,
    ) -> Result<Option<EpisodeRecording>, StoreError> {
        self.read(|database| {
            let cluster = database.number("SELECT id FROM clusters WHERE name = $1", &[cluster.into()])?;
            let Some(cluster) = cluster else { return Ok(None) };
            episode::recording(database, cluster, uid, number, until_millis)
        })
    }

    /// Returns the workloads that have or had this UID.
    pub fn workloads(&self, uid: Uid) -> Result<Vec<Workload>, StoreError> {
        let rows = "SELECT DISTINCT c.name, r.namespace, r.workload FROM rollouts r JOIN clusters c ON c.id = r.cluster
             WHERE r.cluster IN (SELECT id FROM clusters) AND r.uid = $1 ORDER BY 1, 2, 3";
        let rows = self.read(|database| database.rows(rows, &[uid.to_string().into()]))?.into_iter();
        let workload =
            |(cluster, namespace, name): (String, String, String)| Workload::deployment(cluster, namespace, name);
        Ok(rows.map(workload).collect())
    }

    /// Returns the rollouts of a workload, the last one first: all, or those up to the number `last`.
    pub fn rollouts(
        &self,
        cluster: &str,
        uid: Uid,
        last: Option<u32>,
        most: u32,
    ) -> Result<Vec<EpisodeRow>, StoreError> {
        let rows = format!(
            "SELECT {ROLLOUT} FROM rollouts r JOIN clusters c ON c.id = cluster WHERE name = $1 AND uid = $2 AND kind = 'rollout'
             AND number <= $3 ORDER BY number DESC LIMIT $4"
        );
        let last = last.map_or(i64::MAX, i64::from);
        let values = [cluster.into(), uid.to_string().into(), last.into(), most.into()];
        let rows = self.read(|database| database.rows(&rows, &values))?;
        Ok(rows.into_iter().filter_map(read_rollout).collect())
    }

    /// Returns the number and the start of one episode of a workload.
    pub fn find(
        &self,
        cluster: &str,
        uid: Uid,
        selector: EpisodeSelector,
    ) -> Result<Option<(u32, Millis)>, StoreError> {
        let rows = "SELECT started_millis, number, CASE WHEN kind = 'rollout' THEN revision ELSE -1 END FROM rollouts r
             JOIN clusters c ON c.id = cluster WHERE name = $1 AND uid = $2 ORDER BY number";
        let values = [cluster.into(), uid.to_string().into()];
        let rows: Vec<(Millis, i64, i64)> = self.read(|database| database.rows(rows, &values))?;
        let found = match selector {
            EpisodeSelector::Revision(wanted) => {
                let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
                rows.iter().rfind(|(.., revision)| *revision == wanted)
            }
            EpisodeSelector::At(at_millis) => {
                let before = rows.iter().filter(|(began_millis, ..)| *began_millis <= at_millis).max();
                before.or_else(|| rows.iter().min_by_key(|(began_millis, number, _)| (*began_millis, -number)))
            }
            EpisodeSelector::Last => rows.iter().rfind(|(.., revision)| *revision >= 0).or(rows.last()),
        };
        Ok(found.map(|(began_millis, number, _)| (to_u32(*number), *began_millis)))
    }

    /// Counts the episodes that began on each day, and those with trouble.
    pub fn days(&self, search: &Search, permissions: &Permissions, mut days: Vec<Day>) -> Result<Vec<Day>, StoreError> {
        let Some(first) = days.first().map(|day| day.from_millis) else { return Ok(days) };
        self.read(|database| {
            let mut filter = Filter::new(search, permissions, database);
            filter.and("started_millis >= {}", first.into());
            let rows = format!(
                "SELECT (started_millis - {first}) / {DAY_MILLIS} AS day, count(*), sum(CASE WHEN cause <> '' THEN 1 ELSE 0 END), sum(CASE WHEN kind <> 'rollout' THEN 1 ELSE 0 END)
                 FROM rollouts WHERE {} GROUP BY 1",
                filter.conditions
            );
            let rows = database.rows::<(i64, i64, i64, i64)>(&rows, &filter.values)?;
            for (index, episodes, troubled, others) in rows {
                if let Some(day) = usize::try_from(index).ok().and_then(|index| days.get_mut(index)) {
                    (day.episodes, day.troubled, day.others) = (to_u32(episodes), to_u32(troubled), to_u32(others));
                }
            }
            Ok(days)
        })
    }

    /// Returns the number of rollouts of each workload in a search, and the last rollouts of some workloads, in the order of
    /// `workloads`, the last one first.
    pub fn overview(
        &self,
        search: &Search,
        permissions: &Permissions,
        workloads: &[(&str, Uid)],
        most: u32,
    ) -> Result<Overview, StoreError> {
        self.read(|database| {
            let lasting = lasting_trouble(database, search)?;
            let filter = || Filter::new(search, permissions, database).within(search, &lasting);
            let Filter { conditions, values } = filter();
            let rows = counts_statement(&conditions);
            let filters: Vec<Filter> = workloads.iter().map(|workload| filter().of_workload(workload)).collect();
            let mut overview = Overview::default();
            for (cluster, uid, rollouts, all) in database.rows::<(String, String, i64, i64)>(&rows, &values)? {
                *overview.counts.entry((cluster, uid_of(&uid)?)).or_default() += to_u32(rollouts);
                overview.total += to_u32(all);
            }
            for Filter { conditions, values } in filters {
                let rows = format!(
                    "SELECT {ROLLOUT} FROM rollouts r WHERE {conditions} AND kind = 'rollout' ORDER BY started_millis DESC, number DESC LIMIT {most}"
                );
                let rows = database.rows(&rows, &values)?;
                overview.last.push(rows.into_iter().filter_map(read_rollout).collect());
            }
            Ok(overview)
        })
    }

    /// Verifies that all data can be read.
    ///
    /// # Errors
    /// If the store cannot be read at all.
    pub fn verify(&self) -> Result<Verification, StoreError> {
        self.read(|database| {
            let mut count = |table: &str| -> Result<u32, StoreError> {
                Ok(to_u32(database.number(&format!("SELECT count(*) FROM {table}"), &[])?.unwrap_or_default()))
            };
            let (clusters, rollouts) = (count("clusters")?, count("rollouts WHERE kind = 'rollout'")?);
            let others = count("rollouts WHERE kind <> 'rollout'")?;
            let mut damaged = database.check_integrity()?;
            let batches = "SELECT b.id, 'batch ' || seq || ' of cluster ' || name, format, body FROM batches b
                 JOIN clusters c ON c.id = b.cluster WHERE b.id > $1 ORDER BY b.id LIMIT $2";
            let lines = verify_bodies(database, batches, AT_A_TIME, &mut damaged)?;
            let episodes =
                "SELECT e.id, 'an episode of workload ' || uid || ' in cluster ' || name, format, body FROM episodes e
                 JOIN clusters c ON c.id = e.cluster WHERE e.id > $1 ORDER BY e.id LIMIT $2";
            verify_bodies(database, episodes, EPISODES_AT_A_TIME, &mut damaged)?;
            Ok(Verification { clusters, rollouts, others, lines, damaged })
        })
    }
}

/// Returns the statement of one page, with one extra row, and its values. Without a time limit in it, SQLite would sort all rows
/// instead of reading the last ones. The other columns are read only for the rows of the page.
fn page_statement(mut filter: Filter, after: Option<Cursor>, most: u32) -> (String, Vec<Value>) {
    let until_millis = after.as_ref().map_or(Millis::MAX, |cursor| cursor.started_millis);
    filter.and("started_millis <= {}", until_millis.into());
    if let Some(Cursor { started_millis, uid, number, cluster }) = after {
        let row = filter.placeholders([uid.to_string().into(), number.into(), cluster.into()]);
        let earlier = format!("(started_millis < {{}} OR (r.uid, number, {CLUSTER}) < ({row}))");
        filter.and(&earlier, started_millis.into());
    }
    let limit = filter.placeholders([(i64::from(most) + 1).into()]);
    let Filter { conditions, values } = filter;
    let order = format!("ORDER BY started_millis DESC, r.uid DESC, number DESC, {CLUSTER} DESC");
    let page = format!("SELECT r.id FROM rollouts r WHERE {conditions} {order} LIMIT {limit}");
    (format!("SELECT {ROLLOUT} FROM rollouts r WHERE r.id IN ({page}) {order}"), values)
}

/// Returns the statement that counts rollouts and rows of each workload. It also groups by namespace: then most searches read
/// only one index.
fn counts_statement(conditions: &str) -> String {
    format!(
        "SELECT {CLUSTER}, r.uid, sum(CASE WHEN kind = 'rollout' THEN 1 ELSE 0 END), count(*) FROM rollouts r
         WHERE {conditions} GROUP BY r.cluster, r.namespace, r.uid"
    )
}

/// Reads all bodies of a table in portions; returns their number of lines. Adds descriptions of unreadable ones.
fn verify_bodies(
    database: &mut Connection,
    rows: &str,
    at_a_time: i64,
    damaged: &mut Vec<String>,
) -> Result<u32, StoreError> {
    let (mut lines, mut last) = (0, 0);
    loop {
        let found = database.rows::<(i64, String, i64, Vec<u8>)>(rows, &[last.into(), at_a_time.into()])?;
        if found.is_empty() {
            return Ok(lines);
        }
        for (id, name, format, body) in found {
            last = id;
            match batch::read(to_u32(format), &body) {
                Ok(text) => lines += text.lines().count() as u32,
                Err(why) => damaged.push(format!("{name}: {why}")),
            }
        }
    }
}

fn cursor_of((_, started_millis, uid, number, .., cluster, _): &RolloutRow) -> Result<Cursor, StoreError> {
    let (started_millis, cluster) = (*started_millis, cluster.clone());
    Ok(Cursor { started_millis, uid: uid_of(uid)?, number: to_u32(*number), cluster })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::sql::tests::plan;

    #[test]
    fn a_page_reads_the_last_rows_by_their_time_and_counts_read_an_index_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut database = Connection::open_file_to_write(file.path(), &SCHEMA).unwrap();
        let all = Search::default();
        let named = Search { name: "web".to_owned(), ..Search::default() };
        let in_namespace = Search { namespace: "shop".to_owned(), ..Search::default() };
        for (search, index) in [
            (&all, "rollouts_by_time (started_millis<?)"),
            (&in_namespace, "rollouts_by_time (started_millis<?)"),
            (&named, "rollouts_by_name (workload=? AND started_millis<?)"),
        ] {
            let filter = Filter::new(search, &Permissions::All, &database);
            let (rows, values) = page_statement(filter, None, 50);
            let steps = plan(&mut database, &rows, &values);
            assert!(steps.iter().any(|step| step.ends_with(index)), "{steps:?}");
        }
        let in_cluster = Search { cluster: "prod".to_owned(), ..in_namespace.clone() };
        for search in [&all, &in_cluster] {
            let Filter { conditions, values } = Filter::new(search, &Permissions::All, &database);
            let steps = plan(&mut database, &counts_statement(&conditions), &values);
            assert!(steps.iter().any(|step| step.contains("COVERING INDEX rollouts_by_namespace")), "{steps:?}");
        }
        let steps = plan(&mut database, NAMESPACES, &[]);
        assert!(steps.iter().any(|step| step.contains("COVERING INDEX rollouts_by_namespace")), "{steps:?}");
    }
}
