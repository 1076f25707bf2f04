//! Responses of a hub, and the state that can be read in its task.

use std::collections::BTreeMap;

use bytes::Bytes;
use timeline::fact::Kind;
use timeline::view::{self, Now};
use timeline::wire::Said;
use timeline::{History, Millis, Model, Timeline, Uid, story};
use tokio::sync::broadcast;

use crate::kube::Health;

/// The hub has ended, which happens only when the program does.
#[derive(Debug, thiserror::Error)]
#[error("the hub has ended")]
pub struct HubEnded;

/// The first frame of a viewer.
pub struct FirstFrame {
    /// A snapshot, or a delta that only confirms the viewer's position, encoded.
    pub frame: Bytes,
    /// The hub's clock; a shared snapshot may carry an older one.
    pub now_millis: Millis,
}

/// A subscription to a topic: the first frame, and later frames, encoded. A viewer that lags behind must subscribe again.
pub type TopicSubscription = (FirstFrame, broadcast::Receiver<Bytes>);

/// Read access to the state of a hub, in its task.
pub struct HubReader<'h> {
    /// The timeline.
    pub timeline: &'h Timeline,
    /// Its past changes.
    pub history: &'h History,
    /// First and last observation.
    pub observed: Option<(Millis, Millis)>,
    /// The hub's clock.
    pub now_millis: Millis,
    /// The time for sentences, which stands still while the cluster is silent.
    pub now: Now,
    /// State of each watch, by its kind and its namespace (`None` for all).
    pub watches: &'h BTreeMap<(Kind, Option<String>), Health>,
    /// The epoch of the timeline.
    pub epoch: u64,
    /// Number of the last change that touched a Deployment.
    pub(super) touched: &'h BTreeMap<Uid, u64>,
}

impl HubReader<'_> {
    /// Returns the Deployments that changed after change `seq`.
    pub fn changed_since(&self, seq: u64) -> impl Iterator<Item = Uid> {
        self.touched.iter().filter(move |(_, touched)| **touched > seq).map(|(uid, _)| *uid)
    }

    /// Returns the number of the last change of a Deployment, or of another one of its name.
    pub(super) fn last_change(&self, deployment: Uid) -> u64 {
        let model = self.timeline.model();
        let known = model.deployments.get(&deployment);
        let named = known.into_iter().flat_map(|known| model.find_all(&known.namespace, &known.name));
        named.filter_map(|other| self.touched.get(&other.uid)).copied().max().unwrap_or_default()
    }
}

/// Returns the view and the story of a Deployment at a time.
pub fn describe_deployment(model: &Model, uid: Uid, now: Now) -> Said {
    Said { view: view::view(model, uid, now), story: story::story(model, uid), ..Said::default() }
}
