//! Targets of requests: kind, namespace, name, subresource and query.

use std::collections::BTreeMap;

use http::{HeaderMap, header};

use crate::{Key, Resource};

/// A subresource of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subresource {
    Whole,
    Status,
    Scale,
    /// An Eviction. Clients only create it.
    Eviction,
}

#[derive(Debug)]
pub struct Target {
    pub resource: Resource,
    pub namespace: Option<String>,
    pub name: Option<String>,
    pub part: Subresource,
    query: BTreeMap<String, String>,
    pub accept: String,
}

impl Target {
    /// Parses `[namespaces NAMESPACE] RESOURCE [NAME [SUBRESOURCE]]` after the group and version.
    pub fn parse(segments: &[&str], query: &str, headers: &HeaderMap) -> Option<Self> {
        let (group, rest) = match segments {
            ["api", "v1", rest @ ..] => ("", rest),
            ["apis", group, "v1", rest @ ..] => (*group, rest),
            _ => return None,
        };
        let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default().to_owned();
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() && *rest != ["status"] => (Some(*namespace), rest),
            rest => (None, rest),
        };
        let [plural, rest @ ..] = rest else { return None };
        let resource = Resource::ALL.into_iter().find(|of| of.plural() == *plural && of.group() == group)?;
        if namespace.is_some() && !resource.is_namespaced() {
            return None;
        }
        let (name, part) = match rest {
            [] => (None, Subresource::Whole),
            [name] => (Some(*name), Subresource::Whole),
            [name, "status"] => (Some(*name), Subresource::Status),
            [name, "scale"] if matches!(resource, Resource::Deployment | Resource::ReplicaSet) => {
                (Some(*name), Subresource::Scale)
            }
            [name, "eviction"] if resource == Resource::Pod => (Some(*name), Subresource::Eviction),
            _ => return None,
        };
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let query = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        Some(Self { resource, namespace: owned(namespace), name: owned(name), part, query, accept })
    }

    pub fn key(&self) -> Key {
        Key::new(self.namespace.as_deref().unwrap_or_default(), self.name.as_deref().unwrap_or_default())
    }

    /// Returns a query parameter; `None` if it is empty.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns whether a query parameter is true.
    pub fn is(&self, name: &str) -> bool {
        self.option(name).is_some_and(|value| value == "true" || value == "1")
    }
}
