//! Static hubs of stored episodes: each stands at the end of its recording, so that pages, moments and details work as for a cluster.

use std::sync::Arc;
use std::time::Duration;

use timeline::{Millis, Workload};
use tokio::time::Instant;

use super::Archive;
use super::hub_cache::{BuildPermit, CacheLimits, HubCache, OpenError, OpenResult, StaticHub};
use super::store::EpisodeRecording;
use crate::feed::recording;
use crate::hub::Handle;
use crate::kube::{InitialState, Observed};

/// Number of rollouts that one client follows at once.
pub const ROLLOUTS_PER_CLIENT: usize = 8;
/// Limits of the cache; sizes are numbers of observations.
const LIMITS: CacheLimits = CacheLimits {
    cached: (12, 400_000),
    used: (48, 800_000),
    builds: 1, // a build uses one processor; the others are for pages
    of_one: ROLLOUTS_PER_CLIENT,
    of_links: 2 * ROLLOUTS_PER_CLIENT,
};
/// Time after which an open rollout is built again for later clients.
const OPEN_ROLLOUT_TTL: Duration = Duration::from_secs(5);

/// The cache of stored rollouts.
#[derive(Clone)]
pub struct RolloutCache {
    pub(crate) hubs: Arc<HubCache<Workload>>,
}

impl Default for RolloutCache {
    fn default() -> Self {
        Self { hubs: Arc::new(HubCache::new(&LIMITS)) }
    }
}

impl RolloutCache {
    /// Opens the rollout of an address, at its end or at a later time.
    ///
    /// # Errors
    /// If it is not stored, or cannot be read.
    pub async fn open(&self, archive: &Archive, workload: &Workload, until_millis: Option<Millis>) -> OpenResult {
        let (archive, of) = (archive.clone(), workload.clone());
        let build = move |permit| async move {
            let built = build(&archive, &of, until_millis, permit).await;
            built.map_err(|why| (why, Duration::ZERO))
        };
        self.hubs.open(workload, until_millis, build).await
    }
}

async fn build(
    archive: &Archive,
    workload: &Workload,
    until_millis: Option<Millis>,
    permit: BuildPermit,
) -> Result<StaticHub, OpenError> {
    let (Some(uid), Some(number)) = (workload.uid, workload.rollout) else { return Err(OpenError::Unknown) };
    let cluster = workload.cluster.clone();
    let recording = archive.read(move |reader| reader.recording(&cluster, uid, number, until_millis)).await?;
    let EpisodeRecording { revision, title, to_millis, most_millis, is_settled, text } =
        recording.ok_or(OpenError::Unknown)?;
    let title = match title.as_str() {
        "" => format!("{} revision {revision}", workload.name),
        title => format!("{}: {title}", workload.name), // as the page displays it
    };
    let played = tokio::task::spawn_blocking(move || {
        let _permit: BuildPermit = permit; // held even if the client has left
        let mut size = 0;
        let observed = recording::observations(&text).inspect(|_| size += 1);
        let initial = play_to_end(observed, to_millis)?;
        Some((size, initial))
    });
    let (size, initial) = played.await.ok().flatten().ok_or(OpenError::Unknown)?;
    let hub = Handle::start_frozen(&workload.cluster, title, initial);
    let fresh_until = (!is_settled).then(|| Instant::now() + OPEN_ROLLOUT_TTL);
    Ok(StaticHub { hub, size, to_millis, most_millis, is_settled, fresh_until })
}

/// Replays a recording to its end, and until a later time, for a static hub. `None` if it is empty.
pub fn play_to_end(observed: impl IntoIterator<Item = Observed>, end_millis: Millis) -> Option<InitialState> {
    let mut played = InitialState::default();
    observed.into_iter().for_each(|observed| played.observe(observed));
    let (_, last_millis) = played.observed?;
    played.observe(Observed { at_millis: end_millis.max(last_millis), fact: None });
    Some(played)
}
