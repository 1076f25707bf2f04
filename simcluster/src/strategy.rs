//! maxSurge and maxUnavailable as numbers (`deployment/util/deployment_util.go`, `ResolveFenceposts`).

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::meta::desired;

/// Returns the number of a percentage; `None` if the text is not one.
pub fn percent(text: &str) -> Option<i32> {
    text.strip_suffix('%')
        .filter(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))?
        .parse()
        .ok()
}

/// Returns the number, and whether it is a percentage.
pub fn parts(value: &IntOrString) -> (i32, bool) {
    match value {
        IntOrString::Int(number) => (*number, false),
        IntOrString::String(text) => (percent(text).unwrap_or_default(), true),
    }
}

/// Returns a value for this many pods. A percentage is rounded down after adding `hundredths`.
fn scaled(value: Option<&IntOrString>, of: i32, hundredths: i64) -> i32 {
    match value.map(parts) {
        None => 0,
        Some((number, false)) => number,
        Some((percent, true)) => {
            let whole = (i64::from(percent) * i64::from(of) + hundredths).div_euclid(100);
            i32::try_from(whole).unwrap_or(i32::MAX)
        }
    }
}

pub fn strategy(deployment: &Deployment) -> &str {
    let strategy = deployment.spec.as_ref().and_then(|spec| spec.strategy.as_ref());
    strategy.and_then(|strategy| strategy.type_.as_deref()).unwrap_or("RollingUpdate")
}

fn resolved(deployment: &Deployment) -> (i32, i32) {
    if strategy(deployment) == "Recreate" {
        return (0, 0);
    }
    let strategy = deployment.spec.as_ref().and_then(|spec| spec.strategy.as_ref());
    let rolling = strategy.and_then(|strategy| strategy.rolling_update.as_ref());
    let n = desired(deployment);
    // Surge is rounded up.
    let surge = scaled(rolling.and_then(|rolling| rolling.max_surge.as_ref()), n, 99);
    let unavailable = scaled(rolling.and_then(|rolling| rolling.max_unavailable.as_ref()), n, 0);
    // With both at zero a rollout could not proceed.
    (surge, if surge == 0 && unavailable == 0 { 1 } else { unavailable })
}

/// Returns the number of pods above the desired replicas.
pub fn max_surge(deployment: &Deployment) -> i32 {
    resolved(deployment).0
}

/// Returns the number of pods that may be unavailable, at most the desired replicas.
pub fn max_unavailable(deployment: &Deployment) -> i32 {
    resolved(deployment).1.min(desired(deployment))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::{DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment};

    use super::*;

    fn deployment(n: i32, surge: IntOrString, unavailable: IntOrString) -> Deployment {
        let rolling_update =
            Some(RollingUpdateDeployment { max_surge: Some(surge), max_unavailable: Some(unavailable) });
        let strategy = Some(DeploymentStrategy { type_: None, rolling_update });
        Deployment {
            spec: Some(DeploymentSpec { replicas: Some(n), strategy, ..DeploymentSpec::default() }),
            ..Deployment::default()
        }
    }

    #[test]
    fn surge_rounds_up_and_unavailable_down() {
        let text = |text: &str| IntOrString::String(text.to_owned());
        for (n, surge, unavailable, expected) in [
            (3, text("25%"), text("25%"), (1, 0)),
            (4, text("25%"), text("25%"), (1, 1)),
            (10, text("25%"), text("25%"), (3, 2)),
            (10, IntOrString::Int(0), text("5%"), (0, 1)),
            (2, IntOrString::Int(1), IntOrString::Int(5), (1, 2)),
            (0, text("25%"), text("25%"), (0, 0)),
        ] {
            let of = deployment(n, surge, unavailable);
            assert_eq!((max_surge(&of), max_unavailable(&of)), expected, "{n}");
        }
    }
}
