//! Keeps the stored index of rollouts up to date with a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::mem;

use timeline::episodes::{EpisodeRow, rollout_rows};
use timeline::fact::Kind;
use timeline::view::Now;
use timeline::{Millis, Uid};

use super::activity::{ActivityChanges, ActivityTracker};
use crate::hub::HubReader;
use crate::kube::Health;

/// Interval of updates during playback, in the recording's time.
const EVERY_MILLIS: Millis = 2_000;
/// Largest number of unchanged rollouts whose cause is computed in one update, in the hub's task: after an outage thousands may be open.
const MOST_LOOKED_AT: usize = 100;
/// Largest number of Deployments whose rows are computed in one update, in the hub's task, besides those that settle: thousands
/// may change at once.
const MOST_MADE: usize = 200;

/// The state of the stored index of one cluster.
#[derive(Default)]
pub(super) struct RolloutIndex {
    /// Whether the stored index may lack all rows.
    pub(super) is_lost: bool,
    /// Stored trouble of open rollouts, and of those whose workload is not at rest: it may change even without new observations.
    open: BTreeMap<Uid, String>,
    /// The unchanged rollout whose cause was computed last.
    looked_at: Option<Uid>,
    /// Deployments whose rows may be outdated; their rows are computed in one of the next updates.
    waiting: BTreeSet<Uid>,
    /// The Deployment whose rows were computed last.
    last_made: Option<Uid>,
    /// Hashes of the last rows of each Deployment: equal rows are not written again.
    hashes: BTreeMap<Uid, Vec<u64>>,
    /// Whether each workload is at rest.
    activity: ActivityTracker,
    /// Epoch and last change of the timeline at the last update.
    position: (u64, u64),
    /// The last observation of a recording, and the one at the last update. In fast playback many rollouts may end between two
    /// ticks, and the clock is ahead of the observations.
    pub(super) played_millis: Option<Millis>,
    indexed_millis: Option<Millis>,
}

impl RolloutIndex {
    /// Returns the changed rows of rollouts, and the activity of changed workloads; `None` while the first lists are in progress:
    /// then pods from before a restart exist beside the present Deployments.
    pub(super) fn update(
        &mut self,
        cluster: &str,
        reader: &HubReader<'_>,
    ) -> Option<(Vec<EpisodeRow>, ActivityChanges)> {
        let mut watches = reader.watches.iter().filter(|((kind, _), _)| *kind != Kind::Event);
        if watches.any(|(_, health)| matches!(health, Health::Connecting { .. })) {
            return None;
        }
        let now = Now { millis: self.played_millis.unwrap_or(reader.now.millis), ..reader.now };
        let (outdated, changes) = self.outdated(cluster, reader, now);
        let rollouts = |uid: &Uid| rollout_rows::rollouts(cluster, reader.timeline, *uid, now, rollout_rows::LAST);
        let mut rollouts: Vec<EpisodeRow> = outdated.iter().flat_map(rollouts).collect();
        self.open.retain(|uid, _| !outdated.contains(uid));
        let open = self.open_troubles(&rollouts);
        self.open.extend(open);
        self.remove_written(&mut rollouts);
        let known = &reader.timeline.model().deployments;
        if self.hashes.len() > known.len() {
            self.hashes.retain(|uid, _| known.contains_key(uid));
        }
        Some((rollouts, changes))
    }

    /// Returns whether there are more Deployments whose rows may be outdated.
    pub(super) fn has_more(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns Deployments whose rows may be outdated, and changes of activity.
    fn outdated(&mut self, cluster: &str, reader: &HubReader<'_>, now: Now) -> (BTreeSet<Uid>, ActivityChanges) {
        let model = reader.timeline.model();
        let (epoch, last) = self.position;
        let since = if epoch == reader.epoch { last } else { 0 };
        let mut changed: BTreeSet<Uid> = reader.changed_since(since).collect();
        // After a start no event reports Deployments that are gone, and their episodes may be open.
        if since == 0 {
            let gone = model.deployments.values().filter(|known| known.deleted_millis.is_some());
            changed.extend(gone.map(|known| known.uid));
        }
        if mem::take(&mut self.is_lost) {
            changed.extend(model.deployments.keys());
            self.hashes.clear();
        }
        (self.position, self.indexed_millis) = ((reader.epoch, reader.timeline.seq()), self.played_millis);
        let changes = self.activity.update(model, &changed, now);
        // The reason for the end of the last pods is known only after their last change.
        changed.extend(&changes.settled);
        self.waiting.extend(changed);
        let others = self.open.keys().filter(|uid| !self.waiting.contains(*uid));
        let others = take_turn(others, &mut self.looked_at, MOST_LOOKED_AT);
        let last = |uid: &Uid| rollout_rows::rollouts(cluster, reader.timeline, *uid, now, 1).pop();
        let trouble = |uid: &Uid| last(uid).map(|last| last.trouble().to_owned());
        let is_outdated = |uid: &Uid| trouble(uid).as_ref() != self.open.get(uid);
        self.waiting.extend(others.into_iter().filter(is_outdated));
        let mut outdated = take_turn(self.waiting.iter(), &mut self.last_made, MOST_MADE);
        // Settling workloads come first: the content of their rows belongs to the episodes that end now.
        outdated.extend(&changes.settled);
        self.waiting.retain(|uid| !outdated.contains(uid));
        (outdated, changes)
    }

    /// Removes rows that did not change since they were computed last.
    fn remove_written(&mut self, rollouts: &mut Vec<EpisodeRow>) {
        let mut hashes = BTreeMap::<Uid, Vec<u64>>::new();
        rollouts.retain(|rollout| {
            let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(rollout);
            hashes.entry(rollout.uid).or_default().push(hash);
            self.hashes.get(&rollout.uid).is_none_or(|before| !before.contains(&hash))
        });
        self.hashes.extend(hashes);
    }

    /// Returns the trouble of open rollouts, and of those whose workload is not at rest.
    fn open_troubles(&self, rollouts: &[EpisodeRow]) -> BTreeMap<Uid, String> {
        let is_open = |rollout: &&EpisodeRow| rollout.is_going_on() || self.activity.is_active(rollout.uid);
        // The last rollout of a workload takes precedence.
        rollouts.iter().filter(is_open).map(|rollout| (rollout.uid, rollout.trouble().to_owned())).collect()
    }

    /// Returns whether a recording has played for an interval since the last update.
    pub(super) fn is_due(&self) -> bool {
        let is_due = |played: Millis, indexed: Millis| played.saturating_sub(indexed) >= EVERY_MILLIS;
        self.played_millis.is_some_and(|played| self.indexed_millis.is_none_or(|indexed| is_due(played, indexed)))
    }
}

/// Returns the next Deployments after `last`, and sets `last` to the last of them; continues at the beginning after the end.
fn take_turn<'u>(uids: impl Iterator<Item = &'u Uid>, last: &mut Option<Uid>, most: usize) -> BTreeSet<Uid> {
    let mut uids: Vec<Uid> = uids.copied().collect();
    let from = uids.partition_point(|uid| Some(*uid) <= *last);
    uids.rotate_left(from);
    uids.truncate(most);
    *last = uids.last().copied();
    uids.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use timeline::fact::{DeploymentFact, Meta, Seen};
    use timeline::rollout::Outcome;
    use timeline::{Fact, Retention, Timeline};
    use tokio::sync::oneshot;

    use super::*;
    use crate::feed::recording::Recording;
    use crate::hub::Handle;
    use crate::kube::{InitialState, Observed, SourceEvent};
    use crate::telemetry::clock;

    fn deployment(replicas: u32, seen: Seen) -> Fact {
        let meta = Meta { uid: Uid::from_bits(1), namespace: "shop".into(), name: "web".into(), ..Meta::default() };
        let mut fact = DeploymentFact { meta, ..DeploymentFact::default() };
        fact.now.spec.replicas = replicas;
        Fact::Deployment(Box::new(fact), seen)
    }

    #[tokio::test]
    async fn the_rows_of_a_workload_are_made_once_more_when_it_settles() {
        let (hub, events) = Handle::start("prod", Arc::default(), Retention::default());
        let at_millis = clock::now_millis();
        let observed = Box::new(Observed { at_millis, fact: Some(deployment(0, Seen::Added)) });
        events.send(SourceEvent::Recorded { observed, line: None }).await.unwrap();
        let made = hub.read(move |reader| {
            let mut index = RolloutIndex::default();
            [1_000, 2_000, 60_999, 61_000, 90_000].map(|after_millis| {
                let now = Now { millis: at_millis + after_millis, ..reader.now };
                index.outdated("prod", reader, now).0.len()
            })
        });
        assert_eq!(made.await.unwrap(), [1, 0, 0, 1, 0]);
    }

    /// Counts at four times the Deployments whose rows are computed, and those of them that settle. The first ones follow `last_made`.
    async fn count_made(last_made: Option<u128>, times: [Millis; 4]) -> [(usize, usize); 4] {
        let mut timeline = Timeline::new();
        for number in 1..=450 {
            let (uid, name) = (Uid::from_bits(number), format!("web-{number}"));
            let meta = Meta { uid, name, namespace: "shop".into(), ..Meta::default() };
            let fact = DeploymentFact { meta, ..DeploymentFact::default() };
            timeline.apply(1_000, Fact::Deployment(Box::new(fact), Seen::Added));
        }
        let hub = Handle::start_frozen("prod", "prod", InitialState { timeline, ..InitialState::default() });
        let last_made = last_made.map(Uid::from_bits);
        let counts = hub.read(move |reader| {
            let mut index = RolloutIndex { is_lost: true, last_made, ..RolloutIndex::default() };
            times.map(|millis| {
                let now = Now { millis, ..reader.now };
                let (outdated, changes) = index.outdated("prod", reader, now);
                let settled = changes.settled.iter().filter(|uid| outdated.contains(*uid));
                (outdated.len(), settled.count())
            })
        });
        counts.await.unwrap()
    }

    #[tokio::test]
    async fn the_rows_of_very_many_workloads_are_made_one_part_after_the_other() {
        let made = count_made(None, [1_000, 1_001, 1_002, 1_003]).await;
        assert_eq!(made, [(200, 0), (200, 0), (50, 0), (0, 0)]);
        // The first 64 settle while they wait, beside the 186 that follow the first part.
        let made = count_made(Some(64), [1_000, 61_000, 61_001, 61_002]).await;
        assert_eq!(made, [(200, 0), (250, 64), (64, 64), (64, 64)]);
    }

    #[tokio::test]
    async fn equal_rows_are_written_again_only_where_the_store_may_lack_them() {
        let recording = Recording::read(include_str!("../../tests/traces/rollout.jsonl"));
        let observed = recording.span();
        let initial = InitialState { timeline: recording.play(), observed, ..InitialState::default() };
        let hub = Handle::start_frozen("prod", "prod", initial);
        let written = hub.read(|reader| {
            let mut index = RolloutIndex::default();
            [true, false, true].map(|is_lost| {
                index.is_lost = is_lost;
                index.waiting.extend(reader.timeline.model().deployments.keys());
                index.update("prod", reader).map(|(rollouts, _)| rollouts.len())
            })
        });
        assert_eq!(written.await.unwrap(), [Some(3), Some(0), Some(3)]);
    }

    #[test]
    fn of_the_rows_of_a_workload_those_that_changed_are_written() {
        let mut index = RolloutIndex::default();
        let written = |causes: [&str; 2]| {
            let row = |(revision, cause): (u64, &str)| EpisodeRow {
                uid: Uid::from_bits(1),
                revision,
                cause: cause.into(),
                ..EpisodeRow::default()
            };
            let mut rows: Vec<EpisodeRow> = (1..).zip(causes).map(row).collect();
            index.remove_written(&mut rows);
            rows.into_iter().map(|row| row.revision).collect::<Vec<u64>>()
        };
        let changes = [["", ""], ["", ""], ["", "Containers crash."], ["", ""]].map(written);
        assert_eq!(changes, [vec![1, 2], vec![], vec![2], vec![2]]);
    }

    #[tokio::test]
    async fn what_was_deleted_before_a_start_settles_after_it() {
        let (initial, initial_state) = oneshot::channel();
        let (hub, _events) = Handle::start_from("prod", Arc::default(), Retention::default(), initial_state);
        let (mut timeline, at_millis) = (Timeline::new(), clock::now_millis());
        for seen in [Seen::Added, Seen::Deleted] {
            timeline.apply(at_millis, deployment(0, seen));
        }
        initial.send(InitialState { timeline, ..InitialState::default() }).unwrap();
        let settled = hub.read(move |reader| {
            let mut index = RolloutIndex::default();
            [0, 59_999, 60_000, 90_000].map(|after_millis| {
                let now = Now { millis: at_millis + after_millis, ..reader.now };
                index.outdated("prod", reader, now).1.settled.len()
            })
        });
        assert_eq!(settled.await.unwrap(), [0, 0, 1, 0]);
    }

    #[tokio::test]
    async fn no_rows_are_made_before_the_pods_are_listed() {
        let (hub, events) = Handle::start("prod", Arc::default(), Retention::default());
        for (kind, health, is_made) in [
            (Kind::Pod, Health::Connecting { listed: 0 }, false),
            (Kind::Deployment, Health::Live, false),
            (Kind::Event, Health::Connecting { listed: 0 }, false),
            (Kind::Pod, Health::Live, true),
        ] {
            events.send(SourceEvent::Health { kind, namespace: None, health }).await.unwrap();
            let update = |reader: &HubReader<'_>| RolloutIndex::default().update("prod", reader).is_some();
            assert_eq!(hub.read(update).await.unwrap(), is_made, "{kind:?}");
        }
    }

    /// Its pods may have trouble before it has been at rest for a minute.
    #[tokio::test]
    async fn the_cause_of_a_complete_rollout_changes_until_its_workload_is_at_rest() {
        let causes_with = async |replicas: u32| {
            let (hub, events) = Handle::start("prod", Arc::default(), Retention::default());
            let fact = Some(deployment(replicas, Seen::Added));
            let observed = Box::new(Observed { at_millis: clock::now_millis(), fact });
            events.send(SourceEvent::Recorded { observed, line: None }).await.unwrap();
            let row = |cause: &str| EpisodeRow {
                uid: Uid::from_bits(1),
                cause: cause.into(),
                outcome: Outcome::Complete,
                ..EpisodeRow::default()
            };
            let rows = ["before", "now"].map(row);
            let causes = hub.read(move |reader| {
                let mut index = RolloutIndex::default();
                index.update("prod", reader);
                index.open_troubles(&rows)
            });
            causes.await.unwrap()
        };
        assert_eq!(causes_with(0).await, BTreeMap::new());
        assert_eq!(causes_with(1).await, BTreeMap::from([(Uid::from_bits(1), "now".to_owned())]));
    }
}
