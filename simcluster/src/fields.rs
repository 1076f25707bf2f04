//! Field selectors of requests; for label selectors see [`selector::Labels`].

use crate::object::Object;
use crate::{ApiError, meta};

/// A requirement on a field: its path, whether it must equal the value (or must differ), and the value.
pub type Requirement = (String, bool, String);

/// Reads requirements: `metadata.name=web,status.phase!=Running`.
///
/// # Errors
/// 400 if the text is not valid.
pub fn parse(text: &str) -> Result<Vec<Requirement>, ApiError> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (field, is_equal, value) = if let Some((field, value)) = part.split_once("!=") {
                (field, false, value)
            } else if let Some((field, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
                (field, true, value)
            } else {
                return Err(ApiError::bad_request(format!("invalid field selector: {part:?}")));
            };
            Ok((field.to_owned(), is_equal, value.to_owned()))
        })
        .collect()
}

/// Returns whether an object meets all requirements.
///
/// # Errors
/// 400 for a field that this kind does not support in selectors.
pub fn matches(all: &[Requirement], object: &Object) -> Result<bool, ApiError> {
    for (field, is_equal, value) in all {
        let found = selectable(object, field)
            .ok_or_else(|| ApiError::bad_request(format!("field label not supported: {field}")))?;
        if (found == *value) != *is_equal {
            return Ok(false);
        }
    }
    Ok(true)
}

fn selectable(object: &Object, field: &str) -> Option<String> {
    let text = |value: Option<&str>| Some(value.unwrap_or_default().to_owned());
    match (field, object) {
        ("metadata.name", object) => text(object.meta().name.as_deref()),
        ("metadata.namespace", object) => text(object.meta().namespace.as_deref()),
        ("spec.nodeName", Object::Pod(pod)) => text(meta::node_of(pod)),
        ("status.phase", Object::Pod(pod)) => text(Some(meta::phase(pod))),
        ("spec.restartPolicy", Object::Pod(pod)) => text(pod.spec.as_ref().and_then(|s| s.restart_policy.as_deref())),
        ("spec.schedulerName", Object::Pod(pod)) => text(pod.spec.as_ref().and_then(|s| s.scheduler_name.as_deref())),
        ("status.podIP", Object::Pod(pod)) => text(pod.status.as_ref().and_then(|s| s.pod_ip.as_deref())),
        ("status.phase", Object::Namespace(namespace)) => {
            text(namespace.status.as_ref().and_then(|status| status.phase.as_deref()))
        }
        ("spec.unschedulable", Object::Node(node)) => {
            Some(node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or_default().to_string())
        }
        ("status.replicas", Object::ReplicaSet(set)) => {
            Some(set.status.as_ref().map_or(0, |status| status.replicas).to_string())
        }
        ("involvedObject.kind", Object::Event(event)) => text(event.involved_object.kind.as_deref()),
        ("involvedObject.name", Object::Event(event)) => text(event.involved_object.name.as_deref()),
        ("involvedObject.namespace", Object::Event(event)) => text(event.involved_object.namespace.as_deref()),
        ("involvedObject.uid", Object::Event(event)) => text(event.involved_object.uid.as_deref()),
        ("involvedObject.apiVersion", Object::Event(event)) => text(event.involved_object.api_version.as_deref()),
        ("involvedObject.resourceVersion", Object::Event(event)) => {
            text(event.involved_object.resource_version.as_deref())
        }
        ("involvedObject.fieldPath", Object::Event(event)) => text(event.involved_object.field_path.as_deref()),
        ("reason", Object::Event(event)) => text(event.reason.as_deref()),
        ("type", Object::Event(event)) => text(event.type_.as_deref()),
        ("reportingComponent", Object::Event(event)) => text(event.reporting_component.as_deref()),
        ("source", Object::Event(event)) => text(event.source.as_ref().and_then(|source| source.component.as_deref())),
        _ => None,
    }
}
