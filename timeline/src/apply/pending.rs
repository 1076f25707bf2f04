//! State that only the deriving side needs: what may still be explained better, is awaited, or was told already.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::orders::Version;
use crate::model::Rollout;
use crate::model::story::Happening;
use crate::{Millis, Uid};

/// A revision that a Deployment names and that no ReplicaSet is seen to carry yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct DraftRollout {
    /// The rollout, should it begin.
    pub(super) rollout: Rollout,
    /// The one before, as it was then.
    pub(super) last: Option<Rollout>,
    pub(super) since_millis: Millis,
    pub(super) was_seen: bool,
}

/// An end that another kind's stream may still explain better.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct UnsettledEnd {
    pub(super) pod: Uid,
    pub(super) set: Uid,
    pub(super) mark: EndMark,
    pub(super) until_millis: Millis,
}

/// The situation in which a pod was asked to go.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct EndMark {
    /// Active pods of its ReplicaSet, this one included; 0 when it was none itself.
    pub(super) active: u32,
    /// The version that says so.
    pub(super) version: Option<Version>,
    /// It vanished without a grace period that it has: no controller deletes like that.
    pub(super) is_forced: bool,
}

/// A ReplicaSet that just went, as that may be explained better.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct UnsettledRemoval {
    pub(super) set: Uid,
    /// Old ReplicaSets of its Deployment then, this one included; `None` where it was not old and empty itself.
    pub(super) old: Option<usize>,
    pub(super) until_millis: Millis,
}

/// A pod that was deleted from outside, and what took its place.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct AwaitedReplacement {
    pub(super) deployment: Uid,
    pub(super) entry: u64,
    pub(super) pod: Uid,
    pub(super) set: Uid,
    pub(super) at_millis: Millis,
    pub(super) replacement: Option<Uid>,
}

/// An entry that tells of restarts, while it may tell of more.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ToldRestarts {
    pub(super) entry: u64,
    /// The pods that it counts.
    pub(super) pods: BTreeSet<Uid>,
    pub(super) last_millis: Millis,
}

/// The last entry of a Deployment about pods that became unready, while it may tell of more.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ToldUnready {
    pub(super) entry: u64,
    /// The pods that it counts.
    pub(super) pods: BTreeSet<Uid>,
    /// Those of them that were not seen to be ready again.
    pub(super) unready: BTreeSet<Uid>,
    /// When one of them became unready last, or ready again.
    pub(super) last_millis: Millis,
    /// When the first one became unready, after all had been ready.
    pub(super) since_millis: Millis,
    /// Those that became unready since then.
    pub(super) pods_since: BTreeSet<Uid>,
    /// What the entry told before that; `None` if it began then.
    pub(super) before: Option<Happening>,
}

/// A ReplicaSet that was deleted from outside, and what became of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Outage {
    pub(super) set: Uid,
    pub(super) deployment: Uid,
    pub(super) entry: u64,
    pub(super) at_millis: Millis,
    /// It had available pods: that none is left later may be because of it.
    pub(super) had_available: bool,
    /// Another one of its template was made.
    pub(super) is_again: bool,
    /// Since when nothing is available.
    pub(super) since_millis: Option<Millis>,
}

/// The last count and message of each Event. They are remembered longer than the Events of a Deployment are kept,
/// so that an Event that comes again does not count twice.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct EventLog {
    /// Count, and hash of the message.
    of: BTreeMap<Uid, (u32, u64)>,
    order: VecDeque<Uid>,
}

impl EventLog {
    /// Most that are remembered; the oldest are forgotten.
    const MOST: usize = 50_000;

    /// Remembers an Event. How often it had happened when it was told last; `None` when it says nothing new.
    pub(super) fn insert(&mut self, uid: Uid, count: u32, message: &str) -> Option<u32> {
        let mut hasher = DefaultHasher::new();
        message.hash(&mut hasher);
        let message = hasher.finish();
        let Some(before) = self.of.insert(uid, (count, message)) else {
            self.order.push_back(uid);
            if self.order.len() > Self::MOST
                && let Some(oldest) = self.order.pop_front()
            {
                self.of.remove(&oldest);
            }
            return Some(0);
        };
        (before != (count, message)).then_some(before.0)
    }
}
