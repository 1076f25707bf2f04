//! Validation as in the API server, for the fields that this cluster uses: each invalid field with its path, in Kubernetes' words
//! (`pkg/apis/apps/validation`, `pkg/apis/core/validation`).

mod probe;

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, ReplicaSet};
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::ApiError;
use crate::error::Cause;
use crate::meta::Map;
use crate::object::Object;
use crate::strategy;
use selector::Labels;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const LABEL_KEY: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
const NOT_NEGATIVE: &str = "must be greater than or equal to 0";

/// Checks whether an object may be stored: as a new one, or as a replacement of the previous one.
///
/// # Errors
/// 422 with every invalid field.
pub fn check(object: &Object, before: Option<&Object>) -> Result<(), ApiError> {
    let mut causes = Vec::new();
    let meta = object.meta();
    metadata(meta, &mut causes);
    match (object, before) {
        (Object::Deployment(deployment), _) => self::deployment(deployment, &mut causes),
        (Object::ReplicaSet(set), _) => replica_set(set, &mut causes),
        (Object::Pod(pod), before) => {
            if let Some(spec) = &pod.spec {
                pod_spec(spec, "spec", &mut causes);
            }
            if let Some(Object::Pod(before)) = before {
                is_same_pod(pod, before, &mut causes);
            }
        }
        (Object::ResourceQuota(quota), _) => {
            let hard = quota.spec.iter().filter_map(|spec| spec.hard.as_ref()).flatten();
            for (name, quantity) in hard.filter(|(name, _)| *name == "pods" || name.starts_with("count/")) {
                if quantity.0.parse::<u64>().is_err() {
                    let field = format!("spec.hard[{name}]");
                    causes.push(Cause::invalid(&field, &quantity.0, "must be an integer"));
                }
            }
        }
        _ => {}
    }
    if before.is_some_and(|before| before.selector() != object.selector()) {
        causes.push(Cause::invalid("spec.selector", object.selector(), "field is immutable"));
    }
    if causes.is_empty() {
        return Ok(());
    }
    let name = meta.name.as_deref().or(meta.generate_name.as_deref()).unwrap_or_default();
    Err(ApiError::invalid(object.resource(), name, causes))
}

fn metadata(meta: &ObjectMeta, causes: &mut Vec<Cause>) {
    match meta.name.as_deref() {
        None | Some("") => causes.push(Cause::required("metadata.name", "name or generateName is required")),
        Some(name) if !is_subdomain(name) => {
            causes.push(Cause::invalid("metadata.name", name, SUBDOMAIN));
        }
        Some(_) => {}
    }
    labels(meta.labels.as_ref(), "metadata.labels", causes);
    for key in meta.annotations.iter().flat_map(|annotations| annotations.keys()) {
        if !is_qualified(&key.to_ascii_lowercase()) {
            causes.push(Cause::invalid("metadata.annotations", key, LABEL_KEY));
        }
    }
}

fn labels(labels: Option<&Map>, field: &str, causes: &mut Vec<Cause>) {
    for (key, value) in labels.into_iter().flatten() {
        if !is_qualified(key) {
            causes.push(Cause::invalid(field, key, LABEL_KEY));
        }
        if !value.is_empty() && (value.len() > 63 || !is_name(value)) {
            let detail = if value.len() > 63 { "must be no more than 63 characters" } else { LABEL_VALUE };
            causes.push(Cause::invalid(field, value, detail));
        }
    }
}

fn deployment(deployment: &Deployment, causes: &mut Vec<Cause>) {
    let Some(spec) = &deployment.spec else { return }; // defaults filled it in
    not_negative(spec.replicas, "spec.replicas", causes);
    selector(&spec.selector, Some(&spec.template), causes);
    template(&spec.template, causes);
    deployment_strategy(spec, causes);
    not_negative(spec.min_ready_seconds, "spec.minReadySeconds", causes);
    not_negative(spec.revision_history_limit, "spec.revisionHistoryLimit", causes);
    if let Some(seconds) = spec.progress_deadline_seconds {
        let field = "spec.progressDeadlineSeconds";
        not_negative(Some(seconds), field, causes);
        if seconds <= spec.min_ready_seconds.unwrap_or_default() {
            causes.push(Cause::invalid(field, seconds, "must be greater than minReadySeconds"));
        }
    }
}

fn replica_set(set: &ReplicaSet, causes: &mut Vec<Cause>) {
    let Some(spec) = &set.spec else { return }; // defaults filled it in
    not_negative(spec.replicas, "spec.replicas", causes);
    not_negative(spec.min_ready_seconds, "spec.minReadySeconds", causes);
    selector(&spec.selector, spec.template.as_ref(), causes);
    match &spec.template {
        Some(template) => self::template(template, causes),
        None => causes.push(Cause::required("spec.template", "")),
    }
}

fn deployment_strategy(spec: &DeploymentSpec, causes: &mut Vec<Cause>) {
    let Some(strategy) = &spec.strategy else { return };
    match strategy.type_.as_deref() {
        Some("Recreate") => {
            if strategy.rolling_update.is_some() {
                let detail = "may not be specified when strategy `type` is 'Recreate'";
                causes.push(Cause::forbidden("spec.strategy.rollingUpdate", detail));
            }
        }
        Some("RollingUpdate") => {
            let rolling = strategy.rolling_update.as_ref();
            let surge = rolling.and_then(|rolling| rolling.max_surge.as_ref());
            let unavailable = rolling.and_then(|rolling| rolling.max_unavailable.as_ref());
            let field = "spec.strategy.rollingUpdate.maxUnavailable";
            amount(unavailable, field, causes);
            amount(surge, "spec.strategy.rollingUpdate.maxSurge", causes);
            if let Some(IntOrString::String(text)) = unavailable
                && strategy::percent(text).is_some_and(|percent| percent > 100)
            {
                causes.push(Cause::invalid(field, text, "must not be greater than 100%"));
            }
            let is_zero = |value: Option<&IntOrString>| value.is_some_and(|value| strategy::parts(value).0 == 0);
            if is_zero(surge) && is_zero(unavailable) {
                causes.push(Cause::invalid(field, unavailable, "may not be 0 when `maxSurge` is 0"));
            }
        }
        other => {
            let other = other.unwrap_or_default();
            causes.push(Cause::unsupported("spec.strategy.type", other, &["Recreate", "RollingUpdate"]));
        }
    }
}

fn amount(value: Option<&IntOrString>, field: &str, causes: &mut Vec<Cause>) {
    match value {
        Some(IntOrString::Int(number)) => not_negative(Some(*number), field, causes),
        Some(IntOrString::String(text)) if strategy::percent(text).is_none() => {
            causes.push(Cause::invalid(field, text, PERCENT));
        }
        _ => {}
    }
}

fn not_negative(value: Option<impl Into<i64>>, field: &str, causes: &mut Vec<Cause>) {
    if let Some(value) = value.map(Into::<i64>::into).filter(|value| *value < 0) {
        causes.push(Cause::invalid(field, value, NOT_NEGATIVE));
    }
}

fn selector(selector: &LabelSelector, template: Option<&PodTemplateSpec>, causes: &mut Vec<Cause>) {
    let parsed = Labels::of(selector);
    if parsed.is_empty() {
        causes.push(Cause::required("spec.selector", ""));
        return;
    }
    for (index, expression) in selector.match_expressions.iter().flatten().enumerate() {
        let field = |name: &str| format!("spec.selector.matchExpressions[{index}].{name}");
        let is_empty = expression.values.as_ref().is_none_or(Vec::is_empty);
        match expression.operator.as_str() {
            "In" | "NotIn" if is_empty => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                causes.push(Cause::required(&field("values"), detail));
            }
            "Exists" | "DoesNotExist" if !is_empty => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                causes.push(Cause::forbidden(&field("values"), detail));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => causes.push(Cause::invalid(&field("operator"), other, "not a valid selector operator")),
        }
    }
    let Some(template) = template else { return };
    let none = Map::new();
    let labels = template.metadata.as_ref().and_then(|meta| meta.labels.as_ref()).unwrap_or(&none);
    if !parsed.matches(labels) {
        let detail = "`selector` does not match template `labels`";
        causes.push(Cause::invalid("spec.template.metadata.labels", labels, detail));
    }
}

fn template(template: &PodTemplateSpec, causes: &mut Vec<Cause>) {
    labels(template.metadata.as_ref().and_then(|meta| meta.labels.as_ref()), "spec.template.labels", causes);
    let Some(spec) = &template.spec else { return }; // defaults filled it in
    pod_spec(spec, "spec.template.spec", causes);
    if let Some(policy) = spec.restart_policy.as_deref().filter(|policy| *policy != "Always") {
        causes.push(Cause::unsupported("spec.template.spec.restartPolicy", policy, &["Always"]));
    }
}

fn pod_spec(spec: &PodSpec, field: &str, causes: &mut Vec<Cause>) {
    if spec.containers.is_empty() {
        causes.push(Cause::required(&format!("{field}.containers"), ""));
    }
    let mut names = BTreeSet::new();
    for (list, containers) in container_lists(spec) {
        for (index, container) in containers.into_iter().flatten().enumerate() {
            let field = format!("{field}.{list}[{index}]");
            let is_plain_init = list == "initContainers" && container.restart_policy.as_deref() != Some("Always");
            self::container(container, &field, &mut names, causes);
            probe::probes(container, &field, is_plain_init, causes);
        }
    }
    probe::volumes(spec, field, causes);
    not_negative(spec.termination_grace_period_seconds, &format!("{field}.terminationGracePeriodSeconds"), causes);
}

fn container_lists(spec: &PodSpec) -> [(&'static str, Option<&Vec<Container>>); 2] {
    [("containers", Some(&spec.containers)), ("initContainers", spec.init_containers.as_ref())]
}

fn container<'a>(container: &'a Container, field: &str, names: &mut BTreeSet<&'a str>, causes: &mut Vec<Cause>) {
    only_name(&container.name, &format!("{field}.name"), names, causes);
    let image = container.image.as_deref().unwrap_or_default();
    if image.is_empty() {
        causes.push(Cause::required(&format!("{field}.image"), ""));
    } else if image.trim() != image {
        let detail = "must not have leading or trailing whitespace";
        causes.push(Cause::invalid(&format!("{field}.image"), image, detail));
    }
    let policies = ["Always", "IfNotPresent", "Never"];
    if let Some(policy) = container.image_pull_policy.as_deref().filter(|policy| !policies.contains(policy)) {
        causes.push(Cause::unsupported(&format!("{field}.imagePullPolicy"), policy, &policies));
    }
}

/// Checks that a name is a label and unique in its list.
fn only_name<'a>(name: &'a str, field: &str, names: &mut BTreeSet<&'a str>, causes: &mut Vec<Cause>) {
    if name.is_empty() {
        causes.push(Cause::required(field, ""));
    } else if !is_label(name) {
        causes.push(Cause::invalid(field, name, LABEL));
    } else if !names.insert(name) {
        causes.push(Cause::duplicate(field, name));
    }
}

/// Checks that an update of a pod changes only the allowed fields of its spec.
fn is_same_pod(pod: &Pod, before: &Pod, causes: &mut Vec<Cause>) {
    let (Some(now), Some(before)) = (&pod.spec, &before.spec) else { return };
    let mut allowed = before.clone();
    for (into, from) in allowed.containers.iter_mut().zip(&now.containers) {
        into.image.clone_from(&from.image);
    }
    for (into, from) in allowed.init_containers.iter_mut().flatten().zip(now.init_containers.iter().flatten()) {
        into.image.clone_from(&from.image);
    }
    // Scheduling gates may be removed, not added.
    let is_known = |gate| before.scheduling_gates.iter().flatten().any(|known| known == gate);
    if now.scheduling_gates.iter().flatten().all(is_known) {
        allowed.scheduling_gates.clone_from(&now.scheduling_gates);
    }
    allowed.active_deadline_seconds = now.active_deadline_seconds;
    allowed.tolerations.clone_from(&now.tolerations);
    if *now != allowed {
        causes.push(Cause::forbidden(
            "spec",
            "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
        ));
    }
}

fn is_label(text: &str) -> bool {
    text.len() <= 63 && is_part(text)
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_part)
}

/// Returns whether a text is valid between two dots of a name. Unlike for a label, its length is not limited.
fn is_part(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.bytes().next().is_some_and(is_letter)
        && text.bytes().last().is_some_and(is_letter)
        && text.bytes().all(|byte| is_letter(byte) || byte == b'-')
}

fn is_name(text: &str) -> bool {
    let is_end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    is_end(text.bytes().next())
        && is_end(text.bytes().last())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn is_qualified(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && name.len() <= 63 && is_name(name),
        None => key.len() <= 63 && is_name(key),
    }
}
