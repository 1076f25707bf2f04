//! Validation of probes and volumes, as in the API server.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, PodSpec, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{container_lists, not_negative, only_name};
use crate::error::Cause;

const PORT: &str = "must be between 1 and 65535, inclusive";

pub(super) fn probes(container: &Container, field: &str, is_plain_init: bool, causes: &mut Vec<Cause>) {
    let all = [
        ("livenessProbe", &container.liveness_probe),
        ("readinessProbe", &container.readiness_probe),
        ("startupProbe", &container.startup_probe),
    ];
    for (name, probe) in all {
        let Some(probe) = probe else { continue };
        let field = format!("{field}.{name}");
        if is_plain_init {
            causes.push(Cause::forbidden(&field, "may not be set for init containers without restartPolicy=Always"));
            continue;
        }
        self::probe(probe, &field, causes);
        if name != "readinessProbe"
            && let Some(count) = probe.success_threshold.filter(|count| *count != 1)
        {
            causes.push(Cause::invalid(&format!("{field}.successThreshold"), count, "must be 1"));
        }
        if let Some(seconds) = probe.termination_grace_period_seconds {
            let field = format!("{field}.terminationGracePeriodSeconds");
            if name == "readinessProbe" {
                let detail = "must not be set for readinessProbes";
                causes.push(Cause::invalid(&field, seconds, detail));
            } else if seconds <= 0 {
                causes.push(Cause::invalid(&field, seconds, "must be greater than 0"));
            }
        }
    }
}

fn probe(probe: &Probe, field: &str, causes: &mut Vec<Cause>) {
    let handlers = [
        ("exec", probe.exec.is_some()),
        ("httpGet", probe.http_get.is_some()),
        ("tcpSocket", probe.tcp_socket.is_some()),
        ("grpc", probe.grpc.is_some()),
    ];
    let mut given = handlers.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name);
    if given.next().is_none() {
        causes.push(Cause::required(field, "must specify a handler type"));
    }
    for name in given {
        causes.push(Cause::forbidden(&format!("{field}.{name}"), "may not specify more than 1 handler type"));
    }
    let http = probe.http_get.as_ref().map(|http| ("httpGet", &http.port));
    let tcp = probe.tcp_socket.as_ref().map(|tcp| ("tcpSocket", &tcp.port));
    for (name, port) in http.into_iter().chain(tcp) {
        if let IntOrString::Int(port) = port
            && !(1..=65535).contains(port)
        {
            causes.push(Cause::invalid(&format!("{field}.{name}.port"), port, PORT));
        }
    }
    for (name, number) in [
        ("initialDelaySeconds", probe.initial_delay_seconds),
        ("timeoutSeconds", probe.timeout_seconds),
        ("periodSeconds", probe.period_seconds),
        ("successThreshold", probe.success_threshold),
        ("failureThreshold", probe.failure_threshold),
    ] {
        not_negative(number, &format!("{field}.{name}"), causes);
    }
}

/// Checks the volumes of a pod and the volume mounts of its containers.
pub(super) fn volumes(spec: &PodSpec, field: &str, causes: &mut Vec<Cause>) {
    let mut names = BTreeSet::new();
    for (index, volume) in spec.volumes.iter().flatten().enumerate() {
        only_name(&volume.name, &format!("{field}.volumes[{index}].name"), &mut names, causes);
        if volume.config_map.as_ref().is_some_and(|source| source.name.is_empty()) {
            causes.push(Cause::required(&format!("{field}.volumes[{index}].configMap.name"), ""));
        }
    }
    for (list, containers) in container_lists(spec) {
        for (index, container) in containers.into_iter().flatten().enumerate() {
            let mut paths = BTreeSet::new();
            for (place, mount) in container.volume_mounts.iter().flatten().enumerate() {
                let field = format!("{field}.{list}[{index}].volumeMounts[{place}]");
                if !names.contains(mount.name.as_str()) {
                    causes.push(Cause::not_found(&format!("{field}.name"), &mount.name));
                }
                if mount.mount_path.is_empty() {
                    causes.push(Cause::required(&format!("{field}.mountPath"), ""));
                } else if !paths.insert(mount.mount_path.as_str()) {
                    causes.push(Cause::invalid(&format!("{field}.mountPath"), &mount.mount_path, "must be unique"));
                }
            }
        }
    }
}
