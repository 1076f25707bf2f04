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
    held: Mutex<VecDeque<(Workload, Handle)>>,
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
    /// The rollout that a workload names, standing at its end.
    ///
    /// # Errors
    /// When it is not kept, or cannot be read.
    pub async fn open(&self, archive: &Archive, workload: &Workload) -> Result<Handle, Lost> {
        let (Some(uid), Some(number)) = (workload.uid, workload.rollout) else { return Err(Lost::Unknown) };
        if let Some(known) = self.held(workload) {
            return Ok(known);
        }
        let cluster = workload.cluster.clone();
        let cut = archive.read(move |reader| reader.cut(&cluster, uid, number)).await?.ok_or(Lost::Unknown)?;
        let recording =
            tokio::task::spawn_blocking(move || Recording::read(&cut.text)).await.map_err(|_| Lost::Unknown)?;
        let end_millis = recording.span().map(|(_, last)| last.max(cut.to_millis)).ok_or(Lost::Unknown)?;
        let name = format!("{} revision {}", workload.name, cut.revision);
        let hub = play(&workload.cluster, name, recording, end_millis).await.ok_or(Lost::Unknown)?;
        self.hold(workload.clone(), hub.clone());
        Ok(hub)
    }

    fn held(&self, workload: &Workload) -> Option<Handle> {
        let held = self.held.lock().ok()?;
        held.iter().find(|(known, _)| known == workload).map(|(_, hub)| hub.clone())
    }

    fn hold(&self, workload: Workload, hub: Handle) {
        if let Ok(mut held) = self.held.lock() {
            held.push_front((workload, hub));
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
