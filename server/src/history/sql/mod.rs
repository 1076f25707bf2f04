//! What is kept, in tables: written, tidied and read by statements that SQLite and PostgreSQL have in common.

mod asked;
mod episode;
mod read;
mod tidy;
mod write;

pub(super) use self::read::READERS;
pub use self::read::{Examined, Overview, Reader};
pub(super) use self::tidy::tidy;
pub(super) use self::write::{Head, append, head, stored};

use serde::Deserialize;
use timeline::past::PastRollout;
use timeline::{Millis, Uid};

use super::batch::Batch;
use super::store::{Place, StoreError};
use crate::database::{Connection, Row, Value};

/// Clocks of those who saw the same may differ by this much.
const CLOCKS_MILLIS: Millis = 1_000;

/// What of a rollout [`read_rollout`] takes; the table is called `r`. Its pods are kept while an episode has them.
const ROLLOUT: &str = "rollout, cause, started_millis, r.uid, number, first_available_millis, restarts,
     CASE WHEN EXISTS (SELECT 1 FROM episodes e WHERE e.cluster = r.cluster AND e.uid = r.uid
         AND e.from_millis <= r.started_millis + 1000 AND e.to_millis >= r.started_millis)
     THEN 1 ELSE 0 END, (SELECT z.name FROM clusters z WHERE z.id = r.cluster),
     coalesce((SELECT b.rollout FROM rollouts b WHERE b.cluster = r.cluster AND b.uid = r.uid AND b.number < r.number
         ORDER BY b.number DESC LIMIT 1), '')";

/// The columns of a batch, as [`read_batch`] takes them.
const BATCH: &str = "seq, from_millis, to_millis, format, body";

fn read_batch(row: Row) -> Result<Batch, StoreError> {
    Ok(Batch {
        seq: row.number(0)?,
        from_millis: row.number(1)?,
        to_millis: row.number(2)?,
        format: u32::try_from(row.number(3)?).unwrap_or_default(),
        body: row.bytes(4)?,
    })
}

/// The batches that a condition names, in their order.
fn batches(database: &mut Connection, condition: &str, values: &[Value]) -> Result<Vec<Batch>, StoreError> {
    let rows = format!("SELECT {BATCH} FROM batches WHERE {condition} ORDER BY seq");
    database.rows(&rows, values)?.into_iter().map(read_batch).collect()
}

/// Adds a batch.
fn add(database: &mut Connection, cluster: i64, batch: &Batch) -> Result<(), StoreError> {
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

/// Of the rollout before what is told beside the one after it.
#[derive(Deserialize)]
struct Before {
    images: String,
}

/// A rollout, `None` when a later version wrote it in a way that is not known; and where it stands.
fn read_rollout(row: Row) -> Result<(Option<PastRollout>, Place), StoreError> {
    let (text, cause) = (row.text(0)?, row.text(1)?);
    let uid = uid_of(&row.text(3)?)?;
    let (started_millis, number) = (row.number(2)?, small(row.number(4)?));
    let place = Place { started_millis, uid, number, cluster: row.text(8)? };
    let first_available_millis = Some(row.number(5)?).filter(|millis| *millis >= 0);
    let restarts = u32::try_from(row.number(6)?).ok();
    let is_kept = row.is(7)?;
    let images_before = serde_json::from_str(&row.text(9)?).map(|Before { images }| images).unwrap_or_default();
    let cluster = place.cluster.clone();
    let known = |rollout: PastRollout| {
        let rollout = PastRollout { cluster, ..rollout };
        let known = PastRollout { cause, number, started_millis, is_kept, ..rollout };
        PastRollout { first_available_millis, restarts, images_before, ..known }
    };
    let rollout: Option<PastRollout> = serde_json::from_str(&text).ok();
    Ok((rollout.map(known), place))
}

fn uid_of(text: &str) -> Result<Uid, StoreError> {
    text.parse().map_err(|_| StoreError::Failed(format!("{text:?} is not a valid workload UID")))
}

fn small(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
