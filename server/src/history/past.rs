//! Rollouts that are over, made again from what was kept: each a hub of its own that stands still at its end, so that pages, moments and
//! details are made as those of a cluster are.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use timeline::wire::ConnectionState;
use timeline::{Millis, Retention, Workload};
use tokio::time::Instant;

use super::Archive;
use super::store::StoreError;
use crate::clock::OwnClock;
use crate::hub::Handle;
use crate::recording::Recording;

/// Rollouts that are held; whoever looks at another one makes it again.
const HELD: usize = 12;

/// The rollouts that were looked at lately.
#[derive(Default)]
pub struct Past {
    held: Mutex<VecDeque<Held>>,
}

/// A rollout that was made again.
struct Held {
    workload: Workload,
    /// It is told until then.
    to_millis: Millis,
    /// It could be told until then.
    most_millis: Millis,
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
    ) -> Result<Handle, Lost> {
        let (Some(uid), Some(number)) = (workload.uid, workload.rollout) else { return Err(Lost::Unknown) };
        if let Some(known) = self.held(workload, until_millis) {
            return Ok(known);
        }
        let cluster = workload.cluster.clone();
        let mut cut =
            archive.read(move |reader| reader.cut(&cluster, uid, number, until_millis)).await?.ok_or(Lost::Unknown)?;
        let recording = {
            let text = std::mem::take(&mut cut.text);
            tokio::task::spawn_blocking(move || Recording::read(&text)).await
        }
        .map_err(|_| Lost::Unknown)?;
        let end_millis = recording.span().map(|(_, last)| last.max(cut.to_millis)).ok_or(Lost::Unknown)?;
        let name = format!("{} revision {}", workload.name, cut.revision);
        let hub = play(&workload.cluster, name, recording, end_millis).await.ok_or(Lost::Unknown)?;
        let (to_millis, most_millis) = (cut.to_millis, cut.most_millis);
        // What is not over yet is told for longer the next time.
        if cut.is_settled {
            self.hold(Held { workload: workload.clone(), to_millis, most_millis, hub: hub.clone() });
        }
        Ok(hub)
    }

    fn held(&self, workload: &Workload, until_millis: Option<Millis>) -> Option<Handle> {
        let held = self.held.lock().ok()?;
        let reaches = |held: &&Held| until_millis.is_none_or(|until| until.min(held.most_millis) <= held.to_millis);
        held.iter().filter(|held| held.workload == *workload).find(reaches).map(|held| held.hub.clone())
    }

    fn hold(&self, made: Held) {
        if let Ok(mut held) = self.held.lock() {
            // One that is told for longer takes the place of the one before.
            held.retain(|known| known.workload != made.workload);
            held.push_front(made);
            held.truncate(HELD);
        }
    }
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
