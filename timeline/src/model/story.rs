//! The story: events of a Deployment and actions of its controllers, as data in the order of time.
//!
//! An entry is decided when it happens, with the sums and limits of that time, and stored with the Deployment
//! ([`crate::model::Deployment::story`]): it is never recomputed from the present. [`crate::apply`] writes entries, [`crate::say`] makes a
//! sentence of each. Later events may extend an entry (a pod's replacement is available) or merge similar ones; otherwise an entry changes
//! only within a moment, until the streams of the kinds are consistent.

mod details;

use serde::{Deserialize, Serialize};

pub use self::details::{
    Adopter, ContainerEnd, NodeDeparture, Part, Restart, RolloutStart, SpecSeconds, StepBudget, TargetFailure, Trigger,
};
use super::event::Event;
use super::fact::Strategy;
use super::names::names;
use super::pod::EndReason;
use crate::Millis;

/// The kind of a line of the story.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LineKind {
    /// A revision starts.
    Revision,
    /// `spec.replicas` of ReplicaSets changed.
    Step,
    /// An action from outside the rollout: a scaling, a pause, a deleted pod, a drained node.
    Outside,
    /// A rollout is complete.
    Done,
    /// Something failed, was lost or was deleted.
    Bad,
    /// A Warning Event, in the words of its sender.
    Event,
    /// Something is unknown, because the cluster was not observed or the history has expired.
    Unknown,
}

names! {
    /// Returns the class name of the kind.
    LineKind {
        Revision => "revision",
        Step => "step",
        Outside => "outside",
        Done => "done",
        Bad => "bad",
        Event => "event",
        Unknown => "unknown",
    }
}

impl LineKind {
    /// Returns whether the line has a mark on the axis.
    pub const fn stands_out(self) -> bool {
        !matches!(self, Self::Step | Self::Unknown)
    }
}

/// An entry of the story.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number among the entries of its Deployment; later entries have higher ones.
    pub id: u64,
    /// When it happened, in milliseconds: arrival by our clock; for Events their own time, at the end of its second.
    pub at_millis: Millis,
    /// What happened.
    pub what: Happening,
}

/// An event in the life of a Deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Happening {
    /// The Deployment existed when the observation began.
    Begins {
        /// Its revision.
        revision: u64,
        /// Images of its template, joined.
        images: String,
    },
    /// A rollout starts.
    Starts(RolloutStart),
    /// A rollout is complete.
    Completed {
        /// Its revision.
        revision: u64,
        /// Its completion was observed.
        was_seen: bool,
        /// Its duration; `None` if its start or its end was not observed.
        took_millis: Option<Millis>,
        /// Time since Recreate began to remove the pods of the revision before; `None` if there were none.
        taken_down_millis: Option<Millis>,
        /// Complete only by Kubernetes' rules: the Deployment was scaled to zero before everything was available.
        was_scaled_to_zero: bool,
    },
    /// A rollout is superseded by the next one.
    Superseded {
        /// Its revision.
        revision: u64,
        /// The revision that superseded it.
        by: u64,
        /// Time until its last pod was gone, in milliseconds.
        gone_millis: Option<Millis>,
    },
    /// The progress deadline passed.
    Deadline {
        /// Revision of the rollout.
        revision: u64,
    },
    /// The Deployment's replicas changed and were distributed to its ReplicaSets.
    Scaled {
        /// The Deployment's replicas before and after; `None` if the change was not observed with the steps.
        replicas: Option<(u32, u32)>,
        /// The Deployment's replicas for these steps; `None` for a ReplicaSet that was scaled directly.
        desired: Option<u32>,
        /// The change of each ReplicaSet; during a rollout also those that keep their replicas.
        parts: Vec<Part>,
    },
    /// The Deployment controller restored the replicas of a ReplicaSet that was scaled directly.
    ScaledBack {
        /// The change of the ReplicaSet.
        part: Part,
    },
    /// Steps of the rollout at one moment.
    Rolled {
        /// The change of each ReplicaSet.
        parts: Vec<Part>,
        /// The limits that it respected.
        budget: StepBudget,
        /// Like the steps before, so it is folded with the next similar one.
        is_repeat: bool,
    },
    /// After a gap ReplicaSets have other replicas than before; the steps in between were not observed.
    Moved {
        /// Each ReplicaSet with its replicas before and after the gap.
        parts: Vec<Part>,
    },
    /// More steps like those before.
    AndSoOn {
        /// Each ReplicaSet with its replicas before the first of them and after the last.
        parts: Vec<Part>,
        /// Number of steps.
        steps: u32,
    },
    /// The Deployment's replicas changed, and no ReplicaSet has followed yet.
    Replicas {
        /// `spec.replicas` before.
        from: u32,
        /// `spec.replicas` after.
        to: u32,
        /// The change was observed.
        was_seen: bool,
    },
    /// A pod was deleted by something outside the rollout.
    Killed {
        /// Name of the pod.
        pod: String,
        /// Revision of the Deployment at that time.
        revision: Option<u64>,
        /// The pod that replaced it, and the time until that was available.
        replacement: Option<(String, Option<Millis>)>,
        /// Time from the deletion request until it was gone, in milliseconds; if its object stayed, until its containers had ended.
        drained_millis: Option<Millis>,
        /// Time from the deletion request until its object was gone, if that was long after its containers had ended.
        gone_millis: Option<Millis>,
    },
    /// More pods were deleted by something outside the rollout, one after the other.
    KilledMore {
        /// Number of pods.
        pods: u32,
        /// Revision of the Deployment at that time.
        revision: Option<u64>,
        /// Time of the last deletion request, in milliseconds.
        last_millis: Millis,
    },
    /// Pods were deleted and not replaced, and the Deployment was deleted soon after.
    WentBefore {
        /// Number of pods.
        pods: u32,
    },
    /// Pods were deleted, or their deletion was requested, while the cluster was not observed.
    Unseen {
        /// Name of the first one; empty if a scaling or a rollout explains some of them, so that it is unknown which.
        pod: String,
        /// Number of pods.
        pods: u32,
        /// Whether they are gone; otherwise their deletion was requested.
        is_gone: bool,
        /// When the last one was reported, in milliseconds.
        last_millis: Millis,
    },
    /// A pod whose node is unknown was evicted or lost, or a pod that was out of rotation ended.
    Ended {
        /// Name of the pod.
        pod: String,
        /// Why it ended.
        reason: EndReason,
        /// It was out of rotation.
        was_released: bool,
    },
    /// Pods left a node: it was lost, or they were evicted.
    LeftNode {
        /// Name of the first one.
        pod: String,
        /// Number of pods.
        pods: u32,
        /// The node.
        node: String,
        /// Revision of the Deployment at that time.
        revision: Option<u64>,
        /// Why they left.
        why: NodeDeparture,
        /// The resource that the node was low on ("memory"), if the eviction names it; else empty.
        resource: String,
        /// When the last one left, in milliseconds.
        last_millis: Millis,
    },
    /// Pods failed as a whole, one after the other, for another reason than those above.
    Failed {
        /// Name of the first one.
        pod: String,
        /// Number of pods.
        pods: u32,
        /// `status.reason`; may be empty.
        reason: String,
        /// Revision of the Deployment at that time.
        revision: Option<u64>,
        /// When the last one failed, in milliseconds.
        last_millis: Millis,
    },
    /// A container ended and was restarted, in one pod or several, once or more.
    Restarted {
        /// Name of the first pod.
        pod: String,
        /// Number of pods.
        pods: u32,
        /// The container and how it ended, the same in all of them.
        restart: Restart,
        /// Number of restarts in all pods.
        restarts: u32,
        /// Time from the first of them to the last, in milliseconds.
        lasted_millis: Millis,
    },
    /// Ready pods became unready, at once or one soon after the other.
    Unready {
        /// Name of the first pod.
        pod: String,
        /// Number of pods.
        pods: u32,
        /// Number of times in all pods.
        times: u32,
        /// Time until all of them were ready again, in milliseconds; `None` if that was not observed.
        lasted_millis: Option<Millis>,
    },
    /// A ReplicaSet released a pod.
    Released {
        /// Name of the pod.
        pod: String,
        /// Revision of the ReplicaSet at that time.
        revision: Option<u64>,
        /// The ReplicaSet was being deleted without its pods; otherwise the pod's labels no longer match.
        is_orphaned: bool,
    },
    /// A ReplicaSet adopted a pod.
    Adopted {
        /// Name of the pod.
        pod: String,
        /// The adopting ReplicaSet.
        by: Adopter,
        /// Name of the pod that the ReplicaSet then removed as one too many.
        removed: Option<String>,
    },
    /// The Deployment no longer controls a ReplicaSet.
    SetReleased {
        /// Name of the ReplicaSet.
        name: String,
        /// Number of its pods at that time.
        pods: u32,
        /// Another Deployment controls it.
        is_taken: bool,
    },
    /// The Deployment adopted a ReplicaSet that it had released, or that belonged to another one.
    SetTaken {
        /// Name of the ReplicaSet.
        name: String,
        /// Number of its pods at that time.
        pods: u32,
        /// Whether it belonged to this Deployment before.
        is_again: bool,
        /// Whether it had no controller before, as far as observed.
        is_orphan: bool,
    },
    /// A deleted Deployment exists again: the cluster was restored from a backup.
    Back {
        /// Duration of its absence, in milliseconds.
        millis: Millis,
    },
    /// The history limit removed an old ReplicaSet.
    CleanedUp {
        /// Its pod-template-hash.
        hash: String,
        /// Its last revision.
        revision: Option<u64>,
        /// `spec.revisionHistoryLimit` at that time.
        limit: u32,
    },
    /// A ReplicaSet was deleted by something outside of the Deployment.
    SetDeleted {
        /// Its pod-template-hash.
        hash: String,
        /// Its deletion was observed; otherwise it is unknown who deleted it.
        was_seen: bool,
        /// Time until its Deployment created another one with the same template, in milliseconds.
        again_millis: Option<Millis>,
        /// Time without an available pod because of it, in milliseconds.
        outage_millis: Option<Millis>,
    },
    /// The template changed again while an earlier change waited for a paused Deployment to be resumed.
    ChangeReplaced {
        /// Images of the waiting template, joined.
        images: String,
        /// Images of its replacement, joined.
        by: String,
        /// Whether the replacement is the template of the current ReplicaSet.
        is_back: bool,
    },
    /// `spec.strategy` changed.
    StrategyChanged {
        /// The strategy before.
        from: Strategy,
        /// The strategy after.
        to: Strategy,
        /// The change was observed.
        was_seen: bool,
    },
    /// A field of the spec that counts seconds changed.
    SecondsChanged {
        /// The field.
        field: SpecSeconds,
        /// Seconds before; `None` if it was absent.
        from: Option<u32>,
        /// Seconds after; `None` if it is absent.
        to: Option<u32>,
        /// The change was observed.
        was_seen: bool,
    },
    /// `spec.paused` became true.
    Paused {
        /// The change was observed.
        was_seen: bool,
    },
    /// `spec.paused` became false.
    Resumed {
        /// The change was observed.
        was_seen: bool,
    },
    /// The Deployment was given a deletion timestamp.
    Deleting,
    /// The Deployment was deleted.
    Deleted {
        /// Its deletion was observed.
        was_seen: bool,
    },
    /// The cluster was not observed for a while.
    Gap {
        /// Its duration, in milliseconds.
        millis: Millis,
    },
    /// A Warning Event, with the message of the latest similar one and the total count.
    Event(Box<Event>),
    /// History before this moment is past retention.
    #[default]
    NotKept,
}

impl Happening {
    /// Returns the kind of its line.
    pub const fn kind(&self) -> LineKind {
        match self {
            Self::Begins { .. } | Self::Starts { .. } => LineKind::Revision,
            Self::Completed { was_scaled_to_zero: true, .. } => LineKind::Outside,
            Self::Completed { .. } => LineKind::Done,
            Self::Rolled { .. } | Self::AndSoOn { .. } | Self::Moved { .. } | Self::CleanedUp { .. } => LineKind::Step,
            Self::ScaledBack { .. } => LineKind::Step,
            Self::Restarted { restart, .. } if restart.end.is_spec_change() => LineKind::Outside,
            Self::Unseen { .. }
            | Self::Back { .. }
            | Self::SetDeleted { was_seen: false, .. }
            | Self::Gap { .. }
            | Self::NotKept => LineKind::Unknown,
            Self::Deadline { .. }
            | Self::SetDeleted { .. }
            | Self::Deleting
            | Self::Deleted { .. }
            | Self::Failed { .. }
            | Self::Restarted { .. }
            | Self::Unready { .. }
            | Self::LeftNode { why: NodeDeparture::OverLimit | NodeDeparture::Tainted | NodeDeparture::Lost, .. } => {
                LineKind::Bad
            }
            Self::Event(_) => LineKind::Event,
            Self::Superseded { .. }
            | Self::Scaled { .. }
            | Self::Replicas { .. }
            | Self::Killed { .. }
            | Self::KilledMore { .. }
            | Self::WentBefore { .. }
            | Self::SetReleased { .. }
            | Self::SetTaken { .. }
            | Self::Ended { .. }
            | Self::LeftNode { .. }
            | Self::Released { .. }
            | Self::Adopted { .. }
            | Self::ChangeReplaced { .. }
            | Self::StrategyChanged { .. }
            | Self::SecondsChanged { .. }
            | Self::Paused { .. }
            | Self::Resumed { .. } => LineKind::Outside,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LineKind::{Step, Unknown};
    use super::*;

    #[test]
    fn kinds_of_lines_have_names_and_what_controllers_do_does_not_stand_out() {
        let all = LineKind::ALL;
        assert_eq!(all.map(LineKind::name).join(" "), "revision step outside done bad event unknown");
        let plain: Vec<LineKind> = all.into_iter().filter(|kind| !kind.stands_out()).collect();
        assert_eq!(plain, [Step, Unknown]);
    }
}
