//! One rollout with its lines: out of the batches, or out of what was put aside of it before they were let go.

use timeline::{Millis, Uid};

use super::{ROLLOUT, batches, beginning, read_rollout};
use crate::history::batch::{self, Batch};
use crate::history::database::{Database, Row, Value};
use crate::history::slice::{self, Stretch};
use crate::history::store::{Cut, StoreError};

/// A rollout whose row does not say what its last moment is, as older versions wrote it, ends this long before the next one begins: that one
/// makes its ReplicaSet before.
const BEFORE_MILLIS: Millis = 250;

/// Which rollout of which workload, as the tables have it.
pub struct Named<'n> {
    pub cluster: i64,
    pub uid: &'n str,
    pub number: u32,
}

/// The lines in which a rollout is sought, and what it is.
pub struct Texts {
    revision: u64,
    stretch: Stretch,
    /// Every line is taken until then, and what exists at the end; `None` for every line.
    whole_until: Option<Millis>,
    most_millis: Millis,
    is_settled: bool,
    batches: Vec<Batch>,
    /// What was put aside of it, and until when that tells.
    pin: Option<(Batch, Millis)>,
}

/// What the lines of a rollout are read for.
#[derive(Clone, Copy)]
pub enum Purpose {
    /// It is shown until a little after its end, or until a later time that is asked for and is before its last moment. Where it would
    /// be cut out of more bytes than that (compressed), nothing is read.
    Shown { until_millis: Option<Millis>, most_bytes: i64 },
    /// It is put aside, as everything before a time is let go of: out of no more bytes than that (compressed, and one batch more). Of one that
    /// goes on until then and for longer than is shown, what exists then is taken as well: it may end later, and is shown until its end.
    Aside { before_millis: Millis, most_bytes: i64 },
}

/// What was put aside of a rollout.
struct Pin {
    to_millis: Millis,
    batch: Batch,
}

fn pin(database: &mut dyn Database, named: &Named<'_>) -> Result<Option<Pin>, StoreError> {
    let row =
        "SELECT to_millis, format, body FROM pins WHERE cluster = $1 AND uid = $2 AND number = $3 AND length(body) > 0";
    let values = [named.cluster.into(), named.uid.into(), named.number.into()];
    let Some(mut row) = database.row(row, &values)? else { return Ok(None) };
    let to_millis = row.number(0)?;
    let format = u32::try_from(row.number(1)?).unwrap_or_default();
    let batch = Batch { seq: 0, is_keyframe: true, from_millis: 0, to_millis, format, body: row.bytes(2)? };
    Ok(Some(Pin { to_millis, batch }))
}

/// Reads what a rollout is cut out of; `None` when its lines are not kept. Where that are fewer lines than there are, it tells until where
/// they end.
pub fn texts(database: &mut dyn Database, named: &Named<'_>, purpose: Purpose) -> Result<Option<Texts>, StoreError> {
    let Named { cluster, uid, number } = *named;
    let row = format!("SELECT {ROLLOUT} FROM rollouts r WHERE cluster = $1 AND uid = $2 AND number = $3");
    let row: Option<Row> = database.row(&row, &[cluster.into(), uid.into(), number.into()])?;
    let Some((Some(rollout), _)) = row.map(read_rollout).transpose()? else { return Ok(None) };
    if !rollout.is_kept {
        return Ok(None);
    }
    let next = "SELECT min(started_millis) FROM rollouts WHERE cluster = $1 AND uid = $2 AND number > $3";
    let next = database.number(next, &[cluster.into(), uid.into(), number.into()])?;
    let last = rollout.last_millis.or(next.map(|started| started - BEFORE_MILLIS));
    let stretch = slice::stretch(rollout.started_millis, rollout.ended_millis, last);
    let pin = pin(database, named)?;
    // What came after it went with the other lines.
    let most_millis =
        if pin.is_some() { stretch.1 } else { slice::reach(rollout.started_millis, rollout.ended_millis, last) };
    let from_millis = stretch.0;
    let is_open = rollout.ended_millis.is_none() && next.is_none();
    let (asked_millis, whole_until) = match purpose {
        Purpose::Shown { until_millis, .. } => {
            // A time after its last moment cannot be shown, whatever is read.
            let until_millis = until_millis.filter(|until| *until <= most_millis);
            (until_millis.map_or(stretch.1, |until| until.max(stretch.1)), None)
        }
        Purpose::Aside { before_millis, .. } if is_open => (stretch.1.max(before_millis), Some(stretch.1)),
        Purpose::Aside { .. } => (stretch.1, None),
    };
    // What comes after the last word from the cluster is not known yet.
    let heard = "SELECT heard_millis FROM clusters WHERE id = $1";
    let heard_millis = database.number(heard, &[cluster.into()])?.unwrap_or_default();
    let known_millis = match purpose {
        Purpose::Aside { before_millis, .. } => heard_millis.max(before_millis),
        Purpose::Shown { .. } => heard_millis,
    };
    let to_millis = asked_millis.min(known_millis.max(rollout.started_millis));
    let found = match &pin {
        Some(pin) if pin.to_millis >= to_millis => (Vec::new(), None),
        Some(pin) => {
            let condition = "cluster = $1 AND is_keyframe = 0 AND to_millis > $2 AND from_millis <= $3";
            read(database, condition, &[cluster.into(), pin.to_millis.into(), to_millis.into()], purpose)?
        }
        None => {
            // From the last keyframe before it, or the beginning.
            let after = beginning(database, cluster, from_millis)?;
            let condition =
                "cluster = $1 AND (seq > $2 AND is_keyframe = 0 OR seq = $2 AND is_keyframe = 1) AND from_millis <= $3";
            read(database, condition, &[cluster.into(), after.into(), to_millis.into()], purpose)?
        }
    };
    let (found, read_millis) = found;
    let to_millis = read_millis.map_or(to_millis, |read| read.min(to_millis));
    Ok(Some(Texts {
        revision: rollout.revision,
        stretch: (from_millis, to_millis),
        whole_until,
        most_millis,
        is_settled: to_millis == asked_millis,
        batches: found,
        pin: pin.map(|pin| (pin.batch, pin.to_millis)),
    }))
}

/// The batches of a cluster ($1) that a condition names, as many as the purpose allows; and until when they tell, where there are more.
fn read(
    database: &mut dyn Database,
    condition: &str,
    values: &[Value<'_>],
    purpose: Purpose,
) -> Result<(Vec<Batch>, Option<Millis>), StoreError> {
    match purpose {
        Purpose::Shown { most_bytes, .. } => {
            let bytes = format!("SELECT CAST(sum(length(body)) AS BIGINT) FROM batches WHERE {condition}");
            if database.number(&bytes, values)?.unwrap_or_default() > most_bytes {
                return Err(StoreError::TooMuch);
            }
            Ok((batches(database, condition, values)?, None))
        }
        Purpose::Aside { most_bytes, .. } => some(database, condition, values, most_bytes),
    }
}

/// The first of these batches, up to so many bytes and one batch more.
fn some(
    database: &mut dyn Database,
    condition: &str,
    values: &[Value<'_>],
    most_bytes: i64,
) -> Result<(Vec<Batch>, Option<Millis>), StoreError> {
    let limit = values.len() + 1;
    let and = |value: i64| values.iter().cloned().chain([value.into()]).collect::<Vec<Value<'_>>>();
    let row = format!(
        "SELECT max(seq), max(end_seq), max(to_millis) FROM (SELECT seq, to_millis, max(seq) OVER () AS end_seq,
             CAST(sum(length(body)) OVER (ORDER BY seq, is_keyframe DESC) - length(body) AS BIGINT) AS bytes_before
             FROM batches WHERE {condition}) counted WHERE bytes_before < ${limit}"
    );
    let row = database.row(&row, &and(most_bytes.max(1)))?;
    let (until, end, to_millis) =
        row.map_or((None, None, None), |mut row| (row.number_if_any(0), row.number_if_any(1), row.number_if_any(2)));
    let Some(until) = until else { return Ok((Vec::new(), None)) };
    // Lines of the last millisecond may stand in the next batch.
    let condition = format!(
        "({condition}) AND (seq <= ${limit} OR from_millis <= (SELECT max(b.to_millis) FROM batches b
             WHERE b.cluster = $1 AND b.seq = ${limit}))"
    );
    Ok((batches(database, &condition, &and(until))?, to_millis.filter(|_| end > Some(until))))
}

impl Texts {
    /// The bytes that it is cut out of, compressed.
    pub fn bytes(&self) -> i64 {
        self.batches.iter().map(|batch| i64::try_from(batch.body.len()).unwrap_or(i64::MAX)).sum()
    }

    /// The lines of a workload among them; `None` when there are none.
    ///
    /// # Errors
    /// When they take more bytes than that.
    pub fn cut(&self, uid: Uid, most_bytes: i64) -> Result<Option<Cut>, StoreError> {
        let (_, to_millis) = self.stretch;
        let texts = || {
            let (pin, until) = self.pin.as_ref().map(|(pin, until)| (pin, *until)).unzip();
            // A batch that is damaged is left out; what is there is still worth a look.
            let after = self.batches.iter().filter_map(|batch| batch.text().ok());
            let after = after.map(move |text| until.map(|until| slice::later(&text, until)).unwrap_or(text));
            pin.and_then(|pin| pin.text().ok()).into_iter().chain(after)
        };
        let most_bytes = usize::try_from(most_bytes).unwrap_or(usize::MAX);
        let text = slice::cut(texts, uid, self.stretch, self.whole_until, most_bytes).ok_or(StoreError::TooMuch)?;
        let Self { revision, most_millis, is_settled, .. } = *self;
        Ok((!text.is_empty()).then_some(Cut { revision, to_millis, most_millis, is_settled, text }))
    }
}

/// Puts a rollout aside as it is known now, or a first part of it that is no longer than `most_bytes`: it is found again when the batches
/// before a time are gone. Returns how many bytes it was cut out of.
pub fn put_aside(
    database: &mut dyn Database,
    named: &Named<'_>,
    before_millis: Millis,
    most_bytes: i64,
) -> Result<i64, StoreError> {
    let heard = "SELECT max(to_millis) FROM batches WHERE cluster = $1";
    let heard_millis = database.number(heard, &[named.cluster.into()])?.unwrap_or_default();
    let found = texts(database, named, Purpose::Aside { before_millis, most_bytes })?;
    let bytes = found.as_ref().map_or(0, Texts::bytes);
    let cut = match (&found, named.uid.parse()) {
        (Some(found), Ok(uid)) => found.cut(uid, i64::MAX)?,
        _ => None,
    };
    let (from_millis, to_millis) = found.map_or((0, Millis::MAX), |found| found.stretch);
    let body = cut.and_then(|cut| batch::pack(&cut.text).ok()).unwrap_or_default();
    let row = "INSERT INTO pins (cluster, uid, number, from_millis, to_millis, format, body) VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (cluster, uid, number) DO UPDATE SET to_millis = $5, format = $6, body = $7";
    let values = [
        named.cluster.into(),
        named.uid.into(),
        named.number.into(),
        from_millis.into(),
        to_millis.min(heard_millis).into(),
        batch::FORMAT.into(),
        body.as_slice().into(),
    ];
    database.run(row, &values).map(|_| bytes)
}
