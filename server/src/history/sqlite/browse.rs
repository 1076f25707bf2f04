//! The index of rollouts in SQLite: written with everything else, read beside it.

use std::path::{Path, PathBuf};

use app::detail::rollouts::BEFORE_MILLIS;
use app::history::{Day, PastRollout, Search};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, ToSql, params};
use timeline::{Millis, Uid};

use super::{BUSY, FILE, beginning, read_batch, wrong};
use crate::history::batch::Batch;
use crate::history::slice;
use crate::history::store::{Cut, Found, Place, Reader, Sought, StoreError};

const DAY_MILLIS: Millis = 24 * 3_600_000;
/// A rollout is shown from this long before it began.
const LEAD_MILLIS: Millis = 5_000;
/// And until this long after it was over: pods take their time to end.
const TAIL_MILLIS: Millis = 45_000;
/// Of one that never ended this much is shown.
const LONGEST_MILLIS: Millis = 6 * 3_600_000;
/// What of a rollout is asked for, with the names of its parameters.
const MATCHES: &str = "(:cluster = '' OR cluster IN (SELECT id FROM clusters WHERE name = :cluster))
     AND (:namespace = '' OR namespace = :namespace) AND (:outcome IS NULL OR outcome = :outcome)
     AND (NOT :trouble OR cause <> '')";

/// Writes how a rollout stands. That it was stuck stays known.
pub(super) fn note(connection: &Connection, cluster: i64, rollout: &PastRollout) -> rusqlite::Result<()> {
    let row = "INSERT INTO rollouts (cluster, uid, number, namespace, started_millis, outcome, cause, is_deleted, text, rollout)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (cluster, uid, number) DO UPDATE SET started_millis = ?5, outcome = ?6, is_deleted = ?8, rollout = ?10,
         cause = CASE WHEN ?7 = '' THEN cause ELSE ?7 END, text = CASE WHEN ?7 = '' THEN text ELSE ?9 END";
    let change_cause = rollout.change_cause.as_deref().unwrap_or_default();
    let revision = format!("revision {}", rollout.revision);
    let words = [&rollout.namespace, &rollout.name, &rollout.images, change_cause, &rollout.cause, &revision];
    connection.prepare_cached(row)?.execute(params![
        cluster,
        rollout.uid.to_string(),
        rollout.number,
        rollout.namespace,
        rollout.started_millis,
        name(rollout.outcome),
        rollout.cause,
        rollout.is_deleted,
        words.join("\n").to_lowercase(),
        serde_json::to_string(rollout).unwrap_or_default(),
    ])?;
    Ok(())
}

/// An outcome as it stands in the index.
fn name(outcome: timeline::rollout::Outcome) -> String {
    serde_json::to_value(outcome).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Lets go of rollouts that began before a time; the last one of a workload that exists stays.
pub(super) fn let_go(connection: &Connection, before_millis: Millis, most: i64) -> rusqlite::Result<usize> {
    let rows = "DELETE FROM rollouts WHERE id IN (SELECT id FROM rollouts r WHERE started_millis < ?1 AND (is_deleted
         OR number < (SELECT max(number) FROM rollouts o WHERE o.cluster = r.cluster AND o.uid = r.uid)) LIMIT ?2)";
    connection.execute(rows, [before_millis, most])
}

/// What pages read.
pub struct SqliteReader {
    path: PathBuf,
}

impl SqliteReader {
    /// Of the store in a folder.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { path: folder.join(FILE) }
    }

    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let open = || {
            let connection = Connection::open_with_flags(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            connection.busy_timeout(BUSY)?;
            read(&connection)
        };
        open().map_err(|error| wrong(&self.path, &error))
    }
}

/// What is kept, looked through.
#[derive(Debug, Default)]
pub struct Examined {
    /// Clusters.
    pub clusters: u32,
    /// Rollouts in the index.
    pub rollouts: u32,
    /// Lines, those of keyframes left out.
    pub lines: u32,
    /// What cannot be read, in words.
    pub damaged: Vec<String>,
}

impl SqliteReader {
    /// Looks through everything.
    ///
    /// # Errors
    /// When the file cannot be read at all.
    pub fn examine(&self) -> Result<Examined, StoreError> {
        self.read(|connection| {
            let count =
                |table: &str| connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0));
            let (clusters, rollouts) = (count("clusters")?, count("rollouts")?);
            let mut found = Examined { clusters, rollouts, ..Examined::default() };
            let mut checks = connection.prepare("PRAGMA integrity_check(10)")?;
            for told in checks.query_map([], |row| row.get::<_, String>(0))? {
                found.damaged.extend(Some(told?).filter(|told| told != "ok"));
            }
            let rows = "SELECT seq, is_keyframe, from_millis, to_millis, format, body, name FROM batches b
                 JOIN clusters c ON c.id = b.cluster ORDER BY b.cluster, seq";
            let mut rows = connection.prepare(rows)?;
            for batch in rows.query_map([], |row| Ok((read_batch(row)?, row.get::<_, String>(6)?)))? {
                let (batch, cluster) = batch?;
                match batch.text() {
                    Ok(text) if !batch.is_keyframe => found.lines += text.lines().count() as u32,
                    Ok(_) => {}
                    Err(why) => found.damaged.push(format!("batch {} of {cluster}: {why}", batch.seq)),
                }
            }
            Ok(found)
        })
    }
}

impl Reader for SqliteReader {
    fn rollouts(&self, search: &Search, after: Option<Place>, most: u32) -> Result<Found, StoreError> {
        let after = after.unwrap_or(Place { started_millis: Millis::MAX, id: i64::MAX });
        let (from, to) = (search.from_millis.unwrap_or(0), search.to_millis.unwrap_or(Millis::MAX));
        self.read(|connection| {
            let (words, mut values) = asked(search);
            let rows = format!(
                "SELECT rollout, cause, started_millis, id FROM rollouts WHERE {MATCHES}{words}
                 AND started_millis >= :from AND started_millis < :to
                 AND (started_millis < :after OR started_millis = :after AND id < :id)
                 ORDER BY started_millis DESC, id DESC LIMIT :most"
            );
            let most_and_one = i64::from(most) + 1;
            let limits: [(&str, &dyn ToSql); 5] = [
                (":from", &from),
                (":to", &to),
                (":after", &after.started_millis),
                (":id", &after.id),
                (":most", &most_and_one),
            ];
            let values: Vec<(&str, &dyn ToSql)> =
                values.iter_mut().map(|(name, value)| (name.as_str(), &**value)).chain(limits).collect();
            let mut rows = connection.prepare(&rows)?;
            let found = rows.query_map(values.as_slice(), read_rollout)?.collect::<rusqlite::Result<Vec<_>>>()?;
            let is_more = found.len() > most as usize;
            let told: Vec<(PastRollout, Place)> = found.into_iter().flatten().take(most as usize).collect();
            let after = told.last().map(|(_, place)| *place).filter(|_| is_more);
            Ok(Found { rollouts: told.into_iter().map(|(rollout, _)| rollout).collect(), after })
        })
    }

    fn cut(&self, cluster: &str, uid: Uid, number: u32) -> Result<Option<Cut>, StoreError> {
        let found = self.read(|connection| {
            let row =
                "SELECT rollout, '', started_millis, r.id, cluster FROM rollouts r JOIN clusters c ON c.id = cluster
                 WHERE name = ?1 AND uid = ?2 AND number = ?3";
            let uid_text = uid.to_string();
            let row = connection.query_row(row, params![cluster, uid_text, number], |row| {
                Ok((read_rollout(row)?, row.get::<_, i64>(4)?))
            });
            let Some((Some((rollout, _)), cluster)) = row.optional()? else { return Ok(None) };
            let next = "SELECT min(started_millis) FROM rollouts WHERE cluster = ?1 AND uid = ?2 AND number > ?3";
            let next: Option<Millis> =
                connection.query_row(next, params![cluster, uid_text, number], |row| row.get(0))?;
            let from_millis = rollout.started_millis - LEAD_MILLIS;
            let over_millis = rollout.ended_millis.unwrap_or(rollout.started_millis + LONGEST_MILLIS) + TAIL_MILLIS;
            let to_millis = next.map_or(over_millis, |next| over_millis.min(next - BEFORE_MILLIS));
            let batches = between(connection, cluster, from_millis, to_millis)?;
            Ok(Some((rollout.revision, from_millis, to_millis, batches)))
        })?;
        let Some((revision, from_millis, to_millis, batches)) = found else { return Ok(None) };
        // A batch that is damaged is left out; what is there is still worth a look.
        let texts: Vec<String> = batches.iter().filter_map(|batch| batch.text().ok()).collect();
        let text = slice::cut(&texts, uid, from_millis, to_millis);
        Ok((!text.is_empty()).then_some(Cut { revision, to_millis, text }))
    }

    fn find(&self, cluster: &str, uid: Uid, of: Sought) -> Result<Option<u32>, StoreError> {
        let row = "SELECT max(number) FROM rollouts r JOIN clusters c ON c.id = cluster WHERE name = ?1 AND uid = ?2
             AND (?3 IS NULL OR json_extract(rollout, '$.revision') = ?3) AND (?4 IS NULL OR started_millis <= ?4)";
        let (revision, at) = match of {
            Sought::Revision(revision) => (i64::try_from(revision).ok(), None),
            Sought::At(at_millis) => (None, Some(at_millis)),
        };
        self.read(|connection| {
            connection.query_row(row, params![cluster, uid.to_string(), revision, at], |row| row.get(0))
        })
    }

    fn days(&self, search: &Search, mut days: Vec<Day>) -> Result<Vec<Day>, StoreError> {
        let Some(first) = days.first().map(|day| day.from_millis) else { return Ok(days) };
        self.read(|connection| {
            let (words, values) = asked(search);
            let rows = format!(
                "SELECT (started_millis - :first) / :day, count(*), sum(cause <> '') FROM rollouts
                 WHERE {MATCHES}{words} AND started_millis >= :first GROUP BY 1"
            );
            let limits: [(&str, &dyn ToSql); 2] = [(":first", &first), (":day", &DAY_MILLIS)];
            let values: Vec<(&str, &dyn ToSql)> =
                values.iter().map(|(name, value)| (name.as_str(), &**value)).chain(limits).collect();
            let mut rows = connection.prepare(&rows)?;
            let counts =
                rows.query_map(values.as_slice(), |row| Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?)))?;
            for count in counts {
                let (index, rollouts, troubled) = count?;
                if let Some(day) = usize::try_from(index).ok().and_then(|index| days.get_mut(index)) {
                    (day.rollouts, day.troubled) = (rollouts, troubled);
                }
            }
            Ok(days)
        })
    }
}

/// Batches from which a stretch of time can be made: from the last keyframe before it, or the beginning.
fn between(connection: &Connection, cluster: i64, from: Millis, to: Millis) -> rusqlite::Result<Vec<Batch>> {
    let after = beginning(connection, cluster, from)?;
    let rows = "SELECT seq, is_keyframe, from_millis, to_millis, format, body FROM batches WHERE cluster = ?1
         AND (seq > ?2 AND NOT is_keyframe OR seq = ?2 AND is_keyframe) AND from_millis <= ?3 ORDER BY seq";
    let mut rows = connection.prepare(rows)?;
    rows.query_map([cluster, after, to], read_batch)?.collect()
}

/// Parameters by their names.
type Values = Vec<(String, Box<dyn ToSql>)>;

/// What is asked for, as values of [`MATCHES`], and conditions for the words.
fn asked(search: &Search) -> (String, Values) {
    let outcome = search.outcome.map(name);
    let mut values: Values = vec![
        (":cluster".to_owned(), Box::new(search.cluster.clone())),
        (":namespace".to_owned(), Box::new(search.namespace.clone())),
        (":outcome".to_owned(), Box::new(outcome)),
        (":trouble".to_owned(), Box::new(search.had_trouble)),
    ];
    let mut conditions = String::new();
    for (index, word) in search.text.split_whitespace().enumerate() {
        conditions.push_str(&format!(" AND instr(text, :word{index}) > 0"));
        values.push((format!(":word{index}"), Box::new(word.to_lowercase())));
    }
    (conditions, values)
}

/// A rollout; `None` when a later version wrote it in a way that is not known.
fn read_rollout(row: &Row<'_>) -> rusqlite::Result<Option<(PastRollout, Place)>> {
    let (text, cause): (String, String) = (row.get(0)?, row.get(1)?);
    let place = Place { started_millis: row.get(2)?, id: row.get(3)? };
    let rollout: Option<PastRollout> = serde_json::from_str(&text).ok();
    Ok(rollout.map(|rollout| (PastRollout { cause, ..rollout }, place)))
}
