//! Defaults of the API server, for the fields that this cluster uses or kubectl shows.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentStrategy, ReplicaSet, RollingUpdateDeployment};
use k8s_openapi::api::core::v1::{Container, Pod, PodSecurityContext, PodSpec, PodTemplateSpec, Probe, Toleration};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::object::Object;

/// Sets the fields for which the API server has defaults if they are absent.
pub fn fill(object: &mut Object) {
    match object {
        Object::Deployment(deployment) => fill_deployment(deployment),
        Object::ReplicaSet(set) => fill_set(set),
        Object::Pod(pod) => fill_pod(pod),
        _ => {}
    }
}

fn fill_deployment(deployment: &mut Deployment) {
    let spec = deployment.spec.get_or_insert_default();
    spec.replicas.get_or_insert(1);
    spec.revision_history_limit.get_or_insert(10);
    spec.progress_deadline_seconds.get_or_insert(600);
    spec.min_ready_seconds = spec.min_ready_seconds.filter(|seconds| *seconds != 0);
    spec.paused = spec.paused.filter(|paused| *paused);
    let strategy = spec.strategy.get_or_insert_with(DeploymentStrategy::default);
    let kind = strategy.type_.get_or_insert_with(|| "RollingUpdate".to_owned());
    if kind == "RollingUpdate" {
        let quarter = || IntOrString::String("25%".to_owned());
        let rolling = strategy.rolling_update.get_or_insert_with(RollingUpdateDeployment::default);
        rolling.max_surge.get_or_insert_with(quarter);
        rolling.max_unavailable.get_or_insert_with(quarter);
    }
    fill_template(&mut spec.template);
}

fn fill_set(set: &mut ReplicaSet) {
    let spec = set.spec.get_or_insert_default();
    spec.replicas.get_or_insert(1);
    spec.min_ready_seconds = spec.min_ready_seconds.filter(|seconds| *seconds != 0);
    if let Some(template) = &mut spec.template {
        fill_template(template);
    }
}

fn fill_template(template: &mut PodTemplateSpec) {
    template.metadata.get_or_insert_default();
    fill_pod_spec(template.spec.get_or_insert_default());
}

fn fill_pod(pod: &mut Pod) {
    let spec = pod.spec.get_or_insert_default();
    fill_pod_spec(spec);
    spec.enable_service_links.get_or_insert(true);
    spec.priority.get_or_insert(0);
    spec.preemption_policy.get_or_insert_with(|| "PreemptLowerPriority".to_owned());
    // Admission (DefaultTolerationSeconds): pods tolerate a lost node for five minutes.
    let tolerations = spec.tolerations.get_or_insert_default();
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let is_there = tolerations.iter().any(|known| {
            known.key.as_deref().is_none_or(|known| known.is_empty() || known == key)
                && known.effect.as_deref().is_none_or(|effect| effect.is_empty() || effect == "NoExecute")
        });
        if !is_there {
            tolerations.push(Toleration {
                key: Some(key.to_owned()),
                operator: Some("Exists".to_owned()),
                effect: Some("NoExecute".to_owned()),
                toleration_seconds: Some(300),
                value: None,
            });
        }
    }
}

fn fill_pod_spec(spec: &mut PodSpec) {
    spec.restart_policy.get_or_insert_with(|| "Always".to_owned());
    spec.termination_grace_period_seconds.get_or_insert(30);
    spec.dns_policy.get_or_insert_with(|| "ClusterFirst".to_owned());
    spec.security_context.get_or_insert_with(PodSecurityContext::default);
    spec.scheduler_name.get_or_insert_with(|| "default-scheduler".to_owned());
    spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten()).for_each(fill_container);
    for volume in spec.volumes.iter_mut().flatten() {
        let source = volume.config_map.as_mut().map(|source| &mut source.default_mode);
        let source = source.or_else(|| volume.secret.as_mut().map(|source| &mut source.default_mode));
        if let Some(mode) = source {
            mode.get_or_insert(0o644);
        }
    }
    // As in Kubernetes, an absent request equals the limit.
    for container in &mut spec.containers {
        if let Some(resources) = &mut container.resources
            && let Some(limits) = resources.limits.clone()
        {
            let requests = resources.requests.get_or_insert_default();
            for (name, quantity) in limits {
                requests.entry(name).or_insert(quantity);
            }
        }
    }
}

fn fill_container(container: &mut Container) {
    container.resources.get_or_insert_default();
    container.termination_message_path.get_or_insert_with(|| "/dev/termination-log".to_owned());
    container.termination_message_policy.get_or_insert_with(|| "File".to_owned());
    let image = container.image.as_deref().unwrap_or_default();
    let tag = image.rsplit('/').next().unwrap_or_default().split_once(':').map(|(_, tag)| tag);
    let policy = if tag.is_none_or(|tag| tag == "latest") { "Always" } else { "IfNotPresent" };
    container.image_pull_policy.get_or_insert_with(|| policy.to_owned());
    for port in container.ports.iter_mut().flatten() {
        port.protocol.get_or_insert_with(|| "TCP".to_owned());
    }
    let probes = [&mut container.startup_probe, &mut container.liveness_probe, &mut container.readiness_probe];
    probes.into_iter().flatten().for_each(fill_probe);
}

fn fill_probe(probe: &mut Probe) {
    for (number, usual) in [
        (&mut probe.timeout_seconds, 1),
        (&mut probe.period_seconds, 10),
        (&mut probe.success_threshold, 1),
        (&mut probe.failure_threshold, 3),
    ] {
        if number.is_none_or(|number| number == 0) {
            *number = Some(usual);
        }
    }
    probe.initial_delay_seconds = probe.initial_delay_seconds.filter(|seconds| *seconds != 0);
    if let Some(http) = &mut probe.http_get {
        http.path.get_or_insert_with(|| "/".to_owned());
        http.scheme.get_or_insert_with(|| "HTTP".to_owned());
    }
    if let Some(grpc) = &mut probe.grpc {
        grpc.service.get_or_insert_default();
    }
}
