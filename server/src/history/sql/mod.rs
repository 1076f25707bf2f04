//! The tables, in statements for both SQLite and PostgreSQL.

mod episode;
mod filter;
mod read;
mod tidy;
mod write;

pub(super) use self::read::READERS;
pub use self::read::{Overview, Reader, Verification};
pub(super) use self::tidy::tidy;
pub(super) use self::write::{append, cluster_id, last_response, load};

use timeline::episodes::EpisodeRow;
use timeline::{Millis, Uid};

use super::batch::Batch;
use super::store::StoreError;
use crate::database::{Connection, Schema, Value};

pub(super) const SCHEMA: Schema =
    Schema { table: "_sqlx_migrations", migrations: &[include_str!("tables.sql"), include_str!("indexes.sql")] };

/// Largest difference between the clocks of servers with the same observations.
pub(super) const CLOCKS_MILLIS: Millis = 1_000;

/// Columns of a row for [`read_rollout`]; the table's alias is `r`. The row's pods are stored if an episode contains them: only
/// the last episode that began before the row is checked, because there may be thousands. Episodes of a workload do not overlap,
/// unless two servers wrote them.
const ROLLOUT: &str = "rollout, started_millis, r.uid, number, first_available_millis, restarts,
     CASE WHEN (SELECT e.to_millis FROM episodes e WHERE e.cluster = r.cluster AND e.uid = r.uid
         AND e.from_millis <= r.started_millis + 1000 ORDER BY e.from_millis DESC LIMIT 1) >= r.started_millis
     THEN 1 ELSE 0 END, (SELECT z.name FROM clusters z WHERE z.id = r.cluster),
     coalesce((SELECT b.rollout FROM rollouts b WHERE b.cluster = r.cluster AND b.uid = r.uid AND b.number < r.number
         ORDER BY b.number DESC LIMIT 1), '')";
type RolloutRow = (String, Millis, String, i64, Millis, i64, i64, String, String);

pub(super) fn clusters(database: &mut Connection) -> Result<Vec<i64>, StoreError> {
    Ok(database.rows::<(i64,)>("SELECT id FROM clusters", &[])?.into_iter().map(|(id,)| id).collect())
}

/// Returns the batches that meet a condition, in order.
fn batches(database: &mut Connection, condition: &str, values: &[Value]) -> Result<Vec<Batch>, StoreError> {
    let rows = format!("SELECT from_millis, to_millis, format, body FROM batches WHERE {condition} ORDER BY seq");
    let rows: Vec<(Millis, Millis, i64, Vec<u8>)> = database.rows(&rows, values)?;
    let batch = |(from_millis, to_millis, format, body)| Batch { from_millis, to_millis, format: to_u32(format), body };
    Ok(rows.into_iter().map(batch).collect())
}

fn insert_batch(database: &mut Connection, cluster: i64, seq: i64, batch: &Batch) -> Result<(), StoreError> {
    let row =
        "INSERT INTO batches (cluster, seq, from_millis, to_millis, format, body) VALUES ($1, $2, $3, $4, $5, $6)";
    let Batch { from_millis, to_millis, format, body } = batch;
    let (from, to) = ((*from_millis).into(), (*to_millis).into());
    let values = [cluster.into(), seq.into(), from, to, (*format).into(), body.as_slice().into()];
    database.run(row, &values).map(|_| ())
}

/// Returns a rollout; `None` if a later version wrote it in an unknown form.
fn read_rollout(row: RolloutRow) -> Option<EpisodeRow> {
    let (text, started_millis, _, number, first_available, restarts, is_kept, cluster, previous) = row;
    let rollout: EpisodeRow = serde_json::from_str(&text).ok()?;
    // A later version may have written the previous row in an unknown form.
    let previous: serde_json::Value = serde_json::from_str(&previous).unwrap_or_default();
    Some(EpisodeRow {
        cluster,
        number: to_u32(number),
        started_millis,
        is_kept: is_kept != 0,
        first_available_millis: Some(first_available).filter(|millis| *millis >= 0),
        restarts: u32::try_from(restarts).ok(),
        images_before: previous.get("images").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned(),
        ..rollout
    })
}

fn uid_of(text: &str) -> Result<Uid, StoreError> {
    text.parse().map_err(|_| StoreError::Failed(format!("{text:?} is not a valid workload UID")))
}

fn to_u32(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::store::{Commit, Episode};

    /// Returns SQLite's query plan of a statement.
    pub(super) fn plan(database: &mut Connection, statement: &str, values: &[Value]) -> Vec<String> {
        let rows = database.rows::<(i64, i64, i64, String)>(&format!("EXPLAIN QUERY PLAN {statement}"), values);
        rows.unwrap().into_iter().map(|(.., step)| step).collect()
    }

    #[test]
    fn the_images_before_are_told_of_a_rollout_that_a_later_version_wrote() {
        let rollout = EpisodeRow { uid: Uid::from_bits(1), ..EpisodeRow::default() };
        let (text, uid) = (serde_json::to_string(&rollout).unwrap(), rollout.uid.to_string());
        let previous = r#"{"images":"web:v1","outcome":"unknown"}"#.to_owned();
        let row = (text, 0, uid, 1, -1, -1, 1, "prod".to_owned(), previous);
        assert_eq!(read_rollout(row).unwrap().images_before, "web:v1");
    }

    #[test]
    fn pods_are_kept_of_what_began_in_an_episode_or_a_second_before_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut database = Connection::open_file_to_write(file.path(), &SCHEMA).unwrap();
        let cluster = cluster_id(&mut database, "prod").unwrap();
        let uid = Uid::from_bits(1);
        let episode = |(from_millis, to_millis)| Episode {
            uid,
            from_millis,
            to_millis,
            is_open: false,
            row_before: None,
            row: None,
            body: vec![0],
        };
        let rollout = |(revision, started_millis): (u64, Millis)| EpisodeRow {
            uid,
            revision,
            started_millis,
            ended_millis: Some(started_millis),
            ..EpisodeRow::default()
        };
        let episodes = [(10_000, 20_000), (20_500, 30_000), (50_000, 60_000)].map(episode).into();
        let begins = [8_999, 9_000, 15_000, 20_000, 30_000, 30_001, 48_999, 49_000, 60_000, 60_001];
        let rollouts = (1..).zip(begins).map(rollout).collect();
        append(&mut database, cluster, &Commit { episodes, rollouts, ..Commit::default() }).unwrap();
        let rows = format!("SELECT {ROLLOUT} FROM rollouts r ORDER BY number");
        let rows = database.rows::<RolloutRow>(&rows, &[]).unwrap();
        let kept: Vec<Millis> =
            rows.into_iter().filter_map(read_rollout).filter(|row| row.is_kept).map(|row| row.started_millis).collect();
        assert_eq!(kept, [9_000, 15_000, 20_000, 30_000, 49_000, 60_000]);
    }
}
