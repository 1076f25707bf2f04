//! Errors in the API server's words: a code, a reason, a message, and for invalid objects the fields.

use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;

use crate::object::Resource;

/// An error response of the API server.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ApiError {
    /// HTTP status.
    pub code: u16,
    /// Machine-readable reason: "NotFound", "Invalid", ….
    pub reason: &'static str,
    /// `message` of the Status, shown to people.
    pub message: String,
    /// Subject: kind (or resource) and name.
    about: Option<(Resource, String)>,
    /// Invalid fields.
    pub causes: Vec<Cause>,
}

/// An invalid field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// "FieldValueInvalid", "FieldValueRequired", ….
    pub reason: &'static str,
    /// Path of the field: `spec.replicas`.
    pub field: String,
    /// The problem.
    pub message: String,
}

impl Cause {
    fn new(reason: &'static str, field: &str, message: String) -> Self {
        Self { reason, field: field.to_owned(), message }
    }

    /// Reports a value that is not allowed. The message contains it as JSON.
    pub fn invalid(field: &str, value: impl Serialize, detail: &str) -> Self {
        let value = serde_json::to_string(&value).unwrap_or_default();
        Self::new("FieldValueInvalid", field, format!("Invalid value: {value}: {detail}"))
    }

    /// Reports a missing value.
    pub fn required(field: &str, detail: &str) -> Self {
        let message = if detail.is_empty() { "Required value".to_owned() } else { format!("Required value: {detail}") };
        Self::new("FieldValueRequired", field, message)
    }

    /// Reports a value that is not among the supported ones.
    pub fn unsupported(field: &str, value: &str, known: &[&str]) -> Self {
        let known: Vec<String> = known.iter().map(|known| format!("\"{known}\"")).collect();
        let message = format!("Unsupported value: \"{value}\": supported values: {}", known.join(", "));
        Self::new("FieldValueNotSupported", field, message)
    }

    /// Reports a value that must be absent.
    pub fn forbidden(field: &str, detail: &str) -> Self {
        Self::new("FieldValueForbidden", field, format!("Forbidden: {detail}"))
    }

    /// Reports a reference to something that does not exist.
    pub fn not_found(field: &str, value: &str) -> Self {
        Self::new("FieldValueNotFound", field, format!("Not found: \"{value}\""))
    }

    /// Reports a value that occurs twice.
    pub fn duplicate(field: &str, value: &str) -> Self {
        Self::new("FieldValueDuplicate", field, format!("Duplicate value: \"{value}\""))
    }
}

impl ApiError {
    fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), about: None, causes: Vec::new() }
    }

    fn about(mut self, resource: Resource, name: &str) -> Self {
        self.about = Some((resource, name.to_owned()));
        self
    }

    /// Returns a 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// Returns a 404 for an object.
    pub fn not_found(resource: Resource, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} not found", object_name(resource, name))).about(resource, name)
    }

    /// Returns a 404 for an unknown path.
    pub fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource")
    }

    /// Returns a 405.
    pub fn not_allowed() -> Self {
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
    }

    /// Returns a 409, because the object already exists.
    pub fn already_exists(resource: Resource, name: &str) -> Self {
        Self::new(409, "AlreadyExists", format!("{} already exists", object_name(resource, name))).about(resource, name)
    }

    /// Returns a 409, because a precondition failed.
    pub fn conflict(resource: Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {}: {why}", object_name(resource, name));
        Self::new(409, "Conflict", message).about(resource, name)
    }

    /// Returns a 403.
    pub fn forbidden(resource: Resource, name: &str, why: &str) -> Self {
        Self::new(403, "Forbidden", format!("{} is forbidden: {why}", object_name(resource, name)))
            .about(resource, name)
    }

    /// Returns a 410, because the resourceVersion is too old.
    pub fn expired(asked: u64, oldest: u64) -> Self {
        Self::new(410, "Expired", format!("too old resource version: {asked} ({oldest})"))
    }

    /// Returns a 415.
    pub fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// Returns a 422 with the invalid fields.
    pub fn invalid(resource: Resource, name: &str, causes: Vec<Cause>) -> Self {
        let list = join_causes(&causes);
        let list = if causes.len() == 1 { list } else { format!("[{list}]") };
        let kind = resource.qualified(resource.kind());
        let error = Self::new(422, "Invalid", format!("{kind} \"{name}\" is invalid: {list}"));
        Self { causes, ..error.about(resource, name) }
    }

    /// Returns a 422 for the options of a list or a watch.
    pub fn invalid_options(causes: Vec<Cause>) -> Self {
        let message = format!("ListOptions.meta.k8s.io \"\" is invalid: {}", join_causes(&causes));
        Self { causes, ..Self::new(422, "Invalid", message) }
    }

    /// Returns a 422 for a patch that cannot be applied.
    pub fn cannot_patch(message: String) -> Self {
        Self::new(422, "Invalid", format!("the server rejected our request due to an error in our request: {message}"))
    }

    /// Returns the error as a `Status` object.
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        let mut details = serde_json::Map::new();
        if let Some((resource, name)) = &self.about {
            // As Kubernetes does: the kind if fields are invalid, the resource otherwise.
            let kind = if self.code == 422 { resource.kind() } else { resource.plural() };
            details.insert("name".to_owned(), json!(name));
            details.insert("kind".to_owned(), json!(kind));
            if !resource.group().is_empty() {
                details.insert("group".to_owned(), json!(resource.group()));
            }
        }
        if !self.causes.is_empty() {
            let cause =
                |cause: &Cause| json!({ "reason": cause.reason, "message": cause.message, "field": cause.field });
            details.insert("causes".to_owned(), self.causes.iter().map(cause).collect());
        }
        if let Some(object) = status.as_object_mut().filter(|_| !details.is_empty()) {
            object.insert("details".to_owned(), details.into());
        }
        status
    }
}

fn object_name(resource: Resource, name: &str) -> String {
    format!("{} \"{name}\"", resource.qualified(resource.plural()))
}

fn join_causes(causes: &[Cause]) -> String {
    causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect::<Vec<_>>().join(", ")
}
