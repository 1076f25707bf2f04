//! Reads of pods that all of the kubelet shares.

use k8s_openapi::api::core::v1::{ContainerState, Pod};

use crate::meta;
use crate::object::Key;
use crate::runtime::Behavior;

pub(crate) fn behavior(pod: &Pod) -> Behavior {
    let containers = pod.spec.as_ref().map(|spec| &spec.containers[..]).unwrap_or_default();
    Behavior::of_image(containers.first().and_then(|container| container.image.as_deref()).unwrap_or_default())
}

pub(crate) fn first_state(pod: &Pod) -> Option<&ContainerState> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()?.state.as_ref()
}

pub(crate) fn waiting(pod: &Pod) -> &str {
    first_state(pod).and_then(|state| state.waiting.as_ref()?.reason.as_deref()).unwrap_or_default()
}

pub(crate) fn is_running(pod: &Pod) -> bool {
    first_state(pod).is_some_and(|state| state.running.is_some())
}

/// Returns the gate that is still closed.
pub(crate) fn closed_gate(pod: &Pod) -> Option<&str> {
    let gates = pod.spec.as_ref()?.readiness_gates.as_deref()?;
    gates.iter().map(|gate| gate.condition_type.as_str()).find(|gate| !meta::is_true(pod, gate))
}

/// Formats a duration as Go does: "10s", "1m20s".
pub(crate) fn duration(millis: i64) -> String {
    let (minutes, seconds) = (millis / 60_000, millis / 1000 % 60);
    if minutes == 0 { format!("{seconds}s") } else { format!("{minutes}m{seconds}s") }
}

/// Returns the name of a pod as kubelets write it.
pub(crate) fn long_name(pod: &Pod) -> String {
    let key = Key::of(&pod.metadata);
    format!("{}_{}({})", key.name, key.namespace, pod.metadata.uid.as_deref().unwrap_or_default())
}
