//! Moments of the past, looked at outside of the hub's task: the hub hands out the past of one Deployment, which is gone through here and
//! kept for a while for whoever goes on asking.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use timeline::view::Now;
use timeline::wire::Moment;
use timeline::{History, Millis, Model, Uid, Workload};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::{Handle, HubEnded, Reader, told};

/// Pasts that are kept at once.
const MOST: usize = 4;
/// One that nobody asks for any more is let go of after this long.
const KEPT_FOR: Duration = Duration::from_secs(30);

/// What was handed out: one moment of a cluster is made at a time, and whatever else is asked of it comes between.
pub(super) type Pasts = Arc<Mutex<VecDeque<(Instant, Arc<Past>)>>>;

/// The past of one Deployment.
pub(super) struct Past {
    deployment: Uid,
    history: History,
    /// Which life of the timeline it is of.
    epoch: u64,
    /// What happened before this is in it; something may still happen at this time or later.
    until_millis: Millis,
}

/// What the hub says of a moment.
struct Found {
    at_millis: Millis,
    skew_millis: Millis,
    past: Option<Arc<Past>>,
}

/// A Deployment with all that belongs to it, as it is or as it was.
pub struct Then<'t> {
    /// The Deployment.
    pub deployment: Uid,
    /// It and what belonged to it; other objects may be there, too.
    pub model: &'t Model,
    /// What became of them, also later than this.
    pub history: &'t History,
    /// The time.
    pub now: Now,
    /// Whether that is a moment of the past.
    pub is_past: bool,
}

impl Past {
    fn look<T>(&self, now: Now, look: impl FnOnce(&Then<'_>) -> T) -> T {
        let (deployment, history) = (self.deployment, &self.history);
        look(&Then { deployment, model: history.walk().to(now.millis), history, now, is_past: true })
    }
}

/// In the hub's task: the past in which a moment is, one of those that are known or a new one.
fn find(reader: &Reader<'_>, workload: &Workload, at_millis: Millis, known: &[Arc<Past>]) -> Found {
    let at_millis = at_millis.min(reader.now_millis);
    let (model, skew_millis) = (reader.timeline.model(), reader.timeline.skew_millis());
    let is_kept = reader.history.base_millis().is_none_or(|base| base <= at_millis);
    let deployment = workload.find(model).map(|found| found.uid).filter(|_| is_kept);
    let past = deployment.map(|deployment| {
        let is_it = |past: &&Arc<Past>| {
            past.deployment == deployment && past.epoch == reader.epoch && at_millis < past.until_millis
        };
        let new = || Past {
            deployment,
            history: reader.history.only(model, deployment),
            epoch: reader.epoch,
            until_millis: reader.history.last_millis().unwrap_or(Millis::MIN),
        };
        known.iter().find(is_it).cloned().unwrap_or_else(|| Arc::new(new()))
    });
    Found { at_millis, skew_millis, past }
}

impl Handle {
    /// What was said of a Deployment at some time.
    ///
    /// # Errors
    /// When the hub has ended.
    pub async fn moment(&self, workload: &Workload, at_millis: Millis) -> Result<Moment, HubEnded> {
        let said = |then: &Then<'_>| told(then.model, then.deployment, then.now);
        let (at_millis, said) = self.look_back(workload, at_millis, said).await?;
        Ok(Moment { at_millis, said })
    }

    /// Looks at a Deployment as it was at a time; as it is where no time is named, or a moment that is not over or not kept.
    ///
    /// # Errors
    /// When the hub has ended.
    pub async fn look<T: Send + 'static>(
        &self,
        workload: &Workload,
        at_millis: Option<Millis>,
        look: impl Fn(&Then<'_>) -> T + Send + Sync + 'static,
    ) -> Result<Option<T>, HubEnded> {
        let look = Arc::new(look);
        if let Some(at_millis) = at_millis.filter(|at| *at < self.now_millis()) {
            let look = look.clone();
            let (_, found) = self.look_back(workload, at_millis, move |then| look(then)).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        let workload = workload.clone();
        self.read(move |reader| {
            let model = reader.timeline.model();
            let deployment = workload.find(model)?.uid;
            let now = Now { millis: reader.now_millis, skew_millis: reader.timeline.skew_millis() };
            Some(look(&Then { deployment, model, history: reader.history, now, is_past: false }))
        })
        .await
    }

    /// Looks at a Deployment as it was, outside of the hub's task; with the time that is meant, which is never in the future.
    async fn look_back<T: Send + 'static>(
        &self,
        workload: &Workload,
        at_millis: Millis,
        look: impl FnOnce(&Then<'_>) -> T + Send + 'static,
    ) -> Result<(Millis, Option<T>), HubEnded> {
        let mut pasts = self.pasts.lock().await;
        let (workload, known) = (workload.clone(), pasts.iter().map(|(_, past)| past.clone()).collect::<Vec<_>>());
        let found = self.read(move |reader| find(reader, &workload, at_millis, &known)).await?;
        let Found { at_millis, skew_millis, past } = found;
        let Some(past) = past else { return Ok((at_millis, None)) };
        if pasts.is_empty() {
            tokio::spawn(let_go(self.pasts.clone())); // else one is at it
        }
        pasts.retain(|(_, known)| known.deployment != past.deployment);
        pasts.truncate(MOST - 1);
        pasts.push_front((Instant::now(), past.clone()));
        // Who waits for their turn waits for this, too; the hub does not.
        let now = Now { millis: at_millis, skew_millis };
        let seen = tokio::task::spawn_blocking(move || past.look(now, look));
        Ok((at_millis, Some(seen.await.map_err(|_| HubEnded)?)))
    }
}

/// Lets go of what nobody asks for any more, until nothing is left.
async fn let_go(pasts: Pasts) {
    loop {
        tokio::time::sleep(KEPT_FOR).await;
        let mut pasts = pasts.lock().await;
        pasts.retain(|(used, _)| used.elapsed() < KEPT_FOR);
        if pasts.is_empty() {
            return;
        }
    }
}
