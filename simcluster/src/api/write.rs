//! Requests that create, update, patch and delete.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use serde_json::Value;

use super::read::respond_with;
use super::target::{Subresource, Target};
use super::{Cluster, answer, scale, unknown};
use crate::change::Stored;
use crate::object::{Object, Resource};
use crate::world::{DeleteOptions, Propagation, Write};
use crate::{ApiError, World, strategic_patch};

const PROTOBUF: &str = "this cluster reads JSON only, and the request carries protobuf, as `kubectl create deployment` sends it. Use `kubectl apply -f`, or `kubectl create deployment … --dry-run=client -o json | kubectl apply -f -`";

fn media_type(headers: &HeaderMap) -> &str {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim()
}

fn body(headers: &HeaderMap, body: &Bytes) -> Result<Value, ApiError> {
    match media_type(headers) {
        "application/json" => {}
        "application/vnd.kubernetes.protobuf" => return Err(ApiError::unsupported_media_type(PROTOBUF)),
        other => {
            let message = format!(
                "the body of the request was in an unknown format ({other:?}); accepted media types: application/json"
            );
            return Err(ApiError::unsupported_media_type(message));
        }
    }
    json(body)
}

fn json(body: &Bytes) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|error| ApiError::bad_request(format!("the body is not JSON: {error}")))
}

fn is_dry_run(target: &Target) -> bool {
    target.option("dryRun") == Some("All")
}

/// Reads the object of a request. Rejects or reports unknown fields, as `fieldValidation` requests.
fn read(target: &Target, value: Value) -> Result<(Object, Vec<String>), ApiError> {
    let version = value.get("apiVersion").and_then(Value::as_str);
    if let Some(version) = version.filter(|version| *version != target.resource.api_version()) {
        let message = format!(
            "the API version in the data ({version}) does not match the expected API version ({})",
            target.resource.api_version()
        );
        return Err(ApiError::bad_request(message));
    }
    let validation = target.option("fieldValidation").unwrap_or("Warn");
    let sent = (validation != "Ignore").then(|| value.clone());
    let object = Object::read(target.resource, value)?;
    let strange = sent.map(|sent| unknown::fields(&sent, &object.to_value())).unwrap_or_default();
    if validation == "Strict" && !strange.is_empty() {
        let all: Vec<String> = strange.iter().map(|field| format!("unknown field \"{field}\"")).collect();
        let (kind, all) = (target.resource.kind(), all.join(", "));
        let message = format!("{kind} in version \"v1\" cannot be handled as a {kind}: strict decoding error: {all}");
        return Err(ApiError::bad_request(message));
    }
    Ok((placed(target, object)?, strange))
}

fn warned(mut response: Response, strange: &[String]) -> Response {
    for field in strange {
        if let Ok(value) = header::HeaderValue::from_str(&format!("299 - \"unknown field \\\"{field}\\\"\"")) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
    response
}

/// Checks that name and namespace of the object match the path, and sets them.
fn placed(target: &Target, mut object: Object) -> Result<Object, ApiError> {
    let meta = object.meta_mut();
    if target.resource.is_namespaced() {
        let asked = target.namespace.clone().unwrap_or_default();
        if meta.namespace.as_ref().is_some_and(|known| !known.is_empty() && *known != asked) {
            let why = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(ApiError::bad_request(why));
        }
        meta.namespace = Some(asked);
    } else {
        meta.namespace = None;
    }
    if let Some(name) = &target.name {
        if meta.name.as_ref().is_some_and(|known| !known.is_empty() && known != name) {
            return Err(ApiError::bad_request("the name of the object does not match the name on the URL"));
        }
        meta.name = Some(name.clone());
    }
    Ok(object)
}

/// Answers POST: creates an object.
pub fn create(cluster: &Cluster, target: &Target, headers: &HeaderMap, bytes: &Bytes) -> Result<Response, ApiError> {
    if target.resource.is_namespaced() && target.namespace.is_none() {
        return Err(ApiError::not_allowed());
    }
    let (object, strange) = read(target, body(headers, bytes)?)?;
    let made = cluster.with(|world| world.create_with(object, is_dry_run(target)))?;
    Ok(warned(respond_with(cluster, target, StatusCode::CREATED, &made), &strange))
}

/// Answers PUT: replaces an object.
pub fn update(cluster: &Cluster, target: &Target, headers: &HeaderMap, bytes: &Bytes) -> Result<Response, ApiError> {
    let value = body(headers, bytes)?;
    let (written, strange) = cluster.with(|world| write(world, target, value))?;
    Ok(warned(respond_with(cluster, target, StatusCode::OK, &written), &strange))
}

/// Writes an object, its status or its scale. Also returns the unknown fields.
fn write(world: &mut World, target: &Target, value: Value) -> Result<(Arc<Stored>, Vec<String>), ApiError> {
    let (object, strange) = if target.part == Subresource::Scale {
        let before = world.store().existing(target.resource, &target.key())?;
        (scale::into_object(&before.object, &value)?, Vec::new())
    } else {
        read(target, value)?
    };
    let part = if target.part == Subresource::Status { Write::Status } else { Write::Spec };
    Ok((world.update_with(object, part, is_dry_run(target))?, strange))
}

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
/// Media type of server-side apply, which is merged like a strategic patch and creates a missing object.
const APPLY_PATCH: &str = "application/apply-patch+yaml";
const PATCHES: [&str; 4] = [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH];

/// Answers PATCH: changes some fields of an object.
pub fn patch(cluster: &Cluster, target: &Target, headers: &HeaderMap, bytes: &Bytes) -> Result<Response, ApiError> {
    let format = media_type(headers);
    if !PATCHES.contains(&format) {
        return Err(ApiError::unsupported_media_type(format!(
            "the body of the request was in an unknown format ({format:?}) - accepted media types include: {}",
            PATCHES.join(", ")
        )));
    }
    let is_apply = format == APPLY_PATCH;
    let patch: Value = if is_apply {
        // kubectl sends JSON, which is valid YAML.
        serde_json::from_slice(bytes)
            .map_err(|_| ApiError::bad_request("apply patches must be JSON here: this cluster reads no other YAML"))?
    } else {
        json(bytes)?
    };
    let (written, status, strange) = cluster.with(|world| {
        let before = match world.store().existing(target.resource, &target.key()) {
            Err(_) if is_apply && target.part == Subresource::Whole => {
                let (object, strange) = read(target, patch.clone())?;
                let made = world.create_with(object, is_dry_run(target))?;
                return Ok((made, StatusCode::CREATED, strange));
            }
            before => before?,
        };
        let mut value = if target.part == Subresource::Scale { scale::of(&before) } else { before.object.to_value() };
        // A patch without a resourceVersion applies to any version.
        if let Some(meta) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            meta.remove("resourceVersion");
        }
        merge(&mut value, &patch, format)?;
        let (written, strange) = write(world, target, value)?;
        Ok::<_, ApiError>((written, StatusCode::OK, strange))
    })?;
    Ok(warned(respond_with(cluster, target, status, &written), &strange))
}

fn merge(value: &mut Value, patch: &Value, format: &str) -> Result<(), ApiError> {
    match format {
        JSON_PATCH => {
            let steps: json_patch::Patch = serde_json::from_value(patch.clone())
                .map_err(|error| ApiError::bad_request(format!("the patch is no JSON patch: {error}")))?;
            json_patch::patch(value, &steps).map_err(|error| ApiError::cannot_patch(error.to_string()))
        }
        MERGE_PATCH => {
            json_patch::merge(value, patch);
            Ok(())
        }
        _ if !patch.is_object() => Err(ApiError::bad_request("the patch must be an object")),
        _ => {
            strategic_patch::apply(value, patch);
            Ok(())
        }
    }
}

fn options(target: &Target, sent: &Value) -> Result<DeleteOptions, ApiError> {
    let text = |name: &str| {
        let sent = sent.get(name).and_then(Value::as_str);
        sent.or_else(|| target.option(name)).map(str::to_owned)
    };
    let propagation = match text("propagationPolicy").as_deref() {
        None | Some("Background") => Propagation::Background,
        Some("Foreground") => Propagation::Foreground,
        Some("Orphan") => Propagation::Orphan,
        Some(other) => {
            return Err(ApiError::bad_request(format!(
                "propagationPolicy {other:?} is none of Background, Foreground, Orphan"
            )));
        }
    };
    let propagation =
        if sent.get("orphanDependents") == Some(&Value::Bool(true)) { Propagation::Orphan } else { propagation };
    let grace = sent.get("gracePeriodSeconds").and_then(Value::as_i64);
    let precondition =
        |name: &str| sent.pointer(&format!("/preconditions/{name}")).and_then(Value::as_str).map(str::to_owned);
    let is_sent_dry = sent.get("dryRun").and_then(Value::as_array).is_some_and(|sent| !sent.is_empty());
    Ok(DeleteOptions {
        propagation,
        grace_seconds: grace.or_else(|| target.option("gracePeriodSeconds")?.parse().ok()),
        uid: precondition("uid"),
        resource_version: precondition("resourceVersion"),
        is_dry_run: is_sent_dry || is_dry_run(target),
    })
}

/// Answers DELETE of one object.
pub fn delete(cluster: &Cluster, target: &Target, bytes: &Bytes) -> Result<Response, ApiError> {
    // kubectl sends JSON. A body of another format is rejected.
    let options = options(target, &if bytes.is_empty() { Value::Null } else { json(bytes)? })?;
    let key = target.key();
    let (object, is_gone) = cluster.with(|world| world.delete(target.resource, &key, &options))?;
    if is_gone && target.resource != Resource::Pod {
        let details = serde_json::json!({ "name": key.name, "group": target.resource.group(), "kind": target.resource.plural(), "uid": object.object.uid() });
        return Ok(success(StatusCode::OK, Some(&details)));
    }
    Ok(answer::json(StatusCode::OK, object.json()))
}

fn success(code: StatusCode, details: Option<&Value>) -> Response {
    let status = serde_json::json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details });
    answer::json(code, status.to_string())
}

/// Answers POST of an Eviction, as `kubectl drain` sends it. There are no disruption budgets, so evictions are never refused for one.
pub fn evict(cluster: &Cluster, target: &Target, headers: &HeaderMap, bytes: &Bytes) -> Result<Response, ApiError> {
    let eviction = body(headers, bytes)?;
    let key = target.key();
    if eviction.pointer("/metadata/name").and_then(Value::as_str).is_some_and(|name| name != key.name) {
        return Err(ApiError::bad_request("name in URL does not match name in Eviction object"));
    }
    let options = options(target, eviction.get("deleteOptions").unwrap_or(&Value::Null))?;
    cluster.with(|world| world.evict(&key, &options))?;
    Ok(success(StatusCode::CREATED, None))
}
