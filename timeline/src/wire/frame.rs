//! The types of the frames.

use serde::{Deserialize, Serialize};

use super::{Moment, Said, SaidDelta, SaidVersion};
use crate::model::{Deployment, Pod, ReplicaSet};
use crate::view::connection::Connection;
use crate::view::list::{self, Query, Window};
use crate::{Change, Millis, Model, Uid, Workload};

/// A frame from the viewer to the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ViewerFrame {
    /// The first frame.
    Hello {
        /// [`PROTOCOL`](super::PROTOCOL) of the viewer.
        protocol: u16,
        /// Build of its page.
        build: String,
    },
    /// The scope to follow; replaces an earlier subscription.
    Subscribe {
        /// The list or workload to follow.
        scope: Scope,
        /// The position of the viewer's copy, if it has one.
        since: Option<Position>,
    },
    /// Requests the sentences of the followed Deployment at a moment.
    Moment {
        /// The time, in milliseconds of the cluster's time.
        at_millis: Millis,
    },
}

/// The scope that a viewer follows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Scope {
    /// Follows nothing.
    Nothing,
    /// Some lines of a list of Deployments.
    List {
        /// Filter and order of the list.
        query: Query,
        /// The requested rows, by number.
        window: Window,
    },
    /// One workload.
    Workload(Workload),
}

/// A position in the sequence of changes of one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Epoch of the server's timeline: another one after each restart or replay.
    pub epoch: u64,
    /// Number of the last change in the copy.
    pub seq: u64,
    /// Version of the sentences in the copy.
    pub said: SaidVersion,
}

/// A frame from the server to the viewer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ServerFrame {
    /// The first frame.
    Hello {
        /// [`PROTOCOL`](super::PROTOCOL) of the server.
        protocol: u16,
        /// Build of the page that it serves.
        build: String,
    },
    /// The complete state of the followed scope.
    Snapshot(Box<Snapshot>),
    /// The changes since the last frame.
    Delta(Delta),
    /// The changed rows of the followed list.
    List(Box<list::ListDelta>),
    /// State of the server's connection to a cluster.
    Connection {
        /// Name of the cluster.
        cluster: String,
        /// State of the connection to it.
        connection: Connection,
    },
    /// Answer to [`ViewerFrame::Moment`].
    Moment(Box<Moment>),
    /// Nothing changed; the connection is alive.
    Heartbeat {
        /// The cluster's time at the server, in milliseconds.
        now_millis: Millis,
    },
}

/// One Deployment with all its objects.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Epoch of the server's timeline: another one after each restart or replay.
    pub epoch: u64,
    /// Number of the last change in it.
    pub seq: u64,
    /// Name of the cluster.
    pub cluster: String,
    /// The cluster's time at the server, in milliseconds.
    pub now_millis: Millis,
    /// The Deployment; `None` if there is none of that name.
    pub deployment: Option<Uid>,
    /// Since when the server looks for the Deployment.
    pub looking_since_millis: Millis,
    /// The Deployment, its ReplicaSets and their Pods.
    pub objects: Objects,
    /// The sentences about it.
    pub said: Said,
}

impl Snapshot {
    /// Returns whether it is about `workload`.
    /// A snapshot that was in transit when the viewer changed the page is not.
    pub fn is_of(&self, workload: &Workload) -> bool {
        let is_it = |known: &Deployment| known.name == workload.name && known.namespace == workload.namespace;
        self.cluster == workload.cluster && self.objects.deployments.iter().all(is_it)
    }
}

/// One Deployment with all its objects; empty if it does not exist.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Objects {
    /// The Deployment.
    pub deployments: Vec<Deployment>,
    /// ReplicaSets that it controls or ever controlled, by arrival.
    pub replica_sets: Vec<ReplicaSet>,
    /// Pods that any of these ReplicaSets controls or ever controlled, by arrival.
    pub pods: Vec<Pod>,
}

impl Objects {
    /// Collects the objects that a viewer of `deployment` needs.
    pub fn of(model: &Model, deployment: Uid) -> Self {
        Self {
            deployments: model.deployments.get(&deployment).cloned().into_iter().collect(),
            replica_sets: model.sets_of(deployment).cloned().collect(),
            pods: model.pods_of_deployment(deployment).into_iter().cloned().collect(),
        }
    }
}

impl From<Objects> for Model {
    fn from(objects: Objects) -> Self {
        let mut model = Self::default();
        objects.deployments.into_iter().for_each(|deployment| model.deployments.insert(deployment.uid, deployment));
        objects.replica_sets.into_iter().for_each(|set| model.replica_sets.insert(set.uid, set));
        objects.pods.into_iter().for_each(|pod| model.pods.insert(pod.uid, pod));
        model.index();
        model
    }
}

/// Changes of one scope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delta {
    /// [`Position::seq`] that the viewer's copy must have before.
    pub from: u64,
    /// [`Position::seq`] that it has afterwards.
    pub to: u64,
    /// The cluster's time at the server, in milliseconds.
    pub now_millis: Millis,
    /// The changes in between that are sent to viewers, in order.
    pub changes: Vec<Change>,
    /// The difference of the sentences; `None` if they are equal.
    pub said: Option<SaidDelta>,
}
