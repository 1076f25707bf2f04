//! Computes moments of the past, and details of the present, outside of the hub's task: the hub copies the history of one Deployment,
//! which is cached here for a while.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use moka::sync::Cache;
use timeline::view::Now;
use timeline::wire::{Moment, Said, ServerFrame};
use timeline::{History, Millis, Model, Uid, Workload};
use tokio::sync::{Mutex, oneshot};

use super::answer::{HubEnded, HubReader, describe_deployment};
use super::handle::Handle;
use super::topic::encode;

/// Maximum number of cached histories, one for each Deployment.
const CACHED_HISTORIES: u64 = 4;
/// Time without requests after which a history is evicted, by the next request for another one.
const KEPT_FOR: Duration = Duration::from_secs(30);

/// Histories of Deployments. The lock makes one moment of a cluster at a time; other requests of the hub come between.
pub(super) type HistoryCache = Arc<Mutex<Cache<Uid, Arc<CachedHistory>>>>;

pub(super) fn empty_cache() -> HistoryCache {
    Arc::new(Mutex::new(Cache::builder().max_capacity(CACHED_HISTORIES).time_to_idle(KEPT_FOR).build()))
}

/// Queue of the streams that request moments: only the holder of the lock does.
pub(super) type StreamQueue = Arc<Mutex<()>>;

/// The history of one Deployment, copied from the hub.
pub(super) struct CachedHistory {
    deployment: Uid,
    history: History,
    /// Epoch of the timeline that it was copied from.
    epoch: u64,
    /// It contains everything before this time; more may still happen at this time or later.
    until_millis: Millis,
    /// Number of the last change of the Deployment, or of another one of its name, that it contains.
    touched: u64,
}

/// A Deployment and its objects at a time: now, or in the past.
pub struct DeploymentState<'t> {
    /// The Deployment.
    pub deployment: Uid,
    /// It and what belonged to it; other objects may be there, too.
    pub model: &'t Model,
    /// Their history, also after this time.
    pub history: &'t History,
    /// The time.
    pub now: Now,
    /// Whether that is a moment of the past.
    pub is_past: bool,
}

/// Finds the history that has a moment: a cached one or a new copy. Runs in the hub's task. Without a moment, it has
/// the present, which does not advance while the cluster does not respond.
fn find(
    reader: &HubReader<'_>,
    workload: &Workload,
    asked: Option<Millis>,
    known: &Cache<Uid, Arc<CachedHistory>>,
) -> (Now, Option<Arc<CachedHistory>>) {
    let at_millis = asked.map_or(reader.now.millis, |at| at.min(reader.now_millis));
    let model = reader.timeline.model();
    let is_kept = asked.is_none() || reader.history.base_millis().is_none_or(|base| base <= at_millis);
    let deployment = workload.find(model).map(|found| found.uid).filter(|_| is_kept);
    let past = deployment.map(|deployment| {
        let touched = reader.last_change(deployment);
        let is_it = |past: &Arc<CachedHistory>| {
            let reaches = at_millis < past.until_millis || past.touched == touched;
            past.epoch == reader.epoch && reaches
        };
        let new = || CachedHistory {
            deployment,
            history: reader.history.only(model, deployment),
            epoch: reader.epoch,
            until_millis: reader.history.last_millis().unwrap_or(Millis::MIN),
            touched,
        };
        known.get(&deployment).filter(is_it).unwrap_or_else(|| Arc::new(new()))
    });
    (Now { millis: at_millis, ..reader.now }, past)
}

/// Returns the view and the story of a Deployment at that time, and the reasons of its pods.
fn describe(then: &DeploymentState<'_>) -> (Said, Vec<(Uid, String)>) {
    let millis = then.history.heard_millis(then.deployment, then.now.millis);
    let said = describe_deployment(then.model, then.deployment, Now { millis, ..then.now });
    (said, then.model.reasons_of(then.deployment))
}

impl Handle {
    /// Returns the view and the story of a Deployment at some time, and the reasons of its pods.
    pub async fn moment(&self, workload: &Workload, at_millis: Millis) -> Result<Moment, HubEnded> {
        let (at_millis, then) = self.read_at(workload, Some(at_millis), describe).await?;
        let (said, reasons) = then.unzip();
        Ok(Moment { at_millis, said, reasons: reasons.unwrap_or_default() })
    }

    /// Like [`Self::moment`], as an encoded frame for a stream; `None` if it cannot be encoded. Streams have a queue of
    /// their own: however many ask, a page that is opened at a moment waits for two of them at most.
    pub async fn moment_frame(&self, workload: &Workload, at_millis: Millis) -> Result<Option<Bytes>, HubEnded> {
        let _turn = self.streams.lock().await;
        let moment = self.moment(workload, at_millis).await?;
        Ok(encode(&ServerFrame::Moment(Box::new(moment))))
    }

    /// Reads a Deployment as it was at a time; as it is now without a time, or if the moment is not over or not stored.
    pub async fn read_deployment<T: Send + 'static>(
        &self,
        workload: &Workload,
        at_millis: Option<Millis>,
        job: impl Fn(&DeploymentState<'_>) -> T + Send + Sync + 'static,
    ) -> Result<Option<T>, HubEnded> {
        let job = Arc::new(job);
        if let Some(at_millis) = at_millis.filter(|at| *at < self.now_millis()) {
            let job = job.clone();
            let (_, found) = self.read_at(workload, Some(at_millis), move |then| job(then)).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(self.read_at(workload, None, move |then| job(then)).await?.1)
    }

    /// Reads a Deployment as it was, or as it is, outside of the hub's task. Also returns that time, which is never in the future.
    async fn read_at<T: Send + 'static>(
        &self,
        workload: &Workload,
        asked_millis: Option<Millis>,
        job: impl FnOnce(&DeploymentState<'_>) -> T + Send + 'static,
    ) -> Result<(Millis, Option<T>), HubEnded> {
        let histories = self.histories.clone().lock_owned().await;
        let (workload, known) = (workload.clone(), histories.clone());
        let (now, past) = self.read(move |reader| find(reader, &workload, asked_millis, &known)).await?;
        let Some(past) = past else { return Ok((now.millis, None)) };
        histories.insert(past.deployment, past.clone());
        histories.run_pending_tasks(); // otherwise the cache exceeds its limit for a while
        let (tell, seen) = oneshot::channel();
        tokio::task::spawn_blocking(move || {
            let began = std::time::Instant::now();
            let (deployment, history, is_past) = (past.deployment, &past.history, asked_millis.is_some());
            let model = history.at(now.millis);
            let seen = job(&DeploymentState { deployment, model: &model, history, now, is_past });
            drop(model);
            let _ = tell.send(seen); // the request may have been cancelled
            // The next moment waits for as long as this one took: moments use half of a core at most, however many are
            // requested. Only requests for moments wait for that; the hub does not.
            std::thread::sleep(began.elapsed());
            drop(histories);
        });
        Ok((now.millis, Some(seen.await.map_err(|_| HubEnded)?)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;
    use timeline::fact::Kind;
    use timeline::{Fact, Retention};
    use tokio::sync::mpsc;
    use tokio::time::Instant;

    use super::*;
    use crate::feed::recording::Recording;
    use crate::kube::Observed;
    use crate::kube::SourceEvent;
    use crate::telemetry::clock::OwnClock;

    /// Returns a hub that stands still in the middle of a recording, its queue, its Deployment, and the rest of the recording.
    async fn rollover() -> (Handle, mpsc::Sender<SourceEvent>, Workload, Recording) {
        let mut first = Recording::read(include_str!("../../tests/traces/rollover.jsonl"));
        let rest = first.observed.split_off(first.observed.len() / 2);
        let rest = Recording { observed: rest, ..Recording::default() };
        let (_, end_millis) = first.span().unwrap();
        let whole = Retention { age_millis: Millis::MAX / 4, ..Retention::default() };
        let (hub, events) = Handle::start("prod", Arc::default(), whole);
        let clock = OwnClock { start_millis: end_millis, started: Instant::now(), speed: 0.0 };
        events.send(SourceEvent::Played { name: "rollover".to_owned(), clock }).await.unwrap();
        feed(&events, first.observed).await;
        hub.read(|_| ()).await.unwrap(); // everything is applied, and the clock stands still
        (hub, events, Workload::deployment("prod", "rollover", "web"), rest)
    }

    async fn feed(events: &mpsc::Sender<SourceEvent>, observed: Vec<Observed>) {
        for observed in observed {
            events.send(SourceEvent::Recorded { observed: Box::new(observed), line: None }).await.unwrap();
        }
    }

    /// One history of each Deployment is cached, and its last millisecond is computed again: more may have happened in it.
    #[tokio::test]
    async fn a_past_is_copied_again_only_after_something_happened() {
        let (hub, events, workload, rest) = rollover().await;
        let asked = async |at_millis| {
            let moment = hub.moment(&workload, at_millis).await.unwrap();
            assert!(moment.said.is_some());
            let histories: Vec<_> = hub.histories.lock().await.iter().map(|(_, past)| past).collect();
            let [past] = &histories[..] else { panic!("{} are kept", histories.len()) };
            (moment.said, past.clone())
        };
        let (said, first) = asked(Millis::MAX).await;
        assert_eq!(said.map(Said::with_version), Some(hub.page(&workload).await.unwrap().said), "now");
        let (_, second) = asked(hub.now_millis()).await;
        let (_, third) = asked(hub.now_millis() - 10_000).await;
        assert!(Arc::ptr_eq(&first, &second) && Arc::ptr_eq(&first, &third), "nothing happened");
        let (_, end_millis) = rest.span().unwrap();
        feed(&events, rest.observed).await;
        let clock = OwnClock { start_millis: end_millis, started: Instant::now(), speed: 0.0 };
        events.send(SourceEvent::Paced(clock)).await.unwrap();
        let (_, last) = asked(first.until_millis - 1).await;
        assert!(Arc::ptr_eq(&first, &last), "that is in it");
        assert!(!Arc::ptr_eq(&first, &asked(first.until_millis).await.1), "more may have happened");
        let (said, last) = asked(Millis::MAX).await;
        assert!(!Arc::ptr_eq(&first, &last), "something happened");
        assert_eq!(said.map(Said::with_version), Some(hub.page(&workload).await.unwrap().said));
    }

    #[tokio::test]
    async fn a_moment_in_a_gap_says_what_was_said_when_the_gap_began() {
        let (hub, events, workload, _) = rollover().await;
        let since_millis = hub.now_millis();
        let known = |reader: &HubReader<'_>| reader.timeline.model().deployments.keys().copied().collect::<Vec<_>>();
        let present = hub.read(known).await.unwrap();
        let (kind, namespace, gap_since_millis) = (Kind::Deployment, None, Some(since_millis));
        let fact = Some(Fact::Listed { kind, namespace, present, gap_since_millis });
        feed(&events, vec![Observed { at_millis: since_millis + 3_600_000, fact }]).await;
        let clock = OwnClock { start_millis: since_millis + 3_700_000, started: Instant::now(), speed: 0.0 };
        events.send(SourceEvent::Paced(clock)).await.unwrap();
        hub.read(|_| ()).await.unwrap();
        let asked = async |after_millis: Millis| hub.moment(&workload, since_millis + after_millis).await.unwrap();
        let began = asked(0).await;
        assert!(began.said.is_some());
        for after_millis in [1_800_000, 3_599_999] {
            let moment = asked(after_millis).await;
            assert_eq!((moment.at_millis, moment.said), (since_millis + after_millis, began.said.clone()));
        }
    }

    #[tokio::test]
    async fn moments_are_looked_at_one_at_a_time_and_half_of_the_time_whoever_leaves() {
        const TAKES: Duration = Duration::from_millis(20);
        let (hub, _, workload, _) = rollover().await;
        let (at_once, most) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let began = std::time::Instant::now();
        let looks = (1..=10).map(|ago| {
            let (hub, workload, at_once, most) = (hub.clone(), workload.clone(), at_once.clone(), most.clone());
            let look = move |_: &DeploymentState<'_>| {
                most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(TAKES);
                at_once.fetch_sub(1, Ordering::SeqCst);
            };
            // The first request is cancelled while its moment is computed, others while they wait.
            let patience = if ago % 2 == 0 { Duration::from_secs(60) } else { TAKES / 2 };
            tokio::spawn(async move {
                let look = hub.read_deployment(&workload, Some(hub.now_millis() - ago), look);
                tokio::time::timeout(patience, look).await.is_ok_and(|seen| seen.is_ok_and(|seen| seen.is_some()))
            })
        });
        let seen = join_all(looks).await.into_iter().filter(|seen| matches!(seen, Ok(true))).count();
        assert!(seen >= 5, "{seen}");
        assert_eq!(most.load(Ordering::SeqCst), 1);
        assert!(began.elapsed() >= 2 * 4 * TAKES + TAKES, "{:?}", began.elapsed());
    }

    #[tokio::test]
    async fn a_page_at_a_moment_does_not_wait_for_all_the_streams_that_ask() {
        let (hub, _, workload, _) = rollover().await;
        let at_millis = hub.now_millis() - 1;
        let told = Arc::<AtomicUsize>::default();
        let streams: Vec<_> = (0..20)
            .map(|_| {
                let (hub, workload, told) = (hub.clone(), workload.clone(), told.clone());
                tokio::spawn(async move {
                    let frame = hub.moment_frame(&workload, at_millis).await;
                    told.fetch_add(1, Ordering::SeqCst);
                    frame.is_ok_and(|frame| frame.is_some())
                })
            })
            .collect();
        while told.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(hub.read_deployment(&workload, Some(at_millis), |_| ()).await.ok(), Some(Some(())));
        assert!(told.load(Ordering::SeqCst) < 6, "{told:?}");
        assert!(join_all(streams).await.into_iter().all(|is_told| is_told.is_ok_and(|is_told| is_told)));
    }
}
