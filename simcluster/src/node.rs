//! Node objects: creation, the status while the kubelet reports, and reads.

use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeStatus, NodeSystemInfo, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

const CONDITIONS: [(&str, &str, &str, &str); 5] = [
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
];

/// Creates a node of 16 CPUs that has not reported yet.
pub fn new_node(name: &str) -> Node {
    let capacity = || {
        let amounts = [("cpu", "16"), ("memory", "64Gi"), ("pods", "250")];
        Some(amounts.into_iter().map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned()))).collect())
    };
    Node {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some([("kubernetes.io/hostname".to_owned(), name.to_owned())].into()),
            ..ObjectMeta::default()
        },
        spec: None,
        status: Some(NodeStatus { capacity: capacity(), allocatable: capacity(), ..NodeStatus::default() }),
    }
}

/// Returns whether a node takes pods and runs them.
pub fn is_ready(node: &Node) -> bool {
    let mut conditions = node.status.iter().flat_map(|status| &status.conditions).flatten();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Sets a node's status as its kubelet reports it.
pub fn set_ready(node: &mut Node, now: &Time) {
    let known = node.status.clone().unwrap_or_default().conditions.unwrap_or_default();
    let status = node.status.get_or_insert_default();
    let made = CONDITIONS.map(|(r#type, status, reason, message)| {
        let before = known.iter().find(|known| known.type_ == r#type && known.status == status);
        NodeCondition {
            type_: r#type.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            last_heartbeat_time: Some(now.clone()),
            last_transition_time: before.map_or_else(|| Some(now.clone()), |known| known.last_transition_time.clone()),
        }
    });
    status.phase = Some("Running".to_owned());
    status.conditions = Some(made.to_vec());
    status.node_info.get_or_insert_with(|| NodeSystemInfo {
        architecture: "amd64".to_owned(),
        operating_system: "linux".to_owned(),
        kubelet_version: "v1.36.3-simcluster".to_owned(),
        container_runtime_version: "simcluster".to_owned(),
        ..NodeSystemInfo::default()
    });
}

/// Returns whether a node was cordoned: it takes no new pods.
pub fn is_cordoned(node: &Node) -> bool {
    node.spec.as_ref().and_then(|spec| spec.unschedulable) == Some(true)
}

pub fn taints(node: &Node) -> &[Taint] {
    node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default()
}

/// Returns the taints that evict pods which do not tolerate them.
pub fn no_execute_taints(node: &Node) -> impl Iterator<Item = &Taint> {
    taints(node).iter().filter(|taint| taint.effect == "NoExecute")
}
