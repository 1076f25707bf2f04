//! Keeps the stored index of rollouts in step with a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use timeline::episodes::EpisodeRow;
use timeline::fact::Kind;
use timeline::view::Now;
use timeline::{Millis, Uid};

use super::activity::{ActivityChanges, ActivityTracker};
use super::index;
use crate::hub::HubReader;
use crate::kube::Health;

/// Time of a recording between two updates.
const EVERY_MILLIS: Millis = 2_000;
/// Most unchanged rollouts whose cause is found at one update, in the hub's task: after an outage thousands may be open.
const MOST_LOOKED_AT: usize = 100;

/// The state of the stored index of one cluster.
#[derive(Default)]
pub(super) struct RolloutIndex {
    /// It may lack everything.
    pub(super) is_lost: bool,
    /// Stored trouble of rollouts that are open, or whose workload is not at rest: it changes with time alone, too.
    open: BTreeMap<Uid, String>,
    /// The unchanged one whose cause was found last.
    looked_at: Option<Uid>,
    /// Workloads that are at rest, and others.
    activity: ActivityTracker,
    /// Epoch and last change of the timeline at the last update.
    position: (u64, u64),
    /// The last observation of a recording, and the one at the last update. Played fast, many rollouts may end between two ticks, and the
    /// clock is ahead of the observations.
    pub(super) played_millis: Option<Millis>,
    indexed_millis: Option<Millis>,
}

impl RolloutIndex {
    /// Returns the rollouts and the activity of changed workloads; `None` while the first lists are under way: beside the Deployments of
    /// now, pods are still those from before a restart.
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
        let rollouts = |uid: &Uid| index::rollouts(cluster, reader.timeline, *uid, now, index::LAST);
        let rollouts: Vec<EpisodeRow> = outdated.iter().flat_map(rollouts).collect();
        self.open.retain(|uid, _| !outdated.contains(uid));
        let open = self.open_troubles(&rollouts);
        self.open.extend(open);
        Some((rollouts, changes))
    }

    /// Returns the Deployments whose rows may be out of date, and changes of activity.
    fn outdated(&mut self, cluster: &str, reader: &HubReader<'_>, now: Now) -> (BTreeSet<Uid>, ActivityChanges) {
        let model = reader.timeline.model();
        let (epoch, last) = self.position;
        let since = if epoch == reader.epoch { last } else { 0 };
        let mut changed: BTreeSet<Uid> = reader.changed_since(since).collect();
        // After a start nothing tells again of those that are gone, and their episodes may be open.
        if since == 0 {
            let gone = model.deployments.values().filter(|known| known.deleted_millis.is_some());
            changed.extend(gone.map(|known| known.uid));
        }
        if mem::take(&mut self.is_lost) {
            changed.extend(model.deployments.keys());
        }
        (self.position, self.indexed_millis) = ((reader.epoch, reader.timeline.seq()), self.played_millis);
        let changes = self.activity.update(model, &changed, now);
        // Why the last pods went was decided after their last change.
        changed.extend(&changes.settled);
        let last = |uid: &Uid| index::rollouts(cluster, reader.timeline, *uid, now, 1).pop();
        let mut others: Vec<_> = self.open.iter().filter(|(uid, _)| !changed.contains(*uid)).collect();
        let from = others.partition_point(|(uid, _)| Some(**uid) <= self.looked_at);
        others.rotate_left(from);
        others.truncate(MOST_LOOKED_AT);
        self.looked_at = others.last().map(|(uid, _)| **uid);
        let is_outdated = |(uid, trouble): &(&Uid, &String)| last(uid).is_none_or(|last| last.trouble() != **trouble);
        changed.extend(others.into_iter().filter(is_outdated).map(|(uid, _)| *uid));
        (changed, changes)
    }

    /// Returns the trouble of rollouts that are open, or whose workload is not at rest.
    fn open_troubles(&self, rollouts: &[EpisodeRow]) -> BTreeMap<Uid, String> {
        let is_open = |rollout: &&EpisodeRow| rollout.is_going_on() || self.activity.is_active(rollout.uid);
        // Of several rollouts of a workload the last one counts.
        rollouts.iter().filter(is_open).map(|rollout| (rollout.uid, rollout.trouble().to_owned())).collect()
    }

    /// Returns `true` if a recording played for a while since the last update.
    pub(super) fn is_due(&self) -> bool {
        let is_due = |played: Millis, indexed: Millis| played.saturating_sub(indexed) >= EVERY_MILLIS;
        self.played_millis.is_some_and(|played| self.indexed_millis.is_none_or(|indexed| is_due(played, indexed)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use timeline::fact::{DeploymentFact, Meta, Seen};
    use timeline::rollout::Outcome;
    use timeline::{Fact, Retention, Timeline};
    use tokio::sync::oneshot;

    use super::*;
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
    async fn the_rows_of_a_workload_are_written_once_more_when_it_settles() {
        let (hub, events) = Handle::start("prod", Arc::default(), Retention::default());
        let at_millis = clock::now_millis();
        let observed = Box::new(Observed { at_millis, fact: Some(deployment(0, Seen::Added)) });
        events.send(SourceEvent::Recorded { observed, line: None }).await.unwrap();
        let written = hub.read(move |reader| {
            let mut index = RolloutIndex::default();
            [1_000, 2_000, 60_999, 61_000, 90_000].map(|after_millis| {
                let now = Now { millis: at_millis + after_millis, ..reader.now };
                index.outdated("prod", reader, now).0.len()
            })
        });
        assert_eq!(written.await.unwrap(), [1, 0, 0, 1, 0]);
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

    /// Its pods may be in trouble before it was at rest for a minute.
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
