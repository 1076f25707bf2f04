//! Orders frames and connection states for a viewer of one Deployment: a connection state comes after all frames that the hub
//! published before it. A viewer that reads "live" has everything that was known then.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use timeline::Workload;
use timeline::wire::{Connection, Position};
use tokio::sync::broadcast::{self, error::TryRecvError};
use tokio::sync::watch as signal;

use super::answer::{FirstFrame, HubEnded};
use super::handle::Handle;

/// A subscription to a Deployment and to the connection of its cluster.
pub struct FollowedDeployment {
    /// The hub of its cluster.
    pub hub: Handle,
    /// The Deployment.
    pub workload: Workload,
    frames: broadcast::Receiver<Bytes>,
    connection: signal::Receiver<Connection>,
    /// A connection state, which is passed on after all frames that were published before it.
    held: Option<Connection>,
}

/// The next message for a viewer.
#[derive(Debug, PartialEq)]
pub enum Update {
    /// A frame, encoded.
    Frame(Bytes),
    /// The connection of the cluster.
    Connection(Connection),
    /// The viewer missed frames and needs a new snapshot.
    Missed,
}

impl Handle {
    /// Follows a Deployment and the connection of its cluster.
    pub async fn follow(
        &self,
        workload: Workload,
        since: Option<Position>,
    ) -> Result<(FirstFrame, FollowedDeployment), HubEnded> {
        let mut connection = self.connection();
        // Read before the data: so the state that follows the data is never newer than the data.
        let held = Some(connection.borrow_and_update().clone());
        let (first, frames) = self.subscribe(&workload, since).await?;
        Ok((first, FollowedDeployment { hub: self.clone(), workload, frames, connection, held }))
    }
}

impl FollowedDeployment {
    /// Waits for the next message. Cancel safe: a dropped future loses nothing.
    pub async fn next(&mut self) -> Result<Update, HubEnded> {
        loop {
            if let Some(held) = self.held.take() {
                // The hub publishes frames before the state: a frame that is not here yet came after it.
                let told = match self.frames.try_recv() {
                    Ok(frame) => Update::Frame(frame),
                    Err(TryRecvError::Lagged(frames)) => self.count_missed(frames),
                    Err(TryRecvError::Empty) => return Ok(Update::Connection(held)),
                    Err(TryRecvError::Closed) => return Err(HubEnded),
                };
                self.held = Some(held);
                return Ok(told);
            }
            tokio::select! {
                biased;
                frame = self.frames.recv() => return match frame {
                    Ok(frame) => Ok(Update::Frame(frame)),
                    Err(broadcast::error::RecvError::Lagged(frames)) => Ok(self.count_missed(frames)),
                    Err(broadcast::error::RecvError::Closed) => Err(HubEnded),
                },
                changed = self.connection.changed() => {
                    changed.map_err(|_| HubEnded)?;
                    self.held = Some(self.connection.borrow_and_update().clone());
                }
            }
        }
    }

    fn count_missed(&self, frames: u64) -> Update {
        self.hub.counters().dropped.fetch_add(frames, Ordering::Relaxed);
        Update::Missed
    }

    /// Subscribes again after frames were missed.
    pub async fn resubscribe(&mut self) -> Result<FirstFrame, HubEnded> {
        let (first, frames) = self.hub.subscribe(&self.workload, None).await?;
        self.frames = frames;
        Ok(first)
    }
}
