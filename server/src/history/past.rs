//! Rollouts that are over, made again from what was kept: each a hub of its own that stands still at its end, so that pages, moments and
//! details are made as those of a cluster are.

use std::sync::Arc;
use std::time::Duration;

use timeline::{History, Millis, Timeline, Workload};
use tokio::time::Instant;

use super::Archive;
pub use super::hub_cache::Lost;
use super::hub_cache::{HubCache, Most, StandingHub, Turn};
use super::store::Cut;
use crate::access::clients::ClientKey;
use crate::feed::recording;
use crate::hub::{Handle, Standing};
use crate::kube::Observed;

/// Rollouts that are cached, and observations in all of them together.
const CACHED: (usize, usize) = (12, 400_000);
/// Rollouts that are in use at once, and observations in all of them together.
const USED: (usize, usize) = (48, 800_000);
/// Rollouts that are made at once. Each takes a processor, and the others are for pages.
const MADE_AT_ONCE: usize = 1;
/// Those of them that one client follows at once, and all who came by links of one maker together.
pub const MOST_OF_ONE: usize = 8;
const MOST_OF_LINKS: usize = 2 * MOST_OF_ONE;
/// One that still goes on is made anew for who comes after this.
const ANEW_AFTER: Duration = Duration::from_secs(5);

/// The rollouts that were looked at lately, and those that somebody has still.
#[derive(Clone)]
pub struct Past(Arc<HubCache<Workload>>);

impl Default for Past {
    fn default() -> Self {
        let most =
            Most { cached: CACHED, used: USED, made: MADE_AT_ONCE, of_one: MOST_OF_ONE, of_links: MOST_OF_LINKS };
        Self(Arc::new(HubCache::new(&most)))
    }
}

impl Past {
    /// The rollout that a workload names, standing at its end, or at a later moment that is asked for.
    ///
    /// # Errors
    /// When it is not kept, or cannot be read.
    pub async fn open(
        &self,
        archive: &Archive,
        workload: &Workload,
        until_millis: Option<Millis>,
    ) -> Result<Handle, Arc<Lost>> {
        let make = async |turn| {
            let made = make(archive, workload, until_millis, turn).await;
            made.map_err(|lost| (Arc::new(lost), Duration::ZERO))
        };
        self.0.open(workload, until_millis, make).await
    }

    /// A way to a hub for somebody who follows it; `None` where they follow too many rollouts that are over already.
    #[must_use]
    pub(crate) fn seat(&self, hub: Handle, follower: &ClientKey) -> Option<Handle> {
        self.0.seat(hub, follower)
    }
}

/// Makes a rollout again from what is kept of it.
async fn make(
    archive: &Archive,
    workload: &Workload,
    until_millis: Option<Millis>,
    turn: Turn,
) -> Result<StandingHub, Lost> {
    let (Some(uid), Some(number)) = (workload.uid, workload.rollout) else { return Err(Lost::Unknown) };
    let cluster = workload.cluster.clone();
    let cut = archive.read(move |reader| reader.cut(&cluster, uid, number, until_millis)).await?;
    let Cut { revision, title, to_millis, most_millis, is_settled, text } = cut.ok_or(Lost::Unknown)?;
    let name = match title.as_str() {
        "" => format!("{} revision {revision}", workload.name),
        title => format!("{}: {title}", workload.name), // as the page reads it
    };
    let made = tokio::task::spawn_blocking(move || {
        let _turn: Turn = turn; // whoever asked may have left
        let mut size = 0;
        let observed = recording::observations(&text).inspect(|_| size += 1);
        let standing = standing(name, observed, to_millis)?;
        Some((size, standing))
    });
    let (size, standing) = made.await.ok().flatten().ok_or(Lost::Unknown)?;
    let hub = Handle::standing(&workload.cluster, standing);
    // What is not over yet is told for longer the next time.
    let fresh_until = (!is_settled).then(|| Instant::now() + ANEW_AFTER);
    Ok(StandingHub { hub, size, to_millis, most_millis, is_settled, fresh_until })
}

/// Plays a recording to its end, and lets the time pass until then, for a hub that stands still there. `None` where it is empty.
#[must_use]
pub fn standing(name: String, observed: impl IntoIterator<Item = Observed>, end_millis: Millis) -> Option<Standing> {
    let (mut timeline, mut history) = (Timeline::new(), History::default());
    let mut span = None;
    for observed in observed {
        let at_millis = observed.at_millis;
        let (from, last) = span.unwrap_or((at_millis, at_millis));
        span = Some((from, last.max(at_millis)));
        history.note(at_millis, &observed.apply(&mut timeline));
    }
    let (from_millis, last_millis) = span?;
    let at_millis = end_millis.max(last_millis);
    history.note(at_millis, &timeline.tick(at_millis));
    Some(Standing { timeline, history, from_millis, at_millis, name })
}
