//! A viewer's copy of one Deployment: what a snapshot and the deltas after it make of it. The page, the terminal and tests
//! hold the same one. Of a list it is [`crate::view::list::ListCopy`].
//!
//! ```text
//!              take_snapshot                     take_delta that fits
//!   nothing ──────────────────► standing at seq ────────────────────► standing at a later seq
//!      ▲                              │
//!      └────────── default() ─────────┤ take_delta after a gap: Missed, nothing is altered;
//!                                     ▼ whoever holds the copy asks for a snapshot
//! ```

use crate::model::Deployment;
use crate::wire::{Delta, Position, Said, Snapshot};
use crate::{Model, Uid};

/// One Deployment as a viewer knows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeploymentCopy {
    /// It and what belongs to it; what does not travel is empty.
    pub model: Model,
    /// Its UID; `None` when there is none of that name.
    pub deployment: Option<Uid>,
    /// The sentences about it.
    pub said: Said,
    /// Epoch and number of the last change in it; `None` before a snapshot.
    place: Option<(u64, u64)>,
}

/// The result of taking a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The copy stands where the delta ends.
    Fits,
    /// Something between the copy and the delta is missing.
    Missed,
    /// There is no snapshot that it could follow.
    BeforeSnapshot,
}

impl DeploymentCopy {
    /// Takes everything anew. `true` when this is another life of the server's timeline than the one the copy was of.
    pub fn take_snapshot(&mut self, snapshot: Snapshot) -> bool {
        let Snapshot { epoch, seq, cluster: _, deployment, objects, said, now_millis: _, looking_since_millis: _ } =
            snapshot;
        let is_other_life = self.place.is_some_and(|(before, _)| before != epoch);
        *self = Self { model: objects.into(), deployment, said, place: Some((epoch, seq)) };
        is_other_life
    }

    /// Takes what happened since. One that is about what the copy knows already (after a subscription began anew) fits too.
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
