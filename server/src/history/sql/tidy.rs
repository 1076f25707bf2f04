//! Tidies the store in small steps: joins small batches of the log, and evicts data beyond the limits of age and size.

use timeline::Millis;

use super::{batches, insert_batch};
use crate::database::Connection;
use crate::history::batch::Batch;
use crate::history::options::Limits;
use crate::history::store::StoreError;

/// Largest number of rows that are evicted at a time.
const AT_A_TIME: i64 = 500;
/// Largest number of episodes or batches that are evicted for size at a time.
const BODIES_AT_A_TIME: i64 = 50;

/// Does one step of tidying for some clusters; `is_too_much`: the store exceeds its size limit. Returns whether there is more to do.
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
    }
    if clusters.is_empty() {
        return Ok(is_more);
    }
    let mine = clusters.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    is_more |= evict_old(database, &mine, limits, now_millis)?;
    if is_too_much && !is_more {
        is_more = evict_oldest(database, &mine)?;
    }
    Ok(is_more)
}

/// Joins a run of small batches before the checkpoint into one. Returns whether there was one.
fn join(database: &mut Connection, cluster: i64, limits: &Limits) -> Result<bool, StoreError> {
    let joined = i64::try_from(limits.joined_bytes).unwrap_or(i64::MAX);
    let rows = "SELECT seq, length(body) FROM batches
         WHERE cluster = $1 AND seq <= (SELECT seq FROM checkpoints WHERE cluster = $1) ORDER BY seq";
    let sizes: Vec<(i64, i64)> = database.rows(rows, &[cluster.into()])?;
    let Some((first, last)) = first_run(&sizes, joined) else { return Ok(false) };
    let condition = "cluster = $1 AND seq BETWEEN $2 AND $3";
    let between = [cluster.into(), first.into(), last.into()];
    database.transaction(|database| {
        let parts = batches(database, condition, &between)?;
        // Damaged batches remain unchanged.
        let Some(whole) = join_batches(&parts) else { return Ok(false) };
        database.run(&format!("DELETE FROM batches WHERE {condition}"), &between)?;
        insert_batch(database, cluster, last, &whole)?;
        Ok(true)
    })
}

/// Returns the first and the last batch of the first run of small batches that is large enough, from the numbers and sizes of all batches.
fn first_run(sizes: &[(i64, i64)], joined: i64) -> Option<(i64, i64)> {
    let mut run: Option<(i64, i64)> = None;
    for (seq, size) in sizes {
        let (first, bytes) = run.map_or((*seq, *size), |(first, bytes)| (first, bytes + size));
        run = Some((first, bytes)).filter(|_| *size < joined / 2);
        if run.is_some() && bytes >= joined {
            return Some((first, *seq));
        }
    }
    None
}

/// Joins the lines of several batches; `None` if one of them is damaged.
fn join_batches(parts: &[Batch]) -> Option<Batch> {
    let text = parts.iter().map(|part| part.text().ok()).collect::<Option<String>>()?;
    let from_millis = parts.iter().map(|part| part.from_millis).min()?;
    let to_millis = parts.iter().map(|part| part.to_millis).max()?;
    Batch::pack(from_millis, to_millis, &text).ok()
}

/// Condition of the last episode of an existing workload, which is never evicted.
const IS_LAST_EPISODE: &str =
    "e.from_millis = (SELECT max(l.from_millis) FROM episodes l WHERE l.cluster = e.cluster AND l.uid = e.uid)
     AND EXISTS (SELECT 1 FROM rollouts r WHERE r.cluster = e.cluster AND r.uid = e.uid AND r.is_deleted = 0)";
/// Condition of the episodes with the last row of each kind of an existing workload, which are never evicted.
const HAS_LAST_OF_KIND: &str =
    "EXISTS (SELECT 1 FROM rollouts r WHERE r.cluster = e.cluster AND r.uid = e.uid AND r.is_deleted = 0
     AND r.number = (SELECT max(o.number) FROM rollouts o WHERE o.cluster = r.cluster AND o.uid = r.uid AND o.kind = r.kind)
     AND e.from_millis <= r.started_millis + 1000 AND e.to_millis >= r.started_millis)";

/// Limits a statement to settled episodes: an open one is written repeatedly until it settles.
const NOT_OPEN: &str = "AND is_open = 0";

/// Returns the statements that evict data of some clusters older than `$1`, at most `$2` rows, the oldest first: from the log,
/// from the episodes, which `of_episodes` may limit, and from the index. SQLite has no statistics here, and would read all rows
/// of the cluster by the index of workloads: `+` excludes that index, so that SQLite reads the old rows by their time.
fn evict_statements(clusters: &str, of_episodes: &str) -> [String; 3] {
    let log = format!(
        "DELETE FROM batches WHERE id IN
         (SELECT id FROM batches WHERE +cluster IN ({clusters}) AND to_millis < $1 ORDER BY to_millis LIMIT $2)"
    );
    let episodes = format!(
        "DELETE FROM episodes WHERE id IN (SELECT id FROM episodes e WHERE +cluster IN ({clusters}) AND to_millis < $1
         {of_episodes} AND NOT ({IS_LAST_EPISODE}) AND NOT ({HAS_LAST_OF_KIND}) ORDER BY to_millis LIMIT $2)"
    );
    let rollouts = format!(
        "DELETE FROM rollouts WHERE id IN (SELECT id FROM rollouts r WHERE +cluster IN ({clusters}) AND started_millis < $1 AND (is_deleted = 1
         OR number < (SELECT max(number) FROM rollouts o WHERE o.cluster = r.cluster AND o.uid = r.uid AND o.kind = r.kind))
         ORDER BY started_millis LIMIT $2)"
    );
    [log, episodes, rollouts]
}

/// Evicts some data beyond the age limit. Returns whether there may be more.
fn evict_old(
    database: &mut Connection,
    clusters: &str,
    limits: &Limits,
    now_millis: Millis,
) -> Result<bool, StoreError> {
    let values = |before_millis: Millis| [before_millis.into(), AT_A_TIME.into()];
    let [log, episodes, rollouts] = evict_statements(clusters, "");
    let old_millis = now_millis - limits.age_millis;
    let mut gone = database.run(&log, &values(now_millis - limits.log_millis.min(limits.age_millis)))?;
    gone += database.run(&episodes, &values(old_millis))?;
    gone += database.run(&rollouts, &values(old_millis))?;
    Ok(gone > 0)
}

/// Evicts some of the oldest data: of the log before the checkpoints, of the episodes, and rows of the index once nothing else
/// can be evicted. Returns whether there may be more.
fn evict_oldest(database: &mut Connection, clusters: &str) -> Result<bool, StoreError> {
    let log = format!(
        "FROM batches b JOIN checkpoints c ON c.cluster = b.cluster WHERE b.cluster IN ({clusters}) AND b.seq <= c.seq"
    );
    let first_millis = database.number(&format!("SELECT min(b.to_millis) {log}"), &[])?.unwrap_or(Millis::MAX);
    let log = format!(
        "DELETE FROM batches WHERE id IN (SELECT b.id {log} AND b.to_millis < $1 ORDER BY b.to_millis LIMIT $2)"
    );
    let [_, episodes, rollouts] = evict_statements(clusters, NOT_OPEN);
    for (statement, before_millis, most) in [
        (episodes, first_millis, BODIES_AT_A_TIME),
        (log, Millis::MAX, BODIES_AT_A_TIME),
        (rollouts, Millis::MAX, AT_A_TIME),
    ] {
        if database.run(&statement, &[before_millis.into(), most.into()])? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use timeline::Uid;
    use timeline::episodes::EpisodeRow;

    use super::*;
    use crate::database::Value;
    use crate::history::sql::tests::plan;
    use crate::history::sql::{SCHEMA, append, cluster_id};
    use crate::history::store::{Commit, Episode};

    #[test]
    fn what_is_too_old_is_found_by_its_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut database = Connection::open_file_to_write(file.path(), &SCHEMA).unwrap();
        let by_time =
            ["batches_by_time (to_millis<?)", "episodes_by_time (to_millis<?)", "rollouts_by_time (started_millis<?)"];
        for of_episodes in ["", NOT_OPEN] {
            for (statement, index) in evict_statements("1, 2", of_episodes).into_iter().zip(by_time) {
                let steps = plan(&mut database, &statement, &[1_i64, 2].map(Value::from));
                assert!(steps.iter().any(|step| step.ends_with(index)), "{steps:?}");
            }
        }
    }

    #[test]
    fn the_oldest_data_is_evicted_first_for_its_size_and_rows_of_the_index_last() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut database = Connection::open_file_to_write(file.path(), &SCHEMA).unwrap();
        let cluster = cluster_id(&mut database, "prod").unwrap();
        let episode = |(from_millis, to_millis)| Episode {
            uid: Uid::from_bits(1),
            from_millis,
            to_millis,
            is_open: false,
            row_before: None,
            row: None,
            body: vec![0],
        };
        let rollout = |revision: u64| EpisodeRow {
            uid: Uid::from_bits(2),
            revision,
            started_millis: revision as Millis,
            ended_millis: Some(revision as Millis),
            ..EpisodeRow::default()
        };
        let commit = Commit {
            lines: Some(Batch::pack(1_000, 1_000, "").unwrap()),
            checkpoint: Some(vec![0]),
            rollouts: [1, 2].map(rollout).into(),
            episodes: [(500, 900), (2_000, 3_000)].map(episode).into(),
            ..Commit::default()
        };
        append(&mut database, cluster, &commit).unwrap();
        let tables = "SELECT (SELECT count(*) FROM batches), (SELECT min(to_millis) FROM episodes), (SELECT min(number) FROM rollouts)";
        let mut evicted = || {
            let is_more = evict_oldest(&mut database, &cluster.to_string()).unwrap();
            (is_more, database.row::<(i64, Option<Millis>, i64)>(tables, &[]).unwrap().unwrap())
        };
        assert_eq!(evicted(), (true, (1, Some(3_000), 0)), "an episode that is older than the log");
        assert_eq!(evicted(), (true, (0, Some(3_000), 0)));
        assert_eq!(evicted(), (true, (0, None, 0)));
        assert_eq!(evicted(), (true, (0, None, 1)));
        assert_eq!(evicted(), (false, (0, None, 1)), "the last row of an existing workload");
    }
}
