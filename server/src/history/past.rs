//! Rollouts that are over, made again from what was kept: each a hub of its own that stands still at its end, so that pages, moments and
//! details are made as those of a cluster are.

use std::sync::Arc;

use timeline::wire::ConnectionState;
use timeline::{Millis, Retention, Workload};
use tokio::time::Instant;

use super::Archive;
use super::store::StoreError;
use crate::clock::OwnClock;
use crate::flight::{Flights, Turn};
use crate::hub::Handle;
use crate::recording::Recording;
use crate::shelf::{self, Shelf};

/// Rollouts that are held, and observations in all of them together; whoever looks at another one makes it again.
const HELD: usize = 12;
const MOST_HELD: usize = 400_000;
/// Rollouts that are made at once.
const MADE_AT_ONCE: usize = 4;

/// The rollouts that were looked at lately, and those that are made: each by itself, and once for all who want it at the same time.
#[derive(Clone)]
pub struct Past {
    /// The one first that was made last.
    held: Arc<Shelf<Held>>,
    made: Arc<Flights<Asked, Result<Handle, Arc<Lost>>>>,
}

impl Default for Past {
    fn default() -> Self {
        Self { held: Arc::new(Shelf::of(HELD, MOST_HELD)), made: Arc::new(Flights::at_most(MADE_AT_ONCE)) }
    }
}

/// A rollout, and until when it is to be told.
type Asked = (Workload, Option<Millis>);

/// A rollout that was made again.
struct Held {
    workload: Workload,
    /// It is told until then.
    to_millis: Millis,
    /// It could be told until then.
    most_millis: Millis,
    /// What was observed.
    size: usize,
    hub: Handle,
}

/// Why a rollout cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// It is not kept, or not any more.
    #[error("that rollout is not kept, or not any more")]
    Unknown,
    /// What is kept cannot be read.
    #[error("history cannot be read: {0}")]
    Unreadable(#[from] StoreError),
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
        if let Some(known) = find(&self.held, &asked) {
            return Ok(known);
        }
        let (held, archive, this) = (self.held.clone(), archive.clone(), asked.clone());
        let make = |turn| async move { make(&held, &archive, this, turn).await.map_err(Arc::new) };
        self.made.join(&asked, make).await
    }
}

impl shelf::Held for Held {
    fn size(&self) -> usize {
        self.size
    }

    /// Also the same rollout that was told for less long.
    fn replaces(&self, other: &Self) -> bool {
        self.workload == other.workload
    }
}

fn find(held: &Shelf<Held>, (workload, until_millis): &Asked) -> Option<Handle> {
    // What is after its last moment is not shown, so that it need not be read.
    let reaches = |held: &&Held| until_millis.is_none_or(|until| until <= held.to_millis || until > held.most_millis);
    held.things().iter().filter(|held| held.workload == *workload).find(reaches).map(|held| held.hub.clone())
}

/// Makes a rollout again from what is kept of it.
async fn make(held: &Shelf<Held>, archive: &Archive, asked: Asked, turn: Turn) -> Result<Handle, Lost> {
    // The one before may have been made just now.
    if let Some(known) = find(held, &asked) {
        return Ok(known);
    }
    let (workload, until_millis) = asked;
    let (Some(uid), Some(number)) = (workload.uid, workload.rollout) else { return Err(Lost::Unknown) };
    let cluster = workload.cluster.clone();
    let mut cut =
        archive.read(move |reader| reader.cut(&cluster, uid, number, until_millis)).await?.ok_or(Lost::Unknown)?;
    let text = std::mem::take(&mut cut.text);
    let read = tokio::task::spawn_blocking(move || (Recording::read(&text), turn));
    let (recording, _turn) = read.await.map_err(|_| Lost::Unknown)?;
    let end_millis = recording.span().map(|(_, last)| last.max(cut.to_millis)).ok_or(Lost::Unknown)?;
    let (name, size) = (format!("{} revision {}", workload.name, cut.revision), recording.observed.len());
    let hub = play(&workload.cluster, name, recording, end_millis).await.ok_or(Lost::Unknown)?;
    // What is not over yet is told for longer the next time.
    if cut.is_settled {
        let (to_millis, most_millis) = (cut.to_millis, cut.most_millis);
        held.hold(Held { workload, to_millis, most_millis, size, hub: hub.clone() });
    }
    Ok(hub)
}

/// Plays a recording into a hub that stands still at its end. `None` when the hub has ended.
pub async fn play(cluster: &str, name: String, recording: Recording, end_millis: Millis) -> Option<Handle> {
    let whole = Retention { age_millis: Millis::MAX / 4, ..Retention::default() };
    let (hub, _) = Handle::start(cluster, Arc::default(), whole);
    let clock = OwnClock { start_millis: end_millis, started: Instant::now(), speed: 0.0 };
    hub.restart(clock, ConnectionState::Replay { name }).await.ok()?;
    for observed in recording.observed {
        hub.observe(observed.at_millis, observed.fact).await.ok()?;
    }
    hub.observe(end_millis, None).await.ok()?;
    Some(hub)
}
