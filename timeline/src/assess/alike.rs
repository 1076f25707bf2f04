//! Rules that group pods into one cause, and decide whether the message of one pod holds for all.

use super::cause::{CauseKind, Evidence};
use crate::Millis;
use crate::rules::messages::{self, NewNode, StartHold};
use crate::rules::pulls::{PullFailure, read_pull_failure};

/// Times of pods that differ by no more than this count as one.
const ALIKE_MILLIS: Millis = 5_000;

/// The cause that one pod shows.
pub(super) struct PodCause {
    pub(super) kind: CauseKind,
    pub(super) evidence: Evidence,
    /// Why its image cannot be pulled, by its evidence alone.
    pull_failure: PullFailure,
}

impl PodCause {
    pub(super) fn new(kind: CauseKind, evidence: Evidence) -> Self {
        let pull_failure = match &kind {
            CauseKind::Image { image, .. } => {
                read_pull_failure(&evidence.reason, image.as_deref(), &evidence.message, std::iter::empty())
            }
            _ => PullFailure::Unknown,
        };
        Self { kind, evidence, pull_failure }
    }

    /// Returns whether one cause covers both pods: the evidence has the same containers, or the same reason of a failure. An image that
    /// cannot be pulled for an unknown reason may have any.
    pub(super) fn is_of_group(&self, group: &Self) -> bool {
        is_alike(&self.kind, &group.kind)
            && match self.kind {
                CauseKind::NotReady { .. } => {
                    messages::unready_containers(&self.evidence.message)
                        == messages::unready_containers(&group.evidence.message)
                }
                CauseKind::Image { .. } => {
                    self.pull_failure == group.pull_failure || !self.says_why_no_pull() || !group.says_why_no_pull()
                }
                CauseKind::BadContainer { .. } | CauseKind::NotStarted { .. } => {
                    self.evidence.reason == group.evidence.reason
                }
                _ => true,
            }
    }

    /// Returns whether the message of one pod, or the time of one that is not ready, does not hold for the other.
    pub(super) fn has_other_message(&self, other: &Self) -> bool {
        match &self.kind {
            CauseKind::Crash(_) | CauseKind::Flapping { .. } => false,
            CauseKind::Starting { hold: StartHold::Unknown, .. } => false,
            CauseKind::NotReady { .. } => {
                let since = |cause: &Self| cause.evidence.since_millis.unwrap_or_default();
                (since(self) - since(other)).abs() > ALIKE_MILLIS
            }
            // Where one does not say why, the other does.
            CauseKind::Image { .. } => {
                !self.says_why_no_pull() && !other.says_why_no_pull() && self.evidence.message != other.evidence.message
            }
            // The sentence about several pods does not name the nodes for which they are nominated.
            CauseKind::Unschedulable { node }
                if self.kind != other.kind && !matches!(node, Some(NewNode::Nominated(_))) =>
            {
                true
            }
            _ => (&self.evidence.reason, self.words()) != (&other.evidence.reason, other.words()),
        }
    }

    /// Returns whether its evidence says why its image cannot be pulled.
    pub(super) fn says_why_no_pull(&self) -> bool {
        self.pull_failure != PullFailure::Unknown
    }

    /// Returns a message without its end: kubelets name the pod there, schedulers say what preemption would do.
    fn words(&self) -> &str {
        let end = if matches!(self.kind, CauseKind::Unschedulable { .. }) { ". " } else { " (pod: \"" };
        self.evidence.message.split(end).next().unwrap_or_default().trim_end_matches('.')
    }
}

/// Returns whether one sentence covers both causes.
pub(super) fn is_alike(one: &CauseKind, other: &CauseKind) -> bool {
    match (one, other) {
        (CauseKind::Crash(a), CauseKind::Crash(b)) => {
            (a.is_loop, a.is_final, a.needs_restart_of_all) == (b.is_loop, b.is_final, b.needs_restart_of_all)
                && (a.is_out_of_memory, a.is_overdue) == (b.is_out_of_memory, b.is_overdue)
                && a.container == b.container
                && a.kill.as_ref().map(|kill| kill.end) == b.kill.as_ref().map(|kill| kill.end)
        }
        (CauseKind::Image { image: a, .. }, CauseKind::Image { image: b, .. }) => a == b,
        (CauseKind::Starting { hold: a, after: step, .. }, CauseKind::Starting { hold: b, after: other_step, .. }) => {
            (a, step) == (b, other_step)
        }
        // The same kind of answer about a new node.
        (CauseKind::Unschedulable { node: a }, CauseKind::Unschedulable { node: b }) => {
            a.as_ref().map(std::mem::discriminant) == b.as_ref().map(std::mem::discriminant)
        }
        (CauseKind::NoScheduler { nominated: a }, CauseKind::NoScheduler { nominated: b }) => {
            a.is_some() == b.is_some()
        }
        // What runs in one pod has not started in another.
        (CauseKind::Init { is_running: a, .. }, CauseKind::Init { is_running: b, .. }) => a == b,
        (CauseKind::Gate { gate: a, .. }, CauseKind::Gate { gate: b, .. }) => a == b,
        (CauseKind::NodeSilent { .. } | CauseKind::BadContainer { .. } | CauseKind::NotStarted { .. }, _) => {
            one == other
        }
        (
            CauseKind::NotReady { was_ready: a, is_startup: starts, .. },
            CauseKind::NotReady { was_ready: b, is_startup: other_starts, .. },
        ) => (a, starts) == (b, other_starts),
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}
