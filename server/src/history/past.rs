//! Rollouts that are over, made again from what was kept: each a hub of its own that stands still at its end, so that pages, moments and
//! details are made as those of a cluster are.

use std::sync::Arc;
use std::time::Duration;

use timeline::wire::ConnectionState;
use timeline::{History, Millis, Timeline, Workload};
use tokio::time::Instant;

use super::Archive;
use super::store::StoreError;
use crate::access::followers::Follower;
use crate::feed::recording;
use crate::history::hub_cache::{Entry, HubCache, Most};
use crate::history::shelf::Held;
use crate::hub::flight::{Flights, Turn};
use crate::hub::{Handle, Standing};
use crate::kube::Observed;

/// Rollouts that are held, and observations in all of them together; whoever looks at another one makes it again.
const HELD: usize = 12;
const MOST_HELD: usize = 400_000;
/// Rollouts that are made at once. Each reads hours of a whole cluster, for as long as a processor takes, and the others are for pages.
const MADE_AT_ONCE: usize = 1;
/// Rollouts that are there at once, held or followed, and observations in all of them together.
const MOST: usize = 4 * HELD;
const MOST_SIZE: usize = 2 * MOST_HELD;
/// Those of them that one client follows at once, and all who came by links of one maker together.
pub const MOST_OF_ONE: usize = 8;
const MOST_OF_LINKS: usize = 2 * MOST_OF_ONE;
/// One that still goes on is made anew for who comes after this.
const ANEW_AFTER: Duration = Duration::from_secs(5);

/// The rollouts that were looked at lately, those that somebody has still, and those that are made: each by itself, and once for all who
/// want it at the same time.
#[derive(Clone)]
pub struct Past {
    cache: Arc<HubCache<Remade>>,
    made: Arc<Flights<Asked, Result<Handle, Arc<Lost>>>>,
}

impl Default for Past {
    fn default() -> Self {
        let most =
            Most { cached: (HELD, MOST_HELD), alive: (MOST, MOST_SIZE), of_one: MOST_OF_ONE, of_links: MOST_OF_LINKS };
        Self { cache: Arc::new(HubCache::new(&most)), made: Arc::new(Flights::at_most(MADE_AT_ONCE)) }
    }
}

/// A rollout, and until when it is to be told.
type Asked = (Workload, Option<Millis>);

/// A rollout that was made again, for as long as it is held or somebody has a way to its hub.
struct Remade {
    workload: Workload,
    /// It is told until then.
    to_millis: Millis,
    /// It could be told until then.
    most_millis: Millis,
    /// What was observed.
    size: usize,
    /// It still goes on: until then it is told as it is here.
    fresh_until: Option<Instant>,
    hub: Handle,
}

/// Why a rollout cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// It is not kept, or not any more.
    #[error("no such rollout; its history may have expired")]
    Unknown,
    /// What is kept cannot be read.
    #[error("cannot read the history: {0}")]
    Unreadable(#[from] StoreError),
    /// There is no room for one more.
    #[error("too many past rollouts and moments are open")]
    Full,
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
        let asked = (workload.clone(), until_millis);
        if let Some(known) = self.find(&asked) {
            return Ok(known);
        }
        let (past, archive, this) = (self.clone(), archive.clone(), asked.clone());
        let make = |turn| async move { past.make(&archive, this, turn).await.map_err(Arc::new) };
        self.made.join(&asked, make).await
    }

    /// A way to a hub for somebody who follows it; `None` where they follow too many rollouts that are over already.
    #[must_use]
    pub(crate) fn seat(&self, hub: Handle, follower: &Follower) -> Option<Handle> {
        self.cache.seat(hub, follower)
    }

    fn find(&self, (workload, until_millis): &Asked) -> Option<Handle> {
        self.cache.find(|remade| {
            // What is after its last moment is not shown, so that it need not be read.
            let reaches = until_millis.is_none_or(|until| until <= remade.to_millis || until > remade.most_millis);
            remade.workload == *workload && reaches && remade.is_fresh()
        })
    }

    /// Makes a rollout again from what is kept of it.
    async fn make(&self, archive: &Archive, asked: Asked, turn: Turn) -> Result<Handle, Lost> {
        // The one before may have been made just now.
        if let Some(known) = self.find(&asked) {
            return Ok(known);
        }
        if !self.cache.make_room() {
            return Err(Lost::Full);
        }
        let (workload, until_millis) = asked;
        let (Some(uid), Some(number)) = (workload.uid, workload.rollout) else { return Err(Lost::Unknown) };
        let cluster = workload.cluster.clone();
        let mut cut =
            archive.read(move |reader| reader.cut(&cluster, uid, number, until_millis)).await?.ok_or(Lost::Unknown)?;
        let text = std::mem::take(&mut cut.text);
        let name = match cut.title.as_str() {
            "" => format!("{} revision {}", workload.name, cut.revision),
            title => format!("{}: {title}", workload.name), // as the page reads it
        };
        let made = tokio::task::spawn_blocking(move || {
            let _turn: Turn = turn; // whoever asked may have left
            let mut size = 0;
            let observed = recording::observations(&text).inspect(|_| size += 1);
            let standing = standing(name, observed, cut.to_millis)?;
            Some((size, standing))
        });
        let (size, standing) = made.await.ok().flatten().ok_or(Lost::Unknown)?;
        let hub = Handle::standing(&workload.cluster, standing);
        let (to_millis, most_millis) = (cut.to_millis, cut.most_millis);
        // What is not over yet is told for longer the next time.
        let fresh_until = (!cut.is_settled).then(|| Instant::now() + ANEW_AFTER);
        Ok(self.cache.insert(Remade { workload, to_millis, most_millis, size, fresh_until, hub }))
    }
}

impl Entry for Remade {
    /// Its address: one rollout may be there several times, told for less long or longer.
    type Key = usize;

    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn hub(&self) -> &Handle {
        &self.hub
    }

    fn is_fresh(&self) -> bool {
        self.fresh_until.is_none_or(|until| until > Instant::now())
    }
}

impl Held for Remade {
    fn size(&self) -> usize {
        self.size
    }

    /// Also the same rollout that was told for less long.
    fn replaces(&self, other: &Self) -> bool {
        self.workload == other.workload
    }
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
    Some(Standing { timeline, history, from_millis, at_millis, state: ConnectionState::Replay { name } })
}
