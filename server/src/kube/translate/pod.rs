//! Pods: their containers with states and exits, and their conditions.

use k8s_openapi::api::core::v1::{ContainerRestartRuleOnExitCodes, PodSchedulingGate};
use timeline::fact::{
    Condition, ConditionStatus, Container, ContainerState, Exit, Phase, PodCondition, PodFact, RESTARTING_ALL, Role,
    STATUS_UNKNOWN,
};
use timeline::rules::messages::GATED;
use timeline::rules::pulls::is_image_reason;

use super::{
    LONGEST_CONDITION, MOST_CONTAINERS, Unusable, beginning, condition, condition_status, cut, meta, millis, number,
    parse_optional,
};
use crate::kube::decode;

/// Conditions of Kubernetes itself, with their normal status.
const OWN_CONDITIONS: [(&str, &str); 7] = [
    ("PodScheduled", "True"),
    ("PodReadyToStartContainers", "True"),
    ("Initialized", "True"),
    ("ContainersReady", "True"),
    ("Ready", "True"),
    ("DisruptionTarget", "False"),
    ("AllContainersRestarting", "False"),
];
/// Largest number of kept conditions of a pod.
const MOST_CONDITIONS: usize = 16;

pub(super) fn fact(object: decode::Pod) -> Result<PodFact, Unusable> {
    let (mut spec, status) = (object.spec, object.status);
    spec.init_containers.truncate(MOST_CONTAINERS);
    spec.containers.truncate(MOST_CONTAINERS);
    let mut containers = Vec::with_capacity(spec.init_containers.len() + spec.containers.len());
    for container in spec.init_containers {
        let role = if container.restart_policy == "Always" { Role::Sidecar } else { Role::Init };
        containers.push(self::container(container, role, &status.init_container_statuses));
    }
    for container in spec.containers {
        containers.push(self::container(container, Role::App, &status.container_statuses));
    }
    let disruption = condition(&status.conditions, "DisruptionTarget").filter(|c| c.status == ConditionStatus::True);
    Ok(PodFact {
        deletion_at_millis: millis(object.metadata.deletion_timestamp.as_deref()),
        node: Some(spec.node_name).filter(|node| !node.is_empty()),
        nominated_node: Some(status.nominated_node_name).filter(|node| !node.is_empty()),
        phase: match status.phase.as_str() {
            "Pending" => Phase::Pending,
            "Running" => Phase::Running,
            "Succeeded" => Phase::Succeeded,
            "Failed" => Phase::Failed,
            _ => Phase::Unknown,
        },
        reason: status.reason,
        message: beginning(&status.message, LONGEST_CONDITION),
        ready: condition(&status.conditions, "Ready"),
        scheduled: condition(&status.conditions, "PodScheduled")
            .and_then(|told| with_gates(told, &spec.scheduling_gates)),
        disruption: disruption.map(|c| c.reason),
        is_graceless: spec.termination_grace_period_seconds == Some(0),
        deletion_cost: parse_optional(object.metadata.annotations.pod_deletion_cost.as_deref()).unwrap_or_default(),
        containers,
        conditions: conditions(status.conditions),
        meta: meta(object.metadata, "ReplicaSet")?,
    })
}

/// Returns whether the kubelet restarts a container that ended with this exit code (`ContainerShouldRestart` in
/// `pkg/api/v1/pod/util.go`). The policy of a ReplicaSet's pods is Always.
fn is_started_again(spec: &decode::ContainerSpec, exit_code: i32) -> bool {
    let is_meant = |codes: &ContainerRestartRuleOnExitCodes| {
        let is_named = codes.values.iter().flatten().any(|code| *code == exit_code);
        matches!((codes.operator.as_str(), is_named), ("In", true) | ("NotIn", false))
    };
    let rule = spec.restart_policy_rules.iter().find(|rule| rule.exit_codes.as_ref().is_some_and(is_meant));
    let is_ruled = rule.is_some_and(|rule| matches!(rule.action.as_str(), "Restart" | "RestartAllContainers"));
    is_ruled
        || match spec.restart_policy.as_str() {
            "Never" => false,
            "OnFailure" => exit_code != 0,
            _ => true,
        }
}

fn container(spec: decode::ContainerSpec, role: Role, statuses: &[decode::ContainerStatus]) -> Container {
    let none = decode::ContainerStatus::default();
    let status = statuses.iter().find(|status| status.name == spec.name).unwrap_or(&none);
    let decode::ContainerState { waiting, running, terminated } = &status.state;
    let state = match (waiting, terminated, running) {
        (Some(waiting), ..) => {
            Some(ContainerState::Waiting { reason: waiting.reason.clone(), message: cut(&waiting.message) })
        }
        (None, Some(ended), _) => Some(ContainerState::Terminated {
            exit_code: exit_code(ended),
            reason: ended.reason.clone(),
            message: cut(&ended.message),
        }),
        (None, None, running) => running.as_ref().map(|_| ContainerState::Running),
    };
    // A placeholder for a container that is not found hides the last observed end.
    let (now, last) = (terminated.as_ref(), status.last_state.terminated.as_ref());
    let ended = now.filter(|now| now.reason != STATUS_UNKNOWN).or(last).or(now);
    // The kubelet counts a restart when it starts a container, so the present end is not counted yet. A placeholder is.
    let is_restarted = status.restart_count.is_some_and(|count| count > 0);
    let is_since = now.is_some_and(|now| !matches!(now.reason.as_str(), STATUS_UNKNOWN | RESTARTING_ALL));
    let before_restart = last.filter(|_| is_restarted && is_since);
    let is_final =
        now.is_some_and(|ended| ended.reason != RESTARTING_ALL && !is_started_again(&spec, exit_code(ended)));
    let waits_for_image = match waiting {
        // Before the kubelet resolves the image, the status may lack it.
        Some(waiting) if is_image_reason(&waiting.reason) => {
            cut(if status.image.is_empty() { &spec.image } else { &status.image })
        }
        _ => String::new(),
    };
    Container {
        name: spec.name,
        role,
        state,
        restarts: status.restart_count.map_or(0, number),
        is_final,
        restarts_all: spec.restart_policy_rules.iter().any(|rule| rule.action == "RestartAllContainers"),
        last_exit: ended.map(|ended| Box::new(exit(ended))),
        exit_before_restart: before_restart.map(|ended| Box::new(exit(ended))),
        started_millis: running.as_ref().and_then(|running| millis(running.started_at.as_deref())),
        is_in_startup: running.is_some() && status.started == Some(false),
        exits_before: 0,
        first_restart: None,
        waits_for_image,
    }
}

fn exit(ended: &decode::Terminated) -> Exit {
    let finished_millis = millis(ended.finished_at.as_deref());
    Exit {
        code: exit_code(ended),
        reason: ended.reason.clone(),
        message: if Exit::is_start_error(&ended.reason) { cut(&ended.message) } else { String::new() },
        finished_millis,
        // The kubelet writes the epoch for a container that could not start.
        ran_millis: finished_millis
            .zip(millis(ended.started_at.as_deref()).filter(|start| *start > 0))
            .map(|(end, start)| end.saturating_sub(start).max(0)),
    }
}

fn exit_code(ended: &decode::Terminated) -> i32 {
    ended.exit_code.and_then(|code| i32::try_from(code).ok()).unwrap_or(0)
}

/// Adds the names of scheduling gates to Kubernetes' message, which omits them. Returns `None` once the gates are removed: the
/// condition remains until the scheduler writes another one, but no longer applies.
fn with_gates(mut told: Condition, gates: &[PodSchedulingGate]) -> Option<Condition> {
    if told.reason == GATED {
        if gates.is_empty() {
            return None;
        }
        let names = gates.iter().map(|gate| gate.name.as_str()).collect::<Vec<_>>().join(", ");
        told.message = format!("{}: {}", cut(&told.message), cut(&names));
    }
    Some(told)
}

/// Returns the notable conditions: those of readiness gates, and Kubernetes' own with an unexpected status.
fn conditions(conditions: Vec<decode::Condition>) -> Vec<PodCondition> {
    let worth = |condition: &decode::Condition| {
        !OWN_CONDITIONS.contains(&(condition.r#type.as_str(), condition.status.as_str()))
    };
    let convert = |condition: decode::Condition| PodCondition {
        status: condition_status(&condition.status),
        kind: condition.r#type,
        reason: condition.reason,
        message: cut(&condition.message),
    };
    conditions.into_iter().filter(worth).take(MOST_CONDITIONS).map(convert).collect()
}
