//! A topic sends the frames of one Deployment to all its viewers. Each frame is encoded once.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use timeline::change::Subject;
use timeline::view::View;
use timeline::wire::{self, Delta, Position, Said, SaidDelta, ServerFrame, Snapshot};
use timeline::{Change, Millis, Uid};
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::counters::HubCounters;

/// Frames that a viewer may lag behind before it is given a fresh snapshot.
const LAG: usize = 256;
/// Sentences about a Deployment are sent at most this often, and are made again, because they may contain a duration,
/// at least this often.
const SEND_SAID_EVERY: Duration = Duration::from_millis(200);
const SEND_SAID_AGAIN: Duration = Duration::from_secs(1);

/// The viewers of one Deployment.
pub(super) struct Topic {
    pub(super) deployment: Option<Uid>,
    frames: broadcast::Sender<Bytes>,
    /// Number of the last change that was sent.
    sent: u64,
    pending: Vec<Change>,
    /// Changes are not enough: send a snapshot next.
    needs_snapshot: bool,
    /// The last snapshot, encoded, and its position.
    snapshot: Option<(u64, Bytes)>,
    /// The last delta for a viewer that came back, encoded, and the viewer's position: many come back at once.
    resumed: Option<(Position, Bytes)>,
    /// The sentences that viewers have, when they were sent, and whether they may be outdated.
    said: Said,
    said_at: Option<Instant>,
    is_said_old: bool,
    /// The story may be outdated, too.
    is_story_old: bool,
    /// The verdict changed: the sentences are sent together with the change.
    is_verdict_new: bool,
    counters: Arc<HubCounters>,
}

/// Whether a publication sends new sentences at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flush {
    /// Send sentences at most once in [`SEND_SAID_EVERY`].
    Throttled,
    /// Send outdated sentences now: the next message relies on them.
    Now,
}

impl Topic {
    pub(super) fn new(deployment: Option<Uid>, seq: u64, counters: Arc<HubCounters>) -> Self {
        Self {
            deployment,
            frames: broadcast::channel(LAG).0,
            sent: seq,
            pending: Vec::new(),
            needs_snapshot: false,
            snapshot: None,
            resumed: None,
            said: Said::default(),
            said_at: None,
            is_said_old: true,
            is_story_old: true,
            is_verdict_new: false,
            counters,
        }
    }

    pub(super) fn listen(&self) -> broadcast::Receiver<Bytes> {
        self.frames.subscribe()
    }

    pub(super) fn is_deserted(&self) -> bool {
        self.frames.receiver_count() == 0
    }

    /// Returns whether sentences may be outdated, or something waits to be sent.
    pub(super) fn is_behind(&self) -> bool {
        self.is_said_old || self.needs_snapshot || !self.pending.is_empty()
    }

    /// Records a change. One that viewers do not receive may still change sentences.
    pub(super) fn push(&mut self, change: &Change) {
        self.is_said_old = true;
        // A story is made of the Deployment alone.
        self.is_story_old |= matches!(change.subject(), Subject::Deployment(_));
        self.is_verdict_new |= matches!(change, Change::Verdict(..));
        self.pending.extend(change.travels().then(|| change.clone()));
    }

    pub(super) fn renew(&mut self, deployment: Option<Uid>) {
        self.deployment = deployment;
        self.needs_snapshot = true;
    }

    /// Sends the pending changes up to `seq`, and sentences that are due. While `is_ticking` they change by time alone.
    pub(super) fn publish(
        &mut self,
        (seq, now_millis): (u64, Millis),
        is_ticking: bool,
        flush: Flush,
        snapshot: impl FnOnce() -> Snapshot,
        said: impl FnOnce() -> Said,
        view: impl FnOnce() -> Option<View>,
    ) {
        let frame = if self.needs_snapshot {
            self.pending.clear();
            let snapshot = snapshot();
            self.set_said(snapshot.said.clone());
            ServerFrame::Snapshot(Box::new(snapshot))
        } else {
            self.is_said_old |= !self.pending.is_empty();
            let delta = if !self.is_due(flush, is_ticking) {
                None
            } else if self.is_story_old {
                self.set_said(said())
            } else {
                // The story stays as it is, and it may be long.
                self.note_said();
                self.said.take_view(view())
            };
            if self.pending.is_empty() && delta.is_none() {
                return;
            }
            let changes = std::mem::take(&mut self.pending);
            ServerFrame::Delta(Delta { from: self.sent, to: seq, now_millis, changes, said: delta })
        };
        self.needs_snapshot = false;
        self.sent = seq;
        (self.snapshot, self.resumed) = (None, None);
        if let Some(bytes) = self.encode(&frame) {
            let _ = self.frames.send(bytes); // fails only without viewers
        }
    }

    /// Returns everything, encoded; the same bytes for all viewers who come before the next change.
    pub(super) fn snapshot(&mut self, snapshot: impl FnOnce() -> Snapshot) -> Bytes {
        if let Some((at, bytes)) = &self.snapshot
            && *at == self.sent
        {
            return bytes.clone();
        }
        let mut snapshot = snapshot();
        if self.said_at.is_some() {
            snapshot.said = self.said.clone(); // the next sentences are sent as a difference to these
        } else {
            self.set_said(snapshot.said.clone());
        }
        let bytes = self.encode(&ServerFrame::Snapshot(Box::new(snapshot))).unwrap_or_default();
        self.snapshot = Some((self.sent, bytes.clone()));
        bytes
    }

    /// Returns the changes and sentences that the copy of a returning viewer lacks; `None` if it needs a snapshot.
    pub(super) fn resume(
        &mut self,
        at: Position,
        now_millis: Millis,
        missed: impl FnOnce() -> Option<Vec<Change>>,
        said: impl FnOnce() -> Said,
    ) -> Option<Bytes> {
        if let Some((known, bytes)) = &self.resumed
            && *known == at
        {
            return Some(bytes.clone());
        }
        let changes = missed()?;
        if self.said_at.is_none() {
            self.set_said(said());
        }
        let said = self.said.delta_since_version(at.said);
        let (from, to) = (at.seq, self.sent.max(at.seq));
        let bytes = self.encode(&ServerFrame::Delta(Delta { from, to, now_millis, changes, said }))?;
        self.resumed = Some((at, bytes.clone()));
        Some(bytes)
    }

    fn encode(&self, frame: &ServerFrame) -> Option<Bytes> {
        self.counters.frames.fetch_add(1, Ordering::Relaxed);
        encode(frame)
    }

    fn is_due(&self, flush: Flush, is_ticking: bool) -> bool {
        let elapsed = self.said_at.map_or(Duration::MAX, |at| at.elapsed());
        let may_not_wait = flush == Flush::Now || self.is_verdict_new || elapsed >= SEND_SAID_EVERY;
        (self.is_said_old && may_not_wait) || (is_ticking && elapsed >= SEND_SAID_AGAIN)
    }

    fn set_said(&mut self, said: Said) -> Option<SaidDelta> {
        let delta = said.delta_since(&self.said);
        self.said = said;
        self.is_story_old = false;
        self.note_said();
        delta
    }

    /// Records that the sentences are current.
    fn note_said(&mut self) {
        self.said_at = Some(Instant::now());
        (self.is_said_old, self.is_verdict_new) = (false, false);
    }
}

pub(super) fn encode(frame: &ServerFrame) -> Option<Bytes> {
    match wire::encode(frame) {
        Ok(bytes) => Some(bytes.into()),
        Err(error) => {
            tracing::error!(%error, "cannot encode a frame");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_story_is_made_again_only_after_a_change_of_its_deployment() {
        let mut topic = Topic::new(None, 0, Arc::default());
        topic.snapshot(Snapshot::default);
        let mut made = |change: Option<Change>, is_ticking| {
            change.iter().for_each(|change| topic.push(change));
            let made = RefCell::new(Vec::new());
            let said = || {
                made.borrow_mut().push("said");
                Said::default()
            };
            let view = || {
                made.borrow_mut().push("view");
                None
            };
            topic.publish((1, 0), is_ticking, Flush::Throttled, Snapshot::default, said, view);
            made.into_inner()
        };
        assert!(made(None, true).is_empty());
        tokio::time::advance(SEND_SAID_AGAIN).await;
        assert!(made(None, false).is_empty());
        assert_eq!(made(None, true), ["view"]);
        assert!(made(None, true).is_empty(), "a moment ago");
        let of_pod = || Some(Change::PodReleased(Uid::from_bits(2), 0));
        tokio::time::advance(SEND_SAID_EVERY).await;
        assert_eq!(made(of_pod(), false), ["view"]);
        assert!(made(Some(Change::DeploymentDeleted(Uid::from_bits(1), 0)), true).is_empty(), "a moment ago");
        tokio::time::advance(SEND_SAID_EVERY).await;
        assert_eq!(made(of_pod(), true), ["said"]);
        tokio::time::advance(SEND_SAID_EVERY).await;
        assert_eq!(made(of_pod(), true), ["view"], "the story is new");
    }
}
