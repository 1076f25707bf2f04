//! Cells of tables.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStatus, Event, Node, Pod, PodReadinessGate, PodStatus, PodTemplateSpec, ResourceQuota,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use crate::node;
use crate::object::Object;
use crate::{events, meta, time};

/// Formats an age as kubectl prints it, with at most two units; "0s" for a future time.
fn age(millis: i64) -> String {
    let seconds = millis / 1000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |big: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 { format!("{big}{unit}") } else { format!("{big}{unit}{small}{small_unit}") }
    };
    match seconds {
        ..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        _ => format!("{days}d"),
    }
}

fn since(time: Option<&Time>, now_millis: i64) -> String {
    time.map_or_else(|| "<unknown>".to_owned(), |time| age(now_millis - time::millis(time)))
}

fn or_none(text: Option<&str>) -> &str {
    text.filter(|text| !text.is_empty()).unwrap_or("<none>")
}

fn containers(template: Option<&PodTemplateSpec>) -> (String, String) {
    let all = template.and_then(|template| template.spec.as_ref()).map(|spec| &spec.containers[..]).unwrap_or_default();
    let names: Vec<&str> = all.iter().map(|container| container.name.as_str()).collect();
    let images: Vec<&str> = all.iter().filter_map(|container| container.image.as_deref()).collect();
    (names.join(","), images.join(","))
}

/// Returns the cells of one object, in the order of its kind's columns.
pub fn cells(object: &Object, now_millis: i64) -> Value {
    let meta = object.meta();
    let name = meta.name.as_deref().unwrap_or_default();
    let old = since(meta.creation_timestamp.as_ref(), now_millis);
    match object {
        Object::Deployment(deployment) => {
            let (spec, status) = (deployment.spec.as_ref(), deployment.status.clone().unwrap_or_default());
            let ready = format!("{}/{}", status.ready_replicas.unwrap_or_default(), meta::desired(deployment));
            let updated = status.updated_replicas.unwrap_or_default();
            let available = status.available_replicas.unwrap_or_default();
            let (names, images) = containers(spec.map(|spec| &spec.template));
            json!([name, ready, updated, available, old, names, images, meta::selector_text(object)])
        }
        Object::ReplicaSet(set) => {
            let (spec, status) = (set.spec.as_ref(), set.status.clone().unwrap_or_default());
            let (desired, ready) = (meta::replicas_of(set), status.ready_replicas.unwrap_or_default());
            let (names, images) = containers(spec.and_then(|spec| spec.template.as_ref()));
            json!([name, desired, status.replicas, ready, old, names, images, meta::selector_text(object)])
        }
        Object::Pod(pod) => pod_cells(pod, name, &old, now_millis),
        Object::Event(event) => event_cells(event, name, now_millis),
        Object::Node(node) => node_cells(node, name, &old),
        Object::Namespace(namespace) => {
            json!([name, namespace.status.as_ref().and_then(|status| status.phase.as_deref()), old])
        }
        Object::ResourceQuota(quota) => json!([name, used(quota), "", old]),
        Object::ConfigMap(map) => {
            let texts = map.data.as_ref().map_or(0, BTreeMap::len);
            json!([name, texts + map.binary_data.as_ref().map_or(0, BTreeMap::len), old])
        }
        Object::EndpointSlice(slice) => {
            let ports: Vec<String> =
                slice.ports.iter().flatten().filter_map(|port| port.port).map(|port| port.to_string()).collect();
            let addresses: Vec<&str> =
                slice.endpoints.iter().flatten().flat_map(|endpoint| &endpoint.addresses).map(String::as_str).collect();
            let shown = |all: String| if all.is_empty() { "<unset>".to_owned() } else { all };
            json!([name, slice.address_type, shown(ports.join(",")), shown(addresses.join(",")), old])
        }
    }
}

fn used(quota: &ResourceQuota) -> String {
    let status = quota.status.clone().unwrap_or_default();
    let used = status.used.unwrap_or_default();
    let amount = |name: &String| used.get(name).map_or("0", |quantity| quantity.0.as_str()).to_owned();
    let all: Vec<String> =
        status.hard.iter().flatten().map(|(name, hard)| format!("{name}: {}/{}", amount(name), hard.0)).collect();
    all.join(", ")
}

fn reason_of(state: Option<&ContainerState>) -> Option<String> {
    let state = state?;
    if let Some(reason) = state.waiting.as_ref().and_then(|waiting| waiting.reason.clone()) {
        return Some(reason);
    }
    let ended = state.terminated.as_ref()?;
    Some(ended.reason.clone().unwrap_or_else(|| format!("ExitCode:{}", ended.exit_code)))
}

/// Returns the init containers that keep running.
fn sidecars<'s>(pod: &Pod, status: &'s PodStatus) -> Vec<&'s ContainerStatus> {
    let spec = pod.spec.iter().filter_map(|spec| spec.init_containers.as_ref()).flatten();
    let names: Vec<&str> = spec
        .filter(|container| container.restart_policy.as_deref() == Some("Always"))
        .map(|container| container.name.as_str())
        .collect();
    let all = status.init_container_statuses.iter().flatten();
    all.filter(|container| names.contains(&container.name.as_str())).collect()
}

/// Formats the progress of the init containers as kubectl does; `None` if they are done.
fn initializing(pod: &Pod, status: &PodStatus) -> Option<String> {
    let all = status.init_container_statuses.as_deref()?;
    let sidecars = sidecars(pod, status);
    let is_done = |container: &ContainerStatus| {
        let ended = container.state.as_ref().and_then(|state| state.terminated.as_ref());
        let is_up = container.started == Some(true) && sidecars.iter().any(|sidecar| sidecar.name == container.name);
        ended.is_some_and(|ended| ended.exit_code == 0) || is_up
    };
    let (done, next) = all.iter().enumerate().find(|(_, container)| !is_done(container))?;
    let reason = reason_of(next.state.as_ref()).filter(|reason| reason != "PodInitializing");
    Some(reason.map_or_else(|| format!("Init:{done}/{}", all.len()), |reason| format!("Init:{reason}")))
}

fn pod_cells(pod: &Pod, name: &str, old: &str, now_millis: i64) -> Value {
    let status = pod.status.clone().unwrap_or_default();
    let containers = status.container_statuses.as_deref().unwrap_or_default();
    let ready = containers
        .iter()
        .filter(|container| container.ready && container.state.as_ref().is_some_and(|state| state.running.is_some()))
        .count();
    let sidecars = sidecars(pod, &status);
    let ready = ready + sidecars.iter().filter(|sidecar| sidecar.ready).count();
    let count = pod.spec.as_ref().map_or(0, |spec| spec.containers.len()) + sidecars.len();
    let initializing = initializing(pod, &status);
    let init = status.init_container_statuses.as_deref().unwrap_or_default().iter();
    let init: Vec<&ContainerStatus> = if initializing.is_some() { init.collect() } else { sidecars };
    // While the pod initializes, the restarts of its init containers count.
    let containers: Vec<&ContainerStatus> =
        if initializing.is_some() { init } else { containers.iter().chain(init).collect() };
    let restarts: i32 = containers.iter().map(|container| container.restart_count).sum();
    let last = containers
        .iter()
        .filter_map(|container| container.last_state.as_ref()?.terminated.as_ref()?.finished_at.clone())
        .max();
    let restarts = match last {
        Some(last) if restarts > 0 => format!("{restarts} ({} ago)", since(Some(&last), now_millis)),
        _ => restarts.to_string(),
    };
    let mut word = status.reason.clone().unwrap_or_else(|| status.phase.clone().unwrap_or_default());
    if meta::condition(pod, "PodScheduled").is_some_and(|known| known.reason.as_deref() == Some("SchedulingGated")) {
        word = "SchedulingGated".to_owned();
    }
    if let Some(initializing) = initializing {
        word = initializing;
    } else if let Some(reason) = containers.iter().rev().find_map(|container| reason_of(container.state.as_ref())) {
        word = reason;
    }
    if meta::is_deleting(&pod.metadata) {
        word = "Terminating".to_owned();
    }
    let gates = match pod.spec.as_ref().and_then(|spec| spec.readiness_gates.as_ref()) {
        Some(gates) => {
            let is_open = |gate: &&PodReadinessGate| meta::is_true(pod, &gate.condition_type);
            format!("{}/{}", gates.iter().filter(is_open).count(), gates.len())
        }
        None => "<none>".to_owned(),
    };
    let (address, node) = (or_none(status.pod_ip.as_deref()), or_none(meta::node_of(pod)));
    json!([name, format!("{ready}/{count}"), word, restarts, old, address, node, "<none>", gates])
}

fn event_cells(event: &Event, name: &str, now_millis: i64) -> Value {
    let about = &event.involved_object;
    let object = format!(
        "{}/{}",
        about.kind.as_deref().unwrap_or_default().to_ascii_lowercase(),
        about.name.as_deref().unwrap_or_default()
    );
    let made = event.event_time.as_ref().map(|time| age(now_millis - time.0.as_millisecond()));
    let last = events::last_millis(event).map(|last| age(now_millis - last)).or_else(|| made.clone());
    let first = event.first_timestamp.as_ref().map(|time| since(Some(time), now_millis)).or(made);
    let in_series = event.series.as_ref().and_then(|series| series.count);
    let count = in_series.or(event.count).unwrap_or(1);
    let seen = match (&last, &first) {
        (Some(last), Some(first)) if count > 1 => format!("{last} (x{count} over {first})"),
        (Some(last), _) => last.clone(),
        _ => "<unknown>".to_owned(),
    };
    let source =
        event.source.as_ref().and_then(|source| source.component.clone()).or_else(|| event.reporting_component.clone());
    let part = about.field_path.clone().unwrap_or_default();
    json!([seen, event.type_, event.reason, object, event.message, part, source, first, count, name])
}

fn node_cells(node: &Node, name: &str, old: &str) -> Value {
    let mut word = if node::is_ready(node) { "Ready" } else { "NotReady" }.to_owned();
    if node::is_cordoned(node) {
        word.push_str(",SchedulingDisabled");
    }
    let info = node.status.as_ref().and_then(|status| status.node_info.clone()).unwrap_or_default();
    let or_unknown = |text: String| if text.is_empty() { "<unknown>".to_owned() } else { text };
    let version = info.kubelet_version;
    let [system, kernel, runtime] =
        [info.os_image, info.kernel_version, info.container_runtime_version].map(or_unknown);
    json!([name, word, "<none>", old, version, "<none>", "<none>", system, kernel, runtime])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_kubectls() {
        for (seconds, expected) in [
            (-3, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (700, "11m"),
            (10_860, "3h1m"),
            (90_000, "25h"),
            (180_000, "2d2h"),
            (900_000, "10d"),
        ] {
            assert_eq!(age(seconds * 1000), expected);
        }
    }

    #[test]
    fn init_containers_are_told_as_kubectl_does() {
        let word = |init: serde_json::Value| {
            let pod: Pod = serde_json::from_value(json!({
                "spec": {
                    "initContainers": [{ "name": "a", "restartPolicy": "Always" }, { "name": "b" }],
                    "containers": [{ "name": "web" }],
                },
                "status": { "phase": "Pending", "initContainerStatuses": init, "containerStatuses": [] },
            }))
            .unwrap_or_default();
            pod_cells(&pod, "web", "1s", 0).as_array().map(|cells| cells.iter().take(4).cloned().collect::<Vec<_>>())
        };
        let status = |name: &str, state: Value, more: (bool, i32)| json!({ "name": name, "image": "", "imageID": "", "ready": more.0, "started": more.0, "restartCount": more.1, "state": state });
        let running = || json!({ "running": {} });
        let told = |ready: &str, word: &str, restarts: &str| {
            Some(vec![json!("web"), json!(ready), json!(word), json!(restarts)])
        };
        let up = status("a", running(), (true, 0));
        assert_eq!(word(json!([status("a", running(), (false, 0))])), told("0/2", "Init:0/1", "0"));
        assert_eq!(word(json!([up, status("b", running(), (false, 0))])), told("1/2", "Init:1/2", "0"));
        let waits = json!({ "waiting": { "reason": "CrashLoopBackOff" } });
        assert_eq!(word(json!([up, status("b", waits, (false, 3))])), told("1/2", "Init:CrashLoopBackOff", "3"));
        let done = json!({ "terminated": { "exitCode": 0 } });
        assert_eq!(word(json!([up, status("b", done, (true, 0))])), told("1/2", "Pending", "0"));
    }
}
