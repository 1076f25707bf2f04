//! Rules that group pods into one cause, and decide whether the message of one pod holds for all.

use super::cause::{CauseKind, Evidence};
use crate::rules::messages::{self, NewNode, StartHold};
use crate::rules::pulls::{PullFailure, read_pull_failure};

/// Returns whether one sentence covers both causes.
pub(super) fn is_alike(one: &CauseKind, other: &CauseKind) -> bool {
    match (one, other) {
        (CauseKind::Crash(a), CauseKind::Crash(b)) => {
            (a.is_loop, a.is_final, a.needs_restart_of_all) == (b.is_loop, b.is_final, b.needs_restart_of_all)
                && (a.is_out_of_memory, a.is_overdue) == (b.is_out_of_memory, b.is_overdue)
                && a.container == b.container
                && a.probe.as_ref().map(|kill| kill.probe) == b.probe.as_ref().map(|kill| kill.probe)
        }
        (CauseKind::Image { image: a }, CauseKind::Image { image: b }) => a == b,
        (CauseKind::Starting { hold: a, .. }, CauseKind::Starting { hold: b, .. }) => a == b,
        (CauseKind::Unschedulable { node: a }, CauseKind::Unschedulable { node: b }) => is_same_answer(a, b),
        (CauseKind::NoScheduler { nominated: a }, CauseKind::NoScheduler { nominated: b }) => {
            a.is_some() == b.is_some()
        }
        (CauseKind::NodeSilent { node: a }, CauseKind::NodeSilent { node: b }) => a == b,
        (CauseKind::Gate { gate: a, .. }, CauseKind::Gate { gate: b, .. }) => a == b,
        (CauseKind::BadContainer { container: a }, CauseKind::BadContainer { container: b }) => a == b,
        (CauseKind::NotStarted { container: a }, CauseKind::NotStarted { container: b }) => a == b,
        (
            CauseKind::NotReady { was_ready: a, is_startup: starts, .. },
            CauseKind::NotReady { was_ready: b, is_startup: other_starts, .. },
        ) => (a, starts) == (b, other_starts),
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

/// Returns whether the evidence of two pods has the same containers, or the same reason of a failure. An image that cannot be pulled
/// for an unknown reason may have any.
pub(super) fn has_same_subject(one: (&CauseKind, &Evidence), other: (&CauseKind, &Evidence)) -> bool {
    match one.0 {
        CauseKind::NotReady { .. } => {
            messages::unready_containers(&one.1.message) == messages::unready_containers(&other.1.message)
        }
        CauseKind::Image { .. } => {
            let (one, other) = (evident_pull_failure(one), evident_pull_failure(other));
            one == other || one == PullFailure::Unknown || other == PullFailure::Unknown
        }
        CauseKind::BadContainer { .. } | CauseKind::NotStarted { .. } => one.1.reason == other.1.reason,
        _ => true,
    }
}

/// Returns whether the message of one pod does not hold for the other.
pub(super) fn has_other_message(one: (&CauseKind, &Evidence), other: (&CauseKind, &Evidence)) -> bool {
    match one.0 {
        CauseKind::Crash(_) | CauseKind::Starting { hold: StartHold::Unknown, .. } => false,
        // Where one does not say why, the other does.
        CauseKind::Image { .. } => {
            [one, other].iter().all(|pod| evident_pull_failure(*pod) == PullFailure::Unknown)
                && one.1.message != other.1.message
        }
        // The sentence about several pods does not name the nodes for which they are nominated.
        CauseKind::Unschedulable { node } if one.0 != other.0 && !matches!(node, Some(NewNode::Nominated(_))) => true,
        _ => (&one.1.reason, words(one)) != (&other.1.reason, words(other)),
    }
}

/// Returns a message without its end: kubelets name the pod there, schedulers say what preemption would do.
fn words<'e>((kind, evidence): (&CauseKind, &'e Evidence)) -> &'e str {
    let end = if matches!(kind, CauseKind::Unschedulable { .. }) { ". " } else { " (pod: \"" };
    evidence.message.split(end).next().unwrap_or_default().trim_end_matches('.')
}

/// Returns why the image of a cause cannot be pulled, by its evidence alone.
pub(super) fn evident_pull_failure((kind, evidence): (&CauseKind, &Evidence)) -> PullFailure {
    let CauseKind::Image { image } = kind else { return PullFailure::Unknown };
    read_pull_failure(&evidence.reason, image.as_deref(), &evidence.message, std::iter::empty())
}

/// Returns whether two pods got the same kind of answer about a new node.
fn is_same_answer(one: &Option<NewNode>, other: &Option<NewNode>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => std::mem::discriminant(one) == std::mem::discriminant(other),
        _ => one.is_none() == other.is_none(),
    }
}
