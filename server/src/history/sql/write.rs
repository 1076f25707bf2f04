//! Writes commits, and loads a cluster after a restart.

use timeline::Millis;
use timeline::episodes::{EpisodeRow, UNKNOWN_CAUSE, names_fault};
use timeline::rollout::{Outcome, Trigger};

use super::{CLOCKS_MILLIS, batches, insert_batch};
use crate::database::Connection;
use crate::history::batch::{self, Batch};
use crate::history::options::Limits;
use crate::history::resume::FINGERPRINT;
use crate::history::rollout_span;
use crate::history::store::{Commit, Episode, RecorderState, StoreError, StoredCluster};

/// End of an open episode in the column `over_millis`.
pub const OPEN_MILLIS: Millis = Millis::MAX;

/// Returns the id of a cluster, whose row is inserted if it is missing.
pub fn cluster_id(database: &mut Connection, name: &str) -> Result<i64, StoreError> {
    let row = "INSERT INTO clusters (name, scope, heard_millis) VALUES ($1, '', 0) ON CONFLICT (name) DO NOTHING";
    database.run(row, &[name.into()])?;
    let id = "SELECT id FROM clusters WHERE name = $1";
    let gone = || StoreError::Failed(format!("the database has no cluster {name}"));
    database.number(id, &[name.into()])?.ok_or_else(gone)
}

/// Writes a commit of a cluster.
pub fn append(database: &mut Connection, cluster: i64, commit: &Commit) -> Result<(), StoreError> {
    // All batches before a checkpoint may be evicted; later ones have higher numbers than the checkpoint.
    let last = "SELECT max(seq) FROM (SELECT max(seq) AS seq FROM batches WHERE cluster = $1 UNION ALL SELECT seq FROM checkpoints WHERE cluster = $1) known";
    let last = database.number(last, &[cluster.into()])?.unwrap_or_default();
    let seq = last + i64::from(commit.lines.is_some());
    if let Some(lines) = &commit.lines {
        insert_batch(database, cluster, seq, lines)?;
    }
    let heard = "UPDATE clusters SET heard_millis = $2 WHERE id = $1 AND heard_millis < $2";
    database.run(heard, &[cluster.into(), commit.heard_millis.into()])?;
    if let Some(checkpoint) = &commit.checkpoint {
        let row = "INSERT INTO checkpoints (cluster, seq, made_by, body) VALUES ($1, $2, $3, $4)
             ON CONFLICT (cluster) DO UPDATE SET seq = $2, made_by = $3, body = $4";
        database.run(row, &[cluster.into(), seq.into(), FINGERPRINT.into(), checkpoint.as_slice().into()])?;
    }
    for rollout in &commit.rollouts {
        match known_row(database, cluster, rollout)? {
            Some((number, known)) => write_row(database, cluster, number, &with_known(rollout, &known))?,
            None => {
                let number = next_number(database, cluster, &rollout.uid.to_string())?;
                write_row(database, cluster, number, rollout)?;
            }
        }
    }
    super::episode::write(database, cluster, &commit.episodes, &commit.snapshots)
}

/// Writes the row of a rollout or another episode, under its number within its workload. The counts of its pods do not change
/// after its end. Restarts grow until its episode is over; later ones do not count.
fn write_row(database: &mut Connection, cluster: i64, number: i64, rollout: &EpisodeRow) -> Result<(), StoreError> {
    let row = "INSERT INTO rollouts (cluster, uid, number, namespace, started_millis, outcome, cause, is_deleted, text, rollout, revision, took_millis, first_available_millis, restarts, workload, images, over_millis, kind)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
         ON CONFLICT (cluster, uid, number) DO UPDATE SET started_millis = $5, outcome = $6, is_deleted = $8, rollout = $10, revision = $11, took_millis = $12, workload = $15, images = $16, over_millis = $17, kind = $18,
         first_available_millis = CASE WHEN rollouts.took_millis < 0 AND $13 >= 0 THEN $13 ELSE rollouts.first_available_millis END,
         restarts = CASE WHEN $14 > rollouts.restarts THEN $14 ELSE rollouts.restarts END,
         cause = $7, text = $9";
    let change_cause = rollout.change_cause.as_deref().unwrap_or_default();
    let revision = format!("revision {}", rollout.revision);
    let uid = rollout.uid.to_string();
    let EpisodeRow { namespace, name: named, images, managed_by, title, started_millis, .. } = rollout;
    let started_millis = *started_millis;
    let passed = rollout.deadline_millis.map(|_| "deadline passed").unwrap_or_default();
    let (trouble, losses) = (rollout.trouble(), rollout.losses_words().unwrap_or_default());
    let words = [namespace, named, images, change_cause, managed_by, trouble, &revision, passed, title, &losses];
    let words = words.join("\n").to_lowercase();
    // The row shows no duration if a part was not observed: a search for long rollouts does not find it.
    let known_millis = |ended: Millis| if rollout.is_part_unseen { 0 } else { (ended - started_millis).max(0) };
    let took = rollout.ended_millis.map_or(-1, known_millis);
    let over = match rollout.ended_millis {
        Some(ended) => ended.max(started_millis),
        None if rollout.is_deleted => rollout.moment_millis.unwrap_or(started_millis),
        None => OPEN_MILLIS,
    };
    let values = [
        cluster.into(),
        uid.as_str().into(),
        number.into(),
        namespace.as_str().into(),
        started_millis.into(),
        outcome_names(rollout).into(),
        trouble.into(),
        i64::from(rollout.is_deleted).into(),
        words.into(),
        serde_json::to_string(rollout).unwrap_or_default().into(),
        revision_of(rollout).into(),
        took.into(),
        rollout.first_available_millis.unwrap_or(-1).into(),
        rollout.restarts.map_or(-1, i64::from).into(),
        named.as_str().into(),
        images.to_lowercase().into(),
        over.into(),
        rollout.episode.name().into(),
    ];
    database.run(row, &values)?;
    if rollout.is_deleted {
        // Rows of a deleted workload are evicted by age.
        let all = "UPDATE rollouts SET is_deleted = 1 WHERE cluster = $1 AND uid = $2 AND is_deleted = 0";
        database.run(all, &[cluster.into(), uid.into()])?;
    }
    Ok(())
}

/// Writes the rows of an episode other than those of its rollouts, and removes its earlier ones.
pub fn write_episode_rows(database: &mut Connection, cluster: i64, episode: &Episode) -> Result<(), StoreError> {
    let uid = episode.uid.to_string();
    let span = [cluster.into(), uid.as_str().into(), episode.from_millis.into(), episode.to_millis.into()];
    let condition = "cluster = $1 AND uid = $2 AND kind <> 'rollout' AND started_millis >= $3 AND started_millis <= $4";
    // An open episode that another writer began, or that was begun again, continues in this one.
    let others = "DELETE FROM rollouts WHERE cluster = $1 AND uid = $2 AND kind <> 'rollout' AND over_millis = $3 AND NOT (started_millis >= $4 AND started_millis <= $5)";
    let [cluster_id, name, from, to] = span.clone();
    database.run(others, &[cluster_id, name, OPEN_MILLIS.into(), from, to])?;
    let known = format!("SELECT number FROM rollouts WHERE {condition} ORDER BY number");
    let mut known = database.rows::<(i64,)>(&known, &span)?.into_iter();
    for row in [&episode.row_before, &episode.row].into_iter().flatten() {
        let number = match known.next() {
            Some((number,)) => number,
            None => next_number(database, cluster, &uid)?,
        };
        write_row(database, cluster, number, row)?;
    }
    for (number,) in known {
        let row = "DELETE FROM rollouts WHERE cluster = $1 AND uid = $2 AND number = $3";
        database.run(row, &[cluster.into(), uid.as_str().into(), number.into()])?;
    }
    Ok(())
}

fn next_number(database: &mut Connection, cluster: i64, uid: &str) -> Result<i64, StoreError> {
    let last = "SELECT max(number) FROM rollouts WHERE cluster = $1 AND uid = $2";
    Ok(database.number(last, &[cluster.into(), uid.into()])?.map_or(0, |last| last + 1))
}

fn revision_of(rollout: &EpisodeRow) -> i64 {
    i64::try_from(rollout.revision).unwrap_or(i64::MAX)
}

/// Returns the number of a rollout's row and the row's content. Usually each rollout has its own revision. Several have the same
/// only if newer ReplicaSets were deleted: then it is the row whose time overlaps, and the nearest of these.
fn known_row(
    database: &mut Connection,
    cluster: i64,
    rollout: &EpisodeRow,
) -> Result<Option<(i64, EpisodeRow)>, StoreError> {
    let uid = rollout.uid.to_string();
    let row = "SELECT number, started_millis, cause, rollout FROM rollouts WHERE cluster = $1 AND uid = $2 AND revision = $3 AND kind = 'rollout'
         AND started_millis <= $4 AND (took_millis < 0 OR over_millis >= $5)
         ORDER BY abs(started_millis - $6), number DESC LIMIT 1";
    let began_millis = rollout.started_millis;
    let over_millis = rollout.ended_millis.unwrap_or(OPEN_MILLIS).max(began_millis);
    let values = [
        cluster.into(),
        uid.as_str().into(),
        revision_of(rollout).into(),
        over_millis.saturating_add(CLOCKS_MILLIS).into(),
        (began_millis - CLOCKS_MILLIS).into(),
        began_millis.into(),
    ];
    let row: Option<(i64, Millis, String, String)> = database.row(row, &values)?;
    Ok(row.map(|(number, started_millis, cause, text)| {
        // A later version may have written the row in an unknown form.
        let known = serde_json::from_str(&text).unwrap_or_else(|_| EpisodeRow { cause, ..rollout.clone() });
        (number, EpisodeRow { started_millis, ..known })
    }))
}

/// Adds data from an earlier observation of a rollout: a process that starts in the middle of the rollout did not observe its
/// start. Its last known cause and losses stay.
fn with_known(rollout: &EpisodeRow, known: &EpisodeRow) -> EpisodeRow {
    let (first, second) =
        if known.started_millis < rollout.started_millis { (known, rollout) } else { (rollout, known) };
    let is_same_begin = second.started_millis - first.started_millis <= CLOCKS_MILLIS;
    // A cause observed during the rollout takes precedence over one of a superseded rollout. Pods that start after the fault is
    // fixed may be an outage without a cause.
    let is_last_word = names_fault(&rollout.cause) || !names_fault(&known.cause);
    let says_more = is_last_word && rollout.cause != UNKNOWN_CAUSE && rollout.outcome != Outcome::Superseded;
    let is_news = !rollout.cause.is_empty() && (says_more || known.trouble().is_empty());
    // The timeline drops old limits: then replicas and limits of an ended rollout would be those of a later scaling.
    let has_final_limits = known.ended_millis.is_some() && known.ceiling.is_some();
    let with_limits = if has_final_limits { known } else { rollout };
    EpisodeRow {
        cause: if is_news { rollout.cause.clone() } else { known.cause.clone() },
        refusal: known.refusal.clone().or_else(|| rollout.refusal.clone()),
        trigger: match first.trigger {
            Trigger::Unknown if is_same_begin => second.trigger,
            trigger => trigger,
        },
        started_millis: first.started_millis, // the earliest observation is the closest to the start
        // The timeline drops old gaps.
        is_part_unseen: known.is_part_unseen || rollout.is_part_unseen,
        has_gap: known.has_gap || rollout.has_gap,
        deadline_millis: known.deadline_millis.or(rollout.deadline_millis),
        available_millis: known.available_millis.or(rollout.available_millis),
        losses: rollout.losses.clone().or_else(|| known.losses.clone()),
        // The field stays empty once the next rollout began.
        next_refusal: rollout.next_refusal.clone().or_else(|| known.next_refusal.clone()),
        replicas: with_limits.replicas,
        ceiling: with_limits.ceiling,
        floor: with_limits.floor,
        peak_pods: known.peak_pods.max(rollout.peak_pods),
        min_available: known.min_available.min(rollout.min_available),
        ..rollout.clone()
    }
}

/// Returns the outcomes of a rollout in the index: a passed deadline remains one of them.
fn outcome_names(rollout: &EpisodeRow) -> String {
    let passed = rollout.deadline_millis.filter(|_| rollout.outcome != Outcome::DeadlineExceeded);
    let outcomes = [Some(rollout.outcome), passed.map(|_| Outcome::DeadlineExceeded)];
    outcomes.into_iter().flatten().map(outcome_name).collect::<Vec<_>>().join(" ")
}

/// Returns the name of an outcome in the index; no name is a part of another.
pub fn outcome_name(outcome: Outcome) -> String {
    serde_json::to_value(outcome).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Returns the last response of a cluster; `None` if nothing is stored of it.
pub fn last_response(database: &mut Connection, cluster: &str) -> Result<Option<Millis>, StoreError> {
    database.number("SELECT heard_millis FROM clusters WHERE name = $1", &[cluster.into()])
}

/// Returns the stored data of a cluster.
pub fn load(
    database: &mut Connection,
    cluster: &str,
    use_checkpoint: bool,
    limits: &Limits,
) -> Result<Option<StoredCluster>, StoreError> {
    let row = "SELECT id, heard_millis FROM clusters WHERE name = $1";
    let Some((id, heard_millis)) = database.row::<(i64, Millis)>(row, &[cluster.into()])? else { return Ok(None) };
    let checkpoint = "SELECT seq, body FROM checkpoints WHERE cluster = $1 AND made_by = $2";
    let checkpoint = match use_checkpoint {
        true => database.row(checkpoint, &[id.into(), FINGERPRINT.into()])?,
        false => None,
    };
    let (after, checkpoint) = match checkpoint {
        Some((seq, body)) => (seq, Some(body)),
        None => {
            let newest = i64::try_from(limits.replayed_bytes).unwrap_or(i64::MAX);
            let rest = "SELECT max(seq) FROM (SELECT seq, sum(length(body)) OVER (ORDER BY seq DESC) AS bytes FROM batches WHERE cluster = $1) newest
                 WHERE bytes > $2";
            (database.number(rest, &[id.into(), newest.into()])?.unwrap_or_default(), None)
        }
    };
    let mut batches = batches(database, "cluster = $1 AND seq > $2", &[id.into(), after.into()])?;
    let recorder = super::episode::recorder_state(database, id, heard_millis)?;
    if checkpoint.is_none() {
        let before = batches.first().map_or(Millis::MAX, |batch| batch.from_millis);
        batches.splice(0..0, before_log(&recorder, before));
    }
    Ok(Some(StoredCluster { heard_millis, checkpoint, batches, recorder }))
}

/// Returns the objects before the log, or before the part of it that is read, as a batch.
fn before_log(recorder: &RecorderState, before_millis: Millis) -> Option<Batch> {
    let open = recorder.open.iter().map(|episode| &episode.body);
    let bodies = recorder.snapshots.iter().map(|(_, body)| body).chain(open);
    let texts: String = bodies.filter_map(|body| batch::unpack(body).ok()).collect();
    let objects = rollout_span::objects_before(&texts, before_millis);
    Batch::pack(0, before_millis, &objects).ok().filter(|_| !objects.is_empty())
}

#[cfg(test)]
mod tests {
    use timeline::say;

    use super::*;

    #[test]
    fn a_refusal_before_its_begin_takes_no_later_cause_of_a_rollout_away() {
        let refused = format!("{}.", say::say_refusal("Revision 2", "no"));
        let of = |cause: &str| EpisodeRow { revision: 2, cause: cause.to_owned(), ..EpisodeRow::default() };
        let over = EpisodeRow { ended_millis: Some(9), refusal: Some(refused.clone()), ..of("") };
        let kept = |known: &str| with_known(&over, &of(known)).trouble().to_owned();
        assert_eq!(["", "Containers crash."].map(kept), [refused.as_str(), "Containers crash."]);
        let later = |told: &str| with_known(&of(told), &over).trouble().to_owned();
        let expected = [refused.as_str(), refused.as_str(), "Containers crash."];
        assert_eq!(["", UNKNOWN_CAUSE, "Containers crash."].map(later), expected);
    }

    #[test]
    fn an_outage_without_a_fault_takes_no_named_cause_of_a_rollout_away() {
        let of = |cause: &str| EpisodeRow { revision: 2, cause: cause.to_owned(), ..EpisodeRow::default() };
        let kept = |told: &str, known: &str| with_known(&of(told), &of(known)).cause;
        let fault = "Revision 2 is blocked: no node fits its pods.";
        let outage = "Revision 2 is replacing revision 1: no pod is available.";
        let later = format!("{outage} 1 new pod is running but not ready for 12 s.");
        let at_rest = "No pod of revision 2 is available: 0 of 2.";
        for told in [outage, later.as_str(), at_rest] {
            assert_eq!(kept(told, fault), fault);
            for known in ["", UNKNOWN_CAUSE, outage] {
                assert_eq!(kept(told, known), told, "{known}");
            }
        }
        assert_eq!(kept(fault, outage), fault);
    }

    #[test]
    fn a_refusal_after_losses_stays_with_them_when_the_next_rollout_begins() {
        let of = |losses: &str| EpisodeRow { losses: Some(losses.to_owned()), ..EpisodeRow::default() };
        let one = of("Pod q4xzb deleted after the rollout was complete");
        let refused = EpisodeRow { next_refusal: Some(say::say_refusal("The next revision", "no")), ..one.clone() };
        let words = refused.losses_words();
        let kept = |told: &EpisodeRow, known: &EpisodeRow| with_known(told, known).losses_words();
        assert_eq!(kept(&one, &refused), words);
        assert_eq!(kept(&EpisodeRow::default(), &refused), words);
        assert_eq!(kept(&refused, &one), words);
        let (two, refusal) = ("2 pods deleted", refused.next_refusal.as_deref().unwrap_or_default());
        assert_eq!(kept(&of(two), &one).as_deref(), Some(two));
        assert_eq!(kept(&of(two), &refused), Some(format!("{two}. {refusal}")));
    }
}
