//! Tidying: small batches of the log are joined, and what is old or too much is removed, a little each time.

use timeline::Millis;

use super::{add, batches};
use crate::database::Connection;
use crate::history::batch::{self, Batch};
use crate::history::options::Limits;
use crate::history::store::StoreError;

/// Most rows that are removed at a time.
const AT_A_TIME: i64 = 500;
/// Most episodes that are removed at a time where there is too much.
const EPISODES_AT_A_TIME: i64 = 50;

/// Tidies some clusters a little. `is_too_much` says that more is kept than may be. `true` when there is more to do.
pub fn tidy(
    database: &mut Connection,
    clusters: &[i64],
    limits: &Limits,
    now_millis: Millis,
    is_too_much: bool,
) -> Result<bool, StoreError> {
    let mut is_more = false;
    for cluster in clusters.iter().copied() {
        is_more |= join(database, cluster, limits)?;
        is_more |= remove_old(database, cluster, limits, now_millis)?;
    }
    if is_too_much && !is_more {
        is_more = remove_oldest(database, clusters)?;
    }
    Ok(is_more)
}

/// A batch that may be joined with others.
struct Small {
    seq: i64,
    bytes: i64,
    /// How many batches before it in its cluster; what has nothing in between follows one another.
    place: i64,
}

/// Joins a run of small batches before the checkpoint into one. `true` when there was one.
fn join(database: &mut Connection, cluster: i64, limits: &Limits) -> Result<bool, StoreError> {
    let joined = whole(limits.joined_bytes);
    let rows = "SELECT seq, bytes, place FROM (
         SELECT seq, length(body) AS bytes, row_number() OVER (ORDER BY seq) AS place FROM batches b WHERE cluster = $1) numbered
         WHERE bytes < $2 AND seq <= (SELECT seq FROM checkpoints WHERE cluster = $1) ORDER BY seq";
    let small = database.rows(rows, &[cluster.into(), (joined / 2).into()])?.into_iter();
    let small = small.map(|row| Ok(Small { seq: row.number(0)?, bytes: row.number(1)?, place: row.number(2)? }));
    let small = small.collect::<Result<Vec<Small>, StoreError>>()?;
    let Some((first, last)) = run(&small, joined) else { return Ok(false) };
    let condition = "cluster = $1 AND seq BETWEEN $2 AND $3";
    let between = [cluster.into(), first.into(), last.into()];
    database.together(|database| {
        let parts = batches(database, condition, &between)?;
        // What is damaged is left as it is.
        let Some(whole) = whole_of(&parts) else { return Ok(false) };
        database.run(&format!("DELETE FROM batches WHERE {condition}"), &between)?;
        add(database, cluster, &whole)?;
        Ok(true)
    })
}

/// The first run of batches that are worth joining: its first and its last.
fn run(small: &[Small], joined: i64) -> Option<(i64, i64)> {
    let mut begin = 0;
    let mut bytes = 0;
    for (index, batch) in small.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| small.get(before));
        if before.is_none_or(|before| before.place + 1 != batch.place) {
            (begin, bytes) = (index, 0);
        }
        bytes += batch.bytes;
        if index > begin && bytes >= joined {
            return Some((small.get(begin)?.seq, batch.seq));
        }
    }
    None
}

/// Several batches as one; `None` when one of them is damaged.
fn whole_of(parts: &[Batch]) -> Option<Batch> {
    let mut text = String::new();
    for part in parts {
        text.push_str(&part.text().ok()?);
    }
    Some(Batch {
        seq: parts.last()?.seq,
        from_millis: parts.iter().map(|part| part.from_millis).min()?,
        to_millis: parts.iter().map(|part| part.to_millis).max()?,
        format: batch::FORMAT,
        body: batch::pack(&text).ok()?,
    })
}

/// The last episode and the last rollout of a workload that exists stay, whatever their age; `{}` is the table.
const IS_LAST_EPISODE: &str =
    "e.from_millis = (SELECT max(l.from_millis) FROM episodes l WHERE l.cluster = e.cluster AND l.uid = e.uid)
     AND EXISTS (SELECT 1 FROM rollouts r WHERE r.cluster = e.cluster AND r.uid = e.uid AND r.is_deleted = 0)";
/// The same of the episodes with the last row of each kind.
const HAS_LAST_OF_KIND: &str =
    "EXISTS (SELECT 1 FROM rollouts r WHERE r.cluster = e.cluster AND r.uid = e.uid AND r.is_deleted = 0
     AND r.number = (SELECT max(o.number) FROM rollouts o WHERE o.cluster = r.cluster AND o.uid = r.uid AND o.kind = r.kind)
     AND e.from_millis <= r.started_millis + 1000 AND e.to_millis >= r.started_millis)";

/// Removes some of what is too old. `true` when there may be more.
fn remove_old(
    database: &mut Connection,
    cluster: i64,
    limits: &Limits,
    now_millis: Millis,
) -> Result<bool, StoreError> {
    let values = |before_millis: Millis| [cluster.into(), before_millis.into(), AT_A_TIME.into()];
    let log = "DELETE FROM batches WHERE id IN
         (SELECT id FROM batches WHERE cluster = $1 AND to_millis < $2 ORDER BY to_millis LIMIT $3)";
    let old_millis = now_millis - limits.age_millis;
    let mut gone = database.run(log, &values(now_millis - limits.log_millis.min(limits.age_millis)))?;
    let episodes = format!(
        "DELETE FROM episodes WHERE id IN (SELECT id FROM episodes e WHERE cluster = $1 AND to_millis < $2
         AND NOT ({IS_LAST_EPISODE}) AND NOT ({HAS_LAST_OF_KIND}) LIMIT $3)"
    );
    gone += database.run(&episodes, &values(old_millis))?;
    let rollouts = "DELETE FROM rollouts WHERE id IN (SELECT id FROM rollouts r WHERE cluster = $1 AND started_millis < $2 AND (is_deleted = 1
         OR number < (SELECT max(number) FROM rollouts o WHERE o.cluster = r.cluster AND o.uid = r.uid AND o.kind = r.kind)) LIMIT $3)";
    gone += database.run(rollouts, &values(old_millis))?;
    Ok(gone > 0)
}

/// Removes some of what is oldest: first of the log before the checkpoints, then episodes. `true` when there may be more.
fn remove_oldest(database: &mut Connection, clusters: &[i64]) -> Result<bool, StoreError> {
    let mine = clusters.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if mine.is_empty() {
        return Ok(false);
    }
    let log = format!(
        "DELETE FROM batches WHERE id IN (SELECT b.id FROM batches b JOIN checkpoints c ON c.cluster = b.cluster
         WHERE b.cluster IN ({mine}) AND b.seq <= c.seq ORDER BY b.to_millis LIMIT $1)"
    );
    let gone = database.run(&log, &[AT_A_TIME.into()])?;
    if gone > 0 {
        return Ok(true);
    }
    let episodes = format!(
        "DELETE FROM episodes WHERE id IN (SELECT id FROM episodes e WHERE cluster IN ({mine}) AND is_open = 0
         AND NOT ({IS_LAST_EPISODE}) AND NOT ({HAS_LAST_OF_KIND}) ORDER BY to_millis LIMIT $1)"
    );
    Ok(database.run(&episodes, &[EPISODES_AT_A_TIME.into()])? > 0)
}

fn whole(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
