//! The arithmetic of the Deployment controller, written a second time.

use timeline::budget::{Next, Sums};
use timeline::fact::{DeploymentSpec, IntOrPercent, Strategy};

/// Ceiling and floor (`MaxSurge`, `MaxUnavailable`, `ResolveFenceposts` in `util/deployment_util.go`).
pub(super) fn limits(spec: &DeploymentSpec) -> (u32, u32) {
    let n = spec.replicas;
    let Strategy::RollingUpdate { max_surge, max_unavailable } = spec.strategy else { return (n, 0) };
    let scaled = |share: IntOrPercent, up: bool| match share {
        IntOrPercent::Int(pods) => pods,
        IntOrPercent::Percent(percent) if up => (f64::from(percent) * f64::from(n) / 100.0).ceil() as u32,
        IntOrPercent::Percent(percent) => (f64::from(percent) * f64::from(n) / 100.0).floor() as u32,
    };
    let (surge, unavailable) = (scaled(max_surge, true), scaled(max_unavailable, false));
    let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable };
    (n + surge, n - unavailable.min(n))
}

/// What the Deployment controller does by these counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum May {
    Nothing,
    Create,
    Add(i64),
    RemoveNew(i64),
    RemoveOld(i64),
    Spread,
}

impl May {
    pub(super) fn allows(self, next: Next) -> bool {
        let number = i64::from;
        match next {
            Next::Nothing | Next::Paused | Next::WaitForNew(_) | Next::WaitForOldGone => self == Self::Nothing,
            Next::CreateSet => self == Self::Create,
            Next::Spread => self == Self::Spread,
            Next::AddNew(pods) => self == Self::Add(number(pods)),
            Next::RemoveNew(pods) => self == Self::RemoveNew(number(pods)),
            Next::RemoveOld { unhealthy, healthy } => self == Self::RemoveOld(number(unhealthy) + number(healthy)),
        }
    }
}

/// `scale` in `sync.go`: `FindActiveOrLatest`, `IsSaturated`, then in proportion.
pub(super) fn is_spread(spec: &DeploymentSpec, sums: &Sums) -> bool {
    let all: Vec<_> = sums.old.iter().chain(&sums.new).collect();
    let active: Vec<_> = all.iter().filter(|set| set.desired > 0).collect();
    if all.is_empty() {
        return true;
    }
    if active.len() < 2 {
        return active.first().map_or(0, |set| set.desired) == spec.replicas;
    }
    if sums.new.is_some_and(|new| new.desired == spec.replicas && new.available == spec.replicas) {
        return sums.old.iter().all(|set| set.desired == 0);
    }
    let allowed = if spec.replicas > 0 { limits(spec).0 } else { 0 };
    spec.strategy == Strategy::Recreate || all.iter().map(|set| set.desired).sum::<u32>() == allowed
}

/// `rolloutRolling` and `rolloutRecreate` (`rolling.go`, `recreate.go`), told in one step.
pub(super) fn may(spec: &DeploymentSpec, sums: &Sums) -> May {
    let number = |pods: u32| i64::from(pods);
    let n = number(spec.replicas);
    let old: i64 = sums.old.iter().map(|set| number(set.desired)).sum();
    let is_recreate = spec.strategy == Strategy::Recreate;
    if spec.paused {
        return if is_spread(spec, sums) { May::Nothing } else { May::Spread };
    }
    if is_recreate && old > 0 {
        return May::RemoveOld(old);
    }
    // oldPodsRunning
    if is_recreate && sums.old_pods > 0 && sums.new.is_none_or(|new| new.desired < spec.replicas) {
        return May::Nothing;
    }
    let Some(new) = sums.new else { return May::Create };
    let all = old + number(new.desired);
    let (ceiling, floor) = limits(spec);
    // reconcileNewReplicaSet
    if number(new.desired) > n {
        return May::RemoveNew(number(new.desired) - n);
    }
    let add = if is_recreate { n - number(new.desired) } else { (number(ceiling) - all).min(n - number(new.desired)) };
    if add > 0 {
        return May::Add(add);
    }
    // reconcileOldReplicaSets
    let most = all - number(floor) - (number(new.desired) - number(new.available));
    if old == 0 || most <= 0 {
        return May::Nothing;
    }
    let mut cleaned = 0;
    for set in &sums.old {
        cleaned += (most - cleaned).min((number(set.desired) - number(set.available)).max(0));
    }
    let available = number(new.available) + sums.old.iter().map(|set| number(set.available)).sum::<i64>();
    let removed = (available - number(floor)).clamp(0, old - cleaned);
    if cleaned + removed > 0 { May::RemoveOld(cleaned + removed) } else { May::Nothing }
}
