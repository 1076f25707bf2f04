//! The budget of a rolling update in words: desired and available pods, ceiling and floor.

use crate::assess::{Assessment, CauseKind};
use crate::model::Limits;
use crate::model::fact::{DeploymentSpec, IntOrPercent, Strategy};
use crate::rules::budget::Next;
use crate::words::{grouped, grouped_count, is_are};

/// Compares the pods with the limits, and says where the limits come from.
pub fn budget(assessment: &Assessment<'_>) -> String {
    let (spec, counts, limits) = (&assessment.deployment.now.spec, assessment.counts, assessment.limits);
    let Some((ceiling, floor)) = derived(spec, limits) else {
        return format!(
            "Recreate: ReplicaSets are scaled to {} of {}, {} available; old pods go first.",
            number(counts.desired),
            grouped_count(spec.replicas, "desired pod"),
            number(counts.available)
        );
    };
    let least = number(limits.floor);
    format!(
        "{} (ceiling {} = {ceiling}), {} of at least {least} available (floor {least} = {floor}).",
        desired(assessment),
        number(limits.ceiling),
        number(counts.available),
    )
}

fn number(pods: u32) -> String {
    grouped(pods.into())
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
    let replicas = number(n);
    Some((
        format!("{replicas} + maxSurge {}{}", number(limits.max_surge), rounded(max_surge, "up")),
        format!("{replicas} − maxUnavailable {}{unavailable}", number(limits.max_unavailable)),
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
            number(counts.available),
            number(limits.floor),
            is_are(limits.floor)
        )
    })
}

/// Compares the pods that the ReplicaSets desire with the ceiling. They exceed it only until the controller follows limits that fell,
/// until a change that raised them is seen, or where somebody else scaled a ReplicaSet.
fn desired(assessment: &Assessment<'_>) -> String {
    let (desired, ceiling) = (assessment.counts.desired, assessment.limits.ceiling);
    let pods = grouped_count(desired, "pod");
    if desired <= ceiling {
        format!("{} of at most {} desired", number(desired), grouped_count(ceiling, "pod"))
    } else if assessment.is_lowered() {
        format!("{pods} desired, above the ceiling of {} since it was lowered", number(ceiling))
    } else if assessment.is_ahead() {
        format!("{pods} desired")
    } else {
        format!("{pods} desired, above the ceiling of {}", number(ceiling))
    }
}
