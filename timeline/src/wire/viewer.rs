//! A viewer's copy of one Deployment: a snapshot with the later deltas applied. The page, the terminal and tests use the same type. The
//! copy of a list is [`crate::view::list::ListCopy`].
//!
//! ```text
//!              take_snapshot                     take_delta that fits
//!   nothing ──────────────────► standing at seq ────────────────────► standing at a later seq
//!      ▲                              │
//!      └────────── default() ─────────┤ take_delta after a gap: Missed, nothing is altered;
//!                                     ▼ the owner of the copy requests a snapshot
//! ```

use crate::model::Deployment;
use crate::wire::{Delta, Position, Said, Snapshot};
use crate::{Model, Uid};

/// A viewer's copy of one Deployment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeploymentCopy {
    /// The Deployment with its objects; fields that are not sent are empty.
    pub model: Model,
    /// Its UID; `None` if there is none of that name.
    pub deployment: Option<Uid>,
    /// The sentences about it.
    pub said: Said,
    /// Epoch and number of the last change in it; `None` before a snapshot.
    place: Option<(u64, u64)>,
}

/// The result of applying a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The delta was applied.
    Fits,
    /// Deltas between the copy and this one are missing.
    Missed,
    /// The copy has no snapshot yet.
    BeforeSnapshot,
}

impl DeploymentCopy {
    /// Replaces the copy by a snapshot. Returns whether the server's epoch is another one.
    pub fn take_snapshot(&mut self, snapshot: Snapshot) -> bool {
        let Snapshot { epoch, seq, cluster: _, deployment, objects, said, now_millis: _, looking_since_millis: _ } =
            snapshot;
        let is_other_life = self.place.is_some_and(|(before, _)| before != epoch);
        *self = Self { model: objects.into(), deployment, said, place: Some((epoch, seq)) };
        is_other_life
    }

    /// Applies a delta. A delta that the copy already contains, as after a new subscription, fits too.
    pub fn take_delta(&mut self, delta: Delta) -> Taken {
        let Delta { from, to, changes, said, now_millis: _ } = delta;
        let Some((_, seq)) = &mut self.place else { return Taken::BeforeSnapshot };
        if from > *seq {
            return Taken::Missed;
        }
        *seq = to.max(*seq);
        changes.into_iter().for_each(|change| self.model.apply_change(change));
        if let Some(said) = said {
            self.said.take(said);
        }
        Taken::Fits
    }

    /// Returns the Deployment.
    pub fn deployment(&self) -> Option<&Deployment> {
        self.model.deployments.get(&self.deployment?)
    }

    /// Returns the position of the copy; `None` before a snapshot.
    pub fn position(&self) -> Option<Position> {
        self.place.map(|(epoch, seq)| Position { epoch, seq, said: self.said.version })
    }
}

impl From<Snapshot> for DeploymentCopy {
    fn from(snapshot: Snapshot) -> Self {
        let mut copy = Self::default();
        copy.take_snapshot(snapshot);
        copy
    }
}
