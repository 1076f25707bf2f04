//! The tables, in statements that SQLite and PostgreSQL have in common.

mod episode;
mod filter;
mod read;
mod tidy;
mod write;

pub(super) use self::read::READERS;
pub use self::read::{Overview, Reader, Verification};
pub(super) use self::tidy::tidy;
pub(super) use self::write::{LastBatch, append, head, last_response, load};

use serde::Deserialize;
use timeline::past::PastRollout;
use timeline::{Millis, Uid};

use super::batch::Batch;
use super::store::{Cursor, StoreError};
use crate::database::{Connection, Row, Value};

/// Largest difference between the clocks of servers that observed the same.
pub(super) const CLOCKS_MILLIS: Millis = 1_000;

/// The columns of a row for [`read_rollout`]; the table is called `r`. Its pods are kept while an episode has them.
const ROLLOUT: &str = "rollout, cause, started_millis, r.uid, number, first_available_millis, restarts,
     CASE WHEN EXISTS (SELECT 1 FROM episodes e WHERE e.cluster = r.cluster AND e.uid = r.uid
         AND e.from_millis <= r.started_millis + 1000 AND e.to_millis >= r.started_millis)
     THEN 1 ELSE 0 END, (SELECT z.name FROM clusters z WHERE z.id = r.cluster),
     coalesce((SELECT b.rollout FROM rollouts b WHERE b.cluster = r.cluster AND b.uid = r.uid AND b.number < r.number
         ORDER BY b.number DESC LIMIT 1), '')";

pub(super) fn clusters(database: &mut Connection) -> Result<Vec<i64>, StoreError> {
    database.rows("SELECT id FROM clusters", &[])?.into_iter().map(|row| row.number(0)).collect()
}

/// The columns of a batch for [`read_batch`].
const BATCH: &str = "seq, from_millis, to_millis, format, body";

fn read_batch(row: Row) -> Result<Batch, StoreError> {
    Ok(Batch {
        seq: row.number(0)?,
        from_millis: row.number(1)?,
        to_millis: row.number(2)?,
        format: to_u32(row.number(3)?),
        body: row.bytes(4)?,
    })
}

/// Returns the batches of a condition in their order.
fn batches(database: &mut Connection, condition: &str, values: &[Value]) -> Result<Vec<Batch>, StoreError> {
    let rows = format!("SELECT {BATCH} FROM batches WHERE {condition} ORDER BY seq");
    database.rows(&rows, values)?.into_iter().map(read_batch).collect()
}

fn insert_batch(database: &mut Connection, cluster: i64, batch: &Batch) -> Result<(), StoreError> {
    let row =
        "INSERT INTO batches (cluster, seq, from_millis, to_millis, format, body) VALUES ($1, $2, $3, $4, $5, $6)";
    let Batch { seq, from_millis, to_millis, format, body } = batch;
    let values = [
        cluster.into(),
        (*seq).into(),
        (*from_millis).into(),
        (*to_millis).into(),
        (*format).into(),
        body.as_slice().into(),
    ];
    database.run(row, &values).map(|_| ())
}

#[derive(Deserialize)]
struct PreviousRollout {
    images: String,
}

/// Returns a rollout, `None` if a later version wrote it in an unknown form, and its cursor.
fn read_rollout(row: Row) -> Result<(Option<PastRollout>, Cursor), StoreError> {
    let (text, cause) = (row.text(0)?, row.text(1)?);
    let uid = uid_of(&row.text(3)?)?;
    let (started_millis, number) = (row.number(2)?, to_u32(row.number(4)?));
    let cursor = Cursor { started_millis, uid, number, cluster: row.text(8)? };
    let first_available_millis = Some(row.number(5)?).filter(|millis| *millis >= 0);
    let restarts = u32::try_from(row.number(6)?).ok();
    let is_kept = row.flag(7)?;
    let images_before =
        serde_json::from_str(&row.text(9)?).map(|PreviousRollout { images }| images).unwrap_or_default();
    let rollout: Option<PastRollout> = serde_json::from_str(&text).ok();
    let rollout = rollout.map(|rollout| PastRollout {
        cluster: cursor.cluster.clone(),
        cause,
        number,
        started_millis,
        is_kept,
        first_available_millis,
        restarts,
        images_before,
        ..rollout
    });
    Ok((rollout, cursor))
}

fn uid_of(text: &str) -> Result<Uid, StoreError> {
    text.parse().map_err(|_| StoreError::Failed(format!("{text:?} is not a valid workload UID")))
}

fn to_u32(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
