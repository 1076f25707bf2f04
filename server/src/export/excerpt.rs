//! Excerpts: hubs that hold one rollout or one moment and do not change, for links to these. Pages, details, moments and the stream use
//! them like a cluster's hub, and cannot show more.
//!
//! ```text
//!   the cluster's hub, or the stored episode ──► the past of one Deployment ──► History::excerpt ──► Handle::start_frozen
//! ```
//! The excerpt of a rollout in progress shows its state at the time of the request; two seconds later a newer one is made. It ends with
//! the stored episode, and before the first sign of the next rollout.

use std::sync::Arc;
use std::time::Duration;

use timeline::history::MOST_CHANGES;
use timeline::model::Deployment;
use timeline::wire::ConnectionState;
use timeline::words::{clock, date};
use timeline::{History, Millis, Timeline, Uid, Workload, rollout};
use tokio::time::Instant;

use crate::access::scope::LinkScope;
use crate::export::rollout_data;
use crate::history::Archive;
use crate::history::hub_cache::{BuildPermit, CacheLimits, HubCache, OpenError, OpenResult, StaticHub};
use crate::history::rollout_cache::RolloutCache;
use crate::history::rollout_span::LEAD_MILLIS;
use crate::history::store::{EpisodeSelector, StoreError};
use crate::hub::{Handle, HubReader};
use crate::kube::InitialState;

/// Sizes are numbers of changes and objects. Only viewers with a link follow an excerpt.
const LIMITS: CacheLimits =
    CacheLimits { cached: (64, 4 * MOST_CHANGES), used: (256, 8 * MOST_CHANGES), builds: 4, of_one: 64, of_links: 64 };
/// Time after which an unused excerpt is made again: it may not be stored any more. A missing one is looked up again
/// after the same time.
const SETTLED_TTL: Duration = Duration::from_secs(30);
/// Like [`SETTLED_TTL`] for a rollout in progress, for unreadable history, and for clusters that are still connecting.
const UNSETTLED_TTL: Duration = Duration::from_secs(2);

/// The excerpts that were opened lately or are still in use.
pub struct Excerpts {
    pub(crate) hubs: Arc<HubCache<LinkScope>>,
}

impl Default for Excerpts {
    fn default() -> Self {
        Self { hubs: Arc::new(HubCache::new(&LIMITS)) }
    }
}

impl Excerpts {
    /// Opens the excerpt of a link, from the hub of its cluster or from the stored history.
    ///
    /// # Errors
    /// When it is unknown, the stored data cannot be read, or there is no room for one more.
    pub async fn open(&self, live: &Handle, stored: Option<(Archive, RolloutCache)>, scope: &LinkScope) -> OpenResult {
        let (live, of) = (live.clone(), scope.clone());
        let build = move |permit| async move {
            let built = create(&live, stored.as_ref(), &of, permit).await;
            built.map_err(|why| (why.clone(), missing_for(&live, &why)))
        };
        self.hubs.open(scope, None, build).await
    }
}

async fn create(
    live: &Handle,
    stored: Option<&(Archive, RolloutCache)>,
    scope: &LinkScope,
    permit: BuildPermit,
) -> Result<StaticHub, OpenError> {
    let copied = match copy(live, scope).await {
        Some(copied) => copied,
        None => {
            let past = open_past(stored, scope).await?;
            let mut copied = copy(&past, scope).await.ok_or(OpenError::Unknown)?;
            copied.span.is_settled = true;
            copied
        }
    };
    let ExcerptSpan { is_settled, to_millis, .. } = copied.span;
    let title = copied.span.title.clone();
    let initial = tokio::task::spawn_blocking(move || {
        let _permit: BuildPermit = permit; // held even if the client has left
        copied.cut_out()
    });
    let initial = initial.await.ok().flatten().ok_or(OpenError::Unknown)?;
    let model = initial.timeline.model();
    let objects = model.pods.len() + model.replica_sets.len() + model.deployments.len();
    let size = initial.history.changes().count() + 2 * objects;
    let mut hub = Handle::start_frozen(live.name(), title, initial);
    (hub.accent, hub.is_over) = (live.accent, is_settled);
    let fresh_until = Some(Instant::now() + if is_settled { SETTLED_TTL } else { UNSETTLED_TTL });
    Ok(StaticHub { hub, size, to_millis, most_millis: to_millis, is_settled, fresh_until })
}

/// Returns for how long a failure is cached. If there was no room, the next client may get it.
fn missing_for(live: &Handle, why: &OpenError) -> Duration {
    let is_listed = !matches!(live.connection().borrow().state, ConnectionState::Connecting);
    match why {
        OpenError::Unknown if is_listed => SETTLED_TTL,
        OpenError::Unknown | OpenError::Unreadable(_) => UNSETTLED_TTL,
        OpenError::Full => Duration::ZERO,
    }
}

/// Opens the stored episode of a rollout, frozen at its end or at the moment.
async fn open_past(stored: Option<&(Archive, RolloutCache)>, scope: &LinkScope) -> OpenResult {
    let ((archive, past), (of, uid)) = stored.zip(scope.part()).ok_or(OpenError::Unknown)?;
    let number = find_stored(archive, scope).await?.ok_or(OpenError::Unknown)?;
    let until_millis = if let LinkScope::Moment { at_millis, .. } = scope { Some(*at_millis) } else { None };
    let workload = Workload { rollout: Some(number), ..of.workload(Some(uid)) };
    past.open(archive, &workload, until_millis).await
}

struct ExcerptData {
    past: History,
    skew_millis: Millis,
    deployment: Uid,
    span: ExcerptSpan,
}

/// Copies the past of a Deployment, where the hub knows of that rollout or moment.
async fn copy(hub: &Handle, scope: &LinkScope) -> Option<ExcerptData> {
    let scope = scope.clone();
    let copied = hub.read(move |reader| {
        let (_, deployment) = scope.part()?;
        let span = find_span(reader, &scope)?;
        let past = reader.history.only(reader.timeline.model(), deployment);
        Some(ExcerptData { past, skew_millis: reader.timeline.skew_millis(), deployment, span })
    });
    copied.await.ok().flatten()
}

/// Returns whether the hub or the history has the content of a link.
///
/// # Errors
/// When the history cannot be read.
pub async fn exists(live: &Handle, archive: Option<&Archive>, scope: &LinkScope) -> Result<bool, StoreError> {
    // Nobody has seen a future moment: the last episode before it does not show it.
    if matches!(scope, LinkScope::Moment { at_millis, .. } if *at_millis > live.now_millis()) {
        return Ok(false);
    }
    let this = scope.clone();
    if live.read(move |reader| find_span(reader, &this).is_some()).await.unwrap_or_default() {
        return Ok(true);
    }
    match archive {
        Some(archive) => Ok(find_stored(archive, scope).await?.is_some()),
        None => Ok(false),
    }
}

async fn find_stored(archive: &Archive, scope: &LinkScope) -> Result<Option<u32>, StoreError> {
    let Some((of, uid)) = scope.part() else { return Ok(None) };
    let sought = match scope {
        LinkScope::Moment { at_millis, .. } => EpisodeSelector::At(*at_millis),
        LinkScope::Rollout { revision, .. } => EpisodeSelector::Revision(*revision),
        LinkScope::Workload(_) | LinkScope::Wall { .. } => return Ok(None),
    };
    let cluster = of.cluster.clone();
    let found = archive.read(move |reader| reader.find(&cluster, uid, sought)).await?;
    // A link to a moment opens no later one.
    let is_meant = |began_millis: Millis| !matches!(sought, EpisodeSelector::At(at_millis) if at_millis < began_millis);
    Ok(found.filter(|(_, began_millis)| is_meant(*began_millis)).map(|(number, _)| number))
}

/// The span of a Deployment's past that a link opens.
struct ExcerptSpan {
    /// Start of the excerpt; `None` at a moment, for the start of the rollout that was in progress then.
    from_millis: Option<Millis>,
    to_millis: Millis,
    /// Nothing will be added to it.
    is_settled: bool,
    title: String,
}

fn find_span(reader: &HubReader<'_>, scope: &LinkScope) -> Option<ExcerptSpan> {
    let (of, uid) = scope.part()?;
    let model = reader.timeline.model();
    let known = of.workload(Some(uid)).find(model)?;
    let first = known.known_since_millis().max(reader.history.base_millis().unwrap_or(Millis::MIN));
    let (from_millis, to_millis, is_settled, title) = match scope {
        LinkScope::Rollout { revision, .. } => {
            let at = known.rollouts.iter().rposition(|rollout| rollout.revision == *revision)?;
            // The next rollout is left out: its first sign comes before it begins.
            let next = match at + 1 == known.rollouts.len() {
                true => rollout::next_sign_millis(model, known).map(|sign| sign - 1),
                false => rollout::last_moment_millis(model, known, at),
            };
            let last_millis = next.unwrap_or(reader.now_millis);
            let (_, _, to_millis) = rollout_data::shown_span(model, known, Some(*revision), last_millis)?;
            let from_millis = shown_since(known, at).max(first);
            let is_settled = to_millis < reader.now_millis;
            (Some(from_millis), to_millis, is_settled, format!("{} revision {revision}", of.name))
        }
        LinkScope::Moment { at_millis, .. } => {
            (None, *at_millis, true, format!("{} at {} {} UTC", of.name, date(*at_millis), clock(*at_millis)))
        }
        LinkScope::Workload(_) | LinkScope::Wall { .. } => return None,
    };
    let is_seen = (from_millis.unwrap_or(first)..=reader.now_millis).contains(&to_millis);
    is_seen.then_some(ExcerptSpan { from_millis, to_millis, is_settled, title })
}

/// Returns the start of a rollout's excerpt: a little before the rollout, and after the start of the previous one.
fn shown_since(deployment: &Deployment, rollout: usize) -> Millis {
    let began = |at: usize| deployment.rollouts.get(at).and_then(|rollout| rollout.started_millis);
    let before = rollout.checked_sub(1).and_then(began).unwrap_or(Millis::MIN);
    began(rollout).map_or(Millis::MIN, |began| began - LEAD_MILLIS).max(before)
}

impl ExcerptData {
    /// Builds the model and history of the excerpt's hub.
    fn cut_out(self) -> Option<InitialState> {
        let Self { past, skew_millis, deployment, span } = self;
        let ExcerptSpan { from_millis, to_millis, .. } = span;
        let is_moment = from_millis.is_none();
        let from_millis = match from_millis {
            Some(from_millis) => from_millis,
            None => {
                let then = past.at(to_millis);
                let then = then.deployments.get(&deployment)?;
                shown_since(then, then.rollouts.len().saturating_sub(1)).max(then.known_since_millis())
            }
        };
        let (history, model) = past.excerpt(deployment, from_millis, to_millis);
        model.deployments.contains_key(&deployment).then(|| InitialState {
            history: if is_moment { History::end(model.clone(), to_millis) } else { history },
            timeline: Timeline::from_model(model, skew_millis),
            observed: Some((from_millis, to_millis)),
            ..InitialState::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use timeline::WorkloadKind;

    use super::*;
    use crate::access::scope::WorkloadName;
    use crate::feed::recording::Recording;
    use crate::history::rollout_cache;
    use crate::kube::SourceEvent;
    use crate::telemetry::clock::OwnClock;

    fn moment(cluster: &str, at_millis: Millis) -> LinkScope {
        let (namespace, name) = ("shop".to_owned(), "web".to_owned());
        let of = WorkloadName { cluster: cluster.to_owned(), kind: WorkloadKind::Deployment, namespace, name };
        LinkScope::Moment { of, uid: "00000000-0000-0000-0000-000000000001".parse().unwrap(), at_millis }
    }

    #[tokio::test(start_paused = true)]
    async fn that_nothing_is_known_is_asked_once_and_again_after_a_while() {
        let excerpts = Excerpts::default();
        let (live, events) = Handle::start("prod", Arc::default(), timeline::Retention::default());
        let opened = excerpts.open(&live, None, &moment("prod", 0)).await;
        assert!(opened.is_err());
        assert!(excerpts.hubs.find(&moment("prod", 0), None).is_some_and(|known| known.is_err()), "it is remembered");
        assert!(excerpts.hubs.find(&moment("prod", 1), None).is_none(), "of that one alone");
        tokio::time::advance(UNSETTLED_TTL).await;
        assert!(excerpts.hubs.find(&moment("prod", 0), None).is_none(), "it may have been listed meanwhile");
        let clock = OwnClock { start_millis: 0, started: Instant::now(), speed: 0.0 };
        events.send(SourceEvent::Played { name: String::new(), clock }).await.unwrap();
        live.connection().wait_for(|connection| connection.state.is_live()).await.unwrap();
        assert!(excerpts.open(&live, None, &moment("prod", 0)).await.is_err());
        tokio::time::advance(SETTLED_TTL - UNSETTLED_TTL).await;
        assert!(
            excerpts.hubs.find(&moment("prod", 0), None).is_some(),
            "everything was listed: it is not asked for again soon"
        );
        tokio::time::advance(UNSETTLED_TTL).await;
        assert!(excerpts.hubs.find(&moment("prod", 0), None).is_none());
    }

    #[tokio::test]
    async fn what_is_known_is_what_can_be_cut_out() {
        let recording = Recording::read(include_str!("../../tests/traces/rollover.jsonl"));
        let (from_millis, to_millis) = recording.span().unwrap();
        let live = Handle::start_frozen(
            "prod",
            "rollover",
            rollout_cache::play_to_end(recording.observed, to_millis).unwrap(),
        );
        let uid = live.read(|reader| *reader.timeline.model().deployments.keys().next().unwrap()).await.unwrap();
        let (namespace, name) = ("rollover".to_owned(), "web".to_owned());
        let of = WorkloadName { cluster: "prod".to_owned(), kind: WorkloadKind::Deployment, namespace, name };
        let moments = (from_millis - 3_000..to_millis + 3_000).step_by(3_000);
        let moments = moments.map(|at_millis| LinkScope::Moment { of: of.clone(), uid, at_millis });
        let rollouts = (0..5).map(|revision| LinkScope::Rollout { of: of.clone(), uid, revision });
        let mut known = [0, 0];
        for scope in moments.chain(rollouts) {
            let exists = exists(&live, None, &scope).await.unwrap();
            assert_eq!(exists, Excerpts::default().open(&live, None, &scope).await.is_ok(), "{scope:?}");
            known[usize::from(exists)] += 1;
        }
        assert!(known.iter().all(|count| *count > 2), "{known:?}");
        let last = LinkScope::Moment { of, uid, at_millis: to_millis };
        assert_eq!(copy(&live, &last).await.unwrap().span.title, "web at 2026-11-21 04:53:23 UTC");
    }
}
