//! Reads the rollouts of a workload from the history, or from the hub without a history, and compares one with those before it.

use app::compare::Course;
use app::compare::earlier::{comparable, sentences};
use app::measure::{Measure, RolloutProgress};
use timeline::episodes::{EpisodeRow, rollout_rows};
use timeline::view::{self, Tone};
use timeline::{Uid, Workload};

use crate::history::store::{EpisodeSelector, StoreError};
use crate::web::client_view::ClientView;

/// Rollouts of a Deployment that are listed: one, and those that it is compared with.
const MOST_LISTED: u32 = 101;

/// Returns the UID of a Deployment: the named one, or that of the Deployment with the name. `None` if there is none.
///
/// # Errors
/// When the history cannot be read.
pub(crate) async fn find_uid(view: &ClientView, workload: &Workload) -> Result<Option<Uid>, StoreError> {
    if let Some(hub) = view.hub(workload).await {
        let named = workload.clone();
        let there = hub.read(move |reader| named.find(reader.timeline.model()).map(|known| known.uid)).await;
        if let Ok(Some(uid)) = there {
            return Ok(Some(uid));
        }
    }
    // A deleted Deployment is found by its UID, under the name that it had.
    let Some(uid) = workload.uid else { return Ok(None) };
    Ok(view.read_stored(workload, uid, |_| Ok(())).await?.map(|()| uid))
}

/// Returns the rollouts of a Deployment, the last one first: of all, of those up to the last one of a revision, or without a revision
/// of those up to the stored one that the workload names.
///
/// # Errors
/// When the history cannot be read.
pub(crate) async fn list(
    view: &ClientView,
    workload: &Workload,
    uid: Uid,
    revision: Option<u64>,
) -> Result<Vec<EpisodeRow>, StoreError> {
    let (cluster, named) = (workload.cluster.clone(), workload.rollout);
    if view.has_history() {
        let kept = view.read_stored(workload, uid, move |reader| {
            let Some(revision) = revision else { return reader.rollouts(&cluster, uid, named, MOST_LISTED) };
            match reader.find(&cluster, uid, EpisodeSelector::Revision(revision))? {
                Some((number, _)) => reader.rollouts(&cluster, uid, Some(number), MOST_LISTED),
                None => Ok(Vec::new()),
            }
        });
        let mut kept = kept.await?.unwrap_or_default();
        // Rows of a later version are left out, and others may be evicted meanwhile.
        if kept.first().is_some_and(|first| revision.is_some_and(|revision| first.revision != revision)) {
            kept.clear();
        }
        return Ok(kept);
    }
    let Some(hub) = view.live_hub(workload).await else { return Ok(Vec::new()) };
    let named = Workload { uid: Some(uid), ..workload.clone() };
    let all = hub.read(move |reader| {
        if named.find(reader.timeline.model()).is_none() {
            return Vec::new();
        }
        let mut rollouts = rollout_rows::rollouts(&cluster, reader.timeline, uid, reader.now, MOST_LISTED as usize);
        // Without a history, it is unknown whether trouble after completion belongs to the rollout.
        rollouts.iter_mut().for_each(EpisodeRow::clear_aftermath);
        rollouts.reverse();
        let is_later = |rollout: &EpisodeRow| revision.is_some_and(|revision| rollout.revision != revision);
        rollouts.into_iter().skip_while(is_later).collect()
    });
    Ok(all.await.unwrap_or_default())
}

/// Returns the course of a rollout, from the hub of its cluster while it goes on or without a history, else from its recording.
pub(crate) async fn course(view: &ClientView, workload: &Workload, of: &EpisodeRow) -> Option<Course> {
    let revision = of.revision;
    let at = if of.is_going_on() || !view.has_history() {
        Workload { uid: Some(of.uid), rollout: None, ..workload.clone() }
    } else {
        of.by_itself()
    };
    let hub = view.hub(&at).await?;
    let course = hub.read(move |reader| {
        let model = reader.timeline.model();
        Course::from_model(model, at.find(model)?.uid, revision, reader.now)
    });
    course.await.ok()?
}

/// Compares a rollout with those before it, in sentences and figures.
pub(crate) async fn compare_with_earlier(
    view: &ClientView,
    workload: &Workload,
    of: &EpisodeRow,
    before: &[EpisodeRow],
) -> (Vec<String>, Measure) {
    let (uid, revision) = (of.uid, of.revision);
    let moving_millis = async {
        let hub = view.live_hub(workload).await?;
        let named = Workload { uid: Some(uid), ..workload.clone() };
        let moving = hub.read(move |reader| {
            named.find(reader.timeline.model())?;
            let verdict = view::view(reader.timeline.model(), uid, reader.now)?.verdict;
            let last = reader.timeline.model().deployments.get(&uid)?.rollouts.last()?;
            // The last rollout may not be stored yet.
            let is_last = last.is_open() && last.revision == revision;
            (verdict.tone == Tone::Busy && is_last).then_some(reader.now.millis)
        });
        moving.await.ok()?
    };
    let progress = match of.complete_millis() {
        Some(took) => RolloutProgress::Complete(took),
        None if of.is_going_on() && of.trigger != timeline::rollout::Trigger::Unknown => match moving_millis.await {
            Some(now_millis) => RolloutProgress::GoingOn(now_millis - of.started_millis),
            None => RolloutProgress::Otherwise,
        },
        None => RolloutProgress::Otherwise,
    };
    let measure = Measure {
        revision: of.revision,
        started_millis: of.started_millis,
        standing: progress,
        took_millis: comparable(of, before),
    };
    (sentences(of, progress, before), measure)
}
