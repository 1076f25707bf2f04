//! The tables of episodes and of workloads at rest.

use timeline::episodes::EpisodeRow;
use timeline::{Millis, Uid};

use super::{ROLLOUT, batches, read_rollout, to_u32, uid_of};
use crate::database::Connection;
use crate::history::batch;
use crate::history::rollout_span::{self, LONGEST_MILLIS};
use crate::history::store::{Episode, EpisodeRecording, RecorderState, StoreError};

/// The recorder may lack lines from this time before the last response of its cluster.
const UNWRITTEN_MILLIS: Millis = 60_000;
/// An open episode may lack lines from this time after its end: a little more than the recorder's longest time between two
/// writes. With later lines it is written again when its turn comes.
const OVERDUE_MILLIS: Millis = 1_200_000;
/// Statement of the open episodes of a cluster.
const OPEN: &str =
    "SELECT uid, from_millis, to_millis, body FROM episodes WHERE cluster = $1 AND is_open = 1 ORDER BY from_millis";

/// Writes episodes, and workloads at rest.
pub fn write(
    database: &mut Connection,
    cluster: i64,
    episodes: &[Episode],
    snapshots: &[(Uid, Vec<u8>)],
) -> Result<(), StoreError> {
    for episode in episodes {
        super::write::write_episode_rows(database, cluster, episode)?;
        let Episode { uid, from_millis, to_millis, is_open, body, .. } = episode;
        // A workload has one open episode: the others were begun by another writer, or begun again.
        let others =
            "UPDATE episodes SET is_open = 0 WHERE cluster = $1 AND uid = $2 AND from_millis <> $3 AND is_open = 1";
        database.run(others, &[cluster.into(), uid.to_string().into(), (*from_millis).into()])?;
        let row = "INSERT INTO episodes (cluster, uid, from_millis, to_millis, is_open, format, body) VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (cluster, uid, from_millis) DO UPDATE SET to_millis = $4, is_open = $5, format = $6, body = $7";
        let values = [
            cluster.into(),
            uid.to_string().into(),
            (*from_millis).into(),
            (*to_millis).into(),
            i64::from(*is_open).into(),
            batch::FORMAT.into(),
            body.as_slice().into(),
        ];
        database.run(row, &values)?;
    }
    for (uid, body) in snapshots {
        if body.is_empty() {
            let row = "DELETE FROM snapshots WHERE cluster = $1 AND uid = $2";
            database.run(row, &[cluster.into(), uid.to_string().into()])?;
            continue;
        }
        let row = "INSERT INTO snapshots (cluster, uid, body) VALUES ($1, $2, $3) ON CONFLICT (cluster, uid) DO UPDATE SET body = $3";
        database.run(row, &[cluster.into(), uid.to_string().into(), body.as_slice().into()])?;
    }
    Ok(())
}

/// Returns the state of a cluster's recorder.
pub fn recorder_state(
    database: &mut Connection,
    cluster: i64,
    heard_millis: Millis,
) -> Result<RecorderState, StoreError> {
    let snapshots = database.rows("SELECT uid, body FROM snapshots WHERE cluster = $1", &[cluster.into()])?;
    let snapshot = |(uid, body): (String, _)| Ok((uid_of(&uid)?, body));
    let snapshots = snapshots.into_iter().map(snapshot).collect::<Result<Vec<_>, StoreError>>()?;
    let open = database.rows(OPEN, &[cluster.into()])?;
    let episode = |(uid, from_millis, to_millis, body): (String, _, _, _)| {
        let (uid, is_open) = (uid_of(&uid)?, true);
        let (row_before, row) = (None, None); // the next line computes its rows again
        Ok(Episode { uid, from_millis, to_millis, is_open, row_before, row, body })
    };
    let open = open.into_iter().map(episode).collect::<Result<Vec<_>, StoreError>>()?;
    let batches = batches(database, &unwritten(), &[cluster.into(), (heard_millis - UNWRITTEN_MILLIS).into()])?;
    Ok(RecorderState { snapshots, open, batches })
}

/// Returns the condition for batches after `$2`, and for those with lines that open episodes may lack. The episode of a paused
/// rollout may have had no line for a day: the log since then is not read for it.
fn unwritten() -> String {
    format!(
        "cluster = $1 AND (to_millis >= $2 OR EXISTS (SELECT 1 FROM episodes e
         WHERE e.cluster = $1 AND e.is_open = 1
         AND e.to_millis BETWEEN batches.from_millis - {OVERDUE_MILLIS} AND batches.to_millis))"
    )
}

/// Returns the recording of a row, cut from its episode; `None` if the episode is not stored. It lasts until a later time if that
/// is requested and possible.
pub fn recording(
    database: &mut Connection,
    cluster: i64,
    uid: Uid,
    number: u32,
    until_millis: Option<Millis>,
) -> Result<Option<EpisodeRecording>, StoreError> {
    let uid = uid.to_string();
    let row = format!("SELECT {ROLLOUT} FROM rollouts r WHERE cluster = $1 AND uid = $2 AND number = $3");
    let row = database.row(&row, &[cluster.into(), uid.as_str().into(), number.into()])?;
    let Some(rollout) = row.and_then(read_rollout) else { return Ok(None) };
    // The last episode that began before the row.
    let row = "SELECT format, body, to_millis, is_open FROM episodes WHERE cluster = $1 AND uid = $2 AND from_millis <= $3 AND to_millis >= $4
         ORDER BY from_millis DESC LIMIT 1";
    let began_millis = rollout.started_millis;
    let values =
        [cluster.into(), uid.as_str().into(), (began_millis + super::CLOCKS_MILLIS).into(), began_millis.into()];
    let episode: Option<(i64, Vec<u8>, Millis, i64)> = database.row(row, &values)?;
    let Some((format, body, episode_to_millis, is_open)) = episode else { return Ok(None) };
    let text = batch::read(to_u32(format), &body)?;
    let next = "SELECT min(from_millis) FROM episodes WHERE cluster = $1 AND uid = $2 AND from_millis > $3";
    let next = database.number(next, &[cluster.into(), uid.as_str().into(), episode_to_millis.into()])?;
    let heard = "SELECT heard_millis FROM clusters WHERE id = $1";
    let heard_millis = database.number(heard, &[cluster.into()])?.unwrap_or_default();
    let last_millis = rollout.last_millis;
    let (from_millis, shown_millis) = rollout_span::shown_span(began_millis, rollout.ended_millis, last_millis);
    // No change happened between two episodes.
    let rest_millis = if is_open != 0 { episode_to_millis } else { next.map_or(heard_millis, |next| next - 1) };
    let until_next = next.map_or(Millis::MAX, |next| next - 1);
    // At most some hours after its end, and before the next one.
    let latest_millis = rollout.ended_millis.unwrap_or(began_millis + LONGEST_MILLIS) + LONGEST_MILLIS;
    let most_millis = latest_millis.min(last_millis.unwrap_or(Millis::MAX)).min(until_next).max(shown_millis);
    let until_millis = until_millis.filter(|until| *until <= most_millis);
    let shown_millis = until_millis.map_or(shown_millis, |until| until.max(shown_millis));
    let to_millis = shown_millis.min(rest_millis.max(episode_to_millis).max(began_millis));
    let text = rollout_span::trim(&text, (from_millis, to_millis));
    let is_settled = to_millis == shown_millis;
    let EpisodeRow { revision, title, .. } = rollout;
    Ok((!text.is_empty()).then_some(EpisodeRecording { revision, title, to_millis, most_millis, is_settled, text }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Value;
    use crate::history::sql::SCHEMA;
    use crate::history::sql::tests::plan;

    #[test]
    fn a_restart_reads_no_episodes_but_the_open_ones() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut database = Connection::open_file_to_write(file.path(), &SCHEMA).unwrap();
        let batches = format!("SELECT body FROM batches WHERE {}", unwritten());
        let values = [1_i64, 2].map(Value::from);
        for (statement, values) in [(OPEN, &values[..1]), (&batches, &values[..])] {
            let steps = plan(&mut database, statement, values);
            assert!(steps.iter().any(|step| step.contains("INDEX episodes_open (cluster=?")), "{steps:?}");
        }
    }
}
