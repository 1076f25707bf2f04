//! What pages and operators read, beside the one who writes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use app::history::{Day, PastRollout, Search};
use timeline::{Millis, Uid};

use super::write::name;
use super::{batches, beginning, read_batch};
use crate::history::database::{Database, Row, Value};
use crate::history::options::Location;
use crate::history::postgres::Pool;
use crate::history::slice;
use crate::history::sqlite::File;
use crate::history::store::{Cut, Found, Place, Sought, StoreError};
use crate::sight::{Seen, Sight};

const DAY_MILLIS: Millis = 24 * 3_600_000;
/// Batches that are looked through at a time.
const AT_A_TIME: i64 = 200;

/// Reads what is kept. Each call may take a while.
pub struct Reader(Source);

enum Source {
    File(std::path::PathBuf),
    Server(Pool),
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

impl Reader {
    /// Of the history in a place.
    #[must_use]
    pub fn new(location: &Location) -> Self {
        Self(match location {
            Location::Folder(folder) => Source::File(folder.clone()),
            Location::Postgres(server) => Source::Server(Pool::new(server.clone())),
        })
    }

    /// Of the history in a folder.
    #[must_use]
    pub fn of_folder(folder: &Path) -> Self {
        Self(Source::File(folder.to_owned()))
    }

    fn read<T>(&self, read: impl FnOnce(&mut dyn Database) -> Result<T, StoreError>) -> Result<T, StoreError> {
        match &self.0 {
            Source::File(folder) => read(&mut File::to_read(folder)?),
            Source::Server(pool) => pool.with(|connection| read(connection)),
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
            let mut asked = Asked::of(search, sight, database);
            if let Some(from) = search.from_millis {
                asked.and("started_millis >= $", from.into());
            }
            if let Some(to) = search.to_millis {
                asked.and("started_millis < $", to.into());
            }
            if let Some(Place { started_millis, id }) = after {
                asked.and("started_millis <= $", started_millis.into());
                let began = asked.values.len();
                asked.and(&format!("(started_millis < ${began} OR id < $"), id.into());
                asked.conditions.push(')');
            }
            asked.values.push((i64::from(most) + 1).into());
            let rows = format!(
                "SELECT {ROLLOUT} FROM rollouts r WHERE {}
                 ORDER BY started_millis DESC, id DESC LIMIT ${}",
                asked.conditions,
                asked.values.len()
            );
            let found = database.rows(&rows, &asked.values)?;
            let is_more = found.len() > most as usize;
            let told = found.into_iter().take(most as usize).map(read_rollout).collect::<Result<Vec<_>, _>>()?;
            let after = told.last().map(|(_, place)| *place).filter(|_| is_more);
            Ok(Found { rollouts: told.into_iter().filter_map(|(rollout, _)| rollout).collect(), after })
        })
    }

    /// The namespaces of all rollouts, by cluster.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn namespaces(&self) -> Result<BTreeMap<String, BTreeSet<String>>, StoreError> {
        let rows = "SELECT DISTINCT c.name, r.namespace FROM rollouts r JOIN clusters c ON c.id = r.cluster";
        let mut found = BTreeMap::<String, BTreeSet<String>>::new();
        for mut row in self.read(|database| database.rows(rows, &[]))? {
            found.entry(row.text(0)?).or_default().insert(row.text(1)?);
        }
        Ok(found)
    }

    /// One rollout of a workload with its lines; `None` when it is not kept, or not any more.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn cut(&self, cluster: &str, uid: Uid, number: u32) -> Result<Option<Cut>, StoreError> {
        let found = self.read(|database| {
            let row = format!(
                "SELECT {ROLLOUT}, cluster FROM rollouts r JOIN clusters c ON c.id = cluster
                 WHERE name = $1 AND uid = $2 AND number = $3"
            );
            let uid = uid.to_string();
            let row = database.row(&row, &[cluster.into(), uid.as_str().into(), number.into()])?;
            let Some(mut row) = row else { return Ok(None) };
            let cluster = row.number(7)?;
            let (Some(rollout), _) = read_rollout(row)? else { return Ok(None) };
            let next = "SELECT min(started_millis) FROM rollouts WHERE cluster = $1 AND uid = $2 AND number > $3";
            let next = database.number(next, &[cluster.into(), uid.as_str().into(), number.into()])?;
            let (from_millis, to_millis) = slice::stretch(rollout.started_millis, rollout.ended_millis, next);
            // From the last keyframe before it, or the beginning.
            let after = beginning(database, cluster, from_millis)?;
            let condition =
                "cluster = $1 AND (seq > $2 AND is_keyframe = 0 OR seq = $2 AND is_keyframe = 1) AND from_millis <= $3";
            let batches = batches(database, condition, &[cluster.into(), after.into(), to_millis.into()])?;
            Ok(Some((rollout.revision, from_millis, to_millis, batches)))
        })?;
        let Some((revision, from_millis, to_millis, batches)) = found else { return Ok(None) };
        // A batch that is damaged is left out; what is there is still worth a look.
        let texts: Vec<String> = batches.iter().filter_map(|batch| batch.text().ok()).collect();
        let text = slice::cut(&texts, uid, from_millis, to_millis);
        Ok((!text.is_empty()).then_some(Cut { revision, to_millis, text }))
    }

    /// The rollouts of a workload, the last one first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn of_workload(&self, cluster: &str, uid: Uid, most: u32) -> Result<Vec<PastRollout>, StoreError> {
        let rows = format!(
            "SELECT {ROLLOUT} FROM rollouts r JOIN clusters c ON c.id = cluster WHERE name = $1 AND uid = $2
             ORDER BY number DESC LIMIT $3"
        );
        let uid = uid.to_string();
        let rows = self.read(|database| database.rows(&rows, &[cluster.into(), uid.into(), most.into()]))?;
        let read = rows.into_iter().map(read_rollout).collect::<Result<Vec<_>, _>>()?;
        Ok(read.into_iter().filter_map(|(rollout, _)| rollout).collect())
    }

    /// Which rollout of a workload had a revision, or went on at a time: the last one that did.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn find(&self, cluster: &str, uid: Uid, of: Sought) -> Result<Option<u32>, StoreError> {
        let (condition, value) = match of {
            Sought::Revision(revision) => ("revision = $3", i64::try_from(revision).unwrap_or(i64::MAX)),
            Sought::At(at_millis) => ("started_millis <= $3", at_millis),
        };
        let row = format!(
            "SELECT max(number) FROM rollouts r JOIN clusters c ON c.id = cluster WHERE name = $1 AND uid = $2 AND {condition}"
        );
        let uid = uid.to_string();
        let values = [cluster.into(), uid.as_str().into(), value.into()];
        let number = self.read(|database| database.number(&row, &values))?;
        Ok(number.and_then(|number| u32::try_from(number).ok()))
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
                "SELECT (started_millis - ${begins}) / ${} AS day, count(*), sum(CASE WHEN cause <> '' THEN 1 ELSE 0 END)
                 FROM rollouts WHERE {} GROUP BY 1",
                asked.values.len(),
                asked.conditions
            );
            for mut row in database.rows(&rows, &asked.values)? {
                if let Some(day) = usize::try_from(row.number(0)?).ok().and_then(|index| days.get_mut(index)) {
                    day.rollouts = small(row.number(1)?);
                    day.troubled = small(row.number(2)?);
                }
            }
            Ok(days)
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
            let (clusters, rollouts) = (count("clusters")?, count("rollouts")?);
            let damaged = database.examine()?;
            let mut found = Examined { clusters, rollouts, damaged, ..Examined::default() };
            let mut last = 0;
            loop {
                let rows = "SELECT seq, is_keyframe, from_millis, to_millis, format, body, name, b.id FROM batches b
                     JOIN clusters c ON c.id = b.cluster WHERE b.id > $1 ORDER BY b.id LIMIT $2";
                let rows = database.rows(rows, &[last.into(), AT_A_TIME.into()])?;
                if rows.is_empty() {
                    return Ok(found);
                }
                for mut row in rows {
                    let cluster = row.text(6)?;
                    last = row.number(7)?;
                    let batch = read_batch(row)?;
                    match batch.text() {
                        Ok(text) if !batch.is_keyframe => found.lines += text.lines().count() as u32,
                        Ok(_) => {}
                        Err(why) => found.damaged.push(format!("batch {} of {cluster}: {why}", batch.seq)),
                    }
                }
            }
        })
    }
}

/// What of a rollout [`read_rollout`] takes.
const ROLLOUT: &str = "rollout, cause, started_millis, r.id, number, first_available_millis, restarts";

fn small(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// What is asked for, as conditions with their values.
struct Asked<'s> {
    conditions: String,
    values: Vec<Value<'s>>,
}

impl<'s> Asked<'s> {
    fn of(search: &'s Search, sight: &'s Sight, database: &dyn Database) -> Self {
        let place_in = database.place_in();
        let mut asked = Self { conditions: "1 = 1".to_owned(), values: Vec::new() };
        asked.seen(sight, database.workload_name());
        if !search.cluster.is_empty() {
            asked.and("cluster IN (SELECT id FROM clusters WHERE name = $", search.cluster.as_str().into());
            asked.conditions.push(')');
        }
        if !search.namespace.is_empty() {
            asked.and("namespace = $", search.namespace.as_str().into());
        }
        if let Some(outcome) = search.outcome {
            asked.and("outcome = $", name(outcome).into());
        }
        if let Some(millis) = search.longer_millis {
            asked.and("took_millis >= $", millis.into());
        }
        if search.had_trouble {
            asked.conditions.push_str(" AND cause <> ''");
        }
        for word in search.text.split_whitespace() {
            asked.and(&format!("{place_in}(text, $"), word.to_lowercase().into());
            asked.conditions.push_str(") > 0");
        }
        asked
    }

    /// Asks for no more than may be seen.
    fn seen(&mut self, sight: &'s Sight, workload_name: &str) {
        let Sight::Part { clusters, .. } = sight else { return };
        let mut places = vec!["1 = 0".to_owned()];
        for (cluster, seen) in clusters {
            self.values.push(cluster.as_str().into());
            let mut place = format!("cluster IN (SELECT id FROM clusters WHERE name = ${})", self.values.len());
            let first = self.values.len() + 1;
            match seen {
                Seen::All => {}
                Seen::Namespaces(namespaces) => {
                    self.values.extend(namespaces.iter().map(|namespace| namespace.as_str().into()));
                    let names: Vec<String> = (first..=self.values.len()).map(|number| format!("${number}")).collect();
                    place = format!("{place} AND namespace IN ({})", names.join(", "));
                }
                Seen::Workload { namespace, name } => {
                    self.values.extend([namespace.as_str().into(), name.as_str().into()]);
                    place = format!("{place} AND namespace = ${first} AND {workload_name} = ${}", first + 1);
                }
            }
            places.push(place);
        }
        self.conditions.push_str(&format!(" AND ({})", places.join(" OR ")));
    }

    /// Asks for one thing more; the condition ends where the value goes.
    fn and(&mut self, condition: &str, value: Value<'s>) {
        self.values.push(value);
        self.conditions.push_str(&format!(" AND {condition}{}", self.values.len()));
    }
}

/// A rollout, `None` when a later version wrote it in a way that is not known; and where it stands.
fn read_rollout(mut row: Row) -> Result<(Option<PastRollout>, Place), StoreError> {
    let (text, cause) = (row.text(0)?, row.text(1)?);
    let place = Place { started_millis: row.number(2)?, id: row.number(3)? };
    let (number, started_millis) = (small(row.number(4)?), place.started_millis);
    let first_available_millis = Some(row.number(5)?).filter(|millis| *millis >= 0);
    let restarts = u32::try_from(row.number(6)?).ok();
    let known = |rollout: PastRollout| {
        let known = PastRollout { cause, number, started_millis, ..rollout };
        PastRollout { first_available_millis, restarts, ..known }
    };
    let rollout: Option<PastRollout> = serde_json::from_str(&text).ok();
    Ok((rollout.map(known), place))
}
