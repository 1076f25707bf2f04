//! The rolling-update arithmetic: percentages to integers, ceiling and floor.
//!
//! Source: `util/deployment_util.go` of the Deployment controller (MaxSurge, MaxUnavailable, ResolveFenceposts).

use crate::fact::{DeploymentSpec, IntOrPercent, Strategy};

/// What a Deployment's strategy allows, in pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Pods above `spec.replicas` that may be asked for.
    pub max_surge: u32,
    /// Pods below `spec.replicas` that may be missing.
    pub max_unavailable: u32,
    /// `replicas + max_surge`.
    pub ceiling: u32,
    /// `replicas − max_unavailable`.
    pub floor: u32,
}

/// Resolves the strategy for the replicas that the Deployment asks for. Surge percentages are rounded up, unavailable
/// ones down; both zero would allow nothing, so one may then be unavailable. Recreate: no surge, everything may be missing.
#[must_use]
pub fn limits(spec: &DeploymentSpec) -> Limits {
    let n = spec.replicas;
    let (max_surge, max_unavailable) = match spec.strategy {
        Strategy::Recreate => (0, n),
        Strategy::RollingUpdate { max_surge, max_unavailable } => {
            let surge = resolve(max_surge, n, true);
            let unavailable = resolve(max_unavailable, n, false);
            let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable };
            (surge, unavailable.min(n))
        }
    };
    Limits { max_surge, max_unavailable, ceiling: n.saturating_add(max_surge), floor: n - max_unavailable }
}

fn resolve(value: IntOrPercent, of: u32, up: bool) -> u32 {
    match value {
        IntOrPercent::Int(number) => number,
        IntOrPercent::Percent(percent) => {
            let hundredths = u64::from(percent) * u64::from(of);
            let rounded = if up { hundredths.div_ceil(100) } else { hundredths / 100 };
            u32::try_from(rounded).unwrap_or(u32::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(replicas: u32, surge: IntOrPercent, unavailable: IntOrPercent) -> (u32, u32) {
        let spec = DeploymentSpec {
            replicas,
            strategy: Strategy::RollingUpdate { max_surge: surge, max_unavailable: unavailable },
            min_ready_seconds: 0,
            paused: false,
            progress_deadline_seconds: None,
            revision_history_limit: 10,
            images: Vec::new(),
        };
        let limits = limits(&spec);
        (limits.max_surge, limits.max_unavailable)
    }

    #[test]
    fn surge_is_rounded_up_and_unavailable_down() {
        use IntOrPercent::{Int, Percent};
        assert_eq!(resolved(4, Percent(25), Percent(25)), (1, 1));
        assert_eq!(resolved(3, Percent(25), Percent(25)), (1, 0));
        assert_eq!(resolved(10, Percent(25), Percent(25)), (3, 2));
        assert_eq!(resolved(5, Int(0), Int(0)), (0, 1));
        assert_eq!(resolved(2, Int(1), Int(9)), (1, 2));
        assert_eq!(resolved(0, Percent(25), Percent(25)), (0, 0));
        assert_eq!(resolved(u32::MAX, Percent(400), Percent(100)).1, u32::MAX);
    }
}
