//! Tidying: keyframes are made, small batches joined, and what is old or too much is let go, a little each time.

use std::time::{Duration, Instant};

use timeline::Millis;

use super::cut::{self, Named};
use super::write::fill;
use super::{add, batches};
use crate::history::batch::{self, Batch};
use crate::history::database::{Database, together};
use crate::history::fold::Fold;
use crate::history::options::Limits;
use crate::history::slice;
use crate::history::store::StoreError;

/// Most rows that are removed at a time.
const AT_A_TIME: i64 = 500;
/// Most rollouts that are put aside at a time: each is cut out of everything that its cluster did meanwhile. So this takes no longer than
/// about that time, and reads no more than about `Limits::aside_bytes`: what is left is put aside the next time.
const ASIDE_AT_A_TIME: i64 = 8;
const ASIDE_TAKES: Duration = Duration::from_millis(250);

/// Tidies some clusters a little. `is_too_much` says that more is kept than may be. `true` when there is more to do.
pub fn tidy(
    database: &mut dyn Database,
    clusters: &[i64],
    limits: &Limits,
    now_millis: Millis,
    is_too_much: bool,
) -> Result<bool, StoreError> {
    let oldest = database.number("SELECT cluster FROM batches ORDER BY to_millis LIMIT 1", &[])?;
    let old_millis = now_millis - limits.age_millis;
    let mut is_more = false;
    for cluster in clusters.iter().copied() {
        is_more |= fill(database, cluster)?;
        is_more |= fold(database, cluster, limits)?;
        is_more |= join(database, cluster, limits)?;
        is_more |= let_go(database, cluster, limits, old_millis, is_too_much && oldest == Some(cluster))?;
    }
    Ok(is_more)
}

/// Makes a keyframe where there is enough after the last one.
fn fold(database: &mut dyn Database, cluster: i64, limits: &Limits) -> Result<bool, StoreError> {
    let row = "SELECT seq, length(body) FROM batches WHERE cluster = $1 AND is_keyframe = 1 ORDER BY seq DESC LIMIT 1";
    let (after, size) = match database.row(row, &[cluster.into()])? {
        Some(mut row) => (row.number(0)?, row.number(1)?),
        None => (0, 0),
    };
    let row = "SELECT CAST(sum(length(body)) AS BIGINT), max(seq) FROM batches WHERE cluster = $1 AND seq > $2";
    let Some(mut row) = database.row(row, &[cluster.into(), after.into()])? else { return Ok(false) };
    let (since, until) = (row.number_if_any(0).unwrap_or_default(), row.number_if_any(1));
    let Some(until) = until.filter(|_| since > size.max(whole(limits.keyframe_bytes))) else { return Ok(false) };
    let (at_millis, text) = fold_of(database, cluster, after, until)?.keyframe(None);
    let Ok(body) = batch::pack(&text) else { return Ok(false) };
    let keyframe = Batch {
        seq: until,
        is_keyframe: true,
        from_millis: at_millis,
        to_millis: at_millis,
        format: batch::FORMAT,
        body,
    };
    add(database, cluster, &keyframe)?;
    Ok(true)
}

/// Everything that existed after a batch, made from the keyframe with which the lines before it begin.
fn fold_of(database: &mut dyn Database, cluster: i64, after: i64, until: i64) -> Result<Fold, StoreError> {
    let mut fold = Fold::default();
    let condition = "cluster = $1 AND (seq > $2 AND seq <= $3 AND is_keyframe = 0 OR seq = $2 AND is_keyframe = 1)";
    for batch in batches(database, condition, &[cluster.into(), after.into(), until.into()])? {
        match batch.text() {
            Ok(text) => fold.take(&text),
            Err(why) => tracing::warn!("left a batch out of a keyframe: {why}"),
        }
    }
    Ok(fold)
}

/// A batch that may be joined with others.
struct Small {
    seq: i64,
    bytes: i64,
    /// How many batches before it in its cluster; what has nothing in between follows one another.
    place: i64,
    /// Nothing is joined over its end: a keyframe stands there.
    is_end: bool,
}

/// Joins a run of small batches before the checkpoint into one. `true` when there was one.
fn join(database: &mut dyn Database, cluster: i64, limits: &Limits) -> Result<bool, StoreError> {
    let joined = whole(limits.joined_bytes);
    let rows = "SELECT seq, bytes, place, is_end FROM (
         SELECT seq, length(body) AS bytes, row_number() OVER (ORDER BY seq) AS place,
         EXISTS (SELECT 1 FROM batches k WHERE k.cluster = b.cluster AND k.seq = b.seq AND k.is_keyframe = 1) AS is_end
         FROM batches b WHERE cluster = $1 AND is_keyframe = 0) numbered
         WHERE bytes < $2 AND seq <= (SELECT seq FROM checkpoints WHERE cluster = $1) ORDER BY seq";
    let small = database.rows(rows, &[cluster.into(), (joined / 2).into()])?.into_iter().map(|mut row| {
        Ok(Small { seq: row.number(0)?, bytes: row.number(1)?, place: row.number(2)?, is_end: row.is(3)? })
    });
    let small = small.collect::<Result<Vec<Small>, StoreError>>()?;
    let Some((first, last)) = run(&small, joined) else { return Ok(false) };
    let condition = "cluster = $1 AND seq BETWEEN $2 AND $3 AND is_keyframe = 0";
    let between = [cluster.into(), first.into(), last.into()];
    together(database, |database| {
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
        let follows = index
            .checked_sub(1)
            .and_then(|before| small.get(before))
            .is_some_and(|before| !before.is_end && before.place + 1 == batch.place);
        if !follows {
            (begin, bytes) = (index, 0);
        }
        bytes += batch.bytes;
        if index > begin && (bytes >= joined || batch.is_end) {
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
        is_keyframe: false,
        from_millis: parts.iter().map(|part| part.from_millis).min()?,
        to_millis: parts.iter().map(|part| part.to_millis).max()?,
        format: batch::FORMAT,
        body: batch::pack(&text).ok()?,
    })
}

/// Lets go of some of what is too old, or too much. `true` when there may be more.
fn let_go(
    database: &mut dyn Database,
    cluster: i64,
    limits: &Limits,
    old: Millis,
    is_too_much: bool,
) -> Result<bool, StoreError> {
    // The last keyframe that is old enough stands for everything before it.
    let last = "SELECT max(seq) FROM batches WHERE cluster = $1 AND is_keyframe = 1 AND to_millis <= $2";
    let mut until = database.number(last, &[cluster.into(), old.into()])?;
    if is_too_much {
        let next = "SELECT min(k.seq) FROM batches k WHERE k.cluster = $1 AND k.is_keyframe = 1
             AND EXISTS (SELECT 1 FROM batches b WHERE b.cluster = $1 AND (b.seq < k.seq OR b.seq = k.seq AND b.is_keyframe = 0))";
        until = until.max(database.number(next, &[cluster.into()])?);
    }
    let mut gone = 0;
    if let Some(until) = until {
        if put_aside(database, cluster, until, limits)? {
            return Ok(true);
        }
        database.run("UPDATE clusters SET kept_from = $2 WHERE id = $1", &[cluster.into(), until.into()])?;
        let rows = "DELETE FROM batches WHERE id IN (SELECT id FROM batches WHERE cluster = $1
             AND (seq < $2 OR seq = $2 AND is_keyframe = 0) ORDER BY seq LIMIT $3)";
        gone += database.run(rows, &[cluster.into(), until.into(), AT_A_TIME.into()])?;
    }
    // The last rollout of a workload that exists stays in the index.
    let rows = "DELETE FROM rollouts WHERE id IN (SELECT id FROM rollouts r WHERE cluster = $1 AND started_millis < $2 AND (is_deleted = 1
         OR number < (SELECT max(number) FROM rollouts o WHERE o.cluster = r.cluster AND o.uid = r.uid)) LIMIT $3)";
    let rollouts = database.run(rows, &[cluster.into(), old.into(), AT_A_TIME.into()])?;
    if rollouts > 0 {
        let pins = "DELETE FROM pins WHERE cluster = $1 AND NOT EXISTS
             (SELECT 1 FROM rollouts r WHERE r.cluster = pins.cluster AND r.uid = pins.uid AND r.number = pins.number)";
        database.run(pins, &[cluster.into()])?;
    }
    Ok(gone + rollouts > 0)
}

/// Puts the last rollouts of workloads that exist aside, as far as they tell of the time before a keyframe: everything before it is let
/// go next. `true` when there was one; there may be more.
fn put_aside(database: &mut dyn Database, cluster: i64, keyframe: i64, limits: &Limits) -> Result<bool, StoreError> {
    let row = "SELECT to_millis FROM batches WHERE cluster = $1 AND seq = $2 AND is_keyframe = 1";
    let Some(before_millis) = database.number(row, &[cluster.into(), keyframe.into()])? else { return Ok(false) };
    let rows = format!(
        "SELECT r.uid, r.number FROM rollouts r LEFT JOIN pins p ON p.cluster = r.cluster AND p.uid = r.uid AND p.number = r.number
         WHERE r.cluster = $1 AND r.is_deleted = 0 AND r.started_millis - {lead} < $2
         AND r.number = (SELECT max(o.number) FROM rollouts o WHERE o.cluster = r.cluster AND o.uid = r.uid)
         AND (p.uid IS NULL OR p.to_millis < $2 AND (r.took_millis < 0 OR p.to_millis < r.started_millis + r.took_millis + {tail}))
         ORDER BY r.id LIMIT $3",
        lead = slice::LEAD_MILLIS,
        tail = slice::TAIL_MILLIS,
    );
    let rows = database.rows(&rows, &[cluster.into(), before_millis.into(), ASIDE_AT_A_TIME.into()])?;
    let found = rows.into_iter().map(|mut row| Ok((row.text(0)?, row.number(1)?)));
    let found = found.collect::<Result<Vec<(String, i64)>, StoreError>>()?;
    let (began, mut left) = (Instant::now(), whole(limits.aside_bytes));
    for (uid, number) in &found {
        let number = u32::try_from(*number).unwrap_or(u32::MAX);
        left -= cut::put_aside(database, &Named { cluster, uid, number }, before_millis, left)?;
        if left <= 0 || began.elapsed() >= ASIDE_TAKES {
            break;
        }
    }
    Ok(!found.is_empty())
}

fn whole(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
