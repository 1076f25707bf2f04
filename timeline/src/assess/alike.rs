//! Which pods one cause is said of, and whether the words of one of them are true of all.

use super::cause::{CauseKind, Evidence};
use crate::rules::messages::{self, NewNode, StartHold};
use crate::rules::pulls::{PullFailure, read_pull_failure};

/// Causes that are said in one sentence.
pub(super) fn is_alike(one: &CauseKind, other: &CauseKind) -> bool {
    match (one, other) {
        (CauseKind::Crash(a), CauseKind::Crash(b)) => {
            (a.is_loop, a.is_final, a.needs_restart_of_all) == (b.is_loop, b.is_final, b.needs_restart_of_all)
                && a.is_out_of_memory == b.is_out_of_memory
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

/// The evidence of two pods is of the same containers, or of pulls that fail for one reason, as far as it tells any.
pub(super) fn names_the_same(one: (&CauseKind, &Evidence), other: (&CauseKind, &Evidence)) -> bool {
    match one.0 {
        CauseKind::NotReady { .. } => {
            messages::unready_containers(&one.1.message) == messages::unready_containers(&other.1.message)
        }
        CauseKind::Image { .. } => {
            let (one, other) = (told_failure(one), told_failure(other));
            one == other || one == PullFailure::Unknown || other == PullFailure::Unknown
        }
        _ => true,
    }
}

/// The words of one of two pods are not true of the other.
pub(super) fn says_otherwise(one: (&CauseKind, &Evidence), other: (&CauseKind, &Evidence)) -> bool {
    match one.0 {
        CauseKind::Crash(_) | CauseKind::Starting { hold: StartHold::Unknown, .. } => false,
        // Where one does not say why, the other does.
        CauseKind::Image { .. } => {
            [one, other].iter().all(|pod| told_failure(*pod) == PullFailure::Unknown)
                && one.1.message != other.1.message
        }
        CauseKind::Unschedulable { .. } if one.0 != other.0 => true,
        _ => (&one.1.reason, words(one)) != (&other.1.reason, words(other)),
    }
}

/// A message without its end: kubelets name the pod there, schedulers what preemption would do.
fn words<'e>((kind, evidence): (&CauseKind, &'e Evidence)) -> &'e str {
    let end = if matches!(kind, CauseKind::Unschedulable { .. }) { ". " } else { " (pod: \"" };
    evidence.message.split(end).next().unwrap_or_default()
}

/// Why the image of a cause cannot be pulled, as far as its evidence tells.
pub(super) fn told_failure((kind, evidence): (&CauseKind, &Evidence)) -> PullFailure {
    let CauseKind::Image { image } = kind else { return PullFailure::Unknown };
    read_pull_failure(&evidence.reason, image.as_deref(), &evidence.message, std::iter::empty())
}

fn is_same_answer(one: &Option<NewNode>, other: &Option<NewNode>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => std::mem::discriminant(one) == std::mem::discriminant(other),
        _ => one.is_none() == other.is_none(),
    }
}
