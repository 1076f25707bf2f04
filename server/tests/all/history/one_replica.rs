//! A Deployment of one replica, in facts whose times and counts a test chooses.

use timeline::episodes::{EpisodeRow, rollout_rows};
use timeline::fact::{
    Condition, ConditionStatus, Container, ContainerState, DeploymentFact, DeploymentNow, DeploymentSpec,
    DeploymentStatus, IntOrPercent, Kind, Meta, Phase, PodFact, ReplicaSetCounts, ReplicaSetFact, ReplicaSetNow, Role,
    Seen, Strategy,
};
use timeline::view::Now;
use timeline::{Fact, Millis, Timeline, Uid};

fn meta(number: u128, name: &str, controller: Option<u128>) -> Meta {
    let [uid, controller] = [Some(number), controller].map(|bits| bits.map(Uid::from_bits));
    Meta { uid: uid.unwrap(), namespace: "shop".into(), name: name.into(), controller, ..Meta::default() }
}

/// One replica, of which so many pods are there, of the revision, and available.
pub fn web(revision: u64, [replicas, updated, available]: [u32; 3]) -> Fact {
    let strategy = Strategy::RollingUpdate { max_surge: IntOrPercent::Int(1), max_unavailable: IntOrPercent::Int(0) };
    let spec =
        DeploymentSpec { replicas: 1, strategy, progress_deadline_seconds: Some(600), ..DeploymentSpec::default() };
    let status =
        DeploymentStatus { observed_generation: revision, replicas, updated, available, ..DeploymentStatus::default() };
    let now =
        DeploymentNow { generation: revision, revision: Some(revision), spec, status, ..DeploymentNow::default() };
    let seen = if available == 0 && revision == 1 { Seen::Added } else { Seen::Modified };
    Fact::Deployment(Box::new(DeploymentFact { meta: meta(1, "web", None), now }), seen)
}

/// Its ReplicaSet of a revision, which asks for one pod.
pub fn set(revision: u64, available: u32, seen: Seen) -> Fact {
    let counts = ReplicaSetCounts { desired: 1, replicas: 1, available };
    let fact = ReplicaSetFact {
        meta: meta(u128::from(revision) + 1, &format!("web-{revision}"), Some(1)),
        revision: Some(revision),
        template_hash: revision.to_string(),
        now: ReplicaSetNow { counts, desired_replicas: Some(1), max_replicas: Some(2), ..ReplicaSetNow::default() },
        ..ReplicaSetFact::default()
    };
    Fact::ReplicaSet(Box::new(fact), seen)
}

/// The pod of a revision, which runs.
pub fn pod(revision: u64, is_ready: bool, seen: Seen) -> Fact {
    let status = if is_ready { ConditionStatus::True } else { ConditionStatus::False };
    let fact = PodFact {
        meta: meta(u128::from(revision) + 100, &format!("web-{revision}-p"), Some(u128::from(revision) + 1)),
        node: Some("node-1".into()),
        phase: Phase::Running,
        ready: Some(Condition { status, last_transition_millis: Some(0), ..Condition::default() }),
        containers: vec![Container { state: Some(ContainerState::Running), ..Container::new("web".into(), Role::App) }],
        ..PodFact::default()
    };
    Fact::Pod(Box::new(fact), seen)
}

/// A pod of a revision that no node fits.
pub fn pending(revision: u64) -> Fact {
    let Fact::Pod(mut pending, _) = pod(revision, false, Seen::Added) else { unreachable!() };
    (pending.meta.uid, pending.meta.name) = (Uid::from_bits(300), format!("web-{revision}-q"));
    (pending.node, pending.phase, pending.containers, pending.ready) = (None, Phase::Pending, Vec::new(), None);
    pending.scheduled = Some(Condition {
        status: ConditionStatus::False,
        reason: "Unschedulable".into(),
        message: "0/3 nodes are available: 3 Insufficient cpu.".into(),
        last_transition_millis: Some(20_000),
        ..Condition::default()
    });
    Fact::Pod(pending, Seen::Added)
}

/// A Deployment that is observed from its creation on. Its only pod is available after five seconds.
pub fn complete() -> Timeline {
    let mut timeline = Timeline::new();
    for kind in Kind::ALL {
        timeline.apply(0, Fact::Listed { kind, namespace: None, present: Vec::new(), gap_since_millis: None });
    }
    let facts = [
        (0, web(1, [1, 1, 0])),
        (0, set(1, 0, Seen::Added)),
        (0, pod(1, false, Seen::Added)),
        (5_000, pod(1, true, Seen::Modified)),
        (5_000, set(1, 1, Seen::Modified)),
        (5_000, web(1, [1, 1, 1])),
    ];
    apply(&mut timeline, facts);
    timeline
}

/// Applies facts, each at its time.
pub fn apply(timeline: &mut Timeline, facts: impl IntoIterator<Item = (Millis, Fact)>) {
    for (at, fact) in facts {
        timeline.apply(at, fact);
    }
}

/// The row of its last rollout in the index.
pub fn last_row(timeline: &Timeline, millis: Millis) -> EpisodeRow {
    rollout_rows::rollouts("c", timeline, Uid::from_bits(1), Now { millis, skew_millis: 0 }, 1).pop().unwrap()
}
