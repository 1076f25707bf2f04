//! Moments of the story in which ReplicaSets are scaled, in words.

use crate::model::story::{Part, StepBudget};
use crate::words::{capitalized, list, safe};

pub(super) fn scaled(
    replicas: Option<(u32, u32)>,
    desired: Option<u32>,
    parts: &[Part],
    is_rolling_out: Option<bool>,
) -> String {
    let is_known = is_rolling_out.is_some();
    let change = |part: &Part| {
        let sign = if part.to >= part.from { "+" } else { "−" };
        format!("{} {sign}{}", who(part), part.to.abs_diff(part.from))
    };
    let changes = || {
        let changes: Vec<String> = parts.iter().filter(|part| part.by() != 0).map(change).collect();
        let how = if changes.len() > 1 { ", in proportion" } else { "" };
        changes.join(", ") + how
    };
    match (replicas, parts) {
        (Some((from, to)), [_]) if is_rolling_out != Some(true) => {
            format!("Scaled {from} → {to}{}.", if is_known { " (not a rollout)" } else { "" })
        }
        (None, [part]) if desired.is_none() => {
            let of = part.revision.map(|revision| format!("The ReplicaSet of revision {revision}"));
            let set = of.unwrap_or_else(|| who(part));
            format!("{set} was scaled {} → {}, not by its Deployment.", part.from, part.to)
        }
        (None, [part]) if is_rolling_out != Some(true) => {
            let outside = if is_known { ", not a rollout" } else { "" };
            format!("Scaled{outside}: {} {} → {}.", who(part), part.from, part.to)
        }
        (Some((from, to)), _) => format!("Scaled {from} → {to} during a rollout: {}.", changes()),
        (None, _) => format!("Scaled during a rollout: {}.", changes()),
    }
}

pub(super) fn rolled(parts: &[Part], budget: &StepBudget) -> String {
    let StepBudget { desired, ceiling, floor, available, spares_available } = *budget;
    let step = |part: &Part| {
        let direction = if part.to > part.from { "up" } else { "down" };
        format!("{} {direction} {} → {}", who(part), part.from, part.to)
    };
    let text = capitalized(parts.iter().map(step).collect::<Vec<_>>().join(", "));
    let grows = parts.iter().any(|part| part.to > part.from);
    let shrinks = parts.iter().any(|part| part.to < part.from);
    // The Deployment controller never asks for more than its ceiling: somebody else asked for more, or the limits fell.
    let total = if desired > ceiling {
        format!("{desired} in total, above the ceiling of {ceiling}: a ReplicaSet was scaled manually")
    } else {
        format!("{desired} of at most {ceiling}")
    };
    let room = match (grows, shrinks) {
        (true, false) => total,
        (false, true) if floor == 0 => "all can be removed".to_owned(),
        (false, true) if spares_available => "only unavailable pods are removed".to_owned(),
        // Below the floor a ReplicaSet is scaled by Recreate, whose spec may follow, or by somebody else.
        (false, true) if available < floor || desired < floor => return format!("{text}."),
        (false, true) => format!("at least {floor} must stay available"),
        _ => format!("{total}, floor {floor}"),
    };
    format!("{text}: {room}.")
}

pub(super) fn scaled_back(part: &Part) -> String {
    let of = part.revision.map(|revision| format!("the ReplicaSet of revision {revision}"));
    let set = of.unwrap_or_else(|| who(part));
    format!("The Deployment controller scaled {set} back {} → {}.", part.from, part.to)
}

pub(super) fn moved(parts: &[Part]) -> String {
    let parts: Vec<String> = parts.iter().map(|part| format!("{} {} → {}", who(part), part.from, part.to)).collect();
    format!("While not observed: {}.", list(&parts))
}

pub(super) fn and_so_on(parts: &[Part], steps: u32) -> String {
    let parts: Vec<String> = parts.iter().map(|part| format!("{} to {}", who(part), part.to)).collect();
    format!("… and so on: {}, in {steps} more steps.", list(&parts))
}

/// A ReplicaSet by its revision, or by its name when it carries none.
fn who(part: &Part) -> String {
    part.revision.map_or_else(|| format!("ReplicaSet {}", safe(&part.name)), |revision| format!("revision {revision}"))
}
