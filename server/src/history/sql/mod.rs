//! What is kept, in tables: written, tidied and read by statements that SQLite and PostgreSQL have in common.

mod read;
mod tidy;
mod write;

pub use self::read::{Examined, Reader};
pub(super) use self::tidy::tidy;
pub(super) use self::write::{Head, append, head, stored};

use timeline::Millis;

use super::batch::Batch;
use super::database::{Database, Row};
use super::store::StoreError;

/// The columns of a batch, as [`read_batch`] takes them.
const BATCH: &str = "seq, is_keyframe, from_millis, to_millis, format, body";

fn read_batch(mut row: Row) -> Result<Batch, StoreError> {
    Ok(Batch {
        seq: row.number(0)?,
        is_keyframe: row.is(1)?,
        from_millis: row.number(2)?,
        to_millis: row.number(3)?,
        format: u32::try_from(row.number(4)?).unwrap_or_default(),
        body: row.bytes(5)?,
    })
}

/// The batches that a condition names, in their order.
fn batches(
    database: &mut dyn Database,
    condition: &str,
    values: &[super::database::Value<'_>],
) -> Result<Vec<Batch>, StoreError> {
    let rows = format!("SELECT {BATCH} FROM batches WHERE {condition} ORDER BY seq");
    database.rows(&rows, values)?.into_iter().map(read_batch).collect()
}

/// Adds a batch.
fn add(database: &mut dyn Database, cluster: i64, batch: &Batch) -> Result<(), StoreError> {
    let row = "INSERT INTO batches (cluster, seq, is_keyframe, from_millis, to_millis, format, body)
         VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let Batch { seq, is_keyframe, from_millis, to_millis, format, body } = batch;
    let values = [
        cluster.into(),
        (*seq).into(),
        (*is_keyframe).into(),
        (*from_millis).into(),
        (*to_millis).into(),
        (*format).into(),
        body.as_slice().into(),
    ];
    database.run(row, &values).map(|_| ())
}

/// The batch after which to begin so that everything since a time is told: the last keyframe before it, or what is kept begins with.
fn beginning(database: &mut dyn Database, cluster: i64, since: Millis) -> Result<i64, StoreError> {
    let last = "SELECT max(seq) FROM batches WHERE cluster = $1 AND is_keyframe = 1 AND to_millis <= $2";
    if let Some(seq) = database.number(last, &[cluster.into(), since.into()])? {
        return Ok(seq);
    }
    let first = "SELECT kept_from FROM clusters WHERE id = $1";
    Ok(database.number(first, &[cluster.into()])?.unwrap_or_default())
}
