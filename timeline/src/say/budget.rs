//! The budget of a rolling update in words: desired and available pods, ceiling and floor.

use crate::assess::{Assessment, CauseKind};
use crate::model::Limits;
use crate::model::fact::{DeploymentSpec, IntOrPercent, Strategy};
use crate::rules::budget::Next;
use crate::words::{count, is_are};

/// Compares the pods with the limits, and says where the limits come from.
pub fn budget(assessment: &Assessment<'_>) -> String {
    let (spec, counts, limits) = (&assessment.deployment.now.spec, assessment.counts, assessment.limits);
    let Some((ceiling, floor)) = derived(spec, limits) else {
        let (desired, available) = (counts.desired, counts.available);
        return format!(
            "Recreate: ReplicaSets are scaled to {desired} of {}, {available} available; old pods go first.",
            count(spec.replicas, "desired pod")
        );
    };
    format!(
        "{} (ceiling {} = {ceiling}), {} of at least {} available (floor {} = {floor}).",
        desired(assessment),
        limits.ceiling,
        counts.available,
        limits.floor,
        limits.floor,
    )
}

/// Says where ceiling and floor come from; `None` for Recreate, which has neither.
pub fn derived(spec: &DeploymentSpec, limits: Limits) -> Option<(String, String)> {
    let n = spec.replicas;
    let Strategy::RollingUpdate { max_surge, max_unavailable } = spec.strategy else { return None };
    let rounded = |share: IntOrPercent, direction: &str| match share {
        IntOrPercent::Int(_) => String::new(),
        IntOrPercent::Percent(percent) => format!(" ({percent} % rounded {direction})"),
    };
    // Both are 0: Kubernetes lets one pod be unavailable, or nothing could ever move. Of no pods none is.
    let is_raised = limits.max_surge == 0
        && limits.max_unavailable > 0
        && match max_unavailable {
            IntOrPercent::Int(pods) => pods == 0,
            IntOrPercent::Percent(percent) => u64::from(percent) * u64::from(n) < 100,
        };
    let unavailable =
        if is_raised { " (not 0, because maxSurge is 0 too)".to_owned() } else { rounded(max_unavailable, "down") };
    Some((
        format!("{n} + maxSurge {}{}", limits.max_surge, rounded(max_surge, "up")),
        format!("{n} − maxUnavailable {}{unavailable}", limits.max_unavailable),
    ))
}

/// Says that both limits are reached: no pod can be added or removed until a new pod is available. `None` if they are not.
pub(super) fn at_limits(assessment: &Assessment<'_>) -> Option<String> {
    let (limits, counts) = (assessment.limits, assessment.counts);
    let is_said = assessment.causes.iter().any(|cause| matches!(cause.kind, CauseKind::Deadlock { .. }));
    let beginning = if assessment.has_fault() {
        "Can't add or remove pods"
    } else {
        "The Deployment controller waits for new pods"
    };
    let waits = assessment.sums.old_desired() > 0 && matches!(assessment.next, Next::WaitForNew(_));
    let are_reached = counts.desired >= limits.ceiling && counts.available <= limits.floor;
    (are_reached && waits && !is_said).then(|| {
        format!(
            "{beginning}: {}, {} of at least {} {} available.",
            desired(assessment),
            counts.available,
            limits.floor,
            is_are(limits.floor)
        )
    })
}

/// Compares the pods that the ReplicaSets desire with the ceiling. They exceed it only until the controller follows limits that fell,
/// until a change that raised them is seen, or where somebody else scaled a ReplicaSet.
fn desired(assessment: &Assessment<'_>) -> String {
    let (desired, ceiling) = (assessment.counts.desired, assessment.limits.ceiling);
    if desired <= ceiling {
        format!("{desired} of at most {} desired", count(ceiling, "pod"))
    } else if assessment.is_lowered() {
        format!("{} desired, above the ceiling of {ceiling} since it was lowered", count(desired, "pod"))
    } else if assessment.is_ahead() {
        format!("{} desired", count(desired, "pod"))
    } else {
        format!("{} desired, above the ceiling of {ceiling}", count(desired, "pod"))
    }
}
