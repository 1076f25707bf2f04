//! The status of a pod as its kubelet writes it, only from the pod's record (`pkg/kubelet/kubelet_pods.go`, `status/generate.go`).

use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateTerminated, ContainerStatus, HostIP, Pod, PodCondition, PodIP, PodStatus,
};

use crate::kubelet::pod::{closed_gates, running, terminated, waiting_for};
use crate::runtime::{ContainerPhase, ContainerRecord, Exit, PodRecord, full_name};
use crate::time::second;

/// Address of every node.
const HOST: &str = "10.0.0.1";
/// Conditions that a kubelet writes, in its order.
const OWN: [&str; 5] = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];

/// Reason and message of a condition that is false.
type Why = Option<(&'static str, String)>;

pub(super) fn status(life: &PodRecord, pod: &Pod, now: i64) -> PodStatus {
    let mut status = pod.status.clone().unwrap_or_default();
    let phase = phase(life, pod);
    let end = match phase {
        "Succeeded" => Some("PodCompleted"),
        "Failed" => Some("PodFailed"),
        _ => None,
    };
    status.observed_generation = pod.metadata.generation;
    status.phase = Some(phase.to_owned());
    status.start_time.get_or_insert_with(|| second(life.began));
    status.host_ip = Some(HOST.to_owned());
    status.host_ips = Some(vec![HostIP { ip: HOST.to_owned() }]);
    if life.has_sandbox && life.containers.iter().any(|known| known.has_run || known.reason.is_some()) {
        status.pod_ip = Some(life.address.clone());
        status.pod_ips = Some(vec![PodIP { ip: life.address.clone() }]);
    }
    let whys = conditions(life, pod, end);
    let before = status.conditions.take().unwrap_or_default();
    let (own, others): (Vec<_>, Vec<_>) = before.into_iter().partition(|known| OWN.contains(&known.type_.as_str()));
    let made = OWN.into_iter().zip(whys).map(|(r#type, (is_true, why))| {
        let status = if is_true { "True" } else { "False" };
        let known = own.iter().find(|known| known.type_ == r#type && known.status == status);
        PodCondition {
            type_: r#type.to_owned(),
            status: status.to_owned(),
            observed_generation: pod.metadata.generation,
            last_transition_time: known.map_or_else(|| Some(second(now)), |known| known.last_transition_time.clone()),
            reason: why.as_ref().map(|(reason, _)| (*reason).to_owned()),
            message: why.map(|(_, message)| message).filter(|message| !message.is_empty()),
            ..PodCondition::default()
        }
    });
    status.conditions = Some(made.chain(others).collect());
    let made = |known: &ContainerRecord| container(known, life, pod);
    let (init, mut own): (Vec<_>, Vec<_>) = life.containers.iter().partition(|known| known.is_init);
    status.init_container_statuses = (!init.is_empty()).then(|| init.into_iter().map(made).collect());
    own.sort_by(|one, other| one.name.cmp(&other.name));
    status.container_statuses = Some(own.into_iter().map(made).collect());
    status
}

pub(super) fn is_ready(life: &PodRecord, pod: &Pod) -> bool {
    let mut own = life.containers.iter().filter(|known| !known.is_init || known.is_sidecar);
    own.all(|known| known.is_ready) && closed_gates(pod).is_none()
}

fn conditions(life: &PodRecord, pod: &Pod, end: Option<&'static str>) -> [(bool, Why); 5] {
    let ended = || end.map(|reason| (reason, String::new()));
    let named = |is_named: &dyn Fn(&ContainerRecord) -> bool| {
        let names = life.containers.iter().filter(|known| is_named(known)).map(|known| known.name.as_str());
        names.collect::<Vec<_>>().join(" ")
    };
    let incomplete = named(&|known| known.is_init && known.holds_up());
    let has_begun = life.containers.iter().any(|known| !known.is_init && known.has_run);
    let initialized = match end {
        Some("PodCompleted") => (true, ended()),
        _ if incomplete.is_empty() || has_begun => (true, None),
        Some(_) => (false, ended()),
        None => {
            let message = format!("containers with incomplete status: [{incomplete}]");
            (false, Some(("ContainersNotInitialized", message)))
        }
    };
    let unready = named(&|known| (!known.is_init || known.is_sidecar) && !known.is_ready);
    let is_ready = unready.is_empty() && end.is_none();
    let containers = || match end {
        Some(_) => (false, ended()),
        None if unready.is_empty() => (true, None),
        None => (false, Some(("ContainersNotReady", format!("containers with unready status: [{unready}]")))),
    };
    let gates = closed_gates(pod);
    let ready = match &gates {
        Some(gates) if is_ready => (false, Some(("ReadinessGatesNotReady", gates.clone()))),
        _ => containers(),
    };
    [(life.has_sandbox && !life.is_over && end.is_none(), None), initialized, ready, containers(), (true, None)]
}

fn phase(life: &PodRecord, pod: &Pod) -> &'static str {
    let all: Vec<&ContainerRecord> = life.containers.iter().filter(|known| !known.is_init).collect();
    let is_over = |known: &ContainerRecord| {
        known.now == ContainerPhase::Over && (life.stops.is_some() || !known.is_to_run_again(pod))
    };
    if !all.is_empty() && all.iter().all(|known| is_over(known)) {
        let is_well = |known: &&ContainerRecord| known.exits.last().is_some_and(|exit| exit.code == 0);
        return if all.iter().all(is_well) { "Succeeded" } else { "Failed" };
    }
    let failed = |known: &ContainerRecord| {
        known.is_init && known.now == ContainerPhase::Over && known.holds_up() && !known.is_to_run_again(pod)
    };
    if life.containers.iter().any(failed) {
        return "Failed";
    }
    if all.iter().all(|known| known.has_run) { "Running" } else { "Pending" }
}

fn container(known: &ContainerRecord, life: &PodRecord, pod: &Pod) -> ContainerStatus {
    let last = known.exits.last();
    let before = known.exits.len().checked_sub(2).and_then(|index| known.exits.get(index));
    let (state, last_state) = match (known.now, &known.reason, last) {
        (ContainerPhase::Running(since) | ContainerPhase::Ending(since, _), _, last) => (running(second(since)), last),
        (_, Some((reason, message)), last) => (waiting_for(reason, Some(message)), last),
        (_, None, Some(exit)) => (ended(exit, known, pod), before),
        (_, None, None) => {
            let has_init = life.containers.iter().any(|known| known.is_init);
            (waiting_for(if has_init { "PodInitializing" } else { "ContainerCreating" }, None), None)
        }
    };
    ContainerStatus {
        name: known.name.clone(),
        image: if known.has_run { full_name(&known.image) } else { known.image.clone() },
        image_id: if known.has_run { format!("sha256:{}", digest(&known.image)) } else { String::new() },
        container_id: known.has_run.then(|| id(known, pod, known.restarts)),
        ready: known.is_ready,
        started: Some(matches!(known.now, ContainerPhase::Running(_)) && known.is_started),
        restart_count: known.restarts,
        state: Some(state),
        last_state: last_state.map(|exit| ended(exit, known, pod)),
        ..ContainerStatus::default()
    }
}

/// Returns 64 digits that depend on a text.
fn digest(text: &str) -> String {
    let mut random = fastrand::Rng::with_seed(
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)),
    );
    format!("{:032x}{:032x}", random.u128(..), random.u128(..))
}

fn id(known: &ContainerRecord, pod: &Pod, restarts: i32) -> String {
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    format!("containerd://{}", digest(&format!("{uid} {} {restarts}", known.name)))
}

fn ended(exit: &Exit, known: &ContainerRecord, pod: &Pod) -> ContainerState {
    terminated(ContainerStateTerminated {
        exit_code: exit.code,
        reason: Some(exit.reason.to_owned()),
        started_at: Some(second(exit.started)),
        finished_at: Some(second(exit.finished)),
        container_id: Some(id(known, pod, exit.restarts)),
        ..ContainerStateTerminated::default()
    })
}
