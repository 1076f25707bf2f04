//! A topic: what the viewers of one Deployment share. Frames are encoded once, whoever and however many listen.

use bytes::Bytes;
use timeline::frame::{self, Delta, ServerFrame, Snapshot};
use timeline::{Change, Millis, Uid};
use tokio::sync::broadcast;

/// Frames that a viewer may lag behind before it is given a fresh snapshot.
const LAG: usize = 256;

/// The viewers of one Deployment.
pub(super) struct Topic {
    pub(super) deployment: Option<Uid>,
    frames: broadcast::Sender<Bytes>,
    /// Number of the last change that was sent.
    sent: u64,
    pending: Vec<Change>,
    /// Changes alone would not tell the story: send everything.
    anew: bool,
    /// The last snapshot, encoded, and where it stands.
    snapshot: Option<(u64, Bytes)>,
}

impl Topic {
    pub(super) fn new(deployment: Option<Uid>, seq: u64) -> Self {
        Self {
            deployment,
            frames: broadcast::channel(LAG).0,
            sent: seq,
            pending: Vec::new(),
            anew: false,
            snapshot: None,
        }
    }

    pub(super) fn listen(&self) -> broadcast::Receiver<Bytes> {
        self.frames.subscribe()
    }

    pub(super) fn is_deserted(&self) -> bool {
        self.frames.receiver_count() == 0
    }

    pub(super) fn push(&mut self, change: Change) {
        self.pending.push(change);
    }

    pub(super) fn renew(&mut self, deployment: Option<Uid>) {
        self.deployment = deployment;
        self.anew = true;
    }

    /// Sends what has gathered. `snapshot` is called only when everything must be sent. Returns the frames encoded.
    pub(super) fn publish(&mut self, seq: u64, now_millis: Millis, snapshot: impl FnOnce() -> Snapshot) -> u64 {
        let frame = if self.anew {
            self.pending.clear();
            ServerFrame::Snapshot(Box::new(snapshot()))
        } else if self.pending.is_empty() {
            return 0;
        } else {
            ServerFrame::Delta(Delta {
                from: self.sent,
                to: seq,
                now_millis,
                changes: std::mem::take(&mut self.pending),
            })
        };
        self.anew = false;
        self.sent = seq;
        self.snapshot = None;
        if let Some(bytes) = encode(&frame) {
            let _ = self.frames.send(bytes); // nobody listening is no failure
        }
        1
    }

    /// Everything, encoded; the same bytes for all who come before the next change.
    pub(super) fn snapshot(&mut self, snapshot: impl FnOnce() -> Snapshot) -> (Bytes, u64) {
        if let Some((at, bytes)) = &self.snapshot
            && *at == self.sent
        {
            return (bytes.clone(), 0);
        }
        let bytes = encode(&ServerFrame::Snapshot(Box::new(snapshot()))).unwrap_or_default();
        self.snapshot = Some((self.sent, bytes.clone()));
        (bytes, 1)
    }
}

/// Encodes a frame to share.
pub(super) fn encode(frame: &ServerFrame) -> Option<Bytes> {
    match frame::encode(frame) {
        Ok(bytes) => Some(bytes.into()),
        Err(error) => {
            tracing::error!(%error, "a frame could not be encoded");
            None
        }
    }
}
