//! Label selectors: of objects (`matchLabels`, `matchExpressions`) and of requests (`app=web,tier in (a, b)`); field selectors.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::meta::Map;
use crate::object::Object;
use crate::{ApiError, meta};

/// One requirement on a label.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Absent(String),
}

impl Requirement {
    fn matches(&self, labels: &Map) -> bool {
        match self {
            Self::In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
            Self::NotIn(key, values) => labels.get(key).is_none_or(|value| !values.contains(value)),
            Self::Exists(key) => labels.contains_key(key),
            Self::Absent(key) => !labels.contains_key(key),
        }
    }
}

/// All requirements together; none match everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels(Vec<Requirement>);

impl Labels {
    /// Whether labels fit.
    #[must_use]
    pub fn matches(&self, labels: &Map) -> bool {
        self.0.iter().all(|requirement| requirement.matches(labels))
    }

    /// Whether it matches everything.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Of an object's `selector`.
    #[must_use]
    pub fn of(selector: &LabelSelector) -> Self {
        let mut all = Vec::new();
        for (key, value) in selector.match_labels.iter().flatten() {
            all.push(Requirement::In(key.clone(), vec![value.clone()]));
        }
        for expression in selector.match_expressions.iter().flatten() {
            let (key, values) = (expression.key.clone(), expression.values.clone().unwrap_or_default());
            all.push(match expression.operator.as_str() {
                "In" => Requirement::In(key, values),
                "NotIn" => Requirement::NotIn(key, values),
                "Exists" => Requirement::Exists(key),
                _ => Requirement::Absent(key),
            });
        }
        Self(all)
    }

    /// Of a request: `a=b,c!=d,e,!f,g in (x,y),h notin (z)`.
    ///
    /// # Errors
    /// 400 when it is not one.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        let mut all = Vec::new();
        for part in parts(text) {
            all.push(requirement(part).ok_or_else(|| {
                ApiError::bad_request(format!("unable to parse requirement: {part:?} is not a label requirement"))
            })?);
        }
        Ok(Self(all))
    }
}

/// Parts between commas that stand outside of parentheses.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_u32, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text.get(from..at).unwrap_or_default().trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(from..).unwrap_or_default().trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn requirement(part: &str) -> Option<Requirement> {
    let is_name = |name: &str| !name.is_empty() && !name.contains([' ', '(', ')', '=', '!', ',']);
    let named = |name: &str| is_name(name.trim()).then(|| name.trim().to_owned());
    let set = |list: &str| {
        let inner = list.trim().strip_prefix('(')?.strip_suffix(')')?;
        Some(inner.split(',').map(|value| value.trim().to_owned()).collect::<Vec<_>>())
    };
    if let Some((key, value)) = part.split_once("!=") {
        return Some(Requirement::NotIn(named(key)?, vec![value.trim().to_owned()]));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Some(Requirement::In(named(key)?, vec![value.trim().to_owned()]));
    }
    if let Some((key, list)) = part.split_once(" notin ") {
        return Some(Requirement::NotIn(named(key)?, set(list)?));
    }
    if let Some((key, list)) = part.split_once(" in ") {
        return Some(Requirement::In(named(key)?, set(list)?));
    }
    match part.strip_prefix('!') {
        Some(key) => Some(Requirement::Absent(named(key)?)),
        None => Some(Requirement::Exists(named(part)?)),
    }
}

/// Requirements on fields: `metadata.name=web,status.phase!=Running`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, bool, String)>);

impl Fields {
    /// Reads one.
    ///
    /// # Errors
    /// 400 when it is not one.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        let mut all = Vec::new();
        for part in parts(text) {
            let (field, is_equal, value) = if let Some((field, value)) = part.split_once("!=") {
                (field, false, value)
            } else if let Some((field, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
                (field, true, value)
            } else {
                return Err(ApiError::bad_request(format!("invalid field selector: {part:?}")));
            };
            all.push((field.to_owned(), is_equal, value.to_owned()));
        }
        Ok(Self(all))
    }

    /// Whether it matches everything.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object fits.
    ///
    /// # Errors
    /// 400 for a field that this kind cannot be selected by.
    pub fn matches(&self, object: &Object) -> Result<bool, ApiError> {
        for (field, is_equal, value) in &self.0 {
            let found = selectable(object, field)
                .ok_or_else(|| ApiError::bad_request(format!("field label not supported: {field}")))?;
            if (found == *value) != *is_equal {
                return Ok(false);
            }
        }
        Ok(true)
    }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends where its assumptions do")]

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Map {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn requests_select_as_kubectl_writes_them() {
        let web = labels(&[("app", "web"), ("tier", "front")]);
        for (text, fits) in [
            ("", true),
            ("app=web", true),
            ("app==web,tier=front", true),
            ("app!=web", false),
            ("tier in (front, back)", true),
            ("tier notin (front)", false),
            ("app,!gone", true),
            ("gone", false),
            ("gone!=x", true),
        ] {
            assert_eq!(Labels::parse(text).unwrap().matches(&web), fits, "{text}");
        }
        for wrong in ["app in web", "=web", "a b"] {
            assert_eq!(Labels::parse(wrong).unwrap_err().code, 400, "{wrong}");
        }
    }
}
