//! What the index of rollouts was told of a cluster, and what it is to be told next.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use timeline::past::PastRollout;
use timeline::view::Now;
use timeline::{Millis, Uid};

use super::activity::{Activity, Turns};
use super::index;
use crate::hub::Reader;

/// Of a recording the index is told this often, in its time.
const EVERY_MILLIS: Millis = 2_000;

/// What the index of rollouts was told.
#[derive(Default)]
pub(super) struct RolloutIndex {
    /// It may be another one, which knows nothing of what was told before.
    pub(super) is_another: bool,
    /// Deployments of which it may tell too little.
    pub(super) unindexed: BTreeSet<Uid>,
    /// Rollouts that go on, each with the cause that the index was told: causes change with time alone, too.
    pub(super) open: BTreeMap<Uid, String>,
    /// Which workloads are at rest.
    pub(super) activity: Activity,
    /// Which timeline was read last, and its last change then.
    position: (u64, u64),
    /// The last observation of a recording, and the one at which the index was told last. Played fast, many rollouts may be over before
    /// anybody looks at the clock, which is ahead of what was played.
    pub(super) played_millis: Option<Millis>,
    indexed_millis: Option<Millis>,
}

impl RolloutIndex {
    /// Reads how rollouts and workloads stand that something was heard of.
    pub(super) fn read(&mut self, cluster: &str, reader: &Reader<'_>) -> (Vec<PastRollout>, Turns) {
        let model = reader.timeline.model();
        let now = Now { millis: self.played_millis.unwrap_or(reader.now.millis), ..reader.now };
        let (epoch, last) = self.position;
        self.unindexed.extend(reader.touched_since(if epoch == reader.epoch { last } else { 0 }));
        if mem::take(&mut self.is_another) {
            self.unindexed.extend(model.deployments.keys());
        }
        (self.position, self.indexed_millis) = ((reader.epoch, reader.timeline.seq()), self.played_millis);
        let turns = self.activity.turns(model, &self.unindexed, now.millis);
        let last = |uid: &Uid| index::rollouts(cluster, model, *uid, now, 1).pop();
        let is_otherwise = |(uid, told): &(&Uid, &String)| last(uid).is_none_or(|last| last.cause != **told);
        self.unindexed.extend(self.open.iter().filter(is_otherwise).map(|(uid, _)| *uid));
        let rollouts = |uid: &Uid| index::rollouts(cluster, model, *uid, now, index::LAST);
        (self.unindexed.iter().flat_map(rollouts).collect(), turns)
    }

    /// So much was played of a recording since the index was told.
    pub(super) fn is_due(&self) -> bool {
        let is_due = |played: Millis, indexed: Millis| played.saturating_sub(indexed) >= EVERY_MILLIS;
        self.played_millis.is_some_and(|played| self.indexed_millis.is_none_or(|indexed| is_due(played, indexed)))
    }
}
